"""What learners tend to believe, and what the words mean: two tables under ``data/``.

Models: ``misconceptions.toml`` (the sentence a learner would say, what it predicts, the rule and the evidence
that refute it) and ``glossary.toml`` (one plain sentence per term). Does not model: any one
learner. Lessons of your own (``CTXLAB_LESSONS``) may lay the same two files beside their modules.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ctxlab import places
from ctxlab.errors import CtxlabError, Problem

KINDS_OF_REFUTATION = ("session", "exchange", "arithmetic", "documented")


@dataclass(frozen=True, slots=True)
class Misconception:
    """One idea. ``refuted_by`` is ``session:NAME``, ``exchange:ID``, ``arithmetic:…`` or ``documented:…``."""

    id: str
    lesson: str
    says: str
    predicts: str
    rule: str
    refuted_by: str

    @property
    def refuted_in_words(self) -> str:
        """The evidence as a learner reads it."""
        kind, _, what = self.refuted_by.partition(":")
        lead = {"session": "recorded session", "exchange": "recorded exchange"}.get(kind, kind)
        return f"{lead} {what.strip()}" if lead.startswith("recorded") else f"{lead}: {what.strip()}"


@dataclass(frozen=True, slots=True)
class Term:
    """One entry of the glossary and the lesson that introduces it."""

    name: str
    lesson: str
    says: str


def misconceptions() -> dict[str, Misconception]:
    """Every misconception by id; raises :class:`CtxlabError` for an entry that is not whole."""
    return _misconceptions(_own_folder())


def glossary() -> dict[str, Term]:
    """Every term by its name in lower case; raises :class:`CtxlabError` for an entry that is not whole."""
    return _glossary(_own_folder())


@lru_cache(maxsize=8)
def _misconceptions(own: str) -> dict[str, Misconception]:
    fields = ("id", "lesson", "says", "predicts", "rule", "refuted_by")
    found: dict[str, Misconception] = {}
    for place, entry in _entries("misconceptions.toml", own, "misconception", fields):
        one = Misconception(**entry)
        if one.id in found:
            raise _broken(place, "unique-id", f"{one.id!r} occurs twice")
        if one.refuted_by.partition(":")[0] not in KINDS_OF_REFUTATION:
            known = ", ".join(KINDS_OF_REFUTATION)
            raise _broken(f"{place}.refuted_by", "known-evidence", f"{one.refuted_by!r} is none of {known}")
        found[one.id] = one
    return found


@lru_cache(maxsize=8)
def _glossary(own: str) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for place, entry in _entries("glossary.toml", own, "term", ("name", "lesson", "says")):
        term = Term(**entry)
        if term.name.lower() in found:
            raise _broken(place, "unique-id", f"{term.name!r} occurs twice")
        found[term.name.lower()] = term
    return found


def _own_folder() -> str:
    return os.environ.get("CTXLAB_LESSONS", "")


def _entries(
    file: str, own: str, table: str, fields: tuple[str, ...]
) -> Iterator[tuple[str, dict[str, str]]]:
    yield from _table(places.data_path(file), table, fields)
    if own and Path(own, file).is_file():
        yield from _table(Path(own, file), table, fields)


def _table(path: Path, table: str, fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        loaded = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise _broken(path.name, "valid-toml", str(error)) from error
    listed = loaded.get(table, [])
    if set(loaded) - {table} or not isinstance(listed, list):
        raise _broken(path.name, "one-table", f"holds [[{table}]] entries and nothing else")
    for number, entry in enumerate(listed):
        place = f"{path.name}:{table}[{number}]"
        if set(entry) != set(fields):
            raise _broken(place, "all-fields", f"needs exactly {', '.join(fields)}")
        for name, value in entry.items():
            if not isinstance(value, str) or not value.strip():
                raise _broken(f"{place}.{name}", "text", "must be text")
        yield place, dict(entry)


def _broken(place: str, rule: str, message: str) -> CtxlabError:
    return CtxlabError(Problem(place, rule, message))
