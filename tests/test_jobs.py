"""How many processes share the work changes no finding, no count and no order."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.source.observe import FEWEST_FILES

SIZES = "CODES = 64\nSTOP = CODES\n"
HEADS = """\
from torch import nn

from sizes import CODES


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, CODES + 1)

    def forward(self, hidden):
        return self.head(hidden)


class Second(First):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, CODES)
"""
LOSS = """\
from torch.nn import functional as F

from heads import {kind}
from sizes import STOP

model = {kind}()


def loss(hidden, targets):
    return F.cross_entropy(model(hidden), targets, ignore_index=STOP)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "sizes.py").write_text(SIZES)
    (tmp_path / "heads.py").write_text(HEADS)
    for number in range(FEWEST_FILES + 6):
        kind = "Second" if number % 3 else "First"
        (tmp_path / f"loss_{number:02}.py").write_text(LOSS.format(kind=kind))
    return tmp_path


@pytest.mark.parametrize("jobs", [2, 3])
def test_processes_that_share_the_work_report_what_one_reports(project: Path, jobs: int) -> None:
    one = check(Request((".",), str(project), isolated=True))
    shared = check(Request((".",), str(project), isolated=True, jobs=jobs))
    assert [finding.code for finding in one.findings].count("TL101") == (FEWEST_FILES + 6) // 3
    assert (shared.findings, shared.unjudged, shared.judged) == (one.findings, one.unjudged, one.judged)
