"""What the emulator wrote down about each request: the books that an answer is checked against.

Models: one :class:`Call` per request, refused ones included; when it began and ended; its usage, its plan
and why.
Does not model: money (``cost.bill(call.usage, call.model)``).
Source: own construction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

from ctxlab.cache import Plan
from ctxlab.effective import Applied
from ctxlab.emulator.summaries import Summary
from ctxlab.prompt import Prompt
from ctxlab.tokens import Outside
from ctxlab.usage import Iteration, Usage

State = Literal["open", "complete", "cut", "abandoned", "refused"]


Span = tuple[str, str, int]


@dataclass(slots=True, repr=False)
class Compacted:
    """A pass that was to write a summary: what came of it (*scripted*), what it cost, how it was read.

    ``summary.content`` is None where there was none. ``plan`` is let go with that of its call.
    """

    summary: Summary
    usage: Iteration
    on_demand: bool
    plan: Plan | None
    _reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        chars = len(self.summary.content or "")
        u = self.usage
        return (
            f"<Compacted: {chars:,} characters, scripted; read {u.cache_read_input_tokens:,} written "
            f"{u.cache_creation_input_tokens:,} fresh {u.input_tokens:,} output {u.output_tokens:,}>"
        )

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was read, written or neither: a sentence for each marker."""
        return self._reasons if self.plan is None else self.plan.reasons

    @property
    def spans(self) -> list[Span]:
        """As those of its call, of the prompt that was summarised."""
        return [] if self.plan is None else _spans(self.plan)

    def let_go(self) -> None:
        """Forget the plan, which is large."""
        self._reasons = self.reasons
        self.plan = None


@dataclass(slots=True, repr=False)
class Call:
    """One request and what became of it.

    ``state``: *open* until its answer is read to the end (*complete*), closed before that (*cut*: its
    entries and its input stay) or closed before the first byte (*abandoned*: nothing stays, no usage);
    *refused* with ``error``. Times are seconds of the injected clock. ``counter`` names who counted,
    ``outside`` what no rule covers. ``applied`` is what was done to the request before it was read, and
    ``compaction`` the pass that summarised it; ``plan``, ``prompt``, ``spans`` and ``reasons`` are those of
    the pass that answered, which may be the summary's. ``plan`` and ``prompt`` of old calls are let go when
    too many are held; their figures stay.
    """

    number: int
    request_id: str
    method: str
    path: str
    started_s: float
    evidence: Literal["emulated"] = "emulated"
    state: State = "open"
    status: int = 200
    error: str | None = None
    workspace: str | None = None
    model: str | None = None
    request_sha256: str | None = None
    message_id: str | None = None
    began_s: float | None = None
    ended_s: float | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    diagnostics: dict[str, Any] | None = None
    counter: str | None = None
    outside: tuple[Outside, ...] = ()
    applied: tuple[Applied, ...] = ()
    compaction: Compacted | None = None
    plan: Plan | None = None
    prompt: Prompt | None = None
    _reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        what = self.error or self.state
        if self.usage is not None:
            u = self.usage
            what += (
                f", read {u.cache_read_input_tokens:,} written {u.cache_creation_input_tokens:,} "
                f"fresh {u.input_tokens:,} output {u.output_tokens:,}"
            )
        return f"<Call {self.number}: {self.model or self.path}, {self.status}, {what}>"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it was read, written or neither: a sentence for each marker."""
        return self._reasons if self.plan is None else self.plan.reasons

    def let_go(self) -> None:
        """Forget plan and prompt, which are large."""
        self._reasons = self.reasons
        self.plan = self.prompt = None
        if self.compaction is not None:
            self.compaction.let_go()

    @property
    def spans(self) -> list[Span]:
        """(path, "R" | "W" | "F", tokens) per block, and what follows the last one: for ``prefix_strip``."""
        return [] if self.plan is None else _spans(self.plan)

    @property
    def markers(self) -> list[tuple[int, str]]:
        """(index of the span, lifetime) of each marker: for ``prefix_strip``."""
        if self.plan is None:
            return []
        return [(marker.position, marker.ttl) for marker in self.plan.layout.markers]


def _spans(plan: Plan) -> list[Span]:
    layout = plan.layout
    found, before = [], 0
    for position, letter in zip(layout.positions, plan.classes(), strict=True):
        size = position.cumulative_tokens or before
        found.append((position.path, letter, size - before))
        before = size
    return [*found, ("messages, behind the last block", "F", (layout.total_tokens or before) - before)]


@dataclass
class Books(Sequence[Call]):
    """Every call in the order it arrived.

    ``hold_positions`` bounds the plans that are held, ``hold_calls`` the calls.
    """

    hold_positions: int = 20_000
    hold_calls: int = 100_000
    _calls: deque[Call] = field(default_factory=deque)
    _with_plans: deque[Call] = field(default_factory=deque)
    _positions: int = 0

    def add(self, call: Call) -> None:
        self._calls.append(call)
        if len(self._calls) > self.hold_calls:
            self._calls.popleft()

    def hold_plan(self, call: Call, plan: Plan, prompt: Prompt) -> None:
        call.plan, call.prompt = plan, prompt
        self._with_plans.append(call)
        self._positions += _held(call)
        while self._positions > self.hold_positions and len(self._with_plans) > 1:
            oldest = self._with_plans.popleft()
            self._positions -= _held(oldest)
            oldest.let_go()

    def clear(self) -> None:
        """Forget every call; entries of the cache stay."""
        self._calls.clear()
        self._with_plans.clear()
        self._positions = 0

    @property
    def usage(self) -> Usage:
        """The sum over all calls that were answered."""
        return sum((call.usage for call in self._calls if call.usage is not None), Usage.zero())

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> list[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        return list(self._calls)[index] if isinstance(index, slice) else self._calls[index]


def _held(call: Call) -> int:
    """Positions of the plans that a call holds."""
    plans = {id(plan): plan for plan in (call.plan, call.compaction and call.compaction.plan) if plan}
    return sum(len(plan.layout.positions) for plan in plans.values())
