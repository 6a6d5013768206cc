"""``ctxlab lint``: what it reads, what stops a build, what a comment or a baseline holds back, bad input."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import yaml

from ctxlab import cli
from ctxlab.breakers import BREAKERS
from ctxlab.report import objects

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads(Path(objects.__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
CLOCKED = """\
from datetime import datetime

import anthropic

client = anthropic.Anthropic()


def ask(question):
    system = f"It is {datetime.now()}. Be brief."
    return client.messages.create(
        model="claude-opus-5-5",
        max_tokens=9,
        system=system,
        messages=[{"role": "user", "content": question}],
    )
"""
CLEAN = CLOCKED.replace("{datetime.now()}", "a fine day")
BARE_DATE = CLOCKED.replace("datetime.now()", "datetime.now():%Y-%m-%d")
LINE = CLOCKED.splitlines().index('    system = f"It is {datetime.now()}. Be brief."') + 1
REQUEST = {
    "model": "claude-opus-5-5",
    "max_tokens": 9,
    "system": [
        {
            "type": "text",
            "text": "Now: 2026-10-07 14:07:31. Be brief. " * 3,
            "cache_control": {"type": "ephemeral"},
        }
    ],
    "messages": [{"role": "user", "content": "Hi"}],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(name, text):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return name


def commented(comment, line=LINE):
    lines = CLOCKED.splitlines()
    lines[line - 1] += f"  # {comment}"
    return "\n".join(lines) + "\n"


def notebook(*cells, **metadata):
    sources = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    return {"cells": sources, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def run(capsys, *words):
    code = cli.run(["lint", *words])
    return code, *capsys.readouterr()


def found(capsys, *words):
    """The whole answer as an object, and the exit code."""
    code, shown, _ = run(capsys, *words, "--json")
    answer = json.loads(shown)
    jsonschema.validate(answer, SCHEMA)
    assert answer["exit_code"] == code
    return code, answer


# --- what is read, and exit codes


def test_a_confirmed_finding_exits_1_with_path_line_and_column(capsys):
    code, shown, _ = run(capsys, save("agent.py", CLOCKED))
    assert code == 1
    assert shown.startswith(f"agent.py:{LINE}:")
    assert "CTX101 confirmed: " in shown
    assert BREAKERS["CTX101"].why in shown
    assert shown.splitlines()[-1] == "1 confirmed, 0 suspected; 1 file read, 0 skipped"


def test_a_clean_file_exits_0_and_says_what_was_read(capsys):
    code, shown, _ = run(capsys, save("agent.py", CLEAN))
    assert (code, shown) == (0, "0 confirmed, 0 suspected; 1 file read, 0 skipped\n")


def test_a_bare_date_is_suspected_at_most_and_stops_only_a_strict_run(capsys):
    save("agent.py", BARE_DATE)
    code, answer = found(capsys, "agent.py")
    assert code == 0
    assert [one["certainty"] for one in answer["findings"]] == ["suspected"]
    assert run(capsys, "agent.py", "--strict")[0] == 1
    assert run(capsys, save("clean.py", CLEAN), "--strict")[0] == 0


def test_folders_notebooks_and_files_may_be_mixed(capsys):
    save("src/agent.py", CLOCKED)
    save("src/deep/clean.py", CLEAN)
    save("nb.ipynb", notebook("x = 1", CLOCKED))
    code, answer = found(capsys, "src", "nb.ipynb")
    assert code == 1
    assert sorted((one["path"], one["inside"], one["line"]) for one in answer["findings"]) == [
        ("nb.ipynb", "cell 2", LINE),
        ("src/agent.py", None, LINE),
    ]
    assert answer["summary"]["read"] == 3


def test_a_path_given_twice_is_read_once(capsys):
    save("agent.py", CLOCKED)
    assert found(capsys, "agent.py", "./agent.py", "agent.py", ".")[1]["summary"]["confirmed"] == 1


def test_standard_input_is_source(capsys, monkeypatch):
    for text, code in ((CLOCKED, 1), (CLEAN, 0), ("def (", 2)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        assert found(capsys, "-")[0] == code
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\xff\xfe\x00")))
    assert found(capsys, "-")[0] == 2


def test_requests_are_read_as_requests(capsys):
    save("one.json", REQUEST)
    Path("many.jsonl").write_text(
        "\n".join(json.dumps(one) for one in (REQUEST, {"request": REQUEST})), encoding="utf-8"
    )
    code, answer = found(capsys, "one.json", "many.jsonl")
    places = {(one["path"], one["inside"]) for one in answer["findings"] if one["code"] == "CTX101"}
    assert places == {
        ("one.json", "system[0].text"),
        ("many.jsonl", "line 1: system[0].text"),
        ("many.jsonl", "line 2: system[0].text"),
    }
    assert code == 0


def test_json_files_inside_a_folder_are_not_taken_for_requests(capsys):
    save("src/agent.py", CLEAN)
    save("src/package.json", {"name": "x"})
    save("src/request.json", REQUEST)
    assert found(capsys, "src")[1]["read"] == ["src/agent.py"]


def test_codes_are_picked_and_left_out_by_code_beginning_or_rule(capsys):
    save("agent.py", CLOCKED)
    for words in (
        ["--select", "CTX101"],
        ["--select", "ctx1,CTX203"],
        ["--ignore", "CTX2"],
        ["--select", "clock"],
    ):
        assert run(capsys, "agent.py", *words)[0] == 1
    for words in (["--select", "CTX2"], ["--ignore", "CTX101"], ["--ignore", "CTX2", "--ignore", "clock"]):
        assert run(capsys, "agent.py", *words)[0] == 0


@pytest.mark.parametrize("word", ["CTX999", "", "clok"])
def test_a_code_that_does_not_exist_is_an_error_that_lists_them(capsys, word):
    code, _, told = run(capsys, save("agent.py", CLOCKED), "--ignore", word)
    assert code == 2
    assert "CTX101 clock" in told


# --- formats


def test_sarif_goes_to_a_file_and_the_summary_to_the_screen(capsys):
    code, shown, told = run(
        capsys, save("src/agent.py", CLOCKED), "--format", "sarif", "--output", "out.sarif"
    )
    assert (code, shown) == (1, "")
    assert told == "1 confirmed, 0 suspected; 1 file read, 0 skipped\n"
    (result,) = json.loads(Path("out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "src/agent.py", "uriBaseId": "%SRCROOT%"}
    assert location["region"]["startLine"] == LINE


def test_the_same_input_is_the_same_output(capsys):
    for name in "cab":
        save(f"src/{name}.py", CLOCKED)
    for form in ("text", "json", "sarif"):
        first, second = (run(capsys, "src", "--format", form)[1] for _ in range(2))
        assert first == second


def test_an_output_that_cannot_be_written_is_an_error(capsys):
    code, _, told = run(capsys, save("agent.py", CLEAN), "--output", "no/such/folder/out")
    assert code == 2
    assert "[writable]" in told


# --- suppressions


def test_a_comment_with_a_reason_suppresses_and_is_counted(capsys):
    save("agent.py", commented("ctxlab: ignore[CTX101] one request a day"))
    code, answer = found(capsys, "agent.py")
    assert code == 0
    assert [(one["by"], one["reason"]) for one in answer["withheld"]] == [("comment", "one request a day")]
    assert "1 suppressed" in run(capsys, "agent.py")[1]


def test_a_comment_without_a_reason_suppresses_nothing_and_is_reported(capsys):
    save("agent.py", commented("ctxlab: ignore[CTX101]"))
    code, answer = found(capsys, "agent.py")
    assert code == 1
    assert [one["rule"] for one in answer["remarks"]] == ["suppression-reason"]
    assert "note: agent.py:" in run(capsys, "agent.py")[1]


def test_a_comment_for_another_code_suppresses_nothing(capsys):
    save("agent.py", commented("ctxlab: ignore[CTX202] the order is fixed"))
    code, answer = found(capsys, "agent.py")
    assert code == 1
    assert [one["rule"] for one in answer["remarks"]] == ["suppression-unused"]


def test_a_comment_in_a_cell_and_on_standard_input_suppresses_too(capsys, monkeypatch):
    text = commented("ctxlab: ignore[CTX101] one request a day")
    save("nb.ipynb", notebook("x = 1", text))
    assert found(capsys, "nb.ipynb")[0] == 0
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert found(capsys, "-")[0] == 0


def test_a_used_comment_is_not_called_unused_when_its_code_is_left_out(capsys):
    save("agent.py", commented("ctxlab: ignore[CTX101] one request a day"))
    assert found(capsys, "agent.py", "--ignore", "CTX101")[1]["remarks"] == []


# --- baseline


def test_a_baseline_holds_back_what_was_known_and_not_what_is_new(capsys):
    save("agent.py", CLOCKED)
    assert run(capsys, "agent.py", "--write-baseline", "known.json")[0] == 0
    save("agent.py", "# moved down\n\n" + CLOCKED)
    assert run(capsys, "agent.py", "--baseline", "known.json")[0] == 0
    save("new.py", CLOCKED)
    code, answer = found(capsys, "agent.py", "new.py", "--baseline", "known.json")
    assert code == 1
    assert [one["path"] for one in answer["findings"]] == ["new.py"]
    assert answer["withheld"][0]["by"] == "baseline"


def test_a_stale_entry_is_told_and_stops_nothing(capsys):
    save("agent.py", CLOCKED)
    run(capsys, "agent.py", "--write-baseline", "known.json")
    save("agent.py", CLEAN)
    code, shown, _ = run(capsys, "agent.py", "--baseline", "known.json")
    assert code == 0
    assert "[baseline-stale]" in shown


def test_a_baseline_that_is_none_is_an_error(capsys):
    code, _, told = run(capsys, save("agent.py", CLEAN), "--baseline", save("known.json", {"a": 1}))
    assert code == 2
    assert "[baseline]" in told


# --- bad input


def bad(name):
    """Make one unreadable thing and give its path."""
    good = json.dumps(REQUEST)
    contents = {
        "syntax.py": b"def (:\n",
        "latin.py": "# caf\u00e9\n".encode("latin-1"),
        "nul.py": b"x = 1\0\n",
        "binary.py": bytes(range(256)) * 8,
        "broken.ipynb": b'{"cells": [',
        "list.ipynb": b"[]",
        "other.json": b'{"name": "ctxlab"}',
        "cut.json": good.encode()[:-30],
        "not-utf8.json": b'{"messages": "\xff"}',
        "empty.jsonl": b"",
        "half.jsonl": good.encode() + b"\n{",
    }
    if name in contents:
        Path(name).write_bytes(contents[name])
    return name


UNREADABLE = [
    "syntax.py",
    "latin.py",
    "nul.py",
    "binary.py",
    "broken.ipynb",
    "list.ipynb",
    "other.json",
    "cut.json",
]
UNREADABLE += ["not-utf8.json", "empty.jsonl", "missing.py", "missing.json", "missing-folder"]


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named_exits_2_and_the_rest_is_scanned(capsys, name):
    code, shown, _ = run(capsys, bad(name), save("agent.py", CLOCKED))
    assert code == 2
    assert f"not read {name}" in shown
    assert "CTX101 confirmed" in shown
    assert shown.splitlines()[-1] == "1 confirmed, 0 suspected; 1 file read, 1 skipped"
    assert "Traceback" not in shown


@pytest.mark.parametrize("name", UNREADABLE)
def test_nothing_but_the_unreadable_is_never_clean(capsys, name):
    code, shown, _ = run(capsys, bad(name))
    assert code == 2
    assert "0 files read, 1 skipped" in shown


def test_a_line_that_is_cut_off_leaves_the_lines_before_it(capsys):
    code, answer = found(capsys, bad("half.jsonl"))
    assert code == 2
    assert answer["summary"]["read"] == answer["summary"]["skipped"] == 1


def test_a_folder_without_source_is_not_clean(capsys, folder):
    (folder / "empty").mkdir()
    code, shown, _ = run(capsys, "empty")
    assert code == 2
    assert "[no-files]" in shown


def test_a_notebook_with_magics_is_read(capsys):
    save("nb.ipynb", notebook("%load_ext autoreload\n!pip list\nx = !ls", "%%bash\nls (", CLOCKED))
    code, answer = found(capsys, "nb.ipynb")
    assert code == 1
    assert [one["inside"] for one in answer["findings"]] == ["cell 3"]


def test_a_folder_that_links_to_itself_is_read_once(capsys, folder):
    save("src/agent.py", CLOCKED)
    try:
        (folder / "src" / "again").symlink_to(folder / "src", target_is_directory=True)
    except OSError:
        os.link(
            folder / "src" / "agent.py", folder / "src" / "linked.py"
        )  # no right to links on this Windows
    assert found(capsys, "src")[1]["findings"] != []


def test_a_byte_order_mark_is_no_obstacle(capsys):
    Path("agent.py").write_bytes(b"\xef\xbb\xbf" + CLOCKED.encode())
    Path("one.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(REQUEST).encode())
    code, answer = found(capsys, "agent.py", "one.json")
    assert code == 1
    assert answer["summary"]["read"] == 2


def test_a_request_of_fifty_megabytes_is_read(capsys):
    words = "The quick brown fox jumps over the lazy dog. " * 1000
    big = {**REQUEST, "messages": [{"role": "user", "content": words + str(at)} for at in range(1120)]}
    save("big.json", big)
    assert Path("big.json").stat().st_size > 50_000_000
    assert found(capsys, "big.json")[1]["read"] == ["big.json"]


# --- the hook


def test_the_hook_is_declared_and_its_entry_is_this_command():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["id"] == "ctxlab-lint"
    assert hook["language"] == "python"
    assert hook["types_or"] == ["python", "jupyter"]
    program, *words = hook["entry"].split()
    assert program == "ctxlab"
    assert cli.parser().parse_args([*words, "a.py", "b.ipynb"]).paths == ["a.py", "b.ipynb"]


def test_the_hooks_entry_stops_a_commit_of_a_confirmed_finding_only(folder):
    for text, code in ((CLOCKED, 1), (CLEAN, 0)):
        told = subprocess.run(
            [sys.executable, "-m", "ctxlab", "lint", save("agent.py", text)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert told.returncode == code, told.stdout + told.stderr
