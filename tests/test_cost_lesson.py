"""What notebook 01 shows and how it judges, beyond what every lesson promises."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ctxlab import places, recordings
from ctxlab.checks import exercises, lesson_01, lessons


def judged(number: str, *work: Any, seed: int = 0) -> exercises.Verdict:
    return exercises.judge(lessons.exercise(number), work, seed=seed)


def reference(number: str, name: str) -> Any:
    space: dict[str, Any] = {}
    path = places.notebooks_path() / "solutions" / f"{number}.py"
    exec(path.read_text(encoding="utf-8"), space)
    return space[name]


# --- what it shows


def test_the_integral_can_be_drawn_of_every_recorded_session():
    sums = {one.name: sum(lesson_01._totals(one.name)) for one in recordings.sessions()}
    assert any(len(stretch) == 1 for name in sums for stretch in stretches(name))
    for one in recordings.sessions():
        assert f"{sums[one.name]:,}" in lesson_01.integral_of(one)._repr_html_()


def stretches(name: str) -> list[range]:
    return lesson_01.cost.stretches(lesson_01._totals(name))


def test_no_recorded_stretch_doubles_to_four_times_its_tokens():
    factors = [lesson_01._doubled(totals) for _, _, totals in lesson_01._growing()]
    assert len(factors) >= 24
    assert all(2 < factor < 4 for factor in factors)


def test_a_row_of_the_doubling_table_can_be_found_again_in_the_session():
    for line in lesson_01.doublings().text.splitlines()[2:]:
        name, turns, *_, factor = (cell.strip() for cell in line.split("|"))
        first, last = map(int, turns.split("–"))
        totals = lesson_01._totals(name)[first - 1 : last]
        half = len(totals) // 2
        assert factor == f"{sum(totals[: 2 * half]) / sum(totals[:half]):.2f}"


def test_the_curve_names_the_two_prices_and_where_the_control_stands():
    assert ["here" in repr(lesson_01.task_curve(turns)) for turns in (12, 13, 40)] == [False, True, False]
    assert re.search(r"\$0\.40: \$0\.39 at 12 turns\n.*\$4: \$4\.10 at 40", repr(lesson_01.task_curve(40)))


def test_nothing_before_the_first_reveal_says_that_the_answer_is_not_four():
    path = places.notebooks_path() / "source" / "01-cost-model.py"
    shown, predicted, _ = path.read_text(encoding="utf-8").partition('after("01-a"')
    assert predicted
    assert not re.search(r"not four|never 4|is the limit|\*\*Why", shown)


# --- how it judges


@pytest.mark.parametrize("give", [list, tuple, iter, lambda rows: {row["id"]: row for row in rows}.values()])
def test_rows_may_come_in_any_container(give: Callable[[list[Any]], Any]):
    fold = reference("01-3", "fold")
    assert judged("01-3", lambda rows: give(fold(rows))).state == "done"


def test_a_mapping_of_rows_is_no_list_of_rows():
    fold = reference("01-3", "fold")
    assert judged("01-3", lambda rows: {row["id"]: row for row in fold(rows)}).state == "stuck"


def test_a_prompt_that_is_cached_as_a_whole_is_no_error():
    size, writes = (reference("01-2", name) for name in ("total_input_tokens", "writes_usd"))

    def refuses_too_much(prompt, cached, output, in_rate, cached_rate, out_rate):
        if cached >= prompt:
            raise ValueError
        return ((prompt - cached) * in_rate + cached * cached_rate + output * out_rate) / 1_000_000

    verdict = judged("01-2", size, refuses_too_much, writes)
    assert (verdict.state, verdict.rule) == ("stuck", exercises.RUNS)
    assert verdict.case is not None
    assert verdict.case.label == "all of the prompt is cached"


@pytest.mark.parametrize("seed", range(5))
def test_half_a_product_rounded_too_early_is_noticed_whatever_the_seed(seed: int):
    verdict = judged(
        "01-1",
        lambda turns, stable, added: turns * stable + added * turns // 2 * (turns - 1),
        seed=seed,
    )
    assert verdict.rule == "turn-one-has-no-history"


@pytest.mark.parametrize("digits", [2, 6])
def test_a_fit_may_be_rounded_to_hundredths_of_a_token(digits: int):
    growth = reference("01-4", "growth")
    assert judged("01-4", lambda totals: [round(one, digits) for one in growth(totals)]).state == "done"


def test_a_fit_rounded_to_tens_of_tokens_is_not_the_fit():
    growth = reference("01-4", "growth")
    assert judged("01-4", lambda totals: [round(one, -1) for one in growth(totals)]).state == "stuck"


def test_the_rate_card_takes_the_exact_price_and_the_price_in_short():
    exact = reference("01-5", "haiku_usd")
    assert judged("01-5", exact).state == "done"
    assert judged("01-5", {key: round(value, 4) for key, value in exact.items()}).state == "done"
    assert judged("01-5", {key: f"${value}" for key, value in exact.items()}).state == "done"
    assert judged("01-5", {key: round(value, 2) for key, value in exact.items()}).state == "stuck"
