"""What is believed of a place in, the text that an editor shows beside it out, as Markdown or plain."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from trainlint.regex import regex
from trainlint.report import filename, reason
from trainlint.report.resolution import Resolution, Row, Site, rows
from trainlint.server.places import uri_of
from trainlint.span import Span
from trainlint.value import Settled, Step, Worth

LINK = regex(r"\[([^]]*)\]\(file:[^)]*\)")


def told(resolution: Resolution, at: Span, folder: str) -> tuple[Span, str] | None:
    """What stands at a place and what it is worth, with the lines behind it; None where nothing is known.

    The innermost name counts, and the loss or another call that is judged, where its own name or its sentinel is meant
    or nothing is known of what is.
    """
    names = sorted((name for name in resolution.names if holds(name.where, at)), key=_size)
    sites = [site for site in resolution.sites if holds(site.call, at)]
    near = [site for site in sites if not names or any(holds(span, at) for span in _own(site))]
    parts = [*(_name(name, folder) for name in names[:1]), *(_site(site, folder) for site in near)]
    where = names[0].where if names else near[0].call if near else at
    return (where, "\n\n---\n\n".join(parts)) if parts else None


def holds(span: Span, at: Span) -> bool:
    """Whether a place begins in a stretch, or right behind it."""
    start, place, end = (span.row, span.column), (at.row, at.column), (span.end_row, span.end_column)
    return (span.path, span.cell) == (at.path, at.cell) and start <= place <= end


def plain(text: str) -> str:
    """Markdown of ours without its marks.

    >>> plain("**loss**: `CODES = 64` [sizes.py:1](file:///project/sizes.py#L1)")
    'loss: CODES = 64 sizes.py:1'
    """
    return LINK.sub(r"\1", text).replace("**", "").replace("`", "").replace("\n---\n", "\n")


def _size(name: Settled) -> tuple[int, int]:
    where = name.where
    return where.end_row - where.row, where.end_column - where.column


def _own(site: Site) -> Iterator[Span]:
    """Where a call says what it is, and what it skips."""
    for fact in site.facts:
        yield fact.argument
    yield Span(site.call.path, site.call.row, site.call.column, site.call.row, site.call.column, site.call.cell)


def _name(name: Settled, folder: str) -> str:
    return "\n\n".join("\n".join(_worth(name.name, worth, folder)) for worth in name.worths)


def _worth(name: str, worth: Worth, folder: str) -> Iterator[str]:
    row = Row("", worth.text, worth.chain, worth.assumed, worth.why)
    yield f"{_code(name)} = {row.told}" if row.told else _code(name)
    yield from _row(row, folder)
    if worth.context:
        yield "- through"
        yield from _steps(worth.context, folder, "  ")


def _site(site: Site, folder: str) -> str:
    lines = [f"**{site.title}**: {site.verdict}", ""]
    lines += [f"- **{each.severity.value} {each.code}** {each.message}" for each in site.findings]
    lines += [f"- not judged, {each.question}: {reason(each.why)}" for each in site.unjudged]
    for row in rows(site):
        lines += [f"- {row.label}: {row.told}" if row.told else f"- {row.label}"]
        lines += [f"  {line}" for line in _row(row, folder)]
    return "\n".join(lines)


def _row(row: Row, folder: str) -> Iterator[str]:
    yield from _steps(row.chain, folder, "")
    if row.assumed:
        yield "- assumed"
        yield from _steps(row.assumed, folder, "  ")


def _steps(steps: Sequence[Step], folder: str, indent: str) -> Iterator[str]:
    for step in steps:
        cell = f" cell {step.where.cell}" if step.where.cell else ""
        name = f"{os.path.basename(filename(step.where.path, folder))}{cell}:{step.where.row}"
        yield f"{indent}- {_code(step.text)} [{name}]({uri_of(step.where.path)}#L{step.where.row})"


def _code(text: str) -> str:
    """A piece of code in a line of Markdown; one that holds the mark of code gets a longer one."""
    flat = " ".join(text.split())
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"
