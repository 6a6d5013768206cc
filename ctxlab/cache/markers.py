"""Markers: what can carry one, where the automatic one goes, and which sets of them the API refuses.

Models: ``cache_control`` on blocks and at the top of a request; the limit of four; long lifetimes first.
Does not model: where markers *should* stand (``ctxlab.breakpoints``).
Source: prompt-caching page, 2026-08; the API's messages as reported in ``data/recordings``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ctxlab.cache.rules import LIFETIME_S, MAX_MARKERS, Ttl, table
from ctxlab.errors import Problem

#: The API's own words, without the place that stands before them; reported, see ``ctxlab.breakpoints``.
NO_FIELD = "Extra inputs are not permitted"
EMPTY_TEXT = "cache_control cannot be set for empty text blocks"
LONG_FIRST = (
    "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are "
    "processed in the following order: `tools`, `system`, `messages`."
)
TOO_MANY = f"A maximum of {MAX_MARKERS} blocks with cache_control may be provided. Found {{found}}."


class Marker(NamedTuple):
    """A marker at a position (index into the layout's positions) and the lifetime it asks for."""

    position: int
    ttl: Ttl
    automatic: bool = False


class Markable(Protocol):
    """What of a block decides whether it can carry a marker."""

    @property
    def type(self) -> str: ...
    @property
    def chars(self) -> int | None: ...


def can_carry_marker(block: Markable) -> bool:
    """Whether the block has a ``cache_control`` field that may be set: not thinking, not an empty text."""
    return block.type not in table()["unmarkable"] and not (block.type == "text" and block.chars == 0)


def carrier_problem(block: Markable, path: str) -> Problem | None:
    """What the API says to a marker on a block that cannot carry one; None for all others.

    >>> from ctxlab.prompt import Prompt
    >>> prompt = Prompt.from_request({"system": [{"type": "text", "text": ""}], "messages": []})
    >>> print(carrier_problem(prompt.blocks[0], "system[0]").message)
    cache_control cannot be set for empty text blocks
    """
    if can_carry_marker(block):
        return None
    fix = "mark the nearest block before it"
    rule, told = ("empty-text", EMPTY_TEXT) if block.type == "text" else ("marker-carrier", NO_FIELD)
    return Problem(f"{path}.cache_control", rule, told, fix)


def asked_ttl(cache_control: object) -> Ttl | None:
    """The lifetime a marker asks for (5m where it names none), None for what is no marker to the API.

    >>> asked_ttl({"type": "ephemeral"}), asked_ttl({"type": "ephemeral", "ttl": "2h"})
    ('5m', None)
    """
    if not isinstance(cache_control, Mapping) or cache_control.get("type") != "ephemeral":
        return None
    asked = cache_control.get("ttl", "5m")
    return next((ttl for ttl in LIFETIME_S if ttl == asked), None)


def ttl_of(cache_control: object, path: str) -> tuple[Ttl, Problem | None]:
    """The lifetime a ``cache_control`` asks for (5m where it names none), and what is wrong with it.

    >>> ttl_of({"type": "ephemeral"}, "system[0].cache_control")
    ('5m', None)
    """
    ttl = asked_ttl(cache_control)
    if ttl is not None:
        return ttl, None
    kind, asked = None, None
    if isinstance(cache_control, Mapping):
        kind, asked = cache_control.get("type"), cache_control.get("ttl")
    if kind != "ephemeral":
        told = f"is of type {kind!r}"
        return "5m", Problem(f"{path}.type", "marker-type", told, "ephemeral is the only type")
    return "5m", Problem(f"{path}.ttl", "marker-ttl", f"is {asked!r}", "use '5m' or '1h'")


def marker_problems(markers: Sequence[Marker], paths: Sequence[str]) -> list[Problem]:
    """What the API refuses about ``markers`` (in render order; ``paths`` are those of their blocks).

    >>> marks = [Marker(0, "5m"), Marker(3, "1h")]
    >>> print(marker_problems(marks, ["tools[0]", "system[0]"])[0].path)
    system[0].cache_control.ttl
    """
    problems = []
    if len(markers) > MAX_MARKERS:
        problems.append(too_many(len(markers)))
    first_short = next((i for i, marker in enumerate(markers) if marker.ttl == "5m"), None)
    for marker, path in zip(markers, paths, strict=True):
        if marker.ttl == "1h" and first_short is not None and marker.position > markers[first_short].position:
            problems.append(
                Problem(
                    f"{path}.cache_control.ttl",
                    "long-first",
                    LONG_FIRST,
                    f"give {paths[first_short]} an hour too, or this one five minutes",
                )
            )
            break
    return problems


def too_many(found: int) -> Problem:
    """The API's own sentence about more than four markers."""
    return Problem(
        "request",
        "four-markers",
        TOO_MANY.format(found=found),
        "drop markers that stand on history: entries outlive the markers that made them",
    )


def automatic_marker(
    cache_control: object, blocks: Sequence[Markable], explicit: Sequence[Marker]
) -> tuple[Marker | None, list[Problem]]:
    """Where the ``cache_control`` at the top of a request puts its marker; None where it adds none.

    How the API words its refusal of two lifetimes on one block is not recorded, so that problem is told in
    our words. Four explicit markers are refused even if one of them makes the automatic one void: the page
    names no exception.
    """
    ttl, problem = ttl_of(cache_control, "cache_control")
    if problem is not None:
        return None, [problem]
    place = next((i for i in reversed(range(len(blocks))) if can_carry_marker(blocks[i])), None)
    if place is None:
        return None, []
    if len(explicit) >= MAX_MARKERS:
        return None, [too_many(len(explicit) + 1)]
    there = next((marker for marker in explicit if marker.position == place), None)
    if there is None:
        return Marker(place, ttl, automatic=True), []
    if there.ttl == ttl:
        return None, []
    told = f"asks for {ttl} on the last block, which is marked with {there.ttl}"
    return None, [Problem("cache_control.ttl", "automatic-conflict", told, "give both the same ttl")]
