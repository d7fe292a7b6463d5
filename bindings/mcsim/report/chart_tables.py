"""The table behind a chart: its numbers for readers who cannot see it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcsim.base.units import format_count
from mcsim.figures.chart import Chart
from mcsim.report.tables import Cell, Table, number_cell

MOST_ROWS = 100
"""Upper limit of rows of the table behind a chart."""


def table_of(chart: Chart) -> Table:
    """Return what a chart shows as a table, thinned to `MOST_ROWS`."""
    if chart.kind == "map":
        names = [str(name) for name in chart.rows[: len(chart.series)]]
        rows = [
            replace(one, look=replace(one.look, label=name))
            for one, name in zip(chart.series, names, strict=True)
        ]
        chart = replace(chart, series=rows, y_label=chart.value_label)
    if any(one.x is not None or len(one.y) > len(chart.x) for one in chart.series):
        return _long_table(chart)
    positions = list(chart.x[: len(chart.series[0].y)])
    # Groups are named along the axis that stacked bars grow from.
    x_label, y_label = chart.x_label, chart.y_label
    if chart.kind == "stacked":
        x_label, y_label = y_label, x_label
    heads = [x_label, *(series.look.label for series in chart.series)]
    step = -(-len(positions) // MOST_ROWS)
    cells: list[list[Cell]] = [
        [_position(positions[i]), *(number_cell(float(s.y[i])) for s in chart.series)]
        for i in range(0, len(positions), step)
    ]
    thinned_to = f" Every {step}th of {len(positions):,} rows." if step > 1 else ""
    return Table(heads, cells, caption=f"{y_label}.{thinned_to}")


def _long_table(chart: Chart) -> Table:
    """Return a row for each point of series that have positions of their own."""
    each = max(2, MOST_ROWS // len(chart.series))
    rows: list[list[Cell]] = []
    for series in chart.series:
        x = chart.positions(series)
        picked = np.unique(np.linspace(0, len(x) - 1, min(each, len(x))).astype(int))
        name = Cell(series.look.label)
        rows += [[name, _position(x[i]), number_cell(float(series.y[i]))] for i in picked]
    return Table(["", chart.x_label, chart.y_label], rows)


def _position(value: float | str) -> Cell:
    if isinstance(value, str):
        return Cell(value)
    text = format_count(value) if abs(value) >= 10_000 else f"{value:.4g}"
    return Cell(text, float(value))
