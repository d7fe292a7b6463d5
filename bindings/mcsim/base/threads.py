"""Threads: how many to use, and work of several that ends with the first to fail."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

from mcsim.base.arguments import whole_number

__all__ = ["Inline", "Once", "Pool", "Stopped", "Work", "done_at_desk", "threads_given"]

T = TypeVar("T")

_MOST_THREADS = 4096
"""Upper limit of threads, above the cores of any machine."""


def threads_given(threads: int | None) -> int:
    """Return how many threads to use: all cores if it is not said."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    return whole_number("threads", threads, 1, _MOST_THREADS)


class Stopped(BaseException):
    """Raised in threads that are to end; no `except Exception` of anybody's holds it up."""


_of_thread = threading.local()


class _Desk:
    """Where threads have something done by the thread that waits for them.

    Code of a user's is: Ctrl-C ends it there as it ends any Python, asleep or not. Where the
    threads of a pool are asleep nothing wakes them, and Python waits for them before it exits.
    """

    def __init__(self) -> None:
        # Questions with the futures of their answers, and futures of finished work.
        self._asked: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | Future[Any]] = (
            SimpleQueue()
        )
        self._lock = threading.Lock()
        self._unanswered: set[Future[Any]] = set()
        self._closed = False

    def serve(self) -> None:
        """Let this thread have things done here; the initializer of a pool's threads."""
        _of_thread.desk = self

    def wait(self, running: Sequence[Future[Any]]) -> None:
        """Do what is asked for until all that runs is done, or something failed."""
        for future in running:
            future.add_done_callback(self._asked.put)
        left = len(running)
        while left > 0:
            asked = self._asked.get()
            if isinstance(asked, tuple):
                self._answer(*asked)
                continue
            left -= 1
            if asked.cancelled() or asked.exception() is not None:
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
    desk: _Desk | None = getattr(_of_thread, "desk", None)
    return work() if desk is None else desk.ask(work)


_GRACE = 0.5  # seconds


class Pool:
    """Threads whose work succeeds or fails as one.

    Leaving the block waits for all that was submitted, and does what it asks for by
    `done_at_desk`. The first to fail stops the others, as soon as they call `check`, and its
    error is raised. An error in the block itself, such as Ctrl-C, waits a moment only.

    Examples
    --------
    >>> from mcsim.base.threads import Pool
    >>> with Pool(2) as pool:
    ...     squares = [pool.submit(pow, x, 2) for x in (3, 4)]
    >>> [square.result() for square in squares]
    [9, 16]
    """

    def __init__(self, threads: int) -> None:
        self._desk = _Desk()
        self._threads = ThreadPoolExecutor(threads, initializer=self._desk.serve)
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
            self._desk.wait(self._running)
        except BaseException:
            self._abandon()
            raise
        self._desk.close()
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
        self._desk.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline and not all(future.done() for future in self._running):
            for ident in list(self._busy):
                raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raised(ctypes.c_ulong(ident), ctypes.py_object(Stopped))
            wait(self._running, timeout=0.1)


class Once:
    """Values that are made once, by whichever thread asks first; others wait for it.

    What could not be made is made anew when it is asked for again.

    Examples
    --------
    >>> from mcsim.base.threads import Once
    >>> once = Once()
    >>> once.get("a", lambda: 1), once.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Hashable, Future[Any]] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, or make it; an error of `make` is raised in all who wait."""
        with self._lock:
            value: Future[T] | None = self._values.get(key)
            if first := value is None:
                value = self._values[key] = Future()
        assert value is not None
        if first:
            try:
                value.set_result(make())
            except BaseException as error:
                with self._lock:
                    del self._values[key]
                value.set_exception(error)
                raise
        return value.result()


class Inline:
    """Does as a `Pool` does, in the thread that submits.

    Parameters
    ----------
    check : callable
        Raises `Stopped` if the work is not wanted any more.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check

    def submit(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Do the work."""
        future: Future[T] = Future()
        future.set_result(work(*args))
        return future

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None:
        pass


Work = Pool | Inline
"""Where work is submitted to."""
