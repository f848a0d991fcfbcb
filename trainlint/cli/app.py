"""The typer application, made from the table of options: help, completion, and errors in what was typed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from trainlint.cli.options import COMMANDS, GROUPS, Command, Kind, Option, call, group

HELP = """Find training bugs that the loss curve cannot show.

`trainlint PATHS` is short for `trainlint check PATHS`; a path that looks like a command is written ./check.
"""


OPTIONAL = {
    flag
    for command in COMMANDS.values()
    for option in command.options
    if option.kind is Kind.ONE_OR_NONE
    for flag in option.flags
}
"""Typer knows no option that takes a value or none: without one, theirs is empty."""


def run(words: Sequence[str], commands: Mapping[str, Command] = COMMANDS) -> int:
    """Parse these words in full and run the command they name."""
    try:
        _app(commands)(args=_with_values(words), prog_name="trainlint")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _with_values(words: Sequence[str]) -> list[str]:
    options = words.index("--") if "--" in words else len(words)
    return [f"{word}=" if place < options and word in OPTIONAL else word for place, word in enumerate(words)]


def _app(commands: Mapping[str, Command]) -> typer.Typer:
    app = _table(HELP, commands)
    for name, module in GROUPS.items():
        app.add_typer(_table(import_module(module).HELP, group(name)), name=name)
    app.callback()(_root)
    return app


def _table(text: str, commands: Mapping[str, Command]) -> typer.Typer:
    app = typer.Typer(
        help=text,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in commands.values():
        app.command(command.name, help=command.help)(_function(command))
    return app


def _root(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Only here so that help lists the option: it is answered before typer is loaded."""


def _function(command: Command) -> Any:
    """A function with the signature that typer reads the command's arguments and options from."""

    def function(**given: Any) -> None:
        arguments = tuple(given.get(command.arguments) or ())
        said = {option.name: _values(option, given[_parameter(option)]) for option in command.options}
        raise typer.Exit(call(command, arguments, {name: values for name, values in said.items() if values}))

    kinds: dict[str, Any] = {}
    if command.arguments:
        kinds[command.arguments] = Annotated[
            list[str] | None,
            typer.Argument(
                help=command.arguments_help,
                metavar=command.arguments.upper(),
                autocompletion=_completion(command.arguments.upper()),
            ),
        ]
    kinds.update({_parameter(option): _kind(option) for option in command.options})
    function.__annotations__ = kinds
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_default(kind), annotation=kind)
            for name, kind in kinds.items()
        ]
    )
    return function


def _parameter(option: Option) -> str:
    return option.name.replace("-", "_")


def _kind(option: Option) -> Any:
    base = {Kind.FLAG: bool, Kind.MANY: list[str] | None}.get(option.kind, str | None)
    metavar = option.metavar or None
    info = typer.Option(
        *option.flags,
        help=option.help,
        metavar=metavar,
        show_default=False,
        autocompletion=_completion(option.metavar),
    )
    return Annotated[base, info]


def _completion(metavar: str) -> Callable[[str], list[str]] | None:
    """What a shell offers for a value that help shows like this; None where it is for the shell to know."""
    if "|" in metavar and metavar.islower():
        return _offering(lambda: metavar.split("|"))
    words = {"RULES": _rules, "CODES": _rules, "FORMAT": _formats, "KEYS": _keys}.get(metavar)
    return _offering(words) if words else None


def _offering(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What offers the words that begin as what is typed behind the last comma."""

    def offered(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words() if word.startswith(last)]

    return offered


def _rules() -> Iterable[str]:
    from trainlint.rule import installed

    return [word for rule in installed().values() for word in (rule.code, rule.name)]


def _formats() -> Iterable[str]:
    from trainlint.cli.output import FORMATS

    return FORMATS


def _default(kind: Any) -> Any:
    return False if kind.__origin__ is bool else None


def _values(option: Option, value: Any) -> tuple[str, ...]:
    if option.kind is Kind.MANY:
        return tuple(value or ())
    if option.kind in {Kind.ONE, Kind.ONE_OR_NONE}:
        return () if value is None else (value,)
    return ("",) if value else ()


def _keys() -> Iterable[str]:
    from trainlint.config import KEYS

    return KEYS
