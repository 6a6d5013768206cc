"""Predict, then run: what is asked, what is true, and what a wrong answer says about the idea behind it.

Models: a question with figures to commit and four lettered answers; grading into *exact*, *right rule, wrong
sum*, *a named misconception* or *another idea*.
Does not model: where answers are kept (:mod:`ctxlab.checks.record`) or how they are shown (``faces``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ctxlab.checks.quantities import Between, Number, agrees, exact, written
from ctxlab.errors import InvalidArgumentError, Problem

LETTERS = ("A", "B", "C", "D")
EVIDENCE = ("recorded", "reported", "documented", "emulated", "scripted", "assumed")
Figures = Mapping[str, Number | Between]

_ID = re.compile(r"\d\d-([a-z]|exit)")


@dataclass(frozen=True, slots=True)
class Field:
    """One figure to commit: its keyword, a label, a unit (``tokens``, ``usd``, ``×``, ``%``, ``s`` …).

    ``tolerance`` is relative; left out, dollars accept 1 % and everything else must be exact.
    """

    name: str
    label: str
    unit: str = "tokens"
    tolerance: Fraction | float | None = None

    @property
    def accepted(self) -> Fraction:
        """The relative tolerance in force."""
        if self.tolerance is None:
            return Fraction(1, 100) if self.unit == "usd" else Fraction(0)
        return exact(self.tolerance)


@dataclass(frozen=True, slots=True)
class Option:
    """One lettered answer; a wrong one names the misconception that yields it."""

    letter: str
    text: str
    misconception: str | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question of a lesson. Callables run only when needed, so that a lesson imports quickly.

    ``truth()`` gives the figures; ``read_result(result)`` reads the same figures from what the learner ran;
    ``misconceptions`` maps an id of ``data/misconceptions.toml`` to the figures that idea yields;
    ``picture(result)`` gives a figure or None; where there is a ``read_result``, only for a result that was
    read. Where the truth is emulated, ``uses`` names the rules it follows, as the ledger of fidelity calls
    them, and ``agreement`` adds a sentence.
    """

    id: str
    question: str
    options: tuple[Option, ...]
    rule: str
    rule_sentence: str
    evidence: str
    source: str
    why: str
    fields: tuple[Field, ...] = ()
    truth: Callable[[], Figures] = dict
    misconceptions: Mapping[str, Callable[[], Figures]] = field(default_factory=dict)
    read_result: Callable[[Any], Figures] | None = None
    picture: Callable[[Any], object] | None = None
    agreement: str = ""
    uses: tuple[str, ...] = ()
    near: Fraction = Fraction(1, 10)
    home: bool = False

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise self._bad("id", "is not like 00-a or 00-exit")
        if tuple(option.letter for option in self.options) != LETTERS:
            raise self._bad("options", "must be lettered A, B, C, D in this order")
        if sum(option.misconception is None for option in self.options) != 1:
            raise self._bad("options", "need exactly one right answer; every other names its misconception")
        if self.evidence not in EVIDENCE:
            raise self._bad("evidence", f"is {self.evidence!r}, not one of {', '.join(EVIDENCE)}")
        if len({one.name for one in self.fields} - {"vote", "sure", "second"}) != len(self.fields):
            raise self._bad("fields", "need names of their own")

    def _bad(self, what: str, message: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            Problem(f"Prediction({self.id!r}).{what}", "well-formed-question", message)
        )

    @property
    def right(self) -> Option:
        """The right one of the four answers."""
        return next(option for option in self.options if option.misconception is None)

    def option(self, letter: str) -> Option:
        """The answer with this letter."""
        return self.options[LETTERS.index(letter)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an answer was graded; ``misconception`` is set only for that outcome."""

    name: str  # exact | right-rule | misconception | another-idea
    misconception: str | None = None
    note: str = ""

    @property
    def is_right(self) -> bool:
        """Whether nothing needs another look."""
        return self.name == "exact"


def is_complete(asked: Prediction, vote: str | None, figures: Mapping[str, Fraction]) -> bool:
    """A vote is enough, and so are all figures."""
    return vote is not None or (bool(asked.fields) and all(one.name in figures for one in asked.fields))


def grade(asked: Prediction, vote: str | None, figures: Mapping[str, Fraction]) -> Outcome:
    """What this answer shows. Figures weigh more than the letter, as far as they tell the two apart."""
    voted = asked.option(vote) if vote is not None else None
    wrong_vote = voted.misconception if voted is not None else None
    truth = asked.truth() if asked.fields else {}
    given = [one for one in asked.fields if one.name in figures]
    right = [one for one in given if agrees(figures[one.name], truth[one.name], one.accepted)]
    if given and len(right) == len(asked.fields):
        if wrong_vote is None:
            return Outcome("exact")
        if _refuted(asked, wrong_vote, figures):
            return Outcome("exact", note=f"Your vote {vote} does not fit your own figures.")
        return Outcome("misconception", wrong_vote)
    if len(given) > len(right):
        named = _named(asked, given, figures)
        if named is not None:
            return Outcome("misconception", named)
    if wrong_vote is not None:
        return Outcome("misconception", wrong_vote)
    if voted is not None:
        if not asked.fields:
            return Outcome("exact")
        note = "" if given else "You voted right and committed no figures."
        return Outcome("right-rule", note=note)
    near = all(agrees(figures[one.name], truth[one.name], max(asked.near, one.accepted)) for one in given)
    return Outcome("right-rule" if given and near else "another-idea")


def _named(asked: Prediction, given: list[Field], figures: Mapping[str, Fraction]) -> str | None:
    for name, yields in asked.misconceptions.items():
        said = yields()
        if all(one.name in said and agrees(figures[one.name], said[one.name], one.accepted) for one in given):
            return name
    return None


def _refuted(asked: Prediction, misconception: str, figures: Mapping[str, Fraction]) -> bool:
    """Whether the idea yields other figures than these; one that yields none is not refuted by any."""
    said = asked.misconceptions.get(misconception, dict)()
    return any(
        one.name in said
        and one.name in figures
        and not agrees(figures[one.name], said[one.name], one.accepted)
        for one in asked.fields
    )


def differing(asked: Prediction, result: object) -> list[str]:
    """The labels of the figures in which a run differs from the run that was asked for."""
    if asked.read_result is None:
        return []
    truth = asked.truth()
    try:
        ran = asked.read_result(result)
        return [
            one.label for one in asked.fields if one.name in ran and not _same(ran[one.name], truth[one.name])
        ]
    except Exception as error:  # whatever the learner's cell made, a traceback of ours would explain nothing
        return [f"the result itself ({type(error).__name__})"]


def _same(ran: Number | Between, truth: Number | Between) -> bool:
    if isinstance(ran, Between):
        return ran == truth
    return agrees(exact(ran), truth, Fraction(1, 10**9))


def reference_answer(asked: Prediction) -> dict[str, bool | str | int | Decimal]:
    """The keywords of a complete right answer: vote, sure, and each figure in its shortest accepted form."""
    answer: dict[str, bool | str | int | Decimal] = {"vote": asked.right.letter, "sure": True}
    truth = asked.truth() if asked.fields else {}
    for one in asked.fields:
        answer[one.name] = written(truth[one.name], one.accepted)
    return answer
