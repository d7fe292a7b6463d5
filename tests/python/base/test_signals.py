"""Trusts: the exit codes of processes, as shells have them, and the clock."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from commands import environment

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


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT], ids=["preempted", "ctrl-c"])
def test_a_signal_waits_until_the_watcher_has_started(
    monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    done = []
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        signal.raise_signal(sent)
        done.append("started")

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    count = threading.active_count()
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), ending_in_time():
        done.append("worked")
    assert done == ["started"]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert threading.active_count() == count


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
