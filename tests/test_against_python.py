"""CPython is the oracle: what the reader says of a number is what the program has in its hands when it runs.

``programs.txt`` holds small programs that overwrite, shadow, rebind and compute. A number that is stated is the right
one; one that rests on a default, or holds on one branch, may be another. Where the reader is known to be wrong, the
program says so, and the test fails on the day when it is right.
"""

from __future__ import annotations

import json
import os
import string
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import astroid
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import Said, programs, settled, written

from trainlint.facts import Loss
from trainlint.source import Project, observe, second, sites
from trainlint.testing import findings
from trainlint.value import Integer, Unknown

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
ALL = programs(Path(__file__).with_name("programs.txt"), "known", HEAD)


def said(folder: str) -> set[Said]:
    """What the reader states without a default and without a branch."""
    files = tuple(sorted(map(str, Path(folder).rglob("*.py"))))
    project = Project(folder, files)
    return {
        Said(loss.call.path, loss.call.row, _exact(getattr(loss.layer, "classes", None)), _exact(loss.ignore_index))
        for loss in observe(project, sites(project)).of(Loss)
        if not loss.branch
    }


def _exact(value: Integer | Unknown | None) -> int | None:
    return None if isinstance(value, Integer) and value.assumed else settled(value)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {name: written(tmp_path_factory.mktemp("program"), program.files) for name, program in ALL.items()}


@pytest.fixture(scope="module")
def ran(folders: dict[str, str]) -> dict[str, set[tuple[str, int, int | None, int]]]:
    """What each program gave to its losses when it ran; one process runs them all."""
    command = [sys.executable, "-B", str(Path(__file__).with_name("small_torch.py")), *folders.values()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)
    return {name: {tuple(call) for call in calls[folder]} for name, folder in folders.items()}


@pytest.mark.parametrize("name", ALL)
def test_what_is_stated_is_what_the_program_has(
    name: str, folders: dict[str, str], ran: dict[str, set[tuple[str, int, int | None, int]]]
) -> None:
    assert ran[name], "the program calls no loss"
    false = {each for each in said(folders[name]) if not any(_agrees(each, call) for call in ran[name])}
    assert bool(false) is bool(ALL[name].remark), false or "it is right now: strike the remark"


def _agrees(each: Said, call: tuple[str, int, int | None, int]) -> bool:
    file, row, classes, ignored = call
    return (each.file, each.row) == (file, row) and each.classes in (None, classes) and each.ignored in (None, ignored)


def test_most_programs_are_settled(folders: dict[str, str]) -> None:
    """Silence is never false: without this, a reader that says nothing would pass."""
    settled = [name for name in ALL if any(None not in each for each in said(folders[name]))]
    assert len(settled) > len(ALL) / 2


# Expressions

NAMES = {"three": 3, "seven": 7, "nothing": 0, "less": -4, "yes": True}
CONTAINERS = {"words": ["a", "b", "c"], "ids": {"a": 5, "b": 2}, "pair": (8, 6), "text": "abcab"}
LEAVES = st.one_of(
    st.integers(-3, 12).map(lambda number: f"({number})"),
    st.sampled_from([*NAMES, "ids['a']", "ids.get('b', 9)", "ids.get('q', 9)", "pair[0]", "pair[-1]"]),
    st.sampled_from(
        ["len(words)", "len(ids)", "len(text)", "len({*()})", "len(b'abc')", "len(pair[1:])", "words.index('b')"]
    ),
)
OPERATORS = st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "**", " and ", " or ", "/"])
COMPARISONS = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one, two, three = inner, st.tuples(inner, inner), st.tuples(inner, inner, inner)
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(inner, COMPARISONS, inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(inner, COMPARISONS, inner, COMPARISONS, inner).map(lambda parts: f"({''.join(parts)})"),
        st.tuples(st.sampled_from(["-", "+", "~", "not "]), inner).map(lambda parts: f"({''.join(parts)})"),
        three.map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
        two.map(lambda parts: f"[{parts[0]}, {parts[1]}][0]"),
        two.map(lambda parts: f"max({parts[0]}, {parts[1]})"),
        two.map(lambda parts: f"min({parts[0]}, {parts[1]})"),
        two.map(lambda parts: f"sum([{parts[0]}, {parts[1]}])"),
        two.map(lambda parts: f"len({{{parts[0]}, {parts[1]}}})"),
        two.map(lambda parts: f"{{{parts[0]}: 4, {parts[1]}: 9}}[{parts[1]}]"),
        two.map(lambda parts: f"len([{parts[0]}] * {parts[1]})"),
        two.map(lambda parts: f"len(range({parts[0]}, {parts[1]}))"),
        one.map(lambda part: f"abs({part})"),
        one.map(lambda part: f"int({part})"),
        one.map(lambda part: f"(lambda x, y=2: x - y)({part})"),
        one.map(lambda part: f"[x * 2 for x in (3, {part})][1]"),
        two.map(lambda parts: f"dict(k={parts[0]}, q={parts[1]})['q']"),
        two.map(lambda parts: f"{{**ids, 'b': {parts[0]}, 'z': {parts[1]}}}['b']"),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=8)


def worth(expressions: list[str], folder: Path) -> list[int | None]:
    """What the reader makes of expressions, each the sentinel of a loss."""
    constants = "".join(f"{name} = {value!r}\n" for name, value in {**NAMES, **CONTAINERS}.items())
    calls = "".join(f"F.cross_entropy(logits, targets, ignore_index={each})\n" for each in expressions)
    path = str(folder / "train.py")
    Path(path).write_text(f"import string, torch.nn.functional as F\n{constants}{calls}")
    project = Project(str(folder), (path,))
    losses = sorted(observe(project, (path,)).of(Loss), key=lambda loss: loss.call.row)
    first = 2 + len(NAMES) + len(CONTAINERS)
    rows: dict[int, list[Loss]] = {}
    for loss in losses:
        rows.setdefault(loss.call.row, []).append(loss)
    made = [rows.get(first + place, []) for place in range(len(expressions))]
    return [_exact(each[0].ignore_index) if len(each) == 1 else None for each in made]


def truth(expression: str) -> int | float | None:
    try:
        value = eval(expression, {"string": string, **NAMES, **CONTAINERS})
    except (ArithmeticError, ValueError, IndexError, TypeError, MemoryError):
        return None
    return value if isinstance(value, int | float) else None


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(EXPRESSIONS, min_size=4, max_size=4))
def test_a_closed_expression_is_worth_what_python_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory, expressions: list[str]
) -> None:
    numbers = worth(expressions, tmp_path_factory.getbasetemp())
    for expression, number in zip(expressions, numbers, strict=True):
        assert number is None or number == truth(expression), expression


# Texts, and the second opinion

WHOLE = st.integers(-3, 4).map(str)
PLAIN_TEXTS = ["'ab'", "''", "text", "words[1]", "string.digits", "string.ascii_letters", "string.printable"]
TEXTS = st.recursive(
    st.sampled_from(PLAIN_TEXTS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]} + {parts[1]})"),
        st.tuples(inner, WHOLE).map(lambda parts: f"({parts[0]} * {parts[1]})"),
        st.tuples(inner, WHOLE, WHOLE).map(lambda parts: f"{parts[0]}[{parts[1]}:{parts[2]}]"),
        st.tuples(inner, WHOLE).map(lambda parts: f"{parts[0]}[:{parts[1]}]"),
    ),
    max_leaves=4,
)


def astroid_says(expression: str) -> int | None:
    """What astroid makes of an expression, if it is one number."""
    constants = "".join(f"{name} = {value!r}\n" for name, value in {**NAMES, **CONTAINERS}.items())
    node = astroid.parse(f"import string\n{constants}asked = {expression}\n").body[-1].value
    try:
        values = list(node.infer())
    except (astroid.AstroidError, RecursionError):
        return None
    value = getattr(values[0], "value", None) if len(values) == 1 else None
    return value if isinstance(value, int) else None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS, min_size=4, max_size=4))
def test_the_length_of_a_text_is_what_python_makes_of_it_and_astroid_knows_no_more(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    expressions = [f"len({each})" for each in texts]
    numbers = worth(expressions, tmp_path_factory.getbasetemp())
    for expression, number in zip(expressions, numbers, strict=True):
        right = truth(expression)
        assert number is None or number == right, expression
        assert number is not None or astroid_says(expression) != right, expression


SMALL_MODULES = sorted(
    path.stem
    for path in Path(os.__file__).parent.glob("*.py")
    if path.stat().st_size <= second.LARGEST and path.stem in sys.stdlib_module_names and path.stem[0] != "_"
)


def test_a_text_of_pythons_library_is_the_one_that_python_has() -> None:
    known = {name: second.text(f"string.{name}") for name in vars(string) if not name.startswith("__")}
    assert {name for name, text in known.items() if text} >= {"digits", "printable", "whitespace", "ascii_letters"}
    assert all(text in (None, getattr(string, name)) for name, text in known.items())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("module", [name for name in SMALL_MODULES if name in sys.stdlib_module_names])
def test_no_other_module_of_the_library_is_told_wrong(module: str) -> None:
    if module in {"this", "antigravity", "idlelib"} or module in second.PLATFORM:
        pytest.skip("importing it does something")
    try:
        there = import_module(module)
    except ImportError:
        pytest.skip("not for this system")
    for name in vars(there):
        assert second.text(f"{module}.{name}") in (None, getattr(there, name)), name


def test_without_the_second_opinion_its_fixture_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(__file__).parent.parent / "fixtures" / "sentinel_collision" / "bad_letters_of_the_standard_library"
    assert findings(folder)
    monkeypatch.setattr(second, "text", lambda name: None)
    assert not findings(folder)


def test_a_file_that_is_called_like_a_module_of_the_library_is_the_projects_own(tmp_path: Path) -> None:
    (tmp_path / "string.py").write_text("digits = 'ab'\n")
    (tmp_path / "train.py").write_text(
        "import string\nimport torch.nn.functional as F\nF.cross_entropy(x, y, ignore_index=len(string.digits))\n"
    )
    files = (str(tmp_path / "string.py"), str(tmp_path / "train.py"))
    (loss,) = observe(Project(str(tmp_path), files), files).of(Loss)
    assert _exact(loss.ignore_index) == 2


def test_plain_expressions_are_not_given_up(tmp_path: Path) -> None:
    plain = [
        "three + seven * 2",
        "len(words) - 1",
        "ids['a']",
        "seven // 2",
        "pair[1]",
        "-less",
        "7 if yes else 3",
        "~less",
        "int(seven / 7)",
        "int(pair[0] / 2) + len(words)",
        "6 / 2 == three and 4",
    ]
    assert worth(plain, tmp_path) == [truth(each) for each in plain]


def test_a_quotient_is_a_float_however_it_comes_out(tmp_path: Path) -> None:
    refused = ["len([three] * (0 / 1))", "len('ab' * (pair[0] / 2))", "len(range(6 / 2))", "1 << (4 / 2)", "~(6 / 3)"]
    assert [truth(each) for each in refused] == [None] * len(refused)
    assert worth(refused, tmp_path) == [None] * len(refused)
