"""Who runs the cells: threads of this process, or any executor of other processes.

Cells are handed out in batches, all of one workload. Threads share what is made of it; other
processes make it themselves, once each. Wherever a batch runs, it leaves packs in the folder of
results, and nothing else tells anybody that it ran: a batch that is run twice, because a worker
was thought dead, leaves the same.
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
from pathlib import Path
from typing import Protocol

from mcsim.base.errors import HostError, McsimError
from mcsim.base.threads import Stopped
from mcsim.sweeps.batch import run_batch
from mcsim.sweeps.plan import PlannedCell
from mcsim.sweeps.task import Task, run_task

__all__ = ["Batch", "Elsewhere", "Threads", "batches", "run_batches"]

Batch = Sequence[PlannedCell]

_GRACE = 0.7  # seconds, in which batches write what they have
_MOST = 64  # cells


class Place(Protocol):
    """Where batches run."""

    def submit(self, found: Sequence[Batch]) -> dict[Future[int], Batch]:
        """Have batches run, at some time; results are how many cells each had."""

    def stop(self) -> None:
        """Begin no more batches, and end those under way after what they have."""


class Threads:
    """Runs batches in threads of this process.

    Parameters
    ----------
    jobs : int
        Threads.
    out : Path
        The folder of all results.
    name : str
        First part of the names of packs.
    done : callable
        Told of cells as they are written.
    """

    def __init__(self, jobs: int, out: Path, name: str, done: Callable[[int], None]) -> None:
        self._pool = ThreadPoolExecutor(jobs)
        self._out, self._name, self._done = out, name, done
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._left: Counter[int] = Counter()

    def submit(self, found: Sequence[Batch]) -> dict[Future[int], Batch]:
        """Have batches run, at some time; results are how many cells each had."""
        self._left.update(id(batch[0].prepared) for batch in found)
        return {self._pool.submit(self._run, batch): batch for batch in found}

    def stop(self) -> None:
        """Begin no more batches, and end those under way after what they have."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, batch: Batch) -> int:
        run_batch(batch, self._out, self._name, self._check, self._done)
        prepared = batch[0].prepared
        with self._lock:
            self._left[id(prepared)] -= 1
            last = not self._left[id(prepared)]
        if last:
            prepared.release()
        return len(batch)

    def _check(self) -> None:
        if self._stop.is_set():
            raise Stopped


class Elsewhere:
    """Runs batches by an executor whose workers see the folder of results.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Such as `distributed.Client.get_executor()`.
    task : callable
        Makes what is sent for a batch.
    done : callable
        Told of cells as they are written.
    """

    def __init__(
        self, executor: Executor, task: Callable[[Batch], Task], done: Callable[[int], None]
    ) -> None:
        self._executor, self._task, self._done = executor, task, done
        self._futures: dict[Future[int], Batch] = {}

    def submit(self, found: Sequence[Batch]) -> dict[Future[int], Batch]:
        """Have batches run, at some time; results are how many cells each had."""
        for batch in found:
            future: Future[int] = self._executor.submit(run_task, self._task(batch))
            self._futures[future] = batch
            future.add_done_callback(self._note)
        return self._futures

    def stop(self) -> None:
        """Begin no more batches; those under way leave what they have."""
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


def run_batches(place: Place, found: Sequence[Batch]) -> None:
    """Run batches until all are done or one fails.

    A batch whose workers die again and again does not keep the others from being run.

    Raises
    ------
    McsimError
        Of the first that failed.
    KeyboardInterrupt
        If interrupted, after a moment in which finished cells are kept.
    """
    futures = place.submit(found)
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
                fatal = _killed(futures[future])
    except BaseException:
        place.stop()
        wait(futures, timeout=_GRACE)
        raise
    if fatal is not None:
        raise fatal


def _killed(batch: Batch) -> HostError:
    first, last = batch[0].cell.index, batch[-1].cell.index
    return HostError(
        f"cells {first}-{last}: every worker that ran them died, out of memory perhaps: give "
        f"workers more, or run them by themselves: --cells {first}-{last} --jobs 1"
    )
