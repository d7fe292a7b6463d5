"""Threads: how many to use, and work of several that ends with the first to fail."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

from mcsim.base.errors import ConfigError

__all__ = ["Pool", "Stopped", "threads_given"]

T = TypeVar("T")


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


class Pool:
    """Threads whose work succeeds or fails as one.

    Leaving the block waits for all that was submitted. The first to fail stops the others, as
    soon as they call `check`, and its error is raised. An error in the block itself, such as
    Ctrl-C, waits a moment only.

    Examples
    --------
    >>> with Pool(2) as pool:
    ...     squares = [pool.submit(pow, x, 2) for x in (3, 4)]
    >>> [square.result() for square in squares]
    [9, 16]
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads)
        self._running: list[Future[Any]] = []
        self._busy: set[int] = set()
        self._stop = threading.Event()

    def submit(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Have a thread do the work."""
        future = self._threads.submit(self._do, work, args)
        self._running.append(future)
        return future

    def check(self) -> None:
        """Raise `Stopped` if another's work failed or nobody wants this one any more."""
        if self._stop.is_set():
            raise Stopped

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self._abandon()
            return
        try:
            wait(self._running, return_when=FIRST_EXCEPTION)
        except BaseException:
            self._abandon()
            raise
        self._threads.shutdown()
        raised = [future.exception() for future in self._running]
        errors = [failed for failed in raised if failed is not None]
        for failed in sorted(errors, key=lambda failed: isinstance(failed, Stopped)):
            raise failed

    def _do(self, work: Callable[..., T], args: tuple[Any, ...]) -> T:
        self.check()
        self._busy.add(threading.get_ident())
        try:
            return work(*args)
        except BaseException:
            self._stop.set()
            raise
        finally:
            self._busy.discard(threading.get_ident())

    def _abandon(self) -> None:
        """Raise `Stopped` in the Python code of the threads, and wait a moment for them to end.

        One that sleeps does not notice; it is not waited for.
        """
        self._stop.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and not all(future.done() for future in self._running):
            for ident in list(self._busy):
                raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raised(ctypes.c_ulong(ident), ctypes.py_object(Stopped))
            wait(self._running, timeout=0.1)
