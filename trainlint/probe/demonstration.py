"""Runs one of the small programs of ``demo``: a name in, what its arms measured out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any

import torch


@dataclass(frozen=True)
class Demonstration:
    """The numbers of each arm, the wrong one first, and which of them are the loss and the capability that differs."""

    title: str
    loss: str
    capability: str
    arms: Mapping[str, Mapping[str, float]]
    seconds: float
    torch: str


def watch(name: str) -> Demonstration:
    """Train all arms, one after the other, with one thread: alike on any number of cores."""
    program: Any = import_module(f"trainlint.probe.demo.{name}")
    threads, start = torch.get_num_threads(), perf_counter()
    torch.set_num_threads(1)
    try:
        arms = {arm: program.train(arm) for arm in program.ARMS}
    finally:
        torch.set_num_threads(threads)
    title = program.__doc__.partition("\n")[0]
    return Demonstration(title, program.LOSS, program.CAPABILITY, arms, perf_counter() - start, str(torch.__version__))
