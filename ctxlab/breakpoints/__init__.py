"""Cache markers: what is wrong with those a request has, and where they should stand.

Models: :func:`validate` finds every marker fault with the API's own message; :func:`plan` sets at most four
markers, keeps or counts the caller's own, and says why; :func:`lifetime` chooses between 5m, 1h and none.
Does not model: what is in the cache (:mod:`ctxlab.cache`), faults of other kinds (:mod:`ctxlab.validity`).
Source: each file names its own.
"""

from ctxlab.breakpoints.faults import MARKER_RULES, MarkerRule, validate
from ctxlab.breakpoints.lifetimes import Lifetime, lifetime
from ctxlab.breakpoints.places import Place, places
from ctxlab.breakpoints.planner import Job, KeepMarkers, Marker, MarkerPlan, Reason, plan
from ctxlab.breakpoints.rewrite import with_markers

__all__ = [
    "MARKER_RULES",
    "Job",
    "KeepMarkers",
    "Lifetime",
    "Marker",
    "MarkerPlan",
    "MarkerRule",
    "Place",
    "Reason",
    "lifetime",
    "places",
    "plan",
    "validate",
    "with_markers",
]
