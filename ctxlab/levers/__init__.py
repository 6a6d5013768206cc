"""Four ways to make a conversation smaller, each priced on both ledgers: what it removes, what it rewrites.

Models: :func:`trim`, :func:`clear`, :func:`offload` and compaction (:func:`compact_call`,
:func:`apply_compaction`, driven by :func:`compact`); the :class:`PrefixLedger` that says what is warm; the
:class:`Effect` of each, with its net saving after n turns; when and how much (:mod:`ctxlab.levers.policy`).
Does not model: the server's own edits and summaries (:mod:`ctxlab.effective`).
Source: each file names its own.

Levers never change the request they are given, never return an invalid one, and compose: hand the next one
``outcome.request`` and ``outcome.ledger``. Without a ledger a lever takes the request for one that was sent
just now, so that all it marks is warm: the case in which rewriting costs most. What stands before the last
compaction block of a server is left alone: the model does not read it. A list that ends with an answer is at
rest, and taken as if the user's next message followed.
"""

from ctxlab.levers.clearing import CLEARED, clear
from ctxlab.levers.compacting import INSTRUCTIONS, apply_compaction, compact_call
from ctxlab.levers.driving import compact, compact_async, rounds
from ctxlab.levers.effect import Effect, Loss, Outcome, combined
from ctxlab.levers.facts import find_facts, missing, words_of
from ctxlab.levers.ledger import PrefixLedger, Side
from ctxlab.levers.offloading import READ_TOOL, offload, pointer, read_artifact, with_read_tool
from ctxlab.levers.trimming import trim, turn_starts

__all__ = [
    "CLEARED",
    "INSTRUCTIONS",
    "READ_TOOL",
    "Effect",
    "Loss",
    "Outcome",
    "PrefixLedger",
    "Side",
    "apply_compaction",
    "clear",
    "combined",
    "compact",
    "compact_async",
    "compact_call",
    "find_facts",
    "missing",
    "offload",
    "pointer",
    "read_artifact",
    "rounds",
    "trim",
    "turn_starts",
    "with_read_tool",
    "words_of",
]
