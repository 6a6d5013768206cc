"""What the model would have said: an echo, a script, or a function of the request.

Models: replies of text, tool calls and thinking; a stop sequence; ``max_tokens`` and the end of the window,
which cut a text where the counter says; the tokens of a reply; deterministic ids.
Does not model: sampling, output schemas (a script may follow one), a tool call that is cut in the middle
(one that does not fit is left out).
Source: output of a text reply is its tokens and the constant that recordings show, ``reply`` in
``ctxlab/token_rules.toml``; for calls and thinking the same constant is *assumed*.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from typing import Any, Generic, TypeVar

from ctxlab.emulator.errors import ApiError, failed
from ctxlab.errors import InvalidArgumentError, Problem

Block = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """Content blocks as the API returns them. ``stop_reason`` is worked out unless it is given."""

    content: tuple[Block, ...]
    stop_reason: str | None = None

    @classmethod
    def of(cls, said: Any) -> Reply:
        """Read a reply as a person writes it: a text, a block or blocks.

        Raises :class:`InvalidArgumentError` for anything else.

        >>> Reply.of("Hello.").content
        ({'type': 'text', 'text': 'Hello.'},)
        """
        if isinstance(said, str):
            return cls(({"type": "text", "text": said},) if said else ())
        stop_reason = said.stop_reason if isinstance(said, Reply) else None
        blocks = said.content if isinstance(said, Reply) else [said] if isinstance(said, Mapping) else said
        if not isinstance(blocks, (list, tuple)):
            raise _unreadable("reply", f"is of type {type(said).__name__}")
        for i, block in enumerate(blocks):
            kind = block.get("type") if isinstance(block, Mapping) else None
            wanted = _FIELDS.get(kind) if isinstance(kind, str) else None
            if wanted is None or not all(isinstance(block.get(name), of) for name, of in wanted.items()):
                raise _unreadable(f"reply[{i}]", f"is {block!r}")
            try:
                json.dumps(block).encode()
            except (TypeError, ValueError) as error:
                raise _unreadable(f"reply[{i}]", f"is no JSON: {error}") from None
        return cls(tuple(dict(block) for block in blocks), stop_reason)


_FIELDS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "tool_use": {"name": str, "input": dict},
    "thinking": {"thinking": str},
}


def call(name: str, /, **arguments: Any) -> Block:
    """A tool call for a script; its id is given when it is answered.

    >>> call("weather", city="Bern")
    {'type': 'tool_use', 'name': 'weather', 'input': {'city': 'Bern'}}
    """
    return {"type": "tool_use", "name": name, "input": arguments}


def thinking(text: str) -> Block:
    """A thinking block for a script; its signature is given when it is answered."""
    return {"type": "thinking", "thinking": text}


#: Gives the reply to a request (a dict of its own); raises :class:`ApiError` to answer with an error.
Replier = Callable[[dict[str, Any]], Reply]


def replier(said: Any) -> tuple[Replier, bool]:
    """What ``Emulator(replies=…)`` was given, as one function; and whether it may change the request.

    A name (``"echo"``), a function, or any iterable of replies that are used up one a request.
    """
    if said is None or said == "echo":
        return echo, False
    return scripted(said, Kind("replies", "reply", Reply.of, "echo"))


_Said = TypeVar("_Said")


@dataclass(frozen=True)
class Kind(Generic[_Said]):
    """What a script holds: its argument, one of them in words, how one is read, the name that stands for the
    default."""

    argument: str
    one: str
    read: Callable[[Any], _Said]
    default: str


def scripted(said: Any, kind: Kind[_Said]) -> tuple[Callable[[dict[str, Any]], _Said], bool]:
    """A function of the request, or any iterable that is used up one a request, as one function; and whether
    it may change the request. Raises :class:`InvalidArgumentError` for anything else."""
    if callable(said):
        return _Function(said, kind), True
    if isinstance(said, (str, bytes, Mapping)) or not isinstance(said, Iterable):
        fix = f'give "{kind.default}", a list of {kind.argument} or a function'
        raise InvalidArgumentError(Problem(kind.argument, kind.argument, f"is {said!r}", fix))
    return _Script(iter(said), kind), False


@dataclass
class _Script(Generic[_Said]):
    said: Iterator[Any]
    kind: Kind[_Said]
    used: int = 0
    lock: Lock = field(default_factory=Lock)

    def __call__(self, request: dict[str, Any]) -> _Said:
        with self.lock:
            try:
                said = next(self.said)
            except StopIteration:
                says = f"the script has no {self.kind.one} left: it had {self.used}, each for one request"
                raise failed(says) from None
            except Exception as error:
                raise _gone_wrong("the script", error) from error
            self.used += 1
        return _read("the script", said, self.kind)


@dataclass(frozen=True)
class _Function(Generic[_Said]):
    function: Callable[[dict[str, Any]], Any]
    kind: Kind[_Said]

    def __call__(self, request: dict[str, Any]) -> _Said:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        who = f"the {self.kind.one} function {name}"
        try:
            said = self.function(request)
        except Exception as error:
            raise _gone_wrong(who, error) from error
        return _read(who, said, self.kind)


def _read(who: str, said: Any, kind: Kind[_Said]) -> _Said:
    if isinstance(said, ApiError):
        raise said
    try:
        return kind.read(said)
    except InvalidArgumentError as error:
        raise failed(f"{who} gave no {kind.one}: {error}") from error


def _gone_wrong(who: str, error: Exception) -> ApiError:
    """The answer to a request whose reply somebody else's code could not make."""
    return error if isinstance(error, ApiError) else failed(f"{who} raised {type(error).__name__}: {error}")


def echo(request: dict[str, Any]) -> Reply:
    """The words of the last user message; with a forced ``tool_choice``, an empty call of that tool.

    >>> echo({"messages": [{"role": "user", "content": "Hi"}]}).content[0]["text"]
    'Hi'
    """
    choice = request.get("tool_choice") or {}
    if choice.get("type") in ("any", "tool"):
        return Reply((call(choice.get("name") or request["tools"][0]["name"]),))
    for message in reversed(request["messages"]):
        if message["role"] == "user":
            words = words_of(message["content"])
            return Reply.of(words or "(no words to echo)")
    return Reply.of("(no words to echo)")


def words_of(content: Any) -> str:
    """The texts in the content of a message, those of results included and summaries not."""
    if isinstance(content, str):
        return content
    said = (block for block in content if block.get("type") != "compaction")
    texts = (block.get("text") or words_of(block.get("content") or "") for block in said)
    return "\n".join(text for text in texts if text)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as the API sends it: blocks with ids, why it stopped, what it cost."""

    content: tuple[Block, ...]
    stop_reason: str
    stop_sequence: str | None
    output_tokens: int
    thinking_tokens: int


@dataclass(frozen=True)
class Limits:
    """What ends a reply. ``window_left`` is the room behind the prompt (None: not known)."""

    max_tokens: int
    window_left: int | None = None
    stop_sequences: Sequence[str] = ()


def finish(
    reply: Reply, limits: Limits, count: Callable[[Block], int], around: int, ids: Callable[[str], str]
) -> Answer:
    """Give ids to a reply and end it where a limit says.

    ``count`` is the tokens of a block by itself, ``around`` what a reply costs besides, ``ids`` makes an id
    from its prefix.
    """
    if limits.max_tokens == 0:
        return Answer((), "max_tokens", None, 0, 0)
    content, stop_sequence = _stopped(reply.content, limits.stop_sequences)
    room = limits.max_tokens
    cut_by = "max_tokens"
    if limits.window_left is not None and limits.window_left < room:
        room, cut_by = limits.window_left, "model_context_window_exceeded"
    kept: list[Block] = []
    used = thought = 0
    cut = False
    for one in content:
        block = _with_id(one, ids)
        tokens = count(block)
        if used + tokens > room:
            cut = True
            thought += room - used if block["type"] == "thinking" else 0
            shorter = _shortened(block, room - used, count)
            if shorter is not None:
                kept.append(shorter)
            break
        used += tokens
        thought += tokens if block["type"] == "thinking" else 0
        kept.append(block)
    if cut or used + around > room:
        return Answer(tuple(kept), cut_by, None, room, thought)
    if stop_sequence is not None:
        reason = "stop_sequence"
    elif reply.stop_reason is not None:
        reason = reply.stop_reason
    else:
        reason = "tool_use" if any(block["type"] == "tool_use" for block in kept) else "end_turn"
    return Answer(tuple(kept), reason, stop_sequence, used + around, thought)


def _stopped(content: Sequence[Block], sequences: Sequence[str]) -> tuple[Sequence[Block], str | None]:
    """The content up to the first stop sequence in a text, and the sequence."""
    for i, block in enumerate(content):
        if block["type"] != "text":
            continue
        found = [(block["text"].find(one), one) for one in sequences if one in block["text"]]
        if found:
            at, sequence = min(found)
            head = [{**block, "text": block["text"][:at]}] if at else []
            return [*content[:i], *head], sequence
    return content, None


def _shortened(block: Block, room: int, count: Callable[[Block], int]) -> Block | None:
    """The longest start of a text that fits; None where nothing does, or the block is not a text."""
    if block["type"] != "text":
        return None
    text = block["text"]
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if count({**block, "text": text[:middle]}) <= room:
            fits = middle
        else:
            too_long = middle
    return {**block, "text": text[:fits]} if fits else None


def _with_id(block: Block, ids: Callable[[str], str]) -> Block:
    if block["type"] == "tool_use" and "id" not in block:
        return {"type": "tool_use", "id": ids("toolu_"), "name": block["name"], "input": block["input"]}
    if block["type"] == "thinking" and "signature" not in block:
        digest = sha256(json.dumps(block, sort_keys=True).encode()).hexdigest()
        return {**block, "signature": f"emulated-{digest}"}
    return block


def _unreadable(path: str, message: str) -> InvalidArgumentError:
    fix = "give a text, or blocks of type text, tool_use (see call) and thinking"
    return InvalidArgumentError(Problem(path, "reply", message, fix))
