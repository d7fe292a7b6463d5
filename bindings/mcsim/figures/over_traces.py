"""Figure of policies over many traces: means with intervals, and a dot for each trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcsim.figures.chart import Chart, Series, Sheet
from mcsim.figures.choice import MOST_SYSTEMS
from mcsim.figures.looks import looks_of
from mcsim.policies.reductions import OverTraces

_MOST_SIZES = 4
_WIDTH = 0.7
"""Width of the markers of one policy, as a share of the distance between policies."""


def reductions(rows: OverTraces) -> Sheet:
    """Return the miss ratio reduction of every policy, a marker for each size.

    A marker is the mean with its 95 % interval. Dots are traces. The policies with the highest
    means are shown, at most ten, in the order of their means over all sizes.

    Parameters
    ----------
    rows : OverTraces
        Result of `mcsim.compare` with ``each=True``.
    """
    sizes = list(dict.fromkeys(rows.by_trace["size"].tolist()))
    means = {
        policy: float(rows.mean[rows.policy == policy].mean())
        for policy in dict.fromkeys(rows.policy.tolist())
        if policy != rows.against
    }
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    shown, notes = ranked[:MOST_SYSTEMS], []
    if len(shown) < len(ranked):
        notes.append(f"{len(shown)} of {len(ranked)} policies: the highest means.")
    drawn = _spread(sizes)
    if len(drawn) < len(sizes):
        notes.append(f"{len(drawn)} of {len(sizes)} sizes.")
    step = _WIDTH / len(drawn)
    dots_x, dots_y, series = [], [], []
    for number, (size, look) in enumerate(looks_of(drawn).items()):
        x = np.arange(len(shown), dtype=np.float64) + step * (number + 0.5) - _WIDTH / 2
        of_size = rows[rows["size"] == size]
        place = [of_size.policy.tolist().index(policy) for policy in shown]
        middle, low, high = (100 * of_size[name][place] for name in ("mean", "low", "high"))
        series.append(Series(look, middle, x, low, high))
        traces = rows.by_trace[rows.by_trace["size"] == size]
        for at, policy in zip(x, shown, strict=True):
            values = 100 * traces.reduction[traces.policy == policy]
            dots_x.append(np.full(len(values), at))
            dots_y.append(values)
    grey = replace(looks_of(["trace"])["trace"], color="#8A8A8A", marker=".")
    dots = Series(grey, np.concatenate(dots_y), np.concatenate(dots_x), is_pale=True)
    count = int(rows.traces[0])
    notes.append(f"Mean over {count:,} traces" + ("; bars: 95 % interval." if count > 1 else "."))
    ends = ", ".join(f"{name} {100 * means[name]:.1f} %" for name in shown[:3])
    chart = Chart(
        f"Miss ratio reduction against {rows.against}",
        f"Highest means over all sizes: {ends}. {' '.join(notes)}",
        "points",
        shown,
        [dots, *series],
        "",
        f"Miss ratio reduction\nagainst {rows.against} (%)",
        levels=[(0.0, "")],
    )
    return Sheet.of(chart, *notes, height=2.2)


def _spread(sizes: list[str]) -> list[str]:
    """Return at most four of the sizes, the first and the last among them."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    return [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, _MOST_SIZES)]
