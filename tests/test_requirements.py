"""What projects say about the versions of a package, in each kind of file."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainlint.source.requirements import Declared, declared
from trainlint.source.text import read
from trainlint.source.workspace import Workspace

FILES = {
    "requirements.txt": "torch>=2\n# transformers==3.0\nTransformers[torch]>=4.40,<5  # pinned\n",
    "pyproject.toml": '[project]\ndependencies = [\n    "torch",\n    "transformers>=4.40,<5",\n]\n',
    "Pipfile": '[packages]\ntransformers = ">=4.40,<5"\n',
    "setup.cfg": "[options]\ninstall_requires =\n    torch\n    transformers>=4.40,<5\n",
    "setup.py": 'from setuptools import setup\n\nsetup(install_requires=["torch", "transformers>=4.40,<5"])\n',
    "environment.yml": "dependencies:\n  - python=3.11\n  - transformers>=4.40,<5\n",
}
LOCKS = {
    "uv.lock": '[[package]]\nname = "trl"\nversion = "0.9.1"\ndependencies = [\n    { name = "transformers" },\n]\n\n'
    '[[package]]\nname = "transformers"\nversion = "4.57.1"\n',
    "poetry.lock": '[[package]]\nname = "transformers"\nversion = "4.57.1"\ndescription = ""\n',
    "pdm.lock": '[[package]]\nname = "transformers"\nversion = "4.57.1"\n',
    "pylock.toml": '[[packages]]\nname = "transformers"\nversion = "4.57.1"\n',
    "Pipfile.lock": '{"default": {"transformers": {"hashes": [], "version": "==4.57.1"}}}',
}


def asked(folder: Path, package: str = "transformers", inside: str = "train.py") -> Declared | None:
    return declared(Workspace(str(folder), (), (), {}, read), package, str(folder / inside))


@pytest.mark.parametrize("name", FILES)
def test_a_range_is_read_from_each_kind_of_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    found = asked(tmp_path)
    assert found is not None
    assert (found.lowest, found.below) == ((4, 40), (5,))
    assert not found.may_be((5,))
    line = FILES[name].splitlines()[found.step.where.row - 1]
    assert "ransformers" in line and not line.startswith("#")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_says_what_is_installed_whatever_is_asked_for(name: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers\n")
    (tmp_path / name).write_text(LOCKS[name])
    found = asked(tmp_path)
    assert found is not None and found.lowest == (4, 57, 1)
    assert not found.may_be((5,))
    assert found.step.where.path.endswith(name)


@pytest.mark.parametrize(
    ("line", "may", "must"),
    [
        ("transformers", True, False),
        ("transformers>=4.30", True, False),
        ("transformers>=5.0", True, True),
        ("transformers==5.1.0", True, True),
        ("transformers==4.57.*", False, False),
        ("transformers~=4.57", False, False),
        ("transformers<=4.57.1", False, False),
    ],
)
def test_what_a_range_allows(line: str, may: bool, must: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"{line}\n")
    found = asked(tmp_path)
    assert found is not None
    assert (found.may_be((5,)), found.must_be((5,))) == (may, must)


def test_poetry_writes_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.poetry.dependencies]\ntransformers = {version = "^4.40", extras = ["torch"]}\n'
    )
    found = asked(tmp_path)
    assert found is not None and (found.lowest, found.below) == ((4, 40), (5,))


def test_another_package_whose_name_begins_the_same_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers-interpret==0.10\nsentence-transformers>=3\n")
    assert asked(tmp_path) is None


def test_the_nearest_folder_counts_and_files_that_are_included_are_read(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers<5\n")
    inner = tmp_path / "examples" / "tuning"
    inner.mkdir(parents=True)
    (inner / "requirements.txt").write_text("-r ../base.txt\n")
    (tmp_path / "examples" / "base.txt").write_text("transformers>=5\n")
    found = asked(tmp_path, inside="examples/tuning/train.py")
    assert found is not None and found.must_be((5,))
    outer = asked(tmp_path)
    assert outer is not None and not outer.may_be((5,))


def test_an_empty_answer_is_noted_so_that_a_new_file_is_seen(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), (), (), {}, read)
    assert declared(workspace, "transformers", str(tmp_path / "train.py")) is None
    rests = workspace.journal.between(0, len(workspace.journal))
    assert str(tmp_path / "uv.lock") in rests.files
