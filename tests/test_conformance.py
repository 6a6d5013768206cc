"""The replay of recorded traffic: what it predicts, what it takes from a row, what it never calls right."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ctxlab import cli
from ctxlab.cache import rules
from ctxlab.catalogue import get_model
from ctxlab.conformance import (
    CAUSES,
    EXCLUSIONS,
    LESSONS,
    NOISE,
    NOTHING_CHECKED,
    Replay,
    Step,
    as_object,
    compactions,
    page,
    replay,
    steps,
)
from ctxlab.places import data_path
from ctxlab.recordings import Exchange, exchanges, read_exchanges, read_sessions, sessions

MODEL = "claude-sonnet-4-5"
FLOOR = get_model(MODEL).min_cacheable_tokens
LONG, SHORT = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
AROUND_A_SUMMARY = 101
AROUND_A_TEXT, BEHIND_A_TEXT = 7, 3  # tokens of a prompt of one text, and those of them behind a marker on it


def digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def text(name: str, tokens: int | None, *, mark: Any = None, message: int = 0, **more: Any) -> dict[str, Any]:
    """A block of ``tokens`` (None: nobody counted it; then it is a document)."""
    role = "user" if message % 2 == 0 else "assistant"
    block = {"segment": "messages", "role": role, "message": message, "type": "text", "sha256": digest(name)}
    block["chars"] = 9
    if tokens is None:
        block |= {"type": "document", "document": {"pages": 3}}
    else:
        block["content_tokens"] = {"v3": tokens}
    return block | ({} if mark is None else {"cache_control": mark}) | more


def system(name: str, tokens: int, *, mark: Any = None) -> dict[str, Any]:
    return text(name, tokens, mark=mark) | {"segment": "system", "role": None, "message": None}


def row(
    blocks: list[dict[str, Any]],
    fresh: int | None,
    written: int = 0,
    read: int = 0,
    *,
    step: int = 0,
    sequence: str = "one",
    repo: str = "some/agent",
    at: str | None = None,
    hour: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """A recorded request and its answer. ``hour`` tokens of what was written were written for an hour."""
    request = {"endpoint": "messages", "model": MODEL, "max_tokens": 9, "blocks": blocks}
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour},
        "output_tokens": 1,
    }
    response = {"status": 200, "content_types": ["text"], "usage": None if fresh is None else usage}
    return {
        "id": f"{sequence}#{step}",
        "sequence": sequence,
        "step": step,
        "evidence": more.pop("evidence", "recorded"),
        "source": {"repo": repo, "path": "tape.yaml"},
        "recorded_at": at,
        "request": request | more.pop("request", {}),
        "response": response | more.pop("response", {}),
    }


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The replay of rows."""
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"

    def judged(*rows: dict[str, Any]) -> Replay:
        path.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
        return replay(read_exchanges(path))

    return judged


PROMPT = [text("a", 2000, mark=SHORT)]
LONGER = [text("a", 2000), text("b", 30, message=1), text("c", 20, message=2, mark=SHORT)]


def outcomes(replayed) -> list[str]:
    return [f"{verdict.outcome} {verdict.reason}".strip() for verdict in replayed.verdicts]


# --- predicted


def test_what_one_row_writes_the_next_one_is_predicted_to_read(judge):
    prompt = [text("a", 2000, mark=SHORT)]
    found = judge(row(prompt, 3, written=2004), row(prompt, 3, read=2004, step=1))
    assert outcomes(found) == ["predicted", "predicted"]
    assert found.summary == "predicted 2/2 exact, learned 0, excluded 0, noise 0"
    assert [verdict.predicted_figures for verdict in found.verdicts] == [3, 3]


def test_a_conversation_that_grows_is_predicted_to_the_token(judge):
    first = [text("a", 2000, mark=SHORT)]
    second = [text("a", 2000), text("b", 50, message=1), text("c", 30, message=2, mark=SHORT)]
    found = judge(row(first, 3, written=2004), row(second, 3, written=86, read=2004, step=1))
    assert outcomes(found) == ["predicted", "predicted"]


@pytest.mark.parametrize(("tokens", "cached"), [(FLOOR - 5, False), (FLOOR - 4, True)])
def test_one_token_below_the_floor_nothing_is_predicted_and_at_the_floor_a_write(judge, tokens, cached):
    total = tokens + AROUND_A_TEXT
    split = {"written": total - BEHIND_A_TEXT} if cached else {}
    fresh = BEHIND_A_TEXT if cached else total
    assert outcomes(judge(row([text("a", tokens, mark=SHORT)], fresh, **split))) == ["predicted"]
    other = {} if cached else {"written": total - BEHIND_A_TEXT}
    assert judge(row([text("a", tokens, mark=SHORT)], total - sum(other.values()), **other)).of("wrong")


def test_the_hour_and_the_five_minutes_of_one_request_are_predicted_apart(judge):
    prompt = [system("s", 2000, mark=LONG), text("a", 100, mark=SHORT)]
    assert outcomes(judge(row(prompt, 3, written=2104, hour=2002))) == ["predicted"]
    assert outcomes(judge(row(prompt, 3, written=2104, hour=2104))) == ["wrong figures"]


def test_a_count_of_the_same_prompt_tells_its_size_beforehand(judge):
    prompt = [text("a", None, mark=SHORT)]
    counted = row(
        prompt, None, request={"endpoint": "count_tokens"}, response={"usage": {"input_tokens": 2007}}
    )
    assert outcomes(judge(counted, row(prompt, 3, written=2004, step=1))) == ["predicted"]
    assert outcomes(judge(counted, row(prompt, 3, written=2005, step=1))) == ["wrong size-holds"]


def test_an_entry_of_another_sequence_is_predicted_where_times_say_it_is_alive(judge):
    shared = system("s", 2000, mark=SHORT)
    rows = [
        row([shared, text("a", 20)], 25, written=2002, at="2026-05-01T10:00:00Z"),
        row([shared, text("b", 30)], 35, read=2002, at="2026-05-01T10:04:59Z", sequence="two"),
    ]
    assert outcomes(judge(*rows)) == ["predicted", "predicted"]
    late = row([shared, text("b", 30)], 35, read=2002, at="2026-05-01T10:05:01Z", sequence="two")
    assert outcomes(judge(rows[0], late)) == ["predicted", "learned warm start"]


def test_an_entry_that_ended_is_predicted_to_be_written_again(judge):
    prompt = [text("a", 2000, mark=SHORT)]
    first = row(prompt, 3, written=2004, at="2026-05-01T10:00:00Z")
    assert outcomes(judge(first, row(prompt, 3, written=2004, at="2026-05-01T10:06:00Z", step=1))) == [
        "predicted",
        "predicted",
    ]


def test_a_marker_that_walks_back_more_than_twenty_texts_is_predicted_to_miss(judge):
    def prompt(texts: int, *, mark_first: bool) -> list[dict[str, Any]]:
        blocks = [text("a", 2000, mark=SHORT if mark_first else None)]
        return [*blocks, *(text(f"b{i}", 10) for i in range(texts - 1)), text("last", 10, mark=SHORT)]

    first = row([text("a", 2000, mark=SHORT)], 3, written=2004)
    for texts, read in ((19, 2004), (20, 0)):
        total = 2007 + 10 * texts
        again = row(prompt(texts, mark_first=False), 3, written=total - 3 - read, read=read, step=1)
        assert outcomes(judge(first, again)) == ["predicted", "predicted"], texts


@pytest.mark.parametrize(
    ("between", "tests_it"), [(0, False), (17, False), (18, True), (19, True), (30, True)]
)
def test_a_row_bears_on_the_lookback_only_where_another_reach_would_give_other_figures(
    judge, between, tests_it
):
    first = row([text("a", 2000, mark=SHORT)], 3, written=2004)
    blocks = [text("a", 2000), *(text(f"b{i}", 10) for i in range(between)), text("last", 10, mark=SHORT)]
    total = 2007 + 10 * (between + 1)
    read = 2004 if between + 2 <= 20 else 0
    second = judge(first, row(blocks, 3, written=total - 3 - read, read=read, step=1)).verdicts[1]
    assert second.outcome == "predicted"
    assert ("lookback" in second.rules) == tests_it


def test_a_row_stored_in_two_sequences_is_judged_once(judge):
    prompt = [text("a", 2000, mark=SHORT)]
    twins = [
        row(prompt, 3, written=2004, at="2026-05-01T10:00:00Z", sequence=name) for name in ("one", "two")
    ]
    assert outcomes(judge(*twins)) == ["predicted", "predicted"]


# --- never from the row itself


@pytest.mark.parametrize("shift", [1, -1])
def test_every_predicted_read_of_the_data_is_missed_when_it_is_changed_by_one_token(shift):
    rows = exchanges()
    read = [v.row for v in replay(rows).of("predicted") if v.recorded.cache_read_input_tokens]
    assert len(read) > 30
    for one in (row for row in rows if row.id in read):
        tokens = one.usage.cache_read_input_tokens + shift
        tampered = replace(one, usage=replace(one.usage, cache_read_input_tokens=tokens))
        source = [tampered if row is one else row for row in rows if row.source.repo == one.source.repo]
        assert replay(source).of("wrong"), one.id


def test_moving_tokens_between_classes_does_not_move_the_prediction(judge):
    first = row(PROMPT, 3, written=2004)
    for fresh, written in ((4, 55), (2, 57), (59, 0)):
        (wrong,) = judge(first, row(LONGER, fresh, written, 2004, step=1)).of("wrong")
        expected = wrong.expected
        assert (expected.cache_read_input_tokens, expected.cache_creation_input_tokens) == (2004, 56)


@given(read=st.integers(0, 2060), written=st.integers(0, 2060))
@example(read=2004, written=56)
@example(read=0, written=2060)
def test_of_all_splits_of_a_known_prompt_one_is_exact_and_one_is_noise(judge, read, written):
    assume(read + written <= 2063)
    first = row(PROMPT, 3, written=2004)
    second = row(LONGER, 2063 - read - written, written, read, step=1)
    expected = {(2004, 56): "predicted", (0, 2060): "noise"}
    assert judge(first, second).verdicts[1].outcome == expected.get((read, written), "wrong")


# --- learned


def marked_document(name: str = "q", *, tokens: int = 20) -> list[dict[str, Any]]:
    """A document nobody can count, marked, and a question behind it: only the split tells where it ends."""
    return [text("d", None, mark=SHORT), text(name, tokens)]


def test_a_size_that_only_the_row_reveals_is_learned_and_predicted_from_then_on(judge):
    found = judge(
        row(marked_document(), 25, written=5000),
        row(marked_document("r", tokens=40), 45, read=5000, step=1),
    )
    assert outcomes(found) == ["learned size of a prefix", "predicted"]
    assert [verdict.predicted_figures for verdict in found.verdicts] == [1, 3]


@pytest.mark.parametrize(
    ("repo", "expected"),
    [("some/agent", "wrong entry-not-read"), ("other/agent", "learned warm start")],
)
def test_a_learned_size_holds_in_every_sequence_of_its_source_and_says_nothing_of_others(
    judge, repo, expected
):
    first = row(marked_document(), 25, written=5000, at="2026-05-01T10:00:00Z")
    other = row(marked_document("r"), 25, read=4999, sequence="two", repo=repo, at="2026-05-01T10:01:00Z")
    assert outcomes(judge(first, other))[1] == expected


def test_two_rows_that_write_one_prefix_in_two_sizes_contradict_each_other(judge):
    days = ("2026-05-01T10:00:00Z", "2026-05-02T10:00:00Z")
    rows = [
        row(marked_document(), 25, written=5000 + i, sequence=f"s{i}", at=day) for i, day in enumerate(days)
    ]
    assert outcomes(judge(*rows)) == ["learned size of a prefix", "wrong figures"]
    same = row(marked_document(), 25, written=5000, sequence="s1", at=days[1])
    assert outcomes(judge(rows[0], same)) == ["learned size of a prefix", "predicted"]


def test_a_size_is_another_one_under_the_constants_of_another_time(judge):
    """The preamble of tools grew in November 2025, and with it every prefix behind the tools."""
    tool = {"segment": "tools", "type": "custom", "name": "t", "chars": 9, "sha256": digest("t")}
    prompt = [tool | {"content_tokens": {"v3": 60}}, *marked_document()]
    days = ("2025-10-01T10:00:00Z", "2026-01-01T10:00:00Z")
    rows = [row(prompt, 25, written=5000 + 183 * i, sequence=f"s{i}", at=day) for i, day in enumerate(days)]
    assert outcomes(judge(*rows)) == ["learned size of a prefix"] * 2


def test_a_read_in_the_first_row_of_a_sequence_is_a_warm_start(judge):
    assert outcomes(judge(row(PROMPT, 3, read=2004))) == ["learned warm start"]


@pytest.mark.parametrize("read", [2003, 2005, FLOOR - 1, 1])
def test_a_warm_start_reads_a_prefix_that_can_be_there(judge, read):
    prompt = [text("a", 2000), text("b", 60, mark=SHORT)]
    wrong = row(prompt, 3, written=2064 - read, read=read)
    assert outcomes(judge(wrong)) == ["wrong read-without-entry"]
    assert outcomes(judge(row(prompt, 3, written=60, read=2004))) == ["learned warm start"]


def test_a_sequence_stays_warm_until_it_has_written_something_itself(judge):
    warm = judge(row(PROMPT, 3, read=2004), row(LONGER, 3, read=2060, step=1))
    assert outcomes(warm) == ["learned warm start", "learned warm start"]
    cold = judge(row(PROMPT, 3, written=2004), row(LONGER, 3, read=2060, step=1))
    assert outcomes(cold) == ["predicted", "wrong read-without-entry"]


def test_an_entry_of_another_sequence_that_is_not_read_is_no_noise(judge):
    first = row(PROMPT, 3, written=2004, at="2026-05-01T10:00:00Z")
    second = row(PROMPT, 3, written=2004, at="2026-05-01T10:00:01Z", sequence="two")
    assert outcomes(judge(first, second)) == ["predicted", "learned not shared"]


def test_an_unknown_prefix_that_is_not_cached_is_below_the_floor(judge):
    assert outcomes(judge(row(marked_document(), 2000))) == ["learned below the floor"]
    known = [*marked_document(), text("z", 3000, mark=SHORT)]
    assert outcomes(judge(row(known, 9000))) == ["wrong figures"]


def test_an_hours_marker_of_unknown_size_that_writes_nothing_is_below_the_floor(judge):
    """On Sonnet 4.6 nobody has seen where a marker on the system prompt cuts."""
    prompt = [system("s", 100, mark=LONG), text("a", 2000, mark=SHORT)]
    later = {"request": {"model": "claude-sonnet-4-6"}}
    assert outcomes(judge(row(prompt, 3, written=2105, **later))) == ["learned below the floor"]
    assert outcomes(judge(row(prompt, 3, written=2105, hour=102, **later))) == ["wrong figures"]
    large = [system("s", 1500, mark=LONG), text("a", 2000, mark=SHORT)]
    assert outcomes(judge(row(large, 3, written=3505, hour=1502, **later))) == ["learned size of a prefix"]


def test_lifetimes_that_were_not_recorded_are_not_compared(judge):
    prompt = [system("s", 1500, mark=LONG), text("a", 2000, mark=SHORT)]
    one = row(prompt, 3, written=3504, hour=1)
    assert outcomes(judge(one)) == ["wrong figures"]
    one["response"]["usage"]["cache_creation"] = None
    assert outcomes(judge(one)) == ["predicted"]


@pytest.mark.parametrize(
    ("tokens", "written", "expected"),
    [
        (2000, 2004, "predicted"),
        (2000, 0, "learned floor of the model"),
        (600, 604, "learned floor of the model"),
        (100, 104, "wrong figures"),
        (100, 0, "predicted"),
    ],
)
def test_a_model_without_a_stated_floor_shows_it(judge, tokens, written, expected):
    prompt = [text("a", tokens, mark=SHORT)]
    fresh = tokens + AROUND_A_TEXT - written
    one = row(prompt, fresh, written, request={"model": "claude-3-5-sonnet-20241022"})
    assert outcomes(judge(one)) == [expected]


def test_every_lesson_is_met_above():
    shown = {"warm start", "not shared", "size of a prefix", "below the floor", "floor of the model"}
    assert shown == set(LESSONS)


# --- excluded

LOOP = {"content_types": ["server_tool_use", "text"]}
EXCLUDED = {
    "request not recorded": row(
        [], 3, written=2004, evidence="response only", request={"not_recorded": True}
    ),
    "error response": row(
        PROMPT, None, response={"status": 400, "error": {"type": "invalid_request_error", "message": "no"}}
    ),
    "no usage": row(PROMPT, None),
    "server-tool loop": row(PROMPT, 3, 2004, response=LOOP),
    "compaction": row(
        [text("s", 2000, mark=SHORT) | {"type": "compaction"}], 3, written=AROUND_A_SUMMARY + 1997
    ),
    "context edited": row(
        PROMPT, 3, 2004, response={"context_management": {"applied_edits": [{"type": "cleared"}]}}
    ),
    "unknown model": row(PROMPT, 3, written=2004, request={"model": "claude-of-tomorrow"}),
    "digest missing": row([text("a", 2000, mark=SHORT) | {"sha256": None}], 3, written=2004),
}
REPLAYED = {
    "request not recorded": row([], 300, evidence="response only", request={"not_recorded": True}),
    "error response": row(PROMPT, 3, written=2004, response={"status": 200}),
    "no usage": row(PROMPT, 3, written=2004),
    "server-tool loop": row([text("a", 100, mark=SHORT)], 900, response=LOOP),
    "compaction": row(PROMPT, 3, written=2004, request={"context_management": {"edits": []}}),
    "context edited": row(PROMPT, 3, 2004, response={"context_management": {"applied_edits": []}}),
    "unknown model": row(PROMPT, 3, written=2004, request={"model": "anthropic/claude-sonnet-4-5"}),
    "digest missing": row(PROMPT, 3, written=2004),
}


def test_every_reason_to_exclude_has_a_row_and_a_twin():
    assert set(EXCLUDED) == set(REPLAYED) == set(EXCLUSIONS)


@pytest.mark.parametrize("reason", EXCLUSIONS)
def test_a_row_that_says_nothing_of_the_cache_is_excluded_by_name(judge, reason):
    assert outcomes(judge(EXCLUDED[reason])) == [f"excluded {reason}"]


@pytest.mark.parametrize("reason", EXCLUSIONS)
def test_a_row_that_only_looks_like_it_is_replayed(judge, reason):
    expected = [] if reason == "request not recorded" else ["predicted"]
    assert outcomes(judge(REPLAYED[reason])) == expected


def test_what_comes_behind_an_excluded_row_may_read_what_it_left(judge):
    loop = row(PROMPT, 3, written=2004, response=LOOP)
    behind = [
        text("a", 2000),
        text("call", 0, message=1) | {"type": "server_tool_use", "content_tokens": {}},
        text("found", 0, message=1) | {"type": "web_search_tool_result", "chars": 9999, "content_tokens": {}},
        text("b", 20, message=2, mark=SHORT),
    ]
    again = row(behind, 3, written=23, read=5000, step=1)
    assert outcomes(judge(loop, again))[1] == "learned warm start"
    assert outcomes(judge(row(PROMPT, 3, written=2004), again))[1] == "wrong read-without-entry"


def test_a_missing_step_may_have_written_anything(judge):
    for step, expected in ((2, "learned warm start"), (1, "wrong read-without-entry")):
        rows = [row(PROMPT, 3, written=2004), row(LONGER, 3, read=2060, step=step)]
        assert outcomes(judge(*rows))[1] == expected


# --- noise


def test_noise_is_only_where_both_prefixes_are_known_to_be_identical(judge):
    shared = system("s", 3000, mark=SHORT)
    prompt = [shared, text("a", 500, mark=SHORT)]
    first = row(prompt, 3, written=3504)
    again = row(prompt, 3, written=3504, step=1)
    assert outcomes(judge(first, again)) == ["predicted", "noise identical prefix not read"]
    shorter = row(prompt, 3, written=502, read=3002, step=1)
    assert outcomes(judge(first, shorter)) == ["predicted", "noise identical prefix not read"]
    other = row([shared, text("b", 500, mark=SHORT)], 3, written=502, read=3002, step=1)
    assert outcomes(judge(first, other)) == ["predicted", "predicted"]
    neither = row(prompt, 3, written=1504, read=2000, step=1)
    assert outcomes(judge(first, neither)) == ["predicted", "wrong entry-not-read"]


def test_a_miss_under_other_parameters_is_no_noise(judge):
    prompt = [system("s", 3000, mark=SHORT), text("a", 500)]
    other = {"tool_choice": {"type": "none"}}
    rows = [row(prompt, 505, written=3002), row(prompt, 505, written=3002, step=1, request=other)]
    assert outcomes(judge(*rows)) == ["predicted", "wrong entry-not-read"]


def test_an_entry_may_be_read_after_its_end(judge):
    times = [f"2026-05-01T10:{minute:02}:00Z" for minute in (0, 6)]
    rows = [row(PROMPT, 3, written=2004, at=times[0]), row(PROMPT, 3, read=2004, at=times[1], step=1)]
    assert outcomes(judge(*rows)) == ["predicted", "noise read after its end"]
    assert set(NOISE) == {"identical prefix not read", "read after its end"}


# --- wrong


def test_a_row_without_a_marker_that_caches_is_wrong_and_one_that_does_not_is_only_counted(judge):
    bare = [text("a", 2000)]
    assert outcomes(judge(row(bare, 3, written=2004))) == ["wrong entries-at-markers"]
    found = judge(row(bare, 2007))
    assert (found.verdicts, found.unmarked) == ((), 1)


def test_markers_that_the_rules_refuse_cannot_have_been_answered(judge):
    five = [text(f"m{i}", 600, mark=SHORT) for i in range(5)]
    assert outcomes(judge(row(five, 3, written=3004))) == ["wrong four-markers"]
    assert outcomes(judge(row(five[:4], 3, written=2404))) == ["predicted"]


# --- the recordings that ship


def is_marked(one: Exchange) -> bool:
    return one.parameters.get("cache_control") is not None or any(b.cache_control for b in one.blocks)


def test_of_the_marked_recorded_exchanges_nearly_all_are_replayed_and_no_figure_is_wrong():
    marked = [
        one for one in exchanges() if is_marked(one) and one.endpoint == "messages" and one.request_known
    ]
    found = replay(exchanges())
    assert sorted(one.id for one in marked) == sorted(verdict.row for verdict in found.verdicts)
    assert found.of("wrong") == ()
    done = len(found.of("predicted")) + len(found.of("learned"))
    assert done >= 0.85 * len(marked)
    assert len(found.of("predicted")) > 4 * len(found.of("learned"))


def test_what_is_excluded_from_the_data_is_what_its_annotations_say_sums_several_prompts():
    by_id = {one.id: one for one in exchanges()}
    excluded = [by_id[verdict.row] for verdict in replay(exchanges()).of("excluded")]
    assert {one.estimate.not_estimable for one in excluded} == {"usage sums several prompts"}


def test_noise_in_the_data_is_one_agent_writing_a_prefix_it_has_just_written():
    by_id = {one.id: one for one in exchanges()}
    for verdict in replay(exchanges()).of("noise"):
        own, writer = by_id[verdict.row], by_id[verdict.detail.rpartition(" ")[2]]
        assert own.sequence == writer.sequence
        prefix = [block.sha256 for block in writer.blocks]
        assert [block.sha256 for block in own.blocks][: len(prefix)] == prefix
        assert own.usage.cache_read_input_tokens < writer.usage.total_input_tokens - BEHIND_A_TEXT


def test_the_rule_about_a_delay_names_the_runs_that_miss_their_own_entry_and_no_seconds():
    by_id = {one.id: one for one in exchanges()}
    noise = [by_id[verdict.row] for verdict in replay(exchanges()).of("noise")]
    missing = {one.sequence for one in noise}
    (agent,) = {name.partition("/")[0] for name in missing}
    marked = (by_id[verdict.row].sequence for verdict in replay(exchanges()).verdicts)
    requests = Counter(name for name in marked if name.startswith(f"{agent}/"))
    longer = {name for name, sent in requests.items() if sent > 1}
    rule = rules()["visibility-delay"]
    numbers = {5: "Five", 11: "eleven"}
    assert f"{numbers[len(missing)]} of {numbers[len(longer)]} recorded runs" in rule.says
    assert rule.source == f"{agent}/" + ", ".join(sorted(name.partition("/")[2] for name in missing))
    assert all(one.recorded_at is None for one in noise)
    assert "second" not in rule.says


def test_sequences_can_be_replayed_alone_and_in_any_order():
    by_sequence: dict[str, list[Exchange]] = {}
    for one in exchanges():
        by_sequence.setdefault(one.sequence, []).insert(0, one)
    assert [verdict for rows in by_sequence.values() for verdict in replay(rows).of("wrong")] == []
    assert replay(reversed(exchanges())).of("wrong") == ()


# --- steps


def turn(
    step: int, fresh: int, written: int, read: int, *, at: int = 0, ttl: str = "5m", **more: Any
) -> dict[str, Any]:
    """A turn of a session; ``at`` is its start in seconds."""
    split = {f"ephemeral_{lifetime}_input_tokens": written * (lifetime == ttl) for lifetime in ("5m", "1h")}
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": None if ttl == "unknown" else split,
        "output_tokens": 1,
    }
    started = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=at)
    return {
        "id": f"run#{step}",
        "sequence": "run",
        "step": step,
        "agent": "agent",
        "source": {"repo": "some/agent", "path": "log.jsonl"},
        "requested_at": started.isoformat(),
        "request": {"model": more.pop("model", MODEL), "blocks": []},
        "response": {"usage": usage},
        **more,
    }


OPENING, GROWN = turn(0, 3, 20_000, 0), turn(1, 3, 30_000, 20_000, at=10)
OTHER = "claude-opus-4-5"
STEPS = {
    "identity": (turn(2, 3, 500, 50_000, at=20), turn(2, 3, 500, 49_999, at=20)),
    "unlogged request in between": (turn(2, 3, 500, 50_001, at=20), turn(2, 3, 500, 50_000, at=20)),
    "expired": (turn(2, 3, 50_500, 0, at=311), turn(2, 3, 50_500, 0, at=310)),
    "compaction": (
        turn(2, 3, 9_000, 15_000, at=20, after_compaction=True),
        turn(2, 3, 36_000, 15_000, at=20, after_compaction=True),
    ),
    "rewind": (turn(2, 3, 100, 40_000, at=20), turn(2, 3, 10_100, 40_000, at=20)),
    "model switch": (turn(2, 3, 50_500, 0, at=20, model=OTHER), turn(2, 3, 50_500, 0, at=20)),
    "near-hit": (turn(2, 3, 2_000, 49_000, at=20), turn(2, 3, 2_002, 48_999, at=20)),
    "no evidence": (turn(2, 3, 50_500, 0, at=20), turn(2, 3, 50_500, 0, at=400)),
}


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """The steps between turns."""
    path = tmp_path_factory.mktemp("turns") / "turns.jsonl"

    def walked(*turns: dict[str, Any]) -> tuple[Step, ...]:
        path.write_text("".join(f"{json.dumps(one)}\n" for one in turns), encoding="utf-8")
        return steps(read_sessions(path))

    return walked


def test_every_cause_has_a_step_and_a_twin():
    assert set(STEPS) == set(CAUSES)


@pytest.mark.parametrize("cause", CAUSES)
def test_a_step_has_the_cause_that_its_figures_show_and_its_twin_has_not(walk, cause):
    one, twin = STEPS[cause]
    assert walk(OPENING, GROWN, one)[-1].cause == cause
    assert walk(OPENING, GROWN, twin)[-1].cause != cause


def test_what_expired_may_leave_what_the_session_began_with_and_no_more(walk):
    assert walk(OPENING, GROWN, turn(2, 3, 30_500, 20_000, at=400))[-1].cause == "expired"
    assert walk(OPENING, GROWN, turn(2, 3, 10_500, 40_000, at=400))[-1].cause == "no evidence"


@pytest.mark.parametrize("ttl", ["1h", "unknown"])
def test_an_hour_counts_where_it_was_asked_for_or_nobody_logged_the_lifetime(walk, ttl):
    before = turn(0, 3, 20_000, 0, ttl=ttl), turn(1, 3, 30_000, 20_000, at=10, ttl=ttl)
    for at, cause in ((3610, "no evidence"), (3611, "expired")):
        assert walk(*before, turn(2, 3, 50_500, 0, at=at, ttl=ttl))[-1].cause == cause


def test_back_on_the_first_model_its_own_entries_are_read(walk):
    there, back = turn(2, 3, 50_500, 0, at=20, model=OTHER), turn(3, 3, 900, 50_000, at=30)
    found = [step.cause for step in walk(OPENING, GROWN, there, back)]
    assert found == ["identity", "model switch", "model switch"]


def test_nearly_every_step_of_the_recorded_sessions_has_a_cause():
    found = steps(sessions())
    assert len(found) == sum(len(session) - 1 for session in sessions())
    assert Counter(step.cause for step in found)["no evidence"] <= 0.015 * len(found)


def test_no_recorded_step_has_a_cause_that_its_own_figures_contradict():
    for step in steps(sessions()):
        shorter = step.total_tokens < step.total_before_tokens
        less = step.read_tokens < step.left_tokens
        assert {
            "identity": step.read_tokens == step.left_tokens,
            "unlogged request in between": step.read_tokens > step.left_tokens,
            "expired": less and step.outlived,
            "compaction": less and shorter,
            "rewind": less and shorter and not step.outlived,
            "model switch": less,
            "near-hit": less and step.read_tokens >= 0.98 * step.left_tokens,
            "no evidence": less,
        }[step.cause], step


# --- the command


@pytest.fixture
def file_of(tmp_path):
    def written(name: str, *rows: dict[str, Any]) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
        return str(path)

    return written


def test_the_last_line_is_the_summary_and_all_is_well(capsys):
    assert cli.run(["conformance"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == replay(exchanges()).summary


def test_a_figure_that_is_wrong_is_shown_with_its_rules_and_ends_in_one(file_of, capsys):
    tape = file_of("tape.jsonl", row(PROMPT, 3, written=2004), row(PROMPT, 3, 1, 2004, step=1))
    assert cli.run(["conformance", "--recordings", tape]) == 1
    told = capsys.readouterr().out
    assert "WRONG one#1" in told
    assert told.splitlines()[-1] == "predicted 1/2 exact, learned 0, excluded 0, noise 0"


@pytest.mark.parametrize("option", ["--recordings", "--traces"])
def test_a_file_that_cannot_be_read_ends_in_two(file_of, capsys, option):
    for name in (file_of("broken.jsonl", {"id": 1}), "nowhere.jsonl"):
        assert cli.run(["conformance", option, name]) == 2
        assert Path(name).name in capsys.readouterr().err


def test_only_what_is_asked_for_is_replayed(file_of, capsys):
    assert cli.run(["conformance", "--traces", file_of("log.jsonl", OPENING, GROWN)]) == 0
    told = capsys.readouterr().out
    assert "1 steps of recorded sessions" in told
    assert told.splitlines()[-1] == "predicted 0/0 exact, learned 0, excluded 0, noise 0"


def reported_row() -> dict[str, Any]:
    """The first shipped row that somebody printed, as it stands in its file."""
    with gzip.open(data_path("recordings/exchanges.jsonl.gz"), "rt", encoding="utf-8") as lines:
        found: dict[str, Any] = next(one for one in map(json.loads, lines) if one["evidence"] == "reported")
    return found


@pytest.mark.parametrize("option", ["--recordings", "--traces"])
def test_an_empty_file_says_that_nothing_could_be_checked_and_ends_in_two(file_of, capsys, option):
    assert cli.run(["conformance", option, file_of("none.jsonl")]) == 2
    told = capsys.readouterr().out.splitlines()
    assert NOTHING_CHECKED in told
    assert told[-1] == "predicted 0/0 exact, learned 0, excluded 0, noise 0"


def test_figures_that_were_only_reported_check_nothing(file_of, capsys):
    tape = file_of("tape.jsonl", reported_row())
    assert cli.run(["conformance", "--recordings", tape]) == 2
    assert NOTHING_CHECKED in capsys.readouterr().out
    assert cli.run(["conformance", "--recordings", tape, "--json"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["recordings"]["reported"] == 1
    assert NOTHING_CHECKED in told.err


def test_one_row_beside_a_reported_one_is_something_checked(file_of, capsys):
    tape = file_of("tape.jsonl", reported_row(), row(PROMPT, 3, written=2004))
    assert cli.run(["conformance", "--recordings", tape]) == 0
    assert NOTHING_CHECKED not in capsys.readouterr().out


def test_the_json_object_has_every_row_and_keeps_its_fields(file_of, capsys):
    names = [{"id": f"x{i}#0", "sequence": f"x{i}"} for i in range(len(EXCLUDED))]
    others = [one | name for one, name in zip(EXCLUDED.values(), names, strict=True)]
    tape = file_of("tape.jsonl", row(PROMPT, 3, written=2004), *others)
    log = file_of("log.jsonl", OPENING, GROWN, STEPS["rewind"][0])
    assert cli.run(["conformance", "--recordings", tape, "--traces", log, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"summary", "recordings", "traces"}
    shelf = told["recordings"]
    assert set(shelf) == {
        "marked",
        "unmarked",
        "counted",
        "reported",
        "outcomes",
        "predicted_figures",
        "rows",
        "compactions",
    }
    assert shelf["marked"] == len(shelf["rows"]) == sum(shelf["outcomes"].values())
    assert set(shelf["outcomes"]) == {"predicted", "learned", "excluded", "noise", "wrong"}
    fields = {"id", "outcome", "reason", "detail", "predicted", "recorded", "predicted_figures", "rules"}
    assert all(set(one) == fields for one in shelf["rows"])
    assert set(told["traces"]) == {"steps", "causes", "rows"}
    assert told["traces"]["causes"] == {cause: int(cause in ("identity", "rewind")) for cause in CAUSES}
    assert [one["id"] for one in told["traces"]["rows"]] == ["run#2"]


def test_the_page_lists_every_row_that_was_not_simply_predicted():
    found = replay(exchanges())
    lines = page(found, None).splitlines()
    for verdict in (*found.of("learned"), *found.of("excluded"), *found.of("noise")):
        assert any(line.strip().partition(": ")[0] == verdict.row for line in lines), verdict.row
    assert as_object(found, None)["traces"] is None


# --- compactions


def compacted(row_id: str):
    return next(one for one in compactions(exchanges()) if one.row == row_id)


def test_what_is_given_is_told_apart_from_what_is_predicted():
    one = compacted("langchain/test_compaction_streaming#1")
    assert one.given == {
        "summary: output": 154,
        "answer: output": 22,
        "summary: tokens when it is sent back": 123,
    }
    predicted = {figure.name: figure.predicted for figure in one.predicted}
    assert (predicted["summary: input"], predicted["answer: input"]) == (83_555, 224)
    assert not set(one.given) & set(predicted)


def test_every_recorded_compaction_comes_out_as_predicted_in_each_of_its_figures():
    found = compactions(exchanges())
    assert {
        row.id
        for row in exchanges()
        if row.usage and any(i.type == "compaction" for i in row.usage.iterations)
    } <= {
        *(one.row for one in found),
        "ai/anthropic-compaction.1#0",  # published without its request
    }
    assert [(one.row, one.wrong) for one in found if one.wrong] == []
    assert sum(len(one.predicted) for one in found) > 60


def test_of_a_cached_pass_the_split_is_predicted_and_a_warm_start_is_learned():
    cold, warm = (
        compacted(f"pydantic-ai/test_anthropic_compaction_usage_with_cache{name}#0")
        for name in ("", "_streaming")
    )
    split = {figure.name: figure.predicted for figure in cold.predicted}
    assert (split["summary: written"], split["summary: read"], split["summary: fresh"]) == (55_096, 0, 100)
    assert any(
        "55,096 were read" in one.removeprefix("summary: ").replace("of the cached 55,096 ", "")
        for one in warm.learned
    )


def moved(row_id: str, **figures: int) -> tuple[Exchange, ...]:
    """The recordings, with one pass of a row changed."""
    rows = []
    for row in exchanges():
        if row.id == row_id:
            first, *others = row.usage.iterations
            row = replace(row, usage=replace(row.usage, iterations=(replace(first, **figures), *others)))
        rows.append(row)
    return tuple(rows)


@pytest.mark.parametrize(
    ("row_id", "figures", "wrong"),
    [
        ("langchain/test_compaction#1", {"input_tokens": 83_554}, {"summary: input", "summary: fresh"}),
        ("langchain/test_compaction#2", {"input_tokens": 215}, {"answer: input", "top level: input"}),
        ("langchain/test_compaction#2", {"output_tokens": 9}, {"top level: output"}),
        ("langchain/test_compaction#1", {"output_tokens": 9}, set()),
    ],
)
def test_a_figure_that_is_off_by_one_is_wrong_and_a_given_one_is_not_compared(row_id, figures, wrong, capsys):
    replayed = replay(moved(row_id, **figures))
    (one,) = [one for one in replayed.compactions if one.row == row_id]
    assert {figure.name for figure in one.wrong} == wrong
    assert (f"WRONG {row_id}" in page(replayed, None)) is bool(wrong)
    assert page(replayed, None).splitlines()[-1] == replay(exchanges()).summary


def test_blocks_that_nobody_counted_predict_no_input():
    row = next(row for row in exchanges() if row.id == "langchain/test_compaction#1")
    (one,) = compactions(
        [replace(row, blocks=tuple(replace(block, content_tokens={}) for block in row.blocks))]
    )
    assert {figure.name for figure in one.predicted} == {"top level: input", "top level: output"}
    assert one.learned == ("summary: input 83,555, not counted",)


def test_the_page_and_the_object_list_given_and_predicted_apart():
    replayed = replay(exchanges())
    told = page(replayed, None)
    given, predicted = told.index("  given (scripted"), told.index("  predicted\n")
    assert told.index("requests with a compaction") < given < predicted
    rows = as_object(replayed, None)["recordings"]["compactions"]
    assert {tuple(row) for row in rows} == {("id", "given", "predicted", "learned")}
