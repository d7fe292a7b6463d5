"""Summary of a sweep, and a table of means and deviations over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.sweep import SEED_AXES
from mcsim.figures.sweeps import axes_of, check_over, main_axis
from mcsim.policies import has_foresight
from mcsim.results.standings import Standings
from mcsim.sweeps.answer import Candidate, Contest, answer, standings_by_cell
from mcsim.tables.column import Column
from mcsim.tables.formatted_table import FormattedTable, RowStyle
from mcsim.tables.result_columns import column_of
from mcsim.tables.result_table import ResultTable

if TYPE_CHECKING:
    from mcsim.sweeps.swept import Sweep

_NUMBERS = ("hit_ratio", "mean_latency_ns", "gain", "latency_gain")


class SweepTable(ResultTable):
    """The table of a sweep over all VMs.

    Attributes
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: Sweep, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sweep = sweep


def overview(sweep: Sweep, over: str | None = None) -> SweepTable:
    """Return a row for each point of the grid and system, over all VMs, the best first.

    Numbers are means over seeds, and then over the values of the axis `over`, with standard
    deviations where there are several. The columns are the axes but seeds and `over`, ``system``,
    ``seeds`` or ``values`` (their number), ``hit_ratio``, ``mean_latency_ns``, ``gain`` and
    ``latency_gain``, each followed by its ``…_deviation``.
    """
    table = sweep.to_arrow().filter(pc.is_null(sweep.to_arrow()["vm"]))
    check_over(table, over, [])
    every = [axis for axis in axes_of(table) if axis not in (*SEED_AXES, over)]
    # Axes of systems distinguish candidates; the other axes are points of comparison.
    variants = [axis for axis in every if axis.partition(".")[0] == "systems"]
    points = [axis for axis in every if axis not in variants]
    standings = standings_by_cell(sweep.to_arrow())
    found = _candidates(table, points, variants, over=over, standings=standings)
    order = list(dict.fromkeys(one.point for one in found))
    ranked = [
        one
        for point in order
        for one in sorted((c for c in found if c.point == point), key=lambda c: c.rank)
    ]
    columns: dict[str, Any] = {
        axis: [one.point[i] for one in ranked] for i, axis in enumerate(points)
    }
    columns |= {axis: [one.variant[i] for one in ranked] for i, axis in enumerate(variants)}
    columns["system"] = [one.system for one in ranked]
    columns["seeds"] = [len(one.numbers["hit_ratio"]) for one in ranked]
    for name in _NUMBERS:
        columns[name] = [_mean(one.numbers[name]) for one in ranked]
        columns[f"{name}_deviation"] = [_deviation(one.numbers[name]) for one in ranked]
    contests = [Contest(tuple(c for c in ranked if c.point == point)) for point in order]
    best = [winner for of in contests for winner in of.winners.values()]
    styles: list[RowStyle] = [
        "yardstick" if one.foresight else "best" if any(one is of for of in best) else ""
        for one in ranked
    ]
    notes = ["gain and saved: against lru of the cell"]
    if over is not None:
        columns = {("values" if name == "seeds" else name): of for name, of in columns.items()}
        notes.append(f"means over {over}; values: their number; ±: standard deviation")
    elif max(columns["seeds"], default=1) > 1:
        notes.append("±: standard deviation over seeds")
    else:
        del columns["seeds"]
    done = sweep.finished()
    missing = f" ({sum(done)} of {len(done)} cells finished)" if not all(done) else ""
    return SweepTable(
        sweep,
        pa.table(columns) if ranked else table.select(["system", "hit_ratio"]),
        "overview",
        title=f"{sweep.path.name}: all VMs together{missing}",
        answer=answer(contests),
        notes=notes,
        styles=styles,
        more=["gain"],
    )


def pivot(
    sweep: Sweep, x: str | None = None, value: str = "hit_ratio", over: str | None = None
) -> FormattedTable:
    """Tabulate a column by axis (rows) and system (columns), over all VMs.

    Many systems are rows, and the values of the axis columns. Cells are means over seeds, or over
    the axis `over`, with standard deviations if there are several.

    Parameters
    ----------
    sweep : Sweep
    x : str, optional
        The axis; the one of most values if not given.
    value : str
        A column of numbers, such as ``'mean_latency_ns'``.

    Raises
    ------
    ConfigError
        If there is no such axis or column.
    """
    x, column, names, cells = _by_axis(sweep, x, value, over)
    rows = []
    for at, numbers in cells.items():
        shown = f"{at:,}" if isinstance(at, int) and not isinstance(at, bool) else str(at)
        rows.append([shown, *(_spread(column, each) for each in numbers)])
    title = f"{sweep.path.name}: {column.heading} over {x}"
    title += "" if over is None else f", means over {over}"
    if len(names) <= max(_MOST_COLUMNS, len(cells)):
        return FormattedTable([x, *names], rows, [True] * (len(names) + 1), title)
    turned = [list(row) for row in zip(names, *(row[1:] for row in rows), strict=True)]
    head = ["system", *(f"{x} {row[0]}" for row in rows[:1]), *(row[0] for row in rows[1:])]
    return FormattedTable(head, turned, [False, *[True] * len(rows)], title)


_MOST_COLUMNS = 6
"""Systems that are columns side by side, at most, unless the axis has more values."""


def pivot_data(
    sweep: Sweep, x: str | None = None, value: str = "hit_ratio", over: str | None = None
) -> pa.Table:
    """Return the numbers of `pivot`: the axis, then each system's mean over seeds.

    Where a system has several seeds, its standard deviation follows in ``…_deviation``.

    Raises
    ------
    ConfigError
        As of `pivot`.
    """
    x, _, names, cells = _by_axis(sweep, x, value, over)
    columns: dict[str, Any] = {x: list(cells)}
    for index, name in enumerate(names):
        numbers = [row[index] for row in cells.values()]
        columns[name] = pa.array(map(_mean, numbers), pa.float64())
        if any(len(each) > 1 for each in numbers):
            columns[f"{name}_deviation"] = pa.array(map(_deviation, numbers), pa.float64())
    return pa.table(columns)


def _by_axis(
    sweep: Sweep, x: str | None, value: str, over: str | None
) -> tuple[str, Column, list[str], dict[Any, list[NDArray[np.float64]]]]:
    """Return the axis, the column of `value`, the systems, and their numbers at each point."""
    table = sweep.to_arrow().filter(pc.is_null(sweep.to_arrow()["vm"]))
    axes = axes_of(table)
    x = main_axis(table, over) if x is None else x
    check_over(table, over, [x])
    if x not in axes:
        raise ConfigError(f"x: no axis {x!r}{did_you_mean(x, axes)}; one of {', '.join(axes)}")
    column = column_of("comparison", value)
    if value not in table.column_names or not column.is_numeric:
        known = [name for name in table.column_names if column_of("comparison", name).is_numeric]
        numeric = [name for name in known if name not in ("cell", *axes)]
        near = did_you_mean(value, numeric)
        raise ConfigError(
            f"value: no column of numbers {value!r}{near}; one of {', '.join(numeric)}"
        )
    others = [
        axis
        for axis in axes
        if axis not in (x, over, *SEED_AXES) and len(set(table[axis].to_pylist())) > 1
    ]
    found = _candidates(table, [x], others, [value], over)
    names = list(dict.fromkeys(one.name for one in found))
    cells = {(one.point[0], one.name): one.numbers[value] for one in found}
    points = dict.fromkeys(one.point[0] for one in found)
    rows = {at: [cells.get((at, name), np.zeros(0)) for name in names] for at in points}
    return x, column, names, rows


def _spread(column: Column, values: NDArray[np.float64]) -> str:
    if not len(values):
        return "–"
    text = column.format(float(values.mean()))
    if len(values) < 2:
        return text
    return f"{text} ± {column.format(float(values.std(ddof=1))).lstrip('+')}"


def _candidates(
    table: pa.Table,
    points: Sequence[str],
    variants: Sequence[str],
    names: Sequence[str] = _NUMBERS,
    over: str | None = None,
    standings: Mapping[int, Standings] | None = None,
) -> list[Candidate]:
    """Return the candidates of a table over all VMs; those that are ranked need `standings`."""
    rows: dict[tuple[tuple[Any, ...], tuple[Any, ...], str], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        point = tuple(row[axis] for axis in points)
        variant = tuple(row[axis] for axis in variants)
        rows.setdefault((point, variant, row["system"]), []).append(row)
    return [
        Candidate(
            *key,
            _foresight(of[0]),
            {name: _known(of, name, over) for name in names},
            tuple(standings[row["cell"]] for row in of) if standings else (),
            tuple(row.get("opt_hits") for row in of),
            over,
        )
        for key, of in rows.items()
    ]


def _foresight(row: Mapping[str, Any]) -> str | None:
    """Return the foresight of a system; that of the policy opt is the whole trace."""
    foresight: str | None = row["foresight"]
    policies = [part.strip() for part in (row.get("policy") or "").split("/")]
    return foresight or ("whole" if any(map(has_foresight, policies)) else None)


def _known(rows: Sequence[Mapping[str, Any]], name: str, over: str | None) -> NDArray[np.float64]:
    """Return the known numbers of rows; with `over` the mean for each value of that axis."""
    groups: dict[Any, list[float]] = {}
    for i, row in enumerate(rows):
        if row[name] is not None:
            groups.setdefault(i if over is None else row[over], []).append(row[name])
    return np.array([np.mean(of) for of in groups.values()], dtype=np.float64)


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _deviation(values: NDArray[np.float64]) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None
