"""What kept trainlint from judging: a file that it cannot read, a fault of its own, a comment that silences."""

from __future__ import annotations

from enum import Enum

from trainlint.facts.fact import Fact
from trainlint.record import record
from trainlint.span import Span


@record
class Unreadable(Fact):
    """A file that cannot be read as Python: a syntax error, bytes that its encoding does not allow."""

    reason: str


@record
class Crash(Fact):
    """A fault of trainlint itself at one site; everything else is still judged."""

    doing: str
    error: str


class Flaw(Enum):
    """What is wrong with a comment that is there to silence."""

    NAMELESS = "names no rule"
    UNREAD = "is not understood"
    UNKNOWN = "names what no rule answers to"
    ALWAYS = "names a rule that cannot be silenced"
    BLANKET = "names a rule where flake8 reads no name"
    UNEXPLAINED = "gives no reason"


@record
class UnusedSuppression(Fact):
    """A comment of which something, or all, silences nothing, though the rules it names ran on its file.

    The call is the comment, ``names`` the stretch in which it names rules: ``unused`` silence nothing, ``kept`` do.
    """

    words: str
    unused: tuple[str, ...]
    kept: tuple[str, ...]
    names: Span


@record
class InvalidSuppression(Fact):
    """A comment that does not do what it seems to: ``named`` is what it says, ``meant`` the rule it probably means.

    The call is the comment, the argument what is wrong in it. ``broad`` says that it silences every rule.
    """

    words: str
    flaw: Flaw
    named: str = ""
    meant: str = ""
    broad: bool = False
