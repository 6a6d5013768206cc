"""Which blocks of one request stand in the next one, and what became of the others.

Models: tools by name (added, removed, changed, reordered); blocks of the system prompt and of the history in
sequence (changed, moved, put in between, removed, history cut back); a prefix that only goes on is no break.
Does not model: what a break costs (:mod:`ctxlab.breakers.sequence`).
Source: render order and exact prefixes, prompt-caching page 2026-09; public reports, 2025-08 to 2026-08.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from ctxlab.breakers.finding import Certainty, Finding, finding
from ctxlab.breakers.leaves import block_findings
from ctxlab.prompt import Block, Segment

Key = tuple[bytes | str, str | None]
_MOST_WORK = 1_000_000
_MOST_TOLD = 20
_FEWEST_CHARS = 20  # a text shorter than this is found inside another by chance
_APPEND = "append it instead: what was sent stays as it was"


class Break(NamedTuple):
    """A finding, the block of the earlier request it concerns first, and its place in the later one.

    ``arrival``: it only says that the block at ``later`` is new.
    """

    finding: Finding
    earlier: int
    later: int
    arrival: bool = False


class Side(NamedTuple):
    """The blocks of one request in render order, and what each is known by."""

    blocks: Sequence[Block]
    keys: Sequence[Key]

    def span(self, segment: Segment) -> tuple[int, int]:
        """First block of a segment and the first behind it."""
        before = _ORDER[segment]
        start = bisect_left(self.blocks, before, key=_order)
        return start, bisect_left(self.blocks, before + 1, key=_order)


_ORDER: dict[Segment, int] = {"tools": 0, "system": 1, "messages": 2}


def _order(block: Block) -> int:
    return _ORDER[block.segment]


class Edit(NamedTuple):
    """``earlier[i1:i2]`` became ``later[j1:j2]``; one of the two may be empty."""

    i1: int
    i2: int
    j1: int
    j2: int


def breaks(earlier: Side, later: Side, *, sorted_schemas: bool) -> list[Break]:
    """Everything by which ``later`` does not go on where ``earlier`` ended, in render order of ``later``."""
    found = list(_tool_breaks(earlier, later, sorted_schemas))
    edits: dict[Segment, list[Edit]] = {}
    segments: tuple[Segment, ...] = ("system", "messages")
    for segment in segments:
        edits[segment] = _edits(earlier, later, segment)
    homes = _Homes(later, [edit for one in edits.values() for edit in one])
    for segment in segments:
        (start_a, end_a), (start_b, _) = earlier.span(segment), later.span(segment)
        own: list[Break] = []
        for n, edit in enumerate(edits[segment]):
            if n == _MOST_TOLD and edit.j1 < len(later.blocks):
                own.append(
                    Break(_many_more(later.blocks[edit.j1], len(edits[segment]) - n), edit.i1, edit.j1)
                )
                break
            own += _of_edit(edit, earlier, later, segment, end_a, homes, sorted_schemas)
        if not own:
            own = list(_border_breaks(earlier.blocks[start_a:end_a], later.blocks, start_a, start_b))
        found += own
    # where a block moved to is told with the block
    found = [one for one in found if not (one.arrival and one.later in homes.taken)]
    return sorted(found, key=lambda one: (one.later, one.earlier))


# --- tools


def _tool_breaks(earlier: Side, later: Side, sorted_schemas: bool) -> Iterator[Break]:
    before, after = _by_name(earlier), _by_name(later)
    for name, i in before.items():
        if name not in after:
            path = earlier.blocks[i].path
            told = f"the tool {_called(name)} is gone"
            yield Break(_tools(path, told), i, min(i, len(after)))
    for name, j in after.items():
        i = before.get(name, -1)
        if i < 0:
            yield Break(
                _tools(later.blocks[j].path, f"the tool {_called(name)} is new"), min(j, len(before)), j
            )
        elif earlier.keys[i] != later.keys[j]:
            for one in block_findings(earlier.blocks[i], later.blocks[j], sorted_schemas=sorted_schemas):
                yield Break(one, min(i, j), j)
    yield from _tool_order(earlier, later, before, after)


def _tools(path: str, told: str) -> Finding:
    fix = "send the same tools all session long; defer those that are seldom needed"
    return finding("tools-changed", path, told, fix=fix, certainty="confirmed")


_Name = tuple[str, str, int]


def _called(name: _Name) -> str:
    return name[1] or name[0]


def _by_name(side: Side) -> dict[_Name, int]:
    """Tools by type, name and how often that pair came before."""
    seen: Counter[tuple[str, str]] = Counter()
    found: dict[_Name, int] = {}
    for i, block in enumerate(side.blocks):
        if block.segment != "tools":
            break
        name = block.name or str(json.loads(block.wire_bytes).get("mcp_server_name") or "")
        found[(block.type, name, seen[(block.type, name)])] = i
        seen[(block.type, name)] += 1
    return found


def _tool_order(
    earlier: Side, later: Side, before: dict[_Name, int], after: dict[_Name, int]
) -> Iterator[Break]:
    kept = [name for name in before if name in after]
    now = [name for name in after if name in before]
    at = next((k for k, (x, y) in enumerate(zip(kept, now, strict=True)) if x != y), None)
    if at is None:
        return
    i, j = before[kept[at]], after[now[at]]
    block = later.blocks[j]
    many = f"the same {len(now)} tools" if len(now) == len(before) == len(after) else "the tools they share"
    told = f"{many} in another order: {_called(now[at])} stands at index {j}, where {_called(kept[at])} stood"
    fix = "sort the tools by name before they are sent"
    yield Break(finding("tool-order", block.path, told, fix=fix, certainty="confirmed"), min(i, j), j)


# --- sequences


def _edits(earlier: Side, later: Side, segment: Segment) -> list[Edit]:
    (start_a, end_a), (start_b, end_b) = earlier.span(segment), later.span(segment)
    one, other = earlier.keys[start_a:end_a], later.keys[start_b:end_b]
    if list(one) == list(other[: len(one)]):
        return [Edit(end_a, end_a, start_b + len(one), end_b)] if len(other) > len(one) else []
    head = next(
        (k for k, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other))
    )
    rest_a, rest_b = one[head:], other[head:]
    i, j = start_a + head, start_b + head
    return [Edit(i + i1, i + i2, j + j1, j + j2) for i1, i2, j1, j2 in _aligned(rest_a, rest_b)]


def _aligned(one: Sequence[Key], other: Sequence[Key]) -> list[Edit]:
    """Edits that turn ``one`` into ``other``, whose first blocks differ: the way that changes least.

    Tried are one run put in front, one run dropped, changes in place, and the longest runs kept.
    """
    ways = [*_one_run(one, other), _in_place(one, other)]
    twins = Counter(other)
    if sum(twins[key] for key in one) <= _MOST_WORK:
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        ways.append([Edit(*spans) for tag, *spans in matcher.get_opcodes() if tag != "equal"])

    def work(edits: list[Edit]) -> float:
        # of ways that change as much, one that does not call a block changed that is still there
        overwritten = sum(
            twins[one[edit.i1]] > 0 for edit in edits if edit.i1 < edit.i2 and edit.j1 < edit.j2
        )
        return _work(edits, len(one)) + 0.05 * overwritten

    return min(ways, key=work)


def _one_run(one: Sequence[Key], other: Sequence[Key]) -> Iterator[list[Edit]]:
    n = len(one)
    for k in range(1, len(other) - n + 1):
        if one and other[k] == one[0] and other[k : k + n] == one:
            yield [Edit(0, 0, 0, k), Edit(n, n, k + n, len(other))][: 1 + (k + n < len(other))]
            break
    for k in range(1, n):
        if other and one[k] == other[0] and one[k:] == other[: n - k]:
            yield [Edit(0, k, 0, 0), Edit(n, n, n - k, len(other))][: 1 + (n - k < len(other))]
            break


def _in_place(one: Sequence[Key], other: Sequence[Key]) -> list[Edit]:
    shared = min(len(one), len(other))
    edits = [Edit(k, k + 1, k, k + 1) for k in range(shared) if one[k] != other[k]]
    if len(one) != len(other):
        edits.append(Edit(shared, len(one), shared, len(other)))
    return edits


def _work(edits: Sequence[Edit], length: int) -> float:
    """How much is touched, a run hardly more than a block; what is appended behind everything is free."""
    work = 0.0
    for i1, i2, j1, j2 in edits:
        touched = i2 - i1 if i2 == length else max(i2 - i1, j2 - j1)
        work += 0.9 + 0.1 * touched if touched else 0.0
    return work


class _Homes:
    """Where blocks of the later request stand that were not there before: a place for what has moved."""

    def __init__(self, later: Side, edits: Sequence[Edit]):
        self._later = later
        self._new = [j for edit in edits for j in range(edit.j1, edit.j2)]
        self.taken: set[int] = set()

    def of(self, block: Block) -> int | None:
        """The place of the same content, or of a text that holds this one."""
        same = (j for j in self._new if self._later.blocks[j].wire_sha256 == block.wire_sha256)
        home = next(same, None)
        if home is None and block.type == "text" and block.chars >= _FEWEST_CHARS:
            needle = json.dumps(json.loads(block.wire_bytes)["text"], ensure_ascii=False).encode()[1:-1]
            home = next((j for j in self._new if needle in self._later.blocks[j].wire_bytes), None)
        if home is not None:
            self.taken.add(home)
        return home


def _of_edit(
    edit: Edit,
    earlier: Side,
    later: Side,
    segment: Segment,
    end_a: int,
    homes: _Homes,
    sorted_schemas: bool,
) -> Iterator[Break]:
    i1, i2, j1, j2 = edit
    at_end = i2 == end_a
    if i1 == i2:
        if at_end:
            if segment == "system":
                block = later.blocks[j1]
                yield Break(_grown(block, j2 - j1), i1, j1, arrival=True)
            return
        yield _inserted(edit, earlier, later, end_a)
        return
    if j1 == j2:
        yield from _gone(range(i1, i2), j1, earlier, later, homes, at_end=at_end)
        return
    pairs = min(i2 - i1, j2 - j1)
    alike = [_same_place(earlier.blocks[i1 + k], later.blocks[j1 + k]) for k in range(pairs)]
    if i2 - i1 >= j2 - j1 + 2 and segment == "messages" and not _still_there(earlier, later, edit):
        told = f"the history is shorter: {i2 - i1} blocks are gone, {j2 - j1} stand in their place"
        fix = "shorten in few big steps, behind what stays the same"
        block = later.blocks[j1]
        yield Break(finding("block-removed", block.path, told, fix=fix, certainty="confirmed"), i1, j1)
        return
    for k in range(pairs):
        old, new = earlier.blocks[i1 + k], later.blocks[j1 + k]
        if k == _MOST_TOLD:
            yield Break(_many_more(new, pairs - k), i1 + k, j1 + k)
            return
        if alike[k] or not at_end:
            for one in block_findings(old, new, sorted_schemas=sorted_schemas):
                yield Break(one, i1 + k, j1 + k)
        else:
            yield from _gone(range(i1 + k, i2), j1 + k, earlier, later, homes, at_end=False)
            return
    if i2 - i1 > pairs:
        yield from _gone(range(i1 + pairs, i2), j2, earlier, later, homes, at_end=at_end)
    elif j2 - j1 > pairs and not at_end:
        yield _inserted(Edit(i2, i2, j1 + pairs, j2), earlier, later, end_a)


def _same_place(old: Block, new: Block) -> bool:
    return (old.type, old.role, old.message) == (new.type, new.role, new.message)


def _still_there(earlier: Side, later: Side, edit: Edit) -> bool:
    """Whether the first block that was replaced is recognisable in the one that stands there now."""
    old, new = earlier.blocks[edit.i1].wire_bytes, later.blocks[edit.j1].wire_bytes
    shared = min(len(old), len(new))
    head = next((k for k in range(0, shared, 16) if old[k : k + 16] != new[k : k + 16]), shared)
    return head * 2 > shared


def _many_more(block: Block, places: int) -> Finding:
    told = f"{places} more places differ from here on"
    rule = "history-changed" if block.segment == "messages" else "system-changed"
    return finding(rule, block.path, told, fix=_APPEND, certainty="confirmed")


def _grown(block: Block, blocks: int) -> Finding:
    told = f"{_blocks(blocks)} more at the end of the system prompt, in front of every message"
    fix = "append it as a message instead"
    return finding("system-changed", block.path, told, fix=fix, certainty="confirmed")


def _inserted(edit: Edit, earlier: Side, later: Side, end_a: int) -> Break:
    i1, _, j1, j2 = edit
    pushed = earlier.blocks[i1]
    new = later.blocks[j1:j2]
    if end_a - i1 <= j2 - j1 and any(block.role == "assistant" for block in new):
        # what stood at the end stands at the end again: whole turns came in between
        told = f"moved behind the new turns, to {later.blocks[j2].path}"
        one = finding("block-moved", pushed.path, told, fix=_APPEND, certainty="confirmed")
        return Break(one, i1, j1)
    told = f"{_blocks(j2 - j1)} put in front of what stood here"
    one = finding("block-injected", later.blocks[j1].path, told, fix=_APPEND, certainty="confirmed")
    return Break(one, i1, j1, arrival=True)


def _gone(
    indices: range, at: int, earlier: Side, later: Side, homes: _Homes, *, at_end: bool
) -> Iterator[Break]:
    """Blocks that are not where they were: moved if the same text stands elsewhere now, else removed."""
    removed = []
    for i in indices:
        block = earlier.blocks[i]
        home = homes.of(block)
        if home is None:
            removed.append(i)
            continue
        told = f"block removed; the same text re-appears at {later.blocks[home].path}"
        fix = "leave it where it was first sent"
        yield Break(finding("block-moved", block.path, told, fix=fix, certainty="confirmed"), i, at)
    if removed:
        block = earlier.blocks[removed[0]]
        certainty: Certainty = "confirmed"
        told = f"{_blocks(len(removed))} removed from what was sent before"
        fix = "leave it, or remove much at once and seldom"
        if at_end and at == len(later.blocks):
            told = f"the history was cut back by {_blocks(len(removed))}; what is left is as it was"
            fix, certainty = "nothing to do where that was wanted", "suspected"
        yield Break(finding("block-removed", block.path, told, fix=fix, certainty=certainty), removed[0], at)


def _border_breaks(
    before: Sequence[Block], after: Sequence[Block], start_a: int, start_b: int
) -> Iterator[Break]:
    """The same blocks, but begun in another message."""
    for k, old in enumerate(before):
        new = after[start_b + k] if start_b + k < len(after) else None
        if new is not None and old.starts_message != new.starts_message:
            told = "the same blocks, split into other messages"
            one = finding("history-changed", new.path, told, fix=_APPEND, certainty="confirmed")
            yield Break(one, start_a + k, start_b + k)
            return


def _blocks(number: int) -> str:
    return f"{number} block{'s' * (number != 1)}"


def keys_of(blocks: Sequence[Block], *, sorted_schemas: bool) -> list[Key]:
    """What blocks are known by: their digest and role; with sorted keys for tools if that is the rule."""
    return [
        (
            block.content_sha256 if sorted_schemas and block.segment == "tools" else block.wire_sha256,
            block.role,
        )
        for block in blocks
    ]
