"""One callable of a library, as far as the engine needs to know it."""

from __future__ import annotations

from collections.abc import Mapping

from trainlint.record import field, record


@record
class Signature:
    """A callable's qualified name, its parameters in order, and the defaults that decide something."""

    name: str
    parameters: tuple[str, ...]
    defaults: Mapping[str, object] = field(default_factory=dict)

    @property
    def last(self) -> str:
        """The word by which a file that uses this callable mentions it."""
        return self.name.rpartition(".")[2]
