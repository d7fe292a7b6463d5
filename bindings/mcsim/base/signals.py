"""Ctrl-C and SIGTERM, which jobs get that are preempted: both end a process within a second."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mcsim.base.claims import leave_all

__all__ = ["Terminated", "ending_in_time", "exit_code", "what_ended"]

GRACE_SECONDS = 0.8
"""What is under way may be brought to its end by then."""

_OVER = b"\0"


class Terminated(KeyboardInterrupt):
    """SIGTERM came; what is done about Ctrl-C is done about it."""


def exit_code(error: BaseException | None) -> int:
    """Return the exit code of a process that this ended, as shells have it."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def what_ended(error: BaseException | None) -> str:
    """Return what happened in a word."""
    return "terminated" if isinstance(error, Terminated) else "interrupted"


@contextmanager
def ending_in_time() -> Iterator[None]:
    """Let SIGTERM raise `Terminated`, and end the process soon after it or Ctrl-C.

    The main thread gets an exception, and has time to clean up. If it still works then, in code
    that no exception reaches, a thread leaves all claims to others and ends the process. Outside
    of the main thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.getsignal(signal.SIGTERM)
    if before == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    others = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(seen,), name="signals", daemon=True)
    try:
        with _put_off():
            watcher.start()
        yield
    finally:
        signal.set_wakeup_fd(others)
        if before == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.write(told, _OVER)
        watcher.join()
        os.close(told)
        os.close(seen)


@contextmanager
def _put_off() -> Iterator[None]:
    """Let signals wait while a thread starts: an exception amid its locks leaves them torn."""
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    ours = {number: handler for number, handler in handlers.items() if handler is not None}
    for number in ours:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def _watch(seen: int) -> None:
    """Read the numbers of signals that came; end the process when time is over after the first."""
    came = 0
    deadline = 0.0
    while not came or select.select([seen], [], [], max(0, deadline - time.monotonic()))[0]:
        numbers = os.read(seen, 64)
        if _OVER in numbers:
            return
        if not came:
            came = next((n for n in numbers if n in (signal.SIGINT, signal.SIGTERM)), 0)
            deadline = time.monotonic() + GRACE_SECONDS
    leave_all()
    error = Terminated() if came == signal.SIGTERM else KeyboardInterrupt()
    sys.stderr.write(f"mcsim: {what_ended(error)}; what had finished is kept\n")
    sys.stderr.flush()
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(exit_code(error))
