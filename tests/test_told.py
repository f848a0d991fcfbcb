"""Pages that show commands and what they print: each command is run, and the page must show what it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_door import shown

TOP = Path(__file__).parent.parent
PAGES = ("baseline.md", "suppressions.md", "diff.md")

AUTHOR = {f"GIT_{who}_{what}": "somebody@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Each command of a page that stands behind a dollar, and the lines below it."""
    for block in re.findall(r"^```(?:\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for told in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = told.partition("\n")
            yield command, output


def shell(folder: Path, command: str) -> str:
    environment = {**os.environ, **AUTHOR}
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


def printed(folder: Path, command: str) -> str:
    if command.split()[0] != "trainlint":
        return shell(folder, command)
    return shown(folder, *shlex.split(command)[1:])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm"))
    if name == "diff.md":
        shell(folder, "sed -i 's/CODES + 1/CODES/' stage.py && git init -q && git add -A && git commit -qm 'Begin'")
        shell(folder, "sed -i 's/WIDTH, CODES)/WIDTH, CODES + 1)/' stage.py")
    told = list(blocks((TOP / "docs" / name).read_text()))
    assert told
    for command, output in told:
        assert printed(folder, command) == output, command
