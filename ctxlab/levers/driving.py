"""Compaction driven to its end: the same rounds for a synchronous and an asynchronous client.

Models: asking, applying, asking once more after an answer without a summary or a result that is still too
large, never more often than told; a later call that fails, which costs nothing of what was achieved.
Does not model: retries of failed requests (the client's business), or when to compact
(:mod:`ctxlab.levers.policy`).
Source: own construction; field reports of 2026-02 to 2026-07 (compaction that frees too little and starts
again).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.compacting import INSTRUCTIONS, apply_compaction, compact_call
from ctxlab.levers.effect import Outcome, combined
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.levers.making import ledger_of, strings, whole_number

Create = Callable[..., Any]
CreateAsync = Callable[..., Awaitable[Any]]


def compact(create: Create, request: Mapping[str, Any], **options: Any) -> Outcome:
    """Compact a request with ``create`` (``client.messages.create``); options are those of :func:`rounds`."""
    _callable(create)
    steps = rounds(request, **options)
    call = next(steps)
    try:
        while True:
            try:
                answer = create(**call)
            except Exception as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


async def compact_async(create: CreateAsync, request: Mapping[str, Any], **options: Any) -> Outcome:
    """:func:`compact` for an asynchronous client."""
    _callable(create)
    steps = rounds(request, **options)
    call = next(steps)
    try:
        while True:
            try:
                answer = await create(**call)
            except Exception as error:
                call = steps.throw(error)
            else:
                call = steps.send(answer)
    except StopIteration as done:
        outcome: Outcome = done.value
        return outcome


def rounds(
    request: Mapping[str, Any],
    *,
    keep_turns: int = 1,
    instructions: str = INSTRUCTIONS,
    pins: Sequence[str] = (),
    max_tokens: int = 4_096,
    target_tokens: int | None = None,
    max_rounds: int = 2,
    ledger: PrefixLedger | None = None,
) -> Generator[dict[str, Any], Any, Outcome]:
    """Yields each call to make and takes its answer; returns the outcome, every call on its bill.

    It ends when the request has at most ``target_tokens`` (without a target: when there is a summary), and
    after ``max_rounds`` calls in any case. A later call that fails, or whose answer cannot be read, ends it:
    what was paid for is kept, and ``effect.failed`` says what happened.

    Raises as :func:`compact_call`, before the first call, and whatever the first call raises.
    """
    whole_number("max_rounds", max_rounds, 1)
    pins = strings("pins", pins)
    found = ledger_of(request, ledger)
    made: list[Outcome] = []
    failed: Problem | None = None
    for _ in range(max_rounds):
        try:
            call = compact_call(
                found.request,
                keep_turns=keep_turns,
                instructions=instructions,
                pins=pins,
                max_tokens=max_tokens,
                target_tokens=target_tokens,
                ledger=found,
            )
        except InvalidArgumentError:
            if not made:
                raise
            break  # what the first round achieved is kept
        try:
            answer = yield call
            one = apply_compaction(found.request, answer, keep_turns=keep_turns, pins=pins, ledger=found)
        except Exception as error:
            if not made:
                raise
            failed = _failure(error, len(made) + 1)
            break
        made.append(one)
        found = one.ledger
        if one.changed and (target_tokens is None or found.total_tokens <= target_tokens):
            break
    effect = combined(*made)
    refused = made[-1].effect.refused if not any(one.changed for one in made) else None
    effect = replace(effect, lever="compact", refused=refused, failed=failed)
    return Outcome(found.request, effect, found, made[0].origin)


def _callable(create: Any) -> None:
    if not callable(create):
        says = f"is of type {type(create).__name__}"
        raise InvalidArgumentError(Problem("create", "callable", says, "pass client.messages.create"))


def _failure(error: Exception, round_number: int) -> Problem:
    says = f"failed in round {round_number} with {type(error).__name__}: {error}"
    return Problem("create", "answers", says, "what the rounds before it achieved is kept")
