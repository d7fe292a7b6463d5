"""Figures of the Multi-Cache paper that show one week of the `web` server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.figures.declared import Plot
from mcsim.figures.looks import vm_looks
from mcsim.reproduce.catalogue import Check, Found, said, system_of
from mcsim.reproduce.context import QUICK_SHARE, Context
from mcsim.results.results import Results
from mcsim.results.series import clock_of, curve_of, divides, series_of, vms_of

__all__ = [
    "CODED",
    "EARLY_HOURS",
    "GLOBAL",
    "GLOBAL_CODED",
    "HISTORY",
    "MULTICACHES",
    "PRINTED",
    "STATIC",
    "by_variant",
    "claims",
    "find_curves",
    "find_granted_over_time",
    "find_intensity",
    "find_occupancy_over_time",
    "find_shares",
    "hours_of",
    "web",
]

GLOBAL, GLOBAL_CODED, STATIC = "Global LRU", "Global LRU as coded", "Static"
HISTORY, PRINTED, CODED = (
    "Multi-Cache with history",
    "Multi-Cache as printed",
    "Multi-Cache as coded",
)
MULTICACHES = (HISTORY, PRINTED, CODED)

_Measured = TypeVar("_Measured")

EARLY_HOURS = 30
_HOUR = 3600 * 10**9
_SPIKE = 0.3  # of reuse intensity


def web(context: Context) -> Results:
    """Return the run of the `web` server."""
    return context.run("multicache/web.yaml")


def by_variant(measure: Callable[[str], _Measured]) -> dict[str, _Measured]:
    """Return a measurement of each Multi-Cache, given its title, by the name of the variant."""
    return {title.removeprefix("Multi-Cache "): measure(title) for title in MULTICACHES}


def claims(
    claim: str, judge: Callable[[str], tuple[bool, str]], construction: str = ""
) -> list[Check]:
    """Return a claim about each Multi-Cache.

    Given the title of a Multi-Cache, `judge` returns whether the claim holds, and the numbers.
    """
    return [
        Check(f"{claim}: {variant}", holds, detail, construction)
        for variant, (holds, detail) in by_variant(judge).items()
    ]


def find_intensity(context: Context) -> Found:
    """Figure 4: reuse intensity over time."""
    run = web(context)
    table = run.table("reuse_intensity")
    spikes, medians = {}, {}
    for vm in vms_of(run):
        windows = table.filter(pc.equal(table["vm"], vm))["reuse_intensity"].to_numpy()
        spikes[vm] = 100 * float(np.mean(windows > _SPIKE)) if len(windows) else 0.0
        medians[vm] = float(np.median(windows)) if len(windows) else 0.0
    plots = [
        Plot(
            "Reuse intensity over time",
            "1 − distinct / all blocks of each window, by volume.",
            "reuse-intensity", "window_end_ns", "reuse_intensity",
            "Time (h)", "Reuse intensity", by=["vm"], x_times=1 / _HOUR, looks=vm_looks(run),
        )
    ]  # fmt: skip
    return Found(
        values={f"{vm} median": median for vm, median in medians.items()},
        checks=_checks_of_intensity(spikes, medians),
        tables={"reuse-intensity": table},
        plots=plots,
        runs=[run],
    )


def _checks_of_intensity(spikes: Mapping[str, float], medians: Mapping[str, float]) -> list[Check]:
    quiet = max(spikes["web_2"], spikes["web_3"])
    return [
        Check(
            f"web_0 has spikes: at least 0.5 % of its windows are above {_SPIKE}",
            spikes["web_0"] >= 0.5,
            said(spikes, 2) + " % of windows",
            construction="workloads/web.yaml has bursts of web_0 for this figure",
        ),
        Check(
            "web_1 has some, but fewer; web_2 and web_3 have none",
            0 < spikes["web_1"] < spikes["web_0"] and quiet == 0,
            said(spikes, 2) + " % of windows",
            construction="workloads/web.yaml has fewer bursts of web_1 for this figure",
        ),
        Check(
            "usually hardly anything is read again: the medians are at most 0.01",
            max(medians.values()) <= 0.01,
            said(medians, 4),
        ),
    ]


def find_curves(context: Context) -> Found:
    """Figure 7: hit ratio curves of the week."""
    run = web(context)
    unit = QUICK_SHARE if context.quick else 1.0  # of a block of the whole week
    curve = {vm: curve_of(run, vm) for vm in vms_of(run)}
    web_2 = curve["web_2"]
    half = float(web_2.capacity[np.argmax(web_2.ratio >= web_2.ratio.max() / 2)]) / unit
    small = {vm: 100 * of.at(250_000 * unit) for vm, of in curve.items()}
    most = 100 * float(curve["web_1"].ratio.max())
    checks = [
        Check(
            "web_0 and web_3 hit more than the others in 250,000 blocks",
            min(small["web_0"], small["web_3"]) > max(small["web_1"], small["web_2"]),
            said(small) + " %",
            construction="the curves of workloads/web.yaml have the shapes of this figure",
        ),
    ]
    plots = [
        Plot(
            "Hit ratio curves",
            "What LRU hits of the week of each volume, with a cache of each size to itself.",
            "curves", "capacity", "hits", "Capacity (blocks)", "Hit ratio (%)",
            by=["vm"], over="accesses", y_times=100, log_x=True, marks=_tier_ends(run),
            looks=vm_looks(run),
        )
    ]  # fmt: skip
    return Found(
        values={"web_1 at most": most, "web_2 half": half / 1e6},
        checks=checks,
        tables={"curves": run.table("curves")},
        plots=plots,
        runs=[run],
    )


def find_occupancy_over_time(context: Context) -> Found:
    """Figure 8: what the volumes hold under Global LRU."""
    run = web(context)
    system = system_of(run, GLOBAL)
    capacity = [tier.capacity for tier in run.spec.tiers]
    held = 100 * series_of(run, system).occupancy / capacity
    fast, slow = (_by_vm(run, np.median(held[:, :, k], axis=0)) for k in (0, 1))
    checks = [
        Check(
            "web_2 floods the fast tier at times",
            float(held[:, vms_of(run).index("web_2"), 0].max()) > 80,
            f"at most {held[:, vms_of(run).index('web_2'), 0].max():.0f} % of it",
            construction="web_2 reads in bursts of three hours a day for this figure",
        ),
        *_checks_of_means(run),
    ]
    return Found(
        values={"web_0 fast": fast["web_0"], "web_2 slow": slow["web_2"]},
        checks=checks,
        tables={"occupancy": _blocks_table(run, (GLOBAL,))},
        plots=_block_plots(run, "occupancy", "occupancy", "Blocks held", (GLOBAL,)),
        runs=[run],
    )


def _checks_of_means(run: Results) -> list[Check]:
    """Check the claims of figure 8 by means over time, beside its medians."""
    mean = _held(run, GLOBAL)
    numbers = "; ".join(said(of) + " %" for of in mean)
    claims = {
        "web_0 has most of the fast tier also in the mean over time: at least half": (
            mean[0]["web_0"] >= 50
        ),
        "a large portion of both tiers is web_2's: at least a quarter in the mean": (
            min(of["web_2"] for of in mean) >= 25
        ),
        "the other disks, web_1 and web_3, receive almost no space: under a tenth in the mean": (
            max(of["web_1"] + of["web_3"] for of in mean) < 10
        ),
    }
    return [Check(claim, holds, numbers) for claim, holds in claims.items()]


def find_granted_over_time(context: Context) -> Found:
    """Figure 9: what Multi-Cache grants the volumes."""
    run = web(context)
    return Found(
        checks=_checks_of_targets(run),
        tables={"targets": _blocks_table(run, MULTICACHES)},
        plots=_block_plots(run, "targets", "target", "Blocks granted", MULTICACHES),
        runs=[run],
    )


def _checks_of_targets(run: Results) -> list[Check]:
    """Check the claims of figure 9 for each Multi-Cache."""
    hours = hours_of(run)
    web_1 = vms_of(run).index("web_1")
    share = {title: _granted(run, title) for title in MULTICACHES}
    mean = {title: _fast_and_slow(run, title) for title in MULTICACHES}

    def least(title: str) -> tuple[bool, str]:
        return all(of["web_2"] < 15 for of in mean[title]), shares(title)

    def holds_least(title: str) -> tuple[bool, str]:
        held = _held(run, title)
        numbers = "; ".join(said(of) + " %" for of in held)
        return all(of["web_2"] < 15 for of in held), numbers

    def both(title: str) -> tuple[bool, str]:
        return all(of["web_0"] + of["web_1"] > 50 for of in mean[title]), shares(title)

    def most(title: str) -> tuple[bool, str]:
        return all(max(of, key=of.__getitem__) == "web_0" for of in mean[title]), shares(title)

    def shares(title: str) -> str:
        return "; ".join(said(of) + " %" for of in mean[title])

    def falls(title: str) -> tuple[bool, str]:
        of = share[title][:, web_1, :]
        early = of[(hours > 0) & (hours < EARLY_HOURS)].mean(axis=0)
        late = of[hours >= EARLY_HOURS].mean(axis=0)
        numbers = (
            f"{tier} {before:.1f} to {after:.1f} %"
            for tier, before, after in zip(("fast", "slow"), early, late, strict=True)
        )
        return bool((late < early).all()), ", ".join(numbers)

    return [
        *claims("web_2 is granted least: less than 15 % of each tier", least),
        *claims("web_2 holds less than 15 % of each tier", holds_least),
        *claims("web_0 is granted most of each tier", most),
        *claims("most of each tier is granted to web_0 and web_1", both),
        *claims(f"web_1 is granted less after hour {EARLY_HOURS}", falls),
    ]


_SHARES: Mapping[str, Callable[[Mapping[str, float], Mapping[str, float]], float]] = {
    "web_0 fast": lambda fast, slow: fast["web_0"],
    "web_0 slow": lambda fast, slow: slow["web_0"],
    "web_3 fast": lambda fast, slow: fast["web_3"],
    "web_1 and web_2 fast": lambda fast, slow: fast["web_1"] + fast["web_2"],
}
"""Published items of figure 12, from the shares of the fast and the slow tier by VM."""


def _holds_its_grants(run: Results) -> Callable[[str], tuple[bool, str]]:
    def judge(title: str) -> tuple[bool, str]:
        granted, held = _fast_and_slow(run, title), _held(run, title)
        gaps = [
            (abs(has[vm] - gets[vm]), f"{vm}: granted {gets[vm]:.1f} %, held {has[vm]:.1f} %")
            for gets, has in zip(granted, held, strict=True)
            for vm in gets
        ]
        gap, numbers = max(gaps)
        return gap <= 10, numbers

    return judge


def find_shares(context: Context) -> Found:
    """Figure 12: mean shares of the tiers: granted by Multi-Cache, held under Global LRU."""
    run = web(context)
    granted = by_variant(lambda title: _fast_and_slow(run, title))
    held = _held(run, GLOBAL)
    measured = {
        item: {variant: measure(*of) for variant, of in granted.items()}
        for item, measure in _SHARES.items()
    }
    checks = [
        Check(
            "under Global LRU web_2 holds more of the slow tier than all others",
            held[1]["web_2"] > 50,
            said(held[1], 0) + " %",
        ),
        *claims("what volumes hold is within 10 points of what is granted", _holds_its_grants(run)),
    ]
    return Found(
        values=measured,
        checks=checks,
        tables={"shares": _share_table(run)},
        plots=_share_plots(run),
        runs=[run],
    )


def _fast_and_slow(run: Results, title: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the mean share of each tier that a system grants, in percent by VM."""
    fast, slow = _granted(run, title).mean(axis=0).T
    return _by_vm(run, fast), _by_vm(run, slow)


def _held(run: Results, title: str) -> list[dict[str, float]]:
    """Return the mean share of each tier that volumes hold under a system, in percent by VM."""
    capacity = [tier.capacity for tier in run.spec.tiers]
    share = 100 * series_of(run, system_of(run, title)).occupancy.mean(axis=0) / capacity
    return [_by_vm(run, share[:, k]) for k in range(len(capacity))]


def _granted(run: Results, title: str) -> NDArray[np.float64]:
    """Return what a system grants, in percent of each tier; shape (intervals, vms, tiers)."""
    capacity = [tier.capacity for tier in run.spec.tiers]
    share: NDArray[np.float64] = 100 * series_of(run, system_of(run, title)).target / capacity
    return share


def hours_of(run: Results) -> NDArray[np.float64]:
    """Return when the intervals begin, in hours since the first."""
    begin = clock_of(run).begin
    hours: NDArray[np.float64] = (begin - begin[0]) / _HOUR
    return hours


def _by_vm(run: Results, values: NDArray[np.floating]) -> dict[str, float]:
    return dict(zip(vms_of(run), map(float, values), strict=True))


def _blocks_table(run: Results, titles: tuple[str, ...]) -> pa.Table:
    metrics = run.measured("metrics")
    chosen = metrics.filter(pc.is_in(metrics["system"], pa.array(titles)))
    return chosen.select(["system", "interval", "vm", "tier", "occupancy", "target"])


def _tier_ends(run: Results) -> list[tuple[int, str]]:
    """Return where the tiers end that are laid one upon another, in blocks, with their names."""
    ends = np.cumsum([tier.capacity for tier in run.spec.tiers]).tolist()
    return [
        (end, f"{'+ ' if k else ''}{tier.device}")
        for k, (end, tier) in enumerate(zip(ends, run.spec.tiers, strict=True))
    ]


def _block_plots(
    run: Results, table: str, column: str, called: str, titles: tuple[str, ...]
) -> list[Plot]:
    """Return plots of blocks over hours, stacked by volume: one a system and tier."""
    return [
        Plot(
            f"{called}: {title}, {tier.device}",
            f"By volume and hour; the tier has {tier.capacity:,} blocks.",
            table, "interval", column, "Time (h)", f"{called} (blocks)", "areas",
            by=["vm"], only={"system": title, "tier": k}, looks=vm_looks(run),
        )
        for title in titles
        for k, tier in enumerate(run.spec.tiers)
    ]  # fmt: skip


def _share_plots(run: Results) -> list[Plot]:
    """Return plots of mean shares by system and volume: one a tier and kind of share."""
    return [
        Plot(
            f"{called} of {tier.device}", "Mean over the week, by volume, under every system.",
            "shares", "system", column, "System", f"{called} (%)", "stacked",
            by=["vm"], only={"tier": k}, y_times=100, looks=vm_looks(run),
        )
        for column, called in (("granted", "Share granted"), ("held", "Share held"))
        for k, tier in enumerate(run.spec.tiers)
    ]  # fmt: skip


def _share_table(run: Results) -> pa.Table:
    rows = []
    for system in run.spec.systems:
        of, granted = series_of(run, system), divides(run, system)
        for v, vm in enumerate(vms_of(run)):
            for k, tier in enumerate(run.spec.tiers[: of.target.shape[2]]):
                rows.append(
                    {
                        "system": system.title,
                        "vm": vm,
                        "tier": k,
                        "granted": float(of.target[:, v, k].mean() / tier.capacity)
                        if granted
                        else None,
                        "held": float(of.occupancy[:, v, k].mean() / tier.capacity),
                    }
                )
    return pa.Table.from_pylist(rows)
