"""``ctxlab diff``: requests side by side in render order, and what is said of files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxlab import cli
from ctxlab.commands.diff import diff
from ctxlab.report import objects

EXAMPLES = Path(__file__).parent.parent / "data" / "breakers" / "examples"
MARK = {"type": "ephemeral"}
RULES = "Answer from the handbook and name the page. " * 200


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def request(turns=1, system=RULES, names="abc", **more):
    said = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"turn {at}"} for at in range(turns)]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    marked = [{"type": "text", "text": system, "cache_control": MARK}]
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 9,
        "tools": tools,
        "system": marked,
        "messages": said,
        **more,
    }


def save(name, *bodies):
    text = "\n".join(json.dumps(body) for body in bodies)
    Path(name).write_text(text + "\n", encoding="utf-8")
    return name


def run(capsys, *words):
    code = cli.run(["diff", *words])
    return code, *capsys.readouterr()


def test_two_strips_one_above_the_other_the_pin_the_price_and_what_survives(capsys):
    code, shown, _ = run(capsys, str(EXAMPLES / "turn-1.json"), str(EXAMPLES / "turn-2.json"))
    first, second, pin = shown.splitlines()[:3]
    assert code == 1
    assert first.startswith("turn-1.json [")
    assert second.startswith("turn-2.json [")
    assert first.index("!") == second.index("!") == pin.index("^")
    (told,) = diff([EXAMPLES / "turn-1.json", EXAMPLES / "turn-2.json"]).details["pairs"]
    assert f"survives: {told['survives']}" in shown
    assert f"{told['lost_tokens']:,} tokens, $" in shown
    assert "CTX203 confirmed" in shown


def test_the_naive_diff_points_elsewhere_and_the_command_says_so(capsys):
    _, shown, _ = run(capsys, str(EXAMPLES / "turn-1.json"), str(EXAMPLES / "turn-2.json"))
    assert "a diff of sorted dumps: differ first in 'messages'; the prefix parts in 'tools'" in shown


def test_a_difference_of_key_order_is_one_the_naive_diff_cannot_see(capsys):
    call = {"type": "tool_use", "id": "t1", "name": "a", "input": {"page": 1, "part": 2}}
    other = {**call, "input": {"part": 2, "page": 1}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}
    for name, one in (("a.json", call), ("b.json", other)):
        body = request()
        body["messages"] += [{"role": "assistant", "content": [one]}, result]
        body["messages"][-1]["content"][0]["cache_control"] = MARK
        save(name, body)
    code, shown, _ = run(capsys, "a.json", "b.json")
    assert code == 1
    assert "a diff of sorted dumps: identical; it cannot see what broke" in shown
    assert "CTX201" in shown


@pytest.mark.parametrize(
    "later",
    [request(3), request(1), request(3, system=RULES) | {"metadata": {"user_id": "u"}}],
    ids=["appended turns", "the same again", "metadata"],
)
def test_what_breaks_nothing_is_clean(capsys, later):
    code, shown, _ = run(capsys, save("a.json", request()), save("b.json", later))
    assert code == 0
    assert "survives: everything" in shown
    assert "!" not in shown


def test_three_requests_are_two_pairs(capsys):
    names = [save(f"{at}.json", request(2 * at + 1, names="abc" if at < 2 else "acb")) for at in range(3)]
    code, shown, _ = run(capsys, *names)
    assert code == 1
    assert shown.count("survives: ") == 2
    assert "survives: everything" in shown


def test_one_file_may_hold_the_whole_session(capsys):
    code, shown, _ = run(capsys, save("s.jsonl", request(), {"request": request(3)}))
    assert code == 0
    assert "s.jsonl: line 1" in shown
    Path("list.json").write_text(json.dumps([request(), request(3)]), encoding="utf-8")
    assert run(capsys, "list.json")[0] == 0


def test_two_models_are_said_to_be_two_models(capsys):
    names = save("a.json", request()), save("b.json", request(model="claude-opus-4-8"))
    code, shown, _ = run(capsys, *names)
    assert code == 1
    assert "CTX301" in shown


def test_a_model_nobody_lists_has_no_price_and_that_is_said(capsys):
    names = [
        save(f"{at}.json", request(model="house-model", names=order)) for at, order in enumerate(("ab", "ba"))
    ]
    code, shown, _ = run(capsys, *names)
    assert code == 1
    assert "at a price nobody lists" in shown
    assert "$" in run(capsys, *names, "--model", "claude-opus-5-5")[1]


def test_an_unknown_model_asked_for_is_an_error_with_the_nearest(capsys):
    code, _, told = run(
        capsys, save("a.json", request()), save("b.json", request(3)), "--model", "claude-opus-55"
    )
    assert code == 2
    assert "claude-opus-5-5" in told


def test_the_object_holds_every_pair_with_its_figures(capsys):
    code, shown, told = run(capsys, str(EXAMPLES / "turn-1.json"), str(EXAMPLES / "turn-2.json"), "--json")
    answer = json.loads(shown)
    (pair,) = answer["details"]["pairs"]
    assert (code, answer["exit_code"]) == (1, 1)
    assert pair["first_difference"]["path"] == "tools[1]"
    assert pair["sorted_dumps"] == {"identical": False, "field": "messages"}
    assert "1 confirmed" in told
    assert answer == json.loads(
        json.dumps(objects.as_object(diff([EXAMPLES / "turn-1.json", EXAMPLES / "turn-2.json"])))
    )


# --- files that are no requests


def broken(name):
    good = json.dumps(request())
    contents = {
        "missing": None,
        "empty": b"",
        "truncated": good.encode()[:-40],
        "not json": b"hello",
        "not utf-8": b'{"messages": "\xff"}',
        "binary": bytes(range(256)),
        "a list of nothing": b"[]",
        "no request": b'{"name": "ctxlab", "version": 1}',
        "a number": b"3",
        "nan": good.replace('"max_tokens": 9', '"max_tokens": NaN').encode(),
        "nested without end": b"[" * 100_000,
        "a wrong role": json.dumps(request() | {"messages": [{"role": 3, "content": "x"}]}).encode(),
    }
    if contents[name] is not None:
        Path("bad.json").write_bytes(contents[name])
    return "bad.json"


@pytest.mark.parametrize(
    "name",
    [
        *("missing", "empty", "truncated", "not json", "not utf-8", "binary", "a list of nothing"),
        *("no request", "a number", "nan", "nested without end", "a wrong role"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_others_are_compared(capsys, name):
    names = save("a.json", request()), broken(name), save("c.json", request(3, names="acb"))
    code, shown, _ = run(capsys, *names)
    assert code == 2
    assert "not read bad.json" in shown
    assert "CTX203" in shown
    assert "2 files read, 1 skipped" in shown
    assert "Traceback" not in shown


def test_a_folder_is_no_request(capsys, folder):
    (folder / "requests.json").mkdir()
    code, shown, _ = run(capsys, save("a.json", request()), "requests.json")
    assert code == 2
    assert "requests.json: is a folder" in shown


def test_one_readable_request_of_two_is_no_clean_result(capsys):
    code, shown, _ = run(capsys, save("a.json", request()), broken("truncated"))
    assert code == 2
    assert "ends in the middle" in shown
    assert "1 file read, 1 skipped" in shown


def test_one_request_alone_is_an_error(capsys):
    code, _, told = run(capsys, save("a.json", request()))
    assert code == 2
    assert "[two-requests]" in told


def test_a_byte_order_mark_is_no_obstacle(capsys):
    Path("a.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(request()).encode())
    assert run(capsys, "a.json", save("b.json", request(3)))[0] == 0


def test_names_are_cut_to_what_tells_them_apart(capsys, folder):
    for name in ("monday", "tuesday"):
        (folder / name).mkdir()
        save(f"{name}/request.json", request())
    _, shown, _ = run(capsys, "monday/request.json", "tuesday/request.json")
    assert shown.startswith("monday/request.json  [")
