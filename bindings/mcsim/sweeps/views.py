"""Summary of a sweep, and a table of means and deviations over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.column import Column
from mcsim.base.errors import ConfigError
from mcsim.base.formatted_table import FormattedTable, RowStyle
from mcsim.base.result_columns import column_of
from mcsim.base.result_table import ResultTable
from mcsim.base.suggest import did_you_mean
from mcsim.base.units import format_latency
from mcsim.config.sweep import SEED_AXES
from mcsim.figures.sweeps import axes_of, main_axis

if TYPE_CHECKING:
    from mcsim.sweeps.swept import Sweep

_NUMBERS = ("hit_ratio", "mean_latency_ns", "gain", "latency_gain")


@dataclass(frozen=True)
class _Candidate:
    """A system at one point of the grid, over all seeds."""

    point: tuple[Any, ...]
    variant: tuple[Any, ...]
    system: str
    foresight: str | None
    numbers: Mapping[str, NDArray[np.float64]]

    @property
    def name(self) -> str:
        variant = [str(value) for value in self.variant]
        is_in_variant = any(value.split(" ")[0] == self.system for value in variant)
        return ", ".join(variant if is_in_variant else [self.system, *variant])

    @property
    def loss(self) -> NDArray[np.float64]:
        """Values to minimise: latencies, or negative hit ratios."""
        latency = self.numbers["mean_latency_ns"]
        return latency if len(latency) else -self.numbers["hit_ratio"]

    @property
    def rank(self) -> tuple[bool, float]:
        """Yardsticks come last."""
        return self.foresight is not None, float(self.loss.mean()) if len(self.loss) else np.inf


class SweepTable(ResultTable):
    """The table of a sweep over all VMs.

    Attributes
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: Sweep, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sweep = sweep


def overview(sweep: Sweep) -> SweepTable:
    """Return a row for each point of the grid and system, over all VMs, the best first.

    Numbers are means over seeds, with standard deviations where there are several. The columns
    are the axes but seeds, ``system``, ``seeds`` (their number), ``hit_ratio``,
    ``mean_latency_ns``, ``gain`` and ``latency_gain``, each followed by its ``…_deviation``.
    """
    table = sweep.to_arrow().filter(pc.is_null(sweep.to_arrow()["vm"]))
    every = [axis for axis in axes_of(table) if axis not in SEED_AXES]
    # Axes of systems distinguish candidates; the other axes are points of comparison.
    variants = [axis for axis in every if axis.partition(".")[0] == "systems"]
    points = [axis for axis in every if axis not in variants]
    found = _candidates(table, points, variants)
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
    winners = {point: _winner([c for c in ranked if c.point == point]) for point in order}
    styles: list[RowStyle] = [
        "yardstick" if one.foresight else "best" if winners[one.point] is one else ""
        for one in ranked
    ]
    notes = ["gain and saved: against Global LRU of the cell"]
    if max(columns["seeds"], default=1) > 1:
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
        answer=_answer(winners, ranked),
        notes=notes,
        styles=styles,
    )


def pivot(sweep: Sweep, x: str | None = None, value: str = "hit_ratio") -> FormattedTable:
    """Tabulate a column by axis (rows) and system (columns), over all VMs.

    Cells are means over seeds, with standard deviations if there are several.

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
    x, column, names, cells = _by_axis(sweep, x, value)
    rows = []
    for at, numbers in cells.items():
        shown = f"{at:,}" if isinstance(at, int) and not isinstance(at, bool) else str(at)
        rows.append([shown, *(_spread(column, each) for each in numbers)])
    title = f"{sweep.path.name}: {column.heading} over {x}"
    return FormattedTable([x, *names], rows, [True] * (len(names) + 1), title)


def pivot_data(sweep: Sweep, x: str | None = None, value: str = "hit_ratio") -> pa.Table:
    """Return the numbers of `pivot`: the axis, then each system's mean over seeds.

    Where a system has several seeds, its standard deviation follows in ``…_deviation``.

    Raises
    ------
    ConfigError
        As of `pivot`.
    """
    x, _, names, cells = _by_axis(sweep, x, value)
    columns: dict[str, Any] = {x: list(cells)}
    for index, name in enumerate(names):
        numbers = [row[index] for row in cells.values()]
        columns[name] = pa.array(map(_mean, numbers), pa.float64())
        if any(len(each) > 1 for each in numbers):
            columns[f"{name}_deviation"] = pa.array(map(_deviation, numbers), pa.float64())
    return pa.table(columns)


def _by_axis(
    sweep: Sweep, x: str | None, value: str
) -> tuple[str, Column, list[str], dict[Any, list[NDArray[np.float64]]]]:
    """Return the axis, the column of `value`, the systems, and their numbers at each point."""
    table = sweep.to_arrow().filter(pc.is_null(sweep.to_arrow()["vm"]))
    axes = axes_of(table)
    x = main_axis(table) if x is None else x
    if x not in axes:
        raise ConfigError(f"x: no axis {x!r}{did_you_mean(x, axes)}; one of {', '.join(axes)}")
    column = column_of("comparison", value)
    if value not in table.column_names or not column.is_numeric:
        raise ConfigError(f"value: no column of numbers {value!r}")
    others = [
        axis
        for axis in axes
        if axis not in (x, *SEED_AXES) and len(set(table[axis].to_pylist())) > 1
    ]
    found = _candidates(table, [x], others, [value])
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
) -> list[_Candidate]:
    rows: dict[tuple[tuple[Any, ...], tuple[Any, ...], str], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        point = tuple(row[axis] for axis in points)
        variant = tuple(row[axis] for axis in variants)
        rows.setdefault((point, variant, row["system"]), []).append(row)
    return [
        _Candidate(*key, of[0]["foresight"], {name: _known(of, name) for name in names})
        for key, of in rows.items()
    ]


def _known(rows: Sequence[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([row[name] for row in rows if row[name] is not None], dtype=np.float64)


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _deviation(values: NDArray[np.float64]) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


def _winner(ranked: Sequence[_Candidate]) -> _Candidate | None:
    """Return the best realisable candidate; None if its seeds overlap with those of another."""
    realisable = [one for one in ranked if one.foresight is None and len(one.loss)]
    if len(realisable) < 2:
        return None
    best, others = realisable[0], realisable[1:]
    return best if all(best.loss.max() < other.loss.min() for other in others) else None


def _answer(
    winners: Mapping[tuple[Any, ...], _Candidate | None], ranked: Sequence[_Candidate]
) -> str:
    if not ranked:
        return "No cell is finished."
    if len({one.name for one in ranked if one.foresight is None}) < 2:
        return f"One system, `{ranked[0].name}`, at {len(winners):,} points of the grid."
    if len(winners) == 1:
        return _at_one_point(ranked, next(iter(winners.values())))
    counts: dict[str, int] = {}
    for winner in winners.values():
        if winner is not None:
            counts[winner.name] = counts.get(winner.name, 0) + 1
    unclear = sum(winner is None for winner in winners.values())
    most = sorted(counts.items(), key=lambda each: -each[1])
    parts = [
        f"`{name}` is best at {count} of {len(winners)} points"
        if i == 0
        else f"`{name}` at {count}"
        for i, (name, count) in enumerate(most[:4])
    ]
    if len(most) > 4:
        parts.append(f"others at {sum(count for _, count in most[4:])}")
    if unclear:
        at = f"At {unclear} of {len(winners)} points there is no clear winner: seeds overlap."
        return f"{', '.join(parts)}. {at}" if parts else at
    return f"{', '.join(parts)}."


def _at_one_point(ranked: Sequence[_Candidate], winner: _Candidate | None) -> str:
    best, second = [one for one in ranked if one.foresight is None][:2]
    if winner is None:
        return (
            f"There is no clear winner: the seeds of `{best.name}` ({_measured(best)}) and "
            f"`{second.name}` ({_measured(second)}) overlap."
        )
    return (
        f"`{best.name}` is best: {_measured(best)}; next is `{second.name}`, {_measured(second)}."
    )


def _measured(one: _Candidate) -> str:
    latency = one.numbers["mean_latency_ns"]
    if not len(latency):
        return f"hit ratio {100 * one.numbers['hit_ratio'].mean():.1f} %"
    spread = f" ± {format_latency(latency.std(ddof=1))}" if len(latency) > 1 else ""
    return f"mean latency {format_latency(latency.mean())}{spread}"
