"""From an edited list of messages to an outcome: checked, priced, or refused with the request as it was.

Models: what every lever does last. A result breaks no rule of :mod:`ctxlab.validity`; thinking that is bound
to a prefix which is gone is taken out with it; thinking that has to stay as it was is never touched.
Does not model: which messages a lever edits.
Source: :mod:`ctxlab.validity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxlab.catalogue import get_model
from ctxlab.effective import THINKING
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.levers.effect import Effect, Loss, Outcome, first_rewritten
from ctxlab.levers.ledger import PrefixLedger, body_of
from ctxlab.prompt import plain
from ctxlab.usage import Usage
from ctxlab.validity import check_edit
from ctxlab.validity.edits import held_messages


def ledger_of(request: Mapping[str, Any], ledger: PrefixLedger | None) -> PrefixLedger:
    """The ledger of a request that a lever may work on.

    Raises :class:`InvalidRequestError` for one that breaks a rule already (:func:`ctxlab.validity.repair`
    mends it), :class:`InvalidArgumentError` for a ledger of another model.
    """
    body_of(request)
    if ledger is not None:
        instance("ledger", ledger, PrefixLedger)
        _of_one_model(request, ledger)
    found = PrefixLedger.of(request) if ledger is None else ledger.after(request)
    if found.problems:
        raise InvalidRequestError(found.problems)
    return found


def _of_one_model(request: Mapping[str, Any], ledger: PrefixLedger) -> None:
    """A ledger counts and prices for one model; a request that names another needs a ledger of its own."""
    named = request.get("model")
    if named is None or named == ledger.request.get("model") or get_model(named) == ledger.model:
        return
    fix = "make a ledger of this request: what another model has cached is not warm here"
    raise InvalidArgumentError(
        Problem("ledger", "same-model", f"is one of {ledger.model.id}, the request names {named!r}", fix)
    )


def instance(name: str, value: Any, kind: type) -> None:
    """An argument that has to be of a kind. Raises :class:`InvalidArgumentError`."""
    if not isinstance(value, kind):
        says = f"is of type {type(value).__name__}"
        raise InvalidArgumentError(Problem(name, "kind", says, f"give one of type {kind.__name__}"))


def strings(name: str, value: Any) -> tuple[str, ...]:
    """An argument that has to hold strings; one string would be taken for its letters.

    Raises :class:`InvalidArgumentError`.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        says = f"is of type {type(value).__name__}"
        raise InvalidArgumentError(Problem(name, "list-of-strings", says, "pass a list of strings"))
    found = tuple(value)
    for i, one in enumerate(found):
        if not isinstance(one, str):
            raise InvalidArgumentError(
                Problem(f"{name}[{i}]", "list-of-strings", f"is {one!r}", "use a string")
            )
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
    after, more, touched = _with_thinking_settled(ledger, warm.after(request))
    problems = (*after.problems, *touched)
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
) -> tuple[PrefixLedger, tuple[Loss, ...], list[Problem]]:
    """Without the thinking that is bound to a prefix which is gone, as far as it may be taken out; what is
    left of it is a problem."""
    touched = check_edit(before.prompt, after.prompt, before.model)
    bound = [problem.path for problem in touched if problem.rule == "thinking-bound"]
    if not bound:
        return after, (), touched
    first = int(bound[0].removeprefix("messages[").partition("]")[0])
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
        if number in held and any(block.get("type") == "tool_use" for block in blocks):
            return after, (), touched  # an open loop: its thinking can neither stay nor go
        gone = len(blocks) - len(kept)
        what = f"{gone} block{'s' * (gone > 1)} of thinking, bound to the prefix that is gone"
        lost.append(Loss(f"messages[{number}]", "thinking", what))
        if kept:
            messages.append({**message, "content": kept})
    settled = after.after({**after.request, "messages": messages})
    return settled, tuple(lost), check_edit(before.prompt, settled.prompt, before.model)


def with_content(result: Mapping[str, Any], content: str) -> dict[str, Any]:
    """A result with other content; a marker inside the old one moves to the result, where it counts alike."""
    inside = result.get("content")
    parts = [plain(part) for part in inside] if isinstance(inside, (list, tuple)) else []
    markers = [part["cache_control"] for part in parts if part.get("cache_control") is not None]
    kept = {"cache_control": markers[-1]} if markers and result.get("cache_control") is None else {}
    return {**result, "content": content, **kept}
