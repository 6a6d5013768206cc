"""The message object of an answer: its content, why it stopped, and its usage, pass by pass.

Models: the fields of ``usage`` where recordings have them; ``iterations`` where a compaction edit or a
compaction was asked for; a top level that sums every pass but those that wrote a summary, and is bare where
there is no other; what ends an answer: ``max_tokens`` or the window.
Does not model: what is said.
Source: recorded answers in data/ for the fields; anthropic SDK 2.14.0, types/beta/beta_usage.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from ctxlab.cache import Plan
from ctxlab.catalogue import Model
from ctxlab.emulator import models
from ctxlab.emulator.books import Call
from ctxlab.emulator.errors import invalid
from ctxlab.emulator.rendering import Rendered
from ctxlab.emulator.replies import Answer, Limits
from ctxlab.usage import Iteration, Usage

#: Models from here on take more ``max_tokens`` than the window has left, and stop at its end.
#: Source: context windows page, 2026-08.
_STOPS_AT_THE_WINDOW = date(2025, 9, 29)
_WINDOW_BETA = "model-context-window-exceeded-2025-08-26"

Members = Mapping[str, Any]


class Pass(NamedTuple):
    """One sampling of a request: "message", or the "compaction" that wrote a summary."""

    type: str
    plan: Plan
    output_tokens: int

    def entry(self) -> Iteration:
        """The entry of ``usage.iterations``."""
        counts = self.plan.usage(output_tokens=self.output_tokens)
        return Iteration(
            type=self.type,
            input_tokens=counts.input_tokens,
            cache_read_input_tokens=counts.cache_read_input_tokens,
            cache_creation=counts.cache_creation,
            output_tokens=counts.output_tokens,
        )


def usage_of(passes: Sequence[Pass], *, told: bool) -> Usage:
    """The usage of a request for the books; ``told``: whether the answer lists its passes."""
    said = [one for one in passes if one.type != "compaction"]
    top = said[0].plan.usage(output_tokens=said[0].output_tokens) if said else Usage.zero()
    return Usage(
        input_tokens=top.input_tokens,
        cache_read_input_tokens=top.cache_read_input_tokens,
        cache_creation=top.cache_creation,
        output_tokens=top.output_tokens,
        iterations=tuple(one.entry() for one in passes) if told else (),
        flags=frozenset() if said else frozenset({"no-message-iteration"}),
    )


def message_of(call: Call, model: Model, answer: Answer, usage: Usage, members: Members) -> dict[str, Any]:
    """The message as the API sends it."""
    message: dict[str, Any] = {
        "id": call.message_id,
        "type": "message",
        "role": "assistant",
        "model": models.api_id(model),
        "content": list(answer.content),
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "usage": _usage(model, answer, usage, members),
    }
    if members.get("diagnostics") is not None:
        message["diagnostics"] = call.diagnostics
    return message


def _usage(model: Model, answer: Answer, counts: Usage, members: Members) -> dict[str, Any]:
    """The usage object as recorded in 2026: models from 4.6 on name a region, from 4.8 on their thinking."""
    iterations = {"iterations": [_entry(one) for one in counts.iterations]} if counts.iterations else {}
    if "no-message-iteration" in counts.flags:  # recorded: nothing else is there
        return {"input_tokens": 0, "output_tokens": 0, **iterations}
    prices = model.price_history[-1] if model.price_history else None
    global_region = prices is not None and prices.us_geo_multiplier is not None
    told: dict[str, Any] = {
        **_input(counts),
        "output_tokens": counts.output_tokens,
        "service_tier": "standard",
        "inference_geo": members.get("inference_geo") or ("global" if global_region else "not_available"),
        **iterations,
    }
    if model.vocabulary == "v4.8" or answer.thinking_tokens:
        told["output_tokens_details"] = {"thinking_tokens": answer.thinking_tokens}
    if members.get("speed") is not None:
        told["speed"] = members["speed"]
    return told


def _entry(one: Iteration) -> dict[str, Any]:
    return {"type": one.type, **_input(one), "output_tokens": one.output_tokens}


def _input(counts: Usage | Iteration) -> dict[str, Any]:
    written = counts.cache_creation
    return {
        "input_tokens": counts.input_tokens,
        "cache_creation_input_tokens": counts.cache_creation_input_tokens,
        "cache_read_input_tokens": counts.cache_read_input_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written.ephemeral_5m_input_tokens,
            "ephemeral_1h_input_tokens": written.ephemeral_1h_input_tokens,
        },
    }


def check_window(rendered: Rendered, model: Model) -> None:
    """Raise the refusal of a prompt that is longer than the window."""
    window = model.window_tokens
    if window is not None and rendered.total_tokens > window:  # recorded
        raise invalid(f"prompt is too long: {rendered.total_tokens} tokens > {window} maximum")


def room(rendered: Rendered, model: Model, members: Members, betas: frozenset[str]) -> Limits:
    """What ends the answer; refuses a prompt that leaves no room for it."""
    check_window(rendered, model)
    asked, sequences = members["max_tokens"], members.get("stop_sequences") or ()
    if model.window_tokens is None:
        return Limits(asked, None, sequences)
    left = model.window_tokens - rendered.total_tokens
    newer = model.released is not None and model.released >= _STOPS_AT_THE_WINDOW
    if asked > left and not newer and _WINDOW_BETA not in betas:  # reported since 2025
        raise invalid(
            f"input length and `max_tokens` exceed context limit: {rendered.total_tokens} + {asked} > "
            f"{model.window_tokens}, decrease input length or `max_tokens` and try again"
        )
    return Limits(asked, left, sequences)
