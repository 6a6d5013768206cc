"""The labelled snippets of data/breakers: complete, readable, and enough of each kind."""

from __future__ import annotations

import ast
import datetime
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ctxlab.breakers import BREAKERS

CORPUS = Path(__file__).parent.parent / "data" / "breakers"
LABELS = tomllib.loads((CORPUS / "labels.toml").read_text(encoding="utf-8"))
SNIPPETS: list[dict[str, Any]] = LABELS["snippet"]
FILES = sorted(path for path in (CORPUS / "source").iterdir() if path.suffix in {".py", ".ipynb"})
KINDS = sorted({snippet["about"] for snippet in SNIPPETS})
CERTAINTIES = {"confirmed", "suspected"}


def named(snippet: dict[str, Any]) -> str:
    return Path(snippet["file"]).stem


def code_cells(path: Path) -> dict[int, list[str]]:
    """The lines of each code cell by its number, magics included; a module is one cell without a number."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return {0: text.splitlines()}
    cells = json.loads(text)["cells"]
    return {
        number: "".join(cell["source"]).splitlines()
        for number, cell in enumerate(cells, 1)
        if cell["cell_type"] == "code"
    }


def without_magics(lines: list[str]) -> str:
    """The Python of a cell: lines that begin with % or ! stay empty, so that line numbers hold."""
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def tree(path: Path) -> dict[int, ast.Module]:
    return {number: ast.parse(without_magics(lines)) for number, lines in code_cells(path).items()}


def confirmed(snippet: dict[str, Any]) -> list[dict[str, Any]]:
    return [label for label in snippet["expected"] if label["certainty"] == "confirmed"]


def labels(snippet: dict[str, Any]) -> list[dict[str, Any]]:
    return [*snippet["expected"], *snippet.get("allowed", [])]


def test_every_file_is_labelled_once_and_every_label_has_its_file():
    labelled = [CORPUS / snippet["file"] for snippet in SNIPPETS]
    assert sorted(labelled) == FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_snippet_parses_and_is_of_a_readable_size(path):
    assert any(module.body for module in tree(path).values())
    lines = [line for cell in code_cells(path).values() for line in cell if line.strip()]
    assert 8 <= len(lines) <= 60


@pytest.mark.parametrize("snippet", SNIPPETS, ids=named)
def test_every_label_points_at_code(snippet):
    cells = code_cells(CORPUS / snippet["file"])
    for label in labels(snippet):
        lines = cells[label.get("cell", 0)]
        for number in [label["line"], *label.get("or_lines", [])]:
            assert 1 <= number <= len(lines), (snippet["file"], number)
            text = lines[number - 1].strip()
            assert text
            assert not text.startswith(("#", "import ", "from ", "%", "!"))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=named)
def test_every_label_is_of_a_known_kind_and_certainty(snippet):
    assert set(snippet) <= {
        "file",
        "about",
        "origin",
        "url",
        "date",
        "what",
        "why",
        "expected",
        "allowed",
    }
    assert snippet["about"] in BREAKERS
    for label in snippet["expected"]:
        assert set(label) <= {"code", "cell", "line", "certainty", "also", "or_lines"}
        assert label["certainty"] in CERTAINTIES
        assert {label["code"], *label.get("also", [])} <= set(BREAKERS)
        assert label["line"] not in label.get("or_lines", [])
    for label in snippet.get("allowed", []):
        assert set(label) <= {"code", "cell", "line", "at_most", "why"}
        assert label["at_most"] in CERTAINTIES
        assert label["code"] in BREAKERS
        assert label["why"]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=named)
def test_a_breaker_holds_its_kind_and_a_clean_twin_says_why_it_is_clean(snippet):
    if snippet["expected"]:
        found = {code for label in snippet["expected"] for code in (label["code"], *label.get("also", []))}
        assert snippet["about"] in found
    else:
        assert snippet["why"]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=named)
def test_the_origin_is_complete(snippet):
    if snippet["origin"] == "ours":
        assert not {"url", "date", "what"} & set(snippet)
    else:
        assert snippet["origin"] == "public"
        assert snippet["url"].startswith("https://")
        assert isinstance(snippet["date"], datetime.date)
        assert snippet["what"].strip()
        assert "\n" not in snippet["what"]


def test_no_snippet_tells_its_label():
    assert [path.name for path in FILES if "CTX" in path.read_text(encoding="utf-8")] == []


def test_half_of_the_snippets_come_from_public_code_and_half_are_clean():
    assert len(SNIPPETS) >= 66
    public = sum(snippet["origin"] == "public" for snippet in SNIPPETS)
    clean = sum(not confirmed(snippet) for snippet in SNIPPETS)
    assert public >= len(SNIPPETS) / 2
    assert 0.4 <= clean / len(SNIPPETS) <= 0.6
    assert {path.suffix for path in FILES} == {".py", ".ipynb"}


def test_public_breakers_and_public_twins_are_both_there():
    kinds = Counter(bool(snippet["expected"]) for snippet in SNIPPETS if snippet["origin"] == "public")
    assert min(kinds[True], kinds[False]) >= 20


@pytest.mark.parametrize("code", KINDS)
def test_each_kind_has_three_breakers_and_three_clean_twins(code):
    about = [snippet for snippet in SNIPPETS if snippet["about"] == code]
    breaking = [snippet for snippet in about if any(label["code"] == code for label in confirmed(snippet))]
    clean = [snippet for snippet in about if not snippet["expected"]]
    assert len(breaking) >= 3
    assert len(clean) >= 3


def test_every_kind_that_source_code_can_show_is_covered():
    seen_in_two_requests_only = {"CTX204", "CTX304", "CTX305", "CTX306", "CTX307", "CTX308"}
    seen_in_a_request_only = {"CTX403", "CTX404", "CTX405", "CTX406", "CTX901"}
    assert set(BREAKERS) - seen_in_two_requests_only - seen_in_a_request_only == set(KINDS)


def test_confirmed_findings_agree_with_the_labels():
    from tests.breaker_score import score

    scored = score()
    told = "\n".join([str(scored), *scored.disagreements])
    assert scored.found.total() >= 50
    assert scored.precision >= 0.95, told
    assert scored.recall >= 0.95, told
