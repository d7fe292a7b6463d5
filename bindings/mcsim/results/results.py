"""Results of a run: a folder of plain files, finished or not there at all.

    results/<run_id>/
      spec.yaml                 the experiment, every default written out
      environment.json          version, commit, machine, traces and their digests
      metrics.parquet           system × interval × VM × tier: exact counts
      vms.parquet               system × interval × VM: accesses and misses
      curves.parquet            hits of LRU by capacity, per VM, over the whole trace
      reuse_intensity.parquet   per VM and window
      decisions.parquet         what controllers decided, and how good that provably is
      timings.json              seconds per stage and system
      log.txt                   what happened when
      figures/                  drawn from the files above
      DONE                      written last

A run writes into `<run_id>.partial-<pid>/`, which becomes `<run_id>/` by one
rename. A run that was killed leaves only the partial folder; the next run of
the same id takes it over, with the systems that had finished.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from mcsim.base.errors import ConfigError
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import read_json, write_json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Results"]


@dataclass(frozen=True)
class Results:
    """The results of one finished run.

    Every table is an Arrow table, read when it is first asked for.

    Attributes
    ----------
    path : Path
        The run's folder.
    """

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Open a finished run.

        Raises
        ------
        ConfigError
            If the folder is not there or its run did not finish.
        """
        path = Path(path)
        if not path.is_dir():
            raise ConfigError(f"{path}: no such run")
        if not (path / "DONE").exists():
            raise ConfigError(f"{path}: not a finished run (there is no DONE in it)")
        return cls(path)

    @property
    def run_id(self) -> str:
        """Name of the experiment and hash of all that can change a result."""
        return self.path.name

    @cached_property
    def spec(self) -> ExperimentSpec:
        """The experiment, every default written out."""
        nodes = YAML(typ="safe").load(self.path / "spec.yaml")
        return ExperimentSpec.model_validate(nodes)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What ran where, on which traces."""
        return read_json(self.path / "environment.json")

    @property
    def timings(self) -> dict[str, Any]:
        """Seconds per stage and system."""
        return read_json(self.path / "timings.json")

    @property
    def synthetic(self) -> bool:
        """Whether the workload was generated instead of recorded."""
        return bool(self.environment["synthetic"])

    @property
    def title(self) -> str:
        """How tables and figures call this run."""
        return self.spec.name + (" (synthetic workload)" if self.synthetic else "")

    def table(self, name: str) -> pa.Table:
        """Return a table by name, one of `SCHEMAS`."""
        if name not in self._tables:
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        return {}

    def measured(self, name: str) -> pa.Table:
        """Return `metrics` or `vms` without the intervals of the warm-up."""
        table = self.table(name)
        return table.filter(pc.greater_equal(table["interval"], self.spec.warm_up_intervals))

    def metrics(self) -> pa.Table:
        """Counts by system, interval, VM and tier; occupancy and target in blocks."""
        return self.table("metrics")

    def vms(self) -> pa.Table:
        """Counts by system, interval and VM; what is served is served by the backend."""
        return self.table("vms")

    def curves(self) -> pa.Table:
        """Hits of LRU at selected capacities, by VM."""
        return self.table("curves")

    def reuse_intensity(self) -> pa.Table:
        """Reuse intensity by VM and window."""
        return self.table("reuse_intensity")

    def decisions(self) -> pa.Table:
        """Objective and bound of every decision; `interval` is the first it acts in."""
        return self.table("decisions")

    def to_pandas(self, name: str) -> pd.DataFrame:
        """Return a table as a pandas frame."""
        return self.table(name).to_pandas()

    def to_polars(self, name: str) -> pl.DataFrame:
        """Return a table as a Polars frame."""
        import polars

        frame = polars.from_arrow(self.table(name))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def record_seconds(self, stage: str, seconds: float) -> None:
        """Add the time of a stage that works on the finished run, such as figures."""
        timings = self.timings
        timings["stages"][stage] = seconds
        write_json(self.path / "timings.json", timings)
