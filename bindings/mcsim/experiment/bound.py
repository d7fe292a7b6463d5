"""What no system could hit more than: Belady's OPT with all space for all VMs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mcsim._core import engine, policies
from mcsim.config import ExperimentSpec

# So many are looked at unasked: seconds of time and less than 1 GiB of memory.
_MOST_ACCESSES = 32_000_000


def is_bound_wanted(spec: ExperimentSpec, accesses: engine.Accesses) -> bool:
    """Whether a run finds what OPT hits on a view of its trace.

    Of lines and extents a tier holds more than was ever asked for, so there it is no bound.
    """
    if accesses.line_blocks > 1:
        return False
    return accesses.access_count <= _MOST_ACCESSES if spec.opt is None else spec.opt


def opt_hits(
    accesses: engine.Accesses,
    blocks: int,
    first: int = 0,
    progress: Callable[[int], object] | None = None,
) -> int:
    """Return what OPT hits with one block more in one cache of all VMs.

    Systems that hold no more than `blocks` at a time, none of which they took in before it was
    accessed, cannot hit more, however they divide them, whom they evict and what they refuse: a
    cache that must take in every block needs one more than one that need not. They may have
    brought what they like with them from accesses that are not counted, and so may OPT: it
    begins with any blocks that were accessed before.

    Parameters
    ----------
    accesses : Accesses
        The trace.
    blocks : int
        Space of all tiers together.
    first : int
        The first request that is counted.
    progress : callable, optional
        Told of accesses done.

    Returns
    -------
    int
        Hits among the accesses of the requests from `first` on.
    """
    begin = int(accesses.request_begin[first])
    counted = accesses.ids[begin:]
    if begin:
        # Blocks that are accessed once each hit nothing, and any of them may be kept.
        counted = np.concatenate([np.unique(accesses.ids[:begin]), counted])
    found = policies.simulate(
        np.ascontiguousarray(counted),
        accesses.id_count,
        # Space for more than all that is accessed changes nothing, and may be past all numbers.
        [("opt", {}, min(blocks + 1, max(1, accesses.id_count)))],
        progress=progress,
    )
    return int(found["hits"][0])
