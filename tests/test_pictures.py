"""Promises of ctxlab.pictures: what is made to fit fits and says what was done; what is given stays."""

from __future__ import annotations

import base64
import builtins
import copy
import io
import struct
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageCms

from ctxlab.catalogue import get_model
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, MissingPackageError
from ctxlab.images import (
    MEDIA_TYPES,
    TIERS,
    check_images,
    image_tokens,
    platform_of,
    read_header,
    resized_size,
)
from ctxlab.pictures import UnfittableImageError, documented_sizes, fit, recorded_differences, samples
from ctxlab.pictures.decoding import MAX_PIXELS
from ctxlab.pictures.drawing import DRAWN, draw_all
from ctxlab.places import data_path
from ctxlab.recordings import exchange, exchanges
from ctxlab.tokens import rules_of
from tests.made_images import block, png, png_chunk, request

OLD = "claude-sonnet-4-5"


def file_of(mode="RGB", size=(120, 80), form="PNG", colour=None, **how):
    file = io.BytesIO()
    Image.new(mode, size, colour if colour is not None else 0).save(file, form, **how)
    return file.getvalue()


def opened(data):
    return Image.open(io.BytesIO(data))


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def gif_of(frames):
    pictures = [Image.new("L", (40, 30), 60 * number) for number in range(frames)]
    file = io.BytesIO()
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:])
    return file.getvalue()


def noise(width, height):
    return Image.merge("RGB", [Image.effect_noise((width, height), 120) for _ in range(3)])


# --- one file


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_picture_that_fits_is_left_byte_for_byte(form):
    data = file_of("P" if form == "GIF" else "RGB", form=form)
    found = fit(data, tier="standard")
    assert (found.data, found.done) == (data, ())
    assert found.tokens == image_tokens(120, 80, tier="standard")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("size", [(3840, 2160), (2160, 3840), (3000, 40)])
def test_a_large_picture_is_brought_to_what_the_model_sees(tier, size):
    found = fit(file_of(size=size), tier=tier)
    assert (found.width, found.height) == resized_size(*size, tier=tier) == opened(found.data).size
    assert found.done == ("scaled {} x {} to {} x {} pixels".format(*size, found.width, found.height),)
    assert fit(found.data, tier=tier).done == ()


def test_cmyk_becomes_rgb_and_it_says_so():
    found = fit(file_of("CMYK", form="JPEG", colour=(0, 255, 255, 0)), OLD)
    assert found.done == ("converted CMYK to RGB",)
    assert opened(found.data).mode == "RGB"
    red, green, blue = opened(found.data).getpixel((5, 5))
    assert red > 200 > 60 > max(green, blue)


def test_alpha_is_flattened_where_the_type_has_none_and_kept_where_it_has_one():
    clear = file_of("RGBA", colour=(255, 0, 0, 0))
    found = fit(clear, OLD, media_type="image/jpeg")
    assert found.media_type == "image/jpeg"
    assert "flattened alpha on white" in found.done
    assert min(opened(found.data).getpixel((5, 5))) > 250
    assert max(opened(fit(clear, OLD, media_type="image/jpeg", background="black").data).getpixel((5, 5))) < 5
    kept = fit(file_of("RGBA", (3000, 100), colour=(255, 0, 0, 0)), OLD)
    assert opened(kept.data).mode == "RGBA"
    assert not any("alpha" in what for what in kept.done)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gif_of(3), "kept the first of 3 frames"),
        (file_of("P", (2000, 100), "GIF", transparency=0), "scaled 2000 x 100"),
        (file_of("P", (2000, 100), transparency=0), "scaled 2000 x 100"),
        (file_of("I;16", (2000, 100)), "reduced to 8 bits a channel"),
        (file_of("1", (2000, 100)), "scaled 2000 x 100"),
        (file_of("LA", (2000, 100)), "scaled 2000 x 100"),
        (file_of(size=(2000, 100), form="JPEG", exif=turned(6)), "turned upright as its EXIF says"),
        (file_of(form="BMP"), "wrote image/png instead of image/bmp"),
        (file_of(form="TIFF"), "wrote image/png instead of image/tiff"),
        (file_of(form="AVIF"), "wrote image/png instead of image/avif"),
    ],
)
def test_every_conversion_is_said_and_fits(data, said):
    found = fit(data, OLD)
    assert any(what.startswith(said) for what in found.done)
    header = read_header(found.data)
    assert header.media_type == found.media_type in MEDIA_TYPES
    assert header.display_size == (found.width, found.height)
    assert not header.animated
    assert header.orientation == 1


def test_the_first_frame_is_the_one_that_is_kept():
    assert opened(fit(gif_of(3), OLD).data).convert("L").getpixel((3, 3)) == 0


def test_deep_grey_keeps_its_shades():
    wide = Image.new("I;16", (2000, 50), 32768)
    file = io.BytesIO()
    wide.save(file, "PNG")
    assert 120 <= opened(fit(file.getvalue(), OLD).data).getpixel((5, 5)) <= 135


def test_a_photo_on_its_side_is_scaled_upright():
    photo = next(one for one in samples() if one.name == "photo")
    found = fit(photo.data, OLD, media_type="image/png")
    assert (found.width, found.height) == resized_size(1200, 1600, OLD)
    assert found.tokens == image_tokens(1600, 1200, OLD)
    sky, ground = (
        opened(found.data).getpixel((600, 40)),
        opened(found.data).getpixel((600, found.height - 40)),
    )
    assert sum(sky) > sum(ground)


def test_what_is_above_the_encoded_limit_becomes_a_jpeg_and_smaller_until_it_fits():
    file = io.BytesIO()
    noise(1400, 1150).save(file, "PNG")
    data = file.getvalue()
    limits = platform_of("bedrock")
    assert len(data) > limits.max_image_bytes
    found = fit(data, OLD, "bedrock", shrink=False)
    assert len(base64.b64encode(found.data)) <= limits.max_image_chars
    assert found.done == ("wrote a JPEG, which takes fewer bytes and loses fine detail",)
    assert (found.width, found.height, found.media_type) == (1400, 1150, "image/jpeg")
    assert fit(data, OLD, shrink=False).data is data


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "empty-image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported-type"),
        (b"%PDF-1.7", "unsupported-type"),
        (b"hello", "undecodable"),
        (file_of(size=(2000, 2000))[:200], "undecodable"),
        (bytes(4) + b"ftypheic" + bytes(40), "undecodable"),
        (file_of(form="BMP")[:40], "undecodable"),
        (png(60_000, 60_000), "too-many-pixels"),
        (png(0, 5), "undecodable"),
    ],
)
def test_what_cannot_be_helped_is_a_typed_error(data, rule):
    with pytest.raises(UnfittableImageError) as caught:
        fit(data, OLD)
    assert caught.value.problems[0].rule == rule


def test_the_most_pixels_decoded_are_above_what_the_api_takes():
    assert 8000 * 8000 < MAX_PIXELS < 60_000 * 60_000


@settings(max_examples=60)
@given(
    st.sampled_from([file_of(), file_of(form="JPEG"), file_of("P", form="GIF"), file_of(form="WEBP")]),
    st.data(),
)
def test_a_broken_file_fits_or_is_a_typed_error(data, draw):
    spoiled = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 6))):
        spoiled[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        found = fit(bytes(spoiled), OLD, media_type="image/png")
    except UnfittableImageError:
        return
    assert found.media_type == "image/png"


@pytest.mark.parametrize("media_type", ["image/jpg", "png", "image/bmp"])
def test_a_type_that_cannot_be_written_is_refused(media_type):
    with pytest.raises(InvalidArgumentError):
        fit(file_of(), OLD, media_type=media_type)


def test_without_pillow_it_is_said_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def lacking(name, *more, **others):
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *more, **others)

    large = file_of(size=(3000, 100))
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(builtins, "__import__", lacking)
    assert fit(png(40, 30), OLD).done == ()
    with pytest.raises(MissingPackageError) as caught:
        fit(large, OLD)
    assert "pillow" in caught.value.problems[0].fix


# --- a request


def test_nothing_is_touched_in_a_request_that_is_taken():
    body = request(block(file_of(size=(3000, 100))), {"type": "text", "text": "Look."})
    found = fit(body, OLD)
    assert (found.request, found.changes, found.ok) == (body, (), True)
    assert found.request is not body


def test_each_change_is_named_with_its_place_and_the_request_given_stays_as_it_is():
    inside = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [block(file_of(form="JPEG"), "image/jpg")],
    }
    body = request(block(file_of(size=(8100, 20))), inside, block(file_of(), "image/gif"))
    before = copy.deepcopy(body)
    found = fit(body, OLD)
    assert body == before
    assert found.ok
    assert [(change.path, change.what.split()[0]) for change in found.changes] == [
        ("messages[0].content[0]", "scaled"),
        ("messages[0].content[1].content[0]", "declared"),
        ("messages[0].content[2]", "declared"),
    ]
    jpeg = found.request["messages"][0]["content"][1]["content"][0]["source"]
    assert jpeg["data"] == inside["content"][0]["source"]["data"]
    assert jpeg["media_type"] == "image/jpeg"


def test_something_made_smaller_is_no_success_while_one_picture_cannot_be_helped():
    body = request(block(file_of(size=(9000, 20))), block(b"<svg/>" * 20), block(file_of(size=(20, 9000))))
    found = fit(body, OLD)
    assert [change.path for change in found.changes] == ["messages[0].content[0]", "messages[0].content[2]"]
    assert not found.ok
    assert [problem.path for problem in found.blocking] == ["messages[0].content[1].source.data"]


def test_one_wide_picture_among_twenty_one_is_scaled_and_the_others_are_left():
    small = block(png(100, 100))
    found = fit(request(*[small] * 20, block(file_of(size=(2400, 900)))), "claude-opus-5-5")
    assert found.ok
    assert [change.path for change in found.changes] == ["messages[0].content[20]"]
    assert found.checked.images[20].size == (2000, 750)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: f"data:image/png;base64,{text}",
        lambda text: "\n".join(text[start : start + 76] for start in range(0, len(text), 76)),
        lambda text: text.rstrip("="),
        lambda text: text.replace("+", "-").replace("/", "_"),
    ],
)
@pytest.mark.parametrize("more", [b"", b"\xff\xfb\xff", b"\xfb\xef\xff\xff", b"\xff\xfe"])
def test_base64_that_others_wrote_is_repaired(spoil, more):
    data = png(40, 30) + more
    text = base64.b64encode(data).decode()
    body = request(block(spoil(text)))
    found = fit(body, OLD)
    assert found.ok
    assert found.request["messages"][0]["content"][0]["source"]["data"] == text
    assert [change.what for change in found.changes] == (
        [] if spoil(text) == text else ["repaired its base64"]
    )


def test_a_picture_that_may_not_be_scaled_by_the_server_is_scaled_here():
    strict = {"transformations": {"oversized_image": "error"}}
    found = fit(request(block(file_of(size=(1920, 1080)), **strict)), OLD)
    assert found.ok
    assert found.checked.images[0].size == (1456, 819)


def test_all_pictures_are_shrunk_when_that_is_asked_for():
    body = request(block(file_of(size=(3840, 2160))), block(gif_of(2), "image/gif"), block(png(40, 30)))
    found = fit(body, OLD, shrink=True)
    assert [change.path for change in found.changes] == ["messages[0].content[0]"] + [
        "messages[0].content[1]"
    ] * 3
    assert found.checked.problems == ()


def test_a_request_as_json_is_taken_and_what_is_elsewhere_is_left():
    far = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    found = fit('{"model": "claude-opus-5-5", "messages": [{"role": "user", "content": []}]}')
    assert found.ok
    assert fit(request(far), OLD, shrink=True).request == request(far)
    assert check_images(request(far), OLD)


# --- the table of sizes


def test_every_documented_and_recorded_size_comes_out_unless_it_is_named_as_an_exception():
    assert [row for row in documented_sizes() if not row.agrees and not row.exception] == []
    assert [row for row in documented_sizes() if row.agrees and row.exception] == []


def test_an_exception_names_its_other_figure_and_every_row_its_evidence():
    for row in documented_sizes():
        assert row.evidence in ("documented", "recorded", "reported", "computed")
        assert row.source
    unverified = [row for row in documented_sizes() if "Not verified" in row.exception]
    assert {(row.width, row.height, row.tokens) for row in unverified} >= {(3840, 2160, 2992)}
    assert all(f"{row.computed_tokens:,}" in row.exception for row in unverified)


def test_the_readme_beside_the_table_names_every_exception_and_every_difference():
    told = data_path("images", "README.md").read_text(encoding="utf-8")
    for row in documented_sizes():
        assert not row.exception or f"{row.width} x {row.height}" in told
    for difference in recorded_differences():
        assert f"**{difference.recorded_tokens - difference.text_tokens}**" in told


def test_recorded_sizes_are_those_of_the_recordings():
    counted = set()
    for row in exchanges():
        pictures = [block.image for block in row.blocks if block.image is not None]
        plain = {block.type for block in row.blocks} == {"text", "image"} and len(pictures) == 1
        if not plain or not row.total_input_tokens or not pictures[0].width:
            continue
        model = get_model(row.model_id)
        texts = sum(block.content_tokens.get(model.vocabulary, 0) for block in row.blocks)
        rest = row.total_input_tokens - texts - rules_of(model.vocabulary, model).frame - 3
        counted.add((pictures[0].width, pictures[0].height, rest))
    ours = {(row.width, row.height, row.tokens) for row in documented_sizes() if row.evidence == "recorded"}
    assert ours <= counted


def test_recorded_differences_are_those_of_the_recordings_and_patches_explain_them():
    matrix = "pydantic-ai/test_multimodal_tool_return_matrix[{}-image-anthropic]#1"
    chatlas = "chatlas/2025-12-31__{}__test_anthropic_image_tool#1"
    pairs = [
        (matrix, "direct-binary", "direct-url"),
        (matrix, "direct-binary", "direct-url_force_download"),
        (matrix, "tool_return_content-binary", "tool_return_content-url_force_download"),
        (chatlas, "c3a5a78", "5b8c416"),
    ]
    rows = recorded_differences()
    for row, (name, large, small) in zip(rows, pairs, strict=False):
        one, other = exchange(name.format(large)), exchange(name.format(small))
        vocabulary = get_model(one.model_id).vocabulary
        texts = [
            sum(block.content_tokens.get(vocabulary, 0) for block in made.blocks) for made in (one, other)
        ]
        assert row.recorded_tokens == one.total_input_tokens - other.total_input_tokens
        assert row.text_tokens == texts[0] - texts[1]
        assert row.unexplained_tokens == 0
    assert [(row.recorded_tokens, row.patches, row.unexplained_tokens) for row in rows[4:]] == [(374, 372, 2)]
    assert all(row.note for row in rows if row.unexplained_tokens)


# --- samples


def test_the_samples_are_small_described_and_sound():
    for one in samples():
        assert len(one.data) < 100_000
        assert len(one.alt) > 20
        assert one.header.media_type in MEDIA_TYPES
    assert check_images(request(*[block(one.data, one.header.media_type) for one in samples()])) == []


def test_the_samples_are_what_the_code_draws(tmp_path):
    for path in draw_all(tmp_path):
        drawn, shipped = (Image.open(one).convert("RGB") for one in (path, data_path("images", path.name)))
        assert drawn.size == shipped.size
        difference = ImageChops.difference(drawn, shipped)
        most = max(high for _, high in difference.getextrema())
        assert most <= (0 if path.suffix == ".png" else 24), path.name  # encoders of JPEG differ a little


def test_every_drawing_is_listed_and_every_file_is_drawn_or_told():
    files = {path.name for path in data_path("images").iterdir()}
    assert files == set(DRAWN) | {"README.md", "sizes.toml"}
    assert {one.path.name for one in samples()} == set(DRAWN)
    readme = data_path("images", "README.md").read_text(encoding="utf-8")
    assert all(name in readme for name in files - {"README.md"})


# --- what files in the wild are


def deep(mode, *shades):
    """A file of deep grey whose columns have these shades."""
    wide = Image.new(mode, (len(shades), 1))
    for column, shade in enumerate(shades):
        wide.putpixel((column, 0), shade)
    file = io.BytesIO()
    wide.resize((len(shades) * 800, 20), Image.Resampling.NEAREST).save(
        file, "PNG" if mode == "I;16" else "TIFF"
    )
    return file.getvalue()


def greys(found, columns):
    wide = opened(found.data).convert("L")
    return [
        wide.getpixel((round((column + 0.5) * wide.width / columns), wide.height // 2))
        for column in range(columns)
    ]


@pytest.mark.parametrize(
    ("mode", "shades", "expected"),
    [
        ("I;16", (0, 2048, 4095), (0, 128, 255)),  # 12 bits of a scanner
        ("I;16", (0, 150, 300), (0, 128, 255)),  # few shades, far below any depth
        ("I;16", (0, 1, 1), (0, 255, 255)),
        ("I;16", (10_000, 32_768, 50_000), (39, 128, 195)),  # the full depth stays as it is
        ("I", (0, 50_000, 100_000), (0, 128, 255)),
        ("I", (-100, 0, 100), (0, 128, 255)),
        ("I", (0, 0, 0), (0, 0, 0)),
        ("F", (0.0, 0.5, 1.0), (0, 128, 255)),
        ("F", (0.0, 0.4, 0.8), (0, 102, 204)),
        ("F", (0.0, 128.0, 255.0), (0, 128, 255)),
        ("F", (-0.5, 0.0, 0.5), (0, 128, 255)),
    ],
)
def test_deep_grey_is_brought_to_eight_bits_by_the_range_it_uses(mode, shades, expected):
    found = fit(deep(mode, *shades), OLD)
    assert greys(found, len(shades)) == pytest.approx(expected, abs=2)
    assert any(what.startswith("reduced to 8 bits a channel, of shades from") for what in found.done)


def test_grey_of_eight_bits_is_not_stretched():
    found = fit(file_of("L", (2000, 50), colour=3), OLD)
    assert greys(found, 1) == [3]
    assert not any("8 bits" in what for what in found.done)


def test_shades_that_are_no_numbers_are_refused_and_not_painted_black():
    with pytest.raises(UnfittableImageError) as caught:
        fit(deep("F", 0.0, float("inf")), OLD)
    assert caught.value.problems[0].rule == "no-range"


def test_a_phones_photo_with_a_second_picture_behind_it_stays_a_jpeg():
    photo, second = noise(1000, 2000), noise(100, 100)
    file = io.BytesIO()
    photo.save(file, "MPO", save_all=True, append_images=[second])
    found = fit(file.getvalue(), OLD)
    assert opened(file.getvalue()).format == "MPO"
    assert found.media_type == read_header(found.data).media_type == "image/jpeg"
    assert len(found.data) < len(file.getvalue())
    assert "kept the first of 2 frames" in found.done
    assert not any("instead of" in what for what in found.done)


def psd(width, height, colour):
    """A PSD without layers, as a program writes it that flattens."""
    head = b"8BPS" + struct.pack(">H6xHIIHH", 1, 3, height, width, 8, 3)
    pixels = b"".join(bytes([channel]) * (width * height) for channel in colour)
    return head + bytes(12) + struct.pack(">H", 0) + pixels


def test_a_psd_is_converted_as_it_looks():
    found = fit(psd(60, 40, (200, 30, 10)), OLD)
    assert found.done == ("wrote image/png instead of image/vnd.adobe.photoshop",)
    assert opened(found.data).getpixel((5, 5)) == (200, 30, 10)


@pytest.mark.parametrize("background", [None, "nope", "", "#12", 7, (1, 2, 3), "#ffffff00", [], object()])
def test_a_background_that_is_no_colour_is_refused_up_front_whatever_is_given(background):
    for given_ in (file_of(), file_of("RGBA"), request(), request(block(b"<svg/>"))):
        with pytest.raises(InvalidArgumentError) as caught:
            fit(given_, OLD, background=background)
        assert caught.value.problems[0].path == "background"
        assert " at 0x" not in str(caught.value)


@pytest.mark.parametrize("background", ["black", "#000", "rgb(0, 0, 0)", "#000000ff"])
def test_a_background_that_is_a_colour_is_taken(background):
    found = fit(file_of("RGBA", colour=(255, 0, 0, 0)), OLD, media_type="image/jpeg", background=background)
    assert max(opened(found.data).getpixel((5, 5))) < 5


def test_what_is_lost_is_said():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    coloured = fit(file_of(size=(2000, 100), form="JPEG", icc_profile=profile), OLD)
    assert "dropped its colour profile" in coloured.done
    lossy = fit(file_of(), OLD, media_type="image/jpeg")
    assert "lost fine detail, which image/jpeg does not keep" in lossy.done


def test_sixteen_bits_a_colour_are_said_to_be_lost():
    rows = b"".join(b"\0" + struct.pack(">3H", 65_535, 256, 0) * 2000 for _ in range(50))
    head = struct.pack(">IIBBBBB", 2000, 50, 16, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        png_chunk(name, body)
        for name, body in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )
    assert "reduced to 8 bits a channel" in fit(data, OLD).done


def test_what_is_not_lost_is_not_said():
    photo = fit(file_of(size=(2000, 100), form="JPEG"), OLD)
    assert len(photo.done) == 1
    assert photo.done[0].startswith("scaled")


@pytest.mark.parametrize("start", ["data:image/png;base64,", "DATA:image/png;charset=x;base64,"])
def test_a_data_url_under_type_url_becomes_a_source_that_is_taken(start):
    text = base64.b64encode(png(40, 30)).decode()
    body = request({"type": "image", "source": {"type": "url", "url": start + text}})
    found = fit(body, OLD)
    assert found.ok
    assert found.request["messages"][0]["content"][0]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": text,
    }
    assert [change.what for change in found.changes] == ["made its data URL a source of type base64"]
    assert body["messages"][0]["content"][0]["source"]["type"] == "url"


@pytest.mark.parametrize("address", ["data:image/png,plain", "data:image/png;base64,!!!!", "ftp://a/b", 7])
def test_an_address_that_holds_no_picture_is_left_and_named(address):
    body = request({"type": "image", "source": {"type": "url", "url": address}})
    found = fit(body, OLD)
    assert (found.request, found.changes, found.ok) == (body, (), False)


@pytest.mark.parametrize("more", [b"", b"x", b"xy"])
@pytest.mark.parametrize("padding", ["=", "==", "===", "====", "========"])
def test_any_padding_is_made_the_right_one(more, padding):
    text = base64.b64encode(png(40, 30) + more).decode()
    found = fit(request(block(text.rstrip("=") + padding)), OLD)
    assert found.ok
    assert found.request["messages"][0]["content"][0]["source"]["data"] == text


def test_a_transformation_nobody_knows_is_named_and_not_taken_for_a_wish_to_shrink():
    body = request(block(file_of(size=(1920, 1080)), transformations="error"))
    found = fit(body, OLD)
    assert not found.ok
    assert found.request == body
    assert [problem.rule for problem in found.blocking] == ["transformation"]


@pytest.mark.parametrize("name", ["photo.jpg", "C:\\pictures\\a b.PNG", "/tmp/x/y.webp", Path("photo.jpg")])
def test_a_file_name_is_told_to_look_like_one(name):
    with pytest.raises(InvalidArgumentError, match=r"looks like a file name.*read_bytes"):
        fit(name, OLD)


@pytest.mark.parametrize("words", ["hello", "", "[1]", '{"messages": "a.jpg"}'])
def test_what_is_no_request_is_not_taken_for_a_file_name(words):
    with pytest.raises(InvalidRequestError):
        fit(words, OLD)


@pytest.mark.parametrize("frames", [1, 2])
def test_a_lossless_webp_that_is_written_with_loss_is_said_to_lose(frames):
    lost = "lost fine detail, which image/webp does not keep"
    for lossless in (True, False):
        shots = [Image.new("RGB", (2000, 60), (90 * number, 0, 0)) for number in range(frames)]
        file = io.BytesIO()
        shots[0].save(file, "WEBP", save_all=frames > 1, append_images=shots[1:], lossless=lossless)
        assert (lost in fit(file.getvalue(), OLD).done) == lossless
