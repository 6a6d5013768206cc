"""What only shows from one turn to the next: an edited history, another model, markers that pile up.

Models: edits of a list that was sent before, windows over it, the model of one call and of two in one loop.
Does not model: histories that another module keeps.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from ctxlab.breakers.follow import placement, wording
from ctxlab.breakers.follow.reading import HELD, Reading, Seen, SentOnce
from ctxlab.breakers.follow.values import (
    HISTORY_RULES,
    ListValue,
    Text,
    Trace,
    Value,
    all_marks,
    merge,
    options,
)

if TYPE_CHECKING:
    from ctxlab.breakers.follow.requests import Request

_ROUTES = re.compile(r"rout|choose|select|pick|classif|escalat|tier|triage|decide|model_for", re.IGNORECASE)
"""Words in the name of a function that chooses a model for what it is given."""

_RULES = {
    "window": "history-changed",
    "removed": "history-changed",
    "rebuilt": "history-changed",
    "changed": "history-changed",
    "injected": "history-changed",
    "marker": "markers-accumulate",
}


def judge(reading: Reading, request: Request) -> None:
    """Note what a request's history, model and parameters show."""
    for messages in options(request.messages)[:4] if request.messages is not None else []:
        if isinstance(messages, ListValue):
            for trace in merge(messages.marks, *(one.marks for one in messages.items)):
                if trace.rule in HISTORY_RULES:
                    _edit(reading, request, messages, trace)
    if request.model is not None:
        _model(reading, request, request.model)
        _remember(reading, request)
    for name, value in request.others.items():
        for trace in all_marks(value):
            if trace.rule == "switch" and _persists(reading, request, trace):
                _note(reading, request, "parameter-changed", trace, certain=False, what=name)


def _edit(reading: Reading, request: Request, messages: ListValue, trace: Trace) -> None:
    if trace.rule in ("window", "rebuilt"):
        if not (messages.kept or reading.turns):
            return
    elif trace.rule == "injected":
        # in front of what an earlier turn has sent
        if not any(turn.second and turn.first <= trace.stamp for turn in reading.turns):
            return
    elif not reading.again(trace):
        return
    if trace.rule == "marker" and reading.unmarks:
        return
    _note(reading, request, _RULES[trace.rule], trace, certain=trace.certain, what="messages")


def _model(reading: Reading, request: Request, model: Value) -> None:
    for trace in map(reading.told, all_marks(model)):
        if trace.per == "kept":
            continue
        if trace.rule in ("random-value", "shuffled"):
            _note(reading, request, "model-switch", trace, certain=trace.certain and trace.per != "kept")
        elif trace.rule == "edit":
            if reading.again(trace):
                _note(reading, request, "model-switch", trace, certain=trace.certain)
        elif trace.rule == "switch":
            drawn = trace.form != HELD and "cycle(" in trace.text
            certain = drawn or _persists(reading, request, trace)
            if certain or any(not turn.entry for turn in reading.turns):
                _note(reading, request, "model-switch", trace, certain=certain and trace.certain)
        elif trace.rule == "turn" and _loops_over(reading, trace):
            certain = trace.certain or _ROUTES.search(model.name) is not None
            certain = certain and _persists(reading, request, trace)
            _note(reading, request, "model-switch", trace, certain=certain)


def _loops_over(reading: Reading, trace: Trace) -> bool:
    return bool(trace.loops) and trace.loops[-1] in reading.loops()


def _persists(reading: Reading, request: Request, trace: Trace) -> bool:
    return any(
        placement.persists(reading, messages, turn)
        for turn in reading.turns
        if trace.loops and turn.id == trace.loops[-1]
        for messages in (options(request.messages) if request.messages is not None else [])
    )


def _note(
    reading: Reading, request: Request, rule: str, trace: Trace, *, certain: bool, what: str = "model"
) -> None:
    trace = reading.told(trace)
    line = getattr(request.node, "lineno", 0)
    message = wording.reaches(trace, rule, what, line)
    at = trace.at if trace.at[0] else (trace.line, trace.column)
    reading.seen.append(Seen(rule, certain and not request.weak, *at, trace.text, message, False, line))


def _remember(reading: Reading, request: Request) -> None:
    """Keep the request for comparing it with others of the same loop."""
    models = [one.const for one in options(request.model or Text()) if isinstance(one, Text)]
    if len(models) == 1 and isinstance(models[0], str) and request.messages is not None:
        reading.sent.append(
            SentOnce(
                request.node,
                tuple(reading.turns),
                models[0],
                request.messages,
                tuple(reading.arms),
                reading.handlers,
            )
        )


def compare(reading: Reading) -> None:
    """Note two calls of one loop that send the same history to different models."""
    for at, one in enumerate(reading.sent):
        for other in reading.sent[at + 1 :]:
            if one.model == other.model or one.node is other.node:
                continue
            if not isinstance(one.messages, ListValue) or one.messages is not other.messages:
                continue
            turn = next((t for t in reversed(one.turns) if any(t.id == u.id for u in other.turns)), None)
            if turn is None or not placement.persists(reading, one.messages, turn):
                continue
            certain = _exclusive(one.arms, other.arms) and not one.handlers and not other.handlers
            node = other.node
            reading.seen.append(
                Seen(
                    "model-switch",
                    certain,
                    getattr(node, "lineno", 0),
                    getattr(node, "col_offset", 0) + 1,
                    f"model={other.model!r}",
                    wording.two_models(one.model, other.model, getattr(one.node, "lineno", 0)),
                )
            )


def _exclusive(one: tuple[tuple[ast.AST, int], ...], other: tuple[tuple[ast.AST, int], ...]) -> bool:
    """Whether two places stand in different branches of one condition."""
    arms = dict(one)
    return any(node in arms and arms[node] != arm for node, arm in other)
