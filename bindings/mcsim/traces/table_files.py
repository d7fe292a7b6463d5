"""Arrow and Parquet files: which they are, what is in them, whose they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.base.errors import ConfigError, TraceError
from mcsim.traces.batches import CLASSED_SCHEMA, SCHEMA, Batch, batch_of, batch_with, check_batch
from mcsim.traces.store import OptionValue, TraceMetadata, metadata_in
from mcsim.traces.tables import TABLE_OPTIONS, TableMapping, TableReader

_MAGIC = {b"ARROW1": "arrow", b"PAR1": "parquet"}
TABLE_FORMATS = ("arrow", "parquet")
_SUMMARY = {
    "arrow": "Arrow IPC file (Feather), its columns mapped by parameters; mcsim's own need none",
    "parquet": "Parquet file, its columns mapped by parameters; mcsim's own need none",
}


def table_format(path: Path) -> str | None:
    """Tell by its first bytes whether a file is an Arrow or Parquet file, and which."""
    with path.open("rb") as file:
        head = file.read(6)
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def describe_table_formats(csv: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Describe both formats as the core does its own, given the one of text that they resemble."""
    defaults = TableMapping()
    params = [
        param | {"default": getattr(defaults, param["name"])}
        for param in csv["params"]
        if param["name"] in TABLE_OPTIONS
    ]
    return [
        {"name": name, "summary": summary, "reference": "Apache Arrow", "params": params}
        for name, summary in _SUMMARY.items()
    ]


class OwnTable:
    """Requests of a file in mcsim's columns, with its description, as a reader of text has them."""

    def __init__(
        self,
        source: str,
        metadata: TraceMetadata,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
    ) -> None:
        self.metadata = metadata
        self.synthetic = metadata.synthetic
        self.time_base = metadata.time_base
        self.has_lengths = metadata.has_lengths
        self.vms = list(metadata.vms)
        self.unsorted = False
        self.skipped = metadata.skipped_lines
        self.complaints = list(metadata.complaints)
        self.consumed = 0
        self._source = source
        self._schema = CLASSED_SCHEMA if schema.names == CLASSED_SCHEMA.names else SCHEMA
        self._batches = batches
        self._rows = 0

    def next(self) -> Batch | None:
        """Return the next requests; None at the end."""
        record_batch = next(self._batches, None)
        if record_batch is None:
            if self._rows != self.metadata.counts.requests:
                raise TraceError(
                    f"{self._source}: {self._rows} requests instead of "
                    f"{self.metadata.counts.requests}"
                )
            return None
        batch = batch_of(record_batch.cast(self._schema))
        self._rows += len(batch.time)
        try:
            check_batch(batch, self.vms)
        except ConfigError as error:
            raise TraceError(f"{self._source}: {error}") from None
        return batch


def table_of(given: Any, source: str) -> pa.Table:
    """Return a table of any object with an Arrow C stream, its buffers validated.

    Raises
    ------
    ConfigError
        If it has none.
    TraceError
        If a buffer is damaged, or the stream fails.
    """
    if not hasattr(given, "__arrow_c_stream__") and not hasattr(given, "__arrow_c_array__"):
        raise ConfigError(
            f"{source}: expected an object with an Arrow C stream (a pyarrow Table, RecordBatch or "
            f"RecordBatchReader, a DuckDB relation, a Polars frame), got {type(given).__name__}"
        )
    try:
        table = pa.table(given)
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise TraceError(f"{source}: {error}") from None
    return table


def requests_in(
    table: pa.Table,
    source: str,
    mapping: Mapping[str, OptionValue],
    *,
    skip_bad_rows: bool,
    sort: bool,
) -> tuple[Batch, TableReader | OwnTable]:
    """Read all requests of a table, and return them with what was learnt of them."""
    own = metadata_in(table.schema)
    reader: TableReader | OwnTable
    if own is not None and not mapping:
        reader = OwnTable(source, own, table.schema, iter(table.to_batches()))
    else:
        reader = TableReader(
            source,
            table.schema,
            lambda columns: table.select(columns).to_batches(),
            "vm",
            mapping,
            skip_bad_rows=skip_bad_rows,
            keep_unsorted=sort,
        )
    parts = []
    while (part := reader.next()) is not None:
        parts.append(part)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if reader.unsorted:
        order = np.argsort(columns[0], kind="stable")
        columns = [column[order] for column in columns]
    return batch_with(columns), reader


def open_table(
    path: Path,
    format: str,
    vm_name: str,
    options: Mapping[str, OptionValue],
    *,
    skip_bad_rows: bool,
    keep_unsorted: bool,
) -> TableReader | OwnTable:
    """Open an Arrow or Parquet file; the arguments are as those of `TableReader`.

    Raises
    ------
    TraceError
        If it is no such file, or damaged.
    ConfigError
        As of `TableReader`.
    """
    try:
        schema, rows, batches = _opened(path, format)
    except (pa.ArrowException, OSError) as error:
        raise TraceError(f"{path}: not a whole {format} file: {error}") from None
    own = metadata_in(schema)
    if own is not None and not options:
        return OwnTable(str(path), own, schema, _guarded(path, batches(schema.names)))
    reader = TableReader(
        str(path),
        schema,
        lambda columns: _guarded(path, batches(columns)),
        vm_name,
        options,
        skip_bad_rows=skip_bad_rows,
        keep_unsorted=keep_unsorted,
    )
    reader.bytes_a_row = path.stat().st_size / max(rows, 1)
    return reader


_Batches = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


def _opened(path: Path, format: str) -> tuple[pa.Schema, int, _Batches]:
    """Return what a file holds: its schema, how many rows, and columns of it batch by batch."""
    if format == "parquet":
        import pyarrow.parquet as pq

        file = pq.ParquetFile(pa.OSFile(os.fsencode(path), "rb"))
        return (
            file.schema_arrow,
            file.metadata.num_rows,
            lambda columns: file.iter_batches(1 << 20, columns=list(columns)),
        )
    reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
    return (
        reader.schema,
        sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches)),
        lambda columns: (
            reader.get_batch(i).select(list(columns)) for i in range(reader.num_record_batches)
        ),
    )


def _guarded(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        for batch in batches:
            batch.validate(full=True)
            yield batch
    except (pa.ArrowException, OSError) as error:
        raise TraceError(f"{path}: damaged: {error}") from None
