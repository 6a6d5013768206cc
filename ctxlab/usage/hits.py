"""How much of the input came from the cache, by tokens and by calls.

Models: finished calls, with aborted ones kept apart. Does not model: why a call missed
(:mod:`ctxlab.diagnose`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ctxlab.usage.checking import each, invalid, mapping
from ctxlab.usage.sums import Usage, usage_at


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
    for path, one in each("usages", usages):
        usage = one if isinstance(one, Usage) else usage_at(path, mapping(path, one))
        if usage.requests > 1:
            raise invalid(path, "one-request-each", f"sums {usage.requests} requests", "give each alone")
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
