"""Hypothesis strategies shared by the tests: every room adds its own generators here."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from ctxlab.cache import CacheRules
from ctxlab.recordings import RecordedBlock, RecordedImage
from ctxlab.usage import CacheCreation, Iteration, Usage

# --- requests and conversations (ctxlab.prompt)

# few and short texts on purpose: equal blocks must occur often
texts = st.sampled_from(["a", "b", "c", "Zürich ☂", "", "It is 10:41.", "It is 10:42."])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "é", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pqr"), inner, max_size=3),
    max_leaves=4,
)


def text_blocks() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda text: {"type": "text", "text": text}, texts)


def tools() -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda name, text, schema: {
            "name": name,
            "description": text,
            "input_schema": {"type": "object", **schema},
        },
        st.sampled_from(["read", "list", "zip"]),
        texts,
        st.dictionaries(st.sampled_from(["properties", "title"]), json_values, max_size=2),
    )


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """One message: text, a call, a result, thinking, or a block type nobody has seen yet."""
    role = draw(st.sampled_from(["user", "assistant"]))
    if draw(st.booleans()):
        return {"role": role, "content": draw(texts)}
    if role == "user":
        other = st.builds(
            lambda text: {"type": "tool_result", "tool_use_id": "toolu_1", "content": text}, texts
        )
    else:
        other = st.one_of(
            st.builds(
                lambda value: {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"v": value}},
                json_values,
            ),
            st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, texts),
            st.builds(lambda value: {"type": "block_of_2031", "value": value}, json_values),
        )
    return {"role": role, "content": draw(st.lists(text_blocks() | other, min_size=1, max_size=3))}


def conversations(max_size: int = 5) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(messages(), max_size=max_size)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request body with tools, a system prompt (string, list or none) and a conversation."""
    body: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": draw(conversations())}
    if draw(st.booleans()):
        body["tools"] = draw(st.lists(tools(), max_size=3))
    system = draw(st.none() | texts | st.lists(text_blocks(), max_size=2))
    if system is not None:
        body["system"] = system
    return body


# --- blocks and rows as recorded (ctxlab.tokens, ctxlab.recordings)


def recorded_blocks() -> st.SearchStrategy[RecordedBlock]:
    """Blocks of every segment, some with a picture of known or unknown size."""
    sides = st.integers(1, 3000)
    pictures = st.builds(
        lambda width, height: RecordedImage("base64", width, height, "image/png", None, None, None, None),
        sides,
        sides,
    ) | st.just(RecordedImage("url", None, None, None, None, None, None, None))
    plain = st.builds(
        RecordedBlock,
        segment=st.sampled_from(["tools", "system", "messages"]),
        role=st.none(),
        type=st.sampled_from(["text", "custom", "tool_use"]),
        chars=st.none() | st.integers(0, 5000),
        sha256=st.none(),
    )
    images = st.builds(
        RecordedBlock,
        segment=st.just("messages"),
        role=st.just("user"),
        type=st.just("image"),
        chars=st.just(0),
        sha256=st.none(),
        image=pictures,
    )
    return plain | images


# what a careless program may leave in a field
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers(), max_size=2),
)


# --- figures that a learner commits (ctxlab.checks)

figures_to_commit = st.one_of(
    st.integers(1, 10**12),
    st.decimals("0.0001", 10**9, allow_nan=False, allow_infinity=False, places=4),
)


# --- usage and sessions (ctxlab.usage, ctxlab.cost)

token_counts = st.integers(0, 400_000)


def cache_creations(unknown: bool = True) -> st.SearchStrategy[CacheCreation]:
    return st.builds(CacheCreation, token_counts, token_counts, token_counts if unknown else st.just(0))


def iterations(types: tuple[str, ...] = ("message", "compaction")) -> st.SearchStrategy[Iteration]:
    return st.builds(
        Iteration,
        type=st.sampled_from(types),
        input_tokens=token_counts,
        cache_read_input_tokens=token_counts,
        cache_creation=cache_creations(),
        output_tokens=token_counts,
    )


def usages(unknown: bool = True) -> st.SearchStrategy[Usage]:
    """One request each; some with iterations that do not agree with the top level, as may happen."""
    return st.builds(
        Usage,
        input_tokens=token_counts,
        cache_read_input_tokens=token_counts,
        cache_creation=cache_creations(unknown),
        output_tokens=token_counts,
        iterations=st.just(()) if not unknown else st.lists(iterations(), max_size=2).map(tuple),
        web_search_requests=st.integers(0, 3),
    )


multipliers = st.fractions(0, 3, max_denominator=40)

# an answer as some version of the record, or some other program, may have written it
answers_in_a_file = st.fixed_dictionaries(
    {},
    optional={
        "vote": st.sampled_from(["A", "B", "E", "", None, 3]),
        "sure": st.sampled_from([True, False, None, "yes"]),
        "figures": st.sampled_from(
            [{}, {"total_tokens": "10444"}, {"total_tokens": "x"}, {"older": "3"}, [], None]
        ),
    },
)


# --- the prompt cache (ctxlab.cache)

# around the ends of both lifetimes, and in between
pauses_s = st.sampled_from([0.0, 0.5, 1.0, 60.0, 299.0, 299.5, 300.0, 301.0, 3599.0, 3600.0, 3601.0])

tiers = st.sampled_from(["tools", "system", "messages"])


def cache_rules() -> st.SearchStrategy[CacheRules]:
    """Every switch the cache itself follows, in every position."""
    return st.builds(
        CacheRules,
        schema_key_order=st.sampled_from(["sent", "sorted"]),
        tool_run_positions=st.sampled_from(["one", "each"]),
        deep_hit_refreshes=st.sampled_from(["itself", "markers"]),
        long_marker_upgrades=st.booleans(),
        marker_before_hit_creates=st.booleans(),
        image_presence_invalidates_messages=st.booleans(),
        thinking_change_loses=tiers,
        unlisted_parameter_loses=tiers,
        written_out_defaults=st.sampled_from(["same", "different"]),
        marker_inside_result=st.sampled_from(["result", "ignored"]),
        expiry_grace_s=st.sampled_from([0.0, 0.5]),
        visibility_delay_s=st.sampled_from([0.0, 1.0]),
    )


# --- markers and the validity of messages (ctxlab.breakpoints, ctxlab.validity)

legal_markers = st.sampled_from(
    [{"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"}, {"type": "ephemeral", "ttl": "1h"}]
)
odd_markers = st.sampled_from(
    [
        None,
        {"type": "persistent"},
        {"type": "ephemeral", "ttl": "2h"},
        {"type": "ephemeral", "scope": "global"},
    ]
)


@st.composite
def _answers(draw: st.DrawFn, number: int, calls: int) -> list[dict[str, Any]]:
    """The blocks of one assistant message: thinking, a server tool's pair, text, calls."""
    blocks: list[dict[str, Any]] = []
    if draw(st.booleans()):
        blocks.append({"type": "thinking", "thinking": "Let me see.", "signature": f"s{number}"})
    if draw(st.integers(0, 5)) == 0:
        pair = f"srvtoolu_{number}"
        blocks.append({"type": "server_tool_use", "id": pair, "name": "web_search", "input": {}})
        blocks.append({"type": "web_search_tool_result", "tool_use_id": pair, "content": []})
    if draw(st.booleans()) or not calls:
        blocks.append({"type": "text", "text": draw(st.sampled_from(["Done.", "I will look.", "Zürich ☂"]))})
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}_{call}", "name": "read", "input": {"call": call}}
        for call in range(calls)
    ]
    return blocks


@st.composite
def _questions(draw: st.DrawFn) -> dict[str, Any]:
    """A plain user message: a string, texts, a picture."""
    if draw(st.booleans()):
        return {"role": "user", "content": draw(st.sampled_from(["Go on.", "Why?", "x" * 300]))}
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    blocks = [{"type": "text", "text": "Look."}] * draw(st.integers(1, 3))
    return {"role": "user", "content": [*([picture] if draw(st.booleans()) else []), *blocks]}


@st.composite
def valid_messages(draw: st.DrawFn, max_turns: int = 4) -> list[dict[str, Any]]:
    """Messages the API takes: tool loops with parallel calls, thinking, server tools, odd but legal roles."""
    found: list[dict[str, Any]] = []
    number = 0
    if draw(st.integers(0, 3)) == 0:
        found.append({"role": "assistant", "content": "Hello, I go first."})
    if draw(st.integers(0, 4)) == 0:
        summary = {"type": "compaction", "content": "What happened so far."}
        found.append({"role": "assistant", "content": [summary, {"type": "text", "text": "Going on."}]})
    for turn in range(draw(st.integers(1, max_turns))):
        found.append(draw(_questions()))
        if draw(st.integers(0, 3)) == 0:
            found.append({"role": "user", "content": "One more thing."})
        for _ in range(draw(st.integers(0, 3))):
            calls = draw(st.integers(1, 3))
            number += 1
            found.append({"role": "assistant", "content": draw(_answers(number, calls))})
            results: list[dict[str, Any]] = [
                {"type": "tool_result", "tool_use_id": f"toolu_{number}_{call}", "content": draw(texts)}
                for call in draw(st.permutations(range(calls)))
            ]
            if draw(st.integers(0, 3)) == 0:
                results.append({"type": "text", "text": "And hurry."})
            found.append({"role": "user", "content": results})
        if turn < max_turns - 1 and draw(st.booleans()):
            number += 1
            found.append({"role": "assistant", "content": draw(_answers(number, 0))})
    if found[-1]["role"] == "assistant":
        found.append({"role": "user", "content": "Thanks."})
    return found


@st.composite
def marked_requests(draw: st.DrawFn, legal: bool = False) -> dict[str, Any]:
    """A request the API takes but for its markers, which stand anywhere; with ``legal`` where they may."""
    markers = legal_markers if legal else legal_markers | odd_markers
    tool_list = [
        {
            "name": f"tool_{i}",
            "description": "d" * draw(st.sampled_from([1, 4000])),
            "input_schema": {"type": "object"},
        }
        for i in range(draw(st.integers(0, 3)))
    ]
    for tool in tool_list:
        if draw(st.integers(0, 3)) == 0:
            tool["defer_loading"] = True
    body: dict[str, Any] = {"model": "claude-opus-4-8", "max_tokens": 100, "messages": draw(valid_messages())}
    if tool_list:
        body["tools"] = tool_list
    system = draw(st.sampled_from([None, "Be brief.", ["Be brief.", "Be kind. " * 400], ["", "Be kind."]]))
    if isinstance(system, list):
        body["system"] = [{"type": "text", "text": text} for text in system]
    elif system:
        body["system"] = system
    for place in _markable(body, legal):
        if draw(st.integers(0, 4)) == 0:
            place["cache_control"] = draw(markers)
    if draw(st.integers(0, 5)) == 0:
        body["cache_control"] = draw(markers)
    return body


def _markable(body: dict[str, Any], legal: bool) -> list[dict[str, Any]]:
    """The objects a careless (or, with ``legal``, a careful) program would put a marker on."""
    found = [tool for tool in body.get("tools", []) if not (legal and "defer_loading" in tool)]
    contents = [body.get("system"), *(message["content"] for message in body["messages"])]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    found += [b for b in blocks if not (legal and (b["type"] == "thinking" or b.get("text") == ""))]
    return found if legal else found + body["messages"]


def _blocks_of(messages: list[dict[str, Any]]) -> list[tuple[list[Any], int]]:
    lists = [message["content"] for message in messages if isinstance(message["content"], list)]
    return [(blocks, i) for blocks in lists for i in range(len(blocks))]


@st.composite
def broken_sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Valid messages as accidents leave them: cut, killed, trimmed, saved twice, edited beside thinking."""
    messages = copy.deepcopy(draw(valid_messages()))
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(["front", "tail", "drop", "twice", "swap", "move", "empty", "id", "strip", "cut"])
        )
        places = _blocks_of(messages)
        blocks, at = draw(st.sampled_from(places)) if places else ([], 0)
        number = draw(st.integers(0, max(len(messages) - 1, 0)))
        if kind == "front":
            messages = messages[number:]
        elif kind == "tail":
            messages = messages[: number + 1]
        elif kind == "swap" and number:
            messages[number - 1 : number + 1] = reversed(messages[number - 1 : number + 1])
        elif kind == "drop" and blocks:
            del blocks[at]
        elif kind == "twice" and blocks:
            blocks.insert(at, copy.deepcopy(blocks[at]))
        elif kind == "move" and blocks and isinstance(messages[number]["content"], list):
            messages[number]["content"].append(blocks.pop(at))
        elif kind == "empty":
            spot = draw(st.integers(0, len(blocks)))
            blocks.insert(spot, {"type": "text", "text": draw(st.sampled_from(["", " \n"]))})
        elif kind == "id" and blocks and "id" in blocks[at]:
            blocks[at]["id"] = draw(st.sampled_from(["toolu_1_0", "call:7", ""]))
        elif kind == "cut" and blocks and "input" in blocks[at]:
            blocks[at]["input"] = draw(st.sampled_from(['{"path": "a', "", None, '{"path": "a"}']))
        elif kind == "cut":
            messages.append({"role": "assistant", "content": draw(st.sampled_from(["", []]))})
        elif kind == "strip" and blocks:
            blocks[at].pop("signature", None)
    return messages
