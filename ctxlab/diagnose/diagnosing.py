"""Calls that are over: put in the order of their events, followed, and judged.

Models: starts and first bytes in time; where times are missing, the order of the list, one call after the
other.
Does not model: verdicts (:mod:`ctxlab.diagnose.judging`).
Source: own construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxlab.cache import CacheRules
from ctxlab.diagnose.exchange import Exchange
from ctxlab.diagnose.judging import judge
from ctxlab.diagnose.reasons import read_edits, read_reason
from ctxlab.diagnose.record import Record
from ctxlab.diagnose.sketch import Sketch
from ctxlab.diagnose.tracking import Tracker
from ctxlab.diagnose.verdicts import Diagnosis
from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem


def diagnose(exchanges: Iterable[Exchange], *, rules: CacheRules | None = None) -> tuple[Diagnosis, ...]:
    """Why each call read from the cache what it read, in the order given.

    Calls of several conversations may be mixed: each is compared with the one it most likely goes on from
    (one that it holds whole and continues, else the one whose messages it shares most, else the longest
    common prefix). Where times are missing, calls are taken to have been made one after the other, and
    whatever depends on a time is *unknown*. A request that cannot be read is treated as missing, with a note.
    ``rules`` are the cache's switches.

    Raises :class:`InvalidArgumentError` for what is not an :class:`Exchange`.

    >>> ask = {"model": "claude-opus-5-5", "cache_control": {"type": "ephemeral"}}
    >>> first = ask | {"messages": [{"role": "user", "content": "It is 10:41:07. Hello!"}]}
    >>> second = ask | {"messages": [{"role": "user", "content": "It is 10:41:09. Hello!"}]}
    >>> written = {"input_tokens": 3, "cache_creation_input_tokens": 900, "output_tokens": 9}
    >>> calls = [Exchange(first, written, 0.0, 1.0), Exchange(second, written, 2.0, 3.0)]
    >>> for one in diagnose(calls):
    ...     print(one.verdict, one.path, one.code)
    cold start None None
    prefix changed messages[0].content CTX101
    """
    rows = list(exchanges)
    _check(rows)
    switches = rules or CacheRules()
    tracker = Tracker(switches)
    records = [_record(i, row, switches) for i, row in enumerate(rows)]
    found: dict[int, Diagnosis] = {}
    for event in _events(rows):
        record, row = records[event.number], rows[event.number]
        if not event.ends:
            tracker.start(record, event.at_s)
            continue
        if row.usage is None:
            tracker.failed(record)
        else:
            tracker.answered(record, row.usage, event.at_s)
        found[event.number] = judge(tracker, record)
        tracker.close(record)
        tracker.remember_figures(record)
    return tuple(found[i] for i in range(len(rows)))


class _Event(NamedTuple):
    at_s: float
    number: int
    ends: bool


def _events(rows: Sequence[Exchange]) -> list[_Event]:
    """Starts and first bytes in order; one without a time happens right after the one before it."""
    events: list[_Event] = []
    now_s = 0.0
    for i, row in enumerate(rows):
        start_s = row.started_s if row.started_s is not None else now_s
        end_s = row.responded_s if row.responded_s is not None else start_s
        if row.started_s is None and row.responded_s is not None:
            start_s = min(max(now_s, 0.0), end_s) if now_s <= end_s else end_s
        end_s = max(start_s, end_s)
        events += [_Event(start_s, i, False), _Event(end_s, i, True)]
        now_s = max(now_s, start_s) if row.responded_s is None else max(now_s, end_s)
    return sorted(events)


def _record(index: int, row: Exchange, rules: CacheRules) -> Record:
    record = Record(
        index,
        index,
        started_s=row.started_s,
        responded_s=row.responded_s,
        model_id=row.model,
        workspace=row.workspace,
        conversation=row.conversation,
        compacted=row.compacted,
        response_id=row.response_id,
        reason=read_reason(row.cache_miss_reason),
        applied=read_edits(row.applied_edits),
    )
    if isinstance(row.request, Sketch):
        record.sketch = row.request
    elif row.request is not None:
        try:
            record.sketch = Sketch.from_request(
                row.request, model=row.model, workspace=row.workspace or "", rules=rules
            )
        except CtxlabError as error:
            record.unreadable = error.problems
    if record.sketch is not None:
        record.model_id = record.sketch.layout.model.id
    return record


def _check(rows: Sequence[Exchange]) -> None:
    problems = [
        Problem(f"exchanges[{i}]", "exchange", f"is of type {type(row).__name__}", "give an Exchange")
        for i, row in enumerate(rows)
        if not isinstance(row, Exchange)
    ]
    for i, row in enumerate(rows):
        if not isinstance(row, Exchange):
            continue
        for name in ("started_s", "responded_s"):
            value = getattr(row, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, float)) or value != value
            ):
                told = f"is {value!r}, not a time in seconds"
                problems.append(Problem(f"exchanges[{i}].{name}", "seconds", told, "give a number, or None"))
    if problems:
        raise InvalidArgumentError(problems)
