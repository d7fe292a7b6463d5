"""What each system of a run did with one cache that it divides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.results.models import reads_behind_writes
from mcsim.results.results import Results
from mcsim.results.schemas import counts_of, of_system
from mcsim.results.tables import Totals, totals

__all__ = ["Measured", "measure"]


@dataclass(frozen=True)
class Measured:
    """What one system did with the cache.

    Attributes
    ----------
    blocks : array of int64, shape (intervals, vms)
        What each VM was given, without the warm-up.
    hits, read_hits : float
        Of all accesses, and of reads.
    read_ns : mapping of str or None to float
        By VM, and of all: mean time of a read that queues behind writes; NaN where there is none.
    writes : array of int64, shape (vms,)
        Blocks written to the cache.
    infeasible : sequence of int
        Intervals in which what was asked for could not be had.
    """

    vms: Sequence[str]
    blocks: NDArray[np.int64]
    hits: float
    read_hits: float
    read_ns: Mapping[str | None, float]
    writes: NDArray[np.int64]
    infeasible: Sequence[int]

    @property
    def in_all(self) -> NDArray[np.int64]:
        """What all VMs together were given, by interval."""
        return np.asarray(self.blocks.sum(axis=1))

    def per_block(self, vm: str | None = None) -> float:
        """Performance per cost: reads a second of one client, by the mean of blocks given.

        Infinite of a VM that was given nothing.
        """
        given = self.in_all if vm is None else self.blocks[:, self.vms.index(vm)]
        blocks = float(given.mean())
        return 1e9 / self.read_ns[vm] / blocks if blocks else np.inf


def measure(results: Results) -> dict[str, Measured]:
    """Return what every system of a run did with its cache, the warm-up left out, by title."""
    tables = (
        results.measured("metrics"),
        results.measured("vms"),
        reads_behind_writes(results),
        results.measured("decisions"),
    )
    measured = {}
    for total in totals(results):
        title = total.system.title
        own = (of_system(table, title) for table in tables)
        measured[title] = _measured(total, *own)
    return measured


def _measured(
    total: Totals, metrics: pa.Table, vms: pa.Table, reads: pa.Table, decisions: pa.Table
) -> Measured:
    accesses, misses, writes, write_misses = (
        int(counts_of(vms, name).sum()) for name in ("accesses", "misses", "writes", "write_misses")
    )
    waited = (np.nan if ns is None else ns for ns in reads["mean_ns"].to_pylist())
    unmet = decisions.filter(pc.not_equal(decisions["infeasible"], ""))
    return Measured(
        vms=total.vms,
        blocks=counts_of(metrics, "target")[..., 0],
        hits=1 - misses / accesses,
        read_hits=1 - (misses - write_misses) / (accesses - writes),
        read_ns=dict(zip(reads["vm"].to_pylist(), waited, strict=True)),
        writes=total.device_writes[:, 0],
        infeasible=unmet["interval"].to_pylist(),
    )
