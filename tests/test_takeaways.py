"""Promises of ctxlab.takeaways: counts and digests on paper, never a word of the learner's own text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxlab import places
from ctxlab.checks import lesson_03, lesson_10
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, RecordingError
from ctxlab.recordings import session
from ctxlab.takeaways import (
    bill_page,
    break_even_sheet,
    image_check,
    marker_plan,
    prefix_guard,
    true_bill_page,
    window_map,
)

ROOT = Path(places.__file__).parent.parent

SECRET = "a sentence that must stay at home"
USAGE = {"input_tokens": 5, "output_tokens": 1}
REQUEST = {
    "model": "claude-opus-5-5",
    "system": [{"type": "text", "text": SECRET, "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": SECRET}, {"role": "assistant", "content": "Yes."}],
}


def logged(name: str, **usage: object) -> str:
    figures = {"input_tokens": 0, "output_tokens": 0, **usage}
    return json.dumps(
        {"message": {"id": name, "model": "claude-opus-4-5", "usage": figures, "content": SECRET}}
    )


def test_the_window_map_counts_each_part_and_shows_no_text(tmp_path):
    page = tmp_path / "window-map.md"
    shown = window_map(REQUEST, write_to=page)
    assert [line.split("|")[1].strip() for line in shown.text.splitlines()[2:]] == ["0", "1", "2"]
    written = page.read_text(encoding="utf-8")
    assert SECRET not in written + shown.text + shown.html
    assert "`system[0]`" in written


def test_the_window_map_names_what_is_sent_twice_and_only_that(tmp_path):
    page = tmp_path / "map.md"
    window_map(REQUEST, write_to=page)
    twice = page.read_text(encoding="utf-8").split("## Sent more than once")[1].split("##")[0]
    assert "`system[0]`" in twice
    assert "`messages[0].content`" in twice
    assert "messages[1]" not in twice


def test_the_window_map_reads_a_file_as_it_reads_a_dict(tmp_path):
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST), encoding="utf-8")
    assert window_map(path).text == window_map(REQUEST).text


def test_the_window_map_names_the_file_it_read_and_a_request_in_hand_has_no_name(tmp_path):
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST), encoding="utf-8")
    assert window_map(path).caption == "What request.json is made of"
    assert window_map(f" {path}\n").caption == "What request.json is made of"
    assert window_map(REQUEST).caption == "What this request is made of"


def test_a_path_from_the_home_folder_is_found(tmp_path, monkeypatch):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "request.json").write_text(json.dumps(REQUEST), encoding="utf-8")
    assert window_map("~/request.json").text == window_map(REQUEST).text


OF_A_REQUEST = (window_map, marker_plan, image_check, break_even_sheet)
OF_A_LOG = (bill_page, break_even_sheet, true_bill_page)


@pytest.mark.parametrize("make", [*OF_A_REQUEST, bill_page, prefix_guard])
@pytest.mark.parametrize(
    "source", [None, 5, [], [{"role": "user", "content": "Hi"}], b"request.json", "", " ", "a\0b"]
)
def test_what_is_neither_in_hand_nor_a_path_is_refused_by_name(make, source):
    with pytest.raises(InvalidArgumentError) as refused:
        make(source)
    assert refused.value.problems[0].path == "source"
    assert refused.value.problems[0].rule.startswith("path-or-")


@pytest.mark.parametrize("make", OF_A_LOG)
def test_a_log_is_found_from_the_home_folder_on_and_one_that_is_not_there_is_named(
    make, tmp_path, monkeypatch
):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "log.jsonl").write_text(logged("a", input_tokens=5), encoding="utf-8")
    assert make("~/log.jsonl").text == make(tmp_path / "log.jsonl").text
    assert make(f'"{tmp_path}"\n').text == make(tmp_path).text  # as Windows copies a path
    for absent in ("~/absent.jsonl", "x" * 5_000 + ".jsonl"):
        with pytest.raises((RecordingError, InvalidArgumentError), match=absent[1:]):
            make(absent)


@pytest.mark.parametrize("make", OF_A_REQUEST)
def test_a_request_is_found_from_the_home_folder_on(make, tmp_path, monkeypatch):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "request.json").write_text(json.dumps(REQUEST), encoding="utf-8")
    assert make("~/request.json").text == make(REQUEST).text
    make(REQUEST, write_to="~/page.md")
    assert (tmp_path / "page.md").exists()


@pytest.mark.parametrize("make", OF_A_REQUEST)
@pytest.mark.parametrize("write_to", [5, [], "", b"page.md", "a\0b", "no such folder/page.md"])
def test_a_page_that_has_no_place_is_refused_by_name(make, write_to, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError) as refused:
        make(REQUEST, write_to=write_to)
    assert refused.value.problems[0].rule == "writable-file"


@pytest.mark.parametrize("write_to", [5, [], "", b"page.md", "a\0b", "here.txt"])
def test_what_is_no_folder_to_write_into_is_refused_by_name(write_to, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.txt").write_text("mine", encoding="utf-8")
    for make, source in ((prefix_guard, lesson_03.AGENT), (true_bill_page, {"usage": USAGE})):
        with pytest.raises(InvalidArgumentError) as refused:
            make(source, write_to=write_to)
        assert refused.value.problems[0].rule == "writable-folder"
    assert (tmp_path / "here.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(("messages", "told"), [(1, "1 file, 1 row read"), (2, "1 file, 2 rows read")])
def test_one_of_a_thing_is_told_as_one(messages, told, tmp_path):
    rows = [logged(name, input_tokens=5 * n) for n, name in enumerate("ab"[:messages], 1)]
    (tmp_path / "log.jsonl").write_text("\n".join(rows), encoding="utf-8")
    for make in (bill_page, break_even_sheet):
        make(tmp_path, write_to=tmp_path / "page.md")
        assert told in (page := (tmp_path / "page.md").read_text(encoding="utf-8"))
        assert not re.search(r"\b1 (files|rows|messages|requests|tokens)\b", page)


def test_a_request_that_cannot_be_read_is_named_and_nothing_is_written(tmp_path):
    page = tmp_path / "map.md"
    (tmp_path / "cut.json").write_text('{"messages": [', encoding="utf-8")
    with pytest.raises(InvalidRequestError, match=r"cut\.json:1:15"):
        window_map(tmp_path / "cut.json", write_to=page)
    with pytest.raises(InvalidArgumentError, match="readable-file"):
        window_map(tmp_path / "absent.json", write_to=page)
    assert not page.exists()


def test_a_bill_adds_up_to_its_lines_and_shows_no_text(tmp_path):
    rows = [logged("a", input_tokens=1_000_000, output_tokens=10), logged("b", input_tokens=1_000_000)]
    (tmp_path / "log.jsonl").write_text("\n".join(rows), encoding="utf-8")
    shown = bill_page(tmp_path, write_to=tmp_path / "bill.md")
    assert "$10.00" in shown.text
    assert "2 messages" in shown.text
    assert SECRET not in (tmp_path / "bill.md").read_text(encoding="utf-8")


def test_a_bill_says_what_it_read_and_what_it_had_to_pass_over(tmp_path):
    (tmp_path / "log.jsonl").write_text(logged("a", input_tokens=5) + "\n{broken", encoding="utf-8")
    shown = bill_page(tmp_path, write_to=tmp_path / "bill.md")
    for place in (shown.html, (tmp_path / "bill.md").read_text(encoding="utf-8")):
        assert "1 skipped (cannot be read" in place
        assert "log.jsonl:2" in place


def test_a_bill_that_passed_nothing_over_speaks_of_no_skipped_row(tmp_path):
    (tmp_path / "log.jsonl").write_text(logged("a", input_tokens=5), encoding="utf-8")
    assert "skipped" not in bill_page(tmp_path).html
    assert "skipped" not in bill_page(session("pi-mono/before-compaction")).html


def test_a_bill_calls_the_classes_what_the_lesson_calls_them(tmp_path):
    (tmp_path / "log.jsonl").write_text(logged("a", input_tokens=5), encoding="utf-8")
    assert [line.split("|")[1].strip() for line in bill_page(tmp_path).text.splitlines()[2:]] == [
        "fresh",
        "1 message",
    ]


def test_a_model_without_a_price_is_named_and_the_total_says_incomplete(tmp_path):
    row = logged("a", input_tokens=5).replace("claude-opus-4-5", "claude-new-9")
    (tmp_path / "log.jsonl").write_text(row + "\n" + logged("b", input_tokens=5), encoding="utf-8")
    shown = bill_page(tmp_path)
    assert "claude-new-9" in shown.text
    assert "unknown" in shown.text
    assert "incomplete" in shown.text


def test_messages_without_a_price_are_counted_with_every_token_of_every_step(tmp_path):
    steps = [{"type": "compaction", "input_tokens": 100_000, "output_tokens": 3_000}]
    rows = [
        logged("a", input_tokens=5, output_tokens=7),
        logged("b", iterations=steps),
    ]
    text = "\n".join(rows).replace("claude-opus-4-5", "claude-new-9")
    (tmp_path / "log.jsonl").write_text(text, encoding="utf-8")
    assert "all classes of 2 messages: unknown model | 103,012 |" in bill_page(tmp_path).text


def test_an_option_without_a_price_does_not_stop_the_bill(tmp_path):
    fast = json.loads(logged("a", input_tokens=1_000_000))
    fast["message"]["usage"]["speed"] = "fast"
    rows = [json.dumps(fast), logged("b", input_tokens=1_000_000)]
    (tmp_path / "log.jsonl").write_text("\n".join(rows), encoding="utf-8")
    shown = bill_page(tmp_path).text
    assert "1 message: no price for its speed or region" in shown
    assert "$5.00, incomplete" in shown


def test_searches_stand_in_the_bill_as_a_row(tmp_path):
    searched = logged("a", input_tokens=0, server_tool_use={"web_search_requests": 5})
    (tmp_path / "log.jsonl").write_text(searched, encoding="utf-8")
    assert "5 web searches" in bill_page(tmp_path).text
    (tmp_path / "log.jsonl").write_text(logged("a", input_tokens=1), encoding="utf-8")
    assert "search" not in bill_page(tmp_path).text


@pytest.mark.parametrize(("day", "dollars"), [("2026-10-06", "$0.20"), ("2026-10-07", "$0.10")])
def test_a_message_is_priced_by_the_list_of_its_day(tmp_path, day, dollars):
    row = json.loads(logged("a", cache_read_input_tokens=1_000_000))
    row["message"]["model"], row["timestamp"] = "claude-sonnet-5-5", f"{day}T12:00:00Z"
    (tmp_path / "log.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert bill_page(tmp_path).text.splitlines()[-1].endswith(dollars)
    assert true_bill_page(tmp_path).text.splitlines()[3].endswith(dollars)


@pytest.mark.parametrize("place", [".", "absent/bill.md"])
def test_a_page_that_cannot_be_written_is_an_error_that_names_it(tmp_path, place):
    (tmp_path / "log.jsonl").write_text(logged("a", input_tokens=5), encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="writable-file"):
        bill_page(tmp_path, write_to=tmp_path / place)
    with pytest.raises(InvalidArgumentError, match="writable-file"):
        marker_plan(REQUEST, write_to=tmp_path / place)


def test_a_complete_bill_does_not_say_incomplete(tmp_path):
    (tmp_path / "log.jsonl").write_text(logged("b", input_tokens=5), encoding="utf-8")
    assert "incomplete" not in bill_page(tmp_path).text


def test_output_that_a_recording_under_reports_is_not_billed():
    assert "output" not in bill_page(session("cli/session-375d5d79")).text
    assert "output" in bill_page(session("pi-mono/before-compaction")).text


def test_writes_of_unknown_lifetime_are_given_as_a_range(tmp_path):
    (tmp_path / "log.jsonl").write_text(logged("a", cache_creation_input_tokens=1_000_000), encoding="utf-8")
    bill_page(tmp_path, write_to=tmp_path / "bill.md")
    assert "between $6.25 and $10.00" in (tmp_path / "bill.md").read_text(encoding="utf-8")


def test_an_empty_folder_is_an_error_and_not_a_free_bill(tmp_path):
    with pytest.raises(RecordingError, match="holds no log"):
        bill_page(tmp_path, write_to=tmp_path / "bill.md")
    assert not (tmp_path / "bill.md").exists()


LONG = {
    "model": "claude-opus-5-5",
    "system": SECRET + " again" * 2_000,
    "messages": [{"role": "user", "content": SECRET}],
}


def test_a_marker_plan_names_places_and_reasons_and_shows_no_text(tmp_path):
    page = tmp_path / "marker-plan.md"
    shown = marker_plan(LONG, next_turns=9, gap_s=30, write_to=page)
    assert [line.split("|")[0].strip() for line in shown.text.splitlines()[2:]] == [
        "system[0]",
        "messages[0].content[0]",
    ]
    written = page.read_text(encoding="utf-8")
    assert SECRET not in written + shown.text + shown.html
    assert "`system[0]`: marked; 5m" in written
    assert written.split("## What the API would refuse today")[1].split("##")[0].strip() == "- nothing"


def test_a_marker_plan_reads_a_file_as_it_reads_a_dict_and_changes_neither(tmp_path):
    path = tmp_path / "request.json"
    path.write_text(json.dumps(LONG), encoding="utf-8")
    before = json.dumps(LONG)
    assert marker_plan(path).text == marker_plan(LONG).text
    assert json.dumps(LONG) == path.read_text(encoding="utf-8") == before


def test_a_marker_plan_says_what_the_api_would_refuse(tmp_path):
    mark = {"cache_control": {"type": "ephemeral"}}
    five = [{"type": "text", "text": f"{n}", **mark} for n in range(5)]
    marker_plan({**LONG, "messages": [{"role": "user", "content": five}]}, write_to=tmp_path / "plan.md")
    assert "[four-markers]" in (tmp_path / "plan.md").read_text(encoding="utf-8")


def test_a_request_that_nothing_follows_gets_no_marker_and_says_why(tmp_path):
    shown = marker_plan(LONG, next_turns=0, write_to=tmp_path / "plan.md")
    assert "marked" not in shown.text
    assert "paid for nothing" in (tmp_path / "plan.md").read_text(encoding="utf-8")


def test_a_marker_plan_of_a_broken_file_is_named_and_nothing_is_written(tmp_path):
    (tmp_path / "cut.json").write_text('{"messages": [', encoding="utf-8")
    with pytest.raises(InvalidRequestError, match=r"cut\.json:1:15"):
        marker_plan(tmp_path / "cut.json", write_to=tmp_path / "plan.md")
    with pytest.raises(InvalidArgumentError, match="readable-file"):
        marker_plan(tmp_path / "absent.json", write_to=tmp_path / "plan.md")
    assert not (tmp_path / "plan.md").exists()


# --- what keeps a prefix breaker out


def test_the_guard_lists_what_it_finds_and_writes_a_test_and_a_hook_once(tmp_path):
    folder = tmp_path / "to-work"
    shown = prefix_guard(lesson_03.AGENT, write_to=folder)
    assert "CTX202" in shown.text
    assert sorted(path.name for path in folder.iterdir()) == [
        "pre-commit-ctxlab.yaml",
        "test_prefix_stable.py",
    ]
    (folder / "test_prefix_stable.py").write_text("mine", encoding="utf-8")
    prefix_guard(lesson_03.AGENT, write_to=folder)
    assert (folder / "test_prefix_stable.py").read_text(encoding="utf-8") == "mine"


def test_the_written_test_passes_as_it_is_and_fails_for_an_agent_with_a_clock(tmp_path):
    prefix_guard(lesson_03.AGENT, write_to=tmp_path)
    guard = tmp_path / "test_prefix_stable.py"
    broken = guard.read_text(encoding="utf-8").replace(
        'system="Be brief."', 'system=f"Be brief. Asked {len(history)} times."'
    )
    (tmp_path / "test_prefix_broken.py").write_text(broken, encoding="utf-8")
    for name, outcome in (("test_prefix_stable.py", 0), ("test_prefix_broken.py", 1)):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "ctxlab.pytest_plugin", "-c", "none.ini", name]
        (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == outcome, done.stdout + done.stderr


def test_the_guard_says_what_it_could_not_read(tmp_path):
    (tmp_path / "broken.py").write_text("def (", encoding="utf-8")
    assert "not read" in prefix_guard(tmp_path).text


def test_the_image_check_lists_every_picture_and_what_would_be_refused(tmp_path):
    page = tmp_path / "image-check.md"
    shown = image_check(lesson_10.sample_request(), write_to=page)
    assert shown.text.count("messages[0].content") == 4
    written = page.read_text(encoding="utf-8")
    assert "media-type-mismatch" in written
    assert "base64" not in written


def test_a_folder_without_source_is_not_called_clean(tmp_path):
    assert "holds no Python source" in prefix_guard(tmp_path).text
    (tmp_path / "agent.py").write_text("x = 1\n", encoding="utf-8")
    assert "not read" not in prefix_guard(tmp_path).text


@pytest.mark.parametrize("turns", [0, -1, 1.5, "20", True])
def test_a_sheet_over_no_whole_number_of_turns_is_refused(turns):
    body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hi"}]}
    with pytest.raises(InvalidArgumentError, match="turns"):
        break_even_sheet(body, turns=turns)
