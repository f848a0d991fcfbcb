"""How often the rules are right: findings and the verdicts of their readers in, docs/precision.md and numbers out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from results import DONE, Found, Place, Result, line

VERDICTS = ("true", "debatable", "false")


@dataclass(frozen=True)
class Verdict:
    """What a reader of the repository made of one finding."""

    repository: str
    commit: str
    path: str
    cell: int | None
    row: int
    code: str
    severity: str
    verdict: str
    why: str

    @property
    def place(self) -> Place:
        return (self.repository, self.commit, self.path, self.cell, self.row, self.code)


def verdicts(file: Path) -> dict[Place, Verdict]:
    """Raises ValueError where a place is judged twice, or with a word that is no verdict."""
    read: dict[Place, Verdict] = {}
    for verdict in (Verdict(**json.loads(text)) for text in file.read_text().splitlines()):
        if verdict.verdict not in VERDICTS:
            raise ValueError(f"{verdict.place}: {verdict.verdict} is none of {', '.join(VERDICTS)}")
        if verdict.place in read:
            raise ValueError(f"{verdict.place} is judged twice")
        read[verdict.place] = verdict
    return read


@dataclass(frozen=True)
class Count:
    """How many findings there are, and what was made of those that somebody read."""

    findings: int = 0
    true: int = 0
    debatable: int = 0
    false: int = 0

    @property
    def read(self) -> int:
        return self.true + self.debatable + self.false

    @property
    def precision(self) -> float | None:
        """True among true and false; a debatable finding counts for neither."""
        return self.true / (self.true + self.false) if self.true + self.false else None


def counted(readings: Iterable[Verdict | None]) -> Count:
    said = Counter(verdict.verdict if verdict else "" for verdict in readings)
    return Count(said.total(), *(said[word] for word in VERDICTS))


Reading = tuple[Result, Found, "Verdict | None"]


def readings(results: Iterable[Result], judged: Mapping[Place, Verdict]) -> list[Reading]:
    """Every finding, once for each place, with what its reader said."""
    return [(result, found, judged.get(place)) for result in results for place, found in result.places.items()]


def unread(results: Sequence[Result], judged: Mapping[Place, Verdict]) -> Iterator[str]:
    """The findings that nobody has read, then the verdicts whose findings are gone."""
    every = readings(results, judged)
    yield from (line(result.repository, found) for result, found, verdict in every if verdict is None)
    for verdict in gone(every, judged):
        yield f"gone: {verdict.verdict} {verdict.repository}/{verdict.path}:{verdict.row}: {verdict.code}"


def gone(every: Sequence[Reading], judged: Mapping[Place, Verdict]) -> Iterator[Verdict]:
    """The verdicts on findings that are no longer there."""
    there = {verdict.place for _, _, verdict in every if verdict}
    yield from (verdict for verdict in judged.values() if verdict.place not in there)


def measured(results: Sequence[Result], judged: Mapping[Place, Verdict]) -> dict[str, dict[str, object]]:
    """By code, what ``trainlint rule`` tells of each rule: numbers, and one sentence made of them."""
    every = readings(results, judged)
    done = [result for result in results if result.status == DONE]
    size = f"{len(done)} public repositories ({sum(result.lines for result in done) / 1e6:.1f} M lines)"
    return {
        code: {**asdict(count), "text": sentence(count, size, seen_in_code)}
        for code, seen_in_code in rules(done).items()
        for count in (counted(verdict for _, found, verdict in every if found.code == code),)
    }


def rules(results: Iterable[Result]) -> dict[str, bool]:
    """The rules that ran on all of these, and whether code alone can show what they look for."""
    from trainlint.facts.runs import ONLY_RUNS
    from trainlint.rule import installed

    ran = [set(result.rules) for result in results]
    known = installed().items()
    return {code: rule.wants not in ONLY_RUNS for code, rule in known if all(code in codes for codes in ran)}


def sentence(count: Count, size: str, seen_in_code: bool) -> str:
    if not seen_in_code:
        return "not in public code, since only a run shows it; proved on fixtures"
    if not count.findings:
        return f"no finding in {size}; proved on fixtures"
    share = "" if count.precision is None else f"precision {count.precision:.2f}: "
    read = "" if count.read == count.findings else f", {count.findings - count.read} not read"
    return f"{share}{count.true} true, {count.debatable} debatable, {count.false} false{read} in {size}"


KINDS = ("errors and warnings", "notes", "faults of reading")

COUNTED = ("findings", "true", "debatable", "false", "not read")

INTRODUCTION = """# Measured precision

What the rules say about public training code, and how often they are right. The repositories are pinned in
`benchmarks/ecosystem.toml`. Every error and every warning was read in the repository itself, notes as a sample, and the
verdicts with their reasons are `benchmarks/audit.jsonl`. This page and what `trainlint rule` tells of each rule are
made from them (`python benchmarks/ecosystem.py precision`); a test keeps them in step.

*True*: the code does what the finding says, with the consequence it names. *False*: it does not. *Debatable*: it does,
and whether that is a fault depends on what the authors wanted or on what the repository does not show. Precision is
true / (true + false); a debatable finding counts for neither. The rules were corrected on the *first* set, whose
numbers are those after it. Nobody looked at the *fresh* set before: its numbers are those of the first reading, with
the false alarms that were corrected because of it."""


def page(results: Sequence[Result], judged: Mapping[Place, Verdict], wanted: Iterable[str]) -> Iterator[str]:
    """docs/precision.md, line by line."""
    every = readings(results, judged)
    yield INTRODUCTION
    yield from ("", *header("", *COUNTED, "false of those read"))
    for name in dict.fromkeys(result.set for result in results):
        for kind in KINDS:
            of_kind = (each for each in every if each[0].set == name and kind_of(each[1]) == kind)
            count = counted(verdict for _, _, verdict in of_kind)
            yield row(f"{name} set, {kind}", *numbers(count), percent(count.false, count.read))
    yield from by_rule(every, rules(results))
    yield from by_repository(results, every)
    yield from corrected(every, judged)
    yield from not_reached(results, wanted)


def kind_of(found: Found) -> str:
    """What the tool says of itself and of code that it cannot read is counted apart."""
    if found.code.startswith("TL9"):
        return KINDS[2]
    return KINDS[1] if found.severity == "note" else KINDS[0]


def by_rule(every: Sequence[Reading], known: Mapping[str, bool]) -> Iterator[str]:
    yield from ("", "## By rule", "", *header("rule", "", *COUNTED, "precision"))
    for code in known:
        for kind in KINDS:
            of_rule = (each for each in every if each[1].code == code and kind_of(each[1]) == kind)
            count = counted(verdict for _, _, verdict in of_rule)
            if count.findings:
                precision = "" if count.precision is None else f"{count.precision:.2f}"
                yield row(code, kind, *numbers(count), precision)
    seen = {found.code for _, found, _ in every}
    silent = [code for code, seen_in_code in known.items() if seen_in_code and code not in seen]
    yield from ("", f"No finding, so proved on fixtures only: {', '.join(silent)}.")
    only_runs = [code for code, seen_in_code in known.items() if not seen_in_code]
    yield from ("", f"Only a run shows: {', '.join(only_runs)}.")


def by_repository(results: Sequence[Result], every: Sequence[Reading]) -> Iterator[str]:
    yield from ("", "## By repository", "", *header("repository", "commit", "lines", *COUNTED, "seconds"))
    for result in results:
        count = counted(verdict for of, _, verdict in every if of is result)
        name = result.repository if result.folder == "." else f"{result.repository} ({result.folder})"
        yield row(name, result.commit[:12], result.lines, *numbers(count), round(result.processor))
    total = counted(verdict for _, _, verdict in every)
    size, seconds = sum(result.lines for result in results), sum(result.processor for result in results)
    yield row("all", "", size, *numbers(total), round(seconds))


def corrected(every: Sequence[Reading], judged: Mapping[Place, Verdict]) -> Iterator[str]:
    """The false alarms of earlier readings that are gone."""
    yield from ("", "## Corrected", "", "False alarms of earlier readings that are gone:", "")
    for verdict in gone(every, judged):
        if verdict.verdict == "false":
            yield f"- {verdict.code} in {verdict.repository}, {verdict.path}: {verdict.why}"


def not_reached(results: Sequence[Result], wanted: Iterable[str]) -> Iterator[str]:
    yield from ("", "## What was not reached", "")
    there = {result.repository for result in results}
    yield from (f"- {name}: not run" for name in wanted if name not in there)
    for result in results:
        if result.status != DONE:
            yield f"- {result.repository}: {result.status}"
        if result.absent:
            yield f"- {result.repository}: {result.absent} files that the copy at hand lacks"
    yield from ("", *header("judged", "sites", "safe", "flagged", "not judged", "share not judged"))
    for kind in dict.fromkeys(kind for result in results for kind in result.judged):
        tallies = [result.judged[kind] for result in results if kind in result.judged]
        total, *parts = (sum(each[key] for each in tallies) for key in ("total", "safe", "flagged", "unjudged"))
        yield row(kind, total, *parts, percent(parts[-1], total))


def header(*columns: str) -> tuple[str, str]:
    return row(*columns), "|" + "---|" * len(columns)


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def numbers(count: Count) -> tuple[int, ...]:
    return count.findings, count.true, count.debatable, count.false, count.findings - count.read


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""
