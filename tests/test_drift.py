"""The installed SDK's names against those this version knows: a difference names the notebook it spoils."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import anthropic.types as sdk
import anthropic.types.beta as beta
import pytest
from anthropic._data.deprecated_models import DEPRECATED_MODELS
from anthropic.types.anthropic_beta_param import AnthropicBetaParam
from anthropic.types.beta.beta_context_management_config_param import Edit
from anthropic.types.beta.beta_iterations_usage import BetaIterationsUsageItem
from anthropic.types.beta.beta_stop_reason import BetaStopReason
from anthropic.types.model import Model as SdkModel
from anthropic.types.stop_reason import StopReason

from ctxlab.catalogue import drift, get_model, known
from ctxlab.errors import InvalidArgumentError


def literals(annotation: Any) -> set[str]:
    """Every string of every ``Literal`` inside an annotation."""
    if typing.get_origin(annotation) is typing.Literal:
        return {value for value in typing.get_args(annotation) if isinstance(value, str)}
    return {name for part in typing.get_args(annotation) for name in literals(part)}


def parts(annotation: Any) -> list[Any]:
    """The classes of a union, through ``Annotated``."""
    if typing.get_origin(annotation) is typing.Annotated:
        return parts(typing.get_args(annotation)[0])
    return list(typing.get_args(annotation))


def names_in_the_installed_sdk() -> dict[str, set[str]]:
    steps = parts(BetaIterationsUsageItem)
    usages = (sdk.Usage, sdk.MessageDeltaUsage, beta.BetaUsage, beta.BetaMessageDeltaUsage)
    return {
        "model_ids": literals(SdkModel),
        "retirements": {
            f"{model_id} {datetime.strptime(_plain(day), '%B %d, %Y').date().isoformat()}"
            for model_id, day in DEPRECATED_MODELS.items()
        },
        "usage_fields": {name for usage in usages for name in usage.model_fields},
        "cache_creation_fields": set(sdk.CacheCreation.model_fields)
        | set(beta.BetaCacheCreation.model_fields),
        "server_tool_fields": set(sdk.ServerToolUsage.model_fields)
        | set(beta.BetaServerToolUsage.model_fields),
        "iteration_types": {
            name for step in steps for name in literals(step.model_fields["type"].annotation)
        },
        "iteration_fields": {name for step in steps for name in step.model_fields},
        "stop_reasons": literals(StopReason),
        "beta_stop_reasons": literals(BetaStopReason),
        "edits": {name for edit in parts(Edit) for name in literals(typing.get_type_hints(edit)["type"])},
        "betas": literals(AnthropicBetaParam),
    }


def _plain(day: str) -> str:
    """``June 30th, 2026`` without the ordinal ending."""
    month, number, year = day.split()
    return f"{month} {number.rstrip('stndrh,')}, {year}"


def test_the_installed_sdk_knows_no_name_that_we_do_not() -> None:
    problems = drift(names_in_the_installed_sdk())
    assert not problems, "\n".join(map(str, problems))


def test_the_comparison_looks_at_something() -> None:
    seen = names_in_the_installed_sdk()
    assert all(seen.values())
    assert seen["edits"] == {"clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112"}


@pytest.mark.parametrize(
    ("kind", "name", "notebook"),
    [
        ("usage_fields", "quantum_input_tokens", "01"),
        ("iteration_types", "dream", "05"),
        ("cache_creation_fields", "ephemeral_24h_input_tokens", "02"),
        ("stop_reasons", "nap", "11"),
        ("edits", "fold_20270101", "05"),
        ("model_ids", "claude-opus-6", "01"),
        ("betas", "prompt-caching-2027-01-01", "02"),
        ("betas", "compact-2027-01-01", "05"),
        ("betas", "agent-memory-2027-01-01", "06"),
    ],
)
def test_a_name_that_appears_or_goes_fires_and_names_the_notebook(
    kind: str, name: str, notebook: str
) -> None:
    (appeared,) = drift({kind: {*known(kind), name}})
    assert appeared.path == f"{kind}.{name}"
    assert "is new" in appeared.message
    assert notebook in appeared.message
    gone_name = sorted(known(kind))[0]
    (gone,) = drift({kind: known(kind) - {gone_name}})
    assert gone.path == f"{kind}.{gone_name}"
    assert "is gone" in gone.message


def test_a_beta_no_lesson_uses_fires_without_blaming_one() -> None:
    (problem,) = drift({"betas": {*known("betas"), "invoices-2027-01-01"}})
    assert "no notebook depends on it" in problem.message


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="known-kind"):
        drift({"colours": {"red"}})


def test_the_models_the_sdk_names_are_in_the_catalogue_with_its_dates() -> None:
    assert all(get_model(name) for name in known("model_ids"))
    told: Mapping[str, str] = dict(entry.split() for entry in known("retirements"))
    for name in known("model_ids"):
        retires_at = get_model(name).retires_at
        assert (retires_at.isoformat() if retires_at else None) == told.get(name)


@pytest.mark.parametrize("seen", [None, [], {"edits": "fold"}, {"edits": None}, {"edits": [1]}, {"edits": 5}])
def test_what_is_no_list_of_names_is_refused_and_not_compared_letter_by_letter(seen: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        drift(seen)


@pytest.mark.parametrize("kind", [None, "", "colours", ["edits"]])
def test_a_kind_that_is_none_has_no_names(kind: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="known-kind"):
        known(kind)
