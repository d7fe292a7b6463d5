"""A plot as it fills: what is drawn and told, and the axes, tools and notes that all plots have.

The tools are few: a drag zooms, as do the wheel with the control key and the page's own buttons
and keys; the pointer is told the values under it. The legend is the page's own, for one that is
drawn can neither be reached by keyboard nor wrap on a phone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any, Literal

import numpy as np

from mcsim.report.charts import Chart, Series
from mcsim.report.models import Model, by_column, mapping, model, numbers

__all__ = ["INK", "PAPER", "Sheet"]

INK, GRID, PAPER, FAINT = "#1f2328", "#d8dee4", "#ffffff", "#59636e"

_HEIGHT = 320


class Sheet:
    """A plot of one chart.

    Attributes
    ----------
    columns : list
        Of each source; it has their place here.
    x, y : dict
        Of ranges, what is not Bokeh's to find.
    names : dict
        By axis, ``x`` or ``y``: names instead of numbers.
    slanted : bool
        Whether the names under the plot are long.
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.columns: list[Any] = []
        self.x: dict[str, Any] = {}
        self.y: dict[str, Any] = {}
        self.names: dict[str, Sequence[str]] = {}
        self.slanted = False
        self._drawn: list[Model] = []
        self._told: list[Model] = []
        self._notes: list[Model] = []

    def source(self, columns: Mapping[str, Any]) -> Model:
        """Return a source of arrays, or of lists of names."""
        packed = {
            name: numbers(values) if isinstance(values, np.ndarray) else values
            for name, values in columns.items()
        }
        self.columns.append(mapping(packed))
        return model("ColumnDataSource", data=len(self.columns) - 1)

    def add(self, source: Model, glyph: Model, i: int, series: Series) -> Model:
        """Draw what is of series number i, by which the legend finds it."""
        return self._add(source, glyph, name=series.look.label, tags=[f"s{i}"])

    def _add(self, source: Model, glyph: Model, **whose: Any) -> Model:
        drawn = model("GlyphRenderer", **whose, data_source=source, glyph=glyph)
        self._drawn.append(drawn)
        return drawn

    def add_unseen(self, source: Model, x: str, y: str) -> Model:
        """Draw a line for the pointer alone."""
        return self._add(source, model("Line", x=by_column(x), y=by_column(y), line_alpha=0))

    def tell(self, tooltips: Sequence[tuple[str, str]], renderers: Any = "auto") -> None:
        """Tell what is under the pointer: whose it is, and its values."""
        told = [["", "$name"], *map(list, tooltips)]
        self._told.append(model("HoverTool", renderers=renderers, tooltips=told))

    def tell_at_once(self, tooltips: Sequence[tuple[str, str]], line: Model) -> None:
        """Tell what is above and below the pointer, of all series."""
        told = list(map(list, tooltips))
        self._told.append(model("HoverTool", renderers=[line], tooltips=told, mode="vline"))

    def from_zero(self) -> None:
        """Begin the axis of values at zero, where that is not in their midst."""
        below = any(bool((series.y < 0).any()) for series in self.chart.series)
        if not (self.chart.log_y or below):
            self.y["start"] = 0

    def mark(self, position: float, name: str) -> None:
        """Name a position."""
        self._dashed(position, "height")
        self._named(name, x=position, y=6, y_units="screen", x_offset=-4, angle=pi / 2)

    def level(self, value: float, name: str) -> None:
        """Name a value."""
        self._dashed(value, "width")
        self._named(name, x=6, x_units="screen", y=value, y_offset=2)

    def _dashed(self, location: float, dimension: Literal["width", "height"]) -> None:
        self._notes.append(
            model(
                "Span",
                location=float(location),
                dimension=dimension,
                line_color=FAINT,
                line_dash=[3, 3],
            )
        )

    def _named(self, name: str, **where: Any) -> None:
        self._notes.append(
            model(
                "Label",
                **where,
                text=_text(name),
                text_color=FAINT,
                text_font_size="11px",
                background_fill_color=PAPER,
                background_fill_alpha=0.8,
            )
        )

    def model(self) -> Model:
        """Return all of it."""
        chart = self.chart
        rows = len(chart.x) if chart.kind == "stacked" else 0
        below, left = self._axis("x"), self._axis("y")
        return model(
            "Figure",
            height=80 + 26 * rows if rows else _HEIGHT,
            sizing_mode="stretch_width",
            x_range=model("DataRange1d", **self.x),
            y_range=model("DataRange1d", **self.y),
            x_scale=model("LogScale" if chart.log_x else "LinearScale"),
            y_scale=model("LogScale" if chart.log_y else "LinearScale"),
            outline_line_color=None,
            renderers=self._drawn,
            toolbar=self._toolbar(),
            toolbar_location=None,
            left=[left],
            below=[below],
            center=[self._grid("x", below), self._grid("y", left), *self._notes],
            background_fill_color=None,
            border_fill_color=None,
            min_border_right=12,
        )

    def _axis(self, which: Literal["x", "y"]) -> Model:
        chart = self.chart
        log = chart.log_x if which == "x" else chart.log_y
        own: dict[str, Any] = {}
        if not log:
            own["formatter"] = model("NumeralTickFormatter", format="0,0.[000]")
        if names := self.names.get(which):
            own["ticker"] = model("FixedTicker", ticks=list(range(len(names))))
            named = {i: _text(name) for i, name in enumerate(names)}
            own["major_label_overrides"] = mapping(named)
            if self.slanted:
                own["major_label_orientation"] = pi / 5
        return model(
            "LogAxis" if log else "LinearAxis",
            **own,
            axis_label=_text(chart.x_label if which == "x" else chart.y_label),
            axis_label_text_color=INK,
            axis_label_text_font_size="12px",
            axis_label_text_font_style="normal",
            major_label_text_color=INK,
            major_label_text_font_size="12px",
            axis_line_color=FAINT,
            major_tick_line_color=FAINT,
            minor_tick_line_color=None,
        )

    def _grid(self, which: Literal["x", "y"], axis: Model) -> Model:
        color = None if which in self.names else GRID
        return model("Grid", dimension="xy".index(which), axis=axis, grid_line_color=color)

    def _toolbar(self) -> Model:
        both = self.chart.kind in ("lines", "points", "stacked")
        frame = model(
            "BoxAnnotation",
            syncable=False,
            level="overlay",
            visible=False,
            **dict.fromkeys(("left", "right", "top", "bottom"), _NOWHERE),
            **{f"{side}_units": "canvas" for side in ("left", "right", "top", "bottom")},
            line_color=INK,
            line_width=2,
            line_dash=[4, 4],
            fill_color=FAINT,
            fill_alpha=0.5,
        )
        zoom = model("BoxZoomTool", dimensions="both" if both else "width", overlay=frame)
        with_control = mapping({"ctrl": True})
        wheel = model("WheelZoomTool", dimensions="width", modifiers=with_control)
        tools = [zoom, wheel, *self._told]
        return model("Toolbar", tools=tools, active_drag=zoom, active_scroll=wheel)


_NOWHERE = {"type": "number", "value": "nan"}


def _text(plain: str) -> Model:
    """Return text that is nothing but text, whatever is in it."""
    return model("PlainText", text=plain)
