"""A session says what a fresh check would say, whatever was changed since it was opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from test_cache import opened

from trainlint.check import Request, Session, check
from trainlint.report import Report, structured
from trainlint.source import stamps

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
    tmp_path = tmp_path / "project"
    tmp_path.mkdir()
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


def test_a_session_for_one_look_notes_nothing_and_counts_a_change_all_the_same(project: Path) -> None:
    session = Session(request(project), is_once=True)
    assert told(session.report(), project) == told(check(request(project)), project)
    session.change(str(project / "first.py"), HEAD.replace(b"ignore_index=CODES", b"ignore_index=-100"))
    texts = {str(project / "first.py"): HEAD.replace(b"ignore_index=CODES", b"ignore_index=-100")}
    assert told(session.report(), project) == told(check(request(project, texts)), project)
    assert places(session.report()) == ["second.py"]


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


# What is left for the next run


def kept(project: Path) -> Session:
    return Session(replace(request(project), cache=str(project.parent / "cache")))


def here(session: Session, *paths: Path) -> list[str]:
    return [place for path in paths for place in places(session.report([str(path)], here=True))]


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are as old as they say."""
    monkeypatch.setattr(stamps, "GRAIN", 0)


def test_what_two_looked_at_apart_a_third_need_not_look_at(project: Path, trusting: None) -> None:
    first, second, sizes = project / "first.py", project / "second.py", project / "sizes.py"
    one, other = kept(project), kept(project)
    assert here(one, first) + here(other, second) == ["first.py", "second.py"]
    one.keep()
    other.keep()
    with opened() as files:
        assert here(kept(project), first, second) == ["first.py", "second.py"]
    assert str(sizes) not in files


def test_what_was_kept_of_a_file_is_of_use_to_a_whole_run_and_the_reverse(project: Path, trusting: None) -> None:
    cache, first = str(project.parent / "cache"), project / "first.py"
    session = kept(project)
    here(session, first)
    session.keep()
    whole = replace(request(project), cache=cache)
    assert told(check(whole), project) == told(check(request(project)), project)
    with opened() as files:
        assert here(kept(project), first) == ["first.py"]
    assert str(project / "sizes.py") not in files


def test_what_was_kept_falls_with_what_it_rests_on(project: Path) -> None:
    first, sizes = project / "first.py", project / "sizes.py"
    session = kept(project)
    assert here(session, first) == ["first.py"]
    session.keep()
    first.write_bytes(HEAD.replace(b"ignore_index=CODES", b"ignore_index=CODES - 100"))
    assert here(kept(project), first) == []
    first.write_bytes(HEAD)
    sizes.write_text("CODES = 'no number'\n")
    assert here(kept(project), first) == places(Session(request(project)).report([str(first)], here=True))


def test_what_no_disk_holds_is_judged_beside_what_was_kept_and_never_kept(project: Path) -> None:
    first, second = project / "first.py", project / "second.py"
    session = kept(project)
    here(session, first, second)
    session.keep()
    for _ in range(2):
        edited = kept(project)
        edited.change(str(first), HEAD.replace(b"ignore_index=CODES", b"ignore_index=-100"))
        assert here(edited, first, second) == ["second.py"]
        edited.change(str(project / "sizes.py"), b"CODES = 'no number'\n")
        wanted = Session(request(project))
        wanted.change(str(project / "sizes.py"), b"CODES = 'no number'\n")
        assert here(edited, second) == here(wanted, second)
        edited.keep()
        assert here(kept(project), first, second) == ["first.py", "second.py"]


def test_a_change_after_the_first_look_counts_though_results_are_kept(project: Path) -> None:
    first, session = project / "first.py", kept(project)
    assert here(session, first) == ["first.py"]
    session.change(str(first), HEAD.replace(b"ignore_index=CODES", b"ignore_index=-100"))
    assert here(session, first) == []
    session.keep()
    assert here(kept(project), first) == ["first.py"]


def test_a_report_tells_its_findings_apart_by_the_text_that_it_was_made_of(project: Path) -> None:
    session = Session(request(project))
    report, other = session.report(), check(request(project))
    session.change(str(project / "first.py"), b"\n\n\n")
    session.report()
    assert dict(report.identities) == dict(other.identities)


def test_what_nobody_asks_for_is_not_worked_out(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def definitions(text: str) -> tuple[()]:
        read.append(text)
        return ()

    monkeypatch.setattr("trainlint.check.definitions", definitions)
    report = check(request(project))
    assert (len(report.findings), read) == (2, [])
    assert len(report.identities) == 2
    assert read
