"""Compact: the older turns give way to a summary that a model writes, in two pure halves.

Models: :func:`compact_call` makes the request that asks for the summary, on the prefix that is warm;
:func:`apply_compaction` puts the answer in place of the older turns, with pins word for word, and reports
which facts are gone. An answer without a summary leaves the history as it is, and its call on the bill.
Does not model: the server's own compaction; how good a summary is.
Source: own construction; compaction pages 2026-08 to 2026-10 for what makes a summary fail; a recorded
compaction read 55,096 of 55,196 tokens from the cache, because its prompt was the conversation itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ctxlab.breakpoints import with_markers
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.levers.effect import Loss, Outcome
from ctxlab.levers.facts import find_facts, missing, words_of
from ctxlab.levers.ledger import PrefixLedger
from ctxlab.levers.making import ledger_of, outcome, strings, unchanged, whole_number
from ctxlab.levers.trimming import standing_block, starts_of
from ctxlab.prompt import plain
from ctxlab.usage import Usage
from ctxlab.validity.rule import Message, mapping

INSTRUCTIONS = (
    "Summarise this conversation so that the work can go on from your summary alone; all but its last turn "
    "will be gone. Say what is asked for, what was done and decided and why, what is open, and what went "
    "wrong. Keep paths, commands, ids, figures and error messages word for word. Call no tool. Answer with "
    "the summary only, inside <summary> tags."
)
SUMMARY = "[Summary of the conversation so far]"
PINNED = "[Word for word]"
#: Parameters that would get in the way of a summary.
_NOT_FOR_A_SUMMARY = ("stop_sequences", "output_format", "stream", "cache_control", "compaction")
#: Blocks of which no word of a summary is left.
_SHOWN: Mapping[str, Literal["image", "document"]] = {"image": "image", "document": "document"}
_ENDED = ("end_turn", "stop_sequence", None)


def compact_call(
    request: Mapping[str, Any],
    *,
    keep_turns: int = 1,
    instructions: str = INSTRUCTIONS,
    pins: Sequence[str] = (),
    max_tokens: int = 4_096,
    target_tokens: int | None = None,
    ledger: PrefixLedger | None = None,
) -> dict[str, Any]:
    """The request that asks for a summary of all but the last ``keep_turns`` turns.

    It is the conversation with the instructions behind it, so that it reads the prefix that is warm; its
    markers stay where they are, and nothing is written that nobody will read. ``pins`` are named to the
    model, which need not repeat them. With ``target_tokens`` it is made sure, before anything is spent, that
    the result can get that small.

    Raises :class:`InvalidArgumentError` where there is nothing to summarise, where no summary could be put in
    place (thinking of an open tool loop is bound to what would go), where the target is out of reach, and
    where the call does not fit the window; :class:`ctxlab.errors.InvalidRequestError` for a request that is
    not valid.

    >>> turn = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> call = compact_call({"model": "claude-opus-5-5", "max_tokens": 100, "messages": [*turn, turn[0]]})
    >>> len(call["messages"]), call["max_tokens"]
    (4, 4096)
    """
    found = ledger_of(request, ledger)
    cut = _cut(found, keep_turns)
    pins = strings("pins", pins)
    whole_number("max_tokens", max_tokens, 1)
    if not isinstance(instructions, str) or not instructions.strip():
        says = f"are {instructions!r}"
        raise InvalidArgumentError(
            Problem("instructions", "not-blank", says, "say something, or leave them out")
        )
    tried = outcome("compact", found, _replaced(request, cut, "", pins))
    if tried.effect.refused is not None:
        raise InvalidArgumentError(tried.effect.refused)
    if target_tokens is not None:
        least = tried.ledger.total_tokens + max_tokens
        _reachable(found, cut, whole_number("target_tokens", target_tokens, 1), least)
    asked = "\n".join([instructions, *([PINNED, *pins] if pins else ())])
    call = {name: value for name, value in _marked(found).items() if name not in _NOT_FOR_A_SUMMARY}
    _free_the_answer(call)
    call["messages"] = [*call["messages"], {"role": "user", "content": asked}]
    call["max_tokens"] = room = _room(call, max_tokens, found.model.max_output_tokens)
    window, size = found.model.window_tokens, found.after(call).total_tokens
    if window is not None and size + room > window:
        says = f"has {size:,} tokens and room for {room:,} more, above the window of {window:,}"
        raise InvalidArgumentError(Problem("request", "fits-the-window", says, "clear or trim first"))
    return call


def apply_compaction(
    request: Mapping[str, Any],
    message: Any,
    *,
    keep_turns: int = 1,
    pins: Sequence[str] = (),
    facts: Iterable[str] | None = None,
    ledger: PrefixLedger | None = None,
) -> Outcome:
    """The request with the summary in ``message`` (the answer to :func:`compact_call`) in place of its turns.

    ``pins`` are carried word for word. ``facts`` are looked for as exact strings in what is left, and those
    that are gone are in ``effect.lost``; by default they are found in what was taken out. The answer's usage
    is on the bill of the effect. An answer that holds no summary (cut off, a tool call, blank) changes
    nothing but the bill.

    Raises as :func:`compact_call` does.
    """
    found = ledger_of(request, ledger)
    cut = _cut(found, keep_turns)
    pins = strings("pins", pins)
    answer = _answer(message)
    calls = (Usage.from_response(answer),) if answer.get("usage") else ()
    sent = _marked(found) if calls else None
    summary, problem = _summary(answer)
    if problem is not None:
        return unchanged("compact", found, problem, calls, sent)
    edited = _replaced(request, cut, summary, pins)
    first, gone = _read_before(found, cut)
    told = find_facts(words_of([block.body for message in gone for block in message.blocks]))
    wanted = (*pins, *(told if facts is None else strings("facts", facts)))
    left = missing(wanted, words_of([edited.get("system"), edited["messages"]]))
    lost = [*_unsaid(found, first, gone), *(Loss(f"messages[{first}:{cut}]", "fact", fact) for fact in left)]
    return outcome("compact", found, edited, lost, calls, sent=sent)


def _cut(ledger: PrefixLedger, keep_turns: int) -> int:
    """The number of the first message that stays."""
    starts = starts_of(ledger.messages_read)
    cut = starts[-whole_number("keep_turns", keep_turns, 1) :][0]
    if cut == starts[0]:
        says = f"is {keep_turns}: nothing stands before the {len(starts)} turns that can be told apart"
        raise InvalidArgumentError(
            Problem("keep_turns", "something-to-summarise", says, "keep fewer, or wait for the next turn")
        )
    return cut


def _read_before(ledger: PrefixLedger, cut: int) -> tuple[int, list[Message]]:
    """What the model reads before a cut: from the last compaction block on, and where that stands."""
    messages, block = ledger.messages_read, standing_block(ledger.messages_read)
    if block is None:
        return 0, list(messages[:cut])
    first = messages[block.number]
    begun = first._replace(blocks=first.blocks[block.place :])
    return block.number, [begun, *messages[block.number + 1 : cut]]


def _unsaid(ledger: PrefixLedger, first: int, gone: list[Message]) -> Iterator[Loss]:
    """What a summary in words does not carry: pictures, files, and what the system said on the way."""
    added = ledger.message_tokens()
    for number, message in enumerate(gone, first):
        if message.role == "system":
            yield Loss(message.path, "message", f"system, {added[number]:,} tokens")
        for block in message.blocks:
            if block.type in _SHOWN:
                yield Loss(
                    block.path, _SHOWN[block.type], f"{block.type}, {ledger.tokens_of(block.path):,} tokens"
                )
            inside = block.body.get("content") if block.type == "tool_result" else None
            for place, part in enumerate(inside if isinstance(inside, (list, tuple)) else ()):
                kind = str(mapping(part).get("type"))
                if kind in _SHOWN:
                    what = f"{kind} in the result of {block.body.get('tool_use_id')}"
                    yield Loss(f"{block.path}.content[{place}]", _SHOWN[kind], what)


def _replaced(request: Mapping[str, Any], cut: int, summary: str, pins: Sequence[str]) -> dict[str, Any]:
    """The request with a summary and pins in place of the messages before a cut."""
    text = "\n".join([SUMMARY, summary, *([PINNED, *pins] if pins else ())])
    head = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {**request, "messages": [head, *request["messages"][cut:]]}


def _reachable(ledger: PrefixLedger, cut: int, target_tokens: int, least_tokens: int) -> None:
    if least_tokens <= target_tokens:
        return
    kept = sum(ledger.message_tokens()[cut:])
    says = (
        f"is {target_tokens:,}; tools and system prompt ({ledger.fixed_tokens:,}), the turns that stay "
        f"({kept:,}), pins and a summary of full length can have {least_tokens:,}"
    )
    fix = "keep fewer turns, clear or offload what they hold, or allow a shorter summary"
    raise InvalidArgumentError(Problem("target_tokens", "reachable", says, fix))


def _marked(ledger: PrefixLedger) -> dict[str, Any]:
    """The request with its markers written out, so that none moves to the instructions."""
    layout = ledger.plan.layout
    if layout.automatic is None:
        return dict(ledger.request)
    paths = {layout.positions[marker.position].path: marker.ttl for marker in layout.markers}
    ends = {path if path.endswith("]") else f"{path}[0]": ttl for path, ttl in paths.items()}
    return with_markers(ledger.request, ends)


def _free_the_answer(call: dict[str, Any]) -> None:
    """Take out what forces the answer into a shape: a tool that must be called, a format of the output, a
    compaction of the server's own in the middle of it. Results it clears stay cleared: so the prefix is warm.
    """
    choice = plain(call.get("tool_choice"))
    if isinstance(choice, Mapping) and choice.get("type") in ("any", "tool"):
        del call["tool_choice"]
    _leave_out(call, "output_config", lambda name, value: None if name == "format" else value)
    _leave_out(call, "context_management", _but_compaction)


def _leave_out(call: dict[str, Any], parameter: str, kept: Callable[[str, Any], Any]) -> None:
    """Take fields out of a parameter; with all of them gone it goes too."""
    settings = plain(call.get(parameter))
    if not isinstance(settings, Mapping):
        return
    left = {name: kept(name, value) for name, value in settings.items()}
    left = {name: value for name, value in left.items() if value is not None}
    if left == settings:
        return
    if left:
        call[parameter] = left
    else:
        del call[parameter]


def _but_compaction(name: str, value: Any) -> Any:
    if name != "edits" or not isinstance(value, list):
        return value
    return [edit for edit in value if not str(mapping(edit).get("type")).startswith("compact_")] or None


def _room(call: Mapping[str, Any], max_tokens: int, most_tokens: int | None) -> int:
    """Tokens of the answer: those of the summary, on top of what thinking takes that is switched on by hand,
    and no more than a model can write."""
    thinking = mapping(call.get("thinking"))
    budget = thinking.get("budget_tokens") if thinking.get("type") == "enabled" else None
    if not isinstance(budget, int):
        return max_tokens
    room = budget + max_tokens
    return room if most_tokens is None or budget >= most_tokens else min(room, most_tokens)


def _answer(message: Any) -> Mapping[str, Any]:
    """A message as the API sends it. Raises :class:`InvalidArgumentError` for anything else."""
    answer = plain(message)
    if not isinstance(answer, Mapping):
        says, fix = f"is of type {type(message).__name__}", "pass the answer to compact_call's request"
        raise InvalidArgumentError(Problem("message", "an-answer", says, fix))
    content = answer.get("content")
    if content is not None and not isinstance(content, (list, tuple)):
        says = f"is of type {type(content).__name__}"
        raise InvalidArgumentError(Problem("message.content", "an-answer", says, "a list of blocks"))
    for place, block in enumerate(content or ()):
        if not isinstance(block, Mapping):
            says = f"is of type {type(block).__name__}"
            raise InvalidArgumentError(Problem(f"message.content[{place}]", "an-answer", says, "a block"))
    return answer


def _summary(answer: Mapping[str, Any]) -> tuple[str, Problem | None]:
    blocks = answer.get("content") or ()
    text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    inside = re.search(r"<summary>(.*?)</summary>", text, re.DOTALL)
    text = (inside.group(1) if inside else text).strip()
    reason = answer.get("stop_reason")
    called = any(block.get("type") == "tool_use" for block in blocks)
    if text and reason in _ENDED and not called:
        return text, None
    says = f"holds no whole summary (stop_reason {reason}, {len(text):,} characters)"
    fix = "the history stays; ask again with more max_tokens, or with instructions that forbid tools"
    return "", Problem("message", "a-summary", says, fix)
