"""A node in, what stands in it out: the same as Python's ``ast.walk``, which would be a tenth of a whole run.

Contexts and operators are left out: one object stands for all of a kind.
"""

from __future__ import annotations

import ast


def children(node: ast.AST) -> list[ast.AST]:
    """What hangs on a node itself, in its order."""
    found: list[ast.AST] = []
    fields = node.__dict__
    if "question" in fields:
        # What it holds is noted by whoever looks inside.
        fields["question"].note()
        if "signature" in fields:
            fields["signature"].note()
    for value in fields.values():
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """A node and all that stands in it, the nearest first."""
    found = [node]
    for each in found:
        found += children(each)
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
