"""``trainlint check``: what was said on the command line in, reports and an exit status out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainlint import config
from trainlint.check import Request, check
from trainlint.cli import UsageError, complain
from trainlint.cli.options import COMMANDS, GROUPS, Said
from trainlint.cli.output import COLOURS, TOLD_APART, Output, choice, outputs, rendered, write
from trainlint.config import ConfigError, Layer
from trainlint.report import Report, filename, text
from trainlint.selection import UnknownSelector, did_you_mean

LISTS = ("select", "ignore", "extend-select", "extend-ignore", "exclude", "extend-exclude")
"""Options whose values are lists with commas, under the names that the settings have for them."""


def run(paths: tuple[str, ...], said: Said) -> int:
    """Check these paths, write the reports, and answer with the exit status."""
    folder = os.getcwd()
    choice(said, "color", COLOURS)
    if not ("fix" in said or "diff" in said):
        for name in (name for name in ("unsafe-fixes", "show-fixes") if name in said):
            raise UsageError(f"--{name} needs --fix or --diff")
    try:
        given = tuple(layers(said, folder))
        here = config.nearest(folder) if "isolated" not in said else None
        settings = config.settings((*((here,) if here else ()), *given))
        wanted = outputs(settings.output_format)
        request = Request(_paths(paths, said, settings.src), folder, given, "isolated" in said, jobs(said))
        report = check(request)
        if "fix" in said or "diff" in said:
            from trainlint.cli import fix

            if "diff" in said:
                return fix.difference(request, report, said)
            report = fix.fixed(request, report, said)
    except (ConfigError, UnknownSelector) as error:
        raise UsageError(str(error)) from error
    unwritten = [fault for each in wanted for fault in _written(each, report, folder, said)]
    printed = [each.format for each in wanted if not each.target]
    _remark(report, folder, said, printed, () if paths else settings.src)
    status = 0 if report.exit_code == 1 and "exit-zero" in said else report.exit_code
    return max((status, *map(complain, unwritten)))


def _written(output: Output, report: Report, folder: str, said: Said) -> Iterator[str]:
    """Write one report; why it could not be, if it could not: the others are still wanted."""
    try:
        write(rendered(output.format, report, folder, said), output.target, choice(said, "color", COLOURS))
    except UsageError as error:
        yield str(error)


def _paths(paths: tuple[str, ...], said: Said, src: tuple[str, ...]) -> tuple[str, ...]:
    return paths if paths or "hook" in said else src or (".",)


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
    elif "quiet" not in said and TOLD_APART.issuperset(printed):
        print(text.summary(report), file=sys.stderr)
