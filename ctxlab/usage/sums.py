"""What a request consumed, and the three sums of it that differ.

Models: what is billed, what fills the window, what counts against the input-per-minute limit; requests added
up.
Does not model: prices (:mod:`ctxlab.cost`).
Source: platform.claude.com compaction and rate-limits pages, 2026-08.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxlab.usage.checking import count, exact_count, invalid, mapping, shown, text_or_none
from ctxlab.usage.classes import MESSAGE_TYPES, CacheCreation, Counts, Iteration, four_classes
from ctxlab.usage.flags import FLAGS
from ctxlab.usage.reading import arguments_of
from ctxlab.usage.streams import running_totals

if TYPE_CHECKING:
    from ctxlab.catalogue import Model

#: Values of an option that cost the same as not naming it.
_PLAIN: dict[str, frozenset[str | None]] = {
    "service_tier": frozenset({None, "standard"}),
    "speed": frozenset({None, "standard"}),
    "inference_geo": frozenset({None, "not_available", "global"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(Counts):
    """What a request consumed, or several (``requests``).

    The four counts are the top level of the answer. It leaves out compaction and advisor steps, so that

    - billing sums :attr:`billed`,
    - the window is filled by :attr:`context_tokens`,
    - the input-per-minute limit counts :attr:`itpm_tokens`,

    and the three differ. ``flags`` holds names from :data:`FLAGS`.

    >>> usage = Usage.from_response({"input_tokens": 10, "cache_read_input_tokens": 1000,
    ...     "cache_creation_input_tokens": 200, "output_tokens": 5})
    >>> usage.total_input_tokens, usage.itpm_tokens, sorted(usage.flags)
    (1210, 210, ['ttl-missing'])
    """

    iterations: tuple[Iteration, ...] = ()
    flags: frozenset[str] = frozenset()
    requests: int = 1
    web_search_requests: int = 0
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None

    def __post_init__(self) -> None:
        Counts.__post_init__(self)
        exact_count("requests", self.requests)
        exact_count("web_search_requests", self.web_search_requests)
        for name in _PLAIN:
            text_or_none(name, getattr(self, name))
        if not isinstance(self.iterations, tuple) or not all(
            isinstance(entry, Iteration) for entry in self.iterations
        ):
            raise invalid(
                "iterations", "type", f"is {shown(self.iterations)}", "give a tuple of Iteration objects"
            )
        if not isinstance(self.flags, frozenset) or self.flags - FLAGS.keys():
            raise invalid(
                "flags", "known-flag", f"is {shown(self.flags)}", "give a frozenset of names in usage.FLAGS"
            )
        if not self.requests and (any(four_classes(self)) or self.iterations or self.web_search_requests):
            raise invalid("requests", "counts-requests", "is 0, but something was consumed", "give 1 or more")

    @property
    def billed(self) -> tuple[Iteration, ...]:
        """Every entry that is paid for: the iterations if the answer has them, else the top level as one.

        Source: platform.claude.com compaction page, 2026-08 (the top level omits the compaction step).
        """
        if self.iterations or not self.requests:
            return self.iterations
        return (
            Iteration(
                type="message",
                input_tokens=self.input_tokens,
                cache_read_input_tokens=self.cache_read_input_tokens,
                cache_creation=self.cache_creation,
                output_tokens=self.output_tokens,
            ),
        )

    @property
    def billed_input_tokens(self) -> int:
        """Input of every class over all billed entries (each class has its own price)."""
        return sum(entry.total_input_tokens for entry in self.billed)

    @property
    def billed_output_tokens(self) -> int:
        """Output over all billed entries."""
        return sum(entry.output_tokens for entry in self.billed)

    @property
    def context_tokens(self) -> int:
        """Tokens in the window when the last answer began: the total input of the last message iteration.

        Never read off a compaction entry, whose figure is the cost of the summary and not the size of what it
        closed (anthropic SDK 2.14.0, types/beta/beta_usage.py). A sum over requests has no such figure and
        raises :class:`InvalidUsageError`.
        """
        return self._last_message().total_input_tokens

    @property
    def context_after_tokens(self) -> int:
        """Tokens in the window once the answer is in it: :attr:`context_tokens` plus its output."""
        last = self._last_message()
        return last.total_input_tokens + last.output_tokens

    @property
    def itpm_tokens(self) -> int:
        """Weight against the input-tokens-per-minute limit: fresh + written, reads are free of it.

        The summary step of a compaction counts, an advisor's does not (it has its own model's limit).
        Source: platform.claude.com rate-limits and compaction pages, 2026-08.
        """
        return sum(
            entry.input_tokens + entry.cache_creation.total_tokens
            for entry in self.billed
            if entry.type != "advisor_message"
        )

    def itpm_tokens_for(self, model: Model) -> int:
        """:attr:`itpm_tokens` on ``model``: one retired model counted its cache reads too."""
        if not model.itpm_counts_cache_reads:
            return self.itpm_tokens
        return self.itpm_tokens + sum(
            entry.cache_read_input_tokens for entry in self.billed if entry.type != "advisor_message"
        )

    def _last_message(self) -> Counts:
        if self.requests > 1:
            raise invalid(
                "usage.requests",
                "one-request-per-context",
                f"is a sum over {self.requests} requests, which has no window size",
                "ask the usage of the last request",
            )
        for entry in reversed(self.iterations):
            if entry.type in MESSAGE_TYPES:
                return entry
        return self

    @classmethod
    def zero(cls) -> Usage:
        """No request at all: the start value for ``sum(usages, Usage.zero())``."""
        return cls(requests=0)

    def __add__(self, other: Usage) -> Usage:
        """Add up requests. Flags stay; entries of one type and model become one as soon as a side has any."""
        if not isinstance(other, Usage):
            return NotImplemented
        if not self.requests:
            return other
        if not other.requests:
            return self
        flags = self.flags | other.flags
        service: dict[str, str | None] = {}
        for name, plain in _PLAIN.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            service[name] = mine if mine == theirs else None
            if mine != theirs and not {mine, theirs} <= plain:
                flags |= {"mixed-service"}
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_input_tokens=self.cache_read_input_tokens + other.cache_read_input_tokens,
            cache_creation=self.cache_creation + other.cache_creation,
            output_tokens=self.output_tokens + other.output_tokens,
            iterations=_by_type(self.billed + other.billed) if self.iterations or other.iterations else (),
            flags=flags,
            requests=self.requests + other.requests,
            web_search_requests=self.web_search_requests + other.web_search_requests,
            **service,
        )

    def __radd__(self, other: object) -> Usage:
        """Lets the builtin ``sum(usages)`` start from its 0."""
        return self if other == 0 and not isinstance(other, Usage) else NotImplemented

    @classmethod
    def from_response(cls, response: object) -> Usage:
        """Read an answer, or its ``usage`` alone: mappings, SDK objects, dataclasses, namespaces.

        ``null`` cache fields are zeros, as the API means them. Raises :class:`InvalidUsageError` for counts
        that cannot be (negative, not whole, beyond 10^12), for missing ``input_tokens`` or ``output_tokens``,
        and for total-style usage, in which the cached tokens are part of the input (see
        :meth:`from_inclusive`): told by its field names, by a ``total_tokens`` that contradicts the classes,
        or by iterations whose whole input is what the top level calls the rest.
        """
        if isinstance(response, Usage):
            return response
        body = mapping("response", response)
        if "usage" in body and "input_tokens" not in body:
            if body["usage"] is None:
                raise invalid("usage", "present", "is null", "an answer with an error has no usage")
            return usage_at("usage", mapping("usage", body["usage"]))
        if body and not any("token" in str(name).lower() for name in body):
            fix = (
                "an answer with an error has none"
                if "error" in body
                else "give the answer, or its usage alone"
            )
            raise invalid("response.usage", "required", "is missing", fix)
        return usage_at("usage", body)

    @classmethod
    def from_stream(cls, events: Iterable[object]) -> Usage:
        """Fold a stream: figures in ``message_delta`` are running totals, so they replace and never add.

        ``null`` in a delta says nothing; of two totals the larger stays (``stream-shrank`` if it was the
        earlier). A stream in which no ``message_delta`` told the output, or without ``message_stop``, keeps
        its input figures and is flagged ``stream-cut``. Raises :class:`InvalidUsageError` without a
        ``message_start``, and for an asynchronous stream, whose events must be collected first.
        Source: anthropic SDK 2.14.0, types/message_delta_usage.py.

        >>> usage = Usage.from_stream([
        ...     {"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1}}},
        ...     {"type": "message_delta", "usage": {"output_tokens": 8}},
        ...     {"type": "message_delta", "usage": {"output_tokens": 15}},
        ...     {"type": "message_stop"}])
        >>> usage.input_tokens, usage.output_tokens
        (25, 15)
        """
        totals, flags = running_totals(events)
        usage = usage_at("usage", totals)
        return replace(usage, flags=usage.flags | flags)

    @classmethod
    def from_inclusive(
        cls,
        prompt_tokens: int,
        cached_tokens: int | None,
        output_tokens: int,
        cache_creation_tokens: int | None = 0,
    ) -> Usage:
        """Convert total-style usage (``prompt_tokens`` contains the cached ones) to disjoint classes.

        None for cached tokens is 0, as other libraries mean it. Raises :class:`InvalidUsageError` when more
        is cached than was sent: a negative remainder is never clamped.

        >>> Usage.from_inclusive(20_212, 16_298, 931).input_tokens
        3914
        """
        whole = count("prompt_tokens", prompt_tokens)
        read = count("cached_tokens", 0 if cached_tokens is None else cached_tokens)
        told = 0 if cache_creation_tokens is None else cache_creation_tokens
        written = count("cache_creation_tokens", told)
        if whole < read + written:
            raise invalid(
                "prompt_tokens",
                "non-negative-remainder",
                f"is {whole}, less than its {read + written} cached tokens",
                "these figures may be disjoint already; then use Usage.from_response",
            )
        return cls(
            input_tokens=whole - read - written,
            cache_read_input_tokens=read,
            cache_creation=CacheCreation(unknown_ttl_input_tokens=written),
            output_tokens=count("output_tokens", output_tokens),
            flags=frozenset({"ttl-missing"} if written else ()),
        )


def usage_at(path: str, body: Mapping[str, Any]) -> Usage:
    """The usage that stands at ``path``, which its errors name."""
    return Usage(**arguments_of(path, body))


def _by_type(entries: Iterable[Iteration]) -> tuple[Iteration, ...]:
    sums: dict[tuple[str, str | None], Iteration] = {}
    for entry in entries:
        key = (entry.type, entry.model)
        seen = sums.get(key)
        sums[key] = (
            entry
            if seen is None
            else Iteration(
                type=entry.type,
                model=entry.model,
                input_tokens=seen.input_tokens + entry.input_tokens,
                cache_read_input_tokens=seen.cache_read_input_tokens + entry.cache_read_input_tokens,
                cache_creation=seen.cache_creation + entry.cache_creation,
                output_tokens=seen.output_tokens + entry.output_tokens,
            )
        )
    return tuple(sums.values())
