"""Hit ratio curves: what LRU would hit at every capacity (Fig. 1, 5 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mcsim.figures.data import CannotDrawError, curve_of, multicache, series_of, vms_of
from mcsim.figures.style import COLUMN, PAGE, Sheet, lighter, new_sheet, vm_looks
from mcsim.results import Results
from mcsim.units import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["example_curve", "hit_ratio_curves", "tier_split"]


def example_curve(results: Results) -> Sheet:
    """Plot the curve of the VM that gains most from the host's cache, and how to read it."""
    space = sum(tier.capacity_blocks for tier in results.spec.tiers)
    vm = max(vms_of(results), key=lambda vm: curve_of(results, vm).at(space))
    curve, look = curve_of(results, vm), vm_looks(results)[vm]
    capacity = results.spec.tiers[0].capacity_blocks
    ratio = curve.at(capacity)

    sheet = new_sheet(COLUMN, 2.4)
    (axes,) = sheet.axes
    sheet.legend = axes.plot(curve.capacity, 100 * curve.ratio, **look.line)
    reading = {"color": "#555555", "linewidth": 0.8, "linestyle": ":"}
    axes.plot([capacity, capacity, 0], [0, 100 * ratio, 100 * ratio], **reading)
    axes.annotate(
        f"{capacity:,} blocks hit {100 * ratio:.0f} %",
        (capacity, 100 * ratio),
        xytext=(8, -12),
        textcoords="offset points",
    )
    _label(axes)
    axes.set_xlim(0, curve.capacity[-1])
    return sheet


def hit_ratio_curves(results: Results) -> Sheet:
    """Plot the curve of every VM over a logarithmic axis, and where the tiers end."""
    looks = vm_looks(results)
    boundaries = np.cumsum([tier.capacity_blocks for tier in results.spec.tiers])
    sheet = new_sheet(COLUMN, 2.6)
    (axes,) = sheet.axes
    last = int(boundaries[-1])
    for vm, look in looks.items():
        curve = curve_of(results, vm)
        some = curve.capacity > 0
        sheet.legend += axes.plot(curve.capacity[some], 100 * curve.ratio[some], **look.line)
        last = max(last, int(curve.capacity[-1]))
    axes.set_xscale("log")
    axes.set_xlim(max(1, boundaries[0] / 1000), 1.1 * last)
    for k, boundary in enumerate(boundaries):
        axes.axvline(boundary, color="#777777", linewidth=0.7, linestyle=(0, (2, 2)))
        axes.annotate(
            f"{'+' * (k > 0)}{results.spec.tiers[k].device}",
            (boundary, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-2, 0),
            textcoords="offset points",
            ha="right",
            va="top",
            rotation="vertical",
            color="#555555",
        )
    _label(axes)
    return sheet


def tier_split(results: Results) -> Sheet:
    """Cut the curves of two VMs at their mean allocations: what each tier hits.

    Raises
    ------
    CannotDrawError
        If the run has less than two VMs, or no Multi-Cache to allocate.
    """
    system = multicache(results)
    target = series_of(results, system).target.mean(axis=0)
    vms = vms_of(results)
    if len(vms) < 2:
        raise CannotDrawError(f"needs two VMs; the run has {vms[0]} alone")
    cuts = np.cumsum(target, axis=1)
    reached = [curve_of(results, vm).at(cuts[v, -1]) for v, vm in enumerate(vms)]
    chosen = sorted(sorted(range(len(vms)), key=lambda v: -reached[v])[:2])

    looks = vm_looks(results)
    sheet = new_sheet(PAGE, 2.4, columns=2, sharey=True)
    for axes, v in zip(sheet.axes, chosen, strict=True):
        look, curve = looks[vms[v]], curve_of(results, vms[v])
        axes.plot(curve.capacity, 100 * curve.ratio, color=look.color)
        low = 0.0
        for k, high in enumerate(cuts[v]):
            _fill_tier(axes, results, vms[v], (low, high), k, look.color)
            low = high
        axes.set_xlim(0, max(1.6 * cuts[v, -1], 1))
        axes.set_title(f"{vms[v]}: {100 * reached[v]:.0f} % in all", loc="left")
        _label(axes)
        axes.label_outer(remove_inner_ticks=True)
        axes.xaxis.set_tick_params(labelbottom=True)
        axes.set_xlabel("Capacity (blocks)")
    sheet.notes.append("Cut at the mean of what Multi-Cache granted the VM in each tier.")
    return sheet


def _fill_tier(
    axes: Axes, results: Results, vm: str, span: tuple[float, float], tier: int, color: str
) -> None:
    """Shade what a tier adds: the strip under the curve between two capacities."""
    curve = curve_of(results, vm)
    low, high = span
    inner = curve.capacity[(curve.capacity > low) & (curve.capacity < high)]
    x = np.concatenate([[low], inner, [high]])
    y = np.interp(x, curve.capacity, 100 * curve.ratio)
    hatch = ("", "////", "....")[tier % 3]
    shade = lighter(color, 0.45 + 0.4 * tier / len(results.spec.tiers))
    axes.fill_between(x, y, facecolor=shade, edgecolor="white", hatch=hatch, linewidth=0)
    axes.axvline(high, color="#777777", linewidth=0.7, linestyle=(0, (2, 2)))
    added = curve.at(high) - curve.at(low)
    axes.annotate(
        f"{results.spec.tiers[tier].device}: {100 * added:.0f} %\n{format_count(high - low)} blocks",
        (high, 0.04 + 0.2 * tier),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},
    )


def _label(axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter

    axes.set_xlabel("Capacity (blocks)")
    axes.set_ylabel("Hit ratio (%)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.set_ylim(0, None)
