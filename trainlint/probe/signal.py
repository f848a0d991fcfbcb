"""What of a loss reaches the right class: sampled rows in, margins and gradients counted on the device out.

Rows are chosen by counting, never by chance. Gradients are read where autograd hands them to the logits of this one
loss; the graph stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from trainlint.facts.runs import ZERO_SHARE
from trainlint.probe.guard import guarded
from trainlint.probe.record import BINS, HIGHEST, LOWEST, Signal

if TYPE_CHECKING:
    from trainlint.probe.losses import Call

ROWS, ROWS_OF_WIDE, WIDE = 256, 64, 2048
"""Rows of one sample; fewer where a row is long."""

WINDOW = 5
"""Samples that make one window."""

KEPT_WINDOWS = 512

PASSED_THROUGH = frozenset({"ToCopyBackward0", "ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0"})
"""What may stand between a loss and the log_softmax that it is given."""


class SignalMeter:
    """Margins and gradients of every so many calls."""

    def __init__(self, classes: int, device: torch.device, every: int) -> None:
        self.every, self.calls, self.samples = every, 0, 0
        self.margins = torch.zeros(BINS, dtype=torch.int64, device=device)
        self.sampled, self.observed, self.zero, self.live, self.dead, self.streak, self.longest = (
            torch.zeros((), dtype=torch.int64, device=device) for _ in range(7)
        )
        self.lost = torch.zeros((), dtype=torch.float32, device=device)
        self.window = torch.zeros(2, dtype=torch.int64, device=device)
        self.windows: list[Tensor] = []
        self.rows = ROWS if classes <= WIDE else ROWS_OF_WIDE

    def see(self, call: Call, logits: Tensor) -> None:
        """Look at some rows of this call, if it is its turn."""
        turn, rest = divmod(self.calls, self.every)
        self.calls += 1
        if rest or not call.target.numel():
            return
        positions = chosen(call.target.numel(), self.rows, turn, call.target.device)
        targets = call.target.reshape(-1).index_select(0, positions).long()
        kept = targets != call.ignore_index
        targets = targets.clamp(0, call.classes - 1)
        self._margins(picked(logits.detach(), positions), targets, kept)
        if call.smoothing == 0:
            self._follow(call, logits.shape, positions, targets, kept)

    def _margins(self, rows: Tensor, targets: Tensor, kept: Tensor) -> None:
        """The rows are copies, and used up."""
        rows = rows if rows.dtype is torch.float64 else rows.float()
        right = rows.gather(1, targets[:, None])
        others = rows.scatter_(1, targets[:, None], -torch.inf).logsumexp(1)
        margin = right.squeeze(1) - others
        counts = kept & ~margin.isnan()
        place = ((margin.nan_to_num() - LOWEST) * (BINS / (HIGHEST - LOWEST))).clamp(0, BINS - 1).long()
        self.margins += torch.zeros_like(self.margins).index_put_((place,), counts.long(), accumulate=True)
        self.sampled += kept.sum()

    def _follow(self, call: Call, shape: torch.Size, positions: Tensor, targets: Tensor, kept: Tensor) -> None:
        """Have the gradient of these rows counted when it comes."""
        node = log_softmax_of(call.output)
        if node is None:
            return
        classes, times = call.classes, iter((1,))

        @guarded("reading a gradient")
        def see_gradient(gradients: Sequence[Tensor | None], _: Sequence[Tensor | None]) -> None:
            gradient = gradients[0]
            if gradient is None or next(times, None) is None:
                return
            rows = _as_given(gradient.detach(), shape, classes)
            if rows is not None:
                self._gradients(picked(rows, positions), targets, kept)

        node.register_hook(see_gradient)

    def _gradients(self, rows: Tensor, targets: Tensor, kept: Tensor) -> None:
        right = rows.gather(1, targets[:, None]).squeeze(1)
        # A sum of sizes is zero exactly where all of them are, and one pass over wide rows is what this costs.
        total = torch.linalg.vector_norm(rows, 1, 1, dtype=torch.promote_types(rows.dtype, torch.float32))
        live = kept & (total > 0)
        zero = live & (right == 0)
        size = right.abs().to(total.dtype)
        self.lost += torch.where(live, 1 - size / (total - size), 0).nan_to_num(0, 0, 0).sum().float()
        counted = torch.stack((zero.sum(), live.sum()))
        self.zero += counted[0]
        self.live += counted[1]
        self.dead += (kept & (total == 0)).sum()
        self.observed += kept.sum()
        self._window(counted)

    def _window(self, counted: Tensor) -> None:
        self.window += counted
        self.samples += 1
        if self.samples % WINDOW:
            return
        many = (self.window[0] >= self.window[1] * ZERO_SHARE) & (self.window[1] > 0)
        self.streak = (self.streak + 1) * many
        self.longest = torch.maximum(self.longest, self.streak)
        self.windows = [*self.windows[-KEPT_WINDOWS + 1 :], self.window.clone()]
        self.window.zero_()

    def record(self) -> Signal:
        """What was counted; waits for the device."""
        numbers = (self.observed, self.zero, self.live, self.dead)
        observed, zero, live, dead = (int(number) for number in numbers)
        return Signal(
            sampled=int(self.sampled),
            margins=tuple(self.margins.tolist()),
            observed=observed,
            zero=zero,
            live=live,
            dead=dead,
            lost=float(self.lost),
            windows=tuple((int(pair[0]), int(pair[1])) for pair in self.windows),
            longest=int(self.longest),
        )


def chosen(rows: int, most: int, turn: int, device: torch.device) -> Tensor:
    """Positions at equal distances, which start elsewhere at every turn, so that no place is always passed over."""
    stride = -(-rows // most)
    return torch.arange(turn * 7 % stride, rows, stride, device=device)


def picked(logits: Tensor, positions: Tensor) -> Tensor:
    """Copies of these rows, one below the other, whatever the layout."""
    if logits.dim() == 1:
        return logits[None].clone()
    if logits.dim() == 2:
        return logits.index_select(0, positions)
    spatial = logits.flatten(2)
    batch = positions.div(spatial.size(2), rounding_mode="floor")
    return spatial[batch, :, positions - batch * spatial.size(2)]


def log_softmax_of(output: Tensor) -> Any | None:
    """The node of the graph that hands the gradient of this loss to its logits."""
    node = output.grad_fn
    for _ in range(6):
        if node is None:
            return None
        name = node.name()
        if name == "LogSoftmaxBackward0":
            return node
        if not name.startswith("NllLoss") and name not in PASSED_THROUGH:
            return None
        node = node.next_functions[0][0] if node.next_functions else None
    return None


def _as_given(gradient: Tensor, shape: torch.Size, classes: int) -> Tensor | None:
    """The gradient in the form of the logits that the loss was given; None where it has another."""
    if gradient.shape == shape:
        return gradient
    if len(shape) == 2 and gradient.size(-1) == classes and gradient.numel() == shape.numel():
        return gradient.reshape(shape)
    return None
