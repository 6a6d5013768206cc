"""What a session would have cost under another cache strategy, turn by turn.

Models: the same prompts with their tokens read, written or fresh as the strategy would have had it; idle gaps
against lifetimes; keep-alive pings. :func:`what_if` lists what is assumed.
Does not model: which blocks a marker covers (the recorded reads stand for that), other models' caches.
Source: lifetimes and multipliers of platform.claude.com prompt-caching page, 2026-09; replayed against the
recorded sessions, on which the recorded strategy gives the recorded bill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Literal

from ctxlab.catalogue import Model, Prices, get_model
from ctxlab.cost.arguments import argument_error, finite_s, listed, usage_error
from ctxlab.cost.bills import Bill, merged
from ctxlab.cost.break_even import LIFETIME_S, break_even_pings, pings_needed
from ctxlab.cost.growth import history_input_tokens_by_turn
from ctxlab.cost.pricing import bill
from ctxlab.usage import CacheCreation, Iteration, Usage

Strategy = Literal["as-recorded", "no-cache", "5m", "1h", "always-warm", "keep-alive", "batch"]

#: What each strategy assumes, beside what all of them do (see :func:`what_if`).
STRATEGIES: dict[Strategy, str] = {
    "as-recorded": "the figures as they are",
    "no-cache": "no marker anywhere: every token of every prompt at full price",
    "5m": "a marker that moves with the history; an idle gap of 300 s or more loses the whole entry",
    "1h": "the same with writes at the 1-hour price; a gap of 3,600 s or more loses the entry",
    "always-warm": "5m writes, and no gap ever loses the entry",
    "keep-alive": "5m, and a read of the prefix every 240 s of idle time while that beats writing it again",
    "batch": "no marker, every token at the batch price; an agent that waits for its answer cannot do this",
}


@dataclass(frozen=True, slots=True)
class TurnCost:
    """One turn under a strategy: the classes of its tokens, and what it and the pings before it cost."""

    read_tokens: int
    written_tokens: int
    fresh_tokens: int
    output_tokens: int
    pings: int
    bill: Bill

    @property
    def usd(self) -> Decimal:
        """The turn in USD, its pings included."""
        return self.bill.total_usd


@dataclass(frozen=True, slots=True)
class Scenario:
    """A session under one strategy, turn by turn; ``assumption`` says what was supposed."""

    strategy: Strategy
    assumption: str
    turns: tuple[TurnCost, ...]

    @property
    def bill(self) -> Bill:
        """The turns as one bill."""
        return Bill(
            lines=merged([line for turn in self.turns for line in turn.bill.lines]),
            requests=sum(turn.bill.requests for turn in self.turns),
            web_search_requests=sum(turn.bill.web_search_requests for turn in self.turns),
            flags=frozenset().union(*(turn.bill.flags for turn in self.turns)),
        )

    @property
    def total_usd(self) -> Decimal:
        """All turns in USD."""
        return self.bill.total_usd


def growing_session(
    turns: int, prefix_tokens: int, added_tokens: int, *, output_tokens: int = 0
) -> tuple[Usage, ...]:
    """A made-up session that follows the growth law, all input fresh: food for :func:`what_if`."""
    return tuple(
        Usage(input_tokens=size, output_tokens=output_tokens)
        for size in history_input_tokens_by_turn(turns, prefix_tokens, added_tokens)
    )


def what_if(
    usages: Sequence[Usage],
    model: str | Model,
    strategy: Strategy,
    *,
    gaps_s: Sequence[float | None] | None = None,
    on: date | None = None,
) -> Scenario:
    """What a session would have cost under another cache strategy.

    ``usages`` are its requests in order, ``gaps_s`` the idle seconds before each (None: unknown, taken as 0;
    no list at all: no pauses). The prompts stay as they were; only the classes of their tokens change.
    Assumed for every strategy but ``as-recorded``:

    - A prompt shares with the one before all that could be cached of it, unless the recording shows less:
      where the prompt shrank, or less was read within the lifetime, the tokens read then are the shared ones.
    - Where the recording ran under the supposed lifetime, its own reads are taken, whatever they missed.
    - What was fresh behind the last marker stays fresh; in a session without any marker nothing does.
    - Entries that others left (a read on the first turn) are there under each strategy with a cache.
    - Prefixes below the model's minimum are not cached. Gaps stand for the time from request to request.
    - Outputs cost what they did. Steps of other models (advisors) keep their figures, save without a cache.
    - A request keeps its tier, speed and region, and its pings have them too; a batch runs at standard speed.

    Raises what :func:`bill` raises, and :class:`InvalidArgumentError` for an unknown strategy, for what is no
    list, and for a wrong number of gaps.
    """
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise argument_error("strategy", "known-strategy", f"is {strategy!r}", ", ".join(STRATEGIES))
    model = get_model(model)
    session_usages = [Usage.from_response(usage) for usage in listed("usages", usages)]
    gaps = _gaps(gaps_s, len(session_usages))
    session = _Session(strategy, model, model.rates_at(on))
    turns = []
    for usage, gap_s in zip(session_usages, gaps, strict=True):
        pings, prefix_tokens = session.pings_before(gap_s)
        changed = session.changed(usage, gap_s)
        cost = bill(changed, model, on=on)
        if pings:
            cost += _ping_bill(pings, prefix_tokens, changed, model, on)
        billed = changed.billed
        turns.append(
            TurnCost(
                read_tokens=sum(entry.cache_read_input_tokens for entry in billed),
                written_tokens=sum(entry.cache_creation_input_tokens for entry in billed),
                fresh_tokens=sum(entry.input_tokens for entry in billed),
                output_tokens=changed.billed_output_tokens,
                pings=pings,
                bill=cost,
            )
        )
    return Scenario(strategy, STRATEGIES[strategy], tuple(turns))


def _gaps(gaps_s: Sequence[float | None] | None, turns: int) -> list[float]:
    if gaps_s is None:
        return [0.0] * turns
    gaps = [
        0.0 if gap is None else finite_s(f"gaps_s[{turn}]", gap)
        for turn, gap in enumerate(listed("gaps_s", gaps_s))
    ]
    if len(gaps) != turns:
        raise argument_error("gaps_s", "one-per-turn", f"has {len(gaps)}", f"give {turns}, one per usage")
    return gaps


class _Session:
    """The walk of :func:`what_if`: what the recorded and the supposed cache hold after each request."""

    def __init__(self, strategy: Strategy, model: Model, prices: Prices):
        self.strategy = strategy
        self.ttl = "1h" if strategy == "1h" else "5m"
        self.floor_tokens = model.min_cacheable_tokens or 0
        self.max_pings = (
            break_even_pings(prices.cache_write_5m_multiplier, prices.cache_read_multiplier).n or 0
        )
        self.recorded_tokens = 0
        self.recorded_ttl: Literal["5m", "1h"] | None = None
        self.marked = False
        self.cached_tokens = 0

    def pings_before(self, gap_s: float) -> tuple[int, int]:
        """How many pings bridge the gap (0 if none is needed or writing again is cheaper), and their size."""
        if self.strategy != "keep-alive" or not self.cached_tokens:
            return 0, 0
        needed = pings_needed(gap_s)
        return (needed, self.cached_tokens) if needed <= self.max_pings else (0, 0)

    def changed(self, usage: Usage, gap_s: float) -> Usage:
        """A request's usage as this strategy would have had it, ``gap_s`` after the one before."""
        if self.strategy == "as-recorded":
            return usage
        if usage.requests != 1:
            raise usage_error(
                "usages", "one-request-each", f"sums {usage.requests} requests", "give each alone"
            )
        entries = [
            self._entry(entry, gap_s if number == 0 else 0.0) for number, entry in enumerate(usage.billed)
        ]
        flags = usage.flags - {"ttl-missing", "ttl-contradicts", "ttl-exceeds-total", "ttl-new-class"}
        if self.strategy == "batch":
            usage = replace(usage, service_tier="batch", speed=None)
        if not usage.iterations:
            only = entries[0]
            return replace(
                usage,
                input_tokens=only.input_tokens,
                cache_read_input_tokens=only.cache_read_input_tokens,
                cache_creation=only.cache_creation,
                flags=flags,
            )
        return replace(usage, iterations=tuple(entries), flags=flags)

    def _entry(self, entry: Iteration, gap_s: float) -> Iteration:
        total = entry.total_input_tokens
        if self.strategy in ("no-cache", "batch"):
            return replace(
                entry, input_tokens=total, cache_read_input_tokens=0, cache_creation=CacheCreation()
            )
        if entry.type == "advisor_message":
            return entry
        marked = entry.input_tokens != total
        fresh = entry.input_tokens if marked or self.marked else 0
        cacheable = total - fresh
        if cacheable < self.floor_tokens:
            fresh, cacheable = total, 0
        read = min(self._read(entry, gap_s), cacheable)
        written = cacheable - read
        self.cached_tokens = cacheable
        self.recorded_tokens = total - entry.input_tokens
        self.marked = self.marked or marked
        if entry.cache_creation.ephemeral_1h_input_tokens:
            self.recorded_ttl = "1h"
        elif entry.cache_creation.ephemeral_5m_input_tokens:
            self.recorded_ttl = "5m"
        return replace(
            entry,
            input_tokens=fresh,
            cache_read_input_tokens=read,
            cache_creation=CacheCreation(0, written) if self.ttl == "1h" else CacheCreation(written),
        )

    def _read(self, entry: Iteration, gap_s: float) -> int:
        """Tokens read under the strategy. Where the recording ran under the same lifetime, it knows best."""
        if self.strategy == self.recorded_ttl:
            return entry.cache_read_input_tokens
        if self.strategy == "keep-alive":
            expired = pings_needed(gap_s) > self.max_pings
        else:
            expired = self.strategy != "always-warm" and gap_s >= LIFETIME_S[self.ttl]
        return 0 if expired else self._shared(entry, gap_s)

    def _shared(self, entry: Iteration, gap_s: float) -> int:
        """Tokens this prompt has in common with what was cached before it, as far as the recording tells."""
        read = entry.cache_read_input_tokens
        if entry.total_input_tokens < self.cached_tokens:
            return read
        unmarked = not self.marked and entry.input_tokens == entry.total_input_tokens
        expired = gap_s >= LIFETIME_S[self.recorded_ttl or "5m"]
        if unmarked or expired or read >= self.recorded_tokens:
            return max(read, self.cached_tokens)
        return read


def _ping_bill(pings: int, prefix_tokens: int, usage: Usage, model: Model, on: date | None) -> Bill:
    """Reads that only refresh the entry: no output (``max_tokens: 0``), under a step name of their own."""
    ping = Usage(
        cache_read_input_tokens=prefix_tokens,
        iterations=(Iteration(type="keep_alive_ping", cache_read_input_tokens=prefix_tokens),),
        service_tier=usage.service_tier,
        speed=usage.speed,
        inference_geo=usage.inference_geo,
    )
    one = bill(ping, model, on=on)
    return replace(
        one, lines=tuple(replace(line, tokens=line.tokens * pings) for line in one.lines), requests=pings
    )
