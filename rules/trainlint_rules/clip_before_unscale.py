"""TL505: gradients are clipped while a scaler has them multiplied.

``GradScaler`` multiplies the loss, by 65536 at first, so that small gradients survive float16, and ``scaler.step``
divides the gradients again. What clips in between compares the multiplied norm with a limit that was meant for the true
one. Nearly every step is clipped then, to a length that depends on the scale of the moment: at a scale of 65536 and a
limit of 1.0, no step is longer than 1/65536 before the optimizer sees it. SGD hardly moves; Adam hides the length, but
weighs steps by the scale under which they were taken.

To fix it, call ``scaler.unscale_(optimizer)`` in front of the clipping; ``scaler.step`` knows that it was done.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler()


    def epoch(batches):
        for x, y in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler()


    def epoch(batches):
        for x, y in batches:
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

Severity. An error; a warning where the scaler is switched off by a default that a command line may change.

Silent where anything between the two unscales, where the limit or the gradients are computed with ``get_scale()``,
where the clipping stands on another arm than the scaling, for scalers that are switched off, and for what engines clip
themselves (``accelerator.clip_grad_norm_``).
"""

from collections.abc import Iterator

from trainlint import Finding, ScaledClip, Severity, rule


@rule("TL505")
def clip_before_unscale(clip: ScaledClip) -> Iterator[Finding]:
    """Flag gradients that are clipped at the size that a scaler gave them."""
    yield Finding(
        clip.argument,
        f"{clip.clips} sees gradients that are still multiplied by the scale of the scaler",
        "nearly every step is cut off, to a length that depends on the scale of the moment",
        (clip.scaled, clip.stepped),
        "call scaler.unscale_(optimizer) in front of it",
        clip.assumed,
        Severity.WARNING if clip.assumed else Severity.ERROR,
        call=clip.call,
    )
