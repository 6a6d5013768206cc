"""The clone's environment: made once, used again, mended when broken, never half-believed."""

from __future__ import annotations

import shutil
import sys
import threading
import venv
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxlab import environment, installing
from ctxlab.environment import Requirement
from ctxlab.installing import Progress, SetupError
from ctxlab.places import clone_root

ROOT = clone_root()
assert ROOT is not None


class Installer:
    """Stands in for the installers: makes a real, empty ``.venv``, notes every call, fails on request."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.fail: BaseException | None = None

    def __call__(self, argv, root, progress, command):
        self.calls.append(list(argv))
        if "venv" in argv:
            venv.create(argv[-1], with_pip=False, symlinks=sys.platform != "win32")
        elif "install" in argv and self.fail is not None:
            raise self.fail

    @property
    def installed(self) -> list[str]:
        return [argv[-1] for argv in self.calls if "install" in argv]

    @property
    def made(self) -> int:
        return sum("venv" in argv for argv in self.calls)


@pytest.fixture
def installer(monkeypatch):
    fake = Installer()
    monkeypatch.setattr(installing, "run", fake)
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    monkeypatch.setattr(environment, "lacking", lambda extra: environment.requirements(extra)[:1])
    return fake


@pytest.fixture
def clone(tmp_path):
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def prepare(clone, extra="notebooks", **options):
    return environment.prepare(clone, extra, command="the same command", **options)


def test_a_first_call_makes_the_environment_and_a_second_one_runs_nothing(clone, installer):
    python = prepare(clone)
    assert python == environment.python_of(clone / ".venv")
    assert installer.installed == [".[notebooks]"]
    before = len(installer.calls)
    assert prepare(clone) == python
    assert len(installer.calls) == before


def test_the_running_interpreter_is_used_when_it_has_everything(clone, installer, monkeypatch):
    monkeypatch.setattr(environment, "lacking", lambda extra: ())
    assert prepare(clone) == Path(sys.executable)
    assert not (clone / ".venv").exists()


def test_other_pins_are_installed_again(clone, installer):
    prepare(clone)
    pins = clone / "constraints.txt"
    pins.write_text(pins.read_text(encoding="utf-8") + "extra-package==1.0\n", encoding="utf-8")
    prepare(clone)
    assert installer.installed == [".[notebooks]"] * 2
    assert installer.made == 1


def test_a_change_that_decides_nothing_installs_nothing(clone, installer):
    prepare(clone)
    project = clone / "pyproject.toml"
    project.write_text(project.read_text(encoding="utf-8") + '\n[tool.other]\nkey = "x"\n', encoding="utf-8")
    prepare(clone)
    assert installer.installed == [".[notebooks]"]


def test_a_larger_extra_is_added_and_a_smaller_one_takes_nothing_away(clone, installer):
    prepare(clone, "notebooks")
    prepare(clone, "dev")
    prepare(clone, "notebooks")
    assert installer.installed == [".[notebooks]", ".[dev]"]
    (clone / "constraints.txt").write_text("", encoding="utf-8")
    prepare(clone, "notebooks")
    assert installer.installed[-1] == ".[dev]"


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), SetupError(())])
def test_an_interrupted_installation_is_not_believed(clone, installer, cause):
    installer.fail = cause
    with pytest.raises(type(cause)):
        prepare(clone)
    assert environment.read_stamp(clone / ".venv") == {}
    installer.fail = None
    prepare(clone)
    assert installer.made == 1
    assert installer.installed == [".[notebooks]"] * 2


def test_a_failed_update_is_not_believed_either(clone, installer):
    prepare(clone)
    (clone / "constraints.txt").write_text("", encoding="utf-8")
    installer.fail = SetupError(())
    with pytest.raises(SetupError):
        prepare(clone)
    assert environment.read_stamp(clone / ".venv") == {}


def test_a_broken_environment_is_made_anew_and_said_to_be(clone, installer, capsys):
    prepare(clone)
    environment.python_of(clone / ".venv").unlink()
    capsys.readouterr()
    prepare(clone)
    assert installer.made == 2
    assert ".venv is broken or half made" in capsys.readouterr().err


def test_a_whole_environment_is_not_made_anew(clone, installer, capsys):
    prepare(clone)
    prepare(clone, "dev")
    assert installer.made == 1
    assert "broken" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "make", [lambda path: path.write_text("mine"), lambda path: (path / "thesis").mkdir(parents=True)]
)
def test_what_is_not_a_virtual_environment_is_never_removed(clone, installer, make):
    make(clone / ".venv")
    with pytest.raises(SetupError, match="not a virtual environment") as caught:
        prepare(clone)
    assert caught.value.problems[0].path == ".venv"
    assert (clone / ".venv").exists()
    assert installer.calls == []


def test_a_clone_that_moved_is_installed_again(clone, installer, tmp_path_factory):
    prepare(clone)
    moved = tmp_path_factory.mktemp("elsewhere") / "clone"
    clone.rename(moved)
    prepare(moved)
    assert installer.installed == [".[notebooks]"] * 2


@pytest.mark.parametrize("left", [[], [".gitignore", "CACHEDIR.TAG"], ["bin"], ["pyvenv.cfg"]])
def test_what_a_killed_set_up_leaves_is_made_anew(clone, installer, left):
    (clone / ".venv").mkdir()
    for name in left:
        (clone / ".venv" / name).touch()
    assert prepare(clone) == environment.python_of(clone / ".venv")
    assert installer.made == 1


def test_two_set_ups_at_once_install_once(clone, installer, capsys):
    began, go_on = threading.Event(), threading.Event()

    def slow(argv, *rest):
        installer(argv, *rest)
        began.set()
        assert go_on.wait(60)

    installing.run = slow  # the fixture puts the real one back
    pythons: list[Path] = []
    first = threading.Thread(target=lambda: pythons.append(prepare(clone)))
    second = threading.Thread(target=lambda: pythons.append(prepare(clone)))
    first.start()
    assert began.wait(60)
    second.start()
    told = ""
    while "waiting for it to end" not in told:
        told += capsys.readouterr().err
    go_on.set()
    first.join(60)
    second.join(60)
    assert pythons == [environment.python_of(clone / ".venv")] * 2
    assert (installer.made, installer.installed) == (1, [".[notebooks]"])


def test_one_set_up_waits_for_nobody(clone, installer, capsys):
    prepare(clone)
    assert "waiting" not in capsys.readouterr().err


def test_a_python_without_ensurepip_is_told_its_package(clone, installer, monkeypatch):
    found = environment.importlib.util.find_spec
    monkeypatch.setattr(
        environment.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else found(name)
    )
    with pytest.raises(SetupError) as caught:
        prepare(clone)
    assert f"python3.{sys.version_info[1]}-venv" in caught.value.problems[0].fix
    assert "the same command" in caught.value.problems[0].fix
    assert not (clone / ".venv").exists()


def test_uv_is_used_where_it_is_there_and_needs_no_ensurepip(clone, installer, monkeypatch):
    monkeypatch.setattr(environment.shutil, "which", lambda name: "/somewhere/uv" if name == "uv" else None)
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    prepare(clone)
    assert [argv[:2] for argv in installer.calls] == [["/somewhere/uv", "venv"], ["/somewhere/uv", "pip"]]
    assert "--compile-bytecode" in installer.calls[-1]


def test_pip_can_be_asked_for_where_uv_is_there(clone, installer, monkeypatch):
    monkeypatch.setattr(environment.shutil, "which", lambda name: "/somewhere/uv" if name == "uv" else None)
    prepare(clone, prefer_pip=True)
    assert "/somewhere/uv" not in [argv[0] for argv in installer.calls]
    assert installer.installed == [".[notebooks]"]


def test_an_environment_without_pip_is_given_one_first(clone, installer):
    prepare(clone)
    assert [argv[3] for argv in installer.calls if "-I" in argv] == ["ensurepip", "pip"]


NO_NETWORK = {
    "pip": "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(\"[Errno -3] "
    "Temporary failure in name resolution\")'\nERROR: No matching distribution found for hatchling>=1.27",
    "uv": "error: Request failed after 3 retries\n  Caused by: error sending request\n  Caused by: dns error",
}


def run_python(code, clone, monkeypatch=None):
    told: list[str] = []
    progress = Progress(told.append, terminal=False, quiet_s=0)
    installing.run([sys.executable, "-I", "-c", code], clone, progress, "the same command")
    return told


@pytest.mark.parametrize("tool", sorted(NO_NETWORK))
def test_a_missing_network_is_called_that_with_the_command_to_repeat(clone, tool):
    with pytest.raises(SetupError) as caught:
        run_python(f"print({NO_NETWORK[tool]!r}); raise SystemExit(1)", clone)
    (problem,) = caught.value.problems
    assert problem.rule == "network"
    assert problem.fix.endswith("the same command")


def test_any_other_failure_shows_the_installers_last_words(clone):
    with pytest.raises(SetupError) as caught:
        run_python("print('no space left on device'); raise SystemExit(3)", clone)
    (problem,) = caught.value.problems
    assert problem.rule == "install"
    assert "no space left on device" in problem.message


@pytest.mark.parametrize(("tool", "offered"), [("uv", True), ("uv.exe", True), ("python3", False)])
def test_a_failure_of_uv_offers_pip(tool, offered):
    failure = installing.failure([f"somewhere/{tool}"], 2, ["broken"], "the same command")
    assert ("the same command --pip" in failure.problems[0].fix) == offered


def test_an_output_closed_by_ctrl_c_is_the_end_of_it():
    def lines():
        yield "first\n"
        raise ValueError("I/O operation on closed file")

    assert list(installing.lines_with_pauses(lines(), pause_s=60)) == ["first"]


def test_settings_that_point_an_installer_elsewhere_are_not_handed_down(clone, monkeypatch):
    for name in ("PIP_USER", "PIP_TARGET", "PYTHONPATH", "PYTHONHOME"):
        monkeypatch.setenv(name, "elsewhere")
    run_python("import os; raise SystemExit(any(v == 'elsewhere' for v in os.environ.values()))", clone)


def test_the_installers_steps_are_told_in_few_words(clone):
    told = run_python("print('Collecting jupyterlab<5,>=4.6 (from ctxlab==0.1.0)')", clone)
    assert any("finding jupyterlab (1)" in line for line in told)


def test_a_silent_installer_does_not_stop_the_clock():
    spoken = threading.Event()

    def lines():
        yield "first\n"
        spoken.wait()
        yield "second\n"

    heard = []
    for line in installing.lines_with_pauses(lines(), pause_s=0.01):
        heard.append(line)
        if line is None:
            spoken.set()
    assert heard[0] == "first"
    assert heard[-1] == "second"
    assert None in heard


def test_a_step_is_one_line_with_its_seconds():
    told: list[str] = []
    progress = Progress(told.append, terminal=False)
    progress.step("Making")
    progress.note("too soon to be worth a line")
    assert told == ["    0 s  Making\n"]


def test_a_terminal_sees_one_changing_line_and_no_remains_of_it():
    told: list[str] = []
    progress = Progress(told.append, terminal=True)
    progress.note("a long line about a package")
    progress.note("short")
    progress.step("Ready")
    assert all(text.startswith("\r") for text in told[:2])
    assert len(told[1]) >= len(told[0])
    assert told[2].strip() == ""
    assert told[-1].endswith("Ready\n")


def test_each_extra_holds_the_one_before():
    names = [{one.name for one in environment.requirements(extra)} for extra in environment.LADDER]
    assert names[0] < names[1] < names[2]
    assert "ctxlab" not in names[-1]


def test_every_requirement_of_every_extra_is_pinned_within_its_bounds():
    pins = environment.pins()
    for extra in ("api", *environment.LADDER, "tokens"):
        for requirement in environment.requirements(extra):
            assert all(requirement.admits(version) for version in pins[requirement.name]), requirement


versions = st.lists(st.integers(0, 11), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@given(versions, versions, versions)
@example("1.0", "2", "1")
@example("1", "2.0", "2")
def test_bounds_mean_what_the_installers_mean(minimum, below, version):
    from packaging.specifiers import SpecifierSet

    requirement = Requirement.parse(f"package[extra]>={minimum},<{below} ; python_version >= '3.11'")
    assert requirement.name == "package"
    assert requirement.admits(version) == SpecifierSet(f">={minimum},<{below}").contains(version)


def test_a_missing_and_an_outdated_package_are_both_lacking(monkeypatch):
    versions = {"jupyterlab": "4.5.9", "numpy": None}
    monkeypatch.setattr(environment, "installed_version", lambda name: versions.get(name, "999999"))
    wanted = tuple(Requirement.parse(text) for text in ("jupyterlab>=4.6,<5", "numpy>=2.1", "pyyaml>=6"))
    monkeypatch.setattr(environment, "requirements", lambda extra: wanted)
    assert [one.name for one in environment.lacking("notebooks")] == ["jupyterlab", "numpy"]
