"""The prefix ledger of a request: what stands where, how many tokens that is, and how much of it is warm.

Models: tokens up to every block, what sending the request now would read from the cache, write to it and pay
in full (by the cache's own rules), and the same for an edited request, at the price of reading what is new
in it.
Does not model: entries of other conversations, time that passes (:mod:`ctxlab.cache` does), thinking that the
server drops only later.
Source: :mod:`ctxlab.cache`, :mod:`ctxlab.tokens`, :mod:`ctxlab.effective`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ctxlab.cache import CacheRules, Layout, Plan, PromptCache, Ttl
from ctxlab.catalogue import Model, get_model
from ctxlab.clock import ManualClock
from ctxlab.effective import unread, without
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.prompt import Block, Prompt, chained, extend
from ctxlab.prompt.objects import is_list
from ctxlab.tokens import CharactersRule, CountText, count, rules_of
from ctxlab.usage import CacheCreation, Usage
from ctxlab.validity import check
from ctxlab.validity.rule import Messages, read, read_one

Counter = str | CountText | CharactersRule | None
_NEXT = {"role": "user", "content": "…"}


@dataclass(frozen=True, eq=False, repr=False)
class PrefixLedger:
    """One request, counted and priced against what is warm.

    ``prompt`` holds every block as sent, ``read`` those the model reads. ``cumulative_tokens`` are the tokens
    up to and including each block of ``read``; ``plan`` is what sending the request now does to the cache.
    The first ``sent_blocks`` blocks of ``read`` were sent before.
    """

    request: Mapping[str, Any]
    model: Model
    prompt: Prompt
    read: Prompt
    cumulative_tokens: tuple[int, ...]
    total_tokens: int
    plan: Plan
    counter: Counter
    rules: CacheRules | None
    sent_blocks: int
    _warm: _Warm
    _messages: tuple[Any, ...]
    _by_message: Mapping[int, tuple[Block, ...]]

    def __repr__(self) -> str:
        warm = f"{self.warm_tokens:,} warm"
        return f"<PrefixLedger: {len(self.prompt)} blocks, {self.total_tokens:,} tokens, {warm}>"

    @classmethod
    def of(
        cls,
        request: Mapping[str, Any],
        *,
        sent: Mapping[str, Any] | Literal[True] | None = True,
        model: str | Model | None = None,
        counter: Counter = None,
        rules: CacheRules | None = None,
    ) -> PrefixLedger:
        """The ledger of a request. ``model`` defaults to the one it names.

        ``sent`` is the request of this conversation that was answered last and whose entries are alive, True
        for this very one, None where nothing is warm.

        Raises :class:`ctxlab.errors.InvalidRequestError` for a body that cannot be read or markers the API
        refuses, :class:`ctxlab.errors.UnknownModelError`, :class:`InvalidArgumentError` without a model.

        >>> mark = {"type": "ephemeral"}
        >>> body = {"model": "claude-opus-5-5", "cache_control": mark, "system": "Be brief. " * 400,
        ...     "messages": [{"role": "user", "content": "Hi"}]}
        >>> ledger = PrefixLedger.of(body, counter=lambda text, vocabulary: len(text))
        >>> ledger.warm_tokens, ledger.plan.fresh_tokens
        (4007, 2)
        """
        body_of(request)
        named = request.get("model") if model is None else model
        if named is None:
            raise InvalidArgumentError(Problem("model", "required", "is missing", "name a model"))
        known, prompt = get_model(named), Prompt.from_request(request)
        laid = _lay_out(prompt, known, counter, rules)
        before = laid if sent is True else None
        if isinstance(sent, Mapping):
            before = _lay_out(Prompt.from_request(sent), known, counter, rules)
        layouts = () if before is None else (before.layout,)
        warm = _Warm(layouts, () if before is None else before.read.chain(), _cache(layouts, rules))
        return cls._made(request, known, prompt, counter, rules, warm, laid)

    @classmethod
    def _made(
        cls,
        request: Mapping[str, Any],
        model: Model,
        prompt: Prompt,
        counter: Counter,
        rules: CacheRules | None,
        warm: _Warm,
        laid: _Laid,
    ) -> PrefixLedger:
        by_message: dict[int, list[Block]] = {}
        for block in prompt.blocks:
            if block.message is not None:
                by_message.setdefault(block.message, []).append(block)
        return cls(
            request=request,
            model=model,
            prompt=prompt,
            read=laid.read,
            cumulative_tokens=laid.sizes,
            total_tokens=laid.layout.total_tokens or 0,
            plan=warm.cache.lookup(laid.layout),
            counter=counter,
            rules=rules,
            sent_blocks=shared(laid.read.chain(), warm.chain),
            _warm=warm,
            _messages=tuple(request.get("messages") or ()),
            _by_message={number: tuple(blocks) for number, blocks in by_message.items()},
        )

    @property
    def warm_tokens(self) -> int:
        """How much of the prefix the cache has now."""
        return self.plan.read_tokens or 0

    @property
    def fixed_tokens(self) -> int:
        """Tools and system prompt: what no lever can take away."""
        fixed = [
            n for n, b in zip(self.cumulative_tokens, self.read.blocks, strict=True) if b.message is None
        ]
        return fixed[-1] if fixed else 0

    def tokens_of(self, path: str) -> int:
        """Tokens that a block, or a whole message (``messages[3]``), adds to the prompt.

        Raises :class:`InvalidArgumentError` for a path that names nothing the model reads.
        """
        own = self._tokens_by_path.get(path)
        found = (
            [own] if own is not None else [t for at, t in self._tokens_by_path.items() if _is_in(at, path)]
        )
        if not found:
            raise InvalidArgumentError(Problem("path", "names-a-block", f"is {path!r}"))
        return sum(found)

    def reads(self, path: str) -> bool:
        """Whether the model reads the block at a path: none before the last compaction block."""
        return path in self._tokens_by_path

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What the request's messages break (:func:`ctxlab.validity.check`), found once.

        A list that ends with an answer is at rest: what its next message settles (a prefill) breaks nothing.
        """
        messages = self.messages_read
        found = tuple(check({**self.request, "messages": messages}, self.model))
        if not found or not messages or messages[-1].role != "assistant":
            return found
        gone_on = Messages((*messages, read_one(_NEXT, len(messages))))
        later = tuple(check({**self.request, "messages": gone_on}, self.model))
        lasting = {(one.path, one.rule) for one in later}
        return tuple(one for one in found if (one.path, one.rule) in lasting) or later

    @cached_property
    def messages_read(self) -> Messages:
        """The request's messages as the rules of :mod:`ctxlab.validity` read them, read once."""
        return read(self._messages)

    @cached_property
    def _tokens_by_path(self) -> Mapping[str, int]:
        return {block.path: self._added(i) for i, block in enumerate(self.read.blocks)}

    def message_tokens(self) -> list[int]:
        """Tokens each message adds, by number; 0 for one the model does not read."""
        added = [0] * len(self._messages)
        for i, block in enumerate(self.read.blocks):
            if block.message is not None:
                added[block.message] += self._added(i)
        return added

    def after(self, request: Mapping[str, Any]) -> PrefixLedger:
        """The ledger of an edited request against the same cache.

        Only what is not shared is read again: messages that are the same objects are taken to be as they
        were. Messages added to the list of this very request, or taken from it, are noticed.
        """
        given = body_of(request).get("messages") or ()
        if request is self.request and [*map(id, given)] == [*map(id, self._messages)]:
            return self
        prompt = self._prompt_of(request)
        laid = _lay_out(prompt, self.model, self.counter, self.rules)
        made = self._made(request, self.model, prompt, self.counter, self.rules, self._warm, laid)
        stayed = {(n, id(one)): self.messages_read[n] for n, one in enumerate(self._messages)}
        vars(made)["messages_read"] = Messages(  # what stayed where it was is not read again
            stayed.get((n, id(one))) or read_one(one, n) for n, one in enumerate(made._messages)
        )
        return made

    def having_sent(self, request: Mapping[str, Any]) -> PrefixLedger:
        """The same ledger once another request made from this one (a call for a summary) was answered."""
        laid = _lay_out(self._prompt_of(request), self.model, self.counter, self.rules)
        layouts = (*self._warm.layouts, laid.layout)
        warm = _Warm(layouts, self._warm.chain, _cache(layouts, self.rules))
        return replace(self, plan=warm.cache.lookup(self.plan.layout), _warm=warm)

    def side(self) -> Side:
        """The bill of this request and of those that go on from it."""
        plan, layout = self.plan, self.plan.layout
        fits = [report.marker for report in plan.markers if report.fits]
        fixed = [m for m in fits if layout.positions[m.position].tier != "messages"]
        tail = [m for m in layout.markers if layout.positions[m.position].tier == "messages"][-1:]
        ends = [layout.positions[marker.position].cumulative_tokens or 0 for marker in (*fixed[-1:], *tail)]
        return Side(
            now=plan.usage(),
            total_tokens=self.total_tokens,
            fixed_tokens=ends[0] if fixed else 0,
            tail_tokens=ends[-1] if tail else None,
            tail_ttl=tail[0].ttl if tail else "5m",
            behind_tokens=self._behind_a_text(),
            floor_tokens=plan.floor_tokens,
        )

    def _behind_a_text(self) -> int:
        """Tokens behind the last block where that is a text: a marker on results covers some of them."""
        blocks = self.read.blocks
        behind = self.total_tokens - (self.cumulative_tokens[-1] if blocks else 0)
        if blocks and blocks[-1].type == "tool_result":
            constants = rules_of(self.model.vocabulary, self.model)
            behind += constants.at_text_end - constants.at_results_end
        return behind

    def _added(self, i: int) -> int:
        return self.cumulative_tokens[i] - (self.cumulative_tokens[i - 1] if i else 0)

    def _prompt_of(self, request: Mapping[str, Any]) -> Prompt:
        head = self._head(request)
        numbers = {id(message): n for n, message in enumerate(self._messages)}
        messages: Sequence[Any] = request["messages"]
        blocks = list(head.blocks)
        for number, message in enumerate(messages):
            at = numbers.get(id(message))
            if at is None:
                blocks += extend(Prompt((), {}, (), number), [message]).blocks
            elif at == number:
                blocks += self._by_message.get(at, ())
            else:
                blocks += (_renumbered(block, number) for block in self._by_message.get(at, ()))
        return Prompt(tuple(blocks), head.parameters, tuple(chained(blocks)), len(messages))

    def _head(self, request: Mapping[str, Any]) -> Prompt:
        """Tools, system prompt and parameters, those of this ledger where they are the same objects."""
        same = all(request.get(name) is self.request.get(name) for name in ("tools", "system"))
        if not same:
            return Prompt.from_request({**request, "messages": []})
        rest = {name: value for name, value in request.items() if name not in ("tools", "system")}
        own = tuple(block for block in self.prompt.blocks if block.message is None)
        return Prompt(own, Prompt.from_request({**rest, "messages": []}).parameters, (), 0)


class _Warm(NamedTuple):
    """What was sent: layouts in their order, the chain of the first, and the cache they left."""

    layouts: tuple[Layout, ...]
    chain: Sequence[str]
    cache: PromptCache


def _cache(layouts: Sequence[Layout], rules: CacheRules | None) -> PromptCache:
    cache = PromptCache(ManualClock(), rules)
    for layout in layouts:
        cache.commit(cache.lookup(layout))
    return cache


@dataclass(frozen=True, slots=True)
class Side:
    """What a request costs now and, going on from it turn by turn, later.

    ``now`` is the usage of sending it; ``fixed_tokens`` the prefix that a marker on tools or system prompt
    keeps, ``tail_tokens`` the one up to the marker in the messages, which moves with the conversation (None:
    there is none); in later turns it stands on a text, ``behind_tokens`` before the end. A prefix below
    ``floor_tokens`` is not cached.
    """

    now: Usage
    total_tokens: int
    fixed_tokens: int
    tail_tokens: int | None
    tail_ttl: Ttl
    behind_tokens: int
    floor_tokens: int

    @property
    def is_settled(self) -> bool:
        """Whether every later turn is billed alike: no marker has still to reach the floor."""
        return self.tail_tokens is None or self.tail_tokens >= self.floor_tokens

    def later(self, before_tokens: int, added_tokens: int, output_tokens: int = 0) -> Usage:
        """The usage of a later turn: ``before_tokens`` were added up to the turn before it, then some more.

        The turn before has left its entry at its tail; the marker has moved to the new end.
        """
        total = self.total_tokens + before_tokens + added_tokens
        read = self.fixed_tokens if self.fixed_tokens >= self.floor_tokens else 0
        written = 0
        if self.tail_tokens is not None:
            earlier, end = self.total_tokens + before_tokens - self.behind_tokens, total - self.behind_tokens
            if before_tokens == 0:
                earlier = self.tail_tokens
            if earlier >= self.floor_tokens:
                read = max(read, earlier)
            if end >= self.floor_tokens:
                written = max(end - read, 0)
        long = self.tail_ttl == "1h"
        creation = CacheCreation(0 if long else written, written if long else 0)
        return Usage(
            input_tokens=total - read - written,
            cache_read_input_tokens=read,
            cache_creation=creation,
            output_tokens=output_tokens,
        )


def body_of(request: Any) -> Mapping[str, Any]:
    """The request itself, where it is a body with messages.

    Raises :class:`ctxlab.errors.InvalidRequestError`.
    """
    if not isinstance(request, Mapping):
        says = f"is of type {type(request).__name__}"
        raise InvalidRequestError(Problem("request", "object", says, "pass the body, with its messages"))
    if not is_list(request.get("messages")):
        says = "is not a list" if "messages" in request else "is missing"
        raise InvalidRequestError(Problem("messages", "list", says, "pass a list of messages"))
    return request


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many leading blocks two chains of digests have in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


class _Laid(NamedTuple):
    """A prompt as the model reads it, the tokens up to each of its blocks, and its layout."""

    read: Prompt
    sizes: tuple[int, ...]
    layout: Layout


def _lay_out(prompt: Prompt, model: Model, counter: Counter, rules: CacheRules | None) -> _Laid:
    read = without(prompt, unread(prompt.blocks, model))
    counted = count(read, model, counter=counter)
    grown: list[int] = []
    for size in counted.cumulative:  # a prefix never shrinks, whatever a counter of one's own may say
        grown.append(max(size, grown[-1] if grown else 0))
    total = max(counted.total, grown[-1] if grown else 0)
    layout = Layout.from_prompt(read, grown, total_tokens=total, model=model, rules=rules)
    return _Laid(read, tuple(grown), layout)


def _renumbered(block: Block, number: int) -> Block:
    """The block as one of another message."""
    if block.message == number:
        return block
    place = f"messages[{number}]"
    inside = tuple(replace(part, path=place + _behind(part.path)) for part in block.parts)
    return replace(block, message=number, path=place + _behind(block.path), parts=inside)


def _behind(path: str) -> str:
    return path[path.index("]") + 1 :]


def _is_in(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) : len(place) + 1] in (".", "[")
