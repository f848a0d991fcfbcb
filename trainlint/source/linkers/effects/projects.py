"""A file in; out, whether its project trains anything: what only predicts is judged by other means."""

from __future__ import annotations

from trainlint.source.world import World

TRAINING = ("backward", "training_step", "Trainer")
"""Words of which a project that trains holds one."""


def trains(world: World) -> bool:
    """Whether any file of the project shows that something is trained.

    A model's own file says nothing of it, and is trained by whoever imports it: in a project that trains, it counts.
    """
    return any(map(world.workspace.says, TRAINING))
