"""Threads: how many to use, and what ends those that a user has had enough of."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence, Set
from concurrent.futures import Future, wait

from mcsim.base.errors import ConfigError

__all__ = ["Stopped", "break_off", "threads_given"]


def threads_given(threads: int | None) -> int:
    """Return how many threads to use: all cores if it is not said."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    if threads < 1:
        raise ConfigError(f"threads: at least 1, got {threads}")
    return threads


class Stopped(BaseException):
    """Raised in threads that are to end; no `except Exception` of anybody's holds it up."""


_GRACE = 1.0  # seconds


def break_off(idents: Set[int], running: Sequence[Future[None]]) -> None:
    """Raise `Stopped` in the Python code of threads, and wait a moment for them to end.

    Parameters
    ----------
    idents : set of int
        The threads, as far as they are at work.
    running : sequence of Future
        What they work on. One asleep does not notice; it is not waited for.
    """
    deadline = time.monotonic() + _GRACE
    while time.monotonic() < deadline and not all(future.done() for future in running):
        for ident in list(idents):
            raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
            raised(ctypes.c_ulong(ident), ctypes.py_object(Stopped))
        wait(running, timeout=0.1)
