"""Results of a run as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine, locality
from mcsim.base.errors import ConfigError
from mcsim.locality.prefixes import prefix_curve
from mcsim.results.output import SystemTables
from mcsim.results.schemas import SCHEMAS, schema_of, without_optional_columns
from mcsim.traces.chains import ChainTrace

# Points of a stored curve: even steps for linear axes, and growing ones for
# logarithmic axes.
_CURVE_POINTS = 1000


class Curve(Protocol):
    """The hits of LRU at every capacity."""

    @property
    def accesses(self) -> int:
        """All accesses."""

    @property
    def saturation(self) -> int:
        """The capacity from which no larger one hits more."""

    def hits(self, capacity: NDArray[np.int64], /) -> NDArray[np.int64]:
        """Return the hits at capacities."""


class ByteCurve:
    """The hits of LRU at every capacity in bytes, of the objects of a VM."""

    def __init__(self, accesses: engine.Accesses, vm: int) -> None:
        info = accesses.vms[vm]
        has_object = np.diff(accesses.request_begin.view(np.int64)) > 0
        own = np.flatnonzero((accesses.request_vm == vm) & has_object)
        ids = accesses.ids[accesses.request_begin[own]] - np.uint32(info.first_id)
        sizes = np.ascontiguousarray(accesses.request_bytes[own])
        if unknown := int(np.count_nonzero(sizes == 0)):
            first = int(own[np.argmin(sizes != 0)])
            raise ConfigError(
                f"VM {info.name}: {unknown:,} of {len(own):,} requests are for objects without a "
                f"size, first request {first:,}: give the capacity as a number of objects"
            )
        self._made, _ = locality.byte_curve(ids, sizes, max(1, info.unique_blocks))
        self.accesses = len(own)

    @property
    def saturation(self) -> int:
        """The capacity from which no larger one hits more."""
        return int(self._made.capacity[-1]) if len(self._made.capacity) else 0

    def hits(self, capacity: NDArray[np.int64], /) -> NDArray[np.int64]:
        """Return the hits at capacities in bytes."""
        at = np.searchsorted(self._made.capacity, capacity, side="right")
        hits: NDArray[np.int64] = np.append(0, self._made.hits).astype(np.int64)[at]
        return hits


class TenantCurve:
    """The prefix hits of a tenant alone in an LRU cache, at every capacity."""

    def __init__(self, chains: ChainTrace) -> None:
        self._curve = prefix_curve(chains)
        self.accesses = self._curve.blocks
        self.saturation = int(self._curve.capacities[-1]) if len(self._curve.capacities) else 0

    def hits(self, capacity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the blocks that hit at capacities."""
        step = np.searchsorted(self._curve.capacities, capacity, "right")
        hits: NDArray[np.int64] = np.concatenate([[0], self._curve.block_hits])[step]
        return hits


def tenant_curves(chains: ChainTrace) -> list[TenantCurve]:
    """Return the curve of each tenant."""
    parts = [chains.of_tenant(name) for name in chains.tenants] or [chains]
    return list(map(TenantCurve, parts))


def curve_steps(vms: Sequence[str], curves: Sequence[Curve]) -> pa.Table:
    """Tabulate every VM's curve at even and at growing steps."""
    return curve_points(vms, curves, [_steps(max(1, curve.saturation)) for curve in curves])


def curve_points(
    vms: Sequence[str], curves: Sequence[Curve], at: Sequence[NDArray[np.int64]]
) -> pa.Table:
    """Tabulate every VM's curve at capacities of its own."""
    rows = [len(capacities) for capacities in at]
    names = pa.array(vms, pa.string())
    return pa.table(
        {
            "vm": names.take(pa.array(np.repeat(np.arange(len(curves)), rows))),
            "scope": pa.repeat(pa.scalar("trace", pa.string()), sum(rows)),
            "capacity": np.concatenate(at),
            "hits": np.concatenate([c.hits(of) for c, of in zip(curves, at, strict=True)]),
            "accesses": np.repeat([curve.accesses for curve in curves], rows),
        }
    )


# Small VMs, of which there may be thousands, end at the same few sizes.
@lru_cache(maxsize=256)
def _steps(last: int) -> NDArray[np.int64]:
    steps = np.linspace(0, last, _CURVE_POINTS + 1)
    growing = np.geomspace(1, last, _CURVE_POINTS)
    return np.unique(np.rint(np.concatenate([steps, growing])).astype(np.int64))


def intensity_asked(specs: Sequence[locality.MeterSpec]) -> locality.MeterSpec | None:
    """Return the meter with stored windows: the first, or else a default one."""
    shares = [s for s in specs if s.meter == "intensity" and s.params["kind"] == "share"]
    usual = [locality.MeterSpec("intensity", interval=spec.interval) for spec in specs]
    return next(iter(shares + usual), None)


def intensity_table(
    accesses: engine.Accesses, measured: locality.Characterised, spec: locality.MeterSpec | None
) -> pa.Table:
    """Tabulate the windows of an intensity meter in which nothing warms up; none of no meter."""
    if spec is None:
        return SCHEMAS["reuse_intensity"].empty_table()
    windows = measured.windows(spec)
    names = pa.array([vm.name for vm in accesses.vms], pa.string())
    start, begin = accesses.request_time[[0, accesses.warm_up]]
    if accesses.warm_up > 0:
        length = spec.params["window"]
        after = start + (windows["end"] - start - 1) // length * length >= begin
        windows = {name: of[after] for name, of in windows.items()}
    return pa.table(
        {
            "vm": names.take(pa.array(windows["vm"])),
            "window_end_ns": windows["end"] - begin,
            "reuse_intensity": windows["intensity"],
            "accesses": windows["accesses"],
        }
    )


def system_tables(
    title: str,
    result: engine.RunResult,
    cuts: NDArray[np.int64],
    vms: Sequence[str],
    length: int,
    hosts: Sequence[str] = (),
    timers: Sequence[str] = (),
    warm_up: int = 0,
) -> SystemTables:
    """Turn arrays [interval, vm, tier] into tidy tables, the last index fastest.

    A sequence of empty intervals that `warm_up` ends within becomes two.

    Each decision has the name of its timer, if there are several.

    What several hosts alone have is left out where `hosts` does not name them, and what is read
    from where it is staged if nothing is.
    """
    rows, lengths = _split_at(warm_up, result.lengths)
    by_tier = result.tiers
    tiers = by_tier["hits"].shape[2]
    metrics = _places(tuple(vms), len(lengths), tiers) | _rows_of(by_tier, rows)
    counts = _places(tuple(vms), len(lengths), 1) | _rows_of(result.vms, rows)
    for columns in (metrics, counts):
        columns["interval"] = (np.cumsum(lengths) - lengths)[columns["interval"]]
    counts["begin_ns"] = counts["interval"] * length
    if hosts:
        counts["host"] = pa.array(hosts, pa.string()).take(pa.array(counts["host"].ravel()))
    metrics, counts = (
        without_optional_columns("metrics", metrics, hosts=bool(hosts)),
        without_optional_columns("vms", counts, hosts=bool(hosts)),
    )
    if np.any(lengths > 1):
        for columns, of_row in ((metrics, len(vms) * tiers), (counts, len(vms))):
            columns["intervals"] = np.repeat(lengths, of_row)
    return SystemTables(
        metrics=_table("metrics", title, metrics),
        vms=_table("vms", title, counts),
        decisions=_decisions(title, result.decisions, cuts, timers),
        timing={
            "replay_seconds": result.replay_seconds,
            "decide_seconds": result.decide_seconds,
        },
    )


def _split_at(
    interval: int, lengths: NDArray[np.int64]
) -> tuple[NDArray[np.intp] | None, NDArray[np.int64]]:
    """Split the sequence of intervals that an interval is within.

    Returns
    -------
    rows : array or None
        The row of each sequence; None if all are as before.
    lengths : array
    """
    ends = np.cumsum(lengths)
    row = int(np.searchsorted(ends, interval, side="right"))
    if row == len(ends) or interval == ends[row] - lengths[row]:
        return None, lengths
    split = np.insert(lengths, row, interval - ends[row] + lengths[row])
    split[row + 1] -= split[row]
    return np.insert(np.arange(len(lengths)), row, row), split


def _rows_of(
    counts: dict[str, NDArray[np.int64]], rows: NDArray[np.intp] | None
) -> dict[str, NDArray[np.int64]]:
    return counts if rows is None else {name: values[rows] for name, values in counts.items()}


# Runs of a sweep are of one shape.
@lru_cache(maxsize=8)
def _places(vms: tuple[str, ...], intervals: int, tiers: int) -> dict[str, Any]:
    """Return the first columns of rows [interval, vm, tier]."""
    interval, vm, tier = (axis.ravel() for axis in np.indices((intervals, len(vms), tiers)))
    return {
        "interval": interval,
        "vm": pa.array(vms, pa.string()).take(pa.array(vm)),
        "tier": tier,
    }


def _decisions(
    title: str,
    decisions: Sequence[Mapping[str, Any]],
    cuts: NDArray[np.int64],
    timers: Sequence[str],
) -> pa.Table:
    if not decisions:
        return SCHEMAS["decisions"].empty_table()
    requests = np.array([d["request"] for d in decisions], dtype=np.int64)
    columns: dict[str, Any] = {
        "interval": np.searchsorted(cuts, requests, side="right") - 1,
        "request": requests - cuts[0],
    }
    for name in ("objective", "upper_bound", "evaluations", "infeasible"):
        columns[name] = [d[name] for d in decisions]
    for name in ("admits", "write_modes", "note", "throughputs"):
        if any(d[name] for d in decisions):
            columns[name] = [d[name] or None for d in decisions]
    if any(d["times"] > 1 for d in decisions):
        columns["times"] = [d["times"] for d in decisions]
    if any(d["moved"] for d in decisions):
        columns["moved"] = [d["moved"] for d in decisions]
    if len(timers) > 1:
        columns["timer"] = [timers[d["timer"]] for d in decisions]
    return _table("decisions", title, columns)


def bound_table(title: str, opt_hits: int) -> pa.Table:
    """Tabulate the upper bound on the hits of a system."""
    return pa.table([[title], [opt_hits]], schema=SCHEMAS["bounds"])


def _table(name: str, system: str, columns: dict[str, Any]) -> pa.Table:
    """Return one of the tables of a run from its columns, arrays of which may be of any shape."""
    schema = schema_of(name, columns)
    rows = len(columns["interval"])
    columns = {"system": pa.repeat(pa.scalar(system, pa.string()), rows)} | columns
    return pa.table([_column(columns[f.name], f.type) for f in schema], schema=schema)


def _column(values: Any, of: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return pa.array(values.ravel() if isinstance(values, np.ndarray) else values, of)


def unique_blocks(accesses: engine.Accesses) -> list[int]:
    """Count the blocks that every VM touched after the warm-up."""
    if accesses.warm_up == 0:
        return [vm.unique_blocks for vm in accesses.vms]
    touched = np.zeros(accesses.id_count, dtype=bool)
    touched[accesses.ids[int(accesses.request_begin[accesses.warm_up]) :]] = True
    ids = [slice(vm.first_id, vm.first_id + vm.unique_blocks) for vm in accesses.vms]
    return [int(np.count_nonzero(touched[of_vm])) for of_vm in ids]
