"""Where a request is written: calls of a client, dicts with a request's keys, builders that return them.

Models: ``messages.create/stream/parse/count_tokens`` on any client, batches, completion calls, HTTP bodies.
Does not model: which API answers, or whether a request is really sent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ctxlab.breakers.follow import placement
from ctxlab.breakers.follow.outline import COMPLETION, SENDING
from ctxlab.breakers.follow.reading import Reading
from ctxlab.breakers.follow.values import Choice, DictValue, Instance, ListValue, Text, Value, options

ROLES: Mapping[str, str] = {
    "SystemMessage": "system",
    "SystemChatMessage": "system",
    "HumanMessage": "user",
    "UserMessage": "user",
    "AIMessage": "assistant",
    "AssistantMessage": "assistant",
    "ToolMessage": "user",
}
"""Roles of message classes that name theirs."""

_BESIDE = frozenset(
    [
        "messages",
        "tools",
        "model",
        "prompt",
        "user",
        "user_message",
        "user_prompt",
        "max_tokens",
        "query",
        "message",
        "input",
        "contents",
    ]
)
_SYSTEM_WORDS = ("system", "system_prompt", "system_message", "system_instruction")
_PASSED_BY = frozenset(
    [
        "print",
        "debug",
        "info",
        "warning",
        "error",
        "exception",
        "log",
        "append",
        "extend",
        "add",
        "update",
        "pprint",
    ]
)
_OF_RECORDS = frozenset(
    [
        "response",
        "output",
        "usage",
        "status",
        "result",
        "completion",
        "created_at",
        "duration",
        "latency",
        "run_id",
        "error",
        "cost",
        "events",
        "timestamp",
    ]
)
"""Keys of what is kept about a request that was sent; no request has them."""

_RECORD = re.compile(
    r"(Response|Result|Output|Event|Record|Log|LogEntry|Trace|Metrics|Summary|Report|Snapshot|Error|Exception|"
    r"Stats|Usage|Chunk)$"
)
_HANDS_ON = frozenset(
    ["partial", "to_thread", "run_in_executor", "submit", "run_sync", "retry", "call", "with_retry", "apply"]
)
_INVOKES = frozenset(["invoke", "ainvoke", "stream", "astream", "batch", "abatch", "generate", "agenerate"])


@dataclass(slots=True)
class Request:
    """A request as far as it is seen. ``weak``: it may be something else, so nothing about it is certain.

    ``strict``: it goes to the API as it is, with no library between that moves markers.
    """

    node: ast.AST
    system: Value | None = None
    tools: Value | None = None
    messages: Value | None = None
    model: Value | None = None
    automatic: bool = False
    weak: bool = False
    strict: bool = False
    others: dict[str, Value] = field(default_factory=dict)


def notice(
    reading: Reading, node: ast.Call, name: str, args: list[Value], keywords: Mapping[str, Value]
) -> None:
    """Judge the requests a call sends, if it sends any."""
    if reading.muted:
        return
    for request in _of_call(reading, node, name, args, keywords):
        placement.judge(reading, request)


def _of_call(
    reading: Reading, node: ast.Call, name: str, args: list[Value], keywords: Mapping[str, Value]
) -> Iterator[Request]:
    pieces = name.split(".")
    last = pieces[-1]
    if _is_client(pieces):
        yield from _of_client(reading, node, args, keywords)
        return
    if last in _HANDS_ON:
        handed = next((one for one in args if one.name and _is_client(one.name.split("."))), None)
        if handed is not None:
            yield from _of_client(reading, node, [], keywords)
            return
    if COMPLETION.match(last) or (last == "create" and "completions" in pieces):
        if "messages" in keywords or "" in keywords:
            yield from _of_fields(reading, node, keywords)
        return
    if last in _PASSED_BY or is_record(last):
        return
    for value in (*args, *keywords.values()):
        for option in options(value):
            if is_request(option):
                yield from _of_dict(reading, node, option)
                return
    if last in _INVOKES and args and isinstance(args[0], ListValue) and _has_system(args[0]):
        yield Request(node, messages=args[0], weak="anthropic" not in "\n".join(reading.lines).lower())
        return
    if keywords and _is_wrapper(reading, node, last, keywords):
        system = next((keywords[word] for word in _SYSTEM_WORDS if word in keywords), None)
        yield Request(
            node,
            system,
            keywords.get("tools"),
            keywords.get("messages"),
            keywords.get("model"),
            "cache_control" in keywords,
            "messages" not in keywords,
        )


def _is_client(pieces: list[str]) -> bool:
    return pieces[-1] in SENDING and pieces[-1] != "batches" and "messages" in pieces[:-1]


def _of_client(
    reading: Reading, node: ast.Call, args: list[Value], keywords: Mapping[str, Value]
) -> Iterator[Request]:
    if "thread_id" in keywords or ("role" in keywords and "messages" not in keywords):
        return
    if "requests" in keywords:
        for entry in _entries(keywords["requests"]):
            params = entry.entries.get("params") if isinstance(entry, DictValue) else None
            if isinstance(params, DictValue):
                yield from _of_dict(reading, node, params)
        return
    yield from _of_fields(reading, node, keywords, strict=True)


def _entries(value: Value) -> Iterator[Value]:
    for option in options(value):
        if isinstance(option, ListValue):
            for item in option.items[:8]:
                yield from options(item)


def _of_fields(
    reading: Reading, node: ast.AST, fields: Mapping[str, Value], *, strict: bool = False
) -> Iterator[Request]:
    others = {name: fields[name] for name in ("tool_choice", "thinking", "speed") if name in fields}
    if any(name in fields for name in ("messages", "system", "tools", "model", "")):
        for name in ("messages", "system", "tools"):
            if name in fields:
                _reach(reading, fields[name])
        yield Request(
            node,
            fields.get("system"),
            fields.get("tools"),
            fields.get("messages"),
            fields.get("model"),
            _is_set(fields.get("cache_control")),
            False,
            strict,
            others,
        )


def _is_set(value: Value | None) -> bool:
    return value is not None and not (isinstance(value, Text) and value.const is None and not value.marks)


def _of_dict(reading: Reading, node: ast.AST, value: Value) -> Iterator[Request]:
    if isinstance(value, DictValue):
        reading.reached.add(value.line)
        yield from _of_fields(reading, node, value.entries)
    elif isinstance(value, Instance):
        yield from _of_fields(reading, node, value.attributes)


def _reach(reading: Reading, value: Value) -> None:
    if isinstance(value, DictValue):
        reading.reached.add(value.line)


def is_request(value: Value) -> bool:
    """Whether a dict or keyword object has a request's keys."""
    fields = value.entries if isinstance(value, DictValue) else {}
    if not fields or _OF_RECORDS & fields.keys() or (isinstance(value, DictValue) and is_record(value.kind)):
        return False
    if "messages" in fields:
        return bool({"model", "system", "tools", "max_tokens"} & set(fields))
    return "system" in fields and bool({"model", "tools", "max_tokens"} & set(fields))


def is_record(kind: str) -> bool:
    """Whether a class keeps what was sent or came back instead of sending it, by its name.

    >>> is_record("RunOutput"), is_record("MessageCreateParams")
    (True, False)
    """
    return _RECORD.search(kind) is not None


def _has_system(value: ListValue) -> bool:
    for item in value.items:
        if isinstance(item, DictValue):
            role = item.entries.get("role")
            if isinstance(role, Text) and role.const == "system":
                return True
    return False


def _is_wrapper(reading: Reading, node: ast.Call, last: str, keywords: Mapping[str, Value]) -> bool:
    """Whether a call of another module's function looks like one that sends a system prompt."""
    if last in reading.outline.classes or last in reading.globals.names:
        return False
    if not any(word in keywords for word in _SYSTEM_WORDS):
        return False
    return bool(_BESIDE & set(keywords)) or last[:1].isupper()


def of_returned(reading: Reading, node: ast.AST, value: Value) -> Iterator[tuple[int, Request]]:
    """The requests a function returns, each with the line its dict begins on."""
    for option in options(value):
        if isinstance(option, DictValue) and is_request(option):
            for request in _of_fields(reading, node, option.entries):
                yield option.line, request
        elif isinstance(option, ListValue):
            for item in option.items[:4]:
                yield from of_returned(reading, node, item)


def of_prompt(node: ast.AST, value: Value) -> Request:
    """A request of which only the system prompt is seen: nothing about it is certain."""
    if isinstance(value, Choice):
        value = value.options[0]
    return Request(node, system=value, weak=True)
