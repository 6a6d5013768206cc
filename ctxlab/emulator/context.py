"""What the server does to a request before the model reads it, and what of that the cache sees.

Models: the request as sent and as read (:mod:`ctxlab.effective` decides), its tokens before and after;
whether a compaction is due; the prompt of the pass that writes a summary, and of what comes after it.
Does not model: the summary (:mod:`ctxlab.emulator.summaries`).
Source: context-editing page 2026-08, compaction pages 2026-08 to 2026-10. How the 168 tokens of a pass stand
around the end of the prompt: two recordings of one cached prompt, in which 100 tokens follow the last marker
where 3 would without the pass; the 71 of the edit (``compaction_not_due``) are then in front of it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ctxlab import effective
from ctxlab.catalogue import Model
from ctxlab.effective import CLEAR_THINKING, COMPACT, Applied, EditRules
from ctxlab.emulator.bodies import Body, Reader
from ctxlab.emulator.errors import invalid
from ctxlab.emulator.rendering import KeptThinking, Rendered, Renderer
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem
from ctxlab.prompt import Block, Prompt, chained
from ctxlab.tokens import rules_of

#: With one of these the answer says what was edited, also where nothing was (recorded).
EDITING_BETAS = frozenset({"context-management-2025-06-27", "compact-2026-01-12"})


@dataclass(frozen=True, slots=True)
class ContextRules(EditRules):
    """What the vendor leaves open about context management, each a switch; those of the edits included.

    ``edits_and_cache``: edits come "before" the lookup, so that clearing breaks the prefix at the first thing
    cleared (the context-editing page), or "after" it, so that prefixes are those that were sent (reported by
    some). ``kept_thinking``: thinking that a model keeps is "free", as :mod:`ctxlab.tokens` has it, or costs
    what its "text" does. ``original_counts``: ``original_input_tokens`` counts the "history" in front of a
    summary as well, or only what the "summary" leaves. ``edit_stands``: the tokens of a compaction edit stand
    with the "messages", or in "front" of everything. ``on_demand_prompt``: what asks for a summary on demand
    stands "behind" the conversation, or "around" its end as that of an edit does. ``threshold_room``: a
    summary at the threshold is as long as it gets ("free"), or ends at "max_tokens".
    """

    edits_and_cache: Literal["before", "after"] = "before"
    kept_thinking: KeptThinking = "free"
    original_counts: Literal["history", "summary"] = "history"
    edit_stands: Literal["messages", "front"] = "messages"
    on_demand_prompt: Literal["behind", "around"] = "behind"
    threshold_room: Literal["free", "max_tokens"] = "free"

    def __post_init__(self) -> None:
        wrong = [
            Problem(
                f"context_rules.{name}", "known-switch", f"is {getattr(self, name)!r}", f"use one of {words}"
            )
            for name, words in _WORDS.items()
            if getattr(self, name) not in words
        ]
        if wrong:
            raise InvalidArgumentError(wrong)


_WORDS: Mapping[str, tuple[object, ...]] = {
    "clearing_at": ("exceeds", "reaches"),
    "compacting_at": ("reaches", "exceeds"),
    "trigger_counts": ("so_far", "as_sent"),
    "excluded_count_in_keep": (False, True),
    "clears_server_tools": (True, False),
    "thinking_turn": ("turn", "message"),
    "edits_and_cache": ("before", "after"),
    "kept_thinking": ("free", "text"),
    "original_counts": ("history", "summary"),
    "edit_stands": ("messages", "front"),
    "on_demand_prompt": ("behind", "around"),
    "threshold_room": ("free", "max_tokens"),
}


class Managed(NamedTuple):
    """A request before and after.

    ``sent`` is the prompt as it was sent, ``read`` what the model reads, by the identities that the cache
    sees; ``due`` the compaction edit whose trigger was reached.
    """

    request: Mapping[str, Any]
    sent: Prompt
    original_tokens: int
    read: Rendered
    applied: tuple[Applied, ...]
    due: Mapping[str, Any] | None


@dataclass
class Manager:
    """Manages the requests of one renderer.

    >>> from ctxlab.catalogue import get_model
    >>> body = Reader().read(b'{"messages": [{"role": "user", "content": "Hi"}]}')
    >>> manager = Manager(Renderer(lambda text, vocabulary: 1), ContextRules())
    >>> manager.manage(body, get_model("claude-opus-5-5")).read.total_tokens
    7
    """

    renderer: Renderer
    rules: ContextRules
    _reader: Reader = field(default_factory=Reader)

    def manage(self, body: Body, model: Model) -> Managed:
        """What becomes of a legal request. Raises the API's refusal of its edits."""
        edits = (body.members.get("context_management") or {}).get("edits") or ()
        if not edits:
            rendered = self.renderer.render(body, model)
            original = self._original_tokens(body, rendered, model)
            return Managed(body.decoded(), rendered.prompt, original, rendered, (), None)
        keeps = "all" if any(edit["type"] == CLEAR_THINKING for edit in edits) else None
        as_sent = self.renderer.render(body, model)
        request = body.decoded()

        def count(asked: Mapping[str, Any]) -> int:
            return self._render(asked, model, keeps).total_tokens

        try:
            as_read, applied = effective.effective(request, model, count=count, rules=self.rules)
        except InvalidRequestError as error:
            raise refused_edit(error.problems[0]) from None
        sent = self.renderer.whole(body)
        if as_read is request and keeps is None:
            read = as_sent
        else:
            read = _where_it_was_sent(
                self._render(as_read, model, keeps), sent, applied, self.rules.edits_and_cache == "after"
            )
        due = effective.due_compaction(
            as_read, model, count=lambda asked: read.total_tokens, rules=self.rules
        )
        original = self._original_tokens(body, as_sent, model)
        return Managed(as_read, sent, original, read, applied, due)

    def after_a_summary(self, request: Mapping[str, Any], block: Mapping[str, Any], model: Model) -> Rendered:
        """What is left of a request once its conversation is a summary."""
        messages = [{"role": "assistant", "content": [block]}]
        return self._render({**request, "messages": messages}, model, None)

    def pass_over(self, read: Rendered, model: Model, *, on_demand: bool) -> Rendered:
        """The prompt of the pass that summarises what the model reads."""
        constants = rules_of(model.vocabulary, model)
        ahead = constants.compaction_not_due
        if on_demand and self.rules.on_demand_prompt == "behind":
            ahead = 0
        in_front = self.rules.edit_stands == "front"
        sizes = [
            end + (ahead if in_front or block.segment == "messages" else 0)
            for block, end in zip(read.prompt.blocks, read.sizes, strict=True)
        ]
        return replace(read, sizes=sizes, total_tokens=read.total_tokens + constants.compaction_pass)

    def _render(self, request: Mapping[str, Any], model: Model, keeps: str | None) -> Rendered:
        body = self._reader.read(json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode())
        return self.renderer.render(body, model, keeps_thinking=keeps)

    def _original_tokens(self, body: Body, as_sent: Rendered, model: Model) -> int:
        """Tokens before anything was managed: a summary is then the text it is, behind what it stands for."""
        pieces = body.messages or ()
        if self.rules.original_counts == "summary" or not any('"compaction"' in one.text for one in pieces):
            return as_sent.total_tokens
        messages = [_as_texts(piece.value) for piece in pieces]
        request = {**body.members, "messages": [one for one in messages if one["content"]]}
        return max(self._render(request, model, None).total_tokens, as_sent.total_tokens)


def refused_edit(problem: Problem) -> Exception:
    """The API's refusal of an edit: one of them in reported words, the others in our own."""
    if problem.rule == "thinking-on":
        return invalid(problem.message)
    return invalid(f"{problem.path.replace('[', '.').replace(']', '')}: {problem.message}")


def check_edits(members: Mapping[str, Any], model: Model) -> None:
    """Raise the refusal of edits that are out of order, out of range, or not for this model."""
    management = members.get("context_management")
    problems = effective.edit_problems({**members, "context_management": management}, model)
    if problems:
        raise refused_edit(problems[0])
    for i, edit in enumerate((management or {}).get("edits") or ()):
        if edit["type"] == COMPACT and COMPACT not in model.capabilities:  # own wording
            raise invalid(f"context_management.edits.{i}: {COMPACT} is not supported on {model.id}")


def applied_edits(applied: Sequence[Applied], betas: Collection[str]) -> dict[str, Any]:
    """The field of an answer that says what was edited; nothing without one of the headers."""
    if not EDITING_BETAS.intersection(betas):
        return {}
    told = [entry for one in applied if (entry := one.as_api()) is not None]
    return {"context_management": {"applied_edits": told}}


def _as_texts(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if not isinstance(content, list):
        return dict(message)
    blocks = (
        {"type": "text", "text": block.get("content")} if block["type"] == "compaction" else block
        for block in content
    )
    return {**message, "content": [one for one in blocks if one.get("text", "…")]}


def _where_it_was_sent(
    read: Rendered, sent: Prompt, applied: Sequence[Applied], keep_identities: bool
) -> Rendered:
    """What is read, with the places of what was sent; and, if asked for, with its identities too.

    With the identities of what was sent, a block that was cleared has the size that it is read with, and one
    that was left out has none.
    """
    gone = {path for one in applied if one.as_api() is None for path in one.paths}
    cut = {path for one in applied if one.type == CLEAR_THINKING for path in one.paths}
    left = [i for i, block in enumerate(sent.blocks) if block.path not in gone]
    if keep_identities:
        as_sent = effective.without(sent, set(range(len(sent.blocks))) - set(left))
        sizes = iter(read.sizes)
        ends, end = [], 0
        for block in as_sent.blocks:
            end = end if block.path in cut else next(sizes)
            ends.append(end)
        return replace(read, prompt=as_sent, sizes=ends)
    kept = [sent.blocks[i] for i in left if sent.blocks[i].path not in cut]
    blocks = tuple(_placed(new, old) for new, old in zip(read.prompt.blocks, kept, strict=True))
    messages = len({block.message for block in blocks if block.message is not None})
    return replace(read, prompt=Prompt(blocks, sent.parameters, tuple(chained(blocks)), messages))


def _placed(new: Block, old: Block) -> Block:
    if new.path == old.path and new.message == old.message:
        return new
    return replace(new, path=old.path, message=old.message)
