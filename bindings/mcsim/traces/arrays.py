"""Columns that users give, as the columns of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim.base.errors import ConfigError
from mcsim.traces.store import (
    Batch,
)

__all__ = ["check_batch", "column_of"]


def column_of(values: npt.ArrayLike, field: pa.Field, n: int) -> npt.NDArray[Any]:
    """Return values as a read-only column of the field's type, or complain."""
    given = np.asarray(values)
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


def check_batch(batch: Batch, vm_count: int) -> None:
    """Complain of columns that are no requests of so many VMs, in the order of time."""
    if len(batch.time) == 0:
        return
    backwards = np.flatnonzero(batch.time[1:] < batch.time[:-1])
    if len(backwards):
        raise ConfigError(f"time: goes back at position {backwards[0] + 1}; sort the arrays")
    if int(batch.vm.max()) >= vm_count:
        raise ConfigError(f"vm: {batch.vm.max()} is not a position among {vm_count} names")
    if int(batch.op.max()) > 1:
        raise ConfigError(f"op: expected 0 (read) or 1 (write), got {batch.op.max()}")
    if np.any(batch.offset + batch.length < batch.offset):
        raise ConfigError("offset + length exceeds 64 bits")
