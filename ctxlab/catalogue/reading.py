"""From ``catalogue.toml`` to models: what a figure falls back on, and prices oldest first.

Models: the file as it is, its models by every name, and the sources it cites; read when first asked for.
Does not model: forms of a name that the file does not list (:mod:`ctxlab.catalogue.names`).
Source: ``ctxlab/catalogue.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from ctxlab.catalogue.model import Model, Prices, RateCard, Source

#: Confidences below which a figure counts as unverified (third party, own inference).
_UNVERIFIED = frozenset("CD")


def sources() -> Mapping[str, Source]:
    """Every source the catalogue cites, by key."""
    return dict(catalogue().sources)


def web_search_usd() -> Fraction:
    """USD for one web search by the server tool, on top of its tokens."""
    return Fraction(toml()["server_tools"]["web_search_usd_per_1000"]) / 1000


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models in the order of the file, each of them by every name it lists, and the sources."""

    models: tuple[Model, ...]
    by_name: dict[str, Model]
    sources: dict[str, Source]


@cache
def toml() -> dict[str, Any]:
    """The file as it is."""
    import tomllib

    return tomllib.loads((Path(__file__).parents[1] / "catalogue.toml").read_text(encoding="utf-8"))


@cache
def catalogue() -> Catalogue:
    """The file as models. Raises ``ValueError`` for a name given twice and for a figure nobody knows."""
    data = toml()
    cited = {key: Source(key=key, **entry) for key, entry in data["sources"].items()}
    known_models = tuple(model_of(entry, data, cited) for entry in data["models"])
    by_name: dict[str, Model] = {}
    for model in known_models:
        for name in (model.id, *model.aliases):
            if name in by_name:
                raise ValueError(f"catalogue.toml gives {name} to both {by_name[name].id} and {model.id}")
            by_name[name] = model
    return Catalogue(known_models, by_name, cited)


_PRICE_FIGURES = (
    "rates",
    "fast_rates",
    "cache_write_5m_multiplier",
    "cache_write_1h_multiplier",
    "cache_read_multiplier",
    "batch_multiplier",
    "us_geo_multiplier",
)
_FIGURES = (
    "line",
    "released",
    "window_tokens",
    "max_output_tokens",
    *_PRICE_FIGURES,
    "min_cacheable_tokens",
    "image_tier",
    "vocabulary",
    "keeps_thinking",
    "forced_tool_choice",
    "itpm_counts_cache_reads",
    "lifecycle",
    "deprecated_at",
    "retires_at",
)


def model_of(entry: dict[str, Any], data: dict[str, Any], cited: dict[str, Source]) -> Model:
    """One entry of the file as a model."""
    unknown = entry.keys() - {*_FIGURES, "id", "aliases", "source", "sources", "earlier"}
    for row in entry.get("earlier", ()):
        unknown |= row.keys() - {*_PRICE_FIGURES, "until", "source"}
    if unknown:
        raise ValueError(f"catalogue.toml: {entry['id']} has unknown fields {sorted(unknown)}")
    entry = {**(data["price_defaults"] if "rates" in entry else {}), **entry}
    keys = {
        figure: entry.get("sources", {}).get(figure) or data["figure_sources"].get(figure) or entry["source"]
        for figure in _FIGURES
        if figure in entry
    }
    able = {
        name: table["source"]
        for name, table in data["capabilities"].items()
        if entry["id"] in table["models"]
    }
    return Model(
        id=entry["id"],
        aliases=tuple(entry.get("aliases", ())),
        line=entry.get("line"),
        released=entry.get("released"),
        window_tokens=entry.get("window_tokens"),
        max_output_tokens=entry.get("max_output_tokens"),
        price_history=_price_history(entry),
        min_cacheable_tokens=entry.get("min_cacheable_tokens"),
        image_tier=entry.get("image_tier"),
        vocabulary=entry["vocabulary"],
        keeps_thinking=entry.get("keeps_thinking"),
        forced_tool_choice=entry.get("forced_tool_choice"),
        itpm_counts_cache_reads=entry.get("itpm_counts_cache_reads", False),
        lifecycle=entry["lifecycle"],
        deprecated_at=entry.get("deprecated_at"),
        retires_at=entry.get("retires_at"),
        capabilities=frozenset(able),
        as_of=data["as_of"],
        source=cited[entry["source"]],
        figure_sources=tuple((figure, cited[key]) for figure, key in {**keys, **able}.items()),
        unverified=frozenset(figure for figure, key in keys.items() if cited[key].confidence in _UNVERIFIED),
    )


def _price_history(entry: dict[str, Any]) -> tuple[Prices, ...]:
    """Oldest first. ``earlier`` rows go back in time, each changing what the row after it says."""
    if "rates" not in entry:
        return ()
    history: list[Prices] = []
    current = entry
    for row in entry.get("earlier", ()):
        history.append(_prices(current, since=row["until"]))
        current = {**current, **row}
    history.append(_prices(current, since=None))
    return tuple(reversed(history))


def _prices(entry: dict[str, Any], *, since: date | None) -> Prices:
    geo = entry.get("us_geo_multiplier")
    fast = entry.get("fast_rates")
    return Prices(
        since=since,
        cards=_cards(entry["rates"]),
        fast_cards=None if fast is None else _cards(fast),
        cache_write_5m_multiplier=Fraction(entry["cache_write_5m_multiplier"]),
        cache_write_1h_multiplier=Fraction(entry["cache_write_1h_multiplier"]),
        cache_read_multiplier=Fraction(entry["cache_read_multiplier"]),
        batch_multiplier=Fraction(entry["batch_multiplier"]),
        us_geo_multiplier=None if geo is None else Fraction(geo),
    )


def _cards(rows: list[dict[str, Any]]) -> tuple[RateCard, ...]:
    return tuple(
        RateCard(row.get("up_to_total_input_tokens"), Fraction(row["input"]), Fraction(row["output"]))
        for row in rows
    )
