"""Roles, texts and pictures: who speaks, that something is said, and how much can be shown.

Models: known roles; system messages inside the conversation; empty and blank texts; a conversation that ends
with an assistant message (prefill); pictures per request.
Does not model: alternation of roles. Consecutive messages of one role and a leading assistant message are
legal (recorded); that a list should start with a plain user turn is somebody's policy, not the API's.
Source: recordings; mid-conversation-system page 2026-06; wording from public reports, dated per rule. The
list of models that take system messages is older than some models; for those released since, nothing is
found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from ctxlab.catalogue import Model
from ctxlab.images import counts_as_picture, max_pictures
from ctxlab.validity.rule import Block, Found, Message, Messages, Rule, mapping

#: The page that lists who takes system messages was read then; later models are in no list.
_SYSTEM_ROLE_LISTED = date(2026, 9, 28)
#: Since Claude 4.6 no conversation may end with text of the assistant.
_PREFILL_ENDED = date(2026, 2, 5)


def _some(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    if not messages:
        yield Found("messages", "send a user message")


def _some_left(messages: Messages) -> Iterable[int]:
    return range(max(len(messages), 1))


def _known_roles(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages:
        if message.role not in ("user", "assistant", "system"):
            yield Found(f"{message.path}.role", 'use "user" or "assistant"', {"at": message.wire})


def _says_something(message: Message) -> bool:
    """Whether a system message carries text; directives and tool changes may stand anywhere."""
    return message.role == "system" and any(block.type == "text" for block in message.blocks)


def _system_allowed(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    if model is None or "mid_conversation_system" in model.capabilities:
        return
    if model.released is not None and model.released >= _SYSTEM_ROLE_LISTED:
        return
    for message in messages:
        if message.role == "system":
            yield Found(f"{message.path}.role", "put the text into the system parameter or a user message")
            return


def _system_first(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    if messages and _says_something(messages[0]):
        yield Found("messages[0]", "put the text into the system parameter")


def _not_at_a_system_message(messages: Messages) -> Iterable[int]:
    """Anywhere but before a system message, which would then be the first."""
    return [i for i in range(len(messages) + 1) if i == len(messages) or messages[i].role != "system"]


def _system_follows(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for i, message in enumerate(messages):
        if not _says_something(message):
            continue
        before = next((m for m in reversed(messages[:i]) if m.role != "system"), None)
        if before is None or before.role == "user":
            continue
        if not (before.blocks and before.blocks[-1].type.endswith("_tool_result")):
            yield Found(message.path, "move it behind a user message", {"at": message.wire})


def _system_precedes(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for i, message in enumerate(messages):
        if not _says_something(message):
            continue
        after = next((m for m in messages[i + 1 :] if m.role != "system"), None)
        if after is not None and after.role != "assistant":
            yield Found(message.path, "move it behind the user message that follows", {"at": message.wire})


def _content(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for i, message in enumerate(messages):
        content = message.body.get("content")
        last_answer = i == len(messages) - 1 and message.role == "assistant"
        directive = message.role == "system" and "output_config" in message.body
        if (content == "" or content == [] or content == ()) and not last_answer and not directive:
            yield Found(f"{message.path}.content", "drop the message, or say something", {"at": message.wire})


def _texts(messages: Messages, model: Model | None, parameters: Mapping[str, Any]) -> Iterable[Found]:
    system = parameters.get("system")
    blocks = [("system", block) for block in _system_blocks(system)]
    blocks += [("messages", block) for message in messages for block in message.blocks]
    for where, block in blocks:
        is_list = block.path.endswith("]")
        if block.type == "text" and block.body.get("text") == "" and is_list:
            yield Found(f"{block.path}.text", "drop the block", {"where": where})


def _system_blocks(system: Any) -> Iterable[Block]:
    for i, item in enumerate(system if isinstance(system, (list, tuple)) else ()):
        body = mapping(item)
        yield Block(f"system[{i}]", f"system.{i}", str(body.get("type")), body)


def _blanks(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    for message in messages:
        texts = [block for block in message.blocks if block.text]
        if texts and not any(block.text.strip() for block in texts):
            yield Found(texts[0].path, "drop the blank text")


def _prefill(messages: Messages) -> Block | None:
    """The text that the answer would go on from, None where the last message is no such thing.

    An answer the server paused, or one that holds a summary, is sent back to be continued; that is legal.
    """
    if not messages or messages[-1].role != "assistant" or not messages[-1].blocks:
        return None
    *before, last = messages[-1].blocks
    goes_on = any(block.type.startswith(("server_tool_", "mcp_")) for block in before)
    goes_on = goes_on or any(block.type == "compaction" for block in before)
    return last if last.type == "text" and not goes_on else None


def _prefill_ended(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    last = _prefill(messages)
    if last is not None and model is not None and model.released and model.released >= _PREFILL_ENDED:
        yield Found(last.path, "end with a user message; for a fixed form ask for structured output")


def _prefill_blank(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    last = _prefill(messages)
    if last is not None and last.text != last.text.rstrip():
        yield Found(last.path, "strip the blanks at its end")


def _shown(messages: Messages) -> Iterable[tuple[Block, str]]:
    """What counts as a picture, inside results and documents, too, with the block it stands in."""
    for message in messages:
        for block in message.blocks:
            for kind in _kinds(block.body):
                yield block, kind


def _kinds(body: Mapping[str, Any], depth: int = 0) -> Iterable[str]:
    if counts_as_picture(body):
        yield str(body["type"])
    holder = mapping(body.get("source")) if body.get("type") == "document" else body
    inside = holder.get("content") if body.get("type") in ("tool_result", "document") else None
    if depth < _DEEPEST and isinstance(inside, (list, tuple)):
        for part in inside:
            yield from _kinds(mapping(part), depth + 1)


def _pictures(messages: Messages, model: Model | None, _: Mapping[str, Any]) -> Iterable[Found]:
    limit = max_pictures(None if model is None else model.window_tokens)
    shown = list(_shown(messages))
    if len(shown) > limit:
        kinds = [kind for _, kind in shown]
        parts = {"images": kinds.count("image"), "documents": kinds.count("document"), "limit": limit}
        yield Found(shown[limit][0].path, "drop the oldest pictures, many at once", parts)


#: A picture in a document in a result; the API takes nothing deeper.
_DEEPEST = 2

RULES = (
    Rule(
        "some-message",
        "There is at least one message.",
        "wording reported 2025-06 (langchain PR 31696)",
        date(2025, 6, 21),
        "reported",
        "messages: at least one message is required",
        _some,
        _some_left,
    ),
    Rule(
        "known-role",
        "A role is user, assistant or system.",
        "SDK message types 2026-11; wording reported in public code of 2026",
        date(2026, 11, 24),
        "reported",
        "{at}.role: Input should be 'user' or 'assistant'",
        _known_roles,
    ),
    Rule(
        "system-role",
        "Only some models take system messages inside the conversation.",
        "prompt-caching page 2026-09; wording reported 2026-05 (claude-code issues 60927, 61412)",
        _SYSTEM_ROLE_LISTED,
        "reported",
        "role 'system' is not supported on this model",
        _system_allowed,
    ),
    Rule(
        "system-not-first",
        "The first message is not a system message with text.",
        "mid-conversation-system page 2026-06; wording reported in public code of 2026",
        date(2026, 9, 30),
        "reported",
        "messages.0: use the top-level 'system' parameter for the initial system prompt; the directive-only "
        "form (content: [] with output_config) is accepted at any position",
        _system_first,
        _not_at_a_system_message,
    ),
    Rule(
        "system-after-user",
        "A system message with text follows a user message or a server tool's result; several may stand in a "
        "row (recorded).",
        "mid-conversation-system page 2026-06; wording reported in public code of 2026",
        date(2026, 9, 30),
        "reported",
        "{at}: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool "
        "result",
        _system_follows,
    ),
    Rule(
        "system-before-assistant",
        "Behind a system message with text stands an assistant message, or nothing.",
        "mid-conversation-system page 2026-06; wording reported 2026-07 and 2026-09",
        date(2026, 9, 30),
        "reported",
        "{at}: role 'system' must precede an 'assistant' message or end the array; the directive-only form "
        "(content: [] with output_config) is accepted at any position",
        _system_precedes,
    ),
    Rule(
        "content",
        "Every message has content; the last one may be an empty assistant message.",
        "wording reported 2024-03 to 2025-12 (claude-code issues 3196, 6774)",
        date(2025, 12, 24),
        "reported",
        "{at}: all messages must have non-empty content except for the optional final assistant message",
        _content,
    ),
    Rule(
        "text",
        "No text block is empty.",
        "wording reported 2024-04 to 2026-05 (claude-code issues 53473, 59812); seen for system in 2026",
        date(2026, 5, 25),
        "reported",
        "{where}: text content blocks must be non-empty",
        _texts,
    ),
    Rule(
        "blank-text",
        "Where a message has texts, one of them is more than blanks.",
        "tried against the API 2026-04 (LibreChat agents PR 124); wording reported since 2024-09",
        date(2026, 4, 30),
        "reported",
        "messages: text content blocks must contain non-whitespace text",
        _blanks,
    ),
    Rule(
        "prefill",
        "Since Claude 4.6 a conversation does not end with text of the assistant.",
        "what's-new page of 4.6, 2026-02; wording reported 2026-03 to 2026-09",
        date(2026, 9, 23),
        "reported",
        "This model does not support assistant message prefill. The conversation must end with a user "
        "message.",
        _prefill_ended,
    ),
    Rule(
        "prefill-blank",
        "A text that the answer goes on from does not end in blanks.",
        "wording reported 2025-07 to 2025-12 (opencode issue 1295, forgecode issue 1872)",
        date(2025, 12, 4),
        "reported",
        "messages: final assistant content cannot end with trailing whitespace",
        _prefill_blank,
    ),
    Rule(
        "pictures",
        "At most 600 pictures and files a request, 100 on models with a window of 200,000.",
        "vision page 2026-08; wording reported 2026-02 (claude-code issue 24541) and 2026-07",
        date(2026, 8, 21),
        "reported",
        "too many images and documents: {images} + {documents} > {limit}",
        _pictures,
    ),
)
