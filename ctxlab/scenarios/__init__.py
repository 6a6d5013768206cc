"""Cases of our own with full text: what is sent, how long is waited, and what has to come of it.

Models: the files in ``data/scenarios``, one case per rule that is worth one; what the rules say about each;
the same case played on the emulator or on the API itself.
Does not model: what an answer says. Cases look at figures and refusals only.
Source: own construction; each case names the rules it touches (``ctxlab/cache_rules.toml``,
:mod:`ctxlab.breakpoints`, :mod:`ctxlab.validity`).
"""

from ctxlab.scenarios.claims import Claim
from ctxlab.scenarios.files import Scenario, ScenarioError, Step, read_scenarios, scenarios
from ctxlab.scenarios.playing import Answer, Outcome, by_rules, check, on_emulator, play

__all__ = [
    "Answer",
    "Claim",
    "Outcome",
    "Scenario",
    "ScenarioError",
    "Step",
    "by_rules",
    "check",
    "on_emulator",
    "play",
    "read_scenarios",
    "scenarios",
]
