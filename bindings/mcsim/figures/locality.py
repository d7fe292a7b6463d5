"""Charts of hit-ratio curves: several together, against the exact one, and over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mcsim.base.units import format_count
from mcsim.figures.chart import Chart, Series, Sheet
from mcsim.figures.looks import BLACK, Look, looks_of
from mcsim.locality.capacities import SizeUnit
from mcsim.locality.curve import HitRatioCurve

_UNITS: tuple[SizeUnit, ...] = ("TiB", "GiB", "MiB", "KiB")
_ROWS = 80  # of a map

MOST_CURVES = 40
"""Upper limit of curves on one chart."""


def unit_for(curve: HitRatioCurve, blocks: float) -> SizeUnit:
    """Return the largest unit in which a number of blocks is at least 4."""
    if curve.block_bytes is None:
        return "blocks"
    for unit in _UNITS:
        if curve.sizes_in(np.array([max(int(blocks), 1)]), unit)[0] >= 4:
            return unit
    return "B"


def curve_series(
    curve: HitRatioCurve, look: Look, unit: SizeUnit, *, log: bool, end: int
) -> Iterator[Series]:
    """Yield a curve in percent, with its band; its part below the resolution is pale."""
    shown = curve.thinned(log=log, end=end)
    x = np.asarray(curve.sizes_in(shown.capacities, unit), np.float64)
    y = 100 * np.asarray(shown.ratios, np.float64)
    begin = int(np.searchsorted(shown.capacities, shown.resolved_from))
    first = _begin(end) if log else 0
    begin = max(begin, int(np.searchsorted(shown.capacities, first)))
    pale = slice(int(np.searchsorted(shown.capacities, first)), min(begin + 1, len(x)))
    band: dict[str, Any] = {}
    if (ends := shown.band_at(shown.capacities)) is not None:
        band = {name: 100 * of[begin:] for name, of in zip(("low", "high"), ends, strict=True)}
    yield Series(look, y[begin:], x[begin:], **band)
    if pale.stop - pale.start > 1:
        yield Series(look, y[pale], x[pale], is_pale=True)


def knees_of(curve: HitRatioCurve, unit: SizeUnit) -> Series:
    """Return the knees of a curve as points."""
    knees = curve.knees()
    at = np.array([knee.capacity for knee in knees], np.int64)
    ratios = np.array([100 * knee.ratio for knee in knees])
    look = replace(BLACK, label="knees", marker="o")
    return Series(look, ratios, np.asarray(curve.sizes_in(at, unit), np.float64), kind="points")


def curves(
    named: Sequence[tuple[str, HitRatioCurve]], *, log: bool, together: str | None = None
) -> Sheet:
    """Return curves over one axis of capacities, of many those with the most accesses.

    Parameters
    ----------
    log : bool
        Whether that axis is logarithmic.
    together : str, optional
        The one that is all the others together, drawn in black.
    """
    notes = []
    if (count := len(named)) > MOST_CURVES:
        named = _busiest(named, together)
        notes.append(f"{len(named)} of {count:,} curves: those with the most accesses.")
    end = max(_end(curve) for _, curve in named)
    unit = unit_for(named[0][1], end)
    looks = looks_of([name for name, _ in named if name != together])
    looks |= {together: replace(BLACK, label=together)} if together else {}
    series = [
        one
        for name, curve in named
        for one in curve_series(curve, looks[name], unit, log=log, end=end)
    ]
    return Sheet.of(_over_sizes(series, unit, log), *notes, *_explain(named), height=2.6)


def _busiest(
    named: Sequence[tuple[str, HitRatioCurve]], together: str | None
) -> list[tuple[str, HitRatioCurve]]:
    """Return the curves to draw, in their order."""
    order = sorted(
        range(len(named)), key=lambda i: (named[i][0] != together, -named[i][1].accesses)
    )
    return [named[i] for i in sorted(order[:MOST_CURVES])]


def _over_sizes(series: Sequence[Series], unit: SizeUnit, log: bool, **more: Any) -> Chart:
    known = [one for one in series if not one.is_pale and len(one.y)]
    ends = ", ".join(f"{one.look.label} {one.y[-1]:.1f} %" for one in known)
    return Chart(
        "Hit ratio curves", f"Hit ratio over the size of a cache; at the right end {ends}.",
        "steps", np.zeros(0), series, f"Capacity ({unit})", "Hit ratio (%)", log_x=log, **more,
    )  # fmt: skip


def comparison(named: Sequence[tuple[str, HitRatioCurve]], *, log: bool) -> Sheet:
    """Return estimates over the first curve, and below their distance from it.

    An estimate is pale below its resolution.
    """
    (exact_name, exact), *estimates = named
    end = max(_end(curve) for _, curve in named)
    unit = unit_for(exact, end)
    looks = looks_of([name for name, _ in estimates])
    black = replace(BLACK, label=exact_name)
    above = list(curve_series(exact, black, unit, log=log, end=end))
    below = []
    for name, curve in estimates:
        above += curve_series(curve, looks[name], unit, log=log, end=end)
        shown = curve.thinned(log=log, end=end)
        at = np.union1d(shown.capacities, exact.thinned(log=log, end=end).capacities)
        at = at[at >= (_begin(end) if log else 0)]
        apart = 100 * (curve.at(at, unresolved=True) - exact.at(at))
        x = np.asarray(exact.sizes_in(at, unit), np.float64)
        is_resolved = curve.is_resolved(at)
        for is_pale, there in ((False, is_resolved), (True, ~is_resolved)):
            if there.any():
                y = np.where(there, apart, np.nan)
                below.append(Series(looks[name], y, x, is_pale=is_pale))
    errors = Chart(
        "Errors of the estimates", f"Distance of each estimate from {exact_name}, in points.",
        "steps", np.zeros(0), below, f"Capacity ({unit})", "Error (points)", log_x=log,
        levels=[(0.0, "")],
    )  # fmt: skip
    notes = _explain(named)
    return Sheet([_over_sizes(above, unit, log), errors], share_x=True, notes=notes, height=2.0)


def histogram(firsts: Sequence[int], shares: Sequence[float], kind: str) -> Sheet:
    """Return the shares of accesses by class of reuse distance.

    Parameters
    ----------
    firsts : sequence of int
        The first distance of each class; negative for first accesses.
    kind : str
        Unit of distances: blocks or objects.
    """
    names = ["first access" if first < 0 else format_count(first) for first in firsts]
    y = 100 * np.array(shares)
    largest = int(np.argmax(y))
    chart = Chart(
        "Accesses by reuse distance",
        f"Most accesses, {y[largest]:.1f} %, are in the class that begins at {names[largest]}.",
        "bars", names, [Series(looks_of(["accesses"])["accesses"], y)],
        f"Reuse distance, from ({kind})", "Accesses (%)",
    )  # fmt: skip
    return Sheet.of(chart, height=2.6)


def over_intervals(
    named: Sequence[tuple[str, HitRatioCurve]], begins: Sequence[float], time_label: str
) -> Sheet:
    """Return a map of the hit ratio: capacity over time, a column an interval.

    Parameters
    ----------
    begins : sequence of float
        Begins of the intervals, and the end of the last one.
    time_label : str
        The name of the time axis, with its unit.
    """
    end = max(_end(curve) for _, curve in named)
    unit = unit_for(named[0][1], end)
    edges = np.unique(np.geomspace(1, max(end, 2), _ROWS + 1).round().astype(np.int64))
    ratio = np.array(
        [
            100 * curve.at(edges[1:]) if curve.accesses else np.full(len(edges) - 1, np.nan)
            for _, curve in named
        ]
    ).T
    chart = Chart(
        "Hit ratio by interval", "A map of the hit ratio: capacity over time.", "map",
        np.asarray(begins, np.float64), [Series(BLACK, row) for row in ratio], time_label,
        f"Capacity ({unit})", log_y=True, value_label="Hit ratio (%)",
        rows=np.asarray(named[0][1].sizes_in(edges, unit), np.float64),
    )  # fmt: skip
    white = "White: no accesses, or fewer blocks than the estimator resolves."
    notes = [white if np.isnan(ratio).any() else "", "Every interval begins with an empty cache."]
    return Sheet.of(chart, *notes, height=2.8)


def _begin(end: int) -> int:
    """Return where a logarithmic axis begins; most curves begin far to the right of 1."""
    return max(1, end // 100_000)


def _end(curve: HitRatioCurve) -> int:
    """Return the capacity from which on a curve is flat: its footprint, in blocks."""
    return max(curve.saturation, round(curve.distinct or 0), 1)


def _explain(named: Sequence[tuple[str, HitRatioCurve]]) -> list[str]:
    has_band = any(curve.low is not None for _, curve in named)
    is_coarse = any(curve.resolved_from > 1 for _, curve in named)
    notes = ["Shaded: 95 % confidence."] if has_band else []
    return notes + (["Pale: fewer blocks than the estimator resolves."] if is_coarse else [])
