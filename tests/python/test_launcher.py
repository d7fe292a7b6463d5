# Trusts: the script's exit codes, and the folders that it leaves.
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from small import ROOT

LAUNCHER = ROOT / "mcsim"


def copy_scripts(checkout: Path) -> None:
    for name in ("mcsim", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, checkout)


def launched(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run the launcher of a checkout, which stops where it needs a Python."""
    copy_scripts(checkout)
    return subprocess.run(
        [checkout / "mcsim", "--version"],
        env=os.environ | {"MCSIM_APT": "no", "MCSIM_PYTHON": "/none"},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that was set up, in a path with a space."""
    found = tmp_path / "a checkout"
    for folder in (".venv", "build/py", "build/asan", "build/fuzz/inputs"):
        (found / folder).mkdir(parents=True)
    for folder in ("py", "asan"):
        cache = found / "build" / folder / "CMakeCache.txt"
        cache.write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={found}\n", encoding="utf-8")
    (found / ".venv/root").write_text(f"{found}\n", encoding="utf-8")
    return found


def test_a_checkout_in_its_place_keeps_its_build(checkout: Path) -> None:
    done = launched(checkout)
    assert (done.returncode, "set MCSIM_PYTHON" in done.stderr) == (3, True)
    assert (checkout / ".venv").is_dir()
    assert (checkout / "build/py").is_dir()


def test_build_folders_of_presets_stay_at_the_first_call(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    assert launched(checkout).returncode == 3
    assert (checkout / "build/asan").is_dir()


@pytest.mark.parametrize("make", [shutil.copytree, shutil.move], ids=["copied", "moved"])
def test_another_place_needs_another_build(checkout: Path, make: object) -> None:
    """Programs of .venv start the code of the place where they were installed."""
    other = checkout.with_name("another place")
    assert callable(make)
    make(checkout, other)
    copy_scripts(other)
    inputs = "cat {mcsim,pyproject.toml,requirements.lock,requirements-dev.lock} | sha256sum"
    stamp = subprocess.run(["bash", "-c", inputs], cwd=other, capture_output=True, check=True)
    (other / ".venv/set_up_run").write_bytes(stamp.stdout)
    (other / ".venv/bin").mkdir()
    shutil.copy("/bin/true", other / ".venv/bin/python")
    (other / "build/py/build.ninja").touch()
    assert launched(other).returncode == 3
    assert not (other / ".venv").exists()
    assert sorted(path.name for path in (other / "build").iterdir()) == ["fuzz", "lock", "log"]


def test_a_checkout_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "build").touch()
    done = launched(tmp_path)
    assert done.returncode == 3
    assert f"{tmp_path} cannot be written by " in done.stderr
    assert len(done.stderr.splitlines()) == 1


FUNCTIONS = f"source <(sed '$d' '{LAUNCHER}')"


def test_ccache_cmake_and_ninja_are_not_needed(tmp_path: Path) -> None:
    without = ("ccache", "cmake", "ninja")
    for folder in os.environ["PATH"].split(":"):
        for tool in Path(folder).glob("*"):
            if tool.name not in without and not (tmp_path / tool.name).exists():
                (tmp_path / tool.name).symlink_to(tool)

    def printed(function: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", f"{FUNCTIONS}\n{function}"],
            env={**os.environ, "PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert not {"ccache", "cmake", "ninja-build"} & {*printed("missing_packages test")}
    assert printed("helpful_packages") == ["ninja-build", "cmake", "ccache"]
    assert "cmake" in printed("missing_packages fuzz")


@pytest.mark.parametrize(
    ("version", "is_enough"), [("3.25.1", True), ("4.2.0", True), ("3.9.4", False), ("", False)]
)
def test_an_old_cmake_is_not_used(tmp_path: Path, version: str, is_enough: bool) -> None:
    script(tmp_path / "cmake", f"echo cmake version {version}" if version else "exit 1")
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"{FUNCTIONS}\nhas_cmake"], env={**os.environ, "PATH": path}
    )
    assert (done.returncode == 0) == is_enough


def script(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


def installing(folder: Path, *lines: str, answer: str | None = None) -> tuple[int, str, list[str]]:
    """Run `install_packages` where one package is missing; at a terminal if there is an answer.

    Returns the exit code, the output and the calls of apt-get, which installs nothing.
    """
    calls = folder / "calls"
    tools = folder / "tools"
    tools.mkdir()
    script(tools / "apt-get", f'echo "$@" >>{calls}')
    script(tools / "sudo", "case $1 in -n) shift ;; -v) exit 0 ;; esac", 'exec "$@"')
    code = (
        f"{FUNCTIONS}\nlogs={folder}\nmissing_packages() {{ echo libone-dev; }}\n"
        "helpful_packages() { :; }\n" + "\n".join((*lines, "install_packages run"))
    )
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "MCSIM_APT": ""}
    terminal, stdin = (None, subprocess.DEVNULL) if answer is None else os.openpty()
    if terminal is not None:
        os.write(terminal, f"{answer}\n".encode())
    done = subprocess.run(
        ["bash", "-c", code], stdin=stdin, capture_output=True, text=True, env=environment
    )
    if terminal is not None:
        os.close(terminal)
        os.close(stdin)
    return done.returncode, done.stderr, calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.parametrize("answer", ["", "y", "n"])
def test_packages_are_not_installed_at_a_terminal_without_a_question(
    tmp_path: Path, answer: str
) -> None:
    code, told, calls = installing(tmp_path, answer=answer)
    assert "system packages are missing: libone-dev" in told
    assert "install them " in told
    if answer == "n":
        assert (code, calls) == (3, [])
        assert told.count("apt-get install --yes --no-install-recommends --no-remove libone") == 1
    else:
        assert code == 0
        assert [call.split()[0] for call in calls] == ["update", "install"]
        assert calls[1].endswith(" libone-dev")


def test_without_a_terminal_or_with_yes_no_question_is_asked(tmp_path: Path) -> None:
    for name, lines, answer in (("batch", (), None), ("yes", ("yes=yes",), "n")):
        (tmp_path / name).mkdir()
        code, told, calls = installing(tmp_path / name, *lines, answer=answer)
        assert (code, len(calls)) == (0, 2), told
        assert "[Y/n]" not in told


def test_yes_stands_before_the_command(checkout: Path) -> None:
    copy_scripts(checkout)
    (checkout / "tests/packages").mkdir(parents=True)
    script(checkout / "tests/packages/run", 'echo "$@"')
    done = subprocess.run(
        [checkout / "mcsim", "--yes", "packages", "links"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "links\n")


def test_another_distribution_has_one_message(tmp_path: Path) -> None:
    """Without apt-get the names of packages are those of Debian."""
    hide = 'command() { [ "$2" != apt-get ] && builtin command "$@"; }'
    code, told, calls = installing(tmp_path, hide)
    assert (code, calls, len(told.splitlines())) == (3, [], 1), told
    assert "which Debian calls libone-dev" in told
    assert "MCSIM_APT=no" in told


@pytest.mark.parametrize("given", ["--help", "0", "10s"])
def test_fuzz_takes_seconds_only(checkout: Path, given: str) -> None:
    copy_scripts(checkout)
    done = subprocess.run([checkout / "mcsim", "fuzz", given], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"as in ./mcsim fuzz 600, not '{given}'" in done.stderr
