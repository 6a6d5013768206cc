"""How many tokens a picture has, and to which size the server brings it first.

Models: the two tiers with their edge and token limits, the published scaling down, pages of a PDF as a range,
and sizes read from the first bytes of a file. A picture costs one token for every started patch of 28 by 28
pixels.
Does not model: the few tokens around a picture in a prompt (:mod:`ctxlab.tokens`), limits that make a request
fail, decoding.

Source: vision page of the API documents, 2026-08, with its table of sizes. Where table and algorithm disagree
(2000 x 1500 on the standard tier, 1269 or 1270 wide) the algorithm is followed; the tokens are equal. For
pictures of 1440 lines and more on the newest models a third party measured fewer tokens than documented. PDF
pages: the same documents (text 1,500 to 3,000 a page) and one-page files in ``data/recordings/`` (1,599 to
2,666 tokens each).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    if tier not in TIERS:
        raise InvalidArgumentError(
            Problem("tier", "known-tier", f"is {tier!r}", f"one of {', '.join(TIERS)}")
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
        return longer <= limits.max_edge_pixels and patches(longer, shorter(longer)) <= limits.max_tokens

    if fits(long):
        return width, height
    most, too_many = 1, min(long, limits.max_edge_pixels + 1)
    while too_many - most > 1:
        middle = (most + too_many) // 2
        most, too_many = (middle, too_many) if fits(middle) else (most, middle)
    return (most, shorter(most)) if width >= height else (shorter(most), most)


def patches(width: int, height: int) -> int:
    """Started patches of a picture as it is, without scaling down.

    >>> patches(28, 28), patches(29, 28)
    (1, 2)
    """
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
            Problem("pages", "whole-pages", f"is {pages!r}", "give a whole number, 1 or more")
        )
    least, most = _PDF_TEXT_TOKENS_A_PAGE
    largest = tier_of(model, tier=tier).max_tokens
    return PdfTokens(
        pages, (pages * least, pages * most), (pages * _PDF_IMAGE_TOKENS_A_PAGE, pages * largest)
    )


def size_problems(width: object, height: object, path: str = "") -> list[Problem]:
    """What is wrong with the sides of a picture, which are whole pixels, 1 or more."""
    return [
        Problem(f"{path}{side}", "pixels", f"is {pixels!r}", "give whole pixels, 1 or more")
        for side, pixels in (("width", width), ("height", height))
        if type(pixels) is not int or pixels < 1
    ]


def _check_size(width: object, height: object) -> None:
    problems = size_problems(width, height)
    if problems:
        raise InvalidArgumentError(problems)


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """What the first bytes of a picture say; sides in pixels as stored, before any orientation tag."""

    media_type: str
    width: int
    height: int


def read_header(data: bytes) -> ImageHeader | None:
    """Type and size of a JPEG, PNG, GIF or WebP from its bytes; None when they cannot be read from them.

    >>> read_header(bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes([0, 0, 2, 128, 0, 0, 1, 224]))
    ImageHeader(media_type='image/png', width=640, height=480)
    """
    read = next((reader for magic, reader in _READERS if data.startswith(magic)), None)
    try:
        found = read(data) if read else None
    except IndexError:  # ends before its size
        return None
    return found if found and found.width and found.height else None


def _png(data: bytes) -> ImageHeader | None:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return ImageHeader("image/png", _big(data, 16, 4), _big(data, 20, 4))


def _gif(data: bytes) -> ImageHeader | None:
    if data[3:6] not in (b"87a", b"89a") or len(data) < 10:
        return None
    return ImageHeader("image/gif", _little(data, 6, 2), _little(data, 8, 2))


def _webp(data: bytes) -> ImageHeader | None:
    if data[8:12] != b"WEBP" or len(data) < 30:
        return None
    chunk = data[12:16]
    if chunk == b"VP8 ":
        return ImageHeader("image/webp", _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
    if chunk == b"VP8L":
        bits = _little(data, 21, 4)
        return ImageHeader("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if chunk == b"VP8X":
        return ImageHeader("image/webp", _little(data, 24, 3) + 1, _little(data, 27, 3) + 1)
    return None


def _jpeg(data: bytes) -> ImageHeader | None:
    """Walk over the segments to the first start of frame: each is a marker and a length."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if marker in _JPEG_START_OF_FRAME:
            if len(data) < at + 9:
                return None
            return ImageHeader("image/jpeg", _big(data, at + 7, 2), _big(data, at + 5, 2))
        length = _big(data, at + 2, 2)
        if length < 2 or marker == 0xDA:  # pixels begin and no frame was seen
            return None
        at += 2 + length
    return None


_JPEG_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_READERS: tuple[tuple[bytes, Callable[[bytes], ImageHeader | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
    (b"\xff\xd8", _jpeg),
)


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
