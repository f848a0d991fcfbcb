"""Frozen dataclasses whose methods are shared by all of them: a class in, the same class out.

What ``dataclass`` writes for each class is compiled at each start, which takes a third of a short run. Here only the
fields are its work. A record is what ``@dataclass(frozen=True)`` makes, to ``replace``, ``fields`` and ``match`` too;
the few classes of which millions are made or compared stay with ``dataclass``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**what: object) -> object:
        """Nothing: type checkers alone need it."""
        return lambda make: make


T = TypeVar("T")


class Shape:
    """The fields of a record: what they are called, what they hold where nobody says it, and which of them count."""

    __slots__ = ("compared", "defaults", "factories", "names", "positional")

    def __init__(self, every: tuple[Field[Any], ...]) -> None:
        self.names = dict.fromkeys(each.name for each in every).keys()
        self.positional = tuple(each.name for each in every if not each.kw_only)
        self.defaults = {each.name: each.default for each in every if each.default is not MISSING}
        self.factories = {each.name: each.default_factory for each in every if each.default_factory is not MISSING}
        compared = [each.name for each in every if each.compare]
        self.compared: Callable[[object], object] = attrgetter(*compared) if compared else _nothing


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Make a frozen dataclass of a class."""
    made: Any = dataclass(init=False, repr=False, eq=False)(kind)
    made.__shape__ = Shape(fields(made))
    for name, method in METHODS.items():
        if name not in kind.__dict__:
            setattr(made, name, method)
    return kind


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def thing(kind: type[T]) -> type[T]:
    """Make a dataclass of a class whose objects are equal to themselves alone.

    They are made by the million, which is three times as quick where only a type checker sees that they are frozen.
    """
    made = dataclass(eq=False, repr=False)(kind)
    made.__repr__ = _repr  # type: ignore[method-assign]
    return made


def _init(self: Any, *values: object, **named: object) -> None:
    shape: Shape = self.__shape__
    held = dict(zip(shape.positional, values))  # noqa: B905
    if len(held) < len(values) or not named.keys().isdisjoint(held):
        raise TypeError(f"{type(self).__name__}: more values than fields")
    held.update(named)
    if held.keys() != shape.names:
        _complete(type(self).__name__, shape, held)
    self.__dict__.update(held)


def _complete(kind: str, shape: Shape, held: dict[str, object]) -> None:
    """Add what nobody said.

    Raises:
        TypeError: a name is none of the fields, or a field without a default is not named.
    """
    for name in held.keys() - shape.names:
        raise TypeError(f"{kind} has no field {name!r}")
    for name in shape.names:
        if name not in held:
            if name in shape.factories:
                held[name] = shape.factories[name]()
            elif name in shape.defaults:
                held[name] = shape.defaults[name]
            else:
                raise TypeError(f"{kind} needs {name!r}")


def _repr(self: Any) -> str:
    values = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = self.__shape__.compared
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self.__shape__.compared(self))


def _set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _nothing(record: object) -> tuple[()]:
    return ()


METHODS: dict[str, Callable[..., object]] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _set,
    "__delattr__": _delete,
}
