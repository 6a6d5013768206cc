"""Requests, input tokens and output tokens per minute, on the injected clock. Off unless it is given limits.

Models: a bucket per model and limit that fills continuously up to one minute's worth; input that does not
count cache reads (but on the one retired model that did); the 429 with ``retry-after`` and the headers that
say what is left.
Does not model: limits pooled over a family of models, acceleration limits, spend limits, priority tiers.
Source: rate-limits page, 2026-08; header names as answered in 2025-08 and wording of the 429 as reported
2026-04. What the API takes off when a request starts, before it knows the cache reads, is not documented;
here a request is let in while anything is left, and its figures are taken off when its answer begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ctxlab.catalogue import Model
from ctxlab.clock import Clock
from ctxlab.emulator.errors import ApiError, rate_limited
from ctxlab.errors import InvalidArgumentError, Problem

_MINUTE_S = 60


@dataclass(frozen=True, kw_only=True)
class RateLimits:
    """Limits per model and minute; None means that there is no such limit.

    >>> RateLimits(input_tokens_per_minute=30_000).input_tokens_per_minute
    30000
    """

    requests_per_minute: int | None = None
    input_tokens_per_minute: int | None = None
    output_tokens_per_minute: int | None = None

    def __post_init__(self) -> None:
        for name in _KINDS:
            value = getattr(self, f"{name}_per_minute")
            if value is not None and (type(value) is not int or value < 1):
                raise InvalidArgumentError(
                    Problem(
                        f"limits.{name}_per_minute", "whole-number", f"is {value!r}", "1 or more, or None"
                    )
                )


#: Field of RateLimits (without ``_per_minute``) to the word in header names and messages.
_KINDS: Mapping[str, str] = {
    "requests": "requests",
    "input_tokens": "input-tokens",
    "output_tokens": "output-tokens",
}


@dataclass
class _Bucket:
    """What is left of a minute's worth; may go below zero, since a request that was let in is answered."""

    capacity: int
    left: float
    at_s: float

    def fill(self, now_s: float) -> None:
        self.left = min(self.capacity, self.left + (now_s - self.at_s) * self.capacity / _MINUTE_S)
        self.at_s = now_s

    def seconds_until(self, wanted: float) -> float:
        return max(0.0, (wanted - self.left) * _MINUTE_S / self.capacity)


@dataclass
class Meter:
    """The buckets of one organisation."""

    limits: RateLimits
    clock: Clock
    _buckets: dict[tuple[str, str], _Bucket] = field(default_factory=dict)

    def admit(self, model: Model) -> None:
        """Let a request in, or raise the 429. Takes one request off."""
        for kind in _KINDS:
            bucket = self._bucket(model, kind)
            if bucket is not None and bucket.left < 1:
                raise self._refusal(model, kind, bucket)
        requests = self._bucket(model, "requests")
        if requests is not None:
            requests.left -= 1

    def spend(self, model: Model, *, input_tokens: int = 0, output_tokens: int = 0) -> None:
        """Take off what a request has used; input without what the limit does not count."""
        for kind, amount in (("input_tokens", input_tokens), ("output_tokens", output_tokens)):
            bucket = self._bucket(model, kind)
            if bucket is not None:
                bucket.left -= amount

    def headers(self, model: Model) -> dict[str, str]:
        """What is left, as the API's headers; tokens are rounded to the nearest thousand."""
        told = {}
        for kind, word in _KINDS.items():
            bucket = self._bucket(model, kind)
            if bucket is None:
                continue
            left = max(0, math.floor(bucket.left))
            if kind != "requests":
                left = round(left, -3)
            full_s = self.clock.now_s() + bucket.seconds_until(bucket.capacity)
            full = datetime.fromtimestamp(full_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            told[f"anthropic-ratelimit-{word}-limit"] = str(bucket.capacity)
            told[f"anthropic-ratelimit-{word}-remaining"] = str(left)
            told[f"anthropic-ratelimit-{word}-reset"] = full
        return told

    def _bucket(self, model: Model, kind: str) -> _Bucket | None:
        capacity = getattr(self.limits, f"{kind}_per_minute")
        if capacity is None:
            return None
        now_s = self.clock.now_s()
        bucket = self._buckets.setdefault((model.id, kind), _Bucket(capacity, capacity, now_s))
        bucket.fill(now_s)
        return bucket

    def _refusal(self, model: Model, kind: str, bucket: _Bucket) -> ApiError:
        says = (
            f"This request would exceed your organization's rate limit of {bucket.capacity:,} "
            f"{kind.replace('_', ' ')} per minute (org: emulated, model: {model.id})."
        )
        refusal = rate_limited(says, max(1, math.ceil(bucket.seconds_until(1))))
        return ApiError(
            refusal.status,
            refusal.type,
            refusal.message,
            headers={**refusal.headers, **self.headers(model)},
        )
