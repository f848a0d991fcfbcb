"""The second stage: fills in the second codebook of a clip whose length is known."""

from sizes import CODES, WIDTH
from torch import nn


class SecondStage(nn.Module):
    """Predicts the second codebook of every frame from the first."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CODES + 1, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.to_codes = nn.Linear(WIDTH, CODES)

    def forward(self, tokens):
        hidden, _ = self.mix(self.embed(tokens))
        return self.to_codes(hidden)
