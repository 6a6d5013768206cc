"""Headers a second beside those who read them too, and what looking at a request of 600 pictures takes.

``imagesize`` is a peer where it can be imported (it is no dependency of anything here).
"""

from __future__ import annotations

import base64
import importlib
import io
import json
from collections.abc import Callable
from typing import Any

from PIL import Image

from benchmarks.timing import Row, best_ms
from ctxlab.images import preflight, read_header

_ROUNDS = 50


def written(form: str, size: tuple[int, int] = (800, 600), **how: Any) -> bytes:
    file = io.BytesIO()
    Image.effect_noise(size, 60).convert("RGB").save(file, form, **how)
    return file.getvalue()


def files() -> dict[str, bytes]:
    """A photo with EXIF and profile, a screenshot, an animation, two kinds of WebP, as Pillow writes them."""
    exif = Image.Exif()
    exif[0x0112] = 6
    frames = [Image.new("L", (320, 240), 40 * number) for number in range(12)]
    moving = io.BytesIO()
    frames[0].save(moving, "GIF", save_all=True, append_images=frames[1:])
    return {
        "JPEG": written("JPEG", exif=exif.tobytes(), icc_profile=bytes(3000)),
        "PNG": written("PNG"),
        "GIF": moving.getvalue(),
        "WebP": written("WEBP"),
        "lossless WebP": written("WEBP", lossless=True),
    }


def request_of(data: bytes, count: int) -> dict[str, Any]:
    text = base64.b64encode(data).decode("ascii")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": text}}
    return {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": [picture] * count}]}


def rows() -> list[Row]:
    def a_second(read: Callable[[bytes], object], datas: list[bytes]) -> float:
        took_ms = best_ms(lambda: [read(data) for data in datas for _ in range(_ROUNDS)])
        return len(datas) * _ROUNDS / took_ms * 1e3

    found = []
    given = files()
    peers: dict[str, Callable[[bytes], object]] = {
        "Pillow Image.open": lambda data: Image.open(io.BytesIO(data)).size
    }
    try:
        imagesize = importlib.import_module("imagesize")
        peers["imagesize.get"] = lambda data: imagesize.get(io.BytesIO(data))
    except ImportError:
        pass
    for name, datas in {
        "five files": list(given.values()),
        **{name: [data] for name, data in given.items()},
    }.items():
        ours = a_second(read_header, datas)
        for peer, read in peers.items():
            theirs = a_second(read, datas)
            beside = f"{theirs:,.0f}/s {peer}"
            found.append(Row(f"headers read, {name}", ours, "/s", beside, ours / theirs, ""))
    body = request_of(written("JPEG", (380, 285)), 600)
    size_mb = len(json.dumps(body)) / 1e6
    dumps_ms = best_ms(lambda: json.dumps(body), repeat=3)
    look_ms = best_ms(lambda: preflight(body), repeat=3)
    beside = f"{dumps_ms:.0f} ms json.dumps of it"
    found.append(
        Row(f"pre-flight of 600 pictures, {size_mb:.0f} MB", look_ms, "ms", beside, look_ms / dumps_ms, "")
    )
    return found
