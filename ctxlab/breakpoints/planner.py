"""Where at most four markers should stand, how long their entries should live, and why, in words.

Models: the ends of tools and system prompt; a tail that moves with the conversation; the end of the previous
request, marked as well where the tail could not find its entry; markers the caller has set; lifetimes by
pauses and expected reads; the model's floor.
Does not model: what is alive in the cache (:mod:`ctxlab.cache`); keep-alive requests; text that changes on
every request, unless the caller says how many blocks do.
Source: prompt-caching page, 2026-08 and 2026-09. What a run of tool blocks counts in the lookback is only
reported, so every block is taken for a position: at worst a marker stands where none was needed, for free.

Where more than four are wanted, these stay, first to last: the tail; the end of the previous request; the
caller's own, the last in render order first; the end of the system prompt; the end of the tools.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import accumulate
from numbers import Real
from typing import Any, Literal

from ctxlab.breakpoints.lifetimes import Lifetime, checked_gaps, lifetime
from ctxlab.breakpoints.places import Place, places
from ctxlab.breakpoints.rewrite import with_markers
from ctxlab.cache import LIFETIME_S, LOOKBACK_POSITIONS, MAX_MARKERS, Ttl, asked_ttl
from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Block, Prompt, Segment
from ctxlab.tokens import Count
from ctxlab.tokens import count as count_tokens

KeepMarkers = Literal["fixed", "all", "none"]
Job = Literal["tools-end", "system-end", "previous-end", "tail", "yours"]
Decision = Literal["marked", "kept", "removed", "refused"]


@dataclass(frozen=True, slots=True)
class Marker:
    """A marker of a planned request: the block it stands on, its lifetime, and what it is for."""

    path: str
    ttl: Ttl
    job: Job


@dataclass(frozen=True, slots=True)
class Reason:
    """One decision about one place, in words."""

    decision: Decision
    path: str
    says: str

    def __str__(self) -> str:
        return f"{self.path}: {self.decision}; {self.says}"


@dataclass(frozen=True, slots=True)
class MarkerPlan:
    """A request with its markers set. ``markers`` are in render order; ``reasons`` tell of the others too."""

    request: dict[str, Any] = field(repr=False)
    markers: tuple[Marker, ...]
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.reasons))


def plan(
    request: Mapping[str, Any],
    *,
    next_turns: int,
    gap_s: float | Sequence[float],
    model: str | Model | None = None,
    count: Count | None = None,
    keep_user_markers: KeepMarkers = "fixed",
    expected_reads: int = 0,
    expected_gap_s: float | Sequence[float] | None = None,
    volatile_blocks: int = 0,
    previous_ttl: Ttl | None = None,
    on: date | None = None,
) -> MarkerPlan:
    """Set the markers of a request, which is not changed. Planning a planned request changes nothing more.

    ``next_turns``: requests of this conversation that will follow and repeat this one. ``gap_s``: seconds
    from the start of one to the start of the next, one number for all or one for each.
    ``expected_reads``, ``expected_gap_s``: further requests, of other conversations, with the same tools and
    system prompt, and the pauses before them (``gap_s`` where not given).
    ``volatile_blocks``: how many blocks at the end will not be sent again as they are.
    ``previous_ttl``: lifetime of the entry that the previous request of this conversation left and that is
    still alive, if there is one. Then a request that nothing follows gets a marker where that one ended: it
    reads, and writes nothing. Without it such a request gets none.
    ``count``: the blocks' tokens (default: :func:`ctxlab.tokens.count`). A prefix is refused as too short
    only where the high end of the band is below the model's floor: a marker too many costs nothing.
    ``keep_user_markers``: ``"fixed"`` keeps those on tools and system prompt and takes those in messages for
    stale ones; ``"all"`` keeps these too (then do not hand in a history with the markers of earlier plans);
    ``"none"`` keeps none. One that is kept may move to the nearest earlier block that can carry it, and get
    a longer lifetime where a longer one follows, never a shorter one. The tail takes the place of an
    automatic marker.

    Raises :class:`InvalidRequestError` for a body that cannot be read, :class:`UnknownModelError`,
    :class:`UnpricedModelError`, and :class:`InvalidArgumentError` for arguments that cannot be.

    >>> question = {"role": "user", "content": "What is the capital of France?"}
    >>> body = {"model": "claude-opus-5-5", "system": "Be brief. " * 400, "messages": [question]}
    >>> planned = plan(body, next_turns=9, gap_s=30)
    >>> [(marker.path, marker.ttl, marker.job) for marker in planned.markers]
    [('system[0]', '5m', 'system-end'), ('messages[0].content[0]', '5m', 'tail')]
    >>> planned.request["messages"][0]["content"][0]["cache_control"]
    {'type': 'ephemeral'}
    """
    tail_gaps, fixed_gaps = _gaps(next_turns, gap_s, expected_reads, expected_gap_s)
    prompt = Prompt.from_request(request)
    named = request.get("model") if model is None else model
    if named is None:
        raise _argument("model", "is missing", "name it in the request or as an argument")
    model = get_model(named)
    if type(volatile_blocks) is not int or not 0 <= volatile_blocks <= len(prompt.blocks):
        raise _argument("volatile_blocks", f"is {volatile_blocks!r}", f"0 to {len(prompt.blocks)} blocks")
    if keep_user_markers not in ("fixed", "all", "none"):
        raise _argument("keep_user_markers", f"is {keep_user_markers!r}", "use 'fixed', 'all' or 'none'")
    if previous_ttl not in (None, *LIFETIME_S):
        raise _argument("previous_ttl", f"is {previous_ttl!r}", "use '5m', '1h' or None")
    planner = _Planner(
        prompt,
        list(places(request)),
        model,
        count_tokens(prompt, model) if count is None else count,
        tail=lifetime(model, tail_gaps, on=on),
        fixed=lifetime(model, fixed_gaps, on=on),
        reads=next_turns,
    )
    planner.conversation(volatile_blocks, previous_ttl)
    planner.own(keep_user_markers)
    planner.fixed_part()
    markers = planner.chosen()
    if request.get("cache_control") is not None:
        planner.say("removed", "cache_control", "a tail that is marked by hand does its work")
    marked = with_markers(request, {marker.path: marker.ttl for marker in markers})
    return MarkerPlan(marked, markers, planner.reasons())


@dataclass(frozen=True, slots=True)
class _Wish:
    """A block that should be marked."""

    index: int
    ttl: Ttl
    says: str


class _Planner:
    """Collects wishes, the most important first, then gives the slots to the first four."""

    def __init__(
        self,
        prompt: Prompt,
        found: Sequence[Place],
        model: Model,
        count: Count,
        *,
        tail: Lifetime,
        fixed: Lifetime,
        reads: int,
    ):
        self._read: Sequence[Block] = prompt.blocks
        self._found = found
        self._blocks = [place for place in found if place.level == "block"]
        self._given = [place for place in found if place.marker is not None]
        self._model = model
        self._tail_life, self._fixed_life, self._reads = tail, fixed, reads
        self._wishes: dict[int, _Wish] = {}
        self._fates: dict[str, str] = {}
        self._jobs: dict[int, Job] = {}  # by place, so that a plan of a plan calls them the same
        self._reasons: list[Reason] = []
        self._at_most = self._sizes(count)

    def _sizes(self, count: Count) -> list[int]:
        """The most tokens there may be up to and including each block."""
        if len(count.by_block) != len(self._blocks):
            told = f"is of {len(count.by_block)} blocks, the request has {len(self._blocks)}"
            raise _argument("count", told, "count this request")
        unseen = [0] * (len(self._blocks) + 1)  # what may stand in a block, or (last) anywhere
        for one in count.outside:
            unseen[self._index(one.path)] += one.high_tokens - one.assumed_tokens
        most = count.total if count.band is None else count.band[1]
        stretch = Fraction(max(most - sum(unseen), count.total), max(count.total, 1))
        return [
            math.ceil(size * stretch) + extra + unseen[-1]
            for size, extra in zip(count.cumulative, accumulate(unseen), strict=False)
        ]

    def _index(self, path: str) -> int:
        """The block a path leads into, -1 for one that leads elsewhere."""
        found = (i for i, block in enumerate(self._blocks) if path.startswith(block.path))
        return next(found, -1)

    # --- what is wanted

    def conversation(self, volatile_blocks: int, previous_ttl: Ttl | None) -> None:
        """The tail, and the end of the previous request where it has to be marked to be found."""
        stop = self._stable_end(len(self._blocks) - volatile_blocks)
        tail = self._nearest(stop, "messages")
        previous = self._nearest(self._last_reply(stop), "messages")
        if previous is not None:
            self._jobs[previous] = "previous-end"
        if tail is None:
            if self._read and self._read[-1].segment == "messages":
                self.say("refused", "messages", "no block that stays can carry a marker; no slot is taken")
            return
        self._jobs[tail] = "tail"
        ttl, says = self._tail_life.ttl, self._tail_life.says
        if ttl is None and previous_ttl is not None and self._reads:
            ttl = previous_ttl
            says += "; but what came before is cached, and only what is new is written"
        if ttl is not None and self._wish(tail, ttl, f"the newest block that stays; {says}"):
            if previous is not None and tail - previous >= LOOKBACK_POSITIONS:
                far = (
                    f"the previous request's entry ends here, {tail - previous + 1} blocks from the tail, "
                    f"which looks at {LOOKBACK_POSITIONS} positions, itself included"
                )
                self._wish(previous, ttl, far)
            return
        if ttl is None:
            self.say("refused", self._path(tail), says)
        if previous is not None and previous_ttl is not None:
            read = "the previous request's entry ends here: it is read, and nothing is written"
            self._wish(previous, previous_ttl, read)

    def own(self, keep: KeepMarkers) -> None:
        """The caller's markers: kept, moved to a block that can carry one, or taken off."""
        for place in reversed(self._given):
            if keep == "none" or (keep == "fixed" and place.segment == "messages"):
                stale = "stale: an entry outlives the marker that wrote it"
                self._fates[place.path] = "none is kept, as asked" if keep == "none" else stale
                continue
            home = self._home(place)
            if home is None:
                self._fates[place.path] = "nothing here can carry a marker; the slot is given back"
                continue
            says = "yours" if self._fixed_life.ttl else f"yours, though {self._fixed_life.says}"
            if self._path(home) != place.path:
                says += f"; moved from {place.path}, which cannot carry it"
                self._fates[place.path] = f"it stands on {self._path(home)} now"
            given, wish = asked_ttl(place.marker), self._wishes.get(home)
            if wish is None:
                self._wishes[home] = _Wish(home, given or self._fixed_life.ttl or "5m", says)
            elif given == "1h" and wish.ttl == "5m":
                self._wishes[home] = _Wish(home, given, f"{wish.says}; not 5m, because yours says 1h")

    def fixed_part(self) -> None:
        """The ends of the system prompt and of the tools."""
        ends: tuple[tuple[Segment, Job], ...] = (("system", "system-end"), ("tools", "tools-end"))
        for segment, job in ends:
            end = self._nearest(len(self._blocks), segment)
            if end is None:
                continue
            self._jobs[end] = job
            if end in self._wishes:
                continue
            if self._fixed_life.ttl is None:
                self.say("refused", self._path(end), self._fixed_life.says)
            else:
                says = f"what all requests share ends here; {self._fixed_life.says}"
                self._wish(end, self._fixed_life.ttl, says)

    def _wish(self, index: int, ttl: Ttl, says: str) -> bool:
        """Ask for a marker unless the prefix is too short to be cached."""
        floor, size = self._model.min_cacheable_tokens, self._at_most[index]
        if floor is not None and size < floor:
            short = f"at most {size:,} tokens up to here; {self._model.id} caches from {floor:,}"
            self.say("refused", self._path(index), short)
            return False
        self._wishes[index] = _Wish(index, ttl, says)
        return True

    # --- what is given

    def chosen(self) -> tuple[Marker, ...]:
        """Markers for the first four wishes, in render order, no longer lifetime behind a shorter one."""
        wishes = list(self._wishes.values())
        given = {place.path: asked_ttl(place.marker) for place in self._given}
        markers: list[Marker] = []
        for wish in sorted(wishes[:MAX_MARKERS], key=lambda wish: -wish.index):
            path, ttl, says = self._path(wish.index), wish.ttl, wish.says
            if ttl == "5m" and any(marker.ttl == "1h" for marker in markers):
                ttl, says = "1h", f"{says}; not 5m, because a 1h marker follows"
            markers.append(Marker(path, ttl, self._jobs.get(wish.index, "yours")))
            shortened = given.get(path) == "1h" and ttl == "5m"
            if shortened:
                says += "; yours said 1h and was not to be kept"
            self.say("kept" if path in given and not shortened else "marked", path, f"{ttl}: {says}")
        full = f"the {MAX_MARKERS} slots are taken"
        for path in {self._path(wish.index) for wish in wishes[MAX_MARKERS:]} - given.keys():
            self.say("refused", path, full)
        for path in given.keys() - {marker.path for marker in markers}:
            self.say("removed", path, self._fates.get(path, full))
        return tuple(reversed(markers))

    def say(self, decision: Decision, path: str, says: str) -> None:
        self._reasons.append(Reason(decision, path, says))

    def reasons(self) -> tuple[Reason, ...]:
        """What is marked, then what is not, each in render order."""
        order = {place.path: i for i, place in enumerate(self._found)}

        def key(reason: Reason) -> tuple[bool, int, str]:
            place = order.get(reason.path, order.get(reason.path.removesuffix("[0]"), len(order)))
            return reason.decision in ("refused", "removed"), place, reason.path

        return tuple(sorted(self._reasons, key=key))

    # --- where things are

    def _path(self, index: int) -> str:
        """The path of a block in the new request, where a marked string is a list of one."""
        path = self._blocks[index].path
        return path if path.endswith("]") else f"{path}[0]"

    def _nearest(self, stop: int, segment: Segment) -> int | None:
        """The last block before ``stop`` of a segment that can carry a marker."""
        for i in reversed(range(stop)):
            if self._blocks[i].segment == segment and self._blocks[i].can_carry:
                return i
        return None

    def _home(self, place: Place) -> int | None:
        """The block a caller's marker belongs on: its own, or the nearest earlier one beside it."""
        inside = [i for i, block in enumerate(self._blocks) if _is_on(place, block)]
        beside = self._read[inside[-1]] if inside else None
        for i in reversed(range(inside[-1] + 1 if inside else 0)):
            block = self._read[i]
            if beside is None or (block.segment, block.message) != (beside.segment, beside.message):
                break
            if self._blocks[i].can_carry:
                return i
        return None

    def _stable_end(self, stop: int) -> int:
        """Up to where the blocks will be sent again as they are: a prefill grows into the answer."""
        if stop and self._read[stop - 1].role == "assistant" and self._blocks[stop - 1].type == "text":
            message = self._read[stop - 1].message
            while stop and self._read[stop - 1].message == message:
                stop -= 1
        return stop

    def _last_reply(self, stop: int) -> int:
        """Where the last answer begins, which is where the previous request ended; 0 without an answer."""
        at = stop
        while at and self._read[at - 1].role != "assistant":
            at -= 1
        while at and self._read[at - 1].role == "assistant":
            at -= 1
        return at


def _is_on(place: Place, block: Place) -> bool:
    """Whether a place is this block, lies inside it, or is the message the block belongs to."""
    if place.level == "message":
        return block.path.startswith(f"{place.path}.content")
    return place is block or place.path.startswith(f"{block.path}.")


def _gaps(
    next_turns: int,
    gap_s: float | Sequence[float],
    expected_reads: int,
    expected_gap_s: float | Sequence[float] | None,
) -> tuple[list[float], list[float]]:
    """The pauses before each read of the conversation, and of tools and system prompt."""
    if expected_gap_s is None:
        if expected_reads and not isinstance(gap_s, Real):
            raise _argument("expected_gap_s", "is missing", "say how far apart the expected reads are")
        expected_gap_s = gap_s if isinstance(gap_s, Real) else 0.0
    tail = _pauses("next_turns", next_turns, "gap_s", gap_s)
    return tail, tail + _pauses("expected_reads", expected_reads, "expected_gap_s", expected_gap_s)


def _pauses(number: str, reads: int, name: str, gap_s: float | Sequence[float]) -> list[float]:
    if type(reads) is not int or reads < 0:
        raise _argument(number, f"is {reads!r}", "give a whole number, 0 or more")
    if isinstance(gap_s, Real):
        alone: list[Any] = [gap_s]
        checked_gaps(alone, name)
        return alone * reads
    if isinstance(gap_s, (str, bytes)) or not isinstance(gap_s, Iterable):
        raise _argument(name, f"is {gap_s!r}", "give seconds as a number, or a list of them")
    checked_gaps(gap_s, name)
    if len(gap_s) != reads:
        raise _argument(name, f"has {len(gap_s)} pauses", f"give {reads}, one before each ({number})")
    return list(gap_s)


def _argument(name: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(name, "argument", message, fix))
