"""The bytes of a file and one kind of site in; out, whether the file may hold such a site.

To look for words in the whole text is what most of the time goes to. So the identifiers of a file are listed once,
each counted once however often it stands there, and everything that is a name or a part of one is looked for in them.
"""

from __future__ import annotations

from trainlint.source.sift.spelling import SPACED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_ABOUT: dict[bytes, tuple[bytes, bool, bool]] = {}


def _about(part: bytes) -> tuple[bytes, bool, bool]:
    """The identifier in some letters or a part of one, whether it is a whole one, and whether there is more to them."""
    spaced = part.translate(SPACED)
    core = max(spaced.split(), key=len, default=b"")
    about = _ABOUT[part] = (core, bool(core) and b" %s " % core in spaced, core != part)
    return about


class Words:
    """What one file holds: its bytes, and its identifiers, those in comments and strings too."""

    __slots__ = ("_known", "_lower", "_lower_text", "_text", "data", "names")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.names = frozenset(data.translate(SPACED).split())
        self._known: dict[bytes, bool] = {}
        self._text = self._lower_text = self._lower = b""

    @property
    def lower(self) -> bytes:
        """The bytes in lower case."""
        if not self._lower:
            self._lower = self.data.lower()
        return self._lower

    @property
    def text(self) -> bytes:
        """The identifiers, between spaces."""
        if not self._text:
            self._text = b" ".join(self.names)
        return self._text

    def has(self, part: bytes) -> bool:
        """Whether it holds some letters: a part of an identifier, or what is none."""
        return self.holds((part,))

    def holds(self, parts: Iterable[bytes]) -> bool:
        """Whether it holds any of these."""
        known = self._known
        for part in parts:
            found = known.get(part)
            if found is None:
                found = known[part] = self._searched(part)
            if found:
                return True
        return False

    def _searched(self, part: bytes) -> bool:
        core, is_whole, has_more = _ABOUT.get(part) or _about(part)
        if core not in (self.names if is_whole else self.text):
            return False
        return not has_more or part in self.data

    def says(self, parts: Iterable[bytes]) -> bool:
        """Whether any of these, in lower case, is a part of an identifier in whatever case."""
        if not self._lower_text:
            self._lower_text = self.text.lower()
        text = self._lower_text
        return any(part in text for part in parts)


_latest: list[Words] = []


def words_of(data: bytes) -> Words:
    """The words of a file; those of the latest one are kept, since several ask for them."""
    if not _latest or _latest[0].data is not data:
        _latest[:] = [Words(data)]
    return _latest[0]


class Kind:
    """One kind of site: a file that has one holds, of each of these groups, a name (of a set) or letters (of others),
    and then this must be so.
    """

    __slots__ = ("confirms", "name", "needs")

    def __init__(self, name: str, *needs: Iterable[bytes], confirms: Callable[[Words], bool] | None = None) -> None:
        self.name = name
        self.needs = needs
        self.confirms = confirms

    def __call__(self, data: bytes) -> bool:
        """Whether these bytes may hold such a site."""
        return self.may_be_in(words_of(data))

    def may_be_in(self, words: Words) -> bool:
        """The same for a file of which more is asked."""
        for group in self.needs:
            if isinstance(group, frozenset):
                if words.names.isdisjoint(group):
                    return False
            elif not words.holds(group):
                return False
        return self.confirms is None or self.confirms(words)
