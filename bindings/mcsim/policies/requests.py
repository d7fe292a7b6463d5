"""Requests that a cache is tuned for, and how much of them a share is."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from mcsim.base.columns import keys_of
from mcsim.base.errors import ConfigError, mistakes_in
from mcsim.base.sizes import parse_capacity
from mcsim.base.units import format_bytes
from mcsim.traces.blocks import Blocks, References, traces_in, vms_of
from mcsim.traces.trace import Trace
from mcsim.traces.workload import Workload


def blocks_of_share(size: float | str, references: References, block_bytes: int) -> int:
    """Return the number of blocks of this size in a share of all that is accessed.

    Raises
    ------
    ConfigError
        If it is no share, or there is nothing to take one of.
    """
    workload, ops = workload_of(references, block_bytes)
    view = {"block_bytes": block_bytes, "ops": ops, "key": "aligned"}
    accesses = workload.intern(view | {"whole_seconds": False, "line_blocks": 1})
    with mistakes_in("size"):
        return parse_capacity(size, accesses.id_count, None)


def workload_of(
    references: References, block_bytes: int
) -> tuple[Workload, Literal["reads", "all"]]:
    """Return requests, and which of them count; those of an array are of so many bytes."""
    if isinstance(references, Blocks):
        if not references.is_whole:
            raise ConfigError("references: these blocks are a part of others; tune a Trace")
        return references.workload, "reads" if references.ops_kept == "reads" else "all"
    traces = traces_in(references)
    if traces is None:
        keys = keys_of(cast(ArrayLike, references)).astype(np.uint64, copy=False)
        if keys.size and int(keys.max()) >= 2**64 // block_bytes:
            raise ConfigError(
                f"references: block {keys.max()} of {format_bytes(block_bytes)} ends beyond 2^64"
            )
        offset = keys * np.uint64(block_bytes)
        time = np.arange(keys.size)
        traces = [Trace.from_arrays(time, offset, block_bytes, time_base="index")]
    return Workload(vms_of(traces), synthetic=False), "all"
