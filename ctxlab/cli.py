"""The command line: ``python -m ctxlab COMMAND`` from a clone, ``ctxlab COMMAND`` once installed.

Models: words to functions. ``lab`` and ``test`` first see to the environment and go on inside it. Exit codes:
0 done; 1 not ready, a test or a prediction failed, or a breaker is confirmed; 2 the words or the input were
wrong, or something could not be read or written; 130 stopped by the person.
Does not model: anything a command does.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import ctxlab
from ctxlab import environment
from ctxlab.commands.images import add_images
from ctxlab.commands.words import add_commands
from ctxlab.errors import CtxlabError, Problem
from ctxlab.installing import SetupError
from ctxlab.places import clone_root, notebooks_path

Command = Callable[[argparse.Namespace], int]


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors raised on purpose become lines on stderr."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # a console that lacks a sign shows "?" for it
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _dispatch(words)
        _flush()
        return code
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except CtxlabError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader (head, a closed pager) has seen enough
        _write_no_more()
        return 0
    except OSError as error:  # no such folder, no right to write, a full disk
        place, told = str(error.filename or "output"), error.strerror or str(error)
        print(Problem(place, "file-system", told), file=sys.stderr)
        if error.filename is None:
            _write_no_more()
        return 2
    except KeyboardInterrupt:
        print("stopped; run the same command to go on", file=sys.stderr)
        return 130


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by whoever started this
            stream.flush()


def _write_no_more() -> None:
    """Let what is still unwritten go nowhere, or Python would fail once more on leaving."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """The whole grammar; each command carries its function as ``command``."""
    top = argparse.ArgumentParser(
        prog="ctxlab",
        description="What to send an LLM this turn, what to keep, what it costs, and why the cache died.",
        epilog=_example("lab"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"ctxlab {ctxlab.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Command, purpose: str, example: str) -> argparse.ArgumentParser:
        one = commands.add_parser(
            name,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}.",
            epilog=_example(example),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.set_defaults(command=command)
        return one

    lab = add("lab", _lab, "open the lessons in JupyterLab, on copies of your own", "lab --reset 01")
    lab.add_argument(
        "--reset",
        metavar="NN",
        action="append",
        default=[],
        help="begin lesson NN anew; the old copy is kept",
    )
    lab.add_argument("--copy-only", action="store_true", help="make the copies and start nothing")
    lab.add_argument("--notebook7", action="store_true", help="open Jupyter Notebook instead of JupyterLab")
    lab.add_argument("--no-browser", action="store_true", help="start the server and print its address")
    lab.add_argument("--port", type=_port, help="the server's port; an error if it is taken")

    test = add("test", _test, "run every test, notebooks included", "test -- -k usage -x")
    test.add_argument("--browser", action="store_true", help="and the tests that drive a Chromium")
    test.add_argument("--property", metavar="NAME", help="instead: try a property on random cases (levers)")
    test.add_argument("--n", type=int, default=1_000, help="with --property: how many cases (default: 1000)")
    test.add_argument("--seed", type=int, default=0, help="with --property: which cases (default: 0)")
    test.add_argument("pytest", nargs="*", help="after --: words for pytest; paths replace the usual folders")

    doctor = add(
        "doctor", _doctor, "show what is here, what is missing, and what mends it", "doctor --kernel"
    )
    doctor.add_argument("--kernel", action="store_true", help="also start a kernel (a few seconds)")
    doctor.add_argument("--json", action="store_true", help="print one JSON object")
    doctor.add_argument("--here", action="store_true", help="the running Python, never the clone's .venv")

    status = add("status", _status, "show where you are, large enough for a room", "status 00")
    status.add_argument("lesson", metavar="NN", nargs="?", help="default: the lesson last worked on")

    handout = add("handout", _handout, "write a two-page sheet of one lesson, for paper", "handout 00")
    handout.add_argument("lesson", metavar="NN", help="the lesson's number")
    handout.add_argument("--to", type=Path, metavar="FOLDER", default=Path(), help="default: this folder")

    bill = add("bill", _bill, "add up your own agent's logs: figures, never text", "bill logs/")
    bill.add_argument("path", type=Path, metavar="FILE_OR_FOLDER", help="logs as JSON lines, plain or gzip")
    bill.add_argument("--to", type=Path, metavar="FILE", help="also write the page as Markdown")

    mend = add(
        "repair",
        _repair,
        "mend a saved session that the API refuses, beside the original",
        "repair session.json",
    )
    mend.add_argument("session", type=Path, metavar="FILE", help="a request body, or its messages, as JSON")
    mend.add_argument("--output", type=Path, metavar="FILE", help="default: NAME.repaired.EXT beside it")
    mend.add_argument("--json", action="store_true", help="print the report as one JSON object")
    mend.add_argument("--model", metavar="ID", help="default: the one the session names")
    mend.add_argument(
        "--touched",
        type=int,
        metavar="N",
        action="append",
        default=[],
        help="messages.N of the API's 'thinking blocks … cannot be modified' (again for more)",
    )

    add_commands(add)
    add_images(add)

    conformance = add(
        "conformance",
        _conformance,
        "replay recorded traffic, and say what was predicted of it",
        "conformance --recordings mine.jsonl",
    )
    which = conformance.add_mutually_exclusive_group()
    which.add_argument("--recordings", type=Path, metavar="FILE", help="requests and their answers")
    which.add_argument(
        "--live",
        action="store_true",
        help="send data/scenarios to the API first (your key, your money; asks)",
    )
    conformance.add_argument("--traces", type=Path, metavar="FILE", help="turns of agent sessions")
    conformance.add_argument("--json", action="store_true", help="print one JSON object with every row")
    conformance.add_argument(
        "--case",
        metavar="NAME",
        action="append",
        default=[],
        help="with --live: this case only (again for more)",
    )
    conformance.add_argument("--to", type=Path, metavar="FILE", help="with --live: where to record to")
    conformance.add_argument("--yes", action="store_true", help="with --live: send without being asked")

    emulate = add(
        "emulate", _emulate, "serve an emulated Messages API on this machine", "emulate --port 8089"
    )
    emulate.add_argument("--port", type=int, default=8089, help="default: 8089; 0 takes a free one")
    emulate.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="default: 127.0.0.1")
    emulate.add_argument(
        "--open-to-network", action="store_true", help="take a --host that other machines can reach"
    )

    for one in (lab, test, handout, emulate):
        one.add_argument("--pip", action="store_true", help="set up with pip even where uv is on the PATH")

    return top


def _example(words: str) -> str:
    return f"example:       ctxlab {words}\nfrom a clone:  {environment.retry_command(words)}"


def _port(word: str) -> int:
    if not word.isdecimal() or int(word) > 65_535:
        raise argparse.ArgumentTypeError(f"is {word!r}; give a number from 0 (any free one) to 65535")
    return int(word)


def _dispatch(words: list[str]) -> int:
    grammar = parser()
    known = next(action.choices for action in grammar._actions if isinstance(action.choices, dict))
    if words and not words[0].startswith("-") and words[0] not in known:
        nearest = difflib.get_close_matches(words[0].lower(), known, n=1, cutoff=0.5)
        fix = f"did you mean: ctxlab {nearest[0]}" if nearest else f"one of: {', '.join(known)}"
        raise CtxlabError(Problem(words[0], "known-command", "is not a command", fix))
    asked, left = grammar.parse_known_args(words or ["--help"])
    if left:
        fix = "words for pytest go behind --" if words[0] == "test" else f"see: ctxlab {words[0]} --help"
        raise CtxlabError(Problem(left[0], "known-word", f"means nothing to ctxlab {words[0]}", fix))
    asked.words = words
    command: Command = asked.command
    return command(asked)


def _lab(asked: argparse.Namespace) -> int:
    from ctxlab import lab

    for number in asked.reset:  # a mistyped one is told before a minute of set-up, not after
        lab.lesson(number)
    if not asked.copy_only:
        code = _go_on_inside("notebooks", asked)
        if code is not None:
            return code
    copies = lab.copy_lessons(lab.learners_folder(), asked.reset)
    for name, path in copies.set_aside:
        print(f"{name}: begun anew; your old copy is {path}")
    for name in copies.made:
        print(f"{name}: copied to {copies.folder}")
    if copies.kept:
        print(f"{', '.join(copies.kept)}: yours, left as they are")
    if asked.copy_only:
        return 0
    lab.trust(copies)
    start = lab.jupyter_command(
        copies, notebook7=asked.notebook7, browser=not asked.no_browser, port=asked.port
    )
    print(f"Opening {copies.first}; stop with Ctrl-C.", flush=True)
    return _become(start, lab.jupyter_environment())


def _test(asked: argparse.Namespace) -> int:
    from ctxlab import suite

    if asked.property is not None:
        from ctxlab import properties

        return properties.run(asked.property, asked.n, asked.seed)
    root = clone_root()
    if root is None:
        print("ctxlab test needs a clone of the repository; this is an installed package. What is here:")
        _doctor(parser().parse_args(["doctor"]))
        return 1
    if asked.browser and suite.find_chromium() is None:
        fix = f"{suite.how_to_get_chromium()}; or set CHROMIUM to the path of one"
        raise SetupError(Problem("--browser", "chromium", "finds no Chromium on this machine", fix))
    code = _go_on_inside("browser" if asked.browser else "dev", asked)
    return suite.run(root, asked.pytest, browser=asked.browser) if code is None else code


def _doctor(asked: argparse.Namespace) -> int:
    from ctxlab import doctor

    if not asked.here and (better := environment.better_python("notebooks")) is not None:
        return _become([str(better), "-m", "ctxlab", *asked.words], dict(os.environ))
    items = doctor.examine(start_kernel=asked.kernel)
    print(doctor.as_json(items) if asked.json else doctor.screen(items))
    return 0 if doctor.can_run(items) else 1


def _status(asked: argparse.Namespace) -> int:
    from ctxlab import lab
    from ctxlab.checks import status_text

    os.environ.setdefault("CTXLAB_RECORD", str(lab.learners_folder() / lab.RECORD))
    print(status_text(None if asked.lesson is None else _number(asked.lesson)))
    return 0


def _number(word: str) -> str:
    """A lesson's two digits, from any way to name it; raises :class:`InvalidArgumentError`."""
    from ctxlab import lab

    return lab.lesson(word).name[:2]


def _handout(asked: argparse.Namespace) -> int:
    number = _number(asked.lesson)
    code = _go_on_inside("notebooks", asked)
    if code is not None:
        return code
    from ctxlab.notebooks import handout

    print(handout.write(number, notebooks_path(), asked.to))
    return 0


def _bill(asked: argparse.Namespace) -> int:
    from ctxlab.recordings import read_log
    from ctxlab.takeaways import bill_page

    log = read_log(asked.path)
    print(log)
    print(bill_page(log, write_to=asked.to))
    return 0


def _repair(asked: argparse.Namespace) -> int:
    from ctxlab import repairs

    report, written = repairs.repair_file(
        asked.session, asked.output, touched=asked.touched, model=asked.model
    )
    if asked.json:
        print(json.dumps(repairs.as_object(report, written), indent=2, ensure_ascii=False))
    else:
        print(report)
        if written is not None:
            print(f"written: {written}")
    return 1 if report.left else 0


def _conformance(asked: argparse.Namespace) -> int:
    from ctxlab import conformance
    from ctxlab.recordings import exchanges, read_exchanges, read_sessions, sessions

    problems = False
    if not asked.live and (asked.case or asked.to or asked.yes):
        told = Problem("--case, --to, --yes", "goes-with", "are about --live, which is not there")
        raise CtxlabError(told)
    if asked.live:
        from ctxlab.live.running import live

        sent = live(asked.to, only=asked.case, yes=asked.yes)
        if isinstance(sent, int):
            return sent
        asked.recordings, problems = sent.path, bool(sent.problems)
    shipped = asked.recordings is None and asked.traces is None
    rows = exchanges() if shipped else read_exchanges(asked.recordings) if asked.recordings else ()
    turns = sessions() if shipped else read_sessions(asked.traces) if asked.traces else None
    replayed = conformance.replay(rows)
    steps = None if turns is None else conformance.steps(turns)
    if asked.json:
        print(json.dumps(conformance.as_object(replayed, steps), indent=2))
    else:
        print(conformance.page(replayed, steps))
    if not asked.live and conformance.checked_nothing(replayed, steps):  # a live run has checked its claims
        if asked.json:
            print(conformance.NOTHING_CHECKED, file=sys.stderr)
        return 2
    wrong = replayed.of("wrong") or any(one.wrong for one in replayed.compactions)
    return 1 if problems or wrong else 0


def _emulate(asked: argparse.Namespace) -> int:
    if environment.lacking("api"):
        code = _go_on_inside("api" if clone_root() is None else "notebooks", asked)
        if code is not None:
            return code
    from ctxlab.emulator.engine import Engine
    from ctxlab.emulator.server import serve

    try:
        serve(Engine(), asked.host, asked.port, open_to_network=asked.open_to_network)
    except (OSError, OverflowError) as error:
        told = Problem("--host, --port", "can-listen", f"{asked.host}, {asked.port}: {error}", "try --port 0")
        raise CtxlabError(told) from None
    return 0


def _go_on_inside(extra: str, asked: argparse.Namespace) -> int | None:
    """Make sure of ``extra``: None when this Python has it, else what the same words gave in ``.venv``."""
    root = clone_root()
    if root is None:
        if missing := environment.lacking(extra):
            names = ", ".join(str(one) for one in missing)
            fix = f'pip install "ctxlab[{extra}]"'
            raise SetupError(Problem("packages", "installed", f"missing: {names}", fix))
        return None
    python = environment.prepare(
        root, extra, command=environment.retry_command(*asked.words), prefer_pip=asked.pip
    )
    if python == Path(sys.executable):
        return None
    return _become([str(python), "-m", "ctxlab", *asked.words], dict(os.environ))


def _become(argv: Sequence[str], variables: dict[str, str]) -> int:
    """Go on as another program; on Windows, where that hands the prompt back at once, wait for it instead."""
    _flush()
    if os.name != "nt":
        os.execve(argv[0], list(argv), variables)
    return subprocess.run(list(argv), env=variables, check=False).returncode
