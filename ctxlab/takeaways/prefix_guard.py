"""The prefix guard: what breaks a cached prefix in Python source, and two files that keep it out.

Models: the findings of :mod:`ctxlab.breakers`, with what could not be read; a test and a hook to copy.
Does not model: running the source.
"""

from __future__ import annotations

from pathlib import Path

from ctxlab.breakers import Scan, scan_source, scan_text
from ctxlab.errors import Problem
from ctxlab.figures import Table, table
from ctxlab.takeaways.files import path_of, write_into

_SOURCE = Problem(
    "source", "path-or-source", "is neither source text nor a path", "give the path of a file or folder"
)

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
        scanned = scan_source(path_of(source, _SOURCE))
    rows = [(one.place, one.code, str(one.certainty), one.message) for one in scanned.findings]
    rows += [(one.path, "not read", "", one.message) for one in scanned.skipped]
    if not scanned.read and not scanned.skipped:
        rows.append((str(source), "not read", "", "holds no Python source and no notebook"))
    if write_to is not None:
        write_into(write_to, {}, once={"test_prefix_stable.py": _GUARD, "pre-commit-ctxlab.yaml": _HOOK})
    return table(
        rows, ("place", "code", "certainty", "what"), caption="What breaks the prefix in this source"
    )
