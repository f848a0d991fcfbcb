from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from trainlint import config
from trainlint.__main__ import main
from trainlint.cli.options import CHECK, COMMANDS, GROUPS, group, parse
from trainlint.config import KEYS
from trainlint.rule import installed

TOP = Path(__file__).parent.parent
README = (TOP / "README.md").read_text()
MANUAL = (TOP / "docs" / "command-line.md").read_text()


def test_the_readme_lists_every_rule_and_no_other() -> None:
    rows = re.findall(r"^\| (TL\d+) \| ([a-z-]+) \|", README, re.MULTILINE)
    assert rows == [(rule.code, rule.name) for rule in installed().values()]


def test_the_manual_names_every_option_and_setting() -> None:
    for command in COMMANDS.values():
        for option in command.options:
            assert f"--{option.name}" in MANUAL
    for key in KEYS:
        assert f"`{key}`" in MANUAL


def test_the_pages_name_every_option_of_the_commands_of_a_group() -> None:
    pages = "".join(page.read_text() for page in (TOP / "docs").glob("*.md"))
    for name in GROUPS:
        for command in group(name).values():
            assert f"trainlint {name} {command.name}" in MANUAL
            for option in command.options:
                assert any(flag in pages for flag in option.flags)


def test_the_settings_in_the_readme_are_settings() -> None:
    block = README.partition("```toml\n")[2].partition("```")[0]
    text = block.partition("[tool.trainlint]\n")[2]
    assert config.settings([config.from_text(text, "/project")]).fail_on == "error"


def hooks() -> dict[str, dict[str, str]]:
    """The manifest's entries by id; it is simple enough to be read without a parser for YAML."""
    entries = (TOP / ".pre-commit-hooks.yaml").read_text().split("- id: ")[1:]
    fields = {entry.splitlines()[0]: re.findall(r"^  (\w+): (.*)$", entry, re.MULTILINE) for entry in entries}
    return {name: dict(pairs) for name, pairs in fields.items()}


def test_the_hooks_call_commands_that_exist() -> None:
    manifest = hooks()
    assert list(manifest) == ["trainlint", "trainlint-project"]
    for hook in manifest.values():
        tool, command, *words = hook["entry"].split()
        assert (tool, command, hook["language"]) == ("trainlint", "check", "python")
        assert parse(words, CHECK.options) is not None
        assert hook["require_serial"] == "true"
    assert manifest["trainlint-project"]["pass_filenames"] == "false"


def test_both_names_of_the_manifest_are_one_file() -> None:
    assert (TOP / "pre-commit-hooks.yaml").resolve() == (TOP / ".pre-commit-hooks.yaml").resolve()


@pytest.mark.parametrize("package", ["trainlint", "trainlint_rules"])
def test_the_packages_are_typed(package: str) -> None:
    module = __import__(package)
    assert (Path(module.__file__ or "").parent / "py.typed").is_file()


def test_the_command_and_the_module_are_the_same() -> None:
    (command,) = entry_points(group="console_scripts", name="trainlint")
    assert command.load() is main
