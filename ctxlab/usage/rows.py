"""Log rows that repeat a message, folded into one entry per message.

Models: agents that log one row per content block, each with the usage of the whole message so far.
Does not model: files (:mod:`ctxlab.recordings`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ctxlab.usage.checking import each, invalid, mapping
from ctxlab.usage.classes import four_classes
from ctxlab.usage.sums import Usage, usage_at


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """One message of a log: its id (None if the log has none), its usage, and how many rows repeated it."""

    message_id: str | None
    usage: Usage
    rows: int


def fold_rows(rows: Iterable[object]) -> tuple[LoggedMessage, ...]:
    """One entry per message id, in order of first appearance.

    Agents log one row per content block, each with the usage of the whole message as far as it was known, so
    that adding the rows counts a message two or three times. The row with the largest output rules, the last
    one among equals; rows that disagree about the input are flagged ``rows-conflict``. Rows without an id are
    kept one by one and flagged ``no-message-id``. A row is a mapping with ``id`` and ``usage``, or one with
    such a ``message`` in it.

    >>> half, whole = ({"id": "msg_A", "usage": {"input_tokens": 2, "output_tokens": n}} for n in (1, 412))
    >>> [message.usage.output_tokens for message in fold_rows([half, half, whole])]
    [412]
    """
    folded: list[LoggedMessage] = []
    place: dict[str, int] = {}
    for path, row in each("rows", rows):
        body = mapping(path, row)
        if "usage" not in body and body.get("message") is not None:
            path += ".message"
            body = mapping(path, body["message"])
        usage = usage_at(f"{path}.usage", mapping(f"{path}.usage", body.get("usage")))
        message_id = body.get("id")
        if message_id is not None and not isinstance(message_id, str):
            raise invalid(f"{path}.id", "type", f"is {message_id!r}", "a message id is a string")
        if not message_id:
            folded.append(LoggedMessage(None, _flagged(usage, "no-message-id"), 1))
        elif message_id not in place:
            place[message_id] = len(folded)
            folded.append(LoggedMessage(message_id, usage, 1))
        else:
            seen = folded[place[message_id]]
            folded[place[message_id]] = LoggedMessage(
                message_id, _same_message(seen.usage, usage), seen.rows + 1
            )
    return tuple(folded)


def _same_message(seen: Usage, later: Usage) -> Usage:
    kept = later if later.billed_output_tokens >= seen.billed_output_tokens else seen
    flags = seen.flags | later.flags
    if (
        four_classes(seen)[:3] != four_classes(later)[:3]
        or seen.billed_input_tokens != later.billed_input_tokens
    ):
        flags |= {"rows-conflict"}
    return replace(kept, flags=flags)


def _flagged(usage: Usage, flag: str) -> Usage:
    return replace(usage, flags=usage.flags | {flag})
