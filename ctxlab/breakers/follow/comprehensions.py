"""Comprehensions: items one by one where the source list is written out, else one that stands for all.

Models: lists, sets, dicts and generators, filters that depend on a user.
Does not model: how many items a filter leaves.
"""

from __future__ import annotations

import ast
from typing import Any

from ctxlab.breakers.follow import lists, stores, texts
from ctxlab.breakers.follow.reading import Reading, Turn
from ctxlab.breakers.follow.values import (
    HISTORY_RULES,
    MIXED,
    ORDERS,
    Choice,
    DictValue,
    ListValue,
    Marks,
    Text,
    Value,
    all_marks,
    merge,
    with_marks,
)


def comprehension(reading: Reading, node: Any) -> Value:
    """The items of a comprehension: each where the source list is written out, else one for all."""
    outer = dict(reading.frame.names)
    over = reading.evaluate(node.generators[0].iter)
    plain = isinstance(over, ListValue) and not over.open and not over.is_set and not over.many
    items = over.items if isinstance(over, ListValue) else []
    each = plain and len(node.generators) == 1 and not node.generators[0].ifs and len(items) <= 12
    made, filters = _rounds(reading, node, over, list(items) if each else [])
    reading.frame.names = outer
    users = tuple(trace for trace in filters if trace.rule in ("per-user-value", "turn"))
    # a list that has grown since the last turn gives a longer one
    orders = tuple(t for t in over.marks if t.rule in ORDERS or t.rule in MIXED or t.rule == "edit")
    if not isinstance(node, ast.SetComp):
        orders = merge(orders, texts.set_order(reading, over, node))
    if isinstance(node, ast.DictComp):
        return _dict_of(made, each, merge(users, orders, *(key.marks for key, _ in made)))
    result = ListValue([value for _, value in made], merge(users, orders), born=reading.stamp)
    result.many = not each
    result.is_set = isinstance(node, ast.SetComp)
    owners = {id(one.owner): one for _, one in made if type(one) is Value and one.owner is not None}
    if len(owners) == 1 and not result.is_set:
        (item,) = owners.values()
        result.owner, result.place = item.owner, item.place
    if isinstance(over, ListValue) and not result.is_set:
        result.open = over.open
        result.history = over.history
        result.kept = over.kept
        for trace in over.marks:
            if trace.rule in HISTORY_RULES:
                result.marks = merge(result.marks, (trace,))
    return result


def _rounds(
    reading: Reading, node: Any, over: Value, items: list[Value]
) -> tuple[list[tuple[Value, Value]], Marks]:
    """Keys and values of each round, and the traces of what the rounds are chosen by."""
    first = node.generators[0]
    scope = reading.id_of(node)
    reading.turns.append(Turn(scope, None, reading.stamp))
    made: list[tuple[Value, Value]] = []
    filters: Marks = ()
    for element in items or [_element(reading, over, node, scope)]:
        stores.unpack(reading, first.target, element)
        for generator in node.generators[1:]:
            inner = reading.evaluate(generator.iter)
            stores.unpack(reading, generator.target, lists.element_of(reading, inner, node, scope))
        for generator in node.generators:
            for test in generator.ifs:
                reading.evaluate(test)
                filters = merge(filters, reading.test_marks(test))
        if isinstance(node, ast.DictComp):
            made.append((reading.evaluate(node.key), reading.evaluate(node.value)))
        else:
            value = reading.evaluate(node.elt)
            if isinstance(node.elt, ast.Dict) and isinstance(value, DictValue):
                value.inline = True
            made.append((Text(), value))
    reading.turns.pop()
    return made, filters


def _element(reading: Reading, over: Value, node: Any, scope: int) -> Value:
    """One item for all; that there are more of them each turn is no change of the item itself."""
    made = lists.element_of(reading, over, node, scope)
    grown = {trace.key for trace in over.marks if trace.rule == "edit" and trace.note == "end"}
    if not grown or isinstance(node, ast.DictComp) or type(made) not in (Value, Text, Choice):
        return made
    marks = tuple(trace for trace in made.marks if trace.key not in grown)
    if isinstance(made, Choice):
        return Choice(made.options, marks)
    if isinstance(made, Text):
        return Text(marks, made.const, made.name)
    return Value(marks, made.name, made.owner, made.place)


def _dict_of(pairs: list[tuple[Value, Value]], each: bool, marks: Marks) -> Value:
    made = DictValue({}, marks=tuple(trace for trace in marks if trace.rule in ORDERS or trace.rule in MIXED))
    for key, value in pairs:
        if each and isinstance(key, Text) and isinstance(key.const, str):
            made.entries[key.const] = value
        else:
            made.rest.append(with_marks(Value(all_marks(value)), all_marks(key)))
    return made
