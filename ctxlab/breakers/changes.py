"""Which volatile value became which between two texts that are otherwise alike.

Models: every kind of span of :mod:`ctxlab.breakers.spans`, without a look at the words around: here the
bytes are seen to differ; one word that looks drawn at random on both sides; how much two texts share.
Does not model: other changes of a text (:mod:`ctxlab.breakers.leaves`).
Source: as :mod:`ctxlab.breakers.spans`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ctxlab.breakers.spans import SPAN, TIME

_CHUNK_CHARS = 65_536


class Change(NamedTuple):
    """One volatile value that became another."""

    rule: str
    changes: str
    before: str
    after: str


_KINDS = {
    "uuid": ("random-value", "per request or run"),
    "path": ("per-run-value", "per run"),
    "pid": ("per-run-value", "per run"),
    "labelled": ("random-value", "per request or run"),
    "ulid": ("random-value", "per request or run"),
    "moment": ("clock", "per second"),
    "seconds": ("clock", "per second"),
    "minutes": ("clock", "per minute"),
    "date": ("clock", "per day"),
    "address": ("object-identity", "per process"),
    "epoch": ("clock", "per second"),
    "tagged": ("random-value", "per request or run"),
    "hex": ("random-value", "per request or run"),
    "host": ("per-run-value", "per machine"),
}
_WORD = re.compile(r"[\w-]{8,}")


def changed_spans(before: str, after: str) -> list[Change] | None:
    """What changed between two texts that are alike but for volatile values; None when more than that did.

    >>> changed_spans("It is 14:07:31.", "It is 14:07:32.")
    [Change(rule='clock', changes='per second', before='14:07:31', after='14:07:32')]
    >>> changed_spans("Be brief.", "Be exact.") is None
    True
    """
    head, tail = shared_ends(before, after)
    # what differs, with enough around it to hold whole spans
    one = before[max(0, head - 200) : len(before) - max(0, tail - 200)]
    other = after[max(0, head - 200) : len(after) - max(0, tail - 200)]
    found, twin = list(SPAN.finditer(one)), list(SPAN.finditer(other))
    kinds = [match.lastgroup for match in found] == [match.lastgroup for match in twin]
    if kinds and _between(one, found) == _between(other, twin):
        pairs = zip(found, twin, strict=True)
        return [_change(x, y) for x, y in pairs if x.group() != y.group()]
    fresh = _fresh_word(before, after, head, tail)
    return None if fresh is None else [fresh]


def shared_ends(before: str, after: str) -> tuple[int, int]:
    """How many characters two texts share at the start and, behind that, at the end.

    >>> shared_ends("It is 10:41.", "It is 10:42.")
    (10, 1)
    """
    most = min(len(before), len(after))
    head = _alike(most, lambda i, j: before[i:j] == after[i:j])
    return head, _alike(most - head, lambda i, j: _from_end(before, i, j) == _from_end(after, i, j))


def _from_end(text: str, start: int, end: int) -> str:
    return text[len(text) - end : len(text) - start]


def _alike(most: int, same: Callable[[int, int], bool]) -> int:
    """Up to where two texts are the same: chunk by chunk, then by halves inside the chunk that differs."""
    start = 0
    while start < most and same(start, min(start + _CHUNK_CHARS, most)):
        start = min(start + _CHUNK_CHARS, most)
    low, high = start, min(start + _CHUNK_CHARS, most)
    while low < high:
        middle = (low + high + 1) // 2
        if same(start, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _between(text: str, found: list[re.Match[str]]) -> list[str]:
    edges = [0, *(edge for match in found for edge in match.span()), len(text)]
    return [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _change(x: re.Match[str], y: re.Match[str]) -> Change:
    rule, changes = _KINDS[str(x.lastgroup)]
    one, other = x.group(), y.group()
    if x.lastgroup == "moment":
        times = TIME.search(one), TIME.search(other)
        if times[0] is None or times[1] is None:
            changes = "per minute"
        elif "T" not in one[8:11] and times[0].group() != times[1].group():
            one, other = times[0].group(), times[1].group()
    return Change(rule, changes, one, other)


def _fresh_word(before: str, after: str, head: int, tail: int) -> Change | None:
    """One word that looks drawn at random on both sides, where nothing else differs."""
    old = next(_around(before, head, len(before) - tail), "")
    new = next(_around(after, head, len(after) - tail), "")
    if not (_looks_random(old) and _looks_random(new)):
        return None
    return Change("random-value", "per request or run", old, new)


def _around(text: str, start: int, end: int) -> Iterator[str]:
    """The one word that holds all of text[start:end]."""
    for match in _WORD.finditer(text, max(0, start - 100), min(len(text), end + 100)):
        if match.start() <= start and end <= match.end():
            yield match.group()


def _looks_random(word: str) -> bool:
    """Letters and digits by turns, three times at least: no word and no version does that."""
    return len(re.findall(r"(?<=[A-Za-z])\d|(?<=\d)[A-Za-z]", word)) >= 3
