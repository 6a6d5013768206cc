"""What the API refuses about the pictures of a request, in its words.

Models: empty, oversized, broken and mislabelled base64; bytes that are no picture; sides, and the smaller
limit beside more than twenty pictures; ``transformations: {"oversized_image": "error"}``.
Does not model: formats beyond their header, pictures by address or file id, pages of a PDF.
Source: :mod:`ctxlab.images` for sizes and limits. Wording recorded for sides; reported for empty data
(2025-10), encoded size (2026-09), base64 and undecodable pictures (since 2024) and for a type that the bytes
do not have, with the place inside a tool result (2026-06; until 2025 it read "Image does not match the
provided media type"). That a picture is refused instead of scaled down is documented (anthropic SDK 2.14.0,
image_transformations_param.py), its wording is our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxlab.catalogue import Model
from ctxlab.emulator.errors import ApiError, invalid, not_emulated
from ctxlab.images import MANY_IMAGES, PLATFORMS, header_or_none, max_side_pixels, scaling, strict_base64

_MAX_IMAGE_CHARS = PLATFORMS["api"].max_image_chars


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that can be read: ``path`` as errors list it, ``place`` as their messages begin.

    ``may_be_scaled`` is False where its block asks for an error instead.
    """

    path: str
    place: str
    size: tuple[int, int]
    may_be_scaled: bool


def read_picture(block: Mapping[str, Any], path: str, place: str) -> Picture | ApiError:
    """The picture of a block, or why it is refused whatever stands beside it."""
    source = block["source"]
    if source["type"] != "base64":
        return not_emulated(f"{path}: pictures by {source['type']}, whose size nobody knows here")
    place = f"{place}.image.source.base64"
    data, declared = source["data"], source["media_type"]
    if not data:
        return invalid(f"{place}: image cannot be empty")
    if len(data) > _MAX_IMAGE_CHARS:
        return invalid(f"{place}: image exceeds 10 MB maximum: {len(data)} bytes > {_MAX_IMAGE_CHARS} bytes")
    try:
        header = header_or_none(strict_base64(data))
    except ValueError:
        return invalid(f"{place}: invalid base64 data")
    if header is None:
        return invalid("Could not process image")
    if header.media_type != declared:
        return invalid(
            f"{place}: The image was specified using the {declared} media type, but the image appears to be "
            f"a {header.media_type} image"
        )
    wanted = block.get("transformations") or {}
    return Picture(path, place, header.display_size, wanted.get("oversized_image") != "error")


def refused_sizes(pictures: Sequence[Picture], model: Model) -> Iterator[ApiError]:
    """What pictures earn by their sides; how long one may be depends on how many there are."""
    side = max_side_pixels(len(pictures))
    too_large = [one for one in pictures if max(one.size) > side]
    if too_large:
        kind = " for many-image requests" if len(pictures) > MANY_IMAGES else ""
        says = f"At least one of the image dimensions exceed max allowed size{kind}: {side} pixels"
        yield _too_large(too_large, says, side)
    if model.image_tier is None:
        return
    shown = {one: scaling(*one.size, model) for one in pictures if not one.may_be_scaled}
    strict = [one for one, scaled in shown.items() if scaled.downsized]
    if strict:
        (width, height), fits = shown[strict[0]].sent, shown[strict[0]].seen
        says = f"Image dimensions {width}x{height} exceed the largest that fit: {fits[0]}x{fits[1]} pixels"
        yield _too_large(strict, says, max(fits))


def _too_large(pictures: Sequence[Picture], says: str, side: int) -> ApiError:
    details = {
        "error_code": "image_dimensions_too_large",
        "max_side_length_pixels": side,
        "paths": [one.path for one in pictures],
    }
    return invalid(f"{pictures[0].place}.data: {says}", details)
