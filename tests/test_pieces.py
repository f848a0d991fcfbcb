"""What an edit takes along: verdicts that looked at the function that was edited, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from editing import Editor, told

from trainlint.source import link
from trainlint.source.linkers.linker import Linker
from trainlint.source.linkers.site import Site
from trainlint.source.reading import Judged
from trainlint.source.workspace import Workspace

TRAIN = b"""\
import torch.nn as nn
from torch.nn import functional as F

CODES = 1024
stop_id = CODES


def shown(batch):
    return len(batch)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(64, CODES + 1)

    def forward(self, tokens):
        return self.head(tokens)

    def describe(self):
        return "a model"


def loss(tokens, targets):
    model = Model()
    # of all codes
    logits = model(tokens)
    return F.cross_entropy(logits, targets, ignore_index=CODES)


def saved(model, path):
    print(path)
"""


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The rows of the places that are judged."""
    rows: list[int] = []
    judge = link.judged

    def noted(workspace: Workspace, linker: Linker, site: Site) -> Judged:
        rows.append(site.span.row)
        return judge(workspace, linker, site)

    monkeypatch.setattr(link, "judged", noted)
    yield rows


def edited(editor: Editor, old: bytes, new: bytes) -> None:
    path = editor.folder / "train.py"
    data = editor.texts.get(str(path), path.read_bytes())
    assert old in data
    editor.step(lambda *_: data.replace(old, new), 0, b"", "train.py")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"return len(batch)", b"return 3"),
        (b"return len(batch)", b"size = len(batch)\n\n    return size"),
        (b'return "a model"', b'# in words\n        return "the model"'),
        (b"    print(path)", b"    print(path)\n    print(model)"),
        (b"import torch.nn as nn\n", b"\n\nimport torch.nn as nn\n"),
        (b"\n\nclass Model", b"\n# the model\n\n\nclass Model"),
        (b"    print(path)\n", b"    print(path)\n\n\ndef more(path):\n    print(path)\n"),
        (b"    print(path)\n", b"    print(path)\n\n\nclass More:\n    pass\n"),
        (b"    print(path)\n", b"    print(path)\n\n\nMORE = 3\n"),
        (b"import torch.nn as nn\n", b"import os\nimport torch.nn as nn\n"),
        (b"    def describe", b"    def more(self):\n        return 3\n\n    def describe"),
        (b'return "a model"\n', b'return "a model"\n\n    def more(self):\n        return self.more()\n'),
        (b"def describe(self):", b"@staticmethod\n    def describe(self=None):"),
        (b"    def describe", b"    @classmethod\n    def more(cls):\n        return cls()\n\n    def describe"),
        (b"    def __init__", b"    more = 3\n\n    def __init__"),
        (b"def shown(batch):", b"def shown(batch, size=3):"),
        (b"def shown(batch):", b"@nn.jit\ndef shown(batch):"),
        (b"def shown(batch):", b"def more(batch):"),
        (b"def shown(batch):\n    return len(batch)\n\n\n", b""),
        (b"logits = model(tokens)\n", b"logits = model(tokens)  # of each code\n"),
        (b"ignore_index=CODES)\n", b"ignore_index=CODES)  # none\n"),
        (b"    # of all codes\n", b"    # of many codes\n"),
        (b"    # of all codes\n", b"\n"),
        (b"        super().__init__()\n", b"        super().__init__()  # first \xc3\xa9\n"),
    ],
)
def test_what_nobody_looked_at_is_edited_and_nothing_is_judged(
    tmp_path: Path, judged: list[int], old: bytes, new: bytes
) -> None:
    editor = Editor(tmp_path, {"train.py": TRAIN})
    assert [finding.code for finding in editor.session.report().findings] == ["TL101"]
    judged.clear()
    edited(editor, old, new)
    report = told(editor.session.report(), tmp_path)
    assert judged == []
    assert report == editor.fresh()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"nn.Linear(64, CODES + 1)", b"nn.Linear(64, 1024)"),
        (b"return self.head(tokens)", b"return self.head(tokens)[:, :64]"),
        (b"    print(path)", b"    model.head = nn.Linear(64, 1024)\n    print(path)"),
        (b'return "a model"', b'self.head = nn.Linear(64, 9)\n        return "a model"'),
        (b"CODES = 1024", b"CODES = 1023"),
        (b"stop_id = CODES\n", b"stop_id = CODES\nCODES = 9\n"),
        (b"    print(path)\n", b"    print(path)\n\n\nCODES = 9\n"),
        (b"    print(path)\n", b"    print(path)\n\n\nclass Model:\n    pass\n"),
        (b"    print(path)\n", b"    print(path)\n\n\ndef Model():\n    return nn.Linear(64, 9)\n"),
        (b"def saved(model, path):", b"def Model(model, path):"),
        (b"def saved(model, path):", b"async def Model(model, path):"),
        (b"import torch.nn as nn\n", b"import os as nn\n"),
        (b"from torch.nn import functional as F\n", b""),
        (b"stop_id = CODES\n", b"stop_id = CODES\nfrom other import *\n"),
        (b"class Model(nn.Module)", b"class Model(nn.Linear)"),
        (b"class Model(nn.Module)", b"class Models(nn.Module)"),
        (b"class Model(nn.Module)", b"@saved\nclass Model(nn.Module)"),
        (b"def __init__(self):", b"def __init__(self, codes=9):"),
        (b"def forward(self, tokens):", b"async def forward(self, tokens):"),
        (b'return "a model"\n', b'return "a model"\n\n    def forward(self, tokens):\n        return tokens\n'),
        (b'return "a model"\n', b'return "a model"\n\n    forward = None\n'),
        (b"    def describe", b"    def more(self):\n        self.head = nn.Linear(64, 9)\n\n    def describe"),
        (b"def loss(tokens, targets):", b"@shown\ndef loss(tokens, targets):"),
        (b"return len(batch)", b"global F\n    F = None"),
        (b"return len(batch)", b"return loss(batch, batch)"),
    ],
)
def test_what_may_matter_is_edited_and_judged_as_afresh(
    tmp_path: Path, judged: list[int], old: bytes, new: bytes
) -> None:
    editor = Editor(tmp_path, {"train.py": TRAIN})
    editor.session.report()
    judged.clear()
    edited(editor, old, new)
    report = told(editor.session.report(), tmp_path)
    assert judged
    assert report == editor.fresh()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"  # all of them", b"  # some"),
        (b"    # as it was", b"    # as it will be"),
        (b"# first", b"# other"),
        (b'"""# none', b'"""# one'),
    ],
)
def test_a_comment_that_is_quoted_with_the_code_is_told_as_it_reads_now(tmp_path: Path, old: bytes, new: bytes) -> None:
    quoted = TRAIN.replace(
        b"ignore_index=CODES)",
        b"ignore_index=max(\n        CODES,  # all of them\n        # first\n        1,\n    ))",
    ).replace(b"def loss(tokens, targets):\n", b'def loss(tokens, targets):\n    """# none\n    # as it was\n    """\n')
    editor = Editor(tmp_path, {"train.py": quoted})
    editor.session.report()
    edited(editor, old, new)
    assert told(editor.session.report(), tmp_path) == editor.fresh()


OTHER = b"""\
from train import CODES, Model

SIZES = {"codes": CODES}


def first(thing):
    thing.head = 3
    SIZES["rows"] = 3


def second(path):
    print(path)
"""


@pytest.mark.parametrize(
    "new",
    [
        b"model = Model()\n    model.head = None",
        b'setattr(Model(), "head", None)',
        b"Model().__dict__[path] = None",
        b"for key in path:\n        setattr(Model(), key, None)",
    ],
)
def test_one_more_write_in_a_file_that_writes_is_judged_as_afresh(
    tmp_path: Path, judged: list[int], new: bytes
) -> None:
    editor = Editor(tmp_path, {"train.py": TRAIN, "other.py": OTHER})
    assert [finding.code for finding in editor.session.report().findings] == ["TL101"]
    judged.clear()
    editor.step(lambda *_: OTHER.replace(b"print(path)", new), 0, b"", "other.py")
    report = told(editor.session.report(), tmp_path)
    assert judged
    assert report == editor.fresh()


DOUBTED = b"""\
import torch.nn as nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(64, 1025)

    def forward(self, tokens):
        return self.scores(tokens)

    def put(self, key, value):
        setattr(self, key, value)
"""
DOUBTING = b"""\
import torch.nn.functional as F

from heads import Head


def loss(tokens, targets):
    return F.cross_entropy(Head()(tokens), targets, ignore_index=1024)
"""


def test_a_doubt_names_the_row_where_it_stands_now(tmp_path: Path) -> None:
    editor = Editor(tmp_path, {"heads.py": DOUBTED, "train.py": DOUBTING})
    assert "setattr in heads.py:13 may" in told(editor.session.report(), tmp_path)
    editor.step(lambda *_: DOUBTED.replace(b"\n\nclass", b"\n# a head\n\n\nclass"), 0, b"", "heads.py")
    report = told(editor.session.report(), tmp_path)
    assert "setattr in heads.py:15 may" in report
    assert report == editor.fresh()


def test_a_mistake_in_the_file_and_its_mending_are_judged_as_afresh(tmp_path: Path) -> None:
    editor = Editor(tmp_path, {"train.py": TRAIN})
    first = told(editor.session.report(), tmp_path)
    edited(editor, b"def shown(batch):", b"def shown(batch:")
    assert told(editor.session.report(), tmp_path) == editor.fresh()
    edited(editor, b"def shown(batch:", b"def shown(batch):")
    assert told(editor.session.report(), tmp_path) == first


LOW = b"""\
import torch.nn as nn

model = nn.Linear(64, 1025).bfloat16()


def train(batch, targets):
    logits = model(batch.bfloat16())
    return nn.functional.cross_entropy(logits, targets)


def placed(batch):
    batch = list(batch)
    return [each.cuda() for each in batch]


def shown(batch):
    print(batch)
"""


@pytest.mark.parametrize(
    ("old", "new", "is_judged"),
    [
        (b"    print(batch)\n", b"    print(batch)\n\n# cuda or not\n", False),
        (b"def placed(batch):", b"# where it runs\n\n\ndef placed(batch):", False),
        (b"    batch = list(batch)\n", b"    batch = list(batch)\n    batch = batch[:3]\n", True),
        (b"each.cuda()", b"each.to(0)", True),
        (b"import torch.nn as nn\n", b'import torch.nn as nn\n\ndevice = "cuda"\n', True),
    ],
)
def test_the_line_that_says_where_a_program_runs_is_followed(
    tmp_path: Path, judged: list[int], old: bytes, new: bytes, is_judged: bool
) -> None:
    editor = Editor(tmp_path, {"train.py": LOW})
    before = told(editor.session.report(), tmp_path)
    assert "each.cuda()" in before
    judged.clear()
    edited(editor, old, new)
    report = told(editor.session.report(), tmp_path)
    assert bool(judged) is is_judged
    assert report == editor.fresh()
