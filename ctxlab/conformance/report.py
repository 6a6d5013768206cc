"""What a replay found, for people and for programs.

Models: the page that ``ctxlab conformance`` prints and the object that ``--json`` prints.
Does not model: the finding (:mod:`ctxlab.conformance.replay`, :mod:`ctxlab.conformance.steps`).
Source: none; the words of causes and reasons stand in the tables of those modules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ctxlab.conformance.compactions import Compaction
from ctxlab.conformance.steps import CAUSES, Step
from ctxlab.conformance.verdict import EXCLUSIONS, LESSONS, NOISE, Outcome, Replay, Verdict
from ctxlab.usage import Usage

_REASONS: dict[Outcome, Mapping[str, str]] = {"learned": LESSONS, "excluded": EXCLUSIONS, "noise": NOISE}
_OUTCOMES: tuple[Outcome, ...] = ("predicted", "learned", "excluded", "noise", "wrong")


NOTHING_CHECKED = "nothing could be checked: no row holds both a request and what was answered to it"


def checked_nothing(replay: Replay, steps: Sequence[Step] | None) -> bool:
    """Whether no row was held against the rules (counted and reported ones are only listed), and no step."""
    compared = replay.unmarked + len(replay.verdicts) - len(replay.of("excluded")) + len(replay.compactions)
    return not compared and not steps


def page(replay: Replay, steps: Sequence[Step] | None) -> str:
    """Everything that was taken, left out or wrong, row by row; the last line is the summary."""
    lines = [*_rows(replay), *_compactions(replay.compactions)]
    if steps is not None:
        lines += ["", *_steps(steps)]
    if checked_nothing(replay, steps):
        lines += ["", NOTHING_CHECKED]
    return "\n".join([*lines, "", replay.summary])


def as_object(replay: Replay, steps: Sequence[Step] | None) -> dict[str, Any]:
    """The same for ``json.dumps``: every marked row, and every step that is not plain identity."""
    return {
        "summary": replay.summary,
        "recordings": {
            "marked": len(replay.verdicts),
            "unmarked": replay.unmarked,
            "counted": replay.counted,
            "reported": replay.reported,
            "outcomes": {name: len(replay.of(name)) for name in _OUTCOMES},
            "predicted_figures": sum(verdict.predicted_figures for verdict in replay.verdicts),
            "rows": [_row(verdict) for verdict in replay.verdicts],
            "compactions": [_compaction(one) for one in replay.compactions],
        },
        "traces": None if steps is None else _traces(steps),
    }


def _rows(replay: Replay) -> Iterator[str]:
    marked, excluded = len(replay.verdicts), len(replay.of("excluded"))
    yield f"{marked:,} requests with a marker, {_percent(marked - excluded, marked)} replayed"
    yield f"{replay.unmarked:,} without one, {replay.counted:,} only counted, {replay.reported:,} reported"
    figures = sum(verdict.predicted_figures for verdict in replay.verdicts)
    yield f"{figures:,} figures were known before the row answered; each was compared with what it answered"
    for outcome, table in _REASONS.items():
        found = replay.of(outcome)
        for reason, says in table.items():
            yield from _listed(f"{outcome}: {reason} ({says})", [v for v in found if v.reason == reason])
    for verdict in replay.of("wrong"):
        yield ""
        yield f"WRONG {verdict.row} [{verdict.reason}]: {verdict.detail}"
        yield f"  predicted {_split(verdict.expected)}; recorded {_split(verdict.recorded)}"
        if verdict.rules:
            yield f"  rests on {', '.join(verdict.rules)}"


def _compactions(rows: Sequence[Compaction]) -> Iterator[str]:
    if not rows:
        return
    figures = [figure for one in rows for figure in one.predicted]
    right = sum(figure.predicted == figure.recorded for figure in figures)
    yield ""
    yield f"{len(rows):,} requests with a compaction, {right:,}/{len(figures):,} of their figures predicted"
    yield "  given (scripted: nobody can predict what is written)"
    for one in rows:
        yield f"    {one.row}: {', '.join(f'{name} {tokens:,}' for name, tokens in one.given.items())}"
    yield "  predicted"
    for one in rows:
        told = ", ".join(f"{figure.name} {figure.predicted:,}" for figure in one.predicted)
        yield f"    {one.row}: {told}"
    yield "  learned"
    for one in rows:
        yield from (f"    {one.row}: {told}" for told in one.learned)
    for one in rows:
        for figure in one.wrong:
            yield f"  WRONG {one.row}: {figure.name} {figure.predicted:,}, recorded {figure.recorded:,}"


def _compaction(one: Compaction) -> dict[str, Any]:
    return {
        "id": one.row,
        "given": dict(one.given),
        "predicted": [asdict(figure) for figure in one.predicted],
        "learned": list(one.learned),
    }


def _listed(head: str, verdicts: Sequence[Verdict]) -> Iterator[str]:
    if verdicts:
        yield ""
        yield f"{len(verdicts)} {head}"
        yield from (f"  {v.row}{': ' if v.detail else ''}{v.detail}" for v in verdicts)


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    counts = Counter(step.cause for step in steps)
    with_a_cause = len(steps) - counts["no evidence"]
    yield f"{len(steps):,} steps of recorded sessions, {_percent(with_a_cause, len(steps))} with a cause"
    for cause, says in CAUSES.items():
        yield f"  {counts[cause]:6,} {cause}: {says}"
    for step in steps:
        if step.cause == "no evidence":
            yield f"         {_told(step)}"


def _told(step: Step) -> str:
    pause = "" if step.interval_s is None else f", {step.interval_s:,.0f} s after the step before"
    note = f" ({step.note})" if step.note else ""
    return f"{step.id}: read {step.read_tokens:,} of {step.left_tokens:,}{pause}{note}"


def _traces(steps: Sequence[Step]) -> dict[str, Any]:
    counts = Counter(step.cause for step in steps)
    return {
        "steps": len(steps),
        "causes": {cause: counts[cause] for cause in CAUSES},
        "rows": [asdict(step) | {"id": step.id} for step in steps if step.cause != "identity"],
    }


def _row(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.row,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "detail": verdict.detail,
        "predicted": _figures(verdict.expected),
        "recorded": _figures(verdict.recorded),
        "predicted_figures": verdict.predicted_figures,
        "rules": list(verdict.rules),
    }


def _figures(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    written = usage.cache_creation
    return {
        "input_tokens": usage.input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "ephemeral_5m_input_tokens": written.ephemeral_5m_input_tokens,
        "ephemeral_1h_input_tokens": written.ephemeral_1h_input_tokens,
    }


def _split(usage: Usage | None) -> str:
    if usage is None:
        return "nothing"
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    return f"read {read:,}, written {written:,}, fresh {usage.input_tokens:,}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"
