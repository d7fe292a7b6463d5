"""Results of a run under way, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mcsim.config.spec import ExperimentSpec
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS


@dataclass(frozen=True)
class SystemTables:
    """Tables and timings that one system adds to a run."""

    metrics: pa.Table
    vms: pa.Table
    decisions: pa.Table
    timing: dict[str, float]
    bounds: pa.Table = field(default_factory=SCHEMAS["bounds"].empty_table)
    alone: pa.Table = field(default_factory=SCHEMAS["alone"].empty_table)


class RunOutput:
    """Results of one run under way.

    Attributes
    ----------
    path : Path
        The folder of the run if it has one of its own; it need not be there.
    spec : ExperimentSpec
        The expanded experiment, once it was written.
    tables : dict of str to pyarrow.Table
        Written tables; those of sweeps have `points` next to `curves`.
    values : dict of str to mapping
        Written JSON files, by name without suffix.
    """

    spec: ExperimentSpec

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables: dict[str, pa.Table] = {}
        self.values: dict[str, Mapping[str, Any]] = {}
        self._systems: dict[int, SystemTables] = {}

    def part(self, index: int) -> SystemTables | None:
        """Return the tables of the system at `index`, if it has finished."""
        return self._systems.get(index)

    def save_part(self, index: int, tables: SystemTables) -> None:
        """Save all tables of a system, or none."""
        self._systems[index] = tables

    def has(self, *names: str) -> bool:
        """Return whether these files were written."""
        written = {f"{name}.json" for name in self.values} | {f"{n}.parquet" for n in self.tables}
        return written.issuperset(names)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write one of the tables of `SCHEMAS`."""
        self.tables[name] = table

    def write_curves(self, steps: pa.Table, points: pa.Table) -> None:
        """Write curves at steps, and at additional points of this run."""
        self.tables |= {"curves": steps, "points": points}

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write `<name>.json`."""
        self.values[name] = value

    def write_spec(self, spec: ExperimentSpec) -> None:
        """Write the expanded experiment."""
        self.spec = spec

    def results(self) -> Results:
        """Return the written results, which need not be read."""
        environment = self.values["environment"]
        return Results.of(self.path, spec=self.spec, environment=environment, _tables=self.tables)
