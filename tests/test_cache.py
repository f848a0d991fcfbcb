"""What is kept of a run: the next one says the same, sooner, and what is kept never makes a run wrong or fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from editing import SEVERAL, STARTS, STEPS, Editor, counted, told
from hypothesis import HealthCheck, given, settings

from trainlint import cache
from trainlint.check import Request, check
from trainlint.cli import main
from trainlint.keep import FEW_FILES
from trainlint.source import stamps

Captured = pytest.CaptureFixture[str]
OPENED: list[str] = []
"""The files that were opened while somebody listened."""

LISTENING = [False]


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if LISTENING[0] and event == "open" and isinstance(arguments[0], str):
        OPENED.append(arguments[0])


sys.addaudithook(_hear)


@contextmanager
def opened() -> Iterator[list[str]]:
    """The files that are opened meanwhile."""
    OPENED.clear()
    LISTENING[0] = True
    yield OPENED
    LISTENING[0] = False


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    Editor(folder, STARTS)
    return folder


def request(project: Path, **other: object) -> Request:
    folder = str(project.parent / "cache")
    return replace(Request((str(project),), str(project), cache=folder), **other)  # type: ignore[arg-type]


def kept(project: Path) -> list[Path]:
    return sorted((project.parent / "cache").glob(f"*{cache.SUFFIX}*"))


def fresh(project: Path) -> str:
    return told(check(replace(request(project), cache="")), project)


def test_the_next_run_says_the_same_and_opens_no_file_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "GRAIN", 0)
    cold = told(check(request(project)), project)
    with opened() as files:
        warm = told(check(request(project)), project)
    assert cold == warm == fresh(project)
    assert [path for path in files if path.endswith(".py") and path.startswith(str(project))] == []


def test_one_edited_file_is_the_only_one_that_is_read_for_another_report(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "GRAIN", 0)
    (project / "apart.py").write_text("def answer(request):\n    return 1\n")
    check(request(project))
    (project / "apart.py").write_text("def answer(request):\n    return 12\n")
    with opened() as files:
        report = check(request(project))
    names = {os.path.basename(path) for path in files if path.endswith(".py") and path.startswith(str(project))}
    quoted = {os.path.basename(path) for path in report.lines}
    assert names - quoted == {"apart.py"}
    assert told(report, project) == fresh(project)


def test_a_write_within_the_grain_of_the_clock_is_noticed(project: Path) -> None:
    sizes = project / "sizes.py"
    before = sizes.stat()
    first = told(check(request(project)), project)
    sizes.write_bytes(b"CODES = 99\nPAD = 0\n")
    os.utime(sizes, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told(check(request(project)), project) == fresh(project) != first


def test_files_with_other_times_and_the_same_bytes_are_the_same(project: Path) -> None:
    first = told(check(request(project)), project)
    (written,) = (path for path in kept(project) if "verdicts" in path.name)
    before = written.read_bytes()
    for path in project.rglob("*.py"):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
        os.utime(path, (1, 1))
    assert told(check(request(project)), project) == first
    assert written.read_bytes() == before


def test_after_few_small_edits_the_report_is_written_and_the_verdicts_are_left(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "GRAIN", 0)
    paths = [project / f"apart{number}.py" for number in range(FEW_FILES + 1)]
    for path in paths:
        path.write_text("def answer(request):\n    return 1\n")
    check(request(project))
    (written,) = (path for path in kept(project) if "verdicts" in path.name)
    before = written.read_bytes()
    for path in paths[:-1]:
        path.write_text("def answer(request):\n    return 12\n")
        after = told(check(request(project)), project)
        assert told(check(request(project)), project) == after == fresh(project)
        assert written.read_bytes() == before
    paths[-1].write_text("def answer(request):\n    return 12\n")
    assert told(check(request(project)), project) == fresh(project)
    assert written.read_bytes() != before, "too many are another by now"


def test_verdicts_are_written_anew_where_an_edit_changed_many(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "GRAIN", 0)
    check(request(project))
    (written,) = (path for path in kept(project) if "verdicts" in path.name)
    before = written.read_bytes()
    (project / "sizes.py").write_text("CODES = 99\nPAD = 0\n")
    assert told(check(request(project)), project) == fresh(project)
    assert written.read_bytes() != before


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_after_any_edits_on_the_disk_a_run_with_a_cache_says_what_one_without_says(
    steps: list[tuple[object, int, bytes, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve() / "project"
        editor = Editor(project, STARTS)
        check(request(project))
        for edit, place, line, name in steps:
            editor.step(edit, place, line, name)
            if callable(edit):
                editor.step("saved", place, line, name)
            assert told(check(request(project)), project) == fresh(project)


@pytest.mark.parametrize("folder", SEVERAL[::60], ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_cold_warm_with_several_processes_and_after_an_edit_it_is_the_same(folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(folder, project)
    for number in range(30):
        (project / f"part{number}.py").write_text(f"import torch.nn as nn\nhead = nn.Linear(3, {number})\n")
        (project / f"loss{number}.py").write_text(
            "import torch.nn as nn\nfrom part0 import head\n"
            f"criterion = nn.CrossEntropyLoss(ignore_index={number})\ncriterion(head(1), 2)\n"
        )
    expected = fresh(project)
    assert told(check(request(project, jobs=2)), project) == expected
    assert told(check(request(project, jobs=2)), project) == expected
    path = project / "part0.py"
    path.write_bytes(counted(path.read_bytes(), 1, b""))
    expected = fresh(project)
    assert told(check(request(project)), project) == expected
    backwards = request(project, paths=tuple(map(str, sorted(project.glob("*.py"), reverse=True))))
    assert told(check(backwards), project) == told(check(replace(backwards, cache="")), project)


def test_other_settings_other_paths_and_given_numbers_are_other_runs(project: Path) -> None:
    sizes = (str(project / "sizes.py"),)
    for _ in range(2):
        assert len(check(request(project)).findings) == len(check(replace(request(project), cache="")).findings) > 0
        (project / "pyproject.toml").write_text('[tool.trainlint]\nselect = ["TL302"]\n')
        assert told(check(request(project)), project) == fresh(project)
        (project / "pyproject.toml").write_text("[tool.trainlint]\n")
        part = replace(request(project), paths=sizes)
        assert told(check(part), project) == told(check(replace(part, cache="")), project)


@pytest.mark.parametrize("damage", [b"", b"\0", b"trainlint 1\n", "half", "flipped", "other"])
def test_what_is_broken_is_as_good_as_none_and_written_anew(project: Path, damage: bytes | str) -> None:
    first = told(check(request(project)), project)
    whole = {path: path.read_bytes() for path in kept(project)}
    for path, data in whole.items():
        match damage:
            case "half":
                path.write_bytes(data[: len(data) // 2])
            case "flipped":
                path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
            case "other":
                cache.write(str(path.parent), path.name.removesuffix(cache.SUFFIX), ("x", 1, {}))
            case bytes():
                path.write_bytes(damage)
    assert told(check(request(project)), project) == first
    assert {path.name for path in kept(project)} == {path.name for path in whole}
    assert all(len(path.read_bytes()) == len(data) for path, data in whole.items())


def test_a_folder_that_cannot_be_made_is_none(project: Path) -> None:
    (project.parent / "file").write_text("")
    kept = str(project.parent / "file" / "cache")
    assert told(check(request(project, cache=kept)), project) == fresh(project)


@pytest.mark.skipif(sys.platform == "win32", reason="it limits the size of files as POSIX does")
def test_a_full_disk_changes_nothing(project: Path) -> None:
    program = f"""
import resource, signal
from trainlint.check import Request, check
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(len(check(Request(({str(project)!r},), {str(project)!r}, cache={str(project.parent / "cache")!r})).findings))
"""
    # Compiled modules are not written either: they would be cut off, and stay so.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.stdout, run.stderr) == (f"{len(check(request(project)).findings)}\n", "")


def test_several_runs_at_once_leave_whole_files(project: Path) -> None:
    words = [sys.executable, "-m", "trainlint", ".", "--output-format", "json", "--cache-dir", "../cache"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    runs = [subprocess.Popen(words, cwd=project, env=environment, stdout=subprocess.PIPE) for _ in range(3)]
    said = {run.communicate(timeout=120)[0] for run in runs}
    assert len(said) == 1
    assert all(path.name.endswith(cache.SUFFIX) for path in kept(project))
    assert subprocess.run(words, cwd=project, env=environment, capture_output=True, check=False).stdout in said


def test_what_came_with_the_code_is_no_cache(project: Path) -> None:
    assert told(check(request(project, cache=str(project / ".cache"))), project) == fresh(project)
    assert not (project / ".cache").exists()


def test_a_cache_inside_the_project_is_refused_aloud(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert main([".", "--cache-dir", ".cache"]) == 1
    assert f"--cache-dir .cache: not used, for it lies in {project}\n" in capsys.readouterr().err
    assert not (project / ".cache").exists()


def test_what_was_not_used_for_the_longest_time_goes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(project.parent / "cache")
    for age, name in enumerate(("new", "middle", "old")):
        cache.write(folder, name, "x" * 1000)
        os.utime(os.path.join(folder, name + cache.SUFFIX), (1e9 - age, 1e9 - age))
    monkeypatch.setattr(cache, "MOST_BYTES", 3500)
    cache.write(folder, "newest", "x" * 1000)
    assert {path.name.partition(".")[0] for path in kept(project)} == {"newest", "new", "middle"}
    assert cache.read(folder, "newest") == "x" * 1000
    assert cache.read(folder, "old") is None


def test_the_command_line_keeps_in_the_users_cache_and_cleans_it(
    project: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    users = Path(cache.users_folder())
    assert main([".", "--no-cache"]) == 1
    assert not users.exists()
    assert main(["."]) == 1
    assert len(list(users.glob(f"*{cache.SUFFIX}"))) == 2
    capsys.readouterr()
    assert main(["clean"]) == 0
    assert capsys.readouterr().out.startswith("removed 2 files (")
    assert not users.exists()
    assert main(["clean"]) == 0
    assert capsys.readouterr().out.startswith("removed 0 files (0.0 MB) from ")
    assert main([".", "--cache-dir", "../mine"]) == 1
    assert not users.exists() and len(list((project.parent / "mine").glob(f"*{cache.SUFFIX}"))) == 2


@pytest.mark.parametrize(
    ("platform", "variable", "value", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "/x", "/x/trainlint"),
        ("linux", "HOME", "/home/me", "/home/me/.cache/trainlint"),
        ("darwin", "HOME", "/Users/me", "/Users/me/Library/Caches/trainlint"),
        ("linux", "XDG_CACHE_HOME", "relative", None),
    ],
)
def test_the_users_cache_lies_where_the_platform_has_it(
    platform: str, variable: str, value: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv(variable, value)
    assert expected is None or cache.users_folder() == expected
    assert os.path.isabs(cache.users_folder())
