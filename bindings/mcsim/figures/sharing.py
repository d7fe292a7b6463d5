"""Pictures of a cache that several VMs share: as it is, changed, and against parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.figures.locality import label_capacities, unit_for
from mcsim.figures.looks import looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mcsim.locality.curve import HitRatioCurve
    from mcsim.locality.mix import Mix
    from mcsim.locality.verdict import SizeVerdict
    from mcsim.locality.whatif import Situation

__all__ = ["before_and_after", "effective_sizes", "shared_and_divided", "sized"]

_ROW = 0.16  # inches for a VM
_FEWEST_ROWS, _MOST_ROWS = 10, 40


def before_and_after(situations: Sequence[tuple[str, Situation]], *, log: bool) -> Sheet:
    """Plot the curve of all VMs with the size marked, and beside it what each VM hits.

    Parameters
    ----------
    situations : sequence of (str, Situation)
        One, or two: before and after a change.
    log : bool
        Whether the axis of capacities is logarithmic.
    """
    everybody = {str(row.vm): int(row.accesses) for _, now in situations for row in now.rows}
    busiest = sorted(everybody, key=everybody.__getitem__, reverse=True)[:_MOST_ROWS]
    names = [name for name in everybody if name in set(busiest)]
    height = 1.4 + _ROW * max(len(names), _FEWEST_ROWS)
    sheet = new_sheet(PAGE, height, columns=2, width_ratios=[3, 2])
    curves, vms = sheet.axes
    looks = looks_of([when for when, _ in situations])
    first = situations[0][1].sharing.together
    end = max(max(now.sharing.together.saturation, now.size) for _, now in situations)
    unit = unit_for(first, end)
    for when, now in situations:
        curve, look = now.sharing.together, looks[when]
        before = len(curves.lines)
        label = f"{when}: {len(now.sharing.vms):,} VMs" if len(names) > 1 else when
        line: dict[str, Any] = {**look.line, "label": label}
        curve.plot(curves, unit=unit, log=log, end=end, **line)
        sheet.legend.append(curves.lines[before])
        at = curve.sizes_in(np.array([now.size]), unit)
        curves.plot(at, [100 * now.ratio], look.marker, color=look.color, markersize=6, zorder=5)
        _mark_knees(curves, now, unit)
    label_capacities(curves, first, unit, log, end)
    _dots(sheet, vms, situations, names, looks)
    sheet.notes.append("Marked: the size of the cache; circles: knees of the curve.")
    if len(names) < len(everybody):
        sheet.notes.append(f"The {len(names)} VMs of {len(everybody):,} with most accesses.")
    sheet.notes.append("Hollow: in an equal part of the cache, alone. × thrashed by the others.")
    return sheet


def _mark_knees(axes: Any, now: Situation, unit: Any) -> None:
    curve = now.sharing.together
    knees = curve.knees()
    at = curve.sizes_in(np.array([knee.capacity for knee in knees], np.int64), unit)
    ratios = [100 * knee.ratio for knee in knees]
    axes.plot(at, ratios, "o", color="#000000", markerfacecolor="none", markersize=4)


def _dots(
    sheet: Sheet,
    axes: Any,
    situations: Sequence[tuple[str, Situation]],
    names: Sequence[str],
    looks: Any,
) -> None:
    place = {name: len(names) - 1 - i for i, name in enumerate(names)}
    for number, (when, now) in enumerate(situations):
        look = looks[when]
        rows: Any = now.rows[np.isin(now.rows.vm, names)]
        y = np.array([place[str(name)] for name in rows.vm])
        y = y + (0.15 - 0.3 * number if len(situations) > 1 else 0)
        style = {"color": look.color, "marker": look.marker, "linestyle": "none"}
        axes.plot(100 * rows.part, y, markerfacecolor="white", **style)
        axes.plot(100 * rows.shared, y, **style)
        for x0, x1, at in zip(rows.part, rows.shared, y, strict=True):
            axes.plot([100 * x0, 100 * x1], [at, at], color=look.color, linewidth=0.6)
        bad = rows.thrashed
        axes.plot(100 * rows.shared[bad], y[bad], "x", color="#000000", markersize=6)
    axes.set_yticks(list(place.values()), list(place))
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel("Hit ratio of each VM (%)")
    axes.set_xlim(left=0)


def shared_and_divided(found: Mix, *, log: bool) -> Sheet:
    """Plot the hit ratio of a cache, shared and divided, over its size, and what parts gain."""
    sheet = new_sheet(PAGE, 4.6, rows=2, sharex=True, height_ratios=[2, 1])
    above, below = sheet.axes
    rows, together = found, found.sharing.together
    end = int(rows.capacity[-1])
    unit = unit_for(together, end)
    x = together.sizes_in(np.asarray(rows.capacity), unit)
    names = {"shared": "shared", "equal": "equal parts", "parts": "best parts"}
    looks = looks_of(list(names))
    for column, name in names.items():
        look = looks[column]
        ratio = 100 * (1 - rows[column] / rows.accesses)
        (line,) = above.plot(x, ratio, **{**look.line, "label": name}, marker=look.marker)
        sheet.legend.append(line)
    above.set_ylabel("Hit ratio (%)")
    above.set_ylim(bottom=0)
    below.axhline(0, color="#000000", linewidth=0.6)
    below.plot(x, 100 * rows.size_gain, **looks["parts"].line, marker=looks["parts"].marker)
    below.set_ylabel("Effective size gained (%)")
    below.set_xlabel(f"Size of the cache ({unit})")
    if log:
        below.set_xscale("log")
        label_capacities(below, together, unit, log, end)
        below.set_xlim(x[0] / 1.1, x[-1] * 1.1)
    sheet.notes.append(
        "Effective size: how much larger the shared cache would have to be to hit as often as "
        "the best parts."
    )
    return sheet


def effective_sizes(gains: NDArray[np.float64], labels: Sequence[str]) -> Sheet:
    """Draw how often parts gain how much: a histogram, stacked by the size of the cache.

    Parameters
    ----------
    gains : ndarray of float64, shape (mixes, sizes)
        Effective size over size, less one.
    labels : sequence of str
        One for each size.
    """
    sheet = new_sheet(PAGE, 3.2)
    (axes,) = sheet.axes
    percent = 100 * gains
    low, high = 10 * np.floor(percent.min() / 10), 10 * np.ceil(percent.max() / 10)
    step = 10 if high - low <= 400 else 50
    edges = np.arange(step * np.floor(low / step), high + step + 1, step)
    looks = looks_of(labels)
    below = np.zeros(len(edges) - 1)
    for column, label in zip(percent.T, labels, strict=True):
        counts, _ = np.histogram(column, edges)
        bars = axes.bar(edges[:-1], counts, step, bottom=below, align="edge", **looks[label].area)
        sheet.legend.append(bars)
        below += counts
    axes.axvline(percent.mean(), color="#000000", linewidth=0.8, linestyle="--")
    axes.axvline(0, color="#000000", linewidth=0.6)
    axes.set_xlabel("Effective size of the best parts, against sharing (%)")
    axes.set_ylabel("Mixes and sizes")
    sheet.notes.append(
        f"Dashed: the mean, {percent.mean():+.0f} %. The most is {percent.max():+.0f} %; "
        f"{np.mean(percent < 0):.0%} are below 0."
    )
    return sheet


def sized(curve: HitRatioCurve, judged: SizeVerdict) -> Sheet:
    """Plot a curve with a size of the cache, the knees, and what infinity would hit."""
    sheet = new_sheet(PAGE, 3.0)
    (axes,) = sheet.axes
    end = max(curve.saturation, judged.size)
    unit = unit_for(curve, end)
    curve.plot(axes, unit=unit, log=True, end=end, color="#0072B2")
    label_capacities(axes, curve, unit, True, end)
    at = float(curve.sizes_in(np.array([judged.size]), unit)[0])
    axes.axvline(at, color="#D55E00", linewidth=0.8)
    axes.plot([at], [100 * judged.ratio], "s", color="#D55E00")
    axes.axhline(100 * judged.best, color="#000000", linewidth=0.6, linestyle="--")
    knees = curve.knees()
    x = curve.sizes_in(np.array([knee.capacity for knee in knees], np.int64), unit)
    axes.plot(x, [100 * k.ratio for k in knees], "o", color="#000000", markerfacecolor="none")
    axes.set_ylim(0, 100)
    sheet.notes.append(
        f"The size is {judged.judgement}: {100 * judged.ratio:.1f} %; an infinite cache hits "
        f"{100 * judged.best:.1f} % (dashed). Circles: knees."
    )
    return sheet
