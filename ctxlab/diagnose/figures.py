"""A verdict from counters, times and models alone, where requests are not known.

Models: one row after another of a log: what was left by the row before against what is read now; totals that
shrink, models that change, starts that lie too far apart. A cause is given only if no figure of the row
speaks against it.
Does not model: what was in the prompts: a miss that none of this shows stays unknown, and the verdict names
the requests as missing.
Source: usage fields and lifetimes, prompt-caching page, 2026-08; agent sessions in ``data/recordings``, where
rewinds, expiries, summaries and misses look alike in a row of figures until times and totals are looked at.
"""

from __future__ import annotations

from ctxlab.cache import LIFETIME_S
from ctxlab.diagnose.findings import Findings
from ctxlab.diagnose.floors import nothing_stored_unseen
from ctxlab.diagnose.record import Record
from ctxlab.diagnose.tracking import Tracker
from ctxlab.diagnose.verdicts import Cause
from ctxlab.usage import Usage

NEAR_HIT_PERCENT = 98


def judge(tracker: Tracker, record: Record, usage: Usage, found: Findings) -> None:
    """Add to ``found`` what figures, times and models of the calls show."""
    read = usage.cache_read_input_tokens
    name = record.conversation
    before = tracker.previous.get(name)
    if not read + usage.cache_creation_input_tokens:
        nothing_stored_unseen(record, usage, found)
        return
    if before is None or before.usage is None:
        return
    left = before.left_tokens
    if left is None:
        if not read:
            found.lack(f"how much #{before.index} left is not known", before.place("usage.iterations"))
        return
    found.compared_with, found.left_tokens = before.index, left
    if read >= left:
        _more_than_left(read, left, found)
        return
    if not _another_model(tracker, record, before, read, found):
        return
    shorter = usage.total_input_tokens < left
    summarised = record.compacted and usage.total_input_tokens < before.usage.total_input_tokens
    if summarised or (shorter and read):
        told = (
            f"{usage.total_input_tokens:,} tokens in all, fewer than the {left:,} that #{before.index} left"
        )
        if summarised:
            told = f"the log says that a summary took the place of its history; {told}"
        found.add(Cause("history shortened", told))
    _expired(tracker, record, before, read, found)
    if found.causes:
        return
    if read * 100 >= left * NEAR_HIT_PERCENT:
        found.notes.append(f"nearly all: {left - read:,} tokens less than #{before.index} left")
        return
    times = [one.place("started_s") for one in (before, record) if one.started_s is None]
    requests = [one.place("request") for one in (before, record) if one.sketch is None]
    lives = [before.place("usage.cache_creation")] if tracker.lives_s.get(name) is None else []
    found.lack(
        f"of the {left:,} tokens that #{before.index} left, {read:,} were read", *times, *requests, *lives
    )


def _more_than_left(read: int, left: int, found: Findings) -> None:
    if not left:
        found.notes.append("what it read was stored before by calls that are not here")
    elif read > left:
        found.notes.append(f"{read - left:,} tokens more than was left: a call that is not here wrote them")


def _another_model(tracker: Tracker, record: Record, before: Record, read: int, found: Findings) -> bool:
    """Whether to look on: False where another model explains it all, as a hit of its own entries."""
    if record.model_id is None or before.model_id is None or record.model_id == before.model_id:
        return True
    own = tracker.left_by_model.get((record.conversation, record.model_id))
    if read and read == own:
        found.notes.append(f"it read what {record.model_id} itself had left; #{before.index} asked another")
        found.left_tokens = own
        return False
    told = f"#{before.index} asked {before.model_id}, this one {record.model_id}"
    found.add(Cause("model changed", told, "model", "CTX301", ("model",)))
    return True


def _expired(tracker: Tracker, record: Record, before: Record, read: int, found: Findings) -> None:
    """Starts that lie further apart than anything lives, and nothing of this session's own was read."""
    if record.started_s is None or before.started_s is None:
        return
    lives_s = tracker.lives_s.get(record.conversation) or LIFETIME_S["1h"]
    opening = tracker.opening_tokens.get(record.conversation, 0)
    apart_s = record.started_s - before.started_s
    if apart_s >= lives_s and read <= opening:
        told = f"it started {apart_s:,.0f} s after #{before.index}; what that left lives {lives_s:,} s"
        found.add(Cause("expired", told))
