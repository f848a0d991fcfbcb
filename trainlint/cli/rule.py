"""``trainlint rule``: codes and names in, the rules' own pages out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import resources

from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.rule import Rule, installed
from trainlint.selection import did_you_mean, matches

FORMATS = ("text", "json", "markdown")

MEASURED = "measured.json"
"""The file beside the rules of a pack that says, by code, how they did on real code: a ``text``, and numbers."""


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Print the pages."""
    form = said.get("output-format", ("text",))[-1]
    if form not in FORMATS:
        raise UsageError(
            f"--output-format must be one of {', '.join(FORMATS)}, not {form!r}{did_you_mean(form, FORMATS)}"
        )
    known = list(installed().values())
    if not arguments and "all" not in said:
        raise UsageError("which rule? give its code or its name, or --all")
    wanted = {rule.code for each in arguments for rule in _named(each, known)}
    rules = [rule for rule in known if "all" in said or rule.code in wanted]
    if form == "json":
        print(json.dumps([_record(rule) for rule in rules], indent=1))
    elif form == "text" and "all" in said:
        print("\n".join(_line(rule) for rule in rules))
    else:
        print("\n\n".join(_page(rule, form) for rule in rules))
    return 0


def _named(word: str, known: Iterable[Rule]) -> list[Rule]:
    rules = list(known)
    named = [rule for rule in rules if matches(word, rule.code, rule.name)]
    if named:
        return named
    names = [name for rule in rules for name in (rule.code, rule.name)]
    raise UsageError(f"unknown rule {word!r}{did_you_mean(word, names)}; trainlint rule --all lists them")


def _line(rule: Rule) -> str:
    return f"{rule.code}  {rule.name}{'' if rule.on else ' (off)'}: {rule.summary}"


def _page(rule: Rule, form: str) -> str:
    mark = "# " if form == "markdown" else ""
    page = f"{mark}{rule.code} {rule.name}\n\n{rule.page.removeprefix(f'{rule.code}: ')}"
    record = _measured(rule)
    return f"{page}\n\nMeasured: {record['text']}." if record else page


def _record(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "on": rule.on,
        "page": rule.page,
        "measured": _measured(rule),
    }


def _measured(rule: Rule) -> Mapping[str, object] | None:
    """What the rule's pack says was measured of it, if it says so."""
    file = resources.files(rule.check.__module__.rpartition(".")[0]) / MEASURED
    return json.loads(file.read_text(encoding="utf-8")).get(rule.code) if file.is_file() else None
