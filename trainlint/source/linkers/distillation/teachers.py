"""Teachers that are kept on the module which is trained, and the mode in which they answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import KeptTeacher
from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.linkers.distillation import modes, readings
from trainlint.source.linkers.distillation.readings import Keeper, Uses
from trainlint.source.linkers.site import Site
from trainlint.source.objects import FunctionDef
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Class, Constant, Entries, External, Items
from trainlint.source.world import World
from trainlint.value import Integer, Step

TEACHER = regex(
    r"^_?(?:\w+_)?teacher(?:_?(?:model|net|network|encoder|backbone|module|lm|bert|vit))?$"
    r"|^(?:t_?(?:model|net)|(?:model|net)_t(?:eacher)?)$",
    re.IGNORECASE,
)
AVERAGED = regex(r"(?<![a-z])ema(?![a-z])|momentum|moving_?average|polyak|mean_?teacher", re.IGNORECASE)
"""What is said where the teacher is an average of the student."""

MODULES = ("torch.nn.Module", "lightning.LightningModule", "pytorch_lightning.LightningModule")
BASES = frozenset({*objects.PLAIN, *MODULES})
"""Bases whose ``train`` switches everything that is kept on the module."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """Where a constructor keeps something that is called a teacher."""
    if not any(TEACHER.search(word) for word in module.attributes):
        return
    for init in module.definitions.get("__init__", ()):
        if isinstance(init, FunctionDef) and isinstance(module.parents.get(init), ast.ClassDef):
            for node in ast.walk(init):
                if isinstance(node, ast.Assign) and _kept(node, init):
                    yield Site(node, module)


def _kept(node: ast.Assign, init: FunctionDef) -> str:
    """The name under which an assignment keeps a teacher on the object."""
    match node.targets:
        case [ast.Attribute(value=ast.Name(id=first), attr=attr)] if TEACHER.search(attr) and init.args.args:
            return attr if first == init.args.args[0].arg else ""
    return ""


def facts(world: World, site: Site) -> Iterator[KeptTeacher]:
    """The teacher of one assignment, if it is a part of a module that is switched to training mode with it."""
    keeper = _keeper(world, site)
    if keeper is None or not _is_kept(world, site, keeper):
        return
    uses = readings.uses(world, site.module, keeper)
    still = uses.still_lines
    if uses.handled or not still or not readings.is_beside_student(site.module, keeper):
        return
    evaluated = _evaluated(world, site.module, keeper, uses)
    switched = modes.switched(world, keeper.cls)
    if evaluated is not None and (switched is None or _is_lightning(world, keeper.cls)):
        return
    if modes.evaluated_by_name(world, keeper.cls, keeper.name):
        return
    depends = modes.depending(world, world.evaluate(keeper.assignment.value, world.open_frame(site.module, site.node)))
    if depends is not False:
        yield KeptTeacher(
            site.span, site.span, None, (), (), f"{keeper.first}.{keeper.name}", keeper.cls.name, still, evaluated,
            switched, depends if isinstance(depends, Step) else None,
        )  # fmt: skip


def _keeper(world: World, site: Site) -> Keeper | None:
    init = site.module.scope(site.node)
    holder = site.module.parents.get(init)
    if not (isinstance(holder, ast.ClassDef) and isinstance(init, FunctionDef) and isinstance(site.node, ast.Assign)):
        return None
    cls = Class(holder, site.module, world.open_frame(site.module, holder))
    return Keeper(cls, _kept(site.node, init), init, site.node)


def _is_lightning(world: World, cls: Class) -> bool:
    """Whether a trainer of Lightning trains it, which leaves the modes as it finds them."""
    return any(isinstance(each, External) and "LightningModule" in each.name for each in objects.lineage(world, cls))


def _is_kept(world: World, site: Site, keeper: Keeper) -> bool:
    """Whether the class is a module whose ``train`` nobody overrides, and the teacher a module in it."""
    family = [each for each in objects.lineage(world, keeper.cls) if isinstance(each, Class)]
    bases = [each.name for each in objects.lineage(world, keeper.cls) if isinstance(each, External)]
    are_known = sum(len(each.node.bases) for each in family) == len(family) - 1 + len(bases)
    if not are_known or not set(MODULES) & set(bases) or not set(bases) <= BASES:
        return False
    every = [*family, *callers.subclasses(world, keeper.cls)]
    if any("train" in objects.methods(each) or _says_average(each) for each in every):
        return False
    value = world.evaluate(keeper.assignment.value, world.open_frame(site.module, site.node))
    return not isinstance(value, Items | Entries | Constant | Integer)


def _says_average(cls: Class) -> bool:
    rows = cls.module.rows[cls.node.lineno - 1 : cls.node.end_lineno]
    return any(AVERAGED.search(row.partition("#")[0]) for row in rows)


def _evaluated(world: World, module: Module, keeper: Keeper, uses: Uses) -> Step | None:
    """The line that puts a teacher into evaluation mode once: in the constructor, where it is made, or by a caller."""
    if uses.evaluated:
        return uses.evaluated[0]
    match keeper.assignment.value:
        case ast.Call() as call if readings.evaluates(world, module, call):
            return module.step(call)
        case ast.Name(id=name):
            return _by_callers(world, keeper, name)
    return None


def _by_callers(world: World, keeper: Keeper, name: str) -> Step | None:
    """The line of a caller that puts what it hands over into evaluation mode, or loads it in that mode."""
    for made in callers.constructions(world, keeper.cls):
        given = _given(keeper, made.node, name)
        found = _by_caller(world, made.module, given) if given is not None else None
        if found is not None:
            return found
    return None


def _given(keeper: Keeper, made: ast.Call, name: str) -> ast.expr | None:
    named = next((each.value for each in made.keywords if each.arg == name), None)
    places = [each.arg for each in keeper.init.args.args][1:]
    place = places.index(name) if name in places else len(made.args)
    return named or (made.args[place] if place < len(made.args) else None)


def _by_caller(world: World, module: Module, given: ast.expr) -> Step | None:
    for node in module.loads.get(last(given), ()):
        parent = module.parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.attr == "eval" and dotted(node) == dotted(given):
            return module.step(parent)
    for maker in _makers(module, given):
        is_loaded = any(
            isinstance(each, ast.Call) and last(each.func) in readings.EVALUATED for each in ast.walk(maker)
        )
        if is_loaded or (isinstance(maker, ast.Call) and readings.evaluates(world, module, maker)):
            return module.step(maker)
    return None


def _makers(module: Module, given: ast.expr) -> Iterator[ast.expr]:
    """What a name may have been given in the scope that hands it over."""
    if isinstance(given, ast.Call):
        yield given
        return
    for node in ast.walk(module.scope(given)):
        if isinstance(node, ast.Assign) and any(dotted(each) == dotted(given) for each in node.targets):
            yield node.value
