"""Programs in which something changes the layer or the loss behind the reader's back: none of them is called safe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.report import Report, Tally

PROGRAM = """
import torch
import torch.nn as nn
import torch.nn.functional as F

STOP = 12


def wider(cls):
    build = cls.__init__

    def rebuilt(self, classes):
        build(self, classes + 1)

    cls.__init__ = rebuilt
    return cls


def named(cls):
    cls.title = cls.__name__
    return cls


@{mark}
class Head(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.scores = nn.Linear(4, classes)
        self.stop = nn.Linear(4, 1)
        self.criterion = nn.CrossEntropyLoss({option})

    def forward(self, x):
        scores = self.scores(x)
        {forward}
        return scores

    def loss(self, x, y):
        return self.criterion(self(x), y)


head = Head({classes})
{after}
loss = head.loss(torch.randn(3, 4), torch.randint(12, (3,)))
loss.backward()
"""

WIDENED = "scores = F.pad(scores, (0, 1)); scores[..., -1:] = self.stop(x)"


def judged(
    folder: Path, classes: int = 12, option: str = "", forward: str = "", after: str = "", mark: str = "named"
) -> Tally:
    program = PROGRAM.format(classes=classes, option=option, forward=forward, after=after, mark=mark)
    (folder / "train.py").write_text(program)
    return check(Request((str(folder),), str(folder), isolated=True)).judged["losses"]


@pytest.mark.parametrize(
    "after",
    [
        "head.add_module('scores', nn.Linear(4, 13))",
        "head.register_module('scores', nn.Linear(4, 13))",
        "head._modules['scores'] = nn.Linear(4, 13)",
        "setattr(head, 'scores', nn.Linear(4, 13))",
    ],
)
def test_a_layer_that_is_put_in_from_outside_is_seen(tmp_path: Path, after: str) -> None:
    assert judged(tmp_path, option="ignore_index=STOP", after=after).safe == 0


@pytest.mark.parametrize(
    "after", ["head.criterion.ignore_index = STOP", "setattr(head.criterion, 'ignore_index', STOP)"]
)
def test_an_option_that_is_set_from_outside_is_seen(tmp_path: Path, after: str) -> None:
    assert judged(tmp_path, classes=13).safe == 1
    assert judged(tmp_path, classes=13, after=after).safe == 0


def test_a_part_of_the_classes_is_not_taken_for_all_of_them(tmp_path: Path) -> None:
    assert judged(tmp_path, option="ignore_index=STOP").safe == 1
    assert judged(tmp_path, option="ignore_index=STOP", forward=WIDENED).safe == 0


def test_a_class_whose_constructor_a_decorator_replaces_is_not_taken_at_its_word(tmp_path: Path) -> None:
    assert judged(tmp_path, option="ignore_index=STOP").safe == 1
    assert judged(tmp_path, option="ignore_index=STOP", mark="wider").safe == 0


MODELS = """
import torch.nn as nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(4, 12)
{methods}
    def forward(self, x):
        return self.scores(x)
"""
USES = """
import torch.nn.functional as F

from parts.models import Reader


def loss(x, y):
    return F.cross_entropy(Reader()(x), y, ignore_index=12)
"""


def reasons(report: Report) -> set[str]:
    return {each.why.reason for each in report.unjudged if each.question.startswith("does the loss skip")}


def written(folder: Path, texts: dict[str, str]) -> Report:
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return check(Request((str(folder),), str(folder), isolated=True))


def test_a_doubt_that_arises_in_another_file_names_that_file(tmp_path: Path) -> None:
    opened = "\n    def put(self, key, value):\n        setattr(self, key, value)\n"
    texts = {"parts/models.py": MODELS.format(methods=opened), "parts/uses.py": USES}
    assert reasons(written(tmp_path, texts)) == {"the logits: setattr in parts/models.py:11 may write over it"}
    changing = "def change(kind):\n    reader = Reader()\n    kind(reader).scores = reader.scores = None\n"
    texts = {"parts/models.py": MODELS.format(methods=""), "parts/uses.py": USES}
    other = {"other.py": f"from parts.models import Reader\n\n\n{changing}"}
    assert reasons(written(tmp_path, texts | other)) == {"the logits: Reader.scores is also written in other.py:6"}


def test_a_doubt_that_arises_in_a_notebook_names_the_cell(tmp_path: Path) -> None:
    models = MODELS.format(methods="")
    cell = "\nfrom parts.models import Reader\n\nReader().scores = None"
    sheet = json.dumps({"cells": [{"cell_type": "code", "source": each} for each in ("1 + 1", cell)]})
    report = written(tmp_path, {"parts/models.py": models, "parts/uses.py": USES, "sheet.ipynb": sheet})
    assert reasons(report) == {"the logits: Reader.scores is also written in sheet.ipynb:cell 2:4"}
