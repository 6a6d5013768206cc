"""Cost mistakes seen in the field, each as one small case with the figure that is right."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from ctxlab.catalogue import Model, RateCard, get_model
from ctxlab.cost import Call, bill, bill_session, what_if
from ctxlab.errors import InvalidUsageError, UnknownModelError
from ctxlab.usage import CacheCreation, Usage, fold_rows, hit_rate


def test_one_row_per_content_block_is_one_message() -> None:
    """Adding the rows of a log made totals up to 2.15 times too high."""

    def row(message_id: str, output: int, fresh: int, read: int, written: int) -> dict[str, object]:
        usage = {
            "input_tokens": fresh,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": output,
        }
        return {"message": {"id": message_id, "usage": usage}}

    rows = [row("msg_A", output, 2, 15_030, 8_655) for output in (1, 1, 1, 1, 412)]
    rows.append(row("msg_B", 38, 2, 23_685, 120))
    first, second = fold_rows(rows)
    usage = first.usage
    assert (first.message_id, first.rows, second.message_id, second.rows) == ("msg_A", 5, "msg_B", 1)
    assert (usage.input_tokens, usage.output_tokens) == (2, 412)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (15_030, 8_655)


def test_input_tokens_is_not_the_input() -> None:
    """A tool showed 7 tokens for a prompt of about 10,000."""
    usage = Usage(
        input_tokens=10, cache_read_input_tokens=1_000, cache_creation=CacheCreation(200), output_tokens=5
    )
    assert usage.total_input_tokens == 1_210
    assert usage.total_input_tokens + usage.output_tokens == 1_215


def test_cached_tokens_are_not_paid_twice() -> None:
    """20,212 tokens, 16,298 of them cached, 931 out, at 0.50 / 0.05 / 3.00: the cached ones are paid once."""
    usage = Usage.from_inclusive(20_212, 16_298, 931)
    assert (usage.input_tokens, usage.cache_read_input_tokens) == (3_914, 16_298)
    known = get_model("claude-haiku-4-5")
    card = RateCard(None, input_usd_per_mtok=Fraction("0.50"), output_usd_per_mtok=Fraction(3))
    model = replace(known, price_history=(replace(known.rates_at(), cards=(card,)),))
    assert round(bill(usage, model).total_usd, 4) == Decimal("0.0056")
    assert round(bill(Usage(input_tokens=20_212, output_tokens=931), model).total_usd, 4) == Decimal("0.0129")


def test_more_cached_than_sent_is_an_error_and_not_clamped() -> None:
    with pytest.raises(InvalidUsageError, match="non-negative-remainder"):
        Usage.from_inclusive(16_297, 16_298, 931)


def test_hour_long_writes_cost_twice_the_input_price() -> None:
    """Priced like 5-minute writes they were 37.5 % too low."""
    split = bill(Usage(cache_creation=CacheCreation(600_000, 400_000)), "claude-opus-4-8")
    assert split.by_label() == {"cache write 5m": Decimal("3.75"), "cache write 1h": Decimal(4)}
    assert Decimal("7.75") == split.total_usd
    assert not split.estimate
    unsplit = bill(
        {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 10**6}, "claude-opus-4-8"
    )
    assert Decimal("6.25") == unsplit.total_usd
    assert unsplit.estimate
    assert unsplit.range_usd == (Decimal("6.25"), Decimal(10))


def test_a_streams_running_totals_are_not_added() -> None:
    usage = Usage.from_stream(
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1}}},
            {"type": "message_delta", "usage": {"output_tokens": 8}},
            {"type": "message_delta", "usage": {"output_tokens": 15}},
            {"type": "message_stop"},
        ]
    )
    assert (usage.input_tokens, usage.output_tokens) == (25, 15)


def test_an_unknown_model_has_no_price_and_the_total_says_incomplete() -> None:
    """Three states: priced, nothing to pay, unknown. An unknown model cost 0.00 and broke budgets."""
    usage = Usage(input_tokens=10**6)
    session = bill_session(
        [
            Call("claude-opus-4-8", usage),
            Call("claude-opus-4-8", Usage()),
            Call("claude-new-9", usage),
            Call("claude-2.1", usage),
            Call("claude-2.1", usage),
        ]
    )
    assert Decimal(5) == session.total_usd
    assert session.bill.requests == 2
    assert not session.complete
    assert [(row.model, row.reason, row.requests) for row in session.unpriced] == [
        ("claude-new-9", "unknown model", 1),
        ("claude-2.1", "no price", 2),
    ]
    assert "incomplete: 1 of claude-new-9" in str(session)


def test_a_session_whose_models_are_all_priced_is_complete() -> None:
    names: list[str | Model] = ["claude-opus-4-5-20251101", "us.anthropic.claude-opus-4-5-20251101-v1:0"]
    session = bill_session([Call(name, Usage(input_tokens=10**6)) for name in names])
    assert session.complete
    assert Decimal(10) == session.total_usd
    assert "incomplete" not in str(session)


def test_the_wrapped_form_of_a_known_id_resolves_and_that_of_an_unknown_one_does_not() -> None:
    assert get_model("us.anthropic.claude-haiku-4-5-20251001-v1:0").id == "claude-haiku-4-5"
    with pytest.raises(UnknownModelError):
        get_model("us.anthropic.claude-new-9-v1:0")


def test_the_hit_rate_weighs_tokens_and_keeps_aborted_calls_apart() -> None:
    """An average over calls was pushed by rows of two tokens; the aborted row wrote what nobody read."""
    tiny = Usage(input_tokens=2, output_tokens=1)
    large = Usage(input_tokens=2, cache_read_input_tokens=425_098, output_tokens=300)
    aborted = Usage(input_tokens=2, cache_creation=CacheCreation(425_100))
    rate = hit_rate([tiny, tiny, tiny, large, aborted])
    assert rate.token_rate == 425_098 / 425_106
    assert rate.call_rate == 1 / 4
    assert rate.aborted.cache_creation_input_tokens == 425_100
    assert rate.calls == 4


def test_a_what_if_counts_the_writes_too() -> None:
    """The claimed saving was a rise in cost: writes that are never read cost a quarter more than no cache."""
    calls = [Usage(cache_creation=CacheCreation(50_000), output_tokens=1)]
    real = what_if(calls, "claude-opus-4-8", "as-recorded").bill.input_usd
    assert real == what_if(calls, "claude-opus-4-8", "no-cache").bill.input_usd * Decimal("1.25")


def test_the_summary_call_is_in_the_ledger_under_its_own_label() -> None:
    """192,000 tokens went missing beside a reported 1,800."""
    calls = [Call("claude-opus-4-8", Usage(input_tokens=150)) for _ in range(12)]
    calls.append(Call("claude-opus-4-8", Usage(input_tokens=192_000, output_tokens=1_500), label="summary"))
    session = bill_session(calls)
    assert {label: entry.requests for label, entry in session.by_label.items()} == {"turn": 12, "summary": 1}
    assert Decimal("0.009") == session.by_label["turn"].total_usd
    assert Decimal("0.9975") == session.by_label["summary"].total_usd
    assert session.total_usd == sum(entry.total_usd for entry in session.by_label.values())
