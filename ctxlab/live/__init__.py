"""The real API within reach: what passes is recorded, what was recorded is replayed, cases are sent for real.

Models: a store of recordings in the project's format, the transports that fill it and answer from it, and a
run of ``data/scenarios`` against the API: priced and asked about first.
Does not model: the API. Nothing here is needed by the rest of the house.
Source: each module names its own. ``Recorder``, ``Replay`` and their asynchronous twins need ``ctxlab[api]``
and load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxlab.live.replaying import NotRecordedError
from ctxlab.live.store import Store

if TYPE_CHECKING:
    from ctxlab.live.transport import AsyncRecorder, AsyncReplay, Recorder, Replay

_TRANSPORTS = ("AsyncRecorder", "AsyncReplay", "Recorder", "Replay")

__all__ = ["AsyncRecorder", "AsyncReplay", "NotRecordedError", "Recorder", "Replay", "Store"]


def __getattr__(name: str) -> object:
    if name in _TRANSPORTS:
        from ctxlab.live import transport

        return getattr(transport, name)
    raise AttributeError(f"module 'ctxlab.live' has no attribute {name!r}")
