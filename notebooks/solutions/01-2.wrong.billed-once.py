def total_input_tokens(usage):
    return usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]


def prompt_usd(prompt, cached, output, in_rate, cached_rate, out_rate):
    if cached > prompt:
        raise ValueError("more cached than prompt")
    return (prompt * in_rate + cached * cached_rate + output * out_rate) / 1_000_000


def writes_usd(written_5m, written_1h, base_rate):
    return (written_5m * 1.25 + written_1h * 2) * base_rate / 1_000_000
