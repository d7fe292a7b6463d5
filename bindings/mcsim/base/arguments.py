"""Values and columns that users pass to functions: validated before the core converts them."""

from __future__ import annotations

import mmap
import operator
import os
import sys
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mcsim.base.errors import ConfigError

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 2**63 - 1
_MOST_LETTERS = 4096
_MOST_ELEMENTS = 1_000_000

_MOST_SHOWN = 60
"""Characters of a wrong value in a message."""


def shortened(value: object) -> str:
    """Return the `repr` of a value for a message: short, also if it fails or is long.

    Examples
    --------
    >>> from mcsim.base.arguments import shortened
    >>> shortened("ab"), len(shortened("a" * 1000))
    ("'ab'", 60)
    """
    try:
        # The digits of an integer take quadratic time, and Python refuses too many.
        written = hex(value) if isinstance(value, int) and abs(value) >> 200 else repr(value)
    except Exception:
        written = f"<{type(value).__name__}>"
    return written if len(written) <= _MOST_SHOWN else f"{written[: _MOST_SHOWN - 1]}…"


def whole_number(name: str, value: Any, least: int = 0, most: int = _MOST) -> int:
    """Return a whole number within bounds.

    Raises
    ------
    ConfigError
        If it is not an integer (`bool` is not), or out of bounds; the message begins with `name`.

    Examples
    --------
    >>> from mcsim.base.arguments import whole_number
    >>> whole_number("seeds", 5, least=1)
    5
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name}: expected a whole number, got {shortened(value)}") from None
    if number < least:
        raise ConfigError(f"{name}: at least {least:,}, got {shortened(number)}")
    if number > most:
        raise ConfigError(f"{name}: at most {most:,}, got {shortened(number)}")
    return number


def seed_given(seed: Any) -> int:
    """Return the seed of a generator of random numbers: 64 bits."""
    return whole_number("seed", seed, 0, 2**64 - 1)


def text(name: str, value: Any) -> str:
    """Return text that UTF-8 can encode, of at most 4,096 characters.

    Raises
    ------
    ConfigError
        If it is not; the message begins with `name`.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name}: expected text, got {shortened(value)}")
    if len(value) > _MOST_LETTERS:
        raise ConfigError(f"{name}: {len(value):,} characters: at most {_MOST_LETTERS:,}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name}: UTF-8 cannot encode {shortened(value)}") from None
    return value


def file_given(name: str, value: Any) -> Path:
    """Return the path of a file that the operating system can have.

    Raises
    ------
    ConfigError
        If it is not a path, or has a NUL or letters that file names cannot encode.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise ConfigError(f"{name}: expected a path, got {shortened(value)}")
    path = Path(value)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise ConfigError(f"{name}: no file can have the name {shortened(str(path))}")
    return path


def list_of(name: str, given: Any, what: str) -> list[Any]:
    """Return the elements of an iterable that is not text.

    Raises
    ------
    ConfigError
        If it is text or no iterable. The message begins with `name`; it expects a list of `what`.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ConfigError(f"{name}: expected a list of {what}, got {shortened(given)}")
    try:
        some = list(islice(given, _MOST_ELEMENTS + 1))
    except (TypeError, OverflowError):
        raise ConfigError(f"{name}: expected a list of {what}, got {shortened(given)}") from None
    if len(some) > _MOST_ELEMENTS:
        raise ConfigError(f"{name}: at most {_MOST_ELEMENTS:,} elements")
    return some


def check_param(name: str, value: object) -> None:
    """Raise ConfigError if the core cannot take a value as a parameter."""
    if isinstance(value, str):
        text(name, value)
    elif not isinstance(value, (bool, float)):
        whole_number(name, value, -(2**63))


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
