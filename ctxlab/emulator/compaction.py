"""Blocks of a compaction on demand: how they are signed, and what is refused about them by name.

Models: a signature over the summary; a block that is misplaced, ambiguous, changed, signed by nobody, or sent
without its header; a compaction request that has nothing to summarise, ends in a turn that is not finished,
or is combined with what shapes a reply.
Does not model: ``tool_changes`` (none is ever returned), how many tools a block can record; a signature that
is bound to a model, a workspace or what stands around the block.
Source: anthropic SDK 2.14.0, types/compaction_*_error.py (codes and when they are answered); compaction on
demand page, 2026-09. Wordings are our own, but for that of a misplaced block (reported, 2026).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from ctxlab.catalogue import Model
from ctxlab.effective import COMPACT
from ctxlab.emulator.bodies import Body, Piece, fold
from ctxlab.emulator.errors import ApiError, invalid
from ctxlab.emulator.fields import EXTRA
from ctxlab.validity import RULES

ON_DEMAND_BETA = "compact-2026-09-04"
THRESHOLD_BETA = "compact-2026-01-12"
#: Longest ``instructions``, in characters (compaction on demand page, 2026-09).
MOST_INSTRUCTIONS_CHARS = 16_384

_KEY = b"ctxlab emulator, compaction on demand"
_SIGNATURE = re.compile(r"emulated-([0-9a-f]{64})-([0-9a-f]{64})")
#: What a plain ``model_dump()`` writes out and the API did not send.
_DUMPED_NULLS = {"compaction": ("encrypted_content", "tool_changes"), "text": ("citations",)}

Members = Mapping[str, Any]


def sign(content: str) -> str:
    """The signature of a summary: the same for the same text, in every run.

    >>> sign("Two books.") == sign("Two books."), sign("Two books.") == sign("One book.")
    (True, False)
    """
    digest = sha256(content.encode()).hexdigest()
    return f"emulated-{digest}-{_seal(digest)}"


def _seal(digest: str) -> str:
    return hmac.new(_KEY, digest.encode(), "sha256").hexdigest()


class Held(NamedTuple):
    """A compaction block in a request."""

    message: int
    place: int
    role: str
    block: Members

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.place}.compaction"


def summaries(pieces: Sequence[Piece]) -> tuple[Held, ...]:
    """Every compaction block of a request, in order."""
    return fold(pieces, summaries, (), _look_for)


def _look_for(found: tuple[Held, ...], piece: Piece, number: int) -> tuple[Held, ...]:
    content = piece.value["content"]
    if '"compaction"' not in piece.text or not isinstance(content, list):
        return found
    own = (
        Held(number, i, piece.value["role"], block)
        for i, block in enumerate(content)
        if block["type"] == "compaction"
    )
    return (*found, *own)


def check_summaries(body: Body, betas: Collection[str]) -> None:
    """Raise what the API says to the signed compaction blocks of a request."""
    held = summaries(body.messages or ())
    signed = [one for one in held if one.block.get("signature") is not None]
    if signed and ON_DEMAND_BETA not in betas:
        raise invalid(f"{signed[0].path}.signature: {EXTRA}")
    told = [one for one in held if one in signed or one.block.get("content") is not None]
    if ON_DEMAND_BETA not in betas or not (signed or (told and THRESHOLD_BETA not in betas)):
        return
    _check_nulls(body.messages or (), signed)
    if len(told) > 1:
        says = "`messages` has more than one `compaction` block; send only the one that was returned last"
        raise _coded("compaction_block_ambiguous", f"{told[1].path}: {says}")
    for one in told:
        if (one.message, one.place) != (0, 0) or one.role == "system":
            raise _coded("compaction_block_misplaced", str(RULES["signed-summary-first"].wire))
        _check_signature(one)
    edits = (body.members.get("context_management") or {}).get("edits") or ()
    if any(edit["type"] == COMPACT for edit in edits):  # SDK: lib/tools/_beta_runner.py, own wording
        raise invalid(f"context_management: {COMPACT} cannot be combined with a signed `compaction` block")


def _check_nulls(pieces: Sequence[Piece], signed: Sequence[Held]) -> None:
    """A plain dump of an answer writes out nulls that are not part of it (same page; own wording)."""
    for one in signed:
        for name in _DUMPED_NULLS["compaction"]:
            if name in one.block and one.block[name] is None:
                raise invalid(f"{one.path}.{name}: {EXTRA}")
    for number, piece in enumerate(pieces):
        content = piece.value["content"]
        for i, block in enumerate(content if isinstance(content, list) else ()):
            if block["type"] == "text" and "citations" in block and block["citations"] is None:
                says = "Input should be a valid list"
                raise invalid(f"messages.{number}.content.{i}.text.citations: {says}")


def _check_signature(one: Held) -> None:
    found = _SIGNATURE.fullmatch(one.block.get("signature") or "")
    if found is None or not hmac.compare_digest(_seal(found[1]), found[2]):
        says = "the signature of this `compaction` block does not verify; send the block as it was returned"
        raise _coded("compaction_signature_invalid", f"{one.path}.signature: {says}")
    content = one.block.get("content")
    if content is None or sha256(content.encode()).hexdigest() != found[1]:
        says = "is not the text that was signed; send the block as it was returned"
        raise _coded("compaction_content_mismatch", f"{one.path}.content: {says}")
    if one.block.get("tool_changes") is not None:
        says = "are not those that were returned with the block; send it as it was returned"
        raise _coded("compaction_tool_changes_mismatch", f"{one.path}.tool_changes: {says}")


def check_request(body: Body, model: Model) -> None:
    """Raise what the API says to a request for a compaction on demand (own wordings)."""
    members = body.members
    for refusal in _combinations(members):
        raise refusal
    if "compaction" not in model.capabilities:
        raise invalid(f"compaction: not supported on {model.id}")
    if len(members["compaction"].get("instructions") or "") > MOST_INSTRUCTIONS_CHARS:
        says = f"String should have at most {MOST_INSTRUCTIONS_CHARS} characters"
        raise invalid(f"compaction.instructions: {says}")
    pieces = body.messages or ()
    if not any(_says_something(piece) for piece in pieces):
        says = "`messages` has no `user` or `assistant` content to summarize"
        raise _coded("compaction_nothing_to_summarize", says)
    last: Members = pieces[len(pieces) - 1].value
    content = last["content"] if isinstance(last["content"], list) else ()
    if last["role"] == "assistant" and any(block["type"] == "tool_use" for block in content):
        says = "the last `assistant` turn is not finished; send the results of its calls, then compact"
        raise _coded("compaction_incomplete_turn", f"messages.{len(pieces) - 1}: {says}")


def _combinations(members: Members) -> Iterator[ApiError]:
    output = members.get("output_config") or {}
    choice = members.get("tool_choice") or {}
    budget = output.get("task_budget") or {}
    clashes = {
        "`context_management`": members.get("context_management") is not None,
        "`stop_sequences`": members.get("stop_sequences"),
        "`output_config.format`": output.get("format"),
        "`output_config.task_budget.remaining`": budget.get("remaining") is not None,
        "`output_format`": members.get("output_format"),
        f"`tool_choice.type: {choice.get('type')}`": choice.get("type") in ("any", "tool"),
    }
    for name, is_set in clashes.items():
        if is_set:
            yield invalid(f"compaction: cannot be combined with {name}")


def _says_something(piece: Piece) -> bool:
    """Whether a message holds anything a summary could be of; a summary that failed is nothing."""
    message = piece.value
    if message["role"] not in ("user", "assistant"):
        return False
    content = message["content"]
    if isinstance(content, str):
        return bool(content.strip())
    return any(block["type"] != "compaction" or block.get("content") for block in content)


def _coded(code: str, message: str) -> ApiError:
    return invalid(message, {"error_code": code})
