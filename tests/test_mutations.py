"""Programs that nobody wrote: fixtures with statements deleted, doubled and moved, names and expressions exchanged.

Whatever they say, reading them ends, and no fault is ours.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainlint.facts import Crash
from trainlint.source import Project, observe, sites
from trainlint.testing import sources

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = sorted(
    folder for pattern in ("*/bad_*/", "*/good_*/") for folder in FIXTURES.glob(pattern) if sources(folder)
)
EACH = 2
"""Mutants of each fixture: more than 500 together."""

WRAPPERS = (
    "for turn in range(3):\n    pass",
    "while True:\n    pass",
    "try:\n    pass\nexcept ValueError as error:\n    size = 1\nfinally:\n    pass",
    "if size:\n    pass\nelse:\n    size = 1",
    "with open(size) as (first, second):\n    pass",
    "def size(*rest, key=1, **others):\n    pass",
    "class Size(size):\n    pass",
)


def blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    found = (getattr(node, field, None) for node in ast.walk(tree) for field in ("body", "orelse"))
    return [block for block in found if isinstance(block, list) and block]


def expressions(tree: ast.AST) -> list[ast.expr]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.expr) and _is_read(node)]


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and not isinstance(node, ast.Starred | ast.Slice)


def delete(tree: ast.AST, chance: random.Random) -> None:
    block = chance.choice(blocks(tree))
    if len(block) > 1:
        del block[chance.randrange(len(block))]


def double(tree: ast.AST, chance: random.Random) -> None:
    one, other = chance.choice(blocks(tree)), chance.choice(blocks(tree))
    one.insert(chance.randrange(len(one) + 1), copy.deepcopy(chance.choice(other)))


def shuffle(tree: ast.AST, chance: random.Random) -> None:
    chance.shuffle(chance.choice(blocks(tree)))


def exchange(tree: ast.AST, chance: random.Random) -> None:
    places = [
        (node, field)
        for node in ast.walk(tree)
        for field, value in ast.iter_fields(node)
        if isinstance(value, ast.expr) and _is_read(value)
    ]
    if places:
        node, field = chance.choice(places)
        setattr(node, field, copy.deepcopy(chance.choice(expressions(tree))))


def wrap(tree: ast.AST, chance: random.Random) -> None:
    block = chance.choice(blocks(tree))
    place = chance.randrange(len(block))
    around = ast.parse(chance.choice(WRAPPERS)).body[0]
    vars(around)["body"] = [block[place]]
    block[place] = around


def redefine(tree: ast.AST, chance: random.Random) -> None:
    made = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if made:
        twin = copy.deepcopy(chance.choice(made))
        twin.name = chance.choice(made).name
        chance.choice(blocks(tree)).append(twin)


def confuse(tree: ast.AST, chance: random.Random) -> None:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if names:
        chance.choice(names).id = chance.choice(names).id


MUTATIONS: tuple[Callable[[ast.AST, random.Random], None], ...] = (
    delete, double, shuffle, exchange, exchange, wrap, redefine, confuse,
)  # fmt: skip


def mutants(text: str, chance: random.Random) -> Iterator[str]:
    for _ in range(EACH):
        tree = ast.parse(text)
        for mutate in chance.choices(MUTATIONS, k=2):
            mutate(tree, chance)
        yield ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_no_program_makes_the_reader_fail(folder: Path, tmp_path: Path) -> None:
    texts = {path.relative_to(folder): path.read_text() for path in sources(folder)}
    chance = random.Random(folder.name)
    changed = chance.choice(sorted(path for path, text in texts.items() if text))
    for mutant in mutants(texts[changed], chance):
        for path, text in {**texts, changed: mutant}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        project = Project(str(tmp_path), tuple(str(path) for path in sources(tmp_path)))
        crashes = [crash.error for crash in observe(project, sites(project)).of(Crash)]
        assert not crashes, mutant
