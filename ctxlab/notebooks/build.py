"""Run a lesson in a fresh kernel and write both editions, the same bytes every time.

Models: execution by nbclient in this very Python with this very ctxlab; stable cell ids, no timestamps, no
widget views or state, streams joined, keys sorted, plain ``python3`` metadata. A cell that raises or writes
to stderr stops the build. Does not model: determinism of what a cell computes (that is the cell's duty).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctxlab
from ctxlab.checks import record
from ctxlab.errors import CtxlabError, Problem
from ctxlab.notebooks import source as lesson_source
from ctxlab.notebooks.source import Cell, Source

CELL_TIMEOUT_S = 120
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class BuildError(CtxlabError, RuntimeError):
    """A cell raised, wrote to stderr or ran too long; or a committed notebook is stale."""


@dataclass(frozen=True, slots=True)
class Built:
    """One edition's file and its text."""

    path: Path
    text: str


def target(source: Source, *, answered: bool) -> Path:
    """Where an edition is written."""
    root = source.path.parent.parent
    return root / ("answered" if answered else "") / f"{source.name}.ipynb"


def build(path: Path, *, answered: bool) -> Built:
    """Execute one edition of a lesson; nothing is written."""
    source = lesson_source.read(path)
    cells = lesson_source.edition(source, answered=answered)
    label = f"{source.name} ({'answered' if answered else 'learner'})"
    return Built(target(source, answered=answered), as_text(_executed(cells, label)))


def write(built: Iterable[Built]) -> None:
    """Write editions where they belong."""
    for one in built:
        one.path.parent.mkdir(parents=True, exist_ok=True)
        one.path.write_text(one.text, encoding="utf-8", newline="\n")


def stale(built: Built) -> Problem | None:
    """What differs first between a committed file and this build of it, or None."""
    if not built.path.is_file():
        return Problem(built.path.name, "built", "was never built", "python -m ctxlab.notebooks build")
    committed = built.path.read_bytes()
    if committed == built.text.encode("utf-8"):
        return None
    differs = _first_difference if built.path.suffix == ".ipynb" else _first_line
    return Problem(
        f"{built.path.parent.name}/{built.path.name}",
        "byte-stable",
        differs(committed, built.text),
        "python -m ctxlab.notebooks build, and look at the diff",
    )


def _first_difference(committed: bytes, text: str) -> str:
    try:
        old = json.loads(committed)["cells"]
    except (ValueError, KeyError, TypeError):
        return "the committed file is not a notebook"
    new = json.loads(text)["cells"]
    for number, (one, other) in enumerate(zip(old, new, strict=False)):
        for part in ("cell_type", "source", "outputs", "metadata", "execution_count", "id"):
            if one.get(part) != other.get(part):
                return f"cell {number} differs in {part}: {_parted(one.get(part), other.get(part))}"
    if len(old) != len(new):
        return f"had {len(old)} cells, now {len(new)}"
    return "differs outside its cells"


def _first_line(committed: bytes, text: str) -> str:
    old, new = committed.decode("utf-8", "replace").split("\n"), text.split("\n")
    for number, (one, other) in enumerate(zip(old, new, strict=False), start=1):
        if one != other:
            return f"line {number} differs: {_parted(one, other)}"
    return f"had {len(old)} lines, now {len(new)}"


def _parted(old: Any, new: Any) -> str:
    """The two values from shortly before the place where they part."""
    one, other = (json.dumps(value, ensure_ascii=False) for value in (old, new))
    parted = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, parted - 40)
    return f"{one[start : start + 120]!r} became {other[start : start + 120]!r}"


def as_text(notebook: dict[str, Any]) -> str:
    """A notebook as the one text that is committed."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _executed(cells: Sequence[Cell], label: str) -> dict[str, Any]:
    try:
        import nbformat
        from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
        from jupyter_client.manager import AsyncKernelManager
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    except ImportError as error:
        raise CtxlabError(
            Problem(str(error.name), "extra-installed", "is not installed", 'pip install "ctxlab[dev]"')
        ) from error

    class ThisPython(KernelSpecManager):
        """The kernel is the Python that builds, whatever kernels the machine has registered."""

        def get_kernel_spec(self, kernel_name: str) -> Any:
            argv = [
                sys.executable,
                "-m",
                "ipykernel_launcher",
                "-f",
                "{connection_file}",
                "--log-level=ERROR",
            ]
            return KernelSpec(argv=argv, **{k: v for k, v in _KERNELSPEC.items() if k != "name"})

    v4: Any = nbformat.v4
    notebook = v4.new_notebook(cells=[_as_node(v4, cell, n) for n, cell in enumerate(cells)])
    notebook.metadata = {"kernelspec": dict(_KERNELSPEC)}
    with tempfile.TemporaryDirectory(prefix="ctxlab-build-") as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT_S,
            km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisPython()),
            record_timing=False,
            store_widget_state=False,
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=_environment(folder), cleanup_kc=True)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise BuildError(Problem(label, "runs", _COLOURS.sub("", str(error)).strip())) from error
    notebook.metadata["language_info"] = {"name": "python"}
    plain: dict[str, Any] = json.loads(v4.writes(notebook))
    for number, cell in enumerate(plain["cells"]):
        if cell["cell_type"] == "code":
            cell["outputs"] = _outputs(cell["outputs"], f"{label}: cell {number}")
            cell["metadata"].pop("execution", None)
    nbformat.validate(plain)
    return plain


def _environment(folder: str) -> dict[str, str]:
    """The build's surroundings less what could change a lesson; hash seed and time zone stay as they are."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    here = str(Path(ctxlab.__file__).resolve().parent.parent)
    path = os.pathsep.join([here, *([kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else [])])
    return {**kept, "PYTHONPATH": path, "CTXLAB_RECORD": record.IN_MEMORY, "IPYTHONDIR": folder}


def _as_node(v4: Any, cell: Cell, number: int) -> Any:
    node = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell, "raw": v4.new_raw_cell}[cell.kind](
        cell.text
    )
    node["id"] = f"c{number:02d}"
    if cell.tags:
        node.metadata["tags"] = list(cell.tags)
    if cell.minutes is not None:
        node.metadata["minutes"] = cell.minutes
    if cell.exercise is not None:
        node.metadata["exercise"] = cell.exercise
    return node


def _outputs(outputs: list[dict[str, Any]], place: str) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for output in outputs:
        if output.get("name") == "stderr":
            raise BuildError(Problem(place, "no-stderr", "".join(output["text"]).strip()))
        if output["output_type"] == "stream" and kept and kept[-1].get("name") == output["name"]:
            joined = "".join(kept[-1]["text"]) + "".join(output["text"])
            kept[-1]["text"] = joined.splitlines(keepends=True)
            continue
        with contextlib.suppress(KeyError):
            output["data"].pop(_WIDGET_VIEW, None)
            output["metadata"] = {}
            if not output["data"]:
                continue
        kept.append(output)
    return kept
