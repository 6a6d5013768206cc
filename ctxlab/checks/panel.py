"""What a check shows: one panel with a large word, readable as plain text and as HTML.

Models: a panel of lines, lists, tables and pictures; the text form fits 80 columns, the HTML form announces
itself to screen readers (``role="status"``). A word and a shape carry the state, never a colour, and every
line takes the colour of the page, so light and dark themes both keep their contrast.
Does not model: layout beyond one column. No ids, no addresses, no times: equal states print equal bytes.
"""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass

COLUMNS = 80
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Line:
    """One paragraph; text between backticks is shown as code."""

    text: str

    def as_text(self) -> str:
        """The paragraph, wrapped."""
        return _wrapped(self.text)

    def as_html(self) -> str:
        """The paragraph, escaped."""
        return f'<p style="margin:.4em 0">{_inline(self.text)}</p>'


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of short items, marked by a dash in text."""

    items: tuple[str, ...]

    def as_text(self) -> str:
        """One dash per item."""
        return "\n".join(_wrapped(item, first="- ", rest="  ") for item in self.items)

    def as_html(self) -> str:
        """An unordered list."""
        rows = "".join(f"<li>{_inline(item)}</li>" for item in self.items)
        return f'<ul style="margin:.4em 0">{rows}</ul>'


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header row; every row has as many cells as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Columns padded with blanks; a first column too long for the line is folded."""
        widths = [max(len(row[i]) for row in (self.header, *self.rows)) for i in range(len(self.header))]
        others = sum(widths[1:]) + 2 * (len(widths) - 1)
        widths[0] = max(12, min(widths[0], COLUMNS - others))
        lines = [*self._fold(self.header, widths), "  ".join("-" * width for width in widths)]
        for row in self.rows:
            lines += self._fold(row, widths)
        return "\n".join(lines)

    @staticmethod
    def _fold(row: tuple[str, ...], widths: list[int]) -> list[str]:
        folded = textwrap.wrap(row[0], widths[0]) or [""]
        cells = [folded[-1], *row[1:]]
        last = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        return [*folded[:-1], last]

    def as_html(self) -> str:
        """A table whose header cells name their columns."""
        head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of :mod:`ctxlab.figures`, or anything that can print itself and perhaps show HTML."""

    figure: object

    def as_text(self) -> str:
        """The figure's own text twin."""
        return repr(self.figure)

    def as_html(self) -> str:
        """The figure's own HTML, or its text twin."""
        show = getattr(self.figure, "_repr_html_", None)
        markup = show() if callable(show) else None
        return markup if isinstance(markup, str) else f"<pre>{html.escape(repr(self.figure))}</pre>"


Part = Line | Listing | Table | Picture


@dataclass(frozen=True, slots=True, repr=False)
class Panel:
    """A shape, a word in capitals, what it is about, and parts below; ``large`` is read from the last row.

    >>> Panel("○", "NOT YET", "00-a", (Line("Vote A, B, C or D."),))
    ○ NOT YET · 00-a
    Vote A, B, C or D.
    """

    shape: str
    word: str
    about: str
    parts: tuple[Part, ...] = ()
    large: bool = False

    def __repr__(self) -> str:
        word = " ".join(self.word) if self.large else self.word
        head = " · ".join(part for part in (f"{self.shape} {word}", self.about) if part)
        row = " ".join(self.shape * (COLUMNS // 2))
        lines = [row, head, row] if self.large else [_wrapped(head)]
        return "\n".join([*lines, *(part.as_text() for part in self.parts)])

    def _repr_html_(self) -> str:
        about = f' <span style="font-weight:normal">· {_inline(self.about)}</span>' if self.about else ""
        head = (
            f'<p style="font-size:{3 if self.large else 1.4}em;font-weight:bold;margin:0;line-height:1.2">'
            f'<span aria-hidden="true">{html.escape(self.shape)}</span> {html.escape(self.word)}{about}</p>'
        )
        return (
            '<div role="status" class="mathjax_ignore tex2jax_ignore" style="border:2px solid currentColor;'
            'border-radius:6px;padding:.5em .9em;max-width:60em;font-size:1.1em">'
            + head
            + "".join(part.as_html() for part in self.parts)
            + "</div>"
        )


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    lines = textwrap.wrap(
        " ".join(text.split()), COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    return "\n".join(lines) or first.rstrip()


def _inline(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", html.escape(text))
