"""Pictures that move: controls beside a figure, redrawn by setting another widget's state.

Models: :func:`explore`, range controls over any function that returns a figure, and
:func:`prefix_strip_widget`, a strip to walk through block by block. Both work by mouse, touch and keyboard,
carry a static twin for places without a kernel, and show the same numbers where ipywidgets or anywidget is
missing. Does not model: drawing (see :mod:`ctxlab.figures`).
Source: keys after the ARIA slider pattern. No ``Output`` widget is used: what it shows is stored apart from
the cell's own outputs, and front ends differ in how they replay it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from ctxlab.figures import PALETTE, Figure, Span, prefix_strip
from ctxlab.figures.strip import AnySpan, strip_layout
from ctxlab.figures.svg import refuse

_STATIC = Path(__file__).resolve().parent / "static"
_VIEW = "application/vnd.jupyter.widget-view+json"


class Range(NamedTuple):
    """What a control may be set to; ``start`` None means ``low``, an empty label the argument's name."""

    low: float
    high: float
    start: float | None = None
    step: float = 1
    label: str = ""
    unit: str = ""


class Explorer:
    """A figure with its controls. Shows itself in a notebook; ``set`` moves it by code.

    >>> from ctxlab.figures import prefix_strip
    >>> def strip(turns):
    ...     return prefix_strip([("history", "R", 100 * turns)], title="History",
    ...                         alt=f"{turns} turns", evidence="scripted")
    >>> explorer = explore(strip, turns=Range(1, 40, start=12))
    >>> explorer.figure
    [history R 1200]
    >>> explorer.set(turns=40)
    >>> explorer, explorer.figure
    (explore(turns=40), [history R 4000])
    """

    def __init__(self, picture: Callable[..., Figure], ranges: dict[str, Range]):
        self._picture, self._ranges = picture, ranges
        self._values = {
            name: _allowed(name, wanted.low if wanted.start is None else wanted.start, wanted)
            for name, wanted in ranges.items()
        }
        self.figure = _drawn(picture, self._values)
        self._controls: dict[str, Any] = {}
        self._view: Any = None
        if have_widgets():
            self._build()

    @property
    def values(self) -> dict[str, float]:
        """What the controls stand at."""
        return dict(self._values)

    @property
    def picture_html(self) -> str:
        """The picture as it is shown now."""
        return str(self._shown.value) if self._view is not None else self.figure._repr_html_()

    def set(self, **values: float) -> None:
        """Move controls by name, as a hand would; raises on an unknown name or a value off the scale."""
        for name in values:
            if name not in self._ranges:
                refuse(name, "control-name", "is no control here", f"use {', '.join(self._ranges)}")
        wanted = {name: _allowed(name, value, self._ranges[name]) for name, value in values.items()}
        figure = _drawn(self._picture, self._values | wanted)  # first: what cannot be drawn moves nothing
        self._values |= wanted
        for name in values.keys() & self._controls.keys():
            self._controls[name].value = self._values[name]
        self._show(figure)

    def __repr__(self) -> str:
        return f"explore({', '.join(f'{name}={value:,}' for name, value in self._values.items())})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        stands = ", ".join(
            f"{wanted.label} = {self._values[name]:,} {wanted.unit}".rstrip()
            for name, wanted in self._ranges.items()
        )
        note = f"<p>The picture at {stands}. Run the cell to move it.</p>"
        return _bundle(repr(self), note + self.figure._repr_html_(), self._view)

    def _build(self) -> None:
        import ipywidgets

        self._shown = ipywidgets.HTML(value=self.figure._repr_html_())
        for name, wanted in self._ranges.items():
            control = _range_control()(
                min=wanted.low,
                max=wanted.high,
                step=wanted.step,
                value=self._values[name],
                label=wanted.label,
                unit=wanted.unit,
            )
            control.observe(functools.partial(self._moved, name), "value")
            self._controls[name] = control
        self._view = ipywidgets.VBox([*self._controls.values(), self._shown])

    def _moved(self, name: str, change: Any) -> None:
        value = _allowed(name, change["new"], self._ranges[name])
        if value != self._values[name]:
            self._values[name] = value
            self._show(_drawn(self._picture, self._values))

    def _show(self, figure: Figure) -> None:
        self.figure = figure
        if self._view is not None:
            self._shown.value = self.figure._repr_html_()


def explore(picture: Callable[..., Figure], **ranges: Range | tuple[float, ...]) -> Explorer:
    """A control for each range over ``picture(**values)``, which returns a figure.

    A range is :class:`Range` or its first fields as a tuple: ``turns=(1, 60, 12)`` goes from 1 to 60 and
    starts at 12, in steps of 1. Whole numbers stay whole. Without ipywidgets or anywidget the explorer still
    draws, and ``set`` still moves it.
    """
    if not ranges:
        refuse("ranges", "not-empty", "names no control", "give e.g. turns=(1, 60)")
    wanted = {}
    for name, given in ranges.items():
        if not isinstance(given, tuple) or not 2 <= len(given) <= len(Range._fields):
            refuse(name, "range-shape", f"is {given!r}", "give (low, high, start, step)")
        spread = Range(*given)
        scale = [spread.low, spread.high, spread.step, spread.low if spread.start is None else spread.start]
        if not all(_is_number(figure) for figure in scale):
            refuse(name, "range-shape", f"is {given!r}", "give (low, high, start, step) in numbers")
        if not (spread.low < spread.high and spread.step > 0):
            refuse(name, "range-order", f"is {tuple(spread)!r}", "low below high, step above 0")
        wanted[name] = spread._replace(label=spread.label or name.replace("_", " "))
    return Explorer(picture, wanted)


class StripView:
    """A prefix strip to walk through; ``figure`` is the same strip standing still."""

    def __init__(self, figure: Figure, blocks: list[tuple[str, str]]):
        self.figure, self.blocks = figure, blocks
        self._view = None
        if have_widgets():
            self._view = _strip_control()(picture=figure._repr_html_(), blocks=blocks)

    def __repr__(self) -> str:
        return repr(self.figure)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return _bundle(repr(self), self.figure._repr_html_(), self._view)


def prefix_strip_widget(
    spans: Sequence[AnySpan],
    *,
    title: str,
    alt: str,
    evidence: str,
    source: str = "",
    markers: Sequence[tuple[int, str]] = (),
    lookback: tuple[int, int] | None = None,
    first_difference: int | None = None,
    bill: Decimal | str | None = None,
    digests: Sequence[str] = (),
) -> StripView:
    """:func:`ctxlab.figures.prefix_strip` whose blocks take the focus and say what they hold.

    ``digests`` hold, per span, the digest of the prefix that ends with it.

    >>> view = prefix_strip_widget([("tools", "R", 3733), ("system", "W", 4563)], title="Request 2",
    ...     alt="The tools were read, the system prompt written again.", evidence="recorded")
    >>> view.blocks[1]
    ('block 2 of 2, system', 'W written, 4,563 tokens, the prefix ends at 8,296')
    """
    if digests and len(digests) != len(spans):
        refuse("digests", "one-per-span", f"holds {len(digests)}", f"give {len(spans)} or none")
    figure = prefix_strip(
        spans,
        title=title,
        alt=alt,
        evidence=evidence,
        source=source,
        markers=markers,
        lookback=lookback,
        first_difference=first_difference,
        bill=bill,
    )
    layout = strip_layout(spans, markers=markers, lookback=lookback, first_difference=first_difference)
    blocks: list[tuple[str, str]] = []
    sum_tokens = 0
    for at, block in enumerate(layout.blocks):
        sum_tokens += block.tokens
        last = max(span for span, drawn in enumerate(layout.place[:-1]) if drawn == at)
        says = [f"{block.cls} {PALETTE[block.cls].word}"] if block.cls else []
        says += [f"{block.tokens:,} tokens", f"the prefix ends at {sum_tokens:,}"]
        says += [f"digest {digests[last]}"] if digests else []
        blocks.append((f"block {at + 1} of {len(layout.blocks)}, {_named(block)}", ", ".join(says)))
    return StripView(figure, blocks)


@functools.cache
def have_widgets() -> bool:
    """Whether ipywidgets and anywidget can be imported; both are heavy, so they are asked late."""
    try:
        import anywidget
        import ipywidgets
    except ImportError:
        return False
    return bool(anywidget and ipywidgets)


@functools.cache
def _range_control() -> type[Any]:
    import anywidget
    import traitlets

    class RangeControl(anywidget.AnyWidget):
        _esm = _script("range_control.js")
        _css = _script("widgets.css")
        min = traitlets.Float().tag(sync=True)
        max = traitlets.Float().tag(sync=True)
        step = traitlets.Float().tag(sync=True)
        value = traitlets.Float().tag(sync=True)
        label = traitlets.Unicode().tag(sync=True)
        unit = traitlets.Unicode().tag(sync=True)

    return RangeControl


@functools.cache
def _strip_control() -> type[Any]:
    import anywidget
    import traitlets

    class StripControl(anywidget.AnyWidget):
        _esm = _script("prefix_strip.js")
        _css = _script("widgets.css")
        picture = traitlets.Unicode().tag(sync=True)
        blocks: Any = traitlets.List().tag(sync=True)

    return StripControl


def _script(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _bundle(words: str, html: str, view: Any) -> dict[str, Any]:
    bundle: dict[str, Any] = {"text/plain": words, "text/html": html}
    if view is not None:
        bundle[_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": view.model_id}
    return bundle


def _named(block: Span) -> str:
    return block.label or block.segment or "no label"


def _drawn(picture: Callable[..., Figure], values: dict[str, float]) -> Figure:
    figure = picture(**values)
    if not callable(getattr(figure, "_repr_html_", None)):
        refuse("picture", "returns-a-figure", f"gave {figure!r}", "return what a function of figures gives")
    return figure


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _allowed(name: str, value: float, wanted: Range) -> float:
    """``value`` on the range's scale, whole where the scale is whole."""
    steps = (value - wanted.low) / wanted.step if _is_number(value) else math.inf
    if not (math.isfinite(steps) and wanted.low <= value <= wanted.high and abs(steps - round(steps)) < 1e-6):
        scale = f"{wanted.low:,} to {wanted.high:,} in steps of {wanted.step:,}"
        refuse(name, "on-the-scale", f"is {value!r}", f"give {scale}")
    whole = all(float(figure).is_integer() for figure in (wanted.low, wanted.step))
    return round(value) if whole else float(value)
