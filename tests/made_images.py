"""Picture files made by hand, byte for byte: as small as a header allows, and with what headers may hold."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any


def png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, height: int, *, kind: int = 2, before: bytes = b"", interlaced: bool = False) -> bytes:
    """Header, ``before`` and an empty chunk of data; no pixels."""
    ihdr = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", ihdr) + before + png_chunk(b"IDAT", b"")


def animated_png(width: int, height: int, frames: int) -> bytes:
    return png(width, height, before=png_chunk(b"acTL", struct.pack(">II", frames, 0)))


def gif_frame(width: int = 1, height: int = 1, *, flags: int = 0, blocks: int = 1) -> bytes:
    colours = bytes(3 << (flags & 7) + 1) if flags & 0x80 else b""
    descriptor = b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, flags) + colours
    return descriptor + b"\x02" + b"\x02\x4c\x01" * blocks + b"\x00"


def gif(width: int, height: int, *frames: bytes, flags: int = 0, before: bytes = b"") -> bytes:
    colours = bytes(3 << (flags & 7) + 1) if flags & 0x80 else b""
    shown = b"".join(frames or (gif_frame(),))
    return b"GIF89a" + struct.pack("<HHBBB", width, height, flags, 0, 0) + colours + before + shown + b"\x3b"


def jpeg_segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def jpeg(width: int, height: int, *, before: bytes = b"", frame: int = 0xC0, components: int = 3) -> bytes:
    body = struct.pack(">BHHB", 8, height, width, components) + b"\x01\x11\x00" * components
    return b"\xff\xd8" + before + jpeg_segment(frame, body) + jpeg_segment(0xDA, bytes(6))


def exif(orientation: int, *, order: str = ">", kind: int = 3, behind: bytes = b"") -> bytes:
    """The TIFF structure with one tag, and what may stand behind it (a thumbnail)."""
    value = struct.pack(
        order + ("HH" if kind == 3 else "I"), *([orientation, 0] if kind == 3 else [orientation])
    )
    head = (b"MM\0*" if order == ">" else b"II*\0") + struct.pack(order + "I", 8)
    entry = struct.pack(order + "HHI", 0x0112, kind, 1) + value
    return head + struct.pack(order + "H", 1) + entry + bytes(4) + behind


def turned_jpeg(width: int, height: int, orientation: int, **more: Any) -> bytes:
    app1 = jpeg_segment(0xE1, b"Exif\0\0" + exif(orientation, **more))
    return jpeg(width, height, before=app1)


def webp_chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


def webp(*chunks: bytes) -> bytes:
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def lossy_webp(width: int, height: int) -> bytes:
    body = b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(4)
    return webp(webp_chunk(b"VP8 ", body))


def lossless_webp(width: int, height: int, *, alpha: bool = False) -> bytes:
    bits = (width - 1) | (height - 1) << 14 | alpha << 28
    return webp(webp_chunk(b"VP8L", b"\x2f" + struct.pack("<I", bits) + bytes(8)))


def extended_webp(width: int, height: int, *chunks: bytes, flags: int = 0) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(webp_chunk(b"VP8X", bytes([flags, 0, 0, 0]) + sides), *chunks, bytes(4))


def animated_webp(width: int, height: int, frames: int) -> bytes:
    shown = [webp_chunk(b"ANMF", bytes(24))] * frames
    return extended_webp(width, height, webp_chunk(b"ANIM", bytes(6)), *shown, flags=0x02)


#: One maker of every kind that the API takes, and the type of what it makes.
MAKERS = {
    png: "image/png",
    gif: "image/gif",
    jpeg: "image/jpeg",
    lossy_webp: "image/webp",
    lossless_webp: "image/webp",
    extended_webp: "image/webp",
}


def block(data: bytes | str, media_type: str = "image/png", **more: Any) -> dict[str, Any]:
    """A picture as it stands in a request."""
    text = data if isinstance(data, str) else base64.b64encode(data).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": text}, **more}


def request(*content: Any, **more: Any) -> dict[str, Any]:
    """A request with one message of the user."""
    body = {"model": "claude-opus-5-5", "max_tokens": 100}
    return {**body, "messages": [{"role": "user", "content": list(content)}], **more}
