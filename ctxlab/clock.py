"""Time as an argument: every rule that depends on the hour takes a clock instead of asking the machine.

Models: seconds since the epoch as a float, from the machine or set by hand.
Does not model: time zones, dates, or sleeping.
"""

from __future__ import annotations

import math
import time
from typing import Protocol

from ctxlab.errors import InvalidArgumentError, Problem


class Clock(Protocol):
    """Anything with ``now_s() -> float`` (seconds since the epoch)."""

    def now_s(self) -> float: ...


class SystemClock:
    """The machine's clock."""

    def now_s(self) -> float:
        return time.time()


class ManualClock:
    """A clock that moves only when told to, so that a lesson or a test is the same on every run.

    >>> clock = ManualClock(start_s=100.0)
    >>> clock.advance(299.5)
    >>> clock.now_s()
    399.5
    """

    def __init__(self, start_s: float = 0.0):
        self._now_s = _finite("start_s", start_s)

    def now_s(self) -> float:
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Move forward by ``seconds`` (0 or more)."""
        step_s = _finite("seconds", seconds)
        if step_s < 0:
            raise InvalidArgumentError(
                Problem("seconds", "time-goes-forward", f"is {seconds}", "advance by 0 or more seconds")
            )
        self._now_s = _finite("seconds", self._now_s + step_s)


def _finite(name: str, value: float) -> float:
    fix = "give seconds as a finite number"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgumentError(Problem(name, "finite-number", f"is {value!r}", fix))
    try:
        seconds = float(value)
    except OverflowError:  # a whole number past the largest float
        seconds = math.inf
    if not math.isfinite(seconds):
        raise InvalidArgumentError(Problem(name, "finite-number", f"is {seconds}", fix))
    return seconds
