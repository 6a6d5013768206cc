"""Which parameters of two requests are different to the cache, and the first tier each of them loses.

Models: model, speed, every other parameter of the cache key, citations switched on by a block; a default that
is written out, as :class:`ctxlab.cache.CacheRules` has it; models that are in no list.
Does not model: blocks (:mod:`ctxlab.breakers.aligned`).
Source: ``ctxlab/cache_rules.toml``, which says for each parameter what it loses and how that is known.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

from ctxlab.breakers.finding import Certainty, Finding, finding
from ctxlab.cache import CacheRules, Layout, Tier, invalidations
from ctxlab.catalogue import Model, get_model
from ctxlab.errors import UnknownModelError
from ctxlab.prompt import SEGMENTS, Prompt

_STAND_IN = "claude-opus-5-5"  # the newest vocabulary, for models that nobody lists
_RICH = frozenset({"document", "search_result", "image"})


class SettingChange(NamedTuple):
    """A finding about a parameter and the first tier that is lost."""

    finding: Finding
    tier: Tier


def model_of(prompt: Prompt, model: str | Model | None = None) -> Model:
    """The model a request names; one that is in no list has no price and no floor.

    Raises :class:`UnknownModelError` for a ``model`` that is given and not known.
    """
    if model is not None:
        return get_model(model)
    named = json.loads(prompt.parameters.get("model", "null"))
    try:
        if isinstance(named, str):
            return get_model(named)
    except UnknownModelError:
        pass
    return replace(
        get_model(_STAND_IN), id=str(named or "unnamed"), price_history=(), min_cacheable_tokens=None
    )


def setting_changes(
    earlier: Prompt, later: Prompt, before: Model, after: Model, rules: CacheRules
) -> list[SettingChange]:
    """Every parameter whose change loses something, the model first."""
    found = []
    if before.id != after.id:
        told = f"{before.id} became {after.id}: nothing of one model's entries can be read by another"
        fix = "stay with one model in a session; let another one work on a short task of its own"
        one = finding("model-switch", "model", told, fix=fix, certainty="confirmed")
        found.append(SettingChange(one, "tools"))
    one_side, other_side = _settings(earlier, before, rules), _settings(later, after, rules)
    same = replace(rules, written_out_defaults="same")
    told_apart = {*_settings(earlier, before, same).items()} ^ {*_settings(later, after, same).items()}
    really = {name for (name, _), _ in told_apart}
    for name, tier in {**one_side, **other_side}:
        if one_side.get((name, tier)) != other_side.get((name, tier)):
            old, new = one_side.get((name, tier)), other_side.get((name, tier))
            found.append(SettingChange(_finding(name, tier, old, new, name in really), tier))
    return found


def _finding(name: str, tier: Tier, old: str | None, new: str | None, really: bool) -> Finding:
    lost, kept = SEGMENTS[SEGMENTS.index(tier) :], SEGMENTS[: SEGMENTS.index(tier)]
    told = (
        f"{_shown(old)} became {_shown(new)}: lost are {', '.join(lost)}; kept {', '.join(kept) or 'nothing'}"
    )
    certainty: Certainty = "confirmed" if really and _is_known(name) else "suspected"
    if not really:
        told += " (if a default that is written out is another one, which nobody says)"
    elif certainty == "suspected":
        told += " (no page says what this parameter loses)"
    rule = "model-switch" if name == "speed" else "parameter-changed"
    return finding(rule, name, told, fix="keep it as it was for the whole session", certainty=certainty)


def _is_known(name: str) -> bool:
    """Whether anybody says that this parameter is part of the key."""
    listed = (row.id == name or name in row.parameters for row in invalidations())
    return any(listed)


def _shown(value: str | None) -> str:
    if value is None:
        return "left out"
    return value if len(value) <= 60 else value[:59] + "…"


def _settings(prompt: Prompt, model: Model, rules: CacheRules) -> dict[tuple[str, Tier], str]:
    """What is part of the cache key besides the blocks, by name and tier, as JSON."""
    rich = tuple(
        replace(
            block,
            cache_control=None,
            parts=tuple(replace(part, cache_control=None) for part in block.parts),
        )
        for block in prompt.blocks
        if block.parts or block.type in _RICH
    )
    parameters = {name: value for name, value in prompt.parameters.items() if name != "cache_control"}
    bare = Prompt(rich, parameters, (b"",) * len(rich), 0)
    layout = Layout.from_prompt(bare, None, model=model, rules=rules)
    found: dict[tuple[str, Tier], str] = {}
    for tier, text in layout.parameters_by_tier.items():
        values: dict[str, Any] = json.loads(text)
        for name, value in values.items():
            found[name, tier] = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return found
