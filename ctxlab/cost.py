"""What requests cost: the bill of one, the law of a growing history, and what caching changes about both.

Models: token prices by class, lifetime, prompt size, batch, region and speed, summed over every sampling step
of a request; web searches; the growth of resent history; break-evens; what a session would have cost with
other cache settings.
Does not model: negotiated or cloud-vendor prices, priority-tier commitments, repricing by fallback credits,
container time. Which tokens a request will read or write is :mod:`ctxlab.cache`'s question; here it is given.
Source: platform.claude.com pricing page, 2026-10, and prompt-caching page, 2026-09; compaction page, 2026-08
(the bill is the sum over all iterations). Money is exact: ``Fraction`` inside, unrounded ``Decimal`` outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from ctxlab.catalogue import Model, Prices, get_model, web_search_usd
from ctxlab.errors import (
    InvalidArgumentError,
    InvalidUsageError,
    Problem,
    UnknownModelError,
    UnpricedModelError,
)
from ctxlab.usage import CacheCreation, Iteration, Usage

#: Flags a bill adds to those of its usages, and what they say about its total.
FLAGS: dict[str, str] = {
    "write-ttl-unknown": "some writes have no known lifetime; they are priced as 5m, see range_usd",
    "rates-unverified": "a price used here has no official source (Model.unverified names it)",
    "priority-tier": "the request ran on the priority tier; the standard price is shown",
    "region-unknown": "the region of the request is not one the price list names; no surcharge is added",
    "advisor-standard": "another model's step is priced at standard speed and region",
}

_MTOK = 1_000_000
_ADD_BILLS = "bill each request, then add the bills"
_UNKNOWN_WRITE = "cache write, lifetime unknown"
_MULTIPLIER_OF = {
    "cache read": "cache_read_multiplier",
    "cache write 5m": "cache_write_5m_multiplier",
    "cache write 1h": "cache_write_1h_multiplier",
    _UNKNOWN_WRITE: "cache_write_5m_multiplier",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One class of tokens of one kind of step at one rate.

    ``rate`` is in USD per million tokens with every multiplier in it; ``rate_high`` differs only for writes
    of unknown lifetime.
    """

    label: str
    iteration_type: str
    model_id: str
    tokens: int
    rate: Fraction
    rate_high: Fraction

    @property
    def usd_per_mtok(self) -> Decimal:
        return exact_decimal(self.rate)

    @property
    def usd(self) -> Decimal:
        return exact_decimal(self.amount)

    @property
    def amount(self) -> Fraction:
        """The line in USD as a fraction, for sums."""
        return self.tokens * self.rate / _MTOK

    @property
    def amount_high(self) -> Fraction:
        return self.tokens * self.rate_high / _MTOK


@dataclass(frozen=True, slots=True)
class Bill:
    """What requests cost, line by line. Bills add up, also across models, tiers and dates.

    ``flags`` holds names from :data:`FLAGS` and those of the usages (:data:`ctxlab.usage.FLAGS`).
    """

    lines: tuple[Line, ...] = ()
    requests: int = 0
    web_search_requests: int = 0
    flags: frozenset[str] = frozenset()

    @property
    def total_usd(self) -> Decimal:
        """Exact and unrounded; writes of unknown lifetime are in it at the 5-minute price."""
        return exact_decimal(sum((line.amount for line in self.lines), self._search_amount))

    @property
    def range_usd(self) -> tuple[Decimal, Decimal]:
        """The total if every write of unknown lifetime was 5m, and if every one was 1h."""
        high = sum((line.amount_high for line in self.lines), self._search_amount)
        return self.total_usd, exact_decimal(high)

    @property
    def estimate(self) -> bool:
        """Whether the total stands for a range."""
        low, high = self.range_usd
        return low != high

    @property
    def input_usd(self) -> Decimal:
        """The input side alone (fresh, read, written), for logs whose output counts are not whole."""
        return exact_decimal(sum((line.amount for line in self._input_lines), Fraction(0)))

    @property
    def input_range_usd(self) -> tuple[Decimal, Decimal]:
        high = sum((line.amount_high for line in self._input_lines), Fraction(0))
        return self.input_usd, exact_decimal(high)

    @property
    def output_usd(self) -> Decimal:
        return exact_decimal(sum((line.amount for line in self.lines if line.label == "output"), Fraction(0)))

    @property
    def web_search_usd(self) -> Decimal:
        return exact_decimal(self._search_amount)

    def by_label(self) -> dict[str, Decimal]:
        """USD per class of tokens, in the order the classes first appear."""
        return self._by(lambda line: line.label)

    def by_iteration(self) -> dict[str, Decimal]:
        """USD per kind of step: what a summary or an advisor cost stands on its own."""
        return self._by(lambda line: line.iteration_type)

    def _by(self, key: Callable[[Line], str]) -> dict[str, Decimal]:
        sums: dict[str, Fraction] = {}
        for line in self.lines:
            sums[key(line)] = sums.get(key(line), Fraction(0)) + line.amount
        return {name: exact_decimal(amount) for name, amount in sums.items()}

    @property
    def _input_lines(self) -> list[Line]:
        return [line for line in self.lines if line.label != "output"]

    @property
    def _search_amount(self) -> Fraction:
        return self.web_search_requests * web_search_usd()

    def __str__(self) -> str:
        """One line per class, then the total."""
        rows = [
            f"{line.label:<30}{line.iteration_type:<13}{line.tokens:>13,} × {line.usd_per_mtok:>7} = {line.usd} USD"
            for line in self.lines
        ]
        if self.web_search_requests:
            rows.append(f"{self.web_search_requests} web searches = {self.web_search_usd} USD")
        low, high = self.range_usd
        bounds = f" (up to {high} USD)" if low != high else ""
        return "\n".join([*rows, f"total for {self.requests} request(s): {low} USD{bounds}"])

    def __add__(self, other: Bill) -> Bill:
        """Both together; lines of the same class, step, model and rate become one."""
        if not isinstance(other, Bill):
            return NotImplemented
        return Bill(
            lines=_merged([*self.lines, *other.lines]),
            requests=self.requests + other.requests,
            web_search_requests=self.web_search_requests + other.web_search_requests,
            flags=self.flags | other.flags,
        )

    def __radd__(self, other: object) -> Bill:
        """Lets the builtin ``sum(bills)`` start from its 0."""
        return self if other == 0 else NotImplemented


def bill(
    usage: object,
    model: str | Model,
    *,
    batch: bool | None = None,
    inference_geo: str | None = None,
    speed: str | None = None,
    on: date | None = None,
) -> Bill:
    """Price one request: every step of it, each class of tokens at its own rate.

    ``batch``, ``inference_geo`` and ``speed`` are taken from the usage where they are not given; ``on`` is
    the day whose prices hold (default: the latest known). A step that names another model (an advisor) is
    priced as that model. Where the price depends on the size of the prompt, the card is chosen per step, by
    that step's total input: documented for requests of one step (platform.claude.com Haiku 5.5 page,
    2026-10), *assumed* for those of several.

    Raises :class:`UnpricedModelError`, :class:`UnknownModelError`; :class:`InvalidUsageError` for a sum of
    requests that has no single price (add bills instead); :class:`InvalidArgumentError` for options that
    exclude each other or that the model does not have.

    >>> usage = Usage(input_tokens=100_001)
    >>> bill(usage, "claude-haiku-5-5").total_usd
    Decimal('0.0500005')
    """
    usage = Usage.from_response(usage)
    model = get_model(model)
    terms = _terms(usage, model, batch=batch, inference_geo=inference_geo, speed=speed)
    prices = model.rates_at(on)
    if terms.fast and prices.fast_cards is None:
        raise _argument("speed", "offered", f"is fast, which {model.id} does not have", "leave it out")
    if terms.us_only and prices.us_geo_multiplier is None:
        raise _argument("inference_geo", "offered", f"is us, which {model.id} does not have", "leave it out")
    if "mixed-service" in usage.flags:
        raise _usage("usage", "one-price", "sums requests with different options", _ADD_BILLS)
    flags = set(usage.flags | terms.flags)
    lines: list[Line] = []
    for number, entry in enumerate(usage.billed):
        runs_on, entry_prices = _runs_on(entry, number, model, prices, on)
        if usage.requests > 1 and entry_prices.tiered:
            raise _usage(
                "usage.requests",
                "one-card-per-request",
                f"is a sum over {usage.requests} requests, but {runs_on.id} is priced by prompt size",
                _ADD_BILLS,
            )
        own = runs_on is model
        if not own and (terms.fast or terms.us_only):
            flags.add("advisor-standard")
        entry_lines, unverified = _lines(entry, runs_on, entry_prices, terms if own else terms.elsewhere)
        lines += entry_lines
        if unverified:
            flags.add("rates-unverified")
        if entry.cache_creation.unknown_ttl_input_tokens:
            flags.add("write-ttl-unknown")
    return Bill(_merged(lines), usage.requests, usage.web_search_requests, frozenset(flags))


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a session: whose model, how much, under which label (``turn``, ``summary``, …), when."""

    model: str | Model
    usage: Usage
    label: str = "turn"
    on: date | None = None


Reason = Literal["no price", "unknown model"]


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Requests that could not be priced because ``model``, or the model of one of their steps, has no price."""

    model: str
    reason: Reason
    requests: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class SessionBill:
    """A session's bill by label, and by name what could not be priced. Only a complete one is a total."""

    by_label: dict[str, Bill]
    unpriced: tuple[Unpriced, ...]

    @property
    def complete(self) -> bool:
        return not self.unpriced

    @property
    def bill(self) -> Bill:
        """The sum of what has a price."""
        return sum(self.by_label.values(), Bill())

    @property
    def total_usd(self) -> Decimal:
        """Of the priced requests; ask :attr:`complete` whether that is all."""
        return self.bill.total_usd

    def __str__(self) -> str:
        total = self.bill
        text = f"{total.total_usd} USD for {total.requests} requests"
        for missing in self.unpriced:
            text += f"; incomplete: {missing.requests} of {missing.model} ({missing.reason})"
        return text


def bill_session(calls: Iterable[Call]) -> SessionBill:
    """Price every call that has a price, name the others: none counts as free or at another model's rate.

    >>> usage = Usage(input_tokens=1_000_000)
    >>> print(bill_session([Call("claude-opus-4-8", usage), Call("claude-2.1", usage)]))
    5 USD for 1 requests; incomplete: 1 of claude-2.1 (no price)
    """
    by_label: dict[str, Bill] = {}
    missing: dict[tuple[str, Reason], Usage] = {}
    for call in calls:
        try:
            priced = bill(call.usage, call.model, on=call.on)
        except (UnpricedModelError, UnknownModelError) as error:
            reason: Reason = "no price" if isinstance(error, UnpricedModelError) else "unknown model"
            key = (call.model.id if isinstance(call.model, Model) else str(call.model), reason)
            missing[key] = missing.get(key, Usage.zero()) + call.usage
        else:
            by_label[call.label] = by_label.get(call.label, Bill()) + priced
    return SessionBill(
        by_label,
        tuple(Unpriced(name, reason, usage.requests, usage) for (name, reason), usage in missing.items()),
    )


# --- the growth of resent history ---------------------------------------------------------------------------


def history_input_tokens(turns: int, prefix_tokens: int, added_tokens: int) -> int:
    """Input of a whole conversation that resends its history: ``n·P + a·n(n+1)/2``.

    Turn k sends the fixed prefix P and everything added in turns 1 to k, its own message included.

    >>> history_input_tokens(40, 0, 1_000)
    820000
    """
    n, prefix, added = _turn_law(turns, prefix_tokens, added_tokens)
    return n * prefix + added * n * (n + 1) // 2


def history_input_tokens_by_turn(turns: int, prefix_tokens: int, added_tokens: int) -> list[int]:
    """The same law turn by turn: what each request sends. Its sum is :func:`history_input_tokens`."""
    n, prefix, added = _turn_law(turns, prefix_tokens, added_tokens)
    return [prefix + turn * added for turn in range(1, n + 1)]


def doubling_factor(turns: int, prefix_tokens: int, added_tokens: int) -> float:
    """How many times the input tokens grow when the number of turns doubles: above 2, below 4.

    4 is the limit for a·n far above 2·P.

    >>> round(doubling_factor(91, 50_371, 569), 2), round(doubling_factor(91, 0, 569), 2)
    (2.67, 3.98)
    """
    single = history_input_tokens(turns, prefix_tokens, added_tokens)
    if not single:
        raise _argument("turns", "positive-input", "sends no tokens at all", "give a prefix or an increment")
    return history_input_tokens(2 * turns, prefix_tokens, added_tokens) / single


@dataclass(frozen=True, slots=True)
class GrowthFit:
    """The law ``P + k·a`` fitted to the prompt sizes of a stretch of turns.

    ``sum_error`` is (law − truth) / truth for the sum over the stretch; it is zero by construction for least
    squares, so that ``rms_tokens``, the typical miss of one turn, is the honest figure there.
    """

    method: Literal["least-squares", "ends"]
    turns: int
    prefix_tokens: float
    added_tokens: float
    sum_error: float
    rms_tokens: float

    def prompt_tokens(self, turn: int) -> float:
        """What the law says about turn ``turn`` (counted from 1), inside the stretch or beyond it."""
        return self.prefix_tokens + turn * self.added_tokens


def fit_growth(
    total_input_tokens: Sequence[int], *, method: Literal["least-squares", "ends"] = "least-squares"
) -> GrowthFit:
    """Find P and a for a stretch of turns between two rewrites (see :func:`stretches`).

    ``least-squares`` weighs every turn; ``ends`` draws the line through the first and the last one, which is
    what one does by hand and goes wrong where growth is uneven.

    >>> fit = fit_growth([1_100, 1_200, 1_300])
    >>> fit.prefix_tokens, fit.added_tokens
    (1000.0, 100.0)
    """
    sizes = list(total_input_tokens)
    n = len(sizes)
    if n < 2:
        raise _argument("total_input_tokens", "two-turns", f"has {n}", "a line needs two turns")
    if method == "ends":
        added = Fraction(sizes[-1] - sizes[0], n - 1)
        prefix = sizes[0] - added
    elif method == "least-squares":
        mean_turn, mean_size = Fraction(n + 1, 2), Fraction(sum(sizes), n)
        from_middle = [turn - mean_turn for turn in range(1, n + 1)]
        joint = sum((x * (size - mean_size) for x, size in zip(from_middle, sizes, strict=True)), Fraction(0))
        added = joint / sum((x * x for x in from_middle), Fraction(0))
        prefix = mean_size - added * mean_turn
    else:
        raise _argument("method", "known-method", f"is {method!r}", "least-squares or ends")
    misses = [prefix + turn * added - size for turn, size in enumerate(sizes, 1)]
    return GrowthFit(
        method=method,
        turns=n,
        prefix_tokens=float(prefix),
        added_tokens=float(added),
        sum_error=float(sum(misses) / sum(sizes)) if any(sizes) else 0.0,
        rms_tokens=math.sqrt(sum(miss * miss for miss in misses) / n),
    )


def rewrite_turns(
    total_input_tokens: Sequence[int], *, drop: Fraction | float = Fraction(1, 10)
) -> list[int]:
    """Indexes of the turns whose prompt is more than ``drop`` (a share) smaller than the one before.

    Those are the turns right after a compaction or a trim: the law starts afresh there.

    >>> rewrite_turns([90, 100, 40, 50, 48])
    [2]
    """
    if not 0 <= drop < 1:
        raise _argument("drop", "share", f"is {drop}", "give a share from 0 to below 1")
    keep = 1 - Fraction(drop)
    return [
        turn for turn, (before, size) in enumerate(pairwise(total_input_tokens), 1) if size < keep * before
    ]


def stretches(total_input_tokens: Sequence[int], *, drop: Fraction | float = Fraction(1, 10)) -> list[range]:
    """The turns between rewrites as ranges of indexes, which together cover the session.

    >>> stretches([90, 100, 40, 50])
    [range(0, 2), range(2, 4)]
    """
    cuts = [0, *rewrite_turns(total_input_tokens, drop=drop), len(total_input_tokens)]
    return [range(start, stop) for start, stop in pairwise(cuts) if start < stop]


# --- what another strategy would have cost ------------------------------------------------------------------

Strategy = Literal["as-recorded", "no-cache", "5m", "1h", "always-warm", "keep-alive", "batch"]

#: What each strategy assumes, beside what all of them do (see :func:`what_if`).
STRATEGIES: dict[Strategy, str] = {
    "as-recorded": "the figures as they are",
    "no-cache": "no marker anywhere: every token of every prompt at full price",
    "5m": "a marker that moves with the history; an idle gap of more than 300 s loses the whole entry",
    "1h": "the same with writes at the 1-hour price; a gap of more than 3,600 s loses the entry",
    "always-warm": "5m writes, and no gap ever loses the entry",
    "keep-alive": "5m, and a read of the prefix every 240 s of idle time while that beats writing it again",
    "batch": "no marker, every token at the batch price; an agent that waits for its answer cannot do this",
}

_LIFETIME_S = {"5m": 300.0, "1h": 3600.0}
_PING_EVERY_S = 240.0


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
        return self.bill.total_usd


@dataclass(frozen=True, slots=True)
class Scenario:
    """A session under one strategy, turn by turn; ``assumption`` says what was supposed."""

    strategy: Strategy
    assumption: str
    turns: tuple[TurnCost, ...]

    @property
    def bill(self) -> Bill:
        return Bill(
            lines=_merged([line for turn in self.turns for line in turn.bill.lines]),
            requests=sum(turn.bill.requests for turn in self.turns),
            web_search_requests=sum(turn.bill.web_search_requests for turn in self.turns),
            flags=frozenset().union(*(turn.bill.flags for turn in self.turns)),
        )

    @property
    def total_usd(self) -> Decimal:
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
    - What was fresh behind the last marker stays fresh; in a session without any marker nothing does.
    - Entries that others left (a read on the first turn) are there under each strategy with a cache.
    - Prefixes below the model's minimum are not cached. Gaps stand for the time from request to request.
    - Outputs cost what they did. Steps of other models (advisors) keep their figures, save without a cache.

    Raises what :func:`bill` raises, and :class:`InvalidArgumentError` for an unknown strategy or a wrong
    number of gaps.
    """
    if strategy not in STRATEGIES:
        raise _argument("strategy", "known-strategy", f"is {strategy!r}", ", ".join(STRATEGIES))
    model = get_model(model)
    gaps = [0.0] * len(usages) if gaps_s is None else [gap or 0.0 for gap in gaps_s]
    if len(gaps) != len(usages):
        raise _argument("gaps_s", "one-per-turn", f"has {len(gaps)}", f"give {len(usages)}, one per usage")
    session = _Session(strategy, model, model.rates_at(on))
    turns = []
    for usage, gap_s in zip(usages, gaps, strict=True):
        pings, prefix_tokens = session.pings_before(gap_s)
        changed = session.changed(usage, gap_s)
        cost = bill(changed, model, batch=True if strategy == "batch" else None, on=on)
        if pings:
            cost += _ping_bill(pings, prefix_tokens, model, on)
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


class _Session:
    """The walk of :func:`what_if`: what the recorded and the supposed cache hold after each request."""

    def __init__(self, strategy: Strategy, model: Model, prices: Prices):
        self.strategy = strategy
        self.floor_tokens = model.min_cacheable_tokens or 0
        self.max_pings = (
            break_even_pings(prices.cache_write_5m_multiplier, prices.cache_read_multiplier).n or 0
        )
        self.recorded_tokens = 0
        self.recorded_ttl = "5m"
        self.marked = False
        self.cached_tokens = 0

    def pings_before(self, gap_s: float) -> tuple[int, int]:
        """How many pings bridge the gap (0 if none is needed or writing again is cheaper), and their size."""
        if self.strategy != "keep-alive" or not self.cached_tokens:
            return 0, 0
        needed = pings_needed(gap_s)
        return (needed, self.cached_tokens) if needed <= self.max_pings else (0, 0)

    def changed(self, usage: Usage, gap_s: float) -> Usage:
        if self.strategy == "as-recorded":
            return usage
        if usage.requests != 1:
            raise _usage("usages", "one-request-each", f"sums {usage.requests} requests", "give each alone")
        entries = []
        for number, entry in enumerate(usage.billed):
            entries.append(self._entry(entry, gap_s if number == 0 else 0.0))
        flags = usage.flags - {"ttl-missing", "ttl-contradicts", "ttl-exceeds-total", "ttl-new-class"}
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
        shared = self._shared(entry, gap_s)
        marked = entry.input_tokens != total
        fresh = entry.input_tokens if marked or self.marked else 0
        cacheable = total - fresh
        if cacheable < self.floor_tokens:
            fresh, cacheable = total, 0
        read = 0 if self._expired(gap_s) else min(shared, cacheable)
        written = cacheable - read
        self.cached_tokens = cacheable
        self.recorded_tokens = total - entry.input_tokens
        self.marked = self.marked or marked
        if entry.cache_creation_input_tokens:
            self.recorded_ttl = "1h" if entry.cache_creation.ephemeral_1h_input_tokens else "5m"
        in_1h = self.strategy == "1h"
        return replace(
            entry,
            input_tokens=fresh,
            cache_read_input_tokens=read,
            cache_creation=CacheCreation(0, written) if in_1h else CacheCreation(written, 0),
        )

    def _shared(self, entry: Iteration, gap_s: float) -> int:
        """Tokens this prompt has in common with what was cached before it, as far as the recording tells."""
        read = entry.cache_read_input_tokens
        if entry.total_input_tokens < self.cached_tokens:
            return read
        unmarked = not self.marked and entry.input_tokens == entry.total_input_tokens
        expired = gap_s > _LIFETIME_S[self.recorded_ttl]
        if unmarked or expired or read >= self.recorded_tokens:
            return max(read, self.cached_tokens)
        return read

    def _expired(self, gap_s: float) -> bool:
        if self.strategy == "always-warm":
            return False
        if self.strategy == "keep-alive":
            return pings_needed(gap_s) > self.max_pings
        return gap_s > _LIFETIME_S["1h" if self.strategy == "1h" else "5m"]


def _ping_bill(pings: int, prefix_tokens: int, model: Model, on: date | None) -> Bill:
    """Reads that only refresh the entry: no output (``max_tokens: 0``), under a step name of their own."""
    ping = Usage(
        cache_read_input_tokens=prefix_tokens,
        iterations=(Iteration(type="keep_alive_ping", cache_read_input_tokens=prefix_tokens),),
    )
    one = bill(ping, model, on=on)
    return replace(
        one, lines=tuple(replace(line, tokens=line.tokens * pings) for line in one.lines), requests=pings
    )


# --- break-evens --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BreakEven:
    """``n`` is the first (for pings: the last) whole number that pays; ``threshold`` the exact crossing."""

    threshold: Fraction | None
    n: int | None


def break_even_reads(
    write_multiplier: Fraction, read_multiplier: Fraction, *, other_multiplier: Fraction | int = 1
) -> BreakEven:
    """How often a prefix must be read before having written it to the cache pays.

    Writing costs w once and r per read; the other way costs u for each of the n + 1 requests:
    ``w + n·r < u·(n + 1)``, so ``n > (w − u)/(u − r)``. ``u`` is 1 without a cache, 0.5 as a batch, 1.25 if
    every read of a 1-hour entry would have met an expired 5-minute one. Never (None) if r is not below u.
    Source: platform.claude.com pricing page, 2026-08.

    >>> [break_even_reads(write, Fraction("0.1")).n for write in (Fraction("1.25"), Fraction(2))]
    [1, 2]
    """
    write, read, other = Fraction(write_multiplier), Fraction(read_multiplier), Fraction(other_multiplier)
    if read >= other:
        return BreakEven(None, 0 if write < other else None)
    threshold = (write - other) / (other - read)
    return BreakEven(threshold, max(0, math.floor(threshold) + 1))


def break_even_pings(write_multiplier: Fraction, read_multiplier: Fraction) -> BreakEven:
    """How many keep-alive pings an idle gap may take before letting the entry die is cheaper.

    p pings and the read after them cost ``(p + 1)·r``, writing again costs w: ``p < (w − r)/r``.

    >>> break_even_pings(Fraction("1.25"), Fraction("0.1")).n
    11
    """
    write, read = Fraction(write_multiplier), Fraction(read_multiplier)
    if read <= 0:
        raise _argument("read_multiplier", "positive", f"is {read}", "free reads never break even")
    threshold = (write - read) / read
    return BreakEven(threshold, math.ceil(threshold) - 1 if threshold > 0 else None)


def first_that_pays(
    ours: Callable[[int], Fraction], other: Callable[[int], Fraction], *, limit: int
) -> int | None:
    """The search beside the formulas: the first n from 0 to ``limit`` with ``ours(n) < other(n)``.

    >>> first_that_pays(lambda n: 2 + n * Fraction("0.1"), lambda n: Fraction(n + 1), limit=100)
    2
    """
    return next((n for n in range(limit + 1) if ours(n) < other(n)), None)


def last_that_pays(
    ours: Callable[[int], Fraction], other: Callable[[int], Fraction], *, limit: int
) -> int | None:
    """The last n from 0 to ``limit`` with ``ours(n) < other(n)``."""
    return next((n for n in range(limit, -1, -1) if ours(n) < other(n)), None)


def pings_needed(
    gap_s: float, *, every_s: float = _PING_EVERY_S, lifetime_s: float = _LIFETIME_S["5m"]
) -> int:
    """Pings that carry an entry over an idle gap: one each ``every_s`` until the rest fits its lifetime.

    >>> [pings_needed(gap_s) for gap_s in (300, 301, 540, 541)]
    [0, 1, 1, 2]
    """
    if not 0 < every_s <= lifetime_s:
        raise _argument("every_s", "within-lifetime", f"is {every_s}", f"above 0 and at most {lifetime_s}")
    if not math.isfinite(gap_s):
        raise _argument("gap_s", "finite-number", f"is {gap_s}", "give seconds")
    return max(0, math.ceil((gap_s - lifetime_s) / every_s))


@dataclass(frozen=True, slots=True)
class BreakEvens:
    """A model's break-evens on one day.

    ``reads_5m``, ``reads_1h`` against no cache; ``reads_5m_over_batch`` against the same requests as a batch
    without a cache; ``gaps_1h_over_5m`` expiries of a 5m entry that a 1h entry would have outlived; ``pings``
    that keeping an entry alive may take.
    """

    reads_5m: BreakEven
    reads_1h: BreakEven
    reads_5m_over_batch: BreakEven
    gaps_1h_over_5m: BreakEven
    pings: BreakEven


def break_evens(model: str | Model, *, on: date | None = None) -> BreakEvens:
    """The break-evens that follow from a model's multipliers.

    >>> evens = break_evens("claude-opus-5-5")
    >>> evens.reads_5m.n, evens.reads_1h.n, evens.pings.n
    (1, 2, 23)
    """
    prices = get_model(model).rates_at(on)
    short, long = prices.cache_write_5m_multiplier, prices.cache_write_1h_multiplier
    read = prices.cache_read_multiplier
    return BreakEvens(
        reads_5m=break_even_reads(short, read),
        reads_1h=break_even_reads(long, read),
        reads_5m_over_batch=break_even_reads(short, read, other_multiplier=prices.batch_multiplier),
        gaps_1h_over_5m=break_even_reads(long, read, other_multiplier=short),
        pings=break_even_pings(short, read),
    )


# --- the arithmetic below -----------------------------------------------------------------------------------


def exact_decimal(amount: Fraction | int) -> Decimal:
    """A fraction of money as a decimal, digit for digit; prices have only 2 and 5 in their denominators."""
    numerator, denominator = Fraction(amount).as_integer_ratio()
    places = 0
    while denominator % 10 == 0:
        denominator //= 10
        places += 1
    for factor, other in ((2, 5), (5, 2)):
        while denominator % factor == 0:
            denominator //= factor
            numerator *= other
            places += 1
    if denominator != 1:
        raise _argument(
            "amount", "finite-decimal", f"is {amount}, which has no finite decimal", "keep the Fraction"
        )
    digits = tuple(map(int, str(abs(numerator))))
    return Decimal((int(numerator < 0), digits, -places))


@dataclass(frozen=True, slots=True)
class _Terms:
    """The options a request is priced under."""

    batch: bool
    us_only: bool
    fast: bool
    flags: frozenset[str]

    @property
    def elsewhere(self) -> _Terms:
        """What of them holds for a step that another model does."""
        return replace(self, us_only=False, fast=False)


def _terms(
    usage: Usage, model: Model, *, batch: bool | None, inference_geo: str | None, speed: str | None
) -> _Terms:
    flags = set()
    if batch is None:
        batch = usage.service_tier == "batch"
    if usage.service_tier == "priority":
        flags.add("priority-tier")
    if speed is None:
        speed = usage.speed
    if speed not in (None, "standard", "fast"):
        raise _argument("speed", "known-speed", f"is {speed!r}", "standard or fast")
    if inference_geo is not None and inference_geo not in ("us", "global"):
        raise _argument("inference_geo", "known-region", f"is {inference_geo!r}", "us or global")
    region = inference_geo or usage.inference_geo
    if region not in (None, "us", "global", "not_available"):
        flags.add("region-unknown")
    fast = speed == "fast"
    if fast and batch:
        raise _argument("speed", "fast-or-batch", "is fast in a batch", "the two exclude each other")
    return _Terms(batch=bool(batch), us_only=region == "us", fast=fast, flags=frozenset(flags))


def _runs_on(
    entry: Iteration, number: int, model: Model, prices: Prices, on: date | None
) -> tuple[Model, Prices]:
    if entry.model is None:
        return model, prices
    try:
        other = get_model(entry.model)
    except UnknownModelError as error:
        problem = replace(error.problems[0], path=f"usage.iterations[{number}].model")
        raise UnknownModelError(problem, error.nearest) from None
    return (model, prices) if other is model else (other, other.rates_at(on))


def _lines(entry: Iteration, model: Model, prices: Prices, terms: _Terms) -> tuple[list[Line], bool]:
    """The lines of one step, and whether an unverified figure went into them."""
    card = prices.card(entry.total_input_tokens, fast=terms.fast)
    factor = Fraction(1)
    figures = {"fast_rates" if terms.fast else "rates"}
    if terms.batch:
        factor *= prices.batch_multiplier
        figures.add("batch_multiplier")
    if terms.us_only and prices.us_geo_multiplier is not None:
        factor *= prices.us_geo_multiplier
        figures.add("us_geo_multiplier")
    read = prices.cache_read_multiplier
    short, long = prices.cache_write_5m_multiplier, prices.cache_write_1h_multiplier
    written = entry.cache_creation
    input_usd, output_usd = card.input_usd_per_mtok * factor, card.output_usd_per_mtok * factor
    rows = (
        ("input", entry.input_tokens, input_usd, input_usd),
        ("cache read", entry.cache_read_input_tokens, input_usd * read, input_usd * read),
        ("cache write 5m", written.ephemeral_5m_input_tokens, input_usd * short, input_usd * short),
        ("cache write 1h", written.ephemeral_1h_input_tokens, input_usd * long, input_usd * long),
        (_UNKNOWN_WRITE, written.unknown_ttl_input_tokens, input_usd * short, input_usd * long),
        ("output", entry.output_tokens, output_usd, output_usd),
    )
    lines = [
        Line(label, entry.type, model.id, tokens, rate, rate_high)
        for label, tokens, rate, rate_high in rows
        if tokens
    ]
    figures |= {_MULTIPLIER_OF[line.label] for line in lines if line.label in _MULTIPLIER_OF}
    return lines, bool(lines and figures & model.unverified)


def _merged(lines: Iterable[Line]) -> tuple[Line, ...]:
    sums: dict[tuple[str, str, str, Fraction, Fraction], int] = {}
    for line in lines:
        key = (line.label, line.iteration_type, line.model_id, line.rate, line.rate_high)
        sums[key] = sums.get(key, 0) + line.tokens
    return tuple(
        Line(label, step, model_id, tokens, rate, high)
        for (label, step, model_id, rate, high), tokens in sums.items()
    )


def _turn_law(turns: int, prefix_tokens: int, added_tokens: int) -> tuple[int, int, int]:
    for name, value in (("turns", turns), ("prefix_tokens", prefix_tokens), ("added_tokens", added_tokens)):
        if type(value) is not int or value < 0:
            raise _argument(name, "non-negative-int", f"is {value!r}", "give a whole number from 0")
    return turns, prefix_tokens, added_tokens


def _argument(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(path, rule, message, fix))


def _usage(path: str, rule: str, message: str, fix: str) -> InvalidUsageError:
    return InvalidUsageError(Problem(path, rule, message, fix))
