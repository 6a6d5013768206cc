"""What becomes of traces when a value is written into a text.

Models: f-strings, ``format``, ``%``, ``strftime``, slices of ISO times, ``json.dumps`` and the order of keys.
Does not model: the text itself, beyond constants that are written out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from ctxlab.breakers.follow.outline import ClassOutline
from ctxlab.breakers.follow.reading import GIVEN, Reading
from ctxlab.breakers.follow.values import (
    ORDERS,
    Choice,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Marks,
    Text,
    Trace,
    Value,
    all_marks,
    merge,
    parts,
    place_of,
    without,
)
from ctxlab.breakers.follow.volatile import Origin, coarser, grain_of


def set_order(reading: Reading, value: Value, node: ast.AST) -> Marks:
    """The trace of a set that is put into some order at ``node``; none where the order cannot vary."""
    if isinstance(value, Choice):
        return merge(*(set_order(reading, one, node) for one in value.options))
    if not isinstance(value, ListValue) or not value.is_set:
        return ()
    if not value.many and not value.open:
        if len(value.items) < 2:
            return ()
        if all(isinstance(one, Text) and isinstance(one.const, (int, float)) for one in value.items):
            return ()
    return (reading.trace(Origin("set-order", note="a break across processes, not inside one"), node),)


def _put(trace: Trace, node: ast.AST) -> Trace:
    line, column = place_of(node)
    return replace(trace, line=line, column=column, form="") if line else trace


WAYS = {
    "str": ("__str__", "__repr__"),
    "repr": ("__repr__",),
    "format": ("__format__", "__str__", "__repr__"),
}
"""The methods an object is written with, the first it has."""


def written(reading: Reading, value: Value, node: ast.AST, ways: tuple[str, ...] = WAYS["str"]) -> Marks:
    """The traces in the text of a value, as ``str`` and f-strings write it.

    ``ways`` are the methods an object of the module is written with; in a container it is always its repr.
    """
    if type(value) is Text or type(value) is Value:
        marks = value.marks
        if marks:
            marks = tuple(replace(t, form="iso") if t.form == "object" else t for t in marks)
            marks = tuple(_put(t, node) if t.form == GIVEN else t for t in marks)
        if value.name.startswith("**"):
            marks = merge(marks, (reading.trace(Origin("key-order", certain=False), node),))
        return marks
    marks = all_marks(value)
    for part in parts(value, 3):
        marks = merge(marks, set_order(reading, part, node))
        if isinstance(part, Instance):
            direct = part is value or isinstance(value, Choice)
            marks = merge(marks, _of_object(reading, part, node, ways if direct else WAYS["repr"]))
        elif _has_address(part):
            marks = merge(marks, (reading.trace(Origin("object-identity"), node),))
    return marks


def _of_object(reading: Reading, value: Instance, node: ast.AST, ways: tuple[str, ...]) -> Marks:
    """The traces in the text an object has: of its own, of its fields, or its address."""
    from ctxlab.breakers.follow import calls, objects

    for name in ways:
        method = objects.find_method(reading, value.outline, name)
        if method is not None:
            bound = FunctionValue(method, None, value)
            bound.cls = value.outline
            given: list[Value] = [Text()] if name == "__format__" else []
            return all_marks(calls.inline(reading, bound, given, {}, node))
    if value.outline.keyword_built and "repr=False" not in ast.unparse(value.outline.node):
        fields = [one for one in value.attributes.values() if not isinstance(one, Instance)]
        return merge(*(written(reading, one, node) for one in fields))
    return (reading.trace(Origin("object-identity"), node),) if _is_plain(reading, value.outline) else ()


def _is_plain(reading: Reading, outline: ClassOutline, seen: tuple[str, ...] = ()) -> bool:
    """Whether neither a class nor any of its bases writes its objects in a way of its own."""
    known = reading.outline.classes
    return not outline.keyword_built and all(
        base in ("object", "ABC")
        or (base in known and base not in seen and _is_plain(reading, known[base], (*seen, base)))
        for base in outline.bases
    )


def _has_address(value: Value) -> bool:
    return isinstance(value, FunctionValue) and (value.cls is None or value.subject is not None)


def in_path(marks: Marks) -> Marks:
    """Traces in the name of a folder or file: what is made anew for it belongs to this run."""
    return tuple(
        replace(t, rule="per-run-value", note="it names a file or folder of this run")
        if t.rule == "random-value" or (t.rule == "clock" and t.grain == "moment")
        else t
        for t in marks
    )


_PATH_BEFORE = re.compile(r"(^|[\s'\"`(=:])(~|\.{1,2}|[A-Za-z]:)?[/\\][\w./\\-]*$")


def ends_in_path(before: str) -> bool:
    """Whether what is written behind this text is a part of a path.

    >>> ends_in_path("Work in /tmp/run-"), ends_in_path("yes/no "), ends_in_path("</")
    (True, False, False)
    """
    return _PATH_BEFORE.search(before) is not None


def formatted(marks: Marks, spec: str) -> Marks:
    """Traces after a format such as ``%Y-%m-%d``: a time keeps only what the format shows of it."""
    if "%" not in spec:
        return marks
    made = []
    for trace in marks:
        if trace.rule != "clock":
            made.append(trace)
            continue
        grain = grain_of(spec)
        if grain is not None:
            made.append(replace(trace, grain=coarser(trace.grain, grain), form=""))
    return tuple(made)


def strftime(marks: Marks, spec: Value) -> Marks:
    """Traces after ``strftime``; a format that is not written out is taken for one of a date."""
    if isinstance(spec, Text) and isinstance(spec.const, str):
        grain = grain_of(spec.const)
        if grain is None:
            return without(marks, ("clock",))
        return tuple(
            replace(t, grain=coarser(t.grain, grain), form="") if t.rule == "clock" else t for t in marks
        )
    return tuple(replace(t, certain=False, form="") if t.rule == "clock" else t for t in marks)


def divided(marks: Marks, by: Value, *, whole: bool) -> Marks:
    """Traces of a number of seconds after a division: whole days change once a day."""
    number = by.const if isinstance(by, Text) else None
    if not whole or not isinstance(number, (int, float)) or number < 300:
        return marks
    grain = "date" if number >= 86_400 else "hour"
    return tuple(replace(t, grain=coarser(t.grain, grain)) if t.form == "number" else t for t in marks)


def cut(marks: Marks, lower: object, upper: object) -> Marks:
    """Traces of a text after a slice: the first ten characters of an ISO time are its date."""
    if not marks or lower not in (None, 0) or not isinstance(upper, int):
        return marks
    grain = "date" if 0 < upper <= 10 else "hour" if 0 < upper <= 13 else ""
    if not grain:
        return marks
    return tuple(replace(t, grain=coarser(t.grain, grain)) if t.form == "iso" else t for t in marks)


def filled(
    reading: Reading, template: Value, args: list[Value], keywords: Mapping[str, Value], node: ast.AST
) -> Marks:
    """Traces after ``template.format(…)`` and the like: only what the template shows, where it is seen."""
    shown = template.const if isinstance(template, Text) and isinstance(template.const, str) else None
    groups = [template.marks]
    fields = _attributes(shown) if shown is not None else []
    for name, path in fields:
        held = args[int(name)] if name.isdigit() and int(name) < len(args) else keywords.get(name)
        for step in path if held is not None else []:
            held = reading.attribute(held, step, node) if held is not None else None
        if held is not None:
            groups.append(written(reading, held, node))
    taken = {name for name, _ in fields}
    args = [Text() if str(at) in taken else one for at, one in enumerate(args)]
    keywords = {name: one for name, one in keywords.items() if name not in taken}
    for position, value in enumerate(args):
        if shown is None or re.search(rf"\{{(?:\}}|:|!|{position})|%|\$", shown):
            groups.append(_placed(reading, value, shown, str(position), node))
    for name, value in keywords.items():
        if shown is None or not name or re.search(rf"[{{$(]\s*{re.escape(name)}\b", shown):
            groups.append(_placed(reading, value, shown, name, node))
    return merge(*groups)


def _attributes(shown: str) -> list[tuple[str, list[str]]]:
    """The fields of a template that name attributes: ``{user.name}`` as (``user``, [``name``])."""
    return [(root, path.split(".")[1:]) for root, path in re.findall(r"\{(\w+)((?:\.\w+)+)[!:}]", shown)]


def _placed(reading: Reading, value: Value, shown: str | None, name: str, node: ast.AST) -> Marks:
    marks = written(reading, value, node)
    if shown is None or not marks:
        return marks
    found = re.search(rf"\{{(?:{re.escape(name)})?:([^}}]*)\}}", shown)
    return formatted(marks, found[1]) if found else marks


def dumped(reading: Reading, value: Value, node: ast.AST, *, sort_keys: bool, plain: bool = True) -> Marks:
    """Traces of ``json.dumps(value)``. ``plain``: the writer is one that keeps keys in the order given."""
    marks: list[Marks] = []
    keyed: set[object] = set()
    for part in parts(value):
        if isinstance(part, DictValue) and sort_keys:
            keyed |= {trace.key for trace in part.marks if trace.rule in ORDERS}
        marks.append(part.marks)
        marks.append(set_order(reading, part, node))
    found = tuple(trace for trace in merge(*marks) if trace.key not in keyed)
    if sort_keys or not plain:
        return tuple(trace for trace in found if trace.rule != "key-order")
    keys = [t for part in parts(value) if isinstance(part, DictValue) for t in part.marks if t.rule in ORDERS]
    if keys:
        certain = any(trace.certain and trace.rule == "set-order" for trace in keys)
        origin = Origin(
            "key-order", certain=certain, note=f"its keys come in the order met on line {keys[0].line}"
        )
        found = tuple(trace for trace in found if all(trace.key != key.key for key in keys))
        return merge(found, (reading.trace(origin, node),))
    doubt = _key_order(value)
    if doubt is None:
        return found
    certain, note = doubt
    return merge(found, (reading.trace(Origin("key-order", certain=certain, note=note), node),))


def _key_order(value: Value) -> tuple[bool, str] | None:
    """Whether the keys of a value can come in another order: (for certain, why), or None for no."""
    for part in parts(value, 3):
        if type(part) is Value and part.name.startswith("**"):
            return False, f"{part.name.lstrip('*')} keeps the order each caller writes"
        if isinstance(part, DictValue) and any(trace.rule in ORDERS for trace in part.marks):
            return None
    for part in parts(value, 2):
        if isinstance(part, DictValue) and part.rest and not part.ordered:
            return False, "keys are merged in from elsewhere"
    if type(value) is Value and value.name and not value.name.endswith("()") and not value.marks:
        return False, f"where {value.name} comes from, its keys may come in another order"
    return None


def sorted_marks(marks: Marks) -> Marks:
    """Traces after sorting: an order is no longer one."""
    return without(marks, (*ORDERS, "key-order"))


def grained(trace: Trace, grain: str) -> Trace:
    """A clock's trace at a coarser grain."""
    return replace(trace, grain=coarser(trace.grain, grain)) if trace.rule == "clock" else trace
