"""Whether what a program sends keeps one prefix: requests sorted into conversations, each held to its past.

Models: which earlier request a request goes on from (they share blocks of messages, also when digits in them
differ); the breaks between the two, by :func:`ctxlab.breakers.compare`; across conversations only what breaks
for certain and by accident: another order of the same tools, the time or an id in tools or system.
Does not model: whether a cache entry was there (:mod:`ctxlab.diagnose`), or requests of two workspaces.

What is no break: appended turns, moved markers, a string for its list of one text, another conversation, a
conversation begun again or sent a second time, another last user turn on the same history.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxlab.breakers import BREAKERS, Finding, compare
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Difference, Prompt, first_difference
from ctxlab.report.strips import drawn
from ctxlab.report.text import cost_words

_VARIES = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\d+", re.IGNORECASE)
# no two requests share these, whatever the conversation: nobody means to send them
_ACCIDENTS = frozenset(code for code in BREAKERS if code.startswith("CTX2")) | frozenset(
    ("CTX101", "CTX102", "CTX103", "CTX105")
)
_ALIKE = 0.5  # share of a text that must be the same for another one to be an edit of it


class UnstablePrefixError(AssertionError):
    """A prefix broke; ``breaks`` lists where."""

    def __init__(self, message: str, breaks: Sequence[Break]):
        super().__init__(message)
        self.breaks = tuple(breaks)


@dataclass(frozen=True, slots=True)
class Break:
    """Request ``later`` does not go on where request ``earlier`` ended (counted from 0)."""

    earlier: int
    later: int
    findings: tuple[Finding, ...]
    drawing: str

    def __str__(self) -> str:
        lines = [self.drawing]
        for one in self.findings:
            lines.append(str(one))
            if cost := cost_words(one):
                lines.append(f"    {cost}")
        return "\n".join(lines)


def assert_prefix_stable(
    requests: Iterable[Mapping[str, Any] | Prompt], *, ignore: Iterable[str] = ()
) -> None:
    """Raise :class:`UnstablePrefixError` (an ``AssertionError``) where a request breaks the prefix before it.

    ``requests`` are bodies of ``client.messages.create(**request)`` in the order they were sent; several
    conversations may be mixed. ``ignore`` are codes or rules that may break it (``"CTX301"``,
    ``"model-switch"``). Raises :class:`InvalidRequestError` for a body that cannot be read and
    :class:`InvalidArgumentError` for a rule that does not exist.

    >>> ask = {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]}
    >>> more = [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Bye"}]
    >>> assert_prefix_stable([ask, {**ask, "messages": ask["messages"] + more}])
    >>> changed = {"system": "Be bold.", "messages": ask["messages"] + more}
    >>> assert_prefix_stable([ask, changed])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ctxlab.report.stability.UnstablePrefixError: the prefix is not stable: 1 request does not begin as ...
    """
    if breaks := unstable(requests, ignore=ignore):
        raise UnstablePrefixError(told(breaks), breaks)


def told(breaks: Sequence[Break]) -> str:
    """All breaks for a person, each with its two strips."""
    many = f"{len(breaks)} requests do" if len(breaks) > 1 else "1 request does"
    return "\n\n".join([f"the prefix is not stable: {many} not begin as the one before", *map(str, breaks)])


def unstable(
    requests: Iterable[Mapping[str, Any] | Prompt], *, ignore: Iterable[str] = ()
) -> tuple[Break, ...]:
    """Every break of :func:`assert_prefix_stable`, without raising; empty when the prefix is stable."""
    ignored = _codes(ignore)
    prompts = [one if isinstance(one, Prompt) else Prompt.from_request(one) for one in requests]
    past: list[_Sent] = []
    breaks = []
    for at, prompt in enumerate(prompts):
        sent = _Sent.of(at, prompt)
        found = _break(past, sent, ignored)
        past.append(sent)
        if found is not None:
            breaks.append(found)
    return tuple(breaks)


@dataclass(frozen=True, slots=True)
class _Sent:
    """One request: its message blocks by their bytes, and by their words with digits left out."""

    at: int
    prompt: Prompt
    exact: tuple[bytes, ...]
    words: tuple[str, ...]
    assistants: frozenset[str]

    @classmethod
    def of(cls, at: int, prompt: Prompt) -> _Sent:
        blocks = [block for block in prompt.blocks if block.segment == "messages"]
        exact = tuple(f"{block.role}:".encode() + block.wire_sha256 for block in blocks)
        words = tuple(f"{block.role}:{_VARIES.sub('#', block.wire_bytes.decode())}" for block in blocks)
        answers = (word for word, block in zip(words, blocks, strict=True) if block.role == "assistant")
        return cls(at, prompt, exact, words, frozenset(answers))

    @property
    def fixed(self) -> list[bytes]:
        """Tools and system."""
        return [block.wire_sha256 for block in self.prompt.blocks if block.segment != "messages"]

    def begins_as(self, earlier: _Sent) -> bool:
        """Whether everything said in the earlier one stands at the beginning of this one."""
        return self.exact[: len(earlier.exact)] == earlier.exact

    def edits(self, earlier: _Sent) -> bool:
        """Whether this looks like the same conversation, later, with something in it changed."""
        many = len(earlier.words)
        if self.assistants & earlier.assistants:
            return _shared(self.words, earlier.words) >= _ALIKE * many
        if many == 0 or many >= len(self.words) or not self.assistants:
            return False
        return self.words[: many - 1] == earlier.words[:-1] and _alike(
            self.words[many - 1], earlier.words[-1]
        )


def _break(past: Sequence[_Sent], sent: _Sent, ignored: frozenset[str]) -> Break | None:
    """How ``sent`` breaks the prefix of the request it goes on from; None if it does not."""
    before = [one for one in past if 0 < len(one.exact) < len(sent.exact) and sent.begins_as(one)]
    if before:
        root = min(before, key=lambda one: len(one.exact))
        family = [one for one in past if one.begins_as(root)]
    else:
        family = [one for one in past if sent.edits(one)]
    if not family:
        return _broken_across(past, sent, ignored)
    # of two conversations that say the same, the one with the same tools and system is its own
    family = [one for one in family if one.fixed == sent.fixed] or family
    shared = [_shared(sent.exact, one.exact) or _shared(sent.words, one.words) for one in family]
    nearest = [one for one, many in zip(family, shared, strict=True) if many == max(shared)]
    found = [_between(one, sent, ignored) for one in reversed(nearest)]
    return None if None in found else found[0]


def _shared(one: Sequence[Any], other: Sequence[Any]) -> int:
    return (Counter(one) & Counter(other)).total()


def _between(earlier: _Sent, later: _Sent, ignored: frozenset[str]) -> Break | None:
    difference = first_difference(earlier.prompt, later.prompt)
    if difference is not None and _another_turn(difference, later.prompt):
        return None
    (quick,) = compare((earlier.prompt, later.prompt), price=False)
    return _as_break(earlier, later, _counting(quick.findings, ignored))


def _counting(findings: Iterable[Finding], ignored: frozenset[str]) -> list[Finding]:
    return [one for one in findings if one.confirmed and one.code not in ignored]


def _as_break(earlier: _Sent, later: _Sent, counting: Sequence[Finding]) -> Break | None:
    if not counting:
        return None
    (priced,) = compare((earlier.prompt, later.prompt))
    wanted = {(one.code, one.path) for one in counting}
    findings = tuple(one for one in priced.findings if (one.code, one.path) in wanted)
    names = (f"request {earlier.at + 1}", f"request {later.at + 1}")
    drawing = drawn(earlier.prompt, later.prompt, priced.difference, names=names)
    return Break(earlier.at, later.at, findings, drawing)


def _another_turn(difference: Difference, later: Prompt) -> bool:
    """Whether the later request only ends sooner, or says something else as the user's last turn.

    An earlier turn that was edited has something the assistant said behind it.
    """
    if difference.kind == "removed" and difference.after is None:
        return difference.segment == "messages"
    if difference.segment != "messages":
        return False
    rest = later.blocks[difference.index :]
    return all(block.segment == "messages" and block.role != "assistant" for block in rest)


def _broken_across(past: Sequence[_Sent], sent: _Sent, ignored: frozenset[str]) -> Break | None:
    """A break between conversations: tools or system are the same but for their order, a time or an id."""
    accident = None
    for one in reversed(past):
        if not sent.fixed or one.fixed == sent.fixed:
            return None
        if accident is None:
            (quick,) = compare((one.prompt, sent.prompt), price=False)
            fixed = [found for found in quick.findings if not found.path.startswith("messages")]
            if all(found.code in _ACCIDENTS for found in fixed):
                accident = _as_break(one, sent, _counting(fixed, ignored))
    return accident


def _alike(one: str, other: str) -> bool:
    """Whether one text is an edit of the other: beginning and end are the same, half of the longer one."""
    shorter, longer = sorted((one, other), key=len)
    head = next((i for i, (x, y) in enumerate(zip(shorter, longer, strict=False)) if x != y), len(shorter))
    tail = next(
        (i for i, (x, y) in enumerate(zip(shorter[::-1], longer[::-1], strict=False)) if x != y), len(shorter)
    )
    return min(head + tail, len(shorter)) >= _ALIKE * len(longer)


def _codes(ignore: Iterable[str]) -> frozenset[str]:
    """Codes for codes and rules; a lone string is one of them."""
    asked = [ignore] if isinstance(ignore, str) else list(ignore)
    by_rule = {breaker.rule: code for code, breaker in BREAKERS.items()}
    unknown = [one for one in asked if one not in BREAKERS and one not in by_rule]
    if unknown:
        known = ", ".join(f"{code} ({breaker.rule})" for code, breaker in BREAKERS.items())
        raise InvalidArgumentError(Problem("ignore", "known-code", f"has {unknown[0]!r}", f"use {known}"))
    return frozenset(by_rule.get(one, one) for one in asked)
