"""A student that starts as an exact copy of its teacher should stay: Adam makes steps out of errors of rounding.

On paper the gradient is zero from the start. In the computer it is about 1e-9, and Adam with an epsilon of 1e-8 makes
steps of nearly the learning rate out of it. With an epsilon above the boundary of this teacher nothing moves.
"""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ARMS = ("eps=1e-8", "eps=1e-3")
LOSS, CAPABILITY = "loss at the start", "largest change of a logit"
STEPS = 500


def data() -> tuple[Tensor, Tensor]:
    """All sums of two hours on a clock of seven, and their answers."""
    left, right = torch.meshgrid(torch.arange(7), torch.arange(7), indexing="ij")
    left, right = left.flatten(), right.flatten()
    return torch.cat([F.one_hot(left, 7), F.one_hot(right, 7)], 1).float(), (left + right) % 7


def taught() -> nn.Module:
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 7))
    adam = torch.optim.AdamW(teacher.parameters(), lr=1e-2, weight_decay=0.01)
    points, answers = data()
    for _ in range(300):
        loss = F.cross_entropy(teacher(points), answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return teacher


def train(arm: str) -> dict[str, float]:
    teacher, (points, answers) = taught(), data()
    student = copy.deepcopy(teacher)
    with torch.no_grad():
        wanted = teacher(points)
    eps = 1e-8 if arm == "eps=1e-8" else 1e-3
    adam = torch.optim.Adam(student.parameters(), lr=1e-2, eps=eps)
    losses, away = [], []
    for _ in range(STEPS):
        scores = student(points)
        loss = F.kl_div(F.log_softmax(scores, -1), F.softmax(wanted, -1), reduction="batchmean")
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
        away.append((scores.detach() - wanted).abs().max().item())
    return {
        LOSS: losses[0],
        "largest loss on the way": max(losses),
        CAPABILITY: max(away),
        "first step that is off by 0.01": next((step for step, by in enumerate(away) if by > 0.01), float("inf")),
        "right answers": (scores.argmax(-1) == answers).double().mean().item(),
    }


if __name__ == "__main__":
    for each in ARMS:
        print(each, train(each))
