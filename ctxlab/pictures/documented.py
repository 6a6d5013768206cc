"""Documented and recorded sizes beside what :mod:`ctxlab.images` computes for them.

Models: ``data/images/sizes.toml``, one row a picture and tier, each with source, date and kind of evidence,
and pairs of recorded answers that differ by their pictures. An exception is a row that says so.
Does not model: why an exception is one.
Source: named by each row.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from ctxlab.images import image_tokens, resized_size
from ctxlab.places import data_path


@dataclass(frozen=True, slots=True)
class DocumentedSize:
    """What somebody says a picture of ``width`` by ``height`` costs; ``seen`` is its scaled size, if told.

    ``evidence`` is documented, recorded, reported (measured by a third party), or computed by us with the
    published algorithm. ``exception`` says why the row is not followed; it is empty where it is.
    """

    width: int
    height: int
    tier: str
    tokens: int
    seen: tuple[int, int] | None
    source: str
    date: date
    evidence: str
    exception: str = ""

    @property
    def computed_tokens(self) -> int:
        return image_tokens(self.width, self.height, tier=self.tier)

    @property
    def computed_seen(self) -> tuple[int, int]:
        return resized_size(self.width, self.height, tier=self.tier)

    @property
    def agrees(self) -> bool:
        """Whether tokens, and the size seen where it is told, are those computed here."""
        return self.computed_tokens == self.tokens and self.seen in (None, self.computed_seen)


@dataclass(frozen=True, slots=True)
class RecordedDifference:
    """Two answers to prompts that differ in their pictures, in ``text_tokens`` and in nothing else known.

    ``unexplained_tokens`` is what patches and texts do not explain; a row where it is not 0 is an exception.
    """

    name: str
    larger: tuple[int, int]
    smaller: tuple[int, int]
    tier: str
    recorded_tokens: int
    text_tokens: int
    source: str
    date: date
    note: str = ""

    @property
    def patches(self) -> int:
        return image_tokens(*self.larger, tier=self.tier) - image_tokens(*self.smaller, tier=self.tier)

    @property
    def unexplained_tokens(self) -> int:
        return self.recorded_tokens - self.text_tokens - self.patches


def documented_sizes() -> tuple[DocumentedSize, ...]:
    """Every row of the table, as it stands in the file.

    >>> sum(not row.agrees and not row.exception for row in documented_sizes())
    0
    """
    return tuple(
        DocumentedSize(**{**row, "seen": tuple(row["seen"]) if "seen" in row else None})
        for row in _table()["sizes"]
    )


def recorded_differences() -> tuple[RecordedDifference, ...]:
    """Every pair of recorded answers, as it stands in the file.

    >>> [(row.recorded_tokens - row.text_tokens, row.patches) for row in recorded_differences()][0]
    (297, 297)
    """
    return tuple(
        RecordedDifference(**{**row, "larger": tuple(row["larger"]), "smaller": tuple(row["smaller"])})
        for row in _table()["differences"]
    )


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(data_path("images", "sizes.toml").read_text(encoding="utf-8"))
