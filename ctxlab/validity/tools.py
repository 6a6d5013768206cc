"""Calls and their results: every call answered at once, every result asked for, no id twice.

Models: client tools (results in the next message, ahead of everything else there) and server tools (results
somewhere behind the call, in the answers themselves).
Does not model: whether a called tool is defined; MCP calls; what a result may hold.
Source: tool-use pages, 2026-08; wording from public reports, dated per rule. Whether the results of one batch
may be spread over several user messages is disputed (refused in 2025-12 and 2026-02, accepted by one account
of 2026-06); here they may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import takewhile
from typing import Any

from ctxlab.catalogue import Model
from ctxlab.validity.rule import Block, Found, Messages, Rule

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def _result_id(block: Block) -> str:
    return str(block.body.get("tool_use_id"))


def _is_result(block: Block) -> bool:
    return block.type == "tool_result"


def _roles_of_calls(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages.holding("tool_use"):
        if message.role != "assistant":
            yield Found(message.path, "move the call into an assistant message", {"at": message.wire})


def _roles_of_results(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages.holding("tool_result"):
        if message.role != "user":
            yield Found(message.path, "move the result into the next user message", {"at": message.wire})


def _ids(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages.holding("tool_use"):
        for block in message.of_type("tool_use"):
            if not _ID.fullmatch(str(block.body.get("id", ""))):
                fix = "use letters, digits, _ and -, the same in its result"
                yield Found(f"{block.path}.id", fix, {"at": block.wire})


def _unique(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    seen: set[str] = set()
    for message in messages.holding("tool_use"):
        for block in message.of_type("tool_use"):
            call = str(block.body.get("id"))
            if call in seen:
                yield Found(f"{block.path}.id", "give each call an id of its own", {"at": block.wire})
            seen.add(call)


def _answered(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for i, message in enumerate(messages):
        calls = [str(block.body.get("id")) for block in message.of_type("tool_use")]
        if message.role != "assistant" or not calls:
            continue
        following = messages[i + 1].blocks if i + 1 < len(messages) else ()
        leading = {_result_id(block) for block in takewhile(_is_result, following)}
        missing = [call for call in calls if call not in leading]
        if missing:
            fix = "answer each call in the next message; one that was cut off gets an error result"
            if any(_is_result(block) and _result_id(block) in missing for block in following):
                fix = "put the results ahead of everything else in that message"
            yield Found(message.path, fix, {"at": message.wire, "ids": ", ".join(missing)})


def _asked_for(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for i, message in enumerate(messages):
        calls: set[str] = set()
        if i and messages[i - 1].role == "assistant":
            calls = {str(block.body.get("id")) for block in messages[i - 1].of_type("tool_use")}
        for block in message.of_type("tool_result") if message.role == "user" else ():
            if _result_id(block) not in calls:
                fix = "keep the call and its result together, or drop both"
                yield Found(block.path, fix, {"at": block.wire, "id": _result_id(block)})


def _answered_once(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages.holding("tool_result"):
        seen: set[str] = set()
        for block in message.of_type("tool_result"):
            if _result_id(block) in seen:
                fix = "keep one result for each call"
                yield Found(block.path, fix, {"at": block.wire, "id": _result_id(block)})
            seen.add(_result_id(block))


def _not_before_results(messages: Messages) -> Iterable[int]:
    """Anywhere but between a call and its results."""
    for i in range(len(messages) + 1):
        if i == len(messages) or not messages[i].of_type("tool_result"):
            yield i


def _is_server_result(block: Block) -> bool:
    return block.type.endswith("_tool_result") and block.type != "mcp_tool_result"


def _server_answered(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    if not messages.holding("server_tool_use"):
        return
    answered = {_result_id(b) for message in messages for b in message.blocks if _is_server_result(b)}
    others = (i for i, m in enumerate(messages) if any(block.type != "tool_result" for block in m.blocks))
    # the last of them is a turn that is still running: paused, or waiting for the client's own results
    for message in messages[: max(others, default=0)]:
        for block in message.of_type("server_tool_use"):
            call = str(block.body.get("id"))
            if call not in answered:
                parts = {"at": message.wire, "name": block.body.get("name"), "id": call}
                yield Found(block.path, "keep the call and its result together, or drop both", parts)


def _server_asked_for(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    calls: set[str] = set()
    for message in messages:
        for block in message.blocks:
            if block.type == "server_tool_use":
                calls.add(str(block.body.get("id")))
            elif _is_server_result(block) and _result_id(block) not in calls:
                parts = {"at": block.wire, "type": block.type, "id": _result_id(block)}
                yield Found(block.path, "keep the call and its result together, or drop both", parts)


def _not_between_server_pairs(messages: Messages) -> Iterable[int]:
    called: dict[str, int] = {}
    open_cuts = set(range(len(messages) + 1))
    for i, message in enumerate(messages):
        for block in message.blocks:
            if block.type == "server_tool_use":
                called[str(block.body.get("id"))] = i
            elif _is_server_result(block):
                open_cuts -= set(range(called.get(_result_id(block), i) + 1, i + 1))
    return open_cuts


RULES = (
    Rule(
        "calls-by-assistant",
        "Calls stand in assistant messages.",
        "tool-use pages 2026-08; wording reported in public code of 2026",
        date(2026, 8, 21),
        "reported",
        "{at}: `tool_use` blocks can only be in `assistant` messages",
        _roles_of_calls,
    ),
    Rule(
        "results-by-user",
        "Results stand in user messages.",
        "tool-use pages 2026-08; wording reported 2025-08 (Anthropic.SDK issue 128) and 2025-11",
        date(2026, 8, 21),
        "reported",
        "{at}: `tool_result` blocks can only be in `user` messages",
        _roles_of_results,
    ),
    Rule(
        "call-id",
        "The id of a call is made of letters, digits, _ and -.",
        "reported 2025-07 (opencode issue 1279)",
        date(2025, 11, 21),
        "reported",
        "{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        _ids,
    ),
    Rule(
        "calls-unique",
        "No two calls of a request have the same id.",
        "reported 2025-07 to 2026-03 (claude-code issues 21317, 28515)",
        date(2026, 3, 13),
        "reported",
        "{at}: `tool_use` ids must be unique",
        _unique,
    ),
    Rule(
        "calls-answered",
        "Every call has its result in the next message, ahead of everything else there.",
        "tool-use pages 2026-08; wording reported 2025-06 to 2026-01 (claude-code issues 1577, 5989)",
        date(2026, 8, 21),
        "reported",
        "{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        _answered,
    ),
    Rule(
        "results-asked-for",
        "Every result belongs to a call in the message before.",
        "tool-use pages 2026-08; wording reported 2025-11 to 2026-02 (claude-code issues 13460, 18947)",
        date(2026, 8, 21),
        "reported",
        "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must "
        "have a corresponding `tool_use` block in the previous message.",
        _asked_for,
        _not_before_results,
    ),
    Rule(
        "one-result-each",
        "A call has one result.",
        "reported 2025-12 (claude-code issue 14110), seen again 2026-07",
        date(2026, 7, 30),
        "reported",
        "{at}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
        _answered_once,
    ),
    Rule(
        "server-calls-answered",
        "A server tool's call has its result behind it, unless the turn is still running.",
        "reported 2026-02 (lisette issue 108); running turns: server-tool pages 2026-08",
        date(2026, 8, 21),
        "reported",
        "{at}: `{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block",
        _server_answered,
    ),
    Rule(
        "server-results-asked-for",
        "A server tool's result has its call before it.",
        "reported 2026-06 to 2026-08 (claude-code issues 64383, 80439, 84783)",
        date(2026, 8, 7),
        "reported",
        "{at}: unexpected `tool_use_id` found in `{type}` blocks: {id}. Each `{type}` block must have a "
        "corresponding `server_tool_use` block before it.",
        _server_asked_for,
        _not_between_server_pairs,
    ),
)
