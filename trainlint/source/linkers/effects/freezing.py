"""Switches of gradients that are none: ``module.requires_grad = False``, and names that PyTorch does not know.

A module has no ``requires_grad``: to write it makes a new attribute that nothing reads, and every parameter goes on
being trained.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import FreezingWrite, Unfrozen
from trainlint.knowledge.effects import MISSPELLED
from trainlint.regex import regex
from trainlint.source import objects
from trainlint.source.linkers.effects import proofs
from trainlint.source.linkers.effects.projects import trains
from trainlint.source.linkers.site import Site, standing
from trainlint.source.sift.effects import FROZEN, freezes
from trainlint.source.summary import Module, dotted
from trainlint.source.things import Built, Class, Constant, Frame, Opaque
from trainlint.source.world import World
from trainlint.source.writes import attribute_writes
from trainlint.value import Step, Unknown

SWITCH = "requires_grad"
PARAMETER = regex(r"param|weight|bias|embed|token|scale|tensor|noise|(?:^|_)(?:p|x|w|b|v|z)\d*$", re.IGNORECASE)
"""What is called so is a tensor, if nothing else is known of it."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The statements that write a switch of gradients, in a project that trains."""
    if not freezes(module.data) or not trains(world):
        return
    written = attribute_writes(module)
    for word in (SWITCH, *sorted(MISSPELLED)):
        for _, node in written.get(word, ()):
            if isinstance(node, ast.Assign) and _target(node) is not None and FROZEN.search(_head(module, node)):
                yield Site(node, module)


def _head(module: Module, node: ast.stmt) -> bytes:
    return module.rows[node.lineno - 1].encode()


def _target(node: ast.stmt) -> ast.Attribute | None:
    """The switch that a statement writes."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=attr) as target]) if attr == SWITCH or attr in MISSPELLED:
            return target
    return None


def facts(world: World, site: Site) -> Iterator[FreezingWrite]:
    """What one path shows of the object whose switch is written."""
    frame = standing(world, site)
    assert isinstance(site.node, ast.Assign), "a site is an assignment"
    target = _target(site.node)
    assert target is not None, "looked at before"
    if _is_on(world, site.node.value, frame) or _is_flag(target, site.node.value):
        return
    if _is_own(world, target, frame) or _is_frozen_too(site.module, target) or _is_asked_for(site, target):
        return
    module = proofs.module(world, target.value, frame)
    if target.attr in MISSPELLED:
        proof = module or proofs.parameter(world, target.value, frame)
        if proof is not None:
            yield _written(site, target, proof, module is not None)
    elif module is not None:
        yield _written(site, target, module, True)
    elif _is_open(world, target.value, frame):
        name = ast.unparse(target.value)
        yield _written(site, target, Unknown(f"what {name} is, is not known", name), False)


def _is_asked_for(site: Site, target: ast.Attribute) -> bool:
    """Whether a line stands on the other arm of a test that asks whether its object is of a class."""
    name = ast.unparse(target.value)
    node: ast.AST = site.node
    while node is not site.module.scope(site.node):
        holder = site.module.parents[node]
        match holder:
            case ast.If(test=ast.Call(func=ast.Name(id="isinstance"), args=[asked, _]), orelse=orelse):
                if node in orelse and ast.unparse(asked) == name:
                    return True
        node = holder
    return False


def _is_on(world: World, value: ast.expr, frame: Frame) -> bool:
    """Whether a switch is written on: that is how it stands anyway."""
    thing = world.evaluate(value, frame)
    return isinstance(thing, Constant) and thing.value is True


def _is_flag(target: ast.Attribute, value: ast.expr) -> bool:
    """``self.requires_grad = requires_grad``: what the making was told is put down."""
    return dotted(target.value) == "self" and not isinstance(value, ast.Constant)


def _is_own(world: World, target: ast.Attribute, frame: Frame) -> bool:
    """Whether a class of the project knows the attribute: it defines it, or reads it of itself."""
    thing = world.evaluate(target.value, frame)
    if not isinstance(thing, Built) or not isinstance(thing.what, Class):
        return False
    known = [each for each in objects.lineage(world, thing.what) if isinstance(each, Class)]
    return any(_knows(each, target.attr) for each in known)


def _knows(cls: Class, attribute: str) -> bool:
    """Whether a class has a method or a field of a name, sets attributes by a method of its own, or reads the name."""
    methods = objects.methods(cls)
    if attribute in methods or "__setattr__" in methods:
        return True
    return any(
        isinstance(each, ast.Attribute) and each.attr == attribute and isinstance(each.ctx, ast.Load)
        and dotted(each.value) == "self"
        for each in ast.walk(cls.node)
    ) or any(
        isinstance(each, ast.AnnAssign | ast.Assign) and attribute in ast.unparse(each).partition("=")[0]
        for each in cls.module.plain(cls.node)
    )  # fmt: skip


def _is_frozen_too(module: Module, target: ast.Attribute) -> bool:
    """Whether the same file freezes the parameters of the same object, so that the line is merely idle."""
    name = ast.unparse(target.value)
    nodes = {method: module.loads.get(method, ()) for method in ("requires_grad_", "parameters", "named_parameters")}
    return any(
        isinstance(node, ast.Attribute)
        and ast.unparse(node.value) == name
        and (method == "requires_grad_" or _is_looped_to_freeze(module, node))
        for method, found in nodes.items()
        for node in found
    )


def _is_looped_to_freeze(module: Module, node: ast.Attribute) -> bool:
    """``for p in model.parameters(): p.requires_grad = False``."""
    holder: ast.AST | None = node
    while holder is not None and not isinstance(holder, ast.stmt):
        holder = module.parents.get(holder)
    return isinstance(holder, ast.For) and any(
        isinstance(each, ast.Attribute) and each.attr in (SWITCH, f"{SWITCH}_") for each in ast.walk(holder)
    )


def _is_open(world: World, node: ast.expr, frame: Frame) -> bool:
    """Whether a thing may be a module for all that is known, its name included."""
    name = (dotted(node) or "").rpartition(".")[2]
    if not name or PARAMETER.search(name) or proofs.tensor(world, node, frame) is not None:
        return False
    return isinstance(world.evaluate(node, frame), Opaque | Unknown)


def _written(site: Site, target: ast.Attribute, proof: Step | Unknown, is_module: bool) -> FreezingWrite:
    assert isinstance(site.node, ast.Assign), "a site is an assignment"
    why = Unfrozen.MODULE if target.attr == SWITCH else Unfrozen.MISSPELLED
    holder, value = ast.unparse(target.value), ast.unparse(site.node.value)
    return FreezingWrite(site.span, site.span, None, (), (), holder, target.attr, value, proof, why, is_module)
