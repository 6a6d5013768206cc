"""``scan_source`` over 200,000 lines, beside ``ast.parse`` of the same files and beside ruff.

A fifth of the files are agents that send requests; the rest are the sources of the running Python.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from benchmarks.timing import Row, best_ms
from ctxlab.breakers import scan_source

LINES = 200_000

_AGENT = '''"""Agent {number}."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from datetime import datetime

import anthropic

log = logging.getLogger(__name__)
MODEL = "claude-opus-5-5"
RULES = """You are an agent that keeps records.
Answer in one paragraph and name your sources.
"""
TOPICS = {{"billing", "shipping", "returns"}}


@dataclass
class Settings:
    """What one run needs."""

    model: str = MODEL
    max_tokens: int = 1024
    notes: list[str] = field(default_factory=list)


def tool(name: str, text: str, **fields: str) -> dict:
    """One tool definition."""
    return {{
        "name": name,
        "description": text,
        "input_schema": {{
            "type": "object",
            "properties": {{key: {{"type": kind}} for key, kind in fields.items()}},
            "required": sorted(fields),
        }},
    }}


def tools() -> list[dict]:
    """All of them."""
    found = [
        tool("search", "Search the records.", query="string", limit="integer"),
        tool("read", "Read one record.", key="string"),
        tool("write", "Write one record.", key="string", text="string"),
    ]
    found[-1]["cache_control"] = {{"type": "ephemeral"}}
    return found


def read_notes(path: str) -> list[str]:
    """Notes of earlier runs, one a line."""
    notes = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if len(line) > 400:
                log.warning("line %d is long", number)
                line = line[:400]
            notes.append(line)
    return notes


class Records:
    """A small store."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.rows: dict[str, dict] = {{}}
        self.load()

    def load(self) -> None:
        try:
            with open(self.path, encoding="utf-8") as file:
                self.rows = json.load(file)
        except FileNotFoundError:
            log.info("no records yet")

    def search(self, query: str, limit: int = 5) -> list[dict]:
        words = query.lower().split()
        found = [row for row in self.rows.values() if all(word in row["text"].lower() for word in words)]
        found.sort(key=lambda row: (-row.get("score", 0), row["key"]))
        return found[:limit]

    def write(self, key: str, text: str) -> str:
        row = self.rows.setdefault(key, {{"key": key, "score": 0}})
        row["text"] = text
        row["changed"] = datetime.now().isoformat()
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.rows, file, sort_keys=True)
        return "written"


class Agent{number}:
    """Talks until nothing is left to do."""

    def __init__(self, settings: Settings, records: Records) -> None:
        self.client = anthropic.Anthropic()
        self.settings = settings
        self.records = records
        self.messages: list[dict] = []
        self.usage = {{"input": 0, "output": 0}}

    def system(self) -> list[dict]:
        text = RULES + "Topics: " + ", ".join(sorted(TOPICS))
        blocks = [{{"type": "text", "text": text, "cache_control": {{"type": "ephemeral"}}}}]
        if self.settings.notes:
            blocks.append({{"type": "text", "text": "\\n".join(self.settings.notes)}})
        {breaker}
        return blocks

    def run_tool(self, name: str, given: dict) -> str:
        started = datetime.now()
        try:
            if name == "search":
                result = json.dumps(self.records.search(given["query"], given.get("limit", 5)))
            elif name == "write":
                result = self.records.write(given["key"], given["text"])
            else:
                result = json.dumps(self.records.rows.get(given["key"], {{}}))
        except (KeyError, OSError) as error:
            result = f"error: {{error}}"
        log.info("%s took %s", name, datetime.now() - started)
        return result

    def count(self, usage) -> None:
        self.usage["input"] += usage.input_tokens
        self.usage["output"] += usage.output_tokens

    def run(self, text: str) -> str:
        self.messages.append({{"role": "user", "content": text}})
        for _ in range(20):
            reply = self.client.messages.create(
                model=self.settings.model,
                max_tokens=self.settings.max_tokens,
                system=self.system(),
                tools=tools(),
                messages=self.messages,
            )
            self.count(reply.usage)
            self.messages.append({{"role": "assistant", "content": reply.content}})
            calls = [block for block in reply.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")
            results = []
            for call in calls:
                results.append(
                    {{
                        "type": "tool_result",
                        "tool_use_id": call.id,
                        "content": self.run_tool(call.name, call.input),
                    }}
                )
            self.messages.append({{"role": "user", "content": results}})
        return "too many turns"


def main() -> None:
    agent = Agent{number}(Settings(notes=read_notes("notes.txt")), Records("records.json"))
    while True:
        text = input("> ")
        if text in ("quit", "exit"):
            break
        print(agent.run(text))


if __name__ == "__main__":
    main()
'''
_BREAKERS = (
    "pass",
    'blocks[0]["text"] += f"Now: {datetime.now():%H:%M:%S}"',
    'blocks.append({"type": "text", "text": f"Today: {datetime.now():%Y-%m-%d}"})',
)


def write_project(folder: Path, lines: int = LINES) -> tuple[list[Path], int]:
    """Write ``lines`` lines of source into ``folder``, one file in five an agent; its files and lines."""
    plain = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    files: list[Path] = []
    written = 0
    while written < lines:
        number = len(files)
        if number % 5 == 0:
            text = _AGENT.format(number=number, breaker=_BREAKERS[number // 5 % len(_BREAKERS)])
        else:
            text = plain[number % len(plain)].read_text(encoding="utf-8")
        path = folder / f"module_{number:05}.py"
        path.write_text(text, encoding="utf-8")
        files.append(path)
        written += text.count("\n")
    return files, written


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files, lines = write_project(folder)
        parse_ms = best_ms(lambda: _parse(files), repeat=3)
        scan_ms = best_ms(lambda: scan_source(folder), repeat=3)
        found = [
            Row(
                f"scan {lines:,} lines for prefix breakers, one file in five an agent",
                scan_ms,
                "ms",
                f"{parse_ms:.0f} ms ast.parse of the same files",
                scan_ms / parse_ms,
                "at most 2",
            )
        ]
        command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--isolated", "--quiet", name]
        if subprocess.run([*command[:3], "--version"], capture_output=True, check=False).returncode == 0:
            ruff_ms = best_ms(lambda: subprocess.run(command, capture_output=True, check=False), repeat=3)
            found.append(Row("ruff over the same files", ruff_ms, "ms", "on every core", None, ""))
    return found


def _parse(files: list[Path]) -> None:
    # one tree at a time, as the scan holds them
    for path in files:
        ast.parse(path.read_bytes())
