"""TL108: a class that the layer can emit was never a target.

A layer has N outputs and the loss is never shown a row whose answer is one of them. Its logit is only ever pushed
down: the model learns that this class does not exist. When the class is the stop of a decoder, or a label whose files
were filtered away, that is the bug, and the loss falls as it should, because no row of it is there to be wrong about.

Only a run can show this, so the rule speaks under ``trainlint probe run``. Reading code cannot know what the data
holds.

How many targets are enough. With few of them some class is always missing by chance, and in a natural vocabulary
many never come. So nothing is said before every other class was a target at least 10 times, and only if the missing
ones are one, or one in a hundred. Drawn from even and from very uneven frequencies, 3 to 1025 classes, that guard
alarmed falsely in 2 of 1000 draws at most, and "99 of 100 classes were seen" without it in nearly all of some kinds.
What does not pass the guard is listed as not judged. One batch that is repeated over and over counts once; other rows
count each time they come, so that a small set shows what this training was, not what its data could have been. Losses
over equally many classes count together: a discriminator may see the real and the generated in two calls.

To fix it, look at what makes the targets: a filter, a mapping that starts at 1, a cut that takes the last symbol of
every row, padding that took the place of the class. If the class is not meant to be learned, make the layer narrower.

Bad:

    import torch
    import torch.nn.functional as F
    from torch import nn

    CLASSES = 5

    torch.manual_seed(0)
    model = nn.Linear(8, CLASSES)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(20):
        targets = torch.randint(CLASSES - 1, (16,))
        loss = F.cross_entropy(model(torch.randn(16, 8)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Good:

    import torch
    import torch.nn.functional as F
    from torch import nn

    CLASSES = 5

    torch.manual_seed(0)
    model = nn.Linear(8, CLASSES)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(20):
        targets = torch.randint(CLASSES, (16,))
        loss = F.cross_entropy(model(torch.randn(16, 8)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Severity. An error. A note where the missing classes are the first ones, from 0 on: there padding, a start symbol or
an unknown word often lie, which no answer takes.

Silent for the index that the loss skips (that is TL101's question), for targets that are probabilities, and for an
evaluation.
"""

from collections.abc import Iterator

from trainlint import ClassCoverage, Finding, Severity, rule


@rule("TL108")
def dead_class(coverage: ClassCoverage) -> Iterator[Finding]:
    """Flag a class that was never a target, once every other was one several times."""
    if not coverage.missing or not coverage.is_large_enough:
        return
    first = coverage.missing == tuple(range(len(coverage.missing)))
    what = _named(coverage.missing, coverage.lacking)
    yield Finding(
        coverage.argument,
        f"{what} never a target of this layer of {coverage.classes}, among {coverage.targets} targets that show every"
        f" other class at least {coverage.least} times",
        "nothing is wrong if no answer takes it, as padding or a start symbol" if first else _lost(coverage.lacking),
        help="look for what keeps it out of the targets, or make the layer narrower",
        severity=Severity.NOTE if first else Severity.ERROR,
    )


def _named(missing: tuple[int, ...], lacking: int) -> str:
    if lacking == 1:
        return f"class {missing[0]} was"
    more = f" and {lacking - len(missing)} more" if lacking > len(missing) else ""
    return f"classes {', '.join(map(str, missing))}{more} were"


def _lost(lacking: int) -> str:
    it = "it" if lacking == 1 else "them"
    return f"the model only learns never to emit {it}, and the loss curve will not show it"
