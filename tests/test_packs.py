"""Installed rule packs are found as the standard library finds them."""

from __future__ import annotations

import os
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from trainlint.packs import GROUP, Pack, packs

POINTS = f"[console_scripts]\nrun = theirs:run\n\n[{GROUP}]\n# the rules\ntheirs = theirs.rules\n\n[other]\nx = y\n"


def install(site: Path, name: str, points: str) -> None:
    about = site / f"{name}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.partition('-')[0]}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(points)


def told(found: list[Pack]) -> list[tuple[str, str]]:
    return [(pack.name, pack.value) for pack in found]


def expected() -> list[tuple[str, str]]:
    return sorted((point.name, point.value) for point in entry_points(group=GROUP))


def test_what_is_installed_here_is_found() -> None:
    assert ("core", "trainlint_rules") in told(packs())
    assert told(packs()) == expected()


def test_a_pack_is_found_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "theirs-1", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert ("theirs", "theirs.rules") in told(packs())
    assert told(packs()) == expected()


def test_of_two_installations_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "new", "their_rules-2", POINTS.replace("theirs.rules", "theirs.new"))
    install(tmp_path / "old", "Their.Rules-1", POINTS)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path / "new"), str(tmp_path / "old")])
    assert told(packs()) == [("theirs", "theirs.new")] == expected()


def test_packs_in_an_archive_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("theirs-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
        file.writestr("theirs-1.dist-info/entry_points.txt", POINTS)
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert told(packs()) == [("theirs", "theirs.rules")]


def test_what_an_entry_names_is_loaded_down_to_an_attribute() -> None:
    assert Pack("x", "os:path.join [extra]").load() is os.path.join
    assert Pack("x", "json").load() is sys.modules["json"]
