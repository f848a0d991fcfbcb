"""What keeps the weights of a model: a call that writes them to disk, an assignment that copies them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.regex import regex
from trainlint.source.summary import Module, dotted, last

WRITES = regex(
    r"(?:save|store|write|dump|backup|snapshot|make|update|export)_?\w*"
    r"(?:model|ckpt|checkpoint|check_point|chkpt|weight|state|best|param|pretrained|lora|adapter|snapshot|networks?\b|"
    r"dict|net\b|all\b)|(?:checkpoint|ckpt|chkpt|snapshot)_?save|save_?ckpt|savemodel",
    re.IGNORECASE,
)
"""A function that says it saves a model."""

PLAIN = regex(r"_*(?:save|saver|checkpoint|checkpointer)_*$")
"""A method that says it saves, of anything."""

OTHERS = frozenset(
    {
        "np", "numpy", "plt", "pyplot", "fig", "figure", "image", "img", "im", "df", "json", "pickle", "wandb",
        "writer", "torchaudio", "sf", "soundfile", "torchvision", "PIL", "cv2", "mesh", "vocab", "tokenizer",
        "processor", "workbook", "wb", "scipy", "plot", "csv", "yaml", "config", "cfg", "history", "logger", "log",
        "results", "dataset", "args", "scaler", "fp", "pil_img", "ani", "canvas",
    }
)  # fmt: skip
"""What saves something else by its ``save``."""

NO_MODEL = regex(
    r"(?:^|_)(?:loss(?:es)?|metrics?|logs?|preds?|predictions?|results?|embeddings?|features?|hist(?:ory)?|scores?|"
    r"labels?|outputs?|images?|samples?|stats?|args|config|cfg|vocab|data|dataset|ids|confusion|tokenizer)$"
)
"""Names of what is no model, where ``torch.save`` writes it."""

MODEL = regex(r"model|net\b|network|weights|state|ckpt|checkpoint|encoder|decoder|params|adapter", re.IGNORECASE)
COPIES = frozenset({"deepcopy", "copy", "state_dict", "get_weights", "get_params", "clone"})


def writes(module: Module, node: ast.AST) -> bool:
    """Whether a call writes a model, as far as its name and its first argument say."""
    if not isinstance(node, ast.Call):
        return False
    word = last(node.func)
    if WRITES.search(word):
        return not _is_of_others(node) and not re.search(r"load|image|fig|config|hyperparam|metric|json|csv", word)
    if PLAIN.fullmatch(word):
        owner = _owner(node)
        if owner in ("torch", "th", "paddle", "xm", "jit"):
            return bool(node.args) and _is_model(node.args[0])
        return owner not in OTHERS and bool(owner or _is_local(module, word)) and _is_dressed(node)
    return word == "dump" and bool(node.args) and MODEL.search(last(node.args[0])) is not None


def _owner(node: ast.Call) -> str:
    return last(node.func.value) if isinstance(node.func, ast.Attribute) else ""


def _is_local(module: Module, word: str) -> bool:
    return word in module.definitions or word in module.imports


def _is_dressed(node: ast.Call) -> bool:
    """Whether what is saved may be a model: not ``image.resize(...).save(path)``."""
    return not (isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call))


def _is_of_others(node: ast.Call) -> bool:
    return _owner(node) in OTHERS


def _is_model(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Attribute():
            return NO_MODEL.search(last(node).lower()) is None
        case ast.Dict(keys=keys, values=values):
            says = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            return any(MODEL.search(each) for each in says) or any(map(_has_state, values)) or None in keys
        case ast.Call(func=func):
            return _has_state(node) or MODEL.search(last(func)) is not None or last(func) == "dict"
    return False


def _has_state(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Attribute) and "state_dict" in each.attr for each in ast.walk(node))


def copies(node: ast.AST) -> bool:
    """Whether a statement keeps a model in memory: ``best = copy.deepcopy(model)``, ``best = model.state_dict()``."""
    match node:
        case ast.Assign(value=ast.Call() as value):
            called = {last(each.func) for each in ast.walk(value) if isinstance(each, ast.Call)}
            named = any(
                MODEL.search(last(each)) for each in ast.walk(value) if isinstance(each, ast.Name | ast.Attribute)
            )
            return "state_dict" in called or (not COPIES.isdisjoint(called) and named)
        case ast.Assign(targets=[target], value=ast.Name() | ast.Attribute() as value):
            kept = re.search(r"best|final|opt", last(target).lower()) is not None
            return kept and re.fullmatch(r"(?:\w*_)?(?:model|net|network|params|weights)", last(value)) is not None
        case ast.Assign(value=ast.DictComp() as value):
            return _has_state(value)
    return False


def kept_in(module: Module, block: list[ast.stmt] | list[ast.AST], depth: int = 0) -> Iterator[ast.AST]:
    """What keeps weights in these statements, and the calls of the file's own functions that do."""
    for statement in block:
        for node in ast.walk(statement):
            if (
                copies(node)
                or writes(module, node)
                or (isinstance(node, ast.Call) and not depth and _helps(module, node))
            ):
                yield node


def _helps(module: Module, call: ast.Call) -> bool:
    """Whether a call enters a function of this file that keeps weights."""
    if not isinstance(call.func, ast.Name) and (dotted(call.func) or "").partition(".")[0] not in ("self", "cls"):
        return False
    for each in module.definitions.get(last(call.func), ()):
        if isinstance(each, ast.FunctionDef) and any(kept_in(module, list(each.body), depth=1)):
            return True
    return False


def stores(module: Module) -> tuple[ast.AST, ...]:
    """Everything in a file that writes a model to disk, by its line."""
    known = module.kept.get("stores")
    if not isinstance(known, tuple):
        found = [call for call in module.calls if writes(module, call)]
        known = module.kept["stores"] = tuple(found)
    return known


def helpers(module: Module, nodes: list[ast.AST]) -> set[ast.AST]:
    """The functions of a file that these calls enter, and those that they enter in turn."""
    found: set[ast.AST] = set()
    waiting = [node for node in nodes if isinstance(node, ast.Call)]
    while waiting:
        for each in module.definitions.get(last(waiting.pop().func), ()):
            if each not in found and isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(each)
                waiting += [inner for inner in ast.walk(each) if isinstance(inner, ast.Call)]
    return found
