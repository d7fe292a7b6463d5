"""Charts as data: the one description that figures for print and pages are rendered from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mcsim.figures.looks import Look
from mcsim.results.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_TICKS = 10

MOST_INTERVALS = 1000
"""Upper limit of intervals that are distinguishable side by side."""

NO_BREAK = "\N{NO-BREAK SPACE}"
"""Spaces of panel titles at which lines do not end."""

Kind = Literal["lines", "steps", "areas", "points", "bars", "stacked", "dots", "map"]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One line, one stack or one bar of each group.

    Attributes
    ----------
    look : Look
        Label, colour, dashes and marker.
    y : array of float64
        Values. NaN marks a missing value.
    x : array of float64, optional
        Positions of this series. Default: those of the chart.
    low, high : array of float64, optional
        Ends of a band around a line. On points they are error bars.
    kind : Kind, optional
        Kind of this series, such as points on a chart of lines.
    is_pale : bool
        Whether to draw a pale line. Pale marks an estimate below its resolution.
    """

    look: Look
    y: Values
    x: Values | None = None
    low: Values | None = None
    high: Values | None = None
    kind: Kind | None = None
    is_pale: bool = False


@dataclass(frozen=True)
class Chart:
    """One chart: a panel of a figure for print, or a plot of a page.

    Attributes
    ----------
    title : str
    caption : str
        Sentence that describes the content. Screen readers use it.
    kind : Kind
        Series of `areas` and `stacked` stand on one another. A value of `steps` and `areas` is
        valid up to the next position. Bars of `stacked` are horizontal. The `dots` of a group
        are on one horizontal line. Each series of a `map` is a row of cells.
    x : array of float64, or sequence of str
        Positions. For `steps`, `areas` and `map` they are edges, one more than there are values.
        For `bars`, `stacked` and `dots` they are names of groups. Columns of a `map` may have
        names.
    series : sequence of Series
    x_label, y_label : str
        Labels with units. Attribute `value_label` has the label of the values of a map.
    log_x, log_y : bool
        Whether axes are logarithmic.
    marks, levels : sequence of (float, str)
        Named positions, such as capacities. Levels are named values, such as targets.
    ticks : sequence of float
        Labelled positions. Default: chosen by the renderer.
    panel : str
        Title within a figure of several charts.
    y_end : float, optional
        Upper end of the value axis. Default: chosen by the renderer.
    rows : array of float64, or sequence of str
        Edges or names of the rows of a map.
    """

    title: str
    caption: str
    kind: Kind
    x: Values | Sequence[str]
    series: Sequence[Series]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    marks: Sequence[tuple[float, str]] = ()
    levels: Sequence[tuple[float, str]] = ()
    ticks: Sequence[float] = ()
    panel: str = ""
    y_end: float | None = None
    rows: Values | Sequence[str] = ()
    value_label: str = ""

    @property
    def has_names(self) -> bool:
        """Whether positions are names of groups."""
        return len(self.x) > 0 and isinstance(self.x[0], str)

    @property
    def is_horizontal(self) -> bool:
        """Whether groups are rows, so that values are on the lower axis."""
        return self.kind in ("stacked", "dots")

    def spans(self) -> tuple[Values, Values]:
        """Return the least and the largest value of each group; NaN where there is none."""
        values = np.array([one.y for one in self.series])
        has_value = ~np.isnan(values).all(axis=0)
        low = np.where(has_value, np.nanmin(values, axis=0, initial=np.inf), np.nan)
        high = np.where(has_value, np.nanmax(values, axis=0, initial=-np.inf), np.nan)
        return low, high

    def offset_of(self, number: int) -> float:
        """Return the distance of dots from their row, which keeps equal ones apart."""
        count = len(self.series)
        return 0.0 if count < 3 else 0.7 * ((number + 0.5) / count - 0.5)

    def kind_of(self, series: Series) -> Kind:
        """Return the kind by which a series is drawn."""
        return series.kind or self.kind

    def positions(self, series: Series) -> Values:
        """Return the positions of a series: its own, those of the chart, or numbers of groups."""
        if series.x is not None:
            return series.x
        if self.has_names:
            return np.arange(len(self.x), dtype=np.float64)
        return np.asarray(self.x, np.float64)

    @property
    def begins_at_zero(self) -> bool:
        """Whether the axis of values begins at 0: no value is below, and it is linear."""
        return not self.log_y and not any(bool((one.y < 0).any()) for one in self.series)


@dataclass
class Sheet:
    """One figure: charts in a grid, with a title, notes and one legend.

    Attributes
    ----------
    charts : sequence of Chart
        Row by row.
    title : str
    columns : int
        Charts side by side.
    share_x, share_y : bool
        Whether the charts have the same axes.
    notes : list of str
        Lines below the charts.
    height : float
        Height of a row of charts, in inches.
    width : float
        In inches.
    """

    charts: Sequence[Chart]
    title: str = ""
    columns: int = 1
    share_x: bool = False
    share_y: bool = False
    notes: list[str] = field(default_factory=list)
    height: float = 2.2
    width: float = 7.0

    @classmethod
    def of(cls, chart: Chart, *notes: str, height: float = 2.4, width: float = 7.0) -> Sheet:
        """Return the figure of a single chart."""
        shown = [note for note in notes if note]
        return cls([chart], chart.title, notes=shown, height=height, width=width)

    def finish(
        self, runs: Sequence[Results] = (), *, captioned: bool = True, synthetic: bool = False
    ) -> Figure:
        """Draw the figure with matplotlib, in the style that is in force.

        The footer names `runs`; `synthetic` marks a workload without runs. Title and footer are
        absent unless `captioned`.
        """
        from mcsim.figures.style import drawn

        synthetic = synthetic or any(run.synthetic for run in runs)
        footer = ""
        if runs:
            more = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
            footer = f"mcsim run{'s' * bool(more)} {runs[0].run_id}{more}"
            footer += ", synthetic workload" if synthetic else ""
        title = self.title + synthetic_mark(synthetic)
        return drawn(self, title, footer, synthetic=synthetic, captioned=captioned)


def subject_of(runs: Sequence[Results], synthetic: bool = False) -> str:
    """Return what a figure's file states of its origin: ids of runs, and a synthetic workload."""
    subject = "mcsim results of " + ", ".join(run.run_id for run in runs) if runs else "mcsim"
    return subject + synthetic_mark(synthetic or any(run.synthetic for run in runs))


def synthetic_mark(synthetic: bool) -> str:
    """Return the end of titles of synthetic workloads."""
    return " (synthetic workload)" if synthetic else ""


def plain(value: float) -> str:
    """Write the label of a tick: `0.01`, `1,024`, `2.5 M`."""
    for size, unit in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size and float(f"{value / size:.4g}") * size == value:
            return f"{value / size:,.4g} {unit}"
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:,.10g}"


def scaled_latency(values: Iterable[Values]) -> tuple[float, str]:
    """Return the factor that converts nanoseconds to the unit that suits values, and the unit."""
    highest = max((float(np.nanmax(each, initial=0)) for each in values), default=0.0)
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if highest >= size:
            return 1 / size, unit
    return 1.0, "ns"


_BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}


def scaled_size(blocks: float, block_bytes: int | None) -> tuple[float, str]:
    """Return the factor from blocks to the unit that suits a size, and the unit.

    The size has at least 4 of the unit. The unit is a block if the size of blocks is unknown.
    """
    if block_bytes is None:
        return 1.0, "blocks"
    fitting = [(of, unit) for unit, of in _BYTES.items() if blocks * block_bytes >= 4 * of]
    of, unit = fitting[-1] if fitting else (1, "B")
    return block_bytes / of, unit


def axis_of_sizes(
    capacities: Sequence[int], block_bytes: int | None
) -> tuple[Values, str, Sequence[float]]:
    """Return sizes in a unit, the unit, and the sizes to label.

    The unit is of bytes if the sizes are round in bytes. Otherwise it is a block if they are round
    in blocks. All other sizes are in bytes, with automatic labels.
    """
    blocks = np.array(capacities, np.float64)
    factor, unit = scaled_size(max(capacities), block_bytes)
    if not _are_round(factor * blocks) and _are_round(blocks):
        factor, unit = 1.0, "blocks"
    x = factor * blocks
    is_labelled = len(x) <= _MOST_TICKS and _are_round(x)
    return x, unit, list(x) if is_labelled else ()


def _are_round(sizes: Values) -> bool:
    """Return whether all sizes have at most three digits, or are powers of two."""
    return all(float(f"{of:.3g}") == of or np.log2(of) % 1 == 0 for of in sizes if of > 0)


def is_geometric(x: Sequence[float] | Values) -> bool:
    """Return whether positions grow by ratios, so that a logarithmic axis suits them."""
    at = np.unique(np.asarray(x, np.float64))
    return bool(len(at) > 1 and at[0] > 0 and at[-1] >= 8 * at[0])


def thinned(
    x: Values, y: Values, *, log_x: bool = False, cells: int = 400
) -> tuple[Values, Values]:
    """Drop indistinguishable points: keep first, last and extremes of each of `cells` columns.

    Input `x` is sorted, and positive if `log_x`. NaN is not allowed in `y`.

    Parameters
    ----------
    x, y : array of float64, shape (n,)

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
    # By cell, then by height: the extremes of a cell are its first and last.
    by_height = np.lexsort((y, cell))
    kept = np.unique(np.concatenate([begin, end - 1, by_height[begin], by_height[end - 1]]))
    return x[kept], y[kept]


def whole_intervals(edges: Values, series: Sequence[Series]) -> tuple[Values, list[Series]]:
    """Average neighbouring intervals where there are more than `MOST_INTERVALS`."""
    count = len(edges) - 1
    each = -(-count // MOST_INTERVALS)
    if each == 1:
        return edges, list(series)
    begin = np.arange(0, count, each)
    thin = []
    for one in series:
        there = ~np.isnan(one.y)
        sums = np.add.reduceat(np.nan_to_num(one.y), begin)
        counts = np.add.reduceat(there.astype(float), begin)
        mean = np.full(len(begin), np.nan)
        np.divide(sums, counts, out=mean, where=counts > 0)
        thin.append(replace(one, y=mean))
    return np.append(edges[begin], edges[-1]), thin
