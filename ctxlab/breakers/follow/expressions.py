"""What an expression holds, with the traces that reach it.

Models: constants, names, attributes, subscripts, operators, f-strings, displays and comprehensions.
Does not model: arithmetic, or what a comparison comes out as.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ctxlab.breakers.follow import calls, comprehensions, fallbacks, lists, objects, stores, texts
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import (
    MIXED,
    MOVES,
    ORDERS,
    OTHERS,
    Choice,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Marks,
    Text,
    Value,
    all_marks,
    join,
    kept_list,
    merge,
    options,
    place_of,
    with_marks,
    without,
    written_at,
)
from ctxlab.breakers.follow.volatile import Origin, belongs_to_user, coarser, variable_of

_NOTHING = Text()
_DATE_PARTS = frozenset({"year", "month", "day", "tm_year", "tm_mon", "tm_mday", "tm_wday", "tm_yday"})
_CONVERSIONS = {ord("s"): "str", ord("r"): "repr", ord("a"): "repr"}
_HOUR_PARTS = frozenset({"hour", "tm_hour"})


def evaluate(reading: Reading, node: ast.expr) -> Value:
    """What ``node`` holds here."""
    reading.steps += 1
    known = _READERS.get(type(node))
    return known(reading, node) if known is not None else _NOTHING


def _constant(reading: Reading, node: ast.Constant) -> Value:
    return Text((), node.value)


def _name(reading: Reading, node: ast.Name) -> Value:
    return reading.look_up(node.id, node)


def _attribute(reading: Reading, node: ast.Attribute) -> Value:
    return spent(reading, attribute(reading, evaluate(reading, node.value), node.attr, node), node)


def spent(reading: Reading, value: Value, node: ast.expr) -> Value:
    """The value, another one each turn where the loop one is in goes on until there is none of it left."""
    if not reading.spent or not reading.spent[-1] or ast.unparse(node) not in reading.spent[-1]:
        return value
    return with_marks(value, (reading.trace(Origin("turn"), node),)) if type(value) is Value else value


def attribute(reading: Reading, base: Value, name: str, node: ast.AST) -> Value:
    """An attribute of a value."""
    if type(base) is Value:
        return _named_attribute(reading, base, base.marks, name, node)
    if isinstance(base, Instance):
        return objects.attribute(reading, base, name, node)
    if isinstance(base, ClassValue):
        return objects.class_attribute(reading, base, name)
    if isinstance(base, DictValue) and name in base.entries:
        return base.entries[name]
    if isinstance(base, Choice):
        found = [attribute(reading, option, name, node) for option in base.options]
        made = found[0]
        for other in found[1:]:
            made = join(made, other)
        return with_marks(made, base.marks)
    marks = all_marks(base) if isinstance(base, (DictValue, ListValue)) else base.marks
    return _named_attribute(reading, base, marks, name, node)


def _named_attribute(reading: Reading, base: Value, marks: Marks, name: str, node: ast.AST) -> Value:
    """An attribute that is not seen: what its name tells, and what the value brings along."""
    if marks:
        marks = tuple(_part_of(trace, name) for trace in marks)
    dotted = f"{base.name}.{name}" if base.name else ""
    if isinstance(base, ListValue) and base.history:
        dotted = f"messages.{name}"
    if dotted and not isinstance(base, Text) and (origin := belongs_to_user(dotted)) is not None:
        marks = merge(without(marks, ("per-user-value",)), (reading.trace(origin, node),))
    if dotted and reading.is_history_name(name) and not marks:
        return reading.lists.setdefault(dotted, kept_list())
    return Value(marks, dotted, base.owner, base.place)


def _part_of(trace: Any, name: str) -> Any:
    if trace.rule == "clock" and trace.form == "object":
        if name in _DATE_PARTS:
            return replace(trace, grain=coarser(trace.grain, "date"), form="number")
        if name in _HOUR_PARTS:
            return replace(trace, grain=coarser(trace.grain, "hour"), form="number")
    return trace


def _subscript(reading: Reading, node: ast.Subscript) -> Value:
    base = evaluate(reading, node.value)
    if isinstance(node.slice, ast.Slice):
        return lists.sliced(reading, base, node.slice, node)
    index = evaluate(reading, node.slice)
    made = subscript(reading, base, index, node)
    # which item it is this turn is decided here
    made = written_at(made, node) if any(trace.rule in MOVES for trace in index.marks) else made
    return spent(reading, made, node)


def subscript(reading: Reading, base: Value, index: Value, node: ast.AST) -> Value:
    """An item of a value."""
    key = index.const if isinstance(index, Text) else None
    if isinstance(base, Choice):
        found = [subscript(reading, option, index, node) for option in base.options]
        made = found[0]
        for other in found[1:]:
            made = join(made, other)
        return with_marks(made, base.marks)
    if isinstance(base, ListValue):
        return _item(base, key, index)
    if isinstance(base, DictValue):
        if isinstance(key, str):
            if key in base.entries:
                return base.entries[key]
            return _filled_in(reading, base, key, node)
        if base.fills is not None:
            base.marks = merge(base.marks, tuple(t for t in index.marks if t.elements_of))
        if base.fills is not None and OTHERS not in base.entries and not base.rest:
            base.entries[OTHERS] = lists.outlives(reading, base, calls.call_value(reading, base.fills, node))
        found = list(base.entries.values())[:8]
        if not found and len(base.rest) > 1:
            return Value(tuple(trace for trace in index.marks if trace.rule in MOVES))
        made = found[0] if found else Value()
        for other in found[1:]:
            made = join(made, other)
        return with_marks(made, all_marks(index)) if isinstance(made, Choice) else made
    if base.name.endswith("environ") and isinstance(key, str) and (origin := variable_of(key)) is not None:
        return Text((reading.trace(origin, node),))
    marks = base.marks
    if isinstance(key, int) and marks:
        marks = tuple(_piece(trace, key) for trace in marks)
    dotted = f"{base.name}.{key}" if isinstance(key, str) and base.name else base.name
    if (
        isinstance(key, str)
        and (origin := belongs_to_user(dotted)) is not None
        and not isinstance(base, Text)
    ):
        marks = merge(without(marks, ("per-user-value",)), (reading.trace(origin, node),))
    if isinstance(base, Text):
        return Text(marks)
    return Value(marks, dotted, base.owner, base.place)


def _filled_in(reading: Reading, base: DictValue, key: str, node: ast.AST) -> Value:
    """A key that was not seen: what stands under others, or what a defaultdict makes for it."""
    marks = merge(*(all_marks(one) for one in base.rest))
    if base.fills is None or marks:
        return Value(marks)
    made = base.entries[key] = calls.call_value(reading, base.fills, node)
    return made


def _piece(trace: Any, index: int) -> Any:
    """A piece of a split time: the part before the T is the date."""
    if trace.rule == "clock" and trace.form == "split":
        return replace(trace, grain=coarser(trace.grain, "date") if index == 0 else trace.grain, form="")
    return trace


def _item(base: ListValue, key: object, index: Value) -> Value:
    if key == lists.EARLIER:
        return Value((), "", base, "earlier")
    if isinstance(key, int) and not isinstance(key, bool) and not base.is_set:
        known = len(base.items)
        if (not base.open and -known <= key < known) or (base.open and -known <= key < 0):
            item = base.items[key]
            if type(item) is Value and item.owner is None:
                return Value(item.marks, item.name, base, "newest" if key == -1 else "earlier")
            return with_marks(item, tuple(t for t in base.marks if t.rule in ORDERS or t.rule in MIXED))
    if not base.items:
        return Value((), "", base, lists.place_of(key))
    made = base.items[0]
    for other in base.items[1:8]:
        made = join(made, other)
    return (
        with_marks(made, merge(base.marks, all_marks(index)))
        if not base.open
        else Value((), "", base, lists.place_of(key))
    )


def _bin_op(reading: Reading, node: ast.BinOp) -> Value:
    left, right = evaluate(reading, node.left), evaluate(reading, node.right)
    if isinstance(node.op, ast.Add):
        return written_at(lists.added(reading, left, right), node)
    if isinstance(node.op, ast.BitOr):
        return lists.united(reading, left, right, node)
    of_sets = isinstance(node.op, (ast.BitAnd, ast.Sub, ast.BitXor))
    if of_sets and (lists.is_set_like(left) or lists.is_set_like(right)):
        return lists.picked(reading, left, right, both=isinstance(node.op, ast.BitXor))
    if isinstance(node.op, ast.Mod) and isinstance(left, Text) and isinstance(left.const, str):
        return Text(merge(left.marks, texts.written(reading, right, node)))
    since = all_marks(right)
    if isinstance(node.op, ast.Sub) and any(trace.rule == "clock" for trace in all_marks(left)):
        since = tuple(trace for trace in since if trace.rule != "clock")
    marks = merge(all_marks(left), since)
    if isinstance(node.op, ast.Div) and marks and _is_path(left, right):
        return Value(texts.in_path(marks))
    if isinstance(node.op, (ast.FloorDiv, ast.Div)) and marks:
        marks = texts.divided(marks, right, whole=isinstance(node.op, ast.FloorDiv))
    if isinstance(node.op, ast.Sub) and left.name == lists.LENGTH:
        return Text(marks, name=lists.LEFT)
    return Text(marks) if isinstance(left, Text) else Value(marks)


def _is_path(left: Value, right: Value) -> bool:
    """Whether ``left / right`` joins a path: one of them is a text, none is a number."""
    sides = [one.const for one in (left, right) if isinstance(one, Text)]
    if any(isinstance(one, (int, float)) for one in sides):
        return False
    return isinstance(right, Text) and not any(t.form == "number" for t in (*left.marks, *right.marks))


def _bool_op(reading: Reading, node: ast.BoolOp) -> Value:
    made: Value | None = None
    given = False
    for one in node.values:
        value = evaluate(reading, one)
        if isinstance(node.op, ast.And) and one is not node.values[-1]:
            continue
        value = fallbacks.stand_in(value) if given else value
        given = given or fallbacks.is_given(reading, one, value)
        made = value if made is None else join(made, value)
    return made if made is not None else _NOTHING


def _unary(reading: Reading, node: ast.UnaryOp) -> Value:
    value = evaluate(reading, node.operand)
    if isinstance(node.op, ast.Not):
        return _NOTHING
    if isinstance(node.op, ast.USub) and isinstance(value, Text) and isinstance(value.const, (int, float)):
        return Text(value.marks, -value.const)
    return value


def _compare(reading: Reading, node: ast.Compare) -> Value:
    evaluate(reading, node.left)
    for one in node.comparators:
        evaluate(reading, one)
    return _NOTHING


def _if_exp(reading: Reading, node: ast.IfExp) -> Value:
    test = evaluate(reading, node.test)
    if isinstance(test, Text) and test.const in (False, 0) and not test.marks and test.const is not None:
        return evaluate(reading, node.orelse)
    aged = bool(reading.turns) and reading.asks_age(node.test)
    reading.aged += aged
    one, other = evaluate(reading, node.body), evaluate(reading, node.orelse)
    reading.aged -= aged
    if one is other:
        return one
    asked = fallbacks.tested(node.test)
    if asked and asked not in reading.frame.absent:
        if asked == ast.unparse(node.body):
            other = fallbacks.stand_in(other)
        elif asked == ast.unparse(node.orelse):
            one = fallbacks.stand_in(one)
    guarded = fallbacks.guards(node.test, node.body, node.orelse)
    if guarded and (isinstance(node.body, ast.Constant) or isinstance(node.orelse, ast.Constant)):
        return join(one, other)
    return switched(reading, join(one, other), node.test, node, certain=not guarded)


def switched(reading: Reading, value: Value, test: ast.expr, node: ast.AST, *, certain: bool = True) -> Value:
    """A value that was chosen by ``test``: marked when another turn may choose another."""
    marks: Marks = ()
    if reading.turns and reading.varies(test):
        certain = certain and not reading.handlers and not fallbacks.is_check(test)
        marks = (reading.trace(Origin("switch", certain=certain), test),)
    users = tuple(
        replace(trace, certain=False) for trace in reading.test_marks(test) if trace.rule == "per-user-value"
    )
    return with_marks(value, merge(marks, users))


def _joined_str(reading: Reading, node: ast.JoinedStr) -> Value:
    groups: list[Marks] = []
    written: list[str] | None = []
    for at, part in enumerate(node.values):
        if isinstance(part, ast.Constant):
            if written is not None:
                written.append(str(part.value))
            continue
        value = _formatted(reading, part) if isinstance(part, ast.FormattedValue) else evaluate(reading, part)
        before = node.values[at - 1] if at else None
        if value.marks and isinstance(before, ast.Constant) and texts.ends_in_path(str(before.value)):
            value = Text(texts.in_path(value.marks))
        groups.append(value.marks)
        if written is not None:
            known = isinstance(value, Text) and value.const is not None
            written = [*written, str(value.const)] if known and isinstance(value, Text) else None
    made = Text(merge(*groups), "".join(written) if written is not None else None)
    return written_at(made, node)


def _formatted(reading: Reading, node: ast.FormattedValue) -> Value:
    value = spent(reading, evaluate(reading, node.value), node.value)
    ways = texts.WAYS[_CONVERSIONS.get(node.conversion, "format")]
    marks = texts.written(reading, value, node.value, ways)
    spec = node.format_spec
    if spec is not None and marks and isinstance(spec, ast.JoinedStr):
        written = "".join(str(part.value) for part in spec.values if isinstance(part, ast.Constant))
        marks = texts.formatted(marks, written)
    return Text(marks, value.const if isinstance(value, Text) and spec is None else None)


def _dict(reading: Reading, node: ast.Dict) -> Value:
    made = DictValue({})
    made.line = node.lineno
    for key, one in zip(node.keys, node.values, strict=True):
        value = evaluate(reading, one)
        written_out(value, one)
        if key is None:
            lists.spread(made, value)
            if _is_rebuilt(reading, value, node):
                certain = not reading.takes_markers_off()
                made.marks = merge(made.marks, reading.edit("rebuilt", node, certain=certain))
            if any(isinstance(one, DictValue) and "cache_control" in one.entries for one in options(value)):
                made.marked_at = place_of(one)
            continue
        named = evaluate(reading, key)
        if isinstance(named, Text) and isinstance(named.const, str):
            made.entries[named.const] = value
            if named.const == "cache_control":
                made.marked_at = place_of(key)
        else:
            made.rest.append(with_marks(Value(all_marks(value)), all_marks(named)))
            made.marks = merge(made.marks, tuple(t for t in named.marks if t.elements_of))
    return made


def _is_rebuilt(reading: Reading, value: Value, node: ast.Dict) -> bool:
    """Whether an earlier message is copied with other content, depending on how old it is."""
    if value.owner is None or value.place == "newest" or not lists.is_history(value.owner):
        return False
    keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
    return bool(keys & {"content", "text"}) and (reading.aged > 0 or value.place == "earlier")


def written_out(value: Value, node: ast.expr) -> None:
    """Remember that a container is written out where it is used."""
    if isinstance(node, (ast.Dict, ast.List)) and isinstance(value, (DictValue, ListValue)):
        value.inline = True


def _list(reading: Reading, node: ast.List | ast.Tuple | ast.Set) -> Value:
    made = ListValue([], born=reading.stamp, is_set=isinstance(node, ast.Set))
    for one in node.elts:
        if isinstance(one, ast.Starred):
            source = None if isinstance(node, ast.Set) else one.value
            spread = evaluate(reading, one.value)
            made = lists.concatenated(made, spread, reading, source)
            if isinstance(node, ast.Set):
                made.many = made.many or not isinstance(spread, ListValue) or spread.many or spread.open
        else:
            value = evaluate(reading, one)
            written_out(value, one)
            made.items.append(value)
    made.is_set = isinstance(node, ast.Set)
    return made


def _starred(reading: Reading, node: ast.Starred | ast.Await) -> Value:
    return evaluate(reading, node.value)


def _named(reading: Reading, node: ast.NamedExpr) -> Value:
    value = evaluate(reading, node.value)
    stores.unpack(reading, node.target, value)
    return value


def _lambda(reading: Reading, node: ast.Lambda) -> Value:
    return FunctionValue(node, reading.frame)


def _yield(reading: Reading, node: ast.Yield | ast.YieldFrom) -> Value:
    if node.value is not None:
        value = evaluate(reading, node.value)
        made = ListValue([value], born=reading.stamp) if isinstance(node, ast.Yield) else value
        if isinstance(made, ListValue) and isinstance(node, ast.Yield):
            made.many = bool(reading.turns)
        reading.frame.returned.append(made)
    return Value()


_READERS: dict[type[ast.AST], Callable[[Reading, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _bin_op,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.IfExp: _if_exp,
    ast.JoinedStr: _joined_str,
    ast.FormattedValue: _formatted,
    ast.Dict: _dict,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _list,
    ast.ListComp: comprehensions.comprehension,
    ast.SetComp: comprehensions.comprehension,
    ast.GeneratorExp: comprehensions.comprehension,
    ast.DictComp: comprehensions.comprehension,
    ast.Starred: _starred,
    ast.Await: _starred,
    ast.NamedExpr: _named,
    ast.Lambda: _lambda,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Call: calls.call,
}
