"""Spans of a text that look as if another request would hold others: clocks, fresh ids, traces of one run.

Models: times, dates, epochs, uuids, long hexadecimal ids, ids with a prefix, object addresses, temporary
paths, process and container ids; how often each changes; what the words around speak for and against.
Does not model: whether a span really changes. One text cannot show that; two can, see
:mod:`ctxlab.breakers.changes`. What the words around call an example, a duration, a schedule, a version or a
commit is passed over.
Source: public reports of broken prefixes, 2025-05 to 2026-09; which words count is our own choice.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

_CLOCK_FIX = "coarsen it to the day, or move it after the last breakpoint"
_MOVE_FIX = "move it after the last breakpoint, or leave it out"
_MOST_SPANS = 4  # a text with more values of one kind is a log or a table, which somebody wrote once
_BEFORE_CHARS, _AFTER_CHARS = 60, 24


class Span(NamedTuple):
    """A span of a text. ``shown`` is its telling part (the time of a date and time), ``changes`` how often
    another value is to be expected, ``likely`` whether the words around speak for a value of this run."""

    rule: str
    changes: str
    start: int
    end: int
    shown: str
    likely: bool

    @property
    def fix(self) -> str:
        """What to do about it."""
        return fix_of(self.rule)


def fix_of(rule: str) -> str:
    """What to do about a volatile value of this kind."""
    return _CLOCK_FIX if rule == "clock" else _MOVE_FIX


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_DATE = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4}"
    rf"|(?:{_WEEKDAY},?\s+)?{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}"
    rf"|(?:{_WEEKDAY},?\s+)?\d{{1,2}}\.?\s+{_MONTH}\.?,?\s+\d{{4}}"
)
_NOON = r"\s?(?:[AaPp][Mm]\b|[AaPp]\.[Mm]\.)"
_ZONE = rf"(?:{_NOON})?(?:\s?(?:Z|UTC|GMT|[A-Z]{{2,4}}T)\b(?:[+-]\d\d?)?|\s?[+-]\d\d:?\d\d\b)?"
_SECONDS = rf"(?:[01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?{_ZONE}"
_MINUTES = rf"(?:[01]?\d|2[0-3]):[0-5]\d{_ZONE}"
_CTIME = rf"{_WEEKDAY}\s+{_MONTH}\s+\d{{1,2}}\s+{_SECONDS}\s+\d{{4}}"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_PATH_CHAR = r"[^\s\"'`<>|;,)\]}]"
_PATH = (
    rf"(?:/private)?/(?:tmp|var/folders|var/tmp|dev/shm|run/user)/{_PATH_CHAR}+"
    rf"|/proc/\d+{_PATH_CHAR}*"
    rf"|[A-Za-z]:\\{_PATH_CHAR}*\\(?:Temp|TEMP|temp)\\{_PATH_CHAR}+"
)
_PID = r"\b(?:pid|PID|[Pp]rocess[ _][Ii][Dd])\b['\"]?\s*(?:is|[:=#])?\s*\d{2,8}\b"
_LABELLED = (
    r"\b(?:nonce|(?:request|session|trace|run|correlation|invocation|call)[ _-]?id)\b['\"]?\s*(?:is|[:=])"
    rf"\s*['\"]?(?!{_UUID}|[0-9a-f]{{12,}}\b)(?P<value>(?=[\w.-]*\d)[\w-]+(?:\.\d+)?)"
)
_ULID = r"\b0[1-9][0-9A-HJKMNP-TV-Z]{24}\b"
_TAGS = "req|request|run|sess|session|trace|span|conv|thread|job|task|exec|nonce|corr"

#: What is looked for, in this order; a character belongs to the first kind that takes it.
SPAN = re.compile(
    "|".join(
        (
            rf"(?P<uuid>(?<![\w-]){_UUID}(?![\w-]))",
            rf"(?P<path>(?<![\w.]){_PATH})",
            rf"(?P<pid>{_PID})",
            rf"(?P<labelled>(?i:{_LABELLED}))",
            rf"(?P<ulid>{_ULID})",
            rf"(?P<moment>\b{_CTIME}|(?<![\w.:])(?:{_DATE})(?:T|,?\s+(?:at\s+|-\s+|\|\s+)?)"
            rf"(?:{_SECONDS}|{_MINUTES})(?![\w:]))",
            rf"(?P<seconds>(?<![\w.:/+-]){_SECONDS}(?![\w:]))",
            rf"(?P<minutes>(?<![\w.:/+-]){_MINUTES}(?![\w:]))",
            rf"(?P<date>(?<![\w./:-])(?:{_DATE})(?![\w/:-]|\.\d))",
            r"(?P<address>\b0x[0-9a-fA-F]{6,16}\b)",
            r"(?P<epoch>(?<![\w.,+#/:-])1[4-9]\d{8}(?:\d{3}|\d{6}|\d{9}|\.\d+)?(?![\w-]|[.,]\d))",
            rf"(?P<tagged>\b(?:{_TAGS})[_-](?=[A-Za-z]*\d)[A-Za-z0-9]{{8,}}\b)",
            r"(?P<hex>(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}(?![\w-]))",
            r"(?P<host>\bip(?:-\d{1,3}){4}\b|\b[a-z][a-z0-9-]*-[a-f0-9]{8,10}-[a-z0-9]{5}\b)",
        )
    )
)
#: A line that can hold one of them.
_LINE = re.compile(r"^[^\n]*?(?:\d|[Tt][Ee]?[Mm][Pp])[^\n]*", re.MULTILINE)
TIME = re.compile(_SECONDS)


def _shortly_before(words: str, chars: int = 24, stop: str = ".\n") -> re.Pattern[str]:
    """One of the words, and at most ``chars`` characters from there to the span."""
    return re.compile(rf"(?<![a-z])(?:{words})(?![a-z])[^{stop}]{{0,{chars}}}$", re.IGNORECASE)


_NOW = _shortly_before(
    r"now|current|currently|today|today's|it is|time is|as of|timestamp|date\s*time|time|date|clock|epoch|ts|"
    r"generated|rendered|compiled|started|requested|jetzt|heute|uhrzeit|fecha|hora|heure"
)
_TODAY = re.compile(
    r"(?<![a-z])(?:now|today|today's|current|currently|it is|as of|heute)(?![a-z])[^.\n]{0,24}$"
    r"|^\W*date\W{1,4}$",
    re.IGNORECASE,
)
_FRESH = _shortly_before(
    r"request|req|session|sess|run|trace|span|correlation|conversation|thread|invocation|execution|instance|"
    r"job|task|nonce|token|salt|seed|uuid|guid|random|id|ids",
    chars=20,
)
_HOST = _shortly_before(r"host|hostname|container|docker|pod|node|machine|server|worker", chars=20)
_EXAMPLE = _shortly_before(
    r"e\.?\s?g\.?|examples?|such as|like|format|formatted|i\.e\.?|sample|for instance|z\.\s?b\.?|beispiel",
    chars=40,
    stop=r"\n",
)
_FIXED_TIME = _shortly_before(
    r"timeout|duration|lasts?|takes?|every|within|after|before|until|till|from|between|by|daily|ttl|limit|"
    r"length|offset|interval|opens?|closes?|hours|schedul\w*|cron|deadline|expires?|due|meeting|elapsed|"
    r"runtime|updated|modified|created|published|released?|version|effective|cutoff|cut-off|since|founded|"
    r"born|v"
)
_RANGE = re.compile(r"\s*(?:-|–|—|-->|to\b|until\b|and\b)\s*\d{1,2}:\d\d")
_RANGE_END = re.compile(r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?\s*(?:-|–|—|-->|to|until|and)\s*$")
_DIGEST = _shortly_before(
    r"commit|sha-?\d*|hash|digest|checksum|revision|rev|git|blob|tree|parent|md5|image|etag|fingerprint|"
    r"merge|cherry|diff|index|version",
    chars=30,
    stop=r"\n",
)
_FIXED_ID = _shortly_before(
    r"organi[sz]ation|org|workspace|tenant|project|account|client|customer|product|team|company|model|"
    r"assistant|folder|document|database|collection|schema|namespace",
    chars=20,
)
_SAMPLE_IDS = frozenset({"123e4567-e89b-12d3-a456-426614174000", "550e8400-e29b-41d4-a716-446655440000"})
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_RANDOM_PART = re.compile(
    rf"tmp[a-z0-9_]{{6,}}|[A-Za-z_-]*\d{{3,}}|{_UUID}|[A-Za-z]+\.[A-Za-z0-9]{{6,}}|"
    r"(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])[A-Za-z0-9_-]{6,}"
)


def volatile_spans(text: str) -> list[Span]:
    """Spans that look like values of this request, first to last; examples and fixed times are left out.

    >>> [(span.rule, span.shown, span.changes) for span in volatile_spans("Now: 2026-03-06 14:07:31")]
    [('clock', '14:07:31', 'per second')]
    >>> volatile_spans("Dates look like 2024-01-01T00:00:00Z. Stop after 00:30:00.")
    []
    """
    fences = [edge for found in _FENCED.finditer(text) for edge in found.span()] if "```" in text else []
    spans = []
    for line in _LINE.finditer(text):
        for found in SPAN.finditer(text, *line.span()):
            inside = bisect_right(fences, found.start()) % 2 == 1
            span = None if inside else _judged(text, found)
            if span is not None:
                spans.append(span)
    values: dict[str, set[str]] = {}
    for span in spans:
        values.setdefault(span.rule, set()).add(span.shown)
    return [span for span in spans if len(values[span.rule]) <= _MOST_SPANS]


_Verdict = tuple[str, str, str, bool] | None


def _judged(text: str, found: re.Match[str]) -> Span | None:
    before = text[max(0, found.start() - _BEFORE_CHARS) : found.start()]
    before = before[before.rfind("\n") + 1 :]
    after = text[found.end() : found.end() + _AFTER_CHARS]
    if _EXAMPLE.search(before):
        return None
    group = "value" if found.lastgroup == "labelled" else 0
    verdict = _VERDICTS[str(found.lastgroup)](found.group(group), before, after)
    if verdict is None:
        return None
    rule, changes, shown, likely = verdict
    # a value of JSON may as well be part of a sample
    likely = likely and not re.search(
        r'"\s*:\s*"?$', text[max(0, found.start(group) - 8) : found.start(group)]
    )
    return Span(rule, changes, found.start(group), found.end(group), shown, likely)


def _moment(value: str, before: str, after: str) -> _Verdict:
    now = bool(_NOW.search(before))
    if _FIXED_TIME.search(before) and not now:
        return None
    time = TIME.search(value)
    if time is None:
        return "clock", "per minute", value, now
    shown = value if "T" in value[8:11] else time.group()
    return "clock", "per second", shown, now or "." in time.group()


def _seconds(value: str, before: str, after: str) -> _Verdict:
    if _RANGE.match(after) or _RANGE_END.search(before):
        return None
    now, bare = bool(_NOW.search(before)), value.startswith("00:") or value[1] == ":"
    if not now and (bare or _FIXED_TIME.search(before)):
        return None
    return "clock", "per second", value, now


def _minutes(value: str, before: str, after: str) -> _Verdict:
    """A time without seconds is mostly a time of the text's own; only 'it is 10:41' is a clock."""
    if _RANGE.match(after) or _RANGE_END.search(before) or _FIXED_TIME.search(before):
        return None
    return ("clock", "per minute", value, True) if _NOW.search(before) else None


def _date(value: str, before: str, after: str) -> _Verdict:
    if _FIXED_TIME.search(before) or not _TODAY.search(before):
        return None
    return "clock", "per day", value, False


def _epoch(value: str, before: str, after: str) -> _Verdict:
    if _FIXED_TIME.search(before) or not (_NOW.search(before) or _FRESH.search(before)):
        return None
    changes = "per second" if len(value.split(".")[0]) == 10 else "per request"
    return "clock", changes, value, True


def _uuid(value: str, before: str, after: str) -> _Verdict:
    if value.lower() in _SAMPLE_IDS or len(set(value)) < 6 or _FIXED_ID.search(before):
        return None
    return "random-value", "per request or run", value, bool(_FRESH.search(before))


def _hex(value: str, before: str, after: str) -> _Verdict:
    fresh = bool(_FRESH.search(before))
    if _DIGEST.search(before) or before.endswith(("@", "#")):
        return None
    if _HOST.search(before) and len(value) in (12, 64):
        return "per-run-value", "per container", value, True
    if not fresh and (len(value) < 16 or len(value) in (40, 64)):
        return None
    return "random-value", "per request or run", value, fresh


def _tagged(value: str, before: str, after: str) -> _Verdict:
    return "random-value", "per request or run", value, True


def _address(value: str, before: str, after: str) -> _Verdict:
    named = re.search(r"\b(?:at|id|object)\s*[=:]?\s*$", before)
    if not named and not (value.startswith("0x7f") and len(value) >= 12):
        return None
    return "object-identity", "per process", value, True


def _path(value: str, before: str, after: str) -> _Verdict:
    value = value.rstrip(".:")
    inside = re.split(r"[/\\]", value)[2:]
    if not value.startswith("/proc/") and not any(_RANDOM_PART.fullmatch(part) for part in inside):
        return None
    return "per-run-value", "per run", value, True


def _pid(value: str, before: str, after: str) -> _Verdict:
    return "per-run-value", "per run", value, True


def _host(value: str, before: str, after: str) -> _Verdict:
    return ("per-run-value", "per machine", value, False) if _HOST.search(before) else None


_VERDICTS: dict[str, Callable[[str, str, str], _Verdict]] = {
    "uuid": _uuid,
    "path": _path,
    "pid": _pid,
    "labelled": _tagged,
    "ulid": _tagged,
    "moment": _moment,
    "seconds": _seconds,
    "minutes": _minutes,
    "date": _date,
    "address": _address,
    "epoch": _epoch,
    "tagged": _tagged,
    "hex": _hex,
    "host": _host,
}
