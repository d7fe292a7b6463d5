"""A sweep, from what one writes to one table."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from mcsim import _core
from mcsim.base.arguments import file_given
from mcsim.base.errors import ConfigError, HostError, brief, mistakes_in
from mcsim.base.files import check_writable
from mcsim.base.inputs import resolved
from mcsim.base.limits import limits_named, memory_available
from mcsim.base.progress import Reporter, notebook_reporter
from mcsim.base.threads import threads_given
from mcsim.base.units import format_size, parse_bytes
from mcsim.experiment.code import AllowCode, Code, Permission
from mcsim.experiment.environment import build_digest
from mcsim.experiment.experiment import Given
from mcsim.results.packs import set_aside_damaged
from mcsim.sweeps.estimate import Estimate, estimate
from mcsim.sweeps.execute import (
    Batch,
    CellExecutor,
    RemoteExecutor,
    Threads,
    batches,
    cells_of,
    run_all,
)
from mcsim.sweeps.plan import Plan, PlannedCell, folder_of, plan, read_grid
from mcsim.sweeps.selection import chosen
from mcsim.sweeps.store import finished
from mcsim.sweeps.swept import Sweep
from mcsim.sweeps.task import SweepContext, run_task
from mcsim.traces.find import trace_dirs_given


@dataclass(frozen=True)
class SweepStatus:
    """Status of a sweep before its cells run.

    Attributes
    ----------
    made : Sweep
        Its plan and, later, its results.
    planned : Plan
        All cells.
    wanted : sequence of PlannedCell
        The selected cells.
    missing : sequence of PlannedCell
        Selected cells without results.
    context : SweepContext
        Context that is sent to other processes.
    """

    made: Sweep
    planned: Plan
    wanted: Sequence[PlannedCell]
    missing: Sequence[PlannedCell]
    context: SweepContext

    def estimated(self) -> Estimate | None:
        """Estimate the missing cells by short replays; None if no cell is missing."""
        return estimate(self.missing, self.context.out) if self.missing else None

    def text(self) -> str:
        """Describe the sweep: its grid, cached data, finished cells and cells to run."""
        grid = self.planned.grid
        axes = " x ".join(f"{len(axis.steps)} {', '.join(axis.names)}" for axis in grid.axes)
        workloads = len(self.planned.workloads)
        shared = "one workload" if workloads == 1 else f"{workloads} workloads"
        whole = f"{self.context.name}: {_cells(len(self.planned.cells))} of {shared}: {axes}"
        asked = len(self.wanted)
        some = "" if asked == len(self.planned.cells) else f"{asked} of them asked for, "
        there = asked - self._left
        cells = f"{some}{there} there already, {self._left} to run"
        for reason, left in self.planned.left_out.items():
            cells += f"\nleft out: {_cells(len(left))}: {reason}"
        traces, profiles, most = self.planned.kept()
        if not most:
            return f"{whole}\n{cells}"
        kept = f"in the cache: {traces} of {most} interned traces, {profiles} of {most} profiles"
        return f"{whole}\n{kept}\n{cells}"

    @property
    def _left(self) -> int:
        missing = {cell.run_id for cell in self.missing}
        return sum(cell.run_id in missing for cell in self.wanted)


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


def look(
    experiment: Given,
    axes: Mapping[str, Any] | None = None,
    *,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    out: str | os.PathLike[str] = "results",
    only: Mapping[str, Any] | None = None,
    cells: str | None = None,
    shard: str | None = None,
    reporter: Reporter | None = None,
) -> SweepStatus:
    """Plan a sweep: check all cells, and find those that are there; parameters as of `sweep`."""
    reporter = reporter or Reporter()
    out = file_given("out", out)
    check_writable(out)
    grid, classes = read_grid(experiment, axes, overrides)
    dirs = tuple(trace_dirs_given(trace_dirs))
    if trace_dirs is not None:
        dirs = tuple(map(resolved, dirs))
    permission = Permission.of(allow_code)
    every = grid.cells()
    wanted = {cell.index for cell in chosen(grid, every, only=only, numbers=cells, shard=shard)}
    with reporter.stage("plan", unit="cells") as stage:
        code = Code(grid.source.code_folder, permission, classes)
        planned = plan(grid, every, code, trace_dirs=dirs, reporter=reporter)
        stage.update(len(planned.cells))
    for warning, count in planned.warnings().items():
        reporter.note(f"{_cells(count)}: {warning}")
    made = Sweep(folder_of(grid, out), planned.table())
    there = finished(out, [cell.run_id for cell in planned.cells])
    asked = [cell for cell in planned.cells if cell.cell.index in wanted]
    missing = {cell.run_id: cell for cell in asked if cell.run_id not in there}
    source = grid.source
    context = SweepContext(
        planned.name,
        source.name,
        source.folder,
        source.code_folder,
        resolved(out),
        permission,
        dirs,
        _core.__version__,
        build_digest(),
    )
    return SweepStatus(made, planned, asked, list(missing.values()), context)


@brief
@limits_named()
def sweep(
    experiment: Given,
    axes: Mapping[str, Any] | None = None,
    *,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    out: str | os.PathLike[str] = "results",
    only: Mapping[str, Any] | None = None,
    cells: str | None = None,
    shard: str | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    executor: Executor | None = None,
    reporter: Reporter | None = None,
) -> Sweep:
    """Run an experiment at every point of a grid; finished cells are not run again.

    Parameters
    ----------
    experiment : path, name, mapping or ExperimentSpec
        The experiment.
    axes : mapping, optional
        Values by dotted path, in place of `sweep:` in a file:
        ``{"tiers.0.capacity": "log(1MiB, 1GiB, 11)", "systems": ["lru", "static"]}``.
    overrides, allow_code, trace_dirs, out, reporter
        As of `mcsim.run`. Without a reporter, a notebook shows the progress.
    only : mapping, optional
        A value, or several, by axis: other cells are not run.
    cells : str, optional
        Numbers of the cells to run: ``'0-9,15'``.
    shard : str, optional
        ``'3/64'``: the fourth of 64 parts of what is to run.
    threads : int, optional
        Number of cells that run at a time; all cores if absent. With an executor, the number of
        its workers, which determines the size of batches. Results do not depend on it.
    memory : int or str, optional
        Limit in bytes, such as ``'8GiB'``, of the estimated memory of all cells that run at a
        time; the available memory if absent.
    executor : concurrent.futures.Executor, optional
        Runs the cells in other processes, on this machine or others that see `out`, the traces
        and the experiment's folder by the same names: ``Client(scheduler).get_executor()``.

    Returns
    -------
    Sweep
        The grid with the results of its finished cells, in ``out/sweeps``. Cells that were not
        selected may be missing.

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment, its axes or its traces.
    HostError
        If a cell needs more than `memory`, or the executor fails.
    KeyboardInterrupt
        If interrupted; cells that had finished are kept.

    Examples
    --------
    >>> sizes = mc.sweep("tiny", {"tiers.0.capacity": [100, 500], "systems": ["lru"]})
    >>> [round(row.hit_ratio, 2) for row in sizes.overview()]
    [0.25, 0.63]
    """
    reporter = reporter or notebook_reporter() or Reporter()
    limit = bytes_given(memory)
    out = file_given("out", out)
    cores = threads_given(threads)
    check_writable(out)
    set_aside_damaged(out)
    with reporter.live():
        status = look(
            experiment,
            axes,
            overrides=overrides,
            allow_code=allow_code,
            trace_dirs=trace_dirs,
            out=out,
            only=only,
            cells=cells,
            shard=shard,
            reporter=reporter,
        )
        for line in status.text().splitlines():
            reporter.note(line)
        status.made.write_plan()
        if status.missing:
            run_missing(status, cores, limit, executor, reporter)
    return status.made


def bytes_given(memory: int | str | None) -> int | None:
    """Parse an amount of memory."""
    if memory is None:
        return None
    with mistakes_in("memory"):
        return parse_bytes(memory)


def run_missing(
    status: SweepStatus,
    jobs: int,
    memory: int | None,
    executor: Executor | None,
    reporter: Reporter,
) -> None:
    """Run the missing cells, `jobs` at a time or by the executor."""
    missing, context = status.missing, status.context
    workers = jobs
    if executor is None:
        workers, forecast = affordable(status, jobs, memory)
        reporter.note(forecast)
    elif memory is not None:
        raise ConfigError("memory: is of this machine; workers elsewhere have their own limits")
    written, lock = 0, threading.Lock()
    with reporter.stage("cells", len(missing), "cells") as stage:

        def done(count: int) -> None:
            nonlocal written
            with lock:
                written += count
                stage.update(written)

        place: CellExecutor[Batch] = Threads(workers, context.out, context.name, done)
        if executor is not None:
            if status.planned.cells[0].experiment.code.given:
                raise ConfigError(
                    "classes that are among the systems cannot be sent to other processes: put "
                    "them into a file and name them, `module:Class`"
                )
            place = RemoteExecutor(executor, run_task, context.task, done)
        run_all(place, batches(missing, workers), cells_of)


def affordable(status: SweepStatus, jobs: int, memory: int | None) -> tuple[int, str]:
    """Return how many of the missing cells to run at a time, and what all take, in words.

    Raises
    ------
    HostError
        If not one fits into `memory`, or what is available.
    """
    found = status.estimated()
    assert found is not None
    limit = memory_available() if memory is None else memory
    within = found.jobs_within(limit)
    if not within:
        raise HostError(
            f"a cell needs about {format_size(found.shared_bytes + found.cell_bytes)} of memory, "
            f"and there are {format_size(limit)}"
        )
    used = min(jobs, within, len(status.missing))
    return used, _forecast(found, used)


def _forecast(found: Estimate, jobs: int) -> str:
    seconds = found.seconds / jobs
    time = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    if seconds > 7200:
        time = f"{seconds / 3600:.1f} h"
    memory = format_size(found.shared_bytes + jobs * found.cell_bytes)
    return f"about {time}, {jobs} at a time, in {memory} of memory"
