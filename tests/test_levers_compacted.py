"""Promises of the levers on lists a server has compacted, on lists at rest, and on bad input."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ctxlab import validity
from ctxlab.catalogue import get_model
from ctxlab.errors import CtxlabError, InvalidArgumentError, InvalidRequestError
from ctxlab.levers import (
    CLEARED,
    READ_TOOL,
    Outcome,
    PrefixLedger,
    apply_compaction,
    clear,
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
from ctxlab.levers.policy import Thresholds, Watch, batches_usd, best_batch
from ctxlab.properties import levers as property_of_levers
from ctxlab.usage import Usage
from tests.test_levers import BINDING, answered, ledger, session, thought, turns
from tests.test_validity import (
    NEW,
    ON,
    PICTURE,
    assistant,
    call,
    request,
    result,
    summary,
    system,
    text,
    thinking,
    user,
)

HEAD = [user(text("q0")), assistant(text("a0")), user(text("q1")), assistant(summary(), text("a1"))]


def later(n: int = 10) -> list[Any]:
    pairs = [[user(text(f"q{i}")), assistant(text("long " * 50 + str(i)))] for i in range(2, n + 2)]
    return [*(message for pair in pairs for message in pair), user(text("last"))]


def read(made: Outcome) -> list[str]:
    return [block.path for block in made.ledger.read.blocks]


# --- a compaction block on the way


def test_turns_are_counted_from_where_the_model_begins_to_read():
    body = request(*HEAD, *later(2))
    assert turn_starts(body) == [3, 4, 6, 8]
    assert turn_starts(request(*later(2))) == [0, 2, 4]
    failed = [*HEAD[:3], assistant(summary(content=None), text("a1")), *later(2)]
    assert turn_starts(request(*failed)) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("head", [HEAD, HEAD[3:]], ids=["on the way", "first"])
def test_a_new_summary_takes_the_place_of_the_old_block_and_all_but_the_last_turns(head):
    body = request(*head, *later())
    asked = compact_call(body)
    assert validity.check(asked) == []
    assert asked["messages"][:-1] == body["messages"]
    for keep in (1, 3):
        made = apply_compaction(body, answered(), keep_turns=keep, ledger=ledger(body))
        first, *kept = made.request["messages"]
        assert "All is well." in first["content"][0]["text"]
        assert kept == body["messages"][-(2 * keep - 1) :]
        assert made.effect.removed_tokens > 0
        assert "compaction" not in json.dumps(made.request)


@pytest.mark.parametrize("head", [HEAD, HEAD[3:]], ids=["on the way", "first"])
def test_trimming_carries_the_block_along_and_shortens_what_the_model_reads(head):
    body = request(*head, *later())
    made = trim(body, keep_turns=1, ledger=ledger(body))
    assert made.request["messages"] == [assistant(summary()), body["messages"][-1]]
    assert validity.check(made.request) == []
    assert made.effect.removed_tokens > 0
    gone = [loss.path for loss in made.effect.lost]
    assert gone == [f"messages[{i}]" for i in range(len(head) - 1, len(body["messages"]) - 1)]
    assert not trim(made.request, keep_turns=1, ledger=made.ledger).changed


def test_trimming_to_a_size_counts_the_block_that_is_carried():
    body = request(*HEAD, *later())
    found = ledger(body)
    for budget in range(found.total_tokens // 3, found.total_tokens, 25):
        made = trim(body, keep_tokens=budget, ledger=found)
        assert made.ledger.total_tokens <= budget
        assert read(made)[0].startswith("messages[0]") == made.changed
    with pytest.raises(InvalidArgumentError, match=r"the summary in messages\[3\]\.content\[0\] has"):
        trim(body, keep_tokens=1, ledger=found)


def test_where_only_the_block_stands_before_the_turns_there_is_nothing_to_trim():
    body = request(*HEAD[:3], assistant(summary()), *later(2))
    assert not trim(body, keep_turns=3).changed
    assert trim(body, keep_turns=2).changed
    found = ledger(body)
    assert trim(body, keep_tokens=found.total_tokens, ledger=found).request is body


def test_what_went_before_the_block_is_not_told_as_lost_by_a_later_summary():
    early = [user(text("port 8081")), assistant(text("ok")), user(text("more"))]
    block = summary(content="sha 9f2c1ab")
    body = request(*early, assistant(text("10.0.3.17"), block, text("see cfg/app.yaml")), *later(2))
    lost = apply_compaction(body, answered(), ledger=ledger(body)).effect.lost
    assert [loss.what for loss in lost] == ["9f2c1ab", "cfg/app.yaml"]
    assert {loss.path for loss in lost} == {"messages[3:8]"}


def test_results_before_the_block_are_left_alone_and_those_behind_it_are_not():
    old = [user(), assistant(call(1)), user({**result(1), "content": "old " * 800})]
    new = [assistant(summary(), call(2)), user({**result(2), "content": "new " * 800})]
    body = with_read_tool(request(*old, *new, assistant(text("done")), user(text("next"))))
    found = ledger(body)
    cleared = clear(body, keep=0, clear_inputs=True, ledger=found)
    assert cleared.request["messages"][:3] == old
    assert cleared.request["messages"][4]["content"][0]["content"] == CLEARED
    assert not clear(body, keep=1, ledger=found).changed
    moved = offload(body, which="all", at_least_tokens=10, ledger=found)
    assert moved.request["messages"][:3] == old
    assert [loss.path for loss in moved.effect.lost] == ["messages[4].content[0]"]
    assert not offload(body, which=["toolu_1"], at_least_tokens=10, ledger=found).changed
    assert clear(body, keep=0, exclude_tools=["read"], ledger=found).request is body


# --- what the call for a summary needs


@pytest.mark.parametrize("budget", [1024, 4096, 16_000])
def test_thinking_by_hand_has_its_budget_and_the_summary_its_own_tokens(budget):
    body = session(thinking={"type": "enabled", "budget_tokens": budget})
    asked = compact_call(body, max_tokens=2000)
    assert asked["thinking"] == body["thinking"]
    assert asked["max_tokens"] == budget + 2000


@pytest.mark.parametrize(
    "setting", [{}, {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "disabled"}}]
)
def test_without_a_budget_the_summary_has_what_was_asked_for(setting):
    assert compact_call(session(**setting), max_tokens=2000)["max_tokens"] == 2000


def test_thinking_by_hand_and_a_summary_stay_within_what_the_model_can_write():
    body = session(model="claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 63_000})
    most = get_model("claude-haiku-4-5").max_output_tokens
    assert 63_000 < compact_call(body)["max_tokens"] == most


def test_room_for_thinking_counts_where_the_call_has_to_fit_the_window():
    body = session(model="claude-haiku-4-5")
    body["thinking"] = {"type": "enabled", "budget_tokens": 199_000}
    with pytest.raises(InvalidArgumentError, match="fits-the-window"):
        compact_call(body)
    assert compact_call({**body, "thinking": {"type": "enabled", "budget_tokens": 1024}})


def test_the_server_compacts_not_inside_the_call_and_clears_what_it_has_cleared():
    edit, clearing = {"type": "compact_20260112"}, {"type": "clear_tool_uses_20250919"}
    both = session(context_management={"edits": [clearing, edit]}, betas=["compact-2026-01-12"])
    asked = compact_call(both)
    assert asked["context_management"] == {"edits": [clearing]}
    assert asked["betas"] == both["betas"]
    assert both["context_management"] == {"edits": [clearing, edit]}
    assert "context_management" not in compact_call(session(context_management={"edits": [edit]}))
    assert "compaction" not in compact_call(session(compaction={"type": "summarize"}))


# --- what is lost


def test_pictures_files_and_system_messages_are_told_as_lost():
    file = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    shown = {**result(1), "content": [text("seen"), PICTURE]}
    history = [user(text(), PICTURE, file), system("Answer in German."), assistant(call(1)), user(shown)]
    body = request(*history, assistant(), user(text("next")), model=NEW)
    lost = apply_compaction(body, answered(), ledger=ledger(body)).effect.lost
    told = [(loss.path, loss.kind) for loss in lost]
    assert told == [
        ("messages[0].content[1]", "image"),
        ("messages[0].content[2]", "document"),
        ("messages[1]", "message"),
        ("messages[3].content[0].content[1]", "image"),
    ]
    assert all("tokens" in loss.what or "toolu_1" in loss.what for loss in lost)


def test_what_stays_is_not_told_as_lost():
    body = request(user(), assistant(), user(text(), PICTURE))
    assert apply_compaction(body, answered(), ledger=ledger(body)).effect.lost == ()


# --- at rest


@pytest.mark.parametrize("model", [NEW, BINDING, "claude-haiku-4-5"])
def test_a_list_at_rest_is_shortened_as_if_the_next_question_followed(model):
    body = with_read_tool(request(*turns(4)[:-1], model=model))
    found = ledger(body)
    assert trim(body, keep_turns=1, ledger=found).request["messages"] == body["messages"][-4:]
    assert clear(body, keep=1, ledger=found).changed
    assert offload(body, which="all", at_least_tokens=10, ledger=found).changed
    asked = compact_call(body, ledger=found)
    assert validity.check(asked) == []
    made = apply_compaction(body, answered(), ledger=found)
    assert made.request["messages"][1:] == body["messages"][-4:]
    assert made.ledger.problems == ()


def test_what_the_next_question_does_not_settle_is_refused_at_rest_too():
    for broken in (
        [user(), assistant(call(1))],
        [user(result(7)), assistant()],
        [user(), assistant(text(""))],
    ):
        with pytest.raises(InvalidRequestError):
            trim(request(*broken), keep_turns=1)


# --- thinking beside arguments


def test_arguments_beside_thinking_of_an_open_loop_stay_and_results_go():
    long = {"content": "long " * 400}
    loop = [assistant(thinking(), call(2)), user({**result(2), **long}), assistant(call(3)), user(result(3))]
    body = request(user(), assistant(call(1)), user({**result(1), **long}), assistant(), user(), *loop)
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            block.update({"input": {"path": "x"}} if block["type"] == "tool_use" else {})
    made = clear(body, keep=0, clear_inputs=True, ledger=ledger(body))
    messages = made.request["messages"]
    assert made.effect.refused is None
    assert messages[5] == body["messages"][5]
    assert messages[6]["content"][0]["content"] == CLEARED
    assert (messages[1]["content"][0]["input"], messages[7]["content"][0]["input"]) == ({}, {})


# --- rounds


def failing(answers: list[Any]) -> Any:
    left = iter(answers)

    def create(**_: Any) -> Any:
        one = next(left)
        if isinstance(one, Exception):
            raise one
        return one

    return create


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("second", [RuntimeError("overloaded"), {"content": [None]}, "no answer"])
def test_a_later_round_that_fails_loses_nothing_of_what_was_paid_for(way, second):
    body = session()
    long = answered("<summary>" + "word " * 3000 + "</summary>")
    create = failing([long, second])
    options: dict[str, Any] = {"target_tokens": 4_000, "max_tokens": 500, "ledger": ledger(body)}
    if way == "sync":
        made = compact(create, body, **options)
    else:

        async def create_async(**call: Any) -> Any:
            return create(**call)

        made = asyncio.run(compact_async(create_async, body, **options))
    assert made.changed
    assert [usage.output_tokens for usage in made.effect.calls] == [50]
    assert "round 2" in made.effect.failed.message
    assert "round 2" in str(made.effect)


def test_pins_that_can_be_read_once_are_in_every_round():
    asked: list[Any] = []

    def create(**call: Any) -> Any:
        asked.append(call["messages"][-1]["content"])
        return answered("cut", "max_tokens") if len(asked) == 1 else answered()

    made = compact(create, session(), pins=iter(["never touch prod"]))
    assert all("never touch prod" in one for one in asked)
    assert "never touch prod" in json.dumps(made.request["messages"][0])


def test_a_first_round_that_fails_is_the_callers_to_see():
    with pytest.raises(RuntimeError, match="overloaded"):
        compact(failing([RuntimeError("overloaded")]), session())
    assert compact(failing([answered()]), session()).effect.failed is None


# --- the read tool


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "object"}, {"properties": {"path": {"type": "string"}}},
     {**READ_TOOL["input_schema"], "required": ["id", "reason"]}],
)  # fmt: skip
def test_a_tool_that_only_has_the_name_of_the_read_tool_is_not_taken_for_it(schema):
    body = session(3, tools=[{"name": "read_artifact", "input_schema": schema}])
    for pull in (with_read_tool, offload):
        with pytest.raises(InvalidArgumentError, match=r"tools\[0\].*read-tool"):
            pull(body)


def test_a_call_of_the_sdk_is_answered_like_a_dict():
    from anthropic.types import ToolUseBlock

    block = ToolUseBlock(type="tool_use", id="toolu_1", name="read_artifact", input={"id": "3f9a", "end": 2})
    assert read_artifact(block, {"3f9a": "abcd"})["content"].startswith("ab")
    with pytest.raises(InvalidArgumentError, match="call"):
        read_artifact(None, {})


def test_the_read_tool_in_other_words_or_with_a_marker_is_the_read_tool():
    own = {**READ_TOOL, "description": "Look it up.", "cache_control": {"type": "ephemeral"}}
    body = session(3, tools=[own])
    assert with_read_tool(body)["tools"] == [own]
    assert offload(body, which="all", at_least_tokens=10).request["tools"] == [own]


# --- the watch


def test_a_paused_compaction_says_nothing_of_what_is_in_the_window():
    entry = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
    paused = Usage.from_response({"input_tokens": 0, "output_tokens": 0, "iterations": [entry]})
    watch = Watch(Thresholds(100_000, 160_000, 50_000))
    for usage in (paused, Usage.from_response({"input_tokens": 0, "output_tokens": 0})):
        watch.saw(Usage(input_tokens=150_000))
        watch.saw(usage)
        assert (watch.decide().level, watch.decide().occupied_tokens) == ("none", None)
    message = {"type": "message", "input_tokens": 120_000, "output_tokens": 1_000}
    whole = {"input_tokens": 120_000, "output_tokens": 1_000, "iterations": [entry, message]}
    watch.saw(Usage.from_response(whole))
    assert watch.decide().occupied_tokens == 121_000


# --- bad input


@pytest.mark.parametrize(
    ("pull", "place"),
    [
        (lambda b: apply_compaction(b, None), "message"),
        (lambda b: apply_compaction(b, "text"), "message"),
        (lambda b: apply_compaction(b, {"content": [None]}), "message.content[0]"),
        (lambda b: apply_compaction(b, {"content": "text"}), "message.content"),
        (lambda b: apply_compaction(b, answered(), facts="8081"), "facts"),
        (lambda b: apply_compaction(b, answered(), pins=[1]), "pins[0]"),
        (lambda b: compact_call(b, pins="never"), "pins"),
        (lambda b: compact_call(b, pins=None), "pins"),
        (lambda b: compact_call(b, instructions=None), "instructions"),
        (lambda b: clear(b, exclude_tools="read"), "exclude_tools"),
        (lambda b: offload(b, which=None), "which"),
        (lambda b: offload(b, which=3), "which"),
        (lambda b: offload(b, stored=["x"]), "stored"),
        (lambda b: trim(None, keep_turns=1), "request"),
        (lambda b: trim("text", keep_turns=1, ledger=ledger(b)), "request"),
        (lambda b: clear(b["messages"]), "request"),
        (lambda b: turn_starts(None), "request"),
        (lambda b: with_read_tool(None), "request"),
        (lambda b: PrefixLedger.of(None), "request"),
        (lambda b: trim({"model": NEW}, keep_turns=1, ledger=ledger(b)), "messages"),
        (lambda b: compact_call({"model": NEW, "messages": "Hi"}), "messages"),
        (lambda b: trim({**b, "model": BINDING}, keep_turns=1, ledger=ledger(b)), "ledger"),
        (lambda b: trim(b, keep_turns=1, ledger="x"), "ledger"),
        (lambda b: compact(None, b), "create"),
        (lambda b: with_read_tool({**b, "tools": 5}), "tools"),
        (lambda b: missing("8081", "x"), "facts"),
        (lambda b: find_facts(None), "text"),
        (lambda b: Watch(Thresholds(100, 150, 50)).saw(None), "usage"),
        (lambda b: Thresholds.of(NEW, output_tokens=10, soft=float("nan")), "soft"),
        (lambda b: Thresholds.of(NEW, output_tokens=10, hard="half"), "hard"),
        (lambda b: Thresholds.of(NEW, output_tokens=10, target=-1), "target"),
        (lambda b: Thresholds("1", 2, 3), "soft_tokens"),
        (lambda b: Watch(Thresholds(100, 150, 50), max_rounds=-1), "max_rounds"),
        (lambda b: Watch(None), "thresholds"),
        (lambda b: best_batch(NEW, cap_tokens=None, fixed_tokens=1, added_tokens=1, turns=1), "cap_tokens"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_typed_error_that_names_the_place(pull, place):
    with pytest.raises(CtxlabError) as refused:
        pull(session(3))
    assert place in [problem.path for problem in refused.value.problems]


@pytest.mark.parametrize("name", ["cap_tokens", "batch_tokens", "fixed_tokens", "added_tokens", "turns"])
def test_sizes_below_nothing_are_typed_errors(name):
    sizes = {"cap_tokens": 100, "batch_tokens": 10, "fixed_tokens": 5, "added_tokens": 5, "turns": 3}
    assert batches_usd(NEW, **sizes) > 0
    with pytest.raises(InvalidArgumentError) as refused:
        batches_usd(NEW, **{**sizes, name: -1})
    assert refused.value.problems[0].path == name


def test_a_ledger_of_the_same_model_serves_by_any_of_its_names_and_an_answer_may_hold_nothing():
    body = session(3)
    other = PrefixLedger.of(body, model=BINDING)
    assert trim(body, keep_turns=1, ledger=other).changed
    assert trim({**body, "model": BINDING}, keep_turns=1, ledger=other).changed
    unsaid = apply_compaction(body, {"content": None, "stop_reason": "refusal"})
    assert unsaid.effect.refused.rule == "a-summary"


# --- facts


@pytest.mark.parametrize(
    ("told", "facts"),
    [
        ("2026-03-06T14:07:31Z", ("2026-03-06T14:07:31Z",)),
        ("on 2026-03-06 14:07:31.5+01:00, then 2026-03-07.", ("2026-03-06 14:07:31.5+01:00", "2026-03-07")),
        ("at 14:07:31", ("14:07:31",)),
        ("9F2C1AB at 0x7ffee", ("9F2C1AB", "0x7ffee")),
        ("E11000, PROJ-77, CVE-2026-1234", ("E11000", "PROJ-77", "CVE-2026-1234")),
        ("4.5.6-rc1, v2.0.0-beta.3, 3.12.0rc1", ("4.5.6-rc1", "v2.0.0-beta.3", "3.12.0rc1")),
        ("请将9f2c1ab部署到cfg/app.yaml，端口8081。", ("9f2c1ab", "cfg/app.yaml", "8081")),
        ("ポート8081で設定MAX_RETRIESを25に", ("8081", "MAX_RETRIES", "25")),
        ("见https://example.org/a。然后重启app.py", ("https://example.org/a", "app.py")),
        ("Zürich/straße.py, файл/данные.json", ("Zürich/straße.py", "файл/данные.json")),
    ],
)
def test_times_codes_and_facts_among_letters_without_spaces_are_found_whole(told, facts):
    assert find_facts(told) == facts
    assert missing(facts, told) == ()


@pytest.mark.parametrize(
    "told", ["A 3.5-inch disk", "Plan B, room 7", "deadbeef and DEADBEEF", "X-ray, T-shirt"]
)
def test_what_only_looks_like_a_code_is_none(told):
    assert set(find_facts(told)) <= {"3.5"}


def test_a_fact_beside_letters_that_write_no_spaces_survives_and_inside_a_longer_one_does_not():
    facts = ("8081", "9f2c1ab")
    assert missing(facts, "端口8081，提交9f2c1ab在此") == ()
    assert missing(facts, "端口18081，提交9f2c1abc在此") == facts


@pytest.mark.parametrize("run", ["a", "aB-", "a.", "1,", "A1_", "ab1", "0."])
def test_a_long_run_of_anything_is_read_once(run):
    assert len(find_facts(run * 100_000)) <= 1


# --- the property


def test_the_property_sees_a_change_that_takes_nothing_and_an_error_nobody_expects():
    def in_front(random: Any, found: PrefixLedger) -> Outcome:
        made = trim(found.request, keep_turns=1, ledger=found)
        edited = {**found.request, "messages": [user(text("New.")), *found.request["messages"]]}
        after = found.after(edited)
        return Outcome(edited, made.effect, after, found)

    def astray(random: Any, found: PrefixLedger) -> Outcome:
        found.tokens_of("messages[99]")
        raise AssertionError

    for bad, says in ((in_front, "reads all that it read before"), (astray, "names-a-block")):
        report = property_of_levers.run(30, seed=2, levers={"bad": bad})
        assert report.failures > 0
        assert any(says in told for told in report.invalid)


def test_thinking_by_hand_and_an_open_loop_keep_their_rules_behind_a_block():
    body = thought(NEW, assistant(thinking(), call(1)), user(result(1)))
    body["messages"][1] = assistant(summary(), text("a"))
    made = trim({**body, **ON}, keep_turns=1, ledger=ledger({**body, **ON}))
    assert made.request["messages"][0] == assistant(summary())
    assert validity.check(made.request) == []
