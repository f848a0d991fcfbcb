"""How words are looked for in bytes, and where a call ends."""

from __future__ import annotations

from trainlint.source.sift.pattern import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

SPACED = bytes(byte if byte >= 0x80 or chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(256))
"""Turns what is no part of an identifier into spaces."""

MARKS = Pattern(rb"[()\"'#]")


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
