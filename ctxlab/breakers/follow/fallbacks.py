"""Values that only stand in for others: after ``or``, as a default, behind a check for None or a type.

Models: ``x or y``, ``y if x is None else x``, ``if x is None: x = y``, what an error handler binds.
Does not model: whether the first value is ever missing. An optional parameter is taken as left out.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import Choice, Text, Trace, Value

_FRESH = frozenset({"clock", "random-value", "object-identity", "per-run-value"})
_CHECKS = frozenset({"isinstance", "issubclass", "callable", "hasattr", "iscoroutinefunction", "isawaitable"})


def stand_in(value: Value) -> Value:
    """The value as one that is rarely taken: what is fresh in it is no longer certain to arrive."""
    if not any(trace.rule in _FRESH and trace.certain for trace in value.marks):
        return value
    marks = tuple(_doubted(trace) for trace in value.marks)
    if isinstance(value, Text):
        return Text(marks, value.const, value.name)
    if isinstance(value, Choice):
        return Choice(value.options, marks)
    return Value(marks, value.name, value.owner, value.place) if type(value) is Value else value


def _doubted(trace: Trace) -> Trace:
    return replace(trace, certain=False) if trace.rule in _FRESH else trace


def is_given(reading: Reading, node: ast.expr, value: Value) -> bool:
    """Whether an expression holds something from outside, so that what stands in for it is the exception."""
    if isinstance(node, ast.Name) and node.id in reading.frame.absent:
        return False
    return not (isinstance(value, Text) and not value.marks and value.const in (None, "", 0))


def tested(test: ast.expr) -> str:
    """The expression a condition asks for being there: ``x``, ``not x``, ``x is None``; else empty."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        nothing = test.comparators[0]
        return _source(test.left) if isinstance(nothing, ast.Constant) and nothing.value is None else ""
    if is_check(test) and isinstance(test, ast.Call) and test.args:
        return _source(test.args[0])
    return _source(test) if isinstance(test, (ast.Name, ast.Attribute, ast.Subscript)) else ""


def is_check(test: ast.expr) -> bool:
    """Whether a condition asks for a type: nothing a turn of a session changes."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return isinstance(test, ast.Call) and last_name(test.func) in _CHECKS


def guards(test: ast.expr, *branches: ast.expr) -> bool:
    """Whether a choice only guards against a missing value: what is tested is what is taken.

    >>> guarded = ast.parse("a.b if a is not None else c", mode="eval").body
    >>> guards(guarded.test, guarded.body, guarded.orelse)
    True
    """
    asked = tested(test)
    return bool(asked) and any(
        _source(one) == asked
        for branch in branches
        for one in ast.walk(branch)
        if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript))
    )


def _source(node: ast.expr) -> str:
    return ast.unparse(node)
