"""What a run asks of devices that say what they can do in a second."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.base.result_columns import schema_of_table
from mcsim.config.spec import ExperimentSpec, PlacedSpec, SystemSpec
from mcsim.results.loads import Load, loads
from mcsim.results.results import Results

DEMANDS = schema_of_table("demands")


def demands(results: Results) -> pa.Table:
    """Tell what every interval asks of each device that says what it can do.

    An operation reads or writes one block. It keeps the device busy for a second divided by its
    `iops`, or as long as its bytes take by its `bandwidth` if that is longer. What an interval
    asks is how long all of them do by its length: beyond 1 it is more than the device has.

    Returns
    -------
    pa.Table
        Of schema `DEMANDS`; without rows if no device says it.
    """
    spec = results.spec
    tables = [_demand_table(spec, system.title, load) for system, load in _limited(results)]
    return pa.concat_tables([DEMANDS.empty_table(), *tables])


def overloads(results: Results) -> list[str]:
    """Say of each system and device where intervals ask more of it than it can do."""
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
    """Whether a device says what it can do."""
    return device.iops is not None or device.bandwidth is not None


def _limited(results: Results) -> Iterator[tuple[SystemSpec, Load]]:
    """Go through the loads of devices that say what they can do."""
    for system in results.spec.systems:
        for load in loads(results, system.title):
            if is_limited(load.device):
                yield system, load


def asked_of(spec: ExperimentSpec, load: Load) -> NDArray[np.float64] | None:
    """Return what is asked of a device by interval, of what it can do.

    None without a clock, and on several hosts, each of which has one.
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
