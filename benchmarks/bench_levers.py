"""Planning a lever on a long session, beside the least any plan needs and the peers; and who stays valid.

The limit is ``json.dumps`` and sha256 of the same request: whoever tells what changed has to do as much. The
peers (LangChain's ``trim_messages``, the condenser of the OpenHands software-agent-sdk) are no dependency of
anything here. Where ``CTXLAB_PEERS`` names a Python >= 3.12 that has them, it is run beside
(:mod:`benchmarks.peers_levers`) on the same conversations; its results are judged like our own, by
:func:`ctxlab.validity.check` and :func:`ctxlab.validity.check_edit`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from benchmarks.timing import Row, best_ms
from ctxlab.errors import InvalidArgumentError
from ctxlab.levers import Outcome, PrefixLedger, clear, offload, trim
from ctxlab.properties.conversations import conversation
from ctxlab.validity import check, check_edit

TURNS = 1_000
PAYLOAD_CHARS = 5_000
CONVERSATIONS = 200
SHARE = 0.5  # of the messages, by each library's own count, that a trim may keep
SEED = 5
INSTALL = (
    "# bench_levers: peers left out. To see them: python3.12 -m venv peers; "
    "peers/bin/pip install langchain-core langchain-anthropic openhands-sdk; CTXLAB_PEERS=peers/bin/python"
)
#: Blocks that all three libraries have a type for.
_SHARED = {"text", "image", "thinking", "tool_use", "tool_result"}
_WORDS = ("deploy", "8081", "cfg/app.yaml", "Zürich", "def", "return", "9f2c1ab", "failed\n", "x", "=")

Body = Mapping[str, Any]


def session(turns: int = TURNS) -> dict[str, Any]:
    """An agent that reads one file a turn: question, call, result, answer; some 5 MB at 1,000 turns."""
    random = Random(SEED)
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "read", "input": {"path": f"{turn}.py"}}
        payload = " ".join(random.choices(_WORDS, k=PAYLOAD_CHARS // 6))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": payload}
        messages += [
            {"role": "user", "content": f"What is wrong in {turn}.py?"},
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {turn}."}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": f"Nothing in {turn}.py."}]},
        ]
    messages.append({"role": "user", "content": "Go on."})
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}]
    head = {"model": "claude-opus-5-5", "max_tokens": 64, "cache_control": {"type": "ephemeral"}}
    return {**head, "system": "Be exact. " * 300, "tools": tools, "messages": messages}


def conversations(count: int = CONVERSATIONS) -> list[dict[str, Any]]:
    """Random valid conversations of eight messages or more, made of blocks that every library knows."""
    random = Random(SEED)
    found: list[dict[str, Any]] = []
    while len(found) < count:
        body = conversation(random)
        lists = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
        types = {block["type"] for blocks in lists for block in blocks}
        if types <= _SHARED and len(body["messages"]) >= 8:
            found.append(body)
    return found


def half(request: Body, ledger: PrefixLedger | None = None) -> Outcome:
    """Trim to half the messages' tokens, as LangChain is asked to."""
    found = PrefixLedger.of(request) if ledger is None else ledger
    messages_tokens = found.total_tokens - found.fixed_tokens
    return trim(request, keep_tokens=found.fixed_tokens + int(messages_tokens * SHARE), ledger=found)


LEVERS: Mapping[str, Callable[..., Outcome]] = {
    "trim": half,
    "clear": clear,
    "offload": partial(offload, which="all", at_least_tokens=100),
}


def hashed_mb(work: Callable[[], object]) -> float:
    """Megabytes that were hashed: a second pass over the text would show as twice its size."""
    sizes = []

    def spy(data: bytes = b"") -> Any:
        sizes.append(len(data))
        return sha256(data)

    with mock.patch.object(hashlib, "sha256", spy):
        work()
    return sum(sizes) / 1e6


def planning(body: Body) -> dict[str, Row]:
    """Ledger and levers on one long session; a lever has the ledger in hand, as in a running program."""
    data = json.dumps(body, ensure_ascii=False).encode("utf-8")
    limit_ms = best_ms(lambda: sha256(json.dumps(body, ensure_ascii=False).encode("utf-8")).digest())
    ledger = PrefixLedger.of(body)
    assert not ledger.problems
    works: dict[str, Callable[[], object]] = {"ledger": lambda: PrefixLedger.of(body)}
    works |= {name: partial(lever, body, ledger=ledger) for name, lever in LEVERS.items()}
    found = {}
    for name, work in works.items():
        beside = (
            f"{limit_ms:.1f} ms json.dumps + sha256 of the {len(data) / 1e6:.1f} MB; "
            f"{hashed_mb(work):.1f} MB hashed"
        )
        took_ms = best_ms(work)
        what = f"{name} of" if name == "ledger" else f"plan {name} on"
        found[name] = Row(f"{what} {TURNS:,} turns", took_ms, "ms", beside, took_ms / limit_ms, "")
    return found


def judged(name: str, bodies: Sequence[tuple[Body, Body | str]]) -> Row:
    """How many results break a rule of lists, and how many others touch thinking that must stay as it was.

    ``bodies`` are pairs of before and after; a text in place of a result says why there is none.
    """
    broken, touched = Counter[str](), Counter[str]()
    invalid = changed = refused = edits = 0
    for before, after in bodies:
        if isinstance(after, str):
            refused += 1
            continue
        changed += after["messages"] != before["messages"]
        rules = {problem.rule for problem in check(after)}
        broken.update(rules)
        invalid += bool(rules)
        held = {problem.rule for problem in check_edit(before, after)} if not rules else set()
        touched.update(held)
        edits += bool(held)
    beside = f"of {len(bodies)} ({changed} changed, {refused} refused)"
    beside += "".join(f"; {count} {rule}" for rule, count in broken.most_common())
    if edits:
        beside += f"; {edits} valid lists break {', '.join(sorted(touched))}"
    return Row(f"invalid results: {name}", invalid, "", beside, None, "")


def own(name: str, given: Sequence[Body]) -> Row:
    pairs: list[tuple[Body, Body | str]] = []
    for body in given:
        try:
            pairs.append((body, LEVERS[name](body).request))
        except InvalidArgumentError as error:
            pairs.append((body, str(error)))
    return judged(f"{name} here", pairs)


def asked(python: str, large: Body, given: Sequence[Body]) -> dict[str, Any]:
    """What the peers make of the conversations, and how long planning on the large one takes them."""
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder, "in.json"), Path(folder, "out.json")
        body = {"share": SHARE, "large": large, "conversations": given}
        question.write_text(json.dumps(body), encoding="utf-8")
        script = Path(__file__).with_name("peers_levers.py")
        command = [python, str(script), str(question), str(answer)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600)
        except OSError as error:
            raise SystemExit(f"bench_levers: CTXLAB_PEERS is {python!r}: {error.strerror}") from None
        if ran.returncode:
            raise SystemExit(f"bench_levers: {python} could not run the peers\n{ran.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def peers(python: str, body: Body, given: Sequence[Body], trim_ms: float) -> list[Row]:
    answered = asked(python, body, given)
    versions, results = answered["versions"], answered["results"]
    langchain = f"LangChain trim_messages {versions['langchain-core']}"
    openhands = f"OpenHands condenser {versions['openhands-sdk']}"
    found = []
    for key, name in (("langchain", langchain), ("openhands", openhands)):
        took_ms = answered["ms"][key]
        beside = f"{trim_ms:.1f} ms plan trim here, checked and priced"
        found.append(Row(f"{name}, {TURNS:,} turns", took_ms, "ms", beside, took_ms / trim_ms, ""))
    for key, how, name in (
        ("langchain", "bare", f"{langchain}, strategy last"),
        ("langchain", "advised", f"{langchain}, start_on human, end_on human and tool"),
        ("openhands", "condensed", openhands),
    ):
        pairs = []
        for one in results:
            before, after = one[key]["untouched"], one[key][how]
            if "error" in before or check(before):
                continue  # lost on the way into the peer's types and back: not the lever's doing
            pairs.append((before, after.get("error") or after))
        found.append(judged(name, pairs))
    return found


def rows() -> list[Row]:
    body, given = session(), conversations()
    planned = planning(body)
    found = [*planned.values(), *(own(name, given) for name in LEVERS)]
    python = os.environ.get("CTXLAB_PEERS")
    if python:
        found += peers(python, body, given, planned["trim"].value)
    else:
        print(INSTALL)
    return found
