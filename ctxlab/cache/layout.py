"""What the cache sees of a request: positions in render order, and no text.

Models: one position per block, with the chained digest of the prefix that ends there, its number in the
lookback, how many tokens it takes up to there, and its marker; the parameters of each tier; automatic
caching; markers inside a tool result (rule ``marker-inside-result``); tools that are outside the prefix
(deferred) or in the system prompt (web search, web fetch). Two makers: from a prompt and its token counts,
and from a recorded request, whose sizes may be unknown.
Does not model: token counts (they are handed in: where a marker on the last tool really cuts is the
counter's business), what the server removes before the model reads (hand in the prompt as the model sees
it), breakpoints the server sets itself in a server-tool loop, prefixes that end inside a tool result.
Source: ``ctxlab/cache_rules.toml``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import attrgetter, le
from typing import Any, NamedTuple, Protocol

from ctxlab.cache.markers import Marker, automatic_marker, carrier_problem, marker_problems, ttl_of
from ctxlab.cache.recorded import MarkedPart, RecordedRow, read_back
from ctxlab.cache.rules import LOOKBACK_POSITIONS, CacheRules, Tier, parameters_by_tier, table
from ctxlab.catalogue import Model, get_model
from ctxlab.errors import InvalidArgumentError, InvalidRequestError, Problem, RecordingError
from ctxlab.prompt import SEGMENTS, Block, Chainable, Prompt, chained
from ctxlab.tokens import Count

Scope = tuple[str, ...]
"""Workspace, model and the parameters of a tier and those before it: what must agree besides the digest."""

#: Blocks that count as one position when they stand in a row in one message.
_RUNS = frozenset({"tool_use", "tool_result"})
_CITABLE = frozenset({"document", "search_result"})
_CARRIERS = _CITABLE | {"image"}


class Position(NamedTuple):
    """A place where a prefix can end: behind one block.

    ``digest`` covers everything up to and including the block. Blocks with one ``lookback_unit`` count once.
    ``cumulative_tokens`` is the size of the prefix, None where it is not known. ``cache_control`` is the
    marker as sent.
    """

    digest: str
    lookback_unit: int
    cumulative_tokens: int | None = None
    cache_control: Mapping[str, Any] | None = None
    tier: Tier = "messages"
    path: str = ""


class _Block(Chainable, Protocol):
    """What is read of a block, sent or recorded."""

    @property
    def type(self) -> str: ...
    @property
    def chars(self) -> int | None: ...
    @property
    def message(self) -> int | None: ...
    @property
    def path(self) -> str: ...
    @property
    def cache_control(self) -> Mapping[str, Any] | None: ...
    @property
    def parts(self) -> Sequence[MarkedPart]: ...


@dataclass(frozen=True, slots=True, repr=False)
class Layout:
    """A request as the cache sees it. ``markers`` and ``scopes`` follow from the rest.

    ``parameters_by_tier`` holds per tier the parameters whose change loses it first. ``total_tokens`` is the
    whole prompt (a few tokens follow the last block); without it the last position is taken for the end.
    ``automatic`` is the position whose marker came from the top of the request. A marker inside a tool result
    stands at the result's end, unless ``CacheRules.marker_inside_result`` has it ignored.

    Raises :class:`InvalidRequestError` for markers the API refuses, :class:`InvalidArgumentError` for sizes
    or units that shrink along the prefix.

    >>> layout = Layout((Position("a", 0, 1500, {"type": "ephemeral"}), Position("b", 1, 1507)), {},
    ...     get_model("claude-sonnet-4-5"))
    >>> layout.markers
    (Marker(position=0, ttl='5m', automatic=False),)
    """

    positions: tuple[Position, ...]
    parameters_by_tier: Mapping[Tier, str]
    model: Model
    workspace: str = "default"
    total_tokens: int | None = None
    automatic: int | None = None
    markers: tuple[Marker, ...] = field(init=False)
    scopes: Mapping[Tier, Scope] = field(init=False)

    def __post_init__(self) -> None:
        if self.total_tokens is None and self.positions:
            object.__setattr__(self, "total_tokens", self.positions[-1].cumulative_tokens)
        self._check_order()
        markers, problems = [], []
        for i, control in enumerate(map(attrgetter("cache_control"), self.positions)):
            if control is not None:
                ttl, problem = ttl_of(control, f"{self.place(i)}.cache_control")
                markers.append(Marker(i, ttl, automatic=i == self.automatic))
                problems += [problem] if problem else []
        object.__setattr__(self, "markers", tuple(markers))
        problems += marker_problems(markers, [self.place(marker.position) for marker in markers])
        if problems:
            raise InvalidRequestError(problems)
        scope: Scope = (self.workspace, self.model.id)
        scopes: dict[Tier, Scope] = {}
        for tier in SEGMENTS:
            scopes[tier] = scope = (*scope, self.parameters_by_tier.get(tier, "{}"))
        object.__setattr__(self, "scopes", scopes)

    def _check_order(self) -> None:
        units = [position.lookback_unit for position in self.positions]
        sizes = [size for _, _, size, *_ in self.positions if size is not None]
        if self.total_tokens is not None:
            sizes.append(self.total_tokens)
        for name, values in (("lookback_unit", units), ("cumulative_tokens", sizes)):
            if (values and values[0] < 0) or not all(map(le, values, values[1:])):
                raise InvalidArgumentError(
                    Problem(f"positions.{name}", "grows", "shrinks along the prefix", "count from the start")
                )

    def place(self, position: int) -> str:
        """A position in words: the path of its block, else its number counted from 1."""
        return self.positions[position].path or f"position {position + 1}"

    def looked_at(self, position: int) -> Iterator[int]:
        """The positions that a marker at ``position`` looks at, its own first: 20 as the lookback counts."""
        last = self.positions[position].lookback_unit - LOOKBACK_POSITIONS
        for place in range(position, -1, -1):
            if self.positions[place].lookback_unit <= last:
                return
            yield place

    def __repr__(self) -> str:
        return (
            f"<Layout: {len(self.positions)} positions, {len(self.markers)} markers, {self.model.id}, "
            f"workspace {self.workspace}>"
        )

    @classmethod
    def from_prompt(
        cls,
        prompt: Prompt,
        count: Count | Sequence[int | None] | None,
        *,
        total_tokens: int | None = None,
        model: str | Model | None = None,
        workspace: str = "default",
        rules: CacheRules | None = None,
    ) -> Layout:
        """The layout of a request. ``model`` defaults to the one the request names.

        ``count`` is a :class:`ctxlab.tokens.Count`, or the tokens up to and including each block (None where
        not known; ``total_tokens`` then says what follows the last block), or None: no size is known.

        Raises :class:`InvalidRequestError` for markers the API refuses, :class:`UnknownModelError`, and
        :class:`InvalidArgumentError` for a count that does not fit the blocks.

        >>> prompt = Prompt.from_request({"model": "claude-opus-5-5", "cache_control": {"type": "ephemeral"},
        ...     "messages": [{"role": "user", "content": "Hi"}]})
        >>> layout = Layout.from_prompt(prompt, [600], total_tokens=602)
        >>> layout.markers
        (Marker(position=0, ttl='5m', automatic=True),)
        """
        named = json.loads(prompt.parameters.get("model", "null")) if model is None else model
        if named is None:
            raise InvalidArgumentError(
                Problem("model", "required", "is missing", "name it in the request or as an argument")
            )
        known, switches = get_model(named), rules or CacheRules()
        given, total = _sizes(count, total_tokens, len(prompt.blocks))
        rich = [block for block in prompt.blocks if block.parts or block.type in _CARRIERS]
        return _lay_out(
            prompt.blocks,
            given,
            as_sent=prompt,
            deferred={i for i, block in enumerate(prompt.blocks) if _is_deferred(block)},
            at_the_top=json.loads(prompt.parameters.get("cache_control", "null")),
            by_tier=_by_tier(
                tuple(prompt.parameters.items()),
                known.id,
                any(map(_cites, rich)),
                any(map(_has_image, rich)),
                switches,
            ),
            model=known,
            workspace=workspace,
            total_tokens=total,
            rules=switches,
        )

    @classmethod
    def from_recording(
        cls,
        row: RecordedRow,
        count: Count | Sequence[int | None] | None = None,
        *,
        workspace: str | None = None,
        rules: CacheRules | None = None,
    ) -> Layout:
        """The layout of a recorded request. Sizes are unknown but for ``count`` and the recorded total.

        The total is a fact about the prompt; how it was split between reads and writes is not looked at. It
        is unknown where the row sums several prompts. ``workspace`` defaults to the repository the row came
        from. Raises :class:`RecordingError` where the request or the digest of a block was not recorded.
        """
        problems = [] if row.request_known else [Problem(row.id, "request-recorded", "has no request")]
        if row.model_id is None:
            problems.append(Problem(row.id, "model-recorded", "names no model"))
        problems += [
            Problem(f"{row.id} blocks[{i}]", "digest-recorded", f"({block.type}) has no digest")
            for i, block in enumerate(row.blocks)
            if block.sha256 is None
        ]
        if problems or row.model_id is None:
            raise RecordingError(problems)
        blocks = read_back(row.blocks)
        usage = row.usage
        sums_prompts = usage is not None and (usage.iterations or "context-is-a-sum" in usage.flags)
        total = None if usage is None or sums_prompts else usage.total_input_tokens
        given, total = _sizes(count, total, len(blocks))
        model, switches = get_model(row.model_id), rules or CacheRules()
        return _lay_out(
            blocks,
            given,
            as_sent=None,
            deferred={i for i, block in enumerate(row.blocks) if block.defer_loading},
            at_the_top=row.parameters.get("cache_control"),
            by_tier=parameters_by_tier(
                row.parameters,
                model.id,
                citations=any(block.citations for block in row.blocks),
                images=any(map(_has_image, row.blocks)),
                switches=switches,
            ),
            model=model,
            workspace=workspace if workspace is not None else str(row.source.repo or row.id),
            total_tokens=total,
            rules=switches,
        )


@lru_cache(maxsize=256)
def _by_tier(
    parameters: tuple[tuple[str, str], ...], model_id: str, citations: bool, images: bool, rules: CacheRules
) -> Mapping[Tier, str]:
    """What a prompt keeps of its parameters, by tier; the requests of one program repeat it."""
    decoded = {name: json.loads(value) for name, value in parameters}
    return parameters_by_tier(decoded, model_id, citations=citations, images=images, switches=rules)


def _lay_out(
    blocks: Sequence[_Block],
    given: Sequence[int | None],
    *,
    as_sent: Prompt | None,
    deferred: set[int],
    at_the_top: Any,
    by_tier: Mapping[Tier, str],
    model: Model,
    workspace: str,
    total_tokens: int | None,
    rules: CacheRules,
) -> Layout:
    tools = sum(block.segment == "tools" for block in blocks)
    lifted = {
        i for i in range(tools) if blocks[i].type.startswith(tuple(table()["tools_in_the_system_prompt"]))
    }
    order = sorted(set(range(tools)) - deferred, key=lambda i: (i in lifted, i))
    in_order = order == list(range(tools))
    sizes = [*(given[:tools] if in_order else _reordered(given[:tools], order)), *given[tools:]]
    tiers = [blocks[i].segment if i not in lifted else "system" for i in order]
    rendered = blocks if in_order else [*(blocks[i] for i in order), *blocks[tools:]]
    if in_order and as_sent is not None:
        digests: Sequence[str] = as_sent.chain(rules.schema_key_order)
    else:
        sort_tools = rules.schema_key_order == "sorted"
        digests = [digest.hex() for digest in chained(rendered, sort_tools=sort_tools)]

    inside = {i: marks for i, block in enumerate(rendered) if block.parts and (marks := _marks_inside(block))}
    controls = [block.cache_control for block in rendered]
    problems = [
        Problem(
            f"{blocks[i].path}.cache_control",
            "marker-on-deferred",
            "marks a tool with defer_loading, which is outside the prefix",
            "mark a tool that is loaded",
        )
        for i in sorted(deferred)
        if blocks[i].cache_control is not None
    ]
    for block in rendered:
        if block.cache_control is not None and (problem := carrier_problem(block, block.path)):
            problems.append(problem)
    if inside:
        problems += _problems_with_those_inside(rendered, inside)
        if rules.marker_inside_result == "result":
            for i, marks in inside.items():
                controls[i] = controls[i] or marks[-1][1]
    automatic = None
    if at_the_top is not None:
        explicit = [
            Marker(i, ttl_of(control, "")[0]) for i, control in enumerate(controls) if control is not None
        ]
        marker, found = automatic_marker(at_the_top, rendered, explicit)
        problems += found
        if marker is not None:
            automatic = marker.position
            controls[automatic] = at_the_top
    if problems:
        raise InvalidRequestError(problems)
    positions = map(
        Position,
        digests,
        _lookback_units(rendered, rules),
        sizes,
        controls,
        [*tiers, *(block.segment for block in rendered[len(order) :])],
        [block.path for block in rendered],
    )
    return Layout(tuple(positions), by_tier, model, workspace, total_tokens, automatic)


def _marks_inside(block: _Block) -> list[tuple[str, Mapping[str, Any], MarkedPart]]:
    """Path, marker and part of what is marked inside a tool result."""
    return [
        (f"{block.path}.content[{n}]", part.cache_control, part)
        for n, part in enumerate(block.parts)
        if part.cache_control is not None
    ]


def _problems_with_those_inside(
    blocks: Sequence[_Block], inside: Mapping[int, list[tuple[str, Mapping[str, Any], MarkedPart]]]
) -> list[Problem]:
    """What the API refuses where markers inside results are counted with those on blocks, in their order."""
    problems: list[Problem] = []
    markers: list[Marker] = []
    paths: list[str] = []
    for i, block in enumerate(blocks):
        marks = [(path, control) for path, control, _ in inside.get(i, ())]
        problems += [found for path, _, part in inside.get(i, ()) if (found := carrier_problem(part, path))]
        if block.cache_control is not None:
            marks.append((block.path, block.cache_control))
        for path, control in marks:
            ttl, problem = ttl_of(control, f"{path}.cache_control")
            problems += [problem] if problem else []
            markers.append(Marker(len(markers), ttl))
            paths.append(path)
    return problems + marker_problems(markers, paths)


def _lookback_units(blocks: Sequence[_Block], rules: CacheRules) -> Sequence[int]:
    if rules.tool_run_positions == "each":
        return range(len(blocks))
    units, unit, before = [], -1, None
    for block in blocks:
        run = (block.message, block.type) if block.type in _RUNS else None
        if run is None or run != before:
            unit += 1
        before = run
        units.append(unit)
    return units


def _sizes(
    count: Count | Sequence[int | None] | None, total_tokens: int | None, blocks: int
) -> tuple[Sequence[int | None], int | None]:
    """Tokens up to and including each block, and in all."""
    if count is None:
        return [None] * blocks, total_tokens
    if isinstance(count, Count):
        sizes: Sequence[int | None] = count.cumulative
        total_tokens = count.total if total_tokens is None else total_tokens
    else:
        sizes = list(count)
    if len(sizes) != blocks:
        raise InvalidArgumentError(
            Problem("count", "one-size-a-block", f"has {len(sizes)} sizes for {blocks} blocks", "give each")
        )
    if total_tokens is None and sizes:
        total_tokens = sizes[-1]
    return sizes, total_tokens


def _reordered(sizes: Sequence[int | None], order: Sequence[int]) -> Sequence[int | None]:
    """Cumulative sizes when the same blocks stand in another order; unknown if any of them is."""
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return [None] * len(order)
    own = [after - before for before, after in pairwise([0, *known])]
    return list(accumulate(own[i] for i in order))


def _is_deferred(block: Block) -> bool:
    """Whether a tool waits to be found; its schema may hold the words too, so a match is read properly."""
    if block.segment != "tools" or b'"defer_loading":true' not in block.wire_bytes:
        return False
    return json.loads(block.wire_bytes).get("defer_loading") is True


def _cites(block: Block) -> bool:
    """Whether citations are switched on in a document or search result, or in one inside a tool result."""
    return b'"citations":{"enabled":true}' in block.wire_bytes and not _CITABLE.isdisjoint(
        (block.type, *(part.type for part in block.parts))
    )


def _has_image(block: Any) -> bool:
    return block.type == "image" or any(part.type == "image" for part in block.parts)
