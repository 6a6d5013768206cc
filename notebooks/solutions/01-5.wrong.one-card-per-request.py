def haiku_usd(input_tokens, output_tokens):
    above = max(0, input_tokens - 100_000)
    return ((input_tokens - above) * 0.10 + above * 0.50 + output_tokens * 0.50) / 1_000_000
