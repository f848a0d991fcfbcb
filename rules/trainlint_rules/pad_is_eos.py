"""TL104: labels are masked wherever they equal padding, and padding is the token that ends a text.

A tokenizer that has no padding token is given the end token in its place, ``tokenizer.pad_token =
tokenizer.eos_token``. That by itself is harmless. Then the labels are masked by comparison: wherever a label equals the
padding token, it becomes -100. Two places that are each right erase the end of every text: the real end token, which
the model must learn, equals padding too.

What it does. The loss falls as it should, over what is left. The model is never shown that a text ends, and goes on
until the length limit. On two texts that end in the end token, transformers' ``DataCollatorForLanguageModeling`` with
``mlm=False`` leaves 0 of 2 end tokens in the labels if padding is the end token, and 2 of 2 if padding has a token of
its own.

To fix it, give padding a token that no text uses (``tokenizer.add_special_tokens({"pad_token": "<pad>"})``, then
resize the embeddings; many vocabularies reserve one), or mask by position: by the attention mask, by the length, or
with a collator that pads labels with -100.

Bad:

    from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer

    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    tokenizer.pad_token = tokenizer.eos_token


    def encode(row):
        return tokenizer(row["text"] + tokenizer.eos_token)


    def train(model, rows):
        collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
        Trainer(model, train_dataset=rows.map(encode), data_collator=collator).train()

Good:

    from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer

    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    tokenizer.add_special_tokens({"pad_token": "<pad>"})


    def encode(row):
        return tokenizer(row["text"] + tokenizer.eos_token)


    def train(model, rows):
        model.resize_token_embeddings(len(tokenizer))
        collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
        Trainer(model, train_dataset=rows.map(encode), data_collator=collator).train()

Severity. An error if the code shows that texts end in the end token, or if it masks by the end token under its own
name. A warning if the end of the texts is not seen, if padding becomes the end token only where the checkpoint brings
none or on another condition, or if only the spelling of the token says that it ends a text. ``add_eos_token=True`` is
no proof for GPT-2's kind of tokenizer (GPT-NeoX, CodeGen, Phi-2), which takes the option and adds nothing.

A note if it is seen how the texts are made and no end token is put behind them, as in ``tokenizer(row["text"])``: then
the mask erases nothing yet. In 351 public projects half of this rule's findings (22 of 41) were of that kind; it is
shown since such a model never learns to stop, and since the next step, to append the end token, changes nothing.

Silent where either half is missing: for padding that is only set to the end token, for labels that are masked by an
attention mask, a length or a position, where the first padding token is kept, for a padding token of its own, for
collators that pad given labels with -100 (``DataCollatorForSeq2Seq``, TRL's own), for rows cut out of one stream in
which no end token is seen, and for a chat format that ends its turns in another token. A loss that is told to skip the
token is TL101.
"""

from collections.abc import Iterator

from trainlint import Finding, LabelMask, Severity, Unknown, joined, rule


@rule("TL104")
def pad_is_eos(mask: LabelMask) -> Iterator[Finding]:
    """Flag a mask that erases the end of every text along with the padding."""
    if isinstance(mask.end, Unknown) or mask.spared:
        return
    if mask.unended:
        yield _harmless_so_far(mask)
        return
    sure = (mask.end.itself or mask.ended) and not (mask.end.condition or mask.end.by_name)
    yield Finding(
        mask.argument,
        f"{mask.by or 'this'} masks every label that equals {mask.token}, {_which_is_the_end(mask)}",
        "no target is left that shows where a text ends, and the loss curve will not show it",
        joined(mask.end.evidence, mask.end.condition, mask.ended),
        "give padding a token of its own, or mask by the attention mask",
        severity=Severity.ERROR if sure else Severity.WARNING,
    )


def _harmless_so_far(mask: LabelMask) -> Finding:
    """No end token is in the texts: nothing is erased, and nothing teaches the model to stop either."""
    assert not isinstance(mask.end, Unknown), "asked only where the token is known"
    return Finding(
        mask.argument,
        f"{mask.by or 'this'} masks every label that equals {mask.token}, {_which_is_the_end(mask)}",
        "nothing teaches the model where a text ends, and an end token put behind the texts would be masked too",
        joined(mask.end.evidence, mask.end.condition, mask.unended),
        "if the model must stop, put the end token behind each text and give padding a token of its own",
        severity=Severity.NOTE,
    )


def _which_is_the_end(mask: LabelMask) -> str:
    assert not isinstance(mask.end, Unknown), "asked only where the token is known"
    if mask.end.itself:
        return "the end of each text"
    what = "the end token by its spelling" if mask.end.by_name else "the end token"
    where = f" where `{mask.end.condition[0].text}`" if mask.end.condition else ""
    unseen = " (no text is seen to end in it)" if mask.unended else " (that texts end in it is not seen)"
    unseen = "" if mask.ended else unseen
    return f"which is {what}{where}{unseen}"
