"""One watched call, for people and for programs.

Models: figures, dollars, verdict and first difference of a call, as a line and as JSON.
Does not model: the request or the answer; nothing they said is in it, but for the few characters of a
difference.
Source: own construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ctxlab.diagnose.verdicts import Diagnosis
from ctxlab.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One call. ``number`` counts those of the client from 1.

    ``error`` says why there is no answer, and then there is no ``diagnosis``. ``bill_usd`` is exact, None for
    a model without a known price. ``first_difference`` is where the request parts from the one it was
    compared with, None where it only goes on.
    """

    number: int
    started_s: float
    responded_s: float | None
    model: str | None
    response_id: str | None
    status: int | None
    error: str | None
    usage: Usage | None
    bill_usd: Decimal | None
    diagnosis: Diagnosis | None
    first_difference: str | None

    @property
    def line(self) -> str:
        """The call in one line."""
        name = f"#{self.number} {self.model or 'model not named'}"
        if self.usage is None or self.diagnosis is None:
            status = "" if self.status is None else f"{self.status} "
            return f"{name}: {status}{_one_line(self.error or 'no answer')}"
        usage = self.usage
        tokens = (
            f"read {usage.cache_read_input_tokens:,}, written {usage.cache_creation_input_tokens:,}, "
            f"fresh {usage.input_tokens:,}"
        )
        money = "unpriced" if self.bill_usd is None else f"${self.bill_usd:.4f}"
        told = self.diagnosis.verdict if self.diagnosis.verdict == "hit" else str(self.diagnosis)
        return f"{name}: {tokens}, {money}: {_one_line(told)}"

    def to_dict(self) -> dict[str, Any]:
        """The call for ``json.dumps``; money is a string of dollars, digit for digit."""
        found, usage = self.diagnosis, self.usage
        return {
            "number": self.number,
            "started_s": self.started_s,
            "responded_s": self.responded_s,
            "model": self.model,
            "response_id": self.response_id,
            "status": self.status,
            "error": self.error,
            "read_tokens": None if usage is None else usage.cache_read_input_tokens,
            "written_tokens": None if usage is None else usage.cache_creation_input_tokens,
            "fresh_tokens": None if usage is None else usage.input_tokens,
            "output_tokens": None if usage is None else usage.output_tokens,
            "bill_usd": None if self.bill_usd is None else str(self.bill_usd),
            "verdict": None if found is None else found.verdict,
            "says": None if found is None else found.says,
            "path": None if found is None else found.path,
            "code": None if found is None else found.code,
            "left_tokens": None if found is None else found.left_tokens,
            "lost_tokens": None if found is None else found.lost_tokens,
            "also": [] if found is None else [cause.verdict for cause in found.causes[1:]],
            "missing": [] if found is None else list(found.missing),
            "compared_with": None if found is None else found.compared_with,
            "api_reason": None if found is None else found.api_reason,
            "agreement": None if found is None else found.agreement,
            "first_difference": self.first_difference,
        }

    def __str__(self) -> str:
        return self.line


def _one_line(text: str) -> str:
    return " ".join(text.split())
