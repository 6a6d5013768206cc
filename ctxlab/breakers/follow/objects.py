"""Classes of the module and their instances: attributes, properties, constructors.

Models: ``__init__``, class attributes, fields of dataclasses and of the like, methods that set attributes.
Does not model: metaclasses, inheritance from classes of other modules, ``__getattr__``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from ctxlab.breakers.follow import calls
from ctxlab.breakers.follow.lists import gap, is_system
from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.outline import ClassOutline
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import (
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Value,
    copy_of,
    is_quiet,
    kept_list,
    options,
)
from ctxlab.breakers.follow.volatile import belongs_to_user

_SETS_UP = re.compile(
    r"^_*(init|setup|set_|set$|reset|clear|load|configure|register|with_|use_|from_|build|add_(section|part|tool|"
    r"instruction|rule|skill|example|prompt|system|block|plugin)|enable|disable|extend|install|mount|attach|start$)|^__"
)
"""Names of methods that prepare an object, so that what they change is there before a session."""

_DICT_BASES = frozenset({"TypedDict"})


def attribute(reading: Reading, base: Instance, name: str, node: ast.AST) -> Value:
    """An attribute of an instance: its own, a property's value, a bound method, or one of its class."""
    if name in base.attributes:
        return base.attributes[name]
    method = find_method(reading, base.outline, name)
    if method is not None:
        bound = FunctionValue(method, None, base)
        bound.cls = base.outline
        marks = {last_name(one) for one in method.decorator_list}
        if marks & {"property", "cached_property", "computed_field"}:
            return calls.inline(reading, bound, [], {}, node, kept="cached_property" in marks)
        return bound
    found = class_attribute(reading, ClassValue(base.outline), name)
    if found.name == f"{base.outline.name}.{name}":
        found = Value((), f"{base.name}.{name}")
        if reading.is_history_name(name):
            found = base.attributes[name] = kept_list()
        elif (origin := belongs_to_user(f"{base.name}.{name}")) is not None:
            found.marks = (reading.trace(origin, node),)
    return found


def find_method(
    reading: Reading, outline: ClassOutline, name: str, seen: tuple[str, ...] = ()
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """A method of a class or of its bases in the module."""
    if name in outline.methods:
        return outline.methods[name]
    for base in outline.bases:
        if base in reading.outline.classes and base not in seen:
            found = find_method(reading, reading.outline.classes[base], name, (*seen, base))
            if found is not None:
                return found
    return None


def class_attribute(reading: Reading, base: ClassValue, name: str) -> Value:
    """An attribute of a class: a value of its body, or one of its functions."""
    method = find_method(reading, base.outline, name)
    if method is not None:
        made = FunctionValue(method, None, None)
        made.cls = base.outline
        if "classmethod" in {last_name(one) for one in method.decorator_list}:
            made.subject = base
        return made
    held = reading.globals.names.get(f"{base.name}.{name}")
    if held is not None:
        return held
    for statement in _statements(reading, base.outline):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if isinstance(target, ast.Name) and target.id == name and statement.value is not None:
            value = _kept(reading, statement.value)
            reading.globals.names[f"{base.name}.{name}"] = value
            return value
    return Value((), f"{base.name}.{name}")


def _statements(
    reading: Reading, outline: ClassOutline, seen: tuple[str, ...] = ()
) -> list[ast.Assign | ast.AnnAssign]:
    found = [one for one in outline.node.body if isinstance(one, (ast.Assign, ast.AnnAssign))]
    for base in outline.bases:
        if base in reading.outline.classes and base not in seen:
            found += _statements(reading, reading.outline.classes[base], (*seen, base))
    return found


def _kept(reading: Reading, node: ast.expr) -> Value:
    """A default: made once, or once per object where it is a factory."""
    outer, reading.per = reading.per, "kept"
    try:
        if isinstance(node, ast.Call) and last_name(node.func) in {"field", "Field", "attrib", "ib"}:
            for keyword in node.keywords:
                if keyword.arg == "default":
                    return reading.evaluate(keyword.value)
                if keyword.arg in {"default_factory", "factory"}:
                    reading.per = outer
                    return calls.call_value(reading, reading.evaluate(keyword.value), keyword.value)
            return Value()
        return reading.evaluate(node)
    finally:
        reading.per = outer


def instantiate(
    reading: Reading, cls: ClassValue, args: list[Value], keywords: Mapping[str, Value], node: ast.AST
) -> Value:
    """``Class(…)``."""
    outline = cls.outline
    if _DICT_BASES & set(outline.bases):
        return DictValue(dict(keywords))
    made = Instance(outline, {})
    init = find_method(reading, outline, "__init__")
    if init is not None:
        bound = FunctionValue(init, None, made)
        bound.cls = outline
        calls.inline(reading, bound, args, keywords, node)
    elif outline.keyword_built or keywords:
        _fill(reading, made, args, keywords)
        after = find_method(reading, outline, "__post_init__")
        if after is not None:
            bound = FunctionValue(after, None, made)
            bound.cls = outline
            calls.inline(reading, bound, [], {}, node)
    return made


def _fill(reading: Reading, made: Instance, args: list[Value], keywords: Mapping[str, Value]) -> None:
    fields = [one for one in _statements(reading, made.outline) if isinstance(one, ast.AnnAssign)]
    for position, one in enumerate(fields):
        if not isinstance(one.target, ast.Name):
            continue
        name = one.target.id
        if name in keywords:
            made.attributes[name] = keywords[name]
        elif position < len(args):
            made.attributes[name] = args[position]
        elif one.value is not None:
            made.attributes[name] = _kept(reading, one.value)
            _fill_as_typed(reading, made, name, one.annotation)
        else:
            _fill_as_typed(reading, made, name, one.annotation)
    for name, value in keywords.items():
        made.attributes.setdefault(name, value)
    loud = {"." + name for name, value in made.attributes.items() if not is_quiet(value)}
    reading.outline.make_loud(loud)


def _fill_as_typed(reading: Reading, made: Instance, name: str, annotation: ast.expr) -> None:
    """A field that begins empty or is not seen to be given holds what its type says."""
    held = made.attributes.get(name)
    if reading.is_history_name(name) or (held is not None and not _is_empty(held)):
        return
    typed = reading.typed(name, annotation)
    if isinstance(typed, ListValue) and not typed.is_set:
        made.attributes[name] = typed


def _is_empty(value: Value) -> bool:
    return isinstance(value, ListValue) and not value.items and not value.is_set


def as_dict(value: Value) -> Value:
    """``asdict(value)`` and the like: fields in the order they are declared."""
    if isinstance(value, Instance):
        made = DictValue(dict(value.attributes))
        made.ordered = True
        return made
    return value


def instance_of(reading: Reading, outline: ClassOutline) -> Instance:
    """An instance of a class as one of its methods finds it: made earlier, by a caller that is not seen."""
    held = reading.instances.get(outline.name)
    if held is None:
        held = Instance(outline, {})
        reading.instances[outline.name] = held
        _build(reading, held)
    made = Instance(outline, {})
    memo: dict[int, Value] = {}
    for name, value in held.attributes.items():
        copied = copy_of(value, 0, memo)
        for option in options(copied):
            if isinstance(option, ListValue):
                _outlives(reading, name, option)
        made.attributes[name] = copied
    return made


def _outlives(reading: Reading, name: str, value: ListValue) -> None:
    """A list an object holds: it was there before this call, with messages that are not seen."""
    value.kept = True
    if value.history or reading.is_history_name(name):
        value.history = value.open = True
        value.items = [one for one in value.items[:1] if is_system(one)]
        if value.items:
            value.items.append(gap())
            value.open = False


def _build(reading: Reading, held: Instance) -> None:
    outer = (reading.per, reading.muted, reading.turns, reading.tests, reading.arms)
    method_before = reading.method
    reading.per, reading.muted, reading.turns, reading.tests, reading.arms = "kept", True, [], [], []
    try:
        names = ["__init__", "__post_init__"]
        if held.outline.keyword_built:
            _fill(reading, held, [], {})
        names += [
            name
            for name, node in held.outline.methods.items()
            if name not in names
            and node in reading.outline.functions
            and any(one.startswith(".") for one in reading.outline.functions[node].stores)
        ]
        for name in names:
            method = find_method(reading, held.outline, name)
            if method is not None:
                bound = FunctionValue(method, None, held)
                bound.cls = held.outline
                reading.method = "" if _SETS_UP.match(name) else name
                calls.inline(reading, bound, [], {}, method, unknown=True)
    finally:
        reading.method = method_before
        reading.per, reading.muted, reading.turns, reading.tests, reading.arms = outer
