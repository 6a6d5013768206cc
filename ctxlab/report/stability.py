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

from ctxlab.breakers import BREAKERS, Comparison, Finding, compare
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Block, Difference, Prompt, first_difference
from ctxlab.report.strips import drawn
from ctxlab.report.text import cost_words

_VARIES = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\d+", re.IGNORECASE)
# a time of day, an epoch, a long hex id: no two requests share one, whatever the conversation
_PER_REQUEST = re.compile(
    r"\d{1,2}:\d{2}|(?<!\d)\d{10,19}(?!\d)|(?=[0-9a-f-]*\d)[0-9a-f]{8}(?:-?[0-9a-f]{4})*", re.IGNORECASE
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
    >>> assert_prefix_stable([ask, {"system": "Be bold.", "messages": ask["messages"] + more}])
    Traceback (most recent call last):
    ...
    ctxlab.report.stability.UnstablePrefixError: ...
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
    """One request, and its message blocks by name: what they say, digits aside."""

    at: int
    prompt: Prompt
    names: tuple[str, ...]
    assistants: frozenset[str]

    @classmethod
    def of(cls, at: int, prompt: Prompt) -> _Sent:
        blocks = [block for block in prompt.blocks if block.segment == "messages"]
        names = [f"{block.role}: {_VARIES.sub('#', block.wire_bytes.decode())}" for block in blocks]
        said = {name for name, block in zip(names, blocks, strict=True) if block.role == "assistant"}
        return cls(at, prompt, tuple(names), frozenset(said))

    def goes_on_from(self, earlier: _Sent) -> bool:
        """Whether this is the same conversation, later: it holds what was said in the earlier one."""
        if self.assistants & earlier.assistants:
            return True
        many = len(earlier.names)
        if len(self.names) <= many or not self.assistants:
            return False
        return self.names[:many] == earlier.names or (
            many > 0 and _alike(self.names[many - 1], earlier.names[-1])
        )


def _break(past: Sequence[_Sent], sent: _Sent, ignored: frozenset[str]) -> Break | None:
    """How ``sent`` breaks the prefix of the request it goes on from; None if it does not."""
    mine = Counter(sent.names)
    related = [(sum((mine & Counter(one.names)).values()), one) for one in past if sent.goes_on_from(one)]
    most = max((shared for shared, _ in related), default=0)
    before = [one for shared, one in reversed(related) if shared == most]
    if not before:
        return _broken_across(past, sent, ignored)
    found = [_between(one, sent, ignored) for one in before]
    return None if None in found else found[0]


def _between(earlier: _Sent, later: _Sent, ignored: frozenset[str]) -> Break | None:
    difference = first_difference(earlier.prompt, later.prompt)
    if difference is not None and _another_turn(difference, later.prompt):
        return None
    (quick,) = compare((earlier.prompt, later.prompt), price=False)
    return _as_break(earlier, later, quick, ignored)


def _as_break(earlier: _Sent, later: _Sent, quick: Comparison, ignored: frozenset[str]) -> Break | None:
    if not [one for one in quick.findings if one.confirmed and one.code not in ignored]:
        return None
    (priced,) = compare((earlier.prompt, later.prompt))
    findings = tuple(one for one in priced.findings if one.confirmed and one.code not in ignored)
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
    fixed = [_fixed(sent.prompt)]
    if not fixed[0]:
        return None
    accident = None
    for one in reversed(past):
        theirs = _fixed(one.prompt)
        if [block.wire_sha256 for block in theirs] == [block.wire_sha256 for block in fixed[0]]:
            return None
        difference = first_difference(one.prompt, sent.prompt)
        if accident is None and difference is not None and _by_accident(difference, theirs, fixed[0]):
            (quick,) = compare((one.prompt, sent.prompt), price=False)
            accident = _as_break(one, sent, quick, ignored)
    return accident


def _fixed(prompt: Prompt) -> list[Block]:
    return [block for block in prompt.blocks if block.segment != "messages"]


def _by_accident(difference: Difference, theirs: Sequence[Block], mine: Sequence[Block]) -> bool:
    if difference.segment == "messages" or len(theirs) != len(mine):
        return False
    if difference.kind in ("reordered", "key_order"):
        return True
    if difference.kind != "changed" or difference.before is None or difference.after is None:
        return False
    old, new = difference.before.wire_bytes.decode(), difference.after.wire_bytes.decode()
    return old != new and _PER_REQUEST.sub("#", old) == _PER_REQUEST.sub("#", new)


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
