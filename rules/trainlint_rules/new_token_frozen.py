"""TL510: new tokens are added, and an adapter leaves their embeddings as they were drawn.

``resize_token_embeddings`` makes room for new tokens: rows of random numbers, or copies of the mean. ``LoraConfig`` and
its kin freeze the whole model and train small matrices beside its layers; the embeddings are none of these unless the
configuration names them.

What it does. The new tokens, a turn marker or a tool call, keep their random embeddings: the model learns to live with
them at best, and cannot learn to predict them where the head is frozen too. The loss falls all the same, by everything
else. The adapter that is saved lacks those rows, and another start draws others.

To fix it, name the new rows, ``trainable_token_indices=[...]``, or the layers,
``modules_to_save=["embed_tokens", "lm_head"]``.

Bad:

    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer

    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    tokenizer.add_tokens(["<call>", "</call>"])
    model.resize_token_embeddings(len(tokenizer))
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn"]))
    Trainer(model=model).train()

Good:

    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer

    tokenizer = AutoTokenizer.from_pretrained("gpt2")
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    tokenizer.add_tokens(["<call>", "</call>"])
    model.resize_token_embeddings(len(tokenizer))
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["c_attn"], modules_to_save=["wte", "lm_head"]))
    Trainer(model=model).train()

Severity. A warning: whether a token is new depends on the vocabulary that is loaded.

Silent for a padding token and for tokens that vocabularies have (``</s>``), where the adapter names the embeddings
(``modules_to_save``, ``target_modules``, ``trainable_token_indices``) or may on any path, where the file switches their
gradients on, and where the adapter is put on another model than the one that was resized.
"""

from collections.abc import Iterator

from trainlint import Finding, NewTokens, Severity, rule


@rule("TL510")
def new_token_frozen(tokens: NewTokens) -> Iterator[Finding]:
    """Flag an adapter that leaves the embeddings of new tokens as they were drawn."""
    if not tokens.everywhere:
        return
    yield Finding(
        tokens.argument,
        f"{tokens.adapter} trains no embedding, and the model was given new tokens",
        "the embeddings of the new tokens stay as they were drawn",
        (tokens.added, tokens.resized),
        'add trainable_token_indices, or modules_to_save=["embed_tokens", "lm_head"]',
        severity=Severity.WARNING,
    )
