"""The handout on paper: two A4 pages, as the person who prints it will get them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxlab.checks.lessons import lesson
from ctxlab.notebooks import handout
from ctxlab.notebooks.source import sources
from ctxlab.places import notebooks_path

if TYPE_CHECKING:
    from playwright.sync_api import Page


ASKING = [path.stem[:2] for path in sources(notebooks_path()) if lesson(path.stem[:2]).predictions]


@pytest.mark.parametrize("number", ASKING)
def test_a_handout_prints_on_at_most_two_pages(page: Page, number: str, tmp_path: Path) -> None:
    page.goto(handout.write(number, notebooks_path(), tmp_path).as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


@pytest.mark.parametrize("number", ASKING)
def test_a_handout_asks_each_question_once_and_shows_dollars_as_dollars(number: str, tmp_path: Path) -> None:
    text = handout.write(number, notebooks_path(), tmp_path).read_text(encoding="utf-8")
    assert "&lt;span" not in text
    assert "Figures to commit" not in text
