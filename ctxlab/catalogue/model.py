"""What is known of one model: names, limits, prices by day and size of prompt, and the source of each figure.

Models: :class:`Model` and what it is made of; the price in force on a day; the card a prompt falls under.
Does not model: which models there are (:mod:`ctxlab.catalogue.reading`).
Source: ``ctxlab/catalogue.toml``, which names page and date per figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Literal

from ctxlab.errors import InvalidArgumentError, Problem, UnpricedModelError


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure comes from; ``confidence`` A to D as explained in ``catalogue.toml``."""

    key: str
    what: str
    date: date
    confidence: str

    def __str__(self) -> str:
        return f"{self.what}, {self.date.isoformat()}"


@dataclass(frozen=True, slots=True)
class RateCard:
    """USD per million tokens, for prompts of at most ``up_to_total_input_tokens`` (None: of any size)."""

    up_to_total_input_tokens: int | None
    input_usd_per_mtok: Fraction
    output_usd_per_mtok: Fraction


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs from ``since`` (None: from its release) until the next entry of its history.

    Multipliers are factors on the input price of the request's card; None means the option does not exist.
    """

    since: date | None
    cards: tuple[RateCard, ...]
    fast_cards: tuple[RateCard, ...] | None
    cache_write_5m_multiplier: Fraction
    cache_write_1h_multiplier: Fraction
    cache_read_multiplier: Fraction
    batch_multiplier: Fraction
    us_geo_multiplier: Fraction | None

    @property
    def tiered(self) -> bool:
        """Whether the price of a token depends on the size of the prompt it stands in."""
        return len(self.cards) > 1

    def card(self, total_input_tokens: int, *, fast: bool = False) -> RateCard:
        """The card of a request with that many prompt tokens (fresh + read + written).

        ``fast`` takes the cards of fast mode if the model has one. Raises :class:`InvalidArgumentError` for
        what is no number of tokens.

        >>> from ctxlab.catalogue import get_model
        >>> prices = get_model("claude-haiku-5-5").rates_at()
        >>> [float(prices.card(tokens).input_usd_per_mtok) for tokens in (100_000, 100_001)]
        [0.1, 0.5]
        """
        whole = isinstance(total_input_tokens, int) and not isinstance(total_input_tokens, bool)
        if not whole or total_input_tokens < 0:
            raise argument_error(
                "total_input_tokens",
                "non-negative",
                f"is {total_input_tokens!r}",
                "give a whole number of tokens, 0 or more",
            )
        cards = self.fast_cards if fast and self.fast_cards is not None else self.cards
        for card in cards:
            limit = card.up_to_total_input_tokens
            if limit is None or total_input_tokens <= limit:
                return card
        raise argument_error(
            "total_input_tokens",
            "card-covers-request",
            f"is {total_input_tokens}, beyond every card",
            "end the list of cards with one that has no limit",
        )


@dataclass(frozen=True, slots=True)
class Model:
    """One model. A figure that is None is unknown; ``unverified`` names those without an official source."""

    id: str
    aliases: tuple[str, ...]
    line: str | None
    released: date | None
    window_tokens: int | None
    max_output_tokens: int | None
    price_history: tuple[Prices, ...]
    min_cacheable_tokens: int | None
    """Shortest prefix that is cached; a shorter one silently is not. A report of 2,048 for Sonnet 4.6 (on its
    page 1,024) is refuted by a recorded cached prefix of 1,057. Amazon Bedrock has minimums of its own."""
    image_tier: Literal["standard", "high-res"] | None
    vocabulary: Literal["v3", "v4.7", "v4.8"]
    keeps_thinking: Literal["all", "last-turn"] | None
    forced_tool_choice: bool | None
    itpm_counts_cache_reads: bool
    lifecycle: Literal["active", "deprecated", "retired"]
    deprecated_at: date | None
    retires_at: date | None
    capabilities: frozenset[str]
    as_of: date
    source: Source
    figure_sources: tuple[tuple[str, Source], ...]
    unverified: frozenset[str]

    @property
    def rates(self) -> tuple[RateCard, ...] | None:
        """The latest known rate cards, or None for a model without a known price."""
        return self.price_history[-1].cards if self.price_history else None

    @property
    def tiered(self) -> bool:
        """Whether there is more than one card; False for a model without a known price."""
        return self.rates is not None and len(self.rates) > 1

    @property
    def cache_write_5m_multiplier(self) -> Fraction:
        """Price of writing a token for five minutes over that of a fresh one, as of the latest prices."""
        return self.rates_at().cache_write_5m_multiplier

    @property
    def cache_write_1h_multiplier(self) -> Fraction:
        """Price of writing a token for an hour over that of a fresh one, as of the latest prices."""
        return self.rates_at().cache_write_1h_multiplier

    @property
    def cache_read_multiplier(self) -> Fraction:
        """Price of reading a token from the cache over that of a fresh one, as of the latest prices."""
        return self.rates_at().cache_read_multiplier

    @property
    def batch_multiplier(self) -> Fraction:
        """Price of any token in a batch over that of the same token alone, as of the latest prices."""
        return self.rates_at().batch_multiplier

    @property
    def us_geo_multiplier(self) -> Fraction | None:
        """Price of a token handled in the US only over that of any other; None: not offered."""
        return self.rates_at().us_geo_multiplier

    def rates_at(self, on: date | None = None) -> Prices:
        """The prices on a day (default: the latest known). Raises :class:`UnpricedModelError`.

        >>> from ctxlab.catalogue import get_model
        >>> sonnet = get_model("claude-sonnet-5-5")
        >>> [str(sonnet.rates_at(date(2026, 10, day)).cache_read_multiplier) for day in (6, 7)]
        ['1/10', '1/20']
        """
        if not self.price_history:
            raise UnpricedModelError(
                Problem(
                    self.id,
                    "priced-model",
                    "has no known price",
                    "count it as unpriced (cost.bill_session does), or add its rates to catalogue.toml",
                )
            )
        if on is None:
            return self.price_history[-1]
        if not isinstance(on, date):
            raise argument_error("on", "date", f"is {on!r}", "give a datetime.date")
        if isinstance(on, datetime):
            on = on.date()
        return next(
            prices for prices in reversed(self.price_history) if prices.since is None or prices.since <= on
        )

    def source_of(self, figure: str) -> Source:
        """Where one figure comes from, by the name of its field (``rates`` for the cards) or of a capability.

        Raises :class:`InvalidArgumentError` for what is not known of this model.

        >>> from ctxlab.catalogue import get_model
        >>> get_model("claude-fable-5-2").source_of("rates").confidence
        'C'
        """
        known = dict(self.figure_sources)
        if figure not in known:
            raise argument_error(
                "figure",
                "known-figure",
                f"is {figure!r}",
                f"of {self.id} these are known: {', '.join(known)}",
            )
        return known[figure]


def argument_error(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    """The error for one argument."""
    return InvalidArgumentError(Problem(path, rule, message, fix))
