"""The run comes first: whatever fails in the probe is noted, and the run goes on."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import ParamSpec

import torch
from torch.utils._python_dispatch import _disable_current_modes

P = ParamSpec("P")

MOST = 20
"""Faults that one record names."""

_faults: dict[str, int] = {}
_times = itertools.count()


def guarded(doing: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Run it unseen by autograd and by whatever else watches the run, and let nothing out of it."""

    def wrap(function: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                with unseen():
                    function(*args, **kwargs)
            except Exception as error:  # Whatever it is, it is the probe's fault and must not become the run's.
                note(f"{doing}: {type(error).__name__}: {error}")

        return call

    return wrap


def note(fault: str) -> None:
    """Remember that something failed."""
    _faults[fault.partition("\n")[0]] = next(_times)


def now() -> int:
    """A moment, as ``noted`` understands it."""
    return next(_times)


def noted(since: int) -> tuple[str, ...]:
    """What has failed since then, each once."""
    return tuple(fault for fault, time in _faults.items() if time > since)[:MOST]


def unseen() -> contextlib.AbstractContextManager[object]:
    """Compute outside of the run: no gradient, no tensor of inference, no mode of somebody else's.

    The last two are rare, and to leave them always would cost more than counting what a small loss is given.
    """
    if torch.is_inference_mode_enabled() or torch._C._len_torch_dispatch_stack():
        return _far_away()
    return torch.no_grad()


@contextlib.contextmanager
def _far_away() -> Iterator[None]:
    with torch.inference_mode(False), torch.no_grad(), _disable_current_modes():
        yield
