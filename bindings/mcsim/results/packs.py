"""Results of many runs in one file: what a sweep leaves of a batch of its cells.

A run of some milliseconds is worth no folder of ten files. The runs of a batch are held in memory
and written together, as one file that is there whole or not at all:

    results/packs/<name>-<digest of the run ids>.zip
      run_ids.txt               a line each
      runs.parquet              experiment, seconds; what a run shares with others, by number
      environment.json          what ran where, on which traces; a list
      metrics.parquet …         as in the folder of a run, with a first column `run`
      curves.parquet            at steps, as runs share it, with a first column `of`
      points.parquet            of each run's own: the curves where its tiers end
      reuse_intensity.parquet   as runs share it, with a first column `of`
      summary.parquet           `summary` of each run, a row for each system and VM
      DONE                      checksums of all of these

`Results.open` finds a run in its pack where there is no folder of it, and shows the same tables.
"""

from __future__ import annotations

import hashlib
import json
import logging
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.config.spec import ExperimentSpec
from mcsim.results.draft import SystemTables
from mcsim.results.files import parquet_of, read_parquet
from mcsim.results.results import Results
from mcsim.results.schemas import below, joined_curves, schema_of, spoken
from mcsim.results.seals import digest_of_bytes, listed, parsed
from mcsim.results.summary import SUMMARY, summed_up

__all__ = ["Held", "Pack", "PackedResults", "packed", "packs_in", "set_aside_damaged"]
__all__ += ["unsound_in", "write_pack"]

_log = logging.getLogger(__name__)

_FOLDER = "packs"
_IDS = "run_ids.txt"
_OF_RUNS = ("metrics", "vms", "decisions", "bounds")
_RUNS = pa.schema(
    [
        ("spec", pa.string()),
        ("timings", pa.string()),
        ("environment", pa.int32()),
        ("curves", pa.int32()),
        ("reuse_intensity", pa.int32()),
    ]
)


@dataclass
class Held:
    """The results of one run, in memory; takes what a `Draft` takes."""

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
        """Return what the system at `index` left when it had finished, if it had."""
        return self._parts.get(index)

    def save_part(self, index: int, tables: SystemTables) -> None:
        """Keep what a system produced."""
        self._parts[index] = tables

    def has(self, *names: str) -> bool:
        """Whether these files were written."""
        written = {f"{name}.json" for name in self.values} | {f"{n}.parquet" for n in self.tables}
        return written.issuperset(names)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Keep one of the tables of `SCHEMAS`."""
        self.tables[name] = table

    def write_curves(self, steps: pa.Table, points: pa.Table) -> None:
        """Keep curves at steps and at points of this run's own."""
        self.tables |= {"curves": steps, "points": points}

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep what is to be `<name>.json`."""
        self.values[name] = value

    def write_spec(self, spec: ExperimentSpec) -> None:
        """Keep the expanded experiment."""
        self._spec = spec


class _HeldResults(Results):
    """What a `Held` holds, as results."""

    def __init__(self, held: Held) -> None:
        super().__init__(held.folder / held.run_id)
        vars(self).update(spec=held.spec, environment=held.values["environment"])
        vars(self)["_tables"] = held.tables


def write_pack(out: Path, name: str, runs: Sequence[Held]) -> Path:
    """Write the results of runs into one file.

    Parameters
    ----------
    out : Path
        The folder of all results.
    name : str
        The first part of the file's name.
    runs : sequence of Held
        One or more, that are finished.

    Returns
    -------
    Path
        The file, the name of which depends on what runs it has alone.
    """
    ids = hashlib.sha256("\n".join(sorted(run.run_id for run in runs)).encode()).hexdigest()
    path = out / _FOLDER / f"{name}-{ids[:16]}.zip"
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
    tables = {"runs": pa.Table.from_pylist(rows, schema=_RUNS)}
    for of in _OF_RUNS:
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
        _IDS: "".join(f"{run.run_id}\n" for run in runs).encode(),
        "environment.json": f"{json.dumps(environments.values, indent=2)}\n".encode(),
    } | {f"{of}.parquet": parquet_of(table) for of, table in tables.items()}
    content["DONE"] = listed({of: digest_of_bytes(data) for of, data in content.items()}).encode()
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for of, data in content.items():
            file.writestr(of, data)
    return path


def unsound_in(path: Path) -> list[str]:
    """Return what in a pack is not as it was written, or gone; all of it if it is no pack."""
    try:
        with zipfile.ZipFile(path) as file:
            sums = parsed(file.read("DONE"))
            wrong = [name for name, digest in sums.items() if _digest_in(file, name) != digest]
            return wrong or ([] if set(file.namelist()) == {*sums, "DONE"} else ["DONE"])
    except _UNREADABLE:
        return ["all of it"]


def _digest_in(file: zipfile.ZipFile, name: str) -> str | None:
    try:
        return digest_of_bytes(file.read(name))
    except _UNREADABLE:
        return None


# What a zip file throws that is not as it was written: its directory, its headers, its checksums.
_UNREADABLE = (OSError, KeyError, ValueError, NotImplementedError, zlib.error, zipfile.BadZipFile)


class _Shared:
    """Values that runs share, each once, and the numbers they have there."""

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
    """Put tables of that name one below the other, first a column that says which a row is of."""
    numbers = np.repeat(np.arange(len(tables), dtype=np.int32), [len(table) for table in tables])
    joined = below(tables)
    joined = joined.cast(schema_of(name, joined.column_names)).combine_chunks()
    return joined.add_column(0, column, pa.array(numbers))


class Pack:
    """A file of runs.

    Attributes
    ----------
    path : Path
    run_ids : tuple of str
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as file:
            self.run_ids = tuple(file.read(_IDS).decode().splitlines())

    def table(self, name: str) -> pa.Table:
        """Read a table, of all runs."""
        if name not in self._tables:
            self._tables[name] = read_parquet(pa.BufferReader(self._read(f"{name}.parquet")))
        return self._tables[name]

    def part(self, name: str, column: str, number: int) -> pa.Table:
        """Return the rows of a table that have a number, without that column."""
        table = self.table(name)
        begin, end = np.searchsorted(table[column].to_numpy(), [number, number + 1])
        return table.slice(begin, end - begin).drop_columns([column])

    @cached_property
    def environments(self) -> list[dict[str, Any]]:
        """What ran where."""
        found = json.loads(self._read("environment.json"))
        assert isinstance(found, list)
        return found

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        return {}

    def _read(self, name: str) -> bytes:
        try:
            with zipfile.ZipFile(self.path) as file:
                return file.read(name)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise ConfigError(
                f"{self.path}: damaged or gone ({error}): remove it and run the sweep again"
            ) from None


class PackedResults(Results):
    """The results of a run that is in a pack; `path` is where its folder would be."""

    _pack: Pack
    _number: int
    _row: dict[str, Any]

    def __init__(self, pack: Pack, run_id: str) -> None:
        super().__init__(pack.path.parent.parent / run_id)
        number = pack.run_ids.index(run_id)
        row = pack.table("runs").slice(number, 1).to_pylist()[0]
        vars(self).update(_pack=pack, _number=number, _row=row)

    @property
    def pack(self) -> Path:
        """The file that has them."""
        return self._pack.path

    def check(self) -> None:
        """Hold the pack to its checksums."""
        if wrong := unsound_in(self._pack.path):
            raise ConfigError(f"{self._pack.path}: {wrong[0]} in it is damaged: remove the file")

    @cached_property
    def spec(self) -> ExperimentSpec:
        """The experiment, every default written out."""
        return ExperimentSpec.model_validate(json.loads(self._row["spec"]))

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What ran where, on which traces."""
        found: dict[str, Any] = self._pack.environments[self._row["environment"]]
        return found

    @property
    def timings(self) -> dict[str, Any]:
        """Seconds per stage and system."""
        found = json.loads(self._row["timings"])
        assert isinstance(found, dict)
        return found

    def record_seconds(self, stage: str, seconds: float) -> None:
        """Forget it: a pack stays as it is."""

    def _read(self, name: str) -> pa.Table:
        if name == "reuse_intensity":
            return self._pack.part(name, "of", self._row[name])
        if name == "curves":
            steps = self._pack.part("curves", "of", self._row["curves"])
            return joined_curves(steps, self._pack.part("points", "run", self._number))
        return spoken(name, self._pack.part(name, "run", self._number))


def packs_in(out: Path) -> Iterator[Pack]:
    """Iterate over the packs in a folder of results; what cannot be read is left out."""
    for path in sorted((out / _FOLDER).glob("*.zip")):
        try:
            yield Pack(path)
        except (OSError, KeyError, zipfile.BadZipFile):
            continue


def set_aside_damaged(out: Path) -> None:
    """Give packs that are not as they were written another name, and say so: they are absent.

    What is in them is held to its checksums, so all of it is read.
    """
    for path in sorted((out / _FOLDER).glob("*.zip")):
        wrong = unsound_in(path)
        # Another process may have been first.
        if wrong and path.exists():
            with suppress(OSError):
                path.replace(path.with_suffix(".damaged"))
            _log.warning("%s: damaged (%s); its runs are made again", path, wrong[0])


def packed(path: Path) -> PackedResults | None:
    """Find the results of a run whose folder would be `path`, if a pack beside it has them."""
    for pack in packs_in(path.parent):
        if path.name in pack.run_ids:
            return PackedResults(pack, path.name)
    return None
