"""Arrow columns as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


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
