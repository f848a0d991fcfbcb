"""Labels that are masked wherever they equal one token: by a library's collator, or by a comparison in the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainlint.facts import Alias, Fact, Job, LabelMask, Layer
from trainlint.knowledge import transformers
from trainlint.knowledge.roles import END_TEXT_IDS, index_roles
from trainlint.record import replace, thing
from trainlint.source import callers, chunks, jobs, tokenizers
from trainlint.source.binding import argument, arguments
from trainlint.source.linkers.site import Site, call_of, named, standing
from trainlint.source.names import holds
from trainlint.source.nodes import nodes_of
from trainlint.source.objects import call_of_base, initialisers, lineage, methods
from trainlint.source.summary import Module, dotted, last
from trainlint.source.things import Arguments, Built, Class, Constant, External, Frame, Opaque, Thing, Thunk
from trainlint.source.world import World
from trainlint.value import Integer, Proof, Role, Unknown

COLLATORS = {transformers.COLLATOR, transformers.COMPLETIONS}
COLLATING = ("data_collator", "collate_fn")
TRAINING = ("backward", "fit", "train", "training_step", "step")
WORDS = ("pad", "eos", "eot")
MODALITIES = {"audio", "image", "img", "video", "vision", "visual", "speech", "sound", "stream"}
"""``audio_eos_token_id`` closes a stretch of other data inside a text, and no text."""

"""What the name of a token says for which labels are looked at."""

SCORES = ("logit", "score", "prob", "attn", "attention", "mask", "weight", "bias", "loss", "pred", "generated")
"""What is filled with -100 and is no label."""

LABELS = ("label", "target", "tgt")

OPEN = Unknown("which token masks the labels is not known")


# Sites


def sites(world: World, module: Module) -> Iterator[Site]:
    """The constructions of collators that mask by a token, and the comparisons by which the project does."""
    for node, _ in named(module, COLLATORS):
        call, parent = call_of(module, node), module.parents.get(node)
        if call is not None and _is_used(module, call) and not _only_measures(module):
            yield Site(call, module)
        elif isinstance(parent, ast.ClassDef):
            derived = Class(parent, module, world.open_frame(module, parent))
            for made in callers.constructions(world, derived):
                yield Site(made.node, made.module)
    for node in _tokens(module):
        found = _masking(module, node)
        if found is not None:
            yield Site(node, module)


def _is_used(module: Module, call: ast.Call) -> bool:
    """Whether what a call makes collates training data: a trainer or loader takes it, it is called or handed back."""
    match module.parents.get(call):
        case ast.keyword(arg=name):
            return _is_read(module, name)
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            uses = module.loads.get(last(target), ())
            return any(_collates(module, use) for use in uses if dotted(use) == dotted(target))
        case ast.Return() | ast.Call():
            return True
    return False


def _collates(module: Module, use: ast.expr) -> bool:
    match module.parents.get(use):
        case ast.keyword(arg=name):
            return _is_read(module, name)
        case ast.Call(func=func) as call if func is use:
            return isinstance(use, ast.Name) and not _loses_labels(module, call)
        case ast.Call(func=func):
            return isinstance(use, ast.Name) or last(func)[:1].isupper()
        case ast.Return():
            return True
    return False


def _is_read(module: Module, option: str | None) -> bool:
    """Whether a collator that is given as this option may decide what is learned: a loop of the file's own, which reads
    its batches key by key, learns nothing from labels that it leaves there.
    """
    if option != "collate_fn":
        return option in COLLATING
    loops = [each for each in nodes_of(module.tree) if isinstance(each, ast.For)]
    over = [loop for loop in loops if "loader" in ast.unparse(loop.iter).lower()]
    return not over or any(_may_read_labels(module, loop) for loop in over)


def _may_read_labels(module: Module, loop: ast.For) -> bool:
    batch = loop.target.elts[-1] if isinstance(loop.target, ast.Tuple) else loop.target
    if not isinstance(batch, ast.Name):
        return True
    uses = (use for use in module.loads.get(batch.id, ()) if holds(module, loop, use))
    return not all(_is_of_another_key(module, use) for use in uses)


def _is_of_another_key(module: Module, batch: ast.expr) -> bool:
    """``batch["input_ids"]``, ``batch.get("attention_mask")``."""
    holder = module.parents.get(batch)
    match holder, module.parents.get(holder) if holder else None:
        case ast.Subscript(slice=ast.Constant(value=key)), _:
            return key != "labels"
        case ast.Attribute(attr="get"), ast.Call(args=[ast.Constant(value=key), *_]):
            return key != "labels"
    return False


def _loses_labels(module: Module, call: ast.Call) -> bool:
    """Whether the labels of a batch are thrown away, by ``batch.pop("labels")`` or ``del batch["labels"]``."""
    match module.parents.get(call):
        case ast.Assign(targets=[ast.Name(id=name)]):
            scope = module.scope(call)
            return any(module.scope(use) is scope and _drops(module, use) for use in module.loads.get(name, ()))
    return False


def _drops(module: Module, batch: ast.expr) -> bool:
    holder = module.parents.get(batch)
    match holder, module.parents.get(holder) if holder else None:
        case ast.Subscript(slice=ast.Constant(value="labels")), ast.Delete():
            return True
        case ast.Attribute(attr="pop"), ast.Call(args=[ast.Constant(value="labels"), *_]) as call:
            return isinstance(module.parents.get(call), ast.Expr)
    return False


def _only_measures(module: Module) -> bool:
    """Whether a file is a script of its own in which nothing is trained."""
    return "__name__" in module.loads and not any(word in module.loads for word in TRAINING)


def _tokens(module: Module) -> Iterator[ast.expr]:
    """Where a file reads a name that says padding or end."""
    for word, nodes in module.loads.items():
        if any(part in word.lower() for part in WORDS):
            yield from nodes


@thing
class Mask:
    """A comparison of labels with a token; ``marks`` says that it holds where they are equal, not where they differ."""

    node: ast.expr
    marks: bool


@thing
class Masking:
    """How a mask is applied: the expression or statement that does it, what is written, and into what."""

    where: ast.expr | ast.stmt
    value: ast.expr
    target: ast.expr | None


def _masking(module: Module, token: ast.expr) -> Masking | None:
    """The masking in which a token is compared with each label."""
    mask = _mask(module, token)
    if mask is None:
        return None
    found = _applied(module, mask)
    parent = module.parents.get(mask.node)
    if found is None and isinstance(parent, ast.Assign):
        return _under_a_name(module, parent, mask)
    return found


def _mask(module: Module, token: ast.expr) -> Mask | None:
    """A comparison with a token, and what is the same mask in other words."""
    mask: Mask | None = None
    parent = module.parents.get(token)
    match parent:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op]):
            mask = Mask(parent, isinstance(op, ast.Eq))
        case ast.Call(func=ast.Attribute(attr="eq" | "ne" as name), args=[only]) if only is token:
            mask = Mask(parent, name == "eq")
    return mask and _widened(module, mask)


def _widened(module: Module, mask: Mask) -> Mask:
    """The largest mask around a comparison that still holds for every label that equals the token."""
    parent = module.parents.get(mask.node)
    match parent:
        case ast.UnaryOp(op=ast.Invert() | ast.Not()):
            return _widened(module, Mask(parent, not mask.marks))
        case ast.BinOp(op=ast.BitOr()) | ast.BoolOp(op=ast.Or()) if mask.marks:
            return _widened(module, Mask(parent, marks=True))
        case ast.BinOp(op=ast.BitAnd()) | ast.BoolOp(op=ast.And()) if not mask.marks:
            return _widened(module, Mask(parent, marks=False))
        case ast.Attribute(attr="bool") if isinstance(call := module.parents.get(parent), ast.Call):
            return _widened(module, Mask(call, mask.marks))
    return mask


def _applied(module: Module, mask: Mask) -> Masking | None:
    """Where a mask decides which labels are overwritten."""
    node, parent = mask.node, module.parents.get(mask.node)
    match parent:
        case ast.Subscript(value=target, slice=place, ctx=ast.Store()) if mask.marks and place is node:
            statement = module.parents.get(parent)
            return Masking(statement, statement.value, target) if isinstance(statement, ast.Assign) else None
        case ast.Call() if mask.marks:
            return _filled(parent, node)
        case ast.Call():
            return _kept(parent, node)
        case ast.IfExp(test=test) if test is node:
            return _chosen(module, parent, mask)
    return None


def _filled(call: ast.Call, mask: ast.expr) -> Masking | None:
    """``labels.masked_fill(mask, -100)`` and ``where(mask, -100, labels)``."""
    match call.func, call.args:
        case ast.Attribute(value=target, attr="masked_fill" | "masked_fill_"), [first, value] if first is mask:
            return Masking(call, value, target)
        case ast.Attribute(attr="masked_fill"), [target, second, value] if second is mask:
            return Masking(call, value, target)
        case ast.Attribute(attr="where") | ast.Name(id="where"), [first, value, target] if first is mask:
            return Masking(call, value, target)
    return None


def _kept(call: ast.Call, mask: ast.expr) -> Masking | None:
    """``where(mask, labels, -100)`` and ``labels.where(mask, -100)``."""
    match call.func, call.args:
        case ast.Attribute(attr="where") | ast.Name(id="where"), [first, target, value] if first is mask:
            return Masking(call, value, target)
        case ast.Attribute(value=target, attr="where"), [first, value] if first is mask:
            return Masking(call, value, target)
    return None


def _chosen(module: Module, choice: ast.IfExp, mask: Mask) -> Masking | None:
    """``[-100 if token == pad else token for token in row]``."""
    value, kept = (choice.body, choice.orelse) if mask.marks else (choice.orelse, choice.body)
    in_row = isinstance(module.parents.get(choice), ast.ListComp | ast.GeneratorExp) and isinstance(kept, ast.Name)
    return Masking(choice, value, None) if in_row else None


def _under_a_name(module: Module, assign: ast.Assign, mask: Mask) -> Masking | None:
    """``mask = labels == pad``, used as it was made."""
    match assign.targets:
        case [ast.Name(id=name)] if name not in module.changed:
            scope = module.scope(assign)
            uses = (use for use in module.loads.get(name, ()) if module.scope(use) is scope)
            if sum(holder is scope for holder in _binders(module, name)) == 1:
                return next(
                    filter(None, (_applied(module, _widened(module, Mask(use, mask.marks))) for use in uses)), None
                )
    return None


def _binders(module: Module, name: str) -> Iterator[ast.AST]:
    """The scopes that bind a name, once for each time."""
    for node in nodes_of(module.tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            yield module.scope(node)


# Facts


def facts(world: World, site: Site) -> Iterator[Fact]:
    """What one world shows of a mask; nothing where its token is padding and nothing else."""
    frame = standing(world, site)
    if isinstance(site.node, ast.Call) and (
        last(site.node.func) in COLLATORS or _masking(site.module, site.node) is None
    ):
        fact = _collated(world, site, frame)
    else:
        fact = _compared_by_hand(world, site, frame)
    if fact is not None:
        yield fact


def _collated(world: World, site: Site, frame: Frame) -> LabelMask | None:
    """A collator of the library, or one that the project derives from it."""
    made = world.evaluate(site.call.func, frame)
    given = arguments(world, site.call, frame)
    name = made.name if isinstance(made, External) else ""
    if isinstance(made, Class):
        built = world.evaluate(site.call, frame)
        name, given = _base(world, made, built) if isinstance(built, Built) else ("", given)
    if transformers.is_language_collator(name):
        parameters, default = transformers.COLLATOR_PARAMETERS, Constant(value=True)
    elif transformers.is_completion_collator(name):
        parameters, default = transformers.COMPLETIONS_PARAMETERS, Constant(value=False)
    else:
        return None
    told = argument(given, parameters, "mlm") or default
    mlm = world.force(told) if isinstance(told, Thunk) else told
    if not isinstance(mlm, Constant) or mlm.value:
        return None
    tokenizer = argument(given, parameters, "tokenizer")
    thing = world.force(tokenizer) if isinstance(tokenizer, Thunk) else None
    span, by = site.span, last(site.call.func)
    if not isinstance(thing, Opaque):
        return LabelMask(span, span, None, (), (), by, "the padding token", Unknown("the tokenizer is not followed"))
    return _judged(world, site, thing.origin, LabelMask(span, span, None, (), (), by, "the padding token", OPEN))


def _base(world: World, cls: Class, built: Built) -> tuple[str, Arguments]:
    """What a project's own collator hands to the one of the library; nothing if it makes the labels anew itself."""
    name = next((each.name for each in lineage(world, cls) if isinstance(each, External)), "")
    given = built.arguments
    for each in lineage(world, cls):
        if isinstance(each, Class) and not _masks_only(each):
            return "", Arguments()
    for _, frame in initialisers(world, built):
        upward = call_of_base(frame.module, frame.function) if isinstance(frame.function, ast.FunctionDef) else None
        given = arguments(world, upward, frame) if upward else None
    return (name, given) if given is not None else ("", Arguments())


def _masks_only(cls: Class) -> bool:
    """Whether a class leaves the masking to its base, and puts nothing but masks into the labels afterwards."""
    for name in ("__call__", "torch_call"):
        function = methods(cls).get(name)
        if function is None:
            continue
        calls = [each for each in nodes_of(function) if isinstance(each, ast.Call)]
        if not any(isinstance(each.func, ast.Name) and each.func.id == "super" for each in calls):
            return False
        if any(_puts_back(each) for each in nodes_of(function)):
            return False
    return True


def _puts_back(node: ast.AST) -> bool:
    """Whether a statement writes something into labels that is no mask."""
    match node:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            place = ast.unparse(target).lower()
            is_mask = isinstance(value, ast.UnaryOp) or "ignore" in ast.unparse(value).lower()
            return "label" in place and not is_mask and not isinstance(value, ast.Name)
    return False


def _compared_by_hand(world: World, site: Site, frame: Frame) -> LabelMask | None:
    assert isinstance(site.node, ast.expr), "a site of this kind is the token"
    found = _masking(site.module, site.node)
    if found is None or not _is_label_mask(world, found, frame):
        return None
    span, token = site.module.span(found.where), ast.unparse(site.node)
    fact = LabelMask(span, span, None, (), (), "", token, OPEN)
    thing = world.evaluate(site.node, frame)
    if not MODALITIES.isdisjoint(re.split(r"[._]", token.lower())):
        return None
    itself = Role.END in index_roles(token) and not _says_padding(token)
    if itself:
        step = site.module.step(found.where)
        return replace(fact, end=Alias((step,), itself=True)) if _is_token(thing) else fact
    owner = _owner(world, site.node, thing, frame)
    return _judged(world, site, owner, fact) if owner is not None else _by_number(world, fact, thing)


def _says_padding(token: str) -> bool:
    return Role.PAD in index_roles(token)


def _is_token(thing: Thing) -> bool:
    return isinstance(thing, Opaque | Integer)


def _owner(world: World, node: ast.expr, thing: Thing, frame: Frame) -> str | None:
    """The tokenizer whose padding token this is, though a statement before may have made it the end token."""
    if isinstance(node, ast.Attribute) and node.attr in tokenizers.PADDING:
        holder = world.evaluate(node.value, frame)
        return holder.origin if isinstance(holder, Opaque) else None
    return tokenizers.owner(thing)


def _by_number(world: World, fact: LabelMask, thing: Thing) -> LabelMask | None:
    """A token of the project's own: a number that came through a name which says end, or through none."""
    match thing:
        case Integer(number=int(number)) if number in END_TEXT_IDS:
            return replace(fact, end=Alias(thing.evidence, by_name=True))
        case Integer() if tokenizers.names_end(thing):
            job = jobs.job(world, thing, Layer("", Integer.exact(0), fact.call))
            is_used = isinstance(job, Job) and job.role is Role.END and job.proof is Proof.USE
            ended = job.evidence if isinstance(job, Job) and is_used else ()
            return replace(fact, end=Alias(thing.evidence), ended=ended)
        case Unknown():
            return replace(fact, end=thing)
        case Opaque():
            return replace(fact, end=Unknown(thing.why.reason, thing.name))
    return None


def _is_label_mask(world: World, found: Masking, frame: Frame) -> bool:
    """Whether what is written is the sentinel of labels: -100 into anything but scores, another one into labels."""
    spelled = ast.unparse(found.target).lower() if found.target is not None else ""
    if any(word in spelled.rpartition(".")[2] for word in SCORES):
        return False
    if found.target is not None and _is_generated(frame.module, found.target):
        return False
    value = world.evaluate(found.value, frame)
    if not isinstance(value, Integer):
        return "ignore" in last(found.value).lower()
    is_label = any(word in spelled for word in LABELS) and value.maximum is not None and value.maximum < 0
    return is_label or value.number == transformers.IGNORE_INDEX


def _is_generated(module: Module, target: ast.expr) -> bool:
    """Whether a name holds what a model generated: that is shown or measured, and taught to nobody."""
    scope = module.scope(target)
    made = (
        each for each in nodes_of(scope) if isinstance(each, ast.Assign) and dotted(each.targets[0]) == dotted(target)
    )
    return any(isinstance(each.value, ast.Call) and last(each.value.func) == "generate" for each in made)


def _judged(world: World, site: Site, tokenizer: str, fact: LabelMask) -> LabelMask | None:
    """A mask by the padding token of a tokenizer: what the project makes of that token, and of its texts."""
    end = tokenizers.padding(world, tokenizer, site.module.path)
    if not isinstance(end, Alias):
        return None if end is None else replace(fact, end=end)
    ended = tokenizers.ended(world, tokenizer, site.module.path)
    if ended:
        return replace(fact, end=end, ended=ended)
    spared = tuple(chunks.spared(world, site.module))
    unended = () if spared else chunks.unended(world, site.module, tokenizer)
    return replace(fact, end=end, spared=spared, unended=unended)
