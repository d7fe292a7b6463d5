"""Who runs units of work: threads of this process, or any executor of other processes.

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
from typing import Any, Generic, Protocol, TypeVar

from mcsim.base.errors import HostError, McsimError
from mcsim.base.threads import Stopped
from mcsim.sweeps.plan import PlannedCell
from mcsim.sweeps.task import run_batch

Batch = Sequence[PlannedCell]

Unit = TypeVar("Unit")

_GRACE = 0.7  # seconds, in which batches write what they have
_MOST = 64  # cells


class Place(Protocol[Unit]):
    """Where units of work, such as batches, are run."""

    def submit(self, units: Sequence[Unit]) -> dict[Future[int], Unit]:
        """Schedule units; the results are their numbers of cells."""

    def stop(self) -> None:
        """Begin no more of them, and end those under way after what they have."""


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


class Elsewhere(Generic[Unit]):
    """Runs units of work by an executor whose workers see the folder of results.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Such as `distributed.Client.get_executor()`.
    run : callable
        Called by workers with what is sent; returns how many cells it had.
    task : callable
        Makes what is sent for a unit.
    done : callable
        Notified of cells as they are written.
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
        """Begin no more of them; those under way leave what they have."""
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
    """Name the cells of a batch, and the options that run them by themselves."""
    numbers = f"{batch[0].cell.index}-{batch[-1].cell.index}"
    return f"cells {numbers}", f"--cells {numbers} --threads 1"


def run_all(
    place: Place[Unit], units: Sequence[Unit], named: Callable[[Unit], tuple[str, str]]
) -> None:
    """Run units of work until all are done or one fails.

    One whose workers die again and again does not keep the others from being run.

    Parameters
    ----------
    place : Place
    units : sequence
    named : callable
        Returns what messages call a unit, and how it is run by itself.

    Raises
    ------
    McsimError
        Of the first that failed.
    KeyboardInterrupt
        If interrupted, after a moment in which what is finished is kept.
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
