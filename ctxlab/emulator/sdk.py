"""The SDK's clients, with what would make two runs differ taken out.

Models: custom headers from the environment are not taken over, those of the caller are, also the same ones;
the first requests of an asynchronous client go out in the order in which they are made. Both hold for
copies (``with_options``), which the SDK makes through the constructor.
Does not model: anything else; these are the SDK's own clients.
Source: anthropic SDK 2.14.0, _client.py (ANTHROPIC_CUSTOM_HEADERS), _base_client.py (a thread tells the name
of the system, and each request that comes before it is known asks one; the class names itself as user agent,
hence the names here).
"""

from __future__ import annotations

from typing import Any

import anthropic


class Anthropic(anthropic.Anthropic):
    """``anthropic.Anthropic`` whose headers are the caller's."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self._custom_headers = options.get("default_headers") or {}


class AsyncAnthropic(anthropic.AsyncAnthropic):
    """``anthropic.AsyncAnthropic`` whose headers are the caller's, and which knows its system."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self._custom_headers = options.get("default_headers") or {}
        self._platform: Any = self.platform_headers()["X-Stainless-OS"]
