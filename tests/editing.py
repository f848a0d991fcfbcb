"""A project that is edited, in a buffer or on the disk: what tests of sessions and of the cache share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import strategies as st

from trainlint.check import Request, Session, check
from trainlint.report import Report, structured

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


def grown(data: bytes, place: int, _: bytes) -> bytes:
    """One more statement, after an empty line, in the body of one function: all below it stands in other rows."""
    try:
        functions = [each for each in ast.walk(ast.parse(data)) if isinstance(each, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return data
    if not functions:
        return data
    first = functions[place % len(functions)].body[0]
    lines = data.splitlines(keepends=True)
    lines[first.lineno - 1 : first.lineno - 1] = [b"\n", b" " * first.col_offset + b"spare = %d\n" % place]
    return b"".join(lines)


EDITS: tuple[Callable[[bytes, int, bytes], bytes], ...] = (inserted, deleted, renamed, counted, grown)
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
