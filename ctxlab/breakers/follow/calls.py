"""What a call comes out as: functions of the module are read where they are called.

Models: functions and classes of the same module, builtins, the standard library's text tools.
Does not model: functions of other modules, beyond what goes in (then nothing that comes out is certain).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from ctxlab.breakers.follow import builtin, methods, objects, requests
from ctxlab.breakers.follow.names import chain, last_name
from ctxlab.breakers.follow.outline import SENDING
from ctxlab.breakers.follow.reading import LOOKED_UP, MAX_DEPTH, RECALLED, Reading
from ctxlab.breakers.follow.values import (
    MOVES,
    Choice,
    ClassValue,
    DictValue,
    Frame,
    FunctionValue,
    Instance,
    ListValue,
    Text,
    Value,
    all_marks,
    copy_of,
    is_quiet,
    join,
    merge,
    options,
    parts,
    place_of,
    weaken,
    with_marks,
    without,
    written_at,
)
from ctxlab.breakers.follow.volatile import Origin, guess_of, origin_of, tells_of_a_person

QUIET_READS = 8
"""After so many readings in one entry that told nothing, a function is taken to go on telling nothing."""

IDLE_READS = 2
"""After so many readings that told nothing new, a function of a long-winded module is not read again."""

_RECALLS = re.compile(
    r"search|recall|retriev|look_?up|query|relevant|similar|find|rank|remember|fetch_context"
)

_SELECTS = re.compile(r"\bselect\b.+\bwhere\b", re.IGNORECASE | re.DOTALL)

_CURSOR = re.compile(r"^(c|cu?rs?r?)$|cursor", re.IGNORECASE)

_CACHES = frozenset({"lru_cache", "cache", "cached", "alru_cache", "memoize", "cache_data", "cache_resource"})


def call(reading: Reading, node: ast.Call) -> Value:
    """What a call expression comes out as."""
    args, keywords = _arguments(reading, node)
    func = node.func
    if isinstance(func, ast.Attribute):
        base = reading.evaluate(func.value)
        named = func.attr in SENDING and "messages" in chain(func.value)
        name = f"messages.{func.attr}" if named else f"{base.name}.{func.attr}"
        requests.notice(reading, node, name, args, keywords)
        if named:
            return Value((), f"{name}()")
        known = methods.call_method(reading, base, func.attr, args, keywords, node)
        if known is not None:
            return known
        callee = reading.attribute(base, func.attr, func)
    else:
        callee = reading.evaluate(func)
        requests.notice(reading, node, callee.name, args, keywords)
    return _apply(reading, callee, args, keywords, node)


def _arguments(reading: Reading, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    args: list[Value] = []
    for one in node.args:
        value = reading.evaluate(one)
        if reading.spent and isinstance(one, ast.Name):
            from ctxlab.breakers.follow import expressions

            value = expressions.spent(reading, value, one)
        if isinstance(one, ast.Starred):
            args += value.items if isinstance(value, ListValue) else [Value(value.marks)]
        else:
            _inline(value, one)
            args.append(value)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = reading.evaluate(keyword.value)
        if keyword.arg is not None:
            _inline(value, keyword.value)
            keywords[keyword.arg] = value
            continue
        for option in options(value):
            if isinstance(option, DictValue):
                keywords.update(option.entries)
                if option.rest:
                    keywords.setdefault("", Value(merge(*(all_marks(one) for one in option.rest))))
            elif not isinstance(option, Text):
                keywords.setdefault("", option)
    return args, keywords


def _inline(value: Value, node: ast.expr) -> None:
    if isinstance(node, (ast.Dict, ast.List)) and isinstance(value, (DictValue, ListValue)):
        value.inline = True


def call_value(reading: Reading, callee: Value, node: ast.AST, *args: Value) -> Value:
    """What a value comes out as when it is called with ``args``."""
    return _apply(reading, callee, list(args), {}, node)


def _apply(
    reading: Reading, callee: Value, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    if isinstance(callee, Choice):
        made: Value | None = None
        for option in callee.options[:4]:
            found = _apply(reading, option, args, keywords, node)
            made = found if made is None else join(made, found)
        return made if made is not None else Value()
    if isinstance(callee, FunctionValue):
        return inline(reading, callee, args, keywords, node)
    if isinstance(callee, ClassValue):
        return objects.instantiate(reading, callee, args, keywords, node)
    name = callee.name
    origin = origin_of(name) if name else None
    if origin is not None and not (reading.seeded and _random(name)):
        marks = (reading.trace(origin, node),)
        if origin.rule in ("listing-order", "arrival-order"):
            return Value(marks, f"{name}()")
        drawn = weaken(merge(*(all_marks(one) for one in args))) if origin.rule == "random-value" else ()
        return (
            Value(merge(marks, drawn), f"{name}()") if origin.form == "object" else Text(merge(marks, drawn))
        )
    known = builtin.call_builtin(reading, name, args, keywords, node)
    return known if known is not None else _unknown(reading, name, args, keywords, node)


def _random(name: str) -> bool:
    return "random" in name.split(".")


def _unknown(
    reading: Reading, name: str, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    last = name.rsplit(".", 1)[-1]
    for one in (*args, *keywords.values()):
        if isinstance(one, FunctionValue) and isinstance(one.node, ast.Lambda) and _calls(one.node.body):
            inline(reading, one, [], {}, node, unknown=True)
    if last[:1].isupper() and keywords and not args:
        made = DictValue(dict(keywords))
        made.kind = last_name(node) or last
        made.line = getattr(node, "lineno", 0)
        made.marked_at = place_of(node)
        made.ordered = True
        made.name = f"{name}()"
        if last.endswith("Message") and "role" not in made.entries and "content" in made.entries:
            made.entries["role"] = Text((), requests.ROLES.get(last, ""))
        return made
    marks_in = merge(*(all_marks(one) for one in (*args, *keywords.values())))
    marks = weaken(marks_in)
    marks = tuple(trace for trace in marks if trace.rule not in ("edit", "switch", "window", "marker"))
    known = any(trace.rule == "per-user-value" and trace.certain for trace in marks_in)
    if known and _looks_up(name, [*args, *keywords.values()]):
        origin = Origin("per-user-value", form=LOOKED_UP, note="it is looked up for the user it is given")
        found = (reading.trace(origin, node),)
        marks = merge(without(marks, ("per-user-value",)), found)
        if last == "execute" and cursor_of(node):
            reading.bind(cursor_of(node), Value(found, cursor_of(node)))
    if marks and _RECALLS.search(last):
        marks = tuple(replace(t, form=RECALLED) if t.rule == "turn" and not t.form else t for t in marks)
    guess = guess_of(last) if not args or all(not all_marks(one) for one in args) else None
    if guess is not None and isinstance(node, ast.Call):
        marks = merge(marks, (reading.trace(guess, node),))
    return Value(marks, f"{name}()" if name else "")


def cursor_of(node: ast.AST) -> str:
    """The name of the cursor a query is run on, which holds what it finds; empty for anything else."""
    base = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return base.id if isinstance(base, ast.Name) and _CURSOR.search(base.id) else ""


def _looks_up(name: str, given: list[Value]) -> bool:
    """Whether a call finds what belongs to a person: by its name, by a table's class, or in a database."""
    classes = [one for one in (*name.split("."), *(one.name for one in given)) if one[:1].isupper()]
    texts = [one.const for one in given if isinstance(one, Text) and isinstance(one.const, str)]
    if any(_SELECTS.search(text) for text in texts):
        return True
    return any(map(tells_of_a_person, (name.rsplit(".", 1)[-1], *classes)))


def _calls(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) or (isinstance(node, ast.Await) and isinstance(node.value, ast.Call))


def inline(
    reading: Reading,
    function: FunctionValue,
    args: list[Value],
    keywords: Mapping[str, Value],
    node: ast.AST,
    *,
    kept: bool = False,
    unknown: bool = False,
) -> Value:
    """Read a function of the module with these arguments; ``unknown`` leaves them to the caller not seen."""
    target = function.node
    if function.given or function.named:
        args, keywords = [*function.given, *args], {**function.named, **keywords}
    if target in reading.calls or len(reading.calls) >= MAX_DEPTH:
        marks = weaken(merge(*(all_marks(one) for one in (*args, *keywords.values()))))
        return Value(marks, getattr(target, "name", ""))
    if not reading.muted:
        reading.read_functions.add(target)
    reading.check_steps()
    if (
        not unknown
        and reading.settled
        and reading.outline.is_silent(target)
        and all(map(is_quiet, (*args, *keywords.values())))
    ):
        return Value((), f"{getattr(target, 'name', '')}()")
    key = _key(reading, function, args, keywords) if not unknown else None
    if key is not None and key in reading.results:
        return copy_of(reading.results[key], reading.stamp)
    quiet = all(map(is_quiet, (*args, *keywords.values())))
    if quiet and reading.quiet_reads.get(target, 0) >= QUIET_READS:
        return Value((), f"{getattr(target, 'name', '')}()")
    idle = reading.idle_reads.get((target, reading.muted), 0)
    if not unknown and idle >= IDLE_READS and reading.steps > reading.outline.patience:
        given = weaken(merge(*(all_marks(one) for one in (*args, *keywords.values()))))
        loops, made_here = reading.loops(), reading.own_marks.get(target, ())
        own = tuple(replace(trace, loops=loops, stamp=reading.stamp) for trace in made_here)
        return Value(merge(own, given), f"{getattr(target, 'name', '')}()")
    told = (len(reading.seen), len(reading.sent), reading.history_edits)
    known = reading.told_so_far()
    made = _read(reading, function, args, keywords, node, kept=kept, unknown=unknown)
    if reading.told_so_far() == known:
        reading.idle_reads[target, reading.muted] = idle + 1
        passed = {trace.key for one in (*args, *keywords.values()) for trace in all_marks(one)}
        own = tuple(t for t in all_marks(made) if t.rule not in MOVES and t.key not in passed)
        reading.own_marks[target] = merge(reading.own_marks.get(target, ()), own)
    if told != (len(reading.seen), len(reading.sent), reading.history_edits) or not _plain(made):
        reading.quiet_reads[target] = 0
    elif key is not None:
        reading.results[key] = copy_of(made, reading.stamp)
    elif quiet:
        reading.quiet_reads[target] = reading.quiet_reads.get(target, 0) + 1
    return made


def _key(
    reading: Reading, function: FunctionValue, args: list[Value], keywords: Mapping[str, Value]
) -> object | None:
    """Under which a call's outcome is remembered; None when it may come out otherwise the next time."""
    if function.closure is not None or not reading.outline.repeats(function.node) or reading.users:
        return None
    given: list[object] = []
    for name, value in (*enumerate(args), *sorted(keywords.items())):
        if type(value) not in (Value, Text) or value.marks or value.owner is not None:
            return None
        const = value.const if isinstance(value, Text) else None
        if not isinstance(const, (str, int, float, bool, type(None))):
            return None
        given.append((name, type(value), value.name, type(const), const))
    written = reading.writes if function.subject is not None or reading.outline.module.shares else 0
    return (function.node, function.subject, written, reading.handlers > 0, tuple(given))


def _plain(value: Value) -> bool:
    """Whether a value holds no trace, and nothing that is shared with others."""
    return not any(
        part.marks or part.owner is not None or isinstance(part, (Instance, FunctionValue))
        for part in parts(value)
    )


def _read(
    reading: Reading,
    function: FunctionValue,
    args: list[Value],
    keywords: Mapping[str, Value],
    node: ast.AST,
    *,
    kept: bool,
    unknown: bool,
) -> Value:
    target = function.node
    decorators = () if isinstance(target, ast.Lambda) else target.decorator_list
    names = {last_name(one) for one in decorators}
    frame = Frame(function.closure)
    bound = [] if function.subject is None or "staticmethod" in names else [function.subject]
    if function.cls is not None and "classmethod" in names and function.subject is None:
        bound = [ClassValue(function.cls)]
    _bind(reading, frame, target, [*bound, *args], keywords, unknown=unknown)
    outer = (reading.frame, reading.per, reading.tests, reading.handlers)
    reading.frame, reading.tests = frame, []
    if kept or names & _CACHES:
        reading.per = "kept"
    reading.calls.append(target)
    try:
        if isinstance(target, ast.Lambda):
            return reading.evaluate(target.body)
        reading.execute(target.body)
        _read_nested(reading, frame)
        made = _returned(reading, frame)
    finally:
        reading.calls.pop()
        reading.frame, reading.per, reading.tests, reading.handlers = outer
    if made is None:
        return Text()
    made = _through(reading, made, getattr(target, "name", ""))
    _ask(reading, function, made, node)
    return written_at(made, node) if isinstance(node, ast.Call) else made


def _ask(reading: Reading, function: FunctionValue, made: Value, node: ast.AST) -> None:
    """What a class looks up for a user is told where others ask it, not where it asks its own database."""
    if function.cls is None or not isinstance(node, ast.Call) or not reading.calls:
        return
    caller = reading.outline.functions.get(reading.calls[-1])
    if caller is None or caller.cls is function.cls:
        return
    line, column = place_of(node)
    for part in parts(made):
        if any(trace.form == LOOKED_UP for trace in part.marks):
            part.marks = tuple(
                replace(t, line=line, column=column, form="", text="", node=node)
                if t.form == LOOKED_UP
                else t
                for t in part.marks
            )


def _returned(reading: Reading, frame: Frame) -> Value | None:
    """What a function returns, one value or the other: which of them may differ from turn to turn."""
    made: Value | None = None
    for value in frame.returned:
        made = value if made is None else join(made, value)
    texts_ = [one.const for one in frame.returned if isinstance(one, Text)]
    differ = made is not None and len(frame.returned) > 1 and len({*map(str, texts_)}) > 1
    if made is not None and differ and frame.switches and type(made) in (Value, Text, Choice):
        certain = not reading.handlers
        switch = reading.trace(Origin("switch", certain=certain), frame.switches[0])
        made = with_marks(made, (switch,))
    return made


def _read_nested(reading: Reading, frame: Frame) -> None:
    """Functions defined in this one that lead to a request and were not called in it: others call them."""
    for one in frame.nested:
        if one.node not in reading.read_functions and reading.outline.leads(one.node) and not reading.muted:
            inline(reading, one, [], {}, one.node, unknown=True)


def _through(reading: Reading, value: Value, name: str) -> Value:
    if value.marks and type(value) in (Value, Text) and name:
        marks = tuple(
            t if len(t.route) >= 6 or name in t.route else t.stepped(f"{name}()") for t in value.marks
        )
        if isinstance(value, Text):
            return Text(marks, value.const)
        return Value(marks, value.name, value.owner, value.place)
    return value


def _bind(
    reading: Reading,
    frame: Frame,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    args: list[Value],
    keywords: Mapping[str, Value],
    *,
    unknown: bool,
) -> None:
    places = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(node.args.defaults))
    defaults += node.args.defaults
    frame.params = frozenset(one.arg for one in (*places, *node.args.kwonlyargs))
    rest = dict(keywords)
    spread = rest.pop("", None)
    pairs = list(zip(places, defaults, strict=True))
    pairs += list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    for position, (place, default) in enumerate(pairs):
        name = place.arg
        if position < len(places) and position < len(args):
            frame.names[name] = args[position]
        elif name in rest:
            frame.names[name] = rest.pop(name)
        elif spread is not None:
            frame.names[name] = Value(weaken(spread.marks), name)
        elif default is not None:
            frame.names[name] = _default(reading, name, place, default, unknown=unknown)
            if isinstance(default, ast.Constant) and not default.value:
                frame.absent.add(name)
        else:
            frame.names[name] = reading.parameter(name, place.annotation)
    if node.args.vararg is not None:
        frame.names[node.args.vararg.arg] = ListValue(args[len(places) :], born=reading.stamp)
    if node.args.kwarg is not None:
        name = node.args.kwarg.arg
        given = DictValue(rest)
        frame.names[name] = given if rest and not unknown else Value((), f"**{name}")


def _default(reading: Reading, name: str, place: ast.arg, default: ast.expr, *, unknown: bool) -> Value:
    outer, reading.per = reading.per, "kept"
    try:
        value = reading.evaluate(default)
    finally:
        reading.per = outer
    if not unknown:
        return value
    if isinstance(value, ListValue) and value.is_set:
        return copy_of(value, reading.stamp)
    marks = all_marks(value)
    plain = reading.parameter(name, place.annotation)
    if marks:
        return Value(weaken(marks), name)
    return plain
