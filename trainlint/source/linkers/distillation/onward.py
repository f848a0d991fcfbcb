"""What becomes of a loss: the expression that computes it in, each place that takes its value on out.

Names and returned values are followed, through the callers of the function too. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from trainlint.record import dataclass, field, thing
from trainlint.regex import regex
from trainlint.source import callers
from trainlint.source.summary import Module, last, targets
from trainlint.source.training import inside
from trainlint.source.world import World
from trainlint.value import Step

FunctionDef = ast.FunctionDef | ast.AsyncFunctionDef
DEEPEST = 4
"""Functions that a loss is returned through."""

MOST_STAGES = 300
NUMBERS = frozenset({"item", "tolist", "numpy", "detach"})
"""What is read of a tensor without its gradient."""

SHOWING = regex(
    r"^(?:print|float|int|round|str|format|len|isnan|isfinite|isinf|allclose|info|debug|warning|log(?:_\w+)?|add_scalars?"
    r"|write|report|tqdm|set_(?:postfix|description)|assert\w*)$"
)
"""Functions that show a number or compare it, and train on nothing."""

RECORDS = regex(r"metric|stat|log|info|meter|record|hist|monitor|scalar", re.IGNORECASE)
"""What a container of numbers is called that somebody looks at."""

CLASSES = regex(
    r"class|vocab|n_?way|(?:num|nb|n)_?(?:labels?|outputs?|logits|cls|actions|bins|codes|categories)|cls_?num|numel"
    r"|out_features|^[CKV]$",
    re.IGNORECASE,
)
"""What the number of classes is called."""


@thing
class Stage:
    """A node that takes a value on, and the operand that holds the value; ``ends`` says that nothing is seen behind."""

    module: Module
    node: ast.AST
    value: ast.AST
    ends: bool = False


@dataclass
class _Way:
    world: World
    seen: set[ast.AST] = field(default_factory=set)

    def climb(self, module: Module, value: ast.AST, depth: int) -> Iterator[Stage]:
        while True:
            node = module.parents.get(value)
            if node is None or node in self.seen or len(self.seen) > MOST_STAGES:
                return
            self.seen.add(node)
            onward = self._onward(module, node, depth)
            ends = onward is None if isinstance(node, ast.stmt) else _is_last(node, value)
            yield Stage(module, node, value, ends)
            for other, read in onward or ():
                yield from self.climb(other, read, depth + (other is not module or isinstance(node, ast.Return)))
            if ends or isinstance(node, ast.stmt):
                return
            value = node

    def _onward(self, module: Module, node: ast.AST, depth: int) -> list[tuple[Module, ast.AST]] | None:
        """Where the value goes on that a statement takes; None where that is not seen."""
        match node:
            case ast.Assign(targets=places):
                names = [each for place in places for each in targets(place)]
            case ast.AnnAssign(target=place) | ast.AugAssign(target=place) | ast.NamedExpr(target=place):
                names = list(targets(place))
            case ast.Return() if depth < DEEPEST:
                function = module.scope(node)
                found = _callers(self.world, module, function) if isinstance(function, FunctionDef) else ()
                return [(each.module, each.node) for each in found] or None
            case _:
                return None
        if not names or not all(isinstance(name, ast.Name) for name in names):
            return None
        return [read for name in names if isinstance(name, ast.Name) for read in _reads(module, name)]


def _callers(world: World, module: Module, function: FunctionDef) -> Iterable[callers.Caller]:
    """Who is known to call a function; what only may call it says nothing of where its value goes."""
    if function.name in callers.APPLIED:
        return callers.callers_of(world, module, function)
    return callers.calls_of(world, function.name, function, module)


def stages(world: World, module: Module, value: ast.expr) -> Iterator[Stage]:
    """Everything that takes a value on, each with what stands behind it."""
    return _Way(world).climb(module, value, 0)


def _reads(module: Module, name: ast.Name) -> Iterator[tuple[Module, ast.AST]]:
    """Where a scope reads or changes a name after it was given."""
    scope, row = module.scope(name), name.lineno
    for read in module.loads.get(name.id, ()):
        if isinstance(read, ast.Name) and read.lineno >= row and module.scope(read) is scope:
            yield module, read
    for each in inside(scope):
        match each:
            case ast.AugAssign(target=ast.Name(id=word) as target, lineno=line) if word == name.id and line >= row:
                yield from [(module, target)] if target is not name else ()


def _is_last(node: ast.AST, value: ast.AST) -> bool:
    """Whether an expression hands on no gradient: it reads a number, shows it, compares it, or sends it backwards."""
    match node:
        case ast.Attribute(attr=attr):
            return attr in NUMBERS or attr == "backward"
        case ast.Call(func=func):
            return func is not value and SHOWING.search(last(func)) is not None
    return isinstance(node, ast.Compare | ast.FormattedValue)


def scaled(world: World, module: Module, loss: ast.expr) -> Step | None:
    """The line that multiplies a loss by the number of classes, anywhere on its way."""
    for stage in stages(world, module, loss):
        factor = _factor(stage)
        if factor is not None and says_classes(factor):
            assert isinstance(stage.node, ast.expr | ast.stmt), "it multiplies"
            return stage.module.step(stage.node)
    return None


def _factor(stage: Stage) -> ast.expr | None:
    match stage.node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return right if stage.value is left else left
        case ast.AugAssign(target=target, op=ast.Mult(), value=value) if stage.value is target:
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="mul" | "mul_"), args=[factor]) if stage.value is not factor:
            return factor
    return None


def says_classes(node: ast.expr) -> bool:
    """Whether an expression is a number of classes, by its words or as the size of a dimension."""
    return any(_is_width(each) for each in ast.walk(node))


def _is_width(node: ast.AST) -> bool:
    match node:
        case (
            ast.Call(func=ast.Attribute(attr="size"), args=[place])
            | ast.Subscript(value=ast.Attribute(attr="shape"), slice=place)
        ):
            return ast.unparse(place) != "0"
        case ast.Name() | ast.Attribute():
            return CLASSES.search(last(node)) is not None
    return False


def is_only_shown(world: World, module: Module, loss: ast.expr) -> bool:
    """Whether all that becomes of a loss is a number that somebody reads."""
    known = world.workspace.answers.get(("only shown", loss))
    if not isinstance(known, bool):
        ends = [stage for stage in stages(world, module, loss) if stage.ends]
        known = world.workspace.answers["only shown", loss] = bool(ends) and all(_shows(stage) for stage in ends)
    return known


def _shows(stage: Stage) -> bool:
    match stage.node:
        case ast.Attribute(attr=attr):
            return attr != "backward"
        case ast.Compare() | ast.FormattedValue() | ast.Call() | ast.Assert():
            return True
        case ast.Assign(targets=[ast.Subscript(value=holder)]):
            return RECORDS.search(last(holder)) is not None
    return False
