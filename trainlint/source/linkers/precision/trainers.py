"""Trainers of transformers and trl that make the optimizer themselves: their settings, and the model they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Compensation, Dtype, Optimizer, Storage
from trainlint.knowledge.optimizers import OPTIMIZERS, TRAINER_DEFAULTS, TRAINER_OPTIMIZERS, Known, State
from trainlint.knowledge.optimizers import Step as Reach
from trainlint.source import objects
from trainlint.source.binding import argument
from trainlint.source.linkers.precision.surroundings import DEEPSPEED, Surroundings, named_calls, surroundings
from trainlint.source.linkers.site import Site, call_of, named_so, real_of, standing
from trainlint.source.storage import weights
from trainlint.source.summary import Module, last
from trainlint.source.things import Arguments, Built, Class, Constant, External, Frame, Opaque, Thing, Thunk
from trainlint.source.world import World, quietly
from trainlint.value import Real, Unknown

LIBRARIES = ("transformers.", "trl.", "sentence_transformers.", "setfit.")
PARAMETERS = ("model", "args")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls of what is named a trainer, in files that give it data."""
    text = module.text
    if "train_dataset" not in text and "**" not in text:
        return
    for node, word in named_so(module, lambda name: name.endswith("Trainer")):
        call = call_of(module, node)
        if call is not None and (word != "Trainer" or _is_given_a_model(call)):
            yield Site(call, module)
    for each in (each for found in module.definitions.values() for each in found):
        own = isinstance(each, ast.ClassDef) and not each.name.endswith("Trainer")
        if own and isinstance(each, ast.ClassDef) and any(last(base).endswith("Trainer") for base in each.bases):
            yield from named_calls(world, module, each)


def _is_given_a_model(call: ast.Call) -> bool:
    """Whether a ``Trainer`` takes a model when it is made, as Lightning's does not."""
    return bool(call.args) or any(keyword.arg in ("model", "args", None) for keyword in call.keywords)


def facts(world: World, site: Site) -> Iterator[Optimizer]:
    """The optimizer that a trainer makes in one world; nothing where it is given one, or trains only adapters."""
    frame = standing(world, site)
    trainer = _library_part(world, world.evaluate(site.call, frame))
    if trainer is None or trainer.arguments is None:
        return
    given = trainer.arguments
    if _is_given(world, given, "optimizers") or _is_given(world, given, "peft_config"):
        return
    model = argument(given, PARAMETERS, "model")
    if not isinstance(model, Thunk):
        return
    world.follow(True)
    settings = _settings(world, argument(given, PARAMETERS, "args"))
    around = _around(world, settings, surroundings(world, site, frame))
    kept = _stored(world, model, site, frame)
    if isinstance(kept, Storage) and kept.dtype.is_short:
        yield _described(world, site, trainer, settings, around, kept)
        return
    fact = quietly(world, lambda inner: _described(inner, site, trainer, settings, around, kept))
    yield fact or _described(world, site, trainer, settings, around, kept)


def _library_part(world: World, made: Thing) -> Built | None:
    """The trainer of a library, or that part of one of the project."""
    if not isinstance(made, Built):
        return None
    part = objects.library_base(world, made) if isinstance(made.what, Class) else made
    is_one = part is not None and isinstance(part.what, External) and part.what.name.startswith(LIBRARIES)
    return part if is_one and part is not None and part.name.endswith("Trainer") else None


def _is_given(world: World, given: Arguments, name: str) -> bool:
    passed = given.keywords.get(name)
    return passed is not None and not _is_none(world.force(passed))


def _is_none(thing: Thing) -> bool:
    return isinstance(thing, Constant) and thing.value is None


def _stored(world: World, given: Thunk, site: Site, frame: Frame) -> Storage | Unknown:
    model = world.force(given)
    if isinstance(model, Constant):
        return Unknown("the trainer loads the model itself")
    return weights(world, model, site.call, frame).trained


def _settings(world: World, given: Thunk | Unknown | None) -> Built | Unknown | None:
    """The object that holds the trainer's settings, where its making is seen."""
    if not isinstance(given, Thunk):
        return given
    made = world.force(given)
    if isinstance(made, Built) and isinstance(made.what, Class):
        made = objects.library_base(world, made) or made
    if isinstance(made, Built) and made.arguments is not None:
        return made
    if isinstance(made, Opaque):
        return Unknown(f"{made.name}: {made.why.reason}", made.why.settle or made.name)
    return made if isinstance(made, Unknown) else Unknown("how the settings of the trainer are made is not seen")


def _around(world: World, settings: Built | Unknown | None, known: Surroundings) -> Surroundings:
    """What the settings say of engines that keep a copy."""
    if known.compensation is not None:
        return known
    if isinstance(settings, Unknown):
        return Surroundings(DEEPSPEED)
    given = settings.arguments if settings is not None else None
    if given is None:
        return known
    for name in ("deepspeed", "fsdp"):
        passed = argument(given, (), name)
        value = world.force(passed) if isinstance(passed, Thunk) else passed
        if value is None or (isinstance(value, Constant) and not value.value and not value.assumed):
            continue
        is_open = isinstance(value, Opaque | Unknown) or (isinstance(value, Constant) and bool(value.assumed))
        return Surroundings(DEEPSPEED if is_open else Compensation.MASTER)
    return known


def _described(
    world: World,
    site: Site,
    trainer: Built,
    settings: Built | Unknown | None,
    around: Surroundings,
    kept: Storage | Unknown,
) -> Optimizer:
    compensation = around.compensation
    if isinstance(compensation, Unknown):
        kept = compensation if isinstance(kept, Storage) and kept.dtype.is_short else kept
        compensation = None
    chosen = _chosen(world, settings)
    known = OPTIMIZERS.get(TRAINER_OPTIMIZERS.get(chosen, "")) if isinstance(chosen, str) else None
    is_adam = known is None and isinstance(chosen, str) and chosen == ""
    # By default it is AdamW, of which newer versions take the fused form.
    known = OPTIMIZERS["torch.optim.AdamW"] if is_adam else known
    plain = known is not None and chosen == "adamw_torch"
    eps = _option(world, settings, "adam_epsilon") if known is not None and known.eps else None
    return Optimizer(
        site.span,
        site.span,
        None,
        (),
        (),
        trainer.name,
        kept,
        _option(world, settings, "learning_rate"),
        _option(world, settings, "weight_decay"),
        eps if plain or eps is None else Unknown("which optimizer it makes is open"),
        _option(world, settings, "adam_beta2") if known is not None and known.second else None,
        _state(known, kept),
        scales=plain,
        bounded=known is None or known.step is Reach.LEARNING_RATE,
        compensation=compensation,
        doubt=around.doubt,
    )


def _state(known: Known | None, kept: Storage | Unknown) -> Dtype | Unknown:
    if known is None or known.state is State.QUANTISED:
        return Unknown("in which format its state is kept is not known")
    return Dtype.FLOAT32 if known.state is State.FLOAT32 else kept if isinstance(kept, Unknown) else kept.dtype


def _chosen(world: World, settings: Built | Unknown | None) -> str | Unknown:
    """The name of the optimizer; empty where none is named."""
    if isinstance(settings, Unknown):
        return settings
    given = settings.arguments.keywords.get("optim") if settings is not None and settings.arguments else None
    if given is None:
        return ""
    value = world.force(given)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, External):
        return value.name.rpartition(".")[2].lower()
    return Unknown("which optimizer the settings name is open", "optim")


def _option(world: World, settings: Built | Unknown | None, name: str) -> Real | Unknown:
    """A setting, or its default in transformers."""
    if isinstance(settings, Unknown):
        return settings
    default = Real(float(TRAINER_DEFAULTS[name]))
    if settings is None:
        return default
    given = settings.arguments
    is_own = settings.name != "TrainingArguments" and settings.name != "Seq2SeqTrainingArguments"
    plain = Unknown(f"the default of {settings.name} for {name} is its own") if is_own else default
    return real_of(world, argument(given, (), name), plain)
