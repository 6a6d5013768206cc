"""A block of a request, its two digests, and the chain of them.

Models: blocks and the blocks inside results; both digests; the chained digest of every prefix.
Does not model: how a request becomes blocks (:mod:`ctxlab.prompt.reading`).
Source: that a prefix must be identical up to and including the marked block: prompt-caching page, 2026-09.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from ctxlab.prompt.canonical import sorted_json

Segment = Literal["tools", "system", "messages"]
KeyOrder = Literal["sent", "sorted"]

SEGMENTS: tuple[Segment, ...] = ("tools", "system", "messages")


@dataclass(frozen=True, slots=True)
class Part:
    """A block inside a ``tool_result``: hashed with its parent, listed because it is counted by itself."""

    path: str
    type: str
    chars: int
    cache_control: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block of a request, in render order.

    ``content_sha256`` has keys sorted at every level (identity; what the recordings hold). ``wire_sha256``
    keeps the key order where a reader can see it: in a call's ``input``, in a tool definition's
    ``input_schema``, and anywhere in a block type this module does not know. ``cache_control`` is in neither,
    nor is a field that is null, but for types this module does not know; ``is_error: false`` is in the first.
    ``chars`` is the length of the text; of the canonical JSON for a tool; of name plus input for a call; 0
    for whatever else there is (pictures, files, results of server tools).
    """

    segment: Segment
    path: str
    role: str | None
    type: str
    name: str | None
    chars: int
    message: int | None
    starts_message: bool
    cache_control: Mapping[str, str] | None
    parts: tuple[Part, ...]
    wire_bytes: bytes
    wire_sha256: bytes
    _content_sha256: bytes | None
    _says_no_error: bool = False

    @property
    def content_sha256(self) -> str:
        """Hex digest of the canonical JSON; computed on demand where it differs from the wire form."""
        if self._content_sha256 is None:
            body = json.loads(self.wire_bytes)
            if self._says_no_error:
                body["is_error"] = False
            return hashlib.sha256(sorted_json(body).encode()).hexdigest()
        return self._content_sha256.hex()

    @property
    def _place(self) -> tuple[str, str | None, bool]:
        return self.segment, self.role, self.starts_message

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        mark = " marked" if self.cache_control else ""
        return f"<{self.path} {self.type}{name}, {self.chars:,} chars, {self.content_sha256[:8]}{mark}>"


class Chainable(Protocol):
    """What of a block goes into the chained digest."""

    @property
    def segment(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def starts_message(self) -> bool: ...
    @property
    def wire_sha256(self) -> bytes: ...
    @property
    def content_sha256(self) -> str: ...


def chained(blocks: Iterable[Chainable], digest: bytes = b"", *, sort_tools: bool = False) -> Iterator[bytes]:
    """The digest of every prefix of ``blocks``, when ``digest`` is that of everything before them.

    :meth:`Prompt.chain` for blocks that are not, or not in this order, those of a prompt.
    """
    for block in blocks:
        own = block.wire_sha256
        if sort_tools and block.segment == "tools":
            own = bytes.fromhex(block.content_sha256)
        border = "new" if block.starts_message else "same"
        digest = hashlib.sha256(digest + f"/{block.segment}/{block.role}/{border}/".encode() + own).digest()
        yield digest
