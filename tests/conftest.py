"""What pytest must leave alone, and what no test may touch: the cache of whoever runs it."""

from __future__ import annotations

from itertools import count

import pytest

collect_ignore = ["torch_oracle.py", "small_torch.py"]
"""Scripts for a process of their own: one imports torch, one takes its place."""

TURNS = count()


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for the caches of all tests."""
    return str(tmp_path_factory.mktemp("caches"))


@pytest.fixture(autouse=True)
def _own_cache(caches: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a cache of its own, made when something is kept in it."""
    folder = f"{caches}/{next(TURNS)}"
    monkeypatch.setenv("XDG_CACHE_HOME", folder)
