"""The first stage: speaks the first codebook frame by frame and says when it is done."""

import torch
from sizes import CODES, WIDTH
from torch import nn

END_OF_AUDIO = CODES


class FirstStage(nn.Module):
    """Predicts the next audio token, or the end, from the tokens so far."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(CODES + 1, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.to_codes = nn.Linear(WIDTH, CODES + 1)

    def forward(self, tokens):
        hidden, _ = self.mix(self.embed(tokens))
        return self.to_codes(hidden)

    @torch.no_grad()
    def speak(self, first, longest):
        """Continue from one token until the model ends the clip, or until it is too long."""
        tokens = [first]
        while len(tokens) < longest:
            token = self(torch.tensor([tokens]))[0, -1].argmax().item()
            if token == END_OF_AUDIO:
                break
            tokens.append(token)
        return tokens
