"""What the reader believes, for people and for programs: a resolution in, lines of styled pieces or JSON text out.

Each fact is told as rows, one for each thing that it holds; both forms are made of the same rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import groupby

from trainlint import __version__
from trainlint.facts import (
    Activation,
    CtcLoss,
    Fact,
    Job,
    Layer,
    Loss,
    LossArithmetic,
    LossInput,
    Metric,
    Optimizer,
    Storage,
    Targets,
    Unjudged,
)
from trainlint.finding import Finding
from trainlint.record import dataclass, fields, is_dataclass, replace
from trainlint.report import place, reason
from trainlint.report.structured import VERSION, located
from trainlint.report.text import LABEL, STYLES, Line, lined_up, place_of, printable
from trainlint.span import Span
from trainlint.value import Integer, Proof, Real, Settled, Step, Unknown, Worth

VERDICTS = {"safe": "bold green", "flagged": "bold red", "not judged": "bold yellow"}
KNOWN_BY = {
    Proof.USE: "by its use",
    Proof.TABLE: "by its table",
    Proof.RUN: "by what a run showed",
    Proof.NAME: "by its name alone",
}
OWN = {field.name for field in fields(Fact)}
WIDTH, WIDEST_NAME = 9, 32
"""Of the columns of labels and of names; what is longer pushes its own line to the right."""

MOST_WAYS = 6
"""Ways to one site that anybody wants to read."""

DEFAULT = ", PyTorch's default"
UNSEEN, OPEN = "-", "?"
"""Stand where nothing is observed, and where nobody knows."""


@dataclass(frozen=True)
class Site:
    """One call, its verdict, all that is known of it on each way there, what is reported of it, and what stays open."""

    call: Span
    verdict: str
    facts: tuple[Fact, ...]
    findings: tuple[Finding, ...]
    unjudged: tuple[Unjudged, ...]

    @property
    def title(self) -> str:
        """What is called there."""
        makers = (fact.name for fact in self.facts if isinstance(fact, Optimizer))
        words = (getattr(fact, "function", "") or getattr(fact, "by", "") for fact in self.facts)
        names = (*words, *makers)
        return next(filter(None, names), _spaced(type(self.facts[0]).__name__))


@dataclass(frozen=True)
class Resolution:
    """The sites that a place takes part in, what each name in its row is worth, and what kept files from being read."""

    sites: tuple[Site, ...] = ()
    names: tuple[Settled, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One thing that a fact holds: what it is, what is known of it, the lines behind it, or why it stays open."""

    label: str
    text: str = ""
    chain: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()
    why: Unknown | None = None
    number: int | None = None

    @property
    def told(self) -> str:
        """What is known, and why the rest is not."""
        if self.why is None:
            return self.text
        return f"{self.text}{', ' if self.text else ''}not known: {reason(self.why)}"


NO_DTYPE = Row("dtype", UNSEEN)


def as_text(resolution: Resolution, folder: str) -> Iterator[Line]:
    """Each site with its rows, then each name of the line that was asked for."""
    for site in resolution.sites:
        yield (*place_of(site.call, folder), ("", f"{site.title}: "), (VERDICTS[site.verdict], site.verdict))
        yield from _said(site)
        for row in rows(site):
            yield from _labelled(row.label, WIDTH, row, folder)
        yield ()
    for line, names in groupby(resolution.names, lambda name: place(name.where, folder).rpartition(":")[0]):
        yield ((LABEL, line), ("", ":"))
        yield from _names(list(names), folder)
    if not (resolution.sites or resolution.names):
        yield (("", "nothing to resolve here"),)


def as_table(resolution: Resolution, folder: str) -> Iterator[Line]:
    """One line for each site: the head, the loss, what it skips and where that stands."""
    head = ("head", "classes", "loss", "skips", "position", "dtype", "verdict", "place")
    lines = [head, *(_columns(site, folder) for site in resolution.sites)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        *cells, verdict, where = [f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)]
        style = next((VERDICTS[each] for each in VERDICTS if verdict.startswith(each)), LABEL)
        yield ("", printable("  ".join([*cells, ""]))), (style, verdict), (LABEL, f"  {where}".rstrip())


def as_json(resolution: Resolution, folder: str) -> str:
    """The same as one object; a place is what it is in the JSON of ``check``."""
    names = [
        {"name": name.name, **located(name.where, folder), "worth": [_worth(each, folder) for each in name.worths]}
        for name in resolution.names
    ]
    document = {
        "version": VERSION,
        "tool": f"trainlint {__version__}",
        "sites": [_site(site, folder) for site in resolution.sites],
        "names": names,
        "faults": list(resolution.faults),
    }
    return json.dumps(document, indent=1)


def _spaced(name: str) -> str:
    """``LabelMask`` as a reader would write it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _said(site: Site) -> Iterator[Line]:
    for finding in site.findings:
        style = STYLES[finding.severity]
        yield ("", "  "), (style, f"{finding.severity.value} {finding.code}"), ("", f" {printable(finding.message)}")
    for each in site.unjudged:
        why = printable(reason(each.why))
        yield ("", "  "), (VERDICTS["not judged"], "not judged"), ("", f" {each.question}: {why}")


def _names(names: Sequence[Settled], folder: str) -> Iterator[Line]:
    """Names of one line, one below the other; a name has several values where callers or branches differ."""
    widest = max(len(name.name) for name in names)
    width = min(max(widest + 2, WIDTH + 2), WIDEST_NAME)
    for name in names:
        for worth in name.worths:
            row = Row("", worth.text, worth.chain, worth.assumed, worth.why)
            yield from _labelled(printable(name.name), width, row, folder)
            if worth.context:
                yield from _labelled("  through", width, Row("", chain=worth.context), folder)


def _labelled(label: str, width: int, row: Row, folder: str) -> Iterator[Line]:
    """A row, its first column this wide; lines of evidence that are all there is to say stand beside the label."""
    text = row.told
    if text:
        yield (LABEL, f"  {label:<{width}}"), ("", f"{'  ' if len(label) >= width else ''}{printable(text)}")
    indent, beside = ("  ", "") if text else ("", label)
    for before, steps in ((beside, row.chain), ("  assumed", row.assumed)):
        for line in lined_up(steps, folder):
            gap = "  " if len(before) >= width and not indent else ""
            yield (LABEL, f"  {before:<{width}}"), ("", f"{gap}{indent}{printable(line)}")
            before = ""


def rows(site: Site) -> Iterator[Row]:
    """The rows of every way to a site; what two ways share is said once."""
    ways: dict[tuple[tuple[Step, ...], tuple[Step, ...]], list[Fact]] = {}
    for fact in site.facts:
        ways.setdefault((fact.context, fact.branch), []).append(fact)
    said = {NO_DTYPE} if any(isinstance(fact, LossArithmetic) for fact in site.facts) else set()
    for (context, branch), facts in list(ways.items())[:MOST_WAYS]:
        yield from (Row(label, chain=steps) for label, steps in (("through", context), ("where", branch)) if steps)
        new = dict.fromkeys(row for fact in facts for row in _of(fact) if row not in said)
        said.update(new)
        yield from new
    if len(ways) > MOST_WAYS:
        yield Row("...", f"{len(ways) - MOST_WAYS} more ways lead here")


def _of(fact: Fact) -> Iterator[Row]:
    """The rows of one fact."""
    match fact:
        case Loss():
            yield _layer(fact.layer)
            yield _index("skips", fact.ignore_index, _stands(fact), DEFAULT if fact.is_default else "")
            yield from _job(fact.end_of_texts or fact.job)
            yield from _targets(fact.targets)
            yield NO_DTYPE
        case CtcLoss():
            yield _layer(fact.layer)
            yield _index("blank", fact.blank, _stands(fact), DEFAULT if fact.is_default else "")
            yield from _job(fact.job)
            yield NO_DTYPE
        case Metric():
            yield _layer(fact.layer)
            yield _number("declared", fact.declared)
            yield _index("skips", fact.ignore_index, _stands(fact), "")
            yield from _job(fact.job)
        case LossInput():
            yield _input(fact)
        case LossArithmetic():
            yield _format(fact)
        case Optimizer():
            yield from _optimizer(fact)
        case _:
            yield from _fields(fact)


def _layer(layer: Layer | Unknown) -> Row:
    if isinstance(layer, Unknown):
        return Row("head", why=layer)
    classes = layer.classes
    text = f"{layer.name}, {classes} classes"
    return Row("head", text, layer.evidence, classes.assumed, number=classes.number)


def _number(label: str, number: Integer | Unknown) -> Row:
    if isinstance(number, Unknown):
        return Row(label, why=number)
    return Row(label, str(number), number.evidence, number.assumed, number=number.number)


def _stands(fact: Loss | CtcLoss | Metric) -> str:
    """Where the index of a fact stands against the classes."""
    if not isinstance(fact.position, Unknown):
        return fact.position.value
    settled = not isinstance(fact, Metric) and fact.is_settled
    return "no class is lost wherever it stands" if settled else "position open"


def _index(label: str, index: Integer | Unknown, stands: str, given: str) -> Row:
    row = _number(label, index)
    if isinstance(index, Unknown):
        return row
    return replace(row, text=f"{row.text}{given}, {stands}")


def _job(job: Job | Unknown | None) -> Iterator[Row]:
    if isinstance(job, Unknown):
        yield Row("class", why=job)
    elif job is not None:
        yield Row("class", f"{job.title}: {job.role.value}, {KNOWN_BY[job.proof]}", job.evidence)


def _targets(targets: Targets | Unknown) -> Iterator[Row]:
    if isinstance(targets, Unknown):
        yield Row("targets", why=targets)
        return
    parts = []
    if targets.lowest is not None and targets.highest is not None:
        parts.append(f"{targets.lowest} to {targets.highest}{', drawn at random' if targets.drawn else ''}")
    if targets.values:
        parts.append(f"of {', '.join(map(str, targets.values))}")
    if targets.appended:
        parts.append(f"closed by {', '.join(map(str, targets.appended))}")
    parts += [f"{fill.how} {fill.value}" for fill in targets.fills]
    fills = tuple(Step(f"{fill.how} {fill.value}", fill.where) for fill in targets.fills)
    yield Row("targets", "; ".join(parts) or "traced, their values are not known", (*targets.evidence, *fills))


def _input(fact: LossInput) -> Row:
    wants = f"the loss wants {fact.wants.value}"
    if isinstance(fact.reaches, Unknown):
        return Row("input", wants, why=fact.reaches)
    return Row("input", f"{_meant(fact.reaches)}; {wants}", (fact.reaches.step,), number=fact.classes)


def _format(fact: LossArithmetic) -> Row:
    """In which format a loss is computed: that of what it is given, unless what surrounds it says otherwise."""
    if isinstance(fact.logits, Unknown) or isinstance(fact.arithmetic, Unknown):
        why = fact.logits if isinstance(fact.logits, Unknown) else fact.arithmetic
        return Row("dtype", why=why if isinstance(why, Unknown) else None)
    row, computed = _stored("dtype", fact.logits), fact.arithmetic
    return row if computed is fact.logits.dtype else replace(row, text=f"{row.text}, computed in {computed.value}")


def _optimizer(fact: Optimizer) -> Iterator[Row]:
    yield _stored("weights", fact.weights)
    yield from (_real(label, number) for label, number in (("lr", fact.lr), ("wd", fact.decay)))
    for label, number in (("eps", fact.eps), ("beta2", fact.second)):
        if number is not None:
            yield _real(label, number)
    state = fact.state
    yield Row("state", why=state) if isinstance(state, Unknown) else Row("state", state.value)
    if fact.compensation is not None or fact.doubt:
        yield Row("keeps", fact.compensation.value if fact.compensation else fact.doubt)


def _stored(label: str, weights: Storage | Unknown) -> Row:
    if isinstance(weights, Unknown):
        return Row(label, why=weights)
    return Row(label, weights.dtype.value, weights.evidence, weights.assumed)


def _real(label: str, number: Real | Unknown) -> Row:
    if isinstance(number, Unknown):
        return Row(label, why=number)
    return Row(label, f"{number.number:g}", number.evidence, number.assumed)


def _meant(activation: Activation) -> str:
    return f"{activation.form.value} {'of' if activation.is_layer else 'by'} {activation.name}"


def _fields(fact: Fact) -> Iterator[Row]:
    """A fact that has no words of its own here: its fields as they are called."""
    for field in fields(fact):
        value: object = getattr(fact, field.name)
        if field.name in OWN or not value:
            continue
        match value:
            case Unknown():
                yield Row(field.name, why=value)
            case Integer():
                yield _number(field.name, value)
            case tuple() if all(isinstance(each, Step) for each in value):
                yield Row(field.name, chain=value)
            case Step():
                yield Row(field.name, chain=(value,))
            case Activation():
                yield Row(field.name, _meant(value), (value.step,))
            case _ if words := _words(value):
                yield Row(field.name, words, getattr(value, "evidence", ()))


def _words(value: object) -> str:
    """Nothing for a place to write a fix or a record for programs: they hold nothing that is believed of a site."""
    match value:
        case Enum():
            return str(value.value)
        case tuple():
            return ", ".join(filter(None, map(_words, value)))
        case Span():
            return ""
        case _ if is_dataclass(value) and type(value).__str__ is object.__str__:
            return str(getattr(value, "name", ""))
        case _:
            return str(value)


def _columns(site: Site, folder: str) -> tuple[str, ...]:
    """What an inventory says of a site, by the first way that leads there."""
    name, classes = _head(site)
    index, position = _sentinel(site)
    codes = dict.fromkeys(finding.code for finding in site.findings)
    verdict = " ".join([site.verdict, *codes])
    return name, classes, site.title, index, position, _dtype(site), verdict, place(site.call, folder)


def _dtype(site: Site) -> str:
    """The format of the weights that are trained, or in which a loss is computed."""
    for fact in site.facts:
        if isinstance(fact, Optimizer):
            return OPEN if isinstance(fact.weights, Unknown) else fact.weights.dtype.value
        if isinstance(fact, LossArithmetic):
            return OPEN if isinstance(fact.arithmetic, Unknown) else fact.arithmetic.value
    return UNSEEN


def _head(site: Site) -> tuple[str, str]:
    """The layer and its classes: as the loss knows it, else as its input shows it."""
    for fact in site.facts:
        layer = getattr(fact, "layer", None)
        if isinstance(layer, Layer):
            return layer.name, str(layer.classes)
    for fact in site.facts:
        if isinstance(fact, LossInput) and isinstance(fact.reaches, Activation):
            return fact.reaches.name, str(fact.classes or OPEN)
    missing = UNSEEN if all(isinstance(fact, Optimizer) for fact in site.facts) else OPEN
    return missing, missing


def _sentinel(site: Site) -> tuple[str, str]:
    """What is skipped, and where that stands."""
    for fact in site.facts:
        if isinstance(fact, Loss | CtcLoss | Metric):
            index = fact.blank if isinstance(fact, CtcLoss) else fact.ignore_index
            position = fact.position
            return (
                OPEN if isinstance(index, Unknown) else str(index),
                OPEN if isinstance(position, Unknown) else position.value,
            )
    return UNSEEN, UNSEEN


def _site(site: Site, folder: str) -> dict[str, object]:
    return {
        **located(site.call, folder),
        "what": site.title,
        "verdict": site.verdict,
        "findings": [_finding(each) for each in site.findings],
        "unjudged": [{"what": each.question, **_why(each.why)} for each in site.unjudged],
        "ways": [_way_of(fact, folder) for fact in site.facts],
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {"code": finding.code, "severity": finding.severity.value, "message": finding.message}


def _way_of(fact: Fact, folder: str) -> dict[str, object]:
    rows = {row.label: _known(row, folder) for row in _of(fact)}
    return {"through": _chain(fact.context, folder), "where": _chain(fact.branch, folder), **rows}


def _known(row: Row, folder: str) -> dict[str, object]:
    worth = Worth(row.text, row.why, row.chain, row.assumed)
    return {**_worth(worth, folder), "number": row.number}


def _worth(worth: Worth, folder: str) -> dict[str, object]:
    return {
        "text": worth.text,
        **_why(worth.why),
        "chain": _chain(worth.chain, folder),
        "assumed": _chain(worth.assumed, folder),
        "through": _chain(worth.context, folder),
    }


def _why(why: Unknown | None) -> dict[str, object]:
    return {"why": why.reason if why else None, "settle": (why.settle or None) if why else None}


def _chain(steps: Iterable[Step], folder: str) -> list[dict[str, object]]:
    return [{"message": step.text, **located(step.where, folder)} for step in steps]
