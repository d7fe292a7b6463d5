"""Figures of the Multi-Cache paper that explain: curves, how tiers cut them, what a scan does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcsim.figures.declared import Plot
from mcsim.figures.looks import system_looks
from mcsim.reproduce.catalogue import Check, Found, said, system_of
from mcsim.reproduce.context import Context
from mcsim.results.results import Results
from mcsim.results.series import curve_of, series_of, vms_of
from mcsim.results.tables import rows_of

from .web import GLOBAL, STATIC, claims

__all__ = ["find_curve", "find_scan", "find_split"]

_EXAMPLE_BLOCKS = 200_000
_PARTS = {"A": (1_000_000, 2_000_000), "B": (500_000, 1_000_000)}
"""Blocks of the fast and of the slow tier."""

_BEGINS = 8
"""The hour at which the job begins to scan."""


def _alone(vm: str, blocks: tuple[int, ...], context: Context) -> Results:
    """Run one of the machines alone on two tiers."""
    tiers = [f"tiers.{k}.capacity={size}" for k, size in enumerate(blocks)]
    return context.run("multicache/split.yaml", [f"workload.vms=[{vm}]", *tiers])


def _curve_plot(run: Results, vm: str, table: str) -> Plot:
    """Return the plot of a machine's curve, with the places where tiers end."""
    ends = np.cumsum([tier.capacity for tier in run.spec.tiers])
    return Plot(
        f"Hit ratio curve of {vm}",
        "What LRU hits of all accesses, in a cache of each size.",
        table, "capacity", "hits", "Capacity (blocks)", "Hit ratio (%)",
        by=["vm"], only={"vm": vm}, over="accesses", y_times=100,
        marks=[(int(end), f"end of tier {k}") for k, end in enumerate(ends, 1)],
    )  # fmt: skip


_SPLIT = Plot(
    "Hits of each tier",
    "What each of two tiers hits of a machine's accesses.",
    "split", "vm", {"tier_hit_ratio.0": "fast tier", "tier_hit_ratio.1": "slow tier"},
    "Machine", "Hit ratio (%)", "stacked", y_times=100,
)  # fmt: skip


def find_curve(context: Context) -> Found:
    """Figure 1: a hit ratio curve, and how to read it."""
    run = _alone("example", (_EXAMPLE_BLOCKS, _EXAMPLE_BLOCKS), context)
    curve = curve_of(run, "example")
    hits = 100 * curve.at(run.spec.tiers[0].capacity)
    replayed = 100 * rows_of(run)["Global LRU", "example"]["tier_hit_ratio"][0]
    checks = [
        Check(
            "a larger cache hits no less",
            bool((np.diff(curve.ratio) >= 0).all()),
            f"{len(curve.ratio):,} sizes",
        ),
        Check(
            "a replay hits what the curve says",
            abs(hits - replayed) < 1e-9,
            f"{replayed:.2f} % replayed",
        ),
    ]
    return Found(
        values={"hits": hits},
        checks=checks,
        tables={"curve": run.table("curves")},
        plots=[_curve_plot(run, "example", "curve")],
        runs=[run],
    )


def find_split(context: Context) -> Found:
    """Figure 5: what each of two tiers hits, read off the curve."""
    runs = {vm: _alone(vm, blocks, context) for vm, blocks in _PARTS.items()}
    values: dict[str, float] = {}
    agree, rows = [], []
    for vm, run in runs.items():
        fast, slow = (tier.capacity for tier in run.spec.tiers)
        row = rows_of(run)["Global LRU", vm]
        table = run.table("curves")
        at = {
            capacity: table.filter(pc.equal(table["capacity"], capacity))["hits"][0].as_py()
            for capacity in (fast, fast + slow)
        }
        agree.append(row["tier_hits"] == [at[fast], at[fast + slow] - at[fast]])
        values |= {
            f"{vm} fast": 100 * row["tier_hit_ratio"][0],
            f"{vm} total": 100 * row["hit_ratio"],
        }
        rows.append({"vm": vm, "fast": fast, "slow": slow, "curve": list(at.values()), **row})
    checks = [
        Check(
            "each tier hits exactly what the curve rises by over it",
            all(agree),
            "; ".join(
                f"{row['vm']} {row['tier_hits'][0]:,} and {row['tier_hits'][1]:,}" for row in rows
            ),
        ),
        Check(
            "A hits more than B in either tier",
            values["A fast"] > values["B fast"]
            and values["A total"] - values["A fast"] > values["B total"] - values["B fast"],
            ", ".join(f"{name} {value:.1f} %" for name, value in values.items()),
            construction="workloads/two-curves.yaml goes through these points",
        ),
    ]
    both = list(runs.values())
    return Found(
        values=values,
        checks=checks,
        tables={
            "split": pa.Table.from_pylist(rows),
            "curves": pa.concat_tables([run.table("curves") for run in both]),
        },
        plots=[*(_curve_plot(run, vm, "curves") for vm, run in runs.items()), _SPLIT],
        runs=both,
    )


def find_scan(context: Context) -> Found:
    """Figure 2: a terminal server alone, and with a scanning job."""
    alone = context.run("multicache/terminal.yaml", ["workload.vms=[ts]", "systems=[lru]"])
    beside = context.run("multicache/terminal.yaml")
    before = _later(alone, "lru", "ts")
    after = {system.title: _later(beside, system.title, "ts") for system in beside.spec.systems}
    tera = _later(beside, GLOBAL, "tera")
    checks = [
        *claims(
            "Multi-Cache gives the server back at least 70 %",
            lambda title: (
                after[title] >= 70,
                said({each: after[each] for each in (title, STATIC)}),
            ),
        ),
    ]
    plots = [
        Plot(
            "Hit ratio over time",
            f"By hour, alone and beside a job that begins to scan in hour {_BEGINS}.",
            "hit-ratio", "hour", "hit_ratio", "Time (h)", "Hit ratio (%)", "steps",
            by=["case"], each=["vm"], y_times=100, marks=[(_BEGINS, "the job begins")],
            looks=system_looks(beside.spec.systems),
        )
    ]  # fmt: skip
    return Found(
        values={"alone": before, "beside": after[GLOBAL], "job": tera},
        checks=checks,
        tables={"hit-ratio": _by_hour(alone, beside)},
        plots=plots,
        runs=[beside],
        ran=[alone.run_id, beside.run_id],
    )


def _later(run: Results, title: str, vm: str) -> float:
    """Return the hit ratio from the hour on in which the job has begun, in percent."""
    series, v = series_of(run, system_of(run, title)), vms_of(run).index(vm)
    hits = series.hits[_BEGINS + 1 :, v].sum()
    return 100 * float(hits / series.accesses[_BEGINS + 1 :, v].sum())


def _by_hour(alone: Results, beside: Results) -> pa.Table:
    rows = []
    for run in (alone, beside):
        for system in run.spec.systems:
            ratio = series_of(run, system).hit_ratio
            for v, vm in enumerate(vms_of(run)):
                case = "alone" if run is alone else system.title
                rows += [
                    {"case": case, "vm": vm, "hour": hour, "hit_ratio": float(value)}
                    for hour, value in enumerate(ratio[:, v])
                ]
    return pa.Table.from_pylist(rows)
