"""The prompt cache as an exact state machine over layouts of requests.

Models: what a request reads from the cache, writes to it and pays in full, to the token, given when requests
start and when their answers begin; every rule with its source and evidence; what the vendor leaves open as
switches.
Does not model: text (:mod:`ctxlab.prompt` digests it), token counts (:mod:`ctxlab.tokens`), prices
(:mod:`ctxlab.cost`), where markers should stand.
Source: ``ctxlab/cache_rules.toml``.

    layout = Layout.from_prompt(prompt, count)     what the cache sees of a request
    plan = cache.lookup(layout)                    when it starts
    cache.commit(plan)                             when its answer begins; or cache.abandon(plan)
    plan.usage(output_tokens=…), plan.reasons
"""

from ctxlab.cache.engine import PromptCache
from ctxlab.cache.layout import Layout, Position, Scope
from ctxlab.cache.markers import (
    Marker,
    asked_ttl,
    automatic_marker,
    can_carry_marker,
    carrier_problem,
    marker_problems,
    ttl_of,
)
from ctxlab.cache.plan import Learned, MarkerReport, Nearby, Plan, Touch
from ctxlab.cache.rules import (
    LIFETIME_S,
    LOOKBACK_POSITIONS,
    MAX_MARKERS,
    CacheRules,
    Evidence,
    Invalidation,
    Rule,
    Tier,
    Ttl,
    invalidations,
    rules,
)

__all__ = [
    "LIFETIME_S",
    "LOOKBACK_POSITIONS",
    "MAX_MARKERS",
    "CacheRules",
    "Evidence",
    "Invalidation",
    "Layout",
    "Learned",
    "Marker",
    "MarkerReport",
    "Nearby",
    "Plan",
    "Position",
    "PromptCache",
    "Rule",
    "Scope",
    "Tier",
    "Touch",
    "Ttl",
    "asked_ttl",
    "automatic_marker",
    "can_carry_marker",
    "carrier_problem",
    "invalidations",
    "marker_problems",
    "rules",
    "ttl_of",
]
