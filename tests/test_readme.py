"""The README keeps its word: what it shows runs, its tables are generated, its names exist."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ctxlab
from ctxlab import cli, places
from ctxlab.checks import lessons
from ctxlab.notebooks import build, leak, readme
from ctxlab.notebooks.source import read, sources

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_minute_tour_runs_as_printed():
    found = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert found.attempted >= 10
    assert found.failed == 0


def test_the_generated_tables_and_the_picture_are_as_a_fresh_build_makes_them():
    series = [read(path) for path in sources(places.notebooks_path())]
    stale = [problem for one in readme.built(ROOT, series) if (problem := build.stale(one))]
    assert stale == []


def test_the_first_lines_are_two_sentences_a_picture_and_two_commands():
    title, sentences, picture, caption, _, commands, *_ = re.sub(r"<!-- .* -->\n", "", README).split("\n\n")
    assert title == "# ctxlab"
    assert len(re.findall(r"[.?](?=\s|$)", sentences)) == 2
    assert picture.startswith("![")
    assert caption.startswith("*One recorded session")
    shown = re.findall(r"^python3 -m ctxlab (\w+) ", commands, re.MULTILINE)
    assert shown == ["lab", "test"]


def test_every_link_of_the_first_page_leads_somewhere():
    targets = re.findall(r"\]\(([^)#]+)", README)
    assert len(targets) >= 10
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_command_on_the_first_page_is_in_the_grammar():
    (names,) = (action.choices for action in cli.parser()._actions if isinstance(action.choices, dict))
    shown = re.findall(rf"ctxlab ((?:{'|'.join(names)})\b[^`\n#()]*)", README)
    assert len(shown) >= 15
    for line in shown:
        assert cli.parser().parse_args(line.replace("…", "").split()).command, line


def test_the_table_of_modules_names_modules_and_says_what_each_needs():
    named = re.findall(r"^\| `ctxlab\.(\w+)` \|", README, re.MULTILINE)
    assert len(named) >= 15
    program = f"import importlib\nfor name in {named!r}:\n" + (
        "    try: importlib.import_module('ctxlab.' + name)\n    except ImportError as error: print(name)\n"
    )
    told = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["emulator"]


def test_the_emulator_example_says_what_the_text_below_it_says(capsys):
    (example,) = re.findall(r"```python\n(from ctxlab.clock .*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("0 ")
    assert int(second.split()[0]) > 1_000
    assert third.startswith("0 ")
    assert "ended 1 s ago" in third


def test_the_first_screen_shows_a_finding_and_a_diff():
    screen = README.partition("\n## ")[0]
    assert re.search(r"^data/\S+\.py:\d+:\d+: CTX\d+ confirmed: ", screen, re.MULTILINE)
    first, second, pin = re.findall(r"^(?:turn-\d\.json \[| +\^ ).*$", screen, re.MULTILINE)
    assert first.index("!") == second.index("!") == pin.index("^")


def test_every_paragraph_of_both_documents_has_a_notebook_and_an_anchor():
    rows = readme.paragraphs()
    headings = {
        path.stem[:2]: set(re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
        | set(re.findall(r"^# #+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in sources(places.notebooks_path())
    }
    assert len(rows) == len({row.id for row in rows}) == 70
    for row in rows:
        if row.notebook in headings:
            assert row.where in headings[row.notebook], row
        else:
            assert row.notebook in readme.PLANNED, row
            assert row.where == "", row


def test_every_public_name_loads_and_is_known_to_type_checkers():
    tree = ast.parse((ROOT / "ctxlab" / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: (node.module or "").removeprefix("ctxlab.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == ctxlab._HOME
    for name, home in ctxlab._HOME.items():
        assert getattr(ctxlab, name) is getattr(importlib.import_module(f"ctxlab.{home}"), name)
        assert name in dir(ctxlab)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'bil'"):
        ctxlab.bil  # noqa: B018


def page(text: str) -> dict:
    return {"cells": [{"cell_type": "markdown", "metadata": {}, "source": text}], "metadata": {}}


def test_the_first_page_answers_no_prediction():
    asked = [one for number in lessons.numbers() for one in lessons.lesson(number).predictions.values()]
    assert leak.leaks(page(README), asked) == []
    truth = asked[0].truth()["total_tokens"]
    assert leak.leaks(page(f"{README} {truth:,}"), asked) != []
