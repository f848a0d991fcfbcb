"""Tokenizers of a library: what the project makes of their padding token, and whether texts end in their end token.

A tokenizer goes through functions and attributes, so it is known by where it was made, under whatever name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from trainlint.facts import Alias
from trainlint.knowledge import transformers
from trainlint.knowledge.roles import END_TEXT_IDS, index_roles, roles
from trainlint.source import callers
from trainlint.source.builtin import entry
from trainlint.source.summary import Module, last
from trainlint.source.things import Constant, Entries, Opaque, Thing
from trainlint.source.world import MOST_BENEATH, World, worlds
from trainlint.value import Integer, Role, Step, Unknown

PADDING = ("pad_token", "pad_token_id", "_pad_token")
ENDS = ("eos_token", "eos_token_id")
ENCODING = ("encode", "encode_plus", "batch_encode_plus")
OWN = Unknown("the padding token is the one that the checkpoint brings", "tokenizer.pad_token")
TWO_PLACES = Unknown("the padding token is set in two places whose order is open", "tokenizer.pad_token")


@dataclass(frozen=True, eq=False)
class Write:
    """One statement that sets a padding token: to the end token (an alias), or to another (None).

    ``missing`` says that it runs only where the checkpoint brings no padding token.
    """

    value: Alias | Unknown | None
    step: Step
    scope: ast.AST
    condition: tuple[Step, ...]
    missing: bool


def owner(token: Thing) -> str | None:
    """The tokenizer whose ``pad_token_id`` or ``eos_token_id`` a thing is."""
    word = token.words[-1] if isinstance(token, Opaque) and token.words else ""
    if isinstance(token, Opaque) and word in (*PADDING, *ENDS) and token.origin.endswith(f".{word}"):
        return token.origin.rpartition(".")[0]
    return None


def padding(world: World, tokenizer: str, near: str) -> Alias | Unknown | None:
    """Why the padding token of a tokenizer is its end token; None where it is seen to be another one."""
    found = tuple(_writes(world, tokenizer, near))
    plain = [write for write in found if not write.condition]
    if len({write.scope for write in plain}) > 1 and len({isinstance(write.value, Alias) for write in plain}) > 1:
        return TWO_PLACES
    name = _checkpoint(world, tokenizer, near).lower()
    state: Alias | Unknown | None = OWN
    for write in sorted(found, key=lambda write: (write.step.where.path, write.step.where.row)):
        state = _after(state, write, name)
    return state


def _after(state: Alias | Unknown | None, write: Write, checkpoint: str) -> Alias | Unknown | None:
    """What the padding token is after one more statement."""
    if not write.condition:
        return write.value
    if write.missing:
        if state is not OWN or any(word in checkpoint for word in transformers.PADDED):
            return state
        if any(word in checkpoint for word in transformers.UNPADDED):
            return write.value
    if isinstance(write.value, Alias):
        return replace(write.value, condition=write.condition)
    if isinstance(state, Alias):
        return replace(state, condition=(*state.condition, *write.condition))
    return write.value if state is OWN and not write.missing else state


def _writes(world: World, tokenizer: str, near: str) -> Iterator[Write]:
    for module in world.workspace.mentions("pad_token", near):
        for node, receiver, value in () if module.is_test else _candidates(module):
            if _is(world, module, receiver, tokenizer):
                meant, own = _meaning(world, module, node, value)
                if meant is OWN:
                    continue
                conditions = tuple(_conditions(module, node))
                steps = (*own, *(step for step, _ in conditions))
                missing = bool(conditions) and all(missing for _, missing in conditions) and not own
                yield Write(meant, module.step(node), module.scope(node), steps, missing)


def _candidates(module: Module) -> tuple[tuple[ast.expr | ast.stmt, ast.expr, ast.expr], ...]:
    """The statements and calls that may set a padding token: each, of what, and to what."""
    known = module.kept.get("paddings")
    if not isinstance(known, tuple):
        known = tuple(_set_by_statement(module)) + tuple(_set_by_call(module))
        module.kept["paddings"] = known
    return known


def _set_by_statement(module: Module) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    for node in ast.walk(module.tree) if module.attributes & set(PADDING) else ():
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in PADDING:
                    yield node, target.value, node.value


def _set_by_call(module: Module) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    for call in module.calls:
        match call:
            case ast.Call(func=ast.Attribute(value=value, attr="add_special_tokens"), args=[given, *_]):
                yield call, value, given
            case ast.Call(func=ast.Attribute(attr="from_pretrained")):
                yield from ((call, call, word.value) for word in call.keywords if word.arg == "pad_token")


def kin(origin: str) -> str:
    """An object by where it is made, whichever activation made it."""
    return re.sub(r"#\d+", "", origin)


def _is(world: World, module: Module, node: ast.expr, tokenizer: str) -> bool:
    """Whether an expression is this tokenizer, on any path."""
    things = _everything(world, module, node)
    return any(isinstance(thing, Opaque) and kin(thing.origin) == kin(tokenizer) for thing in things)


def _everything(world: World, module: Module, node: ast.expr) -> list[Thing]:
    frame = world.open_frame(module, node)

    def run(inner: World) -> Thing:
        callers.stand(inner, node, frame)
        return inner.evaluate(node, frame)

    return [thing for thing, _ in worlds(world.beneath, run, MOST_BENEATH)]


def _meaning(
    world: World, module: Module, node: ast.expr | ast.stmt, value: ast.expr
) -> tuple[Alias | Unknown | None, tuple[Step, ...]]:
    """What a padding token is set to, and the line that leaves it open where only some paths make it the end token."""
    step = module.step(node)
    meant = [_token(world, thing, step) for thing in _everything(world, module, value)]
    meant = [each for each in meant if each is not OWN] or [OWN]
    alias = next((each for each in meant if isinstance(each, Alias)), None)
    if alias is None:
        return meant[0], ()
    forks = tuple(_forks(module, value))
    if not forks and None in meant and last(value) not in ENDS:
        forks = (Step(f"{ast.unparse(value)} is an end token", module.span(value)),)
    return alias, forks


def _forks(module: Module, value: ast.expr) -> Iterator[Step]:
    """What an expression asks before it is the end token: a test, or whether there is another token."""
    match value:
        case ast.IfExp(test=test):
            yield module.step(test)
        case ast.BoolOp(values=[first, *_]):
            yield Step(f"not {ast.unparse(first)}", module.span(value))


def _token(world: World, thing: Thing, step: Step) -> Alias | Unknown | None:
    """A token as padding: the end token, another one, or not known."""
    match thing:
        case Entries():
            given = entry(world, thing, Constant("pad_token"))
            return OWN if isinstance(given, Unknown) and thing.whole else _token(world, given, step)
        case Opaque(words=(*_, str(word))) if word in PADDING:
            return OWN
        case Opaque(words=(*_, str(word))):
            return Alias((step,)) if Role.END in roles(word) else None
        case Constant(value=str(text)):
            return Alias((step,), by_name=True) if Role.END in roles(text) else None
        case Integer(number=int(number)) if number in END_TEXT_IDS:
            return Alias((step,), by_name=True)
        case Integer():
            return Alias((step,)) if names_end(thing) else None
        case Unknown():
            return thing
    return None


def names_end(number: Integer) -> bool:
    """Whether a number came through a name that says end."""
    return any(Role.END in index_roles(name) for name in number.names)


def _conditions(module: Module, node: ast.AST) -> Iterator[tuple[Step, bool]]:
    """The tests under which a node of a function runs, and whether each asks for a missing padding token."""
    scope, child = module.scope(node), node
    while child is not scope and (parent := module.parents.get(child)) is not None:
        if isinstance(parent, ast.If) and child is not parent.test:
            yield module.step(parent.test), _asks_for_padding(parent.test)
        block = next((block for block in _blocks(parent) if child in block), [])
        for before in block[: block.index(child)] if block else []:
            if isinstance(before, ast.If) and isinstance(before.body[-1], ast.Return) and not before.orelse:
                yield module.step(before.test), _asks_for_padding(before.test)
        child = parent


def _blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block


def _asks_for_padding(test: ast.expr) -> bool:
    words = {each.attr for each in ast.walk(test) if isinstance(each, ast.Attribute)}
    words |= {each.value for each in ast.walk(test) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return not words.isdisjoint(PADDING) and not words & set(ENDS)


def _checkpoint(world: World, tokenizer: str, near: str) -> str:
    """The name of the checkpoint that a tokenizer is loaded from, if the code spells it out."""
    made = re.search(r"from_pretrained\(\)@(\d+)", tokenizer)
    for module in world.workspace.mentions("from_pretrained", near) if made else ():
        for call in module.calls:
            if made and str(id(call)) == made[1] and call.args:
                names = _everything(world, module, call.args[0])
                return next((str(each.value) for each in names if isinstance(each, Constant)), "")
    return ""


# Texts


def ended(world: World, tokenizer: str, near: str) -> tuple[Step, ...]:
    """The lines that put the end token of a tokenizer behind a text."""
    found: list[Step] = []
    for module in world.workspace.mentions("eos_token", near):
        if not module.is_test:
            found += _ended_by_hand(world, module, tokenizer)
            found += _ended_by_setting(world, module, tokenizer)
    return tuple(dict.fromkeys(found))


def _ended_by_hand(world: World, module: Module, tokenizer: str) -> Iterator[Step]:
    for word in ENDS:
        for node in module.loads.get(word, ()):
            if not isinstance(node, ast.Attribute):
                continue
            places = [place for place in (node, *_under_a_name(module, node)) if _closes(module, place) is not None]
            if places and _is(world, module, node.value, tokenizer):
                yield from (module.step(closing) for place in places if (closing := _closes(module, place)))


def _under_a_name(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """``EOS = tokenizer.eos_token`` gives the token a name in this file."""
    match module.parents.get(node):
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield from module.loads.get(name, ())


def _closes(module: Module, node: ast.expr) -> ast.expr | ast.stmt | None:
    """The expression in which a token stands behind something else."""
    parent = module.parents.get(node)
    match parent:
        case ast.BinOp(op=ast.Add(), right=right) if right is node:
            return parent
        case ast.AugAssign(op=ast.Add(), value=value) if value is node:
            return parent
        case ast.FormattedValue():
            holder = module.parents.get(parent)
            behind = holder.values[holder.values.index(parent) + 1 :] if isinstance(holder, ast.JoinedStr) else [parent]
            blank = all(isinstance(each, ast.Constant) and not str(each.value).strip() for each in behind)
            return holder if blank and isinstance(holder, ast.JoinedStr) and len(holder.values) > 1 else None
        case ast.List(elts=[*before, only]) if only is node:
            spread = any(isinstance(each, ast.Starred) for each in before)
            return parent if spread else _closes(module, parent)
        case ast.Call(func=ast.Attribute(attr="append"), args=[only]) if only is node:
            return parent
    return None


def _ended_by_setting(world: World, module: Module, tokenizer: str) -> Iterator[Step]:
    """``add_eos_token=True`` of a tokenizer, and a chat template that is written out and names the end token."""
    name = _checkpoint(world, tokenizer, module.path).lower()
    ignored = any(word in name for word in transformers.WITHOUT_END_OPTION)
    for call in module.calls if not ignored else ():
        for keyword in call.keywords:
            if keyword.arg == "add_eos_token" and _is_true(keyword.value) and _is(world, module, call, tokenizer):
                yield module.step(call)
    wanted = {"chat_template"} if ignored else {"add_eos_token", "chat_template"}
    for node in ast.walk(module.tree) if module.attributes & wanted else ():
        match node:
            case ast.Assign(targets=[ast.Attribute(value=value, attr=name)]) if name in wanted:
                says = _is_true(node.value) if name == "add_eos_token" else _ends(world, module, node.value)
                if says and _is(world, module, value, tokenizer):
                    yield module.step(node)


def ends_by_itself(world: World, tokenizer: str, near: str) -> bool:
    """Whether the name of its checkpoint says that a tokenizer puts an end token behind each text."""
    return any(word in _checkpoint(world, tokenizer, near).lower() for word in transformers.ENDED)


def encoding(world: World, module: Module, tokenizer: str) -> Iterator[ast.Call]:
    """The calls of a file in which a tokenizer makes ids of texts."""
    for call in module.calls:
        match call.func:
            case ast.Attribute(value=holder, attr=name) if name in ENCODING:
                pass
            case ast.Name() | ast.Attribute() as holder if "tok" in last(holder).lower():
                pass
            case _:
                continue
        if _is(world, module, holder, tokenizer):
            yield call


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _ends(world: World, module: Module, template: ast.expr) -> bool:
    thing = world.apart().evaluate(template, world.open_frame(module, template))
    return isinstance(thing, Constant) and "eos_token" in str(thing.value)


def other_stops(module: Module) -> Iterator[Step]:
    """The lines of a file that end a turn of a chat with a token of its own; none if that token is made the end."""
    if any(word in text for text in _strings_set_as_end(module) for word in transformers.STOPS):
        return
    for node in ast.walk(module.tree):
        match node:
            case ast.Constant(value=str(text)) if any(word in text for word in transformers.STOPS):
                if not _is_docstring(module, node):
                    yield module.step(node)


def _strings_set_as_end(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="eos_token")], value=ast.Constant(value=str(text))):
                yield text
            case ast.keyword(arg="eos_token", value=ast.Constant(value=str(text))):
                yield text


def _is_docstring(module: Module, node: ast.Constant) -> bool:
    return isinstance(module.parents.get(node), ast.Expr)
