"""Something that was put aside in; out, the first line that uses it after training went on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.record import thing
from trainlint.source.names import holds
from trainlint.source.summary import Module, bound, dotted, last
from trainlint.source.world import World
from trainlint.value import Step

SHOWS = frozenset({"print", "len", "info", "debug", "type", "isinstance", "id", "write", "set_description", "tqdm"})


@thing
class Aside:
    """What was put aside: the name, list or entry that holds it, the statement, and whether each turn adds one."""

    holder: ast.expr
    spelling: str
    statement: ast.stmt
    module: Module
    gathers: bool

    @property
    def name(self) -> str:
        """The name under which the holder is read."""
        return dotted(self.holder) or last(self.holder)


def used(world: World, aside: Aside, around: ast.stmt | None) -> Step | None:
    """The first line that uses what was put aside, ``around`` being the loop that goes on; None where none does."""
    if is_copied_after(aside):
        return None
    reads = [each for each in _reads(world, aside) if _counts(aside, *each, around)]
    if not reads:
        return None
    module, node = min(reads, key=lambda each: (each[0] is not aside.module, not _is_strong(*each), each[1].lineno))
    return module.step(module.statement(node))


def _block(module: Module, node: ast.stmt) -> list[ast.stmt]:
    """The statements of the arm or body in which a statement stands."""
    parent = module.parents[node]
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            return block
    return [node]


def is_copied_after(aside: Aside) -> bool:
    """Whether what follows in the same arm binds the name again, or writes into it."""
    block = _block(aside.module, aside.statement)
    name = aside.name
    for each in block[block.index(aside.statement) + 1 :]:
        for node in ast.walk(each):
            if isinstance(node, ast.stmt) and name in bound(node):
                return True
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and dotted(node.value) == name:
                return True
    return False


def _reads(world: World, aside: Aside) -> Iterator[tuple[Module, ast.expr]]:
    """Where the holder is read."""
    word = aside.name.rpartition(".")[2]
    module = aside.module
    if "." in aside.name:
        modules = world.workspace.mentions(f".{word}", module.path)
        for other in modules if module in modules else (module, *modules):
            for node in () if other.is_test else other.loads.get(word, ()):
                if isinstance(node, ast.Attribute):
                    yield other, node
        return
    scope = _home(module, aside.statement, word)
    for node in module.loads.get(word, ()):
        if isinstance(node, ast.Name) and (scope is module.tree or holds(module, scope, node)):
            yield module, node


def _home(module: Module, node: ast.stmt, word: str) -> ast.AST:
    """The scope that a name written at a statement belongs to."""
    scope: ast.AST = module.scope(node)
    while isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        declared = [each for each in ast.walk(scope) if isinstance(each, ast.Global | ast.Nonlocal)]
        if not any(word in each.names for each in declared):
            return scope
        if any(isinstance(each, ast.Global) for each in declared):
            return module.tree
        scope = module.scope(scope)
    return scope


def _counts(aside: Aside, module: Module, node: ast.expr, around: ast.stmt | None) -> bool:
    """Whether a read uses what an earlier turn has put aside."""
    if _only_looks(module, node) or module.scope(node) is _init(module, node):
        return False
    if module is not aside.module:
        return True
    block = _block(module, aside.statement)
    if any(holds(module, each, node) for each in block) and not (aside.gathers or _is_loop(module, aside)):
        return False
    if aside.gathers and around is not None and holds(module, around, node):
        return False
    if _under_same_test(aside, node) or _is_other_key(aside, node):
        return False
    return "." in aside.name or _reaches(aside, node, around)


def _is_loop(module: Module, aside: Aside) -> bool:
    return isinstance(module.parents[aside.statement], ast.For | ast.While)


def _init(module: Module, node: ast.expr) -> ast.AST | None:
    scope = module.scope(node)
    return scope if getattr(scope, "name", "") == "__init__" else None


def _only_looks(module: Module, node: ast.expr) -> bool:
    """Whether a read only asks whether there is something, or shows it."""
    child: ast.AST = node
    parent = module.parents.get(node)
    while isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.FormattedValue | ast.JoinedStr):
        child, parent = parent, module.parents.get(parent)
    match parent:
        case ast.Compare() | ast.Delete() | ast.Assert():
            return True
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return test is child
        case ast.Call(func=func):
            return func is not child and last(func) in SHOWS
        case ast.Attribute(attr="append" | "keys" | "extend" | "clear" | "pop"):
            return True
    return False


def _under_same_test(aside: Aside, node: ast.expr) -> bool:
    """Whether a read stands under the very test under which it was put aside."""
    module = aside.module
    tests = {ast.dump(each.test) for each in _ifs(module, aside.statement)}
    own = [each for each in _ifs(module, node) if not holds(module, each, aside.statement)]
    return any(ast.dump(each.test) in tests for each in own)


def _ifs(module: Module, node: ast.AST) -> Iterator[ast.If]:
    scope = module.scope(node)
    parent = module.parents.get(node)
    while parent is not None and parent is not scope:
        if isinstance(parent, ast.If):
            yield parent
        parent = module.parents.get(parent)


def _is_other_key(aside: Aside, node: ast.expr) -> bool:
    """Whether a read takes another entry of the same dictionary."""
    parent = aside.module.parents.get(node)
    match aside.holder, parent:
        case ast.Subscript(slice=ast.Constant(value=key)), ast.Subscript(value=value, slice=ast.Constant(value=other)):
            return value is node and key != other
    return False


def _reaches(aside: Aside, node: ast.expr, around: ast.stmt | None) -> bool:
    """Whether what a variable was given in one turn may reach a read in a later one, or behind the loop."""
    module = aside.module
    home = _home(module, aside.statement, aside.name)
    if around is None or not holds(module, home, around):
        return home is module.tree
    if module.scope(node) is not module.scope(aside.statement):
        return home is module.tree or node.lineno > (around.end_lineno or 0)
    child: ast.AST = module.statement(node)
    while child is not home and child is not around:
        for before in reversed(_before(module, child)):
            if holds(module, before, aside.statement):
                return not always_binds(before, aside.name)
            if always_binds(before, aside.name):
                return False
        child = module.parents[child]
    return child is around


def _before(module: Module, node: ast.AST) -> list[ast.stmt]:
    """The statements in front of one in its block."""
    if not isinstance(node, ast.stmt) or node not in module.parents:
        return []
    block = _block(module, node)
    return block[: block.index(node)]


def always_binds(node: ast.stmt, name: str) -> bool:
    """Whether a name is bound anew once a statement has run, whichever arm was taken."""
    match node:
        case ast.If(body=body, orelse=orelse):
            return _binds(body, name) and _binds(orelse, name)
        case ast.With(body=body) | ast.AsyncWith(body=body) | ast.Try(body=body):
            return _binds(body, name)
        case ast.For() | ast.AsyncFor() | ast.While():
            return False
    return name in bound(node)


def _binds(block: list[ast.stmt], name: str) -> bool:
    return any(always_binds(each, name) for each in block)


def _is_strong(module: Module, node: ast.expr) -> bool:
    """Whether a read plainly puts the weights to use."""
    parent = module.parents.get(node)
    match parent:
        case ast.Return() | ast.Attribute():
            return True
        case ast.Call(func=func):
            return func is node or last(func) in ("load_state_dict", "save")
    return False


def is_restored(aside: Aside, around: ast.stmt | None, model: str) -> bool:
    """Whether a model that is kept as itself gets weights from elsewhere once the loop is over."""
    scope = aside.module.scope(aside.statement)
    end = around.end_lineno or 0 if around is not None else 0
    for node in ast.walk(scope):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="load_state_dict")) if node.lineno > end:
                if dotted(value) in (aside.name, model):
                    return True
    return False
