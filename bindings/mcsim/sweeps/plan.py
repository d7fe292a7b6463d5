"""Plan of a sweep: its cells as validated experiments, and the workloads that they share."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.base.errors import ConfigError, TimeBaseError
from mcsim.base.progress import Reporter
from mcsim.base.sizes import is_share
from mcsim.config import ExperimentSpec
from mcsim.config.sweep import Cell, Grid, take_sweep
from mcsim.experiment.code import Code
from mcsim.experiment.experiment import Experiment, Given, source_of
from mcsim.experiment.prepared import Prepared
from mcsim.experiment.runner import warnings_of
from mcsim.experiment.stages import own_view, sized
from mcsim.references.opened import open_workload
from mcsim.results.version import RESULTS_VERSION


@dataclass(frozen=True)
class PlannedCell:
    """A cell as an experiment.

    Attributes
    ----------
    cell : Cell
    experiment : Experiment
    run_id : str
        Name of its results, which depends on its description alone.
    prepared : Prepared
        Workload, which other cells may share.
    """

    cell: Cell
    experiment: Experiment
    run_id: str
    prepared: Prepared

    def __str__(self) -> str:
        return f"cell {self.cell.index} ({self.cell})"


@dataclass(frozen=True)
class Plan:
    """All cells of a sweep.

    Attributes
    ----------
    grid : Grid
    cells : sequence of PlannedCell
    left_out : mapping of str to list of Cell
        Cells without a request to replay, by the reason.
    """

    grid: Grid
    cells: Sequence[PlannedCell]
    left_out: Mapping[str, Sequence[Cell]]

    @cached_property
    def name(self) -> str:
        """Name of the experiment."""
        return self.cells[0].experiment.spec.name

    @property
    def workloads(self) -> list[Prepared]:
        """The workloads that cells share, each once, in the order of the cells."""
        return list({id(cell.prepared): cell.prepared for cell in self.cells}.values())

    def warnings(self) -> Counter[str]:
        """Count the cells by the warnings of keys that change nothing in them."""
        return Counter(
            warning
            for cell in self.cells
            for warning in warnings_of(cell.experiment, cell.prepared.workload)
        )

    def kept(self) -> tuple[int, int, int]:
        """Count cached data that cells share.

        Returns
        -------
        tuple of int
            Interned traces in the cache, profiles in the cache, and the maximum of either.
        """
        views = {}
        for cell in self.cells:
            view = own_view(cell.experiment.spec, cell.prepared)
            views[id(cell.prepared), tuple(view.items())] = cell.prepared, view
        found = [prepared.kept(view) for prepared, view in views.values()]
        large = [there for there in found if there is not None]
        return sum(trace for trace, _ in large), sum(profile for _, profile in large), len(large)

    def table(self) -> pa.Table:
        """Tabulate the cells: number, run id, a column for each axis."""
        columns: dict[str, Any] = {
            "cell": pa.array([cell.cell.index for cell in self.cells], pa.int64()),
            "run_id": pa.array([cell.run_id for cell in self.cells], pa.string()),
        }
        for name in self.grid.names:
            columns[name] = _column([_shown(cell, name) for cell in self.cells])
        return pa.table(columns)


def _shown(cell: PlannedCell, name: str) -> Any:
    """The value of an axis; capacities as blocks, unless they are shares."""
    value = cell.cell.values[name]
    capacity = re.fullmatch(r"tiers\.([0-9]+)\.capacity", name)
    if capacity is None or value.shown != value.node or is_share(value.node):
        return value.shown
    return cell.experiment.spec.tiers[int(capacity[1])].capacity


def _column(values: list[Any]) -> pa.Array:
    """An array of one type: what is of several is text."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 or kinds == {int, float}:
        return pa.array(values)
    return pa.array([str(value) for value in values])


def read_grid(
    given: Given, axes: Mapping[str, Any] | None = None, overrides: Iterable[str] = ()
) -> tuple[Grid, dict[str, type[Any]]]:
    """Read an experiment with its `sweep:`, or with `axes` in its place.

    Returns
    -------
    grid : Grid
    classes : dict
        Classes among the systems of a mapping.

    Raises
    ------
    ConfigError
        If the experiment cannot be read, or its `sweep:` is wrong or missing.
    """
    source, handed = source_of(given, overrides)
    if axes is not None:
        source = source.varied([("sweep", dict(axes), "axes")])
    grid = take_sweep(source)
    if grid is None:
        raise ConfigError(
            f"{source.name}: no `sweep:` in it: add an axis, such as "
            "--set 'sweep.seed=3 seeds', or use `mcsim run`"
        )
    return grid, handed


def folder_of(grid: Grid, out: Path) -> Path:
    """Return the folder of the plan and the tables of a sweep."""
    root = grid.source.root
    steps = [
        [axis.names, [[(value.shown, value.node) for value in step] for step in axis.steps]]
        for axis in grid.axes
    ]
    cause = {"version": RESULTS_VERSION, "root": root, "axes": steps, "exclude": grid.exclude}
    text = json.dumps(cause, sort_keys=True, default=str)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    return out / "sweeps" / f"{root.get('name', 'sweep')}-{key}"


def plan(
    grid: Grid,
    cells: Iterable[Cell],
    code: Code,
    *,
    trace_dirs: Sequence[Path],
    reporter: Reporter,
) -> Plan:
    """Check cells, and open their workloads; leave out cells without a request to replay.

    Raises
    ------
    ConfigError, TraceError
        For the first cell that cannot be run, or if all are left out.
    """
    workloads: dict[str, Prepared] = {}
    planned = []
    left_out: dict[str, list[Cell]] = {}
    clockless: set[str] = set()
    for cell in cells:
        experiment = Experiment.of(grid.varied(cell), code)
        key = workload_key(experiment.spec)
        if key in clockless:
            experiment, key = _in_references(grid, cell, code)
        if key not in workloads:
            try:
                opened = prepared_for(experiment, trace_dirs, reporter)
            except TimeBaseError:
                if _has_interval(grid):
                    raise
                clockless.add(key)
                experiment, key = _in_references(grid, cell, code)
                opened = prepared_for(experiment, trace_dirs, reporter)
            same = next((of for of in workloads.values() if _is_same(of, opened)), None)
            if same is None and workloads:
                next(reversed(workloads.values())).release()
            workloads[key] = opened if same is None else same
        prepared = workloads[key]
        if (reason := _nothing_to_replay(experiment.spec, prepared)) is not None:
            left_out.setdefault(reason, []).append(cell)
            continue
        experiment.check_workload(prepared.workload)
        experiment = sized(experiment, prepared)
        run_id = experiment.run_id(prepared.described)
        planned.append(PlannedCell(cell, experiment, run_id, prepared))
    if not planned:
        raise ConfigError(f"{grid.source.name}: all cells are left out: {'; '.join(left_out)}")
    return Plan(grid, planned, left_out)


_REFERENCES = "50000 references"
"""Interval of workloads without a clock in sweeps that state none."""


def _has_interval(grid: Grid) -> bool:
    """Whether an experiment states its interval, or varies it."""
    return "interval" in grid.source.root or "interval" in grid.names


def _in_references(grid: Grid, cell: Cell, code: Code) -> tuple[Experiment, str]:
    """Return the experiment of a cell without a clock, and the key of its workload."""
    source = grid.varied(cell).varied([("interval", _REFERENCES, "workload without a clock")])
    experiment = Experiment.of(source, code)
    return experiment, workload_key(experiment.spec)


def _nothing_to_replay(spec: ExperimentSpec, prepared: Prepared) -> str | None:
    """Return why no request of a workload is replayed; None if one is."""
    vms = prepared.workload.vms
    if any(vm.has_requests(spec.ops) for vm in vms):
        return None
    names = ", ".join(dict.fromkeys(vm.trace.metadata.source for vm in vms))
    return f"{names}: there are no {'requests' if spec.ops == 'all' else spec.ops}"


def prepared_for(
    experiment: Experiment, trace_dirs: Sequence[Path], reporter: Reporter
) -> Prepared:
    """Open the workload of an experiment."""
    opened = open_workload(experiment.spec, experiment.source, trace_dirs, reporter)
    return Prepared(opened, reporter)


def _is_same(one: Prepared, other: Prepared) -> bool:
    """Whether two workloads have the same requests, as recorded ones have with every seed."""
    return one.described == other.described and one.workload.missing == other.workload.missing


def workload_key(spec: ExperimentSpec) -> str:
    """All that `open_workload` looks at."""
    expanded = spec.workload.model_dump(mode="json")
    cause: list[Any] = [expanded, spec.interval.by_reference]
    if spec.workload.sample is not None:
        cause.append(spec.random_seed)
    drawn = [of for of in (spec.workload, spec.warm_up_traces) if of is not None and of.profiles]
    cause.append([spec.profile_seed(of) for of in drawn])
    if spec.warm_up_traces is not None:
        warm_up = spec.warm_up_traces.model_dump(mode="json")
        cause += [warm_up, spec.interval.length, spec.ops]
    cause.append(spec.ops == "writes")
    return json.dumps(cause, sort_keys=True)
