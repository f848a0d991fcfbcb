"""The index that the loss skips is the stop token, or it is not: one integer apart, and no curve tells.

Clips are codes that step round a ring, and each ends in a stop token. The model sees the last code, the step, and how
near the end is. Batches are filled up behind the stop, and the loss skips the filling.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CODES, STOP, LONGEST = 32, 32, 14
ARMS = ("skips the stop", "skips -100")
LOSS, CAPABILITY = "final loss", "clips that stop where they should"


def clips(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Codes, the step of each clip, and how many codes are left at each place, at most three."""
    lengths = torch.randint(4, LONGEST + 1, (count, 1), generator=generator)
    steps = torch.randint(1, 4, (count, 1), generator=generator)
    start = torch.randint(0, CODES, (count, 1), generator=generator)
    codes = (start + steps * torch.arange(LONGEST + 1)) % CODES
    return codes, steps, lengths - torch.arange(1, LONGEST + 1)


class Model(nn.Module):
    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.code, self.step, self.left = (nn.Embedding(size, width) for size in (CODES + 1, 4, 4))
        self.head = nn.Sequential(nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, CODES + 1))

    def forward(self, codes: Tensor, steps: Tensor, left: Tensor) -> Tensor:
        scores: Tensor = self.head(self.code(codes) + self.step(steps) + self.left(left.clamp(0, 3)))
        return scores


def train(arm: str) -> dict[str, float]:
    skipped = STOP if arm == "skips the stop" else -100
    torch.manual_seed(0)
    model, generator = Model(), torch.Generator().manual_seed(1)
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    fading = torch.optim.lr_scheduler.LinearLR(adam, 1, 1e-3, 800)
    losses, taught = [], torch.zeros(CODES + 1, dtype=torch.long)
    for _ in range(800):
        codes, steps, left = clips(64, generator)
        targets = codes[:, 1:].masked_fill(left == 0, STOP).masked_fill(left < 0, skipped)
        scores = model(codes[:, :-1], steps, left)
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=skipped)
        adam.zero_grad()
        loss.backward()
        adam.step()
        fading.step()
        losses.append(loss.item())
        taught += torch.bincount(targets[targets != skipped], minlength=CODES + 1)
    return {LOSS: sum(losses[-50:]) / 50, CAPABILITY: stops(model), "classes never taught": (taught == 0).sum().item()}


@torch.no_grad()
def stops(model: Model) -> float:
    """The share of new clips whose last code the model answers with a stop, and none before it."""
    codes, steps, left = clips(500, torch.Generator().manual_seed(2))
    stopped = model(codes[:, :-1], steps, left).argmax(-1) == STOP
    right: Tensor = ((stopped == (left == 0)) | (left < 0)).all(1)
    return right.double().mean().item()


if __name__ == "__main__":
    for each in ARMS:
        print(each, train(each))
