"""Which classes a loss teaches, without data and without a model: a callable in, the classes without signal out.

The loss is given random logits and every class as the target once. A class is taught if the loss falls as its logit
rises where it is the target. Draws come from generators of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from trainlint.probe.margin import HIGHEST, LOWEST
from trainlint.probe.search import Question, before, first

POSITIONS = 3
"""Length of a sequence. All its targets are one class, so that a loss that shifts them by a position is judged too."""
AT_ONCE = 1 << 22
"""Logits in one call, at most."""
DRAWS = 4
"""Further looks at a class that seemed to get nothing: a loss may keep the hard rows only, or some at random."""


SOME = 64
"""Rows by which a way to call the loss is judged; neighbours in them have different targets."""
FEW, BESIDE = 256, 8
"""Up to so many doubtful classes are looked at one by one, among so many that are taught."""


class Uncalled(Exception):
    """The loss cannot be called with logits and targets, in no known way; the message says what happened."""


@dataclass(frozen=True)
class Way:
    """How logits and targets are arranged: ``layout`` is NC, NTC or NCT."""

    layout: str
    swapped: bool = False
    one_hot: bool = False

    def __str__(self) -> str:
        shapes = {"NC": "(N, C)", "NTC": "(B, T, C)", "NCT": "(B, C, T)"}
        targets = {"NC": "(N,)", "NTC": "(B, T)", "NCT": "(B, T)"}[self.layout]
        words = [
            f"logits {shapes[self.layout]}",
            f"one-hot targets {shapes[self.layout]}" if self.one_hot else f"targets {targets}",
        ]
        return ", ".join(reversed(words) if self.swapped else words)

    @property
    def positions(self) -> int:
        return 1 if self.layout == "NC" else POSITIONS


WAYS = (
    Way("NC"), Way("NTC"), Way("NCT"), Way("NC", one_hot=True),
    Way("NC", swapped=True), Way("NTC", swapped=True), Way("NCT", swapped=True), Way("NC", swapped=True, one_hot=True),
)  # fmt: skip
"""In the order in which they are tried."""


class Lesson(Enum):
    """What one class got from the loss where it was the target."""

    TAUGHT = "taught"
    REVERSED = "reversed"
    NOTHING = "nothing"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Bench:
    """A loss, the number of classes it is for, and the numbers it is given."""

    loss: Callable[..., Any]
    classes: int
    dtype: torch.dtype = torch.float32
    device: str = "cpu"


@dataclass(frozen=True)
class Verdict:
    """What a loss does: by lesson its classes, and where the signal of the first that it teaches ends.

    ``declared`` is what happens to targets of the number that was said to be padding, empty if they are left out.
    """

    way: Way
    lessons: Mapping[Lesson, Sequence[int]] = field(default_factory=dict)
    swept: int | None = None
    cutoff: float | None = None
    not_a_number: float | None = None
    declared: str = ""


def judge(bench: Bench, declared: int | None = None) -> Verdict:
    """Find out how the loss is called, what it teaches, and where its signal ends.

    Raises:
        Uncalled: it cannot be called, or teaches no class at all.
    """
    torch.manual_seed(0)
    if isinstance(bench.loss, nn.Module):
        bench.loss.to(bench.device)
    way = found(bench)
    try:
        return _judged(bench, way, declared)
    except Exception as error:  # The user's code may raise anything.
        raise Uncalled(f"called with {way}, it failed on some rows: {told(error)}") from error


def _judged(bench: Bench, way: Way, declared: int | None) -> Verdict:
    lessons = taught(bench, way)
    classes = {lesson: [number for number, got in enumerate(lessons) if got is lesson] for lesson in Lesson}
    swept = lessons.index(Lesson.TAUGHT)
    cutoff, not_a_number = end(bench, way, swept)
    padding = "" if declared is None else skipped(bench, way, declared)
    return Verdict(way, classes, swept, cutoff, not_a_number, padding)


def found(bench: Bench) -> Way:
    """The first way to call the loss that teaches in an eighth of some rows, else the one that does so in the most.

    A loss that keeps only its hardest rows teaches few of them, one that is called in a wrong way none.

    Raises:
        Uncalled: no way works, or none teaches anything.
    """
    spread = sorted({round(index * (bench.classes - 1) / (SOME - 1)) for index in range(SOME)})
    some = [spread[index % len(spread)] for index in range(SOME)]
    scores: dict[Way, int] = {}
    failures: dict[str, Way] = {}
    for way in WAYS:
        if way.swapped and any(not ran.one_hot for ran in scores):
            break
        try:
            scores[way] = score(bench, way, some)
        except Exception as error:  # The user's code may raise anything.
            failures.setdefault(told(error), way)
        # Not the best of all: other kinds of targets may pass by what leaves out the classes that are sought.
        if scores.get(way, 0) > SOME / 8:
            return way
    best = max(scores, key=lambda way: scores[way], default=None)
    if best is not None and scores[best]:
        return best
    ran = next((way for way in scores if not way.swapped), None)
    if ran is not None:
        raise Uncalled(f"with {ran} it raises the logit of no target and lowers those of the others; is it a loss?")
    raise Uncalled("; ".join(f"with {way}: {why}" for why, way in list(failures.items())[:3] if not way.swapped))


def told(error: Exception) -> str:
    """The first line of what went wrong."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def score(bench: Bench, way: Way, numbers: Sequence[int]) -> int:
    """How many of these classes are taught, zero if no other class is pushed down for it: then it is no such loss.

    Raises:
        ValueError: there is no number among their gradients.
    """
    own, gradient, column = look(bench, way, numbers, (), 0)
    if own.isnan().all():
        raise ValueError("the gradient is nan for every target")
    others = (gradient.scatter(-1, column, 0) > 0).any()
    return sum(_lesson(row) is Lesson.TAUGHT for row in own) if others else 0


def taught(bench: Bench, way: Way) -> list[Lesson]:
    """What each class gets; a class that seems to get nothing is looked at again, at last with its row the hardest."""
    rows = max(2, min(256, AT_ONCE // (bench.classes * way.positions)))
    lessons: list[Lesson] = []
    for start in range(0, bench.classes, rows):
        chunk = [*range(start, min(start + rows, bench.classes))]
        lessons += lessons_of(bench, way, chunk, lessons, 0)
    for draw in range(1, DRAWS + 1):
        doubtful = [number for number, lesson in enumerate(lessons) if lesson is not Lesson.TAUGHT]
        together = 1 if draw > 1 and len(doubtful) <= FEW else rows
        for start in range(0, len(doubtful), together):
            chunk = doubtful[start : start + together]
            for number, lesson in zip(chunk, lessons_of(bench, way, chunk, lessons, draw), strict=True):
                lessons[number] = min(lesson, lessons[number], key=list(Lesson).index)
    return lessons


def lessons_of(bench: Bench, way: Way, numbers: Sequence[int], known: Sequence[Lesson], draw: int) -> Iterator[Lesson]:
    """What these get beside some that are taught: a mean over targets that are all left out is no number."""
    beside = [number for number, lesson in enumerate(known) if lesson is Lesson.TAUGHT][: max(len(numbers), BESIDE)]
    own, _, _ = look(bench, way, numbers, beside if draw else beside[:1], draw)
    return map(_lesson, own)


def look(
    bench: Bench, way: Way, numbers: Sequence[int], beside: Sequence[int], draw: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of these classes as targets of a row or a sequence, those of all classes, and whose is which.

    In a later draw the right class is far behind in these rows, and far ahead in those beside them: a loss that keeps
    only the hardest rows keeps these.
    """
    targets = torch.tensor([*numbers, *beside])[:, None].expand(-1, way.positions)
    column = targets[..., None]
    lead = torch.tensor([-2.0 * draw] * len(numbers) + [2.0 * draw] * len(beside))[:, None, None]
    logits = drawn(len(targets), way.positions, bench.classes, draw)
    own = logits.gather(-1, column)
    gradient = gradients(bench, way, logits.scatter_(-1, column, own + lead), targets)
    logits.scatter_(-1, column, own)
    return gradient.gather(-1, column).squeeze(-1)[: len(numbers)], gradient, column


@lru_cache(maxsize=1)
def drawn(rows: int, positions: int, classes: int, draw: int) -> Tensor:
    """Random logits. Drawing them costs more than the loss does, so that what is drawn last is kept for reuse."""
    return torch.randn(rows, positions, classes, generator=torch.Generator().manual_seed(draw))


def _lesson(own: Tensor) -> Lesson:
    if own.isnan().any():
        return Lesson.UNDEFINED
    if (own < 0).any():
        return Lesson.TAUGHT
    return Lesson.REVERSED if own.any() else Lesson.NOTHING


def gradients(bench: Bench, way: Way, logits: Tensor, targets: Tensor) -> Tensor:
    """The gradients of the logits, both as (rows, positions, classes)."""
    leaf = _arranged(logits.to(bench.device, bench.dtype), way).detach().requires_grad_()
    wanted = targets.to(bench.device)
    if way.one_hot:
        wanted = F.one_hot(wanted, bench.classes).to(bench.dtype)
    wanted = wanted.squeeze(1).clone() if way.layout == "NC" else wanted.clone()
    shown = leaf.clone()  # What is no leaf may be changed in place.
    value = _value(bench.loss(wanted, shown) if way.swapped else bench.loss(shown, wanted))
    # As if summed: the mean over many rows would be lost in float16 first.
    total = value.sum() * (targets.numel() if value.numel() == 1 else 1)
    (gradient,) = torch.autograd.grad(total, leaf)
    gradient = gradient.detach().cpu()
    if way.layout == "NC":
        return gradient[:, None]
    return gradient.transpose(1, 2) if way.layout == "NCT" else gradient


def _arranged(logits: Tensor, way: Way) -> Tensor:
    if way.layout == "NC":
        return logits.squeeze(1)
    return logits.transpose(1, 2).contiguous() if way.layout == "NCT" else logits


def _value(returned: Any) -> Tensor:
    """The loss among what was returned.

    Raises:
        TypeError: there is none that depends on the logits.
    """
    for value in _values(returned):
        if isinstance(value, Tensor) and value.requires_grad:
            return value
    raise TypeError("what it returns depends on no logit")


def _values(returned: Any) -> Iterator[Any]:
    if isinstance(returned, Mapping):
        yield returned.get("loss")
        yield from returned.values()
    elif isinstance(returned, (tuple, list)):
        yield from returned
    else:
        yield returned
        yield getattr(returned, "loss", None)


def end(bench: Bench, way: Way, number: int) -> tuple[float | None, float | None]:
    """The margin from which this class gets exactly no gradient, and the one from which it gets NaN, if that is first.

    All other classes are equal. Many rows are asked about in one call, and row by row where that makes a difference.
    """
    shift = math.log(bench.classes - 1)

    def together(scores: Tensor) -> Tensor:
        return own_gradients(bench, way, number, scores)

    def alone(scores: Tensor) -> Tensor:
        return torch.stack([together(score.repeat(2))[0] for score in scores])

    dead, undefined = _ends(together, bench, shift)
    turn = undefined if dead is None else dead
    probed = [HIGHEST + shift] if turn is None else [before(turn, bench.dtype), turn]
    checked = alone(torch.tensor(probed, dtype=bench.dtype))
    gone = (checked == 0) | checked.isnan()
    if gone.tolist() != ([False] if turn is None else [False, True]):
        dead, undefined = _ends(alone, bench, shift)
    return None if dead is None else dead - shift, None if undefined is None else undefined - shift


def _ends(signal: Question, bench: Bench, shift: float) -> tuple[float | None, float | None]:
    search = (bench.dtype, LOWEST + shift, HIGHEST + shift)
    dead = first(lambda scores: signal(scores) == 0, *search)
    return (dead, None) if dead is not None else (None, first(lambda scores: signal(scores).isnan(), *search))


def own_gradients(bench: Bench, way: Way, number: int, scores: Tensor) -> Tensor:
    """What a class gets as the target in each row, where its logits are these and all others are zero.

    Of a sequence it is the most that a position gets: the last one of a loss that shifts its targets gets nothing.
    """
    targets = torch.full((len(scores), way.positions), number)
    logits = torch.zeros(*targets.shape, bench.classes, dtype=bench.dtype)
    logits[..., number] = scores[:, None]
    own = gradients(bench, way, logits, targets)[..., number]
    most = own.abs().nan_to_num(math.inf).argmax(1, keepdim=True)
    return own.gather(1, most).squeeze(1)


def skipped(bench: Bench, way: Way, declared: int) -> str:
    """What the loss does to targets that should be left out, as a part of a sentence; empty if it leaves them out."""
    if way.one_hot:
        return "cannot be told from one-hot targets"
    others = [number for number in range(bench.classes) if number != declared][:2]
    targets = torch.tensor([others[0], declared, others[-1], declared])[:, None].expand(-1, way.positions)
    logits = torch.randn(*targets.shape, bench.classes, generator=torch.Generator().manual_seed(0))
    try:
        gradient = gradients(bench, way, logits, targets)
    except Exception as error:  # The user's code may raise anything.
        return f"are refused: {told(error)}"
    return "get a gradient" if gradient[[1, 3]].any() else ""
