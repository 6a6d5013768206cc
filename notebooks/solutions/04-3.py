rest = (60_000 - 200 * 15) / 199
figures = {
    "tokens of the file": 4_000 * 15,
    "tokens of the rest": rest,
    "times, with the tool": (60_000 + rest) / (15 + rest + 597),
    "times, with reads": (60_000 + rest) / (15 + rest + 597 + 60_000 / 20),
}
