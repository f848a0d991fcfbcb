"""Students that start as an exact copy of their teacher, and the optimizer that is to keep them there.

Only what stands in one function is followed: the copy, the optimizer, the loss and its ``backward``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import ExactCopy
from trainlint.knowledge import torch
from trainlint.knowledge.optimizers import Known, optimizer
from trainlint.record import thing
from trainlint.regex import regex
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.distillation import modes
from trainlint.source.linkers.distillation.origins import Origin, origin
from trainlint.source.linkers.site import Site, application, call_of, callable_of, named_so, passed, real_of, standing
from trainlint.source.names import reaching
from trainlint.source.sift.distillation import starts
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import External, Frame, Thunk
from trainlint.source.training import inside
from trainlint.source.world import World
from trainlint.value import Real, Unknown

ADAM = regex("adam", re.IGNORECASE)
CALM = frozenset(
    {"train", "eval", "to", "cuda", "cpu", "double", "float", "parameters", "named_parameters", "requires_grad_"}
)
"""Methods that leave the weights of a module as they are, and what it computes."""

SCHEDULED = regex(r"LR$|[Ss]chedul|warmup|[Aa]nneal")
RESIDUAL = frozenset({torch.DIVERGENCE_FUNCTION.name, torch.DIVERGENCE_CLASS.name})
"""Losses whose gradient is the difference of two roundings where both sides are equal; that of a square is zero."""


@thing
class Copy:
    """A student under its name, the teacher under its own, and the statement that makes one of the other."""

    student: str
    teacher: str
    statement: ast.stmt


def sites(world: World, module: Module) -> Iterator[Site]:
    """The calls that make an Adam for the parameters of one model, in files that copy one."""
    if not starts(module.data):
        return
    for node, _ in named_so(module, lambda word: ADAM.search(word) is not None):
        call = call_of(module, node)
        if call is not None and call.args and _student(call.args[0]):
            yield Site(call, module)


def _student(params: ast.expr) -> str:
    """The name of a model whose parameters an optimizer is given."""
    match params:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="parameters")):
            return name
    return ""


def facts(world: World, site: Site) -> Iterator[ExactCopy]:
    """The copy that one optimizer trains, in one world."""
    frame = standing(world, site)
    called = world.evaluate(site.call.func, frame)
    known = optimizer(called.name) if isinstance(called, External) else None
    copy = _copied(world, site, frame) if known is not None else None
    if known is None or copy is None or not _is_untouched(site, copy) or _is_scheduled(site):
        return
    loss = _loss(world, site, frame)
    matched = _matched(world, site, loss, frame, copy) if loss is not None else None
    if matched is not None and _answer_alike(world, site, copy, frame):
        yield ExactCopy(
            site.span, site.span, None, (), (), known.signature.last, copy.student, copy.teacher,
            site.module.step(copy.statement), site.module.step(matched), _eps(world, site, known, frame),
        )  # fmt: skip


def _eps(world: World, site: Site, known: Known, frame: Frame) -> Real | Unknown:
    default = known.signature.defaults.get("eps")
    plain = Real(float(default)) if isinstance(default, int | float) else Unknown("its epsilon has no default", "eps")
    given = argument(arguments(world, site.call, frame), known.signature.parameters, "eps")
    return real_of(world, given, plain)


def _copied(world: World, site: Site, frame: Frame) -> Copy | None:
    """``student = copy.deepcopy(teacher)``, or ``student.load_state_dict(teacher.state_dict())``."""
    student = _student(site.call.args[0])
    for node in inside(site.module.scope(site.call)):
        match node:
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="load_state_dict"),
                    args=[ast.Call(func=ast.Attribute(value=ast.Name(id=teacher), attr="state_dict"))],
                    keywords=[],
                )
            ) if name == student and node.lineno < site.call.lineno:
                return Copy(student, teacher, node)
    found = reaching(world, student, site.call, frame)
    made = found.node if found is not None else None
    match made:
        case ast.Assign(targets=[ast.Name()], value=value):
            teacher = _original(value)
            return Copy(student, teacher, made) if teacher else None
    return None


def _original(node: ast.expr) -> str:
    """What is copied, behind the methods that leave a copy what it is."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr=attr)) if attr in CALM:
            return _original(inner)
        case ast.Call(func=func, args=[ast.Name(id=name)]) if last(func) == "deepcopy":
            return name
    return ""


def _reads(site: Site, name: str) -> Iterator[ast.Name]:
    scope = site.module.scope(site.call)
    for node in site.module.loads.get(name, ()):
        if isinstance(node, ast.Name) and site.module.scope(node) is scope:
            yield node


def _is_untouched(site: Site, copy: Copy) -> bool:
    """Whether nothing changes a student between the copy and the optimizer, nor its teacher from then on."""
    first, last_row = copy.statement.end_lineno or copy.statement.lineno, site.call.lineno
    student = (node for node in _reads(site, copy.student) if first < node.lineno < last_row)
    teacher = (node for node in _reads(site, copy.teacher) if first < node.lineno)
    return all(_is_calm(site.module, node) for node in (*student, *teacher))


def _is_calm(module: Module, node: ast.Name) -> bool:
    """Whether a read of a model leaves its weights alone."""
    parent = module.parents.get(node)
    match parent:
        case ast.Call(func=func):
            return func is node
        case ast.Attribute(attr=attr, ctx=ast.Load()):
            holder = module.parents.get(module.parents.get(parent, parent))
            return attr in CALM and not (isinstance(holder, ast.Call) and last(holder.func) == "zip")
    return isinstance(parent, ast.Return)


def _is_scheduled(site: Site) -> bool:
    """Whether a scheduler is given the optimizer: a learning rate that falls ends the wandering."""
    parent = site.module.parents.get(site.call)
    name = dotted(parent.targets[0]) if isinstance(parent, ast.Assign) else None
    calls = (site.module.parents.get(node) for node in _reads(site, name)) if name else ()
    return any(isinstance(each, ast.Call) and SCHEDULED.search(last(each.func)) for each in calls)


def _loss(world: World, site: Site, frame: Frame) -> ast.expr | None:
    """What the one ``backward`` of a scope goes back from."""
    scope = site.module.scope(site.call)
    found = [node for node in site.module.loads.get("backward", ()) if site.module.scope(node) is scope]
    match found:
        case [ast.Attribute(value=ast.Name(id=name) as loss)]:
            binding = reaching(world, name, loss, frame)
            made = binding.node if binding is not None else None
            return made.value if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name) else None
        case [ast.Attribute(value=loss)]:
            return loss
    return None


def _matched(world: World, site: Site, loss: ast.expr, frame: Frame, copy: Copy) -> ast.expr | None:
    """The call of the divergence that is all of a loss, up to a factor, and compares the two models on one input."""
    match loss:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _matched(world, site, left, frame, copy) or _matched(world, site, right, frame, copy)
        case ast.Call():
            known = application(world, world.evaluate(callable_of(loss), frame), loss, frame, RESIDUAL)
            given = [passed(known, place, (name,)) for place, name in enumerate(("input", "target"))] if known else []
            sides = [origin(world, each.node, each.frame) for each in given if isinstance(each, Thunk)]
            return loss if len(sides) == 2 and _is_of_both(sides, copy) else None
    return None


def _is_of_both(sides: list[Origin], copy: Copy) -> bool:
    """Whether the student and the teacher were asked the same, and nothing else was done to one answer."""
    first, second = sides
    match first.node, second.node:
        case ast.Call(func=ast.Name(id=one)) as asked, ast.Call(func=ast.Name(id=two)) as other:
            return (
                {one, two} == {copy.student, copy.teacher}
                and _given(asked) == _given(other)
                and (first.steps == second.steps)
            )
    return False


def _given(call: ast.Call) -> list[str]:
    return [ast.unparse(each) for each in (*call.args, *call.keywords)]


def _answer_alike(world: World, site: Site, copy: Copy, frame: Frame) -> bool:
    """Whether the two are in one mode, or no layer of theirs depends on it."""
    mode = {copy.student: "", copy.teacher: ""}
    for node in sorted(_switches(site, copy), key=lambda each: each.lineno):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr):
                mode[name] = attr
            case _:
                mode[copy.student] = mode[copy.teacher]
    if mode[copy.student] == mode[copy.teacher]:
        return True
    teacher = next(iter(_reads(site, copy.teacher)), None)
    return teacher is not None and modes.depending(world, world.evaluate(teacher, frame)) is False


def _switches(site: Site, copy: Copy) -> Iterator[ast.Attribute | ast.stmt]:
    """The lines that set the mode of either, and the copy, which takes it over."""
    yield copy.statement
    for node in (*_reads(site, copy.student), *_reads(site, copy.teacher)):
        match site.module.parents.get(node):
            case ast.Attribute(attr="train" | "eval") as switch if switch.lineno < _loop(site):
                yield switch


def _loop(site: Site) -> int:
    """The line at which the training begins that a scope does."""
    found = site.module.loads.get("backward", ())
    scope = site.module.scope(site.call)
    return min((node.lineno for node in found if site.module.scope(node) is scope), default=site.call.lineno)
