"""Without a kernel and without a network, a stored notebook opened as a page still shows every result."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxlab.places import notebooks_path
from tests.browser import scratch

if TYPE_CHECKING:
    from playwright.sync_api import Page

STORED = [*sorted(notebooks_path().glob("*.ipynb")), *sorted(notebooks_path("answered").glob("*.ipynb"))]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# every word of a picture with its box in the picture's own units, and how many pixels a unit is
MEASURE = """pictures => pictures.map(svg => {
  const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  const words = [...svg.querySelectorAll('text')].map(text => {
    const box = text.getBBox();
    return {words: text.textContent, left: box.x, top: box.y, right: box.x + box.width,
            bottom: box.y + box.height, size: Number(text.getAttribute('font-size'))};
  });
  return {alt: svg.getAttribute('aria-label'), width, height, unit: svg.clientWidth / width, words};
})"""
OVERFLOWING = """figures => figures.filter(figure =>
  figure.scrollWidth > figure.clientWidth || figure.getBoundingClientRect().right > window.innerWidth
).map(figure => figure.innerText.slice(0, 80))"""


@pytest.fixture(scope="module")
def run_scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scratch notebook, executed and stored the way the builder stores: without views and state."""
    import nbformat
    from nbclient import NotebookClient

    folder = tmp_path_factory.mktemp("scratch")
    path = scratch.write(folder)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, store_widget_state=False, resources={"metadata": {"path": str(folder)}}
    ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)
    nbformat.write(notebook, path)
    return path


def show(page: Page, path: Path, folder: Path) -> list[dict[str, Any]]:
    """Open a notebook as a page, off line, and measure its pictures."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter(template_name="lab").from_filename(str(path))
    html = folder / f"{path.parent.name}-{path.stem}.html"
    html.write_text(body, encoding="utf-8")
    page.route(re.compile("^https?:"), lambda route: route.abort())
    page.goto(html.as_uri(), wait_until="domcontentloaded")
    measured: list[dict[str, Any]] = page.locator("figure > svg[role=img]").evaluate_all(MEASURE)
    return measured


def misplaced(pictures: list[dict[str, Any]]) -> list[str]:
    """Words that leave their picture or touch others, and words that are too small, one line each."""
    found = []
    for picture in pictures:
        for word in picture["words"]:
            inside = word["left"] >= 0 and word["right"] <= picture["width"]
            if not (inside and word["top"] >= 0 and word["bottom"] <= picture["height"]):
                found.append(f"{word['words']!r} leaves {picture['alt']!r}")
            if word["size"] * picture["unit"] < 12:
                found.append(f"{word['words']!r} is too small in {picture['alt']!r}")
        for one, other in combinations(picture["words"], 2):
            apart_x = one["right"] <= other["left"] or other["right"] <= one["left"]
            apart_y = one["bottom"] - 3 <= other["top"] or other["bottom"] - 3 <= one["top"]
            if not (apart_x or apart_y):
                found.append(f"{one['words']!r} touches {other['words']!r} in {picture['alt']!r}")
    return found


def test_every_interactive_cell_leaves_a_readable_picture(page, run_scratch, tmp_path, pictures):
    drawn = show(page, run_scratch, tmp_path)
    assert len(drawn) == 6  # strip, window, bars, integral, curve, strip to walk through
    assert misplaced(drawn) == []
    text = page.locator("body").inner_text()
    assert "The picture at turns = 12, price = 5 $/M. Run the cell to move it." in text
    assert "[tools R 3733]![system W 4563]<5m>[question F 12]" in text
    page.screenshot(path=pictures / "no-kernel.png", full_page=True)


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_lesson_can_be_read_without_a_kernel(page, path, tmp_path, pictures):
    drawn = show(page, path, tmp_path)
    assert len(drawn) == _stored_pictures(path)
    assert misplaced(drawn) == []
    text = page.locator("body").inner_text()
    for complaint in ("Error displaying widget", "model not found", "Loading widget"):
        assert complaint not in text
    page.screenshot(path=pictures / f"no-kernel-{path.parent.name}-{path.stem}.png", full_page=True)


@pytest.mark.parametrize(
    "path", [None, *STORED], ids=lambda path: f"{path.parent.name}-{path.stem}" if path else "scratch"
)
def test_at_200_percent_nothing_is_cut_off(chromium, run_scratch, path, tmp_path, pictures):
    # what 200 % leaves of a screen 1280 wide
    context = chromium.new_context(viewport={"width": 640, "height": 450}, device_scale_factor=2)
    page = context.new_page()
    drawn = show(page, path or run_scratch, tmp_path)
    assert page.locator("figure").evaluate_all(OVERFLOWING) == []
    assert min((2 * picture["unit"] for picture in drawn), default=2) >= 1  # no smaller than at 100 %
    context.close()


def _stored_pictures(path: Path) -> int:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return sum("".join(output.get("data", {}).get("text/html", "")).count("<svg") for output in outputs)
