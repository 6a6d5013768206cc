"""Make the API take a picture, or every picture of a request, and say what was done to it.

Models: the right media type, base64 repaired, scaled down to the limits or to what the model sees, CMYK to
RGB, alpha flattened, the first frame, formats the API does not take; what cannot be helped is named.
Does not model: leaving pictures out, which only the sender can decide.
Source: limits and findings of :mod:`ctxlab.images`. A request is checked again after the changes, so that
*something was made smaller* never passes for *the request will be taken* (reported: hermes PR 35732,
2026-05).

Every byte of a picture is part of the cached prefix: in a request only what blocks it is touched, unless
``shrink`` asks for more.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, overload

from ctxlab.catalogue import Model
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.images import (
    MEDIA_TYPES,
    ImageProblem,
    Platform,
    Preflight,
    UnreadableImageError,
    as_body,
    format_name,
    header_or_none,
    image_tokens,
    max_side_pixels,
    places,
    platform_of,
    preflight,
    resized_size,
    tier_of,
)
from ctxlab.images.sizes import named
from ctxlab.pictures.decoding import LOSSY, Decoded, check_background, usual_type

#: Formats that Pillow may be able to open although the API does not take them.
_WORTH_A_TRY = frozenset({"BMP", "TIFF", "ICO", "AVIF", "HEIC", "JPEG 2000", "PSD", "QOI", None})


#: JSON of a request has braces.
_FILE_NAME = re.compile(r"[^{}\[\]\n]{1,4096}\.[A-Za-z0-9]{2,5}\s*")


class UnfittableImageError(UnreadableImageError):
    """Nothing that is done here makes the API take this picture."""


@dataclass(frozen=True, slots=True)
class FittedImage:
    """A picture that the API takes. ``done`` says what was done, and is empty where the file is the same."""

    data: bytes
    media_type: str
    width: int
    height: int
    tokens: int
    done: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one picture of a request; ``path`` is that of its block."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A new request, what was changed in it, and what was found in it afterwards.

    ``ok`` is False while a single picture makes the API refuse it, whatever was changed: ``blocking`` names
    them.
    """

    request: dict[str, Any]
    changes: tuple[Change, ...]
    checked: Preflight

    @property
    def blocking(self) -> tuple[ImageProblem, ...]:
        """The pictures for which the API would refuse it."""
        return self.checked.blocking

    @property
    def ok(self) -> bool:
        """Whether no single picture is in the way."""
        return self.checked.ok


@overload
def fit(
    given: bytes | bytearray | memoryview,
    model: str | Model | None = None,
    platform: str | Platform = "api",
    *,
    tier: str | None = None,
    shrink: bool | None = None,
    media_type: str | None = None,
    background: str = "white",
) -> FittedImage: ...
@overload
def fit(
    given: Mapping[str, Any] | str,
    model: str | Model | None = None,
    platform: str | Platform = "api",
    *,
    tier: str | None = None,
    shrink: bool | None = None,
    media_type: str | None = None,
    background: str = "white",
) -> FittedRequest: ...
def fit(
    given: Mapping[str, Any] | str | bytes | bytearray | memoryview,
    model: str | Model | None = None,
    platform: str | Platform = "api",
    *,
    tier: str | None = None,
    shrink: bool | None = None,
    media_type: str | None = None,
    background: str = "white",
) -> FittedImage | FittedRequest:
    """The bytes of a picture, or a request (dict or JSON text), made to fit; what was given stays as it is.

    ``shrink`` brings pictures to the size the model sees, which loses nothing that it would have seen; CMYK
    becomes RGB and an animation its first frame. That is the default for a single file; in a request, where a
    changed picture is read anew, it is not, and a picture that the API takes is left byte for byte.
    ``media_type`` names the type to write, ``background`` the colour behind alpha that a JPEG cannot keep.
    Raises :class:`UnfittableImageError` for a file that cannot be helped (in a request it is named among
    ``blocking``), :class:`InvalidArgumentError` for a type or colour that is none,
    :class:`MissingPackageError` where Pillow is needed and missing, and what :func:`ctxlab.images.preflight`
    raises.
    """
    if media_type is not None and media_type not in MEDIA_TYPES:
        fix = f"one of {', '.join(MEDIA_TYPES)}"
        raise InvalidArgumentError(Problem("media_type", "media-type", f"is {named(media_type)}", fix))
    check_background(background)
    if isinstance(given, (bytes, bytearray, memoryview)):
        tier_name = tier_of(model, tier=tier).name
        wanted = _Wanted(tier_name, platform_of(platform), max_side_pixels(1), media_type, background)
        return _fit_bytes(bytes(given), wanted, "image", shrink=shrink is not False)
    if isinstance(given, PurePath) or (isinstance(given, str) and _FILE_NAME.fullmatch(given)):
        says, fix = f"is {str(given)!r:.80}, which looks like a file name", "give Path(...).read_bytes()"
        raise InvalidArgumentError(Problem("given", "bytes", says, fix))
    return _fit_request(given, model, platform, tier, bool(shrink), media_type, background)


@dataclass(frozen=True, slots=True)
class _Wanted:
    tier: str
    platform: Platform
    max_side: int
    media_type: str | None
    background: str

    def size(self, width: int, height: int, *, shrink: bool) -> tuple[int, int]:
        """The size to bring a picture to: within the sides allowed, or what the model sees of it."""
        if shrink or max(width, height) > self.max_side:
            width, height = resized_size(width, height, tier=self.tier)
        longest = max(width, height)
        if longest > self.max_side:
            width, height = (max(1, side * self.max_side // longest) for side in (width, height))
        return width, height


def _fit_bytes(data: bytes, wanted: _Wanted, path: str, *, shrink: bool) -> FittedImage:
    header = header_or_none(data)
    if header is None and (not data or format_name(data) not in _WORTH_A_TRY):
        raise _unfittable(data, path)
    most = wanted.platform.max_image_bytes
    if header is not None:
        size = header.display_size
        fits = len(data) <= most and wanted.size(*size, shrink=shrink) == size
        plain = not shrink or (header.mode != "CMYK" and not header.animated)
        if fits and plain and wanted.media_type in (None, header.media_type):
            tokens = image_tokens(*size, tier=wanted.tier)
            return FittedImage(data, header.media_type, size[0], size[1], tokens, ())
    try:
        decoded = Decoded(data, path)
        decoded.turn_upright()
        target = wanted.media_type or usual_type(decoded.media_type)
        if decoded.media_type not in (target, ""):
            decoded.done.append(f"wrote {target} instead of {decoded.media_type}")
        if decoded.is_lossless and target in LOSSY:
            decoded.done.append(f"lost fine detail, which {target} does not keep")
        decoded.make_plain(flatten=target == "image/jpeg", background=wanted.background)
        decoded.shrink_to(wanted.size(*decoded.image.size, shrink=shrink))
        encoded, kind = decoded.encode_within(target, most, wanted.background)
    except UnreadableImageError as error:
        raise UnfittableImageError(error.problems) from None
    width, height = decoded.image.size
    done = tuple(decoded.done) or ("wrote it again",)
    return FittedImage(encoded, kind, width, height, image_tokens(width, height, tier=wanted.tier), done)


def _unfittable(data: bytes, path: str) -> UnfittableImageError:
    name = format_name(data)
    says = "has no bytes" if not data else f"is {name}, which cannot be converted here"
    rule = "empty-image" if not data else "unsupported-type"
    return UnfittableImageError(Problem(path, rule, says, "leave it out, or convert it elsewhere"))


def _fit_request(
    given: Mapping[str, Any] | str,
    model: str | Model | None,
    platform: str | Platform,
    tier: str | None,
    shrink: bool,
    media_type: str | None,
    background: str,
) -> FittedRequest:
    body = as_body(given)
    before = preflight(body, model, platform, tier=tier)
    side = max_side_pixels(len(before.images))
    wanted = _Wanted(before.tier.name, before.platform, side, media_type, background)
    blocked = {(problem.path, problem.rule) for problem in before.blocking}
    changes: list[Change] = []
    for place in places(body):
        if place.kind != "image" or not isinstance(place.value.get("source"), dict):
            continue
        source = place.value["source"]
        if shrink or any(
            path.startswith((f"{place.path}.source", f"{place.path}.trans")) for path, _ in blocked
        ):
            strict = (f"{place.path}.transformations", "oversized-image") in blocked
            try:
                done = _fit_source(source, wanted, place.path, shrink=shrink or strict)
            except UnreadableImageError:
                continue  # found again, and named, by the check below
            changes += [Change(place.path, what) for what in done]
    return FittedRequest(body, tuple(changes), preflight(body, model, platform, tier=tier))


def _fit_source(source: dict[str, Any], wanted: _Wanted, path: str, *, shrink: bool) -> list[str]:
    """Change one source of type base64 in place and say how."""
    is_address = source.get("type") == "url" and _is_data_url(source.get("url"))
    given = source.get("url" if is_address else "data")
    if not (is_address or source.get("type") == "base64") or not isinstance(given, str):
        return []
    done: list[str] = []
    text = _repaired(given)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return []
    fitted = _fit_bytes(data, wanted, path, shrink=shrink)
    if is_address:
        done.append("made its data URL a source of type base64")
        source.clear()
        source |= {"type": "base64", "media_type": fitted.media_type, "data": text}
    elif text != given:
        done.append("repaired its base64")
        source["data"] = text
    if fitted.data is not data:
        source["data"] = base64.b64encode(fitted.data).decode("ascii")
    done += fitted.done
    if source.get("media_type") != fitted.media_type:
        done.append(f"declared it as {fitted.media_type}")
        source["media_type"] = fitted.media_type
    return done


def _repaired(text: str) -> str:
    """Base64 without what people put around it: a data URL's start, line breaks, signs for addresses."""
    if text[:5].lower() == "data:" and "," in text[:200]:
        text = text.partition(",")[2]
    text = "".join(text.split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    return text + "=" * (-len(text) % 4)


def _is_data_url(address: object) -> bool:
    if not isinstance(address, str):
        return False
    head = address[:200].partition(",")[0].lower()
    return head.startswith("data:") and head.endswith(";base64")
