"""Promises of ctxlab.images.economics: stairs by search, both ledgers by bills and by the emulator."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.catalogue import get_model, models
from ctxlab.clock import ManualClock
from ctxlab.cost import bill
from ctxlab.emulator import Emulator
from ctxlab.errors import InvalidArgumentError, UnknownModelError, UnpricedModelError
from ctxlab.images import (
    TIERS,
    best_resize,
    eviction,
    image_cost,
    image_tokens,
    patches,
    resized_size,
    staircase,
    trim_or_keep,
)
from ctxlab.usage import CacheCreation, Usage
from tests.made_images import block, png

MODEL = "claude-opus-5-5"
sides = st.integers(1, 900)
tiers = st.sampled_from(sorted(TIERS))
tokens = st.integers(0, 200_000)


# --- the staircase


@given(sides, sides, tiers, st.fractions(0, Fraction(49, 50), max_denominator=60))
def test_no_larger_size_of_the_same_shape_saves_as_much(width, height, tier, share):
    before = image_tokens(width, height, tier=tier)
    if before * (1 - share) < 1:
        with pytest.raises(InvalidArgumentError) as caught:
            best_resize(width, height, tier=tier, save=share)
        assert caught.value.problems[0].rule == "reachable"
        return
    found = best_resize(width, height, tier=tier, save=share)
    assert found.saved_share >= share
    assert found.tokens == image_tokens(found.width, found.height, tier=tier)
    long, short = max(width, height), min(width, height)
    for longer in range(max(found.width, found.height) + 1, max(resized_size(width, height, tier=tier)) + 1):
        other = max(1, round(Fraction(longer * short, long)))
        assert before - patches(longer, other) < share * before


@given(st.integers(1, 6000), st.integers(1, 6000), tiers)
def test_the_shape_is_kept_to_half_a_pixel(width, height, tier):
    found = best_resize(width, height, tier=tier, save=0)
    long, short = max(width, height), min(width, height)
    seen_long, seen_short = max(found.width, found.height), min(found.width, found.height)
    assert seen_short == 1 or abs(seen_short - Fraction(seen_long * short, long)) <= Fraction(1, 2)


def test_fifteen_pixels_buy_nothing_and_the_sixteenth_buys_a_row_and_a_column():
    whole = image_tokens(1920, 1080, MODEL)
    assert {whole - image_tokens(1920 - cut, 1080 - cut, MODEL) for cut in range(16)} == {0}
    assert whole - image_tokens(1904, 1064, MODEL) == 107


@given(sides, sides, tiers)
def test_a_staircase_goes_down_to_one_patch_and_each_step_is_the_largest_of_its_kind(width, height, tier):
    steps = list(staircase(width, height, tier=tier))
    assert (steps[0].width, steps[0].height) == resized_size(width, height, tier=tier)
    assert steps[-1].tokens == 1
    counts = [step.tokens for step in steps]
    assert counts == sorted(set(counts), reverse=True)
    for step in steps[1:]:
        assert best_resize(width, height, tier=tier, save=step.saved_share) == step


@pytest.mark.parametrize("save", [1, 1.0, -0.1, math.nan, math.inf, "0.25", None, True, 2])
def test_a_share_that_cannot_be_is_refused(save):
    with pytest.raises(InvalidArgumentError) as caught:
        best_resize(100, 100, tier="standard", save=save)
    assert caught.value.problems[0].path == "save"


def test_other_arguments_are_checked_like_those_of_image_tokens():
    with pytest.raises(InvalidArgumentError, match="width"):
        best_resize(0, 10, tier="standard")
    with pytest.raises(UnknownModelError):
        best_resize(10, 10, "claude-opus-9")
    with pytest.raises(InvalidArgumentError, match="height"):
        list(staircase(10, "10", tier="standard"))


# --- what keeping costs


@given(st.integers(1, 4000), st.integers(1, 4000), st.integers(1, 60), st.sampled_from(["5m", "1h"]))
def test_a_picture_over_some_turns_costs_what_the_bills_of_those_turns_say(width, height, turns, ttl):
    cost = image_cost(width, height, MODEL, turns, ttl=ttl)
    size = image_tokens(width, height, MODEL)
    writes = {"5m": CacheCreation(size, 0), "1h": CacheCreation(0, size)}[ttl]
    first = bill(Usage(cache_creation=writes), MODEL).total_usd
    later = bill(Usage(cache_read_input_tokens=size), MODEL).total_usd
    full = bill(Usage(input_tokens=size), MODEL).total_usd
    assert cost.tokens == size
    assert (cost.usd_per_turn, cost.cached_usd_per_turn) == (full, later)
    assert cost.uncached_usd == full * turns
    assert cost.cached_usd == first + later * (turns - 1)


def test_the_card_is_that_of_the_whole_prompt():
    model = next(model for model in models() if model.tiered and model.image_tier)
    limit = model.rates[0].up_to_total_input_tokens
    cheap, dear = (image_cost(100, 100, model, prompt_tokens=size) for size in (limit, limit + 1))
    assert cheap.uncached_usd < dear.uncached_usd


def test_a_model_without_a_price_costs_nothing_nowhere():
    unpriced = next(model for model in models() if not model.price_history and model.image_tier)
    with pytest.raises(UnpricedModelError):
        image_cost(10, 10, unpriced)


# --- what dropping costs


def units(read=0, written=0, fresh=0):
    """Tokens at full price, as a bill has them."""
    usage = Usage(
        input_tokens=fresh,
        cache_read_input_tokens=read,
        cache_creation=CacheCreation(ephemeral_5m_input_tokens=written),
    )
    price = get_model(MODEL).rates_at().cards[0].input_usd_per_mtok
    return Fraction(bill(usage, MODEL).total_usd) * 1_000_000 / price


@given(tokens, tokens, st.integers(1, 40), st.booleans(), st.integers(0, 500))
def test_both_ledgers_are_the_bills_of_both_ways(image, behind, turns, marked, instead):
    found = trim_or_keep(image, behind, turns, MODEL, marked=marked, instead_tokens=instead)
    stays = behind + instead
    kept = sum(units(read=image + behind) for _ in range(turns))
    if marked:
        dropped = units(written=stays) + sum(units(read=stays) for _ in range(turns - 1))
    else:
        dropped = sum(units(fresh=stays) for _ in range(turns))
    assert (found.keep_units, found.trim_units) == (kept, dropped)
    assert found.advice == ("trim" if dropped < kept else "keep")


@given(tokens, tokens, st.integers(1, 300), st.booleans(), st.sampled_from([None, 0, 0.05, 0.1, 1, 2]))
def test_the_break_even_is_the_first_turn_that_pays(image, behind, turns, marked, read):
    how = {"marked": marked, "read": read}
    even = trim_or_keep(image, behind, 1, **how).break_even_turns
    assert (trim_or_keep(image, behind, turns, **how).advice == "trim") == (
        even is not None and turns >= even
    )


@pytest.mark.parametrize(
    ("share", "marked", "read", "loss"),
    [
        (12, True, None, Fraction(3, 2)),
        (15, False, None, Fraction(3, 2)),
        (50, True, None, Fraction(25, 4)),
        (100, True, None, Fraction(25, 2)),
        (100, False, None, 10),
        (12, True, 0.05, 3),
        (8, True, None, 1),
    ],
)
def test_a_window_that_rolls_every_turn_costs_twelve_and_a_half_times_the_share_that_stays(
    share, marked, read, loss
):
    found = trim_or_keep((100 - share) * 1000, share * 1000, turns=1, marked=marked, read=read)
    assert found.every_turn_loss == loss
    assert found.share_that_stays == Fraction(share, 100)


def test_the_factors_are_those_of_the_models_card():
    for model in models():
        if not model.price_history:
            continue
        prices = model.rates_at()
        found = trim_or_keep(0, 1000, 1, model)
        assert found.every_turn_loss == prices.cache_write_5m_multiplier / prices.cache_read_multiplier
        assert found.keep_units == 1000 * prices.cache_read_multiplier


def test_making_a_picture_smaller_later_rewrites_as_dropping_it_does():
    smaller = trim_or_keep(2691, 40_000, 20, instead_tokens=image_tokens(1092, 614, MODEL))
    assert smaller.advice == "keep"
    assert smaller.trim_units > trim_or_keep(2691, 40_000, 20).trim_units


def test_the_dollars_are_those_of_the_units():
    found = trim_or_keep(2_691, 40_000, 20, MODEL)
    keep, trim = found.usd(MODEL)
    price = get_model(MODEL).rates_at().cards[0].input_usd_per_mtok
    assert (Fraction(keep), Fraction(trim)) == (
        found.keep_units * price / 1_000_000,
        found.trim_units * price / 1_000_000,
    )


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"image_tokens": -1}, "image_tokens"),
        ({"behind_tokens": 1.5}, "behind_tokens"),
        ({"turns": 0}, "turns"),
        ({"turns": "3"}, "turns"),
        ({"instead_tokens": True}, "instead_tokens"),
        ({"read": -0.1}, "read"),
        ({"read": "0.1"}, "read"),
        ({"write": math.nan}, "write"),
    ],
)
def test_what_is_no_count_and_no_factor_is_refused(more, path):
    with pytest.raises(InvalidArgumentError) as caught:
        trim_or_keep(**{"image_tokens": 1, "behind_tokens": 1, "turns": 1, **more})
    assert caught.value.problems[0].path == path


# --- one at a time against many at once


def test_dropping_one_a_turn_rewrites_every_turn_and_batches_do_not():
    rolling = eviction(60, 2_691, 500, MODEL, keep=3)
    batches = eviction(60, 2_691, 500, MODEL, keep=3, batch=20)
    assert rolling.rewrites == tuple(range(4, 61))
    assert batches.rewrites == (23, 43)
    assert (rolling.rolls, batches.rolls) == (True, False)
    assert batches.usd < rolling.usd / 3
    assert rolling.usd > eviction(60, 2_691, 500, MODEL, keep=None).usd


@given(st.integers(1, 30), st.integers(1, 3000), st.integers(0, 900), st.integers(1, 5), st.integers(1, 9))
def test_whatever_is_dropped_a_request_is_read_and_written_whole(turns, image, text, keep, batch):
    found = eviction(turns, image, text, MODEL, keep=keep, batch=batch, prefix_tokens=2000)
    shown = 0
    for turn, usage in enumerate(found.usages, 1):
        shown = keep if turn in found.rewrites else shown + 1
        assert shown < keep + batch
        assert usage.total_input_tokens == 2000 + turn * text + shown * image
    assert found.bill.total_usd == sum(bill(usage, MODEL).total_usd for usage in found.usages)


@pytest.mark.parametrize(
    "more", [{"turns": 0}, {"keep": 0}, {"batch": 0}, {"text_tokens": -1}, {"keep": 2.0}]
)
def test_a_policy_that_cannot_be_is_refused(more):
    with pytest.raises(InvalidArgumentError) as caught:
        eviction(**{"turns": 3, "image_tokens": 9, "text_tokens": 9, "model": MODEL, "keep": 2, **more})
    assert [problem.path for problem in caught.value.problems] == list(more)


# --- the same conversations, played

MARKER = {"cache_control": {"type": "ephemeral"}}
SYSTEM = [{"type": "text", "text": "Look at the pictures. " * 400, **MARKER}]
PICTURE = block(png(640, 480))


def question(turn, *, old):
    words = {"type": "text", "text": f"And now {turn:02}?"}
    return {"role": "user", "content": [words] if old else [PICTURE, words]}


def played(turns, keep=None, batch=1):
    """Usage of an emulated conversation with a picture a turn, of which the oldest are left out in time."""
    client = Emulator(replies=["Seen."] * turns, clock=ManualClock()).client()
    shown, first_shown = 0, 0
    usages = []
    for turn in range(turns):
        shown += 1
        if keep is not None and shown >= keep + batch:
            shown, first_shown = keep, turn + 1 - keep
        messages = []
        for earlier in range(turn + 1):
            messages.append(question(earlier, old=earlier < first_shown))
            messages.append({"role": "assistant", "content": "Seen."})
        messages.pop()
        messages[-1]["content"][-1].update(MARKER)
        answer = client.messages.create(model=MODEL, max_tokens=50, system=SYSTEM, messages=messages)
        usages.append(Usage.from_response(answer.usage.to_dict()))
    return usages


def prefix_tokens():
    client = Emulator(clock=ManualClock()).client()
    hello = [{"role": "user", "content": "Hello"}]
    answer = client.messages.create(model=MODEL, max_tokens=50, system=SYSTEM, messages=hello)
    return answer.usage.cache_creation_input_tokens


@pytest.mark.parametrize(("keep", "batch"), [(None, 1), (1, 1), (2, 1), (2, 4), (1, 3)])
def test_the_emulator_reads_and_writes_what_the_formula_says(keep, batch):
    turns, picture, prefix = 9, image_tokens(640, 480, MODEL) + 3, prefix_tokens()
    plain = played(3)
    text = plain[2].cache_creation_input_tokens - picture
    # the first turn has no answer in front of it
    less = plain[0].cache_creation_input_tokens - prefix - picture - text
    ours = eviction(turns, picture, text, MODEL, keep=keep, batch=batch, prefix_tokens=prefix)
    for turn, (theirs, usage) in enumerate(zip(played(turns, keep, batch), ours.usages, strict=True), 1):
        begins = turn == 1 or turn in ours.rewrites
        assert theirs.cache_read_input_tokens == usage.cache_read_input_tokens + (0 if begins else less)
        written = usage.cache_creation_input_tokens + (less if begins else 0)
        assert theirs.cache_creation_input_tokens == written


def test_the_emulator_bills_one_trim_as_the_two_ledgers_say():
    """Pictures of the first four of nine turns go at the tenth; five turns follow, that one included."""
    turns, picture, prefix = 14, image_tokens(640, 480, MODEL) + 3, prefix_tokens()
    kept = played(turns)
    client = Emulator(replies=["Seen."] * turns, clock=ManualClock()).client()
    trimmed = []
    for turn in range(turns):
        messages = []
        for earlier in range(turn + 1):
            messages.append(question(earlier, old=turn >= 9 and earlier < 4))
            messages.append({"role": "assistant", "content": "Seen."})
        messages.pop()
        messages[-1]["content"][-1].update(MARKER)
        answer = client.messages.create(model=MODEL, max_tokens=50, system=SYSTEM, messages=messages)
        trimmed.append(Usage.from_response(answer.usage.to_dict()))
    behind = kept[8].total_input_tokens - kept[8].input_tokens - prefix - 4 * picture
    found = trim_or_keep(4 * picture, behind, 5, MODEL)
    price = get_model(MODEL).rates_at().cards[0].input_usd_per_mtok
    difference = (
        Fraction(
            sum(bill(one, MODEL).total_usd for one in trimmed)
            - sum(bill(one, MODEL).total_usd for one in kept)
        )
        * 1_000_000
        / price
    )
    assert difference == (found.trim_units - found.keep_units) != 0


@pytest.mark.parametrize("ttl", ["1H", "60m", "", None, 3600, ["1h"], object()])
def test_a_ttl_that_nobody_sells_is_refused_and_not_priced_as_five_minutes(ttl):
    with pytest.raises(InvalidArgumentError) as caught:
        image_cost(640, 480, "claude-opus-5-5", ttl=ttl)
    assert caught.value.problems[0].path == "ttl"
    assert " at 0x" not in str(caught.value)


def test_an_hour_costs_more_to_write_than_five_minutes():
    short, long = (image_cost(640, 480, "claude-opus-5-5", ttl=ttl).cached_usd for ttl in ("5m", "1h"))
    assert short < long


@pytest.mark.parametrize("count", [-1, 1.5, "9", None, True, float("nan")])
def test_prompt_tokens_are_a_whole_number(count):
    with pytest.raises(InvalidArgumentError) as caught:
        image_cost(640, 480, "claude-opus-5-5", prompt_tokens=count)
    assert caught.value.problems[0].path == "prompt_tokens"


def test_no_prompt_besides_the_picture_is_a_count():
    assert image_cost(640, 480, "claude-opus-5-5", prompt_tokens=0) == image_cost(640, 480, "claude-opus-5-5")
