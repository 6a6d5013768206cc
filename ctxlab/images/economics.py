"""Shrink a picture, keep it, or drop it: tokens on the staircase, and dollars over the turns that follow.

Models: the sizes at which a picture becomes cheaper; what one costs when it is sent again every turn, with a
cache and without; what dropping it costs, because everything behind it is written to the cache again;
dropping one at a time against many at once.
Does not model: what the model can still read of a smaller picture (:mod:`ctxlab.images.preflight` warns),
idle gaps, minimum prefixes, rate limits.
Source: patches of 28 pixels (:mod:`ctxlab.images.sizes`); multipliers of the catalogue; the formulas are our
own and are checked against bills and the emulator. That a window of the newest pictures rewrites an old
message every turn was reported of real sessions (hermes issue 113517, 2026-09).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from ctxlab.catalogue import Model, Prices, get_model
from ctxlab.cost import Bill, bill, exact_decimal
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.images.sizes import image_tokens, named, patches, resized_size
from ctxlab.usage import CacheCreation, Usage

_MTOK = 1_000_000


# --- shrink: the staircase


@dataclass(frozen=True, slots=True)
class Resize:
    """A size of the same shape, and what it costs beside ``before_tokens`` of the picture as it is."""

    width: int
    height: int
    tokens: int
    before_tokens: int

    @property
    def saved_tokens(self) -> int:
        return self.before_tokens - self.tokens

    @property
    def saved_share(self) -> Fraction:
        return Fraction(self.saved_tokens, self.before_tokens)


def best_resize(
    width: int,
    height: int,
    model: str | Model | None = None,
    *,
    tier: str | None = None,
    save: Fraction | float = Fraction(1, 4),
) -> Resize:
    """The largest size of the same shape that saves at least the share ``save`` of the picture's tokens.

    Never larger than what the model sees: pixels beyond that buy nothing. The shape is kept to within half a
    pixel of the shorter side. Raises :class:`InvalidArgumentError` for a share that is not from 0 to below 1,
    or that not even a single patch saves; else errors as for :func:`image_tokens`.

    >>> best_resize(1920, 1080, "claude-opus-5-5", save=0.25)
    Resize(width=1652, height=929, tokens=2006, before_tokens=2691)
    >>> best_resize(1920, 1080, "claude-opus-5-5", save=0.01)
    Resize(width=1904, height=1071, tokens=2652, before_tokens=2691)
    """
    share = _share(save)
    before = image_tokens(width, height, model, tier=tier)
    most = math.floor(before * (1 - share))
    if most < 1:
        fix = "ask for less; a picture costs at least one token"
        raise InvalidArgumentError(Problem("save", "reachable", f"is {save}, of {before} tokens", fix))
    shape = _Shape(width, height)
    return shape.resize(shape.largest(most, max(resized_size(width, height, model, tier=tier))), before)


def staircase(
    width: int, height: int, model: str | Model | None = None, *, tier: str | None = None
) -> Iterator[Resize]:
    """Every step from the size the model sees down to one patch: the largest size at each number of tokens.

    Between two steps shrinking saves nothing. Errors as for :func:`image_tokens`.

    >>> [(step.width, step.height, step.tokens) for step in staircase(60, 40, tier="standard")]
    [(60, 40, 6), (56, 37, 4), (42, 28, 2), (28, 19, 1)]
    """
    before = image_tokens(width, height, model, tier=tier)
    shape, longest = _Shape(width, height), max(resized_size(width, height, model, tier=tier))
    while True:
        step = shape.resize(longest, before)
        yield step
        if step.tokens == 1:
            return
        longest = shape.largest(step.tokens - 1, longest)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The proportions of a picture, which each longer side turns into a size."""

    width: int
    height: int

    def size(self, longer: int) -> tuple[int, int]:
        long, short = max(self.width, self.height), min(self.width, self.height)
        other = max(1, round(Fraction(longer * short, long)))
        return (longer, other) if self.width >= self.height else (other, longer)

    def largest(self, most_tokens: int, longest: int) -> int:
        """The largest longer side up to ``longest`` that costs at most that; patches grow with it."""
        fits, too_large = 1, longest + 1
        while too_large - fits > 1:
            middle = (fits + too_large) // 2
            fits, too_large = (
                (middle, too_large) if patches(*self.size(middle)) <= most_tokens else (fits, middle)
            )
        return fits

    def resize(self, longer: int, before_tokens: int) -> Resize:
        return Resize(*self.size(longer), patches(*self.size(longer)), before_tokens)


# --- keep: a picture is sent again every turn


@dataclass(frozen=True, slots=True)
class ImageCost:
    """What a picture costs over ``turns`` requests: in full each time, or written once and then read."""

    tokens: int
    turns: int
    usd_per_turn: Decimal
    cached_usd_per_turn: Decimal
    uncached_usd: Decimal
    cached_usd: Decimal


def image_cost(
    width: int,
    height: int,
    model: str | Model,
    turns: int = 1,
    *,
    ttl: Literal["5m", "1h"] = "5m",
    prompt_tokens: int = 0,
    on: date | None = None,
) -> ImageCost:
    """Dollars for one picture that stays in the conversation for ``turns`` requests, its own included.

    ``cached_usd_per_turn`` is that of a turn that reads it; ``cached_usd`` has the write as well.
    ``prompt_tokens`` chooses the rate card of models that have several. Assumed: every request finds the
    entry of the one before. Raises :class:`InvalidArgumentError` for another ``ttl`` and for what is no
    count, and what :func:`ctxlab.cost.bill` raises for models without a price.

    >>> cost = image_cost(1920, 1080, "claude-opus-5-5", turns=20)
    >>> cost.tokens, float(cost.uncached_usd), float(cost.cached_usd)
    (2691, 0.21528, 0.0236808)
    """
    _whole("turns", turns, least=1)
    _whole("prompt_tokens", prompt_tokens)
    if ttl not in ("5m", "1h"):
        raise InvalidArgumentError(Problem("ttl", "known-ttl", f"is {named(ttl)}", "one of 5m, 1h"))
    known = get_model(model)
    tokens = image_tokens(width, height, known)
    prices = known.rates_at(on)
    usd = tokens * prices.card(max(prompt_tokens, tokens)).input_usd_per_mtok / _MTOK
    read = usd * prices.cache_read_multiplier
    return ImageCost(
        tokens,
        turns,
        exact_decimal(usd),
        exact_decimal(read),
        exact_decimal(usd * turns),
        exact_decimal(usd * _write(prices, ttl) + read * (turns - 1)),
    )


# --- drop: what stands behind is written again


#: What :func:`trim_or_keep` takes for granted.
ASSUMPTIONS = (
    "everything in front of the picture is read from the cache either way and left out",
    "every later request finds the entry of the one before",
    "what later turns add costs the same either way and is left out",
    "marked: what stands behind is written at the next request, and read from then on",
    "unmarked: what stands behind is paid in full at every request",
)


@dataclass(frozen=True, slots=True)
class TrimOrKeep:
    """Both ledgers in input tokens at full price (``_units``).

    ``break_even_turns`` is the first number of turns from which dropping pays, None where it never does;
    ``every_turn_loss`` how many times more a window that drops something every turn costs than keeping:
    the write factor over the read factor, times ``share_that_stays``.
    """

    advice: Literal["trim", "keep"]
    keep_units: Fraction
    trim_units: Fraction
    break_even_turns: int | None
    share_that_stays: Fraction
    every_turn_loss: Fraction
    assumptions: tuple[str, ...] = ASSUMPTIONS

    def usd(self, model: str | Model, *, on: date | None = None) -> tuple[Decimal, Decimal]:
        """Keeping and dropping in dollars, at the model's first rate card."""
        price = get_model(model).rates_at(on).cards[0].input_usd_per_mtok
        return exact_decimal(self.keep_units * price / _MTOK), exact_decimal(self.trim_units * price / _MTOK)


def trim_or_keep(
    image_tokens: int,
    behind_tokens: int,
    turns: int,
    model: str | Model | None = None,
    *,
    read: Fraction | float | None = None,
    write: Fraction | float | None = None,
    marked: bool = True,
    instead_tokens: int = 0,
    on: date | None = None,
) -> TrimOrKeep:
    """Whether to drop pictures of a cached conversation that goes on for ``turns`` more requests.

    ``image_tokens`` are those of all pictures that go, ``behind_tokens`` what stands behind the first of them
    and stays, ``instead_tokens`` what is put in their place: a note, or the same pictures made smaller, which
    rewrites what stands behind just as well. Factors are those of ``model`` (5-minute writes) or the ones
    given; without either 0.1 to read and 1.25 to write. With read factor r, write factor w, I image tokens,
    B tokens that stay and n turns: keeping costs ``(I + B)·r·n``, dropping ``B·w + B·r·(n − 1)``; so dropping
    pays from ``n > B·(w − r)/(I·r)``. A window that drops every turn pays ``B·w`` each time instead of
    ``(I + B)·r``, which is ``w/r`` times the share that stays: 12.5 times, 10 times where nothing is marked.
    Raises :class:`InvalidArgumentError` for what is no count, and for factors below 0.

    >>> decision = trim_or_keep(2_691, 40_000, turns=20)
    >>> decision.advice, decision.break_even_turns
    ('keep', 171)
    >>> float(trim_or_keep(88_000, 12_000, turns=1).every_turn_loss)
    1.5
    """
    for name, value in (("image_tokens", image_tokens), ("behind_tokens", behind_tokens)):
        _whole(name, value)
    _whole("instead_tokens", instead_tokens)
    _whole("turns", turns, least=1)
    prices = None if model is None else get_model(model).rates_at(on)
    r = _factor("read", read, Fraction(1, 10) if prices is None else prices.cache_read_multiplier)
    w = _factor("write", write, Fraction(5, 4) if prices is None else _write(prices, "5m"))
    stays = behind_tokens + instead_tokens
    kept = image_tokens + behind_tokens
    first, later = (w, r) if marked else (Fraction(1), Fraction(1))
    keep, trim = kept * r * turns, stays * (first + later * (turns - 1))
    share = Fraction(stays, kept) if kept else Fraction(0)
    loss = first * share / r if r else Fraction(0)
    even = _break_even(kept * r, stays * first, stays * later)
    return TrimOrKeep("trim" if trim < keep else "keep", keep, trim, even, share, loss)


def _break_even(keep: Fraction, first: Fraction, later: Fraction) -> int | None:
    """The first n with ``first + later·(n − 1) < keep·n``."""
    if first < keep:
        return 1
    if later >= keep:
        return None
    return math.floor((first - later) / (keep - later)) + 1


@dataclass(frozen=True, slots=True)
class Eviction:
    """A conversation under one policy; ``rewrites`` are the turns, from 1, that dropped pictures."""

    keep: int | None
    batch: int
    usages: tuple[Usage, ...]
    rewrites: tuple[int, ...]
    bill: Bill

    @property
    def rolls(self) -> bool:
        """Whether two turns in a row drop pictures: a window that rewrites what it keeps every turn."""
        return any(later - earlier == 1 for earlier, later in pairwise(self.rewrites))

    @property
    def written_tokens(self) -> int:
        return sum(one.cache_creation_input_tokens for one in self.usages)

    @property
    def usd(self) -> Decimal:
        return self.bill.total_usd


def eviction(
    turns: int,
    image_tokens: int,
    text_tokens: int,
    model: str | Model,
    *,
    keep: int | None,
    batch: int = 1,
    prefix_tokens: int = 0,
    instead_tokens: int = 0,
    on: date | None = None,
) -> Eviction:
    """A picture and a text a turn, of which the newest ``keep`` pictures stay (1 or more; None: all of them).

    ``batch`` pictures are dropped at once when there are ``keep + batch``; 1 is the window that rolls every
    turn. ``prefix_tokens`` stand marked in front, ``instead_tokens`` replace a picture that goes. Every
    request ends with a marker (5 minutes). No entry ends in front of a picture that still stood when the
    entry was written, so a request that drops one reads the prefix and writes everything else again.

    >>> rolling, batches, all_of_them = (
    ...     eviction(60, 2_691, 500, "claude-opus-5-5", keep=keep, batch=batch, prefix_tokens=8_000)
    ...     for keep, batch in ((3, 1), (3, 20), (None, 1)))
    >>> [round(float(one.usd), 2) for one in (rolling, batches, all_of_them)]
    [7.04, 1.82, 2.22]
    """
    for name, value in (("image_tokens", image_tokens), ("text_tokens", text_tokens)):
        _whole(name, value)
    for name, value in (("prefix_tokens", prefix_tokens), ("instead_tokens", instead_tokens)):
        _whole(name, value)
    _whole("turns", turns, least=1)
    _whole("batch", batch, least=1)
    if keep is not None:
        _whole("keep", keep, least=1)
    usages, rewrites, shown = [], [], 0
    for turn in range(1, turns + 1):
        shown += 1
        drops = keep is not None and shown >= keep + batch
        if drops and keep is not None:
            shown = keep
            rewrites.append(turn)
        behind = turn * text_tokens + shown * image_tokens + (turn - shown) * instead_tokens
        added = image_tokens + text_tokens
        read = prefix_tokens if drops else prefix_tokens + behind - added
        written = prefix_tokens + behind - read
        if turn == 1:
            read, written = 0, prefix_tokens + behind
        usages.append(
            Usage(
                cache_read_input_tokens=read, cache_creation=CacheCreation(ephemeral_5m_input_tokens=written)
            )
        )
    total = sum((bill(usage, model, on=on) for usage in usages), Bill())
    return Eviction(keep, batch, tuple(usages), tuple(rewrites), total)


# --- arguments


def _share(save: object) -> Fraction:
    share = _fraction(save)
    if share is None or not 0 <= share < 1:
        fix = "give a share from 0 to below 1, as 0.25"
        raise InvalidArgumentError(Problem("save", "share", f"is {named(save)}", fix))
    return share


def _factor(name: str, given: object, usual: Fraction) -> Fraction:
    factor = usual if given is None else _fraction(given)
    if factor is None or factor < 0:
        fix = "give a factor on the input price, as 0.1"
        raise InvalidArgumentError(Problem(name, "factor", f"is {named(given)}", fix))
    return factor


def _fraction(value: object) -> Fraction | None:
    """A number by the digits it is written with, so that 0.1 is a tenth; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        return None
    try:
        return Fraction(str(value))
    except ValueError:  # not finite
        return None


def _whole(name: str, value: object, least: int = 0) -> None:
    if type(value) is not int or value < least:
        fix = f"give a whole number, {least} or more"
        raise InvalidArgumentError(Problem(name, "whole-number", f"is {named(value)}", fix))


def _write(prices: Prices, ttl: Literal["5m", "1h"]) -> Fraction:
    return prices.cache_write_1h_multiplier if ttl == "1h" else prices.cache_write_5m_multiplier
