"""What the numbers of a tensor mean: an activation says so, and most operations after it take that away.

Expressions and tensors in, tensors out. Copies, casts and moves keep a meaning; arithmetic never does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from trainlint.facts import Activation, Form
from trainlint.knowledge import activations
from trainlint.record import replace
from trainlint.source import formats
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Arguments, Binding, Constant, Frame, Tensor, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

FORMS = {
    "softmax": Form.PROBABILITIES,
    "sigmoid": Form.PROBABILITIES,
    "log_softmax": Form.LOG_PROBABILITIES,
    "logsigmoid": Form.LOG_PROBABILITIES,
}
TURNED = {"log": (Form.PROBABILITIES, Form.LOG_PROBABILITIES), "exp": (Form.LOG_PROBABILITIES, Form.PROBABILITIES)}
OVER_CLASSES = ("softmax", "log_softmax")
OPEN_METHODS = frozenset(FORMS)
"""Methods that make even an open thing a tensor whose meaning is known."""

LOST = Unknown("the dimension of the softmax is not known")


def activated(world: World, tensor: Tensor, word: str, dim: Thunk | None, node: ast.AST, frame: Frame | None) -> Tensor:
    """A tensor behind an activation: a softmax along ``dim``, a function of each number, a log of what is known."""
    if frame is None or not isinstance(node, ast.expr) or not hasattr(node, "lineno"):
        return tensor.but()
    step, before = frame.step(node), tensor.activation
    if word in TURNED:
        needed, made = TURNED[word]
        known = before is not None and before.form is needed
        return replace(tensor, activation=_turned(before, word, made, node, frame) if known else None)
    axis = _axis(world, dim, tensor) if word in OVER_CLASSES else None
    return replace(tensor, activation=None if isinstance(axis, Unknown) else Activation(word, FORMS[word], step, axis))


def _turned(before: Activation | None, word: str, made: Form, node: ast.expr, frame: Frame) -> Activation | None:
    return before and Activation(f"the {word} of {before.name}", made, frame.step(node), before.axis)


def _axis(world: World, dim: Thunk | None, tensor: Tensor) -> int | Unknown:
    """Where a softmax runs: the last dimension or the second. Without ``dim`` it is the second of a matrix."""
    given = world.force(dim) if dim is not None else Constant(None)
    if isinstance(given, Constant) and given.value is None:
        return 1
    number = given.number if isinstance(given, Integer) else None
    if number == 2 and tensor.dim == -1 and not isinstance(tensor.layer, Unknown):
        return -1
    return number if number in (-1, 1) else LOST


def by_function(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """``torch.softmax(x, -1)``."""
    word = activations.FUNCTIONS[name]
    source = given.positional[0] if given.positional else given.keywords.get("input")
    thing = world.force(source) if source else Unknown("it is called without arguments")
    if isinstance(thing, Unknown) and word in TURNED:
        return thing
    dim = given.keywords.get("dim") or (given.positional[1] if len(given.positional) > 1 else None)
    tensor = activated(world, opened(thing), word, dim, node, frame)
    if source is not None and isinstance(node, ast.Call) and source.node in nodes_of(node):
        tensor = _applied(tensor, source.node, node, frame)
    return _computed(world, tensor, word, given, 3 if ".functional." in name else 2, node, frame)


def by_method(world: World, tensor: Tensor, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Tensor:
    """``x.softmax(-1)``."""
    dim = given.keywords.get("dim") or (given.positional[0] if given.positional else None)
    made = activated(world, tensor, name, dim, node, frame)
    match node:
        case ast.Call(func=ast.Attribute(value=value)):
            made = _applied(made, value, node, frame)
    return _computed(world, made, name, given, 1, node, frame)


def _applied(tensor: Tensor, inner: ast.AST, node: ast.Call, frame: Frame) -> Tensor:
    """The tensor of an activation that a call applies to an expression in its own line, for one reader alone."""
    module = frame.module
    if tensor.activation is None or not isinstance(inner, ast.expr) or not _has_one_reader(module, node):
        return tensor
    word = module.word(node.func) if last(node.func) == "softmax" else None
    return replace(tensor, activation=replace(tensor.activation, inner=module.span(inner), word=word))


def by_module(world: World, tensor: Tensor, word: str, dim: Thunk | None, node: ast.AST, frame: Frame) -> Tensor:
    """``nn.Softmax(dim=1)(x)``, by the line that makes the module."""
    made = activated(world, tensor, word, dim, node, frame)
    if made.activation is None or frame is None or not isinstance(node, ast.Call):
        return made
    if not _has_one_reader(frame.module, node):
        return made
    said = frame.module.word(node.func) if last(node.func) == "Softmax" else None
    return replace(made, activation=replace(made.activation, is_made=True, word=said))


def _has_one_reader(module: Module, node: ast.Call) -> bool:
    """Whether what a call makes goes to one place: it is an argument, is returned, or has a name that is read once."""
    match module.parents.get(node):
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]) | ast.AnnAssign(target=target):
            name, scope = dotted(target), module.scope(node)
            reads = [each for each in module.loads.get(last(target), ()) if dotted(each) == name]
            if isinstance(target, ast.Name):
                reads = [each for each in reads if module.scope(each) is scope and each.lineno > node.lineno]
            return len(reads) <= 1
        case ast.Call() | ast.keyword() | ast.Return() | ast.Attribute():
            return True
    return False


def _computed(
    world: World, tensor: Tensor, word: str, given: Arguments, place: int, node: ast.AST, frame: Frame
) -> Tensor:
    """A tensor behind an activation, in the format that its ``dtype`` names; the log of probabilities keeps theirs."""
    if word in TURNED:
        return tensor
    dtype = given.keywords.get("dtype") or (given.positional[place] if len(given.positional) > place else None)
    return formats.softened(world, dtype, tensor, node, frame)


def is_method(world: World, name: str, given: Arguments) -> bool:
    """Whether a call on something open is a tensor's own method: ``x.softmax(-1)``, not ``layers.softmax(x)``."""
    if name not in OVER_CLASSES or not given.positional:
        return not given.positional
    return isinstance(world.force(given.positional[0]), Integer | Constant)


def opened(thing: Thing) -> Tensor:
    """What only a tensor can stand for here: itself, or a tensor of which nothing is known."""
    match thing:
        case Tensor():
            return thing
        case Unknown():
            return Tensor(thing)
    return Tensor(Unknown("the logits come from something open"), format=formats.known(thing))


def along(tensor: Tensor, where: Callable[[int], int | None]) -> Activation | None:
    """The activation of a tensor whose dimensions move; lost where nobody knows along which one its sums run."""
    known = tensor.activation
    if known is None or known.axis is None:
        return known
    axis = where(known.axis)
    return None if axis is None else replace(known, axis=axis)


def bounded(tensor: Tensor) -> Tensor:
    """Clamped: a probability stays one, a raw score may become one."""
    known = tensor.activation
    return tensor if known is None or not known.is_layer else tensor.but()


def kept(tensor: Tensor, binding: Binding, frame: Frame, use: ast.AST) -> Tensor:
    """A tensor where a name is read: no activation is known if a loop went on, or something worked in place."""
    if tensor.activation is None:
        return tensor
    return tensor.but() if _left_loop(binding, frame, use) or _worked_on(binding, frame, use) else tensor


def _left_loop(binding: Binding, frame: Frame, use: ast.AST) -> bool:
    """Whether a name is bound in a loop that is over where it is read: another turn may have bound it last."""
    loops = {node for node in _around(frame, use) if isinstance(node, ast.For | ast.AsyncFor | ast.While)}
    holders = _around(frame, binding.node)
    return any(isinstance(node, ast.For | ast.AsyncFor | ast.While) and node not in loops for node in holders)


def _around(frame: Frame, node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    holder: ast.AST | None = node
    while holder is not None and holder is not frame.function:
        found.append(holder)
        holder = frame.module.parents.get(holder)
    return found


def _worked_on(binding: Binding, frame: Frame, use: ast.AST) -> bool:
    """Whether a method that works in place stands between a definition and a use: ``x.clamp_(0, 1)``."""
    first, last = getattr(binding.node, "lineno", 0), getattr(use, "lineno", 0)
    return any(name == binding.name and first < row <= last for name, row in _in_place(frame))


def _in_place(frame: Frame) -> tuple[tuple[str, int], ...]:
    """What a scope works on in place, and where."""
    scope = frame.function or frame.module.tree
    known = frame.module.kept.get(("in place", scope))
    if not isinstance(known, tuple):
        found = (_target(node) for node in nodes_of(scope) if isinstance(node, ast.Expr))
        known = frame.module.kept["in place", scope] = tuple(each for each in found if each is not None)
    return known


def _target(node: ast.Expr) -> tuple[str, int] | None:
    match node.value:
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr.endswith("_") and not attr.endswith("__"):
            pass
        case ast.Call(args=[value, *_], keywords=[*_, ast.keyword(arg="inplace" | "out")]):
            pass
        case _:
            return None
    name = dotted(value)
    return (name, node.lineno) if name else None
