"""LangChain's ``ChatAnthropic`` against a running emulator; its cache fields are in ``usage_metadata``.

To run it, start ``python3 -m ctxlab emulate --port 8089`` in the clone. Then, in an environment of its own:

    pip install langchain-anthropic
    ANTHROPIC_BASE_URL=http://127.0.0.1:8089 python tests/interop/langchain_client.py

pytest does not collect it. What this client sent is replayed by ``tests/test_emulator_interop.py``.
"""

from __future__ import annotations

import asyncio

import anthropic
from features import BASE_URL, FIVE, KEY, MARK, MODEL, refused, rules, run, wrote_then_read
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

chat = ChatAnthropic(model=MODEL, base_url=BASE_URL, api_key=KEY, max_tokens=200, max_retries=0)
wrong_key = ChatAnthropic(model=MODEL, base_url=BASE_URL, api_key="wrong", max_tokens=9, max_retries=0)


@tool
def weather(city: str = "Bern") -> str:
    """Weather of a city."""
    return f"It rains in {city}."


def marked(text: str, mark: dict[str, str] = MARK) -> SystemMessage:
    return SystemMessage([{"type": "text", "text": text, "cache_control": mark}])


def five_markers() -> list[HumanMessage]:
    return [HumanMessage([{"type": "text", "text": text, "cache_control": MARK} for text in FIVE])]


def figures(message: AIMessage) -> tuple[int, int]:
    """Tokens written for five minutes or for an unknown time, and tokens read.

    Of a whole answer LangChain keeps the write under its lifetime, and 0 as ``cache_creation``. Of a stream
    it keeps the last event's figures, which have no lifetimes, so that the write is ``cache_creation``.
    """
    details = message.usage_metadata["input_token_details"]
    return details.get("ephemeral_5m_input_tokens", 0) or details["cache_creation"], details["cache_read"]


def invoke() -> str:
    text = rules()
    first, second = (chat.invoke([marked(text), HumanMessage(page)]) for page in ("Page one?", "Page two?"))
    assert second.text == "Page two?"
    raw = second.response_metadata["usage"]
    assert raw["cache_read_input_tokens"] == figures(second)[1]
    assert second.usage_metadata["input_tokens"] == raw["input_tokens"] + raw["cache_read_input_tokens"]
    return wrote_then_read(figures(first), figures(second))


def ainvoke() -> str:
    text = rules()

    async def both() -> list[AIMessage]:
        return [await chat.ainvoke([marked(text), HumanMessage(page)]) for page in ("One?", "Two?")]

    first, second = asyncio.run(both())
    return wrote_then_read(figures(first), figures(second))


def one_hour() -> str:
    answer = chat.invoke([marked(rules(), {"type": "ephemeral", "ttl": "1h"}), HumanMessage("Page one?")])
    details = answer.usage_metadata["input_token_details"]
    assert details["ephemeral_1h_input_tokens"] > 0
    assert details["ephemeral_5m_input_tokens"] == 0
    return f"ephemeral_1h_input_tokens {details['ephemeral_1h_input_tokens']}"


def stream() -> str:
    text = rules()
    found = []
    for page in ("Page one?", "Page two?"):
        chunks = list(chat.stream([marked(text), HumanMessage(page)]))
        assert len(chunks) > 1
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        assert whole.text == page
        found.append(figures(whole))
    return wrote_then_read(*found)


def automatic() -> str:
    messages = [HumanMessage(rules())]
    first = chat.invoke(messages, cache_control=MARK)
    second = chat.invoke([*messages, first, HumanMessage("Go on.")], cache_control=MARK)
    assert figures(second)[1] == figures(first)[0] > 0
    return f"read {figures(second)[1]}, wrote {figures(second)[0]} more"


def tool_use() -> str:
    messages = [marked(rules()), HumanMessage("Is it raining?")]
    first = chat.bind_tools([weather], tool_choice="weather").invoke(messages)
    (asked,) = first.tool_calls
    result = weather.invoke(asked)
    assert isinstance(result, ToolMessage)
    second = chat.bind_tools([weather]).invoke([*messages, first, result])
    assert figures(second)[1] == figures(first)[0] > 0
    return f"{asked['name']}({asked['args']}) gave {result.content!r}; then read {figures(second)[1]}"


def tool_use_streamed() -> str:
    forced = chat.bind_tools([weather], tool_choice="weather")
    whole = None
    for chunk in forced.stream([marked(rules()), HumanMessage("Is it raining?")]):
        whole = chunk if whole is None else whole + chunk
    (asked,) = whole.tool_calls
    assert (asked["name"], asked["args"]) == ("weather", {})
    return f"{asked['name']}({asked['args']})"


def count_tokens() -> str:
    messages = [marked(rules()), HumanMessage("Page one?")]
    counted = chat.get_num_tokens_from_messages(messages)
    used = chat.invoke(messages).usage_metadata["input_tokens"]
    assert counted == used
    return f"get_num_tokens_from_messages {counted}, the same as invoke's input_tokens"


run(
    ["langchain-anthropic", "langchain-core", "anthropic"],
    {
        "write, then read": invoke,
        "async": ainvoke,
        "write for one hour": one_hour,
        "streamed": stream,
        "automatic marker, two turns": automatic,
        "tool use": tool_use,
        "tool use, streamed": tool_use_streamed,
        "count_tokens": count_tokens,
        "401, wrong key": lambda: refused(
            lambda: wrong_key.invoke("Hi"), anthropic.AuthenticationError, "invalid x-api-key", 401
        ),
        "400, five markers": lambda: refused(
            lambda: chat.invoke(five_markers()), anthropic.BadRequestError, "maximum of 4 blocks", 400
        ),
        "400, five markers, streamed": lambda: refused(
            lambda: list(chat.stream(five_markers())), anthropic.BadRequestError, "maximum of 4 blocks", 400
        ),
    },
)
