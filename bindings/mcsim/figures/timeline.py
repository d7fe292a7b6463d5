"""What happens over time: reuse intensity, occupancy, hit ratio (Fig. 4, 8, 9 and 10)."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from mcsim.config.spec import SystemSpec
from mcsim.figures.style import PAGE, Sheet, new_sheet, system_looks, vm_looks
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    clock_of,
    global_lru,
    multicache,
    series_of,
)

__all__ = [
    "global_lru_occupancy",
    "hit_ratio_over_time",
    "multicache_occupancy",
    "reuse_intensity",
]


def reuse_intensity(results: Results) -> Sheet:
    """Plot the reuse intensity of every VM, one line a window.

    Raises
    ------
    CannotDrawError
        If no system of the run asked for reuse intensity.
    """
    table = results.reuse_intensity()
    if table.num_rows == 0:
        raise CannotDrawError("needs reuse intensity, and no system of the run asked for it")
    clock, looks = clock_of(results), vm_looks(results)
    sheet = new_sheet(PAGE, 0.9 + 0.75 * len(looks), rows=len(looks), sharex=True, sharey=True)
    for axes, (vm, look) in zip(sheet.axes, looks.items(), strict=True):
        of_vm = table.filter(pc.equal(table["vm"], vm))
        time = clock(of_vm["window_end_ns"].to_numpy())
        intensity = of_vm["reuse_intensity"].to_numpy()
        axes.vlines(time, 0, intensity, color=look.color, linewidth=0.4, rasterized=True)
        axes.set_title(vm, loc="left", pad=2)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1])
    sheet.axes[-1].set_xlim(clock.edges[0], clock.edges[-1])
    sheet.axes[-1].set_xlabel(clock.label)
    sheet.figure.supylabel("Reuse intensity (1 − unique / all)", fontsize="medium")
    sheet.notes.append("Windows without accesses are left out.")
    return sheet


def global_lru_occupancy(results: Results) -> Sheet:
    """Plot what every VM holds of each tier under Global LRU."""
    return _occupancy(results, global_lru(results))


def multicache_occupancy(results: Results) -> Sheet:
    """Plot what every VM holds of each tier under Multi-Cache."""
    return _occupancy(results, multicache(results))


def _occupancy(results: Results, system: SystemSpec) -> Sheet:
    from matplotlib.ticker import EngFormatter

    occupancy = series_of(results, system).occupancy
    clock, looks = clock_of(results), vm_looks(results)
    tiers = occupancy.shape[2]
    sheet = new_sheet(PAGE, 0.9 + 1.5 * tiers, rows=tiers, sharex=True)
    for k, axes in enumerate(sheet.axes):
        stacked = np.cumsum(occupancy[:, :, k], axis=1)
        baseline = np.zeros_like(stacked[:, 0])
        sheet.legend = []
        for v, look in enumerate(looks.values()):
            sheet.legend.append(
                axes.stairs(stacked[:, v], clock.edges, baseline=baseline, fill=True, **look.area)
            )
            baseline = stacked[:, v]
        capacity = results.spec.tiers[k].capacity_blocks
        axes.axhline(capacity, color="black", linewidth=0.7, linestyle=(0, (2, 2)))
        axes.set_ylim(0, 1.04 * capacity)
        axes.set_xlim(clock.edges[0], clock.edges[-1])
        axes.set_title(f"({'abcdefgh'[k]}) {results.spec.tiers[k].device}", loc="left", pad=2)
        axes.set_ylabel("Occupancy (blocks)")
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.grid(visible=False)
    sheet.axes[-1].set_xlabel(clock.label)
    sheet.notes.append(
        f"Held under {system.title} at the end of each interval; the dashed line is the capacity."
    )
    return sheet


def hit_ratio_over_time(results: Results) -> Sheet:
    """Plot the hit ratio of every VM by interval, under Global LRU and Multi-Cache."""
    systems = [global_lru(results), multicache(results)]
    looks = system_looks(results.spec.systems)
    clock, vms = clock_of(results), vm_looks(results)
    columns = 1 if len(vms) % 2 else 2
    rows = len(vms) // columns
    height = 0.9 + 1.1 * rows
    sheet = new_sheet(PAGE, height, rows=rows, columns=columns, sharex=True, sharey=True)
    for system in systems:
        ratio = series_of(results, system).hit_ratio
        for v, vm in enumerate(vms):
            axes, look = sheet.axes[v], looks[system.title]
            line = axes.stairs(100 * ratio[:, v], clock.edges, baseline=None, linewidth=1.0)
            line.set(color=look.color, linestyle=look.dashes, label=look.label)
            line.set_zorder(3 if system is systems[0] else 2)
            axes.set_title(vm, loc="left", pad=2)
        sheet.legend.append(line)
    sheet.axes[0].set_ylim(0, 103)
    sheet.axes[0].set_xlim(clock.edges[0], clock.edges[-1])
    for axes in sheet.axes[-columns:]:
        axes.set_xlabel(clock.label)
    sheet.figure.supylabel("Hit ratio (%)", fontsize="medium")
    return sheet
