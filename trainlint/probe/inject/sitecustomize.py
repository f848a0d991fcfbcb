"""Loaded by Python itself in every process of a probed run: waits for torch and starts the watch once it is there.

Then does what the ``sitecustomize`` does that stands behind this one on the path, if there is one.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


class Loader(importlib.abc.Loader):
    """Loads torch as it would have been loaded, and then starts the watch."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


class Finder(importlib.abc.MetaPathFinder):
    """Finds nothing but torch, and that through the others."""

    def __init__(self) -> None:
        self.is_asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch" or self.is_asking:
            return None
        self.is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.is_asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader)
        return spec


def start() -> None:
    try:
        from trainlint.probe.start import from_environment

        from_environment(os.environ)
    except Exception as error:
        print(f"trainlint: the probe could not start: {type(error).__name__}: {error}", file=sys.stderr)


def chain() -> None:
    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("TRAINLINT_PROBE"):
    sys.meta_path.insert(0, Finder())
chain()
