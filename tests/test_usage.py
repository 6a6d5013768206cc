"""Promises of ctxlab.usage: no token is lost, none is counted twice, and doubt is flagged."""

from __future__ import annotations

import doctest
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ctxlab import recordings
from ctxlab.catalogue import get_model
from ctxlab.cost import bill
from ctxlab.errors import InvalidUsageError, Problem
from ctxlab.usage import FLAGS, CacheCreation, Iteration, Usage, fold_rows, hit_rate
from tests.strategies import junk, token_counts, usages

PLAIN = {
    "input_tokens": 10,
    "cache_read_input_tokens": 1_000,
    "cache_creation_input_tokens": 0,
    "output_tokens": 5,
}


def read(**fields: Any) -> Usage:
    return Usage.from_response({**PLAIN, **fields})


def step(kind: str, fresh: int, out: int, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "input_tokens": fresh,
        "output_tokens": out,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        **fields,
    }


@pytest.mark.parametrize("part", ["hits", "rows", "sums"])
def test_the_examples_in_the_docstrings_hold(part: str) -> None:
    module = __import__(f"ctxlab.usage.{part}", fromlist=["_"])
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)


# --- the four classes


def test_a_plain_answer_carries_no_flag() -> None:
    assert (
        read(cache_creation={"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}).flags == set()
    )


def test_null_cache_fields_are_zeros_and_no_cause_for_doubt() -> None:
    usage = read(cache_read_input_tokens=None, cache_creation_input_tokens=None, cache_creation=None)
    assert (usage.total_input_tokens, usage.flags) == (10, frozenset())


def test_writes_without_a_split_are_kept_as_unknown() -> None:
    usage = read(cache_creation_input_tokens=700)
    assert usage.cache_creation == CacheCreation(unknown_ttl_input_tokens=700)
    assert usage.flags == {"ttl-missing"}


def test_a_split_that_agrees_is_taken_and_not_flagged() -> None:
    usage = read(
        cache_creation_input_tokens=700,
        cache_creation={"ephemeral_5m_input_tokens": 600, "ephemeral_1h_input_tokens": 100},
    )
    assert (usage.cache_creation, usage.flags) == (CacheCreation(600, 100), frozenset())


def test_a_split_that_disagrees_keeps_every_token() -> None:
    """As recorded: a stream updated the total to 17,269 and left the split at 0 + 0."""
    usage = read(
        cache_creation_input_tokens=17_269,
        cache_creation={"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
    )
    assert usage.cache_creation == CacheCreation(unknown_ttl_input_tokens=17_269)
    assert usage.flags == {"ttl-contradicts"}


def test_a_split_larger_than_its_total_is_kept_and_flagged() -> None:
    usage = read(cache_creation_input_tokens=5, cache_creation={"ephemeral_1h_input_tokens": 9})
    assert (usage.cache_creation, usage.flags) == (CacheCreation(0, 9), {"ttl-exceeds-total"})


def test_a_lifetime_of_the_future_keeps_its_tokens() -> None:
    usage = read(
        cache_creation_input_tokens=9,
        cache_creation={"ephemeral_5m_input_tokens": 2, "ephemeral_24h_input_tokens": 7},
    )
    assert (usage.cache_creation, usage.flags) == (CacheCreation(2, 0, 7), {"ttl-new-class"})


@given(total=st.none() | token_counts, short=st.none() | token_counts, long=st.none() | token_counts)
def test_whatever_the_split_says_the_larger_reading_survives(
    total: int | None, short: int | None, long: int | None
) -> None:
    usage = read(
        cache_creation_input_tokens=total,
        cache_creation={"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
    )
    assert usage.cache_creation_input_tokens == max(total or 0, (short or 0) + (long or 0))


def test_an_unknown_field_is_flagged_and_a_known_one_is_not() -> None:
    assert "unknown-field" in read(quantum_tokens=3).flags
    assert "unknown-field" not in read(output_tokens_details={"thinking_tokens": 2}, speed="standard").flags


def test_an_unknown_field_that_is_null_says_nothing() -> None:
    step = {"type": "message", "input_tokens": 2, "output_tokens": 1, "quantum_tokens": None}
    assert "unknown-field" not in read(quantum_tokens=None, prompt_tokens=None).flags
    assert "unknown-field" not in read(iterations=[step]).flags
    assert "unknown-field" in read(iterations=[{**step, "quantum_tokens": 3}]).flags


def test_a_split_of_nulls_did_not_say_and_does_not_contradict() -> None:
    split = {"ephemeral_5m_input_tokens": None, "ephemeral_1h_input_tokens": None, "ephemeral_1d": None}
    for nothing in (split, {}):
        usage = read(cache_creation_input_tokens=9, cache_creation=nothing)
        assert (usage.cache_creation, usage.flags) == (CacheCreation(0, 0, 9), {"ttl-missing"})


def test_an_option_logged_as_an_empty_string_was_not_told() -> None:
    usage = read(service_tier="", speed="", inference_geo="")
    assert (usage.service_tier, usage.speed, usage.inference_geo) == (None, None, None)
    assert "mixed-service" not in (usage + read(service_tier="standard")).flags
    assert bill(usage, "claude-opus-5-5") == bill(read(), "claude-opus-5-5")


@pytest.mark.parametrize(
    "foreign",
    [
        {"inputTokens": 10, "outputTokens": 5, "totalTokens": 135, "cacheReadInputTokens": 100},
        {"promptTokens": 130, "completionTokens": 5},
        {"promptTokenCount": 130, "candidatesTokenCount": 5},
    ],
)
def test_counts_under_the_names_of_another_library_are_told_from_missing_ones(foreign: dict) -> None:
    with pytest.raises(InvalidUsageError, match="another library") as caught:
        Usage.from_response(foreign)
    assert len(caught.value.problems) == 1
    with pytest.raises(InvalidUsageError, match="always sends it"):
        Usage.from_response({"input_tokens": 10})


# --- usage told in another convention


@pytest.mark.parametrize(
    "foreign",
    [
        {"prompt_tokens": 1_210, "completion_tokens": 5},
        {"prompt_tokens_details": {"cached_tokens": 1_000}},
        {"input_tokens_details": {"cached_tokens": 1_000}},
        {"input_token_details": {"cache_read": 1_000}},
        {"cached_tokens": 1_000},
        {"cached_input_tokens": 1_000},
        {"cache_read_tokens": 1_000},
        {"cache_write_tokens": 1_000},
        {"prompt_cache_hit_tokens": 1_000},
        {"total_tokens": 15},
    ],
)
def test_inclusive_usage_passed_as_disjoint_is_refused(foreign: dict[str, Any]) -> None:
    with pytest.raises(InvalidUsageError) as caught:
        read(**foreign)
    (problem,) = caught.value.problems
    assert problem.rule == "disjoint-classes"
    assert problem.path == f"usage.{next(iter(foreign))}"
    assert "from_inclusive" in problem.fix


def test_a_total_that_agrees_with_the_four_classes_is_let_through() -> None:
    assert read(total_tokens=1_015).total_input_tokens == 1_010


WARM_STEP = step("message", 10, 5, cache_read_input_tokens=1_000, cache_creation_input_tokens=200)


def test_a_top_level_that_counts_what_its_iterations_cached_as_fresh_is_refused() -> None:
    with pytest.raises(InvalidUsageError, match=r"usage\.input_tokens: is 1210.*disjoint-classes"):
        read(input_tokens=1_210, cache_creation_input_tokens=200, iterations=[WARM_STEP])


def test_a_top_level_that_is_the_rest_of_its_iterations_is_let_through() -> None:
    warm = read(input_tokens=10, cache_creation_input_tokens=200, iterations=[WARM_STEP])
    assert warm.total_input_tokens == warm.context_tokens == 1_210
    uncached = read(input_tokens=7, cache_read_input_tokens=0, iterations=[step("message", 7, 5)])
    assert uncached.flags == set()


def test_input_that_equals_reads_plus_writes_is_doubted() -> None:
    """A sample of the documentation reads as if input_tokens were the sum of the other two."""
    sample = {"cache_read_input_tokens": 1_800, "cache_creation_input_tokens": 248}
    assert "looks-inclusive" in read(input_tokens=2_048, **sample).flags
    assert "looks-inclusive" not in read(input_tokens=2_047, **sample).flags


@given(prompt=token_counts, cached=token_counts, written=token_counts)
def test_the_converter_splits_the_whole_or_refuses(prompt: int, cached: int, written: int) -> None:
    if prompt < cached + written:
        with pytest.raises(InvalidUsageError, match="non-negative-remainder"):
            Usage.from_inclusive(prompt, cached, 1, written)
    else:
        usage = Usage.from_inclusive(prompt, cached, 1, written)
        assert (usage.total_input_tokens, usage.cache_read_input_tokens) == (prompt, cached)


def test_a_null_of_cached_tokens_is_none_cached_and_one_of_the_prompt_is_not() -> None:
    assert Usage.from_inclusive(9, None, 1, None) == Usage.from_inclusive(9, 0, 1)
    with pytest.raises(InvalidUsageError, match="prompt_tokens: is None"):
        Usage.from_inclusive(None, 0, 1)  # type: ignore[arg-type]


def test_the_converter_takes_whole_floats_for_every_count() -> None:
    assert Usage.from_inclusive(20_212.0, 16_298.0, 931.0, 14.0) == Usage.from_inclusive(  # type: ignore[arg-type]
        20_212, 16_298, 931, 14
    )


# --- bad input


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (-1, "non-negative"),
        (True, "whole-number"),
        (1.5, "whole-number"),
        (float("nan"), "whole-number"),
        (float("inf"), "whole-number"),
        ("10", "whole-number"),
        ([10], "whole-number"),
        (10**12 + 1, "plausible"),
        pytest.param(10**5_000, "plausible", id="huge"),
        pytest.param(-(10**5_000), "non-negative", id="hugely negative"),
    ],
)
@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "cache_read_input_tokens"])
def test_an_impossible_count_is_refused_with_its_path(field: str, value: object, rule: str) -> None:
    with pytest.raises(InvalidUsageError) as caught:
        read(**{field: value})
    (problem,) = caught.value.problems
    assert (problem.path, problem.rule) == (f"usage.{field}", rule)


def test_a_count_that_json_made_a_float_is_still_whole() -> None:
    assert read(input_tokens=12.0).input_tokens == 12


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens"])
def test_a_required_count_that_is_null_or_missing_is_refused_as_what_it_is(field: str) -> None:
    with pytest.raises(InvalidUsageError, match=rf"usage\.{field}: is null"):
        read(**{field: None})
    with pytest.raises(InvalidUsageError, match=rf"usage\.{field}: is missing"):
        Usage.from_response({name: 1 for name in ("input_tokens", "output_tokens") if name != field})


def test_both_required_counts_are_judged_at_once() -> None:
    with pytest.raises(InvalidUsageError) as caught:
        Usage.from_response({"input_tokens": -1})
    assert [(problem.path, problem.rule) for problem in caught.value.problems] == [
        ("usage.input_tokens", "non-negative"),
        ("usage.output_tokens", "required"),
    ]


def test_the_path_leads_into_the_iterations() -> None:
    with pytest.raises(InvalidUsageError, match=r"usage\.iterations\[1\]\.cache_creation\.ephemeral_5m"):
        read(
            iterations=[
                step("message", 1, 1),
                step("message", 1, 1, cache_creation={"ephemeral_5m_input_tokens": -4}),
            ]
        )


@pytest.mark.parametrize("value", [None, 7, "usage", [], object(), Usage, {"usage": None}, {"usage": 3}])
def test_what_is_no_answer_at_all_is_refused(value: object) -> None:
    with pytest.raises(InvalidUsageError):
        Usage.from_response(value)


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, "an error has none"),
        ({"type": "message_start", "message": {"usage": PLAIN}}, "give the answer"),
        ({"custom_id": "a", "result": {"message": {"usage": PLAIN}}}, "give the answer"),
    ],
)
def test_what_holds_no_usage_is_not_taken_for_one_without_counts(body: dict[str, Any], fix: str) -> None:
    with pytest.raises(InvalidUsageError, match=rf"response\.usage: is missing.*{fix}"):
        Usage.from_response(body)


def asynchronous() -> Any:
    async def events() -> Any:
        yield {"type": "message_stop"}

    return events()


@pytest.mark.parametrize("values", [None, 5, "rows", PLAIN, asynchronous()])
@pytest.mark.parametrize(
    ("take", "path"), [(Usage.from_stream, "events"), (fold_rows, "rows"), (hit_rate, "usages")]
)
def test_what_is_no_list_of_things_is_refused_by_name(take: Any, path: str, values: object) -> None:
    with pytest.raises(InvalidUsageError, match=rf"^{path}: is .*\[type\]; (give a list|collect)"):
        take(values)


@given(
    st.dictionaries(
        st.sampled_from([*PLAIN, "cache_creation", "iterations", "server_tool_use", "speed", "total_tokens"]),
        junk,
    )
)
def test_junk_is_read_or_refused_but_never_anything_else(fields: dict[str, Any]) -> None:
    refused: tuple[Problem, ...] = ()
    try:
        flags = read(**fields).flags
    except InvalidUsageError as error:
        flags, refused = frozenset(), error.problems
    assert flags <= FLAGS.keys()
    assert all(problem.path.startswith("usage") for problem in refused)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Usage(input_tokens=-1),
        lambda: Usage(input_tokens=1.0),
        lambda: Usage(requests=True),
        lambda: Usage(cache_creation=3),
        lambda: Usage(flags=frozenset({"surprise"})),
        lambda: Usage(flags=None),
        lambda: Usage(flags=["ttl-missing"]),
        lambda: Usage(iterations=[{"type": "message"}]),
        lambda: Usage(iterations=({"type": "message"},)),
        lambda: Usage(speed=2),
        lambda: Usage(requests=0, input_tokens=1),
        lambda: Usage(requests=0, iterations=(Iteration(type="message"),)),
        lambda: Iteration(type=""),
        lambda: Iteration(type=None),
        lambda: Iteration(type="message", model=5),
        lambda: Iteration(type="message", output_tokens=-1),
        lambda: CacheCreation(-1),
    ],
)
def test_impossible_figures_cannot_be_built_by_hand_either(make: Any) -> None:
    with pytest.raises(InvalidUsageError):
        make()


# --- shapes the figures come in


@dataclass
class Counters:
    input_tokens: int
    output_tokens: int
    cache_creation: object = None


def test_mappings_sdk_objects_dataclasses_and_namespaces_read_the_same() -> None:
    figures = {
        "input_tokens": 3,
        "output_tokens": 7,
        "cache_creation_input_tokens": 5,
        "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 4},
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": figures,
    }
    sdk = Message.model_validate(message)
    shapes = [
        figures,
        message,
        sdk,
        sdk.usage,
        BetaMessage.model_validate(message),
        SimpleNamespace(usage=SimpleNamespace(**{**figures, "cache_creation": sdk.usage.cache_creation})),
        Counters(3, 7, SimpleNamespace(ephemeral_5m_input_tokens=1, ephemeral_1h_input_tokens=4)),
    ]
    readings = [Usage.from_response(shape) for shape in shapes]
    assert readings == [Usage(input_tokens=3, output_tokens=7, cache_creation=CacheCreation(1, 4))] * len(
        shapes
    )


def test_a_usage_is_read_as_itself() -> None:
    usage = Usage(input_tokens=1)
    assert Usage.from_response(usage) is usage


# --- iterations: billing, window, rate limit

COMPACTED = {
    "input_tokens": 23_000,
    "output_tokens": 1_000,
    "iterations": [step("compaction", 180_000, 3_500), step("message", 23_000, 1_000)],
}


def test_billing_window_and_rate_limit_are_three_different_sums() -> None:
    """The documented example: the top level shows 24,000 of 207,500 tokens."""
    usage = Usage.from_response(COMPACTED)
    assert usage.flags == set()
    assert usage.billed_input_tokens + usage.billed_output_tokens == 207_500
    assert (usage.context_tokens, usage.context_after_tokens) == (23_000, 24_000)
    assert usage.itpm_tokens == 203_000


def test_without_iterations_the_top_level_is_the_one_entry() -> None:
    usage = read()
    assert [entry.type for entry in usage.billed] == ["message"]
    assert (usage.billed_input_tokens, usage.billed_output_tokens) == (usage.total_input_tokens, 5)


def test_reads_are_free_of_the_rate_limit_save_on_the_one_model_that_counted_them() -> None:
    usage = read()
    assert usage.itpm_tokens == 10
    assert usage.itpm_tokens_for(get_model("claude-haiku-4-5")) == 10
    assert usage.itpm_tokens_for(get_model("claude-3-5-haiku-20241022")) == 1_010


def test_an_advisor_is_billed_but_neither_in_the_window_nor_in_this_models_limit() -> None:
    """As recorded: the top level holds the two message steps, 1,128 + 1,262, and not the advisor's 2,518."""
    usage = Usage.from_response(
        {
            "input_tokens": 2_390,
            "output_tokens": 121,
            "iterations": [
                step("message", 1_128, 110),
                step("advisor_message", 2_518, 22, model="claude-opus-4-8"),
                step("message", 1_262, 11),
            ],
        }
    )
    assert usage.flags == set()
    assert (usage.billed_input_tokens, usage.context_tokens, usage.itpm_tokens) == (4_908, 1_262, 2_390)


def test_a_top_level_that_no_reading_explains_is_flagged_and_kept() -> None:
    usage = Usage.from_response({**COMPACTED, "input_tokens": 23_001})
    assert usage.flags == {"iterations-disagree"}
    assert (usage.input_tokens, usage.billed_input_tokens) == (23_001, 203_000)


def test_a_summary_alone_says_that_it_tells_nothing_about_the_window() -> None:
    usage = Usage.from_response(
        {"input_tokens": 0, "output_tokens": 0, "iterations": [step("compaction", 83_555, 139)]}
    )
    assert usage.flags == {"no-message-iteration"}
    assert (usage.context_tokens, usage.billed_input_tokens) == (0, 83_555)


def test_an_iteration_type_of_the_future_is_kept_and_flagged() -> None:
    usage = read(iterations=[step("message", 10, 5, cache_read_input_tokens=1_000), step("dream", 7, 1)])
    assert {"iteration-new-type"} <= usage.flags
    assert [entry.type for entry in usage.billed] == ["message", "dream"]


def test_a_server_tool_loop_without_iterations_warns_about_the_window() -> None:
    assert "context-is-a-sum" in read(server_tool_use={"web_search_requests": 2}).flags
    assert "context-is-a-sum" not in read(server_tool_use={"web_search_requests": 0}).flags


def test_a_sum_has_no_window_size() -> None:
    with pytest.raises(InvalidUsageError, match="one-request-per-context"):
        _ = (read() + read()).context_tokens


# --- streams


def stream(
    *deltas: dict[str, Any], start: dict[str, Any] | None = None, end: bool = True
) -> list[dict[str, Any]]:
    first = start if start is not None else {"input_tokens": 25, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {"usage": first}},
        {"type": "ping"},
        *({"type": "message_delta", "delta": {}, "usage": delta} for delta in deltas),
        *([{"type": "message_stop"}] if end else []),
    ]


@given(st.lists(token_counts, min_size=1, max_size=6))
def test_running_totals_replace_and_never_add(totals: list[int]) -> None:
    usage = Usage.from_stream(stream(*({"output_tokens": total} for total in totals)))
    assert usage.output_tokens == max([1, *totals])
    assert ("stream-shrank" in usage.flags) == ([1, *totals] != sorted([1, *totals]))


def test_a_null_in_a_delta_says_nothing() -> None:
    usage = Usage.from_stream(
        stream({"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 9})
    )
    assert (usage.input_tokens, usage.output_tokens, usage.flags) == (25, 9, frozenset())


def test_a_delta_that_raises_the_writes_but_not_their_split_loses_none() -> None:
    start = {
        "input_tokens": 9,
        "output_tokens": 1,
        "cache_creation_input_tokens": 100,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
    }
    usage = Usage.from_stream(
        stream({"output_tokens": 5, "cache_creation_input_tokens": 17_269}, start=start)
    )
    assert usage.cache_creation == CacheCreation(100, 0, 17_169)
    assert usage.flags == {"ttl-contradicts"}


@pytest.mark.parametrize(
    "events",
    [
        stream(end=False),
        stream({"output_tokens": 8}, end=False),
        stream(),
        stream({"output_tokens": None}),
        [*stream()[:-1], {"type": "message_delta", "usage": None}, {"type": "message_stop"}],
    ],
)
def test_a_cut_stream_keeps_its_input_and_says_so(events: list[dict[str, Any]]) -> None:
    usage = Usage.from_stream(events)
    assert usage.input_tokens == 25
    assert usage.flags == {"stream-cut"}


@pytest.mark.parametrize(
    "events",
    [
        [],
        [{"type": "message_stop"}],
        [{"type": "message_delta", "usage": {"output_tokens": 1}}],
        stream() + stream(),
        [{"type": "message_start"}],
        ["data: {}"],
    ],
)
def test_what_is_no_single_stream_is_refused(events: list[Any]) -> None:
    with pytest.raises(InvalidUsageError):
        Usage.from_stream(events)


def test_searches_of_a_stream_are_running_totals_too() -> None:
    def searched(*counts: int) -> Usage:
        return Usage.from_stream(
            stream(*({"output_tokens": 9, "server_tool_use": {"web_search_requests": n}} for n in counts))
        )

    assert (searched(1, 3).web_search_requests, searched(1, 3).flags) == (3, {"context-is-a-sum"})
    assert (searched(3, 1).web_search_requests, "stream-shrank" in searched(3, 1).flags) == (3, True)


def test_sdk_events_fold_like_plain_ones() -> None:
    plain = stream({"output_tokens": 15})
    plain[0]["message"] |= {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    events = [adapter.validate_python(event) for event in plain if event["type"] != "ping"]
    assert Usage.from_stream(events) == Usage.from_stream(plain)


def test_iterations_that_arrive_with_the_last_delta_are_taken() -> None:
    usage = Usage.from_stream(
        stream({"output_tokens": 9, "iterations": [step("compaction", 500, 5), step("message", 25, 9)]})
    )
    assert (usage.billed_input_tokens, usage.flags) == (525, frozenset())


# --- sums


@given(st.lists(usages(), max_size=6))
def test_a_sum_keeps_tokens_flags_and_requests(parts: list[Usage]) -> None:
    total = sum(parts, Usage.zero())
    assert total.requests == len(parts)
    assert total.total_input_tokens == sum(part.total_input_tokens for part in parts)
    assert total.billed_input_tokens == sum(part.billed_input_tokens for part in parts)
    assert total.billed_output_tokens == sum(part.billed_output_tokens for part in parts)
    assert total.itpm_tokens == sum(part.itpm_tokens for part in parts)
    assert sum(parts) == (total if parts else 0)


@given(usages(), usages(), usages())
def test_it_does_not_matter_what_is_added_first(a: Usage, b: Usage, c: Usage) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + Usage.zero() == a == Usage.zero() + a


def test_a_sum_over_unlike_options_says_so() -> None:
    batch, live = read(service_tier="batch"), read(service_tier="standard")
    assert "mixed-service" in (batch + live).flags
    assert "mixed-service" not in (live + live).flags


def test_an_option_that_is_not_named_and_its_default_can_be_added() -> None:
    unnamed, named = read(), read(service_tier="standard", speed="standard", inference_geo="not_available")
    assert (unnamed + named).flags == (unnamed + read(inference_geo="global")).flags == set()
    assert "mixed-service" in (unnamed + read(inference_geo="us")).flags
    assert "mixed-service" in (unnamed + read(service_tier="priority")).flags


def test_flags_of_the_parts_stay_on_the_sum() -> None:
    assert "ttl-missing" in (read(cache_creation_input_tokens=9) + read()).flags


# --- logs


def test_rows_without_an_id_are_kept_and_flagged() -> None:
    folded = fold_rows([{"usage": PLAIN}, {"usage": PLAIN}])
    assert [(row.message_id, row.rows) for row in folded] == [(None, 1), (None, 1)]
    assert all("no-message-id" in row.usage.flags for row in folded)


def test_rows_that_disagree_about_the_input_are_flagged() -> None:
    rows = [{"id": "msg_A", "usage": PLAIN}, {"id": "msg_A", "usage": {**PLAIN, "input_tokens": 11}}]
    (message,) = fold_rows(rows)
    assert (message.usage.input_tokens, message.usage.flags) == (11, {"rows-conflict"})
    (agreed,) = fold_rows([rows[0], rows[0]])
    assert agreed.usage.flags == set()


def test_a_row_that_nests_its_message_is_understood() -> None:
    (message,) = fold_rows([{"type": "assistant", "message": {"id": "msg_A", "usage": PLAIN}}])
    assert (message.message_id, message.usage.input_tokens) == ("msg_A", 10)


def test_a_broken_row_is_named() -> None:
    with pytest.raises(InvalidUsageError, match=r"rows\[1\]\.message\.usage\.output_tokens"):
        fold_rows([{"id": "a", "usage": PLAIN}, {"message": {"id": "b", "usage": {"input_tokens": 1}}}])


@given(st.lists(st.tuples(st.sampled_from("AB"), token_counts), max_size=8))
def test_folding_counts_each_message_once_whatever_the_order(rows: list[tuple[str, int]]) -> None:
    folded = fold_rows({"id": name, "usage": {**PLAIN, "output_tokens": out}} for name, out in rows)
    assert [row.message_id for row in folded] == list(dict.fromkeys(name for name, _ in rows))
    for row in folded:
        assert row.usage.output_tokens == max(out for name, out in rows if name == row.message_id)
        assert row.rows == sum(name == row.message_id for name, _ in rows)


# --- hit rate


def test_a_sum_in_place_of_a_call_has_no_hit_rate() -> None:
    with pytest.raises(InvalidUsageError, match=r"usages\[1\]: sums 2 requests \[one-request-each\]"):
        hit_rate([read(), read() + read()])
    assert hit_rate([PLAIN]) == hit_rate([read()])  # type: ignore[list-item]


def test_nothing_sent_is_no_rate_at_all() -> None:
    rate = hit_rate([])
    assert (rate.token_rate, rate.call_rate, rate.aborted.requests) == (None, None, 0)


@given(st.lists(usages(), max_size=6))
def test_the_token_rate_is_a_share_over_the_finished_calls(calls: list[Usage]) -> None:
    rate = hit_rate(calls)
    assert rate.calls + rate.aborted.requests == len(calls)
    assert rate.token_rate is None or 0 <= rate.token_rate <= 1
    assert rate.token_rate is None or rate.token_rate == rate.read_tokens / rate.total_input_tokens


# --- the recordings


def test_recorded_answers_raise_only_doubts_that_are_known() -> None:
    """Missing splits, server-tool loops, two streams with a stale split, one summary on its own."""
    seen: dict[str, int] = {}
    read_rows = 0
    for row in recordings.exchanges():
        if row.usage is not None:
            read_rows += 1
            for flag in row.usage.flags:
                seen[flag] = seen.get(flag, 0) + 1
    assert read_rows > 500
    assert seen.keys() == {"ttl-missing", "ttl-contradicts", "context-is-a-sum", "no-message-iteration"}
    assert (seen["ttl-contradicts"], seen["no-message-iteration"]) == (2, 1)


def test_recorded_figures_survive_the_way_through_usage() -> None:
    """No token of a recorded answer is lost or moved to another class."""
    compared = 0
    for row in recordings.exchanges():
        if row.usage is None:
            continue
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            assert getattr(row.usage, name) == (row.figures.get(name) or 0), (row.id, name)
        compared += 1
    assert compared > 500
