"""``python -m ctxlab`` and the console command: says which Python is needed before anything newer is read.

This file and ``__init__`` parse on every Python from 2.7 on, so their types stand in comments; the rest of
the house does not.
"""

import os
import sys

NEEDED = (3, 11)


def main(argv=None):
    # type: (list[str] | None) -> int
    """Run the command line; the exit code is the command's (see ``ctxlab.cli``), or 1 on an old Python."""
    if sys.version_info[:2] < NEEDED:
        words = sys.argv[1:] if argv is None else argv
        sys.stderr.write(too_old(sys.version_info[:2], sys.executable, words))
        return 1
    from ctxlab.cli import run

    return run(argv)


def too_old(version, executable, argv):
    # type: (tuple[int, ...], str, list[str]) -> str
    """What to say to someone whose Python cannot run this: needed, found, and the way on."""
    needed = "%d.%d" % NEEDED
    command = ("-m ctxlab " + " ".join(argv)).rstrip()
    lines = [
        "ctxlab needs Python %s or newer; this is %d.%d (%s)." % (needed, version[0], version[1], executable)
    ]
    newer = _newer_on_path()
    if newer:
        lines.append("A newer one seems to be here. Run:  %s %s" % (newer, command))
    elif os.name == "nt":
        lines.append(
            "Install it from python.org or the Microsoft Store, then run:  py -%s %s" % (needed, command)
        )
    elif sys.platform == "darwin":
        lines.append("Install it from python.org or with  brew install python@%s" % needed)
        lines.append("then run:  python%s %s" % (needed, command))
    else:
        lines.append("Install it with the system's package manager (Debian, Ubuntu:")
        lines.append(
            "sudo apt install python%s python%s-venv), then run:  python%s %s"
            % (needed, needed, needed, command)
        )
    return "\n".join(lines) + "\n"


def _newer_on_path():
    # type: () -> str | None
    suffix = ".exe" if os.name == "nt" else ""
    for minor in range(NEEDED[1] + 8, NEEDED[1] - 1, -1):
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            name = "python%d.%d" % (NEEDED[0], minor)
            if folder and os.access(os.path.join(folder, name + suffix), os.X_OK):
                return name
    return None


if __name__ == "__main__":
    if not __package__:  # "python ctxlab": the folder itself is on the path, the clone is not
        sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main())
