"""Sessions that were saved broken, mended so that the API takes them again, with a report of every change.

Models: calls that were cut off (an error result that says the outcome is unknown), results that stand in the
wrong place (moved behind their call), results without a call and further results of one call (kept as text),
ids used twice or written wrongly, empty texts, an answer of which nothing came, inputs that were cut off in
their stream, results with null, thinking that lost its signature, summaries out of place, system messages
where none may stand.
Does not model: thinking that was changed and still has a signature. Nothing in the request shows it; name the
message the API refused (``touched``). Unknown roles, too many pictures and an empty history are left as they
are and reported.
Source: the rules of this package; field reports of 2025-03 to 2026-09 (sessions killed while a tool ran,
trimmed between call and result, edited beside thinking).

A list that ends with an answer is at rest. It is not repaired for what its next message will settle (a
prefill), nor for what makes it a paused turn that is sent back as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ctxlab.catalogue import Model
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.prompt import plain
from ctxlab.prompt.objects import is_list
from ctxlab.validity import menders, unfinished
from ctxlab.validity.checking import check
from ctxlab.validity.edits import THINKING, binds_thinking
from ctxlab.validity.turns import Change, Turn, Turns

_NEXT = {"role": "user", "content": "…"}
_LEAST_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Report:
    """What :func:`repair` did: ``changes`` in their order; ``left`` is what it could not mend.

    ``shifted`` are answers behind a change whose thinking the model holds to what stands before it. The
    server drops such thinking or refuses the request; a model that does not bind thinking has none.
    """

    changes: tuple[Change, ...] = ()
    left: tuple[Problem, ...] = ()
    shifted: tuple[Problem, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id of a call that any change touched, each once."""
        return tuple(dict.fromkeys(name for change in self.changes for name in change.ids))

    def __str__(self) -> str:
        """One line for each change and each problem that is left."""
        lines = [str(change) for change in self.changes]
        lines += [f"mind: {problem}" for problem in self.shifted]
        lines += [f"left as it is: {problem}" for problem in self.left]
        return "\n".join(lines) or "nothing to repair"


class Repaired(NamedTuple):
    """The mended request and what was done to it."""

    request: dict[str, Any]
    report: Report


def repair(
    request: Mapping[str, Any], *, touched: Iterable[int] = (), model: str | Model | None = None
) -> Repaired:
    """A request (``messages`` and whatever else it has) that breaks no rule, and a report of every change.

    ``touched`` are the numbers of messages whose thinking was changed since it was received: N in the API's
    ``messages.N.content…: thinking … blocks in the latest assistant message cannot be modified``. Such
    thinking cannot be mended; the whole message becomes plain text. The given request is not changed, what
    needs no repair is shared with it, and repairing twice changes nothing more.

    Raises :class:`InvalidRequestError` for what is not a list of messages and
    :class:`InvalidArgumentError` for a number in ``touched`` that is no answer with thinking.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "send_mail", "input": {}}
    >>> killed = {"messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [call]}]}
    >>> mended = repair(killed)
    >>> mended.request["messages"][2]["content"][0]["is_error"], mended.report.ids
    (True, ('toolu_1',))
    >>> repair(mended.request).report.changes
    ()
    """
    body = _readable(request)
    named = model if model is not None else body.get("model")
    turns = Turns(body)
    _make_plain(turns, touched)
    unfinished.finish(turns, menders.may_edit)
    for _ in range(_LEAST_ROUNDS + 2 * len(turns.turns)):
        found = _problems(turns, named)
        rule = next((name for name in menders.MENDERS if any(name == one.rule for one in found)), None)
        if rule is None:
            break
        places = tuple(dict.fromkeys(one.path for one in found if one.rule == rule))
        before = len(turns.changes)
        menders.MENDERS[rule](turns, places)
        if len(turns.changes) == before:  # nothing more can be done about it
            break
    left = (*_problems(turns, named), *unfinished.left_unfinished(turns))
    shifted = tuple(_shifted(turns)) if binds_thinking(named) else ()
    return Repaired(turns.request(), Report(tuple(turns.changes), left, shifted))


def _problems(turns: Turns, model: Any) -> list[Problem]:
    """What is wrong whichever way the session goes on: sent as it is, or with a user message behind it."""
    body = turns.request()
    found = check(body, model)
    messages = body["messages"]
    if messages and messages[-1].get("role") == "assistant":
        later = check({**body, "messages": [*messages, _NEXT]}, model)
        if not turns.turns[-1].blocks:  # nothing of this answer came: it is not at rest
            return later
        if not found:
            return []
        either_way = [one for one in found if (one.path, one.rule) in {(b.path, b.rule) for b in later}]
        return either_way or later
    return found


def _shifted(turns: Turns) -> Iterable[Problem]:
    """Answers with thinking that no longer stand behind the very prefix they were saved with."""
    given = turns.given["messages"]
    same = turns.system is turns.given.get("system")
    for i, turn in enumerate(turns.turns):
        old = Turn.read(given[i] if i < len(given) else {}, turn.path)
        same = same and turn.role == old.role
        for j, block in enumerate(turn.blocks):
            same = same and j < len(old.blocks) and block == old.blocks[j]
            if block.get("type") in THINKING and not same:
                says = "its thinking stands behind another prefix than in the session as it was saved"
                fix = "this model may drop that thinking or refuse it; leave it out if it is refused"
                yield Problem(turn.path, "thinking-bound", says, fix)
                break
        same = same and len(turn.blocks) == len(old.blocks)


def _make_plain(turns: Turns, touched: Iterable[int]) -> None:
    numbers = sorted(set(touched))
    for number in numbers:
        if not (0 <= number < len(turns.turns) and menders.thinks(turns.turns[number])):
            raise InvalidArgumentError(
                Problem("touched", "an-answer-with-thinking", f"holds {number}", "name one that has thinking")
            )
    for turn in [turns.turns[number] for number in numbers]:
        menders.make_plain(turns, turn, "thinking-unchanged")


def _readable(request: Any) -> Mapping[str, Any]:
    """The request with its messages as plain JSON, or a typed error that says what is no message."""
    body = plain(request) if not isinstance(request, Mapping) else request
    if not isinstance(body, Mapping):
        raise InvalidRequestError(Problem("request", "object", f"is of type {type(request).__name__}"))
    messages = body.get("messages")
    if messages is None or not is_list(messages):
        raise InvalidRequestError(Problem("messages", "list", "is not a list", "pass a list of messages"))
    read = [message if isinstance(message, Mapping) else plain(message) for message in messages]
    problems = [problem for i, one in enumerate(read) for problem in _shape(one, f"messages[{i}]")]
    if problems:
        raise InvalidRequestError(problems)
    return {**body, "messages": read}


def _shape(message: Any, path: str) -> Iterable[Problem]:
    if not isinstance(message, Mapping):
        yield Problem(path, "object", "is no message", "a message has a role and content")
        return
    content = message.get("content")
    if content is None or isinstance(content, str):
        return
    if not is_list(content):
        yield Problem(f"{path}.content", "content", "is neither a string nor a list of blocks")
        return
    for j, block in enumerate(content):
        body = block if isinstance(block, Mapping) else plain(block)
        if not isinstance(body, Mapping) or not isinstance(body.get("type"), str):
            yield Problem(f"{path}.content[{j}]", "block", "is no block", "a block has a type")
