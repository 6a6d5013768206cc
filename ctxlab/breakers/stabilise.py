"""A request rewritten so that the next one can share its prefix: same content, one order, clocks at the end.

Models: tools sorted by name, markers left at their place in the list; arrays of a schema that only list a set
(``required``, ``type``, domains) sorted; keys of a schema sorted, except those of ``properties`` in a tool
that is ``strict``, whose order may shape what the model writes; likely volatile spans of the system prompt
and of tool descriptions moved behind the last breakpoint, a placeholder left where they stood.
Does not model: what only looks volatile (see :class:`ctxlab.breakers.spans.Span`), bare dates, the history.
Never touched: ``enum``, ``anyOf``, ``prefixItems``, ``examples``, defaults, output schemas, calls, results,
answers, thinking and its signatures, pictures and files, the order of blocks and messages.
Source: JSON Schema 2020-12 for which arrays are sets; prompt-caching page 2026-09 for render order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ctxlab.breakers.finding import Finding, finding
from ctxlab.breakers.settings import model_of
from ctxlab.breakers.spans import Span, volatile_spans
from ctxlab.cache import can_carry_marker
from ctxlab.catalogue import Model
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Block, Prompt, plain

Carrier = Literal["user", "system"]

PLACEHOLDER = "(see the newest message)"
"""What stands where a volatile span was taken out."""
HEADING = "Values of this moment, kept out of the cached prefix:"

# arrays of a schema that list a set; enum is not among them: models read its order
_SORTED_ARRAYS = frozenset({"required", "type"})
_SORTED_FIELDS = frozenset({"allowed_domains", "blocked_domains", "allowed_callers"})
_SCHEMA_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"enum", "const", "default", "examples", "example"})
_LABEL_CHARS = 80


@dataclass(frozen=True, slots=True)
class Stabilised:
    """The new request, what was done to it (paths are those of the given request), and what was left.

    ``left`` are volatile spans that could not be moved, because no place behind the last breakpoint is free.
    """

    request: dict[str, Any]
    changes: tuple[Problem, ...]
    left: tuple[Finding, ...] = ()


def stabilise(request: Any, *, model: str | Model | None = None, carrier: Carrier = "user") -> Stabilised:
    """The request in a form that the next one can repeat. The given one is not changed; twice is once.

    Volatile spans go, word for word, to the end of the newest user message, behind its last block, as one
    text. With ``carrier="system"`` they go into a system message behind it that ends with the turn, where the
    model takes those (send the beta ``mid-conversation-system-clear-at-2026-08-21`` with it); elsewhere into
    the user message. An automatic marker would cover them, so it becomes an explicit one on the block before.

    Raises :class:`InvalidRequestError` for a body that cannot be read, :class:`InvalidArgumentError` for an
    unknown ``carrier``.

    >>> question = {"role": "user", "content": "Hi"}
    >>> done = stabilise({"system": "Be brief. Now: 14:07:31", "messages": [question]})
    >>> done.request["system"]
    'Be brief. Now: (see the newest message)'
    >>> done.request["messages"][0]["content"][1]["text"].splitlines()[1]
    'Be brief. Now: 14:07:31'
    """
    if carrier not in ("user", "system"):
        raise InvalidArgumentError(
            Problem("carrier", "known-carrier", f"is {carrier!r}", "use 'user' or 'system'")
        )
    out: dict[str, Any] = plain(request)  # every dict and list in it is a copy
    prompt = Prompt.from_request(out)
    changes: list[Problem] = []
    moved, left = _Moved(), []
    home = _home(prompt, out)
    for place in (*_descriptions(out), *_system_texts(out)):
        if home is not None:
            place.put(moved.take(place, changes))
            continue
        for span in _worth_moving(place.text):
            told = f"'{span.shown}' changes {span.changes}; no place behind the last breakpoint is free"
            left.append(finding(span.rule, place.path, told, fix=span.fix, evidence=span.shown))
    if moved.lines and home is not None:
        _append(out, home, moved.text, carrier, model_of(prompt, model), changes)
    if out.get("tools"):
        for i, tool in enumerate(out["tools"]):
            _sort_inside(tool, f"tools[{i}]", changes)
        out["tools"] = _in_order(out["tools"], changes)
    return Stabilised(out, tuple(changes), tuple(left))


# --- tools


def _in_order(tools: list[Any], changes: list[Problem]) -> list[Any]:
    """Tools sorted by name; the n-th loaded tool carries the marker that the n-th one carried before."""
    ordered = sorted(tools, key=_sort_key)
    if all(new is old for new, old in zip(ordered, tools, strict=True)):
        return tools
    names = ", ".join(str(_name(tool)) for tool in ordered)
    changes.append(Problem("tools", "tool-order", f"sorted by name: {names}"))
    markers = iter([tool.get("cache_control") for tool in tools if not _deferred(tool)])
    out = []
    for tool in ordered:
        marker = None if _deferred(tool) else next(markers)
        own = tool.get("cache_control")
        if not _deferred(tool) and marker != own:
            tool = {key: value for key, value in tool.items() if key != "cache_control"}
            if marker is not None:
                tool["cache_control"] = marker
        out.append(tool)
    return out


def _deferred(tool: Mapping[str, Any]) -> bool:
    return tool.get("defer_loading") is True


def _name(tool: Mapping[str, Any]) -> Any:
    return tool.get("name") or tool.get("mcp_server_name") or tool.get("type") or ""


def _sort_key(tool: Mapping[str, Any]) -> tuple[str, str]:
    return str(_name(tool)), str(tool.get("type") or "")


def _sort_inside(tool: dict[str, Any], path: str, changes: list[Problem]) -> None:
    for field in sorted(_SORTED_FIELDS & tool.keys()):
        tool[field] = _sorted_array(tool[field], f"{path}.{field}", changes)
    schema = tool.get("input_schema")
    if isinstance(schema, dict):
        tool["input_schema"] = _schema(
            schema, f"{path}.input_schema", changes, strict=tool.get("strict") is True
        )
        if _keys_moved(schema, tool["input_schema"]):
            changes.append(Problem(f"{path}.input_schema", "key-order", "keys sorted"))


def _schema(value: Any, path: str, changes: list[Problem], *, strict: bool) -> Any:
    """A schema with its keywords sorted, and its arrays where they only list a set."""
    if isinstance(value, list):
        return [_schema(item, f"{path}[{i}]", changes, strict=strict) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    out: dict[str, Any] = {}
    for key in sorted(value):
        item, place = value[key], f"{path}.{key}"
        if key in _VALUES:
            out[key] = item
        elif key in _SORTED_ARRAYS and isinstance(item, list):
            out[key] = _sorted_array(item, place, changes)
        elif key in _SCHEMA_MAPS and isinstance(item, dict):
            names = list(item) if strict and key == "properties" else sorted(item)
            out[key] = {
                name: _schema(item[name], f"{place}.{name}", changes, strict=strict) for name in names
            }
        elif key == "dependentRequired" and isinstance(item, dict):
            out[key] = {name: _sorted_array(item[name], f"{place}.{name}", changes) for name in sorted(item)}
        else:
            out[key] = _schema(item, place, changes, strict=strict)
    return out


def _sorted_array(items: Any, path: str, changes: list[Problem]) -> Any:
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return items
    ordered = sorted(items)
    if ordered != items:
        changes.append(Problem(path, "array-order", f"sorted: {', '.join(ordered)}"))
    return ordered


def _keys_moved(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) != list(other) or any(_keys_moved(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return any(_keys_moved(x, y) for x, y in zip(one, other, strict=True))
    return False


# --- volatile spans


class _Text(NamedTuple):
    """A text of the request, and the object and field it is written back to."""

    path: str
    holder: dict[str, Any]
    field: str

    @property
    def text(self) -> str:
        text: str = self.holder[self.field]
        return text

    def put(self, text: str) -> None:
        """Write another text in its place."""
        self.holder[self.field] = text


def _system_texts(body: dict[str, Any]) -> list[_Text]:
    system = body.get("system")
    if isinstance(system, str):
        return [_Text("system", body, "system")]
    return [
        _Text(f"system[{i}].text", block, "text")
        for i, block in enumerate(system or ())
        if block.get("type") == "text"
    ]


def _descriptions(body: Mapping[str, Any]) -> list[_Text]:
    return [
        _Text(f"tools[{i}].description", tool, "description")
        for i, tool in enumerate(body.get("tools") or ())
        if isinstance(tool.get("description"), str)
    ]


def _worth_moving(text: str) -> list[Span]:
    return [span for span in volatile_spans(text) if span.likely and span.changes != "per day"]


class _Moved:
    """What was taken out, line by line, each with the words that stood before it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join([HEADING, *self.lines])

    def take(self, place: _Text, changes: list[Problem]) -> str:
        """The text with placeholders; what they replace is kept.

        A placeholder can bring another span nearer to a word that speaks for it, so it is read again.
        """
        text = place.text
        while spans := _worth_moving(text):
            out, at = [], 0
            for span in spans:
                value = text[span.start : span.end]
                line = max(text.rfind("\n", 0, span.start) + 1, at)
                self.lines.append(text[max(line, span.start - _LABEL_CHARS) : span.end].strip())
                out += [text[at : span.start], PLACEHOLDER]
                at = span.end
                told = f"'{value}' moved behind the last breakpoint: it changes {span.changes}"
                changes.append(Problem(place.path, span.rule, told))
            text = "".join([*out, text[at:]])
        return text


@dataclass(frozen=True, slots=True)
class _Home:
    """The newest user message, and the block an automatic marker stands on (None: there is none)."""

    message: int
    automatic: Block | None


def _home(prompt: Prompt, body: Mapping[str, Any]) -> _Home | None:
    """Where a text may be appended that no marker covers, and that the newest answer reads."""
    users = [i for i, block in enumerate(prompt.blocks) if block.role == "user"]
    if not users:
        return None
    newest = prompt.blocks[users[-1]].message
    if newest is None or any(block.cache_control for block in prompt.blocks[users[-1] + 1 :]):
        return None
    behind = prompt.blocks[users[-1] + 1 :]
    automatic = None
    if body.get("cache_control") is not None:
        if any(can_carry_marker(block) for block in behind):
            return None  # it stands on what follows
        automatic = next((block for block in reversed(prompt.blocks) if can_carry_marker(block)), None)
    return _Home(newest, automatic)


def _append(
    body: dict[str, Any],
    home: _Home,
    text: str,
    carrier: Carrier,
    model: Model,
    changes: list[Problem],
) -> None:
    messages: list[Any] = body["messages"]
    if home.automatic is not None:
        _make_explicit(body, home.automatic, changes)
    ends = home.message == len(messages) - 1
    block = {"type": "text", "text": text}
    if carrier == "system" and ends and "mid_conversation_system" in model.capabilities:
        turn = {"role": "system", "content": [block], "clear_at": "next_user_message"}
        messages.append(turn)
        told = "system message added that ends with this turn"
        fix = "send it with the beta mid-conversation-system-clear-at-2026-08-21"
        changes.append(Problem(f"messages[{len(messages) - 1}]", "volatile-behind-marker", told, fix))
        return
    message = messages[home.message]
    content = message["content"]
    blocks = _as_blocks(content)
    message["content"] = [*blocks, block]
    path = f"messages[{home.message}].content[{len(blocks)}]"
    changes.append(Problem(path, "volatile-behind-marker", "text block added behind the last breakpoint"))


def _make_explicit(body: dict[str, Any], on: Block, changes: list[Problem]) -> None:
    """Write the automatic marker on the block it stands on, unless that one is marked already."""
    marker = body.pop("cache_control")
    changes.append(Problem("cache_control", "marker-on-volatile", f"written on {on.path} instead"))
    if on.cache_control is not None:
        return
    at = [int(part.split("]")[0]) for part in on.path.split("[")[1:]]
    holder, field = (
        (body, on.segment) if on.segment != "messages" else (body["messages"][at.pop(0)], "content")
    )
    holder[field] = _as_blocks(holder[field])
    holder[field][at[0] if at else 0]["cache_control"] = marker


def _as_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    blocks: list[Any] = content
    return blocks
