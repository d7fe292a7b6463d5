"""Figures of a sweep: pure functions of its joined table.

A line for each system and for each value of the axes that are not shown otherwise, over one axis,
with the spread over seeds; or what two axes come to, as a map for each of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.sweep import SEED_AXES
from mcsim.figures.looks import Look, lighter, looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Series", "axes_of", "main_axis", "over_axis", "over_two_axes", "series"]

_MOST_LINES = 48
_MOST_PANELS = 12
_MOST_TICKS = 10

_VALUES = {
    "hit_ratio": ("Hit ratio (%)", 100.0),
    "gain": ("Gain over Global LRU (%)", 100.0),
    "mean_latency_ns": ("Mean latency (us)", 1e-3),
}


@dataclass(frozen=True)
class Series:
    """One line of a table: values over the values of an axis.

    Attributes
    ----------
    label : str
        What tells it from the others.
    middle, low, high : array of float64, shape (points,)
        Mean, least and most over seeds; nan where nothing is there.
    """

    label: str
    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def axes_of(table: pa.Table) -> list[str]:
    """Return the axes of a joined table: the columns between `run_id` and `system`."""
    names = table.column_names
    return list(names[names.index("run_id") + 1 : names.index("system")])


def main_axis(table: pa.Table) -> str:
    """Return the axis that lines go over if nobody says: the one of most numbers, or values."""

    def weight(name: str) -> tuple[bool, int]:
        return _is_number(table, name), len(pc.unique(table[name]))

    axes = axes_of(table)
    return max([name for name in axes if name not in SEED_AXES] or axes, key=weight)


def series(
    table: pa.Table, x: str, value: str = "hit_ratio", vm: str | None = None
) -> tuple[list[Any], list[Series]]:
    """Return the values of an axis, and what there is over them.

    Parameters
    ----------
    table : pyarrow.Table
        As of `mcsim.Sweep.table`.
    x : str
        An axis.
    value : str
        A column of numbers.
    vm : str, optional
        Of this VM; of all together if not given.

    Raises
    ------
    ConfigError
        If there is no such axis, column or VM.
    """
    table = _of_vm(table, vm)
    at, places = _places(table, x)
    labels = _labels(table, [x, *SEED_AXES])
    numbers = _numbers(table, value)
    found = []
    for label in dict.fromkeys(labels):
        chosen = np.array([one == label for one in labels])
        by_place = [numbers[chosen & (places == place)] for place in range(len(at))]
        by_place = [of[~np.isnan(of)] for of in by_place]
        low, middle, high = (
            np.array([reduce(of) if len(of) else math.nan for of in by_place])
            for reduce in (np.min, np.mean, np.max)
        )
        found.append(Series(label, middle, low, high))
    return at, found


def over_axis(
    table: pa.Table, x: str | None = None, value: str = "hit_ratio", vm: str | None = None
) -> Sheet:
    """Plot a line for each system, and each value of the other axes, over one axis.

    Bands go from the least to the most of seeds. Parameters are as of `series`; `x` is
    `main_axis` if not given.

    Raises
    ------
    ConfigError
        As of `series`, or if there are more lines than can be told apart.
    """
    x = main_axis(table) if x is None else x
    at, lines = series(table, x, value, vm)
    if len(lines) > _MOST_LINES:
        raise ConfigError(
            f"{len(lines)} lines, and at most {_MOST_LINES} can be told apart: choose some cells, "
            "or a map of two axes"
        )
    label, scale = _VALUES.get(value, (value, 1.0))
    sheet = new_sheet(PAGE, 3.0)
    (axes,) = sheet.axes
    where = _scaled(axes, at)
    for line, look in zip(lines, _looks(lines), strict=True):
        style = look.line | {"marker": look.marker}
        sheet.legend += axes.plot(where, scale * line.middle, **style)
        if (line.high > line.low).any():
            pale = lighter(look.color, 0.7)
            low, high = scale * line.low, scale * line.high
            axes.fill_between(where, low, high, color=pale, linewidth=0, zorder=1)
    if any((line.high > line.low).any() for line in lines):
        sheet.notes.append("Lines: mean over seeds; bands: least to most.")
    axes.set_xlabel(_named(x))
    axes.set_ylabel(label)
    if all(np.nanmin(line.low) >= 0 for line in lines):
        axes.set_ylim(0, None)
    sheet.title = f"{label.partition(' (')[0]} over {x}" + (f", {vm}" if vm else "")
    return sheet


def over_two_axes(
    table: pa.Table, x: str, y: str, value: str = "hit_ratio", vm: str | None = None
) -> Sheet:
    """Plot a map of two axes for each system, and each value of the other axes.

    Means over seeds. Parameters are as of `series`.

    Raises
    ------
    ConfigError
        As of `series`, or if there are more maps than go on a page.
    """
    table = _of_vm(table, vm)
    (at_x, column), (at_y, row) = _places(table, x), _places(table, y)
    labels = _labels(table, [x, y, *SEED_AXES])
    numbers = _numbers(table, value)
    kinds = list(dict.fromkeys(labels))
    if len(kinds) > _MOST_PANELS:
        raise ConfigError(f"{len(kinds)} maps, and at most {_MOST_PANELS} go on a page")
    label, scale = _VALUES.get(value, (value, 1.0))
    across = min(3, len(kinds))
    down = -(-len(kinds) // across)
    sheet = new_sheet(PAGE, 0.9 + 2.0 * down, down, across, sharex=True, sharey=True)
    most, least = scale * np.nanmax(numbers), scale * np.nanmin(numbers)
    image = None
    for axes, kind in zip(sheet.axes, kinds, strict=False):
        chosen = np.array([one == kind for one in labels])
        cells = np.full((len(at_y), len(at_x)), math.nan)
        for place in np.ndindex(cells.shape):
            of = numbers[chosen & (row == place[0]) & (column == place[1])]
            cells[place] = scale * np.nanmean(of) if len(of) else math.nan
        image = axes.imshow(
            cells, cmap="cividis", vmin=least, vmax=most, aspect="auto", origin="lower"
        )
        axes.set_title(kind, loc="left")
        axes.set_xticks(*_ticks(at_x), rotation=45, ha="right")
        axes.set_yticks(*_ticks(at_y))
        axes.grid(visible=False)
    for axes in sheet.axes[len(kinds) :]:
        axes.set_axis_off()
    sheet.axes[0].set_ylabel(_named(y))
    sheet.axes[-across].set_xlabel(_named(x))
    assert image is not None
    sheet.figure.colorbar(image, ax=sheet.axes, label=label, fraction=0.05)
    sheet.title = f"{label.partition(' (')[0]} over {x} and {y}" + (f", {vm}" if vm else "")
    return sheet


def _of_vm(table: pa.Table, vm: str | None) -> pa.Table:
    if vm is None:
        return table.filter(pc.is_null(table["vm"]))
    found = table.filter(pc.equal(table["vm"], vm))
    if not len(found):
        known = [name for name in pc.unique(table["vm"]).to_pylist() if name]
        raise ConfigError(f"no VM {vm!r}{did_you_mean(vm, known)}")
    return found


def _numbers(table: pa.Table, value: str) -> NDArray[np.float64]:
    known = table.column_names[table.column_names.index("vm") + 1 :]
    if value not in known or not _is_number(table, value):
        near = did_you_mean(value, known)
        raise ConfigError(f"value: no column of numbers {value!r}{near}")
    return np.asarray(table[value].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _is_number(table: pa.Table, name: str) -> bool:
    kind = table.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _places(table: pa.Table, name: str) -> tuple[list[Any], NDArray[np.int64]]:
    """The values of an axis, numbers in order, others as they come; and which each row has."""
    axes = axes_of(table)
    if name not in axes:
        raise ConfigError(
            f"no axis {name!r}{did_you_mean(name, axes)}; there are {', '.join(axes)}"
        )
    values = pc.unique(table[name].combine_chunks())
    if _is_number(table, name):
        values = values.take(pc.sort_indices(values))
    places = np.asarray(pc.index_in(table[name], values).to_numpy(), dtype=np.int64)
    return values.to_pylist(), places


def _labels(table: pa.Table, shown: Sequence[str]) -> list[str]:
    """What tells rows apart beside the axes that are shown: values of the others, the system."""
    columns = {name: table[name].to_pylist() for name in [*axes_of(table), "system"]}
    told = [name for name in columns if name not in shown and len(set(columns[name])) > 1]
    # What goes together with an axis that is shown, or with another that is told, says no more.
    for name in [name for name in reversed(told) if name != "system"] + ["system"]:
        others = [other for other in (*shown, *told) if other in columns and other != name]
        if name in told and any(_follows(columns[name], columns[other]) for other in others):
            told.remove(name)
    if not told:
        return [str(title) for title in columns["system"]]
    parts = [
        [str(v) if name in ("system", "systems", "workload") else f"{name}={v}" for v in values]
        for name, values in ((name, columns[name]) for name in told)
    ]
    return [", ".join(of) for of in zip(*parts, strict=True)]


def _follows(values: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether a column's values follow from another's."""
    return len(set(zip(values, other, strict=True))) == len(set(other))


def _looks(lines: Sequence[Series]) -> list[Look]:
    return list(looks_of([line.label for line in lines]).values())


def _scaled(axes: Axes, at: Sequence[Any]) -> NDArray[np.float64]:
    """Set up the axis below, and return where values stand on it."""
    from matplotlib.ticker import EngFormatter, NullFormatter

    if not all(isinstance(value, int | float) for value in at):
        axes.set_xticks(range(len(at)), [str(value) for value in at])
        return np.arange(len(at), dtype=np.float64)
    where = np.array(at, dtype=np.float64)
    if where.min() > 0 and where.max() >= 8 * where.min():
        axes.set_xscale("log")
        if len(at) <= _MOST_TICKS:
            axes.set_xticks(where)
            axes.minorticks_off()
        # Less than two decades would have labels between them, of another kind.
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
    return where


def _ticks(at: Sequence[Any], most: int = 12) -> tuple[list[int], list[str]]:
    step = -(-len(at) // most)
    places = list(range(0, len(at), step))
    shown = [f"{at[place]:,}" if isinstance(at[place], int) else str(at[place]) for place in places]
    return places, shown


def _named(axis: str) -> str:
    return f"{axis} (blocks)" if axis.endswith("capacity") else axis
