"""The context edits a request may ask for: their parameters, defaults and order, and what nobody says.

Models: ``clear_thinking_20251015``, ``clear_tool_uses_20250919`` and ``compact_20260112`` as a request writes
them; :class:`EditRules`, a switch for each thing the vendor leaves open.
Does not model: the API's own error texts, but for the one that was reported.
Source: context-editing page 2026-08, compaction pages 2026-08 to 2026-10, SDK parameter types 2026-11. The
wording of the placeholder is not documented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from ctxlab.catalogue import Model
from ctxlab.errors import InvalidRequestError, Problem
from ctxlab.prompt import plain

CLEAR_THINKING = "clear_thinking_20251015"
CLEAR_TOOL_USES = "clear_tool_uses_20250919"
COMPACT = "compact_20260112"

DEFAULT_TRIGGER_TOKENS = {CLEAR_TOOL_USES: 100_000, COMPACT: 150_000}
LEAST_COMPACT_TRIGGER_TOKENS = 50_000
DEFAULT_KEEP_TOOL_USES = 3
PLACEHOLDER = "[The result of this call was cleared.]"

#: Models released since think unless told otherwise.
_THINKS_SINCE = date(2026, 6, 1)
#: Units of each parameter that has one.
_UNITS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    CLEAR_TOOL_USES: {
        "trigger": ("input_tokens", "tool_uses"),
        "keep": ("tool_uses",),
        "clear_at_least": ("input_tokens",),
    },
    CLEAR_THINKING: {"keep": ("thinking_turns", "all")},
    COMPACT: {"trigger": ("input_tokens",)},
}
#: What each of the other parameters may be; null is as good as absent.
_KINDS: Mapping[str, Mapping[str, str]] = {
    CLEAR_TOOL_USES: {
        "exclude_tools": "a list of names",
        "clear_tool_inputs": "true, false or a list of names",
    },
    CLEAR_THINKING: {},
    COMPACT: {"instructions": "a string", "pause_after_compaction": "true or false"},
}


@dataclass(frozen=True, slots=True)
class EditRules:
    """What the vendor leaves open about context edits, each a switch.

    ``clearing_at``: "exceeds" the trigger, as the context-editing page says, or "reaches" it.
    ``compacting_at``: the compaction page says "reaches". ``trigger_counts``: the prompt "so_far", earlier
    edits applied, or "as_sent". ``excluded_count_in_keep``: whether uses of excluded tools take places of
    ``keep``. ``clears_server_tools``: whether uses of server tools are uses like any other.
    ``thinking_turn``: all answers up to the next question are one "turn", or each "message" is.
    """

    clearing_at: Literal["exceeds", "reaches"] = "exceeds"
    compacting_at: Literal["exceeds", "reaches"] = "reaches"
    trigger_counts: Literal["so_far", "as_sent"] = "so_far"
    excluded_count_in_keep: bool = False
    clears_server_tools: bool = True
    thinking_turn: Literal["turn", "message"] = "turn"


def edits_of(request: Mapping[str, Any], model: Model | None = None) -> list[Mapping[str, Any]]:
    """The edits a request asks for. Raises :class:`InvalidRequestError` for those the API refuses."""
    problems = edit_problems(request, model)
    if problems:
        raise InvalidRequestError(problems)
    management = plain(request.get("context_management"))
    return list(management.get("edits") or ()) if isinstance(management, Mapping) else []


def thinks_by_default(model: Model) -> bool:
    """Whether a model thinks when a request does not say (thinking page, 2026-08)."""
    return model.line == "mythos" or (model.released is not None and model.released >= _THINKS_SINCE)


def edit_problems(request: Mapping[str, Any], model: Model | None = None) -> list[Problem]:
    """What is wrong with the edits a request asks for.

    Messages are our own wording, but for thinking that is not on (reported 2025-11 to 2026-08, claude-code
    issue 11971, CLIProxyAPI issue 4957); with a model, thinking that is off by default counts as that.

    >>> edits = [{"type": "clear_tool_uses_20250919"}, {"type": "clear_thinking_20251015"}]
    >>> [one.rule for one in edit_problems({"context_management": {"edits": edits}})]
    ['thinking-first']
    """
    management = plain(request.get("context_management"))
    if management is None:
        return []
    path = "context_management"
    if not isinstance(management, Mapping):
        return [Problem(path, "object", "is not an object", 'pass {"edits": [...]}')]
    problems = [_unknown(name, path, ("edits",)) for name in management if name != "edits"]
    if problems:
        return problems
    edits = management.get("edits")
    if edits is not None and not isinstance(edits, (list, tuple)):
        return [Problem(f"{path}.edits", "list", "is not a list")]
    found = list(_wrong(edits or (), f"{path}.edits"))
    if any(isinstance(edit, Mapping) and edit.get("type") == CLEAR_THINKING for edit in edits or ()):
        thinking = plain(request.get("thinking"))
        off = isinstance(thinking, Mapping) and thinking.get("type") == "disabled"
        if off or (thinking is None and model is not None and not thinks_by_default(model)):
            says = f"`{CLEAR_THINKING}` strategy requires `thinking` to be enabled or adaptive"
            found.append(Problem("thinking", "thinking-on", says, "switch it on, or leave the edit out"))
    return found


def _wrong(edits: Sequence[Any], path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, edit in enumerate(edits):
        place = f"{path}[{i}]"
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if kind not in (CLEAR_THINKING, CLEAR_TOOL_USES, COMPACT):
            fix = f"one of {CLEAR_TOOL_USES}, {CLEAR_THINKING}, {COMPACT}"
            yield Problem(f"{place}.type", "known-edit", f"is {kind!r}, no edit", fix)
            continue
        if kind in seen:
            yield Problem(place, "one-of-each", f"is a second {kind}")
        seen.add(kind)
        if kind == CLEAR_THINKING and i:
            yield Problem(place, "thinking-first", f"{kind} comes behind another edit", "put it first")
        known = ("type", *_UNITS[kind], *_KINDS[kind])
        yield from (_unknown(name, place, known) for name in edit if name not in known)
        for name, wanted in _KINDS[kind].items():
            if edit.get(name) is not None and not _is(edit[name], wanted):
                yield Problem(f"{place}.{name}", "type", f"is {edit[name]!r}", f"give it {wanted}")
        yield from _wrong_sizes(edit, kind, place)


def _unknown(name: object, place: str, known: Sequence[str]) -> Problem:
    """A misspelt parameter would otherwise be a default that nobody asked for."""
    return Problem(f"{place}.{name}", "known-parameter", "is no parameter", f"one of {', '.join(known)}")


def _is(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted.startswith("true")
    if isinstance(value, str):
        return wanted == "a string"
    names = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    return names and wanted.endswith("a list of names")


def _wrong_sizes(edit: Mapping[str, Any], kind: str, place: str) -> Iterator[Problem]:
    for name, allowed in _UNITS[kind].items():
        value = edit.get(name)
        if value is None or (kind == CLEAR_THINKING and value in ("all", {"type": "all"})):
            continue
        unit = value.get("type") if isinstance(value, Mapping) else None
        if unit not in allowed:
            yield Problem(f"{place}.{name}.type", "unit", f"is {unit!r}", f"one of {', '.join(allowed)}")
        elif type(value.get("value")) is not int or value["value"] < (kind == CLEAR_THINKING):
            yield Problem(f"{place}.{name}.value", "whole-number", f"is {value.get('value')!r}")
        elif kind == COMPACT and value["value"] < LEAST_COMPACT_TRIGGER_TOKENS:
            says = f"is {value['value']:,}, below the minimum of {LEAST_COMPACT_TRIGGER_TOKENS:,}"
            yield Problem(f"{place}.{name}.value", "least-trigger", says)


def kept_turns(edit: Mapping[str, Any], model: Model) -> int | None:
    """How many turns keep their thinking; None: all."""
    keep = edit.get("keep")
    if keep is None:
        return 1 if model.keeps_thinking == "last-turn" else None
    return None if keep in ("all", {"type": "all"}) else int(keep["value"])


def trigger_of(edit: Mapping[str, Any]) -> tuple[str, int]:
    """The unit and the value at which an edit acts, its own or the documented default."""
    given = edit.get("trigger")
    if given is None:
        return "input_tokens", DEFAULT_TRIGGER_TOKENS[edit["type"]]
    return given["type"], given["value"]


def over(found: int, trigger: int, when: str) -> bool:
    """Whether a count is at a trigger that acts when it "reaches" or only when it "exceeds" it."""
    return found >= trigger if when == "reaches" else found > trigger
