def true_bill(usage, rates):
    names = {
        "fresh": "input_tokens",
        "written": "cache_creation_input_tokens",
        "read": "cache_read_input_tokens",
        "output": "output_tokens",
    }
    steps = usage.get("iterations") or [usage]
    of = {}
    for short, name in names.items():
        of[short] = sum(step.get(name) or 0 for step in steps)
    usd = sum(of[short] * rates[short] for short in names) / 1_000_000
    return of["fresh"] + of["written"] + of["read"], of["output"], usd
