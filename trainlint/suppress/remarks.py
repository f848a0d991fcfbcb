"""What is to be said of comments that silence: some silence nothing, some do something else than they seem to.

Comments, findings and rules in, facts out. Opens no file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from tokenize import TokenInfo

from trainlint.facts import Fact, Flaw, InvalidSuppression, UnusedSuppression
from trainlint.finding import Finding
from trainlint.record import record, replace
from trainlint.regex import regex
from trainlint.rule import Rule
from trainlint.selection import EVERYTHING, always_runs, did_you_mean, matches
from trainlint.span import Span
from trainlint.suppress.silences import OWN, Form, Silence, may_speak, stretch
from trainlint.suppress.statements import statements

OWN_WORD = regex(r"#\s*trainlint\s*(?P<colon>:?)\s*(?P<words>(?P<word>[\w-]+)\s*(?P<bracket>[\[(]?)[^#]*)")
"""A comment that may be meant for us."""

OURS = ("ignore", "ignore-file")
SILENCING = frozenset({*OURS, "noqa", "disable", "off", "skip", "allow", "nolint", "suppress"})
"""What other tools say for it."""

NOQA_WORD = regex(r"# (?P<words>noqa(?P<before>\s*:?\s*)(?P<word>[\w-]+))", re.IGNORECASE)
LATER = regex(r"[\w-]+")
CODE_LIKE = regex(r"[A-Za-z]+[0-9]+")


@record
class Ran:
    """Which rules there are, which of them ran on a file, and which had nothing to say because they are off."""

    known: Sequence[Rule]
    ran: frozenset[str]
    idle: frozenset[str]

    def named(self, selector: str) -> list[Rule]:
        """The rules that a selector speaks of."""
        return [rule for rule in self.known if matches(selector, rule.code, rule.name)]

    def is_idle(self, selector: str, findings: Iterable[Finding], unsettled: Iterable[Fact]) -> bool:
        """Whether a selector speaks of none of these findings, and every rule it speaks of would have been heard."""
        named = self.named(selector)
        if any(matches(selector, finding.code, finding.name) for finding in findings):
            return False
        wanted = tuple({rule.wants for rule in named})
        if any(isinstance(fact, wanted) for fact in unsettled):
            return False
        return any(rule.code in self.ran for rule in named) and all(
            rule.code in self.ran or rule.code in self.idle for rule in named
        )

    def is_ours(self, code: str) -> bool:
        """Whether a code looks like one of these rules'."""
        return bool(_letters(code)) and any(_letters(rule.code) == _letters(code).upper() for rule in self.known)


def _letters(code: str) -> str:
    return code.rstrip("0123456789") if CODE_LIKE.fullmatch(code) else ""


def unused(
    silences: Iterable[Silence], findings: Collection[Finding], ran: Ran, unsettled: Collection[Fact]
) -> Iterator[UnusedSuppression]:
    """The comments of which something silences none of these findings, nor what one of these open facts may hold."""
    by_comment: dict[Span, list[Silence]] = defaultdict(list)
    for silence in silences:
        if silence.form is not Form.BLANKET:
            by_comment[silence.where].append(silence)
    for where, each in by_comment.items():
        near = [finding for finding in findings if any(silence.holds(finding.where) for silence in each)]
        open_ones = [
            fact for fact in unsettled if any(silence.holds(span) for silence in each for span in fact.places())
        ]
        names = [selector.text for selector in each[0].selectors]
        idle = [name for name in names if ran.is_idle(name, near, open_ones)]
        if idle:
            kept = tuple(name for name in names if name not in idle)
            yield UnusedSuppression(where, where, None, (), (), each[0].words, tuple(idle), kept, each[0].names)


def _hold(silences: Iterable[Silence], places: Iterable[Span]) -> bool:
    known = list(places)
    return any(silence.holds(place) for silence in silences for place in known)


def invalid(
    path: str, texts: Mapping[int | None, str], silences: Iterable[Silence], ran: Ran
) -> Iterator[InvalidSuppression]:
    """The comments of a file that do not do what they seem to."""
    for cell, text in texts.items():
        if may_speak(text):
            for statement in statements(text):
                for comment in statement.inside:
                    yield from _misspelled(path, cell, comment)
                    yield from _named_in_noqa(path, cell, comment, ran)
    for silence in _each_once(silences):
        yield from _misnamed(silence, ran)


def unexplained(silences: Iterable[Silence], ran: Ran) -> Iterator[InvalidSuppression]:
    """The comments that give no reason."""
    for silence in _each_once(silences):
        if not silence.reason and _is_meant(silence, ran):
            yield _fact(silence.where, silence.where, silence.words, Flaw.UNEXPLAINED)


def _each_once(silences: Iterable[Silence]) -> Iterable[Silence]:
    return {each.where: each for each in silences}.values()


def _is_meant(silence: Silence, ran: Ran) -> bool:
    """Whether a comment is for trainlint, and not for flake8 alone."""
    if silence.form is Form.OWN:
        return bool(silence.selectors)
    return silence.form is Form.NOQA and any(ran.is_ours(each.text) for each in silence.selectors)


def _misnamed(silence: Silence, ran: Ran) -> Iterator[InvalidSuppression]:
    """Selectors that name nothing, or what cannot be silenced."""
    if not silence.selectors:
        yield _fact(silence.where, silence.where, silence.words, Flaw.NAMELESS)
    for selector in silence.selectors if silence.form is not Form.BLANKET else ():
        text, named = selector.text, ran.named(selector.text)
        if text == EVERYTHING or (silence.form is Form.NOQA and not ran.is_ours(text)):
            continue
        if not named:
            yield _fact(silence.where, selector.where, silence.words, Flaw.UNKNOWN, text, _near(text, ran))
        elif all(map(always_runs, named)):
            yield _fact(silence.where, selector.where, silence.words, Flaw.ALWAYS, text)


def _near(text: str, ran: Ran) -> str:
    """The end of a sentence about what was probably meant; numbers that look alike mean nothing."""
    parts = text.split()
    if len(parts) > 1 and all(map(ran.named, parts)):
        return "; put commas between"
    if CODE_LIKE.fullmatch(text):
        return f"; did you mean {text.upper()}?" if ran.named(text.upper()) else ""
    return did_you_mean(text, [rule.name for rule in ran.known])


def _misspelled(path: str, cell: int | None, comment: TokenInfo) -> Iterator[InvalidSuppression]:
    for match in OWN_WORD.finditer(comment.string):
        if not _is_silencing(match) or OWN.match(comment.string, match.start()):
            continue
        where = stretch(path, cell, comment, match.start(), match.start() + len(match[0].rstrip()))
        if match["word"] in OURS and match["colon"] and not match["bracket"]:
            yield _fact(where, where, match["word"], Flaw.NAMELESS)
        else:
            yield _fact(where, where, f"trainlint{match['colon']} {match['words'].rstrip()}", Flaw.UNREAD)


def _is_silencing(match: re.Match[str]) -> bool:
    """Whether a comment is there to silence: it says so in somebody's words, or nearly in ours."""
    word = match["word"].lower()
    if match["bracket"]:
        return word in SILENCING or bool(did_you_mean(word, OURS))
    return word in SILENCING and bool(match["colon"])


def _named_in_noqa(path: str, cell: int | None, comment: TokenInfo, ran: Ran) -> Iterator[InvalidSuppression]:
    """Names of rules, which flake8 does not know, and codes where it does not look for any."""
    match = NOQA_WORD.search(comment.string)
    if match is None:
        return
    codes = {rule.name: rule.code for rule in ran.known}
    first = match["word"]
    where = stretch(path, cell, comment, *match.span("word"))
    whole = stretch(path, cell, comment, *match.span())
    if first in codes or (not match["before"].startswith(":") and ran.is_ours(first) and ran.named(first)):
        yield replace(_fact(whole, where, match["words"], Flaw.BLANKET, first, codes.get(first, first)), broad=True)
        return
    for word in LATER.finditer(comment.string, match.start("word")) if match["before"].startswith(":") else ():
        if word[0] in codes:
            where = stretch(path, cell, comment, *word.span())
            words = comment.string[match.start("words") : word.end()]
            yield _fact(whole, where, words, Flaw.BLANKET, word[0], codes[word[0]])
        elif not CODE_LIKE.fullmatch(word[0]):
            return


def _fact(where: Span, wrong: Span, words: str, flaw: Flaw, named: str = "", meant: str = "") -> InvalidSuppression:
    return InvalidSuppression(where, wrong, None, (), (), words, flaw, named, meant)
