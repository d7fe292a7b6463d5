"""Batches of requests: columns of equal length, their slices, and the requests of one VM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import list_of
from mcsim.base.columns import array_given
from mcsim.base.errors import ConfigError

Kind = Literal["blocks", "objects"]
"""The kind of references: blocks of a device, or whole objects with keys."""

Ops = Literal["reads", "all", "writes"]
"""Which requests."""

SCHEMA = pa.schema(
    [
        pa.field("time", pa.int64(), nullable=False),
        pa.field("vm", pa.uint16(), nullable=False),
        pa.field("op", pa.uint8(), nullable=False),
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("length", pa.uint32(), nullable=False),
        pa.field("response", pa.int64(), nullable=False),
    ]
)

CLASSED_SCHEMA = SCHEMA.append(pa.field("class", pa.uint8(), nullable=False))
"""Class of each request, in traces with classes."""

_KEY = 3
_TEXT = pa.dictionary(pa.uint32(), pa.large_string())
DISCARD = 2
"""Value of `op`."""
INDEX_TIME = "time_references"
"""Name of the column `time` outside of stores, if it counts references."""


def schema_with_keys(schema: pa.Schema, *, text: bool) -> pa.Schema:
    """Return the schema of an object trace; `text`: its keys are strings, not numbers."""
    key = pa.field("key", _TEXT if text else pa.uint64(), nullable=False)
    size = pa.field("size", pa.uint32(), nullable=False)
    return schema.set(_KEY, key).set(_KEY + 1, size)


def kind_of(schema: pa.Schema) -> Kind:
    """Return what the references of columns are."""
    return "objects" if "key" in schema.names else "blocks"


def is_trace_schema(schema: pa.Schema) -> bool:
    """Return whether these are the columns of a stored trace."""
    return any(
        schema.equals(of)
        for plain in (SCHEMA, CLASSED_SCHEMA)
        for of in (plain, *(schema_with_keys(plain, text=text) for text in (False, True)))
    )


class Batch(NamedTuple):
    """Columns of consecutive requests, all of one length, read-only."""

    time: npt.NDArray[np.int64]
    """Nanoseconds, or references before this request (`TraceMetadata.time_base`)."""
    vm: npt.NDArray[np.uint16]
    """Positions in `TraceMetadata.vms`."""
    op: npt.NDArray[np.uint8]
    """0 read, 1 write, 2 discard."""
    offset: npt.NDArray[np.uint64]
    """Bytes; of an object trace, the key or its position among the text keys."""
    length: npt.NDArray[np.uint32]
    """Bytes; 0 touches no block. In an object trace, the size of the object."""
    response: npt.NDArray[np.int64]
    """Nanoseconds, -1 where unknown."""

    @property
    def classes(self) -> npt.NDArray[np.uint8] | None:
        """0, which matters most, to 7; None if the trace has none."""
        return None

    @property
    def schema(self) -> pa.Schema:
        """Schema of these columns."""
        return SCHEMA

    def where(self, kept: npt.NDArray[np.bool_ | np.uint32]) -> Batch:
        """Return the requests a mask of shape (n,) chooses, or those in some rows."""
        rows = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        return batch_with(column.take(rows) for column in self)


class ClassedBatch(Batch):
    """Columns of requests that have classes, which come last."""

    def __new__(cls, *columns: npt.NDArray[Any]) -> Self:
        """Return all columns in their order."""
        return tuple.__new__(cls, columns)

    @property
    def classes(self) -> npt.NDArray[np.uint8]:
        """0, which matters most, to 7."""
        columns: tuple[npt.NDArray[Any], ...] = self
        return columns[-1]

    @property
    def schema(self) -> pa.Schema:
        """Schema of these columns."""
        return CLASSED_SCHEMA

    def _replace(self, **changed: Any) -> Self:
        columns: tuple[npt.NDArray[Any], ...] = self
        return type(self)(*Batch(*columns[:-1])._replace(**changed), self.classes)


def batch_with(columns: Iterable[npt.NDArray[Any]]) -> Batch:
    """Return columns in the order of `SCHEMA`, or of `CLASSED_SCHEMA`, as a batch."""
    given = tuple(columns)
    return ClassedBatch(*given) if len(given) == len(CLASSED_SCHEMA) else Batch(*given)


def schema_of(batches: Iterable[pa.RecordBatch]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the columns of record batches, and all batches."""
    rest = iter(batches)
    first = list(islice(rest, 1))
    return (first[0].schema.remove_metadata() if first else SCHEMA), chain(first, rest)


def view_of(column: pa.Array) -> npt.NDArray[Any]:
    """View a column without missing values as an array; to_numpy() would import pandas."""
    name = str(column.type)
    kind = np.dtype(
        {"float": "float32", "double": "float64", "halffloat": "float16"}.get(name, name)
    )
    if len(column) == 0:
        return np.empty(0, kind)
    values = np.frombuffer(column.buffers()[1], kind)
    return values[column.offset : column.offset + len(column)]


def batch_of(record_batch: pa.RecordBatch) -> Batch:
    """View the columns of a record batch as arrays; positions of text keys are copied."""
    return batch_with(map(_values_of, record_batch.columns))


def _values_of(column: pa.Array) -> npt.NDArray[Any]:
    if isinstance(column, pa.DictionaryArray):
        return view_of(column.indices).astype(np.uint64)
    return view_of(column)


def keyed(record_batch: pa.RecordBatch, schema: pa.Schema, keys: pa.Array | None) -> pa.RecordBatch:
    """Return the columns of a batch under the schema of an object trace."""
    columns = record_batch.columns
    if keys is not None:
        positions = view_of(columns[_KEY]).astype(np.uint32)
        columns[_KEY] = pa.DictionaryArray.from_arrays(pa.array(positions), keys, safe=False)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def keys_in(record_batch: pa.RecordBatch) -> pa.Array | None:
    """Return the text keys of an object trace; None if there are none."""
    column = record_batch.column(_KEY)
    return column.dictionary if isinstance(column, pa.DictionaryArray) else None


def record_batch_like(batch: Batch, like: pa.RecordBatch) -> pa.RecordBatch:
    """View arrays as a record batch with the schema and the keys of another."""
    plain = record_batch_of(batch)
    if kind_of(like.schema) == "blocks":
        return plain
    return keyed(plain, like.schema.remove_metadata(), keys_in(like))


def record_batch_of(batch: Batch) -> pa.RecordBatch:
    """View arrays as a record batch, without a copy."""
    columns: tuple[npt.NDArray[Any], ...] = batch
    # From buffers, because pa.array() imports pandas.
    arrays = [
        pa.Array.from_buffers(field.type, len(column), [None, pa.py_buffer(column)])
        for column, field in zip(columns, batch.schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


@dataclass(frozen=True)
class Selection:
    """The record batches of a slice, cut out anew at every iteration."""

    batches: Iterable[pa.RecordBatch]
    begin: int | None
    end: int | None
    vm_numbers: tuple[int, ...]
    """The new number of each VM, -1 for those left out."""
    op: int | None
    """Operation of the selected requests. Discards are always selected."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        keeps_all = self.op is None and self.vm_numbers == tuple(range(len(self.vm_numbers)))
        numbers = np.array(self.vm_numbers, np.int32)
        for record_batch in self.batches:
            time = batch_of(record_batch).time
            low = 0 if self.begin is None else int(np.searchsorted(time, self.begin))
            high = len(time) if self.end is None else int(np.searchsorted(time, self.end))
            if low < high:
                span = record_batch.slice(low, high - low)
                yield span if keeps_all else self._filtered(span, numbers)
            if high < len(time):
                return

    def _filtered(self, span: pa.RecordBatch, numbers: npt.NDArray[np.int32]) -> pa.RecordBatch:
        batch = batch_of(span)
        vm = numbers[batch.vm]
        kept = vm >= 0
        if self.op is not None:
            kept &= (batch.op == self.op) | (batch.op == DISCARD)
        renumbered = batch._replace(vm=vm.astype(np.uint16))
        return record_batch_like(renumbered.where(kept), span)


def clamped(time: int) -> int:
    """Return the nearest time that the column can hold."""
    limits = np.iinfo(np.int64)
    return max(limits.min, min(time, limits.max))


_COPIED_REQUESTS = 1 << 18
_COPIED_OF_A_BATCH = 1 << 12
_NEXT_VMS = 8


class ByVm:
    """Each VM's requests, by an index that takes 4 bytes for each of the trace.

    A VM's few requests lie far from each other, in six columns. Copying those of some thousand VMs
    column by column is several times as quick. The requests of a VM are therefore copied together
    with those of the next VMs, which is useful if VMs are read in their order.

    Parameters
    ----------
    batches : iterable of Batch
        The trace.
    vm_count : int
        How many VMs it has.
    """

    def __init__(self, batches: Iterable[Batch], vm_count: int) -> None:
        self._of = [_BatchByVm(batch, vm_count) for batch in batches]
        self._ahead = max(_COPIED_OF_A_BATCH, _COPIED_REQUESTS // max(1, len(self._of)))
        self._asked = -1

    def batches_of(self, vm: int) -> Iterator[Batch]:
        """Yield the requests of one VM, as views."""
        ahead = self._ahead if 0 <= vm - self._asked <= _NEXT_VMS else 0
        self._asked = vm
        for of_batch in self._of:
            if of_batch.count_of(vm):
                yield of_batch.requests_of(vm, ahead)


class _BatchByVm:
    def __init__(self, batch: Batch, vm_count: int) -> None:
        self._batch = batch
        self._order: npt.NDArray[np.uint32] = np.argsort(batch.vm, kind="stable").astype(np.uint32)
        # Where in that order each VM's begin, and behind them where the last one's end.
        self._begins = np.zeros(vm_count + 1, np.int64)
        np.cumsum(np.bincount(batch.vm, minlength=vm_count), out=self._begins[1:])
        self._copied = 0, 0, batch.where(self._order[:0])

    def count_of(self, vm: int) -> int:
        return int(self._begins[vm + 1] - self._begins[vm])

    def requests_of(self, vm: int, ahead: int) -> Batch:
        """Return a VM's requests; if a copy is needed, copy `ahead` requests from it on."""
        begin, end = int(self._begins[vm]), int(self._begins[vm + 1])
        first, last, copied = self._copied
        if begin < first or end > last:
            first, last = begin, max(end, min(begin + ahead, len(self._order)))
            copied = self._batch.where(self._order[first:last])
            self._copied = first, last, copied
        return batch_with(column[begin - first : end - first] for column in copied)


def column_of(values: npt.ArrayLike, field: pa.Field, n: int) -> npt.NDArray[Any]:
    """Return values as a read-only column of the field's type, or complain."""
    given = array_given(values, field.name)
    wanted = field.type.to_pandas_dtype()
    if given.ndim and given.shape != (n,):
        raise ConfigError(f"{field.name}: expected {n} values in one dimension, got {given.shape}")
    if given.size and given.dtype.kind not in "iub":
        raise ConfigError(f"{field.name}: expected whole numbers, got {given.dtype}")
    column = np.broadcast_to(given.astype(wanted), (n,))
    if not np.array_equal(column, np.broadcast_to(given, (n,))):
        raise ConfigError(f"{field.name}: a value does not fit {np.dtype(wanted).name}")
    column = np.ascontiguousarray(column)
    column.flags.writeable = False
    return column


def check_vm_names(vms: Sequence[str]) -> None:
    """Check that names of VMs are distinct texts that can be written to files.

    Raises
    ------
    ConfigError
        If a name is invalid, or occurs twice.
    """
    seen = set()
    for name in list_of("vms", vms, "names"):
        if not isinstance(name, str):
            raise ConfigError(f"vms: expected names as text, got {name!r}")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"vms: {name!r} is not text that UTF-8 can have") from None
        _core_trace.check_vm_name(name)
        if name in seen:
            raise ConfigError(f"vms: a second VM {name!r}")
        seen.add(name)


def check_batch(batch: Batch, vms: Sequence[str], kind: Kind = "blocks") -> None:
    """Check that columns are requests of these VMs, in the order of time.

    Raises
    ------
    ConfigError
        If a row is wrong; the message names it.
    """
    check_vm_names(vms)
    wrong = _core_trace.wrong_in(*batch, vms=len(vms), kind=kind)
    if wrong is not None:
        raise ConfigError(wrong)
