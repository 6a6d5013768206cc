"""What becomes of lists: joined, cut, walked over, and edited where they hold the history.

Models: the order of items as far as it is seen, and edits of a list that was sent before.
Does not model: how long a list is at run time.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ctxlab.breakers.follow import texts
from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.reading import HISTORY_NAME, Reading
from ctxlab.breakers.follow.values import (
    HISTORY_RULES,
    ORDERS,
    Choice,
    DictValue,
    Instance,
    ListValue,
    Marks,
    Text,
    Value,
    all_marks,
    folded,
    join,
    kept_list,
    merge,
    options,
    parts,
    with_marks,
    without,
)
from ctxlab.breakers.follow.volatile import Origin

NEWEST, EARLIER = "newest item", "earlier item"
"""What an index is known to name when its number is not."""

_SIZE = re.compile(r"\blen\(|token|size|count|chars|length|limit|max_", re.IGNORECASE)


def gap(marks: Marks = ()) -> Value:
    """Items that are not seen, between others."""
    return Value(marks, "*")


def place_of(key: object) -> str:
    """Which item an index names."""
    if key in (-1, NEWEST):
        return "newest"
    return "earlier" if isinstance(key, int) or key == EARLIER else ""


def is_history(value: Value) -> bool:
    """Whether a value is a list of messages."""
    if isinstance(value, ListValue):
        return value.history or any(
            "role" in one.entries for one in value.items if isinstance(one, DictValue)
        )
    return bool(HISTORY_NAME.match(value.name.rsplit(".", 1)[-1]))


def is_system(value: Value) -> bool:
    """Whether a value is a message of the system or the developer."""
    role = value.entries.get("role") if isinstance(value, DictValue) else None
    return isinstance(role, Text) and role.const in ("system", "developer")


def concatenated(made: ListValue, value: Value, reading: Reading, node: ast.AST | None = None) -> ListValue:
    """``made`` with the items of ``value`` behind its own; ``node`` is where a set gets an order."""
    if isinstance(value, Choice):
        picked = [one for one in value.options if isinstance(one, ListValue)]
        value = max(picked, key=lambda one: len(one.items)) if picked else Value(all_marks(value))
    if isinstance(value, ListValue):
        if value.open or value.history:
            made.history = made.history or value.history
            made.kept = made.kept or value.kept
            made.marked = made.marked or value.marked
            made.marked_at = value.marked_at if value.marked else made.marked_at
        if value.open and made.items:
            made.items.append(gap())
        elif value.open:
            made.open = True
        orders = texts.set_order(reading, value, node) if node is not None else ()
        made.items += value.items
        reading.steps += len(value.items)
        if value.many and not value.is_set and is_history(value):
            made.items.append(gap())
        folded(made)
        made.many = made.many or (value.many and (made.is_set or value.is_set))
        made.marks = merge(made.marks, value.marks, orders)
    elif isinstance(value, DictValue):
        made.items += [Text((), key) for key in value.entries]
    else:
        marks = value.marks
        if made.items or marks:
            made.items.append(gap(marks))
        else:
            made.open = True
        if is_history(value):
            made.history = made.kept = True
    return made


def added(reading: Reading, left: Value, right: Value) -> Value:
    """``left + right``."""
    if isinstance(left, Choice) and any(isinstance(one, ListValue) for one in left.options):
        left = next(one for one in left.options if isinstance(one, ListValue))
    if isinstance(left, ListValue) or isinstance(right, ListValue):
        made = ListValue([], born=reading.stamp)
        return concatenated(concatenated(made, left, reading), right, reading)
    marks = merge(all_marks(left), all_marks(right))
    one, other = getattr(left, "const", None), getattr(right, "const", None)
    if isinstance(one, str) and isinstance(other, str):
        return Text(marks, one + other)
    return Text(marks) if isinstance(left, Text) or isinstance(right, Text) else Value(marks)


def is_set_like(value: Value) -> bool:
    """Whether ``&``, ``-`` and ``^`` on a value are those of sets: a set, or the keys of a dict."""
    return isinstance(value, ListValue) or value.name.endswith((".keys()", ".items()"))


def picked(reading: Reading, left: Value, right: Value, *, both: bool) -> ListValue:
    """The set that is left over of ``left``, or of ``left`` and ``right``: their order is not kept."""
    made = ListValue([], born=reading.stamp, is_set=True)
    for one in (left, right) if both else (left,):
        if isinstance(one, ListValue):
            made.items += one.items
            made.marks = merge(made.marks, texts.sorted_marks(one.marks))
            made.many, made.open = made.many or one.many, made.open or one.open
        else:
            made.items.append(Value(texts.sorted_marks(all_marks(one)), f"{one.name}[]"))
            made.many = True
    return made


def united(reading: Reading, left: Value, right: Value, node: ast.AST) -> Value:
    """``left | right``: of sets or of dicts."""
    if is_set_like(left) or is_set_like(right):
        made = picked(reading, left, right, both=True)
        made.marks = merge(made.marks, without(all_marks(right), ORDERS))
        return made
    made_dict = DictValue({})
    spread(made_dict, left)
    spread(made_dict, right)
    return made_dict


def outlives(reading: Reading, holder: DictValue, value: Value) -> Value:
    """A list put into a dict which other calls find again: it is kept, with items that are not seen."""
    subject = reading.frame.names.get("self")
    held = [*reading.globals.names.values(), *getattr(subject, "attributes", {}).values()]
    if isinstance(value, ListValue) and not value.kept and any(one is holder for one in held):
        value.kept = True
        if not value.items:
            value.open = value.history = True
    return value


def spread(made: DictValue, value: Value) -> None:
    """Merge the keys of ``value`` into ``made``."""
    for option in options(value):
        if isinstance(option, DictValue):
            made.entries.update(option.entries)
            if "cache_control" in option.entries:
                made.marked_at = option.marked_at
            made.rest += option.rest
            made.marks = merge(made.marks, option.marks)
        elif not (isinstance(option, Text) and not option.marks):
            made.rest.append(option)


def sliced(reading: Reading, base: Value, cut: ast.Slice, node: ast.AST) -> Value:
    """``base[lower:upper]``."""
    lower = reading.evaluate(cut.lower) if cut.lower is not None else None
    upper = reading.evaluate(cut.upper) if cut.upper is not None else None
    first = lower.const if isinstance(lower, Text) else None
    last = upper.const if isinstance(upper, Text) else None
    if isinstance(base, Choice):
        base = next((one for one in base.options if isinstance(one, ListValue)), base)
    if not isinstance(base, ListValue):
        if isinstance(base, Text):
            return Text(texts.cut(base.marks, first, last))
        if _of_history(base, node) and _from_the_end(cut, lower):
            result = kept_list()
            result.marks = window(reading, node, first)
            return result
        return Value(texts.cut(all_marks(base), first, last), base.name, base.owner, base.place)
    result = ListValue([], base.marks, born=reading.stamp, is_set=False)
    result.history, result.kept, result.marked = base.history, base.kept, base.marked
    result.marked_at = base.marked_at
    result.many = base.many
    result.owner = base.owner or base
    exact = cut.step is None and (cut.lower is None or isinstance(first, int))
    exact = exact and (cut.upper is None or isinstance(last, int)) and not base.open
    if exact:
        result.items = base.items[
            first if isinstance(first, int) else None : last if isinstance(last, int) else None
        ]
    else:
        result.items = list(base.items)
        if last == -1 and result.items:
            result.items = result.items[:-1]
        result.open = base.open
    if (
        _of_history(base, node)
        and _from_the_end(cut, lower)
        and (base.open or base.kept or _grows(reading, base) or any(one.name == "*" for one in base.items))
    ):
        result.open = True
        result.marks = merge(result.marks, window(reading, node, first))
    if last == -1 or (isinstance(last, int) and last < 0):
        result.place = "earlier"
    return result


def _of_history(base: Value, node: ast.AST) -> bool:
    """Whether a slice is one of a history, by what it holds or by the name it has."""
    named = last_name(node.value) if isinstance(node, ast.Subscript) else ""
    return is_history(base) or HISTORY_NAME.match(named) is not None


def _grows(reading: Reading, base: ListValue) -> bool:
    return any(not turn.entry and base.born < turn.first for turn in reading.turns)


def _from_the_end(cut: ast.Slice, lower: Value | None) -> bool:
    """Whether a slice keeps the last items: ``[-n:]`` or ``[len(x) - n:]``, but not the newest alone."""
    if cut.upper is not None or cut.lower is None:
        return False
    first = lower.const if isinstance(lower, Text) else None
    if isinstance(first, int):
        return first < -1
    node = cut.lower
    while isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Sub):
        node = node.left
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return True
    return isinstance(node, ast.BinOp) or (lower is not None and lower.name == LEFT)


LENGTH = "length"
LEFT = "length less some"
"""What a number is called that is the length of a list less some: where its last items begin."""


def is_size(test: ast.expr) -> bool:
    """Whether a condition asks how much there is."""
    return _SIZE.search(ast.unparse(test)) is not None


def window(reading: Reading, node: ast.AST, keep: object = None) -> Marks:
    """The trace of a window that slides over the history; a rare, large cut is not certain to be one."""
    certain = True
    for test in reading.tests:
        if is_size(test):
            limit = limit_of(reading, test)
            size = abs(keep) if isinstance(keep, (int, float)) else None
            certain = limit is not None and size is not None and limit <= size * 1.25 + 1
    return reading.edit("window", node, certain=certain)


def limit_of(reading: Reading, test: ast.expr) -> float | None:
    """The number a length is compared with, None where none is written out."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and "len(" in ast.unparse(node):
            for side in (node.left, *node.comparators):
                value = reading.evaluate(side)
                if isinstance(value, Text) and isinstance(value.const, (int, float)):
                    return value.const
    return None


def counted(reading: Reading, values: list[Value], node: ast.AST) -> Marks:
    """The trace of a count over a history, which is another number each turn; none for other lists."""
    for one in values:
        if isinstance(one, ListValue) and (one.history or (one.owner is not None and is_history(one.owner))):
            return (reading.trace(Origin("turn", form="count"), node),)
    return ()


def orders_of(reading: Reading, over: Value, node: ast.AST) -> Marks:
    """The traces of the order in which a loop hands out the items of ``over``."""
    orders = texts.set_order(reading, over, node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else node)
    return merge(orders, tuple(trace for trace in over.marks if trace.rule in ORDERS))


def element_of(reading: Reading, over: Value, node: ast.AST, loop: int) -> Value:
    """What a loop over ``over`` hands out; where the order varies, its traces say of which loop."""
    marks = tuple(replace(trace, elements_of=loop) for trace in orders_of(reading, over, node))
    rest = without(over.marks, (*ORDERS, *HISTORY_RULES)) if type(over) is not DictValue else ()
    if isinstance(over, ListValue):
        if over.history or not over.items:
            return Value(marks, "", over.owner or over, over.place)
        made = over.items[0]
        for item in over.items[1:8]:
            made = join(made, item)
        return with_marks(_own(made) if marks else made, merge(marks, rest))
    if isinstance(over, Choice):
        return Value(merge(all_marks(over)), "")
    if isinstance(over, DictValue):
        return Text(merge(marks, *(one.marks for one in over.rest)))
    if over.name == EARLIER:
        return Text((), EARLIER)
    name = over.name.rsplit(".", 1)[-1]
    singular = f"{name}[]" if name else ""
    return Value(merge(marks, rest), singular, over.owner, over.place)


def _own(value: Value) -> Value:
    """The value as one that can be marked without marking where it came from."""
    if isinstance(value, (DictValue, ListValue)):
        return Choice([value])
    return value


def _said(value: Value) -> Value:
    """What is put into a list that is kept: this turn's text, which stays as it is in later turns."""
    marks = without(value.marks, ("turn",))
    if type(value) is Text:
        return Text(marks, value.const, value.name)
    if type(value) is Value:
        return Value(marks, value.name, value.owner, value.place)
    if type(value) is ListValue and value.inline is False and any(one.marks for one in value.items):
        made = ListValue([_said(one) for one in value.items], marks, born=value.born, is_set=value.is_set)
        made.open, made.many, made.kept, made.history = value.open, value.many, value.kept, value.history
        return made
    return value


def _settled(value: Instance) -> Instance:
    """An object put into a list that goes on: what its fields were given then stays as it was."""
    fields = {name: _said(one) for name, one in value.attributes.items()}
    for one in fields.values():
        if type(one) in (Value, Text) and one.marks:
            one.marks = tuple(replace(trace, per="kept") for trace in one.marks)
    return Instance(value.outline, fields)


def appended(reading: Reading, made: ListValue, value: Value, node: ast.AST, *, front: bool = False) -> None:
    """An item is added to a list, in place."""
    if made.kept:
        reading.writes += 1
    if reading.growing:
        reading.growing[-1].append(made)
    if isinstance(value, DictValue):
        value.stored = True
        value.frozen = value.frozen or made.kept or _grows(reading, made)
        if "role" in value.entries:
            made.history = True
    elif isinstance(value, Instance) and (made.kept or _grows(reading, made)):
        value = _settled(value)
    elif made.kept:
        value = _said(value)
    if front and made.is_set is False:
        if made.items or made.open or made.kept:
            made.marks = merge(made.marks, reading.edit("injected", node))
        made.items.insert(0, value)
        made.open = False if not made.open else made.open
    else:
        made.items.append(value)
    reading.steps += 1
    folded(made)
    if (marked := marker_of(value)) is not None:
        made.marked, made.marked_at = True, marked
        made.marks = merge(made.marks, marker(reading, node, marked, value))
    elif not made.is_set and not made.history and (reading.turns or reading.method):
        made.marks = merge(made.marks, reading.edit("edit", node, note="end"))
    orders = tuple(trace for trace in value.marks if trace.rule in ORDERS)
    made.marks = merge(made.marks, orders, *reading.users)


def marker(
    reading: Reading, node: ast.AST, at: tuple[int, int] = (0, 0), block: Value | None = None
) -> Marks:
    """The trace of a marker added to the history; under a condition that varies it may be added once.

    ``at`` is where the marker was set, where that is not ``node``, which adds it.
    """
    certain = not any(reading.varies(test) for test in reading.tests)
    for one in parts(block) if block is not None else ():
        if isinstance(one, DictValue) and "cache_control" in one.entries:
            # remembered for the list this block or message is added to later
            one.unsure = one.unsure or not certain
            certain = not one.unsure
    return tuple(replace(trace, at=at) for trace in reading.edit("marker", node, certain=certain))


def marker_of(value: Value) -> tuple[int, int] | None:
    """Where a message or block that carries a marker anywhere got it; None where there is none."""
    return next(
        (
            one.marked_at
            for one in parts(value)
            if isinstance(one, DictValue) and "cache_control" in one.entries
        ),
        None,
    )


def removed(reading: Reading, made: ListValue, node: ast.AST, *, first: object = 0) -> None:
    """An earlier item of a list is taken out, in place."""
    made.marks = merge(made.marks, reading.edit("removed", node))
    if (
        isinstance(first, int)
        and made.items
        and not made.open
        and -len(made.items) <= first < len(made.items)
    ):
        made.items = [item for at, item in enumerate(made.items) if at != first % len(made.items)]


def sorted_list(value: Value, born: int) -> Value:
    """``sorted(value)``: the same items in an order that does not vary."""
    if isinstance(value, ListValue):
        made = ListValue(
            [_unordered(item) for item in value.items], texts.sorted_marks(value.marks), born=born
        )
        made.open, made.many = value.open, value.many
        return made
    if isinstance(value, DictValue):
        return ListValue([Text((), key) for key in sorted(value.entries)], born=born)
    return Value(texts.sorted_marks(all_marks(value)), "sorted()")


def _unordered(value: Value) -> Value:
    if isinstance(value, Text):
        return Text(texts.sorted_marks(value.marks), value.const)
    if isinstance(value, ListValue):
        made = ListValue([_unordered(item) for item in value.items], texts.sorted_marks(value.marks))
        return made
    if isinstance(value, Choice):
        return Choice([_unordered(one) for one in value.options], texts.sorted_marks(value.marks))
    if type(value) is Value:
        return Value(texts.sorted_marks(value.marks), value.name, value.owner, value.place)
    return value


def shuffle(reading: Reading, value: Value, node: ast.AST) -> None:
    """``random.shuffle(value)``."""
    origin = Origin("shuffled")
    if isinstance(value, ListValue):
        value.marks = merge(value.marks, (reading.trace(origin, node),))
        return
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(given, ast.Name) and type(value) is Value:
        reading.bind(given.id, with_marks(value, (reading.trace(origin, node),)))
