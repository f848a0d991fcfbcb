"""What the rules say about public training code: pinned repositories in, findings, tables and measured precision out.

    python benchmarks/ecosystem.py run --checkouts FOLDER --out FILE   lint each repository of ecosystem.toml
    python benchmarks/ecosystem.py compare BASE CHANGE                 two such files, as one table
    python benchmarks/ecosystem.py unread FILE                         findings that no verdict speaks of
    python benchmarks/ecosystem.py precision FILE                      verdicts -> docs/precision.md and measured.json

Each repository is linted alone, in a process of its own, by the trainlint of ``--tree`` (default: the one installed for
``--python``). Nothing of a repository is run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tomli
from precision import measured, page, unread, verdicts
from results import DONE, Found, Result, line, read

TOP = Path(__file__).resolve().parent.parent
MANIFEST = TOP / "benchmarks" / "ecosystem.toml"
AUDIT = TOP / "benchmarks" / "audit.jsonl"
RESULTS = TOP / "benchmarks" / "ecosystem.jsonl"
PAGE = TOP / "docs" / "precision.md"
MEASURED = TOP / "rules" / "trainlint_rules" / "measured.json"

START = "import sys; sys.path[0:1] = []; from trainlint.__main__ import main; sys.exit(main())"
"""Without the working directory, which is the one that is linted, on the import path."""

GRACE = 5
"""Seconds between the signal that ends a process and the one that it cannot refuse."""

CHECK = ("check", "--isolated", "--no-cache", "--select", "ALL")


@dataclass(frozen=True)
class Repository:
    """One line of the manifest; ``folder`` is the part of it that is linted."""

    url: str
    commit: str
    set: str
    about: str
    folder: str = "."

    @property
    def name(self) -> str:
        return "/".join(self.url.removesuffix(".git").split("/")[-2:])


@dataclass(frozen=True)
class Engine:
    """Which trainlint, under which Python, and for how many seconds of the processor at most.

    The wall clock would make what is cut off depend on what else the machine does.
    """

    python: str
    tree: str
    limit: int

    def bound(self) -> None:
        """Limit the process that calls this."""
        resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit + GRACE))

    @property
    def environment(self) -> dict[str, str]:
        places = os.pathsep.join((self.tree, os.path.join(self.tree, "rules"))) if self.tree else ""
        return {**os.environ, "PYTHONPATH": places} if places else dict(os.environ)

    def rules(self) -> list[str]:
        """The codes of every rule there is."""
        command = (self.python, "-c", START, "rule", "--all", "--output-format=json")
        run = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return [record["code"] for record in json.loads(run.stdout)]


class Missing(Exception):
    """A repository that is not at hand at its commit, and why."""


def manifest(file: Path) -> list[Repository]:
    return [Repository(**row) for row in tomli.loads(file.read_text())["repository"]]


def git(*arguments: str) -> str:
    run = subprocess.run(("git", *arguments), capture_output=True, text=True)
    if run.returncode:
        raise Missing(f"git {arguments[-1]}: {(run.stderr.strip() or 'failed').splitlines()[-1]}")
    return run.stdout


def checkout(repository: Repository, checkouts: Path) -> Path:
    """The folder of a repository at its commit, fetched if it is not there.

    Raises:
        Missing: it cannot be fetched, or what lies there is at another commit.
    """
    path = checkouts / repository.name.replace("/", "+")
    if not path.exists():
        git("init", "--quiet", str(path))
        git("-C", str(path), "fetch", "--quiet", "--depth=1", repository.url, repository.commit)
        git("-C", str(path), "checkout", "--quiet", "--detach", "FETCH_HEAD")
    if not (path / ".git").exists():
        raise Missing(f"{path} is no git repository")
    head = git("-C", str(path), "rev-parse", "HEAD").strip()
    if head != repository.commit:
        raise Missing(f"{path} is at {head[:12]}, not at {repository.commit[:12]}")
    return path


def sources(path: Path, folder: str) -> tuple[list[Path], int]:
    """The Python files and notebooks that git tracks in a folder, links left out, and how many of them are absent."""
    tracked = git("-C", str(path), "ls-files", "-z", "--", folder).split("\0")
    code = [path / name for name in tracked if name.endswith((".py", ".ipynb"))]
    return [each for each in code if each.is_file() and not each.is_symlink()], sum(
        not os.path.lexists(each) for each in code
    )


def lines(file: Path) -> int:
    """How many lines of a Python file, or of the code cells of a notebook."""
    if file.suffix == ".py":
        return file.read_bytes().count(b"\n")
    try:
        cells = json.loads(file.read_bytes())["cells"]
        texts = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        return sum(text.count("\n") + 1 for text in texts)
    except (ValueError, KeyError, TypeError):
        return 0


def linted(
    repository: Repository, checkouts: Path, engine: Engine, rules: Sequence[str], reports: Path | None
) -> Result:
    """One repository, linted; what kept it from being linted is the result's status."""
    start = Result(repository.name, repository.commit, repository.set, repository.folder, DONE, rules=rules)
    try:
        path = checkout(repository, checkouts)
        files, absent = sources(path, repository.folder)
    except Missing as missing:
        return replace(start, status=f"not at hand: {missing}")
    counted = replace(start, lines=sum(map(lines, files)), absent=absent)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(reports or folder) / f"{path.name}.json"
        report.unlink(missing_ok=True)
        timed = run(counted, engine, path, f"--output-format=json:{report}")
        return reported(timed, json.loads(report.read_text())) if report.exists() else timed


def run(result: Result, engine: Engine, path: Path, output: str) -> Result:
    """Lint a checkout; how it ended and what it took is added to the result."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as errors, open(os.devnull, "wb") as sink:
        command = (engine.python, "-c", START, *CHECK, output, result.folder)
        process = subprocess.Popen(
            command, cwd=path, env=engine.environment, stdout=sink, stderr=errors, preexec_fn=engine.bound
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip().splitlines() or ["without a word"]
    wall = time.perf_counter() - began
    match process.returncode:
        case 0 | 1:
            how = DONE
        case code if code == -signal.SIGXCPU:
            how = f"cut off after {engine.limit} s"
        case code:
            how = f"exit status {code}: {said[-1]}"
    return replace(
        result,
        status=how,
        processor=round(used.ru_utime + used.ru_stime, 2),
        wall=round(wall, 2),
        memory=used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    )


def reported(result: Result, document: Mapping[str, Any]) -> Result:
    """What the JSON of ``trainlint check`` says, added to the result."""
    return replace(
        result,
        judged=document["judged"],
        unjudged=dict(Counter(each["what"] for each in document["unjudged"])),
        findings=[
            Found(each["filename"], each["cell"], each["location"]["row"], each["code"], each["severity"],
                  each["message"])
            for each in document["findings"]
        ],
    )  # fmt: skip


def compared(base: Sequence[Result], change: Sequence[Result]) -> Iterator[str]:
    """One row for each repository of either, then each finding that is new, gone or says something else."""
    before, after = ({result.repository: result for result in results} for results in (base, change))
    yield f"{'repository':52}{'new':>5}{'gone':>5}{'other':>6}{'not judged':>16}{'processor s':>18}{'MB':>12}  status"
    told: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            yield f"{name:52}  only in {'the change' if old is None else 'the base'}"
            continue
        lists = differences(old, new)
        told += [f"{kind:6} {line}" for kind, found in lists.items() for line in found]
        yield (
            f"{name:52}{len(lists['new']):5}{len(lists['gone']):5}{len(lists['other']):6}"
            f"{f'{old.open} to {new.open}':>16}{f'{old.processor:.1f} to {new.processor:.1f}':>18}"
            f"{f'{old.memory / 1e6:.0f} to {new.memory / 1e6:.0f}':>12}  {ended(old, new)}"
        )
    both = [(before[name], after[name]) for name in before if name in after]
    time = [sum(each.processor for each in side) for side in zip(*both, strict=True)] or [0.0, 0.0]
    yield f"{'all':84}{f'{time[0]:.1f} to {time[1]:.1f}':>18}"
    yield from told


def differences(old: Result, new: Result) -> dict[str, list[str]]:
    """The findings of one repository that only one side has, and those with another severity or message."""
    was, now = old.places, new.places
    return {
        "new": [line(new.repository, now[place]) for place in now if place not in was],
        "gone": [line(old.repository, was[place]) for place in was if place not in now],
        "other": [line(new.repository, now[place]) for place in now if place in was and now[place] != was[place]],
    }


def ended(old: Result, new: Result) -> str:
    return new.status if old.status == new.status else f"{old.status}, now {new.status}"


def run_all(options: argparse.Namespace) -> None:
    """Lint one repository after the other; each is written down, and told in one line, as soon as it ends."""
    engine = Engine(options.python, os.path.abspath(options.tree) if options.tree else "", options.limit)
    rules = engine.rules()
    reports = options.reports and options.reports.absolute()
    with open(options.out, "w") as out:
        for repository in manifest(options.manifest):
            if options.set in (None, repository.set) and options.only in repository.name:
                result = linted(repository, options.checkouts.absolute(), engine, rules, reports)
                out.write(json.dumps(asdict(result)) + "\n")
                out.flush()
                print(f"{result.repository}: {result.status}, {len(result.findings)} findings, {result.lines} lines, "
                      f"{result.processor:.0f} s", flush=True)  # fmt: skip


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    lint = commands.add_parser("run", help="lint the repositories of the manifest")
    lint.add_argument("--checkouts", type=Path, required=True, help="where they lie, or are fetched to")
    lint.add_argument("--set", help="first or fresh; all by default")
    lint.add_argument("--only", default="", help="those whose name holds this word")
    lint.add_argument("--out", type=Path, required=True)
    lint.add_argument("--reports", type=Path, help="a folder that keeps the whole report on each")
    lint.add_argument("--python", default=sys.executable)
    lint.add_argument("--tree", default="", help="a source tree of trainlint")
    lint.add_argument("--limit", type=int, default=600, help="seconds of the processor for one repository")
    pair = commands.add_parser("compare", help="two results, as one table")
    pair.add_argument("base", type=Path)
    pair.add_argument("change", type=Path)
    unread = commands.add_parser("unread", help="findings that no verdict speaks of, and verdicts on what is gone")
    numbers = commands.add_parser("precision", help="write the page, and what trainlint rule tells of each rule")
    for command in (unread, numbers):
        command.add_argument("results", type=Path, nargs="?", default=RESULTS)
        command.add_argument("--audit", type=Path, default=AUDIT)
    for command in (lint, numbers):
        command.add_argument("--manifest", type=Path, default=MANIFEST)
    numbers.add_argument("--page", type=Path, default=PAGE)
    numbers.add_argument("--measured", type=Path, default=MEASURED)
    return parser


def main() -> None:
    options = arguments().parse_args()
    match options.command:
        case "run":
            run_all(options)
        case "compare":
            print(*compared(read(options.base), read(options.change)), sep="\n")
        case "unread":
            print(*unread(read(options.results), verdicts(options.audit)), sep="\n")
        case "precision":
            results, judged = read(options.results), verdicts(options.audit)
            wanted = [repository.name for repository in manifest(options.manifest)]
            options.page.write_text("\n".join(page(results, judged, wanted)) + "\n")
            options.measured.write_text(json.dumps(measured(results, judged), indent=1) + "\n")


if __name__ == "__main__":
    main()
