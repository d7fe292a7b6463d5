"""Tables of a page as data, and the tables behind its charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

import numpy as np

from mcsim.base.units import format_count
from mcsim.figures.chart import Chart
from mcsim.tables.formatted_table import RowStyle
from mcsim.tables.result_table import ResultTable

_NOTHING = "–"


class Cell(NamedTuple):
    """Text of a cell, and its number if it has one."""

    text: str
    value: float | None = None

    @property
    def kind(self) -> str:
        """Return the CSS class: ``w`` for text of several lines, or empty."""
        return "w" if self.value is None and len(self.text) > 32 else ""

    @property
    def key(self) -> str:
        """Return the sort key; empty if the text is itself the number."""
        if self.value is None:
            return ""
        try:
            float(self.text.replace(",", ""))
        except ValueError:
            return f"{self.value:.7g}"
        return ""


@dataclass(frozen=True)
class Table:
    """A sortable table.

    Attributes
    ----------
    heads : sequence of str
    rows : sequence of sequence of Cell
    caption : str
        Notes below the table.
    title : str
        Heading above the table.
    styles : sequence of {'', 'best', 'yardstick', 'total'}
        Style of each row; all plain if absent.
    is_narrow : bool
        Whether all columns fit a phone.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    title: str = ""
    styles: Sequence[RowStyle] = ()
    is_narrow: bool = False

    kind = "table"

    @property
    def numeric(self) -> list[bool]:
        """Return whether each column has numbers, which are aligned to the right."""
        return [any(row[i].value is not None for row in self.rows) for i in range(len(self.heads))]


def number_cell(value: float | None, show: Callable[[float], str] | None = None) -> Cell:
    """Return the cell of a number, or a dash if it is None or NaN."""
    if value is None or value != value:
        return Cell(_NOTHING)
    if not isfinite(value):
        return Cell("∞" if value > 0 else "−∞", 1e308 if value > 0 else -1e308)
    return Cell((show or _plain)(value), float(value))


def _plain(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def sentence(text: str) -> str:
    """Begin a text with a capital and end it with one full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def page_table(
    table: ResultTable, *, shown: Sequence[str] | None = None, most: int = 1000
) -> Table:
    """Convert a result table for a page; keep the columns `shown` and the first `most` rows."""
    found = table.formatted(shown)
    rows = [
        [Cell(*pair) for pair in zip(cells, values, strict=True)]
        for cells, values in zip(found.rows[:most], found.values, strict=False)
    ]
    notes = list(found.notes)
    if len(found.rows) > most:
        notes.append(f"The first {most:,} of {len(found.rows):,} rows")
    caption = " ".join(map(sentence, notes))
    return Table(list(found.headings), rows, caption, found.title, list(found.styles[:most]))


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
    x_label, y_label = chart.x_label, chart.y_label
    if chart.is_horizontal:
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
