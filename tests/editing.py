"""A project that is edited, in a buffer or on the disk: what tests of sessions and of the cache share."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st

from trainlint.check import Request, Session, check
from trainlint.report import Report, structured

Node = TypeVar("Node", bound=ast.AST)
FIXTURES = Path(__file__).parent.parent / "fixtures"
SEVERAL = [folder for folder in sorted(FIXTURES.glob("*/*_*/")) if len(list(folder.rglob("*.py"))) > 1]
NAME = re.compile(rb"\b[A-Z][A-Z_]{2,}\b")
STARTS = {
    "train.py": b"""\
import torch.nn as nn
from torch.nn import functional as F
from layers import Head
from sizes import CODES, PAD

head = Head(CODES + 1)
stop_id = CODES


def loss(hidden, targets):
    return F.cross_entropy(head(hidden), targets, ignore_index=CODES)


criterion = nn.CrossEntropyLoss(ignore_index=PAD)
criterion(head(1), 2)
""",
    "layers.py": b"""\
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.last = nn.Linear(3, width)

    def forward(self, x):
        return self.last(x)
""",
    "sizes.py": b"CODES = 64\nPAD = 0\n",
    "other.py": b"import train\n\n\ndef widen(model, layer):\n    model.last = layer\n",
}
LINES = (
    b"CODES = 9\n", b"PAD = 64\n", b"from sizes import *\n", b"def f(:\n", b"head = Head(9)\n",
    b"# trainlint: ignore\n",
    b"model.last = None\n", b"import train\n", b"\n", b"criterion(head(1), 2)  # noqa: TL101\n", b"exec('x')\n",
)  # fmt: skip


def inserted(data: bytes, place: int, line: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = place % (len(lines) + 1)
    return b"".join((*lines[:at], line, *lines[at:]))


def deleted(data: bytes, place: int, _: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line for number, line in enumerate(lines) if number != place % (len(lines) or 1))


def renamed(data: bytes, place: int, _: bytes) -> bytes:
    names = sorted(set(NAME.findall(data)))
    return data.replace(names[place % len(names)], b"ANOTHER") if names else data


def counted(data: bytes, place: int, _: bytes) -> bytes:
    return re.sub(rb"\b\d+\b", lambda number: b"%d" % (int(number[0]) + place % 3), data)


def parsed(data: bytes) -> ast.Module:
    """The tree of a file; an empty one of what is no Python."""
    try:
        return ast.parse(data)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def nodes(data: bytes, kind: type[Node]) -> list[Node]:
    return [each for each in ast.walk(parsed(data)) if isinstance(each, kind)]


def rows_of(node: ast.stmt) -> tuple[int, int]:
    """The first row of a statement with its decorators, from 0, and the row behind it."""
    marks = getattr(node, "decorator_list", ())
    return min((each.lineno for each in (node, *marks)), default=0) - 1, node.end_lineno or node.lineno


def spliced(data: bytes, start: int, end: int, new: list[bytes]) -> bytes:
    lines = data.splitlines(keepends=True)
    lines[start:end] = new
    return b"".join(lines)


def put(data: bytes, row: int, column: int, text: bytes, end: int | None = None) -> bytes:
    """Text in the place of what stands in a row between two columns."""
    line = data.splitlines(keepends=True)[row]
    return spliced(data, row, row + 1, [line[:column] + text + line[column if end is None else end :]])


def grown(data: bytes, place: int, _: bytes) -> bytes:
    """One more statement, after an empty line, in the body of one function: all below it stands in other rows."""
    functions = nodes(data, ast.FunctionDef)
    if not functions:
        return data
    first = functions[place % len(functions)].body[0]
    line = b" " * first.col_offset + b"spare = %d\n" % place
    return spliced(data, first.lineno - 1, first.lineno - 1, [b"\n", line])


MORE = (
    b"import os", b"from os import path as F", b"import sizes as nn", b"MORE = 3", b"head = None", b"CODES = 9",
    b"def more(self, x=3):\n    return x", b"def forward(self, x):\n    return x", b"def loss(hidden, targets):\n    x",
    b"async def Head(width):\n    pass", b"class More(Head):\n    pass", b"class Head:\n    pass",
    b"@classmethod\ndef make(cls):\n    return cls(9)", b"def more(self):\n    self.last = None",
    b"from sizes import *",
)  # fmt: skip


def extended(data: bytes, place: int, _: bytes) -> bytes:
    """One more definition, import, constant, method or attribute between two others of a file or a class."""
    blocks = [parsed(data).body, *(each.body for each in nodes(data, ast.ClassDef))]
    block = blocks[place % len(blocks)]
    if not block:
        return data
    after = block[place // 2 % len(block)]
    indent = b" " * after.col_offset
    new = [indent + line + b"\n" for line in MORE[place % len(MORE)].split(b"\n")]
    end = rows_of(after)[1]
    return spliced(data, end, end, new)


def shuffled(data: bytes, place: int, _: bytes) -> bytes:
    """A statement of a file or a class stands behind the next one."""
    blocks = [parsed(data).body, *(each.body for each in nodes(data, ast.ClassDef))]
    pairs = [pair for block in blocks for pair in itertools.pairwise(block)]
    if not pairs:
        return data
    (start, end), (second, last) = map(rows_of, pairs[place % len(pairs)])
    lines = data.splitlines(keepends=True)
    if second < end:
        return data
    return spliced(data, start, last, [*lines[second:last], *lines[end:second], *lines[start:end]])


def dropped(data: bytes, place: int, _: bytes) -> bytes:
    """A whole statement of a file, or of a class or function, is gone."""
    statements = [each for each in nodes(data, ast.stmt) if not place % 3 or each.col_offset == 0]
    return spliced(data, *rows_of(statements[place % len(statements)]), []) if statements else data


def dressed(data: bytes, place: int, _: bytes) -> bytes:
    """A decorator more."""
    found = [*nodes(data, ast.FunctionDef), *nodes(data, ast.ClassDef)]
    if not found:
        return data
    each = found[place % len(found)]
    mark = (b"@staticmethod", b"@property", b"@loss", b"@dataclass")[place % 4]
    start = rows_of(each)[0]
    return spliced(data, start, start, [b" " * each.col_offset + mark + b"\n"])


def signed(data: bytes, place: int, _: bytes) -> bytes:
    """A default where there was none."""
    functions = [each for each in nodes(data, ast.FunctionDef) if each.args.args and not each.args.defaults]
    if not functions:
        return data
    last = functions[place % len(functions)].args.args[-1]
    return put(data, last.lineno - 1, last.end_col_offset or 0, b"=%d" % place)


def based(data: bytes, place: int, _: bytes) -> bytes:
    """Another base."""
    classes = [each for each in nodes(data, ast.ClassDef) if each.bases]
    if not classes:
        return data
    base = classes[place % len(classes)].bases[0]
    return put(
        data, base.lineno - 1, base.col_offset, (b"object", b"Head", b"nn.Linear")[place % 3], base.end_col_offset
    )


def called(data: bytes, place: int, _: bytes) -> bytes:
    """A function or a class has another name where it is defined."""
    found: list[ast.FunctionDef | ast.ClassDef] = [*nodes(data, ast.FunctionDef), *nodes(data, ast.ClassDef)]
    if not found:
        return data
    each = found[place % len(found)]
    line = data.splitlines(keepends=True)[each.lineno - 1]
    return spliced(data, each.lineno - 1, each.lineno, [line.replace(each.name.encode(), b"another", 1)])


EDITS: tuple[Callable[[bytes, int, bytes], bytes], ...] = (
    inserted, deleted, renamed, counted, grown, extended, shuffled, dropped, dressed, signed, based, called,
)  # fmt: skip
STEPS = st.lists(
    st.tuples(
        st.sampled_from((*EDITS, "new", "gone", "saved")),
        st.integers(0, 40),
        st.sampled_from(LINES),
        st.sampled_from(("train.py", "layers.py", "sizes.py", "other.py", "layers/__init__.py", "pkg/train.py")),
    ),
    min_size=1,
    max_size=8,
)


def told(report: Report, folder: Path) -> str:
    return structured.as_json(report, str(folder))


class Editor:
    """A folder that is edited, in a buffer or on the disk, and a session that is told of it."""

    def __init__(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self.folder, self.texts = folder, {str(folder / "unsaved.py"): b""}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pyproject.toml").write_text("[tool.trainlint]\n")
        for name, data in files.items():
            self.save(name, data)
        self.request = Request((str(folder),), str(folder))
        self.session = Session(self.request)
        self.session.change(str(folder / "unsaved.py"), b"")

    def save(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def step(self, edit: object, place: int, line: bytes, name: str) -> None:
        path = self.folder / name
        data = self.texts.get(str(path), path.read_bytes() if path.exists() else b"")
        if edit == "gone":
            self.texts.pop(str(path), None)
            path.unlink(missing_ok=True)
            self.session.change(str(path), None)
        elif edit == "new":
            self.save(name, STARTS.get(path.name, b"") + line)
            self.texts.pop(str(path), None)
            self.session.change(str(path), None)
        elif edit == "saved":
            self.save(name, data)
            self.texts.pop(str(path), None)
            self.session.change(str(path), None)
        elif callable(edit):
            self.texts[str(path)] = edit(data, place, line)
            self.session.change(str(path), self.texts[str(path)])

    def fresh(self) -> str:
        request = Request(self.request.paths, self.request.folder, texts=dict(self.texts))
        return told(check(request), self.folder)
