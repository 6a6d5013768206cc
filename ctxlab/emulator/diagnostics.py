"""Why the prompt cache could not reuse the prefix of an earlier request.

Models: the six reasons with their estimate of missed tokens; fingerprints that only requests with a
``diagnostics`` object leave behind, kept for a while, seen by their own workspace; a comparison that is
still running.
Does not model: the comparison horizon (any length is compared), other organisations.
Source: cache-diagnostics page, 2026-11; anthropic SDK 2.14.0, types/cache_miss_*.py; recorded reasons in
data/. *Assumed*, each with a switch: what is told when several things differ (:data:`ORDER`; the SDK says
that messages and settings are told where model, tools and system match, and nothing of those three among
themselves), an hour of retention (in one log both gaps above it gave ``previous_message_not_found``, none
below), and the bytes that make a token in the estimate.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ctxlab.cache import CacheRules
from ctxlab.cache.rules import parameters_by_tier
from ctxlab.clock import Clock
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import SEGMENTS, Block, Prompt

Compared = Literal["model", "tools", "system", "settings", "messages"]

RETENTION_S = 3600.0
#: What is compared first: the order in which the prompt is rendered, settings before the messages they lose.
ORDER: tuple[Compared, ...] = get_args(Compared)
#: Recorded estimates stand 4 to 19 percent below the tokens that were lost. Texts have 2.4 to 2.7 bytes a
#: token in the vocabularies they are of, which three bytes a token (and the keys around a text) bring there.
BYTES_A_TOKEN = 3.0

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


def reason(
    before: Fingerprint,
    now: Fingerprint,
    order: Sequence[Compared] = ORDER,
    bytes_a_token: float = BYTES_A_TOKEN,
) -> dict[str, Any] | None:
    """The first divergence of two requests; None when the second only goes on where the first ended.

    >>> def ask(system):
    ...     body = {"model": "m", "system": system, "messages": [{"role": "user", "content": "Hi"}]}
    ...     return fingerprint(Prompt.from_request(body), "m", frozenset(), "default", 0.0, CacheRules())
    >>> reason(ask("It is 10:41."), ask("It is 10:42."))
    {'type': 'system_changed', 'cache_missed_input_tokens': 21}
    >>> reason(ask("It is 10:41."), ask("It is 10:41.")) is None
    True
    """
    for compared in order:
        if compared == "settings":
            if before.settings != now.settings:
                return {"type": "unavailable"}
            continue
        shared = _shared(before, now, compared)
        if shared is not None:
            size = sum(len(block.wire_bytes) for block in before.prompt.blocks[shared:])
            return {"type": f"{compared}_changed", "cache_missed_input_tokens": int(size / bytes_a_token)}
    return None


def _shared(before: Fingerprint, now: Fingerprint, compared: Compared) -> int | None:
    """Blocks of the earlier request that stand before its first difference of this kind; None without one."""
    if compared == "model":
        return 0 if (before.model_id, before.speed) != (now.model_id, now.speed) else None
    old, new = ([block for block in one.prompt.blocks if block.segment == compared] for one in (before, now))
    same = next(
        (i for i, (x, y) in enumerate(zip(old, new, strict=False)) if _compared(x) != _compared(y)),
        min(len(old), len(new)),
    )
    if same == len(old) and (same == len(new) or compared == "messages"):
        return None
    ahead = SEGMENTS[: SEGMENTS.index(compared)]
    return same + sum(block.segment in ahead for block in before.prompt.blocks)


def _compared(block: Block) -> tuple[bytes, str | None, bool]:
    return block.wire_sha256, block.role, block.starts_message


@dataclass
class Fingerprints:
    """The fingerprints of one organisation, forgotten after ``retention_s``.

    ``order`` and ``bytes_a_token`` are what :func:`reason` goes by. Raises :class:`InvalidArgumentError` for
    an order that leaves something out, and for a size that is no positive number.
    """

    clock: Clock
    retention_s: float = RETENTION_S
    order: Sequence[Compared] = ORDER
    bytes_a_token: float = BYTES_A_TOKEN
    _kept: OrderedDict[str, Fingerprint] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        problems = []
        if not isinstance(self.order, (list, tuple)) or sorted(map(repr, self.order)) != sorted(
            map(repr, ORDER)
        ):
            fix = f"give each of {', '.join(map(repr, ORDER))} once"
            problems.append(Problem("diagnostics_order", "each-once", f"is {self.order!r}", fix))
        if not isinstance(self.bytes_a_token, (int, float)) or not 0 < self.bytes_a_token < math.inf:
            told = f"is {self.bytes_a_token!r}"
            problems.append(Problem("diagnostics_bytes_a_token", "positive", told, "give a number above 0"))
        if problems:
            raise InvalidArgumentError(problems)

    def keep(self, message_id: str, made: Fingerprint) -> None:
        self._kept[message_id] = made
        while self._kept and (len(self._kept) > _MOST_KEPT or self._ended(next(iter(self._kept.values())))):
            self._kept.popitem(last=False)

    def compare(self, previous_message_id: str, now: Fingerprint) -> dict[str, Any] | None:
        """The reason against an earlier answer of the same workspace."""
        before = self._kept.get(previous_message_id)
        if before is None or before.workspace != now.workspace or self._ended(before):
            return {"type": "previous_message_not_found"}
        return reason(before, now, self.order, self.bytes_a_token)

    def _ended(self, one: Fingerprint) -> bool:
        return self.clock.now_s() - one.at_s > self.retention_s
