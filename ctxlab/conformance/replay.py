"""Recorded requests, gone through in order with the cache of this house: what it says, what the API said.

Models: sources one by one, their rows in time, one verdict for each marked row.
Does not model: text. A row's own split between reads and writes is never an input. Where the rules need a
figure that nothing before the row tells, the row reveals it: that is *learned*, told apart from what was
predicted, and holds from then on in every row of the same source.
Source: ``data/recordings/README.md`` for the format, ``ctxlab/cache_rules.toml`` for the rules.

A row is predicted when nothing was taken from its answer. Every figure of a row that is learned or noise is
compared too, once what was taken from it is known; one that differs makes the row wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ctxlab.conformance.compactions import compactions
from ctxlab.conformance.question import Question
from ctxlab.conformance.rows import in_time, is_marked, why_excluded
from ctxlab.conformance.source import Course, Source
from ctxlab.conformance.verdict import Replay, Verdict
from ctxlab.recordings import Exchange


def replay(rows: Iterable[Exchange]) -> Replay:
    """Go through ``rows`` (any order; sequences are put in order by their steps).

    >>> from ctxlab.recordings import sequences
    >>> replay(sequences()["openllmetry/test_anthropic_prompt_caching_legacy"]).summary
    'predicted 2/2 exact, learned 0, excluded 0, noise 0'
    """
    rows = tuple(rows)
    by_source: dict[str, list[Exchange]] = {}
    for row in rows:
        by_source.setdefault(str(row.source.repo or row.sequence), []).append(row)
    found = {v.row: v for name, own in by_source.items() for v in _verdicts(Source(name), own)}
    others = Counter(map(_kind, rows))
    return Replay(
        verdicts=tuple(found[row.id] for row in rows if row.id in found),
        unmarked=others["unmarked"],
        counted=others["counted"],
        reported=others["reported"],
        compactions=compactions(rows),
    )


def _kind(row: Exchange) -> str:
    if not row.request_known:
        return row.evidence
    if row.endpoint == "count_tokens":
        return "counted"
    return "marked" if is_marked(row) else "unmarked"


def _verdicts(source: Source, rows: Sequence[Exchange]) -> Iterator[Verdict]:
    """Some sources store one answer in two sequences; it is judged once."""
    courses: dict[str, Course] = {}
    judged: dict[object, Verdict | None] = {}
    for at_s, row in in_time(rows):
        source.wait_until(at_s)
        course = courses.setdefault(row.sequence, Course())
        course.go_to(row.step)
        answer: object = row.id
        if row.recorded_at is not None and row.usage is not None and is_marked(row):
            digests = tuple((block.sha256, block.role) for block in row.blocks)
            answer = (row.recorded_at, digests, repr(row.parameters), row.usage)
        if answer not in judged:
            judged[answer] = _verdict(source, course, row)
        verdict = judged[answer]
        if verdict is not None:
            yield replace(verdict, row=row.id)


def _verdict(source: Source, course: Course, row: Exchange) -> Verdict | None:
    """None for a row that only tells sizes, or nothing."""
    usage, kind, reason = row.usage, _kind(row), why_excluded(row)
    cached = usage is not None and usage.cache_read_input_tokens + usage.cache_creation_input_tokens > 0
    if not row.request_known:
        unseen = cached and row.evidence != "reported"
        return Verdict(row.id, "excluded", "request not recorded", recorded=usage) if unseen else None
    if kind == "marked" and (usage is None or reason is not None):
        if reason not in ("error response", "unknown model"):
            course.lose_track()
            source.suspect(row)
        return Verdict(row.id, "excluded", reason or "no usage", recorded=usage)
    if kind == "marked" and usage is not None:
        return Question(source, course, row, usage).answer()
    if kind == "unmarked" and reason is not None:
        return None
    if cached:
        return Verdict(row.id, "wrong", "entries-at-markers", "it has no marker", None, usage)
    source.hear(row, course)
    return None
