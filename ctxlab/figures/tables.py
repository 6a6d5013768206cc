"""Tables a screen reader can walk: a caption, a header row, and a first column that names its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ctxlab.figures import svg

_A_FIGURE = re.compile(r"[-−+≤≥<>≈]?\s?\$?\d[\d,.]*(\s?[%×kM])?|[–—]?")


@dataclass(frozen=True, repr=False)
class Table:
    """A table as ``html`` and, with the same cells, as ``text``."""

    html: str
    text: str
    caption: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return svg.card(self.html)


def table(
    rows: Iterable[Sequence[object]],
    header: Sequence[str],
    *,
    caption: str,
    labelled: str | None = None,
    source: str = "",
) -> Table:
    """A table; whole numbers get thousands separators, columns of figures stand right.

    ``labelled`` is the kind of evidence (one of ``EVIDENCE``), e.g. ``rebuilt``.

    >>> table([("tools", 3733), ("system", 14563)], ["segment", "tokens"], caption="Blocks")
    segment | tokens
    --------|-------
    tools   |  3,733
    system  | 14,563
    """
    svg.check_evidence(labelled)
    if not header:
        svg.refuse("header", "not-empty", "has no column", "name at least one column")
    for at, name in enumerate(header):
        if not svg.plain(name).strip():
            svg.refuse(f"header[{at}]", "not-empty", "is no name", "say what stands in the column")
    cells = []
    for at, row in enumerate(rows):
        if len(row) != len(header):
            svg.refuse(f"rows[{at}]", "as-wide-as-header", f"has {len(row)} cells", f"give {len(header)}")
        cells.append([_words(value) for value in row])
    right = [bool(cells) and all(_A_FIGURE.fullmatch(row[at]) for row in cells) for at in range(len(header))]

    head = "".join(
        _cell("th", name, r, ' scope="col"', "#ececec") for name, r in zip(header, right, strict=True)
    )
    body = "".join(
        "<tr>"
        + _cell("th", row[0], right[0], ' scope="row"')
        + "".join(_cell("td", words, r) for words, r in zip(row[1:], right[1:], strict=True))
        + "</tr>"
        for row in cells
    )
    html = (
        '<table style="border-collapse:collapse;width:auto;max-width:100%;margin:0;table-layout:auto;'
        f'color:{svg.INK};font-size:clamp(14px,2.2vw,16px)">'
        f"{svg.caption(caption, labelled, source, tag='caption')}"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return Table(
        html, _plain_table([[svg.plain(name) for name in header], *cells], right), svg.plain(caption)
    )


def _cell(tag: str, words: str, right: bool, more: str = "", background: str = svg.PAGE) -> str:
    weight = "bold" if tag == "th" else "normal"
    return (
        f'<{tag}{more} style="border:0;border-bottom:1px solid {svg.RULE};padding:6px clamp(4px,1vw,12px);'
        f"color:{svg.INK};background:{background};text-align:{'right' if right else 'left'};"
        f'vertical-align:top;font-weight:{weight};white-space:normal;overflow-wrap:break-word">{_breakable(words)}</{tag}>'
    )


def _breakable(words: str) -> str:
    """Field names and paths may break at their joints, so that a wide table fits a narrow page."""
    return re.sub(r"(?<=[A-Za-z\])])([_./])(?=[A-Za-z]{2})", r"\1<wbr>", svg.safe(words))


def _words(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (float, Decimal, Fraction)):
        return f"{float(value) if isinstance(value, Fraction) else value:,}"
    return svg.plain(str(value))


def _plain_table(grid: list[list[str]], right: list[bool]) -> str:
    widths = [max(len(row[at]) for row in grid) for at in range(len(right))]
    lines = [
        " | ".join(
            w.rjust(size) if r else w.ljust(size) for w, size, r in zip(row, widths, right, strict=True)
        )
        for row in grid
    ]
    lines.insert(1, "-|-".join("-" * size for size in widths))
    return "\n".join(line.rstrip() for line in lines)
