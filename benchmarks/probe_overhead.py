"""What watching costs a small language model on a CPU: CPU time of a step, plain and watched, in turn.

    python benchmarks/probe_overhead.py [--classes 8192] [--width 256] [--rounds 15] [--steps 4]

One process, one thread, the same model in all arms; medians over rounds whose order turns. Attaching itself is not
counted: it happens once.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from trainlint.probe.attach import Attachment
from trainlint.probe.session import Session, Settings

ROWS, LENGTH, LAYERS = 8, 64, 2


class Language(nn.Module):
    """A decoder of two layers."""

    def __init__(self, classes: int, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.embed = nn.Embedding(classes, width, dtype=dtype)
        layers = (
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, dtype=dtype) for _ in range(LAYERS)
        )
        self.mix = nn.ModuleList(layers)
        self.head = nn.Linear(width, classes, dtype=dtype)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(tokens)
        for layer in self.mix:
            hidden = layer(hidden)
        return self.head(hidden)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--classes", type=int, default=8192)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Language(asked.classes, asked.width, getattr(torch, asked.dtype))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    arms = {
        "plain": None,
        "watched": Session(Settings()),
        "watched, every call in depth": Session(Settings(every=1)),
        "watched, a class is skipped": Session(Settings()),
    }
    taken: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(3):
        steps(model, optimizer, asked.classes, 1, -100)
    for turn in range(asked.rounds):
        order = list(arms)[turn % len(arms) :] + list(arms)[: turn % len(arms)]
        for name in order:
            ignored = 0 if "skipped" in name else -100
            run = lambda ignored=ignored: steps(model, optimizer, asked.classes, asked.steps, ignored)  # noqa: E731
            taken[name].append(timed(run, arms[name]) / asked.steps)
    tell(taken, sum(each.numel() for each in model.parameters()))


def timed(run: Callable[[], None], session: Session | None) -> float:
    """CPU seconds of a run under this session."""
    attachment = Attachment(session) if session else None
    if attachment:
        attachment.attach()
    before = time.process_time()
    run()
    seconds = time.process_time() - before
    if attachment:
        attachment.detach()
    return seconds


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, classes: int, count: int, ignored: int) -> None:
    for _ in range(count):
        tokens = torch.randint(1, classes, (ROWS, LENGTH + 1))
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=ignored)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def tell(taken: dict[str, list[float]], parameters: int) -> None:
    plain = statistics.median(taken["plain"])
    print(f"{parameters:,} parameters; a plain step takes {plain * 1e3:.1f} ms CPU, "
          f"{min(taken['plain']) * 1e3:.1f} to {max(taken['plain']) * 1e3:.1f}")  # fmt: skip
    for name, seconds in taken.items():
        ratios = [one / other for one, other in zip(seconds, taken["plain"], strict=True)]
        print(f"  {name:30} {statistics.median(seconds) / plain:6.3f}x   (of pairs {statistics.median(ratios):.3f}x)")


if __name__ == "__main__":
    main()
