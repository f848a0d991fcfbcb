"""Models that a library makes with a given class count, and what they put out."""

from __future__ import annotations

import ast

from trainlint.facts import Activation, Form, Layer
from trainlint.knowledge.heads import LANGUAGE, Head, counted_by, head
from trainlint.source import weights
from trainlint.source.names import final
from trainlint.source.summary import dotted
from trainlint.source.things import (
    Arguments,
    Built,
    Constant,
    Entries,
    External,
    Frame,
    Made,
    Method,
    Opaque,
    Tensor,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.source.writes import attribute_writes, is_receiver
from trainlint.value import Integer, Unknown

CHECKPOINTS = ("from_pretrained", "from_config")
FEATURES = ("features_only", "aux_params", "activation")
"""Options after which a model puts out something else."""

GROWN = "resize_token_embeddings"


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """A call that makes such a model; None for anything else."""
    maker, _, method = name.rpartition(".")
    made = maker if method in CHECKPOINTS else name
    is_config = made.startswith("transformers.") and made.endswith("Config")
    return Built(External(made), given, node, frame) if head(made) or counted_by(made) or is_config else None


def apply(world: World, built: Built, given: Arguments, node: ast.AST, frame: Frame) -> Thing | None:
    """What such a model returns; None for anything else."""
    name = built.what.name
    if (counted := counted_by(name)) is not None:
        last = _replaced(world, built, LANGUAGE)
        layer = _of_setting(world, built, counted, last)
        logits = Tensor(layer, activation=_meaning(built, last), format=Made(built, node, frame))
        return _with_logits(world, logits, given, node, frame)
    known = head(name)
    if known is None or built.arguments is None:
        return None
    last = _replaced(world, built, known)
    layer = _counted(world, built, known, last)
    tensor = Tensor(layer, known.dim, activation=_meaning(built, last), format=Made(built, node, frame))
    return _entries(dict.fromkeys(known.keys, tensor), node, frame) if known.keys else tensor


def raw(built: Built) -> Activation | None:
    """What a model or a layer puts out, before anything has been done to it."""
    if not isinstance(built.node, ast.expr):
        return None
    return Activation(built.label or built.name, Form.LOGITS, built.frame.step(built.node))


def _meaning(built: Built, last: Tensor | Unknown | None) -> Activation | None:
    """What the numbers of a model mean: those of the layer that replaced its last one, if one did."""
    if last is not None:
        return last.activation if isinstance(last, Tensor) else None
    return None if _is_other(built) else raw(built)


def _is_other(built: Built) -> bool:
    """Whether an option may make a model put out something else."""
    given = built.arguments
    if given is None or counted_by(built.what.name) is not None:
        return False
    return bool(given.double_stars) or any(option in given.keywords for option in FEATURES)


def _entries(tensors: dict[str | int, Tensor] | dict[str, Tensor], node: ast.AST, frame: Frame) -> Entries:
    hole = node if isinstance(node, ast.expr) else ast.Constant(None)
    pairs = tuple(
        (Thunk(hole, frame, Integer.exact(key) if isinstance(key, int) else Constant(key)), Thunk(hole, frame, tensor))
        for key, tensor in tensors.items()
    )
    return Entries(pairs, hole, frame, whole=False)


def _with_logits(world: World, tensor: Tensor, given: Arguments, node: ast.AST, frame: Frame) -> Entries:
    """An output of transformers: its logits by name, and by place, which is the second behind a loss."""
    hidden = bool(given.stars or given.double_stars)
    places: dict[str | int, Tensor] = {} if hidden else {1 if "labels" in given.keywords else 0: tensor}
    return _entries({"logits": tensor, **places}, node, frame)


def _counted(world: World, built: Built, known: Head, last: Tensor | Unknown | None) -> Layer | Unknown:
    """The layer that counts the classes: the one that replaced it, or what the call states."""
    given = built.arguments
    assert given is not None, "the call was seen"
    if _is_other(built):
        return Unknown(f"what {built.name} returns is decided by an option")
    if last is not None:
        return last.layer if isinstance(last, Tensor) else last
    count = given.keywords.get(known.parameter)
    if count is None:
        return _by_default(world, built, known)
    return _layer(world, built, world.integer(world.force(count)))


def _of_checkpoint(world: World, built: Built, name: str) -> Layer | Unknown:
    """A count that only the weights know: a number of its own, which a user may give."""
    why = Unknown(f"{name} of {built.name} comes with its weights", name)
    number = Opaque(name, f"{id(built.node)}#{built.frame.number}.{name}", why, 1, built.node)
    return _layer(world, built, world.integer(number))


def _by_default(world: World, built: Built, known: Head) -> Layer | Unknown:
    if known.default is None:
        return _of_checkpoint(world, built, known.parameter)
    step = built.frame.step(built.node)  # type: ignore[arg-type]
    return Layer(built.label or built.name, Integer.exact(known.default).because(step), step.where)


def _layer(world: World, built: Built, classes: Integer | Unknown) -> Layer | Unknown:
    if isinstance(classes, Unknown) or classes.number == 0:
        return classes if isinstance(classes, Unknown) else Unknown(f"{built.name} has no last layer")
    step = built.frame.step(built.node)  # type: ignore[arg-type]
    return Layer(built.label or built.name, classes.because(step), step.where)


def _replaced(world: World, built: Built, known: Head) -> Tensor | Unknown | None:
    """What ``model.fc = nn.Linear(512, 10)`` behind its construction puts out; Unknown where that is not followed."""
    module = built.frame.module
    holder = module.parents.get(built.node)
    place = dotted(holder.targets[0]) if isinstance(holder, ast.Assign) else None
    scope = module.scope(built.node)
    if place is not None and not isinstance(scope, ast.Lambda):
        for name in known.attributes:
            found = final(world, f"{place}.{name}", scope, built.frame)
            if found is not None and found.name == f"{place}.{name}":
                new = world.bound_value(found, found.name, built.frame)
                made = world.call(new, Arguments(), built.node, built.frame) if isinstance(new, Built) else new
                return made if isinstance(made, Tensor) else Unknown(f"{place}.{name} is replaced")
    written = next((name for name in known.attributes if _is_written(world, name)), None)
    return Unknown(f"{written} of a model is replaced somewhere") if written else None


def tied_to(world: World, built: Built) -> Built | None:
    """The layer whose weight another one takes over where it is made: ``self.head.weight = self.embed.weight``."""
    module = built.frame.module
    holder = module.parents.get(built.node) if module is not None else None
    place = dotted(holder.targets[0]) if isinstance(holder, ast.Assign) else None
    path = f"{place}.weight"
    if place is None or path not in module.stored:
        return None
    scope = module.scope(built.node)
    found = final(world, path, scope, built.frame)
    new = world.bound_value(found, path, built.frame) if found is not None and found.name == path else None
    is_weight = isinstance(new, Method) and new.name == "weight"
    return new.thing if is_weight and isinstance(new, Method) and isinstance(new.thing, Built) else None


def _is_written(world: World, name: str) -> bool:
    """Whether any file replaces a part of this name of an object other than ``self``."""
    key = ("head replaced", name)
    known = world.workspace.answers.get(key)
    if not isinstance(known, bool):
        known = any(
            not is_receiver(module, target, statement)
            for module in world.workspace.writers(name, "")
            for target, statement in attribute_writes(module).get(name, ())
        ) or any(name in module.changed for module in world.workspace.mentions_both(f".{name}[", "="))
        world.workspace.answers[key] = known
    return known


def _of_setting(world: World, built: Built, name: str, last: Tensor | Unknown | None) -> Layer | Unknown:
    """The class count of a transformers model: what the call, or the settings that it is given, say."""
    given = built.arguments
    if given is None or given.double_stars:
        return _of_checkpoint(world, built, name)
    if any(True for _ in world.workspace.mentions_both(GROWN, GROWN)):
        return Unknown(f"{GROWN} gives the model another width")
    if last is not None:
        return last.layer if isinstance(last, Tensor) else last
    count = given.keywords.get(name) or _in_settings(world, given, name)
    if count is not None:
        return _layer(world, built, world.integer(world.force(count)))
    first = world.force(given.positional[0]) if given.positional else None
    found = weights.saved(world, first, built.frame, name) if first is not None else None
    return _layer(world, built, world.integer(found)) if found is not None else _of_checkpoint(world, built, name)


def setting(world: World, built: Built, name: str) -> Thing | None:
    """A setting of a transformers config: what it was made with, or what the project keeps in its folder."""
    last = built.what.name.rpartition(".")[2]
    if not built.what.name.startswith("transformers.") or not last.endswith("Config") or built.arguments is None:
        return None
    if name in built.arguments.keywords:
        return world.force(built.arguments.keywords[name])
    first = world.force(built.arguments.positional[0]) if built.arguments.positional else None
    file = weights.CONFIGS.get(last, weights.SETTINGS)
    return weights.saved(world, first, built.frame, name, file) if first is not None else None


def _in_settings(world: World, given: Arguments, name: str) -> Thunk | None:
    config = given.keywords.get("config") or (given.positional[0] if given.positional else None)
    thing = world.force(config) if config is not None else None
    found = setting(world, thing, name) if isinstance(thing, Built) and isinstance(thing.what, External) else None
    return Thunk(config.node, config.frame, found) if config is not None and found is not None else None
