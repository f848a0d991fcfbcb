"""The loss is given bfloat16 logits, or float32 ones: from a margin of 5.5 on the right class gets no gradient at all.

The model is float32, only its output is rounded, as that of a model in 16 bit would be. The margin is the lead of the
right class over all others together. Where it is past 5.5, the loss is shown as 0, which it is not. This runs on the
CPU; on a GPU it has not been measured yet.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ARMS = {"bfloat16 logits": torch.bfloat16, "logits.float()": torch.float32}
LOSS, CAPABILITY = "loss, as training shows it", "rows whose right class gets a signal"
CLASSES, FEATURES = 8, 16


def data() -> tuple[Tensor, Tensor]:
    """Points close to eight centres: everything can be learned."""
    generator = torch.Generator().manual_seed(0)
    centres = 2 * torch.randn(CLASSES, FEATURES, generator=generator)
    answers = torch.arange(512) % CLASSES
    return centres[answers] + 0.3 * torch.randn(512, FEATURES, generator=generator), answers


def train(arm: str) -> dict[str, float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, CLASSES))
    adam = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.5)
    points, answers = data()
    for _ in range(1000):
        loss = F.cross_entropy(model(points).bfloat16().to(ARMS[arm]), answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        scores = model(points)
    return {
        LOSS: loss.item(),
        "loss, computed in float64": F.cross_entropy(scores.double(), answers).item(),
        CAPABILITY: heard(scores.bfloat16().to(ARMS[arm]), answers),
        "median margin": margins(scores.double(), answers).median().item(),
        "right answers": (scores.argmax(-1) == answers).double().mean().item(),
    }


def margins(scores: Tensor, answers: Tensor) -> Tensor:
    column = answers[:, None]
    others = scores.scatter(1, column, -torch.inf).logsumexp(1)
    return scores.gather(1, column).squeeze(1) - others


def heard(scores: Tensor, answers: Tensor) -> float:
    """The share of rows whose right class gets any gradient; the other classes of each row get some."""
    scores.requires_grad_()
    F.cross_entropy(scores, answers).backward()
    assert scores.grad is not None
    return (scores.grad.gather(1, answers[:, None]) != 0).double().mean().item()


if __name__ == "__main__":
    for each in ARMS:
        print(each, train(each))
