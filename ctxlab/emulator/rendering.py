"""From a body in pieces to the prompt, its tokens and its layout, at the price of what is new in it.

Models: rendering, counting and laying out a request whose beginning was seen before: blocks, digests and
sizes of known messages are kept with their pieces; what the server takes out before the model reads
(:mod:`ctxlab.effective`: thinking of earlier turns, what a summary stands for).
Does not model: the rules themselves. Blocks are those of :mod:`ctxlab.prompt`, sizes those of
:mod:`ctxlab.tokens`, and a test holds both to what they give for the whole request at once.
Source: the sum over a prompt looks one message back (:mod:`ctxlab.tokens.structure`), so that a size behind
a message stays what it was whatever follows; thinking of an open tool loop and what lies before a summary
are the exceptions, and are counted whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import Any, Literal

from ctxlab import effective, tokens
from ctxlab.cache import CacheRules, Layout
from ctxlab.catalogue import Model
from ctxlab.effective.reading import speaks
from ctxlab.emulator.bodies import Body, Piece
from ctxlab.prompt import Block, Prompt, chained, extend
from ctxlab.tokens import CharactersRule, CountText, Outside, Sizer, rules_of

Counter = str | CountText | CharactersRule | None
#: What thinking costs that a model keeps: nothing, as in :mod:`ctxlab.tokens`, or what its text does.
KeptThinking = Literal["free", "text"]

#: Parameters that the sum over a prompt looks at.
_COUNTED = ("tool_choice", "thinking", "output_config", "output_format")
#: Blocks that make tokens depend on what comes later: their own, or those of what was before.
_UNSETTLED = effective.THINKING | {"compaction"}
_MOST_PARAMETERS = 1000
_NOTHING = Prompt((), {}, (), 0)
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Rendered:
    """A request as the cache sees it, and who counted it.

    ``sizes`` are the tokens up to and including each block of ``prompt``, ``total_tokens`` the whole of it.
    ``outside`` is what the token rules do not cover.
    """

    prompt: Prompt
    sizes: Sequence[int]
    total_tokens: int
    counter: str
    outside: tuple[Outside, ...]


@dataclass(frozen=True)
class Renderer:
    """Renders the bodies of one :class:`ctxlab.emulator.bodies.Reader`.

    >>> from ctxlab.catalogue import get_model
    >>> from ctxlab.emulator.bodies import Reader
    >>> body = Reader().read(b'{"messages": [{"role": "user", "content": "Hi"}]}')
    >>> rendered = Renderer(lambda text, vocabulary: 1).render(body, get_model("claude-opus-5-5"))
    >>> rendered.total_tokens, rendered.sizes
    (7, [5])
    """

    counter: Counter = None
    kept_thinking: KeptThinking = "free"
    _known_parameters: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _known_sizers: dict[tuple[str | None, ...], Sizer] = field(default_factory=dict)

    def render(self, body: Body, model: Model, *, keeps_thinking: str | None = None) -> Rendered:
        """The prompt of a body that was found legal, and its tokens.

        ``keeps_thinking`` is "all" where an edit has already said what stays; else the model has its way.
        """
        pieces = body.messages or []
        head = _head(body)
        parts = _render(pieces, head)
        prompt = self._prompt(body, head, parts)
        unsettled = parts[-1].unsettled if parts else frozenset()
        if unsettled:
            gone = effective.unread(prompt.blocks, model, keeps_thinking=keeps_thinking)
            prompt = effective.without(prompt, gone)
        by_what_comes_later = "compaction" in unsettled or (
            unsettled & effective.THINKING
            and (keeps_thinking or rules_of(model.vocabulary, model).open_thinking is not None)
        )
        if by_what_comes_later or self._is_by_thumb:
            counted = tokens.count(prompt, model, counter=self.counter)
            rendered = _rendered(
                prompt, counted.cumulative, counted.tail_tokens, counted.counter, counted.outside
            )
        else:
            rendered = self._count(prompt, head, pieces, parts, self._sizer(prompt, model))
        return self._with_thinking(rendered, model) if unsettled & effective.THINKING else rendered

    def whole(self, body: Body) -> Prompt:
        """The prompt with everything that was sent, read or not."""
        head = _head(body)
        return self._prompt(body, head, _render(body.messages or [], head))

    def _prompt(self, body: Body, head: _Head, parts: Sequence[_Part]) -> Prompt:
        return Prompt(
            head.blocks + tuple(chain.from_iterable(part.blocks for part in parts)),
            self._parameters(body),
            head.chain + tuple(chain.from_iterable(part.chain for part in parts)),
            len(parts),
        )

    def _with_thinking(self, rendered: Rendered, model: Model) -> Rendered:
        """Thinking that is kept and costs nothing by the rules, at what its text does."""
        if self.kept_thinking == "free":
            return rendered
        blocks = rendered.prompt.blocks
        closed = len(blocks)  # thinking of an open tool loop is counted by the rules of some models
        if rules_of(model.vocabulary, model).open_thinking is not None:
            closed = max((i for i, block in enumerate(blocks) if speaks(block)), default=0)
        sizes, more = [], 0
        for i, (block, end) in enumerate(zip(blocks, rendered.sizes, strict=True)):
            if block.type == "thinking" and i < closed:
                more += self.content_tokens({"type": "text", "text": _thought(block)}, model)
            sizes.append(end + more)
        return replace(rendered, sizes=sizes, total_tokens=rendered.total_tokens + more)

    def content_tokens(self, content: Mapping[str, Any], model: Model) -> int:
        """Tokens of a content block of the assistant's, nothing around it."""
        (block,) = extend(_NOTHING, [{"role": "assistant", "content": [content]}]).blocks
        if self._is_by_thumb:
            return tokens.content_tokens(block, model, counter=self.counter)
        return self._sizer(_NOTHING, model).content_tokens(block)

    def _parameters(self, body: Body) -> Mapping[str, str]:
        """What the prompt keeps of every other field; requests of one program repeat it."""
        rest = {name: value for name, value in body.members.items() if name not in ("tools", "system")}
        key = _json(rest)
        if key not in self._known_parameters:
            if len(self._known_parameters) >= _MOST_PARAMETERS:
                self._known_parameters.clear()
                self._known_sizers.clear()
            self._known_parameters[key] = Prompt.from_request({**rest, "messages": []}).parameters
        return self._known_parameters[key]

    @property
    def _is_by_thumb(self) -> bool:
        return isinstance(self.counter, CharactersRule) or self.counter in tokens.rules()

    def _sizer(self, prompt: Prompt, model: Model) -> Sizer:
        key = (model.id, *(prompt.parameters.get(name) for name in _COUNTED))
        if key not in self._known_sizers:
            self._known_sizers[key] = Sizer.of(prompt.parameters, model, counter=self.counter)
        return self._known_sizers[key]

    def _count(
        self, prompt: Prompt, head: _Head, pieces: Sequence[Piece], parts: Sequence[_Part], sizer: Sizer
    ) -> Rendered:
        """Count what is new behind the one message before it, and move it to where the known sizes end."""
        key = (head, sizer)
        known = len(pieces)
        while known and key not in pieces[known - 1].facts:
            known -= 1
        start = max(min(known, len(pieces) - 1) - 1, 0)
        while start and not parts[start].blocks:
            start -= 1
        window = head.blocks + tuple(chain.from_iterable(part.blocks for part in parts[start:]))
        ends, tail_tokens, outside = sizer.sizes(window)
        at = len(head.blocks)
        before = pieces[known - 1].facts[key] if known else _Size(ends[:at][-1:], ())
        at += sum(len(part.blocks) for part in parts[start:known])
        moved = (before.ends[-1] if before.ends else 0) - (ends[at - 1] if at else 0)
        for piece, part in zip(pieces[known:], parts[known:], strict=True):
            here = tuple(end + moved for end in ends[at : at + len(part.blocks)])
            at += len(part.blocks)
            before = _Size(here or before.ends[-1:], (*before.outside, *_outside(outside, part.blocks)))
            piece.facts[key] = before
        sizes = [*ends[: len(head.blocks)]]
        for piece, part in zip(pieces, parts, strict=True):
            sizes += piece.facts[key].ends if part.blocks else ()
        elsewhere = (one for one in outside if not one.path.startswith("messages["))
        return _rendered(prompt, sizes, tail_tokens, sizer.counter, (*elsewhere, *before.outside))


def _thought(block: Block) -> str:
    return str(json.loads(block.wire_bytes).get("thinking") or "")


def _rendered(
    prompt: Prompt, sizes: Sequence[int], tail_tokens: int, counter: str, outside: tuple[Outside, ...]
) -> Rendered:
    """A prefix never shrinks. With a counter of one's own a sum could, since a constant is taken off what it
    finds in a rendering; such a block is taken to add nothing."""
    grown = list(accumulate(sizes, max))
    last = grown[-1] if grown else 0
    total = max((sizes[-1] if sizes else 0) + tail_tokens, last)
    return Rendered(prompt, grown, total, counter, outside)


def lay_out(rendered: Rendered, model: Model, workspace: str, rules: CacheRules) -> Layout:
    """The layout of a rendered request. Raises :class:`ctxlab.errors.InvalidRequestError` for its markers."""
    return Layout.from_prompt(
        rendered.prompt,
        rendered.sizes,
        total_tokens=rendered.total_tokens,
        model=model,
        workspace=workspace,
        rules=rules,
    )


class _Head:
    """Tools and system prompt, rendered; one object for each pair of pieces, so that it can be a key."""

    def __init__(self, body: Body):
        parts = {"tools": body.tools.value, "system": body.system.value}
        prompt = Prompt.from_request({**parts, "messages": []})
        self.blocks = prompt.blocks
        self.chain = tuple(chained(prompt.blocks))
        self.digest = self.chain[-1] if self.chain else b""


def _head(body: Body) -> _Head:
    if body.system not in body.tools.facts:
        body.tools.facts[body.system] = _Head(body)
    head: _Head = body.tools.facts[body.system]
    return head


@dataclass(frozen=True, slots=True)
class _Part:
    """One message, rendered behind its head; which unsettling types it or one before it has."""

    blocks: tuple[Block, ...]
    chain: tuple[bytes, ...]
    digest: bytes
    unsettled: frozenset[str]


def _render(pieces: Sequence[Piece], head: _Head) -> list[_Part]:
    """Every message behind its head; those that are new there are read in one go."""
    known = len(pieces)
    while known and head not in pieces[known - 1].facts:
        known -= 1
    parts: list[_Part] = [piece.facts[head] for piece in pieces[:known]]
    before = parts[-1] if parts else _Part((), (), head.digest, frozenset())
    if known == len(pieces):
        return parts
    new = extend(Prompt((), {}, (before.digest,), known), [piece.value for piece in pieces[known:]]).blocks
    by_message: dict[int | None, list[Block]] = {}
    for block in new:
        by_message.setdefault(block.message, []).append(block)
    for number in range(known, len(pieces)):
        blocks = tuple(by_message.get(number, ()))
        links = tuple(chained(blocks, before.digest))
        unsettled = before.unsettled | _UNSETTLED.intersection(block.type for block in blocks)
        before = _Part(blocks, links, links[-1] if links else before.digest, unsettled)
        pieces[number].facts[head] = before
        parts.append(before)
    return parts


@dataclass(frozen=True, slots=True)
class _Size:
    """Tokens up to each block of a message, and what the rules do not cover in it and before it."""

    ends: tuple[int, ...]
    outside: tuple[Outside, ...]


def _outside(outside: Sequence[Outside], blocks: Sequence[Block]) -> tuple[Outside, ...]:
    paths = tuple(block.path for block in blocks)
    return tuple(one for one in outside if paths and one.path.startswith(paths))
