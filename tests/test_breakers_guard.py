"""A module that cannot be followed keeps no other from being scanned, and is told as followed in part."""

from __future__ import annotations

import pytest

from ctxlab.breakers import SourceError, scan_source, scan_text
from ctxlab.breakers.follow import history, placement

CLOCK = """
import anthropic
from datetime import datetime
client = anthropic.Anthropic()
def ask(text):
    turns = [{"role": "user", "content": text}]
    return client.messages.create(model="m", max_tokens=9, system=f"It is {datetime.now()}", messages=turns)
"""
TRIP = CLOCK.replace("It is", "TRIP")


def plant(monkeypatch, error):
    """Make the reader fail with ``error`` at the request of the module that says TRIP, and there only."""
    judge = placement.judge

    def failing(reading, request):
        if any("TRIP" in line for line in reading.lines):
            raise error
        judge(reading, request)

    monkeypatch.setattr(placement, "judge", failing)


@pytest.mark.parametrize(
    "error",
    [AttributeError("x"), KeyError("x"), IndexError(), TypeError(), AssertionError(), RecursionError()],
    ids=lambda error: type(error).__name__,
)
def test_a_reader_that_fails_on_one_module_tells_so_and_goes_on_to_the_next(monkeypatch, tmp_path, error):
    plant(monkeypatch, error)
    for name, code in (("a.py", CLOCK), ("b.py", TRIP), ("c.py", CLOCK)):
        (tmp_path / name).write_text(code, encoding="utf-8")
    scan = scan_source(tmp_path)
    assert [problem.rule for problem in scan.skipped] == ["followed-in-part"]
    assert scan.skipped[0].path.endswith("b.py")
    assert not scan.complete
    assert sorted({one.path[-4:] for one in scan.findings if one.confirmed}) == ["a.py", "c.py"]


def test_what_was_found_before_the_failure_is_told(monkeypatch, tmp_path):
    def failing(reading):
        raise KeyError("x")

    monkeypatch.setattr(history, "compare", failing)
    (tmp_path / "a.py").write_text(CLOCK, encoding="utf-8")
    scan = scan_source(tmp_path)
    assert [one.code for one in scan.findings if one.confirmed] == ["CTX101"]
    assert [problem.rule for problem in scan.skipped] == ["followed-in-part"]
    assert "KeyError" in str(scan.skipped[0])


def test_a_text_that_cannot_be_followed_is_a_typed_error(monkeypatch):
    plant(monkeypatch, AttributeError("x"))
    with pytest.raises(SourceError) as raised:
        scan_text(TRIP)
    assert [problem.rule for problem in raised.value.problems] == ["followed-in-part"]


def test_a_module_that_can_be_followed_has_no_problem(tmp_path):
    (tmp_path / "a.py").write_text(CLOCK, encoding="utf-8")
    assert scan_source(tmp_path).complete
