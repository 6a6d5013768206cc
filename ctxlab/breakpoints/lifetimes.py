"""5 minutes, 1 hour or no marker at all: what a prefix costs under each, and why one of them wins.

Models: one prefix, written by this request and wanted again after each of the given pauses. Where an entry
has died it is written again, under the same marker. Per token, in multiples of the input price.
Does not model: keep-alive requests between two real ones (:func:`ctxlab.cost.break_even_pings`), tokens that
come later, prices of outputs.
Source: multipliers of the catalogue; a lifetime counts from the start of the request that wrote or last read
the entry (prompt-caching page, 2026-08), so pauses are from start to start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from numbers import Real

from ctxlab.cache import LIFETIME_S, Ttl
from ctxlab.catalogue import Model, get_model
from ctxlab.cost import break_evens
from ctxlab.errors import InvalidArgumentError, Problem

_SPANS: Mapping[Ttl, str] = {"5m": "5 minutes", "1h": "1 hour"}


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The choice for one prefix: ``ttl`` (None: do not mark it) and why, in words.

    ``price`` is what the prefix costs in all, per token and in multiples of the input price, under each
    choice; equal prices go to the choice that stores less.
    """

    ttl: Ttl | None
    price: Mapping[Ttl | None, Fraction]
    says: str

    def __str__(self) -> str:
        return f"{_name(self.ttl)}: {self.says}"


def lifetime(model: str | Model, gaps_s: Sequence[float], *, on: date | None = None) -> Lifetime:
    """How long a prefix should live that further requests want again, each after one of ``gaps_s`` seconds.

    An entry is gone when exactly its lifetime has passed, as :mod:`ctxlab.cache` has it.

    Raises what :meth:`Model.rates_at` raises, and :class:`InvalidArgumentError` for pauses that cannot be.

    >>> print(lifetime("claude-haiku-4-5", [30] * 9))
    5m: wanted 9 more times; all in, 2.15 times the input price (no marker 10, 1h 2.9); pays from read 1 on
    >>> [lifetime("claude-haiku-4-5", [420] * reads).ttl for reads in (0, 1, 2)]
    [None, None, '1h']
    """
    model = get_model(model)
    checked_gaps(gaps_s)
    prices = model.rates_at(on)
    read = prices.cache_read_multiplier
    writes: dict[Ttl, Fraction] = {
        "5m": prices.cache_write_5m_multiplier,
        "1h": prices.cache_write_1h_multiplier,
    }
    price: dict[Ttl | None, Fraction] = {None: Fraction(1 + len(gaps_s))}
    for ttl, write in writes.items():
        price[ttl] = write + sum(read if gap_s < LIFETIME_S[ttl] else write for gap_s in gaps_s)
    best = min(price, key=lambda ttl: price[ttl])  # the first of equals: none, 5m, 1h
    return Lifetime(best, price, _says(best, price, gaps_s, model, on))


def checked_gaps(gaps_s: Sequence[float], name: str = "gaps_s") -> None:
    """Raise :class:`InvalidArgumentError` unless every pause is a finite number of seconds, 0 or more."""
    for i, gap_s in enumerate(gaps_s):
        if isinstance(gap_s, bool) or not isinstance(gap_s, Real) or not 0 <= gap_s < math.inf:
            raise InvalidArgumentError(
                Problem(f"{name}[{i}]", "seconds", f"is {gap_s!r}", "give seconds, 0 or more")
            )


def _says(
    best: Ttl | None,
    price: Mapping[Ttl | None, Fraction],
    gaps_s: Sequence[float],
    model: Model,
    on: date | None,
) -> str:
    reads = len(gaps_s)
    if not reads:
        return "nothing will read it again, so a write would be paid for nothing"
    wanted = f"wanted {reads} more time{'s' * (reads > 1)}"
    for ttl, span in _SPANS.items():
        late = sum(gap_s >= LIFETIME_S[ttl] for gap_s in gaps_s)
        if late and (ttl == "5m" or best != "5m"):
            wanted += f", {_often(late, reads)} after {span} or more"
    others = ", ".join(f"{_name(ttl)} {_times(price[ttl])}" for ttl in price if ttl != best)
    costs = f"all in, {_times(price[best])} times the input price ({others})"
    if best is None:
        return f"{wanted}; {costs}"
    evens = break_evens(model, on=on)
    first = evens.reads_5m.n if best == "5m" else evens.reads_1h.n
    return f"{wanted}; {costs}; pays from read {first} on"


def _name(ttl: Ttl | None) -> str:
    return ttl or "no marker"


def _often(late: int, reads: int) -> str:
    return "always" if late == reads else "once" if late == 1 else f"{late} times"


def _times(value: Fraction) -> str:
    return f"{float(value):g}"
