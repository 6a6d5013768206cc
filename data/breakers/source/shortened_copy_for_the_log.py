import copy
import logging

import anthropic

log = logging.getLogger(__name__)


def for_log(messages: list[dict]) -> list[dict]:
    shown = copy.deepcopy(messages)
    for message in shown:
        if isinstance(message["content"], str):
            message["content"] = message["content"][:80]
        else:
            message["content"] = f"{len(message['content'])} blocks"
    return shown[-6:]


def loop(turns: list[str]) -> list[dict]:
    client = anthropic.Anthropic()
    messages: list[dict] = []
    for text in turns:
        messages.append({"role": "user", "content": text})
        log.info("sending %s", for_log(messages))
        reply = client.messages.create(model="claude-haiku-4-5", max_tokens=500, messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
    return messages
