"""The instructor guide: what the notes in the sources say, put together for the person in front of the room.

Models: one markdown file, generated, committed and compared byte by byte. Does not model: the lessons.
"""

from __future__ import annotations

from collections.abc import Iterable

from ctxlab.checks import lessons
from ctxlab.notebooks.source import Source

NAME = "instructor-guide.md"

_FRONT = """\
# Instructor guide

Generated from the notes in `notebooks/source/` by `python -m ctxlab.notebooks guide`; edit those.

Before a session: `python -m ctxlab doctor` on the projector machine, and one handout per person
(`python3 -m ctxlab handout NN`). In the room: predict alone, vote by hand, talk two minutes, vote
again, reveal. `python -m ctxlab status` shows each screen's state in a large word.
"""


def render(sources: Iterable[Source]) -> str:
    """The whole guide; lessons without notes are left out."""
    return "\n".join([_FRONT, *(section for source in sources if (section := _lesson(source)))])


def _lesson(source: Source) -> str:
    notes = source.instructor
    if notes is None:
        return ""
    core, home = source.minutes()
    head = source.header
    asked = lessons.lesson(head.number).predictions
    lines = [
        f"## {head.number} · {head.title}",
        "",
        f"*{head.question}* Core path {core} minutes, at home {home}.",
        "",
        "| time | plan |",
        "| --- | --- |",
        *(
            f"| {minutes} minutes | {_cell(plan)} |"
            for minutes, plan in ((25, notes.plan_25), (50, notes.plan_50), (80, notes.plan_80))
        ),
        f"| ten minutes late | {_cell(notes.when_late)} |",
        "",
        "| prediction | right | expected votes | say |",
        "| --- | --- | --- | --- |",
        *(
            f"| {votes.prediction} | {asked[votes.prediction].right.letter} "
            f"| {_cell(votes.expected)} | {_cell(votes.say)} |"
            for votes in notes.votes
        ),
        "",
        f"**Projector only.** {' '.join(notes.demo.split())}",
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
