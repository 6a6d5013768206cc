"""Two requests of a client: are they of one conversation, and where does the later one part from the earlier.

Models: how closely two requests are related; the predecessor among those remembered; the first difference in
render order and its kind; a history that was cut, trimmed or summarised against one that was edited.
Does not model: which entries there were (:mod:`ctxlab.diagnose.judging`).
Source: own construction. Naive rules cry wolf where a client's calls are of several conversations, and where
rewinds and summaries look like edits (public reports of 2026-08 and 2026-09).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ctxlab import breakers
from ctxlab.breakers.changes import Change, changed_spans, shared_ends
from ctxlab.cache import Tier
from ctxlab.diagnose.record import Record
from ctxlab.diagnose.sketch import Sketch
from ctxlab.diagnose.verdicts import Cause
from ctxlab.effective import THINKING
from ctxlab.prompt import Block, Difference, Segment, first_difference

Relation = Literal["same conversation", "same beginning", "none"]

_CODES = {breaker.rule: breaker.code for breaker in breakers.BREAKERS.values()}
_CHANGED: Mapping[Tier, str] = {
    "tools": _CODES["tools-changed"],
    "system": _CODES["system-changed"],
    "messages": _CODES["history-changed"],
}
#: Findings of :func:`ctxlab.breakers.compare` that are not about bytes.
_SETTINGS = frozenset({_CODES["model-switch"], _CODES["parameter-changed"]})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A request against the one it is compared with.

    ``shared`` positions are the same. ``cause`` says where and how they part, ``parts_at`` in which segment;
    both are None where the later one only goes on. ``at_the_end``: both end in the message that differs, and
    not by a clock or the like; ``edited``: where they part stand two versions of one text. ``difference`` is
    None where a text is missing.
    """

    earlier: Record
    relation: Relation
    shared: int
    cause: Cause | None
    parts_at: Segment | None
    at_the_end: bool
    edited: bool
    difference: Difference | None


def predecessor(now: Record, earlier: Iterable[Record]) -> Comparison | None:
    """The comparison with the request that ``now`` most likely goes on from; None without any.

    One that it holds whole, with one answer more at most, comes first; then the one whose messages it shares
    most; among equals the longest common prefix, then the same model and parameters, then the latest.
    """
    sketch = now.sketch
    if sketch is None:
        return None
    best: tuple[bool, int, int, bool, int] = (False, -1, 0, False, 0)
    found: Record | None = None
    for record in earlier:
        if record.sketch is None or record.conversation != now.conversation:
            continue
        shared = sketch.shared(record.sketch)
        goes_on = shared == len(record.sketch) and sketch.answers_behind(shared) <= 1
        if best[0] and not goes_on:
            continue
        common = len(sketch.in_messages & record.sketch.in_messages)
        same = record.sketch.layout.scopes["messages"] == sketch.layout.scopes["messages"]
        key = (goes_on, common, shared, same, record.number)
        if key > best:
            best, found = key, record
    return None if found is None or found.sketch is None else _compared(found, found.sketch, now, sketch)


def _compared(earlier: Record, before: Sketch, now: Record, after: Sketch) -> Comparison:
    shared = after.shared(before)
    difference = None
    if before.prompt is not None and after.prompt is not None:
        difference = first_difference(before.prompt, after.prompt)
    named = None if difference is None or difference.index != shared else difference  # not a deferred tool's
    changes = None if named is None else _changes(named)
    relation: Relation = "same beginning" if shared else "none"
    if (
        now.conversation is not None
        or before.in_messages & after.in_messages
        or changes
        or len(before) == shared == len(after)
        or now.compacted
        or "compaction" in after.types
    ):
        relation = "same conversation"
    parts = shared < len(before)
    cause = _cause(earlier, before, after, shared, named, changes) if parts else None
    segment: Segment | None = None
    if difference is not None:
        segment = None if difference.appended else difference.segment
    elif parts:
        segment = (after if shared < len(after) else before).layout.positions[shared].tier
    at_the_end = parts and not changes and _part_at_the_end(before, after, shared)
    edited = named is not None and _is_edit(named)
    return Comparison(earlier, relation, shared, cause, segment, at_the_end, edited, difference)


def _cause(
    earlier: Record,
    before: Sketch,
    after: Sketch,
    shared: int,
    difference: Difference | None,
    changes: list[Change] | None,
) -> Cause:
    """Where the later request parts from the earlier one, as a cause."""
    layout = (after if shared < len(after) else before).layout
    path, tier = layout.place(shared), layout.positions[shared].tier
    against = f"compared with #{earlier.index}"
    if _is_dropped_thinking(before, after, shared):
        place = before.layout.place(shared)
        told = f"the server drops the thinking at {place}: this model keeps the last turn's only"
        return Cause("prefix changed", told, place, _CHANGED["messages"])
    if tier == "messages" and _is_cut(before, after, shared, difference):
        kept = f"the first {shared} of {len(before)} blocks are the same" if shared else "nothing is the same"
        return Cause("history shortened", f"{kept}, {against}", path, _CODES["block-removed"])
    if before.prompt is not None and after.prompt is not None:
        for one in breakers.compare((before.prompt, after.prompt), price=False)[0].findings:
            if one.code not in _SETTINGS:
                told = f"{one.path}: {one.message}"
                return Cause("prefix changed", f"{told}, {against}", one.path, one.code)
    if difference is not None and changes:
        path, told = difference.path, f"{difference.path}: {changes[0].before} became {changes[0].after}"
    elif difference is not None:
        path, told = difference.path, str(difference)
    else:
        told = f"{path}: not what it was"
    return Cause("prefix changed", f"{told}, {against}", path, _CHANGED[tier])


def _is_cut(before: Sketch, after: Sketch, shared: int, difference: Difference | None) -> bool:
    """Whether messages went away, rather than that one was edited.

    A rewind or a summary leaves fewer of them. Dropping the oldest leaves the same ones further ahead.
    """
    if shared == len(after):
        return True
    if difference is not None and difference.kind in ("key_order", "reordered", "moved", "inserted"):
        return False
    message = after.messages[shared]
    if not after.starts[shared] and (message != after.messages[-1] or message == after.first_message):
        return False  # it is another inside a message that is not the newest one
    rest_before, rest_after = before.own[shared:], after.own[shared:]
    if rest_before[1:2] == rest_after[1:2] and rest_after[1:2]:
        return False  # the block behind it is the same: this one was edited
    if after.message_count < before.message_count:
        return True
    first = shared == 0 or before.messages[shared - 1] is None
    return (
        first
        and after.starts[shared]
        and any(before.own[i] == rest_after[0] and before.starts[i] for i in range(shared, len(before)))
    )


def _is_dropped_thinking(before: Sketch, after: Sketch, shared: int) -> bool:
    return (
        bool(after.unread_paths)
        and before.types[shared] in THINKING
        and before.layout.positions[shared].path in after.unread_paths
    )


def _part_at_the_end(before: Sketch, after: Sketch, shared: int) -> bool:
    """Whether both end in the message where they part."""
    if shared >= min(len(before), len(after)) or after.messages[shared] is None:
        return False
    return before.messages[shared] == before.messages[-1] and after.messages[shared] == after.messages[-1]


def _is_edit(difference: Difference) -> bool:
    """Whether half of a text or more is the same at its ends, or only the order of its keys is another."""
    if difference.kind == "key_order":
        return True
    texts = _texts(difference)
    if texts is None:
        return False
    return sum(shared_ends(*texts)) * 2 >= max(map(len, texts))


def _changes(difference: Difference) -> list[Change] | None:
    """Which volatile values changed in a text; None where that is not all that changed."""
    texts = _texts(difference)
    return None if texts is None or texts[0] == texts[1] else changed_spans(*texts)


def _texts(difference: Difference) -> tuple[str, str] | None:
    before, after = difference.before, difference.after
    if difference.kind != "changed" or before is None or after is None:
        return None
    one, other = _text(before), _text(after)
    return None if one is None or other is None else (one, other)


def _text(block: Block) -> str | None:
    if block.type != "text":
        return None
    text = json.loads(block.wire_bytes).get("text")
    return text if isinstance(text, str) else None
