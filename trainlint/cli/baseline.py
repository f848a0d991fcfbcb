"""``trainlint baseline``: what is found now in, a file of known findings written, cleared or shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from trainlint import baseline, config
from trainlint.baseline import Baseline, BaselineError
from trainlint.check import check, scopes
from trainlint.cli import UsageError, complain
from trainlint.cli.check import layers, requested, stale
from trainlint.cli.options import CHECK, Command, Said
from trainlint.cli.output import COLOURS, choice
from trainlint.cli.output import write as print_lines
from trainlint.config import ConfigError, Layer
from trainlint.finding import Finding
from trainlint.identity import Entry
from trainlint.record import dataclass, replace
from trainlint.report import Report, filename, place, text
from trainlint.rule import installed
from trainlint.selection import UnknownSelector, always_runs

HELP = "Live with the findings of today and hear of new ones only: a file of known findings."

OPTIONS = tuple(
    option
    for option in CHECK.options
    if option.name
    in {
        *("select", "ignore", "extend-select", "extend-ignore", "per-file-ignores", "exclude", "extend-exclude"),
        *("define", "config", "isolated", "baseline", "jobs", "color"),
    }
)


def _command(name: str, help: str) -> Command:
    paths = "Files and folders; without any, the src of the settings, else the working directory."
    return Command(name, help, "paths", paths, OPTIONS, "trainlint.cli.baseline", function=name)


COMMANDS = {
    command.name: command
    for command in (
        _command("write", "Write down what is found now, and forget what is not found any more."),
        _command("prune", "Forget what is not found any more, and write down nothing new."),
        _command("show", "Show what is written down: where each finding stands now, and what is stale."),
    )
}


@dataclass(frozen=True)
class Compared:
    """A project beside its baseline: what the file held, and what is found now; ``is_named`` if a setting names it."""

    before: Baseline
    report: Report
    is_named: bool = True

    @property
    def kept(self) -> Iterator[Entry]:
        """The entries that are not stale."""
        return (entry for entry in self.before.entries if entry not in self.report.stale)


def write(paths: tuple[str, ...], said: Said) -> int:
    """Write down every finding of these paths; what was written down of others stays."""
    return max(map(_write, _compared(paths, said)), default=0)


def prune(paths: tuple[str, ...], said: Said) -> int:
    """Remove the entries that nothing is found for."""
    return max(map(_prune, _compared(paths, said)), default=0)


def show(paths: tuple[str, ...], said: Said) -> int:
    """Print every known finding at its place of now, and the stale entries."""
    folder, status = os.getcwd(), 0
    for each in _compared(paths, said):
        known = replace(each.report, findings=each.report.baselined)
        print_lines(text.concise(known, folder), "", choice(said, "color", COLOURS))
        for line in stale(each.report, folder):
            print(line)
        told = f"{_count(len(each.report.baselined))} known, {len(each.report.stale)} stale"
        print(f"{filename(each.before.path, folder)}: {told}")
        status = max(status, _complained(each))
    return status


def _write(each: Compared) -> int:
    folder, report = os.getcwd(), each.report
    constant = {rule.code for rule in installed().values() if always_runs(rule)}
    found = [finding for finding in (*report.findings, *report.baselined) if finding.code not in constant]
    entries = [each.before.entry(finding, report.identities[finding]) for finding in found]
    after = replace(each.before, entries=baseline.merged(entries, each.kept))
    _to_disk(after)
    new = len({entry.identity for entry in entries} - {entry.identity for entry in each.before.entries})
    told = f"{_count(len(after.entries))} written down, {new} of them new, {len(report.stale)} forgotten"
    print(f"{filename(after.path, folder)}: {told}")
    if not each.is_named:
        print(f"to use it, set baseline = {os.path.basename(after.path)!r} in the settings, or give --baseline")
    return _complained(each)


def _prune(each: Compared) -> int:
    if not each.is_named:
        raise UsageError("which baseline? set one in the settings, or give --baseline FILE")
    after = replace(each.before, entries=tuple(each.kept))
    if each.report.stale:
        _to_disk(after)
    told = f"{len(each.report.stale)} forgotten, {_count(len(after.entries))} left"
    print(f"{filename(after.path, os.getcwd())}: {told}")
    return _complained(each)


def _count(number: int) -> str:
    return f"{number} finding{'s' * (number != 1)}"


def _to_disk(after: Baseline) -> None:
    try:
        baseline.write(after)
    except BaselineError as error:
        raise UsageError(str(error)) from error


def _complained(each: Compared) -> int:
    """Say what kept findings from being found: entries are then kept, whether or not they are stale."""
    constant = {rule.code for rule in installed().values() if always_runs(rule)}
    unread = [finding for finding in each.report.findings if finding.code in constant]
    for finding in unread:
        complain(f"{_where(finding)}: {finding.message}; so no entry is taken for stale")
    for fault in each.report.faults:
        complain(fault)
    return 2 if each.report.faults else int(bool(unread))


def _where(finding: Finding) -> str:
    return place(finding.where, os.getcwd())


def _compared(paths: tuple[str, ...], said: Said) -> Iterator[Compared]:
    """Each project of these paths beside its baseline."""
    folder = os.getcwd()
    try:
        given = tuple(layers(said, folder))
        here = config.nearest(folder) if "isolated" not in said else None
        settings = config.settings((*((here,) if here else ()), *given))
        request = requested(paths, said, given, settings.src)
        asked = [os.path.normpath(os.path.join(folder, path)) for path in request.paths]
        for path in asked:
            if not os.path.exists(path):
                raise UsageError(f"{filename(path, folder)}: no such file or folder")
        for scope in scopes(request, asked):
            named = scope.settings.baseline
            before = _before(named or os.path.join(scope.root, baseline.NAME))
            mine = Layer("command line", folder, {"baseline": before.path if os.path.exists(before.path) else ""})
            report = check(replace(request, paths=scope.asked, layers=(*given, mine)))
            yield Compared(before, report, bool(named))
    except (ConfigError, UnknownSelector, BaselineError) as error:
        raise UsageError(str(error)) from error


def _before(path: str) -> Baseline:
    return baseline.read(path) if os.path.exists(path) else Baseline(path)
