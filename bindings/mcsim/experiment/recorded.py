"""What a run found, as the tables of its results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim._core import engine, locality
from mcsim.results.draft import SystemTables
from mcsim.results.schemas import SCHEMAS, in_schema

__all__ = [
    "bound_table",
    "curve_points",
    "curve_steps",
    "intensity_asked",
    "intensity_table",
    "system_tables",
    "unique_blocks",
]

# Points of a stored curve: even steps for linear axes, as many growing ones for
# logarithmic axes.
_CURVE_POINTS = 1000


def curve_steps(vms: Sequence[str], curves: Sequence[locality.HitCurve]) -> pa.Table:
    """Tabulate every VM's curve at even and at growing steps."""
    return curve_points(vms, curves, [_steps(max(1, curve.saturation)) for curve in curves])


def curve_points(
    vms: Sequence[str], curves: Sequence[locality.HitCurve], at: Sequence[NDArray[np.int64]]
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
    """Return the meter whose windows are written down: the first, or else a usual one."""
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
    length = spec.params["window"]
    after = start + (windows["end"] - start - 1) // length * length >= begin
    after |= accesses.warm_up == 0
    return pa.table(
        {
            "vm": names.take(pa.array(windows["vm"][after])),
            "window_end_ns": windows["end"][after] - begin,
            "reuse_intensity": windows["intensity"][after],
            "accesses": windows["accesses"][after],
        }
    )


def system_tables(
    title: str,
    result: engine.RunResult,
    cuts: NDArray[np.int64],
    vms: Sequence[str],
    length: int,
) -> SystemTables:
    """Turn arrays [interval, vm, tier] into tidy tables, the last index fastest."""
    names = pa.array(vms, pa.string())
    intervals, _, tiers = result.tiers["hits"].shape
    interval, vm, tier = (axis.ravel() for axis in np.indices((intervals, len(vms), tiers)))
    metrics = {"interval": interval, "vm": names.take(pa.array(vm)), "tier": tier}
    metrics |= {name: values.ravel() for name, values in result.tiers.items()}
    interval, vm = (axis.ravel() for axis in np.indices((intervals, len(vms))))
    counts = {"interval": interval, "vm": names.take(pa.array(vm)), "begin_ns": interval * length}
    counts |= {name: values.ravel() for name, values in result.vms.items()}
    requests = np.array([d["request"] for d in result.decisions], dtype=np.int64)
    decisions = {"interval": np.searchsorted(cuts, requests, side="right") - 1}
    decisions["request"] = requests - cuts[0]
    for name in ("objective", "upper_bound", "evaluations"):
        decisions[name] = np.array([d[name] for d in result.decisions])
    decisions["infeasible"] = pa.array([d["infeasible"] for d in result.decisions], pa.string())
    admits = [d["admits"] or None for d in result.decisions]
    decisions["admits"] = pa.array(admits, pa.list_(pa.bool_()))
    return SystemTables(
        metrics=_table("metrics", title, metrics),
        vms=_table("vms", title, counts),
        decisions=_table("decisions", title, decisions),
        timing={
            "replay_seconds": result.replay_seconds,
            "decide_seconds": result.decide_seconds,
        },
    )


def bound_table(title: str, opt_hits: int) -> pa.Table:
    """Tabulate what no system could hit more than, for one of them."""
    return pa.table([[title], [opt_hits]], schema=SCHEMAS["bounds"])


def _table(name: str, system: str, columns: dict[str, Any]) -> pa.Table:
    system_column = pa.repeat(pa.scalar(system, pa.string()), len(columns["interval"]))
    return in_schema(name, pa.table({"system": system_column} | columns))


def unique_blocks(accesses: engine.Accesses) -> list[int]:
    """Count the blocks that every VM touched after the warm-up."""
    if accesses.warm_up == 0:
        return [vm.unique_blocks for vm in accesses.vms]
    touched = np.zeros(accesses.id_count, dtype=bool)
    touched[accesses.ids[int(accesses.request_begin[accesses.warm_up]) :]] = True
    ids = [slice(vm.first_id, vm.first_id + vm.unique_blocks) for vm in accesses.vms]
    return [int(np.count_nonzero(touched[of_vm])) for of_vm in ids]
