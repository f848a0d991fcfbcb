"""A list or a table of tensors in; out, the format in which its tensors are stored: of the weights they were made from.

``{name: weight.clone() for name, weight in model.named_parameters()}``, or one entry after the other in a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Storage
from trainlint.source.casts import cast
from trainlint.source.linkers.site import Site
from trainlint.source.parameters import trained
from trainlint.source.storage import storage
from trainlint.source.summary import Module, dotted
from trainlint.source.things import Frame, Thunk
from trainlint.source.world import World
from trainlint.value import Unknown

UNFOLLOWED = Unknown("how the averages are made is not followed")
CONTAINERS = (ast.DictComp, ast.ListComp, ast.GeneratorExp)
Filling = tuple[ast.expr, ast.expr]
"""A value that is put in, and what the loop goes over that gives it."""


def stored(world: World, site: Site, container: ast.expr, frame: Frame) -> Storage | Unknown:
    """The format of the tensors in a container when a site updates them."""
    kept: Storage | Unknown | None = None
    for value, over in _fillings(site, container):
        found = _of_value(world, site.module, value, over, frame)
        if isinstance(found, Unknown) or (kept is not None and isinstance(kept, Storage) and kept.dtype != found.dtype):
            return found if isinstance(found, Unknown) else UNFOLLOWED
        kept = found
    return kept or UNFOLLOWED


def _fillings(site: Site, container: ast.expr) -> Iterator[Filling]:
    """What a file puts into a container, the update itself aside."""
    module, name = site.module, dotted(container)
    own = module.statement(site.node)
    for node in module.nodes:
        match node:
            case ast.Assign(targets=[target], value=value) if node is not own and _is(module, target, name, site):
                yield from _made(value)
            case ast.Assign(targets=[ast.Subscript(value=target)], value=value) if node is not own:
                over = _around(module, node)
                if _is(module, target, name, site) and over is not None:
                    yield value, over


def _is(module: Module, target: ast.expr, name: str | None, site: Site) -> bool:
    """Whether a name is that of the container: an attribute of the same class, a variable that the site may see."""
    if name is None or dotted(target) != name:
        return False
    home, asking = module.scope(target), module.scope(site.node)
    if "." in name:
        return module.parents.get(home) is module.parents.get(asking)
    return home is module.tree or home is asking


def _made(value: ast.expr) -> Iterator[Filling]:
    match value:
        case ast.Call(args=[inner]) if isinstance(inner, CONTAINERS):
            yield from _made(inner)
        case ast.DictComp(value=inner, generators=[over]):
            yield inner, over.iter
        case ast.ListComp(elt=inner, generators=[over]) | ast.GeneratorExp(elt=inner, generators=[over]):
            yield inner, over.iter
        case ast.Dict(keys=[]) | ast.List(elts=[]) | ast.Constant(value=None):
            return
        case ast.Call(args=[], keywords=[]) if not isinstance(value.func, ast.Attribute):
            return
        case _:
            yield value, value


def _around(module: Module, node: ast.AST) -> ast.expr | None:
    parent = module.parents.get(node)
    while parent is not None and not isinstance(parent, ast.FunctionDef):
        if isinstance(parent, ast.For):
            return parent.iter
        parent = module.parents.get(parent)
    return None


def _of_value(world: World, module: Module, value: ast.expr, over: ast.expr, frame: Frame) -> Storage | Unknown:
    """The format of one tensor that is put in: of the last cast on the way, else of the weights."""
    inner = frame if module.scope(over) is frame.function else world.open_frame(module, over)
    node: ast.expr = value
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call):
            known = cast(world, node, inner)
            if known is not None:
                return known
            if not isinstance(node.func, ast.Attribute) or value is over:
                return UNFOLLOWED
            node = node.func
        node = node.value
    owners = trained(world, Thunk(over, inner))
    if owners.open or len(owners.owners) != 1 or not isinstance(node, ast.Name):
        return UNFOLLOWED
    (owner,) = owners.owners
    return storage(world, world.evaluate(owner.node, owner.frame), module.statement(over), inner)
