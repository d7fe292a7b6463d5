"""Threads: how many, and tasks that run in them until one fails or the user has enough."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterable

from mcsim.base.errors import ConfigError

__all__ = ["Stopped", "run_all", "threads_given"]


def threads_given(threads: int | None) -> int:
    """Return how many threads to use: all cores if it is not said."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    if threads < 1:
        raise ConfigError(f"threads: at least 1, got {threads}")
    return threads


class Stopped(BaseException):
    """Raised in threads that are to end; no `except Exception` of anybody's holds it up."""


def run_all(
    tasks: Iterable[Callable[[], object]], threads: int, stop: Callable[[], object]
) -> None:
    """Run tasks in threads, and raise what the first to fail raised.

    Parameters
    ----------
    tasks : iterable of callable
    threads : int
        At a time.
    stop : callable
        Called when a task failed or Ctrl-C was pressed: tasks that look are to raise `Stopped`.
        After Ctrl-C it is also raised in the Python code of those that do not look, and no more
        than a second is waited for those that do not even notice that, such as one asleep.
    """
    waiting = iter(list(tasks))  # whose `next` is atomic
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while (task := next(waiting, None)) is not None and not errors:
                task()
        except BaseException as error:
            errors.append(error)
            stop()

    workers = [_Worker(work) for _ in range(threads)]
    try:
        for worker in workers:
            worker.ended.wait()
    except BaseException:
        stop()
        _break_off(workers)
        raise
    for error in sorted(errors, key=lambda error: isinstance(error, Stopped)):
        raise error


class _Worker:
    """A thread that tells when it ended: a `join` that Ctrl-C interrupts takes it for ended."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.ended = threading.Event()
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self.ended.set()

    def interrupt(self) -> None:
        """Raise `Stopped` in its Python code."""
        ident = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Stopped))


_GRACE = 1.0  # seconds


def _break_off(workers: Iterable[_Worker]) -> None:
    deadline = time.monotonic() + _GRACE
    for worker in workers:
        while not worker.ended.is_set() and time.monotonic() < deadline:
            worker.interrupt()
            worker.ended.wait(0.1)
