"""A ``usage`` object as it arrives, read into the arguments of a :class:`ctxlab.usage.Usage`.

Models: the split of the writes with missing, contradicting and new parts, of which no token is lost;
iterations beside the top level; total-style objects, which are refused where they can be told.
Does not model: streams (:mod:`ctxlab.usage.streams`).
Source: anthropic SDK 2.14.0, types/usage.py and types/beta/beta_usage.py. Where recorded answers say more
than the documents (advisor iterations are not in the top level) the recordings are followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ctxlab.catalogue import known
from ctxlab.errors import InvalidUsageError, Problem
from ctxlab.usage.checking import count, count_or_zero, each, invalid, mapping, text_or_none
from ctxlab.usage.classes import MESSAGE_TYPES, TTL_FIELDS, CacheCreation, Counts, Iteration, four_classes

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
_TO_DISJOINT = (
    "convert with Usage.from_inclusive(prompt_tokens, cached_tokens, output_tokens, cache_creation_tokens)"
)
_OF_ANOTHER_LIBRARY = (
    "these are the names of another library: where its input contains the cached, use Usage.from_inclusive; "
    "where it does not, Usage(input_tokens=…, cache_read_input_tokens=…, output_tokens=…)"
)


def arguments_of(path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the usage; ``path`` is where it stands, for errors."""
    _refuse_inclusive(path, body)
    flags: set[str] = set()
    counts = _counts(path, body, flags)
    if _names_told(body) - known("usage_fields") - {"total_tokens"}:
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
    return {
        "input_tokens": counts.input_tokens,
        "cache_read_input_tokens": counts.cache_read_input_tokens,
        "cache_creation": counts.cache_creation,
        "output_tokens": counts.output_tokens,
        "iterations": iterations,
        "flags": frozenset(flags),
        "web_search_requests": searches,
        # agents log an empty string for what the answer did not say
        "service_tier": text_or_none(f"{path}.service_tier", body.get("service_tier")) or None,
        "speed": text_or_none(f"{path}.speed", body.get("speed")) or None,
        "inference_geo": text_or_none(f"{path}.inference_geo", body.get("inference_geo")) or None,
    }


def _names_told(body: Mapping[str, Any]) -> set[str]:
    """The fields that say something: null says nothing, whatever it stands for."""
    return {name for name, value in body.items() if value is not None}


def _refuse_inclusive(path: str, body: Mapping[str, Any]) -> None:
    for name in _INCLUSIVE_FIELDS:
        if body.get(name) is not None:
            raise invalid(
                f"{path}.{name}",
                "disjoint-classes",
                "belongs to usage whose input contains the cached",
                _TO_DISJOINT,
            )
    if body.get("total_tokens") is None:
        return
    counts = _counts(path, body, set())
    total = count(f"{path}.total_tokens", body["total_tokens"])
    if total != counts.total_input_tokens + counts.output_tokens:
        raise invalid(
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
        input_tokens=count(f"{path}.input_tokens", body["input_tokens"]),
        cache_read_input_tokens=count_or_zero(path, body, "cache_read_input_tokens"),
        cache_creation=_cache_creation(path, body, flags),
        output_tokens=count(f"{path}.output_tokens", body["output_tokens"]),
    )


def _problem_of_required(path: str, body: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the two counts that every answer has."""
    names = [str(name) for name in body]
    if not any("_tokens" in name for name in names) and any("token" in name.lower() for name in names):
        yield Problem(f"{path}.input_tokens", "required", "is missing", _OF_ANOTHER_LIBRARY)
        return
    for name in ("input_tokens", "output_tokens"):
        if body.get(name) is None:
            said = "is null" if name in body else "is missing"
            yield Problem(f"{path}.{name}", "required", said, "the API always sends it")
            continue
        try:
            count(f"{path}.{name}", body[name])
        except InvalidUsageError as error:
            yield from error.problems


def _cache_creation(path: str, body: Mapping[str, Any], flags: set[str]) -> CacheCreation:
    total = body.get("cache_creation_input_tokens")
    if total is not None:
        total = count(f"{path}.cache_creation_input_tokens", total)
    split = body.get("cache_creation")
    by_ttl = {} if split is None else mapping(f"{path}.cache_creation", split)
    if not _names_told(by_ttl):
        if total:
            flags.add("ttl-missing")
        return CacheCreation(unknown_ttl_input_tokens=total or 0)
    by_lifetime = {name: count_or_zero(f"{path}.cache_creation", by_ttl, name) for name in TTL_FIELDS}
    for name in sorted(_names_told(by_ttl) - set(TTL_FIELDS)):
        flags.add("ttl-new-class")
        by_lifetime["unknown_ttl_input_tokens"] += count_or_zero(f"{path}.cache_creation", by_ttl, name)
    told = sum(by_lifetime.values())
    if total is not None and told < total:
        flags.add("ttl-contradicts")
        by_lifetime["unknown_ttl_input_tokens"] += total - told
    elif total is not None and told > total:
        flags.add("ttl-exceeds-total")
    elif by_ttl.get("unknown_ttl_input_tokens"):
        flags.add("ttl-missing")
    return CacheCreation(**by_lifetime)


def _iterations(path: str, value: object, flags: set[str]) -> tuple[Iteration, ...]:
    entries = []
    for where, item in each(path, () if value is None else value):
        body = mapping(where, item)
        kind = text_or_none(f"{where}.type", body.get("type"))
        if not kind:
            raise invalid(f"{where}.type", "required", "is missing", "each iteration names its type")
        if kind not in known("iteration_types"):
            flags.add("iteration-new-type")
        if _names_told(body) - known("iteration_fields"):
            flags.add("unknown-field")
        counts = _counts(where, body, flags)
        entries.append(
            Iteration(
                type=kind,
                model=text_or_none(f"{where}.model", body.get("model")),
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
    stated = four_classes(top)
    readings: tuple[Callable[[Iteration], bool], ...] = (
        lambda entry: entry.type in MESSAGE_TYPES,
        lambda entry: entry.type != "compaction",
    )
    sums = [
        tuple(map(sum, zip(*map(four_classes, filter(counts_in, iterations)), strict=True))) or (0, 0, 0, 0)
        for counts_in in readings
    ]
    if stated not in sums:
        for fresh, read, written, output in sums:
            if stated == (fresh + read + written, read, written, output):
                raise invalid(
                    f"{path}.input_tokens",
                    "disjoint-classes",
                    f"is {top.input_tokens}, all input of the iterations; what was not cached is {fresh}",
                    _TO_DISJOINT,
                )
        flags.add("iterations-disagree")
    if not any(entry.type in MESSAGE_TYPES for entry in iterations):
        flags.add("no-message-iteration")


def _server_tools(path: str, value: object) -> tuple[int, bool]:
    """Number of web searches, and whether any server tool ran (then one answer may be several samplings)."""
    if value is None:
        return 0, False
    body = mapping(path, value)
    calls = {name: count_or_zero(path, body, name) for name in body}
    return calls.get("web_search_requests", 0), any(calls.values())
