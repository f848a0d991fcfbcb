"""What an edit costs: ``python benchmarks/server.py [FILE] [--folder FOLDER] [--edits N]``, on Linux.

The language server is driven as an editor drives it: the file is opened, changed N times in a row, and after each
change what is found in that very version is waited for. Comments, numbers, names and arguments are typed, in functions
with a loss and in others, and no version is ever there twice. Counted is the processor time of the whole server process
from the message in to the message out, and its memory. Without a file, one of 1,300 lines is made in a small project.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests"))

from editor import Editor, editor  # noqa: E402
from strokes import GROUPS, KINDS, edits, group  # noqa: E402

LINES, EDITS = 1300, 1000

SIZES = "CODES = 1024\nWIDTH = 64\n"
HEAD = """\
import torch
from sizes import CODES, WIDTH
from torch import nn
from torch.nn import functional as F
"""
STAGE = """

class Stage{number}(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CODES + {number}, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, CODES + {number})

    def forward(self, tokens):
        hidden, _ = self.mix(self.embed(tokens))
        return self.head(hidden)


def loss_{number}(model: Stage{number}, tokens, targets):
    logits = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index={skipped})


def train_{number}(batches):
    model = Stage{number}()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for tokens, targets in batches:
        loss = loss_{number}(model, tokens, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
BLOCK = """

class Block{number}(nn.Module):
    def __init__(self, width, heads=8, dropout=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.rise = nn.Linear(width, 4 * width)
        self.fall = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden, mask=None):
        normed = self.norm(hidden)
        mixed, _ = self.attention(normed, normed, normed, attn_mask=mask)
        hidden = hidden + self.dropout(mixed)
        return hidden + self.dropout(self.fall(F.gelu(self.rise(self.norm(hidden)))))

    def extra_repr(self):
        return f"width={{self.rise.in_features}}, dropout={{self.dropout.p}}"
"""
FILLER = "# what was tried before\n"
STAGES = 4
"""Losses in the made file, each with its model and its loop: a file of that length seldom has more."""


@dataclass(frozen=True)
class Cost:
    """Milliseconds of the processor for each edit, by its kind; megabytes at the start, in the middle, at the end."""

    edits: tuple[tuple[str, float], ...]
    memory: tuple[float, float, float]


def made(folder: Path) -> Path:
    """A project of two files; each third stage skips a class that it has."""
    (folder / "sizes.py").write_text(SIZES)
    text = HEAD + "".join(STAGE.format(number=each, skipped=("CODES", -100)[each % 2]) for each in range(STAGES))
    number = STAGES
    while (text + BLOCK).count("\n") <= LINES:
        text += BLOCK.format(number=number)
        number += 1
    path = folder / "stages.py"
    path.write_text(text + FILLER * (LINES - text.count("\n")))
    return path


def changes(text: str, count: int) -> Iterator[tuple[str, Sequence[Mapping[str, object]]]]:
    """What a writer types, and its kind: each edit takes back the one before; without a kind, the last goes back."""
    rows = text.split("\n")
    for kind, several in groupby(edits(text, count), key=lambda edit: edit.kind):
        back: list[Mapping[str, object]] = []
        for edit in several:
            yield kind, [*back, row(edit.row, rows[edit.row], edit.line)]
            back = [row(edit.row, edit.line, rows[edit.row])]
        yield "", back


def row(number: int, old: str, new: str) -> Mapping[str, object]:
    """One row, as it was, gives way to another; characters count as those of UTF-16 do."""
    end = {"line": number, "character": len(old.encode("utf-16-le")) // 2}
    return {"range": {"start": {"line": number, "character": 0}, "end": end}, "text": new}


def cost(path: Path, folder: Path, count: int) -> Cost:
    """Drive a server through this many edits of a file."""
    text = path.read_text("utf-8")
    with editor(folder) as at:
        at.begin(folder)
        at.open(path.as_uri(), text)
        at.shown(path.as_uri(), 1)
        took, memory = [], [resident(at)]
        for number, (kind, change) in enumerate(changes(text, count), start=1):
            before = processor(at)
            at.change(path.as_uri(), number + 1, *map(dict, change))
            at.shown(path.as_uri(), number + 1)
            took.append((kind, (processor(at) - before) / 1e6))
            if number == count // 2:
                memory.append(resident(at))
        memory.append(resident(at))
        at.leave()
    return Cost(tuple(took), (memory[0], memory[1], memory[-1]))


def processor(at: Editor) -> int:
    """Nanoseconds that all threads of the server have run."""
    tasks = Path(f"/proc/{at.process.pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())


def resident(at: Editor) -> float:
    """Megabytes of memory that the server holds."""
    status = Path(f"/proc/{at.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def told(name: str, took: Sequence[float]) -> str:
    """What the edits of one kind took, in a line."""
    if not took:
        return f"  {name:28}none"
    ordered = sorted(took)
    late, most = ordered[int(0.95 * len(ordered))], ordered[-1]
    return f"  {name:28}{len(took):5}  median {statistics.median(ordered):6.1f}  p95 {late:6.1f}  most {most:6.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="a file to edit (nothing is written to it)")
    parser.add_argument("--folder", type=Path, help="the folder that the editor has opened; else that of the file")
    parser.add_argument("--edits", type=int, default=EDITS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = given.file.resolve() if given.file else made(Path(scratch).resolve())
        found = cost(path, (given.folder or path.parent).resolve(), given.edits)
    print(f"{path.name}: {sum(bool(kind) for kind, _ in found.edits)} edits; CPU of the server per edit, ms:")
    for name in GROUPS:
        print(told(name, [took for kind, took in found.edits if kind and group(kind) == name]))
    print("of which")
    for name in KINDS[1:]:
        print(told(name, [took for kind, took in found.edits if kind == name]))
    print("memory, MB: start {:.1f}, middle {:.1f}, end {:.1f}".format(*found.memory))


if __name__ == "__main__":
    main()
