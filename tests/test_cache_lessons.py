"""Promises of notebook 02 and the Cache Puzzles: what they say is what the cache and the data say."""

from __future__ import annotations

import copy
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

from ctxlab import places, recordings
from ctxlab.cache import Plan
from ctxlab.catalogue import models
from ctxlab.checks import check, exercises, faces, lesson_02, lesson_20, lessons
from ctxlab.checks.runs import Asked, Piece, names, run_bodies, run_pieces, strip, words
from ctxlab.clock import ManualClock
from ctxlab.conformance import agreement
from ctxlab.emulator import Emulator
from ctxlab.errors import InvalidArgumentError, InvalidRequestError
from ctxlab.notebooks import contract, handout, readme, source
from ctxlab.prompt import Prompt
from ctxlab.takeaways import marker_plan

ROOT = Path(places.__file__).parent.parent
NOTEBOOK = ROOT / "notebooks" / "source" / "02-caching-breakpoints.py"
PUZZLES = ROOT / "notebooks" / "source" / "20-cache-puzzles.py"


@pytest.fixture(autouse=True)
def own_record(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("CTXLAB_RECORD", str(tmp_path / "record.json"))


class Scalar:
    """A number as numpy has it: no int, and a Python number on request."""

    def __init__(self, value: object) -> None:
        self.tolist = lambda: value


# --- notebook 02 against the emulator, the data and itself


def emulated(*bodies) -> tuple[int, int, int]:
    clock = ManualClock()
    client = Emulator(clock=clock, counter=words).client()
    for body in bodies[:-1]:
        client.messages.create(**body)
        clock.advance(40)
    usage = client.messages.create(**bodies[-1]).usage
    return usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.input_tokens


def figures(plan: Plan) -> tuple[int, int, int]:
    usage = plan.usage()
    return usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.input_tokens


def test_the_emulator_answers_what_the_truths_of_the_lesson_are_computed_from():
    started, texts, tools = lesson_02._after_lookback()
    for bodies in (lesson_02._two_turns(), (started, texts), (started, tools), lesson_02.tool_loop()):
        assert emulated(*bodies) == figures(run_bodies(bodies)[-1])


def test_the_given_boxes_name_the_sizes_that_the_requests_have():
    text = NOTEBOOK.read_text(encoding="utf-8")
    for sentence in (
        "tools 600 tokens, system prompt 1,500, question 50",
        "an answer of 60 tokens and a second question of 30",
        "tools 600, system prompt 1,500",
        "an answer of 60 tokens, then a message of 25 text blocks, 202 tokens in all",
        "an answer of 15 tool calls, then a message of 15 results, 264 tokens in all",
        "tools 600 tokens, system prompt 2,400, question 30, a call of 3, its result of 180",
        "another call of 3 and its result of 280",
    ):
        assert sentence in text
    assert lesson_02._sizes(lesson_02._plans("02-a")[0]) == [600, 1500, 50, 60, 30]
    assert lesson_02._sizes(lesson_02._plans("02-exit")[0]) == [600, 2400, 30, 3, 180, 3, 280]
    texts, tools = map(lesson_02._sizes, lesson_02._plans("02-c"))
    assert texts[:4] == [600, 1500, 50, 60]
    assert (len(texts[4:]), sum(texts[4:])) == (25, 202)
    assert tools[:3] == [600, 1500, 50]
    assert (len(tools[3:]), sum(tools[3:])) == (30, 264)


def test_the_agreement_of_02_a_is_counted_in_the_recordings():
    steps = [pair for session in recordings.sessions() for pair in pairwise(session.turns)]

    def left(turn) -> int:
        return turn.usage.cache_read_input_tokens + turn.usage.cache_creation_input_tokens

    exact = sum(now.usage.cache_read_input_tokens == left(before) for before, now in steps)
    for name in ("02-a", "02-exit"):
        told = lessons.prediction(name).agreement
        assert told.startswith(f"{exact:,} of {len(steps):,} recorded agent steps")


def test_the_agreement_of_02_c_is_that_of_every_reported_experiment_on_the_lookback():
    """Each reported row rebuilt with blocks of any size: found or not is all that the rule says."""
    behind = {
        "reported/lookback-text-blocks#1": ["text"] * 3,
        "reported/lookback-text-blocks#2": ["text"] * 27,
        "reported/lookback-parallel-tools#1": ["text", *["call"] * 15, *["result"] * 15],
        "reported/lookback-strands-loop#2": ["text", *["call"] * 15, *["result"] * 15],
    }
    for name, kinds in behind.items():
        pieces = (
            Piece("system", 1_861, "system"),
            *(Piece(f"{n}", 20, kind) for n, kind in enumerate(kinds)),
        )
        first, second = Asked(pieces[:2], {0: "5m"}), Asked(pieces, {len(pieces) - 1: "5m"})
        reads = run_pieces([first, second])[1].read_tokens or 0
        assert (reads > 0) == (recordings.exchange(name).figures["cache_read_input_tokens"] > 0), name
    reported = {one.id for one in recordings.exchanges() if one.id.startswith("reported/lookback")}
    writes = {one for one in reported if one.endswith("#0")} | {"reported/lookback-strands-loop#1"}
    assert reported == set(behind) | writes
    assert lessons.prediction("02-c").agreement.startswith("All four experiments")


def test_four_of_eleven_runs_that_missed_a_young_entry_are_in_the_recordings():
    runs: dict[str, list] = {}
    for one in recordings.exchanges():
        if one.sequence.startswith("crush/") and one.usage and any(b.cache_control for b in one.blocks):
            runs.setdefault(one.sequence, []).append(one.usage)
    pairs = [usages[:2] for usages in runs.values() if len(usages) > 1]
    left = [(one.cache_read_input_tokens + one.cache_creation_input_tokens, two) for one, two in pairs]
    missed = [two for tokens, two in left if two.cache_read_input_tokens < tokens]
    assert (len(missed), len(pairs)) == (4, 11)
    assert "Four of eleven recorded runs of one agent" in NOTEBOOK.read_text(encoding="utf-8")


def test_the_document_costs_more_than_twice_the_repaired_order_and_a_marker_at_its_end_more_still():
    document, last, repaired = (
        lesson_02._twenty(order)[1]
        for order in (lesson_02.DOCUMENT, (*lesson_02.DOCUMENT, lesson_02.MARK), lesson_02._REPAIRED)
    )
    assert last > document > 2 * repaired


def test_no_word_of_the_header_says_what_the_predictions_ask():
    front = source.edition(source.read(NOTEBOOK), answered=False)[0].text
    for giveaway in ("20 positions", "one position", "first block to the marked", "without an error"):
        assert giveaway not in front


@pytest.mark.parametrize("got", [5, "system", None, [], ["MARK"], ["tools", 3], [["tools"]]])
def test_whatever_a_learner_returns_is_told_in_a_panel(got):
    assert check("02-2", lambda: got).word in ("BROKEN RULE", "NOT YET")
    assert check("02-1", lambda request: got).word in ("BROKEN RULE", "NOT YET")
    assert check("02-3", lambda step: got).word in ("BROKEN RULE", "NOT YET")
    assert check("20-3", lambda *args: got).word in ("BROKEN RULE", "NOT YET")
    assert check("20-14", lambda conversation: got).word in ("BROKEN RULE", "NOT YET")


def test_what_a_prediction_asks_is_explained_by_its_reveal_alone():
    prose = "\n".join(cell.text for cell in source.read(NOTEBOOK).cells if cell.kind == "markdown")
    open_prose = re.sub(r"<details>.*?</details>", "", prose, flags=re.DOTALL)
    room, _, _ = open_prose.partition("Room stops here")
    for giveaway in ("Why.", "20 positions", "one position", "need not stay", "below the floor", "no error"):
        assert giveaway not in room, giveaway
    assert "20 positions" in lessons.prediction("02-c").why
    assert "no error" in lessons.prediction("02-b").why


def test_what_02_b_says_of_other_models_stands_in_the_catalogue():
    floors = [
        (str(model.released), model.min_cacheable_tokens) for model in models() if model.min_cacheable_tokens
    ]
    since_june = [floor for released, floor in floors if "2026-06" <= released < "None"]
    older = {floor for released, floor in floors if released < "2026-06" or released == "None"}
    assert since_june.count(512) > len(since_june) / 2
    assert (min(older), max(older)) == (1_024, 4_096)
    assert "Most models since June 2026 store from 512 tokens on" in lessons.prediction("02-b").why


def judged(number: str, work: object) -> tuple[str, str]:
    verdict = exercises.judge(lessons.exercise(number), [work])
    return verdict.state, verdict.rule


def marked_at(place, **other):
    """An answer to 02-1 that marks one of the blocks, and perhaps changes something else."""

    def answer(request):
        request = {**copy.deepcopy(request), **other}
        content = request["messages"][-1]["content"]
        block = place(request["system"], content)
        block["cache_control"] = {"type": "ephemeral"}
        return request

    return answer


def last_that_stays(system, content):
    return content[-2] if len(content) > 1 else system[-1]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (marked_at(last_that_stays), ("done", "")),
        (marked_at(lambda system, content: [*system, *content][-2]), ("done", "")),
        (marked_at(last_that_stays, max_tokens=9), ("stuck", "one-marker")),
        (marked_at(last_that_stays, model="claude-sonnet-5-5"), ("stuck", "one-marker")),
        (marked_at(last_that_stays, cache_control={"type": "ephemeral"}), ("stuck", "one-marker")),
        (
            marked_at(lambda system, content: content[0] if len(content) > 1 else system[-1]),
            ("stuck", "mark-last-stable"),
        ),
        (
            marked_at(lambda system, content: content[-2] if len(content) > 1 else system[0]),
            ("stuck", "mark-last-stable"),
        ),
    ],
)
def test_one_marker_is_judged_by_place_and_by_what_else_was_touched(answer, verdict):
    assert judged("02-1", answer) == verdict


def test_a_marker_of_a_type_that_does_not_exist_is_no_marker():
    def misspelt(request):
        request = copy.deepcopy(request)
        last_that_stays(request["system"], request["messages"][-1]["content"])["cache_control"] = {
            "type": "ephermal"
        }
        return request

    assert judged("02-1", misspelt) == ("stuck", "one-marker")


@pytest.mark.parametrize(
    ("order", "verdict"),
    [
        (" TOOLS , System,mark,history,Mark,retrieved,turn", ("done", "")),
        ("tools,system,history,MARK,retrieved,turn", ("done", "")),
        ("MARK,tools,system,history,MARK,retrieved,turn", ("stuck", "four-slots")),
        ("tools,system,MARK,history,retrieved,MARK,turn", ("stuck", "volatile-last")),
        ("tools,system,MARK,history,MARK,documents,turn", ("stuck", "every-part-once")),
    ],
)
def test_an_order_is_read_as_it_was_meant(order, verdict):
    assert judged("02-2", lambda: order.split(",")) == verdict
    assert judged("02-2", lambda: set(order.split(","))) == ("stuck", "every-part-once")


def test_the_picture_of_the_learners_order_is_the_documents_until_there_is_one():
    document = repr(lesson_02.twenty_turns(lesson_02.DOCUMENT))
    for half in ([...], None, ["tools", "sytem"], 7):
        assert repr(lesson_02.yours(lambda half=half: half)) == document
    assert repr(lesson_02.yours(lambda: list(lesson_02._REPAIRED))) != document


@pytest.mark.parametrize(
    ("markers", "verdict"),
    [
        (lambda step: (n for n in (1, 2 + 2 * step)), ("done", "")),
        (lambda step: {2 + 2 * step}, ("done", "")),
        (lambda step: [1, 3 + 2 * step], ("stuck", "four-slots")),
        (lambda step: [-1], ("stuck", "four-slots")),
        (lambda step: 2 + 2 * step, ("stuck", "four-slots")),
        (lambda step: [1, max(2, 2 * step - 2)], ("stuck", "moving-tail")),
    ],
)
def test_markers_stand_on_blocks_that_are_sent(markers, verdict):
    assert judged("02-3", markers) == verdict


@pytest.mark.parametrize(
    ("place", "state"),
    [
        (lambda entry, tail: float(entry), "done"),
        (lambda entry, tail: Scalar(entry + 19), "done"),
        (lambda entry, tail: entry + 20, "stuck"),
        (lambda entry, tail: [entry], "stuck"),
        (lambda entry, tail: True, "stuck"),
        (lambda entry, tail: tail, "stuck"),
    ],
)
def test_any_block_that_reaches_the_entry_rescues_it(place, state):
    def rescue(entry, tail):
        return None if tail - entry < 20 else place(entry, tail)

    assert judged("02-4", rescue)[0] == state


def test_a_table_of_lifetimes_takes_capitals_and_tells_other_words_from_other_ideas():
    space: dict = {}
    exec((ROOT / "notebooks" / "solutions" / "02-5.py").read_text(encoding="utf-8"), space)
    right = space["lifetimes"]
    assert judged("02-5", {row: f" {word.upper()}" for row, word in right.items()}) == ("done", "")
    for row in right:
        assert judged("02-5", {**right, row: "an hour"}) == ("stuck", "one-of-three-words")
        assert judged("02-5", {**right, row: ...})[0] == "not-yet"
        for word in {"5m", "1h", "none"} - {right[row]}:
            assert judged("02-5", {**right, row: word})[1] in lessons.exercise("02-5").rules


@pytest.mark.parametrize("name", ["02-caching-breakpoints", "03-prefix-breakers"])
def test_one_exercise_of_a_lesson_needs_no_programming(name):
    read = source.read(NOTEBOOK.with_name(f"{name}.py"))
    tables = [task.id for task in lessons.lesson(name[:2]).exercises.values() if task.answers]
    assert tables
    assert any("o programming" in cell.text for cell in read.cells if cell.kind == "markdown")


@pytest.mark.parametrize("pause", [None, "60", "", b"1", object(), float("nan"), -1, True])
def test_a_pause_that_is_no_number_is_told_by_name(pause):
    body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hi"}]}
    with pytest.raises(InvalidArgumentError, match="gap_s"):
        marker_plan(body, next_turns=1, gap_s=pause)


# --- strips of runs


def test_a_strip_names_its_blocks_and_draws_a_run_of_tool_blocks_as_one():
    _, texts, tools = lesson_02._after_lookback()
    drawn = lesson_02._strips_of_lookback()
    assert "[15 calls W" in repr(drawn)
    assert "(20:[20 blocks W" in repr(drawn)
    assert names(Prompt.from_request(tools))[:4] == ["tools", "system", "user", "call"]
    assert names(Prompt.from_request(texts))[3] == "answer"


def test_a_strip_without_markers_says_what_was_read_and_not_how():
    pieces = (Piece("manual", 2_000, "system"), Piece("question", 20))
    plan = run_pieces([Asked(pieces, {0: "5m"})] * 2)[1]
    assert repr(strip(plan, title="t", alt="a", markers=False)) == "[manual R 2000][question F 20][end F 2]"
    assert repr(strip(plan, title="t", alt="a")) == "[manual R 2000]^<5m>[question F 20][end F 2]"


def test_markers_the_api_refuses_are_refused_in_a_run_too():
    pieces = tuple(Piece(f"{n}", 700) for n in range(6))
    with pytest.raises(InvalidRequestError, match="four-markers"):
        run_pieces([Asked(pieces, dict.fromkeys(range(5), "5m"))])
    with pytest.raises(InvalidRequestError, match="long-first"):
        run_pieces([Asked(pieces, {0: "5m", 1: "1h"})])


# --- the puzzles


def solve(number: int) -> None:
    text = (ROOT / "notebooks" / "solutions" / f"20-{number}.py").read_text(encoding="utf-8")
    space: dict = {}
    exec(text, space)
    (name,) = lessons.exercise(f"20-{number}").asks
    assert check(f"20-{number}", space[name]).word == "DONE"


def test_the_line_shows_what_is_done_and_no_solution():
    assert lesson_20.line() == "Cache Puzzles 0/14 " + "□" * 14
    for number in (1, 3, 14):
        solve(number)
    check("20-2", lambda tokens, entry: 0)
    assert lesson_20.line() == "Cache Puzzles 3/14 ■□■□□□□□□□□□□■"
    assert re.fullmatch(r"Cache Puzzles \d+/14 [■□]{14}", lesson_20.line())


def test_there_are_fourteen_puzzles_for_forty_minutes_without_prose():
    read = source.read(PUZZLES)
    assert len(lesson_20.EXERCISES) == 14
    assert read.minutes() == (40, 0)
    assert all(re.fullmatch(r"## [\w ·-]+", cell.text) for cell in read.cells if cell.kind == "markdown")
    assert contract.problems(read) == []


def test_the_examples_in_the_stubs_are_what_the_solutions_give():
    text = PUZZLES.read_text(encoding="utf-8")
    examples = [
        one
        for one in re.findall(r"^    # (\w+\(.*\)) == (.+)$", text, re.MULTILINE)
        if "the block to mark" not in one[1]
    ]
    assert len(examples) == 11
    space: dict = {}
    for path in sorted((ROOT / "notebooks" / "solutions").glob("20-*.py")):
        if ".wrong." not in path.name:
            exec(path.read_text(encoding="utf-8"), space)
    for call, answer in examples:
        assert eval(call, space) == eval(answer, space), call


def test_every_puzzle_has_a_picture_that_is_the_same_twice():
    for puzzle in lesson_20.EXERCISES:
        assert lesson_20.picture(puzzle.id)._repr_html_() == lesson_20.picture(puzzle.id)._repr_html_()


def test_knowing_the_shown_case_by_heart_solves_no_puzzle():
    for puzzle in lesson_20.EXERCISES:
        shown = puzzle.cases(random.Random(0))[0]
        verdict = exercises.judge(puzzle, [lambda *args, answer=shown.expected: answer])
        assert verdict.state != "done", puzzle.id


def solved(number: int):
    text = (ROOT / "notebooks" / "solutions" / f"20-{number}.py").read_text(encoding="utf-8")
    space: dict = {}
    exec(text, space)
    (name,) = lessons.exercise(f"20-{number}").asks
    return space[name]


@pytest.mark.parametrize("number", [1, 2, 4, 8, 9, 10])
def test_a_number_of_another_library_is_a_number(number):
    right = solved(number)

    def other(*args):
        value = right(*args)
        return value if value is None else Scalar(value)

    assert exercises.judge(lessons.exercise(f"20-{number}"), [other]).state == "done"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (3, list),
        (3, str.lower),
        (6, tuple),
        (6, iter),
        (7, lambda seen: range(seen[0], seen[-1] - 1, -1)),
        (11, list),
        (12, list),
        (13, str.lower),
        (14, iter),
    ],
)
def test_a_right_answer_in_another_container_is_right(number, told):
    right = solved(number)
    assert (
        exercises.judge(lessons.exercise(f"20-{number}"), [lambda *args: told(right(*args))]).state == "done"
    )


@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        (6, lambda tokens, markers, floor: [n for n in markers if sum(tokens[: n + 1]) >= 512]),
        (
            4,
            lambda before, after, entries: max(
                (
                    n
                    for n in entries
                    if all(a == b for a, b in zip(before[: n + 1], after[: n + 1], strict=False))
                ),
                default=None,
            ),
        ),
        (4, lambda before, after, entries: max([0, *solved_ends(before, after, entries)]) or None),
        (7, lambda marker: set(range(max(0, marker - 19), marker + 1))),
        (3, lambda tokens, entry, marker: "R" * len(tokens)),
    ],
)
def test_half_a_rule_is_noticed(number, wrong):
    assert exercises.judge(lessons.exercise(f"20-{number}"), [wrong]).state == "stuck"


def solved_ends(before, after, entries) -> list[int]:
    return [n for n in entries if before[: n + 1] == after[: n + 1]]


def test_the_puzzles_need_neither_client_nor_network_nor_kernel():
    assert source.read(PUZZLES).header.modules == ("checks", "cache", "figures")
    code = "\n".join(cell.text for cell in source.read(PUZZLES).cells if cell.kind == "code")
    assert set(re.findall(r"^from (\S+) import", code, re.MULTILINE)) == {"ctxlab.checks"}


def test_puzzles_stand_in_the_table_of_notebooks_and_have_no_handout(tmp_path):
    row = readme._notebooks({"20": source.read(PUZZLES)}).splitlines()[-1]
    assert row.startswith("| [Cache Puzzles](notebooks/answered/20-cache-puzzles.ipynb) |")
    with pytest.raises(InvalidArgumentError, match="asks-something"):
        handout.write("20", ROOT / "notebooks", tmp_path)


def test_a_puzzle_without_its_check_is_found(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (tmp_path / "solutions").mkdir()
    for path in (ROOT / "notebooks" / "solutions").glob("20-*.py"):
        (tmp_path / "solutions" / path.name).write_bytes(path.read_bytes())
    text = PUZZLES.read_text(encoding="utf-8")
    (folder / PUZZLES.name).write_text(text.replace('check("20-7", seen)', "seen"), encoding="utf-8")
    problems = contract.problems(source.read(folder / PUZZLES.name))
    assert [problem.rule for problem in problems] == ["exercise-is-checked"]


def test_a_reveal_quotes_the_ledger_and_no_rule_it_does_not_have():
    counted = agreement("exact-prefix")
    assert counted.agree > 0
    assert faces.borne_out(["exact-prefix"]) == (
        f"Recordings for and against the rules used: `exact-prefix` {counted.agree} and {counted.disagree}."
    )
    assert faces.borne_out(()) == ""
    with pytest.raises(InvalidArgumentError, match="in-the-ledger"):
        faces.borne_out(["look-back"])


def test_a_reveal_says_of_a_rule_that_no_recording_tests_it():
    assert agreement("lookback") == (0, 0)  # what was reported of its limit has no request to replay
    assert faces.borne_out(["lookback"]).endswith("`lookback` 0 and 0 (no recording tests it).")
