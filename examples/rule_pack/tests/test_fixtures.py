"""Every fixture is a test: its comments say what linting it must report."""

from pathlib import Path

import pytest

from trainlint.testing import expected, findings, reported

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDERS = sorted(FIXTURES.glob("*/*/"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_fixture_gets_the_findings_it_expects_and_no_more(folder: Path) -> None:
    assert reported(folder, findings(folder)) == expected(folder)


def test_a_bad_fixture_expects_something_and_a_good_one_nothing() -> None:
    assert FOLDERS
    for folder in FOLDERS:
        assert bool(expected(folder)) == folder.name.startswith("bad_")
