"""The prompt cache as a state machine: look up, then commit at the first byte of the answer, or abandon.

Models: which entry a request reads, what it writes and refreshes, how its tokens are split and why;
lifetimes from the start of requests; requests in flight that cannot see each other's writes; sizes that are
unknown until usage reveals them.
Does not model: text, tokens, prices, eviction under load (an entry lives as long as it was promised), the
breakpoints of server-tool loops. One thread at a time.
Source: ``ctxlab/cache_rules.toml``; names of rules are its ids.

Cost: a lookup asks the store once per position in the lookback of each marker, whatever the length of the
history; commit writes one entry a marker. Entries that ended are forgotten ``remember_s`` later.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

from ctxlab.cache.layout import Layout, Scope
from ctxlab.cache.markers import Marker
from ctxlab.cache.plan import Learned, MarkerReport, Nearby, Plan, Touch
from ctxlab.cache.rules import LIFETIME_S, CacheRules, Ttl
from ctxlab.clock import Clock
from ctxlab.errors import Problem
from ctxlab.usage import Usage


class _Pending(NamedTuple):
    """A write that is committed but cannot be read before ``visible_s``."""

    visible_s: float
    started_s: float


class _Life:
    """One entry of one lifetime: when the last request that wrote or read it started.

    Commits may come in any order: the latest start wins, so every order ends in the same state.
    """

    __slots__ = ("_lives_s", "_pending", "_started_s")

    def __init__(self, lives_s: float) -> None:
        self._lives_s = lives_s
        self._started_s = float("-inf")
        self._pending: tuple[_Pending, ...] = ()

    def touch(self, started_s: float, visible_s: float, now_s: float) -> None:
        """A request that started then wrote or read it; that can be seen from ``visible_s`` on."""
        if visible_s <= now_s:
            self._started_s = max(self._started_s, started_s)
        else:
            self._pending = (*self._pending, _Pending(visible_s, started_s))

    def ends_s(self, now_s: float) -> float:
        """The end of the part of its life that can be seen at ``now_s``."""
        if self._pending:
            seen = [one.started_s for one in self._pending if one.visible_s <= now_s]
            self._started_s = max(self._started_s, *seen) if seen else self._started_s
            self._pending = tuple(one for one in self._pending if one.visible_s > now_s)
        return self._started_s + self._lives_s

    def readable_from_s(self) -> float | None:
        """When the first write that is still hidden shows; None if there is none."""
        return min((one.visible_s for one in self._pending), default=None)

    def last_end_s(self) -> float:
        """When all of it, hidden writes included, has ended."""
        return max([self._started_s, *(one.started_s for one in self._pending)]) + self._lives_s


_Entry = dict[Ttl, _Life]


class PromptCache:
    """The cache of one provider: any number of workspaces and models, one clock.

    ``remember_s``: how long an entry that ended is kept, so that a miss can say when it ended.

    >>> from ctxlab.cache import Layout, Position
    >>> from ctxlab.catalogue import get_model
    >>> from ctxlab.clock import ManualClock
    >>> clock, mark = ManualClock(), {"type": "ephemeral"}
    >>> cache = PromptCache(clock)
    >>> model = get_model("claude-sonnet-4-5")
    >>> first = cache.lookup(Layout((Position("a", 0, 1500, mark), Position("b", 1, 1520)), {}, model))
    >>> first.written_5m_tokens, first.fresh_tokens
    (1500, 20)
    >>> cache.commit(first)
    >>> clock.advance(299)
    >>> again = cache.lookup(Layout((Position("a", 0, 1500, mark), Position("c", 1, 1530)), {}, model))
    >>> again.read_tokens, again.fresh_tokens
    (1500, 30)
    """

    def __init__(self, clock: Clock, rules: CacheRules | None = None, *, remember_s: float = 3600.0):
        self.rules = rules or CacheRules()
        self._clock = clock
        self._remember_s = remember_s
        # digest first: the same blocks under another scope are then found without a search
        self._entries: dict[str, dict[Scope, _Entry]] = {}
        self._endings: list[tuple[float, str, Scope]] = []
        self._sizes: dict[tuple[str, Scope], int] = {}

    def __len__(self) -> int:
        """Entries held, those that ended and are still remembered included."""
        return sum(map(len, self._entries.values()))

    def lookup(self, layout: Layout, *, explain: bool = False) -> Plan:
        """What a request that starts now reads and would write. Changes nothing.

        With ``explain`` the plan's reasons also tell of entries that no marker reached and of entries of the
        same blocks under other parameters; that looks at every position.
        """
        now_s = self._clock.now_s()
        sizes = [self._size(layout, marker.position) for marker in layout.markers]
        fits = self._reach_the_floor(layout, sizes)
        hit, finder = None, None
        nearby: dict[int, tuple[Nearby, ...]] = {}
        for i in reversed(range(len(fits))):
            if fits[i]:
                hit, nearby[i] = self._look_back(layout, layout.markers[i].position, now_s)
                if hit is not None:
                    finder = i
                    break
        eligible = [marker for marker, fit in zip(layout.markers, fits, strict=True) if fit]
        writes, refreshes = self._touches(layout, eligible, hit, now_s)
        written, refreshed = {position for position, _ in writes}, {position for position, _ in refreshes}
        a = 0 if hit is None else hit + 1
        b = max([a, *(marker.position + 1 for marker in eligible if marker.ttl == "1h")])
        c = max([a, *(marker.position + 1 for marker in eligible)])
        up_to_a, up_to_b, up_to_c = (0 if n == 0 else self._size(layout, n - 1) for n in (a, b, c))
        return Plan(
            layout=layout,
            started_s=now_s,
            billing=(a, b, c),
            read_tokens=up_to_a,
            written_1h_tokens=0 if a == b else _less(up_to_b, up_to_a),
            written_5m_tokens=0 if b == c else _less(up_to_c, up_to_b),
            fresh_tokens=_less(layout.total_tokens, up_to_c),
            markers=tuple(
                MarkerReport(
                    marker,
                    sizes[i],
                    fits[i],
                    hit if i == finder else None,
                    marker.position in written,
                    marker.position in refreshed,
                    nearby.get(i, ()),
                )
                for i, marker in enumerate(layout.markers)
            ),
            writes=writes,
            refreshes=refreshes,
            floor_tokens=self._floor(layout),
            further=tuple(self._further(layout, a, c, now_s)) if explain else (),
        )

    def commit(self, plan: Plan) -> None:
        """The first byte of the answer is out: what the plan writes and refreshes counts from its start.

        Doing it twice is doing it once; a stream that is cut later takes nothing back.
        """
        now_s = self._clock.now_s()
        for touches, visible_s in (
            (plan.writes, now_s + self.rules.visibility_delay_s),
            (plan.refreshes, now_s),
        ):
            for position, ttl in touches:
                digest, scope = _key(plan.layout, position)
                entry = self._entries.setdefault(digest, {}).setdefault(scope, {})
                if not entry:
                    heapq.heappush(self._endings, (plan.started_s + LIFETIME_S[ttl], digest, scope))
                if ttl not in entry:
                    entry[ttl] = _Life(LIFETIME_S[ttl] + self.rules.expiry_grace_s)
                entry[ttl].touch(plan.started_s, visible_s, now_s)
        self._forget(now_s)

    def fork(self) -> PromptCache:
        """A cache of its own with the same entries: what is committed there stays there."""
        own = PromptCache(self._clock, self.rules, remember_s=self._remember_s)
        own._entries, own._endings, own._sizes = deepcopy(self._entries), [*self._endings], dict(self._sizes)
        return own

    def abandon(self, plan: Plan) -> None:
        """The request failed before its first byte: nothing was reserved, so nothing stays and nothing is
        billed."""

    def learn(self, plan: Plan, usage: Usage) -> Learned:
        """Take from ``usage`` the sizes that the layout did not know, and say what contradicts the plan.

        ``usage`` must be of this one prompt. The plan that comes back has its figures and leaves nothing
        behind if nothing was cached; commit that one. A known size is compared, never replaced. Rules of the
        problems: ``entry-not-read`` (one was alive), ``read-without-entry`` (this cache has not seen it
        written), ``nothing-written`` (a marker is above the floor), ``size-holds`` (it was another before),
        ``total-holds``, ``hour-without-marker``. Writes recorded without a lifetime count as those of five
        minutes.
        """
        layout, (a, b, c) = plan.layout, plan.billing
        read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        long = usage.cache_creation.ephemeral_1h_input_tokens
        problems: list[Problem] = []

        def report(figure: str, rule: str, message: str) -> None:
            problems.append(Problem(f"usage.{figure}", rule, message))

        revealed: dict[int, int] = {}
        if c and read + written:
            revealed[c - 1] = read + written
            if c > b > a and long:
                revealed[b - 1] = read + long
        if long and b == a:
            told = f"is {long:,}, and no hour's marker stands behind what was read"
            report("cache_creation.ephemeral_1h_input_tokens", "hour-without-marker", told)
        if plan.hit is None:
            low, high = 0, 0
        else:
            low, high = self._bounds(layout, plan.hit)
        if read > high:
            report("cache_read_input_tokens", "read-without-entry", f"is {read:,}, no such entry was known")
        elif read < low:
            told = f"is {read:,}, though the entry at {layout.place(plan.hit or 0)} was alive"
            report("cache_read_input_tokens", "entry-not-read", told)
        elif plan.hit is not None and read:
            revealed[plan.hit] = read
        if not read + written and any(one.fits and one.size_tokens is not None for one in plan.markers):
            report("cache_creation_input_tokens", "nothing-written", "is 0, a marker is above the floor")
        if layout.total_tokens not in (None, usage.total_input_tokens):
            told = f"add up to {usage.total_input_tokens:,}, not {layout.total_tokens:,}"
            report("*_input_tokens", "total-holds", told)

        learned: dict[int, int] = {}
        for position, tokens in revealed.items():
            known = self._size(layout, position)
            if known is None:
                learned[position] = self._sizes[_key(layout, position)] = tokens
            elif known != tokens:
                told = f"put {layout.place(position)} at {tokens:,}, not {known:,}"
                report("*_input_tokens", "size-holds", told)
        cached = read + written > 0
        resolved = replace(
            plan,
            read_tokens=read,
            written_1h_tokens=long,
            written_5m_tokens=written - long,
            fresh_tokens=usage.input_tokens,
            writes=plan.writes if cached else (),
            refreshes=plan.refreshes if cached else (),
        )
        return Learned(resolved, learned, tuple(problems))

    def _bounds(self, layout: Layout, hit: int) -> tuple[int, int]:
        """The fewest and the most tokens that a read of the entry at ``hit`` can have.

        An entry of unknown size that nothing known precedes may never have reached the floor: reading 0 is
        then no contradiction.
        """
        size = self._size(layout, hit)
        if size is not None:
            return size, size
        sizes = [(marker.position, self._size(layout, marker.position)) for marker in layout.markers]
        before = [size + 1 for place, size in sizes if size is not None and place < hit]
        behind = [size for place, size in sizes if size is not None and place > hit]
        total = layout.total_tokens
        return max(before, default=0), min([*behind, *([] if total is None else [total])], default=10**12)

    def _look_back(self, layout: Layout, marker: int, now_s: float) -> tuple[int | None, tuple[Nearby, ...]]:
        """The deepest entry in a marker's lookback; without one, what nearly was one (nearest first)."""
        nearby: list[Nearby] = []
        for position in layout.looked_at(marker):
            entry = self._entry(layout, position)
            if any(life.ends_s(now_s) > now_s for life in entry.values()):
                return position, ()
            for life in entry.values():
                from_s = life.readable_from_s()
                if from_s is not None:
                    nearby.append(Nearby(position, "hidden", from_s - now_s))
                else:
                    nearby.append(Nearby(position, "ended", now_s - life.ends_s(now_s)))
        return None, tuple(nearby)

    def _further(self, layout: Layout, a: int, c: int, now_s: float) -> Iterator[Nearby]:
        """The deepest entry between A and C that is alive, and the deepest of the same blocks elsewhere."""
        behind = range(c - 1, a - 1, -1)
        alive = next((p for p in behind if self._alive(layout, p, now_s)), None)
        if alive is not None:
            yield Nearby(alive, "out-of-reach")
        for position in behind:
            digest, scope = _key(layout, position)
            for other, entry in self._entries.get(digest, {}).items():
                if other != scope and any(life.ends_s(now_s) > now_s for life in entry.values()):
                    yield Nearby(position, "elsewhere", scope=other)
                    return

    def _touches(
        self, layout: Layout, eligible: list[Marker], hit: int | None, now_s: float
    ) -> tuple[tuple[Touch, ...], tuple[Touch, ...]]:
        """Entries to write and entries to refresh."""
        writes: list[Touch] = []
        refreshes: list[Touch] = []
        if hit is not None:
            refreshes += [Touch(hit, ttl) for ttl in self._alive(layout, hit, now_s)]
        for position, ttl, _ in eligible:
            if hit is None or position > hit:
                writes.append(Touch(position, ttl))
                continue
            alive = self._alive(layout, position, now_s)
            if position < hit and self.rules.deep_hit_refreshes == "markers":
                refreshes += [Touch(position, kind) for kind in alive]
            if alive:
                if ttl == "1h" and alive == ("5m",) and self.rules.long_marker_upgrades:
                    writes.append(Touch(position, "1h"))
            elif self.rules.marker_before_hit_creates:
                writes.append(Touch(position, ttl))
        return tuple(writes), tuple(refreshes)

    def _entry(self, layout: Layout, position: int) -> Mapping[Ttl, _Life]:
        digest, scope = _key(layout, position)
        held = self._entries.get(digest)
        return {} if held is None else held.get(scope, {})

    def _alive(self, layout: Layout, position: int, now_s: float) -> tuple[Ttl, ...]:
        entry = self._entry(layout, position)
        return tuple(ttl for ttl, life in entry.items() if life.ends_s(now_s) > now_s)

    def _floor(self, layout: Layout) -> int:
        floor = layout.model.min_cacheable_tokens
        return self.rules.unknown_floor_tokens if floor is None else floor

    def _reach_the_floor(self, layout: Layout, sizes: list[int | None]) -> list[bool]:
        """Which markers count. One of unknown size does, unless the whole prompt is too short."""
        floor, total = self._floor(layout), layout.total_tokens
        return [total is None or total >= floor if size is None else size >= floor for size in sizes]

    def _size(self, layout: Layout, position: int) -> int | None:
        size = layout.positions[position].cumulative_tokens
        return self._sizes.get(_key(layout, position)) if size is None else size

    def _forget(self, now_s: float) -> None:
        while self._endings and self._endings[0][0] + self._remember_s <= now_s:
            _, digest, scope = heapq.heappop(self._endings)
            held = self._entries[digest]
            end_s = max(life.last_end_s() for life in held[scope].values())
            if end_s + self._remember_s > now_s:
                heapq.heappush(self._endings, (end_s, digest, scope))
                continue
            del held[scope]
            if not held:
                del self._entries[digest]


def _key(layout: Layout, position: int) -> tuple[str, Scope]:
    place = layout.positions[position]
    return place.digest, layout.scopes[place.tier]


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else whole - part
