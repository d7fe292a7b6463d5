"""Requests as columns of equal length, a batch of them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.traces.values import view_of

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
"""Of traces whose requests have classes."""


class Batch(NamedTuple):
    """Columns of consecutive requests, all of one length, read-only."""

    time: npt.NDArray[np.int64]
    """Nanoseconds, or references before this request (`TraceMetadata.time_base`)."""
    vm: npt.NDArray[np.uint16]
    """Positions in `TraceMetadata.vms`."""
    op: npt.NDArray[np.uint8]
    """0 read, 1 write."""
    offset: npt.NDArray[np.uint64]
    """Bytes."""
    length: npt.NDArray[np.uint32]
    """Bytes; 0 touches no block."""
    response: npt.NDArray[np.int64]
    """Nanoseconds, -1 where unknown."""

    @property
    def classes(self) -> npt.NDArray[np.uint8] | None:
        """0, which matters most, to 7; None if the trace has none."""
        return None

    @property
    def schema(self) -> pa.Schema:
        """Of these columns."""
        return SCHEMA

    def where(self, kept: npt.NDArray[np.bool_ | np.uint32]) -> Batch:
        """Return the requests a mask of shape (n,) chooses, or those in some rows."""
        rows = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        return batch_with(column.take(rows) for column in self)


class ClassedBatch(Batch):
    """Columns of requests that have classes, which come last."""

    def __new__(cls, *columns: npt.NDArray[Any]) -> Self:
        """Take all columns in their order."""
        return tuple.__new__(cls, columns)

    @property
    def classes(self) -> npt.NDArray[np.uint8]:
        """0, which matters most, to 7."""
        columns: tuple[npt.NDArray[Any], ...] = self
        return columns[-1]

    @property
    def schema(self) -> pa.Schema:
        """Of these columns."""
        return CLASSED_SCHEMA

    def _replace(self, **changed: Any) -> Self:
        columns: tuple[npt.NDArray[Any], ...] = self
        return type(self)(*Batch(*columns[:-1])._replace(**changed), self.classes)


def batch_with(columns: Iterable[npt.NDArray[Any]]) -> Batch:
    """Return columns in the order of `SCHEMA`, or of `CLASSED_SCHEMA`, as a batch."""
    given = tuple(columns)
    return ClassedBatch(*given) if len(given) == len(CLASSED_SCHEMA) else Batch(*given)


def schema_of(batches: Iterable[pa.RecordBatch]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return what columns record batches have, and the batches, all of them."""
    rest = iter(batches)
    first = list(islice(rest, 1))
    return (first[0].schema.remove_metadata() if first else SCHEMA), chain(first, rest)


def batch_of(record_batch: pa.RecordBatch) -> Batch:
    """View the columns of a record batch as arrays, without a copy."""
    return batch_with(map(view_of, record_batch.columns))


def record_batch_of(batch: Batch) -> pa.RecordBatch:
    """View arrays as a record batch, without a copy."""
    columns: tuple[npt.NDArray[Any], ...] = batch
    # From buffers, because pa.array() imports pandas.
    arrays = [
        pa.Array.from_buffers(field.type, len(column), [None, pa.py_buffer(column)])
        for column, field in zip(columns, batch.schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
