def fold(rows):
    kept = {}
    for row in sorted(rows, key=lambda row: (row["id"], row["output_tokens"])):
        kept[row["id"]] = row
    return list(kept.values())
