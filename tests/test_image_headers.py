"""Promises of ctxlab.images.headers: right for every file a decoder can open, and harmless for all others."""

from __future__ import annotations

import io
import struct
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from ctxlab.errors import InvalidArgumentError
from ctxlab.images import (
    MEDIA_TYPES,
    UnreadableImageError,
    format_name,
    header_or_none,
    image_tokens,
    read_header,
)
from tests import fuzz_images
from tests import made_images as made
from tests.made_images import MAKERS, gif, gif_frame, jpeg, jpeg_segment, png, png_chunk, webp, webp_chunk

makers = st.sampled_from(list(MAKERS))


def refusal(data: bytes):
    with pytest.raises(UnreadableImageError) as caught:
        read_header(data)
    (problem,) = caught.value.problems
    return problem


# --- type and size


@given(makers, st.integers(1, 16_383), st.integers(1, 16_383))
def test_type_and_size_are_read_from_the_first_bytes_of_every_kind_the_api_takes(make, width, height):
    found = read_header(make(width, height))
    assert (found.media_type, found.width, found.height) == (MAKERS[make], width, height)
    assert found.display_size == (width, height)


def written(size=(64, 48), mode="RGB", form="PNG", **how):
    file = io.BytesIO()
    Image.new(mode, size).save(file, form, **how)
    return file.getvalue()


def several(form, frames=3, mode="RGB", **how):
    pictures = [Image.new(mode, (30, 20), number * 40) for number in range(frames)]
    file = io.BytesIO()
    pictures[0].save(file, form, save_all=True, append_images=pictures[1:], **how)
    return file.getvalue()


def exif_bytes(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


BY_PILLOW = {
    "jpeg": written(form="JPEG"),
    "grey jpeg": written(mode="L", form="JPEG"),
    "cmyk jpeg": written(mode="CMYK", form="JPEG"),
    "progressive jpeg": written(form="JPEG", progressive=True),
    "turned jpeg": written(form="JPEG", exif=exif_bytes(6)),
    "jpeg with a long profile": written(form="JPEG", icc_profile=bytes(200_000)),
    "jpeg with a comment": written(form="JPEG", comment=b"\xff\xc0 not a frame"),
    "png": written(),
    "grey png": written(mode="L"),
    "one-bit png": written(mode="1"),
    "deep png": written(mode="I;16"),
    "png with alpha": written(mode="RGBA"),
    "grey png with alpha": written(mode="LA"),
    "palette png": written(mode="P"),
    "see-through palette png": written(mode="P", transparency=0),
    "turned png": written(exif=exif_bytes(8)),
    "animated png": several("PNG"),
    "gif": written(mode="P", form="GIF"),
    "see-through gif": written(mode="P", form="GIF", transparency=0),
    "animated gif": several("GIF", mode="L"),
    "looping gif": several("GIF", mode="L", loop=0, comment=b"x" * 700),
    "lossy webp": written(form="WEBP"),
    "lossless webp": written(form="WEBP", lossless=True),
    "lossy webp with alpha": written(mode="RGBA", form="WEBP"),
    "lossless webp with alpha": written(mode="RGBA", form="WEBP", lossless=True, exact=True),
    "turned webp": written(form="WEBP", exif=exif_bytes(3)),
    "webp with a profile": written(form="WEBP", icc_profile=bytes(999)),
    "animated webp": several("WEBP"),
}


@pytest.mark.parametrize("name", BY_PILLOW)
def test_a_decoder_agrees(name):
    data = BY_PILLOW[name]
    found = read_header(data)
    with Image.open(io.BytesIO(data)) as opened:
        assert (found.width, found.height) == opened.size
        assert found.media_type == Image.MIME[opened.format]
        assert found.orientation == opened.getexif().get(0x0112, 1)
        assert found.frames == getattr(opened, "n_frames", 1)
        assert found.animated == getattr(opened, "is_animated", False)
        assert (found.mode == "CMYK") == (opened.mode == "CMYK")
        assert found.alpha == opened.has_transparency_data or name == "lossy webp with alpha"


@pytest.mark.parametrize(
    ("name", "mode", "alpha"),
    [
        ("cmyk jpeg", "CMYK", False),
        ("grey jpeg", "L", False),
        ("palette png", "P", False),
        ("see-through palette png", "P", True),
        ("grey png with alpha", "LA", True),
        ("gif", "P", False),
        ("see-through gif", "P", True),
        ("lossless webp", "RGB", False),
        ("lossless webp with alpha", "RGBA", True),
    ],
)
def test_what_a_conversion_has_to_deal_with_is_hinted_at(name, mode, alpha):
    found = read_header(BY_PILLOW[name])
    assert (found.mode, found.alpha) == (mode, alpha)


def test_progressive_and_interlaced_pictures_say_so_and_others_do_not():
    assert read_header(BY_PILLOW["progressive jpeg"]).progressive
    assert read_header(png(4, 4, interlaced=True)).progressive
    assert not read_header(BY_PILLOW["jpeg"]).progressive
    assert not read_header(png(4, 4)).progressive


# --- orientation


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", [3, 4])
def test_a_picture_on_its_side_is_shown_upright(orientation, order, kind):
    found = read_header(made.turned_jpeg(4032, 3024, orientation, order=order, kind=kind))
    assert (found.width, found.height, found.orientation) == (4032, 3024, orientation)
    assert found.display_size == ((3024, 4032) if orientation >= 5 else (4032, 3024))
    assert image_tokens(*found.display_size, tier="standard") == 1564
    assert image_tokens(*found.display_size, tier="high-res") == 4740


@pytest.mark.parametrize("orientation", [0, 9, 65_535])
def test_an_orientation_that_does_not_exist_turns_nothing(orientation):
    assert read_header(made.turned_jpeg(40, 30, orientation)).display_size == (40, 30)


def test_only_the_first_exif_counts():
    first, second = (jpeg_segment(0xE1, b"Exif\0\0" + made.exif(turn)) for turn in (6, 1))
    assert read_header(jpeg(40, 30, before=first + second)).orientation == 6


@given(st.binary(max_size=120), st.sampled_from([b"", b"MM\0*", b"II*\0", b"II*\0\x08\0\0\0\xff\xff"]))
def test_a_broken_exif_does_not_hide_the_size(body, start):
    app1 = jpeg_segment(0xE1, b"Exif\0\0" + start + body)
    found = read_header(jpeg(40, 30, before=app1))
    assert (found.width, found.height) == (40, 30)
    assert 1 <= found.orientation <= 8


# --- segments, chunks and frames


@pytest.mark.parametrize("frame", [0xC0, 0xC1, 0xC2, 0xC9, 0xCF])
def test_a_jpeg_is_read_past_its_other_segments(frame):
    tables = jpeg_segment(0xC4, b"abc")
    thumbnail = jpeg_segment(0xE1, b"Exif\0\0" + made.exif(1, behind=jpeg(3, 4)).ljust(60_000, b"\0"))
    data = jpeg(640, 480, before=thumbnail + b"\xff" * 9 + tables, frame=frame)
    assert (read_header(data).width, read_header(data).height) == (640, 480)


def test_a_jpeg_is_read_past_stray_bytes_as_decoders_read_it():
    for stray in (b"\0\0\0", b"\xff\x00", b"abc", b"\xff\xd0", b"\xff\x01"):
        assert read_header(jpeg(640, 480, before=jpeg_segment(0xFE, b"x") + stray)).width == 640


def test_a_frame_behind_the_first_pixels_is_none():
    scan = jpeg_segment(0xDA, bytes(6))
    assert refusal(jpeg(640, 480, before=scan)).rule == "unreadable-header"


def test_one_frame_is_a_still_and_more_are_an_animation():
    assert not read_header(made.animated_png(4, 4, 1)).animated
    assert read_header(made.animated_png(4, 4, 9)).frames == 9
    assert not read_header(made.animated_webp(4, 4, 1)).animated
    assert read_header(made.animated_webp(4, 4, 9)).frames == 9
    assert not read_header(gif(4, 4)).animated
    frames = [gif_frame(), gif_frame(flags=0x87, blocks=3), gif_frame(flags=0x80)]
    assert read_header(gif(4, 4, *frames, flags=0x83)).frames == 3


def test_an_animation_whose_frames_are_cut_off_is_still_one():
    whole = made.animated_webp(4, 4, 9)
    assert read_header(whole[:30]).animated
    assert read_header(whole[:30]).frames is None


def test_a_chunk_that_claims_more_than_there_is_ends_the_walk():
    endless = struct.pack(">I", 0xFFFFFFFF) + b"tEXt"
    found = read_header(png(640, 480)[:33] + endless + bytes(50))
    assert (found.width, found.height) == (640, 480)
    huge = b"ANMF" + struct.pack("<I", 0xFFFFFFFF)
    assert read_header(made.extended_webp(640, 480, huge, flags=0x02)).width == 640


# --- what is no picture


OTHERS = {
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "SVG with a declaration": b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a -->\n<svg width='9'/>",
    "SVG in UTF-16": "\ufeff<?xml version='1.0'?><svg/>".encode("utf-16-le"),
    "BMP": written(form="BMP"),
    "TIFF": written(form="TIFF"),
    "AVIF": written(form="AVIF"),
    "ICO": written(form="ICO"),
    "PDF": written(form="PDF"),
    "JPEG 2000": b"\0\0\0\x0cjP  \r\n\x87\n" + bytes(40),
    "JPEG XL": b"\xff\x0a" + bytes(40),
    "HEIC": b"\0\0\0\x18ftypheic" + bytes(40),
    "HEIC of another brand": b"\0\0\0\x18ftypmif1" + bytes(40),
    "video": b"\0\0\0\x18ftypmp42" + bytes(40),
    "WAVE": b"RIFF\0\0\0\0WAVE" + bytes(40),
    "HTML": b"<!DOCTYPE html><html><body>404</body></html>",
    "JSON": b'{"error": "not found"}',
    "base64 text": b"iVBORw0KGgoAAAANSUhEUgAA",
    "gzip": b"\x1f\x8b\x08" + bytes(40),
}


@pytest.mark.parametrize("name", OTHERS)
def test_formats_the_api_does_not_take_are_called_by_their_name(name):
    problem = refusal(OTHERS[name])
    assert problem.rule == "unsupported-type"
    assert name.split(" with")[0].split(" in")[0].split(" of")[0] in problem.message
    assert problem.fix


@pytest.mark.parametrize("form", sorted(MAKERS.values()))
def test_the_four_types_have_no_other_name(form):
    make = next(make for make, kind in MAKERS.items() if kind == form)
    assert format_name(make(9, 9)) is None
    assert form in MEDIA_TYPES


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "empty-image"),
        (b"hello", "unsupported-type"),
        (bytes(500), "unsupported-type"),
        (b"\x89PNG\r\n\x1a\n", "unreadable-header"),
        (png(0, 5), "zero-size"),
        (gif(5, 0, made.gif_frame(1, 0)), "zero-size"),
        (jpeg(5, 0), "zero-size"),
        (made.lossy_webp(0, 7), "zero-size"),
        (png(1 << 31, 5), "unreadable-header"),
        (b"\x89PNG\r\n\x1a\n" + png_chunk(b"tEXt", bytes(40)), "unreadable-header"),
        (b"\xff\xd8\xff\xe0\x00\x01" + bytes(40), "unreadable-header"),
        (b"\xff\xd8\xff\xd9" + bytes(40), "unreadable-header"),
        (webp(webp_chunk(b"ICCP", bytes(30))), "unreadable-header"),
        (webp(webp_chunk(b"VP8 ", bytes(30))), "unreadable-header"),
        (webp(webp_chunk(b"VP8L", bytes(30))), "unreadable-header"),
        (b"GIF88a" + bytes(40), "unreadable-header"),
    ],
)
def test_the_reason_is_told(data, rule):
    assert refusal(data).rule == rule
    assert header_or_none(data) is None


def test_the_place_is_told():
    with pytest.raises(UnreadableImageError, match=r"messages\[0\]: has no bytes"):
        read_header(b"", "messages[0]")


@pytest.mark.parametrize("data", ["text", None, 7, [137, 80]])
def test_what_is_not_bytes_is_refused_as_an_argument(data):
    with pytest.raises(InvalidArgumentError) as caught:
        read_header(data)
    assert caught.value.problems[0].rule == "bytes"


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_kinds_of_bytes_are_read_alike(kind):
    for data in BY_PILLOW.values():
        assert read_header(kind(data)) == read_header(data)


# --- hostile files


WHOLE = {**BY_PILLOW, **{make.__name__: make(640, 480) for make in MAKERS}, "avif": OTHERS["AVIF"]}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_cut_at_any_byte_has_its_size_or_none(name):
    data = WHOLE[name]
    whole = header_or_none(data)
    for end in range(min(len(data), 3000)):
        found = header_or_none(data[:end])
        if found is not None:
            assert (found.media_type, found.width, found.height) == (
                whole.media_type,
                whole.width,
                whole.height,
            )


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_a_file_with_wrong_bytes_gives_a_header_or_a_typed_error(name, data):
    spoiled = bytearray(WHOLE[name][:600])
    for _ in range(data.draw(st.integers(1, 8))):
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    found = header_or_none(bytes(spoiled))
    assert found is None or (found.width > 0 and found.height > 0 and found.media_type in MEDIA_TYPES)


STARTS = [b"", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WEBPVP8 ", b"GIF89a", png(9, 9)[:33]]


@given(st.sampled_from(STARTS), st.binary(max_size=200))
@example(b"\xff\xd8\xff", b"\xff" * 200)
@example(b"\xff\xd8\xff", b"\xff\x00" * 100)
def test_bytes_of_any_kind_raise_nothing_else(start, rest):
    found = header_or_none(start + rest)
    assert found is None or (found.width > 0 and found.height > 0)


MEGABYTES = 8 << 20
BOMBS = {
    "60,000 by 60,000 in a hundred bytes": png(60_000, 60_000),
    "empty jpeg segments": b"\xff\xd8" + b"\xff\xe0\x00\x02" * (MEGABYTES // 4),
    "fill bytes": b"\xff\xd8" + b"\xff" * MEGABYTES,
    "escaped fill bytes": b"\xff\xd8" + b"\xff\x00" * (MEGABYTES // 2),
    "stray bytes": b"\xff\xd8\xff\xe0\x00\x02" + b"x" * MEGABYTES,
    "stray bytes between markers": b"\xff\xd8\xff\xe0\x00\x02"
    + (b"x" * 4000 + b"\xff\x01") * (MEGABYTES // 4002),
    "empty png chunks": png(9, 9)[:33] + (bytes(4) + b"tEXt" + bytes(4)) * (MEGABYTES // 12),
    "gif blocks of one byte": gif(9, 9)[:13] + gif_frame()[:11] + b"\x01\x00"[:1] * MEGABYTES,
    "gif of tiny frames": gif(9, 9)[:13] + gif_frame() * (MEGABYTES // 15),
    "gif of empty extensions": gif(9, 9)[:13] + b"\x21\xfe\x00" * (MEGABYTES // 3),
    "webp of empty frames": made.animated_webp(9, 9, MEGABYTES // 32),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_read_in_bounded_steps_and_without_a_copy(name):
    data = BOMBS[name]
    tracemalloc.start()
    header_or_none(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000


@pytest.mark.parametrize("name", BOMBS)
def test_no_walk_takes_more_steps_than_its_limit_however_long_the_file(name):
    steps = 0

    class Counting(bytearray):
        def __getitem__(self, place):
            nonlocal steps
            steps += 1
            return super().__getitem__(place)

    header_or_none(Counting(BOMBS[name]))
    assert steps <= 5 * 100_000


def test_random_damage_breaks_no_promise_in_a_second():
    """CI's share of ``python -m tests.fuzz_images``, with a fixed seed."""
    counts, broken = fuzz_images.run(1.0, seed=28)
    assert broken == []
    assert counts["inputs"] >= 200


@pytest.mark.parametrize(
    ("screen", "frame", "shown"),
    [((0, 0), (7, 3), (7, 3)), ((5, 0), (7, 3), (7, 3)), ((9, 4), (7, 3), (9, 4))],
)
def test_a_gif_without_a_screen_is_as_large_as_its_first_picture(screen, frame, shown):
    pause = b"\x21\xf9\x04" + bytes(5)
    data = gif(*screen, made.gif_frame(*frame), made.gif_frame(100, 100), before=pause)
    assert read_header(data).display_size == shown
    assert Image.open(io.BytesIO(data)).size == shown


@pytest.mark.parametrize("cut", range(0, 30))
def test_a_gif_without_a_screen_that_ends_early_has_no_size(cut):
    assert refusal(gif(0, 0)[: 10 + min(cut, 12)]).rule == "zero-size"


def test_the_orientation_of_a_png_may_stand_behind_its_pixels():
    behind = png_chunk(b"eXIf", made.exif(6)) + png_chunk(b"IEND", b"")
    assert read_header(png(40, 30) + behind).display_size == (30, 40)
    assert read_header(png(40, 30) + png_chunk(b"IEND", b"") + behind).display_size == (40, 30)


def test_what_makes_an_animation_must_stand_in_front_of_the_pixels():
    late = png(40, 30) + png_chunk(b"acTL", struct.pack(">II", 9, 0)) + png_chunk(b"tRNS", bytes(6))
    assert not read_header(late).animated
    assert not read_header(late).alpha
