"""Facts and rules in, findings out. Reads no file, prints nothing, knows no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from trainlint.facts import Crash, Fact, Facts
from trainlint.finding import Finding, Fix, Severity
from trainlint.record import replace
from trainlint.rule import Rule
from trainlint.span import Span


def lint(facts: Facts, rules: Iterable[Rule]) -> list[Finding]:
    """Every finding once per code and place, with its worst verdict, sorted by place.

    Where a rule raises, the rules that ask for ``Crash`` report it and all others are judged as before.

    Raises:
        RuntimeError: there is a crash that none of the rules reports.
    """
    chosen = tuple(rules)
    crashes: list[Crash] = []
    found = [finding for rule in chosen for finding in _weighed(rule, facts, crashes)]
    for rule in _reporters(chosen, [*facts.of(Crash), *crashes]):
        found.extend(finding for crash in crashes for finding in rule.run(crash))
    return sorted(found, key=lambda finding: (finding.where, finding.code, finding.message))


def _reporters(rules: Iterable[Rule], crashes: Sequence[Crash]) -> list[Rule]:
    reporters = [rule for rule in rules if rule.wants is Crash]
    if crashes and not reporters:
        raise RuntimeError(f"{crashes[0].call}: {crashes[0].doing}: {crashes[0].error}")
    return reporters


def _weighed(rule: Rule, facts: Facts, crashes: list[Crash]) -> Iterator[Finding]:
    """One rule's findings: what only some arms of a branch show is at most a warning that names the arm."""
    answers: dict[tuple[object, ...], list[tuple[Fact, list[Finding]]]] = defaultdict(list)
    for fact in facts.of(rule.wants):
        answers[fact.call, fact.context].append((fact, _answer(rule, fact, crashes)))
    worst: dict[tuple[object, ...], Finding] = {}
    fixes: dict[tuple[object, ...], set[Fix | None]] = defaultdict(set)
    for each in answers.values():
        everywhere = all(findings and fact.everywhere for fact, findings in each)
        least = max((finding.severity.rank for _, findings in each for finding in findings), default=0)
        for fact, findings in each:
            for finding in findings:
                finding = _at_most(finding, least) if everywhere else _on_one_branch(finding, fact)
                finding = replace(finding, because=tuple(dict.fromkeys((*finding.because, *fact.context))))
                known = worst.get((finding.where, finding.code))
                worst[finding.where, finding.code] = _worse(known, finding) if known else finding
                fixes[finding.where, finding.code].add(finding.fix)
    spared = {fact.call for each in answers.values() for fact, findings in each if not (findings and fact.everywhere)}
    for place, finding in worst.items():
        yield replace(finding, fix=_agreed(fixes[place], finding, spared))


def _agreed(fixes: set[Fix | None], finding: Finding, spared: Collection[Span]) -> Fix | None:
    """The fix on which all paths to a place agree; where some path needs none, it is not safe."""
    fix = finding.fix if len(fixes) == 1 else None
    return fix.unsafe() if fix and finding.call in spared else fix


def _worse(known: Finding, other: Finding) -> Finding:
    """The worse of two at one place, the first of equals; whatever tells either of them from others counts."""
    worse = other if other.severity.rank < known.severity.rank else known
    return replace(worse, distinct=tuple(dict.fromkeys((*known.distinct, *other.distinct))))


def _answer(rule: Rule, fact: Fact, crashes: list[Crash]) -> list[Finding]:
    try:
        return list(rule.run(fact))
    except Exception as error:
        if rule.wants is Crash:
            raise
        doing = f"judging {rule.code} {rule.name}"
        crashes.append(Crash(fact.call, fact.argument, fact.built, fact.context, fact.branch, doing, repr(error)))
        return []


def _at_most(finding: Finding, rank: int) -> Finding:
    """What one arm proves and another only makes likely is likely."""
    return replace(finding, severity=list(Severity)[max(finding.severity.rank, rank)])


def _on_one_branch(finding: Finding, fact: Fact) -> Finding:
    if not fact.branch:
        return finding
    severity = max(finding.severity, Severity.WARNING, key=lambda severity: severity.rank)
    return replace(finding, severity=severity, because=(*finding.because, *fact.branch))
