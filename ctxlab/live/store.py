"""Recordings on disk: rows in the format of ``data/recordings``, and beside them, if asked for, the texts.

Models: one file of rows that may be shown to anybody, ``NAME.jsonl``; a second one, ``NAME.text.jsonl``, with
bodies of requests and answers, scrubbed of keys and addresses and of nothing else, which is not for others;
rows added whole or not at all.
Does not model: a file that another process adds to meanwhile (rows are added behind its rows, and not read).
Source: ``data/recordings/README.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from ctxlab.errors import InvalidArgumentError, Problem
from ctxlab.recordings.lines import Report, read_rows
from ctxlab.recordings.reading import load_exchanges

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """What was said in one exchange: the body of the request, and that of the answer as it came."""

    request: Mapping[str, Any]
    response: str
    content_type: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """One row, and its text if that was kept."""

    row: Row
    text: Text | None

    @property
    def id(self) -> str:
        return str(self.row["id"])


class Store:
    """A file of recordings to add to, or to replay.

    ``keep_text`` also keeps what was said, in a second file that is yours alone. ``source`` is the path that
    rows name as where they come from (default: the name of the file), ``tags`` go into every row.

    Raises :class:`RecordingError` for a file that does not follow the format, and
    :class:`InvalidArgumentError` for a packed one that is to be added to.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        keep_text: bool = False,
        source: str | None = None,
        tags: Iterable[str] = (),
    ):
        self.path = Path(path)
        self.text_path = self.path.with_name(
            f"{self.path.name.removesuffix('.gz').removesuffix('.jsonl')}.text.jsonl"
        )
        self.keep_text = keep_text
        self._source = {"repo": None, "path": source or self.path.name, "commit": None}
        self._source |= {"committed_at": None, "licence": None}
        self._tags = sorted(tags)
        self._lock = Lock()
        self._recorded = _read(self.path, self.text_path)
        self._steps: dict[str, int] = {}
        for one in self._recorded:
            self._steps[one.row["sequence"]] = max(
                self._steps.get(one.row["sequence"], 0), int(one.row["step"]) + 1
            )

    @property
    def recorded(self) -> tuple[Recorded, ...]:
        """Every recording, in the order it was finished."""
        return tuple(self._recorded)

    def next_step(self, sequence: str) -> int:
        """Reserve the next step of a sequence: steps are numbered in the order sent, not in that of the
        answers."""
        with self._lock:
            step = self._steps.get(sequence, 0)
            self._steps[sequence] = step + 1
            return step

    def add(self, sequence: str, step: int, row: Mapping[str, Any], text: Text | None) -> None:
        """Write one recording: all of it, or an error and none of it."""
        if self.path.suffix == ".gz":
            raise InvalidArgumentError(
                Problem(
                    "path", "plain-file", f"is {self.path.name}, a packed file", "record to a .jsonl file"
                )
            )
        named = {"id": f"{sequence}#{step}", "sequence": sequence, "step": step, "evidence": "recorded"}
        whole: Row = {**named, "source": dict(self._source), "tags": self._tags, **row}
        kept = text if self.keep_text else None
        with self._lock:
            if kept is not None:
                said = {"request": kept.request, "response": kept.response, "content_type": kept.content_type}
                _append(self.text_path, {"id": whole["id"], **said})
            _append(self.path, whole)
            self._recorded.append(Recorded(whole, kept))


def _read(path: Path, text_path: Path) -> list[Recorded]:
    if not path.exists():
        return []
    report = Report()
    load_exchanges(path, report)
    report.raise_problems()
    texts: dict[str, Text] = {}
    if text_path.exists():
        for _, said in read_rows(text_path, report):
            texts[str(said.get("id"))] = Text(said["request"], said["response"], said["content_type"])
        report.raise_problems()
    return [Recorded(row, texts.get(str(row["id"]))) for _, row in read_rows(path, report)]


def _append(path: Path, row: Mapping[str, Any]) -> None:
    """One line behind the others, on the disk when this returns; a line that does not fit leaves nothing."""
    line = json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
    with path.open("ab", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        data = line.encode("utf-8")
        try:
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(before)
            raise
