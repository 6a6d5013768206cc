"""The marker plan: where the cache markers of a request belong.

Models: each place with the decision of :func:`ctxlab.breakpoints.plan` and its reason; what the API would
refuse today.
Does not model: the request with its markers set. It is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxlab.breakpoints import MarkerPlan, plan, validate
from ctxlab.figures import Table, table
from ctxlab.takeaways.files import request_of, write
from ctxlab.takeaways.markdown import listed, page, section


def marker_plan(
    source: Mapping[str, Any] | str | Path,
    *,
    next_turns: int = 20,
    gap_s: float = 60.0,
    write_to: str | Path | None = None,
) -> Table:
    """Where the cache markers of a request belong, how long their entries should live, and why.

    ``source`` is a request body or the path of a JSON file with one; ``next_turns`` requests will follow it,
    ``gap_s`` seconds apart from start to start. ``write_to`` also writes the page as Markdown. The request is
    not changed. Raises :class:`InvalidRequestError` for a body that cannot be read, and what
    :func:`ctxlab.breakpoints.plan` raises.

    >>> body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Why?"}]}
    >>> marker_plan(body, next_turns=0)
    place                  | decision | why
    -----------------------|----------|-----------------------------------------------------------------
    messages[0].content[0] | refused  | nothing will read it again, so a write would be paid for nothing
    """
    body = request_of(source)
    planned = plan(body, next_turns=next_turns, gap_s=gap_s)
    rows = [(reason.path, reason.decision, reason.says) for reason in planned.reasons]
    caption = f"Markers for a request that {next_turns} more will follow, {gap_s:g} seconds apart"
    shown = table(rows, ("place", "decision", "why"), caption=caption)
    if write_to is not None:
        write(_markdown(body, planned, caption), write_to)
    return shown


def _markdown(body: Mapping[str, Any], planned: MarkerPlan, caption: str) -> str:
    faults = [f"`{fault.path}`: {fault.message} [{fault.rule}]" for fault in validate(body)]
    return page(
        "Marker plan",
        f"{caption}. Places, counts and reasons only; no text is in this file.",
        listed([f"`{reason.path}`: {reason.decision}; {reason.says}" for reason in planned.reasons]),
        section("What the API would refuse today", faults or ["nothing"]),
        ask=(
            "Which of these blocks changes on every turn, and does anything that grows stand behind it?",
            "How long are our pauses, from start to start? Count those above five minutes.",
            "Can one turn add 20 blocks or more? Then the end of the request before needs a marker too.",
            "Do we log both cache counters, so that two zeros are seen?",
        ),
    )
