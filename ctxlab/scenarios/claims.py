"""What a case says about figures, in words that can be checked by hand: ``read = written of 1``.

Models: two sums of figures and whether they are equal, or which is larger.
Does not model: exact token counts (those come from the rules when a case is played).
Source: own construction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxlab.usage import Usage

FIGURES = ("read", "written", "written_5m", "written_1h", "fresh", "total")

_TERM = re.compile(
    rf"(?P<number>\d+)|(?P<figure>{'|'.join(sorted(FIGURES, reverse=True))})( of (?P<step>\d+))?"
)
_CLAIM = re.compile(r"(.+?) ([=<>]) (.+)")


def figures_of(usage: Usage) -> dict[str, int]:
    """The figures of one answer by the names that claims use."""
    return {
        "read": usage.cache_read_input_tokens,
        "written": usage.cache_creation_input_tokens,
        "written_5m": usage.cache_creation.ephemeral_5m_input_tokens,
        "written_1h": usage.cache_creation.ephemeral_1h_input_tokens,
        "fresh": usage.input_tokens,
        "total": usage.total_input_tokens,
    }


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about a step. ``of N`` is the figure of step N, counted from 1; without it, of this step.

    >>> claim = Claim.parse("read = read of 1 + written of 1")
    >>> claim.holds([{"read": 10, "written": 5}, {"read": 15}], 1)
    True
    >>> claim.told([{"read": 10, "written": 5}, {"read": 14}], 1)
    'read = read of 1 + written of 1: 14 against 15'
    """

    text: str
    left: tuple[tuple[str, int | None], ...]
    sign: str
    right: tuple[tuple[str, int | None], ...]

    @classmethod
    def parse(cls, text: str) -> Claim:
        """Raises :class:`ValueError` with what is not understood."""
        found = _CLAIM.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not two sums with =, < or > between them")
        return cls(text, _sum(found[1]), found[2], _sum(found[3]))

    @property
    def steps(self) -> frozenset[int]:
        """The steps it names."""
        return frozenset(step for _, step in (*self.left, *self.right) if step is not None)

    def sides(self, figures: Sequence[Mapping[str, int]], step: int) -> tuple[int, int]:
        """Both sums, for the step with this index (from 0). Raises :class:`KeyError` for an untold figure."""

        def side(terms: Sequence[tuple[str, int | None]]) -> int:
            return sum(
                int(name) if name.isdigit() else figures[step if of is None else of - 1][name]
                for name, of in terms
            )

        return side(self.left), side(self.right)

    def holds(self, figures: Sequence[Mapping[str, int]], step: int) -> bool:
        left, right = self.sides(figures, step)
        return {"=": left == right, "<": left < right, ">": left > right}[self.sign]

    def told(self, figures: Sequence[Mapping[str, int]], step: int) -> str:
        left, right = self.sides(figures, step)
        return f"{self.text}: {left:,} against {right:,}"


def _sum(text: str) -> tuple[tuple[str, int | None], ...]:
    terms = []
    for part in text.split(" + "):
        found = _TERM.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is neither a number nor one of {', '.join(FIGURES)}")
        terms.append((found["number"] or found["figure"], int(found["step"]) if found["step"] else None))
    return tuple(terms)
