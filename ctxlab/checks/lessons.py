"""Where the questions of each lesson are found: ``ctxlab.checks.lesson_NN``, loaded when first asked for.

Models: one module per lesson with the tuples ``PREDICTIONS`` and ``EXERCISES``. ``CTXLAB_LESSONS`` names a
folder with more modules of the same shape, for lessons of your own.
Does not model: the text of a lesson (that is the notebook).
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ctxlab.checks.exercises import Exercise, short
from ctxlab.checks.predictions import Prediction
from ctxlab.errors import CtxlabError, InvalidArgumentError, Problem

_MODULE = re.compile(r"lesson_(\d\d)")
Kind = TypeVar("Kind", Prediction, Exercise)


class UnknownQuestionError(CtxlabError, LookupError):
    """No lesson asks this; ``problems[0].fix`` names the nearest id."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The questions of one notebook, by id, in the order in which they are asked."""

    number: str
    predictions: Mapping[str, Prediction]
    exercises: Mapping[str, Exercise]


def numbers() -> tuple[str, ...]:
    """The lessons there are, sorted."""
    names = [module.name for module in pkgutil.iter_modules(_package_path())]
    return tuple(sorted({match[1] for name in names if (match := _MODULE.fullmatch(name))}))


def lesson(number: str) -> Lesson:
    """The lesson with this number; raises :class:`UnknownQuestionError`."""
    if number not in numbers():
        raise _unknown("lesson", numbers(), number)
    return _loaded(number, os.environ.get("CTXLAB_LESSONS", ""))


def prediction(name: str) -> Prediction:
    """The prediction with this id; raises :class:`UnknownQuestionError`."""
    return _found(name, lesson(_number(name)).predictions)


def exercise(name: str) -> Exercise:
    """The exercise with this id; raises :class:`UnknownQuestionError`."""
    return _found(name, lesson(_number(name)).exercises)


def _found(name: str, among: Mapping[str, Kind]) -> Kind:
    if name not in among:
        raise _unknown("question", tuple(among), name)
    return among[name]


def _number(name: object) -> str:
    return str(name).partition("-")[0]


def _unknown(kind: str, known: tuple[str, ...], asked: object) -> UnknownQuestionError:
    said = short(asked)
    if asked == str(asked).strip():  # else the quotes show the blank that is too much
        said = said.strip("'")
    near = difflib.get_close_matches(said, known, 1, 0.0)
    fix = f"did you mean {near[0]}?" if near else "no lesson is installed"
    return UnknownQuestionError(Problem("id", "known-question", f"there is no {kind} {said}".rstrip(), fix))


def _package_path() -> list[str]:
    extra = os.environ.get("CTXLAB_LESSONS")
    return [str(Path(__file__).parent), *([extra] if extra else [])]


@lru_cache(maxsize=64)
def _loaded(number: str, extra: str) -> Lesson:
    module = _module(f"lesson_{number}", extra)
    predictions: tuple[Prediction, ...] = module.PREDICTIONS
    exercises: tuple[Exercise, ...] = module.EXERCISES
    found = Lesson(number, {one.id: one for one in predictions}, {one.id: one for one in exercises})
    ids = [one.id for one in predictions] + [one.id for one in exercises]
    if len(set(ids)) != len(ids) or any(_number(name) != number for name in ids):
        raise InvalidArgumentError(
            Problem(f"lesson_{number}", "ids-of-this-lesson", f"{', '.join(ids)}: each once, each {number}-…")
        )
    return found


def _module(name: str, extra: str) -> ModuleType:
    own = Path(extra, f"{name}.py") if extra else None
    if own is None or not own.is_file():
        return importlib.import_module(f"ctxlab.checks.{name}")
    spec = importlib.util.spec_from_file_location(f"ctxlab_{name}", own)
    if spec is None or spec.loader is None:
        raise CtxlabError(Problem(str(own.name), "python-module", "cannot be loaded"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
