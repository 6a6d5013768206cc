"""Prefix breakers in source: what is confirmed, what is suspected, what must not fire, what is skipped."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxlab.breakers import Scan, SourceError, scan_source, scan_text
from ctxlab.breakers.suppressions import apply, suppressions
from tests.breakers_programs import PROGRAMS

ROOT = Path(__file__).parent.parent
CLOCK = """
import anthropic
from datetime import datetime

client = anthropic.Anthropic()


def build_prompt():
    now = datetime.now()
    prompt = f"You keep records. It is {now}."
    return prompt


def ask(text):
    return client.messages.create(
        model="m", max_tokens=9, system=build_prompt(), messages=[{"role": "user", "content": text}]
    )
"""


def codes(findings, *, confirmed):
    return {one.code for one in findings if one.confirmed is confirmed}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.promise)
def test_of_a_program(program):
    found = scan_text(program.code)
    told = "\n".join(map(str, found))
    assert codes(found, confirmed=True) == program.confirmed, told
    assert codes(found, confirmed=False) == program.suspected, told


def test_there_are_at_least_sixty_programs_and_half_of_them_confirm_nothing():
    assert len(PROGRAMS) >= 60
    assert len({program.promise for program in PROGRAMS}) == len(PROGRAMS)
    silent = [program for program in PROGRAMS if not program.confirmed]
    assert 2 * len(silent) >= len(PROGRAMS)


def test_a_finding_names_the_expression_its_way_the_request_and_a_repair():
    (found,) = scan_text(CLOCK, "agent.py")
    assert (found.path, found.line, found.code, found.certainty) == ("agent.py", 9, "CTX101", "confirmed")
    assert found.evidence == "datetime.now()"
    assert "now → prompt → build_prompt() → system" in found.message
    assert f"line {CLOCK.splitlines().index('    return client.messages.create(') + 1}" in found.message
    assert "newest user message" in found.fix


def test_a_set_says_that_it_breaks_across_processes_and_not_inside_one():
    (found,) = scan_text('client.messages.create(system=", ".join({"a", "b"}), messages=[])')
    assert "across processes, not inside one" in found.message


def test_one_expression_is_told_once_however_many_requests_it_reaches():
    code = CLOCK + CLOCK.split("\n\n\n")[-1].replace("def ask", "def ask_again")
    assert len(scan_text(code)) == 1


def test_text_that_is_no_python_is_an_error_with_its_line():
    with pytest.raises(SourceError) as raised:
        scan_text("x = 1\ndef f(:\n", "bad.py")
    assert raised.value.problems[0].path == "bad.py:2"


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(tmp_path, ends):
    path = tmp_path / "agent.py"
    path.write_bytes(CLOCK.replace("\n", ends).encode())
    assert [one.line for one in scan_source(path).findings] == [9]


def test_a_folder_is_read_in_order_and_what_is_not_its_own_is_passed_over(tmp_path):
    for name in ("b.py", "a.py", "sub/c.py", ".hidden/d.py", "venv/e.py", "x/site-packages/f.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CLOCK, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("datetime.now()", encoding="utf-8")
    scan = scan_source(tmp_path)
    assert [Path(one).relative_to(tmp_path).as_posix() for one in scan.read] == ["a.py", "b.py", "sub/c.py"]
    assert [one.path for one in scan.findings] == list(scan.read)
    assert scan.complete


def test_a_file_named_twice_is_read_once(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(CLOCK, encoding="utf-8")
    assert len(scan_source(path, tmp_path, path).findings) == 1


def test_a_loop_of_links_ends(tmp_path):
    (tmp_path / "a.py").write_text(CLOCK, encoding="utf-8")
    try:
        (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    except OSError:  # pragma: no cover - a system without links has no loops of them
        return
    assert len(scan_source(tmp_path).read) == 1


@pytest.mark.parametrize(
    ("name", "data", "rule"),
    [
        ("syntax.py", b"x = 1\ndef f(:\n", "syntax"),
        ("binary.py", b"x = 1\n\0\0", "binary"),
        ("latin.py", b"name = '\xe9'\n", "encoding"),
        ("unknown.py", b"# -*- coding: klingon -*-\nx = 1\n", "encoding"),
        ("large.py", b"#" * 5_000_001, "too-large"),
        ("deep.py", b"x = " + b"(" * 5000 + b")" * 5000, "syntax"),
        ("cut.ipynb", b'{"cells": [', "notebook"),
        ("list.ipynb", b"[1, 2]", "notebook"),
        ("no_cells.ipynb", b'{"metadata": {}}', "notebook"),
        ("odd.ipynb", b'{"cells": [3], "metadata": {}}', "notebook"),
        ("julia.ipynb", b'{"cells": [], "metadata": {"kernelspec": {"language": "julia"}}}', "notebook"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_is_read(tmp_path, name, data, rule):
    (tmp_path / name).write_bytes(data)
    (tmp_path / "good.py").write_text(CLOCK, encoding="utf-8")
    scan = scan_source(tmp_path)
    (problem,) = scan.skipped
    assert (problem.path.split("/")[-1].split(":")[0], problem.rule) == (name, rule)
    assert not scan.complete
    assert len(scan.findings) == 1


def test_a_path_that_does_not_exist_is_said():
    (problem,) = scan_source("no/such/folder").skipped
    assert problem.rule == "no-such-path"


def test_a_coding_line_is_honoured(tmp_path):
    text = "# -*- coding: latin-1 -*-\nNAME = 'é'\n" + CLOCK
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    scan = scan_source(tmp_path)
    assert scan.complete
    assert len(scan.findings) == 1


def notebook(*cells, kind="code"):
    made = [{"cell_type": "markdown", "source": ["# Notes"]}]
    made += [{"cell_type": kind, "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_values_flow_from_cell_to_cell_and_lines_are_those_of_the_cell(tmp_path):
    path = tmp_path / "nb.ipynb"
    first = "%load_ext autoreload\n!pip install anthropic\nfrom datetime import datetime\nimport anthropic\n"
    second = "%%time\nclient = anthropic.Anthropic()\ndef system():\n    return f'It is {datetime.now()}'"
    third = "files = !ls\nclient.messages.create(model='m', system=system(), messages=[])\nclient?"
    path.write_text(notebook(first, second, third), encoding="utf-8")
    scan = scan_source(path)
    assert scan.complete
    (found,) = scan.findings
    assert (found.path, found.line) == (f"{path.as_posix()}: cell 3", 4)


def test_a_cell_that_is_no_python_is_said_with_its_line(tmp_path):
    path = tmp_path / "nb.ipynb"
    path.write_text(notebook("x = 1", "y = 1\nz = = 2"), encoding="utf-8")
    (problem,) = scan_source(path).skipped
    assert problem.path == f"{path.as_posix()}: cell 3:2"


def test_cells_of_other_languages_and_magics_inside_a_block_do_no_harm(tmp_path):
    path = tmp_path / "nb.ipynb"
    block = "for i in range(3):\n    %timeit f(i)\nif True:\n    !ls \\\n      -l\ntext = ('a %s'\n   % 1)"
    path.write_text(notebook("%%bash\nls -l | wc", block.replace("text", "x"), CLOCK), encoding="utf-8")
    scan = scan_source(path)
    assert [one.rule for one in scan.skipped] == [] or scan.skipped[0].rule == "syntax"


def test_the_same_text_gives_the_same_findings_in_every_process(tmp_path):
    for number, program in enumerate(PROGRAMS):
        (tmp_path / f"p{number:03}.py").write_text(program.code, encoding="utf-8")
    code = f"from ctxlab.breakers import scan_source; s = scan_source({str(tmp_path)!r}); print(repr(s))"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


@given(st.text(max_size=200))
def test_no_text_makes_a_scan_raise_anything_but_its_own_error(text):
    try:
        found = scan_text(text)
    except SourceError:
        return
    assert isinstance(found, tuple)


NAMES = "messages system tools client self create model now x items append history content role"
WORDS = st.sampled_from(sorted(NAMES.split()))


def expressions():
    plain = st.one_of(
        WORDS.map(lambda name: ast.Name(name, ast.Load())),
        st.sampled_from([0, 1, -1, "user", "text", "%H:%M", None, True, "cache_control"]).map(ast.Constant),
    )

    def grow(inner):
        pairs = st.lists(inner, max_size=3)
        return st.one_of(
            st.builds(lambda value, name: ast.Attribute(value, name, ast.Load()), inner, WORDS),
            st.builds(lambda value, key: ast.Subscript(value, key, ast.Load()), inner, inner),
            st.builds(
                lambda value, low: ast.Subscript(value, ast.Slice(low, None, None), ast.Load()), inner, inner
            ),
            st.builds(lambda left, right: ast.BinOp(left, ast.Add(), right), inner, inner),
            st.builds(lambda left, right: ast.BinOp(left, ast.Mod(), right), inner, inner),
            st.builds(lambda test, one, two: ast.IfExp(test, one, two), inner, inner, inner),
            st.builds(
                lambda func, args, name, value: ast.Call(func, args, [ast.keyword(name, value)]),
                inner,
                pairs,
                st.one_of(WORDS, st.none()),
                inner,
            ),
            st.builds(
                lambda keys, values: ast.Dict(keys[: len(values)], values[: len(keys)]),
                st.lists(st.one_of(inner, st.none()), max_size=3),
                pairs,
            ),
            pairs.map(lambda items: ast.List(items, ast.Load())),
            st.lists(inner, min_size=1, max_size=3).map(ast.Set),
            st.builds(
                lambda item, over: ast.ListComp(
                    item, [ast.comprehension(ast.Name("x", ast.Store()), over, [], 0)]
                ),
                inner,
                inner,
            ),
            inner.map(lambda value: ast.JoinedStr([ast.FormattedValue(value, -1, None)])),
            inner.map(lambda value: ast.Starred(value, ast.Load())).map(
                lambda item: ast.List([item], ast.Load())
            ),
        )

    return st.recursive(plain, grow, max_leaves=12)


def statements():
    targets = st.one_of(
        WORDS.map(lambda name: ast.Name(name, ast.Store())),
        st.builds(lambda value, name: ast.Attribute(value, name, ast.Store()), expressions(), WORDS),
        st.builds(lambda value, key: ast.Subscript(value, key, ast.Store()), expressions(), expressions()),
    )
    simple = st.one_of(
        st.builds(lambda target, value: ast.Assign([target], value), targets, expressions()),
        st.builds(lambda target, value: ast.AugAssign(target, ast.Add(), value), targets, expressions()),
        expressions().map(ast.Expr),
    )

    def grow(inner):
        body = st.lists(inner, min_size=1, max_size=3)
        arguments = ast.arguments([], [ast.arg("self"), ast.arg("messages")], None, [], [], None, [])
        return st.one_of(
            st.builds(lambda test, one, two: ast.If(test, one, two), expressions(), body, body),
            st.builds(lambda test, one: ast.While(test, one, []), expressions(), body),
            st.builds(lambda name, over, one: ast.For(name, over, one, []), targets, expressions(), body),
            st.builds(lambda name, one: ast.FunctionDef(name, arguments, one, [], None), WORDS, body),
            body.map(lambda one: ast.ClassDef("Agent", [], [], one, [])),
        )

    return st.recursive(simple, grow, max_leaves=8)


SENDS = "client.messages.create(model=model, system=system, tools=tools, messages=messages)"


@given(st.lists(statements(), min_size=1, max_size=5))
def test_no_module_makes_a_scan_raise(body):
    tree = ast.fix_missing_locations(ast.Module([*body, *ast.parse(SENDS).body], []))
    try:
        text = ast.unparse(tree)
        ast.parse(text)
    except (SyntaxError, ValueError):
        return
    assert isinstance(scan_text(text), tuple)


@given(st.sampled_from(PROGRAMS), st.integers(1, 5))
def test_lines_above_a_program_move_its_findings_and_change_nothing_else(program, lines):
    before = scan_text(program.code)
    after = scan_text("#\n" * lines + program.code)
    assert [(one.code, one.certainty, one.line + lines, one.evidence) for one in before] == [
        (one.code, one.certainty, one.line, one.evidence) for one in after
    ]


def test_a_long_module_of_functions_that_call_each_other_ends():
    count = 60
    calls = [
        f"def f{n}(a):\n    return f{(n * 7 + 1) % count}(a) + f{(n * 3 + 2) % count}([a]) + str({{a, 1}})"
        for n in range(count)
    ]
    code = "\n".join([*calls, "def go(client, q):", "    client.messages.create(system=f0(q), messages=[])"])
    try:
        found = scan_text(code)
    except SourceError as error:
        problems = error.problems
    else:
        problems = ()
        assert codes(found, confirmed=True) == {"CTX202"}
    assert {one.rule for one in problems} <= {"followed-in-part"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x()  # ctxlab: ignore[CTX101] one request a day", {1: (("CTX101",), "one request a day")}),
        (
            "# ctxlab: ignore[CTX101, CTX202]: sorted elsewhere\nx()",
            {1: (("CTX101", "CTX202"), "sorted elsewhere")},
        ),
        ("x()  # ctxlab: ignore[ctx101]", {1: (("CTX101",), "")}),
        ('x = "# ctxlab: ignore[CTX101] in a text"', {}),
        ("# see ctxlab: about ignore", {}),
    ],
)
def test_suppressions_are_read_from_comments_only(text, expected):
    assert {line: (one.codes, one.reason) for line, one in suppressions(text).items()} == expected


def suppressed(comment, *, above=False):
    lines = CLOCK.split("\n")
    if above:
        lines.insert(8, f"    {comment}")
    else:
        lines[8] += f"  {comment}"
    text = "\n".join(lines)
    return apply(scan_text(text, "agent.py"), text, "agent.py")


@pytest.mark.parametrize("above", [False, True])
def test_a_suppression_with_a_reason_suppresses_on_its_line_and_from_the_line_above(above):
    kept, gone, problems = suppressed("# ctxlab: ignore[CTX101] asked once a day", above=above)
    assert (kept, [one.code for one in gone], problems) == ((), ["CTX101"], ())


@pytest.mark.parametrize(
    ("comment", "rule"),
    [
        ("# ctxlab: ignore[CTX101]", "suppression-reason"),
        ("# ctxlab: ignore asked once a day", "suppression-code"),
        ("# ctxlab: ignore[CTX999] asked once a day", "suppression-code"),
        ("# ctxlab: ignore[CTX202] asked once a day", "suppression-unused"),
    ],
)
def test_a_suppression_that_says_too_little_or_something_else_does_not_suppress(comment, rule):
    kept, gone, problems = suppressed(comment)
    assert [one.code for one in kept] == ["CTX101"]
    assert gone == ()
    assert [(one.rule, one.path) for one in problems] == [(rule, "agent.py:9")]


def test_a_comment_behind_other_code_does_not_reach_the_line_below():
    text = "x = 1  # ctxlab: ignore[CTX101] for x\n" + CLOCK.split("\n")[8]
    assert suppressions(text)[1].alone is False


def test_a_scan_of_nothing_is_complete_and_empty(tmp_path):
    assert scan_source(tmp_path) == Scan((), (), ())
