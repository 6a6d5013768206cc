"""Promises of ``ctxlab images``: one table, every problem with its place, and an exit code for scripts."""

from __future__ import annotations

import json

import pytest

from ctxlab import cli
from ctxlab.catalogue import get_model
from ctxlab.images import image_cost, image_tokens
from ctxlab.places import data_path
from tests.made_images import block, gif, gif_frame, jpeg, png, request, turned_jpeg

OLD = "claude-sonnet-4-5"


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Run ``ctxlab images`` in a folder with these files; exit code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def run(*words, **files):
        for name, content in files.items():
            path = tmp_path / name.replace("__", ".")
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        code = cli.run(["images", *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_a_table_has_sizes_tokens_and_dollars_of_both_tiers(ask):
    code, out, _ = ask("shot.png", shot__png=png(1920, 1080))
    row = next(line for line in out.splitlines() if line.startswith("shot.png"))
    cells = [cell.strip() for cell in row.split("|")]
    cost = image_cost(1920, 1080, "claude-opus-5-5")
    assert cells == [
        "shot.png",
        "png",
        "1920 x 1080",
        "1456 x 819",
        "1,560",
        "1920 x 1080",
        "2,691",
        f"{cost.usd_per_turn:f}",
        f"{cost.cached_usd_per_turn:f}",
        "–",
    ]
    assert code == 0


def test_dollars_are_those_of_the_model_that_is_named(ask):
    code, out, _ = ask("shot.png", "--model", OLD, "--json", shot__png=png(1920, 1080))
    (row,) = json.loads(out)["files"]
    assert row["usd_per_turn"] == f"{image_cost(1920, 1080, OLD).usd_per_turn:f}"
    assert row["tokens"] == {"standard": 1560, "high-res": 2691}
    assert (code, row["problems"]) == (0, [])


def test_a_photo_on_its_side_is_shown_upright(ask):
    _, out, _ = ask("a.jpg", a__jpg=turned_jpeg(4032, 3024, 6))
    assert "3024 x 4032" in out


def test_a_picture_that_would_be_refused_exits_with_1_and_says_why(ask):
    code, out, _ = ask("page.png", "ok.png", "--model", OLD, page__png=png(3810, 18152), ok__png=png(9, 9))
    assert code == 1
    assert "refused: page.png: is 3810 x 18152 pixels: 18152 > 8000" in out
    assert "note: page.png" in out
    assert "329 x 1568" in out
    assert "ok.png: " not in out


@pytest.mark.parametrize("name", ["a.svg", "a.png"])
def test_a_file_that_is_no_picture_is_named_in_the_table(ask, name):
    code, out, _ = ask(name, **{name.replace(".", "__"): b"<svg xmlns='http://www.w3.org/2000/svg'/>"})
    assert code == 1
    assert "SVG" in out
    assert "unsupported-type" in out


def test_an_empty_file_is_one_that_has_no_bytes(ask):
    code, out, _ = ask("a.png", a__png=b"")
    assert code == 1
    assert "has no bytes" in out


def test_a_name_that_tells_another_type_is_told_and_refuses_nothing(ask):
    code, out, _ = ask("a.png", "b.jpeg", a__png=jpeg(9, 9), b__jpeg=jpeg(9, 9))
    assert code == 0
    assert out.count("whatever its name says") == 1
    assert "declare it as image/jpeg" in out


def test_an_animation_is_a_note(ask):
    code, out, _ = ask("a.gif", a__gif=gif(9, 9, gif_frame(), gif_frame()))
    assert (code, "2 frames" in out) == (0, True)


def test_files_that_fit_alone_and_not_together_are_a_note(ask):
    names = [f"{number}.png" for number in range(21)]
    files = {name.replace(".", "__"): png(2400, 100) for name in names}
    code, out, _ = ask(*names, **files)
    assert code == 0
    assert "in one request these 21 would be refused" in out
    _, out, _ = ask(*names[:20])
    assert "in one request" not in out


def test_the_platform_decides_what_is_too_large(ask):
    data = png(9, 9) + bytes(5_000_000)
    assert ask("a.png", a__png=data)[0] == 0
    code, out, _ = ask("a.png", "--platform", "bedrock")
    assert code == 1
    assert "5,242,880" in out


@pytest.mark.parametrize(
    "words",
    [
        ["nowhere.png"],
        ["."],
        [],
        ["a.png", "--model", "claude-opus-9"],
        ["a.png", "--platform", "azure"],
        ["--request", "nowhere.json"],
        ["--request", "."],
        ["--request", "a.png"],
        ["--request", "list.json"],
    ],
)
def test_wrong_words_and_files_exit_with_2_and_name_the_place(ask, words):
    try:
        code, _, err = ask(*words, a__png=png(9, 9), list__json=[1, 2])
    except SystemExit as left:
        code, err = left.code, "usage"
    assert code == 2
    assert err
    assert "Traceback" not in err


def test_files_and_a_request_at_once_are_refused(ask):
    with pytest.raises(SystemExit) as left:
        ask("a.png", "--request", "b.json")
    assert left.value.code == 2


# --- requests


def test_a_sound_request_is_a_table_and_a_verdict(ask):
    result = {"type": "tool_result", "tool_use_id": "t", "content": [block(png(640, 480))]}
    code, out, _ = ask("--request", "r.json", r__json=request(block(png(1920, 1080)), result))
    assert code == 0
    assert "messages[0].content[1].content[0] | base64 | 640 x 480" in out
    total = image_tokens(1920, 1080, "claude-opus-5-5") + 414
    assert f"r.json: no picture is in the way; 2 pictures, {total:,} tokens (high-res, api)" in out


def test_a_request_with_a_bad_picture_exits_with_1_and_names_it(ask):
    body = request(block(png(9, 9)), block(jpeg(9, 9)), model=OLD)
    code, out, _ = ask("--request", "r.json", r__json=body)
    assert code == 1
    assert (
        "refused: messages[0].content[1].source.media_type: is image/png, and the bytes are image/jpeg" in out
    )
    assert "refused, 1 problem in the way" in out


def test_a_pre_flight_as_json_has_every_figure(ask):
    far = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    code, out, _ = ask(
        "--request", "r.json", "--json", "--model", OLD, r__json=request(far, block(png(9, 9)))
    )
    (one,) = json.loads(out)["requests"]
    assert code == 0
    assert (one["ok"], one["tier"], one["low_tokens"], one["high_tokens"]) == (True, "standard", 2, 1569)
    assert [problem["rule"] for problem in one["problems"]] == ["size-unknown"]
    assert one["images"][1]["size"] == [9, 9]


def test_many_requests_are_checked_one_by_one(ask):
    lines = [request(block(png(9, 9))), request(block(png(9001, 9)))]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    code, out, _ = ask("--request", "r.jsonl", r__jsonl=data)
    assert code == 1
    assert out.count("no picture is in the way") == 1
    assert out.count("refused, 1 problem") == 1


def test_the_samples_of_the_lessons_pass(ask):
    files = [str(path) for path in sorted(data_path("images").iterdir()) if path.suffix in (".png", ".jpg")]
    assert ask(*files, "--model", get_model(OLD).id)[0] == 0


def test_a_request_without_a_model_is_told_how_to_name_one(ask):
    body = request(block(png(9, 9)))
    del body["model"]
    code, _, err = ask("--request", "r.json", r__json=body)
    assert code == 2
    assert "r.json" in err
    assert "--model" in err
    assert ask("--request", "r.json", "--model", OLD)[0] == 0


def test_an_empty_object_has_no_keys_and_another_one_has_its_own(ask):
    assert "it has no keys" in ask("--request", "r.json", r__json={})[2]
    assert "it has the keys 'a'" in ask("--request", "r.json", r__json={"a": 1})[2]
