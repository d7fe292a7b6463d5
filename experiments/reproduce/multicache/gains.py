"""Figures of the Multi-Cache paper on what the `web` server gains: hits and latency by volume."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.figures.declared import Plot
from mcsim.figures.looks import system_looks
from mcsim.reproduce.catalogue import Check, Found, Value, said, system_of
from mcsim.reproduce.context import Context
from mcsim.results.results import Results
from mcsim.results.series import Series, series_of, vms_of
from mcsim.results.tables import comparison as comparison_table
from mcsim.results.tables import rows_of

from .web import (
    EARLY_HOURS,
    GLOBAL,
    MULTICACHES,
    by_variant,
    claims,
    hours_of,
    web,
)

__all__ = ["find_hit_ratio_by_tier", "find_hit_ratio_over_time", "find_latency"]

_ENOUGH = 100
"""Least number of accesses of an hour with a meaningful hit ratio."""


def find_hit_ratio_over_time(context: Context) -> Found:
    """Figure 10: hit ratio by hour, and of all hours so far."""
    run = web(context)
    systems = [system_of(run, title) for title in (GLOBAL, *MULTICACHES)]
    series = {system.title: series_of(run, system) for system in systems}
    web_1, early = vms_of(run).index("web_1"), hours_of(run) < EARLY_HOURS

    def best(title: str) -> Value:
        of = series[title]
        return _best(of.accesses[early, web_1], of.hit_ratio[early, web_1])

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
        values={"web_1 early": by_variant(best)},
        checks=_checks_so_far(series, web_1, early),
        tables={"hit-ratio": _hits_table(run, series)},
        plots=plots,
        runs=[run],
    )


def _checks_so_far(
    series: Mapping[str, Series], web_1: int, early: NDArray[np.bool_]
) -> list[Check]:
    def drops(title: str) -> tuple[bool, str]:
        so_far = 100 * series[title].cumulative_hit_ratio[:, web_1]
        at_end, of_early = float(so_far[-1]), float(so_far[early][-1])
        return at_end < 10 < of_early, f"{of_early:.1f} %, then {at_end:.1f} %"

    cold = {
        title: 100 * float(np.nan_to_num(of.cumulative_hit_ratio[0]).mean())
        for title, of in series.items()
    }

    def no_better(title: str) -> tuple[bool, str]:
        numbers = {each: cold[each] for each in (GLOBAL, title)}
        return abs(cold[title] - cold[GLOBAL]) < 1, said(numbers) + " %, mean of volumes"

    return [
        *claims(
            f"web_1 hits more than 10 % in {EARLY_HOURS} hours, and less in the whole week",
            drops,
            f"web_1 reads through its volume after hour {EARLY_HOURS}",
        ),
        *claims("in the first hour Multi-Cache is no better than Global LRU", no_better),
    ]


def find_latency(context: Context) -> Found:
    """Figure 11: mean latency by volume."""
    run = web(context)
    rows = rows_of(run)
    latency = {
        title: {vm: rows[title, vm]["mean_latency_ns"] / 1e6 for vm in vms_of(run)}
        for title in (GLOBAL, *MULTICACHES)
    }
    gains = {
        title: {vm: 100 * (ms / latency[GLOBAL][vm] - 1) for vm, ms in of.items()}
        for title, of in latency.items()
    }

    def none_is_worse(title: str) -> tuple[bool, str]:
        return max(gains[title].values()) <= 0.5, _signed(gains[title])

    def web_3_is_lowest(title: str) -> tuple[bool, str]:
        of = latency[title]
        return min(of, key=of.__getitem__) == "web_3", said(of, 2) + " ms"

    def web_0_is_faster(title: str) -> tuple[bool, str]:
        return gains[title]["web_0"] < 0, f"{gains[title]['web_0']:+.1f} %"

    checks = [
        *claims(
            "no volume is slower than under Global LRU by more than half a percent", none_is_worse
        ),
        *claims("web_3 has the lowest latency", web_3_is_lowest),
        *claims("web_0 is faster than under Global LRU", web_0_is_faster),
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
        runs=[run],
    )


def find_hit_ratio_by_tier(context: Context) -> Found:
    """Figure 13: hits by tier."""
    run = web(context)
    rows = rows_of(run)

    def hits(vm: str, tier: int, title: str) -> float:
        return 100 * float(rows[title, vm]["tier_hit_ratio"][tier])

    def more_in_slow(title: str) -> tuple[bool, str]:
        fast, slow = (hits("web_0", tier, title) for tier in (0, 1))
        return slow > fast, f"{fast:.1f} % fast, {slow:.1f} % slow"

    def fast_alone(title: str) -> tuple[bool, str]:
        fast, slow = (hits("web_3", tier, title) for tier in (0, 1))
        return slow <= 0.05 * (fast + slow), f"{fast:.1f} % fast, {slow:.2f} % slow"

    checks = [
        *claims("web_0 hits more in the slow tier than in the fast", more_in_slow),
        *claims("at most 5 % of the hits of web_3 are in the slow tier", fast_alone),
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
        for title in (GLOBAL, *MULTICACHES)
    ]  # fmt: skip
    return Found(
        values={
            f"{vm} {tier_name}": by_variant(partial(hits, vm, tier))
            for vm, tier, tier_name in (
                ("web_0", 0, "fast"),
                ("web_0", 1, "slow"),
                ("web_3", 0, "fast"),
            )
        },
        checks=checks,
        tables={"comparison": comparison_table(run)},
        plots=plots,
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
