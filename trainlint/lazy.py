"""Packages whose names come from their modules when they are first asked for, so that nobody pays for what he leaves.

A name of a package may be that of one of its modules too: then the name is meant, as if it had been imported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class Package(ModuleType):
    """A package that fetches its names from the first of its modules that has them."""

    _names: Collection[str]
    _homes: Sequence[str]

    def __getattr__(self, name: str) -> object:
        if name in self.__dict__.get("_names", ()):
            for home in self._homes:
                module = sys.modules.get(home) or import_module(home)
                if hasattr(module, name):
                    value = getattr(module, name)
                    ModuleType.__setattr__(self, name, value)
                    return value
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        # The import of a module puts it into its package, over what has the same name there.
        if not (isinstance(value, ModuleType) and name in self.__dict__.get("_names", ())):
            ModuleType.__setattr__(self, name, value)


def fetch(package: str, names: Collection[str], homes: Sequence[str]) -> None:
    """Let a package have these names, each from the first of these modules that has it."""
    module = sys.modules[package]
    module.__class__ = Package
    module._names, module._homes = frozenset(names), homes  # type: ignore[attr-defined]
