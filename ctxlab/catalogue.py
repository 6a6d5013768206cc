"""Which models there are, what they can hold and what they cost, with a source for every figure.

Models: ids and the other names they go by, windows, rate cards (with the one card that depends on the size of
the prompt), cache multipliers, lifecycle, capabilities; prices that changed on a date; and the SDK names this
version knows, so that a change can be noticed (:func:`drift`).
Does not model: hidden token overheads (:mod:`ctxlab.tokens`), negotiated or cloud-vendor prices.
Source: ``catalogue.toml`` beside this file, which names page and date per figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ctxlab.errors import InvalidArgumentError, Problem, UnknownModelError, UnpricedModelError

#: Confidences below which a figure counts as unverified (third party, own inference).
_UNVERIFIED = frozenset("CD")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure comes from; ``confidence`` A to D as explained in ``catalogue.toml``."""

    key: str
    what: str
    date: date
    confidence: str

    def __str__(self) -> str:
        return f"{self.what}, {self.date.isoformat()}"


@dataclass(frozen=True, slots=True)
class RateCard:
    """USD per million tokens, for prompts of at most ``up_to_total_input_tokens`` (None: of any size)."""

    up_to_total_input_tokens: int | None
    input_usd_per_mtok: Fraction
    output_usd_per_mtok: Fraction


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model costs from ``since`` (None: from its release) until the next entry of its history.

    Multipliers are factors on the input price of the request's card; None means the option does not exist.
    """

    since: date | None
    cards: tuple[RateCard, ...]
    fast_cards: tuple[RateCard, ...] | None
    cache_write_5m_multiplier: Fraction
    cache_write_1h_multiplier: Fraction
    cache_read_multiplier: Fraction
    batch_multiplier: Fraction
    us_geo_multiplier: Fraction | None

    @property
    def tiered(self) -> bool:
        """Whether the price of a token depends on the size of the prompt it stands in."""
        return len(self.cards) > 1

    def card(self, total_input_tokens: int, *, fast: bool = False) -> RateCard:
        """The card of a request with that many prompt tokens (fresh + read + written).

        ``fast`` takes the cards of fast mode if the model has one. Raises :class:`InvalidArgumentError` for
        what is no number of tokens.

        >>> prices = get_model("claude-haiku-5-5").rates_at()
        >>> [float(prices.card(tokens).input_usd_per_mtok) for tokens in (100_000, 100_001)]
        [0.1, 0.5]
        """
        whole = isinstance(total_input_tokens, int) and not isinstance(total_input_tokens, bool)
        if not whole or total_input_tokens < 0:
            raise _argument(
                "total_input_tokens",
                "non-negative",
                f"is {total_input_tokens!r}",
                "give a whole number of tokens, 0 or more",
            )
        cards = self.fast_cards if fast and self.fast_cards is not None else self.cards
        for card in cards:
            limit = card.up_to_total_input_tokens
            if limit is None or total_input_tokens <= limit:
                return card
        raise _argument(
            "total_input_tokens",
            "card-covers-request",
            f"is {total_input_tokens}, beyond every card",
            "end the list of cards with one that has no limit",
        )


@dataclass(frozen=True, slots=True)
class Model:
    """One model. A figure that is None is unknown; ``unverified`` names those without an official source."""

    id: str
    aliases: tuple[str, ...]
    line: str | None
    released: date | None
    window_tokens: int | None
    max_output_tokens: int | None
    price_history: tuple[Prices, ...]
    min_cacheable_tokens: int | None
    """Shortest prefix that is cached; a shorter one silently is not. A report of 2,048 for Sonnet 4.6 (on its
    page 1,024) is refuted by a recorded cached prefix of 1,057. Amazon Bedrock has minimums of its own."""
    image_tier: Literal["standard", "high-res"] | None
    vocabulary: Literal["v3", "v4.7", "v4.8"]
    keeps_thinking: Literal["all", "last-turn"] | None
    forced_tool_choice: bool | None
    itpm_counts_cache_reads: bool
    lifecycle: Literal["active", "deprecated", "retired"]
    deprecated_at: date | None
    retires_at: date | None
    capabilities: frozenset[str]
    as_of: date
    source: Source
    figure_sources: tuple[tuple[str, Source], ...]
    unverified: frozenset[str]

    @property
    def rates(self) -> tuple[RateCard, ...] | None:
        """The latest known rate cards, or None for a model without a known price."""
        return self.price_history[-1].cards if self.price_history else None

    @property
    def tiered(self) -> bool:
        """Whether there is more than one card; False for a model without a known price."""
        return self.rates is not None and len(self.rates) > 1

    @property
    def cache_write_5m_multiplier(self) -> Fraction:
        """Price of writing a token for five minutes over that of a fresh one, as of the latest prices."""
        return self.rates_at().cache_write_5m_multiplier

    @property
    def cache_write_1h_multiplier(self) -> Fraction:
        """Price of writing a token for an hour over that of a fresh one, as of the latest prices."""
        return self.rates_at().cache_write_1h_multiplier

    @property
    def cache_read_multiplier(self) -> Fraction:
        """Price of reading a token from the cache over that of a fresh one, as of the latest prices."""
        return self.rates_at().cache_read_multiplier

    @property
    def batch_multiplier(self) -> Fraction:
        """Price of any token in a batch over that of the same token alone, as of the latest prices."""
        return self.rates_at().batch_multiplier

    @property
    def us_geo_multiplier(self) -> Fraction | None:
        """Price of a token handled in the US only over that of any other; None: not offered."""
        return self.rates_at().us_geo_multiplier

    def rates_at(self, on: date | None = None) -> Prices:
        """The prices on a day (default: the latest known). Raises :class:`UnpricedModelError`.

        >>> sonnet = get_model("claude-sonnet-5-5")
        >>> [str(sonnet.rates_at(date(2026, 10, day)).cache_read_multiplier) for day in (6, 7)]
        ['1/10', '1/20']
        """
        if not self.price_history:
            raise UnpricedModelError(
                Problem(
                    self.id,
                    "priced-model",
                    "has no known price",
                    "count it as unpriced (cost.bill_session does), or add its rates to catalogue.toml",
                )
            )
        if on is None:
            return self.price_history[-1]
        if not isinstance(on, date):
            raise _argument("on", "date", f"is {on!r}", "give a datetime.date")
        if isinstance(on, datetime):
            on = on.date()
        return next(
            prices for prices in reversed(self.price_history) if prices.since is None or prices.since <= on
        )

    def source_of(self, figure: str) -> Source:
        """Where one figure comes from, by the name of its field (``rates`` for the cards) or of a capability.

        Raises :class:`InvalidArgumentError` for what is not known of this model.

        >>> get_model("claude-fable-5-2").source_of("rates").confidence
        'C'
        """
        known = dict(self.figure_sources)
        if figure not in known:
            raise _argument(
                "figure",
                "known-figure",
                f"is {figure!r}",
                f"of {self.id} these are known: {', '.join(known)}",
            )
        return known[figure]


def models() -> tuple[Model, ...]:
    """Every model of the catalogue: current ones, newest generation first, then retired ones."""
    return _catalogue().models


def get_model(name: str | Model) -> Model:
    """The model a name stands for.

    Names are ids, aliases, dated ids, the forms clouds and gateways give them
    (``us.anthropic.claude-opus-4-5-20251101-v1:0``, also behind an ARN; ``anthropic/claude-sonnet-4.5``;
    ``claude-opus-4-5@20251101``, also behind a resource path), ids with a dot for the version and ids with
    the tag ``[1m]``. That tag asks for a long window, which Sonnet 4 and 4.5 once had as a beta: it names the
    same model, whose window here is the one without the beta. There is no guessing by family: a name that is
    not listed raises :class:`UnknownModelError`, which holds the nearest ids.

    >>> get_model("us.anthropic.claude-opus-4-5-20251101-v1:0").id
    'claude-opus-4-5'
    >>> try:
    ...     get_model("claude-sonet-5")
    ... except UnknownModelError as error:
    ...     error.nearest[0]
    'claude-sonnet-5'
    """
    if isinstance(name, Model):
        return name
    if isinstance(name, str):
        by_name = _catalogue().by_name
        for form in (name, *_plain_forms(name)):
            if form in by_name:
                return by_name[form]
    raise _unknown(name)


def sources() -> Mapping[str, Source]:
    """Every source the catalogue cites, by key."""
    return dict(_catalogue().sources)


def web_search_usd() -> Fraction:
    """USD for one web search by the server tool, on top of its tokens."""
    return Fraction(_toml()["server_tools"]["web_search_usd_per_1000"]) / 1000


def known(kind: str) -> frozenset[str]:
    """The SDK names of one kind (``usage_fields``, ``betas``, ``edits``, …) that this version knows.

    >>> "cache_creation" in known("usage_fields")
    True
    """
    _drift_table(kind)
    return _known(kind)


def drift(seen: Mapping[str, Iterable[str]]) -> list[Problem]:
    """Compare names found in an SDK with the ones known here, and say which notebook a difference hits.

    ``seen`` maps kinds (the tables below ``drift`` in ``catalogue.toml``) to names. Each name that is new or
    gone gives one problem; a kind that is not in ``seen`` is not compared. Raises
    :class:`InvalidArgumentError` for a kind that is not in the catalogue, and for what is no list of names.

    >>> today = {"edits": known("edits")}
    >>> drift(today)
    []
    >>> drift({"edits": [*today["edits"], "fold_20270101"]})[0].message
    'is new in the SDK; notebook 05 may be wrong'
    """
    if not isinstance(seen, Mapping):
        raise _argument("seen", "kinds", f"is of type {type(seen).__name__}", "map kinds to their names")
    problems = []
    for kind, names in seen.items():
        table = _drift_table(kind)
        found, expected = _names(kind, names), set(table["names"])
        for name in sorted(found ^ expected):
            notebooks = _notebooks_hit(table, name)
            hit = (
                f"notebook {' and '.join(notebooks)} may be wrong"
                if notebooks
                else "no notebook depends on it"
            )
            change = "is new in the SDK" if name in found else "is gone from the SDK"
            problems.append(
                Problem(
                    f"{kind}.{name}",
                    "drift",
                    f"{change}; {hit}",
                    f"read up on it, then bring drift.{kind} in catalogue.toml up to date",
                )
            )
    return problems


@dataclass(frozen=True, slots=True)
class _Catalogue:
    models: tuple[Model, ...]
    by_name: dict[str, Model]
    sources: dict[str, Source]


@cache
def _toml() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))


@cache
def _catalogue() -> _Catalogue:
    data = _toml()
    cited = {key: Source(key=key, **entry) for key, entry in data["sources"].items()}
    known_models = tuple(_model(entry, data, cited) for entry in data["models"])
    by_name: dict[str, Model] = {}
    for model in known_models:
        for name in (model.id, *model.aliases):
            if name in by_name:
                raise ValueError(f"catalogue.toml gives {name} to both {by_name[name].id} and {model.id}")
            by_name[name] = model
    return _Catalogue(known_models, by_name, cited)


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


def _model(entry: dict[str, Any], data: dict[str, Any], cited: dict[str, Source]) -> Model:
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


#: How gateways and clouds wrap an id. A name outside this list of wrappers is not unwrapped.
_GATEWAYS = (
    *("anthropic", "azure", "azure_ai", "bedrock", "bedrock_converse", "converse", "google-vertex"),
    *("openrouter", "vercel", "vertex", "vertex_ai"),
)
_REGIONS = ("us", "eu", "apac", "au", "jp", "ca", "us-gov", "global")
_WRAPPERS = (
    rf"(?:(?:{'|'.join(_GATEWAYS)})[/:])*",
    r"(?:(?<=[/:])[a-z]{2}(?:-[a-z]+)+-\d/)?",  # a region of Bedrock, behind the gateway's name
    r"(?:arn:aws[a-z-]*:bedrock:[^/]*/|(?:projects/[^/]+/locations/[^/]+/)?publishers/anthropic/models/)?",
)

#: The one tag that coding agents put behind an id; any other makes a name unknown.
_LONG_WINDOW = "[1m]"


def _plain_forms(name: str) -> tuple[str, str]:
    """The id inside a cloud's or gateway's form of a name, as it stands and with its dots as dashes."""
    import re

    bare = re.sub(f"^{''.join(_WRAPPERS)}", "", name)
    bare = re.sub(rf"^(?:{'|'.join(_REGIONS)})\.(?=anthropic\.)", "", bare).removesuffix(_LONG_WINDOW)
    if bare.startswith("anthropic."):
        # the version of the deployment, and of those with a shorter window how long it is
        bare = re.sub(r"-v\d+(:\d+)?(:\d+k)?$", "", bare.removeprefix("anthropic."))
    bare = re.sub(r"(?:-v\d+)?@(\d{8})$", r"-\1", bare.removesuffix("@default"))
    return bare, re.sub(r"(?<=\d)\.(?=\d)", "-", bare)


def _unknown(name: object) -> UnknownModelError:
    import re
    from difflib import get_close_matches

    nearest: tuple[str, ...] = ()
    reason = "is in no list of models"
    if isinstance(name, str):
        by_name = _catalogue().by_name
        asked = _plain_forms(name[:200].strip().lower())[1].partition("[")[0]
        close = get_close_matches(asked, list(by_name), n=6, cutoff=0.6)
        if not close and len(asked) > 2:  # one word of an id is too short to be close to any
            close = [known_name for known_name in by_name if asked in known_name]
        undated = re.sub(r"-(?:\d{8}|latest|v\d+(?::\d+)?)$", "", asked)
        if undated in by_name:
            close.insert(0, undated)
        nearest = tuple(dict.fromkeys(by_name[match].id for match in close))[:3]
        _, bracket, tag = name.removesuffix(_LONG_WINDOW).partition("[")
        if bracket:
            reason = f"has the tag {bracket + tag[:20]}, and only {_LONG_WINDOW} is known"
    fix = f"did you mean {', '.join(nearest)}?" if nearest else "catalogue.models() lists them all"
    shown = repr(name) if len(repr(name)) <= 80 else repr(name)[:77] + "..."
    return UnknownModelError(Problem("model", "known-model", f"{shown} {reason}", fix), nearest=nearest)


@cache
def _known(kind: str) -> frozenset[str]:
    return frozenset(_drift_table(kind)["names"])


def _drift_table(kind: str) -> dict[str, Any]:
    tables: dict[str, dict[str, Any]] = _toml()["drift"]
    if not isinstance(kind, str) or kind not in tables:
        raise _argument("kind", "known-kind", f"is {kind!r}", f"one of {', '.join(sorted(tables))}")
    return tables[kind]


def _names(kind: str, names: Iterable[str]) -> set[str]:
    listed = None if isinstance(names, (str, bytes)) or not isinstance(names, Iterable) else list(names)
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise _argument(kind, "names", f"is {names!r}", "give a list of names")
    return set(listed)


def _notebooks_hit(table: dict[str, Any], name: str) -> list[str]:
    watched = [books for part, books in table.get("watch", {}).items() if part in name]
    return sorted({book for books in watched for book in books}) or list(table["notebooks"])


def _argument(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(Problem(path, rule, message, fix))
