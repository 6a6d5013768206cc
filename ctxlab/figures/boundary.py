"""The picture of notebook 00: what one request holds, what survives the process, and the two ways across."""

from __future__ import annotations

from collections.abc import Sequence

from ctxlab.figures.svg import (
    INK,
    LARGE,
    NORMAL,
    PAGE,
    RULE,
    WIDTH,
    Figure,
    clip,
    figure,
    line,
    n,
    path,
    plain,
    rect,
    refuse,
    text,
)


def window_and_store(
    *,
    window: Sequence[str] = ("tools", "system prompt", "history so far", "recalled facts", "new message"),
    store: Sequence[str] = ("facts", "past runs", "rules", "task state"),
    title: str = "The window is not the store",
    alt: str = (
        "Two arrows cross the process boundary: facts are retrieved into the window when a turn starts and "
        "written to the store when it ends. What crossed neither is gone when the process exits."
    ),
) -> Figure:
    """The window left of the process boundary, the store right of it.

    >>> print(window_and_store(window=["history"], store=["facts"]))
    window, gone at exit: history
    == process boundary == turn start: <- retrieve == turn end: write -> ==
    store, survives the exit: facts
    """
    if not window or not store:
        refuse("window, store", "not-empty", "has no entry", "name at least one thing on either side")
    height = max(36.0 * max(len(window), len(store)), 150.0)
    foot = 84 + height
    shapes: list[str] = []
    for left, name, note, entries, dash in (
        (8.0, "Window", "gone at exit", window, "9 5"),
        (WIDTH - 240, "Store", "survives the exit", store, ""),
    ):
        shapes.append(rect(left, 12, 232, foot - 4, "#f4f7fa", INK, stroke_width=3, rx=10, dash=dash))
        shapes.append(text(name, left + 116, 40, LARGE, bold=True, anchor="middle"))
        shapes.append(text(note, left + 116, 62, anchor="middle"))
        step = height / len(entries)
        for at, entry in enumerate(entries):
            shapes.append(rect(left + 14, 76 + at * step, 204, step - 8, PAGE, RULE, rx=4))
            words = clip(entry, 196, NORMAL)
            middle = 76 + at * step + (step - 8) / 2 + 5.5
            shapes.append(text(words, left + 116, middle, NORMAL, anchor="middle"))
    shapes.append(rect(355, 12, 10, foot - 4, INK))
    for y, tail, tip, when, verb in (
        (76 + height * 0.30, WIDTH - 248, 250.0, "turn start", "retrieve"),
        (76 + height * 0.76, 248.0, WIDTH - 250, "turn end", "write"),
    ):
        ahead = 1 if tip > tail else -1
        shapes.append(line(tail, y, tip - ahead * 14, y, INK, 4))
        shapes.append(path(f"M{n(tip)} {n(y)}l{-16 * ahead} -9v18z", fill=INK))
        shapes.append(text(when, 302, y - 16, anchor="middle"))
        shapes.append(text(verb, 418, y - 16, 18, bold=True, anchor="middle"))
    shapes.append(text("process boundary", WIDTH / 2, foot + 28, NORMAL, bold=True, anchor="middle"))
    twin = (
        f"window, gone at exit: {' | '.join(map(plain, window))}\n"
        "== process boundary == turn start: <- retrieve == turn end: write -> ==\n"
        f"store, survives the exit: {' | '.join(map(plain, store))}"
    )
    return figure(shapes, foot + 40, twin, title, alt, evidence=None, source="")
