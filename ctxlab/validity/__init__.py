"""Which lists of messages the API accepts, where a list may be cut, and how a broken one is mended.

Models: one object per rule (:data:`RULES`), each with ``check`` and ``safe_cuts`` and the API's own message;
:func:`check` for a whole request, :func:`safe_cuts` for all rules together, :func:`check_edit` for what an
edit may not touch, :func:`repair` for sessions that were saved broken.
Does not model: shapes of fields (:class:`ctxlab.prompt.Prompt` reads a body or says what cannot be read),
markers (:func:`ctxlab.breakpoints.validate`), limits in tokens or bytes.
Source: each rule names its own.
"""

from ctxlab.validity.checking import RULES, check, safe_cuts
from ctxlab.validity.edits import check_edit
from ctxlab.validity.repairing import Repaired, Report, repair
from ctxlab.validity.rule import Rule
from ctxlab.validity.turns import Change

__all__ = [
    "RULES",
    "Change",
    "Repaired",
    "Report",
    "Rule",
    "check",
    "check_edit",
    "repair",
    "safe_cuts",
]
