"""A name of Python's own library in, the text it stands for out: a second opinion, asked where ours ends.

astroid reads the library's source, as text: nothing is imported. It is asked for nothing else. Of 75 closed expressions
it settled 22, ours 42, and seven of its values were wrong (``int(1e3)`` as 0); what it had over ours were the texts of
``string``, and two operations on text that ours was taught instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from itertools import islice

from trainlint.source.text import Fault, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from astroid.nodes import NodeNG

LARGEST = 16 * 1024
"""Bytes of a module of the library that is worth reading for one text: ``string`` has 12 kB, ``typing`` 120."""

PLATFORM = frozenset({"os", "sys", "platform", "posixpath", "ntpath", "nturl2path", "genericpath", "stat"})
"""What these hold depends on the machine."""


def text(name: str) -> str | None:
    """The text behind ``string.ascii_letters`` and its like.

    >>> text("string.digits"), text("string.Template"), text("os.sep"), text("torch.pi")
    ('0123456789', None, None, None)
    """
    module, _, attribute = name.rpartition(".")
    if "." in module or module in PLATFORM or module not in sys.stdlib_module_names:
        return None
    return _texts(module).get(attribute)


@cache
def _texts(module: str) -> Mapping[str, str]:
    """The names of a small module of the library that are assigned once, and are one text to astroid."""
    path = os.path.join(os.path.dirname(os.__file__), f"{module}.py")
    data = read(path) if os.path.isfile(path) else b""
    if isinstance(data, Fault) or not 0 < len(data) <= LARGEST:
        return {}
    import astroid

    try:
        found = astroid.parse(data.decode()).locals
    except astroid.AstroidError:
        return {}
    known = ((name, _inferred(places[0])) for name, places in found.items() if len(places) == 1)
    return {name: text for name, text in known if text is not None}


def _inferred(node: NodeNG) -> str | None:
    from astroid import AstroidError, nodes

    try:
        values = list(islice(node.infer(), 2)) if isinstance(node, nodes.AssignName) else []
    except (AstroidError, RecursionError):
        return None
    value = values[0].value if len(values) == 1 and isinstance(values[0], nodes.Const) else None
    return value if isinstance(value, str) else None
