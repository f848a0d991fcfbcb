"""A file that was edited, out of the module that it was: only the statements that changed are parsed and walked again.

A statement between others that are the same, and that is a whole by itself, stands where it stood, or some rows further
up or down. Where that is not sure, the file is read like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from trainlint.record import dataclass, fields, replace
from trainlint.source import syntax
from trainlint.source.pieces import Pieces, Stretch, divided
from trainlint.source.summary import Module, Survey, walked


@dataclass(frozen=True, eq=False)
class Part:
    """One statement of a file, what a walk over it finds, and the stretches of its pieces."""

    statement: ast.stmt
    survey: Survey
    stretches: tuple[Stretch, ...]

    @property
    def rows(self) -> tuple[int, int]:
        """Its first row and its last."""
        return self.stretches[0].start[0], self.statement.end_lineno or self.statement.lineno

    def moved(self, rows: int) -> Part:
        """The same so many rows further down: its nodes are moved themselves, for nobody else holds them any more."""
        for node in (self.statement, *self.survey.parents):
            place = node.__dict__
            if "lineno" in place:
                place["lineno"] += rows
                place["end_lineno"] += rows
        self.survey.stars[:] = [(name, row + rows) for name, row in self.survey.stars]
        stretches = (Stretch(each.name, _down(each.start, rows), _down(each.end, rows)) for each in self.stretches)
        return replace(self, stretches=tuple(stretches))


def edited(before: Module, rows: tuple[str, ...]) -> Module | None:
    """The module of a file with these rows now; None where it has to be read as a whole."""
    reader = before.pieces.reader
    if reader is None:
        return None
    parts = before.parts or tuple(_parts(before))
    same, down = _same(before.pieces.rows, rows), len(rows) - len(before.pieces.rows)
    left = min(len(before.pieces.rows), len(rows)) - same
    same_after = _same(before.pieces.rows[::-1], rows[::-1], left)
    end = len(before.pieces.rows) - same_after
    above = sum(part.rows[1] <= same for part in parts)
    while 0 < above < len(parts) and _share_a_row(parts, above):
        above -= 1
    below = max(above, sum(part.rows[0] <= end for part in parts))
    while 0 < below < len(parts) and _share_a_row(parts, below):
        below += 1
    head, tail = parts[:above], parts[below:]
    first = head[-1].rows[1] if head else 0
    last = tail[0].rows[0] - 1 + down if tail else len(rows)
    try:
        tree = syntax.tree("\n" * first + "\n".join(rows[first:last]) + "\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    new = [_part(before, each, rows) for each in tree.body]
    return _made(before, rows, (*head, *new, *(part.moved(down) if down else part for part in tail)))


def _same(before: Sequence[str], now: Sequence[str], most: int | None = None) -> int:
    """How many rows are the same from the start on."""
    pairs = zip(before[:most], now[:most], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _share_a_row(parts: Sequence[Part], place: int) -> bool:
    """Whether a statement starts in the row in which the one before it ends."""
    return parts[place].rows[0] <= parts[place - 1].rows[1]


def _parts(module: Module) -> Iterator[Part]:
    """The statements of a module that was read as a whole."""
    stretches = iter(module.pieces.stretches)
    each = next(stretches, None)
    for statement in module.tree.body:
        own = []
        while each is not None and each.end <= (statement.end_lineno or 0, statement.end_col_offset or 0):
            own.append(each)
            each = next(stretches, None)
        yield Part(statement, walked(Survey(module.survey.package), statement), tuple(own))


def _part(module: Module, statement: ast.stmt, rows: tuple[str, ...]) -> Part:
    tree, reader = ast.Module([statement], []), module.pieces.reader
    assert reader is not None, "only what is read through a reader has parts"
    pieces = divided(module.path, tree, rows, reader)
    return Part(tree.body[0], walked(Survey(module.survey.package), tree.body[0]), tuple(pieces.stretches))


def _made(before: Module, rows: tuple[str, ...], parts: tuple[Part, ...]) -> Module | None:
    """The module of these statements; None where two of their pieces would have one name."""
    names = [each.name for part in parts for each in part.stretches if each.name]
    if len(set(names)) < len(names) or any("#" in name for name in names):
        return None
    tree = ast.Module([part.statement for part in parts], [])
    pieces = Pieces(before.path, rows, [each for part in parts for each in part.stretches], before.pieces.reader)
    survey = _joined(before.survey.package, tree, [part.survey for part in parts])
    return Module(before.name, before.key, before.path, tree, survey, pieces, parts=parts)


def _joined(package: str, tree: ast.Module, surveys: Iterable[Survey]) -> Survey:
    """What a walk over all statements finds."""
    whole = Survey(package)
    whole.parents.update(dict.fromkeys(tree.body, tree))
    for survey in surveys:
        whole.parents.update(survey.parents)
        whole.renamed.update(survey.renamed)
        whole.rebound.update(survey.rebound)
        for name, full in survey.imports.items():
            whole.imports.setdefault(name, full)
        for word, keys in survey.changed.items():
            whole.changed[word] = whole.changed.get(word, frozenset()) | keys
        for name in LISTS:
            getattr(whole, name).extend(getattr(survey, name))
        for name in TABLES:
            table = getattr(whole, name)
            for word, nodes in getattr(survey, name).items():
                table.setdefault(word, []).extend(nodes)
    return whole


LISTS = ("calls", "comprehensions", "walrus", "stars")
TABLES = ("loads", "keys", "definitions", "derived", "passing", "calling", "binding", "filled")
OTHERS = ("package", "parents", "renamed", "rebound", "imports", "changed")
assert {each.name for each in fields(Survey)} == {*LISTS, *TABLES, *OTHERS}, "everything that a walk finds is joined"


def _down(place: tuple[int, int], rows: int) -> tuple[int, int]:
    return place[0] + rows, place[1]
