"""Tokens of a prompt before anybody is asked, with the place of every one of them.

Models: the sum of :mod:`ctxlab.tokens.structure` over a request, a recording or plain blocks; who counted; a
band where something is outside the rules or the counter is a ratio.
Does not model: what context edits take out of a request before it is counted (thinking of earlier turns is
taken out: it costs 0), or where one token ends and the next begins.

Source: as the modules below; the agreement with recorded totals is computed in
``tests/test_tokens_recorded.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from fractions import Fraction
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

from ctxlab.catalogue import Model, get_model
from ctxlab.images import TIERS, Tier
from ctxlab.prompt import Prompt
from ctxlab.tokens.arguments import (
    IN_PROMPT,
    argument_error,
    blocks_of,
    counter_for,
    model_and_vocabulary,
    parameters_of,
)
from ctxlab.tokens.counters import (
    CountText,
    Memory,
    Text,
    TextCounter,
    calibrated_characters,
)
from ctxlab.tokens.reading import Reader, recorded_contents, recorded_text, schema_chars, settings_of
from ctxlab.tokens.structure import Content, Outside, Settings, add_up
from ctxlab.tokens.table import Rules, preambles, rules_of
from ctxlab.tokens.thumb import Band, CharactersRule, band_of

_MEMORY = Memory()
_SMALL_WINDOW_TOKENS = 200_000
_MOST_PREAMBLE_TOKENS = 900  # above every one that was ever published


@dataclass(frozen=True, slots=True)
class Count:
    """Tokens of a prompt. ``by_block`` and ``tail_tokens`` add up to ``total``.

    ``by_block[i]`` is what block i adds to the prefix, with the hidden tokens that stand ahead of it;
    ``content`` is the part of it that the block shows. ``tail_tokens`` stand behind the last block, where no
    marker covers them. ``schema_tokens`` are those of an output schema, which no block shows. ``band`` holds
    the total unless something unknown is in it (None: the counter is exact and nothing is outside the rules,
    or nobody measured a counter of your own). ``setting`` is a digest of model, tools and parameters: what a
    :class:`Calibration` learns holds for it.
    """

    total: int
    by_block: tuple[int, ...]
    tail_tokens: int
    content: tuple[int, ...]
    counter: str
    vocabulary: str
    band: tuple[int, int] | None
    outside: tuple[Outside, ...] = ()
    setting: str = ""
    messages_from: int = 0
    learned_tokens: int = 0
    schema_tokens: int = 0

    @property
    def cumulative(self) -> tuple[int, ...]:
        """Tokens of the prefix up to and including each block: what a marker on it would cover."""
        return tuple(accumulate(self.by_block))

    @property
    def hidden_tokens(self) -> int:
        """What no block shows."""
        return self.total - sum(self.content)

    @property
    def not_estimable(self) -> tuple[str, ...]:
        """Why the total is only a guess, each reason once; empty when the rules cover everything."""
        return tuple(dict.fromkeys(one.reason for one in self.outside))


def count(
    prompt: Any,
    model: str | Model | None = None,
    *,
    counter: str | CountText | CharactersRule | None = None,
    vocabulary: str | None = None,
    on: date | None = None,
) -> Count:
    """Tokens of a prompt: anything with ``blocks`` (and ``parameters``), or blocks themselves.

    ``counter`` counts texts: a function of (text, vocabulary), ``"ctok"`` or ``"calibrated_characters"``; by
    default the first of these two that can (ctok has to be installed and needs texts). The name of a rule of
    thumb from :func:`rules`, or such a rule, counts characters and nothing else. ``vocabulary`` stands in for
    a model that the catalogue does not have. ``on`` is the day of the request (default: the latest rules).

    Raises :class:`UnknownModelError`, and :class:`InvalidArgumentError` for what has no blocks, for a counter
    that does not exist or answers nonsense.

    >>> question = {"role": "user", "content": "What is the capital of France?"}
    >>> prompt = Prompt.from_request({"messages": [question]})
    >>> found = count(prompt, "claude-opus-5-5", counter="calibrated_characters")
    >>> found.total, found.by_block, found.tail_tokens
    (18, (16,), 2)
    >>> count(prompt, "claude-opus-5-5", counter="four_characters").total
    8
    """
    blocks = blocks_of(prompt)
    known, vocabulary = model_and_vocabulary(model, vocabulary)
    chosen = counter_for(counter, blocks)
    constants = rules_of(vocabulary, known, on)
    if isinstance(chosen, CharactersRule):
        return _by_thumb(blocks, vocabulary, chosen, schema_chars(parameters_of(prompt)))
    reader = _reader(chosen, known, vocabulary)
    settings = settings_of(parameters_of(prompt), lambda text: _remembered(reader, text), constants)
    contents = reader.contents(blocks)
    return _count(prompt, blocks, contents, settings, constants, known, vocabulary, chosen.name, chosen.bands)


def count_recorded(exchange: Any) -> Count:
    """Tokens of a recorded request by the counts of its single texts: no text and no tokenizer needed.

    Raises :class:`UnknownModelError` where the row's model is not in the catalogue, and
    :class:`InvalidArgumentError` for what is no recorded exchange.
    """
    if not all(hasattr(exchange, name) for name in ("model_id", "rendered_pieces", "request_known")):
        kind = type(exchange).__name__
        raise argument_error(
            "exchange", "is-recorded", f"is of type {kind}", "pass a row of ctxlab.recordings"
        )
    known = get_model(exchange.model_id)
    vocabulary = known.vocabulary
    constants = rules_of(vocabulary, known, recorded_on(exchange))
    reader = _reader(calibrated_characters(), known, vocabulary)
    pieces = exchange.rendered_pieces
    settings = settings_of(exchange.parameters, recorded_text(pieces), constants)
    if not exchange.request_known:
        unknown = Outside("request", "request not recorded", 0, 0, known.window_tokens or 0)
        settings = replace(settings, outside=(unknown, *settings.outside))
    blocks = exchange.blocks
    contents = recorded_contents(blocks, pieces, reader, constants)
    return _count(exchange, blocks, contents, settings, constants, known, vocabulary, "recorded counts", ())


def recorded_on(exchange: Any) -> date | None:
    """The day a row was recorded, or the latest it can be from; None when neither is known."""
    moment = exchange.recorded_at or exchange.source.committed_at
    return None if moment is None else moment.astimezone(UTC).date()


def output_tokens_of_text(
    text: str,
    model: str | Model,
    *,
    counter: str | CountText | None = None,
) -> int:
    """Output tokens of a reply that is one text. Raises as :func:`count`, and for a rule of thumb.

    >>> output_tokens_of_text("Paris.", "claude-opus-5-5", counter=lambda text, vocabulary: 2)
    4
    """
    if not isinstance(text, str):
        raise argument_error(
            "text", "is-text", f"is of type {type(text).__name__}", "pass the text of the reply"
        )
    known = get_model(model)
    chosen = counter_for(counter, ())
    if isinstance(chosen, CharactersRule):
        raise argument_error(
            "counter", "counts-texts", f"{chosen.name} counts whole requests", "name a text counter"
        )
    tokens = chosen.tokens(Text("text", len(text), text), known.vocabulary)
    return tokens + rules_of(known.vocabulary, known).reply


@dataclass(frozen=True, eq=False)
class Sizer:
    """:func:`count` for many prompts with one model, one counter and the same parameters.

    Where only sizes are asked for, turn after turn, what does not change is worked out once.

    >>> sizer = Sizer.of({}, "claude-opus-5-5", counter=lambda text, vocabulary: 1)
    >>> hello = Prompt.from_request({"messages": [{"role": "user", "content": "Hello"}]})
    >>> sizer.sizes(hello.blocks)
    ((5,), 2, ())
    """

    counter: str
    _model: Model
    _reader: Reader
    _settings: Settings
    _constants: Rules

    @classmethod
    def of(
        cls,
        parameters: Mapping[str, str],
        model: str | Model,
        *,
        counter: str | CountText | CharactersRule | None = None,
    ) -> Sizer:
        """``parameters`` are those of a :class:`Prompt`. Raises as :func:`count`, and for a rule of thumb."""
        known, vocabulary = model_and_vocabulary(model, None)
        chosen = counter_for(counter, ())
        if known is None or isinstance(chosen, CharactersRule):
            raise argument_error(
                "counter", "counts-texts", f"is {counter!r}, a rule of thumb", "name a text counter"
            )
        if not isinstance(parameters, Mapping):
            kind = type(parameters).__name__
            raise argument_error("parameters", "object", f"is of type {kind}", "pass those of a Prompt")
        reader = _reader(chosen, known, vocabulary)
        constants = rules_of(vocabulary, known)
        settings = settings_of(
            parameters_of(Prompt((), parameters, (), 0)), lambda text: _remembered(reader, text), constants
        )
        return cls(chosen.name, known, reader, settings, constants)

    def sizes(self, blocks: Sequence[Any]) -> tuple[tuple[int, ...], int, tuple[Outside, ...]]:
        """Tokens up to and including each block, tokens behind the last one, and what no rule covers."""
        contents = self._reader.contents(blocks)
        added = add_up(blocks, contents, self._settings, self._constants)
        live = any(content.kind in ("tool", "api tool") for content in contents)
        outside = (
            *_outside_blocks(blocks, contents),
            *_outside_model(
                blocks, self._model, self._reader.vocabulary, self._settings, self._constants, live
            ),
            *self._settings.outside,
        )
        return tuple(accumulate(added.by_block)), added.tail, outside

    def content_tokens(self, block: Any) -> int:
        """:func:`content_tokens` of one block."""
        return self._reader.contents((block,))[0].tokens


def content_tokens(
    block: Any, model: str | Model, *, counter: str | CountText | CharactersRule | None = None
) -> int:
    """Tokens of the text or rendering of one block of a :class:`Prompt`, nothing around it.

    What :func:`count` finds for that block in any request; both remember it for each other. Raises as
    :func:`count`.

    >>> reply = Prompt.from_request({"messages": [{"role": "assistant", "content": "Paris."}]}).blocks[0]
    >>> content_tokens(reply, "claude-opus-5-5", counter=lambda text, vocabulary: 2)
    2
    """
    known = get_model(model)
    (block,) = blocks_of((block,))
    chosen = counter_for(counter, (block,))
    if isinstance(chosen, CharactersRule):
        return _by_thumb((block,), known.vocabulary, chosen).total
    return _reader(chosen, known, known.vocabulary).contents((block,))[0].tokens


def contents_tokens(
    prompt: Prompt, model: str | Model, *, counter: str | CountText | None = None
) -> tuple[int, ...]:
    """:func:`content_tokens` of every block where it stands: one of several results is counted with its name.

    Raises as :func:`count`.

    >>> hello = Prompt.from_request({"messages": [{"role": "user", "content": "Hello"}]})
    >>> contents_tokens(hello, "claude-opus-5-5", counter=lambda text, vocabulary: 2)
    (2,)
    """
    known = get_model(model)
    blocks = blocks_of(prompt)
    chosen = counter_for(counter, blocks)
    if isinstance(chosen, CharactersRule):
        return _by_thumb(blocks, known.vocabulary, chosen).by_block
    return tuple(one.tokens for one in _reader(chosen, known, known.vocabulary).contents(blocks))


def compaction_pass_tokens(count: Count, model: str | Model) -> int:
    """Input tokens of the pass in which the server summarises a prompt of this size.

    >>> hello = Prompt.from_request({"messages": [{"role": "user", "content": "Hello"}]})
    >>> sized = count(hello, "claude-opus-4-6")
    >>> compaction_pass_tokens(sized, "claude-opus-4-6") - sized.total
    168
    """
    check_count(count)
    known = get_model(model)
    return count.total + rules_of(known.vocabulary, known).compaction_pass


# --- how a count is put together


def _count(
    prompt: Any,
    blocks: Sequence[Any],
    contents: Sequence[Content],
    settings: Settings,
    constants: Rules,
    model: Model | None,
    vocabulary: str,
    counter: str,
    bands: Sequence[Band],
) -> Count:
    added = add_up(blocks, contents, settings, constants)
    total = sum(added.by_block) + added.tail
    live = any(content.kind in ("tool", "api tool") for content in contents)
    outside = (
        *_outside_blocks(blocks, contents),
        *_outside_model(blocks, model, vocabulary, settings, constants, live),
        *settings.outside,
    )
    return Count(
        total=total,
        by_block=tuple(added.by_block),
        tail_tokens=added.tail,
        content=tuple(added.content),
        counter=counter,
        vocabulary=vocabulary,
        band=_band(bands, live, total, outside),
        outside=outside,
        setting=_setting(prompt, blocks, model, vocabulary, counter),
        messages_from=sum(block.segment != "messages" for block in blocks),
        schema_tokens=settings.schema_tokens or 0,
    )


def _band(
    bands: Sequence[Band], live: bool, total: int, outside: Sequence[Outside]
) -> tuple[int, int] | None:
    measured = band_of(bands, live, total)
    if measured is None and not outside:
        return None
    low, high = measured or (total, total)
    below = sum(one.low_tokens - one.assumed_tokens for one in outside)
    above = sum(one.high_tokens - one.assumed_tokens for one in outside)
    return max(low + below, 0), high + above


def _outside_blocks(blocks: Sequence[Any], contents: Sequence[Content]) -> Iterable[Outside]:
    for i, (block, content) in enumerate(zip(blocks, contents, strict=True)):
        for one in content.outside:
            yield replace(one, path=_path(block, i) + one.path)


def _outside_model(
    blocks: Sequence[Any],
    model: Model | None,
    vocabulary: str,
    settings: Settings,
    constants: Rules,
    live: bool,
) -> Iterable[Outside]:
    preamble = constants.forced_preamble if settings.forced else constants.preamble
    if model is None:
        least, most = preambles(vocabulary)
        used = (preamble or 0) if live else 0
        low, high = (least, most) if live else (0, 0)
        yield Outside("model", "model not in the catalogue", used, low, high)
    elif live and preamble is None:
        yield Outside("tools", "tool preamble not known", 0, 0, _MOST_PREAMBLE_TOKENS)
    if model is not None and model.keeps_thinking == "all":
        for i, block in enumerate(blocks):
            if block.type in ("thinking", "redacted_thinking"):
                # the text of a block is a summary, its signature holds the whole
                sent = getattr(block, "wire_bytes", None)
                chars = (block.chars or 0) + (block.signature_chars or 0) if sent is None else len(sent)
                yield Outside(_path(block, i), "thinking that this model keeps", 0, 0, chars // 2)


def _path(block: Any, i: int) -> str:
    return str(getattr(block, "path", f"blocks[{i}]"))


def _setting(prompt: Any, blocks: Sequence[Any], model: Model | None, vocabulary: str, counter: str) -> str:
    """A digest of what an offset may depend on: model, tools, parameters that change the prompt, counter."""
    digest = sha256(f"{model.id if model else vocabulary}\n{counter}\n".encode())
    for block in blocks:
        if block.segment == "tools":
            own = getattr(block, "wire_sha256", None)
            digest.update(own if own is not None else str(block.sha256).encode())
    parameters = getattr(prompt, "parameters", {})
    for name in IN_PROMPT:
        digest.update(f"\n{name} {parameters.get(name)}".encode())
    return digest.hexdigest()[:16]


def _by_thumb(blocks: Sequence[Any], vocabulary: str, rule: CharactersRule, schema_chars: int = 0) -> Count:
    """Nothing but the rule, whose running sum is rounded: many short blocks must not round to nothing.

    An output schema stands ahead of the messages.
    """
    edges = [round(total) for total in accumulate(rule(blocks, vocabulary), initial=Fraction(0))]
    content = tuple(after - before for before, after in pairwise(edges))
    schema = round(schema_chars / rule.ratio(vocabulary))
    first = sum(block.segment != "messages" for block in blocks)
    by_block = tuple(tokens + schema * (i == first) for i, tokens in enumerate(content))
    tools = any(block.segment == "tools" for block in blocks)
    total = edges[-1] + schema
    return Count(
        total=total,
        by_block=by_block,
        tail_tokens=0 if first < len(blocks) else schema,
        content=content,
        counter=rule.name,
        vocabulary=vocabulary,
        band=band_of(rule.bands, tools, total),
        messages_from=first,
        schema_tokens=schema,
    )


def _remembered(reader: Reader, text: Text) -> int:
    key = (reader.counter.key, reader.vocabulary, text)
    return reader.memory.get(key, lambda: reader.counter.tokens(text, reader.vocabulary))


def _reader(counter: TextCounter, model: Model | None, vocabulary: str) -> Reader:
    window = model.window_tokens if model is not None else None
    small = window is not None and window <= _SMALL_WINDOW_TOKENS
    return Reader(counter, vocabulary, _tier(model, vocabulary), 100 if small else 600, _MEMORY)


def _tier(model: Model | None, vocabulary: str) -> Tier:
    known = model.image_tier if model is not None else None
    return TIERS[known or ("standard" if vocabulary == "v3" else "high-res")]


def check_count(count: Any) -> None:
    """Raises :class:`InvalidArgumentError` for what :func:`count` did not give."""
    if not isinstance(count, Count):
        raise argument_error(
            "count", "is-a-count", f"is of type {type(count).__name__}", "pass what count() gave"
        )
