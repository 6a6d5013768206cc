"""What differs between two blocks, value by value, and which kind of breaker each difference is.

Models: the values two JSON objects do not share, by path; keys in another order; arrays that only list a set
(``required``, ``enum`` of strings, ``type``, lists of domains) against arrays whose order says something;
texts that differ in a volatile span, in the order of the same words, or in the keys of JSON inside them.
Does not model: where blocks stand (:mod:`ctxlab.breakers.aligned`).
Source: JSON Schema 2020-12 for which arrays are sets; public reports, 2025-08 to 2026-05, for what varies.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple

from ctxlab.breakers.changes import changed_spans, shared_ends
from ctxlab.breakers.finding import Finding, finding
from ctxlab.breakers.spans import fix_of
from ctxlab.prompt import Block, Segment

LeafKind = Literal["value", "keys", "set-order", "array-order"]

#: Keys whose array lists a set: the order of its items says nothing.
SET_LIKE = frozenset({"required", "enum", "type", "allowed_domains", "blocked_domains", "allowed_callers"})
_MOST_LEAVES = 200
_SHOWN_CHARS = 60
_MOST_CHARS = 500_000  # beyond, the words of a text are not put in order
_CHANGED: dict[Segment, str] = {
    "tools": "tools-changed",
    "system": "system-changed",
    "messages": "history-changed",
}
_FIX = {
    "tools": "send the same definitions all session long",
    "system": "put what changes behind the last breakpoint, as a message",
    "messages": "append instead of editing what was sent",
}


class Leaf(NamedTuple):
    """One place where two values differ; ``at_char`` counts into a text that both sides have."""

    path: str
    kind: LeafKind
    before: Any
    after: Any
    at_char: int | None = None


def block_findings(old: Block, new: Block, *, sorted_schemas: bool) -> list[Finding]:
    """What makes ``new`` another block than ``old``, which stood in its place: one finding per kind."""
    if old.type != new.type:
        told = f"a {new.type} block stands where a {old.type} block stood"
        return [_changed(new, new.path, told)]
    found = list(_leaves_of(old, new))
    if sorted_schemas:
        found = [leaf for leaf in found if leaf.kind != "keys"]
    findings: dict[str, Finding] = {}
    for leaf in found:
        for one in _of_leaf(leaf, new):
            findings.setdefault(one.rule, one)
    if not findings:
        told = f"the same content, said by {new.role} instead of {old.role}"
        return [_changed(new, new.path, told)]
    return list(findings.values())


def _leaves_of(old: Block, new: Block) -> Iterator[Leaf]:
    one, other = json.loads(old.wire_bytes), json.loads(new.wire_bytes)
    if new.path == "system" or new.path.endswith(".content"):  # a bare string stands for its text
        one, other = one.get("text"), other.get("text")
    yield from islice(leaves(one, other, new.path, sets=new.segment == "tools"), _MOST_LEAVES)


def leaves(one: Any, other: Any, path: str, *, sets: bool, key: str = "") -> Iterator[Leaf]:
    """Every place where two JSON values differ, in the order of the second.

    ``sets`` says that the values are part of a tool definition, where some arrays only list a set.

    >>> [leaf.path for leaf in leaves({"a": 1, "b": [2, 3]}, {"a": 1, "b": [2, 4]}, "x", sets=False)]
    ['x.b[1]']
    """
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other) and one.keys() == other.keys():
            yield Leaf(path, "keys", list(one), list(other))
        for name in [*other, *(name for name in one if name not in other)]:
            if name not in one or name not in other:
                yield Leaf(f"{path}.{name}", "value", one.get(name), other.get(name))
            else:
                yield from leaves(one[name], other[name], f"{path}.{name}", sets=sets, key=name)
    elif isinstance(one, list) and isinstance(other, list):
        yield from _items(one, other, path, sets, key)
    elif isinstance(one, str) and isinstance(other, str):
        if one != other:
            yield Leaf(path, "value", one, other, shared_ends(one, other)[0])
    elif type(one) is not type(other) or one != other:
        yield Leaf(path, "value", one, other)


def _items(one: list[Any], other: list[Any], path: str, sets: bool, key: str) -> Iterator[Leaf]:
    if one == other and _sent(one) == _sent(other):
        return
    if one != other and Counter(map(_sorted, one)) == Counter(map(_sorted, other)):
        yield Leaf(path, "set-order" if sets and is_set_like(key, other) else "array-order", one, other)
        return
    for i, (x, y) in enumerate(zip(one, other, strict=False)):
        yield from leaves(x, y, f"{path}[{i}]", sets=sets)
    shared = min(len(one), len(other))
    if len(one) != len(other):
        place = f"{path}[{shared}]"
        yield Leaf(place, "value", (one[shared:] or [None])[0], (other[shared:] or [None])[0])


def is_set_like(key: str, items: list[Any]) -> bool:
    """Whether an array under this key of a tool definition only lists a set of words.

    >>> is_set_like("required", ["path", "mode"]), is_set_like("examples", ["a", "b"])
    (True, False)
    """
    return key in SET_LIKE and all(isinstance(item, str) for item in items)


def _sorted(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _sent(value: Any) -> str:
    return json.dumps(value)


def _text(value: Any) -> str | None:
    """The text of a string or of a list that holds one text block, None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        block = value[0]
        return block["text"] if block.keys() == {"type", "text"} and isinstance(block["text"], str) else None
    return None


def _of_leaf(leaf: Leaf, block: Block) -> list[Finding]:
    if leaf.kind == "keys":
        fix = "build it in one order, or dump it with sort_keys=True"
        told = f"the same keys in another order: {_listed(leaf.before)} became {_listed(leaf.after)}"
        return [finding("key-order", leaf.path, told, fix=fix, certainty="confirmed")]
    if leaf.kind == "set-order":
        is_enum = leaf.path.endswith(".enum")  # its order may say something to the model, so it is only kept
        what, fix = ("values", "send them in one order") if is_enum else ("set", "sort it")
        told = f"the same {what} in another order: {_listed(leaf.before)} became {_listed(leaf.after)}"
        return [finding("array-order", leaf.path, told, fix=fix, certainty="confirmed")]
    if block.type == "tool_result" and _text(leaf.before) == _text(leaf.after) is not None:
        told = "the same text, once as a string and once as a block; nobody says whether that is one prefix"
        return [finding(_CHANGED[block.segment], leaf.path, told, fix="send it in one form")]
    if leaf.kind == "array-order":
        told = "the same items in another order, and this order says something"
        return [_changed(block, leaf.path, told)]
    if isinstance(leaf.before, str) and isinstance(leaf.after, str):
        return _of_texts(leaf, leaf.before, leaf.after, block)
    return [_changed(block, leaf.path, f"{_short(leaf.before)} became {_short(leaf.after)}")]


def _of_texts(leaf: Leaf, before: str, after: str, block: Block) -> list[Finding]:
    changes = changed_spans(before, after)
    if changes is not None:
        by_rule = {change.rule: change for change in reversed(changes)}
        return [
            finding(
                change.rule,
                leaf.path,
                f"{change.before} became {change.after} at character {leaf.at_char}: "
                f"it changes {change.changes}",
                fix=fix_of(change.rule),
                certainty="confirmed",
                evidence=f"{change.before} → {change.after}",
            )
            for change in by_rule.values()
        ]
    at_char = leaf.at_char or 0
    shown = f"{_excerpt(before, at_char)} became {_excerpt(after, at_char)}"
    alike = len(before) == len(after) <= _MOST_CHARS
    if alike and _json_sorted(before) == _json_sorted(after):
        fix, told = "dump it with sort_keys=True", f"JSON in the text has its keys in another order: {shown}"
        return [finding("key-order", leaf.path, told, fix=fix, certainty="confirmed", evidence=shown)]
    if alike and _words(before) == _words(after):
        told = f"the same words in another order: {shown}"
        fix = "sort what is listed before it is written"
        return [finding("set-order", leaf.path, told, fix=fix, certainty="confirmed", evidence=shown)]
    return [_changed(block, leaf.path, f"differs from character {at_char} on: {shown}", shown)]


def _words(text: str) -> Counter[str]:
    return Counter("".join(char if char.isalnum() else " " for char in text).split())


def _json_sorted(text: str) -> str:
    """The text with every JSON object in it dumped with sorted keys."""
    decoder, out, at = json.JSONDecoder(), [], 0
    while (start := text.find("{", at)) >= 0:
        out.append(text[at:start])
        try:
            value, at = decoder.raw_decode(text, start)
            out.append(_sorted(value))
        except (ValueError, RecursionError):
            out.append("{")
            at = start + 1
    return "".join([*out, text[at:]])


def _changed(block: Block, path: str, told: str, evidence: str = "") -> Finding:
    rule, fix = _CHANGED[block.segment], _FIX[block.segment]
    return finding(rule, path, told, fix=fix, certainty="confirmed", evidence=evidence)


def _listed(names: list[Any]) -> str:
    return _cut(", ".join(map(str, names)))


def _short(value: Any) -> str:
    return "nothing" if value is None else _cut(_sent(value))


def _excerpt(text: str, at_char: int) -> str:
    start = max(0, at_char - 12)
    shown = ("…" if start else "") + text[start : start + _SHOWN_CHARS].replace("\n", "⏎")
    return f"'{_cut(shown)}'"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
