"""What every lesson of the series promises, whoever wrote it."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ctxlab import places, recordings
from ctxlab.checks import check, exercises, faces, lessons, predict, predictions, reference, reveal, words
from ctxlab.checks.panel import Panel, Picture
from ctxlab.checks.quantities import Between, exact
from ctxlab.notebooks import contract, leak, source
from tests import series

ROOT = Path(places.__file__).resolve().parent.parent
REAL = source.sources(ROOT / "notebooks")
EVERY = (*REAL, series.FIXTURES / "series" / "source" / f"{series.TINY}.py")
BLANK_WORDS = ("EXACT", "DONE", "COMMITTED", "BROKEN RULE", "GIVEN UP")


def numbered(paths: tuple[Path, ...]) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in paths]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path) -> None:
    """The fixture's lesson in sight, answers in memory, files a cell writes out of the way."""
    monkeypatch.setenv("CTXLAB_LESSONS", str(series.LESSONS))
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))
    monkeypatch.chdir(tmp_path)


def lesson_of(path: Path) -> lessons.Lesson:
    return lessons.lesson(path.stem[:2])


def edition(path: Path, name: str) -> dict[str, Any]:
    folder = path.parent.parent / ("answered" if name == "answered" else "")
    notebook: dict[str, Any] = json.loads((folder / f"{path.stem}.ipynb").read_text(encoding="utf-8"))
    return notebook


def test_the_series_begins_with_window_and_store_and_the_cost_model():
    assert [path.stem[:2] for path in REAL][:2] == ["00", "01"]


@pytest.mark.parametrize("path", numbered(EVERY))
def test_a_lesson_keeps_the_notebook_contract(path):
    assert contract.problems(source.read(path)) == []


# --- predictions


@pytest.mark.parametrize("path", numbered(EVERY))
def test_the_reference_answer_is_exact_and_its_letter_alone_is_the_right_rule(path):
    for name, asked in lesson_of(path).predictions.items():
        answer = reference(name)
        figures = {field.name: exact(answer[field.name]) for field in asked.fields}
        vote = str(answer["vote"])
        assert predictions.grade(asked, vote, figures).name == "exact"
        assert predictions.grade(asked, None, figures).name == ("exact" if figures else "another-idea")
        assert predictions.grade(asked, vote, {}).name == ("right-rule" if figures else "exact")


@pytest.mark.parametrize("path", numbered(EVERY))
def test_each_wrong_answer_is_told_by_the_misconception_behind_it(path):
    known = words.misconceptions()
    for asked in lesson_of(path).predictions.values():
        offered = {one.misconception for one in asked.options} - {None}
        assert offered <= set(known)
        assert set(asked.misconceptions) <= set(known)
        for option in asked.options:
            if option.misconception is not None:
                outcome = predictions.grade(asked, option.letter, {})
                assert (outcome.name, outcome.misconception) == ("misconception", option.misconception)
        for name, yields in asked.misconceptions.items():
            figures = {key: exact(value) for key, value in yields().items() if not isinstance(value, Between)}
            assert figures
            outcome = predictions.grade(asked, None, figures)
            assert (outcome.name, outcome.misconception) == ("misconception", name)


@pytest.mark.parametrize("path", numbered(EVERY))
def test_each_misconception_is_met_in_its_lesson_and_refuted_by_evidence_that_exists(path):
    lesson = lesson_of(path)
    met = {option.misconception for one in lesson.predictions.values() for option in one.options}
    met |= {name for one in lesson.predictions.values() for name in one.misconceptions}
    rules = {one.rule for one in lesson.predictions.values()}
    rules |= {rule for task in lesson.exercises.values() for rule in task.rules}
    own = [idea for idea in words.misconceptions().values() if idea.lesson == lesson.number]
    assert bool(own) == bool(lesson.predictions)
    for idea in own:
        assert idea.id in met
        assert idea.rule in rules, idea.id
        kind, _, what = idea.refuted_by.partition(":")
        if kind == "session":
            assert recordings.session(what).name == what
        elif kind == "exchange":
            assert recordings.exchange(what).id == what
        else:
            assert len(what.split()) >= 3, idea.id


@pytest.mark.parametrize("path", numbered(EVERY))
def test_every_reveal_fits_eighty_columns_and_reads_the_same_twice(path):
    for name, asked in lesson_of(path).predictions.items():
        predict(name, **reference(name))
        panel, again = reveal(name), reveal(name)
        assert panel.word == "EXACT"
        assert repr(panel) == repr(again)
        assert panel._repr_html_() == again._repr_html_()
        plain = Panel(panel.shape, panel.word, panel.about, without_pictures(panel))
        assert max(map(len, repr(plain).splitlines())) <= 80
        if asked.evidence == "emulated":
            assert faces.borne_out(asked.uses)


def without_pictures(panel: Panel) -> tuple[Any, ...]:
    return tuple(part for part in panel.parts if not isinstance(part, Picture))


# --- exercises


def work_of(path: Path, code: str, asks: tuple[str, ...]) -> list[Any]:
    """What a learner's cell defines, run after the set-up cells of the lesson."""
    cells = [cell.text for cell in source.read(path).cells if "setup" in cell.tags]
    space: dict[str, Any] = {}
    for text in (*cells, code):
        exec(compile(ast.parse(text), "cell", "exec"), space)
    return [space[name] for name in asks]


def solutions(path: Path, pattern: str) -> list[Path]:
    return sorted((path.parent.parent / "solutions").glob(pattern))


@pytest.mark.parametrize("path", numbered(EVERY))
def test_each_stub_says_not_yet(path):
    for cell in source.read(path).cells:
        if cell.exercise is not None:
            task = lessons.exercise(cell.exercise)
            assert check(task.id, *work_of(path, cell.text, task.asks)).word == "NOT YET"


@pytest.mark.parametrize("path", numbered(EVERY))
def test_a_stub_to_fill_in_asks_for_what_its_solution_answers(path):
    for cell in source.read(path).cells:
        if cell.exercise is not None:
            task = lessons.exercise(cell.exercise)
            (solution,) = solutions(path, f"{task.id}.py")
            solved = work_of(path, solution.read_text(encoding="utf-8"), task.asks)
            for stub, answer in zip(work_of(path, cell.text, task.asks), solved, strict=True):
                assert type(stub) is type(answer)
                if isinstance(answer, Mapping):
                    assert list(stub) == list(answer)


@pytest.mark.parametrize("path", numbered(EVERY))
def test_each_solution_passes_whatever_the_seed(path):
    for task in lesson_of(path).exercises.values():
        (solution,) = solutions(path, f"{task.id}.py")
        work = work_of(path, solution.read_text(encoding="utf-8"), task.asks)
        assert check(task.id, *work).word == "DONE"
        for seed in range(1, 8):
            assert exercises.judge(task, work, seed=seed).state == "done"


@pytest.mark.parametrize("path", numbered(EVERY))
def test_each_wrong_solution_breaks_the_rule_in_its_name_whatever_the_seed(path):
    for task in lesson_of(path).exercises.values():
        wrong = solutions(path, f"{task.id}.wrong.*.py")
        assert wrong, f"{task.id} has no wrong solution"
        for attempt in wrong:
            rule = attempt.name.split(".")[2]
            work = work_of(path, attempt.read_text(encoding="utf-8"), task.asks)
            for seed in range(8):
                assert exercises.judge(task, work, seed=seed).rule == rule, attempt.name
            told = repr(check(task.id, *work))
            assert f"Rule `{rule}`" in told
            assert "Traceback" not in told


def test_every_file_of_the_solutions_belongs_to_an_exercise():
    known = {name for path in REAL for name in lesson_of(path).exercises}
    for path in (ROOT / "notebooks" / "solutions").iterdir():
        assert re.fullmatch(r"(\d\d-\d+)(\.wrong\.[a-z0-9-]+(\.\w+)?)?\.py", path.name), path.name
        assert path.name.partition(".")[0] in known, path.name


# --- what is committed


@pytest.mark.parametrize("path", numbered(REAL))
def test_the_learner_edition_leaks_no_figure(path):
    asked = list(lesson_of(path).predictions.values())
    assert leak.leaks(edition(path, "learner"), asked) == []


@pytest.mark.parametrize("path", numbered(REAL))
def test_the_learner_edition_holds_no_answer(path):
    for cell in edition(path, "learner")["cells"]:
        told = json.dumps(cell.get("outputs", ()), ensure_ascii=False)
        assert not [word for word in BLANK_WORDS if f" {word} ·" in told]


@pytest.mark.parametrize("path", numbered(REAL))
def test_the_answered_edition_leaves_nothing_open_and_runs_what_was_asked(path):
    for cell in edition(path, "answered")["cells"]:
        told = json.dumps(cell.get("outputs", ()), ensure_ascii=False)
        open_words = ("NOT YET", "ANOTHER RUN", "BROKEN RULE", "CHECK THE CELL")
        assert not [word for word in open_words if f" {word} ·" in told]


@pytest.mark.parametrize("name", ["learner", "answered"])
@pytest.mark.parametrize("path", numbered(REAL))
def test_a_stored_edition_gives_nbval_something_to_bite_on(path, name):
    notebook = edition(path, name)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    for output in outputs:
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
        assert not [kind for kind in output.get("data", {}) if "widget" in kind]
    assert "widgets" not in notebook["metadata"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    if name == "answered":
        assert len([output for output in outputs if says_something(output)]) >= 10


def says_something(output: dict[str, Any]) -> bool:
    kinds = ("text/plain", "text/html", "image/svg+xml")
    texts = [output.get("text", ()), *(output.get("data", {}).get(kind, ()) for kind in kinds)]
    return any("".join(text).strip() for text in texts)


@pytest.mark.parametrize("name", ["learner", "answered"])
@pytest.mark.parametrize("path", numbered(REAL))
def test_a_stored_edition_holds_nothing_of_a_machine_or_a_key(path, name):
    text = json.dumps(edition(path, name), ensure_ascii=False)
    found = re.search(r"sk-ant-|(?<![\w.])/(?:home|root|tmp|Users|work)/|[A-Z]:\\\\|0x[0-9a-f]{8}", text)
    assert found is None, found


@pytest.mark.parametrize(
    ("seed", "zone", "folder", "lessons"),
    [
        ("99", "America/St_Johns", "zürich and another", ()),  # every lesson, as far from here as it gets
        ("0", "UTC", "here", ("00", "03")),
    ],
)
def test_both_editions_and_the_guide_are_built_to_the_committed_bytes(seed, zone, folder, lessons, tmp_path):
    clone = ROOT if folder == "here" else copied(tmp_path / folder)
    done = series.run(
        *("-m", "ctxlab.notebooks", "build", "--check", *lessons),
        folder=tmp_path,
        PYTHONPATH=str(clone),
        PYTHONHASHSEED=seed,
        TZ=zone,
        CTXLAB_LESSONS="",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert len(told) >= 2 * (len(lessons) or len(REAL))
    assert all(line.endswith(": as committed") for line in told)


def copied(clone: Path) -> Path:
    for name in ("ctxlab", "data", "notebooks"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, clone)
    return clone


@pytest.mark.parametrize("path", numbered(REAL))
def test_a_lesson_module_loads_nothing_beyond_the_standard_library(path):
    code = (
        "import sys, importlib; before = set(sys.modules); "
        f"importlib.import_module('ctxlab.checks.lesson_{path.stem[:2]}'); "
        "names = {name.partition('.')[0] for name in set(sys.modules) - before} - {'ctxlab'}; "
        "print(sorted(names - sys.stdlib_module_names))"
    )
    done = series.run("-c", code)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_every_lesson_module_has_its_notebook(monkeypatch):
    monkeypatch.delenv("CTXLAB_LESSONS")
    assert lessons.numbers() == tuple(path.stem[:2] for path in REAL)
