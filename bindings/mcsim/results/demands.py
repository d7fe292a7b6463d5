"""Operations of a run on each device by interval, and their share of its limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.config.placed import PlacedSpec
from mcsim.config.spec import ExperimentSpec, SystemSpec
from mcsim.results.counted_time import CountedTime, counted_time
from mcsim.results.results import Results
from mcsim.results.schemas import all_counts_of, interval_counts, of_system
from mcsim.results.tables import devices_of
from mcsim.results.totals import DEVICE_WRITES
from mcsim.tables.result_columns import schema_of_table


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
        counts = all_counts_of(table, columns, expanded=False).values()
        total = np.sum(np.sum(list(counts), axis=0), axis=1, dtype=np.int64)
        return np.repeat(total, interval_counts(table), axis=0)

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


DEMANDS = schema_of_table("demands")


def demands(results: Results) -> pa.Table:
    """Compute the demand of every interval on each device with limits.

    An operation reads or writes one block. It keeps the device busy for a second divided by its
    `iops`, or for the time of its bytes at the `bandwidth` if that is longer. The demand is the
    busy time of all operations divided by the length of the interval, of which the first and the
    last end with the counted requests (`CountedTime.rates`). Above 1 it exceeds the limit.

    Returns
    -------
    pa.Table
        Table of schema `DEMANDS`; without rows if no device has limits.
    """
    spec, counted = results.spec, counted_time(results)
    tables = [
        _demand_table(spec, counted, system.title, load) for system, load in _limited(results)
    ]
    return pa.concat_tables([DEMANDS.empty_table(), *tables])


def overloads(results: Results) -> list[str]:
    """Describe, for each system and device, the intervals in which demand exceeds the limit."""
    found = []
    counted = counted_time(results)
    for system, load in _limited(results):
        asked = asked_of(results.spec, counted, load)
        if asked is None or not (over := int((asked > 1).sum())):
            continue
        worst = int(asked.argmax())
        found.append(
            f"{system.title}: {load.title} is asked for more than it can do in {over} of "
            f"{len(asked)} intervals, in interval {results.spec.warm_up_intervals + worst} for "
            f"{asked[worst]:.3g} times as much"
        )
    return found


def is_limited(device: PlacedSpec) -> bool:
    """Return whether a device has a limit of operations or bytes a second."""
    return device.iops is not None or device.bandwidth is not None


def _limited(results: Results) -> Iterator[tuple[SystemSpec, Load]]:
    """Yield the loads of devices that have limits."""
    for system in results.spec.systems:
        for load in loads(results, system.title):
            if is_limited(load.device):
                yield system, load


def least_ns(spec: ExperimentSpec, load: Load) -> float:
    """Return the time in ns that a device takes for an operation at its limit."""
    from mcsim._core import engine

    placed = load.device
    device = engine.Device(placed.device, *placed.quantities, *placed.can_do)
    return device.busy_ns(spec.block_bytes)


def asked_of(
    spec: ExperimentSpec, counted: CountedTime | None, load: Load
) -> NDArray[np.float64] | None:
    """Compute the demand on a device by interval, as a share of its limit.

    The result is None without a time, and for several hosts, because each has its own device.
    """
    if counted is None or spec.hosts is not None:
        return None
    busy_ns = (load.reads + load.writes) * least_ns(spec, load)
    return counted.rates(busy_ns, spec.warm_up_intervals, spec.interval.length)


def _demand_table(
    spec: ExperimentSpec, counted: CountedTime | None, system: str, load: Load
) -> pa.Table:
    operations = load.reads + load.writes
    count = len(operations)
    asked = asked_of(spec, counted, load)
    columns = {
        "system": [system] * count,
        "device": [load.device.device] * count,
        "tier": [load.tier] * count,
        "interval": spec.warm_up_intervals + np.arange(count, dtype=np.int32),
        "operations": operations,
        "bytes": operations * spec.block_bytes,
        "asked": [None] * count if asked is None else asked,
    }
    return pa.table(columns, schema=DEMANDS)
