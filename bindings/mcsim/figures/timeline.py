"""Charts over time: reuse intensity, occupancy, targets, hit ratio."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from mcsim.config.spec import SystemSpec
from mcsim.figures.chart import Chart, Series, Sheet, scaled_size, whole_intervals
from mcsim.figures.looks import best_first, chosen, system_looks, systems_named, vm_looks
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    baseline,
    block_bytes_of,
    clock_of,
    divides,
    is_last_partial,
    series_of,
    vms_of,
)
from mcsim.results.tables import ALL

_HIDDEN_BELOW = 0.01
_MOST_LINES = 4
_LAST_LEFT_OUT = "The last interval is left out: the trace ends within it."
_STRIPS = 1000  # of a panel, each as wide as a thin line

_Names = Sequence[str] | None


def reuse_intensity(results: Results) -> Sheet:
    """Return the reuse intensity of every VM over time: the highest of each of 1,000 strips.

    Raises
    ------
    CannotDrawError
        If no system of the run requested reuse intensity.
    """
    table = results.measured("reuse_intensity")
    if table.num_rows == 0:
        raise CannotDrawError("needs reuse intensity, and no system of the run asked for it")
    clock, charts = clock_of(results), []
    edges = np.linspace(clock.edges[0], clock.edges[-1], _STRIPS + 1)
    for vm, look in vm_looks(results).items():
        own = table.filter(pc.equal(table["vm"], vm))
        if not len(own):
            continue
        height = own["reuse_intensity"].to_numpy()
        time = clock(own["window_end_ns"].to_numpy())
        strip = np.clip(np.searchsorted(edges, time, side="right") - 1, 0, _STRIPS - 1)
        highest = np.zeros(_STRIPS)
        np.maximum.at(highest, strip, height)
        caption = f"1 − distinct / all blocks of each window; on average {height.mean():.2f}."
        charts.append(
            Chart(
                f"Reuse intensity: {vm}", caption, "areas", edges, [Series(look, highest)],
                clock.label, "Reuse intensity", panel=vm, y_end=1.0,
            )
        )  # fmt: skip
    notes = ["Reuse intensity: 1 − unique / all. Windows without accesses are omitted."]
    return Sheet(charts, share_x=True, share_y=True, notes=notes, height=0.95)


def baseline_occupancy(results: Results, systems: _Names = None) -> Sheet:
    """Return what every VM holds of each tier under Global LRU, or else the first system."""
    return occupancy_over_time(results, systems or [baseline(results).title])


def occupancy_over_time(results: Results, systems: _Names = None) -> Sheet:
    """Return what every VM holds of each tier, by default under the best system."""
    return _stacked(results, _tiered(results, systems), "Occupancy")


def targets_over_time(results: Results, systems: _Names = None) -> Sheet:
    """Return what every VM is granted of each tier, by default by the best system.

    Raises
    ------
    CannotDrawError
        If no system divides the tiers.
    """
    found = _tiered(results, systems)
    dividing = [one for one in found if divides(results, one)]
    if not systems and not dividing:
        dividing = [one for one in best_first(results) if divides(results, one)][:1]
    if not dividing:
        names = ", ".join(one.title for one in found)
        raise CannotDrawError(f"needs a system that divides space; {names} does not")
    sheet = _stacked(results, dividing, "Target")
    sheet.notes.append("Targets: in force at the end of each interval.")
    return sheet


def _tiered(results: Results, systems: _Names) -> list[SystemSpec]:
    """Return the named systems, or the best realisable one that uses all tiers."""
    if systems:
        return systems_named(results, systems)
    tiers = len(results.spec.tiers)
    for system in best_first(results):
        is_real = system.title not in results.foresight
        if is_real and series_of(results, system).hits.shape[2] == tiers:
            return [system]
    raise CannotDrawError("needs a system that uses all tiers")


def _stacked(results: Results, systems: Sequence[SystemSpec], what: str) -> Sheet:
    """Stack blocks of VM on VM over time, a chart for each tier and system."""
    clock, looks = clock_of(results), vm_looks(results)
    labels = system_looks(results.spec.systems)
    factor, unit = scaled_size(max(results.spec.space), block_bytes_of(results))
    charts = []
    for system in systems:
        counts = series_of(results, system)
        blocks = counts.target if what == "Target" else counts.occupancy
        name = labels[system.title].label
        under = f"under {name}" if what == "Occupancy" else f"by {name}"
        for k in range(blocks.shape[2]):
            tier, capacity = results.spec.tiers[k], results.spec.space[k]
            series = [
                Series(look, factor * blocks[:, v, k].astype(np.float64))
                for v, look in enumerate(looks.values())
            ]
            means = ", ".join(
                f"{vm} {100 * float(one.y.mean()) / (factor * max(1, capacity)):.0f} %"
                for vm, one in zip(looks, series, strict=True)
            )
            x, series = whole_intervals(clock.edges, series)
            caption = f"At the end of each interval; mean shares of the tier: {means}."
            charts.append(
                Chart(
                    f"{what} of {tier.device} {under}", caption, "areas", x, series, clock.label,
                    f"{what} ({unit})", levels=[(factor * capacity, "capacity")],
                    panel=f"{tier.device}, {name}", y_end=1.06 * factor * max(capacity, 1),
                )
            )  # fmt: skip
    names = ", ".join(labels[system.title].label for system in systems)
    title = f"{what} under {names}" if what == "Occupancy" else f"Targets of {names}"
    return Sheet(charts, title, share_x=True, height=1.5)


def over_time(
    results: Results,
    systems: Sequence[SystemSpec] | None = None,
    vm: int | None = None,
) -> Chart:
    """Return the hit ratio of one VM, or of all together, by interval and system."""
    clock, looks = clock_of(results), system_looks(results.spec.systems)
    name = ALL if vm is None else vms_of(results)[vm]
    which = slice(None) if vm is None else [vm]
    end = -1 if is_last_partial(results) else None
    series, means = [], []
    for system in systems or results.spec.systems:
        counts, look = series_of(results, system), looks[system.title]
        hits = counts.all_hits[:, which].sum(axis=1)
        accesses = counts.accesses[:, which].sum(axis=1)
        if system.title not in results.foresight:
            means.append(f"{look.label} {100 * hits.sum() / max(1, accesses.sum()):.2f} %")
        ratio = np.full(len(hits), np.nan)
        np.divide(100 * hits, accesses, out=ratio, where=accesses > 0)
        series.append(Series(look, ratio[:end]))
    whole = f"; over the whole run {', '.join(means)}" if means else ""
    caption = f"The share of accesses that hit{whole}."
    if end is not None:
        caption += f" {_LAST_LEFT_OUT}"
    x, series = whole_intervals(clock.edges[:end], series)
    return Chart(
        f"Hit ratio over time: {name}", caption, "steps", x, series, clock.label, "Hit ratio (%)",
        panel=name,
    )  # fmt: skip


def hit_ratio_over_time(results: Results, names: _Names = None) -> Sheet:
    """Return the hit ratio of all VMs and of every VM by interval, of the best four systems.

    VMs that no system gives 1 % of hits are not shown.
    """
    systems, note = chosen(results, names, most=_MOST_LINES)
    most = np.zeros(len(vms_of(results)))
    for system in systems:
        series = series_of(results, system)
        accesses = np.maximum(series.accesses.sum(axis=0), 1)
        most = np.maximum(most, series.all_hits.sum(axis=0) / accesses)
    numbered = list(enumerate(vms_of(results)))
    shown = [(v, vm) for v, vm in numbered if most[v] >= _HIDDEN_BELOW] or numbered
    hidden = [vm for v, vm in numbered if (v, vm) not in shown]
    below = f"Below 1 % under every system, not shown: {', '.join(hidden)}."
    of_vms = [v for v, _ in shown] if len(numbered) > 1 else []
    charts = [over_time(results, systems, v) for v in (None, *of_vms)]
    left_out = _LAST_LEFT_OUT if is_last_partial(results) else ""
    return Sheet(
        charts,
        columns=1 if len(charts) < 2 else 2,
        share_x=True,
        share_y=True,
        notes=[text for text in (note, below if hidden else "", left_out) if text],
        height=1.2,
    )
