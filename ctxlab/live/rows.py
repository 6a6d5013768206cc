"""A request and its answer as a row of the recordings' format: lengths, digests and figures, no text.

Models: every field of the format that a request and an answer have by themselves; two requests have the same
row if and only if blocks, markers and parameters are the same. ``metadata`` names users, and is left out.
Does not model: tokens of single texts, unless somebody counts them; pages of a PDF.
Source: ``data/recordings/README.md``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from ctxlab import tokens
from ctxlab.catalogue import get_model
from ctxlab.errors import UnknownModelError
from ctxlab.images import header_or_none
from ctxlab.prompt import Block, Prompt
from ctxlab.tokens import CountText
from ctxlab.usage import Usage

Row = dict[str, Any]
Counter = str | CountText | None

#: Fields of a request that are not about the request; they are not compared.
BESIDE = frozenset({"betas", "host", "rendered_tokens"})
_OF_THE_FORMAT = frozenset({"endpoint", "blocks", "not_recorded", *BESIDE})
_NO_PARAMETERS = frozenset({"tools", "system", "messages", "metadata"})
_ANNOTATIONS = frozenset({"content_tokens", "sent_sha256", "trailing_space_tokens"})
_WORD = re.compile(r"[\w.:@/+-]{1,64}")
_TEXTS = frozenset({"text", "thinking", "tool_use", "tool_result", "compaction"})
_CITABLE = frozenset({"document", "search_result"})


def request_row(body: Mapping[str, Any], endpoint: str, counter: Counter = None) -> Row:
    """The request of a row. ``counter``, as in :func:`ctxlab.tokens.count`, counts single texts; None: nobody
    does.

    Raises :class:`ctxlab.errors.InvalidRequestError` for a body that is no request.

    >>> row = request_row({"model": "claude-opus-5-5", "max_tokens": 9,
    ...     "messages": [{"role": "user", "content": "Hi"}]}, "messages")
    >>> row["max_tokens"], row["blocks"][0]["chars"], row["blocks"][0]["bare_string"]
    (9, 2, True)
    """
    prompt = Prompt.from_request(body)
    blocks = [_block(block, sent) for block, sent in zip(prompt.blocks, _sent_blocks(body), strict=True)]
    if counter is not None:
        _count(blocks, prompt, body.get("model"), counter)
    parameters = {
        name: _parameter(value)
        for name, value in body.items()
        if name not in _NO_PARAMETERS and value is not None
    }
    if clash := parameters.keys() & _OF_THE_FORMAT:  # nothing the API knows; it must not pose as ours
        parameters = {f"sent_{name}" if name in clash else name: value for name, value in parameters.items()}
    return {**parameters, "endpoint": endpoint, "blocks": blocks}


def compared(row: Mapping[str, Any]) -> Row:
    """What of a request's row has to be the same for two requests to be the same."""
    blocks = [
        {name: value for name, value in block.items() if name not in _ANNOTATIONS} for block in row["blocks"]
    ]
    return {**{name: value for name, value in row.items() if name not in BESIDE}, "blocks": blocks}


def digest(row: Mapping[str, Any]) -> str:
    """One digest of :func:`compared`, to look a request up by."""
    return sha256(_canonical(compared(row)).encode()).hexdigest()


def response_row(status: int, answer: Mapping[str, Any], *, streamed: bool) -> Row:
    """The answer of a row, from its JSON body (of a stream: the message its events add up to).

    Raises :class:`ctxlab.errors.InvalidUsageError` for usage that cannot be, and
    :class:`ctxlab.errors.InvalidRequestError` for content that is none: such a row could not be read back.
    """
    if answer.get("usage") is not None:
        Usage.from_response(answer["usage"])
    content = answer.get("content") or []
    blocks = Prompt.from_request({"messages": [{"role": "assistant", "content": content}]}).blocks
    counted = {"input_tokens": answer["input_tokens"]} if "input_tokens" in answer else None
    row: Row = {
        "status": status,
        "model": answer.get("model"),
        "stop_reason": answer.get("stop_reason"),
        "content_types": [block.type for block in blocks],
        "content_chars": [block.chars for block in blocks],
        "streamed": streamed,
        "usage": answer.get("usage") or counted,
    }
    if answer.get("stop_sequence") is not None:
        row["stop_sequence"] = True
    for name in ("context_management", "diagnostics"):
        if answer.get(name) is not None:
            row[name] = answer[name]
    if isinstance(answer.get("error"), Mapping):
        row["error"] = {
            "type": str(answer["error"].get("type")),
            "message": str(answer["error"].get("message")),
        }
    return row


def _sent_blocks(body: Mapping[str, Any]) -> Iterator[Any]:
    """The blocks of a body as they were sent, in render order; a string is the text it stands for."""
    yield from body.get("tools") or ()
    contents = [body.get("system"), *(message.get("content") for message in body["messages"])]
    for content in contents:
        if isinstance(content, str):
            yield content
        else:
            yield from content or ()


def _block(block: Block, sent: Any) -> Row:
    body = sent if isinstance(sent, Mapping) else {}
    row: Row = {
        "segment": block.segment,
        "role": block.role,
        "type": block.type,
        "chars": block.chars,
        "sha256": block.content_sha256,
    }
    if block.wire_sha256.hex() != block.content_sha256:
        row["sent_sha256"] = block.wire_sha256.hex()
    if block.message is not None:
        row["message"] = block.message
    if block.name is not None:
        row["name"] = block.name
    if isinstance(sent, str):
        row["bare_string"] = True
    row.update(_details(block.type, body))
    if block.segment == "tools" and body.get("defer_loading"):
        row["defer_loading"] = True
    if block.segment == "system" and block.type == "text" and str(body.get("text", sent)).endswith("\n"):
        row["ends_with_newline"] = True
    return row


def _count(rows: Sequence[Row], prompt: Prompt, model: Any, counter: Counter) -> None:
    """Write what each text counts by itself into its row, where the model's vocabulary is known."""
    try:
        known = get_model(str(model))
    except UnknownModelError:
        return
    alone = tokens.contents_tokens(prompt, known, counter=counter)
    for row, shown in zip(rows, alone, strict=True):
        parts = row.get("nested", ())
        is_text = row["type"] in _TEXTS and all(part["type"] == "text" for part in parts)
        if is_text or (
            row["segment"] == "tools" and row["type"] == "custom" and not row.get("defer_loading")
        ):
            row["content_tokens"] = {known.vocabulary: shown}


def _part(body: Mapping[str, Any]) -> Row:
    kind, text = str(body.get("type")), body.get("text")
    chars = len(text) if isinstance(text, str) else 0 if kind == "image" else len(_canonical(body))
    return {"type": kind, "chars": chars, **_details(kind, body)}


def _details(kind: str, body: Mapping[str, Any]) -> Row:
    """Marker, inner blocks, and the fields that a block's type decides."""
    found: Row = {}
    if body.get("cache_control") is not None:
        found["cache_control"] = _parameter(body["cache_control"])
    if kind == "image":
        found["image"] = _image(body.get("source"))
    if kind == "document":
        found["document"] = _document(body.get("source"))
    cites = body.get("citations")
    if kind in _CITABLE and isinstance(cites, Mapping) and cites.get("enabled"):
        found["citations"] = True
    if isinstance(body.get("content"), list):
        found["nested"] = [_part(part) for part in body["content"] if isinstance(part, Mapping)]
    if kind == "tool_result":
        found["is_error"] = bool(body.get("is_error"))
    if kind == "thinking" and isinstance(body.get("signature"), str):
        found["signature_chars"] = len(body["signature"])
    return found


def _image(source: Any) -> Row:
    found, data = _source(source)
    header = None if data is None else header_or_none(data)
    if header is not None:
        found.update(width=header.width, height=header.height)
        if header.media_type != found.get("media_type"):
            found["real_media_type"] = header.media_type
    return found


def _document(source: Any) -> Row:
    found, _ = _source(source)
    if found["source"] == "text" and isinstance(source.get("data"), str):
        found["chars"] = len(source["data"])
    return found


def _source(source: Any) -> tuple[Row, bytes | None]:
    """Where a picture or a file comes from, as a digest, and its bytes if it was sent along."""
    if not isinstance(source, Mapping):
        return {"source": "unknown"}, None
    found: Row = {"source": str(source.get("type"))}
    if isinstance(source.get("media_type"), str):
        found["media_type"] = source["media_type"]
    if isinstance(source.get("url"), str):
        found["url_sha256"] = sha256(source["url"].encode()).hexdigest()[:16]
    if found["source"] != "base64" or not isinstance(source.get("data"), str):
        return found, None
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError):
        return found, None
    found.update(bytes=len(data), sha256=sha256(data).hexdigest())
    return found, data


def _parameter(value: Any) -> Any:
    """A parameter as it may be kept: words and numbers stay, texts and schemas become length and digest."""
    if isinstance(value, str):
        if _WORD.fullmatch(value):
            return value
        return {"chars": len(value), "sha256": sha256(value.encode()).hexdigest()}
    if isinstance(value, Mapping):
        if "schema" in value:
            return _output_format(value)
        return {name: _parameter(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_parameter(item) for item in value]
    return value


def _output_format(value: Mapping[str, Any]) -> Row:
    """The length is that of the schema alone, as it is counted; the digest covers everything."""
    text = json.dumps(value["schema"], ensure_ascii=False, separators=(",", ":"))
    return {
        "type": value.get("type"),
        "chars": len(text),
        "sha256": sha256(_canonical(value).encode()).hexdigest(),
    }


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
