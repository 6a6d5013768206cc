"""Promises of ctxlab.recordings."""

from __future__ import annotations

import copy
import gzip
import json
import re
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import recordings
from ctxlab.catalogue import get_model
from ctxlab.errors import InvalidArgumentError, RecordingError
from ctxlab.places import data_path
from ctxlab.recordings import (
    characters_per_token,
    error_shares,
    exchange,
    exchanges,
    kind_of,
    measured_errors,
    read_exchanges,
    read_log,
    read_sessions,
    sequences,
    session,
    sessions,
    shelves,
)
from ctxlab.recordings.__main__ import add, check, main, packed
from ctxlab.recordings.lines import Report, read_rows
from ctxlab.tokens import CharactersRule
from ctxlab.usage import Usage
from tests.strategies import junk

EXCHANGE = {
    "estimate": {"explained": True, "recorded_total": 100, "rules": ["1"], "total": 100},
    "evidence": "recorded",
    "id": "shop/hello#0",
    "recorded_at": "2026-09-01T10:00:00Z",
    "request": {
        "betas": [],
        "blocks": [
            {
                "chars": 93,
                "content_tokens": {"v4.8": 94},
                "message": 0,
                "role": "user",
                "segment": "messages",
                "sha256": "ab" * 32,
                "type": "text",
            }
        ],
        "endpoint": "messages",
        "max_tokens": 64,
        "model": "claude-opus-5",
    },
    "response": {
        "content_chars": [11],
        "content_types": ["text"],
        "model": "claude-opus-5",
        "status": 200,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 100, "output_tokens": 5},
    },
    "sequence": "shop/hello",
    "source": {"commit": "c0ffee", "licence": "MIT", "path": "a.yaml", "repo": "shop/shop"},
    "step": 0,
    "tags": [],
}
TURN = {
    "agent": "agent 1.0",
    "gap_s": 2.5,
    "id": "shop/run#0",
    "recorded_at": "2026-09-01T10:00:00Z",
    "request": {
        "blocks": [{"chars": 7, "role": "user", "segment": "messages", "sha256": "ab" * 8, "type": "text"}],
        "model": "claude-opus-5",
    },
    "requested_at": "2026-09-01T09:59:58Z",
    "response": {
        "content_chars": [11],
        "content_types": ["text"],
        "status": 200,
        "stop_reason": "end_turn",
        "usage": {
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 20},
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 1000,
            "input_tokens": 3,
            "output_tokens": 9,
        },
    },
    "sequence": "shop/run",
    "source": {"commit": "c0ffee", "licence": "MIT", "path": "log.jsonl", "repo": "shop/shop"},
    "step": 0,
}


def changed(row, **at):
    """A copy with values set by dotted path (``__`` for a dot); ``...`` removes the field."""
    row = copy.deepcopy(row)
    for path, value in at.items():
        *way, last = (int(step) if step.isdigit() else step for step in path.split("__"))
        place = row
        for step in way:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return row


def written(tmp_path, *rows, name="rows.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def problems(read, path):
    with pytest.raises(RecordingError) as caught:
        read(path)
    return caught.value.problems


# --- what ships


def test_a_long_session_is_what_its_log_says():
    run = session("cli/session-375d5d79")
    assert len(run.turns) == len(run) == 253
    assert run.total_input_tokens == 24_691_034
    assert run.largest_context_tokens == 154_517
    assert (run.models, run.write_ttl) == (("claude-opus-4-5-20251101",), "5m")


def test_nothing_a_learner_is_to_predict_stands_in_a_repr():
    for run in sessions():
        told = repr(run) + "".join(map(repr, run.turns[:3]))
        digits = set(re.findall(r"\d{4,}", told.replace(run.name, ""))) - set(
            re.findall(r"\d+", " ".join(run.models))
        )
        assert digits == set()
        assert str(len(run)) in repr(run)
    for row in exchanges():
        told = repr(row).replace(row.id, "").replace(str(row.model_id), "")
        assert not re.search(r"\d", told)


def test_every_kind_of_write_lifetime_occurs_and_is_told_apart():
    lifetimes = Counter(run.write_ttl for run in sessions())
    assert set(lifetimes) == {"5m", "1h", "mixed", "unknown"}
    mixed = next(run for run in sessions() if run.write_ttl == "mixed")
    written_5m = sum(usage.cache_creation.ephemeral_5m_input_tokens for usage in mixed.usages)
    assert 0 < written_5m < sum(usage.cache_creation_input_tokens for usage in mixed.usages)


def test_outputs_are_whole_only_where_the_log_was_written_after_the_answers():
    for run in sessions():
        version = re.fullmatch(r"Claude Code (\d+)\.(\d+)\.(\d+)", run.agent)
        late = version is None or tuple(map(int, version.groups())) >= (2, 1, 220)
        assert run.outputs_are_whole == late, run


def test_a_turn_that_is_said_to_be_whole_has_an_output_that_its_text_allows():
    # the two sides of the rule: with a stop reason eight characters a token are never exceeded (but where the
    # client filled in a tool's input), without one they are in most turns
    filled_in = {("esdeveniments-frontend/session-16118d94", index) for index in (12, 17, 30, 49)}
    short = Counter()
    for run in sessions():
        for turn in run.turns:
            too_short = sum(turn.content_chars) > 8 * turn.usage.output_tokens
            short[turn.output_is_whole, too_short] += 1
            if turn.output_is_whole and too_short:
                assert (run.name, turn.index) in filled_in
    assert short[False, True] > short[False, False]


def test_reads_follow_reads_and_writes_in_nine_of_ten_steps():
    steps = follows = 0
    for run in sessions():
        for before, after in zip(run.usages, run.usages[1:], strict=False):
            steps += 1
            expected = before.cache_read_input_tokens + before.cache_creation_input_tokens
            follows += after.cache_read_input_tokens == expected
    assert follows > 0.9 * steps


def test_totals_are_those_that_were_recorded():
    compared = 0
    for row in exchanges():
        if row.estimate is not None and row.total_input_tokens is not None:
            assert row.total_input_tokens == row.estimate.recorded_total, row.id
            compared += 1
    assert compared > 600


def test_only_reported_rows_have_partial_figures_and_those_are_kept():
    partial = [row for row in exchanges() if row.figures and row.usage is None and row.count_tokens is None]
    assert partial
    for row in partial:
        assert row.evidence == "reported"
        assert any(row.figures.values())


def test_every_model_that_answered_is_in_the_catalogue():
    for name in {row.response_model for row in exchanges()} | {m for run in sessions() for m in run.models}:
        if name is not None:
            assert get_model(name).vocabulary


def test_sequences_hold_every_exchange_once_in_the_order_sent():
    listed = [row for rows in sequences().values() for row in rows]
    assert sorted(row.id for row in listed) == sorted(row.id for row in exchanges())
    for rows in sequences().values():
        assert [row.step for row in rows] == sorted(row.step for row in rows)


@pytest.mark.parametrize(
    ("look_up", "almost", "right"),
    [
        (session, "cli/session-375d5d78", "cli/session-375d5d79"),
        (exchange, "crush/bash_toool#1", "crush/bash_tool#1"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(look_up, almost, right):
    with pytest.raises(InvalidArgumentError) as caught:
        look_up(almost)
    assert right in caught.value.problems[0].fix
    assert right in repr(look_up(right))


def test_the_files_are_read_once():
    assert sessions() is sessions()
    assert exchanges() is exchanges()


# --- what must not be in the files

_PRIVATE = {
    "e-mail address": r"[\w.+-]+@[\w-]+\.[a-z]{2,}",
    "path of a machine": r"(?<![\w.])(/home/|/Users/|/root/|/tmp/|/var/|/private/|/mnt/|/opt/|/srv/|/work/"
    r"|/Volumes/|/workspaces?/|~/|[A-Za-z]:(?:\\\\|/))[\w.-]",
    "share of a machine": r"\\\\\\\\\w",
    "host name": r"\.(?:local|lan|internal|intranet|corp|localdomain|home\.arpa)(?![\w.-])",
    "host by address": r"ip-\d+-\d+-\d+-\d+\b",
    "this host": r"localhost",
    "key": r"\b(sk-[\w-]{10,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|hf_\w{20,}|AIza[\w-]{30,}"
    r"|A[KS]IA[A-Z0-9]{12,}|xox[abp]-[\w-]{10,}|eyJ[\w-]{20,}\.)|(?i:bearer )[\w-]{8,}",
    "id of a request or an account": r"\b(?:msg|req|toolu|srvtoolu|file|container|org|user)_0[\w]{6,}"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "internet address": r"\b(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}\b",
    "private key": r"BEGIN [A-Z ]*PRIVATE KEY",
}


def private_things(text):
    return {what: found.group() for what, pattern in _PRIVATE.items() if (found := re.search(pattern, text))}


@pytest.mark.parametrize("name", ["exchanges.jsonl.gz", "traces.jsonl.gz"])
def test_the_data_hold_no_address_path_or_key(name):
    text = gzip.decompress(data_path("recordings", name).read_bytes()).decode("utf-8")
    assert private_things(text) == {}


@pytest.mark.parametrize(
    "secret",
    [
        "mail to ann.lee@example.org now",
        '"path":"/home/ann/project"',
        '"path":"C:\\\\Users"',
        '"path":"d:/projects/shop"',
        '"path":"~/shop/log.jsonl"',
        '"path":"/mnt/data/log.jsonl"',
        '"path":"\\\\\\\\files\\\\ann"',
        '"host":"gateway.shop.internal"',
        '"host":"anns-laptop.local"',
        '"host":"ip-10-0-0-7"',
        '"note":"message msg_018T4AJ8"',
        '"container":"container_011CPR5CNjB747bTd36fQLFk"',
        '"session":"1c7b3f0e-9a52-4a55-8a7e-1f8f5e0c2b11"',
        "github_pat_" + "a" * 30,
        "Bearer abcdefgh12345678",
        "sk-ant-api03-abcdefghij",
        "ghp_" + "a" * 36,
        "host 192.168.1.20",
        "-----BEGIN RSA PRIVATE KEY-----",
    ],
)
def test_the_search_for_private_things_finds_them(secret):
    assert private_things(secret)


@pytest.mark.parametrize(
    "harmless",
    [
        '"sha256":"0123456789abcdef"',
        '"path":"tests/cassettes/a.yaml"',
        '"path":".claude/settings.local.json"',
        '"type":"container_upload"',
        '"path":"/memories/review.md"',
        '"host":"openrouter.ai"',
        '"message":"see https://docs.claude.com/en/docs"',
        '"commit":"0341e5aee7e5760bc6edf9c2566d6e69f35d5109"',
    ],
)
def test_the_search_for_private_things_passes_what_a_row_is_made_of(harmless):
    assert private_things(harmless) == {}


def test_rows_hold_digests_and_short_words_but_no_text():
    longest = {"error.message": 0, "note": 0, "other": 0}

    def walk(value, path):
        if isinstance(value, dict):
            for key, item in value.items():
                walk(item, f"{path}.{key}")
        elif isinstance(value, list):
            for item in value:
                walk(item, path)
        elif isinstance(value, str):
            kind = next((kind for kind in longest if path.endswith(f".{kind}")), "other")
            longest[kind] = max(longest[kind], len(value))

    for name in ("exchanges.jsonl.gz", "traces.jsonl.gz"):
        for line in gzip.decompress(data_path("recordings", name).read_bytes()).splitlines():
            walk(json.loads(line), "")
    assert longest["other"] < 200  # the longest are paths of files in repositories


def table_rows(text):
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]


def test_the_readme_counts_what_is_there():
    text = data_path("recordings", "README.md").read_text(encoding="utf-8")
    cells = table_rows(text)
    rows = Counter(row.source.repo or "not known" for row in exchanges())
    licences = {row.source.repo or "not known": row.source.licence or "–" for row in exchanges()}
    kinds = {"recorded", "response only", "reported"}
    stated = {
        name: int(count) for name, _, kind, count, _ in (c for c in cells if len(c) == 5) if kind in kinds
    }
    singles = stated.pop("seven more, one row each")
    assert {name: count for name, count in rows.items() if name in stated} == stated
    assert [count for name, count in rows.items() if name not in stated] == [1] * singles
    for name, licence, *_ in (c for c in cells if c[0] in rows):
        assert licence == licences[name]

    runs = Counter(run.source.repo for run in sessions())
    turns = Counter()
    for run in sessions():
        turns[run.source.repo] += len(run)
    for repo in runs:
        name, licence, count, length, _ = next(c for c in cells if c[0] == repo)
        assert (int(count), int(length.replace(",", ""))) == (runs[repo], turns[repo])
    whole = sum(run.outputs_are_whole for run in sessions())
    undated = sum(row.recorded_at is None for row in exchanges())
    betas = sum(bool(row.betas) for row in exchanges())
    unsplit = sum("ttl-missing" in row.usage.flags for row in exchanges() if row.usage)
    unsplit_turns = sum("ttl-missing" in usage.flags for run in sessions() for usage in run.usages)
    aborted = sum(turn.stop_reason == "aborted" for run in sessions() for turn in run.turns)
    prose = " ".join(text.split())
    assert f"for {whole} of the {len(sessions())} sessions" in prose
    assert f"{undated} rows have no time" in prose
    assert f"filled in {betas} rows" in prose
    assert f"{unsplit} exchanges and {unsplit_turns} turns have cache writes without a split" in prose
    assert aborted == 6
    assert f"| {len(exchanges())} |" in text
    assert f"| {sum(map(len, sessions())):,} |" in text


# --- files in the same format


def test_a_row_is_read_as_it_was_written(tmp_path):
    (row,) = read_exchanges(written(tmp_path, EXCHANGE))
    assert (row.id, row.model_id, row.total_input_tokens) == ("shop/hello#0", "claude-opus-5", 100)
    assert row.parameters == {"max_tokens": 64}
    assert row.blocks[0].content_tokens == {"v4.8": 94}
    assert row.recorded_at.isoformat() == "2026-09-01T10:00:00+00:00"
    (run,) = read_sessions(written(tmp_path, TURN))
    (turn,) = run.turns
    assert turn.usage == Usage.from_response(TURN["response"]["usage"])
    assert (turn.gap_s, turn.requested_at.second, turn.output_is_whole) == (2.5, 58, True)


@pytest.mark.parametrize(
    "text", ["2025-04-28 14:01:59", "2025-04-28 14:01:59 GMT", "2025-04-28T16:01:59+02:00"]
)
def test_a_time_without_an_offset_is_utc(tmp_path, text):
    (row,) = read_exchanges(written(tmp_path, changed(EXCHANGE, recorded_at=text)))
    assert row.recorded_at.timestamp() == 1745848919


def test_packed_or_not_with_a_byte_order_mark_blank_lines_or_windows_line_ends_a_file_reads_the_same(
    tmp_path,
):
    line = json.dumps(EXCHANGE).encode()
    expected = read_exchanges(written(tmp_path, EXCHANGE))[0]
    for i, data in enumerate(
        (line, b"\xef\xbb\xbf" + line + b"\r\n\r\n", packed(line + b"\n"), packed(b"\n") + packed(line))
    ):
        path = tmp_path / f"{i}.jsonl"
        path.write_bytes(data)
        (row,) = read_exchanges(path)
        assert (row.id, row.blocks, row.usage) == (expected.id, expected.blocks, expected.usage)


def test_fields_of_a_newer_format_are_kept_and_noted_but_not_refused(tmp_path):
    row = changed(EXCHANGE, mood="good", response__speed_limit=3, request__blocks__0__colour="red")
    path = written(tmp_path, row)
    (kept,) = read_exchanges(path)
    assert kept.extra == {"mood": "good", "response.speed_limit": 3, "request.blocks[0].colour": "red"}
    notes = [note.path for note in check(path).notes]
    assert sorted(notes) == [
        "rows.jsonl:1: mood",
        "rows.jsonl:1: request.blocks[0].colour",
        "rows.jsonl:1: response.speed_limit",
    ]


def test_parameters_of_a_request_are_no_unknown_fields(tmp_path):
    path = written(tmp_path, changed(EXCHANGE, request__temperature=0.5))
    assert check(path).notes == []


@pytest.mark.parametrize(
    ("at", "path", "rule"),
    [
        ({"id": ...}, "id", "required"),
        ({"id": "shop/hello#1"}, "id", "sequence-and-step"),
        ({"sequence": None}, "sequence", "required"),
        ({"step": -1}, "step", "plausible"),
        ({"step": 1.0}, "step", "type"),
        ({"step": True}, "step", "type"),
        ({"evidence": "rumour"}, "evidence", "known-value"),
        ({"recorded_at": "yesterday"}, "recorded_at", "moment"),
        ({"tags": "error"}, "tags", "type"),
        ({"tags": [1]}, "tags[0]", "type"),
        ({"source": ...}, "source", "required"),
        ({"source__path": ...}, "source.path", "required"),
        ({"source__licence": "\ud800"}, "source.licence", "lone-surrogate"),
        ({"request": []}, "request", "type"),
        ({"request__endpoint": "batches"}, "request.endpoint", "known-value"),
        ({"request__blocks": ...}, "request.blocks", "required"),
        ({"request__blocks__0": 7}, "request.blocks[0]", "type"),
        ({"request__blocks__0__segment": "footer"}, "request.blocks[0].segment", "known-value"),
        ({"request__blocks__0__chars": -4}, "request.blocks[0].chars", "plausible"),
        ({"request__blocks__0__chars": 10**15}, "request.blocks[0].chars", "plausible"),
        ({"request__blocks__0__sha256": "xyz"}, "request.blocks[0].sha256", "sha256"),
        (
            {"request__blocks__0__content_tokens": {"v3": None}},
            "request.blocks[0].content_tokens.v3",
            "required",
        ),
        ({"request__blocks__0__image": {"width": 3}}, "request.blocks[0].image.source", "required"),
        ({"request__blocks__0__type": ""}, "request.blocks[0].type", "required"),
        (
            {"request__blocks__0__image": {"source": "base64", "width": 0}},
            "request.blocks[0].image.width",
            "plausible",
        ),
        ({"response__status": "ok"}, "response.status", "type"),
        ({"response__status": 99999}, "response.status", "plausible"),
        ({"response__content_chars": [-1]}, "response.content_chars[0]", "plausible"),
        ({"response__usage": [1]}, "response.usage", "type"),
        ({"response__usage__input_tokens": -5}, "response.usage.input_tokens", "non-negative"),
        ({"response__usage__output_tokens": ...}, "response.usage.output_tokens", "required"),
        ({"response__usage__input_tokens": "5"}, "response.usage.input_tokens", "whole-number"),
        ({"response__error": {"type": "x"}}, "response.error.message", "required"),
        ({"estimate__total": 1.5}, "estimate.total", "type"),
    ],
)
def test_what_is_wrong_in_an_exchange_is_named_by_line_and_field(tmp_path, at, path, rule):
    file = written(tmp_path, changed(EXCHANGE, id="shop/hello#7", step=7), changed(EXCHANGE, **at))
    found = [(problem.path, problem.rule) for problem in problems(read_exchanges, file)]
    assert (f"rows.jsonl:2: {path}", rule) in found
    assert all(place.startswith("rows.jsonl:2: ") for place, _ in found)


@pytest.mark.parametrize(
    ("at", "path", "rule"),
    [
        ({"agent": None}, "agent", "required"),
        ({"agent": ""}, "agent", "required"),
        ({"gap_s": "soon"}, "gap_s", "type"),
        ({"request__model": ...}, "request.model", "required"),
        ({"response__usage": ...}, "response.usage", "required"),
        ({"response__usage": None}, "response.usage", "required"),
        ({"response__status": 529}, "response.status", "answered"),
        ({"after_compaction": "yes"}, "after_compaction", "type"),
    ],
)
def test_what_is_wrong_in_a_turn_is_named_by_line_and_field(tmp_path, at, path, rule):
    file = written(tmp_path, changed(TURN, **at))
    assert (f"rows.jsonl:1: {path}", rule) in [(p.path, p.rule) for p in problems(read_sessions, file)]


def test_turns_out_of_order_and_rows_told_twice_are_refused(tmp_path):
    second = changed(TURN, id="shop/run#1", step=1)
    (problem,) = problems(read_sessions, written(tmp_path, second, TURN))
    assert (problem.path, problem.rule) == ("rows.jsonl:2: step", "turns-in-order")
    found = problems(read_exchanges, written(tmp_path, EXCHANGE, EXCHANGE))
    assert [(p.path, p.rule) for p in found] == [("rows.jsonl:2: id", "unique")]
    assert "rows.jsonl:1" in found[0].message


def test_turns_of_one_session_have_one_source_and_another_agent_is_noted(tmp_path):
    second = changed(TURN, id="shop/run#1", step=1)
    elsewhere = changed(second, source__repo="shop/other")
    (problem,) = problems(read_sessions, written(tmp_path, TURN, elsewhere))
    assert (problem.path, problem.rule) == ("rows.jsonl:2: source", "one-source")
    report = check(written(tmp_path, TURN, changed(second, agent="agent 1.1")))
    assert report.problems == []
    assert [(note.path, note.rule) for note in report.notes] == [("rows.jsonl:2: agent", "one-agent")]
    assert check(written(tmp_path, TURN, second)).notes == []


def test_a_file_of_the_other_kind_is_told_by_the_reader_it_wants(tmp_path):
    (turn,) = problems(read_exchanges, written(tmp_path, TURN))
    (one,) = problems(read_sessions, written(tmp_path, EXCHANGE))
    assert (turn.rule, one.rule) == ("kind-of-row", "kind-of-row")
    assert "read_sessions" in turn.fix
    assert "read_exchanges" in one.fix


def counting(**figures):
    return changed(EXCHANGE, request__endpoint="count_tokens", response__usage=figures)


@pytest.mark.parametrize(
    ("count", "rule"),
    [
        ("7", "whole-number"),
        (7.5, "whole-number"),
        (True, "whole-number"),
        (-7, "non-negative"),
        (10**15, "plausible"),
        (None, "required"),
    ],
)
def test_a_count_that_cannot_be_is_refused(tmp_path, count, rule):
    (problem,) = problems(read_exchanges, written(tmp_path, counting(input_tokens=count)))
    assert (problem.path, problem.rule) == ("rows.jsonl:1: response.usage.input_tokens", rule)


def test_a_count_is_the_prompt_and_a_refused_question_has_none(tmp_path):
    (row,) = read_exchanges(written(tmp_path, counting(input_tokens=7)))
    assert (row.count_tokens, row.total_input_tokens, row.usage) == (7, 7, None)
    (row,) = read_exchanges(written(tmp_path, changed(counting(), response__status=404)))
    assert (row.count_tokens, row.total_input_tokens) == (None, None)


def test_reported_figures_may_be_absent_and_may_not_be_impossible(tmp_path):
    told = {"input_tokens": None, "cache_read_input_tokens": 5}
    row = changed(EXCHANGE, evidence="reported", response__usage=told)
    (partial,) = read_exchanges(written(tmp_path, row))
    assert (partial.usage, partial.figures) == (None, told)
    wrong = changed(row, response__usage__cache_read_input_tokens=-5)
    (problem,) = problems(read_exchanges, written(tmp_path, wrong))
    assert problem.path == "rows.jsonl:1: response.usage.cache_read_input_tokens"
    found = problems(read_exchanges, written(tmp_path, changed(row, evidence="recorded")))
    assert {problem.rule for problem in found} == {"required"}


HALF = "\ud83d"


@pytest.mark.parametrize(
    ("at", "path"),
    [
        ({"note": HALF}, "note"),
        ({"tags": ["fine", HALF]}, "tags[1]"),
        ({"request__blocks__0__cache_control": {"type": HALF}}, "request.blocks[0].cache_control"),
        ({"request__blocks__0__document": {HALF: 1}}, "request.blocks[0].document"),
        ({"request__thinking": {"type": HALF}}, "request.thinking"),
        ({"response__memory_commands": [{"path": HALF}]}, "response.memory_commands[0]"),
        ({"mood": [HALF]}, "mood"),
        ({HALF: 1}, r"\ud83d"),
    ],
)
def test_half_a_character_is_refused_wherever_it_stands(tmp_path, at, path, capsys):
    file = written(tmp_path, changed(EXCHANGE, **at))
    found = [(p.path, p.rule) for p in problems(read_exchanges, file)]
    assert found == [(f"rows.jsonl:1: {path}", "lone-surrogate")]
    assert main(["check", str(file)]) == 1
    assert path in capsys.readouterr().out


@pytest.mark.parametrize("text", ["\U0001f600", r"\ud83d", "é", "\ue000"])
def test_a_whole_character_is_not_half_of_one(tmp_path, text):
    (row,) = read_exchanges(written(tmp_path, changed(EXCHANGE, note=text, mood={text: [text]})))
    assert (row.note, row.extra["mood"]) == (text, {text: [text]})


def test_sessions_may_be_interleaved(tmp_path):
    other = changed(TURN, id="shop/other#0", sequence="shop/other")
    second = changed(TURN, id="shop/run#1", step=1)
    runs = read_sessions(written(tmp_path, TURN, other, second))
    assert [(run.name, len(run)) for run in runs] == [("shop/run", 2), ("shop/other", 1)]


@pytest.mark.parametrize(
    ("last_line", "rule"),
    [
        (b'{"id": "shop/he', "truncated"),
        (b'{"id": "shop/he\n', "json"),
        (b"[1, 2]\n", "object"),
        (b"null\n", "object"),
        (b'{"step": 1} {"step": 2}', "json"),
        (b"{'step': 1}", "json"),
        (b'{"step": 1, "step": 1}\n', "json"),
        (b'{"source": {"path": "a", "path": "b"}}\n', "json"),
        (b'{"gap_s": NaN}\n', "json"),
        (b'{"gap_s": -Infinity}\n', "json"),
        (b'{"gap_s": "caf\xe9"}\n', "utf-8"),
        (b"[" * 100_000 + b"\n", "nesting"),
        (b'{"step": ' + b"9" * 5000 + b"}\n", "json"),
    ],
)
def test_a_line_that_is_no_row_is_named_and_the_others_are_still_checked(tmp_path, last_line, rule):
    path = tmp_path / "rows.jsonl"
    wrong = json.dumps(changed(EXCHANGE, evidence="rumour")).encode() + b"\n"
    path.write_bytes(wrong + last_line)
    found = [(problem.path, problem.rule) for problem in problems(read_exchanges, path)]
    assert found == [("rows.jsonl:1: evidence", "known-value"), ("rows.jsonl:2", rule)]


def test_wherever_the_last_line_was_cut_it_is_told_as_cut(tmp_path):
    row = {"note": 'a "é\\\U0001f600', "gaps": [True, False, None, -1.5e-300, 20], "usage": {}}
    path = tmp_path / "rows.jsonl"
    for whole in (json.dumps(row).encode(), json.dumps(row, ensure_ascii=False).encode()):
        for end in range(1, len(whole)):
            path.write_bytes(b"{}\n" + whole[:end])
            report = Report()
            assert [line for line, _ in read_rows(path, report)] == [1]
            assert [(p.path, p.rule) for p in report.problems] == [("rows.jsonl:2", "truncated")]


def test_a_field_may_stand_once_in_each_of_two_objects(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": {"path": 1}, "b": {"path": 1}, "path": 1}\n')
    report = Report()
    assert len(list(read_rows(path, report))) == 1
    assert report.problems == []


EMPTY = [b"", b"\n \r\n", b"\xef\xbb\xbf", packed(b""), packed(b"\n")]


@pytest.mark.parametrize("data", EMPTY)
def test_a_file_without_a_row_holds_nothing_and_its_check_says_so(tmp_path, data, capsys):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(data)
    assert (read_exchanges(path), read_sessions(path)) == ((), ())
    assert main(["check", str(path)]) == 1
    assert "holds no row" in capsys.readouterr().out


@pytest.mark.parametrize("data", EMPTY)
@pytest.mark.parametrize("shelf", [exchanges, sessions])
def test_a_shelf_that_lost_its_rows_is_not_taken_for_an_empty_one(tmp_path, monkeypatch, shelf, data):
    monkeypatch.setattr(shelves, "data_path", lambda *parts: tmp_path / parts[-1])
    for name in ("exchanges.jsonl.gz", "traces.jsonl.gz"):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(RecordingError) as caught:
        shelf.__wrapped__()
    assert caught.value.problems[0].rule == "rows"


def test_packed_data_padded_with_zeros_are_whole_and_with_anything_else_are_not(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(packed(json.dumps(EXCHANGE).encode()) + b"\0" * 512)
    assert len(read_exchanges(path)) == 1
    path.write_bytes(packed(json.dumps(EXCHANGE).encode()) + b"\0more")
    assert [problem.rule for problem in problems(read_exchanges, path)] == ["gzip"]


def test_packed_data_cut_short_or_damaged_is_named(tmp_path):
    whole = packed(
        b"".join(json.dumps(changed(TURN, id=f"shop/run#{i}", step=i)).encode() + b"\n" for i in range(400))
    )
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    assert "truncated" in [problem.rule for problem in problems(read_sessions, path)]
    path.write_bytes(whole[:40] + b"\x00\xff" * 20 + whole[80:])
    assert "gzip" in [problem.rule for problem in problems(read_sessions, path)]


def test_no_more_than_twenty_problems_are_told(tmp_path):
    path = written(tmp_path, *(changed(EXCHANGE, step=None) for _ in range(50)))
    assert len(problems(read_exchanges, path)) == 20


def test_a_file_that_is_not_there_is_named(tmp_path):
    for read in (read_exchanges, read_sessions, check):
        for path in (tmp_path / "none.jsonl", tmp_path, tmp_path / "no\0ne.jsonl"):
            (problem,) = problems(read, path)
            assert problem.rule == "readable"


@pytest.mark.parametrize("read", [read_exchanges, read_sessions, read_log])
@pytest.mark.parametrize("path", [None, 7, b"rows.jsonl", ["rows.jsonl"]])
def test_what_is_no_path_is_refused_by_name(read, path):
    with pytest.raises(InvalidArgumentError) as caught:
        read(path)
    assert caught.value.problems[0].rule == "path"


@pytest.mark.parametrize("look_up", [session, exchange])
@pytest.mark.parametrize("name", [None, 7, [], {}])
def test_what_is_no_name_is_refused_as_unknown(look_up, name):
    with pytest.raises(InvalidArgumentError, match="is not among"):
        look_up(name)


def paths_into(value, prefix=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*prefix, key)
            yield from paths_into(item, (*prefix, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield (*prefix, str(i))
            yield from paths_into(item, (*prefix, str(i)))


@settings(deadline=None)
@given(data=st.data())
def test_whatever_stands_in_a_field_the_row_is_read_or_refused_by_name(tmp_path_factory, data):
    row, read = data.draw(st.sampled_from([(EXCHANGE, read_exchanges), (TURN, read_sessions)]))
    way = data.draw(st.sampled_from(sorted(paths_into(row))))
    path = written(tmp_path_factory.mktemp("junk"), changed(row, **{"__".join(way): data.draw(junk)}))
    try:
        read(path)
    except RecordingError as error:
        found = error.problems
    else:
        found = ()
    assert all(problem.path.startswith("rows.jsonl:1") for problem in found)


# --- checking and adding


def test_the_shipped_files_pass_their_own_check_without_a_note(capsys):
    shelves = [str(data_path("recordings", name)) for name in ("exchanges.jsonl.gz", "traces.jsonl.gz")]
    assert main(["check", *shelves]) == 0
    assert capsys.readouterr().out.count("no problems, no notes") == 2


def test_check_prints_every_problem_and_says_so_in_its_exit_code(tmp_path, capsys):
    path = written(tmp_path, changed(EXCHANGE, evidence="rumour", mood="good"))
    assert main(["check", str(path)]) == 1
    told = capsys.readouterr().out
    assert "rows.jsonl:1: evidence" in told
    assert "note: rows.jsonl:1: mood" in told


def test_new_rows_go_behind_the_old_ones_and_the_same_rows_give_the_same_bytes(tmp_path):
    shelf = tmp_path / "exchanges.jsonl.gz"
    shelf.write_bytes(packed(json.dumps(EXCHANGE).encode()))
    new = written(tmp_path, changed(EXCHANGE, id="shop/hello#1", step=1), name="new.jsonl")
    before = shelf.read_bytes()
    assert add(new, shelf) == 1
    assert [row.id for row in read_exchanges(shelf)] == ["shop/hello#0", "shop/hello#1"]
    after = shelf.read_bytes()
    shelf.write_bytes(before)
    add(new, shelf)
    assert shelf.read_bytes() == after
    assert after[4:10] == b"\0\0\0\0\x02\xff"  # no time, no system


@pytest.mark.parametrize(
    ("rows", "place", "told"),
    [
        ([EXCHANGE], "new.jsonl:1: id", "exchanges.jsonl.gz:1 already"),
        ([changed(EXCHANGE, evidence="rumour")], "new.jsonl:1: evidence", "rumour"),
        ([changed(EXCHANGE, id="shop/hello#1", step=1, mood=HALF)], "new.jsonl:1: mood", "half a character"),
        ([], "new.jsonl", "no row"),
    ],
    ids=["there already", "against the format", "half a character", "nothing"],
)
def test_rows_that_may_not_be_added_leave_the_shelf_as_it_was(tmp_path, rows, place, told):
    shelf = tmp_path / "exchanges.jsonl.gz"
    shelf.write_bytes(packed(json.dumps(EXCHANGE).encode()))
    before = shelf.read_bytes()
    with pytest.raises(RecordingError) as caught:
        add(written(tmp_path, *rows, name="new.jsonl"), shelf)
    (problem,) = caught.value.problems
    assert problem.path == place
    assert told in problem.message
    assert shelf.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exchanges.jsonl.gz", "new.jsonl"]


# --- your own logs


def logged(message_id, output, model="claude-opus-5", **more):
    return {
        "type": "assistant",
        "requestId": "req_1",
        "timestamp": "2026-09-01T10:00:00.000Z",
        "message": {
            "id": message_id,
            "model": model,
            "role": "assistant",
            "content": [{"type": "text", "text": "the secret plan"}],
            "usage": {
                "input_tokens": 2,
                "cache_read_input_tokens": 15_030,
                "cache_creation_input_tokens": 8_655,
                "output_tokens": output,
            },
        },
        **more,
    }


PROMPT = {"type": "user", "message": {"role": "user", "content": "the secret question"}}


def test_rows_of_one_message_are_one_message(tmp_path):
    rows = [PROMPT, *(logged("msg_A", n) for n in (1, 1, 1, 1, 412)), logged("msg_B", 7)]
    summary = read_log(written(tmp_path, *rows))
    assert [turn.usage.output_tokens for turn in summary.turns] == [412, 7]
    assert [turn.rows for turn in summary.turns] == [5, 1]
    assert sum(summary.usages, Usage.zero()).cache_read_input_tokens == 2 * 15_030
    assert (summary.files, summary.rows_read, summary.rows_used) == (1, 7, 6)
    assert summary.skipped == {"no usage in it": ("rows.jsonl:1",)}
    assert summary.turns[0].where == "rows.jsonl:2"
    assert summary.turns[0].model_id == "claude-opus-5"


def test_no_text_of_a_log_is_kept(tmp_path):
    summary = read_log(written(tmp_path, PROMPT, logged("msg_A", 5)))
    assert "secret" not in repr(summary) + repr(summary.turns) + repr(summary.skipped)
    assert "msg_A" not in repr(summary.turns)


def test_a_message_that_two_files_repeat_counts_once_and_files_are_named_below_the_folder(tmp_path):
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep", logged("msg_A", 5), logged("msg_B", 6), name="a.jsonl")
    written(tmp_path, logged("msg_A", 5), logged("msg_C", 8), name="b.jsonl")
    summary = read_log(tmp_path)
    assert [turn.where for turn in summary.turns] == ["b.jsonl:1", "b.jsonl:2", "deep/a.jsonl:2"]
    assert summary.files == 2


def test_rows_without_an_id_are_messages_of_their_own(tmp_path):
    rows = [{"model": "claude-opus-5", "usage": {"input_tokens": 5, "output_tokens": 2}}] * 3
    summary = read_log(written(tmp_path, *rows))
    assert len(summary.turns) == 3
    assert all("no-message-id" in turn.usage.flags for turn in summary.turns)


@pytest.mark.parametrize("shape", ["object", "list", "lines"])
def test_answers_saved_as_json_are_read_too(tmp_path, shape):
    answer = {"id": "msg_1", "model": "claude-opus-5", "usage": {"input_tokens": 5, "output_tokens": 2}}
    text = {
        "object": json.dumps(answer, indent=2),
        "list": json.dumps([answer, "stray"]),
        "lines": f"{json.dumps(answer)}\n{json.dumps(answer)}\n",
    }[shape]
    path = tmp_path / "answer.json"
    path.write_text(text, encoding="utf-8")
    summary = read_log(path)
    assert [turn.usage.total_input_tokens for turn in summary.turns] == [5]
    assert summary.skipped == ({"not an object": ("answer.json[1]",)} if shape == "list" else {})


def test_turns_in_our_own_format_are_read_too():
    summary = read_log(data_path("recordings", "traces.jsonl.gz"))
    assert len(summary.turns) == sum(map(len, sessions()))
    total = sum(turn.usage.total_input_tokens for turn in summary.turns)
    assert total == sum(run.total_input_tokens for run in sessions())
    assert summary.turns[0].model_id == sessions()[0].turns[0].model_id


def test_rows_that_cannot_be_used_are_counted_by_reason_with_their_lines(tmp_path):
    path = written(
        tmp_path,
        logged("msg_A", 5),
        logged("msg_X", 0, model="<synthetic>"),
        logged("msg_B", -5),
        {"message": {"usage": None, "id": "msg_C"}},
    )
    with path.open("ab") as file:
        file.write(b'not json\n{"message": {"usa')
    summary = read_log(path)
    assert len(summary.turns) == 1
    assert summary.skipped == {
        "written by the client, no model answered": ("rows.jsonl:2",),
        "impossible usage: non-negative": ("rows.jsonl:3",),
        "no usage in it": ("rows.jsonl:4",),
        "cannot be read: json": ("rows.jsonl:5",),
        "cannot be read: truncated": ("rows.jsonl:6",),
    }


def test_a_log_saved_with_a_byte_order_mark_and_indents_is_read(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([logged("msg_A", 5)], indent=1), encoding="utf-8-sig")
    (turn,) = read_log(path).turns
    assert turn.usage.output_tokens == 5


def test_results_of_a_batch_are_read_and_those_that_failed_are_skipped(tmp_path):
    usage = {"input_tokens": 2, "output_tokens": 5, "service_tier": "batch"}
    message = {"id": "msg_A", "model": "claude-opus-5-5", "usage": usage}
    done = {"custom_id": "a", "result": {"type": "succeeded", "message": message}}
    failed = {"custom_id": "b", "result": {"type": "errored", "error": {"type": "error"}}}
    summary = read_log(written(tmp_path, done, failed))
    (turn,) = summary.turns
    assert (turn.model_id, turn.usage.service_tier) == ("claude-opus-5-5", "batch")
    assert list(summary.skipped) == ["no usage in it"]


def test_a_log_without_usage_or_a_folder_without_logs_is_refused(tmp_path):
    (problem,) = problems(read_log, written(tmp_path, PROMPT, PROMPT))
    assert problem.rule == "log-has-usage"
    assert "2 no usage in it" in problem.message
    (tmp_path / "empty").mkdir()
    for nowhere, told in (("empty", "holds no log"), ("missing", "is not there")):
        (problem,) = problems(read_log, tmp_path / nowhere)
        assert (problem.rule, problem.message) == ("log-files", told)


# --- counters against what was recorded


def cell(errors, model="all", kind="all"):
    return next(error for error in errors if (error.model, error.kind) == (model, kind))


def test_four_characters_are_about_55_percent_low_on_whole_requests():
    assert cell(measured_errors("four_characters")).bias_pct == pytest.approx(-55, abs=1)


def test_most_of_that_is_tokens_that_no_block_shows():
    shares = {share.part: share.bias_pct for share in error_shares("four_characters") if share.kind == "all"}
    assert sum(shares.values()) == pytest.approx(cell(measured_errors("four_characters")).bias_pct)
    assert shares["hidden"] < 0.8 * sum(shares.values())
    assert abs(shares["text"]) < 5


def test_texts_alone_are_counted_far_better_than_requests_with_tools():
    by_kind = {
        (share.kind, share.part): share for share in error_shares("four_characters") if share.kind != "all"
    }
    preamble = by_kind["tools", "hidden"]
    frame = by_kind["text", "hidden"]
    assert preamble.recorded_tokens / preamble.prompts > 40 * frame.recorded_tokens / frame.prompts
    texts = by_kind["text and system", "text"]
    assert texts.estimated_tokens == pytest.approx(texts.recorded_tokens, rel=0.1)


@pytest.mark.parametrize("rule", ["four_characters", "calibrated_characters", "whole_request_characters"])
def test_the_parts_of_every_kind_add_up_to_its_bias(rule):
    errors = measured_errors(rule)
    for kind in ("all", *recordings.KINDS):
        parts = [share.bias_pct for share in error_shares(rule) if share.kind == kind]
        assert sum(parts) == pytest.approx(cell(errors, kind=kind).bias_pct)


def test_every_prompt_is_in_one_kind_one_model_and_one_vocabulary():
    errors = measured_errors("four_characters")
    everything = cell(errors).prompts
    assert sum(error.prompts for error in errors if error.model == "all") == 2 * everything
    models = {error.model for error in errors} - {"all", "v3", "v4.7", "v4.8"}
    assert sum(cell(errors, model).prompts for model in models) == everything


def test_one_ratio_for_whole_requests_cannot_make_up_for_the_tokens_that_no_block_shows():
    large = [row for row in exchanges() if (row.total_input_tokens or 0) >= 1000]
    for rows in (None, large):
        fitted, texts_only = (
            cell(measured_errors(counter, rows)).median_abs_pct
            for counter in ("whole_request_characters", "calibrated_characters")
        )
        assert fitted > 5 * texts_only


def test_a_counter_that_is_right_has_no_error(tmp_path):
    rows = read_exchanges(written(tmp_path, EXCHANGE))
    (block,) = rows[0].blocks
    ratio = Fraction(block.chars, rows[0].total_input_tokens)
    right = CharactersRule("right", "of this row", {"v4.8": ratio}, images="patches")
    (whole, *others) = measured_errors(right, rows)
    assert (whole.prompts, whole.median_abs_pct, whole.p90_abs_pct, whole.bias_pct) == (1, 0, 0, 0)
    assert {(error.model, error.kind) for error in others} == {
        ("all", "text"),
        ("v4.8", "all"),
        ("v4.8", "text"),
        ("claude-opus-5", "all"),
        ("claude-opus-5", "text"),
    }
    shares = {share.part: share for share in error_shares(right, rows) if share.kind == "all"}
    assert (shares["text"].bias_pct, shares["hidden"].bias_pct) == (6, -6)


def test_rows_that_cannot_be_estimated_are_left_out(tmp_path):
    rows = read_exchanges(
        written(tmp_path, changed(EXCHANGE, estimate={"not_estimable": "document block", "explained": False}))
    )
    assert measured_errors("four_characters", rows) == ()


@pytest.mark.parametrize(
    ("row_id", "kind"),
    [
        ("pydantic-ai/test_anthropic_cache_count_tokens#0", "text and system"),
        ("crush/bash_tool#1", "tools"),
        ("crush/bash_tool#2", "calls and results"),
        ("pydantic-ai/test_thinking_roundtrip_anthropic#0", "thinking"),
        ("langchain/test_compaction#0", "text"),
    ],
)
def test_a_prompt_is_of_the_last_kind_that_fits(row_id, kind):
    assert kind_of(exchange(row_id)) == kind


def test_characters_per_token_run_from_2_4_to_4_9_on_ordinary_text():
    seen = characters_per_token(min_tokens=1000)
    by_id = {row.id: row for row in seen}
    dense = by_id["pydantic-ai/test_inline_system_prompt_cache_prefix_is_reused#0"]
    loose = by_id["pydantic-ai/test_anthropic_cache_count_tokens#0"]
    assert (dense.model, round(dense.ratio, 1)) == ("claude-opus-4-8", 2.4)
    assert (loose.model, round(loose.ratio, 1)) == ("claude-sonnet-4-5", 4.9)
    # three recordings lie outside: one of unusually dense text, and one word repeated, twice
    outside = {row.id.split("/")[0] for row in seen if not dense.ratio <= row.ratio <= loose.ratio}
    assert outside == {"openinference", "dd-trace-py"}


def test_characters_per_token_are_those_of_the_row_named():
    for row in characters_per_token():
        source = exchange(row.id)
        assert row.tokens == source.total_input_tokens
        assert row.ratio == sum(block.chars for block in source.blocks) / row.tokens
        assert Fraction(row.chars, row.tokens) > 1
