"""Which rules run: selectors and rules in, the chosen rules out.

A selector is a code, the beginning of codes, a rule's name, or ALL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trainlint.facts import Crash, Unreadable
from trainlint.rule import Rule

EVERYTHING = "ALL"


class UnknownSelector(ValueError):
    """A selector that no installed rule answers to: nothing would run, and that must not look like success."""


@dataclass(frozen=True)
class Selection:
    """What one place (a config file, the command line) says; ``select`` is None where it does not start afresh."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()

    @property
    def wanted(self) -> tuple[str, ...]:
        return (*(self.select or ()), *self.extend_select)

    @property
    def unwanted(self) -> tuple[str, ...]:
        return (*self.ignore, *self.extend_ignore)


def matches(selector: str, code: str, name: str) -> bool:
    """
    >>> matches("TL1", "TL101", "sentinel-collision"), matches("sentinel", "TL101", "sentinel-collision")
    (True, False)
    """
    return selector in {EVERYTHING, name} or bool(selector) and code.startswith(selector)


def chosen(rules: Iterable[Rule], selections: Sequence[Selection]) -> list[Rule]:
    """The rules to run: later selections weigh more, inside one the more specific selector wins, then "ignore".

    Rules that report what could not be read or judged always run.

    Raises:
        UnknownSelector: a selector matches no rule.
    """
    known = list(rules)
    for selection in selections:
        for selector in (*selection.wanted, *selection.unwanted):
            require_known(selector, known)
    return [rule for rule in known if always_runs(rule) or _is_chosen(rule, selections)]


def always_runs(rule: Rule) -> bool:
    """Nothing may hide that a file could not be read or that trainlint itself failed."""
    return rule.wants in {Unreadable, Crash}


def require_known(selector: str, rules: Iterable[Rule]) -> None:
    known = list(rules)
    if any(matches(selector, rule.code, rule.name) for rule in known):
        return
    words = [word for rule in known for word in (rule.code, rule.name)]
    raise UnknownSelector(f"unknown rule {selector!r}{did_you_mean(selector, words)}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that names the word that was probably meant.

    >>> did_you_mean("selct", ["select", "ignore"])
    '; did you mean select?'
    """
    from difflib import get_close_matches

    by_small_letters = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), by_small_letters, n=1, cutoff=0.6)
    return f"; did you mean {by_small_letters[close[0]]}?" if close else ""


def _is_chosen(rule: Rule, selections: Sequence[Selection]) -> bool:
    on = rule.on
    for selection in selections:
        on = on if selection.select is None else False
        wanted, unwanted = _strength(selection.wanted, rule), _strength(selection.unwanted, rule)
        if max(wanted, unwanted) >= 0:
            on = wanted > unwanted
    return on


def _strength(selectors: Iterable[str], rule: Rule) -> int:
    """How specific the best matching selector is; -1 if none matches, 0 for ALL."""
    strengths = {rule.name: len(rule.code), EVERYTHING: 0}
    return max((strengths.get(each, len(each)) for each in selectors if matches(each, rule.code, rule.name)), default=-1)
