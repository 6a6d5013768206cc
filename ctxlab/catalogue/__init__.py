"""Which models there are, what they can hold and what they cost, with a source for every figure.

Models: ids and the other names they go by, windows, rate cards (with the one card that depends on the size of
the prompt), cache multipliers, lifecycle, capabilities; prices that changed on a date; and the SDK names this
version knows, so that a change can be noticed (:func:`drift`).
Does not model: hidden token overheads (:mod:`ctxlab.tokens`), negotiated or cloud-vendor prices.
Source: ``ctxlab/catalogue.toml``, which names page and date per figure.
"""

from ctxlab.catalogue.model import Model, Prices, RateCard, Source
from ctxlab.catalogue.names import get_model, models
from ctxlab.catalogue.reading import sources, web_search_usd
from ctxlab.catalogue.sdk import drift, known

__all__ = [
    "Model",
    "Prices",
    "RateCard",
    "Source",
    "drift",
    "get_model",
    "known",
    "models",
    "sources",
    "web_search_usd",
]
