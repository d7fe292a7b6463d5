"""Arrow and Parquet files: kind, columns, and origin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.base.errors import ConfigError, TraceError, host_faults
from mcsim.traces.batches import (
    INDEX_TIME,
    SCHEMA,
    Batch,
    batch_with,
    check_batch,
    schema_with_keys,
    view_of,
)
from mcsim.traces.metadata import OptionValue, RowCounts, TraceMetadata, check_metadata, metadata_in
from mcsim.traces.tables import TableReader, row_counts

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_MAGIC = {b"ARROW1": "arrow", b"PAR1": "parquet"}
TABLE_FORMATS = ("arrow", "parquet")
_SUMMARY = {
    "arrow": "Arrow IPC file (Feather), its columns mapped by parameters; mcsim's own need none",
    "parquet": "Parquet file, its columns mapped by parameters; mcsim's own need none",
}


def table_format(path: Path) -> str | None:
    """Return the kind of an Arrow or Parquet file, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(6)
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def describe_table_formats(csv: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Describe both formats as the core does its own; their mapping is the one of text."""
    params = [param for param in csv["params"] if param["name"] not in ("delimiter", "header")]
    return [
        {"name": name, "summary": summary, "reference": "Apache Arrow", "params": params}
        for name, summary in _SUMMARY.items()
    ]


_TYPES = {
    "time": pa.int64(),
    INDEX_TIME: pa.int64(),
    "vm": pa.uint16(),
    "op": pa.uint8(),
    "offset": pa.uint64(),
    "key": pa.uint64(),
    "length": pa.uint32(),
    "size": pa.uint32(),
    "response": pa.int64(),
    "class": pa.uint8(),
}


class OwnTable:
    """Requests of a table with mcsim's columns and description, of which all rows are there."""

    def __init__(
        self,
        source: str,
        metadata: TraceMetadata,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
    ) -> None:
        self.metadata = metadata
        self.names_vms = True
        self.unsorted = False
        self.consumed = 0
        self.keys: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]] | None = None
        self._source = source
        self._batches = batches
        self._key_ids: dict[str, int] | None = {} if _has_text_keys(schema) else None
        self._rows_read = 0

    def __getattr__(self, name: str) -> Any:
        """Return a fact from the description, such as `vms`."""
        return getattr(self.metadata, name)

    def next(self) -> Batch | None:
        """Return the next requests; None at the end."""
        record_batch = next(self._batches, None)
        if record_batch is None:
            self._finish()
            return None
        names = record_batch.schema.names
        columns = [self._values(name, record_batch.column(name)) for name in names]
        batch = batch_with(columns)
        self._rows_read += len(batch.time)
        try:
            check_batch(batch, self.vms, self.kind)
        except ConfigError as error:
            raise TraceError(f"{self._source}: {error}") from None
        return batch

    def _finish(self) -> None:
        if self._rows_read != self.metadata.counts.rows:
            raise TraceError(
                f"{self._source}: {self._rows_read} rows instead of {self.metadata.counts.rows}"
            )
        if self._key_ids is not None:
            texts = pa.array(self._key_ids, pa.large_string())
            offsets, data = texts.buffers()[1:]
            self.keys = np.frombuffer(offsets, np.int64), np.frombuffer(data or b"", np.uint8)

    def _values(self, name: str, column: pa.Array) -> npt.NDArray[Any]:
        if name == "vm" and not pa.types.is_integer(column.type):
            positions = {vm: number for number, vm in enumerate(self.vms)}
            return _numbered(column, positions.__getitem__).astype(np.uint16)
        if name == "key" and self._key_ids is not None:
            ids = self._key_ids
            return _numbered(column, lambda key: ids.setdefault(key, len(ids)))
        return view_of(column.cast(_TYPES[name]))


def _numbered(column: pa.Array, number_of: Callable[[str], int]) -> npt.NDArray[np.uint64]:
    """Return the number of each text."""
    if not isinstance(column, pa.DictionaryArray):
        import pyarrow.compute as pc

        column = pc.dictionary_encode(column)
    numbers = np.array([number_of(text) for text in column.dictionary.to_pylist()], np.uint64)
    positions = view_of(column.indices)
    return numbers[positions] if len(positions) else np.empty(0, np.uint64)


def _has_text_keys(schema: pa.Schema) -> bool:
    return "key" in schema.names and not pa.types.is_integer(schema.field("key").type)


def _own_metadata(schema: pa.Schema, rows: int) -> TraceMetadata | None:
    """Return the description of a table that has all rows and columns of the trace it is from.

    Raises
    ------
    ValueError
        If the description differs from its checksum.
    """
    check_metadata(schema)
    metadata = metadata_in(schema)
    if metadata is None or metadata.counts.rows != rows:
        return None
    plain = schema_with_keys(SCHEMA, text=True) if metadata.kind == "objects" else SCHEMA
    names = ["time" if name == INDEX_TIME else name for name in schema.names]
    is_whole = names in (plain.names, [*plain.names, "class"])
    return metadata if is_whole else None


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


def rows_of(reader: Any) -> tuple[RowCounts, tuple[str, ...]]:
    """Return the counts of rows of a reader, and its first complaints."""
    if isinstance(reader, OwnTable):
        return reader.rows, reader.complaints
    return row_counts(reader.rows), tuple(reader.rows.complaints)


def hints_of(schema: pa.Schema) -> dict[str, OptionValue]:
    """Return the mapping that the description in a part of one of mcsim's tables implies."""
    metadata = metadata_in(schema)
    if metadata is None:
        return {}
    hints: dict[str, OptionValue] = {}
    if metadata.time_base == "index":
        hints["time_unit"] = "references"
    if not metadata.has_lengths:
        hints["length"] = "none"
    return hints


def _has_vms(table: pa.Table, metadata: TraceMetadata) -> bool:
    """Return whether all VMs in a table are those of its description."""
    if pa.types.is_integer(table.schema.field("vm").type):
        return True
    import pyarrow.compute as pc

    return set(pc.unique(table["vm"]).to_pylist()) <= set(metadata.vms)


def requests_in(
    table: pa.Table,
    source: str,
    mapping: Mapping[str, OptionValue],
    *,
    skip_bad_rows: bool,
    sort: bool,
) -> tuple[Batch, TableReader | OwnTable]:
    """Read all requests of a table; return them and their counts."""
    try:
        own = None if mapping else _own_metadata(table.schema, table.num_rows)
    except ValueError as error:
        raise TraceError(f"{source}: {error}") from None
    reader: TableReader | OwnTable
    if own is not None and _has_vms(table, own):
        reader = OwnTable(source, own, table.schema, iter(table.to_batches()))
    else:
        reader = TableReader(
            source,
            table.schema,
            lambda columns: table.select(columns).to_batches(),
            "vm",
            hints_of(table.schema) | dict(mapping),
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
    with host_faults(path):
        try:
            schema, rows, batches = _opened(path, format)
            names = schema.names
            own = None if options else _own_metadata(schema, rows)
        except UnicodeDecodeError:
            raise TraceError(f"{path}: the name of a column is not UTF-8") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise TraceError(f"{path}: not a whole {format} file: {error}") from None
    if own is not None:
        return OwnTable(str(path), own, schema, _guarded(path, batches(names)))
    reader = TableReader(
        str(path),
        schema,
        lambda columns: _guarded(path, batches(columns)),
        vm_name,
        hints_of(schema) | dict(options),
        skip_bad_rows=skip_bad_rows,
        keep_unsorted=keep_unsorted,
    )
    reader.bytes_a_row = path.stat().st_size / max(rows, 1)
    return reader


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file whose pages are compared with their checksums, if they have any."""
    import pyarrow.parquet as pq

    source = pa.OSFile(os.fsencode(path), "rb")
    return pq.ParquetFile(source, page_checksum_verification=True)


_Batches = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]


def _opened(path: Path, format: str) -> tuple[pa.Schema, int, _Batches]:
    """Return what a file holds: its schema, how many rows, and columns of it batch by batch."""
    if format == "parquet":
        file = open_parquet(path)
        physical = [file.schema.column(i) for i in range(len(file.schema))]
        wide = {column.path for column in physical if column.physical_type == "INT96"}

        def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            read = file.iter_batches(1 << 20, columns=list(columns))
            return _with_checked_times(path, read, sorted(wide.intersection(columns)))

        return file.schema_arrow, file.metadata.num_rows, batches
    reader = pa.ipc.open_file(pa.memory_map(os.fsencode(path)))
    return (
        reader.schema,
        sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches)),
        lambda columns: (
            reader.get_batch(i).select(list(columns)) for i in range(reader.num_record_batches)
        ),
    )


def _with_checked_times(
    path: Path, batches: Iterator[pa.RecordBatch], columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Check INT96 times: Arrow reads them as nanoseconds, which wrap outside 1677 to 2262.

    A second reader has them in microseconds, which do not wrap.
    """
    if not columns:
        yield from batches
        return
    import pyarrow.parquet as pq

    with pa.OSFile(os.fsencode(path), "rb") as source:
        coarse = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
        row = 0
        for batch, other in zip(
            batches, coarse.iter_batches(1 << 20, columns=columns), strict=True
        ):
            for name in columns:
                exact, micros = (
                    of.column(name).cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
                    for of in (batch, other)
                )
                wrapped = np.flatnonzero(exact // 1000 != micros)
                if wrapped.size:
                    raise TraceError(
                        f"{path}: row {row + int(wrapped[0]) + 1}: column {name!r}: expected a "
                        "time of the years 1677 to 2262, got an INT96 time outside them"
                    )
            row += batch.num_rows
            yield batch


def _guarded(path: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    with host_faults(path):
        try:
            for batch in batches:
                batch.validate(full=True)
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise TraceError(f"{path}: damaged: {error}") from None
