"""Promises of ctxlab.clock: time moves when told to, forward, and stays a finite number."""

from __future__ import annotations

import time

import pytest

from ctxlab.clock import ManualClock, SystemClock
from ctxlab.errors import InvalidArgumentError


def test_a_manual_clock_stands_still_until_it_is_moved():
    clock = ManualClock(start_s=100)
    assert clock.now_s() == clock.now_s() == 100.0
    clock.advance(0)
    clock.advance(0.5)
    assert clock.now_s() == 100.5


def test_the_clock_of_the_machine_is_the_machines():
    before = time.time()
    assert before <= SystemClock().now_s() <= time.time()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "3", None, True])
def test_what_is_no_finite_number_of_seconds_is_refused(value):
    with pytest.raises(InvalidArgumentError, match=r"start_s.*finite-number"):
        ManualClock(value)
    with pytest.raises(InvalidArgumentError, match=r"seconds.*finite-number"):
        ManualClock().advance(value)


def test_time_does_not_go_back_or_run_out_of_numbers():
    clock = ManualClock(start_s=1e308)
    for seconds in (-1, 1e308):
        with pytest.raises(InvalidArgumentError):
            clock.advance(seconds)
    assert clock.now_s() == 1e308
