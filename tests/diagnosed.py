"""Calls played on the emulator for the tests of ``ctxlab.diagnose``: its books, and a truth known before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ctxlab.clock import ManualClock
from ctxlab.diagnose import Exchange
from ctxlab.emulator import Emulator

from .emulated import HEADERS, MARK, a_word_a_token, assistant, text, user

HOUR = {"type": "ephemeral", "ttl": "1h"}
MODEL = "claude-opus-5-5"
RULES = text("[1500] the rules of the house", cache_control=MARK)


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"what {name} does " * 300,
        "input_schema": {"type": "object", **schema},
    }


def turn(number: int, *, words: str = "[40] and what of that", mark: Any = None) -> list[dict[str, Any]]:
    """An answer and the next question."""
    more = {} if mark is None else {"cache_control": mark}
    return [
        assistant(text(f"[60] answer {number}")),
        user(text(f"{words} in turn {number}", **more)),
    ]


def ask(*messages: Any, **fields: Any) -> dict[str, Any]:
    """A request with automatic caching; a field that is ``...`` is left out."""
    body = {
        "model": MODEL,
        "max_tokens": 100,
        "cache_control": MARK,
        "system": [text("[1500] the rules of the house")],
        "messages": list(messages) or [user(text("[30] the first question"))],
        **fields,
    }
    return {name: value for name, value in body.items() if value is not ...}


@dataclass
class Running:
    body: dict[str, Any]
    workspace: str
    started_s: float
    opened: Any


class Stage:
    """One emulated API. Every exchange that was answered is in ``exchanges``, with all its evidence."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.exchanges: list[Exchange] = []
        self.forget()

    def wait(self, seconds: float) -> Stage:
        self.clock.advance(seconds)
        return self

    def send(self, body: Mapping[str, Any], workspace: str = "w1", betas: str = "") -> Running:
        headers = {**HEADERS, "x-api-key": self.api.key(workspace)}
        if betas:
            headers["anthropic-beta"] = betas
        opened = self.api.engine.open("POST", "/v1/messages", "", headers, json.dumps(body).encode())
        return Running(json.loads(json.dumps(body)), workspace, self.clock.now_s(), opened)

    def answer(self, running: Running) -> Exchange:
        told = json.loads(running.opened.read())
        assert running.opened.status == 200, told
        exchange = Exchange(
            running.body, told, running.started_s, self.clock.now_s(), workspace=running.workspace
        )
        self.exchanges.append(exchange)
        return exchange

    def call(
        self, body: Mapping[str, Any], workspace: str = "w1", takes_s: float = 1.0, betas: str = ""
    ) -> Stage:
        running = self.send(body, workspace, betas)
        self.wait(takes_s)
        self.answer(running)
        return self.wait(1.0)

    def forget(self) -> Stage:
        """The provider loses every entry: from here on it is another one."""
        seed = len(self.exchanges)
        self.api = Emulator(clock=self.clock, counter=a_word_a_token, retired_models=True, seed=seed)
        return self


def without(exchange: Exchange, *names: str) -> Exchange:
    return replace(exchange, **dict.fromkeys(names))
