"""What the API will say to the pictures of a request, before it is sent.

Models: every picture, those in tool results and documents included: type by its bytes against the declared
one, encoded size, sides, the smaller side allowed beside more than twenty others, pictures a request, size of
the request, ``transformations``, half characters; and what is legal but costs or loses something: base64
pasted into a text, pictures scaled down until small text is gone, animations, addresses and file ids whose
size nobody knows.
Does not model: pages of a PDF; whether a decoder can read on behind a sound header; what an address returns.
Source: :mod:`ctxlab.images.limits` for the limits; refusals of empty, mismatched and undecodable pictures as
reported 2024 to 2026 (claude-code issues 12750, 15746, jcode issue 465, llxprt-code issue 2130). That the
first frame of an animation is shown: vision page, 2026-08. The share below which scaling loses small text is
ours.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidRequestError, Problem, UnknownModelError
from ctxlab.images.headers import MEDIA_TYPES, ImageHeader, UnreadableImageError, read_header
from ctxlab.images.limits import (
    MANY_IMAGES,
    MAX_SIDE_PIXELS,
    MAX_SIDE_PIXELS_MANY,
    Platform,
    counts_as_picture,
    max_pictures,
    platform_of,
)
from ctxlab.images.sizes import Tier, named, patches, scaling, tier_of
from ctxlab.images.walk import Place, as_body, lone_surrogates, pasted, places, strict_base64

#: Scaled down further than this, text of 14 pixels and less is below seven.
READABLE_FACTOR = Fraction(1, 2)
#: Longer base64 than any platform takes is not decoded: its head says enough.
_MAX_DECODED_CHARS = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImageProblem(Problem):
    """A :class:`Problem`; ``blocking`` says that the API will refuse the request because of it."""

    blocking: bool = True


@dataclass(frozen=True, slots=True)
class SeenImage:
    """One picture of a request.

    ``path`` is that of its block. ``header`` is None where its bytes are not there or say nothing; then
    ``low_tokens`` is 1 and ``high_tokens`` the most that the tier has. ``seen`` is the size the model sees.
    """

    path: str
    source: str
    declared: str | None
    header: ImageHeader | None
    seen: tuple[int, int] | None
    low_tokens: int
    high_tokens: int
    encoded_chars: int | None = None

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height as it is shown."""
        return None if self.header is None else self.header.display_size


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found in a request; ``problems`` in the order of the request."""

    platform: Platform
    tier: Tier
    images: tuple[SeenImage, ...]
    problems: tuple[ImageProblem, ...]
    request_bytes: int

    @property
    def blocking(self) -> tuple[ImageProblem, ...]:
        """Why the API will refuse the request."""
        return tuple(problem for problem in self.problems if problem.blocking)

    @property
    def warnings(self) -> tuple[ImageProblem, ...]:
        return tuple(problem for problem in self.problems if not problem.blocking)

    @property
    def ok(self) -> bool:
        """Whether nothing found here makes the API refuse the request."""
        return not self.blocking

    @property
    def tokens(self) -> tuple[int, int]:
        """Least and most tokens of all pictures; equal where every size is known."""
        return sum(one.low_tokens for one in self.images), sum(one.high_tokens for one in self.images)


def check_images(
    request: Mapping[str, Any] | str | bytes,
    model: str | Model | None = None,
    platform: str | Platform = "api",
    *,
    tier: str | None = None,
) -> list[ImageProblem]:
    """Every problem with the pictures of a request; :func:`preflight` has the pictures as well.

    >>> picture = {"type": "image", "source": {"type": "base64", "media_type": "image/jpg", "data": ""}}
    >>> request = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": [picture]}]}
    >>> for problem in check_images(request): print(problem)
    messages[0].content[0].source.media_type: is 'image/jpg' [media-type]; write image/jpeg
    messages[0].content[0].source.data: has no bytes [empty-image]; leave the picture out
    """
    return list(preflight(request, model, platform, tier=tier).problems)


def preflight(
    request: Mapping[str, Any] | str | bytes,
    model: str | Model | None = None,
    platform: str | Platform = "api",
    *,
    tier: str | None = None,
) -> Preflight:
    """Look at every picture of a request as the API will.

    ``request`` is the body of ``client.messages.create(**request)``, or its JSON; it is not changed. The
    ``model`` is the request's own unless one is given. Raises :class:`InvalidRequestError` for what is no
    request, :class:`UnknownModelError` for a model nobody knows unless a ``tier`` is named, and
    :class:`InvalidArgumentError` for an unknown platform or tier.
    """
    body = as_body(request)
    limits = platform_of(platform)
    known = _model(model if model is not None else body.get("model"), tier)
    reader = _Reader(limits, tier_of(known, tier=tier))
    found = list(places(body))
    images: list[SeenImage] = []
    problems: list[ImageProblem] = []
    for place in found:
        if place.kind == "image":
            seen, told = reader.image(place)
            images.append(seen)
            problems += told
        else:
            problems += reader.other(place)
    problems += _many(images)
    problems += _count(found, max_pictures(None if known is None else known.window_tokens))
    problems += _halves(body)
    size = len(request) if isinstance(request, (bytes, bytearray)) else _request_bytes(body)
    if size > limits.max_request_bytes:
        says = f"has {size:,} bytes: more than {limits.max_request_bytes:,} on {limits.name}"
        fix = "send large pictures by file id or address, or fewer of them"
        problems.append(ImageProblem("request", "request-size", says, fix))
    order = {place.path: i for i, place in enumerate(found)}
    problems.sort(key=lambda problem: _order(problem.path, order))
    return Preflight(limits, reader.tier, tuple(images), tuple(problems), size)


def _order(path: str, order: Mapping[str, int]) -> int:
    """Where the block of a problem stands: the longest known path that its own begins with."""
    while path and path not in order:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return order.get(path, len(order))


def _model(model: Any, tier: str | None) -> Model | None:
    if tier is None or isinstance(model, Model):
        return None if model is None else get_model(model)
    try:
        return None if model is None else get_model(model)
    except UnknownModelError:
        return None


def _request_bytes(body: Mapping[str, Any]) -> int:
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=str)
        return len(text.encode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise InvalidRequestError(
            Problem("request", "json", f"cannot be written as JSON ({error})")
        ) from None


def _halves(body: Mapping[str, Any]) -> Iterator[ImageProblem]:
    says = "holds half a character, which UTF-8 cannot hold"
    fix = "drop it, or decode the text with errors='replace'"
    return (ImageProblem(path, "lone-surrogate", says, fix) for path in lone_surrogates(body))


def _many(images: list[SeenImage]) -> Iterator[ImageProblem]:
    if len(images) <= MANY_IMAGES:
        return
    for one in images:
        if one.header is not None and MAX_SIDE_PIXELS_MANY < max(one.header.display_size) <= MAX_SIDE_PIXELS:
            size = "{} x {}".format(*one.header.display_size)
            says = f"is {size} pixels: above {MAX_SIDE_PIXELS_MANY} beside {len(images) - 1} other pictures"
            fix = f"scale it to {MAX_SIDE_PIXELS_MANY} pixels, or leave at most {MANY_IMAGES} pictures"
            yield ImageProblem(f"{one.path}.source.data", "many-images", says, fix)


def _count(found: list[Place], most: int) -> Iterator[ImageProblem]:
    shown = [
        place for place in found if place.kind in ("image", "document") and counts_as_picture(place.value)
    ]
    if len(shown) > most:
        says = f"is number {most + 1} of {len(shown)} pictures and documents: at most {most} a request"
        yield ImageProblem(shown[most].path, "picture-count", says, "drop the oldest, many at once")


@dataclass(frozen=True, slots=True)
class _Reader:
    """What is said about one block depends on these alone."""

    limits: Platform
    tier: Tier

    def image(self, place: Place) -> tuple[SeenImage, list[ImageProblem]]:
        source, path = place.value.get("source"), f"{place.path}.source"
        problems: list[ImageProblem] = []
        if place.segment == "system":
            says = "is a picture, and system takes text only"
            problems.append(ImageProblem(place.path, "system-image", says, "move it into a message"))
        problems += _transformations(place)
        if not isinstance(source, dict):
            problems.append(ImageProblem(path, "source", f"is {named(source)}", _SOURCE))
            return self._unknown(place, "none", None), problems
        kind, declared = str(source.get("type")), source.get("media_type")
        declared = declared if isinstance(declared, str) else None
        if kind != "base64":
            problems += self._elsewhere(kind, source, path)
            return self._unknown(place, kind, declared), problems
        data = source.get("data")
        header, told = self._bytes(data, f"{path}.data")
        problems += [*_declared(source.get("media_type"), header, f"{path}.media_type"), *told]
        chars = len(data) if isinstance(data, str) else None
        if header is None:
            return self._unknown(place, kind, declared, chars), problems
        problems += self._size(place, header, f"{path}.data")
        seen = scaling(*header.display_size, tier=self.tier.name).seen
        tokens = patches(*seen)
        return SeenImage(place.path, kind, declared, header, seen, tokens, tokens, chars), problems

    def _unknown(self, place: Place, kind: str, declared: str | None, chars: int | None = None) -> SeenImage:
        return SeenImage(place.path, kind, declared, None, None, 1, self.tier.max_tokens, chars)

    def _band(self) -> str:
        return f"its tokens are not known: 1 to {self.tier.max_tokens}, counted as {self.tier.max_tokens}"

    def _elsewhere(self, kind: str, source: Mapping[str, Any], path: str) -> Iterator[ImageProblem]:
        name = {"url": "url", "file": "file_id"}.get(kind)
        if name is None:
            yield ImageProblem(f"{path}.type", "source", f"is {named(source.get('type'))}", _SOURCE)
            return
        value = source.get(name)
        if not isinstance(value, str) or not value:
            yield ImageProblem(f"{path}.{name}", "source", f"is {named(value)}", "give a text")
        elif kind == "url" and not value.lower().startswith(("http://", "https://")):
            fix = "send a data URL as type base64: the part behind the comma is its data"
            yield ImageProblem(f"{path}.url", "address", f"is {value!r:.40}, no web address", fix)
        else:
            fix = "look at the file before it is uploaded, or count the request"
            yield ImageProblem(path, "size-unknown", self._band(), fix, blocking=False)

    def _bytes(self, data: Any, path: str) -> tuple[ImageHeader | None, list[ImageProblem]]:
        """What the base64 of a picture says, and what is wrong with it."""
        if not isinstance(data, str):
            says = f"is {type(data).__name__}, no text"
            return None, [ImageProblem(path, "base64", says, "encode the bytes as base64")]
        if data[:5].lower() == "data:":
            fix = "leave out everything up to the comma; the type belongs into media_type"
            return None, [ImageProblem(path, "base64", "is a data URL", fix)]
        if data.lower().startswith(("http://", "https://")):
            return None, [ImageProblem(path, "base64", "is an address", "send it with type url")]
        problems = []
        most = self.limits.max_image_chars
        if len(data) > most:
            says = f"has {len(data):,} characters of base64: more than {most:,} on {self.limits.name}"
            fix = f"bring the file to {self.limits.max_image_bytes:,} bytes or less"
            problems.append(ImageProblem(path, "encoded-size", says, fix))
        try:
            header = read_header(_decoded(data), path)
        except (binascii.Error, ValueError) as error:
            if isinstance(error, UnreadableImageError):
                told = error.problems[0]
            else:
                told = Problem(path, "base64", f"is not base64 ({_what_is_wrong(data, error)})", _ENCODE)
            says = told.message if told.rule == "empty-image" else f"{told.message}; {self._band()}"
            problems.append(ImageProblem(told.path, told.rule, says, told.fix))
            return None, problems
        return header, problems

    def _size(self, place: Place, header: ImageHeader, path: str) -> Iterator[ImageProblem]:
        """Sides, what scaling does to them, and frames that nobody will see."""
        width, height = header.display_size
        shown = scaling(width, height, tier=self.tier.name)
        seen = "{} x {}".format(*shown.seen)
        tokens = patches(*shown.seen)
        if max(width, height) > MAX_SIDE_PIXELS:
            says = f"is {width} x {height} pixels: {max(width, height)} > {MAX_SIDE_PIXELS}, refused as sent"
            fix = f"cut it into parts, or scale it: the model would see {seen}, {tokens} tokens"
            yield ImageProblem(path, "edge", says, fix)
        transformations = place.value.get("transformations")
        strict = isinstance(transformations, dict) and transformations.get("oversized_image") == "error"
        if strict and shown.downsized:
            says = f"is {width} x {height} pixels, which is refused instead of scaled down"
            yield ImageProblem(
                f"{place.path}.transformations", "oversized-image", says, f"scale it to {seen}"
            )
        elif shown.factor < READABLE_FACTOR:
            says = f"is {width} x {height} pixels, of which the model sees {seen}: small text is lost"
            fix = "cut it into parts, or show the part that matters"
            yield ImageProblem(path, "scaled-down", says, fix, blocking=False)
        if header.animated:
            frames = "several" if header.frames is None else str(header.frames)
            says = f"has {frames} frames, of which the model sees the first"
            yield ImageProblem(path, "animation", says, "send the frames that matter", blocking=False)

    def other(self, place: Place) -> Iterator[ImageProblem]:
        """Texts that hold a picture, documents that are none, and blocks of other vendors."""
        if place.kind == "text":
            lengths = pasted(place.value)
            if lengths:
                pictures = "a picture" if len(lengths) == 1 else f"{len(lengths)} pictures"
                says = f"holds {pictures} as {sum(lengths):,} characters of base64, counted as text"
                fix = "send an image block: it costs its patches, whatever the file's size"
                yield ImageProblem(place.path, "base64-as-text", says, fix, blocking=False)
        elif place.kind == "foreign":
            says = f"is {place.value['type']!r}, a block of another API"
            yield ImageProblem(f"{place.path}.type", "block-type", says, "write an image block")
        elif place.kind == "document":
            yield from _document(place)


def _document(place: Place) -> Iterator[ImageProblem]:
    source, path = place.value.get("source"), f"{place.path}.source"
    if not isinstance(source, dict) or source.get("type") != "base64":
        return
    data = source.get("data")
    if not isinstance(data, str) or not data:
        yield ImageProblem(f"{path}.data", "empty-document", "has no bytes", "leave the document out")
        return
    head = data[:2048]
    try:
        start = base64.b64decode(head[: len(head) // 4 * 4], validate=True)
    except (binascii.Error, ValueError) as error:
        yield ImageProblem(f"{path}.data", "base64", f"is not base64 ({error})", _ENCODE)
        return
    if b"%PDF-" not in start[:1024]:
        yield ImageProblem(
            f"{path}.data", "not-a-pdf", "does not begin as a PDF", "send pictures as image blocks"
        )


def _transformations(place: Place) -> Iterator[ImageProblem]:
    """What ``transformations`` must not hold, whatever the picture is."""
    wanted, path = place.value.get("transformations"), f"{place.path}.transformations"
    if wanted is None:
        return
    if not isinstance(wanted, dict):
        fix = 'write {"oversized_image": "downsize"} or {"oversized_image": "error"}'
        yield ImageProblem(path, "transformation", f"is {named(wanted)}, no object", fix)
        return
    for name, value in wanted.items():
        if name != "oversized_image":
            says, fix = "is not known", "oversized_image is the only one"
            yield ImageProblem(f"{path}.{name}", "transformation", says, fix)
        elif value not in ("downsize", "error"):
            yield ImageProblem(
                f"{path}.{name}", "transformation", f"is {named(value)}", "write downsize or error"
            )


_SOURCE = "give a source of type base64, url or file"
_ENCODE = "encode the bytes in one go, without line breaks"


def _declared(declared: Any, header: ImageHeader | None, path: str) -> Iterator[ImageProblem]:
    """A declared type that is none of the four, or another one than the bytes have."""
    if declared in MEDIA_TYPES:
        if header is not None and declared != header.media_type:
            says = f"is {declared}, and the bytes are {header.media_type}"
            yield ImageProblem(path, "media-type-mismatch", says, f"write {header.media_type}")
        return
    says = "is missing" if declared is None else f"is {named(declared)}"
    meant = header.media_type if header is not None else "image/jpeg" if declared == "image/jpg" else None
    fix = f"write {meant}" if meant else f"send one of {', '.join(MEDIA_TYPES)}"
    yield ImageProblem(path, "media-type", says, fix)


def _decoded(data: str) -> bytes:
    """The bytes behind base64. Raises :class:`binascii.Error` or :class:`ValueError`."""
    if len(data) > _MAX_DECODED_CHARS:
        data = data[:_MAX_DECODED_CHARS]
    return strict_base64(data)


def _what_is_wrong(data: str, error: Exception) -> str:
    if any(blank in data for blank in "\n\r "):
        return "it has blanks or line breaks"
    if "-" in data or "_" in data:
        return "it is the variant for addresses, with - and _"
    if len(data) % 4 and set(data[-200:]).isdisjoint("="):
        return "its end is missing, or its = signs"
    return str(error)
