"""A rule's page is its documentation and its first test."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from trainlint.check import Request, check
from trainlint.config import Layer
from trainlint.facts.runs import ONLY_RUNS
from trainlint.rule import Rule, installed

RULES = list(installed().values())
EXAMPLE = r"^{heading}:\n\n((?: {{4}}.*\n?|\n)+)"
EXAMPLES = [rule for rule in RULES if re.search(EXAMPLE.format(heading="Bad"), rule.page, re.MULTILINE)]

WATCHED = [rule for rule in EXAMPLES if rule.wants in ONLY_RUNS]
READ = [rule for rule in EXAMPLES if rule.wants not in ONLY_RUNS]


def example(rule: Rule, heading: str) -> str:
    body = re.search(EXAMPLE.format(heading=heading), rule.page, re.MULTILINE)
    assert body, f"the page of {rule.code} has no example under {heading}:"
    return textwrap.dedent(body[1])


def codes(text: str, folder: Path, rule: Rule) -> set[str]:
    """The codes found in a project that is this one text; the rule runs, even if it is off."""
    folder.mkdir()
    file = folder / "train.py"
    file.write_text(text)
    layer = Layer("the test", str(folder), {"extend-select": [rule.code]})
    return {finding.code for finding in check(Request((str(file),), str(folder), (layer,), isolated=True)).findings}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_page_starts_with_its_code_and_one_sentence(rule: Rule) -> None:
    first, _, rest = rule.page.partition("\n")
    assert re.fullmatch(rf"{rule.code}: \S.{{10,110}}\.", first)
    assert rest.startswith("\n")
    assert ". " not in rule.summary


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_rule_module_and_function_share_one_name(rule: Rule) -> None:
    assert rule.name.replace("-", "_") == rule.check.__name__ == rule.check.__module__.rpartition(".")[2]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
def test_page_shows_a_bad_and_a_good_example(rule: Rule) -> None:
    if rule.code.startswith("TL9"):
        pytest.skip("a fault of the tool has no example in Python")
    assert example(rule, "Bad")
    assert example(rule, "Good")


@pytest.mark.parametrize("rule", READ, ids=lambda rule: str(rule.code))
def test_bad_example_fires_exactly_its_code(rule: Rule, tmp_path: Path) -> None:
    assert codes(example(rule, "Bad"), tmp_path / "bad", rule) == {rule.code}


@pytest.mark.parametrize("rule", READ, ids=lambda rule: str(rule.code))
def test_good_example_is_silent(rule: Rule, tmp_path: Path) -> None:
    assert codes(example(rule, "Good"), tmp_path / "good", rule) == set()


def test_examples_of_what_only_a_run_shows_are_told_apart_by_running_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    files = {}
    for rule in WATCHED:
        for heading, codes in (("Bad", {rule.code}), ("Good", set())):
            file = tmp_path / f"{rule.code}_{heading}.py"
            file.write_text(example(rule, heading))
            files[str(file)] = codes
    oracle = Path(__file__).with_name("probe_oracle.py")
    run = subprocess.run([sys.executable, str(oracle), *files], capture_output=True, text=True, timeout=120, check=True)
    told = json.loads(run.stdout)
    assert {file: {code for code, *_ in told[file]["findings"]} for file in files} == files
