"""argparse: what an option is worth when nobody types anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.source.arithmetic import assumed_by
from trainlint.source.binding import least
from trainlint.source.summary import Module
from trainlint.source.things import Arguments, Built, Constant, External, Frame, Opaque, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Unknown

PARSERS = frozenset({"argparse.ArgumentParser", "configargparse.ArgumentParser", "jsonargparse.ArgumentParser"})
NAMESPACE = External("argparse.Namespace")


def namespace(parser: Thing, node: ast.AST, frame: Frame) -> Built:
    """What ``parse_args`` returns: a namespace that remembers its parser."""
    return Built(NAMESPACE, Arguments((Thunk(ast.Constant(None), frame, parser),)), node, frame)


def option(world: World, built: Built, name: str) -> Thing:
    """One option's default, assumed: the command line may say something else."""
    parser = built.arguments.positional[0].known if built.arguments and built.arguments.positional else None
    home = parser.frame.module if isinstance(parser, Built) else built.frame.module
    origin = f"{home.path}:args.{name}"
    for call, module in _declarations(world, home, name):
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        frame = world.open_frame(module, call)
        if "default" not in named:
            break
        default = world.evaluate(named["default"], frame)
        if isinstance(default, Constant) and default.value is None:
            break
        kept = default.named(name, origin) if isinstance(default, Integer) else default
        return assumed_by(kept, module.step(call))
    why = Unknown(f"the command line decides {name}", f"args.{name}")
    return Opaque(f"args.{name}", origin, why, least(name), None, (name,))


def _declarations(world: World, home: Module, name: str) -> Iterator[tuple[ast.Call, Module]]:
    """The ``add_argument`` calls that declare an option: in the parser's own file, else anywhere in the project."""
    own = _options(home).get(name, [])
    yield from ((call, home) for call in own)
    if not own:
        for module in world.workspace.mentions("add_argument", home.path):
            yield from ((call, module) for call in _options(module).get(name, ()))


def _options(module: Module) -> dict[object, list[ast.Call]]:
    """The ``add_argument`` calls of a file by the option that each declares."""
    known = module.kept.get("options")
    if isinstance(known, dict):
        return known
    found: dict[object, list[ast.Call]] = {}
    for node in module.loads.get("add_argument", ()):
        call = module.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node:
            found.setdefault(_declared(call), []).append(call)
    module.kept["options"] = found
    return found


def _declared(call: ast.Call) -> object:
    """The name under which ``parse_args`` hands out an option."""
    dest = next((keyword.value for keyword in call.keywords if keyword.arg == "dest"), None)
    if isinstance(dest, ast.Constant):
        return dest.value
    flags = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    long = [flag for flag in flags if flag.startswith("--")] or flags
    return long[0].lstrip("-").replace("-", "_") if long else None
