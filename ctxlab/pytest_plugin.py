"""The pytest plugin: a test fails when what it sends does not keep one prefix.

Models: the fixture ``stable_prefix``, which wraps a client and is checked when the test's own code is done.
A test that failed by itself keeps its own failure. Loads nothing of ctxlab until a test asks for the fixture.
Does not model: how prefixes are compared (:mod:`ctxlab.report.stability`).
Source: pytest 9.2, hook wrappers and stashes.

    def test_the_agent_keeps_its_prefix(stable_prefix):
        agent = Agent(client=stable_prefix.wrap(anthropic.Anthropic()))
        agent.run("first question")
        agent.run("second question")
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ctxlab.report.sending import StablePrefix

_WATCH: pytest.StashKey[StablePrefix] = pytest.StashKey()


class UnreadRequestWarning(UserWarning):
    """A request was sent that cannot be read, so nothing is known about its prefix."""


@pytest.fixture
def stable_prefix(request: pytest.FixtureRequest) -> StablePrefix:
    """Fails the test when a request breaks the prefix of the one it goes on from, and draws both.

    ``client = stable_prefix.wrap(client)`` watches a client, ``stable_prefix.record(body)`` takes one
    request, ``stable_prefix.ignore("CTX301")`` lets one kind of break pass, ``stable_prefix.check()`` looks
    at once.
    """
    from ctxlab.report.sending import StablePrefix

    watch = StablePrefix()
    request.node.stash[_WATCH] = watch
    return watch


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let the test run, then hold what it sent to one prefix."""
    result = yield
    watch = item.stash.get(_WATCH, None)
    if watch is not None:
        _hold(watch)
    return result


def _hold(watch: StablePrefix) -> None:
    from ctxlab.report.stability import UnstablePrefixError

    for problem in watch.unread:
        warnings.warn(f"a request could not be read: {problem}", UnreadRequestWarning, stacklevel=2)
    reason = ""
    try:
        watch.check()
    except UnstablePrefixError as error:
        reason = str(error)
    if reason:
        pytest.fail(reason, pytrace=False)
