"""Which expressions change from one request to the next, and how fine.

Models: clocks, random values, object identity, what belongs to one run or one user, by dotted name.
Does not model: what a function of another module returns, beyond what its name says (never certain).

Source of the kinds: the teaching documents' list of prefix breakers and dated public reports (2025 to 2026).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Origin:
    """What a call brings in: the ``rule`` it falls under, how certain, its grain and form."""

    rule: str
    certain: bool = True
    grain: str = "moment"
    form: str = ""
    note: str = ""


_ORIGINS = {
    "moment": Origin("clock", form="object"),
    "seconds": Origin("clock", form="number"),
    "text": Origin("clock"),
    "date": Origin("clock", grain="date", form="object"),
    "doubtful": Origin("clock", certain=False),
    "random": Origin("random-value"),
    "run": Origin("per-run-value"),
    "machine": Origin("per-run-value", certain=False, note="it is the same on one machine only"),
    "login": Origin("per-user-value", note="it is the login of whoever runs it"),
    "home": Origin("per-user-value", certain=False, note="a home folder names a user on most machines"),
    "listing": Origin("listing-order", certain=False, note="the file system gives no order"),
    "arrival": Origin("arrival-order", note="results come in the order they finish"),
}


@dataclass(frozen=True, slots=True)
class _Table:
    """``volatile.toml``: origins by dotted name and by last part, module names, telling words."""

    calls: Mapping[str, Origin]
    bare: Mapping[str, Origin]
    modules: frozenset[str]
    telling: frozenset[str]


@cache
def _table() -> _Table:
    import tomllib

    text = Path(__file__).with_name("volatile.toml").read_text(encoding="utf-8")
    data: dict[str, dict[str, list[str]]] = tomllib.loads(text)
    calls = {name: _ORIGINS[kind] for kind, names in data["calls"].items() for name in names}
    words = data["words"]
    bare = {name.rsplit(".", 1)[1]: origin for name, origin in calls.items()}
    telling = {*bare, *words["telling"]}
    for word in words["ambiguous"]:
        bare.pop(word, None)
    return _Table(calls, bare, frozenset(words["modules"]), frozenset(telling))


def is_module_name(name: str) -> bool:
    """Whether a parameter is called like a module: it is some object, not the module."""
    return name in _table().modules


_ENVIRONMENT = re.compile(r"^(HOST(NAME)?|HOME|PWD|POD_NAME|TMPDIR)$")
_LOGIN = re.compile(r"^(USER(NAME)?|LOGNAME|SUDO_USER)$")
_GROUP = re.compile(r"(^|_)(role|locale|plan|tier|timezone|permissions|language|lang)$")
SHARED = "shared"
"""The form of what many users have in common: it splits a prefix into a few."""
_PERSONAL = re.compile(
    r"memor|fact|profile|preference|recall|remember|persona|biograph|about_?(user|me)?$|known_about|notes_(of|for)|"
    r"(user|customer|account|member|patient|student)s?(_|$)"
)
_CLOCK_NAME = re.compile(
    r"^(get_|_get_|fetch_)?(current_|utc_?|local_?|formatted_)*(now|time|timestamp|datetime|date_?time)"
    r"(_now|_str|_string|_iso|_utc|_text|_line)?$"
)
_DATE_NAME = re.compile(r"^_?(get_)?(current_|todays?_?)(date|day)?(_str|_iso)?$|^_?today(_str|_iso)?$")
_ID_NAME = re.compile(r"^(generate|make|new|create|gen|random|fresh)_(\w+_)?(uuid|id|nonce|token)$")

_USER_BASE = re.compile(
    r"^(current_|auth_|logged_in_|active_|the_)?"
    r"(user|customer|tenant|account|member|client_user|employee|patient|student|org|organi[sz]ation|claims|principal|requester)$"
)
_SUBJECTS = frozenset({"patient", "student", "member"})
"""Words that alone may be about anything a text is written on."""

_SENDERS = frozenset({"author", "effective_user", "from_user", "sender"})
_OF_A_PERSON = re.compile(r"(^|_)(name|names?|nick|username|email|mention|id|phone|handle)$")
_ARRIVES = re.compile(r"^(ctx|context|message|msg|interaction|event|update|activity)$")
_USER_NAME = re.compile(
    r"^(user|customer|tenant|account|member|employee|patient|student|org|organi[sz]ation)"
    r"_(id|name|email|uuid|role|locale|plan|tier|timezone|profile|preferences|prefs|permissions|phone|handle|slug)$"
    r"|^(session|conversation|thread|chat)_id$|^user(name|id)$|^permissions$"
)
_REQUEST_NAME = re.compile(
    r"^(request|trace|correlation|span|message|turn|call|run|req)_?(id|uuid|nonce)$|^nonce$"
)


@lru_cache(maxsize=8192)
def is_telling(word: str) -> bool:
    """Whether a name in a function may bring something in that changes, so that the function has to be read.

    >>> is_telling("uuid4"), is_telling("user_id"), is_telling("strip")
    (True, True, False)
    """
    if word in _table().telling or guess_of(word) is not None:
        return True
    if _USER_BASE.match(word) is not None or word in _SENDERS:
        return True
    return belongs_to_user(word) is not None


@lru_cache(maxsize=4096)
def origin_of(dotted: str) -> Origin | None:
    """What a call of this dotted name brings in, or None.

    >>> origin_of("datetime.datetime.now").rule, origin_of("uuid.uuid5")
    ('clock', None)
    """
    if dotted.startswith("self."):
        return None
    pieces = dotted.rsplit(".", 2)
    if len(pieces) == 1:
        return _table().bare.get(dotted)
    known = _table().calls.get(".".join(pieces[-2:]))
    if known is None and pieces[-2] == "secrets":
        return _ORIGINS["random"]
    return known


@lru_cache(maxsize=4096)
def guess_of(name: str) -> Origin | None:
    """What the name of a function of another module suggests; never certain."""
    if _DATE_NAME.match(name):
        return Origin("clock", certain=False, grain="date", note="judged by its name")
    if _CLOCK_NAME.match(name):
        return Origin("clock", certain=False, note="judged by its name")
    if _ID_NAME.match(name):
        return Origin("random-value", certain=False, note="judged by its name")
    return None


def variable_of(name: str) -> Origin | None:
    """What an environment variable of this name brings in, or None."""
    if _LOGIN.match(name):
        return _ORIGINS["login"]
    return _ORIGINS["machine"] if _ENVIRONMENT.match(name) else None


def _of_a_sender(pieces: list[str]) -> bool:
    """``ctx.author.name`` and the like: who wrote to a bot; the author of a book is another one."""
    if len(pieces) < 3 or pieces[-2] not in _SENDERS or not _OF_A_PERSON.search(pieces[-1]):
        return False
    return pieces[-2] != "author" or _ARRIVES.match(pieces[-3]) is not None


@lru_cache(maxsize=4096)
def belongs_to_user(dotted: str) -> Origin | None:
    """Whether a parameter or attribute names something of one user, session or request.

    >>> belongs_to_user("user.name").rule, belongs_to_user("user_agent")
    ('per-user-value', None)
    """
    pieces = dotted.removeprefix("self.").split(".")
    last = pieces[-1]
    if _REQUEST_NAME.match(last):
        return Origin(
            "per-user-value", certain=True, grain="request", note="by its name it differs per request"
        )
    if pieces == [last] and last in _SUBJECTS:
        return None
    if _of_a_sender(pieces):
        return Origin("per-user-value", note="by its name it differs per user or session")
    if _USER_NAME.match(last) or any(_USER_BASE.match(piece) for piece in pieces):
        # many people share a role or a language: such a value makes a few prefixes, not one each
        form = SHARED if _GROUP.search(last) is not None else ""
        return Origin("per-user-value", form=form, note="by its name it differs per user or session")
    return None


@lru_cache(maxsize=4096)
def tells_of_a_person(name: str) -> bool:
    """Whether a function of another module looks up what belongs to the user it is given.

    >>> tells_of_a_person("load_profile"), tells_of_a_person("plan_limits")
    (True, False)
    """
    return _PERSONAL.search(name.lower()) is not None


def grain_of(spec: str) -> str | None:
    """How often a formatted time changes: ``moment``, ``hour``, ``date``, or None for never.

    Reads both ``%H:%M`` and ``HH:mm``.

    >>> grain_of("%Y-%m-%d"), grain_of("%Y-%m-%dT%H"), grain_of("%H:%M"), grain_of("YYYY-MM-DD HH:mm")
    ('date', 'hour', 'moment', 'moment')
    """
    codes = set(re.findall(r"%[-#_0^EO]?([A-Za-z+])", spec))
    if codes:
        if codes & set("MSfsXcTRrN+"):
            return "moment"
        return "hour" if codes & set("HIklp") else "date"
    if "%" in spec or not re.search(r"YY|DD|MM|dddd|HH|hh|mm|ss|\bD\b|LT", spec):
        return None
    if re.search(r"mm|ss|LT|S", spec):
        return "moment"
    return "hour" if re.search(r"[Hh]", spec) else "date"


_GRAINS = ("moment", "hour", "date")


def coarser(one: str, other: str) -> str:
    """The grain that changes less often."""
    known = [_GRAINS.index(grain) for grain in (one, other) if grain in _GRAINS]
    return _GRAINS[max(known)] if known else one
