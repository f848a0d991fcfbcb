"""How long whole runs take: ``python benchmarks/speed.py TREE [--rounds N] [--only WORD]``.

Every command runs once in each round, so that a busy moment of the machine hits all of them. What counts is the
processor time of the process and its children, start of the interpreter included; the wall clock is shown beside it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trainlint.source.find import find
from trainlint.source.sift import relevant
from trainlint.source.text import Fault, read

TRAINLINT = (sys.executable, "-m", "trainlint")
NOTHING = "python -c pass"


@dataclass
class Timed:
    """One command and what its runs took, in seconds; ``memory`` is the largest resident size, in bytes."""

    name: str
    command: Sequence[str]
    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    memory: int = 0
    statuses: set[int] = field(default_factory=set)

    def run(self) -> None:
        start = time.perf_counter()
        with open(os.devnull, "wb") as sink:
            process = subprocess.Popen(self.command, stdout=sink, stderr=sink)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall.append(time.perf_counter() - start)
        self.processor.append(used.ru_utime + used.ru_stime)
        self.memory = max(self.memory, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
        self.statuses.add(process.returncode)


def commands(tree: str, files: Sequence[str]) -> Iterator[Timed]:
    """What is compared on one tree; a hook is given three files, once without and once with something to judge."""
    yield Timed(NOTHING, (sys.executable, "-c", "pass"))
    yield Timed("trainlint version", (*TRAINLINT, "version"))
    with_site = {path for path in files if isinstance(data := read(path), Fault) or relevant(data)}
    for name, chosen in (
        ("without a site", [path for path in files if path not in with_site]),
        ("with a site", sorted(with_site)),
    ):
        middle = len(chosen) // 2
        if three := chosen[middle : middle + 3]:
            yield Timed(f"trainlint, {len(three)} files {name}", (*TRAINLINT, "--isolated", *three))
    yield Timed("trainlint, the tree", (*TRAINLINT, "--isolated", "--no-cache", tree))
    if ruff := shutil.which("ruff", path=os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))):
        options = ("check", "--isolated", "--no-cache", "--quiet", "--select", "E,F,B")
        yield Timed("Ruff E,F,B, the tree", (ruff, *options, tree))


def table(timed: Sequence[Timed]) -> Iterator[str]:
    """Milliseconds, as median (least to most), and times the processor time of the first command."""
    yield f"{'':38}{'processor ms':>26}{'ratio':>9}{'wall ms':>26}{'MB':>7}  status"
    base = statistics.median(timed[0].processor)
    for each in timed:
        ratio = statistics.median(each.processor) / base
        statuses = ",".join(map(str, sorted(each.statuses)))
        yield (
            f"{each.name:38}{spread(each.processor):>26}{ratio:9.1f}{spread(each.wall):>26}"
            f"{each.memory / 1e6:7.0f}  {statuses}"
        )


def spread(seconds: Sequence[float]) -> str:
    return f"{1000 * statistics.median(seconds):.0f} ({1000 * min(seconds):.0f} to {1000 * max(seconds):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--only", default="", help="run the commands whose name holds this word, and the bare interpreter"
    )
    options = parser.parse_args()
    files = find([options.tree]).files
    every = list(commands(options.tree, files))
    timed = [each for each in every if each.name == NOTHING or options.only in each.name]
    for _ in range(options.rounds):
        for each in timed:
            each.run()
    size = sum(map(os.path.getsize, files))
    print(f"{len(files)} files, {size / 1e6:.1f} MB; Python {sys.version.split()[0]}, {os.cpu_count()} processors, "
          f"{options.rounds} rounds")  # fmt: skip
    print(*table(timed), sep="\n")


if __name__ == "__main__":
    main()
