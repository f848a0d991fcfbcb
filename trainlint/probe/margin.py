"""Where the signal of the right class ends: one kind of arithmetic in, the first margin without gradient out.

The right class is always class 0, its logit is swept over the numbers of the format, and all other logits are zero, so
that the margin ``z_t - logsumexp(the others)`` is the logit less ``ln(classes - 1)``. Gradients are those of a sum over
rows, as autograd hands them to the logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from trainlint.facts.precision import Dtype
from trainlint.probe.search import first
from trainlint.probe.spellings import SPELLINGS

LAYOUTS = ("NC", "NCT")
LOWEST, HIGHEST = 0.125, 80.0
"""The margins that are searched. Beyond 80 even an exact gradient comes near the smallest numbers of float32."""


@dataclass(frozen=True)
class Arithmetic:
    """Everything that decides where the signal ends."""

    device: str
    dtype: Dtype
    loss: str
    layout: str
    classes: int
    compiled: bool = False
    autocast: bool = False

    @property
    def torch_dtype(self) -> torch.dtype:
        return TORCH[self.dtype]

    @property
    def spread(self) -> str:
        """Whether the rest of the mass lies on a single class or on many alike."""
        return "single" if self.classes == 2 else "uniform"


TORCH = {
    Dtype.FLOAT64: torch.float64,
    Dtype.FLOAT32: torch.float32,
    Dtype.FLOAT16: torch.float16,
    Dtype.BFLOAT16: torch.bfloat16,
}


@dataclass(frozen=True)
class Row:
    """What was found: ``cutoff`` is None where the gradient is never exactly zero up to ``HIGHEST``.

    ``not_a_number`` is the margin from which there is no gradient but NaN, where that comes first, and ``unmeasured``
    why there is no answer at all.
    """

    arithmetic: Arithmetic
    cutoff: float | None = None
    not_a_number: float | None = None
    unmeasured: str = ""


def arithmetics(
    devices: Sequence[str], dtypes: Sequence[Dtype], losses: Sequence[str], layouts: Sequence[str],
    classes: Sequence[int], modes: Sequence[tuple[bool, bool]],
) -> Iterator[Arithmetic]:  # fmt: skip
    """All that can be written; a mode says whether the loss is compiled, and whether it runs under autocast."""
    for device, (compiled, autocast), layout, count in product(devices, modes, layouts, classes):
        for loss, dtype in product(losses, dtypes):
            if SPELLINGS[loss].knows(layout, count) and (dtype.is_short or not autocast):
                yield Arithmetic(device, dtype, loss, layout, count, compiled, autocast)


def devices() -> tuple[str, ...]:
    """The kinds of hardware that torch can use here."""
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "xpu": _has_xpu()}
    return ("cpu", *(name for name, there in found.items() if there))


def _has_xpu() -> bool:
    return hasattr(torch, "xpu") and torch.xpu.is_available()


def described(device: str) -> str:
    """The hardware by name, with the version of torch that computed on it."""
    kind = torch.device(device).type
    name = torch.cuda.get_device_name(device) if kind == "cuda" else ""
    if kind == "cpu":
        name = torch.backends.cpu.get_cpu_capability()
    return f"{device}{f' ({name})' if name else ''}, torch {torch.__version__}"


def measure(arithmetic: Arithmetic) -> Row:
    """Find the first margin without signal, and never fail: what this torch cannot do here is said in the row."""
    try:
        return _measured(arithmetic)
    except Exception as error:  # Kernels that are missing, compilers that are not installed: no common base class.
        reason = str(error).strip().partition("\n")[0]
        return Row(arithmetic, unmeasured=f"{type(error).__name__}: {reason}" if reason else type(error).__name__)


def _measured(arithmetic: Arithmetic) -> Row:
    signal = signals(arithmetic)
    shift = math.log(arithmetic.classes - 1)
    search = (arithmetic.torch_dtype, LOWEST + shift, HIGHEST + shift)
    logit = first(lambda logits: signal(logits) == 0, *search)
    if logit is not None:
        return Row(arithmetic, logit - shift)
    undefined = first(lambda logits: signal(logits).isnan(), *search)
    return Row(arithmetic, not_a_number=None if undefined is None else undefined - shift)


def signals(arithmetic: Arithmetic) -> Callable[[Tensor], Tensor]:
    """A function from logits of the right class to the gradients that reach them."""
    spelling = SPELLINGS[arithmetic.loss]
    loss = compiled(spelling.loss) if arithmetic.compiled else spelling.loss
    kind = torch.device(arithmetic.device).type
    third = arithmetic.classes if spelling.takes == "features" else 1

    def signal(logits: Tensor) -> Tensor:
        logits = logits.to(arithmetic.device)
        leaf = inputs(logits, arithmetic, spelling.takes).requires_grad_()
        targets = torch.zeros(leaf.shape[:1] + leaf.shape[2:], dtype=torch.long, device=leaf.device)
        mode = torch.autocast(kind, arithmetic.torch_dtype) if arithmetic.autocast else nullcontext()
        with mode:
            total = loss(leaf, targets, third)
        (gradient,) = torch.autograd.grad(total, leaf)
        return (gradient if gradient.dim() == 1 else gradient.select(1, 0).flatten()).cpu()

    return signal


def inputs(logits: Tensor, arithmetic: Arithmetic, takes: str) -> Tensor:
    """What a loss is given, one row for each logit of the right class; its first column holds them."""
    if takes == "logit":
        return logits.clone()
    width = 2 if takes == "features" else arithmetic.classes
    if arithmetic.layout == "NCT":
        rows = torch.zeros(1, width, len(logits), dtype=logits.dtype, device=logits.device)
    else:
        rows = torch.zeros(len(logits), width, dtype=logits.dtype, device=logits.device)
    rows[:, 0] = logits
    return rows


def compiled(loss: Callable[[Tensor, Tensor, int], Tensor]) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Compiled afresh: after too many shapes torch would go back to eager and say nothing."""
    torch._dynamo.reset()
    return torch.compile(loss, fullgraph=True, dynamic=False)
