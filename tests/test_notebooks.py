"""Promises of ctxlab.notebooks: the same bytes every time, nothing leaks, and a changed output is noticed."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.checks import lessons
from ctxlab.errors import CtxlabError
from ctxlab.notebooks import build, contract, guide, handout, leak, source
from ctxlab.notebooks.__main__ import main
from ctxlab.notebooks.source import LessonSourceError
from tests import series
from tests.strategies import figures_to_commit

TRUTH = 10_444
SENT = "sent = [1_000 + turn * 123 for turn in range(1, 8)]"
BLANK = 'predict("90-a", total_tokens=..., vote=..., sure=...)'
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module", autouse=True)
def own_lessons():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CTXLAB_LESSONS", str(series.LESSONS))
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The tiny series with both editions and the guide, built by the command."""
    root = series.copy_series(tmp_path_factory.mktemp("built"))
    done = series.run("-m", "ctxlab.notebooks", "build", "--root", str(root))
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def editions(built) -> dict[str, dict]:
    paths = {
        "learner": built / f"{series.TINY}.ipynb",
        "answered": built / "answered" / f"{series.TINY}.ipynb",
    }
    return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items()}


@pytest.fixture
def root(tmp_path) -> Path:
    """The tiny series, unbuilt, to be changed by a test."""
    return series.copy_series(tmp_path)


def change(root: Path, old: str, new: str) -> Path:
    """The lesson's source with one passage replaced."""
    path = root / "source" / f"{series.TINY}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def code_of(notebook: dict) -> str:
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


def told_by(notebook: dict) -> str:
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    return "\n".join(
        "".join(output.get("text", output.get("data", {}).get("text/plain", ""))) for output in outputs
    )


# --- two editions


def test_the_learner_edition_is_empty_and_every_check_in_it_says_not_yet(editions):
    code = code_of(editions["learner"])
    assert BLANK in code
    assert "turns * stable_tokens" not in code
    told = told_by(editions["learner"])
    assert told.count("NOT YET") == 7
    assert "○ N O T   Y E T · lesson 90" in told.splitlines()
    for word in ("EXACT", "DONE", "COMMITTED"):
        assert word not in told


def test_the_answered_edition_is_filled_in_and_every_check_in_it_passes(editions):
    code = code_of(editions["answered"])
    assert 'predict("90-a", total_tokens=10_444, vote="B", sure=True)' in code
    assert "turns * stable_tokens" in code
    told = told_by(editions["answered"])
    assert "NOT YET" not in told
    assert told.count("● EXACT") == 2
    assert "● D O N E · lesson 90" in told


def test_instructor_notes_reach_neither_edition(editions, built):
    notes = source.read(built / "source" / f"{series.TINY}.py").instructor
    assert notes is not None
    for notebook in editions.values():
        text = json.dumps(notebook, ensure_ascii=False)
        assert "instructor" not in text
        for note in (notes.demo, notes.when_late, notes.plan_25, notes.votes[0].say):
            assert note not in text


def test_an_edition_is_plain_valid_and_holds_nothing_of_this_machine(editions):
    for notebook in editions.values():
        nbformat.validate(notebook)
        assert notebook["metadata"] == {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
        assert [cell["id"] for cell in notebook["cells"]] == [
            f"c{n:02d}" for n in range(len(notebook["cells"]))
        ]
        assert not re.search(r"/home|/root|/tmp|/Users|0x[0-9a-f]{6}", json.dumps(notebook))
        for cell in notebook["cells"]:
            assert set(cell["metadata"]) <= {"tags", "minutes", "exercise"}


def test_the_first_cell_tells_question_time_and_new_words(editions):
    front = "".join(editions["learner"]["cells"][0]["source"])
    for line in (
        "# 90 · A tiny lesson",
        "**How fast does a conversation grow?**",
        "- **Time**: 23 minutes in the room, 10 more at home.",
        "- **toy growth**: turn k sends the stable part and k messages",
    ):
        assert line in front.splitlines()


def test_answers_are_written_between_the_words_around_them_whatever_their_alphabet():
    filled = source.answer_predictions('note = "zürich ☂"; predict("90-a", vote=..., total_tokens=...)  # ☂')
    assert filled == 'note = "zürich ☂"; predict("90-a", vote="B", total_tokens=10_444)  # ☂'
    assert source.answer_predictions("f(x=...)\nvalues[...]") == "f(x=...)\nvalues[...]"


# --- the same bytes


def test_a_build_in_another_folder_zone_and_hash_seed_gives_the_same_bytes(built, tmp_path):
    for seed, zone in (("1", "Pacific/Kiritimati"), ("4242", "America/St_Johns")):
        elsewhere = tmp_path / f"a folder, {seed}"
        elsewhere.mkdir()
        done = series.run(
            "-m",
            "ctxlab.notebooks",
            "build",
            "--check",
            "--root",
            str(built),
            folder=elsewhere,
            PYTHONHASHSEED=seed,
            TZ=zone,
            ANTHROPIC_API_KEY="never-printed",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("as committed") == 3
        assert done.stderr == ""
        assert list(elsewhere.iterdir()) == []


def test_the_first_cell_that_differs_is_named(built, tmp_path):
    edition = built / "answered" / f"{series.TINY}.ipynb"
    changed = json.loads(edition.read_text(encoding="utf-8"))
    changed["cells"][8]["outputs"][0]["data"]["text/plain"] = ["something else"]
    other = tmp_path / "answered" / edition.name
    other.parent.mkdir()
    other.write_text(build.as_text(changed), encoding="utf-8")
    problem = build.stale(build.Built(other, edition.read_text(encoding="utf-8")))
    assert problem is not None
    assert problem.path == f"answered/{edition.name}"
    assert "cell 8 differs in outputs" in problem.message
    assert "something else" in problem.message
    assert build.stale(build.Built(edition, edition.read_text(encoding="utf-8"))) is None


def test_an_edition_that_was_never_built_or_is_no_notebook_is_stale(tmp_path):
    missing = build.stale(build.Built(tmp_path / "90.ipynb", "{}"))
    assert missing is not None
    assert missing.rule == "built"
    (tmp_path / "90.ipynb").write_text("gone", encoding="utf-8")
    broken = build.stale(build.Built(tmp_path / "90.ipynb", '{"cells": []}'))
    assert broken is not None
    assert "not a notebook" in broken.message


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("import sys; sent = print('oh', file=sys.stderr)", "no-stderr"),
        ("import warnings; sent = warnings.warn('old')", "no-stderr"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_cell_that_warns_or_raises_stops_the_build(root, line, rule):
    change(root, 'print(*sent) or print("in all", sum(sent))', "sent")
    path = change(root, SENT, line)
    with pytest.raises(build.BuildError, match=rule):
        build.build(path, answered=False)
    assert not list(root.glob("*.ipynb"))


def test_streams_are_joined_and_widget_views_left_out(root):
    lines = [
        "import sys",
        "from IPython.display import display",
        "for word in ('one', 'two'):",
        "    print(word); sys.stdout.flush()",
        f"view = {{{VIEW!r}: {{'model_id': 'f' * 32}}, 'text/plain': 'a slider'}}",
        "display(view, raw=True, metadata={'left': 'out'}); sent = []",
    ]
    change(root, "print(*sent)", "print()")
    path = change(root, SENT, "\n".join(lines))
    cells = json.loads(build.build(path, answered=False).text)["cells"]
    (cell,) = [cell for cell in cells if "import sys" in "".join(cell["source"])]
    assert [output["output_type"] for output in cell["outputs"]] == ["stream", "display_data"]
    assert cell["outputs"][0]["text"] == ["one\n", "two\n"]
    assert cell["outputs"][1]["data"] == {"text/plain": ["a slider"]}
    assert cell["outputs"][1]["metadata"] == {}


# --- the source


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('# number = "90"', "# number = 90", "header-fields"),
        ('# title = "A tiny lesson"\n', "", "header-fields"),
        ('# title = "A tiny lesson"', '# title = "A" oops', "valid-toml"),
        ('# cost = "nothing', '# colour = "red"\n# cost = "nothing', "header-fields"),
        ('tags=["lesson"]', 'tags=["lessson"]', "lesson-header"),
        ('# number = "90"', '# number = "91"', "number-in-name"),
        ('# plan_25 = "Only prediction 90-a."\n', "", "header-fields"),
        ('terms = ["toy growth"]', 'terms = ["unheard of"]', "term-in-glossary"),
        ("# <<solution 90-1>>", "# <<solution 90-7>>", "solution-exists"),
        ("# <<objectives>>", "# <<objections>>", "known-placeholder"),
    ],
)
def test_a_source_that_breaks_the_form_is_refused_by_rule(root, old, new, rule):
    path = change(root, old, new)
    with pytest.raises(LessonSourceError, match=rule):
        source.edition(source.read(path), answered=False)


def test_jupytext_missing_is_named_with_the_extra_that_brings_it(root):
    code = (
        "import sys; sys.modules['jupytext'] = None\n"
        "from pathlib import Path; from ctxlab.notebooks.source import read\n"
        f"read(Path({str(root / 'source' / '90-tiny.py')!r}))"
    )
    assert 'pip install "ctxlab[dev]"' in series.run("-c", code).stderr


# --- the contract


def test_the_tiny_lesson_keeps_every_promise(root):
    assert contract.problems(source.read(root / "source" / f"{series.TINY}.py")) == []


LONG = "One sentence that runs on and on with one word after the other " * 2
BREAKS = [
    (
        '# [[objectives]]\n# do = "Say what each turn sends."\n# where = "What a turn sends"\n',
        "",
        "three-or-four-objectives",
    ),
    ('where = "Three things this document says"', 'where = "Nowhere"', "objective-met"),
    ('modules = ["checks"]', 'modules = ["nothing"]', "known-module"),
    ("# %% [markdown] minutes=10\n# ## What", "# %% [markdown] minutes=40\n# ## What", "fifty-minutes"),
    ("# %% [markdown] minutes=10\n# ## What", "# %% [markdown]\n# ## What", "sections-have-minutes"),
    ('# %% [markdown] tags=["room-stops-here"]', "# %% [markdown]", "one-line-where-the-room-stops"),
    ("# *Room stops here*", "# That is all", "one-line-where-the-room-stops"),
    ('tags=["exit"] ', "", "one-exit-question"),
    ('tags=["given"]\n# > **Given.** Nine', "\n# > **Given.** Nine", "given-before-predict"),
    ('tags=["offline-limits"] ', "", "closing-cells"),
    ("**Holds.**", "Holds.", "three-things"),
    (
        "# <details><summary>What ends with the process?</summary>",
        "# What ends?",
        "two-questions-from-before",
    ),
    ("# ## Exercise 90-1", "# #### Exercise 90-1", "headings-descend-by-one"),
    ("# ## Exercise 90-1", "# # Exercise 90-1", "one-title"),
    ("# <<question 90-a>>", "# How many?", "question-is-asked"),
    ("# ## Exercise 90-1", "# **Why.** Nothing is stored.\n#\n# ## Exercise 90-1", "why-after-the-reveal"),
    ('reveal("90-a", sent)', "sent", "question-is-revealed"),
    (
        BLANK,
        'predict("90-a", vote=...)',
        "question-is-predicted",
    ),
    (
        BLANK,
        'predict("90-a", vote="B")',
        "question-is-predicted",
    ),
    ('# %% tags=["predict"]\npredict("90-a"', '# %%\npredict("90-a"', "question-is-predicted"),
    ('# %% exercise="90-1"', "# %%", "exercise-has-a-stub"),
    (SENT, f"# NBVAL_IGNORE_OUTPUT\n{SENT}", "every-output-is-compared"),
    ('tags=["exit"] ', 'tags=["exit", "nbval-skip"] ', "known-tag"),
    ('tags=["offline-limits"] ', 'tags=["offline-limit"] ', "known-tag"),
    ('# %% exercise="90-1"', '# %% exercise="90-5"', "exercise-has-a-stub"),
    ('check("90-1", total_input)', 'check("90-1", other)', "exercise-is-checked"),
    ('# prediction = "90-a"', '# prediction = "90-z"', "notes-for-the-room"),
    ("sent = [1_000", "\n".join(f"x{n} = {n}" for n in range(15)) + "\nsent = [1_000", "short-cells"),
    ("# Write the sum for any session.", f"# {LONG}.", "short-sentences"),
]


@pytest.mark.parametrize(
    ("old", "new", "rule"), BREAKS, ids=[f"{n}-{rule}" for n, (_, _, rule) in enumerate(BREAKS)]
)
def test_each_broken_promise_is_found(root, old, new, rule):
    path = change(root, old, new)
    if rule == "exercise-has-a-stub" and '"90-5"' in new:
        (root / "solutions" / "90-5.py").write_text("x = 1", encoding="utf-8")
    assert rule in {problem.rule for problem in contract.problems(source.read(path))}


def test_an_exercise_asked_on_the_wrong_side_of_the_line_is_found(root):
    path = change(root, '# %% [markdown] tags=["room-stops-here"]\n# *Room stops here*\n\n', "")
    text = path.read_text(encoding="utf-8")
    line = (
        '# %% [markdown] tags=["room-stops-here"]\n# *Room stops here*\n\n# %% [markdown] tags=["your-turn"]'
    )
    path.write_text(text.replace('# %% [markdown] tags=["your-turn"]', line), encoding="utf-8")
    assert [problem.rule for problem in contract.problems(source.read(path))] == ["home-is-behind-the-line"]


@pytest.mark.parametrize(
    ("markdown", "sentences"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("- first item\n- second item", ["first item", "second item"]),
        ("## A heading\n\nText over\ntwo lines.", ["A heading", "Text over two lines."]),
        ("> **Given.** Seven turns.", ["Given.", "Seven turns."]),
        ("It is 2.5 times, e.g. on Opus.", ["It is 2.5 times, e.g. on Opus."]),
        ("```python\nx = 1. y = 2.\n```\nAfter.", ["After."]),
        ("| a | b. c |\n|---|---|\nAfter.", ["After."]),
        ("Read [the page](https://example.com/a.b. c).", ["Read the page."]),
        ("<details><summary>Hint</summary>\n\nUse a sum.\n</details>", ["Hint", "Use a sum."]),
    ],
)
def test_sentences_are_split_as_a_reader_would(markdown, sentences):
    assert [one.replace("e.g.", "e.g.") for one in contract.sentences(markdown)] == sentences


def test_twenty_five_words_are_short_and_twenty_six_are_not():
    assert contract.long_sentences(" ".join(["word"] * 25) + ".") == []
    assert len(contract.long_sentences(" ".join(["word"] * 26) + ".")) == 1


# --- the leak


WAYS = [
    "10444",
    "10,444",
    "10_444",
    "10 444",
    "10\u202f444",
    "10\u2009444",
    "10'444",
    "10.4 k",
    "10.4k",
    "1.044e4",
]


def planted(notebook: dict, text: str, where: str, asked: list | None = None) -> list:
    twin = copy.deepcopy(notebook)
    cell = next(
        cell for cell in twin["cells"] if cell["cell_type"] == ("markdown" if where == "prose" else "code")
    )
    if where in ("prose", "code"):
        cell["source"] = [f"# so it is {text} in all"]
    else:
        data = {
            "text": {"text/plain": [f"so it is {text} in all"]},
            "html": {"text/html": [f'<p style="width:9px">so <b>{text}</b></p>']},
            "alt": {"text/html": [f'<svg aria-label="in all {text}" width="9"></svg>']},
            "svg": {"image/svg+xml": [f"<svg><title>{text}</title></svg>"]},
            "json": {"application/json": {"in all": text}},
        }[where]
        cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    return leak.leaks(twin, asked or lessons.lesson("90").predictions.values())


def test_the_learner_edition_leaks_nothing_and_the_answered_one_tells(editions):
    asked = lessons.lesson("90").predictions.values()
    assert leak.leaks(editions["learner"], asked) == []
    assert leak.leaks(editions["answered"], asked) != []


@pytest.mark.parametrize("way", WAYS)
def test_a_planted_answer_is_found_however_it_is_written(editions, way):
    (found,) = planted(editions["learner"], way, "text")
    assert found.rule == "nothing-leaks"
    assert "prediction 90-a" in found.message


@pytest.mark.parametrize("where", ["prose", "code", "text", "html", "alt", "svg", "json"])
def test_a_planted_answer_is_found_wherever_it_stands(editions, where):
    assert planted(editions["learner"], "10,444", where)


@pytest.mark.parametrize(
    "text", ["10,445", "1,044", "104", "10", "10 k", "110,444", "10,444,000", "a10444b", "0.10444"]
)
def test_other_figures_are_no_leak(editions, text):
    assert planted(editions["learner"], text, "text") == []


PARTED = [
    ("text/html", "<b>10</b>,444"),
    ("text/html", "so 10&#44;444"),
    ("text/html", "<span>7</span><span>10,444</span>"),
    ("image/svg+xml", "<svg><text><tspan>10</tspan><tspan>,444</tspan></text></svg>"),
]


@pytest.mark.parametrize(("kind", "markup"), PARTED)
def test_a_planted_answer_is_found_however_markup_parts_it(editions, kind, markup):
    assert len(leaks_of(editions["learner"], {kind: [markup]})) == 1


def test_a_planted_answer_is_found_between_the_outputs_of_a_cell(editions):
    (found,) = leaks_of(editions["learner"], {"text/plain": ["10,"]}, {"text/plain": ["444"]})
    assert found.path.endswith(".outputs")
    assert leaks_of(editions["learner"], {"text/plain": ["10"]}, {"text/plain": ["44"]}) == []


@pytest.mark.parametrize("text", ["so **10**,444", "so $10{,}444$", r"so $10\,444$", "`10`_444"])
def test_a_planted_answer_is_found_in_prose_however_it_is_set(editions, text):
    assert planted(editions["learner"], text, "prose")


def test_a_round_answer_is_a_leak_in_an_output_and_a_given_in_the_prose(editions):
    asked = [replace(lessons.prediction("90-a"), truth=lambda: {"total_tokens": 3_000})]
    for where, leaked in (("text", True), ("html", True), ("prose", False), ("code", False)):
        assert bool(planted(editions["learner"], "3,000", where, asked)) == leaked
    assert planted(editions["learner"], "30", "text", asked) == []


def leaks_of(notebook: dict, *shown: dict) -> list:
    """The leaks of a notebook whose first code cell shows these bundles."""
    twin = copy.deepcopy(notebook)
    cell = next(cell for cell in twin["cells"] if cell["cell_type"] == "code")
    cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}} for data in shown]
    return leak.leaks(twin, lessons.lesson("90").predictions.values())


def test_drawing_coordinates_are_no_leak(editions):
    twin = copy.deepcopy(editions["learner"])
    cell = next(cell for cell in twin["cells"] if cell["cell_type"] == "code")
    drawing = '<svg viewBox="0 0 10444 9"><style>p{width:10444px}</style><path d="M10444 0"/></svg>'
    cell["outputs"] = [{"output_type": "display_data", "data": {"text/html": [drawing]}, "metadata": {}}]
    assert leak.leaks(twin, lessons.lesson("90").predictions.values()) == []


@given(figures_to_commit, st.integers(3, 12))
def test_a_truth_rounded_or_cut_at_three_digits_or_more_shows_it(value, digits):
    truth = Fraction(value)
    if leak._significant(truth) < leak.DIGITS:
        assert not leak.shows(truth, digits, truth)
        return
    step = Fraction(10) ** (leak._exponent(truth) - digits + 1)
    for near in (truth // step * step, round(truth / step) * step):
        assert leak.shows(near, digits, truth)
        assert not leak.shows(near, 2, truth)
    assert not leak.shows(truth + 2 * step, digits, truth)


@given(figures_to_commit)
def test_a_number_is_found_again_in_the_text_it_was_written_into(value):
    number = Fraction(value)
    for text in (f"{value:,}", f"{value}", f"so {value} in all", f"={value};"):
        assert number in [found for _, found, _ in leak.numbers(text)]


# --- the bite


def test_a_changed_stored_output_turns_the_run_red(built, tmp_path):
    text = (built / "answered" / f"{series.TINY}.ipynb").read_text(encoding="utf-8")
    assert text.count("in all 10444") == 1
    (tmp_path / "as-built.ipynb").write_text(text, encoding="utf-8")
    (tmp_path / "changed.ipynb").write_text(text.replace("in all 10444", "in all 10445"), encoding="utf-8")
    done = series.run(
        *["-m", "pytest", "-q", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider"], str(tmp_path)
    )
    failed = re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    assert len(failed) == 1, done.stdout
    assert "changed.ipynb" in failed[0]
    assert done.returncode == 1


# --- commands, guide and handout


def test_an_unknown_lesson_is_an_error_that_lists_what_there_is(built, capsys):
    for command in ("build", "handout"):
        assert main([command, "47", "--root", str(built)]) == 1
        assert "one of 90" in capsys.readouterr().err


def test_the_guide_holds_plans_votes_and_what_to_say(built):
    text = (built / guide.NAME).read_text(encoding="utf-8")
    for line in (
        "| 25 minutes | Only prediction 90-a. |",
        "| ten minutes late | Skip the exercise. |",
        "| 90-a | B | A 40, B 30, C 10, D 20 | Who pays for the first message in turn seven? |",
        "**Projector only.** Let the room name the next bar, then run the cell.",
    ):
        assert line in text.splitlines()


def test_a_stale_guide_is_noticed(root, capsys):
    main(["guide", "--root", str(root)])
    assert main(["guide", "--check", "--root", str(root)]) == 0
    change(root, 'when_late = "Skip the exercise."', 'when_late = "Go home."')
    assert main(["guide", "--check", "--root", str(root)]) == 1
    told = capsys.readouterr().out
    assert "byte-stable" in told
    assert re.search(r"line \d+ differs: .*Skip the exercise.*Go home", told)


class Page(HTMLParser):
    """Counts tags and keeps the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_the_handout_has_boxes_votes_and_strips_and_no_answer(built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["handout", "90", "--root", str(built)]) == 0
    text = (tmp_path / "handout-90.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.text.count("How many input tokens do 7 turns send?") == 1
    assert page.tags.count("h2") == len(lessons.lesson("90").predictions) == 2
    assert page.text.count("☐") == 2 * 2 * 5
    assert page.tags.count("i") == 2 * handout.STRIP_CELLS
    assert "Seven turns. Stable part 1,000 tokens." in page.text
    assert "@page { size: A4" in text
    shown = {value for _, value, _ in leak.numbers(page.text)}
    assert not shown & {Fraction(TRUTH), Fraction(14_535)}


def test_only_a_lesson_about_reads_and_writes_explains_their_letters():
    folder = Path(__file__).parent.parent / "notebooks"
    explains = {
        path.name[:2]: "Mark each part: R read"
        in handout.render(json.loads(path.read_text(encoding="utf-8")))
        for path in folder.glob("0*.ipynb")
    }
    assert explains["02"]
    assert not explains["00"]  # it asks what the model reads, not what came from a cache


def test_the_handout_needs_no_jupyter_and_names_what_it_needs(built, tmp_path):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['jupytext', 'nbformat', 'nbclient', {blocked}]))\n"
        "from pathlib import Path; from ctxlab.notebooks import handout\n"
        f"handout.write('90', Path({str(built)!r}), Path('.'))"
    )
    assert series.run("-c", code.format(blocked=""), folder=tmp_path).returncode == 0
    assert (
        'pip install "ctxlab[notebooks]"'
        in series.run("-c", code.format(blocked="'mistune'"), folder=tmp_path).stderr
    )


def test_a_build_error_is_one_line_on_stderr_and_exit_code_one(root, capsys):
    change(root, SENT, "1 / 0")
    assert main(["build", "90", "--root", str(root)]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert issubclass(build.BuildError, CtxlabError)
