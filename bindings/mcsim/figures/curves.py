"""Charts of hit ratio curves: what LRU would hit at every capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mcsim.figures.chart import NO_BREAK, Chart, Series, Sheet, scaled_size, thinned
from mcsim.figures.looks import (
    MOST_SYSTEMS,
    best_first,
    looks_of,
    system_looks,
    systems_named,
    vm_looks,
)
from mcsim.policies.reductions import OverTraces
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


_MOST_SIZES = 4
_WIDTH = 0.7
"""Width of the markers of one policy, as a share of the distance between policies."""


def reductions(rows: OverTraces) -> Sheet:
    """Return the miss ratio reduction of every policy, a marker for each size.

    A marker is the mean with its 95 % interval. Dots are traces. The policies with the highest
    means are shown, at most ten, in the order of their means over all sizes.

    Parameters
    ----------
    rows : OverTraces
        Result of `mcsim.compare` with ``each=True``.
    """
    sizes = list(dict.fromkeys(rows.by_trace["size"].tolist()))
    means = {
        policy: float(rows.mean[rows.policy == policy].mean())
        for policy in dict.fromkeys(rows.policy.tolist())
        if policy != rows.against
    }
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    shown, notes = ranked[:MOST_SYSTEMS], []
    if len(shown) < len(ranked):
        notes.append(f"{len(shown)} of {len(ranked)} policies: the highest means.")
    drawn = _spread(sizes)
    if len(drawn) < len(sizes):
        notes.append(f"{len(drawn)} of {len(sizes)} sizes.")
    step = _WIDTH / len(drawn)
    dots_x, dots_y, series = [], [], []
    for number, (size, look) in enumerate(looks_of(drawn).items()):
        x = np.arange(len(shown), dtype=np.float64) + step * (number + 0.5) - _WIDTH / 2
        of_size = rows[rows["size"] == size]
        place = [of_size.policy.tolist().index(policy) for policy in shown]
        middle, low, high = (100 * of_size[name][place] for name in ("mean", "low", "high"))
        series.append(Series(look, middle, x, low, high))
        traces = rows.by_trace[rows.by_trace["size"] == size]
        for at, policy in zip(x, shown, strict=True):
            values = 100 * traces.reduction[traces.policy == policy]
            dots_x.append(np.full(len(values), at))
            dots_y.append(values)
    grey = replace(looks_of(["trace"])["trace"], color="#8A8A8A", marker=".")
    dots = Series(grey, np.concatenate(dots_y), np.concatenate(dots_x), is_pale=True)
    count = int(rows.traces[0])
    notes.append(f"Mean over {count:,} traces" + ("; bars: 95 % interval." if count > 1 else "."))
    ends = ", ".join(f"{name} {100 * means[name]:.1f} %" for name in shown[:3])
    chart = Chart(
        f"Miss ratio reduction against {rows.against}",
        f"Highest means over all sizes: {ends}. {' '.join(notes)}",
        "points",
        shown,
        [dots, *series],
        "",
        f"Miss ratio reduction\nagainst {rows.against} (%)",
        levels=[(0.0, "")],
    )
    return Sheet.of(chart, *notes, height=2.2)


def _spread(sizes: list[str]) -> list[str]:
    """Return at most four of the sizes, the first and the last among them."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    return [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, _MOST_SIZES)]
