"""What a count is asked with: a model or a vocabulary, who counts, blocks and parameters; or what is wrong.

Models: which counter a name, a function or nothing at all means; what is refused, by path and rule.
Does not model: the count (:mod:`ctxlab.tokens.counting`).
Source: our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, Problem, UnknownModelError
from ctxlab.images import size_problems
from ctxlab.prompt import Prompt
from ctxlab.tokens.counters import ByText, CountText, TextCounter, calibrated_characters, ctok_counter
from ctxlab.tokens.pictures import recorded_pictures
from ctxlab.tokens.thumb import CharactersRule, rules

IN_PROMPT = (
    *("tool_choice", "thinking", "output_config", "output_format"),
    *("context_management", "container", "mcp_servers"),
)
"""The parameters that may change what stands in the prompt."""


def model_and_vocabulary(model: str | Model | None, vocabulary: str | None) -> tuple[Model | None, str]:
    """The model, if the catalogue has it, and the vocabulary to count with; one of them has to be given."""
    try:
        known = None if model is None else get_model(model)
    except UnknownModelError:
        if vocabulary is None:
            raise
        known = None
    if known is None:
        if vocabulary is None:
            raise argument_error("model", "required", "is missing", "name a model or a vocabulary")
        return None, vocabulary
    if vocabulary not in (None, known.vocabulary):
        raise argument_error(
            "vocabulary", "of-the-model", f"is {vocabulary!r}", f"{known.id} has {known.vocabulary}"
        )
    return known, known.vocabulary


def counter_for(
    counter: str | CountText | CharactersRule | None, blocks: Sequence[Any]
) -> TextCounter | CharactersRule:
    """The counter that was asked for; by default the best that can count these blocks."""
    lengths_only = any(not hasattr(block, "wire_bytes") for block in blocks)
    if counter is None:
        return (None if lengths_only else ctok_counter()) or calibrated_characters()
    if isinstance(counter, CharactersRule):
        return counter
    if callable(counter):
        return _own_counter(counter, lengths_only)
    if isinstance(counter, str) and counter in rules():
        return rules()[counter]
    if counter == "calibrated_characters":
        return calibrated_characters()
    ctok = ctok_counter() if counter == "ctok" else None
    if ctok is None:
        known = ", ".join((*rules(), "calibrated_characters", "ctok (where it is installed)"))
        raise argument_error(
            "counter", "known-counter", f"is {counter!r}", f"use one of {known}, or a function"
        )
    return _own_counter(ctok.count_text, lengths_only)


def _own_counter(count_text: CountText, lengths_only: bool) -> ByText:
    name = str(getattr(count_text, "__name__", type(count_text).__name__))
    if lengths_only:
        raise argument_error(
            "counter", "needs-text", f"{name} counts texts, and these blocks have only lengths", ""
        )
    try:
        hash(count_text)
    except TypeError:
        raise argument_error(
            "counter", "hashable", f"{name} cannot be remembered by", "pass a function"
        ) from None
    takes = _other_arguments(count_text)
    if takes is not None:
        raise argument_error(
            "counter",
            "takes-text-and-vocabulary",
            f"{name} takes {takes}",
            "pass a function of (text, vocabulary)",
        )
    return ByText(name, count_text)


@lru_cache(maxsize=64)
def _other_arguments(count_text: CountText) -> str | None:
    """What a function takes that is no counter: the one of a tokenizer takes a text and nothing else."""
    import inspect

    try:
        signature = inspect.signature(count_text)
    except (TypeError, ValueError):  # some built-in ones do not tell
        return None
    try:
        signature.bind("text", "v3")
    except TypeError:
        return str(signature)
    return None


def parameters_of(prompt: Any) -> Mapping[str, Any]:
    """The parameters of a prompt or a recording that count, as JSON values."""
    parameters: Mapping[str, Any] = getattr(prompt, "parameters", {})
    if isinstance(prompt, Prompt):
        parameters = {name: _json(parameters, name) for name in IN_PROMPT if name in parameters}
    return parameters


def _json(parameters: Mapping[str, Any], name: str) -> Any:
    try:
        return json.loads(parameters[name])
    except (TypeError, ValueError):
        raise argument_error(
            f"parameters.{name}", "json", f"is {parameters[name]!r}", "pass the parameters of a Prompt"
        ) from None


def blocks_of(prompt: Any) -> tuple[Any, ...]:
    """The blocks of a prompt, a recording, or an iterable of blocks, checked."""
    blocks = getattr(prompt, "blocks", prompt)
    if isinstance(blocks, (str, bytes, Mapping)) or not isinstance(blocks, Iterable):
        kind = type(prompt).__name__
        raise argument_error(
            "prompt", "has-blocks", f"is of type {kind}", "wrap a request body in Prompt.from_request(body)"
        )
    blocks = tuple(blocks)
    if not isinstance(prompt, Prompt):  # whose blocks were checked when it was read
        problems = [problem for i, block in enumerate(blocks) for problem in _problems(block, f"blocks[{i}]")]
        if problems:
            raise InvalidArgumentError(problems)
    return blocks


def _problems(block: Any, path: str) -> Iterable[Problem]:
    if not all(hasattr(block, name) for name in ("segment", "type", "chars", "role", "message")):
        kind = type(block).__name__
        yield Problem(path, "is-a-block", f"is of type {kind}", "pass blocks of a Prompt or of a recording")
        return
    if block.chars is not None and (type(block.chars) is not int or block.chars < 0):
        yield Problem(
            f"{path}.chars", "non-negative", f"is {block.chars!r}", "give a whole number, 0 or more"
        )
    for image in recorded_pictures(block):
        yield from size_problems(image.width, image.height, f"{path}.image.")


def argument_error(path: str, rule: str, message: str, fix: str) -> InvalidArgumentError:
    """The error for one argument."""
    return InvalidArgumentError(Problem(path, rule, message, fix))
