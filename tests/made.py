"""Facts and rules made by hand, for tests of what happens between the engine and the person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from trainlint.check import Scope, Text, judge
from trainlint.config import Settings
from trainlint.facts import Crash, Fact, Facts, Layer, Loss, Unreadable
from trainlint.finding import Finding, Severity
from trainlint.lint import lint
from trainlint.report import Report
from trainlint.rule import Rule
from trainlint.span import Span
from trainlint.value import Integer, Step, Unknown

LINE = "loss = F.cross_entropy(logits, targets, ignore_index=STOP)\n"


def span(path: Path | str, row: int, column: int = 1, width: int = 1) -> Span:
    return Span(str(path), row, column, row, column + width)


def loss(path: Path | str, row: int = 1, *, ignore: int = 1024, layer: Layer | Unknown | None = None) -> Loss:
    """A loss over 1025 classes at this place, unless another layer is given."""
    call = span(path, row, 8, 20)
    argument = span(path, row, 41, 17)
    made_by = layer or Layer("head", Integer.exact(1025), call)
    unknown = Unknown("not looked at")
    return Loss(call, argument, None, (), (), "cross_entropy", made_by, Integer.exact(ignore), False, None, unknown)


def unread(path: Path | str) -> Unreadable:
    return Unreadable(span(path, 1), span(path, 1), None, (), (), "invalid syntax")


def crash(path: Path | str, row: int = 1) -> Crash:
    return Crash(span(path, row), span(path, row), None, (), (), "following a name", "KeyError('x')")


def rule_of(
    code: str, name: str, level: Severity = Severity.ERROR, *, on: bool = True, evidence: Iterable[Step] = ()
) -> Rule:
    """A rule that flags every loss whose skipped index is inside the output."""
    because = tuple(evidence)

    def check(fact: Loss) -> Iterator[Finding]:
        if not isinstance(fact.layer, Unknown) and fact.ignore_index == Integer.exact(1024):
            yield Finding(fact.argument, f"{code} speaks", because=because, severity=level)

    return Rule(code, name, f"{code}: a rule of this test.", Loss, check, on)


def _unreadable(fact: Unreadable) -> Iterator[Finding]:
    yield Finding(fact.call, f"cannot be read: {fact.reason}")


def _crashed(fact: Crash) -> Iterator[Finding]:
    yield Finding(fact.call, f"trainlint failed while {fact.doing}: {fact.error}")


UNREADABLE = Rule("TL902", "unreadable-code", "TL902: unreadable.", Unreadable, _unreadable)
INTERNAL = Rule("TL999", "internal-error", "TL999: internal.", Crash, _crashed)
COLLISION = rule_of("TL101", "sentinel-collision")
NOTE = rule_of("TL102", "sentinel-one-past-end", Severity.NOTE)
OFF = rule_of("TL103", "sentinel-in-range", Severity.NOTE, on=False)
OTHER = rule_of("TL205", "lowest-loss-checkpoint", Severity.WARNING)
PACK = (COLLISION, NOTE, OFF, OTHER, UNREADABLE, INTERNAL)


def text(path: str) -> Text:
    written = Path(path).read_text() if Path(path).exists() else ""
    return Text({None: written.splitlines(keepends=True)}, {None: written})


def judged(
    facts: Iterable[Fact],
    root: Path,
    *,
    rules: Iterable[Rule] = (COLLISION, UNREADABLE, INTERNAL),
    asked: Iterable[Path] = (),
    settings: Settings | None = None,
) -> Report:
    """These facts, judged as if these paths (the whole project, if none) had been asked for."""
    paths = tuple(map(str, asked)) or (str(root),)
    return judge(Facts(facts), rules, Scope(str(root), settings or Settings(), paths), text)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def found(rule: Rule, fact: Fact) -> Finding | None:
    """What one rule makes of one fact."""
    findings = lint(Facts([fact]), [rule])
    assert len(findings) <= 1
    return findings[0] if findings else None


def severity(rule: Rule, fact: Fact) -> Severity | None:
    """How bad one rule finds one fact; None if not at all."""
    finding = found(rule, fact)
    return finding.severity if finding else None
