"""A request as what is kept of it when its text is let go: digests, borders, markers, parameters.

Models: the layout of the prompt as the model sees it, with digest, role and message of each position; what
two requests share; the text itself only as long as somebody holds on to it.
Does not model: token counts, or what became of the request.
Source: :mod:`ctxlab.cache` for what is part of a prefix, :mod:`ctxlab.effective` for what the model reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from sys import intern
from typing import Any

from ctxlab.cache import CacheRules, Layout, Position
from ctxlab.cache.recorded import read_back
from ctxlab.catalogue import Model, get_model
from ctxlab.effective import CLEAR_THINKING, CLEAR_TOOL_USES, unread, without
from ctxlab.errors import InvalidArgumentError, Problem, UnknownModelError
from ctxlab.prompt import Prompt

#: Stands in for models that the catalogue does not have: their entries are their own, their minimum unknown.
_NEWEST = "claude-opus-5-5"


@dataclass(frozen=True, repr=False, eq=False)
class Sketch:
    """What is known of a request: ``layout`` and, per position, ``own`` (the block's digest), ``roles``,
    ``types``, ``messages`` (their numbers) and ``starts`` (whether it begins one). ``prompt`` is the text,
    or None where it was never there or is let go. ``unread_paths`` are those of blocks that the server takes
    out before the model reads; ``clears``: the request asks it to clear more of them when it sees fit.

    >>> sketch = Sketch.from_request({"model": "claude-opus-5-5", "system": "Be brief.",
    ...     "messages": [{"role": "user", "content": "Hi"}]})
    >>> len(sketch), sketch.without_text().prompt is None
    (2, True)
    """

    layout: Layout
    own: tuple[bytes, ...]
    roles: tuple[str | None, ...]
    types: tuple[str, ...]
    messages: tuple[int | None, ...]
    starts: tuple[bool, ...]
    prompt: Prompt | None = None
    unread_paths: frozenset[str] = frozenset()
    previous_id: str | None = None
    clears: bool = False

    @classmethod
    def from_request(
        cls,
        request: Mapping[str, Any] | Prompt,
        *,
        model: str | None = None,
        workspace: str = "",
        rules: CacheRules | None = None,
    ) -> Sketch:
        """Read a request. ``model`` is the one asked where the request names none.

        Raises :class:`InvalidRequestError` for a body that cannot be read or markers the API refuses, and
        :class:`InvalidArgumentError` where nobody names a model.
        """
        prompt = request if isinstance(request, Prompt) else Prompt.from_request(request)
        named = json.loads(prompt.parameters.get("model", "null")) or model
        if not isinstance(named, str):
            raise InvalidArgumentError(Problem("model", "required", "is missing", "name the model asked"))
        known = model_named(named)
        edits = _clearing(json.loads(prompt.parameters.get("context_management", "null")))
        keeps = "all" if CLEAR_THINKING in edits else None  # then the edit says what goes
        gone = unread(prompt.blocks, known, keeps_thinking=keeps)
        seen = without(prompt, gone)
        layout = Layout.from_prompt(seen, None, model=known, workspace=workspace, rules=rules)
        by_path = {block.path: block for block in seen.blocks}
        asked = json.loads(prompt.parameters.get("diagnostics", "null"))
        return _sketched(
            layout,
            by_path,
            prompt=seen,
            unread_paths=frozenset(prompt.blocks[i].path for i in gone),
            previous_id=asked.get("previous_message_id") if isinstance(asked, dict) else None,
            clears=bool(edits),
        )

    @classmethod
    def from_recording(cls, row: Any, *, rules: CacheRules | None = None) -> Sketch:
        """Read a recorded request; raises as :meth:`ctxlab.cache.Layout.from_recording` does."""
        known = model_named(row.model_id or "")
        edits = _clearing(row.parameters.get("context_management"))
        keeps = "all" if CLEAR_THINKING in edits else None
        gone = unread(row.blocks, known, keeps_thinking=keeps)
        paths = frozenset(block.path for i, block in enumerate(read_back(row.blocks)) if i in gone)
        seen = replace(row, blocks=tuple(one for i, one in enumerate(row.blocks) if i not in gone))
        layout = Layout.from_recording(seen, rules=rules)
        by_path = {block.path: block for block in read_back(seen.blocks)}
        return _sketched(replace(layout, total_tokens=None), by_path, unread_paths=paths, clears=bool(edits))

    def __len__(self) -> int:
        return len(self.own)

    def __repr__(self) -> str:
        text = "with" if self.prompt else "without"
        return f"<Sketch: {len(self)} positions, {self.layout.model.id}, {text} text>"

    def without_text(self) -> Sketch:
        """The same, digests only."""
        return self if self.prompt is None else replace(self, prompt=None)

    @cached_property
    def in_messages(self) -> frozenset[bytes]:
        """Digests of the blocks of its messages."""
        return frozenset(
            one for one, message in zip(self.own, self.messages, strict=True) if message is not None
        )

    @cached_property
    def message_count(self) -> int:
        """How many messages it has."""
        return len({message for message in self.messages if message is not None})

    @property
    def first_message(self) -> int | None:
        """The number of its first message."""
        return next((message for message in self.messages if message is not None), None)

    def answers_behind(self, start: int) -> int:
        """How many messages of the assistant begin at a position or behind it."""
        rest = zip(self.roles[start:], self.starts[start:], strict=True)
        return sum(begins and role == "assistant" for role, begins in rest)

    def shared(self, other: Sketch) -> int:
        """How many leading positions are the same in both. Digests are cumulative, so halving finds it."""
        mine, theirs = self.layout.positions, other.layout.positions
        low, high = 0, min(len(mine), len(theirs))
        while low < high:
            middle = (low + high + 1) // 2
            if mine[middle - 1].digest == theirs[middle - 1].digest:
                low = middle
            else:
                high = middle - 1
        return low


def _clearing(management: Any) -> frozenset[str]:
    """The types of edits of a request that clear something."""
    edits = management.get("edits") if isinstance(management, Mapping) else None
    types = {str(one.get("type")) for one in edits or () if isinstance(one, Mapping)}
    return frozenset(types & {CLEAR_THINKING, CLEAR_TOOL_USES})


def model_named(name: str) -> Model:
    """The model of the catalogue, or one of that name of which nothing is known."""
    try:
        return get_model(name)
    except UnknownModelError:
        return replace(
            get_model(_NEWEST), id=name, aliases=(), min_cacheable_tokens=None, keeps_thinking=None
        )


def _sketched(layout: Layout, by_path: Mapping[str, Any], **more: Any) -> Sketch:
    """Strings are interned: the requests of a conversation share most of them."""
    positions = tuple(
        Position(intern(digest), unit, tokens, control, tier, intern(path))
        for digest, unit, tokens, control, tier, path in layout.positions
    )
    blocks = [by_path[one.path] for one in positions]
    return Sketch(
        replace(layout, positions=positions),
        tuple(block.wire_sha256 for block in blocks),
        tuple(block.role for block in blocks),
        tuple(block.type for block in blocks),
        tuple(block.message for block in blocks),
        tuple(block.starts_message for block in blocks),
        **more,
    )
