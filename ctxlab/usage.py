"""What one request consumed: four disjoint token classes, and three different sums of them.

Models: the ``usage`` object of a Messages API answer, plain or streamed, with the cache writes split by
lifetime and the sampling iterations kept apart; the three questions that need three different sums (what is
billed, what fills the window, what counts against the input-per-minute limit).
Does not model: prices (:mod:`ctxlab.cost`) and how many tokens a text has (:mod:`ctxlab.tokens`).
Source: anthropic SDK 2.14.0, types/usage.py, types/message_delta_usage.py, types/beta/beta_usage.py and
types/beta/beta_iterations_usage.py; platform.claude.com prompt-caching page, 2026-09. Where recorded answers
say more than the documents (advisor iterations are not in the top level) the recordings are followed.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxlab.catalogue import known
from ctxlab.errors import InvalidUsageError, Problem

if TYPE_CHECKING:
    from ctxlab.catalogue import Model

#: Every flag a usage can carry and what it says about the figures.
FLAGS: dict[str, str] = {
    "ttl-missing": "cache writes came without a split by lifetime; they are kept as unknown",
    "ttl-contradicts": "the split is smaller than the total of cache writes; the rest is kept as unknown",
    "ttl-exceeds-total": "the split is larger than the total of cache writes; the split is kept",
    "ttl-new-class": "the split names a lifetime this version does not know; its tokens are kept as unknown",
    "looks-inclusive": "input_tokens equals reads + writes exactly: is it the remainder, or their sum?",
    "iterations-disagree": "the top level is not the sum of the message iterations; both are kept",
    "iteration-new-type": "an iteration has a type this version does not know; it is kept and billed",
    "no-message-iteration": "only a summary was written: the top level is empty, so is the context figure",
    "context-is-a-sum": "server tools looped without iterations: the context figure is an upper bound",
    "unknown-field": "the usage object has a field this version does not know; its value is not read",
    "fallback-credit": "a fallback credit was presented; its repricing is not in the figures",
    "stream-cut": "the stream ended early: input figures are right, output is a lower bound",
    "stream-shrank": "a running total of the stream went down; the larger value is kept",
    "rows-conflict": "log rows of one message disagree about its input; the row with most output is kept",
    "no-message-id": "the log row has no message id, so a repetition of it cannot be told",
    "mixed-service": "the sum mixes batch, speed or region settings and cannot be priced as one",
}

MESSAGE_TYPES = frozenset({"message", "fallback_message"})
_TTL_FIELDS = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens", "unknown_ttl_input_tokens")
_COUNT_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
#: Names that only total-style ("inclusive") usage objects of other APIs and frameworks have.
_INCLUSIVE_FIELDS = (
    "prompt_tokens",
    "completion_tokens",
    "prompt_tokens_details",
    "input_tokens_details",
    "input_token_details",
    "cached_tokens",
    "cached_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens",
)
#: Values of an option that cost the same as not naming it.
_PLAIN: dict[str, frozenset[str | None]] = {
    "service_tier": frozenset({None, "standard"}),
    "speed": frozenset({None, "standard"}),
    "inference_geo": frozenset({None, "not_available", "global"}),
}
_ABSURD_TOKENS = 10**12


@dataclass(frozen=True, slots=True)
class CacheCreation:
    """Tokens written to the cache, by lifetime; ``unknown_ttl_input_tokens`` when the answer did not say."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0
    unknown_ttl_input_tokens: int = 0

    def __post_init__(self) -> None:
        for name in _TTL_FIELDS:
            _exact(f"cache_creation.{name}", getattr(self, name))

    @property
    def total_tokens(self) -> int:
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
            _exact(name, getattr(self, name))
        if not isinstance(self.cache_creation, CacheCreation):
            raise _invalid("cache_creation", "type", f"is {self.cache_creation!r}", "give a CacheCreation")

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
        if not _text("type", self.type):
            raise _invalid("type", "required", f"is {self.type!r}", "each iteration names its type")
        _text("model", self.model)


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
        _exact("requests", self.requests)
        _exact("web_search_requests", self.web_search_requests)
        for name in _PLAIN:
            _text(name, getattr(self, name))
        if not isinstance(self.iterations, tuple) or not all(
            isinstance(entry, Iteration) for entry in self.iterations
        ):
            raise _invalid(
                "iterations", "type", f"is {_shown(self.iterations)}", "give a tuple of Iteration objects"
            )
        if not isinstance(self.flags, frozenset) or self.flags - FLAGS.keys():
            raise _invalid(
                "flags", "known-flag", f"is {_shown(self.flags)}", "give a frozenset of names in usage.FLAGS"
            )
        if not self.requests and (any(_four(self)) or self.iterations or self.web_search_requests):
            raise _invalid(
                "requests", "counts-requests", "is 0, but something was consumed", "give 1 or more"
            )

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
            raise _invalid(
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
        body = _mapping("response", response)
        if "usage" in body and "input_tokens" not in body:
            if body["usage"] is None:
                raise _invalid("usage", "present", "is null", "an answer with an error has no usage")
            return _read("usage", _mapping("usage", body["usage"]))
        if body and not any("token" in str(name).lower() for name in body):
            fix = (
                "an answer with an error has none"
                if "error" in body
                else "give the answer, or its usage alone"
            )
            raise _invalid("response.usage", "required", "is missing", fix)
        return _read("usage", body)

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
        totals: dict[str, Any] | None = None
        output_told = stopped = False
        flags: set[str] = set()
        for path, event in _each("events", events):
            body = _mapping(path, event)
            kind = body.get("type")
            if kind == "message_start":
                if totals is not None:
                    raise _invalid(
                        path, "one-message-per-stream", "is a second message_start", "fold each alone"
                    )
                message = _mapping(f"{path}.message", body.get("message"))
                totals = dict(_mapping(f"{path}.message.usage", message.get("usage")))
            elif kind == "message_delta" and body.get("usage") is not None:
                if totals is None:
                    raise _no_start(path)
                delta = _mapping(f"{path}.usage", body["usage"])
                _overlay(f"{path}.usage", totals, delta, flags)
                output_told = output_told or delta.get("output_tokens") is not None
            stopped = stopped or kind == "message_stop"
        if totals is None:
            raise _no_start("events")
        if not (output_told and stopped):
            flags.add("stream-cut")
        usage = _read("usage", totals)
        return replace(usage, flags=usage.flags | flags)

    @classmethod
    def from_inclusive(
        cls,
        prompt_tokens: int,
        cached_tokens: int,
        output_tokens: int,
        cache_creation_tokens: int = 0,
    ) -> Usage:
        """Convert total-style usage (``prompt_tokens`` contains the cached ones) to disjoint classes.

        Raises :class:`InvalidUsageError` when more is cached than was sent: a negative remainder is never
        clamped.

        >>> Usage.from_inclusive(20_212, 16_298, 931).input_tokens
        3914
        """
        whole = _count("prompt_tokens", prompt_tokens)
        read = _count("cached_tokens", cached_tokens)
        written = _count("cache_creation_tokens", cache_creation_tokens)
        if whole < read + written:
            raise _invalid(
                "prompt_tokens",
                "non-negative-remainder",
                f"is {whole}, less than its {read + written} cached tokens",
                "these figures may be disjoint already; then use Usage.from_response",
            )
        return cls(
            input_tokens=whole - read - written,
            cache_read_input_tokens=read,
            cache_creation=CacheCreation(unknown_ttl_input_tokens=written),
            output_tokens=_count("output_tokens", output_tokens),
            flags=frozenset({"ttl-missing"} if written else ()),
        )


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """One message of a log: its id (None if the log has none), its usage, and how many rows repeated it."""

    message_id: str | None
    usage: Usage
    rows: int


def fold_rows(rows: Iterable[object]) -> tuple[LoggedMessage, ...]:
    """One entry per message id, in order of first appearance.

    Agents log one row per content block, each with the usage of the whole message as far as it was known, so
    that adding the rows counts a message two or three times. The row with the largest output rules, the last
    one among equals; rows that disagree about the input are flagged ``rows-conflict``. Rows without an id are
    kept one by one and flagged ``no-message-id``. A row is a mapping with ``id`` and ``usage``, or one with
    such a ``message`` in it.

    >>> half, whole = ({"id": "msg_A", "usage": {"input_tokens": 2, "output_tokens": n}} for n in (1, 412))
    >>> [message.usage.output_tokens for message in fold_rows([half, half, whole])]
    [412]
    """
    folded: list[LoggedMessage] = []
    place: dict[str, int] = {}
    for path, row in _each("rows", rows):
        body = _mapping(path, row)
        if "usage" not in body and body.get("message") is not None:
            path += ".message"
            body = _mapping(path, body["message"])
        usage = _read(f"{path}.usage", _mapping(f"{path}.usage", body.get("usage")))
        message_id = body.get("id")
        if message_id is not None and not isinstance(message_id, str):
            raise _invalid(f"{path}.id", "type", f"is {message_id!r}", "a message id is a string")
        if not message_id:
            folded.append(LoggedMessage(None, _flagged(usage, "no-message-id"), 1))
        elif message_id not in place:
            place[message_id] = len(folded)
            folded.append(LoggedMessage(message_id, usage, 1))
        else:
            seen = folded[place[message_id]]
            folded[place[message_id]] = LoggedMessage(
                message_id, _same_message(seen.usage, usage), seen.rows + 1
            )
    return tuple(folded)


@dataclass(frozen=True, slots=True)
class HitRate:
    """How much of the input came from the cache; rates are shares, None where there is nothing to divide by.

    ``token_rate`` (the headline) is tokens read over tokens sent; ``call_rate`` is calls that read anything
    over calls. Both are over finished calls; ``aborted`` is the sum of those without any output.
    """

    token_rate: float | None
    call_rate: float | None
    calls: int
    read_tokens: int
    total_input_tokens: int
    aborted: Usage


def hit_rate(usages: Iterable[Usage]) -> HitRate:
    """Token-weighted hit rate: an average over calls lets three calls of two tokens outvote one of 400,000.

    Calls without output are kept apart: an aborted call has written what it may never read. So has a
    pre-warming call (``max_tokens: 0``), which looks the same from here. Raises :class:`InvalidUsageError`
    for a sum over requests, in which the calls can no longer be told apart.

    >>> read = Usage(input_tokens=2, cache_read_input_tokens=98, output_tokens=5)
    >>> rate = hit_rate([Usage(input_tokens=2, output_tokens=1), read])
    >>> round(rate.token_rate, 3), rate.call_rate
    (0.961, 0.5)
    """
    calls = hits = read_tokens = total_tokens = 0
    aborted = Usage.zero()
    for path, one in _each("usages", usages):
        usage = one if isinstance(one, Usage) else _read(path, _mapping(path, one))
        if usage.requests > 1:
            raise _invalid(path, "one-request-each", f"sums {usage.requests} requests", "give each alone")
        if not usage.billed_output_tokens:
            aborted += usage
            continue
        read = sum(entry.cache_read_input_tokens for entry in usage.billed)
        calls += 1
        hits += read > 0
        read_tokens += read
        total_tokens += usage.billed_input_tokens
    return HitRate(
        token_rate=read_tokens / total_tokens if total_tokens else None,
        call_rate=hits / calls if calls else None,
        calls=calls,
        read_tokens=read_tokens,
        total_input_tokens=total_tokens,
        aborted=aborted,
    )


def _read(path: str, body: Mapping[str, Any]) -> Usage:
    _refuse_inclusive(path, body)
    flags: set[str] = set()
    counts = _counts(path, body, flags)
    if body.keys() - known("usage_fields") - {"total_tokens"}:
        flags.add("unknown-field")
    if body.get("fallback_credit") is not None:
        flags.add("fallback-credit")
    iterations = _iterations(f"{path}.iterations", body.get("iterations"), flags)
    searches, loops = _server_tools(f"{path}.server_tool_use", body.get("server_tool_use"))
    if iterations:
        _compare_with_top_level(path, counts, iterations, flags)
    elif loops:
        flags.add("context-is-a-sum")
    cached = counts.cache_read_input_tokens + counts.cache_creation_input_tokens
    if (
        counts.cache_read_input_tokens
        and counts.cache_creation_input_tokens
        and counts.input_tokens == cached
    ):
        flags.add("looks-inclusive")
    return Usage(
        input_tokens=counts.input_tokens,
        cache_read_input_tokens=counts.cache_read_input_tokens,
        cache_creation=counts.cache_creation,
        output_tokens=counts.output_tokens,
        iterations=iterations,
        flags=frozenset(flags),
        web_search_requests=searches,
        service_tier=_text(f"{path}.service_tier", body.get("service_tier")),
        speed=_text(f"{path}.speed", body.get("speed")),
        inference_geo=_text(f"{path}.inference_geo", body.get("inference_geo")),
    )


_TO_DISJOINT = "convert with Usage.from_inclusive(prompt_tokens, cached_tokens, output_tokens)"


def _refuse_inclusive(path: str, body: Mapping[str, Any]) -> None:
    for name in _INCLUSIVE_FIELDS:
        if body.get(name) is not None:
            raise _invalid(
                f"{path}.{name}",
                "disjoint-classes",
                "belongs to usage whose input contains the cached",
                _TO_DISJOINT,
            )
    if body.get("total_tokens") is None:
        return
    counts = _counts(path, body, set())
    total = _count(f"{path}.total_tokens", body["total_tokens"])
    if total != counts.total_input_tokens + counts.output_tokens:
        raise _invalid(
            f"{path}.total_tokens",
            "disjoint-classes",
            f"is {total}, but the four classes add up to {counts.total_input_tokens + counts.output_tokens}",
            _TO_DISJOINT,
        )


def _counts(path: str, body: Mapping[str, Any], flags: set[str]) -> Counts:
    problems = tuple(_problem_of_required(path, body))
    if problems:
        raise InvalidUsageError(problems)
    return Counts(
        input_tokens=_count(f"{path}.input_tokens", body["input_tokens"]),
        cache_read_input_tokens=_count_or_zero(path, body, "cache_read_input_tokens"),
        cache_creation=_cache_creation(path, body, flags),
        output_tokens=_count(f"{path}.output_tokens", body["output_tokens"]),
    )


def _problem_of_required(path: str, body: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the two counts that every answer has."""
    for name in ("input_tokens", "output_tokens"):
        if body.get(name) is None:
            said = "is null" if name in body else "is missing"
            yield Problem(f"{path}.{name}", "required", said, "the API always sends it")
            continue
        try:
            _count(f"{path}.{name}", body[name])
        except InvalidUsageError as error:
            yield from error.problems


def _cache_creation(path: str, body: Mapping[str, Any], flags: set[str]) -> CacheCreation:
    total = body.get("cache_creation_input_tokens")
    if total is not None:
        total = _count(f"{path}.cache_creation_input_tokens", total)
    split = body.get("cache_creation")
    if split is None:
        if total:
            flags.add("ttl-missing")
        return CacheCreation(unknown_ttl_input_tokens=total or 0)
    by_ttl = _mapping(f"{path}.cache_creation", split)
    known = {name: _count_or_zero(f"{path}.cache_creation", by_ttl, name) for name in _TTL_FIELDS}
    for name in sorted(by_ttl.keys() - set(_TTL_FIELDS)):
        flags.add("ttl-new-class")
        known["unknown_ttl_input_tokens"] += _count_or_zero(f"{path}.cache_creation", by_ttl, name)
    told = sum(known.values())
    if total is not None and told < total:
        flags.add("ttl-contradicts")
        known["unknown_ttl_input_tokens"] += total - told
    elif total is not None and told > total:
        flags.add("ttl-exceeds-total")
    elif by_ttl.get("unknown_ttl_input_tokens"):
        flags.add("ttl-missing")
    return CacheCreation(**known)


def _iterations(path: str, value: object, flags: set[str]) -> tuple[Iteration, ...]:
    entries = []
    for where, item in _each(path, () if value is None else value):
        body = _mapping(where, item)
        kind = _text(f"{where}.type", body.get("type"))
        if not kind:
            raise _invalid(f"{where}.type", "required", "is missing", "each iteration names its type")
        if kind not in known("iteration_types"):
            flags.add("iteration-new-type")
        if body.keys() - known("iteration_fields"):
            flags.add("unknown-field")
        counts = _counts(where, body, flags)
        entries.append(
            Iteration(
                type=kind,
                model=_text(f"{where}.model", body.get("model")),
                input_tokens=counts.input_tokens,
                cache_read_input_tokens=counts.cache_read_input_tokens,
                cache_creation=counts.cache_creation,
                output_tokens=counts.output_tokens,
            )
        )
    return tuple(entries)


def _compare_with_top_level(
    path: str, top: Counts, iterations: tuple[Iteration, ...], flags: set[str]
) -> None:
    """Recorded top levels leave advisor steps out, the documents only compaction: both agree here."""
    stated = _four(top)
    readings: tuple[Callable[[Iteration], bool], ...] = (
        lambda entry: entry.type in MESSAGE_TYPES,
        lambda entry: entry.type != "compaction",
    )
    sums = [
        tuple(map(sum, zip(*map(_four, filter(counts_in, iterations)), strict=True))) or (0, 0, 0, 0)
        for counts_in in readings
    ]
    if stated not in sums:
        for fresh, read, written, output in sums:
            if stated == (fresh + read + written, read, written, output):
                raise _invalid(
                    f"{path}.input_tokens",
                    "disjoint-classes",
                    f"is {top.input_tokens}, all input of the iterations; what was not cached is {fresh}",
                    _TO_DISJOINT,
                )
        flags.add("iterations-disagree")
    if not any(entry.type in MESSAGE_TYPES for entry in iterations):
        flags.add("no-message-iteration")


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


def _four(counts: Counts) -> tuple[int, int, int, int]:
    return (
        counts.input_tokens,
        counts.cache_read_input_tokens,
        counts.cache_creation_input_tokens,
        counts.output_tokens,
    )


def _server_tools(path: str, value: object) -> tuple[int, bool]:
    """Number of web searches, and whether any server tool ran (then one answer may be several samplings)."""
    if value is None:
        return 0, False
    body = _mapping(path, value)
    calls = {name: _count_or_zero(path, body, name) for name in body}
    return calls.get("web_search_requests", 0), any(calls.values())


def _overlay(path: str, totals: dict[str, Any], delta: Mapping[str, Any], flags: set[str]) -> None:
    """Bring the running totals up to date in place; those of server tools stand one level down."""
    for name, value in delta.items():
        if value is None:
            continue
        if name == "server_tool_use":
            where = f"{path}.{name}"
            seen = totals[name] = dict(_mapping(where, totals.get(name) or {}))
            for tool, calls in _mapping(where, value).items():
                _raise_to(f"{where}.{tool}", seen, tool, calls, flags)
        elif name in _COUNT_FIELDS:
            _raise_to(f"{path}.{name}", totals, name, value, flags)
        else:
            totals[name] = value


def _raise_to(path: str, totals: dict[str, Any], name: str, value: object, flags: set[str]) -> None:
    if value is None:
        return
    new = _count(path, value)
    old = totals.get(name)
    if old is not None and _count(name, old) > new:
        flags.add("stream-shrank")
    else:
        totals[name] = new


def _same_message(seen: Usage, later: Usage) -> Usage:
    kept = later if later.billed_output_tokens >= seen.billed_output_tokens else seen
    flags = seen.flags | later.flags
    if _four(seen)[:3] != _four(later)[:3] or seen.billed_input_tokens != later.billed_input_tokens:
        flags |= {"rows-conflict"}
    return replace(kept, flags=flags)


def _flagged(usage: Usage, flag: str) -> Usage:
    return replace(usage, flags=usage.flags | {flag})


def _each(path: str, values: object) -> Iterator[tuple[str, Any]]:
    """Each value with its path; an error for what is no list, stream or other row of them."""
    if isinstance(values, AsyncIterable):
        fix = "collect its items first: [item async for item in stream]"
        raise _invalid(path, "type", "is asynchronous", fix)
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise _invalid(path, "type", f"is {_shown(values)}", "give a list")
    for number, value in enumerate(values):
        yield f"{path}[{number}]", value


def _mapping(path: str, value: object) -> Mapping[str, Any]:
    """A view of a mapping, an SDK model, a dataclass or a plain object; nothing is imported to find out."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    for dump in ("to_dict", "model_dump"):
        method = getattr(value, dump, None)
        if callable(method) and not isinstance(value, type):
            dumped = method()
            if isinstance(dumped, Mapping):
                return dumped
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and attributes and not isinstance(value, type) and not callable(value):
        return attributes
    raise _invalid(path, "type", f"is {_shown(value)}", "give the mapping or object the API returned")


def _count_or_zero(path: str, body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    return 0 if value is None else _count(f"{path}.{name}", value)


def _count(path: str, value: object) -> int:
    """A count as it arrives: anything that is a whole number (JSON's 12.0 is one, True is none)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (bool, float, str)) or not hasattr(value, "__index__"):
        raise _invalid(path, "whole-number", f"is {_shown(value)}", "send the count the API returned")
    return _exact(path, int(value.__index__()))


def _exact(path: str, value: object) -> int:
    """A count as it is kept: an int from 0 to 10^12."""
    if type(value) is not int:
        raise _invalid(path, "whole-number", f"is {_shown(value)}", "give an int")
    if value < 0:
        raise _invalid(path, "non-negative", f"is {_shown(value)}", "send the count the API returned")
    if value > _ABSURD_TOKENS:
        raise _invalid(path, "plausible", "is above 10^12", "send the count the API returned")
    return value


def _text(path: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _invalid(path, "type", f"is {_shown(value)}", "send a string or null")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print ints of more than 4,300 digits
        text = "too long to print"
    return text if len(text) <= 60 else text[:57] + "..."


def _no_start(path: str) -> InvalidUsageError:
    return _invalid(
        path, "stream-has-start", "has no message_start before it", "fold the stream from its start"
    )


def _invalid(path: str, rule: str, message: str, fix: str) -> InvalidUsageError:
    return InvalidUsageError(Problem(path, rule, message, fix))
