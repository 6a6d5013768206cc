"""The peers of ``ctxlab.levers``, run by a Python that has them: ``python peers_levers.py IN.json OUT.json``.

LangChain's ``trim_messages`` and the condenser of the OpenHands software-agent-sdk, each fed conversations in
its own types and read back by the code its own client sends requests with (``langchain_anthropic``, and
``litellm`` behind OpenHands). Every conversation goes through each peer twice: converted there and back
untouched, so that what a conversion loses is not laid at the lever's door, and with the lever applied.
Not imported by anything here; the condenser's summary is scripted, so nothing leaves the machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}
os.environ |= {"LANGSMITH_TRACING": "false", "LITELLM_LOG": "ERROR", "LOG_LEVEL": "ERROR"}

from langchain_anthropic.chat_models import _format_messages
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from litellm.litellm_core_utils.prompt_templates.factory import anthropic_messages_pt
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent, SystemPromptEvent
from openhands.sdk.event.base import LLMConvertibleEvent
from openhands.sdk.event.condenser import Condensation
from openhands.sdk.llm import ImageContent, Message, MessageToolCall, TextContent, ThinkingBlock
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool.schema import Observation

SUMMARY = "The earlier work is done; the open question is below."
#: What LangChain's own page on trimming recommends for chat models, beside what a bare call does.
ADVISED = {"start_on": "human", "end_on": ("human", "tool"), "include_system": True}
BARE = {"include_system": True}


class Result(Observation):
    """What a tool gave back."""


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def system_text(body: dict[str, Any]) -> str:
    system = body.get("system") or ""
    return system if isinstance(system, str) else "\n".join(block["text"] for block in system)


# --- LangChain ------------------------------------------------------------------------------------------


def to_langchain(body: dict[str, Any]) -> list[Any]:
    made: list[Any] = [SystemMessage(system_text(body))] if body.get("system") else []
    for message in body["messages"]:
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            calls = [
                {"name": block["name"], "args": block["input"], "id": block["id"], "type": "tool_call"}
                for block in blocks
                if block["type"] == "tool_use"
            ]
            made.append(AIMessage(blocks, tool_calls=calls))
            continue
        made += [
            ToolMessage(block["content"], tool_call_id=block["tool_use_id"])
            for block in blocks
            if block["type"] == "tool_result"
        ]
        rest = [block for block in blocks if block["type"] != "tool_result"]
        if rest:
            made.append(HumanMessage(rest))
    return made


def from_langchain(messages: list[Any], body: dict[str, Any]) -> dict[str, Any]:
    system, sent = _format_messages(messages, model=body["model"])
    head = {key: value for key, value in body.items() if key not in ("system", "messages")}
    return {**head, **({"system": system} if system else {}), "messages": sent}


def trimmed(messages: list[Any], share: float, how: dict[str, Any]) -> list[Any]:
    fixed = [one for one in messages if isinstance(one, SystemMessage)]
    fixed_tokens = count_tokens_approximately(fixed)
    budget = fixed_tokens + int((count_tokens_approximately(messages) - fixed_tokens) * share)
    return trim_messages(messages, max_tokens=budget, token_counter="approximate", strategy="last", **how)


# --- OpenHands ------------------------------------------------------------------------------------------


def picture(block: dict[str, Any]) -> ImageContent:
    source = block["source"]
    return ImageContent(image_urls=[f"data:{source['media_type']};base64,{source['data']}"])


def contents(blocks: Any) -> list[Any]:
    if isinstance(blocks, str):
        return [TextContent(text=blocks)]
    return [
        TextContent(text=block["text"]) if block["type"] == "text" else picture(block)
        for block in blocks
        if block["type"] in ("text", "image")
    ]


def to_openhands(body: dict[str, Any]) -> list[Any]:
    made: list[Any] = [SystemPromptEvent(system_prompt=TextContent(text=system_text(body)), tools=[])]
    names: dict[str, tuple[str, str]] = {}
    for number, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        if message["role"] == "assistant":
            made += answer(blocks, f"response-{number}", names)
            continue
        for block in (one for one in blocks if one["type"] == "tool_result"):
            tool, action = names[block["tool_use_id"]]
            made.append(
                ObservationEvent(
                    observation=Result(content=contents(block["content"])),
                    action_id=action,
                    tool_name=tool,
                    tool_call_id=block["tool_use_id"],
                )
            )
        rest = contents(blocks)
        if rest:
            made.append(MessageEvent(source="user", llm_message=Message(role="user", content=rest)))
    return made


def answer(blocks: list[dict[str, Any]], response: str, names: dict[str, tuple[str, str]]) -> list[Any]:
    thinking = [
        ThinkingBlock(thinking=block["thinking"], signature=block["signature"])
        for block in blocks
        if block["type"] == "thinking"
    ]
    texts, made = contents(blocks), []
    for block in (one for one in blocks if one["type"] == "tool_use"):
        call = MessageToolCall(
            id=block["id"], name=block["name"], arguments=json.dumps(block["input"]), origin="completion"
        )
        event = ActionEvent(
            thought=[] if made else texts,
            thinking_blocks=[] if made else thinking,
            tool_name=block["name"],
            tool_call_id=block["id"],
            tool_call=call,
            llm_response_id=response,
        )
        names[block["id"]] = (block["name"], event.id)
        made.append(event)
    if made:
        return made
    message = Message(role="assistant", content=texts, thinking_blocks=thinking)
    return [MessageEvent(source="agent", llm_message=message, llm_response_id=response)]


def from_openhands(view: View, body: dict[str, Any]) -> dict[str, Any]:
    how = {"cache_enabled": False, "vision_enabled": True, "function_calling_enabled": True}
    how |= {"force_string_serializer": False, "send_reasoning_content": False}
    chat = [one.to_chat_dict(**how) for one in LLMConvertibleEvent.events_to_messages(view.events)]
    sent = anthropic_messages_pt([one for one in chat if one["role"] != "system"], body["model"], "anthropic")
    return {**body, "messages": sent}


def condensed(view: View) -> View:
    """The view behind one condensation, at the size that makes the condenser act on it at once."""
    llm = TestLLM.from_messages([Message(role="assistant", content=[TextContent(text=SUMMARY)])])
    condenser = LLMSummarizingCondenser(llm=llm, max_size=max(len(view) - 1, 8), keep_first=2)
    done = condenser.condense(view)
    if not isinstance(done, Condensation):
        return done
    after = View(events=list(view.events))
    after.append_event(done)
    return after


# --- both -----------------------------------------------------------------------------------------------


def attempt(work: Any) -> Any:
    """A body, or what went wrong instead."""
    try:
        return work()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def one(body: dict[str, Any], share: float) -> dict[str, Any]:
    chain, view = to_langchain(body), View.from_events(to_openhands(body))
    return {
        "langchain": {
            "untouched": attempt(lambda: from_langchain(chain, body)),
            "bare": attempt(lambda: from_langchain(trimmed(chain, share, BARE), body)),
            "advised": attempt(lambda: from_langchain(trimmed(chain, share, ADVISED), body)),
        },
        "openhands": {
            "untouched": attempt(lambda: from_openhands(view, body)),
            "condensed": attempt(lambda: from_openhands(condensed(view), body)),
        },
    }


def best_ms(work: Any, repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def timed(body: dict[str, Any], share: float) -> dict[str, float]:
    """Planning alone, on messages that are in the peer's types already."""
    chain, view = to_langchain(body), View.from_events(to_openhands(body))
    return {
        "langchain": best_ms(lambda: trimmed(chain, share, ADVISED)),
        "openhands": best_ms(lambda: condensed(view)),
    }


def main(given: str, made: str) -> None:
    asked = json.loads(Path(given).read_text(encoding="utf-8"))
    share = asked["share"]
    packages = ("langchain-core", "langchain-anthropic", "openhands-sdk", "litellm")
    answered = {
        "versions": {name: version(name) for name in packages},
        "ms": timed(asked["large"], share),
        "results": [one(body, share) for body in asked["conversations"]],
    }
    Path(made).write_text(json.dumps(answered), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
