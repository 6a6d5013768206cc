"""One picture decoded, changed and encoded again, by Pillow.

Models: upright by its EXIF, the first frame, RGB for CMYK and deep grey, alpha on a background, smaller,
another type; JPEG for photos, PNG for the rest, and JPEG where the encoded size leaves no other way.
Does not model: colour profiles (dropped), HEIC and SVG, for which Pillow has no decoder of its own.
Source: behaviour of Pillow 12 and 13. The quality of JPEGs and the most pixels that are decoded are ours.
"""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ctxlab.errors import MissingPackageError, Problem
from ctxlab.images import MEDIA_TYPES, UnreadableImageError, header_or_none

#: What a picture may have to be decoded; 8,000 by 8,000 are 64 million.
MAX_PIXELS = 150_000_000
_QUALITY = 88
_LOW_QUALITY = 70
_SHRINK = 0.8
_MAX_ROUNDS = 12


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
            frames = getattr(opened, "n_frames", 1)
            opened.seek(0)
            opened.load()
        self.path = path
        self.media_type = Image.MIME.get(opened.format, "")
        self.image = opened
        if frames > 1:
            self.done.append(f"kept the first of {frames} frames")

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
            if image.mode.startswith("I;16") or image.mode in ("I", "F"):
                image = image.convert("F").point(lambda value: value / 257).convert("L")
                self.done.append("reduced to 8 bits a channel")
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
            self.done.append("wrote a JPEG, which takes fewer bytes")
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
