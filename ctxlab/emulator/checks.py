"""What the API refuses although every field has its type.

Models: ranges, names, tools and ``tool_choice``, thinking and effort by model, ``max_tokens: 0``. Pictures
are judged by :mod:`ctxlab.emulator.pictures`, markers by :mod:`ctxlab.breakpoints`; roles, texts, calls and
results by :mod:`ctxlab.validity`.
Does not model: PDF limits, the content of tool schemas.
Source: recorded and reported errors, dated in the comments; where only the refusal is documented and not
its wording, the comment says *own wording*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxlab import breakpoints, validity
from ctxlab.cache import Layout
from ctxlab.catalogue import Model
from ctxlab.emulator.bodies import Body, Piece, fold
from ctxlab.emulator.errors import ApiError, invalid, not_emulated
from ctxlab.emulator.models import Abilities, abilities, api_id
from ctxlab.emulator.pictures import Picture, read_picture, refused_sizes
from ctxlab.emulator.rendering import Rendered
from ctxlab.emulator.schemas import supplement
from ctxlab.errors import InvalidRequestError, Problem

MAX_MESSAGES = 100_000
_FEW_PICTURES = 100
_MIN_BUDGET_TOKENS = 1024
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

Members = Mapping[str, Any]


def check_request(members: Members, model: Model, *, generates: bool) -> None:
    """Raise the first refusal that the fields outside the messages earn.

    ``generates`` is False for ``count_tokens``, which has no answer to limit.
    """
    able = abilities(model.id)
    rules: list[Iterator[ApiError]] = [
        _settings(members, able),
        _tools(members),
        _tool_choice(members, model),
        _not_emulated(members),
    ]
    if generates:
        rules += [
            _max_tokens(members, model),
            _stop_sequences(members),
            _prewarming(members),
            _speed(members, model),
        ]
    for rule in rules:
        for refusal in rule:
            raise refusal


def _max_tokens(members: Members, model: Model) -> Iterator[ApiError]:
    asked, most = members["max_tokens"], model.max_output_tokens
    if asked < 0:
        yield invalid("max_tokens: Input should be greater than or equal to 0")
    if most is not None and asked > most:  # reported, 2026-09
        yield invalid(
            f"max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for "
            f"{api_id(model)}"
        )


def _stop_sequences(members: Members) -> Iterator[ApiError]:
    if not all(map(str.strip, members.get("stop_sequences") or ())):  # reported, 2024-04 and 2024-12
        yield invalid("stop_sequences: each stop sequence must contain non-whitespace")


def _prewarming(members: Members) -> Iterator[ApiError]:
    """``max_tokens: 0`` only reads the prompt; source: prompt-caching page, 2026-08, own wording."""
    if members["max_tokens"] != 0:
        return
    thinking, choice = members.get("thinking") or {}, members.get("tool_choice") or {}
    clashes = {
        "`stream: true`": members.get("stream"),
        "`thinking.type: enabled`": thinking.get("type") == "enabled",
        "`output_config.format`": (members.get("output_config") or {}).get("format"),
        f"`tool_choice.type: {choice.get('type')}`": choice.get("type") in ("any", "tool"),
    }
    for name, is_set in clashes.items():
        if is_set:
            yield invalid(f"max_tokens: 0 is not supported with {name}")


def _settings(members: Members, able: Abilities) -> Iterator[ApiError]:
    effort = (members.get("output_config") or {}).get("effort")
    if effort is not None and not able.efforts:
        yield invalid("This model does not support the effort parameter.")  # reported, 2026-08
    if effort is not None and effort not in able.efforts:  # recorded, 2026-08, levels in alphabetical order
        levels = ", ".join(sorted(able.efforts))
        yield invalid(f"This model does not support effort level '{effort}'. Supported levels: {levels}.")
    thinking = members.get("thinking") or {}
    kind = thinking.get("type")
    if kind == "enabled" and "enabled" not in able.thinking:  # reported, 2026-11
        yield invalid(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
    if kind == "adaptive" and "adaptive" not in able.thinking:  # reported, 2026-11
        yield invalid("adaptive thinking is not supported on this model")
    if kind in ("disabled", "between_tools") and kind not in able.thinking:  # own wording
        yield invalid(f'"thinking.type.{kind}" is not supported for this model.')
    budget = thinking.get("budget_tokens", _MIN_BUDGET_TOKENS)
    if budget < _MIN_BUDGET_TOKENS:
        least = f"Input should be greater than or equal to {_MIN_BUDGET_TOKENS}"
        yield invalid(f"thinking.enabled.budget_tokens: {least}")
    if kind == "enabled" and members.get("max_tokens", budget + 1) <= budget and members["max_tokens"]:
        yield invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _speed(members: Members, model: Model) -> Iterator[ApiError]:
    if members.get("speed") == "fast" and not any(prices.fast_cards for prices in model.price_history):
        yield invalid("speed: 'fast' is not supported for this model")  # own wording


def _tools(members: Members) -> Iterator[ApiError]:
    names: set[str] = set()
    for i, tool in enumerate(members.get("tools", ())):
        kind, name = tool.get("type") or "custom", tool.get("name")
        if kind == "custom" and not _TOOL_NAME.fullmatch(name):
            yield invalid(f"tools.{i}.custom.name: String should match pattern '^{_TOOL_NAME.pattern}$'")
        if name is not None and name in names:
            yield invalid("tools: Tool names must be unique.")
        names.add(name)


def _tool_choice(members: Members, model: Model) -> Iterator[ApiError]:
    choice = members.get("tool_choice")
    if choice is None:
        return
    tools = members.get("tools") or ()
    if not tools:
        yield invalid("tool_choice may only be specified while providing tools.")
    forced = choice["type"] in ("any", "tool")
    if forced and model.forced_tool_choice is False:  # reported, 2026-06
        yield invalid("tool_choice forces tool use is not compatible with this model.")
    if forced and (members.get("thinking") or {}).get("type") == "enabled":  # reported since 2025
        yield invalid("Thinking may not be enabled when tool_choice forces tool use.")
    if choice["type"] == "tool" and choice["name"] not in [tool.get("name") for tool in tools]:
        yield invalid(f"Tool '{choice['name']}' not found in provided tools")


def _not_emulated(members: Members) -> Iterator[ApiError]:
    if members.get("container") is not None:
        yield not_emulated("container")
    starts = tuple(supplement()["server_tools"]["starts"])
    for i, tool in enumerate(members.get("tools", ())):
        if (tool.get("type") or "custom").startswith(starts):
            yield not_emulated(f"tools.{i}: tools of type {tool['type']}, which the API runs itself")


# --- messages


@dataclass(frozen=True, slots=True)
class _Seen:
    """What messages earn by themselves: the first refusal, and the pictures in them."""

    refusal: ApiError | None = None
    pictures: tuple[Picture, ...] = ()


def check_messages(pieces: Sequence[Piece], model: Model) -> None:
    """Raise the first refusal that a message earns by itself, and those of too many or too large pictures."""
    if len(pieces) > MAX_MESSAGES:
        says = f"List should have at most {MAX_MESSAGES} items after validation, not {len(pieces)}"
        raise invalid(f"messages: {says}")
    seen = fold(pieces, _Seen, _Seen(), _look_at)
    if seen.refusal is not None:
        raise seen.refusal
    for refusal in refused_sizes(seen.pictures, model):
        raise refusal


def _look_at(seen: _Seen, piece: Piece, number: int) -> _Seen:
    content = piece.value["content"]
    if seen.refusal is not None or not isinstance(content, list):
        return seen
    pictures = list(seen.pictures)
    for i, block in enumerate(content):
        path = f"messages.{number}.content.{i}"
        for found in _block(block, path, path):
            if isinstance(found, ApiError):
                return _Seen(found)
            pictures.append(found)
    return seen if len(pictures) == len(seen.pictures) else _Seen(None, tuple(pictures))


def _block(block: Members, path: str, place: str) -> Iterator[ApiError | Picture]:
    """Pictures and refusals of one block; ``place`` is its path as messages of errors write it."""
    kind = block["type"]
    if kind in supplement()["server_tools"]["blocks"]:
        yield not_emulated(f"{path}: blocks of type {kind}, which come from tools the API runs itself")
    elif kind == "document" and block["source"]["type"] != "text":
        yield not_emulated(f"{path}: documents other than plain text, whose tokens nobody knows here")
    elif kind == "image":
        yield read_picture(block, path, place)
    elif kind == "tool_result" and isinstance(block.get("content"), list):
        for i, part in enumerate(block["content"]):
            yield from _block(part, f"{path}.content.{i}", f"{place}.tool_result.content.{i}")


# --- what other modules of the house know


#: Reasons for which a count has a band and an emulated answer goes on; any other is not emulated.
_TOLERATED = frozenset(
    {
        "compaction edit that may not be due",
        "definition counted for an older vocabulary",
        "document block",
        "input examples",
        "script that no recording holds",
        "thinking that this model keeps",
        "tool preamble not known",
    }
)


def check_countable(rendered: Rendered) -> None:
    """Raise *not emulated* for what nobody can count offline: its tokens would be a guess in the books."""
    for one in rendered.outside:
        if one.low_tokens < one.high_tokens and one.reason not in _TOLERATED:
            raise not_emulated(f"{dotted(one.path)}: {one.reason}, whose tokens cannot be known offline")


def check_markers(body: Body, lay_out: Callable[[], Layout]) -> Layout:
    """What ``lay_out`` gives. Raises the API's refusal of markers.

    A layout refuses every fault of a marker on a block. For the API's words, and where anything else in the
    body has the name of a marker, :mod:`ctxlab.breakpoints` looks at the whole request.
    """
    layout, refusals = None, list[Problem]()
    try:
        layout = lay_out()
    except InvalidRequestError as error:
        refusals += error.problems
    if layout is None or _named(body) != sum(not marker.automatic for marker in layout.markers):
        refusals = breakpoints.validate(body.decoded()) or refusals
    for problem in refusals:
        rule = breakpoints.MARKER_RULES.get(problem.rule)
        in_its_words = rule is not None and rule.wire is not None
        raise invalid(problem.message if in_its_words else f"{dotted(problem.path)}: {problem.message}")
    assert layout is not None
    return layout


_NAMED = "how often a marker is named"


def _named(body: Body) -> int:
    """How often the field of a marker is named in tools, system and messages."""
    count = fold(
        body.messages or (), _NAMED, 0, lambda before, piece, _: before + piece.text.count('"cache_control"')
    )
    for piece in (body.tools, body.system):
        if _NAMED not in piece.facts:
            piece.facts[_NAMED] = piece.text.count('"cache_control"')
        count += piece.facts[_NAMED]
    return count


def check_order(body: Body, model: Model, *, answered: bool = True) -> None:
    """Raise the API's refusal of the order of messages, calls and results.

    A request that is not ``answered``, but summarised, may end with an answer.

    A conversation of plain turns cannot break a rule. Otherwise what is new is checked from the last answer
    before it on, and everything where that finds something, or where a rule looks further back.
    """
    pieces = body.messages or []
    plain = fold(pieces, _PLAIN, True, lambda before, piece, _: before and _is_plain(piece.value))
    if plain and pieces and pieces[-1].value["role"] == "user" and _is_plain_system(body.system):
        return
    key = (_PLAIN, model.id, json.dumps(body.members.get("thinking")))
    known = len(pieces)
    while known and key not in pieces[known - 1].facts:
        known -= 1
    start = max(min(known, len(pieces) - 1), 0)
    while start and pieces[start].value["role"] != "assistant":
        start -= 1
    rest = {**body.members, "messages": [piece.value for piece in pieces[start:]]}
    if _looks_back(pieces, known) or validity.check(rest, model):
        for problem in validity.check(body.decoded(), model):
            if problem.rule in _PREFILL and not answered:
                continue
            wire = validity.RULES[problem.rule].wire
            raise invalid(problem.message if wire else f"{dotted(problem.path)}: {problem.message}")
    for piece in pieces[known:]:
        piece.facts[key] = True


#: Rules of an answer that is to be gone on with.
_PREFILL = ("prefill", "prefill-blank")
_PLAIN = "messages that say something and do nothing else"


def _is_plain(message: Members) -> bool:
    content = message["content"]
    if message["role"] not in ("user", "assistant"):
        return False
    if isinstance(content, str):
        return bool(content.strip())
    return bool(content) and all(block["type"] == "text" and block["text"].strip() for block in content)


def _is_plain_system(system: Piece) -> bool:
    if _PLAIN not in system.facts:
        blocks = system.value if isinstance(system.value, list) else ()
        system.facts[_PLAIN] = all(block["text"] for block in blocks)
    found: bool = system.facts[_PLAIN]
    return found


def _looks_back(pieces: Sequence[Piece], known: int) -> bool:
    """Whether something new is judged by more than the answer before it: a second call of one id, a summary,
    so many pictures that they are counted."""
    calls = [_calls(piece) for piece in pieces]
    new = [call for ids in calls[known:] for call in ids]
    if new and (len(new) > len(set(new)) or any(not ids.isdisjoint(new) for ids in calls[:known])):
        return True
    shown = fold(pieces, _SHOWN, 0, lambda before, piece, _: before + piece.text.count('"source"'))
    return shown > _FEW_PICTURES or any('"compaction"' in piece.text for piece in pieces[known:])


_SHOWN = "pictures and files"
_CALLS = "ids of calls"


def _calls(piece: Piece) -> frozenset[str]:
    if _CALLS not in piece.facts:
        content = piece.value["content"]
        blocks = content if isinstance(content, list) else ()
        piece.facts[_CALLS] = frozenset(block["id"] for block in blocks if block["type"] == "tool_use")
    found: frozenset[str] = piece.facts[_CALLS]
    return found


def dotted(path: str) -> str:
    """A JSON path as the API writes it.

    >>> dotted("messages[0].content[4]")
    'messages.0.content.4'
    """
    return path.replace("[", ".").replace("]", "")
