"""Ctrl-C and SIGTERM, which jobs get that are preempted: both end a process within a second."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from mcsim.base.claims import leave_all
from mcsim.base.limits import thread_faults

GRACE_SECONDS = 0.8
"""Time in which work under way may end."""

_OVER = b"\0"

_kept = "what had finished is kept"  # as the message of an interruption says


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; it is handled like Ctrl-C."""


@contextmanager
def ending_in_time() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM, and end the process soon after it or Ctrl-C.

    The main thread gets an exception, and has time to clean up. If a library converts it to an
    error of its own, the interruption is raised again here. If the thread still works after that
    time, in code that no exception reaches, another thread calls `leave`. Outside of the main
    thread this does nothing. A signal that the parent process ignores, such as Ctrl-C in
    background jobs, stays ignored.

    Raises
    ------
    HostError
        If the system starts no thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        came.append(number)
        raise _interruption(number)

    defaults = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    ours = {n: default for n, default in defaults.items() if signal.getsignal(n) == default}
    seen, told = os.pipe()
    os.set_blocking(told, False)
    ended = threading.Lock()
    ended.acquire()
    try:
        # The watcher starts before a handler is set. `threading.Thread.start` could wait for ever
        # for a thread that lacks memory, and an exception of a handler would corrupt its locks.
        with thread_faults():
            start_new_thread(_watch, (seen, ended))
    except BaseException:
        os.close(told)
        os.close(seen)
        raise
    others = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        for number in ours:
            signal.signal(number, interrupt)
        yield
    except Exception as error:
        if came:
            raise _interruption(came[0]) from error
        raise
    finally:
        signal.set_wakeup_fd(others)
        for number, default in ours.items():
            signal.signal(number, default)
        os.write(told, _OVER)
        ended.acquire(timeout=GRACE_SECONDS)
        os.close(told)
        os.close(seen)


@contextmanager
def ending_input() -> Iterator[Callable[[], bool]]:
    """Treat Ctrl-C in the block as the end of its input; yield whether it came.

    From then on, and after the block, Ctrl-C ends the process as usual. It stays ignored if the
    parent process ignores it.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before == signal.SIG_IGN:
        yield lambda: False
        return
    came: list[int] = []
    wakeup = signal.set_wakeup_fd(-1)

    def restore() -> None:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)

    def end(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        restore()

    signal.signal(signal.SIGINT, end)
    try:
        yield lambda: bool(came)
    finally:
        restore()


@contextmanager
def interrupted_with(message: str) -> Iterator[None]:
    """Print this message if the block is interrupted, not that finished work is kept."""
    global _kept  # of the process, which ends at an interruption
    before, _kept = _kept, message
    try:
        yield
    except Exception:
        _kept = before
        raise
    _kept = before


def leave(interruption: KeyboardInterrupt) -> NoReturn:
    """End the process at once, with the exit code of shells; release its leases.

    The exit handlers of Python do not run: threads in user code would block them, and libraries
    with an interrupted import would break them.
    """
    leave_all()
    for child in multiprocessing.active_children():
        child.kill()
    terminated = isinstance(interruption, Terminated)
    what = "terminated" if terminated else "interrupted"
    with suppress(OSError, ValueError):  # a closed stream, or one without a reader
        sys.stdout.flush()
        sys.stderr.write(f"mcsim: {what}; {_kept}\n")
        sys.stderr.flush()
    os._exit(128 + (signal.SIGTERM if terminated else signal.SIGINT))


def _interruption(number: int) -> KeyboardInterrupt:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()


def _watch(seen: int, ended: threading.Lock) -> None:
    """Read the numbers of signals that came; end the process when time is over after the first."""
    came = 0
    deadline = 0.0
    try:
        while not came or select.select([seen], [], [], max(0, deadline - time.monotonic()))[0]:
            numbers = os.read(seen, 64)
            if _OVER in numbers:
                return
            if not came:
                came = next((n for n in numbers if n in (signal.SIGINT, signal.SIGTERM)), 0)
                deadline = time.monotonic() + GRACE_SECONDS
        leave(_interruption(came))
    finally:
        ended.release()
