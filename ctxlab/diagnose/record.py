"""What is remembered of a call while it runs and afterwards.

Models: one mutable record per call; the entries it wrote and read, as touches of a prefix.
Does not model: text. A record's sketch may hold it for as long as its owner wants.
Source: own construction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxlab.cache import Plan, Scope, Ttl
from ctxlab.diagnose.reasons import CacheMissReason
from ctxlab.diagnose.sketch import Sketch
from ctxlab.errors import Problem
from ctxlab.usage import Usage

if TYPE_CHECKING:
    from ctxlab.diagnose.comparing import Comparison


@dataclass(slots=True, eq=False)
class Record:
    """One call. ``number`` is its place in the order of starts, ``index`` the caller's number for it.

    ``deepest`` is the position where the last entry it left ends, ``left_tokens`` its size (None: not
    known); ``end`` the length and the last digest of its prompt, by which a later request shows that it holds
    this one's answer. ``applied`` are the edits that the server says it made, None if it says nothing.
    """

    index: int
    number: int
    started_s: float | None = None
    responded_s: float | None = None
    model_id: str | None = None
    workspace: str | None = None
    conversation: str | None = None
    compacted: bool = False
    applied: tuple[str, ...] | None = None
    response_id: str | None = None
    sketch: Sketch | None = None
    unreadable: tuple[Problem, ...] = ()
    plan: Plan | None = None
    usage: Usage | None = None
    reason: CacheMissReason | None = None
    compared: Comparison | None = None
    end: tuple[int, str] | None = None
    deepest: int | None = None
    left_tokens: int | None = None
    touched: list[tuple[str, Held]] = field(default_factory=list)

    def place(self, name: str) -> str:
        """A piece of evidence as a place: ``exchanges[3].started_s``."""
        return f"exchanges[{self.index}].{name}"


@dataclass(slots=True, eq=False)
class Held:
    """One write or read of an entry: ``sure`` once usage shows that there is one.

    It holds what is needed of the call, and not the call.
    """

    index: int
    number: int
    scope: Scope
    ttl: Ttl
    started_s: float | None
    responded_s: float | None = None
    answered: bool = False
    sure: bool = False
    end: tuple[int, str] | None = None

    def place(self, name: str) -> str:
        """As :meth:`Record.place`."""
        return f"exchanges[{self.index}].{name}"
