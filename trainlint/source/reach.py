"""Which files of a project others lead to, by their imports: files in, files out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainlint.source.summary import Module
from trainlint.source.world import World

MOST_FILES = 60
"""Files that are followed from a few: a web of imports holds most of a large project."""


def reach(world: World, modules: Iterable[Module]) -> list[Module]:
    """These files, and those of the project that they import, and so on."""
    found: dict[str, Module] = {}
    waiting = list(modules)
    while waiting and len(found) < MOST_FILES:
        module = waiting.pop(0)
        if module.path not in found:
            found[module.path] = module
            waiting += _imported(world, module)
    return list(found.values())


def _imported(world: World, module: Module) -> Iterator[Module]:
    names = {*module.imports.values(), *(star for star, _ in module.stars)}
    for name in sorted({each for full in names for each in (full, full.rpartition(".")[0]) if each}):
        path = world.workspace.locate(name, module)
        other = world.workspace.module(path) if path is not None else None
        if isinstance(other, Module):
            yield other


def leads(world: World, module: Module, path: str) -> bool:
    """Whether a file imports another, itself or through others."""
    return any(each.path == path for each in reach(world, [module]))
