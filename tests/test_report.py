"""Reports: the same findings as text, JSON and SARIF, with exit codes, fingerprints and a baseline."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.breakers import BREAKERS, finding
from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.prompt import Prompt
from ctxlab.report import Baseline, Report, Sources, Withheld, drawn, objects, sarif, text

SCHEMA = json.loads(Path(objects.__file__).with_name("report.schema.json").read_text(encoding="utf-8"))
CLOCK = finding(
    "clock",
    "src/agent.py",
    "datetime.now() reaches system",
    fix="move it after the last breakpoint",
    certainty="confirmed",
    line=7,
    column=12,
    evidence="datetime.now()",
).priced(55_000, Decimal("0.12375"))
DOUBT = finding("set-order", "nb.ipynb: cell 3", "a set is joined into tools", line=2)
BODY = finding("tool-order", "b.json: tools[1]", "the same tools in another order", certainty="confirmed")
UNREAD = Problem("broken.py:3", "syntax", "is no Python", "mend it")


def report(*findings, **rest):
    names = Sources().fingerprints([*findings, *(one.finding for one in rest.get("withheld", ()))], Path())
    return Report("lint", findings, rest.pop("read", ("src/agent.py",)), fingerprints=names, **rest)


# --- exit codes


@pytest.mark.parametrize(
    ("found", "strict", "code"),
    [
        ((), False, 0),
        ((DOUBT,), False, 0),
        ((DOUBT,), True, 1),
        ((CLOCK,), False, 1),
        ((CLOCK, DOUBT), True, 1),
    ],
)
def test_only_a_confirmed_finding_stops_a_build_unless_it_is_to_be_strict(found, strict, code):
    assert report(*found).exit_code(strict=strict) == code


@pytest.mark.parametrize("found", [(), (DOUBT,), (CLOCK,)])
def test_what_was_not_read_is_never_a_clean_result(found):
    assert report(*found, skipped=(UNREAD,)).exit_code() == 2
    assert report(*found, read=()).exit_code() == 2


def test_what_is_withheld_stops_nothing():
    assert report(withheld=(Withheld(CLOCK, "one request a day", "comment"),)).exit_code(strict=True) == 0


def test_remarks_change_no_exit_code():
    assert report(remarks=(Problem("a.py:1", "suppression-unused", "is not found here"),)).exit_code() == 0


# --- text


def test_a_finding_says_where_what_why_what_to_do_and_what_it_costs():
    shown = text.as_text(report(CLOCK))
    assert shown.startswith("src/agent.py:7:12: CTX101 confirmed: datetime.now() reaches system\n")
    assert f"why    {BREAKERS['CTX101'].why}" in shown
    assert "fix    move it after the last breakpoint" in shown
    assert "costs  55,000 tokens read anew each turn, $0.12 more than from the cache" in shown


def test_the_last_line_counts_findings_and_files():
    shown = text.as_text(
        report(
            CLOCK, DOUBT, skipped=(UNREAD,), withheld=(Withheld(BODY, "known", "baseline"),), read=("a", "b")
        )
    )
    assert shown.splitlines()[-1] == "1 confirmed, 1 suspected, 1 in the baseline; 2 files read, 1 skipped"
    assert "not read broken.py:3: is no Python [syntax]; mend it" in shown


def test_where_nothing_was_read_the_report_says_so():
    assert "nothing was read" in text.as_text(report(read=()))
    assert "nothing was read" not in text.as_text(report())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_is_for_terminals_and_can_be_turned_off(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert text.wants_colour(Terminal())
    assert not text.wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not text.wants_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "")
    assert text.wants_colour(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not text.wants_colour(Terminal())


def test_colour_adds_nothing_but_colour():
    plain, coloured = (text.as_text(report(CLOCK, DOUBT), colour=colour) for colour in (False, True))
    for shade in ("\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"):
        assert shade in coloured
        coloured = coloured.replace(shade, "")
    assert coloured == plain


# --- JSON


def full():
    return report(
        CLOCK,
        DOUBT,
        BODY,
        skipped=(UNREAD,),
        withheld=(Withheld(replace(CLOCK, line=9), "one request a day", "comment"),),
        remarks=(Problem("a.py:1", "suppression-unused", "is not found here"),),
    )


def test_the_json_object_is_what_its_schema_says():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for one in (full(), report(), report(read=())):
        jsonschema.validate(json.loads(json.dumps(objects.as_object(one))), SCHEMA)


def test_the_schema_would_notice_a_missing_or_a_misnamed_field():
    shown = objects.as_object(full())
    for name in SCHEMA["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({key: value for key, value in shown.items() if key != name}, SCHEMA)
    shown["findings"][0]["certainty"] = "sure"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(shown, SCHEMA)


def test_keys_come_in_the_order_of_the_schema():
    shown = objects.as_object(full())
    assert list(shown) == list(SCHEMA["properties"]) == SCHEMA["required"]
    assert list(shown["findings"][0]) == list(SCHEMA["$defs"]["finding"]["properties"])


def test_money_is_digit_for_digit_and_a_place_inside_a_file_is_apart():
    shown = objects.as_object(full())["findings"]
    assert [one["usd_per_turn"] for one in shown] == ["0.12375", None, None]
    assert [(one["path"], one["inside"]) for one in shown] == [
        ("src/agent.py", None),
        ("nb.ipynb", "cell 3"),
        ("b.json", "tools[1]"),
    ]
    tiny = CLOCK.priced(1, Decimal("1E-7"))
    assert objects.as_object(report(tiny))["findings"][0]["usd_per_turn"] == "0.0000001"


# --- SARIF


def run_of(log):
    (run,) = log["runs"]
    return run


def test_sarif_has_every_kind_as_a_rule_with_help_and_results_point_at_theirs():
    run = run_of(sarif.as_sarif(full()))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(BREAKERS)
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert set(result["partialFingerprints"]) == {sarif.FINGERPRINT}


def test_confirmed_is_an_error_and_suspected_a_warning():
    levels = {one["ruleId"]: one["level"] for one in run_of(sarif.as_sarif(report(CLOCK, DOUBT)))["results"]}
    assert levels == {"CTX101": "error", "CTX202": "warning"}


def test_a_line_of_a_file_is_a_region_and_one_of_a_cell_is_not():
    source, cell, body = (
        one["locations"][0] for one in run_of(sarif.as_sarif(report(CLOCK, DOUBT, BODY)))["results"]
    )
    assert source["physicalLocation"]["region"] == {"startLine": 7, "startColumn": 12}
    assert "region" not in cell["physicalLocation"]
    assert cell["logicalLocations"][0]["fullyQualifiedName"] == "cell 3, line 2"
    assert body["logicalLocations"][0]["fullyQualifiedName"] == "tools[1]"
    assert body["physicalLocation"]["artifactLocation"]["uri"] == "b.json"


def test_uris_are_relative_with_forward_slashes_and_absolute_only_outside(tmp_path, monkeypatch):
    inside, outside = tmp_path / "project", tmp_path / "elsewhere"
    for folder in (inside / "my src", outside):
        folder.mkdir(parents=True)
    monkeypatch.chdir(inside)
    here = {"uri": "my%20src/a%23.py", "uriBaseId": "%SRCROOT%"}
    assert sarif.artifact(str(Path("my src") / "a#.py"), Path()) == here
    assert sarif.artifact(str(inside / "my src" / "a#.py"), Path()) == here
    assert sarif.artifact("my src/../my src/a#.py", Path()) == here
    far = sarif.artifact("../elsewhere/b.py", Path())
    assert far["uri"].startswith("file:///")
    assert "uriBaseId" not in far
    assert sarif.artifact("<stdin>", Path()) == {"uri": "stdin"}


def test_what_is_withheld_is_a_suppressed_result_with_its_reason():
    held = (Withheld(CLOCK, "one request a day", "comment"), Withheld(BODY, "known", "baseline"))
    told = [one["suppressions"] for one in run_of(sarif.as_sarif(report(withheld=held)))["results"]]
    assert told == [
        [{"kind": "inSource", "status": "accepted", "justification": "one request a day"}],
        [{"kind": "external", "status": "accepted", "justification": "known"}],
    ]
    (result,) = run_of(sarif.as_sarif(report(CLOCK)))["results"]
    assert "suppressions" not in result


def test_what_was_not_read_is_a_notification_of_a_run_that_did_not_succeed():
    (bad,) = run_of(sarif.as_sarif(report(CLOCK, skipped=(UNREAD,))))["invocations"]
    assert not bad["executionSuccessful"]
    assert bad["exitCode"] == 2
    assert "broken.py:3" in bad["toolExecutionNotifications"][0]["message"]["text"]
    (good,) = run_of(sarif.as_sarif(report(CLOCK)))["invocations"]
    assert good["executionSuccessful"]
    assert good["toolExecutionNotifications"] == []


# --- fingerprints and the baseline


SOURCE = """\
import datetime

def ask():
    system = f"It is {datetime.datetime.now()}"
    return client.messages.create(system=system)
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def at(line, path="agent.py", rule="clock"):
    return finding(rule, path, "a clock", certainty="confirmed", line=line)


def test_a_finding_keeps_its_name_when_lines_move_and_space_changes(project):
    (before,) = Sources().fingerprints([at(4)], project).values()
    moved = "# a new line\n\n" + SOURCE.replace("    system", "        system")
    (project / "agent.py").write_text(moved, encoding="utf-8")
    (after,) = Sources().fingerprints([at(6)], project).values()
    assert before == after


def test_another_line_another_code_another_file_are_other_names(project):
    (project / "other.py").write_text(SOURCE, encoding="utf-8")
    asked = [at(4), at(5), at(4, "other.py"), at(4, rule="random-value")]
    assert len(set(Sources().fingerprints(asked, project).values())) == 4


def test_the_same_words_twice_are_two_names(project):
    (project / "agent.py").write_text("now()\nnow()\nnow()\n", encoding="utf-8")
    assert len(set(Sources().fingerprints([at(1), at(2), at(3)], project).values())) == 3


def test_a_cell_may_move_and_a_json_path_may_not(project):
    cells = [{"cell_type": "code", "source": ["x = 1\n", "system = now()"]}]
    for name, extra in (("a", []), ("b", [{"cell_type": "code", "source": "y = 2"}])):
        (project / name).mkdir()
        book = {"cells": [*extra, *cells], "metadata": {}, "nbformat": 4}
        (project / name / "nb.ipynb").write_text(json.dumps(book), encoding="utf-8")
    (first,) = Sources().fingerprints([at(2, "a/nb.ipynb: cell 1")], project / "a").values()
    (moved,) = Sources().fingerprints([at(2, "b/nb.ipynb: cell 2")], project / "b").values()
    assert first == moved
    bodies = [BODY, replace(BODY, path="b.json: tools[2]")]
    assert len(set(Sources().fingerprints(bodies, project).values())) == 2


@given(lines=st.lists(st.sampled_from(["now()", "  now()", "x = 1"]), min_size=1, max_size=8))
def test_fingerprints_are_as_many_as_findings(lines):
    sources = Sources({"<stdin>": "\n".join(lines)})
    findings = [at(number, "<stdin>") for number in range(1, len(lines) + 1)]
    assert len(set(sources.fingerprints(findings, Path()).values())) == len(lines)


def test_a_baseline_holds_back_what_it_lists_and_nothing_else(project):
    Baseline.of(project / "known.json", [at(4)], Sources()).write()
    new, held, stale = Baseline.read(project / "known.json").sift([at(4), at(5)], Sources())
    assert new == (at(5),)
    assert [one.finding for one in held] == [at(4)]
    assert stale == ()


def test_a_third_copy_of_a_known_line_is_new(project):
    (project / "agent.py").write_text("now()\nnow()\n", encoding="utf-8")
    Baseline.of(project / "known.json", [at(1), at(2)], Sources()).write()
    (project / "agent.py").write_text("now()\nnow()\nnow()\n", encoding="utf-8")
    new, held, _ = Baseline.read(project / "known.json").sift([at(1), at(2), at(3)], Sources())
    assert (len(new), len(held)) == (1, 2)


def test_an_entry_that_matches_nothing_is_told(project):
    Baseline.of(project / "known.json", [at(4)], Sources()).write()
    _, _, (stale,) = Baseline.read(project / "known.json").sift([], Sources())
    assert stale.rule == "baseline-stale"
    assert "CTX101 in agent.py" in stale.message


def test_a_baseline_may_lie_in_another_folder_than_the_one_worked_in(project, monkeypatch):
    (project / "ci").mkdir()
    Baseline.of(project / "ci" / "known.json", [at(4)], Sources()).write()
    monkeypatch.chdir(project / "ci")
    new, held, _ = Baseline.read(project / "ci" / "known.json").sift([at(4, "../agent.py")], Sources())
    assert (new, len(held)) == ((), 1)


def test_a_baseline_is_the_same_file_whatever_the_order_of_findings(project):
    for name, findings in (("a.json", [at(4), at(5)]), ("b.json", [at(5), at(4)])):
        Baseline.of(project / name, findings, Sources()).write()
    assert (project / "a.json").read_bytes() == (project / "b.json").read_bytes()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"format": 2, "findings": []}', '{"format": 1}', '{"format": 1, "findings": [{}]}'],
)
def test_a_file_that_is_no_baseline_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "known.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=r"known\.json: is not a baseline"):
        Baseline.read(path)


def test_a_baseline_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        Baseline.read(tmp_path / "known.json")


# --- strips


def prompt(system="Be brief.", turns=1, tools=()):
    messages = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"turn {at}"} for at in range(turns)
    ]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in tools]
    return Prompt.from_request({"tools": tools, "system": system, "messages": messages})


def test_the_pins_of_both_strips_stand_one_above_the_other():
    shown = drawn(prompt("It is 10:41.", 3, "ab"), prompt("It is 10:42.", 5, "ab")).splitlines()
    assert shown[0].index("!") == shown[1].index("!") == shown[2].index("^")
    assert shown[2].endswith("^ system at character 10: changed (2 blocks shared)")
    assert [line.strip() for line in shown[3:]] == ["- 'It is 10:41.'", "+ 'It is 10:42.'"]


def test_what_is_shared_is_class_r_on_both_sides_and_the_rest_is_written():
    earlier, later = drawn(prompt(tools="ab"), prompt("Be bold.", tools="ab")).splitlines()[:2]
    assert earlier.count(" R ") == later.count(" R ") == 2
    assert later.count(" W ") == 2
    assert " W " not in earlier


def test_appended_turns_have_no_pin():
    assert "!" not in drawn(prompt(turns=1), prompt(turns=3))
    assert "no block differs" in drawn(prompt(), prompt())


def test_a_long_history_is_one_line_and_its_pin_stands_at_the_changed_block():
    earlier, later = prompt(turns=400), prompt(turns=402)
    edited = Prompt.from_request(
        {
            "system": "Be brief.",
            "messages": [
                {"role": block.role, "content": "edited" if block.message == 200 else f"turn {block.message}"}
                for block in later.blocks
                if block.message is not None
            ],
        }
    )
    shown = drawn(earlier, edited)
    assert "messages 200 blocks R" in shown
    assert "![messages[200] " in shown
    assert max(map(len, shown.splitlines())) < 200


def test_reordered_tools_are_shown_by_name():
    shown = drawn(prompt(tools="abc"), prompt(tools="acb"))
    assert "- tools[1] b" in shown
    assert "+ tools[1] c" in shown


def test_a_side_that_ends_where_the_other_goes_on_is_pinned_at_its_end():
    shown = drawn(prompt(turns=3), prompt(turns=1)).splitlines()
    assert shown[1].endswith("!")
    assert "+ (ends here)" in shown[-1]


def test_markers_are_drawn():
    marked = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    assert "<1h>" in drawn(prompt(marked), prompt("Be bold."))


def test_what_a_finding_quotes_cannot_write_to_the_terminal():
    loud = replace(CLOCK, message="reaches \x1b[2Jsystem", evidence="a\nb\x07c", path="bad\x1b[31m.py")
    shown = text.as_text(report(loud))
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "a b" in shown


def test_a_file_name_that_is_no_utf8_is_quoted_byte_for_byte():
    assert sarif.artifact("caf\udce9.py", Path())["uri"] == "caf%E9.py"
