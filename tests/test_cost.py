"""Promises of ctxlab.cost: exact money, one card per request, laws and searches that agree."""

from __future__ import annotations

import doctest
import math
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab import cost, recordings
from ctxlab.catalogue import get_model, models
from ctxlab.cost import bill
from ctxlab.errors import InvalidArgumentError, InvalidUsageError, UnknownModelError, UnpricedModelError
from ctxlab.usage import CacheCreation, Iteration, Usage
from tests.strategies import multipliers, usages

PRICED = [model for model in models() if model.rates]
FLAT = [model for model in PRICED if not model.tiered]


WINDOWS = [model for model in PRICED if model.window_tokens is not None]


def fresh(tokens: int, output: int = 0) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=output)


@pytest.mark.parametrize("part", ["arguments", "break_even", "growth", "money", "pricing", "sessions"])
def test_the_examples_in_the_docstrings_hold(part: str) -> None:
    module = __import__(f"ctxlab.cost.{part}", fromlist=["_"])
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)


# --- check values

# Ten calls, a prefix of 100,000 tokens, 1,000 fresh and 500 output each: without a cache, and written once
# and read nine times. Worked by hand from the price list of platform.claude.com, 2026-10.
TEN_CALLS = {
    "claude-opus-5-5": ("4.1400", "0.8200"),
    "claude-sonnet-5-5": ("2.0700", "0.4100"),
    "claude-opus-4-8": ("5.1750", "1.2500"),
    "claude-haiku-4-5": ("1.0350", "0.2500"),
    "claude-fable-5-1": ("10.3500", "1.8250"),
    "claude-haiku-5-5": ("0.5175", "0.1250"),
}


@pytest.mark.parametrize("model", TEN_CALLS)
def test_ten_calls_on_one_prefix_cost_what_was_worked_out(model: str) -> None:
    uncached, cached = map(Decimal, TEN_CALLS[model])
    write = Usage(input_tokens=1_000, output_tokens=500, cache_creation=CacheCreation(100_000))
    read = Usage(input_tokens=1_000, output_tokens=500, cache_read_input_tokens=100_000)
    assert uncached == sum(bill(fresh(101_000, 500), model) for _ in range(10)).total_usd
    assert cached == (bill(write, model) + sum(bill(read, model) for _ in range(9))).total_usd


def test_a_compaction_costs_what_the_top_level_hides() -> None:
    """Documented example, platform.claude.com compaction page, 2026-08: 0.902 and not 0.112."""
    top = {"input_tokens": 23_000, "output_tokens": 1_000}
    rest = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    summary = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500, **rest}
    both = bill({**top, "iterations": [summary, {"type": "message", **top, **rest}]}, "claude-opus-5-5")
    assert Decimal("0.902") == both.total_usd
    assert both.by_iteration() == {"compaction": Decimal("0.79"), "message": Decimal("0.112")}
    assert Decimal("0.112") == bill(top, "claude-opus-5-5").total_usd


@pytest.mark.parametrize(("turns", "tokens", "usd"), [(12, 78_000, "0.39"), (40, 820_000, "4.10")])
def test_two_points_on_one_curve(turns: int, tokens: int, usd: str) -> None:
    """1,000 tokens a turn, nothing stable, 5 USD per million: forty cents and four dollars are one law."""
    assert tokens == cost.history_input_tokens(turns, 0, 1_000)
    session = cost.what_if(cost.growing_session(turns, 0, 1_000), "claude-opus-4-8", "no-cache")
    assert Decimal(usd) == session.total_usd


def test_one_more_token_moves_the_whole_request_to_the_other_card() -> None:
    assert Decimal("0.0100") == bill(fresh(100_000), "claude-haiku-5-5").total_usd
    assert Decimal("0.0500005") == bill(fresh(100_001), "claude-haiku-5-5").total_usd
    low = bill(Usage(cache_read_input_tokens=100_000, output_tokens=1_000), "claude-haiku-5-5")
    high = bill(
        Usage(cache_read_input_tokens=100_000, input_tokens=1, output_tokens=1_000), "claude-haiku-5-5"
    )
    assert Decimal("0.0005") == low.output_usd
    assert Decimal("0.0025") == high.output_usd


# --- the bill


def test_each_line_says_label_step_tokens_rate_and_amount() -> None:
    usage = Usage(
        input_tokens=1,
        cache_read_input_tokens=20,
        cache_creation=CacheCreation(300, 4_000, 50_000),
        output_tokens=600_000,
    )
    lines = bill(usage, "claude-opus-4-8").lines
    assert [(line.label, line.tokens, line.usd_per_mtok, line.usd) for line in lines] == [
        ("input", 1, Decimal(5), Decimal("0.000005")),
        ("cache read", 20, Decimal("0.5"), Decimal("0.00001")),
        ("cache write 5m", 300, Decimal("6.25"), Decimal("0.001875")),
        ("cache write 1h", 4_000, Decimal(10), Decimal("0.04")),
        ("cache write, lifetime unknown", 50_000, Decimal("6.25"), Decimal("0.3125")),
        ("output", 600_000, Decimal(25), Decimal(15)),
    ]
    assert {line.iteration_type for line in lines} == {"message"}


@given(usages(), st.sampled_from(PRICED))
def test_the_total_is_the_sum_of_the_lines_and_the_searches(usage: Usage, model: object) -> None:
    total = bill(usage, model)  # type: ignore[arg-type]
    assert total.total_usd == sum((line.usd for line in total.lines), total.web_search_usd)
    assert total.total_usd == total.input_usd + total.output_usd + total.web_search_usd
    assert sum(line.tokens for line in total.lines) == usage.billed_input_tokens + usage.billed_output_tokens


@given(st.lists(usages(), max_size=5), st.sampled_from(FLAT))
def test_a_flat_price_does_not_care_whether_usages_or_bills_are_added(
    parts: list[Usage], model: object
) -> None:
    added_bills = sum((bill(part, model) for part in parts), cost.Bill())  # type: ignore[arg-type]
    of_the_sum = bill(sum(parts, Usage.zero()), model)  # type: ignore[arg-type]
    assert added_bills.total_usd == of_the_sum.total_usd
    assert added_bills.range_usd == of_the_sum.range_usd
    assert added_bills.requests == of_the_sum.requests
    # a sum of several no longer shows how large each prompt was
    assert added_bills.flags - {"above-window"} == of_the_sum.flags - {"above-window"}


def test_a_sum_of_requests_on_a_tiered_card_is_refused() -> None:
    with pytest.raises(InvalidUsageError, match="one-card-per-request") as caught:
        bill(fresh(60_000) + fresh(60_000), "claude-haiku-5-5")
    assert "add the bills" in caught.value.problems[0].fix
    one_by_one = bill(fresh(60_000), "claude-haiku-5-5") + bill(fresh(60_000), "claude-haiku-5-5")
    assert one_by_one.total_usd == Decimal("0.012")


def test_the_card_is_chosen_step_by_step() -> None:
    summary, answer = (
        Iteration(type="compaction", input_tokens=150_000),
        Iteration(type="message", input_tokens=900),
    )
    usage = Usage(input_tokens=900, iterations=(summary, answer))
    rates = {line.iteration_type: line.usd_per_mtok for line in bill(usage, "claude-haiku-5-5").lines}
    assert rates == {"compaction": Decimal("0.5"), "message": Decimal("0.1")}


def test_an_advisor_is_billed_at_its_own_price() -> None:
    steps = (
        Iteration(type="message", input_tokens=1_000_000),
        Iteration(type="advisor_message", model="claude-opus-4-8", input_tokens=1_000_000),
    )
    total = bill(Usage(input_tokens=1_000_000, iterations=steps), "claude-sonnet-5")
    assert total.by_iteration() == {"message": Decimal(2), "advisor_message": Decimal(5)}
    with pytest.raises(UnknownModelError, match=r"usage\.iterations\[1\]\.model"):
        bill(
            Usage(iterations=(steps[0], Iteration(type="advisor_message", model="claude-new-9"))),
            "claude-sonnet-5",
        )


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_unknown_lifetimes_give_both_bounds(known_tokens: int, unknown_tokens: int) -> None:
    usage = Usage(cache_creation=CacheCreation(known_tokens, 0, unknown_tokens))
    estimate = bill(usage, "claude-opus-4-8")
    short = bill(Usage(cache_creation=CacheCreation(known_tokens + unknown_tokens)), "claude-opus-4-8")
    long = bill(Usage(cache_creation=CacheCreation(known_tokens, unknown_tokens)), "claude-opus-4-8")
    assert estimate.range_usd == (short.total_usd, long.total_usd) == estimate.input_range_usd
    assert estimate.total_usd == short.total_usd
    assert estimate.estimate
    assert "write-ttl-unknown" in estimate.flags


def test_known_lifetimes_are_no_estimate() -> None:
    certain = bill(Usage(cache_creation=CacheCreation(5, 5)), "claude-opus-4-8")
    assert certain.range_usd == (certain.total_usd, certain.total_usd)
    assert not certain.estimate
    assert certain.flags == frozenset()


def test_batch_halves_everything_and_region_adds_a_tenth() -> None:
    usage = Usage(
        input_tokens=7, cache_read_input_tokens=9, cache_creation=CacheCreation(11, 13), output_tokens=17
    )
    plain = bill(usage, "claude-opus-4-8").total_usd
    assert bill(usage, "claude-opus-4-8", batch=True).total_usd * 2 == plain
    assert bill(usage, "claude-opus-4-8", inference_geo="us").total_usd == plain * Decimal("1.1")
    both = bill(usage, "claude-opus-4-8", batch=True, inference_geo="us")
    assert both.total_usd * 2 == plain * Decimal("1.1")


def test_fast_mode_has_its_own_card() -> None:
    assert bill(fresh(10**6, 10**6), "claude-opus-5", speed="fast").total_usd == Decimal(60)


def test_options_are_read_from_the_usage_where_they_are_not_given() -> None:
    figures = {"input_tokens": 10**6, "output_tokens": 0}
    assert bill({**figures, "service_tier": "batch"}, "claude-opus-5").total_usd == Decimal("2.5")
    assert bill({**figures, "inference_geo": "us"}, "claude-opus-5").total_usd == Decimal("5.5")
    assert bill({**figures, "speed": "fast"}, "claude-opus-5").total_usd == Decimal(10)
    assert bill({**figures, "inference_geo": "not_available"}, "claude-opus-5").flags == frozenset()
    assert bill({**figures, "inference_geo": "mars"}, "claude-opus-5").flags == {"region-unknown"}
    assert bill({**figures, "service_tier": "priority"}, "claude-opus-5").flags == {"priority-tier"}


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("claude-opus-5", {"batch": True, "speed": "fast"}),
        ("claude-sonnet-5", {"speed": "fast"}),
        ("claude-opus-5", {"speed": "ludicrous"}),
        ("claude-opus-4-5", {"inference_geo": "us"}),
        ("claude-opus-5", {"inference_geo": "mars"}),
        ("claude-opus-5", {"inference_geo": "US"}),
        ("claude-opus-5", {"batch": "no"}),
        ("claude-opus-5", {"batch": 1}),
    ],
)
def test_options_that_do_not_exist_or_exclude_each_other_are_refused(
    model: str, options: dict[str, object]
) -> None:
    with pytest.raises(InvalidArgumentError):
        bill(fresh(1), model, **options)  # type: ignore[arg-type]


# What a usage tells has happened, whatever the price list says: it has no known price.
OPTIONS_WITHOUT_A_PRICE = [
    ("claude-opus-4-6", {"speed": "fast"}),
    ("claude-opus-5", {"speed": "turbo"}),
    ("claude-opus-5", {"speed": "fast", "service_tier": "batch"}),
    ("claude-haiku-4-5", {"inference_geo": "us"}),
]


@pytest.mark.parametrize(("model", "told"), OPTIONS_WITHOUT_A_PRICE)
def test_a_request_with_an_option_of_no_known_price_is_unpriced(model: str, told: dict[str, str]) -> None:
    usage = Usage(input_tokens=1_000_000, **told)  # type: ignore[arg-type]
    with pytest.raises(UnpricedModelError, match=r"usage\.(speed|inference_geo).*priced-option"):
        bill(usage, model)
    session = cost.bill_session([cost.Call(model, usage), cost.Call("claude-opus-5", fresh(1_000_000))])
    assert session.total_usd == 5
    (missing,) = session.unpriced
    assert (missing.model, missing.reason) == (model, "no price for its speed or region")


def test_an_argument_overrules_the_option_that_has_no_price() -> None:
    usage = Usage(input_tokens=1_000_000, speed="fast", inference_geo="us")
    total = bill(usage, "claude-haiku-4-5", speed="standard", inference_geo="global").total_usd
    assert total == 1


def test_a_tier_nobody_knows_is_priced_as_standard_and_flagged() -> None:
    assert bill(Usage(service_tier="flex"), "claude-opus-5").flags == {"tier-unknown"}
    assert bill(Usage(service_tier="standard"), "claude-opus-5").flags == set()


def test_steps_on_different_cards_are_flagged_and_steps_on_one_are_not() -> None:
    def summed_up(*sizes: int) -> frozenset[str]:
        steps = tuple(Iteration(type="message", input_tokens=size) for size in sizes)
        return bill(Usage(iterations=steps), "claude-haiku-5-5").flags

    assert summed_up(100_001, 100_000) == {"card-per-step"}
    assert summed_up(60_000, 60_000) == summed_up(100_001, 200_000) == set()


def test_a_card_chosen_by_the_sum_of_a_loop_is_flagged() -> None:
    def searched(tokens: int) -> frozenset[str]:
        usage = {"input_tokens": tokens, "output_tokens": 1, "server_tool_use": {"web_search_requests": 2}}
        return bill(usage, "claude-haiku-5-5").flags

    assert "card-of-a-sum" in searched(100_001)
    assert "card-of-a-sum" not in searched(100_000)
    assert "card-of-a-sum" not in bill(fresh(100_001), "claude-haiku-5-5").flags


def test_a_sum_over_unlike_options_has_no_price() -> None:
    mixed = Usage(speed="fast") + Usage(speed="standard")
    with pytest.raises(InvalidUsageError, match="one-price"):
        bill(mixed, "claude-opus-5")


def test_the_day_decides_which_price_holds() -> None:
    read = Usage(cache_read_input_tokens=10**6)
    assert bill(read, "claude-sonnet-5-5", on=date(2026, 10, 6)).total_usd == Decimal("0.2")
    assert bill(read, "claude-sonnet-5-5", on=date(2026, 10, 7)).total_usd == Decimal("0.1")


def test_a_price_without_an_official_source_shows_on_the_bill() -> None:
    assert "rates-unverified" in bill(fresh(1), "claude-fable-5-2").flags
    assert "rates-unverified" in bill(fresh(1), "claude-opus-5-5", speed="fast").flags
    assert "rates-unverified" not in bill(fresh(1), "claude-opus-5-5").flags


def test_doubts_about_the_usage_stay_on_its_bill() -> None:
    assert bill(Usage(flags=frozenset({"stream-cut"})), "claude-opus-5").flags == {"stream-cut"}


@pytest.mark.parametrize("model", WINDOWS, ids=lambda model: model.id)
def test_a_prompt_that_no_window_holds_is_flagged_and_still_priced(model) -> None:
    above = Usage(cache_read_input_tokens=model.window_tokens, input_tokens=1)
    assert "above-window" in bill(above, model).flags
    assert bill(above, model).total_usd > 0
    assert "above-window" in cost.FLAGS
    step = Iteration(type="message", input_tokens=model.window_tokens + 1)
    assert "above-window" in bill(Usage(iterations=(step,), web_search_requests=1), model).flags


@pytest.mark.parametrize("model", PRICED, ids=lambda model: model.id)
def test_a_prompt_that_fits_a_sum_and_an_unknown_window_are_not_flagged(model) -> None:
    window = model.window_tokens or 10**9
    quiet = [fresh(window, output=9)]
    searched = {"web_search_requests": 2}
    quiet += [Usage(input_tokens=window + 1, web_search_requests=2)]
    quiet += [
        Usage.from_response({"input_tokens": window + 1, "output_tokens": 1, "server_tool_use": searched})
    ]
    if not model.tiered:
        quiet += [fresh(window) + fresh(window)]
    for usage in quiet:
        assert "above-window" not in bill(usage, model).flags


def test_no_recorded_request_is_above_its_window() -> None:
    billed = 0
    for session in recordings.sessions():
        for turn in session.turns:
            if turn.usage is None:
                continue
            try:
                flags = bill(turn.usage, turn.model_id).flags
            except (UnknownModelError, UnpricedModelError):
                continue
            assert "above-window" not in flags, (session.name, turn)
            billed += 1
    assert billed


def test_searches_are_billed_beside_the_tokens() -> None:
    searched = bill(Usage(input_tokens=10**6, web_search_requests=3), "claude-opus-5")
    assert (searched.web_search_usd, searched.total_usd) == (Decimal("0.03"), Decimal("5.03"))


def test_an_unpriced_or_unknown_model_has_no_bill() -> None:
    with pytest.raises(UnpricedModelError):
        bill(fresh(1), "claude-2.1")
    with pytest.raises(UnknownModelError):
        bill(fresh(1), "claude-new-9")


def test_nothing_sent_costs_nothing_and_is_priced() -> None:
    nothing = bill(Usage.zero(), "claude-opus-5")
    assert (nothing.total_usd, nothing.lines, nothing.requests) == (0, (), 0)


def test_a_bill_reads_as_text() -> None:
    text = str(bill(Usage(cache_creation=CacheCreation(0, 0, 10**6)), "claude-opus-4-8"))
    assert "cache write, lifetime unknown" in text
    assert text.endswith("total for 1 request(s): 6.25 USD (up to 10 USD)")


@given(st.integers(-(10**40), 10**40), st.integers(0, 30), st.integers(0, 30))
def test_money_comes_out_digit_for_digit(numerator: int, twos: int, fives: int) -> None:
    """Decimal would round to 28 digits on its own."""
    amount = Fraction(numerator, 2**twos * 5**fives)
    assert Fraction(cost.exact_decimal(amount)) == amount


def test_money_that_has_no_finite_decimal_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="finite-decimal"):
        cost.exact_decimal(Fraction(1, 3))


@pytest.mark.parametrize("amount", [0.1, math.nan, "1/8", None])
def test_money_that_is_not_exact_is_refused(amount: object) -> None:
    with pytest.raises(InvalidArgumentError, match="exact"):
        cost.exact_decimal(amount)  # type: ignore[arg-type]


# --- sessions


@pytest.mark.parametrize("calls", [None, 5, "calls", [("claude-opus-5", fresh(1))], [None]])
def test_what_is_no_list_of_calls_is_refused(calls: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^calls(\[0\])?: is"):
        cost.bill_session(calls)  # type: ignore[arg-type]


def test_the_call_that_cannot_be_billed_is_numbered() -> None:
    with pytest.raises(InvalidUsageError, match=r"^calls\[1\]\.usage\.requests: .*one-card-per-request"):
        cost.bill_session(cost.Call("claude-haiku-5-5", usage) for usage in (fresh(1), fresh(1) + fresh(1)))


def test_a_call_may_hold_the_answer_itself_priced_or_not() -> None:
    answer = {"usage": {"input_tokens": 1_000_000, "output_tokens": 0}}
    session = cost.bill_session(cost.Call(name, answer) for name in ("claude-opus-5", "claude-new-9"))  # type: ignore[arg-type]
    assert session.total_usd == 5
    assert session.unpriced[0].usage.input_tokens == 1_000_000


def test_a_session_with_writes_of_unknown_lifetime_shows_both_ends() -> None:
    unknown = Usage(cache_creation=CacheCreation(unknown_ttl_input_tokens=1_000_000))
    told = str(cost.bill_session([cost.Call("claude-opus-5", unknown)]))
    assert told == "6.25 USD (up to 10 USD) for 1 request"
    assert str(cost.bill_session([cost.Call("claude-opus-5", fresh(1_000_000))])) == "5 USD for 1 request"


# --- the growth law


@given(st.integers(0, 300), st.integers(0, 10**6), st.integers(0, 10**5))
def test_the_closed_form_is_the_sum_of_the_turns(turns: int, prefix: int, added: int) -> None:
    by_turn = cost.history_input_tokens_by_turn(turns, prefix, added)
    assert sum(by_turn) == cost.history_input_tokens(turns, prefix, added)
    assert by_turn[:1] == [prefix + added][:turns]


@pytest.mark.parametrize("bad", [(-1, 0, 0), (1, -1, 0), (1, 0, -1), (True, 0, 0), (1.0, 0, 0), ("1", 0, 0)])
def test_a_law_of_impossible_numbers_is_refused(bad: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidArgumentError, match="non-negative-int"):
        cost.history_input_tokens(*bad)


@pytest.mark.parametrize("sizes", [None, 5, "abc", [1.0, 2.0], [1, None], [1, math.nan], [1, -5], [1, True]])
def test_sizes_that_are_no_counts_are_refused(sizes: object) -> None:
    for law in (cost.fit_growth, cost.rewrite_turns, cost.stretches):
        with pytest.raises(InvalidArgumentError, match=r"^total_input_tokens(\[\d\])?: is"):
            law(sizes)  # type: ignore[operator]


def test_counts_of_numpy_are_added_without_overflow() -> None:
    sizes = numpy.arange(300_000, 800_000, 1_000, dtype=numpy.int32)
    assert cost.fit_growth(sizes) == cost.fit_growth([int(size) for size in sizes])
    assert cost.history_input_tokens(numpy.int32(40), 0, numpy.int32(10**9)) == 820 * 10**9


def test_a_share_is_the_decimal_it_shows() -> None:
    assert cost.rewrite_turns([1_000, 700], drop=0.3) == []
    assert cost.rewrite_turns([1_000, 699], drop=0.3) == [1]


@pytest.mark.parametrize("drop", [1, -0.1, math.nan, "half", None])
def test_a_drop_that_is_no_share_is_refused(drop: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^drop: is"):
        cost.rewrite_turns([2, 1], drop=drop)


@given(st.integers(1, 500), st.integers(0, 10**6), st.integers(1, 10**5))
def test_doubling_gives_more_than_twice_and_less_than_four_times(turns: int, prefix: int, added: int) -> None:
    assert 2 < cost.doubling_factor(turns, prefix, added) < 4


def test_doubling_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        cost.doubling_factor(3, 0, 0)


@given(
    st.integers(2, 80),
    st.integers(0, 10**6),
    st.integers(0, 10**4),
    st.sampled_from(["ends", "least-squares"]),
)
def test_a_fit_finds_the_law_it_was_made_from(turns: int, prefix: int, added: int, method: str) -> None:
    fit = cost.fit_growth(cost.history_input_tokens_by_turn(turns, prefix, added), method=method)  # type: ignore[arg-type]
    assert (fit.prefix_tokens, fit.added_tokens) == (prefix, added)
    assert (fit.sum_error, fit.rms_tokens) == (0, 0)
    assert fit.prompt_tokens(turns + 1) == prefix + (turns + 1) * added


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=40))
def test_no_line_misses_by_less_than_the_least_squares(sizes: list[int]) -> None:
    best, by_hand = cost.fit_growth(sizes), cost.fit_growth(sizes, method="ends")
    assert best.rms_tokens <= by_hand.rms_tokens * (1 + 1e-9) + 1e-6
    assert best.sum_error == 0


@pytest.mark.parametrize("sizes", [[], [5]])
def test_one_turn_is_no_line(sizes: list[int]) -> None:
    with pytest.raises(InvalidArgumentError, match="two-turns"):
        cost.fit_growth(sizes)


@given(st.lists(st.integers(0, 1_000), max_size=30))
def test_stretches_cover_the_session_and_never_shrink_inside(sizes: list[int]) -> None:
    parts = cost.stretches(sizes)
    assert [turn for part in parts for turn in part] == list(range(len(sizes)))
    for part in parts:
        assert all(10 * sizes[turn] >= 9 * sizes[turn - 1] for turn in part[1:])
        assert part.start == 0 or 10 * sizes[part.start] < 9 * sizes[part.start - 1]


def test_a_recorded_session_follows_the_law_until_it_is_compacted() -> None:
    """One agent, 253 turns: a is about 569, the hand-drawn line is 1 % off, and the law ends at turn 183."""
    sizes = [turn.usage.context_tokens for turn in recordings.session("cli/session-375d5d79").turns]
    first, second = cost.stretches(sizes)
    assert (first, second) == (range(183), range(183, 253))
    fit = cost.fit_growth(sizes[:183], method="ends")
    assert round(fit.added_tokens) == 569
    assert abs(fit.sum_error) < 0.02
    assert sizes[183] < fit.prompt_tokens(184) / 2


def test_uneven_growth_is_what_makes_the_hand_drawn_line_fail() -> None:
    sizes = [turn.usage.context_tokens for turn in recordings.session("pi-mono/before-compaction").turns]
    stretch = [sizes[turn] for turn in cost.stretches(sizes)[0]]
    assert round(cost.fit_growth(stretch, method="ends").sum_error, 2) == -0.27


def test_recorded_stretches_grow_two_to_three_times_when_they_double() -> None:
    factors = []
    for session in recordings.sessions():
        sizes = [turn.usage.context_tokens for turn in session.turns]
        for stretch in cost.stretches(sizes):
            if len(stretch) >= 50:
                half = len(stretch) // 2
                part = [sizes[turn] for turn in stretch]
                factors.append(sum(part[: 2 * half]) / sum(part[:half]))
    assert len(factors) > 30
    assert min(factors) > 2.1
    assert max(factors) < 3.1


# --- other strategies


def recorded(name: str) -> tuple[recordings.Session, list[float | None]]:
    session = recordings.session(name)
    return session, [turn.gap_s for turn in session.turns]


def test_the_recorded_strategy_gives_the_recorded_bill() -> None:
    """On every session that ran on one model under one lifetime, turn by turn."""
    replayed = 0
    for session in recordings.sessions():
        if len(session.models) > 1 or session.write_ttl not in ("5m", "1h"):
            continue
        gaps = [turn.gap_s for turn in session.turns]
        own = cost.what_if(session.usages, session.models[0], session.write_ttl, gaps_s=gaps)
        for turn, supposed in zip(session.turns, own.turns, strict=True):
            assert supposed.bill.total_usd == bill(turn.usage, turn.model_id).total_usd
            assert (supposed.read_tokens, supposed.written_tokens, supposed.fresh_tokens) == (
                turn.usage.cache_read_input_tokens,
                turn.usage.cache_creation_input_tokens,
                turn.usage.input_tokens,
            )
        replayed += 1
    assert replayed > 20


@pytest.mark.parametrize("strategy", cost.STRATEGIES)
def test_no_strategy_loses_or_invents_a_token(strategy: cost.Strategy) -> None:
    session, gaps = recorded("cli/session-6113e919")
    scenario = cost.what_if(session.usages, session.models[0], strategy, gaps_s=gaps)
    for turn, supposed in zip(session.turns, scenario.turns, strict=True):
        prompt = supposed.read_tokens + supposed.written_tokens + supposed.fresh_tokens
        assert prompt == turn.usage.total_input_tokens
        assert supposed.output_tokens == turn.usage.output_tokens
    assert scenario.total_usd == sum(turn.usd for turn in scenario.turns)


def test_caching_divides_the_quadratic_term_and_does_not_remove_it() -> None:
    """99.3 % of the tokens came from the cache, and reads are still 92 % of the input bill."""
    session, gaps = recorded("cli/session-375d5d79")
    real = cost.what_if(session.usages, session.models[0], "as-recorded", gaps_s=gaps).bill
    uncached = cost.what_if(session.usages, session.models[0], "no-cache", gaps_s=gaps).bill
    assert round(real.input_usd, 2) == Decimal("13.37")
    assert round(real.by_label()["cache read"], 2) == Decimal("12.26")
    assert 5 < uncached.input_usd / real.input_usd < 10


def test_a_session_with_many_pauses_wants_the_longer_lifetime_and_one_without_does_not() -> None:
    def usd(name: str, strategy: cost.Strategy) -> Decimal:
        session, gaps = recorded(name)
        return cost.what_if(session.usages, session.models[0], strategy, gaps_s=gaps).bill.input_usd

    paused, busy = "cli/session-6113e919", "cli/session-375d5d79"
    assert usd(paused, "1h") < usd(paused, "5m")
    assert usd(busy, "1h") > usd(busy, "5m")
    assert usd(paused, "always-warm") < usd(paused, "keep-alive") < usd(paused, "5m")
    assert usd(busy, "keep-alive") == usd(busy, "5m")


def test_a_made_up_session_writes_once_and_reads_what_it_wrote() -> None:
    grown = cost.growing_session(4, 10_000, 1_000)
    turns = cost.what_if(grown, "claude-opus-4-8", "5m").turns
    assert [(turn.read_tokens, turn.written_tokens, turn.fresh_tokens) for turn in turns] == [
        (0, 11_000, 0),
        (11_000, 1_000, 0),
        (12_000, 1_000, 0),
        (13_000, 1_000, 0),
    ]


def test_a_gap_beyond_the_lifetime_writes_the_prefix_again() -> None:
    grown = cost.growing_session(3, 10_000, 1_000)

    def reads(strategy: cost.Strategy, gap_s: float) -> int:
        return cost.what_if(grown, "claude-opus-4-8", strategy, gaps_s=[None, gap_s, 0]).turns[1].read_tokens

    assert reads("5m", 299) == 11_000
    assert reads("5m", 300) == 0
    assert reads("1h", 3_599) == 11_000
    assert reads("1h", 3_600) == 0
    assert reads("always-warm", 10**6) == 11_000
    assert reads("keep-alive", 300) == 11_000


def test_pings_are_paid_for_and_stop_where_writing_again_is_cheaper() -> None:
    grown = cost.growing_session(2, 100_000, 1_000)

    def paused(gap_s: float, strategy: cost.Strategy = "keep-alive") -> cost.Scenario:
        return cost.what_if(grown, "claude-opus-4-8", strategy, gaps_s=[0, gap_s])

    bridged, given_up = paused(299 + 11 * 240), paused(300 + 11 * 240)
    assert [turn.pings for turn in bridged.turns] == [0, 11]
    assert bridged.bill.by_iteration()["keep_alive_ping"] == Decimal("0.5555")
    assert bridged.total_usd < paused(299 + 11 * 240, "5m").total_usd
    assert [turn.pings for turn in given_up.turns] == [0, 0]
    assert given_up.total_usd == paused(300 + 11 * 240, "5m").total_usd


def test_pings_cost_what_the_session_they_keep_alive_costs() -> None:
    def ping_usd(**options: str) -> Decimal:
        grown = [
            Usage(input_tokens=turn.input_tokens, **options)  # type: ignore[arg-type]
            for turn in cost.growing_session(2, 100_000, 1_000)
        ]
        scenario = cost.what_if(grown, "claude-opus-4-8", "keep-alive", gaps_s=[0, 300])
        return scenario.bill.by_iteration()["keep_alive_ping"]

    assert ping_usd(inference_geo="us") == ping_usd() * Decimal("1.1")
    assert ping_usd(speed="fast") == ping_usd() * 2


def test_a_batch_runs_at_standard_speed() -> None:
    fast = [Usage(input_tokens=1_000_000, speed="fast", inference_geo="us")]
    assert cost.what_if(fast, "claude-opus-4-8", "batch").total_usd == Decimal("2.75")


def test_a_gap_of_the_lifetime_itself_loses_the_entry() -> None:
    grown = cost.growing_session(2, 100_000, 1_000)
    for strategy, lifetime_s in (("5m", 300), ("1h", 3_600)):
        kept, lost = (
            cost.what_if(grown, "claude-opus-4-8", strategy, gaps_s=[None, gap_s]).turns[1]  # type: ignore[arg-type]
            for gap_s in (lifetime_s - 1, lifetime_s)
        )
        assert (kept.read_tokens, lost.read_tokens) == (101_000, 0)
        assert f"{lifetime_s:,} s or more" in cost.STRATEGIES[strategy]  # type: ignore[index]


def test_prefixes_below_the_minimum_are_never_cached() -> None:
    grown = [*cost.growing_session(3, 1_095, 1_000), fresh(4_096)]
    turns = cost.what_if(grown, "claude-haiku-4-5", "5m").turns
    assert [turn.fresh_tokens for turn in turns] == [2_095, 3_095, 4_095, 0]
    assert turns[3].written_tokens == 4_096


def test_after_a_compaction_only_what_was_read_is_shared() -> None:
    turns = (
        Usage(cache_creation=CacheCreation(100_000), input_tokens=3),
        Usage(cache_read_input_tokens=16_000, cache_creation=CacheCreation(30_000), input_tokens=3),
    )
    (_, after) = cost.what_if(turns, "claude-opus-4-8", "1h").turns
    assert (after.read_tokens, after.written_tokens, after.fresh_tokens) == (16_000, 30_000, 3)


def test_a_batch_is_half_of_no_cache() -> None:
    grown = cost.growing_session(5, 2_000, 300, output_tokens=40)
    whole = cost.what_if(grown, "claude-opus-4-8", "no-cache").total_usd
    assert cost.what_if(grown, "claude-opus-4-8", "batch").total_usd * 2 == whole


def test_steps_inside_a_request_are_walked_one_by_one() -> None:
    summary = Iteration(type="compaction", input_tokens=100, cache_read_input_tokens=55_096)
    answer = Iteration(type="message", input_tokens=181)
    usage = Usage(input_tokens=181, iterations=(summary, answer))
    assert cost.what_if([usage], "claude-sonnet-4-6", "no-cache").turns[0].fresh_tokens == 55_377


@pytest.mark.parametrize(
    ("strategy", "gaps"), [("hope", None), ("5m", [0]), ("5m", [0, math.nan]), ("5m", [0, math.inf])]
)
def test_an_unknown_strategy_or_impossible_gaps_are_refused(strategy: str, gaps: list[float] | None) -> None:
    with pytest.raises(InvalidArgumentError):
        cost.what_if(cost.growing_session(2, 1, 1), "claude-opus-5", strategy, gaps_s=gaps)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_usages", "strategy", "gaps", "path"),
    [
        (None, "5m", None, "usages"),
        (fresh(1), "5m", None, "usages"),
        ([fresh(1)], ["5m"], None, "strategy"),
        ([fresh(1)], "5m", 5, "gaps_s"),
        ([fresh(1)], "5m", ["soon"], r"gaps_s\[0\]"),
        ([fresh(1)], "5m", [True], r"gaps_s\[0\]"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(
    given_usages: object, strategy: object, gaps: object, path: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^{path}: "):
        cost.what_if(given_usages, "claude-opus-5", strategy, gaps_s=gaps)  # type: ignore[arg-type]


def test_answers_and_generators_will_do_for_a_session() -> None:
    answers = ({"input_tokens": size, "output_tokens": 0} for size in (20_000, 21_000))
    scenario = cost.what_if(answers, "claude-opus-5", "5m")  # type: ignore[arg-type]
    assert scenario.bill == cost.what_if([fresh(20_000), fresh(21_000)], "claude-opus-5", "5m").bill


def test_a_sum_in_place_of_a_turn_is_refused() -> None:
    with pytest.raises(InvalidUsageError, match="one-request-each"):
        cost.what_if([fresh(1) + fresh(1)], "claude-opus-5", "5m")


# --- break-evens: the formula and the search


@given(multipliers, multipliers, multipliers)
def test_formula_and_search_agree_about_reads(write: Fraction, read: Fraction, other: Fraction) -> None:
    formula = cost.break_even_reads(write, read, other_multiplier=other)
    found = cost.first_that_pays(lambda n: write + n * read, lambda n: other * (n + 1), limit=5_000)
    assert formula.n == found


@given(st.fractions(0, 3, max_denominator=40), st.fractions("0.01", 3, max_denominator=100))
def test_formula_and_search_agree_about_pings(write: Fraction, read: Fraction) -> None:
    formula = cost.break_even_pings(write, read)
    found = cost.last_that_pays(lambda pings: (pings + 1) * read, lambda _: write, limit=400)
    assert formula.n == found


@pytest.mark.parametrize("read", ["0.1", "0.05", "0.025"])
def test_a_5m_write_pays_after_one_read_and_a_1h_write_after_two(read: str) -> None:
    """platform.claude.com pricing page, 2026-08; at every read price of the catalogue."""
    assert cost.break_even_reads(Fraction("1.25"), Fraction(read)).n == 1
    assert cost.break_even_reads(Fraction(2), Fraction(read)).n == 2


@pytest.mark.parametrize("model", [model.id for model in PRICED])
def test_break_evens_hold_in_dollars(model: str) -> None:
    """The multipliers' answer is the price list's answer: one prefix, priced by the bill."""
    prefix = 50_000
    write = bill(Usage(cache_creation=CacheCreation(prefix)), model).total_usd
    long_write = bill(Usage(cache_creation=CacheCreation(0, prefix)), model).total_usd
    read = bill(Usage(cache_read_input_tokens=prefix), model).total_usd
    plain, batch = bill(fresh(prefix), model).total_usd, bill(fresh(prefix), model, batch=True).total_usd
    evens = cost.break_evens(model)

    def first(one_off: Decimal, each: Decimal, other: Decimal) -> int:
        return next(n for n in range(1_000) if one_off + n * each < other * (n + 1))

    assert evens.reads_5m.n == first(write, read, plain)
    assert evens.reads_1h.n == first(long_write, read, plain)
    assert evens.reads_5m_over_batch.n == first(write, read, batch)
    assert evens.gaps_1h_over_5m.n == first(long_write, read, write)
    assert evens.pings.n is not None
    assert (evens.pings.n + 1) * read < write <= (evens.pings.n + 2) * read


def test_a_float_is_the_multiplier_it_shows() -> None:
    shown = cost.break_even_reads(0.3, 0.1, other_multiplier=0.2)
    assert shown == cost.break_even_reads(Fraction("0.3"), Fraction("0.1"), other_multiplier=Fraction("0.2"))
    assert (shown.threshold, shown.n) == (1, 2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1, "much", None])
def test_a_multiplier_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^write_multiplier: is"):
        cost.break_even_reads(bad, Fraction("0.1"))
    with pytest.raises(InvalidArgumentError, match=r"^read_multiplier: is"):
        cost.break_even_pings(Fraction("1.25"), bad)


@pytest.mark.parametrize("gap_s", [math.nan, math.inf, "300", None])
def test_a_pause_that_is_no_time_is_refused(gap_s: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^gap_s: is"):
        cost.pings_needed(gap_s)


def test_a_read_that_costs_as_much_as_the_prompt_never_pays() -> None:
    assert cost.break_even_reads(Fraction("1.25"), Fraction(1)).n is None
    assert cost.break_even_pings(Fraction("0.1"), Fraction("0.2")).n is None


@given(st.floats(0, 10**6), st.integers(1, 299))
def test_the_pings_leave_no_pause_longer_than_the_lifetime(gap_s: float, every_s: int) -> None:
    pings = cost.pings_needed(gap_s, every_s=every_s)
    assert Fraction(gap_s) - pings * every_s < 300
    assert pings == 0 or Fraction(gap_s) - (pings - 1) * every_s >= 300


@pytest.mark.parametrize(
    "bad", [{"every_s": 0}, {"every_s": 300}, {"every_s": 301}, {"gap_s": math.nan}, {"gap_s": math.inf}]
)
def test_pings_that_come_too_late_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidArgumentError):
        cost.pings_needed(**{"gap_s": 10.0, **bad})


def test_every_price_of_the_catalogue_is_a_finite_decimal() -> None:
    for model in PRICED:
        for prices in model.price_history:
            for card in prices.cards:
                assert cost.exact_decimal(card.input_usd_per_mtok * prices.cache_read_multiplier)
    assert get_model("claude-haiku-5-5").tiered
