"""What panels say: what somebody committed to, what a reveal and a broken rule tell, what to look at again.

Models: the sentences and tables between a graded answer and its panel.
Does not model: grading (:mod:`ctxlab.checks.predictions`, ``exercises``) or keeping (``record``).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ctxlab.checks import exercises, lessons, record, words
from ctxlab.checks.exercises import Case, Exercise, Verdict
from ctxlab.checks.panel import Line, Listing, Part, Picture, Table
from ctxlab.checks.predictions import Field, Outcome, Prediction
from ctxlab.checks.quantities import Between, Number, agrees, exact, shown
from ctxlab.checks.record import Answer, Asked

DONE, STUCK, OPEN, PART = "●", "▲", "○", "◐"

_OUTCOMES = {
    "exact": (DONE, "EXACT"),
    "right-rule": (PART, "RIGHT RULE, WRONG SUM"),
    "misconception": (STUCK, "A KNOWN MISCONCEPTION"),
    "another-idea": (STUCK, "ANOTHER IDEA"),
    "given-up": (OPEN, "GIVEN UP"),
}


def borne_out(rules: Iterable[str]) -> str:
    """How many recordings speak for and against each of these rules of the ledger, as a sentence."""
    from ctxlab.conformance import agreement

    told = []
    for rule in rules:
        for_it, against_it = agreement(rule)
        untested = "" if for_it or against_it else " (no recording tests it)"
        told.append(f"`{rule}` {for_it} and {against_it}{untested}")
    return f"Recordings for and against the rules used: {', '.join(told)}." if told else ""


def wanted(asked: Prediction) -> str:
    """What a whole answer holds."""
    figures = ", ".join(
        f"`{one.name}` ({', '.join(filter(None, (one.label, one.unit)))})" for one in asked.fields
    )
    return "A `vote` of A, B, C or D" + (f", or all figures: {figures}." if figures else ".")


def final(stored: Asked) -> Answer | None:
    """The answer that counts: the second vote, which keeps the first's figures if it keeps its letter."""
    first, second = stored.get("first"), stored.get("second")
    if first is None or second is None:
        return second or first
    if not second["figures"] and second["vote"] == first["vote"]:
        return Answer(vote=second["vote"], sure=second["sure"], figures=first["figures"])
    return second


def fractions(answer: Answer) -> dict[str, Fraction]:
    """The figures of an answer, exactly."""
    return {name: exact(value) for name, value in answer["figures"].items()}


def said_by(asked: Prediction, answer: Answer) -> str:
    """The answer as a phrase: vote, figures, confidence."""
    parts = [f"vote {answer['vote']}"] if answer["vote"] else []
    figures = fractions(answer)
    parts += [
        f"{one.label} {shown(figures[one.name], one.unit)}" for one in asked.fields if one.name in figures
    ]
    confidence = {True: "sure", False: "not sure", None: ""}[answer["sure"]]
    return ", ".join([*parts, confidence] if confidence else parts)


def still_open(asked: Prediction, answer: Answer) -> str:
    """What of an accepted answer was left blank, and what it is judged by then; empty for a whole answer."""
    blank = [one.name for one in asked.fields if one.name not in answer["figures"]]
    blank += ["vote"] if answer["vote"] is None else []
    blank += ["sure"] if answer["sure"] is None else []
    told = f"Open: {', '.join(f'`{name}`' for name in blank)}." if blank else ""
    if answer["vote"] is None:
        return f"{told} The figures alone will be judged."
    return f"{told} The letter alone will be judged." if asked.fields and not answer["figures"] else told


def revealed(
    asked: Prediction, stored: Asked, answer: Answer | None, outcome: Outcome, result: object
) -> tuple[str, str, list[Part]]:
    """Shape, word and parts of a reveal's panel."""
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
    return shape, word, parts


def _compared(asked: Prediction, answer: Answer | None) -> Table:
    truth = asked.truth()
    figures = fractions(answer) if answer is not None else {}
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


def broken(asked: Exercise, verdict: Verdict) -> list[Part]:
    """The broken rule, the case that broke it, yours beside the specification."""
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


def look_again(found: lessons.Lesson, now: record.Record) -> list[str]:
    """Rules by need: sure and wrong, wrong, given up or broken, wrong only in the sum, right but not sure."""
    ranked: list[tuple[int, str]] = []
    for name, asked in found.predictions.items():
        stored = now["predictions"].get(name, {})
        outcome = stored.get("outcome")
        if outcome is None:
            continue
        answer = final(stored)
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
