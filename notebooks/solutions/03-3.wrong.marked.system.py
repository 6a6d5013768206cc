def with_clock(rules, messages, now):
    *history, last = messages
    content = [*last["content"], {"type": "text", "text": now}]
    system = [{"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}}]
    return {"system": system, "messages": [*history, {**last, "content": content}]}
