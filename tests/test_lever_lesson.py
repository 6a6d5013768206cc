"""Promises of notebook 04: what it says is what the cache, the levers and the recordings say."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from ctxlab import levers, places, recordings, validity
from ctxlab.checks import caps, check, exercises, lesson_04, lessons, playground, predict, predictions, twins
from ctxlab.checks.runs import MODEL, Asked, Piece, bill_usd, run_pieces, words
from ctxlab.errors import InvalidRequestError
from ctxlab.levers import policy
from ctxlab.notebooks import source
from ctxlab.takeaways import break_even_sheet

ROOT = Path(places.__file__).parent.parent
NOTEBOOK = ROOT / "notebooks" / "source" / "04-four-growth-levers.py"


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))


def text_of_the_notebook() -> str:
    return NOTEBOOK.read_text(encoding="utf-8")


# --- a cap on a recorded session


def test_the_given_boxes_name_the_figures_of_the_runs_they_describe():
    text, stable = text_of_the_notebook(), playground.STABLE_TOKENS
    each, deep = caps.capped(), caps.capped(caps.SPILL)
    cuts, rest = set(each.cuts), 253 - len(each.cuts)
    others = sum((bill_usd(plan) for turn, plan in enumerate(each.plans, 1) if turn not in cuts), Decimal(0))
    assert f"On {len(cuts)} turns something is dropped." in text
    assert f"hold {len(cuts) * stable:,} stable tokens and {len(cuts) * caps.CAP:,} of history" in text
    assert f"The other {rest} turns cost {100 * others:.0f} cents in all." in text
    assert (
        f"{caps.recorded_usage().total_input_tokens:,} tokens of input for ${caps.recorded_usd():.2f}" in text
    )

    cuts = set(deep.cuts)
    kept = [turn for turn in range(1, 254) if turn not in cuts]
    new = sum(deep.new_tokens[turn - 1] for turn in kept)
    held = sum(deep.history_tokens[turn - 1] for turn in kept) - new + stable * len(kept)
    assert f"That happens on {len(cuts)} turns." in text
    assert f"hold {len(cuts) * stable:,} stable tokens and {len(cuts) * 20_000:,} of history" in text
    assert f"The other {len(kept)} requests hold {held:,} tokens" in text
    assert f"and {new:,} new ones" in text


def test_the_truths_follow_from_the_given_boxes_alone():
    read, write = Decimal("0.5") / 10**6, Decimal("6.25") / 10**6
    each = 4_118_288 * read + 9_920_000 * write + Decimal("0.17")
    deep = (132_848 + 11_260_346) * read + (160_000 + 152_865) * write
    assert abs(each / caps.capped().usd - 1) < Decimal("0.001")
    assert abs(deep / caps.capped(caps.SPILL).usd - 1) < Decimal("0.001")


def test_a_cap_on_every_turn_loses_and_one_in_steps_wins_under_every_assumption_shown():
    without = caps.recorded_usd()
    stable = caps.own_stable_tokens()
    each = [{}, {"marked": False}, {"whole_turns": True}, {"stable": stable}, {"read_again": 20}]
    deep = [{}, {"whole_turns": True}, {"stable": stable}, {"read_again": 20}, {"read_again": 40}]
    assert all(caps.capped(**one).usd > 3 * without for one in each)
    assert all(caps.capped(caps.SPILL, **one).usd < without for one in deep)
    fresh = caps.recorded_usage().total_input_tokens * caps.fresh_usd(caps.RECORDED_MODEL)
    assert all(caps.capped(spill).uncached_usd < fresh for spill in (0, caps.SPILL))


def test_the_compaction_of_the_recorded_session_is_told_and_without_it_more_is_paid():
    turns = recordings.session(playground.SESSION).turns
    (at,) = [turn.index for turn in turns if turn.after_compaction]
    assert f"one compaction by the client on turn {at + 1}" in text_of_the_notebook()
    whole = caps.capped(cap=None)
    assert whole.cuts == ()
    assert whole.usd > caps.recorded_usd()
    assert max(whole.history_tokens) + playground.STABLE_TOKENS > 200_000
    assert lesson_04.caps_table().text.count("(recorded)") == 1


def test_a_cut_history_is_never_above_the_cap_and_only_a_turn_with_a_cut_writes_more_than_is_new():
    for run in (caps.capped(), caps.capped(caps.SPILL), caps.capped(whole_turns=True)):
        assert max(run.history_tokens) <= caps.CAP
        for turn, (plan, new) in enumerate(zip(run.plans, run.new_tokens, strict=True), 1):
            assert (plan.written_5m_tokens > new) == (turn in run.cuts)


def test_growth_adds_up_to_the_recorded_requests_but_for_the_compaction():
    sizes = [usage.total_input_tokens for usage in recordings.session(playground.SESSION).usages]
    grown = playground.growth()
    assert max(turn.gap_s or 0 for turn in recordings.session(playground.SESSION).turns) < 300
    fallen = [later - one for one, later in pairwise(sizes) if later < one]
    assert len(fallen) == 1
    assert sum(grown) == sizes[-1] - playground.STABLE_TOKENS - fallen[0]


def test_the_recorded_compactions_left_what_the_notebook_says():
    before, turn = lesson_04.client_compaction()
    usage = turn.usage
    assert (before, usage.cache_read_input_tokens) == (166_919, playground.STABLE_TOKENS)
    assert f"{caps.own_stable_tokens():,} is what this session itself still read" in text_of_the_notebook()


# --- a log in the way, and the closed form


def test_the_lever_and_the_pieces_agree_on_the_break_even_turn_and_so_does_the_closed_form():
    kept, offloaded = lesson_04.log_session(False), lesson_04.log_session(True)
    turn = lesson_04.first_cheaper(kept, offloaded)
    request = lesson_04.warm_request()
    ledger = levers.PrefixLedger.of(request, counter=words)
    assert levers.offload(request, which="all", ledger=ledger).effect.break_even_turn() == turn
    assert lesson_04._pays(19_985, 4_015, 0.05, 1.25) == turn


def test_the_request_of_the_lever_has_the_sizes_of_the_given_box():
    ledger = levers.PrefixLedger.of(lesson_04.warm_request(), counter=words)
    assert abs(ledger.tokens_of("messages[2]") - 20_000) <= 30
    assert abs(ledger.fixed_tokens - 6_000) <= 30
    assert abs(sum(ledger.message_tokens()[3:]) - 4_000) <= 30


def test_offloading_touches_nothing_in_front_only_before_the_payload_was_sent():
    assert "nothing in front is touched" in lesson_04.at_arrival()
    rows = lesson_04.by_hand_and_by_the_lever().__repr__().splitlines()[2:4]
    assert [row.rsplit("|", 1)[1].strip() for row in rows] == ["from request 5 on"] * 2


@pytest.mark.parametrize("seed", range(5))
def test_the_closed_form_of_exercise_2_is_what_the_cache_bills(seed):
    rng = random.Random(seed)
    removed, behind, turns = rng.randrange(2_000, 40_000), rng.randrange(1_000, 40_000), rng.randrange(1, 30)

    def usd(drop: bool) -> Decimal:
        asked = []
        for turn in range(turns + 1):
            old = [] if drop and turn else [Piece("old", removed)]
            more = [Piece(f"turn {n}", 300) for n in range(1, turn + 1)]
            pieces = (Piece("stable", 3_000, "system"), *old, Piece("behind", behind), *more)
            asked.append(Asked(pieces, {0: "5m", len(pieces) - 1: "5m"}))
        return sum(map(bill_usd, run_pieces(asked)[1:]), Decimal(0))

    saved = (usd(False) - usd(True)) / caps.fresh_usd(MODEL)
    assert float(saved) == pytest.approx(lesson_04._net(removed, behind, turns, 0.05, 1.25))


def test_the_exit_question_tells_what_the_session_costs_left_alone():
    left_alone = lesson_04.hundred_turns(False).usd.normalize()
    assert f"Left alone, the 100 turns cost ${left_alone}." in text_of_the_notebook()
    share = 1 - lesson_04.hundred_turns().tokens / lesson_04.hundred_turns(False).tokens
    assert f"{share:.0%}".replace("%", " %") in lessons.prediction("04-exit").option("A").text


def test_the_first_question_tells_how_many_tokens_go():
    share = 1 - caps.capped().tokens / caps.recorded_usage().total_input_tokens
    assert f"{share:.0%}".replace("%", " %") in lessons.prediction("04-a").option("A").text


# --- the playground


def test_the_levers_of_the_house_come_to_the_same_bill_as_the_playground():
    for twin in twins.twins():
        assert twin.levers_usd == twin.pieces_usd, twin
        assert twin.levers_rewrites == twin.pieces_rewrites, twin


def test_the_short_session_makes_every_policy_act():
    acted = {twin.policy for twin in twins.twins() if twin.levers_rewrites}
    assert acted == set(playground.POLICIES) - {"nothing but caching", "offload at arrival"}
    costs = {twin.policy: twin.levers_usd for twin in twins.twins()}
    assert costs["offload at arrival"] < costs["nothing but caching"]


def test_every_request_of_the_short_session_is_valid():
    request = twins.short_request()
    assert validity.check(request) == []


def test_the_generated_session_has_the_sizes_and_the_pauses_of_the_recorded_one():
    talk, logged = playground.conversation(), recordings.session(playground.SESSION).turns
    assert len(talk.turns) == len(logged)
    for step, grown, turn in zip(talk.turns[1:], playground.growth()[1:], logged[1:], strict=True):
        assert step.answer + sum(step.results) + step.line == grown
        if grown:
            assert len(step.results) == sum(block.type == "tool_result" for block in turn.blocks)
        assert step.pause_s == max(turn.gap_s or 0, 0) + 1
    early = sum(step.answer + sum(step.results) + step.line for step in talk.early)
    assert abs(early - playground.growth()[0]) <= 2 * playground.LINE_TOKENS


def test_another_seed_draws_another_beginning_and_leads_to_the_same_order():
    one, other = playground.conversation(0), playground.conversation(1)
    assert one.early != other.early
    assert one.turns == other.turns
    names = ("trim in batches", "nothing but caching", "trim on every turn")
    for talk in (one, other):
        paid = [playground.play(name, talk).usd[-1] for name in names]
        assert paid == sorted(paid)


def test_with_a_cache_trimming_on_every_turn_is_dearest_and_without_one_doing_nothing_is():
    cached = {name: playground.play(name).usd[-1] for name in playground.POLICIES}
    uncached = {name: playground.play(name, cached=False).usd[-1] for name in playground.POLICIES}
    assert max(cached, key=lambda name: cached[name]) == "trim on every turn"
    assert cached["trim on every turn"] > 4 * cached["nothing but caching"]
    assert max(uncached, key=lambda name: uncached[name]) == "nothing but caching"


def test_each_planted_fact_stands_in_a_block_and_its_fate_fits_the_policy():
    talk = playground.conversation()
    for fact in playground.FACTS:
        step = talk.turns[fact.turn]
        assert {"result": step.results, "line": step.line, "answer": step.answer}[fact.kind]
        assert levers.find_facts(f"it is {fact.text} now") == (fact.text,)
    runs = {name: playground.play(name) for name in playground.POLICIES}
    assert set(runs["nothing but caching"].fates) == {"window"}
    assert set(runs["offload at arrival"].fates) == {"window", "store"}
    for name, run in runs.items():
        for fact, fate in zip(playground.FACTS, run.fates, strict=True):
            assert fate != "store" or fact.kind == "result"
            if isinstance(fate, int):
                assert fate > fact.turn
            if name == "clear in batches" and fact.kind != "result":
                assert fate == "window"


def test_the_summary_keeps_as_many_facts_as_the_notebook_says():
    assert len(playground.IN_THE_SUMMARY) == 5
    assert {fact.text for fact in playground.FACTS} > playground.IN_THE_SUMMARY


def test_a_rewrite_is_a_turn_that_reads_less_than_was_left():
    assert playground.play("nothing but caching").rewrites == ()
    assert playground.play("offload at arrival").rewrites == ()
    assert len(playground.play("trim in batches").rewrites) < 10
    assert len(playground.play("trim on every turn").rewrites) > 150


def test_the_picture_says_in_words_what_it_shows():
    figure = lesson_04.six_policies()
    for name in playground.POLICIES:
        run = playground.play(name)
        assert f"{name}: ${run.usd[-1]:.2f}, {len(run.rewrites)} rewrite" in figure.text
        assert f"{name} ${run.usd[-1]:.2f} and {run.kept} of 10 facts" in figure.alt
    assert lesson_04.policy(4, 1).svg != lesson_04.policy(4, 0).svg != lesson_04.policy(1, 0).svg


# --- exercises


def test_other_seeds_ask_other_questions_of_the_same_rules():
    for name in ("04-1", "04-2", "04-4", "04-5"):
        asked = lessons.exercise(name)
        one, other = (asked.cases(random.Random(seed)) for seed in (1, 2))
        assert [case.rule for case in one] == [case.rule for case in other]
        assert [case.args for case in one] != [case.args for case in other]


def test_the_example_of_exercise_1_gives_what_is_expected():
    talk = lesson_04.small_talk()
    assert "`keep=3` gives 5, `keep=2` gives 7 and `keep=7` gives 1" in text_of_the_notebook()
    assert [lesson_04._safe_places(talk, keep)[-1] for keep in (3, 2, 7)] == [5, 7, 1]
    assert validity.check({"messages": talk}, MODEL) == []


def test_a_cut_through_a_pair_is_answered_in_the_words_of_the_api():
    told = repr(check("04-1", lambda messages, keep: max(len(messages) - keep, 0)))
    assert "Rule `pairs-stay-together`" in told
    assert "unexpected `tool_use_id` found in `tool_result` blocks" in told


@pytest.mark.parametrize("got", [5.0, "2", None, [], -1, 10**6, True])
def test_whatever_a_learner_returns_is_told_in_a_panel(got):
    assert check("04-1", lambda messages, keep: got).word in ("BROKEN RULE", "NOT YET")
    assert check("04-2", lambda *a, **k: got, lambda *a, **k: got).word in ("BROKEN RULE", "NOT YET")
    assert check("04-4", lambda *a: got).word in ("BROKEN RULE", "NOT YET")
    assert check("04-5", lambda texts: got).word in ("BROKEN RULE", "NOT YET")


def test_the_trace_of_exercise_4_is_priced_as_the_policy_prices_an_even_one():
    added, cap, size = [500] * 300, 40_000, 20_000
    mine = lesson_04.spill_usd(added, cap, size, 0.1, 1.25)
    theirs = policy.batches_usd(
        caps.RECORDED_MODEL, cap_tokens=cap, batch_tokens=size, fixed_tokens=0, added_tokens=500, turns=300
    )
    assert mine * 5 / 10**6 == pytest.approx(float(theirs), rel=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_fewest_tokens_and_fewest_dollars_are_two_sizes_in_some_case_of_exercise_4(seed):
    for case in lessons.exercise("04-4").cases(random.Random(seed)):
        added, cap, sizes, *_ = case.args
        fewest = min(sizes, key=lambda size: lesson_04.spill_tokens(added, cap, size))
        if case.rule != "the-trace-decides":
            assert (fewest == case.expected) == (case.rule == "batch-the-rewrite")


@pytest.mark.parametrize("name", ["04-a", "04-exit"])
def test_the_options_in_dollars_are_equally_rough_and_fit_one_idea_each(name):
    asked = lessons.prediction(name)
    ideas = {None: asked.truth, **asked.misconceptions}
    for option in asked.options:
        said = re.findall(r"^About \$(\d+), because ", option.text)
        exact = Fraction(ideas[option.misconception]()["usd"])
        assert abs(Fraction(said[0]) / exact - 1) < Fraction(1, 14)
        outcome = predictions.grade(asked, None, {"usd": Fraction(said[0])})
        assert (outcome.name != "exact") or option.misconception is None
    assert predictions.grade(asked, None, {"usd": Fraction(60 if name == "04-a" else 15)}).name != "exact"


def test_a_rewrite_counted_without_the_read_it_replaces_is_known_and_a_neighbour_is_near():
    asked = lessons.prediction("04-c")
    assert predictions.grade(asked, None, {"request": Fraction(6)}).misconception == "a-rewrite-saves-no-read"
    assert predictions.grade(asked, None, {"request": Fraction(4)}).name == "right-rule"


def test_without_a_unit_a_label_stands_alone_in_what_is_wanted():
    assert "pays from request number)" in repr(predict("04-c"))


def test_every_kind_of_planted_fact_is_found_by_pattern_and_lost_by_a_paraphrase():
    for seed in range(20):
        facts = lesson_04._planted(random.Random(seed))
        assert len(facts) == len(set(facts)) == 10
        said = " and ".join(facts)
        assert levers.missing(facts, " ".join(levers.find_facts(said))) == ()
        assert levers.missing(facts, said.lower()) != ()


def test_the_budget_of_exercise_5_is_the_number_of_words_the_text_names():
    assert lesson_04.carried_usd("word " * 400) <= lesson_04.MOST_USD < lesson_04.carried_usd("word " * 410)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("tokens of the file", [60_000, "60,000", "60 000 tokens", 6e4], [800, "sixty", 61_000]),
        ("tokens of the rest", [285, 286, 287, "286.4"], [300, 301, 283]),
        ("times, with the tool", [67, 67.2, "67.1 times", "67×"], [68, 200, 67.9]),
        ("times, with reads", [15.5, 15.4, "15.5 x"], [15, 67.1, True, [15.5]]),
    ],
)
def test_a_figure_of_exercise_3_may_be_written_as_people_write_it_and_near_is_not_right(name, right, wrong):
    figures = {one: value for one, (_, value) in lesson_04._offload_figures().items()}
    asked = lessons.exercise("04-3")
    assert all(exercises.judge(asked, [{**figures, name: one}]).state == "done" for one in right)
    assert all(exercises.judge(asked, [{**figures, name: one}]).state == "stuck" for one in wrong)


@pytest.mark.parametrize("seed", range(6))
def test_a_history_that_just_fills_the_cap_is_not_cut(seed):
    def too_early(added, cap, sizes, r, w):
        return min(sizes, key=lambda size: lesson_04.spill_usd(added, cap - 1, size - 1, r, w))

    verdict = exercises.judge(lessons.exercise("04-4"), [too_early], seed=seed)
    assert verdict.rule == "the-trace-decides"
    assert verdict.case is not None
    assert verdict.case.label == "a history that just fills the cap"


def test_nothing_outside_a_reveal_says_what_a_cut_writes_again():
    text = text_of_the_notebook()
    open_text = text[: text.index("### Exercise 04-2")]
    for giveaway in (
        "the cap pays",
        "write - read",
        "written again.",
        "1.25 * ",
        "(write",
        "Without a cache, tokens",
    ):
        assert giveaway not in open_text


def test_the_derived_figures_are_those_of_the_document():
    figures = {name: value for name, (_, value) in lesson_04._offload_figures().items()}
    assert figures["tokens of the file"] == 60_000
    assert pytest.approx(200, rel=0.01) == 60_285 / 300
    assert round(figures["times, with the tool"]) == 67


def test_no_word_of_the_header_says_what_the_predictions_ask():
    front = source.edition(source.read(NOTEBOOK), answered=False)[0].text
    for giveaway in ("again", "rewrit", "batch", "anew", "$", "every turn"):
        assert giveaway not in front.replace("grows with every turn", "")


# --- the page to take to work


def test_the_sheet_says_what_the_effects_say_and_writes_no_text(tmp_path):
    page, request = tmp_path / "sheet.md", lesson_04.warm_request()
    shown = break_even_sheet(request, turns=7, write_to=page)
    ledger = levers.PrefixLedger.of(request)
    effect = levers.offload(request, which="all", at_least_tokens=100, ledger=ledger).effect
    (row,) = [line for line in shown.text.splitlines() if line.startswith("offload")]
    assert f"{effect.removed_tokens:,}" in row
    assert row.endswith(f"request {effect.break_even_turn()}")
    written = page.read_text(encoding="utf-8")
    assert shown.text in written
    assert "rule rule" not in written
    assert "row row" not in written


def test_the_sheet_reads_a_file_as_it_reads_a_dict_and_changes_neither(tmp_path):
    request = twins.short_request()
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    before = json.dumps(request)
    assert break_even_sheet(path).text == break_even_sheet(request).text
    assert json.dumps(request) == before


def test_a_request_that_is_broken_is_named_and_one_with_nothing_to_do_says_so(tmp_path):
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    broken = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [call]}, _hi()],
    }
    with pytest.raises(InvalidRequestError):
        break_even_sheet(broken, write_to=tmp_path / "page.md")
    assert not (tmp_path / "page.md").exists()
    assert break_even_sheet({"model": MODEL, "messages": [_hi()]}).text.count("nothing to take out") == 3


def _hi() -> dict[str, str]:
    return {"role": "user", "content": "Hi"}


def test_a_session_gets_a_sheet_of_caps_and_a_cap_on_every_turn_is_its_dearest(tmp_path):
    page = tmp_path / "caps.md"
    shown = break_even_sheet(recordings.session(playground.SESSION), write_to=page)
    lines = {line.split("|")[0].strip(): line.split("|")[1].strip() for line in shown.text.splitlines()[2:]}
    paid = {name: float(value.removeprefix("$")) for name, value in lines.items()}
    assert max(paid, key=lambda name: paid[name]) == "cap, cut on every turn"
    assert min(paid, key=lambda name: paid[name]).endswith("the cheapest")
    assert shown.text in page.read_text(encoding="utf-8")


def test_a_folder_of_logs_of_an_unknown_model_is_not_priced(tmp_path):
    usage = {"input_tokens": 10, "output_tokens": 1}
    rows = [{"message": {"id": f"m{n}", "model": "some-model", "usage": usage}} for n in range(3)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert "unknown" in break_even_sheet(tmp_path).text


def test_wrong_answers_are_judged_without_a_picture_where_there_is_none():
    verdict = exercises.judge(lessons.exercise("04-1"), [lambda messages, keep: len(messages)])
    assert (verdict.state, verdict.rule) == ("stuck", "pairs-stay-together")
