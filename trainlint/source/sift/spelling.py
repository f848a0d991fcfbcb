"""How words are looked for in bytes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def holds(data: bytes, words: Iterable[bytes]) -> bool:
    return any(word in data for word in words)


def spelled(names: Iterable[str]) -> tuple[bytes, ...]:
    """The last words of these names, longest first: they are found soonest. A word that holds another is left to it."""
    words = {name.rpartition(".")[2] for name in names}
    shortest = {word for word in words if not any(other in word for other in words - {word})}
    return tuple(word.encode() for word in sorted(shortest, key=lambda word: (-len(word), word)))
