def safe_cut(messages, keep):
    cut = max(len(messages) - keep, 0)
    while cut < len(messages) and has_result(messages[cut]):
        cut += 1
    return cut if cut < len(messages) else 0


def has_result(message):
    blocks = message["content"]
    return not isinstance(blocks, str) and any(block["type"] == "tool_result" for block in blocks)
