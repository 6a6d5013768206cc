"""Errors as the API answers them: status, type, message, and the body around them.

Models: the error object of every status the Messages API uses (400, 401, 404, 405, 413, 429, 500, 529), its
``request_id``, the coded ``details`` a client branches on, and one answer of our own: *not emulated* (501),
for what the SDK knows and this emulator does not do.
Does not model: billing, permissions, time-outs.
Source: anthropic SDK 2.14.0, types/shared/ and _exceptions.py; recorded errors in data/;
platform.claude.com api/errors, 2026-11. Wordings that nobody recorded are our own and are marked so where
they are raised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: What a client must not do again with the same request; the SDK obeys this header above its own rules.
_DO_NOT_RETRY = {"x-should-retry": "false"}


@dataclass(eq=False)
class ApiError(Exception):
    """An error answer. Raised inside the emulator, and a reply of its own in a script.

    >>> overloaded().status, overloaded().type
    (529, 'overloaded_error')
    """

    status: int
    type: str
    message: str
    details: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status} {self.type}: {self.message}"

    def body(self, request_id: str) -> bytes:
        """The body of the answer as JSON."""
        error: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.details is not None:
            error["details"] = dict(self.details)
        answer = {"type": "error", "error": error, "request_id": request_id}
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()


def invalid(message: str, details: Mapping[str, Any] | None = None) -> ApiError:
    """400: the request is not one the API accepts."""
    return ApiError(400, "invalid_request_error", message, details)


def unauthorized(message: str) -> ApiError:
    """HTTP 401: no key, or not one of ours."""
    return ApiError(401, "authentication_error", message)


def not_found(message: str) -> ApiError:
    """HTTP 404: no such model, message or path."""
    return ApiError(404, "not_found_error", message)


def too_large() -> ApiError:
    """413: answered at the edge, before the key is looked at."""
    return ApiError(413, "request_too_large", "Request exceeds the maximum size")


def rate_limited(message: str, retry_after_s: int) -> ApiError:
    """HTTP 429, with the seconds to wait in its ``retry-after`` header."""
    return ApiError(429, "rate_limit_error", message, headers={"retry-after": str(retry_after_s)})


def overloaded() -> ApiError:
    """529, to put into a script: ``Emulator(replies=[overloaded(), "Hello again."])``."""
    return ApiError(529, "overloaded_error", "Overloaded")


def failed(message: str) -> ApiError:
    """500: the emulator itself cannot answer, because its replies cannot."""
    return ApiError(500, "api_error", message, headers=_DO_NOT_RETRY)


def not_emulated(what: str, details: Mapping[str, Any] | None = None, status: int = 501) -> ApiError:
    """What the API does and this emulator does not: said, never passed over.

    >>> str(not_emulated("message batches"))
    '501 api_error: not emulated: message batches'
    """
    kind = "api_error" if status == 501 else "invalid_request_error"
    return ApiError(status, kind, f"not emulated: {what}", details, _DO_NOT_RETRY)
