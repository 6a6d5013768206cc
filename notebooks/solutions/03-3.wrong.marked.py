def with_clock(rules, messages, now):
    *history, last = messages
    content = [*last["content"], {"type": "text", "text": now}]
    return {"system": rules, "messages": [*history, {**last, "content": content}]}
