"""Reading both files of recordings, checked and typed, beside unpacking and parsing alone."""

from __future__ import annotations

import gzip
import json

from benchmarks.timing import Row, best_ms
from ctxlab.places import data_path
from ctxlab.recordings import exchanges, read_exchanges, read_sessions
from ctxlab.tokens import count


def rows() -> list[Row]:
    files = [data_path("recordings", name) for name in ("exchanges.jsonl.gz", "traces.jsonl.gz")]

    def parse_only() -> None:
        for file in files:
            for line in gzip.decompress(file.read_bytes()).splitlines():
                json.loads(line)

    def load() -> None:
        read_exchanges(files[0])
        read_sessions(files[1])

    bare_ms, load_ms = best_ms(parse_only, 3), best_ms(load, 3)
    blocks = [block for row in exchanges() for block in row.blocks if block.chars is not None]
    count_ms = best_ms(lambda: count(blocks, vocabulary="v4.8"))
    return [
        Row(
            "load all recordings",
            load_ms,
            "ms",
            "gunzip + json.loads of the same files",
            load_ms / bare_ms,
            "",
        ),
        Row(f"count {len(blocks):,} blocks", count_ms, "ms", "(by characters)", None, ""),
    ]
