"""Pictures of hit-ratio curves: several together, against the exact one, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mcsim.figures.looks import looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet
from mcsim.locality.curve import HitRatioCurve, SizeUnit

__all__ = [
    "comparison",
    "curves",
    "label_capacities",
    "over_intervals",
    "plain_log",
    "unit_for",
]

_UNITS: tuple[SizeUnit, ...] = ("TiB", "GiB", "MiB", "KiB")
_ALL_LINE: dict[str, Any] = {"color": "#000000", "linestyle": "-", "linewidth": 1.8}
_ROWS = 80  # of a heat map


def unit_for(curve: HitRatioCurve, blocks: float) -> SizeUnit:
    """Return the largest unit in which so many blocks are at least 4."""
    if curve.block_bytes is None:
        return "blocks"
    for unit in _UNITS:
        if curve.sizes_in(np.array([max(int(blocks), 1)]), unit)[0] >= 4:
            return unit
    return "B"


def curves(
    named: Sequence[tuple[str, HitRatioCurve]], *, log: bool, together: str | None = None
) -> Sheet:
    """Plot curves over one axis of capacities.

    Parameters
    ----------
    log : bool
        Whether that axis is logarithmic.
    together : str, optional
        The one that is all the others together, drawn in black.
    """
    sheet = new_sheet(PAGE, 3.2)
    (axes,) = sheet.axes
    end = max(_end(curve) for _, curve in named)
    unit = unit_for(named[0][1], end)
    looks = looks_of([name for name, _ in named if name != together])
    for name, curve in named:
        line = {**_ALL_LINE, "label": name} if name == together else looks[name].line
        before = len(axes.lines)
        curve.plot(axes, unit=unit, log=log, end=end, **line)
        sheet.legend.append(axes.lines[before])
    if len(named) == 1:
        sheet.legend.clear()
    label_capacities(axes, named[0][1], unit, log, end)
    _explain(sheet, [curve for _, curve in named])
    return sheet


def comparison(named: Sequence[tuple[str, HitRatioCurve]], *, log: bool) -> Sheet:
    """Plot estimates over the first curve, and below how far they are from it.

    Below its resolution an estimate is pale.
    """
    (exact_name, exact), *estimates = named
    sheet = new_sheet(PAGE, 4.6, rows=2, sharex=True, height_ratios=[2, 1])
    above, below = sheet.axes
    end = max(_end(curve) for _, curve in named)
    unit = unit_for(exact, end)
    exact.plot(above, unit=unit, log=log, end=end, **_ALL_LINE, label=exact_name)
    sheet.legend.append(above.lines[0])
    looks = looks_of([name for name, _ in estimates])
    for name, curve in estimates:
        before = len(above.lines)
        curve.plot(above, unit=unit, log=log, end=end, **looks[name].line)
        sheet.legend.append(above.lines[before])
        shown = curve.thinned(log=log, end=end)
        at = np.union1d(shown.capacities, exact.thinned(log=log, end=end).capacities)
        apart = 100 * (curve.at(at) - exact.at(at))
        x = exact.sizes_in(at, unit)
        resolved = curve.is_resolved(at)
        line = {**looks[name].line, "linewidth": 0.8}
        below.plot(x, np.where(resolved, apart, np.nan), drawstyle="steps-post", **line)
        line |= {"alpha": 0.35}
        below.plot(x, np.where(resolved, np.nan, apart), drawstyle="steps-post", **line)
    below.axhline(0, color="#000000", linewidth=0.6)
    below.set_ylabel("Error (points)")
    below.set_xlabel(above.get_xlabel())
    label_capacities(below, exact, unit, log, end)
    above.set_xlabel("")
    _explain(sheet, [curve for _, curve in named])
    return sheet


def over_intervals(
    named: Sequence[tuple[str, HitRatioCurve]], begins: Sequence[float], time_label: str
) -> Sheet:
    """Draw a map of the hit ratio: capacity over time, a column an interval.

    Parameters
    ----------
    begins : sequence of float
        Where the intervals begin, and where the last one ends.
    time_label : str
        What is counted there, and in what.
    """
    from matplotlib import colormaps
    from matplotlib.ticker import EngFormatter

    sheet = new_sheet(PAGE, 3.2)
    (axes,) = sheet.axes
    end = max(_end(curve) for _, curve in named)
    unit = unit_for(named[0][1], end)
    edges = np.unique(np.geomspace(1, max(end, 2), _ROWS + 1).round().astype(np.int64))
    ratio = np.array(
        [
            np.where(curve.is_resolved(edges[1:]), 100 * curve.at(edges[1:]), np.nan)
            if curve.accesses
            else np.full(len(edges) - 1, np.nan)
            for _, curve in named
        ]
    ).T
    # Told apart by colour-blind readers, and in grey prints by brightness.
    colors = colormaps["viridis"].with_extremes(bad="white")
    most = 10 * np.ceil(np.nanmax(ratio, initial=1) / 10)
    y = named[0][1].sizes_in(edges, unit)
    drawn = axes.pcolormesh(np.asarray(begins), y, ratio, cmap=colors, vmin=0, vmax=most)
    drawn.set_rasterized(True)
    bar = sheet.figure.colorbar(drawn, ax=axes, pad=0.01)
    bar.set_label("Hit ratio (%)")
    sheet.axes.append(bar.ax)
    axes.grid(visible=False)
    axes.set_yscale("log")
    axes.set_ylabel(f"Capacity ({unit})")
    axes.set_xlabel(time_label)
    plain_log(axes.yaxis)
    if begins[-1] >= 10_000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    if np.isnan(ratio).any():
        sheet.notes.append("White: no accesses, or fewer blocks than the estimator resolves.")
    sheet.notes.append("Every interval begins with an empty cache.")
    return sheet


def _end(curve: HitRatioCurve) -> int:
    """Where a curve has nothing more to show: its footprint, in blocks."""
    return max(curve.saturation, round(curve.distinct or 0), 1)


def label_capacities(axes: Any, curve: HitRatioCurve, unit: SizeUnit, log: bool, end: int) -> None:
    """Let the axis of capacities end where the curves do, in plain numbers."""
    # One block is where a logarithmic axis begins; most curves begin far to the right of it.
    begin = max(1, end // 100_000) if log else 0
    left, right = curve.sizes_in(np.array([begin, end]), unit)
    axes.set_xlim(left, right)
    if log:
        plain_log(axes.xaxis)


def plain_log(axis: Any) -> None:
    """Write 0.01 and 100 instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def _explain(sheet: Sheet, shown: Sequence[HitRatioCurve]) -> None:
    remarks = []
    if any(curve.low is not None for curve in shown):
        remarks.append("Shaded: 95 % confidence.")
    if any(curve.resolved_from > 1 for curve in shown):
        remarks.append("Pale: fewer blocks than the estimator resolves.")
    if remarks:
        sheet.notes.append(" ".join(remarks))
