"""Facts and rules in, findings out. Reads no file, prints nothing, knows no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from trainlint.facts import Fact, Facts
from trainlint.finding import Finding, Severity
from trainlint.rule import Rule


def lint(facts: Facts, rules: Iterable[Rule]) -> list[Finding]:
    """Every finding once per code and place, with its worst verdict, sorted by place."""
    found = [finding for rule in rules for finding in _weighed(rule, facts)]
    return sorted(found, key=lambda finding: (finding.where, finding.code, finding.message))


def _weighed(rule: Rule, facts: Facts) -> Iterator[Finding]:
    """One rule's findings: what only some arms of a branch show is at most a warning that names the arm."""
    answers: dict[tuple[object, ...], list[tuple[Fact, list[Finding]]]] = defaultdict(list)
    for fact in facts.of(rule.wants):
        answers[fact.call, fact.context].append((fact, list(rule.run(fact))))
    worst: dict[tuple[object, ...], Finding] = {}
    for each in answers.values():
        everywhere = all(findings for _, findings in each)
        for fact, findings in each:
            for finding in findings:
                finding = finding if everywhere else _on_one_branch(finding, fact)
                finding = replace(finding, because=tuple(dict.fromkeys((*finding.because, *fact.context))))
                known = worst.get((finding.where, finding.code))
                if known is None or finding.severity.rank < known.severity.rank:
                    worst[finding.where, finding.code] = finding
    yield from worst.values()


def _on_one_branch(finding: Finding, fact: Fact) -> Finding:
    if not fact.branch:
        return finding
    severity = max(finding.severity, Severity.WARNING, key=lambda severity: severity.rank)
    return replace(finding, severity=severity, because=(*finding.because, *fact.branch))
