"""Weights in bfloat16, or in float32 with autocast for the arithmetic: a step is smaller than the gap between numbers.

A weight in bfloat16 has 8 bits. A step of AdamW is about as large as the learning rate, here 1e-4: a weight from
0.03125 on cannot move by that, and a decay of 1e-4 * 0.1 moves none at all.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ARMS = {"bfloat16 weights": torch.bfloat16, "float32 weights, autocast": torch.float32}
LOSS, CAPABILITY = "final loss", "right answers on unseen data"
CLASSES, FEATURES, STEPS = 10, 32, 800


def data(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points around ten centres."""
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    answers = torch.randint(0, CLASSES, (count,), generator=generator)
    return centres[answers] + 2 * torch.randn(count, FEATURES, generator=generator), answers


def train(arm: str) -> dict[str, float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES)).to(ARMS[arm])
    before = weights(model)
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1)
    losses = []
    for step in range(STEPS):
        points, answers = data(128, seed=1 + step)
        loss = F.cross_entropy(scores_of(model, points), answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    points, answers = data(2000, seed=0)
    right = (scores_of(model, points).argmax(-1) == answers).double().mean().item()
    return {
        LOSS: sum(losses[-50:]) / 50,
        CAPABILITY: right,
        "weights that never moved": (weights(model) == before).double().mean().item(),
        "length after 1,000 steps of decay alone": decayed(ARMS[arm]),
    }


def scores_of(model: nn.Module, points: Tensor) -> Tensor:
    """The arithmetic of the model is bfloat16 in both arms, that of the loss float32."""
    with torch.autocast("cpu", torch.bfloat16):
        scores: Tensor = model(points)
    return scores.float()


def weights(model: nn.Module) -> Tensor:
    return torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])


def decayed(dtype: torch.dtype) -> float:
    """What decay leaves of weights that get no gradient, relative to their start; it should be 0.990."""
    weight = nn.Parameter(torch.linspace(0.1, 1, 1000).to(dtype))
    start, adam = length(weight), torch.optim.AdamW([weight], lr=1e-4, weight_decay=0.1)
    weight.grad = torch.zeros_like(weight)
    for _ in range(1000):
        adam.step()
    return length(weight) / start


def length(weight: Tensor) -> float:
    return weight.detach().double().square().sum().sqrt().item()


if __name__ == "__main__":
    for each in ARMS:
        print(each, train(each))
