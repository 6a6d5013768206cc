"""What went wrong, where, by which rule, and what to do about it.

Models: one value, :class:`Problem`, that every check in the house returns, and the typed exceptions that
carry problems when going on would be wrong.
Does not model: logging, warnings, or the wording of the API's own errors (those are quoted by the rule that
raises them).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    ``path`` is a place a person can go to (``messages[3].content[0].text``, ``recordings.jsonl:17``),
    ``rule`` a short stable name, ``message`` what is wrong there, ``fix`` what to do (may be empty).

    >>> print(Problem("usage.input_tokens", "non-negative", "is -3", "send the figure the API returned"))
    usage.input_tokens: is -3 [non-negative]; send the figure the API returned
    """

    path: str
    rule: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        tail = f"; {self.fix}" if self.fix else ""
        return f"{self.path}: {self.message} [{self.rule}]{tail}"


class CtxlabError(Exception):
    """Base of every error the house raises on purpose; ``problems`` lists what was found."""

    def __init__(self, problems: Problem | Iterable[Problem]):
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InvalidArgumentError(CtxlabError, ValueError):
    """An argument of a ctxlab function is of the wrong kind or outside its range."""


class InvalidRequestError(CtxlabError, ValueError):
    """A request body cannot be read as one (path is a JSON path into the body)."""


class InvalidUsageError(CtxlabError, ValueError):
    """A ``usage`` object is impossible, or is told in another convention than the API's."""


class RecordingError(CtxlabError, ValueError):
    """A recording does not follow its schema (path is ``file:line`` and the field)."""


class UnknownModelError(CtxlabError, LookupError):
    """No such model in the catalogue; ``nearest`` holds the closest ids, best first."""

    def __init__(self, problems: Problem | Iterable[Problem], nearest: Iterable[str] = ()):
        super().__init__(problems)
        self.nearest: tuple[str, ...] = tuple(nearest)


class UnpricedModelError(CtxlabError, LookupError):
    """The model is known, its price is not: nothing is ever priced at zero by accident."""


class MissingPackageError(CtxlabError, ImportError):
    """A package that only some parts of ctxlab need is not installed."""
