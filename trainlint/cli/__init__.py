"""The command line: words in, an exit status out. Only this package prints or chooses the status.

A plain run is parsed here and never loads typer; help, mistakes in options and completion do.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FOR_TYPER = frozenset({"--help", "-h", "--install-completion", "--show-completion"})

OBJECTS = 50_000
"""Objects that are made between two looks of the collector for garbage."""


class Process:
    """The process that runs a command line: most are started for one run and end with it."""

    ends_with_run = False


class UsageError(Exception):
    """Something that was asked for and cannot be done; the message says what."""


def main(words: Sequence[str]) -> int:
    """Run one command line."""
    _tolerate_any_character()
    try:
        return _run(words)
    except UsageError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return complain("interrupted")
    except BrokenPipeError:
        # Whoever read the output has gone; the interpreter must not fail on the way out over what is left in it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Exception as error:
        import traceback

        from trainlint.rule import PackError

        if isinstance(error, PackError):
            return complain(str(error))
        return complain(f"internal error\n{traceback.format_exc()}")


def complain(message: str) -> int:
    """Say on the error stream what could not be done; the status that goes with it."""
    print(f"trainlint: {message}", file=sys.stderr)
    return 2


def _run(words: Sequence[str]) -> int:
    first = words[0] if words else ""
    if first in {"--version", "-V", "version"} and len(words) == 1:
        from trainlint.cli.version import run

        return run((), {})
    status = _run_quickly(words) if "_TRAINLINT_COMPLETE" not in os.environ else None
    return _run_in_full(words, first) if status is None else status


def _run_quickly(words: Sequence[str]) -> int | None:
    """The status of a run that says what the last one said, or nothing; None where there may be more to it."""
    if "--no-cache" not in words:
        from trainlint.cli import again

        status = again.run(words)
        if status is not None:
            return status
    from trainlint.cli import early

    return early.run(words)


def _run_in_full(words: Sequence[str], first: str) -> int:
    # What is imported stays: at its usual rate the collector looks through all of it twenty times.
    gc.set_threshold(OBJECTS)
    from trainlint.cli.options import CHECK, COMMANDS, GROUPS, call, parse

    if first in {"--version", "-V"}:
        return call(COMMANDS["version"], (), {})
    if first in FOR_TYPER or "_TRAINLINT_COMPLETE" in os.environ:
        return _in_full(words)
    if first in GROUPS:
        return _run_of_group(first, words[1:])
    command, rest = (COMMANDS[first], words[1:]) if first in COMMANDS else (CHECK, words)
    parsed = parse(rest, command.options)
    return call(command, *parsed) if parsed else _in_full([command.name, *rest])


def _run_of_group(name: str, words: Sequence[str]) -> int:
    from trainlint.cli.options import call, group, parse, passed_on

    command = group(name).get(words[0]) if words else None
    if command and command.passes_on:
        own, others = passed_on(words[1:], command.options)
        parsed = parse(own, command.options)
        return call(command, tuple(others), parsed[1]) if parsed else _in_full([name, command.name, *own])
    parsed = parse(words[1:], command.options) if command else None
    if command and parsed and (command.arguments or not parsed[0]):
        return call(command, *parsed)
    return _in_full([name, *words])


def _in_full(words: Sequence[str]) -> int:
    from trainlint.cli.app import run

    return run(words)


def _tolerate_any_character() -> None:
    """Names and code may hold what the terminal's encoding does not; that must not end the run."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
