"""The command line: what it says to whom, what it leaves alone, and its exit codes."""

from __future__ import annotations

import ast
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import ctxlab
from ctxlab import __main__ as entry
from ctxlab import cli, doctor, environment, lab, suite
from ctxlab.errors import CtxlabError

ROOT = Path(__file__).parent.parent
(GRAMMAR,) = (action.choices for action in cli.parser()._actions if isinstance(action.choices, dict))


@pytest.fixture
def series(tmp_path, monkeypatch):
    """Two small lessons and an empty folder for a learner's copies of them."""
    shipped, folder = tmp_path / "notebooks", tmp_path / "my-notebooks"
    shipped.mkdir()
    for name in ("00-window.ipynb", "01-cost.ipynb"):
        (shipped / name).write_text(json.dumps({"lesson": name}), encoding="utf-8")
    monkeypatch.setattr(lab, "notebooks_path", lambda: shipped)
    monkeypatch.setattr(lab, "learners_folder", lambda: folder)
    return folder


# --- old Pythons


def too_new(source: str) -> list[str]:
    """What a Python 2.7 could not read in a source that a Python 3.4 can, by kind of node."""
    nodes = list(ast.walk(ast.parse(source.encode("ascii"), feature_version=(3, 4))))
    newer = (ast.JoinedStr, ast.Nonlocal, ast.Starred, ast.YieldFrom, ast.AsyncFunctionDef)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    words = [argument for one in functions for argument in [*one.args.args, *one.args.kwonlyargs]]
    return [
        *[type(node).__name__ for node in nodes if isinstance(node, newer)],
        *[
            "annotation"
            for one in [*words, *functions]
            if getattr(one, "annotation", None) or one.__dict__.get("returns")
        ],
        *["keyword-only" for one in functions if one.args.kwonlyargs],
        *["raise from" for node in nodes if isinstance(node, ast.Raise) and node.cause],
        *["print" for node in nodes if isinstance(node, ast.Name) and node.id == "print"],
    ]


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_the_first_files_read_parse_on_an_old_python(name):
    assert too_new((ROOT / "ctxlab" / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int): pass",
        "def f() -> int: pass",
        "def f(*, a): pass",
        "raise A from b",
        "def f(): yield from a",
    ],
)
def test_a_spelling_that_only_python_3_reads_would_be_noticed(source):
    assert too_new(source)


@pytest.mark.parametrize("source", ["name: int = 1", "name = f'{name}'", "name = '\u2026'"])
def test_a_newer_spelling_would_be_noticed(source):
    with pytest.raises((SyntaxError, UnicodeEncodeError)):
        too_new(source)


def test_an_old_python_is_told_what_is_needed_what_was_found_and_how_to_go_on(monkeypatch, capsys):
    monkeypatch.setattr(entry, "NEEDED", (9, 1))
    assert entry.main(["lab", "--reset", "01"]) == 1
    told = capsys.readouterr().err
    assert "needs Python 9.1 or newer" in told
    assert f"this is {sys.version_info[0]}.{sys.version_info[1]}" in told
    assert "-m ctxlab lab --reset 01" in told


def test_a_newer_python_on_the_path_is_pointed_out(tmp_path, monkeypatch):
    newer = tmp_path / ("python3.12" + (".exe" if os.name == "nt" else ""))
    newer.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "python3.12 -m ctxlab lab" in entry.too_old((3, 9), "python", ["lab"])


def test_no_words_leave_no_space_behind_the_command():
    assert "-m ctxlab\n" in entry.too_old((3, 9), "python", [])


def test_the_folder_itself_can_be_run():
    told = subprocess.run(
        [sys.executable, "-S", "ctxlab", "--version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (told.stdout, told.stderr) == (f"ctxlab {ctxlab.__version__}\n", "")


# --- words


@pytest.mark.parametrize("name", sorted(GRAMMAR))
def test_every_command_explains_itself_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as left:
        cli.run([name, "--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line.startswith(f"example:       ctxlab {name}")]
    assert shown[-1].startswith("from a clone:  ")


def test_every_example_is_in_the_grammar_of_its_command():
    for one in GRAMMAR.values():
        words = one.epilog.partition("\n")[0].split()[2:]
        assert cli.parser().parse_args(words).command


def test_no_words_at_all_show_the_commands(capsys):
    with pytest.raises(SystemExit) as left:
        cli.run([])
    assert left.value.code == 0
    shown = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("    ")}
    assert set(GRAMMAR) <= shown


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        cli.run(["--version"])
    assert capsys.readouterr().out == f"ctxlab {ctxlab.__version__}\n"


def test_a_mistyped_command_is_told_the_nearest_one(capsys):
    assert cli.run(["docter"]) == 2
    assert "did you mean: ctxlab doctor" in capsys.readouterr().err


def test_a_word_far_from_any_command_is_told_all_of_them(capsys):
    assert cli.run(["xyzzy"]) == 2
    assert "one of: lab, test, doctor" in capsys.readouterr().err


def test_capitals_are_no_other_command(capsys):
    assert cli.run(["LAB"]) == 2
    assert "did you mean: ctxlab lab" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "fix"),
    [(["test", "-k", "usage"], "behind --"), (["lab", "extra"], "see: ctxlab lab --help")],
)
def test_a_word_too_many_is_named_with_what_to_do(words, fix, capsys):
    assert cli.run(words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{words[1]}: means nothing to ctxlab {words[0]}")
    assert fix in told


@pytest.mark.parametrize("port", ["-1", "65536", "70000", "x", "8.5", ""])
def test_a_port_that_cannot_be_one_is_refused_before_anything_is_started(port, series, capsys):
    with pytest.raises(SystemExit) as left:
        cli.run(["lab", f"--port={port}"])
    assert left.value.code == 2
    assert "0 (any free one) to 65535" in capsys.readouterr().err
    assert not series.exists()


@pytest.mark.parametrize("port", ["0", "65535"])
def test_the_first_and_the_last_port_are_ports(port):
    assert cli.parser().parse_args(["lab", "--port", port]).port == int(port)


def test_a_place_that_cannot_be_written_is_a_line_and_no_traceback(tmp_path, capsys):
    nowhere = tmp_path / "nowhere"
    assert cli.run(["handout", "00", "--to", str(nowhere)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(str(nowhere))
    assert told.endswith(" [file-system]\n")


def test_a_folder_that_cannot_be_made_is_a_line_and_no_traceback(series, capsys):
    series.write_text("a file where the copies should be", encoding="utf-8")
    assert cli.run(["lab", "--copy-only"]) == 2
    assert capsys.readouterr().err.startswith(f"{series}: ")
    assert series.is_file()


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 2), (errno.EPIPE, 0)])
def test_output_that_cannot_be_written_ends_the_command_once(number, code):
    program = (
        "import sys\nfrom ctxlab import cli\n"
        "class Full:\n"
        "    def reconfigure(self, **words): pass\n"
        "    def write(self, text): return len(text)\n"
        "    def fileno(self): return 1\n"
        f"    def flush(self): raise OSError({number}, 'no room')\n"
        "sys.stdout, first = Full(), sys.stdout\n"
        "code = cli.run(['status'])\n"
        "sys.stdout = first\n"
        "sys.exit(code)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode == code
    assert told.stderr == ("output: no room [file-system]\n" if code else "")


def test_a_closed_output_is_no_error():
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; sys.stdout = None; from ctxlab import cli; sys.exit(cli.run(['status']))",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stderr) == (0, "")


def test_bad_input_is_a_line_with_place_rule_and_fix_and_no_traceback(tmp_path, capsys):
    assert cli.run(["bill", str(tmp_path / "nowhere")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(str(tmp_path / "nowhere"))
    assert "[log-files]" in told
    assert "Traceback" not in told


def test_ctrl_c_is_not_a_traceback(monkeypatch, capsys):
    def interrupted(words):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_dispatch", interrupted)
    assert cli.run(["lab"]) == 130
    assert "run the same command" in capsys.readouterr().err


# --- names that load on first use


def test_a_module_that_misses_something_of_its_own_says_what(tmp_path, monkeypatch):
    (tmp_path / "needs_absent.py").write_text("import a_package_nobody_has\n", encoding="utf-8")
    monkeypatch.setattr(ctxlab, "__path__", [*ctxlab.__path__, str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="a_package_nobody_has"):
        ctxlab.needs_absent  # noqa: B018


# --- lab


def test_copies_are_made_where_they_are_missing_and_never_overwritten(series, capsys):
    assert cli.run(["lab", "--copy-only"]) == 0
    assert sorted(path.name for path in series.iterdir()) == ["00-window.ipynb", "01-cost.ipynb"]
    (series / "00-window.ipynb").write_text("my answers", encoding="utf-8")
    (series / "01-cost.ipynb").unlink()
    assert cli.run(["lab", "--copy-only"]) == 0
    assert (series / "00-window.ipynb").read_text(encoding="utf-8") == "my answers"
    assert (series / "01-cost.ipynb").exists()
    assert "00-window.ipynb: yours, left as they are" in capsys.readouterr().out


@pytest.mark.parametrize("number", ["1", "01", "01-cost", "01-cost.ipynb"])
def test_reset_keeps_the_old_copy_and_begins_anew(series, number):
    cli.run(["lab", "--copy-only"])
    for answers in ("first try", "second try"):
        (series / "01-cost.ipynb").write_text(answers, encoding="utf-8")
        assert cli.run(["lab", "--copy-only", "--reset", number]) == 0
    kept = [path.read_text(encoding="utf-8") for path in sorted((series / "set-aside").glob("*.ipynb"))]
    assert kept == ["first try", "second try"]
    assert json.loads((series / "01-cost.ipynb").read_text(encoding="utf-8")) == {"lesson": "01-cost.ipynb"}


def test_reset_sets_the_answers_of_that_lesson_aside_and_no_others(series):
    lab.copy_lessons(series)
    record = {
        "format": 1,
        "predictions": {"00-a": {}, "01-a": {}, "01-b": {}},
        "exercises": {"00-1": {}, "01-1": {}},
    }
    (series / ".ctxlab").mkdir()
    (series / lab.RECORD).write_text(json.dumps(record), encoding="utf-8")
    lab.copy_lessons(series, reset=["01"])
    now = json.loads((series / lab.RECORD).read_text(encoding="utf-8"))
    assert now == {"format": 1, "predictions": {"00-a": {}}, "exercises": {"00-1": {}}}
    (kept,) = (series / "set-aside").glob("*.json")
    assert json.loads(kept.read_text(encoding="utf-8")) == record


@pytest.mark.parametrize(
    "record",
    [
        "{",
        "",
        "[]",
        "null",
        "7",
        '{"exercises": {}}',
        *(f'{{"predictions": {it}, "exercises": {{}}}}' for it in ("[]", "null")),
    ],
)
def test_a_record_that_cannot_be_read_stops_a_reset_before_anything_moves(series, record):
    lab.copy_lessons(series)
    (series / ".ctxlab").mkdir()
    (series / lab.RECORD).write_text(record, encoding="utf-8")
    with pytest.raises(CtxlabError, match="record"):
        lab.copy_lessons(series, reset=["01"])
    assert (series / "01-cost.ipynb").exists()
    assert list((series / "set-aside").iterdir()) == []


def test_resetting_a_lesson_that_does_not_exist_moves_nothing(series, capsys):
    cli.run(["lab", "--copy-only"])
    assert cli.run(["lab", "--copy-only", "--reset", "01", "--reset", "77"]) == 2
    assert "one of: 00, 01" in capsys.readouterr().err
    assert not (series / "set-aside").exists()


def test_a_lesson_that_does_not_exist_is_told_before_anything_is_installed(monkeypatch, capsys):
    monkeypatch.setattr(environment, "prepare", lambda *words, **options: pytest.fail("installs"))
    for words in (["lab", "--reset", "99"], ["handout", "99"]):
        assert cli.run(words) == 2
        assert "[known-lesson]" in capsys.readouterr().err


def test_a_copy_cut_off_half_way_is_not_taken_for_a_copy(series, monkeypatch):
    def full_disk(source, target):
        Path(target).write_text("half", encoding="utf-8")
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(lab.shutil, "copyfile", full_disk)
        with pytest.raises(OSError, match="no space"):
            lab.copy_lessons(series)
    assert sorted(lab.copy_lessons(series).made) == ["00-window.ipynb", "01-cost.ipynb"]


def test_a_home_folder_that_jupyter_cannot_use_is_told_with_what_to_set(series, tmp_path, monkeypatch):
    copies = lab.copy_lessons(series)
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "file" / "data"))
    with pytest.raises(CtxlabError, match="set HOME") as caught:
        lab.trust(copies)
    assert caught.value.problems[0].rule == "jupyter-folder"


def test_jupyter_opens_the_first_lesson_and_the_one_begun_anew(series):
    assert lab.copy_lessons(series).first == "00-window.ipynb"
    again = lab.copy_lessons(series, reset=["01"])
    assert any(word.endswith("/lab/tree/01-cost.ipynb") for word in lab.jupyter_command(again))
    assert any(
        word.endswith("/notebooks/01-cost.ipynb") for word in lab.jupyter_command(again, notebook7=True)
    )


def test_the_settings_that_keep_jupyter_from_asking_for_news_come_first(monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")
    first, second = lab.jupyter_environment()["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    page = json.loads((Path(first) / "labconfig" / "page_config.json").read_text(encoding="utf-8"))
    assert page["disabledExtensions"] == {"@jupyterlab/apputils-extension:announcements": True}
    assert second == "mine"


def test_a_kernel_started_in_the_copies_finds_this_clone():
    assert lab.jupyter_environment()["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)


def test_lab_goes_on_as_jupyter_in_the_environment_that_has_it(series, monkeypatch):
    became = []
    monkeypatch.setattr(cli, "_become", lambda argv, variables: became.append(argv) or 0)
    monkeypatch.setattr(lab, "trust", lambda copies: None)
    monkeypatch.setattr(environment, "prepare", lambda *words, **options: Path("elsewhere/python"))
    assert cli.run(["lab", "--reset", "01"]) == 0
    assert became == [[str(Path("elsewhere/python")), "-m", "ctxlab", "lab", "--reset", "01"]]
    assert not series.exists()
    monkeypatch.setattr(environment, "prepare", lambda *words, **options: Path(sys.executable))
    assert cli.run(["lab", "--no-browser", "--port", "8899"]) == 0
    assert became[1][1:3] == ["-m", "jupyterlab"]
    assert {"--no-browser", "--ServerApp.port=8899"} <= set(became[1])


def test_an_installed_package_without_jupyter_says_what_to_install(series, monkeypatch, capsys):
    monkeypatch.setattr(cli, "clone_root", lambda: None)
    monkeypatch.setattr(environment, "lacking", lambda extra: environment.requirements(extra)[:1])
    assert cli.run(["lab"]) == 1
    assert 'pip install "ctxlab[notebooks]"' in capsys.readouterr().err


# --- test


def test_the_usual_run_is_every_test_and_both_editions_and_no_browser():
    tests, notebooks = suite.parts(ROOT)
    assert (tests[-1], notebooks[-1]) == ("tests", "notebooks")
    assert "--nbval" in notebooks
    assert "--nbval" not in tests
    assert suite.parts(ROOT, browser=True) == [tests, notebooks, ["tests/browser"]]


def test_the_cells_of_a_notebook_stay_in_one_process_and_so_do_the_tests_of_a_file():
    tests, notebooks = suite.parts(ROOT)
    assert tests[tests.index("--dist") + 1] == "loadfile"
    assert "-n" not in notebooks


def test_words_after_the_dashes_reach_pytest_and_paths_replace_the_folders():
    asked = cli.parser().parse_args(["test", "--", "-k", "usage", "-x"])
    for arguments in suite.parts(ROOT, asked.pytest, browser=True):
        assert arguments[-4:-1] == ["-k", "usage", "-x"]
    assert suite.parts(ROOT, ["tests/test_cli.py::test_the_version"], browser=True) == [
        ["--nbval", "--nbval-current-env", "tests/test_cli.py::test_the_version"]
    ]


def test_browser_tests_run_last_because_they_leave_an_event_loop_running():
    from tests.browser.conftest import pytest_collection_modifyitems as in_order

    places = ["tests/test_zoo.py", "tests/browser/test_handout.py", "notebooks/00.ipynb", "tests/test_ant.py"]
    items = [SimpleNamespace(path=ROOT / place) for place in places]
    in_order(items)
    last = [item.path.relative_to(ROOT).as_posix() for item in items]
    assert last == [
        "tests/test_zoo.py",
        "notebooks/00.ipynb",
        "tests/test_ant.py",
        "tests/browser/test_handout.py",
    ]


def ends(monkeypatch, *codes):
    """The parts of a run end with these codes, one after the other."""
    left = iter(codes)
    monkeypatch.setattr(
        suite.subprocess, "run", lambda *words, **options: subprocess.CompletedProcess(words, next(left))
    )


@pytest.mark.parametrize(
    ("tests", "notebooks", "code", "verdict"),
    [
        (0, 0, 0, "passed"),
        (1, 0, 1, "NOT passed"),
        (0, 1, 1, "NOT passed"),
        (2, 1, 2, "NOT passed"),
        (0, 4, 4, "NOT passed"),
        (0, 5, 0, "passed"),
        (5, 0, 0, "passed"),
        (5, 1, 1, "NOT passed"),
        (5, 5, 5, "NOT passed"),
    ],
)
def test_the_exit_code_and_the_last_line_are_those_of_all_parts(
    monkeypatch, capsys, tests, notebooks, code, verdict
):
    ends(monkeypatch, tests, notebooks)
    assert suite.run(ROOT) == code
    assert capsys.readouterr().out.startswith(f"ctxlab test: {verdict}")


def test_without_a_chromium_the_browser_tests_say_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(suite, "find_chromium", lambda: None)
    assert cli.run(["test", "--browser"]) == 1
    assert suite.how_to_get_chromium() in capsys.readouterr().err


def test_a_named_chromium_is_the_only_one_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "absent"))
    assert suite.find_chromium() is None
    (tmp_path / "absent").touch()
    assert suite.find_chromium() == tmp_path / "absent"


@pytest.mark.parametrize(("system", "word"), [("darwin", "brew"), ("win32", "winget"), ("linux", "hromium")])
def test_each_system_has_its_own_way_to_a_chromium(monkeypatch, system, word):
    monkeypatch.setattr(suite.sys, "platform", system)
    assert word in suite.how_to_get_chromium()


# --- doctor


def test_the_series_can_run_here():
    items = doctor.examine()
    assert [item for item in items if item.state == "problem"] == []
    assert {"Python", "packages", "recordings", "notebooks", "your record", "Chromium", "API key"} <= {
        item.name for item in items
    }


def test_a_bare_python_is_told_what_is_missing_and_what_mends_it():
    told = subprocess.run(
        [sys.executable, "-S", "-m", "ctxlab", "doctor", "--here", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert told.returncode == 1
    (problem,) = (item for item in json.loads(told.stdout)["items"] if item["state"] == "problem")
    assert problem["name"] == "packages"
    assert "jupyterlab" in problem["told"]
    assert problem["mend"].endswith("-m ctxlab lab")


def test_every_problem_is_shown_with_what_mends_it():
    shown = doctor.screen((doctor.Item("packages", "problem", "jupyterlab", "do this"),))
    assert "MISSING  packages: jupyterlab" in shown
    assert "-> do this" in shown
    assert "cannot run yet: 1 thing MISSING" in shown


def test_a_key_is_said_to_be_set_and_never_shown(monkeypatch):
    for value in ("a-value-nobody-may-see", ""):
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
        items = doctor.examine()
        assert any(
            item.name == "API key" and item.told.startswith("set" if value else "not set") for item in items
        )
        assert not value or value not in doctor.screen(items) + doctor.as_json(items)


def test_a_variable_that_changes_the_client_is_a_warning_without_its_value(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://proxy.example")
    (warning,) = (item for item in doctor.examine() if item.name == "API client")
    assert warning.state == "warning"
    assert "ANTHROPIC_BASE_URL" in warning.told
    assert "proxy.example" not in doctor.as_json(doctor.examine())


def test_without_such_a_variable_there_is_no_warning():
    assert not [item for item in doctor.examine() if item.name == "API client"]


def test_another_version_than_the_pinned_one_is_a_warning_and_runs(monkeypatch):
    found = environment.installed_version
    monkeypatch.setattr(
        environment, "installed_version", lambda name: "4.6.99" if name == "jupyterlab" else found(name)
    )
    items = doctor.examine()
    (warning,) = (item for item in items if item.name == "packages" and item.state == "warning")
    assert "jupyterlab 4.6.99" in warning.told
    assert doctor.can_run(items)


def test_a_kernel_that_does_not_start_is_a_problem(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyter_client.manager", None)
    (problem,) = (item for item in doctor.examine(start_kernel=True) if item.name == "kernel")
    assert problem.state == "problem"


def test_a_kernel_that_starts_is_not():
    (item,) = (item for item in doctor.examine(start_kernel=True) if item.name == "kernel")
    assert (item.state, item.told) == ("ok", "python3 starts")


# --- the other commands


def test_a_bill_shows_figures_and_no_text(tmp_path, capsys):
    row = {
        "message": {
            "id": "m1",
            "model": "claude-opus-4-8",
            "content": [{"type": "text", "text": "a confidence"}],
            "usage": {"input_tokens": 1000, "output_tokens": 5},
        }
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert cli.run(["bill", str(tmp_path), "--to", str(tmp_path / "bill.md")]) == 0
    told = capsys.readouterr().out + (tmp_path / "bill.md").read_text(encoding="utf-8")
    assert "1 row read" in told
    assert "claude-opus-4-8" in told
    assert "confidence" not in told


def test_a_handout_is_written_and_its_place_told(tmp_path, capsys):
    assert cli.run(["handout", "00", "--to", str(tmp_path)]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()


@pytest.mark.parametrize("number", ["0", "00", "00-window-and-store", "00-window-and-store.ipynb"])
def test_every_command_knows_a_lesson_by_the_same_names(number, tmp_path, capsys):
    assert cli.run(["status", number]) == 0
    assert "lesson 00" in capsys.readouterr().out
    assert cli.run(["handout", number, "--to", str(tmp_path)]) == 0
    assert (tmp_path / "handout-00.html").is_file()


def test_the_state_of_a_lesson_that_does_not_exist_is_not_told(capsys):
    assert cli.run(["status", "99"]) == 2
    assert "one of: 00, 01" in capsys.readouterr().err


def test_status_reads_the_record_beside_the_copies(series, monkeypatch, capsys):
    monkeypatch.delenv("CTXLAB_RECORD")
    assert cli.run(["status"]) == 0
    assert "NOT YET" in capsys.readouterr().out
    assert os.environ["CTXLAB_RECORD"] == str(series / lab.RECORD)
