"""Breakers in source, told apart from what only looks like one: each promise beside its twin."""

from __future__ import annotations

from textwrap import dedent

import pytest

from ctxlab.breakers import scan_source, scan_text
from ctxlab.breakers.follow import reading as readings
from ctxlab.breakers.follow.values import MAX_ITEMS

HEAD = """\
import json, os, random, time, uuid
from datetime import datetime
import anthropic

client = anthropic.Anthropic()
MARK = {"type": "ephemeral"}


def send(**fields):
    return client.messages.create(model="m", max_tokens=9, **fields)


"""
NEWEST = 'messages=[{"role": "user", "content": q}]'


def confirmed(code):
    """Codes that are confirmed in a program behind the common head, in order."""
    return sorted({one.code for one in scan_text(HEAD + dedent(code)) if one.confirmed})


MARKED_AND_CHANGING = {
    "a_literal": f"""
        def ask(q):
            text = datetime.now().isoformat()
            return send(system=[{{"type": "text", "text": text, "cache_control": MARK}}], {NEWEST})
        """,
    "rules_and_a_clock_in_one_text": f"""
        def ask(q):
            text = open("rules.md").read() + "\\n" + time.ctime()
            return send(system=[{{"type": "text", "text": text, "cache_control": MARK}}], {NEWEST})
        """,
    "a_helper_that_marks": f"""
        def marked(text):
            block = {{"type": "text", "text": text}}
            block["cache_control"] = MARK
            return block

        def ask(q):
            return send(system=[marked(f"It is {{time.time()}}")], {NEWEST})
        """,
    "a_marker_that_is_merged_in": f"""
        def marked(block):
            return {{**block, "cache_control": MARK}}

        def ask(q):
            return send(system=[marked({{"type": "text", "text": f"It is {{datetime.now()}}"}})], {NEWEST})
        """,
    "a_method_with_a_local": f"""
        class Prompts:
            def system(self):
                parts = ["Rules", f"It is {{datetime.now():%H:%M}}"]
                return [{{"type": "text", "text": "\\n".join(parts), "cache_control": MARK}}]

            def ask(self, q):
                return send(system=self.system(), {NEWEST})
        """,
    "an_earlier_message": """
        def ask(q):
            context = {"type": "text", "text": f"It is {datetime.now()}", "cache_control": MARK}
            messages = [
                {"role": "user", "content": [context]},
                {"role": "assistant", "content": "Noted."},
                {"role": "user", "content": q},
            ]
            return send(messages=messages)
        """,
}


@pytest.mark.parametrize("code", MARKED_AND_CHANGING.values(), ids=MARKED_AND_CHANGING)
def test_a_marked_block_that_changes_is_told_beside_its_value(code):
    assert confirmed(code) == ["CTX101", "CTX401"]


def test_a_marked_tool_that_changes_is_told_where_the_marker_is_set():
    code = f"""
        def ask(q):
            tools = [{{"name": "a", "description": f"id {{uuid.uuid4()}}", "input_schema": {{}}}}]
            tools[-1]["cache_control"] = MARK
            return send(tools=tools, {NEWEST})
        """
    found = {one.code: one.line for one in scan_text(HEAD + dedent(code)) if one.confirmed}
    assert sorted(found) == ["CTX102", "CTX401"]
    assert found["CTX401"] == found["CTX102"] + 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ('block = {"type": "text", "text": f"Hi {user.email}", "cache_control": MARK}', ["CTX104"]),
        ('block = {"type": "text", "text": f"pid {os.getpid()}", "cache_control": MARK}', ["CTX105"]),
        ('block = {"type": "text", "text": "Rules", "cache_control": MARK}', []),
    ],
    ids=["per_user", "per_process", "constant"],
)
def test_a_marked_block_that_does_not_change_per_request_is_no_marker_on_volatile(code, told):
    assert confirmed(f"def ask(q, user):\n    {code}\n    return send(system=[block], {NEWEST})\n") == told


def test_the_newest_message_may_hold_a_clock_under_its_own_marker():
    code = """
        def chat():
            messages = []
            while True:
                text = {"type": "text", "text": f"{datetime.now()} {input()}", "cache_control": MARK}
                messages.append({"role": "user", "content": [text]})
                answer = send(messages=messages)
                text.pop("cache_control")
                messages.append({"role": "assistant", "content": answer.content})
        """
    assert confirmed(code) == []


@pytest.mark.parametrize(
    "value",
    [
        "ctx.author.display_name",
        "update.effective_user.first_name",
        "message.from_user.username",
        "user.full_name",
        "request.user.email",
    ],
)
def test_the_name_of_the_user_who_asks_is_told_in_system(value):
    owner = value.split(".")[0]
    assert confirmed(f'def ask({owner}, q):\n    return send(system=f"For {{{value}}}", {NEWEST})\n') == [
        "CTX104"
    ]


@pytest.mark.parametrize(
    "value", ["user_role", "user_count", "username_field", "user_prompt", "patient", "book.author.name"]
)
def test_a_word_that_only_resembles_a_user_is_not_confirmed(value):
    owner = value.split(".")[0]
    code = f'def ask({owner}, q):\n    return send(system=f"For {{{value}}}", {NEWEST})\n'
    assert confirmed(code) == []


def test_a_row_selected_by_the_user_is_of_that_user_and_one_selected_by_a_word_is_not():
    code = """
        def ask({key}, q, db):
            row = db.execute("SELECT name FROM people WHERE id = ?", ({key},)).fetchone()
            return send(system=f"For {{row[0]}}", messages=[{{"role": "user", "content": q}}])
        """
    assert confirmed(code.format(key="user_id")) == ["CTX104"]
    assert confirmed(code.format(key="topic")) == []


STAND_INS = {
    "or": "key = call.id or str(uuid.uuid4())",
    "conditional": "key = call.id if call.id else str(uuid.uuid4())",
    "default_of_a_lookup": 'key = getattr(call, "id", f"call_{uuid.uuid4()}")',
    "if_none": "key = call.id\n    if key is None:\n        key = str(uuid.uuid4())",
}


@pytest.mark.parametrize("line", STAND_INS.values(), ids=STAND_INS)
def test_an_id_that_only_stands_in_for_a_given_one_is_not_confirmed(line):
    code = f'def ask(q, call):\n    {line}\n    return send(system=f"Call {{key}}", {NEWEST})\n'
    assert confirmed(code) == []


def test_a_clock_that_stands_in_for_a_parameter_nobody_passes_is_confirmed():
    code = f"""
        def build(now=None):
            now = now or datetime.now()
            return f"It is {{now}}"

        def ask(q):
            return send(system=build(), {NEWEST})
        """
    assert confirmed(code) == ["CTX101"]


def test_what_an_error_handler_puts_in_is_not_confirmed_and_before_the_error_it_is():
    code = """
        def ask(q):
            notes = "Rules"
            try:
                {one}
                run()
            except ValueError:
                {other}
            return send(system=notes, messages=[{{"role": "user", "content": q}}])
        """
    clock = 'notes = f"Rules, {time.time()}"'
    assert confirmed(code.format(one="pass", other=clock)) == []
    assert confirmed(code.format(one=clock, other="raise")) == ["CTX101"]


def test_a_record_of_what_was_sent_is_no_request_and_the_request_is():
    body = '"model": "m", "messages": [{"role": "system", "content": f"{time.time()}"}, first, last]'
    assert confirmed(f'def keep(first, last, r):\n    write({{{body}, "response": r, "tools": []}})\n') == []
    assert confirmed(f'def keep(first, last):\n    post({{{body}, "tools": []}})\n') == ["CTX101"]


def test_an_object_of_a_record_class_is_no_request_and_one_of_a_parameter_class_is():
    fields = 'model="m", system=f"{uuid.uuid4()}", messages=[{"role": "user", "content": q}]'
    assert confirmed(f"def keep(q):\n    emit(RunOutput({fields}))\n") == []
    assert confirmed(f"def keep(q):\n    emit(MessageParams({fields}))\n") == ["CTX102"]


CHAT = """
def chat(lines, agent):
    messages = []
    for line in lines:
        messages.append({{"role": "user", "content": line}})
        answer = {call}
        messages.append({{"role": "assistant", "content": answer.content}})
"""
CREATE = "client.messages.create(model={model}, max_tokens=9, messages=messages)"


@pytest.mark.parametrize(
    "model",
    ['"a" if isinstance(line, str) else "b"', "note(agent).id if note(agent) is not None else None"],
    ids=["type", "guard"],
)
def test_a_type_check_or_a_guard_switches_no_model(model):
    assert confirmed(CHAT.format(call=CREATE.format(model=model))) == []


def test_a_field_of_a_run_that_is_named_model_switches_none():
    code = """
        def run(agent, run, q):
            run.model = agent.model.id if agent.model is not None else None
            return client.messages.create(model=run.model, max_tokens=9, messages=run.messages)
        """
    assert confirmed(code) == []


def test_a_question_of_length_switches_the_model():
    assert confirmed(CHAT.format(call=CREATE.format(model='"a" if len(line) < 9 else "b"'))) == ["CTX301"]


FALLBACK = """
def first_that_answers(messages):
    for name in ("big", "small"):
        try:
            return client.messages.create(model=name, max_tokens=9, messages=messages)
        except anthropic.APIStatusError:
            {then}
"""


@pytest.mark.parametrize("then", ["continue", "pass"])
def test_models_tried_one_after_the_other_in_a_chat_are_a_fallback(then):
    code = FALLBACK.format(then=then) + CHAT.format(call="first_that_answers(messages)")
    assert confirmed(code) == []


def test_markers_of_branches_that_exclude_each_other_are_not_added_up():
    block = '        blocks.append({"type": "text", "text": t, "cache_control": MARK})\n'
    split = (
        "def blocks_of(kind, t):\n    blocks = []\n"
        f'    if kind == "a":\n{block * 2}    elif kind == "b":\n{block * 2}    else:\n{block}'
        "    return blocks\n\n"
        f"def ask(q, kind):\n    return send(system=blocks_of(kind, 'x'), {NEWEST})\n"
    )
    together = split.replace('    elif kind == "b":\n', "").replace("    else:\n", "")
    assert confirmed(split) == []
    assert confirmed(together) == ["CTX406"]


def test_a_marker_that_is_copied_from_the_caller_is_not_counted():
    code = f"""
        def convert(parts):
            blocks = []
            for part in [parts[0], parts[1], parts[2], parts[3], parts[4]]:
                block = {{"type": "text", "text": part["text"]}}
                if "cache_control" in part:
                    block["cache_control"] = part["cache_control"]
                blocks.append(block)
            return blocks

        def ask(q, parts):
            return send(system=convert(parts), {NEWEST})
        """
    assert "CTX406" not in confirmed(code)


def test_entries_kept_in_an_object_and_written_out_anew_are_the_same_history():
    code = """
        class Chat:
            def __init__(self):
                self.entries = []

            def add(self, role, text):
                self.entries.append((role, text))

            def ask(self, text):
                self.add("user", text)
                messages = [{"role": role, "content": content} for role, content in self.entries]
                answer = send(messages=messages)
                self.add("assistant", answer.content[0].text)
        """
    assert confirmed(code) == []


EDITS = """
def tidy(messages):
    for index in range({places}):
        messages[index]["content"] = "gone"


def chat(lines):
    messages = []
    for line in lines:
        messages.append({{"role": "user", "content": line}})
        tidy(messages)
        answer = send(messages=messages)
        messages.append({{"role": "assistant", "content": answer.content}})
"""


def test_a_walk_back_from_the_newest_message_edits_nothing_for_certain():
    assert confirmed(EDITS.format(places="len(messages) - 1, start(messages), -1")) == []
    assert confirmed(EDITS.format(places="len(messages) - 3")) == ["CTX303"]


def test_a_system_message_in_front_of_what_one_call_sends_is_no_edit_and_in_a_loop_it_is():
    once = """
        def ask(messages, rules):
            messages = [{"role": "system", "content": rules}] + messages
            return send(messages=messages)
        """
    again = """
        def chat(lines, rules):
            messages = []
            for line in lines:
                messages.append({"role": "user", "content": line})
                messages = [{"role": "user", "content": rules}] + messages
                answer = send(messages=messages)
                messages.append({"role": "assistant", "content": answer.content})
        """
    assert confirmed(once) == []
    assert confirmed(again) == ["CTX303"]


def test_lists_that_double_in_a_loop_are_followed_to_the_end():
    doubling = "\n".join(["    parts.extend(parts)"] * 40)
    sent = f"    return send(system=str(parts) + time.ctime(), {NEWEST})\n"
    code = f'def ask(q):\n    parts = ["x"]\n{doubling}\n{sent}'
    assert confirmed(code) == ["CTX101"]


def test_a_value_in_the_middle_of_a_long_list_still_arrives():
    lines = "\n".join(f'    parts.append("part {at}")' for at in range(MAX_ITEMS))
    code = (
        f"def ask(q):\n    parts = []\n{lines}\n    parts.append(time.ctime())\n{lines}\n"
        f'    return send(system="".join(parts), {NEWEST})\n'
    )
    assert confirmed(code) == ["CTX101"]
    assert confirmed(code.replace("time.ctime()", "str(9)")) == []


TANGLED = "\n".join(
    f"def step_{at}(x, y):\n"
    + "".join(f"    if x.a{arm}:\n        y = step_{at + 1}(x, f'{{y}} {arm}')\n" for arm in range(5))
    + "    return y\n"
    for at in range(12)
)


TANGLED += (
    "def step_12(x, y):\n    return y\n\n"
    f"def ask(q, x):\n    return send(system=step_0(x, time.ctime()), {NEWEST})\n"
)


def test_calls_that_multiply_are_followed_to_a_finding_without_a_doubt():
    assert "CTX101" in {one.code for one in scan_text(HEAD + TANGLED)}


def test_a_module_beyond_the_budget_is_told_as_followed_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(readings, "MAX_STEPS", 200)
    path = tmp_path / "agent.py"
    path.write_text(HEAD + TANGLED, encoding="utf-8")
    scan = scan_source(path)
    assert [problem.rule for problem in scan.skipped] == ["followed-in-part"]
    monkeypatch.undo()
    assert scan_source(path).complete


def test_a_helper_that_is_read_no_more_still_gives_what_it_makes_and_nothing_it_was_once_given(monkeypatch):
    monkeypatch.setattr("ctxlab.breakers.follow.outline.PATIENCE", -10_000)
    code = f"""
        def stamp():
            return time.ctime()

        def bold(text):
            return f"**{{text}}**"

        def ask(q):
            for_log = [stamp(), stamp(), stamp(), bold(stamp()), bold(stamp()), bold(stamp())]
            return send(system=bold("Rules") + SHOWN, {NEWEST})
        """
    assert confirmed(code.replace("SHOWN", "stamp()")) == ["CTX101"]
    assert confirmed(code.replace("SHOWN", '"only"')) == []
