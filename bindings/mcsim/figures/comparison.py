"""Systems side by side over the whole run, and by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.config.spec import SystemSpec
from mcsim.figures.looks import Look, lighter, short_names, system_looks, vm_looks
from mcsim.figures.style import PAGE, Sheet, new_sheet
from mcsim.results.results import Results
from mcsim.results.series import CannotDrawError, divides, series_of
from mcsim.results.tables import ALL, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "granted_shares",
    "hit_ratio_by_capacity",
    "hit_ratio_by_tier",
    "hit_ratio_by_vm",
    "latency_by_vm",
    "tier_shares",
]

_HIDDEN_BELOW = 0.01
_MOST_BARS = 10  # of a group that can be told apart
# Texts on hatches.
_INSIDE: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.8},
}
_TIER_HATCHES = ("", "//////", "\\\\\\")


def hit_ratio_by_vm(runs: Sequence[Results]) -> Sheet:
    """Plot the hit ratio of every VM and of all together, by system.

    As in the paper, VMs that no system gives 1 % of hits are not shown. Of
    several runs, one a server, VMs stand side by side.

    Raises
    ------
    CannotDrawError
        If the runs share VMs, or have no system in common.
    """
    names = [vm for run in runs for vm in vm_looks(run)]
    if len(set(names)) < len(names):
        raise CannotDrawError("needs runs of different VMs, such as one a server")
    systems = _common_systems(runs)
    groups: list[str] = []
    bars: dict[str, list[float]] = {system.title: [] for system in systems}
    hidden: list[str] = []
    for run in runs:
        rows = rows_of(run)
        for vm in vm_looks(run):
            ratios = [rows[system.title, vm]["hit_ratio"] for system in systems]
            if max(ratios) < _HIDDEN_BELOW:
                hidden.append(vm)
                continue
            groups.append(vm)
            for system, ratio in zip(systems, ratios, strict=True):
                bars[system.title].append(100 * ratio)
    groups.append(ALL)
    for system in systems:
        whole = [rows_of(run)[system.title, ALL] for run in runs]
        hits, accesses = (sum(row[name] for row in whole) for name in ("hits", "accesses"))
        bars[system.title].append(100 * hits / accesses)

    sheet = _by_group(groups, _looks_of_run(runs[0], systems), bars, "Hit ratio (%)")
    if hidden:
        sheet.notes.append(f"Below 1 % under every system, not shown: {', '.join(hidden)}.")
    return sheet


def latency_by_vm(results: Results) -> Sheet:
    """Plot the mean latency of every VM and of all together, by system."""
    rows = rows_of(results)
    systems = results.spec.systems
    groups = [*vm_looks(results), ALL]
    bars = {
        system.title: [(rows[system.title, vm]["mean_latency_ns"] or 0) / 1e6 for vm in groups]
        for system in systems
    }
    return _by_group(groups, system_looks(systems), bars, "Mean latency (ms)")


def hit_ratio_by_tier(results: Results) -> Sheet:
    """Plot the hit ratio of every VM divided by the tier that hit, by system."""
    from matplotlib.patches import Patch

    rows = rows_of(results)
    looks = system_looks(results.spec.systems)
    groups = [*vm_looks(results), ALL]
    if len(looks) > _MOST_BARS:
        raise CannotDrawError(f"needs {_MOST_BARS} systems or fewer, not {len(looks)}")
    sheet = new_sheet(PAGE, 2.6)
    (axes,) = sheet.axes
    tiers = results.spec.tiers
    highest = 0.0
    for s, (title, look) in enumerate(looks.items()):
        shares = [[100 * share for share in rows[title, vm]["tier_hit_ratio"]] for vm in groups]
        bottom = np.zeros(len(groups))
        for k, heights in enumerate(zip(*shares, strict=True)):
            axes.bar(
                _places(len(groups), s, len(looks)),
                heights,
                0.8 / len(looks),
                bottom=bottom,
                facecolor=lighter(look.color, k / len(tiers)),
                edgecolor="black",
                linewidth=0.4,
                hatch=_TIER_HATCHES[k % len(_TIER_HATCHES)],
            )
            bottom = bottom + heights
        highest = max(highest, float(bottom.max()))
        sheet.legend.append(Patch(facecolor=look.color, edgecolor="black", label=look.label))
    for k, tier in enumerate(tiers):
        shade = lighter("#555555", k / len(tiers))
        hatch = _TIER_HATCHES[k % len(_TIER_HATCHES)]
        sheet.legend.append(
            Patch(facecolor=shade, edgecolor="black", hatch=hatch, label=f"from {tier.device}")
        )
    _group_ticks(axes, groups)
    axes.set_ylim(0, 1.05 * highest or 1)
    axes.set_ylabel("Hit ratio (%)")
    sheet.notes.append("The bars of a group stand in the order of the legend, column by column.")
    return sheet


def tier_shares(results: Results) -> Sheet:
    """Plot the mean share of each tier that every VM holds, by system."""
    mean = {
        system.title: series_of(results, system).occupancy.mean(axis=0)
        for system in results.spec.systems
    }
    mean = {title: held for title, held in mean.items() if held.shape[1] == len(results.spec.tiers)}
    if not mean:
        raise CannotDrawError("needs a system that uses the tiers; those of the run use one alone")
    return _shares_by_system(results, mean)


def granted_shares(results: Results) -> Sheet:
    """Plot the mean share of each tier that every VM is granted, by system that divides them.

    Raises
    ------
    CannotDrawError
        If none divides them.
    """
    mean = {
        system.title: series_of(results, system).target.mean(axis=0)
        for system in results.spec.systems
        if divides(results, system)
    }
    if not mean:
        raise CannotDrawError("needs a system that divides the tiers; none of the run does")
    sheet = _shares_by_system(results, mean)
    for axes, tier in zip(sheet.axes, results.spec.tiers, strict=True):
        axes.set_xlabel(f"Mean share of {tier.device} granted (%)")
    return sheet


def _shares_by_system(results: Results, mean: Mapping[str, NDArray[np.floating]]) -> Sheet:
    """Plot shares of tiers; `mean` has blocks by system, each of the shape (vms, tiers)."""
    vms, tiers = vm_looks(results), results.spec.tiers
    looks = system_looks(results.spec.systems)
    labels = [looks[title].label for title in mean]
    height = 0.9 + 0.24 * len(mean) + 0.3
    sheet = new_sheet(PAGE, height, columns=len(tiers), sharey=True)
    for k, axes in enumerate(sheet.axes):
        left = np.zeros(len(mean))
        for v, look in enumerate(vms.values()):
            share = np.array([held[v, k] for held in mean.values()])
            share = 100 * share / max(1, results.spec.space[k])
            bars = axes.barh(labels, share, 0.75, left=left, linewidth=0, **look.area)
            for row in map(int, np.flatnonzero(share >= 6)):
                middle = left[row] + share[row] / 2
                axes.text(middle, row, f"{share[row]:.0f}", zorder=3, **_INSIDE)
            left = left + share
            if k == 0:
                sheet.legend.append(bars[0])
                bars[0].set_label(look.label)
        axes.set_xlim(0, 100)
        axes.set_xlabel(f"Mean share of {tiers[k].device} (%)")
        axes.grid(visible=False)
    sheet.axes[0].invert_yaxis()
    return sheet


def hit_ratio_by_capacity(runs: Sequence[Results]) -> Sheet:
    """Plot the hit ratio of all VMs, and that of the first tier, over the last tier's size.

    Parameters
    ----------
    runs : sequence of Results
        One experiment at several capacities.

    Raises
    ------
    CannotDrawError
        If there are less than two capacities, or two runs of one.
    """
    runs = sorted(runs, key=lambda run: run.spec.tiers[-1].capacity)
    sizes = [run.spec.tiers[-1].capacity for run in runs]
    if len(set(sizes)) < 2:
        raise CannotDrawError("needs runs of one experiment at two or more capacities")
    if len(set(sizes)) < len(sizes):
        raise CannotDrawError("needs one run per capacity of the last tier, not several")
    first = runs[0]
    if any(list(vm_looks(run)) != list(vm_looks(first)) for run in runs):
        raise CannotDrawError("needs runs of the same VMs")

    systems = _common_systems(runs)
    sheet = new_sheet(PAGE, 2.5, columns=2, sharex=True)
    whole, fastest = sheet.axes
    for title, look in _looks_of_run(first, systems).items():
        rows = [rows_of(run)[title, ALL] for run in runs]
        style = look.line | {"marker": look.marker}
        total = [100 * row["hit_ratio"] for row in rows]
        sheet.legend += whole.plot(sizes, total, **style)
        if len(rows[0]["tier_hit_ratio"]) == len(first.spec.tiers):
            fastest.plot(sizes, [100 * row["tier_hit_ratio"][0] for row in rows], **style)
    whole.set_title("(a) all tiers", loc="left")
    fastest.set_title(f"(b) {first.spec.tiers[0].device} alone", loc="left")
    _label_sizes(sheet.axes, first)
    return sheet


def _label_sizes(panels: Sequence[Axes], run: Results) -> None:
    from matplotlib.ticker import EngFormatter

    for axes in panels:
        axes.set_xlabel(f"Capacity of {run.spec.tiers[-1].device} (blocks)")
        axes.set_ylabel("Hit ratio (%)")
        axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.set_ylim(0, None)


def _common_systems(runs: Sequence[Results]) -> list[SystemSpec]:
    """Return the systems that every run has, in the order of the first."""
    titles = set.intersection(*({s.title for s in run.spec.systems} for run in runs))
    if not titles:
        raise CannotDrawError("needs runs with a system in common")
    return [system for system in runs[0].spec.systems if system.title in titles]


def _looks_of_run(run: Results, systems: Sequence[SystemSpec]) -> dict[str, Look]:
    """Return the looks that some of a run's systems have in all figures."""
    looks = system_looks(run.spec.systems)
    return {system.title: looks[system.title] for system in systems}


def _places(groups: int, index: int, count: int) -> NDArray[np.floating]:
    """Where the bars of one of `count` series stand, one in each group."""
    return np.arange(groups) + 0.8 * ((index + 0.5) / count - 0.5)


def _by_group(
    groups: list[str], looks: Mapping[str, Look], values: Mapping[str, list[float]], label: str
) -> Sheet:
    """Plot a number for every group and system: as bars, or of many systems as a table."""
    if len(looks) > _MOST_BARS:
        return _shaded_table(groups, looks, values, label)
    sheet = new_sheet(PAGE, 2.5)
    _grouped_bars(sheet, groups, looks, values)
    sheet.axes[0].set_ylabel(label)
    return sheet


def _shaded_table(
    groups: list[str], looks: Mapping[str, Look], values: Mapping[str, list[float]], label: str
) -> Sheet:
    """Plot a row for each system and a column for each group: the more, the darker."""
    cells = np.array([values[title] for title in looks])
    sheet = new_sheet(PAGE, 1.2 + 0.16 * len(looks))
    (axes,) = sheet.axes
    most = float(cells.max()) or 1.0
    axes.imshow(cells, cmap="Greys", vmin=0, vmax=1.2 * most, aspect="auto")
    digits = 0 if most >= 20 else 1
    small: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 5.5}
    for row, column in np.ndindex(cells.shape):
        value = cells[row, column]
        ink = "white" if value > 0.65 * most else "black"
        axes.text(column, row, f"{value:.{digits}f}", color=ink, **small)
    axes.set_yticks(range(len(looks)), [look.label for look in looks.values()])
    axes.tick_params(axis="y", length=0)
    _group_ticks(axes, groups)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.grid(visible=False)
    axes.set_title(label, loc="left")
    return sheet


def _grouped_bars(
    sheet: Sheet, groups: list[str], looks: Mapping[str, Look], bars: Mapping[str, list[float]]
) -> None:
    (axes,) = sheet.axes
    for index, (title, look) in enumerate(looks.items()):
        places = _places(len(groups), index, len(looks))
        area = look.area | {"edgecolor": "white", "linewidth": 0.4}
        drawn = axes.bar(places, bars[title], 0.8 / len(looks), **area)
        sheet.legend.append(drawn)
    _group_ticks(axes, groups)


def _group_ticks(axes: Axes, groups: list[str]) -> None:
    slanted = len(groups) > 10
    rotation, alignment = (45, "right") if slanted else (0, "center")
    axes.set_xticks(range(len(groups)), short_names(groups), rotation=rotation, ha=alignment)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.axvline(len(groups) - 1.5, color="#999999", linewidth=0.6)
