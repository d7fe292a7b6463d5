"""Pictures of what was tuned: each objective over block size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mcsim.base.units import format_bytes
from mcsim.figures.looks import lighter, looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet
from mcsim.policies.bands import no_band_notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
    """Plot the four objectives over block size, a marker for each cache.

    Parameters
    ----------
    rows : ResultTable
        Of `mcsim.tune`, the best first.
    objective : str
        The column by which they are sorted; the best has a ring around it.
    """
    sheet = new_sheet(PAGE, 5.0, 2, 2, sharex=True)
    blocks = sorted({int(block) for block in rows.block})
    lines = _lines(rows, blocks)
    for axes, (column, name) in zip(sheet.axes, _NAMES.items(), strict=True):
        margins = np.nan_to_num(rows[f"{column}_margin"])  # nan: no band
        most = float((rows[column] + margins).max())
        unit, scale = _unit(column, most)
        for line in lines:
            margin = np.nan_to_num(line.rows[f"{column}_margin"]) / scale
            axes.errorbar(
                line.places,
                line.rows[column] / scale,
                margin if margin.any() else None,
                elinewidth=0.7,
                **line.style,
            )
            if line.has_best:
                best = int(np.argmax(line.rows.block == rows.block[0]))
                axes.plot(line.places[best], line.rows[column][best] / scale, **_RING)
        axes.set_ylabel(f"{name} ({unit})")
        axes.set_ylim(0, 1.08 * most / scale or 1)
        axes.set_xlim(-0.5, len(blocks) - 0.5)
        axes.set_xticks(range(len(blocks)), [format_bytes(block) for block in blocks])
        # Lines between the sizes, not at them.
        axes.grid(visible=False, axis="x")
        axes.set_xticks(np.arange(1, len(blocks)) - 0.5, minor=True)
        axes.grid(visible=True, axis="x", which="minor")
        axes.tick_params(axis="x", which="both", length=0)
    for axes in sheet.lowest:
        axes.set_xlabel("Block size")
    sheet.legend += _legend(lines, objective)
    if rows.rate.min() < 1:
        bars = ["bars: 95 % confidence"] if np.nan_to_num(rows.hit_ratio_margin).any() else []
        sheet.notes.append("; ".join(["Estimates", *bars, *no_band_notes(rows)]) + ".")
    return sheet


_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 9,
    "markerfacecolor": "none",
    "markeredgecolor": "#000000",
    "linestyle": "none",
    "zorder": 4,
}


# By write mode: dashes, and how much of a marker is filled.
_MODES: dict[str, dict[str, Any]] = {
    "through": {"linestyle": "-", "fillstyle": "full"},
    "back": {"linestyle": (0, (5, 1.5)), "fillstyle": "none"},
    "around": {"linestyle": (0, (1, 1)), "fillstyle": "bottom"},
}

_MOST_LOOKS = 8
"""After so many, looks come again: then sub-blocks have a lighter colour of their policy's."""


@dataclass(frozen=True)
class _Line:
    """Caches that differ in nothing but their block size."""

    label: str
    writes: str
    look: dict[str, Any]
    places: NDArray[np.float64]
    rows: ResultTable
    has_best: bool

    @property
    def style(self) -> dict[str, Any]:
        """As the arguments of a line."""
        return self.look | _MODES[self.writes]


def _lines(rows: ResultTable, blocks: list[int]) -> list[_Line]:
    # A sub-block size stays what it is while blocks grow; where blocks are whole, none does.
    sub_block = np.where(rows.sub_block == rows.block, 0, rows.sub_block)
    # In an order that does not depend on which is the best.
    found = [
        (str(row.policy), int(sub), list(_MODES).index(row.writes))
        for row, sub in zip(rows, sub_block, strict=True)
    ]
    keys = sorted(set(found))
    looks = _looks([(policy, sub) for policy, sub, _ in keys])
    step = min(0.06, 0.7 / len(keys))
    lines = []
    for i, key in enumerate(keys):
        members = [j for j, each in enumerate(found) if each == key]
        own: Any = rows[sorted(members, key=lambda j: rows.block[j])]
        # Side by side, lest one hide another.
        places = np.array([blocks.index(int(block)) for block in own.block]) + step * (
            i - (len(keys) - 1) / 2
        )
        policy, sub, mode = key
        label = f"{policy}, {format_bytes(sub)} sub-blocks" if sub else policy
        writes = list(_MODES)[mode]
        lines.append(_Line(label, writes, looks[policy, sub], places, own, key == found[0]))
    return lines


def _looks(pairs: Sequence[tuple[str, int]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return colour and marker of each policy and sub-block size."""
    pairs = list(dict.fromkeys(pairs))
    if len(pairs) <= _MOST_LOOKS:
        each = looks_of([str(pair) for pair in pairs])
        return {
            pair: {"color": look.color, "marker": look.marker}
            for pair, look in zip(pairs, each.values(), strict=True)
        }
    of_policy = looks_of(list(dict.fromkeys(policy for policy, _ in pairs)))
    subs = sorted({sub for _, sub in pairs})
    return {
        (policy, sub): {
            "color": lighter(of_policy[policy].color, 0.6 * subs.index(sub) / (len(subs) - 1 or 1)),
            "marker": of_policy[policy].marker,
        }
        for policy, sub in pairs
    }


def _unit(column: str, most: float) -> tuple[str, float]:
    """Return the largest unit of which there is one, or else the smallest."""
    scales = list(_SCALES[column].items())
    return next((entry for entry in reversed(scales) if most >= entry[1]), scales[0])


def _legend(lines: Sequence[_Line], objective: str) -> list[Any]:
    from matplotlib.lines import Line2D

    policies = [
        Line2D([], [], **look, linestyle="none", label=label)
        for label, look in {line.label: line.look for line in lines}.items()
    ]
    modes = [
        Line2D([], [], color="#555555", marker="o", **style, label=f"write {mode}")
        for mode, style in _MODES.items()
        if any(line.writes == mode for line in lines)
    ]
    best = f"best by {_NAMES[objective].lower()}"
    return [*policies, *modes, Line2D([], [], label=best, **_RING)]
