"""A session says what a fresh check would say, whatever was changed since it was opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from trainlint.check import Request, Session, check
from trainlint.report import Report, structured

HEAD = b"""\
from torch import nn
from torch.nn import functional as F

from sizes import CODES

head = nn.Linear(8, CODES + 1)
stop_id = CODES


def loss(hidden, targets):
    return F.cross_entropy(head(hidden), targets, ignore_index=CODES)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two collisions through one constant that stands in a third file."""
    (tmp_path / "pyproject.toml").write_text("[tool.trainlint]\n")
    (tmp_path / "sizes.py").write_text("CODES = 64\n")
    (tmp_path / "first.py").write_bytes(HEAD)
    (tmp_path / "second.py").write_bytes(HEAD)
    return tmp_path


def request(project: Path, texts: Mapping[str, bytes] | None = None, *paths: str) -> Request:
    return Request(paths or (str(project),), str(project), texts=texts or {})


def places(report: Report) -> list[str]:
    return [os.path.basename(finding.where.path) for finding in report.findings]


def told(report: Report, project: Path) -> str:
    return structured.as_json(report, str(project))


def test_a_session_says_what_a_check_says(project: Path) -> None:
    assert told(Session(request(project)).report(), project) == told(check(request(project)), project)


def test_a_change_counts_whatever_the_disk_says(project: Path) -> None:
    session, sizes = Session(request(project)), str(project / "sizes.py")
    assert places(session.report()) == ["first.py", "second.py"]
    first = HEAD.replace(b"ignore_index=CODES", b"ignore_index=-100")
    session.change(str(project / "first.py"), first)
    assert places(session.report()) == ["second.py"]
    session.change(sizes, b"CODES = 65\n")
    texts = {str(project / "first.py"): first, sizes: b"CODES = 65\n"}
    assert told(session.report(), project) == told(check(request(project, texts)), project)


def test_a_change_that_is_taken_back_leaves_what_the_disk_says_now(project: Path) -> None:
    session, first = Session(request(project)), project / "first.py"
    session.change(str(first), b"x = 1\n")
    assert places(session.report()) == ["second.py"]
    session.change(str(first), None)
    assert places(session.report()) == ["first.py", "second.py"]
    first.write_bytes(b"x = 2\n")
    session.change(str(first), None)
    assert places(session.report()) == ["second.py"]


def test_a_file_that_comes_and_goes_is_seen_when_it_is_told(project: Path) -> None:
    session, third = Session(request(project)), project / "third.py"
    assert places(session.report()) == ["first.py", "second.py"]
    third.write_bytes(HEAD)
    session.change(str(third), None)
    assert places(session.report()) == ["first.py", "second.py", "third.py"]
    third.unlink()
    session.change(str(third), None)
    assert places(session.report()) == ["first.py", "second.py"]


def test_a_report_of_other_paths_has_what_a_check_of_them_has(project: Path) -> None:
    session, sizes, first = Session(request(project)), str(project / "sizes.py"), str(project / "first.py")
    assert places(session.report([sizes])) == ["first.py", "second.py"]
    assert told(session.report([first]), project) == told(check(request(project, {}, first)), project)


def test_what_stands_here_is_judged_alone_when_that_is_asked(project: Path) -> None:
    session, sizes, first = Session(request(project)), str(project / "sizes.py"), str(project / "first.py")
    assert places(session.report([sizes], here=True)) == []
    assert places(session.report([first], here=True)) == ["first.py"]
    assert places(session.report([sizes])) == ["first.py", "second.py"]


def test_settings_are_read_again_when_their_change_is_told(project: Path) -> None:
    session, settings = Session(request(project)), project / "pyproject.toml"
    assert len(places(session.report())) == 2
    settings.write_text('[tool.trainlint]\nignore = ["TL101"]\n')
    session.change(str(settings), None)
    assert places(session.report()) == []


def test_a_path_that_is_not_there_is_a_fault(project: Path) -> None:
    session = Session(request(project))
    assert session.report([str(project / "nope.py")]).exit_code == 2


def test_a_file_that_only_the_session_holds_is_a_file(project: Path) -> None:
    session, new = Session(request(project)), str(project / "new.py")
    session.change(new, HEAD)
    assert places(session.report([new])) == places(session.report([new], here=True)) == ["new.py"]
    assert places(session.report()) == ["first.py", "new.py", "second.py"]
    session.change(new, None)
    assert places(session.report()) == ["first.py", "second.py"]
    assert session.report([new]).exit_code == 2


def test_what_a_file_that_only_the_session_holds_says_counts_in_others(project: Path) -> None:
    session = Session(request(project))
    (project / "sizes.py").unlink()
    assert places(session.report()) == []
    session.change(str(project / "sizes.py"), b"CODES = 64\n")
    assert places(session.report()) == ["first.py", "second.py"]
