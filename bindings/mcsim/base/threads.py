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

    workers = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.join()
    except BaseException:
        stop()
        _break_off(workers)
        raise
    for error in sorted(errors, key=lambda error: isinstance(error, Stopped)):
        raise error


_GRACE = 1.0  # seconds


def _break_off(workers: Iterable[threading.Thread]) -> None:
    deadline = time.monotonic() + _GRACE
    for worker in workers:
        while worker.is_alive() and time.monotonic() < deadline:
            raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raised(ctypes.c_ulong(worker.ident or 0), ctypes.py_object(Stopped))
            worker.join(0.05)
