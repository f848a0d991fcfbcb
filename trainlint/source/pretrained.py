"""Classes of the project that a library makes: ``Tagger.from_pretrained(name, config=config, args=args)``."""

from __future__ import annotations

import ast

from trainlint.record import replace
from trainlint.source import objects
from trainlint.source.binding import declared
from trainlint.source.things import Arguments, Class, External, Frame, Opaque, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Unknown

MAKERS = frozenset({"from_pretrained", "from_config", "_from_config", "load_from_checkpoint"})
LIBRARIES = ("transformers.", "huggingface_hub.", "diffusers.", "pytorch_lightning.", "lightning.")


def makes(world: World, cls: Class, name: str) -> bool:
    """Whether a class has one of these methods from a library."""
    bases = (each.name for each in objects.lineage(world, cls) if isinstance(each, External))
    return name in MAKERS and any(base.startswith(LIBRARIES) for base in bases)


def made(world: World, cls: Class, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Thing:
    """The object, made with what the library hands on: the settings first, and the arguments that it does not know."""
    init = objects.method(world, cls, "__init__", None)
    if init is None or isinstance(init.node, ast.Lambda):
        return world.call(cls, replace(given, positional=given.positional[1:]), node, frame)
    known = [each for each in declared(init.node) if each != init.node.args.args[0].arg]
    rest = given.positional[1:] if name != "load_from_checkpoint" else ()
    keywords = {key: value for key, value in given.keywords.items() if key in known and key != "config"}
    if name == "load_from_checkpoint":
        hole = Thunk(ast.Constant(None), frame, Unknown("the checkpoint says what it was made with"))
        return world.call(cls, Arguments(keywords=keywords, double_stars=(hole,)), node, frame)
    config = given.positional[0] if name != "from_pretrained" and given.positional else given.keywords.get("config")
    first = config or Thunk(ast.Constant(None), frame, _config(cls, node, frame))
    return world.call(cls, replace(given, positional=(first, *rest), keywords=keywords), node, frame)


def _config(cls: Class, node: ast.AST, frame: Frame) -> Opaque:
    """The settings that come with the weights: themselves, wherever they go."""
    why = Unknown(f"the settings of {cls.name} come with its weights", "config")
    return Opaque("config", f"config of {id(node)}#{frame.number}", why, node=node)
