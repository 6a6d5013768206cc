"""The page each notebook leaves behind: the lesson's question, asked of the learner's own files.

Models: reading one request or one folder of logs, and a short Markdown page of counts, shares and digests.
Does not model: text. None is shown, none is written, and nothing leaves the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from ctxlab.breakers import Scan, scan_source, scan_text
from ctxlab.breakpoints import MarkerPlan, plan, validate
from ctxlab.cost import Call, Line, SessionBill, bill_session, exact_decimal
from ctxlab.errors import InvalidArgumentError, Problem, UnknownModelError, UnpricedModelError
from ctxlab.figures import Table, table, usd
from ctxlab.figures.svg import positive
from ctxlab.images import Preflight, preflight
from ctxlab.levers import (
    Outcome,
    PrefixLedger,
    apply_compaction,
    clear,
    compact_call,
    offload,
    trim,
    turn_starts,
)
from ctxlab.levers.policy import batches_usd, best_batch
from ctxlab.prompt import SEGMENTS, Block, Prompt
from ctxlab.recordings import LogSummary, Session, read_log
from ctxlab.usage import Usage

_LONGEST = 5


def window_map(source: Mapping[str, Any] | str | Path, *, write_to: str | Path | None = None) -> Table:
    """What one request is made of: characters per segment, its longest blocks, and what it holds twice.

    ``source`` is a request body or the path of a JSON file with one. ``write_to`` also writes the page as
    Markdown. Raises :class:`InvalidRequestError` for a body that cannot be read and
    :class:`InvalidArgumentError` for a file that cannot be read or written.

    >>> window_map({"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]})
    part     | blocks | characters | share
    ---------|--------|------------|------
    tools    |      0 |          0 |   0 %
    system   |      1 |          9 |  82 %
    messages |      1 |          2 |  18 %
    """
    if isinstance(source, Mapping):
        prompt, name = Prompt.from_request(source), "this request"
    else:
        path = _path_of(source)
        prompt, name = _prompt_from(path), path.name
    total = sum(block.chars for block in prompt.blocks) or 1
    rows = []
    for segment in SEGMENTS:
        blocks = [block for block in prompt.blocks if block.segment == segment]
        chars = sum(block.chars for block in blocks)
        rows.append((segment, len(blocks), chars, f"{100 * chars / total:.0f} %"))
    shown = table(rows, ("part", "blocks", "characters", "share"), caption=f"What {name} is made of")
    if write_to is not None:
        _write(_window_page(prompt, shown), write_to)
    return shown


def _prompt_from(path: Path) -> Prompt:
    return Prompt.from_json(_bytes_of(path), source=path.name)


_REQUEST = Problem(
    "source",
    "path-or-request",
    "is neither a request body nor a path",
    "give the dict you would send, or the path of a JSON file with it",
)
_LOG = Problem("source", "path-or-log", "is no path", "give the path of a log or of a folder of logs")
_SOURCE = Problem(
    "source", "path-or-source", "is neither source text nor a path", "give the path of a file or folder"
)
_PAGE = Problem("write_to", "writable-file", "is no path", "give a file name in a folder that exists")
_FOLDER = Problem("write_to", "writable-folder", "is no path", "give the path of a folder")


def _path_of(source: object, wanted: Problem = _REQUEST) -> Path:
    """The path somebody typed or pasted, from the home folder on where it begins with ``~``."""
    typed = str(source).strip().strip("\"'") if isinstance(source, (str, os.PathLike)) else ""
    if not typed or "\0" in typed:
        raise InvalidArgumentError(wanted)
    with contextlib.suppress(RuntimeError):  # nobody is called so: then it is a file's own name
        return Path(typed).expanduser()
    return Path(typed)


def _write(page: str, path: object) -> None:
    try:
        _path_of(path, _PAGE).write_text(page, encoding="utf-8")
    except OSError as error:
        raise _unwritten(path, _PAGE, error) from None


def _write_into(folder: object, pages: Mapping[str, str], *, once: Mapping[str, str]) -> None:
    """Write into a folder, made where there is none; what is to be written ``once`` is never overwritten."""
    try:
        into = _path_of(folder, _FOLDER)
        into.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (into / name).write_text(text, encoding="utf-8")
        for name, text in once.items():
            with contextlib.suppress(FileExistsError), (into / name).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise _unwritten(folder, _FOLDER, error) from None


def _unwritten(path: object, wanted: Problem, error: OSError) -> InvalidArgumentError:
    reason = error.strerror or "cannot be written"
    return InvalidArgumentError(replace(wanted, path=f"write_to {str(path)!r}", message=reason))


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidArgumentError(
            Problem(
                str(path), "readable-file", error.strerror or "cannot be read", "give the path of a JSON file"
            )
        ) from None


def _log_of(source: object) -> Session | LogSummary:
    """A session or log in hand, or what lies at a path."""
    if isinstance(source, (Session, LogSummary)):
        return source
    path = _path_of(source, _LOG)
    try:
        return read_log(path)
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise InvalidArgumentError(replace(_LOG, path=str(path), message=reason)) from None


def _window_page(prompt: Prompt, shown: Table) -> str:
    longest = sorted(prompt.blocks, key=lambda block: -block.chars)[:_LONGEST]
    copies = Counter(block.content_sha256 for block in prompt.blocks)
    twice = [block for block in prompt.blocks if copies[block.content_sha256] > 1]
    marked = [block.path for block in prompt.blocks if block.cache_control]
    lines = [
        "# Window map",
        "",
        f"{_counted(len(prompt), 'block')}, sent again on every turn. Counts and digests only; no text is in "
        "this file.",
        "",
        "```",
        shown.text,
        "```",
        "",
        "## Longest blocks",
        "",
        *(f"- {_line(block)}" for block in longest),
        "",
        "## Sent more than once in the same request",
        "",
        *([f"- {_line(block)}" for block in twice] or ["- nothing"]),
        "",
        "## Cache markers",
        "",
        *([f"- {path}" for path in marked] or ["- none"]),
        "",
        "## To ask at work",
        "",
        "- [ ] Which of these blocks does the next process need, and where is it stored?",
        "- [ ] Which of them changes on every turn, and what stands behind it?",
        "- [ ] What is in here that nobody would want to be told again in three days?",
        "",
    ]
    return "\n".join(lines)


def _line(block: Block) -> str:
    return f"`{block.path}` {block.type}, {block.chars:,} characters, sha256 {block.content_sha256[:12]}"


def bill_page(source: Session | LogSummary | str | Path, *, write_to: str | Path | None = None) -> Table:
    """What a folder of logs (or a recorded session) cost, by model and class of tokens.

    Each message is priced by the list of its day, where the log tells the day. Of a recorded session that
    under-reports its output only the input side is billed. ``write_to`` also writes the page as Markdown.
    Messages without a price are counted by model, never free. Raises :class:`RecordingError` when there is no
    usage to read, and :class:`InvalidArgumentError` where the page cannot be written.
    """
    log = _log_of(source)
    whole = not isinstance(log, Session) or log.outputs_are_whole
    calls = [
        Call(
            turn.model_id or "(no model named)",
            turn.usage if whole else replace(turn.usage, output_tokens=0),
            on=turn.recorded_at.date() if turn.recorded_at else None,
        )
        for turn in log.turns
        if turn.usage is not None
    ]
    billed = bill_session(calls)
    rows: list[tuple[object, ...]] = [
        (line.model_id, _class_of(line), line.tokens, usd(line.usd_per_mtok), _amount(line))
        for line in sorted(
            billed.bill.lines, key=lambda line: (line.model_id, line.iteration_type != "message")
        )
        if line.tokens
    ]
    if searches := billed.bill.web_search_requests:
        rows.append(
            (
                "all models",
                f"{searches} web search{'es' * (searches != 1)}",
                "",
                "",
                usd(billed.bill.web_search_usd),
            )
        )
    rows += [
        (
            missing.model,
            f"all classes of {_messages(missing.requests)}: {missing.reason}",
            missing.usage.billed_input_tokens + missing.usage.billed_output_tokens,
            "",
            "unknown",
        )
        for missing in billed.unpriced
    ]
    low, high = billed.bill.range_usd
    total = (usd(low) if low == high else f"{usd(low)} to {usd(high)}") + (
        "" if billed.complete else ", incomplete"
    )
    rows.append(("all models", _messages(len(calls)), "", "", total))
    caption = "What these logs cost, at list prices" + ("" if whole else ", input only")
    header = ("model", "class", "tokens", "per million", "dollars")
    shown = table(rows, header, caption=caption, labelled="recorded", source=_read_from(log))
    if write_to is not None:
        _write(_bill_markdown(log, billed, shown), write_to)
    return shown


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def _messages(number: int) -> str:
    return _counted(number, "message")


def _read_from(log: Session | LogSummary) -> str:
    """What was read, and what was passed over, in the log's own words."""
    return log.name if isinstance(log, Session) else repr(log).strip("<>").partition(": ")[2]


def _class_of(line: Line) -> str:
    """The class of tokens, and the step where it was no ordinary answer (a summary, an advisor)."""
    label = "fresh" if line.label == "input" else line.label
    return label if line.iteration_type == "message" else f"{label}, {line.iteration_type}"


def _amount(line: Line) -> str:
    low, high = exact_decimal(line.amount), exact_decimal(line.amount_high)
    return usd(low) if low == high else f"{usd(low)} to {usd(high)}"


def _bill_markdown(log: Session | LogSummary, billed: SessionBill, shown: Table) -> str:
    usages = [turn.usage for turn in log.turns if turn.usage is not None]
    total = sum(usage.total_input_tokens for usage in usages)
    read = sum(usage.cache_read_input_tokens for usage in usages)
    low, high = billed.bill.range_usd
    lines = [
        "# Bill of a log",
        "",
        f"Read: {_read_from(log)}. Figures only; no text is in this file.",
        "",
        "```",
        shown.text,
        "```",
        "",
        f"- Input in all: {total:,} tokens, {100 * read / (total or 1):.1f} % of them read from the cache.",
        f"- Largest request: {max((usage.context_tokens for usage in usages), default=0):,} tokens.",
    ]
    if billed.bill.estimate:
        lines.append(f"- Some writes have no known lifetime: between {usd(low)} and {usd(high)}.")
    lines += [f"- Flagged: {flag}." for flag in sorted(billed.bill.flags)]
    lines += [
        "",
        "## To ask at work",
        "",
        "- [ ] Are output tokens counted in full in these logs? Compare one day with the "
        "provider's usage page.",
        "- [ ] Which share of the bill is re-reading the same history?",
        "- [ ] What would twice the turns cost?",
        "",
    ]
    return "\n".join(lines)


def marker_plan(
    source: Mapping[str, Any] | str | Path,
    *,
    next_turns: int = 20,
    gap_s: float = 60.0,
    write_to: str | Path | None = None,
) -> Table:
    """Where the cache markers of a request belong, how long their entries should live, and why.

    ``source`` is a request body or the path of a JSON file with one; ``next_turns`` requests will follow it,
    ``gap_s`` seconds apart from start to start. ``write_to`` also writes the page as Markdown. The request is
    not changed. Raises :class:`InvalidRequestError` for a body that cannot be read, and what
    :func:`ctxlab.breakpoints.plan` raises.

    >>> body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Why?"}]}
    >>> marker_plan(body, next_turns=0)
    place                  | decision | why
    -----------------------|----------|-----------------------------------------------------------------
    messages[0].content[0] | refused  | nothing will read it again, so a write would be paid for nothing
    """
    body = source if isinstance(source, Mapping) else _body_from(_path_of(source))
    planned = plan(body, next_turns=next_turns, gap_s=gap_s)
    rows = [(reason.path, reason.decision, reason.says) for reason in planned.reasons]
    caption = f"Markers for a request that {next_turns} more will follow, {gap_s:g} seconds apart"
    shown = table(rows, ("place", "decision", "why"), caption=caption)
    if write_to is not None:
        _write(_plan_markdown(body, planned, caption), write_to)
    return shown


def _body_from(path: Path) -> Mapping[str, Any]:
    Prompt.from_json(raw := _bytes_of(path), source=path.name)  # says what is wrong, and where
    body: Mapping[str, Any] = json.loads(raw)
    return body


def _plan_markdown(body: Mapping[str, Any], planned: MarkerPlan, caption: str) -> str:
    faults = [f"- `{fault.path}`: {fault.message} [{fault.rule}]" for fault in validate(body)]
    lines = [
        "# Marker plan",
        "",
        f"{caption}. Places, counts and reasons only; no text is in this file.",
        "",
        *(f"- `{reason.path}`: {reason.decision}; {reason.says}" for reason in planned.reasons),
        "",
        "## What the API would refuse today",
        "",
        *(faults or ["- nothing"]),
        "",
        "## To ask at work",
        "",
        "- [ ] Which of these blocks changes on every turn, and does anything that grows stand behind it?",
        "- [ ] How long are our pauses, from start to start? Count those above five minutes.",
        "- [ ] Can one turn add 20 blocks or more? Then the end of the request before needs a marker too.",
        "- [ ] Do we log both cache counters, so that two zeros are seen?",
        "",
    ]
    return "\n".join(lines)


_GUARD = '''\
"""Fails when a request does not go on where the one before it ends.

Run it with pytest where ctxlab is installed: the fixture comes with it. Put your own agent in the place of
`ask`. What it asks is answered in this process, without a key.
"""

from ctxlab import Emulator

MODEL = "claude-opus-5-5"


def ask(client, history):
    return client.messages.create(model=MODEL, max_tokens=100, system="Be brief.", messages=history)


def test_the_prefix_stays_as_it_was_sent(stable_prefix):
    client = stable_prefix.wrap(Emulator().client())
    history = []
    for question in ("And first?", "And then?", "And last?"):
        history.append({"role": "user", "content": question})
        history.append({"role": "assistant", "content": ask(client, history).content})
'''

_HOOK = """\
# Goes into .pre-commit-config.yaml of your repository; ctxlab has to be installed where it runs.
repos:
  - repo: local
    hooks:
      - id: ctxlab-lint
        name: ctxlab lint
        entry: python -m ctxlab lint
        language: system
        types_or: [python, jupyter]
"""


def prefix_guard(source: str | Path, *, write_to: str | Path | None = None) -> Table:
    """What breaks a cached prefix in Python source, and two files that keep it from coming back.

    ``source`` is the path of a file, a notebook or a folder, or source text of more than one line. Nothing of
    it is run. ``write_to`` is a folder, made where there is none: ``test_prefix_stable.py`` and
    ``pre-commit-ctxlab.yaml`` are written there, each only if it does not exist. What could not be read is
    listed with the reason.

    >>> prefix_guard("def ask(client):\\n    return client.messages.create(model='m', messages=[])\\n")
    place | code | certainty | what
    ------|------|-----------|-----
    """
    if isinstance(source, str) and "\n" in source:
        scanned = Scan(scan_text(source, "text"), ("text",), ())
    else:
        scanned = scan_source(_path_of(source, _SOURCE))
    rows = [(one.place, one.code, str(one.certainty), one.message) for one in scanned.findings]
    rows += [(one.path, "not read", "", one.message) for one in scanned.skipped]
    if not scanned.read and not scanned.skipped:
        rows.append((str(source), "not read", "", "holds no Python source and no notebook"))
    if write_to is not None:
        _write_into(write_to, {}, once={"test_prefix_stable.py": _GUARD, "pre-commit-ctxlab.yaml": _HOOK})
    return table(
        rows, ("place", "code", "certainty", "what"), caption="What breaks the prefix in this source"
    )


def image_check(
    source: Mapping[str, Any] | str | Path,
    *,
    model: str | None = None,
    platform: str = "api",
    write_to: str | Path | None = None,
) -> Table:
    """Every picture of a request: its size, what the model sees, its tokens, and what the API would refuse.

    ``source`` is a request body or the path of a JSON file with one; ``model`` stands in for the one it
    names. No picture is decoded. ``write_to`` also writes the page as Markdown. Raises
    :class:`InvalidRequestError` for a body that cannot be read, and what
    :func:`ctxlab.images.preflight` raises for a model or platform nobody knows.

    >>> image_check({"messages": [{"role": "user", "content": "Hi"}]}, model="claude-opus-5-5")
    place | sent | seen | tokens | problem
    ------|------|------|--------|--------
    """
    body = source if isinstance(source, Mapping) else _body_from(_path_of(source))
    checked = preflight(body, model, platform)
    told: dict[str, list[str]] = {}
    for problem in checked.problems:
        told.setdefault(problem.path, []).append(problem.message)
    rows: list[tuple[object, ...]] = []
    for image in checked.images:
        said = [words for path in sorted(told) if path.startswith(image.path) for words in told.pop(path)]
        tokens = (
            image.low_tokens
            if image.low_tokens == image.high_tokens
            else f"{image.low_tokens:,} to {image.high_tokens:,}"
        )
        rows.append((image.path, _size(image.size), _size(image.seen), tokens, "; ".join(said)))
    rows += [(path, "", "", "", "; ".join(words)) for path, words in told.items()]
    shown = table(rows, ("place", "sent", "seen", "tokens", "problem"), caption="Pictures of this request")
    if write_to is not None:
        _write(_image_markdown(checked, shown), write_to)
    return shown


def _size(size: tuple[int, int] | None) -> str:
    return "" if size is None else f"{size[0]:,} × {size[1]:,}"


def _image_markdown(checked: Preflight, shown: Table) -> str:
    low, high = checked.tokens
    between = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    refused = [f"- `{one.path}`: {one.message} [{one.rule}]" for one in checked.blocking]
    lines = [
        "# Pictures of a request",
        "",
        "Places, sizes and counts only; no picture is in this file.",
        "",
        "```",
        shown.text,
        "```",
        "",
        f"- Tokens of all pictures: {between}, sent again on every turn.",
        "",
        "## What the API would refuse",
        "",
        *(refused or ["- nothing"]),
        "",
        "## To ask at work",
        "",
        "- [ ] Which of these pictures could be smaller before they are sent?",
        "- [ ] How soon does one request hold more than 20 of them, and is any side above 2,000 pixels?",
        "- [ ] Do we drop old pictures one by one? Drop them in batches, or not at all.",
        "",
    ]
    return "\n".join(lines)


_SUMMARY_TOKENS, _LONG_TOKENS = 1_500, 100
_LOGS = (".jsonl", ".jsonl.gz")


def break_even_sheet(
    source: Mapping[str, Any] | Session | LogSummary | str | Path,
    *,
    turns: int = 20,
    model: str | None = None,
    write_to: str | Path | None = None,
) -> Table:
    """What each lever would save on a request over the next ``turns``, net, and from which turn on it pays.

    ``source`` is a request body that was just answered, or the path of a JSON file with one; ``model`` stands
    in for the one it names. A session, or the path of a log or a folder of logs, gets a sheet of caps on its
    longest run instead. ``write_to`` also writes the page as Markdown. The request is not changed.

    Raises :class:`InvalidRequestError` for a body that cannot be read or breaks a rule already,
    :class:`RecordingError` where a log holds no usage.

    >>> body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "Hi"}]}
    >>> break_even_sheet(body).text.splitlines()[0].split(" | ")[-1]
    'pays from'
    """
    positive("turns", turns)
    if isinstance(source, (Session, LogSummary)) or _is_log(source):
        return _caps_sheet(source, write_to)  # type: ignore[arg-type]
    body = source if isinstance(source, Mapping) else _body_from(_path_of(source))
    ledger = PrefixLedger.of(body, model=model)
    rows = [_lever_row(name, pull, turns) for name, pull in _levers(ledger).items()]
    shown = table(
        rows,
        ("lever", "tokens removed", "written again", "lost", f"net over {turns} turns", "pays from"),
        caption=f"Levers on a request of {ledger.total_tokens:,} tokens, {ledger.warm_tokens:,} of them warm",
        labelled="emulated",
        source=ledger.model.id,
    )
    if write_to is not None:
        _write(_sheet_markdown(ledger, shown), write_to)
    return shown


def _is_log(source: object) -> bool:
    if isinstance(source, Mapping):
        return False
    path = _path_of(source)
    if path.name.endswith(_LOGS):
        return True
    try:
        return path.is_dir()
    except OSError:  # a name too long to be one
        return False


def _levers(ledger: PrefixLedger) -> dict[str, Callable[[], Outcome]]:
    """The levers of a sheet, each on the request as it stands."""
    request = ledger.request
    half = max(len(turn_starts(request)) // 2, 1)
    return {
        f"trim to the newest {_counted(half, 'turn')}": lambda: trim(request, keep_turns=half, ledger=ledger),
        "clear all results but 3": lambda: clear(request, keep=3, ledger=ledger),
        "offload long results now": lambda: offload(
            request, which="all", at_least_tokens=_LONG_TOKENS, ledger=ledger
        ),
        f"compact to {_SUMMARY_TOKENS:,} tokens (assumed)": lambda: _compacted(ledger),
    }


def _compacted(ledger: PrefixLedger) -> Outcome:
    """A compaction with a summary of an assumed length; what it would leave out nobody knows."""
    call = compact_call(ledger.request, ledger=ledger)
    usage = ledger.after(call).plan.usage()
    message = {
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "word " * _SUMMARY_TOKENS}],
        "usage": {
            "input_tokens": usage.input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.cache_creation.ephemeral_5m_input_tokens,
                "ephemeral_1h_input_tokens": usage.cache_creation.ephemeral_1h_input_tokens,
            },
            "output_tokens": _SUMMARY_TOKENS,
        },
    }
    return apply_compaction(ledger.request, message, facts=(), ledger=ledger)


def _lever_row(name: str, pull: Callable[[], Outcome], turns: int) -> tuple[object, ...]:
    try:
        effect = pull().effect
    except InvalidArgumentError as error:
        problem = error.problems[0]
        return name, "", "", "", "", f"{problem.path} {problem.message}"
    if effect.refused is not None:
        return name, "", "", "", "", effect.refused.message
    if effect.removed_tokens <= 0:
        return name, effect.removed_tokens, "", "", "", "nothing to take out"
    try:
        saved, pays = effect.net_saving_usd(turns), effect.break_even_turn()
    except UnpricedModelError:
        return name, effect.removed_tokens, effect.rewritten_tokens, len(effect.gone), "unpriced", "unknown"
    when = "never" if pays is None else f"request {pays:,}"
    lost = "unknown" if effect.calls else len(effect.gone)
    money = usd(saved) if saved >= 0 else f"−{usd(-saved)}"
    return name, effect.removed_tokens, effect.rewritten_tokens, lost, money, when


_AT_WORK = [
    "## To ask at work",
    "",
    "- [ ] Which of our levers fires on every turn? Let it fire seldom, and deeper.",
    "- [ ] Which results could go to the store when they arrive, before they are ever sent?",
    "- [ ] Which facts have to survive to the letter, and which test looks for them?",
    "- [ ] How many turns still follow when a lever fires? Compare with the column *pays from*.",
    "",
]


def _sheet_markdown(ledger: PrefixLedger, shown: Table) -> str:
    marked = sum(block.cache_control is not None for block in ledger.prompt.blocks)
    lines = [
        "# Break-even sheet",
        "",
        "Counts and dollars only; no text is in this file. The request counts as just answered, its entries "
        "as alive. What is offloaded counts as never read again.",
        "",
        "```",
        shown.text,
        "```",
        "",
        f"- Tools and system prompt: {ledger.fixed_tokens:,} tokens, which no lever takes away.",
        f"- Warm: {ledger.warm_tokens:,} of {ledger.total_tokens:,} tokens.",
        f"- Blocks with a marker of their own: {marked}.",
        "- A lost thing is a message or a payload. What a summary leaves out nobody knows beforehand.",
        "",
        *_AT_WORK,
    ]
    return "\n".join(lines)


def _caps_sheet(source: Session | LogSummary | str | Path, write_to: str | Path | None) -> Table:
    log = _log_of(source)
    model, usages = _longest_run(log)
    sizes = [usage.context_tokens for usage in usages]
    fixed, cap = min(sizes), max((max(sizes) - min(sizes)) // 2, 1)
    grown = [later - one for one, later in pairwise(sizes) if later > one]
    added = min(max(sum(grown) // max(len(grown), 1), 1), cap)
    rows = []
    try:
        best, _ = best_batch(model, cap_tokens=cap, fixed_tokens=fixed, added_tokens=added, turns=len(sizes))
        for name, limit, batch in (
            ("no cap", max(added * len(sizes), cap), 1),
            ("cap, cut on every turn", cap, added),
            ("cap, cut by a half", cap, max(cap // 2, 1)),
            (f"cap, cut by {best:,}: the cheapest", cap, best),
        ):
            cached, uncached = (
                batches_usd(
                    model,
                    cap_tokens=limit,
                    batch_tokens=batch,
                    fixed_tokens=fixed,
                    added_tokens=added,
                    turns=len(sizes),
                    cached=how,
                )
                for how in (True, False)
            )
            rows.append((name, usd(cached), usd(uncached)))
    except (UnpricedModelError, UnknownModelError):
        rows.append(("unpriced", "unknown", "unknown"))
    shown = table(
        rows,
        ("history", "input with a cache", "input without"),
        caption=f"{_counted(len(sizes), 'request')}, growing by {_counted(added, 'token')} a turn, "
        f"capped at {cap:,} of history",
        labelled="emulated",
        source=model,
    )
    if write_to is not None:
        _write(_caps_markdown(log, fixed, shown), write_to)
    return shown


def _longest_run(log: Session | LogSummary) -> tuple[str, Sequence[Usage]]:
    """The model and the usages of the file with the most messages of one model."""
    runs: dict[tuple[str, str], list[Usage]] = {}
    for turn in log.turns:
        place = turn.where.rpartition(":")[0] if isinstance(log, LogSummary) else log.name  # type: ignore[union-attr]
        runs.setdefault((place, turn.model_id or "(no model named)"), []).append(turn.usage)
    (_, model), usages = max(runs.items(), key=lambda item: len(item[1]))
    return model, usages


def _caps_markdown(log: Session | LogSummary, fixed_tokens: int, shown: Table) -> str:
    lines = [
        "# Break-even sheet of a log",
        "",
        f"Read: {_read_from(log)}. Counts and dollars only; no text is in this file.",
        "",
        "```",
        shown.text,
        "```",
        "",
        f"- Assumed stable: {fixed_tokens:,} tokens, the smallest request of the run. Growth is the mean.",
        "- Assumed too: nothing that was dropped is read again, and every entry lives until the next turn.",
        "",
        *_AT_WORK,
    ]
    return "\n".join(lines)


_TRUE_BILL = '''\
"""What a response of the Messages API cost, every step of it. Standard library only: copy it as it is.

The top level of `usage` leaves out the steps in which the server writes summaries (compaction, 2026). They
are in `usage.iterations`, and they are billed. Nothing is guessed: a step of another model needs its rates.
"""

CLASSES = {
    "fresh": "input_tokens",
    "read": "cache_read_input_tokens",
    "written": "cache_creation_input_tokens",
    "output": "output_tokens",
}


def steps(usage):
    """The entries that are billed: the iterations if there are any, else the top level as the only one."""
    return usage.get("iterations") or [usage]


def true_bill(usage, rates, others=None):
    """Tokens of input, tokens of output, dollars.

    `usage` is a dictionary (`response.usage.to_dict()`), `rates` are dollars per million tokens: "fresh",
    "read", "written" (five minutes), "written_1h" and "output". `others` holds rates by model for steps that
    name a model of their own, such as an advisor; without them such a step is a KeyError.

    >>> rates = {"fresh": 4, "read": 0.2, "written": 5, "written_1h": 8, "output": 20}
    >>> passed = {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500}
    >>> replied = {"type": "message", "input_tokens": 23_000, "output_tokens": 1_000}
    >>> true_bill({**replied, "iterations": [passed, replied]}, rates)
    (203000, 4500, 0.902)
    """
    read_in = put_out = 0
    micro_usd = 0
    for step in steps(usage):
        of = {name: step.get(field) or 0 for name, field in CLASSES.items()}
        long = (step.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
        short = (step.get("cache_creation") or {}).get("ephemeral_5m_input_tokens") or 0
        of["written"] = max(of["written"], long + short)
        read_in += of["fresh"] + of["read"] + of["written"]
        put_out += of["output"]
        own = (others or {})[step["model"]] if step.get("model") else rates
        if long:
            micro_usd += long * (own["written_1h"] - own["written"])
        micro_usd += sum(tokens * own[name] for name, tokens in of.items())
    return read_in, put_out, micro_usd / 1_000_000
'''
_MOST_PLACES = 20


def true_bill_page(
    source: Mapping[str, Any] | Usage | Session | LogSummary | str | Path,
    *,
    model: str | None = None,
    write_to: str | Path | None = None,
) -> Table:
    """What a response, a log or a folder of logs cost, every step of it, beside what the top level shows.

    ``source`` is a response as a dictionary (or its ``usage`` alone), or the path of saved responses or logs;
    ``model`` stands in where none is named. Of a recorded session that under-reports its output only the
    input is billed. ``write_to`` is a folder, made where there is none: ``true-bill.md`` is written there,
    and ``true_bill.py``, a function without dependencies, if it does not exist. Models without a price are
    named, never counted as free. Raises :class:`InvalidUsageError` and :class:`RecordingError` where there is
    no usage to read.

    >>> true_bill_page({"model": "claude-opus-5-5", "usage": {"input_tokens": 0, "output_tokens": 0,
    ...     "iterations": [{"type": "compaction", "input_tokens": 90_000, "output_tokens": 500}]}})
    what is counted     |  input | output | dollars
    --------------------|--------|--------|--------
    the top level       |      0 |      0 |   $0.00
    every step          | 90,000 |    500 |   $0.37
    left out at the top | 90,000 |    500 |   $0.37
    """
    answers, whole = _answers(source, model)
    steps = bill_session(Call(name, usage) for _, name, usage in answers)
    tops = bill_session(Call(name, replace(usage, iterations=())) for _, name, usage in answers)
    read_in = sum(usage.billed_input_tokens for _, _, usage in answers)
    put_out = sum(usage.billed_output_tokens for _, _, usage in answers)
    shown_in = sum(usage.total_input_tokens for _, _, usage in answers)
    shown_out = sum(usage.output_tokens for _, _, usage in answers)
    partly = "" if steps.complete else ", incomplete"
    of_tops, of_steps = tops.bill.range_usd, steps.bill.range_usd
    left_out = (of_steps[0] - of_tops[0], of_steps[1] - of_tops[1])
    rows: list[tuple[object, ...]] = [
        ("the top level", shown_in, shown_out, _between(of_tops) + partly),
        ("every step", read_in, put_out, _between(of_steps) + partly),
        ("left out at the top", read_in - shown_in, put_out - shown_out, _between(left_out) + partly),
    ]
    rows += [
        (
            f"{one.model}: {one.reason}",
            one.usage.billed_input_tokens,
            one.usage.billed_output_tokens,
            "unknown",
        )
        for one in steps.unpriced
    ]
    caption = "What was billed, and what the top level shows" + ("" if whole else ", input only")
    shown = table(rows, ("what is counted", "input", "output", "dollars"), caption=caption)
    if write_to is not None:
        page = _true_bill_markdown(answers, shown)
        _write_into(write_to, {"true-bill.md": page}, once={"true_bill.py": _TRUE_BILL})
    return shown


def _between(ends: tuple[Decimal, Decimal]) -> str:
    """Dollars, or both ends where the lifetime of some writes is not known."""
    low, high = ends
    return usd(low) if low == high else f"{usd(low)} to {usd(high)}"


_Answer = tuple[str, str, Usage]


def _answers(source: object, model: str | None) -> tuple[list[_Answer], bool]:
    """Place, model and usage of every message; and whether its output is told in full."""
    unnamed = model or "(no model named)"
    if isinstance(source, Session):
        whole = source.outputs_are_whole
        turns = [(f"turn {turn.index}", turn.model_id or unnamed, turn.usage) for turn in source.turns]
        if not whole:
            turns = [(where, name, replace(usage, output_tokens=0)) for where, name, usage in turns]
        return turns, whole
    if isinstance(source, (str, os.PathLike)):
        source = _log_of(source)
    if isinstance(source, LogSummary):
        return [(turn.where, turn.model_id or unnamed, turn.usage) for turn in source.turns], True
    named = source.get("model") if isinstance(source, Mapping) else getattr(source, "model", None)
    return [("the response", str(named or unnamed), Usage.from_response(source))], True


def _true_bill_markdown(answers: Sequence[_Answer], shown: Table) -> str:
    hidden = [
        f"- `{where}`: top level {usage.total_input_tokens:,} in and {usage.output_tokens:,} out, billed "
        f"{usage.billed_input_tokens:,} and {usage.billed_output_tokens:,} "
        f"({', '.join(step.type for step in usage.billed)})"
        for where, _, usage in answers
        if (usage.billed_input_tokens, usage.billed_output_tokens)
        != (usage.total_input_tokens, usage.output_tokens)
    ]
    if len(hidden) > _MOST_PLACES:
        hidden = [*hidden[:_MOST_PLACES], f"- and {len(hidden) - _MOST_PLACES:,} more"]
    lines = [
        "# True bill",
        "",
        f"{_messages(len(answers))}. Figures only; no text is in this file.",
        "",
        "```",
        shown.text,
        "```",
        "",
        "## Where the top level leaves steps out",
        "",
        *(hidden or ["- nowhere"]),
        "",
        "## To ask at work",
        "",
        "- [ ] Do our dashboards and budgets read `usage.iterations`, or only the top level?",
        "- [ ] Which of our requests pause, compact on demand, or ask an advisor?",
        "- [ ] Is the window measured by the last `message` step, and never by a summary's?",
        "",
    ]
    return "\n".join(lines)
