"""Checkpoints that are loaded to be trained in whole, in the format in which they were saved.

It starts where training does: the parameters of an optimizer, the model of a trainer. What is trained there is followed
back to the call that loads it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Dtype, LoadedModel, Storage
from trainlint.knowledge import published
from trainlint.knowledge.precision import DTYPE_KEYWORDS, QUANTISING
from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source import objects
from trainlint.source.linkers.precision import optimizers, trainers
from trainlint.source.linkers.precision.surroundings import surroundings
from trainlint.source.linkers.site import Site, call_of, standing
from trainlint.source.parameters import trained
from trainlint.source.requirements import Declared, declared
from trainlint.source.storage import weights
from trainlint.source.summary import Module, last
from trainlint.source.text import is_test
from trainlint.source.things import Built, Class, Constant, External, Frame, Method, Opaque, Thing, Thunk
from trainlint.source.weights import saved
from trainlint.source.world import World
from trainlint.value import Step, Unknown

LIBRARY = "transformers."
FIFTH = (5,)
"""From this version on the library keeps the format of the checkpoint where it is told none."""

NO_MODEL = regex(r"Tokenizer|Processor|Config|Extractor|^TF|^Flax|Pipeline|Streamer|Retriever|Scheduler")
PARTLY = regex(r"(?i)peft|lora\b|adapter|quantiz|load_in_|bitsandbytes|freez|requires_grad")
"""What files say where not all of the weights are trained as they were loaded."""


@thing
class Load:
    """A call of ``from_pretrained``, the file it stands in, and what it is called on."""

    call: ast.Call
    module: Module
    name: str


def sites(world: World, module: Module) -> Iterator[Site]:
    """Where training starts, in projects that load checkpoints."""
    every = [*optimizers.sites(world, module), *trainers.sites(world, module)]
    return iter(every if every and _is_anything_loaded(world) else ())


def _is_anything_loaded(world: World) -> bool:
    """Whether any file of the project may load a model in the format in which it was saved."""
    key = ("anything is loaded",)
    known = world.workspace.answers.get(key)
    if not isinstance(known, bool):
        every = world.workspace.saying("from_pretrained", "transformers")
        partly = world.workspace.saying_all("from_pretrained", "transformers", regex(PARTLY.pattern.encode()))
        wholly = (path for path in every if path not in partly and not is_test(path))
        known = world.workspace.answers[key] = any(_may_load(world, path) for path in wholly)
    return known


def _may_load(world: World, path: str) -> bool:
    """Whether a file loads a model without saying in which format, for all that its words say."""
    module = world.workspace.module(path)
    return isinstance(module, Module) and _loads_openly(world, module)


def _loads_openly(world: World, module: Module) -> bool:
    known = module.kept.get("may load")
    if not isinstance(known, bool):
        named = (node for node in module.loads.get("from_pretrained", ()) if isinstance(node, ast.Attribute))
        open_ones = any(
            not NO_MODEL.search(last(node.value))
            and not any(keyword.arg in (None, *QUANTISING) for keyword in call.keywords)
            for node in named
            if (call := call_of(module, node)) is not None
        )
        version = declared(world.workspace, "transformers", module.path) if open_ones else None
        auto = any(each.value == "auto" for each in _texts(module)) if open_ones else False
        known = module.kept["may load"] = open_ones and (auto or version is None or version.may_be(FIFTH))
    return known


def _texts(module: Module) -> Iterator[ast.Constant]:
    """What files say in quotes as an argument called dtype."""
    for word in DTYPE_KEYWORDS:
        for call in module.passing.get(word, ()):
            given = next(keyword.value for keyword in call.keywords if keyword.arg == word)
            if isinstance(given, ast.Constant):
                yield given


def facts(world: World, site: Site) -> Iterator[LoadedModel]:
    """The checkpoints that one optimizer or trainer trains as they were loaded."""
    frame = standing(world, site)
    for model in _models(world, site, frame):
        for load in _loads(world, site, model):
            if not _is_kept_apart(world, site, load, model, frame):
                yield from _judged(world, site, load)


def _models(world: World, site: Site, frame: Frame) -> Iterator[Thing]:
    """What is trained there: the owners of the parameters, or the model that a trainer is given."""
    call = site.call
    if last(call.func).endswith("Trainer"):
        given = [keyword.value for keyword in call.keywords if keyword.arg == "model"] or call.args[:1]
        yield from (world.evaluate(each, frame) for each in given)
        return
    params = [keyword.value for keyword in call.keywords if keyword.arg == "params"] or call.args[:1]
    for each in params:
        for owner in trained(world, Thunk(each, frame)).owners:
            yield world.evaluate(owner.node, owner.frame)
            node = owner.node
            while isinstance(node, ast.Attribute):
                node = node.value
                yield world.evaluate(node, owner.frame)


def _loads(world: World, site: Site, model: Thing) -> Iterator[Load]:
    """The calls that load what a model is, or what it is built around."""
    match model:
        case Built(what=External(), node=ast.Call() as call):
            yield from _load(world, model.frame.module, call)
        case Opaque(node=ast.Call() as call):
            for module in _modules(world, site, call):
                yield from _load(world, module, call)
        case Built(what=Class() as cls):
            for each in objects.lineage(world, cls):
                if isinstance(each, Class):
                    yield from _inside(world, each)


def _modules(world: World, site: Site, call: ast.Call) -> Iterator[Module]:
    """The file in which a call stands."""
    near = world.workspace.mentions("from_pretrained", site.module.path)
    yield from (module for module in dict.fromkeys((site.module, *near)) if call in module.parents)


def _inside(world: World, cls: Class) -> Iterator[Load]:
    """The checkpoints that a module of the project loads into its own attributes."""
    for node in ast.walk(cls.node):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Call() as call):
                yield from _load(world, cls.module, call)


def _load(world: World, module: Module, call: ast.Call) -> Iterator[Load]:
    if last(call.func) != "from_pretrained":
        return
    quiet = world.apart()
    called = quiet.evaluate(call.func, quiet.open_frame(module, call))
    match called:
        case External(name=name) if name.startswith(LIBRARY):
            word = name.split(".")[-2]
        case Method(thing=Class() as cls) if _is_of_library(quiet, cls):
            word = cls.name
        case _:
            return
    if not NO_MODEL.search(word):
        yield Load(call, module, word)


def _is_of_library(world: World, cls: Class) -> bool:
    return any(isinstance(each, External) and each.name.startswith(LIBRARY) for each in objects.lineage(world, cls))


def _is_kept_apart(world: World, site: Site, load: Load, model: Thing, frame: Frame) -> bool:
    """Whether the weights are not trained in whole as they were loaded: a cast, an adapter, a copy in float32."""
    files = {site.module, load.module}
    if any(module.says(PARTLY) for module in files):
        return True
    if any(keyword.arg == "peft_config" for keyword in site.call.keywords):
        return True
    if surroundings(world, site, frame).compensation is not None:
        return True
    known = weights(world, model, site.call, frame).trained
    return isinstance(known, Storage) and bool(known.evidence)


def _judged(world: World, site: Site, load: Load) -> Iterator[LoadedModel]:
    named = {keyword.arg: keyword.value for keyword in load.call.keywords}
    if None in named or any(word in named for word in QUANTISING):
        return
    given = next((named[word] for word in DTYPE_KEYWORDS if word in named), None)
    says = load.module.attributes
    if given is None and not says.isdisjoint(DTYPE_KEYWORDS):
        return
    if given is not None and not (isinstance(given, ast.Constant) and given.value == "auto"):
        return
    version = declared(world.workspace, "transformers", load.module.path)
    if given is None and version is not None and not version.may_be(FIFTH):
        return
    yield _loaded(world, site, load, given, version)


def _loaded(world: World, site: Site, load: Load, given: ast.expr | None, version: Declared | None) -> LoadedModel:
    span = load.module.span(load.call)
    checkpoint = _checkpoint(world, load)
    return LoadedModel(
        span, span, None, (), (), model=load.name, checkpoint=checkpoint if isinstance(checkpoint, str) else "",
        asked=load.module.step(given) if given is not None else None,
        stored=_stored(world, load, checkpoint), trained=site.module.step(site.call),
        version=version.step if version is not None else None,
        certain=given is not None or (version is not None and version.must_be(FIFTH)),
    )  # fmt: skip


def _checkpoint(world: World, load: Load) -> str | Unknown:
    """The name or the path that is loaded."""
    quiet = world.apart()
    named = [each.value for each in load.call.keywords if each.arg == "pretrained_model_name_or_path"]
    for node in (*load.call.args[:1], *named):
        thing = quiet.evaluate(node, quiet.open_frame(load.module, load.call))
        if isinstance(thing, Constant) and isinstance(thing.value, str) and not thing.assumed:
            return thing.value
        return Unknown("which checkpoint is loaded is decided when it runs", ast.unparse(node))
    return Unknown("which checkpoint is loaded is not seen")


def _stored(world: World, load: Load, checkpoint: str | Unknown) -> Storage | Unknown:
    """The format in which the checkpoint was saved: of a folder of the project its config says so."""
    if isinstance(checkpoint, Unknown):
        return checkpoint
    frame = world.apart().open_frame(load.module, load.call)
    for word in ("dtype", "torch_dtype"):
        found = saved(world.apart(), Constant(checkpoint), frame, word)
        if isinstance(found, Constant) and found.value in {each.value for each in Dtype}:
            return Storage(Dtype(found.value), found.evidence)
    known = published.stored(checkpoint)
    if known is None:
        return Unknown(f"the format in which {checkpoint} was saved is not known", "dtype=")
    return Storage(Dtype(known), (Step(f"{checkpoint} is stored in {known}", load.module.span(load.call)),))
