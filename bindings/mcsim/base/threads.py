"""Threads: how many to use, and what ends those that a user has had enough of."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence, Set
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any

from mcsim.base.errors import ConfigError

__all__ = ["Desk", "Stopped", "break_off", "done_at_desk", "threads_given"]


def threads_given(threads: int | None) -> int:
    """Return how many threads to use: all cores if it is not said."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    if threads < 1:
        raise ConfigError(f"threads: at least 1, got {threads}")
    return threads


class Stopped(BaseException):
    """Raised in threads that are to end; no `except Exception` of anybody's holds it up."""


_of_thread = threading.local()


class Desk:
    """Where threads have something done by the thread that waits for them.

    Code of a user's is: Ctrl-C ends it there as it ends any Python, asleep or not. Where the
    threads of a pool are asleep nothing wakes them, and Python waits for them before it exits.
    """

    def __init__(self) -> None:
        self._asked: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._unanswered: set[Future[Any]] = set()
        self._closed = False

    def serve(self) -> None:
        """Let this thread have things done here; the initializer of a pool's threads."""
        _of_thread.desk = self

    def wait(self, running: Sequence[Future[None]]) -> None:
        """Do what is asked for until all that runs is done, or something failed."""
        for future in running:
            future.add_done_callback(lambda _: self._asked.put(None))
        while not all(future.done() for future in running):
            if (asked := self._asked.get()) is not None:
                self._answer(*asked)
            if any(future.done() and future.exception() is not None for future in running):
                return

    def close(self) -> None:
        """Raise `Stopped` in threads that wait for an answer, or will ask."""
        with self._lock:
            self._closed = True
            for answer in self._unanswered:
                if not answer.done():
                    answer.set_exception(Stopped())

    def ask(self, work: Callable[[], Any]) -> Any:
        """Have something done, and return what it returns or raise what it raises."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise Stopped
            self._unanswered.add(answer)
        self._asked.put((work, answer))
        try:
            return answer.result()
        finally:
            with self._lock:
                self._unanswered.discard(answer)

    def _answer(self, work: Callable[[], Any], answer: Future[Any]) -> None:
        try:
            result = work()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            answer.set_exception(error)
        else:
            answer.set_result(result)


def done_at_desk(work: Callable[[], Any]) -> Any:
    """Have something done at the desk of this thread, or here if it has none."""
    desk: Desk | None = getattr(_of_thread, "desk", None)
    return work() if desk is None else desk.ask(work)


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
