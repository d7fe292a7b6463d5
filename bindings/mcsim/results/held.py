"""Runs of a batch, held in memory, and written together as a pack."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.config.spec import ExperimentSpec
from mcsim.results.draft import SystemTables
from mcsim.results.files import parquet_of
from mcsim.results.foreign import PACKED_RUNS
from mcsim.results.packs import IDS, OF_RUNS, PACKS, put_pack
from mcsim.results.results import Results
from mcsim.results.schemas import concat_tables, schema_of
from mcsim.results.seals import digest_of_bytes, listed
from mcsim.results.tables import SUMMARY, summed_up


@dataclass
class Held:
    """The results of one run in memory, written as a `Draft` is."""

    run_id: str
    folder: Path
    tables: dict[str, pa.Table] = field(default_factory=dict)
    values: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _parts: dict[int, SystemTables] = field(default_factory=dict)
    _spec: ExperimentSpec | None = None

    @property
    def spec(self) -> ExperimentSpec:
        """The expanded experiment."""
        assert self._spec is not None
        return self._spec

    def part(self, index: int) -> SystemTables | None:
        """Return the tables of the system at `index`, if it has finished."""
        return self._parts.get(index)

    def save_part(self, index: int, tables: SystemTables) -> None:
        """Store the tables of a system."""
        self._parts[index] = tables

    def has(self, *names: str) -> bool:
        """Whether these files were written."""
        written = {f"{name}.json" for name in self.values} | {f"{n}.parquet" for n in self.tables}
        return written.issuperset(names)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Store one of the tables of `SCHEMAS`."""
        self.tables[name] = table

    def write_curves(self, steps: pa.Table, points: pa.Table) -> None:
        """Store curves at steps and at points of this run."""
        self.tables |= {"curves": steps, "points": points}

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Store the content of `<name>.json`."""
        self.values[name] = value

    def write_spec(self, spec: ExperimentSpec) -> None:
        """Store the expanded experiment."""
        self._spec = spec


class _HeldResults(Results):
    """A view of `Held` as results."""

    def __init__(self, held: Held) -> None:
        super().__init__(held.folder / held.run_id)
        vars(self).update(spec=held.spec, environment=held.values["environment"])
        vars(self)["_tables"] = held.tables


def write_pack(out: Path, name: str, runs: Sequence[Held]) -> Path:
    """Write the results of runs into one folder.

    Parameters
    ----------
    out : Path
        Folder of all results.
    name : str
        First part of the folder's name.
    runs : sequence of Held
        Finished runs, at least one.

    Returns
    -------
    Path
        The folder; its name depends on its runs alone.
    """
    path = out / PACKS / f"{name}-{_digest_of_ids(run.run_id for run in runs)}"
    environments, rows = _Shared(), []
    shared = {"curves": _Shared(), "reuse_intensity": _Shared()}
    for run in runs:
        row: dict[str, Any] = {
            name: of.number(id(run.tables[name]), run.tables[name]) for name, of in shared.items()
        }
        environment = json.dumps(run.values["environment"])
        row["environment"] = environments.number(environment, run.values["environment"])
        row["spec"] = json.dumps(run.spec.expanded())
        rows.append(row | {"timings": json.dumps(run.values["timings"])})
    tables = {"runs": pa.Table.from_pylist(rows, schema=PACKED_RUNS)}
    for of in OF_RUNS:
        tables[of] = _numbered("run", [run.tables[of] for run in runs], of)
    tables["points"] = _numbered("run", [run.tables["points"] for run in runs], "curves")
    summaries = [
        row | {"run": number}
        for number, run in enumerate(runs)
        for row in summed_up(_HeldResults(run))
    ]
    tables["summary"] = pa.Table.from_pylist(summaries, schema=SUMMARY.insert(0, _RUN))
    for of, found in shared.items():
        tables[of] = _numbered("of", found.values, of)
    content = {
        IDS: "".join(f"{run.run_id}\n" for run in runs).encode(),
        "environment.json": f"{json.dumps(environments.values, indent=2)}\n".encode(),
    } | {f"{of}.parquet": parquet_of(table) for of, table in tables.items()}
    content["DONE"] = listed({of: digest_of_bytes(data) for of, data in content.items()}).encode()
    put_pack(path, content)
    return path


def _digest_of_ids(run_ids: Iterable[str]) -> str:
    """Return the end of a pack's name."""
    return hashlib.sha256("\n".join(sorted(run_ids)).encode()).hexdigest()[:16]


class _Shared:
    """Distinct values that runs share, and their numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, key: Any, value: Any) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


_RUN = pa.field("run", pa.int32())


def _numbered(column: str, tables: Sequence[pa.Table], name: str) -> pa.Table:
    """Concatenate tables of a name; the first column is the number of a row's table."""
    numbers = np.repeat(np.arange(len(tables), dtype=np.int32), [len(table) for table in tables])
    joined = concat_tables(tables)
    joined = joined.cast(schema_of(name, joined.column_names)).combine_chunks()
    return joined.add_column(0, column, pa.array(numbers))
