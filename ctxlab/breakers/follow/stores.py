"""Where values are put: names, attributes, items; and what that does to a history that was sent.

Models: assignments, ``del``, markers set on a block, edits of earlier messages.
Does not model: descriptors, ``__setattr__``, ``exec``.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ctxlab.breakers.follow import fallbacks, lists
from ctxlab.breakers.follow.names import last_name
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import (
    HISTORY_RULES,
    MOVES,
    OTHERS,
    ClassValue,
    DictValue,
    Instance,
    ListValue,
    Text,
    Value,
    all_marks,
    is_quiet,
    join,
    merge,
    options,
    place_of,
    routed,
    with_marks,
    written_at,
)


def unpack(reading: Reading, target: ast.expr, value: Value) -> None:
    """Assign ``value`` to a target of any shape."""
    if reading.handlers:
        value = fallbacks.stand_in(value)
    if isinstance(target, ast.Name):
        reading.bind(target.id, routed(value, target.id))
    elif isinstance(target, ast.Attribute):
        _set_attribute(reading, target, value)
    elif isinstance(target, ast.Subscript):
        _set_item(reading, target, value)
    elif isinstance(target, ast.Starred):
        unpack(reading, target.value, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack_items(reading, target.elts, value)


def _unpack_items(reading: Reading, targets: list[ast.expr], value: Value) -> None:
    for option in options(value):
        exact = isinstance(option, ListValue) and not option.open and len(option.items) == len(targets)
        if (
            exact
            and isinstance(option, ListValue)
            and not any(isinstance(one, ast.Starred) for one in targets)
        ):
            for target, item in zip(targets, option.items, strict=True):
                unpack(reading, target, item)
            return
        if isinstance(option, ListValue) and any(isinstance(one, ast.Starred) for one in targets):
            _unpack_starred(reading, targets, option)
            return
    marks = tuple(trace for trace in all_marks(value) if trace.rule not in HISTORY_RULES)
    for target in targets:
        unpack(reading, target, Value(marks, value.name, value.owner, value.place))


def _unpack_starred(reading: Reading, targets: list[ast.expr], value: ListValue) -> None:
    """``first, *others = x`` and ``*earlier, last = x``."""
    at = next(place for place, one in enumerate(targets) if isinstance(one, ast.Starred))
    behind = len(targets) - at - 1
    items = value.items
    rest = ListValue(items[at : len(items) - behind] if behind else items[at:], value.marks, born=value.born)
    rest.open, rest.history, rest.kept, rest.many = value.open, value.history, value.kept, value.many
    rest.owner = value.owner or value
    for place, one in enumerate(targets):
        if place == at:
            unpack(reading, one, rest)
            continue
        key = place if place < at else place - len(targets)
        known = -len(items) <= key < len(items) and (key < 0 or not value.open)
        item = items[key] if known else Value((), "", value, lists.place_of(key))
        unpack(reading, one, item)


def tell(reading: Reading, holder: ast.expr, values: list[Value]) -> None:
    """What is put into a container changes: who reads the attribute or name that holds it has to be read."""
    while isinstance(holder, (ast.Subscript, ast.Call)):
        holder = holder.func if isinstance(holder, ast.Call) else holder.value
    name = "." + holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
    if name[:1] != "." and name not in reading.globals.names:
        return
    if name and name not in reading.outline.loud and not all(map(is_quiet, values)):
        reading.outline.make_loud({name})


def _set_attribute(reading: Reading, target: ast.Attribute, value: Value) -> None:
    base = reading.evaluate(target.value)
    name = target.attr
    reading.writes += 1
    if "." + name not in reading.outline.loud and not is_quiet(value):
        reading.outline.make_loud({"." + name})
    if isinstance(base, Instance):
        known = base.attributes.get(name)
        value = routed(value, f"self.{name}")
        if reading.muted and known is not None:
            value = known if _same_history(reading, name, known) else join(known, value)
        base.attributes[name] = value
    elif isinstance(base, ClassValue):
        reading.globals.names[f"{base.name}.{name}"] = value
    elif isinstance(base, DictValue):
        base.entries[name] = value
    elif base.owner is not None and name in _CONTENT:
        _changed(reading, base, target, value)


def _same_history(reading: Reading, name: str, known: Value) -> bool:
    return isinstance(known, ListValue) and (lists.is_history(known) or reading.is_history_name(name))


_CONTENT = frozenset({"content", "text", "source", "input", "thinking", "output"})


def _set_item(reading: Reading, target: ast.Subscript, value: Value) -> None:
    base = reading.evaluate(target.value)
    if isinstance(target.slice, ast.Slice):
        for one in options(base):
            if isinstance(one, ListValue):
                _set_slice(one, value)
        return
    index = reading.evaluate(target.slice)
    key = index.const if isinstance(index, Text) else None
    tell(reading, target.value, [value, index])
    for one in options(base):
        if isinstance(one, DictValue):
            _set_key(reading, one, key, index, value, target)
        elif isinstance(one, ListValue):
            _set_at(reading, one, key, value, target)
        elif one.owner is not None:
            set_in_item(reading, one, key, target, value)
        elif type(one) is Value and key == "cache_control" and isinstance(target.value, ast.Subscript):
            _mark_inside(reading, target)
        elif type(one) is Value and isinstance(key, str) and isinstance(target.value, ast.Name):
            # a dict from elsewhere: from here on one of its keys is seen
            reading.bind(target.value.id, DictValue({key: value}, [one]))
        elif type(one) is Value and isinstance(target.value, ast.Name) and reading.turns:
            # some key of it, which is not seen
            reading.bind(target.value.id, with_marks(one, reading.edit("edit", target)))


def _mark_inside(reading: Reading, target: ast.Subscript) -> None:
    """A marker on a block of a message whose content is not seen."""
    name = _root(target)
    for message in options(reading.look_up(name)) if name else []:
        content = message.entries.get("content") if isinstance(message, DictValue) else None
        if content is not None and type(content) is Value and isinstance(message, DictValue):
            block = DictValue({"cache_control": Text((), "ephemeral")})
            block.marked_at = place_of(target)
            message.entries["content"] = ListValue([lists.gap(content.marks), block], born=reading.stamp)


def _set_slice(made: ListValue, value: Value) -> None:
    """``x[:] = y`` and the like: the items become those of ``y``, its edits too."""
    if isinstance(value, ListValue):
        made.items = list(value.items)
        made.marks = merge(made.marks, value.marks)
        made.open = made.open or value.open


def _set_key(
    reading: Reading, made: DictValue, key: object, index: Value, value: Value, target: ast.Subscript
) -> None:
    if not isinstance(key, str):
        if OTHERS in made.entries or (isinstance(value, ListValue) and lists.is_history(value)):
            made.entries[OTHERS] = lists.outlives(reading, made, value)
            return
        made.rest.append(Value(merge(all_marks(value), all_marks(index))))
        made.marks = merge(made.marks, tuple(t for t in index.marks if t.elements_of))
        return
    outer = _history_of(reading, target.value)
    if outer is not None:
        owner, place = outer
        if key == "cache_control":
            _marked(reading, owner, value, target)
        elif place != "newest" and key != "role" and not _fresh(value):
            _changed(reading, Value((), "", owner, place), target, value)
    if key == "cache_control" and isinstance(value, Text) and value.const is None and not value.marks:
        made.entries.pop(key, None)
        return
    made.entries[key] = routed(value, key) if key in ("system", "tools") else value
    if key == "cache_control":
        made.marked_at = place_of(target)
        made.unsure = any(reading.varies(test) for test in reading.tests)


def _set_at(reading: Reading, made: ListValue, key: object, value: Value, target: ast.Subscript) -> None:
    known = len(made.items)
    moved = not made.kept and not (_is_another(value) and _grows_here(reading, target.value))
    moved = moved or (not made.kept and _is_moved(made, value))
    if lists.is_system(value) and _is_another(value):
        # told of the system prompt, where it is written anew
        moved = True
        _written_at(value, target)
    at = key if isinstance(key, int) and -known <= key < known and (not made.open or key < 0) else None
    if at is not None:
        made.items[at] = value
    elif made.open and key == 0:
        made.items.insert(0, value)
        made.items.insert(1, lists.gap())
        made.open = False
    if not lists.is_history(made):
        made.marks = merge(made.marks, reading.edit("edit", target, note="end" if key == -1 else ""))
    elif key != -1 and not _fresh(value) and not moved:
        _changed(reading, Value((), "", made, lists.place_of(key)), target, value)
        # words an earlier turn has changed are others than those it has sent
        since = [trace.stamp for trace in all_marks(value) if trace.rule in MOVES and reading.again(trace)]
        if since:
            made.marks = tuple(
                replace(one, stamp=since[0]) if one.rule == "changed" and one.stamp == reading.stamp else one
                for one in made.marks
            )
    marked = lists.marker_of(value)
    if marked is not None and key != 0:
        made.marked, made.marked_at = True, marked
        made.marks = merge(made.marks, lists.marker(reading, target, marked))


def _is_moved(made: ListValue, value: Value) -> bool:
    """Whether a value is an item of the list it is put into: another place for it, nothing new."""
    return all(one.owner is made or any(one is item for item in made.items) for one in options(value))


def _written_at(value: Value, target: ast.AST) -> None:
    if isinstance(value, DictValue):
        value.entries = {key: written_at(one, target) for key, one in value.entries.items()}


def _grows_here(reading: Reading, name: ast.expr) -> bool:
    """Whether the loop one is in adds to a list: else its one slot is what each request asks anew."""
    loop = reading.turns[-1].scope if reading.turns else None
    text = ast.unparse(name)
    for node in ast.walk(loop.node) if loop is not None else ():
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == text:
            return True
        if not isinstance(node, ast.Call):
            continue
        grown = isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend", "insert")
        if grown and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == text:
            return True
        if any(isinstance(one, ast.Name) and one.id == text for one in node.args):
            return True
    return False


def _is_another(value: Value) -> bool:
    """Whether the next turn writes something else: the same words again change nothing."""
    return any(trace.rule in MOVES for trace in all_marks(value))


def _fresh(value: Value) -> bool:
    """Whether what is written changes by itself, so that its own trace tells of it."""
    return any(trace.rule in ("clock", "random-value") for trace in all_marks(value))


def set_in_item(
    reading: Reading, item: Value, key: object, target: ast.AST, value: Value | None = None
) -> None:
    """A key of an item of a list is set: a marker, or an edit of the history."""
    if item.owner is None:
        return
    if key == "cache_control":
        _marked(reading, item.owner, None, target)
    elif item.place != "newest" and key != "role":
        _changed(reading, item, target, value)


def _marked(reading: Reading, owner: ListValue, value: Value | None, target: ast.AST) -> None:
    if isinstance(value, Text) and value.const is None and not value.marks:
        return
    owner.marked, owner.marked_at = True, place_of(target)
    owner.marks = merge(owner.marks, lists.marker(reading, target))


def _moves(reading: Reading, value: Value | None, target: ast.AST) -> bool:
    """Whether an edit in a loop over the history depends on what is another thing each turn: age, a count."""
    if value is not None and any(trace.rule in ("turn", "switch") for trace in all_marks(value)):
        return True
    tests = list(reading.tests)
    for node, frame in reading.plain:
        if frame is reading.frame:
            tests += [one.test for one in ast.walk(node) if isinstance(one, (ast.If, ast.IfExp, ast.While))]
    tests = [part for test in tests for part in _conjuncts(test)]
    return any(
        trace.rule == "turn" and (trace.form != "length" or _asks_age(reading, test, target))
        for test in tests
        for trace in reading.test_marks(test)
    )


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _root(node: ast.AST) -> str:
    """The name an edit begins at: ``block`` of ``block["content"]``."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_of(reading: Reading, test: ast.expr, subject: str) -> bool:
    """Whether a size that is asked for is that of the edited item, or one a session soon has."""
    asked = subject not in ("", "self") and subject in reading.mentions(test).names
    if asked and not any(isinstance(one, ListValue) for one in options(reading.look_up(subject))):
        return True
    limit = lists.limit_of(reading, test)
    return limit is not None and limit <= _SOON


_SOON = 12
"""As many messages as every session has after some turns."""


def _asks_age(reading: Reading, test: ast.expr, target: ast.AST) -> bool:
    """Whether a condition compares the place of the edited item with the length of its list."""
    text = ast.unparse(test)
    if "len(" in text and not re.search(r"len\(.*-|- *len\(", text):
        return False
    loop = reading.plain[-1][0] if reading.plain else None
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return True
    places = {one.id for node in (loop.target, target) for one in ast.walk(node) if isinstance(one, ast.Name)}
    sizes = [one for one in ast.walk(test) if isinstance(one, ast.Call) and last_name(one.func) == "len"]
    measured = {id(part) for one in sizes for part in ast.walk(one)}
    asked = [one for one in ast.walk(test) if isinstance(one, ast.Name) and id(one) not in measured]
    return any(one.id in places for one in asked)


def _changed(reading: Reading, item: Value, target: ast.AST, value: Value | None = None) -> None:
    """An item of a history is edited: certain when it is an earlier one."""
    if item.owner is None:
        return
    ages = any("len(" in ast.unparse(test) and _asks_age(reading, test, target) for test in reading.tests)
    ages = ages or _moves(reading, value, target)
    subject = _root(target)
    sized = any(lists.is_size(test) and not _is_of(reading, test, subject) for test in reading.tests)
    certain = ages if item.place != "earlier" else not sized or ages
    certain = certain and not reading.takes_markers_off()
    if not item.owner.kept and reading.plain and (ages or item.place == "earlier"):
        # a copy for this request only: the next one leaves another message as it was
        made = reading.edit("rebuilt", target, certain=certain)
        item.owner.marks = merge(item.owner.marks, made)
    item.owner.marks = merge(item.owner.marks, reading.edit("changed", target, certain=certain))


def _history_of(reading: Reading, node: ast.expr) -> tuple[ListValue, str] | None:
    """The history an item of which ``node`` names, and which item: ``messages[0]["content"]``."""
    while isinstance(node, ast.Subscript):
        base = reading.evaluate(node.value)
        if not isinstance(node.slice, ast.Slice):
            for one in options(base):
                if isinstance(one, ListValue) and lists.is_history(one):
                    index = reading.evaluate(node.slice)
                    key = index.const if isinstance(index, Text) else None
                    return one, lists.place_of(key)
        node = node.value
    return None


def delete(reading: Reading, target: ast.expr) -> None:
    """``del target``."""
    if isinstance(target, ast.Name):
        reading.frame.names.pop(target.id, None)
        return
    if not isinstance(target, ast.Subscript):
        return
    base = reading.evaluate(target.value)
    for one in options(base):
        if isinstance(one, DictValue) and not isinstance(target.slice, ast.Slice):
            index = reading.evaluate(target.slice)
            if isinstance(index, Text) and isinstance(index.const, str):
                one.entries.pop(index.const, None)
        elif isinstance(one, ListValue):
            _delete_from(reading, one, target)


def _delete_from(reading: Reading, made: ListValue, target: ast.Subscript) -> None:
    if isinstance(target.slice, ast.Slice):
        last = reading.evaluate(target.slice.upper) if target.slice.upper is not None else None
        keep = last.const if isinstance(last, Text) else None
        if target.slice.lower is None or _is_zero(target.slice.lower):
            small = isinstance(keep, int) and 0 < keep <= 4
            marks = lists.window(reading, target, None if small else keep)
            made.marks = merge(made.marks, reading.edit("removed", target) if small else marks)
        return
    index = reading.evaluate(target.slice)
    key = index.const if isinstance(index, Text) else None
    if key != -1 and not (isinstance(key, int) and key < 0):
        rule_certain = isinstance(key, int)
        if rule_certain:
            lists.removed(reading, made, target, first=key)
        else:
            made.marks = merge(made.marks, reading.edit("removed", target, certain=False))
    elif made.items:
        made.items.pop()


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def grown(reading: Reading, value: Value, node: ast.AST) -> Value:
    """A value that is made from what it was before: the next turn has another one."""
    return with_marks(value, reading.edit("edit", node)) if reading.turns else value
