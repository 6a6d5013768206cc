"""The Models API, and what each model accepts.

Models: ``GET /v1/models`` with paging and the lifecycle filter, ``GET /v1/models/{id}``; lifecycle, limits
and capabilities as the catalogue and ``abilities.toml`` have them; the id an alias stands for.
Does not model: models that only an organisation has, ``allowed_fallback_models`` (fallbacks are not
emulated, so the list is empty).
Source: anthropic SDK 2.14.0, types/model_info.py, types/beta/beta_model_info.py,
types/model_list_params.py. *Assumed*: a beta header makes the answer the beta one, as ``?beta=true`` does.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from ctxlab.catalogue import Model, models
from ctxlab.emulator.errors import invalid, not_found

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_THINKING = ("adaptive", "enabled", "disabled", "between_tools")
_MANUAL = ("enabled", "disabled")
_PAGE = 20
_LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model accepts; an empty ``efforts`` means that it has no such setting."""

    supports: frozenset[str]
    efforts: tuple[str, ...]
    thinking: frozenset[str]


@cache
def abilities(model_id: str) -> Abilities:
    """What the model of that id (the catalogue's) accepts.

    >>> sorted(abilities("claude-sonnet-5-5").thinking)
    ['adaptive', 'between_tools']
    """
    data = _data()
    supports = [name for name in data["everywhere"]["yes"] if model_id not in data[name]["not"]]
    efforts = next((row["levels"] for row in data["effort"] if model_id in row["models"]), ())
    thinking = next((row["types"] for row in data["thinking"] if model_id in row["models"]), _MANUAL)
    return Abilities(
        supports=frozenset(supports),
        efforts=tuple(efforts),
        thinking=frozenset(thinking),
    )


def find(name: object, *, retired: bool = False) -> Model:
    """The model an id or alias names, as the API resolves it. Raises the API's 404 for anything else.

    ``retired`` serves models that the API answers with the same 404. No form of a cloud or gateway is known
    here: the catalogue unwraps those, the API does not.
    """
    model = _by_name().get(name) if isinstance(name, str) else None
    if model is None or (model.lifecycle == "retired" and not retired):
        raise not_found(f"model: {name}")
    return model


def api_id(model: Model) -> str:
    """The id in answers: of an alias and a dated id, the dated one.

    >>> from ctxlab.catalogue import get_model
    >>> api_id(get_model("claude-haiku-4-5")), api_id(get_model("claude-opus-5"))
    ('claude-haiku-4-5-20251001', 'claude-opus-5')
    """
    return next((name for name in model.aliases if re.search(r"-\d{8}$", name)), model.id)


def retrieve(name: str, query: Mapping[str, Sequence[str]], betas: Collection[str]) -> dict[str, Any]:
    """The body of ``GET /v1/models/{id}``; retired models are still listed as such."""
    return _info(find(name, retired=True), query, betas)


def listing(query: Mapping[str, Sequence[str]], betas: Collection[str]) -> dict[str, Any]:
    """The body of ``GET /v1/models``, newest first: active and deprecated ones unless ``lifecycle`` asks."""
    wanted = [*query.get("lifecycle[]", ()), *query.get("lifecycle", ())] or ["active", "deprecated"]
    for stage in wanted:
        if stage not in ("active", "deprecated", "retired"):
            raise invalid("lifecycle: Input should be 'active', 'deprecated' or 'retired'")
    limit = _limit(query.get("limit", (str(_PAGE),))[-1])
    known = [model for model in _newest_first() if model.lifecycle in wanted]
    ids = [api_id(model) for model in known]
    first, last = 0, len(known)
    if "after_id" in query:
        first = _place(query["after_id"][-1], "after_id", ids) + 1
    if "before_id" in query:
        last = _place(query["before_id"][-1], "before_id", ids)
    backwards = "before_id" in query
    page = known[max(first, last - limit) : last] if backwards else known[first : min(last, first + limit)]
    return {
        "data": [_info(model, query, betas) for model in page],
        "has_more": len(page) < last - first,
        "first_id": api_id(page[0]) if page else None,
        "last_id": api_id(page[-1]) if page else None,
    }


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _LARGEST_PAGE:
        raise invalid(f"limit: Input should be a valid integer from 1 to {_LARGEST_PAGE}")
    return int(text)


def _place(name: str, parameter: str, ids: Sequence[str]) -> int:
    model = _by_name().get(name)
    if model is None or api_id(model) not in ids:
        raise invalid(f"{parameter}: no model of this list has the id {json.dumps(name)}")
    return ids.index(api_id(model))


def _info(model: Model, query: Mapping[str, Sequence[str]], betas: Collection[str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "type": "model",
        "id": api_id(model),
        "display_name": _display_name(model),
        "created_at": _timestamp(model.released) or "1970-01-01T00:00:00Z",
        "max_input_tokens": model.window_tokens,
        "max_tokens": model.max_output_tokens,
        "lifecycle": model.lifecycle,
        "deprecated_at": _timestamp(model.deprecated_at),
        "retires_at": _timestamp(model.retires_at),
        "line": model.line,
        "capabilities": _capabilities(model, "compact-2026-09-04" in betas),
    }
    if betas or "true" in query.get("beta", ()):  # the SDK's beta client is told apart by nothing else
        told["allowed_fallback_models"] = []
    return told


def _capabilities(model: Model, with_compaction: bool) -> dict[str, Any]:
    able = abilities(model.id)
    edits = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
    server_tools = {name: _is(name in able.supports) for name in ("code_execution", "web_search")}
    told: dict[str, Any] = {
        "batch": _is("batch" in able.supports),
        "citations": _is("citations" in able.supports),
        # whether code can call other tools; the tool itself is among server_tools
        "code_execution": _is("calls_from_code" in able.supports),
        "context_management": {
            **{name: _is(name in model.capabilities) for name in edits},
            "supported": any(name in model.capabilities for name in edits),
        },
        "effort": {level: _is(level in able.efforts) for level in _EFFORTS} | _is(bool(able.efforts)),
        "image_input": _is("image_input" in able.supports),
        "pdf_input": _is("pdf_input" in able.supports),
        "server_tools": server_tools | _is(any(one["supported"] for one in server_tools.values())),
        "structured_outputs": _is("structured_outputs" in able.supports),
        "thinking": {
            "supported": bool(able.thinking & {"adaptive", "enabled"}),
            "types": {name: _is(name in able.thinking) for name in _THINKING},
        },
    }
    if with_compaction:
        summarizes = "compaction" in model.capabilities
        told["compaction"] = {"supported": summarizes, "summarize": _is(summarizes)}
    return told


def _is(supported: bool) -> dict[str, Any]:
    return {"supported": supported}


def _timestamp(day: date | None) -> str | None:
    return None if day is None else f"{day.isoformat()}T00:00:00Z"


def _display_name(model: Model) -> str:
    """``claude-opus-4-5`` reads Claude Opus 4.5."""
    words = re.sub(r"-\d{8}$", "", model.id).split("-")
    numbers = ".".join(word for word in words if word[0].isdigit())
    return " ".join(
        [word.capitalize() for word in words if not word[0].isdigit()] + [numbers] * bool(numbers)
    )


@cache
def _by_name() -> dict[str, Model]:
    return {name: model for model in models() for name in (model.id, *model.aliases)}


@cache
def _newest_first() -> tuple[Model, ...]:
    return tuple(sorted(models(), key=lambda model: model.released or date.min, reverse=True))


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("abilities.toml").read_text(encoding="utf-8"))
