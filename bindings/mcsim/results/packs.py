"""Packs: finished runs of a sweep that share one folder and one manifest.

A run of some milliseconds is not worth ten files. A sweep holds the runs of a batch in memory and
writes them together. The files are those of a run, with these differences:

    results/packs/<name>-<digest of the run ids>/
      run_ids.txt               a line each, in place of spec.yaml
      runs.parquet              experiment and seconds of each run; numbers of shared values
      environment.json          a list
      metrics.parquet …         with a first column `run`
      curves.parquet            at steps, with a first column `of`: runs share them
      points.parquet            of each run's own: the curves where its tiers end
      reuse_intensity.parquet   with a first column `of`: runs share it
      summary.parquet           `summary` of each run, a row for each system and VM
      DONE                      checksums, as of a run

`Results.open` finds a run in its pack if it has no folder of its own, and shows the same tables.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing_folder
from mcsim.base.inputs import parse_object, read_regular
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import DONE, ENVIRONMENT, parquet_of, read_parquet
from mcsim.results.foreign import (
    PACKED_RUNS,
    check_environment,
    check_timings,
    checked_packed,
    number_column,
    spec_of,
)
from mcsim.results.output import RunOutput
from mcsim.results.results import Results
from mcsim.results.run_folder import RunFolder
from mcsim.results.schemas import (
    concat_tables,
    drop_empty_optional_columns,
    joined_curves,
    schema_of,
)
from mcsim.results.seals import digest_of_bytes, listed, unsound_files
from mcsim.results.tables import SUMMARY, summed_up

_log = logging.getLogger(__name__)

T = TypeVar("T")

PACKS = "packs"
"""Folder of packs, below that of results."""

CLAIMS = ".partial"
"""Folder of processes that write packs, below that of packs."""

IDS = "run_ids.txt"
_NAME = re.compile(r".+-[0-9a-f]{16}", re.DOTALL)
_RUN_ID = re.compile(r"[^/\0]+-[0-9a-f]{12}")
_OF_RUNS = ("metrics", "vms", "decisions", "bounds", "alone")
IN_PACKS = {IDS, DONE, ENVIRONMENT} | {
    f"{table}.parquet"
    for table in (*_OF_RUNS, "runs", "curves", "points", "reuse_intensity", "summary")
}


class PackFolder(RunFolder):
    """A folder of runs, which are numbered in the order of their ids in it.

    Attributes
    ----------
    run_ids : tuple of str
    """

    remedy = "run the sweep again"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._tables: dict[str, pa.Table] = {}
        with self.valid(IDS) as file:
            self.run_ids = tuple(read_regular(file).decode("utf-8", "replace").splitlines())
            if not self.run_ids or not all(map(_RUN_ID.fullmatch, self.run_ids)):
                raise ValueError("no list of runs")

    def results(self, run_id: str) -> Results:
        """Return the results of a run; their path is where its folder would be."""
        path = self.path.parent.parent / run_id
        return Results.of(path, _stored=(self, self.run_ids.index(run_id)))

    def spec(self, number: int) -> ExperimentSpec:
        """Read the experiment of a run."""
        text = self._value("spec", number)
        with self.valid("runs.parquet"):
            return spec_of(parse_object(text))

    def environment(self, number: int) -> dict[str, Any]:
        """Return what a run ran on, as in `environment.json` of a run."""
        which, environments = self._value("environment", number), self._environments
        with self.valid(ENVIRONMENT):
            if not 0 <= which < len(environments):
                raise ValueError(f"no environment {which}")
        found: dict[str, Any] = environments[which]
        return found

    def timings(self, number: int) -> dict[str, Any]:
        """Read the seconds of a run by stage and system."""
        text = self._value("timings", number)
        with self.valid("runs.parquet"):
            value = parse_object(text)
            check_timings(value)
        return value

    def table(self, name: str, number: int) -> pa.Table:
        """Return a table of a run."""
        if name == "reuse_intensity":
            return self._rows(name, self._value(name, number))
        if name == "curves":
            steps = self._rows(name, self._value(name, number))
            return joined_curves(steps, self._rows("points", number))
        return drop_empty_optional_columns(name, self._rows(name, number))

    def summary(self, number: int) -> pa.Table:
        """Return the summary of a run; columns that an earlier mcsim lacked are null."""
        table = self._rows("summary", number)
        for column in SUMMARY:
            if column.name not in table.column_names:
                table = table.append_column(column, pa.nulls(len(table), column.type))
        return table.select(SUMMARY.names)

    @cached_property
    def _environments(self) -> list[dict[str, Any]]:
        with self.valid(ENVIRONMENT) as file:
            found = json.loads(read_regular(file))
            if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
                raise ValueError("not a list of objects")
            for one in found:
                check_environment(one)
        return found

    def _value(self, column: str, number: int) -> Any:
        return self._joined("runs")[column][number].as_py()

    def _rows(self, name: str, number: int) -> pa.Table:
        """Return the rows of a table that have a number, without that column."""
        table, column = self._joined(name), number_column(name)
        begin, end = np.searchsorted(table[column].to_numpy(), [number, number + 1])
        return table.slice(begin, end - begin).drop_columns([column])

    def _joined(self, name: str) -> pa.Table:
        """Read a table of all runs."""
        if name not in self._tables:
            with self.valid(f"{name}.parquet") as file:
                self._tables[name] = checked_packed(name, read_parquet(file), len(self.run_ids))
        return self._tables[name]


def is_pack(path: Path) -> bool:
    """Return whether a path has the name and the place of a pack."""
    return path.parent.name == PACKS and _NAME.fullmatch(path.name) is not None


def pack_folders(out: Path) -> list[Path]:
    """Return the packs in a folder of results, damaged ones and other files of such names too."""
    try:
        paths = sorted(Path(entry.path) for entry in os.scandir(out / PACKS))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in paths if is_pack(path)]


def open_pack(path: Path) -> PackFolder | None:
    """Open a pack; log a warning and return None if it is unreadable."""
    try:
        return PackFolder(path)
    except ConfigError as error:
        _warn_once(f"{error}; it is skipped")
    return None


def packs_in(out: Path) -> Iterator[PackFolder]:
    """Iterate over the readable packs in a folder of results, as of `open_pack`."""
    return filter(None, map(open_pack, pack_folders(out)))


def set_aside_damaged(out: Path) -> None:
    """Read all packs; rename damaged ones, so that their runs are absent, and log a warning.

    Raises
    ------
    HostError
        If the host cannot read a pack, which then keeps its name.
    """
    for path in pack_folders(out):
        wrong = unsound_files(path)
        # Another process may have been first.
        if not wrong or not os.path.lexists(path):
            continue
        with suppress(OSError):
            path.rename(path.with_name(f"{path.name}-{secrets.token_hex(4)}.damaged"))
        _log.warning("%s: damaged (%s); its runs are made again", path, wrong[0])


@cache
def _warn_once(text: str) -> None:
    _log.warning("%s", text)


def packed(path: Path) -> Results | None:
    """Find the results of the run `path` in a pack of the same folder of results."""
    for pack in packs_in(path.parent):
        if path.name in pack.run_ids:
            return pack.results(path.name)
    return None


def write_pack(out: Path, name: str, runs: Sequence[RunOutput]) -> Path:
    """Write the results of runs into one folder, which appears whole or not at all.

    Parameters
    ----------
    out : Path
        Folder of all results.
    name : str
        First part of the folder's name.
    runs : sequence of RunOutput
        Finished runs, at least one.

    Returns
    -------
    Path
        The folder; its name depends on its runs alone.
    """
    run_ids = [run.path.name for run in runs]
    digest = hashlib.sha256("\n".join(sorted(run_ids)).encode()).hexdigest()[:16]
    path = out / PACKS / f"{name}-{digest}"
    environments, of_environment = _shared([run.values["environment"] for run in runs], json.dumps)
    curves, of_curves = _shared([run.tables["curves"] for run in runs], id)
    intensities, of_intensity = _shared([run.tables["reuse_intensity"] for run in runs], id)
    summaries = [
        row | {"run": number} for number, run in enumerate(runs) for row in summed_up(run.results())
    ]
    columns = {
        "spec": [json.dumps(run.spec.expanded()) for run in runs],
        "timings": [json.dumps(run.values["timings"]) for run in runs],
        "environment": of_environment,
        "curves": of_curves,
        "reuse_intensity": of_intensity,
    }
    tables = {
        "runs": pa.table(columns, schema=PACKED_RUNS),
        **{of: _numbered([run.tables[of] for run in runs], of) for of in (*_OF_RUNS, "points")},
        "summary": pa.Table.from_pylist(summaries, schema=SUMMARY.insert(0, _RUN)),
        "curves": _numbered(curves, "curves"),
        "reuse_intensity": _numbered(intensities, "reuse_intensity"),
    }
    content = {
        IDS: "".join(f"{run_id}\n" for run_id in run_ids).encode(),
        ENVIRONMENT: f"{json.dumps(environments, indent=2)}\n".encode(),
    } | {f"{of}.parquet": parquet_of(table) for of, table in tables.items()}
    content[DONE] = listed({of: digest_of_bytes(data) for of, data in content.items()}).encode()
    with replacing_folder(path, partial(_is_sound, path), path.with_name(CLAIMS)) as made:
        for of, data in content.items():
            (made / of).write_bytes(data)
    return path


def _is_sound(path: Path) -> bool:
    return not unsound_files(path)


def _shared(values: Sequence[T], key: Callable[[T], Any]) -> tuple[list[T], list[int]]:
    """Return the distinct values, and the number of each value among them."""
    keys = [key(value) for value in values]
    distinct = dict(zip(keys, values, strict=True))
    number_of = {of: number for number, of in enumerate(distinct)}
    return list(distinct.values()), [number_of[of] for of in keys]


_RUN = pa.field("run", pa.int32())


def _numbered(tables: Sequence[pa.Table], name: str) -> pa.Table:
    """Concatenate tables of a name; the first column is the number of a row's table."""
    numbers = np.repeat(np.arange(len(tables), dtype=np.int32), [len(table) for table in tables])
    joined = concat_tables(tables)
    schema = schema_of("curves" if name == "points" else name, joined.column_names)
    joined = joined.cast(schema).combine_chunks()
    return joined.add_column(0, number_column(name), pa.array(numbers))
