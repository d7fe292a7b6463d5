"""Pictures of eviction policies: their hit ratios over cache size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcsim.base.units import format_size
from mcsim.figures.looks import looks_of
from mcsim.figures.style import PAGE, Sheet, new_sheet

__all__ = ["hit_ratios"]

MOST_NAMED = 7
"""Capacities of which the axis has room for the names."""

DISTINCT_LOOKS = 8
"""After so many, looks come again; then lines are thin and markers hollow."""


def hit_ratios(
    capacities: Sequence[int],
    block_bytes: int | None,
    ratios: Mapping[str, Sequence[float]],
    *,
    log: bool,
    bound: str,
    bands: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    no_band: Sequence[str] = (),
) -> Sheet:
    """Plot the hit ratio of every policy, a marker for each cache that was replayed.

    Parameters
    ----------
    capacities : sequence of int
        In blocks, increasing.
    ratios : mapping
        By policy, one for each capacity.
    log : bool
        Whether the axis of capacities is logarithmic.
    bound : str
        The policy that none can beat, drawn in black.
    bands : mapping, optional
        By policy, the lower and upper ends of what each ratio may be; shaded.
    no_band : sequence of str
        Notes on the policies without a band, with the reason.
    """
    sheet = new_sheet(PAGE, 3.6)
    (axes,) = sheet.axes
    looks = looks_of([policy for policy in ratios if policy != bound])
    for policy, values in ratios.items():
        if policy == bound:
            line: dict[str, Any] = {"label": policy, "color": "#000000", "linewidth": 1.8}
        else:
            line = {**looks[policy].line, "marker": looks[policy].marker}
            if list(looks).index(policy) >= DISTINCT_LOOKS:
                line |= {"markerfacecolor": "white", "linewidth": 0.7}
        drawn = axes.plot(capacities, [100 * value for value in values], **line)
        sheet.legend.append(drawn[0])
        if bands and policy in bands:
            low, high = ([100 * value for value in side] for side in bands[policy])
            axes.fill_between(
                capacities, low, high, color=drawn[0].get_color(), alpha=0.15, linewidth=0
            )
    if bands or no_band:
        shaded = ["shaded: 95 % confidence"] if bands else []
        sheet.notes.append("; ".join(["Estimates", *shaded, *no_band]) + ".")
    if log:
        axes.set_xscale("log")
    named = _spread(capacities)
    axes.set_xticks(named, [_size_label(c, block_bytes) for c in named])
    axes.minorticks_off()
    axes.set_xlabel("Capacity, and in blocks")
    axes.set_ylabel("Hit ratio (%)")
    axes.set_ylim(bottom=0)
    return sheet


def _size_label(blocks: int, block_bytes: int | None) -> str:
    if block_bytes is None:
        return f"{blocks:,}"
    return f"{format_size(blocks * block_bytes)}\n{blocks:,}"


def _spread(capacities: Sequence[int]) -> list[int]:
    """Those of the capacities that there is room to name, the largest among them."""
    step = -(-len(capacities) // MOST_NAMED)
    return list(capacities[::-1][::step][::-1])
