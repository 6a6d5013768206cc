"""The one sum behind every count: what blocks contain, plus what the server puts around and between them.

Models: frames and joins of messages, sections, tool preambles, wrappers of calls and results, pictures,
thinking, compaction; and where each of these tokens stands, so that the sum up to any block is the size of
the prefix that a cache marker on that block covers.
Does not model: how the content of a block was counted. By its text, its length or a recording: the sum is the
same.

Source: the constants, their sources and their evidence are in ``token_rules.toml``. How many recorded totals
the sum meets is computed in ``tests/test_tokens_recorded.py``. Where tokens stand *around* a marker rests on
fewer recordings, and is assumed where the table says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ctxlab.tokens.table import Rules

Kind = Literal[
    "text", "tool", "deferred tool", "api tool", "call", "result", "thinking", "compaction", "image", "other"
]


class Placed(Protocol):
    """Where a block stands; the blocks of a prompt and those of a recording are both this."""

    @property
    def segment(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def message(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Outside:
    """Something the rules do not cover: what the total assumes for it, and the bounds of what it may be."""

    path: str
    reason: str
    assumed_tokens: int = 0
    low_tokens: int = 0
    high_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Content:
    """One block, counted by itself.

    ``tokens`` are those of its text, or of its rendering (:mod:`ctxlab.tokens.rendering`): a definition, one
    call, one result. ``images`` and ``patches`` are its pictures; in a result they may stand beside text.
    """

    kind: Kind
    tokens: int = 0
    images: int = 0
    patches: int = 0
    text_beside_images: bool = False
    ends_with_newline: bool = False
    outside: tuple[Outside, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters that change the prompt, and the tokens of the texts in them."""

    thinking: str | None = None
    choice: str | None = None
    one_call_at_a_time: bool = False
    forced_name_tokens: int = 0
    schema_tokens: int | None = None
    outside: tuple[Outside, ...] = ()

    @property
    def forced(self) -> bool:
        return self.choice in ("any", "tool")


@dataclass(slots=True)
class Sum:
    """Tokens that each block adds to the prefix, those of its content, and those behind the last block."""

    by_block: list[int]
    content: list[int]
    tail: int = 0

    def add(self, i: int, ahead: int, content: int, around: int) -> None:
        self.content[i] = content
        self.by_block[i] = ahead + content + around


def add_up(blocks: Sequence[Placed], contents: Sequence[Content], settings: Settings, rules: Rules) -> Sum:
    """The tokens of a prompt, block by block. ``contents`` are those of ``blocks``, in the same order."""
    found = Sum([0] * len(blocks), [0] * len(blocks))
    live = any(content.kind in ("tool", "api tool") for content in contents)
    preamble = _preamble(settings, rules, live)

    _add_tools(contents, rules, found, ahead=preamble.before_tools)
    ahead = _add_system(blocks, contents, settings, rules, found, live, preamble.behind_tools)

    thinking = _thinking(settings, rules, live)
    thinking_at_end = min(rules.thinking_at_end, thinking)
    ahead += preamble.before_messages + thinking - thinking_at_end
    ahead += rules.frame - rules.before_system - rules.at_text_end
    messages = _messages(blocks, contents)
    ahead = _add_messages(messages, contents, rules, found, ahead)

    found.tail = ahead + rules.at_text_end + thinking_at_end + preamble.at_end
    if messages:
        last = messages[-1]
        # it is continued: no answer has to be opened (results in it are a fault, and end as results do)
        if last.role == "assistant" and not last.results:
            found.tail -= rules.other_role
        if settings.forced and last.role == "user" and last.results:
            found.tail += rules.results_at_end_forced
    return found


@dataclass(frozen=True, slots=True)
class _Preamble:
    """Where the tokens of the tool preamble stand."""

    before_tools: int = 0
    behind_tools: int = 0
    before_messages: int = 0
    at_end: int = 0


def _preamble(settings: Settings, rules: Rules, live: bool) -> _Preamble:
    if not live:
        return _Preamble()
    free = rules.preamble or 0
    forced = at_end = 0
    if settings.forced and rules.forced_preamble is not None:
        forced = rules.forced_preamble - free
        at_end = min(rules.forced_at_end, max(forced, 0))
    before_messages = max(forced, 0) - at_end
    if settings.choice == "tool":
        at_end += settings.forced_name_tokens + rules.forced_tool_name
    if settings.one_call_at_a_time:
        free += rules.one_call_at_a_time
    before_tools = min(rules.before_tools, free)
    return _Preamble(before_tools, free - before_tools + min(forced, 0), before_messages, at_end)


def _thinking(settings: Settings, rules: Rules, live: bool) -> int:
    if settings.thinking == "enabled":
        return rules.thinking_enabled + (rules.thinking_enabled_with_tools if live else 0)
    if settings.thinking == "adaptive" and not settings.forced:
        return rules.thinking_adaptive
    return 0


def _add_tools(contents: Sequence[Content], rules: Rules, found: Sum, ahead: int) -> None:
    for i, content in enumerate(contents):
        if content.kind in ("tool", "api tool"):
            around = rules.custom_tool if content.kind == "tool" else 0
            found.add(i, ahead, content.tokens, around)
            ahead = 0


def _add_system(
    blocks: Sequence[Placed],
    contents: Sequence[Content],
    settings: Settings,
    rules: Rules,
    found: Sum,
    live: bool,
    ahead: int,
) -> int:
    """Fill in the system prompt; returns what stands between it and the messages."""
    # an empty system string is no system prompt
    systems = [i for i, block in enumerate(blocks) if block.segment == "system" and contents[i].tokens]
    sections = bool(systems) + live + (settings.schema_tokens is not None)
    ahead += rules.before_system + rules.section_join * max(sections - 1, 0)
    if any(content.kind == "deferred tool" for content in contents):
        ahead += rules.deferred_tools
    if settings.schema_tokens is not None:
        ahead += settings.schema_tokens + rules.output_schema
    for number, i in enumerate(systems):
        found.add(i, ahead, contents[i].tokens, rules.further_system_block if number else 0)
        ahead = 0
    if sections and not (systems and contents[systems[-1]].ends_with_newline):
        ahead += rules.sections_end_with_tools if live else rules.sections_end
    return ahead


@dataclass(slots=True)
class _Message:
    """``blocks`` are indexes, ``results`` is how many of them are tool results."""

    role: str | None
    blocks: list[int]
    results: int = 0

    @property
    def only_results(self) -> bool:
        return self.results == len(self.blocks)


def _messages(blocks: Sequence[Placed], contents: Sequence[Content]) -> list[_Message]:
    """The messages that the model sees: from the last summary on, which reads as a user message."""
    found: list[_Message] = []
    before: int | None = None
    for i, block in enumerate(blocks):
        if block.segment != "messages":
            continue
        kind = contents[i].kind
        if kind == "compaction":
            found = [_Message("user", [i])]
            before = None
            continue
        if not found or block.message != before:
            before = block.message
            found.append(_Message(block.role, []))
        message = found[-1]
        message.blocks.append(i)
        message.results += kind == "result"
    return found


def _add_messages(
    messages: Sequence[_Message], contents: Sequence[Content], rules: Rules, found: Sum, ahead: int
) -> int:
    """Fill in the messages; returns what is left to stand behind them (or to be taken off there)."""
    spoken = [n for n, message in enumerate(messages) if message.role == "user" and not message.only_results]
    last_spoken = spoken[-1] if spoken else -1
    # a marker on results covers more of what opens the answer than a marker on a text does
    more_behind_results = rules.at_text_end - rules.at_results_end
    # what the rendering of calls and results counts too much is taken off with the calls, or the prefix
    # would shrink where short results follow; calls that nobody answered get it back
    taken_off = False
    for number, message in enumerate(messages):
        if number:
            ahead += _join(messages[number - 1], message, rules)
        if taken_off and not message.results:
            ahead -= rules.answered_calls
        calls = results = others = 0
        for i in message.blocks:
            content = contents[i]
            tokens = content.tokens + content.patches + content.images * rules.image
            around = 0
            if content.kind == "result":
                if message.results > 1:
                    tokens += rules.each_result + (0 if results else rules.several_results)
                if content.images:
                    beside = content.text_beside_images
                    around += rules.image_beside_text_in_result if beside else rules.image_in_result
                results += 1
            elif message.results:
                if not others:
                    is_text = content.kind == "text"
                    around += rules.text_beside_results if is_text else rules.other_beside_results
                others += 1
            if content.kind == "call":
                tokens += rules.each_call + (0 if calls else rules.calls)
                around += 0 if calls else rules.answered_calls
                calls += 1
            elif content.kind == "thinking":
                if number > last_spoken and rules.open_thinking is not None:
                    around += rules.open_thinking
                else:
                    tokens = 0
            elif content.kind == "compaction":
                around += rules.compaction_summary - rules.frame
            found.add(i, ahead, tokens, around)
            # a text shorter than what is taken off behind results adds nothing; the rest waits
            ahead = min(0, max(ahead, found.by_block[i]))
            found.by_block[i] -= ahead
            if content.kind == "result" and results == message.results:
                found.by_block[i] += more_behind_results
                ahead -= more_behind_results
        taken_off = bool(calls)
    return ahead - (rules.answered_calls if taken_off else 0)


def _join(before: _Message, message: _Message, rules: Rules) -> int:
    if message.role != before.role:
        return rules.other_role
    if message.role == "user" and before.only_results:
        return rules.user_behind_results
    return rules.same_role
