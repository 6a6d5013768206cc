def true_bill(usage, rates):
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    steps = usage.get("iterations") or [usage]
    tokens = sum(step.get(name) or 0 for step in steps for name in names)
    output = sum(step["output_tokens"] for step in steps)
    return tokens, output, (tokens * rates["fresh"] + output * rates["output"]) / 1_000_000
