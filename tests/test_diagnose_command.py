"""``ctxlab diagnose``: a line a call, whatever wrote the file; what is said of lines that are no calls."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ctxlab import cli
from ctxlab.clock import ManualClock
from ctxlab.commands.diagnose import diagnose
from ctxlab.cost import bill
from ctxlab.emulator import Emulator
from ctxlab.figures import usd
from ctxlab.places import data_path
from ctxlab.usage import Usage

MODEL = "claude-opus-5-5"
MARK = {"type": "ephemeral"}
RULES = "Answer from the handbook and name the page. " * 400


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def session(waits=(0, 30, 301, 10), systems=(), **fields):
    """Rows of an emulated session: ``waits`` in seconds before each call, ``systems`` of the last calls."""
    clock = ManualClock()
    api = Emulator(clock=clock)
    client, history, rows = api.client(), [], []
    prompts = [RULES] * (len(waits) - len(systems)) + list(systems)
    for at, (wait, prompt) in enumerate(zip(waits, prompts, strict=True)):
        clock.advance(wait)
        history.append({"role": "user", "content": f"question {at}"})
        system = [{"type": "text", "text": prompt, "cache_control": MARK}]
        body = {"model": MODEL, "max_tokens": 50, "system": system, "messages": list(history), **fields}
        started = clock.now_s()
        answer = client.messages.create(**body)
        history.append({"role": "assistant", "content": answer.content[0].text})
        rows.append({"request": body, "response": json.loads(answer.to_json()), "started_s": started})
    return rows


def save(rows, name="session.jsonl"):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path(name).write_text(text, encoding="utf-8")
    return name


def run(capsys, *words):
    code = cli.run(["diagnose", *words])
    return code, *capsys.readouterr()


def verdicts(path):
    return [one["verdict"] for one in diagnose(Path(path)).details["calls"]]


def test_a_line_a_call_with_what_was_read_written_and_fresh_dollars_and_verdict(capsys):
    rows = session()
    code, shown, _ = run(capsys, save(rows))
    lines = shown.splitlines()
    assert code == 0
    assert lines[0].split() == ["call", "read", "written", "fresh", "cost", "verdict"]
    calls = [line.split(maxsplit=5) for line in lines if line.strip().startswith("#")]
    assert [call[-1] for call in calls] == ["cold start", "hit", "expired", "hit"]
    for call, row in zip(calls, rows, strict=True):
        usage = Usage.from_response(row["response"]["usage"])
        counts = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.input_tokens)
        assert call[1:4] == [f"{count:,}" for count in counts]
    total = sum(bill(Usage.from_response(row["response"]["usage"]), MODEL).total_usd for row in rows)
    assert f"4 calls: 2 hit, 1 cold start, 1 expired; {usd(total)};" in shown


def test_a_changed_prefix_is_a_finding_at_its_line(capsys):
    code, shown, _ = run(capsys, save(session((0, 10, 10), systems=(f"It is 14:07:31. {RULES}",))))
    assert code == 1
    assert "session.jsonl:3: CTX" in shown
    assert "prefix changed" in shown
    (result,) = json.loads(run(capsys, "session.jsonl", "--format", "sarif")[1])["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


def test_an_expiry_is_no_finding_and_is_told_with_its_line(capsys):
    code, shown, _ = run(capsys, save(session((0, 301))))
    assert code == 0
    assert "session.jsonl:2: " in shown
    assert "0 confirmed, 0 suspected" in shown


def test_times_may_be_iso_and_the_whole_may_be_one_list(capsys):
    rows = session()
    expected = verdicts(save(rows))
    for row in rows:
        seconds = row.pop("started_s")
        row["started_at"] = f"2026-10-07T14:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}Z"
    Path("session.json").write_text(json.dumps(rows), encoding="utf-8")
    assert verdicts("session.json") == expected
    assert verdicts(save(rows, "iso.jsonl")) == expected


def test_a_row_may_hold_usage_alone_or_beside_the_request():
    rows = [
        {"request": row["request"], "usage": row["response"]["usage"], "started_s": row["started_s"]}
        for row in session()
    ]
    assert verdicts(save(rows)) == verdicts(save(session(), "other.jsonl"))


def test_without_times_an_expiry_is_unknown_and_what_is_missing_is_named(capsys):
    rows = session((0, 301))
    for row in rows:
        del row["started_s"]
    _, shown, _ = run(capsys, save(rows))
    assert "unknown" in shown
    assert "missing: " in shown


def test_the_shipped_recordings_and_sessions_can_be_diagnosed(capsys):
    for name, kind in (("exchanges", "recorded requests"), ("traces", "recorded sessions")):
        report = diagnose(data_path("recordings", f"{name}.jsonl.gz"))
        assert report.skipped == ()
        assert report.details["kind"] == kind
        assert len(report.details["calls"]) > 100


def test_a_transcript_of_an_agent_gives_figures_and_says_what_it_cannot_tell(capsys):
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 9000,
        "cache_creation_input_tokens": 100,
        "output_tokens": 7,
    }
    rows = [
        {
            "type": "assistant",
            "timestamp": f"2026-02-02T06:24:4{at}.000Z",
            "message": {"id": f"m{at}", "model": MODEL, "content": [], "usage": usage},
        }
        for at in range(3)
    ]
    rows.insert(1, {"type": "user", "message": {"role": "user", "content": "a confidence"}})
    _, shown, _ = run(capsys, save(rows))
    assert "3 calls" in shown
    assert "a transcript holds no requests" in shown
    assert "confidence" not in shown


def test_gzip_is_read():
    save(session((0, 5)))
    Path("packed.jsonl.gz").write_bytes(gzip.compress(Path("session.jsonl").read_bytes()))
    assert verdicts("packed.jsonl.gz") == ["cold start", "hit"]


def test_the_apis_own_reason_stands_beside_ours(capsys):
    rows = session((0, 10), systems=(f"Anew. {RULES}",))
    rows[1]["response"]["diagnostics"] = {
        "cache_miss_reason": {"type": "system_changed", "cache_missed_input_tokens": 7000}
    }
    _, shown, _ = run(capsys, save(rows))
    assert "the API says: system_changed (agrees)" in shown


def test_the_object_has_every_call_with_its_place(capsys):
    _, shown, told = run(capsys, save(session()), "--json")
    answer = json.loads(shown)
    calls = answer["details"]["calls"]
    assert [call["where"] for call in calls] == [f"session.jsonl:{line}" for line in range(1, 5)]
    assert answer["details"]["verdicts"] == {"cold start": 1, "hit": 2, "expired": 1}
    assert "0 confirmed" in told


# --- lines that are no calls


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("hello", "json"),
        ('{"request": {"messages": [', "json"),
        ("[1, 2]", "object"),
        ('{"name": "no call"}', "call"),
        ('{"usage": {"input_tokens": -3}}', "non-negative"),
        ('{"request": {"system": "no messages"}}', "required"),
        ('{"usage": {"input_tokens": 3, "output_tokens": 1}, "started_s": "noon"}', "time"),
        ('{"usage": {"input_tokens": 3, "output_tokens": 1}, "timestamp": "noon"}', "time"),
    ],
)
def test_a_line_that_is_no_call_is_named_and_the_others_are_diagnosed(capsys, line, rule):
    rows = [json.dumps(row) for row in session((0, 10))]
    Path("session.jsonl").write_text("\n".join([rows[0], line, rows[1]]) + "\n", encoding="utf-8")
    code, shown, _ = run(capsys, "session.jsonl")
    assert code == 2
    assert "not read session.jsonl:2" in shown
    assert f"[{rule}]" in shown
    assert "1 hit" in shown
    assert "Traceback" not in shown


def test_a_file_cut_off_in_a_line_is_truncated_and_the_rest_is_diagnosed(capsys):
    text = Path(save(session((0, 10, 10)))).read_text(encoding="utf-8")
    Path("session.jsonl").write_text(text[:-30], encoding="utf-8")
    code, shown, _ = run(capsys, "session.jsonl")
    assert code == 2
    assert "[truncated]" in shown
    assert "2 calls: 1 hit, 1 cold start" in shown


@pytest.mark.parametrize("content", [None, b"", b"\n\n", b"\x1f\x8bbroken", bytes(range(256))])
def test_a_file_without_a_call_is_never_clean(capsys, content):
    if content is not None:
        Path("session.jsonl").write_bytes(content)
    code, shown, _ = run(capsys, "session.jsonl")
    assert code == 2
    assert "nothing was read" in shown
    assert "0 files read" in shown


def test_a_folder_is_no_session(capsys, folder):
    code, shown, _ = run(capsys, str(folder))
    assert code == 2
    assert "is a folder" in shown


def test_a_byte_order_mark_is_no_obstacle():
    data = Path(save(session((0, 10)))).read_bytes()
    Path("session.jsonl").write_bytes(b"\xef\xbb\xbf" + data)
    assert verdicts("session.jsonl") == ["cold start", "hit"]


def test_a_model_without_a_price_is_diagnosed_without_dollars(capsys):
    rows = [{"usage": {"input_tokens": 3, "output_tokens": 1}, "model": "house-model", "started_s": 1}]
    _, shown, _ = run(capsys, save(rows))
    assert "$" not in shown
    assert "1 call" in shown
