"""Hypothesis strategies shared by the tests: every room adds its own generators here."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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
