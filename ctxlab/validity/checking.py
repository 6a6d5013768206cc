"""All rules on a list of messages at once: what it breaks, and where it may be cut.

Models: :data:`RULES`, :func:`check`, :func:`safe_cuts`.
Does not model: in which order the API looks at a request.
Source: each rule names its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import Problem, UnknownModelError
from ctxlab.validity import contents, thinking, tools
from ctxlab.validity.rule import Rule, read

RULES: Mapping[str, Rule] = {rule.name: rule for rule in (*contents.RULES, *tools.RULES, *thinking.RULES)}


def check(request: Mapping[str, Any], model: str | Model | None = None) -> list[Problem]:
    """Everything a request's messages break, rule by rule; an empty list when there is nothing.

    In which order the API looks, and so which of several it would name, is not known.

    ``message`` is the API's own where it is known (``RULES[problem.rule].wire`` says whether), else ours.
    The model is the one the request names; with one that is in no list, rules that depend on the model find
    nothing.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    >>> messages = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [call]}]
    >>> [(problem.path, problem.rule) for problem in check({"messages": messages})]
    [('messages[1]', 'calls-answered')]
    """
    messages = read(request.get("messages") or ())
    known = _model(request.get("model") if model is None else model)
    return [problem for rule in RULES.values() for problem in rule.check(messages, known, request)]


def safe_cuts(messages: Sequence[Any]) -> set[int]:
    """Numbers i at which a list may be cut: ``messages[i:]`` breaks no rule that all of it keeps, and loses
    no summary. 0 is always one of them.

    Behind the last compaction block a list would be valid too, without all that was summarised: no cut is
    offered there. Neither the model nor another parameter is asked.

    >>> call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    >>> result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    >>> messages = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": [call]},
    ...     {"role": "user", "content": [result]}]
    >>> sorted(safe_cuts(messages))
    [0, 1]
    """
    turns = read(messages)
    cuts = set(range(len(turns) + 1)).intersection(*(rule.safe_cuts(turns) for rule in RULES.values()))
    return cuts | {0}  # nothing is cut, whatever was broken before


def _model(name: Any) -> Model | None:
    try:
        return None if name is None else get_model(name)
    except UnknownModelError:
        return None
