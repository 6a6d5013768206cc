"""Every recorded request is billed by three routes that must meet: per turn, per class, per step."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from ctxlab import recordings
from ctxlab.catalogue import Model, get_model, web_search_usd
from ctxlab.cost import Bill, Call, bill, bill_session, exact_decimal
from ctxlab.errors import UnpricedModelError
from ctxlab.usage import Usage


def priced(model_id: str) -> Model | None:
    model = get_model(model_id)
    return model if model.rates else None


def by_class(usages: list[Usage], model: Model) -> Fraction:
    """Tokens of each class over all steps, each class times its rate once."""
    steps = [step for usage in usages for step in usage.billed]
    assert all(step.model is None for step in steps)
    (card,) = model.rates or ()
    per_class = (
        (sum(step.input_tokens for step in steps), Fraction(1)),
        (sum(step.cache_read_input_tokens for step in steps), model.cache_read_multiplier),
        (
            sum(
                step.cache_creation.ephemeral_5m_input_tokens + step.cache_creation.unknown_ttl_input_tokens
                for step in steps
            ),
            model.cache_write_5m_multiplier,
        ),
        (
            sum(step.cache_creation.ephemeral_1h_input_tokens for step in steps),
            model.cache_write_1h_multiplier,
        ),
    )
    usd = sum(
        (tokens * multiplier * card.input_usd_per_mtok for tokens, multiplier in per_class), Fraction(0)
    )
    usd += sum(step.output_tokens for step in steps) * card.output_usd_per_mtok
    return usd / 10**6 + sum(usage.web_search_requests for usage in usages) * web_search_usd()


def by_step(usages: list[Usage], model: Model) -> Bill:
    """Each step billed as if it had been a request of its own, searches added at the end."""
    bills = [
        bill(
            Usage(
                input_tokens=step.input_tokens,
                cache_read_input_tokens=step.cache_read_input_tokens,
                cache_creation=step.cache_creation,
                output_tokens=step.output_tokens,
            ),
            step.model or model,
        )
        for usage in usages
        for step in usage.billed
    ]
    searches = [Bill(web_search_requests=usage.web_search_requests) for usage in usages]
    return sum([*bills, *searches], Bill())


def test_three_routes_meet_on_every_recorded_session(capsys: pytest.CaptureFixture[str]) -> None:
    sessions, turns, unpriced = 0, 0, 0
    for session in recordings.sessions():
        by_model: dict[Model, list[Usage]] = {}
        for turn in session.turns:
            model = priced(turn.model_id)
            if model is None:
                unpriced += 1
            else:
                by_model.setdefault(model, []).append(turn.usage)
        per_turn = bill_session(Call(turn.model_id, turn.usage) for turn in session.turns)
        classes = sum((by_class(usages, model) for model, usages in by_model.items()), Fraction(0))
        steps = sum((by_step(usages, model) for model, usages in by_model.items()), Bill())
        assert per_turn.total_usd == exact_decimal(classes) == steps.total_usd, session.name
        assert per_turn.bill.range_usd == steps.range_usd
        assert per_turn.complete == (sum(map(len, by_model.values())) == len(session.turns))
        sessions += 1
        turns += len(session.turns)
    with capsys.disabled():
        print(f"\n{sessions} sessions, {turns} turns billed by three routes, {unpriced} turns unpriced")
    assert sessions > 25
    assert turns > 5_000


def test_three_routes_meet_on_every_recorded_exchange(capsys: pytest.CaptureFixture[str]) -> None:
    rows: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    for row in recordings.exchanges():
        if row.usage is None or row.model_id is None:
            continue
        model = priced(row.model_id)
        if model is None:
            missing[get_model(row.model_id).id] += row.usage.requests
            with pytest.raises(UnpricedModelError):
                bill(row.usage, row.model_id)
            continue
        total = bill(row.usage, model)
        assert total.total_usd == by_step([row.usage], model).total_usd, row.id
        if all(step.model is None for step in row.usage.billed):
            assert total.total_usd == exact_decimal(by_class([row.usage], model)), row.id
            rows["one model"] += 1
        else:
            rows["with an advisor"] += 1
    with capsys.disabled():
        print(
            f"\n{rows.total()} exchanges billed by three routes, {missing.total()} unpriced: {dict(missing)}"
        )
    assert rows["one model"] > 400
    assert rows["with an advisor"] == 2
    assert missing.total() > 0


def test_unpriced_rows_never_turn_into_zeros() -> None:
    calls = [
        Call(row.model_id, row.usage)
        for row in recordings.exchanges()
        if row.usage is not None and row.model_id is not None
    ]
    session = bill_session(calls)
    assert not session.complete
    assert session.bill.requests + sum(row.requests for row in session.unpriced) == len(calls)
