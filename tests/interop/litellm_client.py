"""LiteLLM against a running emulator; its cache fields are in ``response.usage``, under two names each.

To run it, start ``python3 -m ctxlab emulate --port 8089`` in the clone. Then, in an environment of its own:

    pip install litellm
    ANTHROPIC_BASE_URL=http://127.0.0.1:8089 python tests/interop/litellm_client.py

pytest does not collect it. What this client sent is replayed by ``tests/test_emulator_interop.py``.
"""

from __future__ import annotations

import asyncio
import os

os.environ["LITELLM_OFFLINE_MODE"] = "true"  # read on import: otherwise it fetches its list of prices

import litellm
from features import BASE_URL, FIVE, KEY, MARK, MODEL, refused, rules, run, wrote_then_read

SHARED = {
    "model": f"anthropic/{MODEL}",
    "api_base": BASE_URL,
    "api_key": KEY,
    "num_retries": 0,
    "max_tokens": 200,
}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {}},
    },
}


def marked(text: str, mark: dict[str, str] = MARK) -> dict[str, object]:
    return {"role": "system", "content": [{"type": "text", "text": text, "cache_control": mark}]}


def asks(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


def five_markers() -> list[dict[str, object]]:
    return [
        {"role": "user", "content": [{"type": "text", "text": text, "cache_control": MARK} for text in FIVE]}
    ]


def figures(usage: litellm.Usage) -> tuple[int, int]:
    details = usage.prompt_tokens_details
    assert details.cached_tokens == usage.cache_read_input_tokens
    assert details.cache_creation_tokens == usage.cache_creation_input_tokens
    return details.cache_creation_tokens, details.cached_tokens


def completion() -> str:
    text = rules()
    first, second = (
        litellm.completion(**SHARED, messages=[marked(text), asks(page)])
        for page in ("Page one?", "Page two?")
    )
    assert second.choices[0].message.content == "Page two?"
    assert second.usage.prompt_tokens > second.usage.cache_read_input_tokens
    return wrote_then_read(figures(first.usage), figures(second.usage))


def acompletion() -> str:
    text = rules()

    async def both() -> list[litellm.ModelResponse]:
        return [
            await litellm.acompletion(**SHARED, messages=[marked(text), asks(page)])
            for page in ("One?", "Two?")
        ]

    first, second = asyncio.run(both())
    return wrote_then_read(figures(first.usage), figures(second.usage))


def one_hour() -> str:
    messages = [marked(rules(), {"type": "ephemeral", "ttl": "1h"}), asks("Page one?")]
    details = litellm.completion(**SHARED, messages=messages).usage.prompt_tokens_details
    split = details.cache_creation_token_details
    assert split.ephemeral_1h_input_tokens == details.cache_creation_tokens > 0
    return f"cache_creation_token_details.ephemeral_1h_input_tokens {split.ephemeral_1h_input_tokens}"


def stream() -> str:
    text = rules()
    found = []
    for page in ("Page one?", "Page two?"):
        chunks = list(
            litellm.completion(
                **SHARED,
                messages=[marked(text), asks(page)],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        whole = litellm.stream_chunk_builder(chunks)
        assert whole.choices[0].message.content == page
        found.append(figures(whole.usage))
    return wrote_then_read(*found)


def injected() -> str:
    """A marker that LiteLLM places by itself."""
    text = rules()
    points = [{"location": "message", "role": "system"}]
    first, second = (
        litellm.completion(
            **SHARED,
            messages=[{"role": "system", "content": text}, asks(page)],
            cache_control_injection_points=points,
        )
        for page in ("Page one?", "Page two?")
    )
    return wrote_then_read(figures(first.usage), figures(second.usage))


def native() -> str:
    """The Messages API's own form, passed through."""
    text = [{"type": "text", "text": rules(), "cache_control": MARK}]

    async def both() -> list[dict[str, object]]:
        return [
            await litellm.anthropic.messages.acreate(**SHARED, system=text, messages=[asks(page)])
            for page in ("Page one?", "Page two?")
        ]

    found = [
        (answer["usage"]["cache_creation_input_tokens"], answer["usage"]["cache_read_input_tokens"])
        for answer in asyncio.run(both())
    ]
    return wrote_then_read(*found)


def tool_use() -> str:
    messages = [marked(rules()), asks("Is it raining?")]
    forced = {"type": "function", "function": {"name": "weather"}}
    first = litellm.completion(**SHARED, messages=messages, tools=[WEATHER], tool_choice=forced)
    said = first.choices[0].message
    (call,) = said.tool_calls
    messages += [said, {"role": "tool", "tool_call_id": call.id, "content": "It rains."}]
    second = litellm.completion(**SHARED, messages=messages, tools=[WEATHER])
    assert figures(second.usage)[1] == figures(first.usage)[0] > 0
    return f"{call.function.name}({call.function.arguments}); then read {figures(second.usage)[1]}"


def tool_use_streamed() -> str:
    forced = {"type": "function", "function": {"name": "weather"}}
    chunks = litellm.completion(
        **SHARED,
        messages=[marked(rules()), asks("Is it raining?")],
        tools=[WEATHER],
        tool_choice=forced,
        stream=True,
    )
    whole = litellm.stream_chunk_builder(list(chunks))
    (call,) = whole.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", "{}")
    return f"{call.function.name}({call.function.arguments})"


def count_tokens() -> str:
    messages = [marked(rules()), asks("Page one?")]
    place = {name: SHARED[name] for name in ("model", "api_base", "api_key")}
    counted = asyncio.run(litellm.acount_tokens(**place, messages=messages))
    used = litellm.completion(**SHARED, messages=messages).usage.prompt_tokens
    assert counted.total_tokens == used, (counted, used)
    return f"acount_tokens {counted.total_tokens}, the same as completion's prompt_tokens"


run(
    ["litellm"],
    {
        "write, then read": completion,
        "async": acompletion,
        "write for one hour": one_hour,
        "streamed": stream,
        "injected marker": injected,
        "anthropic.messages": native,
        "tool use": tool_use,
        "tool use, streamed": tool_use_streamed,
        "count_tokens": count_tokens,
        "401, wrong key": lambda: refused(
            lambda: litellm.completion(**{**SHARED, "api_key": "wrong"}, messages=[asks("Hi")]),
            litellm.AuthenticationError,
            "invalid x-api-key",
            401,
        ),
        "400, five markers": lambda: refused(
            lambda: litellm.completion(**SHARED, messages=five_markers()),
            litellm.BadRequestError,
            "maximum of 4 blocks",
            400,
        ),
        "400, five markers, streamed": lambda: refused(
            lambda: list(litellm.completion(**SHARED, messages=five_markers(), stream=True)),
            litellm.BadRequestError,
            "maximum of 4 blocks",
            400,
        ),
    },
)
