"""Loops: one that sends is read twice, so that the second turn finds what the first one left.

Models: turns of a session, retries, what a turn said becoming history that stays as it was sent.
Does not model: how often a loop runs, ``break`` and ``continue``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from ctxlab.breakers.follow import expressions, lists, stores
from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.reading import Reading, Turn
from ctxlab.breakers.follow.values import (
    Choice,
    DictValue,
    Frame,
    FunctionValue,
    Instance,
    ListValue,
    Text,
    Value,
    join,
    joined,
    merge,
    options,
    with_marks,
)
from ctxlab.breakers.follow.volatile import Origin

_RETRY = re.compile(r"^_?_?(attempt|retry|retries|tries|try_|_)\w*$")


_ONLY_TELLS = re.compile(
    r"^(print|pprint|debug|info|warning|error|log|write|append|extend|add|send|put|emit|save|dump|show|display|"
    r"report|render|validate|check|assert|format|join|copy|deepcopy|describe|summar|get$|items$|keys$|values$|"
    r"(len|str|repr|list|dict|tuple|set|sorted|any|all|sum|min|max|isinstance|int|float|bool|enumerate|zip)$)",
    re.IGNORECASE,
)
"""Names of calls that leave what they are handed as it was."""


def for_loop(reading: Reading, node: ast.For | ast.AsyncFor) -> None:
    """``for``: a loop that sends is one turn after another, a retry is none."""
    over = reading.evaluate(node.iter)
    loop = reading.id_of(node)
    element = lists.element_of(reading, over, node, loop)
    targets = {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
    retries = bool(targets) and all(_RETRY.match(one) for one in targets)
    retries = retries and (targets != {"_"} or any(isinstance(one, ast.Try) for one in node.body))
    retries = (retries and not _grows_history(reading, node)) or _ends_with_the_first(node.body)

    def begin() -> None:
        value = element
        if reading.outline.leads(node) and not retries:
            value = _turning(reading, element, node.target)
        stores.unpack(reading, node.target, value)

    _loop(reading, node, begin, retries=retries, over=over)


def _grows_history(reading: Reading, node: ast.AST) -> bool:
    """Whether a loop appends to a history: then a new attempt is a new turn."""
    scope = reading.outline.loops.get(node)
    added = [one.target for one in ast.walk(node) if isinstance(one, ast.AugAssign)]
    return any(reading.is_history_name(last_name(one)) for one in added) or (
        scope is not None and any(reading.is_history_name(one.lstrip(".")) for one in scope.changes)
    )


def _ends_with_the_first(body: list[ast.stmt]) -> bool:
    """Whether a loop goes on only after an error: what succeeds returns or breaks at once."""
    if len(body) == 1 and isinstance(body[0], ast.With):
        body = body[0].body
    for one in body:
        if isinstance(one, ast.Try) and one.handlers:
            tried = one.orelse or one.body
            if isinstance(tried[-1], (ast.Return, ast.Break)) or isinstance(
                body[-1], (ast.Return, ast.Break)
            ):
                return True
    return False


def _turning(reading: Reading, value: Value, target: ast.expr) -> Value:
    marks = (reading.trace(Origin("turn"), target),)
    if isinstance(value, ListValue):
        return ListValue(
            [_turning(reading, one, target) for one in value.items], value.marks, born=value.born
        )
    if isinstance(value, (DictValue, Instance, FunctionValue)):
        return Choice([value], marks)
    return with_marks(value, marks)


def while_loop(reading: Reading, node: ast.While) -> None:
    """``while``."""

    def begin() -> None:
        reading.evaluate(node.test)

    if isinstance(node.test, ast.Constant) and not node.test.value:
        return
    reading.spent.append(frozenset().union(*reading.spent[-1:], _spent(node)))
    _loop(reading, node, begin, retries=False, test=node.test)
    reading.spent.pop()


def _spent(node: ast.While) -> frozenset[str]:
    """What a loop's test reads and a call in its body uses up: ``state["open"]`` of ``read(state)``."""
    handed = {
        given.id
        for part in node.body
        for one in ast.walk(part)
        if isinstance(one, ast.Call) and not _ONLY_TELLS.match(last_name(one.func))
        for given in (*one.args, getattr(one.func, "value", one.func))
        if isinstance(given, ast.Name) and given.id not in ("self", "cls")
    }
    asked = [one for one in ast.walk(node.test) if isinstance(one, (ast.Subscript, ast.Attribute))]
    used = [one for one in asked if isinstance(one.value, ast.Name) and one.value.id in handed]
    roots = {one.value.id for one in used if isinstance(one.value, ast.Name)}
    return frozenset({*map(ast.unparse, used), *roots})


def _loop(
    reading: Reading,
    node: ast.For | ast.AsyncFor | ast.While,
    begin: Callable[[], None],
    *,
    retries: bool,
    test: ast.expr | None = None,
    over: Value | None = None,
) -> None:
    before = dict(reading.frame.names)
    if retries or not reading.outline.leads(node):
        begin()
        if test is not None:
            reading.tests.append(test)
        reading.growing.append([])
        reading.plain.append((node, reading.frame))
        reading.execute(node.body)
        reading.plain.pop()
        _grown(reading, before, reading.growing.pop(), over, node)
        if test is not None:
            reading.tests.pop()
    else:
        _turns(reading, node, begin)
    reading.frame.names = joined(before, reading.frame.names)
    reading.execute(node.orelse)


def _grown(
    reading: Reading,
    before: dict[str, Value],
    grown: list[ListValue],
    over: Value | None,
    node: ast.For | ast.AsyncFor | ast.While,
) -> None:
    """Lists that a loop filled: with more than what was read once, in the order of what it ran over."""
    orders = lists.orders_of(reading, over, node) if over is not None else ()
    exact = isinstance(over, ListValue) and not over.open and not over.many and bool(over.items)
    known = {id(one) for value in before.values() for one in _lists_in(value)}
    for made in {id(one): one for one in grown if id(one) in known}.values():
        if made.is_set:
            made.many = True
            continue
        made.marks = merge(made.marks, orders)
        if not exact and lists.is_history(made):
            made.items.append(lists.gap())
    if reading.growing:
        reading.growing[-1] += grown


def _lists_in(value: Value) -> list[Value]:
    if isinstance(value, Instance):
        return [one for held in value.attributes.values() for one in options(held)]
    if isinstance(value, DictValue):
        return [one for held in value.entries.values() for one in options(held)]
    return options(value)


def _turns(reading: Reading, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], None]) -> None:
    """A loop that sends, twice: the second turn finds what the first one left."""
    reading.stamp += 1
    outer_tests, reading.tests = reading.tests, []
    turn = Turn(reading.id_of(node), reading.outline.loops.get(node), reading.stamp)
    again = any(one.second for one in reading.turns)
    reading.turns.append(turn)
    _turn(reading, node, begin)
    age(reading)
    if not again:
        # what one turn leaves for the next was seen when the function around was read first
        reading.stamp += 1
        reading.turns[-1] = replace(turn, second=reading.stamp)
        _turn(reading, node, begin)
    reading.turns.pop()
    reading.stamp += 1
    reading.tests = outer_tests


def _turn(reading: Reading, node: ast.For | ast.AsyncFor | ast.While, begin: Callable[[], None]) -> None:
    """One turn; where it is cut short by ``continue``, the next one finds what was set until there."""
    reading.continued.append([])
    begin()
    start = dict(reading.frame.names)
    reading.execute(node.body)
    for names, test in reading.continued.pop():
        for name, value in names.items():
            known = reading.frame.names.get(name)
            if known is value:
                continue
            made = value if known is None else join(known, value)
            bound = start.get(name) is not value
            if known is not None and test is not None and bound and not isinstance(made, ListValue):
                made = expressions.switched(reading, made, test, test)
            reading.frame.names[name] = made


def age(reading: Reading) -> None:
    """A turn has passed: what it said is history, which stays as it was sent."""
    seen: set[int] = set()
    frame: Frame | None = reading.frame
    while frame is not None:
        for value in [*frame.names.values()]:
            _age(value, seen)
        frame = frame.parent
    for value in reading.globals.names.values():
        _age(value, seen)


def _age(value: Value, seen: set[int], depth: int = 3) -> None:
    if id(value) in seen or depth == 0:
        return
    seen.add(id(value))
    if isinstance(value, ListValue) and lists.is_history(value) and not value.many:
        first = value.items[0] if value.items else None
        role = first.entries.get("role") if isinstance(first, DictValue) else None
        leads = isinstance(role, Text) and role.const in ("system", "developer")
        value.items = [first, lists.gap()] if leads and first is not None else []
        value.open = not leads
        value.history = True
    elif isinstance(value, Instance):
        for one in value.attributes.values():
            _age(one, seen, depth - 1)
    elif isinstance(value, DictValue):
        for one in value.entries.values():
            _age(one, seen, depth - 1)
    elif isinstance(value, Choice):
        for one in value.options:
            _age(one, seen, depth - 1)
