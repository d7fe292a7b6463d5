"""Values of foreign columns, brought to the units of a trace; what cannot be is marked as bad."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds of the units that a column's name may end in."""

_MOST_CLASSES = 8

# A Windows filetime counts 100 ns from 1601.
FILETIME_TICK = 100
FILETIME_OF_1970 = 116_444_736_000_000_000


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


def words_of(
    column: pa.Array, bad: npt.NDArray[np.bool_]
) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Return the distinct values as text, and the position of each row's; -1 is none."""
    if not isinstance(column, pa.DictionaryArray):
        if pa.types.is_string_view(column.type):  # which Arrow does not encode
            column = column.cast(pa.large_string())
        column = pc.dictionary_encode(column)
    codes = pc.fill_null(column.indices.cast(pa.int32()), -1)
    positions = view_of(codes)
    bad |= positions < 0
    return [str(value) for value in column.dictionary.to_pylist()], positions


def bytes_of(
    values: npt.NDArray[Any], unit: int, bad: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint64]:
    """Bring sizes to whole bytes."""
    if values.dtype.kind == "f":
        bad |= ~np.isfinite(values) | (values != np.floor(values)) | (values >= 2.0**63)
        values = np.where(bad, 0, values).astype(np.int64)
    if values.dtype.kind == "i":
        bad |= values < 0
    whole = values.astype(np.uint64)
    bad |= whole > np.uint64((2**64 - 1) // unit)
    return whole * np.uint64(unit)


def classes_of(values: npt.NDArray[Any], bad: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Take classes as they are: whole numbers from 0 to 7."""
    bad |= ~np.isin(values, np.arange(_MOST_CLASSES))
    return np.where(bad, 0, values).astype(np.uint8)


def ns_of(values: npt.NDArray[Any], unit: str, bad: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Bring times to ns, fractions rounded; references stay as they are."""
    scale = {"filetime": FILETIME_TICK, "references": 1}.get(unit) or NS[unit]
    if values.dtype.kind == "f":
        scaled = np.rint(values.astype(np.float64) * scale)
        bad |= ~(np.abs(scaled) < 2.0**63)
        return np.where(bad, 0, scaled).astype(np.int64)
    limit = (2**63 - 1) // scale
    shift = FILETIME_OF_1970 if unit == "filetime" else 0
    bad |= values > min(limit + shift, np.iinfo(values.dtype).max)
    if values.dtype.kind == "i":
        bad |= values.astype(np.int64) - shift < -limit
    return (np.where(bad, shift, values).astype(np.int64) - shift) * scale
