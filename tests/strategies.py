"""Hypothesis strategies shared by the tests: every room adds its own generators here."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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
