"""From an edited list of messages to an outcome: checked, priced, or refused with the request as it was.

Models: what every lever does last. A result breaks no rule of :mod:`ctxlab.validity`; thinking that is bound
to a prefix which is gone is taken out with it; thinking that has to stay as it was is never touched.
Does not model: which messages a lever edits.
Source: :mod:`ctxlab.validity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxlab.effective import THINKING
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.levers.effect import Effect, Loss, Outcome, first_rewritten
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.prompt import plain
from ctxlab.usage import Usage
from ctxlab.validity import check, check_edit
from ctxlab.validity.edits import held_messages
from ctxlab.validity.rule import read


def ledger_of(request: Mapping[str, Any], ledger: PrefixLedger | None) -> PrefixLedger:
    """The ledger of a request that a lever may work on.

    Raises :class:`InvalidRequestError` for one that breaks a rule already: :func:`ctxlab.validity.repair`
    mends it.
    """
    found = PrefixLedger.of(request) if ledger is None else ledger.after(request)
    problems = check(request, found.model)
    if problems:
        raise InvalidRequestError(problems)
    return found


def whole_number(name: str, value: Any, least: int = 0) -> int:
    """An argument that has to be a whole number. Raises :class:`InvalidArgumentError`."""
    if type(value) is not int or value < least:
        raise InvalidArgumentError(
            Problem(name, "whole-number", f"is {value!r}", f"give a whole number, {least} or more")
        )
    return value


def unchanged(
    lever: str,
    ledger: PrefixLedger,
    refused: Problem | None = None,
    calls: Sequence[Usage] = (),
    sent: Mapping[str, Any] | None = None,
) -> Outcome:
    """An outcome that leaves the request as it is; ``refused`` says why, where there was something to do."""
    warm = ledger if sent is None else ledger.having_sent(sent)
    effect = Effect(lever, ledger.model, ledger.side(), warm.side(), calls=tuple(calls), refused=refused)
    return Outcome(ledger.request, effect, warm, ledger)


def outcome(
    lever: str,
    ledger: PrefixLedger,
    request: Mapping[str, Any],
    lost: Sequence[Loss] = (),
    calls: Sequence[Usage] = (),
    artifacts: Mapping[str, str] | None = None,
    sent: Mapping[str, Any] | None = None,
) -> Outcome:
    """The outcome of an edit, or the request as it was with the reason why it has to stay so.

    ``sent`` is an extra request that was answered on the way, and left its entries.
    """
    warm = ledger if sent is None else ledger.having_sent(sent)
    after, more = _with_thinking_settled(ledger, warm.after(request))
    problems = [*check(after.request, ledger.model), *check_edit(ledger.prompt, after.prompt, ledger.model)]
    if problems:
        return unchanged(lever, ledger, problems[0], calls, sent)
    effect = Effect(
        lever=lever,
        model=ledger.model,
        before=ledger.side(),
        after=after.side(),
        first_rewritten=first_rewritten(ledger, after),
        calls=tuple(calls),
        lost=(*lost, *more),
    )
    return Outcome(after.request, effect, after, ledger, dict(artifacts or {}))


def _with_thinking_settled(
    before: PrefixLedger, after: PrefixLedger
) -> tuple[PrefixLedger, tuple[Loss, ...]]:
    """Without the thinking that is bound to a prefix which is gone, as far as it may be taken out."""
    bound = [
        problem
        for problem in check_edit(before.prompt, after.prompt, before.model)
        if problem.rule == "thinking-bound"
    ]
    if not bound:
        return after, ()
    first = int(bound[0].path.removeprefix("messages[").partition("]")[0])
    held = set(held_messages(after.prompt))
    messages, lost = [], []
    for number, given in enumerate(after.request["messages"]):
        message = given if isinstance(given, Mapping) else plain(given)
        content = message.get("content")
        blocks = [plain(block) for block in content] if isinstance(content, (list, tuple)) else []
        kept = [block for block in blocks if block.get("type") not in THINKING]
        if number < first or len(kept) == len(blocks):
            messages.append(given)
            continue
        if number in held and any(block.type == "tool_use" for block in read([message])[0].blocks):
            return after, ()  # an open loop: its thinking can neither stay nor go
        what = f"{len(blocks) - len(kept)} blocks of thinking, bound to the prefix that is gone"
        lost.append(Loss(f"messages[{number}]", "thinking", what))
        if kept:
            messages.append({**message, "content": kept})
    return after.after({**after.request, "messages": messages}), tuple(lost)
