"""Losses over class indices, CTC losses, metrics, and trainers whose models make the loss themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import CtcLoss, Fact, Fill, Job, Layer, Loss, Metric, Targets
from trainlint.knowledge import SIGNATURES, canonical, metrics, torch, transformers
from trainlint.knowledge import losses as other_losses
from trainlint.knowledge.losses import Contract
from trainlint.knowledge.roles import roles, words
from trainlint.record import replace
from trainlint.source import callers, jobs, layers, lookups
from trainlint.source.binding import arguments, defaults
from trainlint.source.builtin import entry
from trainlint.source.flow import applications
from trainlint.source.gradients import trains
from trainlint.source.linkers.site import (
    NARROW,
    Applied,
    Site,
    application,
    applying,
    call_of,
    callable_of,
    deciding,
    handed_on,
    inherited,
    is_excluded,
    is_handed_on,
    layer_of,
    named_so,
    number_of,
    passed,
    place_of,
    span_of,
    standing_to_train,
)
from trainlint.source.linkers.targets import chosen, detectors, labels, means
from trainlint.source.objects import library_base, lineage, method, methods
from trainlint.source.shapes import dimension
from trainlint.source.summary import Module, last
from trainlint.source.things import (
    Arguments,
    Built,
    Class,
    Constant,
    Entries,
    External,
    Frame,
    Function,
    Items,
    Tensor,
    Thing,
    Thunk,
)  # fmt: skip
from trainlint.source.world import MOST_BENEATH, Impossible, Path, World, worlds
from trainlint.span import Span
from trainlint.value import Integer, Position, Proof, Role, Unknown

OF_TORCH = {known.name: known for known in (*torch.LOSS_FUNCTIONS, *torch.LOSS_CLASSES)}
LOSSES = {*OF_TORCH, *other_losses.KNOWN}
CTC = {known.name for known in (*torch.CTC_FUNCTIONS, *torch.CTC_CLASSES, *other_losses.CTC_CLASSES)}
FUNCTIONS = {
    *(known.last for known in (*torch.LOSS_FUNCTIONS, *torch.CTC_FUNCTIONS)),
    *(known.word for known in other_losses.CONTRACTS if not known.is_class),
}
SEGMENTING = {known.word for known in other_losses.SEGMENTING}
TRAINERS = {name.rpartition(".")[2] for name in transformers.TRAINERS}
SKIPS = ("ignore_index", "ignore_label", "ignore_id", "ignored_index", "padding_idx")
"""What an accuracy of the project's own calls the class it skips."""

METRICS = {name.rpartition(".")[2] for name in (*metrics.CLASSES, *metrics.FUNCTIONS)}
WORDS = {
    *(name.rpartition(".")[2] for name in (*OF_TORCH, *CTC)),
    *(known.word for known in other_losses.CONTRACTS),
}
KNOWN = LOSSES | CTC | set(metrics.CLASSES) | set(metrics.FUNCTIONS)
NAMED = METRICS | TRAINERS | WORDS | SEGMENTING
DASHES = ("-", "_", "ε", "ϵ", "~")
NOT_ASKED = Unknown("a negative index is no class, whatever the layer")
NOT_APPLIED = Unknown("no call of this object was found")


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that this file makes or causes: losses called by name, and applications of what it constructs."""
    for node, word in named_so(module, lambda word: word in NAMED or _is_accuracy(word)):
        call = call_of(module, node)
        if word in METRICS or word in SEGMENTING:
            if call and any(keyword.arg == "ignore_index" for keyword in call.keywords):
                yield from applying(world, module, node)
        elif word in WORDS:
            yield from _sites_of_loss(world, module, node, word)
        elif call:
            yield Site(call, module)


def _is_accuracy(name: str) -> bool:
    return "acc" in name.lower() and not {"acc", "accuracy"}.isdisjoint(words(name))


def _sites_of_loss(world: World, module: Module, node: ast.expr, word: str) -> Iterator[Site]:
    call, parent = call_of(module, node), module.parents.get(node)
    if call and word in FUNCTIONS:
        yield Site(call, module)
    elif isinstance(parent, ast.Attribute) and parent.attr == "apply" and (applied := call_of(module, parent)):
        yield Site(applied, module)
    elif isinstance(parent, ast.ClassDef):
        yield from _sites_of_subclass(world, module, parent)
    else:
        yield from applying(world, module, node)


def _sites_of_subclass(world: World, module: Module, node: ast.ClassDef) -> Iterator[Site]:
    """The calls of what the project derives from a known loss, and those that hand on to the loss itself."""
    yield from handed_on(module, node)
    for made in callers.constructions(world, Class(node, module, world.open_frame(module, node))):
        for call, where in applications(world, made.module, made.node).items():
            yield Site(call, where)


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows at a site; nothing if it is no loss and no metric after all."""
    frame = standing_to_train(world, site)
    if is_handed_on(site.call):
        yield from _inherited(world, site, frame)
        return
    if is_excluded(world, site, frame):
        raise Impossible
    called = world.evaluate(callable_of(site.call), frame)
    known = application(world, called, site.call, frame, KNOWN)
    fact: Fact | None = None
    if isinstance(called, External) and canonical(called.name) in transformers.TRAINERS:
        fact = _trained(world, site, frame)
    elif known is not None:
        fact = _judgeable(world, known, site, frame)
    elif isinstance(called, Built) and isinstance(called.what, Class):
        fact = _derived(world, called, called.what, site, frame)
    elif isinstance(called, Function | External):
        fact = _own_metric(world, called, site, frame)
    world.follow(fact is not None or _is_entered(called))
    if fact is not None:
        yield fact
    if isinstance(fact, Loss) and known is not None and not world.narrow:
        yield from _about_labels(world, known, fact)
        if _averages(world, known):
            yield from means.built_in(world, site, fact)


def _is_entered(called: Thing) -> bool:
    """Whether a thing that is called is code of the project, or of a library whose other losses skip nothing."""
    match called:
        case Function() | Built(what=Class()):
            return True
        case External(name=name) | Built(what=External(name=name)):
            return canonical(name).startswith(other_losses.WITHOUT_SENTINEL)
    return False


def _about_labels(world: World, applied: Applied, loss: Loss) -> Iterator[Fact]:
    """The tables of labels that the loss shows its layer to serve, and a label that takes the class of nothing."""
    index, targets = loss.ignore_index, loss.targets
    table = None
    if isinstance(index, Integer) and not _is_negative(index):
        table = lookups.table_behind(world, index, loss.call.path)
    looked_up, filled = isinstance(targets, Targets) and targets.ids, isinstance(targets, Targets) and targets.constant
    if table is None and not looked_up and not filled:
        return
    contract = _contract(applied)
    logits = passed(applied, contract.logits[0], (contract.logits[1],))
    for (layer, masked), _ in worlds(world.beneath, lambda inner: _emitted(inner, logits), MOST_BENEATH):
        if not masked:
            yield from labels.of_loss(world, loss, layer, table)
        if filled and isinstance(targets, Targets):
            yield from detectors.no_object(world, loss, layer, targets)


def _emitted(world: World, logits: Thunk | Unknown | None) -> tuple[Layer | Unknown, bool]:
    """The layer that makes the logits, and whether some of its classes may be shut out."""
    thing = world.force(logits) if isinstance(logits, Thunk) else None
    return layer_of(world, logits), isinstance(thing, Tensor) and thing.masked


def _inherited(world: World, site: Site, frame: Frame) -> Iterator[Fact]:
    """A class of the project hands on to the loss that it extends."""
    known = inherited(world, site, frame, LOSSES | CTC)
    fact = _judgeable(world, known, site, frame) if known is not None else None
    if fact is not None:
        yield fact


def _derived(world: World, called: Built, cls: Class, site: Site, frame: Frame) -> Fact | None:
    """A class of the project that extends a known loss: one that leaves its ``forward`` alone is that loss."""
    part = library_base(world, called)
    bases = (each.name for each in lineage(world, cls) if isinstance(each, External))
    base = next((name for name in bases if name in LOSSES | CTC), None)
    if base is None:
        return None
    own = method(world, cls, "forward", called) or method(world, cls, "__call__", called)
    if own is None and part is not None:
        given = arguments(world, site.call, frame)
        known = Applied(base, given, part.arguments, part.node, part.frame)
        return _judgeable(world, known, site, frame)
    if own is not None and _is_followed(own):
        return None
    why = Unknown(f"{cls.name} extends {base.rpartition('.')[2]}, and what it changes is not followed")
    span = site.module.span(site.call)
    return Loss(span, span, None, (), (), cls.name, why, why, is_default=False, job=None, targets=why)


def _is_followed(own: Function) -> bool:
    """Whether a ``forward`` hands on to a known loss by a call that is judged itself."""
    calls = (each for each in ast.walk(own.node) if isinstance(each, ast.Call))
    return any(is_handed_on(call) or last(call.func) in FUNCTIONS for call in calls)


def _judgeable(world: World, applied: Applied, site: Site, frame: Frame) -> Fact | None:
    if applied.built is None and _makes_an_object(applied.name):
        return _unapplied(world, applied, site, frame)
    if applied.name in CTC:
        return _ctc(world, applied, site, frame)
    return _loss(world, applied, site, frame) if applied.name in LOSSES else _metric(world, applied, site, frame)


def _makes_an_object(name: str) -> bool:
    known = other_losses.KNOWN.get(name)
    return known.is_class if known is not None else name.rpartition(".")[2][:1].isupper()


def _is_negative(number: Integer | Unknown) -> bool:
    return isinstance(number, Integer) and number.maximum is not None and number.maximum < 0


def _targets(world: World, given: Thunk | Unknown | None, built: Span | None) -> Targets | Unknown:
    """What is known of the targets on any path that agrees with this one."""
    if not isinstance(given, Thunk):
        return given or Unknown("the targets are not passed")
    things = [thing for thing, _ in worlds(world.beside, lambda inner: inner.force(given), MOST_BENEATH)]
    traced = [thing for thing in things if isinstance(thing, Tensor)]
    if not traced:
        return Unknown("the targets are not traced", getattr(things[0], "name", "") if things else "")
    values = dict.fromkeys(value for thing in traced for value in thing.values)
    fills = dict.fromkeys(replace(fill, built=built) for thing in traced for fill in thing.fills)
    appended = dict.fromkeys(value for thing in traced for value in thing.appended)
    one = traced[0] if len(traced) == 1 else Tensor()
    ids = tuple(dict.fromkeys(each for thing in traced for each in thing.ids)) if all(t.ids for t in traced) else ()
    return Targets(
        tuple(values), tuple(appended), one.lowest, one.highest, tuple(fills), traced[0].evidence, one.drawn, ids,
        all(thing.constant for thing in traced),
    )  # fmt: skip


def _contract(applied: Applied) -> Contract:
    """What a loss is given, and what it skips."""
    return other_losses.KNOWN.get(applied.name) or Contract(applied.name, OF_TORCH[applied.name].parameters)


def _loss(world: World, applied: Applied, site: Site, frame: Frame) -> Loss | None:
    contract = _contract(applied)
    given = deciding(applied, contract.sentinel)
    if given is None and contract.default is None:
        return None
    default = Integer.exact(contract.default) if contract.default is not None else Unknown("it skips nothing")
    ignored = number_of(world, given, default)
    target = passed(applied, contract.target[0], (contract.target[1],))
    by_hand = _left_out(world, applied, target, site) if _is_negative(ignored) else None
    given, ignored = (by_hand, number_of(world, by_hand, ignored)) if by_hand is not None else (given, ignored)
    logits = passed(applied, contract.logits[0], (contract.logits[1],))
    measured = _measured(world, logits, ignored)
    layer = NOT_ASKED if _is_negative(ignored) else measured or _layer(world, applied, contract)
    built = _decided_by_default(world, ignored, frame)
    weights = _weights(world, applied)
    targets = NARROW if world.narrow else _targets(world, target, built)
    if isinstance(targets, Targets):
        hidden = weights is not None or _by_hand(world, applied)
        kept = [fill for fill in targets.fills if not _is_answer(world, fill, layer)]
        targets = replace(targets, fills=() if hidden else tuple(kept))
    fact = Loss(
        call=site.module.span(site.call),
        argument=place_of(given, applied, site),
        built=span_of(applied),
        context=(),
        branch=(),
        function=applied.name.removesuffix(".apply").rpartition(".")[2],
        layer=layer,
        ignore_index=ignored,
        is_default=given is None,
        job=_weighted(ignored, weights) or job_of(world, ignored, layer, targets, site.span),
        targets=targets,
        trains=trains(site.module, site.call),
        by_hand=by_hand is not None,
    )
    return _of_texts(world, fact, ignored, site.module.path)


def _left_out(world: World, applied: Applied, target: Thunk | Unknown | None, site: Site) -> Thunk | None:
    """The number that a function skips by hand, beside a loss that skips nothing which may be a class."""
    if not isinstance(target, Thunk):
        return None
    number = chosen.left_out(target, site.call, site.module, each=_by_hand(world, applied))
    return Thunk(number, target.frame) if number is not None else None


def _of_texts(world: World, loss: Loss, ignored: Integer | Unknown, near: str) -> Loss:
    """A loss that skips the padding token of a tokenizer: where that is its end token, texts have it as a target."""
    has_job = isinstance(loss.job, Job) and loss.job.role.is_job
    is_outside = not isinstance(loss.position, Unknown) and loss.position is not Position.INSIDE
    if has_job or isinstance(ignored, Unknown) or is_outside:
        return loss
    job = jobs.end_of_texts(world, ignored, near)
    if job is None:
        return loss
    ended = jobs.closing_texts(world, ignored, near)
    known = loss.targets if isinstance(loss.targets, Targets) else Targets()
    appended = (*known.appended, *((ignored,) if ended else ()))
    return replace(
        loss, end_of_texts=job, targets=replace(known, appended=appended, evidence=(*known.evidence, *ended))
    )


def _layer(world: World, applied: Applied, contract: Contract) -> Layer | Unknown:
    """The layer before a loss: that of its logits, or the one whose weight it is given, or its own."""
    if world.narrow:
        return NARROW
    if contract.weight is not None:
        weight = passed(applied, contract.weight[0], (contract.weight[1],))
        return (
            layers.linear(world, weight, 0) if isinstance(weight, Thunk) else weight or Unknown("no weight is passed")
        )
    if contract.head and applied.node is not None and applied.frame is not None:
        built = Built(External(applied.name), applied.built, applied.node, applied.frame)
        return layers.counted(world, built, contract.head)
    logits = passed(applied, contract.logits[0], (contract.logits[1],))
    if applied.name in OF_TORCH and _is_refused(world, logits):
        raise Impossible
    return layer_of(world, logits)


def _is_refused(world: World, logits: Thunk | Unknown | None) -> bool:
    """Whether a loss is given what it stops at: the pair that another model returns, where this one is run."""
    return not world.renews and isinstance(logits, Thunk) and isinstance(world.force(logits), Items | Entries)


def _measured(world: World, logits: Thunk | Unknown | None, ignored: Integer | Unknown) -> Layer | None:
    """The logits as a layer of their own size, if the skipped index is read off that size."""
    if not isinstance(logits, Thunk) or logits.known is not None or not isinstance(ignored, Integer):
        return None
    match ignored.terms:
        case ((symbol, 1),) if symbol.origin == dimension(world, logits.node, 1, logits.frame):
            step = logits.frame.step(logits.node)
            return Layer(step.text, Integer.symbol(symbol), step.where, measured=True)
    return None


def _is_answer(world: World, fill: Fill, layer: Layer | Unknown) -> bool:
    """Whether what fills the targets is itself a class that the project gives a job."""
    nowhere = Layer("", Integer.exact(0), fill.where)
    job = jobs.job(world, fill.value, nowhere if isinstance(layer, Unknown) else layer)
    return isinstance(job, Job) and job.role.is_job and job.proof is Proof.USE


def _weights(world: World, applied: Applied) -> Thing | None:
    """The weight of each class, if the loss was given one."""
    parameters = SIGNATURES[applied.name].parameters
    given = deciding(applied, "ce_weight" if "ce_weight" in parameters else "weight")
    if not isinstance(given, Thunk):
        return given
    things = [thing for thing, _ in worlds(world.beside, lambda inner: inner.force(given), MOST_BENEATH)]
    weights = [thing for thing in things if not (isinstance(thing, Constant) and thing.value is None)]
    return next((each for each in weights if isinstance(each, Tensor)), weights[0] if weights else None)


def _by_hand(world: World, applied: Applied) -> bool:
    """``reduction="none"``: what counts is decided after the loss."""
    given = deciding(applied, "reduction")
    thing = world.force(given) if isinstance(given, Thunk) else None
    return isinstance(given, Unknown) or (thing is not None and not _reduces(thing))


def _averages(world: World, applied: Applied) -> bool:
    """``reduction="mean"``, which is the default."""
    given = deciding(applied, "reduction")
    thing = world.force(given) if isinstance(given, Thunk) else given
    return thing is None or (isinstance(thing, Constant) and thing.value == "mean")


def _reduces(thing: Thing) -> bool:
    return isinstance(thing, Constant) and thing.value in ("mean", "sum")


def _weighted(number: Integer | Unknown, weights: Thing | None) -> Job | None:
    """A class with a weight is meant to be learned."""
    if isinstance(number, Unknown) or number.number is None or not isinstance(weights, Tensor):
        return None
    place = number.number
    weight = weights.weights[place] if 0 <= place < len(weights.weights) else 0
    return Job(Role.LABEL, Proof.USE, f"a class with the weight {weight:g}", weights.evidence) if weight else None


def _ctc(world: World, applied: Applied, site: Site, frame: Frame) -> CtcLoss:
    given = deciding(applied, "blank")
    blank = number_of(world, given, Integer.exact(0))
    layer = layer_of(world, passed(applied, 0, ("log_probs",)))
    spared = _spares(world, passed(applied, 1, ("targets",)), blank)
    job = None if spared else job_of(world, blank, layer, Unknown("CTC targets are not followed"), site.span)
    return CtcLoss(
        call=site.module.span(site.call),
        argument=place_of(given, applied, site),
        built=span_of(applied),
        context=(),
        branch=(),
        function=applied.name.rpartition(".")[2],
        layer=layer,
        blank=blank,
        is_default=given is None,
        job=_blank(job, layer, blank),
        is_settled=spared,
    )


def _spares(world: World, target: Thunk | Unknown | None, blank: Integer | Unknown) -> bool:
    """Whether the targets are seen to count from above the blank: then it is none of them, whatever the layer."""
    if not isinstance(target, Thunk) or isinstance(blank, Unknown):
        return False
    things = [thing for thing, _ in worlds(world.beside, lambda inner: inner.force(target), MOST_BENEATH)]
    counted = [thing for thing in things if isinstance(thing, Tensor) and (thing.ascending or not thing.drawn)]
    lowest = [thing.lowest for thing in counted if thing.lowest is not None]
    return 0 < len(things) == len(lowest) and all(_is_above(each, blank) for each in lowest)


def _is_above(number: Integer, other: Integer) -> bool:
    least = (number - other).minimum
    return least is not None and least > 0


def _blank(job: Job | Unknown | None, layer: Layer | Unknown, index: Integer | Unknown) -> Job | Unknown | None:
    """A dash in a table that fills the layer is how CTC papers write the blank; beside a spare class it is a letter.

    Whatever the blank was looked up by, and named a blank, is the table's own word for it.
    """
    names = index.names if isinstance(index, Integer) else ()
    if isinstance(job, Job) and job.label in names and any(Role.BLANK in roles(name) for name in names):
        return replace(job, role=Role.BLANK)
    if not isinstance(job, Job) or job.label not in DASHES or isinstance(layer, Unknown):
        return job
    table = layer.classes.table
    return replace(job, role=Role.BLANK) if table is None or layer.classes.number == table.size else job


def _metric(world: World, applied: Applied, site: Site, frame: Frame) -> Metric | None:
    given = deciding(applied, "ignore_index")
    if given is None:
        return None
    ignored = number_of(world, given, Unknown("it skips nothing"))
    layer = layer_of(world, passed(applied, 0, ("preds",)))
    return Metric(
        call=site.module.span(site.call),
        argument=place_of(given, applied, site),
        built=span_of(applied),
        context=(),
        branch=(),
        function=applied.name.rpartition(".")[2],
        declared=number_of(world, deciding(applied, "num_classes"), Unknown("num_classes is not given")),
        layer=layer,
        ignore_index=ignored,
        job=job_of(world, ignored, layer, Unknown("a metric's targets are not followed"), site.span),
    )


def _own_metric(world: World, called: Function | External, site: Site, frame: Frame) -> Metric | None:
    """An accuracy that the project wrote itself: its name and its argument say so."""
    keyword = next((each for each in site.call.keywords if each.arg in SKIPS), None)
    if keyword is None or not _is_accuracy(called.name.rpartition(".")[2]) or not site.call.args:
        return None
    given = Thunk(keyword.value, frame)
    ignored = number_of(world, given, Unknown("it skips nothing"))
    layer = layer_of(world, Thunk(site.call.args[0], frame))
    call, declared = site.module.span(site.call), Unknown("the project's own accuracy declares no class count")
    job = job_of(world, ignored, layer, Unknown("a metric's targets are not followed"), site.span)
    return Metric(
        call, place_of(given, None, site), None, (), (), called.name.rpartition(".")[2], declared, layer, ignored, job
    )


def _trained(world: World, site: Site, frame: Frame) -> Loss | None:
    """A trainer whose model computes the loss itself: what matters is what fills the ``labels`` it is given."""
    given = arguments(world, site.call, frame)
    collated = given.keywords.get("data_collator")
    source = collated or given.keywords.get("train_dataset")
    if source is None:
        return None
    targets = [_labels(inner, source) for inner, _ in _beneath(world)]
    traced = [each for each in targets if each is not None]
    fills = tuple(dict.fromkeys(fill for each in traced for fill in each.fills))
    span = site.module.span(site.call)
    ignored = Integer.exact(transformers.IGNORE_INDEX)
    found = Targets(fills=fills) if traced else Unknown("the labels are not traced", "train_dataset")
    name = site.call.func.attr if isinstance(site.call.func, ast.Attribute) else getattr(site.call.func, "id", "")
    return Loss(span, span, None, (), (), name, NOT_ASKED, ignored, True, None, found, inside="the library's model")


def _beneath(world: World) -> Iterator[tuple[World, Path]]:
    return worlds(world.beneath, lambda inner: inner, MOST_BENEATH)


def _labels(world: World, source: Thunk) -> Tensor | None:
    """The ``labels`` of one example of a dataset, or of one batch of a collator."""
    thing = world.force(source)
    if isinstance(thing, Built) and isinstance(thing.what, Class):
        name = next((name for name in ("__getitem__", "__call__") if method(world, thing.what, name, thing)), "")
        thing = method(world, thing.what, name, thing) or thing
    if not isinstance(thing, Function):
        return None
    example = Thunk(source.node, source.frame, Unknown("the example is open"))
    made = world.call(thing, Arguments((example,)), source.node, source.frame)
    labels = entry(world, made, Constant("labels")) if isinstance(made, Entries) else None
    return labels if isinstance(labels, Tensor) else None


def _sentinel(name: str) -> str:
    return other_losses.KNOWN[name].sentinel if name in other_losses.KNOWN else "ignore_index"


def _unapplied(world: World, applied: Applied, site: Site, frame: Frame) -> Fact | None:
    """A construction by itself: a fact only if nothing in the project applies it."""
    if applications(world, site.module, site.call):
        return None
    span = site.module.span(site.call)
    given = deciding(applied, "blank" if applied.name in CTC else _sentinel(applied.name))
    value = number_of(world, given, Integer.exact(0 if applied.name in CTC else -100))
    name, place = applied.name.rpartition(".")[2], place_of(given, applied, site)
    if applied.name in CTC:
        return CtcLoss(span, place, span, (), (), name, NOT_APPLIED, value, given is None, None)
    if applied.name in LOSSES:
        return Loss(span, place, span, (), (), name, NOT_APPLIED, value, given is None, None, NOT_APPLIED)
    return Metric(span, place, span, (), (), name, NOT_APPLIED, NOT_APPLIED, value, None) if given else None


def job_of(
    world: World, number: Integer | Unknown, layer: Layer | Unknown, targets: Targets | Unknown, where: Span
) -> Job | Unknown | None:
    """What the index is for; asked where it may be a class, or where targets are known to take it."""
    if isinstance(number, Unknown) or _is_negative(number):
        return None
    known = layer if isinstance(layer, Layer) else Layer("", Integer.exact(0), where)
    position = number.position(layer.classes) if isinstance(layer, Layer) else None
    taken = isinstance(targets, Targets) and any((number - value).number == 0 for value in targets.values)
    if position in (Position.ONE_PAST, Position.BEYOND) and not taken:
        return None
    appended = isinstance(targets, Targets) and any((number - value).number == 0 for value in targets.appended)
    if appended and position is Position.INSIDE and isinstance(targets, Targets):
        name = number.names[-1] if number.names else str(number)
        return Job(Role.END, Proof.USE, f"{name}, which closes a sequence", targets.evidence)
    return jobs.job(world, number, known)


def _decided_by_default(world: World, number: Integer | Unknown, frame: Frame) -> Span | None:
    """The construction of the wrapper whose own default gave a number."""
    if world.narrow or isinstance(number, Unknown) or not number.evidence:
        return None
    owner, receiver = callers.owner(world, frame)
    if owner is None or not isinstance(receiver, Built) or receiver.arguments is None:
        return None
    init = methods(receiver.what).get("__init__") if isinstance(receiver.what, Class) else None
    if init is None or not isinstance(receiver.what, Class):
        return None
    places = {receiver.what.module.span(default) for default in defaults(init).values()}
    by_default = any(step.where in places for step in number.evidence)
    return receiver.frame.module.span(receiver.node) if by_default else None  # type: ignore[arg-type]
