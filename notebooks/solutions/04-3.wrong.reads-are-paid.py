figures = {
    "tokens of the file": 4_000 * 15,
    "tokens of the rest": (60_000 - 200 * 15) / 199,
    "times, with the tool": (60_000 + 285) / (15 + 285 + 597),
    "times, with reads": (60_000 + 285) / (15 + 285 + 597),
}
