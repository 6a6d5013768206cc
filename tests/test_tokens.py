"""Promises of ctxlab.tokens."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.catalogue import get_model, models
from ctxlab.errors import InvalidArgumentError, UnknownModelError
from ctxlab.prompt import Prompt
from ctxlab.recordings import RecordedBlock, RecordedImage, exchanges
from ctxlab.recordings.measured import measured_bands
from ctxlab.tokens import CharactersRule, count, patch_tokens, rules
from tests.strategies import recorded_blocks

RULES = ("four_characters", "calibrated_characters", "whole_request_characters")


def block(chars, segment="messages", **more):
    return RecordedBlock(
        segment=segment, role="user", type=more.pop("type", "text"), chars=chars, sha256=None, **more
    )


def picture(width, height):
    return RecordedImage("base64", width, height, "image/png", None, None, None, None)


# --- what a rule gives


def test_four_characters_are_a_token_for_every_model():
    for model in models():
        assert count([block(4000)], model, counter="four_characters").total == 1000


def test_a_newer_vocabulary_needs_more_tokens_for_the_same_text():
    older, newer = (count([block(3700)], name).total for name in ("claude-sonnet-4-5", "claude-opus-5-5"))
    assert older == 1000
    assert newer == round(3700 / Fraction("2.43"))


def test_the_default_is_the_calibrated_rule_and_the_result_says_so():
    result = count([block(100)], "claude-opus-5-5")
    assert result.counter == "calibrated_characters"
    assert result == count([block(100)], "claude-opus-5-5", counter="calibrated_characters")


@pytest.mark.parametrize(
    ("width", "height", "patches"),
    [(200, 200, 64), (640, 480, 414), (1000, 1000, 1296), (1092, 1092, 1521), (28, 28, 1), (29, 1, 2)],
)
def test_a_picture_costs_its_patches_and_three_tokens_around_them(width, height, patches):
    # the patch counts are those of the vision page's table, 2026-08
    assert patch_tokens(width, height) == patches + 3
    assert count([block(0, type="image", image=picture(width, height))], "claude-opus-5").total == patches + 3


def test_the_old_picture_rule_is_area_over_750():
    blocks = [block(0, type="image", image=picture(1000, 1000))]
    assert count(blocks, "claude-opus-5", counter="four_characters").total == 1333


def test_a_picture_inside_a_tool_result_is_counted_with_it():
    inner = block(0, type="image", image=picture(200, 200))
    assert count([block(0, type="tool_result", parts=(inner,))], "claude-opus-5").total == 67


def test_a_prompt_and_its_blocks_count_the_same():
    prompt = Prompt.from_request(
        {
            "system": "Be brief." * 50,
            "tools": [{"name": "read", "input_schema": {"type": "object"}}],
            "messages": [{"role": "user", "content": "Hello"}],
        }
    )
    whole = count(prompt, "claude-opus-5-5")
    assert whole == count(prompt.blocks, "claude-opus-5-5")
    assert len(whole.by_block) == 3


# --- rounding


@given(
    st.lists(recorded_blocks(), max_size=12), st.sampled_from(RULES), st.sampled_from(["v3", "v4.7", "v4.8"])
)
def test_block_counts_add_up_to_the_total(blocks, rule, vocabulary):
    result = count(blocks, vocabulary=vocabulary, counter=rule)
    assert sum(result.by_block) == result.total
    assert len(result.by_block) == len(blocks)
    assert all(tokens >= 0 for tokens in result.by_block)


@given(
    st.lists(recorded_blocks(), max_size=8), st.lists(recorded_blocks(), max_size=8), st.sampled_from(RULES)
)
def test_appending_blocks_changes_no_count_before_them(blocks, more, rule):
    before = count(blocks, vocabulary="v3", counter=rule)
    after = count(blocks + more, vocabulary="v3", counter=rule)
    assert after.by_block[: len(blocks)] == before.by_block
    assert after.total >= before.total


@given(st.lists(recorded_blocks(), max_size=8), st.sampled_from(RULES))
def test_the_total_is_off_by_rounding_once_and_not_once_a_block(blocks, rule):
    exact = sum(rules()[rule](blocks, "v4.8"), Fraction(0))
    assert abs(count(blocks, vocabulary="v4.8", counter=rule).total - exact) <= Fraction(1, 2)


def test_a_thousand_short_blocks_do_not_round_to_nothing():
    assert count([block(1)] * 1000, "claude-opus-5", counter="four_characters").total == 250


# --- bands


@pytest.mark.parametrize("name", RULES)
def test_the_bands_in_the_table_are_those_of_the_recordings(name):
    assert rules()[name].bands == measured_bands(name)


@pytest.mark.parametrize("name", RULES)
def test_eight_of_ten_recorded_prompts_lie_in_their_band(name):
    inside = total = 0
    for row in exchanges():
        if row.estimate is None or row.estimate.not_estimable is not None or not row.total_input_tokens:
            continue
        low, high = count(row, row.model_id, counter=name).band
        total += 1
        inside += low <= row.total_input_tokens <= high
    assert inside >= 0.79 * total


def test_tools_widen_the_band_of_a_small_prompt():
    plain = count([block(400)], "claude-sonnet-4-5")
    with_tools = count([block(400), block(0, segment="tools", type="custom")], "claude-sonnet-4-5")
    assert with_tools.total == plain.total
    assert with_tools.band[1] > plain.band[1]


def test_a_counter_of_your_own_has_no_band_because_nobody_measured_it():
    assert count([block(5)], "claude-opus-5", counter=lambda blocks, vocabulary: [1]).band is None


# --- what is not in the request


def test_a_block_whose_content_is_not_in_the_request_is_named():
    blocks = [
        block(10),
        block(None),
        block(0, type="document", document={"source": "file"}),
        block(0, type="image", image=RecordedImage("url", None, None, None, None, None, None, None)),
        block(0, type="tool_result", parts=(block(0, type="image"),)),
        block(0, type="container_upload"),
    ]
    assert count(blocks, "claude-opus-5").uncounted == (1, 2, 3, 4, 5)


def test_a_text_document_and_a_sized_picture_are_not_named():
    blocks = [block(10), block(7, type="document"), block(0, type="image", image=picture(5, 5)), block(0)]
    assert count(blocks, "claude-opus-5").uncounted == ()


# --- counters of your own


def test_a_function_is_a_counter_and_its_name_stands_in_the_result():
    def words(blocks, vocabulary):
        return [Fraction(one.chars, 6) for one in blocks]

    result = count([block(60), block(3)], "claude-opus-5", counter=words)
    assert (result.counter, result.total, result.by_block) == ("words", 10, (10, 0))


def test_a_rule_with_another_ratio_is_one_line():
    fives = CharactersRule("fives", "five", {"v3": Fraction(5)}, images="patches")
    assert count([block(50)], "claude-sonnet-4-5", counter=fives).total == 10


@pytest.mark.parametrize(
    ("counts", "rule"),
    [
        ([1], "one-count-a-block"),
        ([1, -1], "non-negative"),
        ([1, math.nan], "non-negative"),
        ([1, math.inf], "non-negative"),
        ([1, "2"], "number"),
        ([1, True], "number"),
    ],
)
def test_a_counter_that_answers_nonsense_is_refused(counts, rule):
    with pytest.raises(InvalidArgumentError) as caught:
        count([block(1), block(1)], "claude-opus-5", counter=lambda blocks, vocabulary: counts)
    assert caught.value.problems[0].rule == rule


# --- bad input


def test_an_unknown_model_is_refused_with_the_nearest_unless_a_vocabulary_is_given():
    with pytest.raises(UnknownModelError) as caught:
        count([block(37)], "claude-opus-5-6")
    assert "claude-opus-5-5" in caught.value.nearest
    assert count([block(37)], "claude-opus-5-6", vocabulary="v3").total == 10


@pytest.mark.parametrize("chars", [-1, math.nan, 2.0, True, "12"])
def test_characters_that_cannot_be_are_refused_with_their_path(chars):
    with pytest.raises(InvalidArgumentError) as caught:
        count([block(1), block(chars)], "claude-opus-5")
    assert caught.value.problems[0].path == "blocks[1].chars"


@pytest.mark.parametrize("side", [0, -5, 2.5, math.nan])
def test_pixels_that_cannot_be_are_refused_with_their_path(side):
    bad = replace(picture(10, 10), height=side)
    with pytest.raises(InvalidArgumentError) as caught:
        count([block(0, type="image", image=bad)], "claude-opus-5")
    assert caught.value.problems[0].path == "blocks[0].image.height"


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ({"messages": []}, "has-blocks"),
        ("Hello", "has-blocks"),
        (None, "has-blocks"),
        (7, "has-blocks"),
        (["Hello"], "is-a-block"),
    ],
)
def test_what_has_no_blocks_is_refused(prompt, rule):
    with pytest.raises(InvalidArgumentError) as caught:
        count(prompt, "claude-opus-5")
    assert caught.value.problems[0].rule == rule


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"model": "claude-opus-5", "counter": "five_characters"}, "known-counter"),
        ({"vocabulary": "v9"}, "known-vocabulary"),
        ({}, "required"),
    ],
)
def test_an_unknown_counter_vocabulary_or_no_model_is_refused(arguments, rule):
    with pytest.raises(InvalidArgumentError) as caught:
        count([block(1)], **arguments)
    assert caught.value.problems[0].rule == rule


def test_every_rule_knows_the_vocabulary_of_every_model_and_says_where_it_is_from():
    vocabularies = {model.vocabulary for model in models()}
    for rule in rules().values():
        assert vocabularies <= set(rule.characters_per_token)
        assert rule.source
        assert rule.says


def test_recorded_counts_of_single_texts_are_of_the_vocabulary_the_catalogue_gives():
    seen = set()
    for row in exchanges():
        if row.error is not None:  # one of them asked for a model that does not exist
            continue
        for one in (part for outer in row.blocks for part in (outer, *outer.parts)):
            for vocabulary in one.content_tokens:
                assert get_model(row.model_id).vocabulary == vocabulary, row.id
                seen.add(vocabulary)
    assert seen == {"v3", "v4.7", "v4.8"}


@pytest.mark.parametrize("vocabulary", ["v3", "v4.8"])
def test_the_calibrated_ratio_is_near_what_recorded_texts_show(vocabulary):
    texts = {
        one.sha256: (one.chars, one.content_tokens[vocabulary])
        for row in exchanges()
        for one in row.blocks
        if vocabulary in one.content_tokens and one.chars
    }
    seen = sum(chars for chars, _ in texts.values()) / sum(tokens for _, tokens in texts.values())
    ratio = float(rules()["calibrated_characters"].characters_per_token[vocabulary])
    assert ratio == pytest.approx(seen, rel=0.12)
