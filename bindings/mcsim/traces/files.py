"""Traces written to files: the store, Parquet, and text that the readers read back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.base.files import replacing
from mcsim.traces.batches import Batch, batch_of, schema_of
from mcsim.traces.kept import write_store
from mcsim.traces.store import TraceMetadata, schema_with

_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


def check_ending(path: Path) -> Literal["arrow", "parquet", "csv"]:
    """Tell by the end of a file's name what is to be written there.

    Raises
    ------
    ConfigError
        If it is nothing that a trace is written as.
    """
    if path.suffix == ".arrow":
        return "arrow"
    if path.suffix == ".parquet":
        return "parquet"
    if (path.with_suffix("") if path.suffix in _CODECS else path).suffix == ".csv":
        return "csv"
    raise ConfigError(
        f"{path}: expected a name that ends in .arrow, .parquet, .csv, .csv.gz, .csv.zst or "
        ".csv.bz2"
    )


def save_trace(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    """Write a trace to a file of the kind its name ends in (see `Trace.save`)."""
    kind = check_ending(path)
    if kind == "arrow":
        write_store(path, (batch_of(rb) for rb in batches), lambda counts: metadata)
    elif kind == "parquet":
        _save_parquet(path, batches, metadata)
    else:
        _save_text(path, batches, metadata)


def _save_parquet(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    import pyarrow.parquet as pq

    schema, batches = schema_of(batches)
    schema = schema_with(metadata, schema)
    with (
        replacing(path) as file,
        pa.OSFile(os.fsencode(file), "wb") as sink,
        pq.ParquetWriter(sink, schema, compression="zstd") as writer,
    ):
        for record_batch in batches:
            writer.write_batch(record_batch.replace_schema_metadata(schema.metadata))


def _save_text(path: Path, batches: Iterable[pa.RecordBatch], metadata: TraceMetadata) -> None:
    import pyarrow.csv as text

    schema, batches = schema_of(batches)
    header = _csv_header(metadata, schema)
    rows_of = _rows_of(metadata, header)
    options = text.WriteOptions(include_header=False, quoting_style="none")
    with replacing(path) as file, ExitStack() as stack:
        stream = stack.enter_context(pa.OSFile(os.fsencode(file), "wb"))
        if path.suffix in _CODECS:
            stream = stack.enter_context(pa.CompressedOutputStream(stream, _CODECS[path.suffix]))
        stream.write((",".join(header) + "\n").encode())
        for record_batch in batches:
            try:
                text.write_csv(rows_of(batch_of(record_batch)), stream, options)
            except pa.ArrowInvalid as error:
                raise ConfigError(f"{path}: a VM's name cannot stand in CSV: {error}") from error


def _csv_header(metadata: TraceMetadata, schema: pa.Schema) -> list[str]:
    time = "time_ns" if metadata.time_base == "clock" else "time_references"
    return [time, "vm", "op", "offset", "length", "response_ns", *schema.names[6:]]


def _rows_of(metadata: TraceMetadata, header: list[str]) -> Callable[[Batch], pa.RecordBatch]:
    vms = pa.array(metadata.vms, pa.string())
    ops = pa.array(["read", "write"])

    def rows_of(batch: Batch) -> pa.RecordBatch:
        columns = [
            batch.time,
            vms.take(pa.array(batch.vm)),
            ops.take(pa.array(batch.op)),
            batch.offset,
            batch.length,
            *batch[5:],
        ]
        return pa.RecordBatch.from_arrays([pa.array(c) for c in columns], header)

    return rows_of
