"""What a learner calls: ``predict``, ``reveal``, ``give_up``, ``after``, ``check``, ``status``.

Models: the conversation of one lesson. Nothing leaks: figures appear in ``reveal`` alone, after a complete
prediction or ``give_up``; until then it says NOT YET. A mistyped id, letter, number or argument is told in a
panel, never as a traceback.
Does not model: what is true (the lesson modules) or where answers are kept (:mod:`ctxlab.checks.record`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import ParamSpec, TypeVar

from ctxlab.checks import exercises, lessons, predictions, record, words
from ctxlab.checks.exercises import Case, Exercise, Verdict, is_blank
from ctxlab.checks.panel import Line, Listing, Panel, Part, Picture, Table
from ctxlab.checks.predictions import LETTERS, Field, Outcome, Prediction
from ctxlab.checks.quantities import Between, Number, agrees, exact, in_unit, shown
from ctxlab.checks.record import Answer, Asked

DONE, STUCK, OPEN, PART = "●", "▲", "○", "◐"

_OUTCOMES = {
    "exact": (DONE, "EXACT"),
    "right-rule": (PART, "RIGHT RULE, WRONG SUM"),
    "misconception": (STUCK, "A KNOWN MISCONCEPTION"),
    "another-idea": (STUCK, "ANOTHER IDEA"),
    "given-up": (OPEN, "GIVEN UP"),
}
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
    def told(*args: Words.args, **kwargs: Words.kwargs) -> Shown | Panel:
        name = exercises.short(args[0]).strip("'") if args and args[0] is not None else ""
        try:
            takes.bind(*args, **kwargs)
        except TypeError:
            return _mistyped(name, f"`{face.__name__}` is called like `{_LIKE[face.__name__]}`")
        try:
            return face(*args, **kwargs)
        except lessons.UnknownQuestionError as error:
            return _mistyped(name, error.problems[0].message, error.problems[0].fix)

    return told


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
    if answer["vote"] is None and not answer["figures"]:
        if kept is None:
            return _panel(OPEN, "NOT YET", name, Line(_wanted(asked)))
        return _panel(DONE, "KEPT", name, Line(f"Your answer stands: {_said(asked, kept)}."))
    if kept is not None:
        answer = _laid_over(kept, answer)
    if not predictions.is_complete(asked, answer["vote"], _fractions(answer)):
        missing = [f"`{one.name}`" for one in asked.fields if one.name not in answer["figures"]]
        return _panel(OPEN, "NOT YET", name, Line(f"Still empty: {', '.join(missing)}, or a `vote` instead."))
    if stored.get("state") and answer != kept:
        record.change(lambda now: _store(now, name, "after_reveal", answer))
        said = "You had seen the figures: this answer is noted and does not count."
        return _panel(OPEN, "AFTER THE REVEAL", name, Line(said))
    if answer != kept:
        record.change(lambda now: _store(now, name, "second" if second else "first", answer))
    which = "Second vote" if second else "Committed"
    counts = _final({**stored, "second": answer}) if second else answer
    still_open = _still_open(asked, counts or answer)
    lines = [f"{which}: {_said(asked, answer)}.", still_open]
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
    answer = _final(stored)
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
    return _revealed(asked, stored, answer, outcome, result)


@_asked_by_a_learner
def give_up(name: str) -> Panel:
    """Open the figures without an answer. The rule goes on the list of things to look at again.

    An answer that was committed stands, and so does what was revealed.
    """
    asked = lessons.prediction(name)
    stored = record.load()["predictions"].get(name, {})
    if (answer := _final(stored)) is not None:
        said = f'Your answer stands: {_said(asked, answer)}. `reveal("{name}")` is open.'
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
    return _panel(STUCK, "BROKEN RULE", f"{name} {asked.title}", *_broken(asked, verdict))


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
    again = _look_again(found, now)
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


def borne_out(rules: Iterable[str]) -> str:
    """How many recordings speak for and against each of these rules of the ledger, as a sentence."""
    from ctxlab.conformance import agreement

    told = []
    for rule in rules:
        for_it, against_it = agreement(rule)
        untested = "" if for_it or against_it else " (no recording tests it)"
        told.append(f"`{rule}` {for_it} and {against_it}{untested}")
    return f"Recordings for and against the rules used: {', '.join(told)}." if told else ""


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


def _wanted(asked: Prediction) -> str:
    figures = ", ".join(
        f"`{one.name}` ({', '.join(filter(None, (one.label, one.unit)))})" for one in asked.fields
    )
    return "A `vote` of A, B, C or D" + (f", or all figures: {figures}." if figures else ".")


def _final(stored: Asked) -> Answer | None:
    """The answer that counts: the second vote, which keeps the first's figures if it keeps its letter."""
    first, second = stored.get("first"), stored.get("second")
    if first is None or second is None:
        return second or first
    if not second["figures"] and second["vote"] == first["vote"]:
        return Answer(vote=second["vote"], sure=second["sure"], figures=first["figures"])
    return second


def _fractions(answer: Answer) -> dict[str, Fraction]:
    return {name: exact(value) for name, value in answer["figures"].items()}


def _said(asked: Prediction, answer: Answer) -> str:
    parts = [f"vote {answer['vote']}"] if answer["vote"] else []
    figures = _fractions(answer)
    parts += [
        f"{one.label} {shown(figures[one.name], one.unit)}" for one in asked.fields if one.name in figures
    ]
    confidence = {True: "sure", False: "not sure", None: ""}[answer["sure"]]
    return ", ".join([*parts, confidence] if confidence else parts)


def _still_open(asked: Prediction, answer: Answer) -> str:
    """What of an accepted answer was left blank, and what it is judged by then; empty for a whole answer."""
    blank = [one.name for one in asked.fields if one.name not in answer["figures"]]
    blank += ["vote"] if answer["vote"] is None else []
    blank += ["sure"] if answer["sure"] is None else []
    told = f"Open: {', '.join(f'`{name}`' for name in blank)}." if blank else ""
    if answer["vote"] is None:
        return f"{told} The figures alone will be judged."
    return f"{told} The letter alone will be judged." if asked.fields and not answer["figures"] else told


def _graded(asked: Prediction, answer: Answer) -> Outcome:
    figures = {
        name: value for name, value in _fractions(answer).items() if name in {f.name for f in asked.fields}
    }
    return predictions.grade(asked, answer["vote"], figures)


def _revealed(
    asked: Prediction, stored: Asked, answer: Answer | None, outcome: Outcome, result: object
) -> Panel:
    shape, word = _OUTCOMES[outcome.name]
    if outcome.name == "right-rule" and answer is not None and not answer["figures"]:
        word = "RIGHT RULE, NO SUM"
    parts: list[Part] = []
    if outcome.misconception:
        idea = words.misconceptions()[outcome.misconception]
        parts.append(Line(f"The idea behind it: “{idea.says}” It predicts {idea.predicts}."))
        parts.append(Line(f"Refuted by {idea.refuted_in_words}."))
    if outcome.note:
        parts.append(Line(outcome.note))
    parts.append(Line(f"Rule `{asked.rule}`: {asked.rule_sentence}"))
    evidence = [f"Evidence: {asked.evidence}, {asked.source}.", asked.agreement, borne_out(asked.uses)]
    parts.append(Line(" ".join(filter(None, evidence))))
    if asked.fields:
        parts.append(_compared(asked, answer))
    right = asked.right
    parts.append(Line(f"Right answer {right.letter}: {right.text}"))
    if answer is not None:
        parts.append(Line(_votes(stored)))
    if asked.picture is not None and asked.read_result is not None and result is None:
        parts.append(Line("Give `reveal` what the cell above ran as well, and it draws the picture."))
    elif asked.picture is not None and (figure := asked.picture(result)) is not None:
        parts.append(Picture(figure))
    parts.append(Line(asked.why))
    return _panel(shape, word, asked.id, *parts)


def _compared(asked: Prediction, answer: Answer | None) -> Table:
    truth = asked.truth()
    figures = _fractions(answer) if answer is not None else {}
    rows = tuple(_row(one, figures.get(one.name), truth[one.name]) for one in asked.fields)
    return Table(("figure", "yours", "true", "agrees"), rows)


def _row(one: Field, yours: Fraction | None, truth: Number | Between) -> tuple[str, ...]:
    if yours is None:
        return one.label, "–", shown(truth, one.unit), ""
    mark = "✔ yes" if agrees(yours, truth, one.accepted) else "✘ no"
    return one.label, shown(yours, one.unit), shown(truth, one.unit), mark


def _votes(stored: Asked) -> str:
    told = []
    for which in ("first", "second"):
        answer = stored.get("first") if which == "first" else stored.get("second")
        if answer is not None:
            confidence = {True: "sure", False: "not sure", None: "confidence not given"}[answer["sure"]]
            told.append(f"{which} vote {answer['vote'] or '–'} ({confidence})")
    text = ", ".join(told)
    return text[:1].upper() + text[1:] + "."


def _broken(asked: Exercise, verdict: Verdict) -> list[Part]:
    parts: list[Part] = [Line(f"Rule `{verdict.rule}`: {asked.sentence(verdict.rule)}")]
    if verdict.message:
        parts.append(Line(verdict.message))
    case = verdict.case
    if case is not None:
        rows = [f"case: {case.label}"] if case.label else []
        rows.append(f"{'asked' if asked.answers else 'call'}: `{exercises.call_shown(asked, case)}`")
        if verdict.rule != exercises.RUNS:
            rows.append(f"yours: `{exercises.short(verdict.got)}`")
        if not (case.hidden or asked.answers):
            rows.append(f"specification: {exercises.specified(case)}")
        parts.append(Listing(tuple(rows)))
        figure = _drawn(asked, case, verdict.got)
        parts += [Picture(figure)] if figure is not None else []
    if verdict.kept:
        parts.append(Line(f"Kept so far: {', '.join(f'`{rule}`' for rule in verdict.kept)}."))
    return parts


def _drawn(asked: Exercise, case: Case, got: object) -> object:
    try:
        return asked.draw(case, got) if asked.draw is not None else None
    except Exception:  # whatever the function gave, the verdict stands without a picture
        return None


def _look_again(found: lessons.Lesson, now: record.Record) -> list[str]:
    """Rules by need: sure and wrong, wrong, given up or broken, wrong only in the sum, right but not sure."""
    ranked: list[tuple[int, str]] = []
    for name, asked in found.predictions.items():
        stored = now["predictions"].get(name, {})
        outcome = stored.get("outcome")
        if outcome is None:
            continue
        answer = _final(stored)
        sure = answer["sure"] if answer is not None else None
        if outcome == "given-up":
            rank, how = 2, "given up"
        elif outcome == "exact":
            if sure is not False:
                continue
            rank, how = 4, "right, but not sure"
        elif outcome == "right-rule":
            summed = answer is not None and answer["figures"]
            rank, how = 3, f"right rule, {'wrong' if summed else 'no'} sum"
        else:
            rank, how = (0, "sure, but wrong") if sure else (1, "wrong")
        ranked.append((rank, f"`{asked.rule}` ({name}, {how}): {asked.rule_sentence}"))
    for name, task in found.exercises.items():
        rule = now["exercises"].get(name, {}).get("rule")
        if rule in {**task.rules, **exercises.BUILT_IN_RULES}:
            ranked.append((2, f"`{rule}` ({name}, broken by the last check): {task.sentence(rule)}"))
    return [text for _, text in sorted(ranked, key=lambda pair: pair[0])]
