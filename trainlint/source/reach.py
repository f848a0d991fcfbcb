"""Which files of a project others lead to, by their imports: files in, files out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from trainlint.source.summary import Module
from trainlint.source.world import World

MOST_FILES = 60
"""Files that are followed from a few: a web of imports holds most of a large project."""


def reach(world: World, modules: Iterable[Module]) -> Iterator[Module]:
    """These files, and those of the project that they import, and so on; each is read when its turn has come."""
    found: set[str] = set()
    waiting = deque(module.path for module in modules)
    while waiting and len(found) < MOST_FILES:
        path = waiting.popleft()
        module = world.workspace.module(path) if path not in found else None
        if isinstance(module, Module):
            found.add(path)
            yield module
            waiting += world.workspace.reached(module)


def leads(world: World, module: Module, path: str) -> bool:
    """Whether a file imports another, itself or through others."""
    key = ("reach", module.path)
    known = world.workspace.answers.get(key)
    if not isinstance(known, frozenset):
        known = world.workspace.answers[key] = frozenset(each.path for each in reach(world, [module]))
    return path in known
