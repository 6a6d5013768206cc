def fold(rows):
    kept = {}
    for row in rows:
        kept.setdefault(row["id"], row)
    return list(kept.values())
