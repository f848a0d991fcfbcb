"""Addition on a clock of 31 positions, a one-layer transformer for it, and AdamW, for one run or many side by side.

A model is one flat tensor, so that many models are one tensor with a leading axis.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

POSITIONS = 31
TOKENS = 3
WIDTH, HEADS, HIDDEN = 48, 4, 192
SHAPES = (
    (POSITIONS + 1, WIDTH),  # tokens, the equals sign last
    (TOKENS, WIDTH),  # places
    (WIDTH, WIDTH),  # query
    (WIDTH, WIDTH),  # key
    (WIDTH, WIDTH),  # value
    (WIDTH, WIDTH),  # out of the attention
    (WIDTH, HIDDEN),
    (HIDDEN, WIDTH),
    (WIDTH, POSITIONS),
)
SIZES = [rows * columns for rows, columns in SHAPES]
LEARNING_RATE, DECAY, BETAS = 1e-3, 1.0, (0.9, 0.98)


def data(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Half of all sums with their answers, then the other half."""
    left, right = torch.meshgrid(torch.arange(POSITIONS), torch.arange(POSITIONS), indexing="ij")
    equals = torch.full((POSITIONS**2,), POSITIONS)
    sums = torch.stack([left.flatten(), right.flatten(), equals], 1)
    answers = (left + right).flatten() % POSITIONS
    order = torch.randperm(POSITIONS**2, generator=torch.Generator().manual_seed(seed))
    seen, unseen = order[: POSITIONS**2 // 2], order[POSITIONS**2 // 2 :]
    return sums[seen], answers[seen], sums[unseen], answers[unseen]


def initial(seed: int) -> Tensor:
    """Vectors of length about one, weights of variance one over fan-in; float64, so that all formats start alike."""
    generator = torch.Generator().manual_seed(seed)
    fans = [WIDTH, WIDTH, *(rows for rows, _ in SHAPES[2:])]
    drawn = [
        torch.randn(size, generator=generator, dtype=torch.float64) / math.sqrt(fan)
        for size, fan in zip(SIZES, fans, strict=True)
    ]
    return torch.cat(drawn)


def logits(weights: Tensor, sums: Tensor) -> Tensor:
    """One model on all sums: one layer of attention from the equals sign, one hidden layer, no normalisation."""
    parts = [part.view(shape) for part, shape in zip(torch.split(weights, SIZES), SHAPES, strict=True)]
    tokens, places, query, key, value, out, up, down, head = parts
    embedded = tokens[sums] + places
    last = embedded[:, -1]
    heads = (len(sums), TOKENS, HEADS, WIDTH // HEADS)
    queries = (last @ query).view(len(sums), 1, HEADS, WIDTH // HEADS)
    scores = (queries * (embedded @ key).view(heads)).sum(-1)
    attention = torch.softmax(scores / math.sqrt(WIDTH // HEADS), 1)
    mixed = (attention[..., None] * (embedded @ value).view(heads)).sum(1)
    stream = last + mixed.reshape(len(sums), WIDTH) @ out
    # The same numbers as relu, whose gradient in float32 takes twelve times as long on a CPU (torch 2.13).
    hidden = F.leaky_relu(stream @ up, 0.0)
    return (stream + hidden @ down) @ head


class AdamW:
    """PyTorch's AdamW, operation by operation; ``eps`` may be a column with one number for each model."""

    def __init__(self, weights: Tensor, eps: float | Tensor) -> None:
        self.weights, self.eps, self.steps = weights, eps, 0
        self.average, self.square = torch.zeros_like(weights), torch.zeros_like(weights)

    def step(self, gradient: Tensor) -> None:
        self.steps += 1
        first, second = (1 - beta**self.steps for beta in BETAS)
        self.weights.mul_(1 - LEARNING_RATE * DECAY)
        self.average.lerp_(gradient, 1 - BETAS[0])
        self.square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        width = (self.square.sqrt() / math.sqrt(second)).add_(self.eps)
        self.weights.addcdiv_(self.average, width, value=-LEARNING_RATE / first)
