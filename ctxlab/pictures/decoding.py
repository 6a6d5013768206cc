"""One picture decoded, changed and encoded again, by Pillow.

Models: upright by its EXIF, the first frame, 8 bits for deep grey by the range that it uses, RGB for CMYK,
alpha on a background, smaller, another type; JPEG for photos, PNG for the rest, and JPEG where the encoded
size leaves no other way.
Does not model: colour profiles (dropped, and said), HEIC and SVG, for which Pillow has no decoder of its own.
Source: behaviour of Pillow 12 and 13. The quality of JPEGs and the most pixels that are decoded are ours.
"""

from __future__ import annotations

import importlib
import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ctxlab.errors import InvalidArgumentError, MissingPackageError, Problem
from ctxlab.images import MEDIA_TYPES, UnreadableImageError, header_or_none

#: What a picture may have to be decoded; 8,000 by 8,000 are 64 million.
MAX_PIXELS = 150_000_000
_QUALITY = 88
_LOW_QUALITY = 70
_SHRINK = 0.8
_MAX_ROUNDS = 12
_HEAD_BYTES = 4096
#: White in files of deep grey: a mask or a share, then 8 to 16 bits; scanners often use 10, 12 or 14.
_WHITES = (1, 255, 1023, 4095, 16383, 65535)
#: Types that are written with loss.
LOSSY = ("image/jpeg", "image/webp")


def pillow(name: str = "Image") -> Any:
    """A module of Pillow; raises :class:`MissingPackageError` where it is not installed."""
    try:
        return importlib.import_module(f"PIL.{name}")
    except ImportError:
        fix = 'pip install "ctxlab[notebooks]", or pip install pillow'
        raise MissingPackageError(
            Problem("pillow", "installed", "is needed to convert pictures", fix)
        ) from None


@contextmanager
def decoding(path: str) -> Iterator[None]:
    """Whatever a decoder raises becomes an :class:`UnreadableImageError`: files are not trusted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bombs, which are refused by their pixels
            yield
    except (UnreadableImageError, MissingPackageError):
        raise
    except Exception as error:
        says = f"cannot be decoded ({type(error).__name__}: {error})"
        raise UnreadableImageError(Problem(path, "undecodable", says, "save it again")) from None


def _check_pixels(width: int, height: int, path: str) -> None:
    """Refuse a bomb by what it claims, before a decoder makes room for it."""
    if width * height > MAX_PIXELS:
        says = f"is {width} x {height} pixels: more than {MAX_PIXELS:,} are not decoded"
        fix = "make it smaller with a program that reads it in parts"
        raise UnreadableImageError(Problem(path, "too-many-pixels", says, fix))


def check_background(background: object) -> None:
    """Raise :class:`InvalidArgumentError` for what is no colour that hides what lies behind it."""
    fix = "name a colour, as 'white' or '#ffffff'"
    if not isinstance(background, str):
        kind = type(background).__name__
        raise InvalidArgumentError(Problem("background", "colour", f"is {kind}, no text", fix))
    if background == "white":  # needs no Pillow
        return
    try:
        colour = pillow("ImageColor").getrgb(background)
    except MissingPackageError:
        return  # so is whatever would use it
    except ValueError:
        raise InvalidArgumentError(
            Problem("background", "colour", f"is {background!r:.60}, no colour", fix)
        ) from None
    if len(colour) > 3 and colour[3] != 255:
        says = f"is {background!r}, which lets through"
        raise InvalidArgumentError(Problem("background", "colour", says, fix))


def _shades(image: Any, path: str) -> tuple[float, float, str]:
    """What is black and what is white in deep grey, and in words.

    White is that of the smallest usual depth that holds the values, where they use more than half of it; else
    the range that they have, so that nobody gets a black picture of a scanner that used few bits.
    """
    low, high = image.getextrema()
    if not (math.isfinite(low) and math.isfinite(high)):
        fix = "write whole numbers instead, 0 to 65535"
        raise UnreadableImageError(Problem(path, "no-range", "has shades that are no finite numbers", fix))
    white = next((white for white in _WHITES if high <= white), None)
    if low >= 0 and white is not None and (high * 2 > white or low == high):
        return 0, white, f"0 to {white}"
    if low == high:
        return low - 1, low, f"{low:g}, all the same,"
    return low, high, f"{low:g} to {high:g}"


class Decoded:
    """A picture in memory. Methods change it and note in ``done`` what they did."""

    def __init__(self, data: bytes, path: str) -> None:
        self.done: list[str] = []
        Image = pillow()
        header = header_or_none(data)
        if header is not None:
            _check_pixels(header.width, header.height, path)
        with decoding(path):
            opened = Image.open(io.BytesIO(data))
            _check_pixels(opened.width, opened.height, path)
            first = opened.tell()  # 1 in PSD, whose layers are no frames
            frames = getattr(opened, "n_frames", 1) if opened.format != "PSD" else 1
            if opened.tell() != first:
                opened.seek(first)
            opened.load()
        self.path = path
        # a phone's photo with a second picture behind it is a JPEG, whatever Pillow calls it
        self.media_type = header.media_type if header is not None else Image.MIME.get(opened.format, "")
        self.image = opened
        is_webp = self.media_type == "image/webp"
        lossy = self.media_type in ("image/jpeg", "image/avif", "image/jp2") or is_webp
        self.is_lossless = not lossy or (is_webp and b"VP8L" in data[:_HEAD_BYTES])
        if frames > 1:
            self.done.append(f"kept the first of {frames} frames")
        if data.startswith(b"\x89PNG") and data[24:25] == b"\x10" and not self._is_deep:
            self.done.append("reduced to 8 bits a channel")
        if opened.info.get("icc_profile"):
            self.done.append("dropped its colour profile")

    @property
    def _is_deep(self) -> bool:
        return self.image.mode.startswith("I;16") or self.image.mode in ("I", "F")

    def turn_upright(self) -> None:
        """Apply the orientation tag, which a new file does not have."""
        with decoding(self.path):
            turned = pillow("ImageOps").exif_transpose(self.image)
            if self.image.getexif().get(0x0112, 1) in range(2, 9):
                self.done.append("turned upright as its EXIF says")
            self.image = turned

    def make_plain(self, *, flatten: bool, background: str) -> None:
        """Bring the pixels to grey or RGB, with alpha unless it is to be flattened."""
        with decoding(self.path):
            image = self.image
            if self._is_deep:
                black, white, words = _shades(image, self.path)
                scale = 255 / (white - black)
                grey = image.convert("F").point(lambda value: value * scale + (0.5 - black * scale))
                image = grey.convert("L")
                self.done.append(f"reduced to 8 bits a channel, of shades from {words}")
            if image.mode == "CMYK":
                self.done.append("converted CMYK to RGB")
            if image.has_transparency_data:
                image = image.convert("RGBA")
                if flatten:
                    ground = pillow().new("RGBA", image.size, background)
                    image = pillow().alpha_composite(ground, image).convert("RGB")
                    self.done.append(f"flattened alpha on {background}")
            elif image.mode not in ("L", "RGB"):
                image = image.convert("L" if image.mode in ("1", "LA") else "RGB")
            self.image = image

    def shrink_to(self, size: tuple[int, int]) -> None:
        """Scale down to ``size``; nothing is done where the picture has it."""
        if self.image.size == size:
            return
        before = "{} x {}".format(*self.image.size)
        with decoding(self.path):
            self.image = self.image.resize(size, pillow().Resampling.LANCZOS, reducing_gap=3.0)
        self.done.append("scaled {} to {} x {} pixels".format(before, *size))

    def encode(self, media_type: str, quality: int = _QUALITY) -> bytes:
        """The file of the picture; it has no metadata."""
        file = io.BytesIO()
        with decoding(self.path):
            how = {} if media_type in ("image/png", "image/gif") else {"quality": quality}
            clean = self.image.copy()
            clean.info = {}
            clean.save(file, media_type.removeprefix("image/").upper(), **how)
        return file.getvalue()

    def encode_within(self, media_type: str, max_bytes: int, background: str) -> tuple[bytes, str]:
        """The file and its type: a JPEG where the wanted type is too large, and smaller until it fits."""
        data = self.encode(media_type)
        if len(data) <= max_bytes:
            return data, media_type
        self.make_plain(flatten=True, background=background)
        if media_type != "image/jpeg":
            lossy = " and loses fine detail" if self.is_lossless else ""
            self.done.append(f"wrote a JPEG, which takes fewer bytes{lossy}")
        for _ in range(_MAX_ROUNDS):
            data = self.encode("image/jpeg", _LOW_QUALITY)
            if len(data) <= max_bytes:
                return data, "image/jpeg"
            width, height = self.image.size
            self.shrink_to((max(1, round(width * _SHRINK)), max(1, round(height * _SHRINK))))
        says = f"is above {max_bytes:,} bytes however small it is made"
        raise UnreadableImageError(Problem(self.path, "encoded-size", says))


def usual_type(media_type: str) -> str:
    """The type to write a picture in that was read as ``media_type``."""
    return media_type if media_type in MEDIA_TYPES and media_type != "image/gif" else "image/png"
