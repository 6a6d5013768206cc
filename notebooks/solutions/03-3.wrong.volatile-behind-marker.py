def with_clock(rules, messages, now):
    clock = {"type": "text", "text": now}
    system = [clock, {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}}]
    return {"system": system, "messages": messages}
