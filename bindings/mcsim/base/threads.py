"""Threads: how many to use, and work of several that ends with the first to fail."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

from mcsim.base.arguments import whole_number

T = TypeVar("T")

_MOST_THREADS = 4096
"""Upper limit of threads, above the cores of any machine."""

_GRACE = 0.5  # seconds


def threads_given(threads: int | None) -> int:
    """Return the number of threads to use: all cores if it is None."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    return whole_number("threads", threads, 1, _MOST_THREADS)


class Stopped(BaseException):
    """Ends a thread's work; `except Exception` does not catch it."""


_of_thread = threading.local()


class MainThreadExecutor(Executor):
    """Run calls of a pool's threads in the thread that waits for the pool.

    User code runs there because Ctrl-C interrupts the main thread even if it sleeps. No signal
    wakes a sleeping thread of a pool, and Python joins these threads before it exits.
    """

    def __init__(self) -> None:
        # Calls with their futures, and futures of finished work of the pool.
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | Future[Any]] = (
            SimpleQueue()
        )
        self._lock = threading.Lock()
        self._is_shut_down = False

    def serve(self) -> None:
        """Make this thread's `run_in_main_thread` use this executor; the initializer of a pool."""
        _of_thread.executor = self

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Queue a call; raise `Stopped` after `shutdown`."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_shut_down:
                raise Stopped
            self._queue.put((future, partial(fn, *args, **kwargs)))
        return future

    def run_until_done(self, running: Sequence[Future[Any]]) -> None:
        """Run queued calls until all of `running` are done, or the first of them fails."""
        for future in running:
            future.add_done_callback(self._queue.put)
        pending = len(running)
        while pending > 0:
            item = self._queue.get()
            if isinstance(item, tuple):
                self._run(*item)
                continue
            pending -= 1
            if item.cancelled() or item.exception() is not None:
                return

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Refuse further calls and cancel queued ones; there is nothing to wait for."""
        with self._lock:
            self._is_shut_down = True
        while not self._queue.empty():
            item = self._queue.get()
            if isinstance(item, tuple):
                item[0].cancel()

    def _run(self, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            future.set_result(call())
        except KeyboardInterrupt:
            future.cancel()
            raise
        except BaseException as error:
            future.set_exception(error)


def run_in_main_thread(call: Callable[[], T]) -> T:
    """Run a call in the thread that waits for this thread's pool, or here without a pool."""
    executor: MainThreadExecutor | None = getattr(_of_thread, "executor", None)
    if executor is None:
        return call()
    future = executor.submit(call)
    try:
        return future.result()
    except CancelledError:
        if future.cancelled():
            raise Stopped from None
        raise


class Pool:
    """Threads that succeed or fail together.

    Leaving the block waits for all submitted work, and runs calls of `run_in_main_thread`
    meanwhile. The first failure sets a stop event, and its error is raised: the others end where
    they call `check`. After an error in the block itself, such as Ctrl-C, threads that do not
    call `check` are waited for half a second only.

    Examples
    --------
    >>> from mcsim.base.threads import Pool
    >>> with Pool(2) as pool:
    ...     squares = [pool.submit(pow, x, 2) for x in (3, 4)]
    >>> [square.result() for square in squares]
    [9, 16]
    """

    def __init__(self, threads: int) -> None:
        self._main = MainThreadExecutor()
        self._threads = ThreadPoolExecutor(threads, initializer=self._main.serve)
        self._running: list[Future[Any]] = []
        self._stop = threading.Event()

    def submit(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Submit work to the threads."""
        future = self._threads.submit(self._do, work, args)
        self._running.append(future)
        return future

    def check(self) -> None:
        """Raise `Stopped` if other work failed or the pool was interrupted."""
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
            self._interrupt()
            return
        try:
            self._main.run_until_done(self._running)
        except BaseException:
            self._interrupt()
            raise
        self._main.shutdown()
        self._threads.shutdown()
        raised = [future.exception() for future in self._running]
        errors = [failed for failed in raised if failed is not None]
        for failed in sorted(errors, key=lambda failed: isinstance(failed, Stopped)):
            raise failed

    def _do(self, work: Callable[..., T], args: tuple[Any, ...]) -> T:
        self.check()
        try:
            return work(*args)
        except BaseException:
            self._stop.set()
            raise

    def _interrupt(self) -> None:
        """Stop all work, and wait a moment for threads to reach their next `check`."""
        self._stop.set()
        self._main.shutdown()
        self._threads.shutdown(wait=False, cancel_futures=True)
        wait([future for future in self._running if not future.cancelled()], timeout=_GRACE)


class Once:
    """Values that are computed once, by the first thread; others wait for it.

    After a failure, the next call computes the value again.

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
        """Return the value of a key, or compute it; all waiting threads get an error of `make`."""
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
    """A `Pool` that works in the thread that submits.

    Parameters
    ----------
    check : callable
        Raises `Stopped` if the work was interrupted.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check

    def submit(self, work: Callable[..., T], *args: Any) -> Future[T]:
        """Run the work."""
        future: Future[T] = Future()
        future.set_result(work(*args))
        return future

    def __enter__(self) -> Inline:
        return self

    def __exit__(self, *_: object) -> None:
        pass


Work = Pool | Inline
"""A pool, or its replacement without threads."""
