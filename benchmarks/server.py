"""What an edit costs: ``python benchmarks/server.py [FILE] [--folder FOLDER] [--edits N]``, on Linux.

The language server is driven as an editor drives it: the file is opened, changed N times in a row, and after each
change what is found in that very version is waited for. Counted is the processor time of the whole server process from
the message in to the message out, and its memory. Without a file, one of 1,300 lines is made, with a small project.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests"))

from editor import Editor, editor  # noqa: E402

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

STROKES = (("\n", 0, False), ("# x", 0, False), (" = 1", 3, False), ("", 0, True))
"""What is written, in which column, and whether the whole line goes."""


@dataclass(frozen=True)
class Cost:
    """Milliseconds of the processor for each edit, and megabytes of memory at the start, in the middle, at the end."""

    edits: tuple[float, ...]
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


def changes(lines: int, edits: int) -> Iterator[Mapping[str, object]]:
    """What a writer does: a line is begun, written on and taken back, now here, now there in the file."""
    for number in range(edits):
        line = number // 4 * 37 % lines
        text, first, last = STROKES[number % 4]
        start, end = {"line": line, "character": first}, {"line": line, "character": first}
        yield {"range": {"start": start, "end": end if not last else {"line": line + 1, "character": 0}}, "text": text}


def cost(path: Path, folder: Path, edits: int) -> Cost:
    """Drive a server through this many edits of a file."""
    text = path.read_text("utf-8")
    with editor(folder) as at:
        at.begin(folder)
        at.open(path.as_uri(), text)
        at.shown(path.as_uri(), 1)
        took, memory = [], [resident(at)]
        for number, change in enumerate(changes(text.count("\n"), edits), start=1):
            before = processor(at)
            at.change(path.as_uri(), number + 1, dict(change))
            at.shown(path.as_uri(), number + 1)
            took.append((processor(at) - before) / 1e6)
            if number in {edits // 2, edits}:
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
    ordered = sorted(found.edits)
    print(f"{path.name}: {given.edits} edits")
    print(
        f"  CPU of the server per edit, ms: median {statistics.median(ordered):.1f}, "
        f"p95 {ordered[int(0.95 * len(ordered))]:.1f}, most {ordered[-1]:.1f}"
    )
    print("  memory, MB: start {:.1f}, middle {:.1f}, end {:.1f}".format(*found.memory))


if __name__ == "__main__":
    main()
