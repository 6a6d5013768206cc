"""Where two prompts stop being one prefix, and how.

Models: the first block that is another, in render order; six kinds of difference; the place inside a block.
Does not model: what follows the first difference, or whether a cache entry was there.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, AnyStr, Literal

from ctxlab.prompt.blocks import SEGMENTS, Block, Segment
from ctxlab.prompt.canonical import sent_json
from ctxlab.prompt.request import Prompt, require_prompts

DifferenceKind = Literal["changed", "inserted", "removed", "reordered", "moved", "key_order"]

_CHUNK_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two prompts stop being one prefix.

    ``index`` blocks are shared. ``path`` is the place in the second prompt (in the first one when something
    was removed or moved away); ``before`` and ``after`` are the blocks that meet there, None where one side
    has ended. Inside a changed block ``path`` goes down to the value that differs and ``at_char`` counts
    characters into a text; where only the role is another, ``path`` is the role's. ``appended`` is True when
    the second prompt only goes on where the first one ends: the prefix is intact.
    """

    kind: DifferenceKind
    path: str
    index: int
    segment: Segment
    before: Block | None
    after: Block | None
    at_char: int | None = None
    blocks: int = 1
    to_path: str | None = None
    appended: bool = False

    def __str__(self) -> str:
        blocks = f"{self.blocks} block{'s' * (self.blocks > 1)}"
        place = self.path + (f" at character {self.at_char}" if self.at_char is not None else "")
        what = {
            "changed": _changed_around(self.before, self.after) or "changed",
            "inserted": f"{blocks} {'appended' if self.appended else 'inserted'}",
            "removed": f"{blocks} removed",
            "reordered": f"the same {self.blocks} blocks in another order",
            "moved": f"moved to {self.to_path}",
            "key_order": "the same content with its keys in another order",
        }[self.kind]
        return f"{place}: {what} ({self.index} block{'s' * (self.index != 1)} shared)"


def _changed_around(before: Block | None, after: Block | None) -> str | None:
    """What is another about two equal blocks: who speaks, or where a message begins."""
    if before is None or after is None or before.wire_sha256 != after.wire_sha256:
        return None
    if before.role != after.role:
        return f"the role changed from {before.role} to {after.role}"
    return "the same block, which now " + (
        "begins a message" if after.starts_message else "goes on with the message before it"
    )


def first_difference(a: Prompt, b: Prompt) -> Difference | None:
    """The first place, in render order, where ``b`` is not ``a``; None when the blocks are the same.

    Markers and parameters are not blocks. Kinds: *changed* (another block in the same place), *inserted*,
    *removed*, *reordered* (the rest of that segment holds the same blocks in another order), *moved* (the
    block stands elsewhere in ``b``), *key_order* (equal once keys are sorted; a diff of sorted dumps cannot
    see it).

    >>> a = Prompt.from_request({"system": "It is 10:41.", "messages": []})
    >>> b = Prompt.from_request({"system": "It is 10:42.", "messages": []})
    >>> print(first_difference(a, b))
    system at character 10: changed (0 blocks shared)
    """
    require_prompts(a=a, b=b)
    index = next(
        (
            i
            for i, (x, y) in enumerate(zip(a.blocks, b.blocks, strict=False))
            if x.wire_sha256 != y.wire_sha256 or x._place != y._place
        ),
        min(len(a.blocks), len(b.blocks)),
    )
    rest_a, rest_b = a.blocks[index:], b.blocks[index:]
    if not rest_a and not rest_b:
        return None
    if not rest_a:
        new = rest_b[0]
        return Difference(
            "inserted", new.path, index, new.segment, None, new, blocks=len(rest_b), appended=True
        )
    if not rest_b:
        old = rest_a[0]
        return Difference("removed", old.path, index, old.segment, old, None, blocks=len(rest_a))
    return _classified(index, rest_a, rest_b)


def _classified(index: int, rest_a: tuple[Block, ...], rest_b: tuple[Block, ...]) -> Difference:
    old, new = rest_a[0], rest_b[0]
    if old.segment == new.segment and old.content_sha256 == new.content_sha256:
        if old.wire_sha256 == new.wire_sha256:  # only its role or a message border is another
            path = new.path if old.role == new.role else f"messages[{new.message}].role"
            return Difference("changed", path, index, new.segment, old, new)
        return Difference("key_order", _inside(old, new)[0], index, new.segment, old, new)

    keys_a, keys_b = [x.wire_sha256 for x in rest_a], [y.wire_sha256 for y in rest_b]
    only_a, only_b = Counter(keys_a) - Counter(keys_b), Counter(keys_b) - Counter(keys_a)
    old_gone, new_is_new = keys_a[0] in only_a, keys_b[0] in only_b
    later = SEGMENTS.index(old.segment) - SEGMENTS.index(new.segment)

    if new_is_new and (later > 0 or (later == 0 and not old_gone)):
        run = _run(rest_b, only_b, new.segment)
        return Difference("inserted", new.path, index, new.segment, old, new, blocks=run)
    if old_gone and (later < 0 or (later == 0 and not new_is_new)):
        run = _run(rest_a, only_a, old.segment)
        return Difference("removed", old.path, index, old.segment, old, new, blocks=run)
    if old_gone and new_is_new:
        if old.segment == new.segment == "tools" and (many := _only_shuffled(rest_a, rest_b)):
            return Difference("reordered", new.path, index, new.segment, old, new, blocks=many)
        path, at_char = _inside(old, new) if old.type == new.type else (new.path, None)
        return Difference("changed", path, index, new.segment, old, new, at_char)

    # Nothing came or went: both blocks stand elsewhere on the other side.
    span_a = [key for key, x in zip(keys_a, rest_a, strict=True) if x.segment == old.segment]
    span_b = [key for key, y in zip(keys_b, rest_b, strict=True) if y.segment == old.segment]
    if later == 0 and sorted(span_a) == sorted(span_b):
        return Difference("reordered", new.path, index, new.segment, old, new, blocks=len(span_a))
    came_forward = later > 0 or (later == 0 and keys_b[1:2] == keys_a[:1])
    if came_forward:
        source = rest_a[keys_a.index(keys_b[0])]
        return Difference("moved", source.path, index, new.segment, old, new, to_path=new.path)
    target = rest_b[keys_b.index(keys_a[0])]
    return Difference("moved", old.path, index, old.segment, old, new, to_path=target.path)


def _only_shuffled(rest_a: tuple[Block, ...], rest_b: tuple[Block, ...]) -> int:
    """How many tools follow, where they are the same ones and keys changed their order with them; else 0.

    Hash maps shuffle both at once. Tools are few enough to compare by content.
    """
    one, other = ([x for x in rest if x.segment == "tools"] for rest in (rest_a, rest_b))
    if len(one) != len(other):
        return 0
    same = sorted(x.content_sha256 for x in one) == sorted(x.content_sha256 for x in other)
    return len(one) if same else 0


def _run(rest: tuple[Block, ...], only_here: Counter[bytes], segment: Segment) -> int:
    """How many blocks in a row exist on this side only."""
    left = Counter(only_here)
    length = 0
    for block in rest:
        if block.segment != segment or left[block.wire_sha256] <= 0:
            break
        left[block.wire_sha256] -= 1
        length += 1
    return max(length, 1)


def first_different_byte(a: AnyStr, b: AnyStr) -> int | None:
    """Offset of the first byte (in texts: character) that differs, None when equal.

    Where one is a prefix of the other, that is the shorter length.

    Chunks are compared whole, so the cost is that of ``a == b`` up to the chunk that differs.
    """
    for start in range(0, min(len(a), len(b)), _CHUNK_BYTES):
        one, other = a[start : start + _CHUNK_BYTES], b[start : start + _CHUNK_BYTES]
        if one != other:
            return start + next(
                (i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y),
                min(len(one), len(other)),
            )
    return None if len(a) == len(b) else min(len(a), len(b))


def _inside(old: Block, new: Block) -> tuple[str, int | None]:
    """Path of the first value that differs inside two blocks, and the character when it is a text."""
    one, other = json.loads(old.wire_bytes), json.loads(new.wire_bytes)
    if new.path in ("system",) or new.path.endswith(".content"):
        one, other = one.get("text"), other.get("text")  # a bare string stands for its text
    path, at_char = new.path, None
    while True:
        if isinstance(one, dict) and isinstance(other, dict):
            step = _first_different_key(one, other)
            if step is None or step not in one or step not in other:
                return (path if step is None else f"{path}.{step}"), None
            path, one, other = f"{path}.{step}", one[step], other[step]
        elif isinstance(one, list) and isinstance(other, list):
            shared = min(len(one), len(other))
            place = next((i for i in range(shared) if not _same(one[i], other[i])), shared)
            if place == shared:
                return f"{path}[{place}]", None
            path, one, other = f"{path}[{place}]", one[place], other[place]
        else:
            if isinstance(one, str) and isinstance(other, str):
                at_char = first_different_byte(one, other)
            return path, at_char


def _first_different_key(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """The first key whose value differs or that one side lacks; None when only the order of keys does."""
    for key, twin in zip(one, other, strict=False):
        if key != twin:
            return twin if twin not in one else key if key not in other else None
        if not _same(one[key], other[key]):
            return key
    longer = one if len(one) > len(other) else other
    return next(key for key in longer if key not in one or key not in other)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON text: 1 is not true, 1.0 is not 1, and key order counts."""
    return sent_json(one) == sent_json(other)
