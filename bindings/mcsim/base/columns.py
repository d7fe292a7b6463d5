"""Columns that users give, as the core reads them."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.base.arguments import shortened
from mcsim.base.errors import ConfigError


def unchanging(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that no other thread can write to: a copy, unless its memory is constant.

    The core reads arrays several times, and relies on what it found the first time. Arrays that the
    core, `bytes` or a read-only mapped file owns are not copied. Others may be read-only views of
    memory that changes, such as those of a `bytearray` or of an Arrow array over a NumPy array.
    """
    inner: Any = array
    while isinstance(inner, np.ndarray):
        if inner.flags.writeable or inner.flags.owndata:
            return array.copy()
        inner = inner.base
    return array if _is_constant(inner) else array.copy()


def _is_constant(owner: object) -> bool:
    """Return whether the owner of an array's memory never changes it."""
    if isinstance(owner, mmap.mmap):
        return memoryview(owner).readonly
    # Capsules of the core have no name; those of other libraries, such as DLPack's, have.
    is_capsule = type(owner).__name__ == "PyCapsule" and '"' not in repr(owner)
    return is_capsule or isinstance(owner, bytes) or type(owner).__module__.startswith("mcsim.")


def array_given(values: Any, name: str) -> NDArray[Any]:
    """Return values as an array of any kind and shape.

    Raises
    ------
    ConfigError
        If they are text, a path, rows of different lengths, or have missing elements.
    """
    if isinstance(values, (str, os.PathLike)):
        raise ConfigError(
            f"{name}: expected numbers, got {shortened(os.fspath(values))}: "
            "mcsim.Trace.open(...) opens a file"
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise ConfigError(
            f"{name}: expected one dimension, got rows of different lengths"
        ) from None
    # NumPy imports its masked arrays on first use.
    if (
        "numpy.ma" in sys.modules
        and isinstance(values, np.ma.MaskedArray)
        and np.ma.is_masked(values)
    ):
        raise ConfigError(f"{name}: an element is masked")
    return array


def integers(values: ArrayLike, name: str) -> NDArray[np.integer]:
    """Return one-dimensional values that are integers and not negative.

    Raises
    ------
    TypeError
        If they are not integers.
    ConfigError
        If they have more than one dimension or a negative element; it calls them `name`.
    """
    array = array_given(values, name)
    if array.ndim != 1:
        raise ConfigError(f"{name}: expected one dimension, got an array of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.uint64)
    array = unchanging(array)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integers, got {array.dtype}")
    if array.min() < 0:
        at = int(np.argmax(array < 0))
        raise ConfigError(f"{name}[{at}]: must not be negative, got {array[at]}")
    return array


def keys_of(ids: ArrayLike) -> NDArray[np.uint64] | NDArray[np.uint32]:
    """Return block numbers in a type of the core."""
    array = integers(ids, "ids")
    native = array.dtype.newbyteorder("=")
    if native.itemsize == 8:
        return np.ascontiguousarray(array, native).view(np.uint64)
    return np.ascontiguousarray(array, np.uint32)


def operations_of(ops: ArrayLike) -> NDArray[np.uint8]:
    """Convert operations to 0 for a read and 1 for a write."""
    array = array_given(ops, "ops")
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    array = integers(array, "ops")
    if array.size and array.max() > 1:
        at = int(np.argmax(array > 1))
        raise ConfigError(f"ops[{at}]: expected 0 (read) or 1 (write), got {array[at]}")
    return np.ascontiguousarray(array, np.uint8)


def columns_given(columns: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of a table as arrays.

    Raises
    ------
    ConfigError
        If they differ in length, or one has not exactly one dimension.
    """
    arrays = {str(name): array_given(column, str(name)) for name, column in columns.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(shapes.pop()) != 1:
        raise ConfigError("columns: expected some of one length, in one dimension")
    return arrays
