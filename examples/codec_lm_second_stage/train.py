"""Train the second stage on a few clips, then count the frames that it gets right."""

import torch
from objective import frame_loss
from sizes import CODES, EPOCHS
from stage import SecondStage
from torch.nn.utils.rnn import pad_sequence


def clips(count):
    """The two codebooks of clips of 5 to 20 frames."""
    lengths = torch.randint(5, 21, (count,)).tolist()
    return [torch.randint(CODES, (2, length)) for length in lengths]


def batch(audio):
    """The first codebook, and the second one to predict."""
    inputs = pad_sequence([clip[0] for clip in audio], batch_first=True, padding_value=CODES)
    return inputs, pad_sequence([clip[1] for clip in audio], batch_first=True, padding_value=CODES)


def main():
    torch.manual_seed(0)
    model = SecondStage()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs, targets = batch(clips(16))
    for _ in range(EPOCHS):
        loss = frame_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    real = targets != CODES
    right = (model(inputs).argmax(-1) == targets)[real].sum().item()
    print(f"loss {loss.item():.4f}, right: {right} of {real.sum().item()} frames")


if __name__ == "__main__":
    main()
