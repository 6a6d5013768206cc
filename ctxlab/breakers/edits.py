"""The fewest edits that turn the blocks of one request into those of the next, segment by segment.

Models: blocks known by digest and role; runs put in front, dropped, changed in place; blocks appended at the
end, which are free. Does not model: what an edit means (:mod:`ctxlab.breakers.aligned`).
Source: own choice; longest matching runs by :mod:`difflib`, with a bound on the work.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from ctxlab.prompt import Block, Segment

Key = tuple[bytes | str, str | None]
_MOST_WORK = 1_000_000


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


def keys_of(blocks: Sequence[Block], *, sorted_schemas: bool) -> list[Key]:
    """What blocks are known by: their digest and role; with sorted keys for tools if that is the rule."""
    return [
        (
            block.content_sha256 if sorted_schemas and block.segment == "tools" else block.wire_sha256,
            block.role,
        )
        for block in blocks
    ]


def edits_of(earlier: Side, later: Side, segment: Segment) -> list[Edit]:
    """The edits of one segment; what is appended to it is one behind its end."""
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
