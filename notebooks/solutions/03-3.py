def with_clock(rules, messages, now):
    *history, last = messages
    *before, question = last["content"]
    question = {**question, "cache_control": {"type": "ephemeral"}}
    content = [*before, question, {"type": "text", "text": now}]
    system = [{"type": "text", "text": rules}]
    return {"system": system, "messages": [*history, {**last, "content": content}]}
