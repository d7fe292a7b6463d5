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
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.errors import ConfigError, HostError
from mcsim.base.files import replacing
from mcsim.base.inputs import note_input, parse_object
from mcsim.config.spec import ExperimentSpec
from mcsim.results.draft import SystemTables
from mcsim.results.files import parquet_of, read_parquet
from mcsim.results.foreign import (
    PACKED_RUNS,
    check_environment,
    check_timings,
    checked_packed,
    spec_of,
)
from mcsim.results.results import Results
from mcsim.results.schemas import (
    concat_tables,
    drop_empty_optional_columns,
    joined_curves,
    schema_of,
)
from mcsim.results.seals import digest_of_bytes, listed
from mcsim.results.summary import SUMMARY, summed_up
from mcsim.results.zips import (
    PACKS,
    DamagedPackError,
    content_of,
    first_content,
    pack_files,
    unsound_in,
    zipped,
)

__all__ = ["Held", "Pack", "PackedResults", "is_own_pack", "packed", "packs_in"]
__all__ += ["write_pack"]

_log = logging.getLogger(__name__)

_IDS = "run_ids.txt"
_RUN_ID = re.compile(r"[^/\0]+-[0-9a-f]{12}")
_OFPACKED_RUNS = ("metrics", "vms", "decisions", "bounds")
_IN_PACKS = {_IDS, "DONE", "environment.json"} | {
    f"{table}.parquet"
    for table in (*_OFPACKED_RUNS, "runs", "curves", "points", "reuse_intensity", "summary")
}


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
    path = out / PACKS / f"{name}-{_digest_of_ids(run.run_id for run in runs)}.zip"
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
    for of in _OFPACKED_RUNS:
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


def _digest_of_ids(run_ids: Iterable[str]) -> str:
    """Return the end of a pack's name."""
    return hashlib.sha256("\n".join(sorted(run_ids)).encode()).hexdigest()[:16]


def is_own_pack(path: Path) -> bool:
    """Return whether a file is a pack: its name fits its runs, and nothing else is in it.

    Its directory, which is at the end, may be damaged.
    """
    names: set[str] = set()
    try:
        with suppress(DamagedPackError), zipped(path) as file:
            names = set(file.namelist())
        run_ids = first_content(path, _IDS).decode().splitlines()
    except ValueError:
        return False
    return path.stem.endswith(f"-{_digest_of_ids(run_ids)}") and names <= _IN_PACKS


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
    joined = concat_tables(tables)
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
        self.run_ids = tuple(self._read(_IDS).decode("utf-8", "replace").splitlines())
        if not self.run_ids or not all(map(_RUN_ID.fullmatch, self.run_ids)):
            raise self._unreadable(f"{_IDS} does not list runs")

    def table(self, name: str) -> pa.Table:
        """Read a table, of all runs."""
        if name not in self._tables:
            try:
                table = read_parquet(pa.BufferReader(self._read(f"{name}.parquet")))
                self._tables[name] = checked_packed(name, table, len(self.run_ids))
            except (ValueError, OSError, pa.ArrowException) as error:
                if isinstance(error, ConfigError | HostError):
                    raise
                raise self._unreadable(f"{name}.parquet: {error}") from None
        return self._tables[name]

    def part(self, name: str, column: str, number: int) -> pa.Table:
        """Return the rows of a table that have a number, without that column."""
        table = self.table(name)
        begin, end = np.searchsorted(table[column].to_numpy(), [number, number + 1])
        return table.slice(begin, end - begin).drop_columns([column])

    def environment_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the run of a row of `runs` ran on."""
        number = row["environment"]
        if not 0 <= number < len(self.environments):
            raise ValueError(f"no environment {number}")
        found: dict[str, Any] = self.environments[number]
        return found

    @cached_property
    def environments(self) -> list[dict[str, Any]]:
        """What ran where."""
        try:
            found = json.loads(self._read("environment.json"))
            if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
                raise ValueError("environment.json is not a list of objects")
            for one in found:
                check_environment(one)
        except (ValueError, RecursionError) as error:
            raise self._unreadable(error) from None
        return found

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        return {}

    def _read(self, name: str) -> bytes:
        try:
            with zipped(self.path) as file:
                return content_of(file, name)
        except DamagedPackError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, why: object) -> ConfigError:
        return ConfigError(
            f"{self.path}: damaged or gone ({why}): remove it and run the sweep again"
        )


class PackedResults(Results):
    """The results of a run that is in a pack; `path` is where its folder would be."""

    _pack: Pack
    _number: int
    _row: dict[str, Any]

    def __init__(self, pack: Pack, run_id: str) -> None:
        super().__init__(pack.path.parent.parent / run_id)
        note_input(pack.path)
        number = pack.run_ids.index(run_id)
        row = pack.table("runs").slice(number, 1).to_pylist()[0]
        vars(self).update(_pack=pack, _number=number, _row=row)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.pack, self.run_id)

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
        with self._valid("spec"):
            return spec_of(parse_object(self._row["spec"]))

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What ran where, on which traces."""
        with self._valid("environment"):
            return self._pack.environment_of(self._row)

    @property
    def timings(self) -> dict[str, Any]:
        """Seconds per stage and system."""
        with self._valid("timings"):
            value = parse_object(self._row["timings"])
            check_timings(value)
        return value

    def record_seconds(self, stage: str, seconds: float) -> None:
        """Forget it: a pack stays as it is."""

    @contextmanager
    def _valid(self, name: str) -> Iterator[Path]:
        """Report what is wrong with what the pack has of this run."""
        try:
            yield self.pack
        except (ValueError, KeyError, IndexError, TypeError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"{self.pack}: {self.run_id}: {name}: {error}") from None

    def _read(self, name: str) -> pa.Table:
        if name == "reuse_intensity":
            return self._pack.part(name, "of", self._row[name])
        if name == "curves":
            steps = self._pack.part("curves", "of", self._row["curves"])
            return joined_curves(steps, self._pack.part("points", "run", self._number))
        return drop_empty_optional_columns(name, self._pack.part(name, "run", self._number))


def _reopened(pack: Path, run_id: str) -> PackedResults:
    return PackedResults(Pack(pack), run_id)


def packs_in(out: Path) -> Iterator[Pack]:
    """Iterate over the packs in a folder of results; a warning names what cannot be read."""
    for path in pack_files(out):
        try:
            yield Pack(path)
        except ConfigError as error:
            _warn_once(f"{error}; it is skipped")


@cache
def _warn_once(text: str) -> None:
    _log.warning("%s", text)


def packed(path: Path) -> PackedResults | None:
    """Find the results of a run whose folder would be `path`, if a pack beside it has them."""
    for pack in packs_in(path.parent):
        if path.name in pack.run_ids:
            return PackedResults(pack, path.name)
    return None
