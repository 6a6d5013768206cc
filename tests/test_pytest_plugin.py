"""The pytest plugin and ``assert_prefix_stable``: what breaks a prefix fails a test, nothing else does."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ctxlab
from ctxlab import pytest_plugin
from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator
from ctxlab.errors import InvalidArgumentError, InvalidRequestError
from ctxlab.report import assert_prefix_stable, unstable
from ctxlab.report.sending import StablePrefix
from ctxlab.report.stability import UnstablePrefixError

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "tests" / "fixtures" / "prefix_project"
MARK = {"type": "ephemeral"}
RULES = "Answer from the handbook and name the page. " * 10
MODEL = "claude-opus-5-5"


def text(words, **more):
    return {"type": "text", "text": words, **more}


def user(content):
    return {"role": "user", "content": content}


def said(content):
    return {"role": "assistant", "content": content}


def ask(*messages, system=RULES, **more):
    return {"model": MODEL, "max_tokens": 50, "system": system, "messages": list(messages), **more}


def tools(names):
    return [{"name": name, "input_schema": {"type": "object", "properties": {}}} for name in names]


TURNS = (
    user("How many days?"),
    said("Thirty."),
    user("And in the first year?"),
    said("Ten."),
    user("Thanks."),
)


def codes(*requests, ignore=()):
    return [one.code for broken in unstable(requests, ignore=ignore) for one in broken.findings]


# --- what is no break


def test_appended_turns():
    assert_prefix_stable([ask(*TURNS[:1]), ask(*TURNS[:3]), ask(*TURNS)])


def test_a_marker_that_moves():
    requests = []
    for many in (1, 3, 5):
        *past, last = TURNS[:many]
        requests.append(ask(*past, user([text(last["content"], cache_control=MARK)])))
    assert_prefix_stable(requests)


def test_a_string_and_the_list_of_one_text_it_stands_for():
    assert_prefix_stable(
        [ask(TURNS[0]), ask(user([text("How many days?")]), *TURNS[1:3], system=[text(RULES)])]
    )


def test_other_conversations_in_between():
    other = [
        ask(user("Translate: one"), system="Translate. " * 20),
        ask(user("Sum up"), system="Sum up. " * 20),
    ]
    assert_prefix_stable([ask(*TURNS[:1]), *other, ask(*TURNS[:3]), other[0], ask(*TURNS)])


def test_other_conversations_that_begin_with_the_same_words():
    one, other = "Answer from the handbook. " * 20, "You translate. " * 20
    assert_prefix_stable(
        [
            ask(user("Hi"), system=one),
            ask(user("Hi"), system=other),
            ask(user("Hi"), said("Hello."), user("Go on"), system=one),
            ask(user("Hi"), said("Bonjour."), user("Go on"), system=other),
        ]
    )


@pytest.mark.parametrize("question", ["What is on page {}?", "Tell me about {}.", "{}"])
def test_conversations_with_a_model_that_always_answers_the_same(question):
    """What a test's double does: the same answer to everything, and people who say yes."""
    requests = []
    for turns in range(4):
        for which in ("1", "2", "the sea"):
            more = [said("ok"), user("yes")] * turns
            requests.append(ask(user(question.format(which)), *more))
    assert_prefix_stable(requests)
    assert_prefix_stable(sorted(requests, key=lambda one: one["messages"][0]["content"]))


def test_histories_made_up_by_a_test_that_share_an_answer():
    assert_prefix_stable(
        [ask(user("Days?"), said("ok"), user("x")), ask(user("Weeks!"), said("ok"), user("y"))]
    )


def test_many_questions_to_the_same_system_prompt():
    assert_prefix_stable([ask(user(f"What is on page {page}?")) for page in range(5)])


def test_a_conversation_begun_again_and_one_cut_back_to_an_earlier_turn():
    assert_prefix_stable([ask(*TURNS), ask(*TURNS[:1]), ask(*TURNS[:3]), ask(*TURNS)])


def test_another_last_turn_on_the_same_history():
    assert_prefix_stable([ask(*TURNS[:2], user("And then?")), ask(*TURNS[:2], user("Why?"))])
    assert_prefix_stable([ask(*TURNS), ask(*TURNS[:2], user("No, in weeks."))])


def test_the_time_behind_the_last_marker():
    def request(many, now):
        *past, last = TURNS[:many]
        blocks = [text(last["content"], cache_control=MARK), text(f"It is {now}.")]
        return ask(*past, user(blocks))

    first, second = request(1, "14:07:31"), request(3, "14:09:02")
    second["messages"][0] = first["messages"][0] | {"content": [text("How many days?")]}
    assert_prefix_stable([first, second])


def test_nothing_and_one_request():
    assert_prefix_stable([])
    assert_prefix_stable([ask(*TURNS)])


@given(order=st.permutations(range(4)), many=st.integers(1, 4))
def test_conversations_in_any_order_of_arrival_are_stable(order, many):
    """Four conversations of growing length, interleaved."""
    requests, lengths = [], dict.fromkeys(range(4), 0)
    for which in [*order] * many:
        lengths[which] += 1
        messages = [user(f"question {which}-0 of {'abcd'[which]}")]
        for turn in range(1, lengths[which]):
            messages += [said(f"answer {'abcd'[which]} {turn}"), user(f"question {'abcd'[which]} {turn}")]
        requests.append(ask(*messages, system=f"You are {'abcd'[which]}. {RULES}"))
    assert unstable(requests) == ()


# --- what is one


def test_a_clock_in_the_system_prompt_with_both_strips_and_the_pin():
    requests = [ask(*TURNS[: 2 * at + 1], system=f"It is 14:07:3{at}. {RULES}") for at in range(2)]
    with pytest.raises(AssertionError) as error:
        assert_prefix_stable(requests)
    lines = str(error.value).splitlines()
    first = next(line for line in lines if line.startswith("request 1 "))
    second = next(line for line in lines if line.startswith("request 2 "))
    assert first.index("!") == second.index("!")
    assert "It is 14:07:30" in str(error.value)
    assert "It is 14:07:31" in str(error.value)
    assert [one.later for one in error.value.breaks] == [1]


@pytest.mark.parametrize(
    "value", ["2026-10-07 14:07:3{}", "7f3c2a1e-4b5d-4c6f-8a9b-0c1d2e3f4a5{}", "176000000{}"]
)
def test_a_clock_or_an_id_that_two_conversations_could_have_shared_the_rest_of(value):
    requests = [ask(user(f"question {at}"), system=f"{RULES} {value.format(at)}") for at in range(2)]
    assert len(unstable(requests)) == 1


def test_tools_in_another_order_also_across_conversations():
    a, b = ask(user("one"), tools=tools("abc")), ask(user("two"), tools=tools("acb"))
    assert codes(a, b) == ["CTX203"]
    assert codes(ask(*TURNS[:1], tools=tools("abc")), ask(*TURNS[:3], tools=tools("acb"))) == ["CTX203"]
    assert codes(a, ask(user("two"), tools=tools("ab"))) == []


def test_an_edited_turn_with_an_answer_behind_it():
    assert codes(ask(*TURNS[:3]), ask(user("How many weeks?"), *TURNS[1:])) != []


def test_a_first_turn_that_holds_a_clock():
    requests = [ask(user(f"It is 14:07:3{at}. How many days?"), *TURNS[1 : 2 * at + 1]) for at in range(2)]
    assert codes(*requests) != []


def test_a_reminder_that_is_taken_out_of_the_first_turn_again():
    question = "How many days of notice do I have to give before I leave? "
    assert codes(ask(user(question + "(Be brief.)")), ask(user(question), *TURNS[1:3])) != []


def test_an_edited_answer_though_the_first_turn_is_the_same():
    sent = [ask(*TURNS[:1]), ask(*TURNS[:3]), ask(TURNS[0], said("Forty."), *TURNS[2:])]
    assert [(one.earlier, one.later) for one in unstable(sent)] == [(1, 2)]


def test_the_oldest_turns_dropped():
    assert codes(ask(*TURNS), ask(*TURNS[2:], said("Welcome."), user("Bye"))) != []


def test_another_system_prompt_on_the_same_history():
    assert codes(ask(*TURNS[:3]), ask(*TURNS, system="Sum the conversation up. " * 20)) == ["CTX302"]


def test_another_model_on_the_same_history_unless_that_is_let_pass():
    requests = [ask(*TURNS[:3]), ask(*TURNS, model="claude-opus-4-8")]
    assert codes(*requests) == ["CTX301"]
    for ignore in (["CTX301"], ["model-switch"], "CTX301"):
        assert codes(*requests, ignore=ignore) == []
    assert codes(*requests, ignore=["CTX302"]) == ["CTX301"]


def test_every_break_of_a_session_is_told():
    requests = [ask(*TURNS[: 2 * at + 1], system=f"It is 14:07:3{at}. {RULES}") for at in range(3)]
    assert [(one.earlier, one.later) for one in unstable(requests)] == [(0, 1), (1, 2)]


def test_a_rule_that_does_not_exist_and_a_body_that_is_none_are_refused():
    with pytest.raises(InvalidArgumentError, match="CTX999"):
        assert_prefix_stable([], ignore=["CTX999"])
    with pytest.raises(InvalidRequestError):
        assert_prefix_stable([{"system": "no messages"}])


def test_the_public_name_is_this_one():
    assert ctxlab.assert_prefix_stable is assert_prefix_stable


def test_an_assertion_of_it_is_an_assertion_error():
    assert issubclass(UnstablePrefixError, AssertionError)


# --- wrapped clients


def run_two_turns(client, system=lambda at: RULES):
    for at in range(2):
        client.messages.create(**ask(*TURNS[: 2 * at + 1], system=system(at)))


def clocked(at):
    return f"It is 14:07:3{at}. {RULES}"


def emulated():
    return Emulator(clock=ManualClock()).client()


def answered_by_a_mock_transport():
    import anthropic

    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=message))
    http = httpx2.Client(transport=transport)
    return anthropic.Anthropic(
        api_key="none", base_url="http://mock.invalid", http_client=http, max_retries=0
    )


class Fake:
    """What people write in their tests instead of a client."""

    def __init__(self):
        self.messages = SimpleNamespace(create=lambda **body: SimpleNamespace(content=[]))
        self.beta = SimpleNamespace(messages=self.messages)

    def with_options(self, **options):
        return Fake()


CLIENTS = [emulated, answered_by_a_mock_transport, Fake, MagicMock]


@pytest.mark.parametrize("make", CLIENTS)
def test_any_client_is_watched_and_sends_the_same(make):
    watch = StablePrefix()
    run_two_turns(watch.wrap(make()), clocked)
    assert len(watch) == 2
    with pytest.raises(UnstablePrefixError):
        watch.check()


@pytest.mark.parametrize("make", CLIENTS)
def test_any_client_with_a_stable_prefix_passes(make):
    watch = StablePrefix()
    run_two_turns(watch.wrap(make()))
    assert len(watch) == 2
    watch.check()


@pytest.mark.parametrize("make", [emulated, Fake])
def test_copies_and_the_beta_are_watched_too(make):
    watch = StablePrefix()
    client = watch.wrap(make())
    client.with_options(timeout=3).messages.create(**ask(*TURNS[:1], system=clocked(0)))
    client.beta.messages.create(**ask(*TURNS[:3], system=clocked(1)))
    assert len(watch) == 2


def test_a_wrapped_sdk_client_is_still_one():
    import anthropic

    assert isinstance(StablePrefix().wrap(emulated()), anthropic.Anthropic)


def test_streams_raw_answers_and_asynchronous_calls_are_watched():
    watch = StablePrefix()
    client = watch.wrap(emulated())
    with client.messages.stream(**ask(*TURNS[:1])) as stream:
        stream.get_final_message()
    list(client.messages.create(**ask(*TURNS[:1]), stream=True))
    client.messages.with_raw_response.create(**ask(*TURNS[:1]))

    async def calls():
        client = watch.wrap(Emulator(clock=ManualClock()).async_client())
        await client.messages.create(**ask(*TURNS[:1]))
        async with client.messages.stream(**ask(*TURNS[:1])) as stream:
            await stream.get_final_message()

    asyncio.run(calls())
    assert len(watch) == 5


def test_a_retried_call_is_one_request_and_counting_is_none():
    from ctxlab.emulator import overloaded

    watch = StablePrefix()
    api = Emulator(clock=ManualClock(), replies=[overloaded(), "Hello."])
    client = watch.wrap(api.client(max_retries=2))
    client.messages.create(**ask(*TURNS[:1]))
    assert (len(api.calls), len(watch)) == (2, 1)
    client.messages.count_tokens(model=MODEL, messages=[user("Hi")])
    assert len(watch) == 1


def test_a_list_that_is_changed_after_it_was_sent_was_recorded_as_sent():
    watch = StablePrefix()
    client, history = watch.wrap(Fake()), [TURNS[0]]
    client.messages.create(**ask() | {"messages": history})
    history[0] = user("How many weeks?")
    history += [said("Thirty."), user("More")]
    client.messages.create(**ask() | {"messages": history})
    with pytest.raises(UnstablePrefixError):
        watch.check()


def test_requests_under_different_names_are_not_compared():
    watch = StablePrefix()
    agent, summariser = watch.wrap(Fake()), watch.wrap(Fake(), "summariser")
    agent.messages.create(**ask(*TURNS[:3]))
    summariser.messages.create(**ask(*TURNS, system="Sum the conversation up. " * 20))
    watch.check()


def test_fields_sent_as_extra_body_count():
    for make in (emulated, Fake):
        watch = StablePrefix()
        client = watch.wrap(make())
        for at in range(2):
            body = ask(*TURNS[: 2 * at + 1])
            del body["system"]
            client.messages.create(**body, extra_body={"system": clocked(at)})
        with pytest.raises(UnstablePrefixError):
            watch.check()


def test_a_request_that_cannot_be_read_is_kept_as_a_problem():
    watch = StablePrefix()
    watch.record({"messages": "none"})
    assert [one.rule for one in watch.unread] == ["list"]


# --- the plugin in a project of its own


def run_project(*words, cwd=PROJECT, plugin=True, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    clean |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    clean |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} if plugin else {}
    clean |= variables
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "ctxlab.pytest_plugin"] if plugin else []
    return subprocess.run(
        [*command, *words], cwd=cwd, env=clean, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def project():
    """The test project's own run: its passing and its failing tests."""
    return run_project("-rA")


def test_the_projects_passing_tests_pass_and_its_failing_ones_fail(project):
    told = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\w+)", project.stdout, re.MULTILINE)
    outcomes = {name: word for word, name in told}
    wanted = {}
    for file, word in (("test_passes.py", "PASSED"), ("test_fails.py", "FAILED")):
        source = (PROJECT / file).read_text(encoding="utf-8")
        wanted |= dict.fromkeys(re.findall(r"^def (test_\w+)", source, re.MULTILINE), word)
    assert outcomes == wanted, project.stdout
    assert project.returncode == 1


def test_a_failure_is_drawn_with_both_strips_and_the_first_divergence_pinned(project):
    failure = project.stdout.partition("test_a_clock_in_the_system_prompt")[2].splitlines()
    at = next(i for i, line in enumerate(failure) if line.startswith("request 1 "))
    assert failure[at].index("!") == failure[at + 1].index("!") == failure[at + 2].index("^")
    assert "first" not in failure[at + 1][:10]
    assert "14:07:31" in failure[at + 3]
    assert "14:07:32" in failure[at + 4]
    assert "CTX" in "".join(failure[at + 5 : at + 8])


def test_a_tests_own_failure_is_the_one_that_is_told(project):
    own = project.stdout.partition("_ test_its_own_failure_comes_first _")[2].partition("\n____")[0]
    assert "the test's own reason" in own
    assert "request 1 " not in own.partition("short test summary")[0]


@pytest.fixture
def entry_point(tmp_path):
    """A folder for PYTHONPATH that declares the plugin as an installed ctxlab does."""
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    points = declared["project"]["entry-points"]["pytest11"]
    folder = tmp_path / "declared" / "ctxlab_declared-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ctxlab-declared\nVersion: 1\n", encoding="utf-8"
    )
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (folder / "entry_points.txt").write_text(f"[pytest11]\n{lines}", encoding="utf-8")
    return os.pathsep.join([str(folder.parent), str(ROOT)])


@pytest.mark.parametrize("how", ["entry point", "and -p", "and pytest_plugins"])
def test_the_installed_plugin_loads_once_however_it_is_asked_for(entry_point, tmp_path, how):
    (tmp_path / "test_it.py").write_text("def test_it(stable_prefix):\n    pass\n", encoding="utf-8")
    if how == "and pytest_plugins":
        (tmp_path / "conftest.py").write_text('pytest_plugins = ["ctxlab.pytest_plugin"]\n', encoding="utf-8")
    words = ["-p", "ctxlab.pytest_plugin"] if how == "and -p" else []
    others = [word for name in ("nbval", "hypothesispytest", "anyio") for word in ("-p", f"no:{name}")]
    told = run_project(*others, *words, cwd=tmp_path, plugin=False, PYTHONPATH=entry_point)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "1 passed" in told.stdout


def test_loading_the_plugin_loads_nothing_else_of_the_package():
    program = (
        "import json, sys, pytest\nbefore = set(sys.modules)\nimport ctxlab.pytest_plugin\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert json.loads(told.stdout) == ["ctxlab", "ctxlab.pytest_plugin"]


def test_a_request_nobody_can_read_is_a_warning_and_not_a_failure(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_it(stable_prefix):\n    stable_prefix.record({'messages': 3})\n", encoding="utf-8"
    )
    told = run_project(cwd=tmp_path)
    assert told.returncode == 0
    assert "a request could not be read: messages: is a number" in told.stdout


def test_the_fixture_is_documented_where_pytest_shows_it():
    assert pytest_plugin.stable_prefix.__doc__
