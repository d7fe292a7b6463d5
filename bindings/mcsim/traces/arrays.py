"""Columns that users give, as the columns of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mcsim._core import trace as _core_trace
from mcsim.base.arguments import list_of
from mcsim.base.columns import array_given
from mcsim.base.errors import ConfigError
from mcsim.traces.batches import Batch


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
    """Hold names of VMs to be text that files can have, each another.

    Raises
    ------
    ConfigError
        If one is not.
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


def check_batch(batch: Batch, vms: Sequence[str]) -> None:
    """Complain of columns that are no requests of these VMs, in the order of time."""
    check_vm_names(vms)
    wrong = _core_trace.wrong_in(*batch, vms=len(vms))
    if wrong is not None:
        raise ConfigError(wrong)
