"""Promises of ctxlab.checks: nothing leaks, nothing committed is lost, every answer is told what it shows."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.checks import (
    Between,
    Case,
    Exercise,
    Field,
    Option,
    Prediction,
    after,
    check,
    deadline,
    exercises,
    give_up,
    lessons,
    predict,
    predictions,
    record,
    reference,
    reveal,
    status,
    status_text,
    within,
    words,
)
from ctxlab.checks.panel import Line, Listing, Panel, Picture, Table
from ctxlab.checks.quantities import agrees, exact, in_unit, shown, written
from ctxlab.errors import CtxlabError, InvalidArgumentError
from tests.strategies import answers_in_a_file, figures_to_commit

FIXTURES = Path(__file__).parent / "fixtures" / "lessons"
SUM, LAST_TURN, TOO_LITTLE = 10_444, 1_861, 9_583  # 7 turns of 1,000 + k·123; the last; one message less each
RUN = [1_000 + turn * 123 for turn in range(1, 8)]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    """A learner's folder of its own, with the tiny lesson 90 of the fixtures."""
    monkeypatch.setenv("CTXLAB_LESSONS", str(FIXTURES))
    monkeypatch.delenv("CTXLAB_RECORD")
    monkeypatch.chdir(tmp_path)
    record._memory.clear()
    record.notices()
    return tmp_path / ".ctxlab" / "record.json"


class Equal:
    """Like an array: asked whether it is equal to something, it has no yes or no."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value is ambiguous")

    __hash__ = None  # type: ignore[assignment]


def stored(name: str = "90-a") -> dict:
    return dict(record.load()["predictions"].get(name, {}))


# --- predict and reveal


def test_an_empty_prediction_says_not_yet_and_what_it_waits_for():
    panel = predict("90-a", total_tokens=..., vote=..., sure=...)
    assert "NOT YET" in repr(panel)
    assert "`total_tokens`" in repr(panel)
    assert stored() == {}


@pytest.mark.parametrize("result", [None, RUN])
def test_nothing_is_revealed_before_there_is_an_answer(result):
    predict("90-a", total_tokens=..., vote=..., sure=True)
    panel = reveal("90-a", result)
    assert "NOT YET" in repr(panel)
    for digits in ("10,444", "10444", "sum-over-turns"):
        assert digits not in repr(panel) + panel._repr_html_()
    assert "outcome" not in stored()


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"total_tokens": SUM}, "EXACT"),
        ({"total_tokens": SUM, "vote": "B"}, "EXACT"),
        ({"total_tokens": 10_600, "vote": "B"}, "RIGHT RULE, WRONG SUM"),
        ({"vote": "b"}, "RIGHT RULE, NO SUM"),
        ({"total_tokens": 11_000}, "RIGHT RULE, WRONG SUM"),
        ({"total_tokens": LAST_TURN}, "A KNOWN MISCONCEPTION"),
        ({"total_tokens": TOO_LITTLE, "vote": "B"}, "A KNOWN MISCONCEPTION"),
        ({"vote": "D"}, "A KNOWN MISCONCEPTION"),
        ({"total_tokens": 77}, "ANOTHER IDEA"),
    ],
)
def test_every_answer_is_told_what_it_shows(answer, word):
    predict("90-a", **answer)
    told = repr(reveal("90-a", RUN))
    assert word in told.splitlines()[0]
    assert "Rule `sum-over-turns`: Every turn sends everything again" in told
    assert "Evidence: scripted, an agent of made-up sizes." in told
    assert f"{SUM:,} tokens" in told


def test_a_misconception_is_named_with_what_refutes_it():
    predict("90-a", total_tokens=LAST_TURN, sure=True)
    told = " ".join(repr(reveal("90-a")).split())
    assert "“The last request holds everything, so its size is the answer.”" in told
    assert "It predicts the size of the last request." in told
    assert "Refuted by arithmetic: 7 requests were sent, not one." in told


def test_right_figures_with_another_letter_are_right_and_say_so():
    predict("90-a", total_tokens=SUM, vote="A")
    told = repr(reveal("90-a"))
    assert "EXACT" in told
    assert "Your vote A does not fit your own figures." in told


@pytest.mark.parametrize(
    "yields",
    [{}, {"the-last-turn-is-all": dict}, {"the-last-turn-is-all": lambda: {"read": 7}}],
    ids=["no figures named", "none yielded", "the same ones yielded"],
)
def test_a_wrong_vote_that_right_figures_cannot_refute_is_its_misconception(yields):
    asked = question(fields=(Field("read", "read"),), truth=lambda: {"read": 7}, misconceptions=yields)
    outcome = predictions.grade(asked, "B", {"read": Fraction(7)})
    assert (outcome.name, outcome.misconception) == ("misconception", "the-last-turn-is-all")
    assert outcome.note == ""
    assert predictions.grade(asked, "A", {"read": Fraction(7)}) == predictions.Outcome("exact")


def test_a_wrong_vote_that_right_figures_refute_is_only_noted():
    yields = {"the-last-turn-is-all": lambda: {"read": 8}}
    asked = question(fields=(Field("read", "read"),), truth=lambda: {"read": 7}, misconceptions=yields)
    outcome = predictions.grade(asked, "B", {"read": Fraction(7)})
    assert (outcome.name, outcome.note) == ("exact", "Your vote B does not fit your own figures.")


def test_another_run_than_the_one_asked_for_is_refused_without_figures():
    predict("90-a", vote="A")
    for result in ([1, 2, 3], "not a run", 7):
        panel = repr(reveal("90-a", result))
        assert "That is not the run asked for" in panel
        assert "10,444" not in panel
    assert "outcome" not in stored()
    assert "A KNOWN MISCONCEPTION" in repr(reveal("90-a", RUN))


def test_both_votes_are_kept_and_the_second_counts():
    predict("90-a", vote="A", sure=True)
    predict("90-a", vote="B", sure=False, second=True)
    told = repr(reveal("90-a"))
    assert "First vote A (sure), second vote B (not sure)." in told
    assert (stored()["first_outcome"], stored()["outcome"]) == ("misconception", "right-rule")


def test_a_second_vote_for_the_same_letter_keeps_the_figures_of_the_first():
    predict("90-a", vote="B", total_tokens=SUM)
    predict("90-a", vote="B", second=True)
    assert "EXACT" in repr(reveal("90-a"))


def test_an_empty_cell_run_again_never_erases_an_answer():
    predict("90-a", vote="B", total_tokens=SUM)
    before = stored()
    assert "KEPT" in repr(predict("90-a", vote=..., total_tokens=..., sure=...))
    assert "NOT YET" in repr(predict("90-a", vote=..., second=True))
    assert stored() == before


def test_an_empty_cell_run_again_tells_the_answer_that_counts():
    predict("90-a", vote="A", sure=True)
    predict("90-a", vote="B", sure=False, second=True)
    assert "vote B, not sure" in repr(predict("90-a", vote=..., total_tokens=..., sure=...))


def test_a_change_of_mind_about_being_sure_is_no_blank_answer():
    assert "NOT YET" in repr(predict("90-a", vote=..., total_tokens=..., sure=True))
    predict("90-a", vote="A", sure=True)
    assert "vote A, not sure" in repr(predict("90-a", vote=..., total_tokens=..., sure=False))
    assert stored()["first"]["sure"] is False


def test_what_is_left_blank_keeps_what_was_committed():
    predict("90-a", vote="A", sure=True)
    told = repr(predict("90-a", total_tokens=SUM, vote=..., sure=...))
    assert "vote A, input tokens of all turns 10,444 tokens, sure" in " ".join(told.split())
    predict("90-a", vote="B")
    assert stored()["first"] == {"vote": "B", "sure": True, "figures": {"total_tokens": str(SUM)}}


def test_an_answer_may_change_until_the_reveal_and_is_only_noted_after_it():
    predict("90-a", vote="A")
    predict("90-a", vote="C")
    reveal("90-a")
    told = repr(predict("90-a", vote="B", total_tokens=SUM))
    assert "AFTER THE REVEAL" in told
    assert stored()["first"]["vote"] == "C"
    assert stored()["after_reveal"]["figures"] == {"total_tokens": str(SUM)}
    assert "A KNOWN MISCONCEPTION" in repr(reveal("90-a"))


def test_the_same_answer_run_again_after_the_reveal_prints_the_same_bytes():
    answer = {"vote": "B", "total_tokens": SUM, "sure": True}
    first = [repr(predict("90-a", **answer)), repr(reveal("90-a", RUN))]
    assert [repr(predict("90-a", **answer)), repr(reveal("90-a", RUN))] == first
    assert "after_reveal" not in stored()


def test_giving_up_opens_the_figures_and_later_answers_do_not_count():
    give_up("90-a")
    assert "AFTER THE REVEAL" in repr(predict("90-a", vote="B"))
    told = repr(reveal("90-a"))
    assert "GIVEN UP" in told.splitlines()[0]
    assert f"{SUM:,} tokens" in told
    assert "first" not in stored()
    assert "`sum-over-turns` (90-a, given up)" in " ".join(status_text("90").split())


def test_an_answer_that_was_committed_is_not_given_up():
    predict("90-a", vote="A", sure=True)
    before = stored()
    told = " ".join(repr(give_up("90-a")).split())
    assert "KEPT" in told
    assert "Your answer stands: vote A, sure." in told
    assert stored() == before
    assert "A KNOWN MISCONCEPTION" in repr(reveal("90-a"))


def test_a_second_vote_without_a_first_counts_and_says_so():
    told = " ".join(repr(predict("90-a", vote="B", second=True)).split())
    assert "There was no first one." in told
    assert "Second vote B" in repr(reveal("90-a"))
    predict("90-exit", vote="A")
    assert "no first" not in repr(predict("90-exit", vote="B", second=True))


def test_what_comes_after_a_reveal_stays_shut_until_then():
    def never():
        raise AssertionError("ran before the reveal")

    assert "NOT YET" in repr(after("90-a", never))
    predict("90-a", vote="B")
    assert "NOT YET" in repr(after("90-a", never))
    reveal("90-a")
    assert after("90-a", lambda: "open") == "open"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: predict("90-b", vote="A"), "did you mean 90-a?"),
        (lambda: reveal("no such"), "There is no lesson"),
        (lambda: give_up("90-z"), "There is no question 90-z"),
        (lambda: check("90-9", len), "There is no question 90-9"),
        (lambda: after("90-z", dict), "There is no question 90-z"),
        (lambda: status("47"), "There is no lesson 47"),
        (lambda: predict("90-a", vote="E"), "not 'E'"),
        (lambda: predict("90-a", vote="A", sure="very"), "`sure` is True or False"),
        (lambda: predict("90-a", total=5), "`total` is not asked for here; total_tokens is"),
        (lambda: predict("90-a", vote="A", second="no"), "`second` is True or False"),
        (lambda: predict("90-a", "B"), 'is called like `predict("02-a", vote="B", sure=True)`'),
        (lambda: predict(), "`predict` is called like"),
        (lambda: reveal("90-a", RUN, 3), '`reveal` is called like `reveal("02-a", result)`'),
        (lambda: predict(90, vote="A"), "There is no question 90: did you mean 90-a?"),
        (lambda: predict("90-a ", vote="A"), "There is no question '90-a '"),
        (lambda: status(47), "There is no lesson 47"),
        (lambda: predict("90-a", total_tokens="many"), "`total_tokens` is a number in digits"),
        (lambda: predict("90-a", total_tokens="10,44"), "is a number in digits"),
        (lambda: predict("90-a", total_tokens="10.4k"), "is a number in digits"),
        (lambda: predict("90-a", total_tokens="$10,444"), "is a number in digits"),
        (lambda: predict("90-a", total_tokens=10**5_000), "is a number in digits"),
        (lambda: predict("90-a", total_tokens=Equal()), "is a number in digits"),
        (lambda: predict("90-a", total_tokens=[Equal()]), "is a number in digits"),
        (lambda: predict("90-a", total_tokens=-5), "a whole number, 0 or more"),
        (lambda: predict("90-a", total_tokens="10.444"), "a point is the decimal point"),
        (lambda: predict("90-a", total_tokens=float("nan")), "is a number"),
        (lambda: predict("90-a", total_tokens="1e999999999"), "is a number"),
        (lambda: predict("90-a", total_tokens=True), "is a number"),
    ],
)
def test_a_slip_of_the_keyboard_is_told_in_a_panel(call, told):
    text = repr(call())
    assert "CHECK THE CELL" in text
    assert told in " ".join(text.split())
    assert record.load()["predictions"] == {}


@pytest.mark.parametrize(
    "way", ["10,444", "10_444", "10 444", "10'444", "10\u202f444", " 10444 tokens", 10444.0]
)
def test_a_figure_may_be_written_as_people_write_figures(way):
    predict("90-a", total_tokens=way)
    assert stored()["first"]["figures"] == {"total_tokens": str(SUM)}


@pytest.mark.parametrize(
    ("way", "unit", "figure"),
    [
        *((way, "usd", "2.5") for way in ("$2.50", "2.50 $", "US$ 2.50", "2.5 USD", "usd 2.50", "+$2.50")),
        *((way, "usd", "-2.5") for way in ("-$2.50", "$-2.50", "\N{MINUS SIGN}2.50", "-2.5 USD")),
        *((way, "×", "2.5") for way in ("2.5×", "2.5 x", "× 2.5", "x2.5")),
        ("1 token", "tokens", "1"),
        ("1,000.0 tokens", "tokens", "1000"),
        ("1 turn", "turns", "1"),
        ("30 s", "s", "30"),
        ("62%", "%", "62"),
        ("7", "", "7"),
    ],
)
def test_a_figure_may_bear_its_unit_on_either_side(way, unit, figure):
    assert in_unit(way, unit) == Fraction(figure)


@pytest.mark.parametrize(
    ("way", "unit"),
    [
        ("13,37", "usd"),
        ("1$3", "usd"),
        ("$$5", "usd"),
        ("5 USD", "tokens"),
        ("99.3%", "usd"),
        ("2.5x", "tokens"),
    ],
)
def test_a_figure_in_another_unit_or_with_a_decimal_comma_is_no_figure(way, unit):
    with pytest.raises(ValueError, match="a point is the decimal point"):
        in_unit(way, unit)


@pytest.mark.parametrize("way", ["1.000", "24.691.034", "2.000 tokens"])
def test_tokens_grouped_by_points_are_asked_about_and_dollars_are_read(way):
    with pytest.raises(ValueError, match="counts tokens"):
        in_unit(way, "tokens")
    assert in_unit("1.000", "usd") == in_unit(1.000, "tokens") == 1


def test_dollars_may_bear_their_sign(two_figures):
    predict("90-b", read=7, written="$2.50", vote="A")
    assert stored("90-b")["first"]["figures"]["written"] == "5/2"


def test_some_but_not_all_figures_are_not_yet_an_answer(two_figures):
    panel = repr(predict("90-b", read=5))
    assert "NOT YET" in panel
    assert "`written`" in panel
    assert "COMMITTED" in repr(predict("90-b", read=5, vote="A"))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"vote": "A"}, "Open: `read`, `written`, `sure`. The letter alone will be judged."),
        ({"vote": "A", "sure": True}, "Open: `read`, `written`. The letter alone will be judged."),
        ({"vote": "A", "read": 5, "sure": False}, "Open: `written`."),
        ({"read": 5, "written": 2, "sure": True}, "Open: `vote`. The figures alone will be judged."),
        ({"vote": "A", "read": 5, "written": 2}, "Open: `sure`."),
    ],
)
def test_an_answer_in_part_is_committed_and_told_what_is_still_open(two_figures, answer, told):
    text = " ".join(repr(predict("90-b", **answer)).split())
    assert "COMMITTED" in text
    assert text.endswith(told)


def test_a_whole_answer_is_told_of_nothing_open(two_figures):
    whole = {"vote": "A", "read": 5, "written": 2, "sure": True}
    assert "Open:" not in repr(predict("90-b", **whole))
    assert "Open:" not in repr(predict("90-b", vote="A", sure=True, second=True))  # keeps the figures
    assert "Open: `read`" in repr(predict("90-b", vote="B", sure=True, second=True))


@pytest.fixture
def two_figures(monkeypatch) -> Prediction:
    """A question with two figures, one of them a range in dollars, in place of 90-a."""
    asked = question(
        fields=(Field("read", "read"), Field("written", "written", "usd")),
        truth=lambda: {"read": 7, "written": Between(2, 3)},
    )
    real = lessons.prediction
    monkeypatch.setattr(lessons, "prediction", lambda name: asked if name == "90-b" else real(name))
    return asked


def question(**fields) -> Prediction:
    wrong = "the-last-turn-is-all"
    options = (Option("A", "a"), Option("B", "b", wrong), Option("C", "c", wrong), Option("D", "d", wrong))
    known = {
        "id": "90-b",
        "question": "?",
        "options": options,
        "rule": "r",
        "rule_sentence": "s",
        "evidence": "scripted",
        "source": "nowhere",
        "why": "w",
    }
    return Prediction(**{**known, **fields})


def test_dollars_may_be_one_per_cent_off_and_tokens_not_at_all(two_figures):
    def outcome(**figures):
        return predictions.grade(two_figures, None, {k: exact(v) for k, v in figures.items()}).name

    assert outcome(read=7, written="2.5") == "exact"
    assert outcome(read=7, written="3.03") == "exact"
    assert outcome(read=7, written="1.98") == "exact"
    assert outcome(read=7, written="3.04") == "right-rule"
    assert outcome(read=8, written="2.5") == "another-idea"


def test_a_question_without_figures_is_exact_by_its_letter():
    assert predictions.grade(question(), "A", {}).name == "exact"
    assert predictions.grade(question(), "B", {}).misconception == "the-last-turn-is-all"


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "1-a"},
        {"evidence": "hearsay"},
        {"options": question().options[:3]},
        {"options": tuple(Option(letter, letter) for letter in "ABCD")},
        {"options": tuple(Option(letter, letter, "x") for letter in "ABCD")},
        {"fields": (Field("vote", "a name that predict() uses itself"),)},
    ],
)
def test_a_question_that_is_not_well_formed_is_refused_when_written(fields):
    with pytest.raises(InvalidArgumentError, match="well-formed-question"):
        question(**fields)


def test_the_reference_answer_is_exact():
    assert reference("90-a") == {"vote": "B", "sure": True, "total_tokens": SUM}
    predict("90-a", **reference("90-a"))
    assert "EXACT" in repr(reveal("90-a"))


def test_a_picture_is_shown_in_the_reveal_and_nowhere_before(two_figures, monkeypatch):
    class Drawn:
        def __repr__(self):
            return "[read R 7]"

        def _repr_html_(self):
            return '<svg role="img" aria-label="seven read"></svg>'

    asked = question(picture=lambda result: Drawn())
    monkeypatch.setattr(lessons, "prediction", lambda name: asked)
    assert "[read R 7]" not in repr(reveal("90-b")) + repr(predict("90-b"))
    predict("90-b", vote="A")
    panel = reveal("90-b")
    assert "[read R 7]" in repr(panel)
    assert 'aria-label="seven read"' in panel._repr_html_()


def test_a_picture_of_the_run_is_not_drawn_without_the_run(monkeypatch):
    asked = question(picture=lambda run: run["drawn"], read_result=lambda run: {})
    monkeypatch.setattr(lessons, "prediction", lambda name: asked)
    predict("90-b", vote="A")
    assert "Give `reveal` what the cell above ran" in repr(reveal("90-b"))
    assert "a strip" in repr(reveal("90-b", {"drawn": "a strip"}))


# --- the record


def test_the_record_survives_a_new_kernel(place):
    predict("90-a", vote="A", sure=True)
    code = "from ctxlab.checks import reveal; print(reveal('90-a'))"
    text = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        encoding="utf-8",
        cwd=place.parent.parent,
    ).stdout
    assert "First vote A (sure)." in text


@given(junk=st.binary(max_size=60))
def test_an_unreadable_record_is_moved_aside_and_kept_byte_by_byte(junk, tmp_path_factory):
    path = tmp_path_factory.mktemp("learner") / "record.json"
    path.write_bytes(junk)
    os.environ["CTXLAB_RECORD"] = str(path)
    told = repr(predict("90-a", vote="A"))
    del os.environ["CTXLAB_RECORD"]
    assert path.with_name("record.unreadable-1.json").read_bytes() == junk
    assert "record.unreadable-1.json" in told
    assert json.loads(path.read_text(encoding="utf-8"))["predictions"]["90-a"]["first"]["vote"] == "A"


@given(
    entry=st.fixed_dictionaries(
        {},
        optional={
            name: st.none() | st.sampled_from([True, "A", "exact", "revealed", "90-1"]) | answers_in_a_file
            for name in ("first", "second", "after_reveal", "state", "outcome", "rule", "of another version")
        },
    ),
    last=st.sampled_from(["", "90-a", "90", "47-a", "nothing", 3]),
)
def test_whatever_a_record_holds_no_call_ends_in_an_error(entry, last, tmp_path_factory):
    path = tmp_path_factory.mktemp("learner") / "record.json"
    tables = {"predictions": {"90-a": entry, "90-z": entry}, "exercises": {"90-1": entry, "90-z": entry}}
    path.write_text(json.dumps({"format": 1, "last": last, **tables}), encoding="utf-8")
    os.environ["CTXLAB_RECORD"] = str(path)
    for panel in (status(), predict("90-a", vote=...), reveal("90-a"), check("90-1", right), status("90")):
        assert panel.word
    del os.environ["CTXLAB_RECORD"]


@pytest.mark.parametrize(
    "shape",
    [
        {"format": 2},
        {"format": 1, "predictions": [], "exercises": {}},
        {"format": 1, "predictions": {"90-a": 3}, "exercises": {}},
        {"format": 1, "predictions": {"90-a": {"first": {"vote": "A"}}}, "exercises": {}},
        {
            "format": 1,
            "predictions": {"90-a": {"first": {"figures": {"total_tokens": "x"}}}},
            "exercises": {},
        },
    ],
)
def test_a_record_of_another_shape_is_kept_aside_too_and_never_twice_over(place, shape):
    place.parent.mkdir()
    for number in (1, 2):
        place.write_text(json.dumps(shape), encoding="utf-8")
        predict("90-a", vote="A")
        aside = place.with_name(f"record.unreadable-{number}.json")
        assert json.loads(aside.read_text(encoding="utf-8")) == shape


def test_a_readable_record_is_never_moved(place):
    predict("90-a", vote="A")
    predict("90-a", vote="B", second=True)
    check("90-1", len)
    assert [path.name for path in place.parent.iterdir()] == ["record.json"]


def test_a_write_that_fails_keeps_the_old_file_and_the_answers_in_memory(place, monkeypatch):
    predict("90-a", vote="A")
    before = place.read_bytes()

    def refuse(handle):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", refuse)
    told = repr(predict("90-a", vote="B", second=True))
    assert "answers last until the kernel stops" in " ".join(told.split())
    assert place.read_bytes() == before
    assert [path.name for path in place.parent.iterdir()] == ["record.json"]
    assert "second vote B" in repr(reveal("90-a"))


def test_a_file_that_is_busy_for_a_moment_is_written_all_the_same(place, monkeypatch):
    real, refused = Path.replace, []

    def busy_once(self, target):
        if not refused:
            refused.append(target)
            raise PermissionError("another notebook has it open")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", busy_once)
    assert "until the kernel stops" not in repr(predict("90-a", vote="A"))
    assert refused
    assert json.loads(place.read_text(encoding="utf-8"))["predictions"]["90-a"]["first"]["vote"] == "A"


def test_a_folder_that_was_removed_under_the_kernel_keeps_the_answers_in_memory(monkeypatch):
    def gone():
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    predict("90-a", vote="A")
    assert "First vote A" in repr(reveal("90-a"))


def test_a_record_in_memory_leaves_no_file(place, monkeypatch):
    monkeypatch.setenv("CTXLAB_RECORD", ":memory:")
    predict("90-a", vote="A")
    assert "First vote A" in repr(reveal("90-a"))
    assert not place.parent.exists()


# --- exercises


def right(turns, stable_tokens, added_tokens):
    return sum(stable_tokens + k * added_tokens for k in range(1, turns + 1))


def test_a_right_function_is_done():
    told = repr(check("90-1", right))
    assert "DONE" in told
    assert "✔ `sum-over-turns`" in told


def test_a_broken_rule_is_named_with_yours_beside_the_specification():
    def no_first_message(turns, stable_tokens, added_tokens):
        return sum(stable_tokens + k * added_tokens for k in range(turns))

    told = repr(check("90-1", no_first_message))
    assert "BROKEN RULE" in told
    assert "Rule `turn-one-has-a-message`:" in told
    assert "call: `total_input(1, 1000, 10)`" in told
    assert "yours: `1000`" in told
    assert "specification: `1010`" in told


def test_a_specification_is_shown_in_words_where_it_is_no_value(monkeypatch):
    cases = [Case("zero-is-refused", (0,), ValueError), Case("doubles", (2,), "key", spec="twice the `2`")]
    rules = {"zero-is-refused": "Zero is refused.", "doubles": "Doubles."}
    asked = Exercise("90-5", "Double", ("double",), rules, lambda rng: cases)
    monkeypatch.setattr(lessons, "exercise", lambda name: asked)
    assert "specification: raises `ValueError`" in repr(check("90-5", lambda number: 2 * number))

    def refuses(number):
        if not number:
            raise ValueError("zero")
        return 3 * number

    told = repr(check("90-5", refuses))
    assert "specification: twice the `2`" in told
    assert "key" not in told


def test_answers_known_by_heart_fail_on_hidden_cases_that_do_not_tell_what_was_expected():
    def by_heart(turns, stable_tokens, added_tokens):
        return {1: 1_010, 3: 3_060}.get(turns, 0)

    told = repr(check("90-1", by_heart))
    assert "Rule `sum-over-turns`:" in told
    assert "case: a long session" in told
    assert "specification" not in told


@pytest.mark.parametrize(
    "stub",
    [lambda *a: ..., lambda *a: None, lambda *a: (1, ...), ..., None],
    ids=["returns dots", "returns nothing", "returns a part", "dots", "none"],
)
def test_a_stub_is_not_yet(stub):
    assert "NOT YET" in repr(check("90-1", stub))
    assert record.load()["exercises"]["90-1"]["state"] == "not-yet"


def test_a_function_that_is_not_implemented_is_not_yet():
    def later(turns, stable_tokens, added_tokens):
        raise NotImplementedError

    assert "NOT YET" in repr(check("90-1", later))


@pytest.mark.parametrize("work", [(), (right, right), (1_010,)])
def test_a_check_of_the_wrong_things_says_what_it_takes(work):
    told = repr(check("90-1", *work))
    assert "NOT YET" in told
    assert "`total_input`" in told


def test_an_error_is_told_by_message_and_line_without_a_traceback():
    def divides(turns, stable_tokens, added_tokens):
        share = added_tokens
        return share / (turns - 1)

    told = repr(check("90-1", divides))
    assert "Rule `runs-without-error`" in told
    assert "Line 3 of `divides`, `return share / (turns - 1)`: ZeroDivisionError" in " ".join(told.split())
    assert "Traceback" not in told
    assert __file__ not in told


def test_a_function_that_takes_something_else_is_told_how_it_was_called():
    told = " ".join(repr(check("90-1", lambda turns: turns)).split())
    assert "`total_input` could not be called" in told
    assert "total_input(1, 1000, 10)" in told


class Divides:
    def __call__(self, *_):
        return 1 / 0


def looks_up(*_):
    return {}["turns"]


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (Divides(), "Line 2 of `__call__`, `return 1 / 0`: ZeroDivisionError"),
        (partial(looks_up), "Line 2 of `looks_up`"),
        (cache(looks_up), "Line 2 of `looks_up`"),
        (partial(cache(looks_up), 1), "Line 2 of `looks_up`"),
        (Divides, "`total_input` could not be called with TypeError"),
        (partial(right, 1, 2), "`total_input` could not be called with TypeError"),
    ],
)
def test_an_error_inside_whatever_can_be_called_is_told_by_its_line(function, told):
    assert told in " ".join(repr(check("90-1", function)).split())


def test_a_function_that_recurses_for_ever_is_an_error_not_a_crash():
    def deeper(turns, stable_tokens, added_tokens):
        return deeper(turns, stable_tokens, added_tokens)

    assert "RecursionError" in repr(check("90-1", deeper))


def loops(*_):
    count = 0
    while count >= 0:
        try:
            count += 1
        except Exception:
            count = -1


def test_a_function_that_never_comes_back_is_stopped_and_its_line_is_named(monkeypatch):
    monkeypatch.setattr(deadline, "LIMIT_S", 0.1)
    told = " ".join(repr(check("90-1", loops)).split())
    assert "BROKEN RULE" in told
    assert "of `loops`" in told
    assert "still running after 0.1 seconds" in told


def test_into_a_function_that_comes_back_nothing_is_raised(monkeypatch):
    sent = []
    monkeypatch.setattr(deadline._Watch, "_raise", lambda self, error: sent.append(error))
    assert check("90-1", right).word == "DONE"
    assert sent == []


def test_somebody_who_steps_through_the_code_has_all_the_time(monkeypatch):
    monkeypatch.setattr(deadline, "LIMIT_S", 0.0)
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert check("90-1", right).word == "DONE"


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def raises_a_mute_error(*_):
    raise Mute


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda *_: [Equal()], "yours: `[<"),
        (lambda *_: 10**5_000, "yours: `<int>`"),
        (lambda *_: (Equal(), ...), "returns nothing yet"),
        (raises_a_mute_error, "`raise Mute`: Mute."),
    ],
)
def test_whatever_a_function_gives_the_verdict_is_a_panel(function, told):
    assert told in " ".join(repr(check("90-1", function)).split())


def test_a_picture_that_cannot_be_drawn_leaves_the_verdict(monkeypatch):
    def draw(case, got):
        raise ZeroDivisionError

    task = replace(lessons.exercise("90-1"), draw=draw)
    monkeypatch.setattr(lessons, "exercise", lambda name: task)
    assert "BROKEN RULE" in repr(check("90-1", len))


def test_a_rule_kept_once_stays_done_and_the_last_broken_rule_is_still_listed():
    check("90-1", right)
    check("90-1", lambda *a: 5)
    assert record.load()["exercises"]["90-1"] == {"state": "done", "rule": "turn-one-has-a-message"}


APPENDS = Exercise(
    id="90-3",
    title="Append",
    asks=("extended", "last"),
    rules={"new-at-the-end": "New messages go to the end."},
    cases=lambda rng: [
        Case("new-at-the-end", (["a"], "b"), ["a", "b"]),
        Case("new-at-the-end", (["a", "b"],), "b", asks="last", kwargs={"default": None}),
    ],
)


def test_an_input_that_was_changed_breaks_a_rule_of_its_own():
    def mutating(messages, new):
        messages.append(new)
        return messages

    verdict = exercises.judge(APPENDS, (mutating, lambda messages, default: messages[-1]))
    assert (verdict.state, verdict.rule) == ("stuck", "do-not-mutate")


def test_several_functions_are_judged_each_by_its_own_cases():
    def good(messages, new):
        return [*messages, new]

    assert exercises.judge(APPENDS, (good, lambda messages, default: messages[-1])).state == "done"
    verdict = exercises.judge(APPENDS, (good, lambda messages, default: messages[0]))
    assert (verdict.state, verdict.rule, verdict.got) == ("stuck", "new-at-the-end", "a")
    assert exercises.judge(APPENDS, (good, lambda messages, default: ...)).state == "not-yet"


def test_a_case_made_for_a_rule_nobody_wrote_is_the_authors_error():
    odd = Exercise("90-4", "Odd", ("f",), {"a": "A."}, lambda rng: [Case("b", (), 1)])
    with pytest.raises(InvalidArgumentError, match="known-names"):
        exercises.judge(odd, (lambda: 1,))


def test_a_table_of_answers_needs_no_programming():
    right_answers = {"system prompt": "yes", "a note that was never sent": "no"}
    assert "1 of 2 answers is blank" in repr(check("90-2", {**right_answers, "system prompt": ...}))
    assert "Nothing asks for 'tools'" in repr(check("90-2", {**right_answers, "tools": "yes"}))
    assert "NOT YET" in repr(check("90-2", "yes"))
    told = repr(check("90-2", {**right_answers, "system prompt": "no"}))
    assert "asked: `'system prompt'`" in told
    assert "specification" not in told
    assert "DONE" in repr(check("90-2", right_answers))


def test_what_a_check_has_shown_is_not_enough_to_know_by_heart(monkeypatch):
    def cases(rng):
        first = rng.randint(1_000, 9_000)
        return [Case("sum-over-turns", (1, first, 10), first + 10, label="a single turn")]

    task = replace(lessons.exercise("90-1"), cases=cases)
    monkeypatch.setattr(lessons, "exercise", lambda name: task)
    (shown,) = cases(random.Random("90-1/0"))
    by_heart = {shown.args: shown.expected}
    told = repr(check("90-1", lambda *args: by_heart.get(args)))
    assert "BROKEN RULE" in told
    assert "a single turn" in told
    assert "specification" not in told
    assert check("90-1", right).word == "DONE"


def test_the_cases_are_the_same_in_every_run_and_others_for_another_seed():
    cases = lessons.exercise("90-1").cases
    one, again, other = (cases(random.Random(f"90-1/{seed}")) for seed in (0, 0, 1))
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    ("got", "expected", "agree"),
    [
        (0.1 + 0.2, 0.3, True),
        (Fraction(1, 3), 1 / 3, True),
        (Decimal("0.3"), Fraction(3, 10), True),
        (1, True, False),
        (True, 1, False),
        ((1, 2), [1, 2], True),
        ([1], [1, 2], False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ("1", 1, False),
        (float("nan"), 1, False),
    ],
)
def test_values_agree_by_what_they_mean(got, expected, agree):
    assert exercises.same(got, expected) is agree


def test_within_compares_dollars_loosely_and_true_never():
    assert within(0.01)(1.005, 1)
    assert not within(0.01)(1.02, 1)
    assert not within(0.01)(True, 1)


# --- status


def test_status_is_one_large_word():
    assert "Nothing is committed" in status_text()
    predict("90-a", vote="B")
    assert "○ N O T   Y E T · lesson 90" in repr(status()).splitlines()
    check("90-1", len)
    assert "▲ S T U C K   A T   9 0 - 1 · lesson 90" in repr(status()).splitlines()
    assert "▲</span> STUCK AT 90-1" in status()._repr_html_()
    check("90-1", right)
    places = []
    for name in ("90-a", "90-exit"):
        predict(name, **reference(name))
        reveal(name)
        places.append(repr(status(90)).splitlines()[1])
    assert places == ["◐ A T   9 0 - e x i t · lesson 90", "● D O N E · lesson 90"]


def test_status_says_where_somebody_is_once_they_have_begun():
    predict("90-a", vote="B")
    assert status("90").word == "NOT YET"
    reveal("90-a")
    assert status("90").word == "AT 90-1"  # an exercise of the lesson comes before its exit


def test_rules_to_look_at_again_begin_with_sure_but_wrong_and_leave_out_what_is_known():
    predict("90-exit", vote="A", sure=True)
    predict("90-a", vote="C", sure=False)
    for name in ("90-a", "90-exit"):
        reveal(name)
    text = " ".join(status_text("90").split())
    assert text.index("(90-exit, sure, but wrong)") < text.index("(90-a, wrong)")


def test_a_wrong_sum_by_the_right_rule_is_never_called_wrong():
    predict("90-a", vote="B", total_tokens=SUM + 1, sure=True)
    predict("90-exit", vote="A", sure=False)
    for name in ("90-a", "90-exit"):
        reveal(name)
    text = " ".join(status_text("90").split())
    assert text.index("(90-exit, wrong)") < text.index("(90-a, right rule, wrong sum)")
    assert "sure, but wrong" not in text


def test_a_right_vote_without_figures_is_not_told_of_a_sum():
    predict("90-a", vote="B", sure=True)
    assert "WRONG SUM" not in repr(reveal("90-a"))
    assert "(90-a, right rule, no sum)" in " ".join(status_text("90").split())


def test_a_right_and_sure_answer_leaves_nothing_to_look_at_but_a_right_guess_does():
    predict("90-a", **reference("90-a"))
    reveal("90-a")
    assert "look at again" not in status_text("90")
    predict("90-exit", **{**reference("90-exit"), "sure": False})
    reveal("90-exit")
    assert "(90-exit, right, but not sure)" in " ".join(status_text("90").split())


# --- panels


def panels() -> list[Panel]:
    hostile = '<script>alert("x")</script>'
    row = ("a very long label " * 6, "24,691,034 tokens", "1", "✘")
    wide = Table(("figure", "yours", "true", "agrees"), (row,))
    told = [
        predict("90-a", vote=hostile),
        predict("90-a", total_tokens=hostile),
        check("90-2", {hostile: "yes"}),
        Panel("●", "DONE", hostile, (Line(hostile), Listing((hostile,)), wide, Picture(hostile))),
    ]
    predict("90-a", vote="B", total_tokens=SUM)
    return [*told, reveal("90-a", RUN), status("90")]


class Markup(HTMLParser):
    """Notes tags and attributes, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_panels_fit_eighty_columns():
    for panel in panels():
        assert max(map(len, repr(panel).splitlines())) <= 80


def test_panels_are_announced_escaped_and_the_same_in_every_run():
    for panel in panels():
        markup = Markup(panel._repr_html_())
        assert markup.open == []
        assert "script" not in markup.tags
        assert markup.attributes[0] == ("role", "status")
        assert "id" not in dict(markup.attributes)
        assert "0x" not in repr(panel)


def test_no_panel_sets_a_colour_so_that_every_theme_keeps_its_contrast():
    for panel in panels():
        found = Markup(panel._repr_html_()).attributes
        styles = " ".join(value or "" for name, value in found if name == "style")
        assert "background" not in styles
        assert "color" not in styles.replace("currentColor", "")


# --- quantities


@given(figures_to_commit)
def test_a_number_is_read_as_it_was_written(value):
    assert exact(str(value)) == exact(value)
    assert exact(float(value)) == exact(repr(float(value)))


@given(figures_to_commit, st.sampled_from([Fraction(1, 100), Fraction(1, 10)]))
def test_the_shortest_way_to_write_a_truth_is_accepted(value, tolerance):
    assert agrees(exact(written(value, tolerance)), value, tolerance)


@given(figures_to_commit, figures_to_commit)
def test_a_range_is_written_as_a_figure_inside_it(one, other):
    low, high = sorted((exact(one), exact(other)))
    if low < high:
        assert Between(low, high).holds(exact(written(Between(low, high), Fraction(0))))


def test_a_truth_that_never_ends_asks_for_a_tolerance():
    with pytest.raises(ValueError, match="give its field a tolerance"):
        written(Fraction(1, 3), Fraction(0))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (24_691_034, "tokens", "24,691,034 tokens"),
        (Fraction(1337, 100), "usd", "$13.37"),
        (0.0056, "usd", "$0.0056"),
        (-2.5, "usd", "-$2.50"),
        (0, "usd", "$0"),
        (Fraction(1, 3), "%", "0.3333 %"),
        (Between(2.2, 3), "×", "2.2 to 3 ×"),
        (1000.0, "", "1,000"),
    ],
)
def test_figures_are_shown_with_their_unit(value, unit, text):
    assert shown(value, unit) == text


# --- words


def test_a_table_of_words_that_is_not_whole_is_refused_with_its_place(tmp_path, monkeypatch):
    monkeypatch.setenv("CTXLAB_LESSONS", str(tmp_path))
    idea = {"id": "x", "lesson": "90", "says": "s", "predicts": "p", "rule": "r", "refuted_by": "hearsay"}
    lines = "\n".join(f'{name} = "{value}"' for name, value in idea.items())
    broken = {
        "glossary.toml": ['[[term]]\nname = "a"', '[[term]]\nname = 3\nlesson = "90"\nsays = "b"', "["],
        "misconceptions.toml": [f"[[misconception]]\n{lines}", "[[idea]]"],
    }
    read = {"glossary.toml": words.glossary, "misconceptions.toml": words.misconceptions}
    for file, texts in broken.items():
        for text in texts:
            (tmp_path / file).write_text(text, encoding="utf-8")
            words._glossary.cache_clear()
            words._misconceptions.cache_clear()
            with pytest.raises(CtxlabError, match=file):
                read[file]()
            (tmp_path / file).unlink()


def test_a_word_entered_twice_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CTXLAB_LESSONS", str(tmp_path))
    first = next(iter(words._glossary("").values()))
    (tmp_path / "glossary.toml").write_text(
        f'[[term]]\nname = "{first.name.upper()}"\nlesson = "90"\nsays = "again"\n', encoding="utf-8"
    )
    with pytest.raises(CtxlabError, match="occurs twice"):
        words.glossary()


def test_checks_load_nothing_beyond_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import ctxlab.checks; "
        "names = {name.partition('.')[0] for name in set(sys.modules) - before} - {'ctxlab'}; "
        "print(sorted(name for name in names if name not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")
    assert done.stdout.strip() == "[]"
