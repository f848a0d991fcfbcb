"""Which rules run: selectors and rules in, the chosen rules out.

A selector is a code, the beginning of codes, a rule's name, or ALL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainlint.facts import Crash, Unreadable
from trainlint.record import field, record
from trainlint.rule import Rule

EVERYTHING = "ALL"


class UnknownSelector(ValueError):
    """A selector that no installed rule answers to: nothing would run, and that must not look like success."""


@record
class Selection:
    """What one place (a config file, the command line) says; ``select`` is None where it does not start afresh."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    origin: str = field(default="", compare=False)

    @property
    def wanted(self) -> tuple[str, ...]:
        return (*(self.select or ()), *self.extend_select)

    @property
    def unwanted(self) -> tuple[str, ...]:
        return (*self.ignore, *self.extend_ignore)


def matches(selector: str, code: str, name: str) -> bool:
    """Whether a selector speaks of a rule.

    >>> matches("TL1", "TL101", "sentinel-collision"), matches("sentinel", "TL101", "sentinel-collision")
    (True, False)
    """
    return strength(selector, code, name) >= 0


def strength(selector: str, code: str, name: str) -> int:
    """How specific a selector is about a rule: -1 if it is about others, 0 for ALL, at most the length of the code."""
    if selector == EVERYTHING:
        return 0
    if selector == name:
        return len(code)
    return len(selector) if selector and code.startswith(selector) else -1


def chosen(rules: Iterable[Rule], selections: Sequence[Selection]) -> list[Rule]:
    """The rules to run: later selections weigh more, inside one the more specific selector wins, then "ignore".

    Rules that report what could not be read or judged always run.

    Raises:
        UnknownSelector: a selector matches no rule.
    """
    known = list(rules)
    for selection in selections:
        for selector in (*selection.wanted, *selection.unwanted):
            require_known(selector, known, selection.origin)
    return [rule for rule in known if always_runs(rule) or _is_chosen(rule, selections)]


def always_runs(rule: Rule) -> bool:
    """Nothing may hide that a file could not be read or that trainlint itself failed."""
    return rule.wants in {Unreadable, Crash}


def require_known(selector: str, rules: Iterable[Rule], origin: str) -> None:
    """Accept a selector that matches a rule.

    Raises:
        UnknownSelector: it matches none; the message names where it was said and what was probably meant.
    """
    known = list(rules)
    if selector == EVERYTHING or any(matches(selector, rule.code, rule.name) for rule in known):
        return
    words = [word for rule in known for word in (rule.code, rule.name)]
    raise UnknownSelector(f"{origin}: unknown rule {selector!r}{did_you_mean(selector, words)}")


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
        on = on and selection.select is None
        wanted, unwanted = _strongest(selection.wanted, rule), _strongest(selection.unwanted, rule)
        if max(wanted, unwanted) >= 0:
            on = wanted > unwanted
    return on


def _strongest(selectors: Iterable[str], rule: Rule) -> int:
    return max((strength(each, rule.code, rule.name) for each in selectors), default=-1)
