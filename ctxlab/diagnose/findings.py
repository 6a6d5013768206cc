"""What is found about one call, piece by piece, before it becomes a verdict.

Models: causes, each verdict once; evidence that is missing; what is taken for granted; remarks.
Does not model: the order of causes (:mod:`ctxlab.diagnose.verdicts`).
Source: own construction.
"""

from __future__ import annotations

from ctxlab.diagnose.verdicts import Cause


class Findings:
    """What is found about one call, piece by piece."""

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.missing: list[str] = []
        self.assumed: list[str] = []
        self.notes: list[str] = []
        self.left_tokens: int | None = None
        self.compared_with: int | None = None

    def add(self, *causes: Cause) -> None:
        """Note causes, each verdict once."""
        known = {cause.verdict for cause in self.causes}
        self.causes += [cause for cause in causes if cause.verdict not in known]

    def lack(self, says: str, *missing: str) -> None:
        """Note that something could not be told, and what would tell it."""
        self.add(Cause("unknown", says))
        self.missing += [place for place in missing if place not in self.missing]
