"""Promises of the rate limits: what counts, who is refused and for how long, what the headers say."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from ctxlab.clock import ManualClock
from ctxlab.emulator import Emulator, RateLimits
from ctxlab.errors import InvalidArgumentError
from tests.emulated import MARK, a_request, a_word_a_token, text, user

RULES = text("[9000] The rules.", cache_control=MARK)


def an_emulator(**limits: int) -> Emulator:
    return Emulator(clock=ManualClock(), counter=a_word_a_token, limits=RateLimits(**limits))


def ask(api: Emulator, **fields: Any) -> Any:
    return api.client().messages.create(**a_request(**fields))


def test_without_limits_there_are_none():
    api = Emulator(clock=ManualClock(), counter=a_word_a_token)
    for _ in range(200):
        raw = api.client().messages.with_raw_response.create(**a_request())
    assert not [name for name in raw.headers if "ratelimit" in name]


def test_requests_are_counted_and_come_back_with_time():
    api = an_emulator(requests_per_minute=3)
    for _ in range(3):
        ask(api)
    with pytest.raises(anthropic.RateLimitError) as told:
        ask(api)
    assert told.value.response.headers["retry-after"] == "20"
    assert told.value.body["error"]["type"] == "rate_limit_error"
    assert "3 requests per minute" in told.value.body["error"]["message"]
    api.clock.advance(19)
    with pytest.raises(anthropic.RateLimitError):
        ask(api)
    api.clock.advance(1)
    ask(api)


def test_waiting_as_long_as_told_is_long_enough():
    api = an_emulator(input_tokens_per_minute=7000)
    for _ in range(8):
        try:
            ask(api, system=[text("[5000] Rules.")])
        except anthropic.RateLimitError as error:
            api.clock.advance(int(error.response.headers["retry-after"]))
            ask(api, system=[text("[5000] Rules.")])
    assert {made.status for made in api.calls} == {200, 429}


def test_input_that_is_read_from_the_cache_does_not_count():
    api = an_emulator(input_tokens_per_minute=10_000)
    for turn in range(30):  # 30 × 9,000 tokens in no time
        ask(api, system=[RULES], messages=[user(text(f"Question {turn}"))])
    assert sum(made.usage.cache_read_input_tokens for made in api.calls) > 260_000


def test_the_same_without_a_marker_is_refused():
    api = an_emulator(input_tokens_per_minute=10_000)
    bare = [text("[9000] The rules.")]
    for _ in range(2):  # the second is let in with what is left
        ask(api, system=bare)
    with pytest.raises(anthropic.RateLimitError, match="10,000 input tokens per minute"):
        ask(api, system=bare)


def test_what_is_written_does_count():
    api = an_emulator(input_tokens_per_minute=9000)
    ask(api, system=[RULES])
    with pytest.raises(anthropic.RateLimitError):
        ask(api, system=[RULES])


def test_output_counts_when_it_was_said():
    api = Emulator(
        clock=ManualClock(),
        counter=a_word_a_token,
        replies=lambda _: "w " * 50,
        limits=RateLimits(output_tokens_per_minute=100),
    )
    for _ in range(2):
        ask(api)
    with pytest.raises(anthropic.RateLimitError, match="100 output tokens per minute"):
        ask(api)


def test_each_model_has_its_own():
    api = an_emulator(requests_per_minute=1)
    ask(api)
    ask(api, model="claude-haiku-4-5")
    with pytest.raises(anthropic.RateLimitError):
        ask(api)


def test_workspaces_share_them():
    api = an_emulator(requests_per_minute=1)
    ask(api)
    with pytest.raises(anthropic.RateLimitError):
        api.client("team").messages.create(**a_request())


def test_a_refused_request_costs_nothing():
    api = an_emulator(requests_per_minute=2)
    for _ in range(5):
        with pytest.raises(anthropic.BadRequestError):
            ask(api, max_tokens=-1)
    ask(api)
    ask(api)
    with pytest.raises(anthropic.RateLimitError):
        ask(api)
    assert api.calls[-1].usage is None


def test_a_count_is_not_limited_with_them():
    api = an_emulator(requests_per_minute=1)
    for _ in range(5):
        api.client().messages.count_tokens(model="claude-opus-5-5", messages=[user(text())])


def test_the_headers_say_what_is_left_and_when_it_is_full():
    api = an_emulator(requests_per_minute=60, input_tokens_per_minute=30_000)
    api.clock.advance(1_800_000_000)
    raw = api.client().messages.with_raw_response.create(**a_request(system=[RULES]))
    raw = api.client().messages.with_raw_response.create(**a_request(system=[text("[9000] Others.")]))
    told = {name: value for name, value in raw.headers.items() if "ratelimit" in name}
    assert told == {
        "anthropic-ratelimit-requests-limit": "60",
        "anthropic-ratelimit-requests-remaining": "58",
        "anthropic-ratelimit-requests-reset": "2027-01-15T08:00:02Z",
        "anthropic-ratelimit-input-tokens-limit": "30000",
        "anthropic-ratelimit-input-tokens-remaining": "21000",
        "anthropic-ratelimit-input-tokens-reset": "2027-01-15T08:00:18Z",
    }


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "9"])
def test_a_limit_that_is_none_is_refused(value):
    with pytest.raises(InvalidArgumentError, match="requests_per_minute"):
        RateLimits(requests_per_minute=value)
