"""Executors of units of work: threads of this process, or any executor of other processes.

Cells are distributed in batches; a batch has one workload. Threads share the prepared workload and
the packs; other processes prepare it themselves, once each. A batch writes packs into the folder of
results, and has no other effect, so it may run twice, as when a worker was taken for dead.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from mcsim.base.errors import HostError, McsimError
from mcsim.base.threads import Stopped
from mcsim.sweeps.plan import PlannedCell
from mcsim.sweeps.task import PackWriter, run_batch

Batch = Sequence[PlannedCell]

Unit = TypeVar("Unit")

_GRACE = 0.7  # seconds, in which batches write what they have
_MOST = 64  # cells


class CellExecutor(Protocol[Unit]):
    """An executor of units of work, such as batches."""

    def submit(self, units: Sequence[Unit]) -> dict[Future[int], Unit]:
        """Schedule units; the results are their numbers of cells."""

    def stop(self) -> None:
        """Cancel waiting units; finished cells are written."""


class Threads:
    """An executor of batches in threads of this process.

    Parameters
    ----------
    jobs : int
        Number of threads.
    out : Path
        Folder of all results.
    name : str
        First part of the names of packs.
    done : callable
        Notified of the number of cells that have finished since the last call.
    """

    def __init__(self, jobs: int, out: Path, name: str, done: Callable[[int], None]) -> None:
        self._pool = ThreadPoolExecutor(jobs)
        self._writer = PackWriter(out, name, done)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._left: Counter[int] = Counter()

    def submit(self, found: Sequence[Batch]) -> dict[Future[int], Batch]:
        """Schedule batches; the results are their numbers of cells."""
        self._left.update(id(batch[0].prepared) for batch in found)
        return {self._pool.submit(self._run, batch): batch for batch in found}

    def stop(self) -> None:
        """Cancel waiting batches, and end running ones; finished cells are written."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with suppress(McsimError):  # another error, or Ctrl-C, ended the sweep
            self._writer.flush()

    def _run(self, batch: Batch) -> int:
        prepared = batch[0].prepared
        try:
            run_batch(batch, self._writer, self._check)
        finally:
            with self._lock:
                self._left[id(prepared)] -= 1
                is_last, is_over = not self._left[id(prepared)], not self._left.total()
            if is_over or self._stop.is_set():
                self._writer.flush()
        if is_last:
            prepared.release()
        return len(batch)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped


class RemoteExecutor(Generic[Unit]):
    """An adapter for an executor with workers that see the folder of results.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        An executor such as `distributed.Client.get_executor()`.
    run : callable
        Called by workers with a task; returns the number of its cells.
    task : callable
        Returns the task of a unit, which is sent to a worker.
    done : callable
        Notified of the number of cells of a unit when it has finished.
    """

    def __init__(
        self,
        executor: Executor,
        run: Callable[[Any], int],
        task: Callable[[Unit], Any],
        done: Callable[[int], None],
    ) -> None:
        self._executor, self._run, self._task, self._done = executor, run, task, done
        self._futures: dict[Future[int], Unit] = {}

    def submit(self, units: Sequence[Unit]) -> dict[Future[int], Unit]:
        """Schedule units; the results are their numbers of cells."""
        for unit in units:
            future: Future[int] = self._executor.submit(self._run, self._task(unit))
            self._futures[future] = unit
            future.add_done_callback(self._note)
        return self._futures

    def stop(self) -> None:
        """Cancel waiting units; running ones are not interrupted."""
        for future in self._futures:
            future.cancel()

    def _note(self, future: Future[int]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._done(future.result())


def batches(cells: Sequence[PlannedCell], workers: int) -> list[Batch]:
    """Divide cells into batches, each of one workload, some for every worker."""
    of_workload: dict[int, list[PlannedCell]] = {}
    for cell in cells:
        of_workload.setdefault(id(cell.prepared), []).append(cell)
    size = min(_MOST, max(1, len(cells) // (8 * workers)))
    return [
        group[begin : begin + size]
        for group in of_workload.values()
        for begin in range(0, len(group), size)
    ]


def cells_of(batch: Batch) -> tuple[str, str]:
    """Name the cells of a batch, and the options that run only these."""
    numbers = f"{batch[0].cell.index}-{batch[-1].cell.index}"
    return f"cells {numbers}", f"--cells {numbers} --threads 1"


def run_all(
    place: CellExecutor[Unit], units: Sequence[Unit], named: Callable[[Unit], tuple[str, str]]
) -> None:
    """Run units of work until all are done or one fails.

    All other units run even if the workers of one unit die repeatedly.

    Parameters
    ----------
    place : CellExecutor
    units : sequence
    named : callable
        Returns the name of a unit in messages, and the options that run only this unit.

    Raises
    ------
    McsimError
        The error of the first unit that failed.
    KeyboardInterrupt
        If interrupted, after a grace period in which finished cells are written.
    """
    futures = place.submit(units)
    fatal: HostError | None = None
    try:
        for future in as_completed(futures):
            try:
                future.result()
            except (McsimError, KeyboardInterrupt, Stopped):
                raise
            except CancelledError:
                raise HostError("the scheduler went away, or its tasks were cancelled") from None
            except Exception as error:
                if type(error).__name__ != "KilledWorker":
                    raise
                fatal = _killed(*named(futures[future]))
    except BaseException:
        place.stop()
        wait(futures, timeout=_GRACE)
        raise
    if fatal is not None:
        raise fatal


def _killed(what: str, alone: str) -> HostError:
    return HostError(
        f"{what}: every worker that ran them died, out of memory perhaps: give workers more, or "
        f"run them by themselves: {alone}"
    )
