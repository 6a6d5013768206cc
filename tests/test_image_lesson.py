"""Promises of notebook 10: what it says is what the rule of patches, the cache and the recordings say."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest

from ctxlab import images, places
from ctxlab.checks import check, exercises, lesson_10, lessons
from ctxlab.notebooks import source

ROOT = Path(places.__file__).parent.parent
NOTEBOOK = ROOT / "notebooks" / "source" / "10-image-tokens.py"


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))


def test_the_given_boxes_name_the_sizes_that_the_rule_gives():
    text = NOTEBOOK.read_text(encoding="utf-8")
    wide = images.resized_size(*lesson_10.FULL_HD, tier="standard")
    assert images.resized_size(*lesson_10.ULTRA_HD, tier="standard") == wide
    assert "is scaled down to {:,} × {}. 4K".format(*wide) in text
    photo = images.resized_size(*lesson_10.WIDE, tier="standard")
    assert images.resized_size(*lesson_10.PHOTO, tier="standard") == photo
    assert "The first is scaled down to {:,} × {}".format(*photo) in text
    assert f"The picture itself: {lesson_10._PICTURE.tokens:,} tokens" in text


def test_fifteen_pixels_save_nothing_and_the_sixteenth_a_row_and_a_column():
    asked = lessons.prediction("10-b")
    assert asked.truth() == {"saved_15": 0, "saved_16": 69 + 39 - 1}


def test_what_dropping_costs_is_what_the_closed_form_says():
    """Both ledgers by hand: one rewrite of what stands behind, and twenty reads of the picture saved."""
    price_usd = Decimal(4) / 10**6
    rewritten = lesson_10.BEHIND_TOKENS * (Decimal("1.25") - Decimal("0.05")) * price_usd
    saved = lesson_10._PICTURE.tokens * lesson_10.TURNS * Decimal("0.05") * price_usd
    assert lesson_10.extra_usd() == rewritten - saved
    decision = images.trim_or_keep(
        lesson_10._PICTURE.tokens, lesson_10.BEHIND_TOKENS, lesson_10.TURNS, "claude-opus-5-5"
    )
    keep_usd, trim_usd = decision.usd("claude-opus-5-5")
    assert trim_usd - keep_usd == lesson_10.extra_usd()


def test_every_size_of_the_table_meets_the_rule_or_says_that_it_is_an_exception():
    rows = [
        [cell.strip() for cell in line.split("|")] for line in lesson_10.sizes_table().text.splitlines()[2:]
    ]
    assert len(rows) > 30
    assert all(told == ruled or why for _, _, told, ruled, _, why in rows)


def test_the_sample_request_has_one_picture_that_would_be_refused():
    checked = images.preflight(lesson_10.sample_request())
    assert len(checked.images) == 4
    assert [problem.rule for problem in checked.blocking] == ["media-type-mismatch"]


def test_the_situations_are_decided_as_the_rules_decide_them():
    tokens = lesson_10._PICTURE.tokens
    assert images.trim_or_keep(tokens, 20_000, 20, "claude-opus-5-5").advice == "keep"  # S1
    assert images.trim_or_keep(tokens, 0, 1, "claude-opus-5-5").advice == "trim"  # S3
    ten_less = images.image_tokens(1910, 1070, tier="high-res")
    assert ten_less == images.image_tokens(1920, 1080, tier="high-res")  # S4
    assert images.max_side_pixels(21) < 2_400 <= images.max_side_pixels(20)  # S6


def test_the_map_keeps_a_picture_longer_the_more_stands_behind_it():
    rows = [line.split("|") for line in repr(lesson_10.decision_map()).partition("\n\n")[0].splitlines()[3:]]
    kept = [sum("keep" in cell for cell in row) for row in rows]
    assert kept == sorted(kept)
    assert kept[0] == 0 < kept[-1]


def test_other_seeds_ask_other_questions_of_the_same_rules():
    for name in ("10-1", "10-3", "10-4", "10-5"):
        asked = lessons.exercise(name)
        one, other = (asked.cases(random.Random(seed)) for seed in (1, 2))
        assert [case.rule for case in one] == [case.rule for case in other]
        assert [case.args for case in one] != [case.args for case in other]


@pytest.mark.parametrize("got", [5, "png", None, [], (1, 2, 3), [[0, 0]], {"width": 3}])
def test_whatever_a_learner_returns_is_told_in_a_panel(got):
    assert check("10-1", lambda *args: got).word in ("BROKEN RULE", "NOT YET")
    assert check("10-3", lambda *args: got).word in ("BROKEN RULE", "NOT YET")
    assert check("10-4", lambda sizes: got).word in ("BROKEN RULE", "NOT YET")
    assert check("10-5", lambda name, data: got).word in ("BROKEN RULE", "NOT YET")


def test_no_word_of_the_header_says_what_the_predictions_ask():
    front = source.edition(source.read(NOTEBOOK), answered=False)[0].text
    for giveaway in (
        "same number",
        "saves nothing",
        "written again",
        "in steps",
        "staircase",
        "saves anything",
    ):
        assert giveaway not in front


def test_nothing_outside_a_reveal_explains_what_the_predictions_ask():
    text = NOTEBOOK.read_text(encoding="utf-8").partition("## Room stops here")[0]
    assert text.count('after("10-c"')
    prose = text.partition('# %% tags=["setup"]')[2]
    for giveaway in ("**Why", "staircase**", "write - read", "w − r", "sees the same", "written again on"):
        assert giveaway not in prose


def test_every_option_says_why_and_the_wrong_ones_name_figures_that_their_idea_gives():
    for name in ("10-a", "10-exit"):
        asked = lessons.prediction(name)
        assert {option.text.count(" and ") for option in asked.options if "About" in option.text} == {1}
        assert sum("The same for both" in option.text for option in asked.options) == 2
    for name in ("10-b", "10-c"):
        assert all(": " in option.text for option in lessons.prediction(name).options)


def judged(number, *work, seed=0):
    return exercises.judge(lessons.exercise(number), work, seed=seed)


def test_a_choice_may_be_spelt_with_capitals_and_another_word_is_told():
    choices = {name: f" {choice.title()}" for name, (choice, *_) in lesson_10._SITUATIONS.items()}
    assert judged("10-2", choices).state == "done"
    assert judged("10-2", {**choices, "S1": "leave"}).rule == "one-of-three-words"


@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_share_is_enough_and_less_than_it_is_not(seed):
    def best_size(more):
        def best(width, height, save):
            most = images.patches(width, height) * (1 - save)
            for side in range(max(width, height), 0, -1):
                sizes = [max(1, round(one * side / max(width, height))) for one in (width, height)]
                if images.patches(*sizes) + more <= most:
                    return sizes
            raise ValueError

        return best

    assert judged("10-3", best_size(0), seed=seed).state == "done"
    assert judged("10-3", lambda *args: map(float, best_size(0)(*args)), seed=seed).state == "done"
    assert judged("10-3", best_size(0.001), seed=seed).rule == "staircase"


def test_a_picture_that_is_scaled_to_nothing_is_no_repair_and_any_container_will_do():
    def repaired(sizes, to):
        limit = 2_000 if len(sizes) > 20 else 8_000
        for size in sizes:
            longer = max(size)
            yield tuple(max(1, side * to(limit) // longer) for side in size) if longer > limit else size

    assert judged("10-4", lambda sizes: repaired(sizes, int)).state == "done"
    assert judged("10-4", lambda sizes: [list(one) for one in repaired(sizes, int)]).state == "done"
    assert judged("10-4", lambda sizes: list(repaired(sizes, lambda limit: limit // 2))).rule == "no-further"
    assert judged("10-4", lambda sizes: list(repaired(sizes, lambda limit: 1))).rule == "no-further"


def test_bytes_that_only_speak_of_a_kind_are_none_of_that_kind():
    starts = {"png": b"\x89PNG", "jpeg": b"\xff\xd8\xff", "gif": b"GIF8", "webp": b"WEBP"}

    def anywhere(name, data):
        return f"image/{next(kind for kind, start in starts.items() if start in data)}"

    assert judged("10-5", anywhere).state == "stuck"


def test_a_side_that_is_rounded_to_nothing_is_noticed():
    def no_floor(width, height, max_edge, max_tokens):
        longer = max(width, height)
        for side in range(min(longer, max_edge), 0, -1):
            across, down = (-(-round(one * side / longer) // 28) for one in (width, height))
            if across * down <= max_tokens:
                return across * down
        return 0

    assert judged("10-1", no_floor).rule == "edge-limit-binds"
