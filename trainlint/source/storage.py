"""In which format the parameters of a model are stored when a line runs: a model and a line in, a format out."""

from __future__ import annotations

import ast

from trainlint.facts import Storage
from trainlint.source.things import Frame, Thing
from trainlint.source.world import World
from trainlint.value import Unknown


def storage(world: World, model: Thing, node: ast.AST, frame: Frame) -> Storage | Unknown:
    """The format of a model's parameters when ``node`` runs in ``frame``."""
    return Unknown("the format of the weights is not followed")
