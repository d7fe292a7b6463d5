"""Charts drawn by Bokeh: each becomes the JSON that its library embeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcsim.report.charts import Chart, Series
from mcsim.report.looks import MARKERS, bokeh_dash
from mcsim.report.models import Model, by_column, document, model, same
from mcsim.report.sheet import INK, PAPER, Sheet

__all__ = ["plot"]

_MARKS = 12  # of a line, so that it is told from others in grey


def plot(chart: Chart) -> tuple[Any, list[Any]]:
    """Return a chart as JSON for `Bokeh.embed.embed_item`, the same for the same chart.

    The first part is all but the numbers, and alike for charts that look alike; where columns
    belong it has their place in the second.
    """
    sheet = Sheet(chart)
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
        sheet.mark(position, name)
    for value, name in chart.levels:
        sheet.level(value, name)
    return document(sheet.model()), sheet.columns


def _lines(sheet: Sheet, chart: Chart) -> None:
    told = []
    for i, series in enumerate(chart.series):
        x = _own_positions(chart, series)
        line = model("Line", x=by_column("x"), y=by_column("y"), **_stroke(series))
        told.append(sheet.add(_points_of(sheet, x, series.y), line, i, series))
        _marks(sheet, i, series, x, series.y)
    _tell_each(sheet, told, chart)
    sheet.from_zero()


def _points(sheet: Sheet, chart: Chart) -> None:
    told = []
    for i, series in enumerate(chart.series):
        source = _points_of(sheet, _own_positions(chart, series), series.y)
        told.append(sheet.add(source, _scatter(series), i, series))
    _tell_each(sheet, told, chart)
    sheet.from_zero()


def _steps(sheet: Sheet, chart: Chart) -> None:
    edges = np.asarray(chart.x, np.float64)
    columns = {"x": edges} | {f"y{i}": _short(_held(s.y)) for i, s in enumerate(chart.series)}
    source = sheet.source(columns | _middles(chart, edges))
    for i, series in enumerate(chart.series):
        places = {"x": by_column("x"), "y": by_column(f"y{i}")}
        sheet.add(source, model("Step", **places, mode="after", **_stroke(series)), i, series)
        _marks(sheet, i, series, (edges[1:] + edges[:-1]) / 2, series.y)
    _tell_all(sheet, chart, source)
    sheet.from_zero()


def _areas(sheet: Sheet, chart: Chart) -> None:
    edges = np.asarray(chart.x, np.float64)
    level = np.zeros(len(edges))
    columns = {"x": edges, "level0": _short(level)}
    for i, series in enumerate(chart.series):
        own = _held(series.y)
        level = level + np.nan_to_num(own)
        columns |= {f"y{i}": _short(own), f"level{i + 1}": _short(level)}
    source = sheet.source(columns | _middles(chart, edges))
    for i, series in enumerate(chart.series):
        levels = {"y1": by_column(f"level{i}"), "y2": by_column(f"level{i + 1}")}
        fill = _fill(series) | {"fill_color": series.look.color}
        area = model("VAreaStep", x=by_column("x"), **levels, step_mode="after", **fill)
        sheet.add(source, area, i, series)
    _tell_all(sheet, chart, source)
    sheet.y["start"] = 0


def _bars(sheet: Sheet, chart: Chart) -> None:
    names = [str(name) for name in chart.x]
    places = np.arange(len(names), dtype=np.float64)
    width = 0.84 / len(chart.series)
    for i, series in enumerate(chart.series):
        x = places + width * (i + 0.5 - len(chart.series) / 2)
        source = sheet.source({"x": x, "top": series.y, "group": names})
        spread = {"x": by_column("x"), "top": by_column("top"), "width": same(0.92 * width)}
        sheet.add(source, model("VBar", **spread, **_box(series)), i, series)
    sheet.tell([("", "@group"), (chart.y_label, f"@top{_digits(chart)}")])
    sheet.names["x"] = names
    sheet.slanted = sum(map(len, names)) > 40
    sheet.from_zero()


def _stacked(sheet: Sheet, chart: Chart) -> None:
    names = [str(name) for name in chart.x]
    places = np.arange(len(names), dtype=np.float64)
    left = np.zeros(len(places))
    for i, series in enumerate(chart.series):
        right = left + np.nan_to_num(series.y)
        columns = {"y": places, "left": left, "right": right, "own": series.y}
        source = sheet.source(columns | {"group": names})
        spread = {name: by_column(name) for name in ("y", "left", "right")}
        sheet.add(source, model("HBar", **spread, height=same(0.76), **_box(series)), i, series)
        left = right
    sheet.tell([("", "@group"), (chart.x_label, f"@own{_digits(chart)}")])
    sheet.names["y"] = names
    sheet.y["flipped"] = True
    sheet.x["start"] = 0


def _own_positions(chart: Chart, series: Series) -> NDArray[np.float64]:
    return np.asarray(chart.x, np.float64) if series.x is None else series.x


def _points_of(sheet: Sheet, x: NDArray[np.float64], y: NDArray[np.float64]) -> Model:
    return sheet.source({"x": _short(x), "y": _short(y)})


def _held(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values that hold until the next one, at all edges: the last one at the end, too."""
    return np.append(values, values[-1:])


def _short(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values in half the space: seven figures are more than a plot tells."""
    return np.asarray(values, np.float32)


def _stroke(series: Series) -> dict[str, Any]:
    look = series.look
    return {"line_color": look.color, "line_dash": bokeh_dash(look.dashes), "line_width": 2}


def _fill(series: Series) -> dict[str, Any]:
    hatch = series.look.hatch
    if not hatch:
        return {}
    return {
        "hatch_pattern": same(hatch[0]),
        "hatch_color": same(PAPER),
        "hatch_scale": same(14 if len(hatch) < 3 else 8),
    }


def _box(series: Series) -> dict[str, Any]:
    line = {"line_color": same(INK), "line_width": same(0.6)}
    return _fill(series) | {"fill_color": same(series.look.color)} | line


def _marks(
    sheet: Sheet, i: int, series: Series, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Put a few markers on a line, those of no two lines at the same places."""
    there = np.flatnonzero(~np.isnan(y))
    if not len(there):
        return
    step = max(1, len(there) // _MARKS)
    some = there[(i * step // 3) % step :: step]
    sheet.add(_points_of(sheet, x[some], y[some]), _scatter(series), i, series)


def _scatter(series: Series) -> Model:
    marker, angle = MARKERS[series.look.marker]
    look = {"marker": marker, "angle": angle, "size": 8}
    look |= dict.fromkeys(("line_color", "fill_color"), series.look.color)
    alike = {name: same(value) for name, value in look.items()}
    return model("Scatter", x=by_column("x"), y=by_column("y"), **alike)


_NUMBER, _FRACTION = "{0,0.[00]}", "{0.[000000]}"


def _digits(chart: Chart) -> str:
    """Return how values are written: those that are all small with more digits."""
    highest = max((float(np.nanmax(s.y, initial=0)) for s in chart.series), default=0)
    return _FRACTION if highest < 1 else _NUMBER


def _tell_each(sheet: Sheet, renderers: Any, chart: Chart) -> None:
    """Tell the point under the pointer."""
    tooltips = [(chart.x_label, f"@x{_NUMBER}"), (chart.y_label, f"@y{_digits(chart)}")]
    sheet.tell(tooltips, renderers)


def _middles(chart: Chart, edges: NDArray[np.float64]) -> dict[str, NDArray[np.float32]]:
    """Return a line through the midst of what is seen, between the edges: for the pointer."""
    heights = np.nan_to_num(np.array([series.y for series in chart.series]))
    top = heights.sum(axis=0) if chart.kind == "areas" else heights.max(axis=0)
    middle = (edges[1:] + edges[:-1]) / 2
    beyond = np.full(len(edges) - len(middle), np.nan)
    return {
        "middle": _short(np.append(middle, beyond)),
        "top": _short(np.append(top / 2, beyond)),
    }


def _tell_all(sheet: Sheet, chart: Chart, source: Model) -> None:
    """Tell the values of all series where the pointer is, by a line that is not seen."""
    line = sheet.add_unseen(source, "middle", "top")
    tooltips = [(chart.x_label, f"@x{_NUMBER}")]
    tooltips += [(s.look.label, f"@y{i}{_digits(chart)}") for i, s in enumerate(chart.series)]
    sheet.tell_at_once(tooltips, line)
