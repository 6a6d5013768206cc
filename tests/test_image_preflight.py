"""Promises of ctxlab.images.preflight: every refusal is foreseen, with its place, and nothing else is."""

from __future__ import annotations

import base64
import copy
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ctxlab import validity
from ctxlab.catalogue import get_model
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, UnknownModelError
from ctxlab.images import (
    PLATFORMS,
    TIERS,
    check_images,
    image_tokens,
    max_pictures,
    max_side_pixels,
    platform_of,
    preflight,
)
from tests import made_images as made
from tests.made_images import block, gif, gif_frame, jpeg, png, request

OLD = "claude-sonnet-4-5"


def result(*parts):
    return {"type": "tool_result", "tool_use_id": "t1", "content": list(parts)}


def text(value):
    return {"type": "text", "text": value}


def told(body, *more, **how):
    return [(problem.path, problem.rule, problem.blocking) for problem in check_images(body, *more, **how)]


# --- sound requests


@pytest.mark.parametrize("make", made.MAKERS)
def test_a_sound_picture_has_no_problem_wherever_it_stands(make):
    picture = block(make(640, 480), made.MAKERS[make])
    inside = {"type": "document", "source": {"type": "content", "content": [picture]}}
    body = request(text("Look."), picture, result(text("shot"), picture), inside, result(inside))
    assert check_images(body) == []
    assert [one.path for one in preflight(body).images] == [
        "messages[0].content[1]",
        "messages[0].content[2].content[1]",
        "messages[0].content[3].source.content[0]",
        "messages[0].content[4].content[0].source.content[0]",
    ]


def test_a_request_without_pictures_has_none():
    found = preflight({"model": OLD, "messages": [{"role": "user", "content": "Hello"}]})
    assert (found.images, found.problems, found.tokens, found.ok) == ((), (), (0, 0), True)


def test_pictures_are_counted_by_their_pixels_and_not_by_the_size_of_the_file():
    small, padded = png(1920, 1080), png(1920, 1080) + bytes(2_000_000)
    for model, tokens in ((OLD, 1560), ("claude-opus-5-5", 2691)):
        for data in (small, padded):
            assert preflight(request(block(data), result(block(data))), model).tokens == (2 * tokens,) * 2


def test_a_small_and_a_large_picture_in_one_message_have_different_figures():
    small, large = preflight(request(block(png(64, 64)), block(png(4000, 3000)))).images
    assert (small.low_tokens, small.high_tokens) == (9, 9)
    assert large.low_tokens == large.high_tokens == image_tokens(4000, 3000, tier="high-res")


def test_a_photo_on_its_side_is_measured_upright():
    (one,) = preflight(request(block(made.turned_jpeg(4032, 3024, 6), "image/jpeg")), OLD).images
    assert one.size == (3024, 4032)
    assert one.low_tokens == 1564


def test_the_model_is_the_requests_own_unless_another_is_named():
    body = request(block(png(1920, 1080)))
    assert preflight(body).tier.name == "high-res"
    assert preflight(body, OLD).tier.name == "standard"
    assert preflight({**body, "model": "mystery"}, tier="standard").tier.name == "standard"
    with pytest.raises(UnknownModelError):
        check_images({**body, "model": "mystery"})


def test_json_text_and_sdk_objects_are_read_like_dicts():
    body = request(block(png(9, 9), "image/gif"))
    expected = check_images(body)

    class Message:
        def to_dict(self):
            return body["messages"][0]

    assert expected
    assert check_images(json.dumps(body)) == check_images(json.dumps(body).encode()) == expected
    assert check_images({**body, "messages": [Message()]}) == expected


def test_nothing_is_changed():
    body = request(block("", "image/jpg"), result(block(png(9, 9), "image/gif")), text("x"))
    before = copy.deepcopy(body)
    check_images(body)
    assert body == before


# --- types


@pytest.mark.parametrize("declared", ["image/jpg", "jpeg", ".png", "IMAGE/JPEG", "image/bmp", "", 7, None])
def test_a_type_the_api_does_not_take_is_told_the_one_the_bytes_have(declared):
    (problem,) = check_images(request(block(made.jpeg(9, 9), declared)))
    assert (problem.path, problem.rule) == ("messages[0].content[0].source.media_type", "media-type")
    assert problem.fix == "write image/jpeg"


def test_where_the_bytes_are_no_picture_either_the_four_types_are_told():
    types, data = check_images(request(block(b"<svg/>", "image/svg+xml")))
    assert "image/jpeg, image/png, image/gif, image/webp" in types.fix
    assert data.rule == "unsupported-type"


def test_a_missing_type_is_missing():
    body = request(block(png(9, 9)))
    del body["messages"][0]["content"][0]["source"]["media_type"]
    (problem,) = check_images(body)
    assert "is missing" in problem.message


def test_a_jpeg_called_png_is_told_with_both_types():
    (problem,) = check_images(request(text("a.png"), block(jpeg(9, 9), "image/png")))
    assert problem.rule == "media-type-mismatch"
    assert problem.path == "messages[0].content[1].source.media_type"
    assert "image/png" in problem.message
    assert "image/jpeg" in problem.message + problem.fix


@pytest.mark.parametrize(
    ("data", "rule", "named"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unsupported-type", "SVG"),
        (b"BM" + bytes(60), "unsupported-type", "BMP"),
        (b"II*\0" + bytes(60), "unsupported-type", "TIFF"),
        (bytes(4) + b"ftypheic" + bytes(60), "unsupported-type", "HEIC"),
        (bytes(4) + b"ftypavif" + bytes(60), "unsupported-type", "AVIF"),
        (b"%PDF-1.7", "unsupported-type", "PDF"),
        (base64.b64encode(png(9, 9)), "unsupported-type", "base64 text"),
        (png(9, 9)[:20], "unreadable-header", "damaged"),
        (png(0, 9), "zero-size", "0 x 9"),
    ],
)
def test_what_is_no_picture_is_named_and_counted_at_the_tiers_most(data, rule, named):
    found = preflight(request(result(block(data))), OLD)
    (problem,) = found.problems
    assert (problem.path, problem.rule, problem.blocking) == (
        "messages[0].content[0].content[0].source.data",
        rule,
        True,
    )
    assert named in problem.message
    assert "counted as 1568" in problem.message
    assert found.tokens == (1, 1568)


# --- base64


@pytest.mark.parametrize(
    ("data", "rule", "says"),
    [
        ("", "empty-image", "no bytes"),
        ("not base64!", "base64", "not base64"),
        ("data:image/png;base64," + base64.b64encode(png(9, 9)).decode(), "base64", "data URL"),
        ("https://example.org/a.png", "base64", "an address"),
        (base64.encodebytes(png(9, 9)).decode(), "base64", "line breaks"),
        (base64.urlsafe_b64encode(jpeg(9, 9) + b"\xff\xff\xfe").decode(), "base64", "variant for addresses"),
        (base64.b64encode(png(9, 9) + b"xy").decode().rstrip("="), "base64", "= signs"),
        ("äöü", "base64", "not base64"),
        (png(9, 9), "base64", "is bytes"),
        (None, "base64", "is NoneType"),
        (7, "base64", "is int"),
    ],
)
def test_data_that_is_no_base64_is_told_why(data, rule, says):
    body = request({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    problems = check_images(body)
    assert [(problem.path, problem.rule) for problem in problems] == [
        ("messages[0].content[0].source.data", rule)
    ]
    assert says in problems[0].message


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_limit_is_on_the_base64_and_not_on_the_file(name):
    limits = PLATFORMS[name]
    start = png(9, 9)
    just = start + bytes(limits.max_image_bytes - len(start))
    assert check_images(request(block(just)), platform=name) == []
    ((path, rule, blocking),) = told(request(block(just + b"x")), platform=name)
    assert (path, rule, blocking) == ("messages[0].content[0].source.data", "encoded-size", True)


def test_six_megabytes_pass_on_one_platform_and_not_on_the_others():
    body = request(block(png(9, 9) + bytes(6_000_000)))
    assert [name for name in PLATFORMS if check_images(body, platform=name)] == ["bedrock", "google-cloud"]
    assert check_images(body, platform="vertex")


def test_pictures_pasted_as_text_are_counted_as_text_and_warned_about():
    data = base64.b64encode(png(1920, 1080) + bytes(2_000)).decode()
    url = f"data:image/png;base64,{data}"
    body = request(
        text(f"Look: {url} nice"),
        {"type": "tool_result", "tool_use_id": "t", "content": json.dumps({"screenshot": data})},
        result(text(data)),
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": url}},
        system=[text(url)],
    )
    body["messages"].append(
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": [url]}}],
        }
    )
    body["messages"].append({"role": "user", "content": url + url})
    found = preflight(body)
    assert [(problem.path, problem.rule) for problem in found.problems] == [
        (path, "base64-as-text")
        for path in (
            "system[0].text",
            "messages[0].content[0].text",
            "messages[0].content[1].content",
            "messages[0].content[2].content[0].text",
            "messages[0].content[3].source.data",
            "messages[1].content[0].input.a[0]",
            "messages[2].content",
        )
    ]
    assert found.ok
    assert f"{len(url):,} characters" in found.problems[0].message
    assert "2 pictures" in found.problems[-1].message
    assert found.images == ()


def test_base64_in_lines_and_inside_json_is_found_whole():
    lines = base64.encodebytes(png(1920, 1080) + bytes(2_000)).decode()
    for words in (
        lines,
        json.dumps({"shot": lines}),
        "data:image/webp;base64," + lines.replace("\n", "\r\n"),
    ):
        (problem,) = check_images(request(text(f"Look: {words}")))
        assert problem.rule == "base64-as-text"
        assert int(problem.message.split(" as ")[1].split()[0].replace(",", "")) >= len(lines) - 1


@pytest.mark.parametrize(
    "words",
    [
        "Write data:image/png;base64,... in front of it.",
        "A data URL starts like data:image/png;base64,iVBORw0KGgo=",
        "The path is /9j/abc and a long word " + "x" * 500,
        base64.b64encode(b"no picture at all " * 100).decode(),
        "data:text/plain;base64," + "QUJD" * 100,
        "sha512-" + "a/9j/" * 3,
    ],
)
def test_texts_about_pictures_are_left_alone(words):
    assert check_images(request(text(words))) == []


# --- sides


@pytest.mark.parametrize("size", [(8001, 10), (10, 8001), (60_000, 60_000)])
def test_a_side_above_eight_thousand_pixels_is_refused_even_alone(size):
    problems = check_images(request(block(png(*size))))
    assert [problem.rule for problem in problems if problem.blocking] == ["edge"]
    assert check_images(request(block(png(8000, 4500)))) != problems


def test_eight_thousand_pixels_are_not_refused():
    assert preflight(request(block(png(8000, 8000)))).ok


@pytest.mark.parametrize(
    ("model", "seen", "tokens"),
    [(OLD, "329 x 1568", 672), ("claude-opus-5-5", "541 x 2576", 1840)],
)
def test_a_full_page_capture_is_refused_and_would_be_unreadable_when_scaled(model, seen, tokens):
    found = preflight(request(block(png(3810, 18152))), model)
    edge, scaled = found.problems
    assert (edge.rule, edge.blocking, scaled.rule, scaled.blocking) == ("edge", True, "scaled-down", False)
    assert "18152 > 8000" in edge.message
    assert seen in edge.fix
    assert seen in scaled.message
    assert found.tokens == (tokens, tokens)


def test_a_picture_scaled_by_less_than_half_is_not_warned_about():
    assert check_images(request(block(png(1920, 1080))), OLD) == []
    assert [problem.rule for problem in check_images(request(block(png(3840, 2160))), OLD)] == ["scaled-down"]


def test_beside_twenty_others_no_side_may_exceed_two_thousand_pixels():
    wide, small = block(png(2400, 900)), block(png(100, 100))
    assert check_images(request(*[small] * 19, wide)) == []
    assert told(request(*[small] * 10, result(wide), *[small] * 10)) == [
        ("messages[0].content[10].content[0].source.data", "many-images", True)
    ]
    assert check_images(request(*[block(png(2000, 2000))] * 21)) == []


def test_pictures_of_earlier_turns_and_those_elsewhere_count_among_the_twenty():
    far = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    body = request(block(png(2001, 9)))
    body["messages"] += [{"role": "user", "content": [far] * 20}]
    blocking = [problem.rule for problem in check_images(body) if problem.blocking]
    assert blocking == ["many-images"]
    assert (max_side_pixels(20), max_side_pixels(21)) == (8000, 2000)


def test_a_picture_that_may_not_be_scaled_is_refused_with_the_size_that_fits():
    strict = {"transformations": {"oversized_image": "error"}}
    (problem,) = check_images(request(block(png(1920, 1080), **strict)), OLD)
    assert (problem.path, problem.rule) == ("messages[0].content[0].transformations", "oversized-image")
    assert "1456 x 819" in problem.fix
    assert check_images(request(block(png(1456, 819), **strict)), OLD) == []
    assert (
        check_images(request(block(png(1920, 1080), transformations={"oversized_image": "downsize"})), OLD)
        == []
    )
    assert check_images(request(block(png(1920, 1080), transformations={})), OLD) == []


# --- how many, how large


@pytest.mark.parametrize("model", [OLD, "claude-opus-5-5"])
def test_a_request_holds_a_hundred_or_six_hundred_pictures_and_documents(model):
    most = max_pictures(get_model(model).window_tokens)
    paper = {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}
    body = request(paper, *[block(png(9, 9))] * (most - 1))
    assert check_images(body, model) == []
    body["messages"].append({"role": "user", "content": [result(block(png(9, 9)))]})
    assert told(body, model) == [("messages[1].content[0].content[0]", "picture-count", True)]
    assert most == {OLD: 100, "claude-opus-5-5": 600}[model]


PICTURE = block(png(9, 9))
PAGES = {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
WORDS = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
ALBUM = {"type": "document", "source": {"type": "content", "content": [PICTURE, text("x"), PICTURE]}}
QUOTES = {"type": "document", "source": {"type": "content", "content": "only words"}}


@pytest.mark.parametrize(
    ("part", "counts"),
    [
        (PICTURE, 1),
        (PAGES, 1),
        (WORDS, 0),
        (QUOTES, 0),
        (ALBUM, 2),
        (result(PICTURE, WORDS, ALBUM, PAGES), 4),
        (text("x"), 0),
    ],
)
def test_each_picture_counts_once_and_a_document_by_its_pages_for_the_emulator_too(part, counts):
    most = max_pictures(get_model(OLD).window_tokens)
    for others in (most - counts, most - counts + 1):
        body = request(*[PICTURE] * others, part, model=OLD)
        ours = [problem for problem in check_images(body) if problem.rule == "picture-count"]
        judged = [problem for problem in validity.check(body, OLD) if problem.rule == "pictures"]
        assert bool(ours) == bool(judged) == (others + counts > most)


def test_a_request_above_the_platforms_size_is_refused_as_a_whole():
    body = request(*[block(png(9, 9) + bytes(3_900_000))] * 5)
    assert check_images(body, platform="google-cloud") == []
    (problem,) = check_images(body, platform="bedrock")
    assert (problem.path, problem.rule) == ("request", "request-size")
    assert preflight(json.dumps(body).encode()).request_bytes == len(json.dumps(body))


# --- animations, addresses, documents, other blocks


def test_an_animation_is_one_frame_to_the_model():
    body = request(block(gif(9, 9, gif_frame(), gif_frame(), gif_frame()), "image/gif"))
    (problem,) = check_images(body)
    assert (problem.rule, problem.blocking) == ("animation", False)
    assert "3 frames" in problem.message
    assert check_images(request(block(gif(9, 9), "image/gif"))) == []


@pytest.mark.parametrize(
    "source", [{"type": "url", "url": "https://example.org/a"}, {"type": "file", "file_id": "file_1"}]
)
@pytest.mark.parametrize("tier", TIERS)
def test_a_picture_elsewhere_has_a_band_and_is_not_refused(source, tier):
    found = preflight(request({"type": "image", "source": source}), tier=tier)
    (problem,) = found.problems
    assert (problem.path, problem.rule, problem.blocking) == (
        "messages[0].content[0].source",
        "size-unknown",
        False,
    )
    assert found.tokens == (1, TIERS[tier].max_tokens)


@pytest.mark.parametrize(
    ("source", "path", "rule"),
    [
        (None, "source", "source"),
        ("a.png", "source", "source"),
        ({}, "source.type", "source"),
        ({"type": "path", "path": "a.png"}, "source.type", "source"),
        ({"type": "url"}, "source.url", "source"),
        ({"type": "url", "url": "data:image/png;base64,AAAA"}, "source.url", "address"),
        ({"type": "url", "url": "a.png"}, "source.url", "address"),
        ({"type": "file", "file_id": ""}, "source.file_id", "source"),
    ],
)
def test_a_source_that_cannot_be_is_told_where(source, path, rule):
    assert told(request({"type": "image", "source": source})) == [
        (f"messages[0].content[0].{path}", rule, True)
    ]


@pytest.mark.parametrize("kind", ["image_url", "input_image"])
def test_blocks_of_another_api_are_named(kind):
    body = request({"type": kind, "image_url": {"url": "data:image/png;base64," + "A" * 999}})
    assert told(body) == [("messages[0].content[0].type", "block-type", True)]


def test_a_picture_in_system_is_refused():
    assert told(request(system=[block(png(9, 9))])) == [("system[0]", "system-image", True)]


@pytest.mark.parametrize(
    ("data", "rule"),
    [("", "empty-document"), ("!!!!", "base64"), (base64.b64encode(png(9, 9)).decode(), "not-a-pdf")],
)
def test_a_document_that_is_none_is_told(data, rule):
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    assert told(request(result({"type": "document", "source": source}))) == [
        ("messages[0].content[0].content[0].source.data", rule, True)
    ]
    source["data"] = base64.b64encode(b"%PDF-1.7\n").decode()
    assert check_images(request({"type": "document", "source": source})) == []


# --- one bad picture among good ones


def test_every_bad_picture_is_named_and_the_good_ones_are_not():
    good = block(png(100, 100))
    found = preflight(request(good, result(good, block(b"BM" + bytes(60))), good, block(png(9000, 9))))
    assert [problem.path for problem in found.blocking] == [
        "messages[0].content[1].content[1].source.data",
        "messages[0].content[3].source.data",
    ]
    assert not found.ok


# --- arguments


@pytest.mark.parametrize(
    "bad", [None, 7, [], "not json", b"\xff\xfe", {}, {"messages": "Hello"}, "[]", '{"messages": 3}']
)
def test_what_is_no_request_is_refused_with_a_place(bad):
    with pytest.raises(InvalidRequestError) as caught:
        check_images(bad, OLD)
    assert caught.value.problems[0].path


def test_a_request_nested_without_end_is_refused():
    deep = text("x")
    for _ in range(200):
        deep = result(deep)
    with pytest.raises(InvalidRequestError, match="nested"):
        check_images(request(deep))
    with pytest.raises(InvalidRequestError, match="nested"):
        check_images('{"messages":' + "[" * 100_000)


def test_an_unknown_platform_is_told_the_known_ones():
    with pytest.raises(InvalidArgumentError, match="bedrock"):
        check_images(request(), platform="azure")
    assert platform_of(PLATFORMS["aws"]) is PLATFORMS["aws"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "source", "data", "url", "media_type", "content", "text", "input", "transformations"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
kinds = st.sampled_from(["image", "document", "tool_result", "text", "tool_use", "image_url"])
odd_blocks = st.builds(
    lambda kind, more: {**more, "type": kind},
    kinds,
    st.dictionaries(
        st.sampled_from(["source", "content", "text", "input", "transformations"]), values, max_size=3
    ),
)


@given(st.lists(odd_blocks | values, max_size=4), values)
def test_blocks_of_any_kind_raise_nothing(content, system):
    for problem in check_images(request(*content, system=system)):
        assert problem.path
        assert problem.rule
        assert problem.message


@given(
    st.lists(st.sampled_from([png(64, 64), png(4000, 3000), jpeg(9, 9), b"BM" + bytes(60), b""]), max_size=5)
)
def test_low_never_exceeds_high_and_every_unreadable_picture_is_told(datas):
    found = preflight(request(*[block(data) for data in datas]))
    assert all(1 <= one.low_tokens <= one.high_tokens <= 4784 for one in found.images)
    unread = {f"{one.path}.source.data" for one in found.images if one.header is None}
    assert unread <= {problem.path for problem in found.problems}


# --- texts and fields around pictures


def test_half_a_character_anywhere_is_told_with_its_place_and_pictures_still_are():
    body = request(
        text("half \ud83d"),
        block("", "image/png"),
        system="\udc00",
        tools=[{"name": "f", "description": "\udfff"}],
    )
    body["metadata"] = {"user_\ud800": "u"}
    found = told(body)
    assert {path for path, rule, _ in found if rule == "lone-surrogate"} == {
        "system",
        "messages[0].content[0].text",
        "tools[0].description",
        "metadata.user_\\ud800",
    }
    assert ("messages[0].content[1].source.data", "empty-image", True) in found
    assert told(json.dumps(body)) == told(json.dumps(body).encode()) == found
    for problem in check_images(body):
        str(problem).encode()


def test_a_whole_character_beyond_the_first_plane_is_none():
    assert check_images(request(text("whole \U0001f600"), system="\ue000")) == []


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("error", ""),
        (["error"], ""),
        (7, ""),
        ({"oversized_image": "crop"}, ".oversized_image"),
        ({"oversized_image": None}, ".oversized_image"),
        ({"oversized_image": ["error"]}, ".oversized_image"),
        ({"oversize_image": "error"}, ".oversize_image"),
    ],
)
def test_a_transformation_that_is_none_is_told_whatever_the_picture(wanted, place):
    far = {"type": "image", "source": {"type": "file", "file_id": "f"}, "transformations": wanted}
    for part in (block(png(9, 9), transformations=wanted), far, result(far)):
        paths = [
            path for path, rule, blocking in told(request(part)) if rule == "transformation" and blocking
        ]
        assert [path.partition(".transformations")[2] for path in paths] == [place]


@pytest.mark.parametrize("wanted", [None, {}, {"oversized_image": "error"}, {"oversized_image": "downsize"}])
def test_a_transformation_that_there_is_is_not_told(wanted):
    assert check_images(request(block(png(9, 9), transformations=wanted))) == []


def test_a_data_url_is_told_however_it_is_written():
    for start in ("data:", "DATA:"):
        assert [rule for _, rule, _ in told(request(block(f"{start}image/png;base64,AAAA")))] == ["base64"]


SOUND = b"RIFF" + (3000).to_bytes(4, "little") + b"WAVEfmt " + bytes(range(256)) * 8
PATHS = "/9j/" + "2024/projects/alpha/build/output/" * 12


@pytest.mark.parametrize(
    "words",
    [
        base64.b64encode(SOUND).decode(),
        PATHS,
        "/9j/4fa85f64/5717/4562/b3fc/2c963f66afa6/" * 8,
        "/9j/photos" + "abcdefghij" * 40,
        "/9j/" + "A" * 400,
    ],
)
def test_a_sound_or_a_path_is_no_pasted_picture(words):
    assert check_images(request(text(f"see {words} please"))) == []


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "WEBP"])
def test_a_real_picture_of_any_kind_is_a_pasted_one(form):
    file = io.BytesIO()
    Image.effect_noise((60, 60), 90).convert("RGB").save(file, form)
    data = base64.b64encode(file.getvalue()).decode()
    lines = "\n".join(data[start : start + 76] for start in range(0, len(data), 76))
    for words in (data, lines, json.dumps({"shot": lines}), data[:600]):
        assert [rule for _, rule, _ in told(request(text(words)))] == ["base64-as-text"]


def test_pasted_jpegs_with_large_metadata_are_found():
    data = made.turned_jpeg(640, 480, 6, behind=bytes(9_000))
    assert [rule for _, rule, _ in told(request(text(base64.b64encode(data).decode())))] == ["base64-as-text"]


def test_no_message_has_a_place_in_memory():
    odd = object()
    blocks = [
        {"type": "image", "source": odd},
        {"type": "image", "source": {"type": odd}},
        {"type": "image", "source": {"type": "url", "url": odd}},
        {"type": "image", "source": {"type": "base64", "media_type": odd, "data": odd}},
        block(png(9, 9), transformations=odd),
    ]
    found = check_images(request(*blocks))
    assert len(found) >= len(blocks)
    assert not [problem for problem in found if " at 0x" in str(problem)]


@pytest.mark.parametrize("more", [b"", b"x", b"xy"])
def test_padding_that_is_too_much_is_told_and_the_right_one_is_not(more):
    data = base64.b64encode(png(9, 9) + more).decode()
    assert check_images(request(block(data))) == []
    for excess in ("=", "====", "========"):
        (problem,) = check_images(request(block(data + excess)))
        assert (problem.rule, "too many = signs" in problem.message) == ("base64", True)


@pytest.mark.parametrize("quality", [5, 20, 60, 95])
@pytest.mark.parametrize("how", [{}, {"progressive": True}, {"exif": b"Exif\0\0" + made.exif(6)}])
def test_jpegs_of_every_quality_are_found_although_the_coarse_ones_have_many_slashes(quality, how):
    file = io.BytesIO()
    Image.effect_noise((40, 40), 90).convert("RGB").save(file, "JPEG", quality=quality, **how)
    data = base64.b64encode(file.getvalue()).decode()
    lines = "\r\n".join(data[start : start + 76] for start in range(0, len(data), 76))
    for words in (data, data[:250], lines, json.dumps(json.dumps([lines])), data.replace("+", "-")):
        assert [rule for _, rule, _ in told(request(text(words)))] == ["base64-as-text"]


@given(
    st.text("/9j4=-_\\n\nA+x2EwUklGRXUQJ", min_size=0, max_size=400),
    st.sampled_from(["/9j/4", "UklGR", "/9j/2"]),
)
def test_no_text_that_begins_like_a_picture_stops_the_look(words, start):
    assert {rule for _, rule, _ in told(request(text(start + words)))} <= {"base64-as-text"}
