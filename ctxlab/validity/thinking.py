"""Thinking and summaries: blocks that the server wrote and that have to stand where it put them.

Models: what a single request shows: who may think, signatures, the open turn of a tool loop, thinking that
is switched off; where a summary stands and that there is one.
Does not model: whether a block was changed since it was received, whether its signature holds, and the
binding of thinking to what stands before it on the newest models; that takes the answer it came from.
Source: thinking pages 2026-08, compaction pages 2026-09; wording from ``data/recordings`` (reported rows) and
public reports. That thinking comes first in every message that has any is not a rule: a recorded row of
Sonnet 5 has it behind a server tool's result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from ctxlab.catalogue import Model
from ctxlab.effective import thinks_by_default
from ctxlab.validity.rule import Block, Found, Messages, Rule, everywhere, mapping

_THINKING = ("thinking", "redacted_thinking")


def _by_assistant(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages.holding(*_THINKING):
        if message.role != "assistant":
            yield Found(
                f"{message.path}.content", "leave thinking in the answer it came in", {"at": message.wire}
            )


def _signed(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages.holding("thinking"):
        for block in message.of_type("thinking"):
            if "signature" not in block.body:
                fix = "send the block back as it came, or leave it out"
                yield Found(f"{block.path}.signature", fix, {"at": block.wire})


def _open_turn(messages: Messages) -> int | None:
    """Where the answer begins that is still in its tool loop; None if the last message is a plain one."""
    start = None
    for i in reversed(range(len(messages))):
        message = messages[i]
        if message.role == "assistant":
            start = i
        elif message.role == "user" and not message.of_type("tool_result"):
            break
    last = messages[-1] if messages else None
    in_a_loop = last is not None and last.role == "user" and bool(last.of_type("tool_result"))
    return start if in_a_loop else None


def _loop_starts_thinking(
    messages: Messages, model: Model | None, parameters: Mapping[str, Any]
) -> Iterable[Found]:
    start = _open_turn(messages)
    if start is None or mapping(parameters.get("thinking")).get("type") != "enabled":
        return
    first = messages[start].blocks[0] if messages[start].blocks else None
    if first is not None and first.type not in _THINKING:
        fix = "send the thinking of this turn back with it, or switch thinking off"
        yield Found(f"{first.path}.type", fix, {"at": first.wire, "type": first.type})


def _not_inside_a_thinking_loop(messages: Messages) -> Iterable[int]:
    """Anywhere but inside the open turn, if it has thinking: its blocks have to stay as they are."""
    start = _open_turn(messages)
    thinks = start is not None and any(message.of_type(*_THINKING) for message in messages[start:])
    return range(start + 1) if thinks and start is not None else everywhere(messages)


def _switched_off(messages: Messages, model: Model | None, parameters: Mapping[str, Any]) -> Iterable[Found]:
    thinking = mapping(parameters.get("thinking")).get("type")
    off = thinking == "disabled" or (
        thinking is None and model is not None and model.released is not None and not thinks_by_default(model)
    )
    if off and messages and messages[-1].role == "assistant":
        for block in messages[-1].of_type(*_THINKING)[:1]:
            yield Found(block.path, "switch thinking on, or end with a user message", {"at": block.wire})


def _summaries(messages: Messages) -> list[tuple[int, Block]]:
    """Every compaction block with the number of its message."""
    if not messages.holding("compaction"):
        return []
    return [(i, block) for i, message in enumerate(messages) for block in message.of_type("compaction")]


def _signed_summaries(messages: Messages) -> list[Block]:
    return [block for _, block in _summaries(messages) if block.body.get("signature") is not None]


def _signed_summary_first(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for block in _signed_summaries(messages):
        if block is not next(iter(messages[0].blocks), None):
            yield Found(block.path, "send it first and drop the messages it summarises")


def _one_signed_summary(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for block in _signed_summaries(messages)[1:]:
        yield Found(block.path, "keep the newest")


def _summary_has_text(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for _number, block in _summaries(messages):
        if block.body.get("content") == "":
            yield Found(f"{block.path}.content", "send it back as it came (null if there was no summary)")


def _not_behind_the_last_summary(messages: Messages) -> Iterable[int]:
    """Up to the message with the last summary: behind it a list is valid, and the summary is lost."""
    at = [i for i, block in _summaries(messages) if block.body.get("content") is not None]
    return range(at[-1] + 1) if at else everywhere(messages)


RULES = (
    Rule(
        "thinking-by-assistant",
        "Thinking stands in assistant messages.",
        "SDK message types 2026-11; wording reported in public code of 2026",
        date(2026, 11, 24),
        "reported",
        "{at}.content: thinking blocks may only be in `assistant` messages",
        _by_assistant,
    ),
    Rule(
        "thinking-signed",
        "A thinking block comes back with its signature.",
        "SDK type of thinking blocks 2026-11; wording reported 2026-04 and 2026-07",
        date(2026, 11, 24),
        "reported",
        "{at}.thinking.signature: Field required",
        _signed,
    ),
    Rule(
        "thinking-in-loop",
        "With thinking enabled by hand, the answer that is still in its tool loop starts with thinking.",
        "reported 2025-12 (data/recordings, reported/error-thinking_missing-14)",
        date(2025, 12, 2),
        "reported",
        "{at}.type: Expected `thinking` or `redacted_thinking`, but found `{type}`. When `thinking` is "
        "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set "
        "of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous "
        "turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        _loop_starts_thinking,
        _not_inside_a_thinking_loop,
    ),
    Rule(
        "thinking-switched-off",
        "With thinking off, the last message has none.",
        "reported 2025-09 (data/recordings, reported/error-thinking_disabled-15)",
        date(2025, 9, 20),
        "reported",
        "{at}: When thinking is disabled, an `assistant` message in the final position cannot contain "
        "`thinking`. To use thinking blocks, enable `thinking` in your request.",
        _switched_off,
    ),
    Rule(
        "signed-summary-first",
        "The block of a compaction on demand is the first block of the first message.",
        "compaction-on-demand page 2026-09 (compaction_block_misplaced); wording from one report of 2026",
        date(2026, 9, 24),
        "reported",
        "`compaction` block must be sent first, in place of the messages it summarizes; remove those "
        "messages",
        _signed_summary_first,
        _not_behind_the_last_summary,
    ),
    Rule(
        "one-signed-summary",
        "There is one block of a compaction on demand.",
        "compaction-on-demand page 2026-09 (compaction_block_ambiguous); wording not known",
        date(2026, 9, 24),
        "documented",
        None,
        _one_signed_summary,
        ours="is a second signed compaction block",
    ),
    Rule(
        "summary-content",
        "A compaction block has text, or null where no summary came about.",
        "SDK type of compaction blocks 2026-11; wording not known",
        date(2026, 11, 24),
        "documented",
        None,
        _summary_has_text,
        ours="is empty",
    ),
)
