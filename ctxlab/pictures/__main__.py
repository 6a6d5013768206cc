"""``python -m ctxlab.pictures`` draws the samples of ``data/images/`` anew."""

from __future__ import annotations

from ctxlab.pictures.drawing import draw_all
from ctxlab.places import data_path

if __name__ == "__main__":
    for path in draw_all(data_path("images")):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
