"""What the API takes at most, by platform.

Models: encoded size of a picture, its longest side, pictures a request, size of a request.
Does not model: pages of a PDF, each of which counts as a picture.
Source: vision page of the API documents, 2026-08, and its pages on errors and request sizes, 2026-11; the
figures in bytes as refusals print them (10,485,760 reported 2026-09, 5,242,880 reported 2024 to 2026). Amazon
Bedrock and Google Cloud take half as much a picture, and smaller requests. Microsoft Foundry and the Claude
platform on AWS have no limits of their own in those pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.images.sizes import named

#: Longest side in pixels, and the same where a request has more than :data:`MANY_IMAGES` pictures.
MAX_SIDE_PIXELS = 8000
MAX_SIDE_PIXELS_MANY = 2000
MANY_IMAGES = 20

_MEGABYTE = 1024 * 1024
_SMALL_WINDOW_TOKENS = 200_000


@dataclass(frozen=True, slots=True)
class Platform:
    """``max_image_chars`` limits the base64 of one picture, ``max_request_bytes`` the JSON of a request."""

    name: str
    max_image_chars: int
    max_request_bytes: int

    @property
    def max_image_bytes(self) -> int:
        """The largest file whose base64 is within the limit."""
        return self.max_image_chars // 4 * 3


PLATFORMS = {
    "api": Platform("api", 10 * _MEGABYTE, 32 * _MEGABYTE),
    "aws": Platform("aws", 10 * _MEGABYTE, 32 * _MEGABYTE),
    "foundry": Platform("foundry", 10 * _MEGABYTE, 32 * _MEGABYTE),
    "bedrock": Platform("bedrock", 5 * _MEGABYTE, 20 * _MEGABYTE),
    "google-cloud": Platform("google-cloud", 5 * _MEGABYTE, 30 * _MEGABYTE),
}
_OTHER_NAMES = {"anthropic": "api", "claude": "api", "vertex": "google-cloud", "vertex-ai": "google-cloud"}


def platform_of(name: str | Platform) -> Platform:
    """The limits of a platform by its name; raises :class:`InvalidArgumentError` for a name nobody knows.

    >>> platform_of("bedrock").max_image_chars
    5242880
    """
    if isinstance(name, Platform):
        return name
    found = PLATFORMS.get(_OTHER_NAMES.get(name, name)) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(PLATFORMS)
        raise InvalidArgumentError(
            Problem("platform", "known-platform", f"is {named(name)}", f"one of {known}")
        )
    return found


def max_pictures(window_tokens: int | None) -> int:
    """Pictures and pages a request may hold: fewer on models with a window of 200,000 tokens.

    :func:`counts_as_picture` says which blocks count. Raises :class:`InvalidArgumentError` for what is no
    window.

    >>> max_pictures(200_000), max_pictures(1_000_000), max_pictures(None)
    (100, 600, 600)
    """
    if window_tokens is not None:
        _at_least("window_tokens", window_tokens, 1)
    return 100 if window_tokens is not None and window_tokens <= _SMALL_WINDOW_TOKENS else 600


def max_side_pixels(images: int) -> int:
    """The longest side a picture may have beside ``images - 1`` others.

    Raises :class:`InvalidArgumentError` for what is no count.

    >>> max_side_pixels(20), max_side_pixels(21)
    (8000, 2000)
    """
    _at_least("images", images, 0)
    return MAX_SIDE_PIXELS_MANY if images > MANY_IMAGES else MAX_SIDE_PIXELS


def counts_as_picture(block: Mapping[str, Any]) -> bool:
    """Whether a block counts towards :func:`max_pictures`: a picture, or a document that has pages.

    Assumed: a document of plain text has no pages, one made of blocks counts by the pictures in it, and any
    other counts once, because the number of its pages is not known here. The API documents the limit for
    *images or PDF pages*; its refusal counts *images and documents*.

    >>> counts_as_picture({"type": "document", "source": {"type": "file", "file_id": "file_1"}})
    True
    >>> counts_as_picture({"type": "document", "source": {"type": "text", "data": "Minutes."}})
    False
    """
    if block.get("type") == "image":
        return True
    source = block.get("source")
    kind = source.get("type") if isinstance(source, Mapping) else None
    return block.get("type") == "document" and kind not in ("text", "content")


def _at_least(name: str, value: object, least: int) -> None:
    if type(value) is not int or value < least:
        fix = f"give a whole number, {least} or more"
        raise InvalidArgumentError(Problem(name, "whole-number", f"is {named(value)}", fix))
