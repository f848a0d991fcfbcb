"""``with trainlint.probe.watch():`` in code and notebooks: what happens inside is watched, and judged at the end."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

from trainlint.finding import Finding
from trainlint.lint import lint
from trainlint.probe import launch
from trainlint.probe.attach import Attachment
from trainlint.probe.conclusions import facts, unobserved
from trainlint.probe.guard import guarded, noted
from trainlint.probe.record import Record
from trainlint.probe.session import EVERY, Session, Settings
from trainlint.rule import installed


class Watch:
    """Losses, optimizer steps and modes from ``__enter__`` to ``__exit__``.

    After the block ``findings`` is what the rules say, ``unobserved`` what could not be seen, ``record`` the numbers.
    A ``report`` folder also gets them on the disk, for ``trainlint probe report``. An exception in the block passes.
    """

    def __init__(self, every: int = EVERY, report: str | os.PathLike[str] | None = None) -> None:
        self._folder = Path(report) if report is not None else None
        self._session = Session(Settings(every, None, self._folder))
        self._attachment = Attachment(self._session)
        self.record = Record()
        self.findings: list[Finding] = []
        self.unobserved: list[str] = []

    def __enter__(self) -> Watch:
        if self._folder is not None:
            launch.prepare(self._folder)
        self._attachment.attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._attachment.detach()
        self._session.complete = error is None
        self._conclude()
        for line in self.lines():
            print(line, file=sys.stderr)

    @guarded("judging what was seen")
    def _conclude(self) -> None:
        self._session.save()
        self.record = self._session.record()
        self.findings = lint(facts(self.record), [rule for rule in installed().values() if rule.on])
        self.unobserved = list(unobserved(self.record))

    def lines(self) -> list[str]:
        """What is to be said, one line each."""
        found = [
            f"{each.where}: {each.severity.value} {each.code} {each.name}: {each.message}" for each in self.findings
        ]
        missed = [f"trainlint: not observed: {each}" for each in self.unobserved]
        failed = [f"trainlint: the probe failed: {each}" for each in noted(self._session.began)]
        return [*found, *missed, *failed]
