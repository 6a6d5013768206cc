"""An answer on its way to the client, and what is written down as it goes.

Models: the first chunk commits what the request left in the cache, the last one completes the call; a client
that is gone before the first leaves nothing, one that leaves later takes nothing back.
Does not model: time between chunks.
Source: prompt-caching page, 2026-08: an entry can be read once the answer has begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import RLock

from ctxlab.cache import Plan, PromptCache
from ctxlab.catalogue import Model
from ctxlab.clock import Clock
from ctxlab.emulator.books import Call
from ctxlab.emulator.diagnostics import Fingerprint, Fingerprints
from ctxlab.emulator.limits import Meter
from ctxlab.emulator.streaming import output_begun
from ctxlab.usage import MESSAGE_TYPES, Usage

_CUT = frozenset({"stream-cut"})


@dataclass
class Opened:
    """An answer that has been worked out and not yet sent: iterating it sends it, chunk by chunk.

    The first chunk commits what the request left in the cache; ``close`` before it leaves nothing, later it
    takes nothing back.
    """

    status: int
    headers: dict[str, str]
    streams: bool
    _chunks: Iterator[bytes]
    _ledger: Ledger | None = None
    _next: bytes | None = None
    _begun: bool = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        begins = not self._begun
        if begins:
            self._begun = True
            self._next = next(self._chunks, None)
        chunk = self._next
        if chunk is None:
            raise StopIteration
        # one ahead: whoever has the last chunk has everything, and may leave without asking for more
        self._next = next(self._chunks, None)
        if self._ledger is not None:
            if begins:
                self._ledger.begin(is_all=self._next is None)
            if self._next is None:
                self._ledger.end()
        return chunk

    def read(self) -> bytes:
        """The whole body at once."""
        return b"".join(self)

    def close(self) -> None:
        """The client is gone, or has read everything."""
        if self._ledger is not None:
            self._ledger.leave(begun=self._begun)


@dataclass
class Desk:
    """What of an engine an answer writes to."""

    lock: RLock
    clock: Clock
    cache: PromptCache
    fingerprints: Fingerprints
    meter: Meter | None


@dataclass
class Ledger:
    """What is written down when an answer begins, ends, or is left. ``plans`` are those of its passes."""

    desk: Desk
    call: Call
    model: Model
    plans: tuple[Plan, ...]
    usage: Usage
    stop_reason: str
    fingerprint: Fingerprint | None

    def begin(self, *, is_all: bool) -> None:
        desk, call = self.desk, self.call
        with desk.lock:
            for plan in self.plans:
                desk.cache.commit(plan)
            call.began_s = desk.clock.now_s()
            if not is_all:  # until more is sent, message_start is all that is known of the output
                call.usage = _begun(self.usage)
            if desk.meter is not None:
                desk.meter.spend(self.model, input_tokens=self.usage.itpm_tokens_for(self.model))
            if self.fingerprint is not None and call.message_id is not None:
                desk.fingerprints.keep(call.message_id, self.fingerprint)

    def end(self) -> None:
        call = self.call
        with self.desk.lock:
            if call.state == "open":
                call.usage = self.usage
                call.state, call.stop_reason = "complete", self.stop_reason
                call.ended_s = self.desk.clock.now_s()
                if self.desk.meter is not None:
                    self.desk.meter.spend(self.model, output_tokens=self.usage.billed_output_tokens)

    def leave(self, *, begun: bool) -> None:
        call = self.call
        with self.desk.lock:
            if call.state != "open":
                return
            if not begun:
                for plan in self.plans:
                    self.desk.cache.abandon(plan)
            call.state = "cut" if begun else "abandoned"
            call.ended_s = self.desk.clock.now_s()


def _begun(usage: Usage) -> Usage:
    """What is known of an answer that has only begun. A summary that stands in front of it was written."""
    iterations = tuple(
        replace(one, output_tokens=output_begun(one.output_tokens)) if one.type in MESSAGE_TYPES else one
        for one in usage.iterations
    )
    begun = output_begun(usage.output_tokens)
    return replace(usage, output_tokens=begun, iterations=iterations, flags=usage.flags | _CUT)
