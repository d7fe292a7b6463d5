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

import json
import logging
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.errors import ConfigError, HostError, host_faults
from mcsim.base.files import replacing_folder
from mcsim.base.inputs import note_input, open_regular, parse_object
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import read_parquet
from mcsim.results.foreign import (
    check_environment,
    check_timings,
    checked_packed,
    spec_of,
)
from mcsim.results.results import Results
from mcsim.results.schemas import (
    SCHEMAS,
    drop_empty_optional_columns,
    joined_curves,
)
from mcsim.results.seals import digest_of_bytes, read_list, unsound_files

_log = logging.getLogger(__name__)

PACKS = "packs"
"""Folder of packs, below that of results."""

CLAIMS = ".partial"
"""Folder of processes that write packs, below that of packs."""

IDS = "run_ids.txt"
_NAME = re.compile(r".+-[0-9a-f]{16}", re.DOTALL)
_RUN_ID = re.compile(r"[^/\0]+-[0-9a-f]{12}")
OF_RUNS = ("metrics", "vms", "decisions", "bounds", "alone")
IN_PACKS = {IDS, "DONE", "environment.json"} | {
    f"{table}.parquet"
    for table in (*OF_RUNS, "runs", "curves", "points", "reuse_intensity", "summary")
}


def put_pack(path: Path, content: Mapping[str, bytes]) -> None:
    """Write the files of a pack as a folder, which appears whole or not at all."""
    stays = partial(_is_sound, path)
    with replacing_folder(path, stays, path.with_name(CLAIMS)) as made:
        for name, data in content.items():
            (made / name).write_bytes(data)


def _is_sound(path: Path) -> bool:
    return not unsound_files(path)


class Pack:
    """A folder of runs.

    Attributes
    ----------
    path : Path
    run_ids : tuple of str
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sums = read_list(path / "DONE")
        self.run_ids = tuple(self._read(IDS).decode("utf-8", "replace").splitlines())
        if not self.run_ids or not all(map(_RUN_ID.fullmatch, self.run_ids)):
            raise self._unreadable(f"{IDS} does not list runs")

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

    def has(self, name: str) -> bool:
        """Return whether it has a table: packs of earlier versions lack later ones."""
        return f"{name}.parquet" in self._sums

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
        """Environments of the runs, each as in `environment.json`."""
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
        file = self.path / name
        try:
            with host_faults(file), open_regular(file) as opened:
                content = opened.read()
        except HostError:
            raise
        except OSError as error:
            raise self._unreadable(f"{name}: {error.strerror}") from None
        if digest_of_bytes(content) != self._sums.get(name):
            raise self._unreadable(f"{name} does not fit its checksum")
        return content

    def _unreadable(self, why: object) -> ConfigError:
        return ConfigError(f"{self.path}: damaged ({why}): run the sweep again")


class PackedResults(Results):
    """The results of a run that is in a pack; `path` is where its folder would be."""

    _pack: Pack
    _number: int
    _row: dict[str, Any]

    def __init__(self, pack: Pack, run_id: str) -> None:
        super().__init__(pack.path.parent.parent / run_id)
        note_input(pack.path / "DONE")
        number = pack.run_ids.index(run_id)
        row = pack.table("runs").slice(number, 1).to_pylist()[0]
        vars(self).update(_pack=pack, _number=number, _row=row)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.pack, self.run_id)

    @property
    def pack(self) -> Path:
        """The folder of the pack."""
        return self._pack.path

    def check(self) -> None:
        """Check the checksums of the pack; ConfigError names the first damaged file."""
        if wrong := unsound_files(self.pack):
            raise ConfigError(f"{self.pack / wrong[0]}: damaged or gone: run the sweep again")

    @cached_property
    def spec(self) -> ExperimentSpec:
        """The experiment, every default written out."""
        with self._valid("spec"):
            return spec_of(parse_object(self._row["spec"]))

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Versions, host and traces of the run, as in `environment.json`."""
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
        if name == "alone" and not self._pack.has(name):
            return SCHEMAS[name].empty_table()
        return drop_empty_optional_columns(name, self._pack.part(name, "run", self._number))


def _reopened(pack: Path, run_id: str) -> PackedResults:
    return PackedResults(Pack(pack), run_id)


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


def packs_in(out: Path) -> Iterator[Pack]:
    """Iterate over the packs in a folder of results; log a warning for each unreadable one."""
    for path in pack_folders(out):
        try:
            yield Pack(path)
        except ConfigError as error:
            _warn_once(f"{error}; it is skipped")


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


def packed(path: Path) -> PackedResults | None:
    """Find the results of the run `path` in a pack of the same folder of results."""
    for pack in packs_in(path.parent):
        if path.name in pack.run_ids:
            return PackedResults(pack, path.name)
    return None
