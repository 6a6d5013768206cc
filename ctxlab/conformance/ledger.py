"""The ledger: every rule that the cache and the emulator follow, what pins it, and what recordings say to it.

Models: one :class:`Entry` per rule, put together from the tables where rules have their home; how many
recorded rows and session steps agree with a rule or disagree, counted by the replay; the file that holds it.
Does not model: the rules. A rule is changed at its home, and the file is built anew
(``python -m ctxlab.notebooks build``); a test compares the two.
Source: ``ctxlab/cache_rules.toml``, ``ctxlab/emulator/rules.toml``, ``ctxlab.breakpoints``,
``ctxlab.validity``, and the residuals of ``ctxlab/token_rules.toml``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, get_args

from ctxlab import breakpoints, validity
from ctxlab.cache import LIFETIME_S, Evidence, Rule, invalidations, rules
from ctxlab.conformance.replay import replay
from ctxlab.conformance.steps import Step, steps
from ctxlab.conformance.verdict import Replay
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.places import data_path
from ctxlab.recordings import Exchange, Session, exchanges, sessions
from ctxlab.tokens import count_recorded, residual_of, residuals

EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)

NAME = "fidelity.toml"
_MARKER_TEST = "tests/test_breakpoints.py::test_a_fault_names_its_place_its_rule_and_what_the_api_says"
_MESSAGES_TEST = "tests/test_validity.py::test_a_broken_rule_names_its_place_and_what_the_api_says"
_RESIDUAL_TEST = (
    "tests/test_tokens_recorded.py::"
    "test_every_total_that_is_not_met_is_of_a_known_class_and_every_class_is_needed"
)


class Agreement(NamedTuple):
    """Recorded rows and steps that bear a rule out, and those that speak against it."""

    agree: int = 0
    disagree: int = 0


@dataclass(frozen=True, slots=True)
class Entry(Rule):
    """One rule, with the recordings that bear it out and those that speak against it.

    Any rule of the house, not only of the cache: ``switch`` names what decides it where nobody knows,
    ``test`` the node id of what pins it.
    """

    agree: int = 0
    disagree: int = 0


@dataclass(frozen=True, slots=True)
class Offset:
    """Recorded totals that the structure rules miss by a constant of their source: a class of its own."""

    id: str
    says: str
    tokens: tuple[int, ...]
    rows: int
    test: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """All entries, all classes of residuals, and the last line of the replay they were counted in."""

    entries: tuple[Entry, ...]
    offsets: tuple[Offset, ...]
    summary: str


def ledger() -> Ledger:
    """The ledger as it was last built.

    >>> {entry.evidence for entry in ledger().entries} == set(EVIDENCE)
    True
    """
    return _read()


def agreement(rule: str) -> Agreement:
    """How many recordings agree with a rule and how many do not; for what a lesson shows beside it.

    >>> agreement("floor").disagree
    0
    """
    known = {entry.id: entry for entry in ledger().entries}
    if rule not in known:
        raise InvalidArgumentError(Problem("rule", "in-the-ledger", f"is {rule!r}", f"see data/{NAME}"))
    return Agreement(known[rule].agree, known[rule].disagree)


def put_together(rows: Sequence[Exchange] | None = None, runs: Sequence[Session] | None = None) -> Ledger:
    """The ledger anew: rules from their homes, counts from recordings (default: those that ship)."""
    rows, runs = exchanges() if rows is None else rows, sessions() if runs is None else runs
    replayed = replay(rows)
    counted = counts(replayed, steps(runs), rows, runs)
    entries = (
        replace(entry, agree=counted[entry.id].agree, disagree=counted[entry.id].disagree)
        if entry.id in counted
        else entry
        for entry in _homes()
    )
    return Ledger(tuple(entries), tuple(_offsets(rows)), replayed.summary)


def _homes() -> Iterator[Entry]:
    for rule in rules().values():
        yield Entry(*(getattr(rule, field.name) for field in fields(rule)))
    for lost in invalidations():
        says = f"Changed: {lost.change}. Lost: {_LOST.get(lost.loses, lost.loses)}."
        yield Entry(f"lost/{lost.id}", says, lost.source, lost.date, lost.evidence, lost.switch, lost.test)
    for fault in breakpoints.MARKER_RULES.values():
        day = _latest_month(fault.source)
        yield Entry(f"marker/{fault.name}", fault.says, fault.source, day, fault.evidence, None, _MARKER_TEST)
    for one in validity.RULES.values():
        yield Entry(
            f"messages/{one.name}", one.says, one.source, one.date, one.evidence, None, _MESSAGES_TEST
        )
    path = Path(__file__).parents[1] / "emulator" / "rules.toml"
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["rules"]:
        yield Entry(**{"switch": None, **row, "id": f"api/{row['id']}"})


_SPEAKS_AGAINST = {"identical prefix not read": "visibility-delay", "read after its end": "lifetime-ends"}
_LOST = {
    "tools": "everything",
    "system": "system prompt and messages",
    "messages": "the messages",
    "from there": "everything from there on",
}


def _latest_month(source: str) -> date:
    """The last month that a source names."""
    year, month = max(re.findall(r"(20\d\d)-(\d\d)", source))
    return date(int(year), int(month), 1)


# --- what recordings say


def counts(
    replayed: Replay, walked: Sequence[Step], rows: Iterable[Exchange], runs: Iterable[Session]
) -> Mapping[str, Agreement]:
    """Agreement by rule; a rule that no recording bears on is missing.

    A row that was noise bears out every rule but one: that an entry can be read once its answer has begun, or
    that it ends.
    """
    seen: list[tuple[str, bool]] = [("entries-at-markers", True)] * replayed.unmarked
    for verdict in replayed.verdicts:
        against = _SPEAKS_AGAINST.get(verdict.reason)
        seen += [(rule, verdict.outcome != "wrong") for rule in verdict.rules if rule != against]
        seen += [(against, False)] if against else []
    seen += _seen_in_compactions(replayed)
    seen += _seen_in_steps(walked)
    seen += _seen_in_pictures(runs)
    seen += _seen_in_totals(rows)
    agree, disagree = (
        Counter(rule for rule, right in seen if right),
        Counter(rule for rule, right in seen if not right),
    )
    return {rule: Agreement(agree[rule], disagree[rule]) for rule in agree | disagree}


_COMPACTIONS = {
    "a compaction is due": "api/compaction-due",
    "summary: input": "api/compaction-pass",
    "summary: fresh": "api/compaction-split",
    "answer: input": "api/summary-sent-back",
    "top level: input": "api/compaction-usage",
}


def _seen_in_compactions(replayed: Replay) -> Iterator[tuple[str, bool]]:
    for row in replayed.compactions:
        for figure in row.predicted:
            if figure.name in _COMPACTIONS:
                yield _COMPACTIONS[figure.name], figure.predicted == figure.recorded


def _seen_in_steps(walked: Iterable[Step]) -> Iterator[tuple[str, bool]]:
    for step in walked:
        if step.outlived and step.left_tokens and step.cause in ("expired", "identity", "near-hit"):
            yield "lifetime-ends", step.cause == "expired"
        if step.cause == "model switch":
            yield "one-model-one-workspace", step.read_tokens == 0
        if step.cause == "compaction" and step.lives_s == LIFETIME_S["5m"] and not step.outlived:
            yield "shallower-refresh", step.read_tokens > 0


def _seen_in_pictures(runs: Iterable[Session]) -> Iterator[tuple[str, bool]]:
    """Turns that append a picture: do they read what the turn before left?"""
    for run in runs:
        for before, now in pairwise(run.turns):
            shown = any(one.type == "image" for block in now.blocks for one in (block, *block.parts))
            if shown and before.model_id == now.model_id and not now.after_compaction:
                left = before.usage.cache_read_input_tokens + before.usage.cache_creation_input_tokens
                yield "image-presence", now.usage.cache_read_input_tokens >= left


def _seen_in_totals(rows: Iterable[Exchange]) -> Iterator[tuple[str, bool]]:
    for row in rows:
        if row.estimate is not None and row.estimate.total is not None:
            yield "api/prompt-tokens", count_recorded(row).total == row.total_input_tokens
        if row.error is not None and row.evidence == "recorded":
            yield "api/refused-leaves-nothing", row.usage is None


def _offsets(rows: Iterable[Exchange]) -> Iterator[Offset]:
    met: Counter[str] = Counter()
    for row in rows:
        if row.estimate is not None and row.estimate.total is not None and row.total_input_tokens is not None:
            known = residual_of(row.id, row.total_input_tokens - count_recorded(row).total)
            met[known.name if known else ""] += 1
    for one in residuals():
        yield Offset(one.name, one.note, one.tokens, met[one.name], _RESIDUAL_TEST)


# --- the file

_HEADER = """\
# Every rule that the cache and the emulator follow: what it says, where that comes from, which test pins it,
# and how many recorded rows and session steps agree or disagree. Built by `python -m ctxlab.notebooks build`
# from the tables where rules have their home (ctxlab/cache_rules.toml, ctxlab/emulator/rules.toml,
# ctxlab/breakpoints, ctxlab/validity, residuals in ctxlab/token_rules.toml) and from data/recordings.
#
# evidence: recorded, reported (somebody printed or pasted it), documented (a page of the vendor, or the SDK),
# assumed (nobody says; then `switch` decides). Other rules have a switch where part of them is left open.
"""


def rendered(book: Ledger) -> str:
    """The text of the file.

    >>> tomllib.loads(rendered(Ledger((), (), "nothing yet")))["summary"]
    'nothing yet'
    """
    parts = [f"{_HEADER}summary = {_toml(book.summary)}\n"]
    parts += [_table("rules", entry) for entry in book.entries]
    parts += [_table("residuals", offset) for offset in book.offsets]
    return "\n".join(parts)


def _table(name: str, row: Entry | Offset) -> str:
    values = ((field.name, getattr(row, field.name)) for field in fields(row))
    lines = [f"{key} = {_toml(value)}" for key, value in values if value is not None]
    return "\n".join([f"[[{name}]]", *lines, ""])


def _toml(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


@cache
def _read() -> Ledger:
    data = tomllib.loads(data_path(NAME).read_text(encoding="utf-8"))
    entries = (Entry(**{"switch": None, **row}) for row in data["rules"])
    offsets = (Offset(**{**row, "tokens": tuple(row["tokens"])}) for row in data["residuals"])
    return Ledger(tuple(entries), tuple(offsets), data["summary"])
