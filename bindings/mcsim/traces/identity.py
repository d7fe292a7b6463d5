"""Warnings about blocks with a wrong identity."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mcsim.traces.trace import Trace

_log = logging.getLogger(__name__)

_MOST_REQUESTS = 1 << 17
"""Number of requests, from the first, that are checked."""


def warn_of_shared_blocks(traces: Iterable[Trace], block_bytes: int) -> None:
    """Log a warning for traces in which several offsets, probably ids, are in one block.

    Traces with lengths, or with a stated unit larger than a byte, are left out.
    """
    for trace in {trace.digest: trace for trace in traces}.values():
        meta = trace.metadata
        is_stated = "offset_unit" in meta.options or meta.options.get("unit_bytes", 1) != 1
        if meta.has_lengths or is_stated or meta.kind == "objects":
            continue
        batch = next(trace.batches(), None)
        if batch is None:
            continue
        offsets = np.unique(batch.offset[:_MOST_REQUESTS])
        blocks = len(np.unique(offsets // np.uint64(block_bytes)))
        if len(offsets) > blocks:
            _log.warning(
                "%s: requests have no length, and %s distinct offsets among the first %s are in "
                "%s block%s of %s bytes: if offsets are ids, map them as key, not as "
                "offset",
                meta.source,
                f"{len(offsets):,}",
                f"{min(len(batch.offset), _MOST_REQUESTS):,}",
                f"{blocks:,}",
                "" if blocks == 1 else "s",
                f"{block_bytes:,}",
            )
