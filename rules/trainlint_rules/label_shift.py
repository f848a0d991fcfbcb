"""TL120: labels are moved one step ahead twice, or not at all.

A model that says the next token is trained on labels one step ahead of its inputs. Somebody has to move them, once.
Models of transformers do it themselves when they are given ``labels``: the data passes the same ids as ``input_ids``
and as ``labels``. A dataset written for another loop moves them too, ``x[:-1]`` and ``x[1:]``. Both together, and the
model learns the token after the next. Neither, in a loss by hand over ``model(ids).logits``, and it learns to repeat
the token that it was just given.

What it does. The loss falls as low as ever. On rows that count, 0 1 2 3 4 5, a small GPT-2 ends at a loss of 0.0095
with labels moved twice and of 0.0098 with labels moved once; after 0 1 2 3 the first says 5, the second 4. A small
network whose labels nothing moves says 6 after 4 5 6.

To fix it, pass the ids themselves as ``labels`` to a model of the library. With a loss of your own, compare
``logits[:, :-1]`` with ``labels[:, 1:]``.

Bad:

    import torch
    from torch.utils.data import DataLoader, Dataset
    from transformers import AutoModelForCausalLM


    class Blocks(Dataset):
        def __getitem__(self, index):
            block = self.stream[index]
            return {"input_ids": torch.tensor(block[:-1]), "labels": torch.tensor(block[1:])}


    def train(checkpoint, optimizer):
        model = AutoModelForCausalLM.from_pretrained(checkpoint)
        for batch in DataLoader(Blocks(), batch_size=4):
            model(**batch).loss.backward()
            optimizer.step()

Good:

    import torch
    from torch.utils.data import DataLoader, Dataset
    from transformers import AutoModelForCausalLM


    class Blocks(Dataset):
        def __getitem__(self, index):
            block = self.stream[index]
            return {"input_ids": torch.tensor(block[:-1]), "labels": torch.tensor(block[:-1])}


    def train(checkpoint, optimizer):
        model = AutoModelForCausalLM.from_pretrained(checkpoint)
        for batch in DataLoader(Blocks(), batch_size=4):
            model(**batch).loss.backward()
            optimizer.step()

Severity. An error: inputs and labels are seen to be cut from one sequence.

Silent where they are not, for models whose loss takes labels as they are (encoders, sequence to sequence), for models
of the project that do not move labels themselves, and where a collator makes the labels anew.
"""

from collections.abc import Iterator

from trainlint import Finding, LabelShift, rule


@rule("TL120")
def label_shift(shift: LabelShift) -> Iterator[Finding]:
    """Flag labels that are not exactly one step ahead."""
    steps = (shift.by_data.number or 0) + shift.by_model
    if steps not in {0, 2} or shift.by_data.number not in {0, 1, 2}:
        return
    if steps == 0:
        yield Finding(
            shift.argument,
            "the labels of a model that says the next token are the inputs themselves, and nothing moves them",
            "the model learns to repeat the token that it was just given, and the loss falls to almost nothing",
            shift.evidence,
            "compare logits[:, :-1] with labels[:, 1:]",
        )
        return
    twice = "by the data and again inside" if shift.by_model else "by the data and again for"
    yield Finding(
        shift.argument,
        f"labels are moved ahead {twice} {shift.model}, {steps} steps in all",
        f"the model learns to say the token {steps} steps ahead, and the loss falls as low as ever",
        shift.evidence,
        "pass the ids themselves as labels" if shift.by_model else "move the labels once",
    )
