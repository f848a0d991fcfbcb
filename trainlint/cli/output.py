"""Where reports go: ``FORMAT`` or ``FORMAT:FILE`` and a report in, text on the standard output or in files out."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.record import record
from trainlint.report import Report, text
from trainlint.selection import did_you_mean

COLOURS = ("auto", "always", "never")

TOLD_APART = frozenset({"concise", "github"})
"""Formats for people that leave out the summary, which then goes to the error stream."""

TOPS: Mapping[str, str] = {
    "github": "GITHUB_WORKSPACE",
    "sarif": "GITHUB_WORKSPACE",
    "markdown": "GITHUB_WORKSPACE",
    "gitlab": "CI_PROJECT_DIR",
}
"""Who reads these formats knows files by their path in the repository, whose folder the CI's environment names."""


def _sarif(report: Report, folder: str) -> Iterator[str]:
    from trainlint.report.sarif import as_sarif
    from trainlint.rule import installed

    yield as_sarif(report, folder, list(installed().values()))


def _of(module: str, function: str) -> Callable[[Report, str], Iterable[str]]:
    """A writer that is imported when it is needed: a run with nothing to say pays for none."""

    def lines(report: Report, folder: str) -> Iterable[str]:
        written: str | Iterable[str] = getattr(import_module(f"trainlint.report.{module}"), function)(report, folder)
        return (written,) if isinstance(written, str) else written

    return lines


PROGRAMS: Mapping[str, Callable[[Report, str], Iterable[str]]] = {
    "json": _of("structured", "as_json"),
    "json-lines": _of("structured", "as_json_lines"),
    "sarif": _sarif,
    "github": _of("github", "as_github"),
    "gitlab": _of("gitlab", "as_gitlab"),
    "junit": _of("junit", "as_junit"),
    "rdjson": _of("rdjson", "as_rdjson"),
    "markdown": _of("markdown", "as_markdown"),
}
"""The formats that other programs show: how the lines of each are made of a report and its folder."""

FORMATS = ("full", "concise", *PROGRAMS)

FIXING = frozenset({"json", "json-lines", "sarif", "rdjson"})
"""The formats that hold the text of fixes."""


@record
class Output:
    """One report: its format, and the file it goes to; no file is the standard output."""

    format: str
    target: str = ""


def outputs(wishes: Iterable[str]) -> list[Output]:
    """The reports that were asked for.

    Raises:
        UsageError: a format is unknown, or two reports would go to the same place.
    """
    wanted = [_output(wish) for wish in dict.fromkeys(wishes)]
    taken: dict[str, str] = {}
    for each in wanted:
        place = os.path.realpath(each.target) if each.target else ""
        if place in taken:
            where = each.target or "the standard output"
            raise UsageError(
                f"--output-format: {taken[place]} and {each.format} would both go to {where};"
                f" name a file for one, as in {each.format}:FILE"
            )
        taken[place] = each.format
    return wanted


def _output(wish: str) -> Output:
    name, colon, target = wish.partition(":")
    if name not in FORMATS:
        raise UsageError(
            f"--output-format must be one of {', '.join(FORMATS)}, not {name!r}{did_you_mean(name, FORMATS)}"
        )
    if colon and not target:
        raise UsageError(f"--output-format {wish}: which file? as in {name}:report")
    return Output(name, target)


def rendered(name: str, report: Report, folder: str, said: Said) -> Iterator[text.Line]:
    """A report in one of the formats."""
    if name in PROGRAMS:
        known = _with_fixes(report) if name in FIXING else report
        yield from ((("", line),) for line in PROGRAMS[name](known, _top(name, folder)))
        return
    if "statistics" in said:
        yield from text.counted(report)
    else:
        yield from (text.full if name == "full" else text.concise)(report, folder)
    if "show-unjudged" in said:
        yield from (text.by_reason if name == "full" else text.unjudged)(report, folder)
    if name == "full" and report.files_checked and "quiet" not in said:
        yield (("bold", text.summary(report)),)


def _with_fixes(report: Report) -> Report:
    """What makes text of fixes reads the files once more and is heavy: only where there is a fix."""
    if all(finding.fix is None for finding in report.findings):
        return report
    from trainlint.repair import proposed

    return proposed(report)


def _top(name: str, folder: str) -> str:
    top = os.environ.get(TOPS.get(name, ""), "")
    return os.path.normpath(top) if top and f"{folder}{os.sep}".startswith(os.path.join(top, "")) else folder


def choice(said: Said, name: str, choices: Sequence[str]) -> str:
    """What was said for an option with a few values.

    Raises:
        UsageError: it is none of them.
    """
    value = said.get(name, choices[:1])[-1]
    if value not in choices:
        expected = ", ".join(choices)
        raise UsageError(f"--{name} must be one of {expected}, not {value!r}{did_you_mean(value, choices)}")
    return value


def write(lines: Iterable[text.Line], target: str, colour: str) -> None:
    """Write lines to a file, whole or not at all, or to the standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if target:
        try:
            _replace(target, text.plain(lines))
        except OSError as error:
            raise UsageError(f"{target}: {error.strerror}") from error
    elif _is_colourful(colour):
        from trainlint.report.colour import coloured

        sys.stdout.write(coloured(lines))
    else:
        sys.stdout.writelines(text.plain(lines))
    sys.stdout.flush()


def _replace(target: str, lines: Iterable[str]) -> None:
    """Nobody ever reads half of a report: it takes the place of the old one when it is whole."""
    place, text = os.path.realpath(target), "".join(lines)
    mode = _mode(place)
    if mode is not None and not stat.S_ISREG(mode):
        _write(place, text)
        return
    beside = f"{place}.{os.getpid()}.part"
    try:
        _write(beside, text)
        if mode is not None:
            os.chmod(beside, stat.S_IMODE(mode))
        os.replace(beside, place)
    except OSError as error:
        # A file that may be written in a folder that may not, or that is mounted by itself.
        if mode is None or error.errno not in {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS}:
            raise
        _write(place, text)
    finally:
        with suppress(OSError):
            os.unlink(beside)


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text)


def _is_colourful(colour: str) -> bool:
    """An option weighs more than the environment, NO_COLOR more than FORCE_COLOR, and both more than the terminal."""
    if colour != "auto":
        return colour == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
