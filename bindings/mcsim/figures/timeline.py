"""What happens over time: reuse intensity, occupancy, hit ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.config.spec import SystemSpec
from mcsim.figures.looks import system_looks, vm_looks
from mcsim.figures.style import PAGE, Sheet, new_sheet
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    Clock,
    baseline,
    clock_of,
    divides,
    leading,
    series_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.patches import StepPatch

__all__ = [
    "baseline_occupancy",
    "hit_ratio_over_time",
    "leading_occupancy",
    "leading_targets",
    "occupancy_over_time",
    "reuse_intensity",
    "targets_over_time",
]

_HIDDEN_BELOW = 0.01
_STRIPS = 1000  # of a panel, each as wide as a thin line


def reuse_intensity(results: Results) -> Sheet:
    """Plot the reuse intensity of every VM: a thin line a window.

    Raises
    ------
    CannotDrawError
        If no system of the run asked for reuse intensity.
    """
    from matplotlib.patches import StepPatch

    table = results.measured("reuse_intensity")
    if table.num_rows == 0:
        raise CannotDrawError("needs reuse intensity, and no system of the run asked for it")
    clock = clock_of(results)
    measured = set(table["vm"].to_pylist())
    looks = {vm: look for vm, look in vm_looks(results).items() if vm in measured}
    sheet = new_sheet(PAGE, 0.9 + 0.75 * len(looks), rows=len(looks), sharex=True, sharey=True)
    for axes, (vm, look) in zip(sheet.axes, looks.items(), strict=True):
        of_vm = table.filter(pc.equal(table["vm"], vm))
        time = clock(of_vm["window_end_ns"].to_numpy())
        edges, highest = _highest(time, of_vm["reuse_intensity"].to_numpy(), clock)
        axes.add_artist(StepPatch(highest, edges, color=look.color, linewidth=0))
        axes.set_title(vm, loc="left", pad=2)
        axes.set_ylim(0, 1)
        axes.set_yticks([0, 0.5, 1])
    _label_time(sheet.axes[-1:], clock)
    sheet.figure.supylabel("Reuse intensity (1 − unique / all)", fontsize="medium")
    sheet.notes.append("Windows without accesses are left out.")
    return sheet


def _highest(
    time: NDArray[np.float64], height: NDArray[np.float64], clock: Clock
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the edges and heights of what lines at these times, each a strip wide, cover."""
    edges = np.linspace(clock.edges[0], clock.edges[-1], _STRIPS + 1)
    strip = np.clip(np.searchsorted(edges, time, side="right") - 1, 0, _STRIPS - 1)
    highest = np.zeros(_STRIPS)
    np.maximum.at(highest, strip, height)
    begins = np.flatnonzero(np.diff(highest, prepend=np.nan))
    return np.append(edges[begins], edges[-1]), highest[begins]


def baseline_occupancy(results: Results) -> Sheet:
    """Plot what every VM holds of each tier under Global LRU, or else the first system."""
    return occupancy_over_time(results, baseline(results))


def leading_occupancy(results: Results) -> Sheet:
    """Plot what every VM holds of each tier under the system that the run is about."""
    return occupancy_over_time(results, leading(results))


def leading_targets(results: Results) -> Sheet:
    """Plot what every VM is granted of each tier by the system that the run is about."""
    return targets_over_time(results, leading(results))


def occupancy_over_time(results: Results, system: SystemSpec) -> Sheet:
    """Plot what every VM holds of each tier under a system."""
    sheet = _stacked_over_time(results, series_of(results, system).occupancy, "Occupancy (blocks)")
    sheet.title = f"Occupancy under {system_looks(results.spec.systems)[system.title].label}"
    sheet.notes.append("Held at the end of each interval; the dashed line is the capacity.")
    return sheet


def targets_over_time(results: Results, system: SystemSpec) -> Sheet:
    """Plot what every VM is granted of each tier by a system.

    Raises
    ------
    CannotDrawError
        If the system divides nothing.
    """
    if not divides(results, system):
        raise CannotDrawError(f"needs a system that divides space; {system.title} does not")
    sheet = _stacked_over_time(results, series_of(results, system).target, "Target (blocks)")
    sheet.title = f"Targets of {system_looks(results.spec.systems)[system.title].label}"
    sheet.notes.append("In force at the end of each interval; the dashed line is the capacity.")
    return sheet


def _stacked_over_time(results: Results, blocks: NDArray[np.int64], label: str) -> Sheet:
    """Stack VM on VM; `blocks` has the shape (intervals, vms, tiers)."""
    from matplotlib.ticker import EngFormatter

    clock, looks = clock_of(results), vm_looks(results)
    tiers = blocks.shape[2]
    sheet = new_sheet(PAGE, 0.9 + 1.5 * tiers, rows=tiers, sharex=True)
    for k, axes in enumerate(sheet.axes):
        stacked = np.cumsum(blocks[:, :, k], axis=1)
        below = np.zeros_like(stacked[:, 0])
        sheet.legend = []
        for v, look in enumerate(looks.values()):
            sheet.legend.append(
                _stairs(axes, stacked[:, v], clock, baseline=below, linewidth=0, **look.area)
            )
            below = stacked[:, v]
        capacity = results.spec.space[k]
        axes.axhline(capacity, color="black", linewidth=0.7, linestyle=(0, (2, 2)))
        axes.set_ylim(0, 1.04 * max(capacity, 1))  # a tier may be of no blocks
        axes.set_title(f"({'abcdefgh'[k]}) {results.spec.tiers[k].device}", loc="left", pad=2)
        axes.set_ylabel(label)
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.grid(visible=False)
    _label_time(sheet.axes[-1:], clock)
    return sheet


def hit_ratio_over_time(
    results: Results, systems: Sequence[SystemSpec] | None = None, *, cumulative: bool = False
) -> Sheet:
    """Plot the hit ratio of every VM by interval, or of all intervals so far.

    VMs that no system gives 1 % of hits are not shown.

    Parameters
    ----------
    results : Results
        What to plot.
    systems : sequence of SystemSpec, optional
        The baseline and the leading system if not given.
    cumulative : bool
        Hits of an interval and all before it, per access of these.
    """
    systems = systems or [baseline(results), leading(results)]
    looks = system_looks(results.spec.systems)
    clock = clock_of(results)
    vms, hidden = _worth_showing(results, systems)
    columns = 1 if len(vms) % 2 else 2
    rows = len(vms) // columns
    height = 0.9 + 1.1 * rows
    sheet = new_sheet(PAGE, height, rows=rows, columns=columns, sharex=True, sharey=True)
    for number, system in enumerate(systems):
        series, look = series_of(results, system), looks[system.title]
        ratio = series.cumulative_hit_ratio if cumulative else series.hit_ratio
        for axes, (v, vm) in zip(sheet.axes, vms, strict=True):
            ratios = 100 * ratio[:, v]
            line = _stairs(axes, ratios, clock, baseline=None, fill=False, linewidth=1.0)
            line.set(color=look.color, linestyle=look.dashes, label=look.label)
            line.set_zorder(3 if number == 0 else 2)
            axes.set_title(vm, loc="left", pad=2)
        sheet.legend.append(line)
    sheet.axes[0].set_ylim(0, 103)
    _label_time(sheet.lowest, clock)
    what = "Hit ratio so far (%)" if cumulative else "Hit ratio (%)"
    sheet.figure.supylabel(what, fontsize="medium")
    if hidden:
        sheet.notes.append(f"Below 1 % under every system, not shown: {', '.join(hidden)}.")
    return sheet


def _worth_showing(
    results: Results, systems: Sequence[SystemSpec]
) -> tuple[list[tuple[int, str]], list[str]]:
    """Return VMs that hit, with their positions, and the others; if none hits, all of them."""
    most = np.zeros(len(vm_looks(results)))
    for system in systems:
        series = series_of(results, system)
        accesses = np.maximum(series.accesses.sum(axis=0), 1)
        most = np.maximum(most, series.all_hits.sum(axis=0) / accesses)
    numbered = list(enumerate(vm_looks(results)))
    shown = [(v, vm) for v, vm in numbered if most[v] >= _HIDDEN_BELOW] or numbered
    return shown, [vm for v, vm in numbered if (v, vm) not in shown]


def _stairs(axes: Axes, values: NDArray[Any], clock: Clock, **look: Any) -> StepPatch:
    """Draw what `Axes.stairs` does, which looks at each step for limits that are set here."""
    from matplotlib.patches import StepPatch

    stairs = StepPatch(values, clock.edges, **look)
    axes.add_artist(stairs)
    return stairs


def _label_time(lowest: Sequence[Axes], clock: Clock) -> None:
    from matplotlib.ticker import EngFormatter

    for axes in lowest:
        axes.set_xlim(clock.edges[0], clock.edges[-1])
        axes.set_xlabel(clock.label)
        if clock.per_unit == 1:
            axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
