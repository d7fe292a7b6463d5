"""Columns that users give, as the core reads them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.curves import integers
from mcsim.errors import ConfigError

__all__ = ["keys_of", "operations_of"]


def keys_of(ids: ArrayLike) -> NDArray[np.uint64] | NDArray[np.uint32]:
    """Bring block numbers to a type the core reads, without a copy where one is not needed."""
    array = integers(ids, "ids")
    native = array.dtype.newbyteorder("=")
    if native.itemsize == 8:
        return np.ascontiguousarray(array, native).view(np.uint64)
    return np.ascontiguousarray(array, np.uint32)


def operations_of(ops: ArrayLike) -> NDArray[np.uint8]:
    """Bring operations to 0 for a read and 1 for a write."""
    array = np.asarray(ops)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    array = integers(array, "ops")
    if array.size and array.max() > 1:
        at = int(np.argmax(array > 1))
        raise ConfigError(f"ops[{at}]: expected 0 (read) or 1 (write), got {array[at]}")
    return np.ascontiguousarray(array, np.uint8)
