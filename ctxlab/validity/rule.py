"""What a rule is: something that can be wrong about a list of messages, and where the list may be cut.

Models: a rule as one object with two duties, ``check`` (what is wrong now) and ``safe_cuts`` (which front
part can be dropped so that the rule still holds); messages read once for all rules.
Does not model: shapes. A message or block that is not an object is passed over; :class:`ctxlab.prompt.Prompt`
says what cannot be read.
Source: each rule names its own, page or report, with the date of the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ctxlab.catalogue import Model
from ctxlab.errors import Problem
from ctxlab.prompt import plain
from ctxlab.prompt.objects import is_list

Evidence = Literal["recorded", "reported", "documented", "assumed"]
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Block(NamedTuple):
    """A block of a message; a plain string is the one text block it stands for."""

    path: str
    wire: str
    type: str
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The text of a text block, "" of any other."""
        text = self.body.get("text")
        return text if self.type == "text" and isinstance(text, str) else ""


class Message(NamedTuple):
    """A message as the rules read it. ``path`` is its JSON path, ``wire`` the same as the API writes it."""

    path: str
    wire: str
    role: Any
    blocks: tuple[Block, ...]
    body: Mapping[str, Any]

    def of_type(self, *types: str) -> list[Block]:
        return [block for block in self.blocks if block.type in types]


class Messages(tuple[Message, ...]):
    """Messages that were read already."""

    def holding(self, *types: str) -> list[Message]:
        """The messages with a block of one of these types, in order.

        >>> [message.path for message in read([{"role": "user", "content": "Hi"}]).holding("text", "image")]
        ['messages[0]']
        """
        numbers = {number for kind in types for number in self._numbers_by_type.get(kind, ())}
        return [self[number] for number in sorted(numbers)]

    @cached_property
    def _numbers_by_type(self) -> Mapping[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for number, message in enumerate(self):
            for block in message.blocks:
                numbers.setdefault(block.type, []).append(number)
        return numbers


def read(messages: Sequence[Any]) -> Messages:
    """Messages in the shape the rules work on; what is in that shape already is taken as it is.

    >>> [message.role for message in read([{"role": "user", "content": "Hi"}])]
    ['user']
    """
    if isinstance(messages, Messages):
        return messages
    return Messages(_messages(messages))


def read_one(message: Any, number: int) -> Message:
    """One message, the ``number``-th of its list, in that shape.

    >>> read_one({"role": "user", "content": "Hi"}, 3).blocks[0].path
    'messages[3].content'
    """
    body = mapping(message)
    path, wire = f"messages[{number}]", f"messages.{number}"
    blocks = tuple(_blocks(body.get("content"), f"{path}.content", f"{wire}.content"))
    return Message(path, wire, body.get("role"), blocks, body)


class Found(NamedTuple):
    """One violation: where, what to do, and the parts of the message."""

    path: str
    fix: str
    parts: Mapping[str, Any] = NOTHING


Finder = Callable[[Messages, Model | None, Mapping[str, Any]], Iterable[Found]]
Cutter = Callable[[Messages], Iterable[int]]


def everywhere(messages: Messages) -> Iterable[int]:
    """Cuts of a rule that looks at one message at a time: wherever you like."""
    return range(len(messages) + 1)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule on a list of messages.

    ``wire`` is the API's own message with its parts in braces, None where nobody has shown it; then ``ours``
    is what a problem says. ``evidence`` and ``date`` are those of the rule and its wording.
    """

    name: str
    says: str
    source: str
    date: date
    evidence: Evidence
    wire: str | None
    finds: Finder = field(repr=False)
    cuts: Cutter = field(default=everywhere, repr=False)
    ours: str = ""

    def check(
        self,
        messages: Sequence[Any],
        model: Model | None = None,
        parameters: Mapping[str, Any] = NOTHING,
    ) -> list[Problem]:
        """Every place where the rule is broken, in order.

        ``parameters`` is the rest of the request body, for rules that depend on it (thinking, system).
        Without a model, rules that depend on the model find nothing.
        """
        says = self.wire if self.wire is not None else self.ours
        return [
            Problem(found.path, self.name, says.format(**found.parts), found.fix)
            for found in self.finds(read(messages), model, parameters)
        ]

    def safe_cuts(self, messages: Sequence[Any]) -> set[int]:
        """Each i from 0 on for which ``messages[i:]`` keeps this rule, if all of ``messages`` does."""
        return set(self.cuts(read(messages)))


def _messages(messages: Any) -> Iterator[Message]:
    for i, item in enumerate(messages if is_list(messages) else ()):
        yield read_one(item, i)


def _blocks(content: Any, path: str, wire: str) -> Iterator[Block]:
    if isinstance(content, str):
        yield Block(path, wire, "text", {"type": "text", "text": content})
    for j, item in enumerate(content if is_list(content) else ()):
        body = mapping(item)
        yield Block(f"{path}[{j}]", f"{wire}.{j}", str(body.get("type")), body)


def mapping(value: Any) -> Mapping[str, Any]:
    """A dict as it is, an SDK object as the JSON it sends, and nothing for anything else."""
    if not isinstance(value, (Mapping, str, list, tuple)):
        value = plain(value)
    return value if isinstance(value, Mapping) else NOTHING
