"""The charts of one run: hits, curves, occupancy and waiting, by system and by VM."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from mcsim.base.units import format_latency
from mcsim.config.spec import SystemSpec
from mcsim.figures.looks import Look, looks_of, system_looks, vm_looks
from mcsim.report.charts import Chart, Series, thinned, whole_intervals
from mcsim.results.loads import device_titles
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    baseline,
    clock_of,
    curve_of,
    leading,
    series_of,
    vms_of,
)
from mcsim.results.tables import ALL, comparison

__all__ = ["MOST_VMS", "charts_of", "occupancy_charts", "over_time", "vm_charts"]

MOST_VMS = 24
"""That are shown one by one."""

_MOST_BARS = 12  # of a group

_Rows = Mapping[tuple[str, str | None], Mapping[str, Any]]


def charts_of(results: Results) -> list[Chart]:
    """Return the charts of a run as a whole."""
    few = len(vms_of(results)) <= MOST_VMS
    rows: _Rows = {
        (row["system"], row["vm"]): row for row in comparison(results, by_vm=few).to_pylist()
    }
    vms = [*(vms_of(results) if few else ()), None]
    charts = [_hit_ratio(results, rows, vms), _by_tier(results, rows)]
    charts.append(over_time(results))
    if few:
        charts.append(_curves(results))
    charts.append(_latency(results, rows, vms))
    if few and len(results.measured("reuse_intensity")):
        charts.append(_reuse_intensity(results))
    return charts


def _hit_ratio(results: Results, rows: _Rows, vms: Sequence[str | None]) -> Chart:
    looks = system_looks(results.spec.systems)
    whole = {title: 100 * rows[title, None]["hit_ratio"] for title in looks}
    said = _extremes(results, whole, looks, "hits most", "least", "{:.2f} %")
    says = f"Over all VMs, {said}." if said else "By VM and system."
    return _by_group("Hit ratio", says, rows, looks, vms, "hit_ratio", 100, "Hit ratio (%)")


def _latency(results: Results, rows: _Rows, vms: Sequence[str | None]) -> Chart:
    looks = system_looks(results.spec.systems)
    whole = {title: -(rows[title, None]["mean_latency_ns"] or 0) for title in looks}
    said = _extremes(
        results, whole, looks, "waits least", "longest", lambda ns: format_latency(-ns)
    )
    says = f"Mean over all accesses of what a VM waited for{said and f'; over all VMs, {said}'}."
    label = "Mean latency (ms)"
    return _by_group("Latency", says, rows, looks, vms, "mean_latency_ns", 1e-6, label)


def _extremes(
    results: Results,
    values: Mapping[str, float],
    looks: Mapping[str, Look],
    most: str,
    least: str,
    show: Any,
) -> str:
    """Name the realisable systems with the largest and the smallest value; empty if none is."""
    write = show.format if isinstance(show, str) else show
    values = {title: value for title, value in values.items() if title not in results.foresight}
    if not values:
        return ""
    first, last = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    said = f"{looks[first].label} {most} ({write(values[first])})"
    if values[first] == values[last]:
        return said if len(values) == 1 else f"all systems are alike ({write(values[first])})"
    return f"{said}, {looks[last].label} {least} ({write(values[last])})"


def _by_group(
    title: str, says: str, rows: _Rows, looks: Mapping[str, Look], vms: Sequence[str | None],
    column: str, scale: float, label: str,
) -> Chart:  # fmt: skip
    """Show a number by VM and system: bars, or of many systems that of all VMs alone."""
    if len(looks) > _MOST_BARS:
        values = np.array([scale * (rows[system, None][column] or 0) for system in looks])
        names = [look.label for look in looks.values()]
        one = Series(looks_of([ALL])[ALL], values)
        return Chart(f"{title} of {ALL}", says, "stacked", names, [one], label, "System")
    series = [
        Series(look, np.array([scale * (rows[system, vm][column] or 0) for vm in vms], float))
        for system, look in looks.items()
    ]
    return Chart(title, says, "bars", [vm or ALL for vm in vms], series, "", label)


def _by_tier(results: Results, rows: _Rows) -> Chart:
    looks = system_looks(results.spec.systems)
    tiers = device_titles(results.spec)[:-1]
    shares = [rows[title, None]["tier_hit_ratio"] for title in looks]
    series = [
        Series(look, np.array([100 * s[k] if k < len(s) else np.nan for s in shares]))
        for k, look in enumerate(looks_of(tiers).values())
    ]
    says = (
        "The hit ratio of all VMs together, divided by the tier that hit. A system that counts "
        f"one tier has all space as {tiers[0]}."
    )
    names = [look.label for look in looks.values()]
    return Chart("Hits by tier", says, "stacked", names, series, "Hit ratio (%)", "System")


def over_time(results: Results, vm: int | None = None) -> Chart:
    """Return the hit ratio by interval, of all VMs or of one, by system."""
    clock = clock_of(results)
    name = ALL if vm is None else vms_of(results)[vm]
    series, means = [], {}
    looks = system_looks(results.spec.systems)
    for system in results.spec.systems:
        counts = series_of(results, system)
        which = slice(None) if vm is None else [vm]
        hits = counts.all_hits[:, which].sum(axis=1)
        accesses = counts.accesses[:, which].sum(axis=1)
        ratio = np.full(len(hits), np.nan)
        np.divide(100 * hits, accesses, out=ratio, where=accesses > 0)
        series.append(Series(looks[system.title], ratio))
        means[system.title] = float(np.nanmean(ratio)) if accesses.any() else 0.0
    said = _extremes(results, means, looks, "hits most", "least", "{:.2f} %")
    of_means = said and f"; in the mean of intervals, {said}"
    says = f"The share of accesses that hit, by interval{of_means}."
    x, series = whole_intervals(clock.edges, series)
    title = f"Hit ratio over time: {name}"
    return Chart(title, says, "steps", x, series, clock.label, "Hit ratio (%)")


def _curves(results: Results) -> Chart:
    looks = vm_looks(results)
    ends = np.cumsum([tier.capacity for tier in results.spec.tiers])
    curves = {vm: curve_of(results, vm) for vm in looks}
    right = 1.1 * max(ends[-1], *(float(curve.capacity[-1]) for curve in curves.values()))
    series = []
    for vm, curve in curves.items():
        some = curve.capacity > 0
        x = np.append(curve.capacity[some], right).astype(float)
        y = 100 * np.append(curve.ratio[some], curve.ratio[-1])
        x, y = thinned(x, y, log_x=True)
        series.append(Series(looks[vm], y, x))
    at_end = ", ".join(f"{vm} {100 * curve.at(ends[-1]):.1f} %" for vm, curve in curves.items())
    says = (
        "What LRU would hit with a cache of each size to itself, over the whole trace. In all "
        f"tiers: {at_end}."
    )
    marks = [
        (float(end), f"{'+ ' if k else ''}{tier.device}")
        for k, (end, tier) in enumerate(zip(ends, results.spec.tiers, strict=True))
    ]
    return Chart(
        "Hit ratio curves", says, "lines", np.zeros(0), series, "Capacity (blocks)",
        "Hit ratio (%)", log_x=True, marks=marks,
    )  # fmt: skip


def _reuse_intensity(results: Results) -> Chart:
    table, clock = results.measured("reuse_intensity"), clock_of(results)
    series, means = [], []
    for vm, look in vm_looks(results).items():
        own = table.filter(pc.equal(table["vm"], vm))
        if not len(own):
            continue
        y = own["reuse_intensity"].to_numpy()
        x, thin = thinned(clock(own["window_end_ns"].to_numpy()), y, cells=250)
        series.append(Series(look, thin, x))
        means.append(f"{vm} {y.mean():.2f}")
    says = f"1 − distinct / all blocks of each window; on average {', '.join(means)}."
    label = "Reuse intensity"
    return Chart(label, says, "lines", np.zeros(0), series, clock.label, label)


def vm_charts(results: Results) -> Iterator[Chart]:
    """Yield the hit ratio over time of each VM, if there is more than one and not too many."""
    vms = vms_of(results)
    if 1 < len(vms) <= MOST_VMS:
        for v in range(len(vms)):
            yield over_time(results, v)


def occupancy_charts(results: Results) -> Iterator[Chart]:
    """Yield what VMs hold of each tier, under the baseline and the system the run is about."""
    if len(vms_of(results)) > MOST_VMS:
        return
    for chosen in (baseline, leading):
        with contextlib.suppress(CannotDrawError):
            yield from _occupancy(results, chosen(results))


def _occupancy(results: Results, system: SystemSpec) -> Iterator[Chart]:
    occupancy = series_of(results, system).occupancy
    looks, clock = vm_looks(results), clock_of(results)
    label = system_looks(results.spec.systems)[system.title].label
    for k in range(occupancy.shape[2]):
        tier = results.spec.tiers[k]
        capacity = max(1, results.spec.space[k])
        series = [
            Series(look, occupancy[:, v, k].astype(float)) for v, look in enumerate(looks.values())
        ]
        means = ", ".join(
            f"{name} {100 * float(one.y.mean()) / capacity:.0f} %"
            for name, one in zip(looks, series, strict=True)
        )
        x, series = whole_intervals(clock.edges, series)
        title = f"Occupancy of {tier.device} under {label}"
        says = f"Blocks held at the end of each interval; mean shares of the tier: {means}."
        yield Chart(title, says, "areas", x, series, clock.label, "Occupancy (blocks)")
