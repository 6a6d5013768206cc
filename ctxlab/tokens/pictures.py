"""How large the pictures of a block are, of one that is sent as of one that was recorded.

Models: pixels as the head of a base64 picture or a recording tells them, of a block and of the parts inside.
Does not model: pictures by address or file id, whose size nobody told, and what they cost
(:mod:`ctxlab.images`).
Source: the Messages API's image blocks; ``data/recordings/README.md`` for recorded ones.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ctxlab.images import header_or_none

_HEADER_CHARS = 700_000  # of base64; a JPEG may carry that much before its size


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def size_of(source: Any) -> Size | None:
    """Pixels of a picture sent as base64; None for addresses, file ids and what cannot be read.

    >>> size_of({"type": "url", "url": "https://example.com/a.png"})
    """
    if not isinstance(source, Mapping) or not isinstance(source.get("data"), str):
        return None
    head = source["data"][:_HEADER_CHARS]
    try:
        header = header_or_none(base64.b64decode(head[: len(head) // 4 * 4]))
    except (binascii.Error, ValueError):
        return None
    return Size(header.width, header.height) if header else None


def pictures(block: Any) -> Iterator[Any]:
    """Pictures of known size, each with ``width`` and ``height``: the block's own and those inside it."""
    if hasattr(block, "wire_bytes"):
        yield from _sent(block)
    else:
        yield from recorded_pictures(block)


def recorded_pictures(block: Any) -> Iterator[Any]:
    """The same of a block without its bytes, which tells its pictures as ``image``."""
    for part in (block, *getattr(block, "parts", ())):
        image = getattr(part, "image", None)
        if getattr(image, "width", None) is not None:
            yield image


def _sent(block: Any) -> Iterator[Size]:
    if block.type != "image" and not any(part.type == "image" for part in block.parts):
        return
    body = json.loads(block.wire_bytes)
    for part in [body] if block.type == "image" else body["content"]:
        size = (
            size_of(part.get("source")) if isinstance(part, Mapping) and part.get("type") == "image" else None
        )
        if size is not None:
            yield size
