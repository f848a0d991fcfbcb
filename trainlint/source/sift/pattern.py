"""Regular expressions that are compiled when they are first asked for: most files are dropped before."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator


class Pattern:
    """A regular expression over bytes."""

    search: Callable[..., re.Match[bytes] | None]
    match: Callable[..., re.Match[bytes] | None]
    fullmatch: Callable[..., re.Match[bytes] | None]
    finditer: Callable[..., Iterator[re.Match[bytes]]]
    sub: Callable[..., bytes]

    def __init__(self, pattern: bytes, *, ignores_case: bool = False) -> None:
        self.pattern, self.ignores_case = pattern, ignores_case

    @property
    def spelled(self) -> str:
        """All of it in one text."""
        return f"{int(self.ignores_case)}{self.pattern.decode('latin-1')}"

    def __getattr__(self, name: str) -> object:
        if name not in ("search", "match", "fullmatch", "finditer", "sub"):
            raise AttributeError(name)
        import re

        compiled = re.compile(self.pattern, re.IGNORECASE if self.ignores_case else 0)
        self.search, self.match, self.fullmatch = compiled.search, compiled.match, compiled.fullmatch
        self.finditer, self.sub = compiled.finditer, compiled.sub
        return getattr(compiled, name)


def unspelled(text: str) -> tuple[bytes, int]:
    """What ``spelled`` has put into one text, as ``re`` is given it.

    >>> unspelled(Pattern(b"pad|eos", ignores_case=True).spelled)
    (b'pad|eos', 2)
    """
    import re

    return text[1:].encode("latin-1"), int(re.IGNORECASE) * int(text[0])
