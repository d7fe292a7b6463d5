"""Tables as requests: Arrow and Parquet files and frames, their columns mapped by the core.

The mapping is that of text (`csv`). Tables that mcsim wrote need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim._core import trace as _core_trace
from mcsim.base.errors import ConfigError, TraceError
from mcsim.traces.batches import INDEX_TIME, Batch, batch_with, view_of
from mcsim.traces.metadata import OptionValue, RowCounts

_OWN = ("vm", "op", "response")
_DIGITS = {"read": "0", "write": "1", "discard": "2"}
_Column = tuple[npt.NDArray[Any], npt.NDArray[np.uint8] | None, npt.NDArray[np.uint8] | None]


class TableReader:
    """Requests of record batches, with the properties of a `Reader` of the core.

    Parameters
    ----------
    source : str
        Name of the table in messages.
    schema : Schema
    batches_of : callable
        Returns the record batches, in their order, of columns by their names.
    vm_name : str
        VM of all requests, if no column names VMs.
    options : mapping
        Parameters of the format ``csv`` that map columns.
    skip_bad_rows : bool
        Whether a row that cannot be a request is left out and counted, or is an error.
    keep_unsorted : bool
        Whether a request earlier than the one before it sets `unsorted`, or is an error.

    Raises
    ------
    ConfigError
        If the mapping is wrong, or the table has no such columns; it names those there are.
    """

    def __init__(
        self,
        source: str,
        schema: pa.Schema,
        batches_of: Callable[[Sequence[str]], Iterable[pa.RecordBatch]],
        vm_name: str,
        options: Mapping[str, OptionValue],
        *,
        skip_bad_rows: bool,
        keep_unsorted: bool,
    ) -> None:
        self._source = source
        self._schema = schema
        self._core = _core_trace.TableRows(
            source,
            schema.names,
            _by_types(source, schema, options),
            vm_name,
            skip_bad_rows,
            keep_unsorted,
        )
        self._used = [i for i in range(len(schema.names)) if self._core.uses(i)]
        self._batches = iter(batches_of([schema.names[i] for i in self._used]))
        self._rows_read = 0
        self.bytes_a_row = 0.0
        self.synthetic = False

    def __getattr__(self, name: str) -> Any:
        """Return a property of the core's reader, such as `vms`."""
        return getattr(self._core, name)

    @property
    def consumed(self) -> int:
        """About how many bytes of the file were read."""
        return int(self._rows_read * self.bytes_a_row)

    def next(self) -> Batch | None:
        """Return the next requests; None at the end."""
        for record_batch in self._batches:
            rows = record_batch.num_rows
            self._rows_read += rows
            columns: list[_Column | None] = [None] * len(self._schema.names)
            for place, column in zip(self._used, record_batch.columns, strict=True):
                columns[place] = self._column(self._schema.names[place], column)
            batch = batch_with(self._core.add(columns, rows))
            if len(batch.time):
                return batch
        self._core.next()  # an error if there were no requests
        return None

    def _column(self, name: str, column: pa.Array) -> _Column:
        """Return values, bytes of texts, and which values there are."""
        try:
            if isinstance(column, pa.DictionaryArray):
                column = column.dictionary_decode()
            column = column.cast(_plain(column.type))
        except (pa.ArrowException, _UnreadableError) as error:
            raise TraceError(f"{self._source}: column {name!r}: {error}") from None
        valid = None
        if column.null_count:
            import pyarrow.compute as pc

            valid = view_of(pc.is_valid(column).cast(pa.uint8()))
        if column.type == pa.large_string():
            offsets, data = column.buffers()[1:]
            begins = np.frombuffer(offsets, np.int64) if offsets else np.zeros(1, np.int64)
            begins = begins[column.offset : column.offset + len(column) + 1]
            return begins, np.frombuffer(data or b"", np.uint8), valid
        values = column.view(pa.int64()) if pa.types.is_temporal(column.type) else column
        return view_of(values), None, valid


class _UnreadableError(Exception):
    """A column does not have numbers, text or times."""


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type as which the core takes values of this one."""
    is_unsigned = pa.types.is_unsigned_integer(kind)
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and not is_unsigned):
        return pa.int64()
    if is_unsigned:
        return pa.uint64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("ns", kind.tz)
    if pa.types.is_duration(kind):
        return pa.duration("ns")
    if any(
        is_text(kind)
        for is_text in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    ):
        return pa.large_string()
    raise _UnreadableError(f"expected numbers, text or times, it has {kind}")


def _by_types(
    source: str, schema: pa.Schema, options: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """Return the mapping, completed by the types of the columns."""
    given = dict(options)
    own = _is_own(schema)
    if own and "vm" not in given and pa.types.is_integer(schema.field("vm").type):
        raise ConfigError(
            f"{source}: vm: column 'vm' has positions among the names of VMs, which the table has "
            "lost (to_arrow and to_pandas write names; vm: vm makes names of the numbers)"
        )

    def type_of(field: str) -> pa.DataType | None:
        stated = str(given.get(field, "")).lower()
        for column in schema:
            name = column.name.lower()
            is_own = name == field or (field != "op" and name.startswith(f"{field}_"))
            if name == stated or (not stated and is_own):
                return column.type
        return None

    for field in ("time", "response"):
        kind = type_of(field)
        has_unit = kind is not None and (pa.types.is_timestamp(kind) or pa.types.is_duration(kind))
        is_plain = own and field not in given and INDEX_TIME not in schema.names
        if has_unit or is_plain or (own and field == "response"):
            given.setdefault(f"{field}_unit", "ns")
    kind = type_of("op")
    if kind is not None and (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        for name, digit in _DIGITS.items():
            given.setdefault(name, digit)
    if own and "class" in schema.names:
        given.setdefault("classes", "class")
    return given


def _is_own(schema: pa.Schema) -> bool:
    """Return whether these are the columns of a trace, perhaps without its description."""
    names = set(schema.names)
    has_time = bool(names & {"time", INDEX_TIME})
    return has_time and {*_OWN} <= names and ({"offset", "length"} <= names or "key" in names)


def row_counts(rows: _core_trace.RowCounts) -> RowCounts:
    """Return the counts of the core."""
    return RowCounts(rows.filtered, rows.skipped, rows.flushes, rows.repeated)


def keys_of(keys: tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]] | None) -> pa.Array | None:
    """Return text keys of the core as an Arrow array."""
    if keys is None:
        return None
    offsets, data = keys
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
