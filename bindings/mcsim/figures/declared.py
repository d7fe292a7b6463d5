"""Plots declared over tables: data stored with the tables, from which charts are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_count
from mcsim.figures.chart import Chart, Kind, Series, Sheet, thinned, whole_intervals
from mcsim.figures.looks import MOST_LOOKS, Look, looks_of

_Values = NDArray[np.float64]
_Parts = Mapping[str, pa.Table]

_CELLS = 250  # distinguishable columns of a line
_MOST_LARGE = 8  # charts of a figure
_MOST_SAID = 6  # series with numbers in the caption


@dataclass(frozen=True)
class Plot:
    """One plot of the rows of a table, or a plot for each group of rows.

    A column is given by its name; `name.0` is the first element of a column of lists.

    Attributes
    ----------
    title : str
    caption : str
        The content in a sentence; numbers are added.
    table : str
        The title of the table.
    x, y : str
        The columns; `x` names the groups of `bars` and `stacked`. A mapping as `y` has several
        columns with their labels.
    x_label, y_label : str
        With their units.
    kind : {'lines', 'steps', 'areas', 'points', 'bars', 'stacked'}
        `x` is the begin of an interval for `steps` and `areas`.
    by : sequence of str
        The columns that distinguish lines, or bars of a group.
    each : sequence of str
        Columns with a plot for each of their values.
    only : mapping of str to value
        The rows that are shown: their values, by column.
    x_times, y_times : float
        Factors that convert values to the units of the labels.
    over : str
        The column that `y` is divided by.
    sums : bool
        Whether rows at one place are added up; otherwise there may be one of them at most.
    log_x, log_y : bool
        Whether axes are logarithmic; what is not above 0 is then left out.
    marks, levels : sequence of (float, str)
        Positions of `x` and `y` that have names, in the units of the labels.
    looks : mapping of str to Look
        Looks that names have elsewhere, such as systems of a run, in their order.
    """

    title: str
    caption: str
    table: str
    x: str
    y: str | Mapping[str, str]
    x_label: str = ""
    y_label: str = ""
    kind: Kind = "lines"
    by: Sequence[str] = ()
    each: Sequence[str] = ()
    only: Mapping[str, Any] = field(default_factory=dict)
    x_times: float = 1.0
    y_times: float = 1.0
    over: str = ""
    sums: bool = False
    log_x: bool = False
    log_y: bool = False
    marks: Sequence[tuple[float, str]] = ()
    levels: Sequence[tuple[float, str]] = ()
    looks: Mapping[str, Look] = field(default_factory=dict)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Plot:
        """Return the plot that `dataclasses.asdict` made this of, also by way of JSON."""
        looks = {name: Look(**look) for name, look in kept["looks"].items()}
        return cls(**{**kept, "looks": looks})

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that are shown, and how they are called."""
        return {self.y: ""} if isinstance(self.y, str) else self.y

    @property
    def single(self) -> bool:
        """Whether there is only one series."""
        return isinstance(self.y, str) and not self.by

    @property
    def named(self) -> bool:
        """Whether `x` names groups."""
        return self.kind in ("bars", "stacked")


def charts_of(plots: Sequence[Plot], tables: Mapping[str, pa.Table]) -> list[Chart]:
    """Return the charts of plots, as of `sheets_of`."""
    return [chart for sheet in sheets_of(plots, tables) for chart in sheet.charts]


def sheets_of(plots: Sequence[Plot], tables: Mapping[str, pa.Table]) -> list[Sheet]:
    """Return a figure for each plot; empty charts are omitted.

    Series of the same name look the same in all figures.

    Raises
    ------
    ConfigError
        If a plot is of a table or a column that is not there, or has two rows at one place.
    """
    parts = [(plot, called, part) for plot in plots for called, part in _parts(plot, tables)]
    found = [(plot, called, _series(plot, part)) for plot, called, part in parts]
    given = {name: look for plot in plots for name, look in plot.looks.items()}
    known = {n: look for p, _, s in found if p.single for n, look in looks_of([*s]).items()} | given
    names = dict.fromkeys(name for *_, s in found for name in s if name not in known)
    looks = known | _others(names, given)
    charts: dict[int, list[Chart]] = {}
    for plot, called, series in found:
        if any(np.isfinite(y).any() for _, y in series.values()):
            charts.setdefault(id(plot), []).append(_chart(plot, called, series, looks))
    return [_sheet(plot, charts[id(plot)]) for plot in plots if id(plot) in charts]


def _sheet(plot: Plot, charts: Sequence[Chart]) -> Sheet:
    """Return the charts of a plot side by side, small ones where there are many."""
    columns, height = (1, 2.4) if len(charts) == 1 else (2, 1.7)
    if len(charts) > _MOST_LARGE:
        columns, height = 4, 1.15
    if plot.kind == "stacked":
        columns, height = min(columns, 2), 0.5 + 0.2 * max(len(chart.x) for chart in charts)
    is_shared = len(charts) > 1 and plot.kind != "bars"
    return Sheet(
        charts,
        plot.title,
        columns=columns,
        share_x=is_shared,
        share_y=len(charts) > 1,
        height=height,
    )


def _others(names: Iterable[str], given: Mapping[str, Look]) -> dict[str, Look]:
    """Return unused looks for names."""
    taken = {(look.color, look.dashes) for look in given.values()}
    many = looks_of([str(i) for i in range(MOST_LOOKS)]).values()
    free = [look for look in many if (look.color, look.dashes) not in taken]
    return {name: replace(look, label=name) for name, look in zip(names, cycle(free), strict=False)}


def _parts(plot: Plot, tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the label and the rows of each plot."""
    if plot.table not in tables:
        near = did_you_mean(plot.table, tables)
        raise ConfigError(f"plot {plot.title!r}: no table {plot.table!r}{near}")
    table = tables[plot.table]
    names = [plot.x, *plot.columns, *plot.by, *plot.each, *plot.only, *filter(None, [plot.over])]
    for name in names:
        if name.partition(".")[0] not in table.column_names:
            near = did_you_mean(name, table.column_names)
            raise ConfigError(
                f"plot {plot.title!r}: no column {name!r} in table {plot.table!r}{near}"
            )
    shown = [
        i
        for i, row in enumerate(zip(*(table[name].to_pylist() for name in plot.only), strict=True))
        if row == tuple(plot.only.values())
    ]
    yield from _groups(table.take(shown) if plot.only else table, plot.each).items()


def _groups(table: pa.Table, columns: Sequence[str]) -> _Parts:
    """Return the rows by what they have in columns, in the order in which they come."""
    if not columns:
        return {"": table}
    rows: dict[str, list[int]] = {}
    for i, values in enumerate(zip(*(table[name].to_pylist() for name in columns), strict=True)):
        rows.setdefault(", ".join(map(_name, values)), []).append(i)
    return {name: table.take(which) for name, which in rows.items()}


def _name(value: Any) -> str:
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _column(table: pa.Table, name: str) -> list[Any]:
    base, _, element = name.partition(".")
    values: list[Any] = table[base].to_pylist()
    if not element:
        return values
    at = int(element)
    return [value[at] if value is not None and at < len(value) else None for value in values]


def _numbers(table: pa.Table, name: str) -> _Values:
    """Return a column as numbers: NaN for what is none, and for what is infinite."""
    values = np.array(_column(table, name), np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _series(plot: Plot, table: pa.Table) -> dict[str, tuple[Any, _Values]]:
    """Return positions, which are names of `bars` and `stacked`, and values, by series."""
    series = {}
    for group, rows in _groups(table, plot.by).items():
        x: Any = (
            list(map(_name, _column(rows, plot.x)))
            if plot.named
            else plot.x_times * _numbers(rows, plot.x)
        )
        below = _numbers(rows, plot.over) if plot.over else np.ones(len(rows))
        for column, called in plot.columns.items():
            name = ", ".join(filter(None, (group, called))) or plot.y_label.partition(" (")[0]
            series[name] = _placed(plot, x, _numbers(rows, column), below)
    first = [name for name in plot.looks if name in series]
    return {name: series[name] for name in dict.fromkeys([*first, *series])}


def _placed(plot: Plot, x: Any, y: _Values, below: _Values) -> tuple[Any, _Values]:
    """Return values by position, in the order of positions, those of one place added up."""
    if not plot.named:
        there = np.isfinite(x) & (x > 0) if plot.log_x else np.isfinite(x)
        x, y, below = x[there], y[there], below[there]
    if plot.kind == "points":
        places, at = x, np.arange(len(x))
    elif plot.named:
        places = list(dict.fromkeys(x))
        at = np.array([places.index(each) for each in x], np.int64)
    else:
        places, at = np.unique(x, return_inverse=True)
    if len(places) < len(at) and not plot.sums:
        raise ConfigError(f"plot {plot.title!r}: two rows at one place; say `by` or `sums`")
    above = np.bincount(at, y, len(places))
    total = np.bincount(at, below, len(places)) if plot.over else np.ones(len(places))
    values = np.full(len(places), np.nan)
    np.divide(plot.y_times * above, total, out=values, where=total > 0)
    if plot.log_y:
        values[~(values > 0)] = np.nan
    return places, values


def _chart(
    plot: Plot, called: str, series: Mapping[str, tuple[Any, _Values]], looks: Mapping[str, Look]
) -> Chart:
    x, each = _on_common_positions(plot, series)
    drawn = [Series(looks[name], y, own) for name, (own, y) in each.items()]
    if plot.kind in ("steps", "areas"):
        x, drawn = whole_intervals(x, drawn)
    labels = (plot.x_label, plot.y_label)
    # Bars that are stacked lie, from left to right.
    x_label, y_label = reversed(labels) if plot.kind == "stacked" else labels
    return Chart(
        ": ".join(filter(None, (plot.title, called))),
        f"{plot.caption} {_said(plot, series, looks)}".strip(),
        plot.kind,
        x,
        drawn,
        x_label,
        y_label,
        log_x=plot.log_x,
        log_y=plot.log_y,
        panel=called,
        marks=[(float(at), name) for at, name in plot.marks],
        levels=[(float(at), name) for at, name in plot.levels],
    )


def _on_common_positions(
    plot: Plot, series: Mapping[str, tuple[Any, _Values]]
) -> tuple[Any, dict[str, tuple[Any, _Values]]]:
    """Return the positions of a chart, and those of series that have their own, with values."""
    if plot.named:
        groups = list(dict.fromkeys(name for x, _ in series.values() for name in x))
        index = {name: i for i, name in enumerate(groups)}
        return groups, {
            name: (None, _spread(np.array([index[n] for n in x], np.int64), y, len(groups)))
            for name, (x, y) in series.items()
        }
    if plot.kind in ("steps", "areas"):
        begins = np.unique(np.concatenate([x for x, _ in series.values()]))
        last = begins[-1] - begins[-2] if len(begins) > 1 else 1.0
        return np.append(begins, begins[-1] + last), {
            name: (None, _spread(np.searchsorted(begins, x), y, len(begins)))
            for name, (x, y) in series.items()
        }
    seen = {name: _seen(plot, x, y) for name, (x, y) in series.items()}
    first = next(iter(seen.values()))[0]
    if plot.kind == "lines" and all(np.array_equal(x, first) for x, _ in seen.values()):
        return first, {name: (None, y) for name, (_, y) in seen.items()}
    return np.zeros(0), seen


def _spread(at: NDArray[np.int64], y: _Values, count: int) -> _Values:
    values = np.full(count, np.nan)
    values[at] = y
    return values


def _seen(plot: Plot, x: _Values, y: _Values) -> tuple[_Values, _Values]:
    """Return the points of a line that can be seen."""
    if plot.kind == "points" or len(x) <= 4 * _CELLS:
        return x, y
    there = ~np.isnan(y)
    return thinned(x[there], y[there], log_x=plot.log_x, cells=_CELLS)


def _said(plot: Plot, series: Mapping[str, tuple[Any, _Values]], looks: Mapping[str, Look]) -> str:
    """Write the numbers of a few series: the ends of lines, the extremes of bars and points."""
    known = {name: y[~np.isnan(y)] for name, (_, y) in series.items() if np.isfinite(y).any()}
    if len(known) > _MOST_SAID:
        return ""
    if plot.kind in ("lines", "steps"):
        pairs = {name: (y[0], y[-1]) for name, y in known.items()}
        begin = "From left to right"
    elif plot.kind == "areas":
        pairs = {name: (y.mean(), y.mean()) for name, y in known.items()}
        begin = "In the mean"
    else:
        pairs = {name: (y.min(), y.max()) for name, y in known.items()}
        begin = "From least to most"
    said = ", ".join(f"{looks[name].label} ({_span(*pair)})" for name, pair in pairs.items())
    return f"{begin}: {said}."


def _span(first: float, last: float) -> str:
    low, high = _number(first), _number(last)
    return low if low == high else f"{low} to {high}"


def _number(value: float) -> str:
    return format_count(value) if abs(value) >= 1000 else f"{value:.3g}"
