"""Models that compute in another format than they are stored in: sharded under a policy, or cast by an engine.

FSDP casts the parameters of a model while it computes, and opens no region of mixed precision: what comes out is in the
format of the policy, unless that says otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Dtype, Storage
from trainlint.knowledge.formats import POLICIES, SHARDERS
from trainlint.record import thing
from trainlint.source import builtin, callers, formats
from trainlint.source.binding import argument, arguments
from trainlint.source.callers import Caller
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Built, Constant, Entries, External, Frame, Opaque, Thing, Thunk
from trainlint.source.world import Path, World
from trainlint.value import Step, Unknown

WORDS = tuple(dict.fromkeys(name.rpartition(".")[2] for name in SHARDERS))
ENGINE = "deepspeed.initialize"
OPEN = "in which format a sharded model computes is open"
MOST_CALLS = 8


@thing
class Sharding:
    """A call that shards a model, or hands it to an engine: what it was given, in the frame in which it stands."""

    name: str
    call: ast.Call
    given: Arguments
    frame: Frame


def computes(world: World, model: Thing, near: str) -> Storage | Unknown | None:
    """The format in which a model computes, if a call of the project shards it; None if none does."""
    answers = [_format(world, each) for each in _shardings(world, near) if _is_about(world, each, model)]
    known = [each for each in answers if each is not None]
    return known[0] if known else None


def _shardings(world: World, near: str) -> Iterator[Sharding]:
    """The calls that shard something, as this world reaches them."""
    for caller in _calls(world, near):
        inner = world.beneath(Path())
        where = callers.standing(inner, caller)
        called = inner.evaluate(caller.node.func, where)
        if isinstance(called, External) and (called.name in SHARDERS or called.name == ENGINE):
            yield Sharding(called.name, caller.node, arguments(inner, caller.node, where), where)


def _calls(world: World, near: str) -> tuple[Caller, ...]:
    """Where the project calls what shards models, by name."""
    key = ("shardings", near)
    known = world.workspace.answers.get(key)
    if not isinstance(known, tuple):
        found = [
            Caller(parent, module)
            for word in (*WORDS, "deepspeed")
            for module in world.workspace.mentions(word, near)
            if not module.is_test
            for name in {word if word != "deepspeed" else "initialize", *_aliases(module, word)}
            for node in module.loads.get(name, ())
            if isinstance(parent := module.parents.get(node), ast.Call) and parent.func is node
        ]
        known = world.workspace.answers[key] = tuple({id(each.node): each for each in found}.values())[:MOST_CALLS]
    return known


def _aliases(module: Module, word: str) -> Iterator[str]:
    """The names under which a file imports something."""
    if module.imports.get(word, "").rpartition(".")[2] == word:
        yield word
    yield from module.aliases.get(word, ())


def _is_about(world: World, sharding: Sharding, model: Thing) -> bool:
    """Whether a call shards this model, or its parts one by one."""
    given = argument(sharding.given, ("model", "args", "module"), "model") or sharding.given.keywords.get("module")
    inner = world.beneath(Path())
    thing = inner.force(given) if isinstance(given, Thunk) else None
    match thing, model:
        case Built(), Built():
            return thing.node is model.node
        case Opaque(), Opaque():
            return thing.origin.partition("#")[0] == model.origin.partition("#")[0]
    return False


def _format(world: World, sharding: Sharding) -> Storage | Unknown | None:
    if sharding.name == ENGINE:
        return _of_engine(world, sharding)
    word = SHARDERS[sharding.name]
    given = sharding.given.keywords.get(word)
    if given is None:
        return Unknown(OPEN, word) if sharding.given.double_stars else None
    policy = world.beneath(Path()).force(given)
    match policy:
        case Built(what=External(name=name)) if name in POLICIES:
            return _of_policy(world, policy, POLICIES[name], sharding)
        case Constant(value=None):
            return None
    return Unknown(OPEN, word)


def _of_policy(world: World, policy: Built, places: tuple[str, ...], sharding: Sharding) -> Storage | Unknown | None:
    for name in ("output_dtype", "param_dtype"):
        given = argument(policy.arguments, places, name)
        if isinstance(given, Unknown):
            return Unknown(OPEN, name)
        dtype = formats.named(world.beneath(Path()), given) if given is not None else None
        if dtype is not None:
            steps = (policy.frame.step(policy.node), sharding.frame.step(sharding.call))  # type: ignore[arg-type]
            return Storage(dtype, steps) if isinstance(dtype, Dtype) else dtype
    return None


def _of_engine(world: World, sharding: Sharding) -> Storage | Unknown | None:
    """``{"bf16": {"enabled": True}}``: the engine casts the model, and nothing casts what it puts out."""
    given = next(
        (sharding.given.keywords[key] for key in ("config", "config_params") if key in sharding.given.keywords), None
    )
    inner = world.beneath(Path())
    config = inner.force(given) if given is not None else None
    if not isinstance(config, Entries) or not config.whole:
        return Unknown("in which format the engine computes is written in its configuration", "bf16.enabled")
    for key, dtype in (("bf16", Dtype.BFLOAT16), ("bfloat16", Dtype.BFLOAT16), ("fp16", Dtype.FLOAT16)):
        section = builtin.entry(inner, config, Constant(key))
        if not isinstance(section, Entries):
            continue
        enabled = builtin.entry(inner, section, Constant("enabled"))
        if isinstance(enabled, Constant) and enabled.value is True:
            return Storage(dtype, (_line(sharding),))
        if not isinstance(enabled, Constant):
            return Unknown(f"whether {key} of the engine is enabled is open", f"{key}.enabled")
    return None


def _line(sharding: Sharding) -> Step:
    return sharding.frame.step(sharding.call)
