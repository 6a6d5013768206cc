"""A request as the server hands it on: summaries, thinking and context edits applied, in that order.

Models: :func:`effective` and what it reports; whether a compaction is due.
Does not model: the summary itself, or what an edit does to the prompt cache.
Source: context-editing page 2026-08, compaction pages 2026-08 to 2026-10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ctxlab import tokens
from ctxlab.catalogue import Model, get_model
from ctxlab.effective.edits import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    COMPACT,
    DEFAULT_KEEP_TOOL_USES,
    PLACEHOLDER,
    EditRules,
    edits_of,
    kept_turns,
    over,
    trigger_of,
)
from ctxlab.effective.reading import THINKING, last_summary, speaks, unread
from ctxlab.errors import InvalidRequestError, Problem
from ctxlab.prompt import Prompt, plain
from ctxlab.prompt.objects import is_list

#: Not an edit anybody asked for: what some models do by themselves, and what a summary does.
OLD_THINKING = "thinking-of-earlier-turns"
BEFORE_SUMMARY = "before-the-last-summary"

CountRequest = Callable[[Mapping[str, Any]], int]


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
    known = _model_of(request, model)
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
    known, switches = _model_of(request, model), rules or EditRules()
    edit = next((edit for edit in edits_of(request) if edit.get("type") == COMPACT), None)
    if edit is None:
        return None
    found = (count or _counter(known))(request)
    return edit if over(found, trigger_of(edit)[1], switches.compacting_at) else None


def _model_of(request: Mapping[str, Any], model: str | Model | None) -> Model:
    if not isinstance(request, Mapping):
        fix = "pass the dict that goes to messages.create(**request)"
        raise InvalidRequestError(Problem("request", "object", "is not an object", fix))
    if model is None and request.get("model") is None:
        fix = "name one in the request, or pass model="
        raise InvalidRequestError(Problem("model", "required", "is missing", fix))
    return get_model(request["model"] if model is None else model)


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
    """Every block of a list of messages, in order; a plain string is one text.

    Raises :class:`InvalidRequestError` for what is no message or no block.
    """
    found: list[_Place] = []
    for number, item in enumerate(_listed(messages, "messages")):
        message = _object(item, f"messages[{number}]")
        content = message.get("content")
        if isinstance(content, str):
            content, whole = [{"type": "text", "text": content}], True
        else:
            content, whole = _listed(content or (), f"messages[{number}].content"), False
        for j, given in enumerate(content):
            block = _object(given, f"messages[{number}].content[{j}]")
            chars = len(block["content"]) if isinstance(block.get("content"), str) else 0
            kind, at = str(block.get("type")), None if whole else j
            found.append(_Place("messages", message.get("role"), kind, number, chars, at, block))
    return found


def _listed(value: Any, path: str) -> Sequence[Any]:
    if is_list(value):
        sent: Sequence[Any] = value if isinstance(value, Sequence) else list(value)
        return sent
    raise InvalidRequestError(Problem(path, "list", f"is of type {type(value).__name__}", "pass a list"))


def _object(value: Any, path: str) -> Mapping[str, Any]:
    read = value if isinstance(value, Mapping) else plain(value, path)
    if isinstance(read, Mapping):
        return read
    told = f"is of type {type(value).__name__}, not an object"
    raise InvalidRequestError(Problem(path, "object", told, "pass a dict or an SDK object"))


class _Work:
    """A request while it is being worked on."""

    def __init__(self, request: Mapping[str, Any], model: Model, count: CountRequest, rules: EditRules):
        self.body = request
        self.applied: list[Applied] = []
        self._sent = request
        self._model, self._count, self._rules = model, count, rules
        # numbers of messages change as messages go: each remembers where it was sent
        self._sent_at = list(range(len(_listed(request.get("messages") or (), "messages"))))

    def ignore_before_summary(self) -> None:
        places = self._places()
        last = last_summary(places)
        gone = {i for i, p in enumerate(places) if i < last or (p.type == "compaction" and not p.chars)}
        if gone:
            self._leave_out(BEFORE_SUMMARY, places, gone)

    def drop_old_thinking(self) -> None:
        places = self._places()
        gone = unread(places, self._model)
        if gone:
            self._leave_out(OLD_THINKING, places, gone)

    def clear_thinking(self, edit: Mapping[str, Any]) -> None:
        keep = kept_turns(edit, self._model)
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
        unit, value = trigger_of(edit)
        found = uses
        if unit == "input_tokens":
            found = self._count(self._sent) if self._rules.trigger_counts == "as_sent" else self._tokens()
        return over(found, value, self._rules.clearing_at)

    def _thinking_turns(self, places: Sequence[_Place]) -> dict[int, list[int]]:
        """Numbers of thinking blocks by turn, in order."""
        turns: dict[int, list[int]] = {}
        turn = 0
        for i, place in enumerate(places):
            each = self._rules.thinking_turn == "message"
            turn = place.message if each else turn + speaks(place)
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


def _counter(model: Model) -> CountRequest:
    def count(request: Mapping[str, Any]) -> int:
        return tokens.count(Prompt.from_request(request), model).total

    return count
