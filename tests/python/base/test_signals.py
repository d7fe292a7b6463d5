"""Trusts: the exit codes of processes, as shells have them, and the clock."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from commands import environment, python

from mcsim.base.errors import HostError
from mcsim.base.signals import Terminated, ending_in_time

PROGRAM = """
import threading, time
from pathlib import Path
from mcsim.base import claims, signals

def ends():
    print("ready", flush=True)
    time.sleep(1000)

def never():
    while True:
        try:
            ends()
        except KeyboardInterrupt:
            pass

mine = claims.claim_folder(Path("work"))
try:
    with signals.ending_in_time():
        {work}
except KeyboardInterrupt as error:
    claims.release_lease(mine, keep=True)
    signals.leave(error)
"""


@pytest.mark.parametrize(
    ("sent", "what"),
    [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")],
    ids=["preempted", "ctrl-c"],
)
@pytest.mark.parametrize("work", ["ends()", "never()"], ids=["ends", "does-not"])
def test_both_signals_end_a_process_in_a_second(
    tmp_path: Path, sent: signal.Signals, what: str, work: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(work=work)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        process.send_signal(sent)
        _, said = process.communicate(timeout=20)
        assert time.monotonic() - began < 5  # on a busy machine
    assert process.returncode == 128 + sent
    assert said == f"mcsim: {what}; what had finished is kept\n"
    (left,) = (tmp_path / "work").iterdir()
    assert left.name.startswith("left.")  # anybody's at once


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tests_in_the_background_give_their_children_the_default_signals(
    number: signal.Signals,
) -> None:
    """A process that ignores the signals starts pytest, as `nohup` does, and CI systems."""
    conftest = Path(__file__).parents[2] / "conftest.py"
    program = f"""
import runpy, subprocess, sys
runpy.run_path({str(conftest)!r})
child = "import signal; signal.raise_signal({number})"
print(subprocess.run([sys.executable, "-c", child], stderr=subprocess.DEVNULL).returncode)
"""
    background = f"trap '' INT TERM HUP QUIT; {sys.executable} -c \"$0\""
    done = subprocess.run(["bash", "-c", background, program], capture_output=True, text=True)
    assert done.stdout == f"{-number}\n", done.stderr


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """The background jobs of shells ignore it; SIGTERM ends them all the same."""
    program = """
import os, signal, time
from mcsim.base.signals import ending_in_time, ending_input, leave

signal.signal(signal.SIGINT, signal.SIG_IGN)
with ending_in_time(), ending_input() as is_over:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
    print(is_over(), signal.getsignal(signal.SIGINT) == signal.SIG_IGN, flush=True)
try:
    with ending_in_time():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1000)
except KeyboardInterrupt as error:
    leave(error)
"""
    done = python("-c", program, timeout=60)
    assert done.stdout == "False True\n"
    assert done.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_without_a_thread_nothing_changes(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    before = signal.getsignal(number)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr("mcsim.base.signals.start_new_thread", refuse)
    with pytest.raises(HostError, match="ulimit -u"), ending_in_time():
        pytest.fail("began without a watcher")
    assert signal.getsignal(number) == before
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_a_watcher_that_ends_at_once_defers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that gets no memory ends so."""
    monkeypatch.setattr("mcsim.base.signals.start_new_thread", lambda *_: None)
    with pytest.raises(Terminated), ending_in_time():
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("sent", "raised"),
    [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)],
    ids=["preempted", "ctrl-c"],
)
def test_what_a_library_makes_of_a_signal_is_an_interruption(
    sent: signal.Signals, raised: type[KeyboardInterrupt]
) -> None:
    def library() -> None:
        try:
            signal.raise_signal(sent)
        except BaseException as error:
            raise ValueError("cannot build the schema") from error

    with pytest.raises(KeyboardInterrupt) as caught, ending_in_time():
        library()
    assert caught.type is raised
    with pytest.raises(ValueError, match="its own"), ending_in_time():
        raise ValueError("its own")


def test_nothing_is_changed_afterwards_or_in_other_threads() -> None:
    before = signal.getsignal(signal.SIGTERM), threading.active_count()
    with ending_in_time():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), threading.active_count()) == before

    def elsewhere() -> None:
        with ending_in_time():
            assert signal.getsignal(signal.SIGTERM) == before[0]

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()


def test_a_test_that_hangs_ends_with_its_traceback(tmp_path: Path) -> None:
    """The limit is that of `pyproject.toml`, lowered."""
    (tmp_path / "test_hang.py").write_text(
        "import time\n\ndef test_that_hangs():\n    time.sleep(1000)\n", encoding="utf-8"
    )
    project = Path(__file__).parents[3] / "pyproject.toml"
    limit = tomllib.loads(project.read_text("utf-8"))["tool"]["pytest"]["faulthandler_timeout"]
    assert 60 < limit <= 600
    arguments = ["-c", project, "-p", "no:cacheprovider", "-o", "faulthandler_timeout=1", tmp_path]
    done = python("-m", "pytest", *arguments, timeout=120)
    assert done.returncode == 1
    assert "in test_that_hangs" in done.stderr
