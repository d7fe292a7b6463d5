"""Demand on devices that have limits: operations or bytes a second."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.base.result_columns import schema_of_table
from mcsim.config.spec import ExperimentSpec, PlacedSpec, SystemSpec
from mcsim.results.loads import Load, loads
from mcsim.results.results import Results

__all__ = ["DEMANDS", "asked_of", "demands", "is_limited", "overloads"]

DEMANDS = schema_of_table("demands")


def demands(results: Results) -> pa.Table:
    """Compute the demand of every interval on each device with limits.

    An operation reads or writes one block. It keeps the device busy for a second divided by its
    `iops`, or for the time of its bytes at the `bandwidth` if that is longer. The demand is the
    busy time of all operations divided by the length of the interval. Above 1 it exceeds the
    limit.

    Returns
    -------
    pa.Table
        Table of schema `DEMANDS`; without rows if no device has limits.
    """
    spec = results.spec
    tables = [_demand_table(spec, system.title, load) for system, load in _limited(results)]
    return pa.concat_tables([DEMANDS.empty_table(), *tables])


def overloads(results: Results) -> list[str]:
    """Describe, for each system and device, the intervals in which demand exceeds the limit."""
    found = []
    for system, load in _limited(results):
        asked = asked_of(results.spec, load)
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


def asked_of(spec: ExperimentSpec, load: Load) -> NDArray[np.float64] | None:
    """Compute the demand on a device by interval, as a share of its limit.

    The result is None without a clock, and for several hosts, because each has its own device.
    """
    from mcsim._core import engine

    if spec.interval.by_reference or spec.hosts is not None:
        return None
    placed = load.device
    device = engine.Device(placed.device, *placed.quantities, *placed.can_do)
    busy_ns = (load.reads + load.writes) * device.busy_ns(spec.block_bytes)
    return np.asarray(busy_ns / spec.interval.length, dtype=np.float64)


def _demand_table(spec: ExperimentSpec, system: str, load: Load) -> pa.Table:
    operations = load.reads + load.writes
    count = len(operations)
    asked = asked_of(spec, load)
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
