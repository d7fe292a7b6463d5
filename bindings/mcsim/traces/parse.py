"""Trace files parsed into stores, unless that was done before."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError, TraceError
from mcsim.base.inputs import printable
from mcsim.base.progress import count_as
from mcsim.traces.batches import Batch, batch_with
from mcsim.traces.cache import is_trusted, kept_store, mark_used, open_cache
from mcsim.traces.checks import SignCounter
from mcsim.traces.digests import (
    file_digest,
    file_state,
    is_settled,
    keys_digest,
    note_path,
    read_note,
    write_note,
)
from mcsim.traces.metadata import STORE_VERSION, Counts, OptionValue, TraceMetadata
from mcsim.traces.pipes import Spool
from mcsim.traces.store import Store, write_store
from mcsim.traces.table_files import TABLE_FORMATS, OwnTable, open_table, rows_of
from mcsim.traces.tables import TableReader, keys_of

if TYPE_CHECKING:
    import pyarrow as pa

    from mcsim.traces.streamed import Streamed, View

Progress = Callable[[int, int], None]
"""Called with the processed bytes of the file and its size. Hashing and parsing count half each."""

LARGE_BYTES = 1 << 23
"""Smaller files are parsed into a store in 0.2 s."""

_PARSER_VERSIONS = {
    "csv": 4,
    "jsonl": 2,
    "mooncake": 2,
    "arrow": 4,
    "parquet": 5,
    "keys": 3,
    "oracle-general": 2,
    "msr": 3,
    "strace": 2,
    "vscsi": 2,
    "cloudphysics": 2,
    "lcs": 2,
    "blkparse": 2,
    "blktrace": 2,
    "biosnoop": 2,
    "arc": 2,
}
"""Versions of parsers, where what they return has changed since the first."""


@dataclass
class Parse:
    """One way of reading one file into the store."""

    source: Path
    format: str
    options: dict[str, OptionValue]
    skip_bad_lines: bool = False
    sort: bool = True
    progress: Progress = lambda done, total: None
    spool: Spool | None = None
    """The source, if it came through a pipe: no other process changes it."""

    def opened(self, cache_dir: Path, view: View | None) -> Store | Streamed:
        """Open the store of this file, or intern a large file as it is read.

        Parameters
        ----------
        cache_dir : Path
        view : View, optional
            References that the caller replays.

        Raises
        ------
        TraceError
            As of `cached_store`.
        """
        if view is not None and self.format not in TABLE_FORMATS:
            from mcsim.traces.streamed import streamed

            if (found := streamed(self, cache_dir, view)) is not None:
                return found
        return self.cached_store(cache_dir)

    def cached_store(self, cache_dir: Path) -> Store:
        """Return the store of this file parsed this way; parse the file if there is none.

        Raises
        ------
        TraceError
            If the file changes while it is hashed or parsed; nothing is cached then.
        """
        opened = file_state(self.source)
        open_cache(cache_dir)
        source_digest = self._source_digest(note_path(cache_dir, self.source), opened)
        digest = self.digest_of(source_digest)
        path = self.store_path(cache_dir, digest)

        def make() -> Store:
            self.check_unchanged(opened)
            return self._parse(path, opened, source_digest, digest)

        store = kept_store(path, digest, self.source, make)
        self.progress(opened[0], opened[0])
        return store

    def is_parsed(self, cache_dir: Path) -> bool:
        """Whether there is a store of this file in its present state."""
        noted = noted_digest(note_path(cache_dir, self.source), file_state(self.source))
        return noted is not None and is_trusted(self.store_path(cache_dir, self.digest_of(noted)))

    def store_path(self, cache_dir: Path, digest: str) -> Path:
        """Return the path of the store of requests with this digest."""
        return cache_dir / f"{self.vm_name}-{digest[:16]}.arrow"

    @property
    def vm_name(self) -> str:
        """Name of the VM of a file without names of VMs."""
        return _core_trace.vm_name_of(os.fsencode(self.source))

    def digest_of(self, source_digest: str) -> str:
        """Return the digest of the requests of a file with this digest, parsed this way."""
        # The file's name counts because it may become that of the VM.
        how: tuple[object, ...] = (
            STORE_VERSION,
            source_digest,
            self.vm_name,
            self.format,
            sorted(self.options.items()),
            self.skip_bad_lines,
            self.sort,
        )
        how += (_PARSER_VERSIONS[self.format],) if self.format in _PARSER_VERSIONS else ()
        return hashlib.sha256(repr(how).encode()).hexdigest()

    def _source_digest(self, note: Path, opened: list[int]) -> str:
        """Return the digest of the file; read the file only if its state differs from the note."""
        if self.spool is not None:
            return self.spool.digest
        if (noted := noted_digest(note, opened)) is not None:
            return noted
        digest = file_digest(self.source, lambda done: self.progress(done // 2, opened[0]))
        self.check_unchanged(opened)
        keep_digest(note, opened, digest)
        return digest

    def check_unchanged(self, opened: list[int], source_digest: str | None = None) -> None:
        """Check the state of the file, and its digest if the clock is too coarse for the state."""
        is_same = file_state(self.source) == opened
        if is_same and source_digest and self.spool is None and not is_settled(opened):
            is_same = file_digest(self.source, lambda done: None) == source_digest
        if not is_same:
            raise TraceError(f"{self.source}: it has changed since it was opened")

    def reader(self) -> _core_trace.Reader | TableReader | OwnTable:
        """Open the file for one pass."""
        if self.format not in TABLE_FORMATS:
            file = os.fsencode(self.source)
            how = (self.options, self.skip_bad_lines, self.sort)
            return _core_trace.Reader(file, self.format, *how)
        return open_table(
            self.source,
            self.format,
            self.vm_name,
            self.options,
            skip_bad_rows=self.skip_bad_lines,
            keep_unsorted=self.sort,
        )

    def _parse(self, path: Path, opened: list[int], source_digest: str, digest: str) -> Store:
        reader = self.reader()
        signs = SignCounter()
        began = time.perf_counter()
        read = 0.0

        def batches() -> Iterator[Batch]:
            nonlocal read
            since = time.perf_counter()
            while (columns := reader.next()) is not None:
                self.progress((opened[0] + reader.consumed) // 2, opened[0])
                batch = batch_with(columns)
                signs.add(batch)
                read += time.perf_counter() - since
                yield batch
                since = time.perf_counter()
            read += time.perf_counter() - since

        keys = cache(lambda: keys_of(reader.keys))

        def describe(counts: Counts) -> TraceMetadata:
            self.check_unchanged(opened, source_digest)
            return self.describe(reader, counts, signs, keys(), (source_digest, digest))

        store = write_store(
            path,
            batches(),
            describe,
            sort=lambda: reader.unsorted,
            kind=lambda: reader.kind,
            keys=keys,
            private=True,
        )
        count_as("store", time.perf_counter() - began - read)
        return store

    def describe(
        self,
        reader: _core_trace.Reader | TableReader | OwnTable,
        counts: Counts,
        signs: SignCounter,
        keys: pa.Array | None,
        digests: tuple[str, str],
    ) -> TraceMetadata:
        """Return the metadata of requests that a reader has read.

        `digests` are the digests of the file and of its requests.
        """
        rows, complaints = rows_of(reader)
        if self.spool is not None:
            complaints = tuple(map(self.spool.renamed, complaints))
        return TraceMetadata(
            source=printable(self.source.name),
            source_digest=digests[0],
            digest=digests[1],
            format=self.format,
            options=self.options,
            time_base=reader.time_base,
            vms=tuple(reader.vms),
            counts=counts,
            rows=rows,
            complaints=complaints,
            kind=reader.kind,
            vm_from_file=not reader.names_vms,
            signs=signs.signs(
                has_clock=reader.time_base == "clock",
                has_block_lengths=reader.has_lengths and reader.kind == "blocks",
            ),
            keys_digest=keys_digest(keys),
            synthetic=isinstance(reader, OwnTable) and reader.synthetic,
            has_lengths=reader.has_lengths,
            notes=tuple(reader.notes),
        )


def content_digest(path: Path, cache_dir: Path) -> str:
    """Return the SHA-256 of a file, from its note or by reading it.

    Raises
    ------
    HostError
        If the file cannot be read.
    """
    state, note = file_state(path), note_path(cache_dir, path)
    if (noted := noted_digest(note, state)) is not None:
        return noted
    digest = file_digest(path, lambda done: None)
    with suppress(OSError):
        open_cache(cache_dir)
        keep_digest(note, state, digest)
    return digest


def noted_digest(note: Path, state: list[int]) -> str | None:
    """Return the digest in a note if the file is still in this state."""
    with suppress(OSError, ValueError):
        if is_trusted(note):
            noted, digest = read_note(note)
            if noted == state:
                mark_used(note)
                return digest
    return None


def keep_digest(note: Path, state: list[int], digest: str) -> None:
    """Write the digest of a file into a note, unless the file may change unnoticed."""
    if is_settled(state):
        with suppress(ConfigError):  # something else has its name
            write_note(note, state, digest)
