"""Properties that can be run as often as one likes: ``ctxlab test --property levers --n 100000 --seed 1``.

Models: a registry of properties by name; each prints what it looked at and returns 0 where it held.
Does not model: the shrinking of a case that fails (its number and the seed make it again).
Source: own construction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.properties import levers

PROPERTIES: Mapping[str, Callable[[int, int], int]] = {"levers": levers.main}


def run(name: str, n: int, seed: int) -> int:
    """Run a property on ``n`` cases; 0 where it held, else 1. Raises :class:`InvalidArgumentError`."""
    if name not in PROPERTIES:
        fix = f"one of: {', '.join(PROPERTIES)}"
        raise InvalidArgumentError(Problem("--property", "known-property", f"is {name!r}", fix))
    if n < 1:
        raise InvalidArgumentError(Problem("--n", "whole-number", f"is {n}", "give 1 or more"))
    return PROPERTIES[name](n, seed)


__all__ = ["PROPERTIES", "run"]
