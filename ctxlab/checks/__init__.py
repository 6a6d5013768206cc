"""Predict, reveal, check: how a notebook asks, and how it answers.

Models: predictions graded by rule and misconception, exercises judged by hidden cases, a record of the rules
to look at again. Needs the standard library only; panels show as text anywhere and as HTML in a notebook.
Does not model: a grade. Lesson content lies in ``lesson_NN.py`` beside this file.

>>> from ctxlab.checks import predict, reveal, check, status
"""

from ctxlab.checks import slips
from ctxlab.checks.exercises import Case, Exercise, within
from ctxlab.checks.faces import after, check, give_up, predict, reference, reveal, status, status_text
from ctxlab.checks.predictions import Field, Option, Prediction
from ctxlab.checks.quantities import Between

__all__ = [
    "Between",
    "Case",
    "Exercise",
    "Field",
    "Option",
    "Prediction",
    "after",
    "check",
    "give_up",
    "predict",
    "reference",
    "reveal",
    "status",
    "status_text",
    "within",
]

slips.watch()  # here, because a slip of syntax is made before anything of ours is called
