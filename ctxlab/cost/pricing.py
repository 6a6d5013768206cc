"""The bill of a request.

Models: token prices by class, lifetime, prompt size, batch, region and speed, summed over every sampling step
of a request; web searches.
Does not model: negotiated or cloud-vendor prices, priority-tier commitments, repricing by fallback credits,
container time.
Source: platform.claude.com pricing page, 2026-10, and prompt-caching page, 2026-09; compaction page, 2026-08
(the bill is the sum over all iterations).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from ctxlab.catalogue import Model, Prices, get_model
from ctxlab.cost.arguments import argument_error, usage_error
from ctxlab.cost.bills import Bill, Line, merged
from ctxlab.errors import CtxlabError, Problem, UnknownModelError, UnpricedModelError
from ctxlab.usage import Iteration, Usage

#: The rule of the error for a speed or region that a usage names and no price list has.
PRICED_OPTION = "priced-option"
_ADD_BILLS = "bill each request, then add the bills"
_UNKNOWN_WRITE = "cache write, lifetime unknown"
_MULTIPLIER_OF = {
    "cache read": "cache_read_multiplier",
    "cache write 5m": "cache_write_5m_multiplier",
    "cache write 1h": "cache_write_1h_multiplier",
    _UNKNOWN_WRITE: "cache_write_5m_multiplier",
}


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
    2026-10), *assumed* for those of several, which are flagged where it matters.

    Raises :class:`UnknownModelError`; :class:`UnpricedModelError`, also where the usage names a speed or
    region for which the model has no known price; :class:`InvalidUsageError` for a sum of requests that has
    no single price (add bills instead); :class:`InvalidArgumentError` for arguments that exclude each other
    or that the model does not have.

    >>> usage = Usage(input_tokens=100_001)
    >>> bill(usage, "claude-haiku-5-5").total_usd
    Decimal('0.0500005')
    """
    usage = Usage.from_response(usage)
    model = get_model(model)
    prices = model.rates_at(on)
    terms = _terms(usage, model, prices, batch=batch, inference_geo=inference_geo, speed=speed)
    if "mixed-service" in usage.flags:
        raise usage_error("usage", "one-price", "sums requests with different options", _ADD_BILLS)
    flags = set(usage.flags | terms.flags)
    lines: list[Line] = []
    for number, entry in enumerate(usage.billed):
        runs_on, entry_prices = _runs_on(entry, number, model, prices, on)
        if usage.requests > 1 and entry_prices.tiered:
            raise usage_error(
                "usage.requests",
                "one-card-per-request",
                f"is a sum over {usage.requests} requests, but {runs_on.id} is priced by prompt size",
                _ADD_BILLS,
            )
        if _one_prompt(usage) and entry.total_input_tokens > (runs_on.window_tokens or math.inf):
            flags.add("above-window")
        own = runs_on is model
        if not own and (terms.fast or terms.us_only):
            flags.add("advisor-standard")
        entry_lines, unverified = _lines(entry, runs_on, entry_prices, terms if own else terms.elsewhere)
        lines += entry_lines
        if unverified:
            flags.add("rates-unverified")
        if entry.cache_creation.unknown_ttl_input_tokens:
            flags.add("write-ttl-unknown")
    flags |= _doubts_about_the_card(usage, model, prices)
    return Bill(merged(lines), usage.requests, usage.web_search_requests, frozenset(flags))


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
    usage: Usage,
    model: Model,
    prices: Prices,
    *,
    batch: bool | None,
    inference_geo: str | None,
    speed: str | None,
) -> _Terms:
    """The options, checked. What an argument asks for must exist; what a usage tells has happened."""
    if batch is not None and not isinstance(batch, bool):
        raise argument_error("batch", "type", f"is {batch!r}", "True, False, or None for what the usage says")
    if speed not in (None, "standard", "fast"):
        raise argument_error("speed", "known-speed", f"is {speed!r}", "standard or fast")
    if inference_geo not in (None, "us", "global"):
        raise argument_error("inference_geo", "known-region", f"is {inference_geo!r}", "us or global")
    flags = set()
    tier = usage.service_tier
    if tier == "priority":
        flags.add("priority-tier")
    elif tier not in (None, "standard", "batch"):
        flags.add("tier-unknown")
    in_batch = tier == "batch" if batch is None else batch
    runs_at = speed or usage.speed
    region = inference_geo or usage.inference_geo
    if region not in (None, "us", "global", "not_available"):
        flags.add("region-unknown")
    if runs_at == "fast" and in_batch:
        if speed is None and batch is None:
            raise _not_offered("speed", "fast in a batch", model, asked=False)
        raise argument_error("speed", "fast-or-batch", "is fast in a batch", "the two exclude each other")
    if runs_at not in (None, "standard") and (runs_at != "fast" or prices.fast_cards is None):
        raise _not_offered("speed", runs_at, model, asked=speed is not None)
    if region == "us" and prices.us_geo_multiplier is None:
        raise _not_offered("inference_geo", region, model, asked=inference_geo is not None)
    return _Terms(in_batch, us_only=region == "us", fast=runs_at == "fast", flags=frozenset(flags))


def _not_offered(name: str, value: str, model: Model, *, asked: bool) -> CtxlabError:
    if asked:
        return argument_error(name, "offered", f"is {value}, which {model.id} does not have", "leave it out")
    return UnpricedModelError(
        Problem(
            f"usage.{name}",
            PRICED_OPTION,
            f"is {value!r}, for which {model.id} has no known price",
            f"count it as unpriced (cost.bill_session does), or say with {name}= what it is priced as",
        )
    )


def _one_prompt(usage: Usage) -> bool:
    """Whether each step's input is one prompt, not the sum over requests or over loops of a server tool."""
    summed = usage.web_search_requests or "context-is-a-sum" in usage.flags
    return usage.requests == 1 and (bool(usage.iterations) or not summed)


def _doubts_about_the_card(usage: Usage, model: Model, prices: Prices) -> set[str]:
    """Where prompt size sets the price: whether steps differ in it, or a sum of prompts stands for it."""
    own = [entry for entry in usage.billed if entry.model is None or get_model(entry.model) is model]
    cards = {prices.card(entry.total_input_tokens) for entry in own}
    if len(cards) > 1:
        return {"card-per-step"}
    return set() if _one_prompt(usage) or cards <= {prices.cards[0]} else {"card-of-a-sum"}


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
