"""How well the house agrees with recorded traffic: rows replayed, steps explained, rules counted.

Models: :func:`replay` of single requests on :mod:`ctxlab.cache`, :func:`compactions` in them, pass by pass,
:func:`steps` of agent sessions, the ledger of rules with what pins each of them; the page and the object that
``ctxlab conformance`` prints.
Does not model: text. Recordings hold figures and digests; a live run with texts is another matter.
Source: ``data/recordings``, or any file in its format.
"""

from ctxlab.conformance.compactions import Compaction, Figure, compactions
from ctxlab.conformance.ledger import Agreement, agreement
from ctxlab.conformance.replay import replay
from ctxlab.conformance.report import NOTHING_CHECKED, as_object, checked_nothing, page
from ctxlab.conformance.steps import CAUSES, Cause, Step, steps
from ctxlab.conformance.verdict import EXCLUSIONS, LESSONS, NOISE, Outcome, Replay, Verdict

__all__ = [
    "CAUSES",
    "EXCLUSIONS",
    "LESSONS",
    "NOISE",
    "NOTHING_CHECKED",
    "Agreement",
    "Cause",
    "Compaction",
    "Figure",
    "Outcome",
    "Replay",
    "Step",
    "Verdict",
    "agreement",
    "as_object",
    "checked_nothing",
    "compactions",
    "page",
    "replay",
    "steps",
]
