"""The pages that show what trainlint says are what it says."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from docs import examples

TOP = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def no_continuous_integration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_the_examples_of_the_formats_are_what_is_written_today() -> None:
    assert examples.PAGE.read_text(encoding="utf-8") == examples.page(), "run: python docs/examples.py"


def test_the_picture_of_a_finding_is_what_is_shown_today() -> None:
    """Its text alone: how it is drawn depends on the version of rich."""
    assert words(examples.PICTURE.read_text(encoding="utf-8")) == words(examples.drawing())
    assert "docs/finding.svg" in (TOP / "README.md").read_text(encoding="utf-8")


def test_the_picture_asks_nobody_for_anything() -> None:
    addresses = set(re.findall(r"https?://[^\"' )]+", examples.PICTURE.read_text(encoding="utf-8")))
    assert all("www.w3.org" in each or "www.textualize.io" in each for each in addresses)


def words(picture: str) -> list[str]:
    """What a reader sees of an SVG."""
    return html.unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture))).split()


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in [TOP / "README.md", *(TOP / "docs").glob("*.md")]:
        text = re.sub(r"(`{3,}).*?\n\1", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s:]+)\)", text):
            name, _, heading = target.partition("#")
            there = page.parent / name if name else page
            assert there.exists(), f"{page.name}: {target}"
            if heading and there.suffix == ".md":
                assert heading in headings(there.read_text(encoding="utf-8")), f"{page.name}: {target}"


def headings(text: str) -> set[str]:
    """The anchors that GitHub makes of headings."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}
