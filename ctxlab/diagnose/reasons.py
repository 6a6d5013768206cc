"""The API's own diagnosis of a miss, beside ours.

Models: the six reasons, a comparison that is still running, and whether a reason fits our verdict.
Does not model: how the API compares (:mod:`ctxlab.emulator.diagnostics` does).
Source: anthropic SDK 2.14.0, types/diagnostics.py and types/cache_miss_*.py; cache-diagnostics page, 2026-08:
the API compares the structure of two requests and says nothing about whether the cache was read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxlab.diagnose.verdicts import Agreement, Cause
from ctxlab.prompt import Segment, plain

_SILENT = frozenset({"previous_message_not_found", "pending", "unavailable"})
_PARTS: Mapping[str, Segment] = {
    "tools_changed": "tools",
    "system_changed": "system",
    "messages_changed": "messages",
}


class CacheMissReason(NamedTuple):
    """What the API said: the type of a reason (``pending`` while it compares) and its estimate of tokens."""

    type: str
    missed_tokens: int | None = None


def read_reason(told: Any) -> CacheMissReason | None:
    """A reason in any of its forms: the ``diagnostics`` of an answer, the reason itself, or its type.

    >>> read_reason({"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 9}})
    CacheMissReason(type='tools_changed', missed_tokens=9)
    >>> read_reason({"cache_miss_reason": None}).type, read_reason(None)
    ('pending', None)
    """
    told = plain(told)
    if isinstance(told, Mapping) and "cache_miss_reason" in told:
        told = plain(told["cache_miss_reason"])
        if told is None:
            return CacheMissReason("pending")
    if isinstance(told, str):
        return CacheMissReason(told)
    if isinstance(told, Mapping) and isinstance(told.get("type"), str):
        missed = told.get("cache_missed_input_tokens")
        return CacheMissReason(told["type"], missed if isinstance(missed, int) else None)
    return None


def read_edits(told: Any) -> tuple[str, ...] | None:
    """Applied edits, each as JSON; None where nobody says. From an answer's list, or its management object.

    >>> read_edits({"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]})
    ('{"cleared_tool_uses": 2, "type": "clear_tool_uses_20250919"}',)
    """
    told = plain(told)
    if isinstance(told, Mapping):
        told = told.get("applied_edits")
    if not isinstance(told, (list, tuple)):
        return None
    return tuple(json.dumps(plain(one), sort_keys=True, default=str) for one in told)


class Compared(NamedTuple):
    """What we know of the two requests: both texts or digests (``known``), the same model and speed, the part
    where they part (None: the later one only goes on), and whether it was these two that the API compared."""

    known: bool
    same_model: bool | None
    parts_at: Segment | None
    same_pair: bool


def agreement(reason: CacheMissReason | None, causes: tuple[Cause, ...], pair: Compared) -> Agreement | None:
    """Whether a reason fits: it *agrees*, is *compatible* with what we know, or *contradicts* it.

    >>> pair = Compared(True, True, "system", True)
    >>> agreement(CacheMissReason("tools_changed"), (), pair)
    'contradicts'
    """
    if reason is None:
        return None
    if reason.type in _SILENT:
        ours = {cause.verdict for cause in causes}
        return "agrees" if reason.type == "unavailable" and "parameter changed" in ours else "says nothing"
    if not pair.same_pair:
        return "compatible"
    if reason.type == "model_changed":
        if pair.same_model is None:
            return "compatible"
        return "contradicts" if pair.same_model else "agrees"
    part = _PARTS.get(reason.type)
    if part is None:
        return "says nothing"
    if pair.same_model is False:
        return "contradicts"  # the model is compared first
    if not pair.known:
        shortened = any(cause.verdict == "history shortened" for cause in causes)
        return "agrees" if shortened and part == "messages" else "compatible"
    return "agrees" if pair.parts_at == part else "contradicts"
