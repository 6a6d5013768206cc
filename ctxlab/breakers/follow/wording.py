"""What findings in source say: what goes where, and how to repair it.

Models: one sentence and one repair per rule. Does not model: costs (a file does not say how often it runs).
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxlab.breakers.follow.values import Trace

FIXES: Mapping[str, str] = {
    "clock": "put the time into the newest user message, behind the last marker, or send only the date",
    "random-value": "make it once per session, or move it to metadata or behind the last marker",
    "object-identity": "write a name of your own instead of an id, a hash or an address",
    "per-user-value": "keep it out of what users share: put it behind the marker of the shared part",
    "per-run-value": "move it behind the last marker, or write a placeholder that is the same in every run",
    "key-order": "pass sort_keys=True",
    "set-order": "sort it: sorted(…)",
    "tool-order": "sort the tools by name before they are sent",
    "array-order": "sort it: sorted(…)",
    "model-switch": "keep one model per conversation; give other work a conversation of its own",
    "system-changed": "leave system as it was sent first and say what is new in the newest message",
    "history-changed": "append instead of editing; if old messages must shrink, edit many at once, rarely",
    "parameter-changed": "keep it the same for the whole conversation",
    "tools-changed": "send all tools from the first turn on, in one order",
    "marker-on-volatile": "put the marker on the last block that stays the same",
    "markers-accumulate": "take the old markers off before a new one is set",
    "marker-fault": "keep four markers at most, those of 1h before those of 5m",
}

SHORT_BEFORE_LONG = "a marker of 1h stands behind one of 5m, which the API refuses"

_GRAINS = {"date": "it changes once a day", "hour": "it changes once an hour"}


def reaches(trace: Trace, rule: str, slot: str, line: int) -> str:
    """What a trace does to a request, with the way it came.

    >>> reaches(Trace("clock", 3, 1, "datetime.now()", route=("now", "prompt")), "clock", "system", 9)
    'datetime.now() reaches system of the request on line 9 (now → prompt → system)'
    """
    target = f"{slot} of the request on line {line}"
    way = [step for step in trace.route if step != slot]
    route = f" ({' → '.join([*way, slot])})" if way else ""
    known = trace.rule if rule == "history-changed" and trace.rule in _TOLD else rule
    told = _TOLD.get(known, "{text} reaches {target}").format(text=trace.text, target=target)
    notes = [note for note in (_note_of(trace, rule), _GRAINS.get(trace.grain, "")) if note]
    return f"{told}{route}" + "".join(f"; {note}" for note in notes)


def _note_of(trace: Trace, rule: str) -> str:
    if trace.rule == "set-order":
        return "strings hash differently in each process: a break across processes, not inside one"
    if trace.per == "kept":
        return "it is made once and kept, so it splits the cache per process or object, not per request"
    return "" if trace.note == "end" else trace.note


_TOLD = {
    "set-order": "the order of {text} reaches {target}",
    "tool-order": "the order of {text} reaches {target}",
    "array-order": "the order of {text} reaches {target}",
    "key-order": "{text} writes keys in the order it finds them into {target}",
    "model-switch": "{text} changes the {target} during a conversation",
    "system-changed": "{text} changes {target} during a conversation",
    "tools-changed": "{text} changes {target} during a conversation",
    "parameter-changed": "{text} changes {target} during a conversation",
    "history-changed": "{text} edits earlier {target}",
    "window": "{text} takes earlier blocks out of {target}",
    "rebuilt": "{text} writes earlier {target} otherwise than they were sent",
    "removed": "{text} takes earlier blocks out of {target}",
    "injected": "{text} puts a block in front of earlier {target}",
    "markers-accumulate": "{text} adds a marker to {target} each turn and none is taken off",
    "marker-on-volatile": "{text} stands in a marked block: {target} writes an entry that will not be read",
}


def too_many(total: int, *, many: bool) -> str:
    """That a request has more markers than the API takes."""
    if many:
        return "every item of a list is marked; with more than four the API refuses the request"
    return f"{total} markers are set, the API takes 4"


def two_models(one: str, other: str, line: int) -> str:
    """That two calls send the same history to different models."""
    return f"the same messages go to {other!r} here and to {one!r} on line {line}"
