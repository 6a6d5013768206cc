"""What one request consumed: four disjoint token classes, and three different sums of them.

Models: the ``usage`` object of a Messages API answer, plain or streamed, with the cache writes split by
lifetime and the sampling iterations kept apart; the three questions that need three different sums (what is
billed, what fills the window, what counts against the input-per-minute limit).
To read in this order: ``classes`` (the four), ``reading`` (an answer as it arrives), ``streams`` (its
events), ``sums`` (:class:`Usage`), ``rows`` (logs), ``hits`` (rates); ``checking`` is what they stand on.
Does not model: prices (:mod:`ctxlab.cost`) and how many tokens a text has (:mod:`ctxlab.tokens`).
Source: anthropic SDK 2.14.0, types/usage.py, types/message_delta_usage.py, types/beta/beta_usage.py and
types/beta/beta_iterations_usage.py; platform.claude.com prompt-caching page, 2026-09. Where recorded answers
say more than the documents (advisor iterations are not in the top level) the recordings are followed.
"""

from ctxlab.usage.classes import MESSAGE_TYPES, CacheCreation, Counts, Iteration
from ctxlab.usage.flags import FLAGS
from ctxlab.usage.hits import HitRate, hit_rate
from ctxlab.usage.rows import LoggedMessage, fold_rows
from ctxlab.usage.sums import Usage

__all__ = [
    "FLAGS",
    "MESSAGE_TYPES",
    "CacheCreation",
    "Counts",
    "HitRate",
    "Iteration",
    "LoggedMessage",
    "Usage",
    "fold_rows",
    "hit_rate",
]
