"""Which body is a legal one: the SDK's types, by endpoint and API version, and what betas open.

Models: ``messages`` and ``count_tokens`` under the API versions 2023-06-01 and 2026-10-21; fields, edits and
compaction blocks that only a beta header opens; fields, blocks and tools that the SDK's beta types know,
which are legal and not emulated.
Does not model: which other nested field or block type needs which beta; any beta header opens all of them,
and then they are answered with *not emulated*.
Source: anthropic SDK 2.14.0 through :mod:`ctxlab.emulator.fields`, and the dated ``supplement.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ctxlab.emulator.bodies import Body, Piece, fold
from ctxlab.emulator.errors import ApiError, invalid, not_emulated
from ctxlab.emulator.fields import EXTRA, Check, Fault, check_for, fields_of

Endpoint = Literal["messages", "count_tokens"]
#: What bodies are held to: the plain types; those and context management; everything the beta types know.
_Kind = Literal["plain", "managed", "beta"]
#: The last for a task budget, which a compaction on demand refuses and nothing else here can count.
_MANAGED = ("compaction", "context_management", "output_config")


@cache
def supplement() -> Mapping[str, Any]:
    """``supplement.toml``, parsed once."""
    text = Path(__file__).with_name("supplement.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def check_body(body: Body, endpoint: Endpoint, version: str, betas: Collection[str]) -> None:
    """Raise the :class:`ApiError` of the first fault: 400, or 501 where only we do not know the field.

    >>> from ctxlab.emulator.bodies import Reader
    >>> body = Reader().read(b'{"model": "m", "messages": [], "max_tokens": 9, "temperature": 1}')
    >>> check_body(body, "messages", "2023-06-01", [])
    >>> try:
    ...     check_body(body, "messages", "2026-10-21", [])
    ... except ApiError as error:
    ...     error.message
    'temperature: Extra inputs are not permitted'
    """
    fault = _schema(endpoint, version, "plain").fault(body)
    if fault is None:
        return
    if not betas:
        raise invalid(str(fault))
    managed = _schema(endpoint, version, "managed").fault(body)
    if managed is not None:
        wider = _schema(endpoint, version, "beta").fault(body)
        if wider is not None:
            if wider.path.startswith("context_management."):
                _check_opened(body, betas)
            raise invalid(str(wider))
    _check_opened(body, betas)
    if not set(supplement()["summaries"]["opened_by"]).intersection(betas):
        closed = _schema(endpoint, version, "plain").fault_in_messages(body)
        if closed is not None and _schema(endpoint, version, "managed").fault_in_messages(body) is None:
            raise invalid(str(closed))
    if managed is None:
        return
    if body.members.get("thread") is not None:
        raise no_threads()
    raise not_emulated(f"{managed.path}, which the beta types of the SDK know")


def _check_opened(body: Body, betas: Collection[str]) -> None:
    """Raise the refusal of a field or an edit whose own header is missing."""
    for name, openers in supplement()["opened_by"].items():
        if body.members.get(name) is not None and not set(openers).intersection(betas):
            raise invalid(str(Fault(name, EXTRA)))
    _check_edits(body.members.get("context_management"), betas)


def _check_edits(management: Any, betas: Collection[str]) -> None:
    """Raise the refusal of an edit that no header opens; own wording, after that of an unknown tag."""
    openers = supplement()["edits"]["opened_by"]
    edits = management.get("edits") if isinstance(management, Mapping) else None
    for i, edit in enumerate(edits if isinstance(edits, list) else ()):
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if isinstance(kind, str) and openers.get(kind) not in betas:
            known = ", ".join(f"'{name}'" for name, opener in sorted(openers.items()) if opener in betas)
            says = f"Input tag '{kind}' found using 'type' does not match any of the expected tags: {known}"
            raise invalid(f"context_management.edits.{i}: {says}")


def no_threads() -> ApiError:
    """The API's own refusal of a thread, on which the SDK sends the whole conversation instead."""
    says = "message threads; send the full conversation without `thread`"
    return not_emulated(says, {"error_code": "thread_unsupported_request"}, status=400)


class _Schema:
    """The checks of one kind of body. What was found out about a piece is kept with it."""

    def __init__(
        self,
        declared: type,
        check_message: Check,
        version: str,
        streams: bool,
        more: Mapping[str, tuple[bool, Check]] | None = None,
    ):
        known = supplement()
        fields = {**fields_of(declared, leave_out=known["header_arguments"]), **(more or {})}
        if streams:
            fields["stream"] = (False, check_for(bool))
        for name, bounds in known["versions"][version]["fields"].items():
            fields[name] = (False, _number(bounds))
        self._fields = fields
        self._check_message = check_message
        self._refuses = frozenset(known["versions"][version].get("refuses", ()))

    def fault(self, body: Body) -> Fault | None:
        fields = self._fields
        for name, (required, check) in fields.items():
            if name == "messages" and body.messages is not None:
                fault = self.fault_in_messages(body)
            elif name not in body.members:
                fault = Fault(name, "Field required") if required else None
            elif name == "tools":
                fault = self._piece(body.tools, check, name)
            elif name == "system":
                fault = self._piece(body.system, check, name)
            else:
                fault = check(body.members[name], name)
            if fault is not None:
                return fault
        return next((Fault(name, EXTRA) for name in body.members if name not in fields), None)

    def fault_in_messages(self, body: Body) -> Fault | None:
        return fold(body.messages or (), self, None, self._message)

    def _piece(self, piece: Piece, check: Check, path: str) -> Fault | None:
        if self not in piece.facts:
            piece.facts[self] = check(piece.value, path)
        found: Fault | None = piece.facts[self]
        return found

    def _message(self, before: Fault | None, piece: Piece, number: int) -> Fault | None:
        path = f"messages.{number}"
        found = before or self._check_message(piece.value, path)
        return found or _refused(piece.value, path, self._refuses)


@cache
def _schema(endpoint: Endpoint, version: str, kind: _Kind) -> _Schema:
    import typing_extensions
    from anthropic.types import message_count_tokens_params, message_create_params
    from anthropic.types.beta import message_count_tokens_params as beta_count
    from anthropic.types.beta import message_create_params as beta_create

    streams = endpoint == "messages"
    plain: type = message_count_tokens_params.MessageCountTokensParams
    wider: type = beta_count.MessageCountTokensParams
    if streams:
        plain, wider = message_create_params.MessageCreateParamsBase, beta_create.MessageCreateParamsBase
    declared = wider if kind == "beta" else plain
    hint = typing_extensions.get_type_hints(declared)["messages"]
    message = check_for(typing_extensions.get_args(hint)[0])
    if kind != "managed":
        return _Schema(declared, message, version, streams)
    fields = fields_of(wider)
    more = {name: fields[name] for name in _MANAGED}
    return _Schema(declared, _with_summaries(message), version, streams, more)


def _with_summaries(check_message: Check) -> Check:
    """Messages whose compaction blocks are held to the SDK's type of them, and everything else as before."""
    from anthropic.types.beta.beta_compaction_block_param import BetaCompactionBlockParam

    check_summary = check_for(BetaCompactionBlockParam)

    def check(message: Any, path: str) -> Fault | None:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list) or not any(map(_is_summary, content)):
            return check_message(message, path)
        others = [_STAND_IN if _is_summary(block) else block for block in content]
        found = check_message({**message, "content": others}, path)
        for i, block in enumerate(content):
            if found is None and _is_summary(block):
                found = check_summary(block, f"{path}.content.{i}.compaction")
        return found

    return check


_STAND_IN = {"type": "text", "text": "a summary"}


def _is_summary(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "compaction"


def _number(bounds: Mapping[str, Any]) -> Check:
    kind = check_for(int if bounds.get("whole") else float)

    def check(value: Any, path: str) -> Fault | None:
        fault = kind(value, path)
        if fault is None and value < bounds["low"]:
            fault = Fault(path, f"Input should be greater than or equal to {bounds['low']}")
        if fault is None and value > bounds.get("high", value):
            fault = Fault(path, f"Input should be less than or equal to {bounds['high']}")
        return fault

    return check


def _refused(message: Mapping[str, Any], path: str, refuses: Collection[str]) -> Fault | None:
    """What a version refuses inside messages of a role."""
    if not refuses or not isinstance(message.get("content"), list):
        return None
    for i, block in enumerate(message["content"]):
        place = f"{path}.content.{i}"
        if message["role"] == "assistant" and "document in assistant" in refuses:
            if block["type"] == "document":
                return Fault(place, "`document` blocks are not permitted in `assistant` messages")
        elif message["role"] == "user" and "citations in user" in refuses:
            texts = [(block, f"{place}.text")]
            if block["type"] == "search_result":
                texts = [(t, f"{place}.search_result.content.{n}") for n, t in enumerate(block["content"])]
            for text, at in texts:
                if text["type"] == "text" and text.get("citations"):
                    return Fault(f"{at}.citations", "citations are not permitted in `user` messages")
    return None
