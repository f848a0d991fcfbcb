"""Where the probe takes hold of torch: a session in, and torch tells it of losses, steps and modes until it lets go.

Losses are caught below ``torch.nn.functional``, where also calls pass whose names were imported before. Those names are
private, so it is tried at the start whether they still carry the calls; if not, the public functions are replaced, and
what that misses is said.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch._functorch.config
import torch.nn.functional as functional
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from trainlint.probe.compiled import LISTENERS, observed
from trainlint.probe.guard import note
from trainlint.probe.losses import Call
from trainlint.probe.session import Enough, Session

Function = Callable[..., Any]

LOW = {"cross_entropy_loss": "cross_entropy", "nll_loss_nd": "nll_loss"}
"""Private names of torch 2.4 to 2.13 below the public ones; both are looked up at every call."""

FUSED = {
    "_linear_cross_entropy_batch_chunked": 6,
    "_linear_cross_entropy_batch_chunked_no_reduction": 5,
}
"""Private names of torch 2.13 below ``linear_cross_entropy`` in chunks, and which argument the skipped index is."""

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


is_exporting: Callable[[], bool] = getattr(torch.compiler, "is_exporting", lambda: False)


class Attachment:
    """What was replaced in torch, and how it is put back. While one of them is ``tried``, the others do not listen."""

    tried: Attachment | None = None

    def __init__(self, session: Session) -> None:
        self.session = session
        self.undo: list[Callable[[], None]] = []

    def attach(self) -> None:
        """Take hold."""
        self._losses()
        self._fused()
        LISTENERS.append(self.session.see_compiled)
        self.undo.append(lambda: LISTENERS.remove(self.session.see_compiled))
        if hasattr(torch._functorch.config, "enable_autograd_cache"):
            # The cache does not know who watches: a graph from it would be blind, and one in it would bring the probe.
            self._replace(torch._functorch.config, "enable_autograd_cache", False)
        pre = register_optimizer_step_pre_hook(self._before_step)
        post = register_optimizer_step_post_hook(self._after_step)
        self.undo += [pre.remove, post.remove]
        self._replace(nn.Module, "train", self._told(nn.Module.train))
        self._replace(Optimizer, "__init__", self._made(Optimizer.__init__))

    def detach(self) -> None:
        """Put everything back."""
        while self.undo:
            self.undo.pop()()

    def _losses(self) -> None:
        room = getattr(torch._C, "_nn", None)
        if all(hasattr(room, name) for name in LOW):
            for name in LOW:
                self._replace(room, name, self._low(name, getattr(room, name)))
            if self._carries_calls():
                for name in LOW:
                    _tell_script(getattr(room, name), name)
                return
            for _ in LOW:
                self.undo.pop()()
        note(f"torch {torch.__version__} calls its losses in an unknown way: names imported before are not watched")
        for name in LOW.values():
            self._replace(functional, name, self._high(name, getattr(functional, name)))

    def _carries_calls(self) -> bool:
        """Whether the public functions end up in what was replaced."""
        heard: list[Call] = []
        Attachment.tried = self
        listener, self.session = self.session, _Listener(heard)  # type: ignore[assignment]
        try:
            logits, target = torch.zeros(2, 3), torch.zeros(2, dtype=torch.long)
            functional.cross_entropy(logits, target)
            functional.nll_loss(logits, target)
        finally:
            self.session = listener
            Attachment.tried = None
        return [call.function for call in heard] == list(LOW.values())

    def _low(self, name: str, original: Function) -> Function:
        public, bind = LOW[name], BINDERS[name]

        @functools.wraps(original)
        def loss(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            if torch.compiler.is_compiling():
                # An exported graph is kept and must stay free of the probe.
                return output if is_exporting() else observed(bind(public, output, *args, **kwargs))
            self._see(public, output, bind, args, kwargs)
            return output

        return loss

    def _fused(self) -> None:
        """Losses that make their logits in pieces: of these, targets are counted, and no more."""
        try:
            room = importlib.import_module("torch.nn.modules.linear_cross_entropy")
        except ImportError:
            return
        for name in FUSED:
            if hasattr(room, name):
                self._replace(room, name, self._pieces(name, getattr(room, name)))

    def _pieces(self, name: str, original: Function) -> Function:
        def bind(function: str, output: Any, *args: Any) -> Call:
            hidden, head, target = args[:3]
            trains = torch.is_grad_enabled() and (hidden.requires_grad or head.requires_grad)
            loss = output[0] if isinstance(output, tuple) else output
            return Call(function, None, target, args[4], 1, args[FUSED[name]], 0.0, loss, trains, head.size(0))

        @functools.wraps(original)
        def loss(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            if not torch.compiler.is_compiling():
                self._see("linear_cross_entropy", output, bind, args, kwargs)
            return output

        return loss

    def _high(self, name: str, original: Function) -> Function:
        @functools.wraps(original)
        def loss(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            self._see(name, output, _public, args, kwargs)
            return output

        return loss

    def _see(self, function: str, output: Tensor, bind: Callable[..., Call], args: Any, kwargs: Any) -> None:
        if Attachment.tried not in (None, self):
            return
        try:
            call = bind(function, output, *args, **kwargs)
        except Exception as error:  # A call that torch takes and we do not understand is no fault of the run.
            self.session.miss(function, f"the call is not understood: {type(error).__name__}")
            return
        self.session.see_loss(call)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self.session.see_step(optimizer, args, kwargs)

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        self.session.see_stepped(optimizer)
        if self.session.is_over:
            raise Enough(0)

    def _made(self, original: Function) -> Function:
        @functools.wraps(original)
        def make(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self.session.see_made(optimizer)

        return make

    def _told(self, original: Function) -> Function:
        """Only the outermost call is the user's: a module passes on what it is told to those inside it."""
        depth = 0

        @functools.wraps(original)
        def train(module: nn.Module, mode: bool = True) -> nn.Module:
            nonlocal depth
            depth += 1
            try:
                told: nn.Module = original(module, mode)
            finally:
                depth -= 1
            if not depth:
                self.session.see_mode(module)
            return told

        return train

    def _replace(self, owner: Any, name: str, new: Any) -> None:
        old = getattr(owner, name)
        setattr(owner, name, new)
        self.undo.append(lambda: setattr(owner, name, old))


class _Listener:
    """Stands in for a session while it is tried whether calls arrive."""

    def __init__(self, heard: list[Call]) -> None:
        self.see_loss = heard.append

    def miss(self, what: str, why: str) -> None:
        """Nothing was heard."""


def _cross_entropy_loss(
    function: str, output: Tensor, input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1,
    ignore_index: int = -100, label_smoothing: float = 0.0,
) -> Call:  # fmt: skip
    trains = torch.is_grad_enabled() and input.requires_grad
    return Call(function, input, target, weight, reduction, ignore_index, label_smoothing, output, trains)


def _nll_loss_nd(
    function: str, output: Tensor, input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1,
    ignore_index: int = -100,
) -> Call:  # fmt: skip
    return _cross_entropy_loss(function, output, input, target, weight, reduction, ignore_index)


def _public(
    function: str, output: Tensor, input: Tensor, target: Tensor, weight: Tensor | None = None,
    size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Call:  # fmt: skip
    number = REDUCTIONS[reduction]
    return _cross_entropy_loss(function, output, input, target, weight, number, ignore_index, label_smoothing)


BINDERS: dict[str, Callable[..., Call]] = {"cross_entropy_loss": _cross_entropy_loss, "nll_loss_nd": _nll_loss_nd}


def _tell_script(replaced: Function, name: str) -> None:
    """TorchScript knows the private functions by what they are; it must know the new ones for the same."""
    try:
        torch.jit._builtins._register_builtin(replaced, f"aten::{name}")
    except Exception as error:  # A private door too: scripts still run without it, unless they hold a loss.
        note(f"torch.jit.script cannot be told of {name}: {error}")
