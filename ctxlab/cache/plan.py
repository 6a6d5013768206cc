"""What a lookup found: the split of a request's tokens, what it will leave behind, and why, in words.

Models: billing positions A, B and C; a report per marker; the usage the API would answer.
Does not model: prices (:func:`ctxlab.cost.bill` takes the usage).
Source: ``ctxlab/cache_rules.toml``, rule billing-positions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ctxlab.cache.layout import Layout, Scope
from ctxlab.cache.markers import Marker
from ctxlab.cache.rules import LOOKBACK_POSITIONS, Ttl
from ctxlab.errors import InvalidUsageError, Problem
from ctxlab.usage import CacheCreation, Usage


class Touch(NamedTuple):
    """An entry that a request writes or refreshes: where it ends, and its lifetime."""

    position: int
    ttl: Ttl


class Nearby(NamedTuple):
    """What was almost an entry for this request.

    In a marker's lookback: one that "ended" ``seconds`` ago, one still "hidden" for ``seconds``. For those
    who ask for an explanation also: one that is alive but "out-of-reach" of every marker, and one of the same
    blocks "elsewhere" (under ``scope``).
    """

    position: int
    kind: Literal["ended", "hidden", "out-of-reach", "elsewhere"]
    seconds: float = 0.0
    scope: Scope = ()


class MarkerReport(NamedTuple):
    """What became of one marker.

    ``size_tokens`` is the prefix it marks (None: not known), ``fits`` whether that reaches the floor,
    ``found`` the position it read up to if it was the one that found the entry.
    """

    marker: Marker
    size_tokens: int | None
    fits: bool
    found: int | None
    writes: bool
    refreshes: bool
    nearby: tuple[Nearby, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """A request that has started and not yet been answered.

    ``billing`` is A, B, C as numbers of leading positions: read up to A, written for an hour up to B, for
    five minutes up to C. The four token figures are disjoint and add up to the prompt; None is a size not
    known.
    """

    layout: Layout
    started_s: float
    billing: tuple[int, int, int]
    read_tokens: int | None
    written_1h_tokens: int | None
    written_5m_tokens: int | None
    fresh_tokens: int | None
    markers: tuple[MarkerReport, ...]
    writes: tuple[Touch, ...]
    refreshes: tuple[Touch, ...]
    floor_tokens: int
    further: tuple[Nearby, ...] = ()

    def __repr__(self) -> str:
        figures = {
            "read": self.read_tokens,
            "written 1h": self.written_1h_tokens,
            "written 5m": self.written_5m_tokens,
            "fresh": self.fresh_tokens,
        }
        words = (f"{name} {'?' if n is None else format(n, ',')}" for name, n in figures.items())
        return f"<Plan: {', '.join(words)}>"

    @property
    def hit(self) -> int | None:
        """The position of the entry that is read."""
        return self.billing[0] - 1 if self.billing[0] else None

    def classes(self) -> tuple[Literal["R", "W", "F"], ...]:
        """How each position is billed: read, written or fresh."""
        a, _, c = self.billing
        return tuple("R" if i < a else "W" if i < c else "F" for i in range(len(self.layout.positions)))

    def usage(self, *, output_tokens: int = 0) -> Usage:
        """The usage the API answers. Raises :class:`InvalidUsageError` while a size is unknown."""
        read, fresh = self.read_tokens, self.fresh_tokens
        short, long = self.written_5m_tokens, self.written_1h_tokens
        if read is None or fresh is None or short is None or long is None:
            figures = {"read": read, "written_1h": long, "written_5m": short, "fresh": fresh}
            raise InvalidUsageError(
                Problem(f"{name}_tokens", "known-size", "depends on a size not known", "lay out with counts")
                for name, tokens in figures.items()
                if tokens is None
            )
        return Usage(
            input_tokens=fresh,
            cache_read_input_tokens=read,
            cache_creation=CacheCreation(short, long),
            output_tokens=output_tokens,
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence per marker, in render order, and one for each thing found further away."""
        if not self.markers:
            return ("no position is marked: nothing is read and nothing is written",)
        return (
            *(f"{self._name(report)}: {self._reason(report)}" for report in self.markers),
            *(self._further(near) for near in self.further),
        )

    def _name(self, report: MarkerReport) -> str:
        automatic = "automatic, " if report.marker.automatic else ""
        return f"{self.layout.place(report.marker.position)} ({automatic}{report.marker.ttl})"

    def _reason(self, report: MarkerReport) -> str:
        position, ttl, place = report.marker.position, report.marker.ttl, self.layout.place
        if not report.fits:
            size = "too few tokens" if report.size_tokens is None else f"{report.size_tokens:,} tokens"
            return (
                f"{size} up to here, {self.layout.model.id} caches from {self.floor_tokens:,}; neither read "
                "nor written, without an error"
            )
        if self.hit is not None and position < self.hit:
            own = "it leaves nothing"
            if report.writes or report.refreshes:
                own = "its own entry lives on" if report.refreshes else "it makes an entry at no charge"
            return f"inside what is read up to {place(self.hit)}; {own}"
        if position == self.hit:
            return "the entry that ends here is alive; it is read and lives on"
        if report.found is not None:
            return (
                f"reads the entry at {place(report.found)}, position {self._back(position, report.found)} of "
                f"the {LOOKBACK_POSITIONS} looked at, and writes from there to here ({ttl})"
            )
        if any(other.found is not None and other.marker.position > position for other in self.markers):
            return f"behind what is read up to {place(self.hit or 0)}; written ({ttl})"
        near = self._nearly(report.nearby[0]) if report.nearby else ""
        from_where = "" if self.hit is None else f" from {place(self.hit)} on, which an earlier marker reads"
        return f"no entry in the {LOOKBACK_POSITIONS} positions looked at{near}; written ({ttl}){from_where}"

    def _nearly(self, near: Nearby) -> str:
        where = self.layout.place(near.position)
        if near.kind == "ended":
            return f" (the one at {where} ended {near.seconds:,.0f} s ago)"
        return f" (the one at {where} can be read in {near.seconds:,.1f} s)"

    def _further(self, near: Nearby) -> str:
        where = self.layout.place(near.position)
        if near.kind == "elsewhere":
            return f"{where}: the same blocks are cached, with another {self._other(near)}"
        marker = next(
            report.marker.position
            for report in self.markers
            if report.fits and report.marker.position > near.position
        )
        return (
            f"{where}: an entry ends here and is alive, but counted from {self.layout.place(marker)} it is "
            f"position {self._back(marker, near.position)}, and {LOOKBACK_POSITIONS} are looked at"
        )

    def _back(self, marker: int, position: int) -> int:
        """A position as the lookback counts it: the marked block itself is 1."""
        units = self.layout.positions
        return units[marker].lookback_unit - units[position].lookback_unit + 1

    def _other(self, near: Nearby) -> str:
        mine = self.layout.scopes[self.layout.positions[near.position].tier]
        for name, own, theirs in zip(("workspace", "model"), mine, near.scope, strict=False):
            if own != theirs:
                return f"{name} ({theirs})"
        here, there = _parameters(mine), _parameters(near.scope)
        return " and ".join(sorted(name for name in here | there if here.get(name) != there.get(name)))


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What usage revealed: the plan with its figures, sizes by position not known before, contradictions."""

    plan: Plan
    sizes: Mapping[int, int]
    problems: tuple[Problem, ...]


def _parameters(scope: Scope) -> dict[str, object]:
    return {name: value for tier in scope[2:] for name, value in json.loads(tier).items()}
