"""Rules of thumb that know nothing of structure: characters over a ratio, for the whole request.

Models: the rules that teaching material gives, so that their error can be measured; how far each was from
recorded prompts. All characters count, those of tool definitions and of an output schema among them.
Does not model: tokens that no block shows, so every rule here is low on small requests with tools.
Source: ``token_ratios.toml``, dated, with the source of each rule.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Protocol

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.images import PIXELS_PER_TOKEN_SUPERSEDED, patches
from ctxlab.tokens.pictures import pictures

_TOKENS_AROUND_AN_IMAGE = 3


class Countable(Protocol):
    """What a rule may look at.

    Pictures are read from ``wire_bytes``; of blocks without them from ``image`` (``width``, ``height`` in
    pixels) and ``parts``, which are optional.
    """

    @property
    def segment(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def chars(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Band:
    """Recorded total over estimate for a class of prompt: 8 of 10 ``prompts`` lie in ``low`` to ``high``."""

    tools: bool
    from_tokens: int
    low: Fraction
    high: Fraction
    prompts: int


def band_of(bands: Sequence[Band], tools: bool, total: int) -> tuple[int, int] | None:
    """Where 8 of 10 recorded prompts of this class fell, in tokens; None when nobody measured."""
    fitting = [band for band in bands if band.tools == tools and band.from_tokens <= total]
    if not fitting:
        return None
    band = max(fitting, key=lambda band: band.from_tokens)
    return math.floor(total * band.low), math.ceil(total * band.high)


@dataclass(frozen=True, slots=True)
class CharactersRule:
    """Characters over a ratio, pictures by area or by patches. ``says`` is the rule in one sentence.

    Raises :class:`InvalidArgumentError` for a ratio that is no number above 0 and for another way to count
    pictures.

    >>> rule = CharactersRule("five", "five characters", {"v3": Fraction(5)}, images="patches")
    >>> rule([], "v3")
    ()
    """

    name: str
    says: str
    characters_per_token: Mapping[str, Fraction]
    images: Literal["area", "patches"]
    source: str = ""
    bands: tuple[Band, ...] = ()

    def __post_init__(self) -> None:
        for vocabulary, ratio in self.characters_per_token.items():
            if not isinstance(ratio, Real) or isinstance(ratio, bool) or not 0 < ratio < math.inf:
                path = f"characters_per_token.{vocabulary}"
                raise _argument(path, "positive", f"is {ratio!r}", "give a number above 0")
        if self.images not in ("area", "patches"):
            raise _argument("images", "known-rule", f"is {self.images!r}", "one of area, patches")

    def ratio(self, vocabulary: str) -> Fraction:
        """Characters of a token. Raises :class:`InvalidArgumentError` for a vocabulary it does not know."""
        ratio = self.characters_per_token.get(vocabulary)
        if ratio is None:
            known = ", ".join(self.characters_per_token)
            raise _argument(
                "vocabulary", "known-vocabulary", f"is {vocabulary!r}", f"{self.name} knows {known}"
            )
        return ratio

    def __call__(self, blocks: Sequence[Countable], vocabulary: str) -> tuple[Fraction, ...]:
        """Tokens of each block, not rounded."""
        ratio = self.ratio(vocabulary)
        return tuple(
            Fraction(block.chars or 0) / ratio
            + sum((self._picture(image) for image in pictures(block)), Fraction(0))
            for block in blocks
        )

    def _picture(self, image: Any) -> Fraction:
        if self.images == "area":
            return Fraction(image.width * image.height, PIXELS_PER_TOKEN_SUPERSEDED)
        return Fraction(patches(image.width, image.height) + _TOKENS_AROUND_AN_IMAGE)


@cache
def rules() -> Mapping[str, CharactersRule]:
    """The rules of thumb of ``token_ratios.toml``, by name; the first call reads the file.

    >>> list(rules())
    ['four_characters', 'whole_request_characters']
    """
    return {
        name: CharactersRule(
            name=name,
            says=entry["says"],
            characters_per_token=by_vocabulary(entry["characters_per_token"]),
            images=entry["images"],
            source=entry["source"],
            bands=bands(entry),
        )
        for name, entry in ratios()["rules"].items()
    }


def by_vocabulary(entry: Mapping[str, int | Fraction]) -> dict[str, Fraction]:
    """A row of the table with a figure for each vocabulary."""
    return {vocabulary: Fraction(figure) for vocabulary, figure in entry.items()}


def bands(entry: Mapping[str, Any]) -> tuple[Band, ...]:
    """The measured bands of one entry of the table."""
    return tuple(
        Band(row["tools"], row["from_tokens"], Fraction(row["low"]), Fraction(row["high"]), row["prompts"])
        for row in entry["bands"]
    )


@cache
def ratios() -> dict[str, Any]:
    """``token_ratios.toml``, with every decimal as an exact fraction."""
    text = (Path(__file__).parents[1] / "token_ratios.toml").read_text(encoding="utf-8")
    return tomllib.loads(text, parse_float=Fraction)


def _argument(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(path, rule, message, fix))
