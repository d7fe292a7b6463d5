"""Traces written to files: stores, which are made anew if damaged, Parquet and text."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.base.errors import ConfigError, HostError, McsimError, TraceError, is_host_fault
from mcsim.base.files import replacing, temporary_beside
from mcsim.traces.batches import (
    INDEX_TIME,
    Batch,
    Kind,
    batch_of,
    keyed,
    keys_in,
    record_batch_of,
    schema_of,
    schema_with_keys,
)
from mcsim.traces.block_pieces import bytes_of_block
from mcsim.traces.cache import cache_limit, is_trusted, make_room, mark_used, open_cache
from mcsim.traces.object_records import ObjectRecords, lcs, oracle_general
from mcsim.traces.store import (
    BATCH_REQUESTS,
    BLOCK_BYTES,
    CHECKSUM_KEY,
    Counts,
    Store,
    TraceMetadata,
    checksum_of,
    open_store,
    schema_with,
)
from mcsim.traces.written import WrittenFormat, codec_of

_log = logging.getLogger(__name__)


def kept_store(path: Path, digest: str, source: Path, make: Callable[[], Store]) -> Store:
    """Return a store that was made of a file before, or make it.

    One that is damaged is made anew, whenever that is found, and a warning is logged. Where one
    is made, others that were used longest ago make room for it, as far as there is a limit.

    Parameters
    ----------
    path : Path
    digest : str
        The requests that it must hold.
    source : Path
        File that it is made from.
    make : callable
        Makes it at `path`.

    Raises
    ------
    TraceError
        If it is found to be damaged while it is read, and cannot be made anew.
    """

    def make_anew(why: TraceError) -> None:
        try:
            make()
        except (McsimError, OSError) as error:
            kind = HostError if is_host_fault(error) and source.exists() else TraceError
            raise kind(f"{why}, and cannot be made anew: {error}") from error
        _log.warning("%s: it was made anew from %s", why, source)

    open_cache(path.parent)
    if is_trusted(path):
        try:
            mark_used(path)
            store = open_store(path, make_anew)
            if store.metadata.digest == digest:
                return store
        except TraceError as error:
            make_anew(error)
            return open_store(path)
    limit = cache_limit(path.parent)
    store = make()
    mark_used(path)
    make_room(path.parent, limit)
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


def block_bytes_given(given: int | str | None, metadata: TraceMetadata) -> int:
    """Return the size of a block; by default that of a miss stream's replay, or 4 KiB.

    Raises
    ------
    ConfigError
        If the given size is none.
    """
    if given is None and metadata.format == "misses":
        given = cast("str | None", metadata.options.get("block_bytes"))
    return BLOCK_BYTES if given is None else bytes_of_block("block_bytes", given)


def save_trace(
    path: Path,
    batches: Iterable[pa.RecordBatch],
    metadata: TraceMetadata,
    format: WrittenFormat,
    block_bytes: int = BLOCK_BYTES,
) -> None:
    """Write a trace to a file in a format (see `Trace.save`)."""
    if format.has_objects:
        _save_objects(path, batches, metadata, format, block_bytes)
    elif format.name == "arrow":
        given = list(batches) if metadata.keys_digest else batches
        write_store(
            path,
            (batch_of(record_batch) for record_batch in given),
            lambda counts: metadata,
            kind=lambda: metadata.kind,
            keys=lambda: keys_in(next(iter(given))) if metadata.keys_digest else None,
        )
    elif format.name == "parquet":
        _save_parquet(path, batches, metadata)
    else:
        _save_text(path, batches, metadata)


def _save_objects(
    path: Path,
    batches: Iterable[pa.RecordBatch],
    metadata: TraceMetadata,
    format: WrittenFormat,
    block_bytes: int,
) -> None:
    """Write records of libCacheSim; log a line for each thing that the format cannot hold."""
    records = ObjectRecords.of(map(batch_of, batches), metadata, block_bytes)
    lost = [text for name, text in format.lacks.items() if name in records.lost]
    for line in [*lost, *records.notes]:
        _log.warning("%s: %s: %s", path, format.name, line)
    with _stream_to(path) as stream:
        for piece in (lcs if format.name == "lcs" else oracle_general)(records):
            stream.write(piece)


@contextmanager
def _stream_to(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file that appears whole or not at all, compressed as its name ends."""
    codec = codec_of(path)
    with replacing(path) as file, pa.OSFile(os.fsencode(file), "wb") as stream:
        if codec is None:
            yield stream
            return
        with pa.CompressedOutputStream(stream, codec) as compressed:
            yield compressed


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


def _save_parquet(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    import pyarrow.parquet as pq

    schema, named_batches = named(batches, metadata)
    with (
        replacing(path) as file,
        pa.OSFile(os.fsencode(file), "wb") as sink,
        pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        for record_batch in named_batches:
            writer.write_batch(record_batch)


_OPS = ["read", "write", "discard"]
# Text that the reader of CSV would change without quotes.
_NEEDS_QUOTES = r'[",]|^\s|\s$|^$'


def _save_text(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    import pyarrow.csv as text

    schema, named_batches = named(batches, metadata)
    header = _csv_header(metadata, schema)
    style: Literal["needed", "none"] = _quoting_style(pa.array(metadata.vms, pa.string()))
    known = None  # the last keys; batches usually share them
    with _stream_to(path) as stream:
        stream.write((",".join(header) + "\n").encode())
        for record_batch in named_batches:
            columns = record_batch.columns
            keys = columns[3].dictionary if isinstance(columns[3], pa.DictionaryArray) else None
            if keys is not None and style == "none" and not _is_same_memory(known, keys):
                style = _quoting_style(keys)
            known = keys
            columns[1] = columns[1].dictionary_decode()
            columns[2] = pa.array(_OPS).take(columns[2])
            if keys is not None:
                columns[3] = columns[3].dictionary_decode()
            options = text.WriteOptions(include_header=False, quoting_style=style)
            try:
                text.write_csv(pa.RecordBatch.from_arrays(columns, header), stream, options)
            except pa.ArrowInvalid as error:
                raise ConfigError(f"{path}: a name or key cannot stand in CSV: {error}") from error


def _quoting_style(texts: pa.Array) -> Literal["needed", "none"]:
    """Return whether some texts need quotes in CSV (RFC 4180); all texts are quoted then."""
    import pyarrow.compute as pc

    is_needed = pc.any(pc.match_substring_regex(texts, _NEEDS_QUOTES)).as_py()
    return "needed" if is_needed else "none"


def _is_same_memory(one: pa.Array | None, other: pa.Array) -> bool:
    if one is None or len(one) != len(other) or one.offset != other.offset:
        return False
    places = [[b.address for b in of.buffers() if b is not None] for of in (one, other)]
    return places[0] == places[1]


def _csv_header(metadata: TraceMetadata, schema: pa.Schema) -> list[str]:
    time = "time_ns" if metadata.time_base == "clock" else INDEX_TIME
    return [time, "vm", "op", *schema.names[3:5], "response_ns", *schema.names[6:]]
