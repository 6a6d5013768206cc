def with_clock(rules, messages, now):
    system = [{"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}}]
    return {"system": system, "messages": messages}
