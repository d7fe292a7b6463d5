"""Figures of the Multi-Cache paper on what the `web` server gains: hits and latency by volume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.figures import comparison, timeline
from mcsim.figures.looks import system_looks
from mcsim.report.declared import Plot
from mcsim.reproduce.context import Context
from mcsim.reproduce.drawing import drawing
from mcsim.reproduce.figure import Check, Found
from mcsim.reproduce.multicache_web import (
    BY_HISTORY,
    EARLY_HOURS,
    GLOBAL,
    HISTORY,
    MULTICACHES,
    hours_of,
    web,
)
from mcsim.reproduce.readings import said, system_of
from mcsim.results.results import Results
from mcsim.results.series import Series, series_of, vms_of
from mcsim.results.tables import comparison as comparison_table
from mcsim.results.tables import rows_of

__all__ = ["find_hit_ratio_by_tier", "find_hit_ratio_over_time", "find_latency"]

_ENOUGH = 100
"""Accesses of an hour whose hit ratio says something."""


def find_hit_ratio_over_time(context: Context) -> Found:
    """Figure 10: hit ratio by hour, and of all hours so far."""
    run = web(context)
    systems = [system_of(run, title) for title in (GLOBAL, *MULTICACHES)]
    series = {system.title: series_of(run, system) for system in systems}
    web_1, early = vms_of(run).index("web_1"), hours_of(run) < EARLY_HOURS
    of = series[HISTORY]
    best = _best(of.accesses[early, web_1], of.hit_ratio[early, web_1])
    plots = [
        Plot(
            title, says, "hit-ratio", "hour", column, "Time (h)", "Hit ratio (%)", "steps",
            by=["system"], each=["vm"], y_times=100, looks=system_looks(run.spec.systems),
        )
        for title, column, says in (
            ("Hit ratio by hour", "hit_ratio", "Hits of each hour's accesses."),
            ("Hit ratio so far", "so_far", "Hits of all accesses from the first hour on."),
        )
    ]  # fmt: skip
    return Found(
        values={"web_1 early": best},
        checks=list(_check_so_far(series, web_1, early)),
        tables={"hit-ratio": _hits_table(run, series)},
        plots=plots,
        draw=drawing(
            {
                "hit-ratio-by-hour": (
                    "Hit ratio over time",
                    lambda: timeline.hit_ratio_over_time(run, systems),
                ),
                "hit-ratio-so-far": (
                    "Hit ratio over time",
                    lambda: timeline.hit_ratio_over_time(run, systems, cumulative=True),
                ),
            },
            notes=[
                BY_HISTORY,
                "The authors' code never clears its counts: theirs is the ratio so far.",
            ],
        ),
        runs=[run],
    )


def _check_so_far(
    series: Mapping[str, Series], web_1: int, early: NDArray[np.bool_]
) -> Iterator[Check]:
    so_far = 100 * series[HISTORY].cumulative_hit_ratio[:, web_1]
    at_end, of_early = float(so_far[-1]), float(so_far[early][-1])
    yield Check(
        "then it drops: of the whole week less than 10 %",
        at_end < 10 < of_early,
        f"of the first {EARLY_HOURS} hours {of_early:.1f} %, of the week {at_end:.1f} %",
        construction=f"web_1 reads through its volume after hour {EARLY_HOURS}",
    )
    cold = {
        title: 100 * float(np.nan_to_num(series[title].cumulative_hit_ratio[0]).mean())
        for title in (GLOBAL, HISTORY)
    }
    yield Check(
        "while the caches are cold, Multi-Cache is no better than Global LRU",
        abs(cold[HISTORY] - cold[GLOBAL]) < 1,
        said(cold) + " % in the first hour, mean of volumes",
    )


def find_latency(context: Context) -> Found:
    """Figure 11: mean latency by volume."""
    run = web(context)
    rows = rows_of(run)
    vms = vms_of(run)
    gains = {
        vm: 100 * (rows[HISTORY, vm]["mean_latency_ns"] / rows[GLOBAL, vm]["mean_latency_ns"] - 1)
        for vm in vms
    }
    latency = {vm: rows[HISTORY, vm]["mean_latency_ns"] / 1e6 for vm in vms}
    checks = [
        Check(
            "no volume is slower than under Global LRU by more than half a percent",
            max(gains.values()) <= 0.5,
            _signed(gains),
        ),
        Check(
            "web_3 has the lowest latency",
            min(latency, key=latency.__getitem__) == "web_3",
            said(latency, 2) + " ms",
        ),
        Check("web_0 is faster than under Global LRU", gains["web_0"] < 0, _signed(gains)),
    ]
    plots = [
        Plot(
            "Mean latency by volume",
            "What accesses of each volume wait for in the mean, under every system.",
            "latency", "vm", "mean_latency_ns", "", "Mean latency (ms)", "bars",
            by=["system"], y_times=1e-6, looks=system_looks(run.spec.systems),
        )
    ]  # fmt: skip
    return Found(
        checks=checks,
        tables={"latency": comparison_table(run)},
        plots=plots,
        draw=drawing(
            {"latency": ("Mean latency by volume", lambda: comparison.latency_by_vm(run))},
            notes=[BY_HISTORY],
        ),
        runs=[run],
    )


def find_hit_ratio_by_tier(context: Context) -> Found:
    """Figure 13: hits by tier."""
    run = web(context)
    rows = rows_of(run)
    by_tier = {vm: [100 * r for r in rows[HISTORY, vm]["tier_hit_ratio"]] for vm in vms_of(run)}
    fast, slow = by_tier["web_0"]
    checks = [
        Check(
            "web_0 hits more in the slow tier than in the fast",
            slow > fast,
            f"{fast:.1f} % fast, {slow:.1f} % slow",
        ),
        Check(
            "web_3 hits in the fast tier alone: less than 1 % in the slow",
            by_tier["web_3"][1] < 1 < by_tier["web_3"][0],
            f"{by_tier['web_3'][0]:.1f} % fast, {by_tier['web_3'][1]:.2f} % slow",
        ),
    ]
    plots = [
        Plot(
            "Hit ratio by tier",
            "What each tier hits of a volume's accesses.",
            "comparison", "vm",
            {f"tier_hit_ratio.{k}": tier.device for k, tier in enumerate(run.spec.tiers)},
            "Volume", "Hit ratio (%)", "stacked",
            each=["system"], only={"system": title}, y_times=100,
        )
        for title in (HISTORY, GLOBAL)
    ]  # fmt: skip
    return Found(
        values={
            "web_0 fast": fast,
            "web_0 slow": slow,
            "web_3 fast": by_tier["web_3"][0],
            "web_3 slow": by_tier["web_3"][1],
        },
        checks=checks,
        tables={"comparison": comparison_table(run)},
        plots=plots,
        draw=drawing(
            {"hit-ratio-by-tier": ("Hit ratio by tier", lambda: comparison.hit_ratio_by_tier(run))},
            notes=[BY_HISTORY],
        ),
        runs=[run],
    )


def _best(accesses: NDArray[np.int64], ratio: NDArray[np.float64]) -> float | str:
    """Return the highest ratio in percent, or why there is none: too few accesses."""
    enough = accesses >= _ENOUGH
    if not enough.any():
        return f"no hour of the sample has {_ENOUGH} accesses"
    return 100 * float(ratio[enough].max())


def _signed(gains: Mapping[str, float]) -> str:
    return ", ".join(f"{vm} {gain:+.1f} %" for vm, gain in gains.items())


def _hits_table(run: Results, series: Mapping[str, Series]) -> pa.Table:
    hours = hours_of(run).tolist()
    return pa.Table.from_pylist(
        [
            {"system": title, "hour": hour, "vm": vm, "hit_ratio": ratio, "so_far": so_far}
            for title, of in series.items()
            for v, vm in enumerate(vms_of(run))
            for hour, ratio, so_far in zip(
                hours,
                of.hit_ratio[:, v].tolist(),
                of.cumulative_hit_ratio[:, v].tolist(),
                strict=True,
            )
        ]
    )
