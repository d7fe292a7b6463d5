"""Charts of hit ratio curves: what LRU would hit at every capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mcsim.figures.chart import NO_BREAK, Chart, Series, Sheet, scaled_size, thinned
from mcsim.figures.choice import best_first, systems_named
from mcsim.figures.looks import looks_of, system_looks, vm_looks
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    HitCurve,
    block_bytes_of,
    curve_of,
    divides,
    format_capacity,
    format_space,
    series_of,
    vms_of,
)

_COLUMN = 3.5  # inches
_Y = "Hit ratio (%)"
_Names = Sequence[str] | None


def example_curve(results: Results) -> Sheet:
    """Return the curve of the VM that the first tier would serve best, read at its capacity."""
    space = sum(tier.capacity for tier in results.spec.tiers)
    capacity = results.spec.tiers[0].capacity
    vm = max(vms_of(results), key=lambda vm: curve_of(results, vm).at(capacity))
    curve, look = curve_of(results, vm), vm_looks(results)[vm]
    ratio = curve.at(capacity)
    # The axis ends where the curve has risen, and well to the right of the reading.
    risen = curve.capacity[np.argmax(curve.ratio >= 0.98 * curve.ratio[-1])]
    end = min(1.5 * space, max(float(risen), 1.5 * capacity), float(curve.capacity[-1]))
    factor, unit = scaled_size(end, block_bytes_of(results))
    x, y = _between(curve, 0, end)
    caption = f"{format_capacity(results, capacity)} hit {100 * ratio:.0f} %"
    chart = Chart(
        "A hit ratio curve", f"{vm}: {caption}.", "lines", factor * x, [Series(look, y)],
        f"Capacity ({unit})", _Y, marks=[(factor * capacity, "")],
        levels=[(100 * ratio, "")], panel=caption,
    )  # fmt: skip
    return Sheet.of(chart, width=_COLUMN)


def hit_ratio_curves(results: Results) -> Sheet:
    """Return the curve of every VM over a logarithmic axis, and where the tiers end."""
    looks = vm_looks(results)
    ends = np.cumsum([tier.capacity for tier in results.spec.tiers])
    curves = {vm: curve_of(results, vm) for vm in looks}
    right = 1.1 * max(float(ends[-1]), *(float(curve.capacity[-1]) for curve in curves.values()))
    left = max(1.0, ends[0] / 1000)
    factor, unit = scaled_size(right, block_bytes_of(results))
    series = []
    for vm, curve in curves.items():
        some = curve.capacity >= left
        x = np.append(curve.capacity[some], right).astype(np.float64)
        x, y = thinned(x, 100 * np.append(curve.ratio[some], curve.ratio[-1]), log_x=True)
        series.append(Series(looks[vm], y, factor * x))
    at_end = ", ".join(f"{vm} {100 * curve.at(ends[-1]):.1f} %" for vm, curve in curves.items())
    caption = f"What LRU would hit with a cache of each size to itself. In all tiers: {at_end}."
    marks = [
        (factor * float(end), f"{'+ ' * (k > 0)}{tier.device}")
        for k, (end, tier) in enumerate(zip(ends, results.spec.tiers, strict=True))
    ]
    chart = Chart(
        "Hit ratio curves", caption, "lines", np.zeros(0), series, f"Capacity ({unit})", _Y,
        log_x=True, marks=marks,
    )  # fmt: skip
    return Sheet.of(chart, width=5.0, height=2.6)


def tier_split(results: Results, systems: _Names = None) -> Sheet:
    """Cut the curves of two VMs at their mean targets: what each tier hits.

    The targets are those of the best system that divides space; without one, the curves are cut at
    what the VMs held under the best system.

    Raises
    ------
    CannotDrawError
        If the run has less than two VMs.
    """
    vms = vms_of(results)
    if len(vms) < 2:
        raise CannotDrawError(f"needs two VMs; the run has {vms[0]} alone")
    tiers = len(results.spec.tiers)
    ranked = systems_named(results, systems) if systems else best_first(results)
    ranked = [one for one in ranked if one.title not in results.foresight]
    using = [one for one in ranked if series_of(results, one).hits.shape[2] == tiers]
    if not using:
        raise CannotDrawError("needs a system that uses all tiers")
    system = next((one for one in using if divides(results, one)), using[0])
    series, is_granted = series_of(results, system), divides(results, system)
    blocks = series.target if is_granted else series.occupancy
    cuts = np.cumsum(blocks.mean(axis=0), axis=1)
    reached = [curve_of(results, vm).at(cuts[v, -1]) for v, vm in enumerate(vms)]
    best = sorted(sorted(range(len(vms)), key=lambda v: -reached[v])[:2])
    name = system_looks(results.spec.systems)[system.title].label
    what = f"{name} granted the VM in" if is_granted else f"the VM held under {name} of"
    note = f"Cut at the mean of what {what} each tier."
    charts = [_split(results, vms[v], cuts[v]) for v in best]
    return Sheet(charts, columns=2, share_y=True, notes=[note])


def _split(results: Results, vm: str, ends: NDArray[np.float64]) -> Chart:
    """Return the curve of a VM with the part that each tier hits shaded."""
    curve, series, parts, low = curve_of(results, vm), [], [], 0.0
    looks = looks_of([tier.device for tier in results.spec.tiers])
    factor, unit = scaled_size(max(ends), block_bytes_of(results))
    for look, high in zip(looks.values(), ends, strict=True):
        x, y = _between(curve, low, high)
        series.append(Series(replace(look, marker=""), y, factor * x, low=np.zeros(len(y)), high=y))
        gained = 100 * (curve.at(high) - curve.at(low))
        parts.append(f"{look.label} {gained:.0f} % ({format_space(results, high - low)})")
        low = high
    x, y = _between(curve, low, max(1.4 * low, 1.0))
    beyond = replace(looks_of([""])[""], label="beyond", color="#666666", marker="")
    said = f"{vm}: {', '.join(parts)}"
    panel = f"{vm}: {', '.join(part.replace(' ', NO_BREAK) for part in parts)}"
    return Chart(
        f"Hits of each tier: {vm}", f"{said}.", "lines", np.zeros(0),
        [*series, Series(beyond, y, factor * x)], f"Capacity ({unit})", _Y,
        marks=[(factor * float(end), "") for end in ends], panel=panel,
    )  # fmt: skip


def _between(curve: HitCurve, low: float, high: float) -> tuple[NDArray[np.float64], ...]:
    """Return the part of a curve between two capacities, in percent."""
    inner = curve.capacity[(curve.capacity > low) & (curve.capacity < high)]
    x = np.concatenate([[low], inner, [high]]).astype(np.float64)
    return thinned(x, 100 * np.interp(x, curve.capacity, curve.ratio))
