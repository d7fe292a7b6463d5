"""Results under way: parts kept across interruptions, whole tables, and DONE at last."""

from __future__ import annotations

import fcntl
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from ruamel.yaml import YAML

from mcsim.base.files import replacing
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import read_json, write_json, write_parquet
from mcsim.results.results import Results
from mcsim.results.schemas import SCHEMAS
from mcsim.results.seals import damaged, digest_of, listed, read_list

__all__ = ["Draft", "SystemTables", "abandoned", "is_under_way"]


@dataclass(frozen=True)
class SystemTables:
    """What one system adds to a run."""

    metrics: pa.Table
    vms: pa.Table
    decisions: pa.Table
    timing: dict[str, float]
    bounds: pa.Table = field(default_factory=SCHEMAS["bounds"].empty_table)


@dataclass
class Draft:
    """A run being written. Use `begin`; leave by `finish` or `abandon`."""

    folder: Path
    final: Path
    _lock: IO[str]
    _spec: ExperimentSpec | None = None

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
        # Process ids are those of one host, and hosts may share the folder.
        folder = out / f"{run_id}.partial-{secrets.token_hex(4)}"
        for replaced in out.glob(f"{run_id}.replaced-*"):
            shutil.rmtree(replaced, ignore_errors=True)
        adopted: IO[str] | None = None
        for left, lock in abandoned(out, run_id):
            if adopted is None and _build_of(left) == build:
                left.rename(folder)
                adopted = lock
            else:
                shutil.rmtree(left)
                lock.close()
        if adopted is None:
            folder.mkdir()
            (folder / _LOCK).touch()
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
        if damaged(folder, read_list(folder / _SUMS), _PART_FILES) is not None:
            shutil.rmtree(folder)
            return None
        tables = {name: pq.read_table(folder / f"{name}.parquet") for name in _PART_TABLES}
        return SystemTables(**tables, timing=read_json(folder / "timing.json"))

    def save_part(self, index: int, tables: SystemTables) -> None:
        """Keep what a system produced, all of it or nothing."""
        folder = self._part_folder(index)
        temporary = folder.with_suffix(".tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        for name in _PART_TABLES:
            write_parquet(temporary / f"{name}.parquet", getattr(tables, name))
        write_json(temporary / "timing.json", tables.timing)
        sums = {name: digest_of(temporary / name) for name in _PART_FILES}
        (temporary / _SUMS).write_text(listed(sums), encoding="utf-8")
        temporary.rename(folder)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write one of the tables of `SCHEMAS`."""
        write_parquet(self.folder / f"{name}.parquet", table.cast(SCHEMAS[name]))
        self._seal(f"{name}.parquet")

    def has(self, *names: str) -> bool:
        """Whether these files are as this run, or the one it took over, wrote them."""
        return damaged(self.folder, read_list(self.folder / _SUMS), names) is None

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write `<name>.json`."""
        write_json(self.folder / f"{name}.json", value)
        self._seal(f"{name}.json")

    def write_spec(self, spec: ExperimentSpec) -> None:
        """Write the expanded experiment."""
        self._spec = spec
        writer = YAML()
        writer.default_flow_style = False
        with replacing(self.folder / "spec.yaml") as temporary:
            writer.dump(spec.expanded(), temporary)
        self._seal("spec.yaml")

    def finish(self) -> Results:
        """Give the run its final name; one of the same id that is there is replaced."""
        shutil.rmtree(self.folder / "parts")
        (self.folder / "build").unlink()
        sums = read_list(self.folder / _SUMS)
        sums.pop("timings.json", None)  # to which figures will add
        (self.folder / "DONE").write_text(listed(sums), encoding="utf-8")
        (self.folder / _SUMS).unlink()
        if self.final.exists():
            replaced = self.final.with_name(f"{self.final.name}.replaced-{secrets.token_hex(4)}")
            self.final.rename(replaced)
            self.folder.rename(self.final)
            shutil.rmtree(replaced)
        else:
            self.folder.rename(self.final)
        (self.final / _LOCK).unlink()
        self._lock.close()
        results = Results(self.final)
        if self._spec is not None:
            vars(results)["spec"] = self._spec  # what reading the file again would give
        return results

    def abandon(self) -> None:
        """Leave the finished systems for the next run, or nothing if there are none."""
        if self.folder.is_dir():
            parts = (self.folder / "parts").iterdir()
            if not any(part.name.isdecimal() for part in parts):
                shutil.rmtree(self.folder)
        self._lock.close()

    def _seal(self, name: str) -> None:
        sums = read_list(self.folder / _SUMS) | {name: digest_of(self.folder / name)}
        with replacing(self.folder / _SUMS) as temporary:
            temporary.write_text(listed(sums), encoding="utf-8")

    def _part_folder(self, index: int) -> Path:
        return self.folder / "parts" / str(index)


_LOCK = "lock"
_SUMS = "sha256"
_PART_TABLES = ("metrics", "vms", "decisions", "bounds")
_PART_FILES = (*(f"{name}.parquet" for name in _PART_TABLES), "timing.json")


def _try_lock(folder: Path) -> IO[str] | None:
    """Lock a partial folder for the life of this process, if no live one holds it."""
    try:
        handle = (folder / _LOCK).open("r+", encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def is_under_way(folder: Path) -> bool:
    """Whether somebody is at work on the run of a partial folder."""
    lock = _try_lock(folder)
    if lock is not None:
        lock.close()
    return lock is None and folder.is_dir()


def abandoned(out: Path, run_id: str = "*") -> Iterator[tuple[Path, IO[str]]]:
    """Return partial folders that nobody is at work on, each locked until its lock closes."""
    for left in sorted(out.glob(f"{run_id}.partial-*")):
        if (lock := _try_lock(left)) is not None:
            yield left, lock


def _build_of(folder: Path) -> str | None:
    try:
        return (folder / "build").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
