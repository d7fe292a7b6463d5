"""Charts of tuned caches: each objective over block size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.base.units import format_bytes
from mcsim.figures.chart import Chart, Series, Sheet
from mcsim.figures.choice import MOST_SYSTEMS
from mcsim.figures.locality import BLACK
from mcsim.figures.looks import looks_of
from mcsim.policies.bands import no_band_notes

if TYPE_CHECKING:
    from mcsim.base.result_table import ResultTable

__all__ = ["objectives_by_block"]

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
        Of `mcsim.tune`, the best first.
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
