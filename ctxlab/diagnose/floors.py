"""Both counters are 0: nothing was marked, or too little.

Models: markers, the model's minimum, the size of the marked prefix (known, counted in the text, or bounded by
the total).
Does not model: what happens when something is stored (:mod:`ctxlab.diagnose.judging`).
Source: prompt-caching page, 2026-08: below the minimum nothing is cached, without an error; no other rule
leaves both counters at 0 in a request with a marker.
"""

from __future__ import annotations

from functools import cache

from ctxlab import tokens
from ctxlab.catalogue import models
from ctxlab.diagnose.findings import Findings
from ctxlab.diagnose.record import Record
from ctxlab.diagnose.sketch import Sketch, model_named
from ctxlab.diagnose.tracking import Tracker
from ctxlab.diagnose.verdicts import Cause
from ctxlab.usage import Usage


def nothing_stored(tracker: Tracker, record: Record, sketch: Sketch, usage: Usage, found: Findings) -> None:
    """Say why both counters of a request that was seen are 0: no marker, or a prefix too short."""
    layout, total = sketch.layout, usage.total_input_tokens
    floor = layout.model.min_cacheable_tokens
    least = floor if floor is not None else smallest_floor()
    is_short = total < least
    if not layout.markers:
        found.add(
            Cause("no marker", "nothing is marked, so nothing is read and nothing is written", code="CTX403")
        )
        if is_short:
            found.add(
                _below(f"the whole prompt has {total:,} tokens, {layout.model.id} caches from {least:,}")
            )
        return
    last = layout.markers[-1].position
    place = layout.place(last)
    if is_short:
        found.add(_below(f"{total:,} tokens in all, {layout.model.id} caches from {least:,}", place))
        return
    if floor is None:
        found.lack(f"nobody states the minimum of {layout.model.id}", "catalogue.min_cacheable_tokens")
        return
    size = tracker.size_of(record, last)
    if size is None:
        size = _estimate(sketch, usage, last)
        if size is not None and size * 2 // 3 >= floor:
            told = f"about {size:,} tokens up to {place} are more than {floor:,}, and nothing was stored"
            found.lack(told, record.place(f"tokens up to {place}"))
            return
    elif size >= floor:
        found.add(
            Cause("provider-side miss", f"{size:,} tokens up to {place} were not stored this time", place)
        )
        return
    told = "" if size is None else f"about {size:,} tokens up to there; "
    found.add(
        _below(f"{told}{layout.model.id} caches from {floor:,}, and no other rule leaves both at 0", place)
    )


def nothing_stored_unseen(record: Record, usage: Usage, found: Findings) -> None:
    """The same for a request that was not seen, from its total alone."""
    total = usage.total_input_tokens
    floor = None if record.model_id is None else model_named(record.model_id).min_cacheable_tokens
    least = smallest_floor() if floor is None else floor
    if total < least:
        told = f"{total:,} tokens in all, {record.model_id or 'every model'} caches from {least:,}"
        found.add(Cause("below floor", told, code="CTX404"))
    else:
        found.lack("whether anything was marked is not known", record.place("request"))


def _below(says: str, path: str | None = None) -> Cause:
    return Cause("below floor", says, path, "CTX404")


def _estimate(sketch: Sketch, usage: Usage, position: int) -> int | None:
    """About how many tokens there are up to a position: the counted share of the total. None without text."""
    prompt = sketch.prompt
    if prompt is None:
        return None
    path = sketch.layout.positions[position].path
    at = next((i for i, block in enumerate(prompt.blocks) if block.path == path), None)
    if at is None:
        return None
    known = sketch.layout.model.price_history
    vocabulary = sketch.layout.model.vocabulary
    counted = tokens.count(prompt, sketch.layout.model if known else None, vocabulary=vocabulary)
    behind = counted.total - counted.cumulative[at]
    if at == len(prompt.blocks) - 1:
        return usage.total_input_tokens - behind
    return usage.total_input_tokens * counted.cumulative[at] // max(counted.total, 1)


@cache
def smallest_floor() -> int:
    """The fewest tokens any model of the catalogue stores."""
    return min(model.min_cacheable_tokens for model in models() if model.min_cacheable_tokens is not None)
