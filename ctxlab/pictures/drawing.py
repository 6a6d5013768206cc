"""How the samples in ``data/images/`` are drawn: ``python -m ctxlab.pictures`` writes them anew.

Models: a screenshot, a simulated photo, a chart and a scanned page, the same pixels every time.
Does not model: anything real; every word in them is ours.
Source: our own code; letters by the bitmap font that Pillow carries.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ctxlab.images import image_tokens
from ctxlab.pictures.decoding import pillow

_PAPER, _INK, _GREY = (250, 250, 247), (28, 30, 38), (128, 132, 142)
_CODE = """\
def turns_until(budget_tokens, prefix_tokens, added_tokens):
    total = 0
    for turn in range(1, 10_000):
        total += prefix_tokens + turn * added_tokens
        if total > budget_tokens:
            return turn - 1
    return None


class Ledger:
    def __init__(self):
        self.rows = []

    def add(self, what, tokens):
        self.rows.append((what, tokens))

    def total(self):
        return sum(tokens for _, tokens in self.rows)
"""


def draw_all(folder: Path) -> list[Path]:
    """Write every sample into ``folder`` and return the files; needs Pillow."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (draw, how) in DRAWN.items():
        path = folder / name
        draw().save(path, **how)
        written.append(path)
    return written


class _Sheet:
    """An empty picture and what draws on it."""

    def __init__(self, width: int, height: int, ground: Any = _PAPER) -> None:
        self.image = pillow().new("RGB", (width, height), ground)
        self._draw = pillow("ImageDraw").Draw(self.image)
        self._font = pillow("ImageFont").load_default_imagefont()

    def box(self, left: int, top: int, right: int, bottom: int, colour: Any) -> None:
        self._draw.rectangle((left, top, right - 1, bottom - 1), fill=colour)

    def text(self, left: int, top: int, words: str, colour: Any = _INK, scale: int = 2) -> None:
        """Words in letters of 6 by 11 pixels, ``scale`` times as large."""
        if not words:
            return
        letters = pillow().new("L", (6 * len(words), 11))
        pillow("ImageDraw").Draw(letters).text((0, 0), words, fill=255, font=self._font)
        size = (letters.width * scale, letters.height * scale)
        letters = letters.resize(size, pillow().Resampling.NEAREST)
        self.image.paste(colour, (left, top), letters)


def screenshot() -> Any:
    """An editor at 1920 by 1080."""
    sheet = _Sheet(1920, 1080, (30, 32, 40))
    sheet.box(0, 0, 1920, 44, (46, 48, 58))
    sheet.text(20, 8, "ledger.py  -  notes  -  editor", (210, 212, 220))
    sheet.box(0, 44, 320, 1080, (38, 40, 49))
    for line, name in enumerate(
        ["src", "  ledger.py", "  prices.py", "tests", "  test_ledger.py", "README.md"]
    ):
        sheet.text(20, 70 + 34 * line, name, (170, 175, 188))
    for line, words in enumerate(_CODE.splitlines()):
        sheet.text(340, 70 + 34 * line, f"{line + 1:>3}", (92, 97, 112))
        colour = (
            (130, 170, 255)
            if words.lstrip().startswith(("def", "class", "for", "if", "return"))
            else (214, 218, 226)
        )
        sheet.text(410, 70 + 34 * line, words, colour)
    sheet.box(320, 820, 1920, 1080, (24, 25, 31))
    sheet.text(340, 840, "FAILED tests/test_ledger.py::test_an_empty_ledger_is_zero", (255, 120, 110))
    sheet.text(340, 880, "E   assert None == 0", (255, 120, 110))
    sheet.text(340, 920, "1 failed, 41 passed in 0.83s", (170, 175, 188))
    return sheet.image.quantize(32)


def photo() -> Any:
    """Hills at dusk, 1,200 by 1,600 as it is shown: sky, three ridges and the grain of a sensor."""
    width, height, chance = 1200, 1600, random.Random(10)
    ridges = [_ridge(chance, width // 8, height // 8, level) for level in (0.55, 0.68, 0.8)]
    colours = ((92, 84, 110), (64, 62, 84), (38, 40, 52))
    small = pillow().new("RGB", (width // 8, height // 8))
    pixels = small.load()
    for x in range(small.width):
        for y in range(small.height):
            share = y / small.height
            colour = (int(250 - 120 * share), int(170 - 60 * share), int(120 + 40 * share))
            for ridge, tint in zip(ridges, colours, strict=True):
                colour = tint if y > ridge[x] else colour
            grain = chance.randint(-6, 6)
            pixels[x, y] = tuple(max(0, min(255, part + grain)) for part in colour)
    upright = small.resize((width, height), pillow().Resampling.BICUBIC)
    return upright.transpose(pillow().Transpose.ROTATE_90)


def _ridge(chance: random.Random, width: int, height: int, level: float) -> list[int]:
    """The line of a ridge: a walk that is drawn back to its level."""
    at, line = level * height, []
    for _ in range(width):
        at += chance.uniform(-2.2, 2.2) + (level * height - at) * 0.03
        line.append(int(at))
    return line


def chart() -> Any:
    """Tokens of four screens on two tiers, as the rule of today counts them."""
    sheet = _Sheet(1000, 700)
    sheet.text(40, 30, "Tokens of a picture, by image tier", scale=3)
    screens = [(1280, 720), (1920, 1080), (2560, 1440), (3840, 2160)]
    for place, size in enumerate(screens):
        left = 90 + 225 * place
        for offset, tier, colour in ((0, "standard", (70, 110, 160)), (80, "high-res", (200, 120, 60))):
            tokens = image_tokens(*size, tier=tier)
            top = 600 - tokens // 10
            sheet.box(left + offset, top, left + offset + 66, 600, colour)
            sheet.text(left + offset, top - 26, str(tokens))
        sheet.text(left, 615, f"{size[0]} x {size[1]}")
    sheet.box(60, 600, 960, 602, _GREY)
    sheet.text(60, 655, "blue: standard   orange: high-res", _GREY)
    return sheet.image.quantize(16)


def page() -> Any:
    """A page of numbered lines, A4 at 130 dots an inch."""
    sheet = _Sheet(1075, 1520, (244, 243, 238))
    sheet.text(110, 100, "Minutes of a meeting that never was", scale=3)
    words = [
        "the",
        "ledger",
        "was",
        "read",
        "and",
        "found",
        "right",
        "picture",
        "by",
        "picture",
        "in",
        "order",
    ]
    chance = random.Random(28)
    for line in range(36):
        sheet.text(110, 190 + 34 * line, f"{line + 1:>2}  {' '.join(chance.choices(words, k=11))}"[:70])
    return sheet.image.convert("L").quantize(8)


#: On its side, and to be turned a quarter clockwise to be seen upright.
_TURNED = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
DRAWN: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "screenshot.png": (screenshot, {"optimize": True}),
    "photo.jpg": (photo, {"quality": 72, "exif": _TURNED}),
    "chart.png": (chart, {"optimize": True}),
    "page.png": (page, {"optimize": True}),
}
