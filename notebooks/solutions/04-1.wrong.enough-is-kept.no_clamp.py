def safe_cut(messages, keep):
    cut = len(messages) - keep
    while cut and has_result(messages[cut]):
        cut -= 1
    return cut


def has_result(message):
    blocks = message["content"]
    return not isinstance(blocks, str) and any(block["type"] == "tool_result" for block in blocks)
