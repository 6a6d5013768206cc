"""Verdicts: a labelled set, sessions with one injected cause a step, evidence taken away, and recordings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import recordings
from ctxlab.conformance import replay
from ctxlab.conformance.steps import Cause, steps
from ctxlab.diagnose import (
    COUNTER_TABLE,
    VERDICTS,
    Diagnosis,
    Exchange,
    compare_bytes,
    counters,
    diagnose,
    from_recording,
    from_session,
)
from ctxlab.errors import InvalidArgumentError
from ctxlab.prompt import Prompt, first_difference
from ctxlab.usage import Usage

from .diagnose_cases import CASES, Case, call_block
from .diagnosed import MARK, Stage, ask, assistant, text, tool, turn, user, without

#: Verdicts that rest on when requests started.
TIMED = {"expired", "not yet visible", "provider-side miss"}
Q = user(text("[30] the first question"))
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


# --- the labelled set


@by_name
def test_the_verdict_is_the_one_the_case_was_made_for(case: Case):
    found = diagnose(case.exchanges())[-1]
    assert (case.verdict, case.path or found.path) == (found.verdict, found.path), str(found)
    assert case.survived in (None, found.survived)
    assert case.code in (None, found.code)
    assert set(case.also) <= {cause.verdict for cause in found.causes[1:]}


def test_the_set_covers_every_verdict_and_is_large_enough():
    assert {case.verdict for case in CASES} == VERDICTS.keys() - {"unknown"}
    assert len(CASES) >= 40


def test_calls_before_the_last_one_of_each_case_are_diagnosed_too():
    found = [one for case in CASES for one in diagnose(case.exchanges())[:-1]]
    assert not [one for one in found if one.verdict == "unknown"]


@by_name
def test_without_times_nothing_that_needs_them_is_claimed(case: Case):
    bare = [without(one, "started_s", "responded_s") for one in case.exchanges()]
    found = diagnose(bare)[-1]
    if case.verdict in TIMED:
        assert found.verdict == "unknown"
        assert any("started_s" in place for place in found.missing)
    else:
        assert found.verdict == case.verdict


@by_name
def test_without_the_last_start_nothing_that_needs_it_is_claimed(case: Case):
    calls = case.exchanges()
    found = diagnose([*calls[:-1], without(calls[-1], "started_s")])[-1]
    if case.verdict in TIMED:
        assert (found.verdict, found.missing) == ("unknown", (f"exchanges[{len(calls) - 1}].started_s",))
    else:
        assert found.verdict == case.verdict


@by_name
def test_without_requests_a_verdict_is_the_same_or_names_them_as_missing(case: Case):
    found = diagnose([without(one, "request") for one in case.exchanges()])[-1]
    if found.verdict == "hit":  # nearly all was read, whatever the rest was lost to
        assert (found.lost_tokens or 0) * 50 <= (found.left_tokens or 0)
    elif found.verdict == "unknown":
        assert any(".request" in place for place in found.missing)
    else:
        assert found.verdict in {case.verdict, *case.also} | SAME_IN_FIGURES.get(case.verdict, set()), str(
            found
        )


#: A log of figures shows a short prompt and not whether it was marked, and a cleared result as a shorter one.
SAME_IN_FIGURES = {"no marker": {"below floor"}, "prefix changed": {"history shortened"}}


@by_name
def test_without_usage_nothing_is_said(case: Case):
    calls = case.exchanges()
    found = diagnose([*calls[:-1], without(calls[-1], "usage")])[-1]
    assert (found.verdict, found.missing) == ("unknown", (f"exchanges[{len(calls) - 1}].usage",))


def test_without_one_of_two_workspaces_a_miss_is_not_the_providers():
    stage = Stage().call(ask(Q)).forget().call(ask(Q))
    first, second = stage.exchanges
    found = diagnose([first, without(second, "workspace")])[1]
    assert (found.verdict, found.missing) == ("unknown", ("exchanges[1].workspace",))


def test_where_no_workspace_is_named_a_providers_miss_says_what_it_takes_for_granted():
    stage = Stage().call(ask(Q)).forget().call(ask(Q))
    found = diagnose([without(one, "workspace") for one in stage.exchanges])[1]
    assert found.verdict == "provider-side miss"
    assert found.assumed[0].startswith("exchanges[*].workspace")


def test_without_the_first_byte_of_the_writer_a_repeated_request_may_have_come_too_early():
    stage = Stage().call(ask(Q)).forget().call(ask(Q))
    first, second = stage.exchanges
    found = diagnose([without(first, "responded_s"), second])[1]
    assert (found.verdict, found.missing) == ("unknown", ("exchanges[0].responded_s",))


def test_a_request_that_holds_the_answer_has_waited_for_it():
    stage = Stage().call(ask(Q)).forget().call(ask(Q, *turn(1)))
    first, second = stage.exchanges
    assert diagnose([without(first, "responded_s"), second])[1].verdict == "provider-side miss"


# --- sessions with one cause a step

OPS = [
    "hit",
    "expired",
    "model changed",
    "parameter changed",
    "other workspace",
    "clock",
    "edit",
    "tool order",
    "history shortened",
    "not yet visible",
    "lookback exceeded",
    "no marker",
    "provider-side miss",
]
TRUTH = {"clock": "prefix changed", "edit": "prefix changed", "tool order": "prefix changed"}


class Session:
    """A session of an agent; every operation makes one thing happen, whose verdict is then known."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.truth: list[str] = []
        self.history: list[dict[str, Any]] = [Q]
        self.turns = 0
        self.second = 31
        self.model, self.effort, self.workspace = "claude-opus-5-5", "high", "w1"
        self.tools = [tool("a"), tool("b"), tool("c")]
        self.must_append = False
        self._call("cold start")

    def _body(self, **more: Any) -> dict[str, Any]:
        now = f"{self.second // 60:02}:{self.second % 60:02}"
        return ask(
            *self.history,
            model=self.model,
            tools=self.tools,
            system=[text(f"[1500] the rules; now 2026-03-06 14:{now}")],
            output_config={"effort": self.effort},
            **more,
        )

    def _call(self, truth: str, **more: Any) -> None:
        self.stage.call(self._body(**more), self.workspace)
        self.truth.append(truth)

    def _append(self, *blocks: dict[str, Any]) -> None:
        self.turns += 1
        self.history = [*self.history, *turn(self.turns)]
        if blocks:
            self.history[-1] = user(*blocks)

    def step(self, op: str, wait_s: int) -> None:
        if self.must_append or (op in ("edit", "history shortened") and len(self.history) < 5):
            op = "hit"
        if self.must_append or op == "no marker":
            wait_s = min(wait_s, 100)  # what is not marked refreshes nothing
        self.must_append = op == "no marker"
        self.stage.wait(300 if op == "expired" else wait_s)
        more: dict[str, Any] = {}
        if op == "history shortened":
            self.history = self.history[:-4]
        if op == "lookback exceeded":
            self._append(*(text(f"[5] note {self.turns}.{n}") for n in range(25)))
        else:
            self._append()
        if op == "model changed":
            self.model = {"claude-opus-5-5": "claude-sonnet-5-5"}.get(self.model, "claude-opus-5-5")
        elif op == "parameter changed":
            self.effort = {"high": "low"}.get(self.effort, "high")
        elif op == "other workspace":
            self.workspace = {"w1": "w2"}.get(self.workspace, "w1")
        elif op == "clock":
            self.second += 1
        elif op == "tool order":
            self.tools = [*self.tools[1:], self.tools[0]]
        elif op == "edit":
            self.history[2] = user(text(f"[40] said otherwise, {self.turns}"))
        elif op == "no marker":
            more = {"cache_control": ...}
        elif op == "provider-side miss":
            self.stage.forget()
        if op == "not yet visible":
            running = [self.stage.send(self._body(), self.workspace) for _ in range(2)]
            self.stage.wait(1)
            for one in running:
                self.stage.answer(one)
            self.stage.wait(1)
            self.truth += ["hit", "not yet visible"] if self._is_new() else ["hit", "hit"]
        else:
            self._call(TRUTH.get(op, op), **more)

    def _is_new(self) -> bool:
        """Whether the second of two at once wrote what the first was about to leave."""
        return self.stage.exchanges[-1].usage.cache_creation_input_tokens > 0


steps_of_a_session = st.lists(st.tuples(st.sampled_from(OPS), st.integers(1, 250)), min_size=1, max_size=10)


@given(steps_of_a_session)
@settings(max_examples=60, deadline=None)
def test_every_verdict_is_the_cause_that_was_put_there(ops):
    session = Session()
    for op, wait_s in ops:
        session.step(op, wait_s)
    found = diagnose(session.stage.exchanges)
    for truth, one in zip(session.truth, found, strict=True):
        assert is_the_cause(truth, one, session.stage.exchanges), [truth, *map(str, found)]


@given(steps_of_a_session)
@settings(max_examples=30, deadline=None)
def test_without_times_each_verdict_is_the_cause_or_says_that_they_are_missing(ops):
    session = Session()
    for op, wait_s in ops:
        session.step(op, wait_s)
    bare = [without(one, "started_s", "responded_s") for one in session.stage.exchanges]
    for truth, one in zip(session.truth, diagnose(bare), strict=True):
        if truth in TIMED:
            assert one.verdict == "unknown"
            assert any("started_s" in place for place in one.missing)
        else:
            assert is_the_cause(truth, one, session.stage.exchanges)


def is_the_cause(truth, one, exchanges) -> bool:
    """A history cut back to a request that nothing went on from is, byte for byte, that request going on."""
    if (truth, one.verdict) != ("history shortened", "hit"):
        return truth == one.verdict
    before, now = (Prompt.from_request(exchanges[at].request) for at in (one.compared_with, one.index))
    difference = first_difference(before, now)
    return difference is not None and difference.appended


def test_a_history_cut_back_to_a_request_nothing_went_on_from_is_that_request_going_on():
    session = Session()
    for op in (*["tool order"] * 3, *["history shortened"] * 2):
        session.step(op, 1)
    last = diagnose(session.stage.exchanges)[-1]
    assert (last.verdict, last.compared_with, last.survived) == ("hit", 0, "all")
    assert is_the_cause("history shortened", last, session.stage.exchanges)


# --- figures alone


def rows(*figures: tuple[int, int, int], **more: Any) -> list[Exchange]:
    """(read, written, fresh) of each call, a minute apart."""
    return [
        Exchange(
            usage=Usage.from_response(
                {
                    "input_tokens": fresh,
                    "output_tokens": 1,
                    "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": written,
                    "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
                }
            ),
            started_s=60.0 * i,
            responded_s=60.0 * i + 2,
            model="claude-opus-4-5",
            **more,
        )
        for i, (read, written, fresh) in enumerate(figures)
    ]


def test_rewind_idle_gap_and_model_switch_are_told_apart_in_a_log_of_figures():
    calls = rows((0, 50_000, 3), (50_000, 2_000, 3), (30_000, 0, 900), (0, 31_000, 3), (0, 32_000, 3))
    times = (0.0, 60.0, 120.0, 480.0, 540.0)
    calls = [replace(one, started_s=at) for one, at in zip(calls, times, strict=True)]
    calls[-1] = replace(calls[-1], model="claude-sonnet-4-5")
    expected = ["cold start", "hit", "history shortened", "expired", "model changed"]
    assert expected == [one.verdict for one in diagnose(calls)]


def test_a_gap_counts_from_start_to_start():
    calls = rows((0, 50_000, 3), (0, 52_000, 3))
    late = replace(calls[0], started_s=0.0, responded_s=280.0), replace(calls[1], started_s=300.0)
    assert diagnose(late)[1].verdict == "expired"
    soon = replace(calls[0], started_s=0.0, responded_s=1.0), replace(calls[1], started_s=299.9)
    assert diagnose(soon)[1].verdict == "unknown"


def test_two_causes_at_once_are_both_told():
    calls = rows((0, 129_893, 3), (0, 109_917, 10))
    calls = [calls[0], replace(calls[1], model="claude-sonnet-4-5", started_s=727.0)]
    assert [cause.verdict for cause in diagnose(calls)[1].causes] == ["model changed", "expired"]


def test_a_miss_that_figures_do_not_explain_names_the_requests():
    found = diagnose(rows((0, 50_000, 3), (0, 52_000, 3)))[1]
    assert found.verdict == "unknown"
    assert found.missing == ("exchanges[0].request", "exchanges[1].request")


def test_a_part_that_was_read_is_said_to_have_survived():
    found = diagnose(rows((0, 213_366, 3), (212_634, 5_071, 3)))[1]
    assert (found.verdict, found.survived, found.lost_tokens) == ("hit", "part", 732)


@pytest.mark.parametrize(
    ("read", "written", "word"),
    [(0, 0, "nothing was ever stored"), (0, 9, "again"), (9, 0, "alive"), (9, 9, "partly alive")],
)
def test_each_pair_of_counters_has_its_row(read, written, word):
    row = counters(read, written)
    assert word in row.means
    assert row in COUNTER_TABLE
    assert (row.read, row.written) == (read > 0, written > 0)


def test_counters_below_zero_are_refused():
    with pytest.raises(InvalidArgumentError, match="read"):
        counters(-1, 0)


# --- the API's own reason


def _told(body: dict[str, Any], reason: str) -> Diagnosis:
    stage = Stage().call(ask(Q, system=[text("[1500] a", cache_control=MARK)])).call(body)
    first, second = stage.exchanges
    return diagnose([first, replace(second, cache_miss_reason={"cache_miss_reason": {"type": reason}})])[1]


@pytest.mark.parametrize(
    ("system", "reason", "expected"),
    [
        ("[1500] b", "system_changed", "agrees"),
        ("[1500] b", "tools_changed", "contradicts"),
        ("[1500] a", "messages_changed", "contradicts"),
        ("[1500] b", "previous_message_not_found", "says nothing"),
        ("[1500] b", "model_changed", "contradicts"),
    ],
)
def test_the_reason_of_the_api_stands_beside_ours(system, reason, expected):
    found = _told(ask(Q, *turn(1), system=[text(system, cache_control=MARK)]), reason)
    assert (found.api_reason, found.agreement) == (reason, expected)


def test_a_late_change_agrees_with_the_api_though_all_was_read():
    system = [text("[1500] a", cache_control=MARK)]
    found = _told(
        ask(user(text("[30] another question")), system=system, cache_control=...), "messages_changed"
    )
    assert (found.verdict, found.agreement) == ("hit", "agrees")
    assert any("late change" in note or "another conversation" in note for note in found.notes)


def test_every_recorded_reason_is_compatible_with_our_verdict():
    told = [one for session in recordings.sessions() for one in diagnose(from_session(session))]
    for rows_of_one in recordings.sequences().values():
        told += diagnose(from_recording(row) for row in rows_of_one if row.usage is not None)
    reasons = [one for one in told if one.api_reason is not None]
    assert len(reasons) >= 9
    assert {one.agreement for one in reasons} <= {"agrees", "compatible", "says nothing"}


def test_the_recorded_late_change_is_no_miss():
    session = recordings.session("esdeveniments-frontend/session-7174eabb")
    found = diagnose(from_session(session))[108]
    assert (found.verdict, found.survived) == ("hit", "part")
    assert found.read_tokens == session.turns[108].usage.cache_read_input_tokens
    assert found.api_reason == "messages_changed"


# --- recordings

#: What the steps of the conformance suite call a cause, and how it may be called here.
SAME: dict[Cause, set[str]] = {
    "identity": {"hit", "cold start"},
    "unlogged request in between": {"hit"},
    "expired": {"expired", "history shortened"},
    "compaction": {"history shortened"},
    "rewind": {"history shortened"},
    "model switch": {"model changed"},
    "near-hit": {"hit", "history shortened"},
    "no evidence": {"unknown", "history shortened"},
}


def test_sessions_are_judged_as_the_conformance_suite_judges_their_steps():
    causes = {step.id: step for step in steps(recordings.sessions())}
    for session in recordings.sessions():
        for turn_, found in zip(session.turns, diagnose(from_session(session)), strict=True):
            step = causes.get(f"{session.name}#{turn_.index}")
            if step is not None:
                assert found.verdict in SAME[step.cause], f"{step}: {found}"
                if step.cause == "expired":
                    assert "expired" in {cause.verdict for cause in found.causes}


def test_whatever_stays_unknown_in_recordings_names_what_is_missing():
    found = [one for session in recordings.sessions() for one in diagnose(from_session(session))]
    found += [
        one
        for rows_of_one in recordings.sequences().values()
        for one in diagnose(from_recording(row) for row in rows_of_one if row.usage is not None)
    ]
    verdicts = Counter(one.verdict for one in found)
    assert all(one.missing for one in found if one.verdict == "unknown")
    assert not any(one.missing for one in found if one.verdict != "unknown")
    assert verdicts["hit"] > verdicts["unknown"] > 0


def test_recorded_rows_that_missed_an_identical_prefix_are_not_called_changed():
    noise = {one.row for one in replay(recordings.exchanges()).of("noise")}
    found: dict[str, Diagnosis] = {}
    for rows_of_one in recordings.sequences().values():
        kept = [row for row in rows_of_one if row.usage is not None and row.endpoint == "messages"]
        found |= {row.id: one for row, one in zip(kept, diagnose(map(from_recording, kept)), strict=True)}
    assert noise
    for row in noise:
        assert found[row].verdict == "unknown"
        assert any("started_s" in place for place in found[row].missing)


# --- bad input, other forms


def test_sdk_objects_prompts_and_bodies_are_all_evidence():
    stage = Stage().call(ask(Q)).wait(400).call(ask(Q, *turn(1)))
    as_prompts = [replace(one, request=Prompt.from_request(one.request)) for one in stage.exchanges]
    assert [one.verdict for one in diagnose(as_prompts)] == ["cold start", "expired"]


def test_an_answer_tells_its_id_model_and_diagnosis_too():
    answer = {
        "id": "msg_1",
        "model": "claude-opus-5-5",
        "usage": {"input_tokens": 3, "output_tokens": 1},
        "diagnostics": {"cache_miss_reason": {"type": "unavailable"}},
    }
    exchange = Exchange(usage=answer)
    assert (exchange.response_id, exchange.model) == ("msg_1", "claude-opus-5-5")
    assert diagnose([exchange])[0].api_reason == "unavailable"


def test_a_request_that_cannot_be_read_is_named_and_the_others_are_judged():
    calls = Stage().call(ask(Q)).call(ask(Q, *turn(1))).exchanges
    broken = replace(calls[1], request={"model": "claude-opus-5-5", "messages": [{"role": "user"}]})
    found = diagnose([calls[0], broken])
    assert found[0].verdict == "cold start"
    assert "messages[0].content" in found[1].notes[0]


def test_what_is_no_exchange_is_refused_with_its_place():
    with pytest.raises(InvalidArgumentError, match=r"exchanges\[1\]"):
        diagnose([Exchange(), {"usage": {}}])  # type: ignore[list-item]


def test_a_time_that_is_none_is_refused_with_its_place():
    with pytest.raises(InvalidArgumentError, match=r"exchanges\[0\].started_s"):
        diagnose([Exchange(started_s=float("nan"))])


def test_a_model_nobody_knows_is_judged_by_what_does_not_depend_on_it():
    usage = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 5_000}
    calls = [
        Exchange(ask(user(text("[30] at 10:41:07")), model="claude-new-9"), usage, 0.0, 1.0),
        Exchange(ask(user(text("[30] at 10:41:12")), model="claude-new-9"), usage, 5.0, 6.0),
    ]
    assert [one.verdict for one in diagnose(calls)] == ["cold start", "prefix changed"]


def test_exchanges_of_one_name_are_compared_whatever_they_share():
    usage = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 5_000}
    bodies = [ask(user(text("one")), system=[text("a")]), ask(user(text("two")), system=[text("b")])]
    apart = [Exchange(body, usage, i, i + 0.5) for i, body in enumerate(bodies)]
    together = [replace(one, conversation="x") for one in apart]
    assert [one.verdict for one in diagnose(apart)] == ["cold start", "cold start"]
    assert [one.verdict for one in diagnose(together)] == ["cold start", "prefix changed"]


def test_no_calls_have_no_verdicts():
    assert diagnose([]) == ()


# --- step three, three ways


def test_a_sorted_dump_is_blind_to_keys_in_another_order():
    first, second = (ask(Q, assistant(call_block(**given))) for given in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    views = compare_bytes(first, second)
    assert views.sorted_is_blind
    assert views.as_sent is not None
    assert views.as_sent.field == "messages"


def test_a_sorted_dump_points_at_the_messages_when_a_tool_was_added_too():
    views = compare_bytes(ask(Q, tools=[tool("a")]), ask(Q, *turn(1), tools=[tool("a"), tool("b")]))
    assert views.sorted_points_elsewhere
    assert views.sorted_dump is not None
    assert views.in_render_order is not None
    assert (views.sorted_dump.field, views.in_render_order.segment) == ("messages", "tools")


def test_equal_bodies_are_identical_in_every_way():
    views = compare_bytes(ask(Q), ask(Q))
    assert (views.as_sent, views.in_render_order, views.sorted_dump) == (None, None, None)
    assert not views.sorted_is_blind
    assert not views.sorted_points_elsewhere


# --- what the server does on the way


def test_of_an_answer_with_a_summary_the_counters_of_the_prompt_as_sent_count():
    usage = {
        "input_tokens": 229,
        "output_tokens": 9,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "iterations": [
            {
                "type": "compaction",
                "input_tokens": 100,
                "output_tokens": 83,
                "cache_read_input_tokens": 55_096,
                "cache_creation_input_tokens": 0,
            },
            {"type": "message", "input_tokens": 229, "output_tokens": 9},
        ],
    }
    first = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 55_096}
    found = diagnose([Exchange(usage=first), Exchange(usage=usage)])[1]
    assert (found.verdict, found.read_tokens, found.survived) == ("hit", 55_096, "all")


def test_a_miss_of_a_request_that_lets_the_server_clear_asks_what_it_cleared():
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    body = ask(Q, context_management=edits)
    figures = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 5_000}
    calls = [Exchange(body, figures, 0.0, 1.0), Exchange(body, figures, 5.0, 6.0)]
    found = diagnose(calls)[1]
    assert (found.verdict, found.missing) == ("unknown", ("exchanges[1].applied_edits",))
    told = [replace(one, applied_edits=[]) for one in calls]
    assert diagnose(told)[1].verdict == "provider-side miss"


def test_server_tool_loops_add_up_prompts_and_hold_nobody_to_their_sum():
    loop = {"input_tokens": 9, "output_tokens": 9, "cache_read_input_tokens": 20_443}
    loop["server_tool_use"] = {"web_search_requests": 2}
    first = {"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 11_000}
    calls = [
        Exchange(ask(Q), first, 0.0, 1.0),
        Exchange(ask(Q, *turn(1)), loop, 5.0, 6.0),
        Exchange(ask(Q, *turn(1), *turn(2)), first | {"cache_read_input_tokens": 11_100}, 9.0, 10.0),
    ]
    assert [one.verdict for one in diagnose(calls)] == ["cold start", "hit", "hit"]
