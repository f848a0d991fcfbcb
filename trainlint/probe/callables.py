"""The user's own loss, imported and made ready to be called: ``pkg.module:name`` in, a callable out."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

from trainlint.span import Span


class NotCallable(Exception):
    """What was named is no loss that can be called; the message says why."""


def load(named: str, keywords: Mapping[str, object]) -> Callable[..., Any]:
    """The loss of this name, with these keywords given to it, or to its class if it is one.

    ``pkg.module:name`` and ``file.py:name`` name a function, a class or an object; ``name()`` is called first.

    Raises:
        NotCallable: there is no such module or name, or making the object failed.
    """
    where, colon, path = named.partition(":")
    if not (where and colon and path):
        raise NotCallable(f"{named}: expected pkg.module:callable or file.py:callable")
    thing: Any = _module(where)
    for word in path.removesuffix("()").split("."):
        try:
            thing = getattr(thing, word)
        except AttributeError:
            raise NotCallable(f"{named}: {_what(thing)} has no {word!r}") from None
    if path.endswith("()"):
        thing = _made(thing, {}, named)
    if isinstance(thing, type):
        return _callable(_made(thing, keywords, named), named)
    return partial(_callable(thing, named), **keywords) if keywords else _callable(thing, named)


def defined(loss: Callable[..., Any]) -> Span | None:
    """Where a loss is written, if Python knows."""
    inner: Any = loss
    while isinstance(inner, partial):
        inner = inner.func
    source = inner if inspect.isroutine(inner) or isinstance(inner, type) else type(inner)
    try:
        file, row = inspect.getsourcefile(inspect.unwrap(source)), inspect.getsourcelines(inspect.unwrap(source))[1]
    except (OSError, TypeError):
        return None
    return Span(os.path.abspath(file), max(row, 1)) if file else None


def _module(where: str) -> ModuleType:
    """Imported as a program in the working directory would import it.

    Raises:
        NotCallable: it is not there, or fails while it is imported.
    """
    sys.path.insert(0, os.path.dirname(os.path.abspath(where)) if where.endswith(".py") else os.getcwd())
    try:
        return _file(where) if where.endswith(".py") else import_module(where)
    except ModuleNotFoundError as error:
        if error.name and f"{where}.".startswith(f"{error.name}."):
            raise NotCallable(f"{where}: no such module, seen from {sys.path[0]}") from error
        raise NotCallable(f"{where}: importing it failed: {error}") from error
    except NotCallable:
        raise
    except (Exception, SystemExit) as error:
        raise NotCallable(f"{where}: importing it failed: {type(error).__name__}: {error}") from error


def _file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise NotCallable(f"{path}: no such file")
    name = os.path.basename(path).removesuffix(".py")
    spec = spec_from_file_location(name, os.path.abspath(path))
    assert spec is not None and spec.loader is not None, "the name of the file ends in .py"
    module = module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _made(thing: Any, keywords: Mapping[str, object], named: str) -> Any:
    try:
        return thing(**keywords)
    except Exception as error:
        hint = "; --set NAME=VALUE gives it an argument" if isinstance(error, TypeError) else ""
        raise NotCallable(f"{named}: making it failed: {type(error).__name__}: {error}{hint}") from error


def _callable(thing: Any, named: str) -> Callable[..., Any]:
    if not callable(thing):
        raise NotCallable(f"{named}: {_what(thing)} cannot be called")
    loss: Callable[..., Any] = thing
    return loss


def _what(thing: Any) -> str:
    return f"module {thing.__name__}" if isinstance(thing, ModuleType) else f"{type(thing).__name__} object"
