"""What a parameter is worth: the argument of the call, the default, the caller that this world chose, or itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from trainlint.knowledge import SIGNATURES
from trainlint.record import replace
from trainlint.source.arithmetic import assumed_by
from trainlint.source.names import final, reaching
from trainlint.source.things import (
    Arguments,
    Binding,
    Constant,
    Entries,
    Frame,
    Items,
    Later,
    Opaque,
    Thing,
    Thunk,
    backed,
)
from trainlint.source.world import World
from trainlint.value import Step, Unknown


def arguments(world: World, node: ast.Call, frame: Frame) -> Arguments:
    """What a call passes, stars opened where their elements are written out."""
    positional: list[Thunk] = []
    stars: list[Thunk] = []
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            positional.append(Thunk(argument, frame))
            continue
        opened = world.evaluate(argument.value, frame)
        if isinstance(opened, Items) and opened.whole and not stars:
            positional += opened.elements
        else:
            stars.append(Thunk(argument.value, frame))
    keywords = {keyword.arg: Thunk(keyword.value, frame) for keyword in node.keywords if keyword.arg}
    hidden: list[Thunk] = []
    for keyword in node.keywords:
        if keyword.arg is None:
            opened = world.table(world.evaluate(keyword.value, frame))
            named = _named(world, opened, keyword.value, frame) if isinstance(opened, Entries) else None
            via = Thunk(keyword.value, frame)
            hidden += [] if named is not None else [via]
            keywords.update({key: replace(thunk, via=via) for key, thunk in (named or {}).items()})
    return Arguments(tuple(positional), keywords, tuple(stars), tuple(hidden))


def _named(world: World, entries: Entries, node: ast.expr, frame: Frame) -> dict[str, Thunk] | None:
    """What ``**entries`` passes, if all of it is known: what its own scope writes into it included."""
    if not entries.whole and (entries.changed or not entries.later):
        return None
    named: dict[str, Thunk] = {}
    for key, value in entries.pairs:
        known = world.force(key)
        if not (isinstance(known, Constant) and isinstance(known.value, str)):
            return None
        named[known.value] = value
    for name in dict.fromkeys(name for later in entries.later for name in later.keys):
        found = written(world, entries, name)
        if found is None:
            continue
        binding, later = found
        match binding.node:
            case ast.Assign(targets=[ast.Subscript()], value=assigned):
                named[name] = Thunk(assigned, later.frame)
            case _:
                made = world.entry(entries, Constant(name))
                if not isinstance(made, Unknown):
                    named[name] = Thunk(node, frame, made)
                elif name in named:
                    return None
    return named


def written(world: World, entries: Entries, key: object) -> tuple[Binding, Later] | None:
    """The last write under a key that reaches the reading of a dictionary."""
    for later in entries.later:
        if key in later.keys:
            frame, path = later.frame, f"{later.name}.[{key!r}]"
            scope = frame.function or frame.module.tree
            if later.use is not None:
                found = reaching(world, path, later.use, frame)
            else:
                found = final(world, path, scope, frame)
            if found is not None and found.name == path:
                return found, later
    return None


def argument(given: Arguments | None, parameters: Sequence[str], name: str) -> Thunk | Unknown | None:
    """The argument for one parameter: its thunk, None if it was not given, Unknown if a star may hide it."""
    if given is None:
        return Unknown("the call that makes it was not seen")
    if name in given.keywords:
        return given.keywords[name]
    place = parameters.index(name) if name in parameters else len(given.positional)
    if place < len(given.positional):
        return given.positional[place]
    if given.stars or given.double_stars:
        return Unknown("it may be hidden behind * or **")
    return None


def library_argument(given: Arguments | None, callable: str, name: str) -> Thunk | Unknown | None:
    """The argument of a library's callable, by the parameter's name."""
    signature = SIGNATURES.get(callable)
    return argument(given, signature.parameters if signature else (), name)


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """The parameters that a position can fill."""
    return [*node.args.posonlyargs, *node.args.args]


def defaults(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Mapping[str, ast.expr]:
    places = parameters(node)
    with_default = (place.arg for place in places[len(places) - len(node.args.defaults) :])
    found = dict(zip(with_default, node.args.defaults, strict=True))
    for place, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            found[place.arg] = default
    return found


def declared(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Mapping[str, ast.arg]:
    """Every parameter by name, stars included."""
    extra = [place for place in (node.args.vararg, node.args.kwarg) if place]
    return {place.arg: place for place in [*parameters(node), *node.args.kwonlyargs, *extra]}


def bound_parameter(world: World, name: str, frame: Frame) -> Thing:
    """What a parameter is worth in a frame whose call is known."""
    node, given = frame.function, frame.arguments
    assert given is not None and not isinstance(node, ast.ClassDef) and node is not None, "the call is known"
    names = [place.arg for place in parameters(node)]
    if frame.receiver is not None and names:
        if name == names[0]:
            return frame.receiver
        names = names[1:]
    if node.args.vararg and name == node.args.vararg.arg:
        rest = given.positional[len(names) :]
        return Items(rest, node.args.vararg, frame, name, whole=not given.stars)  # type: ignore[arg-type]
    if node.args.kwarg and name == node.args.kwarg.arg:
        return _rest(given, node, frame)
    found = argument(given, names, name)
    if isinstance(found, Thunk):
        return world.force(found)
    if found is None and name in defaults(node):
        default = defaults(node)[name]
        step = frame.step(default)
        return backed(world.evaluate(default, frame.outer or frame), Step(f"{name}={step.text}", step.where))
    return found or Unknown(f"nothing is passed for {name}")


def _rest(given: Arguments, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, frame: Frame) -> Entries:
    """What ``**kwargs`` holds: the keywords that no parameter takes."""
    assert node.args.kwarg, "asked for by its name"
    taken = {place.arg for place in (*parameters(node), *node.args.kwonlyargs)}
    place: ast.AST = node.args.kwarg
    pairs = tuple(
        (Thunk(thunk.node, frame, Constant(key)), thunk) for key, thunk in given.keywords.items() if key not in taken
    )
    return Entries(pairs, place, frame, node.args.kwarg.arg, whole=not given.double_stars)  # type: ignore[arg-type]


def default_parameter(world: World, name: str, frame: Frame) -> Thing | None:
    """A default where no caller is known: right unless somebody passes something else, so it is only assumed."""
    node = frame.function
    assert node is not None and not isinstance(node, ast.ClassDef), "a parameter belongs to a function"
    default = defaults(node).get(name)
    if default is None:
        return None
    step = frame.module.step(declared(node)[name])
    text = f"{step.text} = {frame.step(default).text}"
    return assumed_by(world.evaluate(default, frame.outer or frame), type(step)(text, step.where))


def open_parameter(name: str, frame: Frame, why: Unknown | None = None) -> Opaque:
    """A parameter that nobody settles is itself."""
    node = frame.function
    place = declared(node).get(name) if node is not None and not isinstance(node, ast.ClassDef) else None
    where = f"{frame.module.key}:{getattr(node, 'name', 'lambda')}:{getattr(node, 'lineno', 0)}"
    why = why or Unknown(f"nobody is seen to pass {name} to {getattr(node, 'name', 'the lambda')}", name)
    return Opaque(name, f"{where}.{name}#{frame.number}", why, minimum=least(name), node=place, words=(name,))


SIZES = (
    "size",
    "num",
    "vocab",
    "classes",
    "dim",
    "length",
    "count",
    "channels",
    "features",
    "width",
    "codes",
    "tokens",
)


def least(name: str) -> int | None:
    """What a name promises: a size is at least 1. An index promises nothing, since -100 is one too."""
    last = name.rpartition(".")[2].lower()
    words = last.split("_")
    if any(word in ("idx", "id", "index", "ignore", "pad", "ignored") for word in words):
        return None
    size = words[0] in ("n", "num", "no", "nb") or any(word.startswith(SIZES) for word in words)
    return 1 if size else None
