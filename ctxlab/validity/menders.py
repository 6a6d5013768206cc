"""One mender per rule that can be mended: it edits the turns on the bench until the rule holds.

Models: the smallest change that keeps everything that was said; edits beside thinking that has to stay as it
was turn the whole message into plain text instead.
Does not model: in which order rules are looked at by the API. Here: summaries, thinking, roles, server tools,
empty texts, calls and results, system messages, the open loop.
Source: :mod:`ctxlab.validity.rule` objects; the report and its wording are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ctxlab.prompt import plain
from ctxlab.validity.pairing import pair
from ctxlab.validity.turns import Turn, Turns, as_text, text_block

Mender = Callable[[Turns, Sequence[str]], None]

_THINKING = ("thinking", "redacted_thinking")


def thinks(turn: Turn) -> bool:
    """Whether a turn is an answer with thinking in it."""
    return turn.role == "assistant" and bool(turn.of_type(*_THINKING))


def _is_open(turns: Turns, turn: Turn) -> bool:
    """Whether its thinking has to stay as it was: in the latest answer, and anywhere in an open tool loop."""
    behind = turns.turns[turns.turns.index(turn) + 1 :]
    if not any(later.role == "assistant" for later in behind):
        return True
    return all(later.role == "assistant" or later.of_type("tool_result") for later in behind)


def make_plain(turns: Turns, turn: Turn, rule: str) -> None:
    """The whole answer as plain text: calls, thinking and all."""
    ids = [_id(block) for block in turn.blocks if _has_id(block)]
    turn.set_blocks(new for block in turn.blocks for new in as_text(block) if new.get("text") != "")
    what = (
        "thinking that has to stay as it was cannot be mended by edits: the whole message is now plain text"
    )
    turns.note(turn.path, rule, what, *ids)


def may_edit(turns: Turns, turn: Turn, rule: str) -> bool:
    """Whether single blocks of a turn may be edited; where not, it is made plain here and now."""
    if thinks(turn) and _is_open(turns, turn):
        make_plain(turns, turn, rule)
        return False
    return True


def _turns_at(turns: Turns, places: Sequence[str]) -> list[Turn]:
    found = [turns.at(place) for place in places]
    return list(dict.fromkeys(turn for turn in found if turn is not None))


# --- summaries


def _signed_summary(turns: Turns, places: Sequence[str]) -> None:
    """The newest signed summary goes first; what stands before it is what it summarises."""
    holders = [turn for turn in turns.turns if any(map(_is_signed, turn.blocks))]
    last = holders[-1]
    *older, newest = [block for block in last.blocks if _is_signed(block)]
    cut = turns.turns.index(last)
    for turn in turns.turns[:cut]:
        ids = [_id(b) for b in turn.blocks if _has_id(b)]
        what = "stands before the newest signed summary, which has taken its place: taken out"
        turns.note(turn.path, "signed-summary-first", what, *ids)
    turns.turns = turns.turns[cut:]
    if older or last.blocks[0] is not newest:
        last.set_blocks([newest, *(b for b in last.blocks if not _is_signed(b))])
        turns.note(last.path, "one-signed-summary", "the newest signed summary put first, older ones out")


def _is_signed(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "compaction" and block.get("signature") is not None


def _id(block: Mapping[str, Any]) -> str:
    return str(block.get("id", block.get("tool_use_id")))


def _has_id(block: Mapping[str, Any]) -> bool:
    return "tool_use_id" in block or str(block.get("type")).endswith("tool_use")


def _empty_summary(turns: Turns, places: Sequence[str]) -> None:
    for turn in _turns_at(turns, places):
        turn.set_blocks(
            {**b, "content": None} if b.get("type") == "compaction" and b.get("content") == "" else b
            for b in turn.blocks
        )
        turns.note(turn.path, "summary-content", "an empty summary is sent as null: there was none")


# --- thinking


def _thinking_to_text(turns: Turns, turn: Turn, rule: str, what: str) -> None:
    turn.set_blocks(new for b in turn.blocks for new in (as_text(b) if b.get("type") in _THINKING else [b]))
    turns.note(turn.path, rule, what)


def _unsigned(turns: Turns, places: Sequence[str]) -> None:
    for turn in _turns_at(turns, places):
        if may_edit(turns, turn, "thinking-signed"):
            what = "thinking without a signature: the thinking of this message is kept as text"
            _thinking_to_text(turns, turn, "thinking-signed", what)


def _thinking_elsewhere(turns: Turns, places: Sequence[str]) -> None:
    for turn in _turns_at(turns, places):
        what = "thinking outside an answer: kept as text"
        _thinking_to_text(turns, turn, "thinking-by-assistant", what)


def _open_loop(turns: Turns, places: Sequence[str]) -> None:
    """The last round of the loop becomes text, and with it the loop is no longer open."""
    last = next(turn for turn in reversed(turns.turns) if turn.role == "assistant")
    ids = [str(block.get("id")) for block in last.of_type("tool_use")]
    last.set_blocks(new for block in last.blocks for new in as_text(block) if new.get("text") != "")
    what = "thinking is on and this open loop lost its own: its last round is now plain text"
    turns.note(last.path, "thinking-in-loop", what, *ids)


# --- roles and server tools


def _calls_elsewhere(turns: Turns, places: Sequence[str]) -> None:
    for turn in _turns_at(turns, places):
        ids = [str(block.get("id")) for block in turn.of_type("tool_use")]
        turn.set_blocks(
            new for b in turn.blocks for new in (as_text(b) if b.get("type") == "tool_use" else [b])
        )
        turns.note(turn.path, "calls-by-assistant", "calls outside an answer: kept as text", *ids)


def _server_tools(turns: Turns, places: Sequence[str]) -> None:
    """Calls of server tools without a result, and results without a call, become text."""
    by_turn: dict[Turn, list[int]] = {}
    for place in places:
        turn = turns.at(place)
        if turn is not None:
            by_turn.setdefault(turn, []).append(int(place.rpartition("[")[2].rstrip("]")))
    for turn, numbers in by_turn.items():
        if not may_edit(turns, turn, "server-calls-answered"):
            continue
        ids = [_id(turn.blocks[n]) for n in numbers]
        turn.set_blocks(
            new for n, b in enumerate(turn.blocks) for new in (as_text(b) if n in numbers else [b])
        )
        what = "half of a server tool's call and result: kept as text"
        turns.note(turn.path, "server-calls-answered", what, *ids)


# --- texts


def _empty_texts(turns: Turns, places: Sequence[str]) -> None:
    for turn in _turns_at(turns, places):
        if may_edit(turns, turn, "text"):
            kept = [b for b in turn.blocks if not (b.get("type") == "text" and not _said(b))]
            gone = len(turn.blocks) - len(kept)
            turn.set_blocks(kept)
            turns.note(turn.path, "text", f"{gone} empty text{'s' * (gone > 1)} taken out")
        if not turn.blocks:
            turns.drop(turn)
            turns.note(turn.path, "content", "nothing else was in this message: taken out")
    if any(place.startswith("system") for place in places):
        turns.system = [b for b in turns.system if not (isinstance(b, Mapping) and b.get("text") == "")]
        turns.note("system", "text", "empty texts taken out")


def _said(block: Mapping[str, Any]) -> bool:
    text = block.get("text")
    return not isinstance(text, str) or bool(text.strip())


def _empty_messages(turns: Turns, places: Sequence[str]) -> None:
    for turn in _turns_at(turns, places):
        turns.drop(turn)
        turns.note(turn.path, "content", "a message without content: taken out")


# --- system messages


#: What a user message may carry as it is.
_BY_USER = ("image", "document", "search_result", "container_upload", "tool_result", "compaction")


#: What only a system message can carry; without a text beside it, it may stand anywhere.
_DIRECTIVES = ("tool_addition", "tool_removal")


def _no_system_messages(turns: Turns, places: Sequence[str]) -> None:
    """For a model that takes none: what a user message may carry is now of the user, the rest is named."""
    for turn in _turns_at(turns, places):
        turns.note(turn.path, "system-role", "a system message where none may stand: now of the user")
        blocks = [new for block in turn.blocks for new in _of_the_user(turns, turn, block)]
        others = {name: value for name, value in turn.message.items() if name not in ("role", "content")}
        blocks += [_stub(turns, turn, name, {name: value}) for name, value in others.items()]
        turn.role, turn.message = "user", {"role": "user"}
        turn.set_blocks(blocks)


def _system_texts(turns: Turns, places: Sequence[str]) -> None:
    """What is said is now of the user; directives stay behind it, in a system message of their own."""
    for turn in _turns_at(turns, places):
        turns.note(turn.path, "system-role", "a system message where none may stand: now of the user")
        directives = [block for block in turn.blocks if block.get("type") in _DIRECTIVES]
        said = [block for block in turn.blocks if block.get("type") not in _DIRECTIVES]
        if directives or set(turn.message) - {"role", "content"}:
            rest = Turn(turn.path, turn.message, "system", directives, changed=True)
            turns.turns.insert(turns.turns.index(turn) + 1, rest)
            what = "its directives stay in a system message of their own, which may stand here"
            turns.note(turn.path, "system-role", what)
        turn.role, turn.message = "user", {"role": "user"}
        turn.set_blocks(new for block in said for new in _of_the_user(turns, turn, block))


def _of_the_user(turns: Turns, turn: Turn, block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A block of a system message as a user message may carry it."""
    kind = str(block.get("type"))
    if isinstance(block.get("text"), str) and kind == "text":
        return [text_block(f"[System message]\n{block['text']}", block)]
    if kind in _BY_USER:
        turns.note(turn.path, "system-role", f"its {kind} stays beside it as it was")
        return [block]
    shown = as_text(block)
    if shown == [block]:
        return [_stub(turns, turn, kind, {key: value for key, value in block.items() if key != "type"})]
    ids = [_id(block)] if _has_id(block) else []
    turns.note(turn.path, "system-role", f"its {kind} kept as text", *ids)
    return shown


def _stub(turns: Turns, turn: Turn, name: str, held: Mapping[str, Any]) -> Mapping[str, Any]:
    """A text that names what only a system message can carry, and what it held."""
    what = (
        f"its {name}, which no message of the user can carry, is named by a text and has no effect any more"
    )
    turns.note(turn.path, "system-role", what)
    told = {key: value for key, value in held.items() if key != "cache_control"}
    words = json.dumps(plain(told), ensure_ascii=False, default=str)
    return text_block(f"[System message: {name}, no longer in effect: {words}]", held)


def _pairs(turns: Turns, places: Sequence[str]) -> None:
    pair(turns, may_edit)


MENDERS: Mapping[str, Mender] = MappingProxyType(
    {
        "signed-summary-first": _signed_summary,
        "one-signed-summary": _signed_summary,
        "summary-content": _empty_summary,
        "thinking-by-assistant": _thinking_elsewhere,
        "thinking-signed": _unsigned,
        "calls-by-assistant": _calls_elsewhere,
        "server-calls-answered": _server_tools,
        "server-results-asked-for": _server_tools,
        "text": _empty_texts,
        "blank-text": _empty_texts,
        "content": _empty_messages,
        "results-by-user": _pairs,
        "call-id": _pairs,
        "calls-unique": _pairs,
        "one-result-each": _pairs,
        "calls-answered": _pairs,
        "results-asked-for": _pairs,
        "system-role": _no_system_messages,
        "system-not-first": _system_texts,
        "system-after-user": _system_texts,
        "system-before-assistant": _system_texts,
        "thinking-in-loop": _open_loop,
    }
)
"""Every rule that can be mended, in the order in which they are."""
