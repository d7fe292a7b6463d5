"""A sweep, from what one writes to one table."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from mcsim.base.errors import ConfigError
from mcsim.base.files import check_writable
from mcsim.base.progress import Reporter
from mcsim.base.threads import Stopped, threads_given
from mcsim.config.sweep import Grid
from mcsim.experiment.code import AllowCode
from mcsim.experiment.experiment import Given
from mcsim.results.files import write_parquet
from mcsim.results.results import Results
from mcsim.sweeps.batch import run_batch
from mcsim.sweeps.plan import Plan, PlannedCell, folder_of, plan, read_grid
from mcsim.sweeps.store import finished, joined
from mcsim.traces.find import default_trace_dirs

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Sweep", "sweep"]


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep, as far as they are there.

    Attributes
    ----------
    path : Path
        The folder of its plan and tables.
    plan : pyarrow.Table
        Its cells: number, run id, a column for each axis.
    """

    path: Path
    plan: pa.Table

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Sweep:
        """Open a sweep that was planned.

        Raises
        ------
        ConfigError
            If the folder has no plan.
        """
        file = Path(path) / _PLAN
        if not file.is_file():
            raise ConfigError(f"{path}: no sweep (there is no {_PLAN} in it)")
        return cls(Path(path), pq.read_table(file))

    @property
    def axes(self) -> list[str]:
        """The names of the axes."""
        return list(self.plan.column_names[2:])

    @property
    def _out(self) -> Path:
        return self.path.parent.parent

    def finished(self) -> list[bool]:
        """Tell of each cell whether its results are there."""
        run_ids = self.plan["run_id"].to_pylist()
        there = finished(self._out, run_ids)
        return [run_id in there for run_id in run_ids]

    def table(self) -> pa.Table:
        """Return one table of all cells: a row for each cell, system and VM.

        `vm` is null where a row is of all VMs together. Other columns are the axes and
        those of `mcsim.results.tables.COMPARISON`.
        """
        return self._table

    @cached_property
    def _table(self) -> pa.Table:
        return joined(self._out, self.plan)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a pandas frame."""
        return self.table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a Polars frame."""
        from mcsim.base.rows import polars_frame

        return polars_frame(self.table())

    def results(self, cell: int) -> Results:
        """Open all results of a cell."""
        return Results.open(self._out / self.plan["run_id"][cell].as_py())


_PLAN = "plan.parquet"


def sweep(
    experiment: Given,
    axes: Mapping[str, Any] | None = None,
    *,
    overrides: Iterable[str] = (),
    allow_code: AllowCode = False,
    trace_dirs: Sequence[str | os.PathLike[str]] | None = None,
    out: str | os.PathLike[str] = "results",
    jobs: int | None = None,
    reporter: Reporter | None = None,
) -> Sweep:
    """Run an experiment at every point of a grid; what is there already is not run again.

    Parameters
    ----------
    experiment : path, mapping or ExperimentSpec
        The experiment.
    axes : mapping, optional
        As of `sweep:` in a file, and in its place: values by dotted path,
        ``{"tiers.0.capacity_blocks": "log(1MiB, 1GiB, 11)", "systems": ["lru", "static"]}``.
    overrides, allow_code, trace_dirs, out, reporter
        As of `mcsim.run`.
    jobs : int, optional
        Cells run at a time; as many as there are cores if not given. Results do not depend on it.

    Raises
    ------
    ConfigError, TraceError
        For mistakes in the experiment, its axes or its traces.
    KeyboardInterrupt
        If interrupted; cells that had finished are kept.
    """
    reporter = reporter or Reporter()
    out = Path(out)
    check_writable(out)
    grid, classes = read_grid(experiment, axes, overrides)
    with reporter.live():
        dirs = default_trace_dirs() if trace_dirs is None else trace_dirs
        with reporter.stage("plan", unit="cells") as stage:
            planned = plan(grid, classes, allow_code=allow_code, trace_dirs=dirs, reporter=reporter)
            stage.update(len(planned.cells))
        made = _written_plan(planned, grid, out)
        _run_cells(planned, out, threads_given(jobs), reporter)
    return made


def _written_plan(planned: Plan, grid: Grid, out: Path) -> Sweep:
    made = Sweep(folder_of(grid, out), planned.table())
    made.path.mkdir(parents=True, exist_ok=True)
    write_parquet(made.path / _PLAN, made.plan)
    return made


def _run_cells(planned: Plan, out: Path, jobs: int, reporter: Reporter) -> None:
    there = finished(out, [cell.run_id for cell in planned.cells])
    by_id = {cell.run_id: cell for cell in planned.cells if cell.run_id not in there}
    missing = list(by_id.values())
    if there:
        reporter.note(f"{len(planned.cells) - len(missing)} cells were finished before")
    stop = threading.Event()
    written = 0
    lock = threading.Lock()

    def check() -> None:
        if stop.is_set():
            raise Stopped

    with reporter.stage("replay", len(missing), "cells") as stage:

        def done(count: int) -> None:
            nonlocal written
            with lock:
                written += count
                stage.update(written)

        with ThreadPoolExecutor(jobs) as threads:
            futures = [
                threads.submit(run_batch, batch, out, planned.name, check, done)
                for batch in _batches(missing, jobs)
            ]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                stop.set()
                threads.shutdown(cancel_futures=True)
                raise


def _batches(cells: Sequence[PlannedCell], jobs: int) -> Iterable[Sequence[PlannedCell]]:
    size = min(64, max(1, len(cells) // (8 * jobs)))
    return [cells[begin : begin + size] for begin in range(0, len(cells), size)]
