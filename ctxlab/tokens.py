"""How many tokens a prompt has, before anybody is asked: one interface, and three rules of thumb.

Models: :func:`count` over anything that has blocks, by a named rule or by a counter of your own, with a band
that says how far the rule was from recorded prompts.
Does not model: tokens that no block shows (the frame of a message, the preamble that tools bring, thinking,
output schemas), so every rule here is low on small requests with tools; the server's scaling down of large
pictures, so a picture above the model's limit is counted too high. Nothing here knows where one token ends
and the next begins.

``chars`` of a block is what the recordings mean by it: the length of the text; for a tool definition the
length of its canonical JSON; for a call the length of its name and input.
Source: ratios and bands in ``token_ratios.toml`` (dated, fitted on ``data/recordings/``); pictures by patches
of 28 pixels, vision page of the API documents, 2026-08, and 3 tokens around each, as recorded.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, Problem

PATCH_PIXELS = 28
TOKENS_AROUND_AN_IMAGE = 3
PIXELS_PER_TOKEN_OLD_RULE = 750


class Countable(Protocol):
    """What a counter may look at; ``image`` (``width``, ``height`` in pixels) and ``parts`` are optional."""

    @property
    def segment(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def chars(self) -> int | None: ...


Tokens = int | float | Fraction
Counter = Callable[[Sequence[Countable], str], Iterable[Tokens]]
"""``counter(blocks, vocabulary)`` gives the tokens of each block; its ``name`` stands in the result."""


def patch_tokens(width: int, height: int) -> int:
    """Tokens of a picture that is not scaled down: one per started patch, and those around it.

    >>> patch_tokens(300, 346)
    146
    """
    return -(-width // PATCH_PIXELS) * -(-height // PATCH_PIXELS) + TOKENS_AROUND_AN_IMAGE


@dataclass(frozen=True, slots=True)
class Band:
    """Recorded total over estimate for a class of prompt: 8 of 10 ``prompts`` lie in ``low`` to ``high``."""

    tools: bool
    from_tokens: int
    low: Fraction
    high: Fraction
    prompts: int


@dataclass(frozen=True, slots=True)
class CharactersRule:
    """Characters over a ratio, pictures by area or by patches. ``says`` is the rule in one sentence.

    >>> rule = CharactersRule("five", "five characters", {"v3": Fraction(5)}, images="patches")
    >>> count([], vocabulary="v3", counter=rule).total
    0
    """

    name: str
    says: str
    characters_per_token: Mapping[str, Fraction]
    images: Literal["area", "patches"]
    source: str = ""
    bands: tuple[Band, ...] = ()

    def __call__(self, blocks: Sequence[Countable], vocabulary: str) -> tuple[Fraction, ...]:
        ratio = self.characters_per_token.get(vocabulary)
        if ratio is None:
            known = ", ".join(self.characters_per_token)
            raise InvalidArgumentError(
                Problem("vocabulary", "known-vocabulary", f"is {vocabulary!r}", f"{self.name} knows {known}")
            )
        return tuple(
            Fraction(block.chars or 0) / ratio
            + sum((self._image(image) for image in _images(block)), Fraction(0))
            for block in blocks
        )

    def _image(self, image: Any) -> Fraction:
        if self.images == "area":
            return Fraction(image.width * image.height, PIXELS_PER_TOKEN_OLD_RULE)
        return Fraction(patch_tokens(image.width, image.height))


@dataclass(frozen=True, slots=True)
class Count:
    """``by_block`` adds up to ``total``. ``band`` is where 8 of 10 recorded prompts of this class fell.

    ``uncounted`` are the indexes of blocks whose content the request does not show (files, pictures of
    unknown size): what they cost is missing from ``total``.
    """

    total: int
    by_block: tuple[int, ...]
    counter: str
    vocabulary: str
    band: tuple[int, int] | None
    uncounted: tuple[int, ...] = ()


def count(
    prompt: Any,
    model: str | Model | None = None,
    *,
    counter: str | Counter | None = None,
    vocabulary: str | None = None,
) -> Count:
    """Tokens of a prompt: anything with ``blocks``, or blocks themselves.

    ``counter`` is a name from :func:`rules` (default: the calibrated rule) or a :data:`Counter` of your own.
    ``vocabulary`` stands in for a model that the catalogue does not have. Raises :class:`UnknownModelError`,
    and :class:`InvalidArgumentError` for characters or pixels that cannot be.

    >>> from ctxlab.prompt import Prompt
    >>> question = {"role": "user", "content": "What is the capital of France?"}
    >>> prompt = Prompt.from_request({"messages": [question]})
    >>> count(prompt, vocabulary="v4.8", counter="four_characters").total
    8
    >>> count(prompt, vocabulary="v4.8").total
    12
    """
    blocks = _blocks(prompt)
    if vocabulary is None:
        if model is None:
            raise InvalidArgumentError(
                Problem("model", "required", "is missing", "name a model or a vocabulary")
            )
        vocabulary = get_model(model).vocabulary
    rule: Counter = _rule(counter) if counter is None or isinstance(counter, str) else counter
    name = str(getattr(rule, "name", None) or getattr(rule, "__name__", type(rule).__name__))

    sums = [Fraction(0)]
    for tokens in _checked(tuple(rule(blocks, vocabulary)), len(blocks), name):
        sums.append(sums[-1] + tokens)
    # rounding the running sum, not each block: many short blocks must not round to nothing
    edges = [round(total) for total in sums]
    return Count(
        total=edges[-1],
        by_block=tuple(after - before for before, after in pairwise(edges)),
        counter=name,
        vocabulary=vocabulary,
        band=_band(rule, blocks, edges[-1]),
        uncounted=tuple(i for i, block in enumerate(blocks) if _hides_content(block)),
    )


@cache
def rules() -> Mapping[str, CharactersRule]:
    """The named rules of ``token_ratios.toml``, by name; the first call reads the file.

    >>> list(rules())
    ['four_characters', 'calibrated_characters', 'whole_request_characters']
    """
    return {
        name: CharactersRule(
            name=name,
            says=entry["says"],
            characters_per_token={v: Fraction(ratio) for v, ratio in entry["characters_per_token"].items()},
            images=entry["images"],
            source=entry["source"],
            bands=tuple(
                Band(b["tools"], b["from_tokens"], Fraction(b["low"]), Fraction(b["high"]), b["prompts"])
                for b in entry.get("bands", ())
            ),
        )
        for name, entry in _table()["rules"].items()
    }


@cache
def _table() -> dict[str, Any]:
    text = Path(__file__).with_name("token_ratios.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Fraction)


def _rule(name: str | None) -> CharactersRule:
    known = rules()
    wanted = _table()["default"] if name is None else name
    if wanted not in known:
        raise InvalidArgumentError(
            Problem(
                "counter", "known-counter", f"is {name!r}", f"use one of {', '.join(known)}, or a function"
            )
        )
    return known[wanted]


def _band(rule: Counter, blocks: Sequence[Countable], total: int) -> tuple[int, int] | None:
    tools = any(block.segment == "tools" for block in blocks)
    fitting = [
        band for band in getattr(rule, "bands", ()) if band.tools == tools and band.from_tokens <= total
    ]
    if not fitting:
        return None
    band = max(fitting, key=lambda band: band.from_tokens)
    return math.floor(total * band.low), math.ceil(total * band.high)


def _blocks(prompt: Any) -> tuple[Countable, ...]:
    blocks = getattr(prompt, "blocks", prompt)
    if isinstance(blocks, (str, bytes, Mapping)) or not isinstance(blocks, Iterable):
        raise InvalidArgumentError(
            Problem(
                "prompt",
                "has-blocks",
                f"is of type {type(prompt).__name__}",
                "wrap a request body in Prompt.from_request(body)",
            )
        )
    blocks = tuple(blocks)
    problems = [problem for i, block in enumerate(blocks) for problem in _problems(block, f"blocks[{i}]")]
    if problems:
        raise InvalidArgumentError(problems)
    return blocks


def _problems(block: Any, path: str) -> Iterable[Problem]:
    if not all(hasattr(block, field) for field in ("segment", "type", "chars")):
        kind = type(block).__name__
        yield Problem(path, "is-a-block", f"is of type {kind}", "pass blocks of a Prompt or of a recording")
        return
    if block.chars is not None and (type(block.chars) is not int or block.chars < 0):
        yield Problem(
            f"{path}.chars", "non-negative", f"is {block.chars!r}", "give a whole number, 0 or more"
        )
    for image in _images(block):
        for side in ("width", "height"):
            pixels = getattr(image, side, None)
            if type(pixels) is not int or pixels < 1:
                yield Problem(
                    f"{path}.image.{side}", "pixels", f"is {pixels!r}", "give whole pixels, 1 or more"
                )


def _images(block: Any) -> Iterable[Any]:
    """Pictures of known size: the block's own and those of the parts inside it."""
    for part in (block, *getattr(block, "parts", ())):
        if _has_size(part):
            yield part.image


def _has_size(part: Any) -> bool:
    return getattr(getattr(part, "image", None), "width", None) is not None


def _hides_content(block: Any) -> bool:
    if block.chars is None:
        return True
    return any(
        (part.type == "image" and not _has_size(part))
        or (part.type == "document" and not part.chars)
        or part.type == "container_upload"
        for part in (block, *getattr(block, "parts", ()))
    )


def _checked(tokens: Sequence[Tokens], blocks: int, name: str) -> Iterable[Fraction]:
    if len(tokens) != blocks:
        raise InvalidArgumentError(
            Problem(
                name, "one-count-a-block", f"gave {len(tokens)} counts for {blocks} blocks", "return one each"
            )
        )
    for i, value in enumerate(tokens):
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            raise InvalidArgumentError(Problem(f"{name}[{i}]", "number", f"is {value!r}", "return a number"))
        if not math.isfinite(value) or value < 0:
            raise InvalidArgumentError(
                Problem(f"{name}[{i}]", "non-negative", f"is {value!r}", "return a finite number, 0 or more")
            )
        yield Fraction(value)
