"""The cases of data/scenarios: rules and emulator agree on each, each would notice its rule being broken."""

from __future__ import annotations

import asyncio
from itertools import accumulate

import pytest

from ctxlab import breakpoints, tokens, validity
from ctxlab.cache import CacheRules, Layout, invalidations, layout, rules
from ctxlab.catalogue import get_model
from ctxlab.clock import ManualClock
from ctxlab.conformance.ledger import ledger
from ctxlab.errors import InvalidRequestError
from ctxlab.prompt import Prompt
from ctxlab.scenarios import (
    Answer,
    Claim,
    Outcome,
    Scenario,
    ScenarioError,
    by_rules,
    check,
    on_emulator,
    play,
    read_scenarios,
    scenarios,
)
from ctxlab.scenarios.claims import figures_of
from ctxlab.scenarios.files import paragraphs

CASES = {case.name: case for case in scenarios()}
EMULATED = [case for case in CASES.values() if not case.not_emulated]

#: What a change loses that no case can show yet, and why. What the emulator learns belongs in a case.
WITHOUT_A_CASE = {
    "thinking blocks dropped, on models with bound thinking": "needs thinking that the API has signed",
}


# --- every case


@pytest.mark.parametrize("case", EMULATED, ids=lambda case: case.name)
def test_the_emulator_answers_what_the_rules_say_and_the_case_claims(case):
    outcomes = on_emulator(case)
    assert check(case, outcomes) == []
    for outcome, usage in zip(outcomes, by_rules(case), strict=True):
        if usage is not None:
            assert figures_of(outcome.usage) == figures_of(usage), outcome.step.number


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_the_rules_alone_bear_out_what_the_case_claims(case):
    told = [{} if usage is None else figures_of(usage) for usage in by_rules(case)]
    for i, step in enumerate(case.steps):
        for claim in step.expect:
            if told[i] and all(told[of - 1] for of in claim.steps):
                assert claim.holds(told, i), claim.told(told, i)


def test_the_rules_have_a_say_in_almost_every_step():
    """Refused, only counted, or the one conversation that is summarised: nothing else goes unchecked."""
    for case in CASES.values():
        silent = [step for step, usage in zip(case.steps, by_rules(case), strict=True) if usage is None]
        unexplained = [step for step in silent if step.refused is None and step.endpoint == "messages"]
        assert not unexplained or case.name == "paused-behind-the-summary"


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.not_emulated], ids=lambda case: case.name
)
def test_what_is_said_not_to_be_emulated_is_not(case):
    """One that could be emulated by now should be."""
    assert 501 in [outcome.answer.status for outcome in on_emulator(case)]


# --- the rules they are about


def test_there_are_cases_enough():
    assert len(CASES) >= 25


def test_every_rule_that_a_case_names_exists():
    model = get_model("claude-haiku-5-5")
    known = {*rules(), *breakpoints.MARKER_RULES, *validity.RULES, *tokens.constants_of("v4.8", model)}
    known |= {entry.id.removeprefix("api/") for entry in ledger().entries}
    assert {rule for case in CASES.values() for rule in case.rules} <= known
    assert {row for case in CASES.values() for row in case.changes} <= {row.change for row in invalidations()}


def test_every_rule_of_the_cache_has_a_case():
    assert set(rules()) - {rule for case in CASES.values() for rule in case.rules} == set()


def test_every_marker_fault_but_those_of_form_has_a_case():
    form = {"marker-shape", "marker-field"}  # the SDK's types do not let them pass
    assert set(breakpoints.MARKER_RULES) - {rule for case in CASES.values() for rule in case.rules} == form


def test_every_change_that_loses_something_has_a_case_or_a_reason():
    shown = {row for case in CASES.values() for row in case.changes}
    assert {row.change for row in invalidations()} - shown == set(WITHOUT_A_CASE)


#: The other value of each switch. A rule with a switch that is not here has no case that would notice.
OTHERWISE = {
    "deep_hit_refreshes": "itself",
    "expiry_grace_s": 60.0,
    "image_presence_invalidates_messages": True,
    "long_marker_upgrades": True,
    "marker_inside_result": "ignored",
    "marker_before_hit_creates": True,
    "schema_key_order": "sorted",
    "thinking_change_loses": "messages",
    "tool_run_positions": "each",
    "unknown_floor_tokens": 512,
    "unlisted_parameter_loses": "messages",
    "visibility_delay_s": 5.0,
    "written_out_defaults": "same",
}


@pytest.mark.parametrize("rule", [rule for rule in rules().values() if rule.switch], ids=lambda rule: rule.id)
def test_a_case_notices_when_its_rule_is_switched_the_other_way(rule):
    other = CacheRules(**{rule.switch: OTHERWISE[rule.switch]})
    about = [case for case in EMULATED if rule.id in case.rules]
    assert any(check(case, on_emulator(case, rules=other)) for case in about)


@pytest.mark.parametrize(
    ("positions", "notices"), [(19, "nineteen-blocks-later"), (21, "twenty-blocks-later")]
)
def test_a_lookback_one_shorter_or_longer_is_noticed(monkeypatch, positions, notices):
    monkeypatch.setattr(layout, "LOOKBACK_POSITIONS", positions)
    assert check(CASES[notices], on_emulator(CASES[notices]))


def test_an_answer_that_is_not_refused_is_noticed():
    case = CASES["markers-refused"]
    fine = Answer(200, {"usage": {"input_tokens": 1, "output_tokens": 1}})
    outcomes = [Outcome(step, fine, None, {}) for step in case.steps]
    assert [problem.rule for problem in check(case, outcomes)] == ["refused"] * len(case.steps)


def test_a_refusal_where_none_was_expected_is_noticed_in_every_claim_about_it():
    case = CASES["written-then-read"]
    refused = Answer(400, {"error": {"message": "no"}})
    first, *others = on_emulator(case)
    problems = check(case, [Outcome(first.step, refused, None, {}), *others])
    assert {problem.rule for problem in problems} == {"answered", "claim"}


# --- what they send


def marked_prefixes(case: Scenario) -> set[str]:
    found = set()
    for step in case.steps:
        try:
            prompt = Prompt.from_request(step.request)
            seen = Layout.from_prompt(prompt, tokens.count(prompt, step.request["model"]))
        except InvalidRequestError:
            continue  # one of the refusals
        found |= {seen.positions[marker.position].digest for marker in seen.markers}
    return found


def test_no_run_can_read_what_another_run_or_another_case_wrote():
    everywhere = [marked_prefixes(case) for run in ("monday", "tuesday") for case in scenarios(run)]
    assert sum(map(len, everywhere)) == len(set().union(*everywhere))


def test_cases_that_can_be_sent_keep_away_from_the_end_of_a_lifetime():
    """The API counts from when a request arrives, which nobody here knows to the second."""
    for case in CASES.values():
        starts = [*accumulate(step.wait_s for step in case.steps)]
        gaps = {later - start for i, start in enumerate(starts) for later in starts[i:]}
        near = [gap for gap in gaps for end_s in (300, 3600) if abs(gap - end_s) < 10]
        assert case.not_live or not near, case.name


def test_steps_that_are_together_are_all_sent_before_one_is_answered():
    sent: list[int] = []

    async def ask(step):
        sent.append(step.number)
        await asyncio.sleep(0)
        assert sent[:2] == [1, 2]
        return Answer(200, {"usage": {"input_tokens": 1, "output_tokens": 1}})

    async def sleep(seconds):
        pass

    outcomes = asyncio.run(play(CASES["sent-together"], ask, ManualClock(), sleep))
    assert [outcome.step.number for outcome in outcomes] == sent == [1, 2, 3]


def test_waits_count_from_start_to_start_however_long_an_answer_took():
    clock, starts = ManualClock(), []

    async def ask(step):
        starts.append(clock.now_s())
        clock.advance(100)
        return Answer(200, {"usage": {"input_tokens": 1, "output_tokens": 1}})

    async def sleep(seconds):
        clock.advance(seconds)

    case = CASES["every-read-starts-the-life-anew"]
    asyncio.run(play(case, ask, clock, sleep))
    assert starts == list(accumulate(step.wait_s for step in case.steps))


# --- how they are written

PLAIN = """
model = "claude-haiku-5-5"
[[scenario]]
name = "a case"
says = "something"
rules = ["floor"]
request.messages = [{ role = "user", content = [{ type = "text", text = "Hello", mark = "5m" }] }]
[[scenario.step]]
expect = ["read = 0"]
"""


def written(tmp_path, text):
    path = tmp_path / "cases.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_step_sends_the_request_of_the_step_before_with_its_changes(tmp_path):
    more = """
[[scenario.step]]
unmark = true
change.max_tokens = 1
append = [{ role = "assistant", content = "Hi" }, { role = "user", content = "Bye {n}", repeat = 2 }]
expect = ["read = 0"]
[[scenario.step]]
endpoint = "count_tokens"
drop = ["model"]
expect = ["total > 0"]
"""
    (case,) = read_scenarios(written(tmp_path, PLAIN + more))
    first, second, third = (step.request for step in case.steps)
    mark = {"type": "ephemeral", "ttl": "5m"}
    assert first["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hello", "cache_control": mark}]}
    ]
    assert (first["model"], first["max_tokens"], second["max_tokens"]) == ("claude-haiku-5-5", 16, 1)
    assert second["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Bye 1"},
        {"role": "user", "content": "Bye 2"},
    ]
    assert third == {"messages": second["messages"]}


def test_paragraphs_stand_where_a_block_keeps_its_words(tmp_path):
    blocks = """
request.tools = [{ name = "t", paragraphs = 1, input_schema = {} }]
request.system = [{ type = "text", paragraphs = 1, about = "rope" }]
"""
    text = PLAIN.replace("request.messages", blocks + "request.messages").replace(
        '{ type = "text", text = "Hello", mark = "5m" }',
        '{ type = "tool_result", tool_use_id = "x", paragraphs = 2 }, '
        '{ type = "document", source = { type = "text", media_type = "text/plain", paragraphs = 1 } }',
    )
    (case,) = read_scenarios(written(tmp_path, text), run="r")
    request = case.steps[0].request
    result, document = request["messages"][0]["content"]
    assert request["tools"][0]["description"] == paragraphs(1, "a case, run r")
    assert request["system"][0]["text"] == paragraphs(1, "rope, a case, run r")
    assert result["content"] == paragraphs(2, "a case, run r")
    assert document["source"]["data"] == paragraphs(1, "a case, run r")


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('name = "a case"\n', "", "required"),
        ('rules = ["floor"]\n', "", "required"),
        ('says = "something"', 'says = "something"\nsaid = 1', "known-field"),
        ('expect = ["read = 0"]', 'expect = ["read = 0"]\nwait = 3', "known-field"),
        ('expect = ["read = 0"]', "", "outcome"),
        ('expect = ["read = 0"]', 'expect = ["read = 0"]\nrefused = "no"', "outcome"),
        ('expect = ["read = 0"]', 'expect = ["red = 0"]', "claim"),
        ('expect = ["read = 0"]', 'expect = ["read is 0"]', "claim"),
        ('expect = ["read = 0"]', 'expect = ["read = read of 2"]', "claim"),
        ('expect = ["read = 0"]', 'endpoint = "batches"\nexpect = []', "endpoint"),
        ('expect = ["read = 0"]', "together = true\nexpect = []", "step-before"),
        ('expect = ["read = 0"]', "together = true\nwait_s = 3\nexpect = []", "at-once"),
        ("[[scenario]]", "[[scenario", "toml"),
        (
            "[[scenario.step]]",
            PLAIN.partition('"\n')[2].partition("[[scenario.step]]")[0] + "[[scenario.step]]",
            "",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named_by_case_and_rule(tmp_path, old, new, rule):
    assert old in PLAIN
    with pytest.raises(ScenarioError) as wrong:
        read_scenarios(written(tmp_path, PLAIN.replace(old, new)))
    assert rule in [problem.rule for problem in wrong.value.problems] or not rule
    assert all(problem.path.startswith("cases.toml") for problem in wrong.value.problems)


def test_two_cases_of_one_name_are_refused(tmp_path):
    twice = PLAIN + PLAIN.partition("\n[[")[2].join(["\n[[", ""])
    with pytest.raises(ScenarioError, match="unique"):
        read_scenarios(written(tmp_path, twice))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("read = 10", True),
        ("read = written of 1 + 3", True),
        ("read > written of 1", True),
        ("read + fresh < total", False),
        ("total = read + fresh", True),
    ],
)
def test_a_claim_compares_two_sums(text, holds):
    told = [{"written": 7}, {"read": 10, "fresh": 2, "total": 12}]
    assert Claim.parse(text).holds(told, 1) is holds
