"""Clear: stale tool payloads give way to a note, and the structure stays.

Models: results (and, if asked for, arguments) of all but the newest uses; tools that are never cleared; a
least gain below which nothing is touched, so that clearing comes in batches.
Does not model: the server's own clearing (:mod:`ctxlab.effective`), or whether a result can be had again.
Source: own construction, after ``clear_tool_uses_20250919`` (context-editing page, 2026-08).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from ctxlab.effective import THINKING
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.effect import Loss, Outcome
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.levers.making import ledger_of, outcome, strings, unchanged, whole_number, with_content
from ctxlab.prompt import plain
from ctxlab.validity.edits import held_messages
from ctxlab.validity.rule import Message

CLEARED = "[Result cleared. Call the tool again if you need it.]"


def clear(
    request: Mapping[str, Any],
    *,
    keep: int = 3,
    exclude_tools: Collection[str] = (),
    clear_at_least_tokens: int = 0,
    clear_inputs: bool = False,
    ledger: PrefixLedger | None = None,
) -> Outcome:
    """Replace the results of all but the newest ``keep`` tool uses by a note of ten-odd tokens.

    ``exclude_tools`` are never cleared, and take no place among those kept. Where fewer than
    ``clear_at_least_tokens`` would go, nothing does. ``clear_inputs`` empties the arguments of the same
    calls, but beside thinking that has to stay as it was (the latest answer, an open tool loop). A result
    that is no longer than the note stays, and so does what the model does not read (before a compaction
    block). Clearing twice changes nothing more.

    Raises :class:`InvalidArgumentError` for a name in ``exclude_tools`` that no tool has, and
    :class:`ctxlab.errors.InvalidRequestError` for a request that is not valid.

    >>> call = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
    >>> result = {"type": "tool_result", "tool_use_id": "t1", "content": "long " * 500}
    >>> body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Go"},
    ...     {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]}
    >>> clear(body, keep=0).request["messages"][2]["content"][0]["content"]
    '[Result cleared. Call the tool again if you need it.]'
    """
    whole_number("keep", keep)
    whole_number("clear_at_least_tokens", clear_at_least_tokens)
    found = ledger_of(request, ledger)
    excluded = set(strings("exclude_tools", exclude_tools))
    names = _names_by_id(found)
    called = {str(one.body.get("name")) for m in found.messages_read for one in m.of_type("tool_use")}
    _known(excluded, {*called, *_defined(request)})
    clearable = [name for name, tool in names.items() if tool not in excluded]
    old = set(clearable[:-keep] if keep else clearable)
    bound = _bound_inputs(found) if clear_inputs else set()
    messages, lost = [], []
    for number, (message, read) in enumerate(zip(request["messages"], found.messages_read, strict=True)):
        blocks, changes = _cleared(read, old, clear_inputs and number not in bound, found)
        messages.append({**read.body, "content": blocks} if changes else message)
        lost += changes
    if not lost:
        return unchanged("clear", found)
    made = outcome("clear", found, {**request, "messages": messages}, lost)
    if made.changed and made.effect.removed_tokens < max(clear_at_least_tokens, 1):
        return unchanged("clear", found)
    return made


def _names_by_id(ledger: PrefixLedger) -> dict[str, str]:
    """The tool of each call with an answer that the model reads, oldest first."""
    calls: dict[str, str] = {}
    answered: set[str] = set()
    for message in ledger.messages_read:
        for block in message.blocks:
            if block.type == "tool_use":
                calls[str(block.body.get("id"))] = str(block.body.get("name"))
            elif block.type == "tool_result" and ledger.reads(block.path):
                answered.add(str(block.body.get("tool_use_id")))
    return {call: name for call, name in calls.items() if call in answered}


def _bound_inputs(ledger: PrefixLedger) -> set[int]:
    """Numbers of the answers whose thinking has to stay, and with it everything beside it."""
    messages = ledger.messages_read
    return {number for number in held_messages(ledger.prompt) if messages[number].of_type(*THINKING)}


def _defined(request: Mapping[str, Any]) -> set[str]:
    return {str(plain(tool).get("name")) for tool in request.get("tools") or ()}


def _known(asked: Collection[str], names: set[str]) -> None:
    for name in asked:
        if name not in names:
            near = difflib.get_close_matches(str(name), sorted(names), n=1)
            fix = f"did you mean {near[0]!r}" if near else f"one of: {', '.join(sorted(names)) or 'none'}"
            raise InvalidArgumentError(Problem("exclude_tools", "known-tool", f"holds {name!r}", fix))


def _cleared(
    message: Message, old: set[str], inputs: bool, ledger: PrefixLedger
) -> tuple[list[Any], list[Loss]]:
    blocks: list[Any] = []
    lost: list[Loss] = []
    for path, _, kind, block in message.blocks:
        due = str(block.get("tool_use_id" if kind == "tool_result" else "id")) in old and ledger.reads(path)
        if kind == "tool_result" and due and _is_long(block):
            tokens = ledger.tokens_of(path)
            lost.append(Loss(path, "result", f"result of {block['tool_use_id']}, {tokens:,} tokens"))
            block = with_content(block, CLEARED)
        elif inputs and kind == "tool_use" and due and block.get("input"):
            lost.append(Loss(path, "input", f"arguments of {block['id']}"))
            block = {**block, "input": {}}
        blocks.append(block)
    return blocks, lost


def _is_long(result: Mapping[str, Any]) -> bool:
    content = result.get("content")
    if isinstance(content, str):
        return len(content) > len(CLEARED)
    parts = [plain(part) for part in content] if isinstance(content, (list, tuple)) else []
    only_text = all(part.get("type") == "text" for part in parts)
    return not only_text or sum(len(str(part.get("text", ""))) for part in parts) > len(CLEARED)
