"""The generated parts of the README: the tables of notebooks and rules, the walk-through, what is shown.

Models: text between ``<!-- name -->`` and ``<!-- /name -->`` is replaced; ``data/walkthrough.toml`` maps the
paragraphs of both documents to notebooks; ``data/fidelity.toml`` is built along with the table of its rules.
Does not model: the prose around them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ctxlab import places
from ctxlab.checks import lesson_01
from ctxlab.commands.diff import diff
from ctxlab.commands.lint import lint
from ctxlab.conformance import ledger
from ctxlab.errors import CtxlabError, Problem
from ctxlab.notebooks.build import Built
from ctxlab.notebooks.source import Source
from ctxlab.recordings import session
from ctxlab.report import Report
from ctxlab.report.text import as_text

PICTURE = "integral.svg"
# a session that no lesson asks about: the first page must not answer a prediction
SHOWN = "cli/session-79e9becd"
# titles of the lessons that come later, by number
PLANNED = {
    "02": "Caching breakpoints",
    "03": "Prefix breakers and the dead cache",
    "04": "Four growth levers",
    "05": "Server-side compaction and context editing",
    "06": "The memory tool backend",
    "07": "Long-term store: build and forget",
    "08": "Eviction",
    "09": "Workflow state and checkpointing",
    "10": "Image tokens",
    "11": "The long-running agent",
}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of a document, in a few words, and the notebook and heading that teach it."""

    id: str
    says: str
    notebook: str
    where: str = ""


def paragraphs() -> tuple[Paragraph, ...]:
    """Every row of ``data/walkthrough.toml``, in the documents' order."""
    rows = tomllib.loads(places.data_path("walkthrough.toml").read_text(encoding="utf-8"))["paragraph"]
    return tuple(Paragraph(**row) for row in rows)


def built(root: Path, sources: Iterable[Source]) -> list[Built]:
    """README.md with its generated parts anew, and what it shows of the data: the picture, the ledger."""
    readme = root / "README.md"
    known = {source.header.number: source for source in sources}
    text = readme.read_text(encoding="utf-8")
    text = _between(text, "picture", _caption())
    text = _between(text, "lint", _told(root, "lint", lint([str(_example(root, "agent.py"))])))
    turns = [_example(root, f"turn-{turn}.json") for turn in (1, 2)]
    text = _between(text, "diff", _told(root, "diff", diff(turns, counter="calibrated_characters")))
    text = _between(text, "notebooks", _notebooks(known))
    text = _between(text, "walk-through", _walkthrough(known))
    rules = ledger.put_together()
    text = _between(text, "ledger", _rules(rules))
    picture = lesson_01.integral_of(session(SHOWN)).svg
    return [
        Built(readme, text),
        Built(root / "data" / PICTURE, picture + "\n"),
        Built(root / "data" / ledger.NAME, ledger.rendered(rules)),
    ]


def _example(root: Path, name: str) -> Path:
    return root / "data" / "breakers" / "examples" / name


def _told(root: Path, command: str, report: Report) -> str:
    """What a command says of the examples when it is typed in the clone."""
    paths = " ".join(report.read)
    shown = f"$ python3 -m ctxlab {command} {paths}\n{as_text(report)}"
    return f"```\n{shown.replace(f'{root.as_posix()}/', '')}\n```\n"


def _caption() -> str:
    usages = [turn.usage for turn in session(SHOWN).turns if turn.usage is not None]
    total = sum(usage.total_input_tokens for usage in usages)
    read = sum(usage.cache_read_input_tokens for usage in usages)
    bill = lesson_01.input_bill(session(SHOWN))
    reads_usd = bill.by_label()["cache read"]
    return (
        f"![{len(usages)} requests of one coding agent as an area: nearly all of it is history read again "
        f"from the cache.](data/{PICTURE})\n\n"
        f"*One recorded session: {len(usages)} requests, none larger than "
        f"{max(usage.total_input_tokens for usage in usages):,} tokens, {total / 1e6:.1f} million tokens "
        f"processed in all.\n{100 * read / total:.1f} % of them came out of the prompt cache, and reading "
        f"them again is still {100 * reads_usd / bill.input_usd:.0f} % of the input bill.*\n"
    )


def _between(text: str, name: str, inside: str) -> str:
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise CtxlabError(Problem("README.md", "generated-part", f"has no part named {name!r}"))
    return pattern.sub(lambda match: f"{match[1]}{inside}{match[2]}", text)


def _notebooks(known: dict[str, Source]) -> str:
    rows = {number: f"| {number} {title} | *comes later* | | |" for number, title in PLANNED.items()}
    for number, source in known.items():
        head, path = source.header, f"notebooks/answered/{source.path.stem}.ipynb"
        title = head.title if head.puzzles else f"{number} {head.title}"
        modules = ", ".join(f"`{name}`" for name in head.modules)
        rows[number] = f"| [{title}]({path}) | {head.question} | {source.minutes()[0]} | {modules} |"
    lines = ["| notebook | question | minutes | module |", "| --- | --- | ---: | --- |"]
    return "\n".join(lines + [rows[number] for number in sorted(rows)]) + "\n"


def _walkthrough(known: dict[str, Source]) -> str:
    lines = ["| paragraph | what it says | notebook | section |", "| --- | --- | --- | --- |"]
    for row in paragraphs():
        where = row.where if row.notebook in known else "*comes later*"
        lines.append(f"| {row.id} | {row.says} | {row.notebook} | {where} |")
    return "\n".join(lines) + "\n"


def _rules(book: ledger.Ledger) -> str:
    lines = [
        "| evidence | rules | with a switch | recordings agree | disagree |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for kind in ledger.EVIDENCE:
        own = [entry for entry in book.entries if entry.evidence == kind]
        switches = sum(entry.switch is not None for entry in own)
        agree, disagree = sum(entry.agree for entry in own), sum(entry.disagree for entry in own)
        lines.append(f"| {kind} | {len(own)} | {switches} | {agree:,} | {disagree:,} |")
    missed = sum(offset.rows for offset in book.offsets)
    told = f"{missed} recorded totals miss the rules of counting, each in one of {len(book.offsets)} known"
    return "\n".join([*lines, "", f"Replayed: {book.summary}. {told} classes.", ""])
