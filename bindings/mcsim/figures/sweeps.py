"""Charts of a sweep: pure functions of its joined table.

A line for each system and for each value of the axes that are not shown otherwise, over one axis,
with a band over seeds; or a map of two axes for each system.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mcsim.base.errors import ConfigError
from mcsim.base.suggest import did_you_mean
from mcsim.config.sweep import SEED_AXES
from mcsim.figures.chart import Chart, Series, Sheet, is_geometric, scaled_latency
from mcsim.figures.looks import MOST_SYSTEMS, looks_of
from mcsim.policies.reductions import mean_intervals

_MOST_PANELS = 12
_MOST_TICKS = 10

_TITLES = {
    "hit_ratio": "Hit ratio",
    "gain": "Gain over Global LRU",
    "mean_latency_ns": "Mean latency",
}
_PERCENT = ("hit_ratio", "gain")
_CAPACITY = re.compile(r"tiers\.(\d+)\.capacity(_blocks)?")
_UNITS = ("blocks", "bytes", "ns")
_BASELINE = re.compile(r"(?:^|policy=)(?:lru|Global LRU)(?: / lru)*(?:,|$)")
"""Labels of LRU, as a system or as the policy of all tiers."""


@dataclass(frozen=True)
class Line:
    """One line of a table: values over the values of an axis.

    Attributes
    ----------
    label : str
        Its distinction from the others.
    middle, low, high : array of float64, shape (points,)
        Mean, least and most over seeds; NaN where cells are missing.
    """

    label: str
    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def is_seed(axis: str) -> bool:
    """Return whether an axis only repeats cells with other random numbers."""
    return axis in SEED_AXES


def axis_label(axis: str) -> str:
    """Return the name of an axis with its unit: "Capacity of tier 2 (blocks)"."""
    if found := _CAPACITY.fullmatch(axis):
        return f"Capacity of tier {int(found[1]) + 1} (blocks)"
    *path, last = axis.split(".")
    words = last.split("_")
    unit = f" ({words.pop()})" if len(words) > 1 and words[-1] in _UNITS else ""
    of = f" of {' '.join(path)}" if path else ""
    name = f"{' '.join(words)}{of}{unit}"
    return name[:1].upper() + name[1:]


def axes_of(table: pa.Table) -> list[str]:
    """Return the axes of a joined table: the columns between `run_id` and `system`."""
    names = table.column_names
    return list(names[names.index("run_id") + 1 : names.index("system")])


def main_axis(table: pa.Table, over: str | None = None) -> str:
    """Return the default axis below lines: the one with most numbers, or values; never `over`."""

    def weight(name: str) -> tuple[bool, int]:
        return _is_number(table, name), len(pc.unique(table[name]))

    axes = [name for name in axes_of(table) if name != over]
    found = [name for name in axes if name not in SEED_AXES] or axes
    if not found:
        raise ConfigError(f"over: {over!r} is the only axis; `--value` over it needs no mean")
    return max(found, key=weight)


def check_over(table: pa.Table, over: str | None, shown: Sequence[str | None]) -> None:
    """Check that means over an axis are possible: it exists, and is not shown itself.

    Raises
    ------
    ConfigError
        If not.
    """
    axes = axes_of(table)
    if over is not None and over not in axes:
        raise ConfigError(f"over: no axis {over!r}{did_you_mean(over, axes)}; {_listed(axes)}")
    if over is not None and over in shown:
        raise ConfigError(f"over: {over!r} is the axis that is shown; name another")


def _listed(names: Sequence[str]) -> str:
    return f"one of {', '.join(names)}"


def series(
    table: pa.Table,
    x: str,
    value: str = "hit_ratio",
    vm: str | None = None,
    over: str | None = None,
) -> tuple[list[Any], list[Line]]:
    """Return the values of an axis, and the lines over them.

    Parameters
    ----------
    table : pyarrow.Table
        As of `mcsim.Sweep.table`.
    x : str
        An axis.
    value : str
        A column of numbers.
    vm : str, optional
        Name of a VM; all VMs together if absent.
    over : str, optional
        Another axis, over which means are taken; then `low` and `high` are the 95 % interval.

    Raises
    ------
    ConfigError
        If there is no such axis, column or VM.
    """
    table = _of_vm(table, vm)
    check_over(table, over, [x])
    at, places = _places(table, x)
    labels = _labels(table, [x, *SEED_AXES, *_given(over)])
    numbers = _numbers(table, value)
    if over is not None:
        return at, list(_means_over(labels, places, len(at), numbers, _places(table, over)[1]))
    found = []
    for label in dict.fromkeys(labels):
        chosen = np.array([one == label for one in labels])
        by_place = [numbers[chosen & (places == place)] for place in range(len(at))]
        by_place = [of[~np.isnan(of)] for of in by_place]
        middle, low, high = (
            np.array([reduce(of) if len(of) else math.nan for of in by_place])
            for reduce in (np.mean, np.min, np.max)
        )
        found.append(Line(label, middle, low, high))
    return at, found


def _given(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _means_over(
    labels: Sequence[str],
    places: NDArray[np.int64],
    count: int,
    numbers: NDArray[np.float64],
    groups: NDArray[np.int64],
) -> Iterator[Line]:
    """Yield the lines of means over groups, of which each counts by its mean over seeds."""
    for label in dict.fromkeys(labels):
        chosen = np.array([one == label for one in labels]) & ~np.isnan(numbers)
        middle, low, high = (np.full(count, math.nan) for _ in range(3))
        for place in range(count):
            here = chosen & (places == place)
            means = np.array([numbers[here & (groups == g)].mean() for g in set(groups[here])])
            if len(means):
                middle[place] = means.mean()
                ends = mean_intervals(means[:, np.newaxis], seed=1)[:, 0]
                low[place], high[place] = ends if len(means) > 1 else (means[0], means[0])
        yield Line(label, middle, low, high)


def over_axis(
    table: pa.Table,
    x: str | None = None,
    value: str = "hit_ratio",
    vm: str | None = None,
    over: str | None = None,
) -> Sheet:
    """Return a line for each system, and each value of the other axes, over one axis.

    Bands are from the minimum to the maximum over seeds; of means over an axis, `over`, they are
    95 % intervals. The chart has at most the best ten lines.
    Parameters are as of `series`; `x` is `main_axis` if absent.

    Raises
    ------
    ConfigError
        As of `series`.
    """
    x = main_axis(table, over) if x is None else x
    at, lines = series(table, x, value, vm, over)
    lines, note = _best(lines, value)
    factor, unit = _scale(value, [line.high for line in lines])
    title = _title(value)
    is_numeric = all(isinstance(each, int | float) for each in at)
    drawn = []
    for line, look in zip(lines, looks_of([line.label for line in lines]).values(), strict=True):
        low, high = factor * line.low, factor * line.high
        has_band = (is_numeric or over is not None) and bool((high > low).any())
        band: dict[str, Any] = {"low": low, "high": high} if has_band else {}
        drawn.append(Series(look, factor * line.middle, **band))
    has_seeds = any((line.high > line.low).any() for line in lines)
    spread = "Mean over seeds" + ("; bands: least to most." if is_numeric else ".")
    if over is not None:
        groups = len(pc.unique(table[over]))
        spread = f"Mean over {groups} values of {over}; bands: 95 % interval."
    notes = [text for text in (note, spread if has_seeds else "") if text]
    ends = ", ".join(_ends(one) for one in drawn)
    places: Any = np.array(at, np.float64) if is_numeric else [str(each) for each in at]
    chart = Chart(
        f"{title} over {axis_label(x).partition(' (')[0].lower()}" + (f", {vm}" if vm else ""),
        " ".join([f"{title} of {vm or 'all VMs'}: {ends}.", *notes]),
        "lines" if is_numeric else "bars" if over is None else "points",
        places,
        drawn,
        axis_label(x),
        f"{title} ({unit})" if unit else title,
        log_x=is_numeric and is_geometric(at),
        ticks=list(places) if is_numeric and len(at) <= _MOST_TICKS else (),
    )
    return Sheet.of(chart, *notes, height=2.6)


def _ends(one: Series) -> str:
    return f"{one.look.label} {one.y[0]:.3g} to {one.y[-1]:.3g}"


def _best(lines: Sequence[Line], value: str) -> tuple[list[Line], str]:
    """Return at most ten lines, in their order, and the choice in a sentence."""
    if len(lines) <= MOST_SYSTEMS:
        return list(lines), ""
    is_less_better = value.endswith("_ns")
    means = [float(np.nanmean(line.middle)) * (1 if is_less_better else -1) for line in lines]
    baseline = [i for i, line in enumerate(lines) if _BASELINE.search(line.label)][:1]
    ranked = [int(i) for i in np.argsort(means, kind="stable") if i not in baseline]
    kept = sorted([*ranked[: MOST_SYSTEMS - len(baseline)], *baseline])
    which = "lowest" if is_less_better else "highest"
    also = f" and {lines[baseline[0]].label}" if baseline else ""
    note = f"{MOST_SYSTEMS} of {len(lines)} lines: the {which} on average{also}."
    return [lines[i] for i in kept], note


def _title(value: str) -> str:
    words = _TITLES.get(value, value.removesuffix("_ns").replace("_", " "))
    return words[:1].upper() + words[1:]


def _scale(value: str, numbers: Sequence[NDArray[np.float64]]) -> tuple[float, str]:
    """Return the factor and the unit by which the values of a column are shown."""
    if value in _PERCENT:
        return 100.0, "%"
    return scaled_latency(numbers) if value.endswith("_ns") else (1.0, "")


def over_two_axes(
    table: pa.Table,
    x: str,
    y: str,
    value: str = "hit_ratio",
    vm: str | None = None,
    over: str | None = None,
) -> Sheet:
    """Return a map of two axes for each system, and each value of the other axes.

    Means over seeds, and over the axis `over`. Parameters are as of `series`.

    Raises
    ------
    ConfigError
        As of `series`, or if there are more maps than fit on a page.
    """
    table = _of_vm(table, vm)
    check_over(table, over, [x, y])
    (at_x, column), (at_y, row) = _places(table, x), _places(table, y)
    labels = _labels(table, [x, y, *SEED_AXES, *_given(over)])
    numbers = _numbers(table, value)
    kinds = list(dict.fromkeys(labels))
    if len(kinds) > _MOST_PANELS:
        raise ConfigError(f"{len(kinds)} maps, and at most {_MOST_PANELS} go on a page")
    factor, unit = _scale(value, [numbers])
    title = f"{_title(value)} over {axis_label(x).partition(' (')[0].lower()}"
    title += f" and {axis_label(y).partition(' (')[0].lower()}" + (f", {vm}" if vm else "")
    look = looks_of([""])[""]
    charts = []
    for kind in kinds:
        chosen = np.array([one == kind for one in labels])
        rows = []
        for r in range(len(at_y)):
            cells = [numbers[chosen & (row == r) & (column == c)] for c in range(len(at_x))]
            known = [of[~np.isnan(of)] for of in cells]
            rows.append(factor * np.array([of.mean() if len(of) else math.nan for of in known]))
        charts.append(
            Chart(
                f"{title}: {kind}", "A map; means over seeds.", "map",
                [_shown(each) for each in at_x], [Series(look, each) for each in rows],
                axis_label(x), axis_label(y), rows=[_shown(each) for each in at_y], panel=kind,
                value_label=f"{_title(value)} ({unit})" if unit else _title(value),
            )
        )  # fmt: skip
    columns = min(3, len(kinds))
    return Sheet(charts, title, columns=columns, share_x=True, share_y=True, height=2.1)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


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
        numeric = [name for name in known if _is_number(table, name)]
        near = did_you_mean(value, numeric)
        raise ConfigError(f"value: no column of numbers {value!r}{near}; {_listed(numeric)}")
    return np.asarray(table[value].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _is_number(table: pa.Table, name: str) -> bool:
    kind = table.schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _places(table: pa.Table, name: str) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the values of an axis, numbers in order, and the place of each row among them."""
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
    """Label rows by the columns that distinguish them: axes that are not shown, the system."""
    columns = {name: table[name].to_pylist() for name in [*axes_of(table), "system"]}
    distinct = [name for name in columns if name not in shown and len(set(columns[name])) > 1]
    # A column that follows from an axis shown, or from another distinct column, is redundant.
    for name in [name for name in reversed(distinct) if name != "system"] + ["system"]:
        others = [other for other in (*shown, *distinct) if other in columns and other != name]
        if name in distinct and any(_follows(columns[name], columns[other]) for other in others):
            distinct.remove(name)
    if not distinct:
        return [str(title) for title in columns["system"]]
    parts = [[_named(name, value) for value in columns[name]] for name in distinct]
    return [", ".join(of) for of in zip(*parts, strict=True)]


def _named(axis: str, value: Any) -> str:
    """Write the value of an axis in a label: `tier 2: 1,024 blocks`, `alpha 0.8`."""
    if axis in ("system", "systems", "workload"):
        return str(value)
    if found := _CAPACITY.fullmatch(axis):
        return f"tier {int(found[1]) + 1}: {_shown(value)} blocks"
    return f"{axis.rpartition('.')[2].replace('_', ' ')} {_shown(value)}"


def _follows(values: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether the values of a column follow from those of another."""
    return len(set(zip(values, other, strict=True))) == len(set(other))
