"""Charts of result tables by kind, registered for `ResultTable.plot`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.base.errors import ConfigError
from mcsim.base.units import format_bytes
from mcsim.figures import plot
from mcsim.figures.chart import Chart, Series, Sheet, axis_of_sizes
from mcsim.figures.curves import reductions
from mcsim.figures.locality import curve_series, knees_of, unit_for
from mcsim.figures.looks import BLACK, MOST_SYSTEMS, Look, looks_of
from mcsim.figures.style import Style, drawn, styled
from mcsim.locality.mix import Mix
from mcsim.locality.whatif import WhatIf
from mcsim.policies.bands import no_band_notes
from mcsim.policies.reductions import OverTraces
from mcsim.policies.scaled import OBJECTIVES
from mcsim.results.views import RunTable
from mcsim.tables.charts import register
from mcsim.tables.result_columns import TABLES
from mcsim.tables.result_table import ResultTable
from mcsim.tables.run_columns import RUN_TABLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mcsim.locality.whatif import Situation

_NAMES = {
    "hit_ratio": "Hit ratio",
    "latency_ns": "Latency",
    "device_writes": "Device writes",
    "backend_writes": "Backend writes",
}
_TIMES = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
_SIZES = {unit: 1024**i for i, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))}
_SCALES = {
    "hit_ratio": {"%": 0.01},
    "latency_ns": _TIMES,
    "device_writes": _SIZES,
    "backend_writes": _SIZES,
}


def objectives_by_block(rows: ResultTable, objective: str) -> Sheet:
    """Return the four objectives over block size, a marker for each cache.

    Parameters
    ----------
    rows : ResultTable
        Result of `mcsim.tune`, the best first.
    objective : str
        The column by which they are sorted; the best is marked by a star.
    """
    blocks = sorted({int(block) for block in rows.block})
    lines = _lines(rows)
    count = len(lines)
    # The first rows of lines are in the order of the objective.
    kept = sorted(sorted(lines, key=lambda name: lines[name][0])[:MOST_SYSTEMS])
    looks = looks_of(kept)
    charts = []
    for column, title in _NAMES.items():
        margins = np.nan_to_num(rows[f"{column}_margin"])  # NaN: no band
        unit, scale = _unit(column, float((rows[column] + margins).max()))
        series = []
        for name in kept:
            own = sorted(lines[name], key=lambda i: rows.block[i])
            y, margin = rows[column][own] / scale, margins[own] / scale
            band: dict[str, Any] = {"low": y - margin, "high": y + margin} if margin.any() else {}
            series.append(Series(looks[name], y, _places(rows, own, blocks), **band))
        best = replace(BLACK, label=f"best by {_NAMES[objective].lower()}", marker="*")
        at, ratio = _places(rows, [0], blocks), rows[column][:1] / scale
        series.append(Series(best, ratio, at, kind="points"))
        names = [format_bytes(block) for block in blocks]
        caption = f"{title} over block size; {best.label}: {ratio[0]:.4g} {unit}."
        charts.append(
            Chart(title, caption, "lines", names, series, "Block size", f"{title} ({unit})")
        )
    notes = []
    if count > len(kept):
        by = _NAMES[objective].lower()
        notes.append(f"{len(kept)} of {count} kinds of cache: the best by {by}.")
    if rows.rate.min() < 1:
        has_bands = np.nan_to_num(rows.hit_ratio_margin).any()
        shaded = ["shaded: 95 % confidence"] if has_bands else []
        notes.append("; ".join(["Estimates", *shaded, *no_band_notes(rows)]) + ".")
    return Sheet(charts, columns=2, share_x=True, notes=notes, height=1.9)


def _lines(rows: ResultTable) -> dict[str, list[int]]:
    """Return the rows of caches that differ in nothing but their block size, by name."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        # A sub-block keeps its size while blocks grow; none is as large as its block.
        sub = "" if row.sub_block == row.block else f", {format_bytes(row.sub_block)} sub-blocks"
        found.setdefault(f"{row.policy}{sub}, write {row.writes}", []).append(i)
    return found


def _places(rows: ResultTable, own: list[int], blocks: list[int]) -> Any:
    return np.array([blocks.index(int(rows.block[i])) for i in own], np.float64)


def _unit(column: str, most: float) -> tuple[str, float]:
    """Return the largest unit of which there is one, or else the smallest."""
    scales = list(_SCALES[column].items())
    return next((entry for entry in reversed(scales) if most >= entry[1]), scales[0])


def hit_ratios(
    capacities: Sequence[int],
    block_bytes: int | None,
    ratios: Mapping[str, Sequence[float]],
    *,
    log: bool,
    bound: str,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    no_band: Sequence[str] = (),
    against: str = "",
) -> Sheet:
    """Return the hit ratio of every policy, a marker for each cache that was replayed.

    Parameters
    ----------
    capacities : sequence of int
        In blocks, increasing.
    ratios : mapping
        By policy, one for each capacity.
    log : bool
        Whether the axis of capacities is logarithmic.
    bound : str
        The policy that is an upper bound, drawn in black.
    bands : mapping, optional
        By policy, the lower and upper ends of its confidence band; shaded.
    no_band : sequence of str
        Notes on the policies without a band, with the reason.
    against : str
        The policy that ratios are differences from, if they are.
    """
    looks = looks_of([policy for policy in ratios if policy != bound])
    looks[bound] = replace(BLACK, label=bound, marker="o")
    x, unit, ticks = axis_of_sizes(capacities, block_bytes)
    if unit != "blocks":
        unit += f"; largest: {capacities[-1]:,} blocks"
    series = []
    for policy, values in ratios.items():
        band: dict[str, Any] = {}
        if bands and policy in bands:
            low, high = (100 * np.array(side, np.float64) for side in bands[policy])
            band = {"low": low, "high": high}
        series.append(Series(looks[policy], 100 * np.array(values, np.float64), **band))
    shaded = ["shaded: 95 % confidence"] if bands else []
    notes = ["; ".join(["Estimates", *shaded, *no_band]) + "."] if bands or no_band else []
    ends = ", ".join(f"{one.look.label} {one.y[0]:.1f} to {one.y[-1]:.1f} %" for one in series)
    value = f"Gain on {against} (points)" if against else "Hit ratio (%)"
    chart = Chart(
        "Hit ratio by policy", f"From the smallest to the largest cache: {ends}.", "lines", x,
        series, f"Capacity ({unit})", value,
        log_x=log, ticks=ticks if log else (), levels=[(0.0, "")] if against else [],
    )  # fmt: skip
    return Sheet.of(chart, *notes, height=2.8)


_MOST_VMS = 40


def before_and_after(situations: Sequence[tuple[str, Situation]], *, log: bool) -> Sheet:
    """Return the curve of all VMs with the size marked, and the hit ratio of each VM.

    Parameters
    ----------
    situations : sequence of (str, Situation)
        One, or two: before and after a change.
    log : bool
        Whether the axis of capacities is logarithmic.
    """
    accesses = {str(row.vm): int(row.accesses) for _, now in situations for row in now.rows}
    busiest = sorted(accesses, key=accesses.__getitem__, reverse=True)[:_MOST_VMS]
    names = [name for name in accesses if name in set(busiest)]
    looks = looks_of([when for when, _ in situations])
    first = situations[0][1].sharing.together
    end = max(max(now.sharing.together.saturation, now.size) for _, now in situations)
    unit = unit_for(first, end)
    lines: list[Series] = []
    for when, now in situations:
        curve, look = now.sharing.together, looks[when]
        label = f"{when}: {len(now.sharing.vms):,} VMs" if len(names) > 1 else when
        look = replace(look, label=label)
        lines += curve_series(curve, look, unit, log=log, end=end)
        lines.append(knees_of(curve, unit))
    sizes = ", ".join(f"{when} {100 * now.ratio:.1f} %" for when, now in situations)
    marked = {float(first.sizes_in(np.array([now.size]), unit)[0]): "size" for _, now in situations}
    curves = Chart(
        "Hit ratio of all VMs", f"Over the size of the cache; at its size: {sizes}.", "steps",
        np.zeros(0), lines, f"Capacity ({unit})", "Hit ratio (%)", log_x=log,
        marks=list(marked.items()),
    )  # fmt: skip
    bars = [one for when, now in situations for one in _by_vm(when, now, names, looks[when])]
    thrashed = {str(vm) for _, now in situations for vm in now.rows.vm[now.rows.thrashed]}
    by_vm = Chart(
        "Hit ratio of each VM", "In the shared cache, and alone in an equal part of it.", "bars",
        names, bars, "", "Hit ratio (%)",
    )  # fmt: skip
    notes = ["Dashed: the size of the cache."]
    if len(names) < len(accesses):
        notes.append(f"The {len(names)} VMs of {len(accesses):,} with most accesses.")
    if shown := [name for name in names if name in thrashed]:
        notes.append(f"Thrashed by the others: {', '.join(shown)}.")
    return Sheet([curves, by_vm], notes=notes, height=2.4)


def _by_vm(when: str, now: Situation, names: Sequence[str], look: Look) -> Iterator[Series]:
    """Yield the hit ratio of VMs in the shared cache, and alone in an equal part."""
    places = {str(row.vm): row for row in now.rows}
    for column, label, color in (
        ("shared", f"{when}, shared", look.color),
        ("part", f"{when}, in an equal part", "#8A8A8A"),
    ):
        values = [100 * float(places[n][column]) if n in places else np.nan for n in names]
        yield Series(replace(look, label=label, color=color), np.array(values))


def shared_and_divided(found: Mix, *, log: bool) -> Sheet:
    """Return the hit ratio of a cache, shared and divided, over its size, and the gain of parts."""
    rows, together = found, found.sharing.together
    unit = unit_for(together, int(rows.capacity[-1]))
    x = np.asarray(together.sizes_in(np.asarray(rows.capacity), unit), np.float64)
    names = {"shared": "shared", "equal": "equal parts", "parts": "best parts"}
    looks = looks_of(list(names))
    shared: dict[str, Any] = {"log_x": log, "ticks": list(x) if log and len(x) <= 10 else ()}
    ratios = [
        Series(replace(looks[column], label=name), 100 * (1 - rows[column] / rows.accesses))
        for column, name in names.items()
    ]
    label = f"Size of the cache ({unit})"
    ends = ", ".join(f"{one.look.label} {one.y[-1]:.1f} %" for one in ratios)
    gain = Series(replace(looks["parts"], label="best parts"), 100 * np.asarray(rows.size_gain))
    charts = [
        Chart(
            "Hit ratio, shared and divided", f"At the largest size: {ends}.", "lines", x, ratios,
            label, "Hit ratio (%)", **shared,
        ),
        Chart(
            "Effective size gained by the best parts", "Against the shared cache.", "lines", x,
            [gain], label, "Effective size gained (%)", levels=[(0.0, "")], **shared,
        ),
    ]  # fmt: skip
    note = (
        "Effective size: how much larger the shared cache would have to be to hit as often as "
        "the best parts."
    )
    return Sheet(charts, share_x=True, notes=[note], height=2.0)


_Sheet = Callable[..., Sheet]


def _chart(kind: str) -> Callable[[_Sheet], _Sheet]:
    """Register a function that returns the sheet of a table as the chart of a kind."""

    def registered(sheet_of: _Sheet) -> _Sheet:
        def draw(table: ResultTable, *, style: Style = "screen", **options: Any) -> Figure:
            with styled(style):
                return drawn(sheet_of(table, **options), table.title, "mcsim")

        register(kind, draw)
        return sheet_of

    return registered


def _of_run(
    table: ResultTable,
    *,
    style: Style = "screen",
    figure: str | None = None,
    systems: Sequence[str] | None = None,
) -> Figure:
    """Draw a figure of the run that a table is of, by default the one of its kind."""
    name = figure or _OF_RUNS.get(table.kind)
    if name is None or not isinstance(table, RunTable):
        raise ConfigError(f"{table.title or 'this table'}: no figure shows it")
    return plot(name, table.results, style, systems=systems)


_OF_RUNS = {
    "comparison": "hit-ratio",
    "overview": "latency",
    "requests": "latency",
    "metrics": "occupancy",
    "vms": "hit-ratio-over-time",
    "decisions": "targets",
    "curves": "curves",
    "reuse_intensity": "reuse-intensity",
}

for _kind in TABLES:
    if _kind in RUN_TABLES or _kind in _OF_RUNS:
        register(_kind, _of_run)


@_chart("policies")
def _policies(table: ResultTable, *, log: bool = True) -> Sheet:
    names = list(dict.fromkeys(table.policy.tolist()))
    ratios = {name: table[table.policy == name].hit_ratio.tolist() for name in names}
    capacities = table[table.policy == names[0]].capacity.tolist()
    return hit_ratios(capacities, None, ratios, log=log, bound="opt")


@_chart("prefix-policies")
def prefix_policies(
    table: ResultTable, *, log: bool = True, block_bytes: int | None = None
) -> Sheet:
    """Return the token hits of each policy over the size of a KV cache."""
    rows = {name: table[table.policy == name] for name in dict.fromkeys(table.policy.tolist())}
    ratios = {
        name: of.token_hit_ratio[np.argsort(of.capacity)].tolist() for name, of in rows.items()
    }
    capacities = sorted(set(table.capacity.tolist()))
    return hit_ratios(capacities, block_bytes, ratios, log=log, bound="bound")


@_chart("tuning")
def _tuning(table: ResultTable, *, objective: str = "latency") -> Sheet:
    if objective not in OBJECTIVES:
        raise ConfigError(f"objective: {objective!r}; one of {', '.join(OBJECTIVES)}")
    return objectives_by_block(table, OBJECTIVES[objective])


@_chart("mix")
def _mix(table: ResultTable, *, log: bool = True) -> Sheet:
    assert isinstance(table, Mix)
    return shared_and_divided(table, log=log)


@_chart("whatif")
def _whatif(table: ResultTable, *, log: bool = True) -> Sheet:
    assert isinstance(table, WhatIf)
    return before_and_after([("before", table.before), ("after", table.after)], log=log)


@_chart("reductions")
def _reductions(table: ResultTable) -> Sheet:
    assert isinstance(table, OverTraces)
    return reductions(table)
