"""Promises of ctxlab.checks.slips: an error of Python's own gets a sentence that says what to change."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from ctxlab.checks.slips import advice
from ctxlab.errors import InvalidArgumentError, Problem


def advised(cell: str) -> str:
    """What is said under a cell that fails in an empty kernel."""
    try:
        exec(compile(cell, "<cell>", "exec"), {"predict": lambda *words, **figures: None})
    except Exception as error:
        return advice(error, cell)
    raise AssertionError(f"this cell runs: {cell}")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ('predict("00-a", vote=B)', '`vote="B"`'),
        ('predict("00-a", vote=b, sure=True)', '`vote="B"`'),
        ('predict("00-a", vote="B", sure=true)', "`True`"),
        ('predict("00-a", vote="B", sure=no)', "`False`"),
        ('predict("00-a", total=12,345,678, vote="B")', "`12_345_678` for thousands."),
        ('predict("00-a", total=25,500, vote="B")', "`25_500`"),
        ('predict("00-a", total=25,000)', "`25_000`"),
        ('predict("01-a", factor=2,657, vote="C")', "`2_657` for thousands, or `2.657` with a decimal point"),
        ('predict("01-a", factor=2,6, vote="C")', "write `2.6` with a decimal point"),
        ('predict("01-c", input_usd=$13,37)', "write `13.37` with a decimal point"),
        ('predict("00-a", total=25 million)', "digits only"),
        ('predict("00-a", factor=4x)', "digits only"),
        ('predict("01-c", input_usd=$13)', "currency"),
        ('predict("01-c", share=40%)', "percent"),
        ('predict("00-a", total=...25, vote="B")', "three dots"),
        ('predict("00-a", total=..., vote: "B")', "`=`"),
        ("predict(“00-a”, vote=“B”)", "straight quotes"),
        ('predict("00-a", vote="B" sure=True)', "a comma between two answers"),
        ('predict("00-a", vote="B, sure=True)', "quotes around a letter"),
        ('predict("00-a", vote="B"', "a bracket at the end"),
        ('Predict("00-a", vote="B")', "small letters"),
        ('check("00-1", 1)', "first code cell"),
        ("predict(run_a)", "`run_a` yet: run the cells above"),
        ('places = {\n    "file on disk": gone,\n}', '`"gone"`'),
        ('usd = {\n    "one": 1,500,\n    "two": 3,\n}', "`1_500`"),
        ('usd = {\n    "one": 0,135,\n    "two": 3,\n}', "`0,135` write `0.135`"),
        ('page("C:\\Urgent\\logs")', "`r`"),
    ],
)
def test_a_slip_is_told_in_one_sentence(cell, told):
    assert told in advised(cell)


@pytest.mark.parametrize(
    "cell",
    [
        "def f(x):\nreturn x",
        "total = f(1,200",
        "x = (3 if else 4)",
        "1 / 0",
        "def f():\n    n += 1\n    return n\nf()",
    ],
)
def test_an_error_that_is_no_slip_of_ours_gets_no_advice(cell):
    assert advised(cell) == ""


def test_a_result_that_is_missing_is_not_taken_for_a_word_without_quotes():
    error = NameError("name 'run_a' is not defined", name="run_a")
    assert advice(error, 'reveal("00-a", run_a)').endswith("run the cells above this one.")


def test_an_error_of_the_house_is_repeated_without_its_traceback():
    error = InvalidArgumentError(Problem("logs", "readable-file", "is not there", "give a path"))
    assert advice(error, "") == "`logs`: is not there; give a path."
    asked = InvalidArgumentError(Problem("logs", "has-usage", "holds no usage", "is it a log?"))
    assert advice(asked, "").endswith("is it a log?")


def test_the_advice_stands_under_the_cell_that_failed_and_nowhere_else(tmp_path):
    cells = [
        "from ctxlab.checks import predict",
        "from ctxlab.checks import predict",
        'predict("00-a", vote=B)',
        'predict("00-a", vote="B" sure=True)',
        "print(2)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [[output.output_type for output in cell.outputs] for cell in notebook.cells]
    assert kinds == [[], [], ["error", "display_data"], ["error", "display_data"], ["stream"]]
    assert "CHECK THE CELL" in notebook.cells[2].outputs[1].data["text/plain"]
