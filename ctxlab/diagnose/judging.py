"""From counters, times, markers and bytes to a verdict: the document's three steps, cheap ones first.

Models: (1) both counters; (2) floor, markers, lookback, visibility, lifetime, workspace, model, parameters;
(3) the first difference in render order. Every cause that suffices by itself is told, and a verdict is given
only where something shows it. Entries are those that usage proved to exist.
Does not model: entries written by calls nobody handed in: reading more than was left is a hit.
Source: both documents' part on a dead cache; ``ctxlab/cache_rules.toml`` for the rules.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ctxlab.cache import Scope
from ctxlab.diagnose import figures
from ctxlab.diagnose.comparing import Comparison
from ctxlab.diagnose.figures import NEAR_HIT_PERCENT
from ctxlab.diagnose.findings import Findings
from ctxlab.diagnose.floors import nothing_stored
from ctxlab.diagnose.reasons import Compared, agreement
from ctxlab.diagnose.record import Held, Record
from ctxlab.diagnose.scopes import out_of_reach, scope_causes
from ctxlab.diagnose.sketch import Sketch
from ctxlab.diagnose.tracking import Tracker, of_the_prompt, sums_prompts
from ctxlab.diagnose.verdicts import ORDER, VERDICTS, Cause, Diagnosis
from ctxlab.usage import Usage


def judge(tracker: Tracker, record: Record) -> Diagnosis:
    """The verdict on a call that was answered (or whose answer is not known)."""
    found = Findings()
    usage = None if record.usage is None else of_the_prompt(record.usage)
    if usage is not record.usage:
        found.notes.append("the server wrote a summary first; the counters are those of the prompt as sent")
    for problem in record.unreadable:
        found.notes.append(f"the request could not be read: {problem}")
    if usage is None:
        found.lack("nobody says what it read and wrote", record.place("usage"))
    elif sums_prompts(usage) and usage.cache_read_input_tokens:
        found.notes.append("its counters add up several prompts; something was read")
    elif record.sketch is None:
        figures.judge(tracker, record, usage, found)
    elif not usage.cache_read_input_tokens + usage.cache_creation_input_tokens:
        nothing_stored(tracker, record, record.sketch, usage, found)
    else:
        _with_request(tracker, record, record.sketch, usage, found)
    return _told(record, found)


# --- steps 2 and 3: something was stored or read


def _with_request(tracker: Tracker, record: Record, sketch: Sketch, usage: Usage, found: Findings) -> None:
    read = usage.cache_read_input_tokens
    comparison = record.compared
    wanted = _deepest(tracker, record, sketch)
    if comparison is not None and (comparison.relation != "none" or wanted is not None):
        found.compared_with = comparison.earlier.index
    if wanted is not None:
        found.left_tokens = tracker.size_of(record, wanted)
        own = _deepest(tracker, record, sketch, own_scope=True)
        # where it left the prefix of the request before, entries of others explain nothing
        is_asked_again = wanted == max((marker.position for marker in sketch.layout.markers), default=None)
        places = (own,) if _is_broken(comparison) and not is_asked_again else (wanted, own)
        for place in dict.fromkeys(places):
            if place is not None and not _was_read(tracker, record, place, read, by_own=place == own):
                _why_not_read(tracker, record, sketch, place, found)
        if is_asked_again and found.causes:
            return  # all of this very prompt was stored once
    if comparison is not None and comparison.relation == "same conversation":
        _what_changed(tracker, record, sketch, comparison, read, found)
    if found.causes:
        return
    if read:
        _explain_hit(comparison, read, found)
    elif not tracker.all_with_requests:
        figures.judge(tracker, record, usage, found)
    else:
        _explain_cold_start(comparison, found)


def _deepest(tracker: Tracker, record: Record, sketch: Sketch, *, own_scope: bool = False) -> int | None:
    """The last position of this prompt where an entry is known to have been written by another call."""
    layout = sketch.layout
    for place in range(len(layout.positions) - 1, -1, -1):
        position = layout.positions[place]
        touches = tracker.touches.at(position.digest, record)
        if own_scope:
            touches = [one for one in touches if one.scope == layout.scopes[position.tier]]
        if touches:
            return place
    return None


def _was_read(tracker: Tracker, record: Record, place: int, read: int, *, by_own: bool) -> bool:
    """Whether what was read goes up to a position, or beyond it."""
    size = tracker.size_of(record, place)
    if size is not None:
        return read >= size
    up_to = tracker.place_of(record, read)
    if up_to is not None:
        return up_to >= place
    return by_own and read > 0


def _why_not_read(tracker: Tracker, record: Record, sketch: Sketch, place: int, found: Findings) -> None:
    """Why the entry that ends at a position of this very prompt was not read."""
    layout = sketch.layout
    position, where = layout.positions[place], layout.place(place)
    mine = layout.scopes[position.tier]
    touches = tracker.touches.at(position.digest, record)
    own = [one for one in touches if one.scope == mine]
    if not own:
        _other_scope(tracker, record, touches, mine, where, found)
        return
    causes = out_of_reach(sketch, place)
    if causes:
        found.add(*causes)
        return
    cleared = _cleared(tracker, record, own[-1].index)
    if cleared is not None:
        found.add(cleared)
        _also_ended(tracker, record, own, where, found)
        return
    _by_time(tracker, record, own, where, found)


def _by_time(tracker: Tracker, record: Record, touches: Sequence[Held], where: str, found: Findings) -> None:
    state = tracker.touches.state(touches, record)
    if state.kind == "hidden":
        told = f"the answer to #{state.by}, which stores the prefix up to {where}, had not begun"
        found.add(Cause("not yet visible", told, where))
        return
    if state.kind == "ended":
        found.add(_expired(where, state.by, state.seconds))
        return
    if state.kind == "readable" and record.applied is None and record.sketch and record.sketch.clears:
        found.lack("the server may have cleared part of the prompt", record.place("applied_edits"))
        return
    if state.kind == "open":
        found.lack(f"whether the entry up to {where} was alive depends on times", *state.missing)
        return
    named = len(tracker.workspaces) > 1 or None not in tracker.workspaces
    if not named:
        found.assumed.append("exchanges[*].workspace: one and the same, as none is named")
    told = f"the same prefix up to {where}, touched by #{state.by} and in its lifetime, was not read"
    found.add(Cause("provider-side miss", told, where))


def _cleared(tracker: Tracker, record: Record, by: int) -> Cause | None:
    """The server read another prompt than was sent: what it clears ends the prefix there."""
    applied = record.applied
    if applied is None or applied == tracker.applied.get(by, ()):
        return None
    types = dict.fromkeys(str(json.loads(one).get("type")) for one in applied)
    told = f"the server applied {' and '.join(types) or 'no edit'} before the model read it, unlike in #{by}"
    return Cause("prefix changed", told, "context_management", "CTX303")


def _expired(where: str, by: int, seconds: float) -> Cause:
    told = f"the entry up to {where}, last used by #{by}, had ended {seconds:,.0f} s before"
    return Cause("expired", told, where)


def _other_scope(
    tracker: Tracker, record: Record, touches: Sequence[Held], mine: Scope, where: str, found: Findings
) -> None:
    """The same prefix is stored, for another workspace, model or set of parameters."""
    last = touches[-1]
    causes = scope_causes(last.scope, mine, where, last.index)
    if causes is None:
        unnamed = last if not last.scope[0] else record
        found.lack(f"whether the entry up to {where} is of this workspace", unnamed.place("workspace"))
        return
    found.add(*causes)
    _also_ended(tracker, record, [one for one in touches if one.scope == last.scope], where, found)


def _also_ended(
    tracker: Tracker, record: Record, touches: Sequence[Held], where: str, found: Findings
) -> None:
    """What could not be read anyway may have ended as well: two causes at once."""
    if touches:
        state = tracker.touches.state(touches, record)
        if state.kind == "ended":
            found.add(_expired(where, state.by, state.seconds))


# --- step 3: what changed


def _what_changed(
    tracker: Tracker,
    record: Record,
    sketch: Sketch,
    comparison: Comparison,
    read: int,
    found: Findings,
) -> None:
    """The loss of what the request before left, where this prompt does not hold it any more."""
    earlier = comparison.earlier
    deepest = _end_of(earlier)
    if deepest is None or comparison.cause is None or not _is_broken(comparison):
        return
    left = earlier.left_tokens
    if left is not None and read >= left:
        return
    nearly = comparison.at_the_end and read * 100 >= (left or 0) * NEAR_HIT_PERCENT
    question = comparison.at_the_end and not comparison.edited
    if (question or nearly) and read and not found.causes:
        found.notes.append(f"it ends in another question than #{earlier.index}; all before it was read")
        return
    found.left_tokens = left if found.left_tokens is None else max(left or 0, found.left_tokens)
    before = earlier.sketch
    if before is not None:
        position = before.layout.positions[deepest]
        mine = sketch.layout.scopes[position.tier]
        theirs = before.layout.scopes[position.tier]
        causes = scope_causes(theirs, mine, before.layout.place(deepest), earlier.index)
        found.add(*(causes or ()))
        touches = [one for one in tracker.touches.at(position.digest, record) if one.scope == theirs]
        found.add(comparison.cause)
        _also_ended(tracker, record, touches, before.layout.place(deepest), found)
    found.add(comparison.cause)


def _is_broken(comparison: Comparison | None) -> bool:
    """Whether the prompt of the same conversation does not hold any more what the request before left."""
    if comparison is None or comparison.relation != "same conversation":
        return False
    end = _end_of(comparison.earlier)
    return end is not None and comparison.shared <= end


def _end_of(earlier: Record) -> int | None:
    """Where the last entry of an earlier call ends; of one still running, where it will."""
    if earlier.usage is None and earlier.plan is not None and earlier.plan.billing[2]:
        return earlier.plan.billing[2] - 1
    return earlier.deepest


def _explain_hit(comparison: Comparison | None, read: int, found: Findings) -> None:
    if comparison is None or comparison.relation == "none":
        found.notes.append("what it read was stored before by calls that are not here")
    elif comparison.relation == "same beginning":
        found.notes.append(
            f"it starts another conversation; its first {comparison.shared} blocks are those of "
            f"#{comparison.earlier.index} (or its history was replaced whole)"
        )
    elif comparison.cause is not None and comparison.parts_at is not None and not found.notes:
        found.notes.append(f"a late change, behind what was read: {comparison.cause.says}")
    if found.left_tokens is not None and read > found.left_tokens:
        found.notes.append(f"{read - found.left_tokens:,} tokens more than was left by calls that are here")


def _explain_cold_start(comparison: Comparison | None, found: Findings) -> None:
    if comparison is None:
        return
    if comparison.relation == "none" and comparison.cause is not None and comparison.edited:
        found.notes.append(f"the nearest earlier call is another one: {comparison.cause.says}")
    elif comparison.cause is not None and comparison.relation == "same beginning":
        found.notes.append(
            f"the first {comparison.shared} blocks are those of #{comparison.earlier.index}, but no entry "
            "ends there: a marker on the last of them would be read"
        )


# --- the verdict


def _told(record: Record, found: Findings) -> Diagnosis:
    usage = None if record.usage is None else of_the_prompt(record.usage)
    comparison = record.compared
    causes = tuple(sorted(found.causes, key=lambda cause: ORDER.index(cause.verdict)))
    if len(causes) > 1:
        causes = tuple(cause for cause in causes if cause.verdict != "unknown")
    read = None if usage is None else usage.cache_read_input_tokens
    written = None if usage is None else usage.cache_creation_input_tokens
    if causes:
        verdict, says = causes[0].verdict, causes[0].says
    elif read:
        verdict, says = "hit", _figures(read, written or 0, found.left_tokens)
    else:
        verdict, says = "cold start", "nothing it could read had been stored"
    reason = record.reason
    return Diagnosis(
        index=record.index,
        verdict=verdict,
        says=says,
        step=VERDICTS[verdict].step,
        read_tokens=read,
        written_tokens=written,
        fresh_tokens=None if usage is None else usage.input_tokens,
        left_tokens=found.left_tokens,
        compared_with=found.compared_with,
        causes=causes,
        difference=None if comparison is None else comparison.difference,
        missing=tuple(found.missing) if verdict == "unknown" else (),
        assumed=tuple(found.assumed),
        notes=tuple(found.notes),
        api_reason=None if reason is None else reason.type,
        api_missed_tokens=None if reason is None else reason.missed_tokens,
        agreement=agreement(reason, causes, _pair(record, comparison)),
    )


def _figures(read: int, written: int, left: int | None) -> str:
    lost = 0 if left is None else max(left - read, 0)
    tail = f", {lost:,} of what was left were not" if lost else ""
    return f"{read:,} tokens were read{tail}" + (f", {written:,} written behind them" if written else "")


def _pair(record: Record, comparison: Comparison | None) -> Compared:
    if record.sketch is None or comparison is None or comparison.earlier.sketch is None:
        return Compared(False, None, None, True)
    before, now = comparison.earlier, record.sketch
    asked = now.previous_id
    same_pair = asked is None or before.response_id is None or asked == before.response_id
    speed = [one.layout.parameters_by_tier.get("system", "") for one in (comparison.earlier.sketch, now)]
    same_model = now.layout.model.id == comparison.earlier.sketch.layout.model.id and (
        _speed(speed[0]) == _speed(speed[1])
    )
    return Compared(True, same_model, comparison.parts_at, same_pair)


def _speed(parameters: str) -> object:
    return json.loads(parameters or "{}").get("speed")
