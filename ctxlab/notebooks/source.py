"""One lesson as its author writes it: a py:percent file, read into cells and turned into two editions.

Models: the cell tags and placeholders of a lesson (``<<question 00-a>>``, ``<<solution 01-1>>``,
``<<objectives>>``), its TOML header, its instructor notes; a notebook of puzzles, which has exercises and
next to no prose. Needs jupytext.
Does not model: running anything (:mod:`ctxlab.notebooks.build`).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from ctxlab.checks import lessons, reference, words
from ctxlab.errors import CtxlabError, Problem

_NAME = re.compile(r"(\d\d)-[a-z0-9-]+")
_PLACEHOLDER = re.compile(r"<<(\w+)(?: ([\w-]+))?>>")

DOLLAR = r"<span>\$</span>"
"""A dollar sign in Markdown that no reader takes for the start of a formula."""


class LessonSourceError(CtxlabError, ValueError):
    """A lesson's source does not follow the contract; paths are ``FILE:cell[n]``."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What a learner can do afterwards, and the section heading under which it was met."""

    do: str
    where: str


@dataclass(frozen=True, slots=True)
class Header:
    """What the first cell says. One of ``puzzles`` has the first four fields and ``cost``."""

    number: str
    title: str
    question: str
    modules: tuple[str, ...]
    cost: str
    objectives: tuple[Objective, ...] = ()
    prerequisites: tuple[str, ...] = ()
    house_model: str = ""
    price_date: str = ""
    interview: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    puzzles: bool = False


@dataclass(frozen=True, slots=True)
class Votes:
    """How a room is expected to vote, in per cent or words, and the sentence to say then."""

    prediction: str
    expected: str
    say: str


@dataclass(frozen=True, slots=True)
class Instructor:
    """What only the person in front of the room reads."""

    plan_25: str
    plan_50: str
    plan_80: str
    when_late: str
    demo: str
    votes: tuple[Votes, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell; ``minutes`` is set on section headings, ``exercise`` on the learner's stubs."""

    kind: str  # markdown | code | raw
    text: str
    tags: tuple[str, ...] = ()
    minutes: int | None = None
    exercise: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A lesson's source, read but not yet an edition."""

    path: Path
    header: Header
    instructor: Instructor | None
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The notebook's name without its ending, e.g. ``00-window-and-store``."""
        return self.path.stem

    def minutes(self) -> tuple[int, int]:
        """Minutes of the core path and of what follows the line *Room stops here*."""
        core, home, stopped = 0, 0, False
        for cell in self.cells:
            stopped = stopped or "room-stops-here" in cell.tags
            if stopped:
                home += cell.minutes or 0
            else:
                core += cell.minutes or 0
        return core, home


def sources(root: Path) -> tuple[Path, ...]:
    """The lesson sources of a series, by number."""
    return tuple(sorted(path for path in (root / "source").glob("*.py") if _NAME.fullmatch(path.stem)))


def read(path: Path) -> Source:
    """The lesson in this file; raises :class:`LessonSourceError` with every problem found."""
    try:
        import jupytext
    except ImportError as error:
        raise CtxlabError(
            Problem("jupytext", "extra-installed", "is not installed", 'pip install "ctxlab[dev]"')
        ) from error
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    header: Header | None = None
    instructor: Instructor | None = None
    cells: list[Cell] = []
    problems: list[Problem] = []
    for number, raw in enumerate(notebook.cells):
        place = f"{path.name}:cell[{number}]"
        tags = tuple(raw.metadata.get("tags", ()))
        try:
            if "lesson" in tags:
                header = _header(_toml(raw.source, place), place)
            elif "puzzles" in tags:
                header = _puzzles(_toml(raw.source, place), place)
            elif "instructor" in tags:
                instructor = _instructor(_toml(raw.source, place), place)
            else:
                cells.append(
                    Cell(
                        raw.cell_type,
                        raw.source,
                        tags,
                        raw.metadata.get("minutes"),
                        raw.metadata.get("exercise"),
                    )
                )
        except LessonSourceError as error:
            problems += error.problems
    if header is None and not problems:
        problems.append(
            Problem(path.name, "lesson-header", "has no readable cell tagged `lesson` or `puzzles`")
        )
    elif header is not None and not path.stem.startswith(f"{header.number}-"):
        problems.append(Problem(path.name, "number-in-name", f"holds lesson {header.number}"))
    if problems or header is None:
        raise LessonSourceError(problems)
    return Source(path, header, instructor, tuple(cells))


def edition(source: Source, *, answered: bool) -> tuple[Cell, ...]:
    """The cells of the learner edition, or of the answered one, header first; nothing is run."""
    solutions = source.path.parent.parent / "solutions"
    cells = [Cell("markdown", _front(source))]
    for number, cell in enumerate(source.cells):
        place = f"{source.path.name}:cell[{number}]"
        if cell.kind == "markdown":
            cell = replace(cell, text=_filled(cell.text, source, solutions, place))
        elif answered and cell.exercise is not None:
            cell = replace(cell, text=solution(solutions, cell.exercise, place))
        elif answered and "predict" in cell.tags:
            cell = replace(cell, text=answer_predictions(cell.text))
        cells.append(cell)
    return tuple(
        replace(cell, text=_dollars(cell.text)) if cell.kind == "markdown" else cell for cell in cells
    )


def _dollars(markdown: str) -> str:
    r"""Dollar signs outside code, kept from being read as the two ends of a formula.

    JupyterLab looks for formulas twice: in the markdown, where the backslash helps, and in the page made of
    it, where the backslash is gone and only text inside one and the same element counts.

    >>> print(_dollars("between $5 and `$6`"))
    between <span>\$</span>5 and `$6`
    """
    pieces = re.split(r"(```.*?```|`[^`\n]+`)", markdown, flags=re.DOTALL)
    return "".join(piece if at % 2 else piece.replace("$", DOLLAR) for at, piece in enumerate(pieces))


def answer_predictions(code: str) -> str:
    """The code with every ``...`` inside a ``predict(...)`` call replaced by the reference answer."""
    lines = code.splitlines(keepends=True)
    found = sorted(_blanks(ast.parse(code)), key=lambda blank: (blank[0], blank[1]), reverse=True)
    for line, column, keyword, name in found:
        raw = lines[line - 1].encode("utf-8")
        filled = raw[:column] + _literal(reference(name)[keyword]).encode("utf-8") + raw[column + 3 :]
        lines[line - 1] = filled.decode("utf-8")
    return "".join(lines)


def _blanks(tree: ast.AST) -> Iterator[tuple[int, int, str, str]]:
    for call in predict_calls(tree):
        name = call.args[0]
        for keyword in call.keywords:
            value = keyword.value
            if isinstance(value, ast.Constant) and value.value is ... and isinstance(name, ast.Constant):
                yield value.lineno, value.col_offset, str(keyword.arg), str(name.value)


def predict_calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Every call of ``predict`` with an id, however it was imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "predict":
                yield node


def _literal(value: bool | str | int | Decimal) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:_}" if isinstance(value, int) else f"{value:f}"


def solution(folder: Path, exercise: str, place: str) -> str:
    """The text of an exercise's reference solution."""
    path = folder / f"{exercise}.py"
    if not path.is_file():
        raise LessonSourceError(Problem(place, "solution-exists", f"solutions/{path.name} is missing"))
    return path.read_text(encoding="utf-8").strip()


def _front(source: Source) -> str:
    head = source.header
    core, home = source.minutes()
    if head.puzzles:
        modules = ", ".join(f"`ctxlab.{name}`" for name in head.modules)
        told = f"{core} minutes. Module: {modules}. Cost: {head.cost}."
        return f"# {head.title}\n\n**{head.question}**\n\n{told}"
    before = ", ".join(head.prerequisites) or "none"
    lines = [f"# {head.number} · {head.title}", "", f"**{head.question}**", "", "Afterwards you can:", ""]
    lines += [f"- {objective.do}" for objective in head.objectives]
    lines += [
        "",
        "In short:",
        "",
        f"- **Time**: {core} minutes in the room" + (f", {home} more at home." if home else "."),
        f"- **Before this**: {before}.",
        f"- **Module**: {', '.join(f'`ctxlab.{name}`' for name in head.modules)}.",
        f"- **House model**: {head.house_model}; prices of {head.price_date}.",
        f"- **Cost**: {head.cost}.",
    ]
    if head.interview:
        lines.append(f"- **Interview questions answered**: {' · '.join(head.interview)}")
    if head.terms:
        lines += ["", "New words:", ""]
        glossary = words.glossary()
        for name in head.terms:
            term = glossary.get(name.lower())
            if term is None:
                place = f"{source.path.name}:terms"
                raise LessonSourceError(
                    Problem(place, "term-in-glossary", f"{name!r} is not in data/glossary.toml")
                )
            lines.append(f"- **{term.name}**: {term.says}")
    return "\n".join(lines)


def _filled(text: str, source: Source, solutions: Path, place: str) -> str:
    def one(match: re.Match[str]) -> str:
        kind, name = match[1], match[2] or ""
        if kind == "question":
            return question(name)
        if kind == "solution":
            return f"```python\n{solution(solutions, name, place)}\n```"
        if kind == "objectives":
            return "\n".join(
                f"- {_ended(objective.do)} Met in {_ended(f'*{objective.where}*')}"
                for objective in source.header.objectives
            )
        raise LessonSourceError(Problem(place, "known-placeholder", f"{match[0]} is none of ours"))

    return _PLACEHOLDER.sub(one, text)


def _ended(text: str) -> str:
    """The text with a full stop, unless it ends a sentence already."""
    return text if text.rstrip("*")[-1:] in ".?!" else f"{text}."


def question(name: str) -> str:
    """A prediction as markdown: the question, the four answers, the figures to commit."""
    asked = lessons.prediction(name)
    lines = [f"**Prediction {name}.** {asked.question}", ""]
    lines += [f"- **{option.letter}.** {option.text}" for option in asked.options]
    if asked.fields:
        lines += ["", "Figures to commit:", ""]
        lines += [f"- `{one.name}`: {one.label}, in {unit_in_words(one.unit)}" for one in asked.fields]
    return "\n".join(lines)


def unit_in_words(unit: str) -> str:
    """A field's unit as it is said.

    >>> unit_in_words("usd"), unit_in_words("tokens")
    ('dollars', 'tokens')
    """
    return {"usd": "dollars", "×": "times", "%": "per cent", "s": "seconds"}.get(
        unit, unit or "a plain number"
    )


def _toml(text: str, place: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LessonSourceError(Problem(place, "valid-toml", str(error))) from error


def _header(table: dict[str, Any], place: str) -> Header:
    take = _Taker(table, place)
    met = tuple(
        Objective(**_Taker(entry, f"{place}.objectives[{i}]").texts("do", "where"))
        for i, entry in enumerate(take.tables("objectives"))
    )
    header = Header(
        **take.texts("number", "title", "question", "house_model", "price_date", "cost"),
        **take.lists("modules", "prerequisites", "interview", "terms"),
        objectives=met,
    )
    take.finish()
    return header


def _puzzles(table: dict[str, Any], place: str) -> Header:
    take = _Taker(table, place)
    fields = take.texts("number", "title", "question", "cost") | take.lists("modules")
    take.finish()
    return Header(**fields, puzzles=True)


def _instructor(table: dict[str, Any], place: str) -> Instructor:
    take = _Taker(table, place)
    votes = tuple(
        Votes(**_Taker(entry, f"{place}.votes[{i}]").texts("prediction", "expected", "say"))
        for i, entry in enumerate(take.tables("votes"))
    )
    notes = Instructor(**take.texts("plan_25", "plan_50", "plan_80", "when_late", "demo"), votes=votes)
    take.finish()
    return notes


class _Taker:
    """Takes fields out of a TOML table, tells what is missing, of the wrong kind, or left over."""

    def __init__(self, table: dict[str, Any], place: str) -> None:
        self.table, self.place, self.taken = table, place, set[str]()

    def texts(self, *names: str) -> dict[str, Any]:
        return {name: self._take(name, str, lambda value: value.strip() != "") for name in names}

    def lists(self, *names: str) -> dict[str, Any]:
        found = {name: self._take(name, list, lambda v: all(isinstance(x, str) for x in v)) for name in names}
        return {name: tuple(value) for name, value in found.items()}

    def tables(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._take(name, list, lambda v: all(isinstance(x, dict) for x in v))
        return found

    def _take(self, name: str, kind: type, holds: Callable[[Any], bool]) -> Any:
        self.taken.add(name)
        value = self.table.get(name)
        if not isinstance(value, kind) or not holds(value):
            raise LessonSourceError(
                Problem(f"{self.place}.{name}", "header-fields", f"needs a {kind.__name__}")
            )
        return value

    def finish(self) -> None:
        left = sorted(set(self.table) - self.taken)
        if left:
            raise LessonSourceError(Problem(self.place, "header-fields", f"{', '.join(left)} is not known"))
