"""TL304: the weights are trained in whatever format the checkpoint was saved in.

``AutoModel.from_pretrained(name)`` names no format. Up to version 4 of transformers the weights then came in float32;
from version 5 on they come as the checkpoint was saved, which for most models of today is 16 bits (``dtype="auto"`` and
``torch_dtype="auto"`` ask for that in any version). The same line, the same data and the same optimizer now train
bfloat16 weights.

What it does. A bfloat16 weight has 8 significant bits: a step smaller than a 512th of it is rounded away. With a
learning rate of 2e-5, a step of Adam moves a weight of 0.1 by a 5000th of it: such weights, and all larger ones, never
move again. Nothing fails, and the loss falls at first, by the small weights. Which weights stand still is TL301.

To fix it, say the format: ``from_pretrained(name, dtype="float32")``, and compute in 16 bits by autocast (``bf16=True``
of the trainer). If 16-bit weights are meant, saying so (``dtype="bfloat16"``) makes it visible, to TL301 too.

Bad:

    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained("my-org/encoder")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)

Good:

    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained("my-org/encoder", dtype="float32")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)

Severity. A note, and off unless it is selected: whether the checkpoint is stored in 16 bits is mostly not in the code.
A warning where it is known: the folder that is loaded lies in the project and its ``config.json`` says so, or the
checkpoint is one of the few well-known ones. The version comes from a lock file, else from what the project asks for
(``requirements.txt``, ``pyproject.toml``, ``setup.py`` and their kin, the nearest first). A range that reaches version
5 counts, since that is what is installed anew; so does a project that says nothing.

Silent where a format is given, where the project allows version 4 at most, for checkpoints known to be float32, where
the weights are cast before the optimizer is made, for quantised models, where files speak of adapters (PEFT, LoRA) or
of freezing, where an engine keeps a float32 copy (DeepSpeed), and where the model is only evaluated. TRL's trainers are
silent if they are given a name, which they load in float32 themselves (TRL 1.16); a model that is loaded by the project
and handed to them is trained as it is. sentence-transformers loads by a class of its own and is not looked at.
"""

from collections.abc import Iterator

from trainlint import Finding, LoadedModel, Severity, Storage, Unknown, rule


@rule("TL304", on=False)
def auto_dtype(load: LoadedModel) -> Iterator[Finding]:
    """Flag a model that is trained in the format of its checkpoint because nothing else was said."""
    stored = load.stored
    if isinstance(stored, Storage) and not stored.dtype.is_short:
        return
    known = stored if isinstance(stored, Storage) else None
    yield Finding(
        load.argument,
        f"{load.model}.from_pretrained {_why(load)}, {_which(load, known)}",
        "steps smaller than half a unit in the last of the 8 or 11 bits of a weight are rounded away in training",
        tuple(step for step in (load.asked, *(known.evidence if known else ()), load.trained, load.version) if step),
        'pass dtype="float32" and let autocast compute in 16 bits',
        severity=Severity.WARNING if known else Severity.NOTE,
    )


def _why(load: LoadedModel) -> str:
    if load.asked is not None:
        return "keeps the format in which the checkpoint was saved"
    if load.certain:
        return "is given no dtype, and transformers 5 keeps the format of the checkpoint"
    if load.version is not None:
        return "is given no dtype, and transformers 5, which this project allows, keeps the format of the checkpoint"
    return "is given no dtype, and transformers 5 (assumed: the project names no version) keeps the checkpoint's"


def _which(load: LoadedModel, known: Storage | None) -> str:
    if known is not None:
        return f"which is {known.dtype.value}"
    assert isinstance(load.stored, Unknown), "it is known or not"
    return f"which may be 16 bits ({load.stored.reason})"
