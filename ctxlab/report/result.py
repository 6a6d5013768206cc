"""What a command found and what it read to find it, before it is printed in any format.

Models: findings that count, findings withheld with the reason, what was read, what could not be, remarks
about suppressions and baselines; the exit code.
Does not model: finding (:mod:`ctxlab.breakers`) and printing (the other modules here).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ctxlab.breakers import Finding, any_confirmed
from ctxlab.errors import Problem

FOUND, CLEAN, UNREAD = 1, 0, 2
"""Exit codes: something confirmed was found, nothing was, something could not be read."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A finding that does not count: suppressed by a comment beside it, or listed in the baseline."""

    finding: Finding
    reason: str
    by: Literal["comment", "baseline"]


@dataclass(frozen=True, slots=True)
class Report:
    """One run of ``command``.

    ``read`` names every file or request that was read, ``skipped`` what was not and why. ``remarks`` are
    about the run itself (a suppression without a reason, a baseline entry that matches nothing); they change
    no exit code. ``drawing`` is text that belongs above the findings, ``details`` what else the command
    knows, for JSON. ``fingerprints`` names findings across runs.
    """

    command: str
    findings: tuple[Finding, ...]
    read: tuple[str, ...]
    skipped: tuple[Problem, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    remarks: tuple[Problem, ...] = ()
    drawing: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: Mapping[Finding, str] = field(default_factory=dict)

    def exit_code(self, *, strict: bool = False) -> int:
        """2 when something was not read (or nothing was), else 1 for a confirmed finding, else 0.

        With ``strict`` a suspected finding counts like a confirmed one.

        >>> Report("lint", (), ("agent.py",)).exit_code(), Report("lint", (), ()).exit_code()
        (0, 2)
        """
        if self.skipped or not self.read:
            return UNREAD
        return FOUND if any_confirmed(self.findings) or (strict and self.findings) else CLEAN

    @property
    def summary(self) -> str:
        """One line: how much was found, withheld, read and skipped."""
        confirmed = sum(one.confirmed for one in self.findings)
        parts = [f"{confirmed} confirmed", f"{len(self.findings) - confirmed} suspected"]
        for word, by in (("suppressed", "comment"), ("in the baseline", "baseline")):
            if many := sum(one.by == by for one in self.withheld):
                parts.append(f"{many} {word}")
        files = f"{len(self.read)} {'file' if len(self.read) == 1 else 'files'} read"
        return f"{', '.join(parts)}; {files}, {len(self.skipped)} skipped"
