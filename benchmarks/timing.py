"""One row of the benchmark table, and the clock behind it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A figure, the limit or peer it stands beside, their ratio, and the ratio promised (if any)."""

    name: str
    value: float
    unit: str
    beside: str
    ratio: float | None
    promised: str


def best_ms(work: Callable[[], object], repeat: int = 7) -> float:
    """The fastest of ``repeat`` calls in milliseconds: the least disturbed one."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3
