"""Pages that show commands and what they print: each command is run, and the page must show what it prints."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_door import shown

TOP = Path(__file__).parent.parent
PAGES = ("baseline.md", "suppressions.md")


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Each command of a page that stands behind a dollar, and the lines below it."""
    for block in re.findall(r"^```(?:\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for told in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = told.partition("\n")
            yield command, output


def printed(folder: Path, command: str) -> str:
    if command.split()[0] != "trainlint":
        shell = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=True)
        return shell.stdout
    return shown(folder, *shlex.split(command)[1:])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(TOP / "examples" / "codec_lm", tmp_path / "codec_lm"))
    told = list(blocks((TOP / "docs" / name).read_text()))
    assert told
    for command, output in told:
        assert printed(folder, command) == output, command
