"""A finding and the text of its file in, the text that it becomes out. Opens no file, except to write over one."""

from collections.abc import Iterable

from trainlint.finding import TextEdit
from trainlint.fix import notebook, text
from trainlint.fix.edits import Code, text_edits
from trainlint.fix.files import Changed, NotWritten, write
from trainlint.fix.text import moved, overlap
from trainlint.fix.tree import Unfixable

__all__ = ["Changed", "Code", "NotWritten", "Unfixable", "changed", "moved", "overlap", "text_edits", "write"]


def changed(data: bytes, edits: Iterable[TextEdit]) -> bytes:
    """The bytes of a file, or of a notebook where the edits name cells, after edits that do not overlap.

    Raises:
        Unfixable: the file cannot be written back as it is.
    """
    known = tuple(dict.fromkeys(edits))
    if any(edit.where.cell is not None for edit in known):
        return notebook.changed(data, known)
    return text.changed(data, known)
