"""Tokenizers saved in the project: the call that loads one in, what its files say of its tokens and ids out.

What the code makes of a tokenizer afterwards is not asked here (``tokenizers``).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from trainlint.source import files, settings
from trainlint.source.data.datum import Broken
from trainlint.source.data.vocabulary import Vocabulary, of_json, of_lines
from trainlint.source.text import Fault
from trainlint.source.things import (
    Arguments,
    Built,
    Constant,
    Entries,
    External,
    Frame,
    Items,
    Opaque,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import World
from trainlint.span import Span
from trainlint.value import Integer, Step, Unknown

ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
WITHOUT_DEFAULTS = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Classes that bring no token of their own: what no file names is None."""

VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt")
CONFIGS = ("tokenizer_config.json", "special_tokens_map.json")
ADDED = "added_tokens.json"
LOADS = "from_pretrained"
FROM_FILE = "tokenizers.Tokenizer.from_file"
ABSENT = Unknown("no file of the tokenizer names such a token")


def call(world: World, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Opaque | None:
    """A call that loads a tokenizer out of the project; None for anything else."""
    maker, _, method = name.rpartition(".")
    is_library = maker.startswith("transformers.") and "Tokenizer" in maker and method == LOADS
    if not (is_library or name == FROM_FILE or (maker == "transformers" and method in WITHOUT_DEFAULTS)):
        return None
    loaded = Built(External(name), given, node, frame)
    if _vocabulary_file(world, loaded) is None:
        return None
    why = Unknown(f"what {name} returns is not known")
    return Opaque(f"{method}()", origin(loaded), why, node=node, loaded=loaded)


def origin(loaded: Built) -> str:
    """A tokenizer as an object: where it is loaded."""
    return f"{loaded.what.name}()@{id(loaded.node)}#{loaded.frame.number}"


def within(world: World, loaded: Built) -> Iterator[str]:
    """A tokenizer, and those that it is put around."""
    yield origin(loaded)
    source = _source(world, loaded)
    if isinstance(source, Opaque) and source.loaded is not None and source.loaded is not loaded:
        yield from within(world, source.loaded)


def _given(loaded: Built, *names: str) -> Thunk | None:
    """An argument by one of its names, or the first one."""
    given = loaded.arguments
    assert given is not None, "the call was seen"
    named = next((given.keywords[name] for name in names if name in given.keywords), None)
    return named or (given.positional[0] if given.positional else None)


def _source(world: World, loaded: Built) -> Thing | None:
    """The file or the folder that a tokenizer is loaded from, or the tokenizer that it is put around."""
    given = loaded.arguments
    if given is None or given.stars or "subfolder" in given.keywords:
        return None
    if loaded.name in WITHOUT_DEFAULTS:
        name = next((name for name in ("tokenizer_object", "tokenizer_file") if name in given.keywords), None)
        return world.force(given.keywords[name]) if name is not None else None
    first = _given(loaded, "pretrained_model_name_or_path", "path")
    return world.force(first) if first is not None else None


def _vocabulary_file(world: World, loaded: Built) -> files.Found | None:
    source = _source(world, loaded)
    if isinstance(source, Opaque):
        return _vocabulary_file(world, source.loaded) if source.loaded and source.loaded is not loaded else None
    if loaded.name != LOADS:
        found = files.found(world, source, loaded.frame.module) if source is not None else ABSENT
        return None if isinstance(found, Unknown) else found
    return next(filter(None, (_beside(world, loaded, name) for name in VOCABULARIES)), None)


def _beside(world: World, loaded: Built, name: str) -> files.Found | None:
    """A file of the folder that a tokenizer is loaded from; one that is loaded from a file has no folder."""
    source = _source(world, loaded) if loaded.name == LOADS else None
    path = files.joined(source, Constant(name)) if isinstance(source, Constant) else None
    found = files.found(world, path, loaded.frame.module) if path is not None else ABSENT
    return None if isinstance(found, Unknown) else found


def vocabulary(world: World, loaded: Built) -> Vocabulary | Unknown:
    """The tokens that the files of a tokenizer give ids."""
    file = _vocabulary_file(world, loaded)
    assert file is not None, "a tokenizer with files"
    known = _read(world, file)
    if isinstance(known, Unknown):
        return known
    others: dict[str, int] = {}
    table = _read(world, beside) if (beside := _beside(world, loaded, ADDED)) else None
    if isinstance(table, Unknown):
        return table
    if table is not None:
        others = {**table.ids}
    stated = _stated(world, loaded)
    if isinstance(stated, Unknown):
        return stated
    return Vocabulary(known.ids, {**others, **stated, **known.added}, known.text)


def _read(world: World, file: files.Found) -> Vocabulary | Unknown:
    key = ("vocabulary", file.path)
    known = world.workspace.answers.get(key)
    if known is None:
        known = world.workspace.answers[key] = _parsed(world, file.path)
    return known  # type: ignore[return-value]


def _parsed(world: World, path: str) -> Vocabulary | Unknown:
    raw = world.workspace.data(path)
    name = os.path.relpath(path, world.workspace.root)
    if isinstance(raw, Fault):
        return Unknown(f"{name} is not read: {raw.reason}", name)
    try:
        return of_lines(raw) if path.endswith(".txt") else of_json(raw)
    except Broken as broken:
        return Unknown(f"{name}:{broken.row} is not read: {broken.reason}", name)


def _tables(world: World, loaded: Built) -> Iterator[Entries | Unknown]:
    for name in CONFIGS:
        file = _beside(world, loaded, name)
        if file is not None:
            table = settings.read(world.workspace, file, "json")
            shape = Unknown(f"{name} is no table", name)
            yield table if isinstance(table, Entries | Unknown) else shape


def _stated(world: World, loaded: Built) -> dict[str, int] | Unknown:
    """The ids that the settings of a tokenizer state: ``added_tokens_decoder``."""
    found: dict[str, int] = {}
    for table in _tables(world, loaded):
        if isinstance(table, Unknown):
            return table
        decoder = settings.inside(world, table, "added_tokens_decoder")
        for key, value in decoder.pairs if isinstance(decoder, Entries) else ():
            number, token = world.force(key), _text(world, world.force(value))
            if isinstance(number, Constant) and str(number.value).isdecimal() and isinstance(token, Constant):
                found[str(token.value)] = int(str(number.value))
    return found


def _text(world: World, thing: Thing | None) -> Constant | None:
    """A token as the settings write it: a text, or what it is and how it is cut; None where it is neither."""
    inner = settings.inside(world, thing, "content") if isinstance(thing, Entries) else thing
    return inner if isinstance(inner, Constant) and isinstance(inner.value, str | None) else None


def token(world: World, loaded: Built, role: str) -> Constant | Unknown:
    """The text of a token that has a role where the tokenizer is loaded; a text of None says that there is none."""
    given = loaded.arguments
    assert given is not None, "the call was seen"
    if given.double_stars:
        return Unknown("what the tokenizer is loaded with is decided when it runs")
    if role in given.keywords:
        text = _text(world, world.force(given.keywords[role]))
        return text if text is not None else Unknown(f"{role} is decided when it runs", role)
    found: dict[object, Constant] = {}
    bare = loaded.name in WITHOUT_DEFAULTS
    for table in _tables(world, loaded):
        if isinstance(table, Unknown):
            return table
        text = _text(world, settings.inside(world, table, role))
        if text is not None:
            found.setdefault(text.value, text)
        maker = settings.inside(world, table, "tokenizer_class")
        bare = bare or (isinstance(maker, Constant) and maker.value in WITHOUT_DEFAULTS)
    if len(found) > 1:
        return Unknown(f"two files of the tokenizer name another {role}", role)
    return next(iter(found.values()), Constant(None) if bare else ABSENT)


def size(world: World, loaded: Built) -> Integer | Unknown:
    """The tokens of the model alone, those that were added aside."""
    known = vocabulary(world, loaded)
    return known if isinstance(known, Unknown) else _counted(world, loaded, len(known.ids), "tokens")


def length(world: World, loaded: Built) -> Integer | Unknown:
    """All tokens; open where loading adds one that no file gives an id."""
    known = vocabulary(world, loaded)
    if isinstance(known, Unknown):
        return known
    for text in _named(world, loaded):
        if isinstance(text, Unknown):
            return text
        if isinstance(text.value, str) and known.number(text.value) is None:
            return Unknown(f"{text.value} gets its id when the tokenizer is loaded")
    return _counted(world, loaded, len(known.ids.keys() | known.added.keys()), "tokens with those added")


def _named(world: World, loaded: Built) -> Iterator[Constant | Unknown]:
    """The tokens that loading a tokenizer makes sure of."""
    if loaded.what.name == FROM_FILE:
        return
    given = loaded.arguments
    if loaded.name == LOADS and not any(True for _ in _tables(world, loaded)):
        yield Unknown("no file of the tokenizer says which tokens its class adds", CONFIGS[0])
    if given is not None and {"additional_special_tokens", "extra_special_tokens"} & given.keywords.keys():
        yield Unknown("loading the tokenizer adds tokens")
    for role in ROLES:
        text = token(world, loaded, role)
        if text is not ABSENT:
            yield text
    for table in _tables(world, loaded):
        more = settings.inside(world, table, "additional_special_tokens") if isinstance(table, Entries) else None
        for each in more.elements if isinstance(more, Items) else ():
            yield _text(world, world.force(each)) or ABSENT


def _counted(world: World, loaded: Built, count: int, what: str) -> Integer:
    file = _vocabulary_file(world, loaded)
    assert file is not None, "its tokens are counted"
    step = Step(f"{os.path.basename(file.path)} has {count} {what}", Span(file.path, 1, 1, 1, 1))
    return _assumed(Integer.exact(count).because(step), file)


def number(world: World, loaded: Built, text: Constant) -> Integer | Unknown:
    """The id of a token, with the lines that name it and give it an id behind it."""
    known, file = vocabulary(world, loaded), _vocabulary_file(world, loaded)
    if isinstance(known, Unknown):
        return known
    found = known.number(str(text.value)) if isinstance(text.value, str) else None
    if found is None or file is None:
        return Unknown(f"{text.value} is none of the tokens of the files")
    place = known.place(str(text.value))
    span = Span(file.path, place.row, place.column, place.end_row, place.end_column)
    step = Step(f"{text.value!r} is token {found}", span)
    return _assumed(Integer.exact(found).because(*text.evidence, step), file)


def _assumed(number: Integer, file: files.Found) -> Integer:
    for step in file.assumed:
        number = number.assuming(step)
    return number
