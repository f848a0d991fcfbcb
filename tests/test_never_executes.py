"""Nothing of the linted code is ever executed, imported or unpickled, wherever a run starts."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SITE = """
import torch.nn as nn
import torch.nn.functional as F
from consts import CLASSES
STOP = CLASSES - 1
head = nn.Linear(4, CLASSES)


def step(x, y):
    return F.cross_entropy(head(x), y, ignore_index=STOP)
"""

BEFORE_US = (
    "runpy", "pkgutil", "types", "warnings", "contextlib", "collections", "functools", "operator", "keyword", "reprlib",
    "importlib",
)  # fmt: skip
"""What Python itself may import for ``python -m`` before the first line of ours runs."""

SHADOWS = (
    "__main__", "abc", "argparse", "ast", "astroid", "click", "codecs", "conf", "configparser", "conftest", "copy",
    "csv", "dataclasses", "dis", "email", "enum", "fnmatch", "gc", "glob", "hashlib", "inspect", "itertools", "json",
    "libcst", "linecache", "manage", "math", "noxfile", "numpy", "opcode", "pathlib", "pathspec", "random", "re",
    "readline", "rich", "setup", "shutil", "site", "sitecustomize", "sre_compile", "string", "struct", "tempfile",
    "textwrap", "token", "tokenize", "tomli", "tomllib", "traceback", "trainlint_rules", "typer", "typing", "yaml",
    "usercustomize", "weakref", "zipfile",
)  # fmt: skip


class Evil:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.trace,)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """The folder in which code that runs leaves a trace."""
    folder = tmp_path / "traces"
    folder.mkdir()
    return folder


@pytest.fixture
def linted(tmp_path: Path, traces: Path) -> Path:
    """A project in which every file leaves a trace when it runs, however it is made to run."""
    folder = tmp_path / "linted"
    (folder / "package").mkdir(parents=True)
    (folder / "rules" / "trainlint_rules").mkdir(parents=True)

    def leave(name: str) -> str:
        return f"open({str(traces / name)!r}, 'w').close()\n"

    for name in (*SHADOWS, "train"):
        (folder / f"{name}.py").write_text(leave(name) + SITE)
    (folder / "consts.py").write_text(f"{leave('consts')}CLASSES = 5\n")
    for name in ("package", "rules/trainlint_rules", "trainlint.d"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "__init__.py").write_text(leave(name.replace("/", "-")) + SITE)
    (folder / "odd.py").write_text(
        f"# coding: evil\nx = [{leave('comprehension').strip()} for _ in [1]]\nassert exec({leave('exec')!r})\n{SITE}"
    )
    (folder / "lazy.py").write_text(
        f"def __getattr__(name):\n    {leave('getattr')}\n"
        f"class M(type):\n    def __prepare__(*a):\n        {leave('prepare')}        return {{}}\n"
        f"class A(metaclass=M):\n    {leave('body')}    def __del__(self):\n        {leave('del')}"
        f"@(lambda f: {leave('decorator').strip()})\ndef f(n={leave('default').strip()}): pass\n{SITE}"
    )
    (folder / "evil.pth").write_text(f"import os; {leave('pth')}")
    (folder / "pyvenv.cfg").write_text("home = .\n")
    info = folder / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trainlint.rules]\nevil = package\n")
    for name in ("model.pkl", "model.pt", ".trainlint_cache", "state.bin"):
        (folder / name).write_bytes(pickle.dumps(Evil(str(traces / name))))
    (folder / "pyproject.toml").write_text("[tool.trainlint]\nsrc = ['.']\n")
    return folder


def environment() -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**clean, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def finish(folder: Path, *words: str) -> list[str]:
    """Run a command line in a folder; what it says of the losses there."""
    ended = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode in {0, 1}, ended.stderr
    report = json.loads(ended.stdout)
    return [finding["filename"] for finding in report["findings"] if finding["code"] == "TL101"]


def script(folder: Path) -> str:
    """The console script, as an installer writes it."""
    path = folder / "bin" / "trainlint"
    path.parent.mkdir()
    path.write_text("import sys\nfrom trainlint.__main__ import main\nsys.exit(main())\n")
    return str(path)


def test_the_project_leaves_traces_when_it_runs(linted: Path, traces: Path) -> None:
    for name in ("train.py", "lazy.py", "package/__init__.py"):
        subprocess.run([sys.executable, name], cwd=linted, capture_output=True, check=False, timeout=60)
    with pytest.raises((IndexError, FileExistsError, AttributeError)):
        [pickle.loads((linted / "model.pkl").read_bytes()) for _ in range(2)]
    left = {path.name for path in traces.iterdir()}
    assert {"train", "prepare", "body", "decorator", "default", "package", "model.pkl"} <= left


def test_the_command_executes_nothing(linted: Path, traces: Path, tmp_path: Path) -> None:
    found = finish(linted, sys.executable, script(tmp_path), ".", "--output-format", "json")
    assert {"train.py", "sitecustomize.py", "setup.py", "typing.py"} <= set(found)
    assert list(traces.iterdir()) == []


def test_the_module_executes_nothing_from_elsewhere(linted: Path, traces: Path, tmp_path: Path) -> None:
    found = finish(tmp_path, sys.executable, "-m", "trainlint", "linted", "--output-format", "json")
    assert "linted/train.py" in found
    assert list(traces.iterdir()) == []


def test_the_module_executes_nothing_in_the_folder_itself(linted: Path, traces: Path) -> None:
    found = finish(linted, sys.executable, "-m", "trainlint", ".", "--output-format", "json")
    assert {"train.py", "dataclasses.py", "typing.py"} <= set(found)
    assert list(traces.iterdir()) == []


@pytest.mark.parametrize("words", [["rule", "TL101", "--output-format", "json"], ["version"], ["--help"]])
def test_no_other_command_executes_anything(linted: Path, traces: Path, tmp_path: Path, words: list[str]) -> None:
    for start in ([sys.executable, "-m", "trainlint"], [sys.executable, script(tmp_path)]):
        ended = subprocess.run(
            [*start, *words], cwd=linted, env=environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert ended.returncode == 0, ended.stderr
    assert list(traces.iterdir()) == []


def test_a_module_called_trainlint_is_linted_and_not_run_by_the_command(
    linted: Path, traces: Path, tmp_path: Path
) -> None:
    for name in ("trainlint.py", *(f"{each}.py" for each in BEFORE_US)):
        shutil.copy(linted / "train.py", linted / name)
    found = finish(linted, sys.executable, script(tmp_path), ".", "--output-format", "json")
    assert {"trainlint.py", "runpy.py", "types.py"} <= set(found)
    assert list(traces.iterdir()) == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs python -P")
def test_safe_path_keeps_even_a_module_called_trainlint_from_running(linted: Path, traces: Path) -> None:
    for name in ("trainlint.py", *(f"{each}.py" for each in BEFORE_US)):
        shutil.copy(linted / "train.py", linted / name)
    found = finish(linted, sys.executable, "-P", "-m", "trainlint", ".", "--output-format", "json")
    assert {"trainlint.py", "runpy.py"} <= set(found)
    assert list(traces.iterdir()) == []
