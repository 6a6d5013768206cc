"""How many tokens a picture has, and to which size the server brings it first.

Models: the two tiers with their edge and token limits, the published scaling down and where a pixel goes in
it, pages of a PDF as a range. A picture costs one token for every started patch of 28 by 28 pixels.
Does not model: the few tokens around a picture in a prompt (:mod:`ctxlab.tokens`), limits that make a request
fail (:mod:`ctxlab.images.preflight`).

Source: vision page of the API documents, 2026-08, with its table of sizes. Where table and algorithm disagree
(2000 x 1500 on the standard tier, 1269 or 1270 wide) the algorithm is followed; the tokens are equal. For
pictures of 1440 lines and more on the newest models a third party measured fewer tokens than documented. PDF
pages: the same documents (text 1,500 to 3,000 a page) and one-page files in ``data/recordings/`` (1,599 to
2,666 tokens each).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, Problem

PATCH_PIXELS = 28
PIXELS_PER_TOKEN_SUPERSEDED = 750


@dataclass(frozen=True, slots=True)
class Tier:
    """What a picture is scaled down to: no side above ``max_edge_pixels``, no more than ``max_tokens``."""

    name: str
    max_edge_pixels: int
    max_tokens: int


TIERS = {
    "standard": Tier("standard", 1568, 1568),
    "high-res": Tier("high-res", 2576, 4784),
}


def tier_of(model: str | Model | None = None, *, tier: str | None = None) -> Tier:
    """The tier of a model, or the one that is named.

    Raises :class:`UnknownModelError` for a model that is not in the catalogue, and
    :class:`InvalidArgumentError` for one whose tier is not known or a tier that does not exist.
    """
    if tier is None:
        if model is None:
            raise InvalidArgumentError(Problem("model", "required", "is missing", "name a model or a tier"))
        known = get_model(model)
        if known.image_tier is None:
            raise InvalidArgumentError(
                Problem("model", "known-tier", f"{known.id} has no known image tier", "pass tier=")
            )
        tier = known.image_tier
    if not isinstance(tier, str) or tier not in TIERS:
        raise InvalidArgumentError(
            Problem("tier", "known-tier", f"is {named(tier)}", f"one of {', '.join(TIERS)}")
        )
    return TIERS[tier]


def image_tokens(
    width: int, height: int, model: str | Model | None = None, *, tier: str | None = None
) -> int:
    """Tokens of a picture of ``width`` by ``height`` pixels: patches after scaling down.

    Errors as for :func:`tier_of`, and :class:`InvalidArgumentError` for sides that are not whole pixels.

    >>> image_tokens(1000, 1000, "claude-sonnet-4-5")
    1296
    >>> image_tokens(1920, 1080, tier="standard"), image_tokens(1920, 1080, "claude-opus-5-5")
    (1560, 2691)
    """
    return patches(*resized_size(width, height, model, tier=tier))


def resized_size(
    width: int, height: int, model: str | Model | None = None, *, tier: str | None = None
) -> tuple[int, int]:
    """What the model sees: the largest size of the same shape within the tier's limits; never larger.

    The longer side is searched, the shorter one is the rounded quotient (half to even, at least 1). Errors as
    for :func:`image_tokens`.

    >>> resized_size(3840, 2160, tier="standard"), resized_size(640, 480, tier="standard")
    ((1456, 819), (640, 480))
    """
    _check_size(width, height)
    limits = tier_of(model, tier=tier)
    long, short = max(width, height), min(width, height)

    def shorter(longer: int) -> int:
        return max(1, round(Fraction(longer * short, long)))

    def fits(longer: int) -> bool:
        return longer <= limits.max_edge_pixels and _patches(longer, shorter(longer)) <= limits.max_tokens

    if fits(long):
        return width, height
    most, too_many = 1, min(long, limits.max_edge_pixels + 1)
    while too_many - most > 1:
        middle = (most + too_many) // 2
        most, too_many = (middle, too_many) if fits(middle) else (most, middle)
    return (most, shorter(most)) if width >= height else (shorter(most), most)


@dataclass(frozen=True, slots=True)
class Scaling:
    """A picture as it is sent and as the model sees it, both as width and height in pixels."""

    sent: tuple[int, int]
    seen: tuple[int, int]

    @property
    def downsized(self) -> bool:
        return self.sent != self.seen

    @property
    def factor(self) -> Fraction:
        """Long side seen over long side sent, 1 where nothing is scaled."""
        return Fraction(max(self.seen), max(self.sent))

    def to_sent(self, x: float, y: float) -> tuple[float, float]:
        """Where a point that the model names lies in the picture that was sent.

        >>> scaling(3840, 2160, tier="standard").to_sent(728, 409.5)
        (1920.0, 1080.0)
        """
        return x * self.sent[0] / self.seen[0], y * self.sent[1] / self.seen[1]


def scaling(width: int, height: int, model: str | Model | None = None, *, tier: str | None = None) -> Scaling:
    """What happens to a picture with ``transformations: {"oversized_image": "downsize"}``, the default.

    With ``"error"`` the API refuses every picture that is :attr:`Scaling.downsized` here. Errors as for
    :func:`image_tokens`.
    """
    return Scaling((width, height), resized_size(width, height, model, tier=tier))


def patches(width: int, height: int) -> int:
    """Started patches of a picture as it is, without scaling down.

    Raises :class:`InvalidArgumentError` for sides that are not whole pixels.

    >>> patches(28, 28), patches(29, 28)
    (1, 2)
    """
    _check_size(width, height)
    return _patches(width, height)


def _patches(width: int, height: int) -> int:
    return -(-width // PATCH_PIXELS) * -(-height // PATCH_PIXELS)


def superseded_image_tokens(width: int, height: int) -> int:
    """The rule that guides still teach, area over 750. For comparison only: the API no longer counts so.

    >>> superseded_image_tokens(1000, 1000)
    1333
    """
    _check_size(width, height)
    return round(Fraction(width * height, PIXELS_PER_TOKEN_SUPERSEDED))


@dataclass(frozen=True, slots=True)
class PdfTokens:
    """Least and most tokens of a PDF: the text of its pages and a picture of each; both bounds are rough."""

    pages: int
    text: tuple[int, int]
    images: tuple[int, int]

    @property
    def low(self) -> int:
        return self.text[0] + self.images[0]

    @property
    def high(self) -> int:
        return self.text[1] + self.images[1]


# the documented least is 1,500; recorded pages with next to no text had next to none
_PDF_TEXT_TOKENS_A_PAGE = (0, 3000)
_PDF_IMAGE_TOKENS_A_PAGE = 1500  # the least: an A4 page at the standard tier has 1,551


def pdf_tokens(pages: int, model: str | Model | None = None, *, tier: str | None = None) -> PdfTokens:
    """The range for a PDF of ``pages`` pages; errors as for :func:`image_tokens`.

    >>> one = pdf_tokens(1, "claude-sonnet-4-5")
    >>> one.low, one.high
    (1500, 4568)
    """
    if type(pages) is not int or pages < 1:
        raise InvalidArgumentError(
            Problem("pages", "whole-pages", f"is {named(pages)}", "give a whole number, 1 or more")
        )
    least, most = _PDF_TEXT_TOKENS_A_PAGE
    largest = tier_of(model, tier=tier).max_tokens
    return PdfTokens(
        pages, (pages * least, pages * most), (pages * _PDF_IMAGE_TOKENS_A_PAGE, pages * largest)
    )


def named(value: object) -> str:
    """A value as messages show it: no longer than a line, and never by its place in memory.

    >>> named("5m"), named(-1), named([1, 2]), named(object())
    ("'5m'", '-1', 'a list', 'an object')
    """
    if value is None or isinstance(value, (str, bool, int, float, Fraction, Decimal)):
        return f"{value!r:.60}"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def size_problems(width: object, height: object, path: str = "") -> list[Problem]:
    """What is wrong with the sides of a picture, which are whole pixels, 1 or more."""
    return [
        Problem(f"{path}{side}", "pixels", f"is {named(pixels)}", "give whole pixels, 1 or more")
        for side, pixels in (("width", width), ("height", height))
        if type(pixels) is not int or pixels < 1
    ]


def _check_size(width: object, height: object) -> None:
    problems = size_problems(width, height)
    if problems:
        raise InvalidArgumentError(problems)
