def haiku_usd(input_tokens, output_tokens):
    times = 5 if input_tokens >= 100_000 else 1
    return times * (input_tokens * 0.10 + output_tokens * 0.50) / 1_000_000
