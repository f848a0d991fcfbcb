"""Questions to a project: what is remembered is put right when files change, and bytes tell what reading would."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

from trainlint.regex import IGNORECASE, regex, spelled
from trainlint.source import workspace as queries
from trainlint.source.journal import Kind, Query
from trainlint.source.names import top
from trainlint.source.sift.spelling import called
from trainlint.source.summary import Module
from trainlint.source.text import MISSING, Fault
from trainlint.source.workspace import Workspace

NAMES = ("head", "tail", "width", "globals")
PATHS = ("/project/pkg/__init__.py", "/project/pkg/a.py", "/project/pkg/b.py", "/project/c.py", "/project/d.py")
LINES = st.sampled_from(
    (
        "from .a import *", "from pkg.b import *", "from c import *", "import head", "import pkg, head.tail",
        "__all__ = ['head', 'width']", "__all__ = ['tail']", "head = tail(width)", "tail: int = head[0]",
        "def head(tail): return width(tail)", "class  width: head = 1", "for head, tail in width: pass", "width += 1",
        "with head() as tail: pass", "try: head()\nexcept OSError as width: pass", "if (tail := head.width): pass",
        "match head:\n    case {'tail': width, **tail}: pass\n    case [*head]: pass",
        "from d import head as tail, \\\n  width",
        "globals()['head'] = head.tail  # width and all", "head.width = 3", "print('head', f'{tail}')", "del tail",
        "async def \\\n head(): pass", "he = 'undef tail def head'", "def headless(he): pass",
    )
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=4).map(lambda lines: "".join(f"{line}\n" for line in lines).encode())
PROJECTS = st.dictionaries(st.sampled_from(PATHS), TEXTS, min_size=1)
KINDS = {
    Kind.MENTIONS: ("/project", "/project/pkg"),
    Kind.BOTH: NAMES,
    Kind.CHANGING: NAMES,
    Kind.WRITERS: NAMES,
    Kind.HOLDS: PATHS,
}
PARTS = ("", "/project", "/project/pkg")
"""The whole tree, and the parts that it may have."""

ASKED = (
    *(Query(kind, (f"def {name}", "/project")) for kind in (Kind.MENTIONS,) for name in ("head", "he", "tail")),
    *(Query(kind, (name, other)) for kind in (Kind.MENTIONS, Kind.HOLDS) for name in NAMES for other in KINDS[kind]),
    *(
        Query(kind, (name, other, part))
        for kind in (Kind.BOTH, Kind.CHANGING, Kind.WRITERS)
        for name in NAMES
        for other in KINDS[kind]
        for part in PARTS
    ),
    *(Query(Kind.CALLED, (name, "", part)) for name in "abcd" for part in PARTS),
    *(Query(Kind.WEB, (path, "")) for path in PATHS),
    *(Query(Kind.EXPORTING, (path, "", name)) for path in PATHS for name in NAMES),
    *(
        Query(kind, (name, *others, spelled(pattern)))
        for kind in (Kind.MATCHING, Kind.MATCHING_BOTH)
        for name in NAMES
        for others in (zip(PARTS[1:]) if kind is Kind.MATCHING else product(NAMES, PARTS))
        for pattern in (called(name), regex(b"HEAD", IGNORECASE))
    ),
)


LEAVING = {"/project/pkg/__init__.py": b"", "/project/d.py": b"import pkg, head.tail\n"}
"""A package that another version is without: who asks from its folder asks another part of the tree then."""


def project(texts: Mapping[str, bytes]) -> Workspace:
    return Workspace("/project", sorted(texts), (), {}, lambda path: texts.get(path, Fault(MISSING)))


@settings(max_examples=150, deadline=None)
@given(st.lists(PROJECTS, min_size=2, max_size=4), st.booleans())
@example([LEAVING, {"/project/d.py": b"import head\n"}], False)
def test_what_is_remembered_is_what_would_be_found_now(versions: list[dict[str, bytes]], forgets: bool) -> None:
    with MonkeyPatch.context() as patch:
        patch.setattr(queries, "MOST_FILES", 2)
        texts = dict(versions[0])
        known = project(texts)
        before = {query: known.answer(query) for query in ASKED}
        for version in versions[1:]:
            changed = [path for path in {*texts, *version} if texts.get(path) != version.get(path)]
            texts.clear()
            texts.update(version)
            if forgets:
                known.trim(ASKED)
            known, change = known.after(sorted(texts), changed)
            afresh = project(texts)
            now = {query: afresh.answer(query) for query in ASKED}
            assert {query: known.answer(query) for query in ASKED} == now
            assert {query for query in ASKED if now[query] != before[query]} <= change.queries
            before = now


@settings(max_examples=300, deadline=None)
@given(PROJECTS)
def test_a_name_that_reading_finds_is_seen_in_the_bytes(texts: dict[str, bytes]) -> None:
    known = project(texts)
    for path in texts:
        module = known.module(path)
        if isinstance(module, Module) and os.path.basename(path) != "__init__.py":
            listed = [line for line in texts[path].decode().splitlines() if line.startswith("__all__")]
            for name in NAMES:
                bound = name in top(module) and (len(listed) != 1 or f"'{name}'" in listed[0])
                found = path in {each.path for each in known.exporting(path, name)}
                assert found or not bound, (name, texts[path])
