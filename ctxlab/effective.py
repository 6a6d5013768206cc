"""What the server does to a request before the model reads it: the one place for it.

Models: messages before the last summary are ignored; thinking of earlier turns is dropped on models that keep
only the last turn's; the context edits ``clear_thinking_20251015`` and ``clear_tool_uses_20250919`` with
every parameter, default and the rule of their order; whether a ``compact_20260112`` is due.
Does not model: the summary itself, the API's own error texts, or what an edit does to the prompt cache (hand
the effective request to :mod:`ctxlab.cache`, or the one that was sent).
Source: context-editing page 2026-08, compaction pages 2026-08 to 2026-10, SDK parameter types 2026-11;
invalidation table of the prompt-caching page 2026-09 (thinking). The wording of the placeholder is not
documented; what else nobody says is a switch of :class:`EditRules`.

This module stands above prompt and tokens, since triggers are in tokens; how they are counted is handed in.
Two faces: :func:`effective` works on a request, :func:`unread` on blocks of a prompt or of a recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, NamedTuple, Protocol

from ctxlab import tokens
from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidRequestError, Problem
from ctxlab.prompt import Block, Prompt, chained, plain

CLEAR_THINKING = "clear_thinking_20251015"
CLEAR_TOOL_USES = "clear_tool_uses_20250919"
COMPACT = "compact_20260112"
#: Not an edit anybody asked for: what some models do by themselves, and what a summary does.
OLD_THINKING = "thinking-of-earlier-turns"
BEFORE_SUMMARY = "before-the-last-summary"

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
THINKING = frozenset({"thinking", "redacted_thinking"})
CountRequest = Callable[[Mapping[str, Any]], int]


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


@dataclass(frozen=True, slots=True)
class Applied:
    """One thing that was done to a request.

    ``type`` is that of the edit, :data:`OLD_THINKING` or :data:`BEFORE_SUMMARY`. ``cleared`` counts tool
    uses, turns with thinking, or blocks; ``cleared_input_tokens`` is what the prompt lost (None: not
    counted). ``paths`` are the blocks that were changed or left out, as sent; the prefix breaks at the first.
    """

    type: str
    cleared: int
    cleared_input_tokens: int | None
    paths: tuple[str, ...]

    def as_api(self) -> dict[str, Any] | None:
        """The entry of ``applied_edits``; None for what the API does not report."""
        names = {CLEAR_TOOL_USES: "cleared_tool_uses", CLEAR_THINKING: "cleared_thinking_turns"}
        if self.type not in names:
            return None
        cleared = {names[self.type]: self.cleared}
        return {"type": self.type, **cleared, "cleared_input_tokens": self.cleared_input_tokens or 0}


class Effective(NamedTuple):
    """A request as the model reads it, and what was done to it, in order."""

    request: Mapping[str, Any]
    applied: tuple[Applied, ...]


def effective(
    request: Mapping[str, Any],
    model: str | Model | None = None,
    *,
    count: CountRequest | None = None,
    rules: EditRules | None = None,
) -> Effective:
    """The request as the model reads it. The given one is not changed; what is untouched is shared.

    ``model`` defaults to the one the request names. ``count`` gives the tokens of a whole request, for
    triggers and for ``cleared_input_tokens``; the default is :func:`ctxlab.tokens.count`. It is asked only
    where an edit could have something to clear.

    Raises :class:`InvalidRequestError` for edits the API refuses (:func:`edit_problems`) and
    :class:`ctxlab.errors.UnknownModelError`.

    >>> def use(n):
    ...     call = {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {}}
    ...     result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "long " * 50}
    ...     return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    >>> edit = {"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", "value": 1},
    ...     "keep": {"type": "tool_uses", "value": 1}}
    >>> body = {"model": "claude-opus-5-5", "context_management": {"edits": [edit]},
    ...     "messages": [{"role": "user", "content": "Go"}, *use(1), *use(2)]}
    >>> read, applied = effective(body, count=lambda body: len(str(body)))
    >>> read["messages"][2]["content"][0]["content"], [one.cleared for one in applied]
    ('[The result of this call was cleared.]', [1])
    """
    known = get_model(request["model"] if model is None else model)
    edits = edits_of(request, known)
    work = _Work(request, known, count or _counter(known), rules or EditRules())
    work.ignore_before_summary()
    thinking = next((edit for edit in edits if edit.get("type") == CLEAR_THINKING), None)
    if thinking is not None:
        work.clear_thinking(thinking)
    elif known.keeps_thinking == "last-turn":
        work.drop_old_thinking()
    for edit in edits:
        if edit.get("type") == CLEAR_TOOL_USES:
            work.clear_tool_uses(edit)
    return Effective(work.body, tuple(work.applied))


def due_compaction(
    request: Mapping[str, Any],
    model: str | Model | None = None,
    *,
    count: CountRequest | None = None,
    rules: EditRules | None = None,
) -> Mapping[str, Any] | None:
    """The ``compact_20260112`` edit whose trigger a request reaches, None where none does.

    Hand in the effective request: what edits have cleared does not count.
    """
    switches = rules or EditRules()
    edit = next((edit for edit in edits_of(request) if edit.get("type") == COMPACT), None)
    if edit is None:
        return None
    known = get_model(request["model"] if model is None else model)
    found = (count or _counter(known))(request)
    return edit if _over(found, _trigger(edit)[1], switches.compacting_at) else None


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
        yield from _wrong_sizes(edit, kind, place)


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


# --- blocks of a prompt or of a recording


class Readable(Protocol):
    """What is looked at of a block: where it stands, whose it is, and whether it says something."""

    @property
    def segment(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def type(self) -> str: ...
    @property
    def message(self) -> int | None: ...
    @property
    def chars(self) -> int | None: ...


def unread(blocks: Sequence[Readable], model: Model, *, keeps_thinking: str | None = None) -> frozenset[int]:
    """Which blocks the model does not read, by number: before the last summary, failed summaries, and
    thinking of earlier turns where only the last turn's is kept.

    ``keeps_thinking`` is "all" or "last-turn" where an edit says so; else it is the model's own way.
    """
    kept_from = _last_summary(blocks)
    gone = {i for i in range(kept_from) if blocks[i].segment == "messages"}
    gone |= {i for i, block in enumerate(blocks) if block.type == "compaction" and not block.chars}
    if (keeps_thinking or model.keeps_thinking) == "last-turn":
        last = max(
            (block.message or 0 for i, block in enumerate(blocks) if i >= kept_from and _speaks(block)),
            default=-1,
        )
        gone |= {
            i for i, block in enumerate(blocks) if block.type in THINKING and (block.message or 0) < last
        }
    return frozenset(gone)


def without(prompt: Prompt, gone: Iterable[int]) -> Prompt:
    """The prompt without some of its blocks; a message that lost its first one still begins.

    Paths and numbers of messages stay those of the request as sent.
    """
    left_out = frozenset(gone)
    if not left_out:
        return prompt
    kept: list[Block] = []
    opens = False
    for i, block in enumerate(prompt.blocks):
        opens = block.starts_message or (opens and block.message is not None)
        if i in left_out:
            continue
        kept.append(replace(block, starts_message=True) if opens and not block.starts_message else block)
        opens = False
    messages = len({block.message for block in kept if block.message is not None})
    return Prompt(tuple(kept), prompt.parameters, tuple(chained(kept)), messages)


def _speaks(block: Readable) -> bool:
    """A block with which a turn of the user's begins: anything but a tool result."""
    return block.segment == "messages" and block.role == "user" and block.type != "tool_result"


def _last_summary(blocks: Sequence[Readable]) -> int:
    return max((i for i, b in enumerate(blocks) if b.type == "compaction" and b.chars), default=0)


# --- requests


class _Place(NamedTuple):
    """A block of a request's messages, as :func:`unread` looks at it, and the block itself."""

    segment: str
    role: str | None
    type: str
    message: int
    chars: int
    at: int | None
    body: Mapping[str, Any]

    @property
    def path(self) -> str:
        at = "" if self.at is None else f"[{self.at}]"
        return f"messages[{self.message}].content{at}"


def places_of(messages: Sequence[Any]) -> list[_Place]:
    """Every block of a list of messages, in order; a plain string is one text."""
    found: list[_Place] = []
    for number, item in enumerate(messages):
        message = item if isinstance(item, Mapping) else plain(item)
        content = message.get("content")
        if isinstance(content, str):
            content, whole = [{"type": "text", "text": content}], True
        else:
            content, whole = content or (), False
        for j, given in enumerate(content):
            block = given if isinstance(given, Mapping) else plain(given)
            chars = len(block["content"]) if isinstance(block.get("content"), str) else 0
            kind, at = str(block.get("type")), None if whole else j
            found.append(_Place("messages", message.get("role"), kind, number, chars, at, block))
    return found


class _Work:
    """A request while it is being worked on."""

    def __init__(self, request: Mapping[str, Any], model: Model, count: CountRequest, rules: EditRules):
        self.body = request
        self.applied: list[Applied] = []
        self._sent = request
        self._model, self._count, self._rules = model, count, rules
        # numbers of messages change as messages go: each remembers where it was sent
        self._sent_at = list(range(len(request.get("messages") or ())))

    def ignore_before_summary(self) -> None:
        places = self._places()
        last = _last_summary(places)
        gone = {i for i, p in enumerate(places) if i < last or (p.type == "compaction" and not p.chars)}
        if gone:
            self._leave_out(BEFORE_SUMMARY, places, gone)

    def drop_old_thinking(self) -> None:
        places = self._places()
        gone = unread(places, self._model)
        if gone:
            self._leave_out(OLD_THINKING, places, gone)

    def clear_thinking(self, edit: Mapping[str, Any]) -> None:
        keep = _kept_turns(edit, self._model)
        if keep is None:
            return
        places = self._places()
        turns = list(self._thinking_turns(places).values())[:-keep]
        gone = {i for turn in turns for i in turn}
        if gone:
            before = self._tokens()
            self._leave_out(CLEAR_THINKING, places, gone)
            lost = max(before - self._tokens(), 0)
            self.applied[-1] = replace(self.applied[-1], cleared=len(turns), cleared_input_tokens=lost)

    def clear_tool_uses(self, edit: Mapping[str, Any]) -> None:
        places = self._places()
        uses = [
            p for p in places if p.type == "tool_use" or (self._rules.clears_server_tools and _is_server(p))
        ]
        excluded = set(edit.get("exclude_tools") or ())
        keep = DEFAULT_KEEP_TOOL_USES if edit.get("keep") is None else edit["keep"]["value"]
        clearable = [p for p in uses if p.body.get("name") not in excluded]
        old = (uses if self._rules.excluded_count_in_keep else clearable)[: -keep or None]
        ids = {p.body.get("id") for p in old if p.body.get("name") not in excluded}
        results = [p for p in places if p.type.endswith("tool_result") and p.body.get("tool_use_id") in ids]
        answered = {p.body.get("tool_use_id") for p in results}
        inputs = edit.get("clear_tool_inputs") or False
        calls = [
            p
            for p in uses
            if p.body.get("id") in answered and (inputs is True or (inputs and p.body.get("name") in inputs))
        ]
        if not results or not self._is_due(edit, len(uses)):
            return
        changed = {(p.message, p.at): _cleared(p.body) for p in (*results, *calls)}
        before, body = self._tokens(), self._with_blocks(changed)
        tokens_cleared = max(before - self._count(body), 0)
        at_least = (edit.get("clear_at_least") or {}).get("value", 0)
        if tokens_cleared >= at_least:
            touched = sorted((*results, *calls), key=lambda p: (p.message, p.at or 0))
            paths = self._paths(touched)
            self.applied.append(Applied(CLEAR_TOOL_USES, len(answered), tokens_cleared, paths))
            self.body = body

    def _is_due(self, edit: Mapping[str, Any], uses: int) -> bool:
        unit, value = _trigger(edit)
        found = uses
        if unit == "input_tokens":
            found = self._count(self._sent) if self._rules.trigger_counts == "as_sent" else self._tokens()
        return _over(found, value, self._rules.clearing_at)

    def _thinking_turns(self, places: Sequence[_Place]) -> dict[int, list[int]]:
        """Numbers of thinking blocks by turn, in order."""
        turns: dict[int, list[int]] = {}
        turn = 0
        for i, place in enumerate(places):
            each = self._rules.thinking_turn == "message"
            turn = place.message if each else turn + _speaks(place)
            if place.type in THINKING:
                turns.setdefault(turn, []).append(i)
        return turns

    def _places(self) -> list[_Place]:
        return places_of(self.body.get("messages") or ())

    def _tokens(self) -> int:
        return self._count(self.body)

    def _paths(self, at: Sequence[_Place]) -> tuple[str, ...]:
        return tuple(place._replace(message=self._sent_at[place.message]).path for place in at)

    def _leave_out(self, kind: str, places: Sequence[_Place], gone: Iterable[int]) -> None:
        at = [places[i] for i in sorted(gone)]
        self.applied.append(Applied(kind, len(at), None, self._paths(at)))
        self.body = self._with_blocks({(place.message, place.at): None for place in at})

    def _with_blocks(
        self, changed: Mapping[tuple[int, int | None], Mapping[str, Any] | None]
    ) -> Mapping[str, Any]:
        """The request with some blocks changed or left out; messages that lost all of theirs go too."""
        by_message: dict[int, dict[int | None, Mapping[str, Any] | None]] = {}
        for (number, index), block in changed.items():
            by_message.setdefault(number, {})[index] = block
        messages: list[Any] = []
        sent_at: list[int] = []
        for number, item in enumerate(self.body["messages"]):
            if number in by_message:
                own = by_message[number]
                message = item if isinstance(item, Mapping) else plain(item)
                content = () if None in own else message["content"]
                pairs = ((own.get(j, block), block) for j, block in enumerate(content))
                blocks = [new for new, _ in pairs if new is not None]
                if not blocks:
                    continue
                item = {**message, "content": blocks}
            messages.append(item)
            sent_at.append(self._sent_at[number])
        self._sent_at = sent_at
        return {**self.body, "messages": messages}


def _is_server(place: _Place) -> bool:
    return place.type == "server_tool_use"


def _cleared(block: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = str(block.get("type"))
    if kind == "tool_result":
        return {**block, "content": PLACEHOLDER}
    return {**block, "content": []} if kind.endswith("_tool_result") else {**block, "input": {}}


def _kept_turns(edit: Mapping[str, Any], model: Model) -> int | None:
    """How many turns keep their thinking; None: all."""
    keep = edit.get("keep")
    if keep is None:
        return 1 if model.keeps_thinking == "last-turn" else None
    return None if keep in ("all", {"type": "all"}) else int(keep["value"])


def _trigger(edit: Mapping[str, Any]) -> tuple[str, int]:
    given = edit.get("trigger")
    if given is None:
        return "input_tokens", DEFAULT_TRIGGER_TOKENS[edit["type"]]
    return given["type"], given["value"]


def _over(found: int, trigger: int, when: str) -> bool:
    return found >= trigger if when == "reaches" else found > trigger


def _counter(model: Model) -> CountRequest:
    def count(request: Mapping[str, Any]) -> int:
        return tokens.count(Prompt.from_request(request), model).total

    return count
