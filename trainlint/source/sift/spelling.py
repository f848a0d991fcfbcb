"""How words are looked for in bytes, and where a call ends."""

from __future__ import annotations

from trainlint.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

SPACED = bytes(byte if byte >= 0x80 or chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(256))
"""Turns what is no part of an identifier into spaces."""

MARKS = regex(rb"[()\"'#]")


def last_name(before: bytes) -> bytes:
    """The identifier that ends a text, but for brackets and spaces; nothing where there is none.

    >>> last_name(b"if (self.pad_id) "), last_name(b"")
    (b'pad_id', b'')
    """
    found = before.rstrip(b" )\t\r\n\x0b\x0c\\").translate(SPACED).rsplit(None, 1)
    return found[-1] if found else b""


def closing(data: bytes, start: int) -> int | None:
    """Where the call ends whose arguments begin here; None where a string or a comment in it may hide that.

    >>> closing(b"f(a, (b))", 2), closing(b"f(')')", 2)
    (9, None)
    """
    depth = 1
    for found in MARKS.finditer(data, start):
        match found[0]:
            case b"(":
                depth += 1
            case b")":
                depth -= 1
                if not depth:
                    return found.end()
            case _:
                return None
    return None


GAP = rb"(?:[\s)\\]|#[^\n]*\n)*"
"""What may stand between a name and the bracket that opens a call of it."""


def called(name: str) -> re.Pattern[bytes]:
    """Where a function or class of a name is called: not where it is defined.

    >>> bool(called("step").search(b"def step(self): loss.backward()"))
    False
    >>> bool(called("step").search(b"(optimizer.step) (closure)"))
    True
    """
    word = name.encode()
    return regex(rb"%b(?<!\w%b)(?<!def %b)(?<!class %b)%b\(" % (word, word, word, word, GAP))


def handed_on(name: str) -> re.Pattern[bytes]:
    """Where a name is read and not called: in a table, say, or as an argument.

    What is defined so, or stands in quotes, is not read; what ``case`` compares with is not handed on.

    >>> bool(handed_on("collate").search(b"DataLoader(data, collate_fn=collate)"))
    True
    >>> bool(handed_on("collate").search(b"batch = collate(rows)"))
    False
    """
    word = name.encode()
    return regex(rb"%b(?!\w|[ \t]*\()(?<!\w%b)(?<!def %b)(?<!class %b)(?<![\"'`]%b)" % (word, word, word, word, word))


def imported(name: str) -> re.Pattern[bytes]:
    """Where a module of a name may be imported as a whole.

    >>> bool(imported("shapes").search(b"from codec import rates, shapes as sizes"))
    True
    >>> bool(imported("shapes").search(b"from codec.shapes import WIDTH  # all shapes"))
    False
    """
    word = name.encode()
    before = rb"(?:(?<=import %b)|(?<=[,(\n\t ][ \t]%b)|(?<=[,(\n\t.]%b))" % (word, word, word)
    return regex(rb"%b(?!\w)%b[ \t]*(?:[,);#\\\r\n.]|as\b|\Z)" % (word, before))


def bound(name: str) -> re.Pattern[bytes]:
    """Where a statement may bind a name, by what stands around it.

    >>> bool(bound("rates").search(b"def rates(): ...")), bool(bound("rates").search(b"for rates in shapes: ..."))
    (True, True)
    >>> bool(bound("rates").search(b"shapes = [rates[0], rates(1) + codec.rates]  # rates and all"))
    False
    """
    word = name.encode()
    behind = rb"[ \t\f]*(?:[=:,)\]};#\r\n\\]|\Z|(?:\*\*|//|>>|<<|[-+*/%@&|^])=|(?:in|if)\b)"
    defined = rb"(?<=def[ \t\f]%b)|(?<=class[ \t\f]%b)|(?<=[\s\\][\s\\]%b)" % (word, word, word)
    imported = rb"(?:(?<=import[ \t\f]%b)|(?<=,[ \t\f]%b)|(?<=,%b))[ \t\f]*\." % (word, word, word)
    return regex(rb"%b(?!\w)(?<![\w.]%b)(?:%b|%b|%b)" % (word, word, behind, defined, imported))
