"""What breaks a cached prefix: one type for every finding, one code for every kind of breaker.

Models: a kind (:class:`Breaker`), by code, with its rule's name and the reason it costs money; a
:class:`Finding`, a :class:`~ctxlab.errors.Problem` with a code, a certainty and a price.
Does not model: how a breaker is found (source, one request, two requests each have their module), or how
findings are printed (see :mod:`ctxlab.report`).

A kind has the same code whichever way it was found: a clock is CTX101 in a source file, in one request body
and between two requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from ctxlab.errors import Problem

Certainty = Literal["confirmed", "suspected"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """One kind of breaker: ``code`` and ``rule`` name it, ``why`` says in one sentence what it does."""

    code: str
    rule: str
    why: str


_ALL = (
    Breaker("CTX101", "clock", "the time of day is in the prefix, so no two requests share it"),
    Breaker("CTX102", "random-value", "every request holds a fresh uuid, token or random number"),
    Breaker("CTX103", "object-identity", "id(), hash() and object addresses differ from process to process"),
    Breaker("CTX104", "per-user-value", "what differs per user splits one shared entry into one per user"),
    Breaker("CTX105", "per-run-value", "a path, process id or host name of this run is in the prefix"),
    Breaker("CTX201", "key-order", "JSON keys in another order are other bytes"),
    Breaker("CTX202", "set-order", "a set's order differs from process to process, and so do the bytes"),
    Breaker("CTX203", "tool-order", "tools are rendered first: their order changes everything behind them"),
    Breaker("CTX204", "array-order", "an array that only lists a set is rendered in the order it is given"),
    Breaker("CTX301", "model-switch", "entries belong to one model (and speed): another one starts cold"),
    Breaker("CTX302", "system-changed", "the system prompt stands before every message"),
    Breaker("CTX303", "history-changed", "an earlier message was edited: it and all behind it are read anew"),
    Breaker("CTX304", "block-moved", "a block left its place: the prefix ends where it was"),
    Breaker("CTX305", "block-injected", "a block was put in front of what was sent before"),
    Breaker("CTX306", "block-removed", "a block is gone from the middle of what was sent before"),
    Breaker("CTX307", "parameter-changed", "a request parameter that is part of the cache key changed"),
    Breaker("CTX308", "tools-changed", "tool definitions are rendered first: a change reaches everything"),
    Breaker("CTX401", "marker-on-volatile", "an entry is written at a block that will not come back"),
    Breaker("CTX402", "markers-accumulate", "markers are added and never removed: the fifth is refused"),
    Breaker("CTX403", "no-marker", "nothing is marked, so nothing is written or read"),
    Breaker("CTX404", "below-floor", "the marked prefix is shorter than the model's minimum"),
    Breaker("CTX405", "lookback-exceeded", "the last entry lies more positions back than a marker looks"),
    Breaker("CTX406", "marker-fault", "the API refuses this arrangement of markers"),
    Breaker("CTX901", "unreadable", "this could not be read, so nothing is known about it"),
)
BREAKERS: Mapping[str, Breaker] = {breaker.code: breaker for breaker in _ALL}
"""Every kind, by code."""

_BY_RULE: Mapping[str, Breaker] = {breaker.rule: breaker for breaker in _ALL}


@dataclass(frozen=True, slots=True)
class Finding(Problem):
    """One breaker at one place.

    ``path`` is a file, a JSON path or both (``agent.py``, ``system[0].text``, ``b.json: tools[1]``); ``line``
    and ``column`` count from 1 and are None where there are none. ``certainty`` is ``confirmed`` when the
    bytes are seen or proved to differ, else ``suspected``. ``tokens_per_turn`` are input tokens read anew
    each turn because of it and ``usd_per_turn`` what they cost above a cache read, both None where unknown.
    ``evidence`` is the span that shows it, shortened.

    >>> print(finding("clock", "agent.py", "datetime.now() reaches system", line=7, certainty="confirmed"))
    agent.py:7: CTX101 datetime.now() reaches system [clock]
    """

    code: str = "CTX901"
    certainty: Certainty = "suspected"
    line: int | None = None
    column: int | None = None
    tokens_per_turn: int | None = None
    usd_per_turn: Decimal | None = None
    evidence: str = ""

    @property
    def confirmed(self) -> bool:
        """Whether the bytes are seen or proved to differ."""
        return self.certainty == "confirmed"

    @property
    def why(self) -> str:
        """Why this kind costs money, in one sentence."""
        return BREAKERS[self.code].why

    @property
    def place(self) -> str:
        """Path, line and column as an editor opens them."""
        numbers = [str(n) for n in (self.line, self.column) if n is not None]
        return ":".join([self.path, *numbers])

    def priced(self, tokens_per_turn: int, usd_per_turn: Decimal | None = None) -> Finding:
        """The same finding with what it costs each turn."""
        return replace(self, tokens_per_turn=tokens_per_turn, usd_per_turn=usd_per_turn)

    def __str__(self) -> str:
        tail = f"; {self.fix}" if self.fix else ""
        doubt = "" if self.confirmed else " (suspected)"
        return f"{self.place}: {self.code}{doubt} {self.message} [{self.rule}]{tail}"


def finding(
    rule: str,
    path: str,
    message: str,
    *,
    fix: str = "",
    certainty: Certainty = "suspected",
    line: int | None = None,
    column: int | None = None,
    evidence: str = "",
) -> Finding:
    """A :class:`Finding` by its rule's name; the code comes from the table."""
    return Finding(
        path,
        rule,
        message,
        fix,
        code=_BY_RULE[rule].code,
        certainty=certainty,
        line=line,
        column=column,
        evidence=evidence,
    )


def any_confirmed(findings: Iterable[Finding]) -> bool:
    """Whether at least one finding is confirmed."""
    return any(one.confirmed for one in findings)
