"""Statements, in order: what they bind, which branches they open, which loops are read twice.

Models: assignments, branches, loops, ``with``, ``try``, ``match``, definitions and imports.
Does not model: which branch is taken, beyond constants; exceptions that leave a function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ctxlab.breakers.follow import calls, expressions, fallbacks, lists, loops, stores
from ctxlab.breakers.follow.outline import stirs
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import (
    Choice,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Text,
    Value,
    all_marks,
    join,
    joined,
    merge,
    weaken,
    with_marks,
    written_at,
)


def execute(reading: Reading, body: list[ast.stmt]) -> bool:
    """Read statements in order; True when one of them ends the block."""
    reading.check_steps()
    for statement in body:
        reading.steps += 1
        known = _READERS.get(type(statement))
        if known is not None and known(reading, statement):
            return True
    return False


_GIVEN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant)
"""What a statement hands on as it is, without making anything of it."""


def _assign(reading: Reading, node: ast.Assign) -> None:
    value = _grown(reading, node.targets[0], node.value, reading.evaluate(node.value))
    if not isinstance(node.value, _GIVEN):
        value = written_at(value, node)
    for target in node.targets:
        stores.unpack(reading, target, value)


def _annotated(reading: Reading, node: ast.AnnAssign) -> None:
    if node.value is not None:
        value = reading.evaluate(node.value)
        stores.unpack(
            reading, node.target, value if isinstance(node.value, _GIVEN) else written_at(value, node)
        )


def _grown(reading: Reading, target: ast.expr, source: ast.expr, value: Value) -> Value:
    """``x = f(x)``: a list goes on being the same history, anything else changes from turn to turn."""
    if not reading.turns or isinstance(source, ast.Constant):
        return value
    if not isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        return value
    if not reading.refers_back(target, source):
        return value
    known = reading.evaluate(target)
    name = ast.unparse(target)
    if isinstance(value, ListValue):
        if isinstance(known, ListValue):
            value.born, value.kept = min(value.born, known.born), known.kept
        if _in_front(source, name) and not _leads_a_copy(reading, target, value):
            value.marks = merge(value.marks, reading.edit("injected", source))
        elif not lists.is_history(value):
            value.marks = merge(value.marks, reading.edit("edit", source, note="end"))
        return value
    if isinstance(source, ast.BoolOp) or isinstance(value, (DictValue, Instance)):
        return value
    return stores.grown(reading, value, source)


def _leads_a_copy(reading: Reading, target: ast.expr, value: ListValue) -> bool:
    """Whether a system message is put in front of what one call sends: each call does so again."""
    once = all(turn.entry for turn in reading.turns)
    return once and isinstance(target, ast.Name) and bool(value.items) and lists.is_system(value.items[0])


def _in_front(source: ast.expr, name: str) -> bool:
    if isinstance(source, ast.BinOp) and isinstance(source.op, ast.Add):
        return ast.unparse(source.right) == name and ast.unparse(source.left) != name
    if isinstance(source, ast.List) and len(source.elts) > 1:
        last = source.elts[-1]
        return isinstance(last, ast.Starred) and ast.unparse(last.value) == name
    return False


def _augmented(reading: Reading, node: ast.AugAssign) -> None:
    known = reading.evaluate(node.target)
    value = reading.evaluate(node.value)
    for option in [known] if not isinstance(known, Choice) else known.options:
        if isinstance(option, ListValue):
            if isinstance(value, ListValue) and not value.open:
                for item in value.items:
                    lists.appended(reading, option, item, node)
                option.marks = merge(option.marks, value.marks)
            else:
                lists.concatenated(option, value, reading, node)
            return
        if isinstance(option, DictValue) and isinstance(node.op, ast.BitOr):
            lists.spread(option, value)
            return
    made = lists.added(reading, known, value) if isinstance(node.op, ast.Add) else None
    if made is None:
        made = Value(merge(all_marks(known), all_marks(value)), known.name)
    if isinstance(made, Text):
        made = Text(made.marks)
    if reading.turns or reading.method:
        made = with_marks(made, reading.edit("edit", node, text=ast.unparse(node)))
    stores.unpack(reading, node.target, written_at(made, node))


def _expression(reading: Reading, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant) and not _runs_an_entry(reading, node.value):
        reading.evaluate(node.value)


def _runs_an_entry(reading: Reading, node: ast.expr) -> bool:
    """``main()`` or ``asyncio.run(main())`` of a script: a function that is read on its own anyway."""
    if reading.frame is not reading.globals:
        return False
    if isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        node = node.args[0]
    if not isinstance(node, ast.Call) or node.args or node.keywords or not isinstance(node.func, ast.Name):
        return False
    known = reading.globals.names.get(node.func.id)
    return isinstance(known, FunctionValue) and reading.outline.leads(known.node)


def _return(reading: Reading, node: ast.Return) -> bool:
    if node.value is not None:
        reading.frame.returned.append(reading.evaluate(node.value))
        if reading.tests and reading.turns:
            reading.frame.switches += [one for one in reading.tests if reading.varies(one)][:1]
    return True


def _continue(reading: Reading, node: ast.Continue) -> bool:
    if reading.continued:
        test = reading.tests[-1] if reading.tests else None
        reading.continued[-1].append((dict(reading.frame.names), test))
    return True


def _ends(reading: Reading, node: ast.AST) -> bool:
    return True


def _if(reading: Reading, node: ast.If) -> bool:
    test = reading.evaluate(node.test)
    if isinstance(test, Text) and not test.marks and test.const in (False, 0) and test.const is not None:
        return execute(reading, node.orelse)
    before = dict(reading.frame.names)
    outer_per = reading.per
    if _fills_once(reading, node):
        reading.per = "kept"
    users = [t for t in reading.test_marks(node.test) if t.rule == "per-user-value"]
    reading.users.append(weaken(tuple(users)))
    reading.tests.append(node.test)
    reading.arms.append((node, 0))
    aged = bool(reading.plain) and reading.asks_age(node.test)
    reading.aged += aged
    ended = execute(reading, node.body)
    reading.aged -= aged
    reading.per = outer_per
    taken = reading.frame.names
    reading.frame.names = dict(before)
    reading.arms[-1] = (node, 1)
    other_ended = execute(reading, node.orelse)
    reading.arms.pop()
    reading.tests.pop()
    reading.users.pop()
    if ended:
        return other_ended
    if other_ended:
        reading.frame.names = taken
        return False
    _meet(reading, taken, node)
    return False


def _meet(reading: Reading, taken: dict[str, Value], node: ast.If) -> None:
    """The names after both branches; what differs may differ from turn to turn."""
    names = reading.frame.names
    for name, value in taken.items():
        other = names.get(name)
        if other is value:
            continue
        if other is None:
            names[name] = value
            continue
        asked = fallbacks.tested(node.test)
        if asked == name and name not in reading.frame.absent:
            value = fallbacks.stand_in(value)
        made = join(other, value)
        if made is not value and not (isinstance(made, Text) and made.const is not None):
            made = expressions.switched(reading, made, node.test, node.test, certain=asked != name)
            made = written_at(made, _bound_in(node, name) or node.test)
        names[name] = made


def _bound_in(node: ast.If, name: str) -> ast.stmt | None:
    """The statement of a branch that gives a name its value."""
    for one in (*node.body, *node.orelse):
        targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return one
    return None


def _fills_once(reading: Reading, node: ast.If) -> bool:
    """``if self.x is None: self.x = …`` and the like: what is made there is kept."""
    if node not in reading.once:
        reading.once[node] = _once(node)
    targets, shared = reading.once[node]
    return targets or not shared.isdisjoint(reading.frame.shared)


def _once(node: ast.If) -> tuple[bool, frozenset[str]]:
    """Whether what is tested for being there is set in an object or table, and which names are."""
    stores = [one for one in node.body if isinstance(one, (ast.Assign, ast.AnnAssign))]
    if not stores:
        return False, frozenset()
    tested = {
        ast.unparse(one)
        for one in ast.walk(node.test)
        if isinstance(one, (ast.Attribute, ast.Name, ast.Subscript))
    }
    emptiness = any(
        (isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not))
        or (isinstance(one, ast.Compare) and isinstance(one.ops[0], (ast.Is, ast.NotIn, ast.Eq)))
        for one in ast.walk(node.test)
    )
    if not emptiness:
        return False, frozenset()
    names: set[str] = set()
    for statement in stores:
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            if isinstance(target, ast.Attribute) and ast.unparse(target) in tested:
                return True, frozenset()
            if isinstance(target, ast.Subscript) and ast.unparse(target.value) in tested:
                return True, frozenset()
            if isinstance(target, ast.Name) and target.id in tested:
                names.add(target.id)
    return False, frozenset(names)


def _with(reading: Reading, node: ast.With | ast.AsyncWith) -> bool:
    for item in node.items:
        value = reading.evaluate(item.context_expr)
        if item.optional_vars is not None:
            stores.unpack(reading, item.optional_vars, value)
    return execute(reading, node.body)


def _try(reading: Reading, node: Any) -> bool:
    before = dict(reading.frame.names)
    ended = execute(reading, node.body)
    ended = execute(reading, node.orelse) or ended
    after = reading.frame.names
    for handler in node.handlers:
        reading.frame.names = joined(before, after)
        reading.handlers += 1
        reading.arms.append((handler, 2))
        handler_ended = execute(reading, handler.body)
        reading.arms.pop()
        reading.handlers -= 1
        if not handler_ended:
            after = reading.frame.names if ended else joined(after, reading.frame.names)
            ended = False
    reading.frame.names = after
    return execute(reading, node.finalbody) or ended


def _match(reading: Reading, node: ast.Match) -> bool:
    reading.evaluate(node.subject)
    before = dict(reading.frame.names)
    found: dict[str, Value] | None = None
    for case in node.cases:
        reading.frame.names = dict(before)
        for one in ast.walk(case.pattern):
            name = getattr(one, "name", None) or getattr(one, "rest", None)
            if isinstance(name, str):
                reading.bind(name, Value((), name))
        reading.tests.append(node.subject)
        ended = execute(reading, case.body)
        reading.tests.pop()
        if not ended:
            if found is None:
                found = reading.frame.names
            else:
                _meet(reading, found, ast.If(node.subject, case.body, []))
                found = reading.frame.names
    reading.frame.names = joined(before, found if found is not None else before)
    return False


def _function(reading: Reading, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    made = FunctionValue(node, reading.frame if reading.frame is not reading.globals else None)
    reading.bind(node.name, made)
    reading.frame.nested.append(made)
    for one in node.decorator_list:
        # one of the module may keep the function in a table
        if _is_own(reading, one):
            calls.call_value(reading, reading.evaluate(one), one, made)


def _is_own(reading: Reading, node: ast.expr) -> bool:
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    known = reading.look_up(node.id) if isinstance(node, ast.Name) else None
    if isinstance(known, FunctionValue):
        scope = reading.outline.functions.get(known.node)
        return scope is not None and stirs(scope)
    return isinstance(known, Instance)


def _class(reading: Reading, node: ast.ClassDef) -> None:
    known = reading.outline.classes.get(node.name)
    if known is not None and known.node is node:
        reading.bind(node.name, ClassValue(known))


def _shared(reading: Reading, node: ast.Global) -> None:
    reading.frame.shared.update(node.names)


def _import(reading: Reading, node: ast.Import) -> None:
    for one in node.names:
        name = one.asname or one.name.split(".")[0]
        reading.modules[name] = one.name if one.asname else name


def _import_from(reading: Reading, node: ast.ImportFrom) -> None:
    module = "." * node.level + (node.module or "")
    for one in node.names:
        reading.modules[one.asname or one.name] = f"{module}.{one.name}"


def _delete(reading: Reading, node: ast.Delete) -> None:
    for target in node.targets:
        stores.delete(reading, target)


def _assert(reading: Reading, node: ast.Assert) -> None:
    reading.evaluate(node.test)


_READERS: dict[type[ast.AST], Callable[[Reading, Any], bool | None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Raise: _ends,
    ast.Break: _ends,
    ast.Continue: _continue,
    ast.If: _if,
    ast.For: loops.for_loop,
    ast.AsyncFor: loops.for_loop,
    ast.While: loops.while_loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Global: _shared,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Delete: _delete,
    ast.Assert: _assert,
}
