"""A sentence under an error of Python's own: the slips in a cell that never reach ``predict`` or ``check``.

Models: a letter without quotes, commas inside a figure, a cell above that was not run, and the like. Python's
error stays; a panel below it says what to change.
Does not model: errors of the learner's own functions (:mod:`ctxlab.checks.exercises` explains those).
"""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from ctxlab.checks.panel import Line, Panel
from ctxlab.errors import CtxlabError, Problem

FACES = ("predict", "reveal", "give_up", "after", "check", "status")
_LETTER = re.compile(r"[A-Da-d]")
_TRUTHS = {"true": "True", "yes": "True", "false": "False", "no": "False"}
_COMMAS = re.compile(r"[=:]\s*[$€£]?\s*(-?\d+(?:,\d+)+)(?![\d.])")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+")
_CURLY = re.compile(r"[“”‘’„«»]")
_SLIPS = (
    (re.compile(r"=\s*[$€£]"), "Write the figure alone, without a currency sign."),
    (re.compile(r"=\s*[\d._]+\s*%"), "Write the figure alone, without a percent sign."),
    (
        re.compile(r"=\s*[\d._]+\s*[A-Za-df-z]+"),
        "Write figures in digits only: `1_500_000` is one and a half million.",
    ),
    (
        re.compile(r"""\.\.\.[\w"']|[\w"']\.\.\."""),
        "Your answer takes the place of `...`: none of the three dots stays.",
    ),
    (re.compile(r"\b(vote|sure|second)\s*:"), 'A name and its answer are joined by `=`, as in `vote="A"`.'),
)
_CALL = (
    'A prediction looks like `predict("02-a", vote="B", sure=True)`: quotes around a letter, '
    "a comma between two answers, a bracket at the end."
)


def advice(error: BaseException, cell: str) -> str:
    """What to change in a cell that failed with ``error``; empty where there is nothing to add.

    >>> advice(NameError("name 'B' is not defined", name="B"), 'predict("00-a", vote=B)')
    'A letter stands in quotes: `vote="B"`.'
    """
    if isinstance(error, CtxlabError):
        return "\n".join(_about_a_problem(one) for one in error.problems)
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return _about_a_name(error.name or "", cell)
    return _about_syntax(error, cell) if isinstance(error, SyntaxError) else ""


def _about_a_problem(found: Problem) -> str:
    place = f"`{found.path}`: " if found.path else ""
    said = f"{place}{found.message}{f'; {found.fix}' if found.fix else ''}"
    return said if said.endswith(("?", ".")) else f"{said}."


def _about_a_name(name: str, cell: str) -> str:
    if _LETTER.fullmatch(name) and "predict" in cell:
        return f'A letter stands in quotes: `vote="{name.upper()}"`.'
    if name.lower() in _TRUTHS:
        return f"Write `{_TRUTHS[name.lower()]}`, with a capital and without quotes."
    if name in FACES:
        return "The first code cell of this notebook imports it: run that one, then this one again."
    if name.lower() in FACES:
        return f"Write `{name.lower()}`, all in small letters."
    if not name:
        return ""
    said = f"Nothing is called `{name}` yet: run the cells above this one."
    if re.search(rf"\b(?:{'|'.join(FACES[1:])})\s*\(", cell):
        return said
    return f'{said} If you mean the word, write `"{name}"`.'


def _about_syntax(error: SyntaxError, cell: str) -> str:
    if "unicodeescape" in str(error):
        return 'Put an `r` in front of the quotes around a path: `r"C:\\logs\\…"`.'
    line = error.text or ""
    if (found := _COMMAS.search(line)) is not None:
        return _about_commas(found[1])
    if _CURLY.search(line):
        return 'Use straight quotes, as in `vote="A"`: curly ones are no quotes to Python.'
    if not re.search(r"\bpredict\s*\(", cell):
        return ""
    return next((told for slip, told in _SLIPS if slip.search(line)), _CALL)


def _about_commas(figure: str) -> str:
    ways = []
    if _THOUSANDS.fullmatch(figure):
        ways.append(f"`{figure.replace(',', '_')}` for thousands")
    if figure.count(",") == 1:
        ways.append(f"`{figure.replace(',', '.')}` with a decimal point")
    said = f"A comma ends an answer, so a figure has none: instead of `{figure}`"
    return f"{said} write {', or '.join(ways)}." if ways else f"{said} write digits only."


def watch() -> None:
    """Say it under every cell of this notebook that fails; outside a notebook, do nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.events.register("post_run_cell", _say)


def _say(result: Any) -> None:
    error = result.error_before_exec or result.error_in_exec
    cell = getattr(result.info, "raw_cell", None)
    told = advice(error, cell) if isinstance(error, BaseException) and isinstance(cell, str) else ""
    if told:
        panel = Panel("▲", "CHECK THE CELL", "", tuple(Line(line) for line in told.splitlines()))
        importlib.import_module("IPython.display").display(panel)
