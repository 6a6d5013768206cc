"""Step three, three ways: two bodies as they were sent, in the order they are rendered, and with sorted keys.

Models: the first difference of each way; a sorted dump that says *identical*, and one that points at another
part than the cache does.
Does not model: what a difference costs (:func:`ctxlab.breakers.compare`).
Source: the first document's third step asks for the sorted dump. It is blind to keys in another order, and it
reads ``messages`` before ``system`` before ``tools``, where the API renders them the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxlab.breakers import DumpDifference, sorted_dump_difference
from ctxlab.prompt import Difference, Prompt, first_difference, first_different_byte, plain

_SHOWN_CHARS = 20


@dataclass(frozen=True, slots=True)
class Views:
    """The first difference of two bodies, three ways; None where a way says *identical*.

    ``in_render_order`` is the one that the cache goes by.
    """

    as_sent: DumpDifference | None
    in_render_order: Difference | None
    sorted_dump: DumpDifference | None

    @property
    def sorted_is_blind(self) -> bool:
        """Whether the prefix changed and the sorted dumps are the same."""
        return self.in_render_order is not None and self.sorted_dump is None

    @property
    def sorted_points_elsewhere(self) -> bool:
        """Whether the sorted dumps differ first in another part than the prompts do."""
        one, other = self.in_render_order, self.sorted_dump
        return one is not None and other is not None and one.segment != other.field

    def __str__(self) -> str:
        ways = {
            "as sent": self.as_sent,
            "in render order": self.in_render_order,
            "sorted": self.sorted_dump,
        }
        return "\n".join(f"{name}: {found or 'identical'}" for name, found in ways.items())


def compare_bytes(earlier: Any, later: Any) -> Views:
    """Both bodies (dicts or SDK objects) compared as sent, in render order, and sorted.

    Raises :class:`InvalidRequestError` for a body that cannot be read.

    >>> def ask(order):
    ...     call = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": dict.fromkeys(order, 1)}
    ...     return {"messages": [{"role": "assistant", "content": [call]}]}
    >>> views = compare_bytes(ask("ab"), ask("ba"))
    >>> print(views.in_render_order)
    messages[0].content[0].input: the same content with its keys in another order (0 blocks shared)
    >>> views.sorted_dump is None, views.sorted_is_blind
    (True, True)
    """
    one, other = plain(earlier), plain(later)
    difference = first_difference(Prompt.from_request(one), Prompt.from_request(other))
    return Views(_as_sent(one, other), difference, sorted_dump_difference(one, other))


def _as_sent(one: Mapping[str, Any], other: Mapping[str, Any]) -> DumpDifference | None:
    """The first difference of two dumps that keep the order of keys."""
    before, after = (json.dumps(body, ensure_ascii=False) for body in (one, other))
    at_byte = first_different_byte(before.encode(), after.encode())
    if at_byte is None:
        return None
    at = len(before.encode()[:at_byte].decode("utf-8", "ignore"))
    start = max(0, at - _SHOWN_CHARS)
    return DumpDifference(
        at, _field_at(other, at), before[start : at + _SHOWN_CHARS], after[start : at + _SHOWN_CHARS]
    )


def _field_at(body: Mapping[str, Any], at_char: int) -> str:
    """The top-level field of a dump that a character lies in."""
    end, name = 1, ""
    for name, value in body.items():
        end += len(json.dumps({name: value}, ensure_ascii=False))
        if at_char < end:
            return name
    return name
