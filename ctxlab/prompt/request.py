"""A whole request: its blocks, their chain, and everything beside them.

Models: reading a body, from objects or from JSON text; appending messages.
Does not model: what is in a block (:mod:`ctxlab.prompt.reading`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.prompt.blocks import SEGMENTS, Block, KeyOrder, chained
from ctxlab.prompt.canonical import sent_json, sorted_json
from ctxlab.prompt.objects import is_omitted, kind_of
from ctxlab.prompt.reading import Reader

_RENDERED = frozenset({"output_config", "output_format"})
# arguments of messages.create that go into no body
_BESIDE_THE_BODY = frozenset({"extra_headers", "extra_query", "timeout"})


class Prompt:
    """A request's blocks and digests. Holds bytes and digests, never the caller's objects; immutable.

    >>> prompt = Prompt.from_request({"model": "claude-opus-5-5", "system": "Be brief.",
    ...     "messages": [{"role": "user", "content": "What is the capital of France?"}]})
    >>> [block.path for block in prompt.blocks]
    ['system', 'messages[0].content']
    >>> prompt.blocks[1].content_sha256[:12]
    '7950516d52f8'
    """

    __slots__ = ("_chain", "blocks", "message_count", "parameters")

    blocks: tuple[Block, ...]
    parameters: Mapping[str, str]
    """Every other field of the body (``model``, ``tool_choice``, …) as JSON, by name; keys sorted, but for an
    output schema, which the model reads as it was sent."""
    _chain: tuple[bytes, ...]
    message_count: int
    """How many messages it holds, those without blocks too."""

    def __init__(
        self,
        blocks: tuple[Block, ...],
        parameters: Mapping[str, str],
        chain: tuple[bytes, ...],
        messages: int,
    ):
        fixed = MappingProxyType({**parameters})
        fields = {"blocks": blocks, "parameters": fixed, "_chain": chain, "message_count": messages}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Prompt does not change; make another with extend()")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Prompt does not change; make another with extend()")

    def __reduce__(self) -> tuple[Any, ...]:
        return Prompt, (self.blocks, {**self.parameters}, self._chain, self.message_count)

    def __repr__(self) -> str:
        return f"Prompt({len(self.blocks)} blocks, {sum(b.chars for b in self.blocks):,} chars)"

    def __len__(self) -> int:
        return len(self.blocks)

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> Prompt:
        """Read a body of ``client.messages.create(**request)``; blocks may be dicts or SDK objects.

        Raises :class:`InvalidRequestError` with the JSON path of what cannot be read, twenty faults at most.
        """
        reader = Reader()
        fix = "pass the dict that goes to messages.create(**request); JSON text goes to Prompt.from_json"
        body = reader.mapping(request, "request", fix)
        reader.stop_on_problems()
        body = {
            name: value
            for name, value in body.items()
            if name not in _BESIDE_THE_BODY and not is_omitted(value)
        }
        blocks: list[Block] = []
        blocks.extend(reader.tools(body.get("tools")))
        blocks.extend(reader.content(body.get("system"), "system", "system", None, None))
        if "messages" not in body:
            reader.problem("messages", "required", "is missing", "pass a list of messages (it may be empty)")
        messages = reader.listed(body.get("messages", ()), "messages")
        blocks.extend(reader.messages(messages, first=0))
        parameters = {
            name: reader.encoded(value, name, sent_json if name in _RENDERED else sorted_json)
            for name, value in body.items()
            if reader.is_key(name, "request") and name not in SEGMENTS and value is not None
        }
        reader.stop_on_problems()
        return cls(tuple(blocks), parameters, tuple(chained(blocks)), len(messages))

    @classmethod
    def from_json(cls, data: str | bytes, source: str = "request.json") -> Prompt:
        """Read a body from JSON text. What is no JSON is named by ``source``, line and column, what is no
        request by its path."""

        def refuse(constant: str) -> float:
            raise InvalidRequestError(Problem(source, "json", f"{constant} is not JSON", "send a number"))

        if isinstance(data, str):
            data = data.removeprefix("\ufeff")
        elif not isinstance(data, (bytes, bytearray)):
            fix = "pass text or bytes; a dict goes to Prompt.from_request"
            raise InvalidRequestError(Problem(source, "json", f"is {kind_of(data)}, not JSON text", fix))
        try:
            body = json.loads(data, parse_constant=refuse)
        except UnicodeDecodeError as error:
            raise InvalidRequestError(Problem(source, "utf-8", f"is not UTF-8 ({error.reason})")) from None
        except json.JSONDecodeError as error:
            raise InvalidRequestError(
                Problem(f"{source}:{error.lineno}:{error.colno}", "json", error.msg)
            ) from None
        except RecursionError:
            raise InvalidRequestError(Problem(source, "nesting", "is nested too deeply to read")) from None
        except InvalidRequestError:
            raise
        except ValueError as error:  # Python reads no whole number of more than 4,300 digits
            raise InvalidRequestError(Problem(source, "json", f"cannot be read ({error})")) from None
        return cls.from_request(body)

    def chain(self, schema_key_order: KeyOrder = "sent") -> tuple[str, ...]:
        """The digest of every prefix: entry i covers blocks 0…i, role and message borders included.

        With ``"sorted"`` the key order inside tool definitions does not count.
        """
        if schema_key_order not in ("sent", "sorted"):
            told = f"is {schema_key_order!r}"
            raise InvalidArgumentError(Problem("schema_key_order", "choice", told, "use 'sent' or 'sorted'"))
        if schema_key_order == "sent":
            return tuple(digest.hex() for digest in self._chain)
        return tuple(digest.hex() for digest in chained(self.blocks, sort_tools=True))


def extend(prompt: Prompt, more: Sequence[Mapping[str, Any]]) -> Prompt:
    """``prompt`` with the messages ``more`` behind it. Only ``more`` is read and hashed.

    >>> first = Prompt.from_request({"messages": [{"role": "user", "content": "Hi"}]})
    >>> longer = extend(first, [{"role": "assistant", "content": "Hello!"}])
    >>> longer.chain()[0] == first.chain()[0], longer.blocks[1].path
    (True, 'messages[1].content')
    """
    require_prompts(prompt=prompt)
    reader = Reader()
    messages = reader.listed(more, "more")
    blocks = list(reader.messages(messages, first=prompt.message_count))
    reader.stop_on_problems()
    last = prompt._chain[-1] if prompt._chain else b""
    return Prompt(
        prompt.blocks + tuple(blocks),
        prompt.parameters,
        prompt._chain + tuple(chained(blocks, last)),
        prompt.message_count + len(messages),
    )


def require_prompts(**given: object) -> None:
    """Refuse what is no :class:`Prompt`, by the name of the argument."""
    for name, value in given.items():
        if not isinstance(value, Prompt):
            fix = "read the request first: Prompt.from_request(request)"
            raise InvalidArgumentError(Problem(name, "prompt", f"is {kind_of(value)}, not a Prompt", fix))
