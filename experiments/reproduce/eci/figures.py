"""ECI-Cache: the least sizes by useful reuse distances, and a write policy for each VM (2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mcsim.experiment.experiment import Experiment
from mcsim.figures.declared import Plot
from mcsim.reproduce.catalogue import Check, Figure, Found, in_document
from mcsim.reproduce.context import Context
from mcsim.results.results import Results
from mcsim.results.series import clock_of

from .examples import find_devices, find_distances, find_placement, find_useful
from .measured import Measured, measure

__all__ = ["FIGURES"]

CENTAUR, ECI = "centaur", "eci-cache"

_REWRITES = "VMs of eci16.yaml that write most rewrite three times as far back as they read"
"""The reason why useful distances are shorter than all distances."""

_VOLUMES = "sixteen MSR Cambridge volumes"


def _run(context: Context, file: str, overrides: Sequence[str] = ()) -> Results:
    """Run an experiment; in a sample, scale the minimum allocation of ECI-Cache, too."""
    every = list(overrides)
    if context.quick:
        systems = Experiment.load(context.folder(file), every).spec.systems
        every += [
            f"systems.{index}.min_blocks={context.scaled(system.params['min_blocks'])}"
            for index, system in enumerate(systems)
            if system.params.get("min_blocks")
        ]
    return context.run(file, every)


def _both(results: Results) -> tuple[Measured, Measured]:
    """Return what Centaur and ECI-Cache did."""
    measured = measure(results)
    return measured[CENTAUR], measured[ECI]


def _millions(context: Context, blocks: float) -> float:
    """Return blocks in millions; of a sample, of all that it stands for."""
    return blocks / context.scaled(1_000_000)


def _minutes(results: Results, intervals: Sequence[int]) -> list[int]:
    return [round(i * results.spec.interval.length / 60e9) for i in intervals]


def _gain(value: float, base: float) -> float:
    """Return by how many percent a value is above another."""
    return 100 * (value / base - 1)


def _find_unlimited(context: Context) -> Found:
    """Measure allocation over time with more flash than all requests."""
    results = _run(context, "eci/unlimited.yaml")
    centaur, eci = _both(results)
    share = float(eci.in_all.mean() / centaur.in_all.mean())
    apart = 100 * (eci.read_hits - centaur.read_hits)
    per_cost = _gain(eci.per_block(), centaur.per_block())
    return Found(
        values={
            "centaur peak": _millions(context, centaur.in_all.max()),
            "performance per cost": per_cost,
        },
        checks=[
            Check(
                "ECI-Cache is given less than 0.7 of Centaur's blocks in the mean",
                share < 0.7,
                f"{share:.2f} of {_millions(context, centaur.in_all.mean()):.3f} M",
                construction=_REWRITES,
            ),
            Check(
                "reads hit alike, within 2 points",
                abs(apart) <= 2,
                f"{eci.read_hits:.1%} and {centaur.read_hits:.1%}; of writes, too, {eci.hits:.1%} "
                f"and {centaur.hits:.1%}",
            ),
        ],
        tables={"allocation": _allocation(results), "systems": _systems(results)},
        plots=[*_allocation_plots(results), *_SYSTEM_PLOTS],
        runs=[results],
    )


def _find_limited(context: Context) -> Found:
    """Measure allocation over time with less flash than Centaur requests."""
    results = _run(context, "eci/limited.yaml")
    centaur, eci = _both(results)
    peak = int(eci.in_all.argmax()) + results.spec.warm_up_intervals
    faster = _gain(1 / eci.read_ns[None], 1 / centaur.read_ns[None])
    per_cost = _gain(eci.per_block(), centaur.per_block())
    unmet = ", ".join(f"{minute:,}" for minute in _minutes(results, centaur.infeasible))
    apart = 100 * (eci.read_hits - centaur.read_hits)
    return Found(
        values={
            "centaur peak": _millions(context, centaur.in_all.max()),
            "centaur marks": unmet,
            "eci peak": _millions(context, eci.in_all.max()),
            "eci mark": float(_minutes(results, [peak])[0]),
            "performance": faster,
            "performance per cost": per_cost,
        },
        checks=[
            Check(
                "Centaur asks for more than there is, ECI-Cache never does",
                bool(centaur.infeasible) and not eci.infeasible,
                f"Centaur at {unmet or 'no'} minutes; ECI-Cache {len(eci.infeasible)} times",
                construction="workloads/eci16.yaml places its bursts for it",
            ),
            Check(
                "reads hit at least as often as under Centaur",
                apart >= 0,
                f"{eci.read_hits:.1%} and {centaur.read_hits:.1%}",
                construction="volumes that are read before a mark are read again twice after it",
            ),
        ],
        tables={"allocation": _allocation(results), "systems": _systems(results)},
        plots=_allocation_plots(results),
        runs=[results],
    )


def _allocation(results: Results) -> pa.Table:
    """Tabulate the allocation of each VM by minute, for Centaur and ECI-Cache."""
    rows = []
    for system, of in zip((CENTAUR, ECI), _both(results), strict=True):
        warm_up, measured = results.spec.warm_up_intervals, len(clock_of(results).begin)
        minutes = _minutes(results, range(warm_up, warm_up + measured))
        for minute, blocks in zip(minutes, of.blocks.tolist(), strict=True):
            for vm, given in zip(of.vms, blocks, strict=True):
                rows.append({"system": system, "minute": minute, "vm": vm, "blocks": given})
    return pa.Table.from_pylist(rows)


def _systems(results: Results) -> pa.Table:
    """Summarise every system of the run over all VMs."""
    capacity = results.spec.tiers[0].capacity
    rows, measured = [], measure(results)
    for spec in results.spec.systems:
        of = measured[spec.title]
        # Where nothing is divided every VM may have all.
        blocks = float(np.minimum(of.in_all, capacity).mean())
        rows.append(
            {
                "system": spec.title,
                "mean_blocks": blocks,
                "read_hits": of.read_hits,
                "hits": of.hits,
                "read_us": of.read_ns[None] / 1e3,
                "cache_writes": int(of.writes.sum()),
                "reads_per_s_per_block": 1e9 / of.read_ns[None] / blocks,
            }
        )
    return pa.Table.from_pylist(rows)


def _allocation_plots(results: Results) -> list[Plot]:
    capacity = results.spec.tiers[0].capacity
    axes = "allocation", "minute", "blocks", "Time (min)", "Given (blocks)"
    return [
        Plot(
            "Blocks given to each VM", f"By minute; the cache has {capacity:,} blocks.",
            *axes, "areas", by=["vm"], each=["system"],
        ),
        Plot(
            "Blocks given to all VMs together", "By minute, under both systems.",
            *axes, "steps", by=["system"], sums=True, log_y=True, levels=[(capacity, "capacity")],
        ),
    ]  # fmt: skip


_SYSTEM_PLOTS = [
    Plot(
        "Hit ratio by system", "Of reads, and of all accesses.",
        "systems", "system", {"read_hits": "reads", "hits": "all accesses"},
        "", "Hit ratio (%)", "bars", y_times=100,
    ),
    *(
        Plot(
            title, says, "systems", "system", column, "System", label, "stacked", y_times=times
        )
        for title, says, column, label, times in (
            ("Time of a read by system", "Mean, behind writes.", "read_us", "Mean (ms)", 1e-3),
            ("Blocks in use by system", "Mean over time.", "mean_blocks", "Blocks", 1),
            ("Writes to the cache by system", "Of all VMs.", "cache_writes", "Blocks written", 1),
        )
    ),
]  # fmt: skip

_MULTIPLES = Plot(
    "ECI-Cache by VM, as multiples of Centaur",
    "Reads a second, these by blocks given, and blocks written; 1 is as much as under Centaur.",
    "bars", "vm",
    {"performance": "reads a second", "per_cost": "by blocks given", "writes": "blocks written"},
    "", "Multiple of Centaur", "bars", levels=[(1, "Centaur")],
)  # fmt: skip

_OPEN_PLOTS = [
    Plot(
        title, "By variant of ECI-Cache, with blocks of either size (bytes).",
        "open", "system", column, "", label, "bars", by=["block_bytes"], y_times=times,
    )
    for title, column, label, times in (
        ("Blocks given", "share_of_centaur", "Multiple of Centaur", 1),
        ("Writes saved", "writes_saved", "Of Centaur's (%)", 100),
        ("Faster reads", "faster", "Than under Centaur (%)", 100),
    )
]  # fmt: skip


def _find_bars(context: Context) -> Found:
    """Performance, performance per cost and writes of each VM, against Centaur's."""
    results = _run(context, "eci/limited.yaml")
    table = _bars(results)
    rows = table.to_pylist()
    centaur, eci = _both(results)
    kept = float(eci.writes.sum() / max(centaur.writes.sum(), 1))
    worse = {
        name: [row["vm"] for row in rows if row[name] < 1] for name in ("performance", "per_cost")
    }
    worse["writes"] = [row["vm"] for row in rows if row["writes"] > 1]
    half = len(rows) / 2
    return Found(
        values={
            "performance": _gain(1 / eci.read_ns[None], 1 / centaur.read_ns[None]),
            "performance per cost": _gain(eci.per_block(), centaur.per_block()),
            "writes saved": 100 * (1 - kept),
            "lifetime gained": _gain(1, kept),
        },
        checks=[
            Check(claim, len(worse[name]) < half, f"not {', '.join(worse[name]) or 'one'}", how)
            for name, claim, how in (
                ("performance", "most VMs read faster", ""),
                ("per_cost", "performance per cost is higher for most VMs", _REWRITES),
                ("writes", "most VMs write less to flash", _REWRITES),
            )
        ],
        tables={"bars": table},
        plots=[_MULTIPLES],
        runs=[results],
    )


def _bars(results: Results) -> pa.Table:
    """ECI-Cache by VM, as multiples of Centaur."""
    centaur, eci = _both(results)
    rows = []
    for v, vm in enumerate(eci.vms):
        rows.append(
            {
                "vm": vm,
                "performance": centaur.read_ns[vm] / eci.read_ns[vm],
                "per_cost": eci.per_block(vm) / centaur.per_block(vm),
                "writes": float(eci.writes[v] / max(centaur.writes[v], 1)),
            }
        )
    return pa.Table.from_pylist(rows)


def _find_open(context: Context) -> Found:
    """Vary parameters that the slides omit: threshold of rewrites, least size, block size."""
    small = _run(context, "eci/limited.yaml")
    large = _run(context, "eci/limited.yaml", ["block_bytes=8KiB", *_half(context)])
    rows: list[dict[str, Any]] = []
    for results in (small, large):
        measured = measure(results)
        base = measured[CENTAUR]
        for spec in results.spec.systems:
            if spec.name != ECI:
                continue
            of = measured[spec.title]
            rows.append(
                {
                    "block_bytes": results.spec.block_bytes,
                    "system": spec.title,
                    "share_of_centaur": float(of.in_all.mean() / base.in_all.mean()),
                    "read_hits_apart": of.read_hits - base.read_hits,
                    "faster": base.read_ns[None] / of.read_ns[None] - 1,
                    "writes_saved": float(1 - of.writes.sum() / base.writes.sum()),
                }
            )
    return Found(
        checks=[
            Check(
                "whatever they are, ECI-Cache is given less than Centaur, and writes less",
                all(row["share_of_centaur"] < 1 and row["writes_saved"] > 0 for row in rows),
                f"{min(r['share_of_centaur'] for r in rows):.2f} to "
                f"{max(r['share_of_centaur'] for r in rows):.2f} of the blocks, "
                f"{min(r['writes_saved'] for r in rows):.0%} to "
                f"{max(r['writes_saved'] for r in rows):.0%} of the writes saved",
                construction=_REWRITES,
            )
        ],
        tables={"open": pa.Table.from_pylist(rows)},
        plots=_OPEN_PLOTS,
        runs=[small, large],
    )


def _half(context: Context) -> list[str]:
    """Return the override with half of the blocks, where blocks are twice as large."""
    spec = Experiment.load(context.folder("eci/limited.yaml")).spec
    return [f"tiers.0.capacity={spec.tiers[0].capacity // 2}"]


_COMPARED = ("s-cave", "vcacheshare", CENTAUR, "cloudcache")


def _find_systems(context: Context) -> Found:
    """Check the slide that compares systems: each can be chosen, with its write mode."""
    results = _run(context, "eci/limited.yaml")
    systems = {system.name: system for system in results.spec.systems}
    table = _systems(results)
    return Found(
        values={f"{name} writes": str(systems[name].params["writes"]) for name in _COMPARED},
        checks=[
            Check(
                "all four can be run",
                set(_COMPARED) <= set(systems),
                f"on one workload: {', '.join(_COMPARED)}",
            )
        ],
        tables={"systems": table},
        plots=_SYSTEM_PLOTS,
        runs=[results],
    )


FIGURES = in_document(
    "eci",
    Figure("distances", "All reuse distances: the example", 0.1, 0.1, "nothing", find_distances),
    Figure("useful", "Useful reuse distances: example 3", 0.5, 0.5, "nothing", find_useful),
    Figure("devices", "Drives", 0.1, 0.1, "nothing", find_devices),
    Figure("placement", "Where flash may be", 1, 1, "synthetic", find_placement),
    Figure("unlimited", "Blocks given, flash unlimited", 15, 4, _VOLUMES, _find_unlimited),
    Figure("limited", "Blocks given, flash limited", 15, 4, _VOLUMES, _find_limited),
    Figure("bars", "Performance, cost and writes by VM", 1, 1, _VOLUMES, _find_bars),
    Figure("systems", "Systems compared", 1, 1, _VOLUMES, _find_systems),
    Figure("open", "What the slides leave open", 15, 4, _VOLUMES, _find_open),
)
