"""What every lesson promises its readers, as checks on its source.

Models: the core path (minutes, terms, predictions, exercises, the exit question), the shape of first and last
cells, short cells and short sentences, and that every question of the lesson module is asked, below what is
given, and not explained before it is answered. No tag is unknown, and no cell asks nbval to look away. Of
puzzles only what they have: minutes, short cells, stubs and checks.
Does not model: whether the text is true or good. Nothing is run.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Callable, Iterator

from ctxlab.checks import lessons, words
from ctxlab.errors import Problem
from ctxlab.notebooks.source import Cell, Source, edition, predict_calls

CORE_MINUTES, TERMS, CODE_LINES, SENTENCE_WORDS = 50, 6, 15, 25
CORE_PREDICTIONS, CORE_EXERCISES, HOME_EXERCISES = 3, 2, 3
CLOSING = ("objectives", "three-things", "offline-limits", "your-turn")
VERDICTS = ("Holds", "Held until", "Depends on", "Contradicts")
LINE = "room-stops-here"
TAGS = {*CLOSING, LINE, "exit", "given", "predict", "retrieval", "setup"}
_LOOKS_AWAY = re.compile(r"#\s*(?:NBVAL|PYTEST_VALIDATE)_\w+")

Found = Iterator[tuple[str, str, str]]


def problems(source: Source) -> list[Problem]:
    """Every promise this lesson breaks, in the order of :data:`PROMISES`."""
    promises = PUZZLE_PROMISES if source.header.puzzles else PROMISES
    return [
        Problem(f"{source.path.name}:{place}" if place else source.path.name, rule, message)
        for promise in promises
        for place, rule, message in promise(source)
    ]


def _header(source: Source) -> Found:
    head = source.header
    if not 3 <= len(head.objectives) <= 4:
        yield "", "three-or-four-objectives", f"has {len(head.objectives)}"
    if len(head.terms) > TERMS:
        yield "", "at-most-six-terms", f"has {len(head.terms)}"
    for name in head.terms:
        term = words.glossary().get(name.lower())
        if term is None or term.lesson != head.number:
            yield "", "term-in-glossary", f"{name!r} is not in data/glossary.toml for lesson {head.number}"
    yield from _known_modules(source)
    headings = {text for _, _, text in _headings(source)}
    for objective in head.objectives:
        if objective.where not in headings:
            yield "", "objective-met", f"{objective.where!r} is no heading of this lesson"


def _known_modules(source: Source) -> Found:
    for name in source.header.modules:
        if importlib.util.find_spec(f"ctxlab.{name}") is None:
            yield "", "known-module", f"ctxlab.{name} does not exist"


def _minutes(source: Source) -> Found:
    core, _ = source.minutes()
    if not 0 < core <= CORE_MINUTES:
        yield "", "fifty-minutes", f"the core path takes {core}"
    for number, cell in enumerate(source.cells):
        if LINE in cell.tags:
            break
        if cell.kind == "markdown" and cell.text.startswith("## ") and cell.minutes is None:
            yield f"cell[{number}]", "sections-have-minutes", f"{cell.text.splitlines()[0]!r} has none"


def _core_path(source: Source) -> Found:
    lines = [number for number, cell in enumerate(source.cells) if LINE in cell.tags]
    if len(lines) != 1:
        yield "", "one-line-where-the-room-stops", f"has {len(lines)}"
        return
    asked = lessons.lesson(source.header.number)
    core = [one.id for one in asked.predictions.values() if not one.home and not one.id.endswith("-exit")]
    if not 1 <= len(core) <= CORE_PREDICTIONS:
        yield "", "at-most-three-predictions", f"has {len(core)}"
    if f"{source.header.number}-exit" not in asked.predictions:
        yield "", "one-exit-question", "has none"
    tasks = [task for task in asked.exercises.values() if not task.home]
    at_home = len(asked.exercises) - len(tasks)
    if not 1 <= len(tasks) <= CORE_EXERCISES:
        yield "", "at-most-two-exercises", f"has {len(tasks)} before the line"
    if not 1 <= at_home <= HOME_EXERCISES:
        yield "", "one-to-three-exercises-at-home", f"has {at_home}"
    homes = {name: one.home for name, one in asked.predictions.items()}
    homes |= {name: task.home for name, task in asked.exercises.items()}
    for number, cell in enumerate(source.cells):
        for name in [cell.exercise] if cell.exercise else _called(cell, "predict"):
            if name in homes and homes[name] != (number > lines[0]):
                side = "behind" if number > lines[0] else "before"
                yield f"cell[{number}]", "home-is-behind-the-line", f"{name} is asked {side} it"


def _shape(source: Source) -> Found:
    order = [tag for cell in source.cells for tag in cell.tags if tag in CLOSING]
    if sorted(order) != sorted(CLOSING) or order[-1] != "your-turn":
        yield "", "closing-cells", f"needs {', '.join(CLOSING)}, once each and the last one last; has {order}"
    exits = [number for number, cell in enumerate(source.cells) if "exit" in cell.tags]
    lines = [number for number, cell in enumerate(source.cells) if LINE in cell.tags]
    if len(exits) != 1 or (lines and exits[0] > lines[0]):
        yield "", "one-exit-question", "needs one cell tagged exit, before the line where the room stops"
    verdicts = _verdicts(source)
    if len(verdicts) != 3:
        yield (
            "",
            "three-things",
            f"has {verdicts}; needs three of {', '.join(VERDICTS)}, in bold",
        )
    for number in lines:
        if "Room stops here" not in source.cells[number].text:
            yield f"cell[{number}]", "one-line-where-the-room-stops", "does not say: Room stops here"
    recalled = [cell for cell in source.cells if "retrieval" in cell.tags]
    asked = sum(cell.text.count("<details>") for cell in recalled)
    if source.header.prerequisites and asked != 2:
        yield "", "two-questions-from-before", f"has {asked} in cells tagged retrieval"


def _verdicts(source: Source) -> list[str]:
    """The bold verdicts from the cell tagged three-things up to the next closing cell."""
    found: list[str] = []
    inside = False
    for cell in source.cells:
        inside = "three-things" in cell.tags or (inside and not set(cell.tags) & set(CLOSING))
        if inside and cell.kind == "markdown":
            found += re.findall(rf"\*\*({'|'.join(VERDICTS)})", cell.text)
    return found


def _heading_order(source: Source) -> Found:
    above = 1
    for number, level, text in _headings(source):
        if level == 1:
            yield f"cell[{number}]", "one-title", f"{text!r}: the title is the header's"
        if level > above + 1:
            yield f"cell[{number}]", "headings-descend-by-one", f"{text!r} jumps from {above} to {level}"
        above = level


def _questions(source: Source) -> Found:
    asked = lessons.lesson(source.header.number)
    code = [cell for cell in source.cells if cell.kind == "code"]
    prose = "\n".join(cell.text for cell in source.cells if cell.kind == "markdown")
    for name, one in asked.predictions.items():
        if f"<<question {name}>>" not in prose:
            yield "", "question-is-asked", f"<<question {name}>> stands nowhere"
        if not any(name in _called(cell, "reveal") for cell in code):
            yield "", "question-is-revealed", f'reveal("{name}", …) stands nowhere'
        blanks = [_keywords(cell, name) for cell in code if name in _called(cell, "predict")]
        if not blanks:
            yield "", "question-is-predicted", f'predict("{name}", …) stands nowhere'
        elif blanks[0] != {"vote", "sure", *(field.name for field in one.fields)}:
            yield "", "question-is-predicted", f"{name} leaves {sorted(blanks[0])} blank"
        for number, cell in enumerate(source.cells):
            if cell.kind == "code" and name in _called(cell, "predict") and "predict" not in cell.tags:
                yield f"cell[{number}]", "question-is-predicted", "needs the tag predict"
    stubs = [cell.exercise for cell in source.cells if cell.exercise]
    for name, task in asked.exercises.items():
        if stubs.count(name) != 1:
            yield "", "exercise-has-a-stub", f"{name} has {stubs.count(name)} cells with exercise={name!r}"
        if not any((name, *task.asks) in _checked(cell) for cell in code):
            yield "", "exercise-is-checked", f'check("{name}", {", ".join(task.asks)}) stands nowhere'
    for name in sorted({one for one in stubs if one} - set(asked.exercises)):
        yield "", "exercise-has-a-stub", f"there is no exercise {name}"


def _given(source: Source) -> Found:
    """What a question needs stands above it: a cell tagged given since the question before."""
    given, asked = False, set[str]()
    for number, cell in enumerate(source.cells):
        given = given or "given" in cell.tags
        for name in _called(cell, "predict"):
            if name not in asked and not given:
                yield f"cell[{number}]", "given-before-predict", f"nothing is tagged given for {name}"
            asked.add(name)
            given = False


def _explained(source: Source) -> Found:
    """Why an answer is right stands where it cannot be read first: in the reveal, or folded away."""
    for number, cell in enumerate(source.cells):
        open_text = re.sub(r"<details>.*?</details>", "", cell.text, flags=re.DOTALL)
        if cell.kind == "markdown" and re.search(r"\*\*Why\b", open_text):
            yield f"cell[{number}]", "why-after-the-reveal", "tells why beside the question"


def _tags(source: Source) -> Found:
    for number, cell in enumerate(source.cells):
        for tag in cell.tags:
            if tag not in TAGS:
                yield f"cell[{number}]", "known-tag", f"{tag!r} is none of {', '.join(sorted(TAGS))}"
        if cell.kind == "code" and (found := _LOOKS_AWAY.search(cell.text)) is not None:
            yield f"cell[{number}]", "every-output-is-compared", f"{found[0]!r} keeps it from being compared"


def _instructor(source: Source) -> Found:
    if source.instructor is None:
        yield "", "notes-for-the-room", "has no cell tagged instructor"
        return
    told = [votes.prediction for votes in source.instructor.votes]
    asked = list(lessons.lesson(source.header.number).predictions)
    if set(told) - set(asked) or {one for one in asked if not one.endswith("-exit")} - set(told):
        yield "", "notes-for-the-room", f"expects votes for {told}, asks {asked}"


def _short(source: Source) -> Found:
    for answered in (False, True):
        for number, cell in enumerate(edition(source, answered=answered)):
            if cell.kind == "code" and len(cell.text.splitlines()) > CODE_LINES:
                which = "answered " if answered else ""
                length = len(cell.text.splitlines())
                yield f"{which}cell[{number}]", "short-cells", f"has {length} lines, at most {CODE_LINES}"
            if cell.kind == "markdown" and not answered:
                for sentence in long_sentences(cell.text):
                    yield f"edition cell[{number}]", "short-sentences", sentence
    asked = lessons.lesson(source.header.number)
    for name, one in asked.predictions.items():
        for text in (one.rule_sentence, one.why, one.agreement):
            for sentence in long_sentences(text):
                yield name, "short-sentences", sentence
    for name, task in asked.exercises.items():
        for text in task.rules.values():
            for sentence in long_sentences(text):
                yield name, "short-sentences", sentence


PROMISES: tuple[Callable[[Source], Found], ...] = (
    _header,
    _minutes,
    _core_path,
    _shape,
    _heading_order,
    _questions,
    _given,
    _explained,
    _tags,
    _instructor,
    _short,
)

PUZZLE_PROMISES: tuple[Callable[[Source], Found], ...] = (
    _known_modules,
    _minutes,
    _heading_order,
    _questions,
    _tags,
    _short,
)


def long_sentences(markdown: str) -> list[str]:
    """The sentences of more than 25 words; code, tables and link targets are left out."""
    return [
        one
        for one in sentences(markdown)
        if len(re.findall(r"[^\W_]+(?:[-'’.,][^\W_]+)*", one)) > SENTENCE_WORDS
    ]


def sentences(markdown: str) -> list[str]:
    """The sentences of a markdown text; a list item, a heading or a line of a table never runs on.

    >>> sentences("It costs 2.5 dollars, e.g. on Mondays. `a. b` is code.")
    ['It costs 2.5 dollars, e.g. on Mondays.', 'Code is code.']
    """
    text = re.sub(r"^```.*?^```", "\n", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\s*\|.*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "Code", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?(details|summary|p|br|li)[^>]*>", "\n\n", text)
    text = re.sub(r"<[^>]+>", "", text)
    text = re.sub(r"^[ \t]*>[ \t]?", "", text, flags=re.MULTILINE)
    text = re.sub(r"^[ \t]*(?:[-*+]|\d+\.|#+)[ \t]+", "\n\n", text, flags=re.MULTILINE)
    found = []
    for block in re.split(r"\n\s*\n", text):
        plain = re.sub(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}", "", " ".join(block.split()))
        found += [one for one in re.split(r"(?<=[.!?…])[\"”’)]*\s+(?=[^a-z\s])", plain) if one]
    return found


def _headings(source: Source) -> Iterator[tuple[int, int, str]]:
    for number, cell in enumerate(source.cells):
        if cell.kind == "markdown":
            text = re.sub(r"^```.*?^```", "", cell.text, flags=re.MULTILINE | re.DOTALL)
            for match in re.finditer(r"^(#+) +(.+)$", text, re.MULTILINE):
                yield number, len(match[1]), match[2].strip()


def _calls(cell: Cell, function: str) -> Iterator[ast.Call]:
    if cell.kind != "code" or function not in cell.text:
        return
    for node in ast.walk(ast.parse(cell.text)):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            named = node.func
            if (named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")) == function:
                yield node


def _first(call: ast.Call) -> str:
    return str(call.args[0].value) if isinstance(call.args[0], ast.Constant) else ""


def _called(cell: Cell, function: str) -> list[str]:
    return [_first(call) for call in _calls(cell, function)]


def _checked(cell: Cell) -> list[tuple[str, ...]]:
    return [
        (_first(call), *(getattr(arg, "id", "") for arg in call.args[1:])) for call in _calls(cell, "check")
    ]


def _keywords(cell: Cell, name: str) -> set[str]:
    return {
        str(keyword.arg)
        for call in predict_calls(ast.parse(cell.text))
        if _first(call) == name
        for keyword in call.keywords
        if isinstance(keyword.value, ast.Constant) and keyword.value.value is ...
    }
