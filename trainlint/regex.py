"""Regular expressions that are compiled when they are first asked for: a run asks for few of those that there are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import AnyStr

IGNORECASE = 2
"""``re.IGNORECASE``, for those who need not load ``re`` for that."""

METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class Late:
    """What a compiled regular expression is, once it is asked for something."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern, self.flags = text, int(flags)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        import re

        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in METHODS)
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What ``re.compile`` gives, without its mistakes in ``text`` before it is used.

    >>> regex(r"\\d+").findall("1 and 22")
    ['1', '22']
    """
    return Late(text, flags)  # type: ignore[return-value]


def spelled(pattern: re.Pattern[bytes]) -> str:
    """All of a pattern of bytes in one text."""
    return f"{int(pattern.flags & IGNORECASE != 0)}{pattern.pattern.decode('latin-1')}"


def unspelled(text: str) -> re.Pattern[bytes]:
    """The pattern that ``spelled`` has put into one text.

    >>> unspelled(spelled(regex(b"pad|eos", IGNORECASE))).findall(b"PAD and eos")
    [b'PAD', b'eos']
    """
    return regex(text[1:].encode("latin-1"), IGNORECASE * int(text[0]))
