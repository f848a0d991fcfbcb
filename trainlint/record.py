"""Dataclasses whose methods are made when they are first asked for: a class in, the same class out.

What ``dataclasses`` writes for each class is compiled at each start, which takes a third of a short run. Here nothing
is done for a class that no object is made of. What is made is what ``dataclasses`` makes, to its ``replace``,
``fields`` and ``asdict`` and to ``match`` too; those here are the same, and load nothing.

``record`` is a frozen dataclass of which few objects are made: its methods are shared with all others, and nothing is
written at all. ``thing`` is one whose objects are equal to themselves alone.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar


class Missing:
    """Nothing was said: no default."""


TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field, fields, is_dataclass, replace

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**what: object) -> object:
        """Nothing: type checkers alone need it."""
        return lambda make: make

    def field(*, default=Missing, default_factory=Missing, **said):
        """What ``dataclasses.field`` is."""
        return Field(default, default_factory, said)


__all__ = ["dataclass", "field", "fields", "is_dataclass", "record", "replace", "thing"]

T = TypeVar("T")


class Field:
    """What a class says of one of its fields: its default or what makes one, whether it counts, and how it is given."""

    __slots__ = ("compare", "default", "default_factory", "init", "kw_only", "name")

    def __init__(self, default: object, default_factory: object, said: dict[str, bool]) -> None:
        self.name, self.default, self.default_factory = "", default, default_factory
        self.init, self.compare = said.get("init", True), said.get("compare", True)
        self.kw_only = said.get("kw_only", False)


class Shape:
    """The fields of a class: what they are called, what they hold where nobody says it, and which of them count."""

    __slots__ = ("compared", "defaults", "every", "factories", "names", "positional")

    def __init__(self, kind: type) -> None:
        every = self.every = tuple(_fields(kind))
        given = [each for each in every if each.init]
        self.names = dict.fromkeys(each.name for each in given).keys()
        self.positional = tuple(each.name for each in given if not each.kw_only)
        self.defaults = {each.name: each.default for each in every if each.default is not Missing}
        self.factories: dict[str, Any] = {
            each.name: each.default_factory for each in every if each.default_factory is not Missing
        }
        compared = [each.name for each in every if each.compare]
        self.compared: Callable[[object], object] = attrgetter(*compared) if compared else _nothing


class Late:
    """An attribute of a class that is made when it is first asked for."""

    __slots__ = ("make", "name", "owner")

    def __init__(self, owner: type, name: str, make: Callable[[type], object]) -> None:
        self.owner, self.name, self.make = owner, name, make

    def __get__(self, thing: object, kind: type) -> object:
        value = self.make(self.owner)
        setattr(self.owner, self.name, value)
        return value


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Make a frozen dataclass of a class."""
    _shaped(kind)
    for name, method in (SHARED | FROZEN).items():
        if name not in kind.__dict__:
            setattr(kind, name, method)
    return kind


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def thing(kind: type[T]) -> type[T]:
    """Make a dataclass of a class whose objects are equal to themselves alone.

    They are made by the million, which is three times as quick where only a type checker sees that they are frozen.
    """
    return _written(kind, eq=False)  # type: ignore[no-any-return]


if not TYPE_CHECKING:

    def dataclass(kind=None, /, **said):
        """What ``dataclasses.dataclass`` is, with ``frozen``, ``eq`` and ``order``."""
        return _written(kind, **said) if kind else lambda kind: _written(kind, **said)

    def is_dataclass(thing):
        """What ``dataclasses.is_dataclass`` is."""
        return hasattr(thing, "__shape__") or hasattr(thing, "__dataclass_fields__")

    def fields(thing):
        """What ``dataclasses.fields`` is; of ours, they have names, defaults and whether they count."""
        if hasattr(thing, "__shape__"):
            return thing.__shape__.every
        import dataclasses

        return dataclasses.fields(thing)

    def replace(thing, /, **changes):
        """What ``dataclasses.replace`` is."""
        kind = type(thing)
        if not hasattr(kind, "__shape__"):
            import dataclasses

            return dataclasses.replace(thing, **changes)
        held = thing.__dict__
        return kind(**{name: held[name] for name in kind.__shape__.names if name not in changes}, **changes)


def _shaped(kind: Any) -> None:
    """Let a class know its fields once somebody asks, and those who ask for them in the way of ``dataclasses``."""
    kind.__shape__ = Late(kind, "__shape__", Shape)
    if "__match_args__" not in kind.__dict__:
        kind.__match_args__ = Late(kind, "__match_args__", lambda owner: owner.__shape__.positional)  # type: ignore[misc, attr-defined]
    kind.__dataclass_fields__ = Late(kind, "__dataclass_fields__", _as_known_elsewhere)


def _written(kind: Any, *, frozen: bool = False, eq: bool = True, order: bool = False) -> Any:
    """Make a dataclass of a class, its methods written when the first of its objects is made or compared."""
    _shaped(kind)
    kind.__init__ = FIRST_INIT
    more: dict[str, object] = {"__repr__": _repr}
    if eq:
        more |= {"__eq__": FIRST_EQ, **({"__hash__": FIRST_HASH} if frozen else {})}
    if order:
        more |= {"__lt__": _less}
    for name, method in (more | (FROZEN if frozen else {})).items():
        if name not in kind.__dict__ or (name == "__hash__" and kind.__dict__[name] is None):
            setattr(kind, name, method)
    if eq and not frozen and "__hash__" not in kind.__dict__:
        kind.__hash__ = None
    return kind


def _fields(kind: type) -> list[Field]:
    """The fields of a class, those of the classes that it is made from first."""
    found: dict[str, Field] = {}
    for base in reversed(kind.__mro__[1:]):
        if "__shape__" in base.__dict__:
            found |= {each.name: each for each in base.__shape__.every}  # type: ignore[attr-defined]
    for name, annotation in kind.__annotations__.items():
        if not str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            said = kind.__dict__.get(name, Missing)
            each = found[name] = said if isinstance(said, Field) else _field(said)
            each.name = name
    return list(found.values())


def _field(said: Any) -> Field:
    """A field by its default, or by what ``dataclasses.field`` makes."""
    if (type(said).__module__, type(said).__name__) != ("dataclasses", "Field"):
        return Field(said, Missing, {})
    from dataclasses import MISSING

    default, factory = (Missing if each is MISSING else each for each in (said.default, said.default_factory))
    return Field(default, factory, {"init": said.init, "compare": said.compare, "kw_only": said.kw_only is True})


def _init_of(kind: Any) -> Callable[..., None]:
    """A method that takes the fields of a class, as ``dataclasses`` would write it."""
    shape: Shape = kind.__shape__
    known: dict[str, object] = {"_missing": Missing, "_set": object.__setattr__}
    words, lines = [], []
    for each in sorted(shape.every, key=lambda each: each.kw_only):
        name, value = each.name, each.name
        if each.kw_only and "*" not in words:
            words.append("*")
        if name in shape.factories:
            known[f"_make_{name}"] = shape.factories[name]
            value = f"_make_{name}() if {name} is _missing else {name}" if each.init else f"_make_{name}()"
        elif name in shape.defaults:
            known[f"_default_{name}"] = shape.defaults[name]
            value = name if each.init else f"_default_{name}"
        default = "=_missing" if name in shape.factories else f"=_default_{name}" if name in shape.defaults else ""
        words += [name + default] if each.init else []
        is_frozen = kind.__setattr__ is not object.__setattr__
        lines.append(f"_set(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    source = f"def __init__(self, {', '.join(words)}):\n " + "\n ".join(lines or ["pass"])
    exec(source, known)
    made: Any = known["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def _eq_of(kind: Any) -> Callable[[object, object], bool]:
    """A method that compares the fields of a class."""
    lines = f" if other.__class__ is self.__class__:\n  return {_values(kind, 'self')} == {_values(kind, 'other')}\n"
    return _made(f"def __eq__(self, other):\n{lines} return NotImplemented")


def _hash_of(kind: Any) -> Callable[[object], int]:
    """A method that hashes the fields of a class."""
    return _made(f"def __hash__(self):\n return hash({_values(kind, 'self')})")


def _values(kind: Any, of: str) -> str:
    """The fields of an object that count, spelled."""
    return f"({''.join(f'{of}.{each.name}, ' for each in kind.__shape__.every if each.compare)})"


def _made(source: str) -> Callable[..., Any]:
    known: dict[str, Callable[..., Any]] = {}
    exec(source, known)
    return known.popitem()[1]


def _first(name: str, make: Callable[[Any], Callable[..., object]]) -> Callable[..., object]:
    """A method that puts the real one in its own place when it is first called."""

    def method(self: Any, *values: object, **named: object) -> object:
        owner = next(each for each in type(self).__mro__ if each.__dict__.get(name) is method)
        setattr(owner, name, make(owner))
        return owner.__dict__[name](self, *values, **named)

    return method


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
    values = (f"{each.name}={getattr(self, each.name)!r}" for each in self.__shape__.every)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = self.__shape__.compared
    return compared(self) == compared(other)


def _less(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared: Callable[[object], Any] = self.__shape__.compared
    return compared(self) < compared(other)


def _hash(self: Any) -> int:
    return hash(self.__shape__.compared(self))


def _set(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _nothing(record: object) -> tuple[()]:
    return ()


def _as_known_elsewhere(kind: Any) -> object:
    """The fields of a class for ``dataclasses``."""
    import dataclasses

    def said(each: Field) -> Any:
        default = {} if each.default is Missing else {"default": each.default}
        factory = {} if each.default_factory is Missing else {"default_factory": each.default_factory}
        how = {"init": each.init, "compare": each.compare, "kw_only": each.kw_only}
        return dataclasses.field(**default, **factory, **how)  # type: ignore[call-overload]

    spelled = [(each.name, object, said(each)) for each in kind.__shape__.every]
    return dataclasses.make_dataclass(kind.__name__, spelled).__dataclass_fields__  # type: ignore[attr-defined]


SHARED: dict[str, Callable[..., object]] = {"__init__": _init, "__repr__": _repr, "__eq__": _eq, "__hash__": _hash}
FIRST_INIT, FIRST_EQ, FIRST_HASH = _first("__init__", _init_of), _first("__eq__", _eq_of), _first("__hash__", _hash_of)
FROZEN: dict[str, Callable[..., object]] = {"__setattr__": _set, "__delattr__": _delete}
