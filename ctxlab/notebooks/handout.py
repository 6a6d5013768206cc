"""A sheet of paper for the room: Given boxes, votes before and after talking, empty strips to draw into.

Models: one HTML file for two A4 pages, from the learner edition and the lesson's questions; nothing on it is
an answer. Does not model: the notebook's other text. Needs mistune, which comes with the ``notebooks`` extra.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxlab.checks import lessons
from ctxlab.checks.predictions import LETTERS, Prediction
from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem
from ctxlab.notebooks.source import DOLLAR, question, unit_in_words

STRIP_CELLS = 16
_KEY = '<p class="key">Mark each part: R read, W written, F fresh, O output.</p>'

_STYLE = """
@page { size: A4; margin: 12mm }
* { box-sizing: border-box }
body { font: 10pt/1.35 sans-serif; color: #000; background: #fff; margin: 0 auto; max-width: 186mm }
h1 { font-size: 14pt; margin: 0 0 3mm } h2, .given h3 { font-size: 11pt; margin: 0 0 1.5mm }
.question { break-inside: avoid; margin: 0 0 5mm }
.answer { display: flex; justify-content: space-between; align-items: start; gap: 6mm }
.given { border: 1.2pt solid #000; padding: 1.5mm 3mm; margin: 0 0 2mm }
p, .given blockquote { margin: 0 0 1mm } .given table { border-collapse: collapse }
.given th, .given td { border: .6pt solid #000; padding: .3mm 2mm }
ul, ol { margin: 1mm 0 1.5mm; padding-left: 7mm } ol.answers { list-style: upper-alpha }
table.votes { border-collapse: collapse; margin: 0 0 1.5mm; flex: none }
table.votes th, table.votes td { border: .6pt solid #000; padding: .6mm 2.5mm; text-align: center }
table.votes th[scope=row] { text-align: left; font-weight: normal }
.figure { margin: 0 6mm 1mm 0; display: inline-block }
.blank { display: inline-block; border-bottom: .8pt solid #000; width: 40mm }
.strip { display: flex; margin: 1mm 0 0 }
.strip i { flex: 1; height: 8mm; border: .8pt solid #000; margin-right: -.8pt }
.key { font-size: 9pt; margin: .5mm 0 0 }
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    given: str
    prediction: Prediction


def render(notebook: dict[str, Any]) -> str:
    """The sheet of a learner edition as one HTML page; no question is torn apart by a page break."""
    cells = notebook["cells"]
    title = _source(cells[0]).partition("\n")[0].lstrip("# ")
    questions = [one for one in _questions(cells) if not one.prediction.home]
    key = _KEY if _uses_strips(cells, questions) else ""
    asked = "".join(_as_html(one, key) for one in questions)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}: handout</title><style>{_STYLE}</style></head>\n"
        f"<body>\n<h1>{html.escape(title)}</h1>\n{asked}</body></html>\n"
    )


def write(lesson: str, notebooks: Path, folder: Path) -> Path:
    """Write ``handout-NN.html`` into a folder; raises :class:`InvalidArgumentError` for no such lesson."""
    found = sorted(notebooks.glob(f"{lesson}-*.ipynb")) if re.fullmatch(r"\d\d", lesson) else []
    if not found:
        numbers = ", ".join(sorted(path.name[:2] for path in notebooks.glob("[0-9][0-9]-*.ipynb")))
        raise InvalidArgumentError(
            Problem("lesson", "known-lesson", f"there is no lesson {lesson!r}", f"one of {numbers}")
        )
    target = folder / f"handout-{lesson}.html"
    notebook = json.loads(found[0].read_text(encoding="utf-8"))
    if not _questions(notebook["cells"]):
        raise InvalidArgumentError(
            Problem("lesson", "asks-something", f"{lesson} has no prediction to vote on", "print another one")
        )
    text = render(notebook)
    target.write_text(text, encoding="utf-8", newline="\n")
    return target


def _questions(cells: list[dict[str, Any]]) -> list[_Asked]:
    found: list[_Asked] = []
    given: list[str] = []
    for cell in cells:
        tags = cell["metadata"].get("tags", ())
        text = _source(cell)
        if "given" in tags:
            given.append(text)
        for name in re.findall(r"""\bpredict\(\s*["']([\w-]+)""", text) if "predict" in tags else ():
            if all(one.prediction.id != name for one in found):
                box = "\n\n".join(given).replace(DOLLAR, "$").replace(question(name), "")
                found.append(_Asked(_markdown(box), lessons.prediction(name)))
                given = []
    return found


def _uses_strips(cells: list[dict[str, Any]], questions: list[_Asked]) -> bool:
    """Whether the lesson draws a prefix, or asks for figures like ``read`` or ``texts_written``."""
    names = [field.name for one in questions for field in one.prediction.fields]
    return any("prefix_strip" in _source(cell) for cell in cells) or any(
        name.split("_")[-1] in ("read", "written") for name in names
    )


def _as_html(asked: _Asked, key: str) -> str:
    one = asked.prediction
    options = "".join(f"<li>{_inline(option.text)}</li>" for option in one.options)
    figures = "".join(
        f'<p class="figure">{html.escape(field.label)}: '
        f'<span class="blank"></span> {html.escape(unit_in_words(field.unit) if field.unit else "")}</p>'
        for field in one.fields
    )
    heads = "".join(f'<th scope="col">{letter}</th>' for letter in LETTERS)
    rows = "".join(
        f'<tr><th scope="row">{when}</th>{"<td>☐</td>" * len(LETTERS)}<td>☐</td></tr>'
        for when in ("alone", "after talking")
    )
    given = f'<div class="given">{asked.given}</div>' if asked.given else ""
    return (
        f'<div class="question"><h2>{one.id}</h2>{given}<p>{_inline(one.question)}</p>'
        f'<div class="answer"><ol class="answers">{options}</ol>'
        f'<table class="votes"><thead><tr><th scope="col">vote</th>{heads}<th scope="col">sure</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>{figures}"
        f'<div class="strip" role="img" aria-label="empty strip to draw into">{"<i></i>" * STRIP_CELLS}</div>'
        f"{key}</div>\n"
    )


def _markdown(text: str) -> str:
    try:
        import mistune
    except ImportError as error:
        raise CtxlabError(
            Problem("mistune", "extra-installed", "is not installed", 'pip install "ctxlab[notebooks]"')
        ) from error
    return str(mistune.create_markdown(plugins=["table"])(text))


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])
