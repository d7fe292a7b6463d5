"""One chart drawn by matplotlib into the axes of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.figures.chart import NO_BREAK, Chart, Series, plain
from mcsim.figures.looks import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_MARKED = 20  # with more points markers hide the line


def value_range(charts: Sequence[Chart]) -> tuple[float, float]:
    """Return the least and the largest value of maps."""
    values = [one.y for chart in charts if chart.kind == "map" for one in chart.series]
    known = np.concatenate(values)[~np.isnan(np.concatenate(values))] if values else np.zeros(1)
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def draw_chart(axes: Axes, chart: Chart, limits: tuple[float, float]) -> dict[str, Any]:
    """Draw what a chart shows; return handles for the legend by label."""
    if chart.kind == "map":
        _draw_map(axes, chart, limits)
        return {}
    handles: dict[str, Any] = {}
    if chart.kind == "dots":
        low, high = chart.spans()
        axes.hlines(np.arange(len(low)), low, high, color="#8A8A8A", linewidth=1.0, zorder=1)
    below = np.zeros(len(chart.series[0].y)) if chart.kind in ("areas", "stacked") else None
    for number, series in enumerate(chart.series):
        kind = chart.kind_of(series)
        handle: Any
        if kind == "areas":
            assert below is not None
            top = below + np.nan_to_num(series.y)
            low, high = (np.append(each, each[-1:]) for each in (below, top))
            area = series.look.area | {"step": "post"}
            handle = axes.fill_between(chart.positions(series), low, high, **area)
            below = top
        elif kind == "stacked":
            assert below is not None
            widths = np.nan_to_num(series.y)
            places = np.arange(len(widths))
            handle = axes.barh(places, widths, 0.76, left=below, **series.look.area)
            below = below + widths
        elif kind == "bars":
            width = 0.84 / len(chart.series)
            place = chart.positions(series) + width * (number + 0.5 - len(chart.series) / 2)
            handle = axes.bar(place, series.y, width, **series.look.area)
        elif kind == "dots":
            look = series.look.line | series.look.marks | {"linestyle": "none"}
            rows = np.arange(len(series.y)) + chart.offset_of(number)
            handle = axes.plot(series.y, rows, **look, clip_on=False)[0]
        else:
            handle = _draw_line(axes, chart, series)
        handles.setdefault(series.look.label, handle)
    return handles


def _draw_line(axes: Axes, chart: Chart, series: Series) -> Any:
    x, y, look, kind = chart.positions(series), series.y, series.look, chart.kind_of(series)
    line = look.line | {"alpha": 0.35 if series.is_pale else 1.0}
    if kind == "points":
        line |= look.marks | {"linestyle": "none"}
    elif kind == "steps":
        line |= {"drawstyle": "steps-post"}
        y = np.append(y, y[-1:]) if len(x) > len(y) else y
    elif len(x) <= _MARKED:
        line |= look.marks
    if series.low is not None and series.high is not None:
        if kind == "points":
            ends = np.abs(np.array([y - series.low, series.high - y]))
            axes.errorbar(x, y, ends, linestyle="none", elinewidth=0.7, ecolor=look.color)
        else:
            shade: dict[str, Any] = {"color": look.color, "alpha": 0.2, "linewidth": 0}
            shade |= {"step": "post"} if kind == "steps" else {}
            axes.fill_between(x, series.low, series.high, **shade)
    return axes.plot(x, y, **line)[0]


def _draw_map(axes: Axes, chart: Chart, limits: tuple[float, float]) -> None:
    cells = np.array([one.y for one in chart.series])

    def edges(given: Any, count: int) -> Any:
        has_edges = len(given) == count + 1
        return np.asarray(given, np.float64) if has_edges else np.arange(count + 1) - 0.5

    mesh = axes.pcolormesh(
        edges(chart.x, cells.shape[1]), edges(chart.rows, cells.shape[0]), cells,
        cmap="cividis", vmin=limits[0], vmax=limits[1], rasterized=True,
    )  # fmt: skip
    mesh.set_edgecolor("face")
    axes.grid(visible=False)
    if len(chart.rows) == cells.shape[0]:
        axes.set_yticks(range(len(chart.rows)), list(map(str, chart.rows)))


def limit_axes(axes: Axes, chart: Chart) -> None:
    """Set the limits of axes, which may be shared, after all charts are drawn."""
    if chart.is_horizontal and chart.begins_at_zero:
        axes.set_xlim(0, chart.y_end)
    elif chart.is_horizontal:
        return
    elif chart.kind != "map" and chart.begins_at_zero:
        axes.set_ylim(0, chart.y_end)


def label_axes(axes: Axes, chart: Chart, letters: int) -> None:
    """Set up the axes of a chart: scales, ticks, title, marks and levels."""
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    for axis, is_log in ((axes.xaxis, chart.log_x), (axes.yaxis, chart.log_y)):
        _format(axis, is_log)
    if chart.has_names and chart.is_horizontal:
        axes.set_yticks(range(len(chart.x)), names_of(chart))
        axes.set_ylim(len(chart.x) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
    elif chart.has_names:
        axes.set_xticks(range(len(chart.x)), names_of(chart))
        axes.set_xlim(-0.6, len(chart.x) - 0.4)
        axes.grid(visible=False, axis="x")
    elif chart.ticks:
        axes.set_xticks(list(chart.ticks))
    if chart.kind in ("steps", "areas") and len(chart.x) and not chart.log_x:
        axes.set_xlim(float(chart.x[0]), float(chart.x[-1]))
    title = "\n".join(wrap(chart.panel, letters))
    axes.set_title(title.replace(NO_BREAK, " "))
    dashes: dict[str, Any] = {"color": "#555555", "linewidth": 0.7, "linestyle": (0, (2, 2))}
    for value, _ in chart.levels:
        axes.axhline(value, **dashes)
    for position, name in chart.marks:
        axes.axvline(position, **dashes)
        axes.annotate(
            name, (position, 1), xycoords=("data", "axes fraction"), xytext=(-2, -1),
            textcoords="offset points", rotation=90, ha="right", va="top", color="#555555",
        )  # fmt: skip


def names_of(chart: Chart) -> list[str]:
    """Return the names of groups, short enough for tick labels."""
    return short_names(list(map(str, chart.x)))


def _format(axis: Axis, is_log: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    if is_log:
        low, high = axis.get_view_interval()
        is_short = low > 0 and high / low < 300
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if is_short else (1,)))
        axis.set_minor_locator(NullLocator())
