"""What one run on a project leaves for the next: its report, and its verdicts, each with the files it rests on.

A report holds as long as no file is another. Verdicts hold one by one: what changed since takes along those that rest
on it. Both hold for one version of the engine, of the rules and of Python, and for the same settings.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from trainlint import cache as folder_of
from trainlint.codec import NotPlain, classes_of, decoded, encoded
from trainlint.engine import engine
from trainlint.record import replace
from trainlint.report import Report
from trainlint.rule import Rule
from trainlint.source import Observer, read
from trainlint.source.stamps import Ledger, Seen, stamp

JUDGING = (
    *(f"trainlint.facts.{name}" for name in (
        "fact", "copies", "distillation", "effects", "loop", "precision", "runs", "selection", "targets", "tool",
    )),
    "trainlint.value", "trainlint.span", "trainlint.source.journal", "trainlint.source.verdicts",
)  # fmt: skip
"""The modules of whose data verdicts are made."""

REPORTING = (
    "trainlint.report",
    "trainlint.finding",
    "trainlint.identity",
    "trainlint.facts.fact",
    "trainlint.value",
    "trainlint.span",
)
"""The modules of whose data a report is made."""

FEW_FILES = 8
"""Files that are another than when verdicts were kept; with more of them, verdicts are kept anew."""

LinesOf = Callable[[str], Mapping[int | None, Sequence[str]]]
"""The lines of a file, by cell where it is a notebook."""

Kept = tuple[tuple[str, ...], dict[str, Seen], Any]
"""The files of a project, all that was read as it was then, and what was made of it."""


class Keep:
    """What is kept of one project for one request: ``settings`` decide of the verdicts, ``request`` of the report too.

    Whatever is wrong with the folder or with what lies in it, there is nothing to be had, and nothing else happens.
    """

    def __init__(
        self, folder: str, root: str, files: Sequence[str], settings: object, request: object, lines: LinesOf
    ) -> None:
        self._lines = lines
        self._folder, self._root, self._files = folder, root, tuple(files)
        self._report = f"{_short(root)}-{_short(repr((settings, request)))}"
        self._verdicts = f"{_short(root)}-{_short(repr(settings))}-verdicts"
        self._renewed: dict[str, Seen] = {}
        self._others = 0
        self._seen: dict[str, Seen] = {}
        self.ledger = Ledger(read)
        self.packs: tuple[str, ...] = ()
        """The folders of the rules that spoke in the report."""
        self.seen: Mapping[str, Seen] = {}
        """All files that the report rests on, as they were."""

    def report(self) -> Report | None:
        """The report of the last run, if nothing changed since."""
        found = self._found(self._report)
        if found is None or found[0] != self._files or any(self._is_other(*each) for each in found[1].items()):
            return None
        _, seen, (packs, paths, plain) = found
        report = _decoded(plain, REPORTING)
        self.packs, self.seen = packs, {**seen, **self._renewed}
        if self._renewed:
            self._write(self._report, packs, (dict(self.seen), (packs, paths, plain)))
        return replace(report, lines=Lines(paths, self._lines)) if isinstance(report, Report) else None

    def restore(self, observer: Observer) -> None:
        """Tell an observer what the last run knew, and what has changed since."""
        found = self._known()
        if found is None:
            return
        files, seen, (sifted, known) = found
        others = {path for path, each in seen.items() if self._is_other(path, each)}
        self._seen = {path: self._renewed.get(path, each) for path, each in seen.items() if path not in others}
        self._others = sum(each != seen.get(path) for path, each in self._renewed.items())
        observer.restore(files, sifted, known)
        observer.change(observer.project, others)

    def write(self, report: Report, observer: Observer, rules: Iterable[Rule]) -> None:
        """Keep a report, and what its observer knows."""
        self.packs, self.seen = packs, seen = _packs(rules), {**self._seen, **self.ledger.seen}
        with suppress(NotPlain):
            plain = encoded(replace(report, lines={}))
            self._write(self._report, packs, (seen, (packs, tuple(report.lines), plain)))
            # To judge a little again takes less time than to write all down, after each of many small edits.
            if self.ledger.seen and (self._others > FEW_FILES or observer.has_done_much):
                self._write_verdicts(observer, packs, seen)

    def add(self, observer: Observer, rules: Iterable[Rule]) -> None:
        """Keep what an observer knows, with what another one of the same files has left meanwhile."""
        seen = {**self._seen, **self.ledger.seen}
        found = self._known()
        others = found[1] if found and found[0] == self._files else {}
        if found and others and all(others[path][1] == seen[path][1] for path in others.keys() & seen):
            observer.join(*found[2])
            seen = {**others, **seen}
        with suppress(NotPlain):
            self._write_verdicts(observer, _packs(rules), seen)

    def _write_verdicts(self, observer: Observer, packs: tuple[str, ...], seen: Mapping[str, Seen]) -> None:
        sifted, known = observer.kept()
        kept = (sifted, None, None) if known is None else (sifted, encoded(known[0]), known[1])
        self._write(self._verdicts, packs, (dict(seen), kept))

    def _known(self) -> Kept | None:
        """The files of the project, how those that were read were, and what an observer knew of them."""
        found = self._found(self._verdicts)
        if found is None:
            return None
        files, seen, (sifted, plain, tables) = found
        units = None if plain is None else _decoded(plain, JUDGING)
        if plain is not None and not isinstance(units, dict):
            return None
        return files, seen, (sifted, None if units is None else (units, tables))

    def _is_other(self, path: str, before: Seen) -> bool:
        """Whether a file changed; one that did not, and has another stamp, is noted with that."""
        if path in self._renewed:
            return self._renewed[path][1] != before[1]
        now = stamp(path)
        if now == before[0] and now is not None:
            return False
        self.ledger.read(path)
        self._renewed[path] = self.ledger.seen.pop(path)
        return self._renewed[path][1] != before[1]

    def _found(self, name: str) -> Kept | None:
        value = folder_of.read(self._folder, name)
        match value:
            case (str(made_by), tuple(packs), tuple(files), dict(seen), what) if made_by == _engine(packs):
                return files, seen, what
        return None

    def _write(self, name: str, packs: tuple[str, ...], what: tuple[dict[str, Seen], object]) -> None:
        folder_of.write(self._folder, name, (_engine(packs), packs, self._files, *what))


class Lines(Mapping[str, Mapping[int | None, Sequence[str]]]):
    """The lines of the files that findings stand in, read when somebody quotes from them."""

    def __init__(self, paths: tuple[str, ...], text: LinesOf) -> None:
        self._paths, self._text = paths, cache(text)

    def __getitem__(self, path: str) -> Mapping[int | None, Sequence[str]]:
        if path not in self._paths:
            raise KeyError(path)
        return self._text(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _decoded(plain: object, modules: Sequence[str]) -> object:
    """What was encoded; None where that was another version's, or nothing of the kind."""
    try:
        return decoded(plain, classes_of(map(import_module, modules)))
    except NotPlain:
        return None


@cache
def _engine(packs: Sequence[str]) -> str:
    return _short(repr(engine(packs)))


def _packs(rules: Iterable[Rule]) -> tuple[str, ...]:
    """The folders of the packs that these rules come from."""
    return tuple(sorted({_folder_of(rule) for rule in rules}))


def _folder_of(rule: Rule) -> str:
    """The folder of the pack that a rule comes from."""
    return os.path.dirname(os.path.abspath(getattr(sys.modules[rule.check.__module__], "__file__", None) or ""))


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
