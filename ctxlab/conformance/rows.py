"""Recorded rows as the replay takes them: in their order, those that can be replayed, as the model saw them.

Models: the time line of a source; which rows have a marker; why a marked row cannot be replayed; thinking
that a model does not read any more.
Does not model: sizes (:mod:`ctxlab.conformance.sizes`) or the cache.
Source: ``data/recordings/README.md`` for the format; thinking page, 2026-08.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxlab.catalogue import get_model
from ctxlab.effective import unread
from ctxlab.errors import UnknownModelError
from ctxlab.recordings import Exchange

_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_UNTIMED_GAP_S = 7200.0  # longer than any entry lives: between sequences nothing is known to be alive


def in_time(rows: Sequence[Exchange]) -> list[tuple[float, Exchange]]:
    """Rows in the order they were sent, with their time in seconds.

    Sequences without times come last, each longer after the one before than entries live; their rows follow
    each other at once.
    """
    sequences: dict[str, list[Exchange]] = {}
    for row in rows:
        sequences.setdefault(row.sequence, []).append(row)
    timed: list[tuple[float, Exchange]] = []
    untimed: list[list[Exchange]] = []
    for own in sequences.values():
        own.sort(key=lambda row: row.step)
        at_s = next((row.recorded_at.timestamp() for row in own if row.recorded_at is not None), None)
        if at_s is None:
            untimed.append(own)
            continue
        for row in own:
            if row.recorded_at is not None:
                at_s = max(at_s, row.recorded_at.timestamp())
            timed.append((at_s, row))
    timed.sort(key=lambda one: one[0])
    now_s = timed[-1][0] if timed else 0.0
    for own in untimed:
        now_s += _UNTIMED_GAP_S
        timed += [(now_s + i, row) for i, row in enumerate(own)]
        now_s += len(own)
    return timed


def why_excluded(row: Exchange) -> str | None:
    """The closed list's reason why a row cannot be replayed; None for a row that can."""
    if row.error is not None or row.status not in (None, 200):
        return "error response"
    if row.usage is None:
        return "no usage"
    try:
        model = get_model(row.model_id or "")
    except UnknownModelError:
        return "unknown model"
    if any(block.sha256 is None for block in row.blocks):
        return "digest missing"
    summarised = any(one.type == "compaction" for one in row.usage.iterations)
    if summarised or any(block.type == "compaction" for block in row.blocks):
        return "compaction"
    if row.applied_edits:
        return "context edited"
    floor = model.min_cacheable_tokens
    # a sum below the floor says of each of its prompts that it is
    if sums_prompts(row) and (floor is None or row.usage.total_input_tokens >= floor):
        return "server-tool loop"
    return None


def sums_prompts(row: Exchange) -> bool:
    """Whether the usage of a row adds up several prompts, as a server-tool loop's does."""
    usage = row.usage
    if usage is None:
        return False
    ran = any(kind.endswith("_tool_result") or kind in _SERVER_CALLS for kind in row.content_types)
    return ran or "context-is-a-sum" in usage.flags or len(usage.iterations) > 1


def is_marked(row: Exchange) -> bool:
    """Whether a row asks for caching, on a block, inside a result or at its top."""
    return row.parameters.get("cache_control") is not None or any(
        one.cache_control is not None for block in row.blocks for one in (block, *block.parts)
    )


def kept(row: Exchange) -> list[int]:
    """Blocks that the model sees; some drop thinking when a new turn of the user begins."""
    gone = unread(row.blocks, get_model(row.model_id or ""))
    return [i for i in range(len(row.blocks)) if i not in gone]
