"""Trim: the oldest turns go, at a cut that leaves a valid list.

Models: by number of turns or by tokens; cuts where :func:`ctxlab.validity.safe_cuts` allows one and a plain
message of the user follows. That a list begins with one is this lever's policy, not the API's rule: a model
that starts with its own answer has lost the question.
Does not model: which turns matter (nothing is looked at but their age).
Source: own construction; field reports of 2025-12 to 2026-03 (lists cut between call and result).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.effect import Loss, Outcome
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.levers.making import ledger_of, outcome, unchanged, whole_number
from ctxlab.validity import safe_cuts
from ctxlab.validity.rule import Messages, read


def turn_starts(request: Mapping[str, Any]) -> list[int]:
    """Numbers of the messages at which a turn begins and a list may be cut; the first message always is one.

    >>> turn_starts({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"},
    ...     {"role": "user", "content": "On"}]})
    [0, 2]
    """
    return _starts(read(request.get("messages") or ()))


def _starts(messages: Messages) -> list[int]:
    cuts = safe_cuts(messages)
    plain = [
        i
        for i, message in enumerate(messages)
        if i in cuts and message.role == "user" and not message.of_type("tool_result")
    ]
    return sorted({0, *plain}) if messages else []


def trim(
    request: Mapping[str, Any],
    *,
    keep_turns: int | None = None,
    keep_tokens: int | None = None,
    ledger: PrefixLedger | None = None,
) -> Outcome:
    """Drop the oldest turns: keep the last ``keep_turns``, or as many as fit a prompt of ``keep_tokens``.

    With both, both hold. A list that is short enough stays as it is. Trimming twice changes nothing more.

    Raises :class:`InvalidArgumentError` where neither is given, and with all sizes where not even the last
    turn fits; :class:`ctxlab.errors.InvalidRequestError` for a request that is not valid.

    >>> answer = {"role": "assistant", "content": "Hello"}
    >>> asked = [{"role": "user", "content": question} for question in ("One?", "Two?", "Three?")]
    >>> body = {"model": "claude-opus-5-5", "messages": [asked[0], answer, asked[1], answer, asked[2]]}
    >>> trimmed = trim(body, keep_turns=2)
    >>> len(trimmed.request["messages"]), trimmed.effect.first_rewritten
    (3, 'messages[0].content')
    """
    if keep_turns is None and keep_tokens is None:
        raise InvalidArgumentError(Problem("keep_turns, keep_tokens", "required", "are both missing"))
    found = ledger_of(request, ledger)
    starts = _starts(found.messages_read)
    cut = 0
    if keep_turns is not None:
        cut = starts[-whole_number("keep_turns", keep_turns, 1) :][0]
    if keep_tokens is not None:
        cut = max(cut, _fitting(found, starts, whole_number("keep_tokens", keep_tokens, 1)))
    if cut == 0:
        return unchanged("trim", found)
    return _cut_at(found, cut, starts, keep_tokens)


def _cut_at(ledger: PrefixLedger, cut: int, starts: list[int], keep_tokens: int | None) -> Outcome:
    """The outcome of a cut; one turn further where what joins messages made it a little too large."""
    messages = ledger.request["messages"]
    added = ledger.message_tokens()
    for start in (one for one in starts if one >= cut):
        lost = [
            Loss(f"messages[{i}]", "message", f"{ledger.messages_read[i].role}, {added[i]:,} tokens")
            for i in range(start)
        ]
        made = outcome("trim", ledger, {**ledger.request, "messages": list(messages[start:])}, lost)
        if keep_tokens is None or not made.changed or made.ledger.total_tokens <= keep_tokens:
            return made
    raise _too_large(ledger, starts, keep_tokens or 0)


def _fitting(ledger: PrefixLedger, starts: list[int], keep_tokens: int) -> int:
    """The earliest cut behind which a prompt has at most ``keep_tokens``."""
    gone = [0, *accumulate(ledger.message_tokens())]
    for start in starts:
        if ledger.total_tokens - gone[start] <= keep_tokens:
            return start
    raise _too_large(ledger, starts, keep_tokens)


def _too_large(ledger: PrefixLedger, starts: list[int], keep_tokens: int) -> InvalidArgumentError:
    last = starts[-1] if starts else 0
    alone = sum(ledger.message_tokens()[last:])
    says = (
        f"is {keep_tokens:,}; tools and system prompt have {ledger.fixed_tokens:,} tokens and the last turn "
        f"(from messages[{last}] on) has {alone:,}"
    )
    fix = "clear or offload its results first, or allow more"
    return InvalidArgumentError(Problem("keep_tokens", "last-turn-fits", says, fix))
