"""YAML as data, by PyYAML's nodes, which know their lines. The only module that imports PyYAML, when first needed."""

from __future__ import annotations

import yaml
from yaml.constructor import SafeConstructor

from trainlint.record import dataclass, field
from trainlint.source.data.datum import (
    DEEPEST,
    MOST_VALUES,
    Broken,
    Datum,
    Foreign,
    Mapping,
    Place,
    Scalar,
    Sequence,
    placed,
    text_of,
)

PLAIN = "tag:yaml.org,2002:"
SCALARS = {f"{PLAIN}{kind}" for kind in ("str", "int", "float", "bool", "null")}
MERGE = f"{PLAIN}merge"
LARGEST = 1024 * 1024
"""Settings are small; PyYAML reads about a megabyte a second where it has no C library."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse(data: bytes) -> Datum:
    """The first document of a YAML file."""
    if len(data) > LARGEST:
        raise Broken("it is larger than 1 MB")
    loader = None
    try:
        loader = LOADER(text_of(data))
        node = loader.get_node() if loader.check_node() else None
        return _Reader().datum(node) if node is not None else Scalar(None, Place())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Broken(error.problem or "it is no YAML", mark.line + 1 if mark else 1) from None
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError):
        raise Broken("it is no YAML that can be read") from None
    finally:
        if loader is not None:
            loader.dispose()


@dataclass
class _Reader:
    """One document: the constructor of its scalars, what was read so far, and the containers around."""

    scalars: SafeConstructor = field(default_factory=SafeConstructor)
    known: dict[int, Datum] = field(default_factory=dict)
    around: list[int] = field(default_factory=list)
    left: int = MOST_VALUES

    def datum(self, node: yaml.Node) -> Datum:
        """One node; what an alias names is read once."""
        self.left -= 1
        if id(node) in self.around or len(self.around) > DEEPEST or self.left < 0:
            raise Broken("it holds itself, or too much", node.start_mark.line + 1)
        if id(node) not in self.known:
            self.around.append(id(node))
            self.known[id(node)] = self._read(node)
            self.around.pop()
        return self.known[id(node)]

    def _read(self, node: yaml.Node) -> Datum:
        place = _place(node)
        if isinstance(node, yaml.ScalarNode) and node.tag in SCALARS:
            return Scalar(self.scalars.construct_object(node), place)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{PLAIN}seq":
            return Sequence(tuple(self.datum(each) for each in node.value), place)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{PLAIN}map":
            return Mapping(tuple(self._pairs(node)), place)
        return Foreign(node.tag.removeprefix(PLAIN), place)

    def _pairs(self, node: yaml.MappingNode) -> list[tuple[Scalar, Datum]]:
        """The entries of a mapping, behind those that ``<<`` takes over from others."""
        own: list[tuple[Scalar, Datum]] = []
        taken: list[tuple[Scalar, Datum]] = []
        for key, value in node.value:
            if key.tag == MERGE:
                taken = [*self._taken(self.datum(value)), *taken]
                self.left -= len(taken)
                continue
            name, place = self.datum(key), _place(key)
            if not isinstance(name, Scalar):
                raise Broken("a key is no text and no number", place.row)
            own.append((name, placed(self.datum(value), place)))
        return [*taken, *own]

    def _taken(self, datum: Datum) -> list[tuple[Scalar, Datum]]:
        """What ``<<`` takes over; of several mappings the first counts, so it comes last."""
        if isinstance(datum, Mapping):
            return list(datum.pairs)
        parts = reversed(datum.items) if isinstance(datum, Sequence) else ()
        return [pair for part in parts if isinstance(part, Mapping) for pair in part.pairs]


def _place(node: yaml.Node) -> Place:
    start, end = node.start_mark, node.end_mark
    return Place(start.line + 1, start.column + 1, end.line + 1, end.column + 1)
