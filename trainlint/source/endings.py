"""What the texts of a project end in, where that is written out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from trainlint.source.summary import Module
from trainlint.source.things import Constant
from trainlint.source.world import World
from trainlint.value import Step

ADDING = ("add_special_tokens", "add_tokens")


def own_stops(world: World, around: Sequence[Module]) -> Iterator[Step]:
    """The lines that put a token behind a text which these files add to the vocabulary."""
    tokens = {token for module in around for token in _added(world, module)}
    for module in around if tokens else ():
        for node in ast.walk(module.tree):
            last = _last_part(world, module, node)
            if last is not None and _text(world, module, last) in tokens:
                yield module.step(node)  # type: ignore[arg-type]


def _added(world: World, module: Module) -> Iterator[str]:
    """The tokens that a file adds; those of padding and of the library's own roles are given by name."""
    for call in module.calls:
        match call:
            case ast.Call(func=ast.Attribute(attr=name), args=[given, *_]) if name in ADDING:
                lists = (each for each in ast.walk(given) if isinstance(each, ast.List | ast.Tuple))
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
