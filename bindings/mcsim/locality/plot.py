"""Hit ratio over cache size, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mcsim.locality.steps import Steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_steps(
    steps: Steps,
    x: NDArray[Any],
    ax: Axes | None,
    *,
    band: bool,
    line: dict[str, Any],
) -> Axes:
    """Plot ratios in percent at `x`, one for each capacity; see `HitRatioCurve.plot`."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.subplots()[1]
    y = 100 * steps.ratios
    begin = int(np.searchsorted(steps.capacities, steps.resolved_from))
    # The resolved part begins where the pale one ends.
    joint = min(begin + 1, len(x))
    (drawn,) = ax.plot(
        x[begin:], y[begin:], **{"drawstyle": "steps-post", "label": steps.estimator, **line}
    )
    if begin:
        pale = {**line, "label": "_", "color": drawn.get_color(), "alpha": 0.35}
        ax.plot(x[:joint], y[:joint], **{"drawstyle": "steps-post", **pale})
    if band and (ends := steps.band_at(steps.capacities)) is not None:
        low, high = (100 * end for end in ends)
        shade: dict[str, Any] = {"step": "post", "linewidth": 0, "alpha": 0.2}
        ax.fill_between(x, low, high, color=drawn.get_color(), **shade)
    ax.set_ylabel("Hit ratio (%)")
    # Of all that is plotted there, whatever came first.
    ax.set_ylim(0, max(1.05 * ax.dataLim.ymax, 1e-9))
    return ax
