"""Two requests of one session, one behind the other: what breaks the prefix, what it costs, what survives.

Models: every place in front of the earlier request's last marker where the later one differs, named by kind;
parameters that are part of the cache key; tokens kept and lost, and their price at the model's card.
Does not model: time (an entry may have expired), the lookback, other requests in between, entries that were
there before: :mod:`ctxlab.diagnose` asks for those. A longer history, other markers and a plain string in
place of one text block are no break. What stands behind the last marker was never cached, so it may change;
where nothing is marked the whole request is taken for the prefix. Tools with ``defer_loading`` are outside.
Source: prompt-caching page, 2026-09; ``ctxlab/cache_rules.toml`` for parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from ctxlab.breakers.aligned import breaks
from ctxlab.breakers.edits import Side, keys_of
from ctxlab.breakers.finding import Finding, any_confirmed
from ctxlab.breakers.settings import model_of, setting_changes
from ctxlab.cache import CacheRules, can_carry_marker, ttl_of
from ctxlab.cache.rules import table
from ctxlab.catalogue import Model
from ctxlab.cost import exact_decimal
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Block, Difference, Prompt, Segment, first_difference, plain
from ctxlab.tokens import Calibration, Count, CountText
from ctxlab.tokens import count as count_tokens
from ctxlab.usage import Usage

_TIERS: tuple[Segment, ...] = ("tools", "system", "messages")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of the earlier request's prefix in the later one.

    ``earlier`` and ``later`` are indices into the requests that were compared. ``difference`` is the first
    one in render order, breaking or not. ``survives`` says up to where the prefix is whole: "nothing",
    "tools", "tools+system", "messages up to PATH" or "everything". ``kept_blocks`` lead both requests,
    ``kept_tokens`` are theirs; ``lost_tokens`` were sent before and have to be read anew; ``lost_usd`` is
    what that costs above reading them from the cache (0 where nothing was cached). Figures are None where
    they were not asked for or the model has no price.
    """

    earlier: int
    later: int
    findings: tuple[Finding, ...]
    difference: Difference | None
    survives: str
    kept_blocks: int
    kept_tokens: int | None = None
    lost_tokens: int | None = None
    lost_usd: Decimal | None = None

    @property
    def stable(self) -> bool:
        """Whether nothing is confirmed to break the prefix."""
        return not any_confirmed(self.findings)

    def __str__(self) -> str:
        pair = f"request {self.earlier + 1} to {self.later + 1}"
        if not self.findings:
            return f"{pair}: the prefix is whole"
        parts = [f"{pair}: whole is {self.survives}"]
        if self.kept_tokens is not None and self.lost_tokens is not None:
            parts.append(f"{self.kept_tokens:,} tokens the same, {self.lost_tokens:,} of before read anew")
        if self.lost_usd is not None:
            parts.append(f"${self.lost_usd:.4f} more than from the cache")
        return "\n".join([", ".join(parts), *(f"  {one}" for one in self.findings)])


def compare(
    requests: Sequence[Any],
    *,
    model: str | Model | None = None,
    counter: str | CountText | None = None,
    rules: CacheRules | None = None,
    usages: Sequence[Usage | None] | None = None,
    price: bool = True,
) -> tuple[Comparison, ...]:
    """What breaks the prefix from each request of a session to the next, in the order they were sent.

    Requests are bodies (dicts or SDK objects) or :class:`Prompt`. ``model`` stands in for the one they name;
    without a known one tokens are counted with the newest vocabulary and nothing is priced. ``counter`` as in
    :func:`ctxlab.tokens.count`; ``usages`` (one per request, None where there is none) correct its figures.
    ``price=False`` leaves all figures out, which is much faster. Findings carry what each would cost alone.

    Raises :class:`InvalidArgumentError` for fewer than two requests or for usages that do not fit, and
    :class:`InvalidRequestError` for a body that cannot be read.

    >>> a = {"system": "Rules. Now: 14:07:31", "messages": [{"role": "user", "content": "Hi"}]}
    >>> b = {"system": "Rules. Now: 14:07:32", "messages": [{"role": "user", "content": "Hi"}]}
    >>> [(one.code, one.path, one.evidence) for one in compare([a, b])[0].findings]
    [('CTX101', 'system', '14:07:31 → 14:07:32')]
    """
    if isinstance(requests, (Mapping, str, bytes, Prompt)) or len(requests) < 2:
        raise _argument("requests", "at-least-two", "is not a list of two or more", "pass [earlier, later]")
    if usages is not None and len(usages) != len(requests):
        told = f"has {len(usages)} entries for {len(requests)} requests"
        raise _argument("usages", "one-per-request", told, "give one each, None where unknown")
    switches = rules or CacheRules()
    read = [_Read.of(request, model, switches) for request in requests]
    figures: list[Count | None] = [None] * len(read)
    if price:
        given = usages or [None] * len(read)
        figures = [_counted(one, counter, usage) for one, usage in zip(read, given, strict=True)]
    return tuple(
        _compared(i, read[i], read[j], figures[i], figures[j], switches)
        for i, j in pairwise(range(len(read)))
    )


class _Read(NamedTuple):
    """A request as it is compared: rendered order, without what is outside the prefix."""

    prompt: Prompt
    side: Side
    tiers: tuple[Segment, ...]
    model: Model
    marked: tuple[int, ...]

    @classmethod
    def of(cls, request: Any, model: str | Model | None, rules: CacheRules) -> _Read:
        prompt = request if isinstance(request, Prompt) else Prompt.from_request(plain(request))
        blocks, tiers = _rendered(prompt.blocks)
        if len(blocks) != len(prompt.blocks) or "system" in tiers[: _count_tools(blocks)]:
            prompt = Prompt(blocks, prompt.parameters, (b"",) * len(blocks), 0)
        side = Side(blocks, keys_of(blocks, sorted_schemas=rules.schema_key_order == "sorted"))
        return cls(prompt, side, tiers, model_of(prompt, model), tuple(_marked(prompt, rules)))

    def start_of(self, tier: Segment) -> int:
        """The first block of a tier, or of one behind it."""
        first = _TIERS.index(tier)
        behind = (i for i, own in enumerate(self.tiers) if _TIERS.index(own) >= first)
        return next(behind, len(self.tiers))


def _rendered(blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], tuple[Segment, ...]]:
    """Blocks as the server renders them: deferred tools left out, web tools in the system prompt."""
    tools = [block for block in blocks[: _count_tools(blocks)] if not _is_deferred(block)]
    starts = tuple(table()["tools_in_the_system_prompt"])
    own = [block for block in tools if not block.type.startswith(starts)]
    lifted = [block for block in tools if block.type.startswith(starts)]
    rest = blocks[_count_tools(blocks) :]
    tiers: list[Segment] = ["tools" for _ in own]
    tiers += ["system" for _ in lifted]
    return (*own, *lifted, *rest), (*tiers, *(block.segment for block in rest))


def _count_tools(blocks: Sequence[Block]) -> int:
    return next((i for i, block in enumerate(blocks) if block.segment != "tools"), len(blocks))


def _is_deferred(block: Block) -> bool:
    if b'"defer_loading":true' not in block.wire_bytes:
        return False
    return json.loads(block.wire_bytes).get("defer_loading") is True


def _marked(prompt: Prompt, rules: CacheRules) -> Iterator[int]:
    inside = rules.marker_inside_result == "result"
    automatic = None
    if prompt.parameters.get("cache_control", "null") != "null":
        carriers = (i for i in reversed(range(len(prompt.blocks))) if can_carry_marker(prompt.blocks[i]))
        automatic = next(carriers, None)
    for i, block in enumerate(prompt.blocks):
        within = inside and block.parts and any(part.cache_control is not None for part in block.parts)
        if block.cache_control is not None or within or i == automatic:
            yield i


def _counted(read: _Read, counter: str | CountText | None, usage: Usage | None) -> Count:
    found = count_tokens(
        read.prompt,
        read.model if read.model.price_history else None,
        counter=counter,
        vocabulary=read.model.vocabulary,
    )
    return found if usage is None else Calibration().learn(found, usage).apply(found)


class _Place(NamedTuple):
    """A finding and how many leading blocks are whole up to it."""

    finding: Finding
    at: int


def _compared(
    index: int, earlier: _Read, later: _Read, before: Count | None, after: Count | None, rules: CacheRules
) -> Comparison:
    difference = first_difference(earlier.prompt, later.prompt)
    last = earlier.marked[-1] if earlier.marked else len(earlier.side.blocks) - 1
    places = []
    for change in setting_changes(earlier.prompt, later.prompt, earlier.model, later.model, rules):
        at = min(earlier.start_of(change.tier), later.start_of(change.tier))
        one = change.finding
        if at > last:  # nothing of that tier was cached
            one = replace(one, certainty="suspected", message=f"{one.message} (none of it is marked here)")
        places.append(_Place(one, at))
    sorted_schemas = rules.schema_key_order == "sorted"
    places += [
        _Place(one.finding, min(one.earlier, one.later))
        for one in breaks(earlier.side, later.side, sorted_schemas=sorted_schemas)
        if one.earlier <= last
    ]
    whole = _shared(earlier.side, later.side)
    kept = min([whole, *(place.at for place in places)])
    findings = tuple(place.finding for place in places)
    kept_tokens = lost_tokens = lost_usd = None
    if before is not None and after is not None:
        bill = _Bill(earlier, later, before, after, last)
        findings = tuple(
            place.finding.priced(bill.lost_tokens(place.at), bill.lost_usd(place.at)) for place in places
        )
        kept_tokens = bill.tokens_of(kept)
        lost_tokens, lost_usd = (bill.lost_tokens(kept), bill.lost_usd(kept)) if places else (0, bill.nothing)
    survives = _survives(earlier, later, kept) if places else "everything"
    return Comparison(
        index, index + 1, findings, difference, survives, kept, kept_tokens, lost_tokens, lost_usd
    )


def _shared(earlier: Side, later: Side) -> int:
    shared = min(len(earlier.keys), len(later.keys))
    for i in range(shared):
        same_border = earlier.blocks[i].starts_message == later.blocks[i].starts_message
        if earlier.keys[i] != later.keys[i] or not same_border:
            return i
    return shared


def _survives(earlier: _Read, later: _Read, kept: int) -> str:
    if kept == 0:
        return "nothing"
    first_lost = earlier.tiers[kept] if kept < len(earlier.tiers) else "messages"
    whole = [tier for tier in _TIERS[: _TIERS.index(first_lost)] if tier in earlier.tiers]
    if first_lost == "messages" and "messages" in earlier.tiers[:kept]:
        side = earlier.side if kept < len(earlier.side.blocks) else later.side
        return f"messages up to {side.blocks[kept].path}"
    return "+".join(whole) or "nothing"


class _Bill:
    """What is lost, in tokens and money, when only the first ``at`` blocks are whole."""

    def __init__(self, earlier: _Read, later: _Read, before: Count, after: Count, last: int):
        self._earlier, self._later, self._last = earlier, later, last
        self._before, self._after = (0, *before.cumulative), (0, *after.cumulative)
        self._total = after.total
        self.nothing = Decimal(0) if later.model.price_history else None

    def tokens_of(self, blocks: int) -> int:
        """Tokens of the first blocks of the later request."""
        return self._after[min(blocks, len(self._after) - 1)]

    def lost_tokens(self, at: int) -> int:
        """Tokens behind ``at`` that were in the earlier request's prefix, at most what is left of them."""
        end = min(self._before[self._last + 1], self._after[-1])
        return max(0, end - self.tokens_of(at))

    def lost_usd(self, at: int) -> Decimal | None:
        """Cached tokens behind the last entry that is still whole, written instead of read."""
        if not self._later.model.price_history:
            return None
        floor = self._later.model.min_cacheable_tokens or 0
        entries = [i for i in self._earlier.marked if self._before[i + 1] >= floor]
        if not entries or not self._later.marked:
            return Decimal(0)
        read = max((self._before[i + 1] for i in entries if i < at), default=0)
        end = min(self._before[entries[-1] + 1], self._after[self._later.marked[-1] + 1])
        return exact_decimal(self._usd(max(0, end - read)))

    def _usd(self, tokens: int) -> Fraction:
        prices = self._later.model.rates_at()
        fast = self._later.prompt.parameters.get("speed") == '"fast"'
        card = prices.card(self._total, fast=fast)
        hour = _lifetime(self._later) == "1h"
        write = prices.cache_write_1h_multiplier if hour else prices.cache_write_5m_multiplier
        return tokens * card.input_usd_per_mtok * (write - prices.cache_read_multiplier) / 1_000_000


def _lifetime(read: _Read) -> str:
    """The lifetime the last marker of a request asks for."""
    marker: Any = read.prompt.blocks[read.marked[-1]].cache_control
    if marker is None:
        marker = json.loads(read.prompt.parameters.get("cache_control", "null"))
    return ttl_of(marker or {"type": "ephemeral"}, "")[0]


def _argument(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(path, rule, message, fix))
