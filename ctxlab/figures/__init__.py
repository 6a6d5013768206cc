"""Pictures as plain SVG strings, each with a text twin that says the same.

Models: one palette for the four token classes (R read, W written, F fresh, O output), each with a colour, a
letter and a pattern; the prefix strip; the window beside the store; bars under a ceiling; the integral of a
session; small curves; tables with header rows. A picture is a value: the same arguments give the same bytes
on every machine (coordinates rounded, no random ids). It carries its own light card, so it reads the same in
a dark theme.
Does not model: interaction (see :mod:`ctxlab.widgets`). It never computes a bill or a cache hit: what it
draws is handed to it.
Source: the four classes are the disjoint fields of the Messages API's ``usage`` object; colours after Okabe
and Ito's set for colour-blind readers, contrast limits after WCAG 2.2.
"""

from ctxlab.figures.boundary import window_and_store
from ctxlab.figures.charts import Series, bars_under_ceiling, curve, integral
from ctxlab.figures.strip import Span, prefix_strip, strip_text
from ctxlab.figures.svg import EVIDENCE, PALETTE, Figure, TokenClass, compact, usd
from ctxlab.figures.tables import Table, table

__all__ = [
    "EVIDENCE",
    "PALETTE",
    "Figure",
    "Series",
    "Span",
    "Table",
    "TokenClass",
    "bars_under_ceiling",
    "compact",
    "curve",
    "integral",
    "prefix_strip",
    "strip_text",
    "table",
    "usd",
    "window_and_store",
]
