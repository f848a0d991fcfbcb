"""``trainlint check``: what was said on the command line in, reports and an exit status out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainlint import config
from trainlint.baseline import BaselineError
from trainlint.check import Request, check
from trainlint.cli import UsageError, complain
from trainlint.cli.options import COMMANDS, GROUPS, Said
from trainlint.config import ConfigError, Layer, Settings
from trainlint.report import Report, filename, place, text
from trainlint.selection import UnknownSelector, did_you_mean

FORMATS = ("full", "concise", "json")
COLOURS = ("auto", "always", "never")

MOST_STALE = 10
"""Stale entries that are told one by one."""

LISTS = ("select", "ignore", "extend-select", "extend-ignore", "exclude", "extend-exclude")
"""Options whose values are lists with commas, under the names that the settings have for them."""


def run(paths: tuple[str, ...], said: Said) -> int:
    """Check these paths, write the reports, and answer with the exit status."""
    folder = os.getcwd()
    colour = choice(said, "color", COLOURS)
    if not ("fix" in said or "diff" in said):
        for name in (name for name in ("unsafe-fixes", "show-fixes") if name in said):
            raise UsageError(f"--{name} needs --fix or --diff")
    try:
        given = tuple(layers(said, folder))
        here = config.nearest(folder) if "isolated" not in said else None
        settings = config.settings((*((here,) if here else ()), *given))
        outputs = [_output(each) for each in settings.output_format]
        request = Request(paths_of(paths, said, settings.src), folder, given, "isolated" in said, jobs(said))
        report = check(request)
        if "fix" in said or "diff" in said:
            from trainlint.cli import fix

            if "diff" in said:
                return fix.difference(request, report, said)
            report = fix.fixed(request, report, said)
        if "add-ignore" in said:
            from trainlint.cli import ignore

            report = ignore.added(request, report, _reason(said, settings))
    except (ConfigError, UnknownSelector, BaselineError) as error:
        raise UsageError(str(error)) from error
    for name, target in outputs:
        write(_rendered(name, report, folder, said), target, colour)
    printed = [name for name, target in outputs if not target]
    _remark(report, folder, said, printed, () if paths else settings.src)
    return 0 if report.exit_code == 1 and "exit-zero" in said else report.exit_code


def _reason(said: Said, settings: Settings) -> str:
    reason = said["add-ignore"][-1].strip()
    if settings.require_reason and not reason:
        raise UsageError("the settings require a reason: --add-ignore='why'")
    if "#" in reason:
        raise UsageError("--add-ignore: a reason without #, which would start another comment")
    return reason


def paths_of(paths: tuple[str, ...], said: Said, src: tuple[str, ...]) -> tuple[str, ...]:
    return paths if paths or "hook" in said else src or (".",)


def choice(said: Said, name: str, choices: Sequence[str]) -> str:
    value = said.get(name, choices[:1])[-1]
    if value not in choices:
        expected = ", ".join(choices)
        raise UsageError(f"--{name} must be one of {expected}, not {value!r}{did_you_mean(value, choices)}")
    return value


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
    if "output-format" in said:
        table["output-format"] = list(said["output-format"])
    if "baseline" in said:
        table["baseline"] = said["baseline"][-1]
    table["values"] = dict(map(_number, said.get("define", ())))
    table["per-file-ignores"] = _ignores(_split(said.get("per-file-ignores", ())))
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


def _output(wish: str) -> tuple[str, str]:
    """FORMAT or FORMAT:FILE."""
    name, _, target = wish.partition(":")
    if name not in FORMATS:
        raise UsageError(
            f"--output-format must be one of {', '.join(FORMATS)}, not {name!r}{did_you_mean(name, FORMATS)}"
        )
    return name, target


def _rendered(name: str, report: Report, folder: str, said: Said) -> Iterator[text.Line]:
    if name == "json":
        from trainlint.report.structured import as_json

        yield (("", as_json(report, folder)),)
        return
    yield from (text.full if name == "full" else text.concise)(report, folder)
    if "show-unjudged" in said:
        yield from text.unjudged(report, folder)
    if name == "full" and report.files_checked and "quiet" not in said:
        yield (("bold", text.summary(report)),)


def write(lines: Iterable[text.Line], target: str, colour: str) -> None:
    if target:
        try:
            with open(target, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(f"{''.join(piece for _, piece in line)}\n" for line in lines)
        except OSError as error:
            raise UsageError(f"{target}: {error.strerror}") from error
    elif _is_colourful(colour):
        from trainlint.report.colour import coloured

        sys.stdout.write(coloured(lines))
    else:
        sys.stdout.writelines(f"{''.join(piece for _, piece in line)}\n" for line in lines)
    sys.stdout.flush()


def stale(report: Report, folder: str) -> Iterator[str]:
    """The entries of a baseline that nothing is found for any more, some of them if they are many."""
    for entry in report.stale[:MOST_STALE]:
        yield f"{place(entry.where, folder).rpartition(':')[0]}: stale, no longer found: {entry.title}"
    more = len(report.stale) - MOST_STALE
    if report.stale:
        yield f"{f'and {more} more; ' if more > 0 else ''}`trainlint baseline prune` removes what is stale"


def _is_colourful(colour: str) -> bool:
    if colour != "auto":
        return colour == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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
    if not report.files_checked:
        print("0 files checked", file=sys.stderr)
    elif "full" not in printed and "json" not in printed and "quiet" not in said:
        print(text.summary(report), file=sys.stderr)
