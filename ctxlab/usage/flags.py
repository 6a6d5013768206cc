"""The doubts a usage can carry, by name.

Models: what each flag says about the figures. Does not model: what a bill adds to them
(:data:`ctxlab.cost.FLAGS`).
"""

from __future__ import annotations

#: Every flag a usage can carry and what it says about the figures.
FLAGS: dict[str, str] = {
    "ttl-missing": "cache writes came without a split by lifetime; they are kept as unknown",
    "ttl-contradicts": "the split is smaller than the total of cache writes; the rest is kept as unknown",
    "ttl-exceeds-total": "the split is larger than the total of cache writes; the split is kept",
    "ttl-new-class": "the split names a lifetime this version does not know; its tokens are kept as unknown",
    "looks-inclusive": "input_tokens equals reads + writes exactly: is it the remainder, or their sum?",
    "iterations-disagree": "the top level is not the sum of the message iterations; both are kept",
    "iteration-new-type": "an iteration has a type this version does not know; it is kept and billed",
    "no-message-iteration": "only a summary was written: the top level is empty, so is the context figure",
    "context-is-a-sum": "server tools looped without iterations: the context figure is an upper bound",
    "unknown-field": "the usage object has a field this version does not know; its value is not read",
    "fallback-credit": "a fallback credit was presented; its repricing is not in the figures",
    "stream-cut": "the stream ended early: input figures are right, output is a lower bound",
    "stream-shrank": "a running total of the stream went down; the larger value is kept",
    "rows-conflict": "log rows of one message disagree about its input; the row with most output is kept",
    "no-message-id": "the log row has no message id, so a repetition of it cannot be told",
    "mixed-service": "the sum mixes batch, speed or region settings and cannot be priced as one",
}
