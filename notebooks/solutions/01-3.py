def fold(rows):
    kept = {}
    for row in rows:
        before = kept.get(row["id"])
        if before is None or row["output_tokens"] >= before["output_tokens"]:
            kept[row["id"]] = row
    return list(kept.values())
