"""Charts drawn by Bokeh: each becomes the JSON that its library embeds.

The tools are few: a drag zooms, as do the wheel with the control key and the page's own buttons
and keys; the pointer is told the values under it. The legend is the page's own, for one that is
drawn can neither be reached by keyboard nor wrap on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from math import pi
from typing import Any, Literal

import numpy as np
from bokeh.document import Document
from bokeh.models import (
    BoxZoomTool,
    ColumnDataSource,
    FixedTicker,
    HBar,
    HoverTool,
    Line,
    NumeralTickFormatter,
    PlainText,
    Scatter,
    Step,
    VAreaStep,
    VBar,
    WheelZoomTool,
)
from bokeh.models.annotations import Label, Span
from bokeh.plotting import figure
from numpy.typing import NDArray

from mcsim.report.charts import Chart, Series
from mcsim.report.looks import MARKERS, bokeh_dash

__all__ = ["library", "plot"]

INK, GRID, PAPER, FAINT = "#1f2328", "#d8dee4", "#ffffff", "#59636e"

_HEIGHT = 320
_MARKS = 12  # of a line, so that it is told from others in grey


def library() -> str:
    """Return the program that draws: Bokeh's, as its package has it."""
    folder = resources.files("bokeh") / "server" / "static" / "js"
    return folder.joinpath("bokeh.min.js").read_text(encoding="utf-8")


def plot(chart: Chart) -> tuple[Any, list[Any]]:
    """Return a chart as JSON for `Bokeh.embed.embed_item`, the same for the same chart.

    The first part is all but the numbers, and alike for charts that look alike; where columns
    belong it has their place in the second.
    """
    sheet = _sheet(chart)
    draw = {
        "lines": _lines,
        "steps": _steps,
        "areas": _areas,
        "points": _points,
        "bars": _bars,
        "stacked": _stacked,
    }[chart.kind]
    draw(sheet, chart)
    for position, name in chart.marks:
        _mark(sheet, position, name)
    for value, name in chart.levels:
        _level(sheet, value, name)
    document = Document()
    document.title = ""
    document.add_root(sheet)
    item = _renumbered({"doc": document.to_json(deferred=False), "root_id": sheet.id})
    return item, _columns_taken(item)


def _sheet(chart: Chart) -> Any:
    """Return an empty plot with axes and tools."""
    rows = len(chart.x) if chart.kind == "stacked" else 0
    sheet = figure(
        height=80 + 26 * rows if rows else _HEIGHT,
        sizing_mode="stretch_width",
        x_axis_type="log" if chart.log_x else "linear",
        y_axis_type="log" if chart.log_y else "linear",
        toolbar_location=None,
        tools=[],
        min_border_right=12,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
    )
    wheel = WheelZoomTool(dimensions="width", modifiers="ctrl")
    zoom = BoxZoomTool(dimensions="both" if chart.kind in ("lines", "points") else "width")
    if chart.kind == "stacked":
        wheel, zoom = WheelZoomTool(dimensions="width", modifiers="ctrl"), BoxZoomTool()
    zoom.overlay.fill_color, zoom.overlay.line_color = FAINT, INK
    sheet.add_tools(zoom, wheel)
    sheet.toolbar.active_drag, sheet.toolbar.active_scroll = zoom, wheel
    for axis, label, log in (
        (sheet.xaxis[0], chart.x_label, chart.log_x),
        (sheet.yaxis[0], chart.y_label, chart.log_y),
    ):
        axis.axis_label = PlainText(text=label)
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
        axis.axis_label_text_color = axis.major_label_text_color = INK
        axis.axis_line_color = axis.major_tick_line_color = FAINT
        axis.minor_tick_line_color = None
        if not log:
            axis.formatter = NumeralTickFormatter(format="0,0.[000]")
    for grid in (sheet.xgrid[0], sheet.ygrid[0]):
        grid.grid_line_color = GRID
    return sheet


def _lines(sheet: Any, chart: Chart) -> None:
    told = []
    for i, series in enumerate(chart.series):
        x = _own_positions(chart, series)
        source = ColumnDataSource({"x": _short(x), "y": _short(series.y)})
        told.append(_add(sheet, source, Line(x="x", y="y", **_stroke(series)), i, series))
        _marks(sheet, i, series, x, series.y)
    _tell_each(sheet, told, chart)
    _from_zero(sheet, chart)


def _points(sheet: Any, chart: Chart) -> None:
    told = []
    for i, series in enumerate(chart.series):
        source = ColumnDataSource(
            {"x": _short(_own_positions(chart, series)), "y": _short(series.y)}
        )
        told.append(_add(sheet, source, _scatter(series), i, series))
    _tell_each(sheet, told, chart)
    _from_zero(sheet, chart)


def _steps(sheet: Any, chart: Chart) -> None:
    edges = np.asarray(chart.x, np.float64)
    columns = {f"y{i}": _short(_held(s.y)) for i, s in enumerate(chart.series)}
    source = ColumnDataSource(columns | {"x": edges})
    for i, series in enumerate(chart.series):
        step = Step(x="x", y=f"y{i}", mode="after", **_stroke(series))
        _add(sheet, source, step, i, series)
        _marks(sheet, i, series, (edges[1:] + edges[:-1]) / 2, series.y)
    _tell_all(sheet, chart, edges, source)
    _from_zero(sheet, chart)


def _areas(sheet: Any, chart: Chart) -> None:
    edges = np.asarray(chart.x, np.float64)
    level = np.zeros(len(edges))
    columns = {"x": edges, "level0": _short(level)}
    for i, series in enumerate(chart.series):
        own = _held(series.y)
        level = level + np.nan_to_num(own)
        columns |= {f"y{i}": _short(own), f"level{i + 1}": _short(level)}
    source = ColumnDataSource(columns)
    for i, series in enumerate(chart.series):
        levels: dict[str, Any] = {"y1": f"level{i}", "y2": f"level{i + 1}"}
        area = VAreaStep(x="x", **levels, step_mode="after", **_fill(series))
        _add(sheet, source, area, i, series)
    _tell_all(sheet, chart, edges, source)
    sheet.y_range.start = 0


def _held(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values that hold until the next one, at all edges: the last one at the end, too."""
    return np.append(values, values[-1:])


def _bars(sheet: Any, chart: Chart) -> None:
    names = [str(name) for name in chart.x]
    places = np.arange(len(names), dtype=np.float64)
    width = 0.84 / len(chart.series)
    for i, series in enumerate(chart.series):
        x = places + width * (i + 0.5 - len(chart.series) / 2)
        source = ColumnDataSource({"x": x, "top": series.y, "group": names})
        bar = VBar(x="x", top="top", width=0.92 * width, **_box(series))
        _add(sheet, source, bar, i, series)
    _tell(sheet, "auto", [("", "@group"), (chart.y_label, f"@top{_digits(chart)}")])
    _name_groups(sheet.xaxis[0], sheet.xgrid[0], names)
    if sum(map(len, names)) > 40:
        sheet.xaxis[0].major_label_orientation = pi / 5
    _from_zero(sheet, chart)


def _stacked(sheet: Any, chart: Chart) -> None:
    names = [str(name) for name in chart.x]
    places = np.arange(len(names), dtype=np.float64)
    left = np.zeros(len(places))
    for i, series in enumerate(chart.series):
        right = left + np.nan_to_num(series.y)
        columns = {"y": places, "left": left, "right": right, "own": series.y}
        source = ColumnDataSource(columns | {"group": names})
        bar = HBar(y="y", left="left", right="right", height=0.76, **_box(series))
        _add(sheet, source, bar, i, series)
        left = right
    _tell(sheet, "auto", [("", "@group"), (chart.x_label, f"@own{_digits(chart)}")])
    _name_groups(sheet.yaxis[0], sheet.ygrid[0], names)
    sheet.y_range.flipped = True
    sheet.x_range.start = 0


def _own_positions(chart: Chart, series: Series) -> NDArray[np.float64]:
    return np.asarray(chart.x, np.float64) if series.x is None else series.x


def _from_zero(sheet: Any, chart: Chart) -> None:
    """Begin the axis of values at zero, where that is not in their midst."""
    below = any(bool((series.y < 0).any()) for series in chart.series)
    if not (chart.log_y or below):
        sheet.y_range.start = 0


def _add(sheet: Any, source: Any, glyph: Any, i: int, series: Series) -> Any:
    """Add what is of series number i, by which the legend finds it."""
    return sheet.add_glyph(source, glyph, name=series.look.label, tags=[f"s{i}"])


def _short(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values in half the space: seven figures are more than a plot tells."""
    return np.asarray(values, np.float32)


def _name_groups(axis: Any, grid: Any, names: Sequence[Any]) -> None:
    axis.ticker = FixedTicker(ticks=list(range(len(names))))
    axis.major_label_overrides = {i: PlainText(text=str(n)) for i, n in enumerate(names)}
    grid.grid_line_color = None


def _stroke(series: Series) -> dict[str, Any]:
    look = series.look
    return {"line_color": look.color, "line_dash": bokeh_dash(look.dashes), "line_width": 2}


def _fill(series: Series) -> dict[str, Any]:
    filled: dict[str, Any] = {"fill_color": series.look.color}
    if hatch := series.look.hatch:
        scale = 14 if len(hatch) < 3 else 8
        filled |= {"hatch_pattern": hatch[0], "hatch_color": PAPER, "hatch_scale": scale}
    return filled


def _box(series: Series) -> dict[str, Any]:
    return _fill(series) | {"line_color": INK, "line_width": 0.6}


def _marks(
    sheet: Any, i: int, series: Series, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Put a few markers on a line, those of no two lines at the same places."""
    there = np.flatnonzero(~np.isnan(y))
    if not len(there):
        return
    step = max(1, len(there) // _MARKS)
    some = there[(i * step // 3) % step :: step]
    source = ColumnDataSource({"x": _short(x[some]), "y": _short(y[some])})
    _add(sheet, source, _scatter(series), i, series)


def _scatter(series: Series) -> Any:
    marker, angle = MARKERS[series.look.marker]
    color = series.look.color
    return Scatter(
        x="x", y="y", marker=marker, angle=angle, size=8, line_color=color, fill_color=color
    )


def _tell_each(sheet: Any, renderers: Any, chart: Chart) -> None:
    """Tell the point under the pointer."""
    tooltips = [(chart.x_label, f"@x{_NUMBER}"), (chart.y_label, f"@y{_digits(chart)}")]
    _tell(sheet, renderers, tooltips)


_NUMBER, _FRACTION = "{0,0.[00]}", "{0.[000000]}"


def _digits(chart: Chart) -> str:
    """Return how values are written: those that are all small with more digits."""
    highest = max((float(np.nanmax(s.y, initial=0)) for s in chart.series), default=0)
    return _FRACTION if highest < 1 else _NUMBER


def _tell(sheet: Any, renderers: Any, tooltips: Sequence[tuple[str, str]]) -> None:
    """Tell what is under the pointer: whose it is, and its values."""
    sheet.add_tools(
        HoverTool(renderers=renderers, tooltips=[("", "$name"), *tooltips], line_policy="nearest")
    )


def _tell_all(sheet: Any, chart: Chart, edges: NDArray[np.float64], source: Any) -> None:
    """Tell the values of all series where the pointer is, by a line that is not seen.

    The source has them, as `y0`, `y1`, ..., and the positions `x`.
    """
    heights = np.nan_to_num(np.array([series.y for series in chart.series]))
    top = heights.sum(axis=0) if chart.kind == "areas" else heights.max(axis=0)
    middle = (edges[1:] + edges[:-1]) / 2
    beyond = np.full(len(source.data["x"]) - len(middle), np.nan)
    source.data["middle"] = _short(np.append(middle, beyond))
    source.data["top"] = _short(np.append(top / 2, beyond))
    line = sheet.add_glyph(source, Line(x="middle", y="top", line_alpha=0))
    tooltips = [(chart.x_label, f"@x{_NUMBER}")]
    tooltips += [(s.look.label, f"@y{i}{_digits(chart)}") for i, s in enumerate(chart.series)]
    hover = HoverTool(renderers=[line], tooltips=tooltips, mode="vline", line_policy="nearest")
    sheet.add_tools(hover)


def _mark(sheet: Any, position: float, name: str) -> None:
    _dashed(sheet, position, "height")
    _named(sheet, name, x=position, y=6, y_units="screen", x_offset=-4, angle=pi / 2)


def _level(sheet: Any, value: float, name: str) -> None:
    _dashed(sheet, value, "width")
    _named(sheet, name, x=6, x_units="screen", y=value, y_offset=2)


def _dashed(sheet: Any, location: float, dimension: Literal["width", "height"]) -> None:
    sheet.add_layout(
        Span(location=location, dimension=dimension, line_color=FAINT, line_dash=[3, 3])
    )


def _named(sheet: Any, name: str, **where: Any) -> None:
    sheet.add_layout(
        Label(
            **where,
            text=PlainText(text=name),
            text_color=FAINT,
            text_font_size="11px",
            background_fill_color=PAPER,
            background_fill_alpha=0.8,
        )
    )


def _renumbered(item: Any) -> Any:
    """Number the objects of a plot from 1 on, whatever the process made before."""
    names: dict[str, str] = {}

    def find(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("id"), str):
                names.setdefault(node["id"], f"p{len(names) + 1}")
            for each in node.values():
                find(each)
        elif isinstance(node, (list, tuple)):
            for each in node:
                find(each)

    def renamed(node: Any) -> Any:
        if isinstance(node, dict):
            return {
                key: names[value] if key == "id" and isinstance(value, str) else renamed(value)
                for key, value in node.items()
            }
        return [renamed(each) for each in node] if isinstance(node, (list, tuple)) else node

    find(item["doc"])
    return {"doc": renamed(item["doc"]), "root_id": names[item["root_id"]]}


def _columns_taken(node: Any) -> list[Any]:
    """Take the columns out of a plot's sources; leave their places in what is returned."""
    columns: list[Any] = []

    def take(node: Any) -> None:
        if isinstance(node, dict):
            if node.get("name") == "ColumnDataSource" and "attributes" in node:
                columns.append(node["attributes"]["data"])
                node["attributes"]["data"] = len(columns) - 1
            for each in node.values():
                take(each)
        elif isinstance(node, list):
            for each in node:
                take(each)

    take(node)
    return columns
