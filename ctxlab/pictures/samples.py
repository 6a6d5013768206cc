"""Pictures of our own for the lessons, in ``data/images/``.

Models: a name, the file, its size and type as its header tells them, what it shows, how it was made.
Does not model: how they are drawn (:mod:`ctxlab.pictures.drawing`).
Source: drawn by code for this repository, under its licence; ``data/images/README.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ctxlab.images import ImageHeader, read_header
from ctxlab.places import data_path

_ALT = {
    "screenshot": "An editor, 1920 by 1080: a list of files, eighteen lines of code, a failed test below.",
    "photo": "A simulated photo of hills at dusk, held upright: stored on its side with a note to turn it.",
    "chart": "Bars: tokens of four screen sizes on two image tiers.",
    "page": "A page of text as a scanner gives it, A4 at 130 dots an inch.",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One picture; ``alt`` says in words what it shows."""

    name: str
    path: Path
    alt: str

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def header(self) -> ImageHeader:
        return read_header(self.data, self.path.name)


def samples() -> tuple[Sample, ...]:
    """The pictures in ``data/images/``.

    >>> {one.name: one.header.display_size for one in samples()}["screenshot"]
    (1920, 1080)
    """
    files = {path.stem: path for path in sorted(data_path("images").iterdir())}
    return tuple(Sample(name, files[name], alt) for name, alt in _ALT.items())
