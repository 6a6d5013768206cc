"""Promises of the prompt cache, rule by rule; its naive twin is in ``test_cache_machine``."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ctxlab import cache as cache_package
from ctxlab import catalogue
from ctxlab.cache import (
    LIFETIME_S,
    CacheRules,
    Layout,
    Plan,
    Position,
    PromptCache,
    invalidations,
    rules,
)
from ctxlab.cache import layout as layout_module
from ctxlab.cache.rules import table
from ctxlab.catalogue import get_model
from ctxlab.clock import ManualClock
from ctxlab.errors import (
    InvalidArgumentError,
    InvalidRequestError,
    InvalidUsageError,
    RecordingError,
    UnknownModelError,
)
from ctxlab.prompt import SEGMENTS, Prompt, extend
from ctxlab.recordings import exchange, exchanges
from ctxlab.tokens import count
from ctxlab.usage import CacheCreation, Usage

SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
MODEL = get_model("claude-sonnet-4-5")  # a floor of 1,024


def laid_out(
    digests: str, marks: dict[int, dict[str, str]], *, each: int = 2000, after: int = 3, **fields: Any
) -> Layout:
    """One position of ``each`` tokens per letter; a position is found by all letters up to it."""
    positions = tuple(
        Position(digests[: i + 1], i, each * (i + 1), marks.get(i)) for i in range(len(digests))
    )
    return Layout(
        positions, {}, fields.pop("model", MODEL), total_tokens=each * len(digests) + after, **fields
    )


def split(plan: Plan) -> tuple[int | None, int | None, int | None, int | None]:
    """Read, written for an hour, written for five minutes, fresh."""
    return plan.read_tokens, plan.written_1h_tokens, plan.written_5m_tokens, plan.fresh_tokens


class Api:
    """A cache and its clock; ``send`` is a request whose answer begins at once."""

    def __init__(self, **switches: Any):
        self.clock = ManualClock()
        self.cache = PromptCache(self.clock, CacheRules(**switches))

    def send(self, layout: Layout) -> Plan:
        plan = self.cache.lookup(layout)
        self.cache.commit(plan)
        return plan


@pytest.fixture
def api() -> Api:
    return Api()


# --- entries


def test_what_was_written_is_read_the_next_time(api):
    assert split(api.send(laid_out("ab", {0: SHORT}))) == (0, 0, 2000, 2003)
    assert split(api.send(laid_out("ac", {0: SHORT}))) == (2000, 0, 0, 2003)


def test_without_a_marker_nothing_is_read_or_written(api):
    api.send(laid_out("ab", {1: SHORT}))
    plan = api.send(laid_out("ab", {}))
    assert split(plan) == (0, 0, 0, 4003)
    assert plan.reasons == ("no position is marked: nothing is read and nothing is written",)


def test_entries_are_made_at_markers_only(api):
    api.send(laid_out("abcd", {3: SHORT}))
    assert split(api.send(laid_out("abx", {1: SHORT}))) == (0, 0, 4000, 2003)


def test_an_entry_outlives_the_marker_that_made_it(api):
    api.send(laid_out("ab", {1: SHORT}))
    assert split(api.send(laid_out("abcd", {3: SHORT}))) == (4000, 0, 4000, 3)


def test_a_marker_in_a_new_place_reads_what_was_written_before_it(api):
    api.send(laid_out("ab", {0: SHORT, 1: SHORT}))
    assert split(api.send(laid_out("abc", {2: SHORT}))) == (4000, 0, 2000, 3)


def test_marking_what_changes_each_time_writes_for_ever_and_never_reads(api):
    for question in "xyz":
        assert split(api.send(laid_out(f"ab{question}", {2: SHORT}))) == (0, 0, 6000, 3)


def test_a_change_in_front_of_the_marker_loses_it_and_one_behind_does_not(api):
    api.send(laid_out("abc", {1: SHORT}))
    assert api.send(laid_out("abX", {1: SHORT})).read_tokens == 4000
    assert api.send(laid_out("Xbc", {1: SHORT})).read_tokens == 0


def test_a_change_between_two_markers_keeps_the_first(api):
    marks = {0: SHORT, 2: SHORT}
    api.send(laid_out("abc", marks))
    assert split(api.send(laid_out("aXc", marks))) == (2000, 0, 4000, 3)


def test_every_figure_belongs_to_one_token(api):
    plan = api.send(laid_out("abcd", {0: LONG, 2: SHORT}))
    usage = plan.usage(output_tokens=7)
    assert usage == Usage(input_tokens=2003, cache_creation=CacheCreation(4000, 2000), output_tokens=7)
    assert plan.classes() == ("W", "W", "W", "F")
    assert repr(plan) == "<Plan: read 0, written 1h 2,000, written 5m 4,000, fresh 2,003>"


def test_prewarming_is_a_request_like_any_other(api):
    body = {
        "model": MODEL.id,
        "max_tokens": 0,
        "messages": [{"role": "user", "content": [text("warm", SHORT)]}],
    }
    warm = Layout.from_prompt(Prompt.from_request(body), [5000], total_tokens=5003)
    assert api.send(warm).usage().cache_creation_input_tokens == 5000
    body = {**body, "max_tokens": 4096}
    assert api.send(Layout.from_prompt(Prompt.from_request(body), [5000])).read_tokens == 5000


# --- the lookback


@pytest.mark.parametrize(("apart", "read"), [(1, True), (18, True), (19, True), (20, False), (21, False)])
def test_a_marker_looks_at_twenty_positions_its_own_counted_first(api, apart, read):
    history = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
    api.send(laid_out(history[:5], {4: SHORT}))
    plan = api.send(laid_out(history[: 5 + apart], {4 + apart: SHORT}))
    assert plan.read_tokens == (10_000 if read else 0)


def test_the_documented_example_misses_by_one_and_a_second_marker_rescues_it(api):
    """A write at block 15, a marker at block 35: 35 to 16 are looked at (prompt-caching page, 2026-08)."""
    blocks = "".join(chr(200 + i) for i in range(35))
    api.send(laid_out(blocks[:15], {14: SHORT}))
    assert list(laid_out(blocks, {34: SHORT}).looked_at(34)) == list(range(34, 14, -1))
    missed = api.cache.lookup(laid_out(blocks, {34: SHORT}), explain=True)
    assert missed.read_tokens == 0
    assert missed.reasons == (
        "position 35 (5m): no entry in the 20 positions looked at; written (5m)",
        "position 15: an entry ends here and is alive, but counted from position 35 it is position 21, and "
        "20 are looked at",
    )
    rescued = api.cache.lookup(laid_out(blocks, {14: SHORT, 34: SHORT}), explain=True)
    assert split(rescued) == (30_000, 0, 40_000, 3)
    assert rescued.further == ()


def test_each_marker_looks_from_its_own_place(api):
    blocks = "".join(chr(200 + i) for i in range(60))
    api.send(laid_out(blocks[:10], {9: SHORT}))
    assert api.send(laid_out(blocks, {28: SHORT, 59: SHORT})).read_tokens == 20_000
    assert api.send(laid_out(blocks[:58] + "?", {28: SHORT, 58: SHORT})).read_tokens == 58_000


def test_the_deepest_entry_in_reach_is_read(api):
    for end in (1, 3, 2):
        api.send(laid_out("abcd"[:end], {end - 1: SHORT}))
    assert api.send(laid_out("abcd", {3: SHORT})).read_tokens == 6000


def text(words: str, marker: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": marker} if marker else {})}


def tool_turn(number: int, first: int = 0) -> list[dict[str, Any]]:
    ids = [f"toolu_{first + i}" for i in range(number)]
    calls = [{"type": "tool_use", "id": one, "name": "look_up", "input": {"record": one}} for one in ids]
    results = [{"type": "tool_result", "tool_use_id": one, "content": f"result for {one}"} for one in ids]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


def request(messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    body = {"model": MODEL.id, "max_tokens": 64, "system": [text("You are exact.")], "messages": messages}
    return {**body, **fields}


def from_request(body: dict[str, Any], each: int = 2000, **words: Any) -> Layout:
    prompt = Prompt.from_request(body)
    sizes = [each * (i + 1) for i in range(len(prompt.blocks))]
    return Layout.from_prompt(prompt, sizes, total_tokens=each * len(sizes) + 3, **words)


def after_the_system_prompt(messages: list[dict[str, Any]], **switches: Any) -> Plan:
    """A request writes its system prompt; the next one has ``messages`` behind it, marked at their end."""
    api = Api(**switches)
    first = request([{"role": "user", "content": [text("OK")]}], system=[text("You are exact.", SHORT)])
    api.send(from_request(first))
    messages[-1]["content"][-1]["cache_control"] = SHORT
    ok = {"role": "user", "content": [text("OK")]}
    return api.send(from_request(request([ok, *messages]), rules=api.cache.rules))


def test_runs_of_tool_blocks_are_one_position_each_so_thirty_of_them_still_read():
    assert after_the_system_prompt(tool_turn(15)).read_tokens == 2000


def test_twenty_five_texts_in_the_same_place_do_not_read():
    texts = {"role": "assistant", "content": [text(str(i)) for i in range(25)]}
    assert after_the_system_prompt([texts, {"role": "user", "content": [text("Go on.")]}]).read_tokens == 0


def test_with_every_block_a_position_thirty_tool_blocks_do_not_read():
    assert after_the_system_prompt(tool_turn(15), tool_run_positions="each").read_tokens == 0


@pytest.mark.parametrize(("turns", "read"), [(8, 2000), (9, 2000), (10, 0)])
def test_a_serial_tool_loop_uses_two_positions_a_step(turns, read):
    """System, question, 2 × 9 = 20 positions; the tenth step is out of reach."""
    messages = [message for i in range(turns) for message in tool_turn(1, first=i)]
    assert after_the_system_prompt(messages).read_tokens == read


def test_a_text_between_calls_ends_the_run():
    calls, results = tool_turn(10)
    calls["content"] = [block for call in calls["content"] for block in (text("next"), call)]
    assert after_the_system_prompt([calls, results]).read_tokens == 0


@pytest.mark.parametrize(("messages", "read"), [(18, 2000), (19, 0)])
def test_results_in_messages_of_their_own_are_no_run(messages, read):
    results = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": "ok"}]}
        for i in range(messages)
    ]
    assert after_the_system_prompt(results).read_tokens == read


def test_the_lookback_goes_from_messages_into_system_and_tools(api):
    tools = [{"name": "read", "input_schema": {}, "cache_control": SHORT}]
    api.send(from_request(request([{"role": "user", "content": [text("one")]}], tools=tools)))
    del tools[0]["cache_control"]
    plan = api.send(from_request(request([{"role": "user", "content": [text("two", SHORT)]}], tools=tools)))
    assert plan.read_tokens == 2000


# --- billing positions A, B and C


@pytest.mark.parametrize(
    ("warm", "marks", "expected"),
    [
        (0, {2: SHORT}, (0, 0, 6000, 2003)),
        (0, {2: LONG}, (0, 6000, 0, 2003)),
        (0, {0: LONG, 2: SHORT}, (0, 2000, 4000, 2003)),
        (0, {0: LONG, 1: LONG, 3: SHORT}, (0, 4000, 4000, 3)),
        (1, {0: LONG, 2: SHORT}, (2000, 0, 4000, 2003)),
        (2, {0: LONG, 2: LONG, 3: SHORT}, (4000, 2000, 2000, 3)),
        (3, {0: LONG, 2: SHORT}, (6000, 0, 0, 2003)),
        (4, {1: LONG, 3: SHORT}, (8000, 0, 0, 3)),
    ],
)
def test_reads_go_up_to_a_hour_writes_to_b_and_short_writes_to_c(api, warm, marks, expected):
    if warm:
        api.send(laid_out("abcd"[:warm], {warm - 1: SHORT}))
    assert split(api.send(laid_out("abcd", marks))) == expected


# --- lifetimes


@pytest.mark.parametrize(("marker", "lives_s"), [(SHORT, LIFETIME_S["5m"]), (LONG, LIFETIME_S["1h"])])
def test_an_entry_is_read_until_its_lifetime_is_over_and_not_at_its_end(marker, lives_s):
    """At exactly 300 s it is gone: of 15 recorded requests after 300 to 360 idle seconds 12 missed."""
    for pause_s, read in ((lives_s - 0.001, 2000), (lives_s, 0), (lives_s + 60, 0)):
        api = Api()
        api.send(laid_out("a", {0: marker}))
        api.clock.advance(pause_s)
        assert api.send(laid_out("a", {0: marker})).read_tokens == read


def test_grace_lets_an_entry_be_read_a_little_longer():
    api = Api(expiry_grace_s=10)
    api.send(laid_out("a", {0: SHORT}))
    api.clock.advance(309)
    assert api.send(laid_out("a", {0: SHORT})).read_tokens == 2000


def test_the_lifetime_counts_from_the_start_of_the_request_not_from_its_answer(api):
    plan = api.cache.lookup(laid_out("a", {0: SHORT}))
    api.clock.advance(240)  # four minutes until the first byte
    api.cache.commit(plan)
    api.clock.advance(59)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 2000
    api.clock.advance(1)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 0


def test_a_read_starts_the_lifetime_anew_and_costs_only_the_read(api):
    api.send(laid_out("a", {0: SHORT}))
    for _ in range(5):
        api.clock.advance(299)
        assert split(api.send(laid_out("a", {0: SHORT}))) == (2000, 0, 0, 3)


def test_an_hours_entry_read_by_a_five_minute_marker_stays_an_hours_entry(api):
    api.send(laid_out("a", {0: LONG}))
    api.clock.advance(3000)
    assert api.send(laid_out("a", {0: SHORT})).read_tokens == 2000
    api.clock.advance(3000)
    assert api.send(laid_out("a", {0: SHORT})).read_tokens == 2000


@pytest.mark.parametrize(("upgrades", "read"), [(False, 0), (True, 2000)])
def test_whether_an_hour_marker_makes_a_five_minute_entry_an_hours_entry(upgrades, read):
    api = Api(long_marker_upgrades=upgrades)
    api.send(laid_out("a", {0: SHORT}))
    assert split(api.send(laid_out("a", {0: LONG}))) == (2000, 0, 0, 3)
    api.clock.advance(400)
    assert api.send(laid_out("a", {0: LONG})).read_tokens == read


@pytest.mark.parametrize(("refreshes", "read"), [("markers", 2000), ("itself", 0)])
def test_whether_a_deep_read_keeps_the_entries_under_the_other_markers_alive(refreshes, read):
    api = Api(deep_hit_refreshes=refreshes)
    api.send(laid_out("abc", {0: SHORT, 2: SHORT}))
    for _ in range(3):
        api.clock.advance(200)
        assert api.send(laid_out("abc", {0: SHORT, 2: SHORT})).read_tokens == 6000
    assert api.send(laid_out("aX", {0: SHORT, 1: SHORT})).read_tokens == read


def test_a_deep_read_does_not_keep_entries_alive_that_nobody_marks(api):
    api.send(laid_out("abc", {0: SHORT, 2: SHORT}))
    for _ in range(3):
        api.clock.advance(200)
        api.send(laid_out("abc", {2: SHORT}))
    assert api.send(laid_out("aX", {0: SHORT})).read_tokens == 0


@pytest.mark.parametrize(("creates", "read"), [(False, 0), (True, 2000)])
def test_whether_a_marker_before_the_hit_makes_an_entry(creates, read):
    api = Api(marker_before_hit_creates=creates)
    api.send(laid_out("abc", {2: SHORT}))
    assert split(api.send(laid_out("abc", {0: SHORT, 2: SHORT}))) == (6000, 0, 0, 3)
    assert api.send(laid_out("aX", {0: SHORT})).read_tokens == read


# --- requests in flight


@pytest.mark.parametrize("number", [2, 8])
def test_requests_sent_before_the_first_byte_all_write_and_those_after_it_read(api, number):
    layout = laid_out("ab", {1: SHORT})
    early = [api.cache.lookup(layout) for _ in range(number)]
    assert [plan.written_5m_tokens for plan in early] == [4000] * number
    api.cache.commit(early[0])
    late = [api.cache.lookup(layout) for _ in range(number)]
    assert [split(plan) for plan in late] == [(4000, 0, 0, 3)] * number
    for plan in (*early, *late):
        api.cache.commit(plan)
    assert api.cache.lookup(layout).read_tokens == 4000


def test_a_request_that_failed_leaves_nothing(api):
    plan = api.cache.lookup(laid_out("a", {0: SHORT}))
    api.cache.abandon(plan)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 0
    assert len(api.cache) == 0


def test_a_read_that_failed_does_not_prolong_the_entry(api):
    api.send(laid_out("a", {0: SHORT}))
    api.clock.advance(200)
    api.cache.abandon(api.cache.lookup(laid_out("a", {0: SHORT})))
    api.clock.advance(150)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 0


def test_committing_twice_is_committing_once(api):
    plan = api.cache.lookup(laid_out("a", {0: SHORT}))
    api.cache.commit(plan)
    api.clock.advance(250)
    api.cache.commit(plan)
    api.clock.advance(51)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 0


def test_an_answer_that_comes_after_the_entrys_lifetime_leaves_no_entry(api):
    plan = api.cache.lookup(laid_out("a", {0: SHORT}))
    api.clock.advance(300)
    api.cache.commit(plan)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 0


def test_a_delay_hides_an_entry_after_the_first_byte():
    api = Api(visibility_delay_s=2)
    api.send(laid_out("a", {0: SHORT}))
    api.clock.advance(1.5)
    hidden = api.cache.lookup(laid_out("a", {0: SHORT}))
    assert hidden.read_tokens == 0
    assert hidden.reasons == (
        "position 1 (5m): no entry in the 20 positions looked at (the one at position 1 can be read in "
        "0.5 s); written (5m)",
    )
    api.clock.advance(0.5)
    assert api.cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 2000


# --- the floor


FLOORS = [model for model in catalogue.models() if model.min_cacheable_tokens]


@pytest.mark.parametrize("model", FLOORS, ids=lambda model: model.id)
def test_one_token_below_the_models_floor_nothing_happens_and_at_the_floor_it_is_cached(model):
    floor = model.min_cacheable_tokens
    for size, expected in ((floor - 1, (0, 0, 0, floor + 9)), (floor, (0, 0, floor, 10))):
        api = Api()
        layout = Layout(
            (Position("a", 0, size, SHORT),), {}, model, total_tokens=floor + size % floor * 0 + 10
        )
        layout = dataclasses.replace(layout, total_tokens=size + 10)
        plan = api.send(layout)
        assert split(plan) == expected
        assert api.send(layout).read_tokens == (0 if size < floor else floor)


def test_the_floor_counts_everything_up_to_the_marker_not_the_marked_block(api):
    assert split(api.send(laid_out("abc", {0: SHORT, 2: SHORT}, each=400))) == (0, 0, 1200, 3)
    assert [
        report.fits for report in api.cache.lookup(laid_out("abc", {0: SHORT, 2: SHORT}, each=400)).markers
    ] == [
        False,
        True,
    ]


def test_a_marker_below_the_floor_says_so(api):
    plan = api.send(laid_out("a", {0: SHORT}, each=1023))
    assert plan.reasons == (
        "position 1 (5m): 1,023 tokens up to here, claude-sonnet-4-5 caches from 1,024; neither read nor "
        "written, without an error",
    )


def test_a_model_whose_floor_nobody_states_has_the_one_the_switch_names():
    model = get_model("claude-mythos-5-2")
    assert model.min_cacheable_tokens is None
    layout = laid_out("a", {0: SHORT}, each=1500, model=model)
    assert Api().send(layout).written_5m_tokens == 1500
    assert Api(unknown_floor_tokens=2048).send(layout).written_5m_tokens == 0


# --- isolation


def test_workspaces_do_not_share(api):
    api.send(laid_out("a", {0: SHORT}, workspace="one"))
    other = api.cache.lookup(laid_out("a", {0: SHORT}, workspace="two"), explain=True)
    assert other.read_tokens == 0
    assert other.reasons[-1] == "position 1: the same blocks are cached, with another workspace (one)"
    assert api.send(laid_out("a", {0: SHORT}, workspace="one")).read_tokens == 2000


def test_models_do_not_share_but_two_names_of_one_model_do(api):
    body = request([{"role": "user", "content": [text("x", SHORT)]}])
    api.send(from_request(body))
    assert api.send(from_request(body, model="claude-sonnet-5")).read_tokens == 0
    assert api.send(from_request({**body, "model": "claude-sonnet-4-5-20250929"})).read_tokens == 4000


# --- what a changed parameter loses


def tiered(tools: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A request marked at the end of each tier."""
    if tools is None:
        tools = [{"name": "read", "input_schema": {"type": "object", "title": "t"}, "cache_control": SHORT}]
    messages = fields.pop("messages", [{"role": "user", "content": [text("Go.", SHORT)]}])
    return request(messages, tools=tools, system=[text("You are exact.", SHORT)], **fields)


def kept(before: dict[str, Any], after: dict[str, Any], **switches: Any) -> int:
    """How many of the three marked tiers the second request reads."""
    api = Api(**switches)
    api.send(from_request(before, rules=api.cache.rules))
    plan = api.send(from_request(after, rules=api.cache.rules))
    return sum(report.marker.position <= (-1 if plan.hit is None else plan.hit) for report in plan.markers)


BY_FIRST_LOST = {"tools": 0, "system": 1, "messages": 2}
CHANGES = [
    ("speed", {"speed": "fast"}, "system"),
    ("tool_choice", {"tool_choice": {"type": "any"}}, "messages"),
    (
        "disable_parallel_tool_use",
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        "messages",
    ),
    ("thinking", {"thinking": {"type": "adaptive"}}, "tools"),
    ("effort", {"output_config": {"effort": "low"}}, "tools"),
    ("output schema", {"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "tools"),
    ("nobody knows it", {"inference_geo": "us"}, "tools"),
]


@pytest.mark.parametrize(("change", "loses"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_a_changed_parameter_loses_its_tier_and_those_behind_it(change, loses):
    assert kept(tiered(), tiered(**change)) == BY_FIRST_LOST[loses]
    assert kept(tiered(**change), tiered()) == BY_FIRST_LOST[loses]
    assert kept(tiered(**change), tiered(**change)) == 3


@pytest.mark.parametrize(
    "harmless",
    [
        {"max_tokens": 9},
        {"stream": True},
        {"temperature": 0.3},
        {"metadata": {"user_id": "42"}},
        {"stop_sequences": ["END"]},
        {"service_tier": "auto"},
        {"diagnostics": {"previous_message_id": None}},
        {"container": "container_1"},
        {"speed": "standard"},
        {"output_config": {"effort": "high"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_parameter_outside_the_prompt_or_a_default_written_out_loses_nothing(harmless):
    assert kept(tiered(), tiered(**harmless)) == 3


@pytest.mark.parametrize(
    ("written_out", "model", "left"),
    [
        ({"tool_choice": {"type": "auto"}}, MODEL.id, 2),
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}}, MODEL.id, 2),
        ({"inference_geo": "global"}, MODEL.id, 0),
        ({"thinking": {"type": "disabled"}}, "claude-sonnet-4-5", 0),
        ({"thinking": {"type": "adaptive"}}, "claude-opus-5-5", 0),
    ],
)
def test_whether_a_default_written_out_is_the_one_left_out(written_out, model, left):
    before, after = tiered(model=model), tiered(model=model, **written_out)
    assert kept(before, after) == kept(after, before) == left
    assert kept(before, after, written_out_defaults="same") == 3
    assert kept(after, before, written_out_defaults="same") == 3


def test_what_is_no_default_is_a_change_in_either_position_of_the_switch():
    for change, left in (
        ({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, 2),
        ({"tool_choice": {"type": "any", "disable_parallel_tool_use": False}}, 2),
        ({"inference_geo": "us"}, 0),
        ({"model": "claude-opus-5-5", "thinking": {"type": "disabled"}}, 0),
        ({"model": "claude-opus-5-5", "thinking": {"type": "adaptive", "display": "omitted"}}, 0),
        ({"model": "claude-mythos-preview", "thinking": {"type": "adaptive"}}, 0),
    ):
        before = tiered(model=change.get("model", MODEL.id))
        for position in ("same", "different"):
            assert kept(before, tiered(**change), written_out_defaults=position) == left


def test_models_whose_default_thinking_is_listed_are_in_the_catalogue():
    assert {get_model(name).id for name in table()["default_thinking"]} == set(table()["default_thinking"])


def test_the_default_effort_is_the_models_own():
    change = {"model": "claude-opus-5-5", "output_config": {"effort": "medium"}}
    assert kept(tiered(model="claude-opus-5-5"), tiered(**change)) == 3
    assert kept(tiered(), tiered(output_config={"effort": "medium"})) == 0


@pytest.mark.parametrize("tier", SEGMENTS)
def test_the_switches_say_what_thinking_effort_and_unknown_parameters_lose(tier):
    switches = {"thinking_change_loses": tier, "unlisted_parameter_loses": tier}
    for change in ({"thinking": {"type": "adaptive"}}, {"output_config": {"effort": "low"}}, {"new": 1}):
        assert kept(tiered(), tiered(**change), **switches) == BY_FIRST_LOST[tier]


WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def test_web_search_is_in_the_system_prompt_so_the_tools_before_and_behind_it_are_kept():
    tools = tiered()["tools"]
    assert kept(tiered(), tiered(tools=[*tools, WEB_SEARCH])) == 1
    assert kept(tiered(), tiered(tools=[WEB_SEARCH, *tools])) == 1
    assert kept(tiered(tools=[*tools, WEB_SEARCH]), tiered(tools=[WEB_SEARCH, *tools])) == 3


def test_another_tool_in_the_list_loses_everything():
    tools = tiered()["tools"]
    other = {"name": "list", "input_schema": {}}
    assert kept(tiered(), tiered(tools=[other, *tools])) == 0
    assert kept(tiered(), tiered(tools=[{**tools[0], "description": "Reads."}])) == 0


def test_sizes_follow_the_tools_that_move_into_the_system_prompt():
    prompt = Prompt.from_request(tiered(tools=[WEB_SEARCH, {**tiered()["tools"][0]}]))
    layout = Layout.from_prompt(prompt, [300, 5000, 6000, 7000])
    assert [position.cumulative_tokens for position in layout.positions] == [4700, 5000, 6000, 7000]
    assert [position.path for position in layout.positions[:2]] == ["tools[1]", "tools[0]"]
    unknown = Layout.from_prompt(prompt, [300, None, 6000, 7000])
    assert [position.cumulative_tokens for position in unknown.positions] == [None, None, 6000, 7000]


def test_a_deferred_tool_is_outside_the_prefix():
    deferred = {"name": "rare", "input_schema": {}, "defer_loading": True}
    assert kept(tiered(), tiered(tools=[deferred, *tiered()["tools"]])) == 3
    talks_of_it = {"name": "rare", "input_schema": {"default": {"defer_loading": True}}}
    assert kept(tiered(), tiered(tools=[talks_of_it, *tiered()["tools"]])) == 0


def test_citations_lose_the_system_prompt_and_a_text_that_mentions_them_does_not():
    def with_document(**fields: Any) -> dict[str, Any]:
        document = {"type": "document", "source": {"type": "text", "data": "d"}, **fields}
        return tiered(messages=[{"role": "user", "content": [document, text("Go.", SHORT)]}])

    assert kept(tiered(), with_document(citations={"enabled": True})) == 1
    assert kept(tiered(), with_document(citations={"enabled": False})) == 2
    document = {"type": "document", "source": {}, "citations": {"enabled": True}}
    result = {"type": "tool_result", "tool_use_id": "toolu_0", "content": [document]}
    nested = tiered(messages=[tool_turn(1)[0], {"role": "user", "content": [result]}])
    assert kept(tiered(), nested) == 1
    assert (
        kept(tiered(), tiered(messages=[{"role": "user", "content": [text('"citations":{"enabled":true}')]}]))
        == 2
    )


@pytest.mark.parametrize(("invalidates", "read"), [(False, 6000), (True, 4000)])
def test_whether_the_first_picture_loses_the_messages_before_it(invalidates, read):
    api = Api(image_presence_invalidates_messages=invalidates)
    before = tiered()
    api.send(from_request(before, rules=api.cache.rules))
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    after = tiered(
        messages=[*before["messages"], {"role": "user", "content": [{**picture, "cache_control": SHORT}]}]
    )
    assert api.send(from_request(after, rules=api.cache.rules)).read_tokens == read


def test_key_order_counts_in_a_call_and_not_in_a_result():
    def called(arguments: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
        calls, results = tool_turn(1)
        calls["content"][0]["input"] = arguments
        results["content"][0] = {**result, "cache_control": SHORT}
        return tiered(messages=[{"role": "user", "content": [text("Go.")]}, calls, results])

    result = {"type": "tool_result", "tool_use_id": "toolu_0", "content": "x"}
    turned = dict(reversed(result.items()))
    assert kept(called({"a": 1, "b": 2}, result), called({"a": 1, "b": 2}, turned)) == 3
    assert kept(called({"a": 1, "b": 2}, result), called({"b": 2, "a": 1}, result)) == 2


@pytest.mark.parametrize(("order", "tiers_kept"), [("sent", 0), ("sorted", 3)])
def test_whether_key_order_counts_in_a_schema(order, tiers_kept):
    tool = tiered()["tools"][0]
    turned = {**tool, "input_schema": dict(reversed(tool["input_schema"].items()))}
    assert kept(tiered(), tiered(tools=[turned]), schema_key_order=order) == tiers_kept


def test_a_lost_tier_is_explained_by_the_parameter_that_lost_it(api):
    api.send(from_request(tiered()))
    plan = api.cache.lookup(from_request(tiered(tool_choice={"type": "any"})), explain=True)
    assert plan.reasons[-1] == "messages[0].content[0]: the same blocks are cached, with another tool_choice"


# --- markers


def test_five_markers_are_refused_in_the_apis_words():
    with pytest.raises(InvalidRequestError) as error:
        laid_out("abcde", dict.fromkeys(range(5), SHORT))
    assert error.value.problems[0].message == recorded_message("A maximum of 4 blocks", "2025-10")
    assert laid_out("abcde", dict.fromkeys(range(4), SHORT)).markers[3].position == 3


def test_an_hour_behind_five_minutes_is_refused_in_the_apis_words():
    with pytest.raises(InvalidRequestError) as error:
        laid_out("abc", {0: SHORT, 1: SHORT, 2: LONG})
    (problem,) = error.value.problems
    assert problem.path == "position 3.cache_control.ttl"
    assert recorded_message("a ttl='1h' cache_control", "`tools`").endswith(problem.message)
    assert laid_out("abc", {0: LONG, 1: LONG, 2: SHORT}).markers[1].ttl == "1h"


def recorded_message(*words: str) -> str:
    """The error that was reported with these words in it, or in its id or note."""
    for row in exchanges():
        told = f"{row.error.message if row.error else ''} {row.id} {row.note}"
        if row.error and words[0] in row.error.message and (words[1] in told or words[1][:4].isdigit()):
            return row.error.message
    raise AssertionError(words)


@pytest.mark.parametrize(
    ("control", "rule"),
    [
        ({"type": "persistent"}, "marker-type"),
        ({}, "marker-type"),
        ({"type": "ephemeral", "ttl": "2h"}, "marker-ttl"),
        ({"type": "ephemeral", "ttl": 5}, "marker-ttl"),
    ],
)
def test_a_marker_of_unknown_kind_is_refused_with_its_place(control, rule):
    for body in (tiered(cache_control=control), tiered(tools=[{"name": "t", "cache_control": control}])):
        with pytest.raises(InvalidRequestError) as error:
            from_request(body)
        assert error.value.problems[0].rule == rule
        assert "cache_control." in error.value.problems[0].path


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (text(""), "cache_control cannot be set for empty text blocks"),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, "Extra inputs are not permitted"),
        ({"type": "redacted_thinking", "data": "x"}, "Extra inputs are not permitted"),
    ],
)
def test_a_marker_on_a_block_that_cannot_carry_one_is_refused(block, message):
    messages = [{"role": "assistant", "content": [{**block, "cache_control": SHORT}]}]
    with pytest.raises(InvalidRequestError) as error:
        from_request(request(messages))
    (problem,) = error.value.problems
    assert (problem.path, problem.message) == ("messages[0].content[0].cache_control", message)


def test_a_marker_on_a_deferred_tool_is_refused():
    with pytest.raises(InvalidRequestError) as error:
        from_request(tiered(tools=[{"name": "t", "defer_loading": True, "cache_control": SHORT}]))
    assert error.value.problems[0].rule == "marker-on-deferred"


# --- markers inside tool results


def marked_inside(*marks: dict[str, str] | None, own: dict[str, str] | None = None) -> dict[str, Any]:
    """A tool loop whose result is texts, each marked or not."""
    call, answer = tool_turn(1)
    (result,) = answer["content"]
    result |= {"content": [text(str(i), mark) for i, mark in enumerate(marks)]}
    result |= {"cache_control": own} if own else {}
    return request([{"role": "user", "content": "Go."}, call, answer])


@pytest.mark.parametrize("marks", [(SHORT,), (None, SHORT), (SHORT, None)], ids=["only", "last", "first"])
def test_whether_a_marker_inside_a_result_stands_for_one_on_it(marks):
    api = Api()
    first = api.send(from_request(marked_inside(*marks)))
    assert (first.written_5m_tokens, [m.position for m in first.layout.markers]) == (8000, [3])
    assert "messages[2].content[0] (5m)" in first.reasons[0]
    on_the_result = marked_inside(*(None for _ in marks), own=SHORT)
    assert api.send(from_request(on_the_result)).read_tokens == 8000
    ignored = Api(marker_inside_result="ignored")
    assert ignored.send(from_request(marked_inside(*marks), rules=ignored.cache.rules)).fresh_tokens == 8003


def test_of_the_markers_of_one_result_the_last_counts():
    for body in (marked_inside(LONG, SHORT), marked_inside(LONG, own=SHORT)):
        assert [marker.ttl for marker in from_request(body).markers] == ["5m"]


@pytest.mark.parametrize(
    ("body", "rule", "path"),
    [
        (marked_inside(*[SHORT] * 5), "four-markers", "request"),
        (marked_inside(*[SHORT] * 4, own=SHORT), "four-markers", "request"),
        (marked_inside(SHORT, LONG), "long-first", "messages[2].content[0].content[1].cache_control.ttl"),
        (marked_inside(SHORT, own=LONG), "long-first", "messages[2].content[0].cache_control.ttl"),
        (marked_inside({"type": "x"}), "marker-type", "messages[2].content[0].content[0].cache_control.type"),
    ],
)
def test_markers_inside_results_are_counted_and_checked_like_others(body, rule, path):
    with pytest.raises(InvalidRequestError) as error:
        from_request(body)
    assert [(problem.rule, problem.path) for problem in error.value.problems] == [(rule, path)]


def test_four_markers_inside_one_result_are_allowed():
    assert len(from_request(marked_inside(*[SHORT] * 4)).markers) == 1


# --- automatic caching


def automatic(content: list[dict[str, Any]], control: dict[str, str] = SHORT, **fields: Any) -> Layout:
    return from_request(request([{"role": "user", "content": content}], cache_control=control, **fields))


def test_the_automatic_marker_stands_on_the_last_block_and_moves_with_the_conversation(api):
    first = request([{"role": "user", "content": "one"}], cache_control=SHORT)
    second = request(
        [*first["messages"], {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}],
        cache_control=SHORT,
    )
    assert split(api.send(from_request(first))) == (0, 0, 4000, 3)
    plan = api.send(from_request(second))
    assert split(plan) == (4000, 0, 4000, 3)
    assert plan.reasons[0].startswith("messages[2].content (automatic, 5m): reads the entry at messages[0]")


def test_the_automatic_marker_walks_back_to_a_block_that_can_carry_it():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    layout = automatic([text("a"), thinking, text("")])
    assert [marker.position for marker in layout.markers] == [1]


def test_without_a_block_that_can_carry_it_the_automatic_marker_is_skipped():
    assert (
        from_request(
            request([{"role": "user", "content": [text("")]}], cache_control=SHORT, system=[])
        ).markers
        == ()
    )


@pytest.mark.parametrize("control", [SHORT, LONG])
def test_an_explicit_marker_of_the_same_lifetime_makes_the_automatic_one_void(control):
    layout = automatic([text("a", control)], control)
    assert [(marker.position, marker.automatic) for marker in layout.markers] == [(1, False)]


def test_an_explicit_marker_of_another_lifetime_conflicts_with_the_automatic_one():
    with pytest.raises(InvalidRequestError) as error:
        automatic([text("a", SHORT)], LONG)
    assert error.value.problems[0].rule == "automatic-conflict"


def test_the_automatic_marker_takes_one_of_the_four_slots():
    blocks = [text(str(i), SHORT) for i in range(4)]
    assert len(automatic([*blocks[:3], text("last")]).markers) == 4
    for content in ([*blocks, text("last")], blocks):  # the page names no exception for a void one
        with pytest.raises(InvalidRequestError) as error:
            automatic(content)
        assert error.value.problems[0].message.endswith("Found 5.")


def test_an_automatic_hour_behind_an_explicit_five_minutes_is_refused():
    with pytest.raises(InvalidRequestError) as error:
        automatic([text("a", SHORT), text("b")], LONG)
    assert error.value.problems[0].rule == "long-first"


# --- layouts


def test_a_layout_needs_one_size_per_block_and_sizes_that_grow():
    prompt = Prompt.from_request(request([{"role": "user", "content": "x"}]))
    with pytest.raises(InvalidArgumentError, match="one-size-a-block"):
        Layout.from_prompt(prompt, [1])
    with pytest.raises(InvalidArgumentError, match="grows"):
        Layout.from_prompt(prompt, [5, 4])
    with pytest.raises(InvalidArgumentError, match="grows"):
        Layout.from_prompt(prompt, [5, 6], total_tokens=5)
    with pytest.raises(InvalidArgumentError, match="lookback_unit"):
        Layout((Position("a", 1), Position("b", 0)), {}, MODEL)


def test_a_layout_needs_a_model_that_is_known():
    body = request([{"role": "user", "content": "x"}])
    with pytest.raises(UnknownModelError):
        from_request({**body, "model": "claude-nobody"})
    del body["model"]
    with pytest.raises(InvalidArgumentError, match="model"):
        from_request(body)
    assert from_request(body, model=MODEL).model is MODEL


def test_a_count_of_the_prompt_gives_the_sizes_and_what_follows_the_last_block():
    prompt = Prompt.from_request(request([{"role": "user", "content": [text("a" * 9000, SHORT)]}]))
    counted = count(prompt, MODEL, counter=lambda text, vocabulary: len(text))
    plan = Api().send(Layout.from_prompt(prompt, counted))
    assert plan.written_5m_tokens == counted.cumulative[-1]
    assert plan.fresh_tokens == counted.tail_tokens > 0


def test_a_prompt_that_grows_is_laid_out_without_hashing_it_again(monkeypatch):
    prompt = Prompt.from_request(request([{"role": "user", "content": [text("x", SHORT)]}]))
    longer = extend(prompt, [{"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}])

    def refuse(*_: object, **__: object) -> object:
        raise AssertionError("hashed again")

    monkeypatch.setattr(layout_module, "chained", refuse)
    monkeypatch.setattr("ctxlab.prompt.request.chained", refuse)
    layout = Layout.from_prompt(longer, [2000 * (i + 1) for i in range(4)])
    assert layout.positions[1].digest == Layout.from_prompt(prompt, [2000, 4000]).positions[1].digest


def test_a_recorded_row_without_request_or_digests_is_refused_by_name():
    with pytest.raises(RecordingError, match="request-recorded"):
        Layout.from_recording(exchange("reported/lookback-text-blocks#0"))
    memory = next(row for row in exchanges() if any(block.sha256 is None for block in row.blocks))
    with pytest.raises(RecordingError, match="digest-recorded"):
        Layout.from_recording(memory)


def test_a_layout_says_what_it_is():
    assert repr(laid_out("ab", {0: SHORT})) == (
        "<Layout: 2 positions, 1 markers, claude-sonnet-4-5, workspace default>"
    )


# --- sizes that are unknown until usage reveals them


def unsized(digests: str, marks: dict[int, dict[str, str]], total: int | None = None) -> Layout:
    positions = tuple(Position(digests[: i + 1], i, None, marks.get(i)) for i in range(len(digests)))
    return Layout(positions, {}, MODEL, total_tokens=total)


def answered(read: int, written: int, fresh: int, long: int = 0) -> Usage:
    return Usage(
        input_tokens=fresh,
        cache_read_input_tokens=read,
        cache_creation=CacheCreation(written, long),
    )


def test_an_unknown_size_is_told_as_unknown_and_has_no_usage(api):
    plan = api.cache.lookup(unsized("ab", {0: SHORT}, total=3000))
    assert split(plan) == (0, 0, None, None)
    assert repr(plan) == "<Plan: read 0, written 1h 0, written 5m ?, fresh ?>"
    with pytest.raises(InvalidUsageError, match="written_5m_tokens"):
        plan.usage()


def test_a_size_once_revealed_is_predicted_from_then_on(api):
    learned = api.cache.learn(api.cache.lookup(unsized("ab", {0: SHORT}, 3000)), answered(0, 2900, 100))
    assert (dict(learned.sizes), learned.problems) == ({0: 2900}, ())
    api.cache.commit(learned.plan)
    assert split(api.cache.lookup(unsized("ac", {0: SHORT}, 3050))) == (2900, 0, 0, 150)
    grown = api.cache.lookup(unsized("abcd", {3: SHORT}, 4000))
    assert split(grown) == (2900, 0, None, None)
    learned = api.cache.learn(grown, answered(2900, 1090, 10))
    assert dict(learned.sizes) == {3: 3990}


def test_one_answer_reveals_the_end_of_the_hour_and_the_end_of_the_five_minutes(api):
    plan = api.cache.lookup(unsized("abc", {0: LONG, 1: SHORT}, 3000))
    learned = api.cache.learn(plan, answered(0, 500, 300, long=2200))
    assert dict(learned.sizes) == {0: 2200, 1: 2700}


def test_hours_that_nobody_asked_for_teach_no_size(api):
    plan = api.cache.lookup(unsized("ab", {0: SHORT}, 3000))
    assert dict(api.cache.learn(plan, answered(0, 2000, 500, long=500)).sizes) == {0: 2500}


def test_a_known_size_must_hold(api):
    plan = api.send(laid_out("ab", {0: SHORT}))
    (problem,) = api.cache.learn(plan, answered(0, 2001, 2002)).problems
    assert problem.rule == "size-holds"
    assert api.cache.learn(plan, answered(0, 2000, 2003)).problems == ()


@pytest.mark.parametrize(
    ("usage", "rule"),
    [
        (answered(0, 6000, 3), "entry-not-read"),
        (answered(2000, 4000, 3), "entry-not-read"),
        (answered(3999, 2001, 3), "entry-not-read"),
        (answered(6000, 0, 3), "read-without-entry"),
        (answered(4001, 1999, 3), "read-without-entry"),
        (answered(4000, 1000, 3, long=1000), "hour-without-marker"),
        (answered(0, 0, 6003), "nothing-written"),
        (answered(4000, 2000, 4), "total-holds"),
    ],
)
def test_an_answer_that_contradicts_the_plan_is_reported(api, usage, rule):
    api.send(laid_out("ab", {0: SHORT, 1: SHORT}))
    plan = api.cache.lookup(laid_out("abc", {0: SHORT, 2: SHORT}))
    assert api.cache.learn(plan, plan.usage()).problems == ()
    assert rule in {problem.rule for problem in api.cache.learn(plan, usage).problems}


def test_a_warm_start_is_reported_and_its_size_learned(api):
    plan = api.cache.lookup(unsized("ab", {1: SHORT}, 3000))
    learned = api.cache.learn(plan, answered(2990, 0, 10))
    assert [problem.rule for problem in learned.problems] == ["read-without-entry"]
    api.cache.commit(learned.plan)
    assert split(api.cache.lookup(unsized("ab", {1: SHORT}, 3000))) == (2990, 0, 0, 10)


def test_an_unknown_prefix_that_was_not_cached_leaves_no_entry_and_is_no_contradiction(api):
    plan = api.cache.lookup(unsized("ab", {0: SHORT}, 1100))
    learned = api.cache.learn(plan, answered(0, 0, 1100))
    assert (dict(learned.sizes), learned.problems) == ({}, ())
    api.cache.commit(learned.plan)
    assert len(api.cache) == 0


def test_a_whole_prompt_below_the_floor_is_a_prediction_though_its_prefixes_are_unknown(api):
    assert split(api.cache.lookup(unsized("ab", {0: SHORT, 1: SHORT}, 1023))) == (0, 0, 0, 1023)


def test_an_entry_that_never_reached_the_floor_may_be_missed_without_contradiction(api):
    """A tiny marked system prompt under a long message: only the message's marker made an entry."""
    learned = api.cache.learn(
        api.cache.lookup(unsized("ab", {0: SHORT, 1: SHORT}, 3000)), answered(0, 2990, 10)
    )
    api.cache.commit(learned.plan)
    plan = api.cache.lookup(unsized("ac", {0: SHORT, 1: SHORT}, 3100))
    assert plan.read_tokens is None
    assert api.cache.learn(plan, answered(0, 3090, 10)).problems == ()
    assert api.cache.learn(plan, answered(1500, 1590, 10)).sizes == {0: 1500}


# --- reasons


def test_each_marker_has_its_reason_in_words(api):
    api.send(laid_out("abc", {0: SHORT, 1: SHORT}))
    api.send(laid_out("az", {1: SHORT}))
    plan = api.cache.lookup(laid_out("abcd", {0: SHORT, 1: SHORT, 2: SHORT, 3: SHORT}))
    assert plan.reasons == (
        "position 1 (5m): inside what is read up to position 2; its own entry lives on",
        "position 2 (5m): the entry that ends here is alive; it is read and lives on",
        "position 3 (5m): behind what is read up to position 2; written (5m)",
        "position 4 (5m): reads the entry at position 2, position 3 of the 20 looked at, and writes from "
        "there to here (5m)",
    )


def test_a_marker_inside_what_is_read_leaves_nothing_or_an_entry_as_the_switch_says():
    for creates, told in ((False, "it leaves nothing"), (True, "it makes an entry at no charge")):
        api = Api(marker_before_hit_creates=creates)
        api.send(laid_out("abc", {2: SHORT}))
        plan = api.send(laid_out("abc", {0: SHORT, 2: SHORT}))
        assert plan.reasons[0] == f"position 1 (5m): inside what is read up to position 3; {told}"


def test_an_entry_that_just_ended_is_named_with_its_age(api):
    api.send(laid_out("a", {0: SHORT}))
    api.clock.advance(312)
    assert api.cache.lookup(laid_out("ab", {1: SHORT})).reasons == (
        "position 2 (5m): no entry in the 20 positions looked at (the one at position 1 ended 12 s ago); "
        "written (5m)",
    )


# --- work and memory


class CountedDict(dict):
    """A dict that counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def get(self, *words: Any) -> Any:
        self.asked += 1
        return super().get(*words)


@pytest.mark.parametrize("turns", [10, 100, 1000])
def test_a_lookup_asks_the_store_no_more_often_in_a_longer_history(turns):
    api = Api()
    api.cache._entries = CountedDict()
    positions = tuple(Position(str(i), i, 2000 + i) for i in range(2 * turns))
    marks = [2 * turns - 1 - 30 * i for i in range(4) if 2 * turns - 1 - 30 * i > 0]
    positions = tuple(p._replace(cache_control=SHORT) if i in marks else p for i, p in enumerate(positions))
    api.send(Layout(positions, {}, MODEL))
    missed, api.cache._entries.asked = api.cache._entries.asked, 0
    assert missed <= 4 * 20
    api.send(Layout(positions, {}, MODEL))
    assert api.cache._entries.asked <= 10


def test_entries_that_ended_are_forgotten_in_time():
    clock = ManualClock()
    cache = PromptCache(clock, remember_s=60)
    for i in range(500):
        cache.commit(cache.lookup(laid_out(chr(300 + i), {0: SHORT})))
        clock.advance(10)
    assert len(cache) <= (300 + 60) / 10 + 1
    assert len(cache._endings) == len(cache)


def test_an_entry_that_is_read_again_and_again_is_not_forgotten_until_it_has_ended():
    clock = ManualClock()
    cache = PromptCache(clock, remember_s=0)
    for _ in range(50):
        cache.commit(cache.lookup(laid_out("a", {0: SHORT})))
        clock.advance(200)
    assert cache.lookup(laid_out("a", {0: SHORT})).read_tokens == 2000
    clock.advance(300)
    cache.commit(cache.lookup(laid_out("b", {0: SHORT})))
    assert len(cache) == len(cache._endings) == 1


def test_an_entry_is_remembered_from_its_last_end_on():
    clock = ManualClock()
    cache = PromptCache(clock, remember_s=60)
    cache.commit(cache.lookup(laid_out("a", {0: SHORT})))
    clock.advance(200)
    cache.commit(cache.lookup(laid_out("a", {0: SHORT})))  # ends at 500 s
    clock.advance(350)
    cache.commit(cache.lookup(laid_out("b", {0: SHORT})))
    assert "(the one at position 1 ended 50 s ago)" in cache.lookup(laid_out("a", {0: SHORT})).reasons[0]
    clock.advance(20)
    cache.commit(cache.lookup(laid_out("b", {0: SHORT})))
    assert "ended" not in cache.lookup(laid_out("a", {0: SHORT})).reasons[0]


# --- the rules as data


def test_every_assumed_rule_has_a_switch_and_every_switch_a_rule():
    switches = {field.name for field in dataclasses.fields(CacheRules)}
    assert {rule.switch for rule in rules().values() if rule.evidence == "assumed"} <= switches
    assert {rule.switch for rule in rules().values() if rule.switch} == switches
    assert {row.switch for row in invalidations() if row.switch} <= switches
    assert all(row.switch for row in invalidations() if row.evidence == "assumed")


def test_every_rule_has_a_sentence_a_source_and_a_known_kind_of_evidence():
    kinds = {"recorded", "reported", "documented", "assumed"}
    for row in (*rules().values(), *invalidations()):
        assert row.evidence in kinds
        assert row.source
        assert row.date.year in (2025, 2026)
    assert all(rule.says.endswith(".") for rule in rules().values())


def test_a_rule_that_cites_recordings_by_name_cites_rows_that_exist():
    known = {row.sequence for row in exchanges()}
    for rule in rules().values():
        for word in rule.source.replace(",", " ").split():
            if word.startswith(("ellmer/", "pydantic-ai/", "dd-trace-py/", "reported/look", "crush/")):
                assert word.rstrip(";") in known, rule.id


def test_the_table_of_losses_is_the_one_the_layout_follows():
    """Tools are kept by all but their own definitions, the output schema, and what nobody documents."""
    by_parameter = {name: row.loses for row in invalidations() for name in row.parameters}
    assert by_parameter == {
        "speed": "system",
        "tool_choice": "messages",
        "thinking": "tools",
        "output_config.effort": "tools",
        "output_config.format": "tools",
        "output_format": "tools",
    }


@pytest.mark.parametrize(
    "switches",
    [
        {"schema_key_order": "any"},
        {"tool_run_positions": 1},
        {"deep_hit_refreshes": True},
        {"thinking_change_loses": "nothing"},
        {"expiry_grace_s": -1},
        {"visibility_delay_s": float("nan")},
        {"unknown_floor_tokens": None},
    ],
)
def test_a_switch_in_no_position_is_refused(switches):
    with pytest.raises(InvalidArgumentError, match=next(iter(switches))):
        CacheRules(**switches)


def test_everything_public_is_exported():
    assert all(hasattr(cache_package, name) for name in cache_package.__all__)
