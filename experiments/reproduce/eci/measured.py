"""Measurements of systems that divide one cache."""

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
from mcsim.results.totals import Totals, totals

__all__ = ["Measured", "measure"]


@dataclass(frozen=True)
class Measured:
    """Measurements of one system.

    Attributes
    ----------
    blocks : array of int64, shape (intervals, vms)
        Blocks granted to each VM, without the warm-up.
    hits, read_hits : float
        Hit ratios of all accesses, and of reads.
    read_ns : mapping of str or None to float
        Mean time of a read that queues behind writes, by VM and for all (None); NaN without reads.
    writes : array of int64, shape (vms,)
        Blocks written to the cache.
    infeasible : sequence of int
        Intervals with a request that could not be met.
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
        """Blocks granted to all VMs together, by interval."""
        return np.asarray(self.blocks.sum(axis=1))

    def per_block(self, vm: str | None = None) -> float:
        """Compute performance per cost: reads a second of one client by mean granted blocks.

        The result is infinite for a VM without blocks.
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
