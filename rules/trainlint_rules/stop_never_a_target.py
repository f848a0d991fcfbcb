"""TL118: decoding waits for a symbol that no target of the training data ever is.

The decode loop ends when the model says the end symbol. The rows that the model is trained on are put together in
another file: a start symbol, the text, padding. Nobody appends the end symbol, so the model is never shown one, and
never says it.

What it does. Training looks as it should. Every sample runs until the length limit, which looks like a weak model. On
two stories of the example below, 0 targets are the end symbol, and 2 once it is appended.

To fix it, append the symbol to every row before it is cut and padded (and leave room for it).

Bad:

    import torch
    from torch.utils.data import Dataset

    PAD, BOS, EOS, FIRST = 0, 1, 2, 3
    LETTERS = "abcdefghijklmnopqrstuvwxyz "


    class Stories(Dataset):
        def __getitem__(self, index):
            ids = [BOS] + [FIRST + LETTERS.index(letter) for letter in self.texts[index]]
            return torch.tensor(ids[:-1]), torch.tensor(ids[1:])


    def sample(model, limit=200):
        ids = [BOS]
        while len(ids) < limit:
            token = int(model(torch.tensor([ids]))[0, -1].argmax())
            if token == EOS:
                break
            ids.append(token)
        return ids

Good:

    import torch
    from torch.utils.data import Dataset

    PAD, BOS, EOS, FIRST = 0, 1, 2, 3
    LETTERS = "abcdefghijklmnopqrstuvwxyz "


    class Stories(Dataset):
        def __getitem__(self, index):
            ids = [BOS] + [FIRST + LETTERS.index(letter) for letter in self.texts[index]] + [EOS]
            return torch.tensor(ids[:-1]), torch.tensor(ids[1:])


    def sample(model, limit=200):
        ids = [BOS]
        while len(ids) < limit:
            token = int(model(torch.tensor([ids]))[0, -1].argmax())
            if token == EOS:
                break
            ids.append(token)
        return ids

Severity. A warning: a checkpoint that is loaded might know the symbol from elsewhere.

Silent where the project does anything with the symbol but compare with it, and where a row may carry it: targets read
from files, a tokenizer or an encoder that is passed in, a number that is not known. Those are counted as not judged.
"""

from collections.abc import Iterator

from trainlint import Finding, Severity, StopCheck, Unknown, joined, rule


@rule("TL118")
def stop_never_a_target(check: StopCheck) -> Iterator[Finding]:
    """Flag a stop that the model is never shown."""
    if isinstance(check.rows, Unknown):
        return
    yield Finding(
        check.argument,
        f"decoding ends on {check.symbol} ({check.number}), and no row of the training data holds it",
        "the model is never shown the stop, so every sample runs until its length limit",
        joined(check.number.evidence, check.rows),
        f"append {check.symbol} to every row",
        severity=Severity.WARNING,
    )
