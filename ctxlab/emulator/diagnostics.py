"""Why the prompt cache could not reuse the prefix of an earlier request.

Models: the six reasons with their estimate of missed tokens; fingerprints that only requests with a
``diagnostics`` object leave behind, kept for a while, seen by their own workspace; a comparison that is
still running.
Does not model: the comparison horizon (any length is compared), other organisations.
Source: cache-diagnostics page, 2026-11; anthropic SDK 2.14.0, types/cache_miss_reason.py; recorded reasons
in data/. *Assumed*: what is told when several things differ (model, then tools, system, settings, messages:
the order in which they are rendered), an hour of retention (in one log both gaps above it gave
``previous_message_not_found``, none below), and the bytes that make a token in the estimate.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from ctxlab.cache import CacheRules
from ctxlab.cache.rules import parameters_by_tier
from ctxlab.clock import Clock
from ctxlab.prompt import Prompt, first_difference

RETENTION_S = 3600.0
BYTES_A_TOKEN = 4

#: Settings whose difference makes a comparison unavailable; compared as the cache compares them, so that a
#: default that is written out is no difference.
_SETTINGS = ("tool_choice", "thinking", "context_management", "output_config")
_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is compared of a request."""

    workspace: str
    model_id: str
    speed: str
    settings: tuple[Any, ...]
    prompt: Prompt
    at_s: float


def fingerprint(
    prompt: Prompt, model_id: str, betas: frozenset[str], workspace: str, at_s: float, rules: CacheRules
) -> Fingerprint:
    """The fingerprint of a request that starts at ``at_s``; ``rules`` say which settings are the same."""
    given = {name: json.loads(prompt.parameters[name]) for name in _SETTINGS if name in prompt.parameters}
    by_tier = parameters_by_tier(given, model_id, citations=False, images=False, switches=rules)
    settings = (*by_tier.values(), betas)
    speed = prompt.parameters.get("speed", '"standard"')
    return Fingerprint(workspace, model_id, speed, settings, prompt, at_s)


def reason(before: Fingerprint, now: Fingerprint) -> dict[str, Any] | None:
    """The first divergence of two requests; None when the second only goes on where the first ended.

    >>> def ask(system):
    ...     body = {"model": "m", "system": system, "messages": [{"role": "user", "content": "Hi"}]}
    ...     return fingerprint(Prompt.from_request(body), "m", frozenset(), "default", 0.0, CacheRules())
    >>> reason(ask("It is 10:41."), ask("It is 10:42."))
    {'type': 'system_changed', 'cache_missed_input_tokens': 16}
    >>> reason(ask("It is 10:41."), ask("It is 10:41.")) is None
    True
    """
    if (before.model_id, before.speed) != (now.model_id, now.speed):
        return {"type": "model_changed", "cache_missed_input_tokens": _missed(before, 0)}
    difference = first_difference(before.prompt, now.prompt)
    if difference is not None and difference.appended:
        difference = None
    segment = "messages" if difference is None else difference.segment
    if segment == "messages" and before.settings != now.settings:
        return {"type": "unavailable"}
    if difference is None:
        return None
    return {"type": f"{segment}_changed", "cache_missed_input_tokens": _missed(before, difference.index)}


def _missed(before: Fingerprint, shared_blocks: int) -> int:
    """What lay behind the divergence in the earlier request, from its bytes."""
    size = sum(len(block.wire_bytes) for block in before.prompt.blocks[shared_blocks:])
    return size // BYTES_A_TOKEN


@dataclass
class Fingerprints:
    """The fingerprints of one organisation, forgotten after ``retention_s``."""

    clock: Clock
    retention_s: float = RETENTION_S
    _kept: OrderedDict[str, Fingerprint] = field(default_factory=OrderedDict)

    def keep(self, message_id: str, made: Fingerprint) -> None:
        self._kept[message_id] = made
        while self._kept and (len(self._kept) > _MOST_KEPT or self._ended(next(iter(self._kept.values())))):
            self._kept.popitem(last=False)

    def compare(self, previous_message_id: str, now: Fingerprint) -> dict[str, Any] | None:
        """The reason against an earlier answer of the same workspace."""
        before = self._kept.get(previous_message_id)
        if before is None or before.workspace != now.workspace or self._ended(before):
            return {"type": "previous_message_not_found"}
        return reason(before, now)

    def _ended(self, one: Fingerprint) -> bool:
        return self.clock.now_s() - one.at_s > self.retention_s
