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
from mcsim.figures.sweeps import axes_of, check_over, main_axis
from mcsim.policies.reductions import is_bound

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
        latency, ratio = self.numbers["mean_latency_ns"], self.numbers["hit_ratio"]
        return latency if len(latency) == len(ratio) else -ratio

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
    found = _candidates(table, points, variants, over=over)
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
    winners = {
        point: _winner([c for c in ranked if c.point == point], by_mean=over is not None)
        for point in order
    }
    styles: list[RowStyle] = [
        "yardstick" if one.foresight else "best" if winners[one.point] is one else ""
        for one in ranked
    ]
    notes = ["gain and saved: against Global LRU of the cell"]
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
        answer=_answer(winners, ranked),
        notes=notes,
        styles=styles,
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
) -> list[_Candidate]:
    rows: dict[tuple[tuple[Any, ...], tuple[Any, ...], str], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        point = tuple(row[axis] for axis in points)
        variant = tuple(row[axis] for axis in variants)
        rows.setdefault((point, variant, row["system"]), []).append(row)
    return [
        _Candidate(*key, _foresight(of[0]), {name: _known(of, name, over) for name in names})
        for key, of in rows.items()
    ]


def _foresight(row: Mapping[str, Any]) -> str | None:
    """Return the foresight of a system; that of the policy opt is the whole trace."""
    foresight: str | None = row["foresight"]
    policies = [part.strip() for part in (row.get("policy") or "").split("/")]
    return foresight or ("whole" if any(map(is_bound, policies)) else None)


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


def _winner(ranked: Sequence[_Candidate], *, by_mean: bool = False) -> _Candidate | None:
    """Return the best realisable candidate; None if another is equal, or their seeds overlap."""
    realisable = [one for one in ranked if one.foresight is None and len(one.loss)]
    if len(realisable) < 2:
        return None
    best, others = realisable[0], realisable[1:]
    if by_mean:
        return best if best.rank < others[0].rank else None
    return best if all(best.loss.max() < other.loss.min() for other in others) else None


def _are_equal(ranked: Sequence[_Candidate]) -> bool:
    """Return whether the two best realisable candidates have the same numbers."""
    best = [one for one in ranked if one.foresight is None and len(one.loss)][:2]
    return len(best) == 2 and best[0].loss.tolist() == best[1].loss.tolist()


def _answer(
    winners: Mapping[tuple[Any, ...], _Candidate | None], ranked: Sequence[_Candidate]
) -> str:
    if not ranked:
        return "No cell is finished."
    realisable = [one for one in ranked if one.foresight is None]
    if len({one.name for one in realisable}) < 2:
        name = (realisable or ranked)[0].name
        return f"One system, `{name}`, at {_points(len(winners))} of the grid."
    if len(winners) == 1:
        return _at_one_point(ranked, next(iter(winners.values())))
    counts: dict[str, int] = {}
    for winner in winners.values():
        if winner is not None:
            counts[winner.name] = counts.get(winner.name, 0) + 1
    unclear = [point for point, winner in winners.items() if winner is None]
    equal = sum(_are_equal([one for one in ranked if one.point == point]) for point in unclear)
    overlapping = len(unclear) - equal
    most = sorted(counts.items(), key=lambda each: -each[1])
    parts = [
        f"`{name}` is best at {count} of {len(winners)} points"
        if i == 0
        else f"`{name}` at {count}"
        for i, (name, count) in enumerate(most[:4])
    ]
    if len(most) > 4:
        parts.append(f"others at {sum(count for _, count in most[4:])}")
    sentences = [f"{', '.join(parts)}."] if parts else []
    of = f"of {len(winners)} points"
    if equal:
        sentences.append(f"At {equal} {of} the best systems are equal.")
    if overlapping:
        sentences.append(f"At {overlapping} {of} there is no clear winner: seeds overlap.")
    return " ".join(sentences)


def _points(count: int) -> str:
    return f"{count:,} point{'' if count == 1 else 's'}"


def _at_one_point(ranked: Sequence[_Candidate], winner: _Candidate | None) -> str:
    best, second = [one for one in ranked if one.foresight is None][:2]
    if _are_equal(ranked):
        return f"`{best.name}` and `{second.name}` are equal: {_measured(best)}."
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
    if not len(latency) or len(latency) < len(one.numbers["hit_ratio"]):
        return f"hit ratio {100 * one.numbers['hit_ratio'].mean():.1f} %"
    spread = f" ± {format_latency(latency.std(ddof=1))}" if len(latency) > 1 else ""
    return f"mean latency {format_latency(latency.mean())}{spread}"
