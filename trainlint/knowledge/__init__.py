"""What the engine knows of libraries, as data: which callable is a loss, a layer, a metric, a wrapper.

One module per library. A callable is known by its qualified name; ``canonical`` maps other spellings to it.
"""

from __future__ import annotations

from trainlint.knowledge import (
    activations,
    effects,
    losses,
    metrics,
    optimizers,
    precision,
    torch,
    torchtext,
    torchvision,
    transformers,
)
from trainlint.knowledge.signature import Signature

SIGNATURES: dict[str, Signature] = {
    known.name: known
    for table in (torch.SIGNATURES, metrics.SIGNATURES, losses.SIGNATURES, torchtext.SIGNATURES)
    for known in table
}


def canonical(name: str) -> str:
    """The one name under which a callable is known.

    >>> canonical("torch.nn.modules.linear.Linear"), canonical("torch.log_softmax")
    ('torch.nn.Linear', 'torch.nn.functional.log_softmax')
    """
    head, _, last = name.rpartition(".")
    if head.startswith("torch.nn.modules"):
        return f"torch.nn.{last}"
    if head.startswith("torch.nn.parallel."):
        return f"torch.nn.parallel.{last}"
    if head == "torch" and f"torch.nn.functional.{last}" in torch.SHARED:
        return f"torch.nn.functional.{last}"
    if name in losses.SPELLINGS:
        return losses.SPELLINGS[name]
    return metrics.canonical(name) if name.startswith(metrics.ROOTS) else name


__all__ = [
    "SIGNATURES",
    "Signature",
    "activations",
    "canonical",
    "effects",
    "losses",
    "metrics",
    "optimizers",
    "precision",
    "torch",
    "torchtext",
    "torchvision",
    "transformers",
]  # fmt: skip
