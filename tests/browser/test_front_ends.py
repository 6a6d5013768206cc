"""A learner opens a notebook in JupyterLab 4 or Notebook 7, runs it from the menu, and moves the pictures."""

from __future__ import annotations

import pytest

from ctxlab.places import notebooks_path
from tests.browser import scratch
from tests.browser.driver import FRONT_ENDS, Notebook

LESSONS = sorted(path.name for path in notebooks_path().glob("*.ipynb"))
ANSWERED = [f"answered/{path.name}" for path in sorted(notebooks_path("answered").glob("*.ipynb"))]


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("name", [scratch.NAME, *LESSONS])
def test_a_notebook_runs_from_the_menu_and_its_pictures_move(page, server, axe, pictures, front_end, name):
    notebook = Notebook(page)
    notebook.open(server, front_end, name)
    notebook.run_all()
    for control in notebook.controls():
        start, still = control.value, control.picture()
        control.drag(0.75)
        dragged, moved = control.value, control.picture_after(still)
        control.place.press("ArrowLeft")
        pressed, _ = control.value, control.picture_after(moved)
        assert pressed < dragged != start
    notebook.photograph(pictures / f"{front_end}-{name}.png")
    assert notebook.errors() == []
    assert notebook.formulas() == []
    assert notebook.violations(axe) == []
    assert notebook.outside == []
    assert notebook.complaints == []


@pytest.mark.parametrize("name", ANSWERED)
def test_the_answered_edition_runs_too(page, server, axe, pictures, name):
    notebook = Notebook(page)
    notebook.open(server, "lab", name)
    notebook.run_all()
    notebook.photograph(pictures / f"lab-{name.replace('/', '-')}.png")
    assert notebook.errors() == []
    assert notebook.formulas() == []
    assert notebook.violations(axe) == []
    assert notebook.outside == []
    assert notebook.complaints == []


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_every_key_of_a_slider_and_a_finger_move_the_control(chromium, server, axe, pictures, front_end):
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, has_touch=True)
    notebook = Notebook(context.new_page())
    notebook.dark(server)
    notebook.open(server, front_end, scratch.NAME)
    notebook.run_all()

    turns, _ = notebook.controls()
    for key, value in (
        ("Home", 1), ("ArrowRight", 2), ("ArrowUp", 3), ("PageUp", 13),
        ("End", 60), ("ArrowDown", 59), ("ArrowLeft", 58), ("PageDown", 48),
    ):  # fmt: skip
        turns.place.press(key)
        assert (key, turns.value) == (key, value)
    before = turns.picture()
    turns.tap(0.25)
    assert turns.value == pytest.approx(60 / 4, abs=2)
    turns.picture_after(before)

    words = [notebook.walk(key) for key in ("ArrowRight", "ArrowRight", "Tab", "ArrowLeft", "Shift+Tab")]
    assert [said.split(":")[0] for said in words] == [
        "block 1 of 3, tools",
        "block 2 of 3, system",
        "block 3 of 3, question",
        "block 2 of 3, system",
        "block 1 of 3, tools",
    ]
    assert "W written, 4,563 tokens, the prefix ends at 8,296, digest 9a77…" in words[1]
    notebook.photograph(pictures / f"{front_end}-dark.png")
    assert notebook.violations(axe) == []
    assert notebook.complaints == []
    notebook.dark(server, off=True)
    context.close()
