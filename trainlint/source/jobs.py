"""What the project makes of one class index: looked up in the class table, and in every use of the same symbol."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trainlint.facts import Alias, Job, Layer
from trainlint.knowledge import torch
from trainlint.knowledge.roles import entry_role, index_roles, roles
from trainlint.source import builtin, objects, tokenizers
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, dotted, last, targets
from trainlint.source.things import Class, Entries, Opaque, Tensor
from trainlint.source.world import Budget, Path, World
from trainlint.source.writes import FEW_STEPS
from trainlint.value import Integer, Proof, Role, Step, Table, Unknown

MOST_ALIASES = 12
LARGE = 64
"""Equal numbers prove nothing where they are small; a stop check against a number as large as this is about it."""

MOST_FLAGS = 3
"""A stop check goes through no more flags than this before something asks."""

QUIET = (Role.PAD, Role.VOID, Role.START)
NAMED = (Role.END, *QUIET, Role.BLANK, Role.NO_OBJECT)


def job(world: World, number: Integer, layer: Layer) -> Job | Unknown | None:
    """The strongest job that can be shown; a role without a job if only that is known; None if nothing is.

    A use beats a table, and a table beats a name. A start symbol by use has no job whatever its label is.
    """
    found = [
        *_uses(world, number, layer),
        *_same_number(world, number, layer),
        *_in_table(world, number, layer),
        *_member(world, number, layer),
        *_by_name(number),
    ]
    order = list(Proof)
    with_job = [each for each in found if each.role.is_job]
    starts = [each for each in found if each.role is Role.START and each.proof is Proof.USE]
    ends = [each for each in with_job if each.role is Role.END or each.proof is Proof.USE]
    if starts and not ends:
        return starts[0]
    if with_job:
        return min(with_job, key=lambda each: order.index(each.proof))
    return min(found, key=lambda each: order.index(each.proof), default=None)


def end_of_texts(world: World, number: Integer, near: str) -> Job | None:
    """The padding token of a tokenizer that the project makes its end token: a class of any model of its texts.

    The job is shown by use where that holds in every run, by name where only some runs make it so.
    """
    for origin in number.origins:
        tokenizer, _, word = origin.rpartition(".")
        end = tokenizers.padding(world, tokenizer, near) if word in tokenizers.PADDING else None
        if isinstance(end, Alias):
            proof = Proof.NAME if end.condition or end.by_name else Proof.USE
            where = f" where `{end.condition[0].text}`" if end.condition else ""
            label = f"the end token of its tokenizer{where}"
            return Job(Role.END, proof, label, (*end.evidence, *end.condition))
    return None


def closing_texts(world: World, number: Integer, near: str) -> tuple[Step, ...]:
    """The lines that put the end token of a number's tokenizer behind each text."""
    owners = (origin.rpartition(".") for origin in number.origins)
    known = (tokenizer for tokenizer, _, word in owners if word in tokenizers.PADDING)
    return tuple(step for tokenizer in known for step in tokenizers.ended(world, tokenizer, near))


# The table


def _in_table(world: World, number: Integer, layer: Layer) -> Iterator[Job]:
    """The entry of the table that sizes the head."""
    sized_by = layer.classes.table
    for origin in number.origins:
        if sized_by and sized_by.name and origin.startswith(f"{sized_by.name}["):
            entry = origin[len(sized_by.name) + 1 : -1].strip("'\"")
            step = Step(f"{sized_by.name}: {number} is {entry!r}", sized_by.where)
            yield Job(entry_role(entry, [other for _, other in sized_by.entries]), Proof.TABLE, entry, (step,))
    table = _ids(world, layer.classes)
    label = table.label(number.number) if table and number.number is not None else None
    if table is not None and label is not None:
        step = Step(f"{table.name}: {number} is {label!r}", table.where)
        yield Job(entry_role(label, [other for _, other in table.entries]), Proof.TABLE, label, (step,))


def _ids(world: World, classes: Integer) -> Table | None:
    """The table with its ids as the project counts them: a place in a sequence is an id if nothing comes before it."""
    table = classes.table
    if table is None or table.explicit or classes.number == table.size:
        return table
    if not table.complete and len(classes.terms) == 1 and not classes.constant:
        return table
    return next(_counted(world, table), None)


def _counted(world: World, table: Table) -> Iterator[Table]:
    """Dictionaries of ids that the project makes by counting the same labels."""
    word = table.name.rpartition(".")[2]
    labels = {label for _, label in table.entries}
    if not word.isidentifier():
        return
    for module in world.workspace.mentions(word, table.where.path):
        for node in module.comprehensions:
            if any(word == name for name in _names(node.generators[0].iter)):
                thing = world.apart().evaluate(node, world.open_frame(module, node))
                made = builtin.table_of(world, thing) if isinstance(thing, Entries) else None
                if made and {label for _, label in made.entries} == labels:
                    yield made


def _names(node: ast.AST) -> Iterator[str]:
    for each in nodes_of(node):
        if isinstance(each, ast.Name | ast.Attribute):
            yield (dotted(each) or "").rpartition(".")[2]


def _member(world: World, number: Integer, layer: Layer) -> Iterator[Job]:
    """A member of an enum or class of ids whose members are exactly the classes: no class is spare."""
    for origin in number.origins:
        owner, _, member = origin.rpartition(".")
        word = owner.rpartition(".")[2]
        for module in world.workspace.mentions(f"class {word}", layer.where.path) if word.isidentifier() else ():
            for node in module.definitions.get(word, ()) if f"{module.key}.{word}" == owner else ():
                if isinstance(node, ast.ClassDef) and module.parents.get(node) is module.tree:
                    table = _members(world, Class(node, module, world.module_frame(module)))
                    ids = [each for each, _ in table.entries if each >= 0] if table else []
                    if table and layer.classes.number == len(ids) and sorted(ids) == list(range(len(ids))):
                        step = Step(f"{table.name}: {number} is {member!r}", table.where)
                        role = entry_role(member, [other for _, other in table.entries])
                        yield Job(role, Proof.TABLE, member, (step,))


def _members(world: World, cls: Class) -> Table | None:
    made = builtin.table_of(world, cls)
    if made is not None:
        return made
    frame = objects.class_frame(world, cls)
    ids: list[tuple[int, str]] = []
    for node in cls.module.plain(cls.node):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                number = world.apart().evaluate(value, frame)
                exact = number.number if isinstance(number, Integer) else None
                ids += [(exact, name)] if exact is not None else []
    return Table(cls.name, tuple(ids), len(ids), cls.module.span(cls.node)) if ids else None


def _by_name(number: Integer) -> Iterator[Job]:
    """What the names say. A text such as ``<blank>`` that the code calls its padding is padding."""
    is_padding = any(Role.PAD in roles(name) for name in number.names)
    for name in number.names:
        steps = tuple(step for step in number.evidence if name in step.text)
        said = roles(name) - ({Role.BLANK} if is_padding else set())
        yield from (Job(role, Proof.NAME, name, steps) for role in NAMED if role in said)


# The uses


def _uses(world: World, number: Integer, layer: Layer) -> Iterator[Job]:
    """Every use of the same symbol in the project, under any of its names, and of its entry in the table."""
    waiting = [*number.origins, *number.parts, *_entry_of(number, layer)]
    seen: set[str] = set()
    while waiting and len(seen) < MOST_ALIASES:
        origin = waiting.pop(0)
        if origin in seen:
            continue
        seen.add(origin)
        for module, node in _mentions(world, origin, layer.where.path):
            if _is_same(world, module, node, origin, number):
                for alias, found in _use(world, module, node):
                    waiting += [alias] if alias else []
                    yield from [found] if found else []


def _is_same(world: World, module: Module, node: ast.expr, origin: str, number: Integer) -> bool:
    """Whether an expression is worth the number because it reads this symbol; settings come from the callers."""
    frame = world.open_frame(module, node)
    value = world.apart().evaluate(node, frame)
    if isinstance(value, Opaque | Unknown) and isinstance(module.parents.get(node), ast.Compare):
        value = type(world)(world.workspace, Path(), Budget(FEW_STEPS)).evaluate(node, frame)
    return isinstance(value, Integer) and origin in value.origins and _equal(value, number)


def only_compared(world: World, number: Integer, near: str) -> bool:
    """Whether the project does nothing with a symbol but compare with it: under none of its names is it written."""
    waiting, seen = list(number.origins), set[str]()
    while waiting and len(seen) < MOST_ALIASES:
        origin = waiting.pop(0)
        if origin in seen or "[" in origin:
            continue
        seen.add(origin)
        for module, node in _mentions(world, origin, near):
            value = world.apart().evaluate(node, world.open_frame(module, node))
            if isinstance(value, Integer) and origin in value.origins:
                parent = module.parents.get(node)
                if isinstance(parent, ast.Assign | ast.AnnAssign):
                    aliases = [alias for alias, _ in _alias(module, parent)]
                    waiting += aliases
                    if "" in aliases:
                        return False
                elif not _is_read_only(module, node):
                    return False
    return bool(seen) and not waiting


def _is_read_only(module: Module, node: ast.expr) -> bool:
    """Whether a symbol is compared, or stands in the arithmetic of sizes."""
    parent = module.parents.get(node)
    match parent:
        case ast.Compare():
            return True
        case ast.Tuple() | ast.List() | ast.Set():
            return isinstance(module.parents.get(parent), ast.Compare)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return isinstance(right if left is node else left, ast.Constant)
    return False


def _same_number(world: World, number: Integer, layer: Layer) -> Iterator[Job]:
    """Stop checks against an equal number beside the layer, though nothing ties it to this one: two keys of a file."""
    if number.number is None or number.number < LARGE or not layer.name:
        return
    paths = dict.fromkeys((layer.where.path, *(step.where.path for step in layer.classes.evidence)))
    modules = (world.workspace.module(path) for path in paths if path.endswith((".py", ".ipynb")))
    for module in (each for each in modules if isinstance(each, Module)):
        for compare, node in _compared(module):
            value = world.apart().evaluate(node, world.open_frame(module, node))
            is_equal = isinstance(value, Integer) and value.number == number.number
            if is_equal and meets_a_sample(world, module, compare, node) and stops(module, compare):
                steps = (*(value.evidence if isinstance(value, Integer) else ()), module.step(compare))
                yield Job(Role.END, Proof.USE, f"{_spelled(node)}, which ends decoding", steps)


def _compared(module: Module) -> Iterator[tuple[ast.Compare, ast.expr]]:
    """The names and numbers of a file that are compared with something."""
    for node in module.compares:
        for each in (node.left, *node.comparators):
            if isinstance(each, ast.Name | ast.Attribute | ast.Subscript | ast.Constant):
                yield node, each


def _equal(value: Integer, number: Integer) -> bool:
    """A part of a number's arithmetic is the number itself only if it is worth the same."""
    return (value - number).number == 0 or bool(set(value.origins) & set(number.origins))


def _entry_of(number: Integer, layer: Layer) -> Iterator[str]:
    table = layer.classes.table
    label = table.label(number.number) if table and number.number is not None else None
    if table and table.explicit and label is not None:
        yield f"{table.name}[{label!r}]"


def _mentions(world: World, origin: str, near: str) -> Iterator[tuple[Module, ast.expr]]:
    """Where the project reads a symbol: by its name, or by its key."""
    key = origin.partition("[")[2].rstrip("]").strip("'\"")
    counted = origin.rpartition("len(")[2].rstrip(")") if "len(" in origin else ""
    word = key or counted or origin.rpartition(".")[2]
    if not key and not word.isidentifier():
        return
    for module in world.workspace.mentions(word, near):
        if module.is_test:
            continue
        if key:
            yield from ((module, node) for node in module.keys.get(key, ()) if isinstance(node.ctx, ast.Load))
            yield from ((module, node) for node in module.loads.get(key, ()) if isinstance(node, ast.Attribute))
        elif counted:
            yield from ((module, node) for node in _counts(module, counted))
        else:
            yield from ((module, node) for node in module.loads.get(word, ()))
    yield from _renamed(world, word, near) if not key and not counted else ()


def _counts(module: Module, word: str) -> Iterator[ast.expr]:
    """Where a file takes the length of a table."""
    for node in module.loads.get(word, ()):
        call = module.parents.get(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "len":
            yield call


def _renamed(world: World, word: str, near: str) -> Iterator[tuple[Module, ast.expr]]:
    """Where the project reads a symbol under the name that an import gave it."""
    others = {new for module in world.workspace.mentions(word, near) for new in module.renamed.get(word, ())}
    for other in sorted(others):
        for module in world.workspace.mentions(other, near):
            yield from ((module, node) for node in module.loads.get(other, ()))


def _use(world: World, module: Module, node: ast.expr) -> Iterator[tuple[str, Job | None]]:
    """What one use says: another name for the symbol, or a job."""
    parent = module.parents.get(node)
    match parent:
        case ast.Assign(targets=[target], value=value) if value is node and (place := _one_place(target)) is not None:
            yield "", _written(module, parent, node, place)
        case ast.Assign() | ast.AnnAssign() if parent.value is node:
            yield from _alias(module, parent)
        case ast.Tuple() if (place := _pair(module, parent, node)) is not None:
            yield "", _written(module, module.parents[parent], node, place)
        case ast.keyword(arg="value") if (call := module.parents[parent]) and isinstance(call, ast.Call):
            yield from _padded(module, call, node)
        case ast.keyword(arg=str(name)):
            yield "", _named(name, module.step(module.parents[parent]))  # type: ignore[arg-type]
        case ast.Compare() if meets_a_sample(world, module, parent, node) and stops(module, parent):
            yield "", Job(Role.END, Proof.USE, f"{_spelled(node)}, which ends decoding", (module.step(parent),))
        case ast.List() | ast.Tuple() | ast.Call():
            yield from _appended(module, parent, node)


def _written(module: Module, statement: ast.AST, node: ast.expr, place: int) -> Job | None:
    """One step of each row: the first is a start, a later one an answer, unless its name says padding."""
    if _is_quiet(node):
        return None
    return _at_start(module, statement, node) if place == 0 else _at_end(module, statement, node)


def _is_quiet(node: ast.expr) -> bool:
    """Whether the name says padding, and no end: to write it is to pad."""
    said = roles(last(node)) or index_roles(last(node))
    return bool(said & set(QUIET)) and Role.END not in said


def _fills_up(module: Module, node: ast.AST) -> bool:
    """``while len(row) < longest: row.append(0)`` pads, whatever the number is called."""
    holder = module.parents.get(module.statement(node))
    return isinstance(holder, ast.While) and any(
        isinstance(each, ast.Call) and dotted(each.func) == "len" for each in nodes_of(holder.test)
    )


def _pair(module: Module, parent: ast.Tuple, node: ast.expr) -> int | None:
    """``ids[:, 6], ids[:, 7] = EOS, PAD``: the one place that a symbol is written to."""
    holder = module.parents.get(parent)
    match holder:
        case ast.Assign(targets=[ast.Tuple(elts=places)]) if len(places) == len(parent.elts):
            return _one_place(places[parent.elts.index(node)])
    return None


def _one_place(target: ast.expr) -> int | None:
    """``ids[:, 6]``: one step of each row, where padding would take a stretch."""
    match target:
        case ast.Subscript(slice=ast.Tuple(elts=[*_, ast.Constant(value=int(place))])):
            return place
        case ast.Subscript(
            slice=ast.Tuple(elts=[*_, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(place)))])
        ):
            return -place
    return None


def _alias(module: Module, node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, Job | None]]:
    places = node.targets if isinstance(node, ast.Assign) else [node.target]
    scope = module.standing(node)
    for target in (each for place in places for each in targets(place)):
        name = dotted(target) or ""
        last = name.rpartition(".")[2]
        yield _origin(module, scope, name), _named(last, module.step(node))


def _origin(module: Module, scope: ast.AST, name: str) -> str:
    """The name as the evaluator tells it from others; an attribute of ``self`` belongs to the class."""
    last = name.rpartition(".")[2]
    owner = module.parents.get(scope)
    match scope:
        case ast.Module():
            return f"{module.key}.{last}"
        case ast.ClassDef(name=cls):
            return f"{module.key}.{cls}.{last}"
        case ast.FunctionDef() if name.startswith("self.") and isinstance(owner, ast.ClassDef):
            return f"{module.key}.{owner.name}.{last}"
    return ""


def _named(name: str, step: Step) -> Job | None:
    found = roles(name)
    role = next((role for role in NAMED if role in found), None)
    return Job(role, Proof.NAME, name, (step,)) if role else None


def _padded(module: Module, call: ast.Call, node: ast.expr) -> Iterator[tuple[str, Job | None]]:
    """``F.pad(codes, (0, 1), value=STOP)`` writes one answer more; ``(1, 0)`` a start."""
    amounts = call.args[1] if len(call.args) > 1 else None
    if (dotted(call.func) or "").rpartition(".")[2] != "pad" or not isinstance(amounts, ast.Tuple):
        return
    fixed = [each.value if isinstance(each, ast.Constant) else None for each in amounts.elts]
    if any(isinstance(amount, int) and amount > 0 for amount in fixed[1::2]):
        yield "", _at_end(module, call, node)
    elif None not in fixed:
        yield "", _at_start(module, call, node)


def meets_a_sample(world: World, module: Module, compare: ast.Compare, node: ast.expr) -> bool:
    """Whether a symbol is compared with a predicted class."""
    if not all(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.Is) for op in compare.ops):
        return False
    others = [each for each in (compare.left, *compare.comparators) if each is not node]
    return any(_samples(other) or _was_sampled(module, other) or _is_sampled(world, module, other) for other in others)


def stops(module: Module, node: ast.AST, depth: int = 0) -> bool:
    """Whether a comparison decides about going on: a test asks it, or a flag that it goes into; a mask does not."""
    while True:
        parent = module.parents[node]
        match parent:
            case ast.If() | ast.While():
                return node is parent.test
            case ast.Return():
                return _asked(module, parent, depth)
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                flags = module.loads.get(last(target), ()) if depth < MOST_FLAGS else ()
                scope = module.scope(parent)
                return any(module.scope(flag) is scope and stops(module, flag, depth + 1) for flag in flags)
            case ast.stmt() | ast.comprehension() | ast.Subscript():
                return False
        node = parent


def _asked(module: Module, node: ast.Return, depth: int) -> bool:
    """Whether a test asks the function that returns a comparison."""
    function = module.scope(node)
    calls = module.loads.get(getattr(function, "name", ""), ()) if depth < MOST_FLAGS else ()
    return any(stops(module, call, depth + 1) for call in calls)


def _is_sampled(world: World, module: Module, node: ast.expr) -> bool:
    value = world.apart().evaluate(node, world.open_frame(module, node))
    return isinstance(value, Tensor) and value.sampled


def _samples(node: ast.AST) -> bool:
    calls = (each.func for each in nodes_of(node) if isinstance(each, ast.Call))
    words = (func.attr if isinstance(func, ast.Attribute) else dotted(func) for func in calls)
    return any(word in torch.SAMPLING - {"max"} for word in words)


def _was_sampled(module: Module, node: ast.expr) -> bool:
    """Whether any assignment of the scope gives the name a predicted class, in an earlier turn of the loop, say."""
    root = next((each.id for each in nodes_of(node) if isinstance(each, ast.Name)), None)
    scope = module.scope(node)
    if root is None or isinstance(scope, ast.Lambda):
        return False
    for each in nodes_of(scope):
        match each:
            case ast.Assign(targets=places, value=value):
                made: list[ast.expr] = places
            case ast.For(target=target, iter=value):
                made = [target]
            case _:
                continue
        if any(dotted(name) == root for place in made for name in targets(place)) and _samples(value):
            return True
    return False


def _appended(module: Module, parent: ast.AST, node: ast.expr) -> Iterator[tuple[str, Job | None]]:
    """``ids + [EOS]``, ``[BOS, *ids, EOS]`` and ``ids.append(EOS)`` write a symbol at one end of a sequence."""
    if _is_quiet(node) or _fills_up(module, parent):
        return
    holder = module.parents.get(parent)
    match parent, holder:
        case ast.Call(func=ast.Attribute(attr="append"), args=[only]), _ if only is node:
            yield "", _at_end(module, parent, node)
        case ast.List(elts=parts) | ast.Tuple(elts=parts), _ if any(isinstance(each, ast.Starred) for each in parts):
            yield (
                "",
                _at_end(module, parent, node)
                if parts[-1] is node
                else _at_start(module, parent, node)
                if parts[0] is node
                else None,
            )
        case ((ast.List(elts=parts) | ast.Tuple(elts=parts)), ast.BinOp(op=ast.Add())) if parts[-1] is node:
            yield "", _at_end(module, holder, node) if holder.right is parent else _at_start(module, holder, node)
        case ast.Tuple(), ast.Subscript():
            return


def _at_end(module: Module, where: ast.AST, node: ast.expr) -> Job:
    return Job(Role.END, Proof.USE, f"{_spelled(node)}, which closes a sequence", (module.step(where),))  # type: ignore[arg-type]


def _at_start(module: Module, where: ast.AST, node: ast.expr) -> Job:
    return Job(Role.START, Proof.USE, f"{_spelled(node)}, which opens a sequence", (module.step(where),))  # type: ignore[arg-type]


def _spelled(node: ast.expr) -> str:
    """A symbol as this use of it spells it."""
    return ast.unparse(node)
