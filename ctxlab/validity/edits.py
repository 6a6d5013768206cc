"""What an edit of a conversation may not touch: thinking, which is checked against what the server wrote.

Models: thinking of the latest answer and of an open tool loop stays unchanged and in order, with everything
beside it; on models that bind thinking, it also needs the very prefix it was written behind.
Does not model: signatures. What is compared is the list before the edit with the list behind it.
Source: thinking pages 2026-08 and compaction-thinking-blocks page 2026-09; wording of the first rule reported
2025-10 to 2026-06 (claude-code issue 24087 and others), of the second not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import Problem, UnknownModelError
from ctxlab.prompt import Block, Prompt

THINKING = ("thinking", "redacted_thinking")
UNCHANGED = (
    "{at}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
#: Models released since bind thinking to what stands before it (thinking pages 2026-09).
_BINDING_SINCE = date(2026, 9, 1)


def binds_thinking(model: str | Model | None) -> bool:
    """Whether a model's thinking is valid only behind the prefix it was written for.

    For 5.1 and 5.5 models that holds for accounts made since 2026-08-31, for 5.2 for all; here it is taken
    to hold. A model in no list is not taken for one.

    >>> binds_thinking("claude-opus-5-5"), binds_thinking("claude-opus-4-8")
    (True, False)
    """
    try:
        known = None if model is None else get_model(model)
    except UnknownModelError:
        return False
    return known is not None and known.released is not None and known.released >= _BINDING_SINCE


def check_edit(
    before: Mapping[str, Any] | Prompt, after: Mapping[str, Any] | Prompt, model: str | Model | None = None
) -> list[Problem]:
    """What ``after`` breaks of ``before``'s thinking; an empty list when nothing.

    ``thinking-unchanged``: an answer with thinking that is the latest, or in a tool loop that is still open,
    is not as it was. ``thinking-bound`` (models that bind thinking): what stands before a block of thinking
    is not what stood there, so the server drops the block or refuses the request. Messages that lost all
    their thinking break neither. ``model`` defaults to the one ``before`` names.

    Raises :class:`ctxlab.errors.InvalidRequestError` for a body that cannot be read.

    >>> think = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    >>> def body(*blocks):
    ...     go, answer = {"role": "user", "content": "Go"}, {"role": "assistant", "content": list(blocks)}
    ...     return {"messages": [go, answer, go]}
    >>> text = {"type": "text", "text": "Well."}
    >>> [problem.path for problem in check_edit(body(think, text), body(think))]
    ['messages[1].content[0]']
    """
    old = before if isinstance(before, Prompt) else Prompt.from_request(before)
    new = after if isinstance(after, Prompt) else Prompt.from_request(after)
    named = model if model is not None or isinstance(before, Prompt) else before.get("model")
    found = list(_changed(old, new))
    if binds_thinking(named):
        found += _unbound(old, new)
    return found


def _changed(old: Prompt, new: Prompt) -> Iterator[Problem]:
    known = {_digests(message) for message in _by_message(old).values()}
    messages = _by_message(new)
    for number in held_messages(new):
        first = next((block for block in messages[number] if block.type in THINKING), None)
        if first is not None and _digests(messages[number]) not in known:
            at = first.path.replace("[", ".").replace("]", "")
            fix = "leave that answer as it was, or replace all of it by plain text"
            yield Problem(first.path, "thinking-unchanged", UNCHANGED.format(at=at), fix)


def _unbound(old: Prompt, new: Prompt) -> Iterator[Problem]:
    known = set(old.chain())
    for block, digest in zip(new.blocks, new.chain(), strict=True):
        if block.type in THINKING and digest not in known:
            says = "stands behind another prefix than the one it was written for"
            fix = "drop the thinking of this and all later answers, or edit on the server's side"
            yield Problem(block.path, "thinking-bound", says, fix)


def _by_message(prompt: Prompt) -> dict[int, list[Block]]:
    messages: dict[int, list[Block]] = {}
    for block in prompt.blocks:
        if block.message is not None:
            messages.setdefault(block.message, []).append(block)
    return messages


def _digests(message: list[Block]) -> tuple[bytes, ...]:
    return tuple(block.wire_sha256 for block in message)


def held_messages(prompt: Prompt) -> list[int]:
    """Numbers of the answers whose thinking must not change: the latest, and all of the loop it stands in."""
    messages = _by_message(prompt)
    held: list[int] = []
    for number in sorted(messages, reverse=True):
        role = messages[number][0].role
        if role == "assistant":
            held.append(number)
        elif role == "user" and not any(block.type == "tool_result" for block in messages[number]):
            if held:
                break
            return [n for n in sorted(messages) if messages[n][0].role == "assistant"][-1:]
    return held
