"""Tests that end decoding on a symbol, against every row of training data that the project makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from trainlint.facts import Fact, StopCheck
from trainlint.knowledge.roles import index_roles
from trainlint.source import contents, jobs
from trainlint.source.linkers.site import Site, standing
from trainlint.source.objects import lineage, methods
from trainlint.source.summary import Module, last
from trainlint.source.things import Class, External, Frame
from trainlint.source.world import World
from trainlint.value import Integer, Role, Step, Unknown

DATASETS = {f"torch.utils.data.{name}" for name in ("Dataset", "IterableDataset")} | {
    "torch.utils.data.dataset.Dataset"
}
TAUGHT = Unknown("a checkpoint that is loaded may know the symbol")
NO_ROWS = Unknown("no dataset of the project is seen to make the rows")
OTHER_SYMBOLS = Unknown("the rows that are seen hold symbols of another table")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The comparisons with a symbol whose name says end."""
    for compare in module.of_kind(ast.Compare):
        if isinstance(compare.ops[0], ast.Eq | ast.NotEq):
            for side in (compare.left, *compare.comparators):
                if isinstance(side, ast.Name | ast.Attribute) and _says_end(last(side)):
                    yield Site(side, module)


@lru_cache(4096)
def _says_end(word: str) -> bool:
    return Role.END in index_roles(word)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a stop; nothing where the project does more with the symbol than to compare with it."""
    compare = site.module.parents[site.node]
    assert isinstance(compare, ast.Compare) and isinstance(site.node, ast.expr), "a site is a side of a comparison"
    if not jobs.meets_a_sample(world, site.module, compare, site.node) or not jobs.stops(site.module, compare):
        return
    frame = standing(world, site)
    number = world.evaluate(site.node, frame)
    if not isinstance(number, Integer) or number.number is None or number.assumed or not number.origins:
        return
    if jobs.only_compared(world, number, site.module.path):
        span = site.module.span(compare)
        rows = _rows(world, number, site.module)
        yield StopCheck(span, span, None, (), (), ast.unparse(site.node), number, rows)


def _rows(world: World, number: Integer, module: Module) -> tuple[Step, ...] | Unknown:
    """The lines that fill the rows, if none can be this number, and the rows hold symbols of the same table."""
    if "from_pretrained" in module.loads:
        return TAUGHT
    found: list[contents.Held] = []
    for node, frame in _returned(world, module):
        for each in contents.held(world, node, frame):
            if isinstance(each, Unknown):
                return each
            if not each.excludes(number):
                return Unknown(f"{each.where.text} may be {number}")
            found.append(each)
    if not found:
        return NO_ROWS
    tables = {origin.rpartition(".")[0] for origin in number.origins}
    shared = any(origin.rpartition(".")[0] in tables for each in found for origin in each.lowest.origins)
    return tuple(dict.fromkeys(each.where for each in found)) if shared else OTHER_SYMBOLS


def _returned(world: World, near: Module) -> Iterator[tuple[ast.expr, Frame]]:
    """What the datasets of the project return for one row."""
    for module in world.workspace.mentions("__getitem__", near.path):
        for node in () if module.is_test else module.definitions.get("__getitem__", ()):
            owner = module.parents.get(node)
            if isinstance(owner, ast.ClassDef) and isinstance(node, ast.FunctionDef):
                cls = Class(owner, module, world.open_frame(module, owner))
                if any(isinstance(base, External) and base.name in DATASETS for base in lineage(world, cls)):
                    frame = world.open_frame(module, methods(cls)["__getitem__"].body[0])
                    for each in ast.walk(node):
                        if isinstance(each, ast.Return) and each.value is not None:
                            yield each.value, frame
