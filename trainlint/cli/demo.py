"""``trainlint demo``: the code of a rule in, its bug and its cure side by side out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from trainlint.cli import UsageError
from trainlint.cli.options import Said
from trainlint.cli.output import choice
from trainlint.cli.probe import needing_torch
from trainlint.rule import installed
from trainlint.selection import did_you_mean

if TYPE_CHECKING:
    from trainlint.probe.demonstration import Demonstration

FORMATS = ("text", "json")
DEMOS = {
    "TL101": "sentinel-collision",
    "TL206": "best-weights-aliased",
    "TL301": "low-precision-master-weights",
    "TL302": "missing-logits-upcast",
    "TL404": "exact-copy-start",
}
"""The rules that there is a program of, which is named like the rule."""


def run(arguments: tuple[str, ...], said: Said) -> int:
    """Run the program, or print it."""
    form = choice(said, "output-format", FORMATS)
    codes = list(dict.fromkeys(code_of(word) for word in arguments))
    if not codes:
        raise UsageError(f"which demo? there are {listed()}")
    if "show" in said:
        print("\n\n".join(program(code) for code in codes), end="")
        return 0
    with needing_torch():
        from trainlint.probe.demonstration import watch

        watched = {code: watch(module_of(code)) for code in codes}
    if form == "json":
        records = [record(code, shown) for code, shown in watched.items()]
        print(json.dumps(records[0] if len(records) == 1 else records, indent=1))
    else:
        print("\n\n".join("\n".join(lines(code, shown)) for code, shown in watched.items()))
    return 0


def code_of(word: str) -> str:
    """The code that a word means, by itself or as the name of the rule."""
    for code, name in DEMOS.items():
        if word.upper() == code or word == name:
            return code
    raise UsageError(f"no demo of {word!r}{did_you_mean(word, (*DEMOS, *DEMOS.values()))}; there are {listed()}")


def listed() -> str:
    return ", ".join(f"{code} ({name})" for code, name in DEMOS.items())


def module_of(code: str) -> str:
    return DEMOS[code].replace("-", "_")


def program(code: str) -> str:
    """The text of the program; torch need not be there to read it."""
    return (files("trainlint") / "probe" / "demo" / f"{module_of(code)}.py").read_text("utf-8")


def lines(code: str, shown: Demonstration) -> Iterator[str]:
    """A column for each arm."""
    table = [("", list(shown.arms))]
    table += [(name, [told(arm[name]) for arm in shown.arms.values()]) for name in next(iter(shown.arms.values()))]
    first = max(len(name) for name, _ in table)
    widths = [max(len(values[index]) for _, values in table) for index in range(len(shown.arms))]
    yield f"{code} {DEMOS[code]}"
    yield f"  {shown.title}"
    yield ""
    for name, values in table:
        cells = "  ".join(f"{value:>{width}}" for value, width in zip(values, widths, strict=True))
        yield f"  {name:<{first}}  {cells}".rstrip()
    yield ""
    yield f"  {'; '.join(compared(name, shown) for name in (shown.loss, shown.capability))}"
    yield f"  both arms in {shown.seconds:.1f} s on the CPU, torch {shown.torch}"
    explained = f", trainlint rule {code} explains the bug" if code in installed() else ""
    yield f"  trainlint demo {code} --show prints the program{explained}"


def compared(name: str, shown: Demonstration) -> str:
    """One number of both arms in words."""
    return f"{name}: {' against '.join(told(arm[name]) for arm in shown.arms.values())}"


def told(number: float) -> str:
    """Three digits.

    >>> told(0.00054307), told(1.0), told(27), told(float("inf"))
    ('0.000543', '1', '27', 'never')
    """
    return "never" if math.isinf(number) else f"{number:.3g}"


def record(code: str, shown: Demonstration) -> dict[str, object]:
    """A demo for programs; a step that never came is null."""
    arms = [
        {"name": arm, "numbers": {name: None if math.isinf(number) else number for name, number in numbers.items()}}
        for arm, numbers in shown.arms.items()
    ]
    return {
        "code": code,
        "name": DEMOS[code],
        "title": shown.title,
        "loss": shown.loss,
        "capability": shown.capability,
        "arms": arms,
        "seconds": round(shown.seconds, 2),
        "device": "cpu",
        "torch": shown.torch,
    }
