"""Which blocks of one request stand in the next one, and what became of the others.

Models: tools by name (added, removed, changed, reordered); blocks of the system prompt and of the history in
sequence (changed, moved, put in between, removed, history cut back); a prefix that only goes on is no break.
Does not model: what a break costs (:mod:`ctxlab.breakers.sequence`).
Source: render order and exact prefixes, prompt-caching page 2026-09; public reports, 2025-08 to 2026-08.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctxlab.breakers.edits import Edit, Side, edits_of
from ctxlab.breakers.finding import Certainty, Finding, finding
from ctxlab.breakers.leaves import block_findings
from ctxlab.prompt import Block, Segment

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


def breaks(earlier: Side, later: Side, *, sorted_schemas: bool) -> list[Break]:
    """Everything by which ``later`` does not go on where ``earlier`` ended, in render order of ``later``."""
    found = list(_tool_breaks(earlier, later, sorted_schemas))
    edits: dict[Segment, list[Edit]] = {}
    segments: tuple[Segment, ...] = ("system", "messages")
    for segment in segments:
        edits[segment] = edits_of(earlier, later, segment)
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
