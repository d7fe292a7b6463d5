"""Charts as data: what they show, in a sentence and as a table, whatever draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mcsim.base.units import format_count
from mcsim.figures.looks import Look
from mcsim.report.tables import Cell, Table, number_cell

__all__ = ["Chart", "Series", "thinned", "whole_intervals"]

MOST_ROWS = 100
"""Of the table behind a chart; more are not read by anybody."""

MOST_INTERVALS = 1000
"""That are seen beside one another."""


@dataclass(frozen=True)
class Series:
    """One line, one stack or one bar of each group.

    Attributes
    ----------
    look : Look
        Its label, colour, dashes, marker and hatch.
    y : array of float64
        NaN where there is nothing.
    x : array of float64, optional
        Its own positions; the chart's if not given.
    """

    look: Look
    y: NDArray[np.float64]
    x: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes
    ----------
    title : str
    says : str
        What is to be seen, in a sentence, for those who do not see it.
    kind : {'lines', 'steps', 'areas', 'points', 'bars', 'stacked'}
        `areas` and `stacked` stand on one another; `steps` and `areas` hold from one
        position to the next.
    x : array of float64, or sequence of str
        Positions; of steps and areas the edges, one more than there are values; of bars and
        stacks the names of the groups.
    series : sequence of Series
    x_label, y_label : str
        With their units.
    log_x, log_y : bool
        Whether axes are logarithmic.
    marks : sequence of (float, str)
        Positions with names, such as capacities.
    levels : sequence of (float, str)
        Values with names, such as targets.
    """

    title: str
    says: str
    kind: Literal["lines", "steps", "areas", "points", "bars", "stacked"]
    x: NDArray[np.float64] | Sequence[str]
    series: Sequence[Series]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    marks: Sequence[tuple[float, str]] = ()
    levels: Sequence[tuple[float, str]] = ()

    def table(self) -> Table:
        """Return what the chart shows as a table, thinned to `MOST_ROWS`."""
        if any(series.x is not None for series in self.series):
            return self._long_table()
        positions = list(self.x[: len(self.series[0].y)])
        # Names stand on the axis that stacked bars grow from.
        x_label, y_label = self.x_label, self.y_label
        if self.kind == "stacked":
            x_label, y_label = y_label, x_label
        heads = [x_label, *(series.look.label for series in self.series)]
        step = -(-len(positions) // MOST_ROWS)
        rows: list[list[Cell]] = [
            [_position(positions[i]), *(number_cell(float(s.y[i])) for s in self.series)]
            for i in range(0, len(positions), step)
        ]
        thinned_to = f" Every {step}th of {len(positions):,} rows." if step > 1 else ""
        return Table(heads, rows, caption=f"{y_label}.{thinned_to}")

    def _long_table(self) -> Table:
        """Return a row for each point: of series that have positions of their own."""
        each = max(2, MOST_ROWS // len(self.series))
        rows: list[list[Cell]] = []
        for series in self.series:
            x = series.x if series.x is not None else np.asarray(self.x, np.float64)
            picked = np.unique(np.linspace(0, len(x) - 1, min(each, len(x))).astype(int))
            name = Cell(series.look.label)
            rows += [[name, _position(x[i]), number_cell(float(series.y[i]))] for i in picked]
        return Table(["", self.x_label, self.y_label], rows)


def _position(value: float | str) -> Cell:
    if isinstance(value, str):
        return Cell(value)
    text = format_count(value) if abs(value) >= 10_000 else f"{value:.4g}"
    return Cell(text, float(value))


def thinned(
    x: NDArray[np.float64], y: NDArray[np.float64], *, log_x: bool = False, cells: int = 400
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Leave out points that cannot be seen: of each of `cells` columns the first, last, extremes.

    Parameters
    ----------
    x, y : array of float64, shape (n,)
        `x` not decreasing, positive if `log_x`; `y` without NaN.

    Returns
    -------
    x, y : array of float64, shape (m,), m <= 4 * cells
    """
    if len(x) <= 4 * cells:
        return x, y
    position = np.log(x) if log_x else x
    span = position[-1] - position[0]
    cell = np.minimum((position - position[0]) / (span or 1.0) * cells, cells - 1).astype(int)
    begin = np.flatnonzero(np.diff(cell, prepend=-1))
    end = np.append(begin[1:], len(x))
    # By cell, then by height: the extremes of a cell are the first and last of it.
    by_height = np.lexsort((y, cell))
    kept = np.unique(np.concatenate([begin, end - 1, by_height[begin], by_height[end - 1]]))
    return x[kept], y[kept]


def whole_intervals(
    edges: NDArray[np.float64], series: Sequence[Series]
) -> tuple[NDArray[np.float64], list[Series]]:
    """Average neighbouring intervals where there are more than can be seen."""
    count = len(edges) - 1
    each = -(-count // MOST_INTERVALS)
    if each == 1:
        return edges, list(series)
    begin = np.arange(0, count, each)
    thin = []
    for one in series:
        known = ~np.isnan(one.y)
        sums = np.add.reduceat(np.nan_to_num(one.y), begin)
        counts = np.add.reduceat(known.astype(float), begin)
        mean = np.full(len(begin), np.nan)
        np.divide(sums, counts, out=mean, where=counts > 0)
        thin.append(Series(one.look, mean))
    return np.append(edges[begin], edges[-1]), thin
