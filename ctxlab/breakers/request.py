"""One request body: what in it looks as if it would break the prefix, and markers that do nothing.

Models: volatile spans in tools, system prompt and user texts that stand in front of a marker or under it;
tools in no order; JSON in a text with unsorted keys; markers the API refuses, a prefix that is long enough
and not marked, a marker below the model's floor, a last entry out of the lookback's reach, markers that pile
up.
Does not model: calls, results, answers and files: they are history, sent again as they are.
Source: public reports, 2025-05 to 2026-09; ``ctxlab/cache_rules.toml``; the catalogue for floors.

One body cannot prove that the next one will differ, so everything found here is *suspected*, with one
exception: markers the API refuses are *confirmed*, the request cannot be sent. That nothing is marked or that
a marker is below the floor are facts, but a single short question does well without a cache; so they are
suspected too, and "nothing is marked" is only said of a prefix that could be cached and read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from ctxlab.breakers.finding import Finding, finding
from ctxlab.breakers.settings import model_of
from ctxlab.breakers.spans import Span, volatile_spans
from ctxlab.breakpoints import validate
from ctxlab.cache import CacheRules, Layout
from ctxlab.catalogue import Model
from ctxlab.cost import exact_decimal
from ctxlab.errors import InvalidRequestError
from ctxlab.prompt import Block, Prompt, plain
from ctxlab.tokens import Count, CountText
from ctxlab.tokens import count as count_tokens

#: Schema fields whose values are examples or patterns, not something that was read from a clock.
_NOT_LIVE = frozenset({"examples", "example", "pattern", "format", "enum", "const"})
_SLOTS = 4
_FEWEST_KEYS, _FEWEST_CHARS = 3, 40


def scan_request(
    request: Any,
    *,
    model: str | Model | None = None,
    counter: str | CountText | None = None,
    rules: CacheRules | None = None,
) -> tuple[Finding, ...]:
    """What looks like a breaker in one request body (a dict or an SDK object), the likeliest first.

    Tokens and dollars per turn are those of everything behind the place, read anew instead of from the
    cache. Raises :class:`InvalidRequestError` for a body that cannot be read.

    >>> system = [{"type": "text", "text": "Rules. Now: 14:07:31", "cache_control": {"type": "ephemeral"}}]
    >>> found = scan_request({"model": "claude-opus-5-5", "system": system, "messages": []})
    >>> [(one.code, one.path, one.evidence) for one in found][:1]
    [('CTX101', 'system[0].text', '14:07:31')]
    """
    body = plain(request)
    prompt = Prompt.from_request(body)
    scan = _Scan(body, prompt, model_of(prompt, model), rules or CacheRules(), counter)
    spans = list(scan.spans())
    likely = [scan.priced(one) for one in spans if one.span.likely]
    others = [scan.priced(one) for one in spans if not one.span.likely]
    return (
        *scan.refused(),
        *likely,
        *scan.volatile_markers(spans),
        *scan.markers(),
        *others,
        *scan.orders(),
    )


class _Text(NamedTuple):
    """A text of the request, the block it is part of, and its path."""

    block: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class _Spot:
    """A volatile span in a text."""

    where: _Text
    span: Span


class _Scan:
    """One request, read once for all checks."""

    def __init__(
        self,
        body: Mapping[str, Any],
        prompt: Prompt,
        model: Model,
        rules: CacheRules,
        counter: str | CountText | None,
    ):
        self._prompt, self._model = prompt, model
        self._faults = validate(body)
        known = model if model.price_history else None
        self._count: Count = count_tokens(prompt, known, counter=counter, vocabulary=model.vocabulary)
        self._layout = _layout(prompt, model, rules, self._count)
        marked = [] if self._layout is None else [one.position for one in self._layout.markers]
        # positions are those of rendered blocks; places are told by path
        by_path = {block.path: i for i, block in enumerate(prompt.blocks)}
        self._marked = [by_path[self._layout.positions[i].path] for i in marked] if self._layout else []

    # --- what the API refuses

    def refused(self) -> Iterator[Finding]:
        """Marker faults; the request comes back with an error."""
        for problem in self._faults:
            yield finding(
                "marker-fault", problem.path, problem.message, fix=problem.fix, certainty="confirmed"
            )

    # --- volatile spans

    def spans(self) -> Iterator[_Spot]:
        """Every volatile span that stands in the prefix, in render order."""
        last = self._marked[-1] if self._marked else None
        texts = [one for one in self._texts() if last is None or one.block <= last]
        stamped: dict[str, set[int]] = {}
        spots = []
        for one in texts:
            block = self._prompt.blocks[one.block]
            for span in volatile_spans(one.text):
                if block.segment == "messages":
                    if last is None or not span.likely:
                        continue
                    stamped.setdefault(span.rule, set()).add(one.block)
                spots.append(_Spot(one, span))
        for spot in spots:
            block = self._prompt.blocks[spot.where.block]
            # a stamp on every message is part of it, and sent again as it is
            if block.segment != "messages" or len(stamped[spot.span.rule]) == 1:
                yield spot

    def _texts(self) -> Iterator[_Text]:
        for i, block in enumerate(self._prompt.blocks):
            if block.segment == "tools":
                yield from _tool_texts(i, block)
            elif block.type == "text" and block.role in (None, "system", "user"):
                yield _Text(i, _text_path(block), json.loads(block.wire_bytes)["text"])

    def priced(self, spot: _Spot) -> Finding:
        """A finding for a span, with what stands behind it as its price."""
        where, span = spot.where, spot.span
        told = f"'{span.shown}' looks like {_WHAT[span.rule]}, and changes {span.changes}"
        one = finding(span.rule, where.path, told, fix=span.fix, evidence=span.shown)
        return self._with_price(one, where.block)

    def volatile_markers(self, spots: list[_Spot]) -> Iterator[Finding]:
        """Markers on a block that holds a likely volatile span."""
        seen = set()
        for spot in spots:
            i = spot.where.block
            if spot.span.likely and spot.span.changes != "per day" and i in self._marked and i not in seen:
                seen.add(i)
                block = self._prompt.blocks[i]
                told = f"this block is marked and holds '{spot.span.shown}': its entry may never be read"
                fix = "mark the last block that stays the same"
                path = f"{block.path}.cache_control"
                yield finding("marker-on-volatile", path, told, fix=fix, evidence=spot.span.shown)

    def _with_price(self, one: Finding, block: int) -> Finding:
        """Read anew each turn: from the last entry in front of the block to the last marker."""
        if not self._marked:
            return one
        sizes = (0, *self._count.cumulative)
        before = max((sizes[i + 1] for i in self._marked if i < block), default=0)
        tokens = sizes[self._marked[-1] + 1] - before
        return one.priced(tokens, self._usd(tokens, write=True))

    def _usd(self, tokens: int, *, write: bool) -> Decimal | None:
        if not self._model.price_history:
            return None
        prices = self._model.rates_at()
        fast = self._prompt.parameters.get("speed") == '"fast"'
        card = prices.card(self._count.total, fast=fast)
        paid = prices.cache_write_5m_multiplier if write else Fraction(1)
        price = card.input_usd_per_mtok * (paid - prices.cache_read_multiplier) / 1_000_000
        return exact_decimal(tokens * price)

    # --- markers

    def markers(self) -> Iterator[Finding]:
        """No marker, one below the floor, one out of reach, too many that stay."""
        if self._faults or self._layout is None:
            return
        if not self._marked:
            yield from self._unmarked()
            return
        yield from self._below_floor()
        yield from self._out_of_reach()
        yield from self._pile()

    def _unmarked(self) -> Iterator[Finding]:
        floor, end = self._model.min_cacheable_tokens, self._reusable_end()
        if floor is None or end == 0:
            return
        tokens = self._count.cumulative[end - 1]
        if self._at_least(end) < floor:
            return
        told = (
            f"nothing is marked: {tokens:,} tokens that the next request repeats are paid in full each time "
            f"({self._model.id} caches from {floor:,})"
        )
        fix = 'set "cache_control": {"type": "ephemeral"} at the top of the request'
        one = finding("no-marker", self._prompt.blocks[end - 1].path, told, fix=fix)
        yield one.priced(tokens, self._usd(tokens, write=False))

    def _reusable_end(self) -> int:
        """Behind the last block that another request is sure to repeat: answers so far, else the system."""
        answered = [i for i, block in enumerate(self._prompt.blocks) if block.role == "assistant"]
        if answered:
            return answered[-1] + 1
        return sum(block.segment != "messages" for block in self._prompt.blocks)

    def _below_floor(self) -> Iterator[Finding]:
        floor, last = self._model.min_cacheable_tokens, self._marked[-1]
        if floor is None or self._at_most(last + 1) >= floor:
            return
        told = (
            f"{self._count.cumulative[last]:,} tokens up to the last marker; {self._model.id} caches from "
            f"{floor:,}: nothing is written or read, and no error says so"
        )
        fix = "mark further back, once the prefix is longer, or leave the marker out"
        yield finding("below-floor", f"{self._prompt.blocks[last].path}", told, fix=fix)

    def _at_least(self, end: int) -> int:
        low = self._count.total if self._count.band is None else self._count.band[0]
        return self._count.cumulative[end - 1] - max(0, self._count.total - low)

    def _at_most(self, end: int) -> int:
        high = self._count.total if self._count.band is None else self._count.band[1]
        return self._count.cumulative[end - 1] + max(0, high - self._count.total)

    def _out_of_reach(self) -> Iterator[Finding]:
        """The previous request ended in front of the last answer, and its entry, if it marked its end."""
        blocks, layout = self._prompt.blocks, self._layout
        end = self._previous_end()
        if (
            layout is None
            or end is None
            or blocks[self._marked[-1]].segment != "messages"
            or self._marked[-1] <= end
        ):
            return
        by_path = {position.path: i for i, position in enumerate(layout.positions)}
        target = by_path[blocks[end].path]
        reached = (
            target in layout.looked_at(marker.position)
            for marker in layout.markers
            if marker.position >= target
        )
        if any(reached):
            return
        units = layout.positions
        newest = layout.markers[-1].position
        apart = units[newest].lookback_unit - units[target].lookback_unit
        told = (
            f"{apart} positions behind {blocks[end].path}, where the previous request ended: a marker looks "
            "at 20, its own included, so that entry is not found"
        )
        fix = f"mark {blocks[end].path} as well, or add a marker every 15 blocks or so"
        one = finding("lookback-exceeded", blocks[self._marked[-1]].path, told, fix=fix)
        yield self._with_price(one, self._marked[-1])

    def _previous_end(self) -> int | None:
        """The last block the previous request had: the one in front of the last answer."""
        blocks = self._prompt.blocks
        at = len(blocks)
        while at and blocks[at - 1].role != "assistant":
            at -= 1
        while at and blocks[at - 1].role == "assistant":
            at -= 1
        return at - 1 if at and blocks[at - 1].segment == "messages" else None

    def _pile(self) -> Iterator[Finding]:
        """All slots are taken, and the newest turn has none: markers are added and never moved."""
        blocks = self._prompt.blocks
        in_history = [i for i in self._marked if blocks[i].segment == "messages"]
        if len(self._marked) < _SLOTS or len(in_history) < 2:
            return
        newest = max((i for i, block in enumerate(blocks) if block.role == "user"), default=0)
        if blocks[in_history[-1]].message == blocks[newest].message:
            return
        told = (
            f"all {_SLOTS} markers are taken, {len(in_history)} by old messages, and the newest turn has none"
        )
        fix = "take old markers off: an entry outlives the marker that wrote it"
        yield finding("markers-accumulate", f"{blocks[in_history[-1]].path}.cache_control", told, fix=fix)

    # --- orders

    def orders(self) -> Iterator[Finding]:
        """Tools in no order, and JSON in a text whose keys are in none."""
        tools = [block for block in self._prompt.blocks if block.segment == "tools" and block.name]
        for before, after in pairwise(tools):
            if str(before.name) > str(after.name):
                told = f"'{after.name}' stands behind '{before.name}': nothing here keeps the tools in order"
                fix = "sort the tools by name, if their order does not come from a list in the source"
                yield finding("tool-order", after.path, told, fix=fix)
                break
        for one in self._texts():
            block = self._prompt.blocks[one.block]
            if block.segment == "system" and (dump := _unsorted_dump(one.text)):
                told = f"JSON with its keys in no order: {dump}"
                fix = "dump it with sort_keys=True, if a program wrote it"
                yield finding("key-order", one.path, told, fix=fix, evidence=dump)


_WHAT = {
    "clock": "the time of this request",
    "random-value": "an id made for this request or run",
    "object-identity": "the address of an object",
    "per-run-value": "something of this run or machine",
}


def _layout(prompt: Prompt, model: Model, rules: CacheRules, count: Count) -> Layout | None:
    try:
        return Layout.from_prompt(prompt, count, model=model, rules=rules)
    except InvalidRequestError:
        return None  # the faults themselves are told


def _text_path(block: Block) -> str:
    return f"{block.path}.text" if block.path.endswith("]") else block.path


def _tool_texts(index: int, block: Block) -> Iterator[_Text]:
    yield from _strings(json.loads(block.wire_bytes), index, block.path)


def _strings(value: Any, index: int, path: str) -> Iterator[_Text]:
    if isinstance(value, str):
        yield _Text(index, path, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _NOT_LIVE:
                yield from _strings(item, index, f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _strings(item, index, f"{path}[{i}]")


def _unsorted_dump(text: str) -> str:
    """The start of the first JSON object of a text that a program may have written with unsorted keys."""
    decoder, at = json.JSONDecoder(), 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        keys = list(value)
        fenced = text.count("```", 0, start) % 2 == 1  # an example
        large = len(keys) >= _FEWEST_KEYS and at - start >= _FEWEST_CHARS
        if large and not fenced and keys != sorted(keys):
            return text[start : start + _FEWEST_CHARS].replace("\n", " ") + "…"
    return ""
