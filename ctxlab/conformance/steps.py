"""Why each step of a recorded session read what it read: one cause a step, or none where figures show none.

Models: the step from one logged request to the next by its cache figures, its times and the log's own flags.
Does not model: what was in the prompts (a session's log shows only what was added).
Source: usage fields and lifetimes, prompt-caching page, 2026-08; agent sessions in ``data/recordings``, where
rewinds, expiries, compactions and misses look alike in a row of figures until times and totals are looked at.

A cause is given only if no figure of the step speaks against it. A request that only adds to its history is
longer than the one before it; so a shorter one has lost some, whatever else happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ctxlab.cache import LIFETIME_S
from ctxlab.recordings import Session, Turn

Cause = Literal[
    "identity",
    "unlogged request in between",
    "expired",
    "compaction",
    "rewind",
    "model switch",
    "near-hit",
    "no evidence",
]

CAUSES: dict[Cause, str] = {
    "identity": "it reads exactly what the step before read and wrote",
    "unlogged request in between": "it reads more than the step before left, so another request wrote",
    "expired": "it starts later than the entries live and reads no more than the session began with",
    "compaction": "the log says the history was replaced by a summary, and the prompt is shorter",
    "rewind": "the prompt is shorter than the one before, so its history was cut back",
    "model switch": "another model is asked, which has entries of its own",
    "near-hit": "it reads at least 98 % of what the step before left",
    "no evidence": "nothing recorded says why it read less",
}

_NEAR_HIT_PERCENT = 98


@dataclass(frozen=True, slots=True)
class Step:
    """From one turn of a session to the next.

    ``left_tokens`` is what the turn before read and wrote, ``interval_s`` the time from its start to the
    start of this one (from its end where starts were not logged), ``lives_s`` how long what it left lives
    (None where the log does not say, so that only an hour is long enough).
    """

    session: str
    index: int
    cause: Cause
    read_tokens: int
    left_tokens: int
    total_tokens: int
    total_before_tokens: int
    interval_s: float | None
    lives_s: int | None
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.session}#{self.index}"

    @property
    def outlived(self) -> bool:
        """Whether it starts after the entries of the step before have ended for certain."""
        longest = LIFETIME_S["1h"] if self.lives_s is None else self.lives_s
        return self.interval_s is not None and self.interval_s > longest


def steps(sessions: Iterable[Session]) -> tuple[Step, ...]:
    """Every step of every session, each with its cause.

    >>> from ctxlab.recordings import session
    >>> {step.cause for step in steps([session("cli/session-375d5d79")])} >= {"identity", "compaction"}
    True
    """
    return tuple(step for session in sessions for step in _steps(session))


def _steps(session: Session) -> Iterator[Step]:
    if not session.turns:
        return
    opening_tokens = session.turns[0].usage.total_input_tokens
    left_by_model: dict[str, int] = {}
    lives_s: int | None = None
    for before, now in pairwise(session.turns):
        lives_s = _lives_s(before, lives_s)
        left_by_model[before.model_id] = _left(before)
        step = Step(
            session=session.name,
            index=now.index,
            cause="no evidence",  # until a figure says more
            read_tokens=now.usage.cache_read_input_tokens,
            left_tokens=_left(before),
            total_tokens=now.usage.total_input_tokens,
            total_before_tokens=before.usage.total_input_tokens,
            interval_s=_interval_s(before, now),
            lives_s=lives_s,
            note=_note(now),
        )
        if now.model_id == before.model_id:
            cause = _cause(step, now, opening_tokens)
        else:
            cause = _cause_of_switch(step, opening_tokens, left_by_model.get(now.model_id))
        yield replace(step, cause=cause)


def _cause(step: Step, now: Turn, opening_tokens: int) -> Cause:
    read, left = step.read_tokens, step.left_tokens
    shorter = step.total_tokens < step.total_before_tokens
    if read == left:
        return "identity"
    if read > left:
        return "unlogged request in between"
    if now.after_compaction and shorter:
        return "compaction"
    if step.outlived and read <= opening_tokens:
        return "expired"
    if shorter and not step.outlived:
        return "rewind"
    if read * 100 >= left * _NEAR_HIT_PERCENT:
        return "near-hit"
    return "no evidence"


def _cause_of_switch(step: Step, opening_tokens: int, own_left_tokens: int | None) -> Cause:
    """What another model reads is its own: what it left when it was asked last, or what others left of it."""
    if step.read_tokens <= opening_tokens or step.read_tokens == own_left_tokens:
        return "model switch"
    if step.read_tokens > step.left_tokens:
        return "unlogged request in between"
    return "no evidence"


def _left(turn: Turn) -> int:
    return turn.usage.cache_read_input_tokens + turn.usage.cache_creation_input_tokens


def _lives_s(turn: Turn, before_s: int | None) -> int | None:
    """The lifetime of the deepest entry a turn left: the short one where it wrote both (long ones first)."""
    written = turn.usage.cache_creation
    if written.unknown_ttl_input_tokens:
        return None
    if written.ephemeral_5m_input_tokens:
        return LIFETIME_S["5m"]
    return LIFETIME_S["1h"] if written.ephemeral_1h_input_tokens else before_s


def _interval_s(before: Turn, now: Turn) -> float | None:
    if before.requested_at is not None and now.requested_at is not None:
        return (now.requested_at - before.requested_at).total_seconds()
    return now.gap_s


def _note(turn: Turn) -> str:
    """What the API's own diagnosis of a miss says."""
    reason = (turn.diagnostics or {}).get("cache_miss_reason") or {}
    told = reason.get("type") if isinstance(reason, dict) else None
    return f"diagnosis: {told}" if told else ""
