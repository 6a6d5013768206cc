"""Pictures that move: by code, by the front end, and not at all, always with the same numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab import widgets
from ctxlab.errors import InvalidArgumentError
from ctxlab.figures import prefix_strip
from ctxlab.widgets import Range, explore, prefix_strip_widget

VIEW = "application/vnd.jupyter.widget-view+json"


def history(turns, price=5):
    return prefix_strip(
        [("history", "R", 100 * turns)],
        title=f"{turns} turns at {price}",
        alt=f"{turns} turns",
        evidence="scripted",
    )


@pytest.fixture
def no_widgets(monkeypatch):
    monkeypatch.setattr(widgets, "have_widgets", lambda: False)


def test_moving_by_code_draws_the_picture_anew():
    explorer = explore(history, turns=(1, 60, 12))
    before = explorer.picture_html
    explorer.set(turns=40)
    assert explorer.picture_html != before
    assert explorer.picture_html == history(40)._repr_html_()
    assert (explorer.values, repr(explorer)) == ({"turns": 40}, "explore(turns=40)")


def test_moving_in_the_front_end_does_the_same():
    explorer = explore(history, turns=(1, 60, 12), price=(1, 10, 5))
    turns, price = explorer._controls.values()
    turns.value = 40.0  # what a message from the browser does
    price.value = 7.0
    assert explorer.values == {"turns": 40, "price": 7}
    assert explorer.picture_html == history(40, 7)._repr_html_()


def test_a_move_by_code_shows_on_the_control():
    explorer = explore(history, turns=(1, 60, 12))
    explorer.set(turns=40)
    assert explorer._controls["turns"].value == 40


def test_each_move_draws_once():
    drawn = []

    def counted(**values):
        drawn.append(values)
        return history(**values)

    explorer = explore(counted, turns=(1, 60, 12), price=(1, 10, 5))
    explorer.set(turns=40, price=7)
    explorer._controls["turns"].value = 20.0
    assert drawn == [{"turns": 12, "price": 5}, {"turns": 40, "price": 7}, {"turns": 20, "price": 7}]


def test_without_ipywidgets_the_same_call_gives_the_same_picture(no_widgets):
    explorer = explore(history, turns=(1, 60, 12))
    explorer.set(turns=40)
    assert explorer.picture_html == history(40)._repr_html_()
    bundle = explorer._repr_mimebundle_()
    assert VIEW not in bundle
    assert explorer.picture_html in bundle["text/html"]


@pytest.mark.parametrize(
    "shown",
    [
        lambda: explore(history, turns=(1, 60, 12)),
        lambda: prefix_strip_widget([("tools", "R", 9)], title="t", alt="a", evidence="recorded"),
    ],
)
def test_what_is_stored_holds_a_static_twin_and_no_random_id(shown):
    one, other = shown()._repr_mimebundle_(), shown()._repr_mimebundle_()
    assert one.pop(VIEW)["model_id"] != other.pop(VIEW)["model_id"]
    assert one == other
    assert "<svg" in one["text/html"]
    assert re.search(r"\b[0-9a-f]{32}\b", json.dumps(one)) is None
    assert len(one["text/plain"]) < 80


def test_the_static_twin_says_where_the_controls_stand():
    explorer = explore(history, turns=(1, 60, 12), price=Range(1, 10, 5, label="price", unit="$/M"))
    explorer.set(turns=40)
    assert "The picture at turns = 40, price = 5 $/M." in explorer._repr_mimebundle_()["text/html"]


def test_nothing_is_drawn_into_an_output_widget():
    import ipywidgets

    control, shown = explore(history, turns=(1, 60, 12))._view.children
    assert isinstance(control, widgets._range_control())
    assert type(shown) is ipywidgets.HTML


@given(st.integers(-50, 50), st.integers(1, 20), st.integers(1, 7), st.data())
def test_whatever_stands_on_the_scale_is_allowed_and_stays_whole(low, steps, step, data):
    wanted = Range(low, low + steps * step, step=step)
    value = low + step * data.draw(st.integers(0, steps))
    allowed = widgets._allowed("turns", float(value), wanted)
    assert (allowed, type(allowed)) == (value, int)


@pytest.mark.parametrize("value", [0, 61, 12.5, float("nan"), float("inf")])
def test_whatever_is_off_the_scale_is_refused_and_moves_nothing(value):
    explorer = explore(history, turns=(1, 60, 12))
    with pytest.raises(InvalidArgumentError, match="1 to 60 in steps of 1"):
        explorer.set(turns=value)
    assert explorer.values == {"turns": 12}


@pytest.mark.parametrize(
    ("ranges", "rule"),
    [
        ({}, "not-empty"),
        ({"turns": 12}, "range-shape"),
        ({"turns": (1,)}, "range-shape"),
        ({"turns": (9, 1)}, "range-order"),
        ({"turns": (1, 9, 5, 0)}, "range-order"),
        ({"turns": (1, 9, 99)}, "on-the-scale"),
    ],
)
def test_a_range_that_cannot_be_moved_is_refused(ranges, rule):
    with pytest.raises(InvalidArgumentError) as refused:
        explore(history, **ranges)
    assert refused.value.problems[0].rule == rule


def test_a_control_that_is_not_there_is_refused_by_name():
    with pytest.raises(InvalidArgumentError, match="use turns"):
        explore(history, turns=(1, 60, 12)).set(steps=3)


BLOCKS = [("tools", "R", 3733), ("system", "W", 4563), ("question", None, 12)]
SAID = {"title": "t", "alt": "a", "evidence": "recorded"}


def test_every_block_of_the_strip_says_class_tokens_prefix_and_digest():
    view = prefix_strip_widget(BLOCKS, digests=["1f", "9a", "c3"], **SAID)
    assert view.blocks == [
        ("block 1 of 3, tools", "R read, 3,733 tokens, the prefix ends at 3,733, digest 1f"),
        ("block 2 of 3, system", "W written, 4,563 tokens, the prefix ends at 8,296, digest 9a"),
        ("block 3 of 3, question", "12 tokens, the prefix ends at 8,308, digest c3"),
    ]


def test_there_are_as_many_words_as_blocks_to_point_at_when_neighbours_are_joined():
    blocks = [("messages", "R", 1)] * 40 + [("messages", "W", 1)] * 5
    view = prefix_strip_widget(blocks, digests=[str(at) for at in range(45)], markers=[(9, "5m")], **SAID)
    svg = ElementTree.fromstring(view.figure.svg)
    assert sum("data-block" in shape.attrib for shape in svg.iter()) == len(view.blocks) == 3
    assert [says.split("digest ")[1] for _, says in view.blocks] == ["9", "39", "44"]


def test_the_strip_stands_still_without_anywidget(no_widgets):
    view = prefix_strip_widget(BLOCKS, **SAID)
    assert view._repr_mimebundle_() == {
        "text/plain": view.figure.text,
        "text/html": prefix_strip(BLOCKS, **SAID)._repr_html_(),
    }


def test_digests_that_do_not_match_the_blocks_are_refused():
    with pytest.raises(InvalidArgumentError, match="one-per-span"):
        prefix_strip_widget(BLOCKS, digests=["1f"], **SAID)


def test_the_scripts_ask_nobody():
    scripts = sorted(widgets._STATIC.iterdir())
    assert [path.name for path in scripts] == ["prefix_strip.js", "range_control.js", "widgets.css"]
    for path in scripts:
        assert re.search(r"https?:|import\s|fetch\(|@import", path.read_text(encoding="utf-8")) is None


def test_importing_widgets_loads_no_widget():
    code = "import sys, ctxlab.widgets; print({'ipywidgets', 'anywidget', 'traitlets'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"


@pytest.mark.parametrize("value", [None, "3", True, float("nan"), float("inf")])
def test_what_is_no_number_is_refused_and_moves_nothing(value):
    explorer = explore(history, turns=Range(1, 40, start=12))
    with pytest.raises(InvalidArgumentError, match="on-the-scale"):
        explorer.set(turns=value)
    assert explorer.values == {"turns": 12}


def test_a_picture_that_cannot_be_drawn_moves_nothing():
    def up_to_three(turns):
        if turns > 3:
            raise ZeroDivisionError
        return history(turns)

    explorer = explore(up_to_three, turns=Range(1, 5, start=2))
    before = repr(explorer.figure)
    with pytest.raises(ZeroDivisionError):
        explorer.set(turns=5)
    assert explorer.values == {"turns": 2}
    assert repr(explorer.figure) == before
    explorer.set(turns=3)
    assert explorer.values == {"turns": 3}


def test_a_picture_that_is_none_is_refused_by_name():
    with pytest.raises(InvalidArgumentError, match="returns-a-figure"):
        explore(lambda turns: None, turns=(1, 5))
