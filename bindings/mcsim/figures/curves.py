"""Hit ratio curves: what LRU would hit at every capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.units import format_count
from mcsim.figures.looks import lighter, looks_of, system_looks, vm_looks
from mcsim.figures.style import COLUMN, PAGE, Sheet, new_sheet
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    HitCurve,
    curve_of,
    divides,
    leading,
    series_of,
    vms_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["example_curve", "hit_ratio_curves", "tier_split", "tier_split_alone"]

_BOUNDARY: dict[str, Any] = {"color": "#777777", "linewidth": 0.7, "linestyle": (0, (2, 2))}


def example_curve(results: Results) -> Sheet:
    """Plot the curve of the VM that the first tier would serve best, read at its capacity."""
    space = sum(tier.capacity for tier in results.spec.tiers)
    capacity = results.spec.tiers[0].capacity
    vm = max(vms_of(results), key=lambda vm: curve_of(results, vm).at(capacity))
    curve, look = curve_of(results, vm), vm_looks(results)[vm]
    ratio = curve.at(capacity)

    sheet = new_sheet(COLUMN, 2.4)
    (axes,) = sheet.axes
    sheet.legend += axes.plot(curve.capacity, 100 * curve.ratio, **look.line)
    reading: dict[str, Any] = {"color": "#555555", "linewidth": 0.8, "linestyle": ":"}
    axes.plot([capacity, capacity, 0], [0, 100 * ratio, 100 * ratio], **reading)
    axes.set_title(f"{capacity:,} blocks hit {100 * ratio:.0f} %", loc="left")
    _label(axes)
    # Wide enough for the curve to be seen to rise, and the reading to stand off the axis.
    risen = curve.capacity[np.argmax(curve.ratio >= 0.98 * curve.ratio[-1])]
    axes.set_xlim(0, min(1.5 * space, max(float(risen), 1.5 * capacity), float(curve.capacity[-1])))
    return sheet


def hit_ratio_curves(results: Results) -> Sheet:
    """Plot the curve of every VM over a logarithmic axis, and where the tiers end."""
    looks = vm_looks(results)
    boundaries = np.cumsum([tier.capacity for tier in results.spec.tiers])
    sheet = new_sheet(COLUMN, 2.6)
    (axes,) = sheet.axes
    curves = {vm: curve_of(results, vm) for vm in looks}
    right = 1.1 * max(boundaries[-1], *(curve.capacity[-1] for curve in curves.values()))
    for vm, curve in curves.items():
        some = curve.capacity > 0
        capacity = np.append(curve.capacity[some], right)
        ratio = np.append(curve.ratio[some], curve.ratio[-1])
        sheet.legend += axes.plot(capacity, 100 * ratio, **looks[vm].line)
    axes.set_xscale("log")
    axes.set_xlim(max(1, boundaries[0] / 1000), right)
    for k, boundary in enumerate(boundaries):
        axes.axvline(boundary, **_BOUNDARY)
        axes.annotate(
            f"{'+ ' * (k > 0)}{results.spec.tiers[k].device}",
            (boundary, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            color="#555555",
        )
    _label(axes)
    return sheet


def tier_split(results: Results) -> Sheet:
    """Cut the curves of two VMs at their mean targets: what each tier hits.

    Where the system divides nothing, they are cut at what the VMs held.

    Raises
    ------
    CannotDrawError
        If the run has less than two VMs, or one system alone.
    """
    vms = vms_of(results)
    if len(vms) < 2:
        raise CannotDrawError(f"needs two VMs; the run has {vms[0]} alone")
    system = leading(results)
    series = series_of(results, system)
    granted = divides(results, system)
    cuts = np.cumsum((series.target if granted else series.occupancy).mean(axis=0), axis=1)
    reached = [curve_of(results, vm).at(cuts[v, -1]) for v, vm in enumerate(vms)]
    chosen = sorted(sorted(range(len(vms)), key=lambda v: -reached[v])[:2])
    sheet = _split_sheet([(results, vms[v], cuts[v]) for v in chosen])
    name = system_looks(results.spec.systems)[system.title].label
    what = f"{name} granted the VM in" if granted else f"the VM held under {name} of"
    sheet.notes.append(f"Cut at the mean of what {what} each tier.")
    return sheet


def tier_split_alone(runs: Sequence[Results]) -> Sheet:
    """Cut the curves of two runs' only VMs where the tiers end: what each tier hits."""
    cut = []
    for run in runs:
        (vm,) = vms_of(run)
        ends = np.cumsum([tier.capacity for tier in run.spec.tiers])
        cut.append((run, vm, ends.astype(np.float64)))
    return _split_sheet(cut)


def _split_sheet(cut: Sequence[tuple[Results, str, NDArray[np.float64]]]) -> Sheet:
    """Plot two curves, each of a VM of a run, cut at capacities."""
    from matplotlib.patches import Patch

    # Of one run the looks are the run's; of several, each VM has one of its own.
    names = list(dict.fromkeys(vm for run, _, _ in cut for vm in vms_of(run)))
    looks = looks_of(names)
    sheet = new_sheet(PAGE, 2.5, columns=2, sharey=True)
    highest = 0.0
    for axes, (results, vm, ends) in zip(sheet.axes, cut, strict=True):
        right = max(1.4 * ends[-1], 1.0)
        curve, color = curve_of(results, vm), looks[vm].color
        _shade_tiers(axes, curve, ends, color)
        axes.plot(curve.capacity, 100 * curve.ratio, color=color)
        axes.set_xlim(0, right)
        axes.set_title(_split_title(results, vm, curve, ends), loc="left")
        _label(axes)
        highest = max(highest, 100 * curve.at(right))
    sheet.axes[0].set_ylim(0, 1.05 * highest)
    if sheet.columns > 1:
        sheet.axes[1].set_ylabel("")
    tiers = cut[0][0].spec.tiers
    sheet.legend = [
        Patch(
            facecolor=lighter("#555555", shade), edgecolor="white", hatch=hatch, label=tier.device
        )
        for tier, (shade, hatch) in zip(tiers, _tier_shades(len(tiers)), strict=True)
    ]
    return sheet


def _shade_tiers(axes: Axes, curve: HitCurve, cuts: NDArray[np.float64], color: str) -> None:
    """Shade what each tier adds: the strip under the curve between two cuts."""
    low = 0.0
    for high, (shade, hatch) in zip(cuts, _tier_shades(len(cuts)), strict=True):
        inner = curve.capacity[(curve.capacity > low) & (curve.capacity < high)]
        x = np.concatenate([[low], inner, [high]])
        y = 100 * np.interp(x, curve.capacity, curve.ratio)
        area: dict[str, Any] = {
            "facecolor": lighter(color, shade),
            "edgecolor": "white",
            "hatch": hatch,
        }
        axes.fill_between(x, y, linewidth=0, **area)
        axes.axvline(high, **_BOUNDARY)
        low = high


def _tier_shades(tiers: int) -> list[tuple[float, str]]:
    """How much lighter than the VM's colour each tier is, and its hatch."""
    return [(0.3 + 0.5 * k / tiers, ("", "////", "\\\\")[k % 3]) for k in range(tiers)]


def _split_title(results: Results, vm: str, curve: HitCurve, cuts: NDArray[np.float64]) -> str:
    sizes = np.diff(cuts, prepend=0.0)
    added = np.diff([100 * curve.at(cut) for cut in cuts], prepend=0.0)
    parts = [
        f"{tier.device} {ratio:.0f} % ({format_count(round(size))} blocks)"
        for tier, ratio, size in zip(results.spec.tiers, added, sizes, strict=True)
    ]
    return f"{vm}: " + ", ".join(parts)


def _label(axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter

    axes.set_xlabel("Capacity (blocks)")
    axes.set_ylabel("Hit ratio (%)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.set_ylim(0, None)
