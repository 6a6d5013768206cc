def true_bill(usage, rates):
    steps = usage.get("iterations") or [usage]
    bill = {"input": 0, "output": 0, "usd": 0.0}
    for step in steps:
        bill["input"] += step["input_tokens"]
        bill["output"] += step["output_tokens"]
    return bill
