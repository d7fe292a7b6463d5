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

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from mcsim.base.errors import ConfigError
from mcsim.config.spec import ExperimentSpec

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["SCHEMAS", "Draft", "Results", "SystemTables"]

# Blocks and requests, by what the VM waited for: a tier, or the backend.
_SERVED = ("reads_served", "writes_served", "read_requests", "write_requests")
_TIER_COUNTS = (
    "hits",
    "write_hits",
    "fills",
    "promotions",
    "demotions",
    "updates",
    "moved_up",
    "moved_down",
    "evictions",
    "invalidations",
    "occupancy",
    "target",
    *_SERVED,
)
_VM_COUNTS = (
    "accesses",
    "misses",
    "writes",
    "write_misses",
    "backend_reads",
    "backend_writes",
    "write_backs",
    "dirtied",
    "dirty",
    *_SERVED,
)

SCHEMAS: Mapping[str, pa.Schema] = {
    "metrics": pa.schema(
        [
            ("system", pa.string()),
            ("interval", pa.int32()),
            ("vm", pa.string()),
            ("tier", pa.int32()),
            *((name, pa.int64()) for name in _TIER_COUNTS),
        ]
    ),
    "vms": pa.schema(
        [
            ("system", pa.string()),
            ("interval", pa.int32()),
            ("vm", pa.string()),
            ("begin_ns", pa.int64()),  # since the workload's first access; or references
            *((name, pa.int64()) for name in _VM_COUNTS),
        ]
    ),
    "curves": pa.schema(
        [
            ("vm", pa.string()),
            ("scope", pa.string()),
            ("capacity", pa.int64()),
            ("hits", pa.int64()),
            ("accesses", pa.int64()),
        ]
    ),
    "reuse_intensity": pa.schema(
        [
            ("vm", pa.string()),
            ("window_end_ns", pa.int64()),  # since the workload's first access; or references
            ("reuse_intensity", pa.float64()),
            ("accesses", pa.int64()),
        ]
    ),
    "decisions": pa.schema(
        [
            ("system", pa.string()),
            ("interval", pa.int32()),
            ("request", pa.int64()),
            ("objective", pa.float64()),
            ("upper_bound", pa.float64()),
            ("evaluations", pa.int64()),
        ]
    ),
}


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
        return _read_json(self.path / "environment.json")

    @property
    def timings(self) -> dict[str, Any]:
        """Seconds per stage and system."""
        return _read_json(self.path / "timings.json")

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
        return pq.read_table(self.path / f"{name}.parquet")

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
        temporary = self.path / f"timings.json.{os.getpid()}"
        _write_json(temporary, timings)
        temporary.replace(self.path / "timings.json")


@dataclass(frozen=True)
class SystemTables:
    """What one system adds to a run."""

    metrics: pa.Table
    vms: pa.Table
    decisions: pa.Table
    timing: dict[str, float]


@dataclass
class Draft:
    """A run being written. Use `begin`; leave by `finish` or `abandon`."""

    folder: Path
    final: Path
    _lock: IO[str]

    @classmethod
    def begin(cls, out: Path, run_id: str, build: str) -> Draft:
        """Start a run, or take over what a killed run of the same id left.

        Parameters
        ----------
        out : Path
            The folder of all results.
        run_id : str
            Name of the folder to be.
        build : str
            Identifies the program: what another build left is not taken over.

        Raises
        ------
        OSError
            If the folder cannot be written.
        """
        out.mkdir(parents=True, exist_ok=True)
        folder = out / f"{run_id}.partial-{os.getpid()}"
        for replaced in out.glob(f"{run_id}.replaced-*"):
            shutil.rmtree(replaced)
        adopted: IO[str] | None = None
        for left, lock in _abandoned(out, run_id):
            if adopted is None and _build_of(left) == build:
                left.rename(folder)
                adopted = lock
            else:
                shutil.rmtree(left)
                lock.close()
        if adopted is None:
            folder.mkdir()
            adopted = _try_lock(folder)
            if adopted is None:
                raise OSError(f"{folder}: cannot be locked")
            (folder / "build").write_text(build, encoding="utf-8")
            (folder / "parts").mkdir()
        return cls(folder, out / run_id, adopted)

    def part(self, index: int) -> SystemTables | None:
        """Return what the system at `index` left when it had finished, if it had."""
        folder = self._part_folder(index)
        if not folder.is_dir():
            return None
        tables = {name: pq.read_table(folder / f"{name}.parquet") for name in _PART_TABLES}
        return SystemTables(**tables, timing=_read_json(folder / "timing.json"))

    def save_part(self, index: int, tables: SystemTables) -> None:
        """Keep what a system produced, all of it or nothing."""
        folder = self._part_folder(index)
        temporary = folder.with_suffix(".tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        for name in _PART_TABLES:
            _write_parquet(temporary / f"{name}.parquet", getattr(tables, name))
        _write_json(temporary / "timing.json", tables.timing)
        temporary.rename(folder)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write one of the tables of `SCHEMAS`."""
        _write_parquet(self.folder / f"{name}.parquet", table.cast(SCHEMAS[name]))

    def has_tables(self, *names: str) -> bool:
        """Whether these tables were written, by this run or the one it took over."""
        return all((self.folder / f"{name}.parquet").exists() for name in names)

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write `<name>.json`."""
        _write_json(self.folder / f"{name}.json", value)

    def write_spec(self, spec: ExperimentSpec) -> None:
        """Write the expanded experiment."""
        writer = YAML()
        writer.default_flow_style = False
        writer.dump(spec.expanded(), self.folder / "spec.yaml")

    def finish(self) -> Results:
        """Give the run its final name; one of the same id that is there is replaced."""
        shutil.rmtree(self.folder / "parts")
        (self.folder / "build").unlink()
        (self.folder / _LOCK).unlink()
        (self.folder / "DONE").touch()
        if self.final.exists():
            replaced = self.final.with_name(f"{self.final.name}.replaced-{os.getpid()}")
            self.final.rename(replaced)
            self.folder.rename(self.final)
            shutil.rmtree(replaced)
        else:
            self.folder.rename(self.final)
        self._lock.close()
        return Results(self.final)

    def abandon(self) -> None:
        """Leave the finished systems for the next run, or nothing if there are none."""
        if self.folder.is_dir():
            parts = (self.folder / "parts").iterdir()
            if not any(part.name.isdecimal() for part in parts):
                shutil.rmtree(self.folder)
        self._lock.close()

    def _part_folder(self, index: int) -> Path:
        return self.folder / "parts" / str(index)


_LOCK = "lock"
_PART_TABLES = ("metrics", "vms", "decisions")


def _try_lock(folder: Path) -> IO[str] | None:
    """Lock a partial folder for the life of this process, if no live one holds it."""
    try:
        handle = (folder / _LOCK).open("a", encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def _abandoned(out: Path, run_id: str) -> Iterator[tuple[Path, IO[str]]]:
    for left in sorted(out.glob(f"{run_id}.partial-*")):
        if (lock := _try_lock(left)) is not None:
            yield left, lock


def _build_of(folder: Path) -> str | None:
    try:
        return (folder / "build").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _write_parquet(path: Path, table: pa.Table) -> None:
    temporary = path.with_suffix(".tmp")
    pq.write_table(table, temporary, compression="zstd")
    temporary.rename(path)


def _read_json(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
