"""Promises of notebook 00: what is given was recorded, and an answer is judged by what is wrong with it."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from ctxlab import figures, places, recordings
from ctxlab.checks import exercises, lesson_00, lessons, predict, reveal
from ctxlab.checks.exercises import Verdict
from ctxlab.checks.panel import Picture

SOURCE = Path(places.__file__).parent.parent / "notebooks" / "source" / "00-window-and-store.py"
KEPT = {"file on disk", "database row"}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))


def judged(number: str, work: object) -> Verdict:
    return exercises.judge(lessons.exercise(number), [work])


def keys(number: str) -> list[str]:
    cases = lessons.exercise(number).cases(random.Random(0))
    return list(dict.fromkeys(case.args[0] for case in cases))


def given(heading: str) -> str:
    section = SOURCE.read_text(encoding="utf-8").split(f"# ## {heading}\n")[1]
    return section.split("<<question")[0]


# --- what is given


def test_the_given_boxes_hold_the_recorded_figures():
    turns = [turn.usage.total_input_tokens for turn in recordings.session(lesson_00.LONG).turns if turn.usage]
    box = given("What does a session process in all?")
    assert f"{len(turns)} turns" in box
    for figure in (turns[0], turns[126], max(turns), turns[183], turns[-1]):
        assert f"{figure:,}" in box
    turns = [
        turn.usage.total_input_tokens for turn in recordings.session(lesson_00.SHORT).turns if turn.usage
    ]
    box = given("Exit question")
    assert f"{len(turns)} turns" in box
    for figure in (turns[0], turns[32], turns[-1]):
        assert f"{figure:,}" in box
    assert turns[-1] == max(turns)


@pytest.mark.parametrize(
    ("number", "straight_lines"),
    [
        ("00-a", [(127, 50_940, 123_528), (56, 123_528, 154_517), (70, 52_340, 107_937)]),
        ("00-exit", [(33, 24_063, 47_453), (33, 47_453, 61_908)]),
    ],
)
def test_straight_lines_through_what_is_given_come_close_enough(number, straight_lines):
    area = sum(turns * (first + last) / 2 for turns, first, last in straight_lines)
    predict(number, total_tokens=round(area))
    assert reveal(number).word == "EXACT"


def test_the_twelve_statements_in_the_box_are_the_ones_that_are_judged():
    listed = re.findall(r"# > \d+\. (.+)", given("What deserves a row"))
    assert [text.replace("`", "") for text in listed] == [one.text for one in lesson_00.STATEMENTS]


def test_the_reveal_of_the_statements_says_of_each_whether_it_passes_and_why():
    predict("00-c", vote="D")
    panel = reveal("00-c", lesson_00.three_day_test())
    (picture,) = [part for part in panel.parts if isinstance(part, Picture)]
    rows = [[cell.strip() for cell in line.split("|")] for line in picture.as_text().splitlines()[2:]]
    assert [row[0].partition(" ")[2] for row in rows] == [one.text for one in lesson_00.STATEMENTS]
    assert Counter(row[1] for row in rows) == lesson_00.three_day_test()
    assert all(row[2] for row in rows)


def test_the_picture_of_the_window_has_the_order_that_exercise_4_asks_for():
    drawn = repr(figures.window_and_store())
    assert (
        drawn.index("system prompt") < drawn.index("history") < drawn.index("recalled") < drawn.index("new")
    )


# --- exercise 1


@pytest.mark.parametrize("spelt", ["{}", " {} ", "STILL THERE/GONE", "Still-There/Gone"])
def test_capitals_and_hyphens_are_no_mistake_about_memory(spelt):
    there, _, gone = spelt.partition("/")
    words = (there, gone) if gone else (spelt.format("still there"), spelt.format("gone"))
    assert judged("00-1", {key: words[key not in KEPT] for key in keys("00-1")}).state == "done"


@pytest.mark.parametrize("other", ["survives", "", "gon", True, 1, "still"])
def test_a_word_that_was_not_offered_is_told_as_that_and_not_as_an_idea(other):
    answers = {key: "still there" if key in KEPT else "gone" for key in keys("00-1")}
    for key in keys("00-1"):
        verdict = judged("00-1", {**answers, key: other})
        assert (verdict.rule, verdict.got) == ("one-of-two-words", other)


@pytest.mark.parametrize("number", ["00-1", "00-3"])
def test_a_blank_is_counted_once_however_many_rules_judge_it(number):
    asked = keys(number)
    assert judged(number, {}).message == f"{len(asked)} of {len(asked)} answers are blank."
    assert judged(number, dict.fromkeys(asked[1:], "x")).message == f"1 of {len(asked)} answers is blank."


@pytest.mark.parametrize("wrong", ["messages list", "prompt cache entry on the server", "database row"])
def test_an_offered_word_in_the_wrong_place_is_an_idea(wrong):
    answers = {key: "still there" if (key in KEPT) != (key == wrong) else "gone" for key in keys("00-1")}
    rule = "store-survives" if wrong in KEPT else "request-is-not-memory"
    assert judged("00-1", answers).rule == rule


# --- exercise 2


def durable(leave_out: str = "", least: int = 3):
    """The policy, without one of its fields."""

    def policy(statement):
        blocked = statement.is_secret and leave_out != "is_secret"
        blocked |= not statement.can_be_checked and leave_out != "can_be_checked"
        blocked |= statement.is_in_the_code and leave_out != "is_in_the_code"
        if blocked:
            return "no"
        if statement.ends_in_days is not None and leave_out != "ends_in_days":
            return "until" if statement.ends_in_days >= least else "no"
        return "yes" if statement.holds == "general" or leave_out == "holds" else "no"

    return policy


def test_the_policy_passes_however_it_is_written():
    assert judged("00-2", durable()).state == "done"


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ("is_secret", "no-secrets"),
        ("can_be_checked", "worth-a-row"),
        ("is_in_the_code", "worth-a-row"),
        ("ends_in_days", "three-days"),
        ("holds", "three-days"),
    ],
)
def test_each_field_is_needed_and_its_rule_is_named(field, rule):
    assert judged("00-2", durable(field)).rule == rule


@pytest.mark.parametrize("least", [2, 4])
def test_three_days_are_neither_two_nor_four(least):
    assert judged("00-2", durable(least=least)).rule == "three-days"


@pytest.mark.parametrize("answer", [False, True, "No", ("no", "a secret")])
def test_an_answer_that_is_none_of_the_three_words_is_told_as_that(answer):
    assert judged("00-2", lambda statement: answer).rule == "one-of-three-words"


def test_answers_known_by_heart_fail_on_a_look_alike_that_is_shown_with_its_fields():
    known = {one.text: durable()(one) for one in lesson_00.STATEMENTS}
    verdict = judged("00-2", lambda statement: known.get(statement.text, "no"))
    assert verdict.case is not None
    assert verdict.case.hidden
    assert f"“{verdict.case.args[0].text}”" in verdict.case.label


def test_a_policy_begun_with_secrets_alone_keeps_what_it_has():
    verdict = judged("00-2", lambda statement: "no" if statement.is_secret else None)
    assert (verdict.rule, verdict.kept) == ("worth-a-row", ("one-of-three-words", "no-secrets"))


# --- exercises 3 and 4


@pytest.mark.parametrize(
    "answer", ["semantic", ("every turn", "semantic"), ("semantic", "daily"), {"semantic"}]
)
def test_what_is_no_pair_of_a_type_and_a_time_is_told_as_that(answer):
    assert judged("00-3", dict.fromkeys(keys("00-3"), answer)).rule == "a-pair-of-words"


def test_a_pair_of_offered_words_is_judged_as_an_idea():
    answers = {key: ["Semantic", "every_turn"] for key in keys("00-3")}
    assert judged("00-3", answers).rule == "type-by-question"


@pytest.mark.parametrize(
    ("build", "rule"),
    [
        (lambda s, h, r, m: [s, h, r, m], "one-flat-list"),
        (lambda s, h, r, m: iter([*s, *h, *r, m]), "one-flat-list"),
        (lambda s, h, r, m: "\n".join([*s, *h, *r, m]), "one-flat-list"),
        (lambda s, h, r, m: [*s, *h, *r, *m], "nothing-lost"),
        (lambda s, h, r, m: [*s, *h, m], "nothing-lost"),
        (lambda s, h, r, m: [*s, *r, *h, m], "volatile-last"),
        (lambda s, h, r, m: [*s, *h, m, *r], "volatile-last"),
        (lambda s, h, r, m: (*s, *h, *r, m), ""),
    ],
)
def test_a_built_request_is_judged_by_shape_then_content_then_order(build, rule):
    assert judged("00-4", build).rule == rule
