"""Names: the one definition that reaches a use, in one world.

A name is looked for backwards from its use: through the statements before it, then through the block that holds it.
Where an ``if`` binds it, the world says which arm ran; an arm that always leaves cannot reach what follows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from trainlint.knowledge.torch import SELF_METHODS
from trainlint.source.nodes import nodes_of
from trainlint.source.pieces import ClassNode, Tree, inside
from trainlint.source.summary import BLOCKS, Module, bound, captured, dotted, prefixes
from trainlint.source.things import Binding, Constant, Frame, Thing
from trainlint.source.world import Impossible, World
from trainlint.value import Integer

IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception"}


def is_bound(module: Module, name: str) -> bool:
    """Whether a module's own statements bind a name."""
    tree = module.tree
    return bool(module.places(tree, (name,))) if isinstance(tree, Tree) else name in top(module)


def top(module: Module) -> frozenset[str]:
    """Every name that a module's own statements bind."""
    known = module.kept.get("top")
    if not isinstance(known, frozenset):
        known = frozenset(name for node in module.tree.body for name in module.binds(node))
        module.kept["top"] = known
    return known


def is_local(module: Module, scope: ast.AST, name: str) -> bool:
    """Whether a function binds a name on some path: on the others, to read it is an error."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) or name in module.rebound:
        return False
    return not module.index(scope.body).keys().isdisjoint((name,))


def is_resumed(frame: Frame, binding: Binding) -> bool:
    """``if resume: config = saved["config"]``: what a test puts in the place of a value is the one that was saved."""
    module, node, scope = frame.module, binding.node, frame.function or frame.module.tree
    test = module.parents.get(node)
    if not isinstance(test, ast.If) or node not in test.body:
        return False
    if isinstance(scope, ast.FunctionDef) and binding.name in {each.arg for each in scope.args.args}:
        return True
    holder = module.parents.get(test)
    for field in BLOCKS:
        block = getattr(holder, field, None)
        if isinstance(block, list) and test in block:
            return any(place < block.index(test) for place in module.index(block).get(binding.name, ()))
    return False


def cells_of(module: Module, name: str) -> tuple[int, ...]:
    """The cells of a notebook among whose values for a name a function's call finds one: which, its place decides.

    A cell that repeats another word for word, or only makes a new value out of the last, changes nothing.
    """
    fresh = {ast.dump(node): cell for cell, node in _by_cell(module).get(name, {}).items() if not reads(node, name)}
    return tuple(sorted(fresh.values())) if len(fresh) > 1 else ()


def _by_cell(module: Module) -> Mapping[str, Mapping[int, ast.stmt]]:
    """For each name the statements that bind it, by their cell; none in a file that is no notebook."""
    if isinstance(module.tree, Tree):
        return {}
    known = module.kept.get("cells")
    if isinstance(known, dict):
        return known
    found: dict[str, dict[int, ast.stmt]] = {}
    for node in module.tree.body:
        cell, _ = module.place(node.lineno)
        for name in module.binds(node) if cell is not None else ():
            found.setdefault(name, {})[cell or 0] = node
    module.kept["cells"] = found
    return found


def reads(node: ast.AST, name: str) -> bool:
    """Whether a statement reads a dotted name anywhere."""
    return isinstance(node, ast.AugAssign) or any(
        isinstance(each, ast.Name | ast.Attribute) and isinstance(each.ctx, ast.Load) and dotted(each) == name
        for each in nodes_of(node)
    )


def walrus(module: Module) -> tuple[tuple[str, ast.stmt], ...]:
    """The names bound by ``:=`` and the statement that holds each."""
    every = module.walrus
    known = module.by_node.get("walrus")
    if not isinstance(known, tuple):
        known = tuple((node.target.id, module.statement(node)) for node in every)
        module.by_node["walrus"] = known
    return known


def own_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a scope, those of inner functions and classes not."""
    waiting: list[ast.AST] = list(getattr(scope, "body", ())) if not isinstance(scope, ast.Lambda) else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in BLOCKS:
                block = getattr(node, field, None)
                waiting += block if isinstance(block, list) else []


def following(parent: ast.AST, child: ast.AST) -> list[ast.stmt]:
    """The statements behind one of a block."""
    for block in blocks(parent):
        places = [place for place, each in enumerate(block) if each is child]
        if places:
            return block[places[0] + 1 :]
    return []


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that a statement holds."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


def reaching(world: World, name: str, node: ast.AST, frame: Frame) -> Binding | None:
    """The definition of a dotted name, or of what it hangs on, that reaches a node inside the scope of its frame."""
    wanted = prefixes(name)
    scope = frame.function or frame.module.tree
    while node is not scope:
        parent = frame.module.parents.get(node)
        if parent is None:
            return None
        found = _before(world, wanted, node, parent, frame)
        if found:
            return found
        node = parent
    return None


def final(world: World, name: str, scope: ast.AST, frame: Frame) -> Binding | None:
    """The definition of a dotted name that stands when a function, a class or a file has run."""
    wanted = prefixes(name)
    if isinstance(scope, Tree | ClassNode):
        return _last_of(world, wanted, frame.module.places(scope, wanted), inside(scope), frame)
    block = getattr(scope, "body", None)
    return _last(world, wanted, block, frame) if isinstance(block, list) else None


def _before(world: World, wanted: Sequence[str], node: ast.AST, parent: ast.AST, frame: Frame) -> Binding | None:
    """What is bound between the start of the parent and this child of it."""
    if not isinstance(node, ast.stmt | ast.ExceptHandler):
        return None
    if isinstance(parent, Tree | ClassNode):
        return _last_of(world, wanted, frame.module.places(parent, wanted, node), inside(parent), frame)
    field, place = _place(frame.module, node, parent)
    return _in_block(world, wanted, place, parent, field, frame) if field else None


def _place(module: Module, node: ast.AST, parent: ast.AST) -> tuple[str, int]:
    """In which block of its parent a statement stands, and where there; no block's name where it is in none."""
    known = module.by_node.get(("place", node))
    if not isinstance(known, tuple):
        for field in BLOCKS:
            block = getattr(parent, field, None)
            for place, each in enumerate(block if isinstance(block, list) else ()):
                module.by_node["place", each] = field, place
        known = module.by_node.setdefault(("place", node), ("", 0))
    return known  # type: ignore[return-value]


def _in_block(
    world: World, wanted: Sequence[str], place: int, parent: ast.AST, field: str, frame: Frame
) -> Binding | None:
    block = getattr(parent, field)
    found = _last_before(world, wanted, block, place, frame) if field != "handlers" else None
    if found:
        return found
    match parent:
        case ast.For() | ast.AsyncFor() | ast.While() if field == "body":
            return _around(world, wanted, parent, frame)
        case ast.With() | ast.AsyncWith():
            return _named(wanted, bound(parent), parent)
        case ast.If():
            return _held(wanted, parent, frame)
        case ast.Try() if field in ("orelse", "finalbody", "handlers"):
            return _last(world, wanted, parent.body, frame)
        case ast.ExceptHandler(name=str(name)) if name in wanted:
            return Binding(name, parent)
        case ast.match_case():
            return _named(wanted, captured(parent), parent)
    return None


def _around(world: World, wanted: Sequence[str], loop: ast.stmt, frame: Frame) -> Binding | None:
    """The target of the loop, or what an earlier turn of it left behind."""
    found = _named(wanted, bound(loop), loop)
    if found:
        return found
    assert isinstance(loop, ast.For | ast.AsyncFor | ast.While), "what repeats is a loop"
    body = loop.body
    if frame.module.index(body).keys().isdisjoint(wanted) or _only_moved(frame.module, loop, wanted[0]):
        return None
    if frame.turn is not None and frame.turn.loop is loop:
        before = _last(world, wanted, body, frame) if frame.turn.place else None
        return Binding(before.name, before.node, loop) if before else None
    step = frame.step(loop)
    earlier = world.choose("branch", ("loop", id(loop), frame.number), (step, step))
    return _last(world, wanted, body, frame) if earlier else None


def left_by(module: Module, binding: Binding, use: ast.AST | None) -> ast.For | None:
    """The innermost loop whose last turn leaves a binding to a use behind it, if it depends on the loop's variable."""
    node, found = binding.node, None
    while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module | ast.Lambda):
        parent = module.parents.get(node)
        if isinstance(parent, ast.For) and node in parent.body:
            found = parent
            break
        if parent is None:
            return None
        node = parent
    if found is None or isinstance(binding.node, ast.For) or (use is not None and holds(module, found, use)):
        return None
    own = {each.id for each in nodes_of(found.target) if isinstance(each, ast.Name)}
    reads = (each.id for each in nodes_of(binding.node) if isinstance(each, ast.Name))
    return found if own.intersection(reads) else None


def holds(module: Module, holder: ast.AST, node: ast.AST) -> bool:
    """Whether a node stands inside another."""
    each: ast.AST | None = node
    while each is not None and each is not holder:
        each = module.parents.get(each)
    return each is not None


def _only_moved(module: Module, loop: ast.stmt, name: str) -> bool:
    """Whether a loop binds a name to nothing but itself, moved or put into another mode."""
    known = module.by_node.get(("only moved", loop, name))
    if not isinstance(known, bool):
        writes = [node for node in nodes_of(loop) if isinstance(node, ast.stmt) and name in bound(node)]
        known = bool(writes) and all(_moves(node, name) for node in writes)
        module.by_node["only moved", loop, name] = known
    return known


def _moves(node: ast.stmt, name: str) -> bool:
    """``model = model.to(device)``."""
    match node:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(value=value, attr=attr))):
            return dotted(target) == name == dotted(value) and attr in SELF_METHODS
    return False


def _named(wanted: Sequence[str], names: frozenset[str], node: ast.AST) -> Binding | None:
    return next((Binding(name, node) for name in wanted if name in names), None)


def _last(world: World, wanted: Sequence[str], block: Sequence[ast.AST], frame: Frame) -> Binding | None:
    return _last_before(world, wanted, block, len(block), frame)


def _last_before(
    world: World, wanted: Sequence[str], block: Sequence[ast.AST], end: int, frame: Frame
) -> Binding | None:
    """The last definition among the first statements of a block, ``end`` in number."""
    binding = frame.module.index(block)
    places = {place for name in wanted if name in binding for place in binding[name] if place < end}
    return _last_of(world, wanted, sorted(places), block, frame)


def _last_of(
    world: World, wanted: Sequence[str], places: Sequence[int], block: Sequence[ast.AST], frame: Frame
) -> Binding | None:
    """The last definition among the statements of a block at these places, in their order."""
    for place in reversed(places):
        found = _inside(world, wanted, block[place], frame)
        if found:
            return found
    return None


def _inside(world: World, wanted: Sequence[str], node: ast.AST, frame: Frame) -> Binding | None:
    """What a statement that has run leaves bound."""
    match node:
        case ast.If():
            found = _last(world, wanted, node.orelse if arm(world, node, frame) else node.body, frame)
            return found or _held(wanted, node, frame)
        case ast.For() | ast.AsyncFor() | ast.While():
            found = _last(world, wanted, node.orelse, frame) or _last(world, wanted, node.body, frame)
            return found or _named(wanted, bound(node), node) or _held(wanted, node, frame)
        case ast.With() | ast.AsyncWith():
            return _last(world, wanted, node.body, frame) or _named(wanted, bound(node), node)
        case ast.Try():
            return _after_try(world, wanted, node, frame)
        case ast.Match():
            return _after_match(world, wanted, node, frame)
    return _named(wanted, frame.module.binds(node), node)


def _held(wanted: Sequence[str], node: ast.stmt, frame: Frame) -> Binding | None:
    """A name that ``:=`` binds in the head of a statement."""
    return _named(wanted, frozenset(frame.module.in_head.get(node, ())), node)


def _after_try(world: World, wanted: Sequence[str], node: ast.Try, frame: Frame) -> Binding | None:
    found = _last(world, wanted, node.finalbody, frame)
    if found:
        return found
    handlers = [
        handler
        for handler in node.handlers
        if not frame.module.index(handler.body).keys().isdisjoint(wanted) and not leaves(handler.body)
    ]
    straight = (node.orelse, node.body)
    if all(frame.module.index(block).keys().isdisjoint(wanted) for block in straight):
        return _last(world, wanted, handlers[0].body, frame) if handlers else None
    handlers = [handler for handler in handlers if not (IMPORT_ERRORS & _caught(handler) and _gives_up(handler))]
    step = frame.step(node)
    answers = (step, *(frame.module.step(handler.body[0]) for handler in handlers))
    taken = world.choose("branch", ("try", id(node), frame.number), answers)
    blocks = (handlers[taken - 1].body,) if taken else straight
    return next((found for block in blocks if (found := _last(world, wanted, block, frame))), None)


def _gives_up(handler: ast.ExceptHandler) -> bool:
    """``except ImportError: thing = None`` only says that the import failed."""
    return all(
        isinstance(inner, ast.Pass) or (isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Constant))
        for inner in handler.body
    )


def _caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"Exception"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {(dotted(kind) or "").rpartition(".")[2] for kind in kinds}


def _after_match(world: World, wanted: Sequence[str], node: ast.Match, frame: Frame) -> Binding | None:
    case = matched(world, node, [case for case in node.cases if not leaves(case.body)], frame)
    if case is None:
        return None
    return _last(world, wanted, case.body, frame) or _named(wanted, captured(case), case)


def matched(world: World, node: ast.Match, cases: Sequence[ast.match_case], frame: Frame) -> ast.match_case | None:
    """Which of these cases this world takes; None if it takes none."""
    possible: list[ast.match_case | None] = []
    for case in node.cases:
        fits = _fits(world, node.subject, case.pattern, frame)
        if case.guard is not None and fits:
            fits = truth(world, case.guard, frame)
        if fits is not False and case in cases:
            possible.append(case)
        if fits:
            break
    else:
        possible.append(None)
    answers = tuple(frame.step(case.body[0] if case else node.subject) for case in possible)
    key = ("match", id(node), len(cases), frame.number)
    return possible[world.choose("branch", key, answers)] if possible else None


def _fits(world: World, subject: ast.expr, pattern: ast.pattern, frame: Frame) -> bool | None:
    """What a pattern says for sure of its subject."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _fits(world, subject, inner, frame)
        case ast.MatchOr(patterns=patterns):
            answers = {_fits(world, subject, each, frame) for each in patterns}
            return True if True in answers else None if None in answers else False
        case ast.MatchValue(value=value):
            return _equal(world.evaluate(subject, frame), world.evaluate(value, frame))
    return None


def _equal(left: Thing, right: Thing) -> bool | None:
    match left, right:
        case Constant(value=first, assumed=()), Constant(value=second, assumed=()):
            return first == second
        case Integer(assumed=()), Integer(assumed=()):
            gap = (left - right).number
            return None if gap is None else gap == 0
    return None


def repeats(module: Module, node: ast.AST, name: str) -> bool:
    """Whether a statement gives a name, in each turn of a loop, a value made from the last one."""
    again = reads(node, name)
    while again and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            return True
        node = module.parents[node]
    return False


def arm(world: World, node: ast.If, frame: Frame) -> int:
    """Which arm of an ``if`` has run when control is behind it: 0 the body, 1 the rest."""
    if leaves(node.body):
        return 1
    if node.orelse and leaves(node.orelse):
        return 0
    return taken(world, node, frame)


def taken(world: World, node: ast.If | ast.IfExp, frame: Frame) -> int:
    """Which arm this world takes: what the test says if it says anything, else a fork.

    Two tests of one text in one activation share a fork, so their arms agree.
    """
    decided = truth(world, node.test, frame, asks=False)
    if decided is not None:
        return 0 if decided else 1
    test, flipped = node.test, 0
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, flipped = test.operand, 1 - flipped
    step = frame.step(node.test)
    no = type(step)(f"not ({step.text})", step.where)
    answers = (no, step) if flipped else (step, no)
    return world.choose("branch", ("if", spelled(frame.module, test), frame.number), answers) ^ flipped


def spelled(module: Module, test: ast.expr) -> str:
    """A test as a text by which equal tests are known."""
    known = module.by_node.get(("spelled", test))
    if not isinstance(known, str):
        known = module.by_node["spelled", test] = ast.dump(test)
    return known


def truth(world: World, test: ast.expr, frame: Frame, *, asks: bool = True) -> bool | None:
    """What a test says for sure; None where it could go either way.

    ``asks`` whether this path has said it before.

    ``self.training`` holds on the way to a site, unless the site itself stands where it does not.
    """
    match test:
        case ast.Compare(left=ast.Name(id="__name__")):
            return True
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return True
        case ast.Attribute(attr="training"):
            key = ("branch", "if", spelled(frame.module, test), frame.number)
            return not world.told(("given", key), lambda each: each.given.get(key, 0))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inside = truth(world, operand, frame, asks=asks)
            return None if inside is None else not inside
        case ast.BoolOp(op=op, values=values):
            return _junction(world, op, values, frame)
    value = world.evaluate(test, frame)
    if isinstance(value, Constant) and not value.assumed:
        return bool(value.value)
    known = known_truth(value)
    return _answered(world, test, frame) if known is None and asks else known


def _answered(world: World, test: ast.expr, frame: Frame) -> bool | None:
    """What this path has said of a test before: a part of a longer test must not say something else."""
    key = ("branch", "if", spelled(frame.module, test), frame.number)
    answer = world.told(("answered", key), lambda each: each.answered(key))
    return None if answer is None else answer == 0


def known_truth(value: Thing) -> bool | None:
    """Whether a thing counts as true, where its kind or its number tells."""
    from_number = getattr(value, "number", None)
    if hasattr(value, "terms") and not getattr(value, "assumed", ()):
        return None if from_number is None else bool(from_number)
    return None


def _junction(world: World, op: ast.boolop, values: Sequence[ast.expr], frame: Frame) -> bool | None:
    deciding = isinstance(op, ast.Or)
    open_ones = False
    for value in values:
        inside = truth(world, value, frame)
        if inside is deciding:
            return deciding
        open_ones = open_ones or inside is None
    return None if open_ones else not deciding


def leaves(block: Sequence[ast.AST]) -> bool:
    """Whether control never comes out at the end of a block."""
    if not block:
        return False
    match block[-1]:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.If(body=body, orelse=orelse):
            return leaves(body) and leaves(orelse)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return leaves(body)
        case ast.Expr(value=ast.Call(func=func)):
            return dotted(func) in {"sys.exit", "exit", "quit", "os._exit"}
    return False


def returns(world: World, body: Sequence[ast.stmt], frame: Frame) -> Iterator[ast.Return]:
    """The ``return`` that ends a body in this world; nothing if it falls off its end. A body that raises ends a run."""
    for inner in body:
        if isinstance(inner, ast.Raise) and not world.renews and not _is_caught(frame.module, inner):
            raise Impossible
        if isinstance(inner, ast.Return):
            yield inner
            return
        block = _run(world, inner, frame) if _has_return(frame.module, inner) else []
        found = next(returns(world, block, frame), None)
        if found:
            yield found
        is_loop = isinstance(inner, ast.For | ast.AsyncFor | ast.While)
        if found or (leaves(block) and not is_loop):
            return


def _is_caught(module: Module, node: ast.AST) -> bool:
    """Whether a statement of a function stands in a ``try``, which may go on after an error."""
    while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module):
        if isinstance(node, ast.Try):
            return True
        node = module.parents[node]
    return False


def _run(world: World, node: ast.stmt, frame: Frame) -> list[ast.stmt]:
    """The statements that a compound statement runs in this world."""
    match node:
        case ast.If():
            return node.orelse if taken(world, node, frame) else node.body
        case ast.Try():
            return [*node.body, *node.orelse]
        case ast.With() | ast.AsyncWith():
            return node.body
        case ast.Match():
            case = matched(world, node, node.cases, frame)
            return case.body if case else []
        case ast.For() | ast.AsyncFor() | ast.While():
            step = frame.step(node)
            ran = world.choose("branch", ("loop-return", id(node), frame.number), (step, step)) == 0
            return node.body if ran else []
    return []


def _has_return(module: Module, node: ast.AST) -> bool:
    """Whether a function may end inside a statement."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, ast.Expr | ast.Assign | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    known = module.kept.get(("has return", node))
    if not isinstance(known, bool):
        blocks = (getattr(node, field, ()) for field in BLOCKS)
        known = any(_has_return(module, inner) for block in blocks for inner in block)
        module.kept["has return", node] = known
    return known
