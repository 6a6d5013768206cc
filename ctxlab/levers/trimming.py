"""Trim: the oldest turns go, at a cut that leaves a valid list.

Models: by number of turns or by tokens; cuts where :func:`ctxlab.validity.safe_cuts` allows one and a plain
message of the user follows. That a list begins with one is this lever's policy, not the API's rule: a model
that starts with its own answer has lost the question. What the model reads is shortened: the last compaction
block, before which it reads nothing, is carried along in front.
Does not model: which turns matter (nothing is looked at but their age).
Source: own construction; field reports of 2025-12 to 2026-03 (lists cut between call and result).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.effect import Loss, Outcome
from ctxlab.levers.ledger import PrefixLedger, body_of
from ctxlab.levers.making import ledger_of, outcome, unchanged, whole_number
from ctxlab.validity import RULES
from ctxlab.validity.rule import Block, Messages, read, read_one

#: The rule that holds a list together up to its last compaction block; levers carry the block, or replace it.
_BEHIND_A_SUMMARY = "signed-summary-first"


def turn_starts(request: Mapping[str, Any]) -> list[int]:
    """Numbers of the messages at which a turn begins that the model reads, and a list may be cut.

    The first is where it begins to read: the first message, or the one that holds the last compaction block.

    >>> turn_starts({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"},
    ...     {"role": "user", "content": "On"}]})
    [0, 2]
    """
    return starts_of(read(body_of(request).get("messages") or ()))


def starts_of(messages: Messages) -> list[int]:
    """:func:`turn_starts` of messages that were read already."""
    if not messages:
        return []
    cuts = set(range(len(messages))).intersection(
        *(rule.safe_cuts(messages) for name, rule in RULES.items() if name != _BEHIND_A_SUMMARY)
    )
    block = standing_block(messages)
    first = 0 if block is None else block.number
    plain = (
        i
        for i in range(first + 1, len(messages))
        if i in cuts and messages[i].role == "user" and not messages[i].of_type("tool_result")
    )
    return [first, *plain]


class Standing(NamedTuple):
    """The compaction block from which a model reads on: the number of its message, and its place there."""

    number: int
    place: int
    block: Block

    def carried(self, given: Sequence[Any]) -> Any:
        """A message with nothing but this block: the given one, where it holds nothing else."""
        message = read_one(given[self.number], self.number)
        alone = len(message.blocks) == 1
        return given[self.number] if alone else {**message.body, "content": [self.block.body]}


def standing_block(messages: Messages) -> Standing | None:
    """The last compaction block that says something; what stands before it the model does not read."""
    for message in reversed(messages.holding("compaction")):
        for place, block in reversed([*enumerate(message.blocks)]):
            if block.type == "compaction" and block.body.get("content"):
                return Standing(int(message.path[len("messages[") : -1]), place, block)
    return None


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
    block = standing_block(found.messages_read)
    starts = starts_of(found.messages_read)
    if block is not None and len(starts) > 1 and not _read_between(found, block, starts[1]):
        starts = starts[1:]  # nothing but the block stands before the first turn
    cut = starts[0]
    if keep_turns is not None:
        cut = starts[-whole_number("keep_turns", keep_turns, 1) :][0]
    if keep_tokens is not None:
        cut = max(cut, _fitting(found, block, starts, whole_number("keep_tokens", keep_tokens, 1)))
    if cut == starts[0]:
        return unchanged("trim", found)
    return _cut_at(found, block, cut, starts, keep_tokens)


def _cut_at(
    ledger: PrefixLedger, block: Standing | None, cut: int, starts: list[int], keep_tokens: int | None
) -> Outcome:
    """The outcome of a cut; one turn further where what joins messages made it a little too large."""
    messages = ledger.request["messages"]
    carried = [] if block is None else [block.carried(messages)]
    for start in (one for one in starts if one >= cut):
        edited = {**ledger.request, "messages": [*carried, *messages[start:]]}
        made = outcome("trim", ledger, edited, _lost(ledger, block, start))
        if keep_tokens is None or not made.changed or made.ledger.total_tokens <= keep_tokens:
            return made
    raise _too_large(ledger, block, starts, keep_tokens or 0)


def _lost(ledger: PrefixLedger, block: Standing | None, start: int) -> list[Loss]:
    """The messages the model reads before a cut, without the block that is carried along."""
    added = ledger.message_tokens()
    if block is not None:
        added[block.number] -= ledger.tokens_of(block.block.path)
    return [
        Loss(f"messages[{i}]", "message", f"{ledger.messages_read[i].role}, {added[i]:,} tokens")
        for i in _read_between(ledger, block, start)
    ]


def _read_between(ledger: PrefixLedger, block: Standing | None, start: int) -> list[int]:
    """Numbers of the messages before a cut that hold something to read, besides the block in front."""
    if block is None:
        return list(range(start))
    kept = block.block.path
    numbers = {one.message for one in ledger.read.blocks if one.message is not None and one.path != kept}
    return sorted(number for number in numbers if number < start)


def _fitting(ledger: PrefixLedger, block: Standing | None, starts: list[int], keep_tokens: int) -> int:
    """The earliest cut behind which a prompt has at most ``keep_tokens``."""
    gone = [0, *accumulate(ledger.message_tokens())]
    carried = 0 if block is None else ledger.tokens_of(block.block.path)
    for start in starts:
        kept = ledger.total_tokens - (gone[start] - carried if start > starts[0] else 0)
        if kept <= keep_tokens:
            return start
    raise _too_large(ledger, block, starts, keep_tokens)


def _too_large(
    ledger: PrefixLedger, block: Standing | None, starts: list[int], keep_tokens: int
) -> InvalidArgumentError:
    last = starts[-1]
    alone = sum(ledger.message_tokens()[last:])
    summary = ""
    if block is not None and block.number < last:
        summary = f", the summary in {block.block.path} has {ledger.tokens_of(block.block.path):,}"
    says = (
        f"is {keep_tokens:,}; tools and system prompt have {ledger.fixed_tokens:,} tokens{summary} and the "
        f"last turn (from messages[{last}] on) has {alone:,}"
    )
    fix = "clear or offload its results first, or allow more"
    return InvalidArgumentError(Problem("keep_tokens", "last-turn-fits", says, fix))
