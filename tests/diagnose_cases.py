"""The labelled set for ``ctxlab.diagnose``: each case ends in a call whose verdict is known by construction.

Labels were written with the cases. Usage comes from the emulator's books.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ctxlab.diagnose import Exchange

from .diagnosed import HOUR, MARK, RULES, Stage, ask, assistant, text, tool, turn, user


class Case(NamedTuple):
    name: str
    verdict: str
    exchanges: Callable[[], list[Exchange]]
    path: str | None = None
    survived: str | None = None
    code: str | None = None
    also: tuple[str, ...] = ()


CASES: list[Case] = []
Q = user(text("[30] the first question"))


def case(verdict: str, path: str | None = None, survived: str | None = None, **more: Any) -> Any:
    def add(play: Callable[[Stage], object]) -> Callable[[Stage], object]:
        def exchanges() -> list[Exchange]:
            stage = Stage()
            play(stage)
            return stage.exchanges

        CASES.append(Case(play.__name__, verdict, exchanges, path, survived, **more))
        return play

    return add


def call_block(**given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "find", "input": given}


def result_block(words: str, mark: Any = None) -> dict[str, Any]:
    more = {} if mark is None else {"cache_control": mark}
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": words, **more}


# --- hit


@case("hit", survived="all")
def same_request_twice(s: Stage) -> None:
    s.call(ask()).call(ask())


@case("hit", survived="all")
def a_turn_appended(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1)))


@case("hit", survived="all")
def a_turn_appended_just_inside_the_lifetime(s: Stage) -> None:
    s.call(ask(Q)).wait(297.9).call(ask(Q, *turn(1)))


@case("hit", survived="all")
def a_clock_behind_the_last_marker(s: Stage) -> None:
    for now in ("10:41:07", "10:41:09"):
        s.call(ask(user(text(f"[30] It is {now}.")), cache_control=..., system=[RULES]))


@case("hit", survived="all")
def another_question_behind_a_marked_system_prompt(s: Stage) -> None:
    for words in ("[30] what is the capital of France", "[30] how old is the Eiffel tower"):
        s.call(ask(user(text(words)), system=[RULES]))


@case("hit", survived="all")
def the_marker_taken_off_old_blocks(s: Stage) -> None:
    s.call(ask(user(text("[30] the first question", cache_control=MARK)), cache_control=...))
    s.call(ask(Q, *turn(1, mark=MARK), cache_control=...))


@case("hit", survived="all")
def markers_on_the_hour_after_ten_minutes(s: Stage) -> None:
    s.call(ask(Q, cache_control=HOUR)).wait(600).call(ask(Q, *turn(1), cache_control=HOUR))


@case("hit", survived="all")
def two_agents_on_one_key(s: Stage) -> None:
    a, b = (
        {"system": [text(f"[1500] you are the {name}", cache_control=MARK)]} for name in ("cook", "pilot")
    )
    pilot = user(text("[30] can we land"))
    s.call(ask(Q, **a)).call(ask(pilot, **b)).call(ask(Q, *turn(1), **a)).call(ask(pilot, *turn(7), **b))


@case("hit", survived="all")
def fan_out_behind_the_first_answer(s: Stage) -> None:
    for n in range(4):
        s.call(ask(user(text("[2000] the document", cache_control=MARK), text(f"[10] is {'abcd'[n]} in it"))))


@case("hit", survived="all")
def a_parameter_outside_the_prefix(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1), max_tokens=50, metadata={"user_id": "u1"}))


# --- cold start


@case("cold start", survived="nothing")
def the_very_first(s: Stage) -> None:
    s.call(ask())


@case("cold start", survived="nothing")
def another_agents_first_call(s: Stage) -> None:
    s.call(ask(Q, system=[text("[1500] you are the cook")]))
    s.call(ask(user(text("[30] can we land")), system=[text("[1500] you are the pilot")]))


@case("cold start", survived="nothing")
def the_first_that_reaches_the_minimum(s: Stage) -> None:
    s.call(ask(user(text("[30] hello")), system=...))
    s.call(ask(user(text("[30] hello")), *turn(1, words="[900] here is more"), system=...))


@case("cold start", survived="nothing")
def the_first_with_a_marker(s: Stage) -> None:
    s.call(ask(Q, cache_control=...)).call(ask(Q, *turn(1)))


# --- below floor, no marker


@case("below floor", survived="nothing")
def a_short_prompt(s: Stage) -> None:
    s.call(ask(system=...)).call(ask(system=...))


@case("below floor", path="system[0]", survived="nothing")
def a_short_system_prompt_marked_in_a_long_one(s: Stage) -> None:
    short = [text("[100] be brief", cache_control=MARK)]
    body = ask(user(text("word " * 3000)), system=short, cache_control=...)
    s.call(body).call(body)


@case("below floor", survived="nothing")
def one_token_short(s: Stage) -> None:
    body = ask(user(text("word " * 501)), system=..., model="claude-opus-5-5")
    s.call(body).call(body)


@case("no marker", survived="nothing")
def nothing_marked(s: Stage) -> None:
    s.call(ask(cache_control=...)).call(ask(cache_control=...))


@case("no marker", survived="nothing")
def the_marker_forgotten_on_turn_two(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1), cache_control=...))


@case("no marker", path="messages[0].content[0]", survived="part")
def the_marker_left_behind_on_the_system_prompt(s: Stage) -> None:
    s.call(ask(Q, system=[RULES])).call(ask(Q, *turn(1), system=[RULES], cache_control=...))


# --- not yet visible


@case("not yet visible", survived="nothing")
def two_at_once(s: Stage) -> None:
    first, second = s.send(ask()), s.send(ask())
    s.wait(2)
    s.answer(first)
    s.answer(second)


@case("not yet visible", survived="nothing")
def eight_at_once(s: Stage) -> None:
    running = [s.send(ask()) for _ in range(8)]
    s.wait(2)
    for one in running:
        s.answer(one)


@case("not yet visible", survived="nothing")
def half_a_second_before_the_first_byte(s: Stage) -> None:
    first = s.send(ask())
    s.wait(1.5)
    second = s.send(ask(Q))
    s.wait(0.5)
    s.answer(first)
    s.wait(1)
    s.answer(second)


@case("not yet visible", survived="part")
def a_fan_out_that_shares_a_warm_system_prompt(s: Stage) -> None:
    s.call(ask(user(text("[30] warm up")), system=[RULES]))
    document = user(text("[2000] the document"))
    first, second = (s.send(ask(document, system=[RULES])) for _ in range(2))
    s.wait(1)
    s.answer(first)
    s.answer(second)


# --- expired


@case("expired", survived="nothing")
def exactly_five_minutes(s: Stage) -> None:
    s.call(ask(Q)).wait(298).call(ask(Q, *turn(1)))


@case("expired", survived="nothing")
def exactly_an_hour(s: Stage) -> None:
    s.call(ask(Q, cache_control=HOUR)).wait(3598).call(ask(Q, *turn(1), cache_control=HOUR))


@case("expired", survived="nothing")
def a_long_answer_counts_too(s: Stage) -> None:
    s.call(ask(Q), takes_s=240).wait(60).call(ask(Q, *turn(1)))


@case("expired", survived="part")
def the_history_ended_and_the_hours_system_prompt_did_not(s: Stage) -> None:
    system = [text("[1500] the rules of the house", cache_control=HOUR)]
    s.call(ask(Q, system=system)).wait(400).call(ask(Q, *turn(1), system=system))


@case("expired", survived="nothing")
def a_night_between(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1))).wait(30_000).call(ask(Q, *turn(1), *turn(2)))


@case("expired", survived="nothing")
def the_same_session_again_the_next_morning(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1))).wait(30_000).call(ask(Q))


# --- lookback exceeded


@case("lookback exceeded", survived="nothing")
def twenty_five_blocks_between_the_markers(s: Stage) -> None:
    more = [text(f"[10] note {n}") for n in range(25)]
    s.call(ask(Q)).call(ask(Q, assistant(text("[60] go on")), user(*more)))


@case("lookback exceeded", survived="part")
def the_system_prompt_survives_a_jump(s: Stage) -> None:
    more = [text(f"[10] note {n}") for n in range(25)]
    s.call(ask(Q, system=[RULES])).call(ask(Q, assistant(text("[60] yes")), user(*more), system=[RULES]))


@case("hit", survived="all")
def eighteen_blocks_between_the_markers(s: Stage) -> None:
    more = [text(f"[10] note {n}") for n in range(18)]
    s.call(ask(Q)).call(ask(Q, assistant(text("[60] go on")), user(*more)))


# --- parameter, model, workspace


@case("parameter changed", path="tool_choice", survived="part", code="CTX307")
def another_tool_choice(s: Stage) -> None:
    fields = {"tools": [tool("find")], "system": [RULES], "model": "claude-opus-5"}
    s.call(ask(Q, **fields)).call(ask(Q, *turn(1), tool_choice={"type": "any"}, **fields))


@case("parameter changed", path="thinking", survived="nothing")
def thinking_switched_on(s: Stage) -> None:
    fields = {"model": "claude-sonnet-4-6", "max_tokens": 4000}
    s.call(ask(Q, **fields))
    s.call(ask(Q, *turn(1), thinking={"type": "enabled", "budget_tokens": 2000}, **fields))


@case("parameter changed", path="output_config.effort", survived="nothing")
def another_effort(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1), output_config={"effort": "low"}))


@case("model changed", path="model", survived="nothing", code="CTX301")
def another_model(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1), model="claude-sonnet-5-5"))


@case("model changed", path="speed", survived="nothing")
def another_speed(s: Stage) -> None:
    s.call(ask(Q, model="claude-opus-5")).call(ask(Q, *turn(1), model="claude-opus-5", speed="fast"))


@case("model changed", survived="nothing", also=("expired",))
def another_model_after_twelve_minutes(s: Stage) -> None:
    s.call(ask(Q)).wait(727).call(ask(Q, *turn(1), model="claude-sonnet-5-5"))


@case("model changed", survived="part")
def back_to_the_first_model(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1), model="claude-sonnet-5-5")).call(ask(Q, *turn(1), *turn(2)))


@case("other workspace", survived="nothing")
def another_key(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1)), workspace="w2")


@case("other workspace", survived="nothing", also=("model changed",))
def another_key_and_model(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1), model="claude-sonnet-5-5"), workspace="w2")


# --- prefix changed


def _clock(now: str) -> list[dict[str, Any]]:
    return [text(f"[1500] Rules of the house. Now: 2026-03-06 {now}")]


@case("prefix changed", path="system[0].text", survived="nothing", code="CTX101")
def a_clock_in_the_system_prompt(s: Stage) -> None:
    s.call(ask(Q, system=_clock("14:07:31"))).call(ask(Q, *turn(1), system=_clock("14:07:32")))


@case("prefix changed", path="system[0].text", survived="nothing", code="CTX101")
def a_clock_and_another_question(s: Stage) -> None:
    s.call(ask(user(text("[9] why")), system=_clock("14:07:31")))
    s.call(ask(user(text("[9] where")), system=_clock("14:07:32")))


@case("prefix changed", path="messages[0].content[0].text", survived="nothing", code="CTX101")
def a_marker_on_the_question_with_the_time(s: Stage) -> None:
    for now in ("10:41:07", "10:42:30"):
        s.call(ask(user(text(f"[30] It is {now}. What is next?"))))


@case("prefix changed", path="system[0].text", survived="part", code="CTX302")
def the_system_prompt_edited_and_the_tools_survive(s: Stage) -> None:
    tools = [{**tool("find"), "cache_control": MARK}]
    s.call(ask(Q, tools=tools))
    s.call(ask(Q, *turn(1), tools=tools, system=[text("[1500] the rules of the ship")]))


@case("prefix changed", path="tools[1]", survived="nothing", code="CTX203")
def tools_in_another_order(s: Stage) -> None:
    a, b, c = tool("a"), tool("b"), tool("c")
    s.call(ask(Q, tools=[a, b, c])).call(ask(Q, *turn(1), tools=[a, c, b]))


@case("prefix changed", survived="nothing", code="CTX308")
def a_tool_more(s: Stage) -> None:
    s.call(ask(Q, tools=[tool("a")])).call(ask(Q, *turn(1), tools=[tool("a"), tool("b")]))


@case("prefix changed", survived="part", code="CTX201")
def keys_of_a_call_in_another_order(s: Stage) -> None:
    def body(*more: Any, **given: Any) -> dict[str, Any]:
        tools = [{**tool("find"), "cache_control": MARK}]
        loop = (assistant(call_block(**given)), user(result_block("[200] found it")))
        return ask(Q, *loop, *more, tools=tools)

    s.call(body(a=1, b=2)).call(body(*turn(2), b=2, a=1))


@case("prefix changed", path="messages[2].content[0].text", survived="part", code="CTX303")
def an_earlier_message_edited(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q, *turn(1))).call(ask(Q, *turn(1), *turn(2)))
    edited = [turn(1)[0], user(text("[40] and what of that in turn 1, in short"))]
    s.call(ask(Q, *edited, *turn(2), *turn(3)))


@case("prefix changed", survived="part")
def a_tool_result_cleared_by_the_client(s: Stage) -> None:
    def body(words: str, *more: Any) -> dict[str, Any]:
        tools = [{**tool("find"), "cache_control": MARK}]
        return ask(Q, assistant(call_block(a=1)), user(result_block(words)), *more, tools=tools)

    s.call(body("[800] a long result")).call(body("[5] cleared", *turn(2)))


@case("prefix changed", survived="nothing")
def an_injected_block_that_moves_to_the_newest_message(s: Stage) -> None:
    reminder = text("[50] a reminder")
    s.call(ask(user(text("[10] A"), reminder, text("[10] q1"))))
    s.call(ask(user(text("[10] A"), text("[10] q1")), turn(1)[0], user(reminder, text("[10] q2"))))


@case("prefix changed", survived="nothing", code="CTX102")
def a_uuid_in_the_first_message(s: Stage) -> None:
    for one, more in (
        ("3f2b8c1a-9d4e-4f6a-8b7c-1d2e3f4a5b6c", ()),
        ("7a1c2d3e-4f5a-4b6c-9d8e-0f1a2b3c4d5e", turn(1)),
    ):
        s.call(ask(user(text(f"[30] run id: {one}")), *more))


@case("prefix changed", survived="part")
def a_model_that_drops_old_thinking(s: Stage) -> None:
    fields = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 4000,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{**tool("find"), "description": "find it " * 700, "cache_control": MARK}],
    }
    thought = {"type": "thinking", "thinking": "[300] hm", "signature": "c2ln"}
    loop = (assistant(thought, call_block(a=1)), user(result_block("[200] found it")))
    s.call(ask(Q, *loop, **fields)).call(ask(Q, *loop, *turn(2), **fields))


@case("prefix changed", path="context_management", survived="part")
def tool_results_cleared_by_the_server(s: Stage) -> None:
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 2},
        "keep": {"type": "tool_uses", "value": 1},
    }
    fields = {"context_management": {"edits": [edit]}, "system": [RULES], "tools": [tool("find")]}
    loop = [Q]
    for n in range(3):
        call = {**call_block(a=n), "id": f"toolu_{n}"}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"[200] found {n}"}
        loop += [assistant(call), user(result)]
        s.call(ask(*loop, **fields), betas="context-management-2025-06-27")


@case("prefix changed", path="messages[0].content[1]", survived="nothing")
def the_same_start_with_another_document(s: Stage) -> None:
    for n, document in enumerate(("[2000] the first annual report", "[1900] minutes of a meeting")):
        start = user(text("[30] Summarise this document."), text(document))
        s.call(ask(start, *(turn(1) if n == 0 else ())))


# --- history shortened


def _three_turns(s: Stage, **fields: Any) -> None:
    s.call(ask(Q, **fields)).call(ask(Q, *turn(1), **fields)).call(ask(Q, *turn(1), *turn(2), **fields))


@case("history shortened", survived="part")
def a_rewind_to_the_first_turn(s: Stage) -> None:
    _three_turns(s)
    s.call(ask(Q, *turn(1, words="[40] no, do it so")))


@case("history shortened", survived="part")
def a_prompt_cut_back_and_nothing_added(s: Stage) -> None:
    _three_turns(s)
    s.call(ask(Q))


@case("history shortened", survived="part")
def the_oldest_turns_dropped(s: Stage) -> None:
    _three_turns(s, system=[RULES])
    s.call(ask(turn(1)[1], *turn(2), *turn(3), system=[RULES]))


@case("history shortened", survived="part")
def a_summary_in_place_of_the_history(s: Stage) -> None:
    _three_turns(s, system=[RULES])
    summary = user(text("[300] what happened so far"))
    s.call(ask(summary, *turn(2), system=[RULES]))


@case("history shortened", survived="part")
def a_summary_of_the_servers_sent_back(s: Stage) -> None:
    _three_turns(s, system=[RULES])
    summary = {"type": "compaction", "content": "[300] what happened so far"}
    body = ask(Q, *turn(1), assistant(summary), turn(2)[1], system=[RULES])
    s.call(body, betas="compact-2026-01-12")


# --- provider-side miss


@case("provider-side miss", survived="nothing")
def the_provider_lost_it(s: Stage) -> None:
    s.call(ask(Q)).forget().call(ask(Q, *turn(1)))


@case("provider-side miss", survived="nothing")
def the_provider_lost_it_for_the_same_request(s: Stage) -> None:
    s.call(ask(Q)).call(ask(Q)).forget().call(ask(Q))
