"""Every fault of a request's markers, with the place, the rule and the API's own words.

Models: who may carry a marker and what it may say, the order of lifetimes, the four slots, and the automatic
marker (``cache_control`` at the top of the request) beside explicit ones.
Does not model: faults that have nothing to do with markers (:mod:`ctxlab.validity`); markers that are legal
and useless (:func:`ctxlab.breakpoints.plan` names those); breakpoints the server adds in a server-tool loop.
Source: prompt-caching page, 2026-08 and 2026-09; wording from public reports, dated per rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxlab.breakpoints.places import Place, places
from ctxlab.cache import MAX_MARKERS, Evidence, asked_ttl
from ctxlab.cache.markers import EMPTY_TEXT, LONG_FIRST, NO_FIELD, TOO_MANY
from ctxlab.errors import Problem


@dataclass(frozen=True, slots=True)
class MarkerRule:
    """One rule. ``wire`` is the API's message with its parts in braces, None where nobody has shown it.

    Then ``ours`` is what a problem says. ``source`` names page or report and date, also for the wording.
    """

    name: str
    says: str
    source: str
    evidence: Evidence
    wire: str | None
    ours: str = ""


MARKER_RULES: Mapping[str, MarkerRule] = {
    rule.name: rule
    for rule in (
        MarkerRule(
            "marker-carrier",
            "Thinking, message objects, citations and sources have no field for a marker.",
            "prompt-caching page 2026-08; wording reported 2025-12, 2026-01, 2026-04",
            "reported",
            f"{{at}}cache_control: {NO_FIELD}",
        ),
        MarkerRule(
            "marker-shape",
            "A marker is an object.",
            "SDK type of cache_control 2026-11; wording not known",
            "documented",
            None,
            "is {kind}, not an object",
        ),
        MarkerRule(
            "marker-type",
            "The only type is ephemeral.",
            "SDK type of cache_control 2026-11; wording from one undated report",
            "reported",
            "{at}cache_control: Input tag '{type}' found using 'type' does not match any of the expected "
            "tags: 'ephemeral'",
        ),
        MarkerRule(
            "marker-ttl",
            "A lifetime is 5m or 1h; without one it is 5m.",
            "prompt-caching page 2026-08; wording reported 2026-03",
            "reported",
            "{at}cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
        MarkerRule(
            "marker-field",
            "A marker has a type and a ttl, nothing else.",
            "SDK type of cache_control 2026-11; wording reported 2026-08",
            "reported",
            f"{{at}}cache_control.ephemeral.{{field}}: {NO_FIELD}",
        ),
        MarkerRule(
            "empty-text",
            "An empty text cannot carry a marker.",
            "prompt-caching page 2026-08; wording reported 2025-08, 2026-04",
            "reported",
            f"{{typed}}: {EMPTY_TEXT}",
        ),
        MarkerRule(
            "marker-on-deferred",
            "A tool that is loaded on demand is outside the prefix and cannot carry a marker.",
            "tool-use-with-prompt-caching page 2026-08; wording reported 2026-07, 2026-08",
            "reported",
            "Tool '{tool}' cannot have both defer_loading=true and cache_control set. Tools with "
            "defer_loading cannot use prompt caching.",
        ),
        MarkerRule(
            "long-first",
            "In render order every 1h marker stands before every 5m marker.",
            "prompt-caching page 2026-08; wording reported 2026-04, 2026-08",
            "reported",
            f"{{at}}cache_control.ttl: {LONG_FIRST}",
        ),
        MarkerRule(
            "automatic-conflict",
            "An automatic marker and an explicit one on the same block ask for the same lifetime.",
            "prompt-caching page 2026-08; wording not known",
            "documented",
            None,
            "asks for {ttl} on {place}, which is marked with {other}",
        ),
        MarkerRule(
            "four-markers",
            "At most four markers a request, the automatic one included.",
            "prompt-caching page 2026-08; wording reported 2024-09, 2025-10",
            "reported",
            TOO_MANY,
        ),
    )
}


def validate(request: Mapping[str, Any]) -> list[Problem]:
    """Every marker fault of a request body; an empty list when there is none. The request is not changed.

    ``message`` is the API's own where it is known (``MARKER_RULES[problem.rule].wire`` says whether), else
    ours. Faults of a single marker come first, place by place; then the automatic marker, the order of
    lifetimes and the number, which can only be judged on the whole.

    >>> tool = {"name": "read", "input_schema": {}, "cache_control": {"type": "ephemeral"}}
    >>> system = [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    >>> [(p.path, p.rule) for p in validate({"tools": [tool], "system": system, "messages": []})]
    [('system[0].cache_control.ttl', 'long-first')]
    """
    found = list(places(request))
    problems = [problem for place in found if place.marker is not None for problem in _faults(place)]
    # what is refused as a field is never counted as a marker
    marked = [
        (f"{place.path}.cache_control", f"{place.wire}.", place.marker)
        for place in found
        if place.marker is not None and place.has_field
    ]
    automatic = request.get("cache_control")
    if automatic is not None:
        problems += _marker_faults(automatic, "cache_control", "")
        last = next((place for place in reversed(found) if place.level == "block" and place.can_carry), None)
        if last is not None:
            problems += _conflict(automatic, last)
            if last.marker is None or len(marked) >= MAX_MARKERS:
                marked.append(("cache_control", "", automatic))
    return [*problems, *_order(marked), *_number(marked)]


def _faults(place: Place) -> Iterator[Problem]:
    path = f"{place.path}.cache_control"
    if not place.has_field:
        around = {"message": "mark a block in its content", "inner": "mark the block around it"}
        fix = around.get(place.level, "mark the nearest earlier block that may carry one, or none")
        yield _problem("marker-carrier", path, fix, at=f"{place.typed}.")
        return
    if place.deferred:
        fix = "mark the last tool that is not deferred"
        yield _problem("marker-on-deferred", path, fix, tool=place.body.get("name"))
    if place.type == "text" and place.body.get("text") == "":
        fix = "mark the nearest earlier block that holds something, or none"
        yield _problem("empty-text", path, fix, typed=place.typed)
    yield from _marker_faults(place.marker, path, f"{place.typed}.")


def _marker_faults(marker: Any, path: str, at: str) -> Iterator[Problem]:
    if not isinstance(marker, Mapping):
        yield _problem("marker-shape", path, 'send {"type": "ephemeral"}', kind=repr(marker)[:40])
        return
    if marker.get("type") != "ephemeral":
        yield _problem("marker-type", f"{path}.type", 'send "ephemeral"', at=at, type=marker.get("type"))
        return
    if asked_ttl(marker) is None:
        yield _problem("marker-ttl", f"{path}.ttl", 'send "5m" or "1h"', at=at)
    for field in marker:
        if field not in ("type", "ttl"):
            yield _problem("marker-field", f"{path}.{field}", "leave it out", at=at, field=field)


def _conflict(automatic: Any, last: Place) -> Iterator[Problem]:
    ttl, other = asked_ttl(automatic), asked_ttl(last.marker)
    if ttl is not None and other is not None and ttl != other:
        fix = f"give it the lifetime of {last.path}.cache_control, or drop one of them"
        parts = {"ttl": ttl, "place": last.path, "other": other}
        yield _problem("automatic-conflict", "cache_control.ttl", fix, **parts)


def _order(marked: Sequence[tuple[str, str, Any]]) -> Iterator[Problem]:
    """Each 1h marker behind the first 5m one."""
    short = None
    for path, at, marker in marked:
        ttl = asked_ttl(marker)
        if ttl == "5m" and short is None:
            short = path
        elif ttl == "1h" and short is not None:
            yield _problem("long-first", f"{path}.ttl", f"give {short} 1h as well, or this one 5m", at=at)


def _number(marked: Sequence[tuple[str, str, Any]]) -> Iterator[Problem]:
    if len(marked) > MAX_MARKERS:
        fix = "entries outlive their markers: take the oldest ones off the messages"
        yield _problem("four-markers", marked[MAX_MARKERS][0], fix, found=len(marked))


def _problem(rule: str, path: str, fix: str, **parts: Any) -> Problem:
    known = MARKER_RULES[rule]
    return Problem(path, rule, (known.wire or known.ours).format(**parts), fix)
