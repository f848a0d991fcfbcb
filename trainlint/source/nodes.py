"""A node in, what stands in it out: the same as Python's ``ast.walk``, which would be a tenth of a whole run.

Contexts and operators are left out: one object stands for all of a kind.
"""

from __future__ import annotations

import ast

from trainlint.source.pieces import hidden

_PLAIN = frozenset(
    {
        "ctx", "op", "id", "attr", "arg", "asname", "level", "module", "kind", "type_comment", "simple", "conversion",
        "is_async", "rest", "kwd_attrs",
    }
)  # fmt: skip
"""Fields of nodes that hold texts, numbers, or a node without a place of its own: one object stands for all of them."""


class _Holding(dict[type[ast.AST], tuple[str, ...]]):
    """By the kind of a node the fields in which others can hang that have a place of their own."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if kind is ast.Constant else (name for name in kind._fields if name not in _PLAIN)
        fields = (hidden(name) if isinstance(vars(kind).get(name), property) else name for name in names)
        found = self[kind] = tuple(fields)
        return found


HOLDING = _Holding()


def children(node: ast.AST) -> list[ast.AST]:
    """What hangs on a node itself, in its order."""
    found: list[ast.AST] = []
    fields = node.__dict__
    for name in _looked_into(node):
        value = fields.get(name)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _looked_into(node: ast.AST) -> tuple[str, ...]:
    """The fields in which others hang on a node; what it holds is noted by whoever looks inside."""
    fields = node.__dict__
    if "question" in fields:
        fields["question"].note()
        if "signature" in fields:
            fields["signature"].note()
    return HOLDING[type(node)]


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """A node and all that stands in it, the nearest first."""
    found, holding, kinds = [node], HOLDING, ast.AST
    for each in found:
        names = holding[type(each)]
        if names:
            # As ``children``, which to call for each node would take twice as long.
            fields = each.__dict__
            if "question" in fields:
                _looked_into(each)
            for name in names:
                value = fields.get(name)
                if type(value) is list:
                    for child in value:
                        if isinstance(child, kinds):
                            found.append(child)
                elif isinstance(value, kinds):
                    found.append(value)
    return found


def statements(node: ast.AST) -> list[ast.stmt]:
    """The statements among these."""
    found = [node]
    for each in found:
        fields = each.__dict__
        if "question" in fields:
            fields["question"].note()
            found += fields["inside"]
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            block = fields.get(name)
            if type(block) is list:
                found += block
    return [each for each in found if isinstance(each, ast.stmt)]
