"""The bytes of one file, and what they say as Python: a tree with its rows, or the reason why there is none.

A file is never trusted: only regular files of a sane size are read, and nothing that they hold stops the interpreter.
"""

from __future__ import annotations

import errno
import os
import stat

from trainlint.source.syntax import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

NOTEBOOK = ".ipynb"
LARGEST, LARGEST_NOTEBOOK = 16 * 1024 * 1024, 128 * 1024 * 1024
"""No file that a person wrote comes near, what pictures add to a notebook aside."""

SMALL, MOST = 1024 * 1024, 1_000_000
"""A larger file is counted before it is parsed: a million words or signs make a tree of a gigabyte."""

TOO_MUCH = f"it holds more than {MOST} words or signs; its tree might not fit into memory"
TOO_DEEP = "it is nested too deeply for Python's parser"

SIGNS = b"\n()[]{},:;.=+-*/%@&|^~<>"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

OPENING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Without O_NONBLOCK, opening a FIFO waits for a writer."""

BOM = b"\xef\xbb\xbf"
SLOW = frozenset({"punycode", "idna"})
"""Python takes these for encodings of source text; decoding one large line takes hours."""

LONGEST_LINE = 200
"""Of a line that Python refuses, no more is looked at."""

LATIN_1 = ("latin-1", "iso-8859-1", "iso-latin-1")


MISSING = "no such file or folder"


WEIGHTS = ".safetensors"
FRONT = 2 * 1024 * 1024
"""Bytes of a file of weights that are read: its header says what it holds."""


class Fault:
    """Why a file, or one cell of a notebook, is not read, in its user's words, and where; all count from 1."""

    __slots__ = ("cell", "column", "reason", "row")

    def __init__(self, reason: str, row: int = 1, column: int = 1, cell: int | None = None) -> None:
        self.reason = reason
        self.row = row
        self.column = column
        self.cell = cell


def is_test(path: str) -> bool:
    """Whether pytest would collect the file: what a test calls says nothing of what is trained."""
    file = path.rpartition(os.sep)[2]
    return file == "conftest.py" or file.startswith("test_") or file.endswith("_test.py")


def read(path: str) -> bytes | Fault:
    """The bytes of a regular file; of a file of weights, its front alone."""
    try:
        handle = os.open(path, OPENING)
    except (OSError, ValueError) as error:
        return Fault(refusal(error))
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            return Fault(kind(about.st_mode))
        if path.endswith(WEIGHTS):
            return _all(handle, FRONT, FRONT)[:FRONT]
        largest = LARGEST_NOTEBOOK if path.endswith(NOTEBOOK) else LARGEST
        data = _all(handle, about.st_size, largest)
    except OSError as error:
        return Fault(refusal(error))
    finally:
        os.close(handle)
    return data if len(data) <= largest else Fault(f"it is larger than {largest // 1024**2} MB")


def refusal(error: OSError | ValueError) -> str:
    """Why the system gives no access, in words.

    >>> refusal(FileNotFoundError(2, "No such file or directory"))
    'no such file or folder'
    """
    number = error.errno if isinstance(error, OSError) else errno.ENOENT
    if number in {errno.ENOENT, errno.ENOTDIR}:
        return MISSING
    if number == errno.ELOOP:
        return "a link that leads back to itself"
    if number == errno.ENXIO:
        return "it is a socket, no file"
    return f"the system will not open it: {os.strerror(number or 0)}"


def kind(mode: int) -> str:
    """What stands where a file was expected."""
    names = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    return f"it is {names.get(stat.S_IFMT(mode), 'a device')}, no file"


def parse(data: bytes, path: str) -> ast.Module | Fault:
    """The syntax tree of a file, or what keeps Python from reading it.

    The tree may be as deep as the file is long, so walk it without recursion.
    """
    declared = encoding(data)
    if isinstance(declared, Fault):
        return declared
    if _is_too_much(data):
        return Fault(TOO_MUCH)
    try:
        return tree(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        return _fault(data, declared, error)


def is_text(data: bytes) -> bool:
    """Whether nothing but its grammar can keep Python from reading a file."""
    declared = encoding(data)
    if isinstance(declared, Fault) or _is_too_much(data):
        return False
    try:
        data.decode(declared)
    except UnicodeError:
        return False
    return True


def parse_text(text: str) -> ast.Module | Fault:
    """The same for text that was decoded already."""
    if len(text) > SMALL and _is_too_much(text.encode()):
        return Fault(TOO_MUCH)
    try:
        return tree(text)
    except (RecursionError, MemoryError):
        return Fault(TOO_DEEP)
    except (SyntaxError, ValueError, OverflowError) as error:
        return _mistake(text, error)


def parsed_or_none(text: str) -> ast.Module | None:
    """The same for text of which nobody asks why it cannot be read."""
    if len(text) > SMALL and _is_too_much(text.encode()):
        return None
    try:
        return tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


def _is_too_much(data: bytes) -> bool:
    return len(data) > SMALL and max(len(data.split()), len(data) - len(data.translate(None, SIGNS))) > MOST


def rows(data: bytes) -> tuple[str, ...]:
    """The lines of a file, without their ends, counted as Python counts them.

    >>> rows(b"a\\x0cb\\r\\nc\\rd")
    ('a\\x0cb', 'c', 'd')
    """
    declared = encoding(data)
    text = data.decode("utf-8" if isinstance(declared, Fault) else declared, errors="replace")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def column(row: str, offset: int) -> int:
    """The column, counted in characters from 1, of an offset that ``ast`` counts in bytes of UTF-8 from 0.

    >>> column("é = x", 5)
    5
    """
    return offset + 1 if row.isascii() else len(row.encode(errors="replace")[:offset].decode(errors="ignore")) + 1


def encoding(data: bytes) -> str | Fault:
    """The encoding that the first two lines declare (PEP 263), UTF-8 if they declare none."""
    end = data.find(b"\n", data.find(b"\n") + 1)
    head = data[: end if end >= 0 else len(data)]
    if b"coding" not in head:
        return "utf-8"
    import re

    cookie = re.compile(rb"[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
    empty = re.compile(rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
    start = len(BOM) if head.startswith(BOM) else 0
    found = cookie.match(head, start)
    if found is None and (first := empty.match(head, start)):
        found = cookie.match(head, first.end())
    if found is None:
        return "utf-8"
    name = _named(found[1].decode("ascii"))
    row = len(re.findall(rb"\r\n|\r|\n", head[: found.start()])) + 1
    if isinstance(name, str) and name != "utf-8" and start:
        return Fault(f"it starts with the mark of UTF-8 and declares {name}", row)
    return Fault(name.reason, row) if isinstance(name, Fault) else name


def _named(name: str) -> str | Fault:
    """The codec of a declared name; Python itself allows suffixes, as in ``utf-8-unix``."""
    import codecs

    short = name.lower().replace("_", "-")
    for prefixes, codec in ((("utf-8",), "utf-8"), (LATIN_1, "iso-8859-1")):
        if any(short == prefix or short.startswith(f"{prefix}-") for prefix in prefixes):
            return codec
    try:
        known = codecs.lookup(name)
    except (LookupError, ValueError):
        return Fault(f"it declares the encoding {name}, which Python does not know")
    if known.name in SLOW or not getattr(known, "_is_text_encoding", True):
        return Fault(f"it declares the encoding {name}, which is none for source text")
    return known.name


def _all(handle: int, size: int, largest: int) -> bytes:
    """Everything up to the limit, and one byte more to tell that there is more."""
    pieces = []
    left = largest + 1
    while left and (piece := os.read(handle, min(left, size + 1))):
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _fault(data: bytes, declared: str, error: Exception) -> Fault:
    """What is wrong with a file that Python refused."""
    if data.startswith(UTF_16):
        return Fault("it is UTF-16, which Python does not read; save it as UTF-8")
    nul = data.find(b"\0")
    if nul >= 0:
        return Fault("it holds a NUL byte", *_place(data[:nul].decode(declared, "replace")))
    try:
        text = data.decode(declared)
    except UnicodeError as undecodable:
        start = getattr(undecodable, "start", 0)
        wrong = "" if start >= len(data) else f"the byte {data[start]:#04x} is not "
        return Fault(f"{wrong}{declared.upper()}", *_place(data[:start].decode(declared, "replace")))
    if isinstance(error, RecursionError | MemoryError):
        return Fault(TOO_DEEP)
    return _mistake(text.removeprefix("\ufeff"), error)


def _mistake(text: str, error: Exception) -> Fault:
    """The mistake in a text, in Python's own words; read again as text where columns in characters may be others."""
    try:
        if not text.isascii():
            tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as again:
        error = again
    from trainlint.source.newer import needs
    from trainlint.source.older import suits

    if not isinstance(error, SyntaxError):
        return Fault(str(error))
    row = max(error.lineno or 1, 1)
    newer, older = needs(text), suits((error.text or "")[:LONGEST_LINE])
    reason = f"needs Python >= {newer} to read" if newer else error.msg
    if older and not newer:
        reason = f"it looks like {older}"
    return Fault(reason, row, max(error.offset or 1, 1))


def _place(before: str) -> tuple[int, int]:
    """Row and column of what follows this text."""
    lines = before.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return len(lines), len(lines[-1]) + 1
