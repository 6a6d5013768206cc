def with_clock(rules, messages, now):
    text = f"{now[:-3]}\n{rules}"  # rounded to the minute
    system = [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]
    return {"system": system, "messages": messages}
