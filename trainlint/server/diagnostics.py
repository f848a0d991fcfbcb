"""Findings in, what an editor shows of them out: diagnostics by document, with the lines that prove them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from lsprotocol import types

from trainlint.check import text_of
from trainlint.facts import UnusedSuppression
from trainlint.finding import Finding, Severity
from trainlint.report import inside
from trainlint.rule import installed
from trainlint.server.places import units, uri_of
from trainlint.server.work import Look
from trainlint.source.text import Fault
from trainlint.span import Span

SOURCE = "trainlint"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
NOWHERE = types.Range(types.Position(0, 0), types.Position(0, 0))


class Atlas:
    """Where places of the code are for an editor: in the documents it holds, else in the files."""

    def __init__(self, look: Look, encoding: str) -> None:
        self._look, self._encoding = look, encoding
        self._lines: Callable[[str], Mapping[int | None, Sequence[str]]] = cache(self._read)

    def location(self, span: Span) -> types.Location:
        """A place; the top of the file where it is in a cell that is no document of its own."""
        opened = self._look.opened.get(span.path)
        if opened is None or span.cell not in opened.buffers:
            return types.Location(uri_of(span.path), NOWHERE if span.cell else self._range(span))
        return types.Location(opened.buffers[span.cell].uri, self._range(span))

    def is_inside(self, span: Span) -> bool:
        """Whether a place is in a cell that the editor knows nothing of."""
        opened = self._look.opened.get(span.path)
        return span.cell is not None and (opened is None or span.cell not in opened.buffers)

    def _range(self, span: Span) -> types.Range:
        return types.Range(
            self._position(span, span.row, span.column), self._position(span, span.end_row, span.end_column)
        )

    def _position(self, span: Span, row: int, column: int) -> types.Position:
        lines = self._lines(span.path).get(span.cell, ())
        text = lines[row - 1] if row <= len(lines) else ""
        return types.Position(row - 1, units(text[: column - 1], self._encoding))

    def _read(self, path: str) -> Mapping[int | None, Sequence[str]]:
        opened = self._look.opened.get(path)
        if opened:
            return {cell: buffer.lines for cell, buffer in opened.buffers.items()}
        data = self._look.data(path)
        return {} if isinstance(data, Fault) else text_of(path, {path: data}).lines


def shown_by(client: types.ClientCapabilities) -> types.PublishDiagnosticsClientCapabilities:
    """What an editor shows of a diagnostic."""
    shows = client.text_document and client.text_document.publish_diagnostics
    return shows or types.PublishDiagnosticsClientCapabilities()


def diagnostics(
    look: Look, atlas: Atlas, shows: types.PublishDiagnosticsClientCapabilities
) -> Mapping[str, list[types.Diagnostic]]:
    """What is to be shown in each document; open ones without findings are there too. ``shows`` is what can be."""
    found: dict[str, list[types.Diagnostic]] = defaultdict(list)
    for file in look.opened.values():
        if file.is_code:
            found.update({buffer.uri: [] for buffer in file.buffers.values()})
    for finding in look.findings:
        found[atlas.location(finding.where).uri].append(diagnostic(finding, atlas, shows))
    return found


def diagnostic(finding: Finding, atlas: Atlas, shows: types.PublishDiagnosticsClientCapabilities) -> types.Diagnostic:
    """One finding; its proof stands in its text where an editor shows nothing else."""
    steps = [*finding.because, *finding.assumed]
    related = [types.DiagnosticRelatedInformation(atlas.location(step.where), step.text) for step in steps]
    parts = [finding.message, finding.consequence]
    if not shows.related_information:
        parts += [f"because {step.text} ({step.where})" for step in steps]
    parts += [f"help: {finding.help}"] if finding.help else []
    prefix = inside(finding.where) if atlas.is_inside(finding.where) else ""
    tags = [types.DiagnosticTag.Unnecessary] if shows.tag_support and finding.code in _idle() else None
    return types.Diagnostic(
        atlas.location(finding.where).range,
        prefix + "\n".join(filter(None, parts)),
        severity=SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        tags=tags,
        related_information=related if related and shows.related_information else None,
    )


@cache
def _idle() -> frozenset[str]:
    """The rules that find what may go because it does nothing."""
    return frozenset(rule.code for rule in installed().values() if rule.wants is UnusedSuppression)
