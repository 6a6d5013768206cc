"""What a learner calls: ``predict``, ``reveal``, ``give_up``, ``after``, ``check``, ``status``.

Models: the conversation of one lesson. Nothing leaks: figures appear in ``reveal`` alone, after a complete
prediction or ``give_up``; until then it says NOT YET. A mistyped id, letter, number or argument is told in a
panel, never as a traceback.
Does not model: what is true (the lesson modules), where answers are kept (:mod:`ctxlab.checks.record`) or how
a panel says it (:mod:`ctxlab.checks.told`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import wraps
from typing import ParamSpec, TypeVar

from ctxlab.checks import exercises, lessons, predictions, record, told
from ctxlab.checks.exercises import is_blank
from ctxlab.checks.panel import Line, Listing, Panel, Part
from ctxlab.checks.predictions import LETTERS, Outcome, Prediction
from ctxlab.checks.quantities import in_unit
from ctxlab.checks.record import Answer
from ctxlab.checks.told import DONE, OPEN, PART, STUCK
from ctxlab.checks.told import borne_out as borne_out

_LIKE = {
    "predict": 'predict("02-a", vote="B", sure=True)',
    "reveal": 'reveal("02-a", result)',
    "give_up": 'give_up("02-a")',
    "after": 'after("02-a", picture)',
    "check": 'check("02-1", your_function)',
    "status": 'status("02")',
}
Words = ParamSpec("Words")
Shown = TypeVar("Shown")


def _asked_by_a_learner(face: Callable[Words, Shown]) -> Callable[Words, Shown | Panel]:
    """The same function, with a panel instead of a traceback for a slip in its id or its arguments."""
    takes = inspect.signature(face)

    @wraps(face)
    def answered(*args: Words.args, **kwargs: Words.kwargs) -> Shown | Panel:
        name = exercises.short(args[0]).strip("'") if args and args[0] is not None else ""
        try:
            takes.bind(*args, **kwargs)
        except TypeError:
            return _mistyped(name, f"`{face.__name__}` is called like `{_LIKE[face.__name__]}`")
        try:
            return face(*args, **kwargs)
        except lessons.UnknownQuestionError as error:
            return _mistyped(name, error.problems[0].message, error.problems[0].fix)

    return answered


@_asked_by_a_learner
def predict(
    name: str, *, vote: object = ..., sure: object = ..., second: object = False, **figures: object
) -> Panel:
    """Commit to a letter, or to all figures, or to both. What is left blank keeps what was committed."""
    asked = lessons.prediction(name)
    try:
        answer = _read(asked, vote, sure, figures)
        second = _yes_or_no("second", second) or False
    except ValueError as error:
        return _mistyped(name, str(error))
    stored = record.load()["predictions"].get(name, {})
    kept = stored.get("second") if second else stored.get("first")
    if answer["vote"] is None and not answer["figures"] and (kept is None or answer["sure"] is None):
        stands = kept if second else told.final(stored)
        if stands is None:
            return _panel(OPEN, "NOT YET", name, Line(told.wanted(asked)))
        return _panel(DONE, "KEPT", name, Line(f"Your answer stands: {told.said_by(asked, stands)}."))
    if kept is not None:
        answer = _laid_over(kept, answer)
    if not predictions.is_complete(asked, answer["vote"], told.fractions(answer)):
        missing = [f"`{one.name}`" for one in asked.fields if one.name not in answer["figures"]]
        return _panel(OPEN, "NOT YET", name, Line(f"Still empty: {', '.join(missing)}, or a `vote` instead."))
    if stored.get("state") and answer != kept:
        record.change(lambda now: _store(now, name, "after_reveal", answer))
        said = "You had seen the figures: this answer is noted and does not count."
        return _panel(OPEN, "AFTER THE REVEAL", name, Line(said))
    if answer != kept:
        record.change(lambda now: _store(now, name, "second" if second else "first", answer))
    which = "Second vote" if second else "Committed"
    counts = told.final({**stored, "second": answer}) if second else answer
    still_open = told.still_open(asked, counts or answer)
    lines = [f"{which}: {told.said_by(asked, answer)}.", still_open]
    if second and "first" not in stored:
        lines.append("There was no first one.")
    return _panel(DONE, "COMMITTED", name, *(Line(line) for line in lines if line))


@_asked_by_a_learner
def reveal(name: str, result: object = None) -> Panel:
    """What is true, by which rule, and what the answer says; NOT YET before there is an answer.

    ``result`` is what the cell above ran: figures from another run than the one asked for are refused.
    """
    asked = lessons.prediction(name)
    stored = record.load()["predictions"].get(name, {})
    answer = told.final(stored)
    if answer is None and stored.get("state") != "given-up":
        way_out = f'Predict first. Stuck? `give_up("{name}")` opens the figures and counts nothing.'
        return _panel(OPEN, "NOT YET", name, Line(way_out))
    if result is not None and (labels := predictions.differing(asked, result)):
        said = f"That is not the run asked for: it differs in {', '.join(labels)}. Restore the cell above it."
        return _panel(STUCK, "ANOTHER RUN", name, Line(said))
    outcome = Outcome("given-up") if answer is None else _graded(asked, answer)
    first = stored.get("first")
    first_outcome = _graded(asked, first) if first is not None else outcome

    def settle(now: record.Record) -> None:
        entry = now["predictions"].setdefault(name, {})
        entry["state"] = entry.get("state") or "revealed"
        entry["outcome"], entry["first_outcome"] = outcome.name, first_outcome.name
        now["last"] = name

    if not stored.get("outcome"):
        record.change(settle)
    shape, word, parts = told.revealed(asked, stored, answer, outcome, result)
    return _panel(shape, word, name, *parts)


@_asked_by_a_learner
def give_up(name: str) -> Panel:
    """Open the figures without an answer. The rule goes on the list of things to look at again.

    An answer that was committed stands, and so does what was revealed.
    """
    asked = lessons.prediction(name)
    stored = record.load()["predictions"].get(name, {})
    if (answer := told.final(stored)) is not None:
        said = f'Your answer stands: {told.said_by(asked, answer)}. `reveal("{name}")` is open.'
        return _panel(DONE, "KEPT", name, Line(said))

    def mark(now: record.Record) -> None:
        entry = now["predictions"].setdefault(name, {})
        entry["state"] = entry.get("state") or "given-up"
        now["last"] = name

    record.change(mark)
    return _panel(OPEN, "GIVEN UP", name, Line(f'Now `reveal("{name}")` shows the figures and the rule.'))


@_asked_by_a_learner
def after(name: str, make: Callable[[], object]) -> object:
    """What ``make()`` gives, once this prediction was revealed; until then a NOT YET panel."""
    lessons.prediction(name)
    if not record.load()["predictions"].get(name, {}).get("outcome"):
        return _panel(OPEN, "NOT YET", name, Line(f'This opens after `reveal("{name}")`.'))
    return make()


@_asked_by_a_learner
def check(name: str, *work: object) -> Panel:
    """Judge the learner's functions (or table of answers) against the cases of an exercise."""
    asked = lessons.exercise(name)
    verdict = exercises.judge(asked, work)

    def note(now: record.Record) -> None:
        entry = now["exercises"].setdefault(name, {})
        if verdict.state != "not-yet":
            entry["rule"] = verdict.rule
        if entry.get("state") != "done":
            entry["state"] = verdict.state
        now["last"] = name

    record.change(note)
    if verdict.state == "not-yet":
        return _panel(OPEN, "NOT YET", f"{name} {asked.title}", Line(verdict.message))
    if verdict.state == "done":
        kept = tuple(f"✔ `{rule}`: {sentence}" for rule, sentence in asked.rules.items())
        return _panel(DONE, "DONE", f"{name} {asked.title}", Listing(kept))
    return _panel(STUCK, "BROKEN RULE", f"{name} {asked.title}", *told.broken(asked, verdict))


@_asked_by_a_learner
def status(lesson: str | int | None = None) -> Panel:
    """Where this lesson stands, large enough for a room, and the rules to look at again."""
    now = record.load()
    number = now["last"].partition("-")[0] if lesson in (None, "") else str(lesson).zfill(2)
    if not number:
        return _panel(OPEN, "NOT YET", "", Line("Nothing is committed in this folder."))
    found = lessons.lesson(number)
    stuck = [name for name in found.exercises if now["exercises"].get(name, {}).get("state") == "stuck"]
    unseen = [
        name
        for name, one in found.predictions.items()
        if not one.home and not now["predictions"].get(name, {}).get("outcome")
    ]
    undone = [
        name
        for name, task in found.exercises.items()
        if not task.home and now["exercises"].get(name, {}).get("state") != "done"
    ]
    if stuck:
        shape, word = STUCK, f"STUCK AT {stuck[0]}"
    elif unseen or undone:
        begun = any(now["predictions"].get(name, {}).get("outcome") for name in found.predictions)
        shape, word = (PART, f"AT {_next(unseen, undone)}") if begun else (OPEN, "NOT YET")
    else:
        shape, word = DONE, "DONE"
    parts: list[Part] = []
    if not stuck and (unseen or undone):
        parts.append(Line(f"Open: {', '.join(sorted(unseen + undone))}."))
    again = told.look_again(found, now)
    parts += [Line("Rules to look at again:"), Listing(tuple(again))] if again else []
    return replace(_panel(shape, word, f"lesson {number}", *parts), large=True)


def _next(unseen: list[str], undone: list[str]) -> str:
    """The first open question: predictions, then exercises, then the one at the exit."""
    asked = [name for name in unseen if not name.endswith("-exit")]
    return (asked + undone + unseen)[0]


def status_text(lesson: str | int | None = None) -> str:
    """:func:`status` as plain text, for the command line."""
    return repr(status(lesson))


def reference(name: str) -> dict[str, bool | str | int | Decimal]:
    """The complete right answer to a prediction: the keywords that ``predict`` takes."""
    return predictions.reference_answer(lessons.prediction(name))


def _panel(shape: str, word: str, about: str, *parts: Part) -> Panel:
    return Panel(shape, word, about, (*parts, *(Line(notice) for notice in record.notices())))


def _mistyped(name: object, message: str, fix: str = "") -> Panel:
    said = f"{message[:1].upper()}{message[1:]}" + (f": {fix}" if fix else ".")
    return _panel(STUCK, "CHECK THE CELL", str(name), Line(said))


def _read(asked: Prediction, vote: object, sure: object, figures: Mapping[str, object]) -> Answer:
    known = [one.name for one in asked.fields]
    for name in figures:
        if name not in known:
            raise ValueError(f"`{name}` is not asked for here; {', '.join(known) or 'only a vote'} is")
    letter = None if _is_empty(vote) else str(vote).strip().upper()
    if letter is not None and letter not in LETTERS:
        raise ValueError(f"the vote is one of A, B, C, D, not {exercises.short(vote)}")
    kept: dict[str, str] = {}
    for one in asked.fields:
        value = figures.get(one.name)
        if _is_empty(value):
            continue
        try:
            kept[one.name] = str(in_unit(value, one.unit))
        except ValueError as error:
            raise ValueError(f"`{one.name}` {error}, not {exercises.short(value)}") from None
    return Answer(vote=letter, sure=_yes_or_no("sure", sure), figures=kept)


def _is_empty(value: object) -> bool:
    return is_blank(value) or (isinstance(value, str) and not value.strip())


def _yes_or_no(name: str, value: object) -> bool | None:
    if is_blank(value):
        return None
    if not isinstance(value, bool):
        raise ValueError(f"`{name}` is True or False")
    return value


def _laid_over(kept: Answer, answer: Answer) -> Answer:
    return Answer(
        vote=answer["vote"] or kept["vote"],
        sure=kept["sure"] if answer["sure"] is None else answer["sure"],
        figures={**kept["figures"], **answer["figures"]},
    )


def _store(now: record.Record, name: str, which: str, answer: Answer) -> None:
    entry = now["predictions"].setdefault(name, {})
    if which == "first":
        entry["first"] = answer
    elif which == "second":
        entry["second"] = answer
    else:
        entry["after_reveal"] = answer
    now["last"] = name


def _graded(asked: Prediction, answer: Answer) -> Outcome:
    figures = {
        name: value
        for name, value in told.fractions(answer).items()
        if name in {f.name for f in asked.fields}
    }
    return predictions.grade(asked, answer["vote"], figures)
