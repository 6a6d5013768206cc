"""A recorded request in the shape the cache reads prompts in.

Models: the fields of a recorded row that a layout needs, by structure, so that any reader's rows will do.
Does not model: reading files (:mod:`ctxlab.recordings`); key order, where only the digest of the sorted form
of a block's JSON was recorded.
Source: the format in ``data/recordings/README.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ctxlab.usage import Usage


class MarkedPart(Protocol):
    """What is read of a block inside a tool result."""

    @property
    def type(self) -> str: ...
    @property
    def chars(self) -> int | None: ...
    @property
    def cache_control(self) -> Mapping[str, Any] | None: ...


class RecordedBlock(Protocol):
    """What is read of a block of a recorded request."""

    @property
    def segment(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def type(self) -> str: ...
    @property
    def chars(self) -> int | None: ...
    @property
    def sha256(self) -> str | None: ...
    @property
    def sent_sha256(self) -> str | None: ...
    @property
    def message(self) -> int | None: ...
    @property
    def cache_control(self) -> Mapping[str, Any] | None: ...
    @property
    def parts(self) -> Sequence[RecordedBlock]: ...
    @property
    def defer_loading(self) -> bool: ...
    @property
    def bare_string(self) -> bool: ...
    @property
    def citations(self) -> bool: ...


class RecordedRow(Protocol):
    """What is read of a recorded request; :class:`ctxlab.recordings.Exchange` is one."""

    @property
    def id(self) -> str: ...
    @property
    def model_id(self) -> str | None: ...
    @property
    def request_known(self) -> bool: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def blocks(self) -> Sequence[RecordedBlock]: ...
    @property
    def usage(self) -> Usage | None: ...
    @property
    def source(self) -> Any: ...


class ReadBack(NamedTuple):
    """A recorded block with what :class:`ctxlab.prompt.Block` has of it."""

    segment: str
    role: str | None
    starts_message: bool
    content_sha256: str
    sent_sha256: str
    type: str
    chars: int | None
    message: int | None
    path: str
    cache_control: Mapping[str, Any] | None
    parts: Sequence[MarkedPart]

    @property
    def wire_sha256(self) -> bytes:
        return bytes.fromhex(self.sent_sha256)


def read_back(blocks: Sequence[RecordedBlock]) -> list[ReadBack]:
    """What the cache needs of recorded blocks: digests as bytes, and where a message starts."""
    found: list[ReadBack] = []
    place, inside = None, 0
    for block in blocks:
        here = (block.segment, block.message)
        starts, inside = here != place, 0 if here != place else inside + 1
        place = here
        holder = block.segment if block.message is None else f"messages[{block.message}].content"
        found.append(
            ReadBack(
                block.segment,
                block.role,
                starts and block.message is not None,
                block.sha256 or "",
                block.sent_sha256 or block.sha256 or "",
                block.type,
                block.chars,
                block.message,
                holder if block.bare_string else f"{holder}[{inside}]",
                block.cache_control,
                block.parts,
            )
        )
    return found
