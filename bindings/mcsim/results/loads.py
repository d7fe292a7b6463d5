"""Operations that a run asks of each device, interval by interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.config.spec import ExperimentSpec, PlacedSpec
from mcsim.results.results import Results
from mcsim.results.schemas import all_counts_of, of_system
from mcsim.results.tables import DEVICE_WRITES, devices_of


@dataclass(frozen=True)
class Load:
    """Operations on one device: arrays by interval."""

    device: PlacedSpec
    title: str
    tier: int | None
    reads: NDArray[np.int64]
    writes: NDArray[np.int64]


def device_titles(spec: ExperimentSpec) -> list[str]:
    """Return what shows the device of each tier, then the backend's; equal names are numbered."""
    names = [placed.device for placed in (*spec.tiers, spec.backend)]
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


def loads(results: Results, system: str) -> Iterator[Load]:
    """Go through the devices that a system used: its tiers, then the backend."""

    def by_interval(table: pa.Table, columns: Sequence[str]) -> NDArray[np.int64]:
        """Sum the columns over VMs: by interval and tier, of which a table of VMs has one."""
        total = np.sum(list(all_counts_of(table, columns).values()), axis=0)
        return np.asarray(np.sum(total, axis=1), dtype=np.int64)

    metrics, vms = (of_system(results.measured(name), system) for name in ("metrics", "vms"))
    # Runs stored without a results version counted demotions alone.
    copied = "copied_out" if "copied_out" in metrics.column_names else "moved_down"
    reads = by_interval(metrics, ["reads_served", copied])
    writes = by_interval(metrics, DEVICE_WRITES)
    *tiers, backend = devices_of(results.spec, reads.shape[1])
    titles = device_titles(results.spec)
    for k, tier in enumerate(tiers):
        yield Load(tier, titles[k], k, reads[:, k], writes[:, k])
    backend_reads = by_interval(vms, ["backend_reads"])[:, 0]
    backend_writes = by_interval(vms, ["backend_writes"])[:, 0]
    yield Load(backend, titles[-1], None, backend_reads, backend_writes)
