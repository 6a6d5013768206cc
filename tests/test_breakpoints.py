"""Promises of ctxlab.breakpoints: which markers are wrong and in whose words, and where they should stand.

The judge of a plan is :mod:`ctxlab.cache`, in both readings of what a run of tool blocks counts. The field
cases PC-04, -05, -07, -08 and -14 are public reports of 2025 and 2026, cut down to their kind.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from anthropic import NOT_GIVEN, omit
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ctxlab.breakpoints import MARKER_RULES, lifetime, places, plan, validate, with_markers
from ctxlab.cache import LIFETIME_S, MAX_MARKERS, CacheRules, Layout, Plan, PromptCache, can_carry_marker
from ctxlab.catalogue import get_model, models
from ctxlab.clock import ManualClock
from ctxlab.cost import bill, break_evens
from ctxlab.errors import (
    InvalidArgumentError,
    InvalidRequestError,
    UnknownModelError,
    UnpricedModelError,
)
from ctxlab.prompt import Prompt
from ctxlab.recordings import exchange, exchanges
from ctxlab.tokens import count
from tests.rebuilt import request_of
from tests.strategies import marked_requests

MODEL = "claude-opus-4-8"
CC = {"type": "ephemeral"}
CC1H = {"type": "ephemeral", "ttl": "1h"}


def text(words: str = "Hello.", **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def tool(name: str = "read", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "d" * 6000, "input_schema": {"type": "object"}, **more}


def call(n: object, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{n}", "name": "read", "input": {"n": str(n)}, **more}


def result(n: object, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"{n} " * 200, **more}


def thinking(**more: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "Hm.", "signature": "s", **more}


def user(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), **more}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def request(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": list(messages), **fields}


def tool_loop(steps: int, **fields: Any) -> dict[str, Any]:
    """One question, then ``steps`` calls with their results; large enough for every floor."""
    fixed = {"tools": [tool()], "system": "Be brief. " * 600}
    body = request(user(text("Read it all. " * 50)), **{**fixed, **fields})
    for n in range(steps):
        body["messages"] += [assistant(call(n)), user(result(n))]
    return body


def paths(planned: Any) -> list[str]:
    return [marker.path for marker in planned.markers]


def jobs(planned: Any) -> list[str]:
    return [marker.job for marker in planned.markers]


def said(planned: Any, path: str) -> str:
    return " | ".join(str(reason) for reason in planned.reasons if reason.path == path)


class Judge:
    """Sends requests to the cache, one after another, and keeps what became of them."""

    def __init__(self, rules: CacheRules | None = None):
        self.clock = ManualClock()
        self.cache = PromptCache(self.clock, rules)

    def send(self, body: dict[str, Any], after_s: float = 30.0) -> Plan:
        self.clock.advance(after_s)
        prompt = Prompt.from_request(body)
        sizes = count(prompt, body["model"])
        layout = Layout.from_prompt(
            prompt, sizes.cumulative, total_tokens=sizes.total, rules=self.cache.rules
        )
        found = self.cache.lookup(layout)
        self.cache.commit(found)
        return found


BOTH_READINGS = pytest.mark.parametrize("runs", ["one", "each"])


# --- validate: every rule fires, in the API's words

WRONG: dict[str, list[tuple[dict[str, Any], str, str]]] = {
    "marker-carrier": [
        (
            request(user(text()), assistant(thinking(cache_control=CC), text()), user(text())),
            "messages[1].content[0].cache_control",
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            request(user(text()), assistant({"type": "redacted_thinking", "data": "x", "cache_control": CC})),
            "messages[1].content[0].cache_control",
            "messages.1.content.0.redacted_thinking.cache_control: Extra inputs are not permitted",
        ),
        (
            request(user(text(), cache_control=CC)),
            "messages[0].cache_control",
            "messages.0.cache_control: Extra inputs are not permitted",
        ),
        (
            request(user(text(citations=[{"type": "char_location", "cache_control": CC}]))),
            "messages[0].content[0].citations[0].cache_control",
            "messages.0.content.0.text.citations.0.cache_control: Extra inputs are not permitted",
        ),
        (
            request(user({"type": "image", "source": {"type": "base64", "cache_control": CC}})),
            "messages[0].content[0].source.cache_control",
            "messages.0.content.0.image.source.cache_control: Extra inputs are not permitted",
        ),
    ],
    "marker-shape": [
        (
            request(user(text(cache_control="ephemeral"))),
            "messages[0].content[0].cache_control",
            "is 'ephemeral', not an object",
        ),
    ],
    "marker-type": [
        (
            request(user(text()), system=[text(cache_control={"type": "persistent"})]),
            "system[0].cache_control.type",
            "system.0.cache_control: Input tag 'persistent' found using 'type' does not match any of the "
            "expected tags: 'ephemeral'",
        ),
    ],
    "marker-ttl": [
        (
            request(user(text(cache_control={"type": "ephemeral", "ttl": 3600}))),
            "messages[0].content[0].cache_control.ttl",
            "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
        (
            request(user(text()), cache_control={"type": "ephemeral", "ttl": "2h"}),
            "cache_control.ttl",
            "cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
    ],
    "marker-field": [
        (
            request(user(text()), system=[text(), text(cache_control={**CC, "scope": "global"})]),
            "system[1].cache_control.scope",
            "system.1.cache_control.ephemeral.scope: Extra inputs are not permitted",
        ),
    ],
    "empty-text": [
        (
            request(user(text()), system=[text("", cache_control=CC)]),
            "system[0].cache_control",
            "system.0: cache_control cannot be set for empty text blocks",
        ),
        (
            request(user(result(1, content=[text("", cache_control=CC)]))),
            "messages[0].content[0].content[0].cache_control",
            "messages.0.content.0.tool_result.content.0.text: cache_control cannot be set for empty text "
            "blocks",
        ),
    ],
    "marker-on-deferred": [
        (
            request(user(text()), tools=[tool(), tool("late", defer_loading=True, cache_control=CC)]),
            "tools[1].cache_control",
            "Tool 'late' cannot have both defer_loading=true and cache_control set. Tools with defer_loading "
            "cannot use prompt caching.",
        ),
    ],
    "long-first": [
        (
            request(user(text()), tools=[tool(cache_control=CC)], system=[text(cache_control=CC1H)]),
            "system[0].cache_control.ttl",
            "system.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
            "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
            "`messages`.",
        ),
        (
            request(user(text()), system=[text(cache_control=CC)], cache_control=CC1H),
            "cache_control.ttl",
            "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control "
            "block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
        ),
    ],
    "automatic-conflict": [
        (
            request(user(text(cache_control=CC1H)), cache_control=CC),
            "cache_control.ttl",
            "asks for 5m on messages[0].content[0], which is marked with 1h",
        ),
    ],
    "four-markers": [
        (
            request(
                user(*[text(cache_control=CC)] * 2),
                tools=[tool(cache_control=CC)],
                system=[text(cache_control=CC)] * 2,
            ),
            "messages[0].content[1].cache_control",
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            request(user(text(), text()), system=[text(cache_control=CC)] * 4, cache_control=CC),
            "cache_control",
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            request(user(result(1, content=[text(cache_control=CC)] * 5))),
            "messages[0].content[0].content[4].cache_control",
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ],
}


@pytest.mark.parametrize(
    ("rule", "body", "path", "message"),
    [(rule, *case) for rule, cases in WRONG.items() for case in cases],
)
def test_a_fault_names_its_place_its_rule_and_what_the_api_says(rule, body, path, message):
    before = copy.deepcopy(body)
    [problem] = validate(body)
    assert (problem.rule, problem.path, problem.message) == (rule, path, message)
    assert problem.fix
    assert body == before


def test_every_rule_has_a_fault_that_shows_it():
    assert set(WRONG) == set(MARKER_RULES)


RIGHT = {
    "text beside thinking": request(
        user(text()), assistant(thinking(), text(cache_control=CC)), user(text())
    ),
    "a call's own argument of that name": request(assistant(call(1, input={"cache_control": "no-store"}))),
    "a schema's own field of that name": request(
        user(text()), tools=[tool(input_schema={"properties": {"cache_control": {"type": "string"}}})]
    ),
    "null": request(user(text(cache_control=None), cache_control=None), cache_control=None),
    "an empty text without one": request(user(text(""), text(cache_control=CC))),
    "a tool that is deferred, without one": request(
        user(text()), tools=[tool(cache_control=CC), tool("late", defer_loading=True)]
    ),
    "blocks inside a result": request(user(result(1, content=[text(cache_control=CC)]))),
    "server tools, toolsets and files": request(
        user(
            {"type": "document", "source": {}, "cache_control": CC},
            {"type": "container_upload", "file_id": "f"},
        ),
        tools=[
            {"type": "web_search_20260318", "name": "web_search", "cache_control": CC},
            {"type": "mcp_toolset", "mcp_server_name": "s", "cache_control": CC},
        ],
    ),
    "an hour before five minutes": request(
        user(text(cache_control=CC)), tools=[tool(cache_control=CC1H)], system=[text(cache_control=CC1H)]
    ),
    "an hour everywhere": request(user(text(cache_control=CC1H)), system=[text(cache_control=CC1H)]),
    "four": request(user(*[text(cache_control=CC)] * 2), system=[text(cache_control=CC)] * 2),
    "three and the automatic one": request(
        user(text()), system=[text(cache_control=CC)] * 3, cache_control=CC
    ),
    "an automatic one that agrees": request(user(text(cache_control=CC1H)), cache_control=CC1H),
    "an automatic one that finds no place": request(assistant(thinking()), cache_control=CC),
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_legal_is_left_in_peace(body):
    assert validate(body) == []


@pytest.mark.parametrize(
    ("row", "body"),
    [
        ("reported/error-too_many_cache_control-0#0", WRONG["four-markers"][0][0]),
        (
            "reported/error-ttl_order-2#0",
            request(user(*[text()] * 4, text(cache_control=CC1H)), system=[text(cache_control=CC)]),
        ),
        (
            "reported/error-empty_text-4#0",
            request(*[user(text())] * 1124, user(*[text()] * 6, text("", cache_control=CC))),
        ),
    ],
)
def test_the_words_are_those_of_the_recorded_errors(row, body):
    assert validate(body)[0].message == exchange(row).error.message


def test_no_recorded_request_that_was_answered_has_a_fault():
    answered = [row for row in exchanges() if row.request_known and row.blocks and row.status == 200]
    marked = [row for row in answered if any(b.cache_control for b in row.blocks)]
    assert len(marked) > 100
    assert [row.id for row in answered if validate(request_of(row))] == []


def test_every_block_type_the_cache_knows_as_unmarkable_is_one_here():
    kinds = ["thinking", "redacted_thinking", "text", "tool_result", "compaction"]
    body = request(assistant(*({"type": kind, "text": "x", "content": "x"} for kind in kinds)))
    blocks = [place for place in places(body) if place.level == "block"]
    as_blocks = Prompt.from_request(body).blocks
    assert [place.can_carry for place in blocks] == [can_carry_marker(block) for block in as_blocks]


@pytest.mark.parametrize(
    "body",
    [{}, {"messages": None}, {"messages": [None, 3, "x"], "tools": "x", "system": 7}, {"messages": {}}],
)
def test_what_cannot_be_read_is_passed_over(body):
    assert validate(body) == []


def test_objects_of_the_sdk_are_read_like_dicts():
    from anthropic.types import TextBlock, ThinkingBlock

    answer = [ThinkingBlock(type="thinking", thinking="", signature="s"), TextBlock(type="text", text="Hi")]
    body = request(user(text()), {"role": "assistant", "content": answer}, user(text("x" * 9000)))
    assert validate(body) == []
    planned = plan(body, next_turns=9, gap_s=30, volatile_blocks=1)
    assert paths(planned) == []  # too short without the last block
    assert with_markers(body, {"messages[1].content[1]": "5m"})["messages"][1]["content"] == [
        answer[0],
        {"type": "text", "text": "Hi", "cache_control": CC},
    ]


# --- plan: what holds for every request

plans = st.fixed_dictionaries(
    {
        "next_turns": st.integers(0, 5),
        "gap_s": st.sampled_from([0, 30, 299.9, 300, 420, 3599, 4000]),
        "keep_user_markers": st.sampled_from(["fixed", "all", "none"]),
        "expected_reads": st.integers(0, 3),
        "volatile_blocks": st.integers(0, 1),
        "previous_ttl": st.sampled_from([None, "5m", "1h"]),
    }
)
slow = settings(suppress_health_check=[HealthCheck.too_slow])


@slow
@given(marked_requests(), plans)
def test_a_plan_is_legal_at_most_four_and_changes_no_content(body, arguments):
    before = copy.deepcopy(body)
    planned = plan(body, **arguments)
    assert body == before
    assert validate(planned.request) == []
    assert len(planned.markers) <= MAX_MARKERS
    assert Prompt.from_request(planned.request).chain() == Prompt.from_request(body).chain()
    standing = [
        (place.path, place.marker.get("ttl", "5m"))
        for place in places(planned.request)
        if place.marker is not None
    ]
    assert standing == [(marker.path, marker.ttl) for marker in planned.markers]


@slow
@given(marked_requests(), plans)
def test_planning_a_plan_again_changes_nothing(body, arguments):
    once = plan(body, **arguments)
    again = plan(once.request, **arguments)
    assert again.request == once.request
    assert again.markers == once.markers


@slow
@given(marked_requests(), plans)
def test_every_marker_given_or_set_has_its_reason(body, arguments):
    planned = plan(body, **arguments)
    told = {(reason.path, reason.decision) for reason in planned.reasons}
    given_places = [place.path for place in places(body) if place.marker is not None]
    for marker in planned.markers:
        assert {(marker.path, "marked"), (marker.path, "kept")} & told
    for path in set(given_places) - set(paths(planned)):
        assert (path, "removed") in told


@slow
@given(marked_requests(legal=True), plans)
def test_the_callers_legal_markers_on_tools_and_system_stay_while_slots_last(body, arguments):
    assume(not validate(body))
    planned = plan(body, **{**arguments, "keep_user_markers": "fixed"})
    fixed = [place.path for place in places(body) if place.marker is not None and place.segment != "messages"]
    for_messages = sum(path.startswith("messages") for path in paths(planned))
    kept = fixed[max(0, len(fixed) + for_messages - MAX_MARKERS) :]
    assert set(kept) <= set(paths(planned))


# --- plan: the places


def test_tools_end_system_end_and_a_moving_tail():
    planned = plan(tool_loop(2), next_turns=9, gap_s=30)
    assert [(m.path, m.ttl, m.job) for m in planned.markers] == [
        ("tools[0]", "5m", "tools-end"),
        ("system[0]", "5m", "system-end"),
        ("messages[4].content[0]", "5m", "tail"),
    ]


def test_parallel_results_get_one_marker_between_them():
    body = tool_loop(1)
    body["messages"] += [assistant(*map(call, "abc")), user(*map(result, "abc"))]
    planned = plan(body, next_turns=9, gap_s=30)
    assert [path for path in paths(planned) if path.startswith("messages")] == ["messages[4].content[2]"]


@pytest.mark.parametrize(("blocks", "extra"), [(17, False), (18, False), (19, True), (25, True)])
@BOTH_READINGS
def test_a_turn_that_falls_out_of_the_lookback_is_rescued_where_the_last_one_ended(blocks, extra, runs):
    # 20 positions are looked at, the marked one included: with the answer, 18 new blocks are the most
    judge = Judge(CacheRules(tool_run_positions=runs))
    body = tool_loop(0)
    sent = judge.send(plan(body, next_turns=2, gap_s=30).request)
    body["messages"] += [assistant(text("Yes?")), user(*(text(f"{n} " * 40) for n in range(blocks)))]
    planned = plan(body, next_turns=1, gap_s=30)
    assert ("previous-end" in jobs(planned)) == extra
    bare = with_markers(planned.request, {planned.markers[-1].path: "5m"})
    for candidate, reads in ((planned.request, True), (bare, not extra)):
        prompt = Prompt.from_request(candidate)
        sizes = count(prompt, MODEL)
        layout = Layout.from_prompt(prompt, sizes.cumulative, total_tokens=sizes.total)
        read = judge.cache.lookup(layout).read_tokens
        assert read == (sent.written_5m_tokens if reads else 0)


def test_where_the_previous_request_ended_is_seen_behind_thinking_and_system_messages():
    body = tool_loop(1)
    body["messages"] += [
        assistant(thinking(), text("Done.")),
        user(*(text(f"{n}") for n in range(25))),
        {"role": "system", "content": "The user is in a hurry."},
    ]
    planned = plan(body, next_turns=9, gap_s=30)
    assert paths(planned)[-2:] == ["messages[2].content[0]", "messages[5].content[0]"]
    assert jobs(planned)[-2:] == ["previous-end", "tail"]


def test_a_tail_does_not_stand_on_what_will_not_be_sent_again():
    body = tool_loop(1)
    body["messages"].append(user(text("Found: …"), text("It is 10:41. What now?")))
    assert paths(plan(body, next_turns=9, gap_s=30))[-1] == "messages[3].content[1]"
    assert paths(plan(body, next_turns=9, gap_s=30, volatile_blocks=2))[-1] == "messages[2].content[0]"


def test_a_tail_does_not_stand_on_a_text_that_the_answer_will_grow_out_of():
    body = tool_loop(1)
    body["messages"] += [user(text("As JSON.")), assistant(text("{"))]
    assert paths(plan(body, next_turns=9, gap_s=30))[-1] == "messages[3].content[0]"
    paused = tool_loop(1)
    paused["messages"].append(
        assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})
    )
    assert paths(plan(paused, next_turns=9, gap_s=30))[-1] == "messages[3].content[0]"


def test_deferred_tools_and_empty_texts_are_not_where_an_end_is_marked():
    body = tool_loop(1, tools=[tool(), tool("late", defer_loading=True)])
    body["system"] = [text("Be brief. " * 600), text(" "), text("")]
    assert paths(plan(body, next_turns=9, gap_s=30))[:2] == ["tools[0]", "system[0]"]


def test_the_automatic_marker_becomes_the_tail():
    planned = plan(tool_loop(1, cache_control=CC), next_turns=9, gap_s=30)
    assert "cache_control" not in planned.request
    assert jobs(planned)[-1] == "tail"
    assert "removed" in said(planned, "cache_control")


def test_a_prefix_below_the_floor_is_refused_and_says_the_figures():
    floor = get_model(MODEL).min_cacheable_tokens
    planned = plan(request(user(text()), system="Be brief."), next_turns=99, gap_s=30)
    assert planned.markers == ()
    assert f"caches from {floor:,}" in said(planned, "system[0]")
    assert f"caches from {floor:,}" in said(planned, "messages[0].content[0]")


def test_only_the_short_part_of_a_long_prompt_is_refused():
    planned = plan(request(user(text("Hello. " * 3000)), system="Be brief."), next_turns=99, gap_s=30)
    assert jobs(planned) == ["tail"]


def test_a_prefix_that_may_reach_the_floor_is_marked():
    # a marker too many costs nothing, one too few the whole prefix on every turn
    body, floor = request(user(text("Hello. " * 20))), get_model(MODEL).min_cacheable_tokens
    exact = count(Prompt.from_request(body), MODEL, counter=lambda words, vocabulary: floor - 50)
    assert exact.total < floor
    for high, marked in ((exact.total, []), (floor - 1, []), (floor + 50, ["tail"])):
        vague = replace(exact, band=(0, high))
        assert jobs(plan(body, next_turns=9, gap_s=30, count=vague)) == marked


def test_content_that_nobody_can_count_is_not_held_against_a_prefix():
    body = request(
        user({"type": "document", "source": {"type": "file", "file_id": "f"}}, text("What is it?"))
    )
    assert jobs(plan(body, next_turns=9, gap_s=30)) == ["tail"]


# --- plan: lifetimes


@pytest.mark.parametrize(
    ("next_turns", "gap_s", "ttl"),
    [
        (1, 30, "5m"),
        (9, 240, "5m"),
        (1, 420, None),
        (2, 420, "1h"),
        (9, 2400, "1h"),
        (9, 3600, None),
        (9, 300, "1h"),
    ],
)
def test_the_lifetime_follows_from_the_pauses_and_the_reads(next_turns, gap_s, ttl):
    planned = plan(tool_loop(1), next_turns=next_turns, gap_s=gap_s)
    assert {marker.ttl for marker in planned.markers} == ({ttl} if ttl else set())


priced = [model.id for model in models() if model.rates]


@given(st.sampled_from(priced), st.integers(0, 30), st.sampled_from([0, 299.9, 300, 3599, 3600, 10**6]))
def test_the_choice_for_equal_pauses_is_the_break_even_of_ctxlab_cost(model, reads, gap_s):
    evens = break_evens(model)
    chosen = lifetime(model, [gap_s] * reads).ttl
    if gap_s < LIFETIME_S["5m"]:
        assert chosen == ("5m" if reads >= evens.reads_5m.n else None)
    elif gap_s < LIFETIME_S["1h"]:
        assert chosen == ("1h" if reads >= evens.reads_1h.n else None)
    else:
        assert chosen is None


@given(st.sampled_from(priced), st.lists(st.sampled_from([1.0, 299.0, 301.0, 3599.0, 3601.0]), max_size=12))
def test_the_price_of_each_choice_is_what_the_cache_would_bill(model, gaps_s):
    """One prefix of a million tokens, wanted again and again, judged by the cache and billed."""
    rates = get_model(model).rates_at()
    size = 1_000_000
    body = {"model": model, "messages": [user(text())]}
    usual: dict[str | None, Fraction] = {}
    for ttl in (None, "5m", "1h"):
        judge = Judge()
        marked = body if ttl is None else with_markers(body, {"messages[0].content[0]": ttl})
        prices = []
        for gap_s in [0.0, *gaps_s]:
            judge.clock.advance(gap_s)
            found = judge.cache.lookup(
                Layout.from_prompt(Prompt.from_request(marked), [size], total_tokens=size)
            )
            judge.cache.commit(found)
            card = rates.card(size).input_usd_per_mtok
            prices.append(Fraction(bill(found.usage(), model).total_usd) / card)
        usual[ttl] = sum(prices, Fraction(0))
    assert dict(lifetime(model, gaps_s).price) == usual


def test_one_long_pause_among_short_ones_can_be_worth_an_hour():
    usual = [30.0] * 5
    assert lifetime(MODEL, usual).ttl == "5m"
    assert lifetime(MODEL, [*usual, 420.0]).ttl == "1h"
    planned = plan(tool_loop(1), next_turns=6, gap_s=[*usual, 420.0])
    assert {marker.ttl for marker in planned.markers} == {"1h"}


def test_reads_from_elsewhere_mark_what_is_shared_and_nothing_else():
    planned = plan(tool_loop(1), next_turns=0, gap_s=30, expected_reads=50, expected_gap_s=900)
    assert [(m.job, m.ttl) for m in planned.markers] == [("tools-end", "1h"), ("system-end", "1h")]


def test_a_shared_part_for_an_hour_goes_before_a_tail_for_five_minutes():
    planned = plan(tool_loop(1), next_turns=3, gap_s=30, expected_reads=50, expected_gap_s=900)
    assert [marker.ttl for marker in planned.markers] == ["1h", "1h", "5m"]


def test_nothing_of_the_callers_stays_short_before_a_tail_for_an_hour():
    body = tool_loop(1, system=[text("Be brief. " * 600, cache_control=CC)])
    planned = plan(body, next_turns=9, gap_s=900)
    assert {marker.ttl for marker in planned.markers} == {"1h"}
    assert "a 1h marker follows" in said(planned, "system[0]")
    assert validate(planned.request) == []


@pytest.mark.parametrize(
    ("keep", "ttl", "decision", "told"),
    [
        ("all", "1h", "kept", "not 5m, because yours says 1h"),
        ("fixed", "5m", "marked", "yours said 1h and was not to be kept"),
        ("none", "5m", "marked", "yours said 1h and was not to be kept"),
    ],
)
def test_a_callers_hour_on_the_tail_is_kept_where_it_is_to_be_kept_and_owned_up_to_elsewhere(
    keep, ttl, decision, told
):
    body = request(user(text("Long. " * 3000, cache_control=CC1H)))
    planned = plan(body, next_turns=9, gap_s=30, keep_user_markers=keep)
    [marker], [reason] = planned.markers, planned.reasons
    assert (marker.job, marker.ttl, reason.decision) == ("tail", ttl, decision)
    assert told in reason.says
    assert validate(planned.request) == []


def test_a_callers_five_minutes_on_the_tail_are_kept_without_a_word_about_an_hour():
    planned = plan(request(user(text("Long. " * 3000, cache_control=CC))), next_turns=9, gap_s=30)
    assert planned.reasons[0].decision == "kept"
    assert "yours" not in planned.reasons[0].says


@pytest.mark.parametrize(
    ("next_turns", "previous_ttl", "marked"), [(0, None, []), (0, "5m", ["previous-end"])]
)
def test_the_last_request_reads_what_is_there_and_writes_nothing(next_turns, previous_ttl, marked):
    judge = Judge()
    body = tool_loop(3)
    first = judge.send(plan(body, next_turns=1, gap_s=30).request)
    body["messages"] += [assistant(call("last")), user(result("last"))]
    planned = plan(body, next_turns=next_turns, gap_s=30, previous_ttl=previous_ttl)
    assert jobs(planned) == marked
    sent = judge.send(planned.request)
    assert sent.written_5m_tokens == 0
    assert sent.read_tokens == (first.written_5m_tokens if marked else 0)


def test_a_chain_of_hour_entries_is_not_broken_one_turn_before_the_end():
    body = tool_loop(3)
    assert plan(body, next_turns=1, gap_s=900).markers == ()
    assert jobs(plan(body, next_turns=1, gap_s=900, previous_ttl="1h"))[-1] == "tail"


def conversation_usd(gap_s: float, turns: int, sizes: Sequence[int], planned: bool) -> Fraction:
    judge, body, ttl = Judge(), tool_loop(0), None
    total = Fraction(0)
    for turn in range(turns):
        marked = plan(body, next_turns=turns - 1 - turn, gap_s=gap_s, previous_ttl=ttl)
        sent = judge.send(marked.request if planned else body, gap_s)
        total += Fraction(bill(sent.usage(), MODEL).total_usd)
        ttl = marked.markers[-1].ttl if "tail" in jobs(marked) else ttl
        body["messages"] += [
            assistant(call(turn)),
            user(result(turn, content="x" * sizes[turn % len(sizes)])),
        ]
    return total


@slow
@given(
    st.sampled_from([1.0, 120.0, 299.0, 300.0, 900.0, 3599.0, 3601.0]),
    st.integers(1, 7),
    st.lists(st.integers(1, 30_000), min_size=1, max_size=4),
)
def test_a_planned_conversation_never_costs_more_than_one_without_markers(gap_s, turns, sizes):
    assert conversation_usd(gap_s, turns, sizes, True) <= conversation_usd(gap_s, turns, sizes, False)


# --- field cases, each with its twin that must not fire


def test_pc04_five_markers_become_four_and_the_callers_own_stay():
    body = tool_loop(2, tools=[tool(cache_control=CC)])
    body["system"] = [text("Be brief. " * 600, cache_control=CC), text("Be kind. " * 300, cache_control=CC)]
    body["messages"][0]["content"][0]["cache_control"] = CC
    body["messages"][2]["content"][0]["cache_control"] = CC
    assert [problem.rule for problem in validate(body)] == ["four-markers"]
    planned = plan(body, next_turns=9, gap_s=30)
    assert paths(planned) == ["tools[0]", "system[0]", "system[1]", "messages[4].content[0]"]
    assert validate(planned.request) == []


def test_pc04_which_one_is_dropped_is_the_first_in_render_order():
    body = tool_loop(1, tools=[tool("a", cache_control=CC), tool("b", cache_control=CC)])
    body["system"] = [text("Be brief. " * 600, cache_control=CC), text("Be kind. " * 300, cache_control=CC)]
    planned = plan(body, next_turns=9, gap_s=30)
    assert paths(planned) == ["tools[1]", "system[0]", "system[1]", "messages[2].content[0]"]
    assert "slots are taken" in said(planned, "tools[0]")


def test_pc04_a_marker_that_fanned_out_over_parallel_results_is_one_again():
    body = tool_loop(0)
    body["messages"] += [assistant(*map(call, "abc")), user(*(result(n, cache_control=CC) for n in "abc"))]
    planned = plan(body, next_turns=9, gap_s=30)
    assert [path for path in paths(planned) if path.startswith("messages")] == ["messages[2].content[2]"]


def test_pc04_twin_four_legal_markers_are_left_as_they_are():
    body = tool_loop(1, tools=[tool(cache_control=CC)])
    body["system"] = [text("Be brief. " * 600, cache_control=CC), text("Be kind. " * 300, cache_control=CC)]
    body["messages"][2]["content"][0]["cache_control"] = CC
    planned = plan(body, next_turns=9, gap_s=30)
    assert planned.request == body
    assert {reason.decision for reason in planned.reasons} == {"kept"}


@BOTH_READINGS
@pytest.mark.parametrize("keeps_markers", [True, False])
def test_pc05_over_200_steps_the_part_that_is_paid_anew_stays_that_of_one_step(runs, keeps_markers):
    judge = Judge(CacheRules(tool_run_positions=runs))
    body = tool_loop(0)
    before = 0
    for step in range(200):
        planned = plan(body, next_turns=200, gap_s=30)
        assert len(planned.markers) <= MAX_MARKERS
        assert planned.markers[-1].path == f"messages[{2 * step}].content[0]"
        sent = judge.send(planned.request)
        total = sent.layout.total_tokens
        if step:
            assert sent.written_5m_tokens == total - before
        assert sent.fresh_tokens == behind_the_last_block(body)
        before = total
        if keeps_markers:  # a loop that goes on from the planned request, and one that keeps its own history
            body = planned.request
        body["messages"] = [*body["messages"], assistant(call(step)), user(result(step))]


def behind_the_last_block(body: dict[str, Any]) -> int:
    """A few tokens that no marker can cover."""
    return count(Prompt.from_request(body), MODEL).tail_tokens


def test_pc05_twin_a_marker_that_never_moves_lets_the_tail_grow():
    judge, body = Judge(), tool_loop(0)
    frozen = plan(body, next_turns=9, gap_s=30)
    anew = []
    for step in range(40):
        ttls = {marker.path: marker.ttl for marker in frozen.markers}
        anew.append(judge.send(with_markers(body, ttls)).fresh_tokens)
        body["messages"] += [assistant(call(step)), user(result(step))]
    assert all(before < after for before, after in pairwise(anew))


def test_pc07_five_minutes_on_the_tools_and_an_hour_on_the_system_prompt_is_found_and_repaired():
    body = tool_loop(1, tools=[tool(cache_control=CC)], system=[text("Be brief. " * 600, cache_control=CC1H)])
    [problem] = validate(body)
    assert problem.path == "system[0].cache_control.ttl"
    assert "tools[0].cache_control" in problem.fix
    planned = plan(body, next_turns=9, gap_s=30)
    assert [(m.path, m.ttl) for m in planned.markers][:2] == [("tools[0]", "1h"), ("system[0]", "1h")]


def test_a_system_message_that_only_sets_the_effort_is_planned_around():
    effort = {"role": "system", "output_config": {"effort": "low"}}
    body = {"model": MODEL, "system": "s" * 9000, "messages": [{"role": "user", "content": "Hi"}, effort]}
    planned = plan(body, next_turns=3, gap_s=20)
    assert planned.markers
    assert planned.request["messages"][1] == effort


def test_a_history_that_is_a_deque_and_what_is_told_to_be_left_out_are_planned():
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x " * 4000}]
    body = {"model": MODEL, "messages": [*messages, {"role": "user", "content": "And?"}]}
    planned = plan(body, next_turns=3, gap_s=20)
    same = {**body, "messages": deque(body["messages"]), "tools": omit, "system": NOT_GIVEN}
    assert planned.markers
    assert plan(same, next_turns=3, gap_s=20).request == planned.request


def test_pauses_may_be_numbers_of_any_library_and_text_is_none():
    whole = [Fraction(30), Fraction(400)]  # stands for numpy's numbers: real, and neither int nor float
    assert lifetime(MODEL, whole) == lifetime(MODEL, [30, 400])
    body = {"model": MODEL, "system": "s" * 9000, "messages": [{"role": "user", "content": "Hi"}]}
    for gap_s in (Fraction(30), [Fraction(30)] * 3):
        assert plan(body, next_turns=3, gap_s=gap_s).request == plan(body, next_turns=3, gap_s=30).request
    with pytest.raises(InvalidArgumentError, match="give seconds"):
        lifetime(MODEL, ["30"])


def test_pc07_twin_the_system_list_alone_is_in_order():
    assert validate(request(user(text()), system=[text(cache_control=CC1H), text(cache_control=CC)])) == []


def test_pc08_the_marker_goes_to_the_nearest_earlier_block_that_can_carry_it():
    body = tool_loop(1)
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    answer = [thinking(), text("Look:"), thinking()]
    body["messages"] += [assistant(*answer), user(picture, text(""))]
    planned = plan(body, next_turns=9, gap_s=30)
    assert paths(planned)[-1] == "messages[4].content[0]"
    assert planned.request["messages"][3] is body["messages"][3]  # thinking untouched, byte for byte
    ends_in_thinking = {**body, "messages": body["messages"][:4]}
    assert paths(plan(ends_in_thinking, next_turns=9, gap_s=30))[-1] == "messages[3].content[1]"


def test_pc08_a_callers_marker_moves_inside_its_message_or_gives_its_slot_back():
    body = tool_loop(1)
    body["messages"] += [
        assistant(text("So:"), thinking(cache_control=CC)),
        user(text("And?"), cache_control=CC),
    ]
    body["messages"] += [assistant(thinking(cache_control=CC)), user(text("Go."))]
    planned = plan(body, next_turns=0, gap_s=30, keep_user_markers="all")
    assert paths(planned) == ["messages[3].content[0]", "messages[4].content[0]"]
    assert "given back" in said(planned, "messages[5].content[0]")
    assert "moved from messages[3].content[1]" in said(planned, "messages[3].content[0]")
    assert all("cache_control" not in message for message in planned.request["messages"])


def test_pc08_twin_a_last_block_that_can_carry_the_marker_gets_it():
    body = tool_loop(1)
    body["messages"] += [assistant(thinking(), text("Look:")), user(text("What is it?"))]
    assert paths(plan(body, next_turns=9, gap_s=30))[-1] == "messages[4].content[0]"


def test_pc14_a_request_that_nothing_will_read_again_is_not_marked():
    summarise = tool_loop(40)
    summarise["messages"][-1]["content"][0]["cache_control"] = CC
    summarise["messages"].append(user(text("Summarise the conversation.")))
    planned = plan(summarise, next_turns=0, gap_s=0)
    assert planned.markers == ()
    assert all("nothing will read it again" in said(planned, path) for path in ("tools[0]", "system[0]"))
    assert Judge().send(planned.request).written_5m_tokens == 0


def test_pc14_twin_a_request_that_is_repeated_at_once_is_marked():
    assert "tail" in jobs(plan(tool_loop(40), next_turns=7, gap_s=1))


def test_pc14_seven_minutes_between_turns_ask_for_an_hour_and_get_reads():
    judge, body = Judge(), tool_loop(0)
    for step in range(5):
        sent = judge.send(plan(body, next_turns=9, gap_s=420).request, after_s=420)
        assert (sent.read_tokens > 0) == (step > 0)
        body["messages"] += [assistant(call(step)), user(result(step))]


def test_pc14_twin_four_minutes_between_turns_are_content_with_five():
    planned = plan(tool_loop(1), next_turns=9, gap_s=240)
    assert {marker.ttl for marker in planned.markers} == {"5m"}


# --- bad input


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"next_turns": -1}, "next_turns"),
        ({"next_turns": 1.5}, "next_turns"),
        ({"next_turns": True}, "next_turns"),
        ({"gap_s": -1}, "gap_s[0]"),
        ({"gap_s": float("nan")}, "gap_s[0]"),
        ({"gap_s": [30, 30]}, "gap_s"),
        ({"gap_s": [30, "x"], "next_turns": 2}, "gap_s[1]"),
        ({"gap_s": [30], "expected_reads": 2}, "expected_gap_s"),
        ({"expected_reads": -2}, "expected_reads"),
        ({"volatile_blocks": 99}, "volatile_blocks"),
        ({"keep_user_markers": True}, "keep_user_markers"),
        ({"previous_ttl": "2h"}, "previous_ttl"),
        ({"count": count(Prompt.from_request(request()), MODEL)}, "count"),
    ],
)
def test_an_argument_that_cannot_be_is_named(arguments, path):
    with pytest.raises(InvalidArgumentError) as caught:
        plan(tool_loop(1), **{"next_turns": 1, "gap_s": 30, **arguments})
    assert [problem.path for problem in caught.value.problems] == [path]


def test_a_model_is_needed_known_and_priced():
    body = tool_loop(1)
    del body["model"]
    with pytest.raises(InvalidArgumentError, match="model"):
        plan(body, next_turns=1, gap_s=30)
    assert plan(body, next_turns=1, gap_s=30, model="claude-opus-5-5").markers
    with pytest.raises(UnknownModelError):
        plan(body, next_turns=1, gap_s=30, model="claude-nobody")
    unpriced = next(model.id for model in models() if not model.rates)
    with pytest.raises(UnpricedModelError):
        plan(body, next_turns=1, gap_s=30, model=unpriced)


def test_a_body_that_cannot_be_read_is_refused_whole():
    with pytest.raises(InvalidRequestError):
        plan({"model": MODEL, "messages": "hello"}, next_turns=1, gap_s=30)
