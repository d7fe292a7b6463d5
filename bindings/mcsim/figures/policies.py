"""Charts of eviction policies: their hit ratios over cache size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mcsim.figures.chart import Chart, Series, Sheet
from mcsim.figures.locality import BLACK
from mcsim.figures.looks import looks_of

_BYTES = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}


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
    """
    looks = looks_of([policy for policy in ratios if policy != bound])
    looks[bound] = replace(BLACK, label=bound, marker="o")
    unit, x = "blocks", np.array(capacities, np.float64)
    if block_bytes is not None:
        unit, size = _unit(max(capacities) * block_bytes)
        x = x * block_bytes / size
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
    chart = Chart(
        "Hit ratio by policy", f"From the smallest to the largest cache: {ends}.", "lines", x,
        series, f"Capacity ({unit})", "Hit ratio (%)",
        log_x=log, ticks=list(x) if log and len(x) <= 10 else (),
    )  # fmt: skip
    return Sheet.of(chart, *notes, height=2.8)


def _unit(size: float) -> tuple[str, int]:
    """Return the largest unit of which a size is at least 4, or bytes."""
    fitting = [entry for entry in _BYTES.items() if size >= 4 * entry[1]]
    return fitting[-1] if fitting else ("B", 1)
