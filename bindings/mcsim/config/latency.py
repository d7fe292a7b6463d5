"""The latency model: device times, and which device serves an access under LRU.

A mean latency is the sum of (operations served by a device) x (time of one operation), over the
number of operations. It has two forms:

- per access: the operations are blocks;
- per request: the operations are requests, each counted at the slowest device that one of its
  blocks waited for, since blocks are served in parallel.

The counts come from a replay, or for LRU from its hit-ratio curve (`served_by_lru`). Queueing is
not part of the model. `policies/allocation/latency.hpp` is the same model in C++, for systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

WriteMode = Literal["through", "back", "around"]

Served = tuple[NDArray[Any], NDArray[Any]]
"""Reads and writes served, by device: the tiers, then the backend."""


@dataclass(frozen=True, eq=False)
class ServiceTimes:
    """Times of one read and one write, in ns, by device: the tiers, then the backend.

    Examples
    --------
    >>> from mcsim.config.latency import ServiceTimes
    >>> ServiceTimes.of([(10, 20), (1000, 2000)]).waited_ns([3, 1], [0, 2])
    5030
    """

    read_ns: NDArray[Any]
    write_ns: NDArray[Any]

    @classmethod
    def of(cls, times: Iterable[tuple[float, float]]) -> ServiceTimes:
        """Convert (read, write) of every device; sums of whole numbers are exact beyond 2^63 ns."""
        read_ns, write_ns = np.array(list(times), dtype=object).T
        return cls(read_ns, write_ns)

    def waited_ns(self, reads: Any, writes: Any) -> Any:
        """Return the time of all operations together, from those served by each device."""
        read = (np.asarray(reads) * self.read_ns).sum()
        return read + (np.asarray(writes) * self.write_ns).sum()


def served_by_lru(
    read_hits: Sequence[float], reads: float, writes: float, mode: WriteMode, *, space: bool = True
) -> Served:
    """Return reads and writes served by each device, for LRU tiers in an exclusive chain.

    Parameters
    ----------
    read_hits : sequence of float
        Reads that hit in tiers 0..k together, by tier k. Under ``'around'`` those of a stream
        without its writes; the model then misses the hits that invalidations cost.
    reads, writes : float
        Operations in all.
    mode : {'through', 'back', 'around'}
        A write through or around waits for the backend. A write back waits for the first tier.
    space : bool
        Whether the first tier has any space; without it, writes back wait for the backend.

    Examples
    --------
    >>> from mcsim.config.latency import served_by_lru
    >>> [column.tolist() for column in served_by_lru([60], 100, 40, "back")]
    [[60, 40], [40, 0]]
    """
    served_reads = np.diff([0, *read_hits, reads])
    served_writes = np.zeros_like(served_reads)
    served_writes[0 if mode == "back" and space else -1] = writes
    return served_reads, served_writes
