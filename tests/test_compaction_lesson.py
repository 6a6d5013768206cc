"""Promises of notebook 05: it says what recordings, cache and emulator say, and its bill is whole."""

from __future__ import annotations

import doctest
import json
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxlab import cost, places, recordings
from ctxlab.cache import Plan
from ctxlab.catalogue import get_model
from ctxlab.checks import check, exercises, lesson_05, lessons, managed, predictions
from ctxlab.checks.runs import words
from ctxlab.clock import ManualClock
from ctxlab.emulator import ContextRules, Emulator
from ctxlab.errors import InvalidArgumentError, InvalidUsageError, RecordingError
from ctxlab.figures.iceberg import Berg, iceberg
from ctxlab.notebooks import source
from ctxlab.takeaways import true_bill_page
from ctxlab.usage import Usage

ROOT = Path(places.__file__).parent.parent
NOTEBOOK = ROOT / "notebooks" / "source" / "05-compaction-and-editing.py"
TEXT = NOTEBOOK.read_text(encoding="utf-8")
SECRET = "a sentence that must stay at home"


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))


def sizes(plan: Plan) -> list[int]:
    ends = [position.cumulative_tokens or 0 for position in plan.layout.positions]
    return [end - before for before, end in zip([0, *ends], ends, strict=False)]


# --- what is recorded


def test_a_paused_compaction_shows_two_zeros_and_bills_what_the_given_box_says():
    paused = lesson_05.usage_of(lesson_05.PAUSED)
    assert (paused.input_tokens, paused.output_tokens) == (0, 0)
    assert (paused.billed_input_tokens, paused.billed_output_tokens) == (83_555, 139)
    assert "read 83,555 tokens and put out 139" in TEXT
    parameters = recordings.exchange(lesson_05.PAUSED).parameters
    (edit,) = parameters["context_management"]["edits"]
    assert edit["pause_after_compaction"] is True
    assert edit["trigger"]["value"] == 50_000


def test_the_paused_request_goes_on_from_the_one_that_is_shown_before_it():
    before, paused = (recordings.exchange(name) for name in (lesson_05.BEFORE, lesson_05.PAUSED))
    assert before.sequence == paused.sequence
    assert paused.step == (before.step or 0) + 1
    assert before.usage is not None
    assert before.usage.billed_input_tokens == before.usage.input_tokens


def test_both_passes_of_the_second_prediction_are_of_one_conversation():
    cold, warm = (recordings.exchange(name) for name in (lesson_05.COLD, lesson_05.WARM))
    assert [block.sha256 for block in cold.blocks] == [block.sha256 for block in warm.blocks]
    first, second = (lesson_05._pass(lesson_05.usage_of(one)) for one in (lesson_05.COLD, lesson_05.WARM))
    assert first.total_input_tokens == second.total_input_tokens
    for figure in (first.cache_creation_input_tokens, first.input_tokens, first.output_tokens):
        assert f"{figure:,} " in TEXT
    assert f"{second.output_tokens} tokens" in TEXT
    assert f"cost ${lesson_05.pass_usd(lesson_05.usage_of(lesson_05.COLD)):.3f}" in TEXT


def test_the_prices_of_the_second_prediction_are_those_of_the_list():
    rates = lesson_05.rates_of("claude-sonnet-4-6")
    told = f"fresh ${rates['fresh']:g}, written ${rates['written']:g}, read ${rates['read']:.2f}"
    assert f"{told}, output ${rates['output']:g}" in TEXT


def test_the_wrong_prices_of_a_pass_are_where_the_options_say():
    asked = lessons.prediction("05-b")
    first = lesson_05.pass_usd(lesson_05.usage_of(lesson_05.COLD))
    share = {name: yields()["usd"] / first for name, yields in asked.misconceptions.items()}
    assert asked.truth()["usd"] / first < Decimal("0.1")
    assert share["a-pass-reads-at-full-price"] == pytest.approx(Decimal("0.8"), abs=Decimal("0.005"))
    assert share["a-pass-is-another-prompt"] == pytest.approx(Decimal(1), abs=Decimal("0.005"))
    assert share["what-is-cached-is-paid"] < Decimal("0.01")


def test_the_given_box_of_the_exit_question_leads_to_its_answer():
    usage = lesson_05.usage_of(lesson_05.REPLIES)
    step = lesson_05._pass(usage)
    conversation = step.input_tokens - 168
    for figure in (conversation, usage.billed_input_tokens):
        assert f"{figure:,} tokens" in TEXT
    assert usage.billed_input_tokens - (conversation + 168) == usage.input_tokens
    assert usage.billed_output_tokens - step.output_tokens == usage.output_tokens
    assert f"put out {step.output_tokens}" in TEXT


def test_prompts_that_went_on_from_a_block_are_as_short_as_the_solution_says():
    told = [
        one.usage.input_tokens
        for one in recordings.exchanges()
        if "compaction_replayed" in one.tags and one.usage is not None and one.usage.iterations
    ]
    assert {216, 255} <= set(told)


def test_the_cuts_of_the_table_are_first_requests_after_a_compaction_while_entries_live():
    for name, at in lesson_05._CUTS:
        turn = recordings.session(name).turns[at]
        assert turn.after_compaction
        assert turn.gap_s is not None
        assert turn.gap_s < 300
    assert "16,606" in repr(lesson_05.after_the_cut())


# --- what is emulated


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_emulator_reads_what_the_third_prediction_says_and_the_switch_what_others_report(when):
    clock = ManualClock()
    client = Emulator(clock=clock, counter=words, context_rules=ContextRules(edits_and_cache=when)).client()
    first, second = managed.four_and_five()
    client.beta.messages.create(**first, betas=[managed.EDITING])
    clock.advance(40)
    answer = client.beta.messages.create(**second, betas=[managed.EDITING])
    asked = lessons.prediction("05-c")
    read, written = (managed.edited()[1].layout.positions[at].cumulative_tokens for at in (-3, -1))
    said = {"before": asked.truth(), "after": {"read": read, "written": written - read}}
    assert asked.read_result(answer) == said[when]
    assert answer.context_management.applied_edits[0].cleared_tool_uses == 2


def test_the_given_box_of_the_third_prediction_names_the_sizes_that_the_requests_have():
    first, second = managed.edited()
    assert sizes(first) == [600, 1500, 50] + [5, 4000] * 4
    assert sizes(second) == [600, 1500, 50] + [5, 9] * 2 + [5, 4000] * 3
    assert sum(sizes(first)) == 18_170
    unedited = sum(sizes(first)) + 5 + 4000
    assert sum(sizes(first)) < 20_000 < unedited


def test_left_alone_nothing_breaks_and_clearing_on_every_turn_breaks_it_every_turn():
    alone, every, batched, compacted, delayed = map(managed.session_under, managed.POLICIES)
    assert alone.rewrites == 0
    assert every.rewrites > managed.TURNS - 5
    assert 0 < compacted.rewrites <= batched.rewrites < every.rewrites / 5
    assert every.usd > alone.usd > batched.usd
    assert every.usd > delayed.usd > alone.usd
    assert delayed.rewrites > managed.TURNS - 15
    assert alone.usd > compacted.usd
    assert every.uncached_usd < min(alone.uncached_usd, batched.uncached_usd, compacted.uncached_usd)


def test_a_compaction_reads_the_conversation_and_its_reply_what_was_marked_in_front():
    drawn = repr(managed.around_the_cut()).splitlines()
    assert "[tools R 600][system R 1500]" in drawn[0]
    assert "history R" in drawn[0]
    assert drawn[1].startswith("[tools R 600][system R 1500]")
    assert "summary F" in drawn[1]


# --- when it pays


def test_the_figures_of_the_plan_come_out_and_the_curve_crosses_there():
    assert managed.turns_to_pay(180_000, 3_500, managed.FIXED_TOKENS) == 4
    assert managed.turns_to_pay(180_000, 3_500, managed.FIXED_TOKENS, cached=False) == 2
    assert "turn 4" in managed.pays_back().text
    assert managed.turns_to_pay(20_000, 3_500, 16_600) is None


@given(
    st.integers(40_000, 400_000),
    st.integers(500, 10_000),
    st.integers(1_000, 25_000),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_before_the_turn_it_has_cost_more_and_from_there_on_it_has_not(history, summary, fixed, cached):
    turns = managed.turns_to_pay(history, summary, fixed, cached=cached)
    rates = managed.rates_for(cached)

    def ahead(turn: int) -> Fraction:
        spent = rates.read * history + rates.output * summary
        written = (rates.write - rates.read) * summary if turn else 0
        return turn * rates.read * history - (spent + written + turn * rates.read * (fixed + summary))

    if turns is None:
        assert history <= fixed + summary
    else:
        assert ahead(turns) >= 0
        assert turns == 1 or ahead(turns - 1) < 0


def test_every_place_of_the_controls_has_a_picture():
    for history in (60_000, 400_000):
        for summary in (500, 10_500):
            for cached in (0, 1):
                assert "from turn" in managed.pays_back(history, summary, cached).alt


# --- the request that is refused


@pytest.mark.parametrize(
    ("rule", "form"),
    [
        ("header", {}),
        ("client", {"betas": [managed.EDITING]}),
        ("dated-names", {**lesson_05._LEGAL, "clearing": "clear_tool_uses"}),
        ("dated-names", {**lesson_05._LEGAL, "compaction": "compact-2026-01-12"}),
        ("thinking-first", {**lesson_05._LEGAL, "order": ["clearing", "thinking", "compaction"]}),
        ("least-trigger", {**lesson_05._LEGAL, "trigger": 40_000}),
        ("thinking-on", {**lesson_05._LEGAL, "parameter": {"type": "disabled"}}),
    ],
)
def test_each_rule_quotes_what_the_emulator_says(rule, form):
    quoted = lessons.exercise("05-2").rules[rule].split("`")[1]
    assert quoted in lesson_05.answer_to(form).replace("`", "")


def test_the_form_filled_in_from_top_to_bottom_ends_in_an_answer():
    form: dict[str, Any] = dict.fromkeys(lesson_05._LEGAL, ...)
    told = [lesson_05.answer_to(form)]
    for name, value in lesson_05._LEGAL.items():
        form[name] = value
        told.append(lesson_05.answer_to(form))
    assert told[0].startswith("400: context_management")
    assert told[-1].startswith("200")
    assert not any(one.startswith("200") for one in told[:-1])


@pytest.mark.parametrize("got", [None, 5, "", [], {"type": 3}, ["thinking"], [["clearing"]], object()])
def test_whatever_stands_in_the_form_is_told_and_never_raised(got):
    for name in lesson_05._LEGAL:
        assert isinstance(lesson_05.answer_to({**lesson_05._LEGAL, name: got}), str)
        panel = check("05-2", {**lesson_05._LEGAL, name: got})
        assert panel.word in ("BROKEN RULE", "NOT YET")
        assert "Traceback" not in repr(panel)


# --- exercises


def test_other_seeds_ask_other_questions_of_the_same_rules():
    for name in ("05-1", "05-3", "05-4", "05-5"):
        asked = lessons.exercise(name)
        one, other = (asked.cases(random.Random(seed)) for seed in (1, 2))
        assert [case.rule for case in one] == [case.rule for case in other]
        assert [case.args for case in one] != [case.args for case in other]


@pytest.mark.parametrize("got", [5, "messages", None, [], (1,), {"input": 3}, [{"role": "user"}], ("", [])])
def test_whatever_a_learner_returns_is_told_in_a_panel(got):
    for name, function in (
        ("05-1", lambda usage, rates: got),
        ("05-3", lambda messages, response, question: got),
        ("05-4", lambda history, summary, fixed, read: got),
        ("05-5", lambda messages, response, exact, question: got),
    ):
        assert check(name, function).word in ("BROKEN RULE", "NOT YET")


def test_a_history_that_is_dropped_behind_a_good_summary_is_as_right_as_one_that_is_ignored():
    def dropping(messages, response, question):
        kept = [] if response["content"][0]["content"] else messages
        said = {"role": "assistant", "content": response["content"]}
        return [*kept, said, {"role": "user", "content": [{"type": "text", "text": question}]}]

    assert exercises.judge(lessons.exercise("05-3"), [dropping]).state == "done"


@pytest.mark.parametrize("figures", [(10_188, 4_005), (18_170, 4_005), (0, 14_193), (0, 14_195)])
def test_both_ways_to_count_an_idea_lead_to_its_name(figures):
    idea = "an-edited-prompt-is-new" if figures[0] == 0 else "edits-come-after-the-cache"
    said = dict(zip(("read", "written"), map(Fraction, figures), strict=True))
    assert predictions.grade(lessons.prediction("05-c"), None, said).misconception == idea


def test_a_reply_sent_back_whole_is_told_in_the_words_of_the_api():
    def whole(messages, response, question):
        return [*messages, response, {"role": "user", "content": question}]

    told = " ".join(repr(check("05-3", whole)).split())
    assert "stop_reason: Extra inputs are not permitted" in told
    assert "`stop_reason` is not sent back" in told


def test_a_bill_rounded_to_millionths_is_right_and_one_rounded_to_cents_is_not():
    asked = lessons.exercise("05-1")

    def rounded(digits):
        def true_bill(usage, rates):
            read_in, put_out, usd = lesson_05._billed(usage, rates)
            return read_in, put_out, round(float(usd), digits)

        return true_bill

    assert exercises.judge(asked, [rounded(6)]).state == "done"
    assert exercises.judge(asked, [rounded(2)]).state == "stuck"


def judged(number, *work, seed=0):
    return exercises.judge(lessons.exercise(number), work, seed=seed)


def test_a_bill_with_names_instead_of_an_order_is_told_that_three_numbers_are_asked_for():
    named = {"input": 203_000, "output": 4_500, "usd": 0.902}
    for got in (named, (203_000, 4_500), ("203000", "4500", "0.902"), 0.902):
        assert judged("05-1", lambda usage, rates, got=got: got).rule == "three-figures"


def test_messages_may_come_in_any_container_and_a_block_of_the_users_is_no_summary():
    def messages_of(role):
        def go_on(messages, response, question):
            asked = {"type": "text", "text": question}
            yield from messages
            if role == "assistant":
                yield {"role": "assistant", "content": response["content"]}
                yield {"role": "user", "content": [asked]}
            else:
                yield {"role": "user", "content": [*response["content"], asked]}

        return go_on

    assert judged("05-3", messages_of("assistant")).state == "done"
    assert judged("05-3", messages_of("user")).rule == "block-is-state"


def test_a_store_of_the_strings_that_are_asked_for_is_no_snapshot_and_one_by_hand_is():
    def by_hand(messages, response, exact, question):
        store = "\n".join(lesson_05._texts(messages))
        first = {"role": "assistant", "content": response["content"]}
        return store, [first, {"role": "user", "content": "\n".join([*exact, question])}]

    def wanted_only(messages, response, exact, question):
        return "\n".join(exact), by_hand(messages, response, exact, question)[1]

    assert judged("05-5", by_hand).state == "done"
    assert judged("05-5", wanted_only).rule == "all-is-saved"


def test_each_option_in_cents_fits_the_figure_of_its_idea_and_none_holds_another():
    asked = lessons.prediction("05-b")
    ideas = {None: asked.truth, **asked.misconceptions}
    for option in asked.options:
        cents = Decimal(option.text.split()[1])
        assert option.text.startswith("About ")
        said = ideas[option.misconception]()["usd"] * 100
        assert abs(cents - said) < max(Decimal("0.5"), said / 20)


def test_nothing_outside_a_reveal_explains_what_the_predictions_ask():
    for giveaway in (
        "still the same prefix",
        "breaks the prefix once",
        "holds with the short",
        "share < 0.5",
    ):
        assert giveaway not in TEXT


def test_what_is_still_read_is_told_and_a_read_of_most_of_it_would_be_refused():
    usage = lesson_05.Usage(cache_read_input_tokens=2_100)
    assert lesson_05.still_read(usage).startswith("12% of what was stored")
    with pytest.raises(AssertionError):
        lesson_05.still_read(lesson_05.Usage(cache_read_input_tokens=18_170))


def test_a_late_trigger_is_told_from_one_that_the_api_refuses():
    late, early = (repr(check("05-2", {**lesson_05._LEGAL, "trigger": n})) for n in (100_000, 40_000))
    assert "The API takes it; the task asks for the earliest" in late
    assert "With all else right the answer is 400" in early


def test_the_client_may_be_named_with_its_method_and_half_a_name_is_told():
    named = {**lesson_05._LEGAL, "client": "client.beta.messages.create"}
    assert exercises.judge(lessons.exercise("05-2"), [named]).state == "done"
    assert "client is client.messages or" in lesson_05.answer_to({**lesson_05._LEGAL, "client": "beta"})


def test_the_draft_calls_the_client_as_it_can_be_called(capsys):
    lesson_05.draft()
    assert 'extra_body={"context_management"' in capsys.readouterr().out


def test_the_bill_of_the_exercise_is_the_bill_of_the_house():
    for name in (lesson_05.PAUSED, lesson_05.COLD, lesson_05.WARM, lesson_05.REPLIES):
        model = recordings.exchange(name).response_model
        assert model is not None
        usd = lesson_05._billed(lesson_05._figures_of(name), lesson_05.rates_of(model))[2]
        assert usd == Fraction(cost.bill(lesson_05.usage_of(name), model).total_usd)


def test_no_word_of_the_header_says_what_the_predictions_ask():
    front = source.edition(source.read(NOTEBOOK), answered=False)[0].text
    for giveaway in ("zero", "top level", "a tenth", "breaks", "tools and system"):
        assert giveaway not in front


# --- the picture


def test_an_iceberg_says_in_words_what_it_draws():
    drawn = iceberg([Berg("one", 5, {"R": 90, "O": 5})], title="t", alt="a", evidence="scripted")
    assert drawn.text == "one: above the line 5 | below it 95: R 90, O 5"
    assert "5 shown" in drawn.svg


@pytest.mark.parametrize("bergs", [[], [("a", 1, {"X": 1})], [("a", -1, {})], [("a", 1, {"R": -2})] * 2])
def test_a_picture_that_cannot_be_is_refused_by_name(bergs):
    with pytest.raises(InvalidArgumentError):
        iceberg(bergs, title="t", alt="a", evidence="scripted")


# --- what goes to work


def portable(folder: Path) -> ModuleType:
    """The function that the last cell writes, loaded as somebody else would."""
    true_bill_page(lesson_05.recorded_answer(), write_to=folder)
    module = ModuleType("true_bill")
    exec(
        compile((folder / "true_bill.py").read_text(encoding="utf-8"), "true_bill.py", "exec"),
        module.__dict__,
    )
    return module


def test_the_portable_function_keeps_its_own_example_and_imports_nothing(tmp_path):
    module = portable(tmp_path)
    assert doctest.testmod(module).failed == 0
    assert "import" not in (tmp_path / "true_bill.py").read_text(encoding="utf-8").replace("imported", "")


def test_the_portable_function_agrees_with_the_house_on_every_recorded_answer_with_a_price(tmp_path):
    module = portable(tmp_path)
    tried = 0
    for one in recordings.exchanges():
        model = get_model(one.response_model) if one.response_model else None
        if one.usage is None or one.figures is None or model is None or not model.price_history:
            continue
        if one.usage.flags - {"no-message-iteration"} or model.rates_at().tiered:
            continue
        if any(step.model for step in one.usage.iterations) or one.usage.web_search_requests:
            continue
        of = lesson_05.rates_of(model.id)
        rates = {**of, "written_1h": of["fresh"] * float(model.rates_at().cache_write_1h_multiplier)}
        read_in, put_out, usd = module.true_bill(one.figures, rates)
        assert (read_in, put_out) == (one.usage.billed_input_tokens, one.usage.billed_output_tokens), one.id
        bill = cost.bill(one.usage, model, inference_geo="global")
        assert usd == pytest.approx(float(bill.total_usd)), one.id
        tried += 1
    assert tried > 100


def test_a_step_of_another_model_is_not_billed_at_this_ones_rates(tmp_path):
    module = portable(tmp_path)
    advised = recordings.exchange("pydantic-ai/test_anthropic_advisor_tool#0").figures
    with pytest.raises(KeyError):
        module.true_bill(advised, lesson_05.rates_of())


def test_the_page_shows_what_the_top_level_leaves_out_and_no_text(tmp_path):
    answer = {**lesson_05.recorded_answer(), "content": [{"type": "text", "text": SECRET}]}
    shown = true_bill_page(answer, write_to=tmp_path)
    written = (tmp_path / "true-bill.md").read_text(encoding="utf-8")
    assert "60,385" in shown.text
    assert "billed 61,067 and 1,912 (compaction, message)" in written
    assert SECRET not in written + shown.text + shown.html


def test_an_answer_without_iterations_leaves_nothing_out(tmp_path):
    plain = {"model": "claude-opus-5-5", "usage": {"input_tokens": 10, "output_tokens": 5}}
    shown = true_bill_page(plain, write_to=tmp_path)
    assert shown.text.splitlines()[-1].split("|")[1:3] == ["     0 ", "      0 "]
    assert "- nowhere" in (tmp_path / "true-bill.md").read_text(encoding="utf-8")


def test_a_saved_answer_and_a_folder_of_them_read_as_the_answer_itself(tmp_path):
    answer = lesson_05.recorded_answer()
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("one", "two"):
        (logs / f"{name}.json").write_text(json.dumps({"id": name, **answer}, indent=2), encoding="utf-8")
    assert true_bill_page(logs / "one.json").text == true_bill_page(answer).text
    assert "122,134" in true_bill_page(logs).text  # twice 60,385 + 682


def test_an_answer_of_the_client_itself_is_read():
    assert "60,182" in true_bill_page(lesson_05.on_demand()).text
    assert (
        "60,182" in true_bill_page(Usage.from_response(lesson_05.on_demand()), model="claude-opus-5-5").text
    )


def test_a_model_without_a_price_is_named_and_the_sum_says_incomplete():
    shown = true_bill_page({"model": "claude-new-9", "usage": {"input_tokens": 7, "output_tokens": 1}}).text
    assert "claude-new-9: unknown model" in shown
    assert "incomplete" in shown
    assert "(no model named)" in true_bill_page({"input_tokens": 7, "output_tokens": 1}).text


def test_writes_of_unknown_lifetime_are_a_range():
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1_000_000}
    assert "$5.00 to $8.00" in true_bill_page({"model": "claude-opus-5-5", "usage": usage}).text


def test_output_that_a_recording_under_reports_is_not_billed():
    shown = true_bill_page(recordings.session("cli/session-375d5d79"))
    assert shown.caption.endswith("input only")
    assert "$13.37" in shown.text
    assert not true_bill_page(recordings.session("pi-mono/before-compaction")).caption.endswith("input only")


def test_a_function_that_lies_there_already_is_left_as_it_is(tmp_path):
    (tmp_path / "true_bill.py").write_text("mine = 1\n", encoding="utf-8")
    true_bill_page(lesson_05.recorded_answer(), write_to=tmp_path)
    assert (tmp_path / "true_bill.py").read_text(encoding="utf-8") == "mine = 1\n"


def test_what_has_no_usage_is_an_error_and_nothing_is_written(tmp_path):
    with pytest.raises(InvalidUsageError):
        true_bill_page({"model": "claude-opus-5-5"}, write_to=tmp_path)
    with pytest.raises(RecordingError):
        true_bill_page(tmp_path / "absent", write_to=tmp_path)
    assert list(tmp_path.iterdir()) == []
