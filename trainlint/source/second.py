"""A name of Python's own library in, the text it stands for out: a second opinion, asked where ours ends.

astroid reads the library's source, as text: nothing is imported. It is asked for nothing else. Of 75 closed expressions
it settled 22, ours 42, and seven of its values were wrong (``int(1e3)`` as 0); what it had over ours were the texts of
``string``, and two operations on text that ours was taught instead.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from itertools import islice

from trainlint.source.text import Fault, read

LARGEST = 16 * 1024
"""Bytes of a module of the library that is worth reading for one text: ``string`` has 12 kB, ``typing`` 120."""

PLATFORM = frozenset({"os", "sys", "platform", "posixpath", "ntpath", "nturl2path", "genericpath", "stat"})
"""What these hold depends on the machine."""


@cache
def text(name: str) -> str | None:
    """The text behind ``string.ascii_letters`` and its like.

    >>> text("string.digits"), text("string.Template"), text("os.sep"), text("torch.pi")
    ('0123456789', None, None, None)
    """
    module, _, attribute = name.rpartition(".")
    if "." in module or module in PLATFORM or module not in sys.stdlib_module_names:
        return None
    path = os.path.join(os.path.dirname(os.__file__), f"{module}.py")
    data = read(path) if os.path.isfile(path) else b""
    return None if isinstance(data, Fault) or not 0 < len(data) <= LARGEST else _inferred(data.decode(), attribute)


def _inferred(source: str, name: str) -> str | None:
    """What a name that is assigned once is worth to astroid, if that is one text."""
    import astroid

    try:
        places = astroid.parse(source).locals.get(name, [])
        values = [] if len(places) != 1 else list(islice(places[0].infer(), 2))
    except (astroid.AstroidError, RecursionError):
        return None
    found = values[0] if len(values) == 1 else None
    return found.value if isinstance(found, astroid.nodes.Const) and isinstance(found.value, str) else None
