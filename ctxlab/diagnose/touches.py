"""The entries that calls wrote and read, and whether one of them could be read at a moment.

Models: touches of a prefix under a scope; lifetimes from the start of requests; visibility from the first
byte of an answer; times that are not known, so that a state can be open and says which would settle it.
Does not model: sizes and lookback (:class:`ctxlab.cache.PromptCache` does).
Source: ``ctxlab/cache_rules.toml``, rules lifetime-from-start, lifetime-ends and visible-once-answering.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from ctxlab.cache import LIFETIME_S, CacheRules
from ctxlab.diagnose.record import Held, Record

_MOST_TOUCHES = 32


class State(NamedTuple):
    """Whether an entry could be read: it was *readable*, *hidden* (written, not yet visible), *ended*
    ``seconds`` before, or *open*, and then ``missing`` says what would settle it."""

    kind: Literal["readable", "hidden", "ended", "open"]
    by: int
    seconds: float = 0.0
    missing: tuple[str, ...] = ()


class Touches:
    """Touches by prefix, the least recently used prefix forgotten first."""

    def __init__(self, rules: CacheRules, most: int | None):
        self._rules = rules
        self._most = most
        self._held: OrderedDict[str, list[Held]] = OrderedDict()

    def add(self, digest: str, held: Held) -> None:
        """Note that a call wrote or read the entry that ends there, or is about to."""
        rows = self._held.setdefault(digest, [])
        rows.append(held)
        self._held.move_to_end(digest)
        if len(rows) > _MOST_TOUCHES:
            del rows[0]
        if self._most is not None and len(self._held) > self._most:
            self._held.popitem(last=False)

    def remove(self, digest: str, held: Held) -> None:
        """Take back what a call did not do."""
        rows = self._held.get(digest, [])
        if held in rows:
            rows.remove(held)
        if not rows:
            self._held.pop(digest, None)

    def at(self, digest: str, now: Record) -> list[Held]:
        """What is certain to have been written or read there, by calls that started before ``now``."""
        return [one for one in self._held.get(digest, ()) if one.sure and one.number < now.number]

    def state(self, touches: Iterable[Held], now: Record) -> State:
        """Whether an entry with these touches could be read by a request that starts like ``now``."""
        found = [self._state(one, now) for one in touches]
        for kind in ("readable", "open", "hidden"):
            own = [one for one in found if one.kind == kind]
            if own and kind == "open":
                missing = dict.fromkeys(place for one in own for place in one.missing)
                return State("open", own[-1].by, missing=tuple(missing))
            if own:
                return own[-1]
        return min(found, key=lambda one: one.seconds)

    def _state(self, one: Held, now: Record) -> State:
        lives_s = LIFETIME_S[one.ttl] + self._rules.expiry_grace_s
        missing = [place.place("started_s") for place in (one, now) if place.started_s is None]
        age_s: float | None = None
        if one.started_s is not None and now.started_s is not None:
            age_s = now.started_s - one.started_s
            if age_s >= lives_s:
                return State("ended", one.index, age_s - lives_s)
        seen = self._is_visible(one, now)
        if seen is False:
            return State("hidden", one.index)
        if seen is None and one.responded_s is None:
            missing.append(one.place("responded_s"))
        return State("open", one.index, missing=tuple(missing)) if missing else State("readable", one.index)

    def _is_visible(self, one: Held, now: Record) -> bool | None:
        """The clock tells; without it, a request that holds the answer has waited for it. At the very moment
        of the first byte it is not: a miss then is one of two that ran side by side."""
        waited = one.end is not None and _holds_the_answer(now, one.end)
        if one.responded_s is None or now.started_s is None:
            if waited:
                return True
            return None if one.answered or None in (one.started_s, now.started_s) else False
        from_s = one.responded_s + self._rules.visibility_delay_s
        return now.started_s > from_s or (waited and now.started_s == from_s)


def _holds_the_answer(now: Record, end: tuple[int, str]) -> bool:
    """Whether a request goes on behind another one's end with a message of the assistant."""
    sketch, (length, digest) = now.sketch, end
    if sketch is None or length >= len(sketch):
        return False
    return sketch.layout.positions[length - 1].digest == digest and sketch.roles[length] == "assistant"
