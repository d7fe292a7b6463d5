"""The trace store: requests as columns in an Arrow IPC file, with their metadata.

The file has record batches of the columns in `SCHEMA`, and of classes if it has any
(`CLASSED_SCHEMA`); the schema has the `TraceMetadata`. Any Arrow reader opens it. Every batch has a
checksum. Nothing in the file is relied on before it was checked: the metadata when it is opened, a
batch when it is read for the first time.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim._core import trace as _core_trace
from mcsim.base.errors import TraceError, host_faults
from mcsim.base.files import replacing, temporary_beside
from mcsim.base.inputs import open_regular
from mcsim.traces.batches import (
    INDEX_TIME,
    Batch,
    Kind,
    batch_of,
    is_trace_schema,
    keyed,
    keys_in,
    record_batch_of,
    schema_of,
    schema_with_keys,
)
from mcsim.traces.digests import keys_digest
from mcsim.traces.metadata import (
    CHECKSUM_KEY,
    METADATA_KEY,
    Counts,
    TraceMetadata,
    check_metadata,
    schema_with,
)

BATCH_REQUESTS = 1 << 20


class _Begin(NamedTuple):
    """State before a batch."""

    rows: int = 0
    last_time: int | None = None


class Store:
    """The record batches of a store file, memory-mapped.

    Iterating raises TraceError at a batch that is damaged or holds what a trace cannot,
    unless the store knows how it is made anew: then it is, and iterating goes on.

    Parameters
    ----------
    path : Path
    make_anew : callable, optional
        Replaces the file by one with the same requests; receives the error.
    """

    def __init__(self, path: Path, make_anew: Callable[[TraceError], None] | None = None) -> None:
        self.path = path
        self._make_anew = make_anew
        self._open()

    def _open(self) -> None:
        with open_regular(self.path) as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._mapped)))
        # Beginnings of the batches with verified predecessors.
        self._begins = {0: _Begin()}

    def __len__(self) -> int:
        return int(self._reader.num_record_batches)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for index in range(len(self)):
            try:
                record_batch = self._batch(index)
            except TraceError as error:
                if self._make_anew is None:
                    raise
                # Once only: what is damaged again is no accident.
                make_anew, self._make_anew = self._make_anew, None
                make_anew(error)
                self._open()
                for checked in range(index):
                    self._batch(checked)
                record_batch = self._batch(index)
            yield record_batch
            # Release the pages that were read: the file may be larger than memory.
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def _batch(self, index: int) -> pa.RecordBatch:
        """Return a batch after all earlier ones."""
        try:
            record_batch, about = self._reader.get_batch_with_custom_metadata(index)
            if index + 1 not in self._begins:
                begin = self._begins[index]
                self._begins[index + 1] = self._check(record_batch, about or {}, begin)
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise TraceError(f"{self.path}: batch {index}: {error}") from error
        return record_batch

    def _check(
        self, record_batch: pa.RecordBatch, about: Mapping[bytes, bytes], begin: _Begin
    ) -> _Begin:
        """Check a batch, ValueError if something is wrong, and return where the next begins."""
        record_batch.validate()
        batch = batch_of(record_batch)
        stored = about.get(CHECKSUM_KEY)
        if stored is not None and stored != checksum_of(batch, begin.rows):
            raise ValueError("it is damaged, for its checksum does not match")
        wrong = _core_trace.wrong_in(
            *batch,
            vms=len(self.metadata.vms),
            kind=self.metadata.kind,
            first_row=begin.rows,
            after=begin.last_time,
        )
        keys = keys_in(record_batch)
        if wrong is None and keys is not None and int(batch.offset.max(initial=0)) >= len(keys):
            wrong = f"a key beyond {len(keys)}"
        if wrong is not None:
            raise ValueError(wrong)
        last_time = int(batch.time[-1]) if len(batch.time) else begin.last_time
        return _Begin(begin.rows + len(batch.time), last_time)

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        return Store, (self.path,)

    @cached_property
    def keys(self) -> pa.Array | None:
        """Text keys of the objects by their ids; None if there are none."""
        if not len(self):
            return None
        keys = keys_in(self._reader.get_batch(0))
        if keys is not None:
            keys.validate(full=True)
        return keys

    @property
    def row_count(self) -> int:
        """Number of requests, from the heads of the batches."""
        rows = (self._reader.get_batch(index).num_rows for index in range(len(self)))
        return int(sum(rows))

    @cached_property
    def metadata(self) -> TraceMetadata:
        """Metadata of the file; ValueError if it is not a store of this version."""
        schema = self._reader.schema
        if not is_trace_schema(schema) or METADATA_KEY not in (schema.metadata or {}):
            raise ValueError("other columns")
        check_metadata(schema)
        return TraceMetadata.from_json(schema.metadata[METADATA_KEY])


def checksum_of(batch: Batch, first_row: int) -> bytes:
    """Return the checksum of a batch, stored under `CHECKSUM_KEY`."""
    return f"{_core_trace.checksum(*batch, first_row=first_row):016x}".encode()


def is_store(path: Path) -> bool:
    """Return whether an Arrow file claims to be a store of mcsim, complete or not."""
    try:
        schema = pa.ipc.open_file(pa.memory_map(os.fsencode(path))).schema
    except (pa.ArrowException, OSError):
        return True  # the caller that opens it reports the error
    return METADATA_KEY in (schema.metadata or {})


def open_store(path: Path, make_anew: Callable[[TraceError], None] | None = None) -> Store:
    """Open a store file and check that all of it is there.

    Its batches are checked as they are read, with `make_anew` as of `Store`.

    Raises
    ------
    TraceError
        If the file is no Arrow file, not a store of this version, or incomplete.
    """
    with host_faults(path):
        try:
            store = Store(path, make_anew)
            if (rows := store.row_count) != store.metadata.counts.rows:
                raise ValueError(f"{rows} rows instead of {store.metadata.counts.rows}")
            if store.metadata.keys_digest != keys_digest(store.keys):
                raise ValueError("its keys are damaged")
        except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError) as error:
            raise TraceError(f"{path}: not a trace store of this version: {error}") from error
        return store


def write_store(
    path: Path,
    batches: Iterable[Batch],
    describe: Callable[[Counts], TraceMetadata],
    *,
    sort: Callable[[], bool] = lambda: False,
    kind: Callable[[], Kind] = lambda: "blocks",
    keys: Callable[[], pa.Array | None] = lambda: None,
    private: bool = False,
) -> Store:
    """Write batches to a store file, which appears whole or not at all.

    The metadata stand at the head of an Arrow file and are known only at the end
    of the trace, so the columns are written twice: once as they come, then from
    that file, mapped into memory, behind their metadata.

    Parameters
    ----------
    path : Path
        Replaced if it exists.
    batches : iterable of Batch
    describe : callable
        Called once all batches were taken; returns the metadata.
    sort : callable
        Called at the same moment; whether to put the requests in the order of
        time, equal times staying as they were. Needs 16 bytes a request of memory.
    kind : callable
        Called after the first batch; what the references are.
    keys : callable
        Called once all batches were taken; the text keys of objects by their ids, if there are any.
    private : bool
        Whether other users cannot read the file.
    """
    counts = Counts()
    with (
        replacing(path, private=private) as final,
        temporary_beside(path, private=True) as as_read,
    ):
        schema, read = schema_of(map(record_batch_of, batches))
        with _written(as_read, schema) as writer:
            for record_batch in read:
                counts = counts.plus(batch_of(record_batch), kind())
                writer.write_batch(record_batch)
        metadata = describe(counts)
        texts = keys()
        if metadata.kind == "objects":
            schema = schema_with_keys(schema, text=texts is not None)
        stored = pa.ipc.open_file(pa.memory_map(os.fsencode(as_read)))
        first_row = 0
        with _written(final, schema_with(metadata, schema)) as writer:
            for plain in (_sorted_by_time if sort() else _in_order)(stored):
                record_batch = plain
                if metadata.kind == "objects":
                    record_batch = keyed(plain, schema, texts)
                checksum = checksum_of(batch_of(record_batch), first_row)
                writer.write_batch(record_batch, custom_metadata={CHECKSUM_KEY: checksum})
                first_row += record_batch.num_rows
    return open_store(path)


@contextmanager
def _written(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatchFileWriter]:
    with pa.OSFile(os.fsencode(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        yield writer


def _in_order(stored: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    for index in range(stored.num_record_batches):
        yield stored.get_batch(index)


def _sorted_by_time(stored: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    """Yield stored requests in the order of time, equal times as they stand."""
    columns = stored.read_all()
    order: npt.NDArray[np.int64] = np.argsort(columns["time"].to_numpy(), kind="stable")
    for begin in range(0, len(order), BATCH_REQUESTS):
        taken = columns.take(pa.array(order[begin : begin + BATCH_REQUESTS]))
        yield from taken.combine_chunks().to_batches()


def named(
    batches: Iterable[pa.RecordBatch], metadata: TraceMetadata
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return columns in which VMs are names, not positions, and their schema."""
    stored, batches = schema_of(batches)
    time = "time" if metadata.time_base == "clock" else INDEX_TIME
    vm = pa.field("vm", pa.dictionary(pa.uint16(), pa.string()), nullable=False)
    schema = stored.set(0, stored.field(0).with_name(time)).set(1, vm)
    schema = schema_with(metadata, schema)
    vms = pa.array(metadata.vms, pa.string())

    def renamed() -> Iterator[pa.RecordBatch]:
        for record_batch in batches:
            columns = record_batch.columns
            columns[1] = pa.DictionaryArray.from_arrays(columns[1], vms)
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, renamed()
