"""Charts of systems side by side: over the whole run, and by capacity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.base.units import format_latency
from mcsim.config.spec import SystemSpec
from mcsim.figures.chart import Chart, Series, Sheet, axis_of_sizes, is_geometric, scaled_latency
from mcsim.figures.looks import Look, best_first, chosen, looks_of, system_looks, vm_looks
from mcsim.results.demands import device_titles
from mcsim.results.results import Results
from mcsim.results.series import (
    CannotDrawError,
    baseline,
    block_bytes_of,
    divides,
    series_of,
    vms_of,
)
from mcsim.results.tables import ALL, rows_of

_HIDDEN_BELOW = 0.01
_MOST_ENDS = 12  # VMs from each end of an order
_ROW, _HIGHEST = 0.2, 7.0  # inches for the bar of a group, and for all groups

_Names = Sequence[str] | None


def hit_ratio_by_vm(
    runs: Sequence[Results], systems: _Names = None, *, by_vm: bool = True
) -> Sheet:
    """Return the hit ratio of every VM and of all together, by system.

    VMs that no system gives 1 % of hits are not shown. Several runs, one a server, are side by
    side.

    Raises
    ------
    CannotDrawError
        If the runs share VMs, or have no system in common.
    """
    names = [vm for run in runs for vm in vms_of(run)]
    if len(set(names)) < len(names):
        raise CannotDrawError("needs runs of different VMs, such as one a server")
    shown, note = chosen(runs[0], systems, among=_common_systems(runs))
    rows = [rows_of(run) for run in runs]
    ratios = {
        vm: np.array([of[system.title, vm]["hit_ratio"] for system in shown])
        for run, of in zip(runs, rows, strict=True)
        for vm in (vms_of(run) if by_vm else ())
    }
    hidden = [vm for vm, each in ratios.items() if max(each) < _HIDDEN_BELOW]
    ratios = {vm: each for vm, each in ratios.items() if vm not in hidden}
    of_all = [[of[system.title, ALL] for of in rows] for system in shown]
    hits, accesses = (
        np.array([sum(row[name] for row in of_system) for of_system in of_all], np.float64)
        for name in ("hits", "accesses")
    )
    ratios[ALL] = hits / np.maximum(accesses, 1)
    below = f"Below 1 % under every system, not shown: {', '.join(hidden)}."
    notes = [note, below if hidden else ""]
    said = _extremes(runs[0], shown, ratios[ALL], ("hits most", "least"), max, _percent)
    title = "Hit ratio by VM" if by_vm else "Hit ratio"
    return _by_group(runs[0], shown, ratios, title, (100.0, "%"), said, notes)


def before_and_after(results: Results) -> Chart:
    """Return the hit ratio of every VM under the baseline and under the best other system.

    VMs are in the order of the difference. If there are many, only those that gain
    and lose most are shown.

    Raises
    ------
    CannotDrawError
        If all systems are yardsticks.
    """
    before = baseline(results)
    realisable = [of for of in best_first(results) if of.title not in results.foresight]
    others = [of for of in realisable if of.title != before.title]
    rows, vms = rows_of(results), vms_of(results)
    pair = [before, *others[:1]]
    ratios = np.array([[100 * rows[of.title, vm]["hit_ratio"] for vm in vms] for of in pair])
    order = np.argsort(ratios[0] - ratios[-1], kind="stable")
    note = ""
    if len(order) > 2 * _MOST_ENDS:
        order = np.concatenate([order[:_MOST_ENDS], order[-_MOST_ENDS:]])
        note = f" The {_MOST_ENDS} VMs that gain most and the {_MOST_ENDS} that lose most."
    looks = _looks_of_run(results, pair).values()
    series = [Series(look, of[order]) for look, of in zip(looks, ratios, strict=True)]
    title = " and ".join(look.label for look in looks)
    caption = (
        f"Hit ratio of each VM under {title}, from the largest gain to the largest loss.{note}"
    )
    if not others:
        caption = f"Hit ratio of each VM under {title}.{note}"
    names = [vms[v] for v in order]
    return Chart(f"Hit ratio by VM: {title}", caption, "dots", names, series, "Hit ratio (%)", "")


def latency_by_vm(results: Results, systems: _Names = None, *, by_vm: bool = True) -> Sheet:
    """Return the mean latency of every VM and of all together, by system."""
    shown, note = chosen(results, systems)
    rows = rows_of(results)
    latencies = {
        vm: np.array([rows[system.title, vm]["mean_latency_ns"] or 0 for system in shown])
        for vm in [*(vms_of(results) if by_vm else ()), ALL]
    }
    words = ("waits least", "longest")
    said = _extremes(results, shown, latencies[ALL], words, min, format_latency)
    title = "Mean latency by VM" if by_vm else "Mean latency"
    times = scaled_latency(latencies.values())
    return _by_group(results, shown, latencies, title, times, said, [note])


def _by_group(
    run: Results,
    systems: Sequence[SystemSpec],
    values: Mapping[str, NDArray[np.float64]],
    title: str,
    times: tuple[float, str],
    said: str,
    notes: Sequence[str],
) -> Sheet:
    """Return dots of systems by VM, with values multiplied to have a unit."""
    factor, unit = times
    series = [
        Series(look, factor * np.array([each[i] for each in values.values()]))
        for i, look in enumerate(_looks_of_run(run, systems).values())
    ]
    caption = " ".join(filter(None, [said, *notes]))
    label = f"{title.removesuffix(' by VM')} ({unit})"
    row = 0.14 + 0.03 * len(series)
    chart = Chart(title, caption, "dots", list(values), series, label, "")
    return Sheet.of(chart, *notes, height=min(0.6 + row * len(values), _HIGHEST))


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.2f} %"


def _extremes(
    run: Results,
    systems: Sequence[SystemSpec],
    values: NDArray[np.float64],
    words: tuple[str, str],
    better: Callable[..., Any],
    write: Callable[[float], str],
) -> str:
    """Name the best and the worst realisable system over all VMs."""
    known = {
        look.label: float(value)
        for (title, look), value in zip(_looks_of_run(run, systems).items(), values, strict=True)
        if title not in run.foresight
    }
    if not known:
        return "By VM and system."
    worse = min if better is max else max
    best, worst = better(known, key=known.__getitem__), worse(known, key=known.__getitem__)
    if known[best] == known[worst] and len(known) > 1:
        return f"Over all VMs, all systems are alike ({write(known[best])})."
    said = f"Over all VMs, {best} {words[0]} ({write(known[best])})"
    return f"{said}, {worst} {words[1]} ({write(known[worst])})." if len(known) > 1 else f"{said}."


def hit_ratio_by_tier(results: Results, systems: _Names = None) -> Sheet:
    """Return the hit ratio of all VMs and of every VM divided by the tier that hit, by system."""
    charts = [tier_chart(results, systems, vm) for vm in (ALL, *vm_looks(results))]
    _, note = chosen(results, systems)
    return Sheet(
        charts,
        columns=min(3, len(charts)),
        share_x=True,
        share_y=True,
        notes=[note] if note else [],
        height=0.5 + _ROW * len(charts[0].x),
    )


def tier_chart(results: Results, systems: _Names = None, vm: str = ALL) -> Chart:
    """Return the hit ratio of a VM, or of all, divided by the tier that hit, by system."""
    shown, note = chosen(results, systems)
    looks = _looks_of_run(results, shown)
    tiers = device_titles(results.spec)[:-1]
    rows = rows_of(results)
    shares = [rows[title, vm]["tier_hit_ratio"] for title in looks]
    series = [
        Series(look, np.array([100 * s[k] if k < len(s) else np.nan for s in shares]))
        for k, look in enumerate(looks_of(tiers).values())
    ]
    caption = (
        f"The hit ratio of {vm}, divided by the tier that hit. A system that counts one tier has "
        f"all space as {tiers[0]}. {note}"
    ).strip()
    names = [look.label for look in looks.values()]
    title = "Hit ratio by tier" if vm == ALL else f"Hit ratio by tier: {vm}"
    return Chart(title, caption, "stacked", names, series, "Hit ratio (%)", "", panel=vm)


def tier_shares(results: Results, systems: _Names = None) -> Sheet:
    """Return the mean share of each tier that every VM holds, by system."""
    tiers = len(results.spec.tiers)
    using = [
        system
        for system in results.spec.systems
        if series_of(results, system).occupancy.shape[2] == tiers
    ]
    if not using:
        raise CannotDrawError("needs a system that uses the tiers; those of the run use one alone")
    return _shares_by_system(results, using, systems, "held")


def granted_shares(results: Results, systems: _Names = None) -> Sheet:
    """Return the mean share of each tier that every VM is granted, by system that divides them.

    Raises
    ------
    CannotDrawError
        If no system divides them.
    """
    dividing = [system for system in results.spec.systems if divides(results, system)]
    if not dividing:
        raise CannotDrawError("needs a system that divides the tiers; none of the run does")
    return _shares_by_system(results, dividing, systems, "granted")


def _shares_by_system(
    results: Results, among: Sequence[SystemSpec], systems: _Names, what: str
) -> Sheet:
    """Return the mean shares of tiers that VMs hold or are granted, a chart a tier."""
    shown, note = chosen(results, systems, among=among)
    looks = _looks_of_run(results, shown)
    counts = [series_of(results, system) for system in shown]
    mean = [(of.target if what == "granted" else of.occupancy).mean(axis=0) for of in counts]
    charts = []
    for k, tier in enumerate(results.spec.tiers):
        space = max(1, results.spec.space[k])
        series = [
            Series(look, np.array([100 * blocks[v, k] / space for blocks in mean]))
            for v, look in enumerate(vm_looks(results).values())
        ]
        title = f"Mean share of {tier.device} {what}"
        caption = f"{title} by each VM, system by system. {note}".strip()
        names = [look.label for look in looks.values()]
        charts.append(Chart(title, caption, "stacked", names, series, f"{title} (%)", ""))
    height = 0.6 + _ROW * len(shown)
    notes = [note] if note else []
    return Sheet(charts, columns=len(charts), share_y=True, notes=notes, height=height)


def hit_ratio_by_capacity(runs: Sequence[Results], systems: _Names = None) -> Sheet:
    """Return the hit ratio of all VMs, and that of the first tier, over the last tier's size.

    Parameters
    ----------
    runs : sequence of Results
        One experiment at several capacities.
    systems : sequence of str, optional
        As of `chosen`.

    Raises
    ------
    CannotDrawError
        If there are less than two capacities, or two runs of one.
    """
    runs = sorted(runs, key=lambda run: run.spec.tiers[-1].capacity)
    sizes = np.array([run.spec.tiers[-1].capacity for run in runs], np.float64)
    if len(set(sizes)) < 2:
        raise CannotDrawError("needs runs of one experiment at two or more capacities")
    if len(set(sizes)) < len(sizes):
        raise CannotDrawError("needs one run per capacity of the last tier, not several")
    first = runs[0]
    if any(list(vm_looks(run)) != list(vm_looks(first)) for run in runs):
        raise CannotDrawError("needs runs of the same VMs")
    shown, note = chosen(first, systems, among=_common_systems(runs))
    tiers, whole, fastest = first.spec.tiers, [], []
    every = [rows_of(run) for run in runs]
    for title, look in _looks_of_run(first, shown).items():
        rows = [of[title, ALL] for of in every]
        whole.append(Series(look, np.array([100 * row["hit_ratio"] for row in rows])))
        if len(rows[0]["tier_hit_ratio"]) == len(tiers):
            share = np.array([100 * row["tier_hit_ratio"][0] for row in rows])
            fastest.append(Series(look, share))
    capacities = [run.spec.tiers[-1].capacity for run in runs]
    x, unit, ticks = axis_of_sizes(capacities, block_bytes_of(first))
    charts = [
        Chart(
            f"Hit ratio of {panel} by capacity", f"All VMs together, by system. {note}".strip(),
            "lines", x, series, f"Capacity of {tiers[-1].device} ({unit})", "Hit ratio (%)",
            log_x=is_geometric(sizes), ticks=ticks, panel=panel,
        )
        for panel, series in (("all tiers", whole), (f"{tiers[0].device} alone", fastest))
        if series
    ]  # fmt: skip
    return Sheet(charts, columns=len(charts), notes=[note] if note else [])


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
