"""What an optimizer is given to train: an expression in, the models whose parameters it holds and its groups out."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trainlint.record import dataclass, field, replace, thing
from trainlint.source import callers
from trainlint.source.binding import argument, arguments, declared, defaults, parameters
from trainlint.source.casts import is_cast
from trainlint.source.names import reaching, returns, taken
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import last
from trainlint.source.things import Frame, Function, Thunk
from trainlint.source.world import World

DEEPEST = 12
ITERATED = frozenset(
    {
        "parameters", "named_parameters", "trainable_parameters", "get_parameters", "get_trainable_parameters",
        "trainable_params", "state_dict", "optim_parameters", "modules", "named_modules", "children",
    }
)  # fmt: skip
"""Methods that hand out the parameters of what they are called on."""

PASSING = frozenset(
    {
        "filter", "list", "tuple", "chain", "iter", "sorted", "set", "from_iterable", "values", "items", "reversed",
        "dict", "zip", "map", "enumerate",
    }
)  # fmt: skip
"""Calls that hold what they are given, or what they are called on."""

GROWING = frozenset({"append", "extend", "add", "update", "insert", "setdefault"})


Group = tuple[Mapping[str, ast.expr], Frame]
"""The entries of a dictionary of options, and where it stands."""


@thing
class Owner:
    """An expression for a model, or for a part of one, whose parameters are trained; ``copied`` is the cast that makes
    new ones of them, ``group`` the group of the optimizer that holds it.
    """

    node: ast.expr
    frame: Frame
    copied: tuple[ast.Call, Frame] | None = None
    group: Group | None = None


@dataclass
class Trained:
    """What was found: the models, and what was not followed."""

    owners: list[Owner] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


def trained(world: World, given: Thunk) -> Trained:
    """The models behind the first argument of an optimizer."""
    search = _Search(world)
    search.look(given.node, given.frame, DEEPEST)
    return search.found


@dataclass
class _Search:
    world: World
    found: Trained = field(default_factory=Trained)
    seen: set[tuple[int, int]] = field(default_factory=set)

    def look(self, node: ast.expr, frame: Frame, depth: int) -> None:
        key = (id(node), frame.number)
        if key in self.seen:
            return
        self.seen.add(key)
        if depth <= 0 or frame.module is None:
            self.found.open.append(ast.unparse(node))
            return
        match node:
            case ast.Call():
                self._call(node, frame, depth)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                self._each(parts, frame, depth)
            case ast.Dict():
                self._group(node, frame, depth)
            case ast.BinOp(left=left, right=right):
                self._each([left, right], frame, depth)
            case ast.Starred(value=value) | ast.NamedExpr(value=value) | ast.Await(value=value):
                self.look(value, frame, depth - 1)
            case ast.IfExp(body=body, orelse=orelse):
                self.look(orelse if taken(self.world, node, frame) else body, frame, depth - 1)
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
                self._comprehension(node, element, frame, depth)
            case ast.DictComp(value=element):
                self._comprehension(node, element, frame, depth)
            case ast.Subscript(value=value):
                self.look(value, frame, depth - 1)
            case ast.Name(id=name):
                self._name(name, node, frame, depth)
            case ast.Attribute():
                self._attribute(node, frame, depth)
            case _:
                self.found.open.append(ast.unparse(node))

    def _each(self, parts: list[ast.expr], frame: Frame, depth: int) -> None:
        for part in parts:
            self.look(part, frame, depth - 1)

    def _group(self, node: ast.Dict, frame: Frame, depth: int) -> None:
        """``{"params": ..., "lr": ...}``."""
        pairs = zip(node.keys, node.values, strict=True)
        named = {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
        self._named_group(named, frame, depth)
        if "params" not in named:
            self._each(node.values, frame, depth)

    def _named_group(self, named: Mapping[str, ast.expr], frame: Frame, depth: int) -> None:
        if "params" in named:
            before = len(self.found.owners)
            self.look(named["params"], frame, depth - 1)
            new = [replace(each, group=each.group or (named, frame)) for each in self.found.owners[before:]]
            self.found.owners[before:] = new

    def _call(self, node: ast.Call, frame: Frame, depth: int) -> None:
        word = last(node.func)
        thing = self.world.evaluate(node.func, frame)
        if isinstance(thing, Function) and isinstance(thing.node, ast.FunctionDef):
            inner = callers.activation(self.world, thing, arguments(self.world, node, frame), node, frame)
            result = next(returns(self.world, thing.node.body, inner), None)
            if result is not None and result.value is not None:
                self.look(result.value, inner, depth - 1)
                return
        if isinstance(node.func, ast.Attribute) and word in ITERATED:
            self.found.owners.append(Owner(node.func.value, frame))
        elif word == "dict" and any(keyword.arg == "params" for keyword in node.keywords):
            self._named_group({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}, frame, depth)
        elif word in PASSING:
            given = [each for each in node.args if not isinstance(each, ast.Lambda)]
            self._each(given or ([node.func.value] if isinstance(node.func, ast.Attribute) else []), frame, depth)
        else:
            self.found.open.append(ast.unparse(node))

    def _comprehension(
        self,
        node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp,
        element: ast.expr,
        frame: Frame,
        depth: int,
    ) -> None:
        """``[p for p in model.parameters() if p.requires_grad]``; copies of them are another matter."""
        if isinstance(element, ast.Dict):
            self._group(element, frame, depth)
            return
        before = len(self.found.owners)
        for each in node.generators:
            self.look(each.iter, frame, depth - 1)
        copied = next((call for call in nodes_of(element) if isinstance(call, ast.Call) and is_cast(call)), None)
        if copied is not None:
            new = [replace(each, copied=(copied, frame)) for each in self.found.owners[before:]]
            self.found.owners[before:] = new

    def _attribute(self, node: ast.Attribute, frame: Frame, depth: int) -> None:
        """``model.head.weight``: a parameter; an attribute that holds parameters is what was written to it."""
        if node.attr in ("weight", "bias", "data"):
            self.found.owners.append(Owner(node.value, frame))
            return
        found = reaching(self.world, _path(node), node, frame) if _path(node) in frame.module.stored else None
        if found is not None and found.name == _path(node) and isinstance(found.node, ast.Assign):
            self.look(found.node.value, frame, depth - 1)
        else:
            self.found.owners.append(Owner(node, frame))

    def _name(self, name: str, node: ast.expr, frame: Frame, depth: int) -> None:
        found = reaching(self.world, name, node, frame)
        self._grown(name, frame, depth)
        if found is None:
            self._parameter(name, node, frame, depth)
            return
        match found.node:
            case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
                self.look(value, frame, depth - 1)
            case ast.AugAssign(target=ast.Name() as target, value=value):
                self.look(value, frame, depth - 1)
                self.look(target, frame, depth - 1)
            case ast.For(iter=over) | ast.comprehension(iter=over):
                self.look(over, frame, depth - 1)
            case ast.Assign(value=value):
                self.look(value, frame, depth - 1)
            case _:
                self.found.open.append(name)

    def _grown(self, name: str, frame: Frame, depth: int) -> None:
        """``groups.append(p)`` in a loop over the parameters: what the loop runs over."""
        module, scope = frame.module, frame.function or frame.module.tree
        for load in module.loads.get(name, ()):
            method = module.parents.get(load)
            method = module.parents.get(method) if isinstance(method, ast.IfExp) else method
            call = module.parents.get(method) if isinstance(method, ast.Attribute) else None
            if not (isinstance(method, ast.Attribute) and method.attr in GROWING and isinstance(call, ast.Call)):
                continue
            if module.scope(call) is scope and call.args:
                self.look(call.args[-1], frame, depth - 1)

    def _parameter(self, name: str, node: ast.expr, frame: Frame, depth: int) -> None:
        """A parameter is what the caller passes."""
        function = frame.function
        if function is None or isinstance(function, ast.ClassDef) or name not in declared(function):
            outer = frame.outer
            if outer is not None and function is not None and not isinstance(function, ast.ClassDef | ast.Lambda):
                self._name(name, function, outer, depth - 1)  # type: ignore[arg-type]
            else:
                self.found.open.append(name)
            return
        entered = frame if frame.arguments is not None else callers.entered(self.world, frame)
        places = [place.arg for place in parameters(function)]
        if entered is None or entered.arguments is None:
            self.found.owners.append(Owner(node, frame))
            return
        given = argument(entered.arguments, places[1:] if entered.receiver is not None else places, name)
        if isinstance(given, Thunk) and given.known is None:
            self.look(given.node, given.frame, depth - 1)
        elif given is None and name in defaults(function):
            self.found.open.append(name)
        else:
            self.found.open.append(name)


def _path(node: ast.Attribute) -> str:
    return ast.unparse(node)
