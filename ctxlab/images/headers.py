"""What the first bytes of a picture say: its true type and size, nothing decoded.

Models: JPEG (orientation of its EXIF, progressive, CMYK; a thumbnail inside EXIF is not the picture), PNG and
APNG, GIF with its frames, WebP lossy, lossless, extended and animated; the names of formats that the API does
not take.
Does not model: pixels, checksums, whether the rest of the file is whole. A decoder may refuse a file whose
header is sound.
Source: ITU T.81, CIPA DC-008 (EXIF), PNG 3rd edition, GIF89a, RFC 9649 (WebP); signatures of the others as
their own documents give them. Checked against files that Pillow writes.

Every walk has a bound in steps, whatever lengths a file claims, and reads slices of a few bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem

Mode = Literal["L", "LA", "P", "RGB", "RGBA", "CMYK"]

#: The types that the API takes, as its documents and SDK list them (2026-11).
MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")

_MAX_SEGMENTS = 10_000  # JPEG segments, PNG and WebP chunks
_MAX_GIF_STEPS = 100_000  # a block of data holds 255 bytes, so 25 MB
_MAX_STRAY_BYTES = 4_096  # between JPEG segments
_MAX_EXIF_ENTRIES = 512
_SNIFFED_BYTES = 1_024


class UnreadableImageError(CtxlabError, ValueError):
    """The bytes are no picture the API takes; ``rule`` of its problem says why.

    ``empty-image``, ``unsupported-type`` (named), ``unreadable-header`` or ``zero-size``.
    """


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """What the first bytes of a picture say.

    ``width`` and ``height`` are pixels as stored; ``display_size`` has them as they are shown.
    ``orientation`` is that of EXIF, 1 to 8. ``frames`` is None where the bytes do not say. ``mode`` and
    ``alpha`` hint at what a decoder will give; ``progressive`` stands for interlaced PNGs too.
    """

    media_type: str
    width: int
    height: int
    orientation: int = 1
    mode: Mode = "RGB"
    alpha: bool = False
    progressive: bool = False
    animated: bool = False
    frames: int | None = 1

    @property
    def display_size(self) -> tuple[int, int]:
        """Width and height after the orientation tag, which may lay a picture on its side."""
        return (self.height, self.width) if self.orientation >= 5 else (self.width, self.height)


def read_header(data: bytes, path: str = "image") -> ImageHeader:
    """Type and size of a JPEG, PNG, GIF or WebP from its bytes; the first part of a file is enough.

    Raises :class:`UnreadableImageError`, whose problem has ``path``, for everything that is not such a file,
    and :class:`InvalidArgumentError` for what is not bytes.

    >>> read_header(bytes.fromhex("89504e470d0a1a0a0000000d4948445200000280000001e0")).display_size
    (640, 480)
    >>> read_header(b"BM" + bytes(60), "logo.png")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ctxlab.images.headers.UnreadableImageError: logo.png: is BMP, which the API does not take ...
    """
    data = _checked(data, path)
    if not data:
        raise _unreadable(path, "empty-image", "has no bytes", "leave the picture out")
    read = next((reader for magic, reader in _READERS if data.startswith(magic)), None)
    try:
        found = read(data) if read else None
    except (IndexError, ValueError):  # ends before its size
        found = None
    if found is None:
        raise _unreadable(path, *_why_not(data, is_known=read is not None))
    if not (found.width and found.height):
        size = f"is {found.width} x {found.height} pixels"
        raise _unreadable(path, "zero-size", size, "leave the picture out")
    return found


def _checked(data: object, path: str) -> bytes:
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    if not isinstance(data, bytes):
        kind = type(data).__name__
        raise InvalidArgumentError(Problem(path, "bytes", f"is {kind}", "give the bytes of the file"))
    return data


def header_or_none(data: bytes) -> ImageHeader | None:
    """The same, with None for bytes that are no picture the API takes.

    >>> header_or_none(b"<svg/>") is None
    True
    """
    try:
        return read_header(data)
    except UnreadableImageError:
        return None


def _unreadable(path: str, rule: str, message: str, fix: str) -> UnreadableImageError:
    return UnreadableImageError(Problem(path, rule, message, fix))


# --- the four formats


def _png(data: bytes) -> ImageHeader | None:
    if len(data) < 24 or data[8:16] != b"\0\0\0\x0dIHDR":
        return None
    width, height = _big(data, 16, 4), _big(data, 20, 4)
    if max(width, height) >= 1 << 31:
        return None
    kind = data[25] if len(data) > 25 else 2
    more: dict[str, Any] = {"mode": _PNG_MODES.get(kind, "RGB"), "alpha": kind in (4, 6)}
    more["progressive"] = len(data) > 28 and data[28] == 1
    pixels_seen = False  # only eXIf may stand behind them
    for name, at, length in _png_chunks(data):
        pixels_seen = pixels_seen or name == b"IDAT"
        if name == b"IEND":
            break
        if name == b"tRNS" and not pixels_seen:
            more["alpha"] = True
        elif name == b"acTL" and not pixels_seen and length >= 4 and len(data) >= at + 4:
            frames = _big(data, at, 4)
            more |= {"frames": frames, "animated": frames > 1}
        elif name == b"eXIf":
            more["orientation"] = _orientation(data[at : at + length])
    return ImageHeader("image/png", width, height, **more)


_PNG_MODES: dict[int, Mode] = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, place and length of each chunk behind the first."""
    at = 33
    for _ in range(_MAX_SEGMENTS):
        if len(data) < at + 8:
            return
        length = _big(data, at, 4)
        yield bytes(data[at + 4 : at + 8]), at + 8, length
        at += 12 + length


def _gif(data: bytes) -> ImageHeader | None:
    if data[3:6] not in (b"87a", b"89a") or len(data) < 10:
        return None
    frames, alpha = _gif_frames(data)
    width, height = _little(data, 6, 2), _little(data, 8, 2)
    if not (width and height):  # decoders make room for the first frame
        right, bottom = _gif_first(data)
        width, height = max(width, right), max(height, bottom)
    return ImageHeader(
        "image/gif",
        width,
        height,
        mode="P",
        alpha=alpha,
        animated=frames is None or frames > 1,
        frames=frames,
    )


def _gif_first(data: bytes) -> tuple[int, int]:
    """How far the first picture of a GIF reaches to the right and down."""
    if len(data) < 13:
        return 0, 0
    at = 13 + _colours(data[10])
    for _ in range(_MAX_SEGMENTS):
        if len(data) < at + 10:
            return 0, 0
        if data[at] == 0x2C:
            left, top, width, height = (_little(data, at + place, 2) for place in (1, 3, 5, 7))
            return left + width, top + height
        if data[at] != 0x21:
            return 0, 0
        at += 2
        while len(data) > at and data[at]:  # blocks of the extension
            at += 1 + data[at]
        at += 1
    return 0, 0


def _gif_frames(data: bytes) -> tuple[int | None, bool]:
    """How many pictures stand in a GIF (None: more than are counted), and whether the first lets through."""
    frames, alpha = 0, False
    if len(data) < 13:
        return 1, False
    at = 13 + _colours(data[10])
    inside = False  # of blocks of data
    for _ in range(_MAX_GIF_STEPS):
        if len(data) <= at + 1:
            break
        if inside:
            inside = data[at] != 0
            at += 1 + data[at]
        elif data[at] == 0x2C and len(data) > at + 9:
            frames += 1
            at += 11 + _colours(data[at + 9])  # behind the descriptor, its colours and the code size
            inside = True
        elif data[at] == 0x21:
            if data[at + 1] == 0xF9 and not frames and len(data) > at + 3:
                alpha = bool(data[at + 3] & 1)
            at += 2
            inside = True
        else:
            break
    else:
        return None, alpha
    return max(frames, 1), alpha


def _colours(flags: int) -> int:
    """Bytes of the table of colours that ``flags`` announces."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp(data: bytes) -> ImageHeader | None:
    if data[8:12] != b"WEBP" or len(data) < 30:
        return None
    chunk = data[12:16]
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return ImageHeader("image/webp", _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF)
    if chunk == b"VP8L" and data[20] == 0x2F:
        bits = _little(data, 21, 4)
        alpha = bool(bits >> 28 & 1)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        return ImageHeader("image/webp", width, height, mode="RGBA" if alpha else "RGB", alpha=alpha)
    if chunk == b"VP8X":
        return _webp_extended(data)
    return None


def _webp_extended(data: bytes) -> ImageHeader:
    flags = data[20]
    alpha, moves = bool(flags & 0x10), bool(flags & 0x02)
    frames, orientation = 0, 1
    at, steps = 12, 0
    while (moves or flags & 0x08) and len(data) >= at + 8 and steps < _MAX_SEGMENTS:
        name, length = data[at : at + 4], _little(data, at + 4, 4)
        frames += name == b"ANMF"
        if name == b"EXIF":
            orientation = _orientation(data[at + 8 : at + 8 + min(length, 1 << 16)])
        at += 8 + length + length % 2
        steps += 1
    counted = steps < _MAX_SEGMENTS and frames
    return ImageHeader(
        "image/webp",
        _little(data, 24, 3) + 1,
        _little(data, 27, 3) + 1,
        orientation=orientation,
        mode="RGBA" if alpha else "RGB",
        alpha=alpha,
        animated=moves and frames != 1,
        frames=(frames if counted else None) if moves else 1,
    )


def _jpeg(data: bytes) -> ImageHeader | None:
    """Walk over the segments to the first start of frame: each is a marker and a length."""
    orientation, exif_seen = 1, False
    at = 2
    for _ in range(_MAX_SEGMENTS):
        at = data.index(0xFF, at, at + _MAX_STRAY_BYTES)  # decoders, too, pass over what is no marker
        window = data[at : at + _MAX_STRAY_BYTES]
        at += len(window) - len(window.lstrip(b"\xff"))  # a marker may be filled up in front
        marker = data[at]
        at += 1
        if marker in _JPEG_ALONE:
            continue
        length = _big(data, at, 2)
        if len(data) < at + 2 or length < 2 or marker in _JPEG_NO_WAY_ON:
            return None
        if marker in _JPEG_START_OF_FRAME:
            return _jpeg_frame(data, at, marker, orientation)
        if marker == 0xE1 and not exif_seen and data[at + 2 : at + 8] == b"Exif\0\0":
            exif_seen = True
            orientation = _orientation(data[at + 8 : at + length])
        at += length
    return None


def _jpeg_frame(data: bytes, at: int, marker: int, orientation: int) -> ImageHeader | None:
    if len(data) < at + 8:
        return None
    return ImageHeader(
        "image/jpeg",
        _big(data, at + 5, 2),
        _big(data, at + 3, 2),
        orientation=orientation,
        mode=_JPEG_MODES.get(data[at + 7], "RGB"),
        progressive=marker in _JPEG_PROGRESSIVE,
    )


_JPEG_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_JPEG_ALONE = frozenset({0x00, 0x01, *range(0xD0, 0xD9)})  # no marker, or one without a length
_JPEG_NO_WAY_ON = frozenset({0xDA, 0xD9, 0xFF})  # pixels or the end, and no frame was seen
_JPEG_MODES: dict[int, Mode] = {1: "L", 3: "RGB", 4: "CMYK"}


def _orientation(exif: bytes) -> int:
    """The orientation tag of the first directory, 1 where there is none or it makes no sense."""
    exif = exif.removeprefix(b"Exif\0\0")
    order = {b"II*\0": "little", b"MM\0*": "big"}.get(bytes(exif[:4]))
    if order is None or len(exif) < 8:
        return 1

    def number(at: int, size: int) -> int:
        return int.from_bytes(exif[at : at + size], "little" if order == "little" else "big")

    start = number(4, 4)
    for entry in range(min(number(start, 2), _MAX_EXIF_ENTRIES)):
        at = start + 2 + 12 * entry
        if len(exif) < at + 12:
            break
        if number(at, 2) == 0x0112:
            value = number(at + 8, 4 if number(at + 2, 2) == 4 else 2)
            return value if 1 <= value <= 8 else 1
    return 1


_READERS: tuple[tuple[bytes, Callable[[bytes], ImageHeader | None]], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
    (b"\xff\xd8\xff", _jpeg),
)


def _big(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _little(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


# --- everything else, by name


def format_name(data: bytes) -> str | None:
    """The name of a format the API does not take; None for what is not known here.

    Raises :class:`InvalidArgumentError` for what is not bytes.

    >>> format_name(b"II*" + bytes(20)), format_name(bytes(4) + b"ftypavif"), format_name(b"hello")
    ('TIFF', 'AVIF', None)
    """
    head = bytes(_checked(data, "data")[:_SNIFFED_BYTES])
    if head[4:8] == b"ftyp":
        return _brand(head[8:12])
    named = next((name for magic, name in _OTHERS if head.startswith(magic)), None)
    if named is not None:
        return named
    if head.startswith(b"RIFF") and head[8:12] in (b"WAVE", b"AVI "):
        return head[8:12].decode().strip()
    if len(head) >= 18 and head.startswith(b"BM"):
        return "BMP"
    return _text_name(head)


def _brand(brand: bytes) -> str:
    """The file behind an ISO base media box."""
    if brand in (b"avif", b"avis"):
        return "AVIF"
    if brand[:3] in (b"hei", b"hev", b"mif", b"msf"):
        return "HEIC"
    return "video" if brand[:3] in (b"mp4", b"iso", b"qt ", b"M4V") else "ISO media"


def _text_name(head: bytes) -> str | None:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = head.replace(b"\0", b"")[2:].lstrip().lower()
    if text.startswith((b"<?xml", b"<!--", b"<!doctype svg", b"<svg")) and b"<svg" in text:
        return "SVG"
    if text.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    if text.startswith((b"{", b"[")):
        return "JSON"
    if head.startswith((b"iVBORw0KGgo", b"/9j/", b"R0lGOD", b"UklGR", b"data:image/")):
        return "base64 text"
    return None


_OTHERS = (
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
    (b"\0\0\1\0", "ICO"),
    (b"8BPS", "PSD"),
    (b"%PDF-", "PDF"),
    (b"%!PS", "PostScript"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
    (b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (b"\xffO\xffQ", "JPEG 2000"),
    (b"\x76\x2f\x31\x01", "OpenEXR"),
    (b"qoif", "QOI"),
    (b"\x1f\x8b", "gzip"),
    (b"PK\3\4", "ZIP"),
)
_CONVERT = "convert it to PNG or JPEG"
_FIXES = {
    "base64 text": "it was encoded twice; encode the file's bytes once",
    "PDF": "send it as a document block",
    "HTML": "this is a web page, perhaps an error page; fetch the picture itself",
    "JSON": "this is an answer of some server; fetch the picture itself",
    "gzip": "unpack it first",
    "ZIP": "unpack it first",
}


def _why_not(data: bytes, *, is_known: bool) -> tuple[str, str, str]:
    """Rule, message and fix for bytes that no reader could read."""
    name = format_name(data)
    if name is not None:
        return "unsupported-type", f"is {name}, which the API does not take", _FIXES.get(name, _CONVERT)
    if is_known:
        return "unreadable-header", "ends before its size, or is damaged", "save it again"
    return "unsupported-type", "is no JPEG, PNG, GIF or WebP", _CONVERT
