"""How a stage is trained: audio tokens against logits, frame by frame."""

import torch.nn.functional as F
from sizes import CODES


def frame_loss(logits, targets):
    """Cross-entropy over the frames; the padding behind short clips does not count."""
    return F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=CODES,
    )
