"""A small notebook with every picture and both widgets, so that the browser tests need no lesson."""

from __future__ import annotations

import json
from pathlib import Path

NAME = "scratch.ipynb"

CELLS = (
    "from ctxlab import figures, widgets",
    """\
figures.prefix_strip(
    [("tools", "R", 16606), ("system", "R", 2400), ("messages, older", "R", 940),
     ("messages, tool result", "W", 8300), ("messages, question", "F", 12), ("answer", "O", 410)],
    title="A healthy turn", alt="Only what was appended is written; all before it is read.",
    evidence="scripted", markers=[(1, "1h"), (3, "5m")], lookback=(2, 3), first_difference=3, bill="$0.04",
)""",
    "figures.window_and_store()",
    """\
values = [50_000 + 570 * turn for turn in range(183)] + [52_000 + 800 * turn for turn in range(70)]
figures.bars_under_ceiling(values, ceiling=200_000, evidence="scripted", title="253 turns, none of them full",
                           alt="No turn fills the window; all together are more than a hundred windows.")""",
    """\
figures.integral([v - 700 for v in values], [690] * 253, [10] * 253, evidence="scripted",
                 law=[50_000 + 570 * turn for turn in range(253)], law_label="P + a·k",
                 marks=[(184, "compaction")], title="What history costs",
                 alt="Nearly all of the area is read again, until a compaction breaks the law.")""",
    """\
figures.table([("tools", 16606, "$0.0083"), ("system", 2400, "$0.0012")], ["segment", "tokens", "price"],
              caption="What the prefix costs", labelled="scripted")""",
    """\
def dollars(turns, price):
    xs = list(range(1, 61))
    ys = [n * (n + 1) / 2 * 1000 * price / 1e6 for n in xs]
    return figures.curve([("no cache", xs, ys)], x_label="turns", y_label="dollars", evidence="documented",
                         title=f"{turns} turns cost {figures.usd(ys[turns - 1])}", y_format=figures.usd,
                         alt=f"The bill grows with the square of the turns; {turns} turns are marked.",
                         marks=[(turns, ys[turns - 1], f"{turns} turns {figures.usd(ys[turns - 1])}")])


explorer = widgets.explore(dollars, turns=(1, 60, 12), price=widgets.Range(1, 10, start=5, unit="$/M"))
explorer""",
    """\
before = explorer.picture_html
explorer.set(turns=40)
assert explorer.picture_html != before and "40 turns $4.10" in explorer.picture_html""",
    """\
widgets.prefix_strip_widget(
    [("tools", "R", 3733), ("system", "W", 4563), ("question", "F", 12, "messages")],
    title="A change in the system prompt", evidence="recorded", markers=[(1, "5m")], first_difference=1,
    alt="The tools were read, the system prompt was written again.",
    digests=["1f0c…", "9a77…", "c3d2…"])""",
)


def write(folder: Path) -> Path:
    """The notebook, not yet run."""
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "cells": [
            {"cell_type": "markdown", "id": "title", "metadata": {}, "source": "# Every picture"},
            *(
                {
                    "cell_type": "code",
                    "id": f"c{at:02d}",
                    "metadata": {},
                    "source": text,
                    "outputs": [],
                    "execution_count": None,
                }
                for at, text in enumerate(CELLS)
            ),
        ],
    }
    path = folder / NAME
    path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
    return path
