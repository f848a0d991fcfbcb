"""The committed results: whole, small, and judged by predictions that have not been touched since."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from studies.__main__ import NAMES

FOLDER = Path(__file__).parent.parent / "docs" / "studies"
PAGE = (FOLDER / "README.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_result_was_judged_by_the_predictions_that_the_study_has_today(name: str) -> None:
    judged = [
        (one["name"], one["tier"], one["says"])
        for one in json.loads((FOLDER / f"{name}.json").read_text())["predictions"]
    ]
    predictions = import_module(f"studies.{name}").STUDY.predictions
    assert judged == [(one.name, one.tier.value, one.says) for one in predictions]


@pytest.mark.parametrize("name", NAMES)
def test_every_failed_prediction_is_spoken_of(name: str) -> None:
    predictions = json.loads((FOLDER / f"{name}.json").read_text())["predictions"]
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert section
    for one in predictions:
        assert one["outcome"] != "failed" or f"`{one['name']}`" in section


@pytest.mark.parametrize("name", NAMES)
def test_a_result_has_a_page_and_a_small_picture(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text().startswith(f"# {name}\n")
    assert (FOLDER / f"{name}.png").stat().st_size < 60_000
