"""The rules of the cache as data, and the switches for what the vendor leaves open.

Models: one :class:`Rule` per statement the engine follows, with source, date and evidence; the table of what
a changed parameter loses; :class:`CacheRules`, whose defaults promise the fewest hits unless a recording says
more.
Does not model: anything by itself; :mod:`ctxlab.cache.layout` and :mod:`ctxlab.cache.engine` follow it.
Source: ``ctxlab/cache_rules.toml``, which names page or recording per rule.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import SEGMENTS, KeyOrder, Segment

Tier = Segment
"""A level of the prefix: a change loses its own level and those behind it (tools, system, messages)."""
Ttl = Literal["5m", "1h"]
Evidence = Literal["recorded", "reported", "documented", "assumed"]

LIFETIME_S: Mapping[Ttl, int] = {"5m": 300, "1h": 3600}
LOOKBACK_POSITIONS = 20
MAX_MARKERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """Every rule the vendor leaves open, as a switch; each is a row of :func:`rules`.

    ``schema_key_order``: whether the order of keys in a tool's schema counts ("sent") or not ("sorted").
    ``tool_run_positions``: whether calls in a row, or results in a row, are "one" position or one "each".
    ``deep_hit_refreshes``: "itself", or also the entries under the request's other "markers".
    ``long_marker_upgrades``: a 1h marker makes the 5m entry on its block a 1h entry.
    ``marker_before_hit_creates``: a marker before the deepest entry found makes an entry of its own.
    ``image_presence_invalidates_messages``: the first or last picture of a request loses the messages.
    ``thinking_change_loses``, ``unlisted_parameter_loses``: the first tier that is lost.
    ``written_out_defaults``: whether a default that is written out is the "same" as one left out, or
    "different", where nobody says.
    ``marker_inside_result``: a marker inside a tool result stands for one on the "result", or is "ignored".
    ``unknown_floor_tokens``: for models whose minimum nobody states.
    ``expiry_grace_s``: how long beyond its lifetime an entry is still read.
    ``visibility_delay_s``: how long after the first byte of its answer an entry cannot be read.
    """

    schema_key_order: KeyOrder = "sent"
    tool_run_positions: Literal["one", "each"] = "one"
    deep_hit_refreshes: Literal["itself", "markers"] = "markers"
    long_marker_upgrades: bool = False
    marker_before_hit_creates: bool = False
    image_presence_invalidates_messages: bool = False
    thinking_change_loses: Tier = "tools"
    unlisted_parameter_loses: Tier = "tools"
    written_out_defaults: Literal["same", "different"] = "different"
    marker_inside_result: Literal["result", "ignored"] = "result"
    unknown_floor_tokens: int = 1024
    expiry_grace_s: float = 0.0
    visibility_delay_s: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        for field in fields(self):
            value = getattr(self, field.name)
            allowed = _WORDS.get(field.name)
            if allowed is not None and value not in allowed:
                problems.append(_switch(field.name, value, f"use one of {', '.join(map(repr, allowed))}"))
            elif field.name in _NUMBERS and not _is_amount(value):
                problems.append(_switch(field.name, value, "give a number, 0 or more"))
        if problems:
            raise InvalidArgumentError(problems)


@dataclass(frozen=True, slots=True)
class Rule:
    """One statement the cache follows; ``switch`` names the field of :class:`CacheRules` that decides it,
    ``test`` the test that pins it."""

    id: str
    says: str
    source: str
    date: date
    evidence: Evidence
    switch: str | None
    test: str


@dataclass(frozen=True, slots=True)
class Invalidation:
    """What a change loses: ``loses`` is the first tier that goes, or "from there" on.

    ``seen_in`` says where the change shows: in ``parameters``, in the ``blocks`` (a property of them), in the
    ``digests`` of the prefix, or in what the server does to the ``prompt`` before the model reads it.
    """

    id: str
    change: str
    seen_in: Literal["parameters", "blocks", "digests", "prompt"]
    parameters: tuple[str, ...]
    loses: str
    source: str
    date: date
    evidence: Evidence
    switch: str | None
    test: str


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by id; the first call reads the file.

    >>> rules()["lookback"].evidence
    'reported'
    """
    return {row["id"]: Rule(**{"switch": None, **row}) for row in table()["rules"]}


@cache
def invalidations() -> tuple[Invalidation, ...]:
    """What each change loses, in the order of the vendor's table.

    >>> {row.change: row.loses for row in invalidations()}["fast and standard speed"]
    'system'
    """
    return tuple(
        Invalidation(
            row["id"],
            row["change"],
            row["seen_in"],
            tuple(row.get("parameters", ())),
            row["loses"],
            row["source"],
            row["date"],
            row["evidence"],
            row.get("switch"),
            row["test"],
        )
        for row in table()["invalidation"]
    )


def parameters_by_tier(
    parameters: Mapping[str, Any], model_id: str, *, citations: bool, images: bool, switches: CacheRules
) -> dict[Tier, str]:
    """For each tier the parameters whose change loses it first, as canonical JSON.

    ``citations`` and ``images`` say whether any block of the request has them. A default that is written out
    is the same as one left out where the vendor says so (effort), where the field has two values (speed), and
    elsewhere if ``switches.written_out_defaults`` says so.

    >>> by_tier = parameters_by_tier({"max_tokens": 9, "speed": "fast", "tool_choice": {"type": "any"}},
    ...     "claude-opus-5", citations=False, images=False, switches=CacheRules())
    >>> by_tier["tools"], by_tier["system"], by_tier["messages"]
    ('{}', '{"speed":"fast"}', '{"tool_choice":{"type":"any"}}')
    """
    losing: dict[Tier, dict[str, Any]] = {tier: {} for tier in SEGMENTS}
    for name, value in _flat(parameters):
        if name in table()["outside_the_prompt"] or _is_default(name, value, model_id):
            continue
        if switches.written_out_defaults == "same":
            value = _without_false(value) if name == "tool_choice" else value
            if value == _assumed_default(name, model_id):
                continue
        losing[_first_lost(name, switches)][name] = value
    if citations:
        losing["system"]["citations"] = True
    if images and switches.image_presence_invalidates_messages:
        losing["messages"]["images"] = True
    return {
        tier: json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        for tier, values in losing.items()
    }


def _flat(parameters: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """``output_config`` is a bag of settings that lose different things; each goes by its own name."""
    found = []
    for name, value in parameters.items():
        if name == "output_config" and isinstance(value, Mapping):
            found += [(f"output_config.{key}", setting) for key, setting in value.items()]
        else:
            found.append((name, value))
    return [(name, value) for name, value in found if value is not None]


def _is_default(name: str, value: Any, model_id: str) -> bool:
    if name == "output_config.effort":
        return bool(value == table()["default_effort"].get(model_id, "high"))
    return name == "speed" and value == "standard"


def _without_false(tool_choice: Any) -> Any:
    """A choice of tools whose parallel calls are not disabled, as one that does not mention them."""
    if isinstance(tool_choice, Mapping) and tool_choice.get("disable_parallel_tool_use") is False:
        return {key: value for key, value in tool_choice.items() if key != "disable_parallel_tool_use"}
    return tool_choice


def _assumed_default(name: str, model_id: str) -> Any:
    """What a parameter is for this model when it is left out; None where nobody says."""
    if name == "thinking":
        kind = table()["default_thinking"].get(model_id)
        return kind and {"type": kind}
    return table()["default_parameters"].get(name)


def _first_lost(parameter: str, switches: CacheRules) -> Tier:
    row = _by_parameter().get(parameter)
    switch = "unlisted_parameter_loses" if row is None else row.switch
    lost: Tier = getattr(switches, switch) if switch else row.loses  # type: ignore[union-attr,assignment]
    return lost


@cache
def _by_parameter() -> Mapping[str, Invalidation]:
    return {name: row for row in invalidations() for name in row.parameters}


@cache
def table() -> Mapping[str, Any]:
    """The file itself, parsed once."""
    text = Path(__file__).parent.with_name("cache_rules.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


_WORDS: Mapping[str, tuple[object, ...]] = {
    "schema_key_order": ("sent", "sorted"),
    "tool_run_positions": ("one", "each"),
    "deep_hit_refreshes": ("itself", "markers"),
    "long_marker_upgrades": (True, False),
    "marker_before_hit_creates": (True, False),
    "image_presence_invalidates_messages": (True, False),
    "thinking_change_loses": SEGMENTS,
    "unlisted_parameter_loses": SEGMENTS,
    "written_out_defaults": ("same", "different"),
    "marker_inside_result": ("result", "ignored"),
}
_NUMBERS = ("unknown_floor_tokens", "expiry_grace_s", "visibility_delay_s")


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _switch(name: str, value: object, fix: str) -> Problem:
    return Problem(f"rules.{name}", "known-switch", f"is {value!r}", fix)
