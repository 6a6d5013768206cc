"""The constants behind a prompt's hidden tokens, for one model on one day, each with source and evidence.

Models: the rows of ``token_rules.toml``, resolved: of those that fit a model and a date the last one holds.
Does not model: what the constants are for (:mod:`ctxlab.tokens.structure`).
Source: named in every row of the table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, Problem

Vocabulary = Literal["v3", "v4.7", "v4.8"]
Evidence = Literal["recorded", "reported", "documented", "assumed"]

LATEST = date.max
"""The day after every change that is known."""


@dataclass(frozen=True, slots=True)
class Constant:
    """One row of the table. ``since`` and ``before`` bound the days on which it holds (None: open)."""

    name: str
    tokens: int
    applies_to: tuple[str, ...]
    since: date | None
    before: date | None
    evidence: Evidence
    source: str
    note: str

    def fits(self, names: frozenset[str], on: date) -> bool:
        """Whether it holds for something that goes by ``names`` on that day."""
        return (
            (not self.applies_to or not names.isdisjoint(self.applies_to))
            and (self.since is None or self.since <= on)
            and (self.before is None or on < self.before)
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """All constants of one model on one day, in tokens; the notes in the table say what each is for.

    None: not known (a preamble), or not counted at all (thinking of an open tool loop).
    """

    frame: int
    other_role: int
    same_role: int
    user_behind_results: int
    further_system_block: int
    section_join: int
    sections_end: int
    sections_end_with_tools: int
    custom_tool: int
    deferred_tools: int
    preamble: int | None
    forced_preamble: int | None
    one_call_at_a_time: int
    forced_tool_name: int
    output_schema: int
    calls: int
    each_call: int
    several_results: int
    each_result: int
    answered_calls: int
    text_beside_results: int
    other_beside_results: int
    results_at_end_forced: int
    image: int
    image_in_result: int
    image_beside_text_in_result: int
    thinking_enabled: int
    thinking_enabled_with_tools: int
    thinking_adaptive: int
    open_thinking: int | None
    compaction_summary: int
    compaction_pass: int
    compaction_not_due: int
    reply: int
    at_text_end: int
    at_results_end: int
    before_system: int
    before_tools: int
    forced_at_end: int
    thinking_at_end: int


def rules_of(vocabulary: str, model: str | Model | None = None, on: date | None = None) -> Rules:
    """The constants of a model, or of the stand-in for its vocabulary, on a day (default: the latest known).

    Raises as :func:`constants_of`.

    >>> from ctxlab.catalogue import get_model
    >>> rules_of("v3", get_model("claude-sonnet-4-5")).preamble
    496
    >>> rules_of("v3", get_model("claude-sonnet-4-5"), date(2025, 10, 31)).preamble
    313
    """
    found = constants_of(vocabulary, model, on)
    return _rules(tuple((name, constant.tokens) for name, constant in found.items()))


@cache
def _rules(figures: tuple[tuple[str, int], ...]) -> Rules:
    known = dict(figures)
    return Rules(**cast("dict[str, Any]", {field.name: known.get(field.name) for field in fields(Rules)}))


def constants_of(
    vocabulary: str, model: str | Model | None = None, on: date | None = None
) -> Mapping[str, Constant]:
    """The rows behind :func:`rules_of`, by name: what is recorded and what is only assumed.

    Raises :class:`UnknownModelError`, and :class:`InvalidArgumentError` for a vocabulary that does not exist
    or is not the model's, and for what is no date.

    >>> constants_of("v4.8")["preamble"].evidence
    'documented'
    """
    if not isinstance(vocabulary, str) or vocabulary not in _table().stand_in:
        raise _argument(
            "vocabulary", "known-vocabulary", f"is {vocabulary!r}", f"one of {', '.join(_table().stand_in)}"
        )
    known = None if model is None else get_model(model)
    if known is not None and known.vocabulary != vocabulary:
        raise _argument(
            "vocabulary", "of-the-model", f"is {vocabulary!r}", f"{known.id} has {known.vocabulary}"
        )
    if on is not None and not isinstance(on, date):
        raise _argument("on", "date", f"is {on!r}", "give a datetime.date")
    if isinstance(on, datetime):
        on = on.date()
    return _constants(vocabulary, None if known is None else known.id, LATEST if on is None else on)


@lru_cache(maxsize=1024)
def _constants(vocabulary: str, model_id: str | None, on: date) -> Mapping[str, Constant]:
    table = _table()
    if model_id is None:
        names = {vocabulary, table.stand_in[vocabulary]}
    else:
        families = {family for family, ids in table.families.items() if model_id in ids}
        names = {vocabulary, model_id} | families
    fitting = (one for one in table.constants if one.fits(frozenset(names), on))
    return {one.name: one for one in fitting}


def known_definition(kind: str, vocabulary: str) -> tuple[Constant | None, bool]:
    """What a tool definition that the API renders itself costs on top of the preamble, where it is known.

    The second value tells whether the figure was given for that vocabulary, or for another one only.
    """
    rows = tuple(row for row in reversed(_table().definitions) if row.name == kind)
    fitting = next((row for row in rows if row.fits(frozenset({vocabulary}), LATEST)), None)
    return fitting or next(iter(rows), None), fitting is not None


def preambles(vocabulary: str) -> tuple[int, int]:
    """The smallest and the largest preamble of any model of a vocabulary, whatever the day and the choice.

    >>> preambles("v4.8")
    (286, 474)
    """
    table = _table()
    families = {name for name, ids in table.families.items() if get_model(ids[0]).vocabulary == vocabulary}
    found = [
        row.tokens
        for row in table.constants
        if row.name in ("preamble", "forced_preamble") and not families.isdisjoint(row.applies_to)
    ]
    return min(found), max(found)


@dataclass(frozen=True, slots=True)
class Residual:
    """Recorded rows that the rules do not meet, by the beginnings of their ids, and by how many tokens."""

    name: str
    rows: tuple[str, ...]
    tokens: tuple[int, ...]
    note: str


def residual_of(row_id: str, difference: int) -> Residual | None:
    """The class of a row whose recorded total is ``difference`` above the estimate; None: nobody knows it.

    >>> residual_of("crush/bash_tool#1", -2).name
    "one agent's constant"
    """
    return next(
        (
            known
            for known in residuals()
            if difference in known.tokens and any(row_id.startswith(rows) for rows in known.rows)
        ),
        None,
    )


def residuals() -> tuple[Residual, ...]:
    """Every class of difference between recorded and estimated totals that is known."""
    return _table().residuals


def constants() -> tuple[Constant, ...]:
    """Every row of the table, in its order: of those that fit something the last one holds."""
    return _table().constants


def families() -> Mapping[str, tuple[str, ...]]:
    """Models that share constants, by the name of their family."""
    return _table().families


@dataclass(frozen=True, slots=True)
class _Table:
    families: Mapping[str, tuple[str, ...]]
    stand_in: Mapping[str, str]
    constants: tuple[Constant, ...]
    definitions: tuple[Constant, ...]
    residuals: tuple[Residual, ...]


@cache
def _table() -> _Table:
    path = Path(__file__).parents[1] / "token_rules.toml"
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return _Table(
        families={name: tuple(ids) for name, ids in data["families"].items()},
        stand_in=data["stand_in"],
        constants=tuple(_constant(row, "name", data["sources"]) for row in data["constants"]),
        definitions=tuple(_constant(row, "type", data["sources"]) for row in data["definitions"]),
        residuals=tuple(
            Residual(row["name"], tuple(row["rows"]), tuple(row["tokens"]), row["note"])
            for row in data["residuals"]
        ),
    )


def _constant(row: dict[str, Any], name: str, sources: dict[str, Any]) -> Constant:
    source = sources[row["source"]]
    return Constant(
        name=row[name],
        tokens=row["tokens"],
        applies_to=tuple(row.get("for", ())),
        since=row.get("since"),
        before=row.get("before"),
        evidence=row["evidence"],
        source=f"{source['what']}, {source['date'].isoformat()}",
        note=row.get("note", ""),
    )


def _argument(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(path, rule, message, fix))
