"""A request as what it is to the cache: one ordered list of blocks, each with a digest, chained.

Models: render order (tools, then system, then messages); a plain string as the one text block it stands
for; two digests per block; the chained digest of every prefix; the first difference between two prompts,
and its kind; appending turns at the price of hashing only what is new.
Does not model: token counts (:mod:`ctxlab.tokens`), cache entries, or what the server removes before the
model reads. Whether the API would accept the request is not judged: unknown roles and block types pass as
they are. Where key order counts, two keys that JSON writes alike (``1`` and ``"1"``) are not noticed.

Sources: render order, and that a prefix must be identical up to and including the marked block:
prompt-caching page, 2026-09. Key order of ``tool_use.input`` counts: the same page's invalidation table.
Canonical form of ``content_sha256`` (sorted keys, no spaces, ``cache_control`` left out): the one the
recordings use, met by their hashes. That key order inside a tool's schema counts too is *assumed*;
``chain("sorted")`` is the other reading, which recorded token counts favour. A field that is null counts as
not sent: the SDK's answers give null to what the API left out, and dumps of them are sent back. So does
``is_error: false`` on a result, its default: recorded totals with and without it follow one rule.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence, Set
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from operator import is_
from types import MappingProxyType
from typing import Any, AnyStr, Literal, Protocol

from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem

Segment = Literal["tools", "system", "messages"]
DifferenceKind = Literal["changed", "inserted", "removed", "reordered", "moved", "key_order"]
KeyOrder = Literal["sent", "sorted"]

SEGMENTS: tuple[Segment, ...] = ("tools", "system", "messages")

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
# block types whose envelope has no order-bearing field of its own
_PLAIN = frozenset(
    {"text", "image", "document", "thinking", "redacted_thinking", "tool_result", "compaction"}
    | {"search_result", "container_upload"}
)
# what callers, models and tools wrote: a null or a cache_control in there is theirs
_FREE = frozenset({"input", "input_schema", "input_examples"})
# null is a value here: a summary that failed
_NULL_SAYS_SOMETHING = frozenset({"content", *_FREE})
_RENDERED = frozenset({"output_config", "output_format"})
_ONLY_TEXT = frozenset({"type", "text"})
_TEXTS = frozenset({str})
_CHUNK_BYTES = 65_536
_MAX_PROBLEMS = 20
_MAX_DEPTH = 200
_NESTED = "is nested too deeply to read, or holds itself"

_sorted_json = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
).encode
_sent_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class Part:
    """A block inside a ``tool_result``: hashed with its parent, listed because it is counted by itself."""

    path: str
    type: str
    chars: int
    cache_control: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One block of a request, in render order.

    ``content_sha256`` has keys sorted at every level (identity; what the recordings hold). ``wire_sha256``
    keeps the key order where a reader can see it: in a call's ``input``, in a tool definition's
    ``input_schema``, and anywhere in a block type this module does not know. ``cache_control`` is in neither,
    nor is a field that is null, but for types this module does not know; ``is_error: false`` is in the first.
    ``chars`` is the length of the text; of the canonical JSON for a tool; of name plus input for a call; 0
    for whatever else there is (pictures, files, results of server tools).
    """

    segment: Segment
    path: str
    role: str | None
    type: str
    name: str | None
    chars: int
    message: int | None
    starts_message: bool
    cache_control: Mapping[str, str] | None
    parts: tuple[Part, ...]
    wire_bytes: bytes
    wire_sha256: bytes
    _content_sha256: bytes | None
    _says_no_error: bool = False

    @property
    def content_sha256(self) -> str:
        """Hex digest of the canonical JSON; computed on demand where it differs from the wire form."""
        if self._content_sha256 is None:
            body = json.loads(self.wire_bytes)
            if self._says_no_error:
                body["is_error"] = False
            return sha256(_sorted_json(body).encode()).hexdigest()
        return self._content_sha256.hex()

    @property
    def _place(self) -> tuple[str, str | None, bool]:
        return self.segment, self.role, self.starts_message

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        mark = " marked" if self.cache_control else ""
        return f"<{self.path} {self.type}{name}, {self.chars:,} chars, {self.content_sha256[:8]}{mark}>"


class Chainable(Protocol):
    """What of a block goes into the chained digest."""

    @property
    def segment(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def starts_message(self) -> bool: ...
    @property
    def wire_sha256(self) -> bytes: ...
    @property
    def content_sha256(self) -> str: ...


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

        Raises :class:`InvalidRequestError` with the JSON path of everything that cannot be read.
        """
        reader = _Reader()
        fix = "pass the dict that goes to messages.create(**request); JSON text goes to Prompt.from_json"
        body = reader.mapping(request, "request", fix)
        reader.stop_on_problems()
        blocks: list[Block] = []
        blocks.extend(reader.tools(body.get("tools")))
        blocks.extend(reader.content(body.get("system"), "system", "system", None, None))
        if "messages" not in body:
            reader.problem("messages", "required", "is missing", "pass a list of messages (it may be empty)")
        messages = reader.listed(body.get("messages", ()), "messages")
        blocks.extend(reader.messages(messages, first=0))
        parameters = {
            name: reader.encoded(value, name, _sent_json if name in _RENDERED else _sorted_json)
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
            raise InvalidRequestError(Problem(source, "json", f"is {_kind(data)}, not JSON text", fix))
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
    _require_prompts(prompt=prompt)
    reader = _Reader()
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


def _require_prompts(**given: object) -> None:
    for name, value in given.items():
        if not isinstance(value, Prompt):
            fix = "read the request first: Prompt.from_request(request)"
            raise InvalidArgumentError(Problem(name, "prompt", f"is {_kind(value)}, not a Prompt", fix))


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two prompts stop being one prefix.

    ``index`` blocks are shared. ``path`` is the place in the second prompt (in the first one when something
    was removed or moved away); ``before`` and ``after`` are the blocks that meet there, None where one side
    has ended. Inside a changed block ``path`` goes down to the value that differs and ``at_char`` counts
    characters into a text; where only the role is another, ``path`` is the role's. ``appended`` is True when
    the second prompt only goes on where the first one ends: the prefix is intact.
    """

    kind: DifferenceKind
    path: str
    index: int
    segment: Segment
    before: Block | None
    after: Block | None
    at_char: int | None = None
    blocks: int = 1
    to_path: str | None = None
    appended: bool = False

    def __str__(self) -> str:
        blocks = f"{self.blocks} block{'s' * (self.blocks > 1)}"
        place = self.path + (f" at character {self.at_char}" if self.at_char is not None else "")
        what = {
            "changed": _changed_around(self.before, self.after) or "changed",
            "inserted": f"{blocks} {'appended' if self.appended else 'inserted'}",
            "removed": f"{blocks} removed",
            "reordered": f"the same {self.blocks} blocks in another order",
            "moved": f"moved to {self.to_path}",
            "key_order": "the same content with its keys in another order",
        }[self.kind]
        return f"{place}: {what} ({self.index} block{'s' * (self.index != 1)} shared)"


def _changed_around(before: Block | None, after: Block | None) -> str | None:
    """What is another about two equal blocks: who speaks, or where a message begins."""
    if before is None or after is None or before.wire_sha256 != after.wire_sha256:
        return None
    if before.role != after.role:
        return f"the role changed from {before.role} to {after.role}"
    return "the same block, which now " + (
        "begins a message" if after.starts_message else "goes on with the message before it"
    )


def first_difference(a: Prompt, b: Prompt) -> Difference | None:
    """The first place, in render order, where ``b`` is not ``a``; None when the blocks are the same.

    Markers and parameters are not blocks. Kinds: *changed* (another block in the same place), *inserted*,
    *removed*, *reordered* (the rest of that segment holds the same blocks in another order), *moved* (the
    block stands elsewhere in ``b``), *key_order* (equal once keys are sorted; a diff of sorted dumps cannot
    see it).

    >>> a = Prompt.from_request({"system": "It is 10:41.", "messages": []})
    >>> b = Prompt.from_request({"system": "It is 10:42.", "messages": []})
    >>> print(first_difference(a, b))
    system at character 10: changed (0 blocks shared)
    """
    _require_prompts(a=a, b=b)
    index = next(
        (
            i
            for i, (x, y) in enumerate(zip(a.blocks, b.blocks, strict=False))
            if x.wire_sha256 != y.wire_sha256 or x._place != y._place
        ),
        min(len(a.blocks), len(b.blocks)),
    )
    rest_a, rest_b = a.blocks[index:], b.blocks[index:]
    if not rest_a and not rest_b:
        return None
    if not rest_a:
        new = rest_b[0]
        return Difference(
            "inserted", new.path, index, new.segment, None, new, blocks=len(rest_b), appended=True
        )
    if not rest_b:
        old = rest_a[0]
        return Difference("removed", old.path, index, old.segment, old, None, blocks=len(rest_a))
    return _classified(index, rest_a, rest_b)


def _classified(index: int, rest_a: tuple[Block, ...], rest_b: tuple[Block, ...]) -> Difference:
    old, new = rest_a[0], rest_b[0]
    if old.segment == new.segment and old.content_sha256 == new.content_sha256:
        if old.wire_sha256 == new.wire_sha256:  # only its role or a message border is another
            path = new.path if old.role == new.role else f"messages[{new.message}].role"
            return Difference("changed", path, index, new.segment, old, new)
        return Difference("key_order", _inside(old, new)[0], index, new.segment, old, new)

    keys_a, keys_b = [x.wire_sha256 for x in rest_a], [y.wire_sha256 for y in rest_b]
    only_a, only_b = Counter(keys_a) - Counter(keys_b), Counter(keys_b) - Counter(keys_a)
    old_gone, new_is_new = keys_a[0] in only_a, keys_b[0] in only_b
    later = SEGMENTS.index(old.segment) - SEGMENTS.index(new.segment)

    if new_is_new and (later > 0 or (later == 0 and not old_gone)):
        run = _run(rest_b, only_b, new.segment)
        return Difference("inserted", new.path, index, new.segment, old, new, blocks=run)
    if old_gone and (later < 0 or (later == 0 and not new_is_new)):
        run = _run(rest_a, only_a, old.segment)
        return Difference("removed", old.path, index, old.segment, old, new, blocks=run)
    if old_gone and new_is_new:
        if old.segment == new.segment == "tools" and (many := _only_shuffled(rest_a, rest_b)):
            return Difference("reordered", new.path, index, new.segment, old, new, blocks=many)
        path, at_char = _inside(old, new) if old.type == new.type else (new.path, None)
        return Difference("changed", path, index, new.segment, old, new, at_char)

    # Nothing came or went: both blocks stand elsewhere on the other side.
    span_a = [key for key, x in zip(keys_a, rest_a, strict=True) if x.segment == old.segment]
    span_b = [key for key, y in zip(keys_b, rest_b, strict=True) if y.segment == old.segment]
    if later == 0 and sorted(span_a) == sorted(span_b):
        return Difference("reordered", new.path, index, new.segment, old, new, blocks=len(span_a))
    came_forward = later > 0 or (later == 0 and keys_b[1:2] == keys_a[:1])
    if came_forward:
        source = rest_a[keys_a.index(keys_b[0])]
        return Difference("moved", source.path, index, new.segment, old, new, to_path=new.path)
    target = rest_b[keys_b.index(keys_a[0])]
    return Difference("moved", old.path, index, old.segment, old, new, to_path=target.path)


def _only_shuffled(rest_a: tuple[Block, ...], rest_b: tuple[Block, ...]) -> int:
    """How many tools follow, where they are the same ones and keys changed their order with them; else 0.

    Hash maps shuffle both at once. Tools are few enough to compare by content.
    """
    one, other = ([x for x in rest if x.segment == "tools"] for rest in (rest_a, rest_b))
    if len(one) != len(other):
        return 0
    same = sorted(x.content_sha256 for x in one) == sorted(x.content_sha256 for x in other)
    return len(one) if same else 0


def _run(rest: tuple[Block, ...], only_here: Counter[bytes], segment: Segment) -> int:
    """How many blocks in a row exist on this side only."""
    left = Counter(only_here)
    length = 0
    for block in rest:
        if block.segment != segment or left[block.wire_sha256] <= 0:
            break
        left[block.wire_sha256] -= 1
        length += 1
    return max(length, 1)


def first_different_byte(a: AnyStr, b: AnyStr) -> int | None:
    """Offset of the first byte (in texts: character) that differs, None when equal.

    Where one is a prefix of the other, that is the shorter length.

    Chunks are compared whole, so the cost is that of ``a == b`` up to the chunk that differs.
    """
    for start in range(0, min(len(a), len(b)), _CHUNK_BYTES):
        one, other = a[start : start + _CHUNK_BYTES], b[start : start + _CHUNK_BYTES]
        if one != other:
            return start + next(
                (i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y),
                min(len(one), len(other)),
            )
    return None if len(a) == len(b) else min(len(a), len(b))


def _inside(old: Block, new: Block) -> tuple[str, int | None]:
    """Path of the first value that differs inside two blocks, and the character when it is a text."""
    one, other = json.loads(old.wire_bytes), json.loads(new.wire_bytes)
    if new.path in ("system",) or new.path.endswith(".content"):
        one, other = one.get("text"), other.get("text")  # a bare string stands for its text
    path, at_char = new.path, None
    while True:
        if isinstance(one, dict) and isinstance(other, dict):
            step = _first_different_key(one, other)
            if step is None or step not in one or step not in other:
                return (path if step is None else f"{path}.{step}"), None
            path, one, other = f"{path}.{step}", one[step], other[step]
        elif isinstance(one, list) and isinstance(other, list):
            shared = min(len(one), len(other))
            place = next((i for i in range(shared) if not _same(one[i], other[i])), shared)
            if place == shared:
                return f"{path}[{place}]", None
            path, one, other = f"{path}[{place}]", one[place], other[place]
        else:
            if isinstance(one, str) and isinstance(other, str):
                at_char = first_different_byte(one, other)
            return path, at_char


def _first_different_key(one: dict[str, Any], other: dict[str, Any]) -> str | None:
    """The first key whose value differs or that one side lacks; None when only the order of keys does."""
    for key, twin in zip(one, other, strict=False):
        if key != twin:
            return twin if twin not in one else key if key not in other else None
        if not _same(one[key], other[key]):
            return key
    longer = one if len(one) > len(other) else other
    return next(key for key in longer if key not in one or key not in other)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON text: 1 is not true, 1.0 is not 1, and key order counts."""
    return _sent_json(one) == _sent_json(other)


def chained(blocks: Iterable[Chainable], digest: bytes = b"", *, sort_tools: bool = False) -> Iterator[bytes]:
    """The digest of every prefix of ``blocks``, when ``digest`` is that of everything before them.

    :meth:`Prompt.chain` for blocks that are not, or not in this order, those of a prompt.
    """
    for block in blocks:
        own = block.wire_sha256
        if sort_tools and block.segment == "tools":
            own = bytes.fromhex(block.content_sha256)
        border = "new" if block.starts_message else "same"
        digest = sha256(digest + f"/{block.segment}/{block.role}/{border}/".encode() + own).digest()
        yield digest


def plain(value: Any, path: str = "request") -> Any:
    """SDK objects, and those inside lists and dicts, as the JSON they send; all else as it is.

    Fields that nobody set are left out, as the SDK does. Raises :class:`InvalidRequestError`, which names
    ``path``, for what is nested too deeply to read and for objects that cannot say what they send.
    """
    try:
        return _plain(value)
    except RecursionError:
        fix = "look for a list or an object that holds itself"
        problem = Problem(path, "nesting", "is nested too deeply to read", fix)
    except _UnreadableObjectError as error:
        problem = Problem(path, "object", str(error), "pass the dict it stands for")
    raise InvalidRequestError(problem)


class _UnreadableObjectError(Exception):
    """An object's own account of itself failed."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if _is_list(value):
        return [_plain(item) for item in value]
    if isinstance(value, date):
        return value.isoformat()
    return _dumped(value) if _is_sdk_object(value) else value


def _dumped(value: Any) -> Any:
    """An object as the SDK writes it into a body."""
    try:
        if not hasattr(value, "model_dump"):
            return value.to_dict()
        left_out = getattr(value, "__api_exclude__", None)
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude=left_out)
    except Exception as error:
        told = f"is {_kind(value)}, which cannot be read ({type(error).__name__}: {error})"
        raise _UnreadableObjectError(told) from error


def _is_sdk_object(value: Any) -> bool:
    return not isinstance(value, type) and (hasattr(value, "model_dump") or hasattr(value, "to_dict"))


class _Reader:
    """Turns untyped JSON into blocks and collects everything that is wrong before stopping."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._found = 0

    def problem(self, path: str, rule: str, message: str, fix: str = "") -> None:
        self._add(Problem(path, rule, message, fix))

    def _add(self, found: Problem) -> None:
        self._found += 1
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(found)

    def stop_on_problems(self) -> None:
        if self._problems:
            raise InvalidRequestError(self._problems)

    def mapping(self, value: Any, path: str, fix: str = "pass a dict or an SDK object") -> Mapping[str, Any]:
        if type(value) is dict:
            return value
        if not isinstance(value, Mapping) and _is_sdk_object(value):
            try:
                value = plain(value, path)
            except InvalidRequestError as error:
                self._add(error.problems[0])
                return {}
        if isinstance(value, Mapping):
            return value
        self.problem(path, "object", f"is {_kind(value)}, not an object", fix)
        return {}

    def listed(self, value: Any, path: str) -> Sequence[Any]:
        if _is_list(value):
            return list(value)
        self.problem(path, "list", f"is {_kind(value)}, not a list", _fix_for_a_list(value))
        return ()

    def string(self, body: Mapping[str, Any], field: str, path: str, rule: str, what: str, fix: str) -> str:
        """A field that has to be there and say something; empty where it does not."""
        value = body.get(field)
        if type(value) is str and value and value.isascii():
            return value
        if isinstance(value, str) and value:
            return self.text(value, f"{path}.{field}")
        told = "is missing" if field not in body else "is empty" if value == "" else f"is {_kind(value)}"
        self.problem(f"{path}.{field}", rule, told + (f", not {what}" if value else ""), fix)
        return ""

    def text(self, value: str, path: str) -> str:
        """A string as JSON has it: of no class of its own (members of enumerations), and in UTF-8."""
        value = str.__str__(value)
        if not value.isascii():
            self.encoded(value, path, _sent_json)
        return value

    def is_key(self, key: Any, path: str) -> bool:
        found = next(_wrong_key(key, path), None)
        if found is not None:
            self._add(found)
        return found is None

    def tools(self, tools: Any) -> Iterator[Block]:
        for i, tool in enumerate(self.listed(() if tools is None else tools, "tools")):
            path = f"tools[{i}]"
            known = self._found
            body = self.mapping(tool, path)
            if not body:
                if self._found == known:
                    self.problem(path, "required", "is empty", "a tool has a name and an input_schema")
                continue
            kind = body.get("type") or "custom"
            if not isinstance(kind, str):
                self.problem(f"{path}.type", "string", f"is {_kind(kind)}, not a string")
                kind = "custom"
            kind = str.__str__(kind)
            if kind == "custom" and not isinstance(body.get("name"), str):
                self.problem(f"{path}.name", "required", "a custom tool needs a name", "give it a string")
            yield self.block(body, "tools", path, kind, None, None, False, "input_schema")

    def messages(self, messages: Sequence[Any], first: int) -> Iterator[Block]:
        for number, message in enumerate(messages, first):
            path = f"messages[{number}]"
            known = self._found
            body = self.mapping(message, path)
            if not body:
                if self._found == known:
                    self.problem(path, "required", "is empty", "a message has a role and content")
                continue
            fix = "give it a string; roles this version does not know are read as they are"
            role = self.string(body, "role", path, "role", "a role", fix) or "user"
            if body.get("content") is None:
                told = "is null" if "content" in body else "is missing"
                self.problem(f"{path}.content", "required", told, "pass a string or a list of blocks")
                continue
            yield from self.content(body["content"], f"{path}.content", "messages", role, number)

    def content(
        self, content: Any, path: str, segment: Segment, role: str | None, message: int | None
    ) -> Iterator[Block]:
        if content is None:
            return
        in_message = message is not None
        if isinstance(content, str):
            yield self.bare_text(content, path, path, segment, role, message, in_message)
            return
        if not _is_list(content):
            told = f"is {_kind(content)}, neither a string nor a list of blocks"
            fix = _fix_for_a_list(value=content, else_say="pass a string or a list of blocks")
            self.problem(path, "content", told, fix)
            return
        for i, item in enumerate(content):
            place = f"{path}[{i}]"
            known = self._found
            body = self.mapping(item, place)
            if self._found > known:
                continue
            kind = self.string(body, "type", place, "required", "a block type", "name the type of the block")
            if not kind:
                continue
            starts = in_message and i == 0
            if kind == "text":
                text = body.get("text")
                if not isinstance(text, str):
                    told = f"is {_kind(text)}, not a string" if "text" in body else "is missing"
                    self.problem(f"{place}.text", "string", told, "a text block has a text")
                    continue
                if body.keys() == _ONLY_TEXT:
                    yield self.bare_text(text, place, f"{place}.text", segment, role, message, starts)
                    continue
            yield self.block(body, segment, place, kind, role, message, starts)

    def bare_text(
        self,
        text: str,
        path: str,
        text_path: str,
        segment: Segment,
        role: str | None,
        message: int | None,
        starts_message: bool,
    ) -> Block:
        """A text with nothing around it: what nearly every block is, and so read by the shortest way."""
        data = ('{"text":' + self.encoded(text, text_path, _sent_json) + ',"type":"text"}').encode("utf-8")
        digest = sha256(data).digest()
        return Block(
            segment,
            path,
            role,
            "text",
            None,
            len(text),
            message,
            starts_message,
            None,
            (),
            data,
            digest,
            digest,
        )

    def block(
        self,
        body: Mapping[str, Any],
        segment: Segment,
        path: str,
        kind: str,
        role: str | None,
        message: int | None,
        starts_message: bool,
        order_bearing: str = "input",
    ) -> Block:
        marker, parts = self.marker(body, path), self.parts(body, kind, path)
        seen_in_order = kind in _CALLS or segment == "tools"
        is_known = seen_in_order or kind in _PLAIN or kind.endswith("_tool_result")
        says_no_error = kind == "tool_result" and body.get("is_error") is False
        if says_no_error:
            body = {key: value for key, value in body.items() if key != "is_error"}
        if not _TEXTS.issuperset([type(value) for key, value in body.items() if key != order_bearing]):
            body = self.settled(body, path, nulls=is_known)
        if seen_in_order and order_bearing in body:
            sent = self.encoded(body[order_bearing], f"{path}.{order_bearing}", _sent_json)
            # only this field keeps its order; the envelope around it is sorted like any other
            fields = (
                f"{_sorted_json(key)}:"
                + (sent if key == order_bearing else self.encoded(body[key], f"{path}.{key}", _sorted_json))
                for key in sorted(key for key in body if self.is_key(key, path))
            )
            text, is_canonical = "{" + ",".join(fields) + "}", False
        else:
            is_canonical = seen_in_order or kind in _PLAIN
            sent, text = "", self.encoded(body, path, _sorted_json if is_canonical else _sent_json)
        name = body.get("name")
        name = str.__str__(name) if isinstance(name, str) else None
        if segment == "tools":
            chars = len(text)
        elif kind in _CALLS:
            chars = len(name or "") + len(sent)
        else:
            chars = sum(part.chars for part in parts) if parts else _chars(body, kind)
        data = text.encode("utf-8")
        digest = sha256(data).digest()
        return Block(
            segment,
            path,
            role,
            kind,
            name,
            chars,
            message,
            starts_message,
            marker,
            parts,
            data,
            digest,
            digest if is_canonical and not says_no_error else None,
            says_no_error,
        )

    def settled(self, body: Mapping[str, Any], path: str, *, nulls: bool) -> Mapping[str, Any]:
        try:
            settled: Mapping[str, Any] = _settled(body, nulls=nulls)
            return settled
        except RecursionError:
            self._add(next(_unencodable(body, path), Problem(path, "nesting", _NESTED)))
        except _UnreadableObjectError as error:
            self.problem(path, "object", str(error), "pass the dict it stands for")
        return {}

    def marker(self, body: Mapping[str, Any], path: str) -> Mapping[str, str] | None:
        marker = body.get("cache_control")
        if marker is None:
            return None
        known = self._found
        marker = self.mapping(marker, f"{path}.cache_control", 'pass {"type": "ephemeral"}')
        if self._found > known:
            return None
        return {str(key): str(value) for key, value in marker.items() if value is not None}

    def parts(self, body: Mapping[str, Any], kind: str, path: str) -> tuple[Part, ...]:
        inner = body.get("content")
        if kind != "tool_result" or inner is None or isinstance(inner, str):
            return ()
        if not _is_list(inner):
            told = f"is {_kind(inner)}, neither a string nor a list of blocks"
            fix = "write what the tool returned as a string: json.dumps(value)"
            self.problem(f"{path}.content", "content", told, fix)
            return ()
        return tuple(self.part(item, f"{path}.content[{i}]") for i, item in enumerate(inner))

    def part(self, item: Any, path: str) -> Part:
        known = self._found
        body = self.mapping(item, path)
        kind = ""
        if self._found == known:
            kind = self.string(body, "type", path, "required", "a block type", "name the type of the block")
        if kind == "text" and not isinstance(body.get("text", ""), str):
            told = f"is {_kind(body['text'])}, not a string"
            self.problem(f"{path}.text", "string", told, "a text block has a text")
        return Part(path, kind, len(_text_of([body])), self.marker(body, path))

    def encoded(self, value: Any, path: str, encode: Callable[[Any], str]) -> str:
        """JSON text that UTF-8 can hold; what cannot be written is a problem and stands as ``null``."""
        try:
            return _in_utf8(encode(value))
        except (TypeError, ValueError, RecursionError) as error:
            unnamed = Problem(path, "json", f"cannot be written as JSON ({error})")
        found = next(_unencodable(value, path), None)
        if found is None:  # objects that JSON's encoder does not know were in the way
            try:
                sent = plain(value, path)
                found = next(_unencodable(sent, path), None)
                if found is None:
                    return _in_utf8(encode(sent))
            except InvalidRequestError as error:
                found = error.problems[0]
            except (TypeError, ValueError, RecursionError):
                found = unnamed
        self._add(found)
        return "null"


def _in_utf8(text: str) -> str:
    if not text.isascii():
        text.encode("utf-8")
    return text


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (
        isinstance(value, (Sequence, MappingView))
        and not isinstance(value, (str, bytes, bytearray, memoryview))
    )


def _fix_for_a_list(value: Any, else_say: str = "pass a list") -> str:
    if isinstance(value, Set):
        return "pass a list: a set has no order"
    return "pass a list: reading an iterator uses it up" if isinstance(value, Iterator) else else_say


def _unencodable(value: Any, path: str, depth: int = 0) -> Iterator[Problem]:
    """What stops a value from being JSON in UTF-8, first things first."""
    if depth > _MAX_DEPTH:
        yield Problem(path[:200], "nesting", _NESTED)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _wrong_key(key, path)
            yield from _unencodable(item, f"{path}.{key}", depth + 1)
    elif _is_list(value):
        for i, item in enumerate(value):
            yield from _unencodable(item, f"{path}[{i}]", depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Problem(path, "finite-number", f"is {value}, which JSON cannot hold")
    elif isinstance(value, str):
        lone = next((i for i, char in enumerate(value) if "\ud800" <= char <= "\udfff"), None)
        if lone is not None:
            yield Problem(
                path.encode("utf-8", "replace").decode(),
                "lone-surrogate",
                f"holds half a character at position {lone}, which UTF-8 cannot hold",
                "drop it, or decode the text with errors='replace'",
            )
    elif isinstance(value, int):
        try:
            str(value)
        except ValueError:
            yield Problem(path, "whole-number", "has more digits than Python writes", "send it as a string")
    elif not (value is None or isinstance(value, date) or _is_sdk_object(value)):
        fix = "decode it, or send it in base64" if isinstance(value, (bytes, bytearray, memoryview)) else ""
        yield Problem(path, "json", f"is {_kind(value)}, which JSON cannot hold", fix or "send a string")


def _wrong_key(key: Any, path: str) -> Iterator[Problem]:
    if not isinstance(key, str):
        yield Problem(path, "string-keys", f"has the key {key!r}, not a string", "use string keys")
    else:
        yield from _unencodable(key, f"{path}.<key>")


_KINDS: Mapping[type, str] = {
    dict: "an object",
    list: "a list",
    tuple: "a tuple",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    bytes: "bytes",
}


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "null" if value is None else _KINDS.get(type(value), f"of type {type(value).__name__}")


def _settled(value: Any, *, nulls: bool) -> Any:
    """A value without markers and, with ``nulls``, without fields that are null, at any depth but in what
    others wrote; the very same object where nothing was taken out."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Mapping):
        kept = {
            key: item if key in _FREE else _settled(item, nulls=nulls)
            for key, item in value.items()
            if not (
                key == "cache_control" and (item is None or not isinstance(item, (str, int, float, list)))
            )
            and not (nulls and item is None and key not in _NULL_SAYS_SOMETHING)
        }
        return value if len(kept) == len(value) and all(kept[key] is value[key] for key in kept) else kept
    if _is_list(value):
        items = [_settled(item, nulls=nulls) for item in value]
        return value if all(map(is_, items, value)) else items
    return _settled(_dumped(value), nulls=nulls) if _is_sdk_object(value) else value


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        return "".join(
            item["text"]
            for item in content
            if isinstance(item, Mapping) and isinstance(item.get("text"), str)
        )
    return ""


def _chars(body: Mapping[str, Any], kind: str) -> int:
    for field in ("text", "thinking"):
        if isinstance(body.get(field), str):
            return len(body[field])
    return len(_text_of(body.get("content"))) if kind in ("tool_result", "compaction") else 0
