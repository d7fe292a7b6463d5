"""Results of a run under way: parts that survive interruptions, then whole tables and DONE."""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from mcsim.base.claims import claim_folder, is_claimed, release_lease, retry_on_missing_parent
from mcsim.base.errors import is_host_fault
from mcsim.base.faults import reached
from mcsim.base.files import (
    flush,
    flush_folder,
    identity,
    named_in_errors,
    of_the_disk,
    put_in_place,
    rename,
    write_whole,
)
from mcsim.config.spec import ExperimentSpec
from mcsim.results.files import DONE, SPEC, declared, json_of, parquet_of, yaml_of
from mcsim.results.output import RunOutput, SystemTables
from mcsim.results.results import Results
from mcsim.results.schemas import joined_curves, schema_of
from mcsim.results.seals import digest_of_bytes, listed, read_list, unsound_files


@dataclass(frozen=True)
class Part:
    """Contents by name, and facts.

    Its bytes are a line with the SHA-256 of all that follows; a line of JSON with the build that
    made it, the facts, and the length of every content; the contents.
    """

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]

    def to_bytes(self, build: str) -> bytes:
        """Return the content of a file."""
        lengths = {name: len(content) for name, content in self.files.items()}
        head = json.dumps({"build": build, "facts": self.facts, "files": lengths})
        content = b"\n".join([head.encode(), b"".join(self.files.values())])
        return digest_of_bytes(content).encode() + b"\n" + content

    @classmethod
    def from_bytes(cls, data: bytes, build: str) -> Part | None:
        """Read what `to_bytes` returned; None if another build made it.

        Raises
        ------
        ValueError
            If it is not whole.
        """
        digest, _, content = data.partition(b"\n")
        if digest != digest_of_bytes(content).encode():
            raise ValueError("not what its checksum is of")
        line, _, rest = content.partition(b"\n")
        head = json.loads(line)
        if head["build"] != build:
            return None
        files, begin = {}, 0
        for name, length in head["files"].items():
            files[name] = rest[begin : begin + length]
            begin += length
        return cls(files, head["facts"])


KEPT_AFTER_SECONDS = 1.0
"""Least seconds of work per file; shorter work is written together with later work."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


def draft_folder(out: Path, run_id: str) -> Path:
    """Return the parent of the folders of all processes that work on a run."""
    return out / f"{run_id}.partial"


def is_under_way(drafts: Path) -> bool:
    """Return whether a process works on a run, given its `draft_folder`."""
    return drafts.is_dir() and is_claimed(drafts)


def clear_left(drafts: Path) -> None:
    """Remove the files of processes that no longer work on a run, given its `draft_folder`."""
    if drafts.is_dir() and not drafts.is_symlink():
        release_lease(claim_folder(drafts), keep=False)


class RunWriter(RunOutput):
    """Results of a run that become a folder, until `finish` or `abandon`.

    It begins with the parts that earlier processes of the same build left. All contents are in
    memory as well as in files. Another process may take the folder away, after it saw no sign of
    life, or remove all results. The run then continues in a new folder.

    Parameters
    ----------
    path : Path
        The final folder.
    build : str
        Identifier of the program.

    Raises
    ------
    HostError
        If the folder cannot be written.
    """

    def __init__(self, path: Path, build: str) -> None:
        super().__init__(path)
        self._build = build
        self._replaced = identity(path)
        self._lock = threading.RLock()
        self._files: dict[str, bytes] = {}
        self._unsaved: set[str] = set()
        self._saved_at = time.monotonic()
        self._is_over = False
        with named_in_errors(path):
            retry_on_missing_parent(self._claim)

    @property
    def folder(self) -> Path:
        """Folder that becomes the folder of results."""
        return self._mine / "run"

    def part(self, index: int) -> SystemTables | None:
        """Return the tables of the system at `index`, if it has finished."""
        with self._lock:
            found = None if index in self._systems else self._read(str(index))
            if found is not None:
                read = {name: pa.ipc.open_stream(found.files[name]) for name in _OF_A_SYSTEM}
                tables = {name: stream.read_all() for name, stream in read.items()}
                self._systems[index] = SystemTables(**tables, timing=dict(found.facts))
            return super().part(index)

    def save_part(self, index: int, tables: SystemTables) -> None:
        """Save all tables of a system, or none; at once if its work took long."""
        with self._lock:
            super().save_part(index, tables)
            self._unsaved.add(str(index))
            if self._is_over or time.monotonic() - self._saved_at < KEPT_AFTER_SECONDS:
                return
            with named_in_errors(self.path):
                self._retry_with_new_folder(self._save)

    def has(self, *names: str) -> bool:
        """Return whether these files were written, by this process or an earlier one."""
        with self._lock:
            if (written := self._read(_FILES)) is not None:
                self._files = {**written.files, **self._files}
        return self._files.keys() >= set(names)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write one of the tables of `SCHEMAS`."""
        schema = schema_of(name, table.column_names)
        table = table.select(schema.names).cast(schema)
        self._write(f"{name}.parquet", parquet_of(table))
        super().write_table(name, table)

    def write_curves(self, steps: pa.Table, points: pa.Table) -> None:
        """Write curves at steps, and at additional points of this run."""
        self.write_table("curves", joined_curves(steps, points))

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write `<name>.json`."""
        self._write(f"{name}.json", json_of(value))

    def write_spec(self, spec: ExperimentSpec) -> None:
        """Write the expanded experiment."""
        super().write_spec(spec)
        self._write(SPEC, yaml_of(spec.expanded()))

    def finish(self) -> Results:
        """Move the run to its final name; replace an earlier run of the same id.

        If another process has finished the same run meanwhile, its results stay.

        Raises
        ------
        HostError
            If the run cannot be written; its parts stay.
        """
        sums = {name: digest_of_bytes(content) for name, content in self._files.items()}
        self._files[DONE] = listed(sums).encode()
        with named_in_errors(self.path):
            is_placed = self._retry_with_new_folder(self._finish)
        release_lease(self._mine, keep=False)
        # These values equal those that reading the files again would return.
        known = {"spec": self.spec, "_tables": self.tables} if is_placed else {}
        return Results.of(self.path, **known)

    def abandon(self) -> None:
        """Save the finished systems for the next run; without any, remove the folder."""
        with self._lock:
            self._is_over = True
            with suppress(OSError):
                self._save()
            kept = (part.name for part in (self._mine / _PARTS).glob("*"))
            release_lease(self._mine, keep=any(map(str.isdecimal, kept)))

    def _claim(self) -> None:
        """Claim a folder, and collect the parts and the logs of folders that were left."""
        self._mine = claim_folder(draft_folder(self.path.parent, self.path.name))
        self.folder.mkdir(exist_ok=True)
        for taken in sorted(self._mine.glob("taken.*")):
            for part in taken.rglob(f"{_PARTS}/*"):
                (self._mine / _PARTS).mkdir(exist_ok=True)
                rename(part, self._mine / _PARTS / part.name)
            for log in taken.rglob("run/log.txt"):
                with (self.folder / "log.txt").open("ab") as file:
                    file.write(log.read_bytes())
            shutil.rmtree(taken, ignore_errors=True)
        reached("parts gathered")

    def _read(self, name: str) -> Part | None:
        """Read a part; remove it if it is damaged or of another build."""
        file = self._mine / _PARTS / name
        try:
            part = Part.from_bytes(file.read_bytes(), self._build)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            _log.warning("%s: cannot be read (%s); it is made again", file, error)
            if is_host_fault(error):
                return None
            part = None
        if part is None:
            with suppress(OSError):
                file.unlink()
        return part

    def _write(self, name: str, content: bytes) -> None:
        with self._lock:
            self._files[declared(name)] = content
            self._unsaved.add(_FILES)

    def _save(self) -> None:
        """Write the unsaved parts."""
        with self._lock:
            for name in sorted(self._unsaved):
                os.utime(self._mine)  # there, and still ours
                write_whole(self._mine / _PARTS / name, self._part(name).to_bytes(self._build))
                self._unsaved.discard(name)
                reached("part saved")
            self._saved_at = time.monotonic()

    def _part(self, name: str) -> Part:
        if name == _FILES:
            return Part(self._files, {})
        tables = self._systems[int(name)]
        streams = {name: _stream_of(getattr(tables, name)) for name in _OF_A_SYSTEM}
        return Part(streams, tables.timing)

    def _retry_with_new_folder(self, work: Callable[[], T]) -> T:
        """Call `work`; if another process took the folder away, again with a new folder."""
        for again in range(_TIMES, -1, -1):
            try:
                return work()
            except OSError as error:
                if not again or self._mine.is_dir() or of_the_disk(error):
                    raise
                _log.warning("%s: somebody took it away; there is another one", self._mine)
                retry_on_missing_parent(self._claim)
        raise AssertionError("unreachable")

    def _finish(self) -> bool:
        """Write all files, DONE last, and move the folder; False if a whole run has its name."""
        self.folder.mkdir(exist_ok=True)
        for name, content in self._files.items():
            (self.folder / name).write_bytes(content)
            reached("result written")
        flush(self.folder.iterdir())
        flush_folder(self.folder)
        reached("results flushed")
        return put_in_place(self.folder, self.path, self._another_is_whole)

    def _another_is_whole(self) -> bool:
        """Return whether another process has finished the run since, with undamaged results."""
        if identity(self.path) == self._replaced:
            return False
        if unsound_files(self.path):
            return False
        theirs = read_list(self.path / DONE)
        mine = {name: digest_of_bytes(content) for name, content in self._files.items()}
        for name in sorted(theirs.keys() & mine.keys() - {"environment.json", "timings.json"}):
            if theirs[name] != mine[name]:
                _log.warning(
                    "%s: another process finished this run first, and found other numbers; they "
                    "stay, see what differs between the hosts",
                    self.path / name,
                )
                break
        return True


_PARTS = "parts"
_FILES = "files"
_OF_A_SYSTEM = ("metrics", "vms", "decisions", "bounds", "alone")
_TIMES = 3


def _stream_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
