"""The diff of two sorted dumps, which many are told to make, and what it cannot see.

Models: what that diff says. Does not model: what broke the prefix (:func:`ctxlab.breakers.compare` does).
Source: the advice as it is taught, 2025 and 2026; what it misses is shown in the tests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxlab.breakers.changes import shared_ends
from ctxlab.prompt import plain


@dataclass(frozen=True, slots=True)
class DumpDifference:
    """Where two sorted dumps differ: the character, the top-level field it lies in, and what stands there."""

    at_char: int
    field: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.field}, character {self.at_char}: {self.before!r} became {self.after!r}"


def sorted_dump_difference(earlier: Any, later: Any) -> DumpDifference | None:
    """What a diff of two dumps with sorted keys says; None when it says *identical*.

    Many are told to look for a break this way. It is blind to keys in another order, and it reads fields by
    the alphabet, ``messages`` before ``system`` before ``tools``, while the prefix begins with the tools: of
    two changes it names the one that cost less. For :func:`compare` to be held against.

    >>> from ctxlab.breakers import compare
    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"a": 1, "b": 2}}
    >>> swapped = {**call, "input": {"b": 2, "a": 1}}
    >>> first, second = ({"messages": [{"role": "assistant", "content": [c]}]} for c in (call, swapped))
    >>> sorted_dump_difference(first, second) is None, compare([first, second])[0].findings[0].code
    (True, 'CTX201')
    """
    one, other = (json.dumps(plain(body), sort_keys=True, ensure_ascii=False) for body in (earlier, later))
    if one == other:
        return None
    at = shared_ends(one, other)[0]
    start = max(0, at - 20)
    return DumpDifference(at, _field_at(plain(later), at), one[start : at + 20], other[start : at + 20])


def _field_at(body: Mapping[str, Any], at_char: int) -> str:
    """The top-level field of a sorted dump that a character lies in."""
    end = 1
    for name in sorted(body):
        end += len(json.dumps({name: body[name]}, sort_keys=True, ensure_ascii=False))
        if at_char < end:
            return name
    return max(body, default="")
