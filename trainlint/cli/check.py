"""``trainlint check``: what was said on the command line in, reports and an exit status out."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from trainlint import config
from trainlint.baseline import BaselineError
from trainlint.cache import users_folder
from trainlint.check import Basis, Request, Session, Shard
from trainlint.cli import Process, UsageError, again, complain
from trainlint.cli.options import COMMANDS, GROUPS, Said
from trainlint.cli.output import COLOURS, PROGRAMS, TOLD_APART, Output, choice, outputs, rendered, write
from trainlint.cli.progress import patience
from trainlint.config import ConfigError, Layer, Settings
from trainlint.record import replace
from trainlint.report import Report, filename, place, text
from trainlint.selection import UnknownSelector, did_you_mean
from trainlint.source.find import NO_PYTHON

MOST_STALE = 10
"""Stale entries that are told one by one."""

LISTS = ("select", "ignore", "extend-select", "extend-ignore", "exclude", "extend-exclude")
"""Options whose values are lists with commas, under the names that the settings have for them."""


def run(paths: tuple[str, ...], said: Said) -> int:
    """Check these paths, write the reports, and answer with the exit status."""
    if "watch" in said:
        from trainlint.cli.watch import watch

        return watch(paths, said, look)
    if not Process.ends_with_run:
        return look(paths, said, _once)
    # What is read stays to the end: a look for garbage would go through all of it, and to take it apart takes as long.
    gc.disable()
    status = look(paths, said, _to_the_end)
    gc.freeze()
    return status


def _once(request: Request) -> Session:
    return Session(request, is_once=True)


def _to_the_end(request: Request) -> Session:
    """A session that nothing ends but the process: it holds itself, and what is frozen is not looked through."""
    session = _once(request)
    held: list[object] = [session]
    held.append(held)
    return session


def look(paths: tuple[str, ...], said: Said, opened: Callable[[Request], Session]) -> int:
    """The same in a session that somebody opens."""
    folder = os.getcwd()
    _require_sense(said)
    wish = again.wish(paths, said, folder)
    try:
        given = tuple(layers(said, folder))
        here = config.nearest(folder) if "isolated" not in said else None
        settings = config.settings((*((here,) if here else ()), *given))
        wanted = outputs(settings.output_format)
        request = requested(paths, said, given, settings.src)
        if "show-files" in said or "show-settings" in said:
            from trainlint.cli.shown import show

            return show(request, said)
        with patience(said) as progress:
            session = opened(replace(request, tell=progress))
            report = session.report()
        if not {"diff", "fix", "add-ignore"}.isdisjoint(said):
            gc.enable()
        if "diff" in said or "fix" in said:
            from trainlint.cli import fix

            if "diff" in said:
                return fix.difference(request, report, said)
            report = fix.fixed(request, report, said)
        if "add-ignore" in said:
            from trainlint.cli import ignore

            report = ignore.added(request, report, _reason(said, settings))
    except (ConfigError, UnknownSelector, BaselineError) as error:
        raise UsageError(str(error)) from error
    tell = partial(_told, report, wanted, folder, said, () if paths else settings.src)
    rests = _rests(report, wanted, session.basis) if wish and request.cache else None
    return again.keep(wish, rests, request.cache, tell) if wish and rests else tell()


def _rests(report: Report, wanted: Sequence[Output], basis: Sequence[Basis]) -> again.Rests | None:
    """What the words of a run rest on; None where that is more than files and settings."""
    if report.faults or report.skipped or any(each.target or each.format in PROGRAMS for each in wanted):
        return None
    if len(basis) != len(report.roots) or any(each.scope.settings.baseline for each in basis):
        return None
    return again.Rests(
        tuple((each.scope.root, each.scope.asked, each.scope.settings.exclude, each.files.every) for each in basis),
        tuple(layer.origin for each in basis for layer in each.scope.layers if os.path.isabs(layer.origin)),
        {path: seen for each in basis for path, seen in each.seen.items()},
        tuple(sorted({pack for each in basis for pack in each.packs})),
    )


def _reason(said: Said, settings: Settings) -> str:
    reason = said["add-ignore"][-1].strip()
    if settings.require_reason and not reason:
        raise UsageError("the settings require a reason: --add-ignore='why'")
    if "#" in reason:
        raise UsageError("--add-ignore: a reason without #, which would start another comment")
    return reason


def _require_sense(said: Said) -> None:
    """Refuse options that mean nothing, or nothing together."""
    choice(said, "color", COLOURS)
    if not ("fix" in said or "diff" in said):
        for name in (name for name in ("unsafe-fixes", "show-fixes") if name in said):
            raise UsageError(f"--{name} needs --fix or --diff")


def requested(paths: tuple[str, ...], said: Said, given: tuple[Layer, ...], src: tuple[str, ...]) -> Request:
    """What is to be checked."""
    named = (*paths, *_listed(said))
    everything = not (named or "hook" in said or "files-from" in said)
    wanted = (src or (".",)) if everything else named
    folder = os.getcwd()
    return Request(
        wanted, folder, given, "isolated" in said, jobs(said), shard=_shard(said), cache=_cache(said, folder)
    )


def _cache(said: Said, folder: str) -> str:
    return "" if "no-cache" in said else kept_in(said, folder)


def kept_in(said: Said, folder: str) -> str:
    """The folder in which results are kept from one run to the next; nothing where none are."""
    return os.path.abspath(os.path.join(folder, said["cache-dir"][-1])) if "cache-dir" in said else users_folder()


def _listed(said: Said) -> Iterator[str]:
    """The paths that stand in the file of ``--files-from``, by line or, if it holds any, between null characters."""
    for name in said.get("files-from", ()):
        try:
            with open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-") as file:
                text = os.fsdecode(file.read())
        except OSError as error:
            raise UsageError(f"--files-from {name}: {error.strerror}") from error
        yield from filter(None, text.split("\0") if "\0" in text else text.splitlines())


def _shard(said: Said) -> Shard:
    value = said.get("shard", ("1/1",))[-1]
    number, _, total = value.partition("/")
    if not (number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total)):
        raise UsageError(f"--shard must be I/N with I from 1 to N, as in 2/4, not {value!r}")
    return Shard(int(number), int(total))


def _told(report: Report, wanted: Sequence[Output], folder: str, said: Said, src: Sequence[str]) -> int:
    """Write every report and every remark; the exit status that goes with them."""
    unwritten = [fault for each in wanted for fault in _written(each, report, folder, said)]
    _remark(report, folder, said, [each.format for each in wanted if not each.target], src)
    status = 0 if report.exit_code == 1 and "exit-zero" in said else report.exit_code
    return max((status, *map(complain, unwritten)))


def _written(output: Output, report: Report, folder: str, said: Said) -> Iterator[str]:
    """Write one report; why it could not be, if it could not: the others are still wanted."""
    try:
        write(rendered(output.format, report, folder, said), output.target, choice(said, "color", COLOURS))
    except UsageError as error:
        yield str(error)


def jobs(said: Said) -> int:
    jobs = said.get("jobs", ("1",))[-1]
    if not jobs.isdecimal() or not int(jobs):
        raise UsageError(f"--jobs must be a number of processes, not {jobs!r}")
    return int(jobs)


def layers(said: Said, folder: str) -> Iterator[Layer]:
    """The settings that the command line names or makes, in the order of their weight."""
    for value in said.get("config", ()):
        if os.path.isfile(value) and "isolated" in said:
            raise UsageError(f"--isolated ignores settings files, --config {value} names one")
        yield config.from_text(value, folder) if "=" in value and not os.path.isfile(value) else config.from_file(value)
    table: dict[str, object] = {name: _split(said[name]) for name in LISTS if name in said}
    if "fail-on" in said:
        table["fail-on"] = said["fail-on"][-1]
    if "force-exclude" in said:
        table["force-exclude"] = True
    if "output-format" in said:
        table["output-format"] = list(said["output-format"])
    if "baseline" in said:
        table["baseline"] = said["baseline"][-1]
    if "define" in said:
        table["values"] = dict(map(_number, said["define"]))
    if "per-file-ignores" in said:
        table["per-file-ignores"] = _ignores(_split(said["per-file-ignores"]))
    yield Layer("command line", folder, table)


def _split(values: Iterable[str]) -> list[str]:
    return [each.strip() for value in values for each in value.split(",") if each.strip()]


def _number(definition: str) -> tuple[str, int]:
    name, equals, value = definition.partition("=")
    try:
        return name.strip(), int(value)
    except ValueError:
        expected = "NAME=VALUE" if not equals else "a whole number after ="
        raise UsageError(f"--define {definition}: expected {expected}, as in cfg.vocab_size=1025") from None


def _ignores(pairs: Iterable[str]) -> Mapping[str, list[str]]:
    ignores: dict[str, list[str]] = {}
    for pair in pairs:
        pattern, _, selector = pair.rpartition(":")
        if not (pattern and selector):
            raise UsageError(f"--per-file-ignores {pair}: expected PATTERN:RULE, as in tests/*:TL1")
        ignores.setdefault(pattern, []).append(selector)
    return ignores


def stale(report: Report, folder: str) -> Iterator[str]:
    """The entries of a baseline that nothing is found for any more, some of them if they are many."""
    for entry in report.stale[:MOST_STALE]:
        yield f"{place(entry.where, folder).rpartition(':')[0]}: stale, no longer found: {entry.title}"
    more = len(report.stale) - MOST_STALE
    if report.stale:
        yield f"{f'and {more} more; ' if more > 0 else ''}`trainlint baseline prune` removes what is stale"


def _remark(report: Report, folder: str, said: Said, printed: Sequence[str], src: Sequence[str]) -> None:
    """What goes to the error stream: faults, and what a reader of the reports would not see in them."""
    for fault in report.faults:
        path = fault.partition(":")[0]
        from_settings = os.path.abspath(path) in src
        complain(
            f"{fault}, which the settings name as src"
            if from_settings
            else fault + did_you_mean(path, (*COMMANDS, *GROUPS))
        )
    for line in stale(report, folder):
        print(line, file=sys.stderr)
    if "verbose" in said:
        for root in report.roots:
            print(f"project: {root}", file=sys.stderr)
    if "verbose" in said or not report.files_checked:
        skipped = (f"{filename(path, folder)}: {why}" for path, why in report.skipped.items())
        for line in skipped:
            if line not in report.faults:
                print(line, file=sys.stderr)
    for root in report.roots if "cache-dir" in said else ():
        if kept_in(said, folder).startswith(os.path.join(root, "")):
            print(f"--cache-dir {said['cache-dir'][-1]}: not used, for it lies in {root}", file=sys.stderr)
    for name in _unasked(report, said):
        wanted = filter(None, (each.why.settle for each in report.unjudged))
        print(f"--define {name}: nothing that was judged asks for it{did_you_mean(name, wanted)}", file=sys.stderr)
    if not report.files_checked:
        print("0 files checked", file=sys.stderr)
        for line in _advice(report, folder):
            print(line, file=sys.stderr)
    elif "quiet" not in said and TOLD_APART.issuperset(printed):
        print(text.summary(report), file=sys.stderr)


def _advice(report: Report, folder: str) -> Iterator[str]:
    """What to do where nothing was named but files that are no Python: a finding may rest on their values."""
    named = [filename(path, folder) for path, why in report.skipped.items() if why == NO_PYTHON]
    if named:
        values = named[0] if len(named) == 1 else "these files"
        yield f"name a Python file of the project too: then you are told which findings rest on {values}"


def _unasked(report: Report, said: Said) -> Iterator[str]:
    """The names that were given a number to no effect."""
    names = dict.fromkeys(_number(each)[0] for each in said.get("define", ()))
    return (name for name in names if name not in report.asked_for)
