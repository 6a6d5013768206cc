"""What is known of one source before a row answers: its cache, its entries, the sizes of its prefixes.

Models: one cache per source on the clock of the recordings; who wrote an entry; sizes that splits revealed,
which hold in every sequence of the source, and sizes that totals tell, which hold in their sequence.
Does not model: what follows from it for a row (:mod:`ctxlab.conformance.question`).
Source: own construction.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ctxlab.cache import Layout, PromptCache, Scope
from ctxlab.clock import ManualClock
from ctxlab.conformance.rows import kept
from ctxlab.conformance.sizes import era, told_sizes
from ctxlab.errors import CtxlabError
from ctxlab.recordings import Exchange
from ctxlab.tokens import Rules


class Prefix(NamedTuple):
    """One prefix under one model and one set of parameters, in one workspace."""

    digest: str
    scope: Scope


class Sized(NamedTuple):
    """A prefix under the hidden constants of its time, which are part of its size."""

    prefix: Prefix
    era: Rules


class Taught(NamedTuple):
    """A size, and the row whose split revealed it."""

    tokens: int
    row: str


class Writer(NamedTuple):
    """Who wrote an entry, and under which parameters of the whole request."""

    row: str
    scope: Scope


@dataclass(slots=True)
class Course:
    """What one sequence has shown so far.

    ``sizes`` are those that totals and counts tell, ``used`` the prefixes its rows have written or read,
    ``deepest`` the longest that each has written: what goes on from there cannot have been cached by an
    earlier run. ``complete``: the row before the one at hand was replayed.
    """

    sizes: dict[Sized, int] = field(default_factory=dict)
    used: set[Prefix] = field(default_factory=set)
    deepest: set[Prefix] = field(default_factory=set)
    complete: bool = False
    step: int | None = None

    def go_to(self, step: int) -> None:
        if self.step is not None and step > self.step + 1:
            self.lose_track()
        self.step = step

    def lose_track(self) -> None:
        """A request that cannot be replayed may have written anything."""
        self.deepest.clear()
        self.complete = False


class Source:
    """The books of one source."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = ManualClock()
        self.cache = PromptCache(self.clock, remember_s=math.inf)
        self.sizes: dict[Sized, Taught] = {}
        self.written_by: dict[Prefix, Writer] = {}

    def wait_until(self, at_s: float) -> None:
        self.clock.advance(max(at_s - self.clock.now_s(), 0.0))

    def lay_out(self, row: Exchange, total_tokens: int | None) -> Layout:
        """The layout of a row with the sizes that its total and its counts tell."""
        seen = kept(row)
        sizes = told_sizes(row, total_tokens)
        as_seen = replace(row, blocks=tuple(row.blocks[i] for i in seen))
        layout = Layout.from_recording(as_seen, [sizes[i] for i in seen], workspace=self.name)
        return replace(layout, total_tokens=row.total_input_tokens)

    def hear(self, row: Exchange, course: Course) -> None:
        """Keep what the total of a row without cached tokens says about its prefixes."""
        with contextlib.suppress(CtxlabError):
            layout, rules = self.lay_out(row, row.total_input_tokens), era(row)
            for prefix, position in zip(prefixes(layout), layout.positions, strict=True):
                if position.cumulative_tokens is not None:
                    course.sizes.setdefault(Sized(prefix, rules), position.cumulative_tokens)

    def suspect(self, row: Exchange) -> None:
        """Remember where a row that cannot be replayed may have written."""
        with contextlib.suppress(CtxlabError):
            layout = self.lay_out(row, None)
            ends = prefixes(layout)
            for marker in layout.markers:
                self.written_by.setdefault(ends[marker.position], Writer(row.id, layout.scopes["messages"]))


def prefixes(layout: Layout) -> list[Prefix]:
    """The prefix that ends at each position."""
    return [Prefix(position.digest, layout.scopes[position.tier]) for position in layout.positions]
