"""Write a few lines, have them judged: hidden cases, the broken rule by name, yours beside the specification.

Models: exercises answered by functions or, without programming, by a table of answers. Cases come from a
seeded generator; beside them stand hidden twins of another seed, so that a function that knows by heart what
it was shown fails.
A function that never comes back is stopped (:mod:`ctxlab.checks.deadline`).
Does not model: protection against a learner who wants to cheat.
"""

from __future__ import annotations

import copy
import linecache
import random
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import CodeType
from typing import Any

from ctxlab.checks import deadline
from ctxlab.errors import InvalidArgumentError, Problem

DO_NOT_MUTATE = "do-not-mutate"
RUNS = "runs-without-error"
BUILT_IN_RULES = {
    RUNS: "The function answers every case without an error.",
    DO_NOT_MUTATE: "What goes in comes out untouched: build a new value.",
}
_ID = re.compile(r"\d\d-\d+")
_MOST_LAYERS = 10


@dataclass(frozen=True, slots=True)
class Case:
    """One call and what the specification says about it.

    ``expected`` may be an exception class: then the function has to raise it. ``spec`` says in words what is
    specified, where ``expected`` is only something to compare with (code between backticks).
    ``label`` tells a learner what kind of input this is; a ``hidden`` case never shows what was expected;
    ``asks`` picks the function when an exercise asks for several (default: the first).
    """

    rule: str
    args: tuple[Any, ...] = ()
    expected: Any = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    hidden: bool = False
    asks: str = ""
    spec: str = ""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise. ``asks`` are the names the learner defines, in the order ``check`` takes them.

    ``rules`` maps names to sentences and fixes the order of judging; ``cases(rng)`` makes the cases;
    ``compare(got, expected)`` decides; ``draw(case, got)`` may return a figure. With ``answers=True`` the
    learner gives one mapping, and each case asks for the answer to ``args[0]``.
    """

    id: str
    title: str
    asks: tuple[str, ...]
    rules: Mapping[str, str]
    cases: Callable[[random.Random], Sequence[Case]]
    compare: Callable[[Any, Any], bool] | None = None
    draw: Callable[[Case, Any], object] | None = None
    answers: bool = False
    home: bool = False

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise self._bad("id", "is not like 01-2")
        if not self.asks or (self.answers and len(self.asks) != 1):
            raise self._bad("asks", "needs the names a learner defines (one name for a table of answers)")
        if not self.rules:
            raise self._bad("rules", "needs at least one rule")

    def _bad(self, what: str, message: str) -> InvalidArgumentError:
        return InvalidArgumentError(Problem(f"Exercise({self.id!r}).{what}", "well-formed-exercise", message))

    def sentence(self, rule: str) -> str:
        """What the rule says."""
        return self.rules.get(rule) or BUILT_IN_RULES[rule]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a check: ``done``, ``stuck`` on a rule, or ``not-yet``."""

    state: str
    rule: str = ""
    message: str = ""
    case: Case | None = None
    got: Any = None
    kept: tuple[str, ...] = ()


def judge(asked: Exercise, work: Sequence[Any], *, seed: int = 0) -> Verdict:
    """Run every case and its hidden twins in the order of the rules; the first broken rule decides."""
    cases = list(asked.cases(random.Random(f"{asked.id}/{seed}")))
    if not asked.answers:
        twins = asked.cases(random.Random(f"{asked.id}/{seed}/twin"))
        cases += [replace(case, hidden=True) for case in twins]
    cases = _in_order(asked, cases)
    if len(work) != len(asked.asks):
        return Verdict("not-yet", message=f"Give `check` {_listed(asked.asks)}, in this order.")
    return _judge_answers(asked, work[0], cases) if asked.answers else _judge_functions(asked, work, cases)


def _in_order(asked: Exercise, cases: Sequence[Case]) -> list[Case]:
    order = list(asked.rules)
    for case in cases:
        if case.rule not in asked.rules or (case.asks and case.asks not in asked.asks):
            raise InvalidArgumentError(
                Problem(
                    f"Exercise({asked.id!r}).cases",
                    "known-names",
                    f"{case.rule!r} / {case.asks!r} is unknown",
                )
            )
    return sorted(cases, key=lambda case: order.index(case.rule))


def _judge_functions(asked: Exercise, work: Sequence[Any], cases: list[Case]) -> Verdict:
    functions = dict(zip(asked.asks, work, strict=True))
    if any(is_blank(function) for function in work):
        return Verdict("not-yet", message=f"Define {_listed(asked.asks)} first.")
    for name, function in functions.items():
        if not callable(function):
            return Verdict("not-yet", message=f"Give the function itself: `{name}`, without calling it.")
    answered: set[str] = set()
    for case in cases:
        name = case.asks or asked.asks[0]
        args, kwargs = copy.deepcopy((case.args, dict(case.kwargs)))
        raises = _error_class(case.expected)
        try:
            got = deadline.call(functions[name], args, kwargs)
        except NotImplementedError:
            got = ...
        except (Exception, SystemExit, deadline.TooLongError) as error:
            if raises is not None and isinstance(error, raises):
                answered.add(name)
                continue
            return Verdict(
                "stuck", RUNS, _explained(error, functions[name], name), case, kept=_kept(asked, case)
            )
        if is_blank(got) and case.expected is not None:
            if name not in answered:
                return Verdict("not-yet", message=f"`{name}` returns nothing yet.")
            return Verdict(
                "stuck", case.rule, f"`{name}` returns nothing here.", case, got, _kept(asked, case)
            )
        answered.add(name)
        if raises is not None or not _equal(asked, got, case.expected):
            return Verdict("stuck", case.rule, "", case, got, _kept(asked, case))
        if _touched((args, kwargs), (case.args, dict(case.kwargs))):
            message = f"`{name}` changed the value it was given."
            return Verdict("stuck", DO_NOT_MUTATE, message, case, got, _kept(asked, case))
    return Verdict("done", kept=tuple(asked.rules))


def _judge_answers(asked: Exercise, answers: Any, cases: list[Case]) -> Verdict:
    if not isinstance(answers, Mapping):
        return Verdict("not-yet", message=f"Give `check` the table `{asked.asks[0]}`.")
    unknown = [key for key in answers if key not in {case.args[0] for case in cases}]
    if unknown:
        return Verdict("not-yet", message=f"Nothing asks for {short(unknown[0])}: keep the table's own keys.")
    asked_for = dict.fromkeys(case.args[0] for case in cases)  # several rules may judge one answer
    blank = [key for key in asked_for if is_blank(answers.get(key))]
    if blank:
        verb = "is" if len(blank) == 1 else "are"
        return Verdict("not-yet", message=f"{len(blank)} of {len(asked_for)} answers {verb} blank.")
    for case in cases:
        if not _equal(asked, answers[case.args[0]], case.expected):
            return Verdict("stuck", case.rule, "", case, answers[case.args[0]], _kept(asked, case))
    return Verdict("done", kept=tuple(asked.rules))


def _error_class(expected: Any) -> type[Exception] | None:
    """An exception class as the expected value asks the function to raise it."""
    return expected if isinstance(expected, type) and issubclass(expected, Exception) else None


def _kept(asked: Exercise, broken: Case) -> tuple[str, ...]:
    rules = list(asked.rules)
    return tuple(rules[: rules.index(broken.rule)])


def is_blank(value: object) -> bool:
    """Whether a value is a stub's: ``...``, None, or a tuple or list that still holds a ``...``."""
    return value is None or value is ... or (isinstance(value, list | tuple) and _holds_dots(value))


def _holds_dots(values: list[Any] | tuple[Any, ...]) -> bool:
    # by identity: `in` would ask every item for ==, and an array answers that with an array
    walk = list.__iter__(values) if isinstance(values, list) else tuple.__iter__(values)
    return any(one is ... for one in walk)


def _touched(went_in: object, specified: object) -> bool:
    """Whether an input is not what it was; what can no longer be compared is not."""
    try:
        return bool(went_in != specified)
    except Exception:
        return True


def _equal(asked: Exercise, got: Any, expected: Any) -> bool:
    try:
        return bool((asked.compare or same)(_plain(got), expected))
    except Exception:  # a comparison that cannot even be made is a wrong answer, not our crash
        return False


def same(got: Any, expected: Any) -> bool:
    """Equality by value: floats to nine digits, containers item by item, True never equal to 1.

    >>> same([0.1 + 0.2], [0.3]), same(1, True), same((1, 2), [1, 2])
    (True, False, True)
    """
    got = _plain(got)
    if isinstance(expected, bool) or isinstance(got, bool):
        return got is expected
    if isinstance(expected, int | float | Decimal | Fraction):
        if not isinstance(got, int | float | Decimal | Fraction):
            return False
        if isinstance(got, float) or isinstance(expected, float):
            return abs(float(got) - float(expected)) <= 1e-9 * abs(float(expected))
        return Fraction(got) == Fraction(expected)
    if isinstance(expected, Mapping):
        return (
            isinstance(got, Mapping)
            and got.keys() == expected.keys()
            and all(same(got[key], expected[key]) for key in expected)
        )
    if isinstance(expected, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(got) == len(expected)
            and all(same(one, other) for one, other in zip(got, expected, strict=True))
        )
    return bool(got == expected)


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's own; everything else as it is."""
    as_list = getattr(value, "tolist", None)
    return as_list() if callable(as_list) else value


def within(tolerance: float) -> Callable[[Any, Any], bool]:
    """A comparison for ``Exercise.compare``: numbers agree within a relative tolerance."""

    def compare(got: Any, expected: Any) -> bool:
        return not isinstance(got, bool) and abs(float(got) - float(expected)) <= tolerance * abs(
            float(expected)
        )

    return compare


def _explained(error: BaseException, function: Callable[..., Any], name: str) -> str:
    said = _said(error)
    code = _code_of(function)
    frame, found = error.__traceback__, None
    while frame is not None:
        if code is not None and frame.tb_frame.f_code.co_filename == code.co_filename:
            found = frame
        frame = frame.tb_next
    if found is None:
        if isinstance(error, deadline.TooLongError):
            return f"`{name}` was {said}."
        return f"`{name}` could not be called with {said}."
    inside = found.tb_frame.f_code
    source = linecache.getline(inside.co_filename, found.tb_lineno).strip()
    line = found.tb_lineno - inside.co_firstlineno + 1
    return f"Line {line} of `{inside.co_name}`{f', `{source}`' if source else ''}: {said}."


def _code_of(function: Any) -> CodeType | None:
    """What runs when it is called: also of an object with ``__call__``, a partial, one that remembers."""
    for _ in range(_MOST_LAYERS):
        function = (
            function.func if isinstance(function, partial) else getattr(function, "__wrapped__", function)
        )
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _said(error: BaseException) -> str:
    if isinstance(error, deadline.TooLongError):
        return f"still running after {deadline.LIMIT_S:g} seconds, like a loop that never ends"
    kind = type(error).__name__
    try:
        words = str(error)
    except Exception:  # an error class of the learner's own
        words = ""
    return _ADDRESS.sub("", f"{kind}: {words}" if words else kind)


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class _Short(reprlib.Repr):
    """Values as one short line without addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist, self.maxtuple = 3, 6, 8, 8
        self.maxstring, self.maxlong, self.maxother = 60, 40, 60

    def repr_float(self, value: float, _level: int) -> str:
        return repr(float(f"{value:.12g}"))  # equal as far as an answer is judged

    def repr_Decimal(self, value: Decimal, _level: int) -> str:
        return str(value)

    def repr_Fraction(self, value: Fraction, _level: int) -> str:
        return str(value)


_short = _Short()


def short(value: object) -> str:
    """The value on one line, at most some hundred characters, the same in every run."""
    try:
        text = _ADDRESS.sub("", _short.repr(value))
    except Exception:  # thousands of digits, or a value that cannot print itself
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 120 else text[:117] + "..."


def specified(case: Case) -> str:
    """What the specification says about a case, for a panel: code stands between backticks.

    >>> specified(Case("zero-is-refused", (0,), ValueError)), specified(Case("doubles", (2,), 4))
    ('raises `ValueError`', '`4`')
    """
    if case.spec:
        return case.spec
    raises = _error_class(case.expected)
    return f"raises `{raises.__name__}`" if raises is not None else f"`{short(case.expected)}`"


def call_shown(asked: Exercise, case: Case) -> str:
    """The call as a learner would type it."""
    if asked.answers:
        return short(case.args[0])
    inside = [short(value) for value in case.args] + [
        f"{key}={short(value)}" for key, value in case.kwargs.items()
    ]
    return f"{case.asks or asked.asks[0]}({', '.join(inside)})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
