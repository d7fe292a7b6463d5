"""Charts drawn by Bokeh: each becomes the JSON that `Bokeh.embed.embed_item` shows.

A drag zooms, as do the wheel with the control key and the page's own buttons and keys. Values
appear below the pointer. The legend is HTML of the page, because the keyboard does not reach a
legend that Bokeh draws, and it does not wrap on a phone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from math import pi
from typing import Any

import bokeh.models
import numpy as np
from bokeh.document import Document
from bokeh.palettes import Cividis256
from bokeh.plotting import figure
from bokeh.resources import Resources
from numpy.typing import NDArray

from mcsim.figures.chart import Chart, Series
from mcsim.figures.looks import Look

models: Any = bokeh.models  # its stubs lack classes and constructors

INK, GRID, PAPER, FAINT = "#1f2328", "#d8dee4", "#ffffff", "#59636e"

_HEIGHT = 320
_MARKS = 12  # markers of a line, so that grey prints are legible
_TEXT = 'font-size="11" text-anchor="middle"'
_NUMBER, _FRACTION = "{0,0.[00]}", "{0.[000000]}"

# Markers by matplotlib's names: Bokeh's name, its rotation, and the character of the legend.
_MARKERS = {
    "o": ("circle", 0.0, "●"),
    ".": ("circle", 0.0, "•"),
    "s": ("square", 0.0, "■"),
    "^": ("triangle", 0.0, "▲"),
    "v": ("inverted_triangle", 0.0, "▼"),
    "<": ("triangle", pi / 2, "◀"),
    ">": ("triangle", -pi / 2, "▶"),
    "D": ("diamond", 0.0, "◆"),
    "P": ("plus", 0.0, "✚"),
    "X": ("x", 0.0, "✖"),
    "*": ("star", 0.0, "★"),
}

Values = NDArray[np.float64]


def library() -> str:
    """Return the JavaScript of Bokeh."""
    text: str = Resources(mode="inline", components=["bokeh"], log_level="warn").js_raw[0]
    return text


def plot(chart: Chart) -> Any:
    """Return a chart as JSON: the same for the same chart."""
    row = {"stacked": 26, "dots": 14 + 6 * len(chart.series)}.get(chart.kind, 0)
    shown = figure(
        height=90 + row * len(chart.x) if row else _HEIGHT,
        sizing_mode="stretch_width",
        x_axis_type="log" if chart.log_x else "linear",
        y_axis_type="log" if chart.log_y else "linear",
        x_axis_label=models.PlainText(chart.x_label),
        y_axis_label=models.PlainText(chart.y_label),
        tools=[],
        toolbar_location=None,
        outline_line_color=None,
        background_fill_color=None,
        border_fill_color=None,
        min_border_right=12,
    )
    _set_axes(shown, chart)
    draw = {"bars": _bars, "stacked": _stacked, "areas": _areas, "dots": _dots, "map": _map}
    draw.get(chart.kind, _lines)(shown, chart)
    for position, name in chart.marks:
        _annotate(shown, name, "height", position)
    for value, name in chart.levels:
        _annotate(shown, name, "width", value)
    _add_tools(shown, chart)
    document = Document()
    document.add_root(shown)
    return _renumbered({"doc": document.to_json(deferred=False), "root_id": shown.id})


def _renumbered(item: Any) -> Any:
    """Return JSON with the ids of models numbered from 1, whatever was made before."""
    text = json.dumps(item, separators=(",", ":"), allow_nan=False)
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return f'"{found[1]}":"{numbers.setdefault(found[2], f"p{len(numbers) + 1}")}"'

    return json.loads(re.sub(r'"(id|root_id)":"(p\d+)"', number, text))


def _set_axes(shown: Any, chart: Chart) -> None:
    for axis, is_log in ((shown.xaxis[0], chart.log_x), (shown.yaxis[0], chart.log_y)):
        axis.update(
            axis_label_text_color=INK,
            axis_label_text_font_size="12px",
            axis_label_text_font_style="normal",
            major_label_text_color=INK,
            major_label_text_font_size="12px",
            axis_line_color=FAINT,
            major_tick_line_color=FAINT,
            minor_tick_line_color=None,
        )
        axis.formatter = models.NumeralTickFormatter(
            format="0,0.[000000]" if is_log else "0,0.[000]"
        )
    shown.grid.grid_line_color = GRID
    if chart.begins_at_zero and chart.kind != "map":
        (shown.x_range if chart.is_horizontal else shown.y_range).start = 0
    if chart.ticks:
        shown.xaxis.ticker = models.FixedTicker(ticks=list(chart.ticks))
    if chart.is_horizontal:
        _name(shown.yaxis[0], shown.ygrid[0], chart.x)
        shown.y_range.flipped = True
    elif chart.has_names:
        _name(shown.xaxis[0], shown.xgrid[0], chart.x)
        if sum(len(str(name)) for name in chart.x) > 40:
            shown.xaxis[0].major_label_orientation = pi / 5


def _name(axis: Any, grid: Any, names: Values | Sequence[str]) -> None:
    axis.ticker = models.FixedTicker(ticks=list(range(len(names))))
    axis.major_label_overrides = {i: models.PlainText(str(name)) for i, name in enumerate(names)}
    grid.grid_line_color = None


def _source(**columns: Any) -> Any:
    """Return columns with numbers in 4 bytes, which are precise enough for a plot."""
    return models.ColumnDataSource(
        {
            name: values.astype(np.float32) if isinstance(values, np.ndarray) else values
            for name, values in columns.items()
        }
    )


def _tag(renderer: Any, number: int, label: str) -> Any:
    """Mark a renderer with the number of its series, so that the legend finds it."""
    renderer.update(tags=[f"s{number}"], name=label)
    return renderer


def _lines(shown: Any, chart: Chart) -> None:
    hovered: list[Any] = []
    for number, series in enumerate(chart.series):
        x, y, label = chart.positions(series), series.y, series.look.label
        kind = chart.kind_of(series)
        alpha = 0.35 if series.is_pale else 1.0
        if len(x) > len(y):
            places = (x[1:] + x[:-1]) / 2
            y = np.append(y, y[-1:])
        else:
            places = x
        if series.low is not None and series.high is not None:
            band = _source(x=x[: len(series.low)], low=series.low, high=series.high)
            if kind == "points":
                bars = models.Whisker(base="x", lower="low", upper="high", source=band)
                bars.update(line_color=series.look.color, upper_head=None, lower_head=None)
                shown.add_layout(bars)
            else:
                shade = {"fill_color": series.look.color, "fill_alpha": 0.2}
                area = models.VArea(x="x", y1="low", y2="high", **shade)
                _tag(shown.add_glyph(band, area), number, label)
        source = _source(x=x, y=y)
        if kind != "points":
            stroke: dict[str, Any] = {"x": "x", "y": "y", "line_width": 2, "line_alpha": alpha}
            stroke |= {"line_color": series.look.color, "line_dash": _dash(series.look)}
            is_step = kind == "steps"
            glyph = models.Step(mode="after", **stroke) if is_step else models.Line(**stroke)
            line = shown.add_glyph(source, glyph)
            hovered.append(_tag(line, number, label))
        there = np.flatnonzero(~np.isnan(series.y))
        step = 1 if kind == "points" else max(1, len(there) // _MARKS)
        some = there[(number * step // 3) % step :: step]
        if len(some) and series.look.marker in _MARKERS:
            marks = _source(x=places[some], y=series.y[some])
            points = _tag(shown.add_glyph(marks, _scatter(series.look, alpha)), number, label)
            hovered += [points] if kind == "points" else []
    tooltips = [
        ("", "$name"),
        (chart.x_label, f"@x{_NUMBER}"),
        (chart.y_label, f"@y{_digits(chart)}"),
    ]
    if chart.kind == "steps" and all(one.x is None for one in chart.series):
        _hover_all(shown, chart, max)
    else:
        shown.add_tools(models.HoverTool(renderers=hovered, tooltips=tooltips))


def _dash(look: Look) -> list[int]:
    """Return lengths on and off, of a line of width 2; empty if it is solid."""
    return [round(2 * float(each)) for each in look.dashes.split()]


def _scatter(look: Look, alpha: float = 1.0) -> Any:
    marker, angle, _ = _MARKERS[look.marker]
    color = {"line_color": look.color, "fill_color": look.color}
    opacity = {"line_alpha": alpha, "fill_alpha": alpha}
    thick = {"line_width": 3 if marker == "x" else 1}  # a cross is of lines alone
    place = {"x": "x", "y": "y", "marker": marker, "angle": angle, "size": 8}
    return models.Scatter(**place, **color, **opacity, **thick)


def _areas(shown: Any, chart: Chart) -> None:
    edges = np.asarray(chart.x, np.float64)
    below = np.zeros(len(edges))
    for number, series in enumerate(chart.series):
        top = below + np.nan_to_num(np.append(series.y, series.y[-1:]))
        source = _source(x=edges, below=below, top=top)
        area = models.VAreaStep(x="x", y1="below", y2="top", step_mode="after")
        area.fill_color = series.look.color
        _tag(shown.add_glyph(source, area), number, series.look.label)
        below = top
    _hover_all(shown, chart, sum)


def _hover_all(shown: Any, chart: Chart, stack: Any) -> None:
    """Show the values of all series at the pointer, by an invisible line through their middle."""
    edges = np.asarray(chart.x, np.float64)
    middle = (edges[1:] + edges[:-1]) / 2
    columns = {f"y{i}": series.y for i, series in enumerate(chart.series)}
    heights = [np.nan_to_num(series.y) for series in chart.series]
    top = np.sum(heights, axis=0) if stack is sum else np.max(heights, axis=0)
    source = _source(x=middle, top=top / 2, **columns)
    line = shown.add_glyph(source, models.Line(x="x", y="top", line_alpha=0))
    tooltips = [(chart.x_label, f"@x{_NUMBER}")]
    tooltips += [(s.look.label, f"@y{i}{_digits(chart)}") for i, s in enumerate(chart.series)]
    shown.add_tools(models.HoverTool(renderers=[line], tooltips=tooltips, mode="vline"))


def _bars(shown: Any, chart: Chart) -> None:
    names, width = [str(name) for name in chart.x], 0.84 / len(chart.series)
    for number, series in enumerate(chart.series):
        x = np.arange(len(names)) + width * (number + 0.5 - len(chart.series) / 2)
        source = _source(x=x, top=series.y, group=names)
        bars = models.VBar(x="x", top="top", width=0.92 * width, **_box(series))
        _tag(shown.add_glyph(source, bars), number, series.look.label)
    value = (chart.y_label, f"@top{_digits(chart)}")
    shown.add_tools(models.HoverTool(tooltips=[("", "$name"), ("", "@group"), value]))


def _stacked(shown: Any, chart: Chart) -> None:
    names = [str(name) for name in chart.x]
    places, left = np.arange(len(names), dtype=np.float64), np.zeros(len(names))
    for number, series in enumerate(chart.series):
        right = left + np.nan_to_num(series.y)
        source = _source(y=places, left=left, right=right, own=series.y, group=names)
        bars = models.HBar(y="y", left="left", right="right", height=0.76, **_box(series))
        _tag(shown.add_glyph(source, bars), number, series.look.label)
        left = right
    value = (chart.x_label, f"@own{_digits(chart)}")
    shown.add_tools(models.HoverTool(tooltips=[("", "$name"), ("", "@group"), value]))


def _dots(shown: Any, chart: Chart) -> None:
    names = [str(name) for name in chart.x]
    places = np.arange(len(names), dtype=np.float64)
    low, high = chart.spans()
    spans = _source(low=low, high=high, y=places)
    shown.add_glyph(spans, models.Segment(x0="low", x1="high", y0="y", y1="y", line_color=FAINT))
    dots = []
    for number, series in enumerate(chart.series):
        source = _source(x=series.y, y=places + chart.offset_of(number), group=names)
        glyph = _scatter(series.look)
        dots.append(_tag(shown.add_glyph(source, glyph), number, series.look.label))
    value = (chart.x_label, f"@x{_digits(chart)}")
    tooltips = [("", "$name"), ("", "@group"), value]
    shown.add_tools(models.HoverTool(renderers=dots, tooltips=tooltips))


def _map(shown: Any, chart: Chart) -> None:
    cells = np.array([one.y for one in chart.series])

    def edges(given: Any, count: int) -> Any:
        has_edges = len(given) == count + 1
        return np.asarray(given, np.float64) if has_edges else np.arange(count + 1) - 0.5

    rows, columns = np.indices(cells.shape).reshape(2, -1)
    x, y = edges(chart.x, cells.shape[1]), edges(chart.rows, cells.shape[0])
    source = _source(
        left=x[columns], right=x[columns + 1], bottom=y[rows], top=y[rows + 1], value=cells.ravel()
    )
    low, high = float(np.nanmin(cells, initial=np.inf)), float(np.nanmax(cells, initial=-np.inf))
    colors = models.LinearColorMapper(palette=Cividis256, low=low, high=high, nan_color=PAPER)
    mapped = {"field": "value", "transform": colors}
    sides = {side: side for side in ("left", "right", "bottom", "top")}
    shown.add_glyph(source, models.Quad(**sides, fill_color=mapped, line_color=mapped))
    if len(chart.rows) == cells.shape[0]:
        _name(shown.yaxis[0], shown.ygrid[0], chart.rows)
    shown.add_tools(models.HoverTool(tooltips=[(chart.value_label, f"@value{_NUMBER}")]))


def _box(series: Series) -> dict[str, Any]:
    return {"fill_color": series.look.color, "line_color": PAPER, "line_width": 0.6}


def _digits(chart: Chart) -> str:
    """Return the format of values: small ones have more digits."""
    highest = max((float(np.nanmax(one.y, initial=0)) for one in chart.series), default=0)
    return _FRACTION if highest < 1 else _NUMBER


def _annotate(shown: Any, name: str, dimension: str, place: float) -> None:
    shown.add_layout(
        models.Span(location=place, dimension=dimension, line_color=FAINT, line_dash=[3, 3])
    )
    if not name:
        return
    where: dict[str, Any] = {"x": 6, "x_units": "screen", "y": place, "y_offset": 2}
    if dimension == "height":
        where = {"x": place, "y": 6, "y_units": "screen", "x_offset": -4, "angle": pi / 2}
    shown.add_layout(
        models.Label(
            text=models.PlainText(name),
            text_color=FAINT,
            text_font_size="11px",
            background_fill_color=PAPER,
            background_fill_alpha=0.8,
            **where,
        )
    )


def _add_tools(shown: Any, chart: Chart) -> None:
    both = chart.kind in ("lines", "points", "stacked", "dots", "map")
    zoom = models.BoxZoomTool(dimensions="both" if both else "width")
    zoom.overlay.update(line_color=INK, fill_color=FAINT)
    wheel = models.WheelZoomTool(dimensions="width", modifiers="ctrl")
    shown.add_tools(zoom, wheel)
    shown.toolbar.active_drag = zoom
    shown.toolbar.active_scroll = wheel


def swatch(look: Look, kind: str) -> str:
    """Return an SVG of 28 by 12 that looks like a series in a chart of this kind."""
    color = f'class="ink" data-ink="{look.color}"'
    if kind in ("lines", "steps", "points", "dots"):
        dash = " ".join(map(str, _dash(look)))
        line = f'<path d="M1 6H27" {color} stroke="{look.color}" stroke-dasharray="{dash}"/>'
        body = "" if kind in ("points", "dots") else line
        sign, ink = _MARKERS.get(look.marker, ("", 0.0, ""))[2], f'fill="{look.color}"'
        body += f'<text x="14" y="10" {_TEXT} {color} {ink}>{sign}</text>'
    else:
        body = f'<path d="M0 0H28V12H0Z" {color} fill="{look.color}"/>'
    return f'<svg viewBox="0 0 28 12" width="28" height="12" aria-hidden="true">{body}</svg>'
