"""How far a token counter is from what was recorded, and where its error comes from.

Models: the error of any counter on the recorded prompts, by model and kind of prompt; which part of a prompt
the error sits in; characters per token as seen. Everything is computed from the rows when asked.
Does not model: prompts whose size cannot be told from the request (files, pictures by address, server tools,
answers that sum several prompts); ``Exchange.estimate.not_estimable`` names the reason, and they are left
out.
Source: the totals are recorded; how a total splits into texts, tools, calls and hidden tokens rests on the
counts of single texts in the rows (``content_tokens``, ``rendered_tokens``), see
``data/recordings/README.md``.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ctxlab.catalogue import get_model
from ctxlab.images import image_tokens
from ctxlab.recordings.records import Exchange, RecordedBlock
from ctxlab.recordings.shelves import exchanges as recorded_exchanges
from ctxlab.tokens import Band, CharactersRule, Count, count, recorded_on, rules_of

KINDS = (
    "text",
    "text and system",
    "tools",
    "calls and results",
    "output schema",
    "images",
    "thinking",
)
"""Kinds of prompt; a prompt is of the last kind that fits it."""

PARTS = ("text", "tool definitions", "calls and results", "output schema", "images", "thinking", "hidden")
"""Where tokens of a prompt sit; *hidden* is what the server adds and no block shows."""

LARGE_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class MeasuredError:
    """Error of a counter on ``prompts`` recorded prompts; percentages are (estimate - recorded) / recorded.

    ``model`` is a model id, a vocabulary or "all"; ``kind`` one of :data:`KINDS` or "all".
    """

    model: str
    kind: str
    prompts: int
    median_abs_pct: float
    p90_abs_pct: float
    bias_pct: float


@dataclass(frozen=True, slots=True)
class ErrorShare:
    """What one part of the prompts contributes to the error: ``bias_pct`` of all parts adds up to the whole.

    ``recorded_tokens`` and ``estimated_tokens`` are sums over the prompts of that kind.
    """

    kind: str
    part: str
    prompts: int
    recorded_tokens: int
    estimated_tokens: int
    bias_pct: float


@dataclass(frozen=True, slots=True)
class CharactersPerToken:
    """One recorded prompt of text: ``id`` is the row it can be looked up by."""

    model: str
    kind: str
    chars: int
    tokens: int
    id: str

    @property
    def ratio(self) -> float:
        return self.chars / self.tokens


def kind_of(exchange: Exchange) -> str:
    """The kind of a recorded prompt, one of :data:`KINDS`."""
    types = {block.type for block in exchange.blocks}
    segments = {block.segment for block in exchange.blocks}
    fits = {
        "text and system": "system" in segments,
        "tools": "tools" in segments,
        "calls and results": bool(types & {"tool_use", "tool_result"}),
        "output schema": any(piece.piece == "output_schema" for piece in exchange.rendered_pieces),
        "images": any(part.image for block in exchange.blocks for part in (block, *block.parts)),
        "thinking": "thinking" in exchange.parameters or bool(types & {"thinking", "redacted_thinking"}),
    }
    return next((kind for kind in reversed(KINDS) if fits.get(kind)), "text")


def measured_errors(
    counter: str | CharactersRule | None = None, exchanges: Iterable[Exchange] | None = None
) -> tuple[MeasuredError, ...]:
    """The error of ``counter`` by model and kind of prompt: for all, by vocabulary, by model, "all" first.

    >>> whole = measured_errors("four_characters")[0]
    >>> whole.model, whole.kind, round(whole.bias_pct)
    ('all', 'all', -54)
    """
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row, total in _estimable(exchanges):
        model = get_model(row.model_id or "")
        error = float(_pct(_count(row, counter).total - total, total))
        for name in ("all", model.vocabulary, model.id):
            for kind in ("all", kind_of(row)):
                errors[name, kind].append(error)
    kinds = ("all", *KINDS)
    order = sorted(
        errors, key=lambda key: (key[0] != "all", not key[0].startswith("v"), key[0], kinds.index(key[1]))
    )
    return tuple(
        MeasuredError(
            model=model,
            kind=kind,
            prompts=len(errors[model, kind]),
            median_abs_pct=statistics.median(map(abs, errors[model, kind])),
            p90_abs_pct=_quantile([abs(error) for error in errors[model, kind]], 0.9),
            bias_pct=statistics.fmean(errors[model, kind]),
        )
        for model, kind in order
    )


def error_shares(
    counter: str | CharactersRule | None = None, exchanges: Iterable[Exchange] | None = None
) -> tuple[ErrorShare, ...]:
    """Where the error of ``counter`` comes from, by kind of prompt and part of it.

    Each prompt's error is split over its parts (estimated minus recorded tokens of the part, over the
    recorded total) and averaged, so that the parts of a kind add up to the bias that :func:`measured_errors`
    reports.

    >>> shares = {share.part: share for share in error_shares("four_characters") if share.kind == "tools"}
    >>> min(shares.values(), key=lambda share: share.bias_pct).part
    'hidden'
    """
    sums: dict[tuple[str, str], list[Fraction]] = {}
    prompts: dict[str, int] = defaultdict(int)
    for row, total in _estimable(exchanges):
        recorded = _recorded_parts(row, total)
        estimated: dict[str, int] = defaultdict(int)
        guess = _count(row, counter)
        for block, tokens in zip(row.blocks, guess.content, strict=True):
            estimated[_part_of(block)] += tokens
        estimated["output schema"] = guess.schema_tokens
        estimated["hidden"] = guess.hidden_tokens - guess.schema_tokens
        for kind in ("all", kind_of(row)):
            prompts[kind] += 1
            for part in PARTS:
                seen = sums.setdefault((kind, part), [Fraction(0)] * 3)
                seen[0] += recorded[part]
                seen[1] += estimated[part]
                seen[2] += _pct(estimated[part] - recorded[part], total)
    return tuple(
        ErrorShare(kind, part, prompts[kind], int(tokens), int(guess), float(bias / prompts[kind]))
        for kind in ("all", *KINDS)
        for part in PARTS
        for tokens, guess, bias in (sums.get((kind, part), [Fraction(0)] * 3),)
        if tokens or guess
    )


def characters_per_token(
    exchanges: Iterable[Exchange] | None = None, *, min_tokens: int = 200
) -> tuple[CharactersPerToken, ...]:
    """Characters per token of recorded prompts that are text and nothing else, fewest first.

    Prompts below ``min_tokens`` are left out (the frame around a message would show), and so are those whose
    total is more than 1 % off what their texts add up to. Repeated filler stands out: one word repeated makes
    almost eight characters a token.
    """
    found: dict[tuple[str, int, int], CharactersPerToken] = {}
    for row, total in _estimable(exchanges):
        kind = kind_of(row)
        off = abs((row.estimate.total or 0) - total) if row.estimate else total
        if kind in ("text", "text and system") and total >= min_tokens and off * 100 <= total:
            chars = sum(block.chars or 0 for block in row.blocks)
            model = get_model(row.model_id or "").id
            found.setdefault((model, chars, total), CharactersPerToken(model, kind, chars, total, row.id))
    return tuple(sorted(found.values(), key=lambda row: (row.ratio, row.id)))


def measured_bands(
    counter: str | CharactersRule, exchanges: Iterable[Exchange] | None = None
) -> tuple[Band, ...]:
    """What :class:`ctxlab.tokens.Band` holds, recomputed from the rows."""
    ratios: dict[tuple[bool, int], list[float]] = defaultdict(list)
    for row, total in _estimable(exchanges):
        estimate = _count(row, counter).total
        if estimate:
            tools = any(block.segment == "tools" for block in row.blocks)
            ratios[tools, LARGE_TOKENS if estimate >= LARGE_TOKENS else 0].append(total / estimate)
    return tuple(
        Band(
            tools,
            from_tokens,
            Fraction(math.floor(_quantile(ratios[tools, from_tokens], 0.1) * 100), 100),
            Fraction(math.ceil(_quantile(ratios[tools, from_tokens], 0.9) * 100), 100),
            len(ratios[tools, from_tokens]),
        )
        for tools, from_tokens in sorted(ratios)
    )


def _estimable(exchanges: Iterable[Exchange] | None) -> Iterator[tuple[Exchange, int]]:
    """Rows whose prompt can be estimated from its request, with the recorded size of the prompt."""
    for row in recorded_exchanges() if exchanges is None else exchanges:
        total = row.total_input_tokens
        if total and row.estimate is not None and row.estimate.not_estimable is None:
            yield row, total


def _count(row: Exchange, counter: str | CharactersRule | None) -> Count:
    return count(row, row.model_id, counter=counter, on=recorded_on(row))


def _part_of(block: RecordedBlock) -> str:
    if block.segment == "tools":
        return "tool definitions"
    if block.type in ("tool_use", "tool_result"):
        return "calls and results"
    if block.type in ("thinking", "redacted_thinking"):
        return "thinking"
    return "images" if block.type == "image" else "text"


def _recorded_parts(row: Exchange, total: int) -> dict[str, int]:
    """The recorded total by part. Thinking of earlier turns costs nothing; what is left over is hidden."""
    parts = dict.fromkeys(PARTS, 0)
    model = get_model(row.model_id or "")
    around = rules_of(model.vocabulary, model).image
    for block in row.blocks:
        part = _part_of(block)
        if part == "text" or (part == "tool definitions" and not block.defer_loading):
            parts[part] += sum(block.content_tokens.values())
        for picture in (block, *block.parts):
            if picture.image is not None and picture.image.width and picture.image.height:
                parts[part] += image_tokens(picture.image.width, picture.image.height, model) + around
    for piece in row.rendered_pieces:
        if piece.piece in ("calls", "results"):
            parts["calls and results"] += piece.tokens
        elif piece.piece == "output_schema":
            parts["output schema"] += piece.tokens
    parts["hidden"] = total - sum(parts.values())
    return parts


def _pct(difference: int, total: int) -> Fraction:
    return Fraction(100 * difference, total)


def _quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values do not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]
