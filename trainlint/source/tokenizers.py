"""Tokenizers of a library: what the project makes of their padding token, and whether texts end in their end token.

A tokenizer goes through functions and attributes, so it is known by where it was made, under whatever name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Alias
from trainlint.knowledge import transformers
from trainlint.knowledge.roles import END_TEXT_IDS, index_roles, roles
from trainlint.record import replace, thing
from trainlint.regex import regex
from trainlint.source import callers, saved
from trainlint.source.binding import least
from trainlint.source.builtin import entry, length
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, last
from trainlint.source.things import Arguments, Built, Constant, Entries, Frame, Opaque, Thing
from trainlint.source.world import MOST_BENEATH, World, worlds
from trainlint.source.writes import attribute_writes
from trainlint.value import Integer, Role, Step, Unknown

PADDING = ("pad_token", "pad_token_id", "_pad_token")
ENDS = ("eos_token", "eos_token_id")
ASKING = ("convert_tokens_to_ids", "token_to_id", "get_vocab_size")
"""Methods that give an id or a count."""

GROWING = ("add_tokens", "add_special_tokens")
ENCODING = ("encode", "encode_plus", "batch_encode_plus")
MADE = regex(r"(\w+)\(\)@(\d+)")
"""A tokenizer by the call that made it: what was called, and where."""

OWN = Unknown("the padding token is the one that the checkpoint brings", "tokenizer.pad_token")
NO_PADDING = Unknown("the files of the tokenizer name no padding token", "tokenizer.pad_token")
TWO_PLACES = Unknown("the padding token is set in two places whose order is open", "tokenizer.pad_token")


@thing
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
    if isinstance(token, Integer):
        known = (each.rpartition(".") for each in token.origins)
        return next((origin for origin, _, word in known if word in (*PADDING, *ENDS) and MADE.search(origin)), None)
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
    state = _brought(world, tokenizer, near)
    for write in sorted(found, key=lambda write: (write.step.where.path, write.step.where.row)):
        state = _after(state, write, name)
    return state


def _after(state: Alias | Unknown | None, write: Write, checkpoint: str) -> Alias | Unknown | None:
    """What the padding token is after one more statement."""
    if not write.condition:
        return write.value
    if write.missing:
        if state is NO_PADDING:
            return write.value
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
    for module in _speaking_of(world, "pad_token", near):
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
    for node in nodes_of(module.tree) if module.attributes & set(PADDING) else ():
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
        case Integer() if owner(thing) is not None:
            return Alias((step,)) if names_end(thing) else OWN
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
    words = {each.attr for each in nodes_of(test) if isinstance(each, ast.Attribute)}
    words |= {each.value for each in nodes_of(test) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return not words.isdisjoint(PADDING) and not words & set(ENDS)


def _checkpoint(world: World, tokenizer: str, near: str) -> str:
    """The name of the checkpoint that a tokenizer is loaded from, if the code spells it out."""
    for module, call in _making(world, tokenizer, near):
        if last(call.func) == "from_pretrained" and call.args:
            names = _everything(world, module, call.args[0])
            return next((str(each.value) for each in names if isinstance(each, Constant)), "")
    return ""


def _making(world: World, tokenizer: str, near: str) -> Iterator[tuple[Module, ast.Call]]:
    """The call that makes a tokenizer."""
    made = MADE.search(tokenizer)
    for module in world.workspace.mentions(made[1], near) if made else ():
        yield from ((module, call) for call in module.calls if made and str(id(call)) == made[2])


# Files


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A call that loads a tokenizer of the project, or counts its tokens; None for anything else."""
    if name != "builtins.len":
        return saved.call(world, name, given, node, frame)
    thing = world.force(given.positional[0]) if len(given.positional) == 1 else None
    loaded = _loaded(thing)
    if loaded is None or not isinstance(thing, Opaque):
        return None
    read, known = saved.vocabulary(world, loaded), _length(world, loaded)
    if isinstance(read, Unknown):
        return read
    return known if isinstance(known, Integer) else length(world, replace(thing, why=known))


def attribute(world: World, thing: Opaque, name: str) -> Thing | None:
    """A number that the files of a tokenizer state, unless the project may change it; None for anything else."""
    loaded, role = _loaded(thing), name.removesuffix("_id")
    if loaded is None:
        return None
    if name == "vocab_size":
        return saved.size(world, loaded)
    if name == role or role not in saved.ROLES:
        return None
    return _or_open(_number(world, loaded, role), thing, name)


def asked(world: World, method: Opaque, given: Arguments) -> Thing | None:
    """What a method of a saved tokenizer gives: the id of a token, a count; None where that stays open."""
    name = method.origin.rpartition(".")[2]
    loaded = method.loaded
    if loaded is None or name not in ASKING or method.origin != f"{saved.origin(loaded)}.{name}":
        return None
    first = [*given.positional, *given.keywords.values()][:1]
    thing = world.force(first[0]) if first else Constant(True)
    if name == "get_vocab_size":
        found = (
            saved.size(world, loaded)
            if isinstance(thing, Constant) and thing.value is False
            else _length(world, loaded)
        )
        return found if isinstance(found, Integer) else None
    text = _text(world, loaded, thing)
    found = saved.number(world, loaded, text) if text is not None else OWN
    return _named(world, loaded, text, found) if text is not None and isinstance(found, Integer) else None


def _loaded(thing: Thing | None) -> Built | None:
    """The call that loads a tokenizer of the project."""
    loaded = thing.loaded if isinstance(thing, Opaque) else None
    return loaded if isinstance(thing, Opaque) and loaded and thing.origin == saved.origin(loaded) else None


def _or_open(found: Integer | Unknown, thing: Opaque, name: str) -> Thing:
    origin = f"{thing.origin}.{name}"
    if isinstance(found, Integer):
        return found.named(name, origin)
    return Opaque(f"{thing.name}.{name}", origin, found, least(name), thing.node, (name,), thing.evidence)


def _text(world: World, loaded: Built, thing: Thing) -> Constant | None:
    """A token by its text, or by its role: ``tokenizer.eos_token``."""
    if isinstance(thing, Constant):
        return thing if isinstance(thing.value, str) else None
    holder, _, role = thing.origin.rpartition(".") if isinstance(thing, Opaque) else ("", "", "")
    if holder != saved.origin(loaded) or role not in saved.ROLES or any(_rewrites(world, loaded, role)):
        return None
    text = saved.token(world, loaded, role)
    return text if isinstance(text, Constant) else None


def _named(world: World, loaded: Built, text: Constant, number: Integer) -> Integer:
    """An id under the role that the files give its token, else under the token."""
    for role in (*ENDS[:1], *PADDING[:1]):
        token = saved.token(world, loaded, role)
        if isinstance(token, Constant) and token.value == text.value:
            return number.named(f"{role}_id")
    return number.named(str(text.value))


def _length(world: World, loaded: Built) -> Integer | Unknown:
    """All tokens of a tokenizer; open where the project may add more."""
    step = next((module.step(added) for module, added in _growing(world, loaded)), None)
    return Unknown(f"tokens are added by {step.text}") if step is not None else saved.length(world, loaded)


def _number(world: World, loaded: Built, role: str) -> Integer | Unknown:
    """The id of the token that has a role when everything is set."""
    key = ("token of a tokenizer", saved.origin(loaded), role)
    if key not in world.workspace.answers:
        world.workspace.answers[key] = Unknown(f"{role} is set to itself")
        world.workspace.answers[key] = _settled(world, loaded, role)
    return world.workspace.answers[key]  # type: ignore[return-value]


def _settled(world: World, loaded: Built, role: str) -> Integer | Unknown:
    own = saved.token(world, loaded, role)
    again = tuple(_rewrites(world, loaded, role))
    if not again:
        return own if isinstance(own, Unknown) else saved.number(world, loaded, own)
    why = Unknown(f"{role} is set by {again[0].text}")
    if role not in PADDING:
        return why
    tokenizer, near = saved.origin(loaded), loaded.frame.module.path
    writes = {write.step: write for write in _writes(world, tokenizer, near)}
    if not writes.keys() >= set(again):
        return why
    if isinstance(own, Constant) and own.value is not None and all(writes[step].missing for step in again):
        return saved.number(world, loaded, own)
    end = padding(world, tokenizer, near)
    if not isinstance(end, Alias) or end.condition or end.by_name:
        return why
    number = _number(world, loaded, ENDS[0])
    return number.because(*end.evidence) if isinstance(number, Integer) else number


def _brought(world: World, tokenizer: str, near: str) -> Alias | Unknown | None:
    """What the padding token of a tokenizer is before the project sets it."""
    made = (thing for module, call in _making(world, tokenizer, near) for thing in _everything(world, module, call))
    loaded = next(filter(None, map(_loaded, made)), None)
    if loaded is None:
        return OWN
    pad, end = (saved.token(world, loaded, role) for role in ("pad_token", "eos_token"))
    if not isinstance(pad, Constant):
        return OWN
    if pad.value is None:
        return NO_PADDING
    if not isinstance(end, Constant) or any(_rewrites(world, loaded, "eos_token")):
        return OWN
    return Alias((*pad.evidence, *end.evidence)) if pad.value == end.value else None


def _rewrites(world: World, loaded: Built, role: str) -> Iterator[Step]:
    """The statements that may give another token a role."""
    for name in (role, f"{role}_id", f"_{role}"):
        for module in world.workspace.writers(name, ""):
            for target, statement in attribute_writes(module).get(name, ()):
                if "config" not in last(target).lower() and _may_be(world, module, target, loaded):
                    yield module.step(statement)
    for module, call in _growing(world, loaded):
        given = call.args[0] if call.args and last(call.func) == "add_special_tokens" else None
        thing = world.apart().evaluate(given, world.open_frame(module, given)) if given is not None else None
        if thing is not None and not (isinstance(thing, Entries) and _lacks(world, thing, role)):
            yield module.step(call)


def _lacks(world: World, table: Entries, role: str) -> bool:
    return table.whole and isinstance(entry(world, table, Constant(role)), Unknown)


def _growing(world: World, loaded: Built) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that may add tokens to a tokenizer."""
    for word in GROWING:
        for module in world.workspace.mentions(word, loaded.frame.module.path):
            for node in module.loads.get(word, ()):
                call = module.parents.get(node)
                if not isinstance(node, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not node:
                    continue
                if _may_be(world, module, node.value, loaded):
                    yield module, call


def _may_be(world: World, module: Module, node: ast.expr, loaded: Built) -> bool:
    """Whether an expression may be this tokenizer, or one that it is put around."""
    if module.is_test:
        return False
    things = _everything(world, module, node)
    return not things or not all(
        _is_another(thing, kin(each)) for thing in things for each in saved.within(world, loaded)
    )


def _is_another(thing: Thing, tokenizer: str) -> bool:
    """Whether a thing is surely no tokenizer, or was made by another call."""
    if isinstance(thing, Opaque):
        return MADE.search(thing.origin) is not None and kin(thing.origin) != tokenizer
    return not isinstance(thing, Unknown)


# Texts


def _speaking_of(world: World, token: str, near: str) -> list[Module]:
    """The modules that mention a token or its id."""
    found = (*world.workspace.mentions(token, near), *world.workspace.mentions(f"{token}_id", near))
    return sorted(dict.fromkeys(found), key=lambda module: module.path)


def ended(world: World, tokenizer: str, near: str) -> tuple[Step, ...]:
    """The lines that put the end token of a tokenizer behind a text."""
    found: list[Step] = []
    for module in _speaking_of(world, "eos_token", near):
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
    for node in nodes_of(module.tree) if module.attributes & wanted else ():
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
    for node in nodes_of(module.tree):
        match node:
            case ast.Constant(value=str(text)) if any(word in text for word in transformers.STOPS):
                if not _is_docstring(module, node):
                    yield module.step(node)


def _strings_set_as_end(module: Module) -> Iterator[str]:
    for node in nodes_of(module.tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="eos_token")], value=ast.Constant(value=str(text))):
                yield text
            case ast.keyword(arg="eos_token", value=ast.Constant(value=str(text))):
                yield text


def _is_docstring(module: Module, node: ast.Constant) -> bool:
    return isinstance(module.parents.get(node), ast.Expr)
