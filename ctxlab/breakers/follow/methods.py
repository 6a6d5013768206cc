"""What methods of texts, times, lists, dicts and sets come out as, and what they do to them.

Models: the methods prompts are built with.
Does not model: methods of objects of other modules, beyond what goes in and what they are called on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from ctxlab.breakers.follow import calls, fallbacks, lists, objects, stores, texts
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import (
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
    copy_of,
    join,
    merge,
    place_of,
    weaken,
    with_marks,
    without,
)
from ctxlab.breakers.follow.volatile import Origin, belongs_to_user, coarser, origin_of

_CONTEXT = "@context"
"""What the name of a context variable's value ends in."""

_FILLING = frozenset({"format", "format_map", "substitute", "safe_substitute", "render", "render_template"})
_DATES = frozenset({"date", "to_date_string", "toordinal", "weekday", "isoweekday", "isocalendar", "today"})
_TIME_TEXTS = frozenset(
    {"isoformat", "ctime", "__str__", "to_iso8601_string", "to_datetime_string", "isoformat_z"}
)
_FILL = frozenset({"append", "extend", "add", "insert", "update", "appendleft", "setdefault"})
_FIELD_DUMPS = frozenset({"model_dump", "dict", "to_dict", "asdict", "_asdict", "model_dump_json", "json"})


def call_method(
    reading: Reading, base: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.Call
) -> Value | None:
    """What ``base.name(…)`` comes out as, or None when it is to be looked up as an attribute."""
    if type(base) is not Value and type(base) is not Text:
        if isinstance(base, Choice):
            made: Value | None = None
            for option in base.options[:4]:
                found = call_method(reading, option, name, args, keywords, node)
                if found is not None:
                    made = found if made is None else join(made, found)
            return with_marks(made, base.marks) if made is not None else None
        if (
            isinstance(base, (ListValue, DictValue))
            and name in _FILL
            and isinstance(node.func, ast.Attribute)
        ):
            stores.tell(reading, node.func.value, args)
        if isinstance(base, ListValue):
            return _list_method(reading, base, name, args, node)
        if isinstance(base, DictValue):
            return _dict_method(reading, base, name, args, keywords, node)
        if isinstance(base, Instance):
            return (
                objects.as_dict(base) if name in _FIELD_DUMPS and name not in base.outline.methods else None
            )
        if isinstance(base, ClassValue):
            return None
    if name in _FILLING and not (name == "format" and any(t.rule == "clock" for t in base.marks)):
        given = dict(keywords)
        for one in args:
            if isinstance(one, DictValue):
                given.update(one.entries)
        rest = [] if name != "format" and any(isinstance(one, DictValue) for one in args) else args
        return Text(texts.filled(reading, base, rest, given, node))
    if isinstance(base, Text):
        return _text_method(reading, base, name, args, keywords, node)
    return _opaque_method(reading, base, name, args, keywords, node)


def _text_method(
    reading: Reading, base: Text, name: str, args: list[Value], keywords: dict[str, Value], node: ast.Call
) -> Value | None:
    marks = base.marks
    if name == "join" and args:
        found = [texts.written(reading, args[0], node), texts.set_order(reading, args[0], node)]
        return Text(merge(marks, *found))
    if name == "replace" and len(args) == 2 and not keywords:
        return Text(_replaced(reading, base, args, node))
    if name in ("split", "partition", "rsplit"):
        divided = args[0].const if args and isinstance(args[0], Text) else None
        split = tuple(
            replace(t, form="split") if t.form == "iso" and divided in ("T", " ", None) else t for t in marks
        )
        return Value(split)
    if name in ("startswith", "endswith", "isdigit", "count", "find", "index"):
        return Text()
    if any(trace.rule == "clock" for trace in marks):
        made = _time_method(reading, base, name, args, keywords)
        if made is not None:
            return made
    return Text(merge(marks, *(weaken(all_marks(one)) for one in args)))


def _replaced(reading: Reading, base: Text, args: list[Value], node: ast.AST) -> Marks:
    old = args[0].const if isinstance(args[0], Text) else None
    if isinstance(base.const, str) and isinstance(old, str) and old not in base.const:
        return base.marks
    return merge(base.marks, texts.written(reading, args[1], node))


def _time_method(
    reading: Reading, base: Value, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """A method of a moment in time."""
    marks = base.marks
    if name in ("strftime", "format") and args:
        return Text(texts.strftime(marks, args[0]))
    if name in _DATES:
        return Value(tuple(texts.grained(trace, "date") for trace in marks))
    if name in _TIME_TEXTS:
        spec = keywords.get("timespec", args[1] if len(args) > 1 else None)
        coarse = isinstance(spec, Text) and spec.const == "hours"
        return Text(
            tuple(
                replace(t, form="iso", grain=coarser(t.grain, "hour") if coarse else t.grain) for t in marks
            )
        )
    if name in ("timestamp", "total_seconds"):
        return Value(tuple(replace(t, form="number") if t.form == "object" else t for t in marks))
    if name in ("replace", "floor", "start_of", "round"):
        return Value(tuple(texts.grained(trace, _floored(args, keywords)) for trace in marks))
    if name in ("astimezone", "time", "timetuple", "utctimetuple", "in_timezone", "to", "naive"):
        return Value(marks)
    return None


def _floored(args: list[Value], keywords: dict[str, Value]) -> str:
    named = args[0].const if args and isinstance(args[0], Text) else None
    if named in ("day", "week", "month", "year", "D", "d"):
        return "date"
    if named in ("hour", "h", "H"):
        return "hour"
    zero = {key for key, value in keywords.items() if isinstance(value, Text) and value.const == 0}
    if {"hour", "minute", "second"} <= zero:
        return "date"
    return "hour" if {"minute", "second"} <= zero else "moment"


def _opaque_method(
    reading: Reading, base: Value, name: str, args: list[Value], keywords: dict[str, Value], node: ast.Call
) -> Value | None:
    dotted = f"{base.name}.{name}"
    if name == "execute" and base.marks and calls.cursor_of(node):
        # what an earlier query found is gone
        base = Value(without(base.marks, ("per-user-value",)), base.name)
        reading.bind(calls.cursor_of(node), base)
    if base.name and origin_of(dotted) is not None:
        return None
    if base.owner is not None and name in ("pop", "__delitem__"):
        return Value()
    if base.owner is not None and name == "update" and args:
        entries = args[0].entries if isinstance(args[0], DictValue) else {}
        for key in entries:
            stores.set_in_item(reading, base, key, node)
        return Value()
    if any(trace.rule == "clock" for trace in base.marks):
        made = _time_method(reading, base, name, args, keywords)
        if made is not None:
            return made
    if name in ("append", "extend") and isinstance(node.func, ast.Attribute) and args:
        return _grow_unknown(reading, base, name, args, node.func.value, node)
    if name == "replace" and len(args) == 2 and not keywords:
        return Text(merge(base.marks, texts.written(reading, args[1], node)))
    if name == "get":
        held = _got(reading, base, args, node)
        if held is not None:
            return held
    if name in ("sub", "subn") and len(args) > 1 and isinstance(args[0], FunctionValue):
        put = calls.call_value(reading, args[0], node, Value())
        return Text(merge(all_marks(args[1]), texts.written(reading, put, node)))
    if name in ("iterdir", "glob", "rglob"):
        return Value((reading.trace(Origin("listing-order", certain=False), node),), f"{dotted}()")
    if name in _FIELD_DUMPS and not args:
        return Text(base.marks) if name.endswith("json") else Value(base.marks, f"{dotted}()")
    if not base.marks:
        return None
    views = name in ("items", "keys", "values", "copy")
    kept = tuple(trace for trace in base.marks if views or trace.rule != "edit")
    given = (*args, *keywords.values())
    return Value(merge(kept, *(weaken(all_marks(one)) for one in given)), f"{dotted}()")


def _got(reading: Reading, base: Value, args: list[Value], node: ast.Call) -> Value | None:
    """``x.get("key")`` of a mapping from elsewhere, ``x.get()`` of a context variable."""
    key = args[0].const if args and isinstance(args[0], Text) else None
    if isinstance(key, str):
        dotted = f"{base.name}.{key}"
    elif not args and base.name.endswith(_CONTEXT):
        dotted = base.name.removesuffix(_CONTEXT)
    else:
        return None
    origin = belongs_to_user(dotted)
    if origin is None:
        return None
    marks = merge(without(base.marks, ("per-user-value",)), (reading.trace(origin, node),))
    return Value(marks, dotted, base.owner, base.place)


def _grow_unknown(
    reading: Reading, base: Value, name: str, args: list[Value], target: ast.expr, node: ast.AST
) -> Value | None:
    """A list that comes from elsewhere gets an item that is seen: from here on it is a list."""
    if not isinstance(target, ast.Name) or isinstance(base, Text) or base.owner is not None:
        return None
    made = ListValue([], tuple(t for t in base.marks if t.rule in ORDERS), born=0)
    if base.marks:
        made.items.append(lists.gap(base.marks))
        made.history = lists.is_history(Value((), target.id)) or lists.is_history(base)
    else:
        made.open = True
    if name == "append":
        lists.appended(reading, made, args[0], node)
    else:
        lists.concatenated(made, args[0], reading)
    reading.bind(target.id, made)
    return Text()


def _list_method(
    reading: Reading, base: ListValue, name: str, args: list[Value], node: ast.Call
) -> Value | None:
    known = _LIST_METHODS.get(name)
    if known is not None:
        return known(reading, base, args, node)
    if base.is_set and name in ("union", "symmetric_difference"):
        made: Value = base
        for one in args:
            made = lists.united(reading, made, one, node)
        return made
    if base.is_set and name in ("intersection", "difference"):
        return lists.picked(reading, base, base, both=False)
    return None


def _append(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    for one in args[:1]:
        lists.appended(reading, base, one, node)
    return Text()


def _extend(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    for one in args[:1]:
        if isinstance(one, ListValue) and not one.open and not one.many and not one.is_set:
            for item in list(one.items):
                lists.appended(reading, base, item, node)
            base.marks = merge(base.marks, one.marks)
        else:
            lists.concatenated(base, one, reading)
            base.marks = merge(base.marks, texts.set_order(reading, one, node) if not base.is_set else ())
            if isinstance(one, ListValue):
                base.many = base.many or (base.is_set and one.many)
            else:
                base.many = base.many or base.is_set
    return Text()


def _insert(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    if len(args) > 1:
        front = isinstance(args[0], Text) and args[0].const == 0
        lists.appended(reading, base, args[1], node, front=front)
    return Text()


def _append_left(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    for one in args[:1]:
        lists.appended(reading, base, one, node, front=True)
    return Text()


def _pop(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    key = args[0].const if args and isinstance(args[0], Text) else -1
    if base.is_set:
        return Value(texts.set_order(reading, base, node))
    if key == -1 or not isinstance(key, int):
        if base.items:
            return base.items.pop()
        return Value((), "", base, "newest")
    item = base.items[key] if not base.open and -len(base.items) <= key < len(base.items) else Value()
    if key >= 0:
        lists.removed(reading, base, node, first=key)
    return item


def _pop_left(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    lists.removed(reading, base, node)
    return Value()


def _remove(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    if not lists.is_history(base) and not base.is_set and reading.turns:
        base.marks = merge(base.marks, reading.edit("edit", node))
    return Text()


def _clear(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    base.items, base.marks, base.open = [], (), False
    return Text()


def _sort(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    cleaned = lists.sorted_list(base, base.born)
    if isinstance(cleaned, ListValue):
        base.items, base.marks = cleaned.items, cleaned.marks
    return Text()


def _copy(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    made = copy_of(base, reading.stamp)
    if isinstance(made, ListValue):
        made.items = list(base.items)
        made.kept = base.kept
    return made


def _nothing(reading: Reading, base: ListValue, args: list[Value], node: ast.AST) -> Value:
    return Text()


_LIST_METHODS: dict[str, Callable[[Reading, ListValue, list[Value], ast.AST], Value]] = {
    "append": _append,
    "add": _append,
    "extend": _extend,
    "update": _extend,
    "insert": _insert,
    "appendleft": _append_left,
    "pop": _pop,
    "popleft": _pop_left,
    "remove": _remove,
    "discard": _nothing,
    "clear": _clear,
    "sort": _sort,
    "copy": _copy,
    "reverse": _nothing,
    "index": _nothing,
    "count": _nothing,
}


def _dict_method(
    reading: Reading,
    base: DictValue,
    name: str,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.Call,
) -> Value | None:
    key = args[0].const if args and isinstance(args[0], Text) else None
    if name in ("get", "pop", "setdefault"):
        if isinstance(key, str) and key in base.entries:
            return base.entries.pop(key) if name == "pop" else base.entries[key]
        if name == "setdefault" and args:
            base.marks = merge(base.marks, tuple(t for t in args[0].marks if t.elements_of))
        fresh = args[1] if len(args) > 1 else None
        if key is None and isinstance(fresh, ListValue) and not fresh.items and not base.rest:
            kept = base.entries.get(OTHERS) or lists.outlives(reading, base, fresh)
            if name == "setdefault":
                base.entries[OTHERS] = kept
            return kept
        if name == "setdefault" and isinstance(key, str) and len(args) > 1:
            base.entries[key] = args[1]
            base.marked_at = place_of(node) if key == "cache_control" else base.marked_at
            return args[1]
        found = merge(*(all_marks(one) for one in base.rest))
        if len(args) > 1 and not found:
            return fallbacks.stand_in(args[1]) if base.rest else args[1]
        return Value(found)
    if name == "update":
        for one in args:
            lists.spread(base, one)
        base.entries.update({key: value for key, value in keywords.items() if key})
        if "cache_control" in keywords or any(
            isinstance(one, DictValue) and "cache_control" in one.entries for one in args
        ):
            base.marked_at = place_of(node)
        return Text()
    if name in ("items", "keys", "values"):
        return _view(base, name, reading.stamp)
    if name in ("copy", "model_copy", "model_dump", "dict"):
        made = DictValue(dict(base.entries), list(base.rest), base.marks)
        made.line, made.ordered, made.marked_at = base.line, base.ordered, base.marked_at
        made.kind = base.kind
        return made
    return None


def _view(base: DictValue, name: str, born: int) -> Value:
    orders = tuple(trace for trace in base.marks if trace.rule in ORDERS)
    items: list[Value] = []
    for key, value in base.entries.items():
        text = Text((), key)
        items.append(text if name == "keys" else value if name == "values" else ListValue([text, value]))
    for value in base.rest:
        items.append(ListValue([value, value]) if name == "items" else value)
    made = ListValue(items, orders, born=born)
    made.many = bool(base.rest)
    return made
