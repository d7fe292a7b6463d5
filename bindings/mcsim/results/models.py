"""What a run costs its devices and its clients: latency, load, wear.

Everything here follows from the counts of a finished run and the quantities of its
devices. Pure functions of `Results`; each returns an Arrow table.

A request waits for the slowest of its blocks, which are read in parallel, so its latency
is that of one device and the distribution is exact. A device serves one operation after
the other; where the experiment has a clock, how long operations queue follows from how
many there were in an interval, as if they came at random times (M/G/1 with the two
service times of reads and writes, by Pollaczek and Khinchine; with one of them it is
M/D/1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base import units
from mcsim.config.spec import ExperimentSpec, PlacedSpec
from mcsim.results.render import STYLE, percent
from mcsim.results.results import Results
from mcsim.results.schemas import counts_of
from mcsim.results.tables import Totals, devices_of, known, totals

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["DEVICES", "REQUESTS", "devices", "lifetime_years", "queueing_ns", "requests"]
__all__ += ["render_devices", "render_requests"]

QUANTILES = (0.5, 0.95, 0.99)

REQUESTS = pa.schema(
    [
        ("system", pa.string()),
        ("vm", pa.string()),  # null: all VMs together
        ("requests", pa.int64()),
        # Of reads: all blocks in some tier. Of all: nothing waited for the backend.
        ("read_hit_ratio", pa.float64()),
        ("served_by_cache", pa.float64()),
        ("mean_ns", pa.float64()),
        *((f"p{round(100 * q)}_ns", pa.int64()) for q in QUANTILES),
    ]
)

DEVICES = pa.schema(
    [
        ("system", pa.string()),
        ("device", pa.string()),
        ("tier", pa.int32()),  # null: the backend
        ("reads", pa.int64()),  # blocks, those included that are read to be demoted
        ("writes", pa.int64()),  # blocks
        ("written_bytes_per_day", pa.float64()),  # by the host; null without a clock
        ("lifetime_years", pa.float64()),  # null where nothing wears, or without a clock
        ("utilization", pa.float64()),  # mean; this and the rest: null without a clock
        ("peak_utilization", pa.float64()),  # of the busiest interval
        ("saturated_intervals", pa.int64()),  # more work than time
        ("queueing_ns", pa.float64()),  # mean of the other intervals' operations
    ]
)

_DAY_NS = 86_400 * 10**9


def requests(results: Results, *, by_vm: bool = True) -> pa.Table:
    """Tell how long requests waited, by system and VM: a table of schema `REQUESTS`.

    `by_vm=False` leaves what all VMs waited together.
    """
    spec = results.spec
    rows = [row for of in totals(results) for row in _request_rows(spec, of, by_vm)]
    return pa.Table.from_pylist(rows, schema=REQUESTS)


def _request_rows(spec: ExperimentSpec, of: Totals, by_vm: bool) -> Iterator[dict[str, Any]]:
    used = devices_of(spec, of.hits.shape[1])
    once = np.array([[known(d.read) for d in used], [known(d.write) for d in used]])
    own = spec.backend.vms or {}
    which: list[tuple[str | None, Any]] = [(vm, v) for v, vm in enumerate(of.vms if by_vm else ())]
    for vm, rows in [*which, (None, slice(None))]:
        # By operation, VM and what it waited for; VMs alike are one.
        each = np.stack([np.atleast_2d(c[rows]) for c in (of.read_requests, of.write_requests)])
        if not own:
            each = each.sum(axis=1, keepdims=True)
        latency = np.repeat(once[:, None], each.shape[1], axis=1)
        for v, name in enumerate(of.vms if vm is None else [vm]):
            if name in own:
                latency[:, v, -1] = own[name]
        counts = each.sum(axis=1)
        reads = counts[0]
        total = int(counts.sum())
        row: dict[str, Any] = {"system": of.system.title, "vm": vm, "requests": total}
        if reads.sum():
            row["read_hit_ratio"] = 1 - reads[-1] / reads.sum()
        if total:
            row["served_by_cache"] = 1 - counts[:, -1].sum() / total
            row["mean_ns"] = float((each * latency.astype(float)).sum()) / total
            order = np.argsort(latency, axis=None, kind="stable")
            reached = np.cumsum(each.ravel()[order])
            for q in QUANTILES:
                at = np.searchsorted(reached, q * total)
                row[f"p{round(100 * q)}_ns"] = int(latency.ravel()[order[at]])
        yield row


def queueing_ns(
    reads_per_s: float, writes_per_s: float, read_ns: float, write_ns: float
) -> float | None:
    """Return the mean time that an operation waits for those before it.

    Parameters
    ----------
    reads_per_s, writes_per_s : float
        How many there are, at random times.
    read_ns, write_ns : float
        How long each takes.

    Returns
    -------
    float or None
        In nanoseconds; None if the device cannot keep up.

    Notes
    -----
    Pollaczek-Khinchine: rate * E[S^2] / (2 (1 - utilization)) for an M/G/1 queue
    (Kleinrock: Queueing Systems I, 1975, section 5.6).

    Examples
    --------
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


def lifetime_years(
    capacity_bytes: float, pe_cycles: float, written_bytes_per_day: float, amplification: float = 1
) -> float:
    """Return how long a device lasts that can be written `pe_cycles` times over.

    Examples
    --------
    >>> lifetime_years(100e9, 3000, 821e9, amplification=1)  # doctest: +ELLIPSIS
    1.0...
    """
    if written_bytes_per_day == 0:
        return float("inf")
    return capacity_bytes * pe_cycles / (written_bytes_per_day * amplification) / 365.25


@dataclass(frozen=True)
class _Load:
    """Operations on one device: arrays by interval."""

    device: PlacedSpec
    tier: int | None
    reads: NDArray[np.int64]
    writes: NDArray[np.int64]


def devices(results: Results) -> pa.Table:
    """Tell what each system did to each device: a table of schema `DEVICES`."""
    spec = results.spec
    rows = [
        {"system": system.title} | _device_row(spec, load)
        for system in spec.systems
        for load in _loads(results, system.title)
    ]
    return pa.Table.from_pylist(rows, schema=DEVICES)


def _loads(results: Results, system: str) -> Iterator[_Load]:
    def by_interval(table: pa.Table, columns: Sequence[str]) -> NDArray[np.int64]:
        """Sum the columns over VMs: by interval and tier, of which a table of VMs has one."""
        total = np.sum([counts_of(table, name) for name in columns], axis=0)
        return np.asarray(np.sum(total, axis=1), dtype=np.int64)

    def of(table: pa.Table) -> pa.Table:
        return table.filter(pc.equal(table["system"], system))

    metrics, vms = of(results.measured("metrics")), of(results.measured("vms"))
    reads = by_interval(metrics, ["reads_served", "moved_down"])
    writes = by_interval(metrics, ["fills", "promotions", "demotions", "updates"])
    *tiers, backend = devices_of(results.spec, reads.shape[1])
    for k, tier in enumerate(tiers):
        yield _Load(tier, k, reads[:, k], writes[:, k])
    backend_reads = by_interval(vms, ["backend_reads"])[:, 0]
    yield _Load(backend, None, backend_reads, by_interval(vms, ["backend_writes"])[:, 0])


def _device_row(spec: ExperimentSpec, load: _Load) -> dict[str, Any]:
    device = load.device
    row: dict[str, Any] = {
        "device": device.device,
        "tier": load.tier,
        "reads": int(load.reads.sum()),
        "writes": int(load.writes.sum()),
    }
    if spec.interval.by_reference:
        return row
    seconds = spec.interval.length / 1e9
    days = len(load.reads) * spec.interval.length / _DAY_NS
    written = row["writes"] * spec.block_bytes / days
    row["written_bytes_per_day"] = written
    if device.pe_cycles is not None and load.tier is not None:
        capacity = getattr(device, "capacity_blocks", 0) * spec.block_bytes
        amplification = device.write_amplification or 1
        row["lifetime_years"] = lifetime_years(capacity, device.pe_cycles, written, amplification)
    read_ns, write_ns = known(device.read), known(device.write)
    busy = (load.reads * float(read_ns) + load.writes * float(write_ns)) / spec.interval.length
    waits = [
        queueing_ns(r / seconds, w / seconds, read_ns, write_ns)
        for r, w in zip(load.reads.tolist(), load.writes.tolist(), strict=True)
    ]
    kept = [
        (wait, int(ops))
        for wait, ops in zip(waits, load.reads + load.writes, strict=True)
        if wait is not None
    ]
    operations = sum(ops for _, ops in kept)
    row |= {
        "utilization": float(busy.mean()),
        "peak_utilization": float(busy.max()),
        "saturated_intervals": waits.count(None),
    }
    if operations:
        row["queueing_ns"] = sum(wait * ops for wait, ops in kept) / operations
    return row


def render_requests(results: Results) -> RenderableType:
    """Show `requests` of all VMs together in at most 100 columns."""
    from rich.table import Table

    table = Table(title=f"{results.title}: requests", **STYLE)
    table.add_column("system", overflow="fold")
    for name in ("requests", "read hit %", "cache %", "mean", "median", "95 %", "99 %"):
        table.add_column(name, justify="right")
    for row in requests(results, by_vm=False).to_pylist():
        latencies = [row["mean_ns"], *(row[f"p{round(100 * q)}_ns"] for q in QUANTILES)]
        table.add_row(
            row["system"],
            f"{row['requests']:,}",
            *(percent(row[name]) for name in ("read_hit_ratio", "served_by_cache")),
            *("–" if ns is None else units.format_latency(ns) for ns in latencies),
        )
    table.caption = "cache: served without waiting for the backend; a request waits for its slowest"
    return table


def render_devices(results: Results) -> RenderableType:
    """Show `devices` in at most 100 columns."""
    from rich.table import Table

    table = Table(title=f"{results.title}: devices", **STYLE)
    table.add_column("system", overflow="fold")
    table.add_column("device")
    for name in ("reads", "writes", "GB/day", "years", "busy %", "peak %", "saturated", "queueing"):
        table.add_column(name, justify="right")
    shown = None
    for row in devices(results).to_pylist():
        table.add_row(
            row["system"] if row["system"] != shown else "",
            row["device"],
            units.format_count(row["reads"]),
            units.format_count(row["writes"]),
            _number(row["written_bytes_per_day"], 1e-9),
            _number(row["lifetime_years"]),
            percent(row["utilization"]),
            percent(row["peak_utilization"]),
            "–" if row["saturated_intervals"] is None else str(row["saturated_intervals"]),
            _wait(row["queueing_ns"]),
        )
        shown = row["system"]
    table.caption = (
        "reads and writes in blocks; saturated: intervals with more work than time; queueing: "
        "mean wait in the others"
    )
    return table


def _wait(ns: float | None) -> str:
    if ns is None:
        return "–"
    return "0" if ns < 0.01 else units.format_latency(ns)


def _number(value: float | None, scale: float = 1) -> str:
    return "–" if value is None else f"{value * scale:.3g}"
