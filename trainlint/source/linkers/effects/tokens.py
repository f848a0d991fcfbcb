"""Adapters over models that got new tokens, and whether anything trains the embeddings of those tokens.

An adapter freezes the model it is put on, the embeddings included: the rows that ``resize_token_embeddings`` has added
stay as they were drawn, unless the adapter, or a line of the project, names them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import NewTokens
from trainlint.regex import regex
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.sift.effects import ADAPTERS, adapts
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Constant, Entries, External, Frame, Items, Thing
from trainlint.source.world import World
from trainlint.source.writes import attribute_writes

CONFIGS = frozenset(word.decode() for word in ADAPTERS)
NAMED = ("target_modules", "modules_to_save")
INDICES = "trainable_token_indices"
"""Arguments by which an adapter trains what they name, and rows of the embeddings."""

ADDS = frozenset({"add_tokens", "add_special_tokens"})
RESIZES = "resize_token_embeddings"
EMBEDS = regex(r"emb|wte|lm_head|shared|output_layer|\.\*", re.IGNORECASE)
"""What names the embeddings, or the head that is tied to them, or everything."""

KNOWN = frozenset(
    {"</s>", "<s>", "<unk>", "<pad>", "[PAD]", "<|endoftext|>", "<|end_of_text|>", "[CLS]", "[SEP]", "[UNK]"}
)
"""Tokens that a vocabulary has already, or that nothing learns from."""

PADS = frozenset({"pad_token"})
ADAPTED = frozenset(
    {"get_peft_model", "inject_adapter_in_model", "PeftModel", "SFTTrainer", "DPOTrainer", "RewardTrainer"}
)
"""What puts an adapter on a model."""


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that describe an adapter in a file that makes room for new tokens."""
    if not adapts(module.data) or RESIZES not in module.loads or ADDS.isdisjoint(module.loads):
        return
    if any(name in attribute_writes(module) for name in (*NAMED, INDICES)):
        return
    for node, _ in named(module, CONFIGS):
        call = call_of(module, node)
        if call is not None and None not in _given(call):
            yield Site(call, module)


def _given(call: ast.Call) -> dict[str | None, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords}


def facts(world: World, site: Site) -> Iterator[NewTokens]:
    """What one path shows of an adapter: the tokens that are added, and the room that is made on the same model."""
    frame, module, call = standing(world, site), site.module, site.call
    if _is_thawed(module) or not isinstance(world.evaluate(call.func, frame), External):
        return
    given = _given(call)
    if any(_names_embeddings(world, given.get(name), frame) for name in NAMED):
        return
    if _is_given(world, given.get(INDICES), frame):
        return
    model = _model(module, call)
    resized = next((each for each in _calls(module, RESIZES) if model and _receiver(each) == model), None)
    added = next((each for word in sorted(ADDS) for each in _calls(module, word) if _adds(world, module, each)), None)
    if resized is not None and added is not None and not _are_apart(module, call, added):
        name = ast.unparse(call.func)
        yield NewTokens(site.span, site.span, None, (), (), name, module.step(added), module.step(resized))


def _calls(module: Module, word: str) -> Iterator[ast.Call]:
    for node in module.loads.get(word, ()):
        call = call_of(module, node)
        if call is not None:
            yield call


def _receiver(call: ast.Call) -> str:
    """The last word of what a method is called on."""
    return last(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _names_embeddings(world: World, given: ast.expr | None, frame: Frame) -> bool:
    """Whether an adapter is put on the embeddings, or may be for all that is known."""
    if given is None:
        return False
    thing = world.evaluate(given, frame)
    match thing:
        case Constant(value=None, assumed=()):
            return False
        case Constant(value=str(text)):
            return EMBEDS.search(text) is not None
        case Items(whole=True, elements=elements):
            texts = [world.force(each) for each in elements]
            return any(not isinstance(text, Constant) or EMBEDS.search(str(text.value)) is not None for text in texts)
    return True


def _is_given(world: World, given: ast.expr | None, frame: Frame) -> bool:
    """Whether an argument is more than a None, or may be for all that is known."""
    match world.evaluate(given, frame) if given is not None else Constant(None):
        case Constant(value=None, assumed=()):
            return False
    return True


def _model(module: Module, call: ast.Call) -> str:
    """The last word of the name of the model on which an adapter is put; nothing where that is not seen."""
    holder = module.statement(call)
    name = dotted(holder.targets[0]) if isinstance(holder, ast.Assign) else None
    for word in sorted(ADAPTED):
        for made in _calls(module, word):
            given = [*made.args, *(keyword.value for keyword in made.keywords)]
            if call in given or (name is not None and name in map(dotted, given)):
                models = [*(each.value for each in made.keywords if each.arg == "model"), *made.args]
                return last(models[0]) if models else ""
    return ""


def _adds(world: World, module: Module, call: ast.Call) -> bool:
    """Whether a call adds a token that the model has to learn."""
    given = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
    thing = world.evaluate(given, world.open_frame(module, call)) if given is not None else None
    match thing:
        case Entries(pairs=pairs, whole=True):
            keys = [(world.force(key), world.force(value)) for key, value in pairs]
            return any(_is_new(world, value) for key, value in keys if not _is_padding(key))
        case None:
            return False
    return last(call.func) == "add_tokens" and not _is_known(world, thing)


def _is_padding(key: Thing) -> bool:
    return isinstance(key, Constant) and key.value in PADS


def _is_new(world: World, thing: Thing) -> bool:
    """Whether a value of a table of special tokens is written out, and is none that a vocabulary has already."""
    match thing:
        case Constant(value=str(text)):
            return text not in KNOWN
        case Items(elements=elements):
            return any(_is_new(world, world.force(each)) for each in elements)
    return False


def _is_known(world: World, thing: Thing) -> bool:
    """Whether all tokens of a list are written out, and the vocabulary has them already or nothing learns them."""
    match thing:
        case Constant(value=str(text)):
            return text in KNOWN or "pad" in text.lower()
        case Items(whole=True, elements=elements):
            return all(_is_known(world, world.force(each)) for each in elements)
    return False


def _is_thawed(module: Module) -> bool:
    """Whether the file switches gradients of something that it calls an embedding or a head."""
    switched: list[ast.AST] = [node for _, node in attribute_writes(module).get("requires_grad", ())]
    switched += module.loads.get("requires_grad_", ())
    return any(EMBEDS.search(text) for node in switched for text in _heads(module, node))


def _heads(module: Module, node: ast.AST) -> Iterator[str]:
    """What is written around a node in its function: the statement itself, and the heads of loops and tests."""
    scope, holder = module.scope(node), node
    while holder is not scope:
        match holder:
            case ast.If(test=head) | ast.For(iter=head) | ast.Expr(value=head) | ast.Assign(targets=[head, *_]):
                yield ast.unparse(head)
        holder = module.parents[holder]


def _are_apart(module: Module, one: ast.AST, other: ast.AST) -> bool:
    """Whether two lines stand in the two arms of one test."""
    sides: dict[ast.AST, str] = {}
    for node in (one, other):
        child, holder = node, module.parents.get(node)
        while holder is not None:
            if isinstance(holder, ast.If) and child is not holder.test:
                side = "body" if child in holder.body else "orelse"
                if sides.setdefault(holder, side) != side:
                    return True
            child, holder = holder, module.parents.get(holder)
    return False
