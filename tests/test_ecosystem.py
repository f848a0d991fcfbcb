"""Public repositories linted again: a manifest and a small repository in, results, comparisons and precision out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainlint.rule import installed

TOP = Path(__file__).parent.parent
SCRIPT = TOP / "benchmarks" / "ecosystem.py"

BUG = """\
import torch
from torch import nn

head = nn.Linear(4, 3)
loss = nn.CrossEntropyLoss()(head(torch.randn(2, 4)).softmax(-1), torch.tensor([0, 1]))
loss.backward()
"""

CURE = BUG.replace(".softmax(-1)", "")

BROKEN = {
    "cells": [{"cell_type": "markdown", "source": ["a\n", "b"]}, {"cell_type": "code", "source": ["x = 1\n", "y"]}]
}


def ecosystem(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], capture_output=True, text=True, timeout=120)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    return subprocess.run(
        ["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "c")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "someone" / "training"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder


def results(tmp_path: Path, repository: Path, at: str, *words: object) -> tuple[dict[str, Any], Path]:
    manifest, out = tmp_path / "ecosystem.toml", tmp_path / f"{at[:8]}.jsonl"
    manifest.write_text(f"[[repository]]\nurl = '{repository}'\ncommit = '{at}'\nset = 'first'\nabout = 'a test'\n")
    checkouts = tmp_path / f"checkouts-{at[:8]}"
    run = ecosystem("run", "--manifest", manifest, "--checkouts", checkouts, "--out", out, "--tree", TOP, *words)
    assert run.returncode == 0, run.stderr
    [told] = out.read_text().splitlines()
    assert run.stdout.startswith(f"someone/training: {json.loads(told)['status']}")
    return json.loads(told), out


def test_a_repository_is_fetched_at_its_commit_and_linted(tmp_path: Path, repository: Path) -> None:
    bad = commit(repository, train_py=BUG, notes_ipynb=json.dumps(BROKEN))
    commit(repository, train_py=CURE)
    result, _ = results(tmp_path, repository, bad)
    assert (result["status"], result["lines"], result["absent"]) == ("done", BUG.count("\n") + 2, 0)
    assert [(each["path"], each["row"], each["code"]) for each in result["findings"]] == [("train.py", 5, "TL110")]
    assert result["judged"]["losses"]["total"] == 1
    assert min(result["processor"], result["wall"], result["memory"]) > 0


def test_two_results_are_compared_in_one_table(tmp_path: Path, repository: Path) -> None:
    bad = commit(repository, train_py=BUG)
    _, base = results(tmp_path, repository, bad)
    _, change = results(tmp_path, repository, commit(repository, train_py=CURE))
    table = ecosystem("compare", base, change).stdout.splitlines()
    assert table[0].split()[:4] == ["repository", "new", "gone", "other"]
    assert table[1].split()[:4] == ["someone/training", "0", "1", "0"]
    assert table[-1].startswith("gone   someone/training/train.py:5: error TL110 ")
    back = ecosystem("compare", change, base).stdout.splitlines()
    assert back[-1].startswith("new    someone/training/train.py:5: error TL110 ")


def test_what_is_cut_off_or_not_at_hand_is_said(tmp_path: Path, repository: Path) -> None:
    at = commit(repository, train_py=BUG)
    endless = tmp_path / "python"
    endless.write_text(f'#!/bin/sh\ncase "$*" in *rule*) exec {sys.executable} "$@";; esac\nwhile :; do :; done\n')
    endless.chmod(0o755)
    slow, _ = results(tmp_path, repository, at, "--python", endless, "--limit", 1)
    assert (slow["status"], slow["findings"]) == ("cut off after 1 s", [])
    unknown = "0" * 40
    assert results(tmp_path, repository, unknown)[0]["status"].startswith("not at hand: git ")
    git(tmp_path / f"checkouts-{at[:8]}" / "someone+training", "checkout", "-q", "--orphan", "other")
    commit(tmp_path / f"checkouts-{at[:8]}" / "someone+training", train_py=CURE)
    assert f"not at {at[:12]}" in results(tmp_path, repository, at)[0]["status"]


def verdict(found: dict[str, Any], commit: str, word: str) -> str:
    return json.dumps({
        "repository": "someone/training", "commit": commit, "verdict": word, "why": "a softmax feeds the loss",
        **{key: found[key] for key in ("path", "cell", "row", "code", "severity")},
    }) + "\n"  # fmt: skip


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("true", "precision 1.00: 1 true, 0 debatable, 0 false in 1 public repositories (0.0 M lines)"),
        ("false", "precision 0.00: 0 true, 0 debatable, 1 false in 1 public repositories (0.0 M lines)"),
        ("debatable", "0 true, 1 debatable, 0 false in 1 public repositories (0.0 M lines)"),
        (None, "0 true, 0 debatable, 0 false, 1 not read in 1 public repositories (0.0 M lines)"),
    ],
)
def test_verdicts_make_a_page_and_a_sentence_for_each_rule(
    tmp_path: Path, repository: Path, word: str | None, said: str
) -> None:
    at = commit(repository, train_py=BUG)
    result, out = results(tmp_path, repository, at)
    audit, page, measured = tmp_path / "audit.jsonl", tmp_path / "precision.md", tmp_path / "measured.json"
    audit.write_text(verdict(result["findings"][0], at, word) if word else "")
    run = ecosystem("precision", out, "--audit", audit, "--page", page, "--measured", measured)
    assert run.returncode == 0, run.stderr
    told = json.loads(measured.read_text())
    assert told["TL110"]["text"] == said
    assert told["TL101"]["text"] == "no finding in 1 public repositories (0.0 M lines); proved on fixtures"
    assert "only a run shows it" in told["TL108"]["text"]
    assert f"| someone/training | {at[:12]} | {BUG.count(chr(10))} |" in page.read_text()
    assert ("TL110" in ecosystem("unread", out, "--audit", audit).stdout) == (word is None)


def test_a_verdict_on_what_is_gone_is_told(tmp_path: Path, repository: Path) -> None:
    result, _ = results(tmp_path, repository, commit(repository, train_py=BUG))
    _, after = results(tmp_path, repository, cured := commit(repository, train_py=CURE))
    audit = tmp_path / "audit.jsonl"
    audit.write_text(verdict(result["findings"][0], cured, "false"))
    assert ecosystem("unread", after, "--audit", audit).stdout == "gone: false someone/training/train.py:5: TL110\n"
    page = tmp_path / "precision.md"
    ecosystem("precision", after, "--audit", audit, "--page", page, "--measured", tmp_path / "measured.json")
    assert "- TL110 in someone/training, train.py: a softmax feeds the loss" in page.read_text()


def test_no_finding_is_judged_twice_or_in_other_words(tmp_path: Path, repository: Path) -> None:
    at = commit(repository, train_py=BUG)
    result, out = results(tmp_path, repository, at)
    audit = tmp_path / "audit.jsonl"
    for text, complaint in (
        (verdict(result["findings"][0], at, "true") * 2, "judged twice"),
        (verdict(result["findings"][0], at, "probably"), "probably is none of true, debatable, false"),
    ):
        audit.write_text(text)
        assert complaint in ecosystem("unread", out, "--audit", audit).stderr


def test_page_and_numbers_are_those_of_the_verdicts(tmp_path: Path) -> None:
    page, measured = tmp_path / "precision.md", tmp_path / "measured.json"
    assert ecosystem("precision", "--page", page, "--measured", measured).returncode == 0
    assert page.read_text() == (TOP / "docs" / "precision.md").read_text()
    told = (TOP / "rules" / "trainlint_rules" / "measured.json").read_text()
    assert measured.read_text() == told
    assert set(json.loads(told)) <= set(installed())
