"""The ledger keeps its word: every rule has a source, a test that exists, and figures that were counted."""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from ctxlab.cache import CacheRules, invalidations, rules
from ctxlab.conformance import ledger as books
from ctxlab.conformance import replay, steps
from ctxlab.conformance.ledger import EVIDENCE, Entry, agreement, counts, ledger
from ctxlab.emulator import ContextRules, Emulator
from ctxlab.errors import InvalidArgumentError
from ctxlab.notebooks.readme import _rules as readme_table
from ctxlab.places import data_path
from ctxlab.recordings import exchanges, sessions
from ctxlab.tokens import residuals
from ctxlab.usage import CacheCreation

ROOT = Path(__file__).parent.parent
SWITCHES = {
    *(field.name for kind in (CacheRules, ContextRules) for field in fields(kind)),
    *inspect.signature(Emulator).parameters,
}
TODAY = date(2026, 11, 30)


@cache
def defined_in(file: str) -> frozenset[str]:
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def faults(entries: Iterable[Entry]) -> Iterator[str]:
    """What the ledger must not hold."""
    seen: set[str] = set()
    for entry in entries:
        file, _, test = entry.test.partition("::")
        if not test:
            yield f"{entry.id}: no test"
        elif test not in defined_in(file):
            yield f"{entry.id}: {entry.test} does not exist"
        if entry.evidence not in EVIDENCE:
            yield f"{entry.id}: evidence {entry.evidence}"
        if entry.evidence == "assumed" and entry.switch is None:
            yield f"{entry.id}: assumed, and nobody can switch it"
        if entry.switch is not None and entry.switch not in SWITCHES:
            yield f"{entry.id}: {entry.switch} is no switch"
        if not entry.says.endswith(".") or not entry.source or not date(2020, 1, 1) < entry.date <= TODAY:
            yield f"{entry.id}: sentence, source or date"
        if entry.id in seen:
            yield f"{entry.id}: twice"
        seen.add(entry.id)


def test_every_rule_has_a_test_that_exists_and_every_assumed_rule_is_a_switch():
    assert list(faults(ledger().entries)) == []


SOUND = Entry(
    "a-rule",
    "It holds.",
    "a page",
    TODAY,
    "recorded",
    None,
    f"tests/{Path(__file__).name}::test_a_fault_is_noticed",
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, None),
        ({"test": ""}, "no test"),
        ({"test": "tests/test_cache.py::test_nobody_wrote"}, "does not exist"),
        ({"test": "tests/test_nowhere.py::test_a_fault_is_noticed"}, "does not exist"),
        ({"evidence": "guessed"}, "evidence guessed"),
        ({"evidence": "assumed"}, "nobody can switch it"),
        ({"evidence": "assumed", "switch": "expiry_grace_s"}, None),
        ({"switch": "no_such_switch"}, "is no switch"),
        ({"source": ""}, "sentence, source or date"),
    ],
)
def test_a_fault_is_noticed(change, told):
    found = list(faults([replace(SOUND, **change)]))
    assert (found == []) if told is None else (len(found) == 1 and told in found[0])


def test_the_file_is_what_the_homes_of_the_rules_and_the_recordings_make_it():
    assert data_path(books.NAME).read_text(encoding="utf-8") == books.rendered(books.put_together())


def test_what_is_written_is_read_back():
    assert books.put_together() == ledger()


def test_every_rule_of_the_cache_and_everything_a_change_loses_is_in_the_ledger():
    known = {entry.id: entry for entry in ledger().entries}
    for rule in rules().values():
        assert (known[rule.id].says, known[rule.id].test) == (rule.says, rule.test)
    assert {f"lost/{row.id}" for row in invalidations()} <= set(known)
    assert {entry.switch for entry in known.values()} >= {field.name for field in fields(CacheRules)}


def test_every_switch_of_context_management_is_in_the_ledger():
    assert {entry.switch for entry in ledger().entries} >= {field.name for field in fields(ContextRules)}


def test_recorded_compactions_bear_out_the_rules_they_rest_on():
    for rule in (
        "api/compaction-pass",
        "api/compaction-split",
        "api/summary-sent-back",
        "api/compaction-usage",
    ):
        assert agreement(rule).agree > agreement(rule).disagree == 0


def test_no_rule_is_contradicted_as_often_as_it_is_borne_out():
    for entry in ledger().entries:
        assert entry.agree > entry.disagree or entry.agree == entry.disagree == 0, entry.id


def test_rules_called_recorded_are_borne_out_where_the_replay_can_count():
    counted = {entry.id for entry in ledger().entries if entry.agree}
    by_replay = {rule for verdict in replay(exchanges()).verdicts for rule in verdict.rules}
    assert by_replay <= counted
    assert {"floor", "exact-prefix", "markers-may-move", "billing-positions", "automatic"} <= counted


def test_a_wrong_row_speaks_against_the_rules_it_rests_on():
    first, second = (
        row for row in exchanges() if row.sequence == "openllmetry/test_anthropic_prompt_caching_legacy"
    )
    moved = replace(second.usage, input_tokens=second.usage.input_tokens - 1, cache_creation=CacheCreation(1))
    for usage, expected in ((second.usage, (1, 0)), (moved, (0, 1))):
        rows = [first, replace(second, usage=usage)]
        assert counts(replay(rows), (), rows, ())["exact-prefix"] == expected


def test_lifetimes_are_counted_where_a_step_came_after_its_end():
    walked = steps(sessions())
    expired = Counter(step.cause for step in walked)["expired"]
    counted = agreement("lifetime-ends")
    assert counted.agree == expired
    assert counted.disagree == sum(
        step.outlived and step.left_tokens > 0 and step.cause in ("identity", "near-hit") for step in walked
    )


def test_a_rule_that_is_not_in_the_ledger_has_no_agreement():
    assert agreement("floor").agree > 100
    with pytest.raises(InvalidArgumentError, match="flor"):
        agreement("flor")


def test_totals_that_miss_the_rules_of_counting_are_classes_of_the_ledger():
    assert [offset.id for offset in ledger().offsets] == [one.name for one in residuals()]
    assert all(offset.rows > 0 for offset in ledger().offsets)
    assert sum(offset.rows for offset in ledger().offsets) == agreement("api/prompt-tokens").disagree


def test_the_readme_shows_how_many_rules_rest_on_what():
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_table(ledger()) in shown
    kinds = Counter(entry.evidence for entry in ledger().entries)
    for kind in EVIDENCE:
        assert f"| {kind} | {kinds[kind]} |" in shown


def test_the_file_says_that_it_is_built():
    data = tomllib.loads(data_path(books.NAME).read_text(encoding="utf-8"))
    assert data["summary"] == replay(exchanges()).summary
    assert "Built by `python -m ctxlab.notebooks build`" in data_path(books.NAME).read_text(encoding="utf-8")
