"""TL302: a loss is computed in 16 bits.

A loss over classes adds 1 and exp(-margin), where the margin is the lead of the right score over all others together.
In bfloat16, with 8 bits, that sum is 1 as soon as the margin passes 5.5; in float16 as soon as it passes 7.6; in
float32 at 16.6. From there on the probability of the right class is exactly 1 and its gradient exactly 0, while the
wrong classes go on getting theirs: the gradient of a row no longer adds up to 0, and the scores drift.

Logits come in 16 bits out of a model that is stored in them (``model.bfloat16()``, ``from_pretrained(dtype=...)``,
``precision="bf16-true"``), out of a sharded one (FSDP's policies and DeepSpeed cast the parameters, and open no region
of mixed precision), and out of a region of mixed precision that ends before the loss.

Where the arithmetic runs decides the rest. Margins from which the gradient of the right class is exactly 0, measured on
the CPU with torch 2.13, one other class:

                                                  float32   bfloat16   float16
    cross_entropy, log_softmax then nll_loss         16.6        5.5       7.6
    the log of a softmax, binary losses of scores    16.6        6.2       8.3
    a score minus logsumexp, by hand                 14.4        4.0       6.0
    cross_entropy under autocast("cpu")              16.6       16.7      16.6
    log_softmax under autocast("cpu")                16.6        5.5       7.6
    a score minus logsumexp under autocast("cpu")    14.4        4.0       6.0

``autocast("cuda")`` computes all of these in float32, and PyTorch's own kernels for CUDA compute ``cross_entropy`` and
``log_softmax`` in float32 inside, whatever they are given: so their source says, not yet measured. What is written out
by hand, and a binary loss, rounds there too.

Do not count on an accuracy gain. The collapse bites where training goes to a loss near zero: small tasks that are
learned by heart, fine-tuning for many epochs, distillation. Where the loss stays above one, hardly any row comes near
the margin, and the cure costs one copy of the logits in float32.

To fix it, cast the logits: ``cross_entropy(logits.float(), targets)``, or ``log_softmax(logits, -1,
dtype=torch.float32)``. Do not cast logits that are float64 already: that lowers the margin from 36.7 to 16.6.

Bad:

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    model = nn.Linear(64, 10).bfloat16()


    def step(x, y):
        logits = model(x.bfloat16())
        return F.cross_entropy(logits, y)

Good:

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    model = nn.Linear(64, 10).bfloat16()


    def step(x, y):
        logits = model(x.bfloat16())
        return F.cross_entropy(logits.float(), y)

Severity. A warning. A note where the files that lead there name CUDA, whose kernels compute this loss in float32
inside: the same line rounds on any other device, and in kernels of others.

Silent where the logits are cast on the way, inside a region of mixed precision that computes this loss in 32 bits, with
label smoothing (whose best answer has a finite margin), where the compiler sees the loss, for classes in dimension 1 of
more than two (that kernel adds in float32) and for fused losses, which never hold the logits. What is not settled is
listed as not judged: a model whose making is not seen, a trainer of a library that may open a region.
"""

from collections.abc import Iterator

from trainlint import (
    AddImport,
    Applicability,
    Device,
    Finding,
    Fix,
    LossArithmetic,
    SetKeyword,
    Severity,
    Spelling,
    Unknown,
    Wrap,
    given,
    rule,
)

CURES = {
    Spelling.NATIVE: "pass logits.float()",
    Spelling.SEPARATE: "give log_softmax dtype=torch.float32",
    Spelling.LOGARITHM: "use log_softmax with dtype=torch.float32",
    Spelling.BY_HAND: "compute both the score and logsumexp from logits.float()",
    Spelling.BINARY: "pass logits.float(), and targets in float32",
}


@rule("TL302")
def missing_logits_upcast(loss: LossArithmetic) -> Iterator[Finding]:
    """Flag a loss whose sum over the classes is rounded to 16 bits."""
    dtype, logits, cutoff = loss.arithmetic, loss.logits, loss.cutoff
    if isinstance(dtype, Unknown) or isinstance(logits, Unknown) or not dtype.is_short or cutoff is None:
        return
    if loss.smoothed:
        return
    is_wide = loss.device is Device.CUDA and loss.is_wide_on_cuda
    yield Finding(
        loss.call,
        _what(loss, dtype.value, cutoff, _where(loss)) + given(logits.assumed),
        _so(loss, is_wide=is_wide),
        (*logits.evidence, *(loss.hints if is_wide else ())),
        CURES[loss.spelling],
        logits.assumed,
        Severity.NOTE if is_wide else Severity.WARNING,
        fix=_fix(loss, is_sure=not (is_wide or logits.assumed)),
    )


def _fix(loss: LossArithmetic, *, is_sure: bool) -> Fix | None:
    """The cast. Of logits that may be float64 it would lower the margin, and where nothing rounds it costs a copy.

    Weights of the classes would have to be cast too: PyTorch refuses two formats.
    """
    applicability = Applicability.SAFE if is_sure else Applicability.UNSAFE
    if loss.weighted:
        return None
    if loss.spelling is Spelling.NATIVE and loss.shown:
        return Fix(applicability, "Cast the logits to float32", (Wrap(loss.shown, after=".float()"),))
    if loss.spelling is Spelling.SEPARATE and loss.softened:
        edits = (SetKeyword(loss.softened, "dtype", "torch.float32"), AddImport(loss.softened, "torch"))
        return Fix(applicability, "Compute log_softmax in float32", edits)
    return None


def _where(loss: LossArithmetic) -> str:
    """Where the numbers hold, for a spelling that not every device computes alike."""
    if not loss.is_wide_on_cuda:
        return ""
    return " except by CUDA's own kernels" if loss.device is not Device.CPU else ""


def _what(loss: LossArithmetic, dtype: str, cutoff: float, where: str) -> str:
    about = "about " if loss.spelling is Spelling.BY_HAND else ""
    lead = f"the right class gets no gradient from a margin of {about}{cutoff:.1f} on"
    if loss.spelling is Spelling.BINARY:
        lead = f"a right answer gets no gradient from a score of {cutoff:.1f} on"
    return f"{loss.function} is given {dtype} logits and computed in {dtype}{where}: {lead}"


def _so(loss: LossArithmetic, *, is_wide: bool) -> str:
    if is_wide:
        return "on CUDA PyTorch computes this in float32 inside; the same line rounds on the CPU, on MPS and by hand"
    if loss.spelling is Spelling.LOGARITHM:
        return "and a probability that rounds to 0 has the logarithm -inf, whose gradient is NaN"
    if loss.spelling is Spelling.BINARY:
        return "answers that are nearly right stop being learned, and the loss of such a row is exactly 0"
    return "rows that are nearly right stop being learned, while their wrong classes are still pushed down"
