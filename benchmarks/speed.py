"""How long trainlint and other linters take: ``python benchmarks/speed.py run FOLDER``, then ``... speed.py page``.

``run`` makes everything it needs in FOLDER: the corpora, which are packages of a registry, and an environment with the
other linters, all of pinned versions. The commands of one corpus run in turn, round after round, so that a busy moment
of the machine hits all of them; each time is written down at once, and a run that was broken off goes on where it
stopped. What takes longer than ``--once`` is run in the first round alone. What counts is the processor time of a
process and of those that it starts, the start of the interpreter included. ``page`` makes docs/performance.md from what
is written down.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from strokes import edits, group
from timings import ALONE, BASE, Kept, Timed, known, write

if TYPE_CHECKING:
    from trainlint.check import Session

RESULTS = Path(__file__).parent / "speed.jsonl"
ONCE = Path(__file__).parent / "once.py"
PAGE = Path(__file__).parent.parent / "docs" / "performance.md"

CORPORA = {
    "trl": "trl==1.16.0",
    "lightning": "lightning==2.6.6",
    "speechbrain": "speechbrain==1.1.2",
    "transformers": "transformers==5.24.0",
    "torch": "torch==2.13.0",
}
PEERS = ("ruff==0.17.6", "flake8==7.5.0", "pylint==4.1.4", "torchfix==0.7.0", "torch-preflight==0.5.0")
CASES = ("cold", "warm", "edited", "hook", "flake8", "editor", "copies", "families")
EDITS = 210
LINES = 1300
"""Of the files that hold a loss, the one that is nearest to this length is edited."""
COPIES = (1, 2, 4, 8)
PYLINT = "unused-import,unused-variable,undefined-variable,unreachable"
EDITED = ("edited comment", "edited body", "edited code")
"""What is done to a file of a tree that was looked at: a comment is written at its end, a line into a function in its
middle, a whole function at its end. The number in it is never there twice.
"""
OURS = ("tomli", "pyyaml")
"""What trainlint itself asks for while it reads code."""
SETTLED = 2.5
"""Seconds after which a file that was written counts as written."""
PLUGIN = """\
[flake8.extension]
TL = trainlint.flake8:Plugin

[trainlint.rules]
core = trainlint_rules
"""
"""What our package declares: flake8 finds it in an environment that it is not installed in."""


@dataclass(frozen=True)
class Job:
    """One command on one corpus: what it is told, and what is done before each of its runs."""

    corpus: str
    case: str
    tool: str
    command: tuple[str, ...]
    shown: str
    before: Callable[[int], None] = lambda round: None
    more: Mapping[str, str] = field(default_factory=dict)
    """What its environment has beside ours."""


def environment() -> dict[str, str]:
    """The environment of a user, whose modules are compiled once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(job: Job, round: int, limit: float) -> Timed:
    """Run a job once; a run that takes longer than the limit, in seconds, is ended with all that it started."""
    job.before(round)
    launched = (sys.executable, "-I", "-S", str(ONCE), str(limit), *job.command)
    ran = subprocess.run(launched, stdout=subprocess.PIPE, env={**environment(), **job.more}, check=True)
    return Timed(job.corpus, job.case, job.tool, round, job.shown, **json.loads(ran.stdout))


def measure(jobs: Sequence[Job], options: argparse.Namespace) -> None:
    """Run what is not written down yet, round after round; what once took too long is not tried again."""
    rows = [row for row in known(options.results) if isinstance(row, Timed)]
    done = {(row.corpus, row.case, row.tool, row.round) for row in rows}
    enough = {(row.corpus, row.case, row.tool) for row in rows if row.limit or row.wall > options.once}
    for round in range(options.rounds):
        for job in jobs:
            key = (job.corpus, job.case, job.tool)
            if (*key, round) in done or key in enough:
                continue
            row = timed(job, round, options.limit)
            write(options.results, row)
            enough |= {key} if row.limit or row.wall > options.once else set()
            print(f"{job.corpus:14}{job.case:16}{job.tool:18}{row.processor:9.3f} s {row.wall:9.3f} s"
                  f"{row.memory / 1e6:7.0f} MB  {'ended' if row.limit else row.status}", flush=True)  # fmt: skip


# What is run


@dataclass(frozen=True)
class Place:
    """The folder that a run works in, and what it made there."""

    folder: Path

    @property
    def peers(self) -> Path:
        return self.folder / "peers" / "bin"

    @property
    def flake8(self) -> Path:
        """flake8 alone, which no other linter is a plug-in of."""
        return self.folder / "flake8" / "bin"

    def tree(self, corpus: str) -> Path:
        """The package itself, alone in a folder: what lies beside it would belong to its project."""
        return self.folder / "corpora" / corpus / corpus

    def work(self, name: str) -> Path:
        """An empty folder of this name."""
        path = self.folder / "work" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path


TRAINLINT = (sys.executable, "-m", "trainlint")


def prepare(place: Place, corpora: Sequence[str], *, with_peers: bool, with_flake8: bool) -> None:
    """Fetch and unpack what is missing."""
    for corpus in corpora:
        if corpus in CORPORA and not place.tree(corpus).exists():
            wheels = place.work(f"wheels-{corpus}")
            _pip(sys.executable, "download", "--no-deps", "--dest", str(wheels), CORPORA[corpus])
            (wheel,) = wheels.iterdir()
            unpacked = place.work(f"unpacked-{corpus}")
            shutil.unpack_archive(wheel, unpacked, "zip")
            place.tree(corpus).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(unpacked / corpus, place.tree(corpus))
    if with_peers and not place.peers.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place.peers.parent)], check=True)
        _pip(str(place.peers / "python"), "install", *PEERS)
    if with_flake8 and not place.flake8.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place.flake8.parent)], check=True)
        _pip(str(place.flake8 / "python"), "install", *(each for each in PEERS if each.startswith("flake8=")), *OURS)


def _pip(python: str, *words: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words], check=True)


def linters(place: Place, tree: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Each linter on a whole tree: its words, and how they are shown."""
    at, words = str(tree), {
        "trainlint": ("--isolated", "--no-cache"),
        "Ruff E,F,B": ("ruff", "check", "--isolated", "--no-cache", "--quiet", "--select", "E,F,B"),
        "flake8": ("flake8", "--isolated"),
        "pylint, 4 checks": ("pylint", "--disable=all", f"--enable={PYLINT}", "--recursive=y"),
        "TorchFix": ("torchfix", "--select=ALL"),
        "torch-preflight": ("torch-preflight", "check"),
    }  # fmt: skip
    found = {"trainlint": ((*TRAINLINT, *words["trainlint"], at), f"trainlint {' '.join(words.pop('trainlint'))} TREE")}
    for tool, (program, *options) in words.items():
        found[tool] = ((str(place.peers / program), *options, at), f"{program} {' '.join(options)} TREE")
    return found


def jobs(place: Place, corpus: str, cases: Sequence[str]) -> Iterator[Job]:
    """The commands of one corpus."""
    tree = place.tree(corpus)
    if "cold" in cases:
        for tool, (command, shown) in linters(place, tree).items():
            yield Job(corpus, "cold", tool, command, shown)
    if "warm" in cases or "edited" in cases:
        yield from _again(place, corpus, cases)
    if "hook" in cases:
        yield from _hooks(place, corpus)
    if "flake8" in cases:
        yield from _flake8(place, corpus)
    if "copies" in cases:
        yield from _copies(place, corpus)


def _again(place: Place, corpus: str, cases: Sequence[str]) -> Iterator[Job]:
    """A second look at a copy of a tree, and one after a comment or a function was added to one of its files."""
    tree = place.folder / "again" / corpus / corpus
    if not tree.exists():
        shutil.copytree(place.tree(corpus), tree)
    edited = max(tree.rglob("*.py"), key=lambda path: ("cross_entropy(" in path.read_text(errors="replace"), str(path)))
    caches = {tool: str(place.folder / "caches" / f"{tool}-{corpus}") for tool in ("trainlint", "ruff")}
    told = {
        "trainlint": (*TRAINLINT, "--isolated", "--cache-dir", caches["trainlint"], str(tree)),
        "Ruff E,F,B": (str(place.peers / "ruff"), "check", "--isolated", "--cache-dir", caches["ruff"], "--quiet",
                       "--select", "E,F,B", str(tree)),
    }  # fmt: skip
    shown = {
        "trainlint": "trainlint --isolated --cache-dir CACHE TREE",
        "Ruff E,F,B": "ruff check --isolated --cache-dir CACHE --quiet --select E,F,B TREE",
    }
    for tool, command in told.items():

        def warmed(round: int, command: tuple[str, ...] = command) -> None:
            subprocess.run(command, capture_output=True, check=False, env=environment())

        def changed(round: int, command: tuple[str, ...] = command, case: str = "") -> None:
            # Each time the same place is edited: what was written there for another round is gone.
            shutil.copyfile(place.tree(corpus) / edited.relative_to(tree), edited)
            warmed(round, command)
            edit(edited, case)

        if "warm" in cases:
            yield Job(corpus, "warm", tool, command, shown[tool], warmed)
        for case in EDITED if "edited" in cases else ():
            yield Job(corpus, case, tool, command, shown[tool], partial(changed, case=case))


def edit(path: Path, case: str) -> None:
    """Write something into a file that was never there before."""
    text, number = path.read_text("utf-8"), time.time_ns()
    if case == "edited body":
        functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
        functions.sort(key=lambda each: each.lineno)
        first = functions[len(functions) // 2].body[0]
        lines = text.splitlines(keepends=True)
        lines.insert(first.lineno - 1, f"{' ' * first.col_offset}one_more = {number}\n")
        path.write_text("".join(lines), "utf-8")
    else:
        code = f"\n\ndef one_more(value=1):\n    return value + {number}\n"
        path.write_text(text + (code if case == "edited code" else f"# One more line, number {number}.\n"), "utf-8")


def _hooks(place: Place, corpus: str) -> Iterator[Job]:
    """Three files, without and with something to judge, beside the bare interpreter: alone, and in their project."""
    yield Job(corpus, "hook", BASE, (sys.executable, "-c", "pass"), BASE)
    for name, paths in _three(place.tree(corpus)).items():
        folder = place.work(f"hook-{corpus}-{name.replace(' ', '-')}")
        files = [str(folder / f"file{number}.py") for number in range(3)]
        for source, target in zip(paths, files, strict=True):
            shutil.copy(source, target)
        words = ("--isolated", "--no-cache")
        yield Job(corpus, "hook", f"trainlint, {name}", (*TRAINLINT, *words, *files),
                  f"trainlint {' '.join(words)} ONE TWO THREE")  # fmt: skip
        ruff = ("check", "--isolated", "--no-cache", "--quiet", "--select", "E,F,B")
        yield Job(corpus, "hook", f"Ruff E,F,B, {name}", (str(place.peers / "ruff"), *ruff, *files),
                  f"ruff {' '.join(ruff)} ONE TWO THREE")  # fmt: skip
        yield _kept(place, corpus, f"trainlint, {name}, again", files, "")
        tree = place.folder / "hooks" / name.replace(" ", "-") / corpus
        if not tree.exists():
            shutil.copytree(place.tree(corpus), tree)
        named = [str(tree / os.path.relpath(path, place.tree(corpus))) for path in paths]
        yield _kept(place, corpus, f"trainlint, {name} in their project, again", named, "")
        yield _kept(place, corpus, f"trainlint, {name} in their project, one edited", named, named[1])


def _three(tree: Path) -> dict[str, list[str]]:
    """Three files of a tree without a site, and three with."""
    from trainlint.source.find import find
    from trainlint.source.sift import relevant
    from trainlint.source.text import Fault, read

    held: dict[bool, list[str]] = {False: [], True: []}
    for path in find([str(tree)]).files:
        data = read(path)
        if not isinstance(data, Fault) and path.endswith(".py") and len(data) > 2000:
            held[relevant(data)].append(path)
    middle = {has_sites: max(0, len(paths) // 2 - 1) for has_sites, paths in held.items()}
    names = {False: "without a site", True: "with sites"}
    return {names[each]: paths[middle[each] : middle[each] + 3] for each, paths in held.items()}


def _kept(place: Place, corpus: str, name: str, files: Sequence[str], edited: str) -> Job:
    """A run on these files after another one, and after a line was added to one of them if that is named."""
    caches = str(place.folder / "caches" / f"hook-{corpus}")
    command = (*TRAINLINT, "--isolated", "--cache-dir", caches, *files)

    def before(round: int) -> None:
        # The second run knows that what it reads is no longer being written.
        for wait in (SETTLED, 0.0):
            subprocess.run(command, capture_output=True, check=False, env=environment())
            time.sleep(wait)
        if edited:
            edit(Path(edited), "edited body" if "def " in Path(edited).read_text("utf-8") else "edited code")

    return Job(corpus, "hook", name, command, "trainlint --isolated --cache-dir CACHE ONE TWO THREE", before)


def _flake8(place: Place, corpus: str) -> Iterator[Job]:
    """flake8 in an environment of its own: without our plug-in, with it, and with it when the cache is filled."""
    top, plugin = Path(__file__).parent.parent, place.work(f"plugin-{corpus}")
    about = plugin / "trainlint-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: trainlint\nVersion: 0\n")
    (about / "entry_points.txt").write_text(PLUGIN)
    more = {
        "PYTHONPATH": os.pathsep.join([str(plugin), str(top), str(top / "rules")]),
        "XDG_CACHE_HOME": str(place.folder / "caches" / f"flake8-{corpus}"),
    }
    for each in ((), ("-j1",)):
        command = (str(place.flake8 / "flake8"), "--isolated", *each, str(place.tree(corpus)))
        shown = " ".join(("flake8 --isolated", *each, "TREE"))

        def cold(round: int) -> None:
            shutil.rmtree(more["XDG_CACHE_HOME"], ignore_errors=True)

        def warm(round: int, command: tuple[str, ...] = command) -> None:
            subprocess.run(command, capture_output=True, check=False, env={**environment(), **more})

        case = " ".join(("flake8", *each))
        yield Job(corpus, case, ALONE, command, shown)
        yield Job(corpus, case, "flake8 with trainlint", command, shown, cold, more)
        yield Job(corpus, case, "flake8 with trainlint, again", command, shown, warm, more)


def _copies(place: Place, corpus: str) -> Iterator[Job]:
    """The same tree once, twice, four times and eight times over."""
    for count in COPIES:
        folder = place.folder / "work" / f"copies-{corpus}-{count}"
        for number in range(count):
            if not (folder / f"copy{number}").exists():
                shutil.copytree(place.tree(corpus), folder / f"copy{number}")
        for tool in ("trainlint", "Ruff E,F,B"):
            command, shown = linters(place, folder)[tool]
            yield Job(corpus, f"copies x{count}", tool, command, shown)


def families(place: Place, corpus: str) -> Iterator[Kept]:
    """What each family of rules makes sift keep."""
    from trainlint.source.find import find
    from trainlint.source.sift import FAMILIES
    from trainlint.source.sift.kind import words_of
    from trainlint.source.text import Fault, read

    files = [data for path in find([str(place.tree(corpus))]).files if not isinstance(data := read(path), Fault)]
    held = [
        {family.__name__.rpartition(".")[2] for family in FAMILIES
         if any(kind.may_be_in(words_of(data)) for kind in family.KINDS)}
        for data in files
    ]  # fmt: skip
    every = [data for data, names in zip(files, held, strict=True) if names]
    for family in (each.__name__.rpartition(".")[2] for each in FAMILIES):
        mine = [(data, names) for data, names in zip(files, held, strict=True) if family in names]
        alone = sum(len(data) for data, names in mine if names == {family})
        size = sum(len(data) for data, _ in mine)
        yield Kept(corpus, family, len(mine), size, alone, len(every), sum(map(len, every)))


def typed(tree: Path, count: int) -> dict[str, list[tuple[float, float]]]:
    """The seconds of the processor and of the clock that edits of one open buffer take, by what is typed."""
    from trainlint.check import Request, Session

    wanted = (path for path in sorted(tree.rglob("*.py")) if b"cross_entropy(" in path.read_bytes())
    path = min(wanted, key=lambda path: abs(path.read_bytes().count(b"\n") - LINES))
    session = Session(Request((str(path),), str(tree), isolated=True))
    session.report([str(path)], here=True)
    text, took, before = path.read_text(encoding="utf-8"), {}, ""
    for edit in edits(text, count):
        if edit.kind != before:
            judged(session, path, text)
        rows, before = text.split("\n"), edit.kind
        rows[edit.row] = edit.line
        took.setdefault(group(edit.kind), []).append(judged(session, path, "\n".join(rows)))
    return took


def largest() -> int:
    """The most bytes that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def judged(session: Session, path: Path, text: str) -> tuple[float, float]:
    """Judge a file that says this now; the seconds of the processor and of the clock that it takes."""
    processor, wall = time.process_time(), time.perf_counter()
    session.change(str(path), text.encode())
    session.report([str(path)], here=True)
    return time.process_time() - processor, time.perf_counter() - wall


def look_again(place: Place, corpus: str, options: argparse.Namespace) -> None:
    """Edit one buffer in a process of its own, and write down what an edit of each kind takes: the medians."""
    rows = (row for row in known(options.results) if isinstance(row, Timed))
    done = {row.round for row in rows if (row.corpus, row.case) == (corpus, "editor")}
    for round in sorted(set(range(options.rounds)) - done):
        words = [sys.executable, __file__, "editor", str(place.tree(corpus)), "--edits", str(EDITS)]
        ran = subprocess.run(words, stdout=subprocess.PIPE, env=environment(), check=True)
        told = json.loads(ran.stdout)
        for kind, took in told["took"].items():
            processor, wall = map(statistics.median, zip(*took, strict=True))
            shown = f"python benchmarks/speed.py editor TREE --edits {EDITS}"
            write(options.results, Timed(corpus, "editor", f"trainlint, {kind}", round, shown, processor, wall,
                                         told["memory"], 0))  # fmt: skip


# What is asked for


def run(options: argparse.Namespace) -> None:
    place = Place(Path(options.folder).resolve())
    prepare(
        place,
        options.corpora,
        with_peers=options.tools != ["trainlint"],
        with_flake8="flake8" in options.cases,
    )
    for corpus in options.corpora:
        wanted = list(jobs(place, corpus, options.cases))
        named = [job for job in wanted if not options.tools or any(job.tool.startswith(each) for each in options.tools)]
        chosen = [job for job in wanted if job in named or job.tool in (BASE, ALONE)]
        measure(chosen, options)
        if "editor" in options.cases:
            look_again(place, corpus, options)
        if "families" in options.cases:
            done = {(row.corpus, row.family) for row in known(options.results) if isinstance(row, Kept)}
            for row in families(place, corpus):
                if (row.corpus, row.family) not in done:
                    write(options.results, row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    runs = actions.add_parser("run", help="measure what is not measured yet")
    runs.add_argument("folder", help="where the corpora, the other linters and the copies are kept")
    runs.add_argument("--corpora", nargs="+", default=list(CORPORA))
    runs.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    runs.add_argument("--tools", nargs="+", default=[], help="only those whose names begin so")
    runs.add_argument("--rounds", type=int, default=5)
    runs.add_argument("--limit", type=float, default=600, help="seconds after which a command is ended")
    runs.add_argument("--once", type=float, default=math.inf, help="what takes more seconds is run only once")
    runs.add_argument("--results", type=Path, default=RESULTS)
    pages = actions.add_parser("page", help="make docs/performance.md")
    pages.add_argument("--results", type=Path, default=RESULTS)
    pages.add_argument("--page", type=Path, default=PAGE)
    editor = actions.add_parser("editor", help="edit a file of a tree again and again, in one process")
    editor.add_argument("tree", type=Path)
    editor.add_argument("--edits", type=int, default=EDITS)
    options = parser.parse_args()
    if options.action == "run":
        run(options)
    elif options.action == "page":
        from performance import page

        options.page.write_text(page(known(options.results)), encoding="utf-8")
    else:
        took = typed(options.tree, options.edits)
        print(json.dumps({"took": took, "memory": largest()}))


if __name__ == "__main__":
    main()
