"""Results of benchmarks/speed.py in, docs/performance.md out."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

from timings import ALONE, BASE, Kept, Timed

OURS = "trainlint"
HEAD = """\
# How long it takes

`python benchmarks/speed.py run FOLDER` fetches the corpora and the other linters, all of pinned versions, and measures;
`python benchmarks/speed.py page` makes this page from benchmarks/speed.jsonl, and a test holds it in step. The commands
of one corpus run in turn, round after round. Shown are medians, with the least and the most in brackets: the processor
time (user and system, of a process and those that it starts), the wall clock, and the largest resident size of any one
process; less than the 10 MB of a bare Python cannot be seen. A ratio is that of trainlint to another command in the
same round, so it is below 1 where trainlint takes less. A figure without brackets was measured once: what takes long is
run in the first round alone. What takes too long is ended and said to be.
"""
KEPT = """\
## What is kept to be judged

Files are sifted by their bytes before any is parsed. Kept are, of each corpus, by each family of rules:
"""
TITLES = {
    "cold": "A whole tree, nothing kept",
    "warm": "The same tree again",
    "edited comment": "The same tree after a comment was written into one file",
    "edited body": "The same tree after a line was written into one function",
    "edited code": "The same tree after a function was written into one file",
    "hook": "Three files, as a hook is given them",
    "flake8": "As a plug-in of flake8",
    "flake8 -j1": "As a plug-in of flake8, in one process",
    "editor": "One edit in an open buffer",
}
BASES = {"hook": BASE, "flake8": ALONE, "flake8 -j1": ALONE}
"""What the commands of these cases are measured against."""
COPIES = "copies "
FINE = {"pylint": range(32)}
"""The statuses of a run that came to its end, by tool: each bit of pylint's is a kind of message."""


def page(rows: Sequence[Timed | Kept]) -> str:
    """The whole page."""
    timed = [row for row in rows if isinstance(row, Timed)]
    kept = [row for row in rows if isinstance(row, Kept)]
    parts = [HEAD, *(_section(case, title, timed) for case, title in TITLES.items()), _grown(timed), _families(kept)]
    return "\n".join(part for part in parts if part)


def _section(case: str, title: str, timed: Sequence[Timed]) -> str:
    rows = [row for row in timed if row.case == case]
    lines = [f"## {title}\n"]
    for corpus in dict.fromkeys(row.corpus for row in rows):
        here = [row for row in rows if row.corpus == corpus]
        lines += [f"### {corpus}\n", *_table(here, BASES.get(case, "")), "", *_commands(here), ""]
    return "\n".join(lines) if rows else ""


def _table(rows: Sequence[Timed], base: str) -> Iterator[str]:
    """One line for each command; with a base, the ratio is that of its wall clock or processor time to the base's."""
    measure = "wall" if base == BASE else "processor"
    what = f"{measure} / {base}" if base else "trainlint / this" if any(row.tool == OURS for row in rows) else ""
    yield f"|  | processor, ms | wall, ms | MB | {what} |"
    yield "|---|---|---|---|---|"
    for tool in dict.fromkeys(row.tool for row in rows):
        mine = [row for row in rows if row.tool == tool]
        if any(row.limit for row in mine):
            yield f"| {tool} | ended after {mine[0].limit:.0f} s |  |  |  |"
        elif not all(_ran(row) for row in mine):
            yield f"| {tool} | did not run |  |  |  |"
        else:
            ratio = _spread(_against(rows, mine, base, measure)) if base else _spread(_processors(rows, mine), 3)
            memory = f"{max(row.memory for row in mine) / 1e6:.0f}"
            times = [[1000 * row.processor for row in mine], [1000 * row.wall for row in mine]]
            yield f"| {tool} | {_spread(times[0], 0)} | {_spread(times[1], 0)} | {memory} | {ratio} |"


def _ran(row: Timed) -> bool:
    return row.status in FINE.get(row.tool.partition(",")[0], (0, 1))


def _processors(rows: Sequence[Timed], mine: Sequence[Timed]) -> list[float]:
    ours = {row.round: row.processor for row in rows if row.tool == OURS and not row.limit}
    return [ours[row.round] / row.processor for row in mine if row.tool != OURS and row.round in ours and row.processor]


def _against(rows: Sequence[Timed], mine: Sequence[Timed], base: str, measure: str) -> list[float]:
    bases = {row.round: getattr(row, measure) for row in rows if row.tool == base}
    return [getattr(row, measure) / bases[row.round] for row in mine if row.tool != base and row.round in bases]


def _spread(values: Sequence[float], digits: int = 2) -> str:
    """The median, the least and the most; of one value, that alone."""
    if len(values) < 2:
        return "".join(f"{value:.{digits}f}" for value in values)
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _commands(rows: Iterable[Timed]) -> Iterator[str]:
    shown = dict.fromkeys(row.shown for row in rows)
    yield from ("```", *shown, "```")


def _grown(timed: Sequence[Timed]) -> str:
    """The same tree several times over."""
    rows = [row for row in timed if row.case.startswith(COPIES)]
    lines = ["## The same tree once, twice, four and eight times over\n", "Processor time as a multiple of one copy.\n"]
    lines += ["| corpus |  | copies | processor, ms | multiple | MB |", "|---|---|---|---|---|---|"]
    for corpus, tool, case in dict.fromkeys((row.corpus, row.tool, row.case) for row in rows):
        same = [row for row in rows if (row.corpus, row.tool) == (corpus, tool)]
        mine = [row for row in same if row.case == case]
        once = {row.round: row.processor for row in same if row.case == f"{COPIES}x1"}
        multiples = [row.processor / once[row.round] for row in mine if row.round in once]
        cells = f"{_spread([1000 * row.processor for row in mine], 0)} | {_spread(multiples)}"
        cells = f"ended after {mine[0].limit:.0f} s |" if any(row.limit for row in mine) else cells
        lines.append(f"| {corpus} | {tool} | {case.removeprefix(COPIES)} | {cells} "
                     f"| {max(row.memory for row in mine) / 1e6:.0f} |")  # fmt: skip
    return "\n".join([*lines, "", *_commands(rows), ""]) if rows else ""


def _families(kept: Sequence[Kept]) -> str:
    """What each family makes sift keep."""
    lines = [KEPT, "| corpus | family | files | MB | MB that no other family keeps |", "|---|---|---|---|---|"]
    for corpus in dict.fromkeys(row.corpus for row in kept):
        here = [row for row in kept if row.corpus == corpus]
        for row in here:
            sizes = f"{row.size / 1e6:.1f} | {row.alone / 1e6:.1f}"
            lines.append(f"| {corpus} | {row.family} | {row.files} | {sizes} |")
        lines.append(f"| {corpus} | all | {here[0].every_file} | {here[0].every_size / 1e6:.1f} |  |")
    return "\n".join([*lines, ""]) if kept else ""
