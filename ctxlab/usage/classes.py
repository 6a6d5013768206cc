"""Four classes of tokens that never overlap, for an answer and for one sampling step of it.

Models: fresh input, cache reads, cache writes by lifetime, output; what of them is the whole prompt.
Does not model: what an answer of several steps is billed as (:mod:`ctxlab.usage.sums`).
Source: anthropic SDK 2.14.0, types/usage.py, types/cache_creation.py and
types/beta/beta_iterations_usage.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxlab.usage.checking import exact_count, invalid, text_or_none

#: The steps whose input is the window; a summary's and an advisor's are not.
MESSAGE_TYPES = frozenset({"message", "fallback_message"})
TTL_FIELDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "unknown_ttl_input_tokens")


@dataclass(frozen=True, slots=True)
class CacheCreation:
    """Tokens written to the cache, by lifetime; ``unknown_ttl_input_tokens`` when the answer did not say."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0
    unknown_ttl_input_tokens: int = 0

    def __post_init__(self) -> None:
        for name in TTL_FIELDS:
            exact_count(f"cache_creation.{name}", getattr(self, name))

    @property
    def total_tokens(self) -> int:
        """Writes of every lifetime."""
        return self.ephemeral_5m_input_tokens + self.ephemeral_1h_input_tokens + self.unknown_ttl_input_tokens

    def __add__(self, other: CacheCreation) -> CacheCreation:
        if not isinstance(other, CacheCreation):
            return NotImplemented
        return CacheCreation(
            self.ephemeral_5m_input_tokens + other.ephemeral_5m_input_tokens,
            self.ephemeral_1h_input_tokens + other.ephemeral_1h_input_tokens,
            self.unknown_ttl_input_tokens + other.unknown_ttl_input_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Four classes that never overlap: fresh input, cache reads, cache writes, output."""

    input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation: CacheCreation = field(default_factory=CacheCreation)
    output_tokens: int = 0

    def __post_init__(self) -> None:
        for name in ("input_tokens", "cache_read_input_tokens", "output_tokens"):
            exact_count(name, getattr(self, name))
        if not isinstance(self.cache_creation, CacheCreation):
            raise invalid("cache_creation", "type", f"is {self.cache_creation!r}", "give a CacheCreation")

    @property
    def cache_creation_input_tokens(self) -> int:
        """Cache writes of every lifetime."""
        return self.cache_creation.total_tokens

    @property
    def total_input_tokens(self) -> int:
        """The whole prompt: fresh + read + written. ``input_tokens`` is only what follows the last marker."""
        return self.input_tokens + self.cache_read_input_tokens + self.cache_creation.total_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration(Counts):
    """One sampling step inside a request; ``model`` is set where it differs from the request's (advisor)."""

    type: str
    model: str | None = None

    def __post_init__(self) -> None:
        # zero-argument super() does not survive the class copy that slots=True makes
        Counts.__post_init__(self)
        if not text_or_none("type", self.type):
            raise invalid("type", "required", f"is {self.type!r}", "each iteration names its type")
        text_or_none("model", self.model)


def four_classes(counts: Counts) -> tuple[int, int, int, int]:
    """Fresh, read, written, output."""
    return (
        counts.input_tokens,
        counts.cache_read_input_tokens,
        counts.cache_creation_input_tokens,
        counts.output_tokens,
    )
