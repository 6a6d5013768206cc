"""Cases as files: a request in the API's own shape, and per step what changes, waits and comes of it.

Models: four short forms inside a request. ``paragraphs = 8`` stands for a text of that many paragraphs
(``about`` tells several apart), ``mark = "5m"`` for a marker, ``repeat = 20`` for as many copies of a block
(``{n}`` is the number of the copy), ``picture = [64, 48]`` for a PNG of that size. Every text of paragraphs
names the case and the run, so that no run reads what another one wrote.
Does not model: whether the API takes the request; a case may be about a refusal.
Source: own construction; CONTRIBUTING says how to add one.
"""

from __future__ import annotations

import base64
import struct
import tomllib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from ctxlab.errors import CtxlabError, Problem
from ctxlab.places import data_path
from ctxlab.scenarios.claims import Claim

Endpoint = Literal["messages", "count_tokens"]
Body = dict[str, Any]

_FILE_FIELDS = {"model", "scenario"}
_CASE_FIELDS = {"name", "says", "rules", "changes", "not_live", "not_emulated", "request", "step"}
_STEP_FIELDS = {
    *("wait_s", "takes_s", "together", "workspace", "endpoint", "betas"),
    *("change", "drop", "unmark", "append", "expect", "refused"),
}
_MAX_TOKENS = 16
_PARAGRAPH = (
    "Note {n} on {about}. A small harbour keeps two books. One lists what came in with the tide, crate by "
    "crate, with the hour and the hand that signed for it; the other lists what left, and why. In the "
    "evening a clerk puts both side by side and looks for the first line on which they part, because every "
    "line behind it has to be copied again, and the lines before it do not."
)


class ScenarioError(CtxlabError, ValueError):
    """A file of cases is not written as it should be (path is ``file: case``)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a case.

    ``wait_s`` is the time from the start of the step before to the start of this one, ``takes_s`` how long
    the answer takes. A step that is ``together`` with the one before is sent before that one is answered.
    A step that is ``refused`` is answered with 400 and a message that has these words in it.
    """

    number: int
    request: Mapping[str, Any]
    endpoint: Endpoint
    betas: tuple[str, ...]
    workspace: str
    wait_s: float
    takes_s: float
    together: bool
    expect: tuple[Claim, ...]
    refused: str | None


@dataclass(frozen=True, slots=True, repr=False)
class Scenario:
    """One case. ``rules`` are ids of rules it touches, ``changes`` rows of the table of what a change loses.

    ``not_live`` says why it cannot be sent to the API, ``not_emulated`` why the emulator does not take it;
    both are empty for most.
    """

    name: str
    file: str
    says: str
    rules: tuple[str, ...]
    changes: tuple[str, ...]
    not_live: str
    not_emulated: str
    steps: tuple[Step, ...]

    @property
    def waits_s(self) -> float:
        return sum(step.wait_s for step in self.steps)

    def groups(self) -> Iterator[tuple[Step, ...]]:
        """The steps in order, those that are sent together in one group."""
        group: list[Step] = []
        for step in self.steps:
            if group and not step.together:
                yield tuple(group)
                group = []
            group.append(step)
        if group:
            yield tuple(group)

    def __repr__(self) -> str:
        return f"<Scenario {self.name}: {len(self.steps)} steps>"


def scenarios(run: str = "emulated") -> tuple[Scenario, ...]:
    """The cases of ``data/scenarios``. ``run`` goes into their texts; a live run has a name of its own.

    >>> next(one for one in scenarios() if one.name == "written-then-read").steps[1].expect[0].text
    'read = written of 1'
    """
    files = sorted(data_path("scenarios").glob("*.toml"))
    return tuple(one for path in files for one in _parsed(path, run))


@cache
def _parsed(path: Path, run: str) -> tuple[Scenario, ...]:
    return read_scenarios(path, run)


def read_scenarios(path: Path, run: str = "emulated") -> tuple[Scenario, ...]:
    """The cases of one file. Raises :class:`ScenarioError` with everything that is wrong."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(Problem(path.name, "toml", f"cannot be read: {error}")) from None
    problems = _unknown(path.name, table, _FILE_FIELDS)
    found: list[Scenario] = []
    for row in table.get("scenario", ()):
        place = f"{path.name}: {row.get('name', 'a case without a name')}"
        wrong = _faults(place, row)
        problems += wrong
        if not wrong:
            found.append(_scenario(row, path.name, table.get("model"), run))
    names = [one.name for one in found]
    problems += [
        Problem(f"{path.name}: {name}", "unique", "is the name of two cases")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if problems:
        raise ScenarioError(problems)
    return tuple(found)


def _unknown(place: str, row: Mapping[str, Any], known: set[str]) -> list[Problem]:
    return [
        Problem(f"{place}.{name}", "known-field", "is not a field", f"use {', '.join(sorted(known))}")
        for name in row.keys() - known
    ]


def _faults(place: str, row: Mapping[str, Any]) -> list[Problem]:
    problems = _unknown(place, row, _CASE_FIELDS)
    for name in ("name", "says", "request", "step"):
        if not row.get(name):
            problems.append(Problem(f"{place}.{name}", "required", "is missing or empty"))
    if not (row.get("rules") or row.get("changes")):
        problems.append(Problem(f"{place}.rules", "required", "names no rule", "name rules, or changes"))
    for number, step in enumerate(row.get("step", ()), 1):
        at = f"{place}, step {number}"
        problems += _unknown(at, step, _STEP_FIELDS)
        if step.get("endpoint", "messages") not in get_args(Endpoint):
            problems.append(Problem(f"{at}.endpoint", "endpoint", "is neither messages nor count_tokens"))
        if ("refused" in step) == ("expect" in step):
            problems.append(Problem(at, "outcome", "needs either expect or refused"))
        if number == 1 and step.get("together"):
            problems.append(Problem(f"{at}.together", "step-before", "has no step before it"))
        if step.get("together") and (step.get("takes_s") or step.get("wait_s")):
            problems.append(Problem(f"{at}.together", "at-once", "goes with neither takes_s nor wait_s"))
        for text in step.get("expect", ()):
            try:
                later = [of for of in Claim.parse(text).steps if not 1 <= of <= len(row["step"])]
            except ValueError as error:
                problems.append(Problem(f"{at}.expect", "claim", str(error)))
            else:
                problems += [
                    Problem(f"{at}.expect", "claim", f"names step {of}, which is not there") for of in later
                ]
    return problems


def _scenario(row: Mapping[str, Any], file: str, model: str | None, run: str) -> Scenario:
    request: Body = {"model": model, "max_tokens": _MAX_TOKENS, **row["request"]}
    full = _Text(f"{row['name']}, run {run}")
    steps = []
    for number, step in enumerate(row["step"], 1):
        request = _changed(request, step)
        endpoint = step.get("endpoint", "messages")
        sent = {
            name: value for name, value in request.items() if endpoint == "messages" or name != "max_tokens"
        }
        steps.append(
            Step(
                number=number,
                request=full.expand(sent),
                endpoint=endpoint,
                betas=tuple(step.get("betas", ())),
                workspace=step.get("workspace", "default"),
                wait_s=float(step.get("wait_s", 0)),
                takes_s=float(step.get("takes_s", 0)),
                together=step.get("together", False),
                expect=tuple(Claim.parse(text) for text in step.get("expect", ())),
                refused=step.get("refused"),
            )
        )
    return Scenario(
        name=row["name"],
        file=file,
        says=row["says"],
        rules=tuple(row.get("rules", ())),
        changes=tuple(row.get("changes", ())),
        not_live=row.get("not_live", ""),
        not_emulated=row.get("not_emulated", ""),
        steps=tuple(steps),
    )


def _changed(request: Body, step: Mapping[str, Any]) -> Body:
    """The request of the step before, as this step sends it."""
    messages = request.get("messages", [])
    if step.get("unmark"):
        messages = _unmarked(messages)
    changed = {**request, "messages": messages, **step.get("change", {})}
    changed["messages"] = [*changed["messages"], *step.get("append", ())]
    return {name: value for name, value in changed.items() if name not in step.get("drop", ())}


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _unmarked(item) for name, item in value.items() if name != "mark"}
    return value


@dataclass(frozen=True, slots=True)
class _Text:
    """Puts the short forms of one case into the API's shape."""

    about: str

    def expand(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.expand(copy) for item in value for copy in _copies(item)]
        if not isinstance(value, Mapping):
            return value
        block = dict(value)
        if "paragraphs" in block:
            number, about = block.pop("paragraphs"), block.pop("about", None)
            block[_text_field(block)] = paragraphs(
                number, self.about if about is None else f"{about}, {self.about}"
            )
        if "picture" in block:
            block["source"] = _picture(*block.pop("picture"))
        if "mark" in block:
            block["cache_control"] = {"type": "ephemeral", "ttl": block.pop("mark")}
        return {name: self.expand(item) for name, item in block.items()}


def _copies(item: Any) -> Iterator[Any]:
    if not isinstance(item, Mapping) or "repeat" not in item:
        yield item
        return
    once = {name: value for name, value in item.items() if name != "repeat"}
    for n in range(1, item["repeat"] + 1):
        yield _numbered(once, n)


def _numbered(value: Any, n: int) -> Any:
    if isinstance(value, str):
        return value.replace("{n}", str(n))
    if isinstance(value, Mapping):
        return {name: _numbered(item, n) for name, item in value.items()}
    return [_numbered(item, n) for item in value] if isinstance(value, list) else value


def _text_field(block: Mapping[str, Any]) -> str:
    """Where a block keeps its words."""
    if "media_type" in block:
        return "data"
    if block.get("type") == "tool_result":
        return "content"
    return "text" if block.get("type") == "text" else "description"


def paragraphs(number: int, about: str) -> str:
    """A text of so many paragraphs that is like no other text.

    >>> paragraphs(2, "tides").count("Note 2 on tides.")
    1
    """
    return "\n\n".join(_PARAGRAPH.format(n=n, about=about) for n in range(1, number + 1))


def _picture(width: int, height: int) -> Body:
    """A grey PNG."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows: Sequence[bytes] = [b"\0" + b"\x80" * width] * height
    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(b"".join(rows), 9))
        + chunk(b"IEND", b"")
    )
    return {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png).decode("ascii")}
