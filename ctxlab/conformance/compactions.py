"""Recorded compactions: what of their figures the rules say beforehand, and what a script has to be given.

Models: whether a compaction was due; the input of the pass that wrote the summary and how it is split; the
input of the answer behind it where the summary's tokens are known; requests that send a summary back; the
top level of ``usage`` against its passes.
Does not model: what is *given*: output tokens of every pass, and how many tokens a summary has. What an entry
from before the recording saved is *learned*, as everywhere in the replay.
Source: ``ctxlab/token_rules.toml`` (compaction_pass, compaction_summary, compaction_not_due); compaction
page, 2026-08, for the top level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ctxlab.cache import Layout, Plan, PromptCache
from ctxlab.catalogue import Model, get_model
from ctxlab.clock import ManualClock
from ctxlab.conformance.rows import in_time
from ctxlab.effective import COMPACT, due_compaction, edits_of, unread
from ctxlab.errors import CtxlabError, UnknownModelError
from ctxlab.recordings import Exchange, RecordedBlock
from ctxlab.tokens import Count, Rules, compaction_pass_tokens, count_recorded, recorded_on, rules_of
from ctxlab.usage import MESSAGE_TYPES, Iteration

_SUMMARY = "compaction"
_NOT_DUE = "compaction edit that may not be due"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure that was known before the row answered, and what the row said."""

    name: str
    predicted: int
    recorded: int


@dataclass(frozen=True, slots=True)
class Compaction:
    """A recorded row with a compaction edit or a summary: ``given`` is what nobody can predict, ``predicted``
    every figure that was said beforehand, ``learned`` what the row alone could tell."""

    row: str
    given: Mapping[str, int]
    predicted: tuple[Figure, ...]
    learned: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[Figure, ...]:
        """Predicted, and not what was recorded."""
        return tuple(one for one in self.predicted if one.predicted != one.recorded)


def compactions(rows: Iterable[Exchange]) -> tuple[Compaction, ...]:
    """What is said of every row with a compaction, in the order of ``rows``.

    >>> from ctxlab.recordings import sequences
    >>> paused = compactions(sequences()["langchain/test_compaction"])[1]
    >>> [(one.name, one.predicted) for one in paused.predicted][:2]
    [('a compaction is due', 1), ('summary: input', 83555)]
    """
    rows = tuple(rows)
    by_source: dict[str, list[Exchange]] = {}
    for row in rows:
        if _is_asked(row) or any(block.type == _SUMMARY for block in row.blocks):
            by_source.setdefault(str(row.source.repo or row.sequence), []).append(row)
    sent_back = {(row.sequence, row.step): row for row in rows}
    found = {told.row: told for name, own in by_source.items() for told in _Source(name, sent_back).read(own)}
    return tuple(found[row.id] for row in rows if row.id in found)


def _is_asked(row: Exchange) -> bool:
    try:
        return any(edit["type"] == COMPACT for edit in edits_of(row.parameters))
    except CtxlabError:
        return False


@dataclass
class _Source:
    """The rows of one source in time, and the cache that their passes leave."""

    name: str
    sent_back: Mapping[tuple[str, int], Exchange]
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.cache = PromptCache(self.clock)

    def read(self, rows: Sequence[Exchange]) -> Iterator[Compaction]:
        for at_s, row in in_time(rows):
            self.clock.advance(max(at_s - self.clock.now_s(), 0.0))
            told = self._told(row)
            if told is not None:
                yield told

    def _told(self, row: Exchange) -> Compaction | None:
        """None for a row about which nothing can be said: it was refused, or cannot be counted."""
        usage = row.usage
        try:
            model, count = get_model(row.model_id or ""), count_recorded(row)
        except (UnknownModelError, CtxlabError):
            return None
        if usage is None or not row.request_known:
            return None
        passes = usage.iterations or usage.billed
        given = {f"{_name(one)}: output": one.output_tokens for one in passes}
        learned: list[str] = []
        figures: list[Figure] = []
        if all(one.reason == _NOT_DUE for one in count.outside) and _is_counted(row.blocks, model):
            figures += self._passes(row, model, count, passes, given, learned)
        else:
            learned += [f"{_name(one)}: input {one.total_input_tokens:,}, not counted" for one in passes]
        return Compaction(row.id, given, (*figures, *_top_level(row)), tuple(learned))

    def _passes(
        self,
        row: Exchange,
        model: Model,
        count: Count,
        passes: Sequence[Iteration],
        given: dict[str, int],
        learned: list[str],
    ) -> Iterator[Figure]:
        """The inputs of a row whose every block is counted."""
        summary = next((one for one in passes if one.type == _SUMMARY), None)
        answer = next((one for one in passes if one.type in MESSAGE_TYPES), None)
        yield from self._due(row, model, count, summary)
        if summary is not None:
            wanted = compaction_pass_tokens(count, model)
            yield Figure("summary: input", wanted, summary.total_input_tokens)
            yield from self._split(row, model, count, summary, learned)
        if answer is None:
            return
        told = answer.total_input_tokens
        if summary is None and any(block.type == _SUMMARY for block in row.blocks):
            yield Figure("answer: input", count.total, told)
        elif summary is None:
            learned.append(f"answer: input {told:,}, beside an edit that was not due")
        elif (block := self._summary(row, model)) is not None:
            given["summary: tokens when it is sent back"] = block.content_tokens[model.vocabulary]
            left = tuple(one for one in row.blocks if one.segment != "messages")
            yield Figure("answer: input", count_recorded(replace(row, blocks=(*left, block))).total, told)
        else:
            learned.append(f"answer: input {told:,}, whose summary nobody counted")

    def _due(self, row: Exchange, model: Model, count: Count, summary: Iteration | None) -> Iterator[Figure]:
        if not _is_asked(row):
            return
        most = count.total + _constants(row, model).compaction_not_due
        least_due = due_compaction(row.parameters, model, count=lambda _: count.total) is not None
        most_due = due_compaction(row.parameters, model, count=lambda _: most) is not None
        if least_due == most_due:  # else the trigger lies between what is sure and what an edit may cost
            yield Figure("a compaction is due", int(least_due), int(summary is not None))

    def _split(
        self, row: Exchange, model: Model, count: Count, summary: Iteration, learned: list[str]
    ) -> Iterator[Figure]:
        """Read, written and fresh of the pass, by the cache that this source is known to have."""
        ahead = _constants(row, model).compaction_not_due
        gone = unread(row.blocks, model)
        seen = [i for i in range(len(row.blocks)) if i not in gone]
        sizes = [count.cumulative[i] + (ahead if row.blocks[i].segment == "messages" else 0) for i in seen]
        as_seen = replace(row, blocks=tuple(row.blocks[i] for i in seen))
        layout = Layout.from_recording(as_seen, sizes, workspace=self.name)
        plan = self.cache.lookup(replace(layout, total_tokens=compaction_pass_tokens(count, model)))
        read, written = summary.cache_read_input_tokens, summary.cache_creation_input_tokens
        expected = plan.usage()
        cached = expected.cache_read_input_tokens + expected.cache_creation_input_tokens
        if read > expected.cache_read_input_tokens and read + written == cached and _can_end(plan, read):
            learned.append(f"summary: {read:,} of the cached {cached:,} were read, from an older entry")
            yield Figure("summary: read or written", cached, read + written)
        else:
            yield Figure("summary: read", expected.cache_read_input_tokens, read)
            yield Figure("summary: written", expected.cache_creation_input_tokens, written)
        yield Figure("summary: fresh", expected.input_tokens, summary.input_tokens)
        self.cache.commit(plan)

    def _summary(self, row: Exchange, model: Model) -> RecordedBlock | None:
        """The summary that a row wrote, as the next row of its sequence sends it back, if it is counted."""
        later = self.sent_back.get((row.sequence, row.step + 1))
        blocks = [block for block in later.blocks if block.type == _SUMMARY] if later else []
        chars = dict(zip(row.content_types, row.content_chars, strict=False)).get(_SUMMARY)
        if blocks and blocks[-1].chars == chars and _is_counted(blocks[-1:], model):
            return blocks[-1]
        return None


def _is_counted(blocks: Sequence[RecordedBlock], model: Model) -> bool:
    """Whether the tokens of everything that is read are known; those of pictures follow from their sides."""
    gone = unread(blocks, model)
    return all(
        block.image is not None or model.vocabulary in (block.content_tokens or {})
        for i, block in enumerate(blocks)
        if i not in gone
    )


def _can_end(plan: Plan, read: int) -> bool:
    """Whether an entry of this size can be: one ends at some block within what would be cached."""
    last = plan.billing[2]
    return any(position.cumulative_tokens == read for position in plan.layout.positions[:last])


def _top_level(row: Exchange) -> Iterator[Figure]:
    """The top level sums every pass but those that wrote a summary."""
    usage = row.usage
    if usage is None or not usage.iterations:
        return
    answers = [one for one in usage.iterations if one.type != _SUMMARY]
    inputs = sum(one.total_input_tokens for one in answers)
    yield Figure("top level: input", inputs, usage.total_input_tokens)
    yield Figure("top level: output", sum(one.output_tokens for one in answers), usage.output_tokens)


def _constants(row: Exchange, model: Model) -> Rules:
    return rules_of(model.vocabulary, model, recorded_on(row))


def _name(one: Iteration) -> str:
    return "summary" if one.type == _SUMMARY else "answer"
