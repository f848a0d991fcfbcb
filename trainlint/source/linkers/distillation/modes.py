"""Modes of modules: what in a module does something else in training mode, and what switches one to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.regex import regex
from trainlint.source import callers, objects
from trainlint.source.summary import Module, last
from trainlint.source.things import Built, Class, External, Frame, Thing
from trainlint.source.world import World
from trainlint.value import Step

DEEPEST = 4
DEPENDING = regex(
    r"[Dd]rop_?(?:out|path|connect|block)|DropPath|BatchNorm|BatchRenorm|StochasticDepth|Transformer|MultiheadAttention"
    r"|RReLU|InstanceNorm|\btraining$"
)
"""What the names of layers and functions say that depend on the mode of their module, or hold what does."""

PLAIN = frozenset(
    f"torch.nn.{name}"
    for name in (
        "Sequential", "ModuleList", "ModuleDict", "Linear", "Bilinear", "Embedding", "Conv1d", "Conv2d", "Conv3d",
        "ConvTranspose1d", "ConvTranspose2d", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "LogSoftmax",
        "Identity", "Flatten", "LayerNorm", "GroupNorm", "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "LeakyReLU",
        "ELU", "Softplus", "Parameter",
    )
)  # fmt: skip
"""Modules that do the same in both modes."""


def depending(world: World, thing: Thing) -> Step | bool | None:
    """A line of a module that depends on its mode; False if there is none, None where that is not known."""
    match thing:
        case Built(what=Class() as cls):
            return _of_class(world, cls, DEEPEST)
        case Built(what=External(name=name), node=ast.expr() as node, frame=frame) if name in PLAIN:
            return _within(world, [node], frame, DEEPEST)
    return None


def _of_class(world: World, cls: Class, depth: int) -> Step | bool | None:
    answers: list[Step | bool | None] = []
    for each in objects.lineage(world, cls):
        if isinstance(each, External):
            answers.append(False if each.name in objects.PLAIN else None)
        else:
            answers.append(_within(world, each.node.body, world.open_frame(each.module, each.node.body[0]), depth))
    return _joined(answers)


def _joined(answers: list[Step | bool | None]) -> Step | bool | None:
    found = next((each for each in answers if isinstance(each, Step)), None)
    return found or (None if None in answers else False)


def _within(world: World, nodes: list[ast.stmt] | list[ast.expr], frame: Frame, depth: int) -> Step | bool | None:
    """What depends on the mode among the names that some nodes read, those of the project's classes opened."""
    answers: list[Step | bool | None] = []
    for name in (each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute)):
        if DEPENDING.search(last(name)):
            return frame.step(name)
        call = frame.module.parents.get(name)
        if isinstance(call, ast.Call) and call.func is name and last(name)[:1].isupper():
            answers.append(_of_call(world, name, frame.module, depth - 1))
    return _joined(answers)


def _of_call(world: World, name: ast.expr, module: Module, depth: int) -> Step | bool | None:
    quiet = world.apart()
    thing = quiet.evaluate(name, quiet.open_frame(module, name))
    match thing:
        case Class():
            return _of_class(world, thing, depth) if depth > 0 else None
        case External(name=full):
            return False if full in PLAIN or full.startswith("torch.optim") else None
    return None


def switched(world: World, cls: Class) -> Step | None:
    """The line that switches an object of a class, and all that is in it, to training mode."""
    for made in callers.constructions(world, cls):
        for module, call in _train_calls(world, made.module):
            assert isinstance(call.func, ast.Attribute), "a method is called"
            if module is made.module and _name(made.module.parents.get(made.node)) == ast.unparse(call.func.value):
                return module.step(call)
            if _is_of(world, cls, module, call.func.value):
                return module.step(call)
        trainer = _trainer(made)
        if trainer is not None:
            return made.module.step(trainer)
    return None


def evaluated_by_name(world: World, cls: Class, part: str) -> bool:
    """Whether a file that makes an object of a class finds a part of it by its name, in words, to evaluate it."""
    modules = {cls.module, *(made.module for made in callers.constructions(world, cls))}
    return any(_looks_up(module, node, part) for module in modules for node in module.loads.get("eval", ()))


def _looks_up(module: Module, node: ast.expr, part: str) -> bool:
    """Whether what a node is read of is found by a word: ``getattr(pair, "teacher")``, a loop over named children."""
    holder: ast.AST = node
    scope = module.scope(node)
    while not isinstance(holder, ast.For) and module.parents[holder] is not scope:
        holder = module.parents[holder]
    words = (each.value for each in ast.walk(holder) if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return any(word and word in part for word in words)


def _name(node: ast.AST | None) -> str:
    """The name that a statement binds."""
    match node:
        case ast.Assign(targets=[target]):
            return ast.unparse(target)
    return ""


def _train_calls(world: World, near: Module) -> Iterator[tuple[Module, ast.Call]]:
    """The calls ``x.train()`` of a project, a file's own first."""
    others = [each for each in world.workspace.mentions(".train(", near.path) if each is not near]
    for module in (near, *others):
        for node in () if module.is_test else module.loads.get("train", ()):
            call = module.parents.get(node)
            if isinstance(node, ast.Attribute) and isinstance(call, ast.Call) and call.func is node and _is_on(call):
                yield module, call


def _is_on(call: ast.Call) -> bool:
    """Whether ``train(mode)`` switches training on."""
    return all(not isinstance(each, ast.Constant) or each.value is True for each in call.args)


def _is_of(world: World, cls: Class, module: Module, node: ast.expr) -> bool:
    quiet = world.apart()
    thing = quiet.evaluate(node, quiet.open_frame(module, node))
    return isinstance(thing, Built) and isinstance(thing.what, Class) and thing.what.node is cls.node


def _trainer(made: callers.Caller) -> ast.Call | None:
    """The trainer of a library that is given an object where that is made."""
    name = _name(made.module.parents.get(made.node))
    for read in made.module.loads.get(name, ()):
        parent: ast.AST | None = made.module.parents.get(read)
        parent = made.module.parents.get(parent) if isinstance(parent, ast.keyword) else parent
        if isinstance(parent, ast.Call) and last(parent.func).endswith("Trainer"):
            return parent
    return None
