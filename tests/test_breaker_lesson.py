"""Promises of notebook 03: what it says is what the cache, the emulator and the recordings say."""

from __future__ import annotations

import copy
import json
import random
import re
from pathlib import Path

import pytest

from ctxlab import breakers, places, recordings
from ctxlab.cache import Plan
from ctxlab.checks import check, exercises, lesson_03, lessons
from ctxlab.checks.runs import run_bodies, words
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator
from ctxlab.notebooks import source

ROOT = Path(places.__file__).parent.parent
NOTEBOOK = ROOT / "notebooks" / "source" / "03-prefix-breakers.py"
PAIRS = ("03-a", "03-b", "03-exit")


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))


def sizes(plan: Plan) -> list[int]:
    ends = [position.cumulative_tokens or 0 for position in plan.layout.positions]
    return [end - before for before, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("number", PAIRS)
def test_the_emulator_answers_what_the_truths_are_computed_from(number):
    clock = ManualClock()
    client = Emulator(clock=clock, counter=words).client()
    first, second = lesson_03._PAIRS[number]()
    client.messages.create(**first)
    clock.advance(40)
    usage = client.messages.create(**second).usage
    asked = lessons.prediction(number)
    assert asked.read_result(("", usage)) == asked.truth()


def test_the_given_boxes_name_the_sizes_that_the_requests_have():
    text = NOTEBOOK.read_text(encoding="utf-8")
    for sentence in (
        "tools 600 tokens, system prompt 1,500, question 50, a call of 5, its result of 280",
        "one tool of 600 tokens, system prompt 1,500",
        "then another of 116",
        "an answer of 60 and a new question of 30",
        "tools 600 tokens, system prompt 2,400 **with a marker**, question 30, a call of 5",
    ):
        assert sentence in text
    assert sizes(lesson_03._plan("03-a")) == [600, 1500, 50, 5, 280]
    assert sizes(lesson_03._plan("03-b")) == [600, 116, 1500, 50, 60, 30]
    assert sizes(lesson_03._plan("03-exit")) == [600, 2400, 30, 5, 180]
    first = lesson_03._session(1)[0][0]
    assert sizes(first) == [1000, 8, 5000, 400]
    assert f"costs ${lesson_03.session_usd(1):.2f}" in text


def test_sorted_dumps_hide_the_first_breaker_and_point_elsewhere_for_the_second():
    said = {number: lesson_03.sorted_diff(*lesson_03._PAIRS[number]()) for number in PAIRS}
    assert said == {"03-a": "identical", "03-b": "messages", "03-exit": "identical"}
    naive = breakers.sorted_dump_difference(*lesson_03.one_more_of_both())
    assert naive is not None
    assert naive.field == "messages"
    assert breakers.sorted_dump_difference(*lesson_03.sent_again()) is None


def test_the_comparison_of_the_house_names_what_the_sorted_dumps_miss():
    codes = {
        number: [one.code for one in breakers.compare(lesson_03._PAIRS[number]())[0].findings]
        for number in PAIRS
    }
    assert codes == {"03-a": ["CTX201"], "03-b": ["CTX308"], "03-exit": ["CTX201"]}


def test_a_clock_costs_less_the_further_back_it_stands():
    costs = [lesson_03.session_usd(place) for place in range(len(lesson_03.PLACES))]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] == costs[1] > 2 * costs[2] > 8 * costs[4]


def test_a_set_has_another_order_in_another_process_and_the_same_in_one_with_the_same_seed():
    orders = lesson_03.orders_of_a_set((1, 2, 3, 1))
    assert len(set(orders[:3])) > 1
    assert orders[0] == orders[3]
    assert {" ".join(sorted(order.split())) for order in orders} == {"list move read search write"}


def test_each_patient_has_the_counters_of_its_verdict():
    for name, (verdict, *_) in lesson_03._PATIENTS.items():
        left, read, written = lesson_03._chart(name)
        if verdict == lesson_03.NOTHING:
            assert (read, written) == (0, 0)
        elif verdict == lesson_03.ALIVE:
            assert read == left > 0
        elif verdict == lesson_03.LATE:
            assert 0.99 * left < read < left
        else:
            assert written > 0
            assert read < left or not left


def test_the_counters_of_a_patient_are_those_of_its_recording():
    usage = recordings.exchange("crush/glob_tool#2").usage
    assert usage is not None
    assert lesson_03._chart("P4")[1:] == (usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
    turn = recordings.session(lesson_03._LONG).turns[163]
    assert lesson_03._chart("P3")[2] == turn.usage.cache_creation_input_tokens
    assert turn.gap_s is not None
    assert turn.gap_s > 3600


def test_the_first_broken_agent_has_one_confirmed_finding_and_the_notebook_asks_for_its_line():
    found = [one for one in breakers.scan_text(lesson_03.AGENT) if one.confirmed]
    asked = lessons.exercise("03-5").cases(random.Random(0))
    assert [(one.code, one.line) for one in found] == [("CTX202", asked[0].expected)]


def test_the_second_broken_agent_differs_in_one_way_that_ends_the_prefix():
    comparison = breakers.compare(lesson_03.agent_requests())[0]
    assert [one.code for one in comparison.findings] == ["CTX204"]
    assert comparison.findings[0].path.startswith("tools[1]")
    assert run_bodies(lesson_03.agent_requests())[1].read_tokens == 0


def test_the_third_broken_agent_fails_only_where_an_answer_used_up_the_time():
    plans = lesson_03._timed()
    starts = [start for start, _ in plans]
    for turn in range(1, len(plans)):
        silence_s = lesson_03._STEPS[turn][0]
        assert silence_s < 300  # nobody was silent for five minutes
        assert bool(plans[turn][1].read_tokens) == (starts[turn] - starts[turn - 1] < 300)


def test_other_seeds_ask_other_questions_of_the_same_rules():
    for name in ("03-2", "03-3", "03-4"):
        asked = lessons.exercise(name)
        one, other = (asked.cases(random.Random(seed)) for seed in (1, 2))
        assert [case.rule for case in one] == [case.rule for case in other]
        assert [case.args for case in one] != [case.args for case in other]


@pytest.mark.parametrize("got", [5, "messages", None, [], ("tools",), [["tools", 0]], {"system": 3}])
def test_whatever_a_learner_returns_is_told_in_a_panel(got):
    assert check("03-2", lambda earlier, later: got).word in ("BROKEN RULE", "NOT YET")
    assert check("03-3", lambda rules, messages, now: got).word in ("BROKEN RULE", "NOT YET")
    assert check("03-4", lambda request: got).word in ("BROKEN RULE", "NOT YET")


def test_a_time_in_front_of_the_marker_in_any_form_is_seen():
    def hidden_in_front(rules, messages, now):
        *history, last = messages
        *before, question = last["content"]
        question = {**question, "cache_control": {"type": "ephemeral"}}
        asked = [*before, question, {"type": "text", "text": now}]
        system = rules + " " + now[-8:-3]
        return {"system": system, "messages": [*history, {**last, "content": asked}]}

    verdict = exercises.judge(lessons.exercise("03-3"), [hidden_in_front])
    assert (verdict.state, verdict.rule) == ("stuck", "volatile-behind-marker")


def test_no_word_of_the_header_says_what_the_predictions_ask():
    front = source.edition(source.read(NOTEBOOK), answered=False)[0].text
    for giveaway in ("identical", "sort", "nothing is read", "tenth"):
        assert giveaway not in front


def test_what_a_prediction_asks_is_explained_by_its_reveal_alone():
    prose = "\n".join(cell.text for cell in source.read(NOTEBOOK).cells if cell.kind == "markdown")
    open_prose = re.sub(r"<details>.*?</details>", "", prose, flags=re.DOTALL)
    for giveaway in (
        "Why.",
        "sorts before",
        "blind to",
        "new block in the middle",
        "patient P4",
        "eight tokens",
    ):
        assert giveaway not in open_prose, giveaway


def test_the_price_of_other_places_is_drawn_after_the_reveal_alone():
    cells = [cell for cell in source.read(NOTEBOOK).cells if cell.kind == "code"]
    shown = [cell.text for cell in cells if "explorer" in cell.text]
    assert len(shown) == 2
    assert all('after("03-c"' in text for text in shown)


def test_the_last_cell_shows_a_breaker_and_gives_no_exercise_away():
    last = [cell.text for cell in source.read(NOTEBOOK).cells if cell.kind == "code"][-1]
    assert 'r"" or lesson.CLOCK_IN_FRONT' in last
    assert [one.code for one in breakers.scan_text(lesson_03.CLOCK_IN_FRONT) if one.confirmed] == ["CTX101"]
    culprits = {line.strip() for line in lesson_03.AGENT.splitlines() if lesson_03._CULPRIT in line}
    assert not culprits & {line.strip() for line in lesson_03.CLOCK_IN_FRONT.splitlines()}


# --- exercises


def judged(number: str, work: object) -> tuple[str, str]:
    verdict = exercises.judge(lessons.exercise(number), [work])
    return verdict.state, verdict.rule


def solved(number: str):
    space: dict = {}
    exec((ROOT / "notebooks" / "solutions" / f"{number}.py").read_text(encoding="utf-8"), space)
    (name,) = lessons.exercise(number).asks
    return space[name]


def test_a_verdict_is_read_as_it_was_meant_and_another_word_is_told_as_that():
    right = solved("03-1")
    assert judged("03-1", {name: word.replace(" ", "_").title() for name, word in right.items()})[0] == "done"
    for name in right:
        assert judged("03-1", {**right, name: "cold"}) == ("stuck", "one-of-the-verdicts")
        for other in lesson_03.VERDICTS:
            assert (judged("03-1", {**right, name: other})[0] == "done") == (other == right[name])


def difference(dump=json.dumps, parts=("tools", "system", "messages"), nothing="nothing", held=tuple):
    def first_difference(earlier, later):
        for part in parts or earlier:
            old, new = earlier.get(part, []), later.get(part, [])
            for at, (one, other) in enumerate(zip(old, new, strict=False)):
                if dump(one) != dump(other):
                    return held((part, at))
            if len(new) < len(old) or (len(new) > len(old) and part != "messages"):
                return held((part, min(len(old), len(new))))
        return nothing

    return first_difference


@pytest.mark.parametrize(
    ("work", "verdict"),
    [
        (difference(dump=str), ("done", "")),
        (difference(held=list), ("done", "")),
        (difference(nothing="Nothing"), ("done", "")),
        (difference(parts=()), ("stuck", "render-order")),
        (difference(dump=lambda one: json.dumps(one.get("content", one))), ("stuck", "as-sent")),
        (difference(dump=lambda one: json.dumps(one, sort_keys=True)), ("stuck", "as-sent")),
        (difference(parts=("system", "messages")), ("stuck", "render-order")),
    ],
)
def test_a_first_difference_is_judged_by_what_the_cache_sees(work, verdict):
    assert judged("03-2", work) == verdict


def clocked(system=lambda rules, now: rules, said=lambda now: now, place=-1, role="user"):
    """An answer to 03-3 that marks one block of the question and says the time in a message behind it."""

    def with_clock(rules, messages, now):
        messages = copy.deepcopy(messages)
        messages[-1]["content"][place]["cache_control"] = {"type": "ephemeral"}
        clock = {"role": role, "content": said(now)}
        return {"system": system(rules, now), "messages": [*messages, clock]}

    return with_clock


@pytest.mark.parametrize(
    ("work", "verdict"),
    [
        (clocked(), ("done", "")),
        (clocked(said=lambda now: f"<time>{now}</time>"), ("done", "")),
        (clocked(system=lambda rules, now: f"# Rules\n{rules}"), ("done", "")),
        (clocked(system=lambda rules, now: f"{rules} {now[5:15]}"), ("stuck", "volatile-behind-marker")),
        (
            clocked(system=lambda rules, now: f"{rules} Hour {now[-8:-6]}"),
            ("stuck", "volatile-behind-marker"),
        ),
        (clocked(said=lambda now: now[:-3]), ("stuck", "nothing-lost")),
        (clocked(role="assistant"), ("stuck", "nothing-lost")),
        (clocked(place=0), ("stuck", "marked")),
    ],
)
def test_a_clock_is_judged_by_where_any_part_of_it_stands(work, verdict):
    assert judged("03-3", work) == verdict


def test_tools_are_sorted_by_their_names_and_keep_what_they_require():
    right = solved("03-4")

    def by_description(request):
        request = right(request)
        return {**request, "tools": sorted(request["tools"], key=lambda tool: tool["description"])}

    def all_required(request):
        request = copy.deepcopy(right(request))
        for tool in request["tools"]:
            tool["input_schema"]["required"] = sorted(tool["input_schema"]["properties"])
        return request

    for wrong in (by_description, all_required):
        assert judged("03-4", wrong) == ("stuck", "set-like")


@pytest.mark.parametrize(
    ("key", "answer", "state"),
    [
        ("line of the source", "line 9", "done"),
        ("line of the source", [9], "done"),
        ("line of the source", 5, "done"),
        ("line of the source", 10, "stuck"),
        ("line of the source", -16, "stuck"),
        ("line of the source", "topics", "stuck"),
        ("path in the requests", "request.tools[1].input_schema", "done"),
        ("path in the requests", "Tools [1]", "done"),
        ("path in the requests", "tools[10]", "stuck"),
        ("path in the requests", "system[0]", "stuck"),
        ("turns that read nothing", "6, 7", "done"),
        ("turns that read nothing", {7, 6, 1}, "done"),
        ("turns that read nothing", 6, "stuck"),
    ],
)
def test_a_culprit_is_read_as_it_was_meant(key, answer, state):
    assert judged("03-5", {**solved("03-5"), key: answer})[0] == state
