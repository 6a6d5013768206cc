"""Promises of ctxlab.validity.repair: what was saved broken can be sent again, and nothing goes unsaid."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ctxlab import cli
from ctxlab.errors import InvalidArgumentError, InvalidRequestError
from ctxlab.validity import Report, check, check_edit, repair
from ctxlab.validity.pairing import INTERRUPTED
from tests.strategies import broken_sessions, valid_messages
from tests.test_validity import (
    NEW,
    OLD,
    ON,
    PICTURE,
    WRONG,
    assistant,
    call,
    found,
    request,
    result,
    search,
    summary,
    system,
    text,
    thinking,
    user,
)

slow = settings(suppress_health_check=[HealthCheck.too_slow])


def interrupted(n: object) -> dict[str, Any]:
    return {**result(n), "content": INTERRUPTED, "is_error": True}


def mended(*messages: Any, **fields: Any) -> list[Any]:
    body = request(*messages, **fields)
    before = copy.deepcopy(body)
    repaired = repair(body)
    assert body == before
    assert repaired.report.left == ()
    assert repair(repaired.request) == (repaired.request, repair(repaired.request).report)
    return repaired.request["messages"]


# --- the field cases


def test_a_call_that_was_running_when_the_process_died_gets_an_error_result():
    assert mended(user(), assistant(text(), call(1)))[2:] == [user(interrupted(1))]


def test_the_result_of_an_interrupted_call_says_that_its_outcome_is_unknown():
    assert "outcome is unknown" in INTERRUPTED


def test_the_missing_result_joins_those_that_are_there_and_the_new_text_comes_last():
    assert mended(user(), assistant(call(1), call(2)), user(result(1), text("Go on.")))[2] == user(
        result(1), interrupted(2), text("Go on.")
    )


def test_a_call_whose_result_was_saved_is_not_shown_as_interrupted():
    history = [user(), assistant(call(1)), user(result(1)), assistant(text()), user()]
    assert mended(*history) == history


def test_a_result_that_was_saved_late_or_early_still_belongs_to_its_call():
    late = mended(user(), assistant(call(1)), user(text("Still there?")), user(result(1)))
    early = mended(user(), user(result(1)), assistant(call(1)), user(text("Still there?")))
    right = [user(), assistant(call(1)), user(result(1), text("Still there?"))]
    assert late == early == right


def test_results_over_several_messages_come_together():
    assert mended(user(), assistant(call(1), call(2)), user(result(1)), user(result(2), text()))[2:] == [
        user(result(1), result(2)),
        user(text()),
    ]


def test_a_stand_in_gives_way_to_the_result_that_turns_up():
    assert mended(user(), assistant(call(1)), user(interrupted(1), result(1)))[2] == user(result(1))


def test_a_list_cut_between_call_and_result_keeps_the_result_as_text():
    messages = mended(user({**result(1), "content": "port 8081"}), assistant(), user())
    [kept] = messages[0]["content"]
    assert kept["type"] == "text"
    assert "toolu_1" in kept["text"]
    assert "port 8081" in kept["text"]


def test_pictures_and_files_of_a_result_without_its_call_are_kept():
    body = {**result(1), "content": [text("a plot"), PICTURE], "cache_control": {"type": "ephemeral"}}
    picture, words = mended(user(body))[0]["content"]
    assert picture == PICTURE
    assert words["cache_control"] == {"type": "ephemeral"}
    assert "a plot" in words["text"]


def test_touched_thinking_in_the_latest_answer_turns_all_of_it_into_text():
    broken = request(
        user(),
        assistant(
            thinking(),
            text(
                "",
            ),
            thinking(),
            call(1),
        ),
        user(result(1)),
    )
    repaired = repair(broken)
    assert [block["type"] for block in repaired.request["messages"][1]["content"]] == ["text"] * 3
    assert repaired.request["messages"][2]["content"][0]["type"] == "text"
    assert "plain text" in repaired.report.changes[0].what
    assert repaired.report.ids == ("toolu_1",)


def test_thinking_the_api_calls_modified_is_named_by_its_message():
    broken = request(user(), assistant(thinking(), text("Done.")), user())
    assert repair(broken).report.changes == ()
    repaired = repair(broken, touched=[1])
    assert [block["text"] for block in repaired.request["messages"][1]["content"]] == [
        "[Thinking]\nHm.",
        "Done.",
    ]
    with pytest.raises(InvalidArgumentError, match="touched: holds 0"):
        repair(broken, touched=[0])


def test_thinking_without_a_signature_in_an_earlier_answer_costs_only_the_thinking():
    unsigned = {"type": "thinking", "thinking": "Hm."}
    messages = mended(user(), assistant(unsigned, call(1)), user(result(1)), assistant(text()), user())
    assert messages[1] == assistant(text("[Thinking]\nHm."), call(1))
    assert messages[2] == user(result(1))


def test_a_loop_that_lost_its_thinking_is_closed():
    messages = mended(user(), assistant(call(1)), user(result(1)), assistant(call(2)), user(result(2)), **ON)
    assert messages[:3] == [user(), assistant(call(1)), user(result(1))]
    assert [block["type"] for message in messages[3:] for block in message["content"]] == ["text", "text"]


def test_an_id_used_twice_is_given_another_name_together_with_its_result():
    messages = mended(
        user(), assistant(call(1)), user(result(1)), assistant(call(1)), user({**result(1), "content": "two"})
    )
    assert messages[3]["content"][0]["id"] == messages[4]["content"][0]["tool_use_id"] == "toolu_1_2"
    assert messages[4]["content"][0]["content"] == "two"


def test_a_second_result_that_says_something_else_is_kept_as_text():
    other = {**result(1), "content": "another answer"}
    first, kept = mended(user(), assistant(call(1)), user(result(1), other))[2]["content"]
    assert first == result(1)
    assert "another answer" in kept["text"]


def test_a_signed_summary_out_of_place_takes_the_place_of_what_stands_before_it():
    old, new = summary(signature="s"), summary(signature="t", content="Later.")
    repaired = repair(request(user(), assistant(call(7)), user(result(7)), assistant(old, new), user()))
    assert repaired.request["messages"] == [assistant(new), user()]
    assert "toolu_7" in repaired.report.ids


def test_half_of_a_server_tools_pair_becomes_text():
    messages = mended(user(), assistant(search(1), text()), user(), assistant(found(2), text()), user())
    assert "srvtoolu_1" in messages[1]["content"][0]["text"]
    assert "srvtoolu_2" in messages[3]["content"][0]["text"]


def test_a_system_message_out_of_place_keeps_its_words_and_loses_its_rank():
    assert mended(user(), assistant(), system("Never touch prod."))[2] == user(
        text("[System message]\nNever touch prod.")
    )


# --- system messages that hold more than words

NOTE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The note."}}
REMOVED = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "deploy"}}
ADDED = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "search"}}


def told(*messages: Any, **fields: Any) -> str:
    return str(repair(request(*messages, **fields)).report)


def test_what_a_user_message_may_carry_of_a_system_message_stays_as_it_was():
    history = [user(), system([text("Read this."), NOTE, PICTURE]), assistant(), user()]
    assert mended(*history, model=OLD)[1] == user(text("[System message]\nRead this."), NOTE, PICTURE)
    assert "its document stays" in told(*history, model=OLD)
    assert "its image stays" in told(*history, model=OLD)


@pytest.mark.parametrize(
    ("block", "names"),
    [
        (REMOVED, ("tool_removal", "deploy")),
        (ADDED, ("tool_addition", "search")),
        (thinking(), ("Thinking", "Hm.")),
        ({"type": "redacted_thinking", "data": "x"}, ("Thinking that only the server could read",)),
        (call(3), ("toolu_3", "read")),
        (result(3), ("toolu_3", "ok")),
        (search(3), ("srvtoolu_3", "web_search")),
        ({"type": "fallback", "to": {"model": "m"}}, ("fallback", "model")),
    ],
    ids=lambda one: one["type"] if isinstance(one, dict) else "",
)
def test_what_it_may_not_carry_is_named_by_a_text_and_reported(block, names):
    history = [user(), system([text(), block]), assistant(), user()]
    words = [part["text"] for part in mended(*history, model=OLD)[1]["content"]]
    assert len(words) == 2
    assert all(name in words[1] for name in names)
    assert len(repair(request(*history, model=OLD)).report.changes) >= 2


def test_a_directive_of_a_model_that_takes_none_is_named_and_on_one_that_does_it_stays():
    effort = system([], output_config={"effort": "low"})
    [words] = mended(user(), effort, assistant(), user(), model=OLD)[1]["content"]
    assert "effort" in words["text"]
    assert "no longer in effect" in words["text"]
    history = [user(), effort, assistant(), user()]
    assert mended(*history) == history


def test_words_out_of_place_leave_the_tools_they_stood_with_as_they_were():
    stays = system([REMOVED], output_config={"effort": "low"})
    history = [user(), assistant(), {**stays, "content": [text("No deploys."), REMOVED]}, user()]
    assert mended(*history)[2:] == [user(text("[System message]\nNo deploys.")), stays, user()]
    assert "stay in a system message of their own" in told(*history)


# --- answers that were cut off in their stream


@pytest.mark.parametrize("nothing", [[], "", None, (), [text("")], [text(None)], [text(" ")]])
@pytest.mark.parametrize("model", [None, NEW, OLD])
def test_an_answer_of_which_nothing_came_is_taken_out_with_a_note(nothing, model):
    body = {"messages": [user(), {"role": "assistant", "content": nothing}]}
    repaired = repair(body, model=model)
    assert repaired.request["messages"] == [user()]
    assert {change.path for change in repaired.report.changes} == {"messages[1]"}
    assert repaired.report.left == ()


def test_several_empty_answers_go_and_one_behind_results_leaves_the_results():
    loop = [user(), assistant(call(1)), user(result(1))]
    assert mended(*loop, {"role": "assistant", "content": []}, {"role": "assistant", "content": ""}) == loop
    assert repair(request({"role": "assistant", "content": []})).report.left[0].rule == "some-message"


@pytest.mark.parametrize(
    "cut",
    [
        {"input": '{"path": "a'},
        {"input": {}, "partial_json": '{"path": "a', "index": 1},
        {"input": {"path": "a"}, "partial_json": '{"path": "a'},
        {"input": '{"path": "a', "__json_buf": ""},
        {"input": None, "partialJson": '{"path": "a'},
    ],
)
def test_an_input_that_was_cut_off_is_empty_and_the_result_keeps_what_had_come(cut):
    history = [user(), assistant(text(), {**call(1), **cut})]
    messages = mended(*history)
    assert messages[1] == assistant(text(), call(1))
    [answer] = messages[2]["content"]
    assert answer["is_error"]
    assert answer["content"].startswith(INTERRUPTED)
    assert '{"path": "a' in answer["content"]
    assert '{"path": "a' in told(*history)
    assert "toolu_1" in told(*history)


@pytest.mark.parametrize(
    "whole",
    [
        {"input": '{"path": "a"}'},
        {"input": {}, "partial_json": '{"path": "a"}', "index": 0},
        {"input": {"path": "a"}, "partial_json": '{"path": "a"}'},
        {"input": {"path": "a"}, "partial_json": ""},
    ],
)
def test_an_input_that_came_in_full_is_the_object_it_was_and_its_thinking_stays(whole):
    history = [user(), assistant(thinking(), {**call(1), **whole}), user(result(1))]
    right = [user(), assistant(thinking(), {**call(1), "input": {"path": "a"}}), user(result(1))]
    assert mended(*history) == right
    assert repair(request(*right)).report.changes == ()


@pytest.mark.parametrize("nothing", [{"input": None}, {"input": ""}])
def test_an_input_that_was_never_saved_is_an_empty_object(nothing):
    assert mended(user(), assistant({**call(1), **nothing})) == [
        user(),
        assistant(call(1)),
        user(interrupted(1)),
    ]
    assert "was not saved" in told(user(), assistant({**call(1), **nothing}))


def test_a_cut_input_whose_result_was_saved_is_told_behind_the_result():
    messages = mended(user(), assistant({**call(1), "input": '{"pa'}, call(2)), user(result(1), result(2)))
    assert messages[2]["content"][:2] == [result(1), result(2)]
    assert '{"pa' in messages[2]["content"][2]["text"]


def test_a_cut_input_beside_the_latest_thinking_or_of_a_server_tool_is_kept_as_text():
    cut = {"input": '{"pa'}
    for blocks in ([thinking(), {**call(1), **cut}], [{**search(1), **cut}]):
        words = [block.get("text", "") for block in mended(user(), assistant(*blocks), user())[1]["content"]]
        assert '{"pa' in words[-1]


def test_each_of_two_cut_calls_keeps_its_own_input_even_where_they_share_an_id():
    first, second = ({**call(1), "input": f'{{"{name}'} for name in ("one", "two"))
    messages = mended(user(), assistant(first), assistant(second))
    assert ['"one' in str(messages[2]), '"two' in str(messages[2])] == [True, False]
    assert ['"one' in str(messages[4]), '"two' in str(messages[4])] == [False, True]


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        (None, {}),
        ({"rows": 3}, {"content": '{"rows": 3}'}),
        (7, {"content": "7"}),
        ([None, "a", text("b")], {"content": [text("a"), text("b")]}),
    ],
)
def test_a_result_with_something_else_than_texts_and_blocks_can_be_sent(content, sent):
    history = [user(), assistant(call(1)), user({**result(1), "content": content})]
    assert mended(*history)[2] == user({"type": "tool_result", "tool_use_id": "toolu_1", **sent})
    assert "toolu_1" in told(*history)


def test_a_result_without_content_and_one_with_none_in_its_list_are_left_alone():
    for content in ({}, {"content": []}, {"content": ""}):
        bare = {"type": "tool_result", "tool_use_id": "toolu_1", **content}
        history = [user(), assistant(call(1)), user(bare)]
        assert mended(*history) == history
        assert told(*history) == "nothing to repair"


def test_a_call_that_names_no_tool_cannot_be_mended(tmp_path, capsys):
    path = tmp_path / "session.json"
    nameless = [user(), assistant({**call(1), "name": None}), user(result(1))]
    path.write_text(json.dumps(nameless), encoding="utf-8")
    assert cli.run(["repair", str(path)]) == 1
    assert "messages[1].content[0].name" in capsys.readouterr().out


# --- what a repair does to thinking behind it


def test_thinking_behind_a_change_is_named_on_models_that_bind_it_and_on_no_other():
    history = [user(), assistant(call(1)), user(text()), assistant(thinking(), text()), user()]
    for model, places in (("claude-opus-5-5", ["messages[3]"]), (NEW, []), (None, [])):
        report = repair({"messages": history}, model=model).report
        assert [one.path for one in report.shifted] == places
        assert ("another prefix" in str(report)) is bool(places)
        assert report.left == ()


def test_thinking_before_every_change_and_that_of_a_sound_session_is_not_named():
    before = request(
        user(), assistant(thinking(), text()), user(), assistant(call(1)), model="claude-opus-5-5"
    )
    assert repair(before).report.changes
    assert repair(before).report.shifted == ()
    sound = request(user(), assistant(thinking(), text()), user(), model="claude-opus-5-5")
    assert repair(sound).report == Report()


# --- what needs no repair


@pytest.mark.parametrize(
    "messages",
    [
        [user(), assistant(text("Done. "))],
        [user(), assistant(thinking(), text())],
        [user(), assistant(search(1))],
        [assistant(summary(), text()), user()],
    ],
    ids=["an answer at rest", "thinking at rest", "a paused answer", "a summary"],
)
def test_a_session_at_rest_is_left_as_it_is(messages):
    body = request(*messages)
    repaired = repair(body)
    assert repaired.report.changes == repaired.report.left == ()
    assert all(new is old for new, old in zip(repaired.request["messages"], messages, strict=True))


def test_what_cannot_be_mended_is_reported_and_left():
    for body in (request(user(), {"role": "tool", "content": "ok"}), request(), WRONG["pictures"][0][0]):
        repaired = repair(body)
        assert repaired.report.left
        assert repaired.request["messages"] == body["messages"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (7, "request"),
        ({}, "messages"),
        ({"messages": "x"}, "messages"),
        ({"messages": [None]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [7]}]}, "messages[0].content[0]"),
    ],
)
def test_what_is_no_session_is_a_typed_error_with_its_place(body, place):
    with pytest.raises(InvalidRequestError) as refused:
        repair(body)
    assert refused.value.problems[0].path == place


@pytest.mark.parametrize("rule", WRONG)
def test_every_rule_that_can_be_mended_is(rule):
    for body, _, _ in WRONG[rule]:
        repaired = repair(body)
        again = repair(repaired.request)
        assert again.report.changes == ()
        assert again.request == repaired.request
        cannot = {"some-message", "known-role", "pictures"}
        assert {problem.rule for problem in repaired.report.left} <= cannot


@slow
@given(valid_messages())
def test_a_valid_session_is_not_touched(messages):
    repaired = repair({"model": NEW, "messages": messages})
    assert repaired.report.changes == ()
    assert repaired.request["messages"] == messages


@slow
@given(broken_sessions())
def test_whatever_was_broken_can_be_sent_again_and_a_second_repair_changes_nothing(broken):
    body = {"model": NEW, "messages": broken}
    before = copy.deepcopy(body)
    repaired = repair(body)
    assert body == before
    assert {problem.rule for problem in repaired.report.left} <= {"some-message"}
    messages = repaired.request["messages"]
    judged = [check({**body, "messages": tail}) for tail in (messages, [*messages, user()])]
    assert [] in judged or repaired.report.left
    again = repair(repaired.request)
    assert again.report.changes == ()
    assert again.request == repaired.request


@slow
@given(broken_sessions())
def test_nothing_that_was_said_is_lost_and_every_id_that_changed_is_named(broken):
    repaired = repair({"model": NEW, "messages": broken})
    told, ids = json.dumps(repaired.request, ensure_ascii=False), set(repaired.report.ids)
    for block in every_block(broken):
        words = block.get("text") or block.get("thinking") or block.get("content")
        if isinstance(words, str) and words.strip() and block["type"] != "tool_result":
            assert json.dumps(words, ensure_ascii=False)[1:-1] in told
        if block["type"] == "tool_result" and isinstance(words, str) and words != INTERRUPTED:
            assert json.dumps(words, ensure_ascii=False)[1:-1] in told
    kept = {json.dumps(block, sort_keys=True) for block in every_block(repaired.request["messages"])}
    for block in every_block(broken):
        if block["type"] in ("tool_use", "tool_result") and json.dumps(block, sort_keys=True) not in kept:
            assert block.get("id", block.get("tool_use_id")) in ids


def every_block(messages: list[Any]) -> list[dict[str, Any]]:
    contents = [message["content"] for message in messages]
    return [block for content in contents if isinstance(content, list) for block in content]


# --- edits


def test_deleting_what_stands_beside_the_latest_thinking_is_noticed():
    whole = request(user(), assistant(thinking(), text(), thinking(), call(1)), user(result(1)))
    edited = request(user(), assistant(thinking(), thinking(), call(1)), user(result(1)))
    [problem] = check_edit(whole, edited)
    assert (problem.path, problem.rule) == ("messages[1].content[0]", "thinking-unchanged")
    assert "cannot be modified" in problem.message
    plain = request(user(), assistant(text("Hm."), text()), user(text("ok")))
    assert check_edit(whole, plain) == []


def test_thinking_of_an_earlier_turn_may_go_block_by_block():
    whole = request(user(), assistant(thinking(), text(), thinking(), text()), user(), assistant(), user())
    edited = request(user(), assistant(thinking(), text(), text()), user(), assistant(), user())
    assert check_edit(whole, edited) == []


def test_all_of_an_open_loop_is_held_and_a_closed_one_is_not():
    loop = [user(), assistant(thinking(), call(1)), user(result(1)), assistant(call(2)), user(result(2))]
    edited = copy.deepcopy(loop)
    edited[1]["content"][0]["thinking"] = "Hm!"
    assert [problem.path for problem in check_edit(request(*loop), request(*edited))] == [
        "messages[1].content[0]"
    ]
    done = [assistant(text()), user()]
    assert check_edit(request(*loop, *done), request(*edited, *done)) == []


def test_the_newest_models_bind_thinking_to_what_stands_before_it_and_older_ones_do_not():
    whole = request(user(), assistant(), user(), assistant(thinking(), text()), user())
    edited = request(user(text("Changed.")), assistant(), user(), assistant(thinking(), text()), user())
    assert [problem.rule for problem in check_edit(whole, edited, "claude-opus-5-5")] == ["thinking-bound"]
    assert check_edit(whole, edited, "claude-opus-5") == []
    assert check_edit(whole, whole, "claude-opus-5-5") == []


# --- the command


def test_the_command_writes_a_mended_session_beside_the_original(tmp_path, capsys):
    path = tmp_path / "session.json"
    saved = {"model": NEW, "messages": [user(text("Zürich")), assistant(call(1), call(2)), user(result(1))]}
    path.write_text(json.dumps(saved), encoding="utf-8")
    assert cli.run(["repair", str(path)]) == 0
    told = capsys.readouterr().out
    assert "toolu_2" in told
    assert json.loads(path.read_text(encoding="utf-8")) == saved
    written = json.loads((tmp_path / "session.repaired.json").read_text(encoding="utf-8"))
    assert written["messages"][2] == user(result(1), interrupted(2))
    assert cli.run(["repair", str(path)]) == 0
    assert cli.run(["repair", str(tmp_path / "session.repaired.json")]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert sorted(one.name for one in tmp_path.iterdir()) == ["session.json", "session.repaired.json"]


@pytest.mark.parametrize("shape", ["list", "lines"])
def test_a_session_is_written_in_the_shape_it_was_read_in(tmp_path, shape):
    messages = [user(), assistant(call(1))]
    path, output = tmp_path / "session.jsonl", tmp_path / "mended"
    as_lines = "\n".join(json.dumps(message) for message in messages)
    path.write_text(as_lines if shape == "lines" else json.dumps(messages), encoding="utf-8")
    assert cli.run(["repair", str(path), "--output", str(output)]) == 0
    told = output.read_text(encoding="utf-8")
    read = [json.loads(line) for line in told.splitlines()] if shape == "lines" else json.loads(told)
    assert read == [*messages, user(interrupted(1))]


def test_the_report_can_be_read_by_a_program(tmp_path, capsys):
    path = tmp_path / "session.json"
    path.write_text(json.dumps([user(), assistant(call(1)), {"role": "tool", "content": "ok"}]), "utf-8")
    assert cli.run(["repair", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["shifted"] == []
    assert told["ids"] == ["toolu_1"]
    assert [one["rule"] for one in told["left"]] == ["known-role"]
    assert told["changes"][0]["rule"] == "calls-answered"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"messages": [{"role": "user", "content": "cut', "session.json:1:"),
        ('{"role": "user", "content": "a"}\n{"role": "assi', "session.json:2:"),
        ("", "session.json"),
        ("7", "session.json"),
        ('{"state": 3}', "session.json"),
        ('[{"role": "user", "content": NaN}]', "session.json:1:"),
    ],
)
def test_a_file_that_is_no_session_is_named_with_its_place_and_nothing_is_written(
    tmp_path, capsys, content, place
):
    path = tmp_path / "session.json"
    path.write_text(content, encoding="utf-8")
    assert cli.run(["repair", str(path)]) == 2
    assert place in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["session.json"]


def test_another_session_of_that_name_is_not_written_over(tmp_path, capsys):
    path = tmp_path / "session.json"
    path.write_text(json.dumps([user(), assistant(call(1))]), encoding="utf-8")
    (tmp_path / "session.repaired.json").write_text("mine", encoding="utf-8")
    assert cli.run(["repair", str(path)]) == 2
    assert "--output" in capsys.readouterr().err
    assert (tmp_path / "session.repaired.json").read_text(encoding="utf-8") == "mine"


def test_what_only_its_owner_could_read_stays_so(tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps([user(), assistant(call(1))]), encoding="utf-8")
    path.chmod(0o600)
    assert cli.run(["repair", str(path)]) == 0
    mode = (tmp_path / "session.repaired.json").stat().st_mode
    assert mode == path.stat().st_mode


def test_a_session_may_be_mended_in_place_where_that_is_asked_for(tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps([user(), assistant(call(1))]), encoding="utf-8")
    assert cli.run(["repair", str(path), "--output", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8"))[2] == user(interrupted(1))


def test_half_a_character_survives_the_file(tmp_path):
    path = tmp_path / "session.json"
    path.write_text('[{"role":"user","content":"\\ud83d"},{"role":"user","content":[]}]', "utf-8")
    assert cli.run(["repair", str(path)]) == 0
    assert "\\ud83d" in (tmp_path / "session.repaired.json").read_text(encoding="utf-8")
