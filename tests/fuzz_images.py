"""Headers, pre-flight and conversion under random damage: ``python -m tests.fuzz_images SECONDS [SEED]``.

Every input is a sound file with bytes changed, cut, doubled or moved, or noise behind a sound start. What is
promised: a header with sides of 1 pixel or more, or a typed error; nothing else is raised, no walk is long
and no memory is taken. Prints figures, and the first input that breaks a promise as hex.
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from collections import Counter

from ctxlab.errors import CtxlabError
from ctxlab.images import MEDIA_TYPES, check_images, image_tokens, read_header
from tests import made_images as made

_SLOW_S = 1.0
_MOST_BYTES = 1_000_000


def seeds() -> list[bytes]:
    """Sound files of every kind, small."""
    exif = made.jpeg_segment(0xE1, b"Exif\0\0" + made.exif(6, behind=made.jpeg(3, 4)))
    frames = [made.gif_frame(), made.gif_frame(flags=0x87, blocks=9), made.gif_frame()]
    turned = made.webp_chunk(b"EXIF", made.exif(8, order="<"))
    chunks = made.png_chunk(b"tRNS", b"\0") + made.png_chunk(b"eXIf", made.exif(3))
    return [
        *(make(640, 480) for make in made.MAKERS),
        made.jpeg(640, 480, before=exif + made.jpeg_segment(0xC4, bytes(99)), frame=0xC2, components=4),
        made.png(640, 480, kind=3, before=chunks, interlaced=True),
        made.animated_png(640, 480, 9),
        made.gif(640, 480, *frames, flags=0x87, before=b"\x21\xf9\x04\x01\0\0\0\0\x21\xff\x03abc\0"),
        made.animated_webp(640, 480, 9),
        made.extended_webp(640, 480, turned, flags=0x18),
        made.lossless_webp(640, 480, alpha=True),
        b"\0\0\0\x18ftypavif" + bytes(40),
        b"BM" + bytes(60),
        b"<?xml version='1.0'?><svg/>",
    ]


def damaged(chance: random.Random, data: bytes) -> bytes:
    """The file after one to six kinds of damage."""
    spoiled = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(spoiled)) if spoiled else 0
        kind = chance.randrange(7)
        if kind == 0 and spoiled:
            spoiled[at] = chance.randrange(256)
        elif kind == 1 and spoiled:
            spoiled[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del spoiled[at:]
        elif kind == 3:
            del spoiled[at : at + chance.randint(1, 9)]
        elif kind == 4:
            spoiled[at:at] = chance.randbytes(chance.randint(1, 40))
        elif kind == 5:
            spoiled[at : at + 4] = chance.choice(
                [b"\xff\xff\xff\xff", bytes(4), b"\x7f\xff\xff\xff", b"\0\0\0\1"]
            )
        else:
            spoiled += spoiled[at : at + 200] * chance.randint(1, 50)
    return bytes(spoiled)


def fault(data: bytes) -> str | None:
    """How a promise is broken by this input, or None."""
    started = time.perf_counter()
    try:
        found = read_header(data)
    except CtxlabError as error:
        if not error.problems or not all(one.rule and one.message for one in error.problems):
            return "an error without rule or message"
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
    else:
        if (
            found.media_type not in MEDIA_TYPES
            or min(found.display_size) < 1
            or not 1 <= found.orientation <= 8
        ):
            return f"impossible header {found}"
        if not 1 <= image_tokens(*found.display_size, tier="high-res") <= 4784:
            return f"impossible tokens of {found}"
    if time.perf_counter() - started > _SLOW_S:
        return "slow"
    return None


def fault_in_a_request(data: bytes) -> str | None:
    """The same for a request that holds the file as a picture, and once as a document."""
    block = made.block(data)
    document = {"type": "document", "source": {**block["source"], "media_type": "application/pdf"}}
    try:
        problems = check_images(made.request(block, document))
    except Exception as error:
        return f"check_images raised {type(error).__name__}: {error}"
    return None if all(one.path and one.rule for one in problems) else "a problem without a place"


def run(seconds: float, seed: int = 0) -> tuple[Counter[str], list[tuple[str, bytes]]]:
    """Damage files for that long; counts of what came out, and what broke a promise."""
    chance, files = random.Random(seed), seeds()
    counts: Counter[str] = Counter()
    broken: list[tuple[str, bytes]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end and not broken:
        for _ in range(200):
            data = damaged(chance, chance.choice(files))[:_MOST_BYTES]
            counts["inputs"] += 1
            counts["bytes"] += len(data)
            told = fault(data) or (fault_in_a_request(data) if counts["inputs"] % 20 == 0 else None)
            if told is not None:
                broken.append((told, data))
                break
    return counts, broken


def main(words: list[str]) -> int:
    """Run from the command line; 1 when a promise was broken."""
    seconds = float(words[0]) if words else 60.0
    seed = int(words[1]) if len(words) > 1 else random.randrange(1 << 32)
    tracemalloc.start()
    counts, broken = run(seconds, seed)
    _, peak = tracemalloc.get_traced_memory()
    print(f"seed {seed}: {counts['inputs']:,} inputs, {counts['bytes'] / 1e6:,.0f} MB, {seconds:.0f} s")
    print(f"peak memory {peak / 1e6:.1f} MB; broken promises: {len(broken)}")
    for told, data in broken:
        print(f"{told}\n{data[:4000].hex()}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
