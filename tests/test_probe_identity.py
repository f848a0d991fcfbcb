"""Watching changes nothing: weights, optimizer state and the next random number are the same bits with and without."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from trainlint.probe.losses import LossMeter
from trainlint.probe.record import LossRecord
from trainlint.probe.watching import Watch

CLASSES = 7
STEPS = 30


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(CLASSES, 16)
        self.drop = nn.Dropout(0.1)
        self.mix = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        made: Tensor = self.head(self.drop(self.mix(self.embed(tokens))[0]))
        return made


Step = Callable[[Model, torch.optim.Optimizer], None]


def batch() -> tuple[Tensor, Tensor]:
    rows = torch.randint(CLASSES, (4, 9))
    targets = rows[:, 1:].clone()
    targets[torch.rand(targets.shape) < 0.2] = CLASSES - 1
    return rows[:, :-1], targets


def eager(model: Model, optimizer: torch.optim.Optimizer) -> None:
    inputs, targets = batch()
    optimizer.zero_grad()
    torch.autograd.backward(cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), ignore_index=CLASSES - 1))
    optimizer.step()


def used_three_times(model: Model, optimizer: torch.optim.Optimizer) -> None:
    """Gradients that meet at the logits are added in the same order."""
    inputs, targets = batch()
    optimizer.zero_grad()
    logits = model(inputs).transpose(1, 2)
    z_loss = logits.logsumexp(1).square().mean()
    loss = F.nll_loss(F.log_softmax(logits, 1), targets) + 1e-2 * z_loss
    loss = loss + F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="none").mean()
    torch.autograd.backward(loss)
    optimizer.step()


def accumulated(model: Model, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    for _ in range(3):
        inputs, targets = batch()
        torch.autograd.backward(nn.CrossEntropyLoss()(model(inputs).transpose(1, 2), targets) / 3)
    optimizer.step()


def autocast(model: Model, optimizer: torch.optim.Optimizer) -> None:
    inputs, targets = batch()
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten(), weight=torch.ones(CLASSES))
    torch.autograd.backward(loss)
    optimizer.step()


def evaluated(model: Model, optimizer: torch.optim.Optimizer) -> None:
    eager(model, optimizer)
    model.eval()
    inputs, targets = batch()
    with torch.inference_mode():
        cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    with torch.no_grad():
        cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    model.train()


def closure(model: Model, optimizer: torch.optim.Optimizer) -> None:
    inputs, targets = batch()

    def again() -> float:
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        torch.autograd.backward(loss)
        return loss.item()

    optimizer.step(again)


def kept_graph(model: Model, optimizer: torch.optim.Optimizer) -> None:
    inputs, targets = batch()
    optimizer.zero_grad()
    loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    torch.autograd.backward(loss, retain_graph=True)
    torch.autograd.backward(loss)
    optimizer.step()


def checkpointed(reentrant: bool) -> Step:
    def step(model: Model, optimizer: torch.optim.Optimizer) -> None:
        inputs, targets = batch()
        optimizer.zero_grad()

        def loss(rows: Tensor) -> Tensor:
            return cross_entropy(model.head(rows).flatten(0, 1), targets.flatten(), ignore_index=CLASSES - 1)

        torch.autograd.backward(checkpoint(loss, model.embed(inputs), use_reentrant=reentrant))
        optimizer.step()

    return step


def scaled() -> Step:
    """Every third step has gradients that are infinite, and is skipped."""
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    count = iter(range(10**6))

    def step(model: Model, optimizer: torch.optim.Optimizer) -> None:
        inputs, targets = batch()
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        torch.autograd.backward(scaler.scale(loss * (float("inf") if next(count) % 3 == 2 else 1)))
        scaler.step(optimizer)
        scaler.update()

    return step


STEPS_OF: dict[str, Callable[[], Step]] = {
    "eager": lambda: eager,
    "used three times": lambda: used_three_times,
    "accumulated": lambda: accumulated,
    "autocast": lambda: autocast,
    "evaluated": lambda: evaluated,
    "closure": lambda: closure,
    "kept graph": lambda: kept_graph,
    "checkpointed": lambda: checkpointed(False),
    "checkpointed, reentrant": lambda: checkpointed(True),
    "scaled": scaled,
}

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3),
    "fused AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, fused=True),
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, lr=1e-3),
    "Adagrad": lambda parameters: torch.optim.Adagrad(parameters),
    "NAdam": lambda parameters: torch.optim.NAdam(parameters),
}


def trained(
    step: Step, make: Callable[[Any], torch.optim.Optimizer] = OPTIMIZERS["AdamW"], dtype: torch.dtype = torch.float32
) -> list[Any]:
    """Everything that a run leaves: weights, state, the last gradients, the next random numbers."""
    torch.manual_seed(3)
    random.seed(3)
    model = Model().to(dtype)
    optimizer = make(model.parameters())
    model.train()
    for _ in range(STEPS):
        step(model, optimizer)
    state = optimizer.state_dict()["state"]
    grads = [each.grad for each in model.parameters()]
    return [*model.state_dict().values(), state, grads, torch.rand(3), random.random()]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        numbers = torch.equal(one.isnan(), other.isnan()) and torch.equal(one.nan_to_num(), other.nan_to_num())
        return numbers and one.dtype == other.dtype
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other cost more than these small models."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    with Watch(every=1) as watched:
        yield watched
    assert watched.record.faults == ()


@pytest.mark.parametrize("name", STEPS_OF)
def test_a_step_leaves_the_same_bits(name: str) -> None:
    plain = trained(STEPS_OF[name]())
    with watching() as watched:
        seen = trained(STEPS_OF[name]())
    assert same(plain, seen)
    assert watched.record.steps == (STEPS * 2 // 3 if name == "scaled" else STEPS)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_leaves_the_same_bits(name: str, dtype: torch.dtype) -> None:
    plain = trained(eager, OPTIMIZERS[name], dtype)
    with watching() as watched:
        seen = trained(eager, OPTIMIZERS[name], dtype)
    assert same(plain, seen)
    (optimizer,) = watched.record.optimizers
    assert len(optimizer.groups[0].rho) == (dtype is torch.bfloat16)


def loss_of(watched: Watch) -> LossRecord:
    (loss,) = watched.record.losses
    return loss


@pytest.mark.parametrize("name", ["eager", "checkpointed", "checkpointed, reentrant"])
def test_what_is_computed_twice_is_counted_once(name: str) -> None:
    with watching() as watched:
        trained(STEPS_OF[name]())
    loss = loss_of(watched)
    assert (loss.training.calls, loss.training.rows) == (STEPS, STEPS * 32)
    assert loss.evaluation.calls == 0
    assert loss.signal.observed == loss.training.kept


def test_a_second_pass_over_one_graph_is_counted_once() -> None:
    with watching() as watched:
        trained(kept_graph)
    assert loss_of(watched).signal.observed == loss_of(watched).training.kept


def test_an_evaluation_is_counted_apart() -> None:
    with watching() as watched:
        trained(evaluated)
    modes = [(bool(loss.training.calls), bool(loss.evaluation.calls)) for loss in watched.record.losses]
    assert modes == [(True, False), (False, True), (False, True)]
    (mode,) = watched.record.modes
    assert mode.steps == 0


def test_sequences_are_found_behind_flattened_targets() -> None:
    with watching() as watched:
        trained(eager)
    sequences = loss_of(watched).sequences
    assert sequences is not None
    assert (sequences.sequences, sequences.shortest, sequences.longest) == (STEPS * 4, 8, 8)


def test_gradients_are_those_of_this_loss_alone() -> None:
    """The same logits carry another term: it must not make rows without signal look alive."""
    torch.manual_seed(0)
    logits = torch.zeros(8, 4).bfloat16()
    logits[:, 0] = 9
    logits.requires_grad_()
    with watching() as watched:
        torch.autograd.backward(cross_entropy(logits, torch.zeros(8, dtype=torch.long)) + logits.square().mean())
    signal = loss_of(watched).signal
    assert (signal.zero, signal.live) == (8, 8)


def test_a_fault_of_the_probe_is_told_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: LossMeter, call: object) -> None:
        raise ZeroDivisionError("of the probe")

    plain = trained(eager)
    monkeypatch.setattr(LossMeter, "see", fail)
    with Watch(every=1) as watched:
        seen = trained(eager)
    assert same(plain, seen)
    assert "looking at a loss: ZeroDivisionError: of the probe" in watched.record.faults


def test_a_script_of_torch_still_compiles_under_watch() -> None:
    with watching() as watched:
        scripted = torch.jit.script(_scripted)
        assert scripted(torch.randn(3, 4), torch.tensor([0, 1, 2])).item() > 0
    assert watched.record.faults == ()


def _scripted(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits, targets)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_step_is_seen_and_leaves_the_same_bits(backend: str) -> None:
    def step(model: Model, optimizer: torch.optim.Optimizer) -> None:
        inputs, targets = batch()
        optimizer.zero_grad()
        torch.autograd.backward(compiled(model.head, model.embed(inputs), targets))
        optimizer.step()

    def loss(head: nn.Module, rows: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(head(rows).flatten(0, 1), targets.flatten(), ignore_index=CLASSES - 1)

    compiled = torch.compile(loss, backend=backend, fullgraph=True)
    plain = trained(step)
    torch._dynamo.reset()
    with watching() as watched:
        seen = trained(step)
    torch._dynamo.reset()
    assert same(plain, seen)
    found = loss_of(watched)
    assert (found.training.calls, found.place.path) == (STEPS, __file__)
    assert found.training.dropped > 0


@pytest.mark.skipif(not hasattr(F, "linear_cross_entropy"), reason="this torch has no such loss")
def test_of_a_loss_in_chunks_the_targets_are_counted() -> None:
    def step(model: Model, optimizer: torch.optim.Optimizer) -> None:
        inputs, targets = batch()
        optimizer.zero_grad()
        rows, options = model.embed(inputs).flatten(0, 1), nn.LinearCrossEntropyOptions()
        loss = F.linear_cross_entropy(rows, model.head.weight, targets.flatten(), ignore_index=0, options=options)
        torch.autograd.backward(loss)
        optimizer.step()

    plain = trained(step)
    with watching() as watched:
        seen = trained(step)
    assert same(plain, seen)
    found = loss_of(watched)
    assert (found.function, found.classes, found.training.calls) == ("linear_cross_entropy", CLASSES, STEPS)
    assert found.training.dropped and not found.signal.sampled


def test_everything_is_put_back() -> None:
    before = torch._C._nn.cross_entropy_loss, torch._C._nn.nll_loss_nd, nn.Module.train
    with watching():
        assert torch._C._nn.cross_entropy_loss is not before[0]
    assert (torch._C._nn.cross_entropy_loss, torch._C._nn.nll_loss_nd, nn.Module.train) == before
