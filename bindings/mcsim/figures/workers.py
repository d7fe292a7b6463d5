"""Processes that draw figures.

Each is a new program that imports mcsim, and not the user's script. A fork of a process that has
threads may wait for ever for a lock of a thread.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from mcsim.base import signals
from mcsim.base.errors import HostError, McsimError

__all__ = ["mapped", "serve"]

T = TypeVar("T")

_PROGRAM = "from mcsim.figures.workers import serve; serve()"


@contextmanager
def mapped(work: Callable[[Any], T], tasks: Sequence[Any], processes: int) -> Iterator[Iterator[T]]:
    """Run `work` on tasks in other processes, which end with the block; yield results in order.

    Parameters
    ----------
    work : callable
        A function of a module.
    tasks : sequence
        Its arguments, one each, which can be pickled.
    processes : int
        With one, or one task, all is done in this process when a result is requested.
    """
    count = min(processes, len(tasks))
    if count < 2 or not sys.executable:
        yield map(work, tasks)
        return
    with _started(count) as workers:
        idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for worker in workers:
            idle.put(worker)

        def send(task: Any) -> T:
            worker = idle.get()
            try:
                result: T = _reply(worker, (work, task))
                return result
            finally:
                idle.put(worker)

        threads = ThreadPoolExecutor(count)
        try:
            yield threads.map(send, tasks)
        finally:
            for worker in workers:
                worker.kill()
            threads.shutdown(cancel_futures=True)


@contextmanager
def _started(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            command = [sys.executable, "-c", _PROGRAM]
            pipe = subprocess.PIPE
            worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
            workers.append(worker)
            signals.children.add(worker)
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            with suppress(BrokenPipeError), worker:  # closes pipes, and waits
                signals.children.discard(worker)


def _reply(worker: subprocess.Popen[bytes], request: Any) -> Any:
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        pickle.dump(request, worker.stdin)
        worker.stdin.flush()
        failed, result = pickle.load(worker.stdout)
    except (OSError, EOFError, pickle.UnpicklingError):
        raise HostError("a process that draws died, out of memory perhaps") from None
    if failed:
        raise result
    return result


def serve() -> None:
    """Answer requests from standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what code prints is no reply
    while True:
        try:
            work, task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reply = False, work(task)
        except (McsimError, MemoryError) as error:
            reply = True, error
        pickle.dump(reply, replies)
        replies.flush()
