"""Train the first stage on a few clips, then let it speak each of them."""

import torch
from objective import frame_loss
from sizes import CODES, EPOCHS
from stage import END_OF_AUDIO, FirstStage
from torch.nn.utils.rnn import pad_sequence


def clips(count):
    """Clips of 5 to 20 frames; no two start with the same token."""
    lengths = torch.randint(5, 21, (count,)).tolist()
    starts = torch.randperm(CODES)[:count]
    return [
        torch.cat([start[None], torch.randint(CODES, (length - 1,))])
        for start, length in zip(starts, lengths, strict=True)
    ]


def batch(audio):
    """Inputs, and for each the token that comes next."""
    end = torch.tensor([END_OF_AUDIO])
    targets = [torch.cat([clip[1:], end]) for clip in audio]
    inputs = pad_sequence(audio, batch_first=True, padding_value=CODES)
    return inputs, pad_sequence(targets, batch_first=True, padding_value=CODES)


def main():
    torch.manual_seed(0)
    audio = clips(16)
    model = FirstStage()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    inputs, targets = batch(audio)
    for _ in range(EPOCHS):
        loss = frame_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    stopped = sum(len(model.speak(clip[0].item(), 100)) == len(clip) for clip in audio)
    print(f"loss {loss.item():.4f}, ended in time: {stopped} of {len(audio)} clips")


if __name__ == "__main__":
    main()
