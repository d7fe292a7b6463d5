"""Models of a run's latency, load and wear: pure functions of `Results` that return Arrow tables.

All results follow from the counts of a finished run and the quantities of its devices.

A request waits for the slowest of its blocks, which are read in parallel. Its latency is therefore
that of one device, and the distribution is exact. A device serves one operation after the other.
If the experiment has a clock, queueing follows from the number of operations a second, as if
arrivals were random: M/G/1 with the service times of reads and writes, by Pollaczek and Khinchine.
With operations of one kind it is M/D/1.

Rates are over the time from the first counted request to the last (`CountedTime`). Those of a
device are means over this time, the same at every `interval`; `peak_utilization`,
`saturated_intervals`, `peak_asked` and `overloaded_intervals` are of intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.config.latency import ServiceTimes
from mcsim.config.placed import PlacedSpec
from mcsim.config.spec import ExperimentSpec
from mcsim.results.counted_time import CountedTime, counted_time, why_no_rates
from mcsim.results.demands import Load, asked_of, is_limited, least_ns, loads
from mcsim.results.results import Results
from mcsim.results.schemas import counts_of, of_system
from mcsim.results.tables import devices_of, known
from mcsim.results.totals import Totals, totals
from mcsim.tables.result_columns import schema_of_table

QUANTILES = (0.5, 0.95, 0.99)
REQUESTS = schema_of_table("requests")
DEVICES = schema_of_table("devices")
READS = schema_of_table("reads")

DAY_NS = 86_400 * 10**9


def requests(results: Results, *, by_vm: bool = True) -> pa.Table:
    """Compute the latency of requests by system and VM: a table of schema `REQUESTS`.

    With `by_vm=False`, the only rows are those over all VMs. Requests for objects have no latency.
    """
    spec = results.spec
    rows = [row for of in totals(results) for row in _request_rows(spec, of, by_vm)]
    if results.kind == "objects":
        rows = [{name: row[name] for name in row if not name.endswith("_ns")} for row in rows]
    return pa.Table.from_pylist(rows, schema=REQUESTS)


def _request_rows(spec: ExperimentSpec, of: Totals, by_vm: bool) -> Iterator[dict[str, Any]]:
    served, latency = _requests_by_latency(spec, of)
    which: list[tuple[str | None, Any]] = [
        (vm, [v]) for v, vm in enumerate(of.vms if by_vm else ())
    ]
    for vm, rows in [*which, (None, slice(None))]:
        each, lasts = served[:, rows], latency[:, rows]
        counts = each.sum(axis=1)
        reads = counts[0] + counts[2:].sum(axis=0)
        total = int(counts.sum())
        row: dict[str, Any] = {"system": of.system.title, "vm": vm, "requests": total}
        if reads.sum():
            row["read_hit_ratio"] = 1 - reads[-1] / reads.sum()
        if total:
            row["served_by_cache"] = 1 - counts[:, -1].sum() / total
            row["mean_ns"] = float((each * lasts).sum()) / total
            order = np.argsort(lasts, axis=None, kind="stable")
            reached = np.cumsum(each.ravel()[order])
            for q in QUANTILES:
                at = np.searchsorted(reached, q * total)
                row[f"p{round(100 * q)}_ns"] = round(lasts.ravel()[order[at]])
        yield row


def _requests_by_latency(spec: ExperimentSpec, of: Totals) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return requests and their latency, by operation, VM and device that they waited for."""
    used = devices_of(spec, of.hits.shape[1])
    times = ServiceTimes.of(device.waits for device in used)
    once = np.array([times.read_ns, times.write_ns], dtype=np.int64)
    served = [of.read_requests, of.write_requests]
    if spec.hosts is not None:
        # Reads with the slowest block from over the link have a latency of their own.
        over_link = np.pad(of.remote_requests, ((0, 0), (0, 1)))
        served = [of.read_requests - over_link, of.write_requests, over_link]
        once = np.vstack([once, once[0] + spec.link_ns])
    if of.staged_hits.any():
        # Reads of staged blocks alone have one, too: each block has the same latency.
        from_memory = np.zeros_like(of.read_requests)
        from_memory[:, 0] = of.staged_requests
        served.append(from_memory)
        once = np.vstack([once, np.full_like(once[0], of.staged_ns.sum() // of.staged_hits.sum())])
    latency = np.repeat(once[:, None].astype(float), len(of.vms), axis=1)
    for v, name in enumerate(of.vms):
        if spec.backend.vms and name in spec.backend.vms:
            latency[:, v, -1] = spec.backend.vms[name]
    if of.delayed_requests.any():
        # Requests that wait for a fetch have many latencies: each VM's have their mean. The cache
        # does not serve them.
        waiting = np.zeros_like(of.read_requests)
        waiting[:, -1] = of.delayed_requests
        served.append(waiting)
        mean_ns = of.request_delay_ns / np.maximum(of.delayed_requests, 1)
        latency = np.concatenate([latency, np.repeat(mean_ns[:, None], len(used), axis=1)[None]])
    return np.stack(served), latency


def queueing_ns(
    reads_per_s: float, writes_per_s: float, read_ns: float, write_ns: float
) -> float | None:
    """Compute the mean time that an operation waits for those before it.

    Parameters
    ----------
    reads_per_s, writes_per_s : float
        Arrival rates; arrivals are random.
    read_ns, write_ns : float
        Service times.

    Returns
    -------
    float or None
        Mean wait in nanoseconds; None if the device is saturated.

    Notes
    -----
    Pollaczek-Khinchine: rate * E[S^2] / (2 (1 - utilization)) for an M/G/1 queue
    (Kleinrock: Queueing Systems I, 1975, section 5.6).

    Examples
    --------
    >>> from mcsim.results.models import queueing_ns
    >>> queueing_ns(50, 0, 10e6, 0)  # half busy, as M/D/1: half a service time
    5000000.0
    >>> queueing_ns(100, 0, 10e6, 0) is None
    True
    """
    busy = (reads_per_s * read_ns + writes_per_s * write_ns) * 1e-9
    if busy >= 1:
        return None
    squares = (reads_per_s * read_ns**2 + writes_per_s * write_ns**2) * 1e-9
    return squares / (2 * (1 - busy))


def reads_behind_writes(results: Results, *, by_vm: bool = True) -> pa.Table:
    """Compute the latency of reads with queueing behind all operations of the tiers.

    Clients wait for reads. Writes of fills, of updates and of clients delay only the reads behind
    them (Ahmadian, Mutlu, Asadi: ECI-Cache, SIGMETRICS 2018). Queueing before the backend is not
    counted.

    Returns
    -------
    pa.Table
        Table of schema `READS`.

    Raises
    ------
    ConfigError
        If the run has no clock, so that arrival rates are unknown, or has several hosts.
    """
    spec = results.spec
    if spec.interval.by_reference:
        raise ConfigError(f"{spec.name}: reads cannot queue in a run whose intervals have no time")
    if (counted := counted_time(results)) is None:
        raise ConfigError(f"{spec.name}: reads cannot queue: {why_no_rates(results)}")
    if spec.hosts is not None:
        raise ConfigError(f"{spec.name}: reads queue on one host, and this run has several")
    rows = [
        row for system in spec.systems for row in _read_rows(results, counted, system.title, by_vm)
    ]
    return pa.Table.from_pylist(rows, schema=READS)


def _read_rows(
    results: Results, counted: CountedTime, system: str, by_vm: bool
) -> Iterator[dict[str, Any]]:
    spec = results.spec
    metrics, vms = (of_system(results.measured(name), system) for name in ("metrics", "vms"))
    # Axes: interval, VM, and device that served: the tiers, then the backend.
    served = np.concatenate([counts_of(t, "reads_served") for t in (metrics, vms)], axis=2)
    *tiers, _ = loads(results, system)
    # The last columns are staged blocks in memory and delayed hits. As at the backend, nothing
    # queues there.
    staged, delayed = counts_of(vms, "staged_hits"), counts_of(vms, "delayed_hits")
    served = np.concatenate([served, staged, delayed], axis=2)
    waits = np.column_stack(
        [*(_waits(spec, counted, load) for load in tiers), np.zeros((len(served), 3))]
    )
    kept = ~np.isnan(waits).any(axis=1)
    names = pc.unique(vms["vm"]).to_pylist()
    service = np.array([device.waits[0] for device in devices_of(spec, len(tiers))], float)
    from_memory = counts_of(vms, "staged_ns").sum() / max(staged.sum(), 1)
    own = spec.backend.vms or {}
    taken = np.tile(np.append(service, [from_memory, 0]), (len(names), 1))
    taken[:, -3] = [own.get(vm, service[-1]) for vm in names]
    delayed_ns = counts_of(vms, "delayed_ns").sum(axis=(0, 2))
    taken[:, -1] = delayed_ns / np.maximum(delayed.sum(axis=(0, 2)), 1)
    of_kept = served[kept]
    queued = np.einsum("ivk,ik->v", of_kept, waits[kept])
    worked = np.einsum("ivk,vk->v", of_kept, taken)
    reads, every = of_kept.sum(axis=(0, 2)), served.sum(axis=(0, 2))
    which: list[tuple[str | None, Any]] = [(vm, v) for v, vm in enumerate(names if by_vm else ())]
    for vm, rows in [*which, (None, slice(None))]:
        count = int(reads[rows].sum())
        left_out = int(every[rows].sum()) - count
        row: dict[str, Any] = {"system": system, "vm": vm, "reads": count, "left_out": left_out}
        if count:
            row["queueing_ns"] = float(queued[rows].sum()) / count
            row["mean_ns"] = row["queueing_ns"] + float(worked[rows].sum()) / count
        yield row


def devices(results: Results) -> pa.Table:
    """Compute load and wear of each device by system: a table of schema `DEVICES`.

    Columns of demand follow if a device has a limit, and energy if a device has a power. A trace of
    objects has no rows.
    """
    spec = results.spec
    if results.kind == "objects":
        return pa.Table.from_pylist([], schema=DEVICES)
    counted = counted_time(results)
    rows = [
        {"system": system.title} | _device_row(spec, counted, load)
        for system in spec.systems
        for load in loads(results, system.title)
    ]
    placed = [*spec.tiers, spec.backend]
    is_powered = any(device.watts for device in placed)
    rare = [
        column
        for column in schema_of_table("devices", rare=True)
        if (is_powered if column.name == "energy_joules" else any(map(is_limited, placed)))
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([*DEVICES, *rare]))


def _device_row(spec: ExperimentSpec, counted: CountedTime | None, load: Load) -> dict[str, Any]:
    device = load.device
    reads, writes = int(load.reads.sum()), int(load.writes.sum())
    row: dict[str, Any] = {
        "device": device.device,
        "tier": load.tier,
        "reads": reads,
        "writes": writes,
    }
    if counted is None:
        return row
    duration = counted.duration_ns
    written = writes * spec.block_bytes * DAY_NS / duration
    row["written_bytes_per_day"] = written
    if device.pe_cycles is not None and load.tier is not None:
        capacity = getattr(device, "capacity", 0)
        drives = spec.host_count * device.drive_bytes(capacity, spec.block_bytes)
        amplification = device.write_amplification or 1
        row["lifetime_years"] = lifetime_years(drives, device.pe_cycles, written, amplification)
        row["drive_writes_per_day"] = drive_writes_per_day(drives, written)
    if spec.hosts is not None:
        return row  # each host has its own queue
    read_ns, write_ns = known(device.read), known(device.write)
    # From totals, so that the sum does not depend on the interval.
    busy = (reads * read_ns + writes * write_ns) / duration
    peak = _rates(spec, counted, load.reads * float(read_ns) + load.writes * float(write_ns)).max()
    row |= {
        "utilization": busy,
        "peak_utilization": float(peak),
        "saturated_intervals": int(np.isnan(_waits(spec, counted, load)).sum()),
        "energy_joules": energy_joules(device, busy, duration / 1e9),
    }
    if (asked := asked_of(spec, counted, load)) is not None and is_limited(device):
        row["asked"] = (reads + writes) * least_ns(spec, load) / duration
        row["peak_asked"] = float(asked.max())
        row["overloaded_intervals"] = int((asked > 1).sum())
    if reads + writes:
        per_s = 1e9 / duration
        row["queueing_ns"] = queueing_ns(reads * per_s, writes * per_s, read_ns, write_ns)
    return row


def _rates(spec: ExperimentSpec, counted: CountedTime, counts: NDArray[Any]) -> NDArray[np.float64]:
    return counted.rates(counts, spec.warm_up_intervals, spec.interval.length)


def _waits(spec: ExperimentSpec, counted: CountedTime, load: Load) -> NDArray[np.float64]:
    """Compute the queueing time of operations by interval; NaN if the device is saturated."""
    read_ns, write_ns = known(load.device.read), known(load.device.write)
    per_s = [1e9 * _rates(spec, counted, of) for of in (load.reads, load.writes)]
    loads, which = np.unique(per_s, axis=1, return_inverse=True)
    waits = [queueing_ns(reads, writes, read_ns, write_ns) for reads, writes in loads.T.tolist()]
    return np.array([np.nan if wait is None else wait for wait in waits], float)[which.ravel()]


def energy_joules(device: PlacedSpec, busy: float, seconds: float) -> float | None:
    """Return the energy of a device: its power at work while it is busy, else its idle power.

    Parameters
    ----------
    device : PlacedSpec
    busy : float
        Share of the time in which it works; more than 1 is all of the time.
    seconds : float

    Returns
    -------
    float or None
        None if its power is not known.
    """
    if device.watts is None:
        return None
    idle = device.watts if device.idle_watts is None else device.idle_watts
    at_work = min(busy, 1)
    return (at_work * device.watts + (1 - at_work) * idle) * seconds


def lifetime_years(
    capacity_bytes: float, pe_cycles: float, written_bytes_per_day: float, amplification: float = 1
) -> float:
    """Return how long a device lasts that can be written `pe_cycles` times over.

    Examples
    --------
    >>> from mcsim.results.models import lifetime_years
    >>> lifetime_years(100e9, 3000, 821e9, amplification=1)  # doctest: +ELLIPSIS
    1.0...
    """
    if written_bytes_per_day == 0:
        return float("inf")
    return capacity_bytes * pe_cycles / (written_bytes_per_day * amplification) / 365.25


def drive_writes_per_day(capacity_bytes: float, written_bytes_per_day: float) -> float | None:
    """Return how often the host writes the whole drive in a day; None without space."""
    return written_bytes_per_day / capacity_bytes if capacity_bytes else None
