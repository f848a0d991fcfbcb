"""A file that was edited, out of the module that it was: only the statements that changed are parsed and walked again.

A statement between others that are the same, and that is a whole by itself, stands where it stood, or some rows further
up or down. Where that is not sure, the file is read like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from trainlint.record import dataclass, fields, replace
from trainlint.source import syntax
from trainlint.source.pieces import Holder, Pieces, Stretch, divided, inside, whole
from trainlint.source.summary import Module, Survey, walked


@dataclass(frozen=True, eq=False)
class Part:
    """One statement of a file, what a walk over it finds, the stretches of its pieces, and the classes among these."""

    statement: ast.stmt
    survey: Survey
    stretches: tuple[Stretch, ...]
    name: str
    holders: Mapping[str, Holder]

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
    file = module.pieces.holders[""]
    for statement, name in zip(file.statements, file.pieces, strict=True):
        own = []
        while each is not None and each.end <= (statement.end_lineno or 0, statement.end_col_offset or 0):
            own.append(each)
            each = next(stretches, None)
        yield _part_of(module, statement, name, own, module.pieces.holders)


def _part(module: Module, statement: ast.stmt, rows: tuple[str, ...]) -> Part:
    reader = module.pieces.reader
    assert reader is not None, "only what is read through a reader has parts"
    tree, pieces = divided(module.path, ast.Module([statement], []), rows, reader)
    holders = pieces.holders
    return _part_of(module, tree.inside[0], holders[""].pieces[0], pieces.stretches, holders)


def _part_of(
    module: Module, statement: ast.stmt, name: str, stretches: Iterable[Stretch], holders: Mapping[str, Holder]
) -> Part:
    """A statement by the name of its piece; ``holders`` are at least those in it."""
    own = {each: holder for each, holder in holders.items() if each == name or each.startswith(f"{name}.")}
    return Part(statement, walked(Survey(module.survey.package), statement), tuple(stretches), name, own)


def _made(before: Module, rows: tuple[str, ...], parts: tuple[Part, ...]) -> Module | None:
    """The module of these statements; None where two of their pieces would have one name."""
    names = {part.name for part in parts}
    if len(names) < len(parts) or any("#" in name for name in names):
        return None
    holders = {name: holder for part in parts for name, holder in part.holders.items()}
    stretches = [each for part in parts for each in part.stretches]
    pieces = Pieces(before.path, rows, stretches, before.pieces.reader, holders)
    tree = whole([part.statement for part in parts], [part.name for part in parts], pieces)
    survey = _joined(before.survey.package, tree, [part.survey for part in parts])
    return Module(before.name, before.key, before.path, tree, survey, pieces, parts=parts)


def _joined(package: str, tree: ast.Module, surveys: Iterable[Survey]) -> Survey:
    """What a walk over all statements finds."""
    joined = Survey(package)
    joined.parents.update(dict.fromkeys(inside(tree), tree))
    for survey in surveys:
        joined.parents.update(survey.parents)
        joined.renamed.update(survey.renamed)
        joined.rebound.update(survey.rebound)
        for name, full in survey.imports.items():
            joined.imports.setdefault(name, full)
        for word, keys in survey.changed.items():
            joined.changed[word] = joined.changed.get(word, frozenset()) | keys
        for name in LISTS:
            getattr(joined, name).extend(getattr(survey, name))
        for name in TABLES:
            table = getattr(joined, name)
            for word, nodes in getattr(survey, name).items():
                table.setdefault(word, []).extend(nodes)
    return joined


LISTS = ("calls", "comprehensions", "loops", "compares", "writing", "walrus", "stars")
TABLES = ("loads", "keys", "definitions", "derived", "passing", "calling", "binding", "filled")
OTHERS = ("package", "parents", "renamed", "rebound", "imports", "changed")
assert {each.name for each in fields(Survey)} == {*LISTS, *TABLES, *OTHERS}, "everything that a walk finds is joined"


def _down(place: tuple[int, int], rows: int) -> tuple[int, int]:
    return place[0] + rows, place[1]
