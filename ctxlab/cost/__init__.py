"""What requests cost, the law a growing history follows, and what caching changes about both.

Models: :func:`bill` (``pricing``) and :func:`bill_session` (``sessions``), which give a :class:`Bill`
(``bills``); the growth law and its fit (``growth``); break-evens (``break_even``); other strategies for a
recorded session (``strategies``). Money is exact: ``Fraction`` inside, unrounded ``Decimal`` outside.
Does not model: which tokens a request will read or write (a cache's question; here it is given), negotiated
or cloud-vendor prices.
Source: each file names its own.
"""

from ctxlab.cost.bills import FLAGS, Bill, Line
from ctxlab.cost.break_even import (
    LIFETIME_S,
    PING_EVERY_S,
    BreakEven,
    BreakEvens,
    break_even_pings,
    break_even_reads,
    break_evens,
    first_that_pays,
    last_that_pays,
    pings_needed,
)
from ctxlab.cost.growth import (
    GrowthFit,
    doubling_factor,
    fit_growth,
    history_input_tokens,
    history_input_tokens_by_turn,
    rewrite_turns,
    stretches,
)
from ctxlab.cost.money import exact_decimal
from ctxlab.cost.pricing import bill
from ctxlab.cost.sessions import Call, SessionBill, Unpriced, bill_session
from ctxlab.cost.strategies import STRATEGIES, Scenario, Strategy, TurnCost, growing_session, what_if

__all__ = [
    "FLAGS",
    "LIFETIME_S",
    "PING_EVERY_S",
    "STRATEGIES",
    "Bill",
    "BreakEven",
    "BreakEvens",
    "Call",
    "GrowthFit",
    "Line",
    "Scenario",
    "SessionBill",
    "Strategy",
    "TurnCost",
    "Unpriced",
    "bill",
    "bill_session",
    "break_even_pings",
    "break_even_reads",
    "break_evens",
    "doubling_factor",
    "exact_decimal",
    "first_that_pays",
    "fit_growth",
    "growing_session",
    "history_input_tokens",
    "history_input_tokens_by_turn",
    "last_that_pays",
    "pings_needed",
    "rewrite_turns",
    "stretches",
    "what_if",
]
