"""Promises of ctxlab.catalogue: every name resolves to one model or to none, every figure has a source."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxlab
from ctxlab import recordings
from ctxlab.catalogue import Model, get_model, models, reading, sources, web_search_usd
from ctxlab.errors import InvalidArgumentError, UnknownModelError, UnpricedModelError

# Table of models in force on 2026-11-30: input, output, 5m write, 1h write, read (USD per million tokens).
# platform.claude.com prompt-caching page, 2026-09, and pricing page, 2026-10.
PRICE_TABLE = {
    "claude-fable-5-2": ("8", "40", "10", "16", "0.20"),
    "claude-fable-5-1": ("10", "50", "12.50", "20", "0.25"),
    "claude-mythos-5-1": ("10", "50", "12.50", "20", "0.25"),
    "claude-opus-5-5": ("4", "20", "5", "8", "0.20"),
    "claude-sonnet-5-5": ("2", "10", "2.50", "4", "0.10"),
    "claude-opus-5": ("5", "25", "6.25", "10", "0.50"),
    "claude-fable-5": ("10", "50", "12.50", "20", "1.00"),
    "claude-mythos-5": ("10", "50", "12.50", "20", "1.00"),
    "claude-sonnet-5": ("2", "10", "2.50", "4", "0.20"),
    "claude-opus-4-8": ("5", "25", "6.25", "10", "0.50"),
    "claude-opus-4-7": ("5", "25", "6.25", "10", "0.50"),
    "claude-opus-4-6": ("5", "25", "6.25", "10", "0.50"),
    "claude-sonnet-4-6": ("3", "15", "3.75", "6", "0.30"),
    "claude-opus-4-5": ("5", "25", "6.25", "10", "0.50"),
    "claude-sonnet-4-5": ("3", "15", "3.75", "6", "0.30"),
    "claude-haiku-4-5": ("1", "5", "1.25", "2", "0.10"),
    "claude-opus-4-1": ("15", "75", "18.75", "30", "1.50"),
    "claude-opus-4-0": ("15", "75", "18.75", "30", "1.50"),
    "claude-sonnet-4-0": ("3", "15", "3.75", "6", "0.30"),
    "claude-3-5-haiku-latest": ("0.80", "4", "1", "1.60", "0.08"),
}


# --- names


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("anthropic.claude-2.1", "claude-2.1"),
        ("bedrock/anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4-20250514"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5",
        ),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        (
            "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
            "claude-3-haiku-20240307",
        ),
        (
            "bedrock/arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-6-v1",
            "claude-opus-4-6",
        ),
        ("bedrock/invoke/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("litellm_proxy/anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("bedrock/us-gov-west-1/anthropic.claude-3-5-haiku-20241022-v1:0", "claude-3-5-haiku-20241022"),
        ("anthropic.claude-3-haiku-20240307-v1:0:200k", "claude-3-haiku-20240307"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]", "claude-sonnet-4-5"),
        ("anthropic:claude-opus-4-5", "claude-opus-4-5"),
        ("bedrock:us.anthropic.claude-opus-5-5", "claude-opus-5-5"),
        (
            "projects/p-1/locations/us-east5/publishers/anthropic/models/claude-opus-4-5@20251101",
            "claude-opus-4-5",
        ),
        ("vertex_ai/claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet-20241022"),
        ("openrouter/anthropic/claude-3.7-sonnet", "claude-3-7-sonnet-20250219"),
        ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("claude-opus-5@default", "claude-opus-5"),
        ("claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
    ],
)
def test_the_forms_of_a_known_name_resolve(name: str, model_id: str) -> None:
    assert get_model(name).id == model_id


def test_a_tag_for_a_long_window_does_not_lengthen_the_window() -> None:
    assert get_model("claude-sonnet-4-5[1m]").window_tokens == 200_000


@pytest.mark.parametrize(
    "name",
    [
        "claude-new-9",
        "claude-sonnet-9",
        "claude-opus-5-5-foo",
        "claude-opus-4-5-20991231",
        "us.anthropic.claude-new-9-v1:0",
        "somebody/claude-opus-5",
        "somebody:claude-opus-5",
        "bedrock/somewhere/anthropic.claude-opus-5",
        "us-east-1/anthropic.claude-opus-5",
        "arn:aws:s3:::bucket/claude-opus-5",
        "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2c3",
        "projects/p/publishers/anthropic/models/claude-opus-5",
        "anthropic/claude-3.7-sonnet:thinking",
        "mars.anthropic.claude-opus-5-v1:0",
        "claude-opus-4-5-20251101-v1:0",
        "Claude-Opus-5",
        " claude-opus-5",
        "claude-opus",
        "gpt-5",
        "",
    ],
)
def test_an_unknown_name_is_never_mapped_to_a_family(name: str) -> None:
    with pytest.raises(UnknownModelError):
        get_model(name)


@pytest.mark.parametrize("name", [None, 5, b"claude-opus-5", ["claude-opus-5"]])
def test_what_is_no_name_is_unknown_too(name: object) -> None:
    with pytest.raises(UnknownModelError):
        get_model(name)  # type: ignore[arg-type]


@given(st.text(max_size=60))
def test_any_text_is_either_a_listed_name_or_unknown(name: str) -> None:
    try:
        found = get_model(name)
    except UnknownModelError:
        found = None
    assert found is None or found in models()


def test_the_error_names_the_nearest_ids() -> None:
    with pytest.raises(UnknownModelError, match="did you mean claude-sonnet-5,") as caught:
        get_model("claude-sonet-5")
    assert caught.value.nearest[0] == "claude-sonnet-5"


@pytest.mark.parametrize("tag", ["[2m]", "[fast]", "[1m][1m]", "[]", "[1m"])
def test_a_tag_that_nobody_listed_is_named_and_not_dropped(tag: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        get_model(f"claude-sonnet-4-5{tag}")
    assert "has the tag [" in caught.value.problems[0].message
    assert caught.value.nearest[0] == "claude-sonnet-4-5"
    with pytest.raises(UnknownModelError, match="is in no list of models"):
        get_model("claude-new-9[1m]")


def test_the_nearest_ids_do_not_depend_on_case_or_on_a_whole_id() -> None:
    for name, nearest in {
        "CLAUDE-OPUS-4-5": "claude-opus-4-5",
        " Claude-Opus-5 ": "claude-opus-5",
        "claude-opus-4-6-20260205": "claude-opus-4-6",
        "claude-opus-4-5-latest": "claude-opus-4-5",
        "claude-4.5-sonnet": "claude-sonnet-4-5",
        "claude-4-opus": "claude-opus-4-20250514",
        "opus": next(model.id for model in models() if "opus" in model.id),
        "Haiku": next(model.id for model in models() if "haiku" in model.id),
    }.items():
        with pytest.raises(UnknownModelError) as caught:
            get_model(name)
        assert caught.value.nearest[0] == nearest


@pytest.mark.parametrize("name", ["", "xx", "gpt", "zebra"])
def test_what_resembles_no_id_has_no_nearest(name: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        get_model(name)
    assert caught.value.nearest == ()


def test_a_model_resolves_to_itself() -> None:
    assert get_model(models()[0]) is models()[0]


def test_no_name_belongs_to_two_models_and_each_resolves() -> None:
    names = [name for model in models() for name in (model.id, *model.aliases)]
    assert len(names) == len(set(names))
    assert all(get_model(name) is model for model in models() for name in (model.id, *model.aliases))


def test_every_recorded_model_is_known() -> None:
    asked = {row.model_id for row in recordings.exchanges() if row.model_id and row.status == 200}
    asked |= {turn.model_id for session in recordings.sessions() for turn in session.turns}
    assert len(asked) > 15
    assert all(get_model(name) in models() for name in asked)


# --- prices


@pytest.mark.parametrize("name", PRICE_TABLE)
def test_prices_and_multipliers_give_the_published_table(name: str) -> None:
    model = get_model(name)
    (card,) = model.rates or ()
    price = card.input_usd_per_mtok
    assert (
        price,
        card.output_usd_per_mtok,
        price * model.cache_write_5m_multiplier,
        price * model.cache_write_1h_multiplier,
        price * model.cache_read_multiplier,
    ) == tuple(map(Fraction, PRICE_TABLE[name]))


def test_a_batch_is_half_the_price_and_us_only_a_tenth_more_from_4_6_on() -> None:
    """platform.claude.com pricing page, 2026-08."""
    for model in models():
        if model.price_history:
            from_4_6_on = model.released is not None and model.released >= date(2026, 2, 5)
            assert model.batch_multiplier == Fraction("0.5")
            assert model.us_geo_multiplier == (Fraction("1.1") if from_4_6_on else None)


def test_one_model_has_two_cards_and_the_prompt_size_chooses() -> None:
    """Haiku 5.5: platform.claude.com Haiku 5.5 page, 2026-10."""
    prices = get_model("claude-haiku-5-5").rates_at()
    assert prices.tiered
    low, high = prices.card(100_000), prices.card(100_001)
    assert (low.input_usd_per_mtok, low.output_usd_per_mtok) == (Fraction("0.10"), Fraction("0.50"))
    assert (high.input_usd_per_mtok, high.output_usd_per_mtok) == (Fraction("0.50"), Fraction("2.50"))
    assert [model.id for model in models() if model.tiered] == ["claude-haiku-5-5"]


@pytest.mark.parametrize(
    ("on", "read"),
    [
        (date(2026, 9, 28), "0.1"),
        (date(2026, 10, 6), "0.1"),
        (date(2026, 10, 7), "0.05"),
        (datetime(2026, 10, 6, 23, 59, tzinfo=UTC), "0.1"),
        (None, "0.05"),
    ],
)
def test_a_price_that_changed_holds_from_its_day(on: date | None, read: str) -> None:
    assert get_model("claude-sonnet-5-5").rates_at(on).cache_read_multiplier == Fraction(read)


def test_a_day_that_is_no_date_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"give a datetime\.date"):
        get_model("claude-sonnet-5-5").rates_at("2026-10-06")  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", [-1, True, 100_000.5, float("nan"), "5", None])
def test_what_is_no_number_of_tokens_has_no_card(tokens: object) -> None:
    with pytest.raises(InvalidArgumentError, match="total_input_tokens"):
        get_model("claude-haiku-5-5").rates_at().card(tokens)  # type: ignore[arg-type]


def test_fast_mode_has_cards_of_its_own_where_there_is_one() -> None:
    assert get_model("claude-opus-5-5").rates_at().card(9, fast=True).output_usd_per_mtok == 40
    usual = get_model("claude-sonnet-5-5").rates_at()
    assert usual.card(9, fast=True) is usual.card(9)


def test_a_model_without_a_price_says_so_instead_of_zero() -> None:
    model = get_model("claude-2.1")
    assert model.rates is None
    with pytest.raises(UnpricedModelError, match=r"claude-2\.1"):
        _ = model.cache_read_multiplier


def test_a_search_costs_a_cent() -> None:
    assert web_search_usd() == Fraction("0.01")


# --- figures and their sources


def test_minimum_prefixes_fall_into_the_four_documented_groups() -> None:
    """platform.claude.com prompt-caching page, 2026-10."""
    groups: dict[int | None, set[str]] = {}
    for model in models():
        groups.setdefault(model.min_cacheable_tokens, set()).add(model.id)
    assert groups.keys() == {512, 1_024, 2_048, 4_096, None}
    assert groups[4_096] == {"claude-opus-4-6", "claude-opus-4-5", "claude-haiku-4-5"}
    assert groups[2_048] == {"claude-opus-4-7", "claude-mythos-preview", "claude-3-5-haiku-20241022"}
    assert {"claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5"} <= groups[1_024]


def test_no_recorded_cached_prefix_is_below_its_models_minimum() -> None:
    compared = 0
    for row in recordings.exchanges():
        if row.usage is None or row.model_id is None or row.usage.iterations or row.evidence != "recorded":
            continue
        cached = row.usage.cache_read_input_tokens + row.usage.cache_creation_input_tokens
        floor = get_model(row.model_id).min_cacheable_tokens
        if cached and floor is not None:
            assert cached >= floor, row.id
            compared += 1
    assert compared > 50


def test_every_recorded_model_that_cached_or_thought_is_said_to() -> None:
    for row in recordings.exchanges():
        if row.usage is None or row.model_id is None or row.status != 200:
            continue
        model = get_model(row.model_id)
        if row.usage.cache_read_input_tokens + row.usage.cache_creation_input_tokens:
            assert "prompt_caching" in model.capabilities, row.id
        if "thinking" in row.parameters:
            assert model.keeps_thinking is not None, row.id


def test_earlier_thinking_is_dropped_by_the_older_models_only() -> None:
    """platform.claude.com thinking page, 2026-10: last turn only up to Sonnet 4.5, Opus 4.1, Haiku 4.5."""
    assert {model.id for model in models() if model.keeps_thinking == "last-turn"} == {
        "claude-haiku-4-5",
        "claude-sonnet-4-5",
        "claude-opus-4-1-20250805",
        "claude-opus-4-20250514",
        "claude-sonnet-4-20250514",
        "claude-3-7-sonnet-20250219",
    }


def test_pictures_are_large_from_4_7_on() -> None:
    """platform.claude.com vision page, 2026-08."""
    for model in models():
        old = model.released is None or model.released < date(2026, 4, 1)
        assert model.image_tier in (None, "standard" if old else "high-res")


def test_windows_and_outputs_are_as_published() -> None:
    for model in models():
        if model.lifecycle != "retired":
            old = model.id in {"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}
            assert (model.window_tokens, model.max_output_tokens) == (
                (200_000, 64_000) if old else (1_000_000, 128_000)
            )
        elif model.rates is not None:
            assert model.window_tokens == 200_000


@pytest.mark.parametrize(
    ("name", "released"),
    [
        ("claude-fable-5-2", date(2026, 11, 9)),
        ("claude-haiku-5-5", date(2026, 10, 7)),
        ("claude-sonnet-5-5", date(2026, 9, 28)),
        ("claude-opus-5-5", date(2026, 9, 22)),
        ("claude-fable-5-1", date(2026, 9, 1)),
        ("claude-opus-5", date(2026, 7, 24)),
        ("claude-sonnet-5", date(2026, 6, 30)),
        ("claude-fable-5", date(2026, 6, 9)),
        ("claude-opus-4-8", date(2026, 5, 28)),
        ("claude-opus-4-7", date(2026, 4, 16)),
        ("claude-sonnet-4-6", date(2026, 2, 17)),
        ("claude-opus-4-6", date(2026, 2, 5)),
        ("claude-opus-4-5", date(2025, 11, 24)),
        ("claude-haiku-4-5", date(2025, 10, 15)),
        ("claude-sonnet-4-5", date(2025, 9, 29)),
    ],
)
def test_a_model_has_the_day_it_was_published(name: str, released: date) -> None:
    assert get_model(name).released == released


def test_every_figure_cites_a_source_that_exists() -> None:
    cited = {source.key for model in models() for _, source in model.figure_sources}
    assert cited <= sources().keys()
    for model in models():
        assert model.source.what
        assert {"rates", "lifecycle"} & {figure for figure, _ in model.figure_sources}


def test_no_source_stands_there_unused() -> None:
    text = (Path(ctxlab.__file__).parent / "catalogue.toml").read_text(encoding="utf-8")
    assert [key for key in sources() if text.count(f'"{key}"') == 0] == []


def test_figures_from_third_parties_or_inference_are_visible_as_unverified() -> None:
    newest, official = get_model("claude-fable-5-2"), get_model("claude-opus-4-8")
    assert {"rates", "min_cacheable_tokens", "batch_multiplier"} <= newest.unverified
    assert newest.source_of("rates").confidence == "C"
    assert official.unverified == set()
    assert get_model("claude-opus-5-5").unverified == {"fast_rates", "vocabulary"}


def test_a_figure_says_where_it_comes_from() -> None:
    assert str(get_model("claude-sonnet-5-5").source_of("cache_read_multiplier")) == (
        "platform.claude.com: about-claude/pricing, 2026-10-09"
    )


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("claude-opus-5-5", "rats"),
        ("claude-opus-5-5", None),
        ("claude-mythos-5-2", "rates"),
        ("claude-haiku-4-5", "compaction"),
    ],
)
def test_what_is_not_known_of_a_model_has_no_source(name: str, figure: str) -> None:
    with pytest.raises(InvalidArgumentError, match="known-figure"):
        get_model(name).source_of(figure)


def test_a_capability_says_where_it_comes_from() -> None:
    for model in models():
        assert all(model.source_of(capability).what for capability in model.capabilities)
    assert get_model("claude-haiku-5-5").source_of("compaction").key == "CTH10"


def test_the_newest_haiku_cites_a_page_on_thinking_that_knows_it() -> None:
    """The page of August 2026 says of all Haiku models that they drop earlier thinking."""
    model = get_model("claude-haiku-5-5")
    assert model.keeps_thinking == "all"
    assert model.released is not None
    assert model.source_of("keeps_thinking").date > model.released


def test_a_row_of_old_prices_with_a_misspelt_figure_is_refused() -> None:
    data = reading.toml()
    (entry,) = (one for one in data["models"] if one["id"] == "claude-sonnet-5-5")
    wrong = {**entry, "earlier": [{"until": date(2026, 10, 7), "cache_read_multipler": "0.1"}]}
    with pytest.raises(ValueError, match="cache_read_multipler"):
        reading.model_of(wrong, data, dict(sources()))
    assert reading.model_of(entry, data, dict(sources())) == get_model("claude-sonnet-5-5")


def test_lifecycle_and_dates_do_not_contradict_each_other() -> None:
    for model in models():
        if model.lifecycle == "active":
            assert model.deprecated_at is None
            assert model.retires_at is None
        if model.lifecycle == "deprecated":
            assert model.retires_at is not None
            assert model.retires_at >= model.as_of
        if model.lifecycle == "retired" and model.retires_at is not None:
            assert model.retires_at < model.as_of
        if model.deprecated_at and model.retires_at:
            assert model.deprecated_at < model.retires_at


def test_capabilities_name_only_models_that_exist() -> None:
    tables = reading.toml()["capabilities"]
    listed = {name for table in tables.values() for name in table["models"]}
    assert listed <= {model.id for model in models()}
    assert "compaction" in get_model("claude-haiku-5-5").capabilities
    assert "compaction" not in get_model("claude-haiku-4-5").capabilities


def test_models_are_values() -> None:
    assert len({*models()}) == len(models())
    assert isinstance(models()[0], Model)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    code = (
        "import sys, ctxlab.usage, ctxlab.cost\n"
        "from ctxlab import catalogue\n"
        "from ctxlab.catalogue import reading\n"
        "assert 'tomllib' not in sys.modules and reading.toml.cache_info().currsize == 0\n"
        "catalogue.get_model('claude-opus-5')\n"
        "assert 'tomllib' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
