"""What the texts of a project end in, where that is written out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from trainlint.knowledge.roles import roles
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, last
from trainlint.source.things import Constant, Function
from trainlint.source.world import World
from trainlint.value import Role, Step

UNSEEN = ("apply_chat_template", "post_processor", "build_inputs_with_special_tokens", "add_eos_token")
"""What may put an end token behind a text where nobody sees it."""

MOST_PARTS = 60
SAME = ("strip", "rstrip", "lstrip", "lower", "replace", "split", "splitlines", "tolist", "to_list")
"""Methods whose text ends in what the text before ended in."""

ADDING = ("add_special_tokens", "add_tokens")

Encoded = tuple[Module, ast.Call]
Part = ast.expr | tuple[Module, ast.expr]


def own_stops(world: World, around: Sequence[Module]) -> Iterator[Step]:
    """The lines that put a token behind a text which these files add to the vocabulary."""
    tokens = {token for module in around for token in _added(world, module)}
    for module in around if tokens else ():
        for node in nodes_of(module.tree):
            last = _last_part(world, module, node)
            if last is not None and _text(world, module, last) in tokens:
                yield module.step(node)  # type: ignore[arg-type]


def _added(world: World, module: Module) -> Iterator[str]:
    """The tokens that a file adds; those of padding and of the library's own roles are given by name."""
    for call in module.calls:
        match call:
            case ast.Call(func=ast.Attribute(attr=name), args=[given, *_]) if name in ADDING:
                lists = (each for each in nodes_of(given) if isinstance(each, ast.List | ast.Tuple))
                texts = (_text(world, module, each) for listed in lists for each in listed.elts)
                yield from (text for text in texts if text)


def _last_part(world: World, module: Module, node: ast.AST) -> ast.expr | None:
    """What a text that is put together ends in, white space aside."""
    match node:
        case ast.BinOp(op=ast.Add(), right=right):
            return right
        case ast.JoinedStr(values=[_, *_] as values):
            parts = [each for each in values if not (isinstance(each, ast.Constant) and not str(each.value).strip())]
            return parts[-1].value if len(parts) > 1 and isinstance(parts[-1], ast.FormattedValue) else None
        case ast.Call(func=ast.Attribute(value=template, attr="format"), keywords=keywords) if keywords:
            text = _text(world, module, template).rstrip()
            return next((each.value for each in keywords if each.arg and text.endswith(f"{{{each.arg}}}")), None)
    return None


def _text(world: World, module: Module, node: ast.expr) -> str:
    thing = world.apart().evaluate(node, world.open_frame(module, node))
    return thing.value if isinstance(thing, Constant) and isinstance(thing.value, str) else ""


def plain(world: World, around: Sequence[Module], encoded: Sequence[Encoded]) -> tuple[Step, ...]:
    """The lines that make ids of texts, if no text is seen to get an end token; none if a text is not followed."""
    if any(word in module.loads or _passes(module, word) for module in around for word in UNSEEN):
        return ()
    rows = [(module, call) for module, call in encoded if all(each.arg != "return_tensors" for each in call.keywords)]
    if not all(call.args and _is_plain(world, module, call.args[0]) for module, call in rows):
        return ()
    return tuple(module.step(call) for module, call in rows)


def _passes(module: Module, word: str) -> bool:
    given = (keyword for call in module.calls for keyword in call.keywords if keyword.arg == word)
    return any(not isinstance(each.value, ast.Constant) or each.value.value is not False for each in given)


def _is_plain(world: World, module: Module, text: ast.expr) -> bool:
    """Whether a text is a column of the data, or is put together of columns and of words that end nothing."""
    waiting, seen = [(module, text)], set[ast.expr]()
    while waiting:
        where, node = waiting.pop()
        if node not in seen:
            seen.add(node)
            parts = _parts(world, where, node)
            if parts is None or len(seen) > MOST_PARTS:
                return False
            waiting += [part if isinstance(part, tuple) else (where, part) for part in parts]
    return True


def _parts(world: World, module: Module, node: ast.expr) -> Sequence[Part] | None:
    """What a text is put together of; None if that is not seen, or if the node ends a text."""
    match node:
        case ast.Constant(value=str(text)):
            return None if _ends_a_text(text) else ()
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return list(_columns(module, key))
        case ast.Subscript(value=value) | ast.FormattedValue(value=value) | ast.ListComp(elt=value):
            return (value,)
        case ast.JoinedStr(values=values):
            return values
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (left, right)
        case ast.Name():
            return list(_sources(module, node)) or None
        case ast.Call():
            return _parts_of_call(world, module, node)
    return None


def _ends_a_text(text: str) -> bool:
    return "<|" in text or "</s>" in text or any(Role.END in roles(word) for word in text.split())


def _parts_of_call(world: World, module: Module, call: ast.Call) -> Sequence[Part] | None:
    """A text that is filled in, joined, or made by a function of the project."""
    given = [*call.args, *(each.value for each in call.keywords)]
    match call.func:
        case ast.Attribute(value=value, attr=name) if name in SAME:
            return (value,)
        case ast.Attribute(value=value, attr="format" | "join"):
            text = _text(world, module, value)
            return given if text and not _ends_a_text(text) else None
        case ast.Name(id="str" | "zip" | "enumerate" | "list"):
            return given
    made = world.apart().evaluate(call.func, world.open_frame(module, call))
    if not isinstance(made, Function) or not isinstance(made.node, ast.FunctionDef):
        return None
    returned = [each.value for each in nodes_of(made.node) if isinstance(each, ast.Return) and each.value]
    return [(made.frame.module, each) for each in returned] or None


def _columns(module: Module, key: str) -> Iterator[ast.expr]:
    """What this file writes under a key of its rows."""
    for node in nodes_of(module.tree):
        match node:
            case ast.Dict(keys=keys, values=values):
                yield from (value for name, value in zip(keys, values, strict=True) if _is(name, key))
            case ast.Assign(targets=[ast.Subscript(slice=name)], value=value) if _is(name, key):
                yield value


def _is(node: ast.expr | None, key: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == key


def _sources(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    """What a name stands for: what its scope assigns or loops over; a parameter, what the file calls with."""
    scope = module.scope(name)
    for node in nodes_of(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=same)], value=value) if same == name.id:
                yield value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                if any(isinstance(each, ast.Name) and each.id == name.id for each in nodes_of(target)):
                    yield value
    if isinstance(scope, ast.FunctionDef) and name.id in [each.arg for each in scope.args.args]:
        yield from _passed(module, scope, [each.arg for each in scope.args.args].index(name.id))


def _passed(module: Module, function: ast.FunctionDef, place: int) -> Iterator[ast.expr]:
    for call in module.calls:
        if last(call.func) == function.name and len(call.args) > place:
            yield call.args[place]
