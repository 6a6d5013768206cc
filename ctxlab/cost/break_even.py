"""From how many reads, gaps or pings on a cache setting pays: each as a formula and as a search.

Models: writes and reads of one prefix, against no cache, a batch, a shorter lifetime, or letting it expire.
Does not model: fresh tokens and outputs, which cost the same either way.
Source: multipliers of platform.claude.com prompt-caching page, 2026-09; the inequalities are our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from ctxlab.catalogue import Model, get_model
from ctxlab.cost.arguments import argument_error, exact_factor, finite_s

#: Idle time after which an entry is gone, and how often a ping keeps one alive with a minute to spare.
LIFETIME_S = {"5m": 300.0, "1h": 3600.0}
PING_EVERY_S = 240.0


@dataclass(frozen=True, slots=True)
class BreakEven:
    """``n`` is the first (for pings: the last) whole number that pays; ``threshold`` the exact crossing."""

    threshold: Fraction | None
    n: int | None


def break_even_reads(
    write_multiplier: Fraction | float,
    read_multiplier: Fraction | float,
    *,
    other_multiplier: Fraction | float = 1,
) -> BreakEven:
    """How often a prefix must be read before having written it to the cache pays.

    Writing costs w once and r per read; the other way costs u for each of the n + 1 requests:
    ``w + n·r < u·(n + 1)``, so ``n > (w − u)/(u − r)``. ``u`` is 1 without a cache, 0.5 as a batch, 1.25 if
    every read of a 1-hour entry would have met an expired 5-minute one. Never (None) if r is not below u.
    Floats count as the decimals they show. Raises :class:`InvalidArgumentError` for a negative multiplier.
    Source: platform.claude.com pricing page, 2026-08.

    >>> [break_even_reads(write, Fraction("0.1")).n for write in (Fraction("1.25"), Fraction(2))]
    [1, 2]
    """
    write = exact_factor("write_multiplier", write_multiplier)
    read = exact_factor("read_multiplier", read_multiplier)
    other = exact_factor("other_multiplier", other_multiplier)
    if read >= other:
        return BreakEven(None, 0 if write < other else None)
    threshold = (write - other) / (other - read)
    return BreakEven(threshold, max(0, math.floor(threshold) + 1))


def break_even_pings(write_multiplier: Fraction | float, read_multiplier: Fraction | float) -> BreakEven:
    """How many keep-alive pings an idle gap may take before letting the entry die is cheaper.

    p pings and the read after them cost ``(p + 1)·r``, writing again costs w: ``p < (w − r)/r``.

    >>> break_even_pings(Fraction("1.25"), Fraction("0.1")).n
    11
    """
    write = exact_factor("write_multiplier", write_multiplier)
    read = exact_factor("read_multiplier", read_multiplier)
    if not read:
        raise argument_error("read_multiplier", "positive", f"is {read}", "free reads never break even")
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


def pings_needed(gap_s: float, *, every_s: float = PING_EVERY_S, lifetime_s: float = LIFETIME_S["5m"]) -> int:
    """Pings that carry an entry over an idle gap: one each ``every_s`` until the rest is below its lifetime.

    >>> [pings_needed(gap_s) for gap_s in (299, 300, 539, 540)]
    [0, 1, 1, 2]
    """
    for path, value in (("gap_s", gap_s), ("every_s", every_s), ("lifetime_s", lifetime_s)):
        finite_s(path, value)
    if not 0 < every_s < lifetime_s:
        raise argument_error("every_s", "within-lifetime", f"is {every_s}", f"above 0 and below {lifetime_s}")
    left_s = Fraction(gap_s) - Fraction(lifetime_s)
    return 0 if left_s < 0 else math.floor(left_s / Fraction(every_s)) + 1


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
