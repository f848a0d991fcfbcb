"""What names say: the words of an identifier or look-up string in, the roles of the class index behind it out.

Words only: what a project *does* with an index is the linker's work. A role that the words leave open is left out,
since a role that is not there costs more than one that is missed.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from trainlint.regex import regex
from trainlint.value import Role

END_TEXT_IDS = {
    50256: "<|endoftext|> of GPT-2",
    100257: "<|endoftext|> of cl100k",
    128009: "<|eot_id|> of Llama 3",
    151645: "<|im_end|> of Qwen 2",
}
"""Ids too large to be a coincidence that end a text: eos_token_id of published model configurations.

Left out are 151643, 128001 and 199999: those vocabularies end a chat turn with another token and pad with these on
purpose.
"""

_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_GLUED = regex(
    r"(eos|eot|eod|sos|bos|pad|blank|unk)(id|idx|ix|index|tok|token|symbol)s?|(ctc)(blank)|(start|begin|end)(of)([a-z]+)"
)
_SPECIAL = regex(r"[^\w\s.].*[^\w\s.]", re.DOTALL)
"""A string that wears brackets: <eos>, [PAD], <|im_end|>."""

_CLOSING = regex(r"</\w{1,8}>")
"""What closes a sequence, as markup does: </s>, </w>."""

_EXACT = {
    "[s]": Role.END,
    "<s>": Role.START,
    "[CLS]": Role.START,
    "<eps>": Role.VOID,
    "∅": Role.NO_OBJECT,
}
"""Look-up strings that no rule about words explains; <eps> is blank, padding or nothing, and never a label."""

_LETTERS = {"P": Role.PAD, "S": Role.START, "E": Role.END}
"""What single capitals mean in a table that has these three."""

_STRONG = {
    "eos": Role.END,
    "eot": Role.END,
    "eod": Role.END,
    "sos": Role.START,
    "bos": Role.START,
    "pad": Role.PAD,
    "padding": Role.PAD,
    "void": Role.VOID,
    "unlabeled": Role.VOID,
    "unlabelled": Role.VOID,
    "dontcare": Role.VOID,
    "background": Role.VOID,
    "unk": Role.VOID,
    "blank": Role.BLANK,
    "blk": Role.BLANK,
    "noobject": Role.NO_OBJECT,
    "noobj": Role.NO_OBJECT,
}
"""Words that mean a class index unless the words around them say otherwise."""

_WEAK = {
    "stop": Role.END,
    "end": Role.END,
    "start": Role.START,
    "begin": Role.START,
    "go": Role.START,
    "ignore": Role.VOID,
    "ignored": Role.VOID,
    "mask": Role.VOID,
    "null": Role.VOID,
    "unused": Role.VOID,
    "reserved": Role.VOID,
}
"""Words of everyday code that mean a class index only in the company of words about tokens."""


def _all(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDS = _all("id ids token tokens tok symbol sym tag class label marker")
_COMPANY = _IDS | _all(
    """idx ix index value val of code char word text transcript sequence seq sentence sent turn utterance document
    speech audio acoustic mel semantic codec target tgt trg source src decoder dec encoder generation gen special
    default pred im header bos sos eos eot pad padding ctc"""
)
"""What may stand beside an everyday word: ``end_of_text``, ``stop_token_id``; ``stop_epoch`` is no class index."""

_BARE: frozenset[str] = frozenset()
"""No company needed: brackets, capitals or a table of tokens around the name say enough."""

_TOKENS = _all("id token tokens tok symbol")
"""What makes ``mask`` a token; a ``mask_label`` is a picture."""

_MEASURES = _all(
    """len length lengths size sizes count num number ratio rate prob probs probability logit logits log weight
    weights coef coeff coefficient penalty bias scale loss losses score scores threshold factor mask masks pos
    position positions offset offsets embed embeds embedding embeddings emb epoch epochs step steps iter iters time
    times ms sec frame frames row rows col cols line lines point points path file name names dir mode side left right
    top bottom multiple to fn func width height pct percent patience level layer head proj idxs indices list cumsum"""
)
"""A name that ends in one of these measures something, and is no class index."""

_FLAGS = _all(
    """add use is has with early num n max min skip strip remove drop keep should can append prepend allow include
    exclude return force first last next prev previous seen index get set move insert find make check apply create
    replace"""
)
"""A name that begins with one of these is a flag, a count, a position or a function."""

_AWAY = _all("no non not without after before until")
"""A word that follows one of these is what the name is not."""

_SENTINELS = regex(r"(?i)(.*_)?ignored?_?(index|idx)")
"""PyTorch's own parameter: to pass through it makes a number the sentinel and says nothing about the class."""


def words(name: str) -> tuple[str, ...]:
    """The words of an identifier or look-up string, in lower case.

    >>> words("EOSToken"), words("<|end_of_text|>"), words("padIdx2"), words("weekend_eos")
    (('eos', 'token'), ('end', 'of', 'text'), ('pad', 'idx', '2'), ('weekend', 'eos'))
    """
    found = (word.lower() for word in _WORD.findall(name))
    return tuple(part for word in found for part in _unglued(word))


def roles(name: str) -> frozenset[Role]:
    """What a name or look-up string says that its class index is for; empty where it says nothing.

    >>> [sorted(role.value for role in roles(name)) for name in ("self.eos_id", "<pad>", "pad_or_eos", "early_stop")]
    [['end'], ['padding'], ['end', 'padding'], []]
    """
    if name in _EXACT:
        return frozenset({_EXACT[name]})
    if _CLOSING.fullmatch(name):
        return frozenset({Role.END})
    if _SPECIAL.fullmatch(name):
        return _special(name)
    path = [part for part in name.split(".") if part]
    while len(path) > 1 and path[-1].lower() in {"value", "id", "index", "idx", "item()"}:
        path.pop()
    if not path or _SENTINELS.fullmatch(path[-1]):
        return frozenset()
    around = {word for part in path[:-1] for word in words(part)} & {"token", "tokens", "special", "specials"}
    return _spoken(path[-1], _BARE if around or path[-1].isupper() else _IDS)


def index_roles(name: str) -> frozenset[Role]:
    """The same for a name whose value is known to be a class index, where an everyday word can mean nothing else.

    >>> [[role.value for role in index_roles(name)] for name in ("self.end", "stop", "end_idx", "stop_epoch")]
    [['end'], ['end'], ['end'], []]
    """
    last = name.rpartition(".")[2]
    return roles(name) or (frozenset() if _SENTINELS.fullmatch(last) else _spoken(last, _BARE))


def entry_role(label: str, table: Collection[str] = ()) -> Role:
    """What one entry of a class table is for: an ordinary label unless its words, or the table, say otherwise.

    A plain word such as "stop" or "go" names a command or a sign; "background" in a table that sizes a head is a class.

    >>> [entry_role(label).value for label in ("<eos>", "[PAD]", "STOP", "stop", "NOUN", "background", "[SEP]")]
    ['end', 'padding', 'end', 'label', 'label', 'label', 'void']
    >>> entry_role("<w>", ["<w>", "</w>", "a", "b"]).value
    'start'
    >>> entry_role("P", ["P", "tea", "S", "E"]).value, entry_role("P", ["P", "N", "V"]).value
    ('padding', 'label')
    """
    if label.lower() in {"background", "bg"}:
        return Role.LABEL
    if label.lower() in {"[sep]", "<sep>", "ignore", "ignored", "unused", "reserved", "null"}:
        return Role.VOID
    if label.startswith("<") and f"</{label[1:]}" in table:
        return Role.START
    if label in _LETTERS and _speaks_in_letters(table):
        return _LETTERS[label]
    found = roles(label)
    return next((role for role in Role if role in found), Role.LABEL)


def _speaks_in_letters(table: Collection[str]) -> bool:
    """Whether the capitals of a table are those of padding, start and end, words such as ``I`` aside."""
    return {each for each in table if len(each) == 1 and each.isupper()} - {"A", "I"} == set(_LETTERS)


def _special(name: str) -> frozenset[Role]:
    said = words(name)
    if len(said) == 1 and said[0] in _WEAK:
        return frozenset({_WEAK[said[0]]})
    return _spoken(name, _BARE) | _spoken(name.lower(), _BARE)


def _spoken(name: str, enough: frozenset[str]) -> frozenset[Role]:
    """The roles of one name; ``enough`` is the company that lets an everyday word such as ``end`` count."""
    said = _merged(words(name))
    if not said or said[0] in _FLAGS or said[-1] in _MEASURES:
        return frozenset()
    told = [word for before, word in zip(("", *said), said, strict=False) if before not in _AWAY]
    strong = {_STRONG[word] for word in told if word in _STRONG}
    return frozenset(strong | {_WEAK[word] for word in told if word in _WEAK and _in_company(said, word, enough)})


def _in_company(said: tuple[str, ...], weak: str, enough: frozenset[str]) -> bool:
    others = {word for word in said if word != weak and not word.isdigit()}
    if not others <= _COMPANY and not (weak == "stop" and enough is _BARE):
        return False
    if weak == "mask":
        return bool(_TOKENS & others)
    if weak.startswith("ignore"):
        return bool(others) or enough is _BARE
    return enough is _BARE or "of" in others or bool(enough & set(said[said.index(weak) :]))


def _merged(said: tuple[str, ...]) -> tuple[str, ...]:
    """``no object`` and ``dont care`` are one word each, so that ``no`` does not read as an absence."""
    text = " ".join(said)
    for pair in ("no object", "no obj", "dont care"):
        text = re.sub(rf"\b{pair}\b", pair.replace(" ", ""), text)
    return tuple(text.split())


def _unglued(word: str) -> tuple[str, ...]:
    glued = _GLUED.fullmatch(word)
    return tuple(filter(None, glued.groups())) if glued else (word,)
