"""The best weights are kept by name, or as a copy: the names go on pointing at what training changes.

A small network learns noise by heart, so that its validation loss falls and then rises. The best state is kept and
restored at the end. Both arms train alike to the last bit.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ARMS = ("state_dict()", "deepcopy(state_dict())")
LOSS, CAPABILITY = "final training loss", "validation loss of what is restored"


def data(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points, and on which side of a line they lie; a fifth of the answers is turned round."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(count, 20, generator=generator)
    wrong = torch.rand(count, generator=generator) < 0.2
    return points, ((points[:, 0] + points[:, 1] > 0) ^ wrong).long()


def train(arm: str) -> dict[str, float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    points, answers = data(200, seed=1)
    unseen, unseen_answers = data(1000, seed=2)
    best, best_loss, best_step = model.state_dict(), float("inf"), 0
    for step in range(300):
        loss = F.cross_entropy(model(points), answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
        with torch.no_grad():
            validation = F.cross_entropy(model(unseen), unseen_answers).item()
        if validation < best_loss:
            best_loss, best_step = validation, step
            best = model.state_dict() if arm == ARMS[0] else copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    with torch.no_grad():
        scores = model(unseen)
    return {
        LOSS: loss.item(),
        "best validation loss seen": best_loss,
        "seen at step": best_step,
        CAPABILITY: F.cross_entropy(scores, unseen_answers).item(),
        "its accuracy": (scores.argmax(-1) == unseen_answers).double().mean().item(),
    }


if __name__ == "__main__":
    for each in ARMS:
        print(each, train(each))
