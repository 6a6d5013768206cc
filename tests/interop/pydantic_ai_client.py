"""pydantic-ai's ``AnthropicModel`` against a running emulator; its cache fields are in ``result.usage``.

To run it, start ``python3 -m ctxlab emulate --port 8089`` in the clone. Then, in an environment of its own:

    pip install "pydantic-ai-slim[anthropic]"
    ANTHROPIC_BASE_URL=http://127.0.0.1:8089 python tests/interop/pydantic_ai_client.py

pytest does not collect it. What this client sent is replayed by ``tests/test_emulator_interop.py``.
"""

from __future__ import annotations

from anthropic import AsyncAnthropic
from features import BASE_URL, FIVE, KEY, MODEL, raised, refused, rules, run, wrote_then_read
from pydantic import BaseModel
from pydantic_ai import Agent, CachePoint, ModelHTTPError, ToolOutput, UsageLimitExceeded
from pydantic_ai.direct import model_request_sync
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage, RunUsage, UsageLimits


def emulated(key: str = KEY) -> AnthropicModel:
    client = AsyncAnthropic(base_url=BASE_URL, api_key=key, max_retries=0)
    return AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))


model = emulated()
marked = AnthropicModelSettings(anthropic_cache_instructions=True, max_tokens=200)
weather = ToolDefinition(
    name="weather", description="Weather of a city", parameters_json_schema={"type": "object"}
)


class Rain(BaseModel):
    mm: int = 0


def figures(usage: RunUsage | RequestUsage) -> tuple[int, int]:
    return usage.cache_write_tokens, usage.cache_read_tokens


def run_sync() -> str:
    agent = Agent(model, instructions=rules(), model_settings=marked)
    first, second = (agent.run_sync(page) for page in ("Page one?", "Page two?"))
    assert second.output == "Page two?"
    assert second.usage.input_tokens > second.usage.cache_read_tokens
    return wrote_then_read(figures(first.usage), figures(second.usage))


def one_hour() -> str:
    settings = AnthropicModelSettings(anthropic_cache_instructions="1h", max_tokens=200)
    usage = Agent(model, instructions=rules(), model_settings=settings).run_sync("Page one?").usage
    assert usage.cache_write_1h_tokens == usage.cache_write_tokens > 0
    return f"cache_write_1h_tokens {usage.cache_write_1h_tokens}"


def stream() -> str:
    agent = Agent(model, instructions=rules(), model_settings=marked)
    found = []
    for page in ("Page one?", "Page two?"):
        result = agent.run_stream_sync(page)
        assert list(result.stream_text(delta=True, debounce_by=None))
        found.append(figures(result.usage))
    return wrote_then_read(*found)


def automatic() -> str:
    settings = AnthropicModelSettings(anthropic_cache=True, max_tokens=200)
    agent = Agent(model, model_settings=settings)
    first = agent.run_sync(rules())
    second = agent.run_sync("Go on.", message_history=first.all_messages())
    assert second.usage.cache_read_tokens == first.usage.cache_write_tokens > 0
    return f"read {second.usage.cache_read_tokens}, wrote {second.usage.cache_write_tokens} more"


def cache_point() -> str:
    agent, text = Agent(model, model_settings={"max_tokens": 200}), rules()
    first, second = (agent.run_sync([text, CachePoint(), page]) for page in ("Page one?", "Page two?"))
    return wrote_then_read(figures(first.usage), figures(second.usage))


def tool_use() -> str:
    offered = ModelRequestParameters(function_tools=[weather])
    asked = ModelRequest.user_text_prompt("Is it raining?", instructions=rules())
    first = model_request_sync(
        model,
        [asked],
        model_settings={**marked, "tool_choice": ["weather"]},
        model_request_parameters=offered,
    )
    (call,) = first.tool_calls
    result = ModelRequest(
        [ToolReturnPart(call.tool_name, "It rains.", tool_call_id=call.tool_call_id)],
        instructions=asked.instructions,
    )
    second = model_request_sync(
        model, [asked, first, result], model_settings=marked, model_request_parameters=offered
    )
    assert second.usage.cache_read_tokens == first.usage.cache_write_tokens > 0
    return f"{call.tool_name}({call.args}); then read {second.usage.cache_read_tokens}"


def structured_output() -> str:
    """Here pydantic-ai sends a schema. The emulator follows none, but it echoes what does."""
    agent = Agent(model, instructions=rules(), model_settings=marked, output_type=Rain)
    first, second = (agent.run_sync(json) for json in ('{"mm": 3}', '{"mm": 4}'))
    assert (first.output, second.output) == (Rain(mm=3), Rain(mm=4))
    return wrote_then_read(figures(first.usage), figures(second.usage))


def structured_output_streamed() -> str:
    """And here it offers a tool, which it has to force: an echo calls none by itself."""
    forced = {**marked, "tool_choice": ["final_result"]}
    agent = Agent(model, instructions=rules(), model_settings=forced, output_type=ToolOutput(Rain))
    result = agent.run_stream_sync("Is it raining?")
    assert result.get_output() == Rain(mm=0)
    assert result.usage.cache_write_tokens > 0
    return f"{result.get_output()!r}, wrote {result.usage.cache_write_tokens}"


def count_tokens() -> str:
    """The count shows in the words of the limit that it is over."""
    limits = UsageLimits(count_tokens_before_request=True, input_tokens_limit=100)
    agent = Agent(model, instructions=rules(), model_settings=marked)
    error = raised(lambda: agent.run_sync("Page one?", usage_limits=limits), UsageLimitExceeded)
    used = agent.run_sync("Page one?").usage.input_tokens
    assert f"input_tokens={used}" in str(error), error
    return f"a limit checked before the request found {used}, the same as the request's input_tokens"


def diagnostics() -> str:
    settings = AnthropicModelSettings(**marked, anthropic_cache_diagnostics=True)
    first = Agent(model, instructions=rules(), model_settings=settings).run_sync("Page one?")
    other = Agent(model, instructions=rules(), model_settings=settings)
    second = other.run_sync("Page two?", message_history=first.all_messages())
    found = second.response.provider_details["cache_diagnostics"]["cache_miss_reason"]
    assert found["type"] == "system_changed"
    return f"cache_diagnostics {found}"


def five_markers() -> str:
    """pydantic-ai keeps the last four by itself, so that the API has nothing to refuse."""
    prompt = [part for text in FIVE for part in (text, CachePoint())]
    answer = Agent(model, model_settings={"max_tokens": 9}).run_sync(prompt).output
    assert answer.split() == FIVE
    return "the client left one out"


run(
    ["pydantic-ai-slim", "anthropic"],
    {
        "write, then read": run_sync,
        "write for one hour": one_hour,
        "streamed": stream,
        "automatic marker, two turns": automatic,
        "CachePoint": cache_point,
        "tool use": tool_use,
        "structured output": structured_output,
        "structured output, streamed": structured_output_streamed,
        "count_tokens": count_tokens,
        "cache diagnostics": diagnostics,
        "401, wrong key": lambda: refused(
            lambda: Agent(emulated("wrong")).run_sync("Hi"), ModelHTTPError, "invalid x-api-key", 401
        ),
        "five markers": five_markers,
        "400, an unknown field": lambda: refused(
            lambda: Agent(model, model_settings={"extra_body": {"colour": "red"}}).run_sync("Hi"),
            ModelHTTPError,
            "colour: Extra inputs are not permitted",
            400,
        ),
    },
)
