"""In which numbers a model computes and keeps its weights: formats, storage, optimizers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from trainlint.value import Step


class Dtype(Enum):
    """A floating-point format, as PyTorch spells it."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"

    @property
    def significand(self) -> int:
        """Bits of the significand, the hidden one included."""
        return {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}[self.value]

    @property
    def eps(self) -> float:
        """The gap between 1 and the next number, ``torch.finfo(dtype).eps``.

        >>> Dtype.BFLOAT16.eps, Dtype.FLOAT16.eps
        (0.0078125, 0.0009765625)
        """
        return float(2 ** (1 - self.significand))

    @property
    def is_short(self) -> bool:
        """Whether a number takes 16 bits."""
        return self in {Dtype.BFLOAT16, Dtype.FLOAT16}


@dataclass(frozen=True)
class Storage:
    """The format in which the parameters of a model are stored, the lines that decide it, and defaults among them."""

    dtype: Dtype
    evidence: tuple[Step, ...] = ()
    assumed: tuple[Step, ...] = ()
