def with_clock(rules, messages, now):
    *history, last = messages
    *before, question = last["content"]
    question = {**question, "cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": now}, {"type": "text", "text": rules}]
    return {"system": system, "messages": [*history, {**last, "content": [*before, question]}]}
