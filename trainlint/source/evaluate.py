"""The evaluator: what an expression is worth in one world. Backwards and on demand; nothing is ever executed."""

from __future__ import annotations

import ast
import sys

from trainlint.knowledge import SIGNATURES, canonical, transformers
from trainlint.knowledge.formats import CASTING
from trainlint.knowledge.roles import roles
from trainlint.record import replace
from trainlint.source import (
    activations,
    arithmetic,
    binding,
    builtin,
    callers,
    choices,
    containers,
    doubts,
    files,
    formats,
    hydra,
    names,
    objects,
    pretrained,
    registries,
    settings,
    shapes,
    subscripts,
    tensors,
    tokenizers,
)
from trainlint.source.nodes import nodes_of
from trainlint.source.summary import Module, absolute, bound, dotted, place, places, targets, updated
from trainlint.source.things import (
    Arguments,
    Binding,
    Built,
    Class,
    Constant,
    Entries,
    External,
    File,
    Frame,
    Function,
    Items,
    Made,
    Method,
    Opaque,
    Partial,
    Repeated,
    Tensor,
    Thing,
    Thunk,
    TupleClass,
    Turn,
    backed,
)  # fmt: skip
from trainlint.source.world import RESTORED, Budget, Impossible, Path, World
from trainlint.value import Integer, Unknown

APPLIED = ("forward", "__call__")
SEVERAL = Unknown("it changes with each turn of a loop")
MOST_UNROLLED = 64
"""A loop of more turns than this is not followed turn by turn."""

MOST_ELEMENTS = 1024
"""Comprehensions over more elements than this keep one element and a length."""


class Evaluator(World):
    """The expressions of Python, as far as training code needs them."""

    def expression(self, node: ast.expr, frame: Frame) -> Thing:
        match node:
            case ast.Constant(value=bool() | None | str() | float() | bytes()):
                return Constant(node.value)
            case ast.Constant(value=int(number)):
                return Integer.exact(number)
            case ast.Name():
                return self._name(node, frame)
            case ast.Attribute():
                return self._attribute(node, frame)
            case ast.Call():
                return self._unless_sized(self._call(node, frame), node, frame)
            case ast.BinOp():
                return self._operation(node, frame)
            case ast.UnaryOp():
                return self._unary(node, frame)
            case ast.Subscript():
                return self._unless_sized(self._subscript(node, frame), node, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return self._items(node, elements, frame)
            case ast.Dict():
                return self._entries(node, frame)
            case ast.IfExp():
                return self.evaluate(node.orelse if names.taken(self, node, frame) else node.body, frame)
            case ast.BoolOp():
                return self._junction(node, frame)
            case ast.Compare():
                return self._compare(node, frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self._comprehension(node, frame)
            case ast.DictComp():
                return self._dict_comprehension(node, frame)
            case ast.Lambda():
                return Function(node, frame)
            case ast.JoinedStr():
                return files.formatted(self, node, frame)
            case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
                return self.evaluate(value, frame)
        return Unknown(f"{type(node).__name__} is not followed")

    # Names

    def _name(self, node: ast.Name, frame: Frame) -> Thing:
        return self.lookup(node.id, node, frame)

    def lookup(self, name: str, node: ast.AST, frame: Frame) -> Thing:
        """What a name is worth where a node uses it: inner scopes first."""
        each: Frame | None = frame
        inside = True
        while each is not None:
            if name in each.local:
                return self.force(each.local[name])
            found = self._in_scope(name, node, each, inside)
            if found is not None:
                return found
            called = callers.entered(self, each) if self._is_closure(each) else None
            if each.function is not None:
                # A class body runs where it stands; a function, when everything around it has run.
                inside = inside and isinstance(each.function, ast.ClassDef)
                node = each.function
            outer = called.outer if called is not None else each.outer
            each = outer or (self.module_frame(each.module) if each.function is not None else None)
        return self._global(name, frame)

    def _is_closure(self, frame: Frame) -> bool:
        """Whether an open function was made by another one, whose call says what its outer names are."""
        outer = frame.outer.function if frame.outer else None
        made = isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef)
        return made and frame.arguments is None and not isinstance(frame.function, ast.ClassDef)

    def _in_scope(self, name: str, node: ast.AST, frame: Frame, inside: bool) -> Thing | None:
        function = frame.function
        if isinstance(function, ast.ClassDef) and not inside:
            return None
        made = self._comprehended(name, node, frame)
        if made is not None:
            return made
        # What a statement binds is the same in every turn: a fork must not be asked again in each.
        frame = frame.home or frame
        if function is None:
            return self._module_name(name, node, frame) if inside else None
        if name in frame.module.rebound and _is_nonlocal(name, function):
            return Unknown(f"{name} is assigned through a nonlocal statement")
        found = names.reaching(self, name, node, frame)
        if found is None and not inside and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            found = names.final(self, name, function, frame)
        if found:
            return self.bound_value(found, name, frame, node)
        if not isinstance(function, ast.ClassDef) and name in binding.declared(function):
            return self.parameter(name, frame)
        if inside and not self.renews and names.is_local(frame.module, function, name):
            raise Impossible
        return None

    def _module_name(self, name: str, node: ast.AST, frame: Frame) -> Thing | None:
        found = names.reaching(self, name, node, frame) if name not in frame.module.rebound else None
        starred = self._starred(name, frame, found, getattr(node, "lineno", 0)) if frame.module.stars else None
        if starred is not None:
            return starred
        return self.bound_value(found, name, frame, node) if found else None

    def _global(self, name: str, frame: Frame) -> Thing:
        found = self.of_module(frame, name)
        if found is not None:
            return found
        if name == "__file__":
            return Constant(frame.module.path)
        if name in builtin.NAMES:
            return External(f"builtins.{name}")
        return Unknown(f"{name} is not defined in the project", name)

    def of_module(self, frame: Frame, name: str) -> Thing | None:
        """What a module binds to a name when it has run, star imports included."""
        module = frame.module
        frame = self.module_frame(module)
        with self.once(("module name", module.path, name)) as is_free:
            return self._of_module(name, frame) if is_free else Unknown("it is imported from itself")

    def _of_module(self, name: str, frame: Frame) -> Thing | None:
        module = frame.module
        if name in module.rebound:
            return Unknown(f"{name} is assigned through a global statement")
        if several := names.cells_of(module, name):
            return Unknown(f"{name} is defined in {_cells(several)}, and either may be the one that is used", name)
        found = names.final(self, name, module.tree, frame)
        starred = self._starred(name, frame, found, sys.maxsize)
        if starred is not None:
            return starred
        if found:
            return self.bound_value(found, name, frame)
        if len(module.stars) == 1 and self.workspace.find(module.stars[0][0], module) is None:
            return None if name in builtin.NAMES else External(f"{module.stars[0][0]}.{name}")
        return None

    def _starred(self, name: str, frame: Frame, found: Binding | None, before: int) -> Thing | None:
        """What the last star import after a definition, and before a line, gives to a name."""
        after = getattr(found.node, "lineno", 0) if found else 0
        for star, row in reversed(frame.module.stars):
            path = self.workspace.locate(star, frame.module) if after < row < before else None
            if path is None or path == frame.module.path or not self._offers(path, name):
                continue
            home = self.workspace.module(path)
            if isinstance(home, Module) and self._exports(home, name):
                value = self.of_module(self.module_frame(home), name)
                if value is not None:
                    return value
        return None

    def _offers(self, home: str, name: str) -> bool:
        """Whether a module, or any that it imports whole, binds a name at all: asked first, since stars form webs."""
        return any(names.is_bound(module, name) for module in self.workspace.exporting(home, name))

    def _exports(self, module: Module, name: str) -> bool:
        """Whether ``from module import *`` takes a name along."""
        listed = self.of_module(self.module_frame(module), "__all__") if "__all__" in module.stored else None
        if not isinstance(listed, Items) or not listed.whole:
            return not name.startswith("_") or listed is not None
        words = [self.force(each) for each in listed.elements]
        return any(not isinstance(word, Constant) or word.value == name for word in words)

    def _member_of(self, module_name: str, name: str, frame: Frame) -> Thing | None:
        """``name`` out of a module: of the project, or of a library."""
        found = self.workspace.find(module_name, frame.module)
        if found is None:
            inside = self.workspace.find(f"{module_name}.{name}", frame.module)
            return File(inside) if inside else External(canonical(f"{module_name}.{name}"))
        value = self.of_module(self.module_frame(found), name) if found is not frame.module else None
        if value is not None:
            return value
        inner = self.workspace.find(f"{module_name}.{name}", frame.module)
        return File(inner) if inner else self._by_search_path(module_name, name, found)

    def _by_search_path(self, module_name: str, name: str, empty: Module) -> Thing | None:
        """A module of the same name in a folder that only the search path of a run knows, if it is the only one."""
        if "." in module_name or names.top(empty):
            return None
        others = [each for each in self.workspace.called(module_name) if names.is_bound(each, name)]
        return self.of_module(self.module_frame(others[0]), name) if len(others) == 1 else None

    def _comprehended(self, name: str, node: ast.AST, frame: Frame) -> Thing | None:
        """A comprehension's own variable, looked up from inside it."""
        scope = frame.function or frame.module.tree
        child = node
        while node is not scope:
            match node:
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    for each in node.generators:
                        if each is child and child is node.generators[0]:
                            break
                        if any(isinstance(target, ast.Name) and target.id == name for target in targets(each.target)):
                            return self._unpacked(
                                each.target, self.element(self.evaluate(each.iter, frame), each.iter), name
                            )
                case ast.stmt():
                    return None
            child, node = node, frame.module.parents.get(node, scope)
        return None

    def parameter(self, name: str, frame: Frame) -> Thing:
        """A parameter: what the call passes, else what this world's caller passes, else its type or its default."""
        if frame.arguments is not None:
            return binding.bound_parameter(self, name, frame)
        receiver = callers.receiver(self, name, frame)
        if receiver is not None:
            return receiver
        configured = hydra.parameter(self, name, frame)
        if configured is not None:
            return configured
        handed = callers.handed_by_trainer(self, name, frame)
        if handed is not None:
            return handed
        called = callers.entered(self, frame)
        if called is not None:
            value = binding.bound_parameter(self, name, called)
            if not isinstance(value, Unknown | Opaque):
                return value
            annotated = callers.annotated(self, name, frame)
            return annotated if annotated is not None else value
        annotated = callers.annotated(self, name, frame)
        if annotated is not None:
            return annotated
        default = binding.default_parameter(self, name, frame)
        if default is not None and not (isinstance(default, Constant) and default.value is None):
            # Whether somebody else passes it is dear to ask, so it is asked only where a default could hold.
            passed = callers.is_called(self, frame) or callers.is_handed_over(self, name, frame.module)
            if not passed:
                return default
        return binding.open_parameter(name, frame, callers.unfollowed(self, frame))

    # Bindings

    def bound_value(self, binding: Binding, name: str, frame: Frame, use: ast.AST | None = None) -> Thing:
        """What a definition gives to a dotted name; a longer name than it binds goes on through attributes."""
        value = self._bound(binding, self._turned(binding, frame, use))
        restored = isinstance(value, Opaque) and value.origin.startswith(RESTORED)
        if restored and not self.renews and names.is_resumed(frame, binding):
            raise Impossible
        if frame.function is None and isinstance(value, Integer | Constant):
            value = self._unless_rewritten(value, frame)
        for attribute in name[len(binding.name) :].split(".")[1:]:
            value = self.attribute(value, attribute)
        if isinstance(value, Tensor) and use is not None:
            return tensors.written(self, activations.kept(value, binding, frame, use), binding, frame, use)
        return containers.changed(self, value, binding, frame, use)

    def _turned(self, binding: Binding, frame: Frame, use: ast.AST | None) -> Frame:
        """The frame in which a definition ran: the turn before this one, or the last turn of a loop that is over."""
        turn = frame.turn
        if binding.earlier is not None and turn is not None:
            return self._in_turn(turn.loop, turn.values, turn.place - 1, turn.around)
        if turn is not None:
            return frame if names.holds(frame.module, turn.loop, binding.node) else turn.around
        loop = names.left_by(frame.module, binding, use)
        values = builtin.sequence(self, self.evaluate(loop.iter, frame)) if loop is not None else None
        if loop is None or not values or len(values) > MOST_UNROLLED:
            return frame
        return self._in_turn(loop, values, len(values) - 1, frame)

    def _in_turn(self, loop: ast.For, values: tuple[Thunk, ...], place: int, around: Frame) -> Frame:
        frame = self.turn(loop.target, self.force(values[place]), around, place)
        return replace(frame, turn=Turn(loop, place, values, around), home=None)

    def _bound(self, binding: Binding, frame: Frame) -> Thing:
        node = binding.node
        if isinstance(node, ast.stmt) and binding.name not in bound(node):
            return self._walrus(node, binding.name, frame)
        match node:
            case ast.Assign():
                value = self._assigned(node, binding.name, frame)
            case ast.AnnAssign(value=ast.expr() as assigned):
                value = self.evaluate(assigned, frame)
            case ast.AugAssign():
                value = self._augmented(node, binding.name, frame)
                return (
                    SEVERAL if isinstance(value, Integer) and names.repeats(frame.module, node, binding.name) else value
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return Function(node, frame)
            case ast.ClassDef():
                return Class(node, frame.module, frame)
            case ast.Expr(value=ast.Call() as call):
                value = self.evaluate(updated(call)[binding.name.rpartition(".")[2][2:-2]], frame)
            case ast.Import() | ast.ImportFrom():
                return self._imported(node, binding.name, frame)
            case ast.For() | ast.AsyncFor():
                return self._unpacked(
                    node.target, self.element(self.evaluate(node.iter, frame), node.iter), binding.name
                )
            case ast.With() | ast.AsyncWith():
                item = next(
                    item for item in node.items if item.optional_vars and binding.name in _names(item.optional_vars)
                )
                value = self.evaluate(item.context_expr, frame)
                return self.force(value.element) if isinstance(value, Repeated) else value
            case _:
                return self._walrus(node, binding.name, frame)
        if isinstance(value, Integer) and names.repeats(frame.module, node, binding.name):
            return SEVERAL
        return self._known_as(value, binding.name, node, frame)

    def _unless_rewritten(self, value: Thing, frame: Frame) -> Thing:
        """A module's constant where the module runs text as code, or writes its own globals: only assumed."""
        for word in ("exec", "globals"):
            for node in frame.module.loads.get(word, ()):
                call = frame.module.parents.get(node)
                if isinstance(call, ast.Call) and call.func is node and frame.module.scope(call) is frame.module.tree:
                    return arithmetic.assumed_by(value, frame.step(call))
        return value

    def _known_as(self, value: Thing, name: str, node: ast.stmt, frame: Frame) -> Thing:
        """A value that took a name keeps the name and the line."""
        if isinstance(value, Integer):
            return _called(value, name, frame).because(frame.step(node))
        match value:
            case Items(name="") | Entries(name=""):
                return replace(value, name=name)
            case Built(label=""):
                return replace(value, label=name) if "." not in name else value
            case Opaque(name="from_pretrained()"):
                return replace(value, name=name)
            case Opaque() if roles(name) and name not in value.words:
                return replace(value, words=(name.rpartition(".")[2], *value.words))
        if isinstance(value, Constant):
            return backed(replace(value, name=value.name or name), frame.step(node))
        return value

    def _assigned(self, node: ast.Assign, name: str, frame: Frame) -> Thing:
        for target in node.targets:
            if name in _names(target):
                if isinstance(target, ast.Tuple | ast.List) and isinstance(node.value, ast.Tuple | ast.List):
                    return self._pairwise(target, node.value, name, frame)
                return self._unpacked(target, self.evaluate(node.value, frame), name)
        return Unknown("the assignment is not followed")

    def _pairwise(self, target: ast.Tuple | ast.List, value: ast.Tuple | ast.List, name: str, frame: Frame) -> Thing:
        if len(target.elts) != len(value.elts) or any(
            isinstance(each, ast.Starred) for each in (*target.elts, *value.elts)
        ):
            return self._unpacked(target, self.evaluate(value, frame), name)
        for left, right in zip(target.elts, value.elts, strict=True):
            if name in _names(left):
                return self._unpacked(left, self.evaluate(right, frame), name)
        return Unknown("the assignment is not followed")

    def _unpacked(self, target: ast.expr, value: Thing, name: str) -> Thing:
        """The part of a value that an unpacking gives to a name."""
        if not isinstance(target, ast.Tuple | ast.List):
            return value
        starred = next((index for index, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        for index, each in enumerate(target.elts):
            if name not in _names(each):
                continue
            if index == starred:
                return builtin.middle(self, value, index, len(target.elts) - index - 1, target)
            place = index if starred is None or index < starred else index - len(target.elts)
            return self._unpacked(each, subscripts.part(self, value, place, each), name)
        return Unknown("the unpacking is not followed")

    def _augmented(self, node: ast.AugAssign, name: str, frame: Frame) -> Thing:
        before = self.evaluate(node.target, frame)
        left, right = self.integer(before), self.integer(self.evaluate(node.value, frame))
        if isinstance(before, Tensor):
            return before.but()
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return left if isinstance(left, Unknown) else right
        total = arithmetic.combined(node.op, left, right)
        return total.because(frame.step(node)).named(name) if isinstance(total, Integer) else total

    def _walrus(self, node: ast.AST, name: str, frame: Frame) -> Thing:
        for named, statement in names.walrus(frame.module):
            if named == name and statement is node:
                each = next(
                    each for each in nodes_of(node) if isinstance(each, ast.NamedExpr) and each.target.id == name
                )
                return self.evaluate(each.value, frame)
        return Unknown(f"{name} is bound in a way that is not followed")

    def _imported(self, node: ast.Import | ast.ImportFrom, name: str, frame: Frame) -> Thing:
        if isinstance(node, ast.Import):
            alias = next(each for each in node.names if (each.asname or each.name.partition(".")[0]) == name)
            full = alias.name if alias.asname else alias.name.partition(".")[0]
            found = self.workspace.find(full, frame.module)
            return File(found) if found else External(canonical(full))
        alias = next(each for each in node.names if (each.asname or each.name) == name)
        package = frame.module.name
        package = package if frame.module.path.endswith("__init__.py") else package.rpartition(".")[0]
        base = absolute(package, node.level, node.module or "")
        value = self._member_of(base, alias.name, frame)
        if value is None and node.level and not base:
            value = self._member_of(alias.name, "", frame)
        return value if value is not None else Unknown(f"{base} does not define {alias.name}")

    # Attributes, operators, literals

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Thing:
        name = dotted(node)
        if name and name in frame.module.stored:
            found = names.reaching(self, name, node, frame)
            if found and "." in found.name:
                later = objects.left_between(self, found, node, frame) if found.name == name else None
                value = later if later is not None else self.bound_value(found, name, frame, node)
                return self._as_setting(value, found, frame)
        return self.attribute(self.evaluate(node.value, frame), node.attr, node)

    def _as_setting(self, value: Thing, found: Binding, frame: Frame) -> Thing:
        """What is written into a library's settings object is a default: files and flags are merged over it."""
        if not isinstance(value, Integer | Constant) or not isinstance(found.node, ast.stmt):
            return value
        root = found.name.partition(".")[0]
        home = self.lookup(root, found.node, frame)
        is_settings = (
            isinstance(home, Built) and isinstance(home.what, External) and not home.what.name.startswith("torch")
        )
        return arithmetic.assumed_by(value, frame.step(found.node)) if is_settings else value

    def _unless_sized(self, value: Thing, node: ast.expr, frame: Frame) -> Thing:
        """The size of a tensor that is not known is a number all the same."""
        sized = shapes.size(self, node, frame) if isinstance(value, Opaque | Unknown) else None
        return sized if sized is not None else value

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Thing:
        name = place(node)
        if name and name in frame.module.stored:
            found = names.reaching(self, name, node, frame)
            if found and found.name == name:
                return self.bound_value(found, name, frame, node)
        return subscripts.subscript(self, self.evaluate(node.value, frame), node, frame)

    def attribute(self, thing: Thing, name: str, node: ast.expr | None = None) -> Thing:
        match thing:
            case File() | External() if name == choices.NAMESPACE:
                return Method(thing, name)
            case File(module=module):
                found = self.of_module(self.module_frame(module), name)
                inner = self.workspace.find(f"{module.name}.{name}", module)
                return (
                    found
                    if found is not None
                    else File(inner)
                    if inner
                    else Unknown(f"{module.name} does not define {name}")
                )
            case External():
                return External(canonical(f"{thing.name}.{name}"))
            case Class():
                found = objects.class_attribute(self, thing, name)
                if found is None and pretrained.makes(self, thing, name):
                    return Method(thing, name)
                return found if found is not None else Unknown(f"{thing.name} does not define {name}")
            case Built(what=Class()):
                return self._as_size(self._attribute_of(thing, name), thing, name, node)
            case Built(what=External()):
                return tensors.library_attribute(self, thing, name)
            case Entries(record=True) if not name.startswith("_"):
                return builtin.entry(self, thing, Constant(name))
            case Integer() if name in ("value", "real"):
                return thing
            case Constant() if name == "value":
                return thing
            case Constant(value=str()) if name in files.PARTS:
                return files.part(thing, name)
            case Entries() if name not in settings.METHODS:
                return settings.attribute(self, thing, name)
            case Opaque() if name in tensors.OF_TENSORS or name in activations.OPEN_METHODS:
                return Method(thing, name)
            case Opaque() if thing.format is not None and name in CASTING:
                return Method(thing, name)
            case Opaque() if (known := tokenizers.attribute(self, thing, name)) is not None:
                return known
            case Opaque():
                origin, words = f"{thing.origin}.{name}", (name,)
                return Opaque(
                    f"{thing.name}.{name}",
                    origin,
                    thing.why,
                    binding.least(name),
                    node,
                    words,
                    thing.evidence,
                    thing.mapped,
                    thing.format,
                    thing.loaded if name in tokenizers.ASKING else None,
                )
            case Tensor(sampled=True) if name == "indices":
                return thing
            case Tensor() if name in ("T", "mT", "data", "logits", "values"):
                return thing if name in ("data", "logits", "values") else tensors.turned(thing)
            case Unknown() if name in activations.OPEN_METHODS:
                return Method(thing, name)
            case Unknown():
                return thing
        return Method(thing, name)

    def _attribute_of(self, thing: Built, name: str) -> Thing:
        """An attribute of an object of the project, or of the library's module that its class extends."""
        found = settings.of_object(self, thing, name, objects.attribute_of(self, thing, name))
        inherited = objects.library_base(self, thing) if isinstance(found, Method) and found.thing is thing else None
        if inherited is not None and inherited.what.name in SIGNATURES:
            return tensors.library_attribute(self, inherited, name)
        return found

    def _as_size(self, found: Thing, thing: Built, name: str, node: ast.expr | None) -> Thing:
        """A size that others may have written over: each time it is read it is a number of its own."""
        if node is None or not isinstance(found, Unknown) or objects.WRITTEN_ELSEWHERE not in found.reason:
            return found
        least = binding.least(name)
        if least is None:
            return found
        origin = f"{objects.origin(thing, name)}@{id(node)}"
        return Opaque(f"{thing.name}.{name}", origin, found, least, node, (name,))

    def _operation(self, node: ast.BinOp, frame: Frame) -> Thing:
        left, right = self.evaluate(node.left, frame), self.evaluate(node.right, frame)
        if isinstance(left, Tensor) or isinstance(right, Tensor) or isinstance(node.op, ast.MatMult):
            return tensors.mixed(self, node, left, right, frame)
        joined = builtin.joined(self, node, left, right)
        if joined is not None:
            return joined
        first, second = self.integer(left), self.integer(right)
        if isinstance(first, Unknown) or isinstance(second, Unknown):
            return first if isinstance(first, Unknown) else second
        return arithmetic.combined(node.op, first, second)

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Thing:
        if isinstance(node.op, ast.Not):
            decided = names.truth(self, node, frame)
            return Unknown("the test is open") if decided is None else Constant(decided)
        value = self.evaluate(node.operand, frame)
        if isinstance(value, Tensor):
            return value.but()
        number = self.integer(value)
        if isinstance(number, Unknown) or isinstance(node.op, ast.UAdd):
            return number
        return -number if isinstance(node.op, ast.USub) else -number - Integer.exact(1)

    def _junction(self, node: ast.BoolOp, frame: Frame) -> Thing:
        """``a or b``: the first that decides; an open one is a fork between it and the rest."""
        deciding = isinstance(node.op, ast.Or)
        for turn, each in enumerate(node.values[:-1]):
            known = names.truth(self, each, frame)
            if known is deciding:
                return self.evaluate(each, frame)
            if known is None:
                answers = (frame.step(each), frame.step(node.values[-1]))
                if self.choose("branch", ("or", id(node), turn, frame.number), answers) == 0:
                    return self.evaluate(each, frame)
        return self.evaluate(node.values[-1], frame)

    def _compare(self, node: ast.Compare, frame: Frame) -> Thing:
        sides = [self.evaluate(each, frame) for each in (node.left, *node.comparators)]
        compared = zip(node.ops, sides[:-1], sides[1:], strict=True)
        answers = (builtin.compared(self, op, left, right) for op, left, right in compared)
        answer = next((each for each in answers if each is not True), True)
        return Unknown("the comparison is open") if answer is None else Constant(answer)

    def _items(self, node: ast.expr, parts: list[ast.expr], frame: Frame) -> Items:
        elements: list[Thunk] = []
        whole = True
        for part in parts:
            if not isinstance(part, ast.Starred):
                elements.append(Thunk(part, frame))
                continue
            opened = builtin.sequence(self, self.evaluate(part.value, frame))
            whole = whole and opened is not None
            elements += opened or ()
        return Items(tuple(elements), node, frame, whole=whole, mutable=not isinstance(node, ast.Tuple))

    def _entries(self, node: ast.Dict, frame: Frame) -> Entries:
        pairs: list[tuple[Thunk, Thunk]] = []
        whole = True
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                pairs.append((Thunk(key, frame), Thunk(value, frame)))
                continue
            opened = self.evaluate(value, frame)
            if not (isinstance(opened, Entries) and opened.whole):
                whole = False
                pairs = [(name, self._maybe_replaced(known, value, frame)) for name, known in pairs]
            pairs += opened.pairs if isinstance(opened, Entries) else ()
        return Entries(tuple(pairs), node, frame, whole=whole)

    def _maybe_replaced(self, thunk: Thunk, spread: ast.expr, frame: Frame) -> Thunk:
        """An entry that an open ``**`` behind it may replace."""
        return replace(thunk, known=arithmetic.assumed_by(self.force(thunk), frame.step(spread)))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, frame: Frame) -> Thing:
        turns = self._turns(node.generators, frame)
        if turns is not None:
            return Items(tuple(Thunk(node.elt, turn) for turn in turns), node, frame, mutable=True)
        first = node.generators[0]
        length: Integer | Unknown = Unknown("the comprehension has conditions or more than one loop")
        if len(node.generators) == 1 and not first.ifs:
            length = builtin.length(self, self.evaluate(first.iter, frame))
        return Repeated(Thunk(node.elt, frame), length, node)

    def _dict_comprehension(self, node: ast.DictComp, frame: Frame) -> Thing:
        over = self.evaluate(node.generators[0].iter, frame)
        front = (*over.elements, *over.rear) if isinstance(over, Items) and not over.whole else None
        turns = self._turns(node.generators, frame, front)
        if turns is None:
            return Unknown("the table is made by a comprehension over something unknown")
        pairs = tuple((Thunk(node.key, turn), Thunk(node.value, turn)) for turn in turns)
        return Entries(pairs, node, frame, whole=front is None)

    def _turns(
        self, generators: list[ast.comprehension], frame: Frame, front: tuple[Thunk, ...] | None = None
    ) -> list[Frame] | None:
        """One frame for each turn of a comprehension with one loop and no condition; ``front`` are the known ones."""
        if len(generators) != 1 or generators[0].ifs:
            return None
        first = generators[0]
        over = self.evaluate(first.iter, frame)
        turns = front or (None if isinstance(over, Repeated) else builtin.sequence(self, over))
        if turns is None or len(turns) > MOST_ELEMENTS:
            return None
        return [self.turn(first.target, self.force(thunk), frame, place) for place, thunk in enumerate(turns)]

    def turn(self, target: ast.expr, value: Thing, frame: Frame, place: int) -> Frame:
        """A frame in which one turn of a loop gives its value to the loop's variables."""
        local = {
            name.id: Thunk(name, frame, self._unpacked(target, value, name.id))
            for name in targets(target)
            if isinstance(name, ast.Name)
        }
        number = self.workspace.number("turn", id(target), place, frame.number)
        return replace(frame, number=number, local={**frame.local, **local}, home=frame.home or frame)

    # Calls

    def _call(self, node: ast.Call, frame: Frame) -> Thing:
        if isinstance(node.func, ast.Attribute) and _is_super(node.func.value):
            return self._super(node, node.func.attr, frame)
        callable = self.evaluate(node.func, frame)
        return self.call(callable, binding.arguments(self, node, frame), node, frame)

    def _super(self, node: ast.Call, name: str, frame: Frame) -> Thing:
        owner, receiver = callers.owner(self, frame)
        if owner is None or not isinstance(receiver, Built) or not isinstance(receiver.what, Class):
            return Unknown("the base class is not known")
        function = objects.method(self, receiver.what, name, receiver, after=owner)
        inherited = objects.library_base(self, receiver) if function is None and name in APPLIED else None
        if inherited is not None and inherited.what.name in tensors.APPLICABLE:
            return tensors.apply(self, inherited, binding.arguments(self, node, frame), node, frame)
        if function is None:
            return Opaque(
                f"super().{name}()", f"{id(node)}#{frame.number}", Unknown(f"{name} of a library's base class")
            )
        return self.call(function, binding.arguments(self, node, frame), node, frame)

    def call(self, thing: Thing, arguments: Arguments, node: ast.AST, frame: Frame) -> Thing:
        match thing:
            case Function():
                return self._result(thing, arguments, node, frame)
            case Class():
                return builtin.constructed(self, thing, arguments, node, frame)
            case TupleClass():
                return builtin.formed(thing, arguments, node, frame)
            case Partial():
                return self.call(thing.callable, arguments.after(thing.arguments), node, frame)
            case External():
                return tensors.library_call(self, thing, arguments, node, frame)
            case Built(what=Class()):
                return self._apply(thing, arguments, node, frame)
            case Built(what=External()):
                return tensors.apply(self, thing, arguments, node, frame)
            case Method():
                return tensors.method_call(self, thing, arguments, node, frame)
            case Constant(value=None) if not self.renews:
                raise Impossible
            case Opaque() if thing.origin.startswith(RESTORED) and not self.renews:
                raise Impossible
            case Opaque() if thing.name.endswith(".get") and len(arguments.positional) == 2:
                return self._got(thing, arguments)
            case Opaque() if (known := tokenizers.asked(self, thing, arguments)) is not None:
                return known
            case Opaque():
                origin = f"{thing.origin}()@{id(node)}#{frame.number}"
                mapped, made = _mapped(thing, arguments), formats.of_call(self, thing, arguments, node, frame)
                words = _strings(node)
                return Opaque(f"{thing.name}()", origin, thing.why, None, node, words, mapped=mapped, format=made)
        return thing if isinstance(thing, Unknown) else Unknown("what is called is not followed")

    def _result(self, function: Function, arguments: Arguments, node: ast.AST, frame: Frame) -> Thing:
        """What a function of the project returns; a registry's, what its decorators put there."""
        registry = function.receiver
        if isinstance(registry, Built):
            registered = registries.asked(self, registry, function.name, arguments, node, frame)
            if registered is not None:
                return registered
        return callers.result(self, function, arguments, node, frame)

    def _got(self, thing: Opaque, arguments: Arguments) -> Thing:
        """``options.get("pad", 0)`` of something open is the default, assumed."""
        key, default = arguments.positional
        value = self.force(default)
        if isinstance(value, Constant) and value.value is None:
            return Unknown(f"{thing.name}() is decided when it runs")
        name = self.force(key)
        if isinstance(value, Integer) and isinstance(name, Constant) and isinstance(name.value, str):
            value = value.named(name.value)
        return arithmetic.assumed_by(value, default.frame.step(default.node))

    def _apply(self, thing: Built, arguments: Arguments, node: ast.AST, frame: Frame) -> Thing:
        """A module of the project is called: its ``forward``, or ``__call__``."""
        assert isinstance(thing.what, Class)
        if objects.replaced(self, thing, "forward"):
            return Unknown(f"the forward of {thing.name} is replaced")
        for name in ("__call__", "forward"):
            function = objects.method(self, thing.what, name, thing)
            if function is not None:
                return callers.result(self, function, arguments, node, frame)
        inherited = objects.library_base(self, thing)
        if inherited is not None and inherited.what.name in builtin.PARALLEL:
            inside = binding.argument(inherited.arguments, ("module",), "module")
            if isinstance(inside, Thunk):
                return self.call(self.force(inside), arguments, node, frame)
        if inherited is not None and inherited.what.name in tensors.APPLICABLE:
            return tensors.apply(self, inherited, arguments, node, frame)
        base = next((each for each in objects.lineage(self, thing.what) if isinstance(each, External)), None)
        why = Unknown(f"{thing.name} inherits forward from {base.name if base else 'nowhere'}")
        return Opaque(f"{thing.name}()", f"{id(node)}#{frame.number}", why, format=Made(thing, node, frame))

    def apart(self) -> World:
        known = self.workspace.answers.get(("apart",))
        if not isinstance(known, World):
            known = Evaluator(self.workspace, Path(), None)
            self.workspace.answers["apart",] = known
        return known

    def beneath(self, path: Path) -> Evaluator:
        return self._inside(path, None if self.renews else self.budget)

    def beside(self, path: Path) -> Evaluator:
        return self._inside(path, None if self.renews else self.budget.beside)

    def _inside(self, path: Path, budget: Budget | None) -> Evaluator:
        inner = Evaluator(self.workspace, path, budget)
        # What another world says on this one's behalf is not noted here.
        self.sure = self.is_noted = False
        inner.narrow, inner.learns, inner.needed = self.narrow, self.learns, self.needed
        inner.given = {**self.given, **{key: fork.answer for key, fork in self._path.forks.items()}}
        if not self.renews:
            inner.memo = dict(self.memo)
            inner.context, inner.unfollowed = dict(self.context), dict(self.unfollowed)
        return inner

    def element(self, thing: Thing, node: ast.AST) -> Thing:
        return builtin.element(self, thing, node)

    def doubted(self, built: Built, name: str, value: Thing) -> Thing:
        return doubts.doubted(self, built, name, value)

    def table(self, thing: Thing) -> Thing:
        held = settings.held(self, thing) if isinstance(thing, Built) and isinstance(thing.what, Class) else None
        return held if held is not None else thing

    def entry(self, thing: Entries, key: Thing) -> Thing:
        return builtin.entry(self, thing, key)

    def integer(self, thing: Thing) -> Integer | Unknown:
        if isinstance(thing, Opaque) and thing.name in self.workspace.values:
            self.workspace.asked_for.add(thing.name)
        return arithmetic.integer(thing, self.workspace.values)


def _mapped(thing: Opaque, arguments: Arguments) -> tuple[Thunk, ...]:
    """The functions that make the rows of what a method of a library's dataset returns."""
    method = thing.words[-1] if thing.words else ""
    given = arguments.positional[:1] or tuple(filter(None, [arguments.keywords.get("function")]))
    if method == "map" and given:
        return (*thing.mapped, *given)
    return thing.mapped if method in transformers.KEEPS_ROWS else ()


def _called(value: Integer, name: str, frame: Frame) -> Integer:
    """A number under its new name: a module's or a class's is known everywhere, a function's in that function."""
    holder, _, last = name.rpartition(".")
    if last.startswith("["):
        return value.named(last[2:-2], f"{holder}{last}")
    if holder:
        return value.named(last)
    scope = frame.function
    if scope is None:
        return value.named(name, f"{frame.module.key}.{name}")
    where = scope.name if isinstance(scope, ast.ClassDef) else str(frame.number)
    return value.named(name, f"{frame.module.key}.{where}.{name}")


def _is_nonlocal(name: str, function: ast.AST) -> bool:
    return any(isinstance(node, ast.Nonlocal) and name in node.names for node in nodes_of(function))


def _cells(numbers: tuple[int, ...]) -> str:
    *first, last = map(str, numbers)
    return f"cells {', '.join(first)} and {last}"


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _names(target: ast.expr) -> set[str]:
    return set(places(target))


def _strings(node: ast.AST) -> tuple[str, ...]:
    """The strings a call names: ``stoi("<pad>")`` says what is looked up."""
    given = node.args if isinstance(node, ast.Call) else ()
    return tuple(each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str))
