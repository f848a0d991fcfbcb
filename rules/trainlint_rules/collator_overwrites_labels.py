"""TL113: the rows bring masked labels, and the collator makes the labels anew from the ids.

A dataset of instructions masks the prompt: its ``labels`` hold -100 where the prompt stands, so that only the answer is
learned. Then a collator puts a batch together, and some collators do not pad the labels that they are given but copy
the ids: transformers' ``DataCollatorForLanguageModeling`` always does, and many projects have one of their own with
``batch["labels"] = batch["input_ids"].clone()``. The mask is gone, without a word.

What it does. The model is trained on the prompts as well, which are often longer than the answers, and the loss is an
average over both. On a batch of two rows with 6 of 10 labels masked, the labels that reach the model have 0 masked.

To fix it, use a collator that pads given labels with -100: ``DataCollatorForSeq2Seq`` does, also for models that only
decode; or let the collator mask the prompt and the dataset return ids only.

Bad:

    from torch.utils.data import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer


    class Answers(Dataset):
        def __getitem__(self, index):
            prompt, answer = self.rows[index]
            return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


    def train(model, tokenizer):
        collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
        Trainer(model, train_dataset=Answers(), data_collator=collator).train()

Good:

    from torch.utils.data import Dataset
    from transformers import DataCollatorForSeq2Seq, Trainer


    class Answers(Dataset):
        def __getitem__(self, index):
            prompt, answer = self.rows[index]
            return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


    def train(model, tokenizer):
        collator = DataCollatorForSeq2Seq(tokenizer)
        Trainer(model, train_dataset=Answers(), data_collator=collator).train()

Severity. An error: both halves are read in the code.

Silent for collators that read or pad the labels they are given, for a collator that masks a part of the labels itself,
for rows that only mask padding, and for rows without labels.
"""

from collections.abc import Iterator

from trainlint import Finding, Relabelling, Unknown, joined, rule


@rule("TL113")
def collator_overwrites_labels(relabelling: Relabelling) -> Iterator[Finding]:
    """Flag a collator that undoes the mask of the rows."""
    if isinstance(relabelling.masked, Unknown) or not relabelling.masked:
        return
    yield Finding(
        relabelling.argument,
        f"{relabelling.by} makes labels anew from the ids, and the masked labels of the rows are lost",
        "what the rows mask, a prompt say, is learned as if it were an answer",
        joined(relabelling.masked, relabelling.rebuilt),
        "use a collator that pads the given labels with -100, such as DataCollatorForSeq2Seq",
    )
