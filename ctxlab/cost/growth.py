"""How resent history grows with the turns, and where a recorded session follows that law.

Models: turn k sends a fixed prefix P and k increments a; its exact sum; P and a fitted to recorded prompt
sizes; the turns at which the window shrank and the law starts afresh.
Does not model: prices, or why a window shrank. Fits are solved exactly and handed out as floats.
Source: arithmetic; the recorded sessions in ``data/recordings``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import index
from typing import Literal, SupportsIndex

from ctxlab.cost.arguments import argument_error, exact_factor, listed


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
    (2.68, 3.98)
    """
    single = history_input_tokens(turns, prefix_tokens, added_tokens)
    if not single:
        raise argument_error(
            "turns", "positive-input", "sends no tokens at all", "give a prefix or an increment"
        )
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
    what one does by hand and goes wrong where growth is uneven. Raises :class:`InvalidArgumentError` for
    fewer than two turns, and for sizes that are no whole numbers.

    >>> fit = fit_growth([1_100, 1_200, 1_300])
    >>> fit.prefix_tokens, fit.added_tokens
    (1000.0, 100.0)
    """
    sizes = _sizes(total_input_tokens)
    n = len(sizes)
    if n < 2:
        raise argument_error("total_input_tokens", "two-turns", f"has {n}", "a line needs two turns")
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
        raise argument_error("method", "known-method", f"is {method!r}", "least-squares or ends")
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
    keep = 1 - exact_factor("drop", drop)
    if keep <= 0:
        raise argument_error("drop", "share", f"is {drop}", "give a share from 0 to below 1")
    sizes = _sizes(total_input_tokens)
    return [turn for turn, (before, size) in enumerate(pairwise(sizes), 1) if size < keep * before]


def stretches(total_input_tokens: Sequence[int], *, drop: Fraction | float = Fraction(1, 10)) -> list[range]:
    """The turns between rewrites as ranges of indexes, which together cover the session.

    >>> stretches([90, 100, 40, 50])
    [range(0, 2), range(2, 4)]
    """
    sizes = _sizes(total_input_tokens)
    cuts = [0, *rewrite_turns(sizes, drop=drop), len(sizes)]
    return [range(start, stop) for start, stop in pairwise(cuts) if start < stop]


def _turn_law(turns: int, prefix_tokens: int, added_tokens: int) -> tuple[int, int, int]:
    return (
        _whole("turns", turns),
        _whole("prefix_tokens", prefix_tokens),
        _whole("added_tokens", added_tokens),
    )


def _sizes(total_input_tokens: Iterable[int]) -> list[int]:
    return [
        _whole(f"total_input_tokens[{turn}]", size)
        for turn, size in enumerate(listed("total_input_tokens", total_input_tokens))
    ]


def _whole(path: str, value: SupportsIndex) -> int:
    """An int of Python's own: NumPy's would overflow in exact sums."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or index(value) < 0:
        raise argument_error(path, "non-negative-int", f"is {value!r}", "give a whole number from 0")
    return index(value)
