"""Findings that a project has agreed to live with for now: a file of them in, and what is new or gone out.

One finding a line, as JSON, sorted: a review reads it, and two branches that add to it merge. Reads and writes that
one file and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from trainlint.finding import Finding, Severity
from trainlint.identity import Entry, Identity
from trainlint.record import record, replace
from trainlint.span import Span

NAME = "trainlint-baseline.jsonl"
"""What the file is called where nothing else is said."""

HEAD = {"trainlint baseline": 1}
"""The first line; the number grows when an older trainlint would misread the rest."""

LARGEST = 64 * 2**20
"""Bytes from which it is something else."""

CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")


class BaselineError(ValueError):
    """A baseline that cannot be read or written; the message names the file, and the line."""


@record
class Baseline:
    """What one file holds; its entries name files from the folder that it lies in."""

    path: str
    entries: tuple[Entry, ...] = ()

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    def named(self, path: str) -> str:
        """A path as an entry names it."""
        return os.path.relpath(path, self.folder).replace(os.sep, "/")

    def located(self, entry: Entry) -> str:
        """The absolute path of an entry's file."""
        return os.path.normpath(os.path.join(self.folder, entry.identity.file))

    def known(self, identities: Mapping[Finding, Identity]) -> dict[Finding, Entry]:
        """The findings among these that are written down, unless they got worse since."""
        entries = {entry.identity: entry for entry in self.entries}
        there = ((finding, entries.get(self._own(finding, each))) for finding, each in identities.items())
        return {finding: entry for finding, entry in there if entry and finding.severity.rank >= entry.severity.rank}

    def gone(self, identities: Mapping[Finding, Identity]) -> list[Entry]:
        """The entries that are none of these findings."""
        there = {self._own(finding, each) for finding, each in identities.items()}
        return [entry for entry in self.entries if entry.identity not in there]

    def entry(self, finding: Finding, identity: Identity) -> Entry:
        """A finding as it is written down here."""
        return Entry(self._own(finding, identity), finding.severity, finding.message, Span(self.path, 1))

    def _own(self, finding: Finding, identity: Identity) -> Identity:
        return replace(identity, file=self.named(finding.where.path))


def read(path: str) -> Baseline:
    """The entries of a file, each once.

    Raises:
        BaselineError: there is no such file, it cannot be read, or a line of it is none of a baseline.
    """
    try:
        if os.path.getsize(path) > LARGEST:
            raise BaselineError(f"{path}: larger than {LARGEST // 2**20} MB, so it is not read as a baseline")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError as error:
        raise BaselineError(f"{path}: no such baseline; `trainlint baseline write` makes one") from error
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BaselineError(f"{path}: no baseline: not UTF-8") from error
    entries = {entry.identity: entry for entry in _entries(path, lines)}
    return Baseline(path, tuple(entries.values()))


def write(baseline: Baseline) -> None:
    """Write the entries, sorted.

    Raises:
        BaselineError: the system refuses.
    """
    import json

    lines = [json.dumps(HEAD), *map(_line, sorted(baseline.entries, key=_order))]
    try:
        with open(baseline.path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise BaselineError(f"{baseline.path}: {error.strerror}") from error


def merged(entries: Iterable[Entry], others: Iterable[Entry]) -> tuple[Entry, ...]:
    """Both, each identity once; the first ones weigh more."""
    return tuple({entry.identity: entry for entry in (*others, *entries)}.values())


def _order(entry: Entry) -> tuple[object, ...]:
    each = entry.identity
    return each.file, each.within, each.code, each.text, each.distinct, each.nth


def _line(entry: Entry) -> str:
    """The file and the code first: they are what a reader looks for."""
    each = entry.identity
    table: dict[str, object] = {"file": each.file, "in": each.within, "code": each.code}
    table |= {"severity": entry.severity.value, "message": entry.message, "text": each.text}
    if each.distinct:
        table["distinct"] = list(each.distinct)
    if each.nth > 1:
        table["nth"] = each.nth
    import json

    return json.dumps(table, ensure_ascii=False)


def _entries(path: str, lines: Sequence[str]) -> Iterator[Entry]:
    """Blank lines, another order and lines that are there twice do no harm: they come of merging."""
    has_head = False
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if line.startswith(CONFLICT):
            raise BaselineError(f"{path}:{row}: a merge left its marks here; keep the lines of both sides")
        table = _table(path, row, line)
        if set(table) == set(HEAD):
            _require_known(path, row, table)
            has_head = True
        elif not has_head:
            import json

            raise BaselineError(f"{path}:{row}: no baseline: the first line should be {json.dumps(HEAD)}")
        else:
            yield _entry(path, row, table)
    if not has_head:
        raise BaselineError(f"{path}: no baseline: it is empty")


def _table(path: str, row: int, line: str) -> dict[str, object]:
    import json

    try:
        table = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{path}:{row}: no entry of a baseline: not valid JSON") from error
    if not isinstance(table, dict):
        raise BaselineError(f"{path}:{row}: no entry of a baseline: not a JSON object")
    return table


def _require_known(path: str, row: int, table: Mapping[str, object]) -> None:
    if table != HEAD:
        (version,) = table.values()
        raise BaselineError(f"{path}:{row}: a baseline of version {version}, and this trainlint reads version 1")


def _entry(path: str, row: int, table: Mapping[str, object]) -> Entry:
    match table:
        case {
            "file": str(file),
            "in": str(within),
            "code": str(code),
            "severity": "error" | "warning" | "note" as severity,
            "message": str(message),
            "text": str(text),
        }:
            distinct, nth = table.get("distinct", []), table.get("nth", 1)
            if isinstance(distinct, list) and all(isinstance(each, str) for each in distinct) and isinstance(nth, int):
                identity = Identity(code, file, within, text, tuple(distinct), nth)
                return Entry(identity, Severity(severity), message, Span(path, row))
    keys: Collection[str] = ("file", "in", "code", "severity", "message", "text")
    missing = [key for key in keys if key not in table]
    why = f"no {', '.join(missing)}" if missing else "a value of the wrong kind"
    raise BaselineError(f"{path}:{row}: no entry of a baseline: {why}")
