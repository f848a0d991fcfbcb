"""``trainlint probe loss``: a callable of the user's in, the classes that it does not teach out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from trainlint.cli import UsageError, complain
from trainlint.cli.margin import dtypes, tell
from trainlint.cli.options import Said
from trainlint.cli.output import choice
from trainlint.cli.probe import needing_torch
from trainlint.facts.precision import Dtype
from trainlint.finding import Finding, Severity
from trainlint.identity import Surroundings, identities
from trainlint.record import dataclass
from trainlint.report import Report, Tally, filename, text
from trainlint.report.structured import as_json
from trainlint.rule import installed
from trainlint.span import Span
from trainlint.value import Step

if TYPE_CHECKING:
    from trainlint.probe.loss import Verdict

FORMATS = ("text", "json")
SHOWN = 10
"""Classes that are named one by one."""


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Judge one loss: 1 where a class is not taught, 2 where the loss cannot be called."""
    if len(arguments) != 1:
        raise UsageError("which loss? give one, as pkg.module:callable or file.py:callable")
    form = choice(said, "output-format", FORMATS)
    with needing_torch(), redirect_stdout(sys.stderr):
        judged = verdicts(arguments[0], said)
    report = reported(judged)
    tell(as_document(judged, report) if form == "json" else "\n".join(as_lines(judged, report)), said)
    for fault in report.faults:
        complain(fault)
    return report.exit_code


@dataclass(frozen=True)
class Judged:
    """A loss by its name, where it is written, how many classes it was asked about, which is padding, what was seen.

    ``failed`` says why there is no verdict for a format.
    """

    named: str
    where: Span
    classes: int
    declared: int | None
    device: str
    verdicts: Mapping[Dtype, Verdict]
    failed: tuple[str, ...] = ()

    @property
    def taught(self) -> int:
        """How many classes are taught in every format."""
        odd = {number for each in self.verdicts.values() for key, found in each.lessons.items() if key.value != "taught"
               for number in found}  # fmt: skip
        return self.classes - len(odd)

    @property
    def first(self) -> Verdict:
        return next(iter(self.verdicts.values()))

    def numbers(self, lesson: str) -> list[int]:
        """The classes, padding left out, that got this in some format."""
        got = {number for each in self.verdicts.values() for key, found in each.lessons.items() if key.value == lesson
               for number in found}  # fmt: skip
        return sorted(got - {self.declared})


def verdicts(named: str, said: Said) -> Judged:
    """What the probe says of this loss in each format that is asked for.

    Raises:
        UsageError: the options are wrong, or the loss cannot be called.
    """
    from trainlint.probe.callables import NotCallable, defined, load
    from trainlint.probe.loss import Bench, Uncalled, judge
    from trainlint.probe.margin import TORCH

    classes, declared, device = whole(said, "classes"), whole(said, "ignore-index"), said.get("device", ("cpu",))[-1]
    if classes is None or classes < 2:
        raise UsageError("--classes must say how many classes the loss is for, at least 2")
    found: dict[Dtype, Verdict] = {}
    failed: list[str] = []
    try:
        loss = load(named, dict(map(keyword, said.get("set", ()))))
    except NotCallable as error:
        raise UsageError(str(error)) from error
    for dtype in dtypes(said) if "dtype" in said else [Dtype.FLOAT32]:
        try:
            found[dtype] = judge(Bench(loss, classes, TORCH[dtype], device), declared)
        except Uncalled as error:
            failed.append(f"{named} cannot be judged over {classes} classes in {dtype.value}: {error}")
    if not found:
        raise UsageError("\ntrainlint: ".join(failed))
    return Judged(named, defined(loss) or Span(named, 1), classes, declared, device, found, tuple(failed))


def whole(said: Said, name: str) -> int | None:
    """A whole number, if it is given."""
    if name not in said:
        return None
    try:
        return int(said[name][-1])
    except ValueError:
        raise UsageError(f"--{name} must be a whole number, not {said[name][-1]!r}") from None


def keyword(words: str) -> tuple[str, object]:
    """An argument as it is written after ``--set``: a number, a truth, None, or else a word.

    >>> keyword("ignore_index=1024"), keyword("reduction=sum"), keyword("smoothing=0.1")
    (('ignore_index', 1024), ('reduction', 'sum'), ('smoothing', 0.1))
    """
    name, equals, value = words.partition("=")
    if not (equals and name.isidentifier()):
        raise UsageError(f"--set {words}: expected NAME=VALUE, as in ignore_index=0")
    constants: dict[str, object] = {"true": True, "false": False, "none": None}
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, constants.get(value.lower(), value)


def reported(judged: Judged) -> Report:
    """What was seen as findings; NaN where a gradient should be is a fault, since nothing can be said there."""
    findings = tuple(findings_of(judged))
    undefined = judged.numbers("undefined")
    nan = (f"{judged.named}: {listed(undefined)} cannot be judged: the gradient is nan",) if undefined else ()
    faults = (*judged.failed, *nan)
    tally = Tally(int(not findings and not faults), int(bool(findings)), int(bool(faults and not findings)))
    told = lines_of(judged.where.path)
    around = Surroundings(lambda path: filename(path, os.getcwd()), lambda span: told, lambda span: judged.named)
    return Report(
        findings,
        judged={"losses": tally},
        files_checked=1,
        failing=findings,
        faults=faults,
        lines={judged.where.path: {None: told}},
        identities=identities(findings, around),
    )


def findings_of(judged: Judged) -> Iterator[Finding]:
    """What is wrong with the loss, each kind once."""
    nothing, reverse = judged.numbers("nothing"), judged.numbers("reversed")
    if nothing:
        told = f"{listed(nothing)} of {judged.classes} {said_of(nothing, 'gets no gradient', 'get no gradient')}"
        yield untaught(judged, nothing, told)
    if reverse:
        told = f"{listed(reverse)} of {judged.classes} {said_of(reverse, 'is pushed down', 'are pushed down')}"
        yield untaught(judged, reverse, told)
    if judged.first.declared:
        yield finding(
            judged,
            "TL105",
            Severity.WARNING,
            f"targets {judged.declared}, said to be padding, {judged.first.declared}",
            "the model is taught to predict padding",
            f"make the loss skip {judged.declared}; --set ignore_index={judged.declared} hands it to one that takes it",
        )


def said_of(numbers: Sequence[int], one: str, many: str) -> str:
    return f"{one} where it is the target" if len(numbers) == 1 else f"{many} where they are the target"


def untaught(judged: Judged, numbers: Sequence[int], message: str) -> Finding:
    them = "it" if len(numbers) == 1 else "them"
    return finding(
        judged,
        "TL101",
        Severity.ERROR,
        message,
        f"the model is never taught {them}, and the loss curve will not show it",
        "find what leaves these targets out (an ignore_index, a mask, a weight of 0), or say"
        f" --ignore-index {numbers[0]} if that is padding",
    )


def finding(judged: Judged, code: str, severity: Severity, message: str, consequence: str, cure: str) -> Finding:
    """A finding at the loss itself, under the name of its rule."""
    called = Step(f"called with {judged.first.way} over {judged.classes} classes of random numbers", judged.where)
    name = next((rule.name for rule in installed().values() if rule.code == code), "")
    return Finding(judged.where, message, consequence, (called,), cure, severity=severity, code=code, name=name)


def listed(numbers: Sequence[int]) -> str:
    """Classes in words.

    >>> listed([3]), listed([3, 4]), listed(range(12))
    ('class 3', 'classes 3, 4', 'classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    shown = ", ".join(map(str, numbers[:SHOWN]))
    more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
    return f"{'class' if len(numbers) == 1 else 'classes'} {shown}{more}"


def lines_of(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def as_lines(judged: Judged, report: Report) -> Iterator[str]:
    """The findings, then what was seen in one line, then where the signal ends in each format."""
    for line in text.full(report, os.getcwd()):
        yield "".join(piece for _, piece in line)
    taught = f"{judged.taught} of {judged.classes} classes are taught{padding(judged)}"
    yield f"{judged.named}, called with {judged.first.way}: {taught}"
    for dtype, verdict in judged.verdicts.items():
        ends = "never ends" if verdict.cutoff is None else f"ends at a margin of {verdict.cutoff:.2f}"
        if verdict.not_a_number is not None:
            ends = f"is nan from a margin of {verdict.not_a_number:.2f} on"
        yield f"{dtype.value} on {judged.device}: the signal of class {verdict.swept} {ends}"


def padding(judged: Judged) -> str:
    """What became of the targets that were said to be padding."""
    if judged.declared is None or judged.first.declared:
        return ""
    return f"; {judged.declared} is left out, as was said"


def as_document(judged: Judged, report: Report) -> str:
    """The report as ``check`` writes it, what was measured with each finding, and the rows of ``probe margin``."""
    measured = {
        "callable": judged.named,
        "called_with": str(judged.first.way),
        "classes": judged.classes,
        "ignore_index": judged.declared,
        "taught": judged.taught,
        "no_gradient": judged.numbers("nothing"),
        "pushed_down": judged.numbers("reversed"),
        "not_a_number": judged.numbers("undefined"),
    }
    document = json.loads(as_json(report, os.getcwd()))
    for finding in document["findings"]:
        finding.update(observer="probe", measured=measured)
    return json.dumps(
        {**document, "measured": measured, "rows": [row(judged, each) for each in judged.verdicts]}, indent=1
    )


def row(judged: Judged, dtype: Dtype) -> dict[str, Any]:
    """Where the signal ends, as ``probe margin`` says it."""
    verdict = judged.verdicts[dtype]
    return {
        "device": judged.device,
        "dtype": dtype.value,
        "loss": judged.named,
        "layout": verdict.way.layout,
        "classes": judged.classes,
        "spread": "single" if judged.classes == 2 else "uniform",
        "compiled": False,
        "autocast": False,
        "cutoff": verdict.cutoff,
    }
