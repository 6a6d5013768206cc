"""What the emulator adds to a turn, beside the bare SDK on a transport with one constant answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

import anthropic
import httpx2

from benchmarks.timing import Row
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator

#: Length of the conversation, and how many conversations of that length are measured.
TURNS = {10: 60, 100: 30, 400: 8, 1000: 6}
SAID = "Paris."


def conversation(turns: int, subject: int = 0) -> list[dict[str, Any]]:
    """Questions and answers of some 200 characters, the marker on the last question."""
    messages: list[dict[str, Any]] = []
    for i in range(turns):
        asked = {"type": "text", "text": f"Question {i} on {subject}: {'some words here ' * 12}"}
        said = {"type": "text", "text": f"Answer {i} on {subject}: {'more words here ' * 12}"}
        messages += [{"role": "user", "content": [asked]}, {"role": "assistant", "content": [said]}]
    del messages[-1]
    messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    return messages


def emulated() -> Emulator:
    return Emulator(clock=ManualClock(), counter="calibrated_characters", replies=repeat(SAID))


def bare(answer: bytes) -> anthropic.Anthropic:
    """The SDK on a transport that reads the request and gives the same answer every time."""

    def constant(request: httpx2.Request) -> httpx2.Response:
        request.read()
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=answer)

    http = httpx2.Client(transport=httpx2.MockTransport(constant))
    return anthropic.Anthropic(
        api_key="none", base_url="http://constant.invalid", max_retries=0, http_client=http
    )


def request(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages}


def ask(client: anthropic.Anthropic, messages: list[dict[str, Any]]) -> None:
    client.messages.create(**request(messages))


def seconds(work: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


def one_turn(turns: int) -> tuple[float, float, float]:
    """The fastest turn that is new, in ms: on the emulator, on the constant answer, and JSON read alone."""
    client = emulated().client()
    answer = client.messages.with_raw_response.create(**request(conversation(1)))
    constant = bare(answer.http_response.content)
    took = []
    for subject in range(TURNS[turns]):
        ask(client, conversation(turns - 1, subject))
        messages = conversation(turns, subject)
        body = json.dumps(request(messages))
        took.append(
            (
                seconds(ask, client, messages),
                seconds(ask, constant, messages),
                seconds(json.loads, body),
            )
        )
    with_emulator, without, floor = (min(column) * 1e3 for column in zip(*took, strict=True))
    return with_emulator, without, floor


def rows() -> list[Row]:
    found = []
    for turns in TURNS:
        with_emulator, without, floor = one_turn(turns)
        added = with_emulator - without
        found += [
            Row(f"bare SDK, turn {turns:,}", without, "ms", "", None, ""),
            Row(f"emulator adds, turn {turns:,}", added, "ms", "the bare SDK's time", added / without, "1"),
            Row(f"JSON read alone, turn {turns:,}", floor, "ms", "what is added", floor / added, ""),
        ]
    return [*found, *paces()]


def paces() -> list[Row]:
    """Requests per second of one thread: through the SDK, and of the engine by itself."""
    api = emulated()
    client, messages = api.client(), conversation(10)
    through = 1 / min(seconds(ask, client, messages) for _ in range(200))
    headers = {"x-api-key": api.key(), "anthropic-version": "2026-10-21"}
    body = json.dumps(request(messages)).encode()
    asked = ("POST", "/v1/messages", "", headers, body)
    alone = 1 / min(seconds(api.engine.respond, *asked) for _ in range(200))
    return [
        Row("requests through the SDK, turn 10", through, "/s", "the engine alone", through / alone, ""),
        Row("requests to the engine, turn 10", alone, "/s", "", None, ""),
    ]
