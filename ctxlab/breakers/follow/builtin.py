"""What the builtins and the standard library's text tools come out as.

Models: conversions, ``json.dumps``, sorting, copies, templates, and calls that show nothing of what goes in.
Does not model: other libraries (see :mod:`ctxlab.breakers.follow.calls` for what is assumed of them).
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ctxlab.breakers.follow import calls, fallbacks, lists, objects, texts
from ctxlab.breakers.follow.reading import HELD, Reading
from ctxlab.breakers.follow.values import (
    ORDERS,
    Choice,
    DictValue,
    FunctionValue,
    ListValue,
    Marks,
    Text,
    Trace,
    Value,
    all_marks,
    copy_of,
    join,
    merge,
    options,
    parts,
    place_of,
    weaken,
    without,
    written_at,
)
from ctxlab.breakers.follow.volatile import Origin, coarser, grain_of, variable_of

_SILENT = frozenset(
    [
        "print",
        "len",
        "any",
        "all",
        "bool",
        "isinstance",
        "issubclass",
        "type",
        "hasattr",
        "callable",
        "sleep",
        "open",
        "setattr",
        "input_tokens",
        "range",
    ]
)
_THROUGH = frozenset(
    [
        "int",
        "float",
        "abs",
        "round",
        "bytes",
        "ascii",
        "dedent",
        "indent",
        "fill",
        "shorten",
        "escape",
        "unescape",
        "quote",
        "quote_plus",
        "cast",
        "b64encode",
        "b64decode",
        "sha256",
        "sha1",
        "md5",
        "blake2b",
        "new",
        "UUID",
        "join_path",
        "abspath",
        "realpath",
        "basename",
        "dirname",
        "normpath",
        "iter",
        "next",
        "Decimal",
        "fromtimestamp",
        "utcfromtimestamp",
        "strptime",
        "fromisoformat",
        "astimezone",
        "shield",
        "wait_for",
        "gather",
        "to_thread",
        "run",
        "run_until_complete",
        "literal_eval",
        "getattr",
        "deque_copy",
        "Markdown",
        "mktime",
        "timegm",
        "struct_time",
        "timedelta",
        "combine",
        "urlencode",
        "safe_dump",
    ]
)
_ORDERED = frozenset({"list", "tuple", "iter"})
_COPIES = frozenset({"copy", "deepcopy"})
_FIELDS = frozenset({"asdict", "astuple", "vars", "jsonable_encoder"})


def call_builtin(
    reading: Reading, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value | None:
    """What a call of a known name comes out as, or None for a name that is not known."""
    last = name.rsplit(".", 1)[-1]
    first = args[0] if args else None
    if last == "input" or name.endswith("prompt.ask"):
        return Text((reading.trace(Origin("turn"), node),))
    if last == "getattr" and len(args) == 3:
        return join(Value(all_marks(args[0])), fallbacks.stand_in(args[2]))
    if last == "range" and isinstance(node, ast.Call) and _all_but_the_last(node):
        return Value((), lists.EARLIER)
    if name == "len" and first is not None:
        return _length(reading, first, node)
    if name == "open" and first is not None:
        return Text(tuple(t for t in all_marks(first) if t.rule == "per-user-value"))
    if last in _SILENT:
        return Text()
    if last in ("hash", "id") and name == last and first is not None:
        return _identity(reading, last, first, node)
    if last in ("str", "repr", "format", "pformat") and first is not None:
        marks = texts.written(reading, first, node, texts.WAYS.get(last, texts.WAYS["repr"]))
        spec = args[1] if len(args) > 1 else None
        if isinstance(spec, Text) and isinstance(spec.const, str):
            marks = texts.formatted(marks, spec.const)
        return Text(marks, str(first.const) if isinstance(first, Text) and first.const is not None else None)
    if last in ("dumps", "dump", "encode_json", "to_json") and first is not None:
        return Text(_dumped(reading, name, first, keywords, node))
    if last == "sorted" and first is not None:
        return lists.sorted_list(first, reading.stamp)
    if last in ("min", "max", "sum", "Counter"):
        left = lists.LEFT if any(one.name == lists.LEFT for one in args) else ""
        counted = lists.counted(reading, args, node) if last == "sum" else ()
        return Text(merge(texts.sorted_marks(merge(*(all_marks(one) for one in args))), counted), name=left)
    if last in _ORDERED and name == last:
        return _listed(reading, first, node)
    if last in ("set", "frozenset"):
        return _set_of(reading, first)
    if last == "dict" or last == "OrderedDict":
        made_dict = _dict_of(args, keywords)
        if isinstance(made_dict, DictValue) and "cache_control" in keywords:
            made_dict.marked_at = _keyword_at(node, "cache_control")
        return made_dict
    if last == "fromkeys" and first is not None:
        keyed = DictValue({}, [Value(all_marks(first))])
        keyed.marks, keyed.ordered = lists.orders_of(reading, first, node), True
        return keyed
    if last == "defaultdict":
        made = _dict_of(args[1:], keywords)
        if isinstance(made, DictValue):
            made.fills = args[0] if args else Text()
        return made
    if last == "deque":
        return _deque(reading, first, args, keywords, node)
    if last in ("enumerate", "reversed", "zip", "map", "filter", "chain", "islice", "from_iterable"):
        return _walked(reading, last, args, node)
    if last in _COPIES and first is not None and name in ("copy.copy", "copy.deepcopy", "deepcopy", "copy"):
        return copy_of(first, reading.stamp)
    if last in _FIELDS and first is not None:
        return objects.as_dict(first)
    if last == "shuffle" and first is not None:
        if not reading.seeded:
            lists.shuffle(reading, first, node)
        return Text()
    if last in ("strftime",) and name.startswith("time"):
        return _time_strftime(reading, args, node)
    if last in ("getenv",) or name.endswith("environ.get"):
        return _variable(reading, args, node)
    if last in ("Random", "default_rng", "RandomState", "SystemRandom"):
        return Value((), "seeded" if args or keywords else "random")
    if last == "cycle":
        return Value((reading.trace(Origin("switch"), node),))
    if last in ("Path", "PurePath") or name.endswith("path.join"):
        return Value(texts.in_path(merge(*(texts.written(reading, one, node) for one in args))))
    if last in _THROUGH or name.startswith(("textwrap.", "html.", "hashlib.", "base64.", "os.path.")):
        marks = merge(*(texts.written(reading, one, node) for one in (*args, *keywords.values())))
        if last == "next":
            marks = tuple(_drawn_now(reading, trace) for trace in marks)
        if isinstance(first, (ListValue, DictValue)) and last == "next":
            return Value(merge(marks, texts.set_order(reading, first, node)))
        made = Value(marks, first.name if first is not None and type(first) is Value else "")
        return written_at(made, node) if last == "next" else made
    if last == "Template" and first is not None:
        return first
    if last == "partial" and isinstance(first, FunctionValue):
        bound = FunctionValue(first.node, first.closure, first.subject)
        bound.cls, bound.given = first.cls, (*first.given, *args[1:])
        bound.named = {**first.named, **keywords}
        return bound
    if last == "ContextVar" and isinstance(first, Text) and isinstance(first.const, str):
        return Value((), f"{first.const}@context")
    if name in ("re.sub", "re.subn") and len(args) > 2:
        put = calls.call_value(reading, args[1], node, Value()) if _is_callable(args[1]) else args[1]
        return Text(merge(all_marks(args[2]), texts.written(reading, put, node)))
    return None


def _drawn_now(reading: Reading, trace: Trace) -> Trace:
    """What an iterator an object holds hands out: another one at each call."""
    if trace.rule != "switch" or trace.per != "kept":
        return trace
    return replace(trace, per=reading.per, loops=reading.loops(), stamp=reading.stamp, form=HELD)


def _length(reading: Reading, value: Value, node: ast.AST) -> Value:
    """``len(x)``: of a history it is another number each turn."""
    grows = isinstance(value, ListValue) and value.history and (value.open or value.kept)
    marks = (reading.trace(Origin("turn", form=lists.LENGTH), node),) if grows else ()
    return Text(marks, name=lists.LENGTH)


def _is_callable(value: Value) -> bool:
    return any(isinstance(one, FunctionValue) for one in options(value))


def _all_but_the_last(node: ast.Call) -> bool:
    """Whether ``range(len(x) - n)`` names earlier items only; one that walks back may begin at the newest."""
    for one in node.args:
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) and "len(" in ast.unparse(one.left):
            from_the_end = len(node.args) == 3 and one is node.args[0]
            return not (from_the_end and isinstance(one.right, ast.Constant) and one.right.value == 1)
    return False


def _identity(reading: Reading, last: str, value: Value, node: ast.AST) -> Value:
    plain = isinstance(value, Text) and isinstance(value.const, (int, float))
    if last == "hash" and plain:
        return Text()
    items = value.items if last == "hash" and isinstance(value, ListValue) else []
    if items and all(isinstance(one, Text) and isinstance(one.const, (int, float)) for one in items):
        return Text()
    sure = last == "id" or not (
        type(value) is Value and value.name.endswith(("_id", ".id", "count", "number"))
    )
    return Text((reading.trace(Origin("object-identity", certain=sure), node), *weaken(all_marks(value)))[:8])


def _dumped(reading: Reading, name: str, value: Value, keywords: dict[str, Value], node: ast.AST) -> Marks:
    flag = keywords.get("sort_keys")
    keep = flag is not None and not (isinstance(flag, Text) and flag.const in (False, None, 0))
    yaml = name.split(".")[0] in ("yaml", "toml", "tomli_w")
    if yaml and flag is None:
        keep = True
    option = keywords.get("option")
    if option is not None and "SORT_KEYS" in option.name:
        keep = True
    for one in (option,) if option is not None else ():
        if isinstance(one, (Value, Choice)) and any("SORT_KEYS" in part.name for part in parts(one)):
            keep = True
    if isinstance(node, ast.Call) and "SORT_KEYS" in ast.unparse(node):
        keep = True
    return texts.dumped(reading, value, node, sort_keys=keep)


def _listed(reading: Reading, value: Value | None, node: ast.AST) -> Value:
    made = ListValue([], born=reading.stamp)
    if value is None:
        return made
    orders = texts.set_order(reading, value, node)
    if isinstance(value, (ListValue, DictValue, Choice)):
        lists.concatenated(made, value, reading)
        made.marks = merge(without(made.marks, ()), orders)
        if isinstance(value, DictValue):
            made.marks = merge(made.marks, tuple(t for t in value.marks if t.rule in ORDERS))
        if isinstance(value, ListValue):
            made.many = value.many
            made.kept = False
            made.history = value.history
            made.owner = value.owner or value
            made.kept = value.kept
        return made
    return Value(value.marks, value.name, value.owner, value.place)


def _set_of(reading: Reading, value: Value | None) -> Value:
    made = ListValue([], born=reading.stamp, is_set=True)
    if value is None:
        return made
    if isinstance(value, ListValue):
        made.items = list(value.items)
        made.open, made.many = value.open, value.many
        made.marks = texts.sorted_marks(value.marks)
    elif not (isinstance(value, Text) and isinstance(value.const, str) and len(value.const) < 2):
        made.items = [Value(texts.sorted_marks(all_marks(value)))]
        made.many = True
    return made


def _dict_of(args: list[Value], keywords: dict[str, Value]) -> Value:
    made = DictValue({})
    for one in args[:1]:
        if isinstance(one, DictValue):
            lists.spread(made, one)
        elif isinstance(one, (ListValue, Choice)):
            for option in options(one):
                if isinstance(option, ListValue):
                    _take_pairs(made, option)
                else:
                    lists.spread(made, option)
        else:
            made.rest.append(one)
            made.ordered = one.name == "sorted()"
    for key, value in keywords.items():
        if key:
            made.entries[key] = value
        else:
            made.rest.append(value)
    return made


def _take_pairs(made: DictValue, pairs: ListValue) -> None:
    """``dict([(key, value), …])``: a key that is written out is one of the dict's own."""
    for item in (one for held in pairs.items for one in options(held)):
        key = item.items[0] if isinstance(item, ListValue) and len(item.items) == 2 else None
        if isinstance(item, ListValue) and isinstance(key, Text) and isinstance(key.const, str):
            known = made.entries.get(key.const)
            made.entries[key.const] = item.items[1] if known is None else join(known, item.items[1])
        else:
            made.rest.append(Value(all_marks(item)))
    made.marks = merge(made.marks, tuple(trace for trace in pairs.marks if trace.rule in ORDERS))
    made.ordered = True


def _keyword_at(node: ast.AST, name: str) -> tuple[int, int]:
    """Where a keyword of a call is written, else where the call is."""
    given = node.keywords if isinstance(node, ast.Call) else []
    return place_of(next((one for one in given if one.arg == name), node))


def _deque(
    reading: Reading, first: Value | None, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    made = ListValue([], born=reading.stamp)
    if first is not None:
        lists.concatenated(made, first, reading)
    limit = keywords.get("maxlen", args[1] if len(args) > 1 else None)
    if limit is not None and not (isinstance(limit, Text) and limit.const is None and not limit.marks):
        made.marks = merge(made.marks, reading.edit("window", node))
    return made


def _walked(reading: Reading, last: str, args: list[Value], node: ast.AST) -> Value:
    if last == "map" and len(args) > 1:
        made = ListValue([], born=reading.stamp)
        over = args[1]
        made.many = True
        element = lists.element_of(reading, over, node, reading.id_of(node))
        made.items = [calls.call_value(reading, args[0], node, element)]
        made.marks = lists.orders_of(reading, over, node)
        return made
    if last == "filter" and len(args) > 1:
        return args[1]
    if last in ("chain", "from_iterable"):
        made = ListValue([], born=reading.stamp)
        for one in args:
            lists.concatenated(made, one, reading, node)
        return made
    if not args:
        return Value()
    if last in ("reversed", "islice"):
        return args[0]
    marks = merge(*(one.marks for one in args))
    elements: list[Value] = []
    for one in args if last == "zip" else args[:1]:
        items = one.items if isinstance(one, ListValue) else []
        place = one.place if isinstance(one, ListValue) else ""
        if isinstance(one, ListValue) and one.history:
            elements.append(Value((), "", one.owner or one, place))
        elif items:
            elements.append(items[0] if len(items) == 1 else Choice(list(items[:8])))
        else:
            elements.append(Value(one.marks, f"{one.name}[]", one.owner))
    pair = [Text(), *elements] if last == "enumerate" else elements
    kept = tuple(trace for trace in marks if trace.rule in ORDERS or trace.rule == "edit")
    made = ListValue([ListValue(pair)], kept, born=reading.stamp)
    made.many = True
    made.is_set = last == "enumerate" and isinstance(args[0], ListValue) and args[0].is_set
    return made


def _time_strftime(reading: Reading, args: list[Value], node: ast.AST) -> Value:
    grain = "moment"
    certain = True
    if args and isinstance(args[0], Text) and isinstance(args[0].const, str):
        found = grain_of(args[0].const)
        if found is None:
            return Text()
        grain = found
    else:
        certain = False
    marks = all_marks(args[1]) if len(args) > 1 else ()
    if len(args) > 1:
        return Text(tuple(replace(t, grain=coarser(t.grain, grain)) for t in marks))
    return Text((reading.trace(Origin("clock", certain=certain, grain=grain), node),))


def _variable(reading: Reading, args: list[Value], node: ast.AST) -> Value:
    named = args[0].const if args and isinstance(args[0], Text) else None
    origin = variable_of(named) if isinstance(named, str) else None
    return Text((reading.trace(origin, node),) if origin is not None else ())
