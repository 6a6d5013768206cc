"""Promises of ctxlab.levers: what each lever keeps, what it costs on both ledgers, and when to leave it."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
from decimal import Decimal
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxlab import cli, validity
from ctxlab.cost import bill
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, UnpricedModelError
from ctxlab.levers import (
    CLEARED,
    READ_TOOL,
    Effect,
    Outcome,
    PrefixLedger,
    apply_compaction,
    clear,
    combined,
    compact,
    compact_async,
    compact_call,
    find_facts,
    missing,
    offload,
    read_artifact,
    trim,
    turn_starts,
    with_read_tool,
)
from ctxlab.levers.policy import Thresholds, Watch, batches_usd, best, best_batch
from ctxlab.properties import levers as property_of_levers
from ctxlab.usage import Usage
from tests.strategies import valid_messages
from tests.test_validity import (
    NEW,
    PICTURE,
    assistant,
    call,
    request,
    result,
    summary,
    text,
    thinking,
    user,
)

slow = settings(suppress_health_check=[HealthCheck.too_slow])
BINDING = "claude-opus-5-5"
AUTOMATIC = {"cache_control": {"type": "ephemeral"}}
TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]


def letters(words: str, vocabulary: str) -> int:
    return len(words) // 4 + 1 if words else 0


def ledger(body: dict[str, Any], **options: Any) -> PrefixLedger:
    return PrefixLedger.of(body, counter=letters, **options)


def turns(n: int, payload: str = "long " * 400) -> list[Any]:
    """n turns of a question, a call with its result and an answer, and one more question."""
    found = []
    for i in range(n):
        found += [
            user(text(f"question {i}")),
            assistant({**call(i), "input": {"path": f"file_{i}"}}),
            user({**result(i), "content": payload}),
            assistant(text(f"answer {i}")),
        ]
    return [*found, user(text("next"))]


def session(n: int = 8, **fields: Any) -> dict[str, Any]:
    system = [{"type": "text", "text": "Be brief. " * 1000, **AUTOMATIC}]
    return request(*turns(n), **{"tools": TOOLS, "system": system, **AUTOMATIC, **fields})


def answered(words: str = "<summary>All is well.</summary>", stop: str = "end_turn", **usage: int) -> Any:
    counts = {"input_tokens": 100, "output_tokens": 50, **usage}
    return {"content": [{"type": "text", "text": words}], "stop_reason": stop, "usage": counts}


# --- the ledger


def test_the_ledger_knows_what_is_warm_what_is_fixed_and_what_each_message_adds():
    body = session()
    warm, cold = ledger(body), ledger(body, sent=None)
    assert warm.warm_tokens == warm.cumulative_tokens[-1]
    assert (cold.warm_tokens, cold.total_tokens) == (0, warm.total_tokens)
    added = warm.message_tokens()
    assert warm.fixed_tokens + sum(added) == warm.cumulative_tokens[-1]
    assert warm.tokens_of("messages[2]") == warm.tokens_of("messages[2].content[0]") == added[2]
    with pytest.raises(InvalidArgumentError):
        warm.tokens_of("messages[99]")


def test_what_was_sent_before_is_warm_and_what_came_since_is_not():
    body = session()
    earlier = {**body, "messages": body["messages"][:-2]}
    found = ledger(body, sent=earlier)
    assert found.warm_tokens == ledger(earlier).warm_tokens < found.total_tokens
    assert found.sent_blocks == len(found.read.blocks) - 2


def test_messages_added_to_the_same_list_are_noticed():
    body = session(3)
    body["messages"] = list(body["messages"])
    found = ledger(body)
    assert found.after(body) is found
    body["messages"] += [assistant(text("answer")), user(text("and " * 100))]
    grown = found.after(body)
    assert grown.cumulative_tokens == ledger(body).cumulative_tokens
    assert grown.sent_blocks == len(found.read.blocks)
    made = trim(body, keep_turns=2, ledger=found)
    assert made.request["messages"] == body["messages"][-3:]
    assert made.ledger.total_tokens == ledger(made.request).total_tokens


@slow
@given(valid_messages(), st.data())
def test_the_ledger_of_an_edited_request_is_the_one_a_fresh_reading_gives(messages, data):
    body = request(*messages, system="Be brief.", tools=TOOLS)
    found = ledger(body)
    cut = data.draw(st.sampled_from(sorted(validity.safe_cuts(messages))))
    edited = {**body, "messages": [user(text("New.")), *messages[cut:]]}
    again, fresh = found.after(edited), ledger(edited)
    assert again.cumulative_tokens == fresh.cumulative_tokens
    assert again.read.chain() == fresh.read.chain()
    assert [block.path for block in again.prompt.blocks] == [block.path for block in fresh.prompt.blocks]


def test_planning_levers_reads_a_long_conversation_once(monkeypatch):
    body = with_read_tool(session(200, model=BINDING))
    size = len(json.dumps(body))
    hashed, counted = [], []
    real = hashlib.sha256

    def spy(data: bytes) -> Any:
        hashed.append(len(data))
        return real(data)

    def counter(words: str, vocabulary: str) -> int:
        counted.append(len(words))
        return letters(words, vocabulary)

    monkeypatch.setattr(hashlib, "sha256", spy)
    found = PrefixLedger.of(body, counter=counter)
    of_texts = sum(n for n in hashed if n > 300)
    assert of_texts < size
    first_count = sum(counted)
    trim(body, keep_turns=50, ledger=found)
    clear(body, keep=50, ledger=found)
    offload(body, which="all", at_least_tokens=100, ledger=found)
    assert sum(n for n in hashed if n > 300) - of_texts < size / 100
    assert sum(counted) - first_count < first_count / 10


# --- trim


def test_a_trimmed_list_begins_with_a_plain_question_and_no_pair_is_parted():
    history = [user(), assistant(call(1)), user(result(1)), assistant(), user()]
    body = request(*history)
    assert turn_starts(body) == [0, 4]
    trimmed = trim(body, keep_turns=1)
    assert trimmed.request["messages"] == history[4:]
    assert validity.check(trimmed.request) == []
    again = trim(trimmed.request, keep_turns=1)
    assert not again.changed
    assert again.request is trimmed.request


def test_a_budget_in_tokens_keeps_as_many_turns_as_fit():
    body = session()
    found = ledger(body)
    for budget in range(found.fixed_tokens + 100, found.total_tokens, 700):
        made = trim(body, keep_tokens=budget, ledger=found)
        assert made.ledger.total_tokens <= budget
        one_more = [
            start for start in turn_starts(body) if body["messages"][start:] != made.request["messages"]
        ]
        longer = [
            start for start in one_more if len(body["messages"]) - start > len(made.request["messages"])
        ]
        if made.changed:
            kept = found.after({**body, "messages": body["messages"][max(longer) :]})
            assert kept.total_tokens > budget


def test_a_list_that_is_short_enough_stays():
    body = session(3)
    for options in ({"keep_turns": 50}, {"keep_tokens": 10**6}):
        made = trim(body, **options, ledger=ledger(body))
        assert made.request is body
        assert made.effect.net_saving_usd(10) == 0


def test_a_last_turn_above_the_budget_is_one_clear_error_with_every_size():
    body = request(user(text("word " * 9000)), system="Be brief.")
    with pytest.raises(InvalidArgumentError) as refused:
        trim(body, keep_tokens=5000, ledger=ledger(body))
    [problem] = refused.value.problems
    assert problem.rule == "last-turn-fits"
    assert "5,000" in problem.message
    assert "11,25" in problem.message


def test_a_summary_is_never_trimmed_away():
    body = request(assistant(summary(), text()), *turns(5))
    made = trim(body, keep_turns=1)
    assert made.request["messages"] == [assistant(summary()), body["messages"][-1]]
    assert not trim(made.request, keep_turns=1).changed


# --- clear


def test_the_newest_results_and_those_of_excluded_tools_stay():
    body = session(5, tools=[*TOOLS, {"name": "search", "input_schema": {"type": "object"}}])
    body["messages"][1]["content"][0]["name"] = "search"
    made = clear(body, keep=2, exclude_tools=["search"], ledger=ledger(body))
    results = [message["content"][0]["content"] for message in made.request["messages"][2::4]]
    assert [content == CLEARED for content in results] == [False, True, True, False, False]
    assert made.effect.first_rewritten == "messages[6].content[0]"
    assert [loss.path for loss in made.effect.lost] == ["messages[6].content[0]", "messages[10].content[0]"]


def test_keep_larger_than_the_history_and_a_gain_too_small_change_nothing():
    body = session(5)
    found = ledger(body)
    gain = clear(body, keep=1, ledger=found).effect.removed_tokens
    assert not clear(body, keep=5, ledger=found).changed
    assert not clear(body, keep=1, clear_at_least_tokens=gain + 1, ledger=found).changed
    assert clear(body, keep=1, clear_at_least_tokens=gain, ledger=found).changed


def test_short_results_stay_and_pictures_go():
    body = request(
        user(), assistant(call(1), call(2)), user(result(1), {**result(2), "content": [PICTURE]}), model=NEW
    )
    made = clear(body, keep=0, ledger=ledger(body))
    assert [block["content"] for block in made.request["messages"][2]["content"]] == ["ok", CLEARED]


def test_arguments_are_cleared_where_that_is_asked_for():
    body = session(3)
    made = clear(body, keep=1, clear_inputs=True, ledger=ledger(body))
    assert [m["content"][0]["input"] for m in made.request["messages"][1::4]] == [
        {},
        {},
        {"path": "file_2"},
    ]


def test_a_marker_inside_a_cleared_result_stays_at_its_end():
    body = session(3)
    marked = {"type": "text", "text": "long " * 400, **AUTOMATIC}
    body["messages"][2] = user({**result(0), "content": [marked]})
    cleared = clear(body, keep=0, ledger=ledger(body)).request["messages"][2]["content"][0]
    assert cleared == {**result(0), "content": CLEARED, **AUTOMATIC}
    early = with_read_tool(body)
    moved = offload(early, which=["toolu_0"], at_least_tokens=10, ledger=ledger(early))
    assert moved.request["messages"][2]["content"][0]["cache_control"] == AUTOMATIC["cache_control"]


def test_a_tool_nobody_knows_cannot_be_excluded():
    with pytest.raises(InvalidArgumentError, match="did you mean 'read'"):
        clear(session(3), exclude_tools=["reed"])


# --- offload


def test_a_payload_that_arrives_is_a_pointer_before_it_is_ever_sent():
    earlier = with_read_tool(request(user(text("Go")), assistant(call(1)), tools=TOOLS, **AUTOMATIC))
    earlier["messages"] = earlier["messages"][:1]
    body = {**earlier, "messages": [*earlier["messages"], assistant(call(1))]}
    payload = "line of output\n" * 4000
    body["messages"] = [*body["messages"], user({**result(1), "content": payload})]
    made = offload(body, ledger=ledger(body, sent=earlier))
    [(name, kept)] = made.artifacts.items()
    assert kept == payload
    pointer = made.request["messages"][2]["content"][0]["content"]
    assert name in pointer
    assert letters(pointer, "") <= 15
    assert (made.effect.first_rewritten, made.effect.rewritten_tokens) == (None, 0)
    assert made.effect.break_even_turn() == 1


def test_an_old_payload_is_priced_as_the_rewrite_it_is():
    body = with_read_tool(session(6))
    made = offload(body, which=["toolu_0"], at_least_tokens=100, ledger=ledger(body))
    assert made.effect.first_rewritten == "messages[2].content[0]"
    assert made.effect.rewritten_tokens > 0
    assert made.effect.net_saving_usd(1) < 0


def test_a_read_tool_that_comes_late_rewrites_everything_and_costs_every_turn():
    body = session(6)
    late = offload(body, which=["toolu_0"], at_least_tokens=100, ledger=ledger(body))
    early = with_read_tool(body)
    in_time = offload(early, which=["toolu_0"], at_least_tokens=100, ledger=ledger(early))
    assert late.request["tools"][-1] == READ_TOOL
    assert late.effect.first_rewritten == "system[0]"
    assert late.effect.after.now.cache_read_input_tokens == 0
    assert late.effect.removed_tokens < in_time.effect.removed_tokens


def test_equal_payloads_share_an_artifact_and_its_own_reads_are_not_offloaded_again():
    body = with_read_tool(session(3))
    body["messages"][9]["content"][0]["name"] = READ_TOOL["name"]
    made = offload(body, which="all", at_least_tokens=100, ledger=ledger(body))
    assert len(made.artifacts) == 1
    contents = [message["content"][0]["content"] for message in made.request["messages"][2::4]]
    assert contents[0] == contents[1] != contents[2]
    again = offload(made.request, which="all", at_least_tokens=1, ledger=made.ledger)
    assert not again.changed


def test_an_artifact_is_read_by_ranges_and_bad_input_is_an_error_the_model_sees():
    artifacts = {"3f9a": "abcdefgh" * 10}
    read = {"id": "toolu_1", "input": {"id": "3f9a", "start": 4, "end": 8}}
    assert read_artifact(read, artifacts)["content"] == "efgh"
    long = read_artifact({**read, "input": {"id": "3f9a"}}, artifacts, most_chars=8)
    assert long["content"].startswith("abcdefgh\n")
    assert "start=8" in long["content"]
    for asked in (
        {"id": "none"},
        {},
        {"id": "3f9a", "start": -1},
        {"id": "3f9a", "start": 9, "end": 3},
        None,
    ):
        assert read_artifact({"id": "toolu_1", "input": asked}, artifacts)["is_error"]
    whole = [
        read_artifact({"id": "t", "input": {"id": "3f9a", "start": s, "end": s + 20}}, artifacts)["content"]
        for s in range(0, 80, 20)
    ]
    assert "".join(whole) == artifacts["3f9a"]


@pytest.mark.parametrize("which", ["none", ["toolu_77"]])
def test_a_call_without_a_result_cannot_be_offloaded(which):
    with pytest.raises(InvalidArgumentError):
        offload(session(3), which=which)


# --- compact


def test_the_call_for_a_summary_is_the_conversation_itself_so_that_it_reads_what_is_warm():
    body = session()
    found = ledger(body)
    asked = compact_call(body, ledger=found)
    assert asked["messages"][:-1][:3] == body["messages"][:3]
    assert validity.check(asked) == []
    assert "cache_control" not in asked
    plan = found.after(asked).plan
    assert plan.read_tokens == found.warm_tokens
    assert (plan.written_5m_tokens, plan.written_1h_tokens) == (0, 0)


def test_what_would_force_the_answer_into_a_shape_is_taken_out_of_the_call():
    body = session(
        tool_choice={"type": "any"},
        stop_sequences=["END"],
        stream=True,
        output_config={"format": {"type": "json_schema", "schema": {}}, "effort": "low"},
    )
    asked = compact_call(body, ledger=ledger(body))
    assert not {"tool_choice", "stop_sequences", "stream"} & set(asked)
    assert asked["output_config"] == {"effort": "low"}
    assert body["tool_choice"] == {"type": "any"}


def test_a_summary_takes_the_place_of_the_older_turns_with_pins_word_for_word():
    body = session()
    made = apply_compaction(body, answered(), pins=["never touch prod"], ledger=ledger(body))
    head, *kept = made.request["messages"]
    assert "All is well." in head["content"][0]["text"]
    assert "never touch prod" in head["content"][0]["text"]
    assert kept == body["messages"][-1:]
    assert [usage.output_tokens for usage in made.effect.calls] == [50]
    assert made.effect.calls_usd == bill(made.effect.calls[0], NEW).total_usd


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (answered("", "end_turn"), "end_turn"),
        (answered(" \n", "end_turn"), "end_turn"),
        (answered("<summary></summary>"), "0 characters"),
        (answered("I was cut", "max_tokens"), "max_tokens"),
        (answered("", "refusal"), "refusal"),
        ({"content": [text("Let me look."), call(9)], "stop_reason": "tool_use"}, "tool_use"),
        ({"content": [], "stop_reason": "end_turn"}, "0 characters"),
    ],
)
def test_an_answer_without_a_summary_keeps_the_history_and_its_call_stays_on_the_bill(answer, why):
    body = session()
    made = apply_compaction(body, answer, ledger=ledger(body))
    assert made.request is body
    assert why in made.effect.refused.message
    calls = sum((bill(usage, NEW).total_usd for usage in made.effect.calls), Decimal(0))
    assert made.effect.net_saving_usd(5) == -calls


def test_the_loss_report_lists_the_facts_that_are_gone_by_exact_string():
    facts = "sha 9f2c1ab on 10.0.3.17, see cfg/app.yaml; port 8081"
    body = request(user(text(facts)), assistant(text("Never touch prod.")), user(text("next")), **AUTOMATIC)
    told = answered("<summary>9f2c1abc was deployed from cfg/app.yaml, port 18081.</summary>")
    made = apply_compaction(body, told, pins=["Never touch prod"], ledger=ledger(body))
    assert [loss.what for loss in made.effect.lost] == ["9f2c1ab", "10.0.3.17", "8081"]
    pinned = apply_compaction(body, told, pins=["9f2c1ab", "10.0.3.17", "8081"], ledger=ledger(body))
    assert pinned.effect.lost == ()


def test_nothing_is_spent_where_the_target_is_out_of_reach():
    body = request(user(), assistant(), user(text("word " * 20_000)), model=NEW)
    with pytest.raises(InvalidArgumentError) as refused:
        compact(lambda **_: pytest.fail("asked"), body, target_tokens=20_000, ledger=ledger(body))
    [problem] = refused.value.problems
    assert problem.rule == "reachable"
    assert "25,00" in problem.message


@pytest.mark.parametrize("messages", [[user()], [user(), assistant(call(1)), user(result(1))]])
def test_where_nothing_stands_before_the_last_turn_there_is_nothing_to_summarise(messages):
    with pytest.raises(InvalidArgumentError, match="something-to-summarise"):
        compact_call(request(*messages))


def test_a_call_that_does_not_fit_the_window_is_not_made():
    body = request(user(text("word " * 170_000)), assistant(), user(), model="claude-haiku-4-5")
    with pytest.raises(InvalidArgumentError, match="fits-the-window"):
        compact_call(body, ledger=ledger(body))


def test_rounds_are_bounded_and_every_call_is_on_the_bill():
    asked: list[dict[str, Any]] = []

    def create(**body: Any) -> Any:
        asked.append(body)
        return answered("cut", "max_tokens")

    body = session()
    made = compact(create, body, max_rounds=3, ledger=ledger(body))
    assert len(asked) == len(made.effect.calls) == 3
    assert made.request is body
    assert made.effect.refused is not None


def test_a_second_answer_may_bring_the_summary():
    answers = iter([answered("", "refusal"), answered()])
    body = session()
    made = compact(lambda **_: next(answers), body, ledger=ledger(body))
    assert made.changed
    assert made.effect.refused is None
    assert len(made.effect.calls) == 2


def test_both_drivers_ask_the_same_and_come_to_the_same():
    def run(drive: str) -> tuple[list[Any], Outcome]:
        asked: list[Any] = []
        answers = iter([answered("cut", "max_tokens"), answered()])

        def create(**body: Any) -> Any:
            asked.append(body)
            return next(answers)

        async def create_async(**body: Any) -> Any:
            return create(**body)

        body = session()
        if drive == "sync":
            return asked, compact(create, body, pins=["never"], ledger=ledger(body))
        return asked, asyncio.run(compact_async(create_async, body, pins=["never"], ledger=ledger(body)))

    (asked, one), (asked_async, other) = run("sync"), run("async")
    assert asked == asked_async
    assert (one.request, one.effect) == (other.request, other.effect)


def test_answers_of_the_sdk_are_read_like_dicts():
    from anthropic.types import Message

    body = session()
    message = Message(
        id="msg_1",
        type="message",
        role="assistant",
        model=NEW,
        content=[{"type": "text", "text": "All is well."}],
        stop_reason="end_turn",
        usage={"input_tokens": 100, "output_tokens": 50},
    )
    one = apply_compaction(body, message, ledger=ledger(body))
    assert "All is well." in one.request["messages"][0]["content"][0]["text"]
    assert one.effect.calls[0].output_tokens == 50


# --- facts


@pytest.mark.parametrize(
    ("told", "facts"),
    [
        ("Run /usr/bin/python3 -m build", ("/usr/bin/python3",)),
        ("C:\\repo\\src\\main.rs fails", ("C:\\repo\\src\\main.rs",)),
        ("see https://example.org/a?b=1.", ("https://example.org/a?b=1",)),
        ("mail ops@example.org", ("ops@example.org",)),
        ("ConnectionError: refused (code 110)", ("ConnectionError", "110")),
        ("set MAX_RETRIES to 25, use v1.2.3", ("MAX_RETRIES", "25", "v1.2.3")),
        ("id 123e4567-e89b-12d3-a456-426614174000", ("123e4567-e89b-12d3-a456-426614174000",)),
        ("it took 1,250.5 ms, 37%", ("1,250.5", "37%")),
    ],
)
def test_what_has_to_be_right_to_the_letter_is_found(told, facts):
    assert find_facts(told) == facts


@pytest.mark.parametrize(
    "told", ["We talked about it at length.", "A well-known fact, isn't it?", "I, a, 5."]
)
def test_plain_prose_holds_no_facts(told):
    assert find_facts(told) == ()


def test_a_part_of_a_longer_word_is_no_survival():
    assert missing(["8081", "app.py"], "18081 my_app.py") == ("8081", "app.py")
    assert missing(["8081", "app.py"], "(8081) src/app.py.") == ()


# --- thinking


def thought(model: str, *tail: Any) -> dict[str, Any]:
    early = [user(text("one")), assistant(text("long " * 400))]
    late = [user(text("two")), assistant(thinking(), text("Well.")), user(text("three"))]
    return request(*early, *late, *tail, model=model)


def test_thinking_bound_to_a_prefix_that_is_gone_goes_with_it():
    body = thought(BINDING)
    made = trim(body, keep_turns=2, ledger=ledger(body))
    assert made.request["messages"][1] == assistant(text("Well."))
    assert [loss.kind for loss in made.effect.lost].count("thinking") == 1
    older = trim(thought(NEW), keep_turns=2)
    assert older.request["messages"][1] == assistant(thinking(), text("Well."))


def test_a_lever_that_would_touch_thinking_of_an_open_loop_refuses():
    loop = [assistant(thinking(), call(1)), user(result(1))]
    body = thought(BINDING, *loop)
    made = trim(body, keep_turns=2, ledger=ledger(body))
    assert made.request is body
    assert made.effect.refused.rule in ("thinking-unchanged", "thinking-bound")
    assert "refused" in str(made.effect)
    assert trim(thought(NEW, *loop), keep_turns=2).changed


# --- bad input


@pytest.mark.parametrize(
    "messages",
    [[], [user(result(1))], [user(), assistant(call(1))], [user(), assistant(call(1)), user(text())]],
    ids=["empty", "result without a call", "call without a result", "call skipped"],
)
@pytest.mark.parametrize(
    "lever",
    [
        lambda body: trim(body, keep_turns=1),
        clear,
        offload,
        compact_call,
        lambda body: apply_compaction(body, answered()),
    ],
    ids=["trim", "clear", "offload", "compact_call", "apply_compaction"],
)
def test_a_request_that_is_not_valid_is_a_typed_error_and_stays_as_it_was(messages, lever):
    body = request(*messages)
    before = copy.deepcopy(body)
    with pytest.raises(InvalidRequestError):
        lever(body)
    assert body == before


@pytest.mark.parametrize(
    "pull",
    [
        lambda body: trim(body),
        lambda body: trim(body, keep_turns=0),
        lambda body: trim(body, keep_tokens=-1),
        lambda body: clear(body, keep=-1),
        lambda body: clear(body, keep=True),
        lambda body: clear(body, clear_at_least_tokens=1.5),
        lambda body: compact_call(body, keep_turns=0),
        lambda body: compact_call(body, instructions=" "),
        lambda body: compact_call(body, max_tokens=0),
        lambda body: compact(None, body, max_rounds=0),
    ],
)
def test_a_setting_that_cannot_be_is_a_typed_error(pull):
    with pytest.raises(InvalidArgumentError):
        pull(session(3))


# --- effects


def test_the_closed_form_is_what_both_sides_cost_now_and_the_read_price_of_what_is_gone():
    body = session()
    found = ledger(body)
    effect = clear(body, keep=1, ledger=found).effect
    write, read = Decimal("6.25"), Decimal("0.5")  # USD per million: claude-opus-4-8
    lost_warm = found.warm_tokens - effect.after.now.cache_read_input_tokens
    written = effect.after.now.cache_creation_input_tokens
    now = (lost_warm * read - written * write) / 10**6
    assert effect.rewritten_tokens == written
    assert effect.rewritten_usd == written * (write - read) / 10**6
    for n in (1, 2, 10):
        assert effect.net_saving_usd(n) == now + (n - 1) * effect.removed_tokens * read / 10**6


def test_what_lies_in_the_store_is_not_told_as_lost_and_what_was_cleared_is():
    found = ledger(session())
    moved = offload(session(), which="all", at_least_tokens=100, ledger=found).effect
    assert moved.lost
    assert moved.gone == ()
    assert f"{len(moved.lost)} things in the store" in str(moved)
    assert "lost" not in str(moved)
    cleared = clear(session(), keep=1, ledger=found).effect
    assert cleared.gone == cleared.lost
    assert f"{len(cleared.lost)} things lost" in str(cleared)
    assert "store" not in str(cleared)


def test_it_pays_from_the_break_even_turn_on_and_not_before():
    body = session()
    found = ledger(body)
    for effect in (
        trim(body, keep_turns=3, ledger=found).effect,
        clear(body, keep=1, ledger=found).effect,
        apply_compaction(body, answered(), ledger=found).effect,
    ):
        first = effect.break_even_turn()
        assert first is not None
        assert effect.net_saving_usd(first) > 0
        assert first == 1 or effect.net_saving_usd(first - 1) <= 0


def test_without_a_cache_fewer_tokens_are_less_money_at_once_and_with_one_they_need_not_be():
    plain = {name: value for name, value in session().items() if name != "cache_control"}
    plain["system"] = "Be brief. " * 1000
    uncached = trim(plain, keep_turns=7, ledger=ledger(plain)).effect
    cached = trim(session(), keep_turns=7, ledger=ledger(session())).effect
    assert uncached.break_even_turn() == 1
    assert cached.net_saving_usd(1) < 0 < cached.net_saving_usd(cached.break_even_turn() or 0)


def test_what_is_marked_in_front_of_the_cut_survives_it():
    body = session()
    made = trim(body, keep_turns=2, ledger=ledger(body))
    assert made.effect.after.now.cache_read_input_tokens == made.ledger.fixed_tokens


def test_a_model_without_a_price_has_effects_and_no_saving():
    effect = trim(session(model="claude-3-opus-20240229"), keep_turns=2).effect
    assert effect.removed_tokens > 0
    assert "unpriced" in str(effect)
    with pytest.raises(UnpricedModelError):
        effect.net_saving_usd(3)


def test_turn_counts_that_cannot_be_are_typed_errors():
    body = session()
    effect = trim(body, keep_turns=2, ledger=ledger(body)).effect
    assert effect.net_saving_usd(0) == 0
    for turn_count, added in ((-1, 0), (1.5, 0), (5, [1, 2]), (2, [-1])):
        with pytest.raises(InvalidArgumentError):
            effect.net_saving_usd(turn_count, added_tokens=added)


def test_levers_in_a_row_have_one_effect_and_others_have_none():
    body = session()
    first = clear(body, keep=1, ledger=ledger(body))
    second = trim(first.request, keep_turns=4, ledger=first.ledger)
    both = combined(first, second)
    assert both.lever == "clear + trim"
    assert both.removed_tokens == first.effect.removed_tokens + second.effect.removed_tokens
    assert both.first_rewritten == "messages[0].content[0]"
    assert len(both.lost) == len(first.effect.lost) + len(second.effect.lost)
    with pytest.raises(InvalidArgumentError, match="in-a-row"):
        combined(second, first)
    with pytest.raises(InvalidArgumentError):
        combined()


# --- policy


def test_a_trigger_fires_once_until_fresh_figures_arm_it_again():
    watch = Watch(Thresholds(100_000, 160_000, 50_000))
    watch.saw(Usage(input_tokens=3, cache_read_input_tokens=160_000))
    assert (watch.decide().level, watch.decide().remove_tokens) == ("hard", 110_003)
    watch.acted()
    assert watch.decide().level == "none"
    watch.saw(Usage(input_tokens=20_000))
    assert watch.decide().level == "none"


def test_occupancy_is_all_of_the_prompt_the_answer_and_what_came_since():
    watch = Watch(Thresholds(165_000, 170_000, 50_000))
    usage = Usage.from_response(
        {
            "input_tokens": 3,
            "cache_read_input_tokens": 90_000,
            "cache_creation_input_tokens": 70_000,
            "output_tokens": 0,
        }
    )
    watch.saw(usage)
    assert watch.decide().occupied_tokens == 160_003
    watch.added(5_000)
    assert watch.decide().level == "soft"


def test_rounds_without_new_input_of_the_user_are_capped_with_one_message_of_sizes():
    watch = Watch(Thresholds(150_000, 160_000, 100_000), max_rounds=2)
    levels = []
    for _ in range(4):
        watch.estimated(180_000)
        levels.append(watch.decide().level)
        watch.acted()
    assert levels == ["hard", "hard", "stop", "stop"]
    watch.estimated(180_000)
    told = watch.decide().message
    assert "180,000" in told
    assert "150,000" in told
    watch.user_spoke()
    assert watch.decide().level == "hard"


def test_a_fixed_part_above_the_trigger_is_one_message_that_names_the_largest_contributor():
    tools = [*TOOLS, {"name": "giant", "description": "d" * 9000, "input_schema": {"type": "object"}}]
    body = request(user(), tools=tools, system="Be brief. " * 100)
    decision = Watch(Thresholds(1000, 2000, 500)).decide(ledger(body))
    assert decision.level == "stop"
    assert "tools[1] (giant)" in decision.message
    small = Watch(Thresholds(10_000, 20_000, 5_000)).decide(ledger(body))
    assert (small.level, small.message) == ("none", "")


@pytest.mark.parametrize("limits", [(100, 90, 50), (100, 150, 100), (100, 150, 0)])
def test_thresholds_leave_head_room(limits):
    with pytest.raises(InvalidArgumentError, match="in-order"):
        Thresholds(*limits)


def test_thresholds_are_shares_of_what_is_left_beside_the_answer():
    limits = Thresholds.of("claude-haiku-4-5", output_tokens=64_000)
    assert limits == Thresholds(81_600, 108_800, 54_400)
    with pytest.raises(InvalidArgumentError):
        Thresholds.of("claude-haiku-4-5", output_tokens=200_000)


def test_the_best_of_several_is_the_one_that_saves_most_and_none_where_all_lose():
    body = session(20)
    found = ledger(body)
    candidates = [trim(body, keep_turns=k, ledger=found) for k in (1, 5, 10, 19)]
    for n in (1, 3, 30):
        chosen = best(candidates, turns=n)
        savings = [one.effect.net_saving_usd(n) for one in candidates]
        if max(savings) > 0:
            assert chosen is candidates[savings.index(max(savings))]
        else:
            assert chosen is None
    assert best([], turns=3) is None


def test_a_cap_enforced_every_turn_costs_more_than_batches_and_without_a_cache_the_smallest_batch_wins():
    options = {"cap_tokens": 40_000, "fixed_tokens": 16_606, "added_tokens": 400, "turns": 400}
    size, usd = best_batch("claude-opus-4-8", **options)
    every_turn = batches_usd("claude-opus-4-8", batch_tokens=400, **options)
    never = batches_usd("claude-opus-4-8", batch_tokens=400, **{**options, "cap_tokens": 10**9})
    assert every_turn > 3 * usd
    assert every_turn > never > usd
    assert 400 < size <= 40_000
    uncached = [
        batches_usd("claude-opus-4-8", batch_tokens=b, cached=False, **options) for b in (400, 4000, 20_000)
    ]
    assert all(one > other for one, other in pairwise(uncached))
    with pytest.raises(InvalidArgumentError, match="holds-a-turn"):
        best_batch("claude-opus-4-8", **{**options, "cap_tokens": 100})


# --- the property


def test_random_levers_on_random_conversations_keep_every_rule():
    report = property_of_levers.run(150, seed=11)
    assert report.invalid == []
    assert report.held
    assert report.cases == 150
    assert set(report.changed) == set(property_of_levers.LEVERS)


def test_a_lever_that_breaks_a_rule_is_caught():
    def drop_the_oldest_message(random: Any, found: PrefixLedger) -> Outcome:
        after = found.after({**found.request, "messages": found.request["messages"][1:]})
        effect = Effect("bad", found.model, found.side(), after.side())
        return Outcome(after.request, effect, after, found)

    def clear_in_place(random: Any, found: PrefixLedger) -> Outcome:
        found.request["messages"].append(user(text("More.")))
        return trim(found.request, keep_turns=1)

    for bad in (drop_the_oldest_message, clear_in_place):
        report = property_of_levers.run(40, seed=1, levers={"bad": bad})
        assert report.failures > 0
        assert not report.held
        assert "bad" in report.invalid[0]


def test_the_property_is_run_from_the_command_line(capsys):
    assert cli.run(["test", "--property", "levers", "--n", "40", "--seed", "5"]) == 0
    told = capsys.readouterr().out
    assert "40 cases" in told
    assert "invalid results: 0" in told
    assert cli.run(["test", "--property", "nothing"]) == 2
    assert cli.run(["test", "--property", "levers", "--n", "0"]) == 2


def test_a_case_is_the_same_for_the_same_seed():
    one, other = (property_of_levers.run(30, seed=3) for _ in range(2))
    assert str(one) == str(other)
    assert SimpleNamespace(**vars(one)).changed != property_of_levers.run(30, seed=4).changed
