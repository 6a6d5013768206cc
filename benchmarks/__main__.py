"""``python -m benchmarks``: every figure of speed in one table, each beside its limit or nearest peer."""

from __future__ import annotations

import importlib
from pathlib import Path

from benchmarks.timing import Row


def main() -> None:
    found: list[Row] = []
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        found += importlib.import_module(f"benchmarks.{path.stem}").rows()
    width = max(len(row.name) for row in found)
    print(f"{'what':{width}}  {'best of several':>15}  {'ratio':>7}  beside")
    for row in found:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}×"
        promised = f"  (promised: {row.promised}×)" if row.promised else ""
        print(f"{row.name:{width}}  {row.value:>10.3f} {row.unit:<4}  {ratio:>7}  {row.beside}{promised}")


if __name__ == "__main__":
    main()
