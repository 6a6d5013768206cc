"""What real answers correct: the difference between recorded and estimated tokens, kept by setting.

Models: one offset for all prompts of a model with the same tools and parameters.
Does not model: an error that grows with the text, as that of a ratio of characters does.
Source: recorded sessions (``data/recordings/``), where nearly every residual is constant within a sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ctxlab.tokens.arguments import argument_error
from ctxlab.tokens.counting import Count, check_count


@dataclass(frozen=True, slots=True)
class Calibration:
    """What real answers taught: recorded minus estimated tokens, by setting. A value; learning makes another.

    Nearly every residual of the rules is constant as long as model, tools and parameters are, so the second
    turn is exact even where the first is not. That holds for counters that count; what a ratio of characters
    is off by grows with the text.

    >>> from ctxlab.prompt import Prompt
    >>> from ctxlab.tokens import count
    >>> from ctxlab.usage import Usage
    >>> hello = Prompt.from_request({"messages": [{"role": "user", "content": "Hello"}]})
    >>> first = count(hello, "claude-opus-5-5", counter="calibrated_characters")
    >>> learned = Calibration().learn(first, Usage(input_tokens=first.total + 5))
    >>> learned.apply(first).total - first.total
    5
    """

    offsets: Mapping[str, int] = field(default_factory=dict)

    def learn(self, count: Count, usage: Any) -> Calibration:
        """Keep the offset of one answer. One that sums several prompts, or says nothing, teaches nothing.

        Raises :class:`InvalidArgumentError` for what is no :class:`ctxlab.usage.Usage`.
        """
        if not all(hasattr(usage, name) for name in ("iterations", "requests")):
            kind = type(usage).__name__
            raise argument_error(
                "usage", "is-usage", f"is of type {kind}", "pass Usage.from_response(message.usage)"
            )
        check_count(count)
        prompts = [one for one in usage.iterations if one.type == "message"]
        if len(prompts) > 1 or usage.requests != 1 or not usage.context_tokens:
            return self
        offset = usage.context_tokens - (count.total - count.learned_tokens)
        return Calibration({**self.offsets, count.setting: offset})

    def apply(self, count: Count) -> Count:
        """The count, corrected if its setting is known. The offset stands ahead of the first message.

        What was learned from a large prompt never makes a small one less than nothing.
        """
        check_count(count)
        estimated = count.total - count.learned_tokens
        offset = max(self.offsets.get(count.setting, 0), -estimated) - count.learned_tokens
        if not offset:
            return count
        by_block = list(count.by_block)
        left = offset
        for i in range(count.messages_from, len(by_block)):
            by_block[i], left = max(by_block[i] + left, 0), min(by_block[i] + left, 0)
        low, high = count.band or (0, 0)
        return replace(
            count,
            total=count.total + offset,
            by_block=tuple(by_block),
            tail_tokens=count.tail_tokens + left,
            band=count.band and (max(low + offset, 0), max(high + offset, 0)),
            learned_tokens=count.learned_tokens + offset,
        )
