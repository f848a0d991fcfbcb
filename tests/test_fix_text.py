"""Edits put into code of every form: what is around them stays, to the byte.

In the texts here « and » stand around the place of an edit, ‹ and › around the part of it that is left.
"""

from __future__ import annotations

import ast
import codecs
import io
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainlint.finding import AddImport, Applicability, Delete, Edit, Finding, Fix, Replace, SetKeyword, Unwrap, Wrap
from trainlint.fix import Code, Unfixable, changed, overlap, text_edits
from trainlint.fix.text import edited
from trainlint.span import Span

MARKS = "«»‹›"


def place(text: str, marks: str = "«»", cell: int | None = None) -> Span:
    """The stretch between two marks, in the text without any."""
    plain = {mark: without_marks(text.partition(mark)[0]) for mark in marks}
    (start, end) = (plain[mark] for mark in marks)
    return Span("train.py", *_end(start), *_end(end), cell)


def without_marks(text: str) -> str:
    return "".join(each for each in text if each not in MARKS)


def _end(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def finding(*edits: Edit) -> Finding:
    return Finding(Span("train.py", 1), "", fix=Fix(Applicability.SAFE, "", edits))


def fixed(text: str, *edits: Edit) -> str:
    plain = without_marks(text)
    return edited(plain, text_edits(finding(*edits), Code({None: plain})))


def copied(text: str) -> str:
    return fixed(text, Wrap(place(text), "copy.deepcopy(", ")"), AddImport(place(text), "copy"))


@pytest.mark.parametrize(
    ("call", "becomes"),
    [
        ("f()", "f(mode='max')"),
        ("f(  )", "f(  mode='max')"),
        ("f(a)", "f(a, mode='max')"),
        ("f(a,)", "f(a, mode='max',)"),
        ("f(a, mode='min')", "f(a, mode='max')"),
        ("f(mode=  ( 'min' ), a=1)", "f(mode=  'max', a=1)"),
        ("f(x for x in y)", "f((x for x in y), mode='max')"),
        ("f((x for x in y))", "f((x for x in y), mode='max')"),
        ("f(*a)", "f(*a, mode='max')"),
        ("f(a, mode=b if c else 'min', **d)", "f(a, mode='max', **d)"),
        ("f(n := 1)", "f(n := 1, mode='max')"),
        ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    mode='max',\n)"),
        ("f(\n    a,  # why\n    # and how\n)", "f(\n    a,  # why\n    mode='max',\n    # and how\n)"),
        ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    mode='max'\n)"),
        ("f(\n    a  # why\n)", "f(\n    a, mode='max'  # why\n)"),
        ("f(a,\n  b)", "f(a,\n  b,\n  mode='max')"),
        ("f(a, (\n    b\n))", "f(a, (\n    b\n), mode='max')"),
        ("f(a, \\\n  b, c)", "f(a, \\\n  b, c, mode='max')"),
        ("f(é, 'ü')", "f(é, 'ü', mode='max')"),
        ("f(\n\ta,\n)", "f(\n\ta,\n\tmode='max',\n)"),
    ],
)
def test_a_keyword_is_set(call: str, becomes: str) -> None:
    text = f"ö = g(«{call}»)  # why\n"
    assert fixed(text, SetKeyword(place(text), "mode", "'max'")) == f"ö = g({becomes})  # why\n"


@pytest.mark.parametrize(
    ("call", "becomes"), [("f(a, 'min', c)", "f(a, 'max', c)"), ("f(a)", "f(a, mode='max')"), ("f(a, b=1, *c)", None)]
)
def test_an_argument_without_its_name_is_known_by_its_place(call: str, becomes: str | None) -> None:
    edit = SetKeyword(place(f"«{call}»"), "mode", "'max'", 1)
    if becomes is not None:
        assert fixed(call, edit) == becomes
        return
    with pytest.raises(Unfixable, match="mode may be among them"):
        fixed(call, edit)


def test_a_keyword_that_stars_may_hand_in_is_left() -> None:
    with pytest.raises(Unfixable, match="mode may be among them"):
        fixed("f(a, **b)", SetKeyword(place("«f(a, **b)»"), "mode", "'max'"))


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("y = «x»", "y = x.float()"),
        ("y = f(«a + b»)", "y = f((a + b).float())"),
        ("y = f((«a + b»), c)", "y = f((a + b).float(), c)"),
        ("y = f(( «x» ), c)", "y = f(( x.float() ), c)"),
        ("y = «-x»", "y = (-x).float()"),
        ("y = «x[0]»", "y = x[0].float()"),
        ("y = «m(x)»  # why", "y = m(x).float()  # why"),
        ("y = f(z := «m(x)»)", "y = f(z := m(x).float())"),
        ("y = f((«z := m(x)»))", "y = f((z := m(x)).float())"),
        ("y = f(«a if b else c»)", "y = f((a if b else c).float())"),
        ("y = (\n    «a\n    @ b»\n)", "y = (\n    a\n    @ b\n).float()"),
        ("y = «f(x for x in z)»", "y = f(x for x in z).float()"),
        ("\tif x:\n\t\ty = «x»"[1:], "if x:\n\t\ty = x.float()"),
        ("y = 'é', «x»", "y = 'é', x.float()"),
    ],
)
def test_a_method_is_called_on_any_expression(text: str, becomes: str) -> None:
    assert fixed(text, Wrap(place(text), "", ".float()")) == becomes


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("f(p=«0.1»)", "f(p=0.1 if t else 0)"),
        ("f(p=«p»)", "f(p=p if t else 0)"),
        ("f(p=«p if q else r»)", "f(p=(p if q else r) if t else 0)"),
    ],
)
def test_a_condition_is_put_behind_an_expression(text: str, becomes: str) -> None:
    assert fixed(text, Wrap(place(text), after=" if t else 0")) == becomes


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("best = «m.state_dict()»", "best = copy.deepcopy(m.state_dict())"),
        ("best = («m.state_dict()»)", "best = (copy.deepcopy(m.state_dict()))"),
        ("best = «a, b»", "best = copy.deepcopy((a, b))"),
        ("best = «(a, b)»", "best = copy.deepcopy((a, b))"),
        ("f(«x for x in y»)", "f(copy.deepcopy((x for x in y)))"),
        ("f((«y := x»))", "f((copy.deepcopy(y := x)))"),
        ("best = «lambda: x»", "best = copy.deepcopy(lambda: x)"),
        (
            "b = «{\n    k: v  # each\n    for k, v in s\n}»",
            "b = copy.deepcopy({\n    k: v  # each\n    for k, v in s\n})",
        ),
    ],
)
def test_an_expression_becomes_an_argument(text: str, becomes: str) -> None:
    assert copied(f"import copy\n{text}\n") == f"import copy\n{becomes}\n"


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("y = «F.softmax(‹x›, dim=1)»", "y = x"),
        ("y = «F.softmax(‹a + b›, 1)» * 2", "y = (a + b) * 2"),
        ("y = «F.softmax(‹a + b›, 1)»", "y = a + b"),
        ("y = «‹x›.softmax(-1)».log()", "y = x.log()"),
        ("y = «(‹a + b›).softmax(-1)».log()", "y = (a + b).log()"),
        ("f(«softmax(\n    ‹m(x)›,\n    1,\n)», y)", "f(m(x), y)"),
        ("y = «softmax(\n    ‹a\n    + b›, 1)»", "y = (a\n    + b)"),
        ("y = «s(‹m.a(\n    x)›)»", "y = (m.a(\n    x))"),
        ("y = «s(‹(a, b)›)»", "y = (a, b)"),
        ("y = «s(‹z := a›)»", "y = (z := a)"),
    ],
)
def test_an_expression_is_freed_of_what_is_around_it(text: str, becomes: str) -> None:
    assert fixed(text, Unwrap(place(text), place(text, "‹›"))) == becomes


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("f(«a», b)", "f(b)"),
        ("f(a, «b»)", "f(a)"),
        ("f(a, «b», c)", "f(a, c)"),
        ("f(«a»)", "f()"),
        ("f(a, «b=1»,)", "f(a,)"),
        ("[a, «(b)», c]", "[a, c]"),
        ("f(\n    a,\n    «b»,\n)", "f(\n    a,\n)"),
        ("a = 1\n«b = 2»\nc = 3\n", "a = 1\nc = 3\n"),
        ("a = 1\n«b = 2»  # why", "a = 1"),
        ("a = 1; «b = 2»; c = 3", "a = 1; c = 3"),
        ("if a:\n    «b()»\n", "if a:\n    pass\n"),
        ("if a:\n    «b()»  # why\n    c()\n", "if a:\n    c()\n"),
        ("if a: «b()»\n", "if a: pass\n"),
        ("«if a:\n    b()»\nc()\n", "c()\n"),
        ("a = 1  «# noqa»\nb = 2", "a = 1\nb = 2"),
        ("a = 1\n    «# noqa»\nb = 2", "a = 1\nb = 2"),
    ],
)
def test_what_is_deleted_takes_its_comma_or_its_line_along(text: str, becomes: str) -> None:
    assert fixed(text, Delete(place(text))) == becomes


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("y = «softmax(  # probabilities\n    ‹x›, 1)»", lambda text: Unwrap(place(text), place(text, "‹›"))),
        ("f(\n    a,  # first\n    «b»,  # second\n    c)", lambda text: Delete(place(text))),
        ("«f(mode=(  # why\n    'min'))»", lambda text: SetKeyword(place(text), "mode", "'max'")),
        ("y = «f(  # why\n    1)»", lambda text: Replace(place(text), "g()")),
    ],
)
def test_a_comment_is_never_lost(text: str, edit: object) -> None:
    assert callable(edit)
    with pytest.raises(Unfixable, match="a comment stands in what would be removed"):
        fixed(text, edit(text))


@pytest.mark.parametrize("text", ["y = x«.float»()", "y = «x.flo»at()", "y = f(x«, y»)"])
def test_what_is_not_there_is_not_changed(text: str) -> None:
    with pytest.raises(Unfixable, match="what stands there is not what was judged"):
        fixed(text, Wrap(place(text), "f(", ")"))


@pytest.mark.parametrize("text", ["print «x»\n", "def f(:\n    «x»\n", "«x» = `y`\n"])
def test_what_is_no_python_of_today_is_refused(text: str) -> None:
    with pytest.raises(Unfixable, match="cannot be taken apart"):
        fixed(text, Wrap(place(text), "f(", ")"))


TAIL = "\n\n\ndef f(m):\n    return «m»\n"
COPIED = "\n\n\ndef f(m):\n    return copy.deepcopy(m)\n"


@pytest.mark.parametrize(
    ("head", "becomes"),
    [
        ("import torch", "import copy\n\nimport torch"),
        ("import argparse\nimport os", "import argparse\nimport copy\nimport os"),
        ("import abc\nimport argparse\n\nimport torch", "import abc\nimport argparse\nimport copy\n\nimport torch"),
        ("import os\nimport torch", "import copy\nimport os\nimport torch"),
        ("from abc import ABC\nimport torch", "import copy\nfrom abc import ABC\nimport torch"),
        ("from __future__ import division\n\nimport os", "from __future__ import division\n\nimport copy\nimport os"),
        ('"""What."""\n\nimport os', '"""What."""\n\nimport copy\nimport os'),
        ('"""What."""', '"""What."""\n\n\nimport copy'),
        ("#!python\n# coding: utf-8\nimport os", "#!python\n# coding: utf-8\nimport copy\nimport os"),
        ("# licence\n\n# ours\nimport os", "# licence\n\nimport copy\n# ours\nimport os"),
        ("import copy", "import copy"),
        ("try:\n    import copy\nexcept ImportError:\n    pass\nimport os", None),
    ],
)  # fmt: skip
def test_an_import_is_added_once_and_in_its_place(head: str, becomes: str | None) -> None:
    if becomes is not None:
        assert copied(head + TAIL) == becomes + COPIED
    assert ast.parse(copied(head + TAIL))


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("import copy as c\ny = «m»\n", "import copy as c\ny = c.deepcopy(m)\n"),
        ("from copy import deepcopy\ny = «m»\n", "from copy import deepcopy\ny = deepcopy(m)\n"),
        ("from copy import deepcopy as d\ny = «m»\n", "from copy import deepcopy as d\ny = d(m)\n"),
        ("from copy import copy, deepcopy\ny = «m»\n", "from copy import copy, deepcopy\ny = deepcopy(m)\n"),
        ("def f(m):\n    import copy\n    return «m»\n", "def f(m):\n    import copy\n    return copy.deepcopy(m)\n"),
        ("y = «m»\nimport copy\n", "import copy\n\ny = copy.deepcopy(m)\nimport copy\n"),
        ("def f():\n    return «m»\nimport copy\n", "def f():\n    return copy.deepcopy(m)\nimport copy\n"),
    ],
)
def test_a_module_goes_by_the_name_it_has_in_the_file(text: str, becomes: str) -> None:
    assert copied(text) == becomes


@pytest.mark.parametrize(
    "text",
    [
        "from copy import copy\ny = «m»\n",
        "def f(copy, m):\n    return «m»\n",
        "copy = 1\ny = «m»\n",
        "import copy\ndef f(m):\n    copy = 1\n    return «m»\n",
    ],
)
def test_a_name_that_means_something_else_is_never_taken(text: str) -> None:
    with pytest.raises(Unfixable, match="copy is the name of something else there"):
        copied(text)


def test_what_stars_import_may_have_the_name_too() -> None:
    with pytest.raises(Unfixable, match="imported by"):
        copied("from numpy import *\ny = «m»\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_keeps_the_ends_of_its_lines_and_its_mark(newline: str, bom: bytes, end: str) -> None:
    text = f"import os\n\x0c\n# é\nbest = «m»{end}"
    plain = without_marks(text)
    edits = text_edits(
        finding(Wrap(place(text), "copy.deepcopy(", ")"), AddImport(place(text), "copy")), Code({None: plain})
    )
    result = changed(bom + plain.replace("\n", newline).encode(), edits)
    expected = f"import copy\nimport os\n\x0c\n# é\nbest = copy.deepcopy(m){end}"
    assert result == bom + expected.replace("\n", newline).encode()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "utf-8"])
def test_a_file_keeps_its_encoding(encoding: str) -> None:
    letter = "ド" if encoding == "shift_jis" else "é"
    text = f"# -*- coding: {encoding} -*-\nx = '{letter}', «m»\n"
    plain = without_marks(text)
    edits = text_edits(finding(Wrap(place(text), "f(", ")")), Code({None: plain}))
    assert changed(plain.encode(encoding), edits) == plain.replace("m\n", "f(m)\n").encode(encoding)


def test_a_file_that_its_encoding_cannot_hold_is_left() -> None:
    data = b"# coding: ascii\nx = 1\n"
    with pytest.raises(Unfixable, match="cannot be written in ascii"):
        changed(data, text_edits(finding(Replace(Span("train.py", 2, 5, 2, 6), "'é'")), Code({None: data.decode()})))


def test_fixes_that_touch_each_other_are_told_apart() -> None:
    code = Code({None: "import copy\nf(g(x), y)\n"})
    outer, inner, other = (
        text_edits(
            finding(Wrap(Span("train.py", 2, first, 2, last), "copy.copy(", ")"), AddImport(Span("", 2), "copy")), code
        )
        for first, last in ((1, 11), (3, 7), (9, 10))
    )
    assert not any(overlap(one, another) for one in inner for another in other)
    assert any(overlap(one, another) for one in outer for another in [*outer])
    assert not any(overlap(one, another) for one in outer for another in inner)


SPACES = st.sampled_from(["", " ", "\n", "  # why\n", "\n\n    ", "\\\n", " \x0c", "\t"])
PLACED = [
    "a",
    "( a )",
    "'é'",
    "g(x, *y)",
    "(n := 1)",
    "lambda z: z",
    "[i for i in j]",
    "-b",
    "b if c else d",
    "*r",
    "a.b[0]",
]
NAMED = ["k=v", "k = ( v )", "l=g(\n  x,  # x\n)", "mode='min'", "mode = ( 'min'\n )", "o=lambda: 1"]


@st.composite
def calls(draw: st.DrawFn) -> str:
    """A call in some form, between marks."""
    placed = draw(st.lists(st.sampled_from(PLACED), max_size=3))
    named = draw(st.lists(st.sampled_from(NAMED), max_size=2, unique_by=lambda each: each[0]))
    words = ["«f", "("]
    for argument in (*placed, *named):
        words += [argument, ","]
    if words[-1] == "," and draw(st.booleans()):
        words.pop()
    inside = "".join(word + draw(SPACES) for word in words[1:])
    return f"{words[0]}{inside})»"


AROUND = [
    ("y = ", ""), ("y = (", ")"), ("y = 1 + ", " ** 2"), ("g(", ", x)"), ("f(z := ", ")"), ("y = [", "]"),
    ("y = not ", ""), ("if ", ": pass"), ("y = (\n    ", "  # there\n)"), ("x; y = ", "; z"), ("y, z = ", ", 2"),
    ("with ", " as y: pass"),
]  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A statement around a call."""
    before, after = draw(st.sampled_from(AROUND))
    return f"{before}{draw(calls())}{after}  # end\n"


def with_keyword(text: str) -> str:
    """What Python makes of the text with the keyword set, by its own tree."""
    tree = ast.parse(without_marks(text))
    call = marked(tree, place(text))
    assert isinstance(call, ast.Call)
    others = [each for each in call.keywords if each.arg != "mode"]
    found = [each for each in call.keywords if each.arg == "mode"]
    new = ast.keyword("mode", ast.Constant("max"))
    call.keywords = [new if each in found else each for each in call.keywords] if found else [*others, new]
    return ast.dump(tree)


def marked(tree: ast.AST, where: Span) -> ast.expr:
    """The expression at a place of a text without letters beyond ASCII before it."""
    (found,) = (
        each for each in ast.walk(tree)
        if isinstance(each, ast.Call) and (each.lineno, each.col_offset + 1) == (where.row, where.column)
        and each.end_lineno == where.end_row
    )  # fmt: skip
    return found


def is_python(text: str) -> bool:
    try:
        compile(text, "", "exec")
    except SyntaxError:
        return False
    return True


def words(text: str) -> list[str]:
    """The tokens of a text, comments too, places aside."""
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    return [each.string for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type not in layout]


def without(tokens: list[str], added: list[str]) -> bool:
    """Whether the tokens that were added are all that is new."""
    rest = iter(added)
    return all(token in rest for token in tokens)


@settings(max_examples=150, deadline=None)
@given(lines())
def test_a_keyword_is_set_in_a_call_of_any_form(text: str) -> None:
    plain = without_marks(text)
    if not is_python(plain):
        return
    result = fixed(text, SetKeyword(place(text), "mode", "'max'"))
    assert ast.dump(ast.parse(result)) == with_keyword(text)
    kept = [each for each in words(plain) if each != "'min'"]
    assert without(kept if "mode" not in plain else [each for each in kept if each not in "()"], words(result))


@settings(max_examples=150, deadline=None)
@given(lines())
def test_a_call_of_any_form_is_wrapped(text: str) -> None:
    plain = without_marks(text)
    if not is_python(plain):
        return
    result = copied(f"import copy\n{text}").removeprefix("import copy\n")
    assert result == text.replace("«", "copy.deepcopy(").replace("»", ")")
    assert fixed(text, Wrap(place(text), "", ".float()")) == text.replace("«", "").replace("»", ".float()")


@settings(max_examples=150, deadline=None)
@given(
    lines(), st.sampled_from(["x", "a + b", "(a)", "m(x).y", "a if b else c", "-x", "x\n  .y", "(a,\nb)", "lambda: 1"])
)
def test_a_call_of_any_form_is_replaced_by_its_argument(text: str, argument: str) -> None:
    head, _, rest = text.partition("«f(")
    whole = f"{head}«f(‹{argument}›, {rest}"
    plain = without_marks(whole)
    if not is_python(plain):
        return
    tree = ast.parse(plain)
    call = marked(tree, place(whole))
    assert isinstance(call, ast.Call)
    try:
        result = fixed(whole, Unwrap(place(whole), place(whole, "‹›")))
    except Unfixable as why:
        assert "comment" in str(why)
        return
    expected = ast.dump(tree).replace(ast.dump(call), ast.dump(call.args[0]))
    assert ast.dump(ast.parse(result)) == expected
