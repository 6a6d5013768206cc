"""The rules of the cache once more, read from the request itself: quadratic, no digests, nothing forgotten.

The twin that :mod:`ctxlab.cache` is compared with. It follows the rules as they are worded, keeps every event
it has seen, and asks all of them each time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ctxlab.cache import CacheRules
from ctxlab.catalogue import get_model
from ctxlab.usage import CacheCreation, Usage

TIERS = ["tools", "system", "messages"]
LIVES_S = {"5m": 300, "1h": 3600}
DEFAULT_THINKING = {
    "claude-opus-5-5": "adaptive",
    "claude-sonnet-4-5": "disabled",
    "claude-haiku-4-5": "disabled",
}


def tokens_of(block: dict[str, Any]) -> int:
    """A size for any block, large enough that a few of them pass a floor: 10 a character of its JSON."""
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    return 10 * len(json.dumps(bare))


@dataclass
class Block:
    tier: str
    role: str | None
    message: int | None
    body: dict[str, Any]
    marker: dict[str, str] | None

    def content(self, rules: CacheRules, before: Block | None) -> tuple[object, ...]:
        """What must be the same for two blocks to be one and the same to the cache."""
        bare = {key: value for key, value in self.body.items() if key != "cache_control"}
        in_order = self.body.get("type") == "tool_use" or (
            self.tier == "tools" and rules.schema_key_order == "sent"
        )
        ordered = {key: json.dumps(value, sort_keys=not in_order) for key, value in sorted(bare.items())}
        border = self.message is not None and (before is None or before.message != self.message)
        return self.tier, self.role, border, tuple(ordered.items())


def blocks_of(body: dict[str, Any]) -> list[Block]:
    found = [Block("tools", None, None, tool, tool.get("cache_control")) for tool in body.get("tools", [])]
    found += [
        Block("system", "system", None, block, block.get("cache_control")) for block in body.get("system", [])
    ]
    for number, message in enumerate(body["messages"]):
        found += [
            Block("messages", message["role"], number, block, block.get("cache_control"))
            for block in message["content"]
        ]
    return found


def sizes_of(body: dict[str, Any]) -> list[int]:
    sizes, total = [], 0
    for block in blocks_of(body):
        total += tokens_of(block.body)
        sizes.append(total)
    return sizes


@dataclass
class Event:
    """An entry was written or refreshed by a request that started then, seen from a moment on."""

    prefix: tuple[object, ...]
    scope: tuple[object, ...]
    ttl: str
    started_s: float
    visible_s: float


@dataclass
class NaivePlan:
    started_s: float
    usage: Usage
    writes: list[tuple[tuple[object, ...], tuple[object, ...], str]]
    refreshes: list[tuple[tuple[object, ...], tuple[object, ...], str]]


@dataclass
class NaiveCache:
    rules: CacheRules
    events: list[Event] = field(default_factory=list)

    def alive(self, prefix: object, scope: object, now_s: float) -> list[str]:
        return [
            ttl
            for ttl in LIVES_S
            if any(
                (event.prefix, event.scope, event.ttl) == (prefix, scope, ttl)
                and event.visible_s <= now_s < event.started_s + LIVES_S[ttl] + self.rules.expiry_grace_s
                for event in self.events
            )
        ]

    def scope(self, body: dict[str, Any], workspace: str, tier: str) -> tuple[object, ...]:
        """What else must agree for an entry of a tier: what loses that tier or one before it."""
        loses = {
            "speed": "system",
            "tool_choice": "messages",
            "thinking": self.rules.thinking_change_loses,
            "unheard_of": self.rules.unlisted_parameter_loses,
        }
        model = get_model(body["model"]).id
        usual: dict[str, object] = {}
        if self.rules.written_out_defaults == "same":
            usual = {"tool_choice": {"type": "auto"}, "thinking": {"type": DEFAULT_THINKING[model]}}
        matters = [
            (name, json.dumps(body[name], sort_keys=True))
            for name, first in loses.items()
            if name in body and body[name] != usual.get(name) and TIERS.index(first) <= TIERS.index(tier)
        ]
        return workspace, model, tuple(matters)

    def lookup(self, body: dict[str, Any], workspace: str, now_s: float, total_tokens: int) -> NaivePlan:
        blocks, sizes = blocks_of(body), sizes_of(body)
        contents = [
            block.content(self.rules, before)
            for block, before in zip(blocks, [None, *blocks[:-1]], strict=True)
        ]
        keys = [
            (tuple(contents[: i + 1]), self.scope(body, workspace, block.tier))
            for i, block in enumerate(blocks)
        ]
        marks = [(i, block.marker.get("ttl", "5m")) for i, block in enumerate(blocks) if block.marker]
        floor = get_model(body["model"]).min_cacheable_tokens
        marks = [(i, ttl) for i, ttl in marks if sizes[i] >= floor]

        hit = -1
        for i, _ in marks:
            for j in range(i + 1):
                if self.positions_between(blocks, j, i) <= 20 and self.alive(*keys[j], now_s):
                    hit = max(hit, j)
        last_long = max([hit, *(i for i, ttl in marks if ttl == "1h")])
        last = max([hit, *(i for i, _ in marks)])
        size = [0, *sizes]
        usage = Usage(
            input_tokens=total_tokens - size[last + 1],
            cache_read_input_tokens=size[hit + 1],
            cache_creation=CacheCreation(
                size[last + 1] - size[last_long + 1], size[last_long + 1] - size[hit + 1]
            ),
        )
        writes, refreshes = [], []
        if hit >= 0:
            refreshes += [(*keys[hit], ttl) for ttl in self.alive(*keys[hit], now_s)]
        for i, ttl in marks:
            alive = self.alive(*keys[i], now_s)
            if i > hit or (not alive and self.rules.marker_before_hit_creates):
                writes.append((*keys[i], ttl))
            elif alive == ["5m"] and ttl == "1h" and self.rules.long_marker_upgrades:
                writes.append((*keys[i], "1h"))
            if i < hit and self.rules.deep_hit_refreshes == "markers":
                refreshes += [(*keys[i], kind) for kind in alive]
        return NaivePlan(now_s, usage, writes, refreshes)

    def positions_between(self, blocks: list[Block], first: int, last: int) -> int:
        """How many positions the lookback counts from ``last`` back to ``first``, both included."""
        count = 1
        for i in range(last, first, -1):
            here, before = blocks[i], blocks[i - 1]
            same_run = (
                self.rules.tool_run_positions == "one"
                and here.message == before.message
                and here.body.get("type") == before.body.get("type")
                and here.body.get("type") in ("tool_use", "tool_result")
            )
            count += not same_run
        return count

    def commit(self, plan: NaivePlan, now_s: float) -> None:
        delay_s = self.rules.visibility_delay_s
        self.events += [Event(*key, plan.started_s, now_s + delay_s) for key in plan.writes]
        self.events += [Event(*key, plan.started_s, now_s) for key in plan.refreshes]
