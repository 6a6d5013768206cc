"""Random conversations that the API takes, made fast and from a seed.

Models: tool loops with parallel calls, thinking, pictures, server tools, summaries in front and on the way,
markers of every kind; lists that end with a question, inside a tool loop or, if asked for, at rest.
Does not model: what anybody says (words are filler; only lengths and structure vary).
Source: own construction; the shapes are those of the recorded conversations.
"""

from __future__ import annotations

from random import Random
from typing import Any

MODELS = ("claude-opus-4-8", "claude-opus-5-5", "claude-haiku-4-5", "claude-haiku-5-5", "claude-sonnet-4-6")
MARK = {"type": "ephemeral"}
LONG_MARK = {"type": "ephemeral", "ttl": "1h"}
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _PIXEL}}
_WORDS = ("deploy", "port", "8081", "cfg/app.yaml", "Zürich", "the", "build", "9f2c1ab", "failed", "again")


def words(random: Random, most: int) -> str:
    """Filler text of up to ``most`` words."""
    one = random.choice(_WORDS)
    return f"{one} " * random.randint(1, most) + random.choice(_WORDS)


def text(random: Random, most: int = 30) -> dict[str, Any]:
    """A text block of up to ``most`` random words."""
    return {"type": "text", "text": words(random, most)}


class Conversation:
    """A conversation in the making: ids are counted on, so that none is used twice."""

    def __init__(self, random: Random, *, thinks: bool):
        self.random, self.thinks = random, thinks
        self.messages: list[dict[str, Any]] = []
        self._calls = 0

    def question(self) -> None:
        random = self.random
        content: Any = words(random, 30)
        if random.random() < 0.4:
            content = [*([_PNG] if random.random() < 0.3 else []), text(random)]
        self.messages.append({"role": "user", "content": content})

    def answer(self, calls: int = 0) -> None:
        random = self.random
        blocks: list[dict[str, Any]] = []
        if self.thinks and random.random() < 0.6:
            self._calls += 1
            blocks.append({"type": "thinking", "thinking": words(random, 20), "signature": f"s{self._calls}"})
        if random.random() < 0.08:
            self._calls += 1
            name = f"srvtoolu_{self._calls}"
            blocks.append({"type": "server_tool_use", "id": name, "name": "web_search", "input": {}})
            blocks.append({"type": "web_search_tool_result", "tool_use_id": name, "content": []})
        if not calls or random.random() < 0.5:
            blocks.append(text(random))
        blocks += [self._call() for _ in range(calls)]
        self.messages.append({"role": "assistant", "content": blocks})

    def results(self) -> None:
        random = self.random
        calls = [block["id"] for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
        random.shuffle(calls)
        blocks = [{"type": "tool_result", "tool_use_id": name, "content": self._payload()} for name in calls]
        if random.random() < 0.15:
            blocks.append(text(random))
        self.messages.append({"role": "user", "content": blocks})

    def loop(self, rounds: int) -> None:
        for _ in range(rounds):
            self.answer(self.random.choice((1, 1, 1, 2, 3)))
            self.results()

    def _call(self) -> dict[str, Any]:
        self._calls += 1
        name = self.random.choice(("read", "search"))
        return {"type": "tool_use", "id": f"toolu_{self._calls}", "name": name, "input": {"q": self._calls}}

    def _payload(self) -> Any:
        random = self.random
        payload = words(random, random.choice((3, 60, 900)))
        if random.random() < 0.25:
            return [{"type": "text", "text": payload}, *([_PNG] if random.random() < 0.4 else [])]
        return payload


def conversation(random: Random, *, thinking: bool = True, at_rest: bool = False) -> dict[str, Any]:
    """One request body that breaks no rule; ``at_rest`` it ends with an answer, before the next question."""
    model = random.choice(MODELS)
    made = Conversation(random, thinks=thinking and random.random() < 0.5)
    if random.random() < 0.1:
        summary = {"type": "compaction", "content": words(random, 40)}
        made.messages.append({"role": "assistant", "content": [summary, text(random)]})
    for _ in range(random.randint(1, 6)):
        made.question()
        made.loop(random.choice((0, 1, 1, 2, 3)))
        made.answer()
    if not at_rest:
        made.question()
        if random.random() < 0.3:
            made.loop(random.randint(1, 3))
    if not model.endswith("4-5") and random.random() < 0.3:
        _compacted_on_the_way(random, made.messages)
    body: dict[str, Any] = {"model": model, "max_tokens": 500, "messages": made.messages}
    if made.thinks:
        adaptive = {"type": "adaptive"}
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024} if model.endswith("4-5") else adaptive
        if model.endswith("4-5"):
            _think_first_in_the_open_loop(made.messages)
    _head(random, body)
    _mark(random, body)
    return body


def _compacted_on_the_way(random: Random, messages: list[dict[str, Any]]) -> None:
    """As the server compacts: a block at the head of an answer, or of two, and all before it still there."""
    answers = [message for message in messages if message["role"] == "assistant"]
    for message in random.sample(answers, min(random.choice((1, 1, 2)), len(answers))):
        if message["content"][0]["type"] != "compaction":
            block = {"type": "compaction", "content": words(random, 40)}
            message["content"] = [block, *message["content"]]


def _think_first_in_the_open_loop(messages: list[dict[str, Any]]) -> None:
    """With thinking enabled by hand, an answer that is still in its tool loop begins with some."""
    for message in messages:
        blocks = message["content"]
        if message["role"] == "assistant" and blocks[0]["type"] not in ("thinking", "compaction"):
            message["content"] = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, *blocks]


def _head(random: Random, body: dict[str, Any]) -> None:
    body["tools"] = [
        {"name": name, "description": words(random, 200), "input_schema": {"type": "object"}}
        for name in ("read", "search")
    ]
    if random.random() < 0.8:
        body["system"] = [{"type": "text", "text": words(random, random.choice((50, 3000)))}]


def _mark(random: Random, body: dict[str, Any]) -> None:
    """Markers as programs set them: on the fixed part, on the end, on both, by themselves, or nowhere."""
    kind = random.choice(("automatic", "automatic", "tail", "both", "fixed", "none"))
    long = random.random() < 0.2
    if kind in ("both", "fixed"):
        fixed = body.get("system") or body["tools"]
        fixed[-1] = {**fixed[-1], "cache_control": LONG_MARK if long else MARK}
    if kind == "automatic":
        body["cache_control"] = MARK
    if kind in ("tail", "both"):
        last = body["messages"][-1]
        content = last["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        blocks[-1] = {**blocks[-1], "cache_control": MARK}
        body["messages"][-1] = {**last, "content": blocks}
