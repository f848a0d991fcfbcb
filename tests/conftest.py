"""What pytest leaves alone, what no test may touch (the cache of whoever runs it), and what is done once for all."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Any

import pytest

collect_ignore = ["torch_oracle.py", "small_torch.py"]
"""Scripts for a process of their own: one imports torch, one takes its place."""

TURNS = count()


def pytest_configure() -> None:
    """The processes that tests start are those of a user: their modules are compiled once."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the collector of garbage need not look through them again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _entry_points_once() -> Iterator[None]:
    """What is installed is looked up once for each import path: that takes as long as judging a small project."""
    look_up = importlib.metadata.entry_points

    @cache
    def found(path: tuple[str, ...], **wanted: str) -> Any:
        return look_up(**wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "entry_points", lambda **wanted: found(tuple(sys.path), **wanted))
        yield


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for the caches of all tests."""
    return str(tmp_path_factory.mktemp("caches"))


@pytest.fixture(autouse=True)
def _own_cache(caches: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a cache of its own, made when something is kept in it."""
    folder = f"{caches}/{next(TURNS)}"
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
