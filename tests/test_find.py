from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainlint.source.find import EXCLUDED, find
from trainlint.source.ignored import Ignored


def tree(folder: Path, *files: str) -> None:
    for file in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def names(folder: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    found = find([str(folder / path) for path in paths or ("",)], exclude)
    return [os.path.relpath(path, folder) for path in found.files]


def reasons(folder: Path, *paths: str) -> dict[str, str]:
    found = find([str(folder / path) for path in paths or ("",)])
    return {os.path.relpath(each.path, folder): each.reason for each in found.skipped}


def test_python_files_and_stubs_are_found_in_order_and_absolute(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "a.pyi", "c/d.py", "c/e.txt", "script", "w.pyw", "B.py", "c.py")
    assert names(tmp_path) == ["B.py", "a.pyi", "b.py", "c.py", "c/d.py"]
    assert all(map(os.path.isabs, find([str(tmp_path)]).files))


def test_a_relative_path_is_found_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a/b.py")
    monkeypatch.chdir(tmp_path / "a")
    assert find(["."]).files == find(["b.py"]).files == find(["../a", "b.py"]).files == (str(tmp_path / "a" / "b.py"),)


@pytest.mark.parametrize("name", ["a.py", "a.pyi", "a.pyw", "a.ipynb", "script"])
def test_a_named_python_file_is_taken_whatever_would_exclude_it(tmp_path: Path, name: str) -> None:
    tree(tmp_path, f"venv/{name}")
    (tmp_path / ".gitignore").write_text("venv\n*.py*\n*.ipynb\nscript\n")
    assert names(tmp_path, f"venv/{name}", exclude=("*",)) == [f"venv/{name}"]


def test_what_is_named_and_no_python_is_skipped_with_a_reason(tmp_path: Path) -> None:
    tree(tmp_path, "a.txt")
    (tmp_path / "loop").symlink_to("loop")
    assert reasons(tmp_path, "a.txt", "none.py", "a.txt/x", "nul\0.py", "loop") == {
        "a.txt": "it is no Python file",
        "a.txt/x": "no such file or folder",
        "loop": "a link that leads back to itself",
        "none.py": "no such file or folder",
        "nul\0.py": "no such file or folder",
    }


def test_a_missing_path_is_refused_and_another_file_is_not(tmp_path: Path) -> None:
    tree(tmp_path, "b.txt")
    found = find([str(tmp_path / "b.txt"), str(tmp_path / "none")])
    assert [(Path(each.path).name, each.refused) for each in found.skipped] == [("b.txt", False), ("none", True)]


def test_an_empty_path_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a.py")
    monkeypatch.chdir(tmp_path)
    assert find([""]).files == ()
    assert find([""]).skipped[0].refused


def test_notebooks_are_read_but_not_the_copies_that_jupyter_keeps(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.ipynb", "c.ipynb", "node_modules/d.ipynb", ".ipynb_checkpoints/c-checkpoint.ipynb")
    assert names(tmp_path) == ["a/b.ipynb", "c.ipynb"]
    assert names(tmp_path, "node_modules/d.ipynb") == ["node_modules/d.ipynb"]


def test_folders_that_hold_no_code_of_the_project_are_not_walked(tmp_path: Path) -> None:
    tree(tmp_path, *(f"{name}/a.py" for name in EXCLUDED), *(f"x/{name}/a.py" for name in EXCLUDED), "x/y.py")
    assert names(tmp_path) == ["x/y.py"]


def test_an_excluded_folder_is_walked_when_it_is_named(tmp_path: Path) -> None:
    tree(tmp_path, "build/a.py", "build/dist/b.py")
    assert names(tmp_path, "build") == ["build/a.py"]


def test_a_folder_that_is_called_like_a_file_is_a_folder(tmp_path: Path) -> None:
    tree(tmp_path, "x.py/a.py", "y.ipynb/b.py")
    assert names(tmp_path) == ["x.py/a.py", "y.ipynb/b.py"]
    assert reasons(tmp_path) == {}


def test_patterns_exclude_relative_to_each_walked_folder(tmp_path: Path) -> None:
    tree(tmp_path, "a/gen/x.py", "a/b/gen/x.py", "a/x_pb2.py", "b/gen/x.py", "b/keep.py")
    assert names(tmp_path, exclude=("gen/", "*_pb2.py")) == ["b/keep.py"]
    assert names(tmp_path, "a", "b", exclude=("/gen",)) == ["a/b/gen/x.py", "a/x_pb2.py", "b/keep.py"]
    assert names(tmp_path, exclude=("*", "!b/", "!keep.py")) == ["b/keep.py"]


def test_a_file_found_by_two_paths_is_one_file(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.py")
    (tmp_path / "a" / "c.py").symlink_to("b.py")
    (tmp_path / "d").symlink_to("a")
    assert names(tmp_path, "", "a", "a/b.py", "a/../a") == ["a/b.py"]
    assert names(tmp_path, "a", "d") == names(tmp_path, "d", "a") == ["a/b.py"]


def test_of_two_paths_to_a_file_the_one_that_was_named_counts(tmp_path: Path) -> None:
    tree(tmp_path, "a/b.py")
    (tmp_path / "c.py").symlink_to("a/b.py")
    (tmp_path / "d").symlink_to("a")
    assert names(tmp_path, "", "c.py") == names(tmp_path, "c.py", "") == ["c.py"]
    assert names(tmp_path, "", "d") == ["d/b.py"]


def test_a_link_to_a_file_outside_is_read_under_its_own_name(tmp_path: Path) -> None:
    tree(tmp_path, "out/real.txt", "in/a.py")
    (tmp_path / "in" / "b.py").symlink_to(tmp_path / "out" / "real.txt")
    assert names(tmp_path, "in") == ["in/a.py", "in/b.py"]


def test_links_to_folders_are_named_and_not_followed(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "own.py").symlink_to(".")
    (tmp_path / "venv").symlink_to("a")
    followed = "a link to a folder is not followed; name it to read what is behind it"
    assert names(tmp_path) == ["a/x.py"]
    assert reasons(tmp_path) == {"a/up": followed, "a/own.py": followed}
    assert names(tmp_path, "a/up") == ["a/up/a/x.py"]


def test_links_to_nothing_and_to_themselves_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("gone")
    (tmp_path / "b.py").symlink_to("c.py")
    (tmp_path / "c.py").symlink_to("b.py")
    (tmp_path / "data").symlink_to("gone")
    loop = "a link that leads back to itself"
    assert reasons(tmp_path) == {"a.py": "a link to nothing", "b.py": loop, "c.py": loop}
    assert not any(each.refused for each in find([str(tmp_path)]).skipped)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_fifos_sockets_and_devices_are_skipped_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "null.py").symlink_to(os.devnull)
    (tmp_path / ".gitignore").symlink_to("pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "s.py"))
        expected = {
            "null.py": "it is a device, no file",
            "pipe.py": "it is a FIFO, no file",
            "s.py": "it is a socket, no file",
        }
        assert reasons(tmp_path) == expected
        assert reasons(tmp_path, *expected) == expected


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="needs names that are bytes")
def test_names_that_would_break_the_output_are_skipped(tmp_path: Path) -> None:
    for name in (b"\xff.py", b"a\nb.py", b"c\x1b[31m.py", b"\xe2\x80\xa8.py"):
        (tmp_path / os.fsdecode(name)).write_text("")
    tree(tmp_path, "é.py", "a\xa0b.py", "漢 字/x.py", "👍.py")
    assert names(tmp_path) == ["a\xa0b.py", "é.py", "漢 字/x.py", "👍.py"]
    assert set(reasons(tmp_path).values()) == {"its name is not UTF-8 or holds a control character"}
    assert len(reasons(tmp_path)) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="needs folders opened by handle")
def test_a_path_too_long_for_the_system_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    tree(tmp_path, "a.py")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("deep.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    found = find([str(tmp_path)])
    assert [Path(path).name for path in found.files] == ["a.py"]
    assert [each.refused for each in found.skipped] == [True]


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
def test_a_folder_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    tree(tmp_path, "shut/a.py", "open/b.py")
    (tmp_path / "shut").chmod(0)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(0o755)
    code = "import os, sys\nfrom trainlint.source.find import find\nif os.geteuid() == 0: os.setuid(65534)\n"
    code += "found = find([sys.argv[1]])\nprint(len(found.files), *(each.reason for each in found.skipped))"
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    (tmp_path / "shut").chmod(0o755)
    assert run.stdout.strip() == "1 the system will not open it: Permission denied", run.stderr


def git(folder: Path, *words: str) -> bytes:
    clean = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(["git", *words], cwd=folder, env=clean, capture_output=True, check=True).stdout


def kept_by_git(folder: Path) -> list[str]:
    listed = git(folder, "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore").decode()
    return sorted(name for name in listed.split("\0") if name.endswith(".py"))


def test_gitignore_is_read_from_the_top_of_the_repository_down_to_the_folder(tmp_path: Path) -> None:
    tree(tmp_path, "a/b/x.py", "a/b/y.py", "a/x.py", "a/z.py", "z.py")
    (tmp_path / ".gitignore").write_text("x.py\n/z.py\n")
    (tmp_path / "a" / ".gitignore").write_text("!b/x.py\n")
    assert names(tmp_path, "a") == ["a/b/x.py", "a/b/y.py", "a/x.py", "a/z.py"]
    (tmp_path / ".git").mkdir()
    assert names(tmp_path, "a") == ["a/b/x.py", "a/b/y.py", "a/z.py"]
    assert names(tmp_path, "a/b") == ["a/b/x.py", "a/b/y.py"]
    assert names(tmp_path) == ["a/b/x.py", "a/b/y.py", "a/z.py"]


def test_outside_a_repository_the_folders_above_say_nothing(tmp_path: Path) -> None:
    tree(tmp_path, "a/x.py")
    (tmp_path / ".gitignore").write_text("*\n")
    assert names(tmp_path, "a") == ["a/x.py"]
    (tmp_path / ".git").mkdir()
    assert names(tmp_path, "a") == []


def test_a_repository_inside_another_starts_anew(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "inner/a.py", "inner/b.py")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert names(tmp_path) == ["inner/b.py"]
    (tmp_path / "inner" / ".git").write_text("gitdir: elsewhere\n")
    assert names(tmp_path) == names(tmp_path, "", "inner") == ["inner/a.py", "inner/b.py"]


def test_a_gitignore_that_is_no_file_of_a_sane_size_is_not_read(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b/c.py")
    (tmp_path / ".gitignore").write_bytes(b"*.py\n" * 100_000)
    (tmp_path / "b" / ".gitignore").mkdir()
    assert names(tmp_path) == ["a.py", "b/c.py"]
    assert reasons(tmp_path) == {".gitignore": "it is larger than 256 kB"}


GLOBS = (
    "a", "b", "*", "**", "?", "x.py", "*.py", "[ab]", "[!a]", "[^b]", "src", "s*", "\\#h", "\\!n", "\\[q\\]", "a\\*",
    ".h", "a*b", "[a-b]*", "[[:alpha:]]", "a\\ b", "***", "**a", "[]a]", "[!]a]", "[\\]a]", "[a-]", "[z-a]", "[a",
    "[[:no:]]", "[[:al", "[!/]", "a[/]b", "[[:upper:]b]", "\\", "é", "?é", "*?*", "?*?", "A",
)  # fmt: skip
NAMES = ("a", "b", "ab", "src", "x.py", "y.py", "a b", "#h", "!n", "[q]", "a*", ".h", "A", "é", "aé", "]", "-")


@st.composite
def pattern(draw: Callable[[st.SearchStrategy[str]], str]) -> str:
    """A line of a ``.gitignore``; without ``a**/``, where git departs from its manual."""
    path = "/".join(draw(st.lists(st.sampled_from(GLOBS), min_size=1, max_size=3)))  # type: ignore[arg-type]
    start = draw(st.sampled_from(("", "", "", "!", "/", "!/", "#")))
    return start + path + draw(st.sampled_from(("", "", "", "/", "/", " ", "\\ ", "\t", "\r")))


LINES = st.lists(pattern(), min_size=1, max_size=6)
FOLDERS = st.dictionaries(st.sampled_from(("", "a", "a/b", "src", "src/ab", "!n")), LINES, min_size=1, max_size=4)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FOLDERS, st.sets(st.tuples(*[st.sampled_from(NAMES)] * 3), min_size=3, max_size=15))
def test_what_is_walked_is_what_git_does_not_ignore(
    tmp_path_factory: pytest.TempPathFactory, ignored: dict[str, list[str]], files: set[tuple[str, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    git(folder, "init", "-q")
    for parts in files:
        for depth in range(3):
            path = folder.joinpath(*parts[:depth], f"{parts[depth]}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_dir():
                path.touch()
    for place, lines in ignored.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / ".gitignore").write_text("\n".join(lines), newline="")
    assert names(folder) == kept_by_git(folder)


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=5), st.text(min_size=1))
def test_no_line_of_a_gitignore_makes_it_fail(lines: list[bytes], path: str) -> None:
    path = path.encode(errors="replace").decode()
    assert Ignored("/top", lines).has(f"/top/{path}") in {True, False}


def test_a_pattern_of_many_stars_is_matched_at_once(tmp_path: Path) -> None:
    tree(tmp_path, f"{'a' * 200}.py", "d/" * 50 + "b.py")
    (tmp_path / ".gitignore").write_text("*a" * 100 + "*b\n" + "**/*d/" * 40 + "c.py\n")
    assert len(names(tmp_path)) == 2


def test_nothing_is_imported_that_a_bare_interpreter_does_not_need(tmp_path: Path) -> None:
    tree(tmp_path, "a.py")
    (tmp_path / ".gitignore").write_text("*.pyc\n/b/**\n")
    source = Path(find.__code__.co_filename).parent
    code = (
        "import sys, types\n"
        "for name, folder in (('trainlint', sys.argv[2] + '/..'), ('trainlint.source', sys.argv[2])):\n"
        "    sys.modules[name] = types.ModuleType(name); sys.modules[name].__path__ = [folder]\n"
        "from trainlint.source.find import find\n"
        "assert len(find([sys.argv[1]]).files) == 1\n"
        "print(*sys.modules)"
    )
    words = [sys.executable, "-I", "-S", "-c", code, str(tmp_path), str(source)]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert "trainlint.source.ignored" in loaded
    assert not {"re", "ast", "dataclasses", "typing", "collections", "pathspec", "enum", "functools"} & set(loaded)


def test_a_template_is_skipped_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "{{cookiecutter.name}}"
    folder.mkdir()
    (folder / "train.py").write_text("import {{cookiecutter.name}}\n")
    (tmp_path / "train_{% if gpu %}gpu{% endif %}.py").write_text("x = 1\n")
    (tmp_path / "plain_{name}.py").write_text("x = 1\n")
    found = find([str(tmp_path)])
    assert [Path(each).name for each in found.files] == ["plain_{name}.py"]
    assert {each.reason for each in found.skipped} == {"a template, as the braces in its path say"}
    assert len(found.skipped) == 2
